"""What two versions of a table's topic differ in, and how the swap writes it (ADR 54).

A table's topic means the latest value of each key. To make one topic mean what another one means takes a
record for each key whose latest values differ, and a tombstone for each key that only the first one has.
Comparing again after that finds nothing, so a swap that was interrupted is simply repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer

#: the place of a row: partition and key
Place = tuple[int, bytes | None]


class Differences(NamedTuple):
    """How many keys a topic has with another value than another topic, or not yet; how many it has alone."""

    changed: int
    removed: int


def latest(records: Iterable[Record]) -> dict[Place, Record]:
    """The rows of a table's topic, by place, in the order of their last changes."""
    rows: dict[Place, Record] = {}
    for record in records:
        place = (record.partition, record.key)
        rows.pop(place, None)
        if record.value is not None:
            rows[place] = record
    return rows


def changes(old: Mapping[Place, Record], new: Mapping[Place, Record]) -> Iterator[Record]:
    """What must be written to a topic with the rows ``old`` so that it has the rows ``new``.

    Tombstones have the times of the rows that they delete.
    """
    for place, record in new.items():
        if place not in old or old[place].value != record.value:
            yield record
    for place, record in old.items():
        if place not in new:
            yield record._replace(value=None, headers=())


def count(found: Iterable[Record]) -> Differences:
    """How many of ``changes`` are new values, and how many tombstones."""
    tombstones = [record.value is None for record in found]
    return Differences(len(tombstones) - sum(tombstones), sum(tombstones))


def compare(admin: KafkaAdmin, old: str, new: str) -> list[Record]:
    """``changes`` from the topic ``old`` to the topic ``new``, as far as they are committed now.

    Raises:
        KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED.
    """
    return list(changes(rows(admin, old), rows(admin, new)))


def rows(admin: KafkaAdmin, topic: str) -> dict[Place, Record]:
    """``latest`` of what is committed in a topic now.

    Raises:
        KsqlError: as ``compare``.
    """
    with TopicReader(admin.servers, topic, settings=admin.settings) as reader:
        return latest(record for records in reader.read_to_end() for record in records)


def write(admin: KafkaAdmin, topic: str, records: Iterable[Record]) -> None:
    """Write records to a topic, each to its partition, and wait until all are there.

    Raises:
        KsqlError: as RecordProducer.send(); some of them may have been written.
    """
    failures: list[KsqlError] = []

    def delivered(error: KsqlError | None) -> None:
        if error is not None:
            failures.append(error)

    producer = RecordProducer(admin.servers, admin.settings, linger_ms=5)
    try:
        for record in records:
            producer.send_async(
                topic,
                record.key,
                record.value,
                record.timestamp_ms,
                record.headers,
                record.partition,
                delivered,
            )
        left = producer.flush()
    finally:
        producer.close()
    if failures:
        raise failures[0]
    if left:
        reason = f"{left} records were not written in time"
        raise KsqlError("BROKER_UNREACHABLE", servers=admin.servers, reason=reason)


__all__ = ["Differences", "Place", "changes", "compare", "count", "latest", "rows", "write"]
