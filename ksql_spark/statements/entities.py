"""The JSON of the REST API's answers (reference §7.3), as dicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ksql_spark.masking import masked
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.managed_query import ManagedQuery
from ksql_spark.runtime.query_state import State
from ksql_spark.schema import Column, Role
from ksql_spark.statements.context import Outcome, Services
from ksql_spark.types import type_json


def entity(type_: str, text: str, /, **members: Any) -> dict[str, Any]:
    """An entity ``@type`` for the statement ``text``."""
    return {"@type": type_, "statementText": masked(text), **members, "warnings": []}


def field_json(column: Column) -> dict[str, Any]:
    """A column as the REST API's field object; keys and headers have a ``type``."""
    shown: dict[str, Any] = {"name": column.name, "schema": type_json(column.type)}
    if column.role is Role.KEY:
        shown["type"] = "KEY"
    elif column.role is Role.HEADERS:
        shown["type"] = "HEADER"
        if column.header_key is not None:
            shown["headerKey"] = column.header_key
    return shown


def source_row(source: DataSource) -> dict[str, Any]:
    """A row of SHOW STREAMS or SHOW TABLES."""
    return {
        "type": source.kind,
        "name": source.name,
        "topic": source.topic,
        "keyFormat": source.key_format.name,
        "valueFormat": source.value_format.name,
        "isWindowed": source.window is not None,
    }


def query_row(query: ManagedQuery, host: str | None = None, state: str | None = None) -> dict[str, Any]:
    """A row of SHOW QUERIES; ``host`` and ``state`` of a query that one of several servers runs."""
    is_push = query.is_transient
    shown = query.runner.state if state is None else state
    return {
        "queryString": masked(query.statement),
        "sinks": [] if is_push else [query.plan.sink.name],
        "sinkKafkaTopics": [] if is_push else [query.plan.sink.topic],
        "id": query.id,
        "statusCount": {shown: 1},
        "queryType": "PUSH" if is_push else "PERSISTENT",
        "state": shown,
        "processingGuarantee": query.plan.guarantee,
        **({"host": host} if host is not None else {}),
        **({"error": query.why_failed} if query.runner.state is State.ERROR else {}),
    }


def query_rows(queries: Iterable[ManagedQuery], services: Services) -> list[dict[str, Any]]:
    """Rows of SHOW QUERIES, with the servers that run them if there are several.

    Raises:
        KsqlError: as KafkaAdmin.
    """
    placement = services.placement
    if placement is None:
        return [query_row(query) for query in queries]
    notes = placement.notes()
    rows = []
    for query in queries:
        if query.is_transient or services.queries.is_here(query):
            rows.append(query_row(query, placement.host))
        else:
            state, host = placement.state_of(query.id, notes)
            rows.append(query_row(query, host, State.PAUSED if query.state is State.PAUSED else state))
    return rows


def command_status(text: str, command_id: str, outcome: Outcome, sequence: int) -> dict[str, Any]:
    """The answer to a logged statement."""
    status = {
        "status": "ERROR" if outcome.is_failed else "SUCCESS",
        "message": outcome.message,
        "queryId": outcome.query_id,
    }
    return entity(
        "currentStatus", text, commandId=command_id, commandStatus=status, commandSequenceNumber=sequence
    )
