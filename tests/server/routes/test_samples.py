"""GET /topics/{topic}/records and GET /sources/{name}/schemas."""

from __future__ import annotations

import pytest

from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine


def test_raw_records(client: AppClient, engine: FakeEngine) -> None:
    body = client.get("/topics/rides/records?partition=2&offset=7&limit=5").json()
    assert engine.raw_asked == ("rides", 2, 7, 5)
    assert (body["partitions"], body["firstOffset"], body["endOffset"]) == (3, 2, 10)
    (record,) = body["records"]
    assert record["value"] == {"base64": "/wAB/g==", "size": 4}
    assert record["headers"] == [{"name": "trace", "value": None}]
    client.get("/topics/rides/records")
    assert engine.raw_asked == ("rides", 0, None, 20)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "partition=-1", "offset=1.5", "offset=²"]
)
def test_wrong_numbers(client: AppClient, query: str) -> None:
    response = client.get(f"/topics/rides/records?{query}")
    assert response.status_code == 400 and query.partition("=")[0] in response.json()["message"]


def test_schemas(client: AppClient) -> None:
    body = client.get("/sources/RIDES/schemas").json()
    assert body["key"] is None and body["value"]["subject"] == "rides-value"
    assert [one["version"] for one in body["value"]["versions"]] == [2, 1]
