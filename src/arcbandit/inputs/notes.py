"""Warnings that point to the line of the user's code that caused them."""

import sys
import warnings

from arcbandit.errors import ArcbanditWarning

PACKAGE = __name__.partition(".")[0]


def warn(message: str, kind: type[ArcbanditWarning]) -> None:
    """Warn at the line outside this package that led here."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, kind, stacklevel=depth)
