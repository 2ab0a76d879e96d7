"""The OpenAPI document, made of the same types that check requests."""

import functools
from typing import Any

import msgspec

from arcbandit.service import api_types
from arcbandit.service.changes import AnyChange
from arcbandit.service.exporting import MEDIA, NDJSON_TYPE, PARQUET_TYPE
from arcbandit.service.history import MOST_POINTS, POINTS
from arcbandit.version import __version__

ANY_OBJECT = {"type": "object"}
_BYTES: dict[str, Any] = {}  # a media type whose content no schema describes
REFERENCE = "#/components/schemas/{name}"
ERRORS = {
    "400": "The body is not JSON.",
    "401": "No token, or one that the service does not know.",
    "403": "The token lacks the scope; without tokens, the request is from a page of another site.",
    "404": "There is no such thing.",
    "405": "The path does not take this method.",
    "409": "Something else stands.",
    "410": "Too old.",
    "413": "The body is too large.",
    "415": "The body is something else than JSON.",
    "422": "Something in the request breaks a rule.",
    "503": "Too much is asked at once, or the store or the planner cannot answer; try again.",
}


def _operation(
    summary: str,
    scope: str,
    *,
    body: Any = None,
    answer: Any = None,
    status: str = "200",
    errors: tuple[str, ...] = (),
    parameters: tuple[dict[str, Any], ...] = (),
    media: tuple[str, ...] = ("application/json",),
) -> dict[str, Any]:
    return {
        "summary": summary,
        "scope": scope,
        "body": body,
        "answer": answer,
        "status": status,
        "errors": errors,
        "parameters": parameters,
        "media": media,
    }


_AFTER = {
    "name": "after",
    "in": "query",
    "schema": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1},
    "description": "Only decisions after this sequence number.",
}
_FORMAT = {
    "name": "format",
    "in": "query",
    "schema": {"enum": list(MEDIA)},
    "description": f"The form of the log; without it, Parquet if the header Accept names {PARQUET_TYPE}, else ndjson.",
}
_REWARDED = {
    "name": "rewarded",
    "in": "query",
    "schema": {"type": "boolean"},
    "description": "Only decisions whose reward is known, as `arcbandit export` without --every.",
}
_REVISION = {
    "name": "expected_revision",
    "in": "query",
    "schema": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1},
    "description": "Refuse the change with 409 if the campaign is at another revision.",
}
_POINTS = {
    "name": "points",
    "in": "query",
    "schema": {"type": "integer", "minimum": 1, "maximum": MOST_POINTS},
    "description": f"At most so many plans; {POINTS} unless told.",
}
_NOT_FOUND = ("404",)

PATHS: dict[str, dict[str, dict[str, Any]]] = {
    "/v1/campaigns": {
        "get": _operation("Every campaign", "read", answer=api_types.CampaignsAnswer),
        "post": _operation(
            "A new campaign",
            "admin",
            body=api_types.CreateCampaign,
            answer=api_types.CampaignAnswer,
            status="201",
            errors=("409",),
        ),
    },
    "/v1/campaigns/{name}": {
        "get": _operation("A campaign", "read", answer=api_types.CampaignAnswer, errors=_NOT_FOUND)
    },
    "/v1/campaigns/{name}/changes": {
        "post": _operation(
            "Change a campaign",
            "admin",
            body=AnyChange,
            answer=api_types.CampaignAnswer,
            errors=("404", "409"),
            parameters=(_REVISION,),
        )
    },
    "/v1/campaigns/{name}/decide": {
        "post": _operation(
            "Choose an arm", "decide", body=api_types.Decide, answer=api_types.DecideAnswer, errors=_NOT_FOUND
        )
    },
    "/v1/campaigns/{name}/rewards": {
        "post": _operation(
            "Count one reward or many",
            "reward",
            body=(api_types.RewardBody, api_types.RewardsBody),
            answer=(api_types.RewardAnswer, api_types.RewardsAnswer),
            errors=("404", "409", "410"),
        )
    },
    "/v1/campaigns/{name}/plan": {
        "get": _operation("The plan in force", "read", answer=api_types.PlanAnswer, errors=_NOT_FOUND)
    },
    "/v1/campaigns/{name}/plans/{version}": {
        "get": _operation("A plan that is or was in force", "read", answer=api_types.PlanAnswer, errors=_NOT_FOUND)
    },
    "/v1/campaigns/{name}/history": {
        "get": _operation(
            "How every promise stood, plan by plan",
            "read",
            answer=api_types.HistoryAnswer,
            errors=_NOT_FOUND,
            parameters=(_POINTS,),
        )
    },
    "/v1/campaigns/{name}/status": {
        "get": _operation("How every promise stands", "read", answer=ANY_OBJECT, errors=_NOT_FOUND)
    },
    "/v1/campaigns/{name}/statistics": {
        "get": _operation("What was counted", "read", answer=api_types.StatisticsAnswer, errors=_NOT_FOUND)
    },
    "/v1/campaigns/{name}/what-if": {
        "post": _operation(
            "The plan with other floors, of which nothing is kept",
            "read",
            body=api_types.WhatIf,
            answer=api_types.PlanAnswer,
            errors=_NOT_FOUND,
        )
    },
    "/v1/campaigns/{name}/decisions": {
        "get": _operation(
            "The log: decisions with their rewards, as lines of JSON or as a Parquet file",
            "read",
            errors=_NOT_FOUND,
            parameters=(_AFTER, _FORMAT, _REWARDED),
            media=(NDJSON_TYPE, PARQUET_TYPE),
        ),
        "post": _operation(
            "Report decisions that were drawn elsewhere from a plan of this campaign",
            "decide",
            body=api_types.Report,
            answer=api_types.ReportAnswer,
            errors=_NOT_FOUND,
        ),
    },
    "/metrics": {"get": _operation("Numbers for Prometheus", "read", media=("text/plain",))},
    "/v1/openapi.json": {"get": _operation("This document", "", answer=ANY_OBJECT)},
    "/healthz": {"get": _operation("The process is alive", "", answer=ANY_OBJECT)},
    "/readyz": {"get": _operation("Requests are answered", "", answer=api_types.ReadyAnswer, errors=("503",))},
}


@functools.cache
def document() -> dict[str, Any]:
    """The description of the API."""
    kinds: list[Any] = [api_types.ErrorAnswer]
    for operations in PATHS.values():
        for operation in operations.values():
            for part in ("body", "answer"):
                kinds += _kinds(operation[part])
    schemas, components = msgspec.json.schema_components(kinds, ref_template=REFERENCE)
    by_kind = {str(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "arcbandit",
            "version": __version__,
            "description": "Decisions that guarantee every arm a minimum revenue.",
        },
        "paths": {
            path: {method: _described(path, operation, by_kind) for method, operation in operations.items()}
            for path, operations in PATHS.items()
        },
        "components": {"schemas": components, "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


def _kinds(of: Any) -> list[Any]:
    """The types among what an operation takes or gives: none, one, or several of which it is any."""
    if of is None or of == ANY_OBJECT:
        return []
    return list(of) if isinstance(of, tuple) else [of]


def _schema(of: Any, by_kind: dict[str, Any]) -> dict[str, Any]:
    if of is None:
        return {"type": "string"}
    schemas = [by_kind[str(kind)] for kind in _kinds(of)]
    return ANY_OBJECT if not schemas else schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _described(path: str, operation: dict[str, Any], by_kind: dict[str, Any]) -> dict[str, Any]:
    error = {"application/json": {"schema": by_kind[str(api_types.ErrorAnswer)]}}
    schema = _schema(operation["answer"], by_kind)
    statuses = {*operation["errors"]}
    if operation["scope"]:
        statuses |= {"401", "403", "503"}
    if operation["body"] is not None:
        statuses |= {"400", "413", "415", "422"}
    if operation["parameters"]:
        statuses |= {"422"}
    described: dict[str, Any] = {
        "summary": operation["summary"],
        "description": f"Needs a token with the scope {operation['scope']}."
        if operation["scope"]
        else "Needs no token.",
        "responses": {
            operation["status"]: {
                "description": operation["summary"],
                "content": {
                    media: _BYTES if media == PARQUET_TYPE else {"schema": schema} for media in operation["media"]
                },
            },
            **{status: {"description": ERRORS[status], "content": error} for status in sorted(statuses)},
        },
    }
    if path == "/readyz":
        described["responses"]["503"]["content"] = {"application/json": {"schema": schema}}
    parameters = [*operation["parameters"]]
    if "{name}" in path:
        parameters.insert(0, {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}})
    if "{version}" in path:
        parameters.append(
            {"name": "version", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 0}}
        )
    if parameters:
        described["parameters"] = parameters
    if operation["body"] is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _schema(operation["body"], by_kind)}},
        }
    if operation["scope"]:
        described["security"] = [{"bearer": []}]
    return described
