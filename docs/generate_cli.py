"""Write the reference page of the command line: python -m docs.generate_cli."""

import contextlib
import io
import os
from pathlib import Path
from unittest import mock

from arcbandit.cli import main

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 88

INTRODUCTION = """\
# Command line

This page is written by `make docs` from the program itself.

An argument that names a file is read as a file (.toml or .json); anything else must be the name of one of the paper's
instances. Output is coloured only in a terminal, and `--json` prints one document whose keys are the Python fields.

| exit code | meaning |
|-----------|---------|
| 0 | an answer, which may be that the floors cannot be met together |
| 1 | no answer: the solver gave up, or an optional dependency is missing; or a claim of `reproduce` fails |
| 2 | bad input, or a device that is not available; one sentence on standard error says what is wrong |
| 130 | interrupted; no file is half written |
"""

SECTIONS = {
    "arcbandit": ["--help"],
    "arcbandit plan": ["plan", "--help"],
    "arcbandit instances": ["instances", "--help"],
    "arcbandit simulate": ["simulate", "--help"],
    "arcbandit policies": ["policies", "--help"],
    "arcbandit advise": ["advise", "--help"],
    "arcbandit fit": ["fit", "--help"],
    "arcbandit evaluate": ["evaluate", "--help"],
    "arcbandit examples": ["examples", "--help"],
    "arcbandit warm-up": ["warm-up", "--help"],
    "arcbandit reproduce": ["reproduce", "--help"],
    "arcbandit benchmark": ["benchmark", "--help"],
    "arcbandit demo": ["demo", "--help"],
    "arcbandit serve": ["serve", "--help"],
    "arcbandit token": ["token", "--help"],
    "arcbandit backup": ["backup", "--help"],
    "arcbandit restore": ["restore", "--help"],
    "arcbandit export": ["export", "--help"],
    "arcbandit tidy": ["tidy", "--help"],
    "Example": ["plan", "nu", "--analyse"],
    "Example of floors that cannot be met": ["plan", "figure-1:0.9"],
    "Example of a simulation": ["simulate", "nu", "--horizon", "2000", "--jobs", "1"],
    "The paper's instances": ["instances"],
    "The policies": ["policies"],
    "The examples": ["examples"],
    "The experiments": ["reproduce", "--list"],
    "The families of the benchmark": ["benchmark", "--list"],
}


def page() -> str:
    """The page as it should be."""
    blocks = [INTRODUCTION]
    for title, arguments in SECTIONS.items():
        shown = "" if arguments[-1] == "--help" else f"$ arcbandit {' '.join(arguments)}\n"
        blocks.append(f"## {title}\n\n```text\n{shown}{_output(arguments)}```\n")
    return "\n".join(blocks)


def _output(arguments: list[str]) -> str:
    plain = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    printed = io.StringIO()
    with mock.patch.dict(os.environ, plain), contextlib.redirect_stdout(printed):
        os.environ.pop("FORCE_COLOR", None)
        code = main(arguments)
    if code != 0:
        raise SystemExit(f"arcbandit {' '.join(arguments)} ended with exit code {code}.")
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().rstrip().splitlines())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
