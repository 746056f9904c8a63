"""Numbers that a client sends, however hostile, are its mistake: no endpoint answers 500."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from pydantic import BaseModel

from ksql_spark.config import Config
from ksql_spark.server import models
from ksql_spark.server.app import create_app
from ksql_spark.server.host import Host
from tests.server.fake_engine import FakeEngine

#: as text, for JSON's and ours differ: some are not JSON at all, some have more digits than Python reads
HOSTILE = (
    "-1", "0", "-0", "-0.0", "0.5", "2147483648", "-9223372036854775809", "18446744073709551616", "1e18",
    "1" + "0" * 309, "1" + "0" * 4299, "1" + "0" * 5000, "1e308", "1e309", "-1e309", "1e-400", "1e999999999",
    "NaN", "Infinity", "-Infinity", "[1e309]", '{"a": 1e309}', "true", '"1"', '"NaN"', '"\u0661"', "null",
)  # fmt: skip
#: path -> a body that is right
BODIES: Mapping[str, dict[str, Any]] = {
    "/ksql": {"ksql": "SHOW TOPICS;"},
    "/query": {"ksql": "SELECT 1;"},
    "/query-stream": {"sql": "SELECT 1;"},
    "/inserts-stream": {"target": "RIDES"},
    "/close-query": {"queryId": "q"},
    "/heartbeat": {"hostInfo": {"host": "a", "port": 1}, "timestamp": 1},
    "/lag": {
        "ksqlHost": {"host": "a", "port": 1},
        "hostStoreLags": {
            "updateTimeMs": 1,
            "stateStoreLags": {
                "T": {
                    "lagByPartition": {
                        "0": {"currentOffsetPosition": 1, "endOffsetPosition": 2, "offsetLag": 1}
                    }
                }
            },
        },
    },
    "/metadata/key": {"table": "T", "key": {"K": 1}},
    "/cluster/drain": {"drained": True},
    "/ksql/terminate": {"deleteTopicList": ["a"]},
    "/state/rebuild": {"queryId": "CTAS_T_1"},
}
#: members that are left out above
MORE = {
    "commandSequenceNumber": 1,
    "streamsProperties": {"ksql.query.pull.max.allowed.offset.lag": 1},
    "properties": {"a": 1},
    "sessionVariables": {"a": 1},
    "requestProperties": {models.TOKEN: 1, models.CONTINUATION: 1},
    "parameters": {"a": 1},
}
PLACE = "\N{WHITE SQUARE}"


def test_each_body_is_here() -> None:
    bodies = {model for model in vars(models).values() if _is_body(model)}
    members = {name for model in bodies for name in model.model_fields}
    assert members == {name for body in BODIES.values() for name in body} | set(MORE)


def _is_body(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, BaseModel) and found is not models.Body


def places(value: Any) -> Iterator[Any]:
    """``value`` with each of its parts replaced, one after the other."""
    yield PLACE
    if isinstance(value, dict):
        for name, part in value.items():
            for replaced in places(part):
                yield {**value, name: replaced}
    elif isinstance(value, list):
        for number, part in enumerate(value):
            for replaced in places(part):
                yield [*value[:number], replaced, *value[number + 1 :]]


def texts(body: dict[str, Any]) -> Iterator[str]:
    """``body`` with each hostile number in each of its places."""
    for changed in places(body):
        for number in HOSTILE:
            yield json.dumps(changed).replace(f'"{PLACE}"', number)


@pytest.mark.parametrize("path", sorted(BODIES))
def test_a_number_in_a_body_is_no_error_of_the_server(host: Host, engine: FakeEngine, path: str) -> None:
    engine.cluster.has_heartbeats = engine.cluster.has_lags = True
    body = BODIES[path] | (MORE if path in ("/ksql", "/query", "/query-stream", "/inserts-stream") else {})
    sent = [("POST", path, text.encode(), {}) for text in texts(body)]
    if path in ("/heartbeat", "/lag"):  # what is noted of one server must not break what others are told
        sent = [request for each in sent for request in (each, ("GET", "/clusterStatus", b"", {}))]
    found = answers(host, sent)
    assert [answer for answer in found if answer[1] not in (200, 400)][:5] == []


@pytest.mark.parametrize("name", ["content-length", "accept", "x-forwarded-for", "host", "range", "expect"])
@pytest.mark.parametrize("form", ["{}", "*/*;q={}", "1.2.3.4:{}", "[::1]:{}", "bytes={}-"])
def test_a_number_in_a_header_is_no_error_of_the_server(host: Host, name: str, form: str) -> None:
    requests = [
        ("POST", "/ksql", b'{"ksql": "SHOW TOPICS;"}', {name: form.format(number).encode()})
        for number in HOSTILE
    ]
    found = answers(host, requests, **{"ksql.server.trusted.proxies": ["127.0.0.1"]})
    assert {status for _, status, _ in found} <= {200, 400, 403, 406, 413}


@pytest.mark.parametrize("path", ["/status/stream/{}/create", "/is_valid_property/{}", "/info?a={}", "/{}"])
def test_a_number_in_a_path_is_no_error_of_the_server(host: Host, path: str) -> None:
    found = answers(host, [("GET", path.format(number), b"", {}) for number in HOSTILE])
    assert {status for _, status, _ in found} <= {200, 400, 404}


def answers(
    host: Host, requests: list[tuple[str, str, bytes, dict[str, bytes]]], **config: Any
) -> list[tuple[str, int, str]]:
    """What was sent, its status, and its answer."""
    transport = httpx.ASGITransport(create_app(host, Config(config)), raise_app_exceptions=False)

    async def send() -> list[tuple[str, int, str]]:
        found = []
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
            for method, path, body, headers in requests:
                answer = await client.request(method, path, content=body, headers=headers)
                found.append((f"{path} {body[:300]!r} {headers}", answer.status_code, answer.text))
        return found

    return asyncio.run(send())
