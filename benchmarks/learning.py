"""Rounds of learning with every metric: against general solvers in the loop, a loop without floors, and themselves."""

import functools
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.experiments.paper_instances import nu
from arcbandit.instance import Instance
from arcbandit.kernels.confidence import make_statistics
from arcbandit.planning import Plan, plan
from arcbandit.policies.learner import Progress
from arcbandit.policies.olp import OLP
from arcbandit.policies.registry import policy
from arcbandit.simulation.epoch import Task, run_task
from arcbandit.simulation.plain import Problem, problem_of
from arcbandit.simulation.run import simulate
from benchmarks.compiled import (
    CompiledLearner,
    choose_among_all,
    play_bare_rounds,
    price_every_pair,
    seen_before,
    steady_instance,
)
from benchmarks.measure import Outcome, Requirement, Spread, Workload, seconds, take_turns
from benchmarks.twins import Linprog, Twin, WarmHighs

Floats = NDArray[np.float64]
# Decides in a context, and learns from (context, arm, reward).
Decide = Callable[[int], int]
Update = Callable[[int, int, float], None]

ROUNDS = 100_000  # of a run of the simulator on nu
LATE_ROUNDS = 60_000  # by then, an average that nothing adds to has faded to nothing
PRICED_OVER_BLP = 4.0  # times as long
ROUNDS_BEFORE = 20_000  # after which the twin takes over: nothing is left to explore, and OPLP rarely falls back
COMMON_ROUNDS = 300  # in which both are compared
STEADY_PULLS = 1000  # of every pair
EARLY_PULLS = 10
SHAPES = ((3, 3), (10, 10), (20, 50), (50, 200), (100, 1000), (200, 5000))
LARGE_SHAPES = SHAPES[2:]  # where memory by pair, and growth with their number, are what counts
CAUTION = {"olp": 1.0, "oplp": -1.0}
EPOCHS = 8
EXPLORING_ROUNDS = 200  # per turn: far fewer than there are pairs
FIRST_ROUNDS = 100
LONG_HORIZON = 10_000_000


def task(name: str, rounds: int) -> Task:
    """One epoch on nu, recorded once at its end."""
    instance = nu()
    last = np.array([rounds])
    return Task(instance, name, policy(name), "gaussian", None, plan(instance), np.nan, rounds, 0, 0, last, 0)


def make_twin(kind: type[Linprog] | type[WarmHighs], name: str, learner: CompiledLearner, optimum: Plan) -> Twin:
    """A twin of the learner as it stands."""
    instance = learner.instance
    solvers = [kind(instance.revenue_floors, instance.mean_rewards.shape[1]) for _ in range(2)]
    pulls, means = learner.pulls_and_means
    return Twin(instance, optimum, CAUTION[name], (solvers[0], solvers[1]), pulls, means, learner.round_number)


def largest_difference(learner: CompiledLearner, twin: Twin, rounds: int) -> float:
    """The largest difference of a share w(t), or of the plan's value relative to it, while both play on."""
    worst = 0.0
    for _ in range(rounds):
        shares = twin.play_round()
        learner.play(1)
        value = float((twin.upper * shares).sum())
        worst = max(
            worst,
            float(np.abs(learner.allocation - shares).max()),
            abs(float((twin.upper * learner.allocation).sum()) - value) / abs(value),
        )
    if not np.array_equal(learner.pulls_and_means[0], twin.pulls):
        raise RuntimeError("The twin played other arms.")
    return worst


def rounds_of_nu(name: str, kind: type[Linprog] | type[WarmHighs], turns: int) -> Outcome:
    """Whole runs of the simulator, and its twin on rounds that need no exploration any more."""
    instance, optimum = nu(), plan(nu())
    run = task(name, ROUNDS)

    def learner_before() -> CompiledLearner:
        learner = CompiledLearner(instance, optimum, name, pulls=0)
        learner.play(ROUNDS_BEFORE)
        return learner

    def twins(turn: int) -> float:
        twin = make_twin(kind, name, learner_before(), optimum)
        twin.play(1)  # so that a solver that starts warm is warm
        return seconds(lambda: twin.play(COMMON_ROUNDS)) / COMMON_ROUNDS

    learner = learner_before()
    learner.forget_counts()
    twin = make_twin(kind, name, learner, optimum)
    error = largest_difference(learner, twin, COMMON_ROUNDS)
    own, other = take_turns([lambda turn: seconds(lambda: run_task(run)) / ROUNDS, twins], turns)
    return Outcome(
        ours=own,
        alternative=other,
        alternative_name=kind.name,
        objective_error=error,
        details={**learner.details(), "rounds_per_second": 1.0 / Spread.of(own).median},
    )


def over_bare(name: str, turns: int) -> Outcome:
    """Whole runs of the simulator and of the loop that knows no floors."""
    instance = nu()
    run = task(name, ROUNDS)
    means, probabilities = instance.mean_rewards.copy(), instance.context_probabilities.copy()

    def bare(turn: int) -> float:
        statistics = make_statistics(*means.shape)
        return seconds(lambda: play_bare_rounds(means, probabilities, 1.0, statistics, 0, 0, 1, ROUNDS)) / ROUNDS

    own, other = take_turns([lambda turn: seconds(lambda: run_task(run)) / ROUNDS, bare], turns)
    return Outcome(ours=own, alternative=other, alternative_name="bare UCB")


def steady_rounds(n_pairs: int) -> int:
    """Rounds of a turn: tens of milliseconds at least."""
    return 20_000 if n_pairs <= 1000 else 3000 if n_pairs <= 100_000 else 400


def steady_learner(instance: Instance, name: str, pulls: int = STEADY_PULLS) -> CompiledLearner:
    """A learner whose plan has settled."""
    learner = CompiledLearner(instance, plan(instance), name, pulls)
    learner.play(2000)
    learner.forget_counts()
    return learner


@functools.cache
def steady(name: str, n_arms: int, n_contexts: int, turns: int, pulls: int = STEADY_PULLS) -> Outcome:
    """Rounds of a learner that has seen every pair often, and of the bare loop from the same statistics."""
    instance = steady_instance(n_arms, n_contexts)
    learner = steady_learner(instance, name, pulls)
    rounds = steady_rounds(instance.n_pairs)
    bare_statistics = seen_before(instance, pulls)
    means, probabilities = learner.world.mean_rewards, learner.world.probabilities
    place = pulls * instance.n_pairs

    def bare(turn: int) -> float:
        nonlocal place
        first, place = place + 1, place + rounds
        return seconds(
            lambda: play_bare_rounds(means, probabilities, 1.0, bare_statistics, 0, 0, first, first + rounds - 1)
        )

    own, other = take_turns([lambda turn: seconds(lambda: learner.play(rounds)), bare], turns)
    return Outcome(
        ours=[sample / rounds for sample in own],
        alternative=[sample / rounds for sample in other],
        alternative_name="bare UCB",
        details=learner.details(),
    )


def growth(turns: int) -> Outcome:
    """How time grows with pairs over the large shapes, at its worst for either policy; times are those of OLP."""
    worst = 0.0
    for name in CAUTION:
        medians = [Spread.of(steady(name, *shape, turns).ours).median for shape in LARGE_SHAPES]
        pairs = [n_arms * n_contexts for n_arms, n_contexts in LARGE_SHAPES]
        worst = max(worst, *(medians[i] / medians[0] / (pairs[i] / pairs[0]) for i in range(1, len(pairs))))
    return Outcome(ours=steady("olp", *LARGE_SHAPES[-1], turns).ours, details={"growth_over_linear": worst})


def steady_against(kind: type[Linprog] | type[WarmHighs], n_arms: int, n_contexts: int, turns: int) -> Outcome:
    """OLP in steady state, and its twin that plays on from the same statistics."""
    instance = steady_instance(n_arms, n_contexts)
    optimum = plan(instance)
    fresh = CompiledLearner(instance, optimum, "olp", STEADY_PULLS)
    twin = make_twin(kind, "olp", fresh, optimum)
    common = 20 if instance.n_pairs > 10_000 else 100
    error = largest_difference(fresh, twin, common)
    learner = steady_learner(instance, "olp")
    rounds = steady_rounds(instance.n_pairs)
    twin_rounds = 3 if instance.n_pairs > 10_000 else 50
    solver = twin.solvers[1]
    before = solver.solve_seconds if isinstance(solver, WarmHighs) else 0.0

    def ours(turn: int) -> float:
        return seconds(lambda: learner.play(rounds)) / rounds

    own, other = take_turns([ours, lambda turn: seconds(lambda: twin.play(twin_rounds)) / twin_rounds], turns)
    details = learner.details()
    if isinstance(solver, WarmHighs):
        alone = (solver.solve_seconds - before) / ((turns + 1) * twin_rounds)
        details["ratio_to_solving_alone"] = alone / Spread.of(own).median
    return Outcome(own, other, kind.name, objective_error=error, details=details)


def against_full_pass(turns: int) -> Outcome:
    """OLP in steady state, and no more than working out every bound and reduced cost once."""
    instance = steady_instance(100, 1000)
    learner = steady_learner(instance, "olp")
    rounds = steady_rounds(instance.n_pairs)
    values = np.zeros(instance.mean_rewards.shape[1])
    statistics, probabilities, prices = learner.statistics, learner.world.probabilities, learner.arm_prices
    passes = 300

    def passing(kernel: Callable[..., object]) -> Callable[[int], float]:
        return lambda turn: seconds(lambda: kernel(statistics, probabilities, prices, 6.5, values, passes)) / passes

    own, other, choosing = take_turns(
        [
            lambda turn: seconds(lambda: learner.play(rounds)) / rounds,
            passing(price_every_pair),
            passing(choose_among_all),
        ],
        turns,
    )
    details = {**learner.details(), "seconds_of_pass_that_chooses": Spread.of(choosing).median}
    return Outcome(own, other, "one full pass", details=details)


def exploring(turns: int) -> Outcome:
    """The first rounds of all, in which pairs never played have no bounds of their own, and steady ones."""
    instance = steady_instance(100, 1000)
    learner = CompiledLearner(instance, plan(instance), "olp", pulls=0)
    learner.play(EXPLORING_ROUNDS)
    learner.forget_counts()
    steady_one = steady_learner(instance, "olp")
    rounds = steady_rounds(instance.n_pairs)
    own, other = take_turns(
        [
            lambda turn: seconds(lambda: learner.play(EXPLORING_ROUNDS)) / EXPLORING_ROUNDS,
            lambda turn: seconds(lambda: steady_one.play(rounds)) / rounds,
        ],
        turns,
    )
    return Outcome(own, other, "a steady round", details=learner.details())


class Fixed:
    """A plain object that does next to nothing: what a round takes beyond that is the simulator's."""

    name = "fixed"

    def begin(self, problem: Problem, seed: int) -> None:
        """Play all arms alike."""
        self.shares = np.full(problem.shape, 1.0 / problem.shape[0])

    def allocate(self, context: int) -> Floats:
        """The same as ever."""
        return self.shares

    def learn(self, context: int, arm: int, reward: float) -> None:
        """Nothing."""


def plain_object(turns: int) -> Outcome:
    """Rounds of a plain object, less the time of its own methods."""
    instance = nu()
    rounds = 20_000
    chosen = Fixed()
    last = np.array([rounds])
    run = Task(instance, chosen.name, chosen, "gaussian", None, plan(instance), np.nan, rounds, 0, 0, last, 0)
    chosen.begin(problem_of(instance, None, rounds), 0)

    def own_methods() -> None:
        for _ in range(rounds):
            chosen.allocate(0)
            chosen.learn(0, 0, 1.0)

    whole, own = take_turns(
        [lambda turn: seconds(lambda: run_task(run)) / rounds, lambda turn: seconds(own_methods) / rounds], turns
    )
    overhead = [both - its for both, its in zip(whole, own, strict=True)]
    return Outcome(overhead, details={"seconds_of_its_own": Spread.of(own).median})


def with_groups(turns: int) -> Outcome:
    """OLP in steady state with floors for groups of arms, and without them."""
    grouped, plain = (steady_learner(steady_instance(50, 200, groups=groups), "olp") for groups in (True, False))
    rounds = 1000
    own, other = take_turns(
        [
            lambda turn: seconds(lambda: grouped.play(rounds)) / rounds,
            lambda turn: seconds(lambda: plain.play(rounds)) / rounds,
        ],
        turns,
    )
    return Outcome(own, other, "without groups", details=grouped.details())


def online(turns: int) -> Outcome:
    """decide and update from Python, the rewards drawn beforehand."""
    instance = nu()
    rng = np.random.default_rng(20_250_602)
    rounds = 20_000
    contexts = rng.integers(3, size=rounds).tolist()
    noise = rng.standard_normal(rounds).tolist()
    means = instance.mean_rewards.tolist()

    def ours(turn: int) -> float:
        learner = OLP(instance.revenue_floors, instance.context_probabilities, noise_scale=1.0)

        def loop() -> None:
            for context, shock in zip(contexts, noise, strict=True):
                arm = learner.decide(context).arm
                learner.update(context, arm, means[arm][context] + shock)

        return seconds(loop) / rounds

    (own,) = take_turns([ours], turns)
    return Outcome(own, details={"pairs": instance.n_pairs, "per_second": 1.0 / Spread.of(own).median})


def steady_policy(n_arms: int, n_contexts: int) -> tuple[Decide, Update]:
    """OLP with floors, after STEADY_PULLS pulls of each pair."""
    instance = steady_instance(n_arms, n_contexts)
    learner: Any = OLP(instance.revenue_floors, instance.context_probabilities, noise_scale=1.0)
    learner.learner.statistics.by_pair[...] = seen_before(instance, STEADY_PULLS).by_pair
    learner.learner.progress[[Progress.DECISIONS, Progress.REWARDS]] = STEADY_PULLS * instance.n_pairs
    return lambda context: learner.decide(context).arm, learner.update


def online_rounds(decide: Decide, update: Update, n_arms: int, n_contexts: int, rounds: int) -> Callable[[int], float]:
    """decide and update from Python, on contexts and noise drawn beforehand, the same for all."""
    means = steady_instance(n_arms, n_contexts).mean_rewards.tolist()
    rng = np.random.default_rng([n_arms, n_contexts, 1])
    contexts = rng.integers(n_contexts, size=rounds).tolist()
    noise = rng.standard_normal(rounds).tolist()

    def loop() -> None:
        for context, shock in zip(contexts, noise, strict=True):
            arm = decide(context)
            update(context, arm, means[arm][context] + shock)

    return lambda turn: seconds(loop) / rounds


def online_steady(n_arms: int, n_contexts: int, turns: int) -> Outcome:
    """decide and update of OLP from Python in steady state."""
    played = online_rounds(*steady_policy(n_arms, n_contexts), n_arms, n_contexts, rounds=1000)
    (own,) = take_turns([played], turns)
    return Outcome(own, details={"pairs": n_arms * n_contexts, "per_second": 1.0 / Spread.of(own).median})


def first_rounds(name: str, n_arms: int, n_contexts: int, turns: int) -> Outcome:
    """The first rounds of a policy from Python: their mean time, and the longest decision."""
    instance = steady_instance(n_arms, n_contexts)
    means = instance.mean_rewards.tolist()
    rng = np.random.default_rng([n_arms, n_contexts, 2])
    contexts = rng.integers(n_contexts, size=FIRST_ROUNDS).tolist()
    longest: list[float] = []

    def ours(turn: int) -> float:
        learner: Any = policy(name).kind(
            instance.revenue_floors, instance.context_probabilities, noise_scale=instance.noise_scale
        )
        whole = 0.0
        slowest = 0.0
        for context in contexts:
            start = perf_counter()
            arm = learner.decide(context).arm
            slowest = max(slowest, perf_counter() - start)
            learner.update(context, arm, means[arm][context])
            whole += perf_counter() - start
        longest.append(slowest)
        return whole / FIRST_ROUNDS

    (own,) = take_turns([ours], turns)
    return Outcome(own, details={"pairs": instance.n_pairs, "seconds_of_longest_decision": max(longest[1:])})


def two_threads(turns: int) -> Outcome:
    """Eight epochs on nu by two threads, and the same by one."""
    instance = nu()

    def run(jobs: int) -> tuple[float, Floats]:
        found = []
        elapsed = seconds(lambda: found.append(simulate(instance, ["olp"], 4 * ROUNDS, epochs=EPOCHS, jobs=jobs)))
        return elapsed, found[0].records["olp"]

    busy = {"ours": 0.0, "everybody": 0.0, "wall": 0.0}

    def both_threads(turn: int) -> float:
        own_before, all_before = process_time(), busy_seconds()
        elapsed, _ = run(2)
        busy["ours"] += process_time() - own_before
        busy["everybody"] += busy_seconds() - all_before
        busy["wall"] += elapsed
        return elapsed

    error = float(np.abs(np.nan_to_num(run(2)[1] - run(1)[1])).max())
    own, other = take_turns([both_threads, lambda turn: run(1)[0]], turns)
    # Two threads need two cores; what other processes took of them says how much the ratio can be.
    details = {
        "cores_used": busy["ours"] / busy["wall"],
        "cores_used_by_others": max(0.0, busy["everybody"] - busy["ours"]) / busy["wall"],
    }
    return Outcome(own, other, "one thread", objective_error=error, details=details)


def busy_seconds() -> float:
    """Seconds that the cores of this machine have worked, for whatever process, or were taken away by its host."""
    user, nice, system, _, _, interrupt, soft_interrupt, stolen = map(
        int, Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:9]
    )
    return (user + nice + system + interrupt + soft_interrupt + stolen) / os.sysconf("SC_CLK_TCK")


def resident_mebibytes() -> float:
    """Memory of this process that is in use now."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def long_horizon(turns: int) -> Outcome:
    """Ten million rounds of OLP on nu, after a tenth of that to settle memory."""
    run_task(task("olp", LONG_HORIZON // 10))
    run = task("olp", LONG_HORIZON)
    before = resident_mebibytes()
    own = [seconds(lambda: run_task(run)) / LONG_HORIZON for _ in range(turns)]
    after = resident_mebibytes()
    return Outcome(
        own, details={"resident_before": before, "resident_after": after, "resident_growth_mebibytes": after - before}
    )


def _steady(name: str, n_arms: int, n_contexts: int) -> Workload:
    limits = {"doubles_per_pair": 8.0} if (n_arms, n_contexts) in LARGE_SHAPES else {}
    return Workload(
        name=f"steady-{name}-{n_arms}x{n_contexts}",
        summary=f"a round of {name.upper()} with {n_arms} arms x {n_contexts} contexts after 1,000 pulls of each pair",
        run=partial(steady, name, n_arms, n_contexts),
        turns=9,
        quick_turns=3,
        requirement=Requirement(limits=limits) if limits else None,
    )


def _rounds(name: str, kind: type[Linprog] | type[WarmHighs], suffix: str, ratio: float) -> Workload:
    return Workload(
        name=f"rounds-{name}-3x3-{suffix}",
        summary=f"a round of {name.upper()} on nu with every metric, and with {kind.name} in a NumPy loop",
        run=partial(rounds_of_nu, name, kind),
        turns=9,
        quick_turns=3,
        requirement=Requirement(ratio=ratio),
    )


def _over_bare(name: str, times: int) -> Workload:
    return Workload(
        name=f"rounds-{name}-3x3-bare",
        summary=f"a round of {name.upper()} on nu with every metric, and of UCB without floors",
        run=partial(over_bare, name),
        turns=15,
        quick_turns=3,
        requirement=Requirement(ratio=1 / times),
    )


def _against(
    kind: type[Linprog] | type[WarmHighs], suffix: str, n_arms: int, n_contexts: int, ratio: float | None = None
) -> Workload:
    run: Callable[[int], Outcome] = partial(steady_against, kind, n_arms, n_contexts)
    return Workload(
        name=f"steady-{n_arms}x{n_contexts}-{suffix}",
        summary=f"a steady round of OLP with {n_arms} arms x {n_contexts} contexts, and with {kind.name}",
        run=run,
        turns=7,
        quick_turns=3,
        requirement=None if ratio is None else Requirement(ratio=ratio),
    )


def _with_guarantee(name: str) -> Workload:
    return Workload(
        name=f"round-guarantee-{name}",
        summary=f"a round of {name} with guarantee=True on nu, late in a run, against one without",
        run=partial(guarantee_over_none, name),
        turns=15,
        quick_turns=3,
    )


def late_rounds(learners: list[CompiledLearner], alternative: str, turns: int) -> Outcome:
    """Rounds on nu with every metric, late in a run: averages that fade must not slow them."""
    for learner in learners:
        learner.play(LATE_ROUNDS)

    def played(place: int, turn: int) -> float:
        return seconds(lambda: learners[place].play(ROUNDS)) / ROUNDS

    own, other = take_turns([partial(played, 0), partial(played, 1)], turns)
    return Outcome(own, other, alternative)


def priced_over_blp(turns: int) -> Outcome:
    """PricedLP against BLP."""
    optimum = plan(nu())
    return late_rounds([CompiledLearner(nu(), optimum, name, 0) for name in ("priced-lp", "blp")], "BLP", turns)


def guarantee_over_none(name: str, turns: int) -> Outcome:
    """A policy with a ledger against the same without one."""
    optimum = plan(nu())
    learners = [CompiledLearner(nu(), optimum, name, 0, guarantee=True), CompiledLearner(nu(), optimum, name, 0)]
    return late_rounds(learners, "without", turns)


WORKLOADS = (
    Workload(
        name="round-priced-lp",
        summary="a round of PricedLP on nu, late in a run, against one of BLP",
        run=priced_over_blp,
        turns=15,
        quick_turns=3,
        requirement=Requirement(ratio=1.0 / PRICED_OVER_BLP),
    ),
    _with_guarantee("blp"),
    _with_guarantee("priced-lp"),
    _rounds("olp", Linprog, "linprog", ratio=1000),
    _rounds("olp", WarmHighs, "highs", ratio=100),
    _rounds("oplp", Linprog, "linprog", ratio=1000),
    _rounds("oplp", WarmHighs, "highs", ratio=100),
    _over_bare("olp", times=10),
    _over_bare("oplp", times=15),
    _against(Linprog, "linprog", 10, 10),
    _against(Linprog, "linprog", 20, 50),
    _against(WarmHighs, "highs", 10, 10),
    _against(WarmHighs, "highs", 20, 50),
    _against(WarmHighs, "highs", 50, 200),
    _against(WarmHighs, "highs", 100, 1000, ratio=400),
    Workload(
        name="steady-100x1000-full-pass",
        summary="a steady round of OLP, and one pass over every bound and reduced cost",
        run=against_full_pass,
        turns=15,
        quick_turns=3,
        requirement=Requirement(ratio=1.0),
    ),
    *(_steady(name, *shape) for name in CAUTION for shape in SHAPES),
    Workload(
        name="steady-growth",
        summary="a round at 200 x 5000; from 20 x 50 on, time against pairs, both relative to 20 x 50",
        run=growth,
        turns=9,
        quick_turns=3,
        requirement=Requirement(limits={"growth_over_linear": 1.0}),
    ),
    Workload(
        name="steady-groups-50x200",
        summary="a steady round of OLP with five group floors besides those of the arms, and without",
        run=with_groups,
        turns=9,
        quick_turns=3,
    ),
    Workload(
        name="early-100x1000",
        summary="a round of OLP after 10 pulls of each pair, when bounds still move fast, and of UCB without floors",
        run=partial(steady, "olp", 100, 1000, pulls=EARLY_PULLS),
        turns=7,
        quick_turns=3,
    ),
    Workload(
        name="exploring-100x1000",
        summary="one of the first rounds of OLP, with pairs never played, and a steady one",
        run=exploring,
        turns=5,
        quick_turns=2,
        requirement=Requirement(ratio=1 / 5),
    ),
    *(
        Workload(
            name=f"first-rounds-{name}-100x1000",
            summary=f"one of the first {FIRST_ROUNDS} rounds of {name} from Python, 100 arms x 1000 contexts",
            run=partial(first_rounds, name, 100, 1000),
            turns=5,
            quick_turns=2,
            requirement=Requirement(limits={"seconds_of_longest_decision": 1.0}),
        )
        for name in ("olp", "oplp", "blp", "priced-lp")
    ),
    Workload(
        name="plain-object-3x3",
        summary="a round of simulate with a plain Python object on nu, less the object's own time",
        run=plain_object,
        turns=9,
        quick_turns=3,
        requirement=Requirement(rate=50_000),
    ),
    Workload(
        name="online-3x3",
        summary="decide and update of OLP on nu from Python",
        run=online,
        turns=9,
        quick_turns=3,
        requirement=Requirement(rate=50_000),
    ),
    *(
        Workload(
            name=f"online-{n_arms}x{n_contexts}",
            summary=f"decide and update of OLP from Python, {n_arms} arms x {n_contexts} contexts, in steady state",
            run=partial(online_steady, n_arms, n_contexts),
            turns=7,
            quick_turns=3,
        )
        for n_arms, n_contexts in SHAPES[1:]
    ),
    Workload(
        name="two-threads",
        summary="eight epochs of OLP on nu by two threads, and by one",
        run=two_threads,
        turns=9,
        quick_turns=3,
        requirement=Requirement(ratio=1.7),
    ),
    Workload(
        name="horizon-10-million",
        summary="a round of ten million of OLP on nu, in memory that does not grow",
        run=long_horizon,
        turns=1,
        quick_turns=1,
        requirement=Requirement(limits={"resident_growth_mebibytes": 1.0}),
        long=True,
    ),
)
