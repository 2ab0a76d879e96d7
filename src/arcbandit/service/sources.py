"""Where a request comes from: a page of another site, open in a browser on this machine, must not ask in its name.

With tokens, it cannot, for it has none. Without, whoever reaches the address may ask; so that a browser does not lend
a stranger its reach, requests must name this machine as their host, and no other site as their origin.
"""

import re
from collections.abc import Iterable

from arcbandit.service.api_errors import ApiError

Headers = Iterable[tuple[bytes, bytes]]

_THIS_MACHINE = re.compile(rb"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)
JSON = b"application/json"


def is_this_machine(host: bytes) -> bool:
    """Whether the host that a request names is this machine.

    >>> is_this_machine(b"localhost:8000"), is_this_machine(b"localhost.example.org")
    (True, False)
    """
    return _THIS_MACHINE.fullmatch(host) is not None


def check_source(headers: Headers) -> None:
    """Refuse a request that another site may have sent; for services that ask for no token."""
    hosts = [value for key, value in headers if key == b"host"]
    if not all(map(is_this_machine, hosts)):
        raise ApiError(403, "forbidden", "Without tokens, the host of a request must be localhost.")
    own = [b"http://" + host.lower() for host in hosts]
    if any(key == b"origin" and value.lower() not in own for key, value in headers):
        raise ApiError(403, "forbidden", "Without tokens, requests from pages of other sites are refused.")


def check_media(headers: Headers) -> None:
    """Refuse a body that says that it is something else than JSON, as forms of web pages do."""
    for key, value in headers:
        if key == b"content-type" and value.partition(b";")[0].strip().lower() not in (JSON, b""):
            raise ApiError(415, "unsupported_media_type", "The content type must be application/json.")
