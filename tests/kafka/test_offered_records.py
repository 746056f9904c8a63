"""Records that are queued without waiting."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.producer import RecordProducer
from tests.kafka.mock_cluster import MockCluster

TIMEOUT_S = 60.0
Answers = queue.Queue[tuple[KsqlError | None, int, int]]


@pytest.fixture
def producer() -> Iterator[RecordProducer]:
    cluster = MockCluster()
    cluster.create("t")
    producer = RecordProducer(cluster.servers)
    yield producer
    producer.close()


def answers_to(producer: RecordProducer, topic: str, values: list[bytes]) -> list[tuple[object, int, int]]:
    """What is called back, in the order of the calls."""
    answers: Answers = queue.Queue()
    for value in values:
        producer.offer(topic, b"k", value, 1_000, lambda *answer: answers.put(answer))
    return [answers.get(timeout=TIMEOUT_S) for _ in values]


def test_each_is_called_back_with_its_place(producer: RecordProducer) -> None:
    assert producer.has_room
    found = answers_to(producer, "t", [b"a", b"b", b"c"])
    assert {error for error, _, _ in found} == {None}
    assert {partition for _, partition, _ in found} == {found[0][1]}  # of their key
    assert [offset for _, _, offset in found] == [0, 1, 2]
    assert producer.written["t"] == {found[0][1]: 3}


def test_a_record_that_is_too_large_is_called_back(producer: RecordProducer) -> None:
    ((error, _, _),) = answers_to(producer, "t", [b"x" * 10_000_000])
    assert isinstance(error, KsqlError)


def test_a_closed_producer_calls_back(producer: RecordProducer) -> None:
    producer.close()
    ((error, _, _),) = answers_to(producer, "t", [b"x"])
    assert isinstance(error, KsqlError) and error.condition == "STOPPED"


def test_a_callback_that_fails_is_not_the_end_of_others(
    producer: RecordProducer, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(error: KsqlError | None, partition: int, offset: int) -> None:
        raise RuntimeError("nobody listens any more")

    producer.offer("t", b"k", b"a", 1_000, fails)
    _, offset = producer.send("t", b"k", b"b")  # which waits for its own
    assert offset == 1
    assert "nobody listens any more" in caplog.text
    producer.offer("t", b"k", b"c", 1_000, fails)
    assert producer.flush(TIMEOUT_S) == 0
