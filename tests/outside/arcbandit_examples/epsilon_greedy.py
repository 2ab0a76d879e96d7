"""Epsilon-greedy with a linear program, as a plain Python object: plan with the means, and sometimes play any arm."""

import numpy as np

from arcbandit import solve_lp


class EpsilonGreedyLP:
    """Plays the plan of the means with probability 1 - epsilon, and any arm otherwise; epsilon falls like t^(-1/3)."""

    def __init__(self, scale=1.0):
        self.name = "epsilon-greedy-lp" if scale == 1.0 else f"epsilon-greedy-lp(scale={scale:g})"
        self.scale = scale

    def begin(self, problem, seed):
        """Start an epoch: forget everything."""
        self.problem = problem
        self.pulls = np.zeros(problem.shape)
        self.sums = np.zeros(problem.shape)
        self.even = problem.available / problem.available.sum(axis=0)
        self.t = 0

    def allocate(self, context):
        """The allocation of this round, shape (K, C); its column of the context is what the arm is drawn from."""
        self.t += 1
        means = self.sums / np.maximum(self.pulls, 1.0)
        plan = solve_lp(
            means,
            means,
            self.problem.revenue_floors,
            self.problem.context_probabilities,
            available=self.problem.available,
            on_infeasible="least_shortfall",
        )
        epsilon = min(1.0, self.scale * self.t ** (-1 / 3))
        return (1.0 - epsilon) * plan.allocation + epsilon * self.even

    def learn(self, context, arm, reward):
        """Take in a reward."""
        self.pulls[arm, context] += 1.0
        self.sums[arm, context] += reward
