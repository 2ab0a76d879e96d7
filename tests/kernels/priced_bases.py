"""Bases evaluated, and the columns that should enter them."""

import numpy as np

from arcbandit.compilation.compile import entry_kernel
from arcbandit.kernels.entering import best_pair, first_improving, price_rows
from arcbandit.kernels.evaluation import evaluate
from arcbandit.kernels.program import Order
from arcbandit.kernels.scales import measure_scales
from tests.kernels.workspaces import workspace_for


@entry_kernel
def price_everything(program, basis, workspace, found):
    """Evaluate the basis and write the best pair, the first improving pair and the best row into `found`."""
    measure_scales(program, True, workspace)
    if not evaluate(program, basis, 1.0, 0.0, workspace):
        return False
    excess, arm, context = best_pair(program, basis, program.available, 1.0, workspace)
    found[0, 0], found[0, 1], found[0, 2] = excess, arm, context
    excess, arm, context = first_improving(program, basis, program.available, 1.0, workspace)
    found[1, 0], found[1, 1], found[1, 2] = excess, arm, context
    excess, row, kind = price_rows(program, basis, 1.0, 0.0, workspace)
    found[2, 0], found[2, 1], found[2, 2] = excess, row, kind.value
    return True


def priced(program, basis):
    """Whether the basis is regular, what was found, and the workspace."""
    workspace = workspace_for(program)
    workspace.order[Order.SURPLUS_OPEN] = 1
    workspace.order[Order.SHORTFALL_OPEN] = 0
    found = np.zeros((3, 3))
    return price_everything(program, basis, workspace, found), found, workspace
