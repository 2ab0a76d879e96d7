"""Simulations: policies on an instance, epoch by epoch, on as many workers as there are."""

import itertools
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, overload

import joblib
import numba
import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.arrays import availability
from arcbandit.inputs.frames import ARMS, CONTEXTS, agreed_names, by_arm_and_context, in_order
from arcbandit.inputs.values import (
    LONGEST_HORIZON,
    caller,
    checked_name,
    choice,
    instance_of,
    is_real,
    is_whole,
    items,
    shown,
    whole,
)
from arcbandit.instance import Instance
from arcbandit.kernels.program import PlanStatus
from arcbandit.planning import Plan, solve_lp
from arcbandit.policies.base import Policy
from arcbandit.simulation.device import (
    DeviceFolder,
    check_state,
    device_name,
    play_on_device,
    state_fits,
    to_host,
    use_cuda,
)
from arcbandit.simulation.fold import EpochFolder, FoldedEpochs
from arcbandit.simulation.loop import N_KINDS, N_TOTALS, World, make_meters, play_rounds
from arcbandit.simulation.playable import playable
from arcbandit.simulation.rewards import ObservedRewards, RewardSource
from arcbandit.simulation.summary import Summary
from arcbandit.simulation.trace import Trace
from arcbandit.version import __version__

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Table

Floats = NDArray[np.float64]

DEFAULT_CHECKPOINTS = 300
# Pairs times rounds between two looks at the clock and the keyboard: about a tenth of a second.
WORK_BETWEEN_LOOKS = 2_000_000
KEPT = ("epochs", "summary")
MOST_EPOCHS = 2**32 - 1  # the counter of the random numbers, and those of the bins, have 32 bits for them

Progress = Callable[[int], None]  # called with the number of rounds played since the last call


class Task(NamedTuple):
    """One epoch of one policy."""

    instance: Instance
    label: str
    policy: Policy  # unbound
    rewards: "str | ObservedRewards"
    available: NDArray[np.bool_] | None
    optimum: Plan
    suboptimality_gap: float
    horizon: int
    seed: int
    epoch: int
    checkpoints: NDArray[np.int64]
    window: int


class Options(TypedDict, total=False):
    """What `simulate` takes besides, the same whatever it returns."""

    jobs: int | None
    checkpoints: "int | Iterable[int] | None"
    rewards: "str | ObservedRewards"
    window: int | None
    available: "Table | None"
    suboptimality_gap: float | None
    progress: Progress | None


Policies = Sequence[str | Policy] | Mapping[str, str | Policy]


@overload
def simulate(
    instance: Instance,
    policies: Policies,
    horizon: int,
    epochs: int = ...,
    seed: int = ...,
    *,
    device: Literal["cpu"] = ...,
    keep: None = ...,
    **options: Unpack[Options],
) -> Trace: ...
@overload
def simulate(
    instance: Instance,
    policies: Policies,
    horizon: int,
    epochs: int = ...,
    seed: int = ...,
    *,
    device: str = ...,
    keep: Literal["epochs"],
    **options: Unpack[Options],
) -> Trace: ...
@overload
def simulate(
    instance: Instance,
    policies: Policies,
    horizon: int,
    epochs: int = ...,
    seed: int = ...,
    *,
    device: str = ...,
    keep: Literal["summary"],
    **options: Unpack[Options],
) -> Summary: ...
@overload
def simulate(
    instance: Instance,
    policies: Policies,
    horizon: int,
    epochs: int = ...,
    seed: int = ...,
    *,
    device: str = ...,
    keep: str | None = ...,
    **options: Unpack[Options],
) -> Trace | Summary: ...
def simulate(
    instance: Instance,
    policies: Policies,
    horizon: int,
    epochs: int = 5,
    seed: int = 0,
    *,
    jobs: int | None = None,
    checkpoints: "int | Iterable[int] | None" = None,
    rewards: "str | ObservedRewards" = "gaussian",
    window: int | None = None,
    available: "Table | None" = None,
    suboptimality_gap: float | None = None,
    progress: Progress | None = None,
    device: str = "cpu",
    keep: str | None = None,
) -> Trace | Summary:
    """Run each policy for `epochs` independent epochs of `horizon` rounds and record every metric.

    Policies come by name or as configured objects; a mapping gives them labels of its own. An object is played by its
    class's compiled rule and from nothing: one that has learnt, that was made for another problem, or that has methods
    of its own is refused. In an epoch all policies meet the same contexts and the same noise, by `seed`; a seed, epoch
    or worker of their own is left aside. `jobs` workers share the epochs: threads, or whatever backend
    joblib.parallel_config sets; the result does not depend on it. `checkpoints` is how many, or which rounds. `window`
    is the length of the sliding windows over which each floor's worst shortfall is reported. With `suboptimality_gap`
    (rho*) the run counts where the paper's statements hold. With `device` "cuda" a GPU plays, one epoch a thread, by
    the same kernels; "auto" takes one where it is there. `keep` says what is left: "epochs" gives a Trace with every
    epoch, "summary" a Summary with means, variances and quantiles over them, whose size does not grow with `epochs`.
    None is "epochs" on the CPU and "summary" on a GPU.

    >>> from arcbandit import paper_instance
    >>> trace = simulate(paper_instance("nu"), ["olp", "oplp"], horizon=1000, epochs=2)
    >>> trace.regret["olp"].shape == (2, len(trace.rounds))
    True
    """
    instance_of("instance", instance, Instance, ", such as paper_instance('nu')")
    horizon = whole("horizon", horizon, 1, LONGEST_HORIZON)
    epochs = whole("epochs", epochs, 1)
    if epochs > MOST_EPOCHS:
        raise InvalidInputError(f"epochs must be at most {MOST_EPOCHS}, as random numbers would repeat, got {epochs}.")
    seed = whole("seed", seed, 0)
    length = 0 if window is None else whole("window", window, 1)
    if length > horizon:
        raise InvalidInputError(f"window must not be longer than the horizon {horizon}, got {length}.")
    if jobs is not None and (not is_whole(jobs) or jobs == 0):
        raise InvalidInputError(f"jobs must be a whole number other than 0, or None for all cores, got {shown(jobs)}.")
    choice("keep", keep, (*KEPT, None))
    if progress is not None:
        caller("progress", progress)
    gap = _gap(suboptimality_gap)
    on_device = use_cuda(device)
    kept = keep or ("summary" if on_device else "epochs")
    mask = _mask(available, instance)
    labelled = _labelled(policies, instance, mask)
    source = RewardSource(rewards, instance)
    places = _checkpoints(checkpoints, horizon)
    optimum = _optimum(instance, mask)
    tasks = {
        label: Task(
            instance,
            label,
            policy,
            rewards,
            mask,
            optimum,
            gap,
            horizon,
            seed,
            0,
            places,
            length,
        )
        for label, policy in labelled.items()
    }
    # Checked before any work is done: a policy that does not fit the instance says so at once.
    for task in tasks.values():
        bound = bind(task)
        if on_device:
            check_state(bound, length)
    settings = {
        "instance": instance.to_dict(),
        "optimal_value": optimum.value,
        "feasible": optimum.status == PlanStatus.OPTIMAL,
        "horizon": horizon,
        "epochs": epochs,
        "seed": seed,
        "rewards": source.name,
        "window": length or None,
        "device": device_name() if on_device else "cpu",
        "keep": kept,
        "versions": versions_in_use(),
    }
    floors = instance.floors.names
    played = _on_device(tasks, epochs, progress) if on_device else _on_cpu(tasks, epochs, jobs, progress)
    if kept == "epochs":
        records, floor_records = _kept(played, tuple(labelled), (epochs, N_TOTALS, len(places)), len(floors))
        return Trace(places, tuple(labelled), floors, records, floor_records, settings)
    folder = DeviceFolder if on_device else EpochFolder
    return Summary(places, tuple(labelled), floors, _folded(played, folder, len(places), len(floors)), settings)


def fits_device(instance: Instance, policies: Policies, horizon: int) -> bool:
    """Whether a GPU, which must be there, can play every one of the policies on the instance."""
    labelled = _labelled(policies, instance, None)
    return all(state_fits(policy.for_instance(instance, horizon=horizon), 0) for policy in labelled.values())


def run_task(task: Task, progress: Progress | None = None) -> tuple[Floats, Floats]:
    """Play one epoch; return its sums (N_TOTALS, P) and floors' sums (4, P, M) at the checkpoints."""
    bound = bind(task)
    world = make_world(task)
    n_rows = bound._problem.floors.shape[0]
    meters = make_meters(n_rows, task.window)
    record = np.zeros((N_TOTALS, len(task.checkpoints)))
    floor_record = np.zeros((N_KINDS, len(task.checkpoints), n_rows))
    stretch = max(1, WORK_BETWEEN_LOOKS // task.instance.n_pairs)
    for first in range(1, task.horizon + 1, stretch):
        last = min(first + stretch - 1, task.horizon)
        play_rounds(
            int(bound.rule),
            world,
            bound._problem,
            bound._statistics,
            bound._memory,
            bound._workspace,
            bound._allocation,
            meters,
            task.seed,
            task.epoch,
            first,
            last,
            task.checkpoints,
            record,
            floor_record,
        )
        if progress is not None:
            progress(last - first + 1)
    return record, floor_record


def bind(task: Task) -> Policy:
    """The policy of a task, nothing seen yet."""
    return task.policy.for_instance(
        task.instance, horizon=task.horizon, available=task.available, seed=task.seed, epoch=task.epoch, worker=0
    )


def make_world(task: Task) -> World:
    """What the policy of a task is not told."""
    source = RewardSource(task.rewards, task.instance)
    optimum = task.optimum
    # A floor of zero is no constraint of any rule, even where it holds with equality.
    slack_floors = ~optimum.floors.active | (optimum.floors.amounts == 0.0)
    return World(
        mean_rewards=task.instance.mean_rewards.copy(),
        revenues=task.instance.mean_rewards * task.instance.context_probabilities,
        probabilities=task.instance.context_probabilities.copy(),
        optimal_value=optimum.value,
        used_pairs=np.ascontiguousarray(~optimum.idle_pairs),
        slack_floors=slack_floors,
        optimal_columns=int((~optimum.idle_pairs).sum() + slack_floors.sum()),
        model=int(source.model),
        noise_scale=task.instance.noise_scale,
        samples=source.samples,
        sample_start=source.sample_start,
        suboptimality_gap=float(task.suboptimality_gap),
    )


Played = Iterator[tuple[str, Any, Any]]  # a policy's label, records and floors' records of some of its epochs


def _on_cpu(tasks: dict[str, Task], epochs: int, jobs: int | None, progress: Progress | None) -> Played:
    all_tasks = [task._replace(epoch=epoch) for task in tasks.values() for epoch in range(epochs)]
    for task, (record, floor_record) in zip(all_tasks, _run_all(all_tasks, jobs, progress), strict=True):
        yield task.label, record[np.newaxis], floor_record[np.newaxis]


def _kept(
    played: Played, labels: Sequence[str], shape: tuple[int, int, int], n_floors: int
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The records, of this shape, and floors' records of every epoch, by policy."""
    # Made before the first round is played, so that too little memory says so then and not after the last.
    epochs, _, n_checkpoints = shape
    records = {label: np.empty(shape) for label in labels}
    floor_records = {label: np.empty((epochs, N_KINDS, n_checkpoints, n_floors)) for label in labels}
    filled = dict.fromkeys(labels, 0)
    for label, some, some_floors in played:
        place = slice(filled[label], filled[label] + some.shape[0])
        records[label][place] = to_host(some)
        floor_records[label][place] = to_host(some_floors)
        filled[label] = place.stop
    return records, floor_records


def _folded(
    played: Played, folder: "type[EpochFolder] | type[DeviceFolder]", n_checkpoints: int, n_floors: int
) -> dict[str, FoldedEpochs]:
    """What the epochs come to, policy by policy, so that there is room for the bins of one only."""
    folded = {}
    taker: EpochFolder | DeviceFolder | None = folder(n_checkpoints, n_floors)  # before the first round, as in `_kept`
    for label, parts in itertools.groupby(played, key=lambda part: part[0]):
        taker = taker or folder(n_checkpoints, n_floors)
        for _, records, floor_records in parts:
            taker.take_in(records, floor_records)
        folded[label] = taker.finish()
        taker = None
    return folded


def _run_all(tasks: list[Task], jobs: int | None, progress: Progress | None) -> Iterator[tuple[Floats, Floats]]:
    if jobs == 1:
        for task in tasks:
            yield run_task(task, progress)
        return
    # One round compiles everything; workers that compiled at the same time would only wait for each other.
    run_task(tasks[0]._replace(horizon=1, checkpoints=np.ones(1, dtype=np.int64)))
    parallel = joblib.Parallel(
        n_jobs=-1 if jobs is None else min(int(jobs), len(tasks)), prefer="threads", return_as="generator"
    )
    for task, result in zip(tasks, parallel(joblib.delayed(run_task)(task) for task in tasks), strict=True):
        if progress is not None:
            progress(task.horizon)
        yield result


def _on_device(tasks: dict[str, Task], epochs: int, progress: Progress | None) -> Played:
    for label, task in tasks.items():
        chunks = play_on_device(bind(task), make_world(task), task.horizon, epochs, task.checkpoints, task.window)
        for records, floor_records in chunks:
            if progress is not None:
                progress(records.shape[0] * task.horizon)
            yield label, records, floor_records


def _optimum(instance: Instance, available: NDArray[np.bool_] | None) -> Plan:
    index = {name: place for place, name in enumerate(instance.arms)}
    groups = [
        type(group)(group.name, tuple(index[str(arm)] for arm in group.arms), group.floor)
        for group in instance.group_floors
    ]
    return solve_lp(
        instance.mean_rewards,
        instance.mean_rewards,
        instance.revenue_floors,
        instance.context_probabilities,
        group_floors=groups,
        available=available,
        on_infeasible="least_shortfall",
    )


def _labelled(policies: Policies, instance: Instance, available: NDArray[np.bool_] | None) -> dict[str, Policy]:
    if isinstance(policies, (str, Policy)):
        policies = [policies]
    labelled: dict[str, Policy] = {}
    pairs: list[tuple[str | None, Any]]
    if isinstance(policies, Mapping):
        pairs = [(checked_name("label in policies", label), chosen) for label, chosen in policies.items()]
    else:
        pairs = [(None, chosen) for chosen in items("policies", policies, "names or policies")]
    for label, chosen in pairs:
        configured = playable(chosen, instance, available)
        if configured.replan != "always":
            raise InvalidInputError(
                f"policies must plan in every round of a simulation, but replan is {configured.replan!r}."
            )
        name = configured.label if label is None else label
        if not isinstance(name, str):
            raise InvalidInputError(f"policies must have words for labels, got {name!r}.")
        if name in labelled:
            raise InvalidInputError(f"policies must have labels of their own, but two are {name!r}; give a mapping.")
        labelled[name] = configured
    if not labelled:
        raise InvalidInputError("policies must hold at least one policy, got none.")
    return labelled


def _checkpoints(chosen: "int | Iterable[int] | None", horizon: int) -> NDArray[np.int64]:
    if chosen is None or is_whole(chosen):
        count = DEFAULT_CHECKPOINTS if chosen is None else whole("checkpoints", chosen, 1)
        spaced = np.rint(np.geomspace(1, horizon, min(count, horizon))).astype(np.int64)
        return np.unique(np.append(spaced, horizon))
    given = items("checkpoints", chosen, "rounds, or how many")
    if not all(is_whole(value) for value in given):
        raise InvalidInputError(f"checkpoints must be whole numbers, got {shown(given)}.")
    if not given or min(given) < 1 or max(given) > horizon:
        raise InvalidInputError(f"checkpoints must be rounds from 1 to the horizon {horizon}, got {shown(given)}.")
    return np.unique(np.array([*given, horizon], dtype=np.int64))


def _mask(available: Any, instance: Instance) -> NDArray[np.bool_] | None:
    """Which pairs may be played, in the order of the instance; None if all."""
    if available is None:
        return None
    labelled = by_arm_and_context("available", available, flags=True)
    arms, contexts = agreed_names(ARMS, instance.arms), agreed_names(CONTEXTS, instance.contexts)
    plain = in_order(labelled, arms=arms, contexts=contexts)
    return availability("available", plain, instance.mean_rewards.shape, instance.contexts)


def _gap(suboptimality_gap: Any) -> float:
    """rho*, infinite where no other candidate is feasible; NaN if it is not known."""
    if suboptimality_gap is None:
        return np.nan
    if not is_real(suboptimality_gap) or not suboptimality_gap >= 0:
        raise InvalidInputError(f"suboptimality_gap must be a number of at least 0, got {shown(suboptimality_gap)}.")
    try:
        return float(suboptimality_gap)
    except OverflowError:
        return np.inf


def versions_in_use() -> dict[str, str]:
    """Versions of what decides the numbers: Python, this library, NumPy and Numba."""
    # Each says its own: a source tree that is not installed has no metadata.
    return {
        "python": platform.python_version(),
        "arcbandit": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
    }
