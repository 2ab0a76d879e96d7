"""The HTTP API as an ASGI application: the two hot paths by hand, the rest by Starlette."""

import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from arcbandit.service.api_errors import RETRY_AFTER_SECONDS, ApiError, of_decoding, overloaded
from arcbandit.service.api_types import Decide, RewardAnswer, RewardBody, RewardsAnswer, RewardsBody
from arcbandit.service.metrics import Metrics
from arcbandit.service.service import Service
from arcbandit.service.sources import check_media, check_source
from arcbandit.service.store import TokenRecord

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Body = TypeVar("Body")

log = logging.getLogger("arcbandit.service")

CAMPAIGNS = "/v1/campaigns/"
DECIDE, REWARDS = "/decide", "/rewards"
JSON_TYPE = (b"content-type", b"application/json")
ALWAYS = ("/healthz", "/readyz", "/v1/openapi.json", "/")  # what takes no work
FILES = "/dashboard/"
LARGEST_DECIDE = 64 * 1024
LARGEST_REWARDS = 1024 * 1024
LARGEST_OTHER = 8 * 1024 * 1024

_decide = msgspec.json.Decoder(Decide)
_reward = msgspec.json.Decoder(RewardBody)
_rewards = msgspec.json.Decoder(RewardsBody)
_encode = msgspec.json.Encoder().encode

_OVERLOADED = overloaded().content()
TURNED_AWAY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\nretry-after: %d\r\n\r\n%b" % (len(_OVERLOADED), RETRY_AFTER_SECONDS, _OVERLOADED)
)


class Limits(NamedTuple):
    """How much is taken on at once; more is turned away before any work."""

    at_once: int = 256  # requests of a process: whoever is taken on waits for as many at most
    decides_at_once: int = 192  # the rest is for rewards, which are money already earned
    by_token: int = 256
    others_at_once: int = 64  # requests that are neither decisions nor rewards


class HttpApp:
    """Answers requests; whether they may be asked is settled first, and cheaply."""

    def __init__(
        self, service: Service, metrics: Metrics, rest: Any, *, limits: Limits | None = None, is_open: bool = False
    ) -> None:
        self._service = service
        self._metrics = metrics
        self._rest = rest
        self._limits = Limits() if limits is None else limits
        self.is_open = is_open
        self._at_once = 0
        self._others_at_once = 0
        self._by_token: dict[str, int] = {}
        self.heads: dict[bytes, Any] = {}  # what `express` makes of the first lines of requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._rest(scope, receive, send)
            return
        path: str = scope["path"]
        if scope["method"] == "POST" and path.startswith(CAMPAIGNS):
            if path.endswith(DECIDE):
                await self._hot("decide", path[len(CAMPAIGNS) : -len(DECIDE)], scope, receive, send)
                return
            if path.endswith(REWARDS):
                await self._hot("rewards", path[len(CAMPAIGNS) : -len(REWARDS)], scope, receive, send)
                return
        await self._others(scope, receive, send)

    @property
    def room(self) -> int:
        """If fewer requests are under way, none is turned away."""
        return min(self._limits.decides_at_once, self._limits.at_once)

    def turned_away(self, kind: str, under_way: int) -> bytes | None:
        """The whole answer to a request that is not even read, as so many are under way; None if it may come in.

        Who is turned away asks again: that must cost a small part of what an answer costs.
        """
        if under_way < (self._limits.decides_at_once if kind == "decide" else self._limits.at_once):
            return None
        self._metrics.shed += 1
        self._metrics.note(kind, 503, 0.0)
        return TURNED_AWAY

    async def _others(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what is not hot; only so many at once, for some of it takes a planner.

        Health is always told, and so is what is the same for all. An answer that is ready counts no more: how long it
        takes to send is up to whoever asked.
        """
        path = scope["path"]
        if path in ALWAYS or path.startswith(FILES):
            await self._rest(scope, receive, send)
            return
        if self._others_at_once >= self._limits.others_at_once:
            self._metrics.shed += 1
            error = overloaded()
            await _sent(send, error.status, error.content(), headers_of(error))
            return
        start: MutableMapping[str, Any] | None = None
        at_work = 1

        async def send_once_ready(message: MutableMapping[str, Any]) -> None:
            nonlocal start, at_work
            if message["type"] == "http.response.start":
                start = message
                return
            if not message.get("more_body", False):
                self._others_at_once -= at_work
                at_work = 0
            head, start = start, None
            if head is not None:
                await send(head)
            await send(message)

        self._others_at_once += at_work
        try:
            await self._rest(scope, receive, send_once_ready)
        finally:
            self._others_at_once -= at_work

    async def _hot(self, kind: str, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        largest = LARGEST_DECIDE if kind == "decide" else LARGEST_REWARDS

        async def read() -> bytes:
            if self.is_open:
                check_source(scope["headers"])
            return await body_of(scope, receive, largest)

        answer = await self.answer(kind, name, authorization_of(scope), read)
        if answer is not None:
            await _sent(send, *answer)

    async def answer(
        self, kind: str, name: str, authorization: bytes | None, given: bytes | Callable[[], Awaitable[bytes]]
    ) -> tuple[int, bytes, list[tuple[bytes, bytes]]] | None:
        """The status, body and further headers for a decision or rewards; None if nobody waits for them any more.

        `given` is the body of the request, or reads it: before that, it is settled whether it may be asked.
        """
        began = time.perf_counter()
        extra: list[tuple[bytes, bytes]] = []
        try:
            whose = self._admitted(kind, authorization)
            try:
                data = given if isinstance(given, bytes) else await given()
                if kind == "decide":
                    body = _encode(await self._service.decide(name, decoded(_decide, data)))
                else:
                    body = _encode(await self._rewarded(name, data))
            finally:
                self._at_once -= 1
                self._by_token[whose] -= 1
            status = 200
        except ApiError as error:
            status, body = error.status, error.content()
            extra = headers_of(error)
        except Disconnected:
            return None
        except Exception:
            log.exception("A request failed.")
            failure = ApiError(500, "failure", "The service failed; its log says how.")
            status, body = failure.status, failure.content()
        self._metrics.note(kind, status, time.perf_counter() - began)
        return status, body, extra

    def _admitted(self, kind: str, authorization: bytes | None) -> str:
        """Count a request in, if there is room and a right to it; the name of its token."""
        limits = self._limits
        if self._at_once >= (limits.decides_at_once if kind == "decide" else limits.at_once):
            self._metrics.shed += 1
            raise overloaded()
        token = self._token(authorization, "decide" if kind == "decide" else "reward")
        whose = "" if token is None else token.name
        of_token = self._by_token.get(whose, 0)
        if of_token >= limits.by_token:
            self._metrics.shed += 1
            raise overloaded("Too much is asked at once with this token.")
        self._at_once += 1
        self._by_token[whose] = of_token + 1
        return whose

    async def _rewarded(self, name: str, data: bytes) -> RewardAnswer | RewardsAnswer:
        try:
            body = _reward.decode(data)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            if is_batch(data):
                return await self._service.rewards(name, decoded(_rewards, data).rewards)
            raise of_decoding(error) from None
        return await self._service.reward(name, body)

    def authorized(self, scope: Scope, wanted: str) -> TokenRecord | None:
        """The token of a request, if it may do what it asks for; None if the service is open to all."""
        if self.is_open:
            check_source(scope["headers"])
        return self._token(authorization_of(scope), wanted)

    def _token(self, authorization: bytes | None, wanted: str) -> TokenRecord | None:
        if self.is_open:
            return None
        token = self._service.tokens.find(authorization)
        if token is None:
            raise ApiError(401, "unauthorized", "A bearer token must be given that this service knows.")
        if wanted not in token.scopes:
            raise ApiError(403, "forbidden", f"The token has no scope {wanted!r}.")
        return token


def authorization_of(scope: Scope) -> bytes | None:
    """The header of a request that has its token."""
    return next((value for key, value in scope["headers"] if key == b"authorization"), None)


def decoded(decoder: "msgspec.json.Decoder[Body]", data: bytes) -> Body:
    """What a body says, if it says what it must."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise of_decoding(error) from None


async def _sent(send: Send, status: int, body: bytes, extra: list[tuple[bytes, bytes]]) -> None:
    headers = [JSON_TYPE, (b"content-length", b"%d" % len(body)), *extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Disconnected(Exception):
    """Nobody waits for the answer any more."""


def headers_of(error: ApiError) -> list[tuple[bytes, bytes]]:
    """Headers that go with an error."""
    if error.status == 503:
        return [(b"retry-after", b"%d" % RETRY_AFTER_SECONDS)]
    return [(b"www-authenticate", b"Bearer")] if error.status == 401 else []


def is_batch(data: bytes) -> bool:
    """Whether a body is of many rewards: its fields say so, wherever they stand."""
    try:
        return "rewards" in msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return False


async def body_of(scope: Scope, receive: Receive, largest: int) -> bytes:
    """The body of a request, which must be JSON and not too large."""
    check_media(scope["headers"])
    for key, value in scope["headers"]:
        if key == b"content-length" and len(value) < 20 and int(value) > largest:
            raise ApiError(413, "too_large", f"The body must have at most {largest} bytes.")
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    data: bytes = message.get("body", b"")
    if not message.get("more_body", False) and len(data) <= largest:
        return data
    parts, size = [data], len(data)
    while message.get("more_body", False) and size <= largest:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
    if size > largest:
        raise ApiError(413, "too_large", f"The body must have at most {largest} bytes.")
    return b"".join(parts)
