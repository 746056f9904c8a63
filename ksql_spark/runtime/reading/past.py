"""The past of a table, from its own topic: AS OF and CHANGES (ADR 58)."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.formats import BadRecord
from ksql_spark.instants import timestamp_text
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.queries import Past
from ksql_spark.runtime.queries.differences import latest
from ksql_spark.runtime.reading.stored_row import StoredRow, split_key
from ksql_spark.runtime.reading.view import ForeignRecords, framed, stored_rows
from ksql_spark.schema_registry import SchemaRegistry


@dataclass(frozen=True)
class PastRows:
    """Rows of a table's past, and those that were deleted."""

    rows: list[StoredRow]
    deletions: list[StoredRow]


def read(past: Past, admin: KafkaAdmin, registry: SchemaRegistry | None) -> PastRows:
    """Read what a table was, or how it changed, from its topic.

    Args:
        past: of which table, and when.
        admin: of the cluster that has its topic.
        registry: has the schemas of keys in formats that need them; None: there is none.

    Raises:
        KsqlError: INVALID_STATEMENT if the topic has no such position, or Kafka may have removed some of it;
            as TopicReader and KafkaAdmin.
    """
    first_ms, counts = past.first_ms, _counting(past)
    if past.position is not None:
        _check_position(past, past.position, admin)
    fold = _folding(past.table, registry)
    rows: dict[Any, Record] = {}
    changes: list[Record] = []
    with TopicReader(admin.servers, past.table.topic, settings=admin.settings) as reader:
        for records in reader.read_to_end():
            then = filter(counts, records)
            if first_ms is None:
                fold(then, rows)
            else:
                changes += (record for record in then if record.timestamp_ms >= first_ms)
    _check_retained(past, admin)  # what was compacted meanwhile counts, too
    current = [record for record in (*rows.values(), *changes) if record.value is not None]
    gone = (record for record in changes if record.value is None)
    return PastRows(stored_rows(past.table, current), stored_rows(past.table, gone))


def _folding(
    table: DataSource, registry: SchemaRegistry | None
) -> Callable[[Iterable[Record], dict[Any, Record]], object]:
    """Return a function that adds records of the topic to the latest ones, by the places of their rows.

    Other producers may spell a key in several ways, in any partition: there the latest is that of the latest
    time, and tombstones stay among the rows.
    """
    if table.is_sink:
        return latest
    recognize = ForeignRecords(table, registry)

    def fold(records: Iterable[Record], rows: dict[Any, Record]) -> None:
        for record in records:
            if record.key is None:
                continue
            with contextlib.suppress(struct.error, BadRecord):  # not a record of this table (reference §5.8)
                plain = framed(table, record)
                key, *bounds = split_key(plain.key or b"", table.window)
                # only envelopes have rows that leave out columns, and they have no past
                key, recognized = recognize(key, plain, lambda key: None)
                place = (key, *bounds)
                if place not in rows or rows[place].timestamp_ms <= record.timestamp_ms:
                    rows.pop(place, None)
                    rows[place] = record if recognized.value is not None else record._replace(value=None)

    return fold


def _counting(past: Past) -> Callable[[Record], bool]:
    """Return a predicate that is true for the records to count: those up to a time, or before a position."""
    if past.position is not None:
        position = past.position
        return lambda record: record.offset < position[record.partition]
    last_ms = past.last_ms
    assert last_ms is not None
    return lambda record: record.timestamp_ms <= last_ms


def _invalid(past: Past, reason: str, hint: str | None = None) -> KsqlError:
    return KsqlError("INVALID_STATEMENT", position=past.place, hint=hint, reason=reason)


def _check_position(past: Past, position: Mapping[int, int], admin: KafkaAdmin) -> None:
    topic = past.table.topic
    ends = {partition: end for (_, partition), end in admin.end_offsets(topic).items()}
    for partition in sorted(position.keys() ^ ends.keys()):
        what = f"has a partition {partition}, too" if partition in ends else f"has no partition {partition}"
        reason = f"Topic {topic} {what}: a position has an offset for each of its {len(ends)} partitions."
        raise _invalid(past, reason)
    for partition, offset in position.items():
        if offset > ends[partition]:
            reason = f"Partition {partition} of topic {topic} ends before offset {offset}."
            raise _invalid(past, reason)


def _may_be_compacted(past: Past, since_ms: int, admin: KafkaAdmin) -> bool:
    """Whether a record may have gone that counts; ``since_ms``: segments with younger records are whole.

    Kafka compacts a topic up to the first such segment, so all records after its first young one are there.
    """
    if past.position is None:
        return _first_ms(past) < since_ms
    young = admin.offsets([past.table.topic], max(0, since_ms))
    return any(offset > past.position[partition] for (_, partition), offset in young.items())


def _first_ms(past: Past) -> int:
    """Return the first moment of a past that is given by time, epoch ms."""
    first_ms = past.last_ms if past.first_ms is None else past.first_ms
    assert first_ms is not None
    return first_ms


def _check_retained(past: Past, admin: KafkaAdmin) -> None:
    topic, since_ms = past.table.topic, past.table.past_from_ms
    if since_ms is not None and past.position is None and _first_ms(past) < since_ms:
        since = timestamp_text(since_ms)
        reason = f"{past.table.name} has been in topic {topic} since {since} only."
        hint = "Its changes before that are in the topic that it had then."
        raise _invalid(past, reason, hint)
    config = admin.config(topic)
    policy = config.get("cleanup.policy", "delete")
    lag_ms = int(config.get("min.compaction.lag.ms", 0))
    if "compact" in policy and _may_be_compacted(past, int(time.time() * 1000) - lag_ms, admin):
        reason = (
            f"Kafka may have compacted what {past.table.name} was then: topic {topic} keeps all changes for "
            f"{lag_ms:,} ms only (min.compaction.lag.ms)."
        )
        hint = "WITH (HISTORY = '7 DAYS') of CREATE TABLE, or min.compaction.lag.ms of the topic, keeps it."
        raise _invalid(past, reason, hint)
    if "delete" in policy and any(admin.beginning_offsets(topic).values()):
        reason = f"Kafka has removed old records of topic {topic}: nobody knows what {past.table.name} was."
        raise _invalid(past, reason)


__all__ = ["PastRows", "read"]
