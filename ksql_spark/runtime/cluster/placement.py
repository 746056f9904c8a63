"""Decides which of several servers runs which query.

Each query has a slot, and each slot has one owner (kafka/membership.py). A query's first slot follows from
the command log alone: it is one of those with the fewest queries; for a new version of a table, it is that of
the version beside which it runs. So all servers know it without asking. Later the busiest server may move one
of its queries to a slot of the least busy one (runtime/cluster/rebalancing.py).
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from pyspark.sql import SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.membership import Member, Membership, Mode, Note, members, notes
from ksql_spark.runtime.cluster.rebalancing import SMOOTHING_S, Costs, Whereabouts, next_move, parse_register
from ksql_spark.runtime.command_log import command_topic
from ksql_spark.runtime.errors import reason
from ksql_spark.spark import jvm
from ksql_spark.spark.processing_log import JVM_ERRORS

log = logging.getLogger(__name__)

#: the number of slots: servers beyond it run no queries
SLOTS = 32
#: stands for all queries of a slot in notes
_ALL = "*"
#: the maximum length of a server's note, which Kafka stores, characters
MAX_METADATA_CHARACTERS = 3000
#: how often to check the latest notes, seconds
LOOK_EVERY_S = 1.0
#: how often to measure the cost of queries, seconds
MEASURE_EVERY_S = 10.0
#: how long to measure a query before it may move, unless queries move more often, seconds
MEASURED_S = 2 * SMOOTHING_S
#: servers have adjacent slots, so queries take slots in an order in which adjacent ones are far apart
_ORDER = sorted(range(SLOTS), key=lambda slot: f"{slot:05b}"[::-1])


class Slots:
    """The slots of queries. Thread-safe.

    Queries of one *place* are always in one slot: a new version has the place of the query beside which it
    runs, and keeps it. A place has the name of the query that had it first.
    """

    def __init__(self) -> None:
        #: place -> its slot
        self._of: dict[str, int] = {}
        #: query -> its place
        self._places: dict[str, str] = {}
        self._lock = threading.Lock()

    def of(self, place: str) -> int | None:
        """The slot of a place; None if no query has it."""
        return self._of.get(place)

    def place(self, query_id: str) -> str | None:
        """The place of a query; None if it has none."""
        return self._places.get(query_id)

    def add(self, query_id: str, beside: str | None = None) -> None:
        """Give a query a place, unless it has one: that of the query ``beside``, or else one of its own."""
        with self._lock:
            if query_id in self._places:
                return
            place = self._places.get(beside, query_id) if beside is not None else query_id
            self._places[query_id] = place
            if place not in self._of:
                used = list(self._of.values())
                self._of[place] = min(_ORDER, key=used.count)

    def remove(self, query_id: str) -> str | None:
        """The query has ended for good; returns its place if no query has it any more."""
        with self._lock:
            place = self._places.pop(query_id, None)
            if place is None or place in self._places.values():
                return None
            del self._of[place]
            return place

    def places(self) -> dict[str, str]:
        """Query -> its place."""
        with self._lock:
            return dict(self._places)


class Runner(Protocol):
    """Runs queries: the query manager."""

    def take(self, owns: Callable[[str], bool]) -> None:
        """Start the queries that this server has received."""

    def stop_unowned(self, owns: Callable[[str], bool], *, at_once: bool) -> None:
        """Stop the queries that this server does not own (any more)."""

    def not_running(self, owns: Callable[[str], bool]) -> Mapping[str, str]:
        """Id -> state of the queries that are not simply running."""

    def records(self) -> Mapping[str, int]:
        """Id -> the number of records that a local query has read and written so far."""


Report = Callable[[], Mapping[str, Any]]


def _nothing() -> Mapping[str, Any]:
    return {}


class Placement:
    """The placement of queries on servers.

    Args:
        admin: of the cluster.
        service_id: the servers'.
        host: this server's address.
        server: this server's id.
        session: Spark's session.
        jvm_settings: of Kafka clients on the JVM.
        balance_every_s: how long this server's set of queries must be unchanged before it moves a query away;
            0 disables moves.
        executed: returns how many commands of the log this server has executed.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        service_id: str,
        host: str,
        server: str,
        session: Callable[[], SparkSession],
        jvm_settings: Callable[[], Mapping[str, str]],
        balance_every_s: float = 0.0,
        executed: Callable[[], int] = lambda: 0,
    ) -> None:
        self._admin = admin
        self._balance_every_s = balance_every_s
        self._jvm_settings = jvm_settings
        self.server, self.host = server, host
        self._group, self._topic = placement_group(service_id), placement_topic(service_id)
        self._session = session
        self.slots = Slots()
        log_topic = command_topic(service_id)
        self._membership = Membership(admin, self._group, self._topic, log_topic, host, server, self, SLOTS)
        self._runner: Runner | None = None
        self._executed = executed
        self._report = self._report_of_queries = _nothing
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="placement")
        self._where = Whereabouts()
        self._costs = Costs()
        #: the place whose queries are moving: nobody runs them
        self._moving: str | None = None
        #: what this server had at the last check, how often it had received slots, and since when, on the
        #: monotonic clock
        self._had: tuple[frozenset[str], int] = frozenset(), 0
        self._same_since = time.monotonic()
        self._closing = threading.Event()
        self._looker = threading.Thread(target=self._look, name="placement-look", daemon=True)

    def was_here(self) -> bool:
        """Whether Kafka has not noticed yet that an earlier run of this server, with its queries, is gone.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        member = self.servers().get(self.server)
        return member is not None and member.slots > 0

    def hold(self) -> None:
        """Become one of the servers before queries can start, so that this server keeps its slots."""
        self._membership.join()

    def join(self, runner: Runner, report: Report = _nothing, report_of_queries: Report = _nothing) -> None:
        """Become one of the servers, unless it already is.

        Args:
            runner: learns which queries this server has.
            report: returns what this server reports to others, as JSON, at once.
            report_of_queries: the same of single queries, by id.
        """
        self._report, self._report_of_queries = report, report_of_queries
        self._runner = runner
        self._membership.join()
        self.take_soon()
        if not self._looker.ident:
            self._looker.start()

    def close(self) -> None:
        """Hand the queries over and leave the group."""
        self._closing.set()
        if self._looker.ident:
            self._looker.join()
        self._membership.close()
        self._pool.shutdown(cancel_futures=True)

    def drain(self, timeout_s: float) -> bool:
        """Hand the queries over, and take none until serve(); the server stays in the group.

        Returns:
            whether others may have taken them; they end in any case.
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
        """Whether this server runs a query.

        Not before it has executed all commands that were in the log when the query came here: the server
        before may have executed them, and run a new version.
        """
        place = self.slots.place(query_id)
        slot = self._slot(query_id)
        return (
            place is not None
            and slot is not None
            and self._membership.owns(slot)
            and self._where.knows(slot)
            and self._executed() >= self._where.commands_before(place, slot)
            and not self._where.is_leaving(place)
            and place != self._moving
        )

    def remove(self, query_id: str) -> None:
        """The query has ended for good."""
        place = self.slots.remove(query_id)
        if place is not None:
            self._where.drop(place)

    def _slot(self, query_id: str) -> int | None:
        """The slot that a query is in now."""
        place = self.slots.place(query_id)
        first = self.slots.of(place) if place is not None else None
        return None if place is None or first is None else self._where.slot(place, first)

    def is_first(self) -> bool:
        """Whether this server does what only one of them does: it has the first slot."""
        return self._membership.owns(0)

    def servers(self) -> dict[str, Member]:
        """Server id -> what is known about it, for the servers that Kafka considers alive.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        return members(self._admin.assignments(self._group), self._topic)

    def has_others(self) -> bool:
        """Whether Kafka considers other servers alive.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        return bool(self.servers().keys() - {self.server})

    def notes(self) -> dict[int, Note]:
        """Return the latest notes of the owners of slots, at most about a second old, by slot.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        return notes(self._admin, self._group, self._topic)

    def figures_of_others(self) -> dict[str, Any]:
        """Return what other servers report about their queries, by query, at most about a second old.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        others = (note for note in self.notes().values() if note.server != self.server)
        return {query: of for note in others for query, of in note.content.get("figures", {}).items()}

    def state_of(self, query_id: str, notes: Mapping[int, Note]) -> tuple[str, str | None]:
        """State and host of another server's query, according to notes()."""
        slot = self._slot(query_id)
        note = notes.get(slot) if slot is not None else None
        if note is None:
            return "REGISTERED", None
        states = note.content.get("states") or {}
        return str(states.get(query_id, states.get(_ALL, "RUNNING"))), note.host

    # ---- Holder ------------------------------------------------------------------------------------

    def gained(self, slots: frozenset[int]) -> None:
        """Forget older notes about the slots (Holder.gained). Queries start once new ones are read."""
        self._where.forget(slots)

    def take_soon(self) -> None:
        """Start this server's waiting queries in their own thread."""
        with contextlib.suppress(RuntimeError):  # the server is stopping
            self._pool.submit(self._take)

    def _take(self) -> None:
        if self._runner is None:  # it has not joined yet
            return
        try:
            self._runner.take(self.owns)
        except Exception:  # nobody waits for it
            log.exception("could not start all queries that this server received")

    def release(self, slots: frozenset[int]) -> None:
        """Stop the queries in the slots once they have finished what they have read (Holder.release)."""
        self._give(slots, at_once=False)
        self._where.forget(slots)

    def lost(self, slots: frozenset[int]) -> None:
        """Stop the queries in the slots in the middle of a batch (Holder.lost)."""
        self._give(slots, at_once=True)
        self._where.forget(slots)

    def _give(self, slots: frozenset[int], *, at_once: bool) -> None:
        if self._runner is None:  # nothing has been started
            return
        try:
            self._runner.stop_unowned(lambda query_id: self._slot(query_id) not in slots, at_once=at_once)
        except Exception:  # their writes are refused anyway
            log.exception("could not stop all queries that this server lost")

    def stamp(self) -> Any:
        """Read the JVM's clock (Holder.stamp); None if it cannot be read."""
        try:
            return jvm.ownership_stamp(self._session())
        except JVM_ERRORS:  # it is restarting
            return None
        except Exception:  # the member stays, and its queries end
            log.exception("could not read the JVM's clock")
            return None

    def confirmed(self, stamp: Any, seconds: float) -> None:
        """Report to the JVM how long the slots are this server's (Holder.confirmed)."""
        if stamp is None:
            return
        try:
            jvm.confirm_ownership(self._session(), stamp, seconds)
        except JVM_ERRORS:  # it is restarting
            pass
        except Exception:  # as above
            log.exception("could not tell the JVM which queries it may write for")

    def forget(self, group: str, instance: str) -> bool:
        """Remove a member from the group with the JVM's client (Holder.forget); False if that fails."""
        try:
            jvm.remove_member(self._session(), self._jvm_settings(), group, instance)
            return True
        except JVM_ERRORS as error:  # the JVM is gone, or Kafka refuses
            log.warning(
                "could not leave the group; Kafka drops this server when its session expires: %s",
                reason(error),
            )
        except Exception:
            log.exception("Kafka forgets this server only after its session")
        return False

    def note(self, slot: int) -> Mapping[str, Any]:
        """Return a slot's note (Holder.note): the queries that have left it, and problems of those in it."""
        if not self._where.knows(slot):  # this server has just received it
            notes, log_end = self._membership.read_notes()
            for one in self._membership.slots:
                self._where.read(one, parse_register(notes[one].content) if one in notes else {}, log_end)
            self.take_soon()
        note: dict[str, Any] = {}
        if register := self._where.register(slot):
            note["gone"] = register
        if self._runner is None:
            return {**note, "states": {_ALL: "REGISTERED"}}
        note["states"] = self._runner.not_running(lambda query_id: self._slot(query_id) == slot)
        if self._membership.is_first(slot):
            note["cost"] = self._costs.total
            note["server"] = self._report()
        figures = {query: of for query, of in self._report_of_queries().items() if self._slot(query) == slot}
        if figures:
            note["figures"] = figures
        for name in ("figures", "server", "states"):
            if len(json.dumps(note)) > MAX_METADATA_CHARACTERS:
                note.pop(name, None)
        return note

    def noted(self, notes: Mapping[int, Mapping[str, Any]]) -> None:
        """Record that the queries named in these notes are now in another slot (Holder.noted)."""
        for slot, content in notes.items():
            self._where.written(slot, content.get("gone", {}))

    # ---- queries that move -------------------------------------------------------------------------

    def _look(self) -> None:
        """Check what others have moved here; occasionally, move a query to a less busy server."""
        measured_at = 0.0
        while not self._closing.wait(LOOK_EVERY_S):
            try:
                notes, log_end = self._membership.latest_notes
                self._see(notes, log_end)
                if time.monotonic() >= measured_at + MEASURE_EVERY_S:
                    measured_at = time.monotonic()
                    self._measure()
                    self._balance(notes)
            except Exception:  # the next check may succeed
                log.exception("could not balance queries")

    def _see(self, notes: Mapping[int, Note], log_end: int) -> None:
        self._where.keep(self._membership.slots)
        self._where.look(notes, log_end)
        received = self._where.received  # a query may have gone and come back, and wait
        has = frozenset(query for query in self.slots.places() if self.owns(query)), received
        if has != self._had:
            self._had, self._same_since = has, time.monotonic()
            with contextlib.suppress(RuntimeError):  # the server is stopping
                self._pool.submit(self._stop_strangers)
            self.take_soon()

    def _stop_strangers(self) -> None:
        """End queries that are now in another server's slot, without this server's doing: usually there are
        none.
        """

        def stays(query: str) -> bool:
            return self.slots.place(query) == self._moving or self._slot(query) in self._membership.slots

        if self._runner is not None:
            self._runner.stop_unowned(stays, at_once=True)

    def _measure(self) -> None:
        if self._runner is not None:
            mine: dict[str, int] = {}
            for query, count in self._runner.records().items():
                place = self.slots.place(query)
                if place is not None and self.owns(query):
                    mine[place] = mine.get(place, 0) + count
            self._costs.update(time.monotonic(), mine)

    def _balance(self, notes: Mapping[int, Note]) -> None:
        now = time.monotonic()
        if not self._balance_every_s or now < self._same_since + self._balance_every_s:
            return
        if self.is_drained:
            return
        costs = {note.server: note.content["cost"] for note in notes.values() if "cost" in note.content}
        if any(note.server not in costs for note in notes.values()):
            return  # one has just arrived, or runs a release that moves nothing
        costs[self.server] = self._costs.total
        measured_s = min(MEASURED_S, self._balance_every_s)
        movable = {
            place: cost
            for place, cost in self._costs.of.items()
            if self._costs.known_for_s(place, now) >= measured_s and self._may_leave(place)
        }
        move = next_move(self.server, costs, movable)
        if move is not None:
            place, server = move
            slots = [slot for slot, note in notes.items() if note.server == server]
            self._move(place, server, min(slots))

    def _may_leave(self, place: str) -> bool:
        queries = [query for query, at in self.slots.places().items() if at == place]
        slot = self._slot(queries[0]) if queries else None
        return slot is not None and all(map(self.owns, queries)) and self._where.has_room(slot, place)

    def _move(self, place: str, server: str, slot: int) -> None:
        """Stop the queries of a place, and let another server have them."""
        first = self.slots.of(place)
        if self._runner is None or first is None:
            return
        log.info("moving query %s to the less busy server %s", place, server)
        self._moving = place
        try:
            self._runner.stop_unowned(lambda query: self.slots.place(query) != place, at_once=False)
            self._where.move(place, first, slot)
        finally:
            self._moving = None
            self._same_since = time.monotonic()
            self.take_soon()  # if it did not get that far, it continues here


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
            if error.condition != "TOPIC_EXISTS":  # another server may just have created it
                raise
