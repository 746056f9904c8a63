"""Finds joins that find nothing, because the rows of the table are newer than the records of the stream."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource
from ksql_spark.plan.nodes import REPLICATED, STREAM_TABLE, Join
from ksql_spark.plan.trees import relations, walk
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.statements.base.context import Services

_TABLE_FIRST = "With FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP, a join reads the table first."
_ROWS_FIRST = "Create the query again once the table has rows, with FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP."


def early_records(queries: Sequence[ManagedQuery], services: Services) -> tuple[str, ...]:
    """A sentence for each stream in a join with a table of ``queries`` that has records of before its rows.

    Only where the timestamps of records in Kafka are the times of rows, and where the first row that the
    table had is still in its topic: after compaction, nobody knows what a record has found.
    """
    found: list[str] = []
    # when Kafka does not answer, it would not for the next query either, after 10 s more: others report that
    with contextlib.suppress(KsqlError):
        for query in queries:
            found += _of_query(query, services)
    return tuple(found)


def _of_query(query: ManagedQuery, services: Services) -> Iterator[str]:
    for node in walk(query.plan.root):
        if not isinstance(node, Join) or node.type not in (STREAM_TABLE, REPLICATED):
            continue
        (*_, table) = (relation.source for relation in relations(node.right))
        if table.kind != TABLE:
            continue
        for stream in dict.fromkeys(relation.source for relation in relations(node.left)):
            if stream.kind == STREAM and stream.timestamp is table.timestamp is None:
                try:
                    count, is_empty = _early(query, stream, table, services)
                except KsqlError as error:
                    if error.condition != "TOPIC_UNKNOWN":
                        raise
                    return
                # a table that is read first may still have been empty then
                if count and (is_empty or not node.is_loaded_first):
                    yield _sentence(query, count, stream, table, is_empty=is_empty)


def _early(
    query: ManagedQuery, stream: DataSource, table: DataSource, services: Services
) -> tuple[int, bool]:
    """How many records that the query reads are older than the table's rows, and whether it has none."""
    admin = services.admin
    starts = query.starts.get(stream.topic, {})
    if any(offset != 0 for offset in admin.offsets([table.topic], 0).values()):  # rows may have been there
        return 0, False
    first_ms = admin.first_time(table.topic)
    ends = admin.offsets([stream.topic], "latest" if first_ms is None else first_ms)
    count = sum(
        max(0, offset - starts.get(str(partition), offset)) for (_, partition), offset in ends.items()
    )
    return count, first_ms is None


def _sentence(
    query: ManagedQuery, count: int, stream: DataSource, table: DataSource, *, is_empty: bool
) -> str:
    records = f"{count:,} record{'' if count == 1 else 's'} of {stream.name}"
    name = "" if query.is_transient else f"{query.id}: "
    be = "is" if count == 1 else "are"
    if is_empty:
        return f"{name}{table.name} has no rows, so {records} {be} joined with none. {_ROWS_FIRST}"
    older = f"{records} {be} older than the first row of {table.name}"
    return f"{name}{older}, and found none unless they came after it. {_TABLE_FIRST}"
