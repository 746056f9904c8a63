"""Which queries have moved between slots, and which one moves next.

The command log determines a query's first slot (placement.py). The owner of a slot may move a query to
another slot: it stops the query, then records in the slot's note where the query went and the number of the
move. The notes, followed by rising numbers, lead to the query. Kafka accepts a slot's note from its owner
only, and a new owner reads the note before it does anything. So one server decides each move, and a query
is in one slot at a time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ksql_spark.kafka.membership import Note

#: a query is moved only if the busier of two servers has this much less to do then, as a share of its load
LEAST_GAIN = 0.2
#: what a query costs that has nothing to do, in records a second: it polls, and makes its checkpoints
IDLE_COST = 100.0
#: over which time costs are averaged, seconds
SMOOTHING_S = 60.0
#: so many queries may have gone from a slot: its note is small
MAX_DEPARTED = 10
#: and so long may what the note says of them be, characters
MAX_TEXT = 1500


class Gone(NamedTuple):
    """A query is not in a slot any more.

    Args:
        to: the slot that it was moved to.
        number: the how manyeth move of the query this was.
    """

    to: int
    number: int


Register = Mapping[str, Gone]
"""Of a slot: the queries that have left it."""


def parse_register(told: Mapping[str, Any]) -> dict[str, Gone]:
    """What a slot's note says of queries that have left it."""
    found = {}
    gone = told.get("gone")
    for query, one in gone.items() if isinstance(gone, dict) else ():
        if isinstance(one, list) and len(one) == 2 and all(type(n) is int for n in one):
            found[query] = Gone(*one)
    return found


class Whereabouts:
    """In which slots queries are, as far as this server knows. Thread-safe."""

    def __init__(self) -> None:
        #: of the slots that this server has, as Kafka has them; what is missing was not read yet
        self._own: dict[int, dict[str, Gone]] = {}
        #: slot -> queries that leave it, and that Kafka has not been told of for sure: they are nowhere
        self._leaving: dict[int, dict[str, Gone]] = {}
        #: of other slots, as they were a moment ago
        self._others: Mapping[int, Register] = {}
        self._lock = threading.Lock()

    def knows(self, slot: int) -> bool:
        """Whether the note of a slot that this server has got was read."""
        return slot in self._own

    def read(self, slot: int, register: Register) -> None:
        """The note of a slot that this server has got."""
        with self._lock:
            self._own.setdefault(slot, dict(register))

    def keep(self, slots: Iterable[int]) -> None:
        """This server has none but these slots."""
        with self._lock:
            gone = self._own.keys() - set(slots)
        self.forget(gone)

    def forget(self, slots: Iterable[int]) -> None:
        """This server does not have these slots any more, or has them anew."""
        with self._lock:
            for slot in slots:
                self._own.pop(slot, None)
                self._leaving.pop(slot, None)

    def look(self, notes: Mapping[int, Note]) -> None:
        """What the owners of slots say now."""
        self._others = {slot: parse_register(note.told) for slot, note in notes.items()}

    def register(self, slot: int) -> dict[str, Gone]:
        """What this server has to say of a slot that it has."""
        with self._lock:
            return self._own.get(slot, {}) | self._leaving.get(slot, {})

    def written(self, slot: int, register: Register) -> None:
        """Kafka has been told of a slot."""
        with self._lock:
            if slot in self._own:
                leaving = self._leaving.get(slot, {})
                for query in [query for query, gone in leaving.items() if register.get(query) == gone]:
                    self._own[slot][query] = leaving.pop(query)

    def is_leaving(self, query: str) -> bool:
        """Whether a query is on its way, so that nobody may run it."""
        with self._lock:
            return any(query in leaving for leaving in self._leaving.values())

    def has_room(self, slot: int, query: str) -> bool:
        """Whether one more query may leave a slot."""
        gone = self.register(slot) | {query: Gone(slot, MAX_DEPARTED)}
        return len(gone) <= MAX_DEPARTED and len(json.dumps(gone)) <= MAX_TEXT

    def slot(self, query: str, first: int) -> int:
        """The slot that a query is in; ``first``: the one that the command log gives it."""
        return self._follow(query, first)[0]

    def move(self, query: str, first: int, to: int) -> None:
        """The query, which this server has stopped, leaves the slot that it is in for another one."""
        at, number = self._follow(query, first)
        with self._lock:
            if at in self._own:  # else it was lost meanwhile
                self._leaving.setdefault(at, {})[query] = Gone(to, number + 1)

    def drop(self, query: str) -> None:
        """The query has ended for good."""
        with self._lock:
            for register in (*self._own.values(), *self._leaving.values()):
                register.pop(query, None)

    def _follow(self, query: str, first: int) -> tuple[int, int]:
        """Where a query is, and how often it was moved."""
        with self._lock:
            at, number = first, 0
            while (gone := self._own.get(at, self._others.get(at, {})).get(query)) and gone.number > number:
                at, number = gone
            return at, number


@dataclass
class Costs:
    """What this server's queries cost: records that they read and write in a second, averaged.

    Args:
        of: query -> its cost.
    """

    of: dict[str, float] = field(default_factory=dict)
    _records: dict[str, int] = field(default_factory=dict)
    _at_s: float | None = None
    _since_s: dict[str, float] = field(default_factory=dict)

    def update(self, now_s: float, records: Mapping[str, int]) -> None:
        """Look again.

        Args:
            now_s: on a clock that nobody sets.
            records: query that runs here -> how many records it has read and written so far.
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
            # in the beginning there is no average yet
            seen_s = now_s - self._since_s[query]
            share = max(share, min(1.0, elapsed_s / seen_s)) if seen_s > 0 else 1.0
            costs[query] = self.of.get(query, rate) * (1 - share) + rate * share
        self.of, self._records, self._at_s = costs, dict(records), now_s
        self._since_s = {query: since for query, since in self._since_s.items() if query in records}

    def known_for_s(self, query: str, now_s: float) -> float:
        """For how long a query has been measured."""
        return now_s - self._since_s.get(query, now_s)

    @property
    def total(self) -> float:
        """What all of them cost."""
        return sum(self.of.values())


def next_move(own: str, loads: Mapping[str, float], costs: Mapping[str, float]) -> tuple[str, str] | None:
    """Which query is to be moved from this server, and to which one; None: none.

    Only the server with the most to do moves a query, and only to the one with the least. That gains as much
    as the busier of the two has less to do afterwards, and less than LEAST_GAIN is not worth a stop.

    Args:
        own: this server.
        loads: server -> what its queries cost, this one among them.
        costs: queries of this server that may be moved -> what they cost.
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
