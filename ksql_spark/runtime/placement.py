"""Which of several servers runs which query.

Each query has a slot, and each slot one owner (kafka/membership.py). The slot follows from the command log
alone: a new query takes one of those with the fewest queries. So all servers know it without asking.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from pyspark.sql import SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.membership import Member, Membership, Mode, Note, members, notes
from ksql_spark.runtime.command_log import command_topic
from ksql_spark.spark import ownership
from ksql_spark.spark.groups import remove_member

log = logging.getLogger(__name__)

#: how many slots there are: servers beyond that number run no queries
SLOTS = 32
#: servers have neighbouring slots, so queries take them in an order in which neighbours come late
#: stands for all queries of a slot in notes
_ALL = "*"
#: a server says no more of itself than that: the note is Kafka's, characters
MOST_SAID = 3000
_ORDER = sorted(range(SLOTS), key=lambda slot: f"{slot:05b}"[::-1])


class Slots:
    """The slots of queries. Thread-safe."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._lock = threading.Lock()

    def of(self, query_id: str) -> int | None:
        """The slot of a query; None: it has none."""
        return self._of.get(query_id)

    def add(self, query_id: str) -> None:
        """Give a query a slot, unless it has one."""
        with self._lock:
            if query_id not in self._of:
                used = list(self._of.values())
                self._of[query_id] = min(_ORDER, key=used.count)

    def remove(self, query_id: str) -> None:
        """The query has ended for good."""
        with self._lock:
            self._of.pop(query_id, None)


class Runner(Protocol):
    """What runs queries: the query manager."""

    def take(self, owns: Callable[[str], bool]) -> None:
        """Start the queries that this server has got."""

    def give(self, owns: Callable[[str], bool], *, at_once: bool) -> None:
        """Stop the queries that this server does not own (any more)."""

    def troubles(self, owns: Callable[[str], bool]) -> Mapping[str, str]:
        """Id -> state of those queries that do not simply run."""


class Placement:
    """Where queries run.

    Args:
        admin: of the cluster.
        service_id: the servers'.
        host: this server's address.
        server: this server's id.
        session: Spark's session.
        jvm_settings: of Kafka clients on the JVM.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        service_id: str,
        host: str,
        server: str,
        session: Callable[[], SparkSession],
        jvm_settings: Callable[[], Mapping[str, str]],
    ) -> None:
        self._admin = admin
        self._jvm_settings = jvm_settings
        self.server, self.host = server, host
        self._group, self._topic = placement_group(service_id), placement_topic(service_id)
        self._session = session
        self.slots = Slots()
        idle_topic = command_topic(service_id)
        self._membership = Membership(admin, self._group, self._topic, idle_topic, host, server, self)
        self._runner: Runner | None = None
        #: what the other servers may know of this one, as JSON; returns at once
        self.says: Callable[[], Mapping[str, Any]] = dict
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="placement")

    def was_here(self) -> bool:
        """Whether Kafka has not noticed yet that an earlier run of this server has gone, with its queries.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        member = self.servers().get(self.server)
        return member is not None and member.slots > 0

    def hold(self) -> None:
        """Become one of the servers, before queries can be started: what was this server's stays so."""
        self._membership.join()

    def join(self, runner: Runner) -> None:
        """Become one of the servers, unless it is; ``runner`` is told which queries it has."""
        self._runner = runner
        self._membership.join()
        self.take_soon()

    def close(self) -> None:
        """Hand the queries over and leave."""
        self._membership.close()
        self._pool.shutdown(cancel_futures=True)

    def drain(self, timeout_s: float) -> bool:
        """Hand the queries over, and take none until serve(); the server stays one of them.

        Returns:
            whether others may have taken them; they still end if not.
        """
        return self._membership.drain(timeout_s)

    def serve(self) -> None:
        """Take a share of the queries again, after drain()."""
        self._membership.serve()

    @property
    def is_drained(self) -> bool:
        """Whether this server takes no queries."""
        return self._membership.mode is not Mode.SERVING

    def owns(self, query_id: str) -> bool:
        """Whether this server runs a query."""
        slot = self.slots.of(query_id)
        return slot is not None and self._membership.owns(slot)

    def servers(self) -> dict[str, Member]:
        """Server id -> what is known of it, of those that Kafka takes for alive.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        return members(self._admin.assignments(self._group), self._topic)

    def has_others(self) -> bool:
        """Whether Kafka takes other servers for alive.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        return bool(self.servers().keys() - {self.server})

    def notes(self) -> dict[int, Note]:
        """What the owners of slots have said in the last second or so.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        return notes(self._admin, self._group, self._topic)

    def state_of(self, query_id: str, known: Mapping[int, Note]) -> tuple[str, str | None]:
        """State and host of another server's query, by what notes() has said."""
        slot = self.slots.of(query_id)
        note = known.get(slot) if slot is not None else None
        if note is None:
            return "REGISTERED", None
        states = note.told.get("states") or {}
        return str(states.get(query_id, states.get(_ALL, "RUNNING"))), note.host

    # ---- Holder ------------------------------------------------------------------------------------

    def gained(self, slots: frozenset[int]) -> None:
        """As Holder.gained: queries start in a thread of their own."""
        self.take_soon()

    def take_soon(self) -> None:
        """Let the queries that wait and are this server's be started, in a thread of their own."""
        with contextlib.suppress(RuntimeError):  # the server stops
            self._pool.submit(self._take)

    def _take(self) -> None:
        if self._runner is None:  # it has not joined yet
            return
        try:
            self._runner.take(self.owns)
        except Exception:  # nobody waits for it
            log.exception("not all queries that this server has got were started")

    def release(self, slots: frozenset[int]) -> None:
        """As Holder.release: queries finish what they have read."""
        self._give(slots, at_once=False)

    def lost(self, slots: frozenset[int]) -> None:
        """As Holder.lost: queries end in the middle of a batch."""
        self._give(slots, at_once=True)

    def _give(self, slots: frozenset[int], *, at_once: bool) -> None:
        if self._runner is None:  # nothing has been started
            return
        try:
            self._runner.give(lambda query_id: self.slots.of(query_id) not in slots, at_once=at_once)
        except Exception:  # their writes are refused all the same
            log.exception("not all queries that this server has lost were stopped")

    def stamp(self) -> Any:
        """As Holder.stamp: on the JVM's clock."""
        with contextlib.suppress(Exception):  # the JVM is being started again
            return ownership.stamp(self._session())
        return None

    def confirmed(self, stamp: Any, seconds: float) -> None:
        """As Holder.confirmed: the JVM is told."""
        if stamp is not None:
            with contextlib.suppress(Exception):  # as above
                ownership.confirm(self._session(), stamp, seconds)

    def forget(self, group: str, instance: str) -> bool:
        """As Holder.forget: by the JVM's client."""
        try:
            remove_member(self._session(), self._jvm_settings(), group, instance)
            return True
        except Exception as error:  # the JVM may have gone
            log.info("Kafka forgets this server's membership later: %s", str(error).splitlines()[:1])
            return False

    def note(self, slot: int) -> Mapping[str, Any]:
        """As Holder.note: what is the matter with the slot's queries."""
        if self._runner is None:
            return {"states": {_ALL: "REGISTERED"}}
        told: dict[str, Any] = {
            "states": self._runner.troubles(lambda query_id: self.slots.of(query_id) == slot)
        }
        if self._membership.is_first(slot):
            told["server"] = self.says()
            if len(json.dumps(told)) > MOST_SAID:
                del told["server"]
        return told


def placement_topic(service_id: str) -> str:
    """The topic whose partitions are slots."""
    return f"_confluent-ksql-{service_id}_placement"


def placement_group(service_id: str) -> str:
    """The group of the servers that share queries."""
    return f"_confluent-ksql-{service_id}servers"


def create_placement_topic(admin: KafkaAdmin, service_id: str, replicas: int) -> None:
    """Create the topic if it is missing; replicas -1: the default."""
    topic = placement_topic(service_id)
    if admin.topic(topic) is None:
        try:
            admin.create_topic(topic, SLOTS, replicas)
        except KsqlError as error:
            if error.condition != "TOPIC_EXISTS":  # another server may just have made it
                raise
