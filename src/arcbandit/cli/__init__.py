"""The command line: one file per verb."""

import os
import re
import signal
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, UnusedCliTokensError

from arcbandit import __version__
from arcbandit.cli import (
    advise,
    benchmark,
    demo,
    evaluate,
    examples,
    fit,
    instances,
    plan,
    policies,
    reproduce,
    serve,
    simulate,
    warm_up,
)
from arcbandit.errors import ArcbanditError, InvalidInputError

ANSWERED = 0
COULD_NOT_ANSWER = 1
BAD_INPUT = 2
# What a shell reports for a program ended by Ctrl-C or by a closed pipe.
INTERRUPTED = 128 + signal.SIGINT
PIPE_CLOSED = 128 + getattr(signal, "SIGPIPE", 13)

app = App(
    name="arcbandit",
    help="Share rounds among arms so that revenue is highest while every arm earns at least its floor.",
    version=f"arcbandit {__version__}",
    help_format="plaintext",
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
app.command(plan.plan)
app.command(instances.instances)
app.command(simulate.simulate)
app.command(policies.policies)
app.command(advise.advise)
app.command(fit.fit)
app.command(evaluate.evaluate)
app.command(examples.examples)
app.command(warm_up.warm_up)
app.command(reproduce.reproduce)
app.command(benchmark.benchmark)
app.command(demo.demo)
for verb in (serve.serve, serve.token, serve.backup, serve.restore, serve.export, serve.tidy):
    app.command(verb)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if argv is None:
        _never_fail_on_a_letter()
    try:
        code = _run(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        _forget_stdout()
        return _refuse("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        _forget_stdout()
        return PIPE_CLOSED
    except OSError as error:
        _forget_stdout()
        return _refuse(f"The answer could not be written ({error.strerror}).", COULD_NOT_ANSWER)
    return code


def _run(arguments: list[str]) -> int:
    from arcbandit.cli.layout import terminal

    try:
        app(arguments, exit_on_error=False, print_error=False, console=terminal())
    except CycloptsError as error:
        return _refuse(_one_sentence(error), BAD_INPUT)
    except InvalidInputError as error:
        return _refuse(str(error), BAD_INPUT)
    except ArcbanditError as error:
        return _refuse(str(error), COULD_NOT_ANSWER)
    return ANSWERED


def _refuse(sentence: str, code: int) -> int:
    print(" ".join(sentence.split()), file=sys.stderr)
    return code


def _one_sentence(error: CycloptsError) -> str:
    """The parser's message, whose hints are sentences of their own, as one sentence."""
    error.verbose = False
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"Unexpected argument {error.unused_tokens[0]!r}."
    first, *rest = re.split(r"(?<=[.?])\s+(?=[A-Z])", str(error).strip())
    hints = [hint for hint in rest if not hint.endswith("?")] or rest[:1]
    clauses = [first.rstrip("."), *(hint[0].lower() + hint[1:].rstrip(".") for hint in hints)]
    sentence = "; ".join(clauses)
    return sentence if sentence.endswith("?") else f"{sentence}."


def _never_fail_on_a_letter() -> None:
    """Show question marks in a terminal that cannot encode Greek letters, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _forget_stdout() -> None:
    """Keep the interpreter from flushing to a reader that is gone."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
