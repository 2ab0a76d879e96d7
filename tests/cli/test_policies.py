import json

import pytest

from arcbandit.cli import main
from arcbandit.policies.registry import POLICIES


def test_lists_every_policy_with_its_dials(capsys):
    """Name, default and range of each."""
    assert main(["policies"]) == 0
    output = capsys.readouterr().out
    words = " ".join(output.split())
    for kind in POLICIES.values():
        assert any(line.split()[:1] == [kind.name] for line in output.splitlines())
        for dial in kind.dials:
            default = dial.default if isinstance(dial.default, str) else f"{dial.default:g}"
            assert f"{dial.name}={default} " in words
    assert "from -10 to 10" in words


@pytest.mark.parametrize("kind", POLICIES.values(), ids=lambda kind: kind.name)
def test_json_holds_what_the_registry_holds(kind, capsys):
    """Plain numbers, and null for a side that is open."""

    def refuse(token):
        raise AssertionError(f"{token} is not JSON")

    assert main(["policies", "--json"]) == 0
    document = json.loads(capsys.readouterr().out, parse_constant=refuse)
    entry = {one["name"]: one for one in document["policies"]}[kind.name]
    assert entry["summary"] == " ".join(kind.__doc__.split("\n\n")[0].split())
    assert [dial["name"] for dial in entry["dials"]] == [dial.name for dial in kind.dials]
    assert [dial["default"] for dial in entry["dials"]] == [dial.default for dial in kind.dials]
    assert ("horizon" in entry["needs"], "mean_bound" in entry["needs"]) == (kind.needs_horizon, kind.needs_mean_bound)
    assert entry["supports_group_floors"] == kind.supports_group_floors
