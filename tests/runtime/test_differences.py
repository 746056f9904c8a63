"""What two versions of a table's topic differ in."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ksql_spark.kafka.consumer import Record
from ksql_spark.kafka.transactions import Written
from ksql_spark.runtime.queries import differences
from ksql_spark.runtime.queries.differences import Differences, changes, count, latest


def topic(*rows: tuple[str, str | None], partition: int = 0) -> list[Record]:
    return [
        Record("t", partition, i, 1000 + i, key.encode(), None if value is None else value.encode())
        for i, (key, value) in enumerate(rows)
    ]


def shown(records: list[Record]) -> list[tuple[str, str | None]]:
    return [
        (record.key.decode(), None if record.value is None else record.value.decode())
        for record in records
        if record.key is not None
    ]


def test_the_latest_values_of_keys() -> None:
    rows = latest(topic(("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("c", None), ("d", None)))
    assert shown(list(rows.values())) == [("b", "1"), ("a", "2")]


def test_what_is_written() -> None:
    old = latest(topic(("same", "1"), ("other", "1"), ("gone", "1")))
    new = latest(topic(("new", "1"), ("same", "1"), ("other", "2")))
    found = list(changes(old, new))
    assert shown(found) == [("new", "1"), ("other", "2"), ("gone", None)]
    assert [record.timestamp_ms for record in found] == [1000, 1002, 1002]
    assert count(found) == Differences(2, 1)


def test_transactions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "_AT_ONCE", 3)
    monkeypatch.setattr(differences, "_BYTES_AT_ONCE", 10)
    written: list[list[bytes | None]] = []
    writer = SimpleNamespace(write=lambda records: written.append([one.value for one in records]))
    values = ["1", "2", None, "4", "a long value", "6"]
    differences.write(cast(Any, writer), "x", topic(*(("k", value) for value in values)))
    assert written == [[b"1", b"2", None], [b"4", b"a long value"], [b"6"]]
    differences.write(cast(Any, writer), "x", [])
    assert len(written) == 3
    # what says that the rows are right comes with the last of them
    mark = Written("log", None, b"mark")
    for count_, last in ((5, [b"1", b"1", b"mark"]), (6, [b"mark"]), (0, [b"mark"])):
        differences.write(cast(Any, writer), "x", topic(*[("k", "1")] * count_), [mark])
        assert written[-1] == last and sum(map(len, written[3:])) == count_ + 1
        del written[3:]


def test_a_key_that_moved_to_another_partition_leaves_a_tombstone() -> None:
    old, new = latest(topic(("a", "1"))), latest(topic(("a", "1"), partition=1))
    assert [(record.partition, record.value) for record in changes(old, new)] == [(1, b"1"), (0, None)]


def test_after_any_part_of_the_changes_the_rest_makes_both_equal() -> None:
    """A swap may be interrupted anywhere, and is repeated."""
    dice = random.Random(54)
    for _ in range(200):
        old, new = (
            topic(
                *((dice.choice("abcdef"), dice.choice(["1", "2", None])) for _ in range(dice.randrange(12)))
            )
            for _ in range(2)
        )
        written = list(changes(latest(old), latest(new)))
        so_far = [*old, *written[: dice.randrange(len(written) + 1)]]
        done = [*so_far, *changes(latest(so_far), latest(new))]
        values = {place: record.value for place, record in latest(done).items()}
        assert values == {place: record.value for place, record in latest(new).items()}
        assert not list(changes(latest(done), latest(new)))


def test_a_row_of_each_partition() -> None:
    rows = latest([*topic(("a", "1"), ("b", "2")), *topic(("c", "3"), partition=2)])
    assert shown(differences.one_of_each_partition(rows)) == [("b", "2"), ("c", "3")]
    assert list(changes(rows, rows)) == []
