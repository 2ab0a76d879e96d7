"""`arcbandit instances`: the paper's instances by name."""

from typing import Annotated

from cyclopts import Parameter


def instances(
    *,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of a table.")
    ] = False,
) -> None:
    """List the paper's instances, which `arcbandit plan` takes by name."""
    from arcbandit.cli.documents import instances_document, print_json
    from arcbandit.cli.layout import printing

    document = instances_document()
    if json:
        print_json(document)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("name", no_wrap=True)
    table.add_column("parameter", no_wrap=True)
    table.add_column("shape", no_wrap=True)
    table.add_column("what it shows, and where")
    for entry in document["instances"]:
        about = Text(entry["summary"]).append(f"\n{entry['where']}", style="dim")
        table.add_row(entry["name"], entry["parameter"] or "", f"{entry['n_arms']} x {entry['n_contexts']}", about)
    with printing() as console:
        console.print(table)
        console.print()
        console.print("A parameter follows the name after a colon: arcbandit plan nu-plus:0.1")
        console.print("Shapes are arms x contexts, for the default parameter.")
