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
    """Base of every deliberate exception of this library.

    >>> from arcbandit import plan
    >>> try:
    ...     plan("nu")
    ... except ArcbanditError as error:
    ...     print(error)
    instance must be an Instance, such as paper_instance('nu'), got 'nu'.
    """


class InvalidInputError(ArcbanditError, ValueError):
    """An argument breaks a stated rule.

    >>> from arcbandit import OLP
    >>> try:
    ...     OLP(horizon=0)
    ... except InvalidInputError as error:
    ...     print(error)
    horizon must be a whole number from 1 to below 2**63, got 0.
    """


class InvalidInstanceError(InvalidInputError):
    """An instance, or the file it is read from, breaks a stated rule.

    >>> from arcbandit import Instance
    >>> try:
    ...     Instance([[1.0, 2.0]], revenue_floors=[0.5], context_probabilities=[0.5, 0.6])
    ... except InvalidInstanceError as error:
    ...     print(error)
    context_probabilities must sum to 1 (within 1e-06), got 1.1.
    """


class UnknownNameError(InvalidInputError, LookupError):
    """No arm, context, policy or instance has that name.

    >>> from arcbandit import policy
    >>> try:
    ...     policy("oplb")
    ... except UnknownNameError as error:
    ...     print(str(error)[-30:])
    oe2d, optimistic3, sgoc, spoc.
    """


class InfeasibleError(ArcbanditError):
    """No allocation meets every revenue floor.

    `conflicting_floors` names floors that cannot be met together; `least_shortfall` is the smallest
    total revenue by which any allocation misses its floors.

    >>> from arcbandit import Instance, plan
    >>> try:
    ...     plan(Instance([[1.0], [1.0]], revenue_floors=[0.75, 0.5], context_probabilities=[1.0]))
    ... except InfeasibleError as error:
    ...     print(error.conflicting_floors, error.least_shortfall)
    ('1', '2') 0.25
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
    """An exact answer needs `count` cases, more than the `limit` allows.

    >>> from arcbandit import analyse, paper_instance
    >>> try:
    ...     analyse(paper_instance("nu"), candidate_limit=100).suboptimality_gap
    ... except EnumerationLimitError as error:
    ...     print(error)
    The suboptimality gap needs all 924 candidate sets, more than the limit of 100.
    """

    def __init__(self, message: str, *, count: int, limit: int) -> None:
        super().__init__(message)
        self.count = count
        self.limit = limit

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return partial(type(self), count=self.count, limit=self.limit), self.args


class PlanningError(ArcbanditError):
    """The solver gave up before it reached an optimal plan.

    >>> from arcbandit import paper_instance, plan
    >>> try:
    ...     best = plan(paper_instance("nu"))
    ... except PlanningError:  # for coefficients that span many decades
    ...     best = plan(paper_instance("nu"), solver="highs")
    >>> best.value
    5.25
    """


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
    """The decision service refused what a client asked: `status` of HTTP, `code` for programs, `field` if it is one.

    >>> error = ServiceError("There is no campaign 'songs'.", status=404, code="not_found")
    >>> error.status, error.code
    (404, 'not_found')
    """

    def __init__(self, message: str, status: int, code: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (str(self), self.status, self.code, self.field)


class ServiceUnavailableError(ServiceError):
    """The decision service did not answer, however often it was asked; whether it did what was asked is not known.

    >>> from arcbandit.client import Client, Retries
    >>> with Client("http://127.0.0.1:1", retries=Retries(tries=1)) as client:
    ...     try:
    ...         client.campaigns()
    ...     except ServiceUnavailableError as error:
    ...         print(error.status, error.code)
    0 lost
    """


class MissingExtraError(ArcbanditError, ImportError):
    """An optional dependency is not installed; the message says which extra brings it.

    >>> print(MissingExtraError("polars", "frames"))
    polars is not installed; it comes with the extra 'frames': pip install 'arcbandit[frames]'.
    """

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"{module} is not installed; it comes with the extra {extra!r}: pip install 'arcbandit[{extra}]'."
        )
        self.module = module
        self.extra = extra

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (self.module, self.extra)


class ArcbanditWarning(UserWarning):
    """Base of every deliberate warning of this library.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ArcbanditWarning)  # of this library alone
    """


class FloorsOutOfReachWarning(ArcbanditWarning):
    """A policy at work has found that no plan meets its floors, even by optimistic estimates.

    >>> import warnings
    >>> from arcbandit import BLP
    >>> policy = BLP([0.8, 0.8], [1.0], noise_scale=0.01)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for number in range(20):
    ...         policy.update(0, policy.decide(0).arm, 1.0)
    >>> [warning.category.__name__ for warning in caught]
    ['FloorsOutOfReachWarning']
    """


class ScaledProbabilitiesWarning(ArcbanditWarning):
    """Probabilities summed to 1 but for more than rounding, and were scaled.

    >>> import warnings
    >>> from arcbandit import Instance
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     instance = Instance([[1.0, 2.0]], revenue_floors=[0.5], context_probabilities=[0.3333333, 0.6666666])
    >>> print(caught[0].message)
    context_probabilities sum to 0.9999998999999999; they are divided by it, to sum to 1.
    """


class CacheWarning(ArcbanditWarning):
    """Compiled code cannot be kept on disk, so every process compiles it again.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", CacheWarning)  # compiling in every process is then an error
    """
