from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer


def test_answers_an_array_of_entities(client: AppClient) -> None:
    response = client.post("/ksql", json={"ksql": "SHOW STREAMS; SHOW TOPICS;"})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert [entity["@type"] for entity in response.json()] == ["streams", "kafka_topics"]


def test_passes_everything_on_to_the_engine(client: AppClient, engine: FakeEngine) -> None:
    body = {
        "ksql": "SHOW STREAMS;",
        "streamsProperties": {"auto.offset.reset": "earliest"},
        "sessionVariables": {"n": 1},
        "requestProperties": {"request.ksql.debug.request": True},
        "commandSequenceNumber": 7,
        "somethingElse": None,
    }
    assert client.post("/ksql", json=body).status_code == 200
    (request,) = engine.requests
    assert request.text == "SHOW STREAMS;"
    assert request.properties == {"auto.offset.reset": "earliest"}
    assert request.variables == {"n": "1"}
    assert request.command_sequence_number == 7


def test_variables_are_texts(client: AppClient, engine: FakeEngine) -> None:
    variables = {"n": 1, "x": 1.5, "b": True, "missing": None, "t": "True"}
    client.post("/ksql", json={"ksql": "SHOW STREAMS;", "sessionVariables": variables})
    assert engine.requests[-1].variables == {"n": "1", "x": "1.5", "b": "true", "t": "True"}


def test_needs_no_content_type(client: AppClient) -> None:
    response = client.post("/ksql", content='{"ksql": "SHOW STREAMS;", "streamsProperties": null}')
    assert response.status_code == 200


def test_malformed_json_is_a_bad_request(client: AppClient) -> None:
    response = client.post("/ksql", content='{"ksql": "SHOW')
    assert response.status_code == 400
    assert response.json()["@type"] == "generic_error"
    assert response.json()["error_code"] == 40000
    assert response.json()["message"].startswith("The request body is not valid JSON: ")


def test_missing_member_is_named(client: AppClient) -> None:
    response = client.post("/ksql", json={"sql": "SHOW STREAMS;"})
    assert (response.status_code, response.json()["error_code"]) == (400, 40000)
    assert response.json()["message"] == 'The request body has no member "ksql".'


def test_wrong_member_is_named(client: AppClient) -> None:
    response = client.post("/ksql", json={"ksql": "x", "commandSequenceNumber": "soon"})
    assert response.status_code == 400
    assert 'Member "commandSequenceNumber" of the request body is invalid' in response.json()["message"]


def test_body_must_be_an_object(client: AppClient) -> None:
    response = client.post("/ksql", content="[]")
    assert response.json()["message"] == "The request body must be a JSON object."


def test_statement_error_has_the_statement_and_what_already_ran(client: AppClient) -> None:
    response = client.post("/ksql", json={"ksql": "SHOW STREAMS; DESCRIBE NOWHERE;"})
    assert response.status_code == 400
    error = response.json()
    assert error["@type"] == "statement_error"
    assert error["error_code"] == 40001
    assert error["statementText"] == "DESCRIBE NOWHERE;"
    assert error["message"].splitlines() == [
        "Source does not exist: NOWHERE.",
        "line 1:10",
        "  DESCRIBE NOWHERE",
        "           ^^^^^^^",
    ]
    assert [entity["@type"] for entity in error["entities"]] == ["streams"]


def test_validates_without_running(client: AppClient, engine: FakeEngine) -> None:
    response = client.post("/ksql/validate", json={"ksql": "SHOW STREAMS; SHOW TOPICS;"})
    assert (response.status_code, response.json()) == (200, {"statements": 2})
    response = client.post("/ksql/validate", json={"ksql": "SHOW STREAMS; DESCRIBE NOWHERE;"})
    assert (response.status_code, response.json()["statementText"]) == (400, "DESCRIBE NOWHERE;")
    assert not engine.requests


def test_a_text_is_split_without_running(client: AppClient, engine: FakeEngine) -> None:
    text = "-- 🦆;\nset 'a' = '🦆;'; create or replace table t as select 1; select * from t emit changes"
    found = client.post("/ksql/split", json={"ksql": text}).json()["statements"]
    units = text.encode("utf-16-le")
    assert [units[2 * one["start"] : 2 * one["end"]].decode("utf-16-le") for one in found] == [
        "set 'a' = '🦆;';",
        "create or replace table t as select 1;",
        "select * from t emit changes",
    ]
    set_, create, select = found
    assert (set_["verb"], set_["property"], set_["value"], set_["role"]) == ("SET", "a", "🦆;", "reader")
    assert (create["object"], create["name"], create["role"]) == ("TABLE", "T", "developer")
    assert create["isReplacement"] and create["hasQuery"] and create["isComplete"] and not create["isQuery"]
    assert select["isQuery"] and select["isPush"] and not select["isComplete"]
    assert not engine.requests


def test_a_drop_may_delete_the_topic(client: AppClient) -> None:
    found = client.post("/ksql/split", json={"ksql": "DROP TABLE t; DROP TABLE t DELETE TOPIC;"}).json()
    assert [one["deletesTopic"] for one in found["statements"]] == [False, True]


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("(SELECT 1)", "reader"),
        ("EXPLAIN DROP STREAM s", "reader"),
        ("PRINT 't'", "developer"),
        ("CREATE SOURCE STREAM s", "developer"),
        ("CREATE SOURCE CONNECTOR c", "admin"),
        ("create or replace function f", "admin"),
        ("DROP SINK s", "admin"),
        ("ALTER SYSTEM 'a' = 'b'", "admin"),
        ("NONSENSE", "developer"),
    ],
)
def test_a_statement_has_its_least_role(client: AppClient, text: str, role: str) -> None:
    (one,) = client.post("/ksql/split", json={"ksql": text}).json()["statements"]
    assert one["role"] == role


def test_query_belongs_elsewhere(client: AppClient) -> None:
    response = client.post("/ksql", json={"ksql": "SELECT * FROM RIDES;"})
    assert (response.status_code, response.json()["error_code"]) == (400, 40002)


def test_unexpected_error_is_short(client: AppClient) -> None:
    response = client.post("/ksql", json={"ksql": "BOOM;"})
    assert response.status_code == 500
    error = response.json()
    assert (error["@type"], error["error_code"]) == ("generic_error", 50000)
    assert "RuntimeError: boom." in error["message"]
    assert "second line" not in error["message"]


def test_properties_that_change_nothing_are_warned_of(client: AppClient) -> None:
    properties = {"ksql.streams.num.standby.replicas": "8", "auto.offset.reset": "earliest"}
    body = {"ksql": "SHOW STREAMS; SHOW TABLES;", "streamsProperties": properties}
    first, second = client.post("/ksql", json=body).json()
    assert first["warnings"] == [
        {
            "message": "Property 'ksql.streams.num.standby.replicas' has no effect: "
            "ksql-spark accepts it for compatibility with ksqlDB."
        }
    ]
    assert second["warnings"] == []


def test_a_client_that_goes_cancels_its_statement(
    live: LiveServer, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    def execute(request: Any) -> list[Any]:
        begun.set()
        if request.cancelled.wait(60):
            cancelled.set()
        return []

    monkeypatch.setattr(engine, "execute", execute)
    body = b'{"ksql": "SHOW STREAMS;"}'
    with socket.create_connection(("127.0.0.1", live.port)) as client:
        head = f"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        assert begun.wait(60)
    assert cancelled.wait(60)


def test_more_statements_than_may_run_at_once_are_refused(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end = threading.Semaphore(0), threading.Event()

    def execute(request: Any) -> list[Any]:
        begun.release()
        end.wait(60)
        return []

    monkeypatch.setattr(engine, "execute", execute)

    def run(live: LiveServer) -> httpx.Response:
        return httpx.post(f"{live.url}/ksql", json={"ksql": "SHOW STREAMS;"}, timeout=60)

    with LiveServer(engine, most_statements=2) as live, ThreadPoolExecutor(2) as clients:
        running = [clients.submit(run, live) for _ in range(2)]
        for _ in running:
            assert begun.acquire(timeout=60)
        refused = run(live)
        end.set()
        assert [answer.result().status_code for answer in running] == [200, 200]
        assert run(live).status_code == 200
    assert (refused.status_code, refused.json()["error_code"]) == (429, 42900)
    assert refused.headers["retry-after"] == "1"
    assert "ksql.server.max.concurrent.statements" in refused.json()["message"]
