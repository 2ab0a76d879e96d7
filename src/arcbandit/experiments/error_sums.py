"""The sums of estimation errors per pair along runs, beside the bounds that the paper's proof arrives at."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.instance import Instance
from arcbandit.kernels.confidence import ByPair
from arcbandit.planning import plan
from arcbandit.policies.registry import policy as policy_by_name
from arcbandit.simulation.epoch import Task, bind, make_run, make_world
from arcbandit.simulation.loop import player_of

Floats = NDArray[np.float64]


class ErrorSums(NamedTuple):
    """Means over epochs, each of shape (K, C); rounds in which a pair had never been played do not count."""

    squares: Floats  # of the sum of (eps w)^2
    sums: Floats  # of the sum of eps w
    log_plays: Floats  # of log(n + 1) in the end
    root_plays: Floats  # of sqrt(n) in the end
    logarithm: float  # log(2 kappa T)
    probabilities: Floats  # p_c, shape (C,)

    def as_printed(self) -> tuple[Floats, Floats]:
        """Both sums in units of the bounds of the proof: 2 L E log(n + 1), and sqrt(L / 2) E (sqrt(n) + 1)."""
        return (
            _in_units(self.squares, 2 * self.logarithm * self.log_plays),
            _in_units(self.sums, math.sqrt(self.logarithm / 2) * (self.root_plays + 1)),
        )

    def corrected(self) -> tuple[Floats, Floats]:
        """The same with what the steps give: a play has probability p_c w, and 1/sqrt(j) adds up to 2 sqrt(n)."""
        return (
            _in_units(self.squares * self.probabilities, 2 * self.logarithm * (1 + self.log_plays)),
            _in_units(self.sums * self.probabilities, math.sqrt(2 * self.logarithm) * 2 * self.root_plays),
        )


def _in_units(sums: Floats, bounds: Floats) -> Floats:
    """Sums in units of their bounds; 0 for a pair that was never played, of which both are 0."""
    return np.divide(sums, bounds, out=np.zeros_like(sums), where=bounds > 0)


def error_sums(instance: Instance, name: str, horizon: int, seed: int, epochs: int) -> ErrorSums:
    """Play epochs round by round, to see every allocation and how often each pair had been played before it."""
    optimum = plan(instance)
    policy = policy_by_name(name)
    end = np.array([horizon], dtype=np.int64)
    rounds = np.arange(1, horizon + 1)
    shape = (horizon, instance.n_arms, instance.n_contexts)
    means = np.zeros((4, instance.n_arms, instance.n_contexts))
    factors = instance.noise_scale * np.sqrt(2 * np.log(2 * instance.n_pairs * rounds))[:, None, None]
    for epoch in range(epochs):
        task = Task(instance, name, policy, "gaussian", None, optimum, math.nan, horizon, seed, epoch, end, 0)
        run = make_run(make_world(task), bind(task, policy).learner, task)
        play = player_of(policy.kind, run)
        pulls, allocation = run.learner.statistics.by_pair[ByPair.PULLS], run.learner.allocation
        before, shares = np.empty(shape), np.empty(shape)
        for t in range(1, horizon + 1):
            before[t - 1] = pulls
            play(t, t)
            shares[t - 1] = allocation
        # A pair never played has no radius yet.
        errors = np.where(before > 0, factors / np.sqrt(np.maximum(before, 1)) * shares, 0.0)
        means += np.array([(errors**2).sum(axis=0), errors.sum(axis=0), np.log(pulls + 1), np.sqrt(pulls)]) / epochs
    logarithm = math.log(2 * instance.n_pairs * horizon)
    squares, sums, log_plays, root_plays = means
    return ErrorSums(squares, sums, log_plays, root_plays, logarithm, instance.context_probabilities)
