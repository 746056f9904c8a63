"""Asks for the end offsets that views must reach before they serve a query, once for all waiting queries."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ksql_spark.errors import KsqlError

log = logging.getLogger(__name__)

#: partition -> the offset after the last required record
Ends = Mapping[int, int]
#: called once, in any thread: with None, or with the reason why the rows will not arrive
OnReached = Callable[[KsqlError | None], None]


class Following(Protocol):
    """Something that follows a topic."""

    @property
    def topic(self) -> str:
        """The topic's name."""
        ...

    def when_reached(self, ends: Ends, deadline: float, on_reached: OnReached) -> None:
        """Call ``on_reached`` once every record before ``ends`` has been read, see View."""
        ...

    def has_reached(self, ends: Ends) -> bool:
        """Whether every record before ``ends`` has been read."""
        ...


class SharedRequests:
    """Requests to a broker, one at a time, each shared by everyone who waits. Thread-safe.

    The response always belongs to a request that was sent after the caller asked: a caller that arrives
    during a request waits for the next one. One of the waiting callers sends it.

    Args:
        send: asks for offsets of topics: (topic, partition) -> offset.
    """

    def __init__(self, send: Callable[[Sequence[str]], Mapping[tuple[str, int], int]]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._next = _Shared()

    def ask(self, topics: Iterable[str]) -> Mapping[tuple[str, int], int]:
        """The offsets of ``topics``, and perhaps of others that were requested together with them.

        Raises:
            KsqlError: as ``send``; for all who waited for the same request, one by one if there are several.
        """
        mine = list(topics)
        with self._lock:
            shared = self._next
            is_first = not shared.topics
            shared.topics.update(dict.fromkeys(mine))
        if is_first:
            self._send_for(shared)
        else:
            shared.is_done.wait()
        if shared.answer is not None:
            return shared.answer
        with self._sending:
            return self._send(mine)

    def _send_for(self, shared: _Shared) -> None:
        with self._sending:
            with self._lock:
                self._next = _Shared()
            try:
                shared.answer = self._send(list(shared.topics))
            except KsqlError:
                pass  # perhaps one topic is the cause: each caller asks for itself
            finally:
                shared.is_done.set()


class _Shared:
    """One request of SharedRequests."""

    def __init__(self) -> None:
        self.topics: dict[str, None] = {}
        self.answer: Mapping[tuple[str, int], int] | None = None
        self.is_done = threading.Event()


#: how many earlier responses to keep per topic
_REMEMBERED = 3


class _Topic:
    """A stand-in for a view when only the topic's ends are needed."""

    def __init__(self, topic: str) -> None:
        self.topic = topic


class _Wait(NamedTuple):
    """A caller that waits for a view to be current; without ``on_reached`` nobody waits, and it only asks
    ahead.
    """

    view: Following | _Topic
    deadline: float
    on_reached: OnReached | None


class _Answer(NamedTuple):
    """The broker's response for a topic, and when it was requested (monotonic)."""

    at: float
    ends: Ends


class Freshness:
    """Reports when views have everything in their topics, without a thread per waiting caller. Thread-safe.

    Args:
        ends: as SharedRequests.ask.
        written: returns what this server has written to a topic, which every result includes.
    """

    def __init__(
        self,
        ends: Callable[[Iterable[str]], Mapping[tuple[str, int], int]],
        written: Callable[[str], Ends] = lambda topic: {},
    ) -> None:
        self._ends = ends
        self._written = written
        #: topic -> the latest responses, newest first
        self._answers: dict[str, tuple[_Answer, ...]] = {}
        #: topics to ask for ahead of time, although nobody waits
        self._ahead: set[str] = set()
        self._waits: deque[_Wait] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        #: set when callers wait; while the thread has some, it polls for more
        self._some = threading.Event()
        self._is_asleep = True

    def when_current(
        self, view: Following, timeout_s: float, on_reached: OnReached, staleness_s: float = 0.0
    ) -> None:
        """Call ``on_reached`` once ``view`` has all records that were in its topic ``staleness_s`` ago.

        The call comes in any thread; after ``timeout_s`` seconds with VIEW_BEHIND.
        """
        deadline = time.monotonic() + timeout_s
        ends = self._known_ends(view.topic, staleness_s)
        # this server's writes may be behind an open transaction of another writer: the broker knows
        if ends is None or not view.has_reached(self._written(view.topic)):
            self._put(_Wait(view, deadline, on_reached))
        else:
            view.when_reached(ends, deadline, on_reached)

    def is_current(self, view: Following, staleness_s: float) -> bool:
        """Whether ``view`` has what was in its topic ``staleness_s`` ago, and everything written by this
        server.

        This is only known if the broker was asked since then; it is asked ahead of time for later callers.
        """
        ends = self._known_ends(view.topic, staleness_s)
        if ends is None or not view.has_reached(ends):
            return False
        written = self._written(view.topic)
        return not written or view.has_reached(written)

    def _known_ends(self, topic: str, staleness_s: float) -> Ends | None:
        """The oldest known ends of ``topic`` that are recent enough; None if the broker was not asked since
        then.
        """
        now, answers = time.monotonic(), self._answers.get(topic)
        if staleness_s <= 0 or answers is None or now - answers[0].at > staleness_s:
            return None
        if now - answers[0].at > staleness_s / 2 and topic not in self._ahead:
            self._ahead.add(topic)
            self._put(_Wait(_Topic(topic), now, None))
        oldest = answers[0]
        for older in answers[1:]:
            if now - older.at > staleness_s:
                break
            oldest = older
        return oldest.ends

    def _put(self, wait: _Wait) -> None:
        self._waits.append(wait)
        if self._is_asleep:
            if self._thread is None:
                self._start()
            self._is_asleep = False
            self._some.set()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="freshness", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop serving callers."""
        self._is_closed = True
        self._some.set()
        if self._thread is not None:
            self._thread.join(5)

    def _serve(self) -> None:
        while not self._is_closed:
            waits = []
            while self._waits:
                waits.append(self._waits.popleft())
            if waits:
                self._notify(waits)
                continue
            self._some.clear()
            self._is_asleep = True
            if not self._waits:  # whoever came before it set the sleep flag did not wake it
                self._some.wait()

    def _notify(self, waits: Sequence[_Wait]) -> None:
        topics = dict.fromkeys(wait.view.topic for wait in waits)
        self._ahead.difference_update(topics)
        now = time.monotonic()
        try:
            ends = by_topic(self._ends(topics), topics)
            for topic, topic_ends in ends.items():
                self._answers[topic] = (_Answer(now, topic_ends), *self._answers.get(topic, ())[:_REMEMBERED])
        except KsqlError as error:
            if len(topics) > 1:  # perhaps one topic is the cause
                for topic in topics:
                    self._notify([wait for wait in waits if wait.view.topic == topic])
                return
            _notify_of_failure(waits, error)
            return
        except Exception as error:
            log.exception("could not fetch the end offsets of topics")
            _notify_of_failure(waits, KsqlError("INTERNAL", reason=str(error)))
            return
        for wait in waits:
            if wait.on_reached is not None and not isinstance(wait.view, _Topic):
                wait.view.when_reached(ends[wait.view.topic], wait.deadline, wait.on_reached)


def _notify_of_failure(waits: Sequence[_Wait], error: KsqlError) -> None:
    for wait in waits:
        if wait.on_reached is not None:
            wait.on_reached(error.without_context())


def by_topic(ends: Mapping[tuple[str, int], int], topics: Iterable[str]) -> dict[str, dict[int, int]]:
    """``ends`` of ``topics``: topic -> partition -> offset."""
    offsets: dict[str, dict[int, int]] = {topic: {} for topic in topics}
    for (topic, partition), end in ends.items():
        if topic in offsets:
            offsets[topic][partition] = end
    return offsets
