"""Memory for the kernels of a test."""

from arcbandit.kernels.program import make_workspace


def workspace_for(program):
    """A workspace for problems of a program's shape."""
    n_arms, n_contexts = program.objective.shape
    return make_workspace(n_arms, n_contexts, program.floors.size, program.arm_rows.shape[1])
