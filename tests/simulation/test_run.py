"""Simulations as a whole: what they record, and that it does not depend on where they ran."""

import os
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pytest

from arcbandit import BLP, OLP, Instance, LinearProgramRule, ObservedRewards, paper_instance, plan, simulate
from arcbandit.errors import InvalidInputError, UnknownNameError

NU = paper_instance("nu")


def same(left, right):
    return all(
        np.array_equal(left.records[name], right.records[name], equal_nan=True)
        and np.array_equal(left.floor_records[name], right.floor_records[name], equal_nan=True)
        for name in left.policies
    )


class TestWhatIsRecorded:
    def test_shapes_are_epochs_by_checkpoints(self):
        trace = simulate(NU, ["olp", "doc"], horizon=500, epochs=3, checkpoints=20)
        assert trace.rounds[0] == 1
        assert trace.rounds[-1] == 500
        for metric in (trace.regret, trace.violation, trace.performance, trace.signed_regret, trace.fallback_share):
            assert set(metric) == {"olp", "doc"}
            assert metric["olp"].shape == (3, len(trace.rounds))
        assert trace.floor_realised["olp"].shape == (3, len(trace.rounds), 3)

    def test_metrics_agree_with_each_other(self):
        """Performance and signed regret add up to f* per round; realised revenue of the arms adds up to the total."""
        trace = simulate(NU, ["olp", "oplp", "optimistic3"], horizon=400, epochs=2)
        best = plan(NU).value
        for name in trace.policies:
            assert trace.performance[name] + trace.signed_regret[name] == pytest.approx(
                np.tile(best * trace.rounds, (2, 1)), rel=1e-9
            )
            assert trace.floor_realised[name].sum(axis=2) == pytest.approx(trace.realised_revenue[name], abs=1e-9)
            assert (trace.regret[name] >= trace.signed_regret[name] - 1e-9).all()
            assert (trace.violation[name] >= trace.signed_violation[name] - 1e-9).all()
            assert (np.diff(trace.regret[name]) >= 0).all()
            assert (np.diff(trace.violation[name]) >= 0).all()

    def test_a_plan_known_from_the_start_has_neither_regret_nor_violation(self):
        """With hardly any noise BLP plays the optimum as soon as every pair is seen."""
        quiet = Instance(NU.mean_rewards, NU.revenue_floors, NU.context_probabilities, noise_scale=1e-9)
        trace = simulate(quiet, ["blp"], horizon=2000, epochs=2, checkpoints=[100, 2000])
        assert (trace.regret["blp"][:, 1] - trace.regret["blp"][:, 0]).max() < 1e-5
        assert (trace.violation["blp"][:, 1] - trace.violation["blp"][:, 0]).max() < 1e-5
        assert trace.optimal_set_share["blp"][:, 1].min() > 0.9

    def test_windows_report_the_worst_shortfall(self):
        """Windows as recomputed from the rounds one by one."""
        length = 7
        trace = simulate(NU, ["olp"], horizon=60, epochs=1, checkpoints=range(1, 61), window=length)
        earned = np.diff(trace.floor_realised["olp"][0], axis=0, prepend=0.0)
        gaps = np.diff(trace.metric("floor_shortfall")["olp"][0], axis=0, prepend=0.0)
        for last in range(length, 61):
            stretch = slice(last - length, last)
            realised = NU.revenue_floors - earned[stretch].mean(axis=0)
            expected = gaps[stretch].mean(axis=0)
            assert (trace.worst_window_realised["olp"][0, last - 1] >= realised - 1e-9).all()
            assert (trace.worst_window_expected["olp"][0, last - 1] >= expected - 1e-9).all()
            if last == length:
                assert trace.worst_window_realised["olp"][0, last - 1] == pytest.approx(realised)
                assert trace.worst_window_expected["olp"][0, last - 1] == pytest.approx(expected)

    def test_infeasible_rounds_are_counted(self):
        hopeless = Instance(NU.mean_rewards, NU.revenue_floors * 10, NU.context_probabilities, noise_scale=0.01)
        trace = simulate(hopeless, ["olp", "oplp"], horizon=300, epochs=1)
        assert trace.infeasible_share["olp"][0, -1] > 0.8
        assert trace.fallback_share["oplp"][0, -1] == 1.0
        assert not trace.settings["feasible"]

    def test_policies_without_a_plan_have_no_active_set(self):
        trace = simulate(NU, ["doc"], horizon=50, epochs=1)
        assert np.isnan(trace.optimal_set_share["doc"]).all()


class TestRandomness:
    def test_policies_meet_the_same_contexts_and_noise(self):
        """A policy's record does not depend on which others run beside it, nor on how many epochs there are."""
        alone = simulate(NU, ["oplp"], horizon=300, epochs=2, seed=4)
        among = simulate(NU, ["olp", "oplp", "greedy"], horizon=300, epochs=4, seed=4)
        assert np.array_equal(alone.records["oplp"], among.records["oplp"][:2])

    def test_a_longer_horizon_extends_a_shorter_one(self):
        short = simulate(NU, ["blp"], horizon=200, epochs=1, checkpoints=[50, 200])
        long = simulate(NU, ["blp"], horizon=1000, epochs=1, checkpoints=[50, 200, 1000])
        assert np.array_equal(short.records["blp"], long.records["blp"][:, :, :2])

    def test_seeds_and_epochs_differ(self):
        trace = simulate(NU, ["olp"], horizon=300, epochs=2, seed=1)
        other = simulate(NU, ["olp"], horizon=300, epochs=2, seed=2)
        ends = [*trace.realised_revenue["olp"][:, -1], *other.realised_revenue["olp"][:, -1]]
        assert len(set(ends)) == 4

    def test_stretches_do_not_show(self, monkeypatch):
        """A run interrupted for progress every few rounds records the same."""
        whole = simulate(NU, ["oplp"], horizon=500, epochs=1, jobs=1)
        seen = []
        monkeypatch.setattr("arcbandit.simulation.epoch.WORK_BETWEEN_LOOKS", 9 * 7)
        pieces = simulate(NU, ["oplp"], horizon=500, epochs=1, jobs=1, progress=seen.append)
        assert same(whole, pieces)
        assert sum(seen) == 500
        assert len(seen) == 72


class TestWorkers:
    @pytest.mark.slow
    def test_threads_and_processes_record_the_same(self):
        arguments = {"horizon": 300, "epochs": 4, "seed": 9}
        alone = simulate(NU, ["olp", "thompson-lp"], jobs=1, **arguments)
        assert same(alone, simulate(NU, ["olp", "thompson-lp"], jobs=2, **arguments))
        with joblib.parallel_config(backend="loky"):
            assert same(alone, simulate(NU, ["olp", "thompson-lp"], jobs=2, **arguments))

    @pytest.mark.parametrize(("horizon", "at_a_time"), [(10, 555), (1_000, 5), (10_000, 1)])
    def test_threads_take_a_few_milliseconds_of_epochs_at_a_time(self, horizon, at_a_time, monkeypatch):
        """Many short ones, as handing over takes time as well; one long one, so that no thread waits for the last."""
        sizes = []

        class Watched(joblib.Parallel):
            def __init__(self, *arguments, **options):
                sizes.append(options["batch_size"])
                super().__init__(*arguments, **options)

        monkeypatch.setattr(joblib, "Parallel", Watched)
        arguments = {"horizon": horizon, "epochs": 3, "seed": 9, "checkpoints": 5}
        shared = simulate(NU, ["doc"], jobs=2, **arguments)
        assert sizes == [at_a_time]
        assert same(shared, simulate(NU, ["doc"], jobs=1, **arguments))

    @pytest.mark.parametrize(
        "kind",
        [pytest.param("threads", marks=pytest.mark.slow), pytest.param("processes", marks=pytest.mark.system)],
    )
    def test_a_dask_cluster_records_the_same(self, kind, tmp_path):
        """The same call, two workers of a local cluster, as threads or real processes, without a change of code."""
        script = tmp_path / "on_dask.py"
        script.write_text(
            textwrap.dedent(
                f"""
                import joblib, numpy as np
                from arcbandit import paper_instance, simulate
                from dask.distributed import Client, LocalCluster

                if __name__ == "__main__":
                    nu = paper_instance("nu")
                    alone = simulate(nu, ["olp"], horizon=200, epochs=4, seed=3, jobs=1)
                    how = dict(n_workers=2, threads_per_worker=1, processes={kind == "processes"})
                    with LocalCluster(dashboard_address=None, **how) as cluster:
                        with Client(cluster), joblib.parallel_config(backend="dask"):
                            spread = simulate(nu, ["olp"], horizon=200, epochs=4, seed=3)
                    assert np.array_equal(alone.records["olp"], spread.records["olp"])
                    print("same")
                """
            )
        )
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, timeout=240, env=os.environ, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "same" in done.stdout

    @pytest.mark.slow
    def test_memory_does_not_grow_with_the_horizon(self):
        """The peak of a process grows by less than 5 MB if it then plays ten times the rounds."""
        script = (
            "import resource\nfrom arcbandit import paper_instance, simulate\n"
            "for rounds in (200_000, 2_000_000):\n"
            "    simulate(paper_instance('nu'), ['olp'], horizon=rounds, epochs=1, jobs=1)\n"
            "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
        short, long = map(int, told.split())
        assert long - short < 5_000  # kilobytes


class TestRewards:
    def test_bernoulli_rewards_are_zero_or_one(self):
        """Revenue is whole, and its mean within five standard errors (false alarms: 6e-7)."""
        instance = Instance([[0.2, 0.9], [0.5, 0.4]], [0, 0], [0.5, 0.5], noise_scale=0.5)
        trace = simulate(instance, ["blp"], horizon=20_000, epochs=1, rewards="bernoulli", checkpoints=[20_000])
        revenue = trace.realised_revenue["blp"][0, -1]
        assert revenue == int(revenue)
        assert abs(revenue - trace.performance["blp"][0, -1]) < 5 * np.sqrt(0.25 * 20_000)

    def test_observed_rewards_are_drawn_from(self):
        observed = ObservedRewards([[[1.0, 3.0], [0.5]], [[2.0], [4.0, 4.0, 1.0]]])
        instance = observed.instance([0.0, 0.0], [0.5, 0.5])
        trace = simulate(instance, ["greedy"], horizon=50, epochs=1, rewards=observed, checkpoints=range(1, 51))
        rewards = np.diff(trace.realised_revenue["greedy"][0], prepend=0.0)
        assert set(np.round(rewards, 9)) <= {1.0, 3.0, 0.5, 2.0, 4.0}

    def test_rewards_that_do_not_fit_are_refused(self):
        with pytest.raises(InvalidInputError, match="from 0 to 1"):
            simulate(NU, ["olp"], 10, rewards="bernoulli")
        with pytest.raises(InvalidInputError, match="means of the observed"):
            simulate(NU, ["olp"], 10, rewards=ObservedRewards([[[1.0]] * 3] * 3))
        with pytest.raises(InvalidInputError, match="rewards must be"):
            simulate(NU, ["olp"], 10, rewards="cauchy")
        with pytest.raises(InvalidInputError, match="at least one reward"):
            ObservedRewards([[[]]])


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"horizon": 0}, "horizon must be"),
            ({"epochs": 0}, "epochs must be"),
            ({"epochs": 2**32}, "epochs must be at most 4294967295"),
            ({"seed": -1}, "seed must be"),
            ({"window": 0}, "window must be"),
            ({"window": 11}, "window must not be longer"),
            ({"jobs": 0}, "jobs must be"),
            ({"jobs": "all"}, "jobs must be"),
            ({"checkpoints": [1.5]}, "whole numbers"),
            ({"instance": "nu"}, "must be an Instance"),
            ({"checkpoints": [0]}, "checkpoints must be rounds"),
            ({"checkpoints": [11]}, "checkpoints must be rounds"),
            ({"policies": []}, "at least one policy"),
            ({"policies": [3]}, "names or policies"),
            ({"policies": ["olp", "olp"]}, "must have different labels"),
        ],
    )
    def test_a_bad_argument_is_named(self, arguments, words):
        with pytest.raises(InvalidInputError, match=words):
            simulate(**{"instance": NU, "policies": ["olp"], "horizon": 10, "epochs": 1, **arguments})

    def test_an_unknown_policy_is_named(self):
        with pytest.raises(UnknownNameError, match="no policy 'oracle'"):
            simulate(NU, ["oracle"], 10)

    def test_configured_policies_are_labelled_by_their_dials(self):
        policies = [LinearProgramRule(caution=-0.5), LinearProgramRule(caution=0.5), BLP(estimate_contexts=True)]
        trace = simulate(NU, policies, horizon=50, epochs=1)
        assert trace.policies == ("linear-program(caution=-0.5)", "linear-program(caution=0.5)", "blp(p=?)")
        named = simulate(NU, {"ours": OLP(), "theirs": "olp"}, horizon=50, epochs=1)
        assert np.array_equal(named.records["ours"], named.records["theirs"])
