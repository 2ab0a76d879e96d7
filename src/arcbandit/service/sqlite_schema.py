"""The tables of a SQLite store: numbered steps that only ever go forward."""

import shutil
from pathlib import Path

import apsw

from arcbandit.errors import StoreVersionError

# Versions 3.7.0 to 3.51.2 can corrupt a write-ahead log when it is reset while another process reads it.
OLDEST_SQLITE = (3, 51, 3)
APPLICATION_ID = 0x61726362  # "arcb"

FIRST = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE campaigns (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, created_at INTEGER NOT NULL,
    settings BLOB NOT NULL, policy BLOB NOT NULL, admitted INTEGER NOT NULL, plan_version INTEGER NOT NULL,
    defaults_until INTEGER NOT NULL  -- decisions up to this one have had their default, if one was due
) STRICT;
CREATE TABLE changes (
    campaign INTEGER NOT NULL, revision INTEGER NOT NULL, time INTEGER NOT NULL, change BLOB NOT NULL,
    PRIMARY KEY (campaign, revision)
) STRICT, WITHOUT ROWID;
CREATE TABLE plans (
    campaign INTEGER NOT NULL, version INTEGER NOT NULL, plan BLOB NOT NULL, PRIMARY KEY (campaign, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE decisions (
    sequence INTEGER PRIMARY KEY, campaign INTEGER NOT NULL, context INTEGER NOT NULL, arm INTEGER NOT NULL,
    probability REAL NOT NULL, uniform REAL NOT NULL, plan_version INTEGER NOT NULL, time INTEGER NOT NULL,
    excluded TEXT
) STRICT;
CREATE TABLE rewards (
    arrival INTEGER PRIMARY KEY, sequence INTEGER NOT NULL UNIQUE, micro INTEGER NOT NULL, time INTEGER NOT NULL
) STRICT;
CREATE TABLE learners (campaign INTEGER PRIMARY KEY, learner BLOB NOT NULL) STRICT;
CREATE TABLE defaults (sequence INTEGER PRIMARY KEY, micro INTEGER NOT NULL, time INTEGER NOT NULL) STRICT;
CREATE TABLE statistics (  -- whole numbers of any size as text: squares of millionths go beyond 64 bits
    campaign INTEGER NOT NULL, arm INTEGER NOT NULL, context INTEGER NOT NULL, decisions INTEGER NOT NULL,
    rewards INTEGER NOT NULL, total TEXT NOT NULL, squares TEXT NOT NULL, PRIMARY KEY (campaign, arm, context)
) STRICT, WITHOUT ROWID;
CREATE TABLE requests (
    id INTEGER PRIMARY KEY, campaign INTEGER NOT NULL, request_id TEXT NOT NULL, sequence INTEGER NOT NULL,
    time INTEGER NOT NULL, UNIQUE (campaign, request_id)
) STRICT;
CREATE TABLE tokens (
    name TEXT PRIMARY KEY, digest BLOB NOT NULL, scopes TEXT NOT NULL, created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

STEPS = (FIRST,)  # step n makes version n + 1 of version n


def require_sound_sqlite(version: str = "") -> None:
    """Refuse a SQLite that may lose what it stored."""
    found = version or apsw.sqlite_lib_version()
    if tuple(int(part) for part in found.split(".")) < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StoreVersionError(f"SQLite must be {oldest} or newer, for older ones can corrupt a store, got {found}.")


def schema_version(connection: apsw.Connection) -> int:
    """Which version of the tables a database has, 0 for none."""
    return int(connection.pragma("user_version"))


def migrate(connection: apsw.Connection, path: str) -> None:
    """Bring the tables to the latest version, step by step, each whole or not at all; a copy is kept beside first."""
    version = schema_version(connection)
    application = connection.pragma("application_id")
    if application not in (0, APPLICATION_ID) or (version == 0 and _has_tables(connection)):
        raise StoreVersionError(f"{path} must be a store of arcbandit, but it is another program's database.")
    if version > len(STEPS):
        raise StoreVersionError(
            f"{path} has tables of version {version}, but this arcbandit knows versions up to {len(STEPS)}: "
            "use the newer one that wrote it."
        )
    if 0 < version < len(STEPS):
        connection.pragma("wal_checkpoint", "TRUNCATE")
        shutil.copy2(path, Path(path).with_name(f"{Path(path).name}.version-{version}"))
    for number in range(version, len(STEPS)):
        with connection:
            connection.execute(STEPS[number])
            connection.pragma("user_version", number + 1)
            connection.pragma("application_id", APPLICATION_ID)


def _has_tables(connection: apsw.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None
