"""Write the reference page of the HTTP API: python -m docs.generate_http_api."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from arcbandit.service.openapi import document

PAGE = Path(__file__).with_name("http-api.md")

INTRODUCTION = """\
# HTTP API

This page is written by `make docs` from the service itself; [openapi.json](openapi.json) is the same for machines, and
a service answers it at `/v1/openapi.json`. [The decision service](service.md) tells how the parts work together.

Requests and answers are JSON. A token goes into the header `authorization: Bearer arcb_...`; `arcbandit token` makes
one, with the scopes that it needs. Every error has the one shape of [ErrorAnswer](#erroranswer).
"""

REFERENCE = "#/components/schemas/"
ERROR = "[ErrorAnswer](#erroranswer)"


def page() -> str:
    """The page as it should be."""
    api = document()
    blocks = [INTRODUCTION, "## Requests\n", "\n".join(_overview(api))]
    for path, methods in api["paths"].items():
        blocks += ["\n".join(_request(method, path, details)) for method, details in methods.items()]
    blocks.append("## Bodies\n\nIn a request, fields without a default are required.\n")
    blocks += ["\n".join(_schema(name, schema)) for name, schema in sorted(api["components"]["schemas"].items())]
    return "\n".join(blocks)


def _overview(api: dict[str, Any]) -> Iterator[str]:
    yield "| request | what it does |"
    yield "|---|---|"
    for path, methods in api["paths"].items():
        for method, details in methods.items():
            yield f"| [`{method.upper()} {path}`](#{anchor_of(method, path)}) | {details['summary']} |"
    yield ""


def anchor_of(method: str, path: str) -> str:
    """The anchor of a request's heading, as code hosts and the site make it from its words."""
    heading = f"{method} {path}".lower()
    return "".join(letter for letter in heading.replace(" ", "-") if letter.isalnum() or letter in "-_")


def _request(method: str, path: str, details: dict[str, Any]) -> Iterator[str]:
    yield f"### {method.upper()} {path}\n"
    yield f"{details['summary']}. {details['description']}\n"
    asked = [one for one in details.get("parameters", ()) if one["in"] == "query"]
    if asked:
        yield "| parameter | type | meaning |"
        yield "|---|---|---|"
        for one in asked:
            yield f"| `{one['name']}` | {type_of(one['schema'])} | {one.get('description', '')} |"
        yield ""
    if "requestBody" in details:
        yield f"Body: {_content(details['requestBody'])}\n"
    answers = {status: _content(answer) for status, answer in details["responses"].items()}
    refused = [status for status, body in answers.items() if body == ERROR]
    told = [f"{status} with {body}" if body else status for status, body in answers.items() if body != ERROR]
    yield f"Answers: {', '.join(told)}" + (f"; errors: {', '.join(refused)}." if refused else ".") + "\n"


def _content(holder: dict[str, Any]) -> str:
    found = [
        type_of(what["schema"]) if what.get("schema") else f"`{kind}`"
        for kind, what in holder.get("content", {}).items()
    ]
    return " or ".join(found) or holder.get("description", "")


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    about = " ".join(schema.get("description", "").split())
    if about:
        yield f"{about}\n"
    if "properties" not in schema:
        yield f"{type_of(schema)}\n"
        return
    yield "| field | type | default |"
    yield "|---|---|---|"
    for field, kind in schema["properties"].items():
        default = f"`{json.dumps(kind['default'])}`" if "default" in kind else ""
        yield f"| `{field}` | {type_of(kind)} | {default} |"
    yield ""


def type_of(schema: dict[str, Any]) -> str:
    """What values a schema admits, in words, with links to the schemas that have names."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(REFERENCE)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(type_of(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(one)}`" for one in schema["enum"])
    kind = schema.get("type", "any JSON")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(type_of(one) for one in schema['prefixItems'])}]"
        return f"list of {type_of(schema['items'])}" if isinstance(schema.get("items"), dict) else "list"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"object of {type_of(values)} by name" if isinstance(values, dict) else "object"
    return str(kind) + _range(schema)


def _range(schema: dict[str, Any]) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
        "minLength": "at least",
        "maxLength": "at most",
    }
    letters = {"minLength": " letters", "maxLength": " letters"}
    bounds = [f"{word} {schema[key]:,g}{letters.get(key, '')}" for key, word in words.items() if _tells(schema, key)]
    return f", {' and '.join(bounds)}" if bounds else ""


def _tells(schema: dict[str, Any], key: str) -> bool:
    """Whether a bound says something to a person: not that a number must fit into a database."""
    return key in schema and not (key == "maximum" and schema[key] >= 1e15) and (key, schema[key]) != ("minLength", 1)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
