"""The folder that Sphinx reads: pages copied with the links between them mended, and pages written for the site."""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from docs.site.bibliography import literature_page
from docs.site.contents import DOCS, HOME, PAGES, ROOT, SECTIONS, WRITTEN, Page
from docs.site.diagrams import drawn_diagrams
from docs.site.notebooks import FOLDER, notebooks
from docs.site.reference import reference_pages

PICTURES = (".svg", ".png")
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".md": "markdown", ".yaml": "yaml"}


class DeadLinkError(Exception):
    """A page links to a file that is not there."""


def stage(folder: Path, stories: Mapping[str, str]) -> None:
    """Fill an empty folder; `stories` are the pages of the notebooks, by address."""
    written = {**reference_pages(), **stories, "references": literature_page()}
    Stage(folder).fill(written)


class Stage:
    """A folder of pages for Sphinx."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.addresses = {page.path: page.address for page in PAGES if page.source != WRITTEN}
        self.addresses[DOCS / f"{HOME}.md"] = HOME
        self.addresses[ROOT / "README.md"] = HOME
        self.addresses |= {path: f"{FOLDER.name}/{path.stem}" for path in notebooks()}

    def fill(self, written: Mapping[str, str]) -> None:
        """Write every page."""
        for address, text in written.items():
            is_notebook = address.startswith(f"{FOLDER.name}/")
            self._write(address, self._mended(text, DOCS / f"{address}.py", address) if is_notebook else text)
        for page in (Page(HOME, "Home"), *PAGES):
            if page.source == WRITTEN:
                if page.address not in written:
                    raise DeadLinkError(f"{page.address} is in the navigation, but nothing writes it.")
                continue
            text = self._mended(page.path.read_text(encoding="utf-8"), page.path, page.address)
            self._write(page.address, text + (_navigation() if page.address == HOME else ""))

    def _write(self, address: str, text: str) -> None:
        target = self.folder / f"{address}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def _mended(self, text: str, source: Path, address: str) -> str:
        """The page with links that lead where things are on the site; code is left alone."""
        text = drawn_diagrams(text, self.folder / "figures", Path(source).stem.lower())
        parts, place = [], 0
        for block in FENCED.finditer(text):
            parts += [self._linked(text[place : block.start()], source, address), block.group()]
            place = block.end()
        return "".join([*parts, self._linked(text[place:], source, address)])

    def _linked(self, text: str, source: Path, address: str) -> str:
        return LINK.sub(lambda found: f"{found[1]}{self._target(found[2], source, address)}{found[3]}", text)

    def _target(self, link: str, source: Path, address: str) -> str:
        if re.match(r"[a-z]+:", link) or link.startswith("#"):
            return link
        path, hash_mark, anchor = link.partition("#")
        if (
            Path(path).suffix in PICTURES and (self.folder / Path(address).parent / path).is_file()
        ):  # drawn for the site
            return link
        target = Path(os.path.normpath(source.parent / path))
        if target not in self.addresses:
            if not target.is_file():
                raise DeadLinkError(f"{source.relative_to(ROOT)} links to {path}, which is not there.")
            if target.suffix in PICTURES or target.is_relative_to(DOCS):
                return self._beside(target, address)
            self._add_file(target)
        other = f"{self.addresses[target]}.md"
        return os.path.relpath(other, Path(address).parent) + hash_mark + anchor

    def _beside(self, target: Path, address: str) -> str:
        """A picture or a file of docs/, copied to the same place of the folder."""
        place = target.relative_to(DOCS)
        (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, self.folder / place)
        return os.path.relpath(place, Path(address).parent)

    def _add_file(self, target: Path) -> None:
        """A file of the repository that a page links to gets a page that shows it."""
        place = target.relative_to(ROOT)
        self.addresses[target] = address = f"files/{place.as_posix().replace('.', '-')}"
        text = target.read_text(encoding="utf-8")
        if target.suffix == ".md":
            self._write(address, "---\norphan: true\n---\n" + self._mended(text, target, address))
            return
        language = LANGUAGES.get(target.suffix, "text")
        self._write(address, f"---\norphan: true\n---\n# {place.as_posix()}\n\n~~~~{language}\n{text}~~~~\n")


def _navigation() -> str:
    blocks = []
    for section in SECTIONS:
        lines = "\n".join(f"{page.name} <{page.address}>" for page in section.pages)
        blocks.append(f"\n```{{toctree}}\n:hidden:\n:caption: {section.heading}\n\n{lines}\n```\n")
    return "".join(blocks)
