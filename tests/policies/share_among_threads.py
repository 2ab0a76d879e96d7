"""Threads that share a policy and change it all the time, in a process of its own: what goes wrong may end it.

Prints what was counted for each policy as a line of JSON, and exits with 1 where anything does not add up.
"""

import json
import sys
import threading

import numpy as np

from arcbandit import policy
from arcbandit.kernels.confidence import ByPair
from arcbandit.policies.registry import restore

DECIDERS = 5
CHANGES = 60  # floors that change; every 20th time an arm or a context comes, or an arm goes
SNAPSHOTS = 40
BATCH = 20


class Shared:
    """A policy that threads use at once, and what they saw."""

    def __init__(self, name, shape, seed, decisions):
        n_arms, n_contexts = shape
        self.shape = shape
        self.per_decider = decisions
        self.means = np.random.default_rng(seed).random((n_arms + CHANGES, n_contexts + CHANGES))
        self.policy = policy(
            name,
            0.3 * self.means[:n_arms, :n_contexts].mean(axis=1) / n_arms,
            contexts=n_contexts,
            reward_bounds=(0, 1),
            horizon=DECIDERS * decisions,
            seed=seed,
        )
        self.decisions = []
        self.snapshots = []
        self.faults = []
        self.start = threading.Barrier(DECIDERS + 2)
        self.finished = []  # threads that decide no more

    def check(self, holds, words):
        if not holds and len(self.faults) < 20:
            self.faults.append(words)

    def check_columns(self, allocation):
        self.check((allocation >= 0).all(), "a share below 0")
        self.check(np.allclose(allocation.sum(axis=0), 1.0, atol=1e-9), f"columns of {allocation.sum(axis=0)}")

    def run(self, work, number):
        self.start.wait()
        try:
            work(np.random.default_rng(number))
        except Exception as error:  # noqa: BLE001 - reported by the main thread
            self.check(False, f"{work.__name__}: {error!r}")
        finally:
            if work == self.decide:
                self.finished.append(work)

    @property
    def deciding(self):
        return len(self.finished) < DECIDERS

    def decide(self, random):
        """Decide and learn, one by one and in batches, counting contexts and not."""
        waiting = []
        for step in range(self.per_decider):
            context = int(random.integers(self.shape[1]))
            decision = self.policy.decide(context)
            self.decisions.append(decision)
            row = (context, decision.arm, float(self.means[decision.arm, context]))
            if step % 100 < 50:
                self.policy.update(*row, count_context=step % 3 == 0)
            else:
                waiting.append(row)
            if len(waiting) == BATCH or (waiting and step == self.per_decider - 1):
                self.policy.update_many(*zip(*waiting, strict=True))
                waiting = []
            if step % 10 == 0:
                self.check_columns(self.policy.allocation())

    def change(self, random):
        for step in range(1, CHANGES + 1):
            arm = int(random.integers(self.shape[0] // 2, self.shape[0]))
            self.policy.set_floor(arm, float(random.random() / self.shape[0] / 4))
            if step % 20 == 5:
                self.policy.add_arm()
            if step % 20 == 10:
                self.policy.add_context()
            if step % 20 == 15:
                self.policy.retire_arm(step // 20)
            # Some turns for the others; the changes are spread over their decisions.
            made = len(self.decisions)
            while self.deciding and len(self.decisions) < made + DECIDERS * self.per_decider // (2 * CHANGES):
                threading.Event().wait(0.0005)

    def save(self, random):
        while self.deciding:
            if len(self.snapshots) < SNAPSHOTS:
                self.snapshots.append(self.policy.snapshot())
            self.check(self.policy.pulls().shape[0] <= len(self.policy.arms), "more rows than arms")
            self.check(self.policy.round_number >= 1, "no round number")
            self.check(len(self.policy.contexts) >= self.shape[1] and repr(self.policy), "contexts lost")
            threading.Event().wait(0.002)


def play(name, shape, seed, decisions):
    """What `DECIDERS` threads with so many decisions each, and two more, made of it."""
    shared = Shared(name, shape, seed, decisions)
    works = [shared.decide] * DECIDERS + [shared.change, shared.save]
    threads = [threading.Thread(target=shared.run, args=(work, number)) for number, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = DECIDERS * decisions
    last = shared.policy.snapshot()
    pulls = shared.policy.pulls()
    shared.check(all(0 < decision.probability <= 1 for decision in shared.decisions), "a probability not in (0, 1]")
    numbers = sorted(decision.decision_number for decision in shared.decisions)
    shared.check(numbers == list(range(1, total + 1)), f"{len(set(numbers))} decision numbers, up to {numbers[-1]}")
    counted = last["statistics"]["decisions"], last["statistics"]["rewards"]
    shared.check(counted == (total, total), f"{counted} counted")
    expected = np.bincount([decision.arm for decision in shared.decisions], minlength=pulls.shape[0])
    shared.check((pulls.sum(axis=1) == expected).all(), f"pulls are {pulls.sum():g} of {total}")
    shared.check_columns(shared.policy.allocation())
    for snapshot in [*shared.snapshots, last]:
        by_pair = np.array(snapshot["statistics"]["by_pair"])
        shared.check(by_pair[ByPair.PULLS].sum() == snapshot["statistics"]["rewards"], "rewards not yet counted")
        taken_up = restore(json.loads(json.dumps(snapshot)))
        shared.check(taken_up.snapshot() == snapshot, "a snapshot that does not restore to itself")
        shared.check(0 < taken_up.decide(0).probability <= 1, "a restored policy that cannot decide")
    return {
        "decisions": len(shared.decisions),
        "snapshots": len(shared.snapshots),
        "arms": len(shared.policy.arms),
        "contexts": len(shared.policy.contexts),
        "faults": shared.faults,
    }


if __name__ == "__main__":
    sys.setswitchinterval(1e-5)
    n_arms, n_contexts, seed, decisions = map(int, sys.argv[1:5])
    faults = 0
    for name in sys.argv[5:]:
        counted = play(name, (n_arms, n_contexts), seed, decisions)
        print(json.dumps({"policy": name, **counted}), flush=True)
        faults += len(counted["faults"])
    sys.exit(1 if faults else 0)
