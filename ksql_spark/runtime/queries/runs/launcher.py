"""Launches the runs of sub-topologies on Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable

from ksql_spark.errors import KsqlError
from ksql_spark.plan.distribution import Tasks
from ksql_spark.runtime.errors import is_state_unreadable, reason
from ksql_spark.runtime.queries.checkpoints import Offsets
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.fencing import Fencing
from ksql_spark.runtime.queries.managed import ManagedQuery, log_failure
from ksql_spark.runtime.queries.runs.stage_run import StageRun
from ksql_spark.spark import jvm, master
from ksql_spark.spark.frames import task_numbers
from ksql_spark.spark.query import SparkQuery

log = logging.getLogger(__name__)


class Launcher:
    """Starts the Spark queries of sub-topologies. Thread-safe.

    Args:
        environment: what queries share.
        runs: returns the Spark queries that this server has started.
        is_closing: whether the server, and with it Spark, is stopping.
    """

    def __init__(
        self,
        environment: Environment,
        runs: Callable[[], Iterable[SparkQuery]],
        is_closing: Callable[[], bool],
    ) -> None:
        self._environment = environment
        self._runs = runs
        self._is_closing = is_closing
        self._fencing = Fencing(environment.admin, environment.config)
        self._lock = threading.Lock()
        #: numbers of parts and tasks -> the parts' numbers
        self._task_numbers: dict[tuple[int, int], tuple[int, ...]] = {}

    def launch(self, query: ManagedQuery, number: int, until: Offsets | None = None) -> SparkQuery:
        """Start the Spark query of a stage.

        Args:
            query: the KSQL query.
            number: the stage's.
            until: where reading ends; what is read so far makes state and no results. None: nowhere.

        Raises:
            KsqlError: as QueryManager.start().
        """
        run = StageRun(self._environment, query, number, until)
        try:
            tasks = run.prepare(self._fencing)
            self._check_slots(query.id, run.slots(tasks))
            return run.start(tasks, self._numbers(run, tasks))
        except KsqlError as error:
            log.error("query %s did not start: %s", query.id, error.message, extra={"query": query.id})
            run.release()
            raise
        except Exception as error:
            if not self._is_closing():  # otherwise Spark is stopping as well
                log_failure(log, "query %s did not start", query, error)
            run.release()
            if is_state_unreadable(error):
                raise KsqlError("STATE_UNREADABLE", id=query.id, reason=reason(error)) from error
            raise KsqlError("QUERY_FAILED", id=query.id, reason=reason(error)) from error

    def _check_slots(self, query_id: str, needed: int) -> None:
        """Check that Spark can run this many more tasks at once, besides those of all queries.

        Raises:
            KsqlError: SPARK_NO_SLOTS.
        """
        session = self._environment.session()
        if master.is_local(str(session.sparkContext.master)):
            return
        total = jvm.task_slots(session)
        free = total - sum(run.slots for run in self._runs() if run.is_active)
        if needed > free:
            what = f"Query {query_id}"
            raise KsqlError("SPARK_NO_SLOTS", what=what, needed=needed, total=total, free=max(free, 0))

    def _numbers(self, run: StageRun, tasks: Tasks) -> tuple[int, ...]:
        """Return the result of task_numbers, computed once."""
        size = (tasks.partitions, tasks.count)
        with self._lock:
            if size not in self._task_numbers:
                self._task_numbers[size] = task_numbers(run.session, *size)
            return self._task_numbers[size]
