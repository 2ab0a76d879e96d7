"""`arcbandit plan`: the best plan for an instance and, on request, what makes the instance hard."""

import contextlib
import os
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from arcbandit.errors import UnknownNameError
from arcbandit.inputs.similar import did_you_mean

if TYPE_CHECKING:
    from arcbandit.cli.documents import Answer
    from arcbandit.instance import Instance


def plan(
    instance: Annotated[
        str, Parameter(help="A .toml or .json file, or a name that `arcbandit instances` lists, such as nu-plus:0.1.")
    ],
    /,
    *,
    analyse: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Add what makes the instance hard: the constants of the paper's bounds.",
        ),
    ] = False,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of tables.")
    ] = False,
    solver: Annotated[
        Literal["simplex", "highs"], Parameter(help="The solver; highs needs the extra `reference`.")
    ] = "simplex",
    on_infeasible: Annotated[
        Literal["least-shortfall", "same-share"],
        Parameter(
            help="The plan for floors that cannot all be met: the least total shortfall, or the largest share of its "
            "floor that every arm and group can get; in either case then the most revenue."
        ),
    ] = "least-shortfall",
) -> None:
    """Print the allocation that earns the most while every floor is met, and what each floor costs.

    Floors that cannot be met together are an answer too: which ones, and a plan that misses them.
    """
    from arcbandit.cli.documents import plan_document, print_json

    answer = _solve(instance, solver, analyse=analyse, same_share=on_infeasible == "same-share")
    if json:
        print_json(plan_document(answer))
        return
    from arcbandit.cli.layout import print_answer

    print_answer(answer)


def _solve(name: str, solver: Literal["simplex", "highs"], *, analyse: bool, same_share: bool) -> "Answer":
    from arcbandit.cli.documents import Answer, readable_count

    instance = find_instance(name)
    with _busy("planning"):
        answer = Answer.of(name, instance, solver=solver, analysed=analyse, same_share=same_share)
    analysis = answer.analysis
    if analysis is not None and analyse:
        with _busy(f"measuring {readable_count(analysis.candidate_count)} candidate sets"):
            answer.nearest_candidate()  # the analysis keeps it
    return answer


def find_instance(name: str) -> "Instance":
    """The instance in the file of that name or, if there is no such file, the paper's instance of that name."""
    from arcbandit.experiments.paper_instances import PAPER_INSTANCES, paper_instance
    from arcbandit.instance import Instance

    if os.path.isfile(name):
        return Instance.load(name)
    try:
        return paper_instance(name)
    except UnknownNameError as error:
        hint = did_you_mean(name.partition(":")[0], PAPER_INSTANCES)
        raise UnknownNameError(
            f"{name!r} is neither a file nor one of the paper's instances{hint}, "
            f"which are {', '.join(PAPER_INSTANCES)}."
        ) from error


def _busy(what: str) -> AbstractContextManager[Any]:
    """A spinner in a terminal, and nothing in a log."""
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)
