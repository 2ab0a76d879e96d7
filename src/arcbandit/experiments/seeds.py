"""How often each claim holds over many seeds: `make claims` plays them all, and keeps the counts in seeds.json."""

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from arcbandit.experiments.reproduce import find, reproduce
from arcbandit.inputs.values import whole
from arcbandit.report.files import write_whole
from arcbandit.version import __version__

FILE = Path(__file__).with_name("seeds.json")
SEEDS = 30
FIRST_SEED = 1000  # while claims and their tolerances are written, one looks at the first seeds
PROCESSES = 2
Outcome = dict[str, tuple[bool | None, bool | None]]


def played_seed(names: Sequence[str], seed: int) -> Outcome:
    """What each claim of some experiments came to with one seed: its paper's statement and ours."""
    found = reproduce(names, seed=seed, jobs=1)
    return {
        verdict.name: (verdict.paper and verdict.paper.passed, verdict.ours and verdict.ours.passed)
        for verdict in found.verdicts
    }


def counted(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int | None]]:
    """How often the statements of each claim held."""
    totals: dict[str, dict[str, int | None]] = {}
    for outcome in outcomes:
        for name, pair in outcome.items():
            claim = totals.setdefault(name, {"paper": None, "ours": None})
            for side, passed in zip(claim, pair, strict=True):
                if passed is not None:
                    claim[side] = (claim[side] or 0) + passed
    return totals


def document(names: Sequence[str], outcomes: Sequence[Outcome], first_seed: int, command: str) -> dict[str, Any]:
    """The counts with the command that made them."""
    return {
        "command": command,
        "version": __version__,
        "first_seed": first_seed,
        "experiments": dict.fromkeys(names, len(outcomes)),
        "claims": counted(outcomes),
    }


def table(kept: dict[str, Any]) -> str:
    """The counts as text, one line per claim."""
    lines = []
    for name, counts in kept["claims"].items():
        seeds = kept["experiments"][name.partition("/")[0]]
        sides = (f"{side} {count} of {seeds}" for side, count in counts.items() if count is not None)
        lines.append(f"{name:60} {', '.join(sides)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Play one seed after another of every experiment, and keep the counts after each."""
    parser = argparse.ArgumentParser(prog="python -m arcbandit.experiments.seeds", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help="by default all")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="the first of them")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="how many seeds are played at once")
    parser.add_argument("--out", type=Path, default=FILE, help="the file that keeps the counts")
    given = parser.parse_args(arguments)
    seeds, processes = whole("seeds", given.seeds, 1), whole("processes", given.processes, 1)
    first = whole("first-seed", given.first_seed, 0)
    # One that claims nothing needs no seeds.
    names = [one.name for one in find(given.names) if one.claims]
    # The names are left out where all were asked for, as the table of experiments may grow.
    command = " ".join(
        ["python -m arcbandit.experiments.seeds", f"--seeds {seeds}", f"--first-seed {first}", *given.names]
    )
    outcomes: list[Outcome] = []
    with ProcessPoolExecutor(max_workers=processes) as pool:
        jobs = {pool.submit(played_seed, names, seed): seed for seed in range(first, first + seeds)}
        for job in as_completed(jobs):
            outcomes.append(job.result())
            kept = document(names, outcomes, first, command)
            write_whole(given.out, (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode())
            print(f"{len(outcomes)} of {seeds}: seed {jobs[job]}", flush=True)
    print(table(kept))


if __name__ == "__main__":
    main()
