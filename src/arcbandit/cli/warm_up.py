"""`arcbandit warm-up`: compile ahead, so that nobody waits for it later."""

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from arcbandit.inputs.values import known_name

DEFAULT_POLICIES = ("priced-lp", "olp", "oplp")
SMALL = (3, 3)  # arms and contexts
LARGE = (12, 12)  # of so many pairs that more is kept from round to round


def warm_up(
    *policies: Annotated[
        str,
        Parameter(
            help="Names that `arcbandit policies` lists; `all` for all of them. "
            f"By default {', '.join(DEFAULT_POLICIES)}."
        ),
    ],
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of a table.")
    ] = False,
) -> None:
    """Compile planning and policies ahead, and say how long each took.

    Compiled code is kept on disk, for problems of any size: after this no process on this machine compiles again for
    what is named here, until arcbandit, Numba or the processor changes.
    """
    from arcbandit.compilation.cache import cache_root
    from arcbandit.policies.registry import POLICIES

    chosen = tuple(POLICIES) if "all" in policies else tuple(dict.fromkeys(policies or DEFAULT_POLICIES))
    for name in chosen:
        known_name("policy", name, POLICIES)
    rows = list(_compiled(chosen))
    if json:
        from arcbandit.cli.documents import print_json

        print_json({"folder": str(cache_root()), "compiled": rows})
        return
    from rich.table import Table

    from arcbandit.cli.layout import printing

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for heading in ("what", "seconds", "compiled", "found on disk"):
        table.add_column(heading, justify="left" if heading == "what" else "right", no_wrap=True)
    for row in rows:
        table.add_row(row["what"], f"{row['seconds']:.1f}", str(row["compiled"]), str(row["found"]))
    with printing() as console:
        console.print(table)
        console.print()
        console.print(f"Compiled code is in {cache_root()}.", soft_wrap=True)


def _compiled(policies: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """What was compiled, one row as soon as each part is."""
    from arcbandit.planning import plan
    from arcbandit.policies.registry import POLICIES
    from arcbandit.simulation.run import simulate

    yield _timed("planning", lambda: [plan(_instance(*shape)) for shape in (SMALL, LARGE)])
    for name in policies:
        kind = POLICIES[name]

        def play(kind: Any = kind) -> None:
            # A problem of few pairs needs less code than one of many, and each has a compiled form of its own.
            for shape in (SMALL, LARGE):
                instance = _instance(*shape)
                for keep in ("epochs", "summary") if shape == SMALL else ("epochs",):
                    simulate(instance, [kind()], 1, 1, jobs=1, progress=False, keep=keep)
                decider = kind().for_instance(instance, horizon=1)
                decider.update(0, decider.decide(0).arm, 1.0)

        yield _timed(f"policy {name}", play)


def _timed(what: str, work: Callable[[], object]) -> dict[str, Any]:
    from arcbandit.compilation import compile

    compiled, found, start = len(compile.compiled_here), len(compile.loaded_here), time.perf_counter()
    work()
    return {
        "what": what,
        "seconds": time.perf_counter() - start,
        "compiled": len(compile.compiled_here) - compiled,
        "found": len(compile.loaded_here) - found,
    }


def _instance(n_arms: int, n_contexts: int) -> Any:
    import numpy as np

    from arcbandit.instance import Instance

    means = 1.0 + (np.arange(n_arms * n_contexts).reshape(n_arms, n_contexts) * 7 % 11) / 11
    return Instance(means, np.full(n_arms, 0.1 / n_arms), np.full(n_contexts, 1.0 / n_contexts))
