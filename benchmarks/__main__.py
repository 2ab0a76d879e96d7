"""Run workloads, print their table and write `results.json` beside this file."""

import argparse
import json
import sys
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.table import Table

from benchmarks import planning, startup
from benchmarks.measure import Outcome, Spread, Workload, machine, record

SUBJECTS: dict[str, ModuleType] = {"planning": planning, "startup": startup}
UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns"))
TABLE_WIDTH = 120  # where the output is not a terminal
RESULTS = Path(__file__).with_name("results.json")


def chosen_workloads(names: list[str]) -> list[Workload]:
    """The workloads of the subjects and names given, all of them if none is; exit on an unknown name."""
    everything = [(subject, workload) for subject, module in SUBJECTS.items() for workload in module.WORKLOADS]
    known = {*SUBJECTS, *(workload.name for _, workload in everything)}
    for name in names:
        if name not in known:
            sys.exit(f"NAME must be one of {', '.join(sorted(known))}, got {name!r}.")
    return [workload for subject, workload in everything if not names or {subject, workload.name} & set(names)]


def duration(*values: float) -> str:
    """Seconds in the unit that leaves one to three digits before the point of the first of them."""
    factor, unit = next(((factor, unit) for factor, unit in UNITS if values[0] * factor >= 1.0), UNITS[-1])
    return f"{' to '.join(f'{value * factor:.3g}' for value in values)} {unit}"


def times(samples: list[float], name: str | None = None) -> str:
    """Median over quartiles."""
    if not samples:
        return ""
    spread = Spread.of(samples)
    by_whom = f" {name}" if name else ""
    return f"{duration(spread.median)}{by_whom}\n{duration(spread.lower_quartile, spread.upper_quartile)}"


def ratio(outcome: Outcome) -> str:
    """Median over quartiles."""
    spread = outcome.ratio
    if spread is None:
        return ""
    return f"{spread.median:,.0f}x\n{spread.lower_quartile:,.0f} to {spread.upper_quartile:,.0f}"


def table(outcomes: list[tuple[Workload, Outcome]], title: str) -> Table:
    """One row a workload: the ratio first, then both times, the error, and whether it does what it must."""
    shown = Table(title=title, caption="medians over quartiles; errors are relative", show_lines=True)
    for column in ("workload", "ratio", "arcbandit", "alternative", "error", "required", "met"):
        shown.add_column(column, no_wrap=True)
    for workload, outcome in outcomes:
        requirement = workload.requirement
        met = "" if requirement is None else "[green]met[/]" if outcome.meets(requirement) else "[red]not met[/]"
        shown.add_row(
            workload.name,
            ratio(outcome),
            times(outcome.ours),
            times(outcome.alternative, outcome.alternative_name),
            "" if outcome.error is None else f"{outcome.error:.1e}",
            "" if requirement is None else str(requirement),
            met,
        )
    return shown


def main() -> int:
    """Return 1 if a requirement is missed and --check is given, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads or subjects (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer turns: does it run, roughly how fast")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a requirement is not met")
    options = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=TABLE_WIDTH)
    outcomes = []
    for workload in chosen_workloads(options.names):
        turns = workload.quick_turns if options.quick else workload.turns
        console.print(f"{workload.name}: {workload.summary} ({turns} turns)", highlight=False)
        outcomes.append((workload, workload.run(turns)))
    host = machine()
    title = f"{host['cpu']}, {host['cores']} cores, Python {host['python']}, numba {host['numba']}"
    console.print(table(outcomes, title))
    results = {
        "machine": host,
        "quick": options.quick,
        "workloads": [record(workload, outcome) for workload, outcome in outcomes],
    }
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    missed = [
        workload.name
        for workload, outcome in outcomes
        if workload.requirement and not outcome.meets(workload.requirement)
    ]
    if missed:
        console.print(f"Not met: {', '.join(missed)}", highlight=False)
    return 1 if missed and options.check else 0


sys.exit(main())
