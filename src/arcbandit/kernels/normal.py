"""The normal distribution: its distribution function, density and quantiles."""

import math

from arcbandit.compilation.compile import kernel

ROOT_HALF = math.sqrt(0.5)
DENSITY_AT_ZERO = 1.0 / math.sqrt(2.0 * math.pi)
# Where two approximations of the quantile meet: in the middle it is a function of p, further out of its logarithm.
MIDDLE = 0.425


@kernel
def normal_probability(value):
    """The probability that a standard normal is below `value`."""
    return 0.5 * math.erfc(-value * ROOT_HALF)


@kernel
def normal_density(value):
    """The density of a standard normal."""
    return DENSITY_AT_ZERO * math.exp(-0.5 * value * value)


@kernel
def ratio_in_the_middle(r):
    """The quantile over p - 1/2, for r = MIDDLE^2 - (p - 1/2)^2."""
    above = r * 2.5090809287301226727e3 + 3.3430575583588128105e4
    above = above * r + 6.7265770927008700853e4
    above = above * r + 4.5921953931549871457e4
    above = above * r + 1.3731693765509461125e4
    above = above * r + 1.9715909503065514427e3
    above = above * r + 1.3314166789178437745e2
    above = above * r + 3.3871328727963666080e0
    below = r * 5.2264952788528545610e3 + 2.8729085735721942674e4
    below = below * r + 3.9307895800092710610e4
    below = below * r + 2.1213794301586595867e4
    below = below * r + 5.3941960214247511077e3
    below = below * r + 6.8718700749205790830e2
    below = below * r + 4.2313330701600911252e1
    below = below * r + 1.0
    return above / below


@kernel
def quantile_further_out(r):
    """The absolute quantile, for r = sqrt(-log(tail)) - 1.6."""
    above = r * 7.74545014278341407640e-4 + 2.27238449892691845833e-2
    above = above * r + 2.41780725177450611770e-1
    above = above * r + 1.27045825245236838258e0
    above = above * r + 3.64784832476320460504e0
    above = above * r + 5.76949722146069140550e0
    above = above * r + 4.63033784615654529590e0
    above = above * r + 1.42343711074968357734e0
    below = r * 1.05075007164441684324e-9 + 5.47593808499534494600e-4
    below = below * r + 1.51986665636164571966e-2
    below = below * r + 1.48103976427480074590e-1
    below = below * r + 6.89767334985100004550e-1
    below = below * r + 1.67638483018380384940e0
    below = below * r + 2.05319162663775882187e0
    below = below * r + 1.0
    return above / below


@kernel
def normal_quantile(probability):
    """The value below which a standard normal is with this probability, from exp(-25) to 1 - exp(-25).

    Wichura's algorithm AS 241 (1988, "The percentage points of the normal distribution", Applied Statistics 37,
    477-484), without its third approximation, for tails beyond that.
    """
    off = probability - 0.5
    if abs(off) <= MIDDLE:
        return off * ratio_in_the_middle(MIDDLE * MIDDLE - off * off)
    tail = probability if off < 0.0 else 1.0 - probability
    size = quantile_further_out(math.sqrt(-math.log(tail)) - 1.6)
    return -size if off < 0.0 else size
