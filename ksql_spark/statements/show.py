"""SHOW and LIST (reference §2.10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from grammar.statements.show import Show
from ksql_spark.config import find
from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Kind
from ksql_spark.masking import masked_values
from ksql_spark.metastore.sources import STREAM, TABLE
from ksql_spark.statements.connectors import show_connectors, show_plugins, writers, writers_soon
from ksql_spark.statements.context import Action, Entity, Immediate, StatementContext
from ksql_spark.statements.describe import query_description, seen_queries, seen_sources, source_description
from ksql_spark.statements.entities import entity, query_rows, source_row
from ksql_spark.types import type_json


def _sources(statement: Show, context: StatementContext, kind: str) -> Entity:
    sources = seen_sources(context, kind)
    if statement.extended:
        described = [source_description(s, context, extended=True) for s in sources]
        return entity("source_descriptions", statement.source_text, sourceDescriptions=described)
    plural = "streams" if kind == STREAM else "tables"
    return entity(plural, statement.source_text, **{plural: [source_row(s) for s in sources]})


def _streams(statement: Show, context: StatementContext) -> Entity:
    return _sources(statement, context, STREAM)


def _tables(statement: Show, context: StatementContext) -> Entity:
    return _sources(statement, context, TABLE)


_NO_WRITERS = (
    "Kafka Connect has not answered yet, so this list does not say which connectors write the topics. "
    "SHOW TOPICS EXTENDED waits longer."
)


def _topics(statement: Show, context: StatementContext) -> Entity:
    hidden = list(context.config["ksql.hidden.topics"])
    there = context.services.admin.topics()
    seen = {s.topic for s in context.services.metastore.sources() if context.rights.may_read(s.name)}
    shown = {name for name in there if name in seen or context.rights.may_see_topic(name)}
    topics = [
        t
        for t in there.values()
        if (statement.all or not any(re.fullmatch(p, t.name) for p in hidden)) and t.name in shown
    ]
    rows: list[Entity] = [{"name": t.name, "replicaInfo": list(t.replicas)} for t in topics]
    if statement.extended:
        consumers = context.services.admin.consumers()
        for row in rows:
            found = consumers.get(row["name"])
            row["consumerCount"] = found.consumers if found else 0
            row["consumerGroupCount"] = found.groups if found else 0
    kind = "kafka_topics_extended" if statement.extended else "kafka_topics"
    answer = entity(kind, statement.source_text, topics=rows)
    connect = context.services.connect
    if connect.is_in_use():
        try:
            written = writers(connect) if statement.extended else writers_soon(connect)
        except KsqlError as error:  # the topics are there all the same
            return {**answer, "warnings": [{"message": error.message}]}
        if written is None:
            return {**answer, "warnings": [{"message": _NO_WRITERS}]}
        for row in rows:
            row["connectors"] = written.get(row["name"], [])
    return answer


def _queries(statement: Show, context: StatementContext) -> Entity:
    queries = seen_queries(context)
    if statement.extended:
        described = [query_description(q, context.services) for q in queries]
        return entity("query_descriptions", statement.source_text, queryDescriptions=described)
    return entity("queries", statement.source_text, queries=query_rows(queries, context.services))


def _properties(statement: Show, context: StatementContext) -> Entity:
    config = context.config
    rows = []
    for name in config:
        entry = find(name)
        rows.append(
            {
                "name": name,
                "scope": "KSQL",
                "value": config.text(name),
                "editable": entry.editable,
                "level": "QUERY" if entry.level == "query" else "SERVER",
            }
        )
    for name, value in sorted(context.services.connect.worker_properties().items()):
        shown = masked_values({name: value})[name]
        scope = "EMBEDDED CONNECT WORKER"
        rows.append({"name": name, "scope": scope, "value": shown, "editable": False, "level": "SERVER"})
    return entity(
        "properties",
        statement.source_text,
        properties=rows,
        overwrittenProperties=sorted(context.properties),
        defaultProperties=[name for name in config if not config.is_set(name)],
    )


def _functions(statement: Show, context: StatementContext) -> Entity:
    named = {s.name: s for s in registry.all_specs() if s.kind is not Kind.OPERATOR} | registry.aliases()
    rows = [{"name": name, "type": s.kind.value, "category": s.category} for name, s in sorted(named.items())]
    return entity("function_names", statement.source_text, functions=rows)


def _types(statement: Show, context: StatementContext) -> Entity:
    types = {name: type_json(t) for name, t in sorted(context.services.metastore.types().items())}
    return entity("type_list", statement.source_text, types=types)


def _variables(statement: Show, context: StatementContext) -> Entity:
    rows = [{"name": name, "value": value} for name, value in sorted(context.variables.items())]
    return entity("variables", statement.source_text, variables=rows)


#: what is listed -> function that lists it
SHOWN: Mapping[str, Callable[[Show, StatementContext], Entity]] = {
    "CONNECTORS": show_connectors,
    "CONNECTOR PLUGINS": show_plugins,
    "FUNCTIONS": _functions,
    "PROPERTIES": _properties,
    "QUERIES": _queries,
    "STREAMS": _streams,
    "TABLES": _tables,
    "TOPICS": _topics,
    "TYPES": _types,
    "VARIABLES": _variables,
}


def show(statement: Show, context: StatementContext) -> Action:
    """Any SHOW. The action reads the list; properties and variables are those at the statement."""
    shown = SHOWN[statement.what]
    here = context.snapshot()

    def run() -> Entity:
        answer = shown(statement, here)
        if statement.what in _FROM_THE_LOG:
            answer["warnings"] += _skipped(here)
        return answer

    asks_connect = statement.what.startswith("CONNECTOR") or (
        statement.what == "TOPICS" and here.services.connect.is_in_use()
    )
    return Immediate(run, waits=asks_connect)


#: what a command log that was not carried out as a whole leaves incomplete
_FROM_THE_LOG = frozenset({"FUNCTIONS", "QUERIES", "STREAMS", "TABLES", "TYPES"})


def _skipped(context: StatementContext) -> list[Entity]:
    """A warning where records of the command log were skipped."""
    skipped = context.services.commands.skipped
    if not skipped:
        return []
    more = f" So were {len(skipped) - 1} more: GET /healthcheck lists them." if len(skipped) > 1 else ""
    return [{"message": f"A record of the command log was skipped: {skipped[0]}.{more}"}]
