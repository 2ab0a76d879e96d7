"""A policy at work: it decides, learns from rewards whenever they arrive, and can be changed while running."""

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from arcbandit.compilation.packing import packed
from arcbandit.errors import InvalidInputError
from arcbandit.floors import Floors, GroupFloor
from arcbandit.inputs.arrays import availability
from arcbandit.inputs.values import LARGEST_NUMBER, amount, items, non_negative, shown, truth, whole
from arcbandit.instance import Instance
from arcbandit.policies import changes, growth, merging, snapshot, totals
from arcbandit.policies.admission import NEW, column_finder, require_at_work, with_admitted
from arcbandit.policies.budget import KNOWN_AFTER, NO_BUDGET
from arcbandit.policies.configuration import Configuration, configured, shown_dials
from arcbandit.policies.decisions import Decision, Decisions, decision_of
from arcbandit.policies.dials import Dial
from arcbandit.policies.forgetting import Window
from arcbandit.policies.guarantee import LedgerStatus, ledger_of
from arcbandit.policies.learner import Learner, Progress, Rows
from arcbandit.policies.notices import FELL_SHORT, Notices
from arcbandit.policies.problem import told_problem
from arcbandit.policies.proven import Proven
from arcbandit.policies.rounds import PACKED_NO_BATCH, PACKED_NO_LOG, Log, learn_nothing, make_batch
from arcbandit.policies.state import Labels, Name, State, make_state, pulls_of
from arcbandit.policies.status import Status, at_rest, status_of
from arcbandit.policies.streams import stream_of_worker, system_seed

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column, Table

Method = TypeVar("Method", bound=Callable[..., Any])


def locked(method: Method) -> Method:
    """Let no other thread into the policy while the method runs."""

    @functools.wraps(method)
    def guarded(self: "Policy", *arguments: Any, **settings: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **settings)

    return cast(Method, guarded)


class PolicyType(type):
    """Makes a call of a policy class return a policy at work or, without a problem, a configuration."""

    def __call__(cls, *arguments: Any, **settings: Any) -> Any:
        """Call `__init__`, which a subclass may replace to set dials or the problem; return what it made."""
        made = super().__call__(*arguments, **settings)
        return made if hasattr(made, "_state") else made._unbound


class Policy(metaclass=PolicyType):
    """Decides which arm to play in a context, and learns from rewards whenever they arrive.

    With `revenue_floors` it is ready to decide. Without, calling the class gives a `Configuration`: dials and settings
    that `for_instance`, the simulator or an experiment apply to a problem.

    Arms and contexts are given by index from 0, or by name if `arms` or `contexts` name them. Floors, probabilities
    and `available` may have labels, which give names and are aligned as for `Instance`. With `context_probabilities`
    None, probabilities are estimated; `contexts` then says which contexts there are (names, or how many).
    `replan` says when a rule that plans computes a new allocation: "always" (before each decision, as the paper's
    guarantees require), "doubling" (at rounds 1, 2, 4, 8 ...), or a number n (every n rounds). In between, the last
    plan is kept; for these two the paper proves nothing about regret or violation.
    `when_infeasible` says what such a rule plans if the floors are out of reach even by optimistic bounds: the least
    total shortfall ("least_shortfall"), where one floor may take every context from the others, or the largest share
    that every floor can get of its amount ("same_share"); in either case then the most revenue.
    With `admit_contexts` a context whose name was never seen is admitted when it comes, up to so many in all: for
    contexts that have names and whose probabilities are estimated.
    `memory`, for rules that plan where rewards drift, is a half-life in rounds, after which a reward counts half: n is
    then the sum of such weights, lowered sixteen times per half-life. Or it is a `Window`, after whose rounds a reward
    counts no more. A late reward is as old as its arrival. Estimated context probabilities forget likewise. None
    forgets nothing.
    `exploration_budget`, for rules that plan, is the share of a context's traffic that pairs not yet known may have
    together, where others are known; a pair is known once its count n reaches `known_after`. The rest is planned over
    known pairs alone, which keep the floors by themselves. 1 is no budget, as in the paper;
    `SERVICE_EXPLORATION_BUDGET` is for a service.
    `guarantee`, for rules that plan, keeps a ledger of what their plans may cost by confidence bounds, and plays the
    plan of LP(UCB, UCB) in rounds that would spend more than sqrt(t log t) allows; `guarantee_bound` says what is then
    proven.
    `noise_scale` is sigma; rewards within `reward_bounds` (low, high) have sigma = (high - low) / 2. With neither, or
    with "estimate", sigma is estimated from the rewards: their spread about the means of their pairs, pooled.

    The random numbers of a decision depend only on `seed`, `worker`, `epoch` and the number of earlier decisions:
    policies that agree in all of these draw the same numbers. Give each process that decides with the same seed its own
    `worker` number. With `seed` None a policy takes a seed from the system when it is given its problem.

    Threads may share a policy: every method waits until it has the policy to itself. A pickled or copied policy goes on
    as the original would.

    A rule is a subclass with a `name`, a kernel `allocate(learner, context, t, stream)` that writes
    `learner.allocation` and returns an `Outcome`, and any of the class attributes below that it needs;
    docs/write-your-own-policy.md shows how.

    >>> from arcbandit import BLP
    >>> policy = BLP([0.1, 0.2], [0.7, 0.3], arms=["house", "guest"], contexts=["weekday", "weekend"], seed=1)
    >>> decision = policy.decide("weekday")
    >>> policy.update("weekday", decision.arm, reward=0.8)
    >>> policy
    <BLP(): 2 arms x 2 contexts, round 2>
    """

    name: ClassVar[str]
    allocate: ClassVar[Callable[..., Any]]
    learn: ClassVar[Callable[..., Any]] = staticmethod(learn_nothing)  # (learner, context, arm, reward)
    plans: ClassVar[bool] = False  # whether it asks learner.planner for plans
    soft_floors: ClassVar[bool] = False  # it plans, and may miss floors at a price; its allocation is of no one basis
    reference: ClassVar[str] = ""  # where it comes from: a key of docs/references.bib, or a citation
    dials: ClassVar[tuple[Dial, ...]] = ()  # learner.dials[0] has them by name
    preset: ClassVar[Mapping[str, float]] = {}  # dials that the class itself sets
    rows: ClassVar[Rows] = Rows()  # what learner.memory holds
    keeps_averages: ClassVar[bool] = False  # that is averages of its own plans, which a merge leaves as they are
    knows_optimum: ClassVar[bool] = False  # it is told the best plan, as no learner is: for simulations alone
    proven: ClassVar[frozenset[Proven]] = frozenset()  # an audit counts it; a subclass that plays otherwise says so
    needs_horizon: ClassVar[bool] = False
    needs_mean_bound: ClassVar[bool] = False
    supports_group_floors: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Make help and editors show the arguments of `__init__`."""
        super().__init_subclass__(**options)
        signature = inspect.signature(cls.__init__)
        shown = signature.replace(parameters=list(signature.parameters.values())[1:])
        type.__setattr__(cls, "__signature__", shown)

    def __init__(
        self,
        revenue_floors: "Column | None" = None,
        context_probabilities: "Column | None" = None,
        *,
        arms: Sequence[str] | None = None,
        contexts: Sequence[str] | int | None = None,
        group_floors: Iterable[GroupFloor] = (),
        noise_scale: float | Literal["estimate"] | None = None,
        reward_bounds: tuple[float, float] | None = None,
        mean_bound: float | None = None,
        horizon: int | None = None,
        available: "Table | None" = None,
        estimate_contexts: bool = False,
        replan: str | int = "always",
        when_infeasible: Literal["least_shortfall", "same_share"] = "least_shortfall",
        admit_contexts: int = 0,
        memory: float | Window | None = None,
        exploration_budget: float = NO_BUDGET,
        known_after: int = KNOWN_AFTER,
        guarantee: bool = False,
        seed: int | None = 0,
        epoch: int = 0,
        worker: int = 0,
        **dials: float | str,
    ) -> None:
        configuration = configured(
            type(self),
            noise_scale=noise_scale,
            reward_bounds=reward_bounds,
            mean_bound=mean_bound,
            horizon=horizon,
            estimate_contexts=estimate_contexts,
            replan=replan,
            when_infeasible=when_infeasible,
            admit_contexts=admit_contexts,
            memory=memory,
            exploration_budget=exploration_budget,
            known_after=known_after,
            guarantee=guarantee,
            seed=seed,
            epoch=epoch,
            worker=worker,
            **dials,
        )
        if revenue_floors is None:
            rest = (context_probabilities, arms, contexts, available)
            if any(part is not None for part in rest) or items("group_floors", group_floors, "GroupFloor"):
                raise InvalidInputError("revenue_floors must be given with the rest of a problem, got none.")
            self._unbound = configuration
            return
        configuration = replace(
            configuration,
            estimate_contexts=configuration.estimate_contexts or context_probabilities is None,
            seed=system_seed() if seed is None else configuration.seed,
        )
        told = told_problem(revenue_floors, context_probabilities, arms, contexts, group_floors, available)
        blank = told.blank
        labels = Labels(blank.arms, blank.contexts, told.named_arms, told.named_contexts)
        columns = labels.contexts if told.named_contexts else tuple(range(blank.n_contexts))
        self._lock = threading.RLock()
        self._notices = Notices(plans=self.plans)
        self._told = 0  # decisions that were returned to a caller
        self._state = make_state(
            configuration,
            labels,
            blank.floors,
            stream_of_worker(cast(int, configuration.seed), configuration.worker),
            blank.context_probabilities.copy(),
            availability("available", told.available, blank.mean_rewards.shape, columns),
        )

    @classmethod
    def _at_work(cls, state: State) -> Self:
        policy = object.__new__(cls)
        policy._lock = threading.RLock()
        policy._notices = Notices(plans=cls.plans)
        policy._told = int(state.learner.progress[Progress.DECISIONS])
        policy._state = state
        return policy

    # What it is

    @property
    def configuration(self) -> Configuration:
        """The dials and settings of this policy, without its problem or what it learnt."""
        return self._state.configuration

    def unbound(self) -> Configuration:
        """The dials and settings of this policy, without its problem or what it learnt.

        >>> from arcbandit import BLP
        >>> BLP([0.2, 0.1], [0.5, 0.5], replan=10).unbound()
        BLP(replan=10)
        """
        return self._state.configuration

    def for_instance(self, instance: Instance, **settings: Any) -> "Policy":
        """A new policy with the dials and settings of this one: see `Configuration.for_instance`.

        >>> from arcbandit import BLP, paper_instance
        >>> BLP([0.2, 0.1], [0.5, 0.5]).for_instance(paper_instance("nu"))
        <BLP(): 3 arms x 3 contexts, round 1>
        """
        return self._state.configuration.for_instance(instance, **settings)

    @property
    def label(self) -> str:
        """The name, the dials that are not at their default, and what else makes it play differently."""
        return self._state.configuration.label

    @property
    def dial_values(self) -> Mapping[str, Any]:
        """The dials."""
        return self._state.configuration.dial_values

    @property
    @locked
    def noise_scale(self) -> float:
        """sigma: as it was given, half the range of the reward bounds, or its estimate so far."""
        return float(self._state.learner.settings[0].noise_scale)

    @property
    def reward_bounds(self) -> tuple[float, float] | None:
        """The bounds (low, high) of rewards, if they were given."""
        return self._state.configuration.reward_bounds

    @property
    def mean_bound(self) -> float | None:
        """An upper bound on the mean rewards, if it was given."""
        return self._state.configuration.mean_bound

    @property
    def horizon(self) -> int | None:
        """T, if it was given."""
        return self._state.configuration.horizon

    @property
    def estimate_contexts(self) -> bool:
        """Whether context probabilities are estimated."""
        return self._state.configuration.estimate_contexts

    @property
    def replan(self) -> str | int:
        """When it plans."""
        return self._state.configuration.replan

    @property
    def when_infeasible(self) -> str:
        """What it plans if no plan can meet the floors, even by optimistic bounds."""
        return self._state.configuration.when_infeasible

    @property
    def admit_contexts(self) -> int:
        """How many contexts may come by a name never seen."""
        return self._state.configuration.admit_contexts

    @property
    def memory(self) -> float | Window | None:
        """The half-life of rewards in rounds, or the window in which they count, if they are forgotten."""
        return self._state.configuration.memory

    @property
    def exploration_budget(self) -> float:
        """The share of a context's traffic that pairs not yet known may have together; 1 is no budget."""
        return self._state.configuration.exploration_budget

    @property
    def known_after(self) -> int:
        """The count from which on a pair is known."""
        return self._state.configuration.known_after

    @property
    def guarantee(self) -> bool:
        """Whether its plans are held to a ledger."""
        return self._state.configuration.guarantee

    @property
    def seed(self) -> int:
        """The seed of its random numbers, together with the epoch and the worker."""
        return cast(int, self._state.configuration.seed)

    @property
    def epoch(self) -> int:
        """Which epoch of the seed it plays."""
        return self._state.configuration.epoch

    @property
    def worker(self) -> int:
        """Its number among the processes that share the seed."""
        return self._state.configuration.worker

    @property
    def floors(self) -> Floors:
        """What is guaranteed to each arm and group."""
        return self._state.floors

    @property
    def learner(self) -> Learner:
        """The arrays that its kernels work on: for the simulator, and for authors of rules."""
        return self._state.learner

    @property
    def arms(self) -> tuple[Name, ...]:
        """The arms, retired ones included, in the order of the rows."""
        labels = self._state.labels
        return labels.arms if labels.named_arms else tuple(range(len(labels.arms)))

    @property
    def contexts(self) -> tuple[Name, ...]:
        """The contexts, dropped ones included, in the order of the columns."""
        labels = self._state.labels
        return labels.contexts if labels.named_contexts else tuple(range(len(labels.contexts)))

    @property
    @locked
    def retired_arms(self) -> tuple[Name, ...]:
        """The arms that are retired, which `return_arm` takes back."""
        return tuple(self.arms[row] for row in sorted(self._state.retired))

    @property
    @locked
    def dropped_contexts(self) -> tuple[Name, ...]:
        """The contexts that were dropped, which `add_context` takes back."""
        return tuple(self.contexts[column] for column in sorted(self._state.dropped))

    @property
    @locked
    def round_number(self) -> int:
        """t of the next decision: one more than the number of decisions or of rewards, whichever is larger."""
        return self._state.round_number

    @locked
    def allocation(self) -> NDArray[np.float64]:
        """w: the K x C matrix that the last decision was drawn from; before the first, all arms equally.

        >>> from arcbandit import BLP
        >>> BLP([0.2, 0.1], [0.5, 0.5]).allocation().tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        return self._state.learner.allocation.copy()

    @locked
    def pulls(self) -> NDArray[np.float64]:
        """The number of rewards seen of each pair, K x C; those that a prior stands for are not counted.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5])
        >>> policy.update(0, 1, 0.7)
        >>> policy.pulls().tolist()
        [[0.0, 0.0], [1.0, 0.0]]
        """
        return pulls_of(self._state)

    def status(self, *, tolerance: float = 0.05) -> Status:
        """How it is: every promise with what is expected and earned, and what it knows of contexts and pairs.

        A floor counts as kept if with 95 % confidence the plan in force earns it, but for the part `tolerance`.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"])
        >>> for number in range(2000):
        ...     decision = policy.decide(number % 2)
        ...     policy.update(number % 2, decision.arm, 0.6 if decision.arm == "house" else 0.5)
        >>> status = policy.status()
        >>> status
        <Status: 2 of 2 floors kept, planned, plan of 0 decisions ago, 2,000 decisions, 2,000 rewards>
        >>> status.floors[1].name, status.floors[1].promised, round(status.floors[1].largest, 3)
        ('guest', 0.1, 0.333)
        """
        with self._lock:
            state = at_rest(self._state)
        # Every floor asks for a plan; decisions do not wait for them.
        return status_of(state, non_negative("tolerance", tolerance))

    @locked
    def ledger(self) -> LedgerStatus:
        """How the ledger of a policy with a guarantee stands.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], noise_scale=0.1, guarantee=True)
        >>> for number in range(100):
        ...     decision = policy.decide(number % 2)
        ...     policy.update(number % 2, decision.arm, 0.6 - 0.1 * decision.arm)
        >>> ledger = policy.ledger()
        >>> ledger.rounds_held, ledger.spent < ledger.allowed
        (0, True)
        """
        return ledger_of(self._state.learner, self._state.round_number)

    @locked
    def __repr__(self) -> str:
        state = self._state
        shape = f"{len(state.labels.arms)} arms x {len(state.labels.contexts)} contexts, round {state.round_number}"
        return f"<{type(self).__name__}({shown_dials(state.configuration)}): {shape}>"

    # Deciding and learning

    def decide(self, context: Name) -> Decision:
        """Choose an arm for a context.

        >>> from arcbandit import BLP
        >>> decision = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"]).decide(0)
        >>> decision.arm, decision.probability
        ('guest', 0.5)
        """
        with self._lock:
            decide, _, numbers, columns, _, n_contexts, _, arms, _ = self._state.hot
            if type(context) is int and 0 <= context < n_contexts:
                column = context
            elif type(context) is str and context in columns:
                column = columns[context]
            elif self._state.contexts_vary:
                column = self._column_to_decide_in(context)
                decide, _, numbers, *_ = self._state.hot
            else:
                column = self._state.labels.context(context)
            try:
                arm, probability, t, number, outcome = decide(numbers, column, PACKED_NO_BATCH)
            except BaseException:
                self._take_back_decisions()
                raise
            self._told = number
            if (outcome & FELL_SHORT) != self._notices.short or number >= self._notices.next_look:
                self._notices.notice(self._state, outcome, t, number)
        return decision_of((arms[arm], probability, context, t, number, outcome))

    def decide_many(self, contexts: Iterable[Name]) -> Decisions:
        """Choose an arm for each of many contexts, as consecutive calls of `decide` would.

        All of them are decided or, if a context is bad, none. Other threads can run meanwhile.

        >>> from arcbandit import BLP
        >>> decisions = BLP([0.2, 0.1], [0.5, 0.5]).decide_many([0, 1, 0])
        >>> decisions.arms.tolist(), decisions[2].decision_number
        ([1, 0, 1], 3)
        """
        given = items("contexts", contexts, "contexts")
        columns = self._columns(given)
        if not given:
            empty = make_batch(columns)
            return Decisions(*empty[1:3], given, *empty[3:], 1, self._state.labels)
        with self._lock:
            if self._state.dropped:
                require_at_work(self._state, columns[columns >= 0].tolist())
            columns = self._with_new(given, columns)
            state = self._state
            batch = make_batch(columns)
            try:
                _, _, t, last, outcome = state.kernels.decide(state.numbers, 0, packed(batch))
            except BaseException:
                self._take_back_decisions()
                raise
            self._told = last
            if (outcome & FELL_SHORT) != self._notices.short or last >= self._notices.next_look:
                self._notices.notice(state, outcome, t, last)
        first = last - len(given) + 1
        return Decisions(*batch[1:3], given, *batch[3:], first, state.labels)

    def _become(self, state: State) -> None:
        """Go on in a changed state, of which everything is said again."""
        self._state = state
        self._notices.forget()

    def _take_back_decisions(self) -> None:
        """Undo decisions that never reached the caller because of an interrupt right after the kernel."""
        self._state.learner.progress[Progress.DECISIONS] = self._told

    def update(self, context: Name, arm: Name, reward: float, *, count_context: bool = False) -> None:
        """Learn from a reward: at once, late, or in any order.

        With `count_context` its context is counted as seen, as that of a decision is: for rewards that do not belong
        to a decision of this policy, such as those of a log or of another worker.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], contexts=["tv", "phone"])
        >>> policy.update("tv", policy.decide("tv").arm, 0.7)
        >>> policy.update("phone", 1, 0.4, count_context=True)  # of another worker
        >>> policy.pulls().sum().item(), [context.rounds for context in policy.status().contexts]
        (2.0, [1, 1])
        """
        with self._lock:
            _, learn, numbers, columns, rows, n_contexts, n_arms, _, bounds = self._state.hot
            # The usual types need no further checks.
            if type(context) is int and 0 <= context < n_contexts:
                column = context
            elif type(context) is str and context in columns:
                column = columns[context]
            elif self._state.contexts_vary:
                column = self._column_to_learn_in(context, arm, reward, count_context)
                _, learn, numbers, *_ = self._state.hot
            else:
                column = self._state.labels.context(context)
            if type(arm) is int and 0 <= arm < n_arms:
                row = arm
            elif type(arm) is str and arm in rows:
                row = rows[arm]
            else:
                row = self._state.labels.arm(arm)
            if bounds is None and type(reward) is float and -LARGEST_NUMBER <= reward <= LARGEST_NUMBER:
                value = reward
            else:
                value = self._checked_reward(reward)
            if count_context is False:
                learn(numbers, column, row, value, PACKED_NO_LOG)
                return
        self._take_in(np.array([column]), np.array([row]), np.array([value]), "count_context", count_context)

    def update_many(
        self,
        contexts: Iterable[Name],
        arms: Iterable[Name],
        rewards: Iterable[float],
        *,
        count_contexts: bool = False,
    ) -> None:
        """Learn from many rewards: all of them or, if any is bad, none.

        With `count_contexts` their contexts are counted as seen: see `update`.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], contexts=["tv", "phone"])
        >>> policy.update_many(["tv", "tv", "phone"], [0, 1, 1], [0.7, 0.3, 0.4], count_contexts=True)
        >>> policy.pulls().tolist(), policy.round_number
        ([[1.0, 0.0], [1.0, 1.0]], 4)
        """
        given = items("contexts", contexts, "contexts")
        columns = self._columns(given)
        labels = self._state.labels
        rows = np.array([labels.arm(arm) for arm in items("arms", arms, "arms")], dtype=np.int64)
        values = np.array(
            [self._checked_reward(reward) for reward in items("rewards", rewards, "rewards")], dtype=np.float64
        )
        if not columns.shape == rows.shape == values.shape:
            raise InvalidInputError(
                "contexts, arms and rewards must be equal in number, "
                f"got {columns.size}, {rows.size} and {values.size}."
            )
        truth("count_contexts", count_contexts)
        self._take_in(self._with_new(given, columns), rows, values, "count_contexts", count_contexts)

    @locked
    def update_from_totals(self, counts: "Table", sums: "Table", squares: "Table") -> None:
        """Learn from many rewards by the number, the sum and the sum of squares of those of each pair, K x C each.

        Their contexts are counted as seen. It is as if all had come one by one, up to rounding. A rule that keeps more
        than counts and means, or forgets, depends on the order of rewards and is refused.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], contexts=1)
        >>> policy.update_from_totals([[3], [1]], [[1.5], [0.2]], [[0.8], [0.04]])
        >>> policy.pulls().ravel().tolist(), policy.round_number
        ([3.0, 1.0], 5)
        """
        self._become(totals.with_totals(self._state, counts, sums, squares))

    def _take_in(
        self,
        columns: NDArray[np.int64],
        rows: NDArray[np.int64],
        values: NDArray[np.float64],
        flag: str,
        counted: Any,
    ) -> None:
        if not isinstance(counted, bool):
            raise InvalidInputError(f"{flag} must be True or False, got {counted!r}.")
        with self._lock:
            state = self._state
            if len(values) > 0:
                state.kernels.learn(state.numbers, 0, 0, 0.0, packed(Log(columns, rows, values, counted)))

    def _columns(self, contexts: Sequence[Name]) -> NDArray[np.int64]:
        """The columns of contexts, NEW for those that are to be admitted."""
        column_of = column_finder(self._state)
        return np.array([column_of(context) for context in contexts], dtype=np.int64)

    @locked
    def _with_new(self, contexts: Sequence[Name], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The columns of contexts, after those that are new were admitted."""
        new = np.flatnonzero(columns == NEW).tolist()
        if new:
            self._state = with_admitted(self._state, [contexts[place] for place in new])
            columns[new] = [self._state.labels.context(contexts[place]) for place in new]
        return columns

    def _column_to_decide_in(self, context: Name) -> int:
        """The column of a context that may be of another type, dropped, or new."""
        column = column_finder(self._state)(context)
        if column == NEW:
            column = self._admit(context)
        if self._state.dropped:
            require_at_work(self._state, [column])
        return column

    def _column_to_learn_in(self, context: Name, arm: Name, reward: float, count_context: bool) -> int:
        """Likewise, for a reward that is taken in whole or, if any of it is bad, not at all."""
        column = column_finder(self._state)(context)
        if column == NEW:
            self._state.labels.arm(arm)
            self._checked_reward(reward)
            truth("count_context", count_context)
            column = self._admit(context)
        return column

    def _admit(self, context: Name) -> int:
        self._state = with_admitted(self._state, [context])
        return self._state.labels.context(context)

    def _checked_reward(self, reward: Any) -> float:
        value = amount("reward", reward)
        bounds = self._state.configuration.reward_bounds
        if bounds is not None and not bounds[0] <= value <= bounds[1]:
            raise InvalidInputError(
                f"reward must be within reward_bounds, {bounds[0]:g} to {bounds[1]:g}, got {shown(reward)}."
            )
        return value

    # Changes while running

    @locked
    def add_arm(
        self,
        name: str | None = None,
        floor: float = 0.0,
        *,
        available: "Column | None" = None,
        prior_mean: "float | Column | None" = None,
        prior_pulls: float | None = None,
    ) -> Name:
        """Add an arm, which is explored in each context where it is available (everywhere by default).

        With a prior it is not: it starts as if it had been seen `prior_pulls` times with a mean reward of `prior_mean`,
        one number or one per context. `pulls` counts rewards alone, so not these.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"])
        >>> policy.add_arm("new", floor=0.05)
        'new'
        >>> policy.arms, policy.floors.amounts.tolist()
        (('house', 'guest', 'new'), [0.2, 0.1, 0.05])
        """
        self._become(growth.with_arm(self._state, name, floor, available, prior_mean, prior_pulls))
        return self.arms[-1]

    @locked
    def retire_arm(self, arm: Name) -> None:
        """Stop playing an arm and drop its floor; rewards that still arrive for it are counted.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"])
        >>> policy.retire_arm("guest")
        >>> policy.decide(0).arm, policy.retired_arms
        ('house', ('guest',))
        """
        self._become(growth.without_arm(self._state, arm))

    @locked
    def return_arm(self, arm: Name, floor: float = 0.0, *, available: "Column | None" = None) -> None:
        """Play a retired arm again, with what was learnt of it, in the contexts where it was available before.

        `available` says otherwise. What a rule keeps of an arm besides its rewards, such as a queue, starts from zero.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"])
        >>> policy.retire_arm("guest")
        >>> policy.return_arm("guest", floor=0.05)
        >>> policy.retired_arms, policy.floors.amounts.tolist()
        ((), [0.2, 0.05])
        """
        self._become(changes.with_returned_arm(self._state, arm, floor, available))

    @locked
    def set_available(self, arm: Name | None, context: Name | None, available: bool) -> None:
        """Say whether an arm may be played in a context from now on; None stands for all arms, or all contexts.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"], contexts=["tv", "phone"])
        >>> policy.set_available("guest", "tv", False)
        >>> {policy.decide("tv").arm for _ in range(20)}
        {'house'}
        """
        self._become(changes.with_available(self._state, arm, context, available))

    @locked
    def add_context(self, name: Name | None = None, probability: float | None = None) -> Name:
        """Add a context; the other probabilities are scaled down to make room for its own, or all are estimated.

        With the name, or the index, of a context that was dropped, that one is taken back with what was learnt of it.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], contexts=["tv", "phone"])
        >>> policy.add_context("watch", probability=0.2)
        'watch'
        >>> [round(context.probability, 3) for context in policy.status().contexts]
        [0.4, 0.4, 0.2]
        """
        before = self._state
        self._become(growth.with_context(before, name, probability))
        taken_back = before.dropped - self._state.dropped
        return self.contexts[min(taken_back, default=-1)]

    @locked
    def drop_context(self, context: Name) -> None:
        """Decide no more in a context; rewards that still arrive for it are counted.

        Its probability becomes 0 and goes to the others in proportion, or estimates leave it out. Its column stays.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], contexts=["tv", "phone"])
        >>> policy.drop_context("tv")
        >>> policy.dropped_contexts, [context.probability for context in policy.status().contexts]
        (('tv',), [0.0, 1.0])
        """
        self._become(changes.without_context(self._state, context))

    @locked
    def set_context_probabilities(self, context_probabilities: "Column") -> None:
        """Set the probabilities of all contexts that were not dropped, labelled or in order.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], contexts=["tv", "phone"])
        >>> policy.set_context_probabilities({"phone": 0.75, "tv": 0.25})
        >>> [context.probability for context in policy.status().contexts]
        [0.25, 0.75]
        """
        self._become(changes.with_probabilities(self._state, context_probabilities))

    @locked
    def set_exploration_budget(self, exploration_budget: float, known_after: int | None = None) -> None:
        """Hold pairs that are not yet known to another share of each context, 1 for no budget.

        The count from which on a pair is known stays, unless `known_after` gives another.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5])
        >>> policy.set_exploration_budget(0.1, known_after=50)
        >>> policy.exploration_budget, policy.known_after
        (0.1, 50)
        """
        self._become(changes.with_budget(self._state, exploration_budget, known_after))

    @locked
    def set_floor(self, arm_or_group: Name, floor: float) -> None:
        """Change the floor of an arm or, by its name, of a group.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"])
        >>> policy.set_floor("guest", 0.3)
        >>> policy.floors.amounts.tolist()
        [0.2, 0.3]
        """
        self._become(growth.with_floor(self._state, arm_or_group, floor))

    @locked
    def add_group(self, name: str, arms: Iterable[Name], floor: float) -> None:
        """Guarantee a total revenue per round to a further group of arms.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"])
        >>> policy.add_group("both", ["house", "guest"], 0.4)
        >>> policy.floors.names, policy.floors.amounts.tolist()
        (('house', 'guest', 'both'), [0.2, 0.1, 0.4])
        """
        self._become(changes.with_new_group(self._state, name, arms, floor))

    @locked
    def set_group(self, name: str, *, arms: Iterable[Name] | None = None, floor: float | None = None) -> None:
        """Change the members of a group, its floor, or both.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"])
        >>> policy.add_group("both", ["house", "guest"], 0.4)
        >>> policy.set_group("both", floor=0.5)
        >>> policy.floors.amounts.tolist()
        [0.2, 0.1, 0.5]
        """
        self._become(changes.with_group(self._state, name, arms, floor))

    @locked
    def remove_group(self, name: str) -> None:
        """Drop the floor of a group.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5], arms=["house", "guest"])
        >>> policy.add_group("both", ["house", "guest"], 0.4)
        >>> policy.remove_group("both")
        >>> policy.floors.names
        ('house', 'guest')
        """
        self._become(changes.without_group(self._state, name))

    def merge(self, other: "Policy | Mapping[str, Any]", *, since: "Policy | Mapping[str, Any] | None" = None) -> None:
        """Take in what another policy of the same class, arms and contexts has seen, as if this one had seen it too.

        Counts of rewards, contexts and decisions add up; means are those of all rewards. `since` is a snapshot from
        which both went on: what it holds is in both, and is counted once. `other` may be a snapshot, too. Floors,
        availability and settings stay those of this policy. Rules that keep more than counts and means, such as
        queues, are refused.

        >>> from arcbandit import BLP, restore
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5])
        >>> start = policy.snapshot()
        >>> other = restore(start, worker=1)
        >>> policy.update(0, 1, 0.7)
        >>> other.update(0, 1, 0.5)
        >>> policy.merge(other, since=start)
        >>> policy.pulls().tolist()
        [[0.0, 0.0], [2.0, 0.0]]
        """
        merging.refuse_memory(type(self))
        theirs = self._to_merge("other", other)
        common = None if since is None else self._to_merge("since", since)
        with self._lock:
            self._state = merging.merged(self._state, theirs, common)
            self._told = int(self._state.learner.progress[Progress.DECISIONS])

    def _to_merge(self, field: str, given: Any) -> State:
        """The state of another policy or of a snapshot; read before this policy is locked, so that two may merge."""
        kind = type(self)
        if given is self:
            raise InvalidInputError(f"{field} must be another policy, got the policy itself.")
        if isinstance(given, Policy):
            if type(given) is not kind:
                raise InvalidInputError(f"{field} must be of class {kind.__name__}, got {type(given).__name__}.")
            given = given.snapshot()
        if not isinstance(given, Mapping):
            raise InvalidInputError(f"{field} must be a policy or a snapshot of one, got {shown(given)}.")
        return restored_state(kind, given, None)

    # Snapshots

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Everything that determines future decisions, as plain data for JSON; `restore` is the inverse.

        >>> import json
        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5])
        >>> twin = BLP.restore(json.loads(json.dumps(policy.snapshot())))
        >>> twin.decide(0) == policy.decide(0)
        True
        """
        return snapshot.snapshot_of(self._state)

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], *, worker: int | None = None) -> Self:
        """The policy of a snapshot, which decides as the original would have.

        With a different `worker` number, it knows the same but draws its own random numbers.

        >>> from arcbandit import BLP
        >>> policy = BLP([0.2, 0.1], [0.5, 0.5])
        >>> BLP.restore(policy.snapshot(), worker=2).worker
        2
        """
        return cls._at_work(restored_state(cls, snapshot, None if worker is None else whole("worker", worker, 0)))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle and copy the snapshot, as a lock can be neither pickled nor copied."""
        return type(self).restore, (self.snapshot(),)


restored_state = snapshot.restored_state  # inside the class, `snapshot` is a method
