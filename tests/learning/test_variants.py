"""What is tried in place of parts of PricedLP is PricedLP but for these parts."""

import numpy as np
import pytest

from arcbandit import Instance, paper_instance, simulate
from arcbandit.policies import priced_lp
from arcbandit.policies.priced_lp import PricedLP
from benchmarks.variants import Variant, geometric_mean_of_ratios, main, variants, varied

NU = paper_instance("nu")
# Those that play otherwise elsewhere: with dear floors, many visits, a cadence; and with pairs that are hardly played.
ELSEWHERE = ("later", "few-visits", "stands", "no-counts")


@pytest.mark.slow
def test_with_nothing_else_in_its_place_it_plays_alike():
    """The kernels are bound again from the first that uses a constant to `allocate`."""
    same = Variant("the same", varied(LEFT_ALONE=priced_lp.LEFT_ALONE)).configured("same", 1.0)
    other = Variant("other bonus", varied(BONUS_HEAD_START=1.0)).configured("other", 1.0)
    trace = simulate(NU, {"priced-lp": PricedLP(), "same": same, "other": other}, 2000, epochs=2)
    assert np.array_equal(trace.records["same"], trace.records["priced-lp"], equal_nan=True)
    assert (trace.regret["other"] != trace.regret["priced-lp"]).any()


@pytest.mark.slow
def test_each_is_a_rule_of_its_own(cases):
    """It plays, and otherwise than PricedLP; the short version leaves out what takes longest to compile."""
    chosen = {name: one for name, one in variants().items() if name in cases(("first", "variances"), tuple(variants()))}
    assert chosen
    instance = paper_instance("nu-margin:0.01")
    policies = {name: one.configured(name, 1.0) for name, one in chosen.items() if name not in ELSEWHERE}
    trace = simulate(instance, {"priced-lp": PricedLP(), **policies}, 20_000, epochs=2)
    for name in policies:
        total = trace.regret_plus_violation[name][:, -1]
        assert np.isfinite(total).all()
        assert (total != trace.regret_plus_violation["priced-lp"][:, -1]).any(), name


@pytest.mark.slow
def test_those_that_need_dear_floors_many_visits_or_a_cadence(cases):
    """On the other instance they play as PricedLP does."""
    chosen = [variants()[name] for name in cases(ELSEWHERE[:1], ELSEWHERE[:3])]
    instance = Instance([[3.0, 2.0], [0.05, 0.03]], [0.1, 0.01], [0.5, 0.5], noise_scale=0.1)
    policies = {one.about: one.configured(f"variant-{place}", 1.0, 100) for place, one in enumerate(chosen)}
    trace = simulate(instance, {"priced-lp": PricedLP(replan=100), **policies}, 60_000, epochs=4)
    for about in policies:
        differs = trace.regret_plus_violation[about][:, -1] != trace.regret_plus_violation["priced-lp"][:, -1]
        assert differs.any(), about


@pytest.mark.slow
def test_the_table_has_a_line_for_each(tmp_path, capsys):
    small = ["--instances", "1", "--epochs", "1", "--horizon", "200", "--out", str(tmp_path)]
    main(["no-counts", "--family", "small", *small])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| in place of a part | small |"
    assert lines[2].startswith("| (PricedLP) | 1.00 (")
    assert lines[3].startswith("| no count floor | ")
    main(["no-counts", "--family", "small", *small])
    assert "has all of this already" in capsys.readouterr().err
    main(["no-counts", "--family", "small", "--again", *small])
    assert capsys.readouterr().err == ""
    main(["no-counts", "--family", "small", "--seed", "8", *small])  # other instances, beside those of seed 0
    assert capsys.readouterr().out.splitlines()[2] != lines[2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["weight-1", "weight-1-seed-8"]
    with pytest.raises(SystemExit):
        main(["nonsense", *small])
    assert "got nonsense" in capsys.readouterr().err


def test_ratios_are_averaged_as_factors():
    """The error is that of the mean of logarithms, at the mean."""
    mean, error = geometric_mean_of_ratios(np.array([[200.0, 100.0], [50.0, 100.0]]))
    assert (mean, error) == pytest.approx((1.0, np.log(2.0)))
    mean, error = geometric_mean_of_ratios(np.array([[0.0, 100.0]]))
    assert mean == pytest.approx(0.01)  # less than 1 counts as 1
    assert np.isnan(error)
