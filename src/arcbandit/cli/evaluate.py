"""`arcbandit evaluate`: what a plan or a policy would have earned in the world of a log."""

import json as json_text
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from arcbandit.cli.counts import count
from arcbandit.cli.log_options import LOG_HELP, NO_FLOOR_OPTIONS, NO_LOG_OPTIONS, FloorOptions, LogOptions
from arcbandit.errors import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from arcbandit.logs.bad_rows import BadRows
    from arcbandit.logs.evaluation import Evaluation
    from arcbandit.logs.replaying import Replay

METHODS = {
    "dm": "direct method: the means of pairs, shared out as the plan does",
    "ips": "inverse propensity scores: rewards weighted by plan over probability",
    "snips": "the same, divided by the sum of the weights",
    "dr": "doubly robust: the direct method, corrected by weighted residuals",
}
MOST_ARMS = 40
MOST_PAIRS = 12


def evaluate(
    log: Annotated[str, Parameter(help=LOG_HELP)],
    /,
    *,
    policy: Annotated[
        str,
        Parameter(
            help="What to evaluate: `uniform`; a .json file with a plan, as `arcbandit plan --json` prints it, or "
            "with a policy, as `arcbandit fit` writes it; or a name that `arcbandit policies` lists, for a policy that "
            "knows nothing yet, learns, and keeps the floors."
        ),
    ],
    frozen: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Evaluate the plan that the policy of a file follows now, instead of letting it learn further.",
        ),
    ] = False,
    floor_options: FloorOptions = NO_FLOOR_OPTIONS,
    log_options: LogOptions = NO_LOG_OPTIONS,
    infer_probabilities: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Take the shares of arms in each context as probabilities, in a log that has none: right only if "
            "nothing but the context decided about the arm.",
        ),
    ] = False,
    confidence: Annotated[float, Parameter(help="Of the intervals.")] = 0.95,
    bootstrap: Annotated[
        int | None,
        Parameter(
            converter=count,
            show_default=False,
            help="Samples of rows that intervals are made of; by default 1,000 if weights are heavy, otherwise none.",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        Parameter(converter=count, show_default=False, help="The most rounds that a policy which learns may play."),
    ] = None,
    horizon: Annotated[
        int | None,
        Parameter(
            converter=count, show_default=False, help="Rounds to come, for policies that must know their number."
        ),
    ] = None,
    seed: Annotated[int, Parameter(converter=count, help="Of the samples, or of a policy that learns.")] = 0,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of tables.")
    ] = False,
) -> None:
    """Estimate what a plan or a policy would have earned in the world of a log, in all and per arm.

    A plan is evaluated by four estimators with intervals, from the probabilities in the log. A policy that learns is
    replayed: it decides in the log's contexts and gets the log's rewards, until one is wanted that is used up.
    """
    plan, learner = _found(policy, frozen=frozen)
    if plan is not None:
        if floor_options != NO_FLOOR_OPTIONS or rounds is not None or horizon is not None:
            raise InvalidInputError("--floor, --floors, --rounds and --horizon are for policies that learn.")
        from arcbandit.logs.evaluation import evaluate as evaluate_plan

        found = evaluate_plan(
            log,
            plan,
            **log_options.arguments(),
            infer_probabilities=infer_probabilities,
            confidence=confidence,
            bootstrap=bootstrap,
            seed=seed,
        )
        _print(found.to_dict(), lambda console: _show_evaluation(console, found), json)
        return
    if infer_probabilities or bootstrap is not None:
        raise InvalidInputError("--infer-probabilities and --bootstrap are for plans, which do not learn.")
    played = _replayed(log, learner, floor_options, log_options, confidence, rounds, horizon, seed)
    _print(played.to_dict(), lambda console: _show_replay(console, played), json)


def _found(choice: str, *, frozen: bool) -> tuple[Any, Any]:
    """What is to be evaluated: a plan that stays as it is, or a policy that learns."""
    from arcbandit.cli.simulate import policy_of
    from arcbandit.policies.registry import restore

    is_file = Path(choice).suffix.lower() == ".json"
    if frozen and not is_file:
        raise InvalidInputError(f"--frozen must be given only with the file of a policy, got --policy {choice}.")
    if choice == "uniform":
        return choice, None
    if not is_file:
        return None, policy_of(choice).unbound()
    document = _document(choice)
    if "allocation" in document:
        if frozen:
            raise InvalidInputError(f"--frozen must be given only with the file of a policy, but {choice} is a plan.")
        return _plan_of(choice, document), None
    if "policy" not in document:
        raise InvalidInputError(f"{choice}: must hold a plan or a policy.")
    policy = restore(document)
    return (policy, None) if frozen else (None, policy)


def _document(path: str) -> dict[str, Any]:
    try:
        document = json_text.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file.") from None
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read ({error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path}: is not valid JSON ({error}).") from None
    if not isinstance(document, dict):
        raise InvalidInputError(f"{path}: must hold a plan or a policy.")
    return document


def _plan_of(path: str, document: dict[str, Any]) -> Any:
    """Shares with their labels."""
    from arcbandit.inputs.arrays import matrix
    from arcbandit.inputs.values import checked_names
    from arcbandit.logs.targets import Shares

    for field in ("arms", "contexts"):
        if field not in document:
            raise InvalidInputError(f"{path}: a plan must have the field {field}.")
    shares = matrix("allocation", document["allocation"])
    return Shares(checked_names("arms", document["arms"]), checked_names("contexts", document["contexts"]), shares)


def _replayed(
    log: str,
    learner: Any,
    floor_options: FloorOptions,
    log_options: LogOptions,
    confidence: float,
    rounds: int | None,
    horizon: int | None,
    seed: int,
) -> "Replay":
    from arcbandit.inputs.values import whole
    from arcbandit.logs.replaying import replay
    from arcbandit.policies.configuration import Configuration

    floors, groups = floor_options.read()
    told: dict[str, Any] = {}
    if isinstance(learner, Configuration):
        told = {"revenue_floors": floors, "group_floors": groups, "seed": whole("--seed", seed, 0)}
        if horizon is not None:
            told["horizon"] = whole("--horizon", horizon, 1)
    elif floors or groups or horizon is not None:
        raise InvalidInputError("--floor, --floors and --horizon must not be given with the policy of a file.")
    return replay(log, learner, **log_options.arguments(), confidence=confidence, rounds=rounds, **told)


def _print(document: dict[str, Any], show: Any, json: bool) -> None:
    if json:
        from arcbandit.cli.documents import print_json

        print_json(document)
        return
    from arcbandit.cli.layout import printing

    with printing() as console:
        show(console)


def _show_evaluation(console: "Console", found: "Evaluation") -> None:
    from rich.text import Text

    from arcbandit.cli.wording import figure, figures, label, percent
    from arcbandit.estimates import NOT_A_NUMBER

    console.print(Text(found.plan, style="bold").append("  what it would have earned per round", style="not bold dim"))
    console.print(
        f"{found.rows:,} rows, worth {found.effective_rows:,.0f} of equal weight; largest weight "
        f"{figure(found.largest_weight)}, mean weight {figure(found.mean_weight)}; the log itself earned "
        f"{figure(found.statistics.value)}."
    )
    _show_bad_rows(console, found.bad_rows)
    if found.probabilities == "inferred":
        console.print("Probabilities are the shares of arms in each context; the log has none.")
    if found.unsupported_pairs:
        pairs = ", ".join(
            f"{label(arm)} in {label(context)}" for arm, context, _ in found.unsupported_pairs[:MOST_PAIRS]
        )
        more = len(found.unsupported_pairs) - MOST_PAIRS
        pairs += f" and {more:,} more" if more > 0 else ""
        share = percent(min(found.unsupported_share, 1.0), decimals=1)
        console.print(
            f"{share} of the rounds would go to pairs that were never logged: {pairs}. "
            "What these earn is not known: dm and dr cannot be given, and ips and snips count nothing for them."
        )
    resampled = any(estimate.bootstrap is not None for estimate in found.estimates.values())
    if found.heavy_weights:
        console.print("Weights are heavy: one row has more than 1% of the sum of their squares.")
    if any(estimate.is_stretched for estimate in found.estimates.values()):
        console.print("Intervals are stretched where few rows decide.")
    console.print()
    table = _table("estimator", "per round", "interval", *(["bootstrap"] if resampled else []), left=1)
    for name, estimate in found.estimates.items():
        cells = figures([estimate.value, *estimate.interval, *_ends(estimate.bootstrap)])
        ends = [f"{cells[1]} to {cells[2]}", f"{cells[3]} to {cells[4]}" if len(cells) > 3 else NOT_A_NUMBER]
        if math.isnan(estimate.value):
            cells, ends = [NOT_A_NUMBER], [NOT_A_NUMBER, NOT_A_NUMBER]
        table.add_row(name, cells[0], *ends[: 1 + resampled], style="bold" if name == found.best else "")
    console.print(table)
    console.print()
    best = found.estimates[found.best]
    now = dict(zip(found.statistics.arms, found.statistics.arm_revenue, strict=True))
    rows = zip(found.arms, best.arm_revenue, best.best_intervals[:-1], strict=True)
    _show_arms(console, [(arm, now.get(arm, 0.0), value, ends) for arm, value, ends in rows], found.best)
    console.print()
    for name, meaning in METHODS.items():
        console.print(Text(f"{name:<6}").append(meaning, style="dim"))


def _show_replay(console: "Console", played: "Replay") -> None:
    from rich.text import Text

    from arcbandit.cli.wording import figure, label

    console.print(
        Text(played.policy, style="bold").append("  replayed: what it earned per round", style="not bold dim")
    )
    end = "no row was left"
    if played.ran_out is not None:
        arm, context = played.ran_out
        end = f"the rewards of {label(arm)} in {label(context)} were used up"
    elif played.rounds < played.rows:
        end = "it was to play no more"
    console.print(f"{played.rounds:,} rounds from {played.rows:,} rows, until {end}.")
    _show_bad_rows(console, played.bad_rows)
    low, high = played.interval
    console.print(
        f"{figure(played.value)} per round ({figure(low)} to {figure(high)}); "
        f"the log itself earned {figure(played.logged_value)}."
    )
    console.print()
    share = played.plays.sum(axis=1) / played.rounds
    rows = zip(played.arms, share, played.arm_revenue, played.arm_intervals, strict=True)
    _show_arms(
        console, [(arm, part, value, ends) for arm, part, value, ends in rows], "replay", first="share of rounds"
    )


def _show_arms(console: "Console", arms: list[Any], method: str, first: str = "in the log") -> None:
    from rich.text import Text

    from arcbandit.cli.wording import figures, label

    shown = arms[:MOST_ARMS]
    table = _table("arm", first, f"per round ({method})", "interval", left=1)
    before = figures(one[1] for one in shown)
    numbers = figures(number for one in shown for number in (one[2], *one[3]))
    for place, one in enumerate(shown):
        value, low, high = numbers[3 * place : 3 * place + 3]
        table.add_row(Text(label(one[0])), before[place], value, f"{low} to {high}")
    console.print(table)
    if len(arms) > MOST_ARMS:
        console.print(f"and {len(arms) - MOST_ARMS:,} more; --json prints all")


def _show_bad_rows(console: "Console", bad_rows: "tuple[BadRows, ...]") -> None:
    for bad in bad_rows:
        console.print(f"Left out: {bad}.")


def _ends(interval: Any) -> list[float]:
    return [] if interval is None else [float(end) for end in interval[-1]]


def _table(*columns: str, left: int) -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", no_wrap=True)
    return table
