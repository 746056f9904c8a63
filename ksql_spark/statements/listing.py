"""Columns, sources, queries and commands as the answers to statements show them."""

from __future__ import annotations

from collections.abc import Iterable

from ksql_spark.entities.commands import CommandStatus, CommandStatusEntity
from ksql_spark.entities.queries import RunningQuery, status_of
from ksql_spark.entities.schemas import FieldInfo
from ksql_spark.entities.sources import SourceInfo
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.runtime.reading.results import schema_info
from ksql_spark.schema import Column, Role
from ksql_spark.security.masking import masked
from ksql_spark.statements.context import Outcome, Services


def field_info(column: Column) -> FieldInfo:
    """A column; keys and headers have a ``type``."""
    schema = schema_info(column.type)
    match column.role:
        case Role.KEY:
            return FieldInfo(column.name, schema, "KEY")
        case Role.HEADERS:
            return FieldInfo(column.name, schema, "HEADER", column.header_key)
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
    """A row of SHOW QUERIES; ``host`` and ``state`` of a query that one of several servers runs."""
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


def command_status(text: str, command_id: str, outcome: Outcome, sequence: int) -> CommandStatusEntity:
    """The answer to a logged statement."""
    status = CommandStatus("ERROR" if outcome.is_failed else "SUCCESS", outcome.message, outcome.query_id)
    return CommandStatusEntity(
        statement_text=text,
        command_id=command_id,
        command_status=status,
        command_sequence_number=sequence,
    ).warned(*outcome.warnings)
