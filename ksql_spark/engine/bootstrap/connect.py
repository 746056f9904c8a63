"""The Kafka Connect cluster of a server: the configured one, or an embedded worker."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from ksql_spark.config import Config, read_properties
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.kafka_connect import ConfiguredConnect, ConnectClient, ConnectCluster, NoConnect
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.services.connect_on_demand import ConnectOnDemand
from ksql_spark.services.connect_worker import EmbeddedConnect, WorkerSettings

log = logging.getLogger(__name__)


def connect_cluster(
    config: Config, is_stopping: Callable[[], bool] = lambda: False
) -> ConfiguredConnect | None:
    """The Connect cluster that ``config`` names, or None.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """
    url = str(config["ksql.connect.url"] or "").strip()
    return ConfiguredConnect(ConnectClient(url, connect_settings(config), is_stopping)) if url else None


def connect_settings(config: Config) -> dict[str, str]:
    """The properties below ``ksql.connect.``, without that prefix, for ConnectClient."""
    prefix = "ksql.connect."
    settings = {name.removeprefix(prefix): str(v) for name, v in config.with_prefix(prefix).items()}
    return settings | {
        "request.timeout.ms": str(config["ksql.connect.request.timeout.ms"]),
        "basic.auth.credentials.source": str(config["ksql.connect.basic.auth.credentials.source"]),
        "basic.auth.credentials.file": str(config["ksql.connect.basic.auth.credentials.file"]),
        "basic.auth.user.info": str(config["ksql.connect.basic.auth.user.info"] or ""),
    }


def create_connect(
    config: Config, data_dir: Path, servers: str, registry: SchemaRegistry | None, lifecycle: Lifecycle
) -> ConnectCluster:
    """The Connect cluster of the configuration, or the embedded worker.

    The worker starts at once, in the background, if a file configures it or it had connectors.
    """
    file = str(config["ksql.connect.worker.config"] or "").strip()
    named = connect_cluster(config, lifecycle.is_stopping)
    if not file and (named is not None or not config["ksql.spark.connect.enabled"]):
        return named or NoConnect()

    def report(line: str) -> None:
        log.info(line)
        lifecycle.report(line)

    def registry_url() -> str | None:
        if registry is None:
            return None
        registry.require()
        return registry.url

    settings = WorkerSettings(
        bootstrap_servers=servers,
        service_id=str(config["ksql.service.id"]),
        kafka=config.kafka_security_settings(),
        replicas=-1 if config["bootstrap.servers"] else 1,
        plugins=[Path(one).expanduser().absolute() for one in config["ksql.spark.connect.plugins"]],
        memory=str(config["ksql.spark.connect.memory"]),
        own=read_properties(file) if file else {},
    )
    worker = EmbeddedConnect(data_dir / "connect", settings, connect_settings(config), report)
    cluster = ConnectOnDemand(worker, report, registry_url, settings.own)
    lifecycle.on_stop(cluster.close)
    lifecycle.kills(worker.kill, lambda: worker.is_archiving)
    if file or cluster.has_connectors():
        cluster.start_in_background()
    return named or cluster
