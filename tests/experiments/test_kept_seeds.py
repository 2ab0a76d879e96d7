"""What the page says about other seeds."""

import json

from arcbandit.experiments.kept_seeds import held_in_words


def test_counts_are_told_of_both_statements(tmp_path):
    """And nothing of a claim that was not counted, or without a file."""
    file = tmp_path / "seeds.json"
    assert held_in_words("regret/one", file.with_name("none.json")) == ""
    claims = {"regret/one": {"paper": 3, "ours": 30}, "regret/two": {"paper": None, "ours": 29}}
    file.write_text(json.dumps({"experiments": {"regret": 30}, "claims": claims}), encoding="utf-8")
    assert held_in_words("regret/one", file) == "Over 30 seeds, the paper's statement held in 3 and ours held in 30."
    assert held_in_words("regret/two", file) == "Over 30 seeds, ours held in 29."
    assert held_in_words("regret/three", file) == ""
