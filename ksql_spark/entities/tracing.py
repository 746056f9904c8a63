"""The records that a row was made of, and the rows that a record has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ksql_spark.entities.base import Body, Entity, Omitted


@dataclass(frozen=True, kw_only=True)
class DroppedRecords(Body):
    """The number of records of the row that were dropped for one reason."""

    reason: str
    count: int


@dataclass(frozen=True, kw_only=True)
class SourceRecord(Body):
    """A record of the row.

    Args:
        timestamp: its event time, epoch milliseconds; null: it is gone.
        reason: why it was dropped; null: it was used.
        columns: its columns by name, and its window's bounds; null: it is gone, or cannot be read any more.
        origin: of a change that Debezium has captured: ``table``, ``transaction``, ``position``.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    reason: str | None
    columns: Mapping[str, Any] | None
    origin: Omitted[Mapping[str, str]] = None


@dataclass(frozen=True, kw_only=True)
class TracedRows(Body):
    """The records that rows of a query's result were made of, when these are records of another query's row.

    Args:
        name: the stream or table that has the rows.
        query_id: of the query that writes it.
        topic: what the query reads.
        rows: how many of the records above are followed here.
        used: how many records they are made of.
        records: these: all, or the first and the last ones by event time.
        notes: what is not told, as sentences.
        upstream: the same for the records that are rows of other queries.
    """

    name: str
    query_id: str
    topic: str
    rows: int
    used: int
    records: tuple[SourceRecord, ...]
    notes: tuple[str, ...]
    upstream: tuple[TracedRows, ...]


@dataclass(frozen=True, kw_only=True)
class RowExplanation(Entity, type="row_explanation"):
    """The answer to EXPLAIN ROW and EXPLAIN MISSING ROW.

    Args:
        name: the stream or table.
        query_id: of the query that writes it.
        topic: what the query reads.
        is_missing: whether it tells of dropped records.
        used: how many records the rows are made of.
        dropped: the others.
        records: those that were used, or if a row is missing, dropped: all, or the first and the last ones by
            event time.
        notes: what else may be the reason, as sentences.
        upstream: what the used ones are made of, if queries have written them.
    """

    name: str
    query_id: str
    topic: str
    is_missing: bool
    used: int
    dropped: tuple[DroppedRecords, ...]
    records: tuple[SourceRecord, ...]
    notes: tuple[str, ...]
    upstream: tuple[TracedRows, ...]


@dataclass(frozen=True, kw_only=True)
class ChangedRow(Body):
    """A row of a result that would be another one without the record.

    Args:
        partition: of the record that wrote it; null: none was found.
        offset: its offset.
        before: the row without the record; null: there would be none.
        after: the row with it; null: there is none.
    """

    partition: int | None
    offset: int | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


#: what became of a record in a query; unknown: it is not told, and a note says why
Outcome: TypeAlias = Literal["changed", "unchanged", "dropped", "late", "failed", "unknown"]


@dataclass(frozen=True, kw_only=True)
class QueryEffect(Body):
    """What a record has changed in the result of one query.

    Args:
        query_id: of the query.
        name: the stream or table that it writes.
        topic: its topic.
        outcome: what became of the record.
        reasons: why the record was dropped, was late or failed.
        changed: how many rows it has changed.
        rows: these, or the first ones.
        sinks: the sinks outside Kafka that get them.
        notes: as sentences.
        below: the queries that read them.
    """

    query_id: str
    name: str
    topic: str
    outcome: Outcome
    reasons: tuple[str, ...]
    changed: int
    rows: tuple[ChangedRow, ...]
    sinks: tuple[str, ...]
    notes: tuple[str, ...]
    below: tuple[QueryEffect, ...]


@dataclass(frozen=True, kw_only=True)
class RecordExplanation(Entity, type="record_explanation"):
    """The answer to EXPLAIN RECORD.

    Args:
        names: the streams and tables over the topic.
        record: the record as the first of them has it.
        queries: what it has changed.
        notes: what is not told, as sentences.
    """

    names: tuple[str, ...]
    record: SourceRecord
    queries: tuple[QueryEffect, ...]
    notes: tuple[str, ...]
