"""Gives runs that are at least once producers that brokers refuse once a later run of the query writes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from pyspark.sql import SparkSession

from ksql_spark.config import Config
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.plan.stages import transactional_id, transactional_ids_of
from ksql_spark.runtime.queries import exactly_once
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.spark import master
from ksql_spark.spark.transactions import open_fenced

log = logging.getLogger(__name__)

#: pause before a run asks again after the cluster has not given an epoch, s: some clusters never will
_PAUSE_S = 600.0


class Fencing:
    """Opens the producers of runs, as far as the cluster fences them. Thread-safe.

    A query also runs where it does not, as without this. That is logged once, and not for each query.

    Args:
        admin: of the cluster.
        config: returns the server's current configuration.
        open_producer: as open_fenced.
        now: a clock that is never set back, seconds.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        config: Callable[[], Config],
        open_producer: Callable[..., str] = open_fenced,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._admin = admin
        self._config = config
        self._open = open_producer
        self._now = now
        self._lock = threading.Lock()
        #: when the cluster did not do it, until it does
        self._failed_at: float | None = None

    def open(
        self,
        query: ManagedQuery,
        number: int,
        session: SparkSession,
        run: str,
        producer: Mapping[str, str],
        feeds: str | None,
    ) -> bool:
        """Let brokers refuse what an earlier run of a stage still sends, from a server that was frozen.

        Executors have their own producers, which nobody fences; nor are producers fenced that are set not
        to be idempotent.

        Args:
            query: the KSQL query.
            number: the stage's.
            session: the run's session.
            run: its id.
            producer: the settings of its producer.
            feeds: the internal topic that it writes, or None for another topic.

        Returns:
            whether the run has been given a producer.
        """
        if not master.is_local(str(session.sparkContext.master)) or not _is_idempotent(producer):
            return False
        with self._lock:
            if self._failed_at is not None and self._now() - self._failed_at < _PAUSE_S:
                return False
        service_id = str(self._config()["ksql.service.id"])
        name = transactional_id(service_id, query.id, number)
        most_bytes = exactly_once.most_bytes(self._admin, query.plan.stages[number].sink.topic)
        reason = self._open(session, run, name, producer, most_bytes, feeds)
        with self._lock:
            is_new = self._failed_at is None
            self._failed_at = self._now() if reason else None
        if reason and is_new:
            log.warning(
                "queries run without fencing: if a server is frozen and replaced, its older rows may come"
                " after newer ones. Kafka's transaction coordinator gives no epoch: %s. It needs as many"
                " brokers as transaction.state.log.replication.factor and transaction.state.log.min.isr say,"
                " and this server needs the right to write with transactional ids that begin with %s. Queries"
                " that start in more than %d minutes ask again",
                reason.rstrip("."),
                transactional_ids_of(service_id),
                _PAUSE_S // 60,
            )
        return not reason


def _is_idempotent(producer: Mapping[str, str]) -> bool:
    return producer.get("acks", "all") in ("all", "-1") and producer.get("enable.idempotence") != "false"
