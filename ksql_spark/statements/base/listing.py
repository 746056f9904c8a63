"""Columns, sources, queries and commands as responses show them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from ksql_spark.entities.commands import CommandStatus, CommandStatusEntity
from ksql_spark.entities.queries import RunningQuery, status_of
from ksql_spark.entities.schemas import FieldInfo
from ksql_spark.entities.sources import SourceInfo
from ksql_spark.masking import masked
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.reading.results import schema_info
from ksql_spark.schema import Column, Role
from ksql_spark.statements.base.context import Outcome, Services


def field_info(column: Column) -> FieldInfo:
    """A column; keys and headers have a ``type``."""
    schema = schema_info(column.type)
    match column.role:
        case Role.KEY:
            return FieldInfo(column.name, schema, "KEY")
        case Role.HEADERS:
            return FieldInfo(column.name, schema, "HEADER", column.header_key)
        case Role.TOPIC:
            return FieldInfo(column.name, schema, "TOPIC")
    return FieldInfo(column.name, schema)


def source_info(source: DataSource) -> SourceInfo:
    """A row of SHOW STREAMS or SHOW TABLES."""
    return SourceInfo(
        type=source.kind,
        name=source.name,
        topic=source.topic,
        key_format=source.key_format.name,
        value_format=source.value_format.name,
        is_windowed=source.window is not None,
    )


def running_query(query: ManagedQuery, host: str | None = None, state: str | None = None) -> RunningQuery:
    """A row of SHOW QUERIES; ``host`` and ``state`` apply if several servers share queries."""
    is_push = query.is_transient
    shown = query.runner.state if state is None else state
    return RunningQuery(
        query_string=masked(query.statement),
        sinks=() if is_push else (query.plan.sink.name,),
        sink_kafka_topics=() if is_push else (query.plan.sink.topic,),
        id=query.id,
        status_count={status_of(shown): 1},
        query_type="PUSH" if is_push else "PERSISTENT",
        state=shown,
        processing_guarantee=query.plan.guarantee,
        host=host,
        error=query.why_failed if query.runner.state is State.ERROR else None,
    )


def running_queries(queries: Iterable[ManagedQuery], services: Services) -> tuple[RunningQuery, ...]:
    """Rows of SHOW QUERIES, with the servers that run them if there are several.

    Raises:
        KsqlError: as KafkaAdmin.
    """
    placement = services.placement
    if placement is None:
        return tuple(running_query(query) for query in queries)
    notes = placement.notes()
    rows = []
    for query in queries:
        if query.is_transient or services.queries.is_here(query):
            rows.append(running_query(query, placement.host))
        else:
            state, host = placement.state_of(query.id, notes)
            rows.append(running_query(query, host, State.PAUSED if query.state is State.PAUSED else state))
    return tuple(rows)


#: 1980, epoch ms
_YEAR_1980 = 315_532_800_000
_MS_PER_YEAR = 31_556_952_000
#: units that are often mistaken for milliseconds -> how many ms one has
_UNITS = {"nanoseconds": 1e-6, "microseconds": 1e-3, "seconds": 1e3}


def time_warnings(queries: Sequence[ManagedQuery], services: Services) -> tuple[str, ...]:
    """A sentence for each of ``queries`` whose first event times are years ahead, or before 1980."""
    traffic = services.queries.figures.traffic() if queries else {}
    return tuple(
        _odd_time(query, odd_ms)
        for query in queries
        if query.id in traffic and (odd_ms := traffic[query.id].odd_ms) is not None
    )


def _odd_time(query: ManagedQuery, odd_ms: int) -> str:
    now_ms = time.time() * 1000
    columns = dict.fromkeys(
        s.timestamp.column for s in (*query.plan.sources, query.plan.sink) if s.timestamp is not None
    )
    what = f"is the column {' or '.join(columns)}" if columns else "are the timestamps of the records"
    units = (u for u, ms in _UNITS.items() if _YEAR_1980 <= odd_ms * ms <= now_ms + _MS_PER_YEAR)
    hint = next((f"; {what} in {unit}?" for unit in units), f"; {what} right?")
    return f"{query.id}: times are in the year {1970 + odd_ms // _MS_PER_YEAR}{hint}"


def command_status(text: str, command_id: str, outcome: Outcome, sequence: int) -> CommandStatusEntity:
    """The answer to a logged statement."""
    status = CommandStatus("ERROR" if outcome.is_failed else "SUCCESS", outcome.message, outcome.query_id)
    return CommandStatusEntity(
        statement_text=text,
        command_id=command_id,
        command_status=status,
        command_sequence_number=sequence,
    ).warned(*outcome.warnings)
