"""What was tried in place of parts of PricedLP, on the tuning half: python -m benchmarks.variants.

A variant is PricedLP with some of its kernels, constants and dials replaced. All meet the same contexts and noise on
the same instances. A line of the table has a variant's R + vV after 50,000 rounds over that of PricedLP, geometric
means by family with their standard errors over instances, and the largest R + V of a run. Results are kept in a folder;
a run that was interrupted goes on where it stopped.
"""

import argparse
import enum
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arcbandit.cli.benchmark import LogLines
from arcbandit.compilation.compile import bound, kernel, rare_kernel
from arcbandit.kernels.confidence import ByPair
from arcbandit.kernels.counter import Purpose, standard_normal
from arcbandit.kernels.planner import price_of_arm
from arcbandit.kernels.program import NO_FLOOR
from arcbandit.learning.families import FAMILIES as ALL_FAMILIES
from arcbandit.learning.play import Plan, play
from arcbandit.learning.results import TUNING, FamilyResults
from arcbandit.learning.scores import LEAST_SUM, Floats, in_common
from arcbandit.policies import priced_lp
from arcbandit.policies.configuration import Configuration
from arcbandit.policies.priced_lp import (
    BONUS_HEAD_START,
    MEAN_HEAD_START,
    MOST_SHORTFALL_PRICE,
    ByFloor,
    FloorScratch,
    PairScratch,
    PricedLP,
    Total,
)

FAMILIES = ("paper", "small", "large", "dear", "rare")
PLAIN = "priced-lp"
DECORATORS = {"kernel": kernel, "rare_kernel": rare_kernel}
PRIOR_PLAYS = 4.0  # that the noise scale counts for, beside the squares of a pair's rewards
MORE_PRIOR = 4.0
FADES_FROM = 16.0  # plays, from which on the reach of prices fades
# Means, floors and margins as in the two versions of the rule that were found first, without what came later.
AS_FOUND = {"price_reach": 0.0, "price_caution": 0.0, "count_floor": 0.0}

# Names that kernels of this file are bound to.
drawing_allocate: Any = None
usual_logarithms: Any = None
usual_bonus: Any = None
usual_prior: Any = None


def plain(function: Any) -> Any:
    """The Python function of a kernel."""
    return getattr(function, "py_func", function)


def varied(**changes: Any) -> Any:
    """PricedLP's `allocate`, in which these names of its module mean something else wherever they are used.

    Kernels that use them are bound again in the order in which the module defines them, callees before callers.
    """
    unknown = set(changes).difference(vars(priced_lp))
    if unknown:
        raise ValueError(f"Names to change must be those of {priced_lp.__name__}, got {', '.join(sorted(unknown))}.")
    changed = dict(changes)
    for name, function in vars(priced_lp).items():
        code = getattr(plain(function), "__code__", None)
        if code is None or plain(function).__module__ != priced_lp.__name__ or name in changes:
            continue
        used = {one: changed[one] for one in code.co_names if one in changed}
        if used:
            changed[name] = bound(DECORATORS[getattr(function, "made_by", "kernel")], plain(function), **used)
    return changed["allocate"]


# The first version: means as they are, margins on the floors instead of in the revenues, errors of the last plan.


@kernel
def write_plain_means(learner):
    """Means as they are; a pair never played has the average of all, and counts as played once."""
    by_pair, scratch = learner.statistics.by_pair, learner.memory.scratch_by_pair
    centre = learner.memory.totals[Total.CENTRE]
    n_arms, n_contexts = learner.allocation.shape
    head_start = MEAN_HEAD_START * (learner.settings[0].noise_scale + abs(centre)) / learner.allocation.size
    for arm in range(n_arms):
        for context in range(n_contexts):
            n = by_pair[ByPair.PULLS, arm, context]
            mean = by_pair[ByPair.MEAN, arm, context]
            if n == 0.0:
                n = 1.0
                mean = centre + head_start * (arm * n_contexts + context)
            scratch[PairScratch.PULLS, arm, context] = n
            scratch[PairScratch.INVERSE, arm, context] = 1.0 / n
            scratch[PairScratch.MEAN, arm, context] = mean
            scratch[PairScratch.REVENUE, arm, context] = mean


@kernel
def write_raised_floors(learner):
    """Every floor with its margin."""
    floors, memory = learner.problem.floors, learner.memory
    written = memory.scratch_by_floor[FloorScratch.FLOOR]
    for row in range(floors.shape[0]):
        written[row] = floors[row]
        if floors[row] != NO_FLOOR:
            written[row] += memory.by_floor[ByFloor.MARGIN, row] * memory.by_floor[ByFloor.ERROR, row]


@kernel
def write_errors_of_last_plan(learner):
    """The standard error of each floor's revenue under the plan at hand."""
    memory, problem = learner.memory, learner.problem
    inverses, errors = memory.scratch_by_pair[PairScratch.INVERSE], memory.by_floor[ByFloor.ERROR]
    n_arms, n_contexts = learner.allocation.shape
    for row in range(errors.shape[0]):
        errors[row] = 0.0
    for arm in range(n_arms):
        variance = 0.0
        for context in range(n_contexts):
            played = problem.context_probabilities[context] * learner.allocation[arm, context]
            variance += played * played * inverses[arm, context]
        for place in range(problem.arm_rows.shape[1]):
            row = problem.arm_rows[arm, place] - 1
            if row >= 0:
                errors[row] += variance
    for row in range(errors.shape[0]):
        errors[row] = learner.settings[0].noise_scale * math.sqrt(errors[row])


@kernel
def no_cost(average, share, target, unit):
    """In place of the average of what exploring costs, which this version leaves out of its margins."""
    return 0.0


# Draws in place of radii: the bonus of a pair is at its price, times how far its mean may be off by a draw.


@kernel
def write_draws(learner, t, exploration, dearest, whole):
    """Write (1 + price) / A times sigma N(0, 1) / sqrt(n), of draws in the row of reaches; or the `whole` radius."""
    scratch = learner.memory.scratch_by_pair
    n_arms, n_contexts = learner.allocation.shape
    all_of_it = math.sqrt(2.0 * math.log(2.0 * learner.allocation.size * t))
    for arm in range(n_arms):
        factor = (1.0 + price_of_arm(learner.planner, arm)) * learner.settings[0].noise_scale / dearest
        for context in range(n_contexts):
            n = learner.statistics.by_pair[ByPair.PULLS, arm, context]
            times = all_of_it if whole or n == 0.0 else scratch[PairScratch.REACH, arm, context]
            scratch[PairScratch.BONUS, arm, context] = (
                factor * times * math.sqrt(scratch[PairScratch.INVERSE, arm, context])
            )


def allocate_by_draws(learner, context, t, stream):
    """Draw for every pair, then allocate."""
    reach = learner.memory.scratch_by_pair[PairScratch.REACH]
    n_arms, n_contexts = reach.shape
    for arm in range(n_arms):
        for column in range(n_contexts):
            index = arm * n_contexts + column
            reach[arm, column] = standard_normal(stream.seed, stream.epoch, stream.number, Purpose.POLICY, index)
    return drawing_allocate(learner, context, t, stream)


# Radii by the variance of a pair's own rewards.


class Kept(enum.IntEnum):
    """What is kept per pair."""

    PLAN = 0
    SQUARES = 1  # squared deviations of the rewards from their mean, summed


@kernel
def learn_squares(learner, context, arm, reward):
    """Add to the squared deviations, by Welford's rule; the mean is already the new one."""
    pulls = learner.statistics.by_pair[ByPair.PULLS, arm, context]
    if pulls > 1.0:
        deviation = reward - learner.statistics.by_pair[ByPair.MEAN, arm, context]
        learner.memory.by_pair[Kept.SQUARES, arm, context] += deviation * deviation * pulls / (pulls - 1.0)


def write_counted_by_variance(learner, t):
    """The usual, times a pair's variance over that of the noise, which stands for some plays beside it.

    What many visits add comes after, and is not scaled.
    """
    scratch, by_pair = learner.memory.scratch_by_pair, learner.statistics.by_pair
    noise = learner.settings[0].noise_scale ** 2
    n_arms, n_contexts = learner.allocation.shape
    usual_logarithms(learner, t)
    for context in range(n_contexts):
        scratch[PairScratch.COUNTED_PRIOR, 0, context] = -1.0  # the next call computes the usual ones again
        for arm in range(n_arms):
            n = by_pair[ByPair.PULLS, arm, context]
            own = learner.memory.by_pair[Kept.SQUARES, arm, context] + PRIOR_PLAYS * noise
            scratch[PairScratch.COUNTED, arm, context] *= own / ((max(n - 1.0, 0.0) + PRIOR_PLAYS) * noise)


# Radii by the visits per play of a context's average pair, as in rules that are minimax optimal.


def write_counted_by_arms(learner, t):
    """The usual, of log(1 + N / (K n)) instead of log(1 + N / n); what is added to either is the same."""
    scratch = learner.memory.scratch_by_pair
    n_arms, n_contexts = learner.allocation.shape
    usual_logarithms(learner, t)
    for context in range(n_contexts):
        scratch[PairScratch.COUNTED_PRIOR, 0, context] = -1.0  # the next call computes the usual ones again
        for arm in range(n_arms):
            visits = scratch[PairScratch.VISITS, 0, context] * scratch[PairScratch.INVERSE, arm, context]
            scratch[PairScratch.COUNTED, arm, context] += math.log((1.0 + visits / n_arms) / (1.0 + visits))


# Means that are shrunk less or more: a prior of other plays than the noise over the spread of the means.


def shrink_by_less(learner, t):
    """The usual prior, of a hundredth of its plays."""
    usual_prior(learner, t)
    learner.memory.totals[Total.PRIOR] *= 0.01


def shrink_by_more(learner, t):
    """The usual prior, of four times its plays, of which there are four at most then."""
    usual_prior(learner, t)
    learner.memory.totals[Total.PRIOR] *= MORE_PRIOR


# What else radii could be: logarithms that count three times for fewer plays, and a reach of prices that fades.


@kernel
def counted_of_fewer(logarithm, inverse):
    """L + 2 h (L - 4)_+, with h = 1 up to two plays."""
    return logarithm + 2.0 * max(logarithm - 4.0, 0.0) * min(2.0 * inverse, 1.0)


def write_bonus_that_fades(learner, t, exploration, dearest, whole):
    """The usual bonus, with a reach of prices that is less of pairs with many plays, in proportion."""
    scratch = learner.memory.scratch_by_pair
    further = 2.0 * learner.dials[0].price_reach * math.log(dearest)
    step = BONUS_HEAD_START / learner.allocation.size
    n_arms, n_contexts = learner.allocation.shape
    usual_bonus(learner, t, exploration, dearest, whole)
    for arm in range(n_arms):
        factor = (1.0 + price_of_arm(learner.planner, arm)) * learner.settings[0].noise_scale / dearest
        for context in range(n_contexts):
            inverse = scratch[PairScratch.INVERSE, arm, context]
            if FADES_FROM * inverse < 1.0:
                factor_here = factor * (1.0 + step * (arm * n_contexts + context))
                square = (scratch[PairScratch.BONUS, arm, context] / factor_here) ** 2
                square -= further * inverse * (1.0 - FADES_FROM * inverse)
                scratch[PairScratch.BONUS, arm, context] = factor_here * math.sqrt(max(square, 0.0))


@kernel
def one_price(t, weight):
    """M of the first round, in every round."""
    return MOST_SHORTFALL_PRICE


@kernel
def keep_margins(learner):
    """Leave no margins out, or put none back."""
    return False


@kernel
def explore_in_all(learner, rounds):
    """Leave a plan that stands for many rounds as it is."""


# The parts that came after the two versions: how logarithms count, what becomes of floors that can barely be met, and
# that averages move in every other round.
LATER: dict[str, Any] = {
    "LEFT_ALONE": math.inf,
    "GAIN": 0.0,
    "MOST_OF_MISSED": math.inf,
    "MOST_RISE": math.inf,
    "leave_margins_out": keep_margins,
    "ROUNDS_PER_MOVE": 1,
}


class Variant(NamedTuple):
    """A rule to be compared with PricedLP, and its dials."""

    about: str
    allocate: Any
    dials: Mapping[str, float] = {}
    learn: Callable[..., Any] | None = None

    def configured(self, name: str, weight: float, rounds: int = 1) -> Configuration:
        """The rule, with a weight of violation, and plans that stand for so many rounds."""
        parts: dict[str, Any] = {"name": name, "__doc__": self.about, "allocate": staticmethod(self.allocate)}
        if self.learn is not None:
            parts |= {"learn": staticmethod(self.learn), "rows": PricedLP.rows._replace(by_pair=Kept)}
        rule = type(PricedLP)("Variant", (PricedLP,), parts)
        made: Configuration = rule(violation_weight=weight, **standing(rounds), **self.dials)
        return made


def standing(rounds: int) -> dict[str, Any]:
    """The setting for plans that stand for so many rounds."""
    return {} if rounds == 1 else {"replan": rounds}


def variants() -> dict[str, Variant]:
    """All of them, by name."""
    margins = bound(
        kernel,
        plain(priced_lp.set_margins),
        write_errors=write_errors_of_last_plan,
        moved=no_cost,
        MOST_RISE=math.inf,
    )
    first = varied(
        write_means=write_plain_means,
        write_floors=write_raised_floors,
        set_margins=margins,
        **LATER,
    )
    draws = bound(kernel, allocate_by_draws, drawing_allocate=varied(write_bonus=write_draws))
    by_variance = bound(kernel, write_counted_by_variance, usual_logarithms=priced_lp.write_counted)
    by_arms = bound(kernel, write_counted_by_arms, usual_logarithms=priced_lp.write_counted)
    less_prior, more_prior = (
        bound(rare_kernel, one, usual_prior=priced_lp.shrink) for one in (shrink_by_less, shrink_by_more)
    )
    fades = bound(kernel, write_bonus_that_fades, usual_bonus=priced_lp.write_bonus)
    return {
        "first": Variant("first version, as found", first, AS_FOUND),
        "first-0.85": Variant("first version, exploration 0.85", first, {**AS_FOUND, "exploration": 0.85}),
        "second": Variant("second version, as found", varied(**LATER), AS_FOUND),
        "draws": Variant("draws in place of radii", draws),
        "variances": Variant(
            "radii by each pair's own variance", varied(write_counted=by_variance), learn=learn_squares
        ),
        "arms": Variant("visits per play of a context's average pair", varied(write_counted=by_arms)),
        "less-prior": Variant("a prior of a hundredth of its plays", varied(shrink=less_prior)),
        "more-prior": Variant("a prior of four times its plays", varied(shrink=more_prior, MOST_PRIOR=MORE_PRIOR)),
        "less": Variant("exploration 0.6", priced_lp.allocate, {"exploration": 0.6}),
        "more": Variant("exploration 0.85", priced_lp.allocate, {"exploration": 0.85}),
        "once": Variant("no logarithm counts twice", varied(LEFT_ALONE=math.inf, GAIN=0.0)),
        "twice": Variant("logarithms count twice whatever the plays", varied(FEW_PLAYS=math.inf)),
        "fewer": Variant("three times beyond 4, up to two plays", varied(counted=counted_of_fewer)),
        "fades": Variant("a reach of prices that fades with plays", varied(write_bonus=fades)),
        "one-price": Variant("a missed floor costs the same in every round", varied(shortfall_price=one_price)),
        "few-visits": Variant("radii that do not grow with many visits", varied(GAIN=0.0)),
        "later": Variant("radii that grow from the same number of visits on at any price", varied(SOONER=0.0)),
        "asked": Variant("no margin is left out", varied(leave_margins_out=keep_margins, MOST_RISE=math.inf)),
        "out": Variant("margins are left out though floors are missed", varied(put_margins_back=keep_margins)),
        "missed": Variant("a missed floor's price counts in full", varied(MOST_OF_MISSED=math.inf)),
        "unbound": Variant(
            "neither of these two",
            varied(leave_margins_out=keep_margins, MOST_RISE=math.inf, MOST_OF_MISSED=math.inf),
        ),
        "stands": Variant("plans explore as long as they stand", varied(explore_in_proportion=explore_in_all)),
        "no-counts": Variant("no count floor", priced_lp.allocate, {"count_floor": 0.0}),
    }


def cell(found: FamilyResults, name: str, weight: float) -> str:
    """R + v V over PricedLP's with its standard error over instances, and the largest R + V of a run."""
    pairs = in_common(found, name, PLAIN)
    sums = np.array([[row.regret + weight * row.violation for row in pair] for pair in pairs]).reshape(-1, 2)
    ratio, error = geometric_mean_of_ratios(sums)
    worst = max(row.worst for row in found.of(name).values())
    around = f" ± {error:.2f}" if error > 0.0 else ""
    return f"{ratio:.2f}{around} ({worst:,.0f})"


def geometric_mean_of_ratios(sums: Floats) -> tuple[float, float]:
    """Of the first column over the second, with its standard error; none of a single row."""
    mine, its = np.maximum(sums, LEAST_SUM).T
    logarithms = np.log(mine / its)
    mean = math.exp(logarithms.mean())
    return mean, mean * logarithms.std(ddof=1) / math.sqrt(len(logarithms)) if len(logarithms) > 1 else math.nan


def main(arguments: Sequence[str]) -> None:
    """Play the variants named on the command line, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = variants()
    parser.add_argument("variants", nargs="*", help=f"by default all: {', '.join(known)}")
    parser.add_argument("--family", action="append", default=[], choices=ALL_FAMILIES, help="all but `many` by default")
    parser.add_argument("--weight", type=float, default=1.0)
    parser.add_argument("--replan", type=int, default=1, help="rounds that a plan stands for; see the variant `stands`")
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--horizon", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0, help="of the tuning half")
    parser.add_argument("--out", type=Path, default=Path("variants"))
    parser.add_argument("--again", action="store_true", help="play again what is there: the rule has changed since")
    given = parser.parse_args(arguments)
    unknown = set(given.variants).difference(known)
    if unknown:
        parser.error(f"variants must be among {', '.join(known)}, got {', '.join(sorted(unknown))}.")
    chosen = {name: known[name] for name in given.variants or known}
    contestants: dict[str, Any] = {PLAIN: PricedLP(violation_weight=given.weight, **standing(given.replan))}
    contestants |= {name: one.configured(name, given.weight, given.replan) for name, one in chosen.items()}
    families = tuple(given.family or FAMILIES)
    size = given.instances, given.epochs, given.horizon
    plan = Plan(TUNING, families, contestants, *size, seed=given.seed, again=given.again)
    watch = LogLines()
    beside = (f"-seed-{given.seed}" if given.seed else "") + (f"-replan-{given.replan}" if given.replan > 1 else "")
    folder = given.out / f"weight-{given.weight:g}{beside}"
    found = play(plan, folder, "python -m benchmarks.variants", watch)
    if not watch.total:
        print(f"{folder} has all of this already; --again plays it again.", file=sys.stderr)
    print("| in place of a part |", " | ".join(families), "|")
    print("|---|" + "---|" * len(families))
    for name, about in {PLAIN: "(PricedLP)", **{name: one.about for name, one in chosen.items()}}.items():
        print(f"| {about} |", " | ".join(cell(found[family], name, given.weight) for family in families), "|")


if __name__ == "__main__":
    main(sys.argv[1:])
