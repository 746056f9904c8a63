"""The states of a query and the transitions between them: one table, and one place that assigns states."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

log = logging.getLogger(__name__)


class State(StrEnum):
    """The state of a query on this server. SHOW QUERIES shows the value."""

    #: known from the command log, or resumed, but not started yet
    REGISTERED = "REGISTERED"
    RUNNING = "RUNNING"
    #: it has failed, and will be restarted later
    ERROR = "ERROR"
    PAUSED = "PAUSED"
    #: another server runs it
    ELSEWHERE = "ELSEWHERE"
    #: dropped or replaced: final, and shown nowhere
    ENDED = "ENDED"


class Event(StrEnum):
    """An event in the life of a query, which may change its state."""

    #: its Spark queries run; for a running query: others have replaced them
    START = "start"
    #: it did not start, ended unexpectedly, or was stopped for a reported reason
    FAIL = "fail"
    PAUSE = "pause"
    #: it should start again
    RESUME = "resume"
    #: it belongs to another server
    LEAVE = "leave"
    END = "end"


def _transitions() -> Mapping[tuple[State, Event], State]:
    starting = (State.REGISTERED, State.RUNNING, State.ERROR, State.ELSEWHERE)
    alive = (*starting, State.PAUSED)
    sources: dict[Event, tuple[tuple[State, ...], State]] = {
        Event.START: (starting, State.RUNNING),
        Event.FAIL: (starting, State.ERROR),
        Event.PAUSE: (alive, State.PAUSED),
        Event.RESUME: ((State.PAUSED, State.ERROR), State.REGISTERED),
        Event.LEAVE: (starting, State.ELSEWHERE),
        Event.END: (alive, State.ENDED),
    }
    table = {(source, event): target for event, (all_, target) in sources.items() for source in all_}
    table[State.PAUSED, Event.LEAVE] = State.PAUSED  # it stays paused, whoever runs it
    return MappingProxyType(table)


#: state and event -> the next state; all other pairs are refused
TRANSITIONS = _transitions()


class TransitionRefused(Exception):
    """An event that is not allowed in a query's state, for instance because the query was paused or dropped
    meanwhile.

    Args:
        query_id: of the query.
        state: of the query.
        event: the refused event.
    """

    def __init__(self, query_id: str, state: State, event: Event) -> None:
        super().__init__(f"query {query_id} is {state}: {event} is refused")
        self.state = state
        self.event = event


class Transition(NamedTuple):
    """A change of a query's state: epoch ms, the event, the state after it, and why it failed."""

    time_ms: int
    event: Event
    state: State
    reason: str


#: how many transitions of a query are kept
MOST_TRANSITIONS = 50


class Lifecycle:
    """The state of one query. Thread-safe.

    Args:
        query_id: of the query, for the log.
        level: at which transitions are logged.
    """

    def __init__(self, query_id: str, level: int = logging.INFO) -> None:
        self._query_id = query_id
        self._level = level
        self._lock = threading.Lock()
        self._state = State.REGISTERED
        self._transitions: tuple[Transition, ...] = ()

    @property
    def state(self) -> State:
        """The current state."""
        return self._state

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The latest transitions, the oldest first."""
        return self._transitions

    def apply(self, event: Event, reason: str = "") -> State:
        """Apply an event.

        Args:
            event: what happens.
            reason: why, for those who look at the transitions later.

        Returns:
            the state before.

        Raises:
            TransitionRefused: the event is not allowed; nothing has changed.
        """
        with self._lock:
            before = self._state
            after = TRANSITIONS.get((before, event))
            if after is None:
                raise TransitionRefused(self._query_id, before, event)
            self._state = after
            transition = Transition(int(time.time() * 1000), event, after, reason)
            self._transitions = (*self._transitions[1 - MOST_TRANSITIONS :], transition)
        if after is not before:
            extra = {"query": self._query_id}
            log.log(self._level, "query %s: %s -> %s (%s)", self._query_id, before, after, event, extra=extra)
        return before

    def allows(self, event: Event) -> bool:
        """Whether apply() would currently accept an event."""
        return (self._state, event) in TRANSITIONS

    def check(self, event: Event) -> None:
        """Raise if apply() would."""
        if not self.allows(event):
            raise TransitionRefused(self._query_id, self._state, event)


__all__ = ["TRANSITIONS", "Event", "Lifecycle", "State", "Transition", "TransitionRefused"]
