"""Families of instances: each is a pure function of family, half, number and seed, and strictly feasible.

The instances of a family come in two halves. Rules and their constants are tuned on the half `tuning` alone, and judged
on the half `scored`. Another seed gives other instances in both halves; those of SPENT_SEEDS have been looked at.

Floors are drawn so: a direction d, in units of what each arm earns if it is always played; the largest s for which
floors s d can be met; then the floors (tightness) s d. A tightness near 1 leaves a feasibility margin near 0. Means and
floors are rounded, so that the last digits of logarithms do not matter. A draw is thrown away, and drawn again, unless
it is not degenerate and the optimum meets a floor that costs something: elsewhere a policy that knows what to play
loses nothing, and no ratio to it exists.
"""

import enum
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arcbandit.errors import InvalidInputError
from arcbandit.experiments.our_instances import instance_named
from arcbandit.inputs.values import choice, known_name, whole
from arcbandit.instance import Instance
from arcbandit.learning.draws import Draws, Purpose
from arcbandit.oracle import feasibility_margin
from arcbandit.planning import Plan, PlanStatus, plan
from arcbandit.simulation.choices import Rewards

Floats = NDArray[np.float64]

# Rules were tuned on the half `tuning` of the first and the last three. The half `scored` of the first six was played
# once each (twice with the seed 2), and the rule changed after.
SPENT_SEEDS = (0, 1, 2, 3, 4, 5, 13, 14, 15)

LEAST_MARGIN = 1e-5  # of feasibility, so that rounding cannot use it up
LEAST_PRICE = 0.05  # of the dearest floor
DEAR = (10.0, 100.0)  # the price of the dearest floor in the family `dear`
MOST_ATTEMPTS = 1_000
MOST_INSTANCES = 100_000  # a number has 32 bits of the key
RARE = 1_000  # one in so many rounds has the rare context
BERNOULLI_SCALE = 0.5  # sigma of rewards from 0 to 1
DECIMALS = 4


class Half(enum.StrEnum):
    """What an instance is for."""

    TUNING = "tuning"
    SCORED = "scored"


class Drawn(NamedTuple):
    """An instance of a family, and how it is played."""

    family: str
    half: str
    number: int  # in its half, from 0
    instance: Instance
    rewards: Rewards
    seed: int  # of its contexts, its noise and its policies


class Problem(NamedTuple):
    """What a family draws, before the floors are scaled."""

    means: Floats
    weights: NDArray[np.int64]  # of contexts
    direction: Floats  # of floors
    tightness: float
    noise_scale: float = 1.0
    rewards: Rewards = "gaussian"


class Family(NamedTuple):
    """A family: how it is described, and how it draws."""

    name: str
    number: int  # in the key of its draws; never to be changed
    about: str
    draw: Callable[[Draws, int], Problem] | None = None
    fixed: tuple[str, ...] = ()  # instances by name instead
    prices: tuple[float, float] = (LEAST_PRICE, math.inf)  # of the dearest floor
    # A family of few instances plays more epochs of them; one whose rounds take a hundred times as long plays less.
    share_of_instances: float = 1.0
    share_of_epochs: float = 1.0

    @property
    def is_random(self) -> bool:
        """Whether its instances are drawn."""
        return self.draw is not None

    def size(self, instances: int) -> int:
        """How many instances are played where so many are asked for."""
        return max(1, round(instances * self.share_of_instances)) if self.is_random else len(self.fixed)

    def epochs(self, epochs: int) -> int:
        """The epochs of each of its instances where so many are asked for."""
        return max(1, round(epochs * self.share_of_epochs))


def _promised(draws: Draws, means: Floats, weights: NDArray[np.int64], share: float = 1.0) -> Floats:
    """Floors in units of what each arm can earn; each arm has one with probability `share`, and at least one arm."""
    n_arms = len(means)
    earned = means @ (weights / weights.sum())
    kept = draws.uniform(0.0, 1.0, (n_arms,)) < share
    kept[draws.whole(0, n_arms - 1)] = True
    return np.where(kept, draws.uniform(0.2, 1.0, (n_arms,)) * earned, 0.0)


def _small(draws: Draws, number: int) -> Problem:
    shape = draws.whole(2, 5), draws.whole(2, 6)
    means, weights = draws.uniform(0.2, 3.0, shape), draws.whole(1, 9, shape[1:])
    return Problem(means, weights, _promised(draws, means, weights), draws.uniform(0.3, 0.9))


def _large(draws: Draws, number: int) -> Problem:
    shape = draws.whole(3, 10), draws.whole(4, 20)
    bernoulli = draws.uniform(0.0, 1.0) < 0.25
    means = draws.uniform(0.05, 0.95, shape) if bernoulli else draws.uniform(0.2, 3.0, shape)
    scale = BERNOULLI_SCALE if bernoulli else round(draws.log_uniform(0.3, 3.0), DECIMALS)
    weights = draws.whole(1, 9, shape[1:])
    useless = draws.whole(0, 2) if shape[0] > 3 else 0
    means[:useless] *= 0.1
    direction = _promised(draws, means, weights, share=0.7)
    direction[:useless] = 0.0
    tightness = draws.uniform(0.97, 0.995) if number % 2 else draws.uniform(0.3, 0.9)
    return Problem(means, weights, direction, tightness, scale, "bernoulli" if bernoulli else "gaussian")


def _dear(draws: Draws, number: int) -> Problem:
    shape = draws.whole(2, 5), draws.whole(2, 6)
    means, weights = draws.uniform(0.5, 3.0, shape), draws.whole(1, 9, shape[1:])
    poor = draws.whole(1, max(1, shape[0] // 2))
    # Means far below the noise could not be told from zero by any rule, so that the others are larger instead.
    means[:poor] *= 0.2
    means[poor:] *= draws.log_uniform(2.0, 20.0)
    return Problem(means, weights, _promised(draws, means, weights), draws.uniform(0.3, 0.9))


def _rare(draws: Draws, number: int) -> Problem:
    shape = draws.whole(2, 5), draws.whole(3, 6)
    means = draws.uniform(0.2, 3.0, shape)
    if number % 2:
        means[:, 0] *= 10.0
    others = draws.whole(1, 9, (shape[1] - 1,))
    common = np.floor(others * ((RARE - 1) / others.sum())).astype(np.int64)
    common[0] += RARE - 1 - common.sum()
    weights = np.append(1, common)
    return Problem(means, weights, _promised(draws, means, weights), draws.uniform(0.3, 0.9))


def _many(draws: Draws, number: int) -> Problem:
    shape = 30, 50
    means, weights = draws.uniform(0.2, 3.0, shape), draws.whole(1, 9, shape[1:])
    return Problem(means, weights, _promised(draws, means, weights, share=2 / 3), draws.uniform(0.3, 0.9))


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "paper",
            0,
            "five instances that do not depend on seeds: the paper's ν, ν⁽⁰⁾, ν with a feasibility margin of 0.01, and "
            "Greedy's counterexample with σ = 3; and μ = [[3, 2], [1, 1.2]] with floors (0.1, 0.25), where rules stall",
            fixed=("nu", "nu-nominal", "nu-margin:0.01", "greedy-counterexample:3", "costly-floor"),
            share_of_epochs=4.0,
        ),
        Family("small", 1, "2 to 5 arms, 2 to 6 contexts, means from 0.2 to 3, σ = 1, a floor for each arm", _small),
        Family(
            "large",
            2,
            "3 to 10 arms, 4 to 20 contexts, σ from 0.3 to 3, one draw in four Bernoulli, before unfit ones are "
            "thrown away; every other instance with a margin near 0; three arms in ten without a floor, and up to two "
            "that are of no use",
            _large,
        ),
        Family(
            "dear",
            3,
            "2 to 5 arms, 2 to 6 contexts, σ = 1; up to half of the arms earn from 0.1 to 0.6, the others far more, so "
            "that the dearest floor has a price from 10 to 100",
            _dear,
            prices=DEAR,
        ),
        Family(
            "rare",
            4,
            "2 to 5 arms, 3 to 6 contexts, one of them with probability 0.001; in every other instance means are ten "
            "times as large there",
            _rare,
        ),
        Family(
            "many",
            5,
            "30 arms, 50 contexts, two arms in three with a floor, σ = 1",
            _many,
            share_of_instances=0.25,
            share_of_epochs=0.5,
        ),
    )
}
RANDOM = tuple(name for name, family in FAMILIES.items() if family.is_random)


def drawn(family: str, half: str, number: int, seed: int = 0) -> Drawn:
    """The instance of that number, from 0, in a half of a family.

    >>> found = drawn("small", "tuning", 0)
    >>> found.instance.n_arms in range(2, 6), found.rewards
    (True, 'gaussian')
    """
    chosen = FAMILIES[known_name("family", family, FAMILIES)]
    choice("half", half, [one.value for one in Half])
    number = whole("number", number, 0, (len(chosen.fixed) or MOST_INSTANCES) - 1)
    seed = whole("seed", seed, 0)
    key = (chosen.number << 40) | ((half == Half.SCORED) << 32) | number
    play = int(Draws(seed, key, Purpose.PLAY).words(1)[0] >> np.uint64(2))
    if chosen.draw is None:
        return Drawn(family, half, number, instance_named(chosen.fixed[number]), "gaussian", play)
    for attempt in range(MOST_ATTEMPTS):
        problem = chosen.draw(Draws(seed, key, Purpose.INSTANCE, attempt), number)
        instance = _scaled(problem)
        if instance is not None and _is_fit(instance, chosen.prices):
            return Drawn(family, half, number, instance, problem.rewards, play)
    raise InvalidInputError(f"seed must be one that gives an instance {number} of the family {family}, got {seed}.")


def _scaled(problem: Problem) -> Instance | None:
    """The instance with the floors that leave the wanted room; None if the floors constrain nothing."""
    means = np.round(problem.means, DECIMALS)
    probabilities = problem.weights / problem.weights.sum()
    # In this unit no arm can get its whole floor, let alone all of them: the plan says which share all can get.
    beyond = 2.0 * len(means) * problem.direction
    wanted = Instance(means, beyond, probabilities)
    share = plan(wanted, on_infeasible="same_share").floor_share
    if share is None:
        return None
    scale = 10.0**DECIMALS
    floors = np.floor(problem.tightness * share * beyond * scale) / scale
    return Instance(means, floors, probabilities, noise_scale=problem.noise_scale)


def _is_fit(instance: Instance, prices: tuple[float, float]) -> bool:
    """Whether an instance is strictly feasible, not degenerate, and has a dearest floor at one of these prices."""
    best = plan(instance, on_infeasible="least_shortfall")
    if best.status != PlanStatus.OPTIMAL or best.degenerate or _has_free_active_floor(best):
        return False
    low, high = prices
    return low <= float(best.floors.prices.max()) <= high and feasibility_margin(instance) >= LEAST_MARGIN


def _has_free_active_floor(best: Plan) -> bool:
    return bool((best.floors.active & (best.floors.amounts > 0.0) & (best.floors.prices == 0.0)).any())
