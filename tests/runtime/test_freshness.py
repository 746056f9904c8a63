"""How pull queries ask for the ends of topics, and what they see while statements run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.reading.freshness import Freshness, OnReached, SharedRequests
from tests.waiting import until

SOON_S = 20.0


class Broker:
    """Answers requests once it may."""

    def __init__(self) -> None:
        self.requests: list[list[str]] = []
        self.asked = threading.Semaphore(0)
        self.may_answer = threading.Semaphore(0)

    def send(self, topics: Sequence[str]) -> dict[tuple[str, int], int]:
        number = len(self.requests)
        self.requests.append(sorted(topics))
        self.asked.release()
        assert self.may_answer.acquire(timeout=SOON_S)
        if "missing" in topics:
            raise KsqlError("TOPIC_UNKNOWN", topic="missing")
        return {(topic, 0): number for topic in topics}


def ask(requests: SharedRequests, topic: str, answers: dict[str, object]) -> threading.Thread:
    def run() -> None:
        try:
            answers[topic] = requests.ask([topic])[(topic, 0)]
        except KsqlError as error:
            answers[topic] = error.condition

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def wait_until_asked_for(requests: SharedRequests, *topics: str) -> None:
    while set(topics) - requests._next.topics.keys():
        threading.Event().wait(0.001)


class FakeView:
    """Follows a topic as far as it is told."""

    topic = "t"

    def __init__(self) -> None:
        self.position = 0
        self.told: list[int] = []

    def has_reached(self, ends: Mapping[int, int]) -> bool:
        return all(end <= self.position for end in ends.values())

    def when_reached(self, ends: Mapping[int, int], deadline: float, on_reached: OnReached) -> None:
        self.told.append(ends[0])
        on_reached(None)


def test_a_look_up_need_not_ask_if_another_has_just_asked() -> None:
    end, written, asked = 5, dict[int, int](), threading.Semaphore(0)

    def ends(topics: Iterable[str]) -> dict[tuple[str, int], int]:
        asked.release()
        return {("t", 0): end}

    freshness, view = Freshness(ends, lambda topic: written), FakeView()
    try:
        assert not freshness.is_current(view, 60)  # nobody has asked
        told = threading.Event()
        freshness.when_current(view, SOON_S, lambda error: told.set())
        assert told.wait(SOON_S) and asked.acquire(timeout=SOON_S)
        assert not freshness.is_current(view, 60)  # the view is behind
        view.position = 5
        assert freshness.is_current(view, 60)
        written[0] = 6  # by this server: that is in every answer
        assert not freshness.is_current(view, 60)
        view.position = 6
        assert freshness.is_current(view, 60)
        assert not freshness.is_current(view, 0)
        # in good time before the answer is too old, it is asked again, and nobody waits for that
        (known,) = freshness._answers["t"]
        freshness._answers["t"] = (known._replace(at=time.monotonic() - 40),)
        assert freshness.is_current(view, 60) and freshness.is_current(view, 60)
        assert asked.acquire(timeout=SOON_S)
        until(lambda: len(freshness._answers["t"]) >= 2)
        assert view.told == [5]
        # the older answer is enough, and who waits for it need not ask
        newer, older = freshness._answers["t"]
        freshness._answers["t"] = (newer._replace(ends={0: 9}), older)
        assert freshness.is_current(view, 60) and not freshness.is_current(view, 30)
        freshness.when_current(view, SOON_S, lambda error: None, 60)
        assert view.told == [5, 5]
        written[0] = 9
        told.clear()
        freshness.when_current(view, SOON_S, lambda error: told.set(), 60)
        assert told.wait(SOON_S) and asked.acquire(timeout=SOON_S)
    finally:
        freshness.close()


def test_all_that_wait_share_the_next_request() -> None:
    broker, answers = Broker(), dict[str, object]()
    requests = SharedRequests(broker.send)
    first = ask(requests, "a", answers)
    assert broker.asked.acquire(timeout=SOON_S)
    others = [ask(requests, topic, answers) for topic in ("b", "c", "d")]
    wait_until_asked_for(requests, "b", "c", "d")
    broker.may_answer.release(2)
    for thread in (first, *others):
        thread.join(SOON_S)
    # nobody has an answer to a request that was under way when they asked
    assert answers == {"a": 0, "b": 1, "c": 1, "d": 1}
    assert broker.requests == [["a"], ["b", "c", "d"]]


def test_an_error_is_only_of_those_whose_topic_it_is() -> None:
    broker, answers = Broker(), dict[str, object]()
    requests = SharedRequests(broker.send)
    first = ask(requests, "a", answers)
    assert broker.asked.acquire(timeout=SOON_S)
    others = [ask(requests, topic, answers) for topic in ("b", "missing")]
    wait_until_asked_for(requests, "b", "missing")
    broker.may_answer.release(10)
    for thread in (first, *others):
        thread.join(SOON_S)
    assert answers["missing"] == "TOPIC_UNKNOWN" and isinstance(answers["b"], int)
    with pytest.raises(KsqlError):
        requests.ask(["missing"])
