"""The model against rows worked out by hand."""

from __future__ import annotations

from typing import Any

from tests.integration.results import kafka_streams_model as model
from tests.integration.results.kafka_streams_model import Event


def row(time: int, key: str = "a", partition: int = 0, **value: Any) -> Event:
    """A record; one without columns is a tombstone."""
    return Event(partition, time, key, value or None)


def test_a_task_takes_the_lowest_head_and_each_topic_in_its_order() -> None:
    left = [row(10, n=1), row(5, n=2), row(30, n=3), row(1, partition=1, n=4)]
    right = [row(7, n=5), row(20, n=6)]
    assert [[e.time for _, e in task] for task in model.tasks(left, right)] == [[7, 10, 5, 20, 30], [1]]


def test_streams_meet_within_a_span() -> None:
    left = [row(10, n=1), row(100, n=2)]
    right = [row(20, n=3), row(21, n=4), row(50, "b", n=5)]
    assert model.stream_stream(left, right, 10, "INNER") == [(20, "a", 1, 3)]
    assert model.stream_stream(left, right, 10, "FULL") == [
        (20, "a", 1, 3),
        (100, "a", 2, None),
        (21, "a", None, 4),
        (50, "b", None, 5),
    ]


def test_a_stream_meets_the_table_of_its_time() -> None:
    stream = [row(1, n=1), row(11, n=2), row(21, n=3), row(31, n=4)]
    table = [row(10, n=5), row(20, n=6), row(30)]
    assert model.stream_table(stream, table, "LEFT") == [
        (1, "a", 1, None),
        (11, "a", 2, 5),
        (21, "a", 3, 6),
        (31, "a", 4, None),
    ]
    assert model.stream_table(stream, table, "INNER") == [(11, "a", 2, 5), (21, "a", 3, 6)]
    pairs = model.stream_stream_table(stream, [row(15, n=7)], table, 6)
    assert pairs == [(15, "a", 2, 7, 5), (21, "a", 3, 7, 6)]


def test_changes_of_two_tables() -> None:
    left = [row(1, n=1), row(3), row(5)]
    right = [row(2, n=2), row(4)]
    assert model.table_table(left, right) == {"a": [[1, None], [1, 2], [None, 2], None]}


def test_windows_close_by_the_stream_time_of_their_partition() -> None:
    stream = [row(5, n=1), row(14, n=2), row(6, n=3), row(15, n=4), row(7, n=5), row(8, "b", 1, n=6)]
    assert model.tumbling(stream, None, 10, 5) == {
        ("a", 0): [[1, 1], [2, 4]],
        ("a", 10): [[1, 2], [2, 6]],
        ("b", 0): [[1, 6]],
    }


def test_sessions_merge_and_close() -> None:
    stream = [row(0, n=1), row(20, n=2), row(10, n=3), row(50, n=4), row(24, n=5)]
    changes = model.sessions(stream, None, 10, 15)
    assert changes == {
        ("a", 0, 0): [[1], None],
        ("a", 20, 20): [[1], None],
        ("a", 0, 20): [[3]],
        ("a", 50, 50): [[1]],
    }
    assert model.folded(changes) == {("a", 0, 20): [[3]], ("a", 50, 50): [[1]]}
