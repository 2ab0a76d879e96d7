"""`arcbandit simulate`: policies side by side on an instance."""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from arcbandit.cli.changing import delay_of, drift_of, memory_of, remarks
from arcbandit.cli.cluster import Cluster, on_its_workers
from arcbandit.cli.counts import count
from arcbandit.cli.device import DEVICE_HELP, check_device
from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import LONGEST_HORIZON, known_name, whole
from arcbandit.simulation.choices import Device

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from arcbandit.policies.base import Policy
    from arcbandit.policies.dials import Dial
    from arcbandit.policies.forgetting import Window
    from arcbandit.simulation.results import Results

DEFAULT_POLICIES = ("priced-lp", "olp", "oplp")
TRACE_SUFFIX = ".parquet"
WINDOW_COLUMNS = ("expected", "realised")
ESTIMATE_CONTEXTS = "estimate_contexts"
WHEN_INFEASIBLE = "when_infeasible"
MEMORY = "memory"
NUMBERS = ("exploration_budget", "known_after")
REPLAN = "replan"
NOISE_SCALE = "noise_scale"
WORDS = {REPLAN: ("always", "doubling"), NOISE_SCALE: ("estimate",)}  # that stand for numbers
GUARANTEE = "guarantee"
SETTINGS = (ESTIMATE_CONTEXTS, GUARANTEE, WHEN_INFEASIBLE, MEMORY, *NUMBERS, *WORDS)
TRUTHS = {"true": True, "false": False}


def simulate(
    instance: Annotated[
        str, Parameter(help="A .toml or .json file, or a name that `arcbandit instances` lists, such as nu-plus:0.1.")
    ],
    /,
    *,
    policy: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            show_default=False,
            help="A name that `arcbandit policies` lists, with dials after a colon, as in "
            "linear-program:caution=-0.5,optimism=1; repeat it for each policy. "
            f"By default {', '.join(DEFAULT_POLICIES)}.",
        ),
    ] = None,
    horizon: Annotated[int, Parameter(converter=count, help="Rounds per epoch.")] = 50_000,
    epochs: Annotated[int, Parameter(converter=count, help="Independent runs per policy.")] = 5,
    seed: Annotated[int, Parameter(converter=count, help="The same seed gives the same numbers.")] = 0,
    jobs: Annotated[
        int | None,
        Parameter(
            converter=count,
            show_default=False,
            help="Workers, by default one per processor; the numbers do not depend on it.",
        ),
    ] = None,
    cluster: Cluster = None,
    device: Annotated[Device, Parameter(help=DEVICE_HELP)] = "cpu",
    keep: Annotated[
        Literal["epochs", "summary"] | None,
        Parameter(
            show_default=False,
            help="What `--out` saves: every epoch, or means, variances and quantiles over epochs, whose size does not "
            "grow with `--epochs`. By default epochs on the cpu and a summary on cuda.",
        ),
    ] = None,
    rewards: Annotated[
        Literal["gaussian", "bernoulli"], Parameter(help="How rewards are drawn; bernoulli needs means from 0 to 1.")
    ] = "gaussian",
    window: Annotated[
        int | None,
        Parameter(
            converter=count,
            show_default=False,
            help="Report each floor's worst shortfall over windows of this many rounds.",
        ),
    ] = None,
    delay: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="Rewards come so many rounds late, as in 100, or by a number drawn with a mean, as in geometric:100.",
        ),
    ] = None,
    lost: Annotated[
        float | None, Parameter(show_default=False, help="The probability that a reward never comes.")
    ] = None,
    drift: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="A .toml or .json file of changes, each with its `round` and what holds from then on, as in an "
            "instance file: `mean_rewards`, `revenue_floors`, `context_probabilities`. Or with a table `wandering`, "
            "whose `step` and `every` say by how much and how often means wander.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="Policies forget: by a half-life in rounds, as in 5000, or after a window, as in window:5000. For one "
            "policy alone: blp:memory=5000.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        Parameter(show_default=False, help="Save every metric to a .parquet file; needs the extra `frames`."),
    ] = None,
    plot: Annotated[
        str | None,
        Parameter(
            show_default=False, help="Save a page (.html) or a figure (.png, .pdf, .svg); needs the extra `plots`."
        ),
    ] = None,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of tables.")
    ] = False,
) -> None:
    """Play policies on an instance and print each one's regret and what the floors lacked.

    In each epoch, all policies meet the same contexts and the same noise.
    """
    from arcbandit.cli.plan import find_instance

    found = find_instance(instance)
    configured = configured_policies(
        policy or DEFAULT_POLICIES, None if memory is None else memory_of("--memory", memory)
    )
    _check_numbers(horizon, epochs, seed, jobs, window)
    late, changes = delay_of(delay, lost), drift_of(drift, found, horizon)
    _check_targets(out, plot)
    check_device(device)
    from arcbandit.report.page import save_report
    from arcbandit.simulation import run

    with on_its_workers(cluster), _progress(horizon * epochs * len(configured)) as advance:
        results = run.simulate(
            found,
            configured,
            horizon,
            epochs,
            seed,
            jobs=jobs,
            rewards=rewards,
            window=window,
            delay=late,
            drift=changes,
            progress=advance,
            device=device,
            keep=keep,
        )
    # Each is done, the last one first, even if another fails: a full disk does not lose the table.
    with contextlib.ExitStack() as answers:
        answers.callback(_print_answer, instance, results, json)
        if plot is not None:
            answers.callback(save_report, results, plot, f"Simulation of {instance}")
        if out is not None:
            answers.callback(results.save, out)


def _print_answer(instance: str, results: "Results", json: bool) -> None:
    if json:
        from arcbandit.cli.documents import print_json

        print_json(simulation_document(instance, results))
    else:
        _print_all(instance, results)


def simulation_document(name: str, results: "Results") -> dict[str, Any]:
    """Everything `arcbandit simulate` prints; `rounds` is the round of the summary."""
    from arcbandit.cli.documents import estimate_document
    from arcbandit.report.tables import best_policy, window_rows

    limit = results.learning_limit()
    settings = results.settings | {"name": name, "policies": list(results.policies)}
    worst: dict[str, dict[str, Any]] = {policy: {} for policy in results.policies}
    for row in window_rows(results):
        worst[row.policy][row.floor] = {
            "expected": estimate_document(row.expected),
            "realised": estimate_document(row.realised),
        }
    return {
        "settings": settings,
        "rounds": int(results.rounds[-1]),
        "best": best_policy(results),
        "summary": {
            policy: {metric: estimate_document(value) for metric, value in metrics.items()}
            for policy, metrics in results.summary().items()
        },
        "worst_window": None if results.settings["window"] is None else worst,
        "learning_limit": None if limit is None else limit._asdict(),
    }


def configured_policies(choices: Sequence[str], memory: "float | Window | None") -> "dict[str, Policy]":
    """The policies by how they are named; `memory` is that of those which do not name their own."""
    configured: dict[str, Policy] = {}
    for choice in choices:
        if choice in configured:
            raise InvalidInputError(f"--policy {choice} must be given only once.")
        configured[choice] = policy_of(choice, memory)
    return configured


def policy_of(choice: str, memory: "float | Window | None" = None) -> "Policy":
    """The policy named with its dials, as in linear-program:caution=-0.5,optimism=1."""
    from arcbandit.policies.registry import POLICIES
    from arcbandit.simulation.clairvoyant import CLAIRVOYANTS

    name, colon, dials = choice.partition(":")
    kind: type[Policy] = CLAIRVOYANTS[name] if name in CLAIRVOYANTS else POLICIES[known_name("policy", name, POLICIES)]
    known: dict[str, Dial | None] = {dial.name: dial for dial in kind.dials} | dict.fromkeys(SETTINGS)
    settings: dict[str, Any] = {}
    for part in dials.split(",") if colon else ():
        dial, equals, text = (piece.strip() for piece in part.partition("="))
        if dial not in known:
            hint = did_you_mean(dial, known)
            raise InvalidInputError(f"Policy {name} has no dial {dial!r}{hint}; it has {', '.join(known)}.")
        if not equals or dial in settings:
            raise InvalidInputError(f"Dial {dial} of policy {name} must be given once, as {dial}=value, got {part!r}.")
        settings[dial] = _dial_value(name, dial, known[dial], text)
    if memory is not None and not kind.plans:
        raise InvalidInputError(f"--memory must not be given with policy {name}, which does not plan.")
    return kind(**{MEMORY: memory, **settings})


def _dial_value(policy: str, name: str, dial: "Dial | None", text: str) -> Any:
    if name == WHEN_INFEASIBLE:
        return text.replace("-", "_")
    if name == MEMORY:
        return memory_of(f"Dial {name} of policy {policy}", text)
    if text in WORDS.get(name, ()):
        return text
    if dial is None and name not in (*NUMBERS, *WORDS):
        if text.lower() not in TRUTHS:
            raise InvalidInputError(f"Dial {name} of policy {policy} must be true or false, got {text!r}.")
        return TRUTHS[text.lower()]
    if dial is not None and dial.choices:
        return text
    whole_number = dial is not None and dial.whole
    try:
        return int(text) if whole_number else float(text)
    except ValueError:
        raise InvalidInputError(
            f"Dial {name} of policy {policy} must be a {'whole ' * whole_number}number, got {text!r}."
        ) from None


def _check_numbers(horizon: int, epochs: int, seed: int, jobs: int | None, window: int | None) -> None:
    whole("--horizon", horizon, 1, LONGEST_HORIZON)
    whole("--epochs", epochs, 1)
    whole("--seed", seed, 0)
    if jobs is not None:
        whole("--jobs", jobs, 1)
    if window is not None:
        whole("--window", window, 1, horizon)


def _check_targets(out: str | None, plot: str | None) -> None:
    """Refuse before the work what could not be written after it."""
    from arcbandit.report.files import check_target
    from arcbandit.report.page import check_report_target

    if out is not None:
        check_target(out, (TRACE_SUFFIX,))
        try:
            import polars  # noqa: F401
        except ImportError:
            raise MissingExtraError("polars", "frames") from None
    if plot is not None:
        check_report_target(plot)


@contextlib.contextmanager
def _progress(total: int) -> "Iterator[Callable[[int], None] | bool]":
    """A bar in a terminal, and nothing in a log."""
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("playing rounds", total=total)
        yield lambda rounds: bar.advance(task, rounds)


def _print_all(name: str, results: "Results") -> None:
    from rich.text import Text

    from arcbandit.cli.layout import printing
    from arcbandit.cli.wide_tables import print_in_parts
    from arcbandit.report.tables import best_policy

    best = best_policy(results)
    epochs = "1 epoch" if results.epochs == 1 else f"{results.epochs:,} epochs"
    with printing() as console:
        remark = f"  {epochs} of {results.horizon:,} rounds, seed {results.settings['seed']}"
        console.print(Text(name, style="bold").append(remark, style="not bold dim"))
        if not results.settings["feasible"]:
            console.print("The floors cannot be met together; regret is against the plan of least shortfall.")
        for remark in remarks(results.settings):
            console.print(remark)
        console.print()
        _print_results(console, results, best)
        console.print()
        console.print(_reading(results, best))
        if results.settings["window"] is not None:
            console.print()
            remark = "  shortfall per round; below 0 is revenue above the floor"
            title = f"Worst window of {results.settings['window']:,} rounds"
            console.print(Text(title, style="bold").append(remark, style="not bold dim"))
            print_in_parts(console, functools.partial(_windows, results), WINDOW_COLUMNS)


def _columns(*names: str, left: int) -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for place, name in enumerate(names):
        table.add_column(name, justify="left" if place < left else "right", no_wrap=True)
    return table


def _print_results(console: "Console", results: "Results", best: str | None) -> None:
    """All columns in one table or, if that is too wide, sums and shares in two or more; numbers are never cut."""
    from arcbandit.cli.wide_tables import natural_width, print_in_parts
    from arcbandit.report.tables import COLUMNS, SUM_COLUMNS

    headings = [column.heading for column in COLUMNS]
    make = functools.partial(_results, results, best)
    if natural_width(console, make(headings)) <= console.width:
        print_in_parts(console, make, headings)
        return
    print_in_parts(console, make, headings[: len(SUM_COLUMNS)])
    console.print()
    print_in_parts(console, make, headings[len(SUM_COLUMNS) :])


def _results(results: "Results", best: str | None, headings: Sequence[str]) -> "Table":
    from rich.text import Text

    from arcbandit.report.tables import COLUMNS, broken_label, result_rows

    table = _columns("policy", *headings, left=1)
    for policy, *cells in result_rows(results):
        by_heading = dict(zip((column.heading for column in COLUMNS), cells, strict=True))
        mark = "* " if policy == best else "  " if best is not None else ""
        name = f"\n{' ' * len(mark)}".join(broken_label(policy))
        shown = (by_heading[heading] for heading in headings)
        table.add_row(Text(mark + name), *shown, style="bold" if policy == best else "")
    return table


def _reading(results: "Results", best: str | None) -> "Table":
    from rich.table import Table

    from arcbandit.report.tables import COLUMNS, LIMIT, limit_meaning

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    for column in COLUMNS:
        table.add_row(column.heading, column.meaning)
    if best is not None:
        table.add_row("*", "lowest mean R + V")
    if meaning := limit_meaning(results):
        table.add_row(LIMIT, meaning)
    if results.epochs > 1:
        table.add_row("±", "half width of the 95 % interval of the mean over epochs")
    return table


def _windows(results: "Results", headings: Sequence[str]) -> "Table":
    from rich.text import Text

    from arcbandit.cli.wording import label
    from arcbandit.estimates import written
    from arcbandit.report.tables import broken_label, window_rows

    table = _columns("policy", "floor of", *headings, left=2)
    for policy in results.policies:
        rows = [row for row in window_rows(results) if row.policy == policy]
        table.add_row(
            Text("\n".join(broken_label(policy))),
            Text("\n".join(label(row.floor) for row in rows)),
            *("\n".join(written(getattr(row, heading)) for row in rows) for heading in headings),
        )
    return table
