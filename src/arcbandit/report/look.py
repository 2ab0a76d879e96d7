"""How figures look: colours, line styles, markers, sizes and fonts, the same in every figure."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TypedDict

from arcbandit.errors import MissingExtraError
from arcbandit.report.fonts import FAMILY

# Okabe and Ito's colours, which the colour-blind can tell apart, without yellow, which is invisible on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Those of further policies, so that no two policies share one: darker, and told apart by their markers as well.
LATER_COLOURS = ("#882255", "#44AA99", "#999933", "#332288", "#AA4499", "#661100", "#CC0033")
# Enough styles and markers that dozens of lines all differ.
LINE_STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
GUIDE_COLOUR = "#8A8A8A"
GUIDE_TEXT_COLOUR = "#666666"
TEXT_COLOUR = "#222222"
QUIET_COLOUR = "#555555"
TICK_COLOUR = "#444444"
SPAN_COLOURS = ("#F1F6FA", "#F7ECE6")

# Inches.
PANEL_WIDTH, PANEL_HEIGHT = 3.5, 2.7
PAGE_WIDTH = 2.8  # of the axes on a page: narrow, so that letters stay legible on a phone
LEFT, BOTTOM, TOP, GAP = 0.75, 0.62, 0.42, 0.25
LETTER_WIDTH = 0.088  # of a label, on average
LABEL_START = 0.28
TITLE_HEIGHT, SUBTITLE_HEIGHT = 0.35, 0.2
ROW_HEIGHT = 0.24  # of a chart whose vertical axis holds names
NAME_LETTER = 0.075  # of such a name

# Points.
TITLE_SIZE, LABEL_SIZE, SMALL_SIZE = 13.0, 9.0, 8.0
LINE_SPACING = 1.25
DOTS_PER_INCH = 150

STYLE = {
    "font.size": LABEL_SIZE,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.labelcolor": TEXT_COLOUR,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "text.color": TEXT_COLOUR,
    "xtick.color": TICK_COLOUR,
    "ytick.color": TICK_COLOUR,
    "svg.fonttype": "path",  # a page may open where the font is not installed
    "svg.hashsalt": "arcbandit",
    "pdf.fonttype": 42,
}

# Policies look the same in every figure.
_ORDER = ("olp", "oplp", "optimistic3", "doc", "spoc", "blp", "thompson-lp")
_LATER = ("sgoc", "loe2d", "lagrange-cb", "greedy", "drift-plus-penalty", "bandit-q", "priced-lp")
_PLACES = {name.replace("-", ""): place for place, name in enumerate(_ORDER + _LATER)}
_FIRST_OF_OTHERS = len(COLOURS + LATER_COLOURS)  # other lines take none of the places reserved for policies
MANY = len(COLOURS) * len(MARKERS)  # this many lines all look different
VARIANT = ", "  # what follows it in a label is a variant, in the same colour


class Look(TypedDict):
    """What tells a line from the others, as matplotlib calls it."""

    color: str
    linestyle: str
    marker: str


def look_at(place: int) -> Look:
    """The look of a place in the order of colours, styles and markers."""
    return {
        "color": (COLOURS + LATER_COLOURS)[place] if place < _FIRST_OF_OTHERS else COLOURS[place % len(COLOURS)],
        # Shifted by one in each cycle, so that the first lines of two cycles differ.
        "linestyle": LINE_STYLES[(place + place // len(LINE_STYLES)) % len(LINE_STYLES)],
        "marker": MARKERS[place % len(MARKERS)],
    }


def looks_of(labels: Sequence[str], chosen: Sequence[int | None]) -> list[Look]:
    """A look for each line of a chart: that of the place chosen for it, if any, otherwise that of its policy.

    A policy is recognised by its name or that of its class. If its colour is taken, and for other labels, it is the
    next place whose colour is free, if there is one.
    """
    bases = [label.partition(VARIANT)[0] for label in labels]
    taken = {place for place in chosen if place is not None}
    unchosen = list(dict.fromkeys(base for base, place in zip(bases, chosen, strict=True) if place is None))
    known = {base: _PLACES[_plain(base)] for base in unchosen if _plain(base) in _PLACES}
    places: dict[str, int] = {}
    for base, place in known.items():
        if place not in taken and look_at(place)["color"] not in {look_at(other)["color"] for other in taken}:
            places[base] = place
            taken.add(place)
    for base in unchosen:
        if base not in places:
            places[base] = _next_place(taken, _FIRST_OF_OTHERS if known else 0)
            taken.add(places[base])
    looks = []
    for label, base, own in zip(labels, bases, chosen, strict=True):
        look = look_at(places[base] if own is None else own)
        if label != base:
            look["linestyle"] = ":"
        looks.append(look)
    return looks


def _next_place(taken: set[int], first: int) -> int:
    """The first place that differs most from all that are taken: in colour, then style, then marker."""
    free = [place for place in range(first, first + MANY) if place not in taken]
    others = [look_at(place) for place in taken]

    def likeness(place: int) -> tuple[bool, ...]:
        look = look_at(place)
        return (
            any(look["color"] == other["color"] for other in others),
            any(look["linestyle"] == other["linestyle"] for other in others),
            any(look["marker"] == other["marker"] for other in others),
        )

    return min(free, key=lambda place: (*likeness(place), place))


def _plain(label: str) -> str:
    return label.replace("-", "").lower()


@contextlib.contextmanager
def house_style(families: Sequence[str] = (FAMILY,)) -> Iterator[None]:
    """Our style on top of matplotlib's defaults, ignoring the user's settings."""
    check_matplotlib()
    import matplotlib.style

    with matplotlib.style.context(["default", STYLE, {"font.family": list(families)}]):
        yield


def check_matplotlib() -> None:
    """Raise MissingExtraError if figures cannot be drawn."""
    try:
        import matplotlib.figure  # noqa: F401, and with it what matplotlib itself needs
    except ImportError:
        raise MissingExtraError("matplotlib", "plots") from None
