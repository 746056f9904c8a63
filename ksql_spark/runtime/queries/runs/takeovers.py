"""What a new version of a query does before its first row in the sink's topic (ADR 54).

* Backfill: nothing, because its sink has its own topic.
* Swap and Move: it writes to the sink's topic what differs in the other one, and notes that. Then a Swap
  deletes the other topic.
* FromNow: it notes where the old version ended, removes its state, and notes that.
* WarmUp: the same, but before the second note it reads up to that position, with a sink that discards.

Each start does what is left of that, so it may be interrupted at any moment. All but the reading happens
before Spark is asked to start anything.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Mapping
from typing import Any

from ksql_spark import topic_patterns
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.transactions import fence
from ksql_spark.plan.stages import EXACTLY_ONCE, tables_in_state
from ksql_spark.runtime.queries import differences, exactly_once
from ksql_spark.runtime.queries.checkpoints import Offsets
from ksql_spark.runtime.queries.differences import Differences, TopicRows
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.evolution import FromNow, Move, Swap, WarmUp, fresh_starts
from ksql_spark.runtime.queries.managed import ManagedQuery

log = logging.getLogger(__name__)

#: the file beside a query's checkpoints that says what a Swap or Move has written
_SWAPPED = "swapped.json"
#: the file beside a query's checkpoints that says where a FromNow or WarmUp begins
_ANEW = "anew.json"


class Takeovers:
    """Takes the steps between two versions of a query.

    Args:
        environment: what queries share.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._admin, self._checkpoints = environment.admin, environment.checkpoints

    def begin(self, query: ManagedQuery) -> None:
        """Do what is left to do before the query starts. Nothing of it, or of the old version, runs.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED, TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED; SPARK_RESTARTING.
            OSError: the state's store is unavailable.
        """
        match query.evolution:
            case Swap() | Move() as evolution:
                self._write_differences(query, evolution)
            case FromNow() as evolution if not self.is_done(query):
                noted = self._anew(query)
                if noted is None:
                    exactly_once.leave(self._admin, self._checkpoints.of(query, 0))
                    noted = {"anew": evolution.number, "is_done": False, "offsets": self.position(query)}
                    self._write(query, _ANEW, noted)
                self._begin_anew(query, noted)

    def is_done(self, query: ManagedQuery) -> bool:
        """Whether a version has done all that comes before its first row in the sink's topic.

        Raises:
            OSError, KsqlError: the notes cannot be read.
        """
        match query.evolution:
            case Swap(topic) | Move(topic):
                # if its state was removed since, the note is gone, and so is the topic
                return self.changes(query) is not None or self._admin.topic(topic) is None
            case FromNow():
                noted = self._anew(query)
                return noted is not None and bool(noted["is_done"])
        return False

    def changes(self, query: ManagedQuery) -> Differences | None:
        """Return what a Swap or Move has written to the sink's topic; None if it has not, or is none.

        Raises:
            OSError, KsqlError: the note cannot be read.
        """
        match query.evolution:
            case Swap(topic) | Move(topic):
                noted = self._read(query, _SWAPPED)
                if noted is not None and noted["topic"] == topic:
                    return Differences(int(noted["changed"]), int(noted["removed"]))
        return None

    def until(self, query: ManagedQuery) -> Offsets | None:
        """Return up to where a WarmUp reads what the old version has read; None if it reads nothing again.

        Raises:
            OSError, KsqlError: the note cannot be read.
        """
        if not isinstance(query.evolution, WarmUp):
            return None
        noted = self._anew(query)
        if noted is None or noted["is_done"]:
            return None
        until = self._ended(query, noted)
        return {topic: until[topic] for topic in query.starts if topic in until}

    def end_warm_up(self, query: ManagedQuery) -> None:
        """Note that a WarmUp has read up to ``until`` and has ended: from now on it writes.

        Raises:
            OSError: the note cannot be written.
        """
        self._write(query, _ANEW, {**(self._anew(query) or {}), "is_done": True})

    def position(self, query: ManagedQuery) -> Offsets:
        """Return up to where a query has processed its input, which is where its successor begins.

        A version that has not taken over has answered nothing: it is where the one before it ended.

        Raises:
            KsqlError: CHECKPOINT_DAMAGED: nobody knows.
            OSError: the state's store is unavailable.
        """
        evolution = query.evolution
        if not isinstance(evolution, FromNow) or self.is_done(query):
            committed = self._checkpoints.committed_offsets(query)
            return {topic: {str(p): at for p, at in offsets.items()} for topic, offsets in committed.items()}
        noted = self._anew(query)
        if noted is not None:
            return self._ended(query, noted)
        return self._checkpoints.of(query, 0).position(evolution.began)

    def notes(self, query: ManagedQuery) -> Mapping[str, dict[str, Any] | None]:
        """Return the notes by file, which ``restore`` takes after the query's state was removed.

        Raises:
            OSError, KsqlError: they cannot be read.
        """
        return {name: self._read(query, name) for name in (_SWAPPED, _ANEW)}

    def restore(self, query: ManagedQuery, notes: Mapping[str, dict[str, Any] | None]) -> None:
        """Let a query whose state was removed start where its present version first started.

        Raises:
            KsqlError, OSError: as begin().
        """
        swapped, noted = notes[_SWAPPED], notes[_ANEW]
        if swapped is not None:  # or else a topic that it wrote before would be compared again
            self._write(query, _SWAPPED, swapped)
        if noted is not None and noted["anew"] == fresh_starts(query.evolution):
            self._begin_anew(query, noted)
        elif noted is not None:  # the present version is yet to begin, where this one then is
            self._checkpoints.of(query, 0).begin_anew(noted["offsets"], noted["anew"])

    def _anew(self, query: ManagedQuery) -> dict[str, Any] | None:
        """Return the note about where the present version begins, or None if there is none yet."""
        noted = self._read(query, _ANEW)
        return noted if noted is not None and noted["anew"] == fresh_starts(query.evolution) else None

    def _ended(self, query: ManagedQuery, noted: Mapping[str, Any]) -> Offsets:
        """Return where the old version ended, as noted; a topic recreated since counts as not yet read."""
        return {**noted["offsets"], **self._checkpoints.of(query, 0).moved_since(noted["anew"])}

    def _begin_anew(self, query: ManagedQuery, noted: dict[str, Any]) -> None:
        """Remove the old version's state; the next start reads from the position in the note.

        The old version had one sub-topology. Its position was noted before its state goes, so the next start
        completes what was interrupted. A WarmUp starts from its own first offsets.
        """
        is_warmed = isinstance(query.evolution, WarmUp)
        if is_warmed:
            offsets = _earlier(query.starts, noted["offsets"])
        else:
            whole = tables_in_state(query.plan)
            offsets = {**noted["offsets"], **{topic: query.starts[topic] for topic in whole}}
        for number, stage in enumerate(query.plan.stages):
            read = (name for topic in stage.topics for name in topic_patterns.names(topic, offsets))
            there = {name: offsets[name] for name in read}
            self._checkpoints.of(query, number).begin_anew(there, noted["anew"])
        self._admin.delete_topics([stage.sink.topic for stage in query.plan.inner])
        self._write(query, _ANEW, {**noted, "is_done": not is_warmed})
        log.info("query %s begins anew at %s", query.id, offsets)

    def _write_differences(self, query: ManagedQuery, evolution: Swap | Move) -> None:
        """Write what differs to the sink's topic, before the query writes there.

        Nothing that writes it runs. If this is interrupted, the next start compares again, perhaps on another
        server. A server that was taken for dead can then commit no more differences.
        """
        is_there = self._admin.topic(evolution.topic) is not None
        if is_there and self.changes(query) is None:
            target = query.plan.sink.topic
            *others, old = evolution.writers
            with contextlib.closing(differences.writer(self._admin, old)) as writer:
                # transactions of a killed server would hide what is committed
                for other in (*others, *query.plan.transactional_ids):
                    fence(self._admin.servers, other, self._admin.settings)
                # most of them were read before the old version ended
                both = query.rows or (TopicRows(target), TopicRows(evolution.topic))
                if query.plan.guarantee != EXACTLY_ONCE:
                    # nothing that a frozen server still has on its way comes after what is read next
                    old_rows = both[0].read(self._admin)
                    differences.write(writer, target, differences.one_of_each_partition(old_rows))
                records = list(differences.changes(*(each.read(self._admin) for each in both)))
                differences.write(writer, target, records)
            self._environment.topics(query).forget(evolution.topic)
            counts = differences.count(records)
            self._write(query, _SWAPPED, {**counts._asdict(), "topic": evolution.topic})
            log.info("query %s writes topic %s from now on: %s", query.id, target, counts)
        query.rows = None
        if is_there and isinstance(evolution, Swap):
            self._admin.delete_topics([evolution.topic])

    def _read(self, query: ManagedQuery, name: str) -> dict[str, Any] | None:
        """Return a note beside a query's checkpoints, or None."""
        folder = self._checkpoints.folder(query.id)
        try:
            noted: dict[str, Any] = json.loads(folder.read(name))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise KsqlError("CHECKPOINT_DAMAGED", file=f"{folder}/{name}", reason=error) from error
        return noted

    def _write(self, query: ManagedQuery, name: str, noted: Mapping[str, Any]) -> None:
        self._checkpoints.folder(query.id).write(name, json.dumps(noted))


def _earlier(starts: Offsets, others: Offsets) -> Offsets:
    """Return ``starts``, but nowhere beyond the position ``others``."""
    return {
        topic: {p: min(at, others[topic].get(p, 0)) for p, at in offsets.items()}
        if topic in others
        else offsets
        for topic, offsets in starts.items()
    }


__all__ = ["Takeovers"]
