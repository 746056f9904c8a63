"""Push queries, whose rows go to the client as they arrive (reference §2.5).

A query of plain columns and conditions over a stream, or over the keys of a table, reads the topic itself.
Any other is a query of Spark that writes to a topic of its own, which all clients that ask the same read
(shared_queries.py).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from ksql_spark.consistency import Position
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, ColumnRef, Expression, columns_in, walk
from ksql_spark.formats import BadRecord
from ksql_spark.kafka.consumer import Record
from ksql_spark.metastore.serdes import leaves_out_columns, value_serde
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.nodes import Filter, Project, Source
from ksql_spark.plan.queries import Feed
from ksql_spark.runtime.plain_expressions import is_plain
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.runtime.reading.results import QueryStream, Row, Rows, result_columns, row_form
from ksql_spark.runtime.reading.row_decoding import READERS, rows_of
from ksql_spark.runtime.reading.topic_feeds import Batch, Subscription
from ksql_spark.schema import PSEUDO_COLUMNS, WINDOW_BOUNDS, Column

#: makes records the rows that a client gets
RowMaker = Callable[[Iterable[Record]], Rows]
#: takes a record that cannot be read, and why
OnUnreadable = Callable[[Record, BadRecord], None]


#: larger than all offsets
_ANY = 2**63


class PlacedRows(Rows):
    """RowMaker of a query of Spark, with the partitions and offsets of the records that they were made of."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[int, int]] = []
        #: partition -> the first of the offsets, and the offset after the last
        self.first: dict[int, int] = {}
        self.next: dict[int, int] = {}

    def add(self, row: Row, partition: int, offset: int | None) -> None:
        """Add a row; only during construction. Deletions of rows that no longer match have no offset."""
        self.append(row)
        self.places.append((partition, _ANY if offset is None else offset))
        if offset is None:
            return
        self.first[partition] = min(offset, self.first.get(partition, offset))
        self.next[partition] = max(offset + 1, self.next.get(partition, 0))

    def since(self, starts: Mapping[int, int]) -> Rows:
        """The rows of records from ``starts`` (partition -> offset) on."""
        for partition, first in self.first.items():
            if first < starts.get(partition, 0):
                break
        else:
            return self
        places = zip(self, self.places, strict=True)
        return Rows(row for row, (partition, offset) in places if offset >= starts.get(partition, 0))


def results(sink: DataSource, columns: Sequence[Column]) -> RowMaker:
    """Return a function that turns records of a Spark query's topic into result rows.

    Args:
        sink: the source of its topic (plan.planner.lower_transient).
        columns: the result's columns.
    """
    serde, form = value_serde(sink), row_form(c.type for c in columns)
    end = len(columns) + 1
    has_places = len(sink.schema.columns) > end

    def rows(records: Iterable[Record]) -> Rows:
        plain, placed = Rows(), PlacedRows()
        for record in records:
            values = None if record.value is None else serde.decode(record.value)
            if values is not None:
                row = Row(form(values[1:end]), tombstone=bool(values[0]))
                if has_places:
                    placed.add(row, *values[end:])
                else:
                    plain.append(row)
        return placed if has_places else plain

    return rows


def direct(query: Feed, on_unreadable: OnUnreadable) -> tuple[DataSource, RowMaker] | None:
    """Return the source that a query without Spark reads, and its RowMaker; None if the query needs Spark.

    Such a query selects plain columns of one stream without a window, or of one table with conditions on its
    key alone, whose event time is its records' time, in formats that need no registry. Unreadable records are
    skipped and passed to ``on_unreadable``.
    """
    node = query.root
    if not isinstance(node, Project):
        return None
    named = {item.name: item.expression for item in (*node.keys, *node.values)}
    below = node.child
    predicate: Expression | None = None
    if isinstance(below, Filter):
        predicate, below = below.predicate, below.child
    if not isinstance(below, Source) or below.prefixed:
        return None
    source = below.source
    for name, type_ in (PSEUDO_COLUMNS | WINDOW_BOUNDS).items():
        named.setdefault(name, ColumnRef(name, type_))
    if (
        (source.window is not None and not source.is_table)
        or leaves_out_columns(source)
        or source.timestamp is not None
        or source.schema.headers
        or source.topic_pattern is not None
        or source.constraints
        or source.max_ahead_ms is not None
    ):
        return None
    if any(column.name not in named for column in query.output):
        return None
    items = [named[column.name] for column in query.output]
    everything = [*items, *([predicate] if predicate is not None else [])]
    # Spark reports a LIKE of NULL to the processing log
    has_like = any(isinstance(part, Call) and part.function == "LIKE" for e in everything for part in walk(e))
    reader = READERS.of(source, None)
    available = reader.places.keys() - (WINDOW_BOUNDS.keys() if source.window is None else set())
    if has_like or not all(is_plain(e) and columns_in(e) <= available for e in everything):
        return None
    if reader.key.asks_registry or reader.value.asks_registry:
        return None
    of_key = {c.name for c in source.schema.key} | WINDOW_BOUNDS.keys()
    if source.is_table and predicate is not None and not columns_in(predicate) <= of_key:
        return None  # a row that no longer matches is deleted: who has it is in a query's state
    row_of = rows_of(
        [(e, c.type) for e, c in zip(items, query.output, strict=True)], predicate, reader.places
    )
    keys = {c.name for c in node.schema.key} | WINDOW_BOUNDS.keys()
    is_of_key = [column.name in keys for column in query.output]

    def row(record: Record) -> Row | None:
        if not source.is_table:
            values = reader.stream_row(record)
            return None if values is None else row_of(values, ())
        changed = reader.table_row(record)
        made = None if changed is None else row_of(changed[0], ())
        if changed is None or made is None or not changed[1]:
            return made
        kept = (v if is_kept else None for v, is_kept in zip(made.values, is_of_key, strict=True))
        return Row(list(kept), tombstone=True)

    def rows(records: Iterable[Record]) -> Rows:
        result_rows = Rows()
        for record in records:
            try:
                made = row(record)
            except BadRecord as error:
                on_unreadable(record, error)
                continue
            if made is not None:
                result_rows.append(made)
        return result_rows

    return source, rows


class Places:
    """The progress of a client in a stream or table whose rows a Spark query makes.

    Args:
        starts: partition -> offset of the first record that the client wants rows of.
    """

    def __init__(self, starts: Mapping[int, int]) -> None:
        self._starts = starts
        #: partition -> the offset after the last record whose rows the client has
        self.next = dict(starts)

    def own(self, rows: Rows) -> Rows:
        """Return those of ``rows`` that the client wants, and record the progress."""
        if not isinstance(rows, PlacedRows):
            return rows
        reached = self.next
        for partition, offset in rows.next.items():
            if offset > reached.get(partition, 0):
                reached[partition] = offset
        return rows.since(self._starts)


class PushResult(QueryStream):
    """A QueryStream over a push query. Others share what it reads (topic_feeds.py).

    Args:
        query: the query manager's query.
        queries: the manager; the result ends once it no longer has the query.
        columns: the result's columns.
        subscription: to the stream's topic, or to that of a query of Spark.
        rows: converts its records to rows.
        same: equal for queries whose rows are the same.
        limit: the query's LIMIT; None: no limit.
        on_close: called once.
        places: positions of a Spark query's rows; None if the client wants everything that the subscription
            reads.
        followed: the topic that continuation tokens are about, and its id; None: there are none.
    """

    def __init__(
        self,
        query: ManagedQuery,
        queries: QueryManager,
        columns: Sequence[Column],
        subscription: Subscription,
        rows: RowMaker,
        same: Hashable,
        limit: int | None,
        on_close: Callable[[], None],
        *,
        places: Places | None = None,
        followed: tuple[str, str | None] | None = None,
    ) -> None:
        self.query_id = query.id
        self.kind = "PUSH"
        self.statement = query.statement
        self.columns = result_columns(columns)
        self.final_message: str | None = None
        self._followed = followed
        self._query = query
        self._queries = queries
        self._subscription = subscription
        self._rows = rows
        self._same = same
        self._remaining = limit
        self._on_close = on_close
        self._places = places
        self._lock = threading.Lock()
        self._closed = False
        #: whether TERMINATE has removed the query, and whether the result has ended
        self._is_removed = self._has_ended = False

    @property
    def is_live(self) -> bool:
        """Whether read(0) never blocks, so that reading needs no thread."""
        return self._subscription.is_live

    @property
    def continuation(self) -> str | None:
        """A token of the position, from which an equal query can resume; None if tokens are not wanted."""
        if self._followed is None:
            return None
        reached = self._subscription.next if self._places is None else self._places.next
        return Position(*self._followed, reached, int(time.time() * 1000)).token

    def when_arrived(self, on_arrival: Callable[[], None]) -> None:
        """Call ``on_arrival`` once, in any thread, when there may be something to read."""
        if self._closed or self._has_ended or self._remaining == 0:
            on_arrival()
        else:
            self._subscription.when_arrived(on_arrival)

    def read(self, timeout_s: float) -> Rows | None:
        """The rows that have arrived, see QueryStream. With 0 it never blocks: who calls that has to close.

        Raises:
            KsqlError: of the broker; QUERY_FAILED if the query of Spark failed.
        """
        if self._closed or self._has_ended:
            self.final_message = self.final_message or "Query Completed"
            return None
        if self._remaining is not None and self._remaining <= 0:
            self._end("Limit Reached", timeout_s)
            return None
        was_removed = self._is_removed
        self._is_removed = self._queries.find(self.query_id) is None
        with self._lock:
            batches = [] if self._closed or was_removed else self._subscription.read(timeout_s)
        rows = self._rows_of(batches)
        if self._remaining is not None:
            rows = rows if len(rows) <= self._remaining else Rows(rows[: self._remaining])
            self._remaining -= len(rows)
        if rows:
            return rows
        if self._is_removed:  # by TERMINATE, and everything that had arrived was read
            self._end("Query Completed", timeout_s)
            return None
        if not batches and self._query.errors:
            self._end(None, timeout_s)
            raise KsqlError(
                "QUERY_FAILED", id=self.query_id, reason=self._query.errors[-1].message.rstrip(".")
            )
        return rows

    def _end(self, message: str | None, timeout_s: float) -> None:
        """Return no more rows."""
        self._has_ended, self.final_message = True, message
        if timeout_s > 0:
            self.close()

    def _rows_of(self, batches: Sequence[Batch]) -> Rows:
        """Return the client's rows of the batches."""
        if len(batches) == 1:
            rows: Rows = batches[0].result(self._same, self._rows)
            return rows if self._places is None else self._places.own(rows)
        pages = (batch.result(self._same, self._rows) for batch in batches)
        own = pages if self._places is None else map(self._places.own, pages)
        parts = [rows for rows in own if rows]
        return Rows.of(parts) if parts else Rows()

    def close(self) -> None:
        """End the query; any thread may call this, more than once."""
        with contextlib.ExitStack() as stack:
            if self._closed:
                return
            self._closed = True
            stack.callback(self._on_close)
            stack.callback(self._free)
            self._queries.drop(self._query)

    def _free(self) -> None:
        self._subscription.close()
        with self._lock:
            self._subscription.free()
