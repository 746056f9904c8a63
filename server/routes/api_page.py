"""GET /docs: the API as a human-readable page, written from /openapi.json, without external resources."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse, Response

from ksql_spark.authorization import Role
from ksql_spark.server.endpoints import Router, Rules
from ksql_spark.server.models import described

router = Router()

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem}"
    "code{background:#8882;padding:.1em .3em}h2{font-size:1.1rem;margin-top:2rem}td{padding-right:1.5rem}"
)


@router.endpoint(
    "GET",
    "/docs",
    Rules(Role.READER, takes_patterns=True),
    openapi_extra=described(answers={"text/html": None}),
)
async def docs(http: Request) -> Response:
    """The page about this API."""
    content = "".join(_page(http.app.openapi()))
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
    return HTMLResponse(content, headers=policy)


def _page(described: Mapping[str, Any]) -> Iterator[str]:
    title = html.escape(str(described["info"]["title"]))
    yield f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style><h1>{title}</h1>"
    schemas = described["components"]["schemas"]
    yield "<p><a href='openapi.json'>openapi.json</a> says the same for programs.</p>"
    for path, methods in sorted(described["paths"].items()):
        for method, entry in methods.items():
            yield f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>"
            yield f"<p>{html.escape(entry.get('description', ''))}</p>"
            for media_type, body in entry.get("requestBody", {}).get("content", {}).items():
                yield f"<p>Body, <code>{html.escape(media_type)}</code>:</p><table>"
                yield from _members(body["schema"])
                yield "</table>"
            answers = entry["responses"].get("200", {}).get("content", {})
            if answers:
                yield "<p>Answer:</p><table>"
            for media_type, answer in answers.items():
                name = answer["schema"].get("$ref", "").rpartition("/")[2]
                schema = schemas[name] if name else answer["schema"]
                text = html.escape(schema.get("description", ""))
                yield f"<tr><td><code>{html.escape(media_type)}</code><td>{text}"
                yield from _members(schema)
            if answers:
                yield "</table>"


def _members(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        types = [member, *member.get("anyOf", [])]
        shown = ", ".join(t["type"] for t in types if t.get("type") not in (None, "null")) or "object"
        yield f"<tr><td><code>{html.escape(name)}</code><td>{shown}"
        yield "<td>required" if name in required else "<td>"
