"""How far the plan in force is from the best one by the means so far, proven by the prices of that one."""

import numpy as np
from numpy.typing import NDArray

from arcbandit.certificate import Certificate, certify_optimal
from arcbandit.floors import Floors
from arcbandit.kernels.program import PlanStatus
from arcbandit.planning.plans import Plan
from arcbandit.planning.program import make_program, writable

Floats = NDArray[np.float64]


def certificate_of(
    allocation: Floats,
    best: Plan,
    means: Floats,
    probabilities: Floats,
    floors: Floors,
    available: NDArray[np.bool_],
) -> Certificate:
    """The errors of an allocation, shape (K, C), where `best` is the proven plan of these means.

    Where the means cannot meet the floors, only what it misses beyond the least total shortfall counts: what it earns
    could be compared with plans of the same shortfall alone.
    """
    if best.status == PlanStatus.OPTIMAL:
        program = make_program(means, means, floors.coupling_rows(), available, probabilities)
        return certify_optimal(writable(program), allocation, np.array(best.floors.prices))
    earned = floors.by_floor((probabilities * means * allocation).sum(axis=1))
    asked = floors.amounts != 0.0  # a floor of zero promises nothing
    missing = float(np.where(asked, np.maximum(floors.amounts - earned, 0.0), 0.0).sum())
    return Certificate(0.0, 0.0, max(0.0, missing - best.total_shortfall) / float(np.abs(floors.amounts).sum()))
