"""The JSON of the REST API's answers (reference §7.3), as dicts."""

from __future__ import annotations

from typing import Any

from ksql_spark.masking import masked
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.queries import ERROR, ManagedQuery
from ksql_spark.schema import Column, Role
from ksql_spark.statements.context import Outcome
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


def query_row(query: ManagedQuery) -> dict[str, Any]:
    """A row of SHOW QUERIES."""
    is_push = query.is_transient
    return {
        "queryString": masked(query.statement),
        "sinks": [] if is_push else [query.plan.sink.name],
        "sinkKafkaTopics": [] if is_push else [query.plan.sink.topic],
        "id": query.id,
        "statusCount": {query.state: 1},
        "queryType": "PUSH" if is_push else "PERSISTENT",
        "state": query.state,
        "processingGuarantee": query.plan.guarantee,
        **({"error": query.why_failed} if query.state == ERROR else {}),
    }


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
