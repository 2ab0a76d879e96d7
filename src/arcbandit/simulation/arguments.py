"""The arguments of `simulate`, read and checked."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.arrays import availability
from arcbandit.inputs.frames import ARMS, CONTEXTS, agreed_names, by_arm_and_context, in_order
from arcbandit.inputs.values import is_count, is_real, items, shown, whole
from arcbandit.instance import Instance
from arcbandit.policies.configuration import ESTIMATE, Configuration
from arcbandit.policies.forgetting import Window
from arcbandit.simulation.delays import Delay
from arcbandit.simulation.drift import tells
from arcbandit.simulation.plain import PlainPolicy

DEFAULT_CHECKPOINTS = 300


def read_checkpoints(chosen: int | Iterable[int] | None, horizon: int) -> NDArray[np.int64]:
    """The rounds at which sums are recorded: as given, or spaced evenly on a log scale; the last round always."""
    if chosen is None or is_count(chosen):
        count = DEFAULT_CHECKPOINTS if chosen is None else whole("checkpoints", chosen, 1)
        spaced = np.rint(np.geomspace(1, horizon, min(count, horizon))).astype(np.int64)
        return np.unique(np.append(spaced, horizon))
    given = items("checkpoints", chosen, "rounds, or how many")
    if not all(is_count(value) for value in given):
        raise InvalidInputError(f"checkpoints must be whole numbers, got {shown(given)}.")
    if not given or min(given) < 1 or max(given) > horizon:
        raise InvalidInputError(f"checkpoints must be rounds from 1 to the horizon {horizon}, got {shown(given)}.")
    return np.unique(np.array([*given, horizon], dtype=np.int64))


def read_mask(available: Any, instance: Instance) -> NDArray[np.bool_] | None:
    """Which pairs may be played, in the order of the instance; None if all."""
    if available is None:
        return None
    labelled = by_arm_and_context("available", available, flags=True)
    arms, contexts = agreed_names(ARMS, instance.arms), agreed_names(CONTEXTS, instance.contexts)
    plain = in_order(labelled, arms=arms, contexts=contexts)
    return availability("available", plain, instance.mean_rewards.shape, instance.contexts)


def read_gap(suboptimality_gap: Any) -> float:
    """rho*, infinite if no other candidate is feasible; NaN if it is not known."""
    if suboptimality_gap is None:
        return np.nan
    if not is_real(suboptimality_gap) or not suboptimality_gap >= 0:
        raise InvalidInputError(f"suboptimality_gap must be a number of at least 0, got {shown(suboptimality_gap)}.")
    try:
        return float(suboptimality_gap)
    except OverflowError:
        return np.inf


def check_changes(
    on_device: bool,
    gap: float,
    delay: Delay | None,
    worlds: Sequence[Instance],
    policies: Mapping[str, Configuration | PlainPolicy],
) -> None:
    """Refuse late rewards, drift and a cadence where they cannot be played, or where nothing was proven about them."""
    audited = not math.isnan(gap)
    for parameter, given in (("delay", delay is not None), ("drift", len(worlds) > 1)):
        if given and on_device:
            raise InvalidInputError(f"{parameter} must be None on device 'cuda'; play with device 'cpu'.")
        if given and audited:
            raise InvalidInputError(
                f"suboptimality_gap must be None with {parameter}: the paper's statements are made without."
            )
    told = any(any(tells(last, new)) for last, new in itertools.pairwise(worlds))
    for label, chosen in policies.items():
        if isinstance(chosen, Configuration) and chosen.kind.knows_optimum and len(worlds) > 1:
            raise InvalidInputError(f"drift must be None for {label!r}, which is told the best plan of one world.")
        if not isinstance(chosen, Configuration):
            if told:
                raise InvalidInputError(
                    "drift must change means alone for plain objects, which cannot be told of other floors or "
                    f"probabilities, but {label!r} is one."
                )
        elif on_device and isinstance(chosen.memory, Window):
            raise InvalidInputError(
                "memory must not be a Window on device 'cuda', where threads have no room for one, but that of "
                f"{label!r} is; play with device 'cpu'."
            )
        elif on_device and chosen.noise_scale == ESTIMATE:
            raise InvalidInputError(
                "noise_scale must be a number on device 'cuda', where threads share their settings, but that of "
                f"{label!r} is to be estimated; play with device 'cpu'."
            )
        elif chosen.guarantee and len(worlds) > 1:
            raise InvalidInputError(
                f"guarantee must be False with drift, in which nothing is proven, but {label!r} has one."
            )
        elif audited and chosen.guarantee:
            raise InvalidInputError(
                "suboptimality_gap must be None with guarantee=True: the paper's statements are made of rules that are "
                f"not held, but {label!r} is."
            )
        elif audited and (chosen.replan != "always" or chosen.memory is not None or chosen.has_budget):
            raise InvalidInputError(
                "suboptimality_gap must be None unless every round plans with all rewards and explores freely, as the "
                f"paper's statements require, but replan of {label!r} is {chosen.replan!r}, its memory {chosen.memory} "
                f"and its exploration_budget {chosen.exploration_budget:g}."
            )
