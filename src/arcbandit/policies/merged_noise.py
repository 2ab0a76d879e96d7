"""The estimates of sigma of two policies, taken together."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.kernels.noise import Noise, pooled_scale
from arcbandit.policies.state import State

Floats = NDArray[np.float64]


class Part(NamedTuple):
    """What an estimate rests on: its sums, and the pulls and means of pairs, priors included."""

    sums: Floats
    pulls: Floats  # shape (K, C)
    means: Floats  # shape (K, C)


def require_same_estimate(field: str, other: State, state: State) -> None:
    """Refuse a policy that estimates sigma if the other does not."""
    if other.configuration.estimates_noise != state.configuration.estimates_noise:
        raise InvalidInputError(f"{field} must estimate sigma if and only if the policy itself does.")


def merged_noise(ours: Part, theirs: Part, common: Part, pairs_without_prior: int) -> Floats:
    """The sums over all rewards, of which the common ones count once.

    Squares about a mean add up with what the means differ by (Chan, Golub and LeVeque, 1983).
    """
    sums = np.zeros(len(Noise))
    n_ours, n_common = ours.sums[Noise.REWARDS], common.sums[Noise.REWARDS]
    n_new = theirs.sums[Noise.REWARDS] - n_common
    sums[Noise.REWARDS] = n_ours + n_new
    if n_new <= 0:
        sums[:] = ours.sums
        return sums
    mean_theirs, mean_common = theirs.sums[Noise.MEAN], common.sums[Noise.MEAN]
    mean_new = mean_theirs + (mean_theirs - mean_common) * n_common / n_new
    spread_new = (
        theirs.sums[Noise.SPREAD] - common.sums[Noise.SPREAD] - _between(n_common, n_new, mean_common - mean_new)
    )
    apart = ours.sums[Noise.MEAN] - mean_new
    sums[Noise.MEAN] = ours.sums[Noise.MEAN] - apart * n_new / sums[Noise.REWARDS]
    sums[Noise.SPREAD] = max(ours.sums[Noise.SPREAD] + max(spread_new, 0.0) + _between(n_ours, n_new, apart), 0.0)
    new = theirs.pulls - common.pulls
    moved = np.divide(common.pulls, new, out=np.zeros_like(new), where=new > 0)
    means_new = theirs.means + (theirs.means - common.means) * moved
    before = np.where(new > 0, _between(common.pulls, new, common.means - means_new), 0.0).sum()
    between = np.where(new > 0, _between(ours.pulls, new, ours.means - means_new), 0.0).sum()
    residual_new = max(theirs.sums[Noise.RESIDUAL] - common.sums[Noise.RESIDUAL] - before, 0.0)
    sums[Noise.RESIDUAL] = ours.sums[Noise.RESIDUAL] + residual_new + between
    sums[Noise.FREEDOM] = sums[Noise.REWARDS] - pairs_without_prior
    return sums


def _between(first: "Floats | float", second: "Floats | float", apart: "Floats | float") -> "Floats | float":
    """What two groups add to the squares about their common mean."""
    total = np.maximum(np.add(first, second), 1e-300)
    return np.multiply(first, second) / total * np.square(apart)


def scale_of(sums: Floats) -> float:
    """The estimate of sigma; 1 before two rewards differ."""
    if not sums[Noise.SPREAD] > 0.0:
        return 1.0
    # A kernel cannot be called from Python; the function that it was made of can.
    return float(getattr(pooled_scale, "py_func", pooled_scale)(sums))
