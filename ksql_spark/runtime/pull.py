"""Pull queries: the current rows of a materialized table (reference §2.5).

Look-ups of plain columns are answered from the view, without Spark. Spark evaluates any other expression over
the rows that were found, with the lowering that streams use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark.expressions import Literal
from ksql_spark.formats import FramedSerde
from ksql_spark.logical.nodes import KeyLookup, PullQuery
from ksql_spark.metastore.serdes import value_serde
from ksql_spark.metastore.sources import DataSource
from ksql_spark.physical.steps import PhysicalPlan
from ksql_spark.runtime.plain import READERS, is_plain, value_of
from ksql_spark.runtime.results import ResultColumn, Row, api_value, result_columns
from ksql_spark.runtime.views import StoredRow, Views
from ksql_spark.schema import Column
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.spark.build import build
from ksql_spark.spark.evaluate import evaluate, evaluate_rows
from ksql_spark.spark.frames import Context, quoted

#: how many rows are answered as one piece
SMALL = 2_000
#: how many stored rows Spark evaluates at a time
_BATCH = 2_000


class PullResult:
    """A QueryStream over rows in memory."""

    def __init__(
        self, columns: list[ResultColumn], rows: list[Row], final_message: str | None = None
    ) -> None:
        self.query_id = f"query_{int(time.time() * 1000)}"
        self.kind = "PULL"
        self.columns = columns
        self.final_message: str | None = None
        self._final = final_message
        self._rows: list[Row] | None = rows
        #: whether all of it is one small answer: read() never waits, and nothing has to be closed
        self.is_complete = len(rows) <= SMALL

    def read(self, timeout_s: float) -> list[Row] | None:
        """All rows at the first call, then None."""
        rows, self._rows = self._rows, None
        if rows is None:
            self.final_message = self._final
        return rows

    def close(self) -> None:
        """Nothing to free."""
        self._rows = None


def run(
    query: PullQuery,
    views: Views,
    session: Callable[[], SparkSession],
    timeout_s: float,
    registry: SchemaRegistry | None = None,
) -> PullResult:
    """Answer ``query``, a pull query on a table.

    Raises:
        KsqlError: VIEW_BEHIND if the view is not up to date within ``timeout_s`` seconds.
    """
    view = views.current(query.source, timeout_s)
    keys = None if query.lookups is None else encoded_keys(query.source, query.lookups, session)
    stored = view.scan() if keys is None else view.get(keys)
    rows = _select(query, stored, session, registry)
    if query.offset:
        rows = rows[query.offset :]
    if query.limit is not None:
        rows = rows[: query.limit]
    columns = [ResultColumn.of(i.name, i.expression.type, i.name in query.key_names) for i in query.items]
    types = [i.expression.type for i in query.items]
    shown = [Row([api_value(v, t) for v, t in zip(row, types, strict=True)]) for row in rows]
    return PullResult(columns, shown)


def encoded_keys(
    source: DataSource, lookups: Sequence[KeyLookup], session: Callable[[], SparkSession]
) -> list[bytes] | None:
    """The keys to look up, encoded to bytes, without duplicates and NULLs.

    None: a key may have been written in more than one way, by different schemas.
    """
    serde = READERS.of(source, None).key
    if isinstance(serde, FramedSerde):
        return None
    keys: dict[bytes, None] = {}
    for lookup in lookups:
        values = [v.value for v in lookup.values if isinstance(v, Literal)]
        if len(values) < len(lookup.values):
            values = evaluate(session(), lookup.values)
        key = None if None in values else serde.encode(values)
        if key is not None:
            keys[key] = None
    return list(keys)


def run_on_stream(
    plan: PhysicalPlan,
    columns: Sequence[Column],
    session: SparkSession,
    consumer: Mapping[str, str],
    limit: int | None,
    offset: int = 0,
) -> PullResult:
    """Answer a pull query on a stream: one batch over the records that are in its topic now.

    Args:
        plan: from physical.planner.lower_transient.
        columns: the result's columns.
        session: any session.
        consumer: settings of Kafka's consumers.
        limit: the query's LIMIT; None: all rows.
        offset: number of rows to skip.
    """
    frame = build(plan.root, Context(session, consumer, {}, is_batch=True))
    serde = value_serde(plan.sink)
    names = [quoted(c.name) for c in plan.sink.schema.value]
    encoded = frame.selectExpr(f"{serde.encode_sql(names)} AS row")
    if limit is not None:
        encoded = encoded.limit(offset + limit)
    rows = []
    for record in encoded.toLocalIterator():
        values = serde.decode(bytes(record[0]))
        if values is not None:
            rows.append(Row([api_value(v, c.type) for v, c in zip(values[1:], columns, strict=True)]))
    del rows[:offset]
    done = "Limit Reached" if limit is not None and len(rows) >= limit else "Query Completed"
    result = PullResult(result_columns(columns), rows, done)
    result.kind = "STREAM_PULL"
    return result


def _select(
    query: PullQuery,
    stored: Sequence[StoredRow],
    session: Callable[[], SparkSession],
    registry: SchemaRegistry | None,
) -> list[list[Any]]:
    expressions = [i.expression for i in query.items]
    everything = [*expressions, *([query.predicate] if query.predicate is not None else [])]
    if all(is_plain(e) for e in everything):
        rows = []
        for row in map(READERS.of(query.source, registry).decode, stored):
            if row is not None and (query.predicate is None or value_of(query.predicate, row) is True):
                rows.append([value_of(e, row) for e in expressions])
        return rows
    rows = []
    for start in range(0, len(stored), _BATCH):
        batch = stored[start : start + _BATCH]
        rows += evaluate_rows(session(), query.source, batch, expressions, query.predicate)
    return rows
