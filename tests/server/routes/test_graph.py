"""GET /graph and GET /queries/{id}."""

from __future__ import annotations

from ksql_spark.authorization import ALL_RIGHTS
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine


def test_the_graph(client: AppClient, engine: FakeEngine) -> None:
    body = client.get("/graph").json()
    assert [node["id"] for node in body["nodes"]] == ["topic:rides", "stream:RIDES", "query:BIG_1"]
    assert body["edges"][0] == {"source": "topic:rides", "target": "stream:RIDES"}
    assert body["culprits"] == [{"queryId": "BIG_1", "reason": "It falls behind."}]
    figures = body["nodes"][2]["figures"]
    assert figures["readPerS"] == 10.5 and figures["lagSeconds"] is None and figures["errors"] == {"late": 1}
    assert "statement" not in body["nodes"][0]
    assert engine.graph_rights == ALL_RIGHTS


def test_a_query_step_by_step(client: AppClient, engine: FakeEngine) -> None:
    body = client.get("/queries/big_1").json()
    assert engine.details_asked == ("big_1", ALL_RIGHTS)
    (stage,) = body["subTopologies"]
    assert [(step["title"], step["inputs"]) for step in stage["steps"]] == [
        ("Stream Source", []), ("Stream Filter", ["0"]), ("Sink", ["1"])
    ]  # fmt: skip
    assert stage["steps"][0]["volume"] == {"records": 100, "bytes": 1000}
    assert "volume" not in stage["steps"][1]
    assert stage["checkpoints"][0]["partsMs"] == {"commitOffsets": 1}
    assert body["graces"] == {"bounds": [60.0, 3600.0], "counts": [40, 9, 0]}
    assert body["latencies"]["BIG"] == {"bounds": [0.001, 0.01], "counts": [3, 2, 1], "sumSeconds": 1.5}
    assert body["transitions"][1]["reason"] == "The disk is full." and "reason" not in body["transitions"][0]


def test_an_unknown_query(client: AppClient) -> None:
    response = client.get("/queries/NONE_7")
    assert (response.status_code, response.json()["error_code"]) == (400, 40001)
