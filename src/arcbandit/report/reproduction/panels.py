"""Charts on the page: drawn, in words, and as numbers for the script."""

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape

from arcbandit.report.chart_data import chart_data, is_interactive
from arcbandit.report.charts import Chart, Matrix, Sheet, alt_text, is_zero, shade_text
from arcbandit.report.reproduction.entries import DrawnPanel, ExperimentEntry


def drawn_panels(
    figure: Sheet, pictures: Sequence[bytes], files: Sequence[Mapping[str, str]]
) -> tuple[DrawnPanel, ...]:
    """The charts of a figure, with the picture of each and the files of each at print size."""
    return tuple(_drawn(*parts) for parts in zip(figure.charts, pictures, files, strict=True))


def _drawn(chart: Chart | Matrix, picture: bytes, files: Mapping[str, str]) -> DrawnPanel:
    data = chart_data(chart)
    if is_zero(chart):
        return DrawnPanel(chart.heading, alt_text(chart), b"", "Not drawn: zero throughout.", data, False, files)
    return DrawnPanel(chart.heading, alt_text(chart), picture, _note(chart), data, is_interactive(chart), files)


def _note(chart: Chart | Matrix) -> str:
    shade = shade_text(chart)
    return f"Lines are means over epochs, shaded {shade}." if shade else ""


def panel_id(experiment: str, place: int) -> str:
    """The anchor of a panel."""
    return f"{experiment}-figure-{place + 1}"


def image(panel: DrawnPanel) -> str:
    """The panel as an image that needs no script."""
    if not panel.svg:
        return f'<p class="quiet"><strong>{escape(panel.title)}.</strong> {escape(panel.note)}</p>'
    content = base64.b64encode(panel.svg).decode()
    return f'<img alt="{escape(panel.alt)}" src="data:image/svg+xml;base64,{content}">'


def figure(entry: ExperimentEntry, place: int, *, anchored: bool = True, caption: str = "") -> str:
    """A panel with its caption; the script replaces the image of an interactive one."""
    panel = entry.panels[place]
    anchor = f' id="{panel_id(entry.name, place)}"' if anchored else ""
    data = f' data-chart="{escape(data_id(entry.name, place))}"' if panel.interactive and panel.svg else ""
    words = " ".join(part for part in (panel.note if panel.svg else "", caption) if part)
    links = ", ".join(f'<a href="{escape(path)}">{escape(what)}</a>' for what, path in panel.files.items())
    told = f"{escape(words)}{f' PDF: {links}.' if links and anchored else ''}"
    below = f"<figcaption>{told}</figcaption>" if told else ""
    return f"<figure{anchor}{data}>{image(panel)}{below}</figure>"


def data_id(experiment: str, place: int) -> str:
    """The identifier of a panel's numbers."""
    return f"data-{panel_id(experiment, place)}"


def data_blocks(entries: Sequence[ExperimentEntry]) -> str:
    """The numbers of every interactive panel, for the script."""
    return "\n".join(
        f'<script type="application/json" id="{escape(data_id(entry.name, place))}">{_embedded(panel)}</script>'
        for entry in entries
        for place, panel in enumerate(entry.panels)
        if panel.interactive and panel.svg
    )


def _embedded(panel: DrawnPanel) -> str:
    numbers = {**panel.data, "alt": panel.alt}
    # Nothing in it may end the element.
    return json.dumps(numbers, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
