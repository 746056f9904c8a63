"""A member of a group that shares slots, on the client's own mock; test_servers.py has a real cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import pytest
from confluent_kafka import Producer

from ksql_spark.kafka import membership
from ksql_spark.kafka.membership import Member, Membership, Mode, Note, members, notes
from tests.waiting import until

TIMEOUT_S = 60.0
SLOTS = 4


class MockAdmin:
    """Of a mock cluster."""

    def __init__(self, servers: str) -> None:
        self.servers, self.settings = servers, dict[str, Any]()


class Holder:
    """Notes what it is told; ``has`` are the slots for which work may be going on."""

    def __init__(self) -> None:
        self.has: set[int] = set()
        self.told: list[str] = []
        self.confirmations = 0
        self.noted_slots: set[int] = set()

    def gained(self, slots: frozenset[int]) -> None:
        self.has |= slots

    def release(self, slots: frozenset[int]) -> None:
        self.has -= slots

    def lost(self, slots: frozenset[int]) -> None:
        self.told.append("lost")
        self.has -= slots

    def stamp(self) -> float:
        return time.monotonic()

    def confirmed(self, stamp: Any, seconds: float) -> None:
        self.confirmations += 1

    def forget(self, group: str, instance: str) -> bool:
        return True  # the mock has no such request

    def note(self, slot: int) -> Mapping[str, Any]:
        return {"slot": slot}

    def noted(self, notes: Mapping[int, Mapping[str, Any]]) -> None:
        self.noted_slots |= notes.keys()


@pytest.fixture
def admin() -> Iterator[MockAdmin]:
    cluster = Producer(
        {
            "test.mock.num.brokers": 1,
            "test.mock.broker.rtt": 0,
            "bootstrap.servers": "mock",
            "log_level": 0,
        }
    )
    (broker,) = cluster.list_topics(timeout=TIMEOUT_S).brokers.values()
    for slot in range(SLOTS):
        cluster.produce("slots", b"", partition=slot)
    cluster.produce("idle", b"")
    cluster.flush(TIMEOUT_S)
    yield MockAdmin(f"{broker.host}:{broker.port}")


@pytest.fixture
def join(admin: MockAdmin) -> Iterator[Callable[[str], tuple[Membership, Holder]]]:
    made: list[Membership] = []

    def joined(name: str) -> tuple[Membership, Holder]:
        holder = Holder()
        made.append(
            Membership(cast(Any, admin), "group", "slots", "idle", f"{name}:8088", name, holder, SLOTS)
        )
        made[-1].join()
        return made[-1], holder

    yield joined
    for member in made:
        member.close()


Join = Callable[[str], tuple[Membership, Holder]]


def test_who_is_alone_has_all_slots(join: Join) -> None:
    member, holder = join("a")
    until(lambda: holder.has == set(range(SLOTS)))
    assert all(member.owns(slot) for slot in range(SLOTS))
    until(lambda: holder.confirmations > 3)
    assert holder.noted_slots == member.slots == set(range(SLOTS))
    member.close()
    assert not holder.has and "lost" not in holder.told


def test_what_is_not_confirmed_is_given_up_until_it_is(join: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    member, holder = join("a")
    until(lambda: len(holder.has) == SLOTS)
    until(lambda: holder.confirmations > 1)
    monkeypatch.setattr(membership, "VALID_S", 0.0)  # each confirmation comes too late
    until(lambda: "lost" in holder.told and not holder.has)
    monkeypatch.setattr(membership, "VALID_S", 5.0)
    until(lambda: holder.has == set(range(SLOTS)) and member.owns(0))


def test_notes_of_owners() -> None:
    class Admin:
        def commit_notes(self, group: str, topic: str) -> dict[int, str]:
            good = {"host": "h:1", "server": "s", "told": {"CSAS_A_1": "ERROR"}}
            return {
                0: json.dumps(good),
                1: "garbage{",
                2: "[]",
                3: json.dumps({"host": "h:1", "server": "s"}),
            }

    found = notes(cast(Any, Admin()), "group", "slots")
    assert found == {0: Note("h:1", "s", {"CSAS_A_1": "ERROR"}), 3: Note("h:1", "s")}


def test_who_is_drained_has_no_slots_until_it_serves_again(join: Join) -> None:
    member, holder = join("a")
    until(lambda: holder.has == set(range(SLOTS)))
    assert member.drain(TIMEOUT_S)
    assert not holder.has and "lost" not in holder.told and member.mode is Mode.DRAINED
    member.serve()
    until(lambda: holder.has == set(range(SLOTS)))


def test_members_by_what_kafka_says_of_them() -> None:
    assigned = [
        ("ksql-spark h:1 s1 node 7", [("slots", 0), ("slots", 1)]),
        ("rdkafka", [("slots", 2)]),
        ("ksql-spark h:2 s2 node 8", [("idle", 0)]),
    ]
    assert members(assigned, "slots") == {"s1": Member("h:1", 2), "s2": Member("h:2", 0)}
