"""The embedded schema registry: Apicurio Registry in a process of its own, with its data in one folder.

It offers Confluent's API below ``/apis/ccompat/v7``, on the loopback address only.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO
from uuid import UUID

from ksql_spark.errors import KsqlError
from ksql_spark.schema_registry import RegisteredSchema, SchemaRegistry
from ksql_spark.services import artifacts
from ksql_spark.services.cache import Report
from ksql_spark.services.child import ChildProcess
from ksql_spark.services.data_dir import lock_for_child, make_data_dir, release
from ksql_spark.services.java import java_binary
from ksql_spark.services.ports import HOST, free_port, kept_port, other_port

PREFERRED_PORT = 8081
#: what Apicurio's classes are compiled for
JAVA_VERSION = 21
_API = "/apis/ccompat/v7"
_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 10.0
_ANSWER_TIMEOUT_S = 10.0
#: how often it is looked whether it still runs; the pauses before it is started again
_LOOK_S = 0.5
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
#: how many ports are tried, if others take them first
_ATTEMPTS = 3
#: of its log
_LISTENS, _PORT_TAKEN = "Listening on: http", "seems to be in use by another process"
_CONTENT = "application/vnd.schemaregistry.v1+json"
#: straight to this machine, whatever proxies the environment names
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class EmbeddedRegistry:
    """A schema registry of our own.

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
        self._fetching = False
        self._stopped = False
        self._mutex = threading.Lock()

    def __enter__(self) -> EmbeddedRegistry:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The address for clients of Confluent's API."""
        return f"http://{HOST}:{self.port}{_API}"

    @property
    def log_file(self) -> Path:
        """Its log: of this run only."""
        return self.data_dir / "registry.log"

    def is_running(self) -> bool:
        """Whether it runs: from start() until it ends, by stop() or by itself."""
        return self._child is not None and self._child.is_running()

    def has_data(self) -> bool:
        """Whether it was started before."""
        return any(self.data_dir.glob("registry.*.db"))

    def start(self) -> None:
        """Start it and return once it answers; if that fails, stop it.

        Raises:
            KsqlError: DATA_DIR_IN_USE, DATA_DIR_UNUSABLE, JAVA_MISSING, REGISTRY_FAILED; those of
                artifacts.ensure().
        """
        if self.is_running():
            return
        self.stop()  # what a process that ended by itself has left
        self._stopped = False
        try:
            java = java_binary(JAVA_VERSION)
            self._fetching = True
            artifacts.ensure((artifacts.REGISTRY,), self._report)
            self._fetching = False
            self._report("starting the schema registry")
            make_data_dir(self.data_dir)
            lock = self.data_dir / "registry.lock"
            self._lock = lock_for_child(lock, "schema registry", _STOP_TIMEOUT_S, self._report)
            is_new = not self.has_data()
            self.port = kept_port(self.data_dir / "registry.port", self.port)
            for _ in range(_ATTEMPTS):
                if self._launch(java):
                    break
                self.port = other_port(self.data_dir / "registry.port")
            else:
                raise self._failure("other processes took the ports that were free")
            if is_new:
                # as Confluent's registry does; Apicurio's own default is to accept everything
                self._ask("/config", {"compatibility": "BACKWARD"})
        except BaseException as error:
            self._fetching = False
            self.stop()
            if isinstance(error, urllib.error.HTTPError):
                raise self._failure(f"it answered {error.url} with {error.code} {error.reason}") from None
            if isinstance(error, OSError):
                reason = error.strerror or str(error)
                raise KsqlError("DATA_DIR_UNUSABLE", path=str(self.data_dir), reason=reason) from None
            raise
        self._report(f"the schema registry runs at {self.url}, data in {self.data_dir}")

    def stop(self) -> None:
        """Stop it and wait until it has ended; may be called at any time, more than once.

        A start() in progress in another thread then raises REGISTRY_FAILED.
        """
        with self._mutex:
            self._stopped = True
            child = self._child
        if self._fetching:
            artifacts.interrupt()
        if child:
            child.stop(_STOP_TIMEOUT_S)
        with self._mutex:
            self._child = None
            if self._lock:
                release(self._lock)
                self._lock = None

    def _launch(self, java: Path) -> bool:
        """Start the process and wait until it answers; False if another process has taken its port."""
        scratch = self.data_dir / "tmp"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        self.log_file.write_bytes(b"")
        settings = {
            "java.io.tmpdir": scratch,
            "quarkus.http.host": HOST,
            "quarkus.http.port": self.port,
            "quarkus.http.access-log.enabled": "false",
            # health and metrics, which nothing here asks for
            "quarkus.management.host": HOST,
            "quarkus.management.port": free_port(),
            "apicurio.datasource.url": f"jdbc:h2:file:{self.data_dir / 'registry'}",
            "apicurio.datasource.jdbc.initial-size": 1,
            "apicurio.datasource.jdbc.min-size": 1,
            "apicurio.datasource.jdbc.max-size": 8,
            "apicurio.storage.snapshot.location": scratch,
            "apicurio.import.work-dir": scratch,
        }
        command = [
            str(java),
            *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
            *(f"-D{name}={value}" for name, value in settings.items()),
            *("-jar", str(artifacts.unpacked(artifacts.REGISTRY) / "quarkus-run.jar")),
        ]
        with self._mutex:
            if self._stopped or self._lock is None:
                raise self._failure("it was stopped while it started")
            child = self._child = ChildProcess(command, self.log_file, pass_fds=(self._lock.fileno(),))
        deadline = time.monotonic() + _START_TIMEOUT_S
        while child.is_running() and time.monotonic() < deadline:
            # an answer alone might be that of a registry which another server has started at this port
            if _LISTENS in self.log_file.read_text(errors="replace"):
                with contextlib.suppress(OSError):
                    self._ask("/subjects")
                    return True
            time.sleep(0.05)
        if self._stopped:
            raise self._failure("it was stopped while it started")
        log = self.log_file.read_text(errors="replace")
        if _PORT_TAKEN in log:
            child.stop(_STOP_TIMEOUT_S)
            return False
        lines = log.splitlines()
        errors = [line for line in lines if "Exception:" in line or "Error:" in line or "ERROR" in line]
        reason = errors[-1].strip() if errors else "it did not answer in time"
        raise self._failure(reason.removeprefix("Caused by: ").rstrip("."))

    def _failure(self, reason: str) -> KsqlError:
        return KsqlError("REGISTRY_FAILED", reason=reason, log=str(self.log_file))

    def _ask(self, path: str, body: object = None) -> None:
        """GET, or PUT ``body``; an OSError if the answer is none or an error."""
        data = None if body is None else json.dumps(body).encode()
        method = "GET" if data is None else "PUT"
        request = urllib.request.Request(self.url + path, data, {"Content-Type": _CONTENT}, method=method)
        with _DIRECT.open(request, timeout=_ANSWER_TIMEOUT_S) as answer:
            answer.read()


class RegistryOnDemand:
    """The embedded registry as a SchemaRegistry: started by the first call.

    From then on a thread watches it. One that ends by itself is started again, with growing pauses, because
    running queries may meet schemas that they do not know yet; a call starts it at once.

    Args:
        embedded: the registry; nothing else starts it.
        on_start: called with its address each time it was started.
        report: called with a line when it has ended by itself.
        pause_s: the first pause before it is started again, seconds.
    """

    def __init__(
        self,
        embedded: EmbeddedRegistry,
        on_start: Callable[[str], None],
        report: Report = lambda text: None,
        pause_s: float = _FIRST_PAUSE_S,
    ) -> None:
        self._embedded = embedded
        self._on_start = on_start
        self._report = report
        self._pause_s = pause_s
        self._client: SchemaRegistry | None = None
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        self._mutex = threading.Lock()

    def close(self) -> None:
        """Stop the registry, also one that is being started; calls fail from now on."""
        self._closed.set()
        watcher = self._watcher
        while watcher is not None and watcher.is_alive():
            self._embedded.stop()  # ends a start, too
            watcher.join(_LOOK_S)
        self._embedded.stop()

    @property
    def url(self) -> str:
        """See SchemaRegistry."""
        return self._embedded.url

    def require(self) -> None:
        """See SchemaRegistry."""
        self._started()

    def has_schemas(self) -> bool:
        """See SchemaRegistry."""
        return self._embedded.has_data()

    def problem(self) -> str | None:
        """See SchemaRegistry."""
        client = self._client
        return client.problem() if client is not None and self._embedded.is_running() else None

    def _started(self) -> SchemaRegistry:
        """The client of the running registry.

        Raises:
            KsqlError: those of EmbeddedRegistry.start(); STOPPED.
        """
        with self._mutex:
            if not self._embedded.is_running():
                if self._closed.is_set():
                    raise KsqlError("STOPPED")
                self._embedded.start()
                if self._closed.is_set():
                    self._embedded.stop()
                    raise KsqlError("STOPPED")
                # its library is slow to import, and most servers need no registry
                from ksql_spark.kafka.schema_registry import ConfluentRegistry

                self._client = ConfluentRegistry(self._embedded.url)
                if self._watcher is None:
                    self._watcher = threading.Thread(
                        target=self._follow, name="registry-watcher", daemon=True
                    )
                    self._watcher.start()
                self._on_start(self._embedded.url)
            assert self._client is not None
            return self._client

    def _follow(self) -> None:
        """Watch the registry until close()."""
        pause = self._pause_s
        running_since = time.monotonic()
        while not self._closed.wait(min(_LOOK_S, pause)):
            with self._mutex:  # not while a call starts it
                is_running = self._embedded.is_running()
            if is_running:
                if time.monotonic() - running_since > _LONGEST_PAUSE_S:
                    pause = self._pause_s
                continue
            self._report("the schema registry has ended by itself and is started again")
            if self._closed.wait(pause):
                return
            pause, running_since = min(pause * 2, _LONGEST_PAUSE_S), time.monotonic()
            try:
                self._started()
            except KsqlError as error:
                if not self._closed.is_set():
                    self._report(error.message)

    def latest(self, subject: str) -> RegisteredSchema | None:
        """See SchemaRegistry."""
        return self._started().latest(subject)

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        """See SchemaRegistry."""
        return self._started().by_id(schema_id)

    def kept(self, schema_id: int | UUID) -> RegisteredSchema | None:
        """See SchemaRegistry."""
        return self._started().kept(schema_id)

    def incompatibility(self, subject: str, schema: RegisteredSchema) -> str | None:
        """See SchemaRegistry."""
        return self._started().incompatibility(subject, schema)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """See SchemaRegistry."""
        return self._started().register(subject, schema)

    def subjects(self, schema_id: int) -> list[str]:
        """See SchemaRegistry."""
        return self._started().subjects(schema_id)
