"""A policy taken up from a snapshot plays on as the one it was taken from, bit for bit."""

import json

import numpy as np
import pytest

from arcbandit import BLP, OLP, OPLP, Greedy, ThompsonLP

# Tight floors go out of reach now and then.
pytestmark = pytest.mark.filterwarnings("ignore::arcbandit.errors.FloorsOutOfReachWarning")

RULES = (OLP, OPLP, BLP, Greedy, ThompsonLP)
ROUNDS_AFTER = 150
# Runs by shape: most where bounds are kept and pivots are frequent.
SHAPES = {(3, 3): (20, 400), (5, 7): (20, 400), (12, 13): (150, 800), (8, 20): (15, 200), (20, 50): (6, 200)}


def tied(rng, means, arm, context):
    """Rewards that are the same in every round, and many of them the same for several arms."""
    return float(means[arm, context])


def heavy(rng, means, arm, context):
    """Rewards over six decades: one of them moves the size of its row."""
    return float(means[arm, context] * np.round(2.0 ** min(rng.pareto(0.7), 20.0)))


def rounded(rng, means, arm, context):
    """Rewards of few values, so that means are tied now and then."""
    return float(np.round(means[arm, context] + rng.normal()))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]}x{shape[1]}")
def test_a_restored_policy_plays_on_as_the_one_it_was_taken_from(shape, cases):
    """Ties and heavy tails at all sizes; scales that a twin would measure again decided pivots otherwise."""
    n_arms, n_contexts = shape
    for run in range(cases(*SHAPES[shape])):
        rng = np.random.default_rng([*shape, run])
        rule = RULES[int(rng.integers(len(RULES) - (shape == (20, 50))))]
        draw = (tied, heavy, heavy, rounded)[int(rng.integers(4))]
        means = rng.integers(0, 2, shape).astype(float)
        floors = np.full(n_arms, rng.choice([0.2, 0.5, 0.8]) / n_arms)
        playing = rule(floors, np.full(n_contexts, 1 / n_contexts), seed=int(rng.integers(1000)))

        def step(decider, context):
            decision = decider.decide(context)
            return decision, decider.allocation().tobytes()

        rounds_before = int(rng.integers(n_arms * n_contexts, 3 * n_arms * n_contexts))
        for _ in range(rounds_before):
            context = int(rng.integers(n_contexts))
            arm = playing.decide(context).arm
            playing.update(context, arm, draw(rng, means, arm, context))
        twin = rule.restore(json.loads(json.dumps(playing.snapshot())))
        for later in range(ROUNDS_AFTER):
            context = int(rng.integers(n_contexts))
            decision, shares = step(playing, context)
            assert (decision, shares) == step(twin, context), f"run {run}, {rule.__name__}, {later} rounds later"
            reward = draw(rng, means, decision.arm, context)
            playing.update(context, decision.arm, reward)
            twin.update(context, decision.arm, reward)
