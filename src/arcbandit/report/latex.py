"""Texts as LaTeX writes them, in plain ASCII."""

import unicodedata
from collections.abc import Iterable, Sequence

# What has a meaning of its own in LaTeX, and what its fonts lack.
LETTERS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≈": r"$\approx$",
    "≠": r"$\ne$",
    "∞": r"$\infty$",
    "∈": r"$\in$",
    "∝": r"$\propto$",
    "→": r"$\to$",
    "½": r"$\frac12$",
    "′": r"$'$",
    "√": r"$\surd$",
    "°": r"$^\circ$",
    "…": r"\dots{}",
    "‖": r"$\|$",
    "∧": r"$\wedge$",
    "∪": r"$\cup$",
    "∩": r"$\cap$",
    "∑": r"$\sum$",
    "≪": r"$\ll$",
    "≫": r"$\gg$",
    "µ": r"$\mu$",
    "“": "``",
    "”": "''",
    "’": "'",
    "é": r"\'e",
}
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ᵀ", "0123456789+-()T", strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₖₜ", "0123456789+-kt", strict=True))
LETTERS |= {mark: f"$^{{{plain}}}$" for mark, plain in RAISED.items()}
LETTERS |= {mark: f"$_{{{plain}}}$" for mark, plain in LOWERED.items()}
# As Unicode names them, where LaTeX has another name.
RENAMED = {"lamda": "lambda", "epsilon": "varepsilon"}


def latex(text: str) -> str:
    """A text for LaTeX; letters that are not known here stay as they are."""
    return "".join(LETTERS.get(letter) or _greek(letter) or letter for letter in text)


def tabular(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table for the package booktabs, the first column to the left and the others to the right."""
    lines = [f"\\begin{{tabular}}{{{'l' + 'r' * (len(header) - 1)}}}", "\\toprule"]
    lines += [_row(header), "\\midrule", *map(_row, rows), "\\bottomrule", "\\end{tabular}"]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex, cells)) + " \\\\"


def _greek(letter: str) -> str:
    kind, _, name = unicodedata.name(letter, "").rpartition(" ")
    if kind not in ("GREEK SMALL LETTER", "GREEK CAPITAL LETTER"):
        return ""
    name = RENAMED.get(name.lower(), name.lower())
    return f"$\\{name}$" if "SMALL" in kind else f"$\\{name.capitalize()}$"
