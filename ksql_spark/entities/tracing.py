"""The records that a row was made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.entities.base import Body, Entity


@dataclass(frozen=True, kw_only=True)
class DroppedRecords(Body):
    """The number of records of the row that were dropped for one reason."""

    reason: str
    count: int


@dataclass(frozen=True, kw_only=True)
class SourceRecord(Body):
    """A record of the row.

    Args:
        timestamp: its event time, epoch milliseconds.
        reason: why it was dropped; null: it was used.
        columns: its columns by name; null: it is gone, or cannot be read any more.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    reason: str | None
    columns: Mapping[str, Any] | None


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
    """

    name: str
    query_id: str
    topic: str
    is_missing: bool
    used: int
    dropped: tuple[DroppedRecords, ...]
    records: tuple[SourceRecord, ...]
    notes: tuple[str, ...]
