"""From a uniform number to a context, an arm, or an index."""

from arcbandit.compilation.compile import kernel


@kernel
def context_from_uniform(probabilities, uniform):
    """The context whose interval of the cumulative probabilities contains `uniform`."""
    total = 0.0
    chosen = 0
    for context in range(probabilities.shape[0]):
        if probabilities[context] > 0.0:
            chosen = context
            total += probabilities[context]
            if uniform < total:
                return context
    return chosen


@kernel
def arm_from_uniform(allocation, context, uniform):
    """The arm whose interval of the context's cumulative shares contains `uniform`; never an arm of share zero."""
    total = 0.0
    chosen = 0
    for arm in range(allocation.shape[0]):
        share = allocation[arm, context]
        if share > 0.0:
            chosen = arm
            total += share
            if uniform < total:
                return arm
    return chosen
