"""From the repository to the finished site."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from docs.site.contents import DOCS, ROOT
from docs.site.notebooks import FOLDER, notebooks, page_of
from docs.site.staging import stage

MADE_FROM = ".made-from"
SOURCES = ("docs", "src")


class SiteError(Exception):
    """The site could not be built as it should be."""


def build(target: Path) -> None:
    """Build the site into a folder; a warning of Sphinx is an error, and the folder is left as it was."""
    from sphinx.cmd.build import build_main

    made_from = fingerprint()
    with tempfile.TemporaryDirectory() as folder:
        source, html = Path(folder) / "source", Path(folder) / "html"
        source.mkdir()
        stage(source, _run_notebooks(source / "notebooks"))
        shutil.copytree(DOCS / "site" / "static", source / "static")
        shutil.copyfile(DOCS / "site" / "conf.py", source / "conf.py")
        quiet = ["--builder", "html", "--fail-on-warning", "--keep-going", "--quiet", "--jobs", str(_cores())]
        if build_main([*quiet, "--doctree-dir", str(Path(folder) / "trees"), str(source), str(html)]) != 0:
            raise SiteError("Sphinx found what is above; nothing was written.")
        shutil.rmtree(html / ".doctrees", ignore_errors=True)
        (html / MADE_FROM).write_text(made_from)
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(html, target)


def is_current(target: Path) -> bool:
    """Whether a folder holds the site of the repository as it is."""
    made_from = target / MADE_FROM
    return made_from.is_file() and made_from.read_text() == fingerprint()


def fingerprint() -> str:
    """A hash of all that the site is made from."""
    found = hashlib.sha256()
    files = [path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    for path in [*sorted(ROOT.glob("*.md")), *files]:
        if "__pycache__" not in path.parts:
            found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _run_notebooks(pictures: Path) -> dict[str, str]:
    pages = {}
    pictures.mkdir()
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        for path in notebooks():
            pages[f"{FOLDER.name}/{path.stem}"] = page_of(path, pictures)
            shutil.copyfile(path, pictures / path.name)
    finally:
        os.chdir(before)
    return pages


def _cores() -> int:
    return min(os.cpu_count() or 1, 4)
