"""The same policies as one writes them without this library: NumPy, and a general solver in every round.

A twin meets the contexts, the noise and the uniform numbers of the compiled simulator, keeps the same statistics and
adds up the same metrics, so that both play the same arms and what is left is the time.
"""

from time import perf_counter
from typing import Any, Protocol

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from arcbandit.compilation.compile import entry_kernel
from arcbandit.instance import Instance
from arcbandit.kernels.counter import Purpose, standard_normal, uniforms
from arcbandit.kernels.sampling import context_from_uniform
from arcbandit.planning import Plan
from benchmarks.planning import highs_model

Floats = NDArray[np.float64]

POSITIVE = 1e-9
LINPROG_OPTIMAL, LINPROG_INFEASIBLE = 0, 2
# Up to here single calls of changeCoeff are faster than passing the whole model and its basis again.
FEW_PAIRS = 200


@entry_kernel
def draw_round(probabilities, seed, epoch, round_number):
    """The simulator's numbers of a round: context, the arm's uniform, the reward's standard normal."""
    context_uniform, arm_uniform = uniforms(seed, epoch, round_number, Purpose.DECISION, 0)
    context = context_from_uniform(probabilities, context_uniform)
    return context, arm_uniform, standard_normal(seed, epoch, round_number, Purpose.REWARD, 0)


class Solver(Protocol):
    """What a twin plans with."""

    def solve(self, objective: Floats, revenue: Floats) -> Floats | None:
        """The plan of LP(objective, revenue), both weighted by p; None if no plan meets the floors."""


class Linprog:
    """`scipy.optimize.linprog`, its matrices built once and filled in each round."""

    name = "scipy linprog"

    def __init__(self, floors: Floats, n_contexts: int) -> None:
        n_arms = len(floors)
        self.arms = np.arange(n_arms)
        self.floor_rows = np.zeros((n_arms, n_arms, n_contexts))
        self.floors = -floors
        self.context_rows = np.tile(np.eye(n_contexts), n_arms)
        self.ones = np.ones(n_contexts)

    def solve(self, objective: Floats, revenue: Floats) -> Floats | None:
        """As `Solver` says."""
        self.floor_rows[self.arms, self.arms] = -revenue
        result = linprog(
            -objective.ravel(),
            A_ub=self.floor_rows.reshape(len(self.arms), -1),
            b_ub=self.floors,
            A_eq=self.context_rows,
            b_eq=self.ones,
            method="highs",
        )
        if result.status == LINPROG_INFEASIBLE:
            return None
        if result.status != LINPROG_OPTIMAL:
            raise RuntimeError(f"linprog ended with: {result.message}")
        return np.asarray(result.x).reshape(objective.shape)


class WarmHighs:
    """One HiGHS object, which starts each round from the basis that ended the one before.

    Small problems are changed coefficient by coefficient. Large ones are passed again with the basis, because a call
    from Python for each coefficient takes longer than that.
    """

    name = "HiGHS warm"

    def __init__(self, floors: Floats, n_contexts: int) -> None:
        self.floors = floors
        self.columns = np.arange(len(floors) * n_contexts, dtype=np.int32)
        self.solve_seconds = 0.0
        self.solver: Any = None

    def _start(self, objective: Floats, revenue: Floats) -> None:
        self.model = highs_model(objective, revenue, self.floors)
        self.objective_scale = objective.max()
        self.row_scale = np.abs(revenue).max(axis=1)[:, None]
        self.values = np.ones(2 * objective.size)
        self.solver = highspy.Highs()
        self.solver.setOptionValue("output_flag", False)
        self.solver.setOptionValue("threads", 1)
        self.solver.setOptionValue("presolve", "off")
        self.solver.passModel(self.model)

    def _change(self, objective: Floats, revenue: Floats) -> None:
        cost = -objective.ravel() / self.objective_scale
        scaled = revenue / self.row_scale
        if objective.size <= FEW_PAIRS:
            self.solver.changeColsCost(cost.size, self.columns, cost)
            n_contexts = revenue.shape[1]
            for column, value in enumerate(scaled.ravel().tolist()):
                self.solver.changeCoeff(column // n_contexts, column, value)
            return
        basis = self.solver.getBasis()
        self.values[0::2] = scaled.ravel()
        self.model.col_cost_ = cost
        self.model.a_matrix_.value_ = self.values
        self.solver.passModel(self.model)
        self.solver.setBasis(basis)

    def solve(self, objective: Floats, revenue: Floats) -> Floats | None:
        """As `Solver` says."""
        if self.solver is None:
            self._start(objective, revenue)
        else:
            self._change(objective, revenue)
        start = perf_counter()
        self.solver.run()
        self.solve_seconds += perf_counter() - start
        status = self.solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"HiGHS ended with {status}.")
        return np.array(self.solver.getSolution().col_value).reshape(objective.shape)


class Twin:
    """OLP (caution 1) or OPLP (caution -1) after `rounds_before` rounds that left `pulls` and `means`."""

    def __init__(
        self,
        instance: Instance,
        optimum: Plan,
        caution: float,
        solvers: tuple[Solver, Solver],  # of the rule's own problem, and of LP(UCB, UCB)
        pulls: Floats,
        means: Floats,
        rounds_before: int,
    ) -> None:
        self.instance = instance
        self.caution = caution
        self.solvers = solvers
        self.pulls = pulls.copy()
        self.means = means.copy()
        self.round_number = rounds_before
        self.optimal_value = optimum.value
        self.used_pairs = ~optimum.idle_pairs
        self.slack_floors = ~optimum.active_floors
        self.weighted_means = instance.context_probabilities * instance.mean_rewards
        self.probabilities = instance.context_probabilities.copy()
        self.totals = dict.fromkeys(("regret", "violation", "signed_regret", "performance", "realised"), 0.0)
        self.rounds_with = dict.fromkeys(("optimal_set", "fallback"), 0)
        self.shortfall = np.zeros(instance.n_arms)
        self.earned = np.zeros(instance.n_arms)
        self.upper = np.zeros_like(pulls)

    def plan(self) -> Floats:
        """w(t); leaves p_c UCB_{k,c}(t), the objective, in `upper`."""
        scale = self.instance.noise_scale
        radii = scale * np.sqrt(2.0 * np.log(2.0 * self.pulls.size * self.round_number) / self.pulls)
        upper = self.upper = self.probabilities * (self.means + radii)
        allocation = None
        if self.caution != 1.0:
            allocation = self.solvers[0].solve(upper, self.probabilities * (self.means + self.caution * radii))
        if allocation is None:
            self.rounds_with["fallback"] += self.caution != 1.0
            allocation = self.solvers[1].solve(upper, upper)
        if allocation is None:
            raise RuntimeError(f"LP(UCB, UCB) of round {self.round_number} is infeasible.")
        return allocation

    def measure(self, allocation: Floats) -> None:
        """Add the round to every sum that the simulator keeps."""
        by_arm = (self.weighted_means * allocation).sum(axis=1)
        gaps = self.instance.revenue_floors - by_arm
        performance = float(by_arm.sum())
        regret = self.optimal_value - performance
        self.totals["regret"] += max(regret, 0.0)
        self.totals["signed_regret"] += regret
        self.totals["performance"] += performance
        self.totals["violation"] += float(np.maximum(gaps, 0.0).sum())
        self.shortfall += gaps
        if np.array_equal(allocation > POSITIVE, self.used_pairs):
            self.rounds_with["optimal_set"] += 1

    def play(self, rounds: int) -> None:
        """Play on."""
        for _ in range(rounds):
            self.play_round()

    def play_round(self) -> Floats:
        """Play a round; return w(t)."""
        self.round_number += 1
        context, uniform, noise = draw_round(self.probabilities, 0, 0, self.round_number)
        allocation = self.plan()
        cumulated = np.cumsum(np.maximum(allocation[:, context], 0.0))
        arm = min(int(np.searchsorted(cumulated, uniform, side="right")), len(cumulated) - 1)
        reward = self.instance.mean_rewards[arm, context] + self.instance.noise_scale * noise
        self.measure(allocation)
        self.totals["realised"] += reward
        self.earned[arm] += reward
        self.pulls[arm, context] += 1.0
        self.means[arm, context] += (reward - self.means[arm, context]) / self.pulls[arm, context]
        return allocation
