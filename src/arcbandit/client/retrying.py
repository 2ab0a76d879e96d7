"""When a call is sent again, and after how long: decided here, done by the clients."""

import random
from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

import msgspec

from arcbandit.client.calls import Call
from arcbandit.errors import InvalidInputError, ServiceError, ServiceUnavailableError
from arcbandit.inputs.values import positive, whole
from arcbandit.service.api_types import ErrorAnswer

PASSING = (429, 502, 503, 504)  # statuses of a service, or of a proxy before it, that may answer later
LONGEST_PAUSE = 30.0  # seconds, whatever Retry-After says


class Retries:
    """How often and how patiently a call is sent again.

    The pause before the second attempt is at most `pause` seconds, before the third twice as much, and so on, each
    drawn at random from half of that to all of it, so that clients that failed together do not come back together. A
    service that says when to come back (Retry-After) is given that time.

    >>> Retries(tries=3).pauses(random.Random(1), None, 2) <= 0.2
    True
    """

    def __init__(self, tries: int = 6, pause: float = 0.1) -> None:
        self.tries = whole("tries", tries, 1, 1000)
        self.pause = positive("pause", pause)

    def pauses(self, chance: random.Random, retry_after: float | None, attempt: int) -> float:
        """How long to wait after the attempt of this number, from 1.

        >>> 0.05 <= Retries(pause=0.1).pauses(random.Random(1), None, 1) <= 0.1
        True
        """
        most: float = min(LONGEST_PAUSE, self.pause * 2.0 ** (attempt - 1))
        drawn = most * (0.5 + chance.random() / 2)
        return min(LONGEST_PAUSE, drawn if retry_after is None else retry_after + drawn)


class Send(NamedTuple):
    """Send the call."""


class Wait(NamedTuple):
    """Wait before the next attempt."""

    seconds: float


class Came(NamedTuple):
    """An answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Lost(NamedTuple):
    """There was none."""

    reason: str
    was_sent: bool  # whether the service may have got the call


def exchange(call: Call, retries: Retries, chance: random.Random) -> Generator[Send | Wait, Came | Lost | None, Any]:
    """Send a call until it is answered, or patience ends; what is yielded is to be done, and its outcome sent back."""
    for attempt in range(1, retries.tries + 1):
        outcome = yield Send()
        assert outcome is not None
        if isinstance(outcome, Came):
            if outcome.status not in PASSING:
                return answer_of(call, outcome)
            again = call.repeatable
            after = _seconds(outcome.headers.get("retry-after"))
        else:
            again, after = call.repeatable or not outcome.was_sent, None
        if not again or attempt == retries.tries:
            raise _given_up(outcome, attempt)
        yield Wait(retries.pauses(chance, after, attempt))
    raise AssertionError


def answer_of(call: Call, came: Came) -> Any:
    """The answer, or the error that is in its place."""
    if 200 <= came.status < 300:
        try:
            return msgspec.json.decode(came.content, type=call.answer)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise ServiceError(f"The service answered with something else: {error}.", came.status, "answer") from error
    raise _refusal(came, ServiceError)


def _refusal(came: Came, kind: type[ServiceError]) -> ServiceError:
    try:
        told = msgspec.json.decode(came.content, type=ErrorAnswer).error
    except (msgspec.DecodeError, UnicodeError):
        return kind(f"The service answered with the status {came.status}.", came.status, "status")
    place = "" if told.field is None else f"{told.field}: "
    return kind(f"{place}{told.message}", came.status, told.code, told.field)


def _given_up(outcome: Came | Lost, attempts: int) -> ServiceError:
    if isinstance(outcome, Came):
        return _refusal(outcome, ServiceUnavailableError)
    times = "once" if attempts == 1 else f"{attempts} times"
    return ServiceUnavailableError(f"The service was asked {times} and did not answer: {outcome.reason}.", 0, "lost")


def _seconds(header: str | None) -> float | None:
    """The seconds of a Retry-After header; dates are for caches, and are not read."""
    if header is None or not header.strip().isdecimal() or len(header) > 9:
        return None
    return float(header)


def checked_url(url: Any) -> str:
    """The address of a service."""
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise InvalidInputError("url must be the address of a service, http://... or https://..., got something else.")
    return url.rstrip("/")
