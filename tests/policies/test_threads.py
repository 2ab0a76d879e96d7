"""A policy that threads share, and one that is interrupted, stays sound."""

import copy
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from arcbandit import BLP, Instance, policy
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.registry import restore
from tests.policies import share_among_threads
from tests.policies.share_among_threads import CHANGES, DECIDERS

ROOT = Path(__file__).resolve().parents[2]
INSTANCE = Instance([[1.0, 0.3], [0.2, 0.8], [0.4, 0.5]], [0.1, 0.1, 0.1], [0.6, 0.4])
PATIENCE = 20.0  # seconds after which a thread is taken to wait for ever


@pytest.mark.slow
def test_threads_may_share_a_policy(cases):
    """Five threads decide and learn on 20 x 50, one changes floors, arms and contexts, one takes snapshots.

    Every probability is in (0, 1], columns sum to 1, no decision, number or reward is lost or counted twice, and every
    snapshot restores. In a process of their own, as memory that is written by two threads at once may end it: one
    policy after the other, each with a line of what was counted.
    """
    names = ["blp", "oplp", "thompson-lp", "optimistic3", "bandit-q"]
    decisions = cases(240, 800)
    done = subprocess.run(
        [sys.executable, "-W", "error", share_among_threads.__file__, "20", "50", "1", str(decisions), *names],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [counted["policy"] for counted in told] == names
    for counted in told:
        assert counted["decisions"] == DECIDERS * decisions
        assert counted["arms"] == 20 + CHANGES // 20
        assert counted["contexts"] == 50 + CHANGES // 20
        assert counted["snapshots"] > 0


def test_rows_are_read_while_others_decide():
    """A log may come from a source that waits for a decision of the same policy."""
    decider = BLP().for_instance(INSTANCE, seed=1)
    decided = threading.Event()

    def slow_rows(values):
        for value in values:
            assert decided.wait(PATIENCE)
            yield value

    teacher = threading.Thread(target=decider.update_many, args=(slow_rows([0, 1]), [0, 1], [1.0, 0.5]), daemon=True)
    teacher.start()
    other = threading.Thread(target=lambda: (decider.decide(0), decided.set()), daemon=True)
    other.start()
    for thread in (other, teacher):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert decider.pulls().sum() == 2


def test_copies_do_not_share_the_lock():
    decider = BLP().for_instance(INSTANCE, seed=1)
    twin = copy.deepcopy(decider)
    with decider._lock:
        assert is_free(twin)
        assert not is_free(decider)


class TestInterrupts:
    """Python raises an interrupt that came during a kernel right after it."""

    @pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
    @pytest.mark.parametrize("name", ["blp", "optimistic3", "bandit-q"])
    def test_rewards_are_counted_as_they_were_taken_in(self, name, before):
        decider = warmed(name)
        taken = 0 if before else 1
        with interrupted(decider, "learn", before), pytest.raises(KeyboardInterrupt):
            decider.update(0, 1, 0.5)
        assert decider.pulls().sum() == decider.snapshot()["statistics"]["rewards"] == 40 + taken
        with interrupted(decider, "learn", before), pytest.raises(KeyboardInterrupt):
            decider.update_many([0, 1, 0], [1, 0, 2], [0.5, 0.5, 0.5], count_contexts=True)
        assert decider.pulls().sum() == decider.snapshot()["statistics"]["rewards"] == 40 + 4 * taken
        assert_sound(decider)

    @pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
    @pytest.mark.parametrize("name", ["blp", "thompson-lp", "bandit-q"])
    def test_a_decision_that_was_not_told_does_not_count(self, name, before):
        decider = warmed(name)
        decider.decide(0)
        with interrupted(decider, "decide", before), pytest.raises(KeyboardInterrupt):
            decider.decide(1)
        assert decider.decide(1).decision_number == 2
        with interrupted(decider, "decide", before), pytest.raises(KeyboardInterrupt):
            decider.decide_many([0, 1, 1])
        assert [decision.decision_number for decision in decider.decide_many([1, 0])] == [3, 4]
        assert_sound(decider)

    @pytest.mark.parametrize("name", ["blp", "thompson-lp"])
    def test_nor_does_it_after_the_policy_was_taken_up_or_has_changed(self, name):
        """What was told before is not forgotten with the interrupted one."""
        decider = restore(warmed(name).snapshot())
        for _ in range(3):
            decider.decide(0)
        decider = restore(decider.snapshot())
        decider.add_arm("new", 0.1)
        with interrupted(decider, "decide", before=False), pytest.raises(KeyboardInterrupt):
            decider.decide(1)
        assert decider.decide(1).decision_number == 4

    @pytest.mark.parametrize(
        "change",
        [
            lambda decider: decider.add_arm("new", 0.1),
            lambda decider: decider.add_context("new", 0.1),
            lambda decider: decider.retire_arm("1"),
        ],
        ids=["add_arm", "add_context", "retire_arm"],
    )
    @pytest.mark.parametrize("step", ["arcbandit.policies.state.make_learner", "arcbandit.policies.growth.with_shape"])
    def test_a_change_of_shape_happens_at_once_or_not_at_all(self, change, step, monkeypatch):
        decider = warmed("optimistic3")
        decider.decide(0)
        before = decider.snapshot()

        def interrupt(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(step, interrupt)
            with pytest.raises(KeyboardInterrupt):
                change(decider)
        assert decider.snapshot() == before
        assert_sound(decider)
        change(decider)
        assert_sound(decider)


def warmed(name):
    decider = policy(name).for_instance(INSTANCE, horizon=1000, seed=1)
    random = np.random.default_rng(0)
    decider.update_many(random.integers(2, size=40), random.integers(3, size=40), random.random(40))
    return decider


@contextmanager
def interrupted(decider, kernel, before):
    """Within it, a kernel of the policy is interrupted."""
    state = decider._state
    kernels = state.kernels

    def stopped(*arguments):
        if not before:
            getattr(kernels, kernel)(*arguments)
        raise KeyboardInterrupt

    vars(state)["kernels"] = kernels._replace(**{kernel: stopped})
    vars(state).pop("hot", None)
    yield
    assert decider._state is state
    vars(state)["kernels"] = kernels
    vars(state).pop("hot", None)  # kept by calls that use it


def assert_sound(decider):
    """It decides, its snapshot restores, and no thread has to wait for it."""
    assert is_free(decider)
    snapshot = decider.snapshot()
    assert np.array(snapshot["statistics"]["by_pair"])[ByPair.PULLS].sum() == snapshot["statistics"]["rewards"]
    twin = restore(json.loads(json.dumps(snapshot)))
    assert twin.snapshot() == snapshot
    assert twin.decide(1) == decider.decide(1)
    assert decider.allocation().sum(axis=0) == pytest.approx(1.0)


def is_free(decider):
    """Whether another thread gets hold of the policy."""
    got = []

    def ask():
        got.append(decider._lock.acquire(timeout=0.2))
        if got[0]:
            decider._lock.release()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return got[0]
