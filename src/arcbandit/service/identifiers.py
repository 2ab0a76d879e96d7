"""Decision ids: a 64-bit sequence number, signed so that nobody can make one up."""

import base64
import binascii
import hashlib
import hmac
import secrets

KEY_BYTES = 32
_NUMBER_BYTES = 8
_NUMBER_CHARACTERS = 12  # hold the number, and a byte of the signature
_SIGNATURE_BYTES = 8
LENGTH = 22  # characters: 16 bytes in base64url without padding
LARGEST_NUMBER = 2**63 - 1


def new_key() -> bytes:
    """A key that signs the ids of a store, drawn once and kept in it."""
    return secrets.token_bytes(KEY_BYTES)


class DecisionIds:
    """Makes ids from sequence numbers, and gives back the number of an id that it made.

    >>> ids = DecisionIds(bytes(32))
    >>> ids.number(ids.text(7)), ids.number("A" * 22)
    (7, None)
    """

    def __init__(self, key: bytes) -> None:
        self._signer = hashlib.blake2b(key=key, digest_size=_SIGNATURE_BYTES)

    def _signature(self, number: bytes) -> bytes:
        signer = self._signer.copy()
        signer.update(number)
        return signer.digest()

    def text(self, number: int) -> str:
        """The id of a sequence number."""
        data = number.to_bytes(_NUMBER_BYTES, "big")
        return base64.urlsafe_b64encode(data + self._signature(data))[:LENGTH].decode("ascii")

    def number(self, text: str) -> int | None:
        """The sequence number of an id, or None if it was not made with this key."""
        if len(text) != LENGTH or not text.isascii():
            return None
        try:
            data = binascii.a2b_base64(text[:_NUMBER_CHARACTERS].replace("-", "+").replace("_", "/"))
        except binascii.Error:
            return None
        found = int.from_bytes(data[:_NUMBER_BYTES], "big")
        # Whatever the characters were taken for: an id must be written exactly as it was made.
        return found if found <= LARGEST_NUMBER and hmac.compare_digest(self.text(found), text) else None
