"""`arcbandit benchmark`: how fast policies learn, on families of instances."""

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cyclopts import Parameter

from arcbandit.cli.cluster import Cluster, on_its_workers
from arcbandit.cli.counts import count
from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import LONGEST_HORIZON, known_name, whole
from arcbandit.notes import duration

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from rich.console import Console
    from rich.table import Table

    from arcbandit.learning.page import Parts
    from arcbandit.learning.play import Plan
    from arcbandit.learning.results import Results
    from arcbandit.report.tables import NumberTable
    from arcbandit.simulation.playable import Playable

STANDARD, FULL, QUICK = (20, 8), (50, 40), (3, 2)  # instances and epochs
FRONTIER_SIZE = (10, 4)
FRONTIER_FAMILIES = ("small", "large", "dear")
HORIZON = 50_000
QUICK_HORIZON = 5_000
SECONDS_BETWEEN_LINES = 20.0  # of a log
DEFAULT_FOLDER, QUICK_FOLDER = "learning", "learning-quick"


def benchmark(
    families: Annotated[
        list[str] | None,
        Parameter(negative=(), show_default=False, help="Families from --list; by default all."),
    ] = None,
    /,
    *,
    list_: Annotated[
        bool, Parameter(name="--list", negative=(), show_default=False, help="List the families instead of playing.")
    ] = False,
    half: Annotated[
        Literal["scored", "tuning"] | None,
        Parameter(
            show_default=False,
            help="Which half of the instances: constants are tuned on one and judged on the other. By default scored, "
            "but tuning with `--quick`: to look at the scored half while tuning would spend it.",
        ),
    ] = None,
    frontier: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Play rules at many values of their dials instead, on the tuning half; by default "
            f"{FRONTIER_SIZE[0]} instances of {', '.join(FRONTIER_FAMILIES)}, and {FRONTIER_SIZE[1]} epochs.",
        ),
    ] = False,
    policy: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            show_default=False,
            help="A policy as for `arcbandit simulate`; repeat it for each. By default every "
            "policy of the library, and the clairvoyants.",
        ),
    ] = None,
    instances: Annotated[
        int | None,
        Parameter(
            converter=count,
            show_default=False,
            help=f"Instances per family, by default {STANDARD[0]}; a quarter of them for `many`, and always all five "
            "of `paper`.",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        Parameter(
            converter=count,
            show_default=False,
            help=f"Runs per instance and policy, by default {STANDARD[1]}; four times as many for the instances of "
            "`paper`, and half as many for `many`.",
        ),
    ] = None,
    horizon: Annotated[
        int | None, Parameter(converter=count, show_default=False, help=f"Rounds per run, by default {HORIZON:,}.")
    ] = None,
    full: Annotated[
        bool,
        Parameter(
            negative=(), show_default=False, help=f"{FULL[0]} instances and {FULL[1]} epochs, for many processors."
        ),
    ] = False,
    quick: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help=f"{QUICK[0]} instances, {QUICK[1]} epochs and {QUICK_HORIZON:,} rounds, to see whether it runs: "
            "seconds, and about a minute more to compile the first time.",
        ),
    ] = False,
    seed: Annotated[
        int | None,
        Parameter(
            converter=count,
            show_default=False,
            help="Seed of the random instances, by default 0; docs/learning.md names those after which rules were "
            "changed.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        Parameter(
            converter=count,
            show_default=False,
            help="Workers, by default one per processor; the numbers do not depend on it.",
        ),
    ] = None,
    cluster: Cluster = None,
    out: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="The folder of results, a file per family. What it holds already is not played again: an interrupted "
            f"run goes on where it stopped. By default {DEFAULT_FOLDER}, or {QUICK_FOLDER} with `--quick`.",
        ),
    ] = None,
    again: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Drop what the folder holds of these policies, and play it again: for a rule that has changed since, "
            "as in `--policy priced-lp --again`. If it is interrupted, the same command without it plays the rest.",
        ),
    ] = False,
    from_: Annotated[
        str | None,
        Parameter(name="--from", show_default=False, help="Play nothing: show the results of this folder."),
    ] = None,
    page: Annotated[
        str | None,
        Parameter(
            show_default=False,
            help="Write a page (.md) about all results in the folder, with figures there; needs the extra `plots`.",
        ),
    ] = None,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of tables.")
    ] = False,
) -> None:
    """Play policies on frozen families of random instances, and show who loses least.

    The usual size takes six minutes on two free processors. Results are kept as they come.
    The last lines say which requirements of the recommended policy, `priced-lp`, are kept.
    """
    from pathlib import Path

    plays = {
        "policy": policy,
        "instances": instances,
        "epochs": epochs,
        "horizon": horizon,
        "full": full,
        "quick": quick,
        "seed": seed,
        "jobs": jobs,
        "cluster": cluster,
        "again": again,
        "out": out,
    }
    if list_:
        shows = {"from": from_, "half": half, "frontier": frontier, "page": page}
        _refuse_beside("--list, which plays nothing and has all families", {**plays, **shows})
        if families:
            raise InvalidInputError(
                f"families must not be given with --list, which has all of them, got {families[0]!r}."
            )
        _list(json)
        return
    if from_ is not None:
        _refuse_beside("--from, which plays nothing", plays)
    if "" in (from_, out):
        raise InvalidInputError(f"{'--from' if from_ == '' else '--out'} must be a folder, got ''.")
    if frontier and half is not None:
        raise InvalidInputError("--half must not be given with --frontier, which is of the tuning half.")
    usual = QUICK_FOLDER if quick else DEFAULT_FOLDER
    folder = Path(from_ if from_ is not None else out if out is not None else usual)
    target = None if page is None else _page_target(page)
    part = "frontier" if frontier else half or ("tuning" if quick else "scored")
    if from_ is None:
        size = _size(instances, epochs, horizon, full, quick, frontier)
        plan = _plan(families, part, policy, size, 0 if seed is None else seed, jobs)._replace(again=again)
        with on_its_workers(cluster):
            _play(plan, folder)
    elif not folder.is_dir():
        raise InvalidInputError(f"--from must be a folder of results, got {from_!r}.")
    from arcbandit.learning.results import PARTS, read

    parts = {name: read(folder, name) for name in PARTS}
    chosen = _chosen(parts[part], families) if from_ is not None or families else parts[part]
    if not chosen:
        others = " or ".join(_option(name) for name, found in parts.items() if found)
        hint = f" There are others: {others}." if others else ""
        raise InvalidInputError(f"{folder}: there are no results of the part {part!r} yet.{hint}")
    with contextlib.ExitStack() as answers:
        answers.callback(_print_json if json else _print_all, chosen, part)
        if target is not None:
            answers.callback(_write_page, target, folder, parts, sys.stderr if json else sys.stdout)


def _refuse_beside(other: str, options: Mapping[str, Any]) -> None:
    """Refuse options that another leaves without a meaning."""
    given = [f"--{name}" for name, value in options.items() if value is not None and value is not False]
    if given:
        raise InvalidInputError(f"{given[0]} must not be given with {other}.")


def _option(part: str) -> str:
    return "--frontier" if part == "frontier" else f"--half {part}"


def _size(
    instances: int | None, epochs: int | None, horizon: int | None, full: bool, quick: bool, frontier: bool
) -> tuple[int, int, int]:
    """Instances, epochs and rounds, checked."""
    from arcbandit.learning.families import MOST_INSTANCES
    from arcbandit.learning.play import LATE, LEAST_HORIZON

    if full and quick:
        raise InvalidInputError("--full must not be given with --quick.")
    usual = FULL if full else QUICK if quick else FRONTIER_SIZE if frontier else STANDARD
    rounds = QUICK_HORIZON if quick else HORIZON
    return (
        whole("--instances", usual[0] if instances is None else instances, 1, MOST_INSTANCES),
        whole("--epochs", usual[1] if epochs is None else epochs, 1, 10**6),
        whole("--horizon", rounds if horizon is None else horizon, LEAST_HORIZON, LONGEST_HORIZON // LATE[1]),
    )


def _plan(
    families: Sequence[str] | None,
    part: str,
    policies: Sequence[str] | None,
    size: tuple[int, int, int],
    seed: int,
    jobs: int | None,
) -> "Plan":
    from arcbandit.learning.families import FAMILIES
    from arcbandit.learning.play import Plan

    usual = FRONTIER_FAMILIES if part == "frontier" else tuple(FAMILIES)
    chosen = tuple(dict.fromkeys(families)) if families else usual
    for family in chosen:
        known_name("family", family, FAMILIES)
    whole("--seed", seed, 0)
    if jobs is not None:
        whole("--jobs", jobs, 1)
    return Plan(part, chosen, _contestants(part, policies), *size, seed=seed, jobs=jobs)


def _contestants(part: str, policies: Sequence[str] | None) -> "dict[str, Playable]":
    from arcbandit.cli.simulate import configured_policies
    from arcbandit.learning.contestants import CLAIRVOYANTS, everybody, on_the_frontier

    if part == "frontier":
        if policies:
            raise InvalidInputError("--policy must not be given with --frontier, which has dials of its own.")
        return on_the_frontier()
    if not policies:
        return everybody()
    # Clairvoyants are for simulations alone, and have no dials.
    rules = configured_policies([label for label in policies if label not in CLAIRVOYANTS], None)
    chosen: dict[str, Playable] = {}
    given: dict[str, str] = {}
    for label in policies:
        # The same policy in other words, as with `10.0` for `10`, has the label by which results are read.
        known = label if label not in rules else _label_of(rules[label], (*everybody(), *chosen), label)
        if known in given:
            again = f", but {label} is the same policy" if label != given[known] else ""
            raise InvalidInputError(f"--policy {given[known]} must be given only once{again}.")
        given[known] = label
        chosen[known] = rules.get(label, cast("Playable", label))
    return chosen


def _label_of(rule: Any, labels: Iterable[str], own: str) -> str:
    """The first of some labels that stands for the same rule, or the one that it was given."""
    from arcbandit.cli.simulate import configured_policies
    from arcbandit.learning.contestants import CLAIRVOYANTS

    others = configured_policies([label for label in dict.fromkeys(labels) if label not in CLAIRVOYANTS], None)
    return next((label for label, other in others.items() if other == rule), own)


def command_of(plan: "Plan") -> str:
    """The command that plays a plan, with every setting that its results depend on."""
    from arcbandit.learning.contestants import everybody
    from arcbandit.learning.families import FAMILIES

    words = ["arcbandit benchmark", *(plan.families if plan.families != tuple(FAMILIES) else ())]
    words.append(_option(plan.part))
    if plan.part != "frontier" and list(plan.contestants) != list(everybody()):
        words += [f"--policy {label}" for label in plan.contestants]
    words += [f"--instances {plan.instances}", f"--epochs {plan.epochs}"]
    words += [f"--horizon {plan.horizon}", f"--seed {plan.seed}"]
    return " ".join(words)


def _play(plan: "Plan", folder: "Path") -> None:
    from arcbandit.learning.play import play

    try:
        with _watching() as watch:
            play(plan, folder, command_of(plan), watch)
    except KeyboardInterrupt:
        how = "the same command without --again" if plan.again else "the same command"
        print(f"{folder} keeps what was played; {how} plays the rest.", file=sys.stderr)
        raise
    if not watch.total:
        print(f"{folder} has all of this already; --again plays it again.", file=sys.stderr)


def _chosen(results: "Results", families: Sequence[str] | None) -> "Results":
    from arcbandit.learning.families import FAMILIES

    for family in families or ():
        known_name("family", family, FAMILIES)
    return {name: found for name, found in results.items() if not families or name in families}


def _page_target(page: str) -> "Path":
    """The page, if it and its figures can be written."""
    from arcbandit.learning.page import SUFFIX
    from arcbandit.report.files import check_target
    from arcbandit.report.look import check_matplotlib

    check_matplotlib()
    return check_target(page, (SUFFIX,))


def _write_page(target: "Path", folder: "Path", parts: "Parts", stream: "TextIO") -> None:
    from arcbandit.learning.page import write_page

    write_page(target, folder, parts)
    print(target, file=stream)


def _list(json: bool) -> None:
    from arcbandit.cli.documents import print_json
    from arcbandit.cli.layout import printing
    from arcbandit.learning.families import FAMILIES

    if json:
        print_json({"families": [{"name": one.name, "about": one.about} for one in FAMILIES.values()]})
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("family", no_wrap=True)
    table.add_column("instances")
    for family in FAMILIES.values():
        table.add_row(family.name, family.about)
    with printing() as console:
        console.print(table)


def _print_json(results: "Results", part: str) -> None:
    from arcbandit.cli.documents import plain_value, print_json
    from arcbandit.learning.requirements import verdicts
    from arcbandit.learning.scores import scores

    def document(one: Any) -> dict[str, Any]:
        fields: dict[str, Any] = one._asdict()
        return {name: document(value) if hasattr(value, "_asdict") else value for name, value in fields.items()}

    print_json(
        {
            "part": part,
            "settings": {family: found.settings._asdict() for family, found in results.items()},
            "scores": plain_value([document(one) for one in scores(results)]),
            "requirements": [one._asdict() for one in verdicts(results)],
        }
    )


def _print_all(results: "Results", part: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from arcbandit.cli.layout import printing
    from arcbandit.learning.requirements import SCALE, verdicts
    from arcbandit.learning.tables import CLAIRVOYANT_COLUMNS, COLUMNS, family_tables, pooled_clairvoyant_tables

    with printing() as console:
        beside = pooled_clairvoyant_tables(results)
        for tables, columns in ((family_tables(results), COLUMNS), (beside, CLAIRVOYANT_COLUMNS)):
            for table in tables:
                console.print(Text(table.title, style="bold"))
                _print_table(console, table)
                console.print()
            if tables:
                console.print(_reading(columns))
                console.print()
        if part == "frontier":
            return
        told = f"  half {part}; in runs {SCALE}"
        console.print(Text("What must hold", style="bold").append(told, style="not bold dim"))
        lines = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
        lines.add_column(no_wrap=True)
        lines.add_column(ratio=1)
        styles = {True: "green", False: "red", None: "yellow"}
        for one in verdicts(results):
            lines.add_row(
                Text(one.word, style=styles[one.kept]), Text(one.sentence).append(f"\n{one.figures}", style="dim")
            )
        console.print(lines)


def _print_table(console: "Console", shown: "NumberTable") -> None:
    from rich.table import Table

    from arcbandit.cli.wide_tables import print_in_parts

    left = sum(heading in ("family", "policy") for heading in shown.header)

    def make(headings: Sequence[str]) -> "Table":
        table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", pad_edge=False)
        places = [*range(left), *(shown.header.index(heading, left) for heading in headings)]
        for place in places:
            table.add_column(shown.header[place], justify="left" if place < left else "right", no_wrap=True)
        for row in shown.rows:
            table.add_row(*(row[place] for place in places))
        return table

    print_in_parts(console, make, shown.header[left:])


def _reading(columns: "dict[str, str]") -> "Table":
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    for heading, meaning in columns.items():
        table.add_row(heading, meaning)
    return table


class LogLines:
    """A line on standard error now and then: what is played, how much is done and how long the rest takes."""

    def __init__(self) -> None:
        self.total = self.done = 0.0
        self.what = ""
        self._began = self._written = time.monotonic()
        self._first: tuple[float, float] | None = None

    def expect(self, work: float) -> None:
        """More work is ahead."""
        self.total += work

    def begin(self, what: str) -> None:
        """Something else is being played."""
        self.what = what

    def advance(self, work: float) -> None:
        """So much is done."""
        now = time.monotonic()
        self.done += work
        if self._first is None:
            # How long it takes is told from here on: what came before was compiling.
            self._first = (now, self.done)
            if now - self._written >= SECONDS_BETWEEN_LINES:
                print(
                    f"{self.what}: kernels were compiled in {duration(now - self._began)}", file=sys.stderr, flush=True
                )
            self._written = now
        elif now - self._written >= SECONDS_BETWEEN_LINES:
            self._written = now
            print(self.line(now), file=sys.stderr, flush=True)

    def line(self, now: float) -> str:
        """How far it is."""
        text = f"{self.what}: {self.done / self.total:.0%} after {duration(now - self._began)}"
        began, before = self._first or (now, self.done)
        if self.done > before:
            text += f", about {duration((now - began) * (self.total - self.done) / (self.done - before))} left"
        return text


class Bar:
    """A bar in a terminal."""

    def __init__(self, progress: Any) -> None:
        self.progress = progress
        self.total = 0.0
        self.what = ""
        self.task = progress.add_task("compiling", total=1.0)

    def expect(self, work: float) -> None:
        """More work is ahead."""
        self.total += work
        self.progress.update(self.task, total=self.total)

    def begin(self, what: str) -> None:
        """Something else is being played, which is told as soon as some of it is done: until then kernels compile."""
        self.what = what

    def advance(self, work: float) -> None:
        """So much is done."""
        self.progress.update(self.task, advance=work, description=self.what)


@contextlib.contextmanager
def _watching() -> "Iterator[LogLines | Bar]":
    """A bar in a terminal, lines in a log; both estimate the time left."""
    if not sys.stderr.isatty():
        yield LogLines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Bar(bar)
