"""A planner for many problems of one shape: it owns its memory, and costs little to call."""

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.floors import Floors, GroupFloor, named_groups
from arcbandit.inputs.arrays import Axis, availability, check_amounts, real_array, vector
from arcbandit.inputs.frames import ARMS, CONTEXTS, agreed_names, by_arm, by_arm_and_context, by_context, in_order
from arcbandit.inputs.values import LARGEST_NUMBER, choice, instance_of, truth
from arcbandit.instance import Instance
from arcbandit.kernels.planning import NOT_SOUND
from arcbandit.kernels.program import PlanStatus
from arcbandit.planning.memory import NOBODY, Memory, Shape, planning_kernel
from arcbandit.planning.quick_plan import QuickPlan, Terms, prove
from arcbandit.planning.solve import WHERE_INFEASIBLE, OnInfeasible

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Column, Labelled, Names, Table

Floats = NDArray[np.float64]

FLOAT = np.dtype(np.float64)
OPTIMAL, INFEASIBLE = PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE
ARRAY = np.ndarray


class Planner:
    """Plans LP(mu_obj, mu_cons) again and again for problems that share their shape, floors and available pairs.

    It allocates its memory once, and a call with contiguous arrays of floats costs little more than the simplex method
    itself. Floors, group floors, `available` and labels are as for `solve_lp`; `arms` and `contexts` give names. Each
    plan starts from nothing, so that it depends on the arguments alone: allocation and prices are those of `solve_lp`
    to the last bit. With `warm`, each plan starts from the basis of the last one, which is faster if problems change
    little: it is optimal as well, but if several plans are, which one is found depends on what was planned before.

    A planner may be shared by threads, which then wait for each other. A copy of it, or one that was pickled, is made
    of the same arguments and remembers no plan.

    >>> planner = Planner([0, 0.25], [0.5, 0.5])
    >>> planner.plan([[4, 2], [1, 1]]).value
    2.75
    >>> planner.plan([[4, 2], [1, 1]], revenue_floors=[0, 0.5]).certified().floor_prices.tolist()
    [0.0, 1.0]
    """

    def __init__(
        self,
        revenue_floors: "Column",
        context_probabilities: "Column",
        *,
        group_floors: Iterable[GroupFloor] = (),
        available: "Table | None" = None,
        arms: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        on_infeasible: OnInfeasible = "raise",
        warm: bool = False,
    ) -> None:
        choice("on_infeasible", on_infeasible, WHERE_INFEASIBLE)
        self._cold = not truth("warm", warm)
        by_floor = by_arm("revenue_floors", revenue_floors)
        by_probability = by_context("context_probabilities", context_probabilities)
        mask = by_arm_and_context("available", available, flags=True)
        self._arms = agreed_names(ARMS, arms, by_floor, mask)
        self._contexts = agreed_names(CONTEXTS, contexts, by_probability, mask)
        amounts = _first_vector(by_floor, ARMS, self._arms, signed=True)
        probabilities = _first_vector(by_probability, CONTEXTS, self._contexts, signed=False)
        self._shape = len(amounts), len(probabilities)
        names = tuple(map(str, range(len(amounts)))) if self._arms is None else self._arms.names
        groups = named_groups(group_floors, names, arms_have_names=self._arms is not None)
        opened = availability(
            "available",
            in_order(mask, arms=self._arms, contexts=self._contexts),
            self._shape,
            range(self._shape[1]) if self._contexts is None else self._contexts.names,
        )
        self._terms = Terms(Floors.of(names, amounts, groups), probabilities, opened, str(on_infeasible))
        self._prepare()

    @classmethod
    def of(
        cls,
        instance: Instance,
        *,
        available: "Table | None" = None,
        on_infeasible: OnInfeasible = "raise",
        warm: bool = False,
    ) -> Self:
        """Make a planner with the names, floors and context probabilities of an instance.

        >>> from arcbandit import paper_instance
        >>> nu = paper_instance("nu")
        >>> Planner.of(nu, warm=True).plan(nu.mean_rewards).value
        5.25
        """
        instance_of("instance", instance, Instance, ", such as paper_instance('nu')")
        return cls(
            instance.revenue_floors,
            instance.context_probabilities,
            group_floors=instance.floors.groups,
            available=available,
            arms=instance.arms,
            contexts=instance.contexts,
            on_infeasible=on_infeasible,
            warm=warm,
        )

    # Memory holds addresses, and a lock cannot be stored.
    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._ARGUMENTS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._prepare()

    def __repr__(self) -> str:
        n_arms, n_contexts = self._shape
        return (
            f"<Planner: {n_arms} x {n_contexts}, {len(self._terms.floors)} floors, {'cold' if self._cold else 'warm'}>"
        )

    # What a planner is made of, once it is checked.
    _ARGUMENTS = ("_arms", "_cold", "_contexts", "_shape", "_terms")

    def _prepare(self) -> None:
        """Make the memory to plan in."""
        rows = self._terms.floors.coupling_rows()
        memory = Memory(Shape(*self._shape, len(rows.floors), rows.arm_rows.shape[1]))
        program = memory.places.program
        memory.array(program.available)[...] = self._terms.available
        memory.array(program.arm_rows)[...] = rows.arm_rows
        self._objective, self._revenue = memory.array(program.objective), memory.array(program.revenue)
        self._weights = memory.array(program.weights)
        self._amounts = memory.array(memory.places.amounts)
        self._prices = memory.array(memory.places.prices)
        self._allocation = memory.allocation
        self._least_shortfall = self._terms.on_infeasible == "least_shortfall"
        self._usual = True  # whether the floors and probabilities in the memory are those of the planner
        self._write_usual()
        self._alike, self._apart = memory.task("root", "revenue"), memory.task("root")
        self._memory = memory
        self._kernel = planning_kernel()
        self._lock = threading.Lock()

    def plan(
        self,
        mean_rewards: "Table",
        constraint_means: "Table | None" = None,
        *,
        revenue_floors: "Column | None" = None,
        context_probabilities: "Column | None" = None,
        copy: bool = True,
    ) -> QuickPlan:
        """Plan LP(mu_obj, mu_cons) for mean rewards per play, shape (K, C), and others for the constraints if given.

        `revenue_floors`, shape (K,), and `context_probabilities`, shape (C,), hold for this call alone. Without `copy`
        the arrays of the result are the planner's own, which the next plan overwrites, and no proof is available.
        Floors that cannot be met together raise InfeasibleError, which is proven, unless the planner was made to
        return the plan of least shortfall or of the same share (which is sought from nothing, and proven at once);
        PlanningError if nothing could be found or proven.

        >>> planner = Planner([0, 0.25], [0.5, 0.5])
        >>> planner.plan([[4, 2], [1, 1]], revenue_floors=[0, 0.5]).value
        2.5
        >>> planner.plan([[4, 2], [1, 1]]).value
        2.75
        """
        shape = self._shape
        with self._lock:
            if not (
                type(mean_rewards) is ARRAY
                and mean_rewards.dtype is FLOAT
                and mean_rewards.shape == shape
                and (constraint_means is None or _is_plain(constraint_means, shape))
                and (revenue_floors is None or _is_plain(revenue_floors, shape[:1]))
                and (context_probabilities is None or _is_plain(context_probabilities, shape[1:]))
            ):
                mean_rewards, constraint_means, revenue_floors, context_probabilities = self._plain(
                    mean_rewards, constraint_means, revenue_floors, context_probabilities
                )
            self._objective[...] = mean_rewards
            task = self._alike
            if constraint_means is not None:
                self._revenue[...] = constraint_means
                task = self._apart
            usual = revenue_floors is None and context_probabilities is None
            if not usual or not self._usual:
                self._usual = False  # until all is written: an interrupt may come in between
                self._write_usual()
                if revenue_floors is not None:
                    self._amounts[: shape[0]] = revenue_floors
                if context_probabilities is not None:
                    self._weights[...] = context_probabilities
                self._usual = usual
            status, only_just, value = self._kernel(task, self._cold, LARGEST_NUMBER, self._least_shortfall, NOBODY)
            if status == 0 and not only_just:
                found = OPTIMAL
            elif status == 1 and self._least_shortfall:
                found = INFEASIBLE
            else:
                return self._plan_with_care(status, apart=constraint_means is not None)
            if copy is not True and not truth("copy", copy):
                return QuickPlan(found, self._allocation, value, self._prices, None)
            return QuickPlan(
                found,
                self._allocation.copy(),
                value,
                self._prices.copy(),
                (
                    self._terms,
                    self._objective.copy(),
                    None if constraint_means is None else self._revenue.copy(),
                    None if usual else self._amounts.copy(),
                    None if usual else self._weights.copy(),
                ),
            )

    def _write_usual(self) -> None:
        """Put the planner's own floors and probabilities into the memory."""
        self._amounts[...] = self._terms.floors.amounts
        self._weights[...] = self._terms.probabilities

    def _plan_with_care(self, status: int, *, apart: bool) -> QuickPlan:
        """The answer where the word of the simplex method will not do: a plan that is proven, or an error."""
        given = (
            self._objective.copy(),
            self._revenue.copy() if apart else None,
            self._amounts.copy(),
            self._weights.copy(),
        )
        if status == NOT_SOUND:
            self._refuse(*given)
        found = prove(self._terms, *given, on_infeasible=self._terms.on_infeasible)
        prices = found.floors.prices.copy()
        return QuickPlan(found.status, found.allocation, found.value, prices, (self._terms, *given), found.floor_share)

    def _refuse(self, objective: Floats, revenue: Floats | None, amounts: Floats, weights: Floats) -> None:
        """Say which number is the one that cannot be planned with."""
        of_arm = () if self._arms is None else (Axis("arm", self._arms.names),)
        of_context = () if self._contexts is None else (Axis("context", self._contexts.names),)
        of_pair = (*of_arm, *of_context) if of_arm and of_context else ()
        matrices = {"mean_rewards": objective} | ({} if revenue is None else {"constraint_means": revenue})
        for field, means in matrices.items():
            check_amounts(field, means, *of_pair)
        check_amounts("revenue_floors", amounts[: self._shape[0]], *of_arm)
        check_amounts("context_probabilities", weights, *of_context, signed=False)
        for field, means in matrices.items():
            check_amounts(f"context_probabilities * {field}", weights * means, *of_pair)

    def _plain(self, mean_rewards: Any, constraint_means: Any, revenue_floors: Any, context_probabilities: Any) -> Any:
        """The arguments of `plan` as arrays of the right shape, in the planner's order; numbers are not checked yet."""
        rewards = by_arm_and_context("mean_rewards", mean_rewards)
        constraints = by_arm_and_context("constraint_means", constraint_means)
        floors = by_arm("revenue_floors", revenue_floors)
        probabilities = by_context("context_probabilities", context_probabilities)
        arms = self._arms or agreed_names(ARMS, None, rewards, constraints, floors)
        contexts = self._contexts or agreed_names(CONTEXTS, None, rewards, constraints, probabilities)
        n_arms, n_contexts = self._shape
        return (
            _shaped(rewards, self._shape, arms=arms, contexts=contexts),
            None if constraint_means is None else _shaped(constraints, self._shape, arms=arms, contexts=contexts),
            None if revenue_floors is None else _shaped(floors, (n_arms,), arms=arms),
            None if context_probabilities is None else _shaped(probabilities, (n_contexts,), contexts=contexts),
        )


def _is_plain(given: Any, shape: tuple[int, ...]) -> bool:
    return type(given) is ARRAY and given.dtype is FLOAT and given.shape == shape


def _shaped(given: "Labelled", shape: tuple[int, ...], **names: "Names | None") -> Floats:
    array = real_array(given.field, in_order(given, **names), len(shape))
    if array.shape != shape:
        raise InvalidInputError(f"{given.field} must have shape {shape}, as the planner has, got {array.shape}.")
    return array


def _first_vector(given: "Labelled", axis: str, names: "Names | None", *, signed: bool) -> Floats:
    """The floors or the probabilities, whose number is that of the arms or contexts."""
    kind = axis.removesuffix("s")
    array = real_array(given.field, in_order(given, **{axis: names}), 1)
    if array.size == 0:
        raise InvalidInputError(f"{given.field} must have at least one {kind}, got none.")
    if names is None:
        return vector(given.field, array, len(array), "", signed=signed)
    count = len(names.names)
    said = f"{names.source} names {count} {axis}"
    return vector(given.field, array, count, said, Axis(kind, names.names), signed=signed)
