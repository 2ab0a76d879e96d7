"""Run workloads, print their table and write `results.json` beside this file; or draw and print what it holds."""

import argparse
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.table import Table

from arcbandit.compilation.cuda import device_available
from benchmarks import alternatives, device, forgetting, learning, planning, plot, startup
from benchmarks.measure import Outcome, Spread, Workload, machine, record, times_as_text, version_of

SUBJECTS: dict[str, ModuleType] = {
    "planning": planning,
    "learning": learning,
    "forgetting": forgetting,
    "startup": startup,
    "alternatives": alternatives,
    "device": device,
}
UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns"))
TABLE_WIDTH = 150  # where the output is not a terminal
RESULTS = Path(__file__).with_name("results.json")


def chosen_workloads(names: list[str]) -> list[Workload]:
    """The workloads of the subjects and names given, all of them if none is; exit on an unknown name."""
    everything = [(subject, workload) for subject, module in SUBJECTS.items() for workload in module.WORKLOADS]
    known = {*SUBJECTS, *(workload.name for _, workload in everything)}
    for name in names:
        if name not in known:
            sys.exit(f"NAME must be one of {', '.join(sorted(known))}, got {name!r}.")
    return [workload for subject, workload in everything if not names or {subject, workload.name} & set(names)]


def reason_to_skip(workload: Workload, *, with_long: bool) -> str | None:
    """Why a workload is left out here, in a sentence; None if it is not."""
    if workload.long and not with_long:
        return "It takes long and runs only with --long."
    if workload.on_device and not device_available():
        return "It needs a GPU and the extra 'cuda'."
    if workload.needs is not None and version_of(workload.needs) is None:
        return f"It needs {workload.needs}, which is not installed; the extra 'alternatives' brings it."
    return None


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
    median, lower, upper = (times_as_text(value) for value in spread)
    return f"{median}\n{lower} to {upper}"


def table(outcomes: list[tuple[Workload, Outcome]], title: str) -> Table:
    """One row a workload: the ratio first, then both times, the error, and whether it does what it must."""
    shown = Table(title=title, caption="medians over quartiles; errors are relative", show_lines=True)
    for column in ("workload", "ratio", "arcbandit", "alternative", "error", "required", "met"):
        shown.add_column(column, no_wrap=column in ("ratio", "error", "met"), overflow="fold")
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


def details_table(outcomes: list[tuple[Workload, Outcome]]) -> Table:
    """One row a workload that counted something besides time."""
    shown = Table(title="counted")
    shown.add_column("workload")
    shown.add_column("details")
    for workload, outcome in outcomes:
        if counts(outcome.details):
            shown.add_row(workload.name, counts(outcome.details))
    return shown


def counts(details: dict[str, float]) -> str:
    """Names and numbers in a line."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in details.items() if name != "pairs")


def markdown(results: dict[str, Any]) -> str:
    """The recorded results as a table for a page, medians only."""
    lines = ["| workload | ratio | arcbandit | alternative | error | required | met |", "|---|---|---|---|---|---|---|"]
    for row in results["workloads"]:
        other = row["alternative"]
        errors = [error for error in (row["objective_error"], row["floor_error"]) if error is not None]
        cells = [
            f"`{row['name']}`",
            "" if row["ratio"] is None else times_as_text(row["ratio"]["median"]),
            duration(row["seconds"]["median"]),
            "" if other is None else f"{duration(other['seconds']['median'])} {other['name']}",
            f"{max(errors):.0e}" if errors else "",
            row["required"],
            "" if row["met"] is None else "yes" if row["met"] else "**no**",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| workload | counted |", "|---|---|"]
    lines += [
        f"| `{row['name']}` | {counts(row['details'])} |" for row in results["workloads"] if counts(row["details"])
    ]
    return "\n".join(lines)


def recorded() -> dict[str, Any]:
    """What the last run wrote."""
    if not RESULTS.is_file():
        sys.exit(f"{RESULTS.name} must be there: run the workloads first.")
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return results


def main() -> int:
    """Return 1 if a requirement is missed and --check is given, else 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads or subjects (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer turns: does it run, roughly how fast")
    parser.add_argument("--long", action="store_true", help="with the workloads that take long")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a requirement is not met")
    parser.add_argument("--plot", action="store_true", help="measure nothing: draw the last results")
    parser.add_argument("--markdown", action="store_true", help="measure nothing: print the last results for a page")
    options = parser.parse_args()
    console = Console() if sys.stdout.isatty() else Console(width=TABLE_WIDTH)
    if options.plot or options.markdown:
        if options.plot:
            figure = plot.draw(recorded())
            console.print(f"Wrote {figure.relative_to(Path(__file__).parents[1])}", highlight=False)
        if options.markdown:
            print(markdown(recorded()))
        return 0
    outcomes = []
    skipped = {}
    host = machine()
    for workload in chosen_workloads(options.names):
        reason = reason_to_skip(workload, with_long=options.long)
        if reason is not None:
            skipped[workload.name] = reason
            console.print(f"{workload.name}: left out. {reason}", highlight=False)
            continue
        turns = workload.quick_turns if options.quick else workload.turns
        console.print(f"{workload.name}: {workload.summary} ({turns} turns)", highlight=False)
        outcomes.append((workload, workload.run(turns)))
    title = f"{host['cpu']}, {host['cores']} cores, Python {host['python']}, numba {host['numba']}"
    console.print(table(outcomes, title))
    console.print(details_table(outcomes))
    results = {
        "machine": host,
        "quick": options.quick,
        "workloads": [record(workload, outcome) for workload, outcome in outcomes],
        "skipped": skipped,
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
