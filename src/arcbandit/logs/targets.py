"""The plan that is to be evaluated: which share of each context every arm gets."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.arrays import PROBABILITY_SUM_TOLERANCE, SCALED_SUM_TOLERANCE, matrix
from arcbandit.inputs.frames import by_arm_and_context
from arcbandit.inputs.values import listed, shown
from arcbandit.planning import Plan
from arcbandit.policies.base import Policy

Floats = NDArray[np.float64]

UNIFORM = "uniform"
IDLE = 1e-9  # what a solver leaves of a share that is zero; it must not count as a pair that the log lacks


class Shares(NamedTuple):
    """Shares by arm and context, with their names."""

    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    shares: Floats


class Target(NamedTuple):
    """A stationary plan for the contexts of a log."""

    name: str
    arms: tuple[str, ...]  # those of the log, then those that only the plan has
    shares: Floats  # by arm and context of the log; each column sums to 1


def target_of(plan: Any, arms: tuple[str, ...], contexts: tuple[str, ...]) -> Target:
    """The plan for a log with these arms and contexts.

    It may be "uniform", a `Plan`, a policy at work (the plan that it follows now), or shares by arm and context: a
    frame with labels, or an array in the order of the log.
    """
    if isinstance(plan, str):
        if plan != UNIFORM:
            raise InvalidInputError(f"plan must be {UNIFORM!r}, a Plan, a policy or shares, got {shown(plan)}.")
        return Target(UNIFORM, arms, np.full((len(arms), len(contexts)), 1.0 / len(arms)))
    name = "plan"
    if isinstance(plan, Policy):
        name, shares, rows, columns = f"{plan.label}, frozen", frozen(plan), _texts(plan.arms), _texts(plan.contexts)
    elif isinstance(plan, Shares):
        rows, columns, shares = plan
    elif isinstance(plan, Plan):
        shares, rows, columns = plan.allocation, plan.floors.arms, plan.contexts
    else:
        labelled = by_arm_and_context("plan", plan)
        shares = labelled.values
        rows, columns = labelled.labels["arms"] or (), labelled.labels["contexts"] or ()
    checked = _checked(shares)
    return _aligned(name, checked, rows or arms, columns or contexts, arms, contexts)


def frozen(policy: Policy) -> Floats:
    """The plan that a policy would follow in its next decision, if it learnt nothing more."""
    copy = type(policy).restore(policy.snapshot())
    at_work = next(name for name in copy.contexts if name not in copy.dropped_contexts)
    copy.decide(at_work)
    return copy.allocation()


def _texts(names: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in names)


def _checked(shares: Any) -> Floats:
    array = matrix("plan", shares)
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise InvalidInputError("plan must hold shares of at least 0.")
    totals = array.sum(axis=0)
    worst = int(np.abs(totals - 1.0).argmax())
    if abs(totals[worst] - 1.0) > SCALED_SUM_TOLERANCE + PROBABILITY_SUM_TOLERANCE:
        raise InvalidInputError(f"plan must share out each context: its column {worst} sums to {totals[worst]:.6g}.")
    kept = np.where(array > IDLE, array, 0.0)
    scaled: Floats = kept / kept.sum(axis=0)
    return scaled


def _aligned(
    name: str,
    shares: Floats,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    arms: tuple[str, ...],
    contexts: tuple[str, ...],
) -> Target:
    if shares.shape != (len(rows), len(columns)):
        raise InvalidInputError(
            f"plan must have a row for each of {len(rows)} arms and a column for each of {len(columns)} contexts, "
            f"got the shape {shares.shape}."
        )
    missing = [context for context in contexts if context not in columns]
    if missing:
        raise InvalidInputError(
            f"plan must have every context of the log, but lacks {listed(missing)}: it has {listed(columns)}."
        )
    every = (*arms, *(row for row in rows if row not in arms))
    aligned = np.zeros((len(every), len(contexts)))
    place = {arm: at for at, arm in enumerate(every)}
    at = {column: number for number, column in enumerate(columns)}
    aligned[[place[row] for row in rows]] = shares[:, [at[context] for context in contexts]]
    return Target(name, every, aligned)
