"""The embedded Kafka broker: one KRaft process as controller and broker, with its data in one folder.

It listens on the loopback address only, so other machines cannot connect.
"""

from __future__ import annotations

import base64
import errno
import os
import shutil
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.services import artifacts
from ksql_spark.services.cache import Report
from ksql_spark.services.child import ChildProcess
from ksql_spark.services.class_archive import ClassArchive
from ksql_spark.services.data_dir import lock_for_child, release
from ksql_spark.services.java import java_binary
from ksql_spark.services.ports import HOST, free_port, kept_port

PREFERRED_PORT = 9092
#: with less free space the broker is not started: its log segments and indexes need some
_LEAST_FREE_BYTES = 64 * 1024 * 1024
_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 20.0

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
    "auto.create.topics.enable": "false",
    # Kafka deletes by record timestamp: replayed history would be deleted as it arrives
    "log.retention.ms": -1,
    # event times may be in the future, which Kafka refuses by default
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


class EmbeddedBroker:
    """A Kafka broker of our own.

    Args:
        data_dir: folder for its data, its log and its port; created if missing.
        port: the port for the first start; 0 or a port in use: a free one. Later starts use the same port
            again.
        report: called with progress lines.
    """

    def __init__(
        self, data_dir: Path, port: int = PREFERRED_PORT, report: Report = lambda text: None
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.port = port
        self._report = report
        self._lock: IO[str] | None = None
        self._child: ChildProcess | None = None
        #: halves the time to start
        self._archive: ClassArchive | None = None
        self._fetching = False
        self._stopped = False
        self._mutex = threading.Lock()

    def __enter__(self) -> EmbeddedBroker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients: ``host:port``."""
        return f"{HOST}:{self.port}"

    @property
    def log_file(self) -> Path:
        """The broker's log."""
        return self.data_dir / "logs" / "broker.log"

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        return self._child.pid if self._child else None

    def is_running(self) -> bool:
        """Whether it runs: from start() until it ends, by stop() or by itself."""
        return self._child is not None and self._child.is_running()

    def start(self) -> None:
        """Start the broker and return once it answers; if that fails, stop it.

        Raises:
            KsqlError: DATA_DIR_IN_USE, DATA_DIR_UNUSABLE, DISK_FULL, BROKER_FAILED; those of
                artifacts.ensure().
        """
        if self.is_running():
            return
        self._stopped = False
        self._fetching = True
        try:
            artifacts.ensure(("broker",), self._report)
            self._fetching = False
            self._prepare_folder()
            self._format()
            for attempt in range(3):
                self._report("starting Kafka")
                self._choose_port()
                if self._launch(last_attempt=attempt == 2):
                    break
        except BaseException as error:
            self._fetching = False
            self.stop()
            if isinstance(error, OSError):
                raise self._folder_error(error) from None
            raise
        self._report(f"Kafka is ready at {self.bootstrap_servers}")

    def stop(self) -> None:
        """Stop the broker and wait until it has ended; may be called at any time, more than once.

        A start() in progress in another thread then raises BROKER_FAILED.
        """
        with self._mutex:
            self._stopped = True
            child = self._child
        if self._fetching:
            artifacts.interrupt()
        if child:
            child.stop(_STOP_TIMEOUT_S)
            if self._archive:
                self._archive.keep()
        with self._mutex:
            self._child = None
            if self._lock:
                release(self._lock)
                self._lock = None

    # ---- the folder

    def _prepare_folder(self) -> None:
        """Create the folders, take the lock, check free space."""
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        lock = self.data_dir / "broker.lock"
        self._lock = lock_for_child(lock, "Kafka broker", _STOP_TIMEOUT_S, self._report)
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        if shutil.disk_usage(self.data_dir).free < _LEAST_FREE_BYTES:
            raise KsqlError("DISK_FULL", path=str(self.data_dir))

    def _folder_error(self, error: OSError) -> KsqlError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return KsqlError("DISK_FULL", path=str(self.data_dir))
        return KsqlError("DATA_DIR_UNUSABLE", path=str(self.data_dir), reason=error.strerror or str(error))

    @property
    def _topics_dir(self) -> Path:
        return self.data_dir / "topics"

    @property
    def _scratch(self) -> Path:
        return self.data_dir / "tmp"

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
        if (self._topics_dir / "meta.properties").is_file():
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
            raise self._failure((done.stdout + done.stderr).splitlines())

    # ---- the process

    def _java(self, *options: str) -> list[str]:
        """The command line of Kafka's JVM up to the main class."""
        jars = os.pathsep.join(map(str, artifacts.jars("broker")))
        settings = Path(__file__).with_name("log4j2.properties")
        logging = [f"-Dlog4j2.configurationFile={settings}", f"-Dksql.log.file={self.log_file}"]
        # it unpacks libraries into its own folder, not into /tmp
        scratch = [f"-Djava.io.tmpdir={self._scratch}", "-XX:-UsePerfData"]
        return [str(java_binary()), "-Djava.awt.headless=true", *scratch, *options, *logging, "-cp", jars]

    def _launch(self, last_attempt: bool) -> bool:
        """Start the process and wait until it answers; False if another process has taken its port."""
        archive = self._archive = ClassArchive("broker", artifacts.jars("broker"))
        classes = archive.options() or archive.recording()
        options = ["-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", *classes]
        printed = self.log_file.with_name("broker.out")
        printed.write_bytes(b"")
        log_start = self.log_file.stat().st_size if self.log_file.exists() else 0
        command = [*self._java(*options), "kafka.Kafka", str(self._properties_file)]
        with self._mutex:
            if self._stopped or self._lock is None:
                raise self._interrupted()
            child = self._child = ChildProcess(command, printed, pass_fds=(self._lock.fileno(),))
        if self._answers(child):
            return True
        child.stop(_STOP_TIMEOUT_S)
        if self._stopped:
            raise self._interrupted()
        self._child = None
        lines = [*_lines_from(self.log_file, log_start), *_lines_from(printed, 0)]
        if any("Address already in use" in line for line in lines) and not last_attempt:
            return False
        raise self._failure(lines)

    def _answers(self, child: ChildProcess) -> bool:
        """Wait for the broker: True once it answers, False if it has ended or takes too long.

        What answers meanwhile may be another broker, which has just taken the port; ours ends then.
        """
        own = self._cluster_id()
        deadline = time.monotonic() + _START_TIMEOUT_S
        while child.is_running() and time.monotonic() < deadline:
            try:
                socket.create_connection((HOST, self.port), timeout=1).close()
            except OSError:
                time.sleep(0.02)
                continue
            with suppress(KsqlError):
                if KafkaAdmin(self.bootstrap_servers, timeout_s=5).cluster_id() == own:
                    return child.is_running()
            time.sleep(0.02)
        return False

    def _cluster_id(self) -> str:
        """The id that _format() gave the folder."""
        lines = (self._topics_dir / "meta.properties").read_text().splitlines()
        return next(line.removeprefix("cluster.id=") for line in lines if line.startswith("cluster.id="))

    def _interrupted(self) -> KsqlError:
        return KsqlError("BROKER_FAILED", reason="it was stopped while it started", log=str(self.log_file))

    def _failure(self, lines: list[str]) -> KsqlError:
        """The error for a failed start, from Kafka's output."""
        if any("No space left on device" in line for line in lines):
            return KsqlError("DISK_FULL", path=str(self.data_dir))
        log = str(self.log_file)
        if any("Address already in use" in line for line in lines):
            return KsqlError("BROKER_FAILED", reason=f"port {self.port} is taken", log=log)
        errors = [line for line in lines if "Exception:" in line or "Error:" in line or " ERROR " in line]
        reason = errors[-1].strip() if errors else "it did not answer in time"
        return KsqlError("BROKER_FAILED", reason=reason.removeprefix("Caused by: ").rstrip("."), log=log)

    # ---- the port

    def _choose_port(self) -> None:
        """Choose the last run's port, the preferred one, or a free one; and a free one for the controller."""
        self.port = kept_port(self.data_dir / "broker.port", self.port)
        self._write_properties(controller_port=free_port())


def _lines_from(file: Path, start: int) -> Iterable[str]:
    """The lines of a log file after the first ``start`` bytes."""
    try:
        with file.open("rb") as log:
            log.seek(start if file.stat().st_size >= start else 0)
            return log.read().decode(errors="replace").splitlines()
    except OSError:
        return []
