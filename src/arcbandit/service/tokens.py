"""Access tokens: shown once, kept as hashes, each for some of four purposes."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable

from arcbandit.errors import InvalidInputError
from arcbandit.inputs.values import checked_name, choice
from arcbandit.service.store import TokenRecord

SCOPES = ("decide", "reward", "read", "admin")
PREFIX = "arcb_"


def digest_of(token: str) -> bytes:
    """The hash of a token. Tokens are random and long, so that one round of hashing is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def new_token(name: str, scopes: Iterable[str], now: int) -> tuple[str, TokenRecord]:
    """A new token, which nobody can see again, and what is kept of it.

    >>> token, record = new_token("shop", ["decide"], now=0)
    >>> record.digest == digest_of(token), record.scopes
    (True, ('decide',))
    """
    chosen = tuple(dict.fromkeys(choice("scopes", scope, SCOPES) for scope in scopes))
    if not chosen:
        raise InvalidInputError(f"scopes must name at least one of {', '.join(SCOPES)}, got none.")
    token = PREFIX + secrets.token_urlsafe(32)
    return token, TokenRecord(checked_name("name", name), digest_of(token), chosen, now)


class Tokens:
    """The tokens of a store, by their hashes."""

    def __init__(self, records: Iterable[TokenRecord]) -> None:
        self._by_digest = {record.digest: record for record in records}

    def find(self, header: bytes | None) -> TokenRecord | None:
        """The token of an Authorization header, if it is one."""
        if header is None or header[:7].lower() != b"bearer ":
            return None
        digest = hashlib.sha256(header[7:].strip()).digest()
        # The dictionary finds by the hash, which tells nothing of the token; the comparison takes constant time.
        found = self._by_digest.get(digest)
        return found if found is not None and hmac.compare_digest(found.digest, digest) else None
