"""OLP with empirical-Bernstein radii, as compiled kernels: pairs whose rewards vary little are known sooner."""

import enum
import math

from arcbandit.rules import (
    ByPair,
    Coefficient,
    Dial,
    Place,
    Policy,
    Rows,
    begin_planning,
    explore,
    kernel,
    outcome_of_fallback,
    plan_as_written,
    reward_bounds,
)


class Kept(enum.IntEnum):
    """What is kept per pair between rounds."""

    SQUARES = 0  # squared deviations of the rewards from their mean, summed


@kernel
def learn(learner, context, arm, reward):
    """Add to the squared deviations, by Welford's rule; the mean is already the new one."""
    pulls = learner.statistics.by_pair[ByPair.PULLS, arm, context]
    mean = learner.statistics.by_pair[ByPair.MEAN, arm, context]
    if pulls > 1.0:
        deviation = reward - mean
        learner.memory.by_pair[Kept.SQUARES, arm, context] += deviation * deviation * pulls / (pulls - 1.0)


@kernel
def radius(learner, arm, context, width, logarithm):
    """sqrt(2 V l / n) + 3 b l / n, where V is the empirical variance and b the width of the rewards."""
    pulls = learner.statistics.by_pair[ByPair.PULLS, arm, context]
    variance = learner.memory.by_pair[Kept.SQUARES, arm, context] / pulls
    return math.sqrt(2.0 * variance * logarithm / pulls) + 3.0 * width * logarithm / pulls


@kernel
def allocate(learner, context, t, stream):
    """Plan with upper bounds in the objective and in the floors; return how the plan came about."""
    begin_planning(learner)
    n_arms, n_contexts = learner.allocation.shape
    settings = learner.settings[0]
    width = 2.0 * settings.noise_scale
    if settings.has_reward_bounds != 0.0:
        width = settings.reward_high - settings.reward_low
    logarithm = learner.dials[0].scale * math.log(3.0 * n_arms * n_contexts * t)
    _, high = reward_bounds(learner, width)
    coefficients = learner.planner.coefficients
    for arm in range(n_arms):
        for column in range(n_contexts):
            bound = high
            if learner.statistics.by_pair[ByPair.PULLS, arm, column] > 0.0:
                mean = learner.statistics.by_pair[ByPair.MEAN, arm, column]
                bound = mean + radius(learner, arm, column, width, logarithm)
            coefficients[Coefficient.OBJECTIVE, arm, column] = bound
            coefficients[Coefficient.REVENUE_OR_ROOT, arm, column] = bound
    status = plan_as_written(learner, Place.OWN.value, True)
    return outcome_of_fallback(learner, status) | explore(learner)


class BernsteinOLP(Policy):
    """OLP with the empirical-Bernstein radii of Audibert, Munos and Szepesvári (2009)."""

    name = "bernstein-olp"
    allocate = staticmethod(allocate)
    learn = staticmethod(learn)
    plans = True
    rows = Rows(by_pair=Kept)
    dials = (Dial("scale", 1.0, "what the logarithm in the radii is multiplied by", low=0.0, exclusive=True),)
    reference = "Audibert, Munos, Szepesvári: Exploration-exploitation tradeoff using variance estimates, 2009"
