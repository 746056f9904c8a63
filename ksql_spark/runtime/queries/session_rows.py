"""Rows of a table of sessions, whose keys include the session's bounds."""

from __future__ import annotations

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer


def delete_session_rows(admin: KafkaAdmin, topic: str) -> None:
    """Write a tombstone for each row of a table of sessions, before a query recomputes them.

    Rows of other tables are replaced by new rows of the same key. A session that is not found again, because
    partitions were added while it was open, would stay.

    Args:
        admin: of the cluster.
        topic: the table's topic, to which nothing else writes meanwhile; it may not exist.

    Raises:
        KsqlError: as TopicReader and RecordProducer.
    """
    if admin.topic(topic) is None:
        return
    partitions: dict[bytes, int] = {}
    with TopicReader(admin.servers, topic, settings=admin.settings) as reader:
        for records in reader.read_to_end():
            for record in records:
                if record.key is None:
                    continue
                if record.value is None:
                    partitions.pop(record.key, None)
                else:
                    partitions[record.key] = record.partition
    failures: list[KsqlError] = []

    def note(error: KsqlError | None) -> None:
        if error is not None:
            failures.append(error)

    producer = RecordProducer(admin.servers, admin.settings)
    try:
        for key, partition in partitions.items():
            producer.send_async(topic, key, None, partition=partition, on_delivery=note)
        left = producer.flush()
    finally:
        producer.close()
    if failures:
        raise failures[0]
    if left:
        reason = f"{left} tombstones were not written to topic '{topic}' in time"
        raise KsqlError("BROKER_UNREACHABLE", servers=admin.servers, reason=reason)
