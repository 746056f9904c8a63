"""Corrects rows of a table beside the query that maintains it: REPROCESS and REPLAY LATE ROWS (ADR 85).

The rows are of closed windows, which the query will not write again, unless it repeats work after a crash. So
it is stopped for a moment: what was closed then is closed in its checkpoint, too.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.transactions import Written
from ksql_spark.runtime.queries import differences
from ksql_spark.runtime.queries.differences import Differences, Place, TopicRows
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager

#: the header of a row that was corrected: how many times it was written with another value, from 2, as text
REVISION = "ksql.revision"


class Corrections:
    """The rows of a query's table, and the windows of it that are closed. Not thread-safe.

    Args:
        queries: the server's queries.
        query: the one that maintains the table.
    """

    def __init__(self, queries: QueryManager, query: ManagedQuery) -> None:
        self._queries, self._query = queries, query
        self._admin = queries.environment.admin
        self._topic = TopicRows(query.plan.sink.topic)

    def rows(self) -> Mapping[Place, Record]:
        """The table's rows now.

        Raises:
            KsqlError: as TopicRows.read.
        """
        return self._topic.read(self._admin)

    def processed(self) -> dict[str, dict[int, int]]:
        """Complete the query's checkpoint: topic -> partition -> the offset up to which it has read it.

        Raises:
            KsqlError: QUERY_UNKNOWN if it was dropped meanwhile; CHECKPOINT_DAMAGED.
        """
        with self._queries.stopped(self._query):
            if not self._queries.has(self._query):
                raise KsqlError("QUERY_UNKNOWN", id=self._query.id, hint="It has been dropped meanwhile.")
            return self._queries.checkpoints.committed_offsets(self._query)

    def kept_from_ms(self) -> dict[int, int]:
        """By partition, the time before which retention has deleted rows, epoch ms; none if it has not.

        Raises:
            KsqlError: as KafkaAdmin.
        """
        times: dict[int, int] = {}
        begins = self._admin.beginning_offsets(self._topic.topic)
        for record in self.rows().values():
            if begins.get((record.topic, record.partition)):
                times[record.partition] = min(record.timestamp_ms, times.get(record.partition, 2**62))
        return times

    def write(
        self,
        selected: Callable[[Mapping[Place, Record]], Mapping[Place, Record]],
        new: Mapping[Place, Record],
        transactional_id: str,
        also: Collection[Written] = (),
    ) -> Differences:
        """Write what differs, and ``also`` in the last transaction.

        Args:
            selected: those of the table's rows that ``new`` replaces.
            new: the right rows; all others of the selected ones are deleted.
            transactional_id: of the writer; an earlier one with this id can write nothing any more.

        Raises:
            KsqlError: as TransactionalWriter; some transactions may have been written.
        """
        with contextlib.closing(differences.writer(self._admin, transactional_id)) as writer:
            old = selected(self.rows())
            records = list(differences.changes(old, new))
            differences.write(writer, self._topic.topic, _revised(records, old), also)
        return differences.count(records)


class Additions:
    """The rows that a stream's topic lacks.

    Args:
        queries: the server's queries.
        topic: it has all rows that were ever written, with their times.
        rows: each row that it may lack, how often it should be there, and how many of it may be added. Rows
            are equal if keys, values and times are.
    """

    def __init__(self, queries: QueryManager, topic: str, rows: Collection[tuple[Written, int, int]]) -> None:
        self._admin, self._topic, self._rows = queries.environment.admin, topic, rows

    def missing(self) -> list[Written]:
        """The rows to add now.

        Raises:
            KsqlError: INVALID_STATEMENT if the topic does not have all rows; as TopicReader.
        """
        admin, topic = self._admin, self._topic
        config, problem = admin.config(topic), None
        if any(admin.beginning_offsets(topic).values()) or "compact" in config.get("cleanup.policy", ""):
            problem = "older records are gone"
        elif config.get("message.timestamp.type") == "LogAppendTime":
            problem = "its records have other times (LogAppendTime)"
        if problem is not None:
            reason = f"It cannot be known which rows the join has written to topic {topic}: {problem}."
            raise KsqlError("INVALID_STATEMENT", reason=reason)
        wanted = {(row.key, row.value, row.timestamp_ms) for row, _, _ in self._rows}
        there: Counter[tuple[bytes | None, bytes | None, int | None]] = Counter()
        with TopicReader(admin.servers, topic, settings=admin.settings) as reader:
            for records in reader.read_to_end():
                found = ((record.key, record.value, record.timestamp_ms) for record in records)
                there.update(row for row in found if row in wanted)
        lacking = []
        for row, count, most in self._rows:
            number = min(most, count - there[row.key, row.value, row.timestamp_ms])
            lacking += [row] * max(0, number)
        return lacking

    def write(self, transactional_id: str, also: Collection[Written] = ()) -> list[Written]:
        """Add what is missing, and ``also``, in one transaction.

        An earlier writer with this id can write nothing any more.

        Raises:
            KsqlError: as missing; as TransactionalWriter, and nothing is written.
        """
        with contextlib.closing(differences.writer(self._admin, transactional_id)) as writer:
            rows = self.missing()
            if rows or also:
                writer.write([*rows, *also])
        return rows


def _revised(records: list[Record], old: Mapping[Place, Record]) -> Iterator[Record]:
    """The records with the number of their revision; the first row of a window is none."""
    for record in records:
        before = old.get((record.partition, record.key))
        if before is None or record.value is None:
            yield record
            continue
        others = (each for each in record.headers if each[0] != REVISION)
        yield record._replace(headers=(*others, (REVISION, str(revision_of(before) + 1).encode())))


def revision_of(record: Record) -> int:
    """How many times the row has been written with another value: 1 for the query's own."""
    return next((int(value) for name, value in record.headers if name == REVISION and value), 1)


__all__ = ["REVISION", "Corrections", "revision_of"]
