"""The pictures of the benchmark."""

from collections.abc import Sequence

import numpy as np

from arcbandit.learning.contestants import BASELINES, CLAIRVOYANTS, COMPARED, DEFAULT, DIALS, JUDGED, shown_as
from arcbandit.learning.families import RANDOM
from arcbandit.learning.results import FamilyResults, Results
from arcbandit.learning.scores import better_than, geometric_mean, quotients, ratios
from arcbandit.report.charts import Chart, Line

WIDE = (5.2, 2.9)
TALL = (4.2, 3.4)
STRIP = 0.6  # of the height of a family's row, over which the marks of policies are spread
NAMED = (JUDGED, "linear-program")  # rules whose dials are named where their lines end: names of all would overlap


def order(results: Results) -> list[str]:
    """The policies of all families that charts show, those that are always compared first.

    A baseline is shown if it is better than the policy that is judged in some family.
    """
    lost = set(BASELINES).difference(better_than(results, JUDGED, BASELINES))
    found = {policy for one in results.values() for policy in one.policies}.difference(lost)
    return [*(label for label in COMPARED if label in found), *sorted(found.difference(COMPARED))]


def _places(labels: Sequence[str]) -> dict[str, int | None]:
    """The colours of policies: a variant, which a line would show by its style, has one of its own as well."""
    variants = [label for label in labels if ":" in label or label in CLAIRVOYANTS]
    return {label: 7 + variants.index(label) if label in variants else None for label in labels}


def relative_chart(results: Results) -> Chart:
    """R + V relative to BLP's, by family and policy."""
    families = list(results)
    labels = [label for label in order(results) if label != DEFAULT]
    places = _places(labels)
    lines, words = [], []
    for label in labels:
        found = {row: ratios(quotients(results[family], label, DEFAULT)) for row, family in enumerate(families)}
        shown = {row: one.mean for row, one in found.items() if one is not None}
        if shown:
            xs, name = list(shown.values()), shown_as(label)
            above = STRIP * (labels.index(label) / max(len(labels) - 1, 1) - 0.5)
            ys = [row + above for row in shown]  # marks of equal values would hide each other
            lines.append(Line(name, xs, ys, place=places[label], marks=True, joined=False))
            words.append(f"{name}: {', '.join(f'{families[row]} {mean:.2f}' for row, mean in shown.items())}.")
    return Chart(
        "R + V relative to BLP's",
        "geometric mean over instances; BLP is 1, less is better",
        "",
        tuple(lines),
        guides=(Line("BLP", (1.0, 1.0), (-0.5, len(families) - 0.5)),),
        x_log=True,
        y_names=tuple(families),
        in_a_list=True,
        in_words=" ".join(words),
        size=WIDE,
    )


def tail_chart(results: Results) -> Chart:
    """The share of instances on which R + V is at most a multiple of BLP's, over all random families."""
    lines = []
    labels = [label for label in order(results) if label != DEFAULT and label not in CLAIRVOYANTS]
    places = _places(labels)
    for label in labels:
        parts = [quotients(results[family], label, DEFAULT) for family in RANDOM if family in results]
        values = np.sort(np.concatenate(parts)) if parts else np.zeros(0)
        if values.size:
            shares = np.arange(1, values.size + 1) / values.size
            lines.append(Line(shown_as(label), values, shares, place=places[label]))
    return Chart(
        "From the best instance to the worst",
        "R + V relative to BLP's on the same instance",
        "share of instances at or below",
        tuple(lines),
        x_log=True,
        in_a_list=True,
        in_words="Largest ratios: " + ", ".join(f"{line.label} {float(np.max(line.x)):.2f}" for line in lines) + ".",
        size=TALL,
    )


def frontier_chart(found: FamilyResults) -> Chart:
    """Regret against violation while a rule's dial is turned, on one family."""
    lines, words = [], []
    for place, dial in enumerate(DIALS):
        points = {}
        for value in dial.values:
            rows = found.of(dial.label_at(value)).values()
            if rows:
                sums = ([row.violation for row in rows], [row.regret for row in rows])
                points[f"{value:g}"] = tuple(geometric_mean(values) for values in sums)
        if points:
            violation, regret = zip(*points.values(), strict=True)
            ends = {0, len(points) - 1} if dial.rule in NAMED else set()
            names = tuple(value if number in ends else "" for number, value in enumerate(points))
            lines.append(
                Line(dial.label, violation, regret, place=place, marks=True, point_names=names if any(names) else ())
            )
            told = (f"at {value} V {one[0]:.3g} and R {one[1]:.3g}" for value, one in points.items())
            words.append(f"{dial.label}: {', '.join(told)}.")
    return Chart(
        f"R against V: {found.settings.family}",
        "violation V, geometric mean",
        "regret R, geometric mean",
        tuple(lines),
        x_log=True,
        y_log=True,
        in_a_list=True,
        in_words=" ".join(words),
        size=TALL,
    )
