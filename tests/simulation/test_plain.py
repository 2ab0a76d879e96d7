"""Plain Python objects in a simulation: the draws and the meters of the compiled policies, at Python's speed."""

import copy
import math
import re
import threading

import numpy as np
import pytest

from arcbandit import DriftPlusPenalty, GroupFloor, Instance, ObservedRewards, audit, paper_instance, simulate
from arcbandit.errors import InvalidInputError
from arcbandit.policies.streams import stream_of_worker
from arcbandit.simulation import device, run
from tests.policies.test_contract import meet_context, meet_reward, world_of

NU = paper_instance("nu")
SKEWED = Instance([[1.0, 0.3], [0.2, 0.8], [0.4, 0.5]], [0.1, 0.2, 0.1], [0.7, 0.3], noise_scale=0.4)
MASK = np.array([[True, True], [True, False], [False, True]])


class Even:
    """Every available arm is as likely."""

    name = "even"

    def begin(self, problem, seed):
        self.shares = problem.available / problem.available.sum(axis=0)

    def allocate(self, context):
        return self.shares

    def learn(self, context, arm, reward):
        pass


class Watched(Even):
    """Writes down what it is told, in a list that all copies share."""

    name = "watched"

    def __init__(self):
        self.log = []

    def __deepcopy__(self, memo):
        other = Watched()
        other.log = self.log
        return other

    def begin(self, problem, seed):
        super().begin(problem, seed)
        self.log.append(("begin", problem, seed))

    def allocate(self, context):
        self.log.append(("allocate", context))
        return super().allocate(context)

    def learn(self, context, arm, reward):
        self.log.append(("learn", context, arm, reward))


class Wandering(Even):
    """Draws its shares from the seed, and forgets nothing that `begin` does not make it forget."""

    name = "wandering"

    def begin(self, problem, seed):
        self.shape = problem.shape
        self.random = np.random.default_rng(seed)
        self.seen = 0.0

    def allocate(self, context):
        shares = self.random.random(self.shape) + 0.1 + (self.seen % 1.0)
        return shares / shares.sum(axis=0)

    def learn(self, context, arm, reward):
        self.seen += abs(reward)


class DriftPlusPenaltyAgain:
    """DriftPlusPenalty in plain Python, operation by operation, so that every bit is the same."""

    name = "again"

    def __init__(self, mean_bound):
        self.bound = mean_bound

    def begin(self, problem, seed):
        self.problem = problem
        self.t = 0
        self.pulls, self.means = np.zeros(problem.shape), np.zeros(problem.shape)
        self.queues = [0.0] * len(problem.arms)

    def allocate(self, context):
        self.t += 1
        n_arms, n_contexts = self.problem.shape
        factor = self.problem.noise_scale * math.sqrt(2.0 * math.log(2.0 * (n_arms * n_contexts) * self.t))
        weight = math.sqrt(self.problem.horizon)
        shares = np.zeros(self.problem.shape)
        for column in range(n_contexts):
            arms = [arm for arm in range(n_arms) if self.problem.available[arm, column]]
            fresh = [arm for arm in arms if self.pulls[arm, column] == 0]
            if fresh:
                shares[fresh, column] = 1.0 / len(fresh)
            else:
                roots = [1.0 / math.sqrt(self.pulls[arm, column]) for arm in arms]
                scores = [
                    (weight + self.queues[arm]) * ((self.means[arm, column] + factor * root) / self.bound)
                    for arm, root in zip(arms, roots, strict=True)
                ]
                shares[arms[scores.index(max(scores))], column] = 1.0
        return shares

    def learn(self, context, arm, reward):
        self.pulls[arm, context] += 1
        self.means[arm, context] += (reward - self.means[arm, context]) / self.pulls[arm, context]
        for other, floor in enumerate(self.problem.revenue_floors):
            earned = reward / self.bound if other == arm else 0.0
            self.queues[other] = max(0.0, self.queues[other] + floor / self.bound - earned)


def records(trace, label):
    """Everything that was measured of a policy."""
    return trace.records[label], trace.floor_records[label]


def assert_same_records(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other, equal_nan=True)


class TestTheSameRun:
    @pytest.mark.parametrize(
        ("instance", "options"),
        [
            (NU, {}),
            (SKEWED, {"window": 15}),
            (SKEWED, {"available": MASK.tolist(), "jobs": 2}),
            (Instance(np.clip(NU.mean_rewards, 0, 1), [0.1] * 3, NU.context_probabilities), {"rewards": "bernoulli"}),
        ],
        ids=["nu", "windows", "mask", "bernoulli"],
    )
    def test_an_object_that_does_what_a_compiled_policy_does_is_measured_the_same(self, instance, options):
        """Bit for bit, in every metric, at every checkpoint and in every epoch: same draws, same arms."""
        again = DriftPlusPenaltyAgain(float(instance.mean_rewards.max()))
        policies = {"compiled": DriftPlusPenalty(), "plain": again}
        trace = simulate(instance, policies, 400, 3, seed=7, **({"jobs": 1, "checkpoints": 50} | options))
        assert_same_records(records(trace, "plain"), records(trace, "compiled"))
        assert len(set(trace.regret["plain"][:, -1])) == 3

    def test_an_object_meets_the_contexts_and_the_noise_of_the_epoch(self):
        """Those that compiled policies meet, by seed, epoch and round, and the reward of the arm that was drawn."""
        watched, world = Watched(), world_of(SKEWED)
        simulate(SKEWED, [watched], 60, 2, seed=5, jobs=1)
        starts = [place for place, (what, *_) in enumerate(watched.log) if what == "begin"]
        epochs = [watched.log[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
        assert [len(calls) for calls in epochs] == [3, 121, 121]  # one round is tried before the work begins
        for epoch, calls in enumerate(epochs[1:]):
            for t in range(1, 61):
                asked, (learnt, context, arm, reward) = calls[2 * t - 1], calls[2 * t]
                assert asked == ("allocate", meet_context(world, 5, epoch, t))
                assert (learnt, context) == ("learn", asked[1])
                assert reward == meet_reward(world, arm, context, 5, epoch, t)
                assert [type(value) for value in (context, arm, reward)] == [int, int, float]
        assert {call[2] for call in epochs[1] if call[0] == "learn"} == {0, 1, 2}

    def test_compiled_policies_beside_it_play_as_alone(self):
        beside = simulate(NU, [Even(), "olp", Wandering(), "doc"], 200, 2, jobs=1)
        alone = simulate(NU, ["olp", "doc"], 200, 2, jobs=1)
        for name in ("olp", "doc"):
            assert_same_records(records(beside, name), records(alone, name))

    def test_measures_are_those_of_its_allocation(self):
        """Regret, violation and revenue of equal shares, worked out by hand."""
        trace = simulate(SKEWED, Even(), 100, 1, jobs=1, checkpoints=[1, 100])
        revenue = (SKEWED.mean_rewards * SKEWED.context_probabilities).sum(axis=1) / 3
        violation = np.maximum(SKEWED.revenue_floors - revenue, 0.0)
        assert trace.performance["even"][0] == pytest.approx([revenue.sum(), 100 * revenue.sum()])
        assert trace.regret["even"][0, -1] == pytest.approx(100 * (trace.settings["optimal_value"] - revenue.sum()))
        assert trace.violation["even"][0, -1] == pytest.approx(100 * violation.sum())
        assert np.isnan(trace.optimal_set_share["even"]).all()
        assert (trace.fallback_share["even"] == 0).all()

    def test_groups_windows_observed_rewards_and_summaries(self):
        observed = ObservedRewards([[[9.0], [3.0, 1.0]], [[0.0, 1.0], [1.5]]])
        plain = observed.instance([0.5, 0.1], [0.5, 0.5])
        instance = Instance(
            plain.mean_rewards,
            plain.revenue_floors,
            plain.context_probabilities,
            group_floors=[GroupFloor("both", (0, 1), 0.3)],
        )
        options = {"rewards": observed, "window": 5, "jobs": 1}
        trace = simulate(instance, [Even()], 50, 3, **options)
        assert trace.floor_realised["even"].shape == (3, len(trace.rounds), 3)
        summary = simulate(instance, [Even()], 50, 3, keep="summary", **options)
        for metric in ("regret", "realised_revenue", "worst_window_realised"):
            assert summary.mean(metric, "even") == pytest.approx(trace.mean(metric, "even"), rel=1e-12)


class TestEpochs:
    def test_do_not_depend_on_each_other_nor_on_jobs(self):
        """Each has a copy of the object and a seed of its own."""
        one = simulate(NU, [Wandering()], 150, 6, seed=3, jobs=1)
        two = simulate(NU, [Wandering()], 150, 6, seed=3, jobs=2)
        assert_same_records(records(one, "wandering"), records(two, "wandering"))
        few = simulate(NU, [Wandering()], 150, 2, seed=3, jobs=2)
        assert_same_records(records(few, "wandering"), [part[:2] for part in records(one, "wandering")])
        assert len(set(one.performance["wandering"][:, -1])) == 6
        other = simulate(NU, [Wandering()], 150, 6, seed=4, jobs=1)
        assert not set(other.performance["wandering"][:, -1]) & set(one.performance["wandering"][:, -1])

    def test_have_seeds_of_their_own(self):
        watched = Watched()
        simulate(NU, [watched], 2, 4, seed=9, jobs=1)
        seeds = [call[2] for call in watched.log if call[0] == "begin"][1:]
        assert seeds == [stream_of_worker(9, epoch + 1) for epoch in range(4)]
        assert len({9, *seeds}) == 5

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_leave_the_object_as_it_is(self, jobs):
        given = Wandering()
        given.note = ["of mine"]
        before = copy.deepcopy(vars(given))
        simulate(NU, [given], 20, 3, jobs=jobs)
        assert vars(given) == before

    def test_are_told_the_problem(self):
        """All that the setting tells a learner, the true horizon from the first, and not the means."""
        group = GroupFloor("ends", ("1", "3"), 0.2)
        instance = Instance(
            SKEWED.mean_rewards,
            SKEWED.revenue_floors,
            SKEWED.context_probabilities,
            group_floors=[group],
            noise_scale=0.4,
        )
        watched = Watched()
        simulate(instance, [watched], 30, 2, jobs=1, available=MASK.tolist())
        told = [call[1] for call in watched.log if call[0] == "begin"]
        assert len(told) == 3
        for problem in told:
            assert (problem.arms, problem.contexts, problem.shape) == (instance.arms, instance.contexts, (3, 2))
            assert problem.revenue_floors.tolist() == [0.1, 0.2, 0.1]
            assert problem.floors.amounts.tolist() == [0.1, 0.2, 0.1, 0.2]
            assert problem.context_probabilities.tolist() == [0.7, 0.3]
            assert problem.available.tolist() == MASK.tolist()
            assert (problem.noise_scale, problem.horizon) == (0.4, 30)
            assert not any("mean" in field for field in problem._fields)

    def test_cannot_write_to_what_others_are_told(self):
        class Vandal(Even):
            name = "vandal"

            def begin(self, problem, seed):
                super().begin(problem, seed)
                self.problem = problem

            def learn(self, context, arm, reward):
                self.problem.available[:] = False
                self.problem.context_probabilities[:] = 9.0

        trace = simulate(SKEWED, [Vandal(), Even(), "olp"], 50, 2, jobs=1)
        assert_same_records(records(trace, "vandal"), records(trace, "even"))
        assert_same_records(records(trace, "olp"), records(simulate(SKEWED, ["olp"], 50, 2, jobs=1), "olp"))
        assert SKEWED.context_probabilities.tolist() == [0.7, 0.3]

    def test_may_write_to_their_allocation_afterwards(self):
        """Nothing keeps what was returned."""

        class Reusing(Even):
            name = "reusing"

            def allocate(self, context):
                self.shares[:] = 1 / 3
                return self.shares

            def learn(self, context, arm, reward):
                self.shares[:] = math.nan

        trace = simulate(NU, [Reusing(), Even()], 40, 1, jobs=1)
        assert_same_records(records(trace, "reusing"), records(trace, "even"))

    def test_report_progress(self):
        advanced = []
        simulate(NU, [Even()], 2500, 2, jobs=1, progress=advanced.append)
        assert advanced == 2 * [1000, 1000, 500]


class Wrong(Even):
    """Returns something else from some round on."""

    name = "wrong"

    def __init__(self, returned, first=1):
        self.returned, self.first = returned, first

    def begin(self, problem, seed):
        super().begin(problem, seed)
        self.t = 0

    def allocate(self, context):
        self.t += 1
        return self.returned if self.t >= self.first else super().allocate(context)


def with_entry(value, arm=1, context=0):
    """Equal shares on SKEWED, but for one."""
    shares = np.full((3, 2), 1 / 3)
    shares[arm, context] = value
    return shares


NO_MATRICES = {
    "transposed": np.full((2, 3), 0.5),
    "a column": np.full(3, 1 / 3),
    "a cube": np.full((3, 2, 1), 1 / 3),
    "empty": np.zeros((0, 0)),
    "a row": [[0.5, 0.5]],
    "a number": 0.5,
    "nothing": None,
    "a word": "even",
    "ragged": [[1.0, 0.0], [0.0]],
    "complex": np.full((3, 2), 1j),
    "words": [["a", "b"]] * 3,
    "words for numbers": [["0.5", "0.25"], ["0.25", "0.25"], ["0.25", "0.5"]],
    "a dict": {"a": 1},
    "an object": object(),
}


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("first", [1, 6])
class TestWhatIsNoAllocation:
    """In the first round, before any work is done, and in the midst of it: policy, round and value are named."""

    def refused(self, returned, first, jobs, **options):
        with pytest.raises(InvalidInputError) as caught:
            simulate(SKEWED, ["doc", Wrong(returned, first)], 20, 2, jobs=jobs, **options)
        said = str(caught.value)
        assert said.startswith("allocate of policy 'wrong' must ")
        assert said.endswith(f"in round {first}.")
        return said

    @pytest.mark.parametrize("kind", NO_MATRICES)
    def test_no_matrices_of_numbers(self, kind, first, jobs):
        assert "return an array of numbers of shape (3, 2), got" in self.refused(NO_MATRICES[kind], first, jobs)

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_no_numbers(self, value, first, jobs):
        said = self.refused(with_entry(value), first, jobs)
        assert f"must hold finite numbers, got {value:g} in context 0 in round" in said

    def test_negative_shares(self, first, jobs):
        said = self.refused(with_entry(-0.25, context=1), first, jobs)
        assert "must hold no negative share, got -0.25 in context 1 in round" in said

    def test_sums_other_than_1(self, first, jobs):
        said = self.refused(with_entry(0.5, context=1), first, jobs)
        assert re.search(r"must have columns that sum to 1, got 1\.16667 in context 1 in round", said)
        said = self.refused(np.zeros((3, 2)), first, jobs)
        assert "must have columns that sum to 1, got 0 in context 0 in round" in said

    def test_a_column_that_is_not_drawn_from(self, first, jobs):
        """It is measured, though no arm is drawn from it."""
        certain = Instance(SKEWED.mean_rewards, SKEWED.revenue_floors, [1.0, 0.0])
        with pytest.raises(InvalidInputError, match=rf"sum to 1, got 1\.66667 in context 1 in round {first}\.$"):
            simulate(certain, [Wrong(with_entry(1.0, context=1), first)], 20, 1, jobs=jobs)

    def test_arms_that_are_not_available(self, first, jobs):
        shares = MASK / MASK.sum(axis=0)
        shares[:, 1] = [0.25, 0.25, 0.5]
        said = self.refused(shares, first, jobs, available=MASK.tolist())
        assert "must give nothing to arms that are not available, got 0.25 in context 1 in round" in said

    def test_an_error_of_its_own_is_left_alone(self, first, jobs):
        class Failing(Wrong):
            def allocate(self, context):
                super().allocate(context)
                if self.t >= self.first:
                    raise ZeroDivisionError("of its own")
                return self.shares

        with pytest.raises(ZeroDivisionError, match="of its own"):
            simulate(SKEWED, [Failing(None, first)], 20, 2, jobs=jobs)


@pytest.mark.parametrize(
    "make",
    [
        lambda shares: shares.tolist(),
        lambda shares: shares.astype(np.float32),
        np.asfortranarray,
        lambda shares: np.ma.masked_array(shares),
        lambda shares: np.repeat(shares, 2, axis=1)[:, ::2],
        lambda shares: tuple(map(tuple, shares)),
    ],
    ids=["lists", "float32", "fortran", "masked", "strided", "tuples"],
)
def test_allocations_may_come_in_any_form(make):
    """Shares that float32 has exactly."""
    shares = np.array([[0.5, 0.25], [0.25, 0.25], [0.25, 0.5]])
    trace = simulate(SKEWED, {"form": Wrong(make(shares)), "array": Wrong(shares)}, 40, 1, jobs=1)
    assert_same_records(records(trace, "form"), records(trace, "array"))


def test_sums_may_be_off_by_rounding():
    simulate(SKEWED, [Wrong(np.full((3, 2), 0.3333333333333))], 20, 1, jobs=1)


@pytest.fixture
def no_rounds(monkeypatch):
    """Fail if a round is played."""

    def work(*_):
        raise AssertionError("a round was played")

    monkeypatch.setattr(run, "run_task", work)


@pytest.mark.usefixtures("no_rounds")
class TestWhatIsNoPlainPolicy:
    @pytest.mark.parametrize("missing", [("name",), ("begin",), ("allocate",), ("learn",), ("begin", "learn")])
    @pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a list"])
    def test_missing_parts_are_named(self, missing, alone):
        members = {part: value for part, value in vars(Even).items() if part not in missing}
        given = type("Partial", (), members)()
        said = rf"policies must have name, begin, allocate, learn .* has no {' and no '.join(missing)}\."
        with pytest.raises(InvalidInputError, match=said):
            simulate(NU, {"it": given} if alone else ["olp", given], 10)

    def test_parts_that_cannot_be_called_are_named(self):
        given = Even()
        given.learn = 3
        with pytest.raises(InvalidInputError, match=r"has no learn\."):
            simulate(NU, [given], 10)

    @pytest.mark.parametrize("name", ["", " ", 3, None])
    def test_a_name_that_is_none(self, name):
        given = Even()
        given.name = name
        with pytest.raises(InvalidInputError, match=r"name of .* must be a non-empty string"):
            simulate(NU, [given], 10)

    def test_a_class_in_place_of_an_object(self):
        for given in (Even, [Even]):
            with pytest.raises(InvalidInputError, match="policies must be"):
                simulate(NU, given, 10)

    @pytest.mark.parametrize("given", [3, object(), None, lambda context: 0])
    def test_something_else_altogether(self, given):
        with pytest.raises(InvalidInputError, match="policies must be names or policies"):
            simulate(NU, [given], 10)

    def test_two_of_one_name(self):
        with pytest.raises(InvalidInputError, match="two are 'even'; give a mapping"):
            simulate(NU, [Even(), Even()], 10)

    def test_a_device_that_runs_no_python(self, monkeypatch):
        monkeypatch.setattr(run, "use_cuda", lambda _: True)
        monkeypatch.setattr(device, "largest_state_bytes", lambda: device.LARGEST_STATE)
        with pytest.raises(InvalidInputError, match="played on device 'cuda', but 'even' is a plain object"):
            simulate(NU, ["olp", Even()], 10, device="cuda")
        assert not run.fits_device(NU, ["olp", Even()], 10)

    def test_an_audit(self):
        with pytest.raises(InvalidInputError, match="policy must be a name or a policy"):
            audit(NU, Even(), 10)


def test_an_object_that_cannot_be_copied_is_named():
    given = Even()
    given.lock = threading.Lock()
    with pytest.raises(InvalidInputError, match=r"policy 'even' must be an object that copy.deepcopy can copy"):
        simulate(NU, [given], 10)


def test_labels_of_a_mapping_go_before_names():
    trace = simulate(NU, {"one": Even(), "two": Even()}, 10, 1, jobs=1)
    assert trace.policies == ("one", "two")
    assert simulate(NU, Even(), 10, 1, jobs=1).policies == ("even",)
