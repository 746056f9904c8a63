"""The rows that REPROCESS, REPLAY LATE ROWS and REPLAY ERRORS compute again: batches over topics (ADR 85)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import NamedTuple

from ksql_spark.analyzer import Pairs, Recomputation
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, ColumnRef, Literal
from ksql_spark.kafka.consumer import Record, read_at
from ksql_spark.plan import nodes
from ksql_spark.runtime.queries.differences import Place
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.schema import ROWTIME
from ksql_spark.spark import batch, replay, tracing
from ksql_spark.spark.sources import BatchRanges
from ksql_spark.spark.tracing import Position
from ksql_spark.statements.base.context import StatementContext
from ksql_spark.statements.queries.batch_ranges import batch_ranges
from ksql_spark.statements.rows.failed_records import Records
from ksql_spark.statements.rows.tracing import ends_of, starts_of, starts_per_source
from ksql_spark.types import BIGINT, BOOLEAN

#: later than all times
END_MS = 2**62


class Computed(NamedTuple):
    """What a batch has computed.

    Args:
        rows: the rows of all windows that overlap a time, in the order of their times; those of which HAVING
            is not true have no value.
        parts: of their keys.
        asked: for those that are made of records that were asked for, where these are.
        times: by part of the keys, how far stream time has come.
    """

    rows: Mapping[Place, Record]
    parts: Mapping[Place, int]
    asked: Mapping[Place, Collection[Position]]
    times: Mapping[int, int]


#: no rows
NOTHING = Computed({}, {}, {}, {})


def compute(
    query: ManagedQuery,
    recomputation: Recomputation,
    span: tuple[int, int],
    asked: Collection[Position] | None,
    processed: Mapping[int, int],
    context: StatementContext,
) -> Computed:
    """Compute the rows of windows again.

    Args:
        query: what maintains the table.
        recomputation: the batch.
        span: the time that the windows overlap, epoch ms.
        asked: the records whose rows are asked for; None: all rows are.
        processed: how far the query has read its topic.
        context: of the statement.

    Raises:
        KsqlError: INVALID_STATEMENT if a row cannot be written.
    """
    services = context.services
    parts = services.queries.checkpoints.of(query, 0).parts()
    if parts is None:  # it has not begun
        return NOTHING
    size_ms = recomputation.windows.size_ms
    span = max(0, span[0] - size_ms), span[1] + size_ms
    source = recomputation.input.source
    ends = ends_of([source], context)[source.topic]
    own = batch.session_for(services.spark.session(), recomputation.root, sum(ends.values()))
    frames = tracing.inputs(
        own,
        services.client_settings("consumer", context.properties),
        [recomputation.input],
        starts_per_source(query, [source], context),
        [ends],
        batch_ranges(_bounded(recomputation.input, 0 if recomputation.has_sessions else span[0]), services),
        asked=[asked or ()],
    )
    setting = partial(services.queries.environment.setting, query)
    of = replay.Parts(*parts)
    times = replay.stream_times(own, recomputation, of, frames, processed, setting)
    rows: dict[Place, Record] = {}
    part_of: dict[Place, int] = {}
    of_asked: dict[Place, Collection[Position]] = {}
    for record, part, asked_here, unwritable in replay.recomputed(
        own,
        recomputation,
        query.plan,
        query.sink_partitions,
        of,
        frames,
        span,
        setting,
        only_asked=asked is not None,
    ):
        check_writable(unwritable)
        place = (record.partition or 0, record.key)
        time_ms = record.timestamp_ms or 0
        rows[place] = Record(record.topic, place[0], -1, time_ms, record.key, record.value)
        part_of[place] = part
        if asked_here:
            of_asked[place] = asked_here
    in_order = sorted(rows.items(), key=lambda row: (row[1].timestamp_ms, row[0][0], row[0][1] or b""))
    return Computed(dict(in_order), part_of, of_asked, times)


def compute_pairs(
    query: ManagedQuery,
    join: Pairs,
    records: Records,
    processed: Mapping[str, Mapping[int, int]],
    context: StatementContext,
) -> tuple[list[replay.Counted], int]:
    """Compute the rows of a join again that pairs with some records make.

    Args:
        query: the join.
        join: the batch.
        records: those records.
        processed: how far the query has read its topics.
        context: of the statement.

    Returns:
        the rows, and the time that each partition of the topics has reached, epoch ms.

    Raises:
        KsqlError: INVALID_STATEMENT if a row cannot be written.
    """
    services = context.services
    sources = [relation.source for relation in join.inputs]
    ends = ends_of(sources, context)
    row_count = sum(sum(each.values()) for each in ends.values())
    own = batch.session_for(services.spark.session(), join.root, row_count)
    # a row with its own time may equal one of any other pair
    first_ms = 0 if query.plan.sink.timestamp is not None else max(0, records.span[0] - join.reach_ms)
    ranges = [batch_ranges(_bounded(relation, first_ms), services) for relation in join.inputs]
    frames = tracing.inputs(
        own,
        services.client_settings("consumer", context.properties),
        join.inputs,
        starts_per_source(query, sources, context),
        [ends[source.topic] for source in sources],
        BatchRanges(
            {topic: start for each in ranges for topic, start in each.starts.items()},
            {topic: archive for each in ranges for topic, archive in each.archives.items()},
        ),
        asked=[records.places[source.topic] for source in sources],
    )
    read = [processed.get(source.topic, {}) for source in sources]
    found = list(
        replay.pairs(
            own,
            join,
            query.plan,
            query.sink_partitions,
            frames,
            read,
            partial(services.queries.environment.setting, query),
        )
    )
    for each in found:
        check_writable(each.unwritable)
    return found, replay.reached(frames, join.inputs, read)


def check_writable(reason: str | None) -> None:
    """Refuse a row that cannot be written.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if reason is not None:
        raise KsqlError("INVALID_STATEMENT", reason=f"A row cannot be written: {reason}")


def _bounded(relation: nodes.Source, first_ms: int) -> nodes.Node:
    """A plan that reads a stream from a time on.

    Later records are read, too: they tell how far the query is.
    """
    time_ms = ColumnRef(relation.column_name(ROWTIME), BIGINT)
    return nodes.Filter(relation, Call(">=", (time_ms, Literal(first_ms, BIGINT)), BOOLEAN))


def whole_from_ms(query: ManagedQuery, relation: nodes.Source, context: StatementContext) -> int:
    """From which time on all records of a query's topic are still there; 0: from the beginning."""
    admin, latest = context.services.admin, 0
    topic = relation.source.topic
    if relation.source.archive is not None:
        return 0
    began = starts_of(query.plan.sink.name, query, context).get(topic, {})
    for (_, partition), offset in admin.beginning_offsets(topic).items():
        if offset > began.get(str(partition), 0):
            left = read_at(admin.servers, topic, {partition: [offset]}, admin.settings)
            first = next(iter(left), None)
            latest = max(latest, END_MS if first is None else first.timestamp_ms)
    return latest


__all__ = [
    "END_MS", "NOTHING", "Computed", "compute", "compute_pairs", "whole_from_ms",
]  # fmt: skip
