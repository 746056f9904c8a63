"""Which slots queries have, and servers that move queries to each other, on Kafka's client's own mock."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from ksql_spark.errors import KsqlError
from ksql_spark.kafka import membership
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.membership import Note
from ksql_spark.runtime.cluster import placement
from ksql_spark.runtime.cluster import rebalancing as moves
from ksql_spark.runtime.cluster.placement import SLOTS, Placement, Slots
from ksql_spark.runtime.command_log import command_topic
from ksql_spark.spark import jvm
from tests.log_records import logged_error
from tests.waiting import until

TIMEOUT_S = 60.0


def test_queries_spread_over_slots() -> None:
    slots = Slots()
    for n in range(SLOTS):
        slots.add(f"q{n}")
    assert {slots.of(f"q{n}") for n in range(SLOTS)} == set(range(SLOTS))
    # servers have neighbouring slots: two queries are not both in the same half
    assert sorted((slots.of(f"q{n}") or 0) * 2 // SLOTS for n in range(2)) == [0, 1]
    slots.add("more")
    slots.remove("q3")
    free = slots.of("q3")
    assert free is None
    slots.add("again")
    assert slots.of("again") not in {slots.of(f"q{n}") for n in range(SLOTS)}


def test_all_servers_come_to_the_same_slots() -> None:
    first, second = Slots(), Slots()
    for slots in (first, second):
        for name in ("a", "b", "c"):
            slots.add(name)
        slots.remove("b")
        slots.add("a")  # it keeps its own
        slots.add("d")
    assert [first.of(n) for n in "abcd"] == [second.of(n) for n in "abcd"]
    assert first.of("missing") is None


def test_a_new_version_has_the_place_of_the_version_beside_which_it_runs() -> None:
    slots = Slots()
    for name in ("a", "b"):
        slots.add(name)
    slots.add("new a", "a")
    assert slots.place("new a") == slots.place("a") == "a"
    slots.add("c")
    assert len({slots.of(place) for place in slots.places().values()}) == 3
    before = slots.of("a")
    assert slots.remove("a") is None  # the swap
    assert slots.place("new a") == "a" and slots.of("a") == before
    slots.add("newer a", "new a")
    assert slots.remove("new a") is None and slots.remove("newer a") == "a"
    assert slots.of("a") is None and slots.remove("a") is None
    slots.add("beside nothing", "a")
    assert slots.place("beside nothing") == "beside nothing"


class Running:
    """What runs on all servers, and how many records each query has had; checks that nothing runs twice."""

    def __init__(self) -> None:
        self.on: dict[str, str] = {}
        self.rates: dict[str, int] = {}
        self.twice: list[str] = []
        self.lock = threading.Lock()

    def of(self, server: str) -> set[str]:
        with self.lock:
            return {query for query, where in self.on.items() if where == server}


class Runner:
    """Queries of one server, without Spark."""

    def __init__(self, name: str, running: Running, queries: Sequence[str]) -> None:
        self.name, self._running, self._queries = name, running, queries

    def take(self, owns: Callable[[str], bool]) -> None:
        with self._running.lock:
            for query in filter(owns, self._queries):
                if self._running.on.setdefault(query, self.name) != self.name:
                    self._running.twice.append(query)

    def stop_unowned(self, owns: Callable[[str], bool], *, at_once: bool) -> None:
        for query in self._queries:
            if not owns(query):
                with self._running.lock:
                    if self._running.on.get(query) == self.name:
                        del self._running.on[query]

    def not_running(self, owns: Callable[[str], bool]) -> Mapping[str, str]:
        return {}

    def records(self) -> Mapping[str, int]:
        now = time.monotonic()
        mine = self._running.of(self.name)
        return {query: int(now * self._running.rates.get(query, 0)) for query in mine}


def no_session() -> Any:
    raise KsqlError("SPARK_RESTARTING")


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a mock cluster; everything goes faster."""
    for name, value in {
        "LOOK_EVERY_S": 0.05,
        "MEASURE_EVERY_S": 0.1,
        "_ORDER": list(range(4)),
        "SLOTS": 4,
    }.items():
        monkeypatch.setattr(placement, name, value)
    monkeypatch.setattr(moves, "SMOOTHING_S", 0.2)
    monkeypatch.setattr(membership, "CONFIRM_EVERY_S", 0.1)
    monkeypatch.setattr(membership, "LOOK_EVERY_S", 0.1)
    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
    (broker,) = cluster.list_topics(timeout=TIMEOUT_S).brokers.values()
    for slot in range(4):  # the mock's topics have as many partitions
        cluster.produce(placement.placement_topic("x_"), b"", partition=slot)
    cluster.flush(TIMEOUT_S)
    cluster.list_topics(command_topic("x_"), timeout=TIMEOUT_S)  # creates it
    yield f"{broker.host}:{broker.port}"


def notes(servers: str) -> list[str]:
    """Those of the four slots."""
    group = placement.placement_group("x_")
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "log_level": 0})
    topic = placement.placement_topic("x_")
    try:
        found = consumer.committed([TopicPartition(topic, slot) for slot in range(4)], timeout=TIMEOUT_S)
        return [place.metadata or "" for place in found]
    finally:
        consumer.close()


def test_a_busy_server_lets_another_one_have_a_query(servers: str) -> None:
    running, queries = Running(), [f"q{n}" for n in range(4)]
    placed = {
        name: Placement(KafkaAdmin(servers), "x_", f"{name}:8088", name, no_session, dict, 0.5)
        for name in ("a", "b")
    }
    try:
        for name, one in placed.items():
            for query in queries:
                one.slots.add(query)
            one.join(Runner(name, running, queries))
        until(lambda: len(running.of("a")) == len(running.of("b")) == 2)
        busy = running.of("a")
        running.rates = dict.fromkeys(busy, 10_000)
        until(lambda: len(busy & running.of("b")) == 1 and len(running.on) == 4)
        (moved,) = busy & running.of("b")
        known = {slot: json.loads(text) for slot, text in enumerate(notes(servers))}
        hosts = {slot: Note(one["host"], one["server"]) for slot, one in known.items()}
        for one in placed.values():  # both know it
            until(lambda one=one: one.state_of(moved, hosts)[1] == "b:8088")
        # its server goes: whoever gets the slots gets what was moved there, too
        placed["b"].close()
        until(lambda: running.of("a") == set(queries))
        # the note outlives the servers
        placed["a"].close()
        assert running.on == {} and running.twice == []
        assert moved in " ".join(notes(servers))
    finally:
        for one in placed.values():
            one.close()


def test_versions_of_a_table_move_together(servers: str) -> None:
    running, queries = Running(), ["q0", "q1", "q2", "q3", "new q0"]
    placed = {
        name: Placement(KafkaAdmin(servers), "x_", f"{name}:8088", name, no_session, dict, 0.5)
        for name in ("a", "b")
    }
    try:
        for name, one in placed.items():
            for query in queries:
                one.slots.add(query, "q0" if query == "new q0" else None)
            one.join(Runner(name, running, queries))
        both = {"q0", "new q0"}
        until(lambda: len(running.on) == 5 and min(len(running.of("a")), len(running.of("b"))) == 2)
        (of,) = (name for name in placed if both <= running.of(name))
        (other,) = placed.keys() - {of}
        # either alone would leave its server with most of the load
        running.rates = {query: 10_000 if query in both else 30_000 for query in running.of(of)}
        until(lambda: both <= running.of(other))
        # the swap ends the old version, and with what has moved the new one stays there
        for one in placed.values():
            one.remove("q0")
        assert placed[other].owns("new q0") and not placed[of].owns("new q0")
        placed[of].close()
        until(lambda: {"q1", "q2", "q3", "new q0"} <= running.of(other))
        assert running.twice == []
    finally:
        for one in placed.values():
            one.close()


def test_servers_tell_each_other_of_their_queries(servers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tells of the queries in its slots, as long as that is short."""
    running, queries = Running(), [f"q{n}" for n in range(4)]
    placed = {
        name: Placement(KafkaAdmin(servers), "x_", f"{name}:8088", name, no_session, dict)
        for name in ("a", "b")
    }
    figures: dict[str, dict[str, Any]] = {name: {query: [name] for query in queries} for name in placed}

    def known(self: Placement) -> dict[int, Note]:
        texts = {slot: json.loads(text) for slot, text in enumerate(notes(servers)) if text}
        return {slot: Note(one["host"], one["server"], one.get("told", {})) for slot, one in texts.items()}

    monkeypatch.setattr(Placement, "notes", known)
    try:
        for name, one in placed.items():
            for query in queries:
                one.slots.add(query)
            one.join(Runner(name, running, queries), dict, lambda name=name: figures[name])
        until(lambda: len(running.of("a")) == len(running.of("b")) == 2)
        for name, other in (("a", "b"), ("b", "a")):
            expected = {query: [other] for query in running.of(other)}
            until(lambda: placed[name].figures_of_others() == expected)  # noqa: B023
        figures["b"] = dict.fromkeys(queries, "x" * 5000)
        until(lambda: placed["a"].figures_of_others() == {})
        assert running.of("b") and running.twice == []
    finally:
        for one in placed.values():
            one.close()


def test_a_server_that_is_behind_takes_nothing(servers: str) -> None:
    """The owner may have executed commands that the next one has not read: one that replaced a query."""
    running, queries = Running(), [f"q{n}" for n in range(4)]
    executed = {"a": 0, "b": 0}
    placed = {
        name: Placement(
            KafkaAdmin(servers),
            "x_",
            f"{name}:8088",
            name,
            no_session,
            dict,
            executed=lambda name=name: executed[name],
        )
        for name in executed
    }
    try:
        for name, one in placed.items():
            for query in queries:
                one.slots.add(query)
            one.join(Runner(name, running, queries))
        until(lambda: len(running.of("a")) == len(running.of("b")) == 2)
        at_b = running.of("b")
        command = Producer({"bootstrap.servers": servers, "log_level": 0})
        command.produce(command_topic("x_"), b"", partition=0)
        assert command.flush(TIMEOUT_S) == 0
        executed["a"] = 1
        placed["a"].close()
        until(lambda: all(json.loads(text)["server"] == "b" for text in notes(servers)))
        placed["b"].take_soon()
        placed["b"]._pool.submit(lambda: None).result(TIMEOUT_S)  # after it
        assert running.of("b") <= at_b
        executed["b"] = 1
        until(lambda: running.of("b") == set(queries))
        assert running.twice == []
    finally:
        for one in placed.values():
            one.close()


def test_a_query_that_has_gone_and_come_back_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if that happens between two looks, and its server was behind when it came."""
    executed = [0]
    one = Placement(
        KafkaAdmin("localhost:1"), "x_", "a:8088", "a", no_session, dict, executed=lambda: executed[0]
    )
    one.slots.add("q")
    slot = one.slots.of("q")
    assert slot is not None
    there = SimpleNamespace(slots=frozenset([slot]), owns=lambda slot: True)
    monkeypatch.setattr(one, "_membership", there)
    taken: list[str] = []
    monkeypatch.setattr(one, "take_soon", lambda: taken.append("q") if one.owns("q") else None)
    one._where.read(slot, {}, 0)
    for _ in range(2):
        one._see({}, 0)
    assert taken == ["q"]
    one.gained(frozenset([slot]))
    one._where.read(slot, {}, 1)
    one.take_soon()
    executed[0] = 1
    for _ in range(2):
        one._see({}, 1)
    assert taken == ["q", "q"]


def test_a_fault_in_leaving_the_group_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one = Placement(KafkaAdmin("localhost:1"), "x_", "a:8088", "a", no_session, dict)
    assert not one.forget("group", "a")
    (record,) = caplog.records
    assert record.levelname == "WARNING" and "Spark" in record.getMessage() and record.exc_info is None
    caplog.clear()

    def faulty(*_: object) -> None:
        raise TypeError("'JavaObject' object is not callable")

    monkeypatch.setattr(one, "_session", lambda: None)
    monkeypatch.setattr(jvm, "remove_member", faulty)
    assert not one.forget("group", "a")
    (record,) = caplog.records
    assert record.levelname == "ERROR" and "not callable" in logged_error(record)
