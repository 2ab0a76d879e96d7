"""The wheel and the sdist hold what they should, and nothing else."""

import email
import tomllib
import zipfile

import pytest
from readme_renderer import markdown

from tests.docstrings import PACKAGE, ROOT
from tests.release.environments import VERSION


@pytest.fixture
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read(f"arcbandit-{VERSION}.dist-info/METADATA"))


def test_the_wheel_holds_the_package_and_its_data(wheel):
    """Every file of the package, byte by byte."""
    ours = {
        path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    assert sorted(held) == sorted(ours)
    assert held == ours
    assert "arcbandit/examples/data/films.csv" in held
    assert "arcbandit/py.typed" in held


def test_the_metadata_are_complete(metadata):
    """What an index shows, and what it refuses a file without."""
    assert metadata["Name"] == "arcbandit"
    assert metadata["Version"] == VERSION
    assert metadata["License-Expression"] == "BSD-3-Clause AND Apache-2.0"
    assert len(metadata.get_all("License-File")) == 2
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Summary"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert markdown.render(metadata.get_payload(), variant="GFM")
    addresses = dict(line.split(", ") for line in metadata.get_all("Project-URL"))
    assert addresses.keys() == {"Documentation", "Repository", "Issues", "Changelog"}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(metadata.get_all("Provides-Extra")) == set(extras)


def test_the_sdist_holds_what_its_tests_need(unpacked):
    """Sources, tests, documentation and benchmarks; no caches, results or environments."""
    for name in ("src", "tests", "docs", "benchmarks", "deploy", "README.md", "LICENSE", "CITATION.cff", "Makefile"):
        assert (unpacked / name).exists(), name
    for name in (".venv", "dist", "reproduction", "site", ".git", ".ci"):
        assert not (unpacked / name).exists(), name
    assert not [path for path in unpacked.rglob("*") if path.suffix in (".pyc", ".nbi", ".nbc")]
