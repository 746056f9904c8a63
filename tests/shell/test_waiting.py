"""--wait: until queries have read what their topics have when the script ends."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest

from ksql_spark.shell import waiting
from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.main import main
from ksql_spark.shell.output.console import Console
from tests.server.fake_engine import FakeEngine
from tests.server.live_server import LiveServer


def query(name: str, writes: list[str], kind: str = "PERSISTENT") -> dict[str, Any]:
    """A row of SHOW QUERIES; a query has the name of its sink."""
    return {"id": name, "sinks": [name], "sinkKafkaTopics": writes, "queryType": kind}


class Batch:
    """A server of a script that has made a stream of a lake, a query and a sink."""

    def __init__(self, **answers: dict[str, Any]) -> None:
        self.ran: list[str] = []
        self.looks = {"lake": 0, "sink": 0}
        self.answers = answers

    def run(self, text: str) -> list[dict[str, Any]]:
        has = "begun" in self.answers
        match text.split()[0:2]:
            case ["SHOW", "STREAMS;"]:
                names = ["OLD", "LAKE"] if has else ["OLD"]
                sinks = [{"name": n} for n in (["OLD", "NEW"] if has else ["OLD"])]
                return [{"streams": [{"name": n} for n in names]}, {"tables": []}, {"sinks": sinks}]
            case ["SHOW", "QUERIES;"]:
                ids = ["Q_OLD", "Q_NEW"] if has else ["Q_OLD"]
                return [{"queries": [query(i, []) for i in ids]}]
            case ["DESCRIBE", "SINK"]:
                self.looks["sink"] += 1
                sink = {"state": "RUNNING", "reason": None, **self.answers.get("sink", {})}
                place = {"partition": 0, "offset": self.looks["sink"], "end": 2 + self.looks["sink"]}
                return [{"sink": sink, "positions": [place] if self.looks["sink"] > 1 else []}]
            case ["DESCRIBE", "`LAKE`;"]:
                self.looks["lake"] += 1
                refreshed = 7 if self.looks["lake"] > 1 else None
                origin = {"state": "WAITING", "lastRefreshMs": refreshed, "written": 0, "reason": "gone"}
                return [{"sourceDescription": {"origin": {**origin, **self.answers.get("lake", {})}}}]
            case ["DESCRIBE", sink]:
                self.ran.append(f"waited for {sink}")
                return [{"sourceDescription": {"writeQueries": [], "queryOffsetSummaries": []}}]
        self.ran.append(text)
        return []


def finish(server: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LOOK_S", 0.0)
    before = waiting.Running.of(cast(Client, server))
    server.answers["begun"] = {}
    waiting.finish_batch(cast(Client, server), Console(io.StringIO(), tty=False), before)


def test_a_batch_ends_what_it_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Batch()
    finish(server, monkeypatch)
    assert server.looks == {"lake": 2, "sink": 4}  # the sink's end is that of the first look that has one
    assert list(dict.fromkeys(server.ran)) == ["waited for `Q_NEW`", "DROP SINK `NEW`;", "TERMINATE `Q_NEW`;"]


def test_a_batch_that_fails_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for answers, says in (
        ({"lake": {"state": "ERROR", "lastRefreshMs": None}}, "LAKE cannot be read: gone"),
        ({"sink": {"state": "ERROR", "reason": "no room"}}, "The sink NEW has failed: no room"),
    ):
        server = Batch(**answers)
        with pytest.raises(ClientError, match=says):
            finish(server, monkeypatch)
        assert not [text for text in server.ran if "waited" not in text]


#: query -> the topics that it reads, internal ones last, and the one that it writes
QUERIES = {"A": (["in"], "a"), "B": (["a"], "b")}


class Server:
    """Queries that read a record between two looks at them, and write one to what follows them."""

    def __init__(
        self, queries: dict[str, tuple[list[str], str]] = QUERIES, goes_on: bool = False, **states: str
    ) -> None:
        self.queries, self.goes_on = queries, goes_on
        self.states = dict.fromkeys(queries, "RUNNING") | states
        self.end = {"in": 3}
        self.read = {(name, topic): 0 for name, (topics, _) in queries.items() for topic in topics}
        self.asked: list[str] = []

    def run(self, text: str) -> list[dict[str, Any]]:
        if text == "SHOW QUERIES;":
            rows = [query(name, [writes]) for name, (_, writes) in self.queries.items()]
            return [{"queries": [*rows, query("push", [], "PUSH")]}]
        sink = text.split("`")[1]
        self.asked.append(sink)
        groups = [self._group(name) for name in self.queries]
        if self.states[sink] == "RUNNING":
            self._work(sink)
        writers = [{"id": sink, "state": self.states[sink]}]
        return [{"sourceDescription": {"writeQueries": writers, "queryOffsetSummaries": groups}}]

    def _work(self, name: str) -> None:
        topics, sink = self.queries[name]
        for topic, writes in zip(topics, [*topics[1:], sink], strict=True):
            if self.read[name, topic] < self.end.get(topic, 0):
                self.read[name, topic] += 1
                self.end[writes] = self.end.get(writes, 0) + 1
        self.end["in"] += self.goes_on

    def _group(self, name: str) -> dict[str, Any]:
        topics = [
            {"kafkaTopic": topic, "offsets": [self._place(name, topic)]} for topic in self.queries[name][0]
        ]
        return {"groupId": name, "topicSummaries": topics}

    def _place(self, name: str, topic: str) -> dict[str, Any]:
        return {
            "partition": 0,
            "consumerOffset": self.read[name, topic],
            "logEndOffset": self.end.get(topic, 0),
        }

    def left(self) -> int:
        return sum(self.end.get(topic, 0) - at for (_, topic), at in self.read.items())


def wait(server: Server, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    monkeypatch.setattr(waiting, "LOOK_S", 0.0001)
    waiting.wait_for_queries(cast(Client, server), Console(io.StringIO(), tty=False), **options)


@pytest.mark.parametrize(
    "queries",
    [
        QUERIES,
        dict(reversed(QUERIES.items())),
        {"A": (["in", "internal", "internal2"], "a")},
        # X has a second writer, which follows a query that comes after the readers of X
        {"X": (["in"], "x"), "Y": (["x"], "y"), "Z": (["in", "internal"], "z"), "X2": (["z"], "x")},
        {"A": (["in", "b"], "a"), "B": (["in"], "b")},
    ],
)
def test_waits_for_all_that_is_there(
    queries: dict[str, tuple[list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(queries)
    wait(server, monkeypatch)
    assert server.left() == 0


def test_does_not_wait_for_what_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(goes_on=True)
    wait(server, monkeypatch)
    assert 3 <= server.read["A", "in"] < server.end["in"] and server.read["B", "a"] >= 3


def test_queries_that_feed_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server({"A": (["in"], "a"), "B": (["a"], "b"), "C": (["b"], "a")})
    server.end["b"] = 1
    wait(server, monkeypatch)
    assert server.read["A", "in"] == 3


def test_does_not_wait_for_a_paused_query(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(A="PAUSED")
    wait(server, monkeypatch)
    assert server.read["A", "in"] == 0


def test_a_query_that_fails_or_is_slow_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClientError, match="The query B has failed"):
        wait(Server(B="ERROR"), monkeypatch)
    with pytest.raises(ClientError, match="The query that writes A did not read its topics"):
        wait(Server(goes_on=True), monkeypatch, timeout_s=-1.0)


def test_scripts_wait_after_their_last_statement(
    server: LiveServer, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        waiting, "wait_for_queries", lambda client, console: asked.append(len(engine.requests))
    )
    assert main([server.url, "-e", "SHOW STREAMS; SHOW TABLES;", "--wait"]) == 0
    assert main([server.url, "-e", "DESCRIBE NOWHERE;", "--wait"]) == 1
    assert asked == [2]


class Described:
    """A server with a table whose query reads on at each look."""

    def __init__(self) -> None:
        self.ends = iter([1500, 1, 0])

    def run(self, text: str) -> list[dict[str, Any]]:
        assert text == "DESCRIBE `counts` EXTENDED;"
        if (end := next(self.ends, None)) is None:
            raise ClientError("gone")
        offsets = [{"consumerOffset": 5, "logEndOffset": 5 + end}, {"consumerOffset": 5, "logEndOffset": 4}]
        return [{"sourceDescription": {"queryOffsetSummaries": [{"topicSummaries": [{"offsets": offsets}]}]}}]


def test_how_much_a_query_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LOOK_S", 0.0)
    text = waiting.Remaining(cast(Client, Described()), "counts")
    assert text() == "waiting for counts: 1,500 records left"
    assert text() == "waiting for counts: 1 record left"
    assert [text(), text()] == ["running", "running"]
