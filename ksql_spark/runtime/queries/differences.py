"""Compares two versions of a table's topic; the swap writes the differences (ADR 54).

A table's topic means the latest value of each key. To make one topic mean what another one means takes a
record for each key whose latest values differ, and a tombstone for each key that only the first one has.
Comparing again after that finds nothing, so a swap that was interrupted is simply repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.transactions import TransactionalWriter, Written

#: how many records and bytes a transaction writes: the broker aborts one that takes long
_AT_ONCE = 10_000
_BYTES_AT_ONCE = 20_000_000

#: the place of a row: partition and key
Place = tuple[int, bytes | None]


class Differences(NamedTuple):
    """The number of keys whose values are new or changed, and of those that only the old topic has."""

    changed: int
    removed: int


class TopicRows:
    """The rows of a table's topic. Reading once more only reads what has come since. Not thread-safe.

    Args:
        topic: its name.
    """

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._id: str | None = None
        self._next: dict[int, int] = {}
        self._rows: dict[Place, Record] = {}

    def read(self, admin: KafkaAdmin) -> Mapping[Place, Record]:
        """``latest`` of what is committed now.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED.
        """
        identity = admin.identities([self.topic]).get(self.topic)
        if identity is None or identity.id != self._id:  # the topic was recreated
            self._id, self._next, self._rows = identity.id if identity is not None else None, {}, {}
        with TopicReader(admin.servers, self.topic, self._next, settings=admin.settings) as reader:
            for records in reader.read_to_end():
                latest(records, self._rows)
                self._next.update((record.partition, record.offset + 1) for record in records)
        return self._rows


def latest(records: Iterable[Record], rows: dict[Place, Record] | None = None) -> dict[Place, Record]:
    """The rows of a table's topic, by place, in the order of their last changes.

    Args:
        records: those of the topic.
        rows: what the records before them made; it is changed.
    """
    rows = {} if rows is None else rows
    for record in records:
        place = (record.partition, record.key)
        rows.pop(place, None)
        if record.value is not None:
            rows[place] = record
    return rows


def changes(old: Mapping[Place, Record], new: Mapping[Place, Record]) -> Iterator[Record]:
    """Yield the records to write to a topic with the rows ``old`` so that it has the rows ``new``.

    Tombstones have the times of the rows that they delete.
    """
    for place, record in new.items():
        if place not in old or old[place].value != record.value:
            yield record
    for place, record in old.items():
        if place not in new:
            yield record._replace(value=None, headers=())


def count(records: Iterable[Record]) -> Differences:
    """Count the new values and the tombstones among the records that ``changes`` returns."""
    tombstones = [record.value is None for record in records]
    return Differences(len(tombstones) - sum(tombstones), sum(tombstones))


def rows(admin: KafkaAdmin, topic: str) -> Mapping[Place, Record]:
    """``latest`` of what is committed in a topic now.

    Raises:
        KsqlError: as TopicRows.read.
    """
    return TopicRows(topic).read(admin)


def one_of_each_partition(rows: Mapping[Place, Record]) -> list[Record]:
    """A row of each partition that has any: written again, it changes nothing."""
    return list({record.partition: record for record in rows.values()}.values())


def writer(admin: KafkaAdmin, transactional_id: str) -> TransactionalWriter:
    """The writer of a swap's differences: an earlier one of the same swap can commit nothing any more.

    Args:
        admin: of the cluster.
        transactional_id: that of the old version's producer, which it fences in each partition that it writes
            to; where there is none, one that no other swap has.

    Raises:
        KsqlError: as TransactionalWriter.
    """
    return TransactionalWriter(admin.servers, transactional_id, admin.settings)


def write(
    writer: TransactionalWriter, topic: str, records: Iterable[Record], also: Collection[Written] = ()
) -> None:
    """Write records to a topic, each to its partition, in several transactions; ``also`` is in the last one.

    Raises:
        KsqlError: as TransactionalWriter.write(); some of them may have been written.
    """
    waiting: list[Written] = []
    size = 0
    for record in records:
        place, headers = record.partition, record.headers
        waiting.append(Written(topic, record.key, record.value, record.timestamp_ms, headers, place))
        size += len(record.value or b"")
        if len(waiting) >= _AT_ONCE or size >= _BYTES_AT_ONCE:
            writer.write(waiting)
            waiting, size = [], 0
    if waiting or also:
        writer.write([*waiting, *also])


__all__ = ["Differences", "Place", "TopicRows", "changes", "count", "latest", "rows", "write", "writer"]
