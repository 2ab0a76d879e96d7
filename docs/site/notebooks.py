"""Notebooks in the percent format, run cell by cell and written as pages with all that they show.

A cell begins with a line `# %%`; one of text with `# %% [markdown]`, as comments. What a cell prints, the value of its
last expression and the figures it leaves open are shown below it.
"""

import ast
import contextlib
import io
import re
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docs.site.contents import DOCS

FOLDER = DOCS / "notebooks"
MARK = re.compile(r"^# %%(.*)$", re.MULTILINE)


class Cell(NamedTuple):
    """Text or code."""

    text: str
    is_code: bool


class Shown(NamedTuple):
    """What a cell left behind."""

    printed: str
    value: Any
    pictures: tuple[tuple[bytes, str], ...]  # as SVG, and in words


def notebooks() -> list[Path]:
    """The files of the notebooks."""
    return sorted(FOLDER.glob("*.py"))


def cells_of(source: str) -> Iterator[Cell]:
    """The cells of a notebook, in order; what is before the first mark is no cell."""
    _, *parts = MARK.split(source)
    for kind, body in zip(parts[::2], parts[1::2], strict=True):
        if "[markdown]" in kind:
            yield Cell(re.sub(r"^# ?", "", body.strip("\n"), flags=re.MULTILINE), False)
        elif body.strip():
            yield Cell(body.strip("\n"), True)


def run_cell(code: str, names: dict[str, Any], file: str) -> Shown:
    """Run a cell among the names of the cells before."""
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    tree = ast.parse(code, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, file, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval"), names)
    figures = [plt.figure(number) for number in plt.get_fignums()]
    if isinstance(value, Figure):
        figures, value = [*(one for one in figures if one is not value), value], None
    pictures = tuple((_drawn(figure), _in_words(figure)) for figure in figures)
    plt.close("all")
    return Shown(printed.getvalue(), value, pictures)


def _drawn(figure: Any) -> bytes:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
    return drawn.getvalue()


def _in_words(figure: Any) -> str:
    axes = [(ax.get_title("left") or ax.get_title(), ax.get_ylabel(), ax.get_xlabel()) for ax in figure.axes]
    return "; ".join(": ".join(part for part in (title, f"{y} over {x}" if y else x) if part) for title, y, x in axes)


def page_of(path: Path, pictures: Path) -> str:
    """The page of a notebook, run; its pictures are written to a folder."""
    import matplotlib

    from arcbandit.report.look import house_style

    matplotlib.use("Agg")
    source = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    with house_style(), warnings.catch_warnings(), _no_process_left(names):
        warnings.simplefilter("error")
        for number, cell in enumerate(cells_of(source)):
            if not cell.is_code:
                parts.append(cell.text)
                continue
            shown = run_cell(cell.text, names, f"{path.name}, cell {number}")
            parts.append(f"```python\n{cell.text}\n```")
            parts += _outputs(shown, pictures, f"{path.stem}-{number}")
    download = f"This page is {{download}}`{path.name}`, run from top to bottom; open it as a notebook, or run it."
    return "\n\n".join([parts[0], f"*{download}*", *parts[1:]]) + "\n"


@contextlib.contextmanager
def _no_process_left(names: dict[str, Any]) -> Iterator[None]:
    """A cell that fails must not leave a process behind that an earlier one started."""
    try:
        yield
    finally:
        for value in names.values():
            if isinstance(value, subprocess.Popen) and value.poll() is None:
                value.kill()
                value.wait()


def _outputs(shown: Shown, folder: Path, name: str) -> Iterator[str]:
    if shown.printed:
        yield f"```{{code-block}} text\n:class: cell-output\n{shown.printed.rstrip()}\n```"
    if shown.value is not None:
        html = getattr(shown.value, "_repr_html_", None)
        if html is not None:
            yield f'<div class="cell-output">\n{_one_block(html())}\n</div>'
        else:
            yield f"```{{code-block}} text\n:class: cell-output\n{shown.value!r}\n```"
    for place, (picture, words) in enumerate(shown.pictures, 1):
        folder.mkdir(parents=True, exist_ok=True)
        file = f"{name}-{place}.svg"
        (folder / file).write_bytes(picture)
        yield f"![{words}]({file})"


def _one_block(html: str) -> str:
    """HTML without blank lines, at which Markdown would end it."""
    return "\n".join(line for line in html.splitlines() if line.strip())
