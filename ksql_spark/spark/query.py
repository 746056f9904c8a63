"""A Spark query that can be stopped at the end of a batch, so that no work is repeated.

DrainableSource.java explains how a running batch is drained.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from ksql_spark.plan.stages import REALTIME
from ksql_spark.spark import jvm
from ksql_spark.storage import Folder

#: pause between two checks whether a batch is committed
POLL_S = 0.005


#: setting of a query's session: the id of its run (KeyedOperator.java, TransactionalFiles.java)
RUN_SETTING = "spark.ksql.run"


def new_run_id() -> str:
    """An id for one run of a query, to be passed to its sources."""
    return uuid.uuid4().hex


#: how many reports are kept; Spark itself keeps a few
REPORTS = 50
_REPORTED = ("batchId", "timestamp", "batchDuration", "numInputRows", "durationMs")


class Reports:
    """Spark's reports about the latest completed batches, as far as somebody asked in time."""

    def __init__(self) -> None:
        #: by batch, the oldest first
        self._by_batch: dict[int, dict[str, Any]] = {}

    def note(self, report: Any) -> None:
        """Keep a report, unless it is one of a trigger that ran no batch."""
        with contextlib.suppress(KeyError, TypeError):
            if {"addBatch", "commitOffsets"} & report["durationMs"].keys():
                self._by_batch[report["batchId"]] = {name: report[name] for name in _REPORTED}
        for batch in sorted(self._by_batch)[:-REPORTS]:
            self._by_batch.pop(batch, None)

    def latest(self) -> list[dict[str, Any]]:
        """The reports, the oldest first."""
        return [self._by_batch[batch] for batch in sorted(self._by_batch)]


class SparkQuery:
    """One run of a Spark query.

    Args:
        session: any session of the JVM.
        query: the running query.
        run_id: the new_run_id() that its sources have.
        mode: REALTIME or MICROBATCH.
        checkpoint: the folder of its checkpoints.
        feeds: as in the Context of its frame.
        slots: how many tasks it runs at once.
    """

    def __init__(
        self,
        session: SparkSession,
        query: StreamingQuery,
        run_id: str,
        mode: str,
        checkpoint: Folder,
        feeds: str | None = None,
        slots: int = 1,
    ) -> None:
        self._runs = jvm.runs(session)
        self._query = query
        self.slots = slots
        self._run_id = run_id
        self._feeds = feeds or ""
        self._is_realtime = mode == REALTIME
        self._commits = checkpoint.sub("commits")
        #: the batch to wait for; None until drain() is called
        self._last: int | None = None
        self._stopping = threading.Lock()
        self._was_done: bool | None = None
        self._reports = Reports()

    @property
    def is_active(self) -> bool:
        """False once it has ended, by stop() or by itself."""
        return bool(self._query.isActive)

    @property
    def progress(self) -> Any:
        """Spark's report on the latest batch that has ended, or None."""
        progress = self._query.lastProgress
        if progress is not None:
            self._reports.note(progress)
        return progress

    @property
    def recent(self) -> list[dict[str, Any]]:
        """The latest reports on batches that have ended with a checkpoint, the oldest first."""
        with contextlib.suppress(Exception):  # it may be ending, or Spark with it
            for report in self._query.recentProgress:
                self._reports.note(report)
        return self._reports.latest()

    def exception(self) -> BaseException | None:
        """The error that ended the query by itself, or None."""
        return self._query.exception()

    def drain(self) -> None:
        """Stop reading; stop() then waits until what was read is committed."""
        if self._last is None:
            self._last = int(self._runs.drain(self._run_id))

    def end_batch(self) -> None:
        """End the batch that runs in real time, so that the next one reads topics that are new."""
        self._runs.endBatch(self._run_id)

    def stop(self, timeout_s: float = 0.0) -> bool:
        """Stop it; after drain(), once what was read is committed. Callable from any thread, more than once.

        Args:
            timeout_s: how long to wait for that, seconds. Then it is stopped anyway, and the work since its
                last checkpoint will be repeated.

        Returns:
            True if no work will be repeated.
        """
        with self._stopping:
            if self._was_done is None:
                self._was_done = False
                try:
                    self._was_done = self._wait(timeout_s)
                finally:
                    self._query.stop()
                    self._runs.release(self._run_id, self._feeds)
            return self._was_done

    def _wait(self, timeout_s: float) -> bool:
        """Wait until what was read is committed; False if it is not."""
        if self._last is None:
            return False
        deadline = time.monotonic() + timeout_s
        while not self._is_done(self._last):
            if time.monotonic() >= deadline or not self.is_active:
                return False
            time.sleep(POLL_S)
        return True

    def _is_done(self, last: int) -> bool:
        if not self._is_realtime:
            return bool(self._runs.isDrained(self._run_id))
        # Spark commits stateless queries in another thread, after the next batch has begun
        return max((int(name) for name in self._commits.names() if name.isdecimal()), default=-1) >= last
