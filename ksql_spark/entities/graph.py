"""The topics, sources, queries and connectors of a server as a graph (GET /graph)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ksql_spark.entities.base import Body, Entity, Omitted

NodeKind = Literal["TOPIC", "STREAM", "TABLE", "QUERY", "CONNECTOR"]


@dataclass(frozen=True, kw_only=True)
class QueryFigures(Body):
    """Figures about a query's work; a member is null while it is not known.

    Args:
        arriving_per_s: records that are written to the topics that it reads, each second.
        read_per_s, written_per_s: records that it fetches, and that brokers have acknowledged, each second.
        lag_records: offsets that it has not read yet.
        arrived_records: these, and those that it has read since it was created; None: another server runs it.
        lag_seconds: for how long the oldest record has waited; 0: none waits. While the query finishes a
            batch, at least the time since it stopped reading.
        latency_seconds: within which 95 % of the latest results could be read, by their event time; None: not
            known, or their events were old when they came.
        errors: records that failed since it started, by kind: unreadable, failed, late, lost.
        failures: how often it has failed as a whole, and was started again.
        state_rows, state_bytes: the size of its state.
    """

    arriving_per_s: float | None = None
    read_per_s: float | None = None
    written_per_s: float | None = None
    lag_records: int | None = None
    arrived_records: int | None = None
    lag_seconds: float | None = None
    latency_seconds: float | None = None
    errors: Mapping[str, int]
    failures: int = 0
    state_rows: int | None = None
    state_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class TopicFigures(Body):
    """Figures about the topic of a stream or table; a member is null while it is not known.

    Args:
        arriving_per_s: records that are written to it, each second, whoever writes them.
        records: offsets between its first and its last record; of a compacted topic, fewer are there.
    """

    arriving_per_s: float | None = None
    records: int | None = None


@dataclass(frozen=True, kw_only=True)
class GraphNode(Body):
    """A topic, stream, table, query or connector.

    Args:
        id: the kind in lower case, a colon, and the name.
        name: of a query, its id.
        state: of a query or connector.
        statement: of a query or source; secrets in it are hidden.
        error: why it has failed.
        host: the server that runs the query, where several share them.
        new_version_of: the table that the query will write once it has caught up; until then it writes a
            topic of its own.
        topic, formats: of a source: where its records are, and the formats of keys and values.
        windowed: whether a source's keys have windows.
        role: the client's role for it: reader, developer or admin; for a query, the one for what it writes.
        figures: of a query, as the server that runs it says.
        topic_figures: of a source.
    """

    id: str
    kind: NodeKind
    name: str
    state: Omitted[str] = None
    statement: Omitted[str] = None
    error: Omitted[str] = None
    host: Omitted[str] = None
    new_version_of: Omitted[str] = None
    topic: Omitted[str] = None
    formats: Omitted[tuple[str, str]] = None
    windowed: Omitted[bool] = None
    role: Omitted[str] = None
    figures: Omitted[QueryFigures] = None
    topic_figures: Omitted[TopicFigures] = None


@dataclass(frozen=True)
class GraphEdge(Body):
    """Records go from one node to another, by their ids."""

    source: str
    target: str


@dataclass(frozen=True)
class Culprit(Body):
    """The query that holds up everything after it on its paths, and how that shows."""

    query_id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Graph(Body):
    """The response to GET /graph.

    Args:
        time_ms: when its figures were taken, epoch milliseconds; null: not yet.
        culprits: at most one for each part of the graph that hangs together.
        warnings: what could not be asked.
        has_servers: whether GET /clusterStatus answers, because servers share queries or exchange heartbeats.
    """

    time_ms: int | None
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    culprits: tuple[Culprit, ...] = ()
    warnings: tuple[str, ...] = ()
    has_servers: bool = False


@dataclass(frozen=True, kw_only=True)
class FreshnessStage(Body):
    """A stage that records pass on their way to a stream or table, and the delay that it adds.

    Args:
        name: a query's id, a connector's name, or the table whose view is meant.
        state: of a query or connector.
        delay_seconds: what it adds to the age of results; null: unknown.
        evidence: sentences with the figures behind that.
    """

    name: str
    kind: Literal["QUERY", "CONNECTOR", "VIEW"]
    state: str | None
    delay_seconds: float | None
    evidence: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Freshness(Body):
    """The response to GET /freshness/<name>: where the delay of a stream or table comes from.

    Args:
        stages: in the order of records, from the topics that nothing here writes to the stream or table.
        culprit: the name of the one stage that holds up the others; null: none does.
        verdict: one sentence.
    """

    name: str
    stages: tuple[FreshnessStage, ...]
    culprit: str | None
    verdict: str


@dataclass(frozen=True, kw_only=True)
class FreshnessEntity(Entity, type="freshness"):
    """The answer to EXPLAIN FRESHNESS."""

    freshness: Freshness
