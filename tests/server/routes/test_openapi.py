"""/openapi.json and /docs say what there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine


def paths(client: AppClient) -> dict[str, dict[str, dict[str, object]]]:
    return dict(client.get("/openapi.json").json()["paths"])


def test_every_endpoint_says_what_it_takes_and_gives(client: AppClient) -> None:
    for path, methods in paths(client).items():
        for method, entry in methods.items():
            assert entry.get("description"), path
            assert "default" in json.dumps(entry["responses"]) or path == "/", path
            if method == "post":
                assert "requestBody" in entry, path
            assert "422" not in entry["responses"], path  # type: ignore[operator]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ksql", {"ksql": "SHOW TOPICS;"}),
        ("/query", {"ksql": "SELECT 1;"}),
        ("/query-stream", {"sql": "SELECT 1;"}),
        ("/inserts-stream", {"target": "RIDES"}),
        ("/ksql/terminate", {}),
        ("/state/rebuild", {"queryId": "CTAS_T_1"}),
    ],
)
def test_answers_have_the_media_types_that_are_described(
    client: AppClient, path: str, body: dict[str, str]
) -> None:
    content = client.get("/openapi.json").json()["paths"][path]["post"]["responses"]["200"]["content"]
    for media_type in content:
        if media_type.startswith("text/"):
            continue
        response = client.post(path, json=body, headers={"Accept": media_type})
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] in content


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (value[name] for name in ("$ref",) if name in value)
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def test_what_is_referred_to_is_there(client: AppClient) -> None:
    described = client.get("/openapi.json").json()
    names = {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}
    assert set(references(described)) <= names


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (
            "/ksql",
            {"ksql": "SHOW STREAMS; SHOW QUERIES; SHOW TOPICS; DESCRIBE RIDES; CREATE STREAM x (a INT);"},
        ),
        ("/ksql/terminate", {}),
        ("/state/rebuild", {"queryId": "CTAS_T_1"}),
        ("/heartbeat", {"hostInfo": {"host": "b", "port": 8088}, "timestamp": 5}),
        ("/lag", {"ksqlHost": {"host": "b", "port": 8088}, "hostStoreLags": {}}),
        ("/clusterStatus", None),
        ("/metadata/key", {"table": "t", "key": {"k": 1}}),
        ("/metadata", None),
        ("/cluster/drain", {}),
        ("/info", None),
        ("/rights", None),
        ("/healthcheck", None),
        ("/status", None),
        ("/status/{type}/{entity}/{action}", None),
        ("/v1/metadata", None),
        ("/v1/metadata/id", None),
        ("/is_valid_property/{name}", None),
        ("/chc/ready", None),
        ("/graph", None),
        ("/topics/{topic}/records", None),
        ("/sources/{name}/schemas", None),
        ("/queries/{query_id}", None),
    ],
)
def test_answers_hold_what_is_described(
    client: AppClient, engine: FakeEngine, path: str, body: dict[str, Any] | None
) -> None:
    engine.cluster.has_heartbeats = engine.cluster.has_lags = True
    described = client.get("/openapi.json").json()
    asked = path.format(
        type="stream",
        entity="`RIDES`",
        action="create",
        name="auto.offset.reset",
        query_id="BIG_1",
        topic="t",
    )
    response = client.get(asked) if body is None else client.post(asked, json=body)
    (methods,) = (methods for it, methods in described["paths"].items() if it == path)
    content = methods["get" if body is None else "post"]["responses"]["200"]["content"]
    schema = content["application/json"]["schema"]
    assert schema and schema.keys() != {"description"}
    jsonschema.validate(response.json(), {**schema, "components": described["components"]})


@pytest.mark.parametrize("text", ["SELECT 1;", "SHOW NOWHERE;", "SHOW TOPICS; SHOW NOWHERE;", "SHOW BOOM;"])
def test_so_do_errors(client: AppClient, text: str) -> None:
    described = client.get("/openapi.json").json()
    schema = described["paths"]["/ksql"]["post"]["responses"]["default"]["content"]["application/json"][
        "schema"
    ]
    error = client.post("/ksql", json={"ksql": text}).json()
    jsonschema.validate(error, {**schema, "components": described["components"]})


def test_the_page_shows_every_endpoint_and_loads_nothing(client: AppClient) -> None:
    response = client.get("/docs")
    assert response.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in response.headers["content-security-policy"]
    for path in paths(client):
        assert f"{path}</code>" in response.text
    assert "<script" not in response.text and "http://" not in response.text
