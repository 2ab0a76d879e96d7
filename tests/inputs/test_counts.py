"""1e5 is a whole number, and 1.5, True and infinity are not."""

import fractions

import numpy as np
import pytest

from arcbandit import BLP, Instance, ThompsonLP, paper_instance, restore, simulate
from arcbandit.cli import main
from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import whole

NOT_WHOLE = [1.5, True, False, np.bool_(True), float("nan"), float("inf"), -float("inf"), "10", None, 1j]
NOT_WHOLE += [
    fractions.Fraction(1, 2),
    fractions.Fraction(10**400, 3),
    np.timedelta64(1, "s"),
    [1.0],
    np.longdouble("1e4000"),
]


@pytest.mark.parametrize("value", [100_000, 1e5, np.float64(1e5), np.float32(1e5), np.int32(100_000), np.float16(8.0)])
def test_a_float_that_is_whole_is_a_count(value):
    found = whole("horizon", value, 1)
    assert type(found) is int
    assert found == value


@pytest.mark.parametrize("value", NOT_WHOLE, ids=repr)
def test_what_is_not_whole_is_refused(value):
    with pytest.raises(InvalidInputError, match="horizon must be a whole number"):
        whole("horizon", value, 0)


def test_limits_hold_for_floats_too():
    for value in (0.0, -1e5, 2.0**63, 1e300):
        with pytest.raises(InvalidInputError, match="horizon must be a whole number"):
            whole("horizon", value, 1)


def test_a_simulation_takes_every_number_of_rounds_as_a_float():
    nu = paper_instance("nu")
    by_floats = simulate(nu, ["blp"], 1e2, 2.0, 1e0, window=1e1, jobs=1.0, checkpoints=5.0)
    by_wholes = simulate(nu, ["blp"], 100, 2, 1, window=10, jobs=1, checkpoints=5)
    assert np.array_equal(by_floats.records["blp"], by_wholes.records["blp"])
    assert by_floats.settings == by_wholes.settings
    assert simulate(nu, ["blp"], 100, 1, checkpoints=[1e1, 50]).rounds.tolist() == [10, 50, 100]


def test_so_does_a_policy_and_its_snapshot_holds_integers():
    decider = ThompsonLP([0.1], contexts=2.0, horizon=1e5, seed=3.0, replan=1e1, worker=1.0, redraws=5.0)
    assert (decider.horizon, decider.seed, decider.replan, decider.worker) == (100_000, 3, 10, 1)
    assert {type(value) for value in (decider.horizon, decider.seed, decider.replan, decider.worker)} == {int}
    assert type(decider.dial_values["redraws"]) is int
    assert restore(decider.snapshot()).snapshot() == decider.snapshot()


def test_an_index_is_not_a_count():
    """An arm 1.0 is more likely a mistake than an arm."""
    with pytest.raises(InvalidInputError, match="There is no arm"):
        BLP([0.1, 0.1], [1.0]).update(0, 1.0, 1.0)


@pytest.mark.parametrize("text", ["1e2", "100", "1_00", "100.0"])
def test_the_command_line_takes_counts_as_people_write_them(text, capsys):
    assert main(["simulate", "nu", "--policy", "blp", "--epochs", "1", "--horizon", text]) == 0
    assert "1 epoch of 100 rounds" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["1.5", "inf", "nan", "abc", "1e400", ""])
def test_the_command_line_never_rounds_a_count(text, capsys):
    assert main(["simulate", "nu", "--policy", "blp", "--epochs", "1", "--horizon", text]) == 2
    assert "--horizon" in (said := capsys.readouterr().err)
    assert "whole number" in said


class TestProbabilities:
    """Sums within 1e-6 of 1 are scaled with a note, others refused with the sum."""

    @staticmethod
    def instance(probabilities):
        return Instance([[1.0] * len(probabilities)], [0.1], probabilities)

    def test_rounding_is_left_alone_without_a_word(self):
        for probabilities in ([1 / 3, 1 / 3, 1 / 3], [0.1] * 10, [0.5, 0.5 + 9e-10]):
            assert self.instance(probabilities).context_probabilities.tolist() == probabilities

    @pytest.mark.parametrize("probabilities", [[0.333333, 0.333333, 0.333333], [0.5, 0.5 + 1e-8], [0.5, 0.4999995]])
    def test_printed_decimals_are_scaled_with_a_note(self, probabilities):
        with pytest.warns(UserWarning, match="context_probabilities sum to") as noted:
            scaled = self.instance(probabilities).context_probabilities
        assert len(noted) == 1
        assert noted[0].category.__name__ == "ScaledProbabilitiesWarning"
        assert noted[0].filename == __file__
        assert abs(scaled.sum() - 1) < 1e-15
        assert np.allclose(scaled, probabilities, rtol=2e-6)

    def test_a_policy_and_weighted_means_say_it_once_at_the_line_of_the_caller(self):
        probabilities = [0.333333, 0.333333, 0.333333]
        for call in (
            lambda: BLP([0.1], probabilities),
            lambda: Instance.from_weighted_means([[1.0, 1.0, 1.0]], [0.1], probabilities),
        ):
            with pytest.warns(UserWarning, match="divided") as noted:
                made = call()
            assert [note.filename for note in noted] == [__file__]
        assert BLP().for_instance(made).learner.problem.context_probabilities.sum() == pytest.approx(1.0, abs=1e-15)

    @pytest.mark.parametrize("probabilities", [[0.5, 0.4], [0.33, 0.33, 0.33], [0.5, 0.5 + 1.1e-6]])
    def test_others_are_refused_with_their_sum(self, probabilities):
        with pytest.raises(InvalidInputError, match=r"must sum to 1 \(within 1e-06\), got (0\.9|1\.00000)"):
            self.instance(probabilities)
