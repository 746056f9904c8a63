"""Push queries: a Spark query writes to a topic of its own, whose rows go to the client (reference §2.5)."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.metastore.serdes import value_serde
from ksql_spark.runtime.queries import ManagedQuery, QueryManager
from ksql_spark.runtime.results import Row, api_value, result_columns
from ksql_spark.schema import Column

log = logging.getLogger(__name__)


class PushResult:
    """A QueryStream over a running transient query.

    Args:
        query: the running query, which writes to a topic of its own (physical.planner.lower_transient).
        queries: the manager that runs it.
        columns: the result's columns.
        admin: of the cluster.
        limit: the query's LIMIT; None: no limit.
        on_close: called once, to remove the topic and the query's entry.
    """

    def __init__(
        self,
        query: ManagedQuery,
        queries: QueryManager,
        columns: Sequence[Column],
        admin: KafkaAdmin,
        limit: int | None,
        on_close: Callable[[], None],
    ) -> None:
        self.query_id = query.id
        self.kind = "PUSH"
        self.statement = query.statement
        self.columns = result_columns(columns)
        self.final_message: str | None = None
        self._types = [c.type for c in columns]
        self._serde = value_serde(query.plan.sink)
        self._query = query
        self._queries = queries
        self._left = limit
        self._on_close = on_close
        self._lock = threading.Lock()
        self._closed = False
        self._reader = TopicReader(admin.servers, query.plan.sink.topic, settings=admin.settings)

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
        rows = []
        for record in records:
            values = None if record.value is None else self._serde.decode(record.value)
            if values is not None:
                shown = [api_value(v, t) for v, t in zip(values[1:], self._types, strict=True)]
                rows.append(Row(shown, tombstone=bool(values[0])))
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
