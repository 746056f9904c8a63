"""The order in which one task reads the records of several partitions, in batch queries (reference §6.12)."""

from __future__ import annotations

from ksql_spark.expressions import Expression
from ksql_spark.plan.clauses import AggregateCall, FramedCall, SortKey
from ksql_spark.plan.nodes import BatchOver, Node
from ksql_spark.schema import ROWOFFSET, ROWPARTITION, ROWTIME
from ksql_spark.types import BIGINT

#: the pseudo columns that decide about it
PLACES = (ROWTIME, ROWPARTITION, ROWOFFSET)


def with_latest_time(
    rows: Node, name: str, time: Expression, partition: Expression, offset: Expression
) -> Node:
    """``rows`` with a column ``name``: the latest time of their partition so far.

    Rows are taken by this column, then by partition, then by offset: a late row comes right after the one
    before it in its partition.

    Args:
        rows: rows of a stream.
        name: of the new column.
        time, partition, offset: their places.
    """
    latest = AggregateCall(name, "MAX", (time,), BIGINT)
    return BatchOver(rows, (partition,), (SortKey(offset),), (FramedCall(latest, None, 0),))
