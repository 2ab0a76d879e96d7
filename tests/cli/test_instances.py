import json

import pytest

from arcbandit.cli import main
from arcbandit.experiments.paper_instances import PAPER_INSTANCES
from docs.generate_cli import PAGE, page


def test_lists_every_instance(capsys):
    """One row a name, with the parameter that may follow it and the shape."""
    assert main(["instances"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for entry in PAPER_INSTANCES.values():
        row = next(line.split() for line in lines if line.split()[:1] == [entry.name])
        built = entry.build()
        assert row[1 : 2 if entry.parameter else 1] == ([entry.parameter] if entry.parameter else [])
        assert f" {built.n_arms} x {built.n_contexts} " in " ".join(row)


@pytest.mark.parametrize("entry", PAPER_INSTANCES.values(), ids=lambda entry: entry.name)
def test_json_holds_what_the_catalogue_holds(entry, capsys):
    """Keys are the Python fields."""
    assert main(["instances", "--json"]) == 0
    listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)["instances"]}
    built = entry.build()
    assert listed[entry.name] == {
        "name": entry.name,
        "parameter": entry.parameter,
        "n_arms": built.n_arms,
        "n_contexts": built.n_contexts,
        "summary": entry.summary,
        "where": entry.where,
    }


def test_summaries_and_places_are_shown(capsys, monkeypatch):
    """In a wide terminal each stands on a line of its own."""
    monkeypatch.setenv("COLUMNS", "140")
    assert main(["instances"]) == 0
    output = capsys.readouterr().out
    for entry in PAPER_INSTANCES.values():
        assert entry.summary in output
        assert entry.where in output


@pytest.mark.slow
def test_reference_page_is_up_to_date():
    """`make docs` writes it again."""
    assert PAGE.read_text(encoding="utf-8") == page()
