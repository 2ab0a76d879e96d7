"""How often each claim holds over many seeds: `make claims` plays them all, and keeps the counts in seeds.json."""

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from arcbandit.experiments.reproduce import EXPERIMENTS, find, reproduce
from arcbandit.inputs.values import whole
from arcbandit.report.files import write_whole
from arcbandit.version import __version__

FILE = Path(__file__).with_name("seeds.json")
SEEDS = 30
PROCESSES = 2


def played_seed(name: str, seed: int) -> dict[str, tuple[bool | None, bool | None]]:
    """What each claim of one experiment came to with one seed: its paper's statement and ours."""
    found = reproduce([name], seed=seed, jobs=1)
    return {
        verdict.name: (verdict.paper and verdict.paper.passed, verdict.ours and verdict.ours.passed)
        for verdict in found.verdicts
    }


def counted(outcomes: Sequence[dict[str, tuple[bool | None, bool | None]]]) -> dict[str, dict[str, int | None]]:
    """How often the statements of each claim held."""
    totals: dict[str, dict[str, int | None]] = {}
    for outcome in outcomes:
        for name, pair in outcome.items():
            claim = totals.setdefault(name, {"paper": None, "ours": None})
            for side, passed in zip(claim, pair, strict=True):
                if passed is not None:
                    claim[side] = (claim[side] or 0) + passed
    return totals


def document(outcomes: dict[str, list[dict[str, tuple[bool | None, bool | None]]]], command: str) -> dict[str, Any]:
    """The counts with the command that made them."""
    claims: dict[str, Any] = {}
    for found in outcomes.values():
        claims |= counted(found)
    played = {name: len(found) for name, found in outcomes.items() if found}
    return {"command": command, "version": __version__, "first_seed": 0, "experiments": played, "claims": claims}


def table(kept: dict[str, Any]) -> str:
    """The counts as text, one line per claim."""
    lines = []
    for name, counts in kept["claims"].items():
        seeds = kept["experiments"][name.partition("/")[0]]
        sides = (f"{side} {count} of {seeds}" for side, count in counts.items() if count is not None)
        lines.append(f"{name:60} {', '.join(sides)}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the seeds 0, 1, 2 ... of every experiment, and keep the counts after each."""
    parser = argparse.ArgumentParser(prog="python -m arcbandit.experiments.seeds", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help="by default all")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds, from 0 on")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="how many seeds are played at once")
    parser.add_argument("--out", type=Path, default=FILE, help="the file that keeps the counts")
    given = parser.parse_args(arguments)
    seeds, processes = whole("seeds", given.seeds, 1), whole("processes", given.processes, 1)
    # One that claims nothing needs no seeds.
    names = [one.name for one in find(given.names) if one.claims]
    # The names are left out where all were asked for, as the table of experiments may grow.
    command = " ".join(["python -m arcbandit.experiments.seeds", f"--seeds {seeds}", *given.names])
    outcomes: dict[str, list[dict[str, tuple[bool | None, bool | None]]]] = {
        name: [] for name in EXPERIMENTS if name in names
    }
    with ProcessPoolExecutor(max_workers=processes) as pool:
        # Seed by seed, so that a run that is stopped has kept whole seeds of every experiment.
        jobs = {pool.submit(played_seed, name, seed): name for seed in range(seeds) for name in names}
        for done, job in enumerate(as_completed(jobs), 1):
            outcomes[jobs[job]].append(job.result())
            kept = document(outcomes, command)
            write_whole(given.out, (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode())
            print(f"{done} of {len(jobs)}: {jobs[job]}", flush=True)
    print(table(kept))


if __name__ == "__main__":
    main()
