"""What a package index shows of a release, and what its metadata promise."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from readme_renderer import markdown

import arcbandit
from arcbandit.examples.files import EXAMPLES, data_file
from tests.docstrings import PACKAGE, ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
README = (ROOT / "README.md").read_text("utf-8")
EXTRAS = PROJECT["optional-dependencies"]
REPOSITORY = PROJECT["urls"]["Repository"]
OF_THE_TREE = re.compile(rf"{re.escape(REPOSITORY)}/(?:blob|raw|tree)/main/([^\s)#]+)(?:#([^\s)]+))?")
FOR_CONTRIBUTORS = {"alternatives", "docs", "lint", "test"}  # extras that the README leaves to other pages
LARGE = {"cuda", "ray"}  # and for users, but not in `all`
SOURCES = sorted(PACKAGE.rglob("*.py"))
# Modules that some platform of ours does not have.
NOT_EVERYWHERE = {
    "fcntl",
    "grp",
    "msvcrt",
    "posix",
    "pty",
    "pwd",
    "readline",
    "resource",
    "syslog",
    "termios",
    "tty",
} | {
    "uvloop",
    "winreg",
}


OF_POSIX = {
    f"os.{name}" for name in ("chown", "fork", "getgid", "getuid", "killpg", "mkfifo", "nice", "setsid", "wait")
} | {
    "signal.SIGHUP",
    "signal.SIGKILL",
    "signal.SIGUSR1",
    "signal.alarm",
    "signal.pause",
}


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links_of(html: str) -> list[str]:
    return re.findall(r'(?:href|src)="([^"]+)"', html)


def test_the_readme_renders_and_its_links_are_absolute():
    """A package index has no files beside it."""
    html = markdown.render(README, variant="GFM")
    assert html is not None
    links = [link for link in links_of(html) if not link.startswith("#")]
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []


def test_links_of_the_readme_lead_to_files_of_the_tree():
    """To a page that is there, and to a heading that it has."""
    found = OF_THE_TREE.findall(README)
    assert len(found) > 15
    for path, anchor in found:
        assert (ROOT / path).is_file(), path
        assert not anchor or anchor in anchors_of(ROOT / path), (path, anchor)


def test_links_of_the_readme_are_to_the_project():
    """Addresses of the project stand in its metadata, and nowhere another one."""
    for link in re.findall(r"https://\S+?(?=[\s)]|$)", README):
        assert link.startswith(REPOSITORY)
    assert PROJECT["urls"]["Changelog"] == f"{REPOSITORY}/blob/main/CHANGELOG.md"
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"repository-code: {REPOSITORY}\n" in cited
    assert f"\nurl: {PROJECT['urls']['Documentation']}\n" in cited
    for example in EXAMPLES.values():
        (path, _) = OF_THE_TREE.fullmatch(example.page).groups()
        assert (ROOT / path).is_file()


def test_the_readme_names_every_extra_of_users():
    """In its table, and none that is not there."""
    table = README.split("| extra | brings |")[1].split("\n\n")[0]
    named = {name for row in table.splitlines()[2:] for name in re.findall(r"`([\w-]+)`", row.split("|")[1])}
    assert named == set(EXTRAS) - FOR_CONTRIBUTORS - {"all"}


def test_all_is_every_extra_of_users():
    """But for those that need a machine of their own."""
    (everything,) = EXTRAS["all"]
    assert everything.startswith("arcbandit[")
    assert set(everything[len("arcbandit[") : -1].split(",")) == set(EXTRAS) - FOR_CONTRIBUTORS - LARGE - {"all"}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def hints():
    """Every MissingExtraError of the package: the module and the extra that brings it."""
    for path in SOURCES:
        if "MissingExtraError(" not in path.read_text("utf-8"):
            continue  # parsing all of them would take a second of every worker
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "MissingExtraError":
                module, extra = node.args
                if isinstance(extra, ast.Constant):
                    yield path.name, getattr(module, "value", None), extra.value


@pytest.mark.parametrize(("file", "module", "extra"), list(hints()))
def test_hints_name_an_extra_that_brings_the_module(file, module, extra):
    """`pip install 'arcbandit[extra]'` is what an error tells users to do."""
    assert extra in EXTRAS
    if module is not None:
        required = " ".join(EXTRAS[extra]).replace("-", "_")
        assert re.split(r"[. ]", module)[0].replace("-", "_") in required


def test_the_version_stands_in_one_place():
    """Builds read it from version.py; no other file of the package, nor the metadata, repeats it."""
    assert PROJECT["dynamic"] == ["version"]
    for path in (ROOT / "pyproject.toml", ROOT / "CITATION.cff", ROOT / "README.md"):
        assert arcbandit.__version__ not in re.sub(r"[=><]=?\s*[\d.]+", "", path.read_text("utf-8")), path
    assert [path.name for path in SOURCES if f'"{arcbandit.__version__}"' in path.read_text("utf-8")] == ["version.py"]


def test_licences_are_in_the_package():
    """That of the code and that of the data, whose text their licence requires."""
    assert PROJECT["license"] == "BSD-3-Clause AND Apache-2.0"
    for file in PROJECT["license-files"]:
        assert (ROOT / file).is_file()
    assert "Apache License" in data_file("LICENSE.Apache-2.0.txt").read_text("utf-8")


def test_example_files_are_in_the_package():
    """What `arcbandit examples` writes, with what says where it is from."""
    described = data_file("README.md").read_text("utf-8")
    for example in EXAMPLES.values():
        for file in example.files:
            assert data_file(file).is_file()
            assert file in described


def imported(body):
    """The modules that statements import, but for those under a condition on the platform."""
    for statement in body:
        if isinstance(statement, ast.If) and "sys.platform" in ast.unparse(statement.test):
            continue
        if isinstance(statement, ast.Import):
            yield from (alias.name.split(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            yield (statement.module or "").split(".")[0]
        for part in ("body", "orelse", "finalbody", "handlers"):
            yield from imported(getattr(statement, part, []))


def used(tree):
    """What is taken from `os` and `signal`, but under a condition on the platform."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "sys.platform" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("os", "signal"):
            yield f"{node.value.id}.{node.attr}"
        yield from used(node)


@pytest.mark.slow
def test_no_module_imports_what_a_platform_lacks():
    """Linux, macOS and Windows: what one of them lacks is imported under a condition."""
    lacking = {}
    for path in SOURCES:
        tree = tree_of(path)
        found = (NOT_EVERYWHERE & set(imported(tree.body))) | (OF_POSIX & set(used(tree)))
        if found:
            lacking[str(path.relative_to(PACKAGE))] = found
    assert lacking == {}


def test_what_a_platform_lacks_is_found():
    """Under a condition it may be used, elsewhere not."""
    apart = "if sys.platform == 'win32':\n    import msvcrt\nelse:\n    os.nice(1)\n"
    tree = ast.parse(f"{apart}def work():\n    os.fork()\n    import fcntl\n")
    assert NOT_EVERYWHERE & set(imported(tree.body)) == {"fcntl"}
    assert OF_POSIX & set(used(tree)) == {"os.fork"}
