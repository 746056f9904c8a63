"""The queries of a server, and the views from which its look-ups are answered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from ksql_spark.config import CurrentConfig
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.lease import ServiceLease
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.runtime.cluster.placement import Placement
from ksql_spark.runtime.driver.access import SparkAccess
from ksql_spark.runtime.queries.checkpoint_folders import QueryCheckpoints
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.idle_heartbeat import IdleHeartbeat
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.runtime.reading.views import Views
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.spark.processing_log import ProcessingLog
from ksql_spark.storage import Folder

log = logging.getLogger(__name__)


def create_views(
    config: CurrentConfig,
    data_dir: Path,
    catalog: Catalog,
    admin: KafkaAdmin,
    producer: RecordProducer,
    registry: SchemaRegistry | None,
    lifecycle: Lifecycle,
) -> Views:
    """The views of tables; ``producer`` knows what this server has written itself."""
    views = Views(
        admin,
        data_dir / "views",
        lambda: int(config()["ksql.pull.views.max.bytes"]),
        lambda: config()["ksql.pull.views"] == "eager",
        lambda topic: producer.written.get(topic, {}),
        registry,
        lambda table: catalog.metastore.indexes_of(table),
    )
    lifecycle.on_stop(views.close)
    return views


def create_queries(
    config: CurrentConfig,
    catalog: Catalog,
    admin: KafkaAdmin,
    spark: SparkAccess,
    processing_log: ProcessingLog,
    placement: Placement | None,
    lease: ServiceLease | None,
    state: Folder,
    scratch: Folder,
    lifecycle: Lifecycle,
    *,
    kill_spark: Callable[[], None] | None,
) -> QueryManager:
    """The query manager, without queries yet.

    Args:
        config: the server's.
        catalog: has the user functions.
        admin: of the cluster.
        spark: where queries run.
        processing_log: of the server.
        placement: which queries run here, or None for all.
        lease: ends with the right to run queries; None: several servers share them.
        state: the folder of the state of queries.
        scratch: the folder of the checkpoints of push queries.
        lifecycle: the engine's.
        kill_spark: ends Spark if a stop finds queries that wait for Kafka, or None if it is not ours.
    """
    service_id = str(config()["ksql.service.id"])
    heartbeat = IdleHeartbeat(admin, service_id)
    lifecycle.on_stop(heartbeat.close)
    checkpoints = QueryCheckpoints(state, scratch)
    environment = Environment(
        spark.session, admin, checkpoints, heartbeat, config, catalog.functions, processing_log
    )
    queries = QueryManager(environment, placement)

    def shut_down() -> None:
        if not queries.shut_down() and kill_spark is not None:
            log.warning("stopping Spark at once, because some queries wait for Kafka")
            kill_spark()

    lifecycle.on_stop(shut_down)
    if lease is not None:
        lease.when_lost(lambda: queries.fence(KsqlError("SERVICE_ID_TAKEN", id=service_id).message))
    if placement is not None:
        lifecycle.on_stop(placement.close)
    return queries
