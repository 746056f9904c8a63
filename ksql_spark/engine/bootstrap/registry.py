"""A server's schema registry: the configured one, or one that starts on demand."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Mapping
from pathlib import Path

from ksql_spark.config import Config
from ksql_spark.engine.bootstrap.lifecycle import Lifecycle
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.services import memory
from ksql_spark.services.registry import EmbeddedRegistry, RegistryOnDemand
from ksql_spark.spark import jvm
from ksql_spark.spark.session import SparkProcess, set_registry

log = logging.getLogger(__name__)


def registry_settings(config: Config) -> dict[str, str]:
    """The properties below ``ksql.schema.registry.``, without that prefix; empty without a URL."""
    url, prefix = str(config["ksql.schema.registry.url"] or "").strip(), "ksql.schema.registry."
    if not url:
        return {}
    settings = {name.removeprefix(prefix): str(v) for name, v in config.with_prefix(prefix).items()}
    return {**settings, "url": url}


def schema_registry(config: Config, copies: str | None = None) -> SchemaRegistry | None:
    """The schema registry of ``config``, or None if it has none.

    ``copies``: the folder with copies of its schemas, if there is one.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """
    settings = registry_settings(config)
    if not settings:
        return None
    # its client is slow to import, and most servers have no registry
    from ksql_spark.kafka.schema_registry import ConfluentRegistry

    return ConfluentRegistry(settings["url"], settings, None if copies is None else Path(copies))


class RegistryOfSpark:
    """Configures Spark's JVM: its schema registry, and how much state it may cache in its heap.

    Args:
        config: the server's.
        data_dir: the server's, with copies of schemas.
        spark: the process, which may not be running yet; a restarted one knows nothing.
    """

    def __init__(self, config: Config, data_dir: Path, spark: SparkProcess) -> None:
        self._config = config
        self._data_dir = data_dir
        self._spark = spark
        self._settings = self._with_copies(registry_settings(config))
        #: held while Spark is being told
        self._lock = threading.Lock()

    def configure_jvm(self) -> None:
        """Configure a JVM that has just started."""
        with self._lock:
            session = self._spark.running_session
            set_registry(session, self._settings)
            jvm.bound_cache(session, memory.cached_entries(self._config))

    def create(self, lifecycle: Lifecycle) -> SchemaRegistry | None:
        """The configured registry, or the embedded one, or None if neither exists.

        Raises:
            KsqlError: PROPERTY_INVALID.
        """
        return schema_registry(self._config, self._settings.get("folder")) or self._embedded(lifecycle)

    def _embedded(self, lifecycle: Lifecycle) -> SchemaRegistry | None:
        if not self._config["ksql.spark.schema.registry.enabled"] or self._config["ksql.cluster.enabled"]:
            return None  # servers that share queries must share the registry

        def report(line: str) -> None:
            log.info(line)
            lifecycle.report(line)

        def started(url: str) -> None:
            with self._lock:
                self._settings = self._with_copies({"url": url})
                if self._spark.session is not None:  # otherwise it is told once it has started
                    set_registry(self._spark.running_session, self._settings)
            if self._config["bootstrap.servers"]:
                report(
                    "only this server knows its schemas: if other servers read or write the same topics, "
                    "set ksql.schema.registry.url on all of them"
                )

        port = int(self._config["ksql.spark.schema.registry.port"])
        embedded = EmbeddedRegistry(self._data_dir / "registry", port, report)
        registry = RegistryOnDemand(embedded, started, report)
        lifecycle.on_stop(registry.close)
        lifecycle.kills(embedded.kill)
        return registry

    def _with_copies(self, settings: Mapping[str, str]) -> dict[str, str]:
        """A registry's settings, with the folder for copies of its schemas."""
        if not settings:
            return {}
        name = hashlib.sha256(settings["url"].encode()).hexdigest()[:16]
        return {**settings, "folder": str(self._data_dir / "schemas" / name)}
