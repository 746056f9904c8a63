"""What was applied: a stream of events on the server, and a table with the last one of each version."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shell.client import Client, ClientError, ServerError, Settings
from shell.migrations.project import Project
from shell.statements import quoted_name, quoted_text

MIGRATED, RUNNING, ERROR, PENDING = "MIGRATED", "RUNNING", "ERROR", "PENDING"
#: the key of the events of whatever version is the newest
CURRENT = "CURRENT"
#: the version before the first one
NO_VERSION = "<none>"
#: in the place of a reason, where there is no error
NO_REASON = "N/A"
#: texts of events may have ``${…}``
_AS_IT_IS = Settings({"ksql.variable.substitution.enable": "false"})
_READ_S = 1.0


@dataclass(frozen=True)
class Event:
    """What was done with a version; all times are milliseconds since 1970 as text, or empty.

    Attributes:
        version: its number.
        name: its description.
        state: MIGRATED, RUNNING or ERROR.
        checksum: MD5 of its file.
        started_on: when it was begun.
        completed_on: when it was over.
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
            "The server knows of no migrations yet. First: ksql-spark migrations initialize-metadata"
        )


class History:
    """Reads and writes the events of a project.

    Args:
        client: of the server.
        project: says what stream and table are called.
    """

    def __init__(self, client: Client, project: Project) -> None:
        self._client = client
        self._project = project

    def is_initialized(self) -> bool:
        """Whether stream and table are there. Raises ClientError."""
        return self._exists("STREAMS", self._project.stream) and self._exists("TABLES", self._project.table)

    def _exists(self, kind: str, name: str) -> bool:
        listed = self._client.run(f"SHOW {kind};")
        return any(one["name"] == name for entity in listed for one in entity.get(kind.lower(), []))

    def initialize(self) -> None:
        """Make the stream and the table; what is there stays. Raises ClientError."""
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
        """Drop table, stream and their topics; the names of what was there. Raises ClientError."""
        dropped = []
        for kind, name in (("TABLE", self._project.table), ("STREAM", self._project.stream)):
            if self._exists(f"{kind}S", name):
                self._client.run(f"DROP {kind} {quoted_name(name)} DELETE TOPIC;")
                dropped.append(name)
        return dropped

    def read(self) -> list[tuple[str, Event]]:
        """All events with their keys, in order.

        The stream is read and not the table, which is a moment behind what was just written.

        Raises:
            NotInitialized: there is no such stream.
            ClientError: the server does not answer.
        """
        if not self._exists("STREAMS", self._project.stream):
            raise NotInitialized
        selected = ", ".join(("version_key", *_COLUMNS))
        return [
            (str(key), Event(*(str(value or "") for value in values)))
            for key, *values in self._rows(f"SELECT {selected} FROM {quoted_name(self._project.stream)};")
        ]

    def _rows(self, query: str) -> Iterator[list[object]]:
        stream = self._client.query(query)
        try:
            while (frames := stream.read(_READ_S)) is not None:
                for frame in frames:
                    if "errorMessage" in frame:
                        raise ServerError(frame["errorMessage"])
                    if "row" in frame:
                        yield frame["row"]["columns"]
        finally:
            stream.close()

    def write(self, event: Event) -> None:
        """Append an event, for its version and as the current one. Raises ClientError."""
        values = ", ".join(quoted_text(getattr(event, name)) for name in _COLUMNS)
        columns = ", ".join(("version_key", *_COLUMNS))
        for key in (event.version, CURRENT):
            into = f"INSERT INTO {quoted_name(self._project.stream)} ({columns})"
            self._client.run(f"{into} VALUES ({quoted_text(key)}, {values});", _AS_IT_IS)


def last_events(events: Iterable[tuple[str, Event]]) -> dict[str, Event]:
    """The last event of each key."""
    return dict(events)
