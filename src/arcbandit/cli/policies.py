"""`arcbandit policies`: the policies that can be simulated, with their dials."""

import inspect
import math
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from arcbandit.policies.base import Policy
    from arcbandit.policies.dials import Dial


def policies(
    *,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of a table.")
    ] = False,
) -> None:
    """List the policies, which `arcbandit simulate` takes by name, with their dials."""
    from arcbandit.cli.documents import print_json

    document = policies_document()
    if json:
        print_json(document)
        return
    from rich.table import Table
    from rich.text import Text

    from arcbandit.cli.layout import printing

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("name", no_wrap=True)
    table.add_column("what it does, its dials, and what it needs to be told")
    for entry in document["policies"]:
        about = Text(entry["summary"])
        for dial in entry["dials"]:
            about.append(f"\n{dial['name']}={_shown(dial['default'])}", style="bold")
            about.append(f"  {dial['meaning']}; {_range(dial)}", style="dim")
        if entry["needs"]:
            about.append(f"\nneeds {' and '.join(entry['needs'])}", style="dim")
        if not entry["supports_group_floors"]:
            about.append("\ndoes not keep group floors", style="dim")
        table.add_row(entry["name"], about)
    with printing() as console:
        console.print(table)
        console.print()
        console.print("Dials follow the name after a colon: linear-program:caution=-0.5,optimism=1")
        console.print("With estimate_contexts=true, any policy estimates the context probabilities itself.")
        console.print(
            "With when_infeasible=same_share, one that plans gives floors out of reach all the same share of them."
        )
        console.print(
            "With exploration_budget=0.1, one that plans gives pairs seen less than known_after=200 times together at "
            "most that share of a context."
        )
        console.print(
            "With replan=100 one that plans keeps a plan for 100 rounds, with memory=5000 or memory=window:5000 one "
            "that plans forgets, and with noise_scale=estimate any policy estimates sigma."
        )
        console.print("With guarantee=true, one that plans is held to a ledger: see guarantee_bound in the library.")
        console.print("A simulation tells each policy the horizon and, if needed, the largest mean.")


def policies_document() -> dict[str, Any]:
    """Everything `arcbandit policies` prints."""
    from arcbandit.policies.registry import POLICIES

    return {"policies": [_entry(kind) for kind in POLICIES.values()]}


def _entry(kind: "type[Policy]") -> dict[str, Any]:
    needs = {"horizon": kind.needs_horizon, "mean_bound": kind.needs_mean_bound}
    first_paragraph = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0]
    return {
        "name": kind.name,
        "summary": " ".join(first_paragraph.split()),
        "dials": [_dial(dial) for dial in kind.dials],
        "needs": [name for name, needed in needs.items() if needed],
        "supports_group_floors": kind.supports_group_floors,
        "plans": kind.plans,
        "reference": kind.reference,
    }


def _dial(dial: "Dial") -> dict[str, Any]:
    return {
        "name": dial.name,
        "default": dial.default,
        "meaning": dial.meaning,
        "low": dial.low if math.isfinite(dial.low) else None,
        "high": dial.high if math.isfinite(dial.high) else None,
        "exclusive": dial.exclusive,
        "choices": list(dial.choices),
    }


def _range(dial: dict[str, Any]) -> str:
    if dial["choices"]:
        return f"one of {', '.join(dial['choices'])}"
    low, high = dial["low"], dial["high"]
    if low is None and high is None:
        return "any number"
    if high is None:
        return f"{'above' if dial['exclusive'] else 'at least'} {low:g}"
    if low is None:
        return f"{'below' if dial['exclusive'] else 'at most'} {high:g}"
    return f"strictly between {low:g} and {high:g}" if dial["exclusive"] else f"from {low:g} to {high:g}"


def _shown(default: float | str) -> str:
    return default if isinstance(default, str) else f"{default:g}"
