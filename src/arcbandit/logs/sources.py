"""Where logs lie: files, folders, frames, databases. Each is opened as an Ibis table, and read where it is."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcbandit.errors import InvalidInputError, MissingExtraError
from arcbandit.inputs.similar import did_you_mean
from arcbandit.inputs.values import checked_name, listed, shown

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow

CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
PARQUET = (".parquet", ".pq")
NDJSON = (".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz")  # an object a line
FILES = (*CSV, *PARQUET, *NDJSON)
DUCKDB = (".duckdb", ".ddb", ".db")
REMOTE_FILES = ("http", "https", "s3", "gs", "gcs", "r2")  # schemes that name files; any other names a database
KINDS = (
    "a path or a sequence of paths, the URL of a database, an Ibis table, a connection of DuckDB, "
    "or a frame of pandas, polars or pyarrow"
)


@dataclass(frozen=True)
class OpenLog:
    """A log that can be queried."""

    table: "ir.Table"
    backend: Any
    name: str  # for errors
    ordered: bool  # whether its rows have an order by which they can be named
    size: tuple[int, str] | None = None  # how much there is to read, and its unit; None if nobody knows
    repeats: bool = False  # whether some decision id appears more than once

    @property
    def in_duckdb(self) -> bool:
        """Whether DuckDB reads it, which says how far it is and can try to read text as numbers."""
        return bool(self.backend.name == "duckdb")

    def sortable(self, own: str, name: str | None) -> dict[str, Any]:
        """The columns to sort by one of the log, called `own`: as text, 10 comes before 9."""
        if name is None:
            return {}
        column = self.table[name]
        if self.in_duckdb and column.type().is_string():
            return {f"{own}_number": column.strip().try_cast("float64"), own: column}
        return {own: column}


@contextmanager
def opened(source: Any, table: str | None = None) -> Iterator[OpenLog]:
    """The log, open; what was opened for it is closed afterwards, and what the caller gave is left as it was."""
    ibis = import_ibis()
    if table is not None:
        checked_name("table", table)
    if isinstance(source, ibis.expr.types.Table):
        _refuse_table(table)
        yield _of_expression(source)
        return
    if _is_duckdb_connection(source):
        with _borrowed(source) as backend:
            yield _of_database(backend, table, "the DuckDB connection")
        return
    if isinstance(source, str) and "://" in source and source.partition("://")[0] not in REMOTE_FILES:
        with _connected(source) as backend:
            yield _of_database(backend, table, _without_password(source))
        return
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if isinstance(path, str) and path.lower().endswith(DUCKDB):
            with _database_file(path) as backend:
                yield _of_database(backend, table, repr(path))
            return
        source = [path]
    _refuse_table(table)
    if isinstance(source, list | tuple) and all(isinstance(one, str | os.PathLike) for one in source):
        files = _files_of_all(source)
        with _embedded() as backend:
            yield _of_files(backend, files)
        return
    frame = _arrow_of(source)
    with _embedded() as backend:
        memory = ibis.memtable(frame)
        yield OpenLog(memory, backend, "the frame", ordered=True, size=(len(frame), "rows"))


def import_ibis() -> Any:
    """The package that asks every database in its own words."""
    try:
        import duckdb  # noqa: F401
        import ibis
    except ImportError:
        raise MissingExtraError("ibis-framework with duckdb", "logs") from None
    return ibis


@contextmanager
def _embedded() -> Iterator[Any]:
    backend = import_ibis().duckdb.connect()
    try:
        yield backend
    finally:
        backend.disconnect()


@contextmanager
def _database_file(path: str) -> Iterator[Any]:
    if not Path(path).is_file():
        raise InvalidInputError(f"There is no file {path!r}.")
    import duckdb

    try:
        backend = import_ibis().duckdb.connect(path, read_only=True)
    except duckdb.Error as error:
        raise InvalidInputError(f"{path!r} must be a DuckDB database: {first_line(error)}") from None
    try:
        yield backend
    finally:
        backend.disconnect()


@contextmanager
def _connected(url: str) -> Iterator[Any]:
    scheme = url.partition("://")[0]
    try:
        backend = import_ibis().connect(url)
    except ModuleNotFoundError as error:
        if scheme.startswith("postgres"):
            raise MissingExtraError(str(error.name), "postgres") from None
        raise InvalidInputError(f"{scheme}:// needs {error.name}: pip install 'ibis-framework[{scheme}]'.") from None
    except Exception as error:  # noqa: BLE001, every database has errors of its own
        raise InvalidInputError(f"{_without_password(url)} cannot be reached: {first_line(error)}") from None
    try:
        yield backend
    finally:
        backend.disconnect()


@contextmanager
def _borrowed(connection: Any) -> Iterator[Any]:
    """Ibis on a connection of the caller, whose settings it changes and gets back."""
    names = ("timezone", "python_enable_replacements")
    before = [connection.execute(f"SELECT current_setting('{name}')").fetchone()[0] for name in names]
    try:
        yield import_ibis().duckdb.from_connection(connection)
    finally:
        for name, value in zip(names, before, strict=True):
            connection.execute(f"SET {name} = '{value}'")


def _is_duckdb_connection(source: Any) -> bool:
    import duckdb

    return isinstance(source, duckdb.DuckDBPyConnection)


def _of_expression(table: "ir.Table") -> OpenLog:
    ibis = import_ibis()
    try:
        backend = table.get_backend()
    except ibis.common.exceptions.IbisError as error:
        raise InvalidInputError(f"The log must be an Ibis table of one database: {first_line(error)}") from None
    return OpenLog(table, backend, "the Ibis table", ordered=False)


def _of_database(backend: Any, table: str | None, name: str) -> OpenLog:
    schema, _, bare = (table or "").rpartition(".")
    database = schema or None
    if not schema:
        known = _tables_of(backend)
        if table is None:
            if len(known) != 1:
                has = f"which has {listed(known)}" if known else "which has none"
                raise InvalidInputError(f"table must name the log among the tables of {name}, {has}.")
            bare = known[0]
        elif bare not in known:
            hint = did_you_mean(bare, known)
            raise InvalidInputError(f"There is no table {bare!r} in {name}{hint}: it has {listed(known) or 'none'}.")
    try:
        found = backend.table(bare, database=database)
    except Exception as error:  # noqa: BLE001, every database has errors of its own
        raise InvalidInputError(f"Table {table!r} of {name} cannot be read: {first_line(error)}") from None
    in_duckdb = backend.name == "duckdb"
    rows = int(backend.to_pyarrow(found.count()).as_py()) if in_duckdb else None
    return OpenLog(found, backend, f"table {bare!r} of {name}", in_duckdb, None if rows is None else (rows, "rows"))


def _tables_of(backend: Any) -> list[str]:
    if backend.name == "duckdb":  # Ibis 12 asks it by a method that DuckDB 2 no longer has
        return [name for (name,) in backend.con.execute("SHOW TABLES").fetchall()]
    return list(backend.list_tables())


def _files_of_all(paths: Sequence[Any]) -> list[str]:
    files = [file for path in paths for file in _files_of(os.fspath(path))]
    if not files:
        raise InvalidInputError("The log must be at least one file, got none.")
    if len({_kind_of(file) for file in files}) > 1:
        raise InvalidInputError(
            f"The files of a log must be all CSV or all Parquet or all NDJSON, got several among {listed(files)}."
        )
    return files


def _of_files(backend: Any, files: list[str]) -> OpenLog:
    import duckdb

    name = repr(files[0]) if len(files) == 1 else f"{len(files)} files from {files[0]!r} on"
    try:
        if _kind_of(files[0]) == "csv":
            # As text, so that an arm called 007 keeps its name, and what is not a number is found as a bad row.
            table = backend.read_csv(files, all_varchar=True, header=True, skip=0, union_by_name=True)
        elif _kind_of(files[0]) == "ndjson":
            # A name that looks like a date stays a name: only text that is in this format would become one.
            table = backend.read_json(files, format="newline_delimited", union_by_name=True, dateformat="no date")
        else:
            table = backend.read_parquet(files, union_by_name=True)
    except duckdb.Error as error:
        raise InvalidInputError(f"{name} cannot be read: {first_line(error)}") from None
    local = [Path(file) for file in files if Path(file).is_file()]
    size = sum(file.stat().st_size for file in local) // 1024 if len(local) == len(files) else 0
    return OpenLog(table, backend, name, ordered=len(files) == 1, size=(size, "kB") if size else None)


def _files_of(path: str) -> list[str]:
    """The files that a path stands for: itself, those in a folder and its folders, or those of a pattern."""
    if "://" in path:
        return [path]
    folder = Path(path)
    try:
        folder.stat()
    except PermissionError:
        raise InvalidInputError(f"{path!r} must be a file or folder that may be read.") from None
    except (OSError, ValueError):  # it does not exist, is a pattern, or can be no name of a file
        pass
    if folder.is_dir():
        inside = sorted(str(file) for file in folder.rglob("*") if file.is_file() and _is_log(file))
        if not inside:
            raise InvalidInputError(f"The folder {path!r} must hold files of a log ({', '.join(FILES)}).")
        return inside
    if folder.is_file():
        return [path]
    if any(letter in path for letter in "*?["):
        import glob

        found = sorted(glob.glob(path, recursive=True))
        if found:
            return found
    raise InvalidInputError(f"There is no file or folder {path!r}.")


def _is_log(file: Path) -> bool:
    hidden = file.name.startswith((".", "_"))  # as what Spark and others leave beside their files
    return not hidden and file.name.lower().endswith(FILES)


def _kind_of(file: str) -> str:
    bare = file.lower().partition("?")[0] if "://" in file else file.lower()
    if bare.endswith(CSV):
        return "csv"
    if bare.endswith(PARQUET):
        return "parquet"
    if bare.endswith(NDJSON):
        return "ndjson"
    raise InvalidInputError(f"The log {file!r} must be a file of the kind {', '.join((*FILES, *DUCKDB))}.")


def _arrow_of(source: Any) -> "pyarrow.Table":
    """A frame of any kind as one of Arrow."""
    import narwhals.stable.v2 as nw
    import pyarrow

    # Columns of the same name, or a column of several types, for instance.
    unreadable = (pyarrow.ArrowException, nw.exceptions.NarwhalsError, TypeError, ValueError)
    try:
        frame = nw.from_native(source, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        arrow: pyarrow.Table | None = frame.to_arrow() if isinstance(frame, nw.DataFrame) else None
    except unreadable as error:
        raise InvalidInputError(f"The frame of the log cannot be read: {first_line(error)}") from None
    if arrow is None:
        raise InvalidInputError(f"The log must be {KINDS}, got {shown(source)}.")
    return arrow


def _refuse_table(table: str | None) -> None:
    if table is not None:
        raise InvalidInputError(f"table must be given only with a database, got {table!r}.")


def _without_password(url: str) -> str:
    """A URL as an error may show it."""
    scheme, _, rest = url.partition("://")
    where = rest.rpartition("@")[2] if "@" in rest else rest
    return f"{scheme}://{where.partition('?')[0]}"


def first_line(error: BaseException) -> str:
    """The first line of what a library says, as the end of a sentence."""
    lines = str(error).strip().splitlines()
    text = lines[0].strip() if lines else type(error).__name__
    return text if text.endswith((".", "!", "?")) else f"{text}."
