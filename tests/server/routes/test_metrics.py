"""GET /metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from ksql_spark.config import Config
from ksql_spark.engine.metrics import MEASURES
from ksql_spark.server.app import create_app
from ksql_spark.server.host import Host
from ksql_spark.server.metrics import PREFIX
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine


def lines(client: AppClient) -> dict[str, float]:
    pytest.importorskip("prometheus_client")
    response = client.get("/metrics")
    assert response.status_code == 200 and response.headers["content-type"].startswith("text/plain")
    found = (line.rpartition(" ") for line in response.text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in found}


def test_the_engines_figures(client: AppClient) -> None:
    assert lines(client)['ksql_spark_query_lag_records{query_id="CTAS_T_1",topic="rides"}'] == 3


def test_a_histogram_of_the_engine(client: AppClient) -> None:
    found = lines(client)
    name, labels = "ksql_spark_query_latency_seconds", 'query_id="CTAS_T_1",topic="T"'
    of_bounds = [found[f'{name}_bucket{{le="{bound}",{labels}}}'] for bound in ("0.001", "0.01", "+Inf")]
    assert of_bounds == [3, 5, 6]
    assert found[f"{name}_count{{{labels}}}"] == 6 and found[f"{name}_sum{{{labels}}}"] == 1.5


def test_requests_are_counted_by_endpoint(client: AppClient) -> None:
    pytest.importorskip("prometheus_client")
    client.post("/ksql", json={"ksql": "SHOW TOPICS;"})
    client.post("/ksql/", json={"ksql": "SELECT * FROM NOWHERE;"})
    client.post("/query-stream", json={"sql": "SELECT 1;"})
    client.get("/status/stream/`RIDES`/create")
    for number in range(20):
        client.get(f"/unknown/{number}")
    found = lines(client)
    counts = {name: count for name, count in found.items() if name.startswith("ksql_spark_requests_total")}
    assert counts == {
        'ksql_spark_requests_total{path="/ksql",status="200"}': 1,
        'ksql_spark_requests_total{path="/ksql",status="400"}': 1,
        'ksql_spark_requests_total{path="/query-stream",status="200"}': 1,
        'ksql_spark_requests_total{path="/status",status="200"}': 1,
        'ksql_spark_requests_total{path="other",status="404"}': 20,
    }
    assert found['ksql_spark_request_seconds_count{path="/ksql"}'] == 2


def test_websockets_are_counted(host: Host, engine: FakeEngine) -> None:
    pytest.importorskip("prometheus_client")
    client = TestClient(create_app(host, Config({})), base_url="http://localhost")
    url = f"/ws/query?request={json.dumps({'ksql': 'SELECT 1;'})}"
    with client.websocket_connect(url) as socket:
        socket.receive_text()
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(url, headers={"Origin": "http://x.y"}):
        pass
    text = client.get("/metrics").text
    for status in (101, 403):
        assert f'ksql_spark_requests_total{{path="/ws/query",status="{status}"}} 1.0' in text


def test_without_prometheus_client_there_are_none(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksql_spark.server.app.has_metrics", lambda: False)
    response = AppClient(host).get("/metrics")
    assert response.status_code == 404 and "prometheus-client" in response.json()["message"]


def test_the_dashboard_shows_figures_that_there_are() -> None:
    path = Path(__file__).parents[3] / "docker" / "grafana.json"
    dashboard = json.loads(path.read_text(encoding="utf-8"))
    shown = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    endings = {"counter": ["_total"], "gauge": [""], "histogram": ["_bucket", "_sum", "_count"]}
    known = {m.name + ending for m in MEASURES for ending in endings[m.kind]}
    known |= {"requests_total", *(f"request_seconds{ending}" for ending in endings["histogram"])}
    used = {name for text in shown for name in re.findall(rf"{PREFIX}(\w+)", text)}
    assert used and used <= known
    numbers = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(numbers)) == len(numbers)


def test_the_dashboard_uses_labels_that_there_are() -> None:
    path = Path(__file__).parents[3] / "docker" / "grafana.json"
    labels = {m.name: {*m.labels} for m in MEASURES}
    labels |= {"requests": {"path", "status"}, "request_seconds": {"path"}}
    for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
        for target in panel.get("targets", ()):
            text = target["expr"]
            names = re.findall(rf"{PREFIX}(\w+?)(?:_total|_bucket|_sum|_count)?\{{", text)
            known = {"job", "instance"}.union(*(labels[name] for name in names))
            by = [label for group in re.findall(r"by \(([^)]*)\)", text) for label in group.split(", ")]
            used = {*re.findall(r"[{,](\w+)[!=]", text), *by} - {"le"}
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert used <= known, text
            assert shown <= (set(by) if by else known), text


def test_the_reference_names_every_measure() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "rest-protocol.md").read_text(encoding="utf-8")
    rows = re.findall(rf"^\| (`{PREFIX}[^|]+)\|", page, re.MULTILINE)
    described = set(re.findall(rf"`{PREFIX}(\w+)`", " ".join(rows)))
    ours = {m.name + ("_total" if m.kind == "counter" else "") for m in MEASURES}
    assert described == ours | {"requests_total", "request_seconds"}
