"""`arcbandit fit`: a policy that starts with what a log knows."""

import json as json_text
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from arcbandit.cli.counts import count
from arcbandit.cli.log_options import LOG_HELP, NO_FLOOR_OPTIONS, NO_LOG_OPTIONS, FloorOptions, LogOptions, skipped_rows

if TYPE_CHECKING:
    from arcbandit.logs.statistics import LogStatistics
    from arcbandit.policies.base import Policy

MOST_ARMS = 40


def fit(
    log: Annotated[str, Parameter(help=LOG_HELP)],
    /,
    *,
    out: Annotated[str, Parameter(help="The .json file that the policy is written to, which `restore` reads.")],
    policy: Annotated[
        str,
        Parameter(
            help="A name that `arcbandit policies` lists, with dials after a colon, as in "
            "priced-lp:violation_weight=10 for promises that must be kept."
        ),
    ] = "priced-lp",
    floor_options: FloorOptions = NO_FLOOR_OPTIONS,
    log_options: LogOptions = NO_LOG_OPTIONS,
    horizon: Annotated[
        int | None,
        Parameter(
            converter=count, show_default=False, help="Rounds to come, for policies that must know their number."
        ),
    ] = None,
    reward_bounds: Annotated[
        tuple[float, float] | None,
        Parameter(
            negative=(),
            show_default=False,
            help="The least and the largest reward, if known; otherwise noise is estimated.",
        ),
    ] = None,
    seed: Annotated[int, Parameter(converter=count, help="The seed of its decisions.")] = 0,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of a table.")
    ] = False,
) -> None:
    """Write a policy that has learnt from a log and is ready to decide.

    The mix of contexts and the noise of rewards are learnt from the log, too.
    """
    from arcbandit.cli.simulate import policy_of
    from arcbandit.inputs.values import whole
    from arcbandit.report.files import check_target, write_whole

    target = check_target(out, (".json",))
    configuration = policy_of(policy).unbound()
    floors, groups = floor_options.read()
    told: dict[str, Any] = {"seed": whole("--seed", seed, 0), "reward_bounds": reward_bounds}
    if horizon is not None:
        told["horizon"] = whole("--horizon", horizon, 1)
    from arcbandit.logs.fitting import fit as fit_policy
    from arcbandit.logs.reading import read_log

    statistics = read_log(log, **log_options.arguments())
    fitted = fit_policy(statistics, floors, configuration, group_floors=groups, **told)
    write_whole(target, f"{json_text.dumps(fitted.snapshot(), allow_nan=False)}\n".encode())
    if json:
        from arcbandit.cli.documents import print_json

        print_json(fit_document(statistics, fitted, str(target)))
    else:
        _print_fit(statistics, fitted, str(target))


def fit_document(statistics: "LogStatistics", fitted: "Policy", out: str) -> dict[str, Any]:
    """Everything `arcbandit fit` prints."""
    return {
        "policy": fitted.label,
        "out": out,
        "rows": statistics.rows,
        "arms": list(statistics.arms),
        "contexts": list(statistics.contexts),
        "context_probabilities": statistics.context_probabilities.tolist(),
        "arm_revenue": statistics.arm_revenue.tolist(),
        "floors": fitted.floors.to_dict(),
        "noise_scale": fitted.noise_scale,
        "unplayed_pairs": [list(pair) for pair in statistics.unplayed_pairs],
        "bad_rows": [bad.to_dict() for bad in statistics.bad_rows],
    }


def _print_fit(statistics: "LogStatistics", fitted: "Policy", out: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from arcbandit.cli.layout import printing
    from arcbandit.cli.wording import figure, figures, label

    shape = f"{len(statistics.arms):,} arms, {len(statistics.contexts):,} contexts"
    with printing() as console:
        console.print(Text(out, style="bold").append(f"  {fitted.label}, ready to decide", style="not bold dim"))
        console.print(f"Learnt from {statistics.rows:,} rows: {shape}, noise {figure(fitted.noise_scale)}.")
        for remark in skipped_rows(statistics):
            console.print(remark)
        unplayed = len(statistics.unplayed_pairs)
        if unplayed:
            console.print(f"{unplayed:,} of {statistics.counts.size:,} pairs were never played, and will be explored.")
        console.print()
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
        for place, heading in enumerate(("floor of", "rows", "revenue in the log", "floor")):
            table.add_column(heading, justify="right" if place else "left", no_wrap=True)
        members, names = fitted.floors.members, fitted.floors.names
        shown = range(min(len(names), MOST_ARMS))
        earned = figures(float(statistics.arm_revenue[members[row]].sum()) for row in shown)
        owed = figures(float(fitted.floors.amounts[row]) for row in shown)
        for row in shown:
            rows = int(statistics.counts[members[row]].sum())
            table.add_row(Text(label(names[row])), f"{rows:,}", earned[row], owed[row])
        console.print(table)
        if len(names) > MOST_ARMS:
            console.print(f"and {len(names) - MOST_ARMS:,} more; --json prints all")
