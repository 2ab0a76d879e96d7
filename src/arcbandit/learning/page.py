"""The page of the benchmark: what was found, in a sentence and a picture first, then everything."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from arcbandit.learning.charts import frontier_chart, relative_chart, tail_chart
from arcbandit.learning.contestants import (
    CAREFUL,
    CLAIRVOYANTS,
    DEFAULT,
    DIALS,
    JUDGED,
    PLAYED,
    PLAYED_ON,
    SAMPLER,
    shown_as,
)
from arcbandit.learning.families import FAMILIES, LEAST_PRICE, RANDOM, SPENT_SEEDS
from arcbandit.learning.play import EARLIER, LATE, STEEP
from arcbandit.learning.requirements import SCALE, verdicts
from arcbandit.learning.results import FRONTIER, SCORED, TUNING, FamilyResults, Results
from arcbandit.learning.scores import LEAST_SUM, better_than, quotients, ratios
from arcbandit.learning.tables import COLUMNS, PAGE_COLUMNS, clairvoyant_tables, family_tables, ratio
from arcbandit.report.charts import Chart, alt_text
from arcbandit.report.figures import chart_file
from arcbandit.report.files import write_whole
from arcbandit.report.tables import NumberTable
from arcbandit.showing import counted

SUFFIX = ".md"
Parts = Mapping[str, Results]  # by name, as in PARTS


def write_page(target: Path, figures: Path, parts: Parts) -> None:
    """Write the page, and its figures into a folder."""
    text, charts = page_with_charts(target, figures, parts)
    figures.mkdir(parents=True, exist_ok=True)
    for path, chart in charts.items():
        write_whole(path, chart_file(chart, ".svg"))
    write_whole(target, text.encode())


def page_with_charts(target: Path, figures: Path, parts: Parts) -> tuple[str, dict[Path, Chart]]:
    """The page as it would be written there, and the charts that it shows by the files they go to."""
    shown = parts[SCORED] or parts[TUNING]
    charts = {"relative": relative_chart(shown), "tails": tail_chart(shown)}
    charts |= {f"frontier-{family}": frontier_chart(found) for family, found in parts[FRONTIER].items()}
    files = {name: figures / f"{name}.svg" for name, chart in charts.items() if chart.lines}
    images = {name: _image(charts[name], path, target) for name, path in files.items()}
    return page(parts, images), {path: charts[name] for name, path in files.items()}


def page(parts: Parts, images: dict[str, str]) -> str:
    """The page as Markdown."""
    scored, tuning, frontier = parts[SCORED], parts[TUNING], parts[FRONTIER]
    shown, half = (scored, SCORED) if scored else (tuning, TUNING)
    blocks = [
        "# How fast policies learn",
        _first_sentence(shown),
        images.get("relative", ""),
        f"This page is written by `arcbandit benchmark`, from the half `{half}` of the instances unless a section says "
        "otherwise. Regret R is revenue lost against the best plan, violation V what the floors lacked, both summed "
        "over the rounds in which there is any: a round that earns more makes up for none. T is the number of rounds, "
        "`v` the weight of violation against regret (`docs/theory.md` has what can be proved of R + v V). "
        "`arcbandit policies` says what each policy does. The pictures leave out "
        f"baselines, which the tables have, unless one is better than PricedLP somewhere.{_better(shown)}",
        "## What must hold",
        f"Requirements are about runs {SCALE}; in parentheses are 95 % intervals of geometric means over instances.",
        _verdicts(shown),
        *(["On the half `tuning`, for comparison:", _verdicts(tuning)] if scored and tuning else []),
        *_tails(images),
        *_frontier(frontier, images),
        "## Every family",
        *(_table(table) for table in family_tables(shown)),
        _terms(COLUMNS),
        *_clairvoyants(shown),
        "## Families",
        "\n".join(f"- `{family.name}`: {family.about}." for family in FAMILIES.values()),
        "An instance is a pure function of its family, its half, its number and the seed. Each is strictly feasible; "
        f"those of the random families are not degenerate and have an active floor at a price of {LEAST_PRICE:g} or "
        "more. The exact recipe "
        'is `src/arcbandit/learning/families.py`; `arcbandit.learning.families.drawn("small", "tuning", 0)` gives one.',
        "## What was tuned on what",
        "The constants of a rule may be chosen on the half `tuning`, and on nothing else. The half `scored` of a seed "
        f"is for a single run, after everything is fixed; {_when(scored)}. Families are the same in both halves, and "
        "the instances of `paper` too (with other noise): what nothing was tuned on are the instances of the random "
        "families. The frontiers are of the half `tuning`, on which PricedLP was tuned, and the others were not. Seeds "
        f"{_spent()} were played before, and rules changed after; whoever doubts that nothing was fitted to what is "
        "shown here plays instances that nobody has seen: `arcbandit benchmark --seed` with a number of their own.",
        "## How it was played",
        _settings(parts),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _first_sentence(results: Results) -> str:
    parts = []
    sizes: dict[str, int] = {}
    for other, name in ((DEFAULT, "BLP's"), (SAMPLER, "ThompsonLP's")):
        found = {
            family: one
            for family in RANDOM
            if family in results and (one := ratios(quotients(results[family], JUDGED, other))) is not None
        }
        if found:
            means = [one.mean for one in found.values()]
            low, high = min(means), max(means)
            parts.append(f"{ratio(low)} to {ratio(high)} of {name}" if low < high else f"{ratio(low)} of {name}")
            sizes |= {family: min(one.instances, sizes.get(family, one.instances)) for family, one in found.items()}
    if not parts:
        return "PricedLP was not played beside other policies on random families yet."
    families = f"{len(sizes)} {'family' if len(sizes) == 1 else 'families'}"
    return (
        f"**Over {families} of random instances, the regret and violation of PricedLP together are "
        f"{', and '.join(parts)}** (geometric means by family, of {_sizes(sizes)})."
    )


def _sizes(sizes: Mapping[str, int]) -> str:
    """How many instances of the random families were compared: those of most, then the others."""
    usual = max(sizes.values(), key=list(sizes.values()).count)
    others = [f"{size} of `{family}`" for family, size in sizes.items() if size != usual]
    return f"{counted(usual, 'instance')} each" + (f", but {', '.join(others)}" if others else "")


def _better(results: Results) -> str:
    """A sentence about policies that are better than the one that is judged somewhere."""
    others = [label for label in PLAYED if label not in (JUDGED, CAREFUL, *CLAIRVOYANTS)]
    found = better_than(results, JUDGED, others)
    if not found:
        return ""
    told = []
    for label, where in found.items():
        families = ", ".join(f"`{family}` ({ratio(mean)} of its R + V)" for family, mean in where.items())
        told.append(f"{shown_as(label)} on {families}")
    return f" Better than PricedLP is {'; '.join(told)}."


def _tails(images: dict[str, str]) -> list[str]:
    if "tails" not in images:
        return []
    return [
        "## From the best instance to the worst",
        "Each line has all instances of the random families, from those where a policy does best beside BLP to those "
        "where it does worst.",
        images["tails"],
    ]


def _spent() -> str:
    *first, last = (str(seed) for seed in SPENT_SEEDS)
    return f"{', '.join(first)} and {last}"


def _when(scored: Results) -> str:
    return (
        "what came out is above" if scored else "it has not been played yet: all that is above is of the half `tuning`"
    )


def _verdicts(results: Results) -> str:
    rows = tuple((one.sentence, f"**{one.word}**", one.figures) for one in verdicts(results))
    return _markdown(("requirement", "", "measured"), rows)


def _frontier(results: Results, images: dict[str, str]) -> list[str]:
    if not results:
        return []
    dials = "; ".join(f"`{one.dial}` of {one.rule}: {', '.join(f'{value:g}' for value in one.values)}" for one in DIALS)
    return [
        "## What a dial trades",
        "Regret against violation while one dial of a rule is turned, on the half `tuning`; further down and to the "
        f"left is better. The dials are: {dials}. Caution -1 is OPLP, 0 is BLP and 1 is OLP. "
        "The first two have the values of their dials where their lines end.",
        *(images.get(f"frontier-{family}", "") for family in results),
    ]


def _clairvoyants(results: Results) -> list[str]:
    tables = clairvoyant_tables(results)
    if not tables:
        return []
    return [
        "## Beside the clairvoyant",
        "A clairvoyant is told which pairs to play and which floors are met exactly, and estimates the shares alone; "
        "with newsvendor margins, it is also told the prices. Instances on which it loses less than "
        f"{LEAST_SUM:g} are left out.",
        *(_table(table) for table in tables),
        _terms(PAGE_COLUMNS),
    ]


def _settings(parts: Parts) -> str:
    lines = []
    for part, results in parts.items():
        for family, found in results.items():
            settings = found.settings
            size = f"{counted(found.instances, 'instance')}, {counted(settings.epochs, 'epoch')}"
            made = f"horizon {settings.horizon:,}, seed {settings.seed}; made by {_commands(found)}"
            lines.append(f"- `{part}-{family}.csv`: {size}, {made}.")
    first, last = LATE
    lines += [
        "",
        "`paper` has the five instances of the paper and plays four times the epochs; `many`, whose rounds take a "
        "hundred times as long, has a quarter of the instances and half the epochs. "
        f"In each epoch all policies meet the same contexts and the same noise. Sums below {LEAST_SUM:g} count as "
        f"{LEAST_SUM:g} in geometric means and ratios. A run is steep if its R + V grew from T/{EARLIER} to T with an "
        f"exponent above {STEEP:g}; steep runs of {', '.join(PLAYED_ON[:-1])} and {PLAYED_ON[-1]} are played again "
        f"with the same draws, to {last} T, and their exponents from {first} T on are those called late. `{CAREFUL}` "
        "has ten times the weight on violation. `arcbandit benchmark --from FOLDER --page PAGE.md` writes all of this "
        "again from the files.",
    ]
    return "\n".join(lines)


def _commands(found: FamilyResults) -> str:
    return ", ".join(f"`{command}`" for command in found.commands)


def _image(chart: Chart, path: Path, target: Path) -> str:
    place = Path(os.path.relpath(path.resolve(), target.resolve().parent)).as_posix()
    return f"![{alt_text(chart)}]({place})"


def _table(table: NumberTable) -> str:
    return f"**{table.title}**\n\n{_markdown(table.header, table.rows)}"


def _markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header), *(list(row) for row in rows)]
    shown = [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]
    return "\n".join([shown[0], f"|{'---|' * len(lines[0])}", *shown[1:]])


def _terms(columns: dict[str, str]) -> str:
    return "\n".join(f"- {name}: {meaning}" for name, meaning in columns.items())
