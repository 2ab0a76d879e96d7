"""The state of a policy at work: its configuration, labels and floors, and the arrays that its kernels work on."""

import enum
import functools
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from arcbandit.compilation.packing import packed
from arcbandit.errors import InvalidInputError
from arcbandit.floors import CouplingRows, Floors
from arcbandit.inputs.values import index_of
from arcbandit.kernels.bounds import FEW_PAIRS
from arcbandit.kernels.budget import make_budget
from arcbandit.kernels.confidence import ByPair, make_statistics
from arcbandit.kernels.fading import block_of, share_of
from arcbandit.kernels.keys import FEW_CONTEXTS
from arcbandit.kernels.ledger import Account, make_ledger
from arcbandit.kernels.memory import Memory
from arcbandit.kernels.noise import Noise
from arcbandit.kernels.planner import make_planner
from arcbandit.policies.budget import allocating_kernel
from arcbandit.policies.configuration import SAME_SHARE, Configuration
from arcbandit.policies.forgetting import Window, make_past, with_past
from arcbandit.policies.learner import (
    SETTINGS,
    KnownProblem,
    Learner,
    Outcome,
    Progress,
    Replan,
    Stream,
    make_memory,
    record_of,
)
from arcbandit.policies.rounds import Work, WorkKernels, make_work, work_kernels

Name = str | int

# Up to so many pairs, an exploring round looks at all of them in tens of microseconds. To keep what is known of
# unplayed ones would be faster, but takes memory, and kernels that must be compiled for it.
PAIRS_TO_LOOK_AT = 1024

# Fewer pulls than this say nothing; with more, a count of rewards on top would not be exact.
LEAST_PRIOR_PULLS = 1e-6
MOST_PRIOR_PULLS = 1e9


class Prior(enum.IntEnum):
    """Rows of State.prior."""

    PULLS = 0
    MEAN = 1


@dataclass(frozen=True)
class Labels:
    """The names of arms and contexts, if they were named; an index always works too."""

    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    named_arms: bool
    named_contexts: bool

    @functools.cached_property
    def arm_index(self) -> dict[str, int]:
        """Rows by name."""
        return {name: index for index, name in enumerate(self.arms)}

    @functools.cached_property
    def context_index(self) -> dict[str, int]:
        """Columns by name."""
        return {name: index for index, name in enumerate(self.contexts)}

    def arm(self, arm: Name) -> int:
        """The row of an arm."""
        return index_of("arm", arm, self.arm_index, named=self.named_arms)

    def context(self, context: Name) -> int:
        """The column of a context."""
        return index_of("context", context, self.context_index, named=self.named_contexts)


@dataclass(frozen=True)
class State:
    """Everything that determines what a policy does next; arrays change in place, other changes make a new state."""

    configuration: Configuration
    labels: Labels
    floors: Floors
    stream: int  # the seed of its stream of random numbers
    learner: Learner
    allowed: NDArray[np.bool_]  # K x C: which pairs may be played while their arm is not retired
    prior: NDArray[np.float64]  # 2 x K x C: the pulls and means that pairs started with, which are in the statistics
    retired: frozenset[int] = frozenset()  # rows
    dropped: frozenset[int] = frozenset()  # columns
    admitted: int = 0  # contexts that came by a name never seen

    @functools.cached_property
    def numbers(self) -> Any:
        """The learner and the stream, packed for the kernels."""
        return packed(self.work)

    @functools.cached_property
    def work(self) -> Work:
        """The learner and the stream."""
        return make_work(self.learner, Stream(self.stream, self.configuration.epoch, 0))

    @functools.cached_property
    def kernels(self) -> WorkKernels:
        """The compiled rounds of the rule, loaded or compiled on first use."""
        kind = self.configuration.kind
        allocate = allocating_kernel(kind.allocate, self.learner)
        return work_kernels(allocate, kind.learn, kind.plans, self.work)

    @functools.cached_property
    def hot(self) -> tuple[Any, ...]:
        """What `decide` and `update` need, in one tuple: looking up each part would take longer than deciding.

        Kernels, numbers, the columns and rows by name (none if they have no names), and their counts. Once a context
        was dropped, its name is missing and no index is in range: such contexts are looked up, and refused, elsewhere.
        """
        labels = self.labels
        columns = labels.context_index if labels.named_contexts else {}
        if self.dropped:
            columns = {name: column for name, column in columns.items() if column not in self.dropped}
        return (
            self.kernels.decide,
            self.kernels.learn,
            self.numbers,
            columns,
            labels.arm_index if labels.named_arms else {},
            0 if self.dropped else len(labels.contexts),
            len(labels.arms),
            labels.arms if labels.named_arms else range(len(labels.arms)),
            self.configuration.reward_bounds,
        )

    @functools.cached_property
    def contexts_vary(self) -> bool:
        """Whether a context may be refused, or admitted."""
        return bool(self.dropped) or self.configuration.admit_contexts > 0

    @property
    def round_number(self) -> int:
        """t of the next decision."""
        progress = self.learner.progress
        return int(max(progress[Progress.DECISIONS], progress[Progress.REWARDS])) + 1


def make_state(
    configuration: Configuration,
    labels: Labels,
    floors: Floors,
    stream: int,
    probabilities: NDArray[np.float64],
    available: NDArray[np.bool_],
) -> State:
    """A state before anything was seen."""
    kind = configuration.kind
    if floors.groups and not kind.supports_group_floors:
        raise InvalidInputError(f"{kind.__name__} does not keep group floors; give none.")
    if configuration.admit_contexts and not (configuration.estimate_contexts and labels.named_contexts):
        raise InvalidInputError(
            "admit_contexts must be 0 unless contexts have names and their probabilities are estimated, "
            f"got {configuration.admit_contexts}."
        )
    if configuration.guarantee and (configuration.estimate_contexts or configuration.estimates_noise):
        raise InvalidInputError(
            "guarantee must be False unless context_probabilities and sigma are known (by noise_scale or "
            "reward_bounds), as what is guaranteed counts on them, got True."
        )
    learner = make_learner(configuration, floors, probabilities, available)
    prior = np.zeros((len(Prior), *available.shape))
    return State(configuration, labels, floors, stream, learner, available.copy(), prior)


def make_learner(
    configuration: Configuration, floors: Floors, probabilities: NDArray[np.float64], available: NDArray[np.bool_]
) -> Learner:
    """A learner that has seen nothing."""
    kind = configuration.kind
    rows = floors.coupling_rows()
    n_arms, n_contexts = available.shape
    dials = {dial.name: dial.number(configuration.dial_values[dial.name]) for dial in kind.dials}
    progress = np.zeros(len(Progress), dtype=np.int64)
    progress[Progress.NEXT_PLAN] = 1
    planner: Any = ()  # without one there is less to compile
    budget: Any = ()
    ledger: Any = ()
    if kind.plans:
        # If probabilities are estimated, all coefficients change in each round, and nothing can be kept of them. With a
        # budget, it is not unplayed pairs alone that are played in contexts that have some; in a window, pairs become
        # unplayed again.
        keeps = available.size > PAIRS_TO_LOOK_AT and not (configuration.estimate_contexts or configuration.has_budget)
        keeps = keeps and not isinstance(configuration.memory, Window) and not kind.soft_floors
        planner_of_shape = functools.partial(
            make_planner,
            n_arms,
            n_contexts,
            len(floors),
            rows.arm_rows.shape[1],
            keeps_unplayed=keeps,
            shares_floors=configuration.when_infeasible == SAME_SHARE,
            soft_floors=kind.soft_floors,
            keeps_orders=_keeps_orders(configuration, available, rows),
        )
        planner = planner_of_shape()
        if configuration.has_budget:
            limits = (configuration.exploration_budget, configuration.known_after)
            second = make_memory(kind.rows, n_arms, n_contexts, len(floors)) if kind.keeps_averages else ()
            budget = make_budget(*limits, planner_of_shape(), second, len(floors), progress)
    if configuration.guarantee:
        ledger = make_ledger(
            make_planner(n_arms, n_contexts, len(floors), rows.arm_rows.shape[1]), len(floors), progress
        )
    return Learner(
        problem=KnownProblem(
            context_probabilities=np.ascontiguousarray(probabilities, dtype=np.float64),
            floors=rows.floors,
            arm_rows=rows.arm_rows,
            available=np.ascontiguousarray(available),
        ),
        settings=_settings(configuration),
        dials=record_of({**kind.preset, **dials}),
        statistics=make_statistics(n_arms, n_contexts),
        memory=make_memory(kind.rows, n_arms, n_contexts, len(floors)),
        planner=planner,
        noise=np.zeros(len(Noise)) if configuration.estimates_noise else cast(Any, ()),
        past=make_past(configuration.memory, n_arms, n_contexts, estimate_contexts=configuration.estimate_contexts),
        progress=progress,
        allocation=np.ascontiguousarray(available / available.sum(axis=0)),
        budget=budget,
        ledger=ledger,
    )


def _keeps_orders(configuration: Configuration, available: NDArray[np.bool_], rows: CouplingRows) -> bool:
    """Whether a planner keeps an order of elimination for each of its places, as far as it is able to."""
    few = available.size <= FEW_PAIRS and available.shape[1] <= FEW_CONTEXTS
    hard = configuration.when_infeasible != SAME_SHARE and not configuration.kind.soft_floors
    return few and hard and rows.arm_rows.shape[1] == 1


def _settings(configuration: Configuration) -> np.ndarray:
    kind, bounds = configuration.kind, configuration.reward_bounds
    settings = np.zeros(1, dtype=SETTINGS).view(np.recarray)
    values = settings[0]
    if bounds is not None:
        values.has_reward_bounds = 1.0
        values.reward_low, values.reward_high = bounds
    if configuration.estimates_noise:
        values.noise_scale = 1.0  # until two rewards differ
    elif configuration.noise_scale is not None:
        values.noise_scale = configuration.noise_scale
    elif bounds is not None:
        values.noise_scale = (bounds[1] - bounds[0]) / 2
    bound = bounds[1] if configuration.mean_bound is None and bounds else configuration.mean_bound
    if kind.needs_mean_bound:
        if bound is None or not bound > 0:
            raise InvalidInputError(
                f"{kind.__name__} scales rewards to [0, 1]: mean_bound, or the upper of the reward_bounds, "
                f"must be positive, got {bound}."
            )
        values.mean_bound = bound
    values.estimate_contexts = float(configuration.estimate_contexts)
    if kind.needs_horizon:
        if configuration.horizon is None:
            raise InvalidInputError(f"{kind.__name__} needs horizon, the number of rounds to come; got none.")
        values.horizon = configuration.horizon
    if configuration.replan == "doubling":
        values.replan = Replan.DOUBLING
    elif configuration.replan != "always":
        values.replan = configuration.replan
    if isinstance(configuration.memory, float):
        values.fade_every, values.fade_share = block_of(configuration.memory), share_of(configuration.memory)
    return settings


def pulls_of(state: State) -> NDArray[np.float64]:
    """The number of rewards seen of each pair, K x C: n without what a prior stands for.

    With `memory` it is n itself, a sum of weights in which those of a prior fade as well.
    """
    if state.configuration.memory is not None:
        return np.array(state.learner.statistics.by_pair[ByPair.PULLS])
    return rewards_seen(state.learner.statistics.by_pair[ByPair.PULLS], state.prior)


def rewards_seen(pulls: NDArray[np.float64], prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """n without what a prior stands for, K x C, in a new array."""
    # Adding 1 to a pull count that is not whole rounds, by far less than 1/2 in all.
    return np.where(prior[Prior.PULLS] > 0.0, np.rint(pulls - prior[Prior.PULLS]), pulls)


def playable(allowed: NDArray[np.bool_], retired: frozenset[int], dropped: frozenset[int]) -> NDArray[np.bool_]:
    """Which pairs the kernels may play, K x C: those allowed, without arms that are retired.

    Kernels need an arm in each context. One that was dropped may have none left, and then has all.
    """
    available = allowed.copy()
    available[sorted(retired)] = False
    for context in dropped:
        if not available[:, context].any():
            available[:, context] = True
            available[sorted(retired), context] = False
    return available


def estimated_probabilities(counts: NDArray[np.float64], dropped: frozenset[int]) -> NDArray[np.float64]:
    """The estimate of the next decision, as `estimate_probabilities` makes it, before its context is counted."""
    at_work = np.ones(len(counts), dtype=np.bool_)
    at_work[sorted(dropped)] = False
    weights = np.where(at_work, counts + 1.0 / at_work.sum(), 0.0)
    probabilities: NDArray[np.float64] = weights / (1.0 + counts[at_work].sum())
    return probabilities


def memories_of(learner: Learner) -> list[Memory]:
    """What the rule keeps between rounds, and what it keeps for a second plan within a budget, if that is more."""
    second = learner.budget.memory if len(learner.budget) > 0 else ()
    return [learner.memory, second] if len(second) > 0 else [learner.memory]


def _take_over_memory(before: Memory, after: Memory, old: Learner, learner: Learner) -> None:
    """Copy what a rule keeps into a memory of another shape."""
    arms, contexts = old.allocation.shape
    after.by_pair[:, :arms, :contexts] = before.by_pair
    after.by_arm[:, :arms] = before.by_arm
    after.totals[:] = before.totals
    if len(after.by_floor) > 0:
        _take_over_by_floor(before.by_floor, after.by_floor, arms, learner.allocation.shape[0])


def _take_over_by_floor(before: NDArray[np.float64], after: NDArray[np.float64], arms: int, now: int) -> None:
    """Copy what a rule keeps per floor: of the arms and, unless there are fewer groups than before, of the groups.

    A group that came last starts from zero. If one went, all groups do, as rows do not tell which it was.
    """
    after[:, :arms] = before[:, :arms]
    groups = before.shape[1] - arms
    if after.shape[1] - now >= groups:
        after[:, now : now + groups] = before[:, arms:]


def forget_arm(learner: Learner, row: int) -> None:
    """Let what a rule keeps of an arm and of its floor start from zero."""
    for memory in memories_of(learner):
        memory.by_arm[:, row] = 0.0
        if len(memory.by_floor) > 0:
            memory.by_floor[:, row] = 0.0


def forget_misses(learner: Learner, configuration: Configuration) -> None:
    """Let averages per floor start from zero as the problem changes, if floors were missed in it as it was.

    Maybe that was a mistake. Prices are then those of misses, and would take margins away for hundreds of rounds.
    """
    if configuration.kind.keeps_averages and learner.progress[Progress.OUTCOME] & Outcome.FELL_BACK:
        for memory in memories_of(learner):
            if len(memory.by_floor) > 0:
                memory.by_floor[:] = 0.0


def with_shape(state: State, probabilities: NDArray[np.float64]) -> State:
    """What was learnt, in memory for the labels, floors and availability of this state; the next plan starts cold."""
    old = state.learner
    available = playable(state.allowed, state.retired, state.dropped)
    learner = make_learner(state.configuration, state.floors, probabilities, available)
    learner.statistics.dropped[sorted(state.dropped)] = True
    arms, contexts = old.allocation.shape
    learner.statistics.by_pair[:, :arms, :contexts] = old.statistics.by_pair
    learner.statistics.context_counts[:contexts] = old.statistics.context_counts
    # A budget may have come or gone: then the second memory starts empty, or goes.
    for before, after in zip(memories_of(old), memories_of(learner), strict=False):
        _take_over_memory(before, after, old, learner)
    learner.settings[0].noise_scale = old.settings[0].noise_scale
    if state.configuration.estimates_noise:
        learner.noise[:] = old.noise
    learner = with_past(learner, old)
    if state.configuration.guarantee:
        # F and its prices are of the problem as it was; what was spent is spent.
        learner.ledger.account[:] = old.ledger.account
        learner.ledger.account[Account.SOLVED] = 0.0
    for place in (Progress.DECISIONS, Progress.REWARDS, Progress.PLANNED_AT, Progress.OUTCOME):
        learner.progress[place] = old.progress[place]
    forget_misses(learner, state.configuration)
    shares = np.zeros(available.shape)
    shares[:arms, :contexts] = old.allocation
    shares *= available
    totals = shares.sum(axis=0)
    even = available / available.sum(axis=0)
    learner.allocation[:] = np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), even)
    return replace(state, learner=learner)
