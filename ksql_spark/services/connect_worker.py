"""The embedded Connect worker: Kafka Connect in a JVM of its own, on the loopback address only."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from ksql_spark.connect import ConnectClient
from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.services.cache import Report
from ksql_spark.services.child import ChildProcess
from ksql_spark.services.class_archive import ClassArchive
from ksql_spark.services.data_dir import lock_for_child, make_data_dir, release
from ksql_spark.services.java import java_binary
from ksql_spark.services.ports import HOST, kept_port, other_port

PREFERRED_PORT = 8083
#: main classes
DISTRIBUTED = "org.apache.kafka.connect.cli.ConnectDistributed"
STANDALONE = "org.apache.kafka.connect.cli.ConnectStandalone"
_START_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 20.0
#: where the reason for its end is looked for
_LAST_LINES = 60
#: how many ports are tried, if others take them first
_ATTEMPTS = 3
#: of its log
_LISTENS, _PORT_TAKEN = "REST server listening at", "Address already in use"
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"
_JSON = "org.apache.kafka.connect.json.JsonConverter"

#: what a worker has unless its file of properties says otherwise
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
    """What a worker is started with.

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


class EmbeddedConnect:
    """A Connect worker of our own, in distributed mode: connectors and their offsets are in topics.

    Args:
        data_dir: folder for its log, its port and its plug-ins; created if missing.
        settings: what it is started with.
        client_settings: for the client, see ConnectClient.
        report: called with progress lines.
    """

    def __init__(
        self,
        data_dir: Path,
        settings: WorkerSettings,
        client_settings: Mapping[str, str] | None = None,
        report: Report = lambda text: None,
    ) -> None:
        self.data_dir = data_dir.absolute()
        self._settings = settings
        self._client_settings = client_settings or {}
        self._report = report
        self._lock: IO[str] | None = None
        self._child: ChildProcess | None = None
        self._client: ConnectClient | None = None
        self._log_start = 0
        #: makes the next start faster
        self._archive: ClassArchive | None = None
        self._fetching = False
        self._stopped = False
        self._mutex = threading.Lock()

    def __enter__(self) -> EmbeddedConnect:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def log_file(self) -> Path:
        """Its log."""
        return self.data_dir / "logs" / "connect.log"

    @property
    def plugins(self) -> Path:
        """Its own folder of connectors."""
        return self.data_dir / "plugins"

    @property
    def client(self) -> ConnectClient:
        """A client of it, while it runs."""
        assert self._client is not None
        return self._client

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        return self._child.pid if self._child else None

    def is_running(self) -> bool:
        """Whether it runs: from start() until it ends, by stop() or by itself."""
        return self._child is not None and self._child.is_running()

    def start(self) -> None:
        """Start it and return once it answers; if that fails, stop it.

        Raises:
            KsqlError: DATA_DIR_IN_USE, DATA_DIR_UNUSABLE, JAVA_MISSING, CONNECT_FAILED; those of
                artifacts.ensure().
        """
        if self.is_running():
            return
        self.stop()  # what a process that ended by itself has left
        self._stopped = False
        try:
            self._fetching = True
            artifacts.ensure((artifacts.CONNECT, artifacts.CONNECT_AVRO), self._report)
            self._fetching = False
            self._report("starting Kafka Connect")
            make_data_dir(self.data_dir)
            self.plugins.mkdir(exist_ok=True)
            self.log_file.parent.mkdir(exist_ok=True)
            lock = self.data_dir / "connect.lock"
            self._lock = lock_for_child(lock, "Connect worker", _STOP_TIMEOUT_S, self._report)
            port = kept_port(self.data_dir / "connect.port", PREFERRED_PORT)
            for _ in range(_ATTEMPTS):
                if self._launch(port):
                    break
                port = other_port(self.data_dir / "connect.port")
            else:
                raise self.failure("did not start")
        except BaseException as error:
            self._fetching = False
            self.stop()
            if isinstance(error, OSError):
                reason = error.strerror or str(error)
                raise KsqlError("DATA_DIR_UNUSABLE", path=str(self.data_dir), reason=reason) from None
            raise
        self._report(f"Kafka Connect runs at {self.client.url}, log in {self.log_file}")

    def stop(self) -> None:
        """Stop it and wait until it has ended; may be called at any time, more than once.

        A start() in progress in another thread then raises CONNECT_FAILED.
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

    def failure(self, what: str = "has ended") -> KsqlError:
        """The error for a process that did not start, or has ended by itself: with what it said last."""
        code = self._child.exit_code if self._child else None
        errors = [line for line in self._last_lines() if "Exception: " in line or "Error: " in line]
        if code is not None and code < 0:
            reason = f"signal {-code} has ended it"
        elif errors:
            reason = errors[-1].strip().removeprefix("Caused by: ").rstrip(".")
        else:
            reason = f"exit code {code}" if code is not None else "it did not answer in time"
        return KsqlError("CONNECT_FAILED", what=what, reason=reason, log=str(self.log_file))

    # ---- the process

    def _launch(self, port: int) -> bool:
        """Start the process and wait until it answers; False if another process has taken its port."""
        scratch = self.data_dir / "tmp"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        properties, url = self._properties(port)
        self._client = ConnectClient(url, self._client_settings, lambda: self._stopped, is_local=True)
        file = self.data_dir / "worker.properties"
        file.touch(mode=0o600)
        file.write_text("".join(f"{name}={_escaped(value)}\n" for name, value in sorted(properties.items())))
        printed = self.log_file.with_name("connect.out")
        printed.write_bytes(b"")
        self._log_start = self.log_file.stat().st_size if self.log_file.exists() else 0
        options = [f"-Xmx{self._settings.memory}", "-XX:+UseSerialGC", "-XX:-UsePerfData"]
        archive = self._archive = ClassArchive("connect", artifacts.jars(artifacts.CONNECT))
        options += archive.options() or archive.recording()
        options += [f"-Djava.io.tmpdir={scratch}", f"-Dksql.log.file={self.log_file}"]
        command = java_command(DISTRIBUTED, [str(file)], options, "connect-log4j2.properties")
        with self._mutex:
            if self._stopped or self._lock is None:
                raise self._interrupted()
            child = self._child = ChildProcess(command, printed, pass_fds=(self._lock.fileno(),))
        deadline = time.monotonic() + _START_TIMEOUT_S
        while child.is_running() and time.monotonic() < deadline:
            # an answer alone might be that of a worker which another server has started at this port
            if self._has_said(_LISTENS) and self._client.is_ready():
                return True
            time.sleep(0.1)
        if self._stopped:
            raise self._interrupted()
        if "listeners" not in self._settings.own and self._has_said(_PORT_TAKEN):
            child.stop(_STOP_TIMEOUT_S)
            return False
        raise self.failure("did not start")

    def _properties(self, port: int) -> tuple[dict[str, str], str]:
        """The worker's properties, and the address at which it will answer.

        Args:
            port: used unless the user's file says where it listens.
        """
        settings, own = self._settings, self._settings.own
        topics = f"_confluent-ksql-{settings.service_id}connect-"
        if "listeners" in own:
            url = own["listeners"].split(",")[0].strip()
            address = urlsplit(url)
            host = HOST if address.hostname in (None, "0.0.0.0") else str(address.hostname)
            url = f"{address.scheme}://{host}:{address.port}"
        else:
            url = f"http://{HOST}:{port}"
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

    def _has_said(self, what: str) -> bool:
        return any(what in line for lines in self._lines() for line in lines)

    def _last_lines(self) -> list[str]:
        """What this run said last, in its log and on its output."""
        return [line for lines in self._lines() for line in lines[-_LAST_LINES:]]

    def _lines(self) -> list[list[str]]:
        """What this run said in its log, and on its output."""
        found: list[list[str]] = []
        for file, start in ((self.log_file, self._log_start), (self.log_file.with_name("connect.out"), 0)):
            try:
                with file.open("rb") as log:
                    log.seek(start if file.stat().st_size >= start else 0)
                    found.append(log.read().decode(errors="replace").splitlines())
            except OSError:
                continue
        return found

    def _interrupted(self) -> KsqlError:
        log = str(self.log_file)
        return KsqlError("CONNECT_FAILED", what="did not start", reason="it was stopped meanwhile", log=log)


#: prefixes of the settings of a worker's clients: its own, and those of its connectors
_CLIENTS = ("", "producer.", "consumer.", "admin.")
#: what the worker keeps in topics, and the plurals in their usual names
_TOPICS = {"config": "s", "offset": "s", "status": ""}


def java_command(main: str, arguments: Sequence[str], options: Sequence[str], logging: str) -> list[str]:
    """The command line of a JVM with Connect's classes; artifacts.ensure() must have run before.

    Args:
        main: DISTRIBUTED or STANDALONE.
        arguments: of the main class.
        options: of Java.
        logging: the file beside this module that says where the log goes.
    """
    jars = os.pathsep.join(map(str, artifacts.jars(artifacts.CONNECT)))
    settings = Path(__file__).with_name(logging)
    headless = ["-Djava.awt.headless=true", f"-Dlog4j2.configurationFile={settings}"]
    return [str(java_binary()), *headless, *options, "-cp", jars, main, *arguments]


def _escaped(value: str) -> str:
    """``value`` as a file of Java properties has it."""
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"\\{text}" if text[:1].isspace() else text
