"""Diagrams that code hosts draw from their text, drawn as pictures for the site, which runs no script for it."""

import itertools
import re
from collections import defaultdict
from html import escape
from pathlib import Path

BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COLUMN, ROW, HEIGHT, MARGIN, LETTER = 128, 46, 28, 10, 7.4

Graph = dict[str, list[str]]


def drawn_diagrams(text: str, folder: Path, name: str) -> str:
    """The text with its diagrams as pictures, which are written to the folder."""
    for number, found in enumerate(BLOCK.finditer(text), 1):
        picture = f"{name}-{number}.svg"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / picture).write_text(svg_of(graph_of(found[1])), encoding="utf-8")
        arrows = "; ".join(f"{start} to {', '.join(ends)}" for start, ends in graph_of(found[1]).items() if ends)
        text = text.replace(found[0], f"![{arrows}](figures/{picture})")
    return text


def graph_of(text: str) -> Graph:
    """Which names each name points to: lines such as `a --> b --> c & d`, after the line that says it is a graph."""
    arrows: Graph = defaultdict(list)
    heading, *lines = text.strip().splitlines()
    if heading.split() != ["graph", "LR"]:
        raise ValueError(f"Only graphs from left to right are drawn, got {heading!r}.")
    for line in lines:
        groups = [[name.strip() for name in group.split("&")] for group in line.split("-->")]
        for starts, ends in itertools.pairwise(groups):
            for start in starts:
                arrows[start] += ends
                for end in ends:
                    arrows.setdefault(end, [])
    return dict(arrows)


def layers_of(graph: Graph) -> dict[str, int]:
    """The column of each name: one right of all that point to it."""
    columns: dict[str, int] = {}

    def column(name: str) -> int:
        if name not in columns:
            before = [start for start, ends in graph.items() if name in ends]
            columns[name] = 1 + max((column(start) for start in before), default=-1)
        return columns[name]

    for name in graph:
        column(name)
    return columns


def rows_of(graph: Graph, columns: dict[str, int]) -> dict[str, float]:
    """The row of each name: near those that point to it, and no two of a column in one."""
    rows: dict[str, float] = {}
    for place in range(max(columns.values()) + 1):
        members = [name for name in graph if columns[name] == place]

        def wanted(name: str) -> float:
            above = [rows[start] for start, ends in graph.items() if name in ends and start in rows]
            return sum(above) / len(above) if above else 0.0

        taken: set[int] = set()
        for name in sorted(members, key=wanted):
            row = round(wanted(name))
            while row in taken:
                row += 1
            taken.add(row)
            rows[name] = row
    return rows


def svg_of(graph: Graph) -> str:
    """The picture."""
    columns = layers_of(graph)
    rows = rows_of(graph, columns)
    least = min(rows.values())
    centre = {
        name: (MARGIN + columns[name] * COLUMN + COLUMN / 2, MARGIN + (rows[name] - least) * ROW + ROW / 2)
        for name in graph
    }
    half = {name: (len(name) * LETTER + 16) / 2 for name in graph}
    width = (max(columns.values()) + 1) * COLUMN + 2 * MARGIN
    height = (max(rows.values()) - least + 1) * ROW + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="sans-serif" font-size="13">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#666"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
    ]
    for start, ends in graph.items():
        for end in ends:
            x, y = centre[start][0] + half[start], centre[start][1]
            to_x, to_y = centre[end][0] - half[end], centre[end][1]
            bend = (to_x - x) / 2
            parts.append(
                f'<path d="M{x:.1f} {y:.1f}C{x + bend:.1f} {y:.1f} {to_x - bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}" '
                'fill="none" stroke="#999" marker-end="url(#tip)"/>'
            )
    for name, (x, y) in centre.items():
        parts.append(
            f'<rect x="{x - half[name]:.1f}" y="{y - HEIGHT / 2:.1f}" width="{2 * half[name]:.1f}" height="{HEIGHT}" '
            'rx="4" fill="#F1F6FA" stroke="#0072B2"/>'
            f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle" fill="#222">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])
