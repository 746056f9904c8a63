"""Pull queries: the current rows of a materialized table (reference §2.5).

The view answers lookups of plain columns without Spark. Spark evaluates any other expression over the rows
that were found, with the same lowering as for streams.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark import deadline
from ksql_spark.expressions import Expression, Literal
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.queries import IndexLookup, KeyLookup, Lookup
from ksql_spark.runtime.errors import jobs_reported
from ksql_spark.runtime.plain_expressions import function_of, is_plain
from ksql_spark.runtime.reading.key_ranges import key_ranges
from ksql_spark.runtime.reading.results import (
    SMALL,
    Computed,
    PullResult,
    ResultColumn,
    Row,
    Rows,
    row_form,
)
from ksql_spark.runtime.reading.row_decoding import READERS, rows_of
from ksql_spark.runtime.reading.stored_row import StoredRow
from ksql_spark.runtime.reading.view import PAGE_ROWS, View
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.spark.batch import evaluate_rows
from ksql_spark.spark.evaluate import STORED_KEY, evaluate
from ksql_spark.types import BOOLEAN


class ScanResult(Computed):
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
    query: Lookup,
    view: View,
    session: Callable[[], SparkSession],
    registry: SchemaRegistry | None = None,
) -> PullResult | ScanResult:
    """Answer ``query``, a pull query on a table, from its view.

    Raises:
        KsqlError: as jobs_reported; as deadline.check().
    """
    stored = _checked(_stored(query, view, session))
    columns = [ResultColumn.of(i.name, i.expression.type, i.name in query.key_names) for i in query.items]
    pages = _limited(_selected(query, stored, session, registry), query.offset or 0, query.limit)
    rows: list[Row] = []
    for page in pages:
        rows += page
        if len(rows) >= SMALL:
            return ScanResult(columns, rows, pages)
    return PullResult(columns, rows)


def _checked(pages: Iterator[Sequence[StoredRow]]) -> Iterator[Sequence[StoredRow]]:
    """``pages``, until a deadline."""
    for page in pages:
        deadline.check()
        yield page


def _stored(query: Lookup, view: View, session: Callable[[], SparkSession]) -> Iterator[Sequence[StoredRow]]:
    """Pages of the rows to which the WHERE may apply."""
    keys = None if query.lookups is None else encoded_keys(query.source, query.lookups, session)
    if keys is None:
        found = None if query.index is None else found_rows(query.index, view, session)
        yield from view.pages(key_ranges(query.source, query.predicate)) if found is None else found
        return
    rows = view.get(keys)
    for first in range(0, len(rows), PAGE_ROWS):
        yield rows[first : first + PAGE_ROWS]


def found_rows(
    look_up: IndexLookup, view: View, session: Callable[[], SparkSession]
) -> Iterator[Sequence[StoredRow]] | None:
    """Pages of the rows that an index finds; None if the view does not have it yet, or finds too many."""
    index = view.index(look_up.index)
    if index is None:
        return None
    constants = [[*each.equal, *(value for _, value in each.bounds)] for each in look_up.ranges]
    values = iter(_constants(list(itertools.chain.from_iterable(constants)), session))
    ranges = []
    for each in look_up.ranges:
        equal = [next(values) for _ in each.equal]
        ranges.append(index.range_of(equal, [(name, next(values)) for name, _ in each.bounds]))
    return view.found(index, ranges)


def _constants(constants: Sequence[Expression], session: Callable[[], SparkSession]) -> list[Any]:
    """The values of constants, in the formats' Python form."""
    if all(map(is_plain, constants)):
        return [function_of(constant, {})((), ()) for constant in constants]
    with jobs_reported():
        return evaluate(session(), constants)


def _evaluated_by_spark(
    query: Lookup,
    page: Sequence[StoredRow],
    expressions: Sequence[Expression],
    session: Callable[[], SparkSession],
) -> list[list[Any]]:
    """The values of ``expressions`` for each row of a page that ``query`` finds, as ``evaluate_rows``.

    Raises:
        KsqlError: as jobs_reported.
    """
    with jobs_reported():
        return evaluate_rows(session(), query.source, page, expressions, query.predicate)


def evaluated(
    query: Lookup,
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
            selected = [*expressions, STORED_KEY]
            for *values, key in _evaluated_by_spark(query, page, selected, session):
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
    values = iter(
        _constants(list(itertools.chain.from_iterable(lookup.values for lookup in lookups)), session)
    )
    keys: dict[bytes, None] = {}
    for lookup in lookups:
        parts = list(itertools.islice(values, len(lookup.values)))
        if None not in parts:
            keys |= dict.fromkeys(serde.key_forms(parts))
    return list(keys)


def _selected(
    query: Lookup,
    stored: Iterator[Sequence[StoredRow]],
    session: Callable[[], SparkSession],
    registry: SchemaRegistry | None,
) -> Iterator[list[Row]]:
    """The result's rows of each page of stored rows."""
    expressions = [i.expression for i in query.items]
    everything = [*expressions, *([query.predicate] if query.predicate is not None else [])]
    reader = READERS.of(query.source, registry)
    if not (reader.has_times and all(map(is_plain, everything))):
        form = row_form(e.type for e in expressions)
        for page in stored:
            yield [Row(form(row)) for row in _evaluated_by_spark(query, page, expressions, session)]
        return
    row_of = rows_of([(e, e.type) for e in expressions], query.predicate, reader.places)
    for page in stored:
        decoded = (row for row in map(reader.decode, page) if row is not None)
        yield [row for values in decoded if (row := row_of(values, ())) is not None]
