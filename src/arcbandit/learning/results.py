"""What was measured, a file for each family: comma-separated, with a first line that says how it was made."""

import csv
import io
import json
import math
import os
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import shown
from arcbandit.learning.families import FAMILIES
from arcbandit.report.files import write_whole
from arcbandit.simulation.run import versions_in_use

KIND = "arcbandit benchmark of learning"
VERSION = 1
SCORED, TUNING, FRONTIER = "scored", "tuning", "frontier"
PARTS = (SCORED, TUNING, FRONTIER)  # the two halves, and dials on the tuning half
SETTINGS = ("part", "family", "seed", "horizon", "epochs")  # rows made with others cannot stand in the same file
DIGITS = 7


class Row(NamedTuple):
    """What a policy lost on one instance: means over epochs at the horizon, with their standard errors."""

    number: int  # of the instance in its half, from 0
    policy: str
    regret: float
    violation: float
    regret_error: float
    violation_error: float
    worst: float  # the largest R + V of a run
    limit: float  # of R + V, as the theory has it; NaN if it has none
    steep: tuple[int, ...] = ()  # epochs in which R + V still grows nearly in proportion at the horizon
    late: tuple[float, ...] = ()  # their exponents far beyond the horizon, where they were played on

    @property
    def total(self) -> float:
        """R + V."""
        return self.regret + self.violation


class Settings(NamedTuple):
    """How the rows of a file were made."""

    part: str
    family: str
    seed: int
    horizon: int
    epochs: int


class FamilyResults:
    """The rows of one family in one part, and the commands that made them."""

    def __init__(self, settings: Settings, rows: Iterable[Row] = (), commands: Sequence[str] = ()) -> None:
        self.settings = settings
        self.commands = list(commands)
        self._rows = {(row.number, row.policy): row for row in rows}
        # What the next save must write; of all other rows the file is right, as another run may have changed it.
        self._own = dict(self._rows)
        self._dropped: set[str] = set()

    @property
    def rows(self) -> list[Row]:
        """By instance, then by policy."""
        return [self._rows[key] for key in sorted(self._rows)]

    @property
    def policies(self) -> tuple[str, ...]:
        """All that have rows."""
        return tuple(sorted({policy for _, policy in self._rows}))

    @property
    def instances(self) -> int:
        """How many have rows."""
        return len({number for number, _ in self._rows})

    def of(self, policy: str) -> dict[int, Row]:
        """The rows of a policy by the number of the instance."""
        found = {number: row for (number, name), row in self._rows.items() if name == policy}
        return dict(sorted(found.items()))

    def has(self, number: int, policy: str) -> bool:
        """Whether a policy was played on an instance."""
        return (number, policy) in self._rows

    def add(self, rows: Iterable[Row]) -> None:
        """Take in rows, in the digits that the file keeps: nothing changes when they are read again."""
        for row in rows:
            kept = _row_of(_cells(row), self.settings.epochs)
            self._rows[kept.number, kept.policy] = self._own[kept.number, kept.policy] = kept

    def drop(self, policies: Iterable[str]) -> None:
        """Drop all rows of policies that are to be played again; the file loses them when it is saved next."""
        self._dropped.update(policies)
        self._rows = _without(self._rows, self._dropped)
        self._own = _without(self._own, self._dropped)

    def save(self, folder: Path, command: str) -> None:
        """Write the file, whole or not at all, with what another run has written there meanwhile; none without rows."""
        others = opened(folder, self.settings)
        self.commands = list(dict.fromkeys((*others.commands, *self.commands, command)))
        self._rows = _without(others._rows, self._dropped) | self._own
        self._dropped.clear()  # what is found there from now on is another run's
        path = made_folder(folder) / file_name(self.settings.part, self.settings.family)
        if not self._rows:
            path.unlink(missing_ok=True)
            return
        header = {
            "kind": KIND,
            "version": VERSION,
            "commands": self.commands,
            **self.settings._asdict(),
            "versions": versions_in_use(),
        }
        text = io.StringIO()
        text.write(f"# {json.dumps(header, ensure_ascii=False)}\n")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(_cells(row) for row in self.rows)
        try:
            write_whole(path, text.getvalue().encode())
        except OSError as error:
            raise InvalidInputError(f"{folder}: cannot be written to ({error.strerror or error}).") from error


def _without(rows: Mapping[tuple[int, str], Row], policies: Container[str]) -> dict[tuple[int, str], Row]:
    return {key: row for key, row in rows.items() if key[1] not in policies}


def made_folder(folder: Path) -> Path:
    """A folder, made if it was not there, that files can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidInputError(f"{folder}: must be a folder, but it, or a part of its path, is a file.") from None
    except OSError as error:
        raise InvalidInputError(f"{folder}: cannot be made ({error.strerror or error}).") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidInputError(f"{folder}: cannot be written to.")
    return folder


Results = Mapping[str, FamilyResults]  # by family, in the order of FAMILIES


def file_name(part: str, family: str) -> str:
    """Where the rows of a family are, within a folder of results."""
    return f"{part}-{family}.csv"


def opened(folder: Path, settings: Settings) -> FamilyResults:
    """What a folder has of a family so far, which must have been made with the same settings."""
    path = folder / file_name(settings.part, settings.family)
    if not path.exists():
        return FamilyResults(settings)
    found = read_file(path)
    for name in SETTINGS:
        mine, its = getattr(settings, name), getattr(found.settings, name)
        if mine != its:
            raise InvalidInputError(
                f"{path}: must have been made with {name} {mine} to go on with, but has {its}; choose another folder."
            )
    return found


def read(folder: Path, part: str) -> dict[str, FamilyResults]:
    """All families of a part in a folder."""
    paths = {name: folder / file_name(part, name) for name in FAMILIES}
    return {name: read_file(path) for name, path in paths.items() if path.exists()}


def read_file(path: Path) -> FamilyResults:
    """The rows of one file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path}: cannot be read ({error}).") from None
    try:
        header = json.loads(lines[0].removeprefix("# "))
        if header["kind"] != KIND or header["version"] != VERSION:
            raise ValueError(f"it is {header['kind']!r}, version {header['version']}")
        settings = _settings_of(header)
        if path.name != file_name(settings.part, settings.family):
            raise ValueError(f"its first line says part {settings.part!r} and family {settings.family!r}")
        found = FamilyResults(settings, _read_rows(lines[1:], settings.epochs), header["commands"])
        found._own.clear()
        return found
    except (IndexError, KeyError, TypeError, ValueError, RecursionError, csv.Error) as error:
        raise InvalidInputError(f"{path}: must be a file of version {VERSION} of the benchmark: {error}.") from None


def _settings_of(header: Mapping[str, Any]) -> Settings:
    found = Settings(*(header[name] for name in SETTINGS))
    for name, least in (("seed", 0), ("horizon", 1), ("epochs", 1)):
        value = getattr(found, name)
        if type(value) is not int or value < least:
            raise ValueError(f"its first line has {name} {shown(value)}, which must be a whole number from {least}")
    commands = header["commands"]
    if type(commands) is not list or not all(isinstance(one, str) for one in commands):
        raise ValueError(f"its first line has commands {shown(commands)}, which must be a list of texts")
    return found


def _read_rows(lines: Sequence[str], epochs: int) -> list[Row]:
    reader = csv.reader(lines)
    if tuple(next(reader, ())) != Row._fields:
        raise ValueError(f"its columns must be {', '.join(Row._fields)}")
    rows: dict[tuple[int, str], Row] = {}
    for line, cells in enumerate(reader, start=3):
        try:
            row = _row_of(cells, epochs)
            if (row.number, row.policy) in rows:
                raise ValueError(f"instance {row.number} has a line of {row.policy} before")
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None
        rows[row.number, row.policy] = row
    return list(rows.values())


def _cells(row: Row) -> list[str]:
    numbers = (f"{value:.{DIGITS}g}" for value in row[2:8])
    return [
        str(row.number),
        row.policy,
        *numbers,
        " ".join(map(str, row.steep)),
        " ".join(f"{a:.3f}" for a in row.late),
    ]


def _row_of(cells: Sequence[str], epochs: int) -> Row:
    """The row of a line's cells, checked; its runs are of so many epochs."""
    if len(cells) != len(Row._fields):
        raise ValueError(f"there must be {len(Row._fields)} columns, but there are {len(cells)}")
    number, policy, *numbers, steep, late = cells
    regret, violation, regret_error, violation_error, worst, limit = map(float, numbers)
    if not policy or not policy.isprintable():
        raise ValueError(f"the name of a policy must be a text, got {shown(policy)}")
    if not (min(regret, violation, worst) >= 0.0 and max(regret, violation, worst) < math.inf):
        raise ValueError(f"the sums of {policy} on instance {number} must be finite, and not negative")
    if int(number) < 0:
        raise ValueError(f"the number of an instance must not be negative, got {number}")
    if any(value < 0.0 for value in (regret_error, violation_error, limit)):
        raise ValueError(f"standard errors and the limit of {policy} on instance {number} must not be negative")
    runs, grown = tuple(map(int, steep.split())), tuple(map(float, late.split()))
    if not all(0 <= run < epochs for run in runs):
        raise ValueError(f"steep runs must be among the {epochs} epochs, got {steep}")
    if len(grown) not in (0, len(runs)) or any(math.isnan(exponent) for exponent in grown):
        raise ValueError(f"there must be an exponent for each steep run, or none, got {late!r}")
    return Row(
        int(number), policy, regret, violation, regret_error, violation_error, worst, limit, steep=runs, late=grown
    )
