"""Who may send requests, through a browser above all, and how large they may be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi.routing import APIRoute

from ksql_spark.server.app import MODULES, create_app
from ksql_spark.server.host import Host
from ksql_spark.server.routes.copying import FORMS
from ksql_spark.server.security import middleware
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine

SHOW = '{"ksql": "SHOW STREAMS;"}'


@pytest.mark.parametrize("path", ["/ksql", "/query", "/query-stream", "/close-query"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://server", "http://server:1"])
def test_pages_of_other_sites_are_refused(
    client: AppClient, engine: FakeEngine, path: str, origin: str
) -> None:
    headers = {"Content-Type": "text/plain", "Origin": origin}
    response = client.post(path, content=SHOW, headers=headers)
    assert response.status_code == 403
    assert response.json()["error_code"] == 40300
    assert "ksql.server.allowed.origins" in response.json()["message"]
    assert "access-control-allow-origin" not in response.headers
    assert engine.requests == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "application/json"},
        {"Content-Type": "Application/JSON;charset=utf-8"},
        {"Content-Type": "application/vnd.ksql.v1+json; charset=utf-8"},
        {"Content-Type": "application/vnd.ksqlapi.delimited.v1"},
        {"Content-Type": "application/json", "Origin": "http://server"},
        {},
    ],
)
def test_other_clients_and_own_pages_are_served(client: AppClient, headers: dict[str, str]) -> None:
    assert client.post("/ksql", content=SHOW, headers=headers).status_code == 200


FORM = "application/x-www-form-urlencoded"
#: what pages can send to another site without asking it first, and what only looks like JSON
NO_JSON = [
    {"Content-Type": FORM},  # curl -d, too
    {"Content-Type": "text/plain"},
    {"Content-Type": "text/plain; charset=application/json"},
    {"Content-Type": "multipart/form-data; boundary=application/json"},
    {"Content-Type": "text/json+json"},
    {"Content-Type": "application/json, text/plain"},
    {"Content-Type": ""},
    {"Sec-Fetch-Site": "cross-site"},  # navigator.sendBeacon() of a Blob without a type
    {"Origin": "http://server"},
]


@pytest.mark.parametrize("headers", NO_JSON, ids=str)
def test_what_changes_something_takes_json_only(
    host: Host, engine: FakeEngine, headers: dict[str, str]
) -> None:
    asked = set()
    client = AppClient(host)
    for module in MODULES:
        for route in module.router.routes:
            if not isinstance(route, APIRoute) or route.methods == {"GET"}:
                continue
            for path in (route.path, f"{route.path}/"):
                if module.router.rules[route.path].only_reads:
                    continue
                response = client.post(path, content='{"ksql": "DROP TABLE t;"}', headers=headers)
                assert (response.status_code, response.json()["error_code"]) == (415, 41500), path
                assert "Content-Type: application/json" in response.json()["message"]
            asked.add(route.path)
    assert {"/ksql", "/inserts-stream", "/close-query", "/ksql/terminate", "/state/rebuild"} < asked
    assert engine.requests == [] and engine.terminated is None


#: who sends: headers besides Content-Type
SENDERS: dict[str, dict[str, str]] = {
    "program": {},
    "own page": {"Origin": "http://server", "Sec-Fetch-Site": "same-origin"},
    "other page": {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
    "file on disk": {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    "browser without origin": {"Sec-Fetch-Site": "cross-site"},
}
#: what a page can send to another site without asking it first (Fetch, CORS-safelisted request-header)
SIMPLE = (FORM, "multipart/form-data; boundary=b", "text/plain", "text/plain;charset=utf-8; x=text/csv")
JSONS = ("application/json", "application/vnd.ksql.v1+json", "application/vnd.ksqlapi.delimited.v1")


def expected(path: str, media_type: str | None, sender: str) -> int | None:
    """The status of a refusal; None: the request reaches its endpoint."""
    if sender in ("other page", "file on disk"):
        return 403
    if path.startswith("/copy/"):  # which must know the form of the file
        return None if media_type in FORMS else 415
    if media_type is None:
        return None if sender == "program" else 415
    return None if media_type in JSONS else 415


@pytest.mark.parametrize("sender", SENDERS)
def test_who_may_change_something_with_which_media_type(host: Host, sender: str) -> None:
    client, seen = AppClient(host), 0
    types = (None, *SIMPLE, *JSONS, *FORMS, "image/png")
    for module in MODULES:
        for route in module.router.routes:
            if not isinstance(route, APIRoute) or route.methods == {"GET"}:
                continue
            if module.router.rules[route.path].only_reads:
                continue
            for media_type in types:
                named = {} if media_type is None else {"Content-Type": media_type}
                response = client.post(route.path, content=b"!", headers=SENDERS[sender] | named)
                refused = response.status_code if response.status_code in (403, 415) else None
                assert refused == expected(route.path, media_type, sender), (route.path, media_type)
                seen += 1
    assert seen > 9 * len(types)


def test_no_file_is_of_a_type_that_pages_may_send_unasked() -> None:
    assert not {name.partition(";")[0] for name in SIMPLE} & FORMS.keys()


def test_two_media_types_are_no_way_around(client: AppClient) -> None:
    twice = [("Content-Type", "application/json"), ("Content-Type", "text/plain")]
    assert client.post("/ksql", content=SHOW, headers=twice).status_code == 415


def test_queries_may_be_called_what_curl_calls_them(client: AppClient, engine: FakeEngine) -> None:
    assert client.post(
        "/query-stream", content='{"sql": "SELECT 1;"}', headers={"Content-Type": FORM}
    ).is_success
    assert client.post("/query", content='{"ksql": "SELECT 1;"}', headers={"Content-Type": FORM}).is_success
    assert len(engine.requests) == 2


@pytest.mark.parametrize("name", ["ksql.server.allowed.origins", "access.control.allow.origin"])
def test_allowed_origins_may_also_read_the_answers(host: Host, name: str) -> None:
    client = AppClient(host, **{name: "http://console.example:3000"})
    origin = {"Origin": "http://console.example:3000", "Content-Type": "application/json"}
    answer = client.post("/ksql", content=SHOW, headers=origin)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin["Origin"]
    assert client.post("/ksql", content=SHOW, headers={"Origin": "http://other.example"}).status_code == 403


@pytest.mark.parametrize(
    "name", ["evil.example", "evil.example:8088", "127.0.0.1.evil.example", "a b.c", "[x"]
)
def test_other_names_are_refused(client: AppClient, name: str) -> None:
    response = client.get("/info", headers={"Host": name})
    assert response.status_code == 403
    assert "ksql.server.allowed.hosts" in response.json()["message"]


@pytest.mark.parametrize(
    "name",
    ["localhost:8088", "LOCALHOST", "a.localhost", "127.0.0.1:8088", "[::1]:8088", "10.1.2.3", "server"],
)
def test_own_names_are_served(client: AppClient, name: str) -> None:
    assert client.get("/info", headers={"Host": name}).status_code == 200


@pytest.mark.parametrize(
    "config",
    [
        {"listeners": "http://ksql.example:8088"},
        {"ksql.server.allowed.hosts": "a.b, Ksql.Example"},
        {"ksql.server.allowed.hosts": "*"},
    ],
)
def test_names_in_the_configuration_are_served(host: Host, config: dict[str, str]) -> None:
    assert AppClient(host, **config).get("/info", headers={"Host": "ksql.example:8088"}).status_code == 200


def test_a_body_that_does_not_come_is_refused(host: Host, engine: FakeEngine) -> None:
    client = AppClient(host, **{"ksql.server.request.timeout.ms": "50"})

    async def half() -> AsyncIterator[bytes]:
        yield b'{"ksql":'
        await asyncio.Event().wait()

    for path in ("/ksql", "/query-stream", "/close-query"):
        response = client.post(path, content=half(), headers={"Content-Type": "application/json"})
        assert (response.status_code, response.json()["error_code"]) == (408, 40800)
        assert "ksql.server.request.timeout.ms" in response.json()["message"]
    assert engine.requests == []
    assert client.post("/ksql", content=SHOW).status_code == 200


def test_too_large_a_body_is_refused(host: Host, engine: FakeEngine) -> None:
    client = AppClient(host, **{"ksql.server.max.request.bytes": "100"})
    assert client.post("/ksql", content=SHOW.ljust(100)).status_code == 200

    async def pieces() -> AsyncIterator[bytes]:  # without a Content-Length
        for _ in range(11):
            yield SHOW.encode()

    for body in (SHOW.ljust(101), pieces()):
        response = client.post("/ksql", content=body)
        assert (response.status_code, response.json()["error_code"]) == (413, 41300)
        assert "more than 100 bytes" in response.json()["message"]
    assert len(engine.requests) == 1


def test_large_bodies_at_once(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "LARGE_BYTES", 100)
    monkeypatch.setattr(middleware, "LARGE_BODIES_OF_CLIENT", 1)
    large = SHOW.ljust(200)

    async def statuses() -> list[int]:
        transport = httpx.ASGITransport(create_app(host))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            found = []

            async def post(content: str | AsyncIterator[bytes]) -> None:
                found.append((await client.post("/ksql", content=content)).status_code)

            async def pieces() -> AsyncIterator[bytes]:
                yield large[:150].encode()
                await post(large)
                await post(SHOW)
                yield large[150:].encode()

            await post(pieces())
            await post(large)
            return found

    assert asyncio.run(statuses()) == [429, 200, 200, 200]
