"""The embedded schema registry: Apicurio Registry in its own process, with its data in one folder.

It offers Confluent's API below ``/apis/ccompat/v7``, on the loopback address only.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from ksql_spark.errors import KsqlError
from ksql_spark.schema_registry import RegisteredSchema, SchemaRegistry
from ksql_spark.services import artifacts
from ksql_spark.services.cache import Report
from ksql_spark.services.embedded import EmbeddedService
from ksql_spark.services.java import java_binary, java_command
from ksql_spark.services.ports import HOST, free_port

PREFERRED_PORT = 8081
#: the Java version that Apicurio's classes are compiled for
JAVA_VERSION = 21
_API = "/apis/ccompat/v7"
_ANSWER_TIMEOUT_S = 10.0
#: how often to check whether it is running; the pauses before restarts
_LOOK_S = 0.5
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
#: messages in its log
_LISTENS = "Listening on: http"
_CONTENT = "application/vnd.schemaregistry.v1+json"
#: directly to this machine, whatever proxies the environment sets
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class EmbeddedRegistry(EmbeddedService):
    """A schema registry of ours; a failed start raises REGISTRY_FAILED. See EmbeddedService."""

    title = "the schema registry"
    process = "schema registry"
    name = "registry"
    needs = (artifacts.REGISTRY,)
    start_timeout_s = 90.0
    stop_timeout_s = 10.0
    port_taken = "seems to be in use by another process"

    def __init__(
        self, data_dir: Path, port: int = PREFERRED_PORT, report: Report = lambda text: None
    ) -> None:
        super().__init__(data_dir, port, report)
        self._is_new = False

    @property
    def url(self) -> str:
        """The address for clients of Confluent's API."""
        return f"http://{HOST}:{self.port}{_API}"

    @property
    def log_file(self) -> Path:
        """The log of the current run."""
        return self.data_dir / "registry.log"

    def start(self) -> None:
        """See EmbeddedService."""
        java_binary(JAVA_VERSION)  # before anything is fetched
        super().start()

    def has_data(self) -> bool:
        """Whether it has been started before."""
        return any(self.data_dir.glob("registry.*.db"))

    @property
    def _printed(self) -> Path:
        return self.log_file

    def _prepare(self) -> None:
        self._is_new = not self.has_data()

    def _command(self) -> list[str]:
        settings = {
            "java.io.tmpdir": self._scratch,
            "quarkus.http.host": HOST,
            "quarkus.http.port": self.port,
            "quarkus.http.access-log.enabled": "false",
            # health and metrics, which nothing here uses
            "quarkus.management.host": HOST,
            "quarkus.management.port": free_port(),
            "apicurio.datasource.url": f"jdbc:h2:file:{self.data_dir / 'registry'}",
            "apicurio.datasource.jdbc.initial-size": 1,
            "apicurio.datasource.jdbc.min-size": 1,
            "apicurio.datasource.jdbc.max-size": 8,
            "apicurio.storage.snapshot.location": self._scratch,
            "apicurio.import.work-dir": self._scratch,
        }
        return [
            *java_command(JAVA_VERSION),
            *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
            *(f"-D{name}={value}" for name, value in settings.items()),
            *("-jar", str(artifacts.unpacked(artifacts.REGISTRY) / "quarkus-run.jar")),
        ]

    def _answers(self) -> bool:
        # a response alone could come from a registry of another server at this port
        if self._has_printed(_LISTENS):
            with contextlib.suppress(OSError):
                self._ask("/subjects")
                if self._is_new:
                    # as in Confluent's registry; Apicurio's own default is to accept everything
                    self._ask("/config", {"compatibility": "BACKWARD"})
                return True
        return False

    def _ready_line(self) -> str:
        return f"the schema registry runs at {self.url}, data in {self.data_dir}"

    def _error(self, reason: str) -> KsqlError:
        return KsqlError("REGISTRY_FAILED", reason=reason, log=str(self.log_file))

    def _ask(self, path: str, body: object = None) -> None:
        """GET, or PUT ``body``; an OSError if there is no response or it is an error."""
        data = None if body is None else json.dumps(body).encode()
        method = "GET" if data is None else "PUT"
        request = urllib.request.Request(self.url + path, data, {"Content-Type": _CONTENT}, method=method)
        with _DIRECT.open(request, timeout=_ANSWER_TIMEOUT_S) as answer:
            answer.read()


class RegistryOnDemand:
    """The embedded registry as a SchemaRegistry, started by the first call.

    From then on a thread watches it. If it exits, it is restarted with growing pauses, because running
    queries may meet schemas that they do not know yet; a call restarts it at once.

    Args:
        embedded: the registry; nothing else starts it.
        on_start: called with its address after each start.
        report: called with a line when it exits unexpectedly.
        pause_s: the first pause before a restart, seconds.
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
        """Stop the registry, even during its start; calls fail from now on."""
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

    @property
    def address(self) -> str | None:
        """See SchemaRegistry."""
        return self._embedded.url if self._embedded.is_running() else None

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
                if self._embedded.has_data():  # queries may need it: it is tried again if it does not start
                    self._watch()
                self._embedded.start()
                if self._closed.is_set():
                    self._embedded.stop()
                    raise KsqlError("STOPPED")
                # its library is slow to import, and most servers need no registry
                from ksql_spark.kafka.schema_registry import ConfluentRegistry

                self._client = ConfluentRegistry(self._embedded.url)
                self._watch()
                self._on_start(self._embedded.url)
            assert self._client is not None
            return self._client

    def _watch(self) -> None:
        """Start the watcher unless it runs; the caller holds the mutex."""
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._follow, name="registry-watcher", daemon=True)
            self._watcher.start()

    def _follow(self) -> None:
        """Watch the registry until close()."""
        pause = self._pause_s
        running_since = time.monotonic()
        while not self._closed.wait(min(_LOOK_S, pause)):
            with self._mutex:  # not while a call is starting it
                is_running = self._embedded.is_running()
            if is_running:
                if time.monotonic() - running_since > _LONGEST_PAUSE_S:
                    pause = self._pause_s
                continue
            self._report("the schema registry does not run; restarting it")
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

    def versions(self, subject: str, most: int) -> list[tuple[int, RegisteredSchema]]:
        """See SchemaRegistry."""
        return self._started().versions(subject, most)

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        """See SchemaRegistry."""
        return self._started().by_id(schema_id)

    def cached(self, schema_id: int | UUID) -> RegisteredSchema | None:
        """See SchemaRegistry."""
        return self._started().cached(schema_id)

    def incompatibility(self, subject: str, schema: RegisteredSchema) -> str | None:
        """See SchemaRegistry."""
        return self._started().incompatibility(subject, schema)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """See SchemaRegistry."""
        return self._started().register(subject, schema)

    def delete(self, subject: str) -> None:
        """See SchemaRegistry."""
        self._started().delete(subject)

    def subjects(self, schema_id: int) -> list[str]:
        """See SchemaRegistry."""
        return self._started().subjects(schema_id)
