"""Simulations: policies on an instance, epoch by epoch, by all available workers."""

import itertools
import platform
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast, get_args, overload

import joblib
import numba
import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import (
    LONGEST_HORIZON,
    caller,
    choice,
    instance_of,
    is_count,
    shown,
    whole,
)
from arcbandit.instance import Instance
from arcbandit.planning import PlanStatus
from arcbandit.policies.configuration import Configuration
from arcbandit.simulation.arguments import check_changes, read_checkpoints, read_gap, read_mask
from arcbandit.simulation.choices import Device, Keep, Rewards
from arcbandit.simulation.delays import Delay, read_delay
from arcbandit.simulation.device import (
    DeviceFolder,
    check_state,
    device_name,
    play_on_device,
    state_fits,
    to_host,
    use_cuda,
)
from arcbandit.simulation.drift import Change, Drift, drift_document, mean_optimum, worlds_of
from arcbandit.simulation.epoch import Progress, Shelf, Task, bind, find_optimum, make_world, one_round, run_task
from arcbandit.simulation.fold import EpochFolder, FoldedEpochs
from arcbandit.simulation.metrics import N_KINDS, N_TOTALS
from arcbandit.simulation.playable import Policies, labelled_policies
from arcbandit.simulation.progress import one_at_a_time, reporting
from arcbandit.simulation.rewards import ObservedRewards, RewardSource
from arcbandit.simulation.summary import Summary
from arcbandit.simulation.trace import Trace
from arcbandit.simulation.workers import done_in_order, workers_are_threads
from arcbandit.version import __version__

if TYPE_CHECKING:
    from arcbandit.inputs.frames import Table

Floats = NDArray[np.float64]

KEPT = get_args(Keep)
# Pairs times rounds that a thread takes at a time: milliseconds, so that no processor is long without work at the end.
# By itself joblib makes it a fifth of a second, which is all that many runs take.
WORK_AT_A_TIME = 50_000
MOST_EPOCHS = 2**32 - 1  # the random numbers' counter, and the counts of bins, have 32 bits for epochs


class Options(TypedDict, total=False):
    """The options of `simulate` that its overloads share."""

    jobs: int | None
    checkpoints: "int | Iterable[int] | None"
    rewards: "Rewards | ObservedRewards"
    window: int | None
    available: "Table | None"
    suboptimality_gap: float | None
    delay: Delay | int | None
    drift: Drift | None
    progress: Progress | bool | None


@overload
def simulate(
    instance: Instance,
    policies: Policies,
    horizon: float,
    epochs: float = ...,
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
    horizon: float,
    epochs: float = ...,
    seed: int = ...,
    *,
    device: Device = ...,
    keep: Literal["epochs"],
    **options: Unpack[Options],
) -> Trace: ...
@overload
def simulate(
    instance: Instance,
    policies: Policies,
    horizon: float,
    epochs: float = ...,
    seed: int = ...,
    *,
    device: Device = ...,
    keep: Literal["summary"],
    **options: Unpack[Options],
) -> Summary: ...
@overload
def simulate(
    instance: Instance,
    policies: Policies,
    horizon: float,
    epochs: float = ...,
    seed: int = ...,
    *,
    device: Device = ...,
    keep: Keep | None = ...,
    **options: Unpack[Options],
) -> Trace | Summary: ...
def simulate(
    instance: Instance,
    policies: Policies,
    horizon: float,
    epochs: float = 5,
    seed: int = 0,
    *,
    jobs: int | None = None,
    checkpoints: "int | Iterable[int] | None" = None,
    rewards: "Rewards | ObservedRewards" = "gaussian",
    window: int | None = None,
    available: "Table | None" = None,
    suboptimality_gap: float | None = None,
    delay: Delay | int | None = None,
    drift: Drift | None = None,
    progress: Progress | bool | None = None,
    device: Device = "cpu",
    keep: Keep | None = None,
) -> Trace | Summary:
    """Run each policy for `epochs` independent epochs of `horizon` rounds and record every metric.

    Policies are given by name or as configured objects; a mapping gives them labels. A policy is played by its class's
    compiled rule and starts from nothing: one that has learnt, was made for another problem, or has methods of its own
    is refused. In each epoch all policies meet the same contexts and the same noise, by `seed`; their own seed, epoch
    and worker are ignored. `jobs` workers share the epochs: threads, or the backend that joblib.parallel_config sets;
    the result does not depend on them. `checkpoints` is how many to record, or which rounds. `window` is the length of
    the sliding windows over which each floor's worst shortfall is reported. With `suboptimality_gap` (rho*) the run
    counts where the paper's statements hold. With `delay`, a number of rounds or a `Delay`, the policy hears of
    rewards later; revenue counts in the round that earned it. With a `Drift` as `drift`, means, floors or
    probabilities change at given rounds; regret is against the best plan of the moment, and a window is compared with
    the floors at its end. With `device` "cuda" a GPU plays one epoch per thread, by the same kernels; "auto" uses a
    GPU if available. `keep` says what is returned: "epochs" gives a Trace with every epoch, "summary" a Summary with
    means, variances and quantiles over epochs, whose size does not grow with `epochs`. None means "epochs" on the CPU
    and "summary" on a GPU. `progress` is called with the number of rounds played since its last call, by one worker at
    a time; True shows a line on standard error, False nothing, and None a line if it takes long and a terminal or a
    notebook is there.

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
    if jobs is not None and (not is_count(jobs) or jobs == 0):
        raise InvalidInputError(f"jobs must be a whole number other than 0, or None for all cores, got {shown(jobs)}.")
    choice("keep", keep, (*KEPT, None))
    if progress is not None and not isinstance(progress, bool):
        caller("progress", progress)
    gap = read_gap(suboptimality_gap)
    lateness = read_delay(delay)
    on_device = use_cuda(device)
    kept: Keep = keep or ("summary" if on_device else "epochs")
    mask = read_mask(available, instance)
    labelled = labelled_policies(policies, instance, mask)
    source = RewardSource(rewards, instance)
    worlds = worlds_of(drift, instance, horizon)
    for _, world in worlds:
        RewardSource(rewards, world)  # refuses means that cannot be drawn
    places = read_checkpoints(checkpoints, horizon)
    check_changes(on_device, gap, lateness, (instance, *(world for _, world in worlds)), labelled)
    optimum = find_optimum(instance, mask)
    changes = tuple(Change(first, world, find_optimum(world, mask)) for first, world in worlds)
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
            delay=lateness,
            drift=changes,
        )
        for label, policy in labelled.items()
    }
    # Checked before any work is done, so that a policy that does not fit the instance fails at once.
    for task in tasks.values():
        if isinstance(task.policy, Configuration):
            bound = bind(task, task.policy)
            if on_device:
                check_state(bound, length)
        elif on_device:
            raise InvalidInputError(
                f"policies must be compiled to be played on device 'cuda', but {task.label!r} is a plain object."
            )
        else:
            run_task(one_round(task))
    settings = {
        "instance": instance.to_dict(),
        "optimal_value": mean_optimum(optimum, changes, horizon),
        "feasible": all(best.status == PlanStatus.OPTIMAL for best in (optimum, *(step.optimum for step in changes))),
        "horizon": horizon,
        "epochs": epochs,
        "seed": seed,
        "rewards": source.name,
        "window": length or None,
        **({} if lateness is None else {"delay": lateness.to_dict()}),
        **({} if drift is None else {"drift": drift_document(optimum, changes)}),
        "device": device_name() if on_device else "cpu",
        "keep": kept,
        "versions": versions_in_use(),
    }
    floors = (*instance.arms, *(group.name for group in instance.group_floors))
    with reporting(progress, horizon * epochs * len(tasks)) as report:
        played = _on_device(tasks, epochs, report) if on_device else _on_cpu(tasks, epochs, jobs, report)
        if kept == "epochs":
            records, floor_records = _kept(played, tuple(labelled), (epochs, N_TOTALS, len(places)), len(floors))
            return Trace(places, tuple(labelled), floors, records, floor_records, settings)
        folder = DeviceFolder if on_device else EpochFolder
        return Summary(places, tuple(labelled), floors, _folded(played, folder, len(places), len(floors)), settings)


def fits_device(instance: Instance, policies: Policies, horizon: int) -> bool:
    """Whether the GPU, which must be available, can play all of the policies on the instance."""
    labelled = labelled_policies(policies, instance, None)
    return all(
        isinstance(policy, Configuration) and state_fits(policy.for_instance(instance, horizon=horizon), 0)
        for policy in labelled.values()
    )


Played = Iterator[tuple[str, Any, Any]]  # a policy's label, with records and floor records of some of its epochs


def _on_cpu(tasks: dict[str, Task], epochs: int, jobs: int | None, progress: Progress | None) -> Played:
    all_tasks = [task._replace(epoch=epoch) for task in tasks.values() for epoch in range(epochs)]
    for task, (record, floor_record) in zip(all_tasks, _run_all(all_tasks, jobs, progress), strict=True):
        yield task.label, record[np.newaxis], floor_record[np.newaxis]


def _kept(
    played: Played, labels: Sequence[str], shape: tuple[int, int, int], n_floors: int
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The records, of this shape, and the floor records of every epoch, by policy."""
    # Allocated before the first round, so that a lack of memory shows then and not after the last.
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
    """The folded epochs, policy by policy, so that only one policy's bins are in memory at a time."""
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
    shelf = Shelf()
    if jobs == 1:
        for task in tasks:
            yield run_task(task, progress, shelf)
        return
    # One round compiles all that a policy needs; workers that compiled at the same time would only wait for each other.
    for task in {task.label: task for task in reversed(tasks)}.values():
        run_task(one_round(task))
    # Workers that share this process's memory report inside an epoch; of others we hear when an epoch is done.
    threads = workers_are_threads()
    inside = one_at_a_time(progress) if progress is not None and threads else None
    calls = (joblib.delayed(run_task)(task, inside, shelf) for task in tasks)
    at_a_time = _epochs_at_a_time(tasks[0]) if threads else None
    played = done_in_order(calls, None if jobs is None else min(int(jobs), len(tasks)), at_a_time)
    for task, result in zip(tasks, played, strict=True):
        if progress is not None and inside is None:
            progress(task.horizon)
        yield result


def _epochs_at_a_time(task: Task) -> int:
    return max(1, WORK_AT_A_TIME // (task.horizon * task.instance.n_pairs))


def _on_device(tasks: dict[str, Task], epochs: int, progress: Progress | None) -> Played:
    for label, task in tasks.items():
        chunks = play_on_device(
            bind(task, cast(Configuration, task.policy)),
            make_world(task),
            task.horizon,
            epochs,
            task.checkpoints,
            task.window,
        )
        for records, floor_records in chunks:
            if progress is not None:
                progress(records.shape[0] * task.horizon)
            yield label, records, floor_records


def versions_in_use() -> dict[str, str]:
    """Versions of what the numbers depend on: Python, this library, NumPy and Numba."""
    # From the modules, as a source tree that is not installed has no metadata.
    return {
        "python": platform.python_version(),
        "arcbandit": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
    }
