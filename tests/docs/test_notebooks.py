"""Notebooks: each is run, cell by cell, when the site is built; here is what came of it, and how cells are told."""

import os
import re
import sys

import pytest

from docs.site.notebooks import Cell, cells_of, notebooks, page_of, run_cell

STORIES = {
    "the-paper": ["the limit is", "violation"],
    "log-to-service": ["The promises are feasible.", "It serves the campaign films.", "The service ended in order."],
    "new-policy": ["checks passed", "fading"],
}


def test_there_are_three():
    assert {path.stem for path in notebooks()} == set(STORIES)


@pytest.mark.slow
def test_a_notebook_is_run_and_written_as_a_page(tmp_path):
    """The shortest of them, without Sphinx."""
    name = "the-paper"
    [path] = [path for path in notebooks() if path.stem == name]
    text = page_of(path, tmp_path)
    assert all(words in text for words in STORIES[name])
    assert text.count("cell-output") >= 3
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
    assert pictures
    assert all((tmp_path / picture).stat().st_size > 0 for picture in pictures)


@pytest.mark.system
@pytest.mark.parametrize("name", STORIES)
def test_a_notebook_ran_and_shows_what_came_of_it(site, name):
    """The page has the outputs of its cells, and a picture at least; a cell that fails would have failed the build."""
    text = (site / "notebooks" / f"{name}.html").read_text(encoding="utf-8")
    plain = re.sub(r"<[^>]+>", "", text)
    assert all(words in plain for words in STORIES[name])
    assert text.count("cell-output") >= 3
    assert "<img" in text
    assert f"{name}.py" in text


class TestCells:
    def test_text_and_code_are_told_apart(self):
        source = "import gone\n# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 1\nx + 1\n\n# %%\n\n"
        assert list(cells_of(source)) == [Cell("# Title\n\nText.", False), Cell("x = 1\nx + 1", True)]

    def test_a_cell_shows_what_it_prints_and_its_last_value(self):
        names = {}
        assert run_cell("x = 2\nprint('two')\nx * 3", names, "a").printed == "two\n"
        assert run_cell("x * 3", names, "b").value == 6
        assert run_cell("y = x", names, "c").value is None

    @pytest.mark.slow
    def test_a_cell_shows_its_figures(self):
        drawn = run_cell(
            "import matplotlib.pyplot as plt\nfigure, ax = plt.subplots()\nax.set_xlabel('rounds')\nax.set_ylabel('R')",
            {},
            "a",
        )
        [(picture, words)] = drawn.pictures
        assert b"<svg" in picture
        assert words == "R over rounds"

    def test_a_cell_that_fails_stops_the_page_and_leaves_no_process(self, tmp_path):
        waiting = [sys.executable, "-c", "import time; time.sleep(60)"]
        notebook = tmp_path / "bad.py"
        notebook.write_text(
            f"# %%\nimport pathlib, subprocess\nprocess = subprocess.Popen({waiting!r})\n"
            f"pathlib.Path({str(tmp_path / 'number')!r}).write_text(str(process.pid))\n# %%\n1 / 0\n"
        )
        with pytest.raises(ZeroDivisionError):
            page_of(notebook, tmp_path)
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "number").read_text()), 0)

    def test_a_warning_in_a_notebook_is_an_error(self, tmp_path):
        notebook = tmp_path / "bad.py"
        notebook.write_text("# %%\nimport warnings\nwarnings.warn('old')\n")
        with pytest.raises(UserWarning, match="old"):
            page_of(notebook, tmp_path)
