"""Rewards that come late, or never."""

import math

import numpy as np
import pytest

from arcbandit import OLP, Delay, Instance, InvalidInputError, paper_instance, policy, simulate
from arcbandit.policies.learner import Stream
from arcbandit.simulation import run
from arcbandit.simulation.epoch import play_task, run_task
from arcbandit.simulation.late import NEVER, delay_of_round, make_late
from tests.simulation.twins import Twin, compiled_rounds, make_task, play_beside

NU = paper_instance("nu")
DELAYS = {
    "fixed": Delay(10),
    "geometric": Delay(mean=20),
    "some lost": Delay(3, lost=0.3),
    "geometric, some lost": Delay(mean=5, lost=0.2),
    "beyond the horizon": Delay(mean=1e6),
}


@pytest.mark.parametrize("name", ["olp", "oplp", "thompson-lp", "optimistic3", "bandit-q", "doc"])
@pytest.mark.parametrize("delay", DELAYS.values(), ids=DELAYS)
def test_the_loop_learns_late_as_a_policy_at_work_does(name, delay):
    """And revenue counts when it is earned."""

    def heard_alike(bound, twin):
        assert bound.pulls().sum() == len(twin.heard)

    _, twin = play_beside(make_task(policy(name), NU, 300, delay=delay), heard_alike)
    assert len(twin.heard) < 300


def test_late_rewards_and_a_cadence_together():
    task = make_task(OLP(replan=9), NU, 400, delay=Delay(mean=15, lost=0.1))
    bound, _, play = compiled_rounds(task)
    twin = Twin(task)
    for t in range(1, 401):
        play(t)
        twin.play(t)
        assert (bound.allocation() == twin.decider.allocation()).all()
    assert (bound.learner.statistics.by_pair == twin.decider.learner.statistics.by_pair).all()


class Listener:
    """A plain object that plays all arms alike and writes down what it hears."""

    name = "listener"
    heard: list = []  # noqa: RUF012, shared by the copies that are played

    def begin(self, problem, seed):
        self.shares = np.full(problem.shape, 1 / problem.shape[0])
        self.heard.clear()
        self.round = 0

    def allocate(self, context):
        self.round += 1
        return self.shares

    def learn(self, context, arm, reward):
        self.heard.append((self.round, context, arm, reward))


@pytest.mark.parametrize("delay", [Delay(10), Delay(mean=20, lost=0.1)], ids=["fixed", "geometric"])
def test_plain_objects_hear_of_the_same_rewards_late(delay):
    """Each as many rounds late as drawn, in the order of their decisions within a round; lost ones never."""
    rounds = 500
    play_task(make_task(Listener(), NU, rounds))
    on_time = {t: what for t, *what in Listener.heard}
    task = make_task(Listener(), NU, rounds, delay=delay)
    play_task(task)
    late = make_late(delay, rounds)
    delays = {t: delay_of_round(late, Stream(task.seed, task.epoch, t)) for t in range(1, rounds + 1)}
    wanted = sorted((t + delay, t) for t, delay in delays.items() if delay != NEVER and t + delay <= rounds)
    assert [(when, *what) for when, *what in Listener.heard] == [(when, *on_time[t]) for when, t in wanted]
    assert len(wanted) < rounds


def test_no_delay_is_the_usual_simulation():
    """Zero rounds late is on time, to the last bit, also where a queue is kept for it."""
    usual = simulate(NU, ["olp", "doc"], horizon=500, epochs=2)
    assert simulate(NU, ["olp", "doc"], horizon=500, epochs=2, delay=0).records["olp"].tobytes() == (
        usual.records["olp"].tobytes()
    )
    # A loss so rare that none is drawn takes the way of the queue.
    queued = simulate(NU, ["olp", "doc"], horizon=500, epochs=2, delay=Delay(lost=1e-300))
    for name in ("olp", "doc"):
        assert queued.records[name].tobytes() == usual.records[name].tobytes()


def test_an_epoch_starts_with_an_empty_queue():
    """A thread plays its epochs in the same memory: what was on its way at the horizon is forgotten."""
    delay = Delay(mean=50)
    trace = simulate(NU, "olp", horizon=200, epochs=4, seed=5, delay=delay, jobs=1, checkpoints=[200])
    alone, _ = run_task(make_task(policy("olp"), NU, 200, delay=delay))
    assert trace.records["olp"][2].tobytes() == alone.tobytes()


def test_a_policy_that_hears_nothing_learns_nothing():
    played = play_task(make_task(policy("olp"), NU, 300, delay=Delay(lost=1.0)))
    assert played.learner.statistics.by_pair.sum() == 0.0


class TestDelays:
    """Their distribution, by 40,000 draws: 5 standard errors, so each test fails by chance once in 1.7 million."""

    ROUNDS = 40_000

    def drawn(self, delay):
        late = make_late(delay, self.ROUNDS)
        return np.array([delay_of_round(late, Stream(11, 0, t)) for t in range(1, self.ROUNDS + 1)])

    @pytest.mark.parametrize("mean", [0.5, 30.0])
    def test_geometric(self, mean):
        drawn = self.drawn(Delay(mean=mean))
        assert drawn.min() == 0
        error = math.sqrt(mean * (1 + mean) / self.ROUNDS)
        assert abs(drawn.mean() - mean) < 5 * error
        for threshold in (1, int(2 * mean) + 1):
            share = (mean / (1 + mean)) ** threshold
            assert abs((drawn >= threshold).mean() - share) < 5 * math.sqrt(share * (1 - share) / self.ROUNDS)

    def test_lost(self):
        drawn = self.drawn(Delay(mean=3, lost=0.25))
        lost = drawn == NEVER
        assert abs(lost.mean() - 0.25) < 5 * math.sqrt(0.25 * 0.75 / self.ROUNDS)
        # Whether a reward is lost says nothing about how late it would have been.
        assert abs(drawn[~lost].mean() - 3) < 5 * math.sqrt(12 / (~lost).sum())

    def test_are_the_same_whatever_the_horizon(self):
        short, long = make_late(Delay(mean=30), 50), make_late(Delay(mean=30), 10_000)
        for t in range(1, 1000):
            stream = Stream(1, 2, t)
            assert min(delay_of_round(long, stream), 51) == delay_of_round(short, stream)


def test_memory_is_that_of_the_longest_delay_or_of_the_horizon():
    assert make_late(Delay(10), 10**6).rewards.size == 11
    assert make_late(Delay(mean=10), 10**6).rewards.size < 400
    assert make_late(Delay(mean=1e12), 1000).rewards.size == 1001
    assert make_late(Delay(10**6), 1000).rewards.size == 1001


def test_late_rewards_cost(cases):
    """Of many rounds, a delay of a thousand costs more than one of ten: in each of a few epochs."""
    horizon = 20_000
    found = {
        delay: simulate(NU, "blp", horizon, epochs=cases(3, 10), delay=delay, checkpoints=1).regret_plus_violation
        for delay in (0, 1000)
    }
    assert (found[1000]["blp"][:, -1] > found[0]["blp"][:, -1]).all()


class TestRefuses:
    @pytest.mark.parametrize(
        ("delay", "words"),
        [
            (-1, "delay must be"),
            (1.5, "delay must be a number of rounds or a Delay"),
            ("late", "delay must be a number of rounds or a Delay"),
            (True, "delay must be a number of rounds or a Delay"),
        ],
    )
    def test_what_is_no_delay(self, delay, words):
        with pytest.raises(InvalidInputError, match=words):
            simulate(NU, "olp", horizon=10, delay=delay)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"rounds": -1}, "rounds of a delay must be"),
            ({"rounds": 1.5}, "rounds of a delay must be"),
            ({"mean": -1.0}, "mean of a delay must be"),
            ({"mean": math.nan}, "mean of a delay must be"),
            ({"mean": math.inf}, "mean of a delay must be"),
            ({"rounds": 3, "mean": 3.0}, "either rounds or a mean"),
            ({"lost": 1.1}, "lost must be"),
            ({"lost": -0.1}, "lost must be"),
            ({"lost": math.nan}, "lost must be"),
        ],
    )
    def test_a_delay_that_cannot_be(self, arguments, words):
        with pytest.raises(InvalidInputError, match=words):
            Delay(**arguments)

    def test_to_count_where_the_papers_statements_hold(self):
        with pytest.raises(InvalidInputError, match="suboptimality_gap must be None with delay"):
            simulate(NU, "olp", horizon=10, delay=3, suboptimality_gap=0.1)

    def test_a_gpu(self, monkeypatch):
        monkeypatch.setattr(run, "use_cuda", lambda _: True)
        with pytest.raises(InvalidInputError, match="delay must be None on device 'cuda'"):
            simulate(NU, "olp", horizon=10, delay=3, device="cuda")


def test_a_trace_says_how_late_rewards_were(tmp_path):
    trace = simulate(NU, "olp", horizon=10, delay=Delay(mean=2, lost=0.1))
    assert trace.settings["delay"] == {"rounds": 0, "mean": 2.0, "lost": 0.1}
    assert "delay" not in simulate(NU, "olp", horizon=10).settings


def test_many_pairs_are_explored_while_rewards_are_on_their_way():
    """Where the planner keeps what is known of unplayed pairs."""
    random = np.random.default_rng(3)
    instance = Instance(random.random((8, 150)), np.full(8, 0.02), np.full(150, 1 / 150), noise_scale=0.1)
    task = make_task(policy("olp"), instance, 2500, delay=Delay(mean=40))
    bound, _, play = compiled_rounds(task)
    twin = Twin(task)
    for t in range(1, 2501):
        play(t)
        twin.play(t)
    assert (bound.learner.statistics.by_pair == twin.decider.learner.statistics.by_pair).all()
    assert (bound.allocation() == twin.decider.allocation()).all()
