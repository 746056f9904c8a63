"""Streams, tables and topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ksql_spark.entities.base import Body, Entity, Omitted
from ksql_spark.entities.queries import RunningQuery
from ksql_spark.entities.schemas import FieldInfo


@dataclass(frozen=True, kw_only=True)
class SourceInfo(Body):
    """A row of SHOW STREAMS or SHOW TABLES; ``type`` is STREAM or TABLE."""

    type: str
    name: str
    topic: str
    key_format: str
    value_format: str
    is_windowed: bool


@dataclass(frozen=True, kw_only=True)
class StreamsList(Entity, type="streams"):
    """The answer to SHOW STREAMS."""

    streams: tuple[SourceInfo, ...]


@dataclass(frozen=True, kw_only=True)
class TablesList(Entity, type="tables"):
    """The answer to SHOW TABLES."""

    tables: tuple[SourceInfo, ...]


@dataclass(frozen=True, kw_only=True)
class ConsumerPartitionOffsets(Body):
    """The position of a query in a partition, and the partition's bounds."""

    partition: int
    log_start_offset: int
    log_end_offset: int
    consumer_offset: int


@dataclass(frozen=True, kw_only=True)
class QueryTopicOffsetSummary(Body):
    """The positions of a query in the partitions of a topic."""

    kafka_topic: str
    offsets: tuple[ConsumerPartitionOffsets, ...]


@dataclass(frozen=True, kw_only=True)
class QueryOffsetSummary(Body):
    """The positions of a query in its topics; ``group_id`` is the query's id."""

    group_id: str
    topic_summaries: tuple[QueryTopicOffsetSummary, ...]


@dataclass(frozen=True, kw_only=True)
class OriginInfo(Body):
    """The table outside Kafka that a table follows (beyond ksqlDB).

    Args:
        path: a folder, a file, or the URL of a database; passwords are masked.
        table: the database's table.
        format: parquet, csv, json, delta, iceberg or jdbc.
        refresh_ms: the pause between two refreshes.
        state: RUNNING, ERROR; WAITING before the first refresh, and where another server refreshes.
        reason: why the latest refresh failed.
        rows: rows of the origin; null before the first refresh.
        without_key: rows without a key, which are left out.
        written: rows that this server has written since it started.
        removed: rows that it has removed.
        last_refresh_ms: the latest refresh that succeeded, epoch milliseconds.
    """

    path: str
    table: str | None
    format: str
    refresh_ms: int
    state: str
    reason: str | None
    rows: int | None
    without_key: int
    written: int
    removed: int
    last_refresh_ms: int | None


@dataclass(frozen=True)
class IndexInfo(Body):
    """An index, as SHOW INDEXES and DESCRIBE list it; ``ready``: look-ups use it, because the view has it."""

    name: str
    table: str
    columns: tuple[str, ...]
    ready: bool


@dataclass(frozen=True, kw_only=True)
class IndexesList(Entity, type="indexes"):
    """The answer to SHOW INDEXES."""

    indexes: tuple[IndexInfo, ...]


@dataclass(frozen=True, kw_only=True)
class SourceDescription(Body):
    """A stream or table as DESCRIBE shows it.

    Args:
        type: STREAM, TABLE or VIEW, which has only a name, columns and a statement.
        timestamp: the event time column; empty: Kafka's record timestamp.
        statistics, error_stats: texts of several lines; empty unless ``extended``.
        partitions, replication: of the topic; 0 unless ``extended``.
        source_constraints: the sources that must be dropped before it.
        cluster_statistics, cluster_error_stats: always empty.
        is_source: made by CREATE SOURCE STREAM or TABLE.
        constraints: what rows of the topic must meet, or they are left out.
        lateness_ms: the GRACE PERIOD of windows over it that say nothing of theirs.
        envelope: what is around the rows in the topic, for instance debezium.
        origin: the table outside Kafka that it follows.
        archive: the folder with the records that its topic has no more.
        topics: those that the pattern of a stream over many finds now.
        indexes: those of a table.
        comment: what COMMENT ON has said.
    """

    name: str
    window_type: str | None
    read_queries: tuple[RunningQuery, ...]
    write_queries: tuple[RunningQuery, ...]
    fields: tuple[FieldInfo, ...]
    type: str
    timestamp: str
    statistics: str
    error_stats: str
    extended: bool
    key_format: str
    value_format: str
    topic: str
    partitions: int
    replication: int
    statement: str
    query_offset_summaries: tuple[QueryOffsetSummary, ...]
    source_constraints: tuple[str, ...]
    cluster_statistics: tuple[Any, ...] = ()
    cluster_error_stats: tuple[Any, ...] = ()
    is_source: bool
    constraints: Omitted[tuple[str, ...]] = None
    lateness_ms: Omitted[int] = None
    envelope: Omitted[str] = None
    origin: Omitted[OriginInfo] = None
    archive: Omitted[str] = None
    topics: Omitted[tuple[str, ...]] = None
    indexes: Omitted[tuple[IndexInfo, ...]] = None
    comment: Omitted[str] = None


@dataclass(frozen=True, kw_only=True)
class SourceDescriptionEntity(Entity, type="sourceDescription"):
    """The answer to DESCRIBE."""

    source_description: SourceDescription


@dataclass(frozen=True, kw_only=True)
class SourceDescriptionList(Entity, type="source_descriptions"):
    """The answer to DESCRIBE STREAMS and TABLES, SHOW STREAMS EXTENDED and SHOW TABLES EXTENDED."""

    source_descriptions: tuple[SourceDescription, ...]


@dataclass(frozen=True, kw_only=True)
class KafkaTopicInfo(Body):
    """A row of SHOW TOPICS.

    Args:
        replica_info: the number of replicas of each partition.
        consumer_count, consumer_group_count: only in an extended list, as what follows; a persistent query
            counts as a group with one consumer.
        record_count: offsets between its first record and its end; of a compacted topic, fewer are there.
        retention_ms: for how long records are kept; -1: no limit.
        is_compacted: whether only the latest record of each key is kept.
        connectors: those that write it, where there is Kafka Connect and it has answered.
    """

    name: str
    replica_info: tuple[int, ...]
    consumer_count: Omitted[int] = None
    consumer_group_count: Omitted[int] = None
    record_count: Omitted[int] = None
    retention_ms: Omitted[int] = None
    is_compacted: Omitted[bool] = None
    connectors: Omitted[tuple[str, ...]] = None


@dataclass(frozen=True, kw_only=True)
class KafkaTopicsList(Entity, type="kafka_topics"):
    """The answer to SHOW TOPICS."""

    topics: tuple[KafkaTopicInfo, ...]


@dataclass(frozen=True, kw_only=True)
class KafkaTopicsListExtended(Entity, type="kafka_topics_extended"):
    """The answer to SHOW TOPICS EXTENDED."""

    topics: tuple[KafkaTopicInfo, ...]
