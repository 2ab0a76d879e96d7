"""Copies of a SQLite store: made while it serves, and checked before they are trusted."""

import os
import sys
from pathlib import Path

import apsw

from arcbandit.errors import StoreError
from arcbandit.service.audit import Audit, audited
from arcbandit.service.sqlite_schema import require_sound_sqlite
from arcbandit.service.sqlite_store import SQLiteReader
from arcbandit.service.stores import is_postgres, open_reader, shown_store

BESIDE = ("-wal", "-shm", "-journal")  # what SQLite writes beside a file, and takes for part of any file put there


def back_up(store: str, copy: str, *, verify: bool = False) -> Audit | None:
    """Copy a store as it is at one moment, also while a server writes; the copy is there whole or not at all.

    With `verify`, it is there only if its log counted again and its decisions drawn again are what it says.
    """
    for place in (store, copy):
        if is_postgres(place):
            raise StoreError(f"{shown_store(place)} is a PostgreSQL store, which pg_dump and pg_restore copy.")
    require_sound_sqlite()
    SQLiteReader(store).close()  # refuses what is not a store
    target = Path(copy)
    if target.exists():
        raise StoreError(f"{copy}: is there already, and is not overwritten.")
    for left in (target.with_name(target.name + ending) for ending in BESIDE):
        if left.exists():
            raise StoreError(f"{left}: is of another store that was at {copy}; move it to where that store is.")
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    audit = None
    try:
        # For its owner alone, as the store is: it holds the key that signs ids.
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        source = apsw.Connection(store, flags=apsw.SQLITE_OPEN_READONLY)
        source.set_busy_timeout(10_000)
        made = apsw.Connection(str(partial))
        try:
            # In one step: a store that is written meanwhile would start several steps over and over.
            with made.backup("main", source, "main") as copying:
                copying.step(-1)
            made.pragma("journal_mode", "DELETE")
        finally:
            made.close()
            source.close()
        _synced(partial)
        if verify:
            audit = verified(str(partial))
            if not audit.holds:
                raise StoreError(f"{store} is not sound: {' '.join(audit.differences)}")
        os.link(partial, target)
        _synced(target.parent)
    except (apsw.Error, OSError) as error:
        raise StoreError(f"{copy}: the backup failed ({error}).") from error
    finally:
        partial.unlink(missing_ok=True)
    return audit


def _synced(path: Path) -> None:
    if sys.platform == "win32" and path.is_dir():
        return  # a folder cannot be opened there; NTFS keeps a journal of names
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def verified(store: str) -> Audit:
    """Check the file of a store, count its log again and draw its decisions again."""
    if is_postgres(store):
        found = open_reader(store)
        try:
            return audited(found)
        finally:
            found.close()
    require_sound_sqlite()
    reader = SQLiteReader(store)
    try:
        connection = apsw.Connection(store, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
        finally:
            connection.close()
        audit = audited(reader)
    except apsw.Error as error:
        raise StoreError(f"{store}: cannot be read ({error}).") from error
    finally:
        reader.close()
    damaged = () if problems == ["ok"] else tuple(f"The file is damaged: {problem}" for problem in problems)
    return audit._replace(differences=(*damaged, *audit.differences))
