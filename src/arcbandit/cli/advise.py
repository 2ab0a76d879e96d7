"""`arcbandit advise`: what can be promised from what a log knows, and at what price."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from arcbandit.cli.counts import count
from arcbandit.cli.log_options import LOG_HELP, NO_FLOOR_OPTIONS, NO_LOG_OPTIONS, FloorOptions, LogOptions

if TYPE_CHECKING:
    from arcbandit.logs.advice import Advice
    from arcbandit.logs.learning_time import LearningTime


def advise(
    log: Annotated[str, Parameter(help=LOG_HELP)],
    /,
    *,
    floor_options: FloorOptions = NO_FLOOR_OPTIONS,
    log_options: LogOptions = NO_LOG_OPTIONS,
    confidence: Annotated[float, Parameter(help="With which all intervals hold at once.")] = 0.95,
    reward_bounds: Annotated[
        tuple[float, float] | None,
        Parameter(
            negative=(),
            show_default=False,
            help="The least and the largest reward, if known; intervals then hold for any rewards between them, "
            "otherwise for about normal ones.",
        ),
    ] = None,
    least_rows: Annotated[
        int, Parameter(converter=count, help="Pairs with fewer rewards are left out of every plan.")
    ] = 10,
    learning: Annotated[
        bool,
        Parameter(
            negative="--no-learning",
            show_default=False,
            help="Simulate how long policies take to learn to keep the floors, which is done by default.",
        ),
    ] = True,
    policy: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            show_default=False,
            help="A policy whose learning is simulated, as for `arcbandit simulate`; repeat it for each. "
            "By default priced-lp, olp.",
        ),
    ] = None,
    rounds: Annotated[int, Parameter(converter=count, help="That learning is simulated for at most.")] = 50_000,
    tolerance: Annotated[
        float, Parameter(help="The part of all floors that may lack on average once a policy has learnt.")
    ] = 0.05,
    seed: Annotated[int, Parameter(converter=count, help="Of the simulation.")] = 0,
    page: Annotated[
        str | None, Parameter(show_default=False, help="Also write a page with pictures to this .html file.")
    ] = None,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of tables.")
    ] = False,
) -> None:
    """Say what revenue can be promised to each arm from what a log knows, and what proposed floors would cost.

    All intervals hold at once with the confidence that is asked for. Without floors, the answer is about what arms
    earn now.
    """
    from arcbandit.cli.simulate import policy_of
    from arcbandit.inputs.values import positive, whole

    rounds = whole("--rounds", rounds, 1)
    tolerance = positive("--tolerance", tolerance)
    seed = whole("--seed", seed, 0)
    players = None if policy is None else {name: policy_of(name) for name in policy}
    if page is not None:
        from arcbandit.report.advice_page import check_page_target

        check_page_target(page)
    floors, groups = floor_options.read()
    from arcbandit.logs.advice import advise as advise_on
    from arcbandit.logs.reading import read_log

    statistics = read_log(log, **log_options.arguments())
    advice = advise_on(
        statistics,
        floors,
        group_floors=groups,
        confidence=confidence,
        reward_bounds=reward_bounds,
        least_rows=least_rows,
    )
    times: list[LearningTime] | None = None
    if learning and advice.promises and advice.plans["plain"] is not None:
        from arcbandit.logs.learning_time import POLICIES, learning_times

        times = learning_times(advice, players or POLICIES, rounds=rounds, tolerance=tolerance, seed=seed)
    if page is not None:
        from arcbandit.report.advice_page import save_advice_page

        save_advice_page(advice, page, times, tolerance=tolerance)
    if json:
        from arcbandit.cli.documents import print_json

        told = None if times is None else [one.to_dict() for one in times]
        print_json(advice.to_dict() | {"learning": told, "tolerance": tolerance})
    else:
        _print_advice(log, advice, times, tolerance, page)


def _print_advice(
    log: str, advice: "Advice", times: "list[LearningTime] | None", tolerance: float, page: str | None
) -> None:
    from arcbandit.cli.advice_tables import show_advice
    from arcbandit.cli.layout import printing

    with printing() as console:
        show_advice(console, log, advice, times, tolerance)
        if page is not None:
            console.print()
            console.print(f"The page is {page}.")
