"""Sinks: lake tables that follow streams and tables (beyond ksqlDB)."""

from __future__ import annotations

from dataclasses import dataclass

from ksql_spark.entities.base import Body, Entity


@dataclass(frozen=True, kw_only=True)
class SinkInfo(Body):
    """A sink.

    Args:
        name: its name.
        source: the stream or table that it reads.
        type: delta, parquet …
        path: where it writes, a folder or the URL of a database; passwords are masked.
        table: the database's table.
        state: RUNNING, PAUSED, ERROR; WAITING before its first look at the table.
        reason: why the latest commit failed.
        lag: records of the topic that the table lacks; null while it is unknown.
    """

    name: str
    source: str
    type: str
    path: str
    table: str | None
    state: str
    reason: str | None
    lag: int | None


@dataclass(frozen=True, kw_only=True)
class SinksList(Entity, type="sinks"):
    """The answer to SHOW SINKS."""

    sinks: tuple[SinkInfo, ...]


@dataclass(frozen=True, kw_only=True)
class SinkPosition(Body):
    """One partition of a sink's topic: the first offset that the table lacks, and the topic's end."""

    partition: int
    offset: int
    end: int


@dataclass(frozen=True, kw_only=True)
class SinkDescription(Entity, type="sink_description"):
    """The answer to DESCRIBE SINK.

    Args:
        sink: the sink.
        partition_by: how its files are grouped; empty: they are not.
        interval_ms: the pause between two commits.
        topic: the topic of its source.
        positions: by partition.
        commits: how many commits this server has made since it started.
        rows: how many rows they had.
        records_removed: records that retention had removed before the sink read them.
        records_unreadable: records that the source's format could not read.
        records_refused: rows that the database refused.
        last_commit_ms: when this server committed last, epoch milliseconds.
        last_compaction_ms: when this server compacted the table last.
    """

    sink: SinkInfo
    partition_by: tuple[str, ...]
    interval_ms: int
    topic: str
    positions: tuple[SinkPosition, ...]
    commits: int
    rows: int
    records_removed: int
    records_unreadable: int
    records_refused: int
    last_commit_ms: int | None
    last_compaction_ms: int | None
