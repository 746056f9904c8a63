"""Rows of a table of sessions, whose keys include the session's bounds."""

from __future__ import annotations

import contextlib

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.queries import differences


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
        KsqlError: as TopicRows.read() and TransactionalWriter.
    """
    if admin.topic(topic) is None:
        return
    with contextlib.closing(differences.writer(admin, transactional_id)) as writer:
        differences.write(writer, topic, differences.changes(differences.rows(admin, topic), {}))
