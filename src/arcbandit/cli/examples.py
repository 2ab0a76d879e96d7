"""`arcbandit examples`: data to try the program with."""

from typing import Annotated

from cyclopts import Parameter

from arcbandit.errors import InvalidInputError


def examples(
    name: Annotated[
        str | None,
        Parameter(show_default=False, help="The example whose files are written; without it, all are listed."),
    ] = None,
    /,
    *,
    out: Annotated[
        str | None,
        Parameter(show_default=False, help="The folder that its files are written to, made if it is not there."),
    ] = None,
    json: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print one JSON document instead of a table.")
    ] = False,
) -> None:
    """List the examples on real data, or write the files of one: logs for `advise`, `fit` and `evaluate`.

    Each has a page in the documentation that tells what follows from it.
    """
    from pathlib import Path

    from arcbandit.cli.documents import print_json
    from arcbandit.cli.layout import printing
    from arcbandit.examples.files import EXAMPLES, files_of
    from arcbandit.inputs.values import known_name
    from arcbandit.report.files import write_whole

    if name is None:
        if out is not None:
            raise InvalidInputError("--out must be given only with the name of an example.")
        _list(as_json=json)
        return
    known_name("example", name, EXAMPLES)
    if out is None:
        raise InvalidInputError(f"--out must name the folder that the files of {name} are written to.")
    folder, files = Path(out), files_of(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            write_whole(folder / file, content)
    except (OSError, ValueError) as error:  # a name with a null character is a ValueError
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidInputError(f"--out must be a folder that can be written to, got {out!r} ({why}).") from None
    written = [str(folder / file) for file in files]
    if json:
        print_json({"name": name, "files": written})
        return
    with printing() as console:
        for file in written:
            console.print(file, highlight=False, soft_wrap=True)


def _list(*, as_json: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from arcbandit.cli.documents import print_json
    from arcbandit.cli.layout import printing
    from arcbandit.examples.files import EXAMPLES

    if as_json:
        print_json({"examples": [{"name": name, **example._asdict()} for name, example in EXAMPLES.items()]})
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("name", no_wrap=True)
    table.add_column("what it is, and the page that tells it")
    for name, example in EXAMPLES.items():
        table.add_row(name, Text(example.summary).append(f"\n{example.page}", style="dim"))
    with printing() as console:
        console.print(table)
        console.print()
        console.print("arcbandit examples NAME --out FOLDER writes its files.")
