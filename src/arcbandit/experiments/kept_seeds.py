"""How often each claim held over many seeds, as it was counted once and kept in seeds.json."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("seeds.json")


def held_in_words(name: str, file: Path = FILE) -> str:
    """In how many seeds the statements of a claim held; empty if that was not counted."""
    kept = _kept(file)
    counts = kept.get("claims", {}).get(name)
    if counts is None:
        return ""
    seeds = kept["experiments"][name.partition("/")[0]]
    told = {"paper": "the paper's statement held in", "ours": "ours held in"}
    parts = [f"{told[side]} {count}" for side, count in counts.items() if count is not None]
    return f"Over {seeds} seeds, {' and '.join(parts)}."


@cache
def _kept(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return kept
