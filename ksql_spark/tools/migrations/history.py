"""The applied migrations: a stream of events on the server, and a table with the latest event of each
version.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ksql_spark.shell.client import Client, ClientError, Settings
from ksql_spark.shell.statements import quoted_name, quoted_text
from ksql_spark.tools.migrations.project import Project

MIGRATED, RUNNING, ERROR, PENDING = "MIGRATED", "RUNNING", "ERROR", "PENDING"
#: the key of the events of the newest version
CURRENT = "CURRENT"
#: the key of claims, which ensure that only one process applies migrations: a process claims a version before
#: it applies it, and releases it afterwards
CLAIM = "CLAIM"
CLAIMED, RELEASED = "CLAIMED", "RELEASED"
#: the version before the first one
NO_VERSION = "<none>"
#: stands for a reason if there is no error
NO_REASON = "N/A"
#: texts of events may contain ``${…}``
_AS_IT_IS = Settings({"ksql.variable.substitution.enable": "false"})
_READ_S = 1.0


@dataclass(frozen=True)
class Event:
    """An event of a version; all times are milliseconds since 1970 as text, or empty.

    Attributes:
        version: its number.
        name: its description.
        state: MIGRATED, RUNNING or ERROR.
        checksum: MD5 of its file.
        started_on: when it started.
        completed_on: when it ended.
        previous: the version before it, or NO_VERSION.
        error_reason: why it failed.
    """

    version: str
    name: str
    state: str
    checksum: str
    started_on: str
    completed_on: str
    previous: str
    error_reason: str


_COLUMNS = tuple(field.name for field in dataclasses.fields(Event))


class NotInitialized(ClientError):
    """The server has no stream of events."""

    def __init__(self) -> None:
        super().__init__(
            "The server has no migration metadata. First run: ksql-spark migrations initialize-metadata"
        )


class History:
    """Reads and writes the events of a project.

    Args:
        client: of the server.
        project: has the names of stream and table.
    """

    def __init__(self, client: Client, project: Project) -> None:
        self._client = client
        self._project = project

    def is_initialized(self) -> bool:
        """Whether stream and table exist. Raises ClientError."""
        return self._exists("STREAMS", self._project.stream) and self._exists("TABLES", self._project.table)

    def _exists(self, kind: str, name: str) -> bool:
        listed = self._client.run(f"SHOW {kind};")
        return any(one["name"] == name for entity in listed for one in entity.get(kind.lower(), []))

    def initialize(self) -> None:
        """Create the stream and the table, unless they exist. Raises ClientError."""
        project, service_id = self._project, str(self._client.info().get("ksqlServiceId", ""))
        columns = ", ".join(f"{name} STRING" for name in _COLUMNS)
        last = ", ".join(f"LATEST_BY_OFFSET({name}) AS {name}" for name in _COLUMNS)
        self._client.run(
            f"CREATE STREAM IF NOT EXISTS {quoted_name(project.stream)} (version_key STRING KEY, {columns}) "
            f"WITH (KAFKA_TOPIC = {quoted_text(project.topic('stream', service_id))}, VALUE_FORMAT = 'JSON', "
            f"PARTITIONS = 1, REPLICAS = {project.replicas});",
        )
        self._client.run(
            f"CREATE TABLE IF NOT EXISTS {quoted_name(project.table)} WITH "
            f"(KAFKA_TOPIC = {quoted_text(project.topic('table', service_id))}) AS "
            f"SELECT version_key, {last} FROM {quoted_name(project.stream)} GROUP BY version_key;",
            Settings({"auto.offset.reset": "earliest"}),
        )

    def destroy(self) -> list[str]:
        """Drop table, stream and their topics; the names of those that existed. Raises ClientError."""
        dropped = []
        for kind, name in (("TABLE", self._project.table), ("STREAM", self._project.stream)):
            if self._exists(f"{kind}S", name):
                self._client.run(f"DROP {kind} {quoted_name(name)} DELETE TOPIC;")
                dropped.append(name)
        return dropped

    def read(self) -> list[tuple[str, Event]]:
        """All events with their keys, in order.

        It reads the stream instead of the table, which lags slightly behind.

        Raises:
            NotInitialized: the stream does not exist.
            ClientError: the server does not respond.
        """
        if not self._exists("STREAMS", self._project.stream):
            raise NotInitialized
        selected = ", ".join(("version_key", *_COLUMNS))
        return [
            (str(key), Event(*(str(value or "") for value in values)))
            for key, *values in self._client.rows(
                f"SELECT {selected} FROM {quoted_name(self._project.stream)};"
            )
        ]

    def write(self, event: Event) -> None:
        """Append an event for its version and as the current one. Raises ClientError."""
        self._append(event, event.version, CURRENT)

    def claim(self, event: Event) -> None:
        """Append an event that claims a version, or releases it. Raises ClientError."""
        self._append(event, CLAIM)

    def _append(self, event: Event, *keys: str) -> None:
        values = ", ".join(quoted_text(getattr(event, name)) for name in _COLUMNS)
        columns = ", ".join(("version_key", *_COLUMNS))
        for key in keys:
            into = f"INSERT INTO {quoted_name(self._project.stream)} ({columns})"
            self._client.run(f"{into} VALUES ({quoted_text(key)}, {values});", _AS_IT_IS)


@dataclass(frozen=True)
class Standing:
    """The state of a project according to its events.

    Attributes:
        versions: the last event of each version.
        current: the last event; None if nothing was applied.
        holder: the claim, or another tool's event, of the process that is applying a version; None if there
            is none.
    """

    versions: Mapping[str, Event] = field(default_factory=dict)
    current: Event | None = None
    holder: Event | None = None

    @property
    def migrated(self) -> str:
        """The newest applied version, or NO_VERSION."""
        if self.current is None:
            return NO_VERSION
        return self.current.version if self.current.state == MIGRATED else self.current.previous

    def with_event(self, key: str, event: Event) -> Standing:
        """The state after one more event.

        A claim counts if nobody holds one, or if it names the one that it takes over. So if several are
        written at once, the first one in the topic counts, and every reader agrees.
        """
        holder = self.holder
        if key == CLAIM:
            if event.state == CLAIMED and (holder is None or event.error_reason == token(holder)):
                return replace(self, holder=event)
            if event.state == RELEASED and holder is not None and token(event) == token(holder):
                return replace(self, holder=None)
            return self
        if key != CURRENT:
            return replace(self, versions={**self.versions, key: event})
        if event.state == RUNNING:
            return replace(self, current=event, holder=holder or event)
        is_end = holder is not None and holder.started_on == event.started_on
        return replace(self, current=event, holder=None if is_end else holder)


def token(holder: Event) -> str:
    """A unique token for a claim."""
    return holder.name if holder.state in (CLAIMED, RELEASED) else holder.started_on


def standing(events: Iterable[tuple[str, Event]]) -> Standing:
    """The state after all events, in order."""
    state = Standing()
    for key, event in events:
        state = state.with_event(key, event)
    return state
