"""`arcbandit reproduce`: every numerical statement of the paper, from scratch."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from arcbandit.cli.cluster import Cluster, on_its_workers
from arcbandit.cli.counts import count
from arcbandit.cli.device import DEVICE_HELP, check_device
from arcbandit.errors import ArcbanditError
from arcbandit.simulation.choices import Device

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from arcbandit.experiments.reproduce import Reproduction
    from arcbandit.experiments.result import Result
    from arcbandit.report.tables import NumberTable

DEFAULT_FOLDER = "reproduction"
STYLES = {
    "reproduced": "green",
    "not reproduced": "yellow",
    "slip in the paper": "yellow",
    "beyond the paper": "cyan",
}


def reproduce(
    names: Annotated[
        list[str] | None,
        Parameter(negative=(), show_default=False, help="Names from --list; by default all experiments with claims."),
    ] = None,
    /,
    *,
    list_: Annotated[
        bool,
        Parameter(name="--list", negative=(), show_default=False, help="List the experiments instead of running them."),
    ] = False,
    horizon: Annotated[
        int | None,
        Parameter(converter=count, show_default=False, help="Rounds per epoch; by default each experiment's own."),
    ] = None,
    epochs: Annotated[
        int | None,
        Parameter(
            converter=count,
            show_default=False,
            help="Runs per policy; by default the paper's 5. Try 100 for intervals.",
        ),
    ] = None,
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
    device: Annotated[
        Device,
        Parameter(help=f"{DEVICE_HELP} With a GPU the page also shows the paper's main experiment over many epochs."),
    ] = "cpu",
    quick: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="A page in seconds, from a tenth of the rounds and a twentieth of the epochs. The claims' tolerances "
            "do not apply to it, so that none fails.",
        ),
    ] = False,
    out: Annotated[str, Parameter(help="The folder for the page and the figures.")] = DEFAULT_FOLDER,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of a table.")
    ] = False,
) -> None:
    """Run the paper's experiments and write a page with every figure and a verdict on every claim.

    Beside the page are its numbers (results.json, .txt and .tex) and its figures at print size. The exit code is 1 if
    a claim comes out otherwise than we state.
    """
    from arcbandit.cli.documents import print_json
    from arcbandit.experiments import reproduce as experiments

    if list_:
        _list(json)
        return
    check_device(device)
    with on_its_workers(cluster), _progress() as advance:
        found, page = experiments.reproduce_to(
            out,
            names or (),
            horizon=horizon,
            epochs=epochs,
            seed=seed,
            jobs=jobs,
            device=device,
            quick=quick,
            progress=advance,
        )
    if json:
        print_json(reproduction_document(found, page))
    else:
        _print_verdicts(found, page)
    if found.failures and not quick:
        sys.stdout.flush()
        names_of_failed = ", ".join(verdict.name for verdict in found.failures)
        count = len(found.failures)
        raise ArcbanditError(f"{count} claim{'s fail' if count > 1 else ' fails'}: {names_of_failed}.")


def reproduction_document(found: "Reproduction", page: "Path") -> dict[str, Any]:
    """Everything `arcbandit reproduce` prints."""
    from arcbandit.cli.documents import many_epochs_document
    from arcbandit.experiments import many_epochs
    from arcbandit.experiments.telling import claim_entry
    from arcbandit.report.reproduction.results import claim_document

    over_many = next((result for result in found.results if result.experiment.name == many_epochs.NAME), None)
    return {
        "page": str(page),
        "seed": found.seed,
        "device": found.device,
        "quick": found.quick,
        "seconds": found.seconds,
        "seconds_until_page": found.page_after,
        "seconds_of_compiling": found.compiling,
        "experiments": [
            {
                "name": result.experiment.name,
                "title": result.experiment.title,
                "source": result.experiment.source or None,
                "horizon": result.recorded.settings.horizon,
                "epochs": result.recorded.settings.epochs,
                "seconds": result.seconds,
            }
            for result in found.results
        ],
        "verdicts": [
            {"experiment": verdict.experiment, **claim_document(claim_entry(verdict))} for verdict in found.verdicts
        ],
        "failures": [verdict.name for verdict in found.failures],
        "many_epochs": None if over_many is None else many_epochs_document(over_many),
    }


def _list(json: bool) -> None:
    from arcbandit.cli.documents import print_json
    from arcbandit.cli.layout import printing
    from arcbandit.experiments.reproduce import EXPERIMENTS

    entries = [
        {
            "name": experiment.name,
            "title": experiment.title,
            "source": experiment.source or None,
            "about": experiment.about,
            "claims": [claim.name for claim in experiment.claims],
        }
        for experiment in EXPERIMENTS.values()
    ]
    if json:
        print_json({"experiments": entries})
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("claims", justify="right", no_wrap=True)
    table.add_column("what it shows, and where")
    for experiment in EXPERIMENTS.values():
        about = Text(experiment.title).append(f"\n{experiment.source or 'beyond the paper'}", style="dim")
        table.add_row(experiment.name, str(len(experiment.claims)), about)
    with printing() as console:
        console.print(table)


@contextlib.contextmanager
def _progress() -> "Iterator[Callable[[str, float], None] | None]":
    """A bar that says what is running in a terminal, and nothing in a log."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<28}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("compiling", total=1.0)
        yield lambda name, share: bar.update(task, description=name, completed=share)


def _print_verdicts(found: "Reproduction", page: "Path") -> None:
    from rich.table import Table
    from rich.text import Text

    from arcbandit.cli.layout import printing

    with printing() as console:
        for result in found.results:
            if not result.verdicts:
                _print_tables(console, result)
                continue
            remark = f"  {result.experiment.name}, {result.seconds:.1f} s"
            console.print(Text(result.experiment.title, style="bold").append(remark, style="not bold dim"))
            table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
            table.add_column(no_wrap=True)
            table.add_column(ratio=1)
            for verdict in result.verdicts:
                group = verdict.group.value
                about = Text(verdict.claim.sentence)
                for who, measured in (("paper", verdict.paper), ("we", verdict.ours)):
                    if measured is not None:
                        held = "holds" if measured.passed else "does not hold"
                        about.append(f"\n{who}: {held}, {measured.number}", style="dim")
                if verdict.failed:
                    about.append(f"\nnot as we state: {verdict.name}", style="bold red")
                table.add_row(Text(group, style=STYLES[group]), about)
            console.print(table)
            console.print()
        if found.banner:
            console.print(found.banner, style="yellow")
        groups = [verdict.group.value for verdict in found.verdicts]
        counts = ", ".join(f"{groups.count(group)} {group}" for group in STYLES if group in groups)
        console.print(f"{len(groups)} claims: {counts}; {found.time}")
    # A path must not be wrapped.
    print(page)


def _print_tables(console: "Console", result: "Result") -> None:
    """What an experiment without claims has to show."""
    from rich.table import Table
    from rich.text import Text

    from arcbandit.cli.wide_tables import print_in_parts

    device = result.experiment.settings_of(result.recorded)["device"]
    for shown in result.tables:
        remark = f"  {device}, {result.seconds:.1f} s; {shown.title[0].lower()}{shown.title[1:]}"
        title = result.experiment.title_of(result.recorded)
        console.print(Text(title, style="bold").append(remark, style="not bold dim"))

        def lines(headings: Sequence[str], shown: "NumberTable" = shown) -> Table:
            table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
            places = [0, *(shown.header.index(heading) for heading in headings)]
            for place in places:
                table.add_column(shown.header[place], justify="right" if place else "left", no_wrap=True)
            for row in shown.rows:
                table.add_row(*(row[place] for place in places))
            return table

        print_in_parts(console, lines, shown.header[1:])
        console.print()
