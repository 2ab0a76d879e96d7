"""The planner's process: it reads the store, plans, proves, and answers; requests never wait for it.

Questions are JSON, which carries whole numbers of any size as requests may have them; answers are MessagePack, for
allocations are bytes. Each goes over standard input or output with its length, four bytes, before it.
"""

import contextlib
import logging
import os
import struct
import sys
import warnings
from typing import Any, BinaryIO

import msgspec

from arcbandit.errors import ArcbanditError, InvalidInputError, ScaledProbabilitiesWarning
from arcbandit.service.changes import change_of
from arcbandit.service.stores import open_reader

log = logging.getLogger("arcbandit.service")

STORE = "ARCBANDIT_WORKER_STORE"  # not an argument, for everybody may read these, and a URL may have a password
NICENESS = 19  # the planner yields to requests where they share a core


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something to be answered."""

    ask: str
    campaign: int = 0
    body: dict[str, Any] = {}
    policy: dict[str, Any] = {}


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """An answer, or why there is none: "invalid" input, a plan that was not "proven", or a "failure"."""

    value: Any = None
    error: str | None = None
    message: str = ""


def encoded(frame: Question | Reply) -> bytes:
    """A frame as it is sent."""
    data = msgspec.json.encode(frame) if isinstance(frame, Question) else msgspec.msgpack.encode(frame)
    return struct.pack(">I", len(data)) + data


def answered(question: Question, store: str) -> Any:
    """The answer to a question."""
    if question.ask == "ping":
        return True
    # The compiler takes a second to load: the process is there before it.
    from arcbandit.service import teaching

    if question.ask == "create":
        return teaching.created(teaching.body_of(question.body))
    if question.ask == "change":
        return teaching.changed(question.policy, change_of(question.body))
    reader = open_reader(store)
    try:
        statistics = reader.statistics(question.campaign)
        if question.ask == "plan":
            return teaching.planned(statistics, reader)
        if question.ask == "what_if":
            return teaching.what_if(statistics, reader, question.body["floors"])
        return teaching.status(statistics, reader)
    finally:
        reader.close()


def reply_to(question: Question, store: str) -> Reply:
    """The answer to a question, or why there is none."""
    try:
        return Reply(answered(question, store))
    except InvalidInputError as error:
        return Reply(error="invalid", message=str(error))
    except ArcbanditError as error:
        return Reply(error="not proven", message=str(error))
    except Exception as error:
        log.exception("The planner failed.")
        return Reply(error="failure", message=f"{type(error).__name__}: {error}")


def serve(store: str, questions: BinaryIO, replies: BinaryIO) -> None:
    """Answer questions until there are no more."""
    while True:
        head = questions.read(4)
        if len(head) < 4:
            return
        (size,) = struct.unpack(">I", head)
        question = msgspec.json.decode(questions.read(size), type=Question)
        replies.write(encoded(reply_to(question, store)))
        replies.flush()


def stand_back() -> None:
    """Leave Ctrl-C to the service, which ends this process itself, and let requests go first on a shared processor.

    For Ctrl-C a group of its own is enough. A session of its own would undo the rest: Linux may share its processors
    among sessions first, and how nice a process is counts within its session alone.
    """
    if sys.platform != "win32":  # which has neither
        with contextlib.suppress(OSError):  # it leads a session, as in a test
            os.setpgid(0, 0)
        os.nice(NICENESS)


def main() -> None:
    """Answer questions over standard input and output; whatever else prints goes to standard error."""
    warnings.simplefilter("ignore", ScaledProbabilitiesWarning)
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    stand_back()
    serve(os.environ[STORE], sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
