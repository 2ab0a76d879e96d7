"""Servers and loads as processes, each on its core, and what the disk does."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.service.load import Seen, Task

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
# Without a second core, or a system that can pin, the scheduler decides.
SERVER_CORE, LOAD_CORE = (CORES[0], CORES[-1]) if len(CORES) > 1 else (None, None)
STARTING_SECONDS = 120  # a first campaign may have to wait for a compiler
FSYNCS = 200
PAGE = 4096


class Server:
    """A server on the servers' core; it is killed at the end."""

    def __init__(self, *command: str, log: Path) -> None:
        pinned = None if SERVER_CORE is None else _pin
        self._log = log.open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command], stdout=subprocess.PIPE, stderr=self._log, text=True, preexec_fn=pinned
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise SystemExit(f"{' '.join(command)} did not start: {log.read_text()}")
        # Handlers print their port alone, the service a sentence with its address.
        self.port = int(line) if line.isdecimal() else int(line.split(" from ")[0].rpartition(":")[2])
        self.token = ""

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()

    def asked(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The answer to a request that is not measured."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data)
        request.add_header("authorization", f"Bearer {self.token}")
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request, timeout=STARTING_SECONDS) as answer:
            return json.load(answer)

    def processor_seconds(self) -> float:
        """The processor time that it took so far, its threads included and its planner left out."""
        path = Path(f"/proc/{self.process.pid}/stat")
        if not path.exists():
            return float("nan")
        fields = path.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def children(self) -> list[int]:
        """Its own processes: the planner's."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(number) for number in path.read_text().split()] if path.exists() else []

    def pause_planner(self) -> None:
        """Let the planner's process stand still, as if nothing were to be planned."""
        for child in self.children():
            os.kill(child, signal.SIGSTOP)

    def resume_planner(self) -> None:
        """Let it go on."""
        for child in self.children():
            os.kill(child, signal.SIGCONT)


def _pin() -> None:
    assert SERVER_CORE is not None
    os.sched_setaffinity(0, {SERVER_CORE})


def service(store: str, folder: Path) -> Server:
    """The service as `arcbandit serve` starts it: with tokens, deadlines and limits, and a planner."""
    log = folder / f"service-{time.monotonic_ns()}.log"
    server = Server("arcbandit", "serve", "--store", store, "--port", "0", log=log)
    lines = [line for line in log.read_text().splitlines() if "token" in line]
    server.token = lines[0].rpartition(" ")[2]
    return server


def pressed(server: Server, task: dict[str, Any]) -> Seen:
    """What a load sees of a server."""
    told = Task(port=server.port, token=server.token, core=LOAD_CORE, **task)
    used = server.processor_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.service.load"],
        input=json.dumps(asdict(told)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seen = Seen(**json.loads(done.stdout))
    seen.server_microseconds = 1e6 * (server.processor_seconds() - used) / max(seen.every_answer, 1)
    return seen


def fsync_milliseconds(folder: Path) -> float:
    """The median time that a page takes to the disk, appended and synced."""
    path = folder / "fsync"
    times = []
    with path.open("wb", buffering=0) as file:
        for _ in range(FSYNCS):
            start = time.perf_counter()
            file.write(bytes(PAGE))
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    path.unlink()
    return 1e3 * statistics.median(times)
