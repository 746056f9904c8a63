"""Push queries, whose rows go to the client as they arrive (reference §2.5).

A query of plain columns and conditions over a stream reads the stream's topic itself. Any other is a query of
Spark that writes to a topic of its own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence

from ksql_spark import consistency
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import ColumnRef, Expression, columns_in
from ksql_spark.formats import BadRecord, FramedSerde
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.logical.nodes import Filter, Project, PushQuery, Source
from ksql_spark.metastore.serdes import value_serde
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.feeds import Subscription
from ksql_spark.runtime.managed_query import ManagedQuery
from ksql_spark.runtime.plain import READERS, is_plain, rows_of
from ksql_spark.runtime.queries import QueryManager
from ksql_spark.runtime.results import Row, api_value, result_columns
from ksql_spark.schema import PSEUDO_COLUMNS, Column, Role

#: records as the rows that a client gets
Rows = Callable[[Iterable[Record]], list[Row]]
#: takes a record that cannot be read, and why
OnUnreadable = Callable[[Record, BadRecord], None]


def results(sink: DataSource, columns: Sequence[Column]) -> Rows:
    """For a query of Spark: its records are its rows.

    Args:
        sink: the source of its topic (physical.planner.lower_transient).
        columns: the result's columns.
    """
    serde, types = value_serde(sink), [c.type for c in columns]

    def rows(records: Iterable[Record]) -> list[Row]:
        found = []
        for record in records:
            values = None if record.value is None else serde.decode(record.value)
            if values is not None:
                shown = [api_value(v, t) for v, t in zip(values[1:], types, strict=True)]
                found.append(Row(shown, tombstone=bool(values[0])))
        return found

    return rows


def direct(query: PushQuery, on_unreadable: OnUnreadable) -> tuple[DataSource, Rows] | None:
    """For a query that needs no Spark: the stream that it reads, and how; None for any other.

    It selects plain columns of one stream without a window, whose event time is its records' time, in
    formats that need no registry. Records that cannot be read are left out; ``on_unreadable`` gets them.
    """
    node = query.root
    if not isinstance(node, Project):
        return None
    named = {item.name: item.expression for item in (*node.keys, *node.values)}
    below = node.child
    predicate: Expression | None = None
    if isinstance(below, Filter):
        predicate, below = below.predicate, below.child
    if not isinstance(below, Source) or below.prefixed or below.source.is_table:
        return None
    source = below.source
    known = {c.name for c in source.schema.columns if c.role is not Role.HEADERS} | PSEUDO_COLUMNS.keys()
    for name, type_ in PSEUDO_COLUMNS.items():
        named.setdefault(name, ColumnRef(name, type_))
    if source.window is not None or source.timestamp is not None or source.schema.headers:
        return None
    if any(column.name not in named for column in query.output):
        return None
    items = [named[column.name] for column in query.output]
    everything = [*items, *([predicate] if predicate is not None else [])]
    if not all(is_plain(e) and columns_in(e) <= known for e in everything):
        return None
    reader = READERS.of(source, None)
    if isinstance(reader.key, FramedSerde) or isinstance(reader.value, FramedSerde):
        return None
    row_of = rows_of(
        [(e, c.type) for e, c in zip(items, query.output, strict=True)], predicate, reader.places
    )

    def rows(records: Iterable[Record]) -> list[Row]:
        found = []
        for record in records:
            try:
                values = reader.stream_row(record)
            except BadRecord as error:
                on_unreadable(record, error)
                continue
            row = None if values is None else row_of(values, ())
            if row is not None:
                found.append(row)
        return found

    return source, rows


class PushResult:
    """A QueryStream over a push query.

    Args:
        query: as the query manager has it.
        queries: the manager; once it has the query no more, the result ends.
        columns: the result's columns.
        reader: of the topic with the query's records.
        rows: makes rows of them.
        limit: the query's LIMIT; None: no limit.
        on_close: called once, to remove what the query has left.
    """

    def __init__(
        self,
        query: ManagedQuery,
        queries: QueryManager,
        columns: Sequence[Column],
        reader: TopicReader,
        rows: Rows,
        limit: int | None,
        on_close: Callable[[], None],
    ) -> None:
        self.query_id = query.id
        self.kind = "PUSH"
        self.statement = query.statement
        self.columns = result_columns(columns)
        self.final_message: str | None = None
        self._query = query
        self._queries = queries
        self._reader = reader
        self._rows = rows
        self._left = limit
        self._on_close = on_close
        self._lock = threading.Lock()
        self._closed = False

    def read(self, timeout_s: float) -> list[Row] | None:
        """The rows that have arrived, see QueryStream.

        Raises:
            KsqlError: QUERY_FAILED if the query failed.
        """
        if self._closed:
            self.final_message = self.final_message or "Query Completed"
            return None
        if self._left is not None and self._left <= 0:
            self.final_message = "Limit Reached"
            self.close()
            return None
        with self._lock:
            records = [] if self._closed else self._reader.poll_batch(timeout_s)
        rows = self._rows(records)
        if self._left is not None:
            rows = rows[: self._left]
            self._left -= len(rows)
        if not rows and self._query.errors:
            failure = self._query.errors[-1]
            self.close()
            raise KsqlError("QUERY_FAILED", id=self.query_id, reason=failure.message)
        if not rows and self._queries.find(self.query_id) is None:
            # TERMINATE has removed the query, and everything that it wrote has been read
            self.close()
            self.final_message = "Query Completed"
            return None
        return rows

    def close(self) -> None:
        """Drop the query and delete its topic; callable from any thread, more than once."""
        with contextlib.ExitStack() as stack:
            if self._closed:
                return
            self._closed = True
            stack.callback(self._on_close)
            self._queries.drop(self._query)
            with self._lock:
                self._reader.close()


class SharedResult:
    """A QueryStream over a push query that needs no Spark; what it reads is shared with others (feeds.py).

    Args:
        query: as the query manager has it.
        queries: the manager; once it has the query no more, the result ends.
        columns: the result's columns.
        subscription: to the topic.
        rows: makes rows of its records.
        same: equal for queries whose rows are the same.
        limit: the query's LIMIT; None: no limit.
        on_close: called once.
        gives_tokens: whether it tells how far it has read.
    """

    def __init__(
        self,
        query: ManagedQuery,
        queries: QueryManager,
        columns: Sequence[Column],
        subscription: Subscription,
        rows: Rows,
        same: Hashable,
        limit: int | None,
        on_close: Callable[[], None],
        *,
        gives_tokens: bool = False,
    ) -> None:
        self.query_id = query.id
        self.kind = "PUSH"
        self.statement = query.statement
        self.columns = result_columns(columns)
        self.final_message: str | None = None
        self._gives_tokens = gives_tokens
        self._query = query
        self._queries = queries
        self._subscription = subscription
        self._rows = rows
        self._same = same
        self._left = limit
        self._on_close = on_close
        self._lock = threading.Lock()
        self._closed = False

    @property
    def is_live(self) -> bool:
        """Whether read(0) never blocks, so that no thread is needed to read it."""
        return self._subscription.is_live

    @property
    def continuation(self) -> str | None:
        """A token of what was read, from which an equal query goes on; None if nobody wants one."""
        if not self._gives_tokens:
            return None
        return consistency.encode({self._subscription.topic: self._subscription.next})

    def when_arrived(self, on_arrival: Callable[[], None]) -> None:
        """Call ``on_arrival`` once, in any thread, when there may be something to read."""
        self._subscription.when_arrived(on_arrival)

    def read(self, timeout_s: float) -> list[Row] | None:
        """The rows that have arrived, see QueryStream.

        Raises:
            KsqlError: of the broker.
        """
        if self._closed:
            self.final_message = self.final_message or "Query Completed"
            return None
        if self._left is not None and self._left <= 0:
            self.final_message = "Limit Reached"
            self.close()
            return None
        with self._lock:
            batches = [] if self._closed else self._subscription.read(timeout_s)
        rows = [row for batch in batches for row in batch.made(self._same, self._rows)]
        if self._left is not None:
            rows = rows[: self._left]
            self._left -= len(rows)
        if not rows and self._queries.find(self.query_id) is None:
            self.close()  # TERMINATE has removed the query
            self.final_message = "Query Completed"
            return None
        return rows

    def close(self) -> None:
        """End the query; callable from any thread, more than once."""
        with contextlib.ExitStack() as stack:
            if self._closed:
                return
            self._closed = True
            stack.callback(self._on_close)
            self._queries.drop(self._query)
            self._subscription.close()
            with self._lock:
                self._subscription.free()
