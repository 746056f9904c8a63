"""The states of a query, and what leads from one to another: one table, and one place that assigns them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

log = logging.getLogger(__name__)


class State(StrEnum):
    """Of a query on this server. SHOW QUERIES shows the value."""

    #: known from the command log, or resumed, and not started yet
    REGISTERED = "REGISTERED"
    RUNNING = "RUNNING"
    #: it has failed, and is started again later
    ERROR = "ERROR"
    PAUSED = "PAUSED"
    #: another server runs it
    ELSEWHERE = "ELSEWHERE"
    #: dropped or replaced: nothing leads out of it, and it is shown nowhere
    ENDED = "ENDED"


class Event(StrEnum):
    """What happens to a query."""

    #: its Spark queries run; of a query that runs: they were replaced by others
    START = "start"
    #: it does not start, or has ended by itself, or was stopped for a reason that is told
    FAIL = "fail"
    PAUSE = "pause"
    #: it is to be started again
    RESUME = "resume"
    #: it is another server's
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
    table[State.PAUSED, Event.LEAVE] = State.PAUSED  # whoever runs it, it stays paused
    return MappingProxyType(table)


#: state and event -> the next state; a pair that is not here is refused
TRANSITIONS = _transitions()


class TransitionRefused(Exception):
    """An event that cannot happen to a query in its state: it was paused or dropped meanwhile, for instance.

    Args:
        query_id: of the query.
        state: of the query.
        event: that was refused.
    """

    def __init__(self, query_id: str, state: State, event: Event) -> None:
        super().__init__(f"query {query_id} is {state}: {event} is refused")
        self.state = state
        self.event = event


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

    @property
    def state(self) -> State:
        """The state of now."""
        return self._state

    def apply(self, event: Event) -> State:
        """Let an event happen.

        Returns:
            the state before.

        Raises:
            TransitionRefused: it is not in the table; nothing has changed.
        """
        with self._lock:
            before = self._state
            after = TRANSITIONS.get((before, event))
            if after is None:
                raise TransitionRefused(self._query_id, before, event)
            self._state = after
        if after is not before:
            extra = {"query": self._query_id}
            log.log(self._level, "query %s: %s -> %s (%s)", self._query_id, before, after, event, extra=extra)
        return before

    def allows(self, event: Event) -> bool:
        """Whether apply() would not refuse an event now."""
        return (self._state, event) in TRANSITIONS

    def check(self, event: Event) -> None:
        """Raise as apply() would now."""
        if not self.allows(event):
            raise TransitionRefused(self._query_id, self._state, event)


__all__ = ["TRANSITIONS", "Event", "Lifecycle", "State", "TransitionRefused"]
