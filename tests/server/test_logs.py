"""The server's log: ids of requests and queries, secrets, its two forms."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.server.logs import Format, MaskingFormatter, log_to
from tests.server.app_client import AppClient
from tests.server.fake_engine import FakeEngine, FakeStream


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Callable[[Format], Path]]:
    """Begins to log to a file; ends with the test."""
    root = logging.getLogger()
    handlers, level, raises = list(root.handlers), root.level, logging.raiseExceptions

    def begin(format_: Format) -> Path:
        secrets = Config({"ssl.key.password": "c4n4ry"}).secrets()
        return log_to(tmp_path / "logs" / "server.log", secrets, format_)

    yield begin
    for handler in [handler for handler in root.handlers if handler not in handlers]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
    logging.raiseExceptions = raises


def events(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_lines_about_a_request_have_its_id(
    log: Callable[[Format], Path], client: AppClient, engine: FakeEngine
) -> None:
    file = log("JSON")
    answer = client.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers={"X-Request-Id": "of-a-client.1"})
    assert answer.headers["x-request-id"] == "of-a-client.1"
    (event,) = [event for event in events(file) if event["logger"] == "audit"]
    assert event["request"] == "of-a-client.1" and "SHOW STREAMS" in event["message"]
    assert event["level"] == "INFO" and event["time"].endswith("+00:00")


def test_who_has_started_which_query(
    log: Callable[[Format], Path], client: AppClient, engine: FakeEngine
) -> None:
    file = log("JSON")
    client.post("/query-stream", json={"sql": "PRINT rides;"})
    client.post("/close-query", json={"queryId": "q_1"})
    engine.next_stream = FakeStream("PULL", [], [])
    client.post("/query-stream", json={"sql": "SELECT * FROM looked_up;"})
    said = [event["message"] for event in events(file) if event["logger"] == "audit"]
    assert said == ["anonymous (admin): PRINT rides;", "anonymous: close q_1"]


def test_also_those_of_the_thread_that_carries_it_out(
    log: Callable[[Format], Path], client: AppClient, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = log("JSON")
    execute = engine.execute

    def executed(request: Any) -> Any:
        logging.getLogger("engine").info("at work", extra={"query": "CSAS_1"})
        return execute(request)

    monkeypatch.setattr(engine, "execute", executed)
    id_ = client.post("/ksql", json={"ksql": "SHOW STREAMS;"}).headers["x-request-id"]
    (event,) = [event for event in events(file) if event["logger"] == "engine"]
    assert (event["request"], event["query"]) == (id_, "CSAS_1")


@pytest.mark.parametrize("given", ["two\tparts", "", "x" * 101, "\u00e9"])
def test_ids_that_do_not_fit_are_not_taken_over(client: AppClient, given: str) -> None:
    answers = [client.get("/info", headers={"X-Request-Id": given.encode()}) for _ in range(2)]
    ids = {answer.headers["x-request-id"] for answer in answers}
    assert len(ids) == 2 and given not in ids


def test_text_has_the_id_in_brackets(log: Callable[[Format], Path], client: AppClient) -> None:
    file = log("TEXT")
    client.post("/ksql", json={"ksql": "SHOW STREAMS;"}, headers={"X-Request-Id": "r1"})
    logging.getLogger("elsewhere").info("nobody asked")
    text = file.read_text(encoding="utf-8")
    assert " INFO audit [r1]: " in text and " INFO elsewhere: nobody asked\n" in text


def test_statements_of_clients_are_not_taken_for_lines_of_the_log(
    log: Callable[[Format], Path], client: AppClient
) -> None:
    file = log("TEXT")
    forged = "2026-01-01 00:00:00,000 INFO audit: boss (admin): DROP STREAM s;"
    for between in ("\n", "\r", "\r\n", "\u2028"):
        client.post("/ksql", json={"ksql": f"SHOW STREAMS;{between}{forged}"})
    lines = file.read_text(encoding="utf-8").splitlines()
    assert sum("boss" in line for line in lines) == 4
    assert not any(line.startswith("2026-01-01") for line in lines)


def test_what_would_act_on_a_terminal_is_written_out(
    log: Callable[[Format], Path], client: AppClient
) -> None:
    file = log("TEXT")
    client.post("/ksql", json={"ksql": "SHOW STREAMS; -- \x1b]0;x\x07 \0 \x9b2J é\t."})
    text = file.read_text(encoding="utf-8")
    assert r"-- \x1b]0;x\x07 \x00 \x9b2J é" in text
    assert text.replace("\n", "").replace("\t", "").isprintable()


def test_of_a_text_that_is_too_long_the_beginning_is_written_down(
    log: Callable[[Format], Path], client: AppClient
) -> None:
    file = log("JSON")
    client.post("/ksql", json={"ksql": "SHOW STREAMS; " + "x " * 200_000})
    (said,) = [event["message"] for event in events(file) if event["logger"] == "audit"]
    assert len(said) < 201_000 and said.endswith("x … (400014 characters)")


def failed() -> logging.LogRecord:
    try:
        raise ValueError("c4n4ry at http://me:pass@there")
    except ValueError:
        return logging.LogRecord("x", logging.ERROR, "", 0, "refused c4n4ry", None, sys.exc_info())


def test_text_hides_secrets() -> None:
    formatter = MaskingFormatter(
        "%(levelname)s %(message)s", Config({"ssl.key.password": "c4n4ry"}).secrets()
    )
    shown = formatter.format(failed())
    assert "c4n4ry" not in shown and "pass@" not in shown
    assert shown.startswith("ERROR refused [hidden]\n")


def test_json_hides_secrets(log: Callable[[Format], Path]) -> None:
    file = log("JSON")
    logging.getLogger("x").handle(failed())
    (event,) = events(file)
    assert event["message"] == "refused [hidden]" and "ValueError" in event["error"]
    assert "c4n4ry" not in event["error"] and "pass@" not in event["error"]
