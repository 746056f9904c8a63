"""What a query writes, to compare with what Kafka Streams, SQLite or DuckDB make of the same records."""

from __future__ import annotations

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from typing import Any

import pytest

from ksql_spark.engine import Engine
from ksql_spark.kafka.consumer import Record, TopicReader
from tests.integration.results.kafka_streams_model import Changes
from tests.waiting import TIMEOUT_S, until

HOUR_MS = 3_600_000
BEGAN_MS = 1_700_000_000_000
PROPERTIES = {"auto.offset.reset": "earliest", "ksql.checkpoint.interval.ms": "5000"}


class Sink:
    """The topic of a sink, read from its beginning."""

    def __init__(self, servers: str, topic: str) -> None:
        self.records: list[Record] = []
        self._reader = TopicReader(servers, topic)

    def wait(self, is_there: Callable[[Sink], bool]) -> None:
        """Take in records until it is so, or none come any more."""
        while not is_there(self):
            batch = self._reader.poll_batch(TIMEOUT_S)
            if not batch:
                return
            self.records += batch

    def close(self) -> None:
        """Take in all that is left, and end."""
        with self._reader:
            for batch in self._reader.read_to_end():
                self.records += batch

    def rows(self) -> Counter[tuple[Any, ...]]:
        """The rows of a stream: time, key, fields; a record without a value has none."""
        counts: Counter[tuple[Any, ...]] = Counter()
        for record in self.records:
            assert record.key is not None
            fields = json.loads(record.value or b"{}").values()
            counts[record.timestamp_ms, record.key.decode(), *fields] += 1
        return counts

    def changes(self, bounds: str = "") -> Changes:
        """What a table's keys went through; ``bounds`` is the struct of those that follow the key's text."""
        by_key: Changes = defaultdict(list)
        size = struct.calcsize(bounds)
        for record in self.records:
            assert record.key is not None
            text = record.key[: len(record.key) - size].decode()
            key = (text, *struct.unpack(bounds, record.key[len(text.encode()) :])) if bounds else text
            by_key[key].append(record.value and list(json.loads(record.value).values()))
        return by_key


def same_rows(actual: Counter[tuple[Any, ...]], expected: Counter[tuple[Any, ...]]) -> None:
    _fail(wrong_rows(actual, expected))


def wrong_rows(actual: Counter[tuple[Any, ...]], expected: Counter[tuple[Any, ...]]) -> str:
    """What is wrong with rows; nothing if they are as expected."""
    missing, unwanted = expected - actual, actual - expected
    if not missing and not unwanted:
        return ""
    return (
        f"{missing.total()} of {expected.total()} rows are missing, {unwanted.total()} are too many;"
        f" missing: {sorted(missing, key=str)[:5]}; too many: {sorted(unwanted, key=str)[:5]}"
    )


def same_changes(actual: Changes, expected: Changes) -> None:
    _fail(wrong_changes(actual, expected))


def wrong_changes(actual: Changes, expected: Changes) -> str:
    """What is wrong with the changes of a table's keys; nothing if they are as expected."""
    wrong = [key for key in {*actual, *expected} if actual.get(key) != expected.get(key)]
    if not wrong:
        return ""
    key = min(wrong, key=str)
    went, right = actual.get(key, []), expected.get(key, [])
    same = len([*takewhile(lambda pair: pair[0] == pair[1], zip(went, right, strict=False))])
    return (
        f"{len(wrong)} of {len(expected)} keys are wrong; {key}, after {same} right changes, went through"
        f" {went[same : same + 5]} instead of {right[same : same + 5]}"
    )


def _fail(wrong: str) -> None:
    if wrong:
        pytest.fail(wrong, pytrace=False)


def wait_until_all_is_read(engine: Engine, topic: str) -> None:
    """Wait for a checkpoint of each sub-topology of the query that writes ``topic``, after its last records.

    A query that is dropped stops reading in all of them at once, so those of internal topics count, too.
    """
    services = engine.services
    (query,) = (query for query in services.queries.all() if query.plan.sink.topic == topic)
    for number, stage in enumerate(query.plan.stages):
        until(lambda: services.queries.checkpoints.has_reached(query, number, ends(engine, stage.topics)))  # noqa: B023


def ends(engine: Engine, topics: Iterable[str]) -> Mapping[tuple[str, int], int]:
    """Where topics end now."""
    admin = engine.services.admin
    return admin.committed_ends(*admin.expanded(topics))
