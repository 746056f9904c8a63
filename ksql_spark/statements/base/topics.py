"""Topics that statements create: partitions, replicas and retention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin, Topic
from ksql_spark.kafka.record_limits import RecordLimits
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.operations import grouped
from ksql_spark.plan.stages import Plan
from ksql_spark.statements.base.context import StatementContext

#: retention of a sink whose source has none to inherit (reference §6.8)
DEFAULT_RETENTION_MS = 7 * 24 * 3600 * 1000
#: the topic's setting that HISTORY is (ADR 58)
_HISTORY = "min.compaction.lag.ms"


def topic_config(sink: DataSource, retention_ms: int | None) -> dict[str, str]:
    """The configuration of a new topic for ``sink`` (reference §6.8).

    ``retention_ms``: used if ``sink`` has none of its own; None means the broker's default.
    """
    retention = sink.retention_ms if sink.retention_ms is not None else retention_ms
    history = {_HISTORY: str(sink.history_ms)} if sink.history_ms is not None else {}
    if sink.is_table and sink.window is None:
        return {"cleanup.policy": "compact", **history}
    config = {"cleanup.policy": "compact,delete" if sink.is_table else "delete", **history}
    if retention is not None:
        config["retention.ms"] = str(retention)
    return config


def has_brokers_times(topic: str, admin: KafkaAdmin) -> bool:
    """Whether the brokers put their own times in the place of those that records of a topic have; False where
    nobody may know.

    Raises:
        KsqlError: BROKER_UNREACHABLE.
    """
    return RecordLimits.of(topic, admin).config.get("message.timestamp.type") == "LogAppendTime"


def retention_ms(config: Mapping[str, str]) -> int:
    """How long a topic with this configuration keeps records, ms; -1: for ever."""
    return int(config.get("retention.ms", -1)) if "delete" in config.get("cleanup.policy", "") else -1


def keeps_past(table: DataSource, admin: KafkaAdmin) -> bool:
    """Whether AS OF and CHANGES can read what a table's topic had before (ADR 58).

    There is no topic yet if an earlier statement of the same request creates the table.

    Raises:
        KsqlError: as KafkaAdmin.
    """
    if admin.topic(table.topic) is None:
        return bool(table.history_ms)
    return int(admin.config(table.topic).get(_HISTORY, 0)) > 0


def check_topic(source: DataSource, topic: Topic, context: StatementContext) -> None:
    """Check an existing topic against the statement's properties (reference §2.1).

    Args:
        source: the stream or table over ``topic``; a property that the statement does not set is None.
        topic: the topic.
        context: the statement's context.

    Raises:
        KsqlError: TOPIC_MISMATCH.
    """
    if source.partitions is not None and source.partitions != topic.partitions:
        _mismatch(topic, f"{source.partitions} partitions", topic.partitions)
    if source.replicas is not None and source.replicas > min(topic.replicas):
        _mismatch(topic, f"{source.replicas} replicas", min(topic.replicas))
    if source.retention_ms is not None:
        there = context.services.admin.config(topic.name).get("retention.ms")
        if there is not None and int(there) != source.retention_ms:
            _mismatch(topic, f"a retention of {source.retention_ms} ms", f"{there} ms")
    if source.history_ms is not None:
        there = context.services.admin.config(topic.name).get(_HISTORY, "0")
        if int(there) < source.history_ms:
            _mismatch(topic, f"a {_HISTORY} of {source.history_ms}", there)


def _mismatch(topic: Topic, expected: str, there: int | str) -> NoReturn:
    raise KsqlError("TOPIC_MISMATCH", topic=topic.name, wanted=expected, there=there)


def create_sink_topic(plan: Plan, context: StatementContext) -> bool:
    """Create the topic that ``plan`` writes, if it is missing; returns whether it was."""
    admin, sink = context.services.admin, plan.sink
    if admin.topic(sink.topic) is not None:
        return False
    admin.create_topic(
        sink.topic,
        sink_partitions(plan, context),
        _sink_replicas(plan, context),
        topic_config(sink, _inherited_retention(plan, context)),
    )
    return True


def sink_partitions(plan: Plan, context: StatementContext) -> int:
    """The number of partitions of the sink's topic: PARTITIONS, or that of the leftmost source's topic."""
    if plan.sink.partitions is not None:
        return plan.sink.partitions
    first = plan.sources[0].topic
    topic = context.services.admin.topic(first)
    return len(topic.replicas) if topic is not None else context.new_topics.get(first, 1)


def _sink_replicas(plan: Plan, context: StatementContext) -> int:
    """REPLICAS of the sink, or those of the leftmost source's topic; -1 means the broker's default."""
    if plan.sink.replicas is not None:
        return plan.sink.replicas
    if not context.config["ksql.create.topic.inherit.source.replicas.enabled"]:
        return -1
    topic = context.services.admin.topic(plan.sources[0].topic)
    return max(topic.replicas) if topic is not None else -1


def _inherited_retention(plan: Plan, context: StatementContext) -> int:
    """The leftmost source's retention in ms (-1: forever), at least that of the plan's windows (§6.8)."""
    first = plan.sources[0]
    config = {} if first.topic_pattern is not None else context.services.admin.config(first.topic)
    retention = DEFAULT_RETENTION_MS
    if "delete" in config.get("cleanup.policy", ""):
        retention = int(config.get("retention.ms", DEFAULT_RETENTION_MS))
    groups = (aggregate for aggregate, _ in map(grouped, plan.last.operations) if aggregate is not None)
    windows = [group.window_spec.retention_ms for group in groups if group.window_spec is not None]
    return retention if retention < 0 else max([retention, *windows])
