"""What must hold of the built site: no dead link, nothing loaded from elsewhere, a way home from every page."""

from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src"}
LOADED_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest"}


class Page(NamedTuple):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    links: tuple[str, ...]
    loads: tuple[str, ...]
    anchors: frozenset[str]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and LOADED_RELATIONS & set(given.get("rel", "").split()):
            self.loads.append(given.get("href", ""))
        if tag in LOADED and given.get(LOADED[tag]):
            self.loads.append(given[LOADED[tag]])
        if tag == "object" and given.get("data"):
            self.loads.append(given["data"])


@cache
def read_page(path: Path) -> Page:
    """What a file of HTML holds."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return Page(tuple(reader.links), tuple(reader.loads), frozenset(reader.anchors))


def problems_of(site: Path) -> list[str]:
    """Everything that is wrong with a built site, in words."""
    site = site.resolve()
    pages = sorted(site.rglob("*.html"))
    if not pages:
        return [f"{site} has no pages."]
    read_page.cache_clear()
    found = [problem for path in pages for problem in _problems_of_page(path, site)]
    return (
        found + _loaded_by_styles(site) + [f"{page} cannot be reached from the home page." for page in unreached(site)]
    )


def _problems_of_page(path: Path, site: Path) -> Iterator[str]:
    name = path.relative_to(site).as_posix()
    page = read_page(path)
    for link in (*page.links, *page.loads):
        problem = _dead(link, path, site)
        if problem:
            yield f"{name}: {link} {problem}"
    for link in page.loads:
        if _is_elsewhere(link):
            yield f"{name}: loads {link} from another host."
    if site / "index.html" not in {_file_of(link, path) for link in page.links}:
        yield f"{name}: has no link back to the home page."


def _is_elsewhere(link: str) -> bool:
    parts = urlsplit(link)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def _file_of(link: str, path: Path) -> Path | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    return path if not parts.path else (path.parent / unquote(parts.path)).resolve()


def _dead(link: str, path: Path, site: Path) -> str:
    target = _file_of(link, path)
    if target is None:
        return ""
    if not target.is_relative_to(site):
        return "leads out of the site."
    if not target.is_file():
        return "is not there."
    anchor = unquote(urlsplit(link).fragment)
    if anchor and target.suffix == ".html" and anchor not in read_page(target).anchors:
        return "leads to a heading that is not there."
    return ""


def _loaded_by_styles(site: Path) -> list[str]:
    """Style sheets that import, or refer to, what another host has."""
    found = []
    for path in sorted(site.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        for part in text.split("url(")[1:]:
            address = part.partition(")")[0].strip("'\" ")
            if _is_elsewhere(address):
                found.append(f"{path.relative_to(site).as_posix()}: loads {address} from another host.")
    return found


def unreached(site: Path) -> list[str]:
    """Pages that no chain of links leads to from the home page; the page of search is asked by a form."""
    home = site / "index.html"
    seen, waiting = {home}, [home]
    while waiting:
        path = waiting.pop()
        for link in read_page(path).links:
            target = _file_of(link, path)
            if target is not None and target.suffix == ".html" and target.is_file() and target not in seen:
                seen.add(target)
                waiting.append(target)
    every = set(site.rglob("*.html")) - {site / "search.html"}
    return sorted(path.relative_to(site).as_posix() for path in every - seen)


def external_links(site: Path) -> dict[str, list[str]]:
    """Links to other sites, which are not followed, with the pages that have them."""
    found: dict[str, list[str]] = {}
    for path in sorted(site.rglob("*.html")):
        for link in read_page(path).links:
            if _is_elsewhere(link):
                found.setdefault(link, []).append(path.relative_to(site).as_posix())
    return found
