"""What the rule that we recommend must hold, measured: kept or missed, with figures."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from arcbandit.learning.contestants import CAREFUL, CAUTIOUS, DEFAULT, JUDGED, SAMPLER
from arcbandit.learning.families import FAMILIES, RANDOM
from arcbandit.learning.results import FamilyResults, Results
from arcbandit.learning.scores import LINEAR, beats_both, growth, interval, quotients, ratios

# What they are about is runs of so many rounds, and at least so many instances of a family and epochs of each.
LEAST_ROUNDS = 50_000
LEAST_INSTANCES, LEAST_EPOCHS = 20, 8
OTHERWISE = " and ".join(
    f"{FAMILIES[name].size(LEAST_INSTANCES)} and {FAMILIES[name].epochs(LEAST_EPOCHS)} of `{name}`"
    for name in ("paper", "many")
)
SCALE = (
    f"of {LEAST_ROUNDS:,} rounds or more, {LEAST_INSTANCES} instances of a family and {LEAST_EPOCHS} epochs of each or "
    f"more ({OTHERWISE})"
)

AGAINST_DEFAULT = 0.6
AGAINST_SAMPLER = 0.8
LEAST_SHARE = 0.99
WORST_RATIO = 1.2
CAREFUL_VIOLATION = 1.0
CAREFUL_REGRET = 0.7

NAMES = {JUDGED: "PricedLP", CAREFUL: "PricedLP, weight 10", DEFAULT: "BLP", SAMPLER: "ThompsonLP", CAUTIOUS: "OPLP"}
NOWHERE: Mapping[str, str] = {}
SUMS = {"total": "R + V", "violation": "V", "regret": "R"}


class Verdict(NamedTuple):
    """Whether a requirement is kept, and the figures; None if too little was played to say so."""

    sentence: str
    kept: bool | None
    figures: str

    @property
    def word(self) -> str:
        """How it stands."""
        return {True: "kept", False: "missed", None: "incomplete"}[self.kept]


def verdicts(results: Results) -> tuple[Verdict, ...]:
    """Every requirement; what was played too little has figures, but no say."""
    enough = {family: played_enough(found) for family, found in results.items()}
    judged = _verdicts({family: found for family, found in enough.items() if found.rows})
    return tuple(one._replace(kept=other.kept) for one, other in zip(_verdicts(results), judged, strict=True))


def played_enough(found: FamilyResults) -> FamilyResults:
    """The results of those policies that were played at the scale that requirements are about."""
    settings, family = found.settings, FAMILIES[found.settings.family]
    if settings.horizon < LEAST_ROUNDS or settings.epochs < family.epochs(LEAST_EPOCHS):
        return FamilyResults(settings)
    least = family.size(LEAST_INSTANCES)
    played = {policy for policy in found.policies if len(found.of(policy)) >= least}
    return FamilyResults(settings, [row for row in found.rows if row.policy in played])


def _verdicts(results: Results) -> tuple[Verdict, ...]:
    return (
        _at_most(results, RANDOM, JUDGED, DEFAULT, "total", AGAINST_DEFAULT),
        _at_most(results, RANDOM, JUDGED, SAMPLER, "total", AGAINST_SAMPLER),
        _better_than_both(results),
        _never_much_worse(results),
        _never_linear(results),
        _at_most(results, FAMILIES, CAREFUL, CAUTIOUS, "violation", CAREFUL_VIOLATION),
        _at_most(results, FAMILIES, CAREFUL, CAUTIOUS, "regret", CAREFUL_REGRET),
    )


def _at_most(results: Results, families: Iterable[str], policy: str, other: str, metric: str, limit: float) -> Verdict:
    """The geometric mean of a sum is at most `limit` times another policy's, in each of some families."""
    wanted = tuple(families)
    which = "every random family" if wanted == RANDOM else "every family"
    share = "at most" if limit == 1.0 else f"at most {limit:g} of"
    sentence = f"{SUMS[metric]} of {NAMES[policy]} is {share} {NAMES[other]}'s on {which}"
    found = {family: quotients(results[family], policy, other, metric) for family in wanted if family in results}
    means = {family: one.mean for family, values in found.items() if (one := ratios(values))}
    between = {}
    for family in means:
        low, high = interval(found[family])
        between[family] = "" if math.isnan(low) else f" ({low:.2f} to {high:.2f})"
    return _verdict(sentence, means, limit, len(wanted), between)


def _verdict(
    sentence: str, measured: Mapping[str, float], limit: float, wanted: int, between: Mapping[str, str] = NOWHERE
) -> Verdict:
    """Missed if a family is above the limit; kept if none is, and all that are wanted were measured."""
    told = (f"{family} {value:.2f}{between.get(family, '')}" for family, value in measured.items())
    figures = ", ".join(told) or "nothing was played"
    if any(value > limit for value in measured.values()):
        return Verdict(sentence, False, figures)
    return Verdict(sentence, True if len(measured) == wanted else None, figures)


def _better_than_both(results: Results) -> Verdict:
    sentence = f"{NAMES[JUDGED]} is better than both OLP and OPLP on at least {LEAST_SHARE:.0%} of the instances"
    counts = [count for found in results.values() if (count := beats_both(found, JUDGED)) is not None]
    better, instances = (sum(one[place] for one in counts) for place in (0, 1))
    kept = bool(better >= LEAST_SHARE * instances)
    complete = len(counts) == len(FAMILIES)
    return Verdict(sentence, None if kept and not complete else kept, f"{better:,} of {instances:,}")


def _never_much_worse(results: Results) -> Verdict:
    sentence = f"R + V of {NAMES[JUDGED]} is at most {WORST_RATIO:g} times {NAMES[DEFAULT]}'s on every instance"
    found = {family: ratios(quotients(one, JUDGED, DEFAULT)) for family, one in results.items()}
    return _verdict(sentence, {family: one.worst for family, one in found.items() if one}, WORST_RATIO, len(FAMILIES))


def _never_linear(results: Results) -> Verdict:
    sentence = f"No run of {NAMES[JUDGED]} that is steep at the horizon stays above an exponent of {LINEAR:g}"
    measured = {
        family: growth(rows.values(), found.settings.epochs)
        for family, found in results.items()
        if (rows := found.of(JUDGED))
    }
    runs, steep, played_on, linear = (sum(one[place] for one in measured.values()) for place in range(4))
    figures = f"{steep:,} of {runs:,} runs steep"
    largest = max((one.largest for one in measured.values() if not math.isnan(one.largest)), default=math.nan)
    if played_on:
        figures += f", {played_on:,} played on, {linear:,} above {LINEAR:g}, largest {largest:.2f}"
    if linear:
        return Verdict(sentence, False, figures)
    complete = len(measured) == len(FAMILIES) and played_on == steep
    return Verdict(sentence, True if complete else None, figures)
