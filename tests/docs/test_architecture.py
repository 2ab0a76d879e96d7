"""ARCHITECTURE.md is short enough to be read, and its diagram is that of the code."""

import math
import re
from itertools import product

import grimp

from docs.site.contents import ROOT
from docs.site.diagrams import BLOCK, graph_of

PAGE = ROOT / "ARCHITECTURE.md"
TWO_PAGES = 120  # lines
WIDTH = 120  # characters; a longer row of a table is as many lines as it fills
NOT_ROOMS = {"__main__", "__init__"}  # the way in, and the public names


def imports_between_rooms():
    """The rooms that each room imports, by any of its modules."""
    graph = grimp.build_graph("arcbandit", cache_dir=None)
    found = {}
    for module in graph.modules - {"arcbandit"}:
        room = module.split(".")[1]
        others = {other.split(".")[1] for other in graph.find_modules_directly_imported_by(module) if "." in other}
        found[room] = found.get(room, set()) | others - {room}
    return {room: others for room, others in found.items() if room not in NOT_ROOMS}


def reached_from(arrows, room):
    """All that can be reached by one arrow or more."""
    found, waiting = set(), set(arrows[room])
    while waiting:
        found |= waiting
        waiting = {end for start in waiting for end in arrows[start]} - found
    return found


def test_two_pages_are_enough():
    """Details belong in docs/how-it-works.md."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert sum(max(1, math.ceil(len(line) / WIDTH)) for line in lines) <= TWO_PAGES
    assert [line for line in lines if len(line) > WIDTH and not line.startswith("|")] == []


def test_the_diagram_has_every_import_that_no_longer_path_implies_and_no_other():
    """A room's arrows are the imports that are left when those implied by others are taken away."""
    imports = imports_between_rooms()
    assert len(imports) > 25
    needed = {
        room: {
            other
            for other in others
            if not any(other in reached_from(imports, between) for between in others - {other})
        }
        for room, others in imports.items()
    }
    drawn = {room: set(ends) for room, ends in graph_of(BLOCK.search(PAGE.read_text(encoding="utf-8"))[1]).items()}
    assert drawn == needed


def test_the_table_has_every_room_once():
    """A room is named in the first column of one row."""
    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    named = [name.strip("`/") for row in rows for name in row.split(", ")]
    assert sorted(named) == sorted(imports_between_rooms())


def test_the_client_imports_of_the_service_what_its_row_says():
    """A program that only asks for decisions loads little of the service."""
    graph = grimp.build_graph("arcbandit", cache_dir=None)
    clients = {module for module in graph.modules if module.startswith("arcbandit.client")}
    parts = {module for module in graph.modules if module.startswith("arcbandit.service.")}
    used = {
        part.split(".")[2]
        for one, part in product(clients, parts)
        if graph.direct_import_exists(importer=one, imported=part)
    }
    (row,) = re.findall(r"^\| `client/` .*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    said = row.split("of the service it imports ")[1].split(" alone")[0]
    assert set(re.findall(r"`(\w+)`", said)) == used
