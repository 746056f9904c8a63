"""The embedded Connect worker: Kafka Connect in its own JVM, on the loopback address only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ksql_spark.errors import KsqlError
from ksql_spark.kafka_connect import ConnectClient
from ksql_spark.services import artifacts, java
from ksql_spark.services.cache import Report
from ksql_spark.services.class_archive import ClassArchive
from ksql_spark.services.embedded import EmbeddedService, reason_of
from ksql_spark.services.ports import HOST

PREFERRED_PORT = 8083
#: main classes
DISTRIBUTED = "org.apache.kafka.connect.cli.ConnectDistributed"
STANDALONE = "org.apache.kafka.connect.cli.ConnectStandalone"
#: loggers of the worker
_LISTENS = "REST server listening at"
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"
_JSON = "org.apache.kafka.connect.json.JsonConverter"

#: the worker's defaults, which its properties file overrides
_PROPERTIES = {
    "key.converter": _STRINGS,
    "value.converter": _JSON,
    "value.converter.schemas.enable": "false",
    "rest.advertised.host.name": HOST,
    # one worker: nobody to wait for when it comes back
    "scheduled.rebalance.max.delay.ms": "0",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1500",
    # how much is repeated after a crash
    "offset.flush.interval.ms": "5000",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    # ${file:/path/of.properties:name} in a connector's configuration
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}


@dataclass(frozen=True)
class WorkerSettings:
    """The settings with which a worker starts.

    Args:
        bootstrap_servers: the brokers.
        service_id: id of the ksql cluster, part of the names of the worker's topics.
        kafka: security settings of Kafka's clients, by their Java names.
        replicas: of its topics; -1: the brokers' default.
        plugins: folders of connectors.
        memory: its heap, in the syntax of ``java -Xmx``.
        own: properties of the user's file, which win.
    """

    bootstrap_servers: str
    service_id: str = "default_"
    kafka: Mapping[str, str] = field(default_factory=dict)
    replicas: int = 1
    plugins: Sequence[Path] = ()
    memory: str = "512m"
    own: Mapping[str, str] = field(default_factory=dict)


class EmbeddedConnect(EmbeddedService):
    """A Connect worker of ours in distributed mode: connectors and their offsets are stored in topics.

    A failed start raises CONNECT_FAILED. See EmbeddedService.

    Args:
        data_dir: folder for its log, its port and its plug-ins; created if missing.
        settings: its settings.
        client_settings: for the client, see ConnectClient.
        report: called with progress lines.
    """

    title = "Kafka Connect"
    process = "Connect worker"
    name = "connect"
    needs = (artifacts.CONNECT, artifacts.CONNECT_AVRO)
    start_timeout_s = 120.0
    stop_timeout_s = 20.0

    def __init__(
        self,
        data_dir: Path,
        settings: WorkerSettings,
        client_settings: Mapping[str, str] | None = None,
        report: Report = lambda text: None,
    ) -> None:
        super().__init__(data_dir, PREFERRED_PORT, report)
        self._settings = settings
        self._client_settings = client_settings or {}
        self._client: ConnectClient | None = None

    @property
    def log_file(self) -> Path:
        """The file of the worker's log."""
        return self.data_dir / "logs" / "connect.log"

    @property
    def plugins(self) -> Path:
        """The worker's own folder of connectors."""
        return self.data_dir / "plugins"

    @property
    def client(self) -> ConnectClient:
        """A client of the running worker."""
        assert self._client is not None
        return self._client

    def ended(self) -> KsqlError:
        """The error for a worker that exited unexpectedly, with its last output."""
        code = self._child.exit_code if self._child else None
        return self._error(reason_of(self._output(), code, self.start_timeout_s), "has ended")

    # ---- the process

    @property
    def _may_move(self) -> bool:
        return "listeners" not in self._settings.own

    def _prepare(self) -> None:
        self.plugins.mkdir(exist_ok=True)

    def _command(self) -> list[str]:
        properties, url = self._properties()
        self._client = ConnectClient(url, self._client_settings, lambda: self._stopped, is_local=True)
        file = self.data_dir / "worker.properties"
        file.touch(mode=0o600)
        file.write_text("".join(f"{name}={_escaped(value)}\n" for name, value in sorted(properties.items())))
        options = [f"-Xmx{self._settings.memory}", "-XX:+UseSerialGC", "-XX:-UsePerfData"]
        archive = self._archive = ClassArchive("connect", artifacts.jars(artifacts.CONNECT))
        options += archive.options() or archive.recording()
        options += [f"-Djava.io.tmpdir={self._scratch}", f"-Dksql.log.file={self.log_file}"]
        return java_command(DISTRIBUTED, [str(file)], options, "connect-log4j2.properties")

    def _answers(self) -> bool:
        # a response alone could come from a worker of another server at this port
        return self._has_printed(_LISTENS) and self.client.is_ready()

    def _ready_line(self) -> str:
        return f"Kafka Connect runs at {self.client.url}, log in {self.log_file}"

    def _error(self, reason: str, what: str = "did not start") -> KsqlError:
        return KsqlError("CONNECT_FAILED", what=what, reason=reason, log=str(self.log_file))

    def _properties(self) -> tuple[dict[str, str], str]:
        """The worker's properties, and its address."""
        settings, own = self._settings, self._settings.own
        topics = f"_confluent-ksql-{settings.service_id}connect-"
        if not self._may_move:
            url = own["listeners"].split(",")[0].strip()
            address = urlsplit(url)
            host = HOST if address.hostname in (None, "0.0.0.0") else str(address.hostname)
            url = f"{address.scheme}://{host}:{address.port}"
        else:
            url = f"http://{HOST}:{self.port}"
        bundled = self.data_dir / "bundled"
        shutil.rmtree(bundled, ignore_errors=True)
        bundled.mkdir()
        (bundled / "avro").symlink_to(artifacts.unpacked(artifacts.CONNECT_AVRO))
        folders = [
            bundled,
            *filter(None, own.get("plugin.path", "").split(",")),
            self.plugins,
            *settings.plugins,
        ]
        properties = {
            **_PROPERTIES,
            "bootstrap.servers": settings.bootstrap_servers,
            "group.id": topics.removesuffix("-"),
            **{f"{kind}.storage.topic": f"{topics}{kind}{plural}" for kind, plural in _TOPICS.items()},
            **{f"{kind}.storage.replication.factor": str(settings.replicas) for kind in _TOPICS},
            "listeners": url,
            **{client + name: value for client in _CLIENTS for name, value in settings.kafka.items()},
            **own,
            "plugin.path": ",".join(str(folder).strip() for folder in folders),
        }
        return properties, url


#: prefixes of client settings: the worker's own, and those of its connectors
_CLIENTS = ("", "producer.", "consumer.", "admin.")
#: kinds of the worker's internal topics -> the plural ending in their usual names
_TOPICS = {"config": "s", "offset": "s", "status": ""}


def java_command(main: str, arguments: Sequence[str], options: Sequence[str], logging: str) -> list[str]:
    """The command line of a JVM with Connect's classes; artifacts.ensure() must have run before.

    Args:
        main: DISTRIBUTED or STANDALONE.
        arguments: of the main class.
        options: of Java.
        logging: the logging configuration beside this module.
    """
    jars = os.pathsep.join(map(str, artifacts.jars(artifacts.CONNECT)))
    settings = Path(__file__).with_name(logging)
    headless = ["-Djava.awt.headless=true", f"-Dlog4j2.configurationFile={settings}"]
    return [*java.java_command(), *headless, *options, "-cp", jars, main, *arguments]


def _escaped(value: str) -> str:
    """``value`` escaped for a Java properties file."""
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"\\{text}" if text[:1].isspace() else text
