"""Tracks which queries have moved between slots, and chooses the next one to move.

The command log determines a query's first slot (placement.py). The owner of a slot may move a query to
another slot: it stops the query, then records in the slot's note where the query went and the number of the
move. Following the notes by rising numbers leads to the query. Kafka accepts a slot's note only from its
owner, and a new owner reads the note before it does anything. So one server decides each move, and a query is
in one slot at a time.

A query's servers before may have executed commands that this server has not read yet, for instance one that
replaced its plan. So whoever receives a slot or a query first executes the commands that are in the log then.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ksql_spark.kafka.membership import Note

#: a query moves only if the busier of the two servers then has this much less load, as a share
LEAST_GAIN = 0.2
#: the cost of an idle query, which polls and makes checkpoints, in records per second
IDLE_COST = 100.0
#: the averaging period for costs, seconds
SMOOTHING_S = 60.0
#: the maximum number of queries that have left a slot, because its note is small
MAX_DEPARTED = 10
#: the maximum length of their part of the note, characters
MAX_TEXT = 1500


class Gone(NamedTuple):
    """A query has left a slot.

    Args:
        to: the slot that it was moved to.
        number: the number of this move of the query.
    """

    to: int
    number: int


Register = Mapping[str, Gone]
"""Of a slot: the queries that have left it."""


def parse_register(content: Mapping[str, Any]) -> dict[str, Gone]:
    """Parse a slot's note: return the queries that have left it, by id."""
    moves = {}
    gone = content.get("gone")
    for query, one in gone.items() if isinstance(gone, dict) else ():
        if isinstance(one, list) and len(one) == 2 and all(type(n) is int for n in one):
            moves[query] = Gone(*one)
    return moves


class Whereabouts:
    """The slots of queries, as far as this server knows. Thread-safe."""

    def __init__(self) -> None:
        #: notes of this server's slots, as stored in Kafka; slots not yet read are missing
        self._own: dict[int, dict[str, Gone]] = {}
        #: slot -> queries that are leaving it, until Kafka has confirmed it: nobody runs them
        self._leaving: dict[int, dict[str, Gone]] = {}
        #: notes of other slots, as of a moment ago
        self._others: Mapping[int, Register] = {}
        #: slot of this server, or query that was moved -> how many commands were in the log when it came
        self._came_at: dict[int | str, int] = {}
        #: how often a slot has been received
        self.received = 0
        self._lock = threading.Lock()

    def knows(self, slot: int) -> bool:
        """Whether the note of a newly received slot has been read."""
        return slot in self._own

    def read(self, slot: int, register: Register, log_end: int) -> None:
        """The note of a newly received slot, and how many commands the log had after it was received."""
        with self._lock:
            if slot not in self._own:
                self._came_at |= dict.fromkeys((slot, *register), log_end)
                self._own[slot] = dict(register)
                self.received += 1

    def commands_before(self, query: str, slot: int) -> int:
        """Return how many commands this server must execute before it runs a query in one of its slots."""
        with self._lock:
            return max(self._came_at.get(slot, 0), self._came_at.get(query, 0))

    def keep(self, slots: Iterable[int]) -> None:
        """Forget all slots except these, which are the only ones that this server has now."""
        with self._lock:
            gone = self._own.keys() - set(slots)
        self.forget(gone)

    def forget(self, slots: Iterable[int]) -> None:
        """Forget slots that this server no longer has, or has received again."""
        with self._lock:
            for slot in slots:
                self._own.pop(slot, None)
                self._leaving.pop(slot, None)
                self._came_at.pop(slot, None)

    def look(self, notes: Mapping[int, Note], log_end: int) -> None:
        """The current notes of the owners of slots, and how many commands the log had after that."""
        others = {slot: parse_register(note.content) for slot, note in notes.items()}
        before = self._others
        moved = [
            query
            for slot, register in others.items()
            for query, gone in register.items()
            if before.get(slot, {}).get(query) != gone
        ]
        with self._lock:
            self._came_at |= dict.fromkeys(moved, log_end)
            self._others = others

    def register(self, slot: int) -> dict[str, Gone]:
        """The note of one of this server's slots."""
        with self._lock:
            return self._own.get(slot, {}) | self._leaving.get(slot, {})

    def written(self, slot: int, register: Register) -> None:
        """Kafka has stored a slot's note."""
        with self._lock:
            if slot in self._own:
                leaving = self._leaving.get(slot, {})
                for query in [query for query, gone in leaving.items() if register.get(query) == gone]:
                    self._own[slot][query] = leaving.pop(query)

    def is_leaving(self, query: str) -> bool:
        """Whether a query is moving, so that nobody may run it."""
        with self._lock:
            return any(query in leaving for leaving in self._leaving.values())

    def has_room(self, slot: int, query: str) -> bool:
        """Whether one more query may leave a slot."""
        gone = self.register(slot) | {query: Gone(slot, MAX_DEPARTED)}
        return len(gone) <= MAX_DEPARTED and len(json.dumps(gone)) <= MAX_TEXT

    def slot(self, query: str, first: int) -> int:
        """The slot of a query; ``first`` is its slot according to the command log."""
        return self._follow(query, first)[0]

    def move(self, query: str, first: int, to: int) -> None:
        """Move a query, which this server has stopped, from its slot to another one."""
        at, number = self._follow(query, first)
        with self._lock:
            if at in self._own:  # otherwise it was lost meanwhile
                self._leaving.setdefault(at, {})[query] = Gone(to, number + 1)

    def drop(self, query: str) -> None:
        """The query has ended for good."""
        with self._lock:
            for register in (*self._own.values(), *self._leaving.values()):
                register.pop(query, None)
            self._came_at.pop(query, None)

    def _follow(self, query: str, first: int) -> tuple[int, int]:
        """The slot of a query, and how often it has moved."""
        with self._lock:
            at, number = first, 0
            while (gone := self._own.get(at, self._others.get(at, {})).get(query)) and gone.number > number:
                at, number = gone
            return at, number


@dataclass
class Costs:
    """The costs of this server's queries: the average number of records that they read and write per second.

    Args:
        of: query -> its cost.
    """

    of: dict[str, float] = field(default_factory=dict)
    _records: dict[str, int] = field(default_factory=dict)
    _at_s: float | None = None
    _since_s: dict[str, float] = field(default_factory=dict)

    def update(self, now_s: float, records: Mapping[str, int]) -> None:
        """Update the averages.

        Args:
            now_s: on a monotonic clock.
            records: local query -> the number of records that it has read and written so far.
        """
        elapsed_s = now_s - self._at_s if self._at_s is not None else 0.0
        costs = {}
        for query, count in records.items():
            before = self._records.get(query)
            self._since_s.setdefault(query, now_s)
            if before is None or elapsed_s <= 0:
                costs[query] = self.of.get(query, IDLE_COST)
                continue
            rate = IDLE_COST + max(0, count - before) / elapsed_s
            share = min(1.0, elapsed_s / SMOOTHING_S)
            # initially there is no average
            seen_s = now_s - self._since_s[query]
            share = max(share, min(1.0, elapsed_s / seen_s)) if seen_s > 0 else 1.0
            costs[query] = self.of.get(query, rate) * (1 - share) + rate * share
        self.of, self._records, self._at_s = costs, dict(records), now_s
        self._since_s = {query: since for query, since in self._since_s.items() if query in records}

    def known_for_s(self, query: str, now_s: float) -> float:
        """Return for how many seconds a query has been measured."""
        return now_s - self._since_s.get(query, now_s)

    @property
    def total(self) -> float:
        """The total cost."""
        return sum(self.of.values())


def next_move(own: str, loads: Mapping[str, float], costs: Mapping[str, float]) -> tuple[str, str] | None:
    """The query to move away from this server, and its target; None: no move.

    Only the busiest server moves a query, and only to the least busy one. The gain is the reduction of the
    busier server's load; a gain below LEAST_GAIN is not worth a stop.

    Args:
        own: this server.
        loads: server -> the cost of its queries, including this server.
        costs: this server's movable queries -> their cost.
    """
    if len(loads) < 2 or max(loads, key=lambda server: (loads[server], server)) != own:
        return None
    least = min(loads, key=lambda server: (loads[server], server))

    def busier(query: str) -> float:
        return max(loads[own] - costs[query], loads[least] + costs[query])

    best = min(costs, key=lambda query: (busier(query), query), default=None)
    if best is None or busier(best) > (1 - LEAST_GAIN) * loads[own]:
        return None
    return best, least


__all__ = ["Costs", "Gone", "Whereabouts", "next_move", "parse_register"]
