"""SHOW and LIST (reference §2.10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ksql_spark import topic_patterns
from ksql_spark.config import find
from ksql_spark.entities import Entity, KsqlWarning
from ksql_spark.entities.catalog import (
    FunctionNameList,
    PropertiesList,
    Property,
    SimpleFunctionInfo,
    TypeList,
    Variable,
    VariablesList,
    View,
    ViewsList,
)
from ksql_spark.entities.queries import Queries, QueryDescriptionList
from ksql_spark.entities.servers import Service, ServicesList
from ksql_spark.entities.sources import (
    IndexesList,
    KafkaTopicInfo,
    KafkaTopicsList,
    KafkaTopicsListExtended,
    SourceDescriptionList,
    StreamsList,
    TablesList,
)
from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.functions.spec import NAMELESS
from ksql_spark.grammar.nodes import position
from ksql_spark.grammar.statements.show import Show
from ksql_spark.kafka.admin import Consumers, Topic
from ksql_spark.kafka_connect import NoConnect
from ksql_spark.masking import masked, masked_values
from ksql_spark.metastore.sources import STREAM, TABLE
from ksql_spark.runtime.reading.results import schema_info
from ksql_spark.statements.base.context import Action, Immediate, StatementContext
from ksql_spark.statements.base.describe import (
    index_info,
    query_description,
    refresh_warnings,
    source_description,
    visible_queries,
    visible_sources,
)
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.base.listing import running_queries, source_info, time_warnings
from ksql_spark.statements.base.topics import retention_ms
from ksql_spark.statements.definitions.connectors import (
    show_connectors,
    show_plugins,
    writers,
    writers_in_time,
)
from ksql_spark.statements.definitions.sinks import show_sinks


def _sources(statement: Show, context: StatementContext, kind: str) -> Entity:
    sources = visible_sources(context, kind)
    if statement.extended:
        described = tuple(source_description(s, context, extended=True) for s in sources)
        return SourceDescriptionList(statement_text=statement.source_text, source_descriptions=described)
    rows = tuple(source_info(s) for s in sources)
    if kind == STREAM:
        return StreamsList(statement_text=statement.source_text, streams=rows)
    listed = TablesList(statement_text=statement.source_text, tables=rows)
    return listed.warned(*refresh_warnings(sources, context.services))


def _streams(statement: Show, context: StatementContext) -> Entity:
    return _sources(statement, context, STREAM)


def _tables(statement: Show, context: StatementContext) -> Entity:
    return _sources(statement, context, TABLE)


_NO_WRITERS = (
    "Kafka Connect has not responded yet, so this list does not show which connectors write the topics. "
    "SHOW TOPICS EXTENDED waits longer."
)


def _topics(statement: Show, context: StatementContext) -> Entity:
    hidden = list(context.config["ksql.hidden.topics"])
    there = context.services.admin.topics()
    readable = [s.topic for s in context.services.metastore.sources() if context.rights.may_read(s.name)]
    seen = {name for topic in readable for name in topic_patterns.names(topic, there)}
    shown = {name for name in there if name in seen or context.rights.may_see_topic(name)}
    topics = [
        t
        for t in there.values()
        if (statement.all or not any(re.fullmatch(p, t.name) for p in hidden)) and t.name in shown
    ]
    rows = (
        _extended(topics, context)
        if statement.extended
        else [KafkaTopicInfo(name=t.name, replica_info=t.replicas) for t in topics]
    )
    warnings: tuple[KsqlWarning, ...] = ()
    connect = context.services.connect
    if connect.is_in_use():
        try:
            written = writers(connect) if statement.extended else writers_in_time(connect)
        except KsqlError as error:  # the topics exist anyway
            warnings = (KsqlWarning(error.message),)
        else:
            if written is None:
                warnings = (KsqlWarning(_NO_WRITERS),)
            else:
                rows = [replace(row, connectors=tuple(written.get(row.name, ()))) for row in rows]
    cls = KafkaTopicsListExtended if statement.extended else KafkaTopicsList
    return cls(statement_text=statement.source_text, topics=tuple(rows), warnings=warnings)


def _extended(topics: Sequence[Topic], context: StatementContext) -> list[KafkaTopicInfo]:
    """Topics with what is in them and who reads them."""
    admin = context.services.admin
    consumers = admin.consumers()
    counts = admin.record_counts(topics)
    configs = admin.configs_of(t.name for t in topics)
    # Spark reads without a consumer group: Kafka does not know of queries
    read = [
        name
        for query in context.services.queries.all()
        if not query.is_transient
        for name in topic_patterns.expanded({s.topic for s in query.plan.sources}, counts)
    ]
    there_are_none = Consumers()
    rows = []
    for topic in topics:
        of_topic, config = consumers.get(topic.name, there_are_none), configs[topic.name]
        policy, queries = config.get("cleanup.policy", ""), read.count(topic.name)
        rows.append(
            KafkaTopicInfo(
                name=topic.name,
                replica_info=topic.replicas,
                consumer_count=of_topic.consumers + queries,
                consumer_group_count=len(of_topic.groups) + queries,
                record_count=counts[topic.name],
                retention_ms=retention_ms(config),
                is_compacted="compact" in policy,
            )
        )
    return rows


def _queries(statement: Show, context: StatementContext) -> Entity:
    queries = visible_queries(context)
    if statement.extended:
        described = tuple(query_description(q, context.services) for q in queries)
        return QueryDescriptionList(
            statement_text=statement.source_text, query_descriptions=described
        ).warned(*time_warnings(queries, context.services))
    rows = running_queries(queries, context.services)
    return Queries(statement_text=statement.source_text, queries=rows).warned(
        *time_warnings(queries, context.services)
    )


def _properties(statement: Show, context: StatementContext) -> Entity:
    config, services = context.config, context.services
    # services that this server has started itself, because users could not find them
    started = {
        "ksql.schema.registry.url": services.registry.address if services.registry is not None else None,
        "ksql.connect.url": services.connect.address(),
    }
    rows = []
    for name in config:
        entry, value = find(name), config.text(name)
        rows.append(
            Property(
                name=name,
                scope="KSQL",
                value=started.get(name) if value is None else value,
                editable=entry.editable,
                level="QUERY" if entry.level == "query" else "SERVER",
            )
        )
    for name, value in sorted(services.connect.worker_properties().items()):
        rows.append(
            Property(
                name=name,
                scope="EMBEDDED CONNECT WORKER",
                value=masked_values({name: value})[name],
                editable=False,
                level="SERVER",
            )
        )
    return PropertiesList(
        statement_text=statement.source_text,
        properties=tuple(rows),
        overwritten_properties=tuple(sorted(context.properties)),
        default_properties=tuple(name for name in config if not config.is_set(name)),
    )


def _functions(statement: Show, context: StatementContext) -> Entity:
    named = {s.name: s for s in registry.all_specs() if s.kind not in NAMELESS} | registry.aliases()
    rows = tuple(SimpleFunctionInfo(name, s.kind.value, s.category) for name, s in sorted(named.items()))
    return FunctionNameList(statement_text=statement.source_text, functions=rows)


def _types(statement: Show, context: StatementContext) -> Entity:
    types = {name: schema_info(t) for name, t in sorted(context.services.metastore.types().items())}
    return TypeList(statement_text=statement.source_text, types=types)


def _variables(statement: Show, context: StatementContext) -> Entity:
    rows = tuple(Variable(name, value) for name, value in sorted(context.variables.items()))
    return VariablesList(statement_text=statement.source_text, variables=rows)


def _views(statement: Show, context: StatementContext) -> Entity:
    views = sorted(context.services.metastore.views().items())
    rows = tuple(View(name, query) for name, query in views if context.rights.may_read(name))
    return ViewsList(statement_text=statement.source_text, views=rows)


def _indexes(statement: Show, context: StatementContext) -> Entity:
    services, table = context.services, statement.table
    metastore = services.metastore
    wanted = None if table is None else metastore.require(str(table.this), position(table)).name
    rows = tuple(
        index_info(index, services)
        for _, index in sorted(metastore.indexes().items())
        if context.rights.may_read(index.table) and wanted in (None, index.table)
    )
    return IndexesList(statement_text=statement.source_text, indexes=rows)


def _services(statement: Show, context: StatementContext) -> Entity:
    """List everything with an address; users look above all for what the server has started at free ports."""
    config, services = context.config, context.services
    addresses: list[tuple[str, str | None, bool]] = [
        *((name, address, True) for name, address in services.server.listeners()),
        ("Kafka", services.admin.servers, services.server.starts_broker),
    ]
    if services.registry is not None:
        is_given = bool(config["ksql.schema.registry.url"])
        addresses.append(("schema registry", services.registry.address, not is_given))
    if not isinstance(services.connect, NoConnect):
        addresses.append(("Connect", services.connect.address(), not config["ksql.connect.url"]))
    rows = tuple(Service(name, None if at is None else masked(at), ours) for name, at, ours in addresses)
    return ServicesList(statement_text=statement.source_text, services=rows)


#: kind of thing -> function that lists it
SHOWN: Mapping[str, Callable[[Show, StatementContext], Entity]] = {
    "CONNECTORS": show_connectors,
    "CONNECTOR PLUGINS": show_plugins,
    "FUNCTIONS": _functions,
    "INDEXES": _indexes,
    "PROPERTIES": _properties,
    "QUERIES": _queries,
    "SERVICES": _services,
    "SINKS": show_sinks,
    "STREAMS": _streams,
    "TABLES": _tables,
    "TOPICS": _topics,
    "TYPES": _types,
    "VARIABLES": _variables,
    "VIEWS": _views,
}


@handles
def show(statement: Show, context: StatementContext) -> Action:
    """Any SHOW. The action reads the list; properties and variables are those at the statement."""
    shown = SHOWN[statement.what]
    here = context.snapshot()

    def run() -> Entity:
        answer = shown(statement, here)
        return answer.warned(*_skipped(here)) if statement.what in _FROM_THE_LOG else answer

    asks_connect = statement.what.startswith("CONNECTOR") or (
        statement.what == "TOPICS" and here.services.connect.is_in_use()
    )
    return Immediate(run, waits=asks_connect)


#: the objects that are incomplete if the command log was not fully executed
_FROM_THE_LOG = frozenset({"FUNCTIONS", "INDEXES", "QUERIES", "STREAMS", "TABLES", "TYPES", "VIEWS"})


def _skipped(context: StatementContext) -> list[str]:
    """A warning if records of the command log were skipped."""
    skipped = context.services.commands.skipped
    if not skipped:
        return []
    more = f" So were {len(skipped) - 1} more: GET /healthcheck lists them." if len(skipped) > 1 else ""
    remedy = f" {skipped[0].remedy}" if skipped[0].remedy else ""
    return [f"A record of the command log was skipped: {skipped[0]}.{remedy}{more}"]
