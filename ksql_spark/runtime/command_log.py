"""The command log: a topic with one partition that has every statement that changed something (§6.11).

It is the source of truth: metastore and queries are rebuilt from it, state from checkpoints. A command is a
JSON object with ``version``, ``id`` (the commandId), ``statement``, ``properties`` and ``starts`` ({topic:
{partition: offset}}), which fixes where a new query starts reading, so that nothing is missed if it starts
later. A command that starts a query also has ``queryId`` and ``plan``, its plans as written by
plan.codec: a later release runs the plan that the checkpoint belongs to, not the plan that it would make
itself.

Servers write commands first, then execute them in the order of the log. Each command was validated against a
metastore that knew all earlier commands, and says so: ``follows`` is the ``token`` of the last command at
that time. A command that follows any other than the last one has lost a race: it is void for every reader of
the log, now and later (Order). So servers need no lock among each other, and whatever a frozen server still
sends changes nothing.

Anyone with write access to the topic can put anything into it. So records are checked before use, and records
that are not commands are skipped (SkippedRecord), never executed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer

#: since 2: commands are written before they are executed, and may be void
VERSION = 2
#: the maximum length of a command; Kafka's brokers accept records of 1 MiB by default, including headers
MAX_BYTES = 1_000_000


@dataclass(frozen=True)
class Command:
    """One logged statement; ``id`` is the REST API's commandId, ``starts`` topic -> {partition: offset}.

    ``query_id`` and ``plan`` (a document of plan.codec) belong to statements that start a query.
    ``token`` is the command's own, ``follows`` that of the one before it (Order); version 1 has neither.
    ``user`` sent it, if users log in. ``written_ms``, epoch milliseconds, is its record's timestamp.
    ``topics`` tells a DROP's topics from others that get their names later: name -> id.
    """

    id: str
    statement: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    starts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    query_id: str | None = None
    plan: Mapping[str, Any] | None = None
    token: str | None = None
    follows: str | None = None
    user: str | None = None
    written_ms: int | None = None
    topics: Mapping[str, str] = field(default_factory=dict)


def end_of(topic: str) -> str:
    """The name that a topic's end has among a command's ``starts``, where the command needs both."""
    return f"end: {topic}"


def first_offsets(starts: Mapping[str, Mapping[str, int]]) -> dict[str, Mapping[str, int]]:
    """A command's ``starts`` without ends."""
    return {topic: offsets for topic, offsets in starts.items() if not topic.startswith(end_of(""))}


@dataclass(frozen=True)
class Unreadable:
    """A record of the log that is not a command of this release: the reason, and whether a newer release
    wrote it.

    ``token`` and ``follows`` are those of a newer release's command.
    """

    reason: str
    is_newer: bool = False
    token: str | None = None
    follows: str | None = None


class Order:
    """Decides which commands of the log are void because another one came first. Not thread-safe."""

    def __init__(self) -> None:
        #: the token of the last command; None if no command has had one yet
        self.last: str | None = None
        self._tokens: set[str] = set()

    def accepts(self, command: Command | Unreadable) -> bool:
        """Whether the log's next record may be executed, judging by its place in the log.

        It is void if commands came between it and the one that it follows. If the one that it follows is not
        in the log at all, somebody has edited the log; then the record is executed.
        """
        if command.token is None:
            return True
        follows = command.follows
        if follows != self.last and (follows is None or follows in self._tokens):
            return False
        self.last = command.token
        self._tokens.add(command.token)
        return True

    def has(self, token: str) -> bool:
        """Whether the command with this token is in the log and not void."""
        return token in self._tokens


#: kinds of what statements make
SOURCE, SINK, TYPE, VIEW, INDEX, FUNCTION, QUERY = (
    "source",
    "sink",
    "type",
    "view",
    "index",
    "function",
    "query",
)
#: one thing that a statement makes: its kind, and its name or id
Name = tuple[str, str]


@dataclass(frozen=True)
class SkippedRecord:
    """A record of the log that was not executed: its place and the reason.

    Args:
        topic: the log's.
        partition: 0.
        offset: its place.
        reason: why it was not executed.
        statement: the statement's text, without secrets; empty: it is not a command.
        names: what the statement makes or is about.
        mentions: all identifiers in it.
        remedy: what a user may do about it, a sentence.
    """

    topic: str
    partition: int
    offset: int
    reason: str
    statement: str = ""
    names: frozenset[Name] = frozenset()
    mentions: frozenset[str] = frozenset()
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.topic}, partition {self.partition}, offset {self.offset}: {self.reason}"

    @property
    def shortly(self) -> str:
        """Return a sentence that says where the statement is and why it was not executed."""
        return f"Its statement, at offset {self.offset} of the command log, was not executed: {self.reason}"


class CarriedOut:
    """The progress of this server in executing the log's commands. Thread-safe."""

    def __init__(self) -> None:
        self._last = -1
        self._changed = threading.Condition()
        #: the skipped records
        self.skipped: list[SkippedRecord] = []
        #: the record of a newer release, because of which this server writes nothing to the log; None if
        #: there is none
        self.newer: SkippedRecord | None = None
        #: the token of the last executed command, which the next one follows
        self.token: str | None = None
        #: ids of the queries that the log's commands have started, including those that have ended
        self.query_ids: set[str] = set()

    def skip(self, record: SkippedRecord, *, is_newer: bool = False) -> None:
        """Skip the record; after a record of a newer release the log is read-only."""
        self.skipped.append(record)
        if is_newer and self.newer is None:
            self.newer = record

    @property
    def missing(self) -> Mapping[Name, SkippedRecord]:
        """Return the skipped records by the names that their statements would have created."""
        return {name: record for record in self.skipped for name in record.names}

    def needing(self, name: Name) -> list[SkippedRecord]:
        """Statements that were not executed and would use what is called ``name``."""
        return [r for r in self.skipped if name[1] in r.mentions and name not in r.names]

    def give_up(self, removed: Collection[Name], *, cascades: bool) -> None:
        """Forget statements that were not executed, once what they would have made is removed.

        A stream or table goes with the query that writes it; a query that ends leaves its stream or table.

        Args:
            removed: what is removed.
            cascades: whether all goes that would use it, too.
        """
        gone, remaining, before = set(removed), list(self.skipped), -1
        while before != len(gone):
            before, records, remaining = len(gone), remaining, []
            texts = {text for _, text in gone}
            for record in records:
                names = record.names - gone
                if any(kind == SOURCE for kind, _ in record.names - names) or (
                    cascades and record.names and record.mentions & texts
                ):
                    gone |= {name for name in record.names if cascades or name[0] == QUERY}
                    names -= gone
                if names or not record.names:
                    remaining.append(replace(record, names=names))
        self.skipped = remaining

    def check_writable(self) -> None:
        """Raise if this server must not write to the log.

        Raises:
            KsqlError: COMMAND_LOG_NEWER.
        """
        if self.newer is not None:
            raise KsqlError("COMMAND_LOG_NEWER", topic=self.newer.topic, offset=self.newer.offset)

    @property
    def last(self) -> int:
        """The sequence number of the last executed command; -1 if there is none."""
        return self._last

    def note(self, sequence: int) -> None:
        """Record that the command with this number has been executed."""
        with self._changed:
            self._last = max(self._last, sequence)
            self._changed.notify_all()

    def wait_for(self, sequence: int, timeout_s: float, is_stopping: Callable[[], bool]) -> None:
        """Return once the command with this number has been executed.

        Raises:
            KsqlError: COMMAND_NOT_REACHED after ``timeout_s`` seconds; STOPPED.
        """
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while self._last < sequence:
                if is_stopping():
                    raise KsqlError("STOPPED")
                remaining_s = deadline - time.monotonic()
                if remaining_s <= 0:
                    raise KsqlError("COMMAND_NOT_REACHED", sequence=sequence, last=self._last)
                self._changed.wait(min(remaining_s, 0.2))


def command_topic(service_id: str) -> str:
    """The name of the topic of a service's command log."""
    return f"_confluent-ksql-{service_id}_command_topic"


def create_command_topic(admin: KafkaAdmin, service_id: str, replicas: int) -> None:
    """Create the topic if it is missing, with one partition, forever; replicas -1: the default."""
    topic = command_topic(service_id)
    if admin.topic(topic) is None:
        config = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
        try:
            admin.create_topic(topic, 1, replicas, config)
        except KsqlError as error:
            if error.condition != "TOPIC_EXISTS":  # another server may just have created it
                raise


class CommandLog:
    """Append and read commands.

    Args:
        admin: of the cluster.
        producer: to the same cluster.
        service_id: the server's service id.
        confirm: called before each command is written or executed; raises if another server has taken the
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
        """A reader of the commands, starting at this sequence number.

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
        """All commands that are currently in the log.

        Raises:
            KsqlError: as TopicReader.read_to_end().
        """
        for records in self._reader.read_to_end():
            for record in records:
                yield record.offset, decode(record.value, record.timestamp_ms)

    def read(self, timeout_s: float) -> Sequence[Numbered]:
        """The next commands; none if none arrives within ``timeout_s`` seconds.

        Raises:
            KsqlError: as TopicReader.poll_batch().
        """
        records = self._reader.poll_batch(timeout_s)
        return [(record.offset, decode(record.value, record.timestamp_ms)) for record in records]

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
    if command.user is not None:
        body["user"] = command.user
    if command.topics:
        body["topics"] = dict(command.topics)
    body |= {"token": command.token, "follows": command.follows}
    return json.dumps(body).encode()


def decode(value: bytes | None, written_ms: int | None = None) -> Command | Unreadable:
    """The command in the value of a record with this timestamp, or why it is not one."""
    if value is None:
        return Unreadable("it has no value")
    try:
        body: Any = json.loads(value)
    except (ValueError, RecursionError) as error:  # also a UnicodeDecodeError
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
        body.get("user"),
        written_ms,
        body.get("topics") or {},
    )


def _is_starts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(offsets, dict)
        and all(partition.isdecimal() and type(offset) is int for partition, offset in offsets.items())
        for offsets in value.values()
    )


def _is_query_id(value: Any) -> bool:
    """Whether it is the name of a checkpoint folder, and not a path to another folder."""
    return value is None or (
        isinstance(value, str) and value not in ("", ".", "..") and not any(c in value for c in "/\\\0")
    )


#: the members that define a command's place in the log, the same in all versions
_ORDER = ("token", "follows")
#: member of a record's value -> whether append() may have written a given value of it
_MEMBERS: Mapping[str, Callable[[Any], bool]] = {
    "id": lambda value: isinstance(value, str),
    "statement": lambda value: isinstance(value, str),
    "properties": lambda value: isinstance(value, dict),
    "starts": _is_starts,
    "queryId": _is_query_id,
    "plan": lambda value: value is None or isinstance(value, dict),
    "token": lambda value: value is None or isinstance(value, str),
    "follows": lambda value: value is None or isinstance(value, str),
    "user": lambda value: value is None or isinstance(value, str),
    "topics": lambda value: value is None or isinstance(value, dict),
}
