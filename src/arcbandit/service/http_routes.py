"""The routes that are not hot: campaigns, plans, status, statistics, exports, health."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from arcbandit.errors import InvalidInputError, StoreError
from arcbandit.service.api_errors import ApiError, invalid, of_decoding, of_library, of_store
from arcbandit.service.api_types import CampaignsAnswer, CreateCampaign, ReadyAnswer, Report, WhatIf
from arcbandit.service.campaigns import Campaign
from arcbandit.service.changes import AnyChange
from arcbandit.service.exporting import MEDIA, PARQUET_TYPE, PARTS, rows, streamed
from arcbandit.service.history import history_of
from arcbandit.service.http_app import LARGEST_OTHER, Disconnected, body_of, headers_of
from arcbandit.service.metrics import CONTENT_TYPE, Metrics
from arcbandit.service.openapi import document
from arcbandit.service.reporting import reported
from arcbandit.service.service import Service
from arcbandit.service.views import campaign_view, plan_view, statistics_view

Handler = Callable[[Request], Awaitable[Response]]
SECURITY = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
STATUS_WORDS = {404: "not_found", 405: "method_not_allowed"}


class Authorizes(Protocol):
    """Decides whether a request may do something."""

    def authorized(self, scope: Any, wanted: str) -> Any:
        """Raise ApiError if it may not."""


class Routes:
    """The rest of the API."""

    def __init__(self, service: Service, metrics: Metrics) -> None:
        self._service = service
        self._metrics = metrics
        self.gate: Authorizes | None = None

    def app(self, extra: list[Route] | None = None) -> Starlette:
        """An application with these routes."""
        paths: list[tuple[str, str, str, Handler]] = [
            ("GET", "/v1/campaigns", "read", self.campaigns),
            ("POST", "/v1/campaigns", "admin", self.create),
            ("GET", "/v1/campaigns/{name}", "read", self.campaign),
            ("POST", "/v1/campaigns/{name}/changes", "admin", self.change),
            ("GET", "/v1/campaigns/{name}/plan", "read", self.plan),
            ("GET", "/v1/campaigns/{name}/plans/{version}", "read", self.earlier_plan),
            ("GET", "/v1/campaigns/{name}/history", "read", self.history),
            ("GET", "/v1/campaigns/{name}/status", "read", self.status),
            ("GET", "/v1/campaigns/{name}/statistics", "read", self.statistics),
            ("POST", "/v1/campaigns/{name}/what-if", "read", self.what_if),
            ("GET", "/v1/campaigns/{name}/decisions", "read", self.decisions),
            ("POST", "/v1/campaigns/{name}/decisions", "decide", self.report),
            ("GET", "/metrics", "read", self.metrics),
            ("GET", "/v1/openapi.json", "", self.openapi),
            ("GET", "/healthz", "", self.health),
            ("GET", "/readyz", "", self.ready),
        ]
        by_path: dict[str, dict[str, Handler]] = {}
        for method, path, scope, handler in paths:
            by_path.setdefault(path, {})[method] = functools.partial(self._guarded, scope, handler)
        # The two hot paths are answered elsewhere; other methods on them are refused as on every path.
        routes = [Route(path, _by_method(handlers), methods=list(handlers)) for path, handlers in by_path.items()]
        for hot in ("decide", "rewards"):
            routes.append(Route(f"/v1/campaigns/{{name}}/{hot}", _by_method({}), methods=["POST"]))
        app = Starlette(
            routes=[*routes, *(extra or [])],
            exception_handlers={HTTPException: _refused, Exception: _failed},
        )
        app.router.redirect_slashes = False  # it would send callers to whatever host their request names
        return app

    async def _guarded(self, scope: str, handler: Handler, request: Request) -> Response:
        """Answer, if the request may ask; errors have the one shape."""
        try:
            if scope and self.gate is not None:
                self.gate.authorized(request.scope, scope)
            response = await handler(request)
        except ApiError as error:
            response = error_response(error)
        except InvalidInputError as error:
            response = error_response(of_library(error))
        except StoreError as error:
            response = error_response(of_store(error))
        except Disconnected:
            response = Response(status_code=400)
        for name, value in SECURITY.items():
            response.headers.setdefault(name, value)
        self._metrics.note("other", response.status_code, 0.0)
        return response

    async def _body(self, request: Request, kind: Any) -> Any:
        data = await body_of(request.scope, request.receive, LARGEST_OTHER)
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise of_decoding(error) from None

    async def campaigns(self, request: Request) -> Response:
        """Every campaign."""
        return json_response(CampaignsAnswer([campaign_view(one) for one in self._service.campaigns.values()]))

    async def create(self, request: Request) -> Response:
        """A new campaign."""
        made = await self._service.create(await self._body(request, CreateCampaign))
        return json_response(campaign_view(made), 201)

    async def campaign(self, request: Request) -> Response:
        """A campaign."""
        return json_response(campaign_view(self._service.campaign(request.path_params["name"])))

    async def change(self, request: Request) -> Response:
        """Change a campaign."""
        change = await self._body(request, AnyChange)
        expected = _whole(request, "expected_revision")
        return json_response(campaign_view(await self._service.change(request.path_params["name"], change, expected)))

    async def plan(self, request: Request) -> Response:
        """The plan in force."""
        name = request.path_params["name"]
        campaign = self._service.campaign(name)
        now = self._service.store.now()
        service = self._service
        return json_response(plan_view(campaign, campaign.plan, now, service.troubles(name), service.punctuality(name)))

    async def earlier_plan(self, request: Request) -> Response:
        """A plan that is or was in force."""
        campaign = self._service.campaign(request.path_params["name"])
        text = request.path_params["version"]
        number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else 0
        found = await self._service.store.plan(campaign.record.id, number)
        if found is None:
            raise ApiError(404, "unknown_plan", "There is no plan of that version.")
        return json_response(plan_view(campaign, found, self._service.store.now()))

    async def history(self, request: Request) -> Response:
        """How every promise stood, plan by plan."""
        campaign = self._service.campaign(request.path_params["name"])
        return json_response(await history_of(self._service.store, campaign, _whole(request, "points")))

    async def status(self, request: Request) -> Response:
        """How every promise stands."""
        return json_response(await self._service.status(request.path_params["name"]))

    async def statistics(self, request: Request) -> Response:
        """What was counted."""
        name = request.path_params["name"]
        found = await self._service.statistics(name)
        return json_response(statistics_view(Campaign(found.campaign, found.plan), found))

    async def what_if(self, request: Request) -> Response:
        """The plan with other floors, of which nothing is kept."""
        name = request.path_params["name"]
        self._service.campaign(name)
        found = await self._service.what_if(name, await self._body(request, WhatIf))
        now = self._service.store.now()
        shown = msgspec.structs.replace(found, made_at=now)
        return json_response(plan_view(self._service.campaign(name), shown, now))

    async def decisions(self, request: Request) -> Response:
        """The log, as lines of JSON or as a Parquet file."""
        campaign = self._service.campaign(request.path_params["name"])
        form = _form(request)
        after = _whole(request, "after") or 0
        rewarded = _flag(request, "rewarded")
        reader = await asyncio.to_thread(self._service.store.reader)  # which may have to connect first

        async def sent() -> AsyncIterator[bytes]:
            try:
                async for part in streamed(parts):
                    yield part
            finally:
                await asyncio.to_thread(reader.close)

        found = rows(reader, campaign, self._service.ids, after=after, with_reward=rewarded)
        try:
            parts = await asyncio.to_thread(PARTS[form], found)
        except BaseException:
            await asyncio.to_thread(reader.close)
            raise

        headers = {
            "content-disposition": f'attachment; filename="{campaign.record.name}.{form}"',
            "vary": "accept",
        }
        return StreamingResponse(sent(), headers=headers, media_type=MEDIA[form])

    async def report(self, request: Request) -> Response:
        """Decisions that a client drew from a plan."""
        body: Report = await self._body(request, Report)
        return json_response(await reported(self._service, request.path_params["name"], body.decisions))

    async def metrics(self, request: Request) -> Response:
        """Numbers for Prometheus."""
        return Response(self._metrics.text(), media_type=CONTENT_TYPE.decode())

    async def openapi(self, request: Request) -> Response:
        """The description of this API."""
        return Response(_document(), media_type="application/json")

    async def health(self, request: Request) -> Response:
        """The process is alive."""
        return json_response({"alive": True})

    async def ready(self, request: Request) -> Response:
        """Requests are answered."""
        reasons = [] if self._service.store.is_writable else ["Nothing can be written to the store."]
        # Without names, for whoever has no token may ask; the plan of each campaign says more.
        late = sum(bool(self._service.troubles(name)) for name in self._service.campaigns)
        warnings = [f"The plans of {late} campaigns are not as new as they should be."] if late else []
        return json_response(ReadyAnswer(not reasons, reasons, warnings), 503 if reasons else 200)


@functools.cache
def _document() -> bytes:
    return msgspec.json.encode(document())


def _whole(request: Request, field: str) -> int | None:
    """A whole number of the query, if it is there."""
    text = request.query_params.get(field)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise invalid(f"{field} must be a whole number from 0.", field)
    return int(text)


def _flag(request: Request, field: str) -> bool:
    """Whether something is asked for in the query."""
    text = request.query_params.get(field, "false")
    if text not in ("true", "false"):
        raise invalid(f"{field} must be true or false.", field)
    return text == "true"


def _form(request: Request) -> str:
    """The form of an export: as the query says, otherwise Parquet if the header Accept names it, or lines of JSON."""
    form = request.query_params.get("format")
    if form is None:
        accepted = [one.partition(";")[0].strip().lower() for one in request.headers.get("accept", "").split(",")]
        return "parquet" if PARQUET_TYPE in accepted else "ndjson"
    if form not in MEDIA:
        raise invalid(f"format must be {' or '.join(MEDIA)}.", "format")
    return form


def _by_method(handlers: dict[str, Handler]) -> Handler:
    async def answer(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await handlers[method](request)

    return answer


def json_response(content: Any, status: int = 200) -> Response:
    """A body of JSON."""
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def error_response(error: ApiError) -> Response:
    """An error in its one shape."""
    headers = {key.decode(): value.decode() for key, value in headers_of(error)}
    return Response(error.content(), error.status, headers, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = STATUS_WORDS.get(error.status_code, "refused")
    response = error_response(ApiError(error.status_code, words, f"{error.detail}."))
    response.headers.update(error.headers or {})
    return response


async def _failed(request: Request, error: Exception) -> Response:
    return error_response(ApiError(500, "failure", "The service failed; its log says how."))
