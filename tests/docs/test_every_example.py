"""Every block of code on every page is an example that something runs; here it is seen that none is left out.

Examples with prompts are run by tests/test_examples.py, and those of the README too; those of
docs/write-your-own-policy.md by tests/test_outside.py, the clients of docs/service.md by tests/client/test_clients.py.
"""

import asyncio
import itertools
import json
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from arcbandit.cli import app, main
from docs.site.contents import DOCS, PAGES, ROOT, WRITTEN
from tests.service.served import serving
from tests.test_examples import PAGES_WITH_PROMPTS, README

SOURCES = sorted({page.path for page in PAGES if page.source != WRITTEN} | {README, DOCS / "index.md"})
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^|\n\n)((?: {4,}\S.*\n)+)")
OUTPUT = {"text", "mermaid"}  # no examples
RUN_ELSEWHERE = {"README.md", "write-your-own-policy.md", "service.md"}
PROGRAMS = {"arcbandit", "make", "pip", "python", "curl", "docker"}
# Verbs that answer within seconds are run, if need be with fewer rounds; of others the program reads the options.
RUN = {"plan", "instances", "policies", "examples", "advise", "fit"}
SMALL = ["--horizon", "200", "--epochs", "2", "--jobs", "1"]


class Block(NamedTuple):
    page: Path
    language: str
    text: str


def blocks():
    found = []
    for page in SOURCES:
        text = page.read_text(encoding="utf-8")
        found += [Block(page, language, body) for language, body in FENCED.findall(text)]
        found += [Block(page, "console", one) for one in INDENTED.findall(FENCED.sub("", text)) if not _is_formula(one)]
    return found


def _is_formula(text):
    """Indented lines are commands, or formulas of the theory."""
    return text.split()[0].rpartition("/")[2] not in PROGRAMS


class Command(NamedTuple):
    page: Path
    words: list[str]

    def __str__(self):
        return f"{self.page.stem}: {' '.join(self.words)}"


def commands():
    """Every command on every page, in order; what a console answers is left out."""
    found = []
    for block in blocks():
        if block.language not in ("console", "sh"):
            continue
        text = block.text.replace("\\\n", " ")
        prompts = re.findall(r"^\$ (.*(?:\n(?!\$ |\{|The |Serving ) +.*)*)", text, re.MULTILINE)
        for line in prompts or [line for line in text.splitlines() if line.strip()]:
            words = [word for word in shlex.split(line, comments=True) if word != "&"]
            while words and re.fullmatch(r"[A-Za-z_]+=.*", words[0], re.DOTALL):
                words.pop(0)  # a setting of the shell
            if words:
                found.append(Command(block.page, words))
    return found


COMMANDS = commands()
OURS = [command for command in COMMANDS if command.words[0] == "arcbandit"]


def test_every_block_is_an_example_that_is_run():
    """A language that nothing runs, or a page whose Python nothing runs, would show here."""
    for page, language, text in blocks():
        if language in ("console", "sh", "toml") or language in OUTPUT:
            continue
        assert language == "python", (page.name, language)
        if ">>> " in text:
            assert page.name in PAGES_WITH_PROMPTS
        else:
            assert page.name in RUN_ELSEWHERE or page.name == "on-a-cluster.md", (page.name, text)
    assert len(COMMANDS) > 50


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_what_a_command_names_is_there(command):
    """A verb with its options, a target of make, an extra, a module, a file."""
    program, *rest = command.words
    program = program.rpartition("/")[2]
    assert program in PROGRAMS
    if program == "arcbandit":
        app.parse_args(rest, exit_on_error=False, print_error=False)
    elif program == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert rest[0] in targets
    elif program == "pip":
        extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
        assert rest[0] == "install"
        assert all(name in extras for name in re.findall(r"\[(\w+)\]", rest[-1]))
    elif program == "python":
        assert rest[0] == "-m"
        assert find_spec(rest[1]) is not None
    elif program == "docker":
        named = [word for before, word in itertools.pairwise(rest) if before == "-f"]
        assert all((ROOT / name).is_file() for name in named)


def short_commands():
    """The commands that are run, by page, in the order of the page: later ones use what earlier ones wrote."""
    by_page = {}
    for page, (_, *rest) in OURS:
        plays = rest[0] == "simulate" and not {"cuda", "dask:2", "bernstein-olp:scale=0.5"} & set(rest)
        lists = "--list" in rest
        if rest[0] in RUN or plays or lists:
            by_page.setdefault(page, []).append([*rest, *(SMALL if plays else [])])
    return by_page


@pytest.mark.slow
@pytest.mark.parametrize(("page", "lines"), short_commands().items(), ids=lambda value: getattr(value, "name", ""))
def test_short_commands_answer(page, lines, tmp_path, monkeypatch, capsys):
    """In a fresh folder, with the files that the page shows."""
    monkeypatch.chdir(tmp_path)
    shown = [text for _, language, text in blocks() if language == "toml" and "mean_rewards" in text]
    for name in ("shop.toml", "my-instance.toml", "platform.toml"):
        Path(name).write_text(shown[0])
    for line in lines:
        arguments = _last_of_each(line)
        assert main(arguments) == 0, (arguments, capsys.readouterr().err)
        assert capsys.readouterr().out


def _last_of_each(line):
    """The command with the small sizes in place of its own."""
    kept = []
    words = iter(line)
    given = [word for word in line if word in SMALL[::2]]
    for word in words:
        if word in given and given.count(word) > 1:
            given.remove(word)
            next(words)
        else:
            kept.append(word)
    return kept


@pytest.mark.system
def test_the_script_of_the_page_on_clusters_runs(tmp_path):
    """Two workers of Dask, and the same numbers."""
    [script] = [text for page, language, text in blocks() if page.stem == "on-a-cluster" and language == "python"]
    (tmp_path / "on_dask.py").write_text(script)
    done = subprocess.run([sys.executable, tmp_path / "on_dask.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "priced-lp is the same to the last bit: True",
        "olp is the same to the last bit: True",
    ]


@pytest.mark.slow
def test_the_requests_of_the_page_of_the_service_are_answered_as_it_shows(tmp_path):
    """What curl sends there, sent to a service; answers have the fields that are shown, and a proven plan follows."""
    page = (DOCS / "service.md").read_text(encoding="utf-8")
    [block] = [text for _, text in FENCED.findall(page) if "localhost:8000" in text]
    shown = [json.loads(line) for line in block.splitlines() if line.startswith('{"')]
    sent = [words for where, words in COMMANDS if where.name == "service.md" and words[0] == "curl"]
    assert len(sent) == len(shown) + 1 == 3  # the answer to the first is not shown

    async def play():
        answers = []
        async with serving(tmp_path, campaign=None) as served:
            for words in sent:
                address = next(word for word in words if word.startswith("localhost"))
                body = json.loads(words[words.index("--json") + 1])
                if "decision_id" in body:
                    body["decision_id"] = answers[-1]["decision_id"]
                answer = await served.client.post(address.removeprefix("localhost:8000"), json=body)
                assert answer.status_code in (200, 201), answer.text
                answers.append(answer.json())
            await served.upkeep.plan_once("films")
            plan = (await served.get("/v1/campaigns/films/plan")).json()
            assert plan["certificate"]["holds"]
        return answers

    _, *answers = asyncio.run(play())
    assert [set(answer) for answer in answers] == [set(answer) for answer in shown]
