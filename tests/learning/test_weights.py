"""What a weight on violation must cost, by what exploring costs."""

import math

import pytest

from arcbandit import Instance
from arcbandit.learning.contestants import CAREFUL, CAUTIOUS, JUDGED
from arcbandit.learning.results import FamilyResults, Row, Settings
from benchmarks.weights import Regrets, least_exploring, main, share_for_exploring


def test_exploring_is_that_of_a_bandit_where_there_is_one():
    bandit = Instance([[2.0], [1.5]], [0.0, 0.0], [1.0], noise_scale=0.5)
    assert least_exploring(bandit, 10_000) == pytest.approx(2 * 0.25 * math.log(10_000) / 0.5)
    hopeless = Instance([[2.0], [2.0 - 1e-4]], [0.0, 0.0], [1.0])
    assert least_exploring(hopeless, 10_000) == pytest.approx(10_000 * 1e-4)  # no more than every round


def test_a_floor_counts_by_its_price():
    """A reward of arm 2 counts three times, for its floor has a price of 2."""
    instance = Instance([[3.0, 2.0], [1.0, 0.5]], [0.0, 0.25], [0.5, 0.5])
    # Its floor is met in the first context, where 1 unit costs 2; in the second, 0.5 would cost 1.5.
    lost = 2.0 - 3.0 * 0.5
    assert least_exploring(instance, 10**6) == pytest.approx(2 * 3.0**2 * math.log(10**6) / lost)


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "folder must have results of the half scored" in capsys.readouterr().err


def test_instances_without_a_limit_have_a_line_of_their_own(tmp_path, capsys):
    """Else the table would leave out a part of a family without saying so."""
    rows = [
        Row(number, policy, regret, 300.0 * number, 1.0, 1.0, 1e3, math.nan if number else 20.0)
        for number in (0, 1)
        for policy, regret in ((CAUTIOUS, 100.0), (CAREFUL, 60.0 + 80.0 * number), (JUDGED, 50.0))
    ]
    FamilyResults(Settings("scored", "small", 0, 50_000, 8), rows, ["a command"]).save(tmp_path, "a command")
    main([str(tmp_path)])
    table, exploring = capsys.readouterr().out.split("\n\n")
    limited, violating, others, without = table.splitlines()[2:]
    assert limited.startswith("| small | with a limit | 1 | 100 | 60 | ")
    assert violating.startswith("| small | of these, OPLP violates | 0 | – |")
    assert others == limited.replace("with a limit", "of these, others")
    assert without == "| small | without a limit | 1 | 100 | 140 | – | 1.40 | – |"
    assert exploring.splitlines()[2].startswith("| small | 1 | ")


def test_the_share_for_exploring_is_what_is_left_beside_the_limit():
    rows = [Regrets(100.0, 90.0, 20.0, False, 100.0, 0.0), Regrets(100.0, 90.0, 20.0, False, 100.0, 0.0)]
    assert share_for_exploring(rows, 0.7) == pytest.approx(0.5)
    assert share_for_exploring(rows, 0.1) == 0.0
    assert share_for_exploring(rows, 2.0) == 1.0
