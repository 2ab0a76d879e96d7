import doctest
import importlib
import re
from pathlib import Path

import pytest

from arcbandit import instance

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
INSTANCE_FILES = re.findall(r"^```toml\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


SOURCES = ROOT / "src"
NEED_A_SERVICE = ("arcbandit.client.clients", "arcbandit.client.local")  # tests/client/test_examples.py has one
MODULES_WITH_EXAMPLES = [
    ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCES.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]
SLOW = ("arcbandit.examples.open_bandit", "arcbandit.report.plots")


def test_the_readme_has_examples():
    """Otherwise the tests below would pass by running nothing."""
    assert EXAMPLES
    assert INSTANCE_FILES


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES)
def test_python_examples_of_the_readme_run(example, capsys):
    """What a new user pastes first works, and prints something."""
    exec(compile(example, README.name, "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("text", INSTANCE_FILES)
def test_instance_files_of_the_readme_load(text, tmp_path):
    """The file format shown is the file format read."""
    file = tmp_path / "my-instance.toml"
    file.write_text(text, encoding="utf-8")
    assert instance.Instance.load(file).n_arms


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in SLOW else ())
        for name in MODULES_WITH_EXAMPLES
        if name not in NEED_A_SERVICE
    ],
)
def test_docstring_examples_give_what_they_show(name):
    """An example in a docstring is an assertion."""
    failed, attempted = doctest.testmod(importlib.import_module(name))
    assert attempted
    assert not failed


# Every page that shows a prompt, wherever it is added.
PAGES_WITH_PROMPTS = sorted(
    path.name
    for path in (ROOT / "docs").glob("*.md")
    if re.search(r"^>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
)


def test_pages_with_prompts_are_found():
    """Otherwise the test below would pass by running nothing."""
    assert {"tutorial.md", "in-production.md", "plan-a-promise.md", "theory.md"} <= set(PAGES_WITH_PROMPTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES_WITH_PROMPTS)
def test_examples_of_the_documentation_give_what_they_show(name, monkeypatch, tmp_path):
    """A page that shows a number is an assertion; paths are those of the repository, but in the tutorial."""
    monkeypatch.chdir(tmp_path if name == "tutorial.md" else ROOT)
    failed, attempted = doctest.testfile(str(ROOT / "docs" / name), module_relative=False, encoding="utf-8")
    assert attempted >= 5
    assert failed == 0
