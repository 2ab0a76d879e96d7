"""The shell of every policy: it owns the memory, checks what comes in, and raises; the rule itself is a kernel."""

import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.floors import Floors, without_zeros
from arcbandit.inputs.arrays import availability, flags, real_array
from arcbandit.inputs.frames import (
    ARMS,
    CONTEXTS,
    agreed_names,
    by_arm,
    by_arm_and_context,
    by_context,
    in_order,
)
from arcbandit.inputs.values import (
    amount,
    checked_name,
    index_of,
    instance_of,
    is_whole,
    items,
    non_negative,
    positive,
    real,
    shown,
    truth,
    whole,
)
from arcbandit.instance import GroupFloor, Instance
from arcbandit.kernels.confidence import PULLS, make_statistics
from arcbandit.kernels.program import BOUNDS_OF, ROW_SCALE, SCALES_AGE, Workspace, make_workspace
from arcbandit.policies.checks import Dial, bounds_of_rewards, even_probabilities
from arcbandit.policies.snapshot_checks import check_snapshot, of_latest_version
from arcbandit.policies.state import (
    ALL_PLAYED,
    DIALS,
    ESTIMATE_CONTEXTS,
    HORIZON,
    MEAN_BOUND,
    N_SETTINGS,
    NOISE_SCALE,
    REWARD_HIGH,
    REWARD_LOW,
    WEIGHTS,
    KnownProblem,
    Rule,
    make_memory,
)
from arcbandit.policies.streams import stream_of_successor, stream_of_worker, system_seed

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column, Table

SNAPSHOT_FORMAT = "arcbandit-policy"
SNAPSHOT_VERSION = 2

Name = str | int
Method = TypeVar("Method", bound=Callable[..., Any])


def locked(method: Method) -> Method:
    """Let no other thread into the policy while the method runs."""

    @functools.wraps(method)
    def guarded(self: "Policy", *arguments: Any, **settings: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **settings)

    return cast(Method, guarded)


class Decision(NamedTuple):
    """An arm to play and the probability with which it was drawn, to be logged with it."""

    arm: Name  # a name if the arms have names, else an index
    probability: float
    context: Name
    round_number: int  # t of the confidence bounds, which late, batched or logged rewards move on as well
    decision_number: int  # from 1; the random numbers of the decision are those of this number


class Policy:
    """Decides which arm to play in a context, and learns from rewards, whenever they come.

    With `revenue_floors` it is ready to decide. Without, it is a configuration: its dials, which `for_instance`, the
    simulator or an experiment bring to a problem.

    Arms and contexts go by name if `arms` or `contexts` name them, and by index from 0 always. Floors, probabilities
    and `available` may have labels, which give names and are aligned as for `Instance`. `context_probabilities` None
    means that they are estimated along the way; then `contexts` says which there are (names, or how many).
    `replan` says when a rule that plans works out a new allocation: "always", before each decision, as the paper's
    guarantees ask; "doubling", at rounds 1, 2, 4, 8 ...; or a number n, every n rounds. In between the last one stays,
    planned with bounds of then: the paper proves nothing about regret or violation of these two.
    `noise_scale` is sigma; rewards within `reward_bounds` (low, high) have sigma = (high - low) / 2.

    The random numbers of a decision depend on `seed`, `worker`, `epoch` and how many decisions were made before, and on
    nothing else: policies that agree in all of these draw the same numbers. Give every process that decides with the
    same seed a `worker` number of its own. With `seed` None a policy takes one from the system when it gets its
    problem.

    Threads may share a policy: every method waits until it has the policy to itself. A pickled or copied policy goes on
    as the original would.
    """

    name: ClassVar[str]
    rule: ClassVar[Rule]
    dials: ClassVar[tuple[Dial, ...]] = ()
    preset: ClassVar[tuple[float, ...]] = ()  # dials that the class itself sets
    needs_horizon: ClassVar[bool] = False
    needs_mean_bound: ClassVar[bool] = False
    supports_group_floors: ClassVar[bool] = True

    def __init__(
        self,
        revenue_floors: "Column | None" = None,
        context_probabilities: "Column | None" = None,
        *,
        arms: Sequence[str] | None = None,
        contexts: Sequence[str] | int | None = None,
        group_floors: Iterable[GroupFloor] = (),
        noise_scale: float | None = None,
        reward_bounds: tuple[float, float] | None = None,
        mean_bound: float | None = None,
        horizon: int | None = None,
        available: "Table | None" = None,
        estimate_contexts: bool = False,
        replan: str | int = "always",
        seed: int | None = 0,
        epoch: int = 0,
        worker: int = 0,
        **dials: float | str,
    ) -> None:
        self._check_rule()
        self._lock = threading.RLock()
        self.dial_values: dict[str, Any] = self._check_dials(dials)
        self.noise_scale = None if noise_scale is None else positive("noise_scale", noise_scale)
        self.reward_bounds = bounds_of_rewards(reward_bounds)
        self.mean_bound = None if mean_bound is None else positive("mean_bound", mean_bound)
        self.horizon = None if horizon is None else whole("horizon", horizon, 1)
        self.seed = None if seed is None else whole("seed", seed, 0)
        self.epoch = whole("epoch", epoch, 0)
        self.worker = whole("worker", worker, 0)
        self.estimate_contexts = truth("estimate_contexts", estimate_contexts)
        self.replan = self._check_replan(replan)
        self._bound = revenue_floors is not None
        if revenue_floors is None:
            if any(part is not None for part in (context_probabilities, arms, contexts, available)) or items(
                "group_floors", group_floors, "GroupFloor"
            ):
                raise InvalidInputError("revenue_floors must be given along with the rest of a problem, got none.")
            return
        if context_probabilities is None:
            self.estimate_contexts = True
            context_probabilities, contexts = even_probabilities(contexts)
        counted = whole("contexts", contexts, 1) if is_whole(contexts) else None
        floors = by_arm("revenue_floors", revenue_floors)
        probabilities = by_context("context_probabilities", context_probabilities)
        mask = by_arm_and_context("available", available, flags=True)
        arm_names = agreed_names(ARMS, arms, floors, mask)
        context_names = agreed_names(CONTEXTS, contexts if counted is None else None, probabilities, mask)
        amounts = real_array("revenue_floors", in_order(floors, arms=arm_names), 1)
        shares = real_array("context_probabilities", in_order(probabilities, contexts=context_names), 1)
        for field, part in (("revenue_floors", amounts), ("context_probabilities", shares)):
            if len(part) == 0:
                raise InvalidInputError(f"{field} must hold at least one number, got none.")
        # A blank instance checks names, floors, probabilities and groups as for any instance.
        blank = Instance(
            np.zeros((len(amounts), len(shares))),
            amounts,
            shares,
            arms=None if arm_names is None else arm_names.names,
            contexts=None if context_names is None else context_names.names,
            group_floors=group_floors,
        )
        if counted not in (None, blank.n_contexts):
            raise InvalidInputError(
                f"contexts must be as many as context_probabilities, {blank.n_contexts}, got {counted}."
            )
        self._start(
            blank,
            named_arms=arm_names is not None,
            named_contexts=context_names is not None,
            available=in_order(mask, arms=arm_names, contexts=context_names),
        )

    @classmethod
    def _check_rule(cls) -> None:
        if not hasattr(cls, "rule") or not hasattr(cls, "name"):
            raise InvalidInputError(f"{cls.__name__} itself has no rule to decide by; take a policy such as BLP.")

    @classmethod
    def _check_replan(cls, replan: Any) -> str | int:
        if isinstance(replan, str) and replan in ("always", "doubling"):
            chosen: str | int = replan
        elif is_whole(replan):
            chosen = whole("replan", replan, 1)
        else:
            raise InvalidInputError(f"replan must be 'always', 'doubling' or a number of rounds, got {shown(replan)}.")
        if chosen != "always" and cls.rule > Rule.THOMPSON_LP:
            raise InvalidInputError(f"replan must be 'always' for {cls.__name__}, which does not plan, got {replan!r}.")
        return chosen

    @classmethod
    def _check_dials(cls, given: Mapping[str, Any]) -> dict[str, float | str]:
        known = {dial.name: dial for dial in cls.dials}
        for name in given:
            if name not in known:
                has = f"its dials are {', '.join(known)}" if known else "it has no dials"
                raise InvalidInputError(f"{cls.__name__} has no dial {name!r}: {has}.")
        return {name: dial.plain(given.get(name, dial.default)) for name, dial in known.items()}

    def for_instance(
        self,
        instance: Instance,
        *,
        horizon: int | None = None,
        available: "Table | None" = None,
        seed: int | None = None,
        epoch: int | None = None,
        worker: int | None = None,
    ) -> Self:
        """A policy with these dials, ready for the arms, contexts and floors of an instance.

        Of the instance it is told what the setting tells a learner: not the means, but for methods that scale rewards
        an upper bound on them. `seed`, `epoch` and `worker` None are those of this policy.
        """
        instance_of("instance", instance, Instance, ", such as paper_instance('nu')")
        mean_bound = self.mean_bound
        if mean_bound is None and self.reward_bounds is None and self.needs_mean_bound:
            largest = float(instance.mean_rewards.max())
            mean_bound = largest if largest > 0.0 else None
        return type(self)(
            instance.revenue_floors,
            None if self.estimate_contexts else instance.context_probabilities,
            arms=instance.arms,
            contexts=instance.contexts,
            group_floors=instance.group_floors,
            noise_scale=instance.noise_scale if self.noise_scale is None else self.noise_scale,
            reward_bounds=self.reward_bounds,
            mean_bound=mean_bound,
            horizon=self.horizon if horizon is None else horizon,
            available=available,
            replan=self.replan,
            seed=self.seed if seed is None else seed,
            epoch=self.epoch if epoch is None else epoch,
            worker=self.worker if worker is None else worker,
            **self.dial_values,
        )

    def unbound(self) -> Self:
        """The dials and settings of this policy without its problem and what it learnt."""
        return type(self)(**self._configuration())

    def _configuration(self) -> dict[str, Any]:
        return {
            "noise_scale": self.noise_scale,
            "reward_bounds": self.reward_bounds,
            "mean_bound": self.mean_bound,
            "horizon": self.horizon,
            "estimate_contexts": self.estimate_contexts,
            "replan": self.replan,
            "seed": self.seed,
            "epoch": self.epoch,
            "worker": self.worker,
            **self.dial_values,
        }

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A lock cannot be pickled or copied: what is, is the configuration or the snapshot."""
        if self._bound:
            return type(self).restore, (self.snapshot(),)
        return _configured, (type(self), self._configuration())

    @property
    def label(self) -> str:
        """The name, the dials that are not at their default, and p=? where contexts are estimated."""
        changed = [
            f"{dial.name}={self.dial_values[dial.name]:{'' if dial.choices else 'g'}}"
            for dial in self.dials
            if self.dial_values[dial.name] != dial.default
        ]
        if self.estimate_contexts:
            changed.append("p=?")
        return f"{self.name}({', '.join(changed)})" if changed else self.name

    def _start(self, blank: Instance, *, named_arms: bool, named_contexts: bool, available: Any) -> None:
        """Own memory for a problem of this shape, nothing seen yet."""
        if self.seed is None:
            self.seed = system_seed()
        self._stream = stream_of_worker(self.seed, self.worker)
        if blank.group_floors and not self.supports_group_floors:
            raise InvalidInputError(f"{type(self).__name__} does not keep group floors; give none.")
        n_arms, n_contexts = blank.mean_rewards.shape
        self._named_arms = named_arms
        self._named_contexts = named_contexts
        self._arm_names = list(blank.arms)
        self._context_names = list(blank.contexts)
        self._groups = list(blank.group_floors)
        self._retired: set[int] = set()
        self._arm_floors = blank.revenue_floors.tolist()
        self._decisions = 0
        self._rewards = 0
        self._next_plan = 1
        self._problem = self._make_problem(
            blank.context_probabilities.copy(),
            availability("available", available, (n_arms, n_contexts), self.contexts),
        )
        self._statistics = make_statistics(n_arms, n_contexts)
        self._allocation = np.ascontiguousarray(self._problem.available / self._problem.available.sum(axis=0))
        self._memory = make_memory(n_arms, n_contexts, n_arms + len(self._groups))
        self._make_room()

    def _make_problem(self, probabilities: NDArray[np.float64], available: NDArray[np.bool_]) -> KnownProblem:
        rows = Floors.of(self._arm_names, self._arm_floors, self._groups).coupling_rows()
        return KnownProblem(
            context_probabilities=probabilities,
            floors=rows.floors,
            arm_rows=rows.arm_rows,
            available=available,
            settings=self._make_settings(),
        )

    def _make_settings(self) -> NDArray[np.float64]:
        settings = np.full(N_SETTINGS, np.nan)
        if self.reward_bounds is not None:
            settings[REWARD_LOW], settings[REWARD_HIGH] = self.reward_bounds
        if self.noise_scale is not None:
            settings[NOISE_SCALE] = self.noise_scale
        elif self.reward_bounds is not None:
            settings[NOISE_SCALE] = (self.reward_bounds[1] - self.reward_bounds[0]) / 2
        else:
            settings[NOISE_SCALE] = 1.0
        bound = self.reward_bounds[1] if self.mean_bound is None and self.reward_bounds else self.mean_bound
        if self.needs_mean_bound:
            if bound is None or not bound > 0:
                raise InvalidInputError(
                    f"{type(self).__name__} scales rewards to [0, 1]: mean_bound, or the upper one of reward_bounds, "
                    f"must be positive, got {bound}."
                )
            settings[MEAN_BOUND] = bound
        settings[ESTIMATE_CONTEXTS] = float(self.estimate_contexts)
        if self.needs_horizon and self.horizon is None:
            raise InvalidInputError(f"{type(self).__name__} needs horizon, the number of rounds to come; got none.")
        settings[HORIZON] = np.nan if self.horizon is None else self.horizon
        values = [*self.preset, *(dial.number(self.dial_values[dial.name]) for dial in self.dials)]
        settings[DIALS : DIALS + len(values)] = values
        return settings

    def _make_room(self) -> None:
        # The switch imports the file of every rule, and every rule's file imports this one.
        self._switch: Any = import_module("arcbandit.policies.switch")
        self._rule_number = int(self.rule)
        n_arms, n_contexts = self._allocation.shape
        self._workspace: Workspace = make_workspace(
            n_arms, n_contexts, self._problem.floors.shape[0], self._problem.arm_rows.shape[1]
        )
        self._arm_index = {name: index for index, name in enumerate(self._arm_names)}
        self._context_index = {name: index for index, name in enumerate(self._context_names)}

    # Deciding and learning

    @property
    @locked
    def round_number(self) -> int:
        """t of the next decision: one more than the decisions made, or than the rewards seen if these are more."""
        return max(self._decisions, self._rewards) + 1

    def decide(self, context: Name) -> Decision:
        """Choose an arm for a context."""
        self._check_bound()
        column = self._context(context)
        with self._lock:
            t = max(self._decisions, self._rewards) + 1
            number = self._decisions + 1
            allocation = self._allocation
            if t < self._next_plan and self._memory.scalars[ALL_PLAYED] != 0.0:
                self._statistics.context_counts[column] += 1.0
            else:
                self._switch.allocate(
                    self._rule_number,
                    self._problem,
                    self._statistics,
                    t,
                    number,
                    column,
                    self._stream,
                    self.epoch,
                    self._memory,
                    self._workspace,
                    allocation,
                )
                if self.replan != "always":
                    self._next_plan = 2 * t if self.replan == "doubling" else t + int(self.replan)
            arm = self._switch.draw_arm(allocation, column, self._stream, self.epoch, number)
            self._decisions = number
            probability = float(allocation[arm, column])
            name = self._arm_names[arm] if self._named_arms else arm
        return Decision(name, probability, context, t, number)

    def update(self, context: Name, arm: Name, reward: float, *, count_context: bool = False) -> None:
        """Take in a reward: at once, late, or in any order.

        With `count_context` its context is counted as seen, as that of a decision is: for rewards that answer no
        decision of this policy, such as those of a log or of another worker.
        """
        self._check_bound()
        # Arms and contexts are never removed, so that an index stays right until the lock is held.
        column = self._context(context)
        row = self._arm(arm)
        value = self._check_reward(reward)
        if count_context is not False:
            self._take_in(np.array([column]), np.array([row]), np.array([value]), "count_context", count_context)
            return
        with self._lock:
            try:
                self._switch.learn(
                    self._rule_number,
                    self._problem,
                    self._statistics,
                    max(self._decisions, self._rewards + 1),
                    column,
                    row,
                    value,
                    self._memory,
                    self._allocation,
                )
                self._rewards += 1
            except BaseException:
                self._count_rewards()
                raise

    def update_many(
        self,
        contexts: Iterable[Name],
        arms: Iterable[Name],
        rewards: Iterable[float],
        *,
        count_contexts: bool = False,
    ) -> None:
        """Take in many rewards, all or, if any is bad, none.

        With `count_contexts` their contexts are counted as seen: see `update`.
        """
        self._check_bound()
        columns = np.array(
            [self._context(context) for context in items("contexts", contexts, "contexts")], dtype=np.int64
        )
        rows = np.array([self._arm(arm) for arm in items("arms", arms, "arms")], dtype=np.int64)
        values = np.array(
            [self._check_reward(reward) for reward in items("rewards", rewards, "rewards")], dtype=np.float64
        )
        if not columns.shape == rows.shape == values.shape:
            raise InvalidInputError(
                f"contexts, arms and rewards must be equally many, got {columns.size}, {rows.size} and {values.size}."
            )
        self._take_in(columns, rows, values, "count_contexts", count_contexts)

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
            try:
                if counted and self.estimate_contexts:
                    # Weights may move far at once: the next plan measures its scales before it goes on from the last.
                    self._workspace.counts[SCALES_AGE] = -1
                self._switch.learn_many(
                    self._rule_number,
                    self._problem,
                    self._statistics,
                    self._decisions,
                    self._rewards,
                    columns,
                    rows,
                    values,
                    counted,
                    self._memory,
                    self._allocation,
                )
                self._rewards += len(values)
            except BaseException:
                self._count_rewards()
                raise

    def _count_rewards(self) -> None:
        """Let the number of rewards be that of the pulls again.

        An interrupt during a kernel is raised right after it, when its rewards are taken in and not yet counted.
        """
        self._rewards = int(self._statistics.by_pair[PULLS].sum())

    @locked
    def allocation(self) -> NDArray[np.float64]:
        """w: the K x C matrix that the last decision was drawn from; before the first, each arm alike."""
        self._check_bound()
        return self._allocation.copy()

    @locked
    def pulls(self) -> NDArray[np.float64]:
        """n: how many rewards of each pair were taken in, K x C."""
        self._check_bound()
        return np.array(self._statistics.by_pair[PULLS])

    # Changes while running

    @property
    @locked
    def arms(self) -> tuple[Name, ...]:
        """The arms, retired ones included, in the order of the rows."""
        self._check_bound()
        return tuple(self._arm_names) if self._named_arms else tuple(range(len(self._arm_names)))

    @property
    @locked
    def contexts(self) -> tuple[Name, ...]:
        """The contexts, in the order of the columns."""
        self._check_bound()
        return tuple(self._context_names) if self._named_contexts else tuple(range(len(self._context_names)))

    @locked
    def add_arm(self, name: str | None = None, floor: float = 0.0, *, available: "Column | None" = None) -> Name:
        """Add an arm, which is explored in each context where it is available (everywhere by default)."""
        self._check_bound()
        owed = non_negative("floor", floor)
        label = self._new_name("arm", name, self._arm_names, self._named_arms)
        n_contexts = len(self._context_names)
        row = np.ones(n_contexts, dtype=np.bool_)
        if available is not None:
            mask = by_context("available", available, flags=True)
            names = agreed_names(CONTEXTS, [str(context) for context in self.contexts])
            row = flags("available", in_order(mask, contexts=names), (n_contexts,))
        grown = self._draft()
        grown._arm_names = [*self._arm_names, label]
        grown._arm_floors = [*self._arm_floors, owed]
        grown._regrow(self._problem.context_probabilities, np.vstack([self._problem.available, row]))
        self._become(grown)
        return label if self._named_arms else len(self._arm_names) - 1

    @locked
    def retire_arm(self, arm: Name) -> None:
        """Play an arm no more and drop its floor; rewards that are still to come for it are taken in."""
        self._check_bound()
        row = self._arm(arm)
        available = self._problem.available.copy()
        available[row] = False
        empty = np.flatnonzero(~available.any(axis=0))
        if empty.size:
            raise InvalidInputError(
                f"arm {arm!r} must not be retired: context {self.contexts[empty[0]]!r} would have no arm left."
            )
        grown = self._draft()
        grown._retired = self._retired | {row}
        grown._arm_floors = [*self._arm_floors[:row], 0.0, *self._arm_floors[row + 1 :]]
        grown._regrow(self._problem.context_probabilities, available)
        grown._memory.by_arm[:, row] = 0.0  # a queue of what is owed to the arm would go on counting
        self._become(grown)

    @locked
    def add_context(self, name: str | None = None, probability: float | None = None) -> Name:
        """Add a context; its probability is taken from the others in proportion, or estimated if those are."""
        self._check_bound()
        n_contexts = len(self._context_names)
        if self.estimate_contexts:
            if probability is not None:
                raise InvalidInputError("probability must be left out where probabilities are estimated.")
            probability = 1.0 / (n_contexts + 1)
        elif probability is None:
            raise InvalidInputError("probability of the new context must be given where probabilities are known.")
        share = real("probability", probability)
        if not 0.0 <= share < 1.0:
            raise InvalidInputError(f"probability must be from 0 to below 1, got {shown(probability)}.")
        label = self._new_name("context", name, self._context_names, self._named_contexts)
        column = np.ones((len(self._arm_names), 1), dtype=np.bool_)
        column[sorted(self._retired)] = False
        probabilities = np.append(self._problem.context_probabilities * (1.0 - share), share)
        grown = self._draft()
        grown._context_names = [*self._context_names, label]
        grown._regrow(probabilities, np.hstack([self._problem.available, column]))
        self._become(grown)
        return label if self._named_contexts else n_contexts

    @locked
    def set_floor(self, arm_or_group: Name, floor: float) -> None:
        """Change the floor of an arm or, by its name, of a group."""
        self._check_bound()
        owed = non_negative("floor", floor)
        for place, group in enumerate(self._groups):
            if isinstance(arm_or_group, str) and group.name == arm_or_group:
                self._groups[place] = GroupFloor(group.name, group.arms, owed)
                self._set_row(len(self._arm_names) + place, owed)
                return
        row = self._arm(arm_or_group)
        if row in self._retired:
            raise InvalidInputError(f"arm {arm_or_group!r} is retired and can have no floor.")
        self._arm_floors[row] = owed
        self._set_row(row, owed)

    def _set_row(self, row: int, floor: float) -> None:
        self._problem.floors[row] = without_zeros([floor])[0]
        # The kept basis may not do for a floor that comes or goes, nor the scale of its row.
        self._workspace.counts[BOUNDS_OF] = 0
        self._workspace.counts[SCALES_AGE] = -1
        self._next_plan = 1

    def _draft(self) -> Self:
        """This policy under another address, for a change of shape that `_become` makes all at once or not at all."""
        draft = object.__new__(type(self))
        draft.__dict__.update(self.__dict__)
        return draft

    def _become(self, draft: Self) -> None:
        # One call of compiled code, which no interrupt parts: kernels trust that all arrays have one shape.
        self.__dict__.update(draft.__dict__)

    def _regrow(self, probabilities: NDArray[np.float64], available: NDArray[np.bool_]) -> None:
        """Move what was learnt into memory of a new shape; plans start cold once."""
        old_statistics, old_memory, old_allocation = self._statistics, self._memory, self._allocation
        n_arms, n_contexts = available.shape
        was_arms, was_contexts = old_allocation.shape
        self._problem = self._make_problem(np.ascontiguousarray(probabilities), np.ascontiguousarray(available))
        self._statistics = make_statistics(n_arms, n_contexts)
        self._statistics.by_pair[:, :was_arms, :was_contexts] = old_statistics.by_pair
        self._statistics.context_counts[:was_contexts] = old_statistics.context_counts
        self._memory = make_memory(n_arms, n_contexts, self._problem.floors.shape[0])
        self._memory.matrices[:, :was_arms, :was_contexts] = old_memory.matrices
        self._next_plan = 1
        self._memory.by_arm[:, :was_arms] = old_memory.by_arm[:, :was_arms]
        self._memory.by_arm[:, -1] = old_memory.by_arm[:, -1]
        shares = np.zeros((n_arms, n_contexts))
        shares[:was_arms, :was_contexts] = old_allocation
        shares *= available
        totals = shares.sum(axis=0)
        even = available / available.sum(axis=0)
        self._allocation = np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), even)
        self._make_room()

    # Snapshots

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Everything that decides what comes next, as plain data for JSON; `restore` is its inverse."""
        self._check_bound()
        weights = self._memory.matrices[WEIGHTS]
        return {
            "format": SNAPSHOT_FORMAT,
            "version": SNAPSHOT_VERSION,
            "policy": self.name,
            "dials": dict(self.dial_values),
            "arms": list(self._arm_names) if self._named_arms else None,
            "contexts": list(self._context_names) if self._named_contexts else None,
            "revenue_floors": list(self._arm_floors),
            "group_floors": [
                {"name": group.name, "arms": list(group.arms), "floor": group.floor} for group in self._groups
            ],
            "context_probabilities": self._problem.context_probabilities.tolist(),
            "estimate_contexts": self.estimate_contexts,
            "noise_scale": self.noise_scale,
            "reward_bounds": None if self.reward_bounds is None else list(self.reward_bounds),
            "mean_bound": self.mean_bound,
            "horizon": self.horizon,
            "available": self._problem.available.tolist(),
            "retired": sorted(self._retired),
            "seed": self.seed,
            "epoch": self.epoch,
            "worker": self.worker,
            "stream": self._stream,
            "replan": self.replan,
            "next_plan": self._next_plan,
            "all_played": bool(self._memory.scalars[ALL_PLAYED]),
            "decisions": self._decisions,
            "rewards": self._rewards,
            "allocation": self._allocation.tolist(),
            "statistics": {
                "by_pair": self._statistics.by_pair.tolist(),
                "context_counts": self._statistics.context_counts.tolist(),
            },
            "memory": {
                "key": self._memory.key.tolist(),
                "slot_arm": self._memory.slot_arm.tolist(),
                "slot_context": self._memory.slot_context.tolist(),
                "weights": (weights if self.rule == Rule.OPTIMISTIC3 else np.zeros_like(weights)).tolist(),
                "by_arm": self._memory.by_arm.tolist(),
            },
            # They decide pivots, so a twin that measured its own would come to plans of its own.
            "scales": {
                "by_row": self._workspace.by_row[ROW_SCALE].tolist(),
                "age": int(self._workspace.counts[SCALES_AGE]),
            },
        }

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any], *, worker: int | None = None) -> Self:
        """The policy of a snapshot, which decides as the one it was taken from would have.

        With another `worker` number than it had, it knows the same but draws random numbers of its own.
        """
        cls._check_rule()
        successor = None if worker is None else whole("worker", worker, 0)
        snapshot = of_latest_version(snapshot)
        check_snapshot(snapshot, cls, SNAPSHOT_FORMAT, SNAPSHOT_VERSION)
        policy = cls._restore(snapshot)
        if successor is not None and successor != policy.worker:
            policy.worker = successor
            policy._stream = stream_of_successor(policy._stream, policy.worker, policy._decisions, policy._rewards)
        return policy

    @classmethod
    def _restore(cls, snapshot: Mapping[str, Any]) -> Self:
        bounds = snapshot["reward_bounds"]
        policy = cls(
            snapshot["revenue_floors"],
            snapshot["context_probabilities"],
            arms=snapshot["arms"],
            contexts=snapshot["contexts"],
            group_floors=[
                GroupFloor(group["name"], tuple(group["arms"]), group["floor"]) for group in snapshot["group_floors"]
            ],
            noise_scale=snapshot["noise_scale"],
            reward_bounds=None if bounds is None else (bounds[0], bounds[1]),
            mean_bound=snapshot["mean_bound"],
            horizon=snapshot["horizon"],
            available=snapshot["available"],
            estimate_contexts=snapshot["estimate_contexts"],
            replan=snapshot["replan"],
            seed=whole("seed", snapshot["seed"], 0),
            epoch=snapshot["epoch"],
            worker=snapshot["worker"],
            **snapshot["dials"],
        )
        policy._stream = whole("stream", snapshot["stream"], 0)
        policy._retired = set(snapshot["retired"])
        policy._next_plan = snapshot["next_plan"]
        policy._memory.scalars[ALL_PLAYED] = float(snapshot["all_played"])
        policy._decisions = snapshot["decisions"]
        policy._rewards = snapshot["rewards"]
        statistics, memory = snapshot["statistics"], snapshot["memory"]
        policy._statistics.by_pair[:] = statistics["by_pair"]
        policy._statistics.context_counts[:] = statistics["context_counts"]
        policy._allocation[:] = snapshot["allocation"]
        policy._memory.key[:] = memory["key"]
        policy._memory.slot_arm[:] = memory["slot_arm"]
        policy._memory.slot_context[:] = memory["slot_context"]
        policy._memory.matrices[WEIGHTS] = memory["weights"]
        policy._memory.by_arm[:] = memory["by_arm"]
        policy._workspace.by_row[ROW_SCALE] = snapshot["scales"]["by_row"]
        policy._workspace.counts[SCALES_AGE] = snapshot["scales"]["age"]
        return policy

    # Checks

    def _check_bound(self) -> None:
        if not self._bound:
            raise InvalidInputError(
                f"This {type(self).__name__} has no problem yet: give revenue_floors, or call for_instance."
            )

    def _context(self, context: Name) -> int:
        return index_of("context", context, self._context_index, named=self._named_contexts)

    def _arm(self, arm: Name) -> int:
        return index_of("arm", arm, self._arm_index, named=self._named_arms)

    def _check_reward(self, reward: Any) -> float:
        value = amount("reward", reward)
        if self.reward_bounds is not None and not self.reward_bounds[0] <= value <= self.reward_bounds[1]:
            low, high = self.reward_bounds
            raise InvalidInputError(f"reward must be within reward_bounds, {low:g} to {high:g}, got {shown(reward)}.")
        return value

    def _new_name(self, kind: str, name: str | None, known: list[str], named: bool) -> str:
        if not named and name is not None:
            raise InvalidInputError(f"{kind} name must be left out where {kind}s go by index, got {shown(name)}.")
        label = checked_name(f"{kind} name", name) if named else str(len(known) + 1)
        # A floor goes by the name of its arm or of its group.
        taken = [*known, *(group.name for group in self._groups)] if kind == "arm" else known
        if label in taken:
            raise InvalidInputError(f"{kind} name must be new, but {label!r} is taken.")
        return label

    @locked
    def __repr__(self) -> str:
        dials = ", ".join(f"{name}={value!r}" for name, value in self.dial_values.items())
        if not self._bound:
            return f"{type(self).__name__}({dials})"
        shape = f"{len(self._arm_names)} arms x {len(self._context_names)} contexts, round {self.round_number}"
        return f"<{type(self).__name__}({dials}): {shape}>"


def _configured(kind: type[Policy], configuration: dict[str, Any]) -> Policy:
    """A policy without a problem, for those who load a pickled one."""
    return kind(**configuration)
