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
def contexts_from_uniforms(probabilities, uniform, count, contexts):
    """Write `context_from_uniform` of each of the first `count` uniform numbers into `contexts`, without a branch."""
    for place in range(count):
        contexts[place] = 0
    total = 0.0
    last_likely = 0
    for context in range(probabilities.shape[0]):
        total += probabilities[context]
        last_likely = context if probabilities[context] > 0.0 else last_likely
        # Sums do not fall, so the interval that contains a number comes after as many as end below it.
        for place in range(count):
            contexts[place] += uniform[place] >= total
    for place in range(count):
        contexts[place] = min(contexts[place], last_likely)


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
