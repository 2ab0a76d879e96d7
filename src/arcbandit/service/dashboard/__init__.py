"""The dashboard: one page with its style and its scripts, served as files beside the API that it reads.

The page holds no data and no secret, so that it is served to whoever asks; what it shows, it asks the API for, with the
token that its reader gave. Names come from outside: the scripts write them as text, never as markup.
"""

from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

POLICY = (
    "default-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
PAGE = "page.html"
MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def dashboard_routes() -> list[Route]:
    """Routes of the page, at `/`, and of its files, below `/dashboard/`; they are read once."""
    folder = files(__package__)
    found = {entry.name: entry.read_bytes() for entry in folder.iterdir() if _suffix(entry.name) in MEDIA}
    routes = [Route("/", _file(PAGE, found.pop(PAGE)), methods=["GET"])]
    routes += [Route(f"/dashboard/{name}", _file(name, content), methods=["GET"]) for name, content in found.items()]
    return routes


def _suffix(name: str) -> str:
    return "." + name.rpartition(".")[2]


def _file(name: str, content: bytes) -> Callable[[Request], Awaitable[Response]]:
    media = MEDIA[_suffix(name)]

    async def answer(request: Request) -> Response:
        return Response(content, headers=HEADERS, media_type=media)

    return answer
