"""Contextual bandits that guarantee every arm a minimum revenue.

The public names are listed in ``__init__.pyi`` and loaded on first use: importing the compiler alone takes longer than
a command may take to answer.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

_NAMES = re.compile(r"^from (\S+) import (\w+) as (\w+)$", re.MULTILINE)
_HOME = {name: home for home, _, name in _NAMES.findall(Path(__file__).with_suffix(".pyi").read_text("utf-8"))}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        home = _HOME[name]
        value = import_module(f"arcbandit.{name}") if home == "arcbandit" else getattr(import_module(home), name)
    else:
        value = _policy_class(name)
    globals()[name] = value
    return value


def _policy_class(name: str) -> Any:
    """A policy of this package by the name of its class, if the stub does not list it."""
    if not name.startswith("_") and name[:1].isupper():
        from arcbandit.policies.registry import own_policies

        for kind in own_policies().values():
            if kind.__name__ == name:
                return kind
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
