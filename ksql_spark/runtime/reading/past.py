"""The past of a table, from its own topic: AS OF and CHANGES (ADR 58)."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ksql_spark.analyzer.past import Past
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.runtime.queries.differences import Place, latest
from ksql_spark.runtime.reading.view import StoredRow, stored_rows


@dataclass(frozen=True)
class PastRows:
    """Rows of a table's past, and those that were deleted."""

    rows: list[StoredRow]
    deletions: list[StoredRow]


def read(past: Past, admin: KafkaAdmin) -> PastRows:
    """Read what a table was, or how it changed, from its topic.

    Raises:
        KsqlError: INVALID_STATEMENT if Kafka may have removed some of it; as TopicReader and KafkaAdmin.
    """
    first_ms, last_ms = past.first_ms, past.last_ms
    rows: dict[Place, Record] = {}
    changes: list[Record] = []
    with TopicReader(admin.servers, past.table.topic, settings=admin.settings) as reader:
        for records in reader.read_to_end():
            then = [record for record in records if record.timestamp_ms <= last_ms]
            if first_ms is None:
                latest(then, rows)
            else:
                changes += (record for record in then if record.timestamp_ms >= first_ms)
    _check_kept(past, admin)  # what was compacted meanwhile counts, too
    kept = [*rows.values(), *(record for record in changes if record.value is not None)]
    gone = (record for record in changes if record.value is None)
    return PastRows(stored_rows(past.table, kept), stored_rows(past.table, gone))


def _check_kept(past: Past, admin: KafkaAdmin) -> None:
    topic = past.table.topic
    config = admin.config(topic)
    policy = config.get("cleanup.policy", "delete")
    first_ms = past.last_ms if past.first_ms is None else past.first_ms
    lag_ms = int(config.get("min.compaction.lag.ms", 0))
    if "compact" in policy and first_ms < time.time() * 1000 - lag_ms:
        reason = (
            f"Kafka may have compacted what {past.table.name} was then: topic {topic} keeps all changes for "
            f"{lag_ms:,} ms only (min.compaction.lag.ms)."
        )
        hint = "WITH (HISTORY = '7 DAYS') of CREATE TABLE, or min.compaction.lag.ms of the topic, keeps it."
        raise KsqlError("INVALID_STATEMENT", reason=reason, hint=hint)
    if "delete" in policy and any(admin.beginning_offsets(topic).values()):
        reason = f"Kafka has removed old records of topic {topic}: nobody knows what {past.table.name} was."
        raise KsqlError("INVALID_STATEMENT", reason=reason)


__all__ = ["PastRows", "read"]
