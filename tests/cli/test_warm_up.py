import json

import pytest

from arcbandit.cli import main
from tests.compilation.small_package import lines

WARM_UP = """
from arcbandit.cli import main
assert main(["warm-up", "doc", "--json"]) == 0
"""


@pytest.mark.slow
def test_says_what_it_compiled_and_how_long_that_took(capsys):
    assert main(["warm-up", "doc", "sgoc"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].split() == ["what", "seconds", "compiled", "found", "on", "disk"]
    assert [line.split("  ")[0] for line in said[1:4]] == ["planning", "policy doc", "policy sgoc"]
    assert said[-1].startswith("Compiled code is in ")


@pytest.mark.system
def test_the_next_process_finds_everything_on_disk(tmp_path):
    """Nothing of what was warmed up is compiled again."""
    settings = {"ARCBANDIT_CACHE_DIR": tmp_path}
    documents = []
    for _ in range(2):
        text = "\n".join(lines(WARM_UP, **settings))
        documents.append(json.loads(text)["compiled"])
    first, second = documents
    assert sum(part["compiled"] for part in first) > 2
    assert all(part["seconds"] > 0 for part in first)
    assert [part["compiled"] for part in second] == [0, 0]
    assert sum(part["found"] for part in second) == sum(part["compiled"] + part["found"] for part in first)


def test_a_policy_must_be_known(capsys):
    assert main(["warm-up", "bpl"]) == 2
    assert "did you mean 'blp'?" in capsys.readouterr().err
