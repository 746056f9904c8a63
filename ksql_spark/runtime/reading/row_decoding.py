"""Decodes rows in Python, for lookups, scans and push queries that need no Spark."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from ksql_spark.expressions import ColumnRef, Expression
from ksql_spark.formats import BadRecord
from ksql_spark.grammar.literals import Value
from ksql_spark.kafka.consumer import Record
from ksql_spark.metastore.serdes import stored_serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.plain_expressions import NO_PLACES, PlainRow, Values, function_of
from ksql_spark.runtime.reading.results import Row, api_form
from ksql_spark.runtime.reading.stored_row import StoredRow, split_key
from ksql_spark.schema import LATEST_TIME_MS, ROWOFFSET, ROWPARTITION, ROWTIME, WINDOWEND, WINDOWSTART
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import STRING, SqlType


class Reader:
    """Reads stored rows of a table, or records of a stream, as lists of values.

    Args:
        source: the table or stream.
        registry: has the schemas of formats that need them; or None.
    """

    def __init__(self, source: DataSource, registry: SchemaRegistry | None) -> None:
        self.source = source
        self.registry = registry
        self.key, self.value = stored_serdes(source, registry)
        before = (ROWTIME, WINDOWSTART, WINDOWEND) if source.is_table else (ROWTIME, ROWPARTITION, ROWOFFSET)
        #: column -> the index of its value in a row
        self.places: Mapping[str, int] = {
            name: place
            for place, name in enumerate(
                (*before, *(c.name for c in (*self.key.columns, *self.value.columns)))
            )
        }
        time = source.time_column
        #: whether rows have their event time; only the JVM reads one that is written in a pattern
        self.has_times = time is None or time.type != STRING
        self._no_key = [None] * len(self.key.columns)
        self._no_value = [None] * len(self.value.columns)

    def decode(self, row: StoredRow) -> list[Any] | None:
        """The values of a table's row, or None if a format cannot read it."""
        key, value, time_ms, start, end = row
        try:
            keys = self.key.decode(key) if self.key.columns else ()
            values = self.value.decode(value) if self.value.columns else ()
        except BadRecord:
            return None
        return None if keys is None or values is None else [time_ms, start, end, *keys, *values]

    def stream_row(self, record: Record) -> list[Any] | None:
        """The values of a stream's record; None for a NULL value.

        Raises:
            BadRecord: a format cannot read it, or it has no event time (reference §5.7).
        """
        _check_time(record)
        if record.value is None:
            return None
        values = self.value.decode(record.value) if self.value.columns else ()
        keys = None if record.key is None or not self.key.columns else self.key.decode(record.key)
        if values is None:
            return None
        return [record.timestamp_ms, record.partition, record.offset, *(keys or self._no_key), *values]

    def table_row(self, record: Record) -> tuple[list[Any], bool] | None:
        """The values of a table's record, and whether it deletes the row: then only those of its key are set.

        None: the record has no key. Raises BadRecord as ``stream_row``.
        """
        _check_time(record)
        if record.key is None:
            return None
        try:
            key, start, end = split_key(record.key, self.source.window)
        except struct.error:
            raise BadRecord("Its key is too short for a window.") from None
        keys = self.key.decode(key) or self._no_key
        values = None if record.value is None else self.value.decode(record.value)
        row = [record.timestamp_ms, start, end, *keys, *(values or self._no_value)]
        return row, values is None


def _check_time(record: Record) -> None:
    """Raise BadRecord for a record without an event time."""
    if not 0 <= record.timestamp_ms <= LATEST_TIME_MS:
        raise BadRecord("Its timestamp is missing, negative or too large.")


class Readers:
    """The most recently used readers: creating one takes longer than a lookup."""

    def __init__(self, size: int = 500) -> None:
        self._size = size
        #: by the source's identity: comparing sources takes as long as creating a reader
        self._readers: dict[tuple[int, int], Reader] = {}

    def of(self, source: DataSource, registry: SchemaRegistry | None) -> Reader:
        """The reader of ``source``."""
        name = (id(source), id(registry))
        reader = self._readers.get(name)
        if reader is None or reader.source is not source or reader.registry is not registry:
            if len(self._readers) >= self._size:
                self._readers = {}
            reader = self._readers[name] = Reader(source, registry)
        return reader


READERS = Readers()


def rows_of(
    items: Sequence[tuple[Expression, SqlType]],
    predicate: Expression | None,
    columns: Mapping[str, int],
    places: Mapping[Value, int] = NO_PLACES,
) -> Callable[[PlainRow, Values], Row | None]:
    """A function from a source's row, and placeholder values, to a row of the result.

    It returns None if ``predicate`` fails. The arguments are those of values_of.
    """
    select = values_of(items, predicate, columns, places)

    def row(source: PlainRow, values: Values) -> Row | None:
        selected = select(source, values)
        return None if selected is None else Row(selected)

    return row


def values_of(
    items: Sequence[tuple[Expression, SqlType]],
    predicate: Expression | None,
    columns: Mapping[str, int],
    places: Mapping[Value, int] = NO_PLACES,
) -> Callable[[PlainRow, Values], list[Any] | None]:
    """A function from a source's row, and placeholder values, to the values of a result row.

    It returns None if ``predicate`` fails.

    Args:
        items: the result's items and their types.
        predicate: a condition over the source's columns; None: all rows.
        columns: column -> its index in a row (Reader.places).
        places: constant -> the index of its placeholder value.
    """
    forms = [api_form(type_) for _, type_ in items]
    named = [item.name for item, _ in items if isinstance(item, ColumnRef)]
    if len(named) == len(items) > 1 and all(form is None for form in forms):
        get = itemgetter(*(columns[name] for name in named))
        select: Callable[[PlainRow, Values], list[Any]] = lambda row, values: list(get(row))  # noqa: E731
    else:
        gets = [
            (function_of(item, columns, places), form) for (item, _), form in zip(items, forms, strict=True)
        ]
        select = lambda row, values: [  # noqa: E731
            get(row, values) if form is None else form(get(row, values)) for get, form in gets
        ]
    if predicate is None:
        return select
    condition = function_of(predicate, columns, places)
    return lambda row, values: select(row, values) if condition(row, values) is True else None
