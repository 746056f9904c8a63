"""--wait: until queries have read what their topics have when the script ends."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest
from fake_engine import FakeEngine
from live_server import LiveServer

from ksql_spark.shell import waiting
from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.main import main
from ksql_spark.shell.output.console import Console


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
                return [{"queries": [{"id": i, "sinks": [i], "queryType": "PERSISTENT"} for i in ids]}]
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
    assert server.ran == ["waited for `Q_NEW`", "DROP SINK `NEW`;", "TERMINATE `Q_NEW`;"]


def test_a_batch_that_fails_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for answers, says in (
        ({"lake": {"state": "ERROR", "lastRefreshMs": None}}, "LAKE cannot be read: gone"),
        ({"sink": {"state": "ERROR", "reason": "no room"}}, "The sink NEW has failed: no room"),
    ):
        server = Batch(**answers)
        with pytest.raises(ClientError, match=says):
            finish(server, monkeypatch)
        assert not [text for text in server.ran if "waited" not in text]


class Server:
    """Two queries, one after the other, which read a record between two looks at them."""

    def __init__(self, **states: str) -> None:
        self.states = {"A": "RUNNING", "B": "RUNNING"} | states
        self.read, self.end = {"A": 0, "B": 0}, {"A": 3, "B": 0}
        self.asked: list[str] = []

    def run(self, text: str) -> list[dict[str, Any]]:
        if text == "SHOW QUERIES;":
            queries = [{"sinks": [name], "queryType": "PERSISTENT"} for name in self.read]
            return [{"queries": [*queries, {"sinks": [], "queryType": "PUSH"}]}]
        sink = text.split("`")[1]
        self.asked.append(sink)
        groups = [self._group(name) for name in self.read]
        if self.read[sink] < self.end[sink]:
            self.read[sink] += 1
            self.end["A"] += 1  # input goes on
            self.end["B"] += sink == "A"
        queries = [{"id": f"Q_{sink}", "state": self.states[sink]}]
        return [{"sourceDescription": {"writeQueries": queries, "queryOffsetSummaries": groups}}]

    def _group(self, name: str) -> dict[str, Any]:
        place = {"partition": 0, "consumerOffset": self.read[name], "logEndOffset": self.end[name]}
        return {"groupId": f"Q_{name}", "topicSummaries": [{"kafkaTopic": name, "offsets": [place]}]}


def wait(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LOOK_S", 0.0)
    waiting.wait_for_queries(cast(Client, server), Console(io.StringIO(), tty=False))


def test_waits_for_what_is_there_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    wait(server, monkeypatch)
    # A has read the 3 records of the start, and one more; what it has written by then is B's input
    assert server.asked == [*"AAAA", *"BBBBB"]
    assert server.read["A"] < server.end["A"] and server.read["B"] == server.end["B"]


def test_does_not_wait_for_a_paused_query(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(A="PAUSED")
    wait(server, monkeypatch)
    assert server.asked[0] == "A" and server.asked.count("A") == 1


def test_a_query_that_fails_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClientError, match="The query Q_B has failed"):
        wait(Server(B="ERROR"), monkeypatch)


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
