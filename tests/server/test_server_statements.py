from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from app_client import AppClient
from fake_engine import FakeEngine
from live_server import LiveServer

from ksql_spark.authorization import ALL_RIGHTS
from ksql_spark.errors import KsqlError
from server.models import TOKEN_HEADER


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
    assert 'Member "commandSequenceNumber" of the request body is wrong' in response.json()["message"]


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
            "message": "Property 'ksql.streams.num.standby.replicas' changes nothing: "
            "ksqlDB has it, but nothing reads it here."
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


class KnownInsert:
    """An INSERT VALUES that the engine knows; written, or failing, in another thread."""

    token = "a-token"

    def __init__(self, error: KsqlError | None = None) -> None:
        self.error = error

    def write(self, on_written: Callable[[KsqlError | None], None]) -> None:
        threading.Thread(target=on_written, args=(self.error,)).start()


@pytest.fixture
def known(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the engine is asked for; it knows texts with VALUES, and that those with WRONG or GONE fail."""
    asked: list[tuple[Any, ...]] = []

    def insert(text: str, *more: Any) -> KnownInsert | None:
        asked.append((text, *more))
        if "VALUES" not in text:
            return None
        if "GONE" in text:
            return KnownInsert(KsqlError("TOPIC_UNKNOWN", topic="x", statement=text))
        failure = KsqlError("KAFKA_REFUSED", action="x", reason="x", statement=text)
        return KnownInsert(failure if "WRONG" in text else None)

    monkeypatch.setattr(engine, "insert", insert)
    return asked


def test_an_insert_that_is_known_is_written_at_once(
    client: AppClient, engine: FakeEngine, known: list[tuple[Any, ...]], caplog: pytest.LogCaptureFixture
) -> None:
    text = "INSERT INTO RIDES VALUES (1);"
    with caplog.at_level("INFO", "audit"):
        response = client.post("/ksql", json={"ksql": text, "streamsProperties": {"a": 1}})
    assert (response.status_code, response.json()) == (200, [])
    assert response.headers["content-type"] == "application/json"
    assert response.headers[TOKEN_HEADER] == "a-token"
    assert known == [(text, {"a": 1}, ALL_RIGHTS)]
    assert engine.requests == []
    assert [record.getMessage() for record in caplog.records] == [f"anonymous (admin): {text}"]


def test_an_insert_that_fails_says_so(client: AppClient, known: list[tuple[Any, ...]]) -> None:
    response = client.post("/ksql", json={"ksql": "INSERT INTO RIDES VALUES ('WRONG');"})
    error = response.json()
    assert (response.status_code, error["@type"]) == (500, "statement_error")
    assert error["statementText"] == "INSERT INTO RIDES VALUES ('WRONG');"


def test_an_insert_into_a_topic_that_may_come_is_carried_out_as_a_statement(
    client: AppClient, engine: FakeEngine, known: list[tuple[Any, ...]]
) -> None:
    assert client.post("/ksql", json={"ksql": "INSERT INTO RIDES VALUES ('GONE');"}).status_code == 200
    assert len(engine.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"ksql": "SHOW STREAMS;"},
        {"ksql": "INSERT INTO RIDES VALUES (${x});", "sessionVariables": {"x": 1}},
        {"ksql": "SHOW STREAMS; -- VALUES", "sessionVariables": {"x": 1}},
        {"ksql": "SHOW STREAMS; -- VALUES", "commandSequenceNumber": 0},
        {"ksql": "SHOW STREAMS; -- VALUES", "requestProperties": {"x": 1}},
    ],
)
def test_other_requests_are_carried_out_as_statements(
    client: AppClient, engine: FakeEngine, known: list[tuple[Any, ...]], body: dict[str, Any]
) -> None:
    client.post("/ksql", json=body)
    assert len(engine.requests) == 1


def test_inserts_count_as_statements(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: queue.Queue[Callable[[None], None]] = queue.Queue()

    class Unanswered(KnownInsert):
        def write(self, on_written: Callable[[KsqlError | None], None]) -> None:
            waiting.put(on_written)

    monkeypatch.setattr(engine, "insert", lambda *_: Unanswered())

    def run(live: LiveServer) -> httpx.Response:
        return httpx.post(f"{live.url}/ksql", json={"ksql": "INSERT INTO RIDES VALUES (1);"}, timeout=60)

    with LiveServer(engine, most_statements=1) as live, ThreadPoolExecutor(1) as clients:
        running = clients.submit(run, live)
        on_written = waiting.get(timeout=60)
        assert run(live).status_code == 429
        on_written(None)
        assert running.result().status_code == 200
