"""The demo: a film platform with visitors, served over HTTP, that ends when it is told to."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from arcbandit.cli import main
from arcbandit.examples.files import data_file
from arcbandit.service.demo.platform import FLOORS, Platform
from arcbandit.service.demo.traffic import Traffic
from tests.patience import line_of

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds: a first compilation, on a machine that does other things


def test_the_platform_is_that_of_the_tutorial():
    """The same table; every provider was promised something; engagement is about a tenth of the rating."""
    own = ROOT / "src" / "arcbandit" / "service" / "demo" / "providers-by-genre.csv"
    assert own.read_bytes() == data_file("providers-by-genre.csv").read_bytes()
    platform, chance = Platform(), random.Random(1)
    assert list(FLOORS) == platform.providers
    assert platform.campaign()["dials"] == {"violation_weight": 10.0}  # promises are to be kept
    seen = [platform.engagement("Universal", "Drama", chance) for _ in range(400)]
    # Five standard errors of the mean: false alarm once in two million.
    assert sum(seen) / len(seen) == pytest.approx(0.70957, abs=5 * 0.0871 / 20)
    assert {platform.genre(chance) for _ in range(1000)} == set(platform.genres)


def processes_in(folder):
    """The commands of processes whose temporary files are in this folder, as their environment says."""
    shown = subprocess.run(["ps", "axewwo", "args="], check=True, capture_output=True, text=True).stdout
    return [line for line in shown.splitlines() if f"TMPDIR={folder}" in line]


@pytest.mark.slow
def test_the_demo_serves_visitors_and_stops_at_ctrl_c(tmp_path):
    """Decisions, some asked for again, rewards that come late or twice, a plan, a page; then nothing is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "TMPDIR": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-m", "arcbandit", "demo", "--rate", "300"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        line = line_of(process, PATIENCE)
        url = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
        with httpx.Client(base_url=url, timeout=PATIENCE) as client:
            assert "<title>arcbandit" in client.get("/").text
            before = client.get("/v1/campaigns/films/plan").json()
            assert before["certificate"]["holds"]
            deadline = time.monotonic() + PATIENCE
            counts = {}
            while time.monotonic() < deadline:
                told = re.findall(r'arcbandit_events_total{event="(\w+)"} (\S+)', client.get("/metrics").text)
                counts = {event: float(count) for event, count in told}
                repeated = min(counts[event] for event in ("decisions_repeated", "rewards_repeated"))
                if repeated > 0 and counts["rewards_counted"] > 30:
                    break
                time.sleep(0.1)
            assert counts["decisions"] > counts["rewards_counted"] > 30
            assert counts["rewards_repeated"] > 0
            assert counts["decisions_repeated"] > 0
            assert sum(counts[event] for event in ("rewards_conflict", "rewards_unknown", "rewards_gone")) == 0
        assert list(folder.iterdir())
        assert len(processes_in(folder)) == 3  # the demo, its planner, and the one that answers the dashboard
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
        process.stdout.close()
        process.stderr.close()
    assert process.returncode == 0
    assert output == ""
    assert "Traceback" not in errors
    assert list(folder.iterdir()) == []
    assert processes_in(folder) == []


def test_visitors_without_a_service_say_so(unused_tcp_port):
    """And end."""
    failed = []
    traffic = Traffic(
        "127.0.0.1", unused_tcp_port, rate=10.0, on_plan=lambda: None, on_failure=lambda: failed.append(True)
    )
    traffic.start()
    traffic.join(PATIENCE)
    assert failed == [True]
    assert traffic.failure


@pytest.fixture
def unused_tcp_port():
    """A port on which nobody listens."""
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "host"), [("demo", "taken"), ("serve", "taken"), ("serve", "nowhere")])
def test_a_port_that_is_taken_is_refused_in_a_sentence(tmp_path, verb, host):
    """By its number, with what to do; exit code 2, nothing on standard output, and nothing is left behind."""
    import socket

    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "TMPDIR": str(tmp_path)}
    if verb == "serve":
        environment |= {"ARCBANDIT_STORE": str(tmp_path / "s.db")}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        flags = ["--port", str(port)] if host == "taken" else ["--host", "192.0.2.1", "--port", "0"]
        done = subprocess.run(
            [sys.executable, "-m", "arcbandit", verb, *flags],
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            timeout=PATIENCE,
        )
    assert (done.returncode, done.stdout) == (2, "")
    where = f"127.0.0.1:{port}" if host == "taken" else "192.0.2.1:0"
    *_, sentence = done.stderr.splitlines()
    assert sentence.startswith(f"{where} must be an address and a port that nobody else listens on (")
    assert sentence.endswith("port 0 takes a free one.")
    assert "Traceback" not in done.stderr
    if verb == "demo":
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "field"), [(["--rate", "0"], "rate"), (["--rate", "nan"], "rate"), (["--port", "70000"], "port")]
)
def test_wrong_settings_are_refused(arguments, field, capsys):
    """In one sentence, before anything is started."""
    assert main(["demo", *arguments]) == 2
    assert field in capsys.readouterr().err
