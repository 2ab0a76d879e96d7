"""What else people use: bandit libraries without any guarantee, and another compiled simplex.

None of the bandit libraries keeps a floor; they are measured for what the guarantee costs. Each workload needs its
library, from the extra `alternatives`, and is left out without it.
"""

from bisect import bisect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import accumulate
from time import perf_counter

import numpy as np

from arcbandit.kernels.program import PlanStatus
from arcbandit.planning import Planner
from benchmarks.learning import Decide, Update, online_rounds, steady_policy
from benchmarks.measure import Outcome, Requirement, Workload, take_turns
from benchmarks.planning import COLD_PROBLEMS, cold_problem, linear_program, relative_error

EPSILON = 0.05


def river(n_arms: int, n_contexts: int) -> tuple[Decide, Update]:
    """UCB in each context by itself."""
    bandit = import_module("river.bandit")
    arms = list(range(n_arms))
    policies = [bandit.UCB(delta=1, seed=0) for _ in range(n_contexts)]
    return lambda context: policies[context].pull(arms), lambda context, arm, reward: policies[context].update(
        arm, reward
    )


def mabwiser(n_arms: int, n_contexts: int) -> tuple[Decide, Update]:
    """UCB1 in each context by itself, every arm seen once."""
    library = import_module("mabwiser.mab")
    arms = list(range(n_arms))
    policies = [library.MAB(arms, library.LearningPolicy.UCB1(alpha=1.0), seed=0) for _ in range(n_contexts)]
    for policy in policies:
        policy.fit(arms, [0.0] * n_arms)
    return lambda context: policies[context].predict(), lambda context, arm, reward: policies[context].partial_fit(
        [arm], [reward]
    )


def vowpal_wabbit(n_arms: int, n_contexts: int) -> tuple[Decide, Update]:
    """Contextual bandit with epsilon-greedy exploration; the context is its one feature."""
    library = import_module("vowpalwabbit")
    workspace = library.Workspace(f"--cb_explore {n_arms} --epsilon {EPSILON} --quiet --random_seed 1")
    rng = np.random.default_rng(0)
    probability = 0.0

    def decide(context: int) -> int:
        nonlocal probability
        shares = workspace.predict(f"| context{context}")
        arm = bisect(list(accumulate(shares)), rng.random() * sum(shares), hi=n_arms - 1)
        probability = shares[arm]
        return arm

    def update(context: int, arm: int, reward: float) -> None:
        workspace.learn(f"{arm + 1}:{-reward}:{probability} | context{context}")

    return decide, update


def online(
    make: Callable[[int, int], tuple[Decide, Update]], name: str, n_arms: int, n_contexts: int, rounds: int, turns: int
) -> Outcome:
    """decide and update from Python by both, on the same contexts and noise."""
    makers = (steady_policy, make)
    contenders = [online_rounds(*maker(n_arms, n_contexts), n_arms, n_contexts, rounds) for maker in makers]
    own, other = take_turns(contenders, turns)
    return Outcome(own, other, name, details={"pairs": n_arms * n_contexts})


def cold_quantecon(n_arms: int, n_contexts: int, turns: int) -> Outcome:
    """One cold plan per turn by a `Planner`, and the same problem by QuantEcon's compiled simplex, both from arrays."""
    linprog_simplex = import_module("quantecon.optimize").linprog_simplex
    programs = [cold_problem(n_arms, n_contexts, seed).program for seed in range(COLD_PROBLEMS)]
    planners = [Planner(program.floors, program.weights) for program in programs]
    problems = [linear_program(program.objective, program.floors) for program in programs]
    tableaus = [
        (-problem["c"], problem["A_ub"], problem["b_ub"], problem["A_eq"], problem["b_eq"]) for problem in problems
    ]
    values = np.zeros(COLD_PROBLEMS)
    references = np.zeros(COLD_PROBLEMS)

    def own(turn: int) -> float:
        place = turn % COLD_PROBLEMS
        plan, mean_rewards = planners[place].plan, programs[place].objective
        start = perf_counter()
        found = plan(mean_rewards)
        elapsed = perf_counter() - start
        if found.status != PlanStatus.OPTIMAL:
            raise RuntimeError(f"The cold plan of problem {place} ended {found.status.name}.")
        values[place] = (programs[place].objective * found.allocation).sum()
        return elapsed

    def other(turn: int) -> float:
        place = turn % COLD_PROBLEMS
        tableau = tableaus[place]
        start = perf_counter()
        found = linprog_simplex(*tableau)
        elapsed = perf_counter() - start
        if not found.success:
            raise RuntimeError(f"QuantEcon ended problem {place} with status {found.status}.")
        references[place] = found.fun
        return elapsed

    mine, theirs = take_turns([own, other], turns)
    seen = slice(0, turns)
    return Outcome(mine, theirs, "QuantEcon", objective_error=relative_error(values[seen], references[seen]))


def _online(
    library: str,
    make: Callable[[int, int], tuple[Decide, Update]],
    name: str,
    n_arms: int,
    n_contexts: int,
    rounds: int,
    ratio: float | None = None,
) -> Workload:
    return Workload(
        name=f"online-{n_arms}x{n_contexts}-{library}",
        summary=f"decide and update from Python, {n_arms} arms x {n_contexts} contexts, and by {name} (no floors)",
        run=partial(online, make, name, n_arms, n_contexts, rounds),
        turns=7,
        quick_turns=3,
        requirement=None if ratio is None else Requirement(ratio=ratio),
        needs=library,
    )


def _cold(n_arms: int, n_contexts: int, ratio: float | None = None) -> Workload:
    return Workload(
        name=f"cold-plan-{n_arms}x{n_contexts}-quantecon",
        summary=f"one plan of {n_arms} arms x {n_contexts} contexts from nothing, and by QuantEcon's simplex",
        run=partial(cold_quantecon, n_arms, n_contexts),
        turns=25,
        quick_turns=COLD_PROBLEMS,
        requirement=None if ratio is None else Requirement(ratio=ratio),
        needs="quantecon",
    )


WORKLOADS = (
    _online("river", river, "river UCB", 3, 3, 5000, ratio=1),
    _online("river", river, "river UCB", 100, 1000, 1000, ratio=5),
    _online("mabwiser", mabwiser, "MABWiser UCB1", 3, 3, 1000),
    _online("mabwiser", mabwiser, "MABWiser UCB1", 100, 1000, 200),
    _online("vowpalwabbit", vowpal_wabbit, "Vowpal Wabbit", 3, 3, 2000),
    _online("vowpalwabbit", vowpal_wabbit, "Vowpal Wabbit", 100, 1000, 500),
    _cold(3, 3, ratio=1),
    _cold(10, 10),
    _cold(20, 50),
)
