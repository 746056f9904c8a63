"""What all queries of a server share: Spark, Kafka, their checkpoints and the server's configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark.config import Config
from ksql_spark.functions.spec import Spec
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.queries.checkpoint_folders import QueryCheckpoints
from ksql_spark.runtime.queries.idle_heartbeat import IdleHeartbeat
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.topics import QueryTopics
from ksql_spark.spark.processing_log import ProcessingLog

#: a value of ksql.on.data.loss
SKIP_AND_RECORD = "skip-and-record"


@dataclass(frozen=True)
class Environment:
    """What all queries of a server share.

    Args:
        session: returns the current Spark session; the JVM may restart.
        admin: of the cluster that queries read from and write to.
        checkpoints: of all queries.
        heartbeat: for queries with an idle timeout.
        config: returns the server's current configuration.
        functions: returns the server's user functions by name.
        processing_log: receives errors of single records, or None if they are not reported.
    """

    session: Callable[[], SparkSession]
    admin: KafkaAdmin
    checkpoints: QueryCheckpoints
    heartbeat: IdleHeartbeat
    config: Callable[[], Config]
    functions: Callable[[], Mapping[str, Spec]] = dict
    processing_log: ProcessingLog | None = None

    @property
    def service_id(self) -> str:
        """The server's service id."""
        return str(self.config()["ksql.service.id"])

    def setting(self, query: ManagedQuery, name: str) -> Any:
        """Return the value of a property for a query."""
        return query.properties.get(name, self.config()[name])

    def skips_losses(self, query: ManagedQuery) -> bool:
        """Whether a query continues after losing records."""
        return query.accepts_loss or self.setting(query, "ksql.on.data.loss") == SKIP_AND_RECORD

    def topics(self, query: ManagedQuery) -> QueryTopics:
        """Return the topics of a query as of its last start."""
        if query.topics is None:
            folder = self.checkpoints.folder(query.id)
            query.topics = QueryTopics(
                self.admin, folder, query.id, query.plan, query.partitions, query.starts
            )
        return query.topics


__all__ = ["Environment"]
