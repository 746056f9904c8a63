"""Queries, in lists and individually."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ksql_spark.entities.base import Body, Entity, Omitted
from ksql_spark.entities.schemas import FieldInfo

QueryType = Literal["PERSISTENT", "PUSH", "PULL"]
#: states that clients of ksqlDB understand, where states are counted or listed by server (reference §6.11)
STATUSES = ("RUNNING", "ERROR", "PAUSED", "UNRESPONSIVE")


def status_of(state: str) -> str:
    """The status of a query in ``state``: as in ksqlDB, a query that has yet to start is RUNNING."""
    return state if state in STATUSES else "RUNNING"


@dataclass(frozen=True, kw_only=True)
class RunningQuery(Body):
    """A row of SHOW QUERIES.

    Args:
        query_string: the statement, without secrets.
        status_count: its status -> 1, see status_of().
        host: the server that runs it, if several share queries.
        error: why it has failed, if its state is ERROR.
    """

    query_string: str
    sinks: tuple[str, ...]
    sink_kafka_topics: tuple[str, ...]
    id: str
    status_count: Mapping[str, int]
    query_type: QueryType
    state: str
    processing_guarantee: str
    host: Omitted[str] = None
    error: Omitted[str] = None


@dataclass(frozen=True, kw_only=True)
class Queries(Entity, type="queries"):
    """The answer to SHOW QUERIES."""

    queries: tuple[RunningQuery, ...]


@dataclass(frozen=True, kw_only=True)
class QueryError(Body):
    """A failure: epoch milliseconds, its cause, and USER, SYSTEM or UNKNOWN."""

    timestamp: int
    error_message: str
    type: str


@dataclass(frozen=True, kw_only=True)
class QueryDescription(Body):
    """A query as EXPLAIN shows it; the defaults are those of one that does not run.

    Args:
        statement_text: without secrets.
        topology: the steps of a running query, with figures.
        execution_plan: its logical and physical plan.
        ksql_host_query_status: server -> status, see status_of().
        tasks_metadata, consumer_group_id: always empty: Spark has neither.
    """

    id: str = ""
    statement_text: str
    window_type: str | None
    fields: tuple[FieldInfo, ...]
    sources: tuple[str, ...]
    sinks: tuple[str, ...] = ()
    topology: str = ""
    execution_plan: str
    overridden_properties: Mapping[str, Any] = field(default_factory=dict)
    ksql_host_query_status: Mapping[str, str] = field(default_factory=dict)
    query_type: QueryType
    query_errors: tuple[QueryError, ...] = ()
    tasks_metadata: tuple[Any, ...] = ()
    consumer_group_id: str | None = None
    state: str | None = None
    processing_guarantee: Omitted[str] = None


@dataclass(frozen=True, kw_only=True)
class QueryDescriptionEntity(Entity, type="queryDescription"):
    """The answer to EXPLAIN."""

    query_description: QueryDescription


@dataclass(frozen=True, kw_only=True)
class QueryDescriptionList(Entity, type="query_descriptions"):
    """The answer to SHOW QUERIES EXTENDED."""

    query_descriptions: tuple[QueryDescription, ...]
