"""Every exception that this library raises on purpose.

ArcbanditError
├── InvalidInputError (ValueError)       an argument breaks a stated rule
│   ├── InvalidInstanceError             an instance, or the file it is read from, breaks one
│   └── UnknownNameError (LookupError)   no arm, context, policy or instance has that name
├── InfeasibleError                      no allocation meets every revenue floor
├── EnumerationLimitError                an exact answer needs more cases than the limit allows
├── PlanningError                        the solver gave up before an optimal plan
├── StoreError                           the service's store cannot be used
│   ├── StoreFullError                   its disk is full; nothing was stored
│   ├── StoreVersionError                it was written by a newer version, or its database is too old
│   ├── StaleError                       what was to be replaced is no longer in force
│   ├── NameTakenError                   there is a campaign or token of that name
│   └── RequestIdUsedError               a request id came again with another question
├── ServiceError                         the decision service refused what a client asked
│   └── ServiceUnavailableError          it did not answer, however often it was asked
└── MissingExtraError (ImportError)      an optional dependency is not installed

and every deliberate warning:

ArcbanditWarning (UserWarning)
├── FloorsOutOfReachWarning              a policy at work cannot meet every revenue floor
├── ScaledProbabilitiesWarning           probabilities that missed 1 by little were scaled
└── CacheWarning                         compiled code cannot be kept on disk
"""

from collections.abc import Callable
from functools import partial
from typing import Any


class ArcbanditError(Exception):
    """Base of every deliberate exception of this library."""


class InvalidInputError(ArcbanditError, ValueError):
    """An argument breaks a stated rule."""


class InvalidInstanceError(InvalidInputError):
    """An instance, or the file it is read from, breaks a stated rule."""


class UnknownNameError(InvalidInputError, LookupError):
    """No arm, context, policy or instance has that name."""


class InfeasibleError(ArcbanditError):
    """No allocation meets every revenue floor.

    `conflicting_floors` names floors that cannot be met together; `least_shortfall` is the smallest
    total revenue by which any allocation misses its floors.
    """

    def __init__(self, message: str, *, conflicting_floors: tuple[str, ...], least_shortfall: float) -> None:
        super().__init__(message)
        self.conflicting_floors = conflicting_floors
        self.least_shortfall = least_shortfall

    # The default protocol would drop the keyword arguments when the error crosses to another process.
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        rebuild = partial(type(self), conflicting_floors=self.conflicting_floors, least_shortfall=self.least_shortfall)
        return rebuild, self.args


class EnumerationLimitError(ArcbanditError):
    """An exact answer needs `count` cases, more than the `limit` allows."""

    def __init__(self, message: str, *, count: int, limit: int) -> None:
        super().__init__(message)
        self.count = count
        self.limit = limit

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return partial(type(self), count=self.count, limit=self.limit), self.args


class PlanningError(ArcbanditError):
    """The solver gave up before it reached an optimal plan."""


class StoreError(ArcbanditError):
    """The store of the service cannot be used."""


class StoreFullError(StoreError):
    """The disk of the store is full; nothing was stored, and a later call may succeed."""


class StoreVersionError(StoreError):
    """The store was written by a newer version of this library, or its database is too old to be trusted."""


class StaleError(StoreError):
    """What was to be replaced is no longer in force: somebody else was faster."""


class NameTakenError(StoreError):
    """There is a campaign or a token of that name."""


class RequestIdUsedError(StoreError):
    """The request id was used before with another context or other excluded arms."""


class ServiceError(ArcbanditError):
    """The decision service refused what a client asked: `status` of HTTP, `code` for programs, `field` if it is one."""

    def __init__(self, message: str, status: int, code: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (str(self), self.status, self.code, self.field)


class ServiceUnavailableError(ServiceError):
    """The decision service did not answer, however often it was asked; whether it did what was asked is not known."""


class MissingExtraError(ArcbanditError, ImportError):
    """An optional dependency is not installed; the message says which extra brings it."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"{module} is not installed; it comes with the extra {extra!r}: pip install 'arcbandit[{extra}]'."
        )
        self.module = module
        self.extra = extra

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (self.module, self.extra)


class ArcbanditWarning(UserWarning):
    """Base of every deliberate warning of this library."""


class FloorsOutOfReachWarning(ArcbanditWarning):
    """A policy at work has found that no plan meets its floors, even by optimistic estimates."""


class ScaledProbabilitiesWarning(ArcbanditWarning):
    """Probabilities summed to 1 but for more than rounding, and were scaled."""


class CacheWarning(ArcbanditWarning):
    """Compiled code cannot be kept on disk, so every process compiles it again."""
