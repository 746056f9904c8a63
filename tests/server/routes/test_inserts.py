"""POST /inserts-stream (reference §7.6)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import httpx

from ksql_spark.server.host import Host
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer

TARGET = b'{"target":"RIDES"}\n'


def test_each_row_is_acknowledged_in_order(client: AppClient, engine: FakeEngine) -> None:
    response = client.post("/inserts-stream", content=TARGET + b'{"a":1}\n\n{"a":2}\n{"a":3}')
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/vnd.ksqlapi.delimited.v1"
    assert [json.loads(line) for line in response.text.splitlines()] == [
        {"status": "ok", "seq": 0},
        {"status": "ok", "seq": 1},
        {"status": "ok", "seq": 2},
    ]
    assert engine.inserter_made is not None
    assert engine.inserter_made.rows == [b'{"a":1}', b'{"a":2}', b'{"a":3}']
    assert engine.inserter_made.closed


def test_one_array_as_json(client: AppClient) -> None:
    rows = b'{"a":1}\n{"a":2}\n'
    response = client.post("/inserts-stream", content=TARGET + rows, headers={"Accept": "application/json"})
    assert response.headers["content-type"] == "application/json"
    assert response.json() == [{"status": "ok", "seq": 0}, {"status": "ok", "seq": 1}]
    assert client.post("/inserts-stream", content=TARGET, headers={"Accept": "application/json"}).json() == []


def test_no_rows(client: AppClient) -> None:
    response = client.post("/inserts-stream", content=TARGET.strip())
    assert (response.status_code, response.text) == (200, "")


def test_a_row_that_fails_is_the_last(client: AppClient, engine: FakeEngine) -> None:
    response = client.post("/inserts-stream", content=TARGET + b'{"a":1}\nbad\n{"a":2}\n')
    assert [json.loads(line) for line in response.text.splitlines()] == [
        {"status": "ok", "seq": 0},
        {"status": "error", "seq": 1, "error_code": 40000, "message": "a bad row"},
    ] or [json.loads(line) for line in response.text.splitlines()] == [
        {"status": "error", "seq": 0, "error_code": 40000, "message": "a bad row"},
    ]
    assert engine.inserter_made is not None and b'{"a":2}' not in engine.inserter_made.rows


def test_targets_that_are_wrong(client: AppClient) -> None:
    for content, code in (
        (b'{"target":"NOWHERE"}\n', 40001),
        (b"{}\n", 40000),
        (b"rubbish\n", 40000),
        (b"", 40000),
    ):
        response = client.post("/inserts-stream", content=content)
        assert (response.status_code, response.json()["error_code"]) == (400, code), content


def test_rows_may_be_more_than_a_body_may_be(engine: FakeEngine, host: Host) -> None:
    client = AppClient(host, **{"ksql.server.max.request.bytes": 100})
    rows = b'{"a":1}\n' * 100
    response = client.post("/inserts-stream", content=TARGET + rows)
    assert len(response.text.splitlines()) == 100
    response = client.post("/inserts-stream", content=TARGET + b'{"a":1}\n' + b"x" * 200 + b"\n")
    assert response.json()["error_code"] == 41300 if response.status_code != 200 else "41300" in response.text


def test_acknowledgements_come_while_rows_go(live: LiveServer, engine: FakeEngine) -> None:
    acknowledged = threading.Event()

    def rows() -> Iterator[bytes]:
        yield TARGET + b'{"a":1}\n'
        # the client sends the next row only once the first one is acknowledged on the server
        while engine.inserter_made is None or not engine.inserter_made.is_idle:
            acknowledged.wait(0.01)
        yield b'{"a":2}\n'

    with httpx.Client(timeout=20) as client:
        response = client.post(f"{live.url}/inserts-stream", content=rows())
    assert len(response.text.splitlines()) == 2


def test_news_after_the_end_of_the_loop_are_no_error(client: AppClient, engine: FakeEngine) -> None:
    client.post("/inserts-stream", content=TARGET + b'{"a":1}\n')
    assert engine.inserter_made is not None
    # as the thread of deliveries calls it, whose end would be an error of all other records
    engine.inserter_made.insert([b'{"a":2}'])
