"""Epochs on a cluster: which one a name stands for, and joblib's backend for it."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import joblib

from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.inputs.values import shown

LOCAL = re.compile(r"(dask|ray)(?::([1-9][0-9]{0,3}))?")
SCHEDULER = re.compile(r"(tcp|tls|ws|wss)://[^\s/]+:[0-9]+")
RAY_HEAD = re.compile(r"ray://[^\s/]+:[0-9]+|ray:auto")
SECONDS_TO_ANSWER = 20  # of a scheduler
FORMS = "dask:2 or ray:2 (workers on this machine), tcp://host:8786 (Dask's scheduler), ray:auto or ray://host:10001"


def checked_cluster(name: str, cluster: Any) -> str | None:
    """A cluster's name, or None; anything that can be none is refused."""
    if cluster is None:
        return None
    if not isinstance(cluster, str) or not any(form.fullmatch(cluster) for form in (LOCAL, SCHEDULER, RAY_HEAD)):
        raise InvalidInputError(f"{name} must be {FORMS}, got {shown(cluster)}.")
    return cluster


@contextmanager
def on_cluster(cluster: str | None) -> Iterator[None]:
    """Inside, workers of a cluster play the epochs; None leaves them to this machine.

    `dask:2` and `ray:2` start two workers here, which end with it; other forms join a cluster that runs.
    """
    checked_cluster("cluster", cluster)
    with ExitStack() as stack:
        if cluster is not None:
            backend = "ray" if cluster.startswith("ray") else "dask"
            (_join_ray if backend == "ray" else _join_dask)(stack, cluster)
            stack.enter_context(joblib.parallel_config(backend=backend))
        yield


def _join_dask(stack: ExitStack, cluster: str) -> None:
    try:
        from dask.distributed import Client, LocalCluster
    except ImportError:
        raise MissingExtraError("dask.distributed", "dask") from None
    local = LOCAL.fullmatch(cluster)
    address: Any = cluster
    if local is not None:
        workers = None if local[2] is None else int(local[2])
        # A thread each: kernels keep one core busy, and a worker that is lost takes one epoch with it.
        address = stack.enter_context(LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None))
    try:
        stack.enter_context(Client(address, timeout=SECONDS_TO_ANSWER))
    except OSError as error:
        raise InvalidInputError(f"{cluster}: no scheduler of Dask answers there ({error}).") from None


def _join_ray(stack: ExitStack, cluster: str) -> None:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    local = LOCAL.fullmatch(cluster)
    began = not ray.is_initialized()
    if began:
        if local is not None:
            workers = None if local[2] is None else int(local[2])
            ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="error")
        else:
            address = "auto" if cluster == "ray:auto" else cluster
            try:
                ray.init(address, log_to_driver=False, logging_level="error")
            except (ConnectionError, OSError) as error:
                raise InvalidInputError(f"{cluster}: no Ray answers there ({error}).") from None
        stack.callback(ray.shutdown)
    register_ray()
