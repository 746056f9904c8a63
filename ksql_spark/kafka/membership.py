"""Assigns slots to servers with Kafka's group protocol, over a topic that nobody writes to.

The topic's partitions are *slots*. Servers of one service id are members of one consumer group, and the
member with a partition has the slot, so no two servers have it at a time. A server that joins gets its share:
the owners first release the slots that it takes (cooperative rebalancing). A killed server is noticed after
SESSION_MS; one that is back before that still has its slots (static membership).

A *drained* server stays a member without slots: it subscribes to another topic. A server that stops on
purpose, or wants a different set of slots, makes Kafka forget the member, which would otherwise keep its
slots.

Members follow a log. A new owner of a slot asks for the log's end: the owner before may have read up to
there.

A member commits an offset for its slots every second. Kafka rejects that from members of an earlier
generation, so each success proves that nobody else has the slots until SESSION_MS after the request. The
committed value is only a note for the other servers: the owner, and whatever it has to say.
"""

from __future__ import annotations

import contextlib
import enum
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ksql_spark.kafka.admin import KafkaAdmin, Partition
from ksql_spark.kafka.client import Connection

log = logging.getLogger(__name__)

#: after this time Kafka considers a member dead; its smallest default, milliseconds
SESSION_MS = 6000
#: the interval of the client's heartbeats, milliseconds
HEARTBEAT_MS = SESSION_MS // 4
#: how often ownership is confirmed, seconds
CONFIRM_EVERY_S = 1.0
#: how long a confirmation is valid, counted from the request: less than Kafka waits, seconds
VALID_S = SESSION_MS / 1000 - 1.0
#: the maximum size of a note that Kafka stores, bytes
NOTE_BYTES = 4000
POLL_S = 0.1
#: how often a member reads the notes of slot owners, and how long Kafka may take to show them, seconds
LOOK_EVERY_S = 2.0
NOTES_S = 2.0
#: pause before a rejected member rejoins, seconds
PAUSE_S = 1.0
#: after how long a member without slots asks again, seconds
ASK_AGAIN_S = 10.0
#: after this time Kafka has certainly forgotten a member, seconds
FORGOTTEN_S = SESSION_MS / 1000 + 1.0
CLIENT_ID = "ksql-spark"


class Mode(enum.Enum):
    """The role of a member in the group."""

    #: it has a share of the slots
    SERVING = enum.auto()
    #: it has no slots and gets none
    DRAINED = enum.auto()


class Holder(Protocol):
    """Reacts when slots come and go. All calls come from the member's threads."""

    def gained(self, slots: frozenset[int]) -> None:
        """The slots now belong to this server. Returns at once."""

    def release(self, slots: frozenset[int]) -> None:
        """Other servers will have the slots once this returns."""

    def lost(self, slots: frozenset[int]) -> None:
        """Other servers may already have the slots."""

    def stamp(self) -> Any:
        """Called before Kafka is asked; see confirmed."""

    def confirmed(self, stamp: Any, seconds: float) -> None:
        """Nobody else has the slots until ``seconds`` after ``stamp``."""

    def forget(self, group: str, instance: str) -> bool:
        """Make Kafka forget a departed static member; False if Kafka does so by itself, later."""

    def note(self, slot: int) -> Mapping[str, Any]:
        """The note for a slot, as JSON; with the names around it, no longer than NOTE_BYTES.

        Raises:
            KafkaException: the contents are currently unknown.
        """

    def noted(self, notes: Mapping[int, Mapping[str, Any]]) -> None:
        """Kafka has stored the notes of these slots."""


@dataclass(frozen=True)
class Note:
    """The latest note of a slot's owner.

    Args:
        host: the owner's address.
        server: its id.
        content: its content.
    """

    host: str
    server: str
    content: Mapping[str, Any] = field(default_factory=dict)


class NotesSnapshot(NamedTuple):
    """The notes of the owners of slots, and the offset after the log's last record, read after the notes."""

    notes: Mapping[int, Note]
    log_end: int


@dataclass(frozen=True)
class Member:
    """A server that Kafka considers alive.

    Args:
        host: its address.
        slots: its number of slots; 0 if it is drained, has just joined, or has stopped.
    """

    host: str
    slots: int


class Membership:
    """The membership of this server in the group.

    Args:
        admin: of the cluster.
        group: the group's name.
        topic: the topic whose partitions are the slots; it exists.
        log_topic: that of the log that all members follow, with one partition; it exists. Members without
            slots subscribe to it.
        host: the address at which this server is reached.
        server: its id.
        holder: receives changes of this server's slots.
        count: the number of slots.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        group: str,
        topic: str,
        log_topic: str,
        host: str,
        server: str,
        holder: Holder,
        count: int,
    ) -> None:
        self._admin = admin
        self._group, self._topic, self._log_topic = group, topic, log_topic
        self._host, self._server = host, server
        self._holder = holder
        self._count = count
        self._connection = Connection(admin.servers, admin.settings)
        self._owned: frozenset[int] = frozenset()
        #: slots that are being released
        self._releasing: frozenset[int] = frozenset()
        #: until when Kafka has confirmed the slots, on the monotonic clock
        self._valid_until = 0.0
        #: whether the holder knows that the slots may be lost, because nothing was confirmed in time
        self._is_suspended = False
        self._confirm_at = 0.0
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._joined = threading.Event()
        #: the requested role of this member
        self._target_mode = Mode.SERVING
        #: when the group first responded to the latest subscription, on the monotonic clock; 0 if it has not
        self._answered_at = 0.0
        #: set while it is a member that has no slots and gets none
        self._drained = threading.Event()
        #: the consumer, used by the member's thread only
        self._consumer: Consumer | None = None
        #: the notes as of the last read, and when to read them again, on the monotonic clock
        self._snapshot = NotesSnapshot({}, 0)
        self._look_at = 0.0
        self._threads = [
            threading.Thread(target=target, name=f"membership-{target.__name__.strip('_')}", daemon=True)
            for target in (self._hold, self._watch)
        ]

    def join(self, timeout_s: float = 30.0) -> None:
        """Become a member, unless it is one; returns once Kafka has responded, or after ``timeout_s``."""
        if not self._threads[0].ident:
            for thread in self._threads:
                thread.start()
        self._joined.wait(timeout_s)

    def drain(self, timeout_s: float) -> bool:
        """Release all slots and get no more until serve(); False if it takes longer than ``timeout_s``."""
        self._target_mode = Mode.DRAINED
        return self._drained.wait(timeout_s)

    def serve(self) -> None:
        """Get a share of the slots again, soon."""
        self._target_mode = Mode.SERVING

    @property
    def mode(self) -> Mode:
        """The current or requested role of this member."""
        return self._target_mode

    def owns(self, slot: int) -> bool:
        """Whether Kafka has confirmed that the slot is this server's."""
        with self._lock:
            is_valid = not self._is_suspended and time.monotonic() <= self._valid_until
            return slot in self._owned and is_valid

    @property
    def slots(self) -> frozenset[int]:
        """The slots that this server has, or is about to release."""
        with self._lock:
            return self._owned | self._releasing

    @property
    def latest_notes(self) -> NotesSnapshot:
        """The notes of slot owners as of the last read, at most LOOK_EVERY_S old for a member."""
        return self._snapshot

    def read_notes(self) -> NotesSnapshot:
        """The current notes of slot owners; only for Holder.note, in the member's thread.

        Raises:
            KafkaException: Kafka does not respond.
        """
        assert self._consumer is not None
        places = [TopicPartition(self._topic, slot) for slot in range(self._count)]
        committed = self._consumer.committed(places, timeout=NOTES_S)
        notes = _parsed({place.partition: place.metadata for place in committed if place.metadata})
        _, log_end = self._consumer.get_watermark_offsets(TopicPartition(self._log_topic, 0), timeout=NOTES_S)
        self._snapshot = NotesSnapshot(notes, int(log_end))
        self._look_at = time.monotonic() + LOOK_EVERY_S
        return self._snapshot

    def is_first(self, slot: int) -> bool:
        """Whether the slot is the first of this server's."""
        return slot == min(self._owned, default=None)

    def close(self) -> None:
        """Release the slots and leave the group; may be called more than once."""
        self._closing.set()
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(60)

    # ---- the consumer --------------------------------------------------------------------------------

    def _hold(self) -> None:
        has_asked = False
        while not self._closing.is_set():
            try:
                self._be_member(self._target_mode, asks_again=not has_asked)
            except KafkaException as error:
                log.error("this server is currently not a member of its group: %s", error)
                self._lose(self._owned)
                if error.args[0].code() == KafkaError.FENCED_INSTANCE_ID:
                    log.error("another server has a copy of the data folder; this one runs no queries")
                    return
                self._closing.wait(PAUSE_S)
                continue
            has_asked = True
            if not self._holder.forget(self._group, self._server):
                self._closing.wait(FORGOTTEN_S)

    def _be_member(self, mode: Mode, *, asks_again: bool) -> None:
        """Be a member until close(), or until another role is requested.

        Args:
            mode: the role.
            asks_again: also return if the group assigns no slots for a while. A drained server that is back
                soon after a kill gets its old assignment, nothing: Kafka ignores what it now wants.

        Raises:
            KafkaException: Kafka rejects this member.
        """
        consumer = self._consumer = self._new_consumer()
        self._answered_at = 0.0
        try:
            consumer.subscribe(
                [self._topic if mode is Mode.SERVING else self._log_topic],
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_lost,
            )
            if mode is Mode.DRAINED:
                self._drained.set()
            while self._target_mode is mode and not self._closing.is_set():
                message = consumer.poll(POLL_S)
                problem = message.error() if message is not None else None
                if problem is not None and problem.fatal():
                    raise KafkaException(problem)
                if asks_again and mode is Mode.SERVING and self._waits_in_vain():
                    return
                if time.monotonic() >= self._confirm_at:
                    self._confirm_at = time.monotonic() + CONFIRM_EVERY_S
                    self._confirm(consumer)
                if time.monotonic() >= self._look_at:
                    self._look_at = time.monotonic() + LOOK_EVERY_S
                    with contextlib.suppress(KafkaException):  # at the next attempt
                        self.read_notes()
        finally:
            self._drained.clear()
            consumer.close()  # calls _on_revoke

    def _waits_in_vain(self) -> bool:
        """Whether the group has assigned nothing to this member for longer than others need to release."""
        is_answered = self._answered_at and time.monotonic() > self._answered_at + ASK_AGAIN_S
        return bool(is_answered) and not self._owned

    def _new_consumer(self) -> Consumer:
        who = (CLIENT_ID, self._host, self._server, socket.gethostname(), str(os.getpid()))
        return member_of(
            self._connection,
            self._group,
            " ".join(who),
            group_instance_id=self._server,
            partition_assignment_strategy="cooperative-sticky",
            max_poll_interval_ms=60_000,
        )

    def _confirm(self, consumer: Consumer) -> None:
        owned = self._owned
        if not owned | self._releasing:
            return
        stamp, called_at = self._holder.stamp(), time.monotonic()
        asked_at = called_at
        try:
            contents = {slot: self._holder.note(slot) for slot in sorted(owned | self._releasing)}
        except KafkaException as error:
            log.info("the group's slots are not confirmed: %s", error)
            return
        places = [
            TopicPartition(self._topic, slot, 0, metadata=self._note(one)) for slot, one in contents.items()
        ]
        try:
            for place in consumer.commit(offsets=places, asynchronous=False) or ():
                if place.error is not None:
                    raise KafkaException(place.error)
        except KafkaException as error:
            # the group is being rebalanced with this server as a member; its client sends heartbeats
            if error.args[0].code() != KafkaError.REBALANCE_IN_PROGRESS:
                log.info("the group's slots are not confirmed: %s", error)
                return
            asked_at -= HEARTBEAT_MS / 1000
        else:
            self._holder.noted(contents)
        with self._lock:
            self._valid_until = asked_at + VALID_S
            was_suspended, self._is_suspended = self._is_suspended, False
        self._holder.confirmed(stamp, self._valid_until - called_at)
        if was_suspended:
            log.warning("the group's slots are confirmed again")
            self._holder.gained(owned)

    def _note(self, content: Mapping[str, Any]) -> str:
        owner = {"host": self._host, "server": self._server}
        text = json.dumps({**owner, "told": content})
        return text if len(text.encode()) <= NOTE_BYTES else json.dumps(owner)

    def _watch(self) -> None:
        """Detect that nothing was confirmed in time: Kafka may have assigned the slots to others."""
        while not self._closing.wait(POLL_S):
            with self._lock:
                owned = self._owned | self._releasing
                is_late = bool(owned) and not self._is_suspended and time.monotonic() > self._valid_until
                if is_late:
                    self._is_suspended = True
            if is_late:
                log.error("Kafka has not confirmed this server's slots for %.0f s", VALID_S)
                self._holder.lost(owned)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        gained = self._slots_of(partitions)
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)  # there is nothing to read
        if gained:
            # Kafka has just responded, so nobody else has them; the first commit follows at once
            self._confirm_at = 0.0
            stamp = self._holder.stamp()
            with self._lock:
                self._owned |= gained
                if not self._is_suspended:
                    self._valid_until = max(self._valid_until, time.monotonic() + CONFIRM_EVERY_S)
            self._holder.confirmed(stamp, CONFIRM_EVERY_S)
            log.info("this server now has slots %s", sorted(self._owned))
            self._holder.gained(gained)
        self._joined.set()
        self._answered_at = self._answered_at or time.monotonic()

    def _slots_of(self, places: Iterable[TopicPartition]) -> frozenset[int]:
        return frozenset(place.partition for place in places if place.topic == self._topic)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        slots = self._slots_of(partitions) & self._owned
        if slots:
            self._release(slots, consumer)
        consumer.incremental_unassign(partitions)

    def _release(self, slots: frozenset[int], consumer: Consumer) -> None:
        """Let work in the slots finish."""
        with self._lock:
            self._owned -= slots
            self._releasing = slots
        log.info("this server releases slots %s", sorted(slots))
        releasing = threading.Thread(target=self._holder.release, args=(slots,), name="release", daemon=True)
        releasing.start()
        while releasing.is_alive():  # the other slots stay ours meanwhile
            releasing.join(CONFIRM_EVERY_S)
            if releasing.is_alive():
                self._confirm(consumer)
        with self._lock:
            self._releasing = frozenset()

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._lose(self._slots_of(partitions) & self._owned)
        consumer.incremental_unassign(partitions)

    def _lose(self, slots: frozenset[int]) -> None:
        with self._lock:
            self._owned -= slots
            self._is_suspended = False
        if slots:
            log.error("this server has lost slots %s", sorted(slots))
            self._holder.lost(slots)


def member_of(connection: Connection, group: str, client_id: str, **more: Any) -> Consumer:
    """Return a consumer that is to be a member of a group, and reads nothing."""
    return Consumer(
        connection.config(
            group_id=group,
            client_id=client_id,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            enable_auto_commit=False,
            enable_auto_offset_store=False,
            auto_offset_reset="latest",
            allow_auto_create_topics=False,
            **more,
        )
    )


def notes(admin: KafkaAdmin, group: str, topic: str) -> dict[int, Note]:
    """The latest notes of slot owners.

    Raises:
        KsqlError: as KafkaAdmin.
    """
    return _parsed(admin.commit_notes(group, topic))


def _parsed(texts: Mapping[int, str]) -> dict[int, Note]:
    notes: dict[int, Note] = {}
    for partition, text in texts.items():
        try:
            body = json.loads(text)
            notes[partition] = Note(str(body["host"]), str(body["server"]), body.get("told") or {})
        except (ValueError, TypeError, KeyError):
            continue
    return notes


def members(assigned: Iterable[tuple[str, Iterable[Partition]]], topic: str) -> dict[str, Member]:
    """Server id -> the member, from the client ids and partitions of a group's members."""
    by_server = {}
    for client_id, partitions in assigned:
        parts = client_id.split(" ")
        if len(parts) > 2 and parts[0] == CLIENT_ID:
            by_server[parts[2]] = Member(parts[1], sum(name == topic for name, _ in partitions))
    return by_server


__all__ = [
    "SESSION_MS", "Holder", "Member", "Membership", "Mode", "Note", "NotesSnapshot",
    "member_of", "members", "notes",
]  # fmt: skip
