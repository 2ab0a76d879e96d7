"""The tables of the benchmark, for a terminal and for a page."""

import math
from collections.abc import Sequence

from arcbandit.estimates import NOT_A_NUMBER
from arcbandit.learning.contestants import CLAIRVOYANT, CLAIRVOYANT_WITH_MARGINS, shown_as
from arcbandit.learning.results import Results
from arcbandit.learning.scores import METRICS, Ratios, Score, scores, to_clairvoyant
from arcbandit.report.tables import NumberTable
from arcbandit.showing import counted

# Heading -> what it is.
COLUMNS = {
    "R": "regret, geometric mean over instances of the mean over epochs",
    "V": "violation, likewise",
    "R + V": "both of each instance together, likewise, which is not the sum of the two columns before",
    "/BLP": "R + V over BLP's on the same instance: geometric mean",
    "worst": "the largest of these ratios",
    "/limit": "R + V over the least that learning leaves any policy near the instance at large T, V with a weight of "
    "1: geometric mean over instances with such a limit above 1 (none is known with Bernoulli rewards)",
    "beats": "share of instances on which R + V is below both OLP's and OPLP's",
    "steep": "share of runs whose R + V grew with an exponent above 0.8 from T/5 to T",
    "late": "of those that were played on to 10 T, the largest exponent from 2 T on",
}
CLAIRVOYANT_COLUMNS = {
    "mean": "R + V over the clairvoyant's on the same instance: geometric mean",
    "median": "median of these ratios",
    "90 %": "what nine in ten of them do not exceed",
    "worst": "the largest",
}
PAGE_COLUMNS = {
    "R + V": "over the clairvoyant's on the same instance: geometric mean / median / what nine in ten ratios do not "
    "exceed / the largest",
    "R": "the same of regret",
    "V": "the same of violation",
}
CLAIRVOYANT_TITLES = {
    CLAIRVOYANT_WITH_MARGINS: "the clairvoyant with newsvendor margins",
    CLAIRVOYANT: "the clairvoyant with plain floors",
}


def family_tables(results: Results) -> list[NumberTable]:
    """A table for each family: a row per policy, the one that loses least first."""
    tables = []
    for family, found in results.items():
        rows = [_row(one, found.instances) for one in scores({family: found})]
        epochs, horizon = counted(found.settings.epochs, "epoch"), counted(found.settings.horizon, "round")
        size = f"{counted(found.instances, 'instance')}, {epochs} of {horizon}"
        tables.append(NumberTable(f"{family}: {size}", ("policy", *COLUMNS), tuple(rows)))
    return tables


def clairvoyant_tables(results: Results) -> list[NumberTable]:
    """Ratios to each clairvoyant, for each family where it was played."""
    tables = []
    for clairvoyant, title in CLAIRVOYANT_TITLES.items():
        rows = []
        for one in scores(results):
            found = one.to_clairvoyants[clairvoyant]
            if found and one.policy != clairvoyant:
                cells = (" / ".join(_numbers(found[metric])) for metric in METRICS)
                rows.append((one.family, shown_as(one.policy), str(found["total"].instances), *cells))
        if rows:
            tables.append(
                NumberTable(
                    f"R + V, R and V over those of {title}",
                    ("family", "policy", "instances", *PAGE_COLUMNS),
                    tuple(rows),
                )
            )
    return tables


def pooled_clairvoyant_tables(results: Results) -> list[NumberTable]:
    """The same over the instances of all families together, for a terminal."""
    policies = sorted({policy for found in results.values() for policy in found.policies})
    tables = []
    for clairvoyant, title in CLAIRVOYANT_TITLES.items():
        compared = {policy: to_clairvoyant(results.values(), policy, clairvoyant).get("total") for policy in policies}
        found = sorted((one.mean, policy, one) for policy, one in compared.items() if one and policy != clairvoyant)
        rows = [(shown_as(policy), str(one.instances), *_numbers(one)) for _, policy, one in found]
        if rows:
            tables.append(
                NumberTable(f"R + V over that of {title}", ("policy", "instances", *CLAIRVOYANT_COLUMNS), tuple(rows))
            )
    return tables


def _row(one: Score, instances: int) -> tuple[str, ...]:
    beats = one.beats_both
    # Means over other instances than those of the other rows are not to be compared with theirs.
    fewer = f" ({one.instances} of {instances})" if one.instances < instances else ""
    return (
        shown_as(one.policy) + fewer,
        *(amount(value) for value in (one.regret, one.violation, one.total)),
        *((NOT_A_NUMBER,) * 2 if one.to_default is None else (ratio(one.to_default.mean), ratio(one.to_default.worst))),
        NOT_A_NUMBER if one.to_limit is None else ratio(one.to_limit),
        NOT_A_NUMBER if beats is None else share(beats[0] / beats[1]),
        share(one.growth.share),
        NOT_A_NUMBER if math.isnan(one.growth.largest) else ratio(one.growth.largest),
    )


def _numbers(found: Ratios) -> Sequence[str]:
    return [ratio(value) for value in found[1:]]


def amount(value: float) -> str:
    """A sum of many rounds: no decimals, unless it is small."""
    return NOT_A_NUMBER if math.isnan(value) else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def ratio(value: float) -> str:
    """Three digits, or fewer decimals where it is large."""
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def share(value: float) -> str:
    """A percentage; only 0 reads as 0% and only 1 as 100%."""
    if math.isnan(value):
        return NOT_A_NUMBER
    if value in (0.0, 1.0):
        return f"{value:.0%}"
    return f"{min(max(100 * value, 0.1), 99.9):.1f}%"
