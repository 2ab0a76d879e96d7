"""The instances of the paper, each with its table as printed.

The tables print p_c * mu_{k,c}, although each cell says "mu =": only that reading gives the printed optimal
allocations. Contexts are uniform and rewards are N(mu, 1) throughout.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arcbandit.errors import InvalidInputError, UnknownNameError
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import is_real, shown
from arcbandit.instance import Instance


def _uniform(weighted_means: list[list[float]], floors: list[float], noise_scale: float = 1.0) -> Instance:
    n_contexts = len(weighted_means[0])
    probabilities = np.full(n_contexts, 1 / n_contexts)
    return Instance.from_weighted_means(weighted_means, floors, probabilities, noise_scale=noise_scale)


def nu() -> Instance:
    """Instance nu of the numerical section.

    | arm | c=1 | c=2 | c=3 | lambda |
    |-----|-----|-----|-----|--------|
    | 1   | 3   | 1   | 2   | 1      |
    | 2   | 0   | 1/2 | 0   | 1/4    |
    | 3   | 0   | 0   | 1   | 1/2    |
    """
    return _uniform([[3, 1, 2], [0, 1 / 2, 0], [0, 0, 1]], [1, 1 / 4, 1 / 2])


def nu_nonsaturating() -> Instance:
    """Instance nu' of the numerical section, where no arm saturates its floor at the optimum.

    | arm | c=1 | c=2 | c=3 | lambda |
    |-----|-----|-----|-----|--------|
    | 1   | 3   | 1   | 1   | 1      |
    | 2   | 0   | 3   | 1   | 1      |
    | 3   | 1   | 1   | 3   | 1      |
    """
    return _uniform([[3, 1, 1], [0, 3, 1], [1, 1, 3]], [1, 1, 1])


def nu_nominal() -> Instance:
    """Nominal instance nu^(0) of the lower bound.

    | arm | c=1 | c=2 | c=3 | lambda |
    |-----|-----|-----|-----|--------|
    | 1   | 3   | 1   | 1   | 1      |
    | 2   | 0   | 1/2 | 0   | 1/4    |
    | 3   | 0   | 0   | 2   | 1      |

    The paper states gamma* = 1/8; its own definition gives 1/4.
    """
    return _nominal(second_arm_second_context=1 / 2, first_arm_third_context=1)


def nu_plus(epsilon: float = 0.1) -> Instance:
    """Instance nu_+ of the first lower bound, epsilon in (0, 1/4).

    | arm | c=1 | c=2         | c=3 | lambda |
    |-----|-----|-------------|-----|--------|
    | 1   | 3   | 1           | 1   | 1      |
    | 2   | 0   | (1 + eps)/2 | 0   | 1/4    |
    | 3   | 0   | 0           | 2   | 1      |
    """
    if not is_real(epsilon) or not 0 < epsilon < 1 / 4:
        raise InvalidInputError(f"epsilon must be in (0, 1/4), got {shown(epsilon)}.")
    return _nominal(second_arm_second_context=(1 + epsilon) / 2, first_arm_third_context=1)


def nu_minus(epsilon: float = 0.1) -> Instance:
    """Instance nu_- of the first lower bound, epsilon in (0, 1/4).

    | arm | c=1 | c=2         | c=3 | lambda |
    |-----|-----|-------------|-----|--------|
    | 1   | 3   | 1           | 1   | 1      |
    | 2   | 0   | (1 - eps)/2 | 0   | 1/4    |
    | 3   | 0   | 0           | 2   | 1      |
    """
    if not is_real(epsilon) or not 0 < epsilon < 1 / 4:
        raise InvalidInputError(f"epsilon must be in (0, 1/4), got {shown(epsilon)}.")
    return _nominal(second_arm_second_context=(1 - epsilon) / 2, first_arm_third_context=1)


def nu_lower_bound(epsilon: float = 0.1) -> Instance:
    """Instance nu' of the second lower bound, eps' in (0, 1].

    | arm | c=1 | c=2 | c=3      | lambda |
    |-----|-----|-----|----------|--------|
    | 1   | 3   | 1   | 2 + eps' | 1      |
    | 2   | 0   | 1/2 | 0        | 1/4    |
    | 3   | 0   | 0   | 2        | 1      |
    """
    if not is_real(epsilon) or not 0 < epsilon <= 1:
        raise InvalidInputError(f"epsilon must be in (0, 1], got {shown(epsilon)}.")
    return _nominal(second_arm_second_context=1 / 2, first_arm_third_context=2 + epsilon)


def _nominal(*, second_arm_second_context: float, first_arm_third_context: float) -> Instance:
    return _uniform([[3, 1, first_arm_third_context], [0, second_arm_second_context, 0], [0, 0, 2]], [1, 1 / 4, 1])


def greedy_counterexample(noise_scale: float = 1.0) -> Instance:
    """Counterexample on which Greedy has linear regret with constant probability.

    | arm | c=1 | c=2 | lambda |
    |-----|-----|-----|--------|
    | 1   | 1   | 2   | 0.1    |
    | 2   | 2   | 1   | 0.1    |
    """
    return _uniform([[1, 2], [2, 1]], [0.1, 0.1], noise_scale)


def figure_1(second_floor: float = 0.1) -> Instance:
    """Figure 1: two arms, ten contexts, lambda_1 = 0.25 and lambda_2 = `second_floor`.

    With s(c) = 1 / (1 + exp(-1.2 (c - 5))), the figure draws the means themselves:

    | arm | c <= 4          | c >= 5           | lambda |
    |-----|-----------------|------------------|--------|
    | 1   | 0.3 + 0.8 s(c)  | 0.25 + 0.8 s(c)  | 0.25   |
    | 2   | 0.2 + 0.4 s(c)  | 0.2 + 0.4 s(c)   | 0.1    |
    """
    if not is_real(second_floor) or not 0 <= second_floor <= sys.float_info.max:
        raise InvalidInputError(f"second_floor must be finite and non-negative, got {shown(second_floor)}.")
    numbers = np.arange(1, 11)
    rise = 1 / (1 + np.exp(-1.2 * (numbers - 5)))
    first_arm = np.where(numbers <= 4, 0.3, 0.25) + 0.8 * rise
    second_arm = 0.2 + 0.4 * rise
    return Instance([first_arm, second_arm], [0.25, second_floor], np.full(10, 1 / 10))


def nu_with_margin(margin: float = 0.1) -> Instance:
    """Instance nu with all means scaled so that the feasibility margin gamma* is `margin`, its floors kept.

    The scale is s = (margin + 1/4) / (1/2); margin = 1/4 is nu itself.
    """
    # Arm 2 earns at most s/2 against its floor of 1/4; below s = 1/2 arm 3 is the tighter one.
    if not is_real(margin) or not 0 <= margin <= sys.float_info.max:
        raise InvalidInputError(f"margin must be finite and non-negative, got {shown(margin)}.")
    scale = (margin + 1 / 4) / (1 / 2)
    base = nu()
    return Instance(scale * base.mean_rewards, base.revenue_floors, base.context_probabilities)


class PaperInstance(NamedTuple):
    """How an instance of the paper is named and built, and where the paper has it."""

    name: str
    build: Callable[..., Instance]
    summary: str
    where: str  # in the paper
    parameter: str | None = None  # what may follow the name after a colon


PAPER_INSTANCES: dict[str, PaperInstance] = {
    entry.name: entry
    for entry in (
        PaperInstance("nu", nu, "two of three floors saturate at the optimum", "Numerical Illustrations"),
        PaperInstance(
            "nu-nonsaturating",
            nu_nonsaturating,
            "no floor saturates at the optimum",
            "Numerical Illustrations",
        ),
        PaperInstance("nu-nominal", nu_nominal, "nu^(0), the centre of the lower bound", "Lower Bound"),
        PaperInstance("nu-plus", nu_plus, "nu^(0) with a slightly better second arm", "Lower Bound, (i)", "epsilon"),
        PaperInstance("nu-minus", nu_minus, "nu^(0) with a slightly worse second arm", "Lower Bound, (i)", "epsilon"),
        PaperInstance(
            "nu-lower-bound",
            nu_lower_bound,
            "nu^(0) with a first arm that is best in context 3",
            "Lower Bound, (ii)",
            "epsilon",
        ),
        PaperInstance(
            "greedy-counterexample",
            greedy_counterexample,
            "Greedy may settle on the wrong contexts for ever",
            "Counterexample Demonstrating the Inefficiency of Greedy Behavior",
            "noise_scale",
        ),
        PaperInstance(
            "figure-1",
            figure_1,
            "the second floor is free, costly or out of reach",
            "Introduction, Figure 1",
            "second_floor",
        ),
        PaperInstance(
            "nu-margin",
            nu_with_margin,
            "nu scaled to a chosen feasibility margin",
            "Sensitivity of OPLP to the Feasibility Margin",
            "margin",
        ),
    )
}


def paper_instance(text: str) -> Instance:
    """Return the instance called `text`, such as "nu" or, with its parameter, "nu-plus:0.1".

    >>> paper_instance("nu").revenue_floors.tolist()
    [1.0, 0.25, 0.5]
    >>> paper_instance("nu-margin:0.01")
    <Instance: 3 arms x 3 contexts, noise scale 1>
    """
    if not isinstance(text, str):
        raise UnknownNameError(f"Paper instance must be one of {', '.join(PAPER_INSTANCES)}, got {shown(text)}.")
    name, colon, argument = text.partition(":")
    if name not in PAPER_INSTANCES:
        hint = did_you_mean(name, PAPER_INSTANCES)
        raise UnknownNameError(f"Paper instance must be one of {', '.join(PAPER_INSTANCES)}, got {name!r}{hint}.")
    entry = PAPER_INSTANCES[name]
    if not colon:
        return entry.build()
    if entry.parameter is None:
        raise InvalidInputError(f"Paper instance {name} must be given without a parameter, got {text!r}.")
    try:
        value = float(argument)
    except ValueError as error:
        raise InvalidInputError(f"{entry.parameter} of {name} must be a number, got {argument!r}.") from error
    return entry.build(value)
