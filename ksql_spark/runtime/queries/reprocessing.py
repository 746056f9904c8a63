"""Corrects rows of a table beside the query that maintains it: REPROCESS and REPLAY LATE ROWS (ADR 85).

The rows are of closed windows, which the query will not write again, unless it repeats work after a crash. So
it is stopped for a moment: what was closed then is closed in its checkpoint, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import Record
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
    ) -> Differences:
        """Write what differs.

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
            differences.write(writer, self._topic.topic, _revised(records, old))
        return differences.count(records)


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
