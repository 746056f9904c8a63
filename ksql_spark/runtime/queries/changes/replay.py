"""REPLAY ERRORS: sends records that failed in a query without state through it once more; of others, says
which records were replayed.

Each piece of the work is a Kafka transaction: the results, an entry of the processing log for each record,
which says that it was replayed, and the entries of what failed again. So whatever crashes, a record whose
results are visible is marked, and is not replayed a second time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ksql_spark.analyzer.relations.query_log import REPLAY
from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, read_at
from ksql_spark.kafka.transactions import TransactionalWriter, Written
from ksql_spark.plan.nodes import Node
from ksql_spark.plan.trees import relations
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.schema import LATEST_TIME_MS
from ksql_spark.spark.processing_log import Gathering, ProcessingLog
from ksql_spark.spark.replay import alone as evaluate_alone
from ksql_spark.spark.replay import evaluate
from ksql_spark.spark.session import new_session
from ksql_spark.spark.tracing import Position

#: the most records and bytes of one transaction
_RECORDS, _BYTES = 1_000, 4_000_000
#: properties that stop a query because of one record, which a replay reports instead
_STOPPING = frozenset({"ksql.fail.on.deserialization.error", "ksql.timestamp.throw.on.invalid"})


@dataclass
class Replayed:
    """The outcome of a replay: numbers of processed and of failed records, and the places of those that are
    gone.
    """

    done: int = 0
    failed: int = 0
    gone: list[tuple[int, int]] = field(default_factory=list)


class Replay:
    """Replays failed records of one query.

    Args:
        query: a persistent query, whose plan has one stage without state that reads one topic.
        environment: what queries share; its processing log has a topic.
        writer_id: the transactional id of replays of this query.
    """

    def __init__(
        self,
        query: ManagedQuery,
        environment: Environment,
        writer_id: str,
    ) -> None:
        self._query = query
        self._stage = query.plan.last
        assert environment.processing_log is not None  # the statement has checked it
        self._environment = environment
        self._admin, self._log = environment.admin, environment.processing_log
        self._session = new_session(environment.session())
        self._writer_id = writer_id

    def run(self, find: Callable[[], Mapping[Position, int]]) -> Replayed:
        """Replay the records that ``find`` returns, which is called when no other replay can go on.

        Args:
            find: the places of records with errors, each with the number of the replay in which it failed
                last, 0 for the query itself.

        Raises:
            KsqlError: BROKER_UNREACHABLE, KAFKA_REFUSED; the records before that are replayed.
        """
        writer = TransactionalWriter(self._admin.servers, self._writer_id, self._admin.settings)
        try:
            attempts = {place: attempt + 1 for place, attempt in find().items()}
            done = Replayed()
            missing = set(attempts)
            (topic,) = self._stage.topics
            for records in _pieces(self._admin, topic, attempts):
                missing.difference_update((r.partition, r.offset) for r in records)
                self._replay(records, attempts, writer, done)
            done.gone = sorted(missing)
            return done
        finally:
            writer.close()

    def _replay(
        self,
        records: list[Record],
        attempts: Mapping[tuple[int, int], int],
        writer: TransactionalWriter,
        done: Replayed,
    ) -> None:
        """Replay some records in one transaction."""
        with (
            self._log.gathering(self._query.id) as gathering,
            registry.with_functions(self._environment.functions),
        ):
            usable = list(filter(_has_time, records))
            results = (
                evaluate(
                    self._session,
                    self._stage,
                    usable,
                    self._query.sink_partitions,
                    gathering.reports,
                    _setting(self._query, self._environment),
                )
                if usable
                else []
            )
            entries = gathering.take()
            for result in results:
                if result.unwritable is not None:
                    entries += self._unwritable(
                        gathering, result.partition, result.offset, *result.unwritable
                    )
        failed = {place for entry in entries if (place := _place(entry)) is not None}
        failed.update((r.partition, r.offset) for r in records if not _has_time(r))
        written = [r.record for r in results if (r.partition, r.offset) not in failed]
        for entry in entries:
            place = _place(entry)
            written.append(_entry(self._log, entry | {"replay": attempts.get(place, 0) if place else 0}))
        for record in usable:
            place = (record.partition, record.offset)
            written.append(_entry(self._log, _mark(self._query, record.topic, place, attempts[place])))
        writer.write(written)
        done.failed += len(failed)
        done.done += len(records) - len(failed)

    def _unwritable(
        self, gathering: Gathering, partition: int, offset: int, target: str, reason: str
    ) -> list[dict[str, Any]]:
        gathering.unwritable(target, self._stage.sink.topic, reason)
        (topic,) = self._stage.topics
        place = {"topic": topic, "partition": partition, "offset": offset}
        return [entry | {"input": place} for entry in gathering.take()]


class Trial:
    """Failed records of a query with state: which of them fail again.

    Args:
        query: a persistent query.
        alone: what it computes of each record before it keeps state, for each topic that it reads.
        environment: what queries share; its processing log has a topic.
        failed: topic -> the places of records, each with the number of the replay in which it failed last.
    """

    def __init__(
        self,
        query: ManagedQuery,
        alone: Iterable[Node],
        environment: Environment,
        failed: Mapping[str, Mapping[Position, int]],
    ) -> None:
        assert environment.processing_log is not None  # the statement has checked it
        self._query, self._log, self._failed = query, environment.processing_log, failed
        #: topic -> the places of records that do not fail; the time of those that are of use, epoch ms
        self.passed: dict[str, dict[Position, int | None]] = {}
        #: how many of the records are gone
        self.gone = 0
        session = new_session(environment.session())
        setting = _setting(query, environment)
        for node in alone:
            (topic,) = (relation.source.topic for relation in relations(node))
            passed = self.passed.setdefault(topic, {})
            for records in _pieces(environment.admin, topic, failed[topic]):
                with (
                    self._log.gathering(query.id) as gathering,
                    registry.with_functions(environment.functions),
                ):
                    usable = list(filter(_has_time, records))
                    of = gathering.reports
                    times = evaluate_alone(session, query.plan, node, usable, of, setting) if usable else {}
                    again = set(map(_place, gathering.take()))
                for record in usable:
                    place = (record.partition, record.offset)
                    if place not in again:
                        passed[place] = times.get(place)
                self.gone -= len(records)
            self.gone += len(failed[topic])

    @property
    def again(self) -> int:
        """How many records fail again."""
        return sum(map(len, self._failed.values())) - self.gone - sum(map(len, self.passed.values()))

    def marks(self, replayed: Iterable[tuple[str, Position]]) -> list[Written]:
        """The entries of the processing log that say of records (topic, place) that they were replayed."""
        return [
            _entry(self._log, _mark(self._query, topic, place, self._failed[topic][place] + 1))
            for topic, place in replayed
        ]


def _pieces(admin: KafkaAdmin, topic: str, places: Iterable[Position]) -> Iterator[list[Record]]:
    offsets: dict[int, list[int]] = {}
    for partition, offset in places:
        offsets.setdefault(partition, []).append(offset)
    piece, size = list[Record](), 0
    try:
        for record in read_at(admin.servers, topic, offsets, admin.settings):
            piece.append(record)
            size += len(record.key or b"") + len(record.value or b"")
            if len(piece) == _RECORDS or size > _BYTES:
                yield piece
                piece, size = [], 0
    except KsqlError as error:
        if error.condition != "TOPIC_UNKNOWN":
            raise
    if piece:
        yield piece


def _setting(query: ManagedQuery, environment: Environment) -> Callable[[str], Any]:
    return lambda name: False if name in _STOPPING else environment.setting(query, name)


def _mark(query: ManagedQuery, topic: str, place: Position, attempt: int) -> dict[str, Any]:
    """Return the entry that marks a record as replayed."""
    return {
        "level": "INFO",
        "logger": f"processing.{query.id}.{REPLAY}",
        "time": int(time.time() * 1000),
        "message": None,
        "input": {"topic": topic, "partition": place[0], "offset": place[1]},
        "replay": attempt,
    }


def _entry(log: ProcessingLog, entry: Mapping[str, Any]) -> Written:
    assert log.topic is not None
    return Written(log.topic, None, json.dumps(entry, ensure_ascii=False).encode())


def _has_time(record: Record) -> bool:
    """Whether a record has a timestamp that Spark knows; one without stays as it is."""
    return 0 <= record.timestamp_ms <= LATEST_TIME_MS


def _place(entry: Mapping[str, Any]) -> Position | None:
    """Return the partition and offset of an entry's record; None if the entry does not name it."""
    about = entry.get("input") or (entry["message"] or {}).get("deserializationError")
    return None if about is None else (about["partition"], about["offset"])
