"""What is said about queries that return nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ksql_spark.shell import quiet
from ksql_spark.shell.client import ServerError
from ksql_spark.shell.quiet import Quiet, why_empty

HEADER = {"header": {"queryId": "transient_1", "schema": "`K` STRING"}}
ROW = {"row": {"columns": ["a"]}}
WARNING = "3 records of S are older than the first row of T."


class Frames:
    """As FrameStream: frames, and then none for as long as one reads."""

    def __init__(self, *frames: dict[str, Any]) -> None:
        self.frames = list(frames)

    def read(self, timeout_s: float) -> list[dict[str, Any]] | None:
        frames, self.frames = self.frames, []
        return frames

    def close(self) -> None:
        pass


class Client:
    """As Client, of a server that knows a reason, or not."""

    def __init__(self, answer: list[dict[str, Any]] | Exception) -> None:
        self.answer, self.asked = answer, threading.Event()

    def run(self, text: str, settings: object) -> list[dict[str, Any]]:
        assert text == "EXPLAIN transient_1;"
        self.asked.set()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_push_query_without_rows_says_what_the_server_warns_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet, "QUIET_S", 0.0)
    stream = Quiet(Frames(HEADER), Client([{"warnings": [{"message": WARNING}]}]))  # type: ignore[arg-type]
    seen = stream.read(0)
    while len(seen or ()) < 2:
        seen = [*(seen or ()), *(stream.read(0) or ())]
    assert seen == [HEADER, {"note": WARNING}]
    assert stream.read(0) == []
    stream.close()


@pytest.mark.parametrize(
    "answer", [[{"warnings": []}], ServerError({"error_code": 40001, "message": "unknown"})]
)
def test_it_says_nothing_where_the_server_knows_none(
    monkeypatch: pytest.MonkeyPatch, answer: list[dict[str, Any]] | Exception
) -> None:
    monkeypatch.setattr(quiet, "QUIET_S", 0.0)
    client = Client(answer)
    stream = Quiet(Frames(HEADER), client)  # type: ignore[arg-type]
    assert stream.read(0) == [HEADER]
    assert client.asked.wait(60) and stream.read(0) == []


def test_with_rows_nobody_asks() -> None:
    client = Client([])
    stream = Quiet(Frames(HEADER, ROW), client)  # type: ignore[arg-type]
    assert stream.read(0) == [HEADER, ROW]
    stream.close()
    assert not client.asked.is_set()


def graph(state: str, left: int | None) -> dict[str, Any]:
    return {
        "nodes": [
            {"id": "topic:counts", "kind": "TOPIC", "name": "counts"},
            {"id": "table:COUNTS", "kind": "TABLE", "name": "COUNTS", "topic": "counts"},
            {"id": "query:Q", "kind": "QUERY", "name": "Q", "state": state, "figures": {"lagRecords": left}},
        ],
        "edges": [
            {"source": "topic:counts", "target": "table:COUNTS"},
            {"source": "query:Q", "target": "topic:counts"},
        ],
    }


@pytest.mark.parametrize(
    ("state", "left", "said"),
    [
        ("REGISTERED", None, "is starting."),
        ("RUNNING", None, "has just started."),
        ("RUNNING", 1200, "has 1,200 records left to read."),
        ("RUNNING", 1, "has 1 record left to read."),
        ("ERROR", 0, "is ERROR. EXPLAIN Q; says why."),
        ("PAUSED", 0, "is PAUSED. RESUME Q; goes on."),
    ],
)
def test_a_pull_query_without_rows_says_what_its_writer_does(state: str, left: int | None, said: str) -> None:
    why = why_empty(graph(state, left), {"COUNTS"})
    assert why is not None and why.startswith(f"Q, which writes COUNTS, {said}")


def test_a_table_whose_queries_have_read_all_has_no_rows() -> None:
    assert why_empty(graph("RUNNING", 0), {"COUNTS"}) is None
    assert why_empty(graph("REGISTERED", None), {"OTHER"}) is None
