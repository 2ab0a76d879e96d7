"""Which store it is: the URL of a PostgreSQL database, or else the path of a SQLite file."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from arcbandit.errors import InvalidInputError
from arcbandit.service import sqlite_store
from arcbandit.service.clock import Clocks
from arcbandit.service.store import Reader, Store, TokenRecord

if TYPE_CHECKING:
    from arcbandit.service.tidying import Shelf

POSTGRES = ("postgresql", "postgres")


def is_postgres(store: str) -> bool:
    """Whether a store is a PostgreSQL database.

    >>> is_postgres("postgresql://db/shop"), is_postgres("shop.db")
    (True, False)
    """
    scheme, mark, _ = store.partition("://")
    if mark and scheme not in POSTGRES:
        raise InvalidInputError(f"store must be a file or a URL postgresql://..., got one of the kind {scheme}://.")
    return bool(mark)


def shown_store(store: str) -> str:
    """A store as it may be printed: without a password, wherever in the URL it stands.

    >>> shown_store("postgresql://me:secret@db/shop?password=secret")
    'postgresql://db/shop'
    >>> shown_store("postgresql://me:secret#is-not-encoded@db/shop")
    'postgresql://...'
    """
    if not is_postgres(store):
        return store
    scheme, _, rest = store.partition("://")
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    others = rest[len(authority) :]
    if "@" in others:  # where the password ends is anybody's guess
        return f"{scheme}://..."
    return f"{scheme}://{authority.rpartition('@')[2]}{re.split('[?#]', others, maxsplit=1)[0]}"


def open_store(store: str, *, clocks: Clocks | None, on_broken: Callable[[BaseException], None]) -> Store:
    """The store, brought up to date."""
    if is_postgres(store):
        from arcbandit.service.postgres_store import PostgresStore

        return PostgresStore(store, clocks=clocks)
    return sqlite_store.SQLiteStore(store, clocks=clocks, on_broken=on_broken)


def open_reader(store: str) -> Reader:
    """A reader of a store, for any process."""
    if is_postgres(store):
        from arcbandit.service.postgres_reading import PostgresReader

        return PostgresReader(store)
    return sqlite_store.SQLiteReader(store)


def open_shelf(store: str) -> "Shelf":
    """The plans of a store, for a process that tidies up."""
    if is_postgres(store):
        from arcbandit.service.postgres_tidying import PostgresShelf

        return PostgresShelf(store)
    from arcbandit.service.sqlite_tidying import SQLiteShelf

    return SQLiteShelf(store)


def add_token(store: str, token: TokenRecord) -> None:
    """Keep the hash of a token, also while a server runs."""
    if is_postgres(store):
        from arcbandit.service import postgres_store

        postgres_store.add_token(store, token)
    else:
        sqlite_store.add_token(store, token)


def remove_token(store: str, name: str) -> bool:
    """Forget a token; whether there was one."""
    if is_postgres(store):
        from arcbandit.service import postgres_store

        return postgres_store.remove_token(store, name)
    return sqlite_store.remove_token(store, name)
