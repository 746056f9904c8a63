"""The embedded Kafka broker: one KRaft process as controller and broker, with its data in one folder.

It listens on the loopback address only, so other machines cannot connect, unless ksql.kafka.listener names
another address.
"""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import uuid
from contextlib import suppress
from pathlib import Path

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services import artifacts
from ksql_spark.services.cache import Report
from ksql_spark.services.class_archive import ClassArchive
from ksql_spark.services.embedded import EmbeddedService
from ksql_spark.services.java import java_command
from ksql_spark.services.ports import HOST, free_port, is_free

PREFERRED_PORT = 9092
#: with less free space the broker does not start: its log segments and indexes need some
_LEAST_FREE_BYTES = 64 * 1024 * 1024

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    # a single node: nothing to replicate, no group members to wait for
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    # after a crash the controller waits this long for the vanished broker; 9 s by default
    "broker.session.timeout.ms": 4000,
    "broker.heartbeat.interval.ms": 1000,
    "auto.create.topics.enable": "false",
    # Kafka deletes by record timestamp: replayed history would be deleted on arrival
    "log.retention.ms": -1,
    # event times may be in the future, which Kafka rejects by default
    "log.message.timestamp.after.max.ms": 2**63 - 1,
    # small files and few threads, for many topics on one machine
    "log.segment.bytes": 256 * 1024 * 1024,
    "log.index.size.max.bytes": 1024 * 1024,
    "log.segment.delete.delay.ms": 1000,
    "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 2,
}


#: ten times the defaults: half of the CPU time of a start was spent on compilation, while Spark starts in
#: parallel
_LATE_C2 = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)


class EmbeddedBroker(EmbeddedService):
    """A Kafka broker of ours; a failed start raises BROKER_FAILED. See EmbeddedService."""

    title = "Kafka"
    process = "Kafka broker"
    name = "broker"
    needs = ("broker",)
    start_timeout_s = 60.0
    stop_timeout_s = 20.0

    def __init__(
        self,
        data_dir: Path,
        port: int = PREFERRED_PORT,
        report: Report = lambda text: None,
        host: str | None = None,
    ) -> None:
        super().__init__(data_dir, port, report)
        self._host = host or HOST
        self._is_named = host is not None

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients: ``host:port``."""
        return f"{self._host}:{self.port}"

    @property
    def _may_move(self) -> bool:
        return not self._is_named

    @property
    def log_file(self) -> Path:
        """The broker's log."""
        return self.data_dir / "logs" / "broker.log"

    @classmethod
    def of(cls, config: Config, data_dir: Path, report: Report = lambda text: None) -> EmbeddedBroker:
        """The broker of a server, at the address of ksql.kafka.listener.

        Args:
            config: the server's.
            data_dir: the broker's folder.
            report: called with progress lines.

        Raises:
            KsqlError: PROPERTY_INVALID.
        """
        address = str(config["ksql.kafka.listener"])
        if not address:
            return cls(data_dir, report=report)
        host, _, port = address.rpartition(":")
        reason = ""
        if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
            reason = "expected HOST:PORT, for example 127.0.0.1:9093"
        elif host in ("0.0.0.0", "[::]"):
            reason = "Kafka tells its clients this address: name one of this machine's"
        if reason:
            raise KsqlError("PROPERTY_INVALID", name="ksql.kafka.listener", value=address, reason=reason)
        return cls(data_dir, int(port), report, host)

    # ---- the folder

    @property
    def is_formatted(self) -> bool:
        """Whether its folder is prepared."""
        return (self._topics_dir / "meta.properties").is_file()

    def _prepare(self) -> None:
        if shutil.disk_usage(self.data_dir).free < _LEAST_FREE_BYTES:
            raise KsqlError("DISK_FULL", path=str(self.data_dir))
        if self._is_named and not is_free(self.port, self._host):
            raise self._error(
                f"{self.bootstrap_servers} is taken, or is no address of this machine; choose another one "
                "with --kafka-listen HOST:PORT"
            )
        self._format()

    @property
    def _topics_dir(self) -> Path:
        return self.data_dir / "topics"

    @property
    def _properties_file(self) -> Path:
        return self.data_dir / "server.properties"

    def _write_properties(self, controller_port: int) -> None:
        controller = f"{HOST}:{controller_port}"
        properties = {
            **_PROPERTIES,
            "log.dirs": self._topics_dir,
            "controller.quorum.voters": f"1@{controller}",
            "listeners": f"PLAINTEXT://{self.bootstrap_servers},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap_servers}",
        }
        escaped = (
            f"{name}={str(value).replace(chr(92), chr(92) * 2)}\n" for name, value in properties.items()
        )
        self._properties_file.write_text("".join(escaped))

    def _format(self) -> None:
        """Give a new folder its cluster id, with Kafka's own tool."""
        if self.is_formatted:
            return
        self._report("preparing Kafka's data folder")
        # an interrupted first start may have left it; without meta.properties Kafka has never used it
        shutil.rmtree(self._topics_dir, ignore_errors=True)
        self._write_properties(controller_port=1)
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "0")
        command = [
            *self._java("-XX:TieredStopAtLevel=1", "-Xmx128m"),
            "kafka.tools.StorageTool",
            *("format", "--cluster-id", cluster_id, "--config", str(self._properties_file)),
        ]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        if done.returncode:
            raise self._failure((done.stdout + done.stderr).splitlines(), done.returncode)

    # ---- the process

    def _java(self, *options: str) -> list[str]:
        """The command line of Kafka's JVM up to the main class."""
        jars = os.pathsep.join(map(str, artifacts.jars("broker")))
        settings = Path(__file__).with_name("log4j2.properties")
        logging = [f"-Dlog4j2.configurationFile={settings}", f"-Dksql.log.file={self.log_file}"]
        # it unpacks libraries into its own folder, not into /tmp
        scratch = [f"-Djava.io.tmpdir={self._scratch}", "-XX:-UsePerfData"]
        return [*java_command(), "-Djava.awt.headless=true", *scratch, *options, *logging, "-cp", jars]

    @staticmethod
    def class_archive() -> ClassArchive:
        """The archive of the broker's classes, which may exist or not; its jars must."""
        return ClassArchive("broker", artifacts.jars("broker"), has_profiles=True)

    def _command(self) -> list[str]:
        self._write_properties(controller_port=free_port())
        archive = self._archive = self.class_archive()
        classes = archive.options() or archive.recording()
        options = ["-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", *_LATE_C2, *classes]
        return [*self._java(*options), "kafka.Kafka", str(self._properties_file)]

    def _answers(self) -> bool:
        try:
            socket.create_connection((self._host, self.port), timeout=1).close()
        except OSError:
            return False
        with suppress(KsqlError):
            return KafkaAdmin(self.bootstrap_servers, timeout_s=5).cluster_id() == self._cluster_id()
        return False

    def _cluster_id(self) -> str:
        """The id that _format() gave the folder."""
        lines = (self._topics_dir / "meta.properties").read_text().splitlines()
        return next(line.removeprefix("cluster.id=") for line in lines if line.startswith("cluster.id="))

    def _ready_line(self) -> str:
        return f"Kafka is ready at {self.bootstrap_servers}"

    def _error(self, reason: str) -> KsqlError:
        return KsqlError("BROKER_FAILED", reason=reason, log=str(self.log_file))
