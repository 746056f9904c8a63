"""Pull queries: the current rows of a materialized table (reference §2.5).

The view answers lookups of plain columns without Spark. Spark evaluates any other expression over the rows
that were found, with the same lowering as for streams.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark.expressions import Expression, Literal
from ksql_spark.metastore.serdes import value_serde
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.nodes import KeyLookup, PullQuery
from ksql_spark.plan.stages import Plan
from ksql_spark.runtime.errors import job_failure
from ksql_spark.runtime.plain_expressions import function_of, is_plain
from ksql_spark.runtime.reading.key_ranges import key_ranges
from ksql_spark.runtime.reading.results import (
    SMALL,
    PullResult,
    QueryStream,
    ResultColumn,
    Row,
    Rows,
    api_form,
    api_value,
    result_columns,
)
from ksql_spark.runtime.reading.row_decoding import READERS, rows_of
from ksql_spark.runtime.reading.view import PAGE_ROWS, StoredRow, View
from ksql_spark.schema import Column
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.spark import jvm
from ksql_spark.spark.build import build
from ksql_spark.spark.evaluate import STORED_KEY, evaluate, evaluate_rows
from ksql_spark.spark.frames import Context, quoted
from ksql_spark.spark.sources import WHOLE_TOPICS, BatchRanges, read
from ksql_spark.types import BOOLEAN


class ScanResult(QueryStream):
    """A QueryStream over the pages of a view, which are read as the client consumes them.

    Args:
        columns: of the result.
        first: the first rows.
        pages: yields the others.
    """

    def __init__(self, columns: list[ResultColumn], first: list[Row], pages: Iterator[list[Row]]) -> None:
        self.query_id = f"query_{int(time.time() * 1000)}"
        self.kind = "PULL"
        self.columns = columns
        self.final_message: str | None = None
        self._pages = itertools.chain([first], pages)
        self._closed = False

    def read(self, timeout_s: float) -> Rows | None:
        """The next page; None after the last."""
        page = None if self._closed else next(self._pages, None)
        return None if page is None else Rows(page)

    def close(self) -> None:
        """Stop reading."""
        self._closed = True


def run(
    query: PullQuery,
    view: View,
    session: Callable[[], SparkSession],
    registry: SchemaRegistry | None = None,
) -> PullResult | ScanResult:
    """Answer ``query``, a pull query on a table, from its view."""
    stored = _stored(query, view, session)
    columns = [ResultColumn.of(i.name, i.expression.type, i.name in query.key_names) for i in query.items]
    pages = _limited(_selected(query, stored, session, registry), query.offset or 0, query.limit)
    rows: list[Row] = []
    for page in pages:
        rows += page
        if len(rows) >= SMALL:
            return ScanResult(columns, rows, pages)
    return PullResult(columns, rows)


def _stored(
    query: PullQuery, view: View, session: Callable[[], SparkSession]
) -> Iterator[Sequence[StoredRow]]:
    """Pages of the rows to which the WHERE may apply."""
    keys = None if query.lookups is None else encoded_keys(query.source, query.lookups, session)
    if keys is None:
        yield from view.pages(key_ranges(query.source, query.predicate))
        return
    found = view.get(keys)
    for first in range(0, len(found), PAGE_ROWS):
        yield found[first : first + PAGE_ROWS]


def evaluated(
    query: PullQuery,
    expressions: Sequence[Expression],
    view: View,
    session: Callable[[], SparkSession],
    registry: SchemaRegistry | None = None,
) -> Iterator[tuple[bytes, list[Any]]]:
    """Yield, for each row that ``query`` finds in a table, its key's bytes and the values of ``expressions``.

    The values are in the formats' Python form; the query's items do not matter.
    """
    everything = [*expressions, *([query.predicate] if query.predicate is not None else [])]
    stored = _stored(query, view, session)
    reader = READERS.of(query.source, registry)
    if not (reader.has_times and all(map(is_plain, everything))):
        for page in stored:
            wanted = [*expressions, STORED_KEY]
            for *values, key in evaluate_rows(session(), query.source, page, wanted, query.predicate):
                yield key, values
        return
    fits = function_of(query.predicate or Literal(True, BOOLEAN), reader.places)
    gets = [function_of(expression, reader.places) for expression in expressions]
    for row in itertools.chain.from_iterable(stored):
        values_of_row = reader.decode(row)
        if values_of_row is not None and fits(values_of_row, ()) is True:
            yield row.key, [get(values_of_row, ()) for get in gets]


def _limited(pages: Iterator[list[Row]], offset: int, limit: int | None) -> Iterator[list[Row]]:
    """``pages`` without the first ``offset`` rows, up to ``limit`` rows; reads no page unnecessarily."""
    remaining = limit
    while remaining is None or remaining > 0:
        page = next(pages, None)
        if page is None:
            return
        skipped = min(offset, len(page))
        offset -= skipped
        page = page[skipped : None if remaining is None else skipped + remaining]
        if remaining is not None:
            remaining -= len(page)
        yield page


def encoded_keys(
    source: DataSource, lookups: Sequence[KeyLookup], session: Callable[[], SparkSession]
) -> list[bytes] | None:
    """The encoded keys to look up, without duplicates and NULLs.

    None if a key may have been written in more than one way, with different schemas.
    """
    serde = READERS.of(source, None).key
    if serde.asks_registry:
        return None
    keys: dict[bytes, None] = {}
    for lookup in lookups:
        if all(map(is_plain, lookup.values)):
            values = [function_of(value, {})((), ()) for value in lookup.values]
        else:
            values = evaluate(session(), lookup.values)
        if None not in values:
            keys |= dict.fromkeys(serde.key_forms(values))
    return list(keys)


def run_on_stream(
    plan: Plan,
    columns: Sequence[Column],
    session: SparkSession,
    consumer: Mapping[str, str],
    limit: int | None,
    offset: int = 0,
    ranges: BatchRanges = WHOLE_TOPICS,
) -> PullResult:
    """Run a pull query on a stream: one batch over the records that are currently in its topic.

    Args:
        plan: from plan.planner.lower_transient.
        columns: the result's columns.
        session: any session.
        consumer: settings of Kafka's consumers.
        limit: the query's LIMIT; None: all rows.
        offset: number of rows to skip.
        ranges: what is read of the stream.

    Raises:
        KsqlError: INTERNAL where Spark cannot run it.
    """
    (source,) = plan.sources
    archive = ranges.archives.get(source.topic)
    records = read(session, consumer, source.topic, ranges.starts, archive=archive)
    frame = build(Context(session, plan.last, records)).frame
    serde = value_serde(plan.sink)
    names = [quoted(c.name) for c in plan.sink.schema.value]
    encoded = frame.selectExpr(f"{serde.encode_sql(names)} AS row")
    if limit is not None:
        encoded = encoded.limit(offset + limit)
    rows = []
    try:
        for record in encoded.toLocalIterator():
            values = serde.decode(bytes(record[0]))
            if values is not None:
                rows.append(Row([api_value(v, c.type) for v, c in zip(values[1:], columns, strict=True)]))
    except jvm.JvmError as error:
        raise job_failure(error) from error
    del rows[:offset]
    done = "Limit Reached" if limit is not None and len(rows) >= limit else "Query Completed"
    result = PullResult(result_columns(columns), rows, done)
    result.kind = "STREAM_PULL"
    return result


def _selected(
    query: PullQuery,
    stored: Iterator[Sequence[StoredRow]],
    session: Callable[[], SparkSession],
    registry: SchemaRegistry | None,
) -> Iterator[list[Row]]:
    """The result's rows of each page of stored rows."""
    expressions = [i.expression for i in query.items]
    everything = [*expressions, *([query.predicate] if query.predicate is not None else [])]
    reader = READERS.of(query.source, registry)
    if not (reader.has_times and all(map(is_plain, everything))):
        forms = [api_form(e.type) for e in expressions]
        for page in stored:
            found = evaluate_rows(session(), query.source, page, expressions, query.predicate)
            yield [
                Row([v if form is None else form(v) for v, form in zip(row, forms, strict=True)])
                for row in found
            ]
        return
    row_of = rows_of([(e, e.type) for e in expressions], query.predicate, reader.places)
    for page in stored:
        decoded = (row for row in map(reader.decode, page) if row is not None)
        yield [row for values in decoded if (row := row_of(values, ())) is not None]
