"""In a terminal of 80 columns no table loses a number, whatever its size."""

import io
import re

import pytest
from rich.console import Console
from rich.table import Table

from arcbandit.cli import main
from arcbandit.cli.wide_tables import natural_width, print_in_parts, print_whole

WIDE = """
arms = ["a provider with quite a long name A", "another provider with a long name", "the last of the providers here"]
contexts = ["drama", "comedy", "thriller and suspense"]
context_probabilities = [0.2, 0.3, 0.5]
revenue_floors = [123456789.12345, 0.000123, {floor}]
noise_scale = 1000000.0
mean_rewards = [[123456789012.5, 98765432.125, 12345678.5], [123.456, 0.001234, 98765432109.125], [1e9, 2e9, 3e9]]
[[group_floors]]
name = "a group of providers with a long name"
arms = ["a provider with quite a long name A", "another provider with a long name"]
floor = 12345678901.125
"""
VERBS = {
    "plan": ["plan", "{file}"],
    "plan of least shortfall": ["plan", "{infeasible}"],
    "plan with constants": ["plan", "nu-plus:0.123456789", "--analyse"],
    "simulate": ["simulate", "{file}", "--horizon", "200", "--epochs", "3", "--window", "50"],
    "simulate a single epoch": ["simulate", "{file}", "--horizon", "200", "--epochs", "1"],
    "instances": ["instances"],
    "policies": ["policies"],
    "experiments": ["reproduce", "--list"],
}


def numbers(text):
    """Every number with a digit or more, as it is printed."""
    return sorted(re.findall(r"[-<>]?\d[\d,.]*(?:e[-+]?\d+)?%?", text))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_prints_the_same_numbers_at_80_columns_as_without_a_border(verb, tmp_path, capsys, monkeypatch):
    (tmp_path / "wide.toml").write_text(WIDE.format(floor="22222222.125"))
    (tmp_path / "infeasible.toml").write_text(WIDE.format(floor="98765432109876.125"))
    files = {"file": str(tmp_path / "wide.toml"), "infeasible": str(tmp_path / "infeasible.toml")}
    printed = {}
    for width in (80, 1000):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main([part.format(**files) for part in VERBS[verb]]) == 0
        printed[width] = capsys.readouterr().out.replace(str(tmp_path), "")
    assert numbers(printed[80]) == numbers(printed[1000])
    assert len(numbers(printed[80])) > 5
    assert not re.search(r"\d…", printed[80])
    assert max(map(len, printed[80].splitlines())) <= 80


def table_of(headings):
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for heading in ("name", *headings):
        table.add_column(heading, no_wrap=True)
    table.add_row("first", *("9" * len(heading) for heading in headings))
    return table


def printed(width, headings):
    console = Console(file=io.StringIO(), width=width)
    print_in_parts(console, table_of, headings)
    assert console.width == width
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_table_that_fits_is_one():
    assert printed(80, ["a", "b"]) == ["name   a  b", "first  9  9"]


def test_parts_repeat_the_name_of_each_row():
    assert printed(20, ["a" * 6, "b" * 6, "c"]) == [
        *("name   aaaaaa", "first  999999", ""),
        *("name   bbbbbb  c", "first  999999  9"),
    ]


def test_a_single_number_wider_than_the_terminal_is_printed_whole():
    assert printed(20, ["a" * 50]) == ["name   " + "a" * 50, "first  " + "9" * 50]


def test_a_width_is_measured_beyond_that_of_the_terminal():
    console = Console(file=io.StringIO(), width=10)
    assert natural_width(console, table_of(["a" * 500])) >= 507
    print_whole(console, table_of(["a" * 500]))
    assert "9" * 500 in console.file.getvalue()
