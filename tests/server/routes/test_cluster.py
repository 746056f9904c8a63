"""/clusterStatus, /heartbeat, /lag and /ksql/terminate (reference §7.1)."""

from __future__ import annotations

import pytest

from ksql_spark.server.host import Host
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine

HEARTBEAT = {"hostInfo": {"host": "b", "port": 8088}, "timestamp": 5}
LAG = {"ksqlHost": {"host": "b", "port": 8088}, "hostStoreLags": {"stateStoreLags": {}, "updateTimeMs": 1}}


def test_servers_that_report(client: AppClient, engine: FakeEngine) -> None:
    engine.cluster.has_heartbeats = engine.cluster.has_lags = True
    assert client.post("/heartbeat", json=HEARTBEAT).json() == {"ok": True}
    (other,) = client.get("/clusterStatus").json()["clusterStatus"].items()
    assert other[0] == "b:8088" and other[1]["hostAlive"] and "drained" not in other[1]
    assert client.post("/lag", json=LAG).json() == {"ok": True}
    assert engine.cluster.lags == {"b:8088": LAG["hostStoreLags"]}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("GET", "/clusterStatus", None), ("POST", "/heartbeat", HEARTBEAT), ("POST", "/lag", LAG)],
)
def test_without_heartbeats_there_is_nothing(
    client: AppClient, engine: FakeEngine, method: str, path: str, body: object
) -> None:
    response = client.get(path) if method == "GET" else client.post(path, json=body)
    assert (response.status_code, response.json()["error_code"]) == (404, 40400)
    assert engine.cluster.heard == {}


def test_metadata(client: AppClient) -> None:
    body = {"table": "t", "key": {"k": 1}}
    found = client.post("/metadata/key", json=body).json()
    assert (found["table"], found["partition"]) == ("t", 1)
    (server,) = client.get("/metadata").json()["metadata"]
    assert server["hostInfo"] == {"host": "a", "port": 8088}


def test_drain_and_serve_again(client: AppClient, engine: FakeEngine) -> None:
    assert client.post("/cluster/drain", json={}).json()["drained"] is True
    assert client.post("/cluster/drain", json={"drained": False}).json()["drained"] is False


def test_terminate_stops_the_server_after_its_answer(
    client: AppClient, engine: FakeEngine, host: Host
) -> None:
    stops = []
    host.request_stop = lambda: stops.append(engine.terminated)
    response = client.post("/ksql/terminate", json={"deleteTopicList": ["a.*"]})
    assert response.json()[0]["@type"] == "currentStatus"
    assert stops == [["a.*"]]
    assert client.post("/ksql/terminate", json={}).status_code == 200
    assert client.post("/ksql/terminate", json={"deleteTopicList": "a"}).json()["error_code"] == 40000
