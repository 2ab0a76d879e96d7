"""Processes that have imported Numba, but nothing of ours: copies of one that did so once.

Most of what a small process costs is to import Numba and to make its compiler ready. Where a test is about what happens
after that, a copy will do.
"""

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from typing import Any, NamedTuple

# Reads requests line by line, and answers each with what a copy of the process made of it.
SERVER = """
import json, os, sys, tempfile, traceback
import numba

numba.njit(lambda x: x + 1.0)(1.0)

def work(request):
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[1:1] = request["environment"].get("PYTHONPATH", "").split(os.pathsep)
    try:
        exec(compile(request["script"], "<string>", "exec"), {"__name__": "__main__"})
        return 0
    except SystemExit as end:
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1

for line in sys.stdin:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        number = os.fork()
        if number == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            code = work(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(number, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    print(json.dumps([os.waitstatus_to_exitcode(status), *texts]), flush=True)
"""


class Ended(NamedTuple):
    """What came of a process."""

    returncode: int
    stdout: str
    stderr: str


@cache
def _server() -> "subprocess.Popen[str]":
    """The process that is copied; one for each process of pytest, and without a mode of this one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHONPATH"))}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], env=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(_end, server)
    return server


def _end(server: "subprocess.Popen[str]") -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.close()
    server.wait()
    server.stdout.close()


def run_copy(script: str, environment: dict[str, Any]) -> Ended:
    """Run a script in a copy, with this environment as far as it is read after Numba was imported."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps({"script": script, "environment": environment}) + "\n")
    server.stdin.flush()
    return Ended(*json.loads(server.stdout.readline()))


def can_copy(changes: dict[str, Any]) -> bool:
    """Whether a copy will do: not for what Python and Numba read as they start."""
    read_at_the_start = ("NUMBA_", "PYTHONWARNINGS")
    return hasattr(os, "fork") and not any(name.startswith(read_at_the_start) for name in changes)
