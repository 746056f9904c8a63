"""What a server counts of its queries: records and bytes, and records in error."""

from __future__ import annotations

import time
from collections.abc import Collection

from ksql_spark.runtime.queries.state_bounds import StateBounds
from ksql_spark.spark.processing_log import Counts, Graces, ProcessingLog
from ksql_spark.spark.traffic import Traffic


class Halts:
    """Notes for how long queries have not read on although records came, as while a slow function runs."""

    def __init__(self) -> None:
        #: query id -> offsets that it had read, its lag then, and when that was, on the monotonic clock
        self._last: dict[str, tuple[float, float, float]] = {}
        #: query id -> for how long it had halted when it was looked at
        self._seconds: dict[str, float] = {}

    def note(self, query_id: str, read: float, lag: float, now: float) -> None:
        """Note how far a query is.

        Args:
            query_id: the query.
            read: how many offsets it has read, in all topics.
            lag: how many it has not.
            now: on the monotonic clock.
        """
        last_read, last_lag, since = self._last.get(query_id, (read, lag, now))
        if read != last_read or lag <= last_lag:
            last_lag, since = lag, now
        self._last[query_id] = read, last_lag, since
        self._seconds[query_id] = now - since

    def seconds(self, query_id: str) -> float:
        """For how long a query had stood still while its lag grew, as noted last; 0: it had not."""
        return self._seconds.get(query_id, 0.0)

    def keep(self, query_ids: Collection[str]) -> None:
        """Forget all other queries."""
        self._last = {id_: last for id_, last in self._last.items() if id_ in query_ids}
        self._seconds = {id_: last for id_, last in self._seconds.items() if id_ in query_ids}


class QueryFigures:
    """The figures of queries since the server, or Spark's JVM, has started. Thread-safe.

    Args:
        processing_log: counts what queries do on Spark, or None to count nothing there.
    """

    def __init__(self, processing_log: ProcessingLog | None) -> None:
        self._log = processing_log
        #: push query -> the number of records that it could not read, and the time of the last one, epoch ms
        self._unreadable: dict[str, tuple[int, int]] = {}
        #: the number of records that push queries could not read, including those that have ended
        self.unreadable_by_push = 0
        self.halts = Halts()
        self.state_bounds = StateBounds()

    @property
    def logs_records(self) -> bool:
        """Whether errors of single records are written to a topic."""
        return self.log_topic is not None

    @property
    def log_topic(self) -> str | None:
        """The topic to which errors of single records are written, or None if they are only counted."""
        return self._log.topic if self._log is not None else None

    def is_log(self, topic: str) -> bool:
        """Whether a topic is that of the processing log, which may not exist yet."""
        return self._log is not None and self._log.own_topic == topic

    def keep_entries(self) -> None:
        """Write errors of single records to their topic, which exists, from now on."""
        if self._log is not None:
            self._log.keep()

    def counts(self, query_id: str) -> Counts:
        """Counts of a query's record errors since the server started."""
        counts = self._log.counts(query_id) if self._log is not None else Counts(0, 0, 0, 0, None)
        own = self._unreadable.get(query_id)
        return counts if own is None else counts._replace(unreadable=own[0], last_ms=own[1])

    def graces(self, query_id: str) -> Graces | None:
        """Which grace periods would have been enough for a query's late records, or None if unknown."""
        return self._log.graces(query_id) if self._log is not None else None

    def traffic(self) -> dict[str, Traffic]:
        """Records and bytes that queries have read and written, by id, since Spark's JVM started."""
        return self._log.traffic() if self._log is not None else {}

    def lag_s(self, query_id: str, traffic: Traffic) -> float:
        """For how long the oldest record has waited for a query; 0: none waits."""
        waiting = traffic.waiting_ms
        fetched_s = 0.0 if waiting is None else max(0.0, time.time() - waiting / 1000)
        return max(fetched_s, self.halts.seconds(query_id))

    def state_entries(self, query_id: str, run_id: str) -> int:
        """The number of entries in the state of a Spark query, ``run_id``, of a query."""
        return self._log.state_entries(query_id, run_id) if self._log is not None else 0

    def jvm_figures(self) -> dict[str, float]:
        """Metrics of Spark's JVM, by their names in JvmFigures.java."""
        return self._log.jvm_figures() if self._log is not None else {}

    def note_unreadable(self, query_id: str) -> None:
        """A push query without Spark could not read a record. Only one thread per query calls this."""
        last = self._unreadable.get(query_id, (0, 0))
        self._unreadable[query_id] = last[0] + 1, int(time.time() * 1000)
        self.unreadable_by_push += 1

    def query_failed(self, query_id: str, message: str) -> None:
        """Write the failure of a query to the processing log."""
        if self._log is not None:
            self._log.query_failed(query_id, message)

    def forget(self, query_id: str) -> None:
        """Forget a query that has ended."""
        self._unreadable.pop(query_id, None)
        if self._log is not None:
            self._log.forget(query_id)


__all__ = ["Halts", "QueryFigures"]
