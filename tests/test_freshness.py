"""How pull queries ask for the ends of topics, and what they see while statements run."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.freshness import SharedRequests

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
