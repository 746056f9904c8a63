"""Rows of a table of sessions, whose keys include the session's bounds."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries import differences

log = logging.getLogger(__name__)


def delete_session_rows(admin: KafkaAdmin, topic: str, transactional_id: str) -> None:
    """Write a tombstone for each row of a table of sessions, before a query recomputes them.

    Rows of other tables are replaced by new rows of the same key. A session that is not found again, because
    partitions were added while it was open, would stay.

    Args:
        admin: of the cluster.
        topic: the table's topic, to which nothing else writes meanwhile; it may not exist.
        transactional_id: that of the query's sink: once its next run has started, perhaps on another server,
            this one can delete nothing any more.

    Raises:
        KsqlError: as TopicRows.read(), TransactionalWriter and RecordProducer.
    """
    if admin.topic(topic) is None:
        return
    try:
        writer = differences.writer(admin, transactional_id)
    except KsqlError as error:
        log.warning("sessions of topic %s are deleted without a transaction: %s", topic, error.message)
        _delete_at_once(admin, topic)
        return
    with contextlib.closing(writer):
        differences.write(writer, topic, _tombstones(admin, topic))


def _tombstones(admin: KafkaAdmin, topic: str) -> Iterator[Record]:
    return differences.changes(differences.rows(admin, topic), {})


def _delete_at_once(admin: KafkaAdmin, topic: str) -> None:
    """Do the work of delete_session_rows without a transaction, where Kafka has none or allows us none."""
    failures: list[KsqlError | None] = []
    producer = RecordProducer(admin.servers, admin.settings)
    try:
        for row in _tombstones(admin, topic):
            producer.send_async(
                topic, row.key, None, row.timestamp_ms, partition=row.partition, on_delivery=failures.append
            )
        unsent = producer.flush()
    finally:
        producer.close()
    for failure in filter(None, failures):
        raise failure
    if unsent:
        reason = f"{unsent} tombstones were not written to topic '{topic}' in time"
        raise KsqlError("BROKER_UNREACHABLE", servers=admin.servers, reason=reason)
