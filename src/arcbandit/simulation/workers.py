"""Epochs shared among workers: threads of this process, or those of the backend that joblib was told to use."""

from collections.abc import Iterable, Iterator
from typing import Any

import joblib
from joblib.parallel import get_active_backend


def workers_are_threads() -> bool:
    """Whether joblib's workers share the memory of this process, as they do unless a backend was chosen."""
    backend, _ = get_active_backend(prefer="threads")
    return bool(getattr(backend, "supports_sharedmem", False))


def done_in_order(calls: Iterable[Any], jobs: int | None, at_a_time: int | None = None) -> Iterator[Any]:
    """The results of joblib's delayed calls, in their order: as they come, if the backend can, as all but Ray's do.

    `at_a_time` calls go to a worker together; joblib finds a number if it is None.
    """
    backend, _ = get_active_backend(prefer="threads")
    way = "generator" if getattr(backend, "supports_return_generator", False) else "list"
    together = "auto" if at_a_time is None else at_a_time
    workers = -1 if jobs is None else jobs
    yield from joblib.Parallel(n_jobs=workers, prefer="threads", return_as=way, batch_size=together)(calls)
