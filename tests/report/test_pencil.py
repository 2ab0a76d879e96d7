"""Charts drawn in another process are the charts drawn here."""

import os
import subprocess
import sys

import pytest

from arcbandit.report import pencil
from arcbandit.report.charts import Chart, Line
from tests.patience import killed

CHART = Chart("Growth", "round t", "sum", (Line("OLP", [1, 10, 100], [1.0, 2.0, 4.0]),), x_log=True, y_log=True)
ZERO = Chart("Nothing", "round t", "sum", (Line("OLP", [1, 2], [0.0, 0.0]),))


@pytest.mark.slow
def test_both_draw_the_same_bytes():
    """With files for print and without; one of zeros has none."""
    with pencil.other_process() as draw:
        for chart in (CHART, ZERO):
            for for_print in (False, True):
                assert draw(chart, for_print=for_print) == pencil.draw_here(chart, for_print=for_print)
        assert set(draw(CHART, for_print=True).columns) == {"single", "double"}


@pytest.mark.slow
def test_charts_are_drawn_here_if_the_other_process_dies():
    with pencil.other_process() as draw:
        process = draw._process
        killed(process)
        assert draw(CHART, for_print=False) == pencil.draw_here(CHART, for_print=False)
        assert draw._process is None


def test_charts_are_drawn_here_if_no_process_can_be_started(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pencil.other_process() as draw:
        assert draw(CHART, for_print=False).svg.startswith(b"<?xml")


@pytest.mark.slow
def test_an_error_in_a_chart_is_raised_here():
    """And the charts after it are drawn nevertheless."""
    with pencil.other_process() as draw:
        with pytest.raises(AttributeError):
            draw("no chart", for_print=False)
        assert draw(CHART, for_print=False).svg


@pytest.mark.slow
def test_the_process_ends_with_the_context():
    with pencil.other_process() as draw:
        process = draw._process
        draw(ZERO, for_print=False)
    assert process.returncode == 0


@pytest.mark.slow
def test_a_script_without_a_guard_is_not_run_again(tmp_path):
    """As it would be by processes that import the script which started them."""
    script = tmp_path / "script.py"
    script.write_text(
        "from arcbandit.report import pencil\n"
        "from tests.report.test_pencil import CHART\n"
        "print('once')\n"
        "with pencil.other_process() as draw:\n"
        "    print(draw(CHART, for_print=False).svg[:5])\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["once", "b'<?xml'"]
