"""The graph of what runs: topics, streams, tables, queries and connectors (GET /graph)."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ksql_spark.authorization import Kind, Rights
from ksql_spark.engine.diagnosis import BEHIND_S, Grown, diagnose
from ksql_spark.engine.freshness import freshness
from ksql_spark.engine.metrics import behind
from ksql_spark.engine.query_details import query_details
from ksql_spark.engine.samples import Samples
from ksql_spark.entities.graph import (
    Culprit,
    Freshness,
    Graph,
    GraphEdge,
    GraphNode,
    TopicFigures,
)
from ksql_spark.entities.query_details import QueryDetails
from ksql_spark.errors import KsqlError, query_hint
from ksql_spark.kafka_connect import ConnectCluster
from ksql_spark.masking import masked
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.statements import Services
from ksql_spark.statements.base.context import evolves, uses_of
from ksql_spark.statements.base.listing import running_queries

#: how often Connect is asked, at most, seconds
CONNECT_EVERY_S = 10.0
NO_KAFKA = (
    "Kafka does not answer: queries read and write nothing, and nobody knows their lag. They go on once it "
    "is back."
)


class Graphs:
    """Makes graphs of an engine.

    Args:
        services: its parts.
        samples: its figures.
    """

    def __init__(self, services: Services, samples: Samples) -> None:
        self._services = services
        self._samples = samples
        self._asking = threading.Lock()
        self._connect_asked_at = -math.inf
        self._connectors: tuple[tuple[_Connector, ...], tuple[str, ...]] = ((), ())

    def now(self, rights: Rights) -> Graph:
        """The graph of now, of what a client with these rights may see.

        Raises:
            KsqlError: as KafkaAdmin, where servers share queries.
        """
        services = self._services
        at_ms, figures = self._samples.latest()
        of_topics = self._samples.topics()
        graph = _GraphBuilder(rights)
        for source in services.metastore.sources():
            if rights.may_read(source.name):
                graph.add_source(source, of_topics.get(source.topic))
        queries = self._visible_queries(rights)
        for query, row in zip(queries, running_queries(queries, services), strict=True):
            graph.add_query(
                query,
                GraphNode(
                    id=f"query:{query.id}",
                    kind="QUERY",
                    name=query.id,
                    state=row.state,
                    statement=row.query_string,
                    error=row.error,
                    host=row.host,
                    new_version_of=evolves(query),
                    figures=figures.get(query.id),
                ),
            )
        warnings = self._add_connectors(graph, rights)
        if not self._samples.is_whole:
            warnings = (NO_KAFKA, *warnings)
        return Graph(
            time_ms=at_ms,
            nodes=tuple(graph.nodes.values()),
            edges=tuple(graph.edges),
            culprits=tuple(culprits(graph.nodes, graph.edges, self._grown)),
            warnings=warnings,
        )

    def freshness(self, source: DataSource, rights: Rights) -> Freshness:
        """Explain where the delay of a stream or table comes from.

        Raises:
            KsqlError: as now() and Views.ends().
        """
        lag = None
        reached = self._services.views.positions().get(source.name)
        if reached is not None:
            positions, topic = reached
            ends = self._services.views.ends([topic])[topic]
            lag = behind(positions, ends)
        return freshness(self.now(rights), _id_of(source), self._grown, lag)

    def details(self, query_id: str, rights: Rights) -> QueryDetails:
        """Describe how a query runs, step by step.

        Raises:
            KsqlError: QUERY_UNKNOWN, also for a query that the client may not see.
        """
        seen = {query.id.upper(): query for query in self._visible_queries(rights)}
        query = seen.get(query_id.upper())
        if query is None:
            raise KsqlError("QUERY_UNKNOWN", id=query_id, hint=query_hint(query_id, seen))
        return query_details(query, self._services.queries.figures)

    def _visible_queries(self, rights: Rights) -> list[ManagedQuery]:
        return [
            query
            for query in self._services.queries.all()
            if not query.is_transient and uses_of(query).is_visible(rights)
        ]

    def _grown(self, query_id: str, lag: int | None) -> float:
        before = self._samples.lag_before(query_id, BEHIND_S)
        return 0.0 if lag is None or before is None else lag - before

    def _add_connectors(self, graph: _GraphBuilder, rights: Rights) -> tuple[str, ...]:
        """Add what Connect runs, as far as it is in use; what is wrong with it."""
        if not self._services.connect.is_in_use() or rights.role is None:
            return ()
        # others that ask meanwhile get what was found before
        if time.monotonic() - self._connect_asked_at >= CONNECT_EVERY_S and self._asking.acquire(
            blocking=False
        ):
            try:
                self._connectors = _connectors(self._services.connect)
                self._connect_asked_at = time.monotonic()
            finally:
                self._asking.release()
        connectors, warnings = self._connectors
        for connector in connectors:
            graph.add_connector(*connector)
        return warnings


class _Connector(NamedTuple):
    node: GraphNode
    topics: tuple[str, ...]
    is_sink: bool


def _connectors(connect: ConnectCluster) -> tuple[tuple[_Connector, ...], tuple[str, ...]]:
    """The connectors of a cluster, and what is wrong with it."""
    if problem := connect.problem():
        return (), (problem,)
    connectors = []
    try:
        client = connect.client()
        for name, description in client.connectors().items():
            status, config = description.get("status", {}), description.get("info", {}).get("config", {})
            states = [status.get("connector", {}), *status.get("tasks", ())]
            failed = next((s for s in states if s.get("state") == "FAILED"), None)
            node = GraphNode(
                id=f"connector:{name}",
                kind="CONNECTOR",
                name=name,
                state="FAILED" if failed else str(states[0].get("state", "UNKNOWN")),
                error=str(failed.get("trace", "")).partition("\n")[0] or None if failed else None,
            )
            is_sink = status.get("type") == "sink"
            topics = _listed(config.get("topics", "")) if is_sink else client.topics(name)
            connectors.append(_Connector(node, tuple(topics), is_sink))
    except KsqlError as error:
        return tuple(connectors), (error.message,)
    return tuple(connectors), ()


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


@dataclass
class _GraphBuilder:
    """The graph as far as it is made, for a client with these rights."""

    rights: Rights
    nodes: dict[str, GraphNode] = field(default_factory=dict)
    #: in the order in which they were found; each once
    edges: dict[GraphEdge, None] = field(default_factory=dict)

    def add_topic(self, name: str) -> str:
        """The id of a topic's node."""
        id_ = f"topic:{name}"
        self.nodes.setdefault(
            id_, GraphNode(id=id_, kind="TOPIC", name=name, role=self._role(Kind.TOPIC, name))
        )
        return id_

    def _role(self, kind: Kind, name: str) -> str | None:
        role = self.rights.of_name(kind, name)
        return None if role is None else role.label

    def add_source(self, source: DataSource, figures: TopicFigures | None = None) -> None:
        """A stream or table, which reads its topic."""
        topic = self.add_topic(source.topic)
        id_ = _id_of(source)
        self.nodes[id_] = GraphNode(
            id=id_,
            kind="TABLE" if source.is_table else "STREAM",
            name=source.name,
            statement=masked(source.statement),
            topic=source.topic,
            formats=(source.key_format.name, source.value_format.name),
            windowed=source.window is not None,
            role=self._role(Kind.SOURCE, source.name),
            topic_figures=figures,
        )
        self.edges[GraphEdge(topic, id_)] = None

    def add_query(self, query: ManagedQuery, node: GraphNode) -> None:
        """A query, from what it reads to the topic that it writes."""
        self.nodes[node.id] = replace(node, role=self._role(Kind.SOURCE, query.plan.sink.name))
        for source in query.plan.sources:
            self.edges[GraphEdge(_id_of(source), node.id)] = None
        self.edges[GraphEdge(node.id, self.add_topic(query.plan.sink.topic))] = None

    def add_connector(self, node: GraphNode, topics: Iterable[str], is_sink: bool) -> None:
        """A connector, which writes to topics or reads them."""
        self.nodes[node.id] = node
        for name in topics:
            topic = self.add_topic(name)
            self.edges[GraphEdge(topic, node.id) if is_sink else GraphEdge(node.id, topic)] = None


def _id_of(source: DataSource) -> str:
    return f"{'table' if source.is_table else 'stream'}:{source.name}"


def culprits(nodes: Mapping[str, GraphNode], edges: Iterable[GraphEdge], grown: Grown) -> Iterator[Culprit]:
    """The slowest query of each part of the graph that hangs together, if one is too slow or does not run.

    Topics keep what a query does not read yet, so a query that is behind is slow itself: those before it do
    not wait for it, and those after it have nothing to read.

    Args:
        nodes: by id.
        edges: between them.
        grown: how many records a query's lag has grown by, of its id and its lag.
    """
    part = _parts(nodes, edges)
    worst: dict[str, tuple[tuple[int, float], Culprit]] = {}
    for node in nodes.values():
        if node.kind == "QUERY" and (diagnosis := diagnose(node, grown)) is not None:
            rank, reason = diagnosis
            here = worst.get(part[node.id])
            if here is None or rank > here[0]:
                worst[part[node.id]] = rank, Culprit(node.name, reason)
    yield from (culprit for _, culprit in worst.values())


def _parts(nodes: Iterable[str], edges: Iterable[GraphEdge]) -> dict[str, str]:
    """Node -> one that stands for all that it hangs together with."""
    parent = {node: node for node in nodes}

    def root(node: str) -> str:
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    for edge in edges:
        if edge.source in parent and edge.target in parent:
            parent[root(edge.source)] = root(edge.target)
    return {node: root(node) for node in parent}
