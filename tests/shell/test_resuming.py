"""A push query that loses its server, and goes on where it stopped."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ksql_spark.shell import resuming
from ksql_spark.shell.client import SHUTTING_DOWN, STILL_STARTING, ServerError, Settings, Unreachable
from ksql_spark.shell.resuming import BACK, LOST, Resuming

SOON_S = 60
HEADER = {"header": {"queryId": "q", "schema": "`K` STRING"}}
BROKEN = {"errorMessage": {"error_code": 50000, "message": "The connection to the server broke."}}
STOPPING = {"errorMessage": {"error_code": SHUTTING_DOWN, "message": "The server is shutting down."}}


def row(value: str) -> dict[str, Any]:
    return {"row": {"columns": [value]}}


def token(text: str) -> dict[str, Any]:
    return {"continuationToken": text}


class Stream:
    """As FrameStream: one list of frames for each read, then the end."""

    def __init__(self, *reads: list[dict[str, Any]], is_broken: bool = False) -> None:
        self.reads = list(reads)
        self.is_broken = is_broken
        self.closed = threading.Event()

    def read(self, timeout_s: float) -> list[dict[str, Any]] | None:
        return self.reads.pop(0) if self.reads else None

    def close(self) -> None:
        self.closed.set()


class Client:
    """As Client: what each query returns or raises."""

    def __init__(self, *answers: Stream | Exception) -> None:
        self.answers = list(answers)
        self.after: list[str | None] = []

    def query(self, text: str, settings: Settings, *, resumable: bool, after: str | None = None) -> Stream:
        assert resumable
        self.after.append(after)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "PAUSE_S", 0.0)


def read_all(*answers: Stream | Exception) -> tuple[list[dict[str, Any]], Client]:
    client = Client(*answers)
    stream = Resuming(client, "SELECT k FROM s EMIT CHANGES;", Settings())  # type: ignore[arg-type]
    frames: list[dict[str, Any]] = []
    while (some := stream.read(SOON_S)) is not None:
        frames += some
    stream.close()
    return frames, client


@pytest.mark.parametrize("error", [BROKEN, STOPPING])
def test_a_lost_server(error: dict[str, Any]) -> None:
    first = Stream([HEADER, row("a")], [token("1"), row("b")], [error], is_broken=error is BROKEN)
    second = Stream([HEADER, row("b"), token("2")])
    starting = ServerError({"error_code": STILL_STARTING})
    frames, client = read_all(first, Unreachable("gone"), starting, second)
    assert frames == [HEADER, row("a"), {"note": LOST}, {"note": BACK}, row("b")]
    assert client.after == [None, "1", "1", "1"]
    assert first.closed.is_set() and second.closed.is_set()


def test_it_is_lost_again() -> None:
    streams = [Stream([HEADER, row(str(n)), token(str(n))], [BROKEN], is_broken=True) for n in range(3)]
    frames, client = read_all(*streams, Stream())
    assert [frame for frame in frames if "row" in frame] == [row("0"), row("1"), row("2")]
    assert client.after == [None, "0", "1", "2"]


def test_a_query_without_tokens_ends_with_its_server() -> None:
    frames, _ = read_all(Stream([HEADER, row("a")], [BROKEN], is_broken=True))
    assert frames == [HEADER, row("a"), BROKEN]


def test_other_errors_end_the_query() -> None:
    failed = {"errorMessage": {"error_code": 50000, "message": "The query failed."}}
    frames, client = read_all(Stream([HEADER, row("a"), token("1")], [failed]))
    assert frames == [HEADER, row("a"), failed] and client.after == [None]


def test_a_token_that_the_server_does_not_take() -> None:
    lost = Stream([HEADER, row("a"), token("1")], [BROKEN], is_broken=True)
    refused = ServerError({"error_code": 40000, "message": "The query's topic was recreated."})
    *_, last = read_all(lost, refused)[0]
    message = "The query cannot resume: The query's topic was recreated."
    assert last == {"errorMessage": {"error_code": 40000, "message": message}}


def test_the_user_ends_a_query_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "PAUSE_S", SOON_S)
    lost = Stream([HEADER, row("a"), token("1")], [BROKEN], is_broken=True)
    client = Client(lost)
    stream = Resuming(client, "", Settings())  # type: ignore[arg-type]
    while {"note": LOST} not in (stream.read(0) or []):
        pass
    assert stream.read(0) == []
    stream.close()
    assert client.after == [None]
