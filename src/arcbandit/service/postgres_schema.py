"""The tables of a PostgreSQL store: numbered steps that only ever go forward."""

from arcbandit.errors import StoreError, StoreVersionError
from arcbandit.service.identifiers import new_key
from arcbandit.service.postgres_connection import Address, Connection, require_sound_server

LOCKS = 0x61726362  # "arcb": the first half of the keys of our advisory locks

FIRST = """
CREATE TABLE meta (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE campaigns (
    id bigint PRIMARY KEY, name text NOT NULL UNIQUE, revision bigint NOT NULL, created_at bigint NOT NULL,
    settings bytea NOT NULL, policy bytea NOT NULL, admitted bigint NOT NULL, plan_version bigint NOT NULL
);
CREATE TABLE changes (
    campaign bigint NOT NULL, revision bigint NOT NULL, time bigint NOT NULL, change bytea NOT NULL,
    PRIMARY KEY (campaign, revision)
);
CREATE TABLE plans (
    campaign bigint NOT NULL, version bigint NOT NULL, plan bytea NOT NULL, PRIMARY KEY (campaign, version)
);
CREATE TABLE decisions (
    sequence bigint PRIMARY KEY, campaign bigint NOT NULL, time bigint NOT NULL, probability float8 NOT NULL,
    uniform float8 NOT NULL, plan_version bigint NOT NULL, context integer NOT NULL, arm integer NOT NULL, excluded text
);
-- Replicas number decisions from blocks, so that they need not ask for every one.
CREATE SEQUENCE blocks;
-- What became of decisions. A reward and a default of the same decision meet in one row, and one of them waits.
CREATE TABLE outcomes (
    sequence bigint PRIMARY KEY, reward bigint, default_reward bigint, arrival bigint NOT NULL, time bigint NOT NULL
);
CREATE INDEX outcomes_by_arrival ON outcomes (arrival, sequence) WHERE reward IS NOT NULL;
-- Decisions whose default has not been looked at. Numbers and times come from several replicas, so that no "up to
-- here" would be true of them: each decision is taken out by name.
CREATE TABLE waiting (
    campaign bigint NOT NULL, time bigint NOT NULL, sequence bigint NOT NULL, PRIMARY KEY (campaign, time, sequence)
);
CREATE TABLE learners (campaign bigint PRIMARY KEY, learner bytea NOT NULL);
CREATE TABLE statistics (
    campaign bigint NOT NULL, arm integer NOT NULL, context integer NOT NULL, decisions bigint NOT NULL,
    rewards bigint NOT NULL, total numeric NOT NULL, squares numeric NOT NULL, PRIMARY KEY (campaign, arm, context)
) WITH (fillfactor = 50);  -- updated with every commit: room beside the row saves a change of the index
CREATE TABLE requests (
    campaign bigint NOT NULL, request_id bytea NOT NULL, sequence bigint NOT NULL, time bigint NOT NULL,
    PRIMARY KEY (campaign, request_id)
);
CREATE INDEX requests_by_time ON requests (time);
CREATE TABLE tokens (name text PRIMARY KEY, digest bytea NOT NULL, scopes text NOT NULL, created_at bigint NOT NULL);
"""

STEPS = (FIRST,)  # step n makes version n + 1 of version n


async def schema_version(connection: Connection, address: Address) -> int:
    """Which version of the tables a database has, 0 for none."""
    tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1", address.schema)
    if not tables:
        return 0
    value = None
    if "meta" in {row[0] for row in tables}:
        value = await connection.fetchval("SELECT value FROM meta WHERE name = 'version'")
    if value is None:
        raise StoreVersionError(
            f"The schema {address.schema} of {address.shown} must be a store of arcbandit, but has other tables."
        )
    version = int(value)
    if version > len(STEPS):
        raise StoreVersionError(
            f"{address.shown} has tables of version {version}, but this arcbandit knows versions up to {len(STEPS)}: "
            "use the newer one that wrote it."
        )
    return version


async def require_store(connection: Connection, address: Address) -> None:
    """Refuse a database that is no store, or one of another version."""
    version = await schema_version(connection, address)
    if version == 0:
        raise StoreError(f"{address.shown} is not a store of arcbandit.")
    if version < len(STEPS):
        raise StoreError(f"{address.shown} has tables of version {version}: arcbandit serve brings them up to date.")


async def migrate(connection: Connection, address: Address) -> None:
    """Bring the tables to the latest version, whole or not at all; replicas that start together take turns."""
    rows = await connection.fetch("SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes')")
    require_sound_server(connection, dict(rows))
    async with connection.transaction():
        await connection.execute(f"SELECT pg_advisory_xact_lock({LOCKS}, hashtext($1))", f"{address.schema} tables")
        version = await schema_version(connection, address)
        if version == 0:
            await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {address.schema}")
        for number in range(version, len(STEPS)):
            await connection.execute(STEPS[number])
            await connection.execute(
                "INSERT INTO meta VALUES ('version', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                b"%d" % (number + 1),
            )
        await connection.execute("INSERT INTO meta VALUES ('key', $1) ON CONFLICT DO NOTHING", new_key())
        await _continue_arrivals(connection)


async def _continue_arrivals(connection: Connection) -> None:
    """Go on numbering arrivals above those that are there.

    An arrival is a base and the number of the transaction. A database that was copied to another server brings rows
    with numbers of transactions that its new server has yet to reach: there, the base goes up.
    """
    await connection.execute("INSERT INTO meta VALUES ('arrivals', '0') ON CONFLICT DO NOTHING")
    base = int(await connection.fetchval("SELECT value FROM meta WHERE name = 'arrivals'"))
    last = await connection.fetchval("SELECT max(arrival) FROM outcomes WHERE reward IS NOT NULL")
    current = int(await connection.fetchval("SELECT pg_current_xact_id()::text::bigint"))
    if last is not None and last >= base + current:
        await connection.execute("UPDATE meta SET value = $1 WHERE name = 'arrivals'", b"%d" % last)
