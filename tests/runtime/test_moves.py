"""Queries that are moved between servers: where they are, and which is moved next."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import pytest

from ksql_spark.kafka.membership import Note
from ksql_spark.runtime.cluster.rebalancing import (
    IDLE_COST,
    LEAST_GAIN,
    MAX_DEPARTED,
    SMOOTHING_S,
    Costs,
    Gone,
    Whereabouts,
    next_move,
    parse_register,
)

SLOTS = 6
QUERIES = {f"q{n}": n % SLOTS for n in range(8)}


# ---- which query is moved next --------------------------------------------------------------------------


def test_a_busy_server_moves_what_evens_the_loads_most() -> None:
    loads = {"a": 1000.0, "b": 200.0, "c": 600.0}
    assert next_move("a", loads, {"x": 900.0, "y": 400.0, "z": 50.0}) == ("y", "b")
    assert next_move("b", loads, {"x": 200.0}) is None
    assert next_move("c", loads, {"x": 600.0}) is None


@pytest.mark.parametrize(
    ("loads", "costs"),
    [
        ({"a": 1000.0}, {"x": 500.0}),  # there is no other server
        ({"a": 1000.0, "b": 900.0}, {"x": 50.0}),  # nearly even
        ({"a": 1000.0, "b": 100.0}, {"x": 1000.0}),  # one query is all that it has
        ({"a": 1000.0, "b": 100.0}, {}),
        ({"a": 1000.0, "b": 1000.0}, {"x": 500.0}),
        ({"a": 0.0, "b": 0.0}, {}),
    ],
)
def test_what_gains_little_is_not_worth_a_stop(
    loads: Mapping[str, float], costs: Mapping[str, float]
) -> None:
    assert next_move("a", loads, costs) is None


def _settle(placed: dict[str, dict[str, float]]) -> Iterator[tuple[float, float]]:
    """Move queries until none is to be moved; the load of the busier server before and after each move."""
    while True:
        loads = {server: sum(costs.values()) for server, costs in placed.items()}
        moves = {server: next_move(server, loads, costs) for server, costs in placed.items()}
        found = [(server, move) for server, move in moves.items() if move is not None]
        assert len(found) <= 1  # one server at a time
        if not found:
            return
        ((server, (query, to)),) = found
        placed[to][query] = placed[server].pop(query)
        yield loads[server], max(sum(placed[server].values()), sum(placed[to].values()))


@pytest.mark.parametrize("seed", range(100))
def test_moves_end_and_leave_servers_balanced(seed: int) -> None:
    rng = random.Random(seed)
    servers = [f"s{n}" for n in range(rng.randint(2, 6))]
    placed: dict[str, dict[str, float]] = {server: {} for server in servers}
    for n in range(rng.randint(1, 40)):
        placed[rng.choice(servers)][f"q{n}"] = IDLE_COST + rng.choice([0, 1, 10, 100]) * rng.random() * 1000
    for number, (before, after) in enumerate(_settle(placed)):
        assert after <= (1 - LEAST_GAIN) * before
        assert number < 40
    # the bound: the busiest has no query whose move would gain LEAST_GAIN
    loads = {server: sum(costs.values()) for server, costs in placed.items()}
    busiest, least = max(loads.values()), min(loads.values())
    costs = next(costs for server, costs in placed.items() if loads[server] == busiest)
    assert all(max(busiest - c, least + c) > (1 - LEAST_GAIN) * busiest for c in costs.values())
    # and small changes of the costs move nothing back and forth
    assert list(_settle(placed)) == []


def test_costs_are_averaged() -> None:
    costs = Costs()
    costs.update(0.0, {"q": 1000})
    assert costs.of == {"q": IDLE_COST}  # it is not known yet
    costs.update(10.0, {"q": 11_000, "new": 5})
    assert costs.of == {"q": IDLE_COST + 1000, "new": IDLE_COST}
    for second in range(20, 400, 10):
        costs.update(second, {"q": 11_000, "new": 5})
    assert costs.of["q"] < IDLE_COST + 10
    assert costs.known_for_s("q", 390) == 390 and costs.known_for_s("new", 390) == 380
    costs.update(400.0, {"q": 5})  # Spark's process was started again
    assert costs.of["q"] < IDLE_COST + 10 and costs.total == costs.of["q"]
    assert costs.known_for_s("new", 400) == 0


def test_a_short_burst_changes_little() -> None:
    costs = Costs()
    for second in range(0, 600, 10):
        costs.update(second, {"q": 0})
    costs.update(600.0, {"q": 10_000})
    assert costs.of["q"] == pytest.approx(IDLE_COST + 1000 * 10 / SMOOTHING_S)


# ---- where a query is -----------------------------------------------------------------------------------


def test_the_way_of_a_query_is_followed_from_note_to_note() -> None:
    here = Whereabouts()
    here.look(
        {
            0: Note("h", "a", {"gone": {"q": [3, 1]}}),
            3: Note("h", "b", {"gone": {"q": [0, 2]}}),
            1: Note("h", "a", {"gone": {"q": [2, 1], "r": [2, 1]}}),
        },
        0,
    )
    assert here.slot("q", 0) == 0  # it has come back
    assert here.slot("r", 1) == 2
    assert here.slot("other", 3) == 3


@pytest.mark.parametrize(
    "told", [{}, {"gone": 1}, {"gone": {"q": 1}}, {"gone": {"q": ["1", 2]}}, {"gone": None}]
)
def test_notes_that_say_nothing_of_moves(told: Mapping[str, object]) -> None:
    assert parse_register(told) == {}


def test_a_slots_note_has_room_for_few() -> None:
    here = Whereabouts()
    here.read(0, {f"q{n}": Gone(1, 1) for n in range(MAX_DEPARTED)}, 0)
    assert here.has_room(0, "q1") and not here.has_room(0, "more")
    here.drop("q3")
    assert here.has_room(0, "more") and not here.has_room(0, "x" * 2000)


class Kafka:
    """Slots, their owners, their notes, which only the owner may write, and the command log."""

    def __init__(self) -> None:
        self.owners: dict[int, str | None] = dict.fromkeys(range(SLOTS))
        self.notes: dict[int, Note] = {}
        self.log_end = 0


class Server:
    """Does what Placement does, step by step, so that anything may happen between the steps."""

    def __init__(self, name: str, kafka: Kafka) -> None:
        self.name, self._kafka = name, kafka
        self.where = Whereabouts()
        self.runs: set[str] = set()
        #: how many commands it has executed
        self.executed = 0

    def gain(self, slot: int) -> None:
        self._kafka.owners[slot] = self.name
        note = self._kafka.notes.get(slot)
        register = parse_register(note.content) if note is not None else {}
        self.where.read(slot, register, self._kafka.log_end)

    def release(self, slot: int) -> None:
        """What is in the slot is stopped first."""
        self.runs -= {query for query in self.runs if self.where.slot(query, QUERIES[query]) == slot}
        self.where.forget([slot])
        self._kafka.owners[slot] = None

    def crash(self) -> None:
        self.runs.clear()
        self.where = Whereabouts()
        for slot, owner in self._kafka.owners.items():
            if owner == self.name:
                self._kafka.owners[slot] = None

    def look(self) -> None:
        self.where.look(self._kafka.notes, self._kafka.log_end)

    def execute(self) -> None:
        self.executed = min(self._kafka.log_end, self.executed + 1)

    def write(self, slot: int, is_heard: bool = True) -> None:
        """``is_heard``: whether Kafka's answer comes."""
        if self._kafka.owners[slot] == self.name:
            register = self.where.register(slot)
            gone = {query: list(one) for query, one in register.items()}
            self._kafka.notes[slot] = Note("h", self.name, {"gone": gone})
            if is_heard:
                self.where.written(slot, register)

    def take(self) -> None:
        for query, first in QUERIES.items():
            slot = self.where.slot(query, first)
            is_own = self._kafka.owners[slot] == self.name and self.where.knows(slot)
            is_own = is_own and self.executed >= self.where.commands_before(query, slot)
            if is_own and not self.where.is_leaving(query):
                self.runs.add(query)

    def move(self, query: str, to: int) -> None:
        self.runs.discard(query)
        self.where.move(query, QUERIES[query], to)


@pytest.mark.parametrize("seed", range(100))
def test_no_two_servers_ever_have_one_query(seed: int) -> None:
    """And whoever takes a query has executed the commands that its servers before had."""
    rng = random.Random(seed)
    kafka = Kafka()
    servers = [Server(name, kafka) for name in "abc"]
    #: query -> how many commands those that ran it had executed, and of which the query is thus
    followed: dict[str, int] = {}
    for _ in range(400):
        server = rng.choice(servers)
        slot = rng.randrange(SLOTS)
        steps = [
            "gain",
            "release",
            "crash",
            "look",
            "write",
            "take",
            "take",
            "move",
            "log",
            "execute",
            "execute",
        ]
        step = rng.choice(steps)
        if step == "gain" and kafka.owners[slot] is None:
            server.gain(slot)
        elif step == "release" and kafka.owners[slot] == server.name:
            server.release(slot)
        elif step == "crash" and rng.random() < 0.2:
            server.crash()
        elif step == "look":
            server.look()
        elif step == "write":
            server.write(slot, is_heard=rng.random() < 0.8)
        elif step == "take":
            server.take()
        elif step == "move" and server.runs:
            query = rng.choice(sorted(server.runs))
            server.move(query, slot)
        elif step == "log":
            kafka.log_end += 1
        elif step == "execute":
            server.execute()
        for one in servers:
            for query in one.runs:
                followed[query] = max(followed.get(query, 0), one.executed)
                assert one.executed >= followed[query], (step, one.name, query)
        running = [query for one in servers for query in one.runs]
        assert len(running) == len(set(running)), (step, server.name)
    # once all is quiet each query runs, on the server that has its slot
    for slot, owner in kafka.owners.items():
        if owner is None:
            servers[0].gain(slot)
    for server in servers:
        server.executed = kafka.log_end
    for _ in range(3):
        for server in servers:
            for slot in range(SLOTS):
                server.write(slot)
            server.look()
            server.take()
    assert sorted(query for one in servers for query in one.runs) == sorted(QUERIES)
