"""One server per service id: the lease on its command log, however many data folders exist.

Servers of one service id are members of one consumer group that reads nothing. The member with the command
topic's only partition holds the lease. Kafka watches the members, so the lease of a killed server expires by
itself. The lock on a data folder guarantees that nobody else uses the folder: a member with the folder's id
is left over from a killed run, and its successor need not wait until Kafka has noticed.

A server that was frozen for longer than Kafka waits is fenced when another has taken its place: before its
next command it commits an offset to the group, which Kafka rejects from members of an earlier generation, and
it ends its queries once it learns that the lease is gone.

It is no case of kafka/membership.py, where a second server gets a share, and the JVM must ask before each
record: the lease refuses a second server, is taken before there is a JVM, and commits nothing while idle.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import NO_COORDINATOR, KafkaAdmin
from ksql_spark.kafka.client import Connection
from ksql_spark.kafka.membership import SESSION_MS, member_of

log = logging.getLogger(__name__)

#: a server that responds for this long is alive, seconds
ALIVE_AFTER_S = SESSION_MS / 1000 + 3
#: how long Kafka may take to grant the lease, seconds
JOIN_TIMEOUT_S = 120.0
#: how long Kafka may take to confirm the lease, seconds
CONFIRM_TIMEOUT_S = 60.0
#: how long joining the group waits for its coordinator, seconds
COORDINATOR_TIMEOUT_S = 3.0
#: a server that held the lease this recently, and has not been frozen since, still holds it: Kafka waits
#: longer, seconds
AWAKE_S = SESSION_MS / 2000
#: how long a command may wait before its lease is confirmed, seconds
POLL_S = 0.05


class ServiceLease:
    """The right to be the server of a service id.

    Args:
        admin: of the cluster.
        service_id: the server's.
        topic: of the command log; it exists.
        folder: the id of the data folder, whose lock this process holds.
    """

    def __init__(self, admin: KafkaAdmin, service_id: str, topic: str, folder: str) -> None:
        self._admin = admin
        self._service_id = service_id
        self._group = lease_group(service_id)
        self._topic = topic
        self._folder = folder
        self._connection = Connection(admin.servers, admin.settings)
        self._held = threading.Event()
        #: set with each response from Kafka about the lease
        self._answered = threading.Event()
        self._closing = threading.Event()
        self._was_held = False
        #: a killed run with our folder holds it, until Kafka notices
        self._is_inherited = False
        #: another server has taken our lease; stays set until this server is restarted
        self.is_lost = False
        self._on_lost: Callable[[], None] = lambda: None
        self._thread: threading.Thread | None = None
        #: requests of confirm(), which the consumer's thread handles: calls from other threads would wait for
        #: poll()
        self._questions: queue.SimpleQueue[Future[None]] = queue.SimpleQueue()
        #: Kafka considered us dead
        self._is_expired = False
        #: until when this process has not been frozen since Kafka granted or confirmed the lease
        self._awake_at = -math.inf
        #: the reason why Kafka most recently refused us as a group member
        self._refusal: KafkaError | None = None

    def when_lost(self, call: Callable[[], None]) -> None:
        """Call ``call``, in another thread, once another server has taken the lease."""
        self._on_lost = call
        if self.is_lost:
            call()

    def confirm(self) -> None:
        """Make sure that this server holds the lease; Kafka is asked if the server may have been frozen.

        Raises:
            KsqlError: SERVICE_ID_TAKEN if another server has it; KAFKA_REFUSED if there is no response in
            time;
                STOPPED.
        """
        if self.is_lost:
            raise KsqlError("SERVICE_ID_TAKEN", id=self._service_id)
        if self._is_inherited or (self._held.is_set() and time.monotonic() - self._awake_at < AWAKE_S):
            return
        answer: Future[None] = Future()
        self._questions.put(answer)
        deadline = time.monotonic() + CONFIRM_TIMEOUT_S
        while not wait([answer], 0.5).done:
            if self._closing.is_set():
                raise KsqlError("STOPPED")
            if time.monotonic() > deadline:
                action = "confirm the lease on the service id"
                raise KsqlError("KAFKA_REFUSED", action=action, reason="it takes too long")
        answer.result()

    def _answer(self, consumer: Consumer) -> None:
        """Answer the requests of confirm(), if Kafka confirms who holds the lease."""
        while not self._questions.empty():
            if self.is_lost:
                self._questions.get().set_exception(KsqlError("SERVICE_ID_TAKEN", id=self._service_id))
                continue
            # without the partition we would commit as a non-member
            if not self._held.is_set():
                return
            try:
                consumer.commit(offsets=[TopicPartition(self._topic, 0, 0)], asynchronous=False)
            except KafkaException as error:  # an earlier generation, or no response
                log.warning("could not confirm the lease on the service id: %s", error)
                return
            self._awake_at = time.monotonic()
            self._questions.get().set_result(None)

    def acquire(self, report: Callable[[str], None], is_stopping: Callable[[], bool]) -> None:
        """Take the lease.

        Raises:
            KsqlError: SERVICE_ID_IN_USE if another server has it and is alive; KAFKA_REFUSED if Kafka does
            not permit it; STOPPED; as KafkaAdmin.
        """
        is_ours = self._wait_for_others(report, is_stopping)
        self._was_held = self._is_inherited = is_ours
        self._thread = threading.Thread(target=self._hold, name="service-lease", daemon=True)
        self._thread.start()
        if is_ours:  # Kafka grants it once it has noticed that our predecessor is dead
            return
        deadline = time.monotonic() + JOIN_TIMEOUT_S
        while not self._answered.wait(0.1):
            if is_stopping():
                raise KsqlError("STOPPED")
            refusal, is_late = self._refusal, time.monotonic() > deadline
            if refusal is not None and (is_late or not _may_pass(refusal)):
                self.close()
                raise self._connection.failure(refusal, f"join group '{self._group}'")
            if is_late:
                self.close()
                raise KsqlError(
                    "KAFKA_REFUSED", action=f"join group '{self._group}'", reason="it takes too long"
                )
        if not self._held.is_set():
            others = [m for m in self._admin.members(self._group) if not m.startswith(self._prefix)]
            self.close()
            raise self._in_use(others)
        self._was_held = True

    def close(self) -> None:
        """Give the lease back; may be called more than once."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(10)

    @property
    def _prefix(self) -> str:
        return f"ksql-spark {self._folder} "

    def _wait_for_others(self, report: Callable[[str], None], is_stopping: Callable[[], bool]) -> bool:
        """Wait until no other server holds the lease; returns whether a killed run on our folder does."""
        deadline = time.monotonic() + ALIVE_AFTER_S
        is_reported = False
        while True:
            members = self._admin.members(self._group)
            others = [member for member in members if not member.startswith(self._prefix)]
            if not others:
                return bool(members)
            if time.monotonic() > deadline:
                raise self._in_use(others)
            if is_stopping():
                raise KsqlError("STOPPED")
            if not is_reported:
                report(f"waiting: {_shown(others[0])} may still run with the service id {self._service_id}")
                is_reported = True
            time.sleep(0.2)

    def _in_use(self, others: list[str]) -> KsqlError:
        who = _shown(others[0]) if others else "another server"
        return KsqlError("SERVICE_ID_IN_USE", id=self._service_id, servers=self._admin.servers, who=who)

    def _hold(self) -> None:
        me = f"{self._prefix}{socket.gethostname()} {os.getpid()}"
        consumer = member_of(self._connection, self._group, me)
        try:
            self._wait_for_coordinator(consumer)
            self._subscribe(consumer)
            while not self._closing.is_set():
                message = consumer.poll(POLL_S)
                if message is not None and (error := message.error()) is not None:
                    log.warning("the lease of the service id: %s", error)
                    self._refusal = error
                if self._is_expired:
                    self._rejoin(consumer)
                if (now := time.monotonic()) - self._awake_at < AWAKE_S:
                    self._awake_at = now
                elif self._held.is_set() and self._questions.empty():
                    self._questions.put(Future())
                self._answer(consumer)
        except KafkaException as failure:
            log.error("the lease of the service id is not held: %s", failure)
        finally:
            consumer.close()

    def _wait_for_coordinator(self, consumer: Consumer) -> None:
        """Wait until the group can be joined: a broker that has just started refuses that for a moment.

        The client would retry only after 3 s.
        """
        deadline = time.monotonic() + COORDINATOR_TIMEOUT_S
        while time.monotonic() < deadline and not self._closing.is_set():
            try:
                consumer.committed([TopicPartition(self._topic, 0)], timeout=COORDINATOR_TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].code() in NO_COORDINATOR:
                    self._closing.wait(0.02)
                    continue
                log.debug("could not read the offsets of group %s: %s", self._group, error)
            return  # joining reports all other problems

    def _subscribe(self, consumer: Consumer) -> None:
        consumer.subscribe(
            [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_expired
        )

    def _rejoin(self, consumer: Consumer) -> None:
        """Request the lease again after Kafka has considered us dead, unless another server now holds it."""
        consumer.unsubscribe()
        try:
            others = [m for m in self._admin.members(self._group) if not m.startswith(self._prefix)]
        except KsqlError as error:
            log.warning("the lease of the service id is not held: %s", error.message)
            self._closing.wait(1)
            return
        self._is_expired = False
        if others:
            self._lose()
        elif not self.is_lost:
            self._subscribe(consumer)

    def _lose(self) -> None:
        """Another server holds the lease."""
        if not self.is_lost:
            self.is_lost = True
            log.error("another server has taken over the service id %s", self._service_id)
            threading.Thread(target=self._on_lost, name="service-lease-lost", daemon=True).start()

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.assign(partitions)
        consumer.pause(partitions)  # it reads nothing
        if partitions:
            self._awake_at = time.monotonic()
            self._held.set()
        else:
            self._held.clear()
            if self._was_held:
                self._lose()
        self._is_inherited = False
        self._answered.set()

    def _on_expired(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._on_revoke(consumer, partitions)
        self._is_expired = True

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._held.clear()
        self._answered.clear()  # until Kafka says who holds it


def _may_pass(error: KafkaError) -> bool:
    """Whether Kafka may accept us later, without a configuration change on either side."""
    return error.code() not in (
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.INVALID_SESSION_TIMEOUT,
        KafkaError.INVALID_GROUP_ID,
    )


def lease_group(service_id: str) -> str:
    """The group whose only partition is the lease."""
    return f"_confluent-ksql-{service_id}server"


def _shown(member: str) -> str:
    """A member in readable form: the host and process of its server."""
    match member.rsplit(" ", 2):
        case [_, host, pid]:
            return f"process {pid} on {host}"
    return member


__all__ = ["ServiceLease", "lease_group"]
