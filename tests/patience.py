"""Waits with a limit: a process that never answers fails its test, by name, instead of keeping all of them waiting."""

import threading
from concurrent.futures import Future, wait

import pytest

PATIENCE = 120.0  # seconds, on a machine that does other things


def within(seconds, what, work):
    """What `work` returns, which a thread does; a failure that says `what` did not happen if it takes longer."""
    done = Future()

    def do():
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001, it is raised where it is waited for
            done.set_exception(error)

    # A daemon: what blocks for good must not keep the process from ending.
    threading.Thread(target=do, daemon=True).start()
    wait([done], seconds)
    if not done.done():
        pytest.fail(f"{what} within {seconds:g} s")
    return done.result()


def line_of(process, seconds=PATIENCE):
    """The next line that a process prints; a process that prints none in time is killed."""
    try:
        return within(seconds, f"{_name(process)} printed no line", process.stdout.readline)
    except pytest.fail.Exception:
        process.kill()
        raise


def rest_of(stream, seconds=PATIENCE):
    """What is left of a stream; whatever process holds its other end must let go of it in time."""
    return within(seconds, "a process did not close its end of a pipe", stream.read)


def killed(process, seconds=PATIENCE):
    """Kill a process if it runs, and wait for its end."""
    if process.poll() is None:
        process.kill()
    process.wait(seconds)


def _name(process):
    arguments = process.args if isinstance(process.args, list) else [process.args]
    return " ".join(str(one).strip().splitlines()[0] for one in arguments[:4] if str(one).strip())
