"""The embedded Connect worker as a ConnectCluster: started on demand, and restarted when it exits."""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ksql_spark.errors import KsqlError
from ksql_spark.kafka_connect import ConnectClient
from ksql_spark.services.cache import Report
from ksql_spark.services.connect_log import complaints

#: how often to check whether the worker is running, and how often to save the state of its connectors
_LOOK_S, _KEEP_S = 0.5, 5.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
#: settings of the topics that a source writes
_TOPIC_CREATION = {
    "topic.creation.default.partitions": "1",
    "topic.creation.default.replication.factor": "-1",
}
_CLASS = "connector.class"
#: connectors repeat what fails; older complaints may be resolved
_LATELY = datetime.timedelta(seconds=30)
_AVRO_CONVERTER = "io.apicurio.registry.utils.converter.AvroConverter"
#: so that records and subjects are those of Confluent's converter
_AVRO_SETTINGS = {
    "apicurio.registry.as-confluent": "true",
    "apicurio.registry.use-id": "contentId",
    "apicurio.registry.headers.enabled": "false",
    "apicurio.registry.auto-register": "true",
    "apicurio.registry.artifact-resolver-strategy": "io.apicurio.registry.serde.strategy.TopicIdStrategy",
}
#: paths of Apicurio's interfaces
_CONFLUENTS_API, _APICURIOS_API = "/apis/ccompat/v7", "/apis/registry/v2"

log = logging.getLogger(__name__)


class Worker(Protocol):
    """The part of EmbeddedConnect that is used here."""

    data_dir: Path

    @property
    def log_file(self) -> Path:
        """The file of the worker's log."""

    @property
    def client(self) -> ConnectClient:
        """A client of it, while it runs."""

    def is_running(self) -> bool:
        """Whether it runs."""

    def start(self) -> None:
        """Start it."""

    def stop(self) -> None:
        """Stop it."""

    def ended(self) -> KsqlError:
        """Return the reason why the worker exited unexpectedly."""


_AGAIN = "It is restarting."


class ConnectOnDemand:
    """See ConnectCluster.

    The first call that needs the worker starts it. From then on a thread watches it: if the worker exits, it
    is restarted with growing pauses, and meanwhile calls fail with the reason. The known connectors are
    stored in ``connectors.json``, so that a server whose worker has some starts it at once.

    Args:
        worker: the worker; nothing else starts it.
        report: called with a line when it exits unexpectedly.
        registry_url: returns the address of a schema registry with Confluent's API, for Avro converters;
            called when one needs it.
        own: the properties in the file that configures the worker.
        pause_s: the first pause before a restart, seconds.
    """

    def __init__(
        self,
        worker: Worker,
        report: Report = lambda text: None,
        registry_url: Callable[[], str | None] = lambda: None,
        own: Mapping[str, str] | None = None,
        pause_s: float = _FIRST_PAUSE_S,
    ) -> None:
        #: set once a statement has needed it
        self.worker = worker
        self._report = report
        self._registry_url = registry_url
        self._own = own or {}
        self._pause_s = pause_s
        self._known_file = worker.data_dir / "connectors.json"
        self._connectors = self._read()
        #: the reason why the worker should be running but is not
        self._failure: KsqlError | None = None
        #: when this server created connectors, to the second, as in the worker's log
        self._created: dict[str, datetime.datetime] = {}
        #: not set during the first background start of the worker
        self._settled = threading.Event()
        self._settled.set()
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None
        self._mutex = threading.Lock()

    def start_in_background(self) -> None:
        """Start the worker without waiting for it; calls do wait."""
        self._settled.clear()
        with self._mutex:
            self._watch()

    def close(self) -> None:
        """Stop the worker, even during its start; calls fail from now on."""
        self._closed.set()
        watcher = self._watcher
        while watcher is not None and watcher.is_alive():
            self.worker.stop()  # ends a start, too
            watcher.join(_LOOK_S)
        self.worker.stop()

    def has_connectors(self) -> bool:
        """Whether the worker had connectors when it was last seen."""
        return bool(self._connectors)

    def problem(self) -> str | None:
        """The reason why the worker should be running but is not; None if there is none."""
        failure = self._failure
        is_down = self._watcher is not None and self._settled.is_set() and not self.worker.is_running()
        if failure is None and is_down and not self._closed.is_set():
            failure = self._ended()  # the watcher has not noticed yet
        return failure.message if failure is not None else None

    def client(self) -> ConnectClient:
        """See ConnectCluster."""
        self._settled.wait()
        if self._failure is None:
            with self._mutex:
                if self._closed.is_set():
                    raise KsqlError("STOPPED")
                if not self.worker.is_running():
                    if self._watcher is not None:  # the watcher will notice, too
                        raise self._ended()
                    self.worker.start()
                self._watch()
        failure = self._failure
        if failure is not None:
            raise failure.without_context()
        return self.worker.client

    def address(self) -> str | None:
        """See ConnectCluster."""
        return self.worker.client.url if self.worker.is_running() else None

    def is_in_use(self) -> bool:
        """See ConnectCluster."""
        return self._watcher is not None or bool(self._connectors)

    def last_seen(self) -> Mapping[str, Any]:
        """See ConnectCluster."""
        return {
            name: {
                "info": info,
                "status": {
                    "connector": {"state": "UNASSIGNED"},
                    "tasks": [{"id": number, "state": "UNASSIGNED"} for number in info.get("tasks") or []],
                },
            }
            for name, info in self._connectors.items()
        }

    def complaints(self) -> Mapping[str, str]:
        """See ConnectCluster."""
        return complaints(self.worker.log_file, datetime.datetime.now() - _LATELY, self._created)

    def worker_properties(self) -> Mapping[str, str]:
        """See ConnectCluster."""
        return self._own

    def completed(self, kind: str, config: Mapping[str, str]) -> dict[str, str]:
        """See ConnectCluster.

        The broker does not create topics automatically, so a source must. An Avro converter, from whatever
        vendor in the configuration, becomes the worker's own.
        """
        self._created[config["name"]] = datetime.datetime.now().replace(microsecond=0)
        self._keep({**self._connectors, config["name"]: _shown({"type": kind.lower(), "config": config})})
        complete = dict(config)
        if kind == "SOURCE":
            complete = {**_TOPIC_CREATION, **complete}
        for converter in ("key.converter", "value.converter"):
            if config.get(converter, "").rpartition(".")[2] == "AvroConverter":
                complete |= self._avro(converter, config)
        return complete

    def _avro(self, converter: str, config: Mapping[str, str]) -> dict[str, str]:
        """The settings of an Avro converter; ``config`` overrides them."""
        own_settings = {n: value for n, value in config.items() if n.startswith(f"{converter}.")}
        settings = {f"{converter}.{name}": value for name, value in _AVRO_SETTINGS.items()}
        url = config.get(f"{converter}.schema.registry.url") or self._registry_url()
        if url is not None:
            native = url.split(",")[0].strip().replace(_CONFLUENTS_API, _APICURIOS_API)
            settings[f"{converter}.apicurio.registry.url"] = native
        return {**settings, **own_settings, converter: _AVRO_CONVERTER}

    # ---- the watcher

    def _watch(self) -> None:
        """Start the watcher unless it is running; the caller holds the mutex."""
        if self._watcher is None and not self._closed.is_set():
            self._watcher = threading.Thread(target=self._follow, name="connect-watcher", daemon=True)
            self._watcher.start()

    def _follow(self) -> None:
        """Watch the worker until close()."""
        pause, seen_at = self._pause_s, 0.0
        if not self._settled.is_set():
            self._start()
            self._settled.set()
        while not self._closed.wait(_LOOK_S):
            if not self.worker.is_running():
                if self._failure is None:
                    self._fail(self._ended())
                if self._closed.wait(pause):
                    return
                pause, seen_at = min(pause * 2, _LONGEST_PAUSE_S), 0.0
                self._start()
            elif time.monotonic() - seen_at > _KEEP_S:
                with contextlib.suppress(KsqlError):
                    connectors = self.worker.client.connectors()
                    self._keep({name: _shown(facts.get("info") or {}) for name, facts in connectors.items()})
                if seen_at:
                    pause = self._pause_s  # it has been running for a while
                seen_at = time.monotonic()

    def _start(self) -> None:
        try:
            self.worker.start()
            self._failure = None
        except KsqlError as error:
            if not self._closed.is_set():
                error.hint = _AGAIN
                self._fail(error)

    def _ended(self) -> KsqlError:
        """Return the reason why the worker exited unexpectedly, with a hint."""
        error = self.worker.ended()
        error.hint = _AGAIN
        return error

    def _fail(self, error: KsqlError) -> None:
        log.error(error.message)
        self._report(error.message)
        self._failure = error

    # ---- what is known of connectors

    def _read(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self._known_file.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}

    def _keep(self, connectors: Mapping[str, Any]) -> None:
        """Store the connectors, also for the next run of the server."""
        if dict(connectors) == self._connectors:
            return
        self._connectors = dict(connectors)
        with contextlib.suppress(OSError):
            self.worker.data_dir.mkdir(parents=True, exist_ok=True)
            fresh = self._known_file.with_suffix(".fresh")
            fresh.write_text(json.dumps(self._connectors, indent=1), encoding="utf-8")
            fresh.replace(self._known_file)


def _shown(info: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a connector that SHOW CONNECTORS shows: its configuration may contain secrets."""
    config = info.get("config") or {}
    return {
        "type": info.get("type"),
        "config": {_CLASS: config.get(_CLASS, "")},
        "tasks": [task.get("task") for task in info.get("tasks") or []],
    }
