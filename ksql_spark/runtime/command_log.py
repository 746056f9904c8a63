"""The command log: a topic with one partition that has every statement that changed something (§6.11).

It is the source of truth: metastore and queries are rebuilt from it, state from checkpoints. A command is a
JSON object with ``version``, ``id`` (the commandId), ``statement``, ``properties`` and ``starts`` ({topic:
{partition: offset}}), which fixes where a new query begins to read, so that nothing is missed if it starts
later. A command that starts a query also has ``queryId`` and ``plan``, its plans as physical.codec writes
them: a later release runs the plan that the checkpoint belongs to, not the plan that it would make itself.

Commands are written first and carried out then, in the order of the log. Each was checked against a metastore
that knew all commands before it, and says so: ``follows`` is the ``token`` of the command that was the last
one then. A command that follows another one than the last has lost a race: it is void for whoever reads the
log, now and later (Order). So servers need no lock among each other, and whatever a server that was frozen
still sends changes nothing.

Whoever may write to the topic may put anything into it. So a record is checked before it is used, and what is
no command is skipped (SkippedRecord), never executed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer

#: since 2: commands are written before they are carried out, and may be void
VERSION = 2
#: a command's greatest length; Kafka's brokers take records of 1 MiB by default, headers and starts included
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Command:
    """One logged statement; ``id`` is the REST API's commandId, ``starts`` topic -> {partition: offset}.

    ``query_id`` and ``plan`` (a document of physical.codec) belong to statements that start a query.
    ``token`` is the command's own, ``follows`` that of the one before it (Order); version 1 has neither.
    """

    id: str
    statement: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    starts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    query_id: str | None = None
    plan: Mapping[str, Any] | None = None
    token: str | None = None
    follows: str | None = None


@dataclass(frozen=True)
class Unreadable:
    """A record of the log that is not a command of this release: why, and whether a newer release wrote it.

    ``token`` and ``follows`` are those of a newer release's command.
    """

    reason: str
    is_newer: bool = False
    token: str | None = None
    follows: str | None = None


class Order:
    """Which commands of the log are void, because another one came before them. Not thread-safe."""

    def __init__(self) -> None:
        #: the token of the last command; None: no command has one yet
        self.last: str | None = None
        self._known: set[str] = set()

    def accepts(self, command: Command | Unreadable) -> bool:
        """Whether the log's next record is to be carried out, as far as its place in the log says.

        It is void if commands came between it and the one that it follows. If the one that it follows is not
        in the log at all, somebody has mended the log: then there is no saying, and it is carried out.
        """
        if command.token is None:
            return True
        follows = command.follows
        if follows != self.last and (follows is None or follows in self._known):
            return False
        self.last = command.token
        self._known.add(command.token)
        return True

    def has(self, token: str) -> bool:
        """Whether the command with this token has come, and was not void."""
        return token in self._known


@dataclass(frozen=True)
class SkippedRecord:
    """A record of the log that was not carried out: where it is, and why."""

    topic: str
    partition: int
    offset: int
    reason: str

    def __str__(self) -> str:
        return f"{self.topic}, partition {self.partition}, offset {self.offset}: {self.reason}"


class CarriedOut:
    """How far this server has carried out the log's commands. Thread-safe."""

    def __init__(self) -> None:
        self._last = -1
        self._changed = threading.Condition()
        #: what was left out
        self.skipped: list[SkippedRecord] = []
        #: the record of a newer release, because of which nothing is added to the log; None: there is none
        self.newer: SkippedRecord | None = None
        #: the token of the last command that was carried out, which the next one follows
        self.token: str | None = None

    def skip(self, record: SkippedRecord, *, is_newer: bool = False) -> None:
        """The record cannot be carried out; after one of a newer release the log is only read."""
        self.skipped.append(record)
        if is_newer and self.newer is None:
            self.newer = record

    def check_writable(self) -> None:
        """Raise where nothing may be added to the log.

        Raises:
            KsqlError: COMMAND_LOG_NEWER.
        """
        if self.newer is not None:
            raise KsqlError("COMMAND_LOG_NEWER", topic=self.newer.topic, offset=self.newer.offset)

    @property
    def last(self) -> int:
        """The sequence number of the last command that was carried out; -1 if there is none."""
        return self._last

    def note(self, sequence: int) -> None:
        """The command with this number has been carried out."""
        with self._changed:
            self._last = max(self._last, sequence)
            self._changed.notify_all()

    def wait_for(self, sequence: int, timeout_s: float, is_stopping: Callable[[], bool]) -> None:
        """Return once the command with this number has been carried out.

        Raises:
            KsqlError: COMMAND_NOT_REACHED after ``timeout_s`` seconds; STOPPED.
        """
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while self._last < sequence:
                if is_stopping():
                    raise KsqlError("STOPPED")
                left = deadline - time.monotonic()
                if left <= 0:
                    raise KsqlError("COMMAND_NOT_REACHED", sequence=sequence, last=self._last)
                self._changed.wait(min(left, 0.2))


def command_topic(service_id: str) -> str:
    """The name of the topic of a service's command log."""
    return f"_confluent-ksql-{service_id}_command_topic"


def create_command_topic(admin: KafkaAdmin, service_id: str, replicas: int) -> None:
    """Create the topic if it is missing: one partition, records kept forever; replicas -1: the default."""
    topic = command_topic(service_id)
    if admin.topic(topic) is None:
        config = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
        try:
            admin.create_topic(topic, 1, replicas, config)
        except KsqlError as error:
            if error.condition != "TOPIC_EXISTS":  # another server may just have made it
                raise


class CommandLog:
    """Append and read commands.

    Args:
        admin: of the cluster.
        producer: to the same cluster.
        service_id: the server's service id.
        confirm: called before each command is written or carried out; raises if another server has taken the
            service id.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        producer: RecordProducer,
        service_id: str,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        self.topic = command_topic(service_id)
        self._admin = admin
        self._producer = producer
        #: raises SERVICE_ID_TAKEN if another server has taken the service id, and with it the log
        self.confirm = confirm

    def append(self, command: Command) -> int:
        """Write ``command``; return its offset, which is the command's sequence number.

        Raises:
            KsqlError: SERVICE_ID_TAKEN; as RecordProducer.send().
        """
        self.confirm()
        _, offset = self._producer.send(self.topic, command.id.encode(), encode(command))
        return offset

    def end(self) -> int:
        """The sequence number that the next command will get."""
        return next(iter(self._admin.end_offsets(self.topic).values()))

    def reader(self, start: int = 0) -> CommandReader:
        """A reader of the commands from the one with this sequence number on.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        return CommandReader(self._admin, self.topic, start)


Numbered = tuple[int, Command | Unreadable]
"""A record of the log with its sequence number."""


class CommandReader:
    """Reads commands in their order. Not thread-safe.

    Args:
        admin: of the cluster.
        topic: the command log's.
        start: the sequence number of the first one.
    """

    def __init__(self, admin: KafkaAdmin, topic: str, start: int = 0) -> None:
        self._reader = TopicReader(admin.servers, topic, {0: start}, settings=admin.settings)

    def read_to_end(self) -> Iterator[Numbered]:
        """All that are in the log now.

        Raises:
            KsqlError: as TopicReader.read_to_end().
        """
        for records in self._reader.read_to_end():
            for record in records:
                yield record.offset, decode(record.value)

    def read(self, timeout_s: float) -> Sequence[Numbered]:
        """The next ones; none if none comes within ``timeout_s`` seconds.

        Raises:
            KsqlError: as TopicReader.poll_batch().
        """
        return [(record.offset, decode(record.value)) for record in self._reader.poll_batch(timeout_s)]

    def close(self) -> None:
        """Free the connections."""
        self._reader.close()


# ---- one record ---------------------------------------------------------------------------------------


def encode(command: Command) -> bytes:
    """The value of a command's record."""
    body: dict[str, Any] = {
        "version": VERSION,
        "id": command.id,
        "statement": command.statement,
        "properties": dict(command.properties),
        "starts": {t: dict(offsets) for t, offsets in command.starts.items()},
    }
    if command.query_id is not None:
        body["queryId"] = command.query_id
    if command.plan is not None:
        body["plan"] = dict(command.plan)
    body |= {"token": command.token, "follows": command.follows}
    return json.dumps(body).encode()


def decode(value: bytes | None) -> Command | Unreadable:
    """The command of a record's value, or why it is none."""
    if value is None:
        return Unreadable("it has no value")
    try:
        body: Any = json.loads(value)
    except (ValueError, RecursionError) as error:  # a UnicodeDecodeError too
        return Unreadable(f"it is not JSON ({error})")
    version = body.get("version") if isinstance(body, dict) else None
    if type(version) is not int:
        return Unreadable("it is not a JSON object with a version")
    if version > VERSION:
        token, follows = (name if isinstance(name, str) else None for name in map(body.get, _ORDER))
        reason = f"its version is {version}, but this release supports at most {VERSION}"
        return Unreadable(reason, is_newer=True, token=token, follows=follows)
    wrong = [name for name, is_right in _MEMBERS.items() if not is_right(body.get(name))]
    if wrong:
        return Unreadable(f"{wrong[0]} is missing or wrong")
    return Command(
        body["id"],
        body["statement"],
        body["properties"],
        body["starts"],
        body.get("queryId"),
        body.get("plan"),
        body.get("token"),
        body.get("follows"),
    )


def _is_starts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(offsets, dict)
        and all(partition.isdecimal() and type(offset) is int for partition, offset in offsets.items())
        for offsets in value.values()
    )


def _is_query_id(value: Any) -> bool:
    """Whether it is the name of a folder of checkpoints, and not the way to another folder."""
    return value is None or (
        isinstance(value, str) and value not in ("", ".", "..") and not any(c in value for c in "/\\\0")
    )


#: the members that say where a command belongs, the same in all versions
_ORDER = ("token", "follows")
#: member of a record's value -> whether a value of it is one that append() may have written
_MEMBERS: Mapping[str, Callable[[Any], bool]] = {
    "id": lambda value: isinstance(value, str),
    "statement": lambda value: isinstance(value, str),
    "properties": lambda value: isinstance(value, dict),
    "starts": _is_starts,
    "queryId": _is_query_id,
    "plan": lambda value: value is None or isinstance(value, dict),
    "token": lambda value: value is None or isinstance(value, str),
    "follows": lambda value: value is None or isinstance(value, str),
}
