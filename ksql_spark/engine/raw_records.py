"""The records of a topic as they are in Kafka (GET /topics/{topic}/records)."""

from __future__ import annotations

import base64

from ksql_spark.authorization import Rights, check_topic
from ksql_spark.entities.samples import RawBytes, RawHeader, RawRecord, RawRecords
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import Record, read_at
from ksql_spark.statements import Services

#: how many bytes of a key, a value or a header are shown
MOST_BYTES = 16 * 1024


def raw_records(
    services: Services, topic: str, partition: int, offset: int | None, limit: int, rights: Rights
) -> RawRecords:
    """Return up to ``limit`` records of a partition from ``offset`` on; None: its newest.

    Raises:
        KsqlError: FORBIDDEN, as for PRINT; TOPIC_UNKNOWN; BAD_REQUEST for a partition that does not exist; as
            KafkaAdmin.
    """
    check_topic(rights, topic)
    admin = services.admin
    partitions = admin.require_topic(topic).partitions
    if not 0 <= partition < partitions:
        raise KsqlError("BAD_REQUEST", reason=f"The topic '{topic}' has no partition {partition}.")
    place = topic, partition
    first, end = admin.beginning_offsets(topic)[place], admin.end_offsets(topic)[place]
    begin = max(first, end - limit if offset is None else offset)
    offsets = range(begin, min(begin + limit, end))
    records = read_at(admin.servers, topic, {partition: offsets}, admin.settings) if offsets else ()
    return RawRecords(
        topic=topic,
        partition=partition,
        partitions=partitions,
        first_offset=first,
        end_offset=end,
        records=tuple(map(raw, records)),
    )


def raw(record: Record) -> RawRecord:
    """Return a record's bytes in base64, at most as many as are shown."""
    return RawRecord(
        offset=record.offset,
        time_ms=record.timestamp_ms,
        key=_bytes(record.key),
        value=_bytes(record.value),
        headers=tuple(RawHeader(name, _bytes(value)) for name, value in record.headers),
    )


def _bytes(data: bytes | None) -> RawBytes | None:
    return None if data is None else RawBytes(base64.b64encode(data[:MOST_BYTES]).decode(), len(data))
