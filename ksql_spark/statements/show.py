"""SHOW and LIST (reference §2.10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from grammar.statements.show import Show
from ksql_spark.config import find
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Kind
from ksql_spark.metastore.sources import STREAM, TABLE
from ksql_spark.statements.connectors import show_connectors, show_plugins
from ksql_spark.statements.describe import query_description, source_description
from ksql_spark.statements.entities import entity, query_row, source_row, type_json
from ksql_spark.statements.scope import Action, Entity, Immediate, Scope


def _sources(statement: Show, scope: Scope, kind: str) -> Entity:
    sources = [s for s in scope.services.metastore.sources() if s.kind == kind]
    if statement.extended:
        described = [source_description(s, scope.services, extended=True) for s in sources]
        return entity("source_descriptions", statement.source_text, sourceDescriptions=described)
    plural = "streams" if kind == STREAM else "tables"
    return entity(plural, statement.source_text, **{plural: [source_row(s) for s in sources]})


def _streams(statement: Show, scope: Scope) -> Entity:
    return _sources(statement, scope, STREAM)


def _tables(statement: Show, scope: Scope) -> Entity:
    return _sources(statement, scope, TABLE)


def _topics(statement: Show, scope: Scope) -> Entity:
    hidden = list(scope.config["ksql.hidden.topics"])
    topics = [
        t
        for t in scope.services.admin.topics().values()
        if statement.all or not any(re.fullmatch(p, t.name) for p in hidden)
    ]
    rows: list[Entity] = [{"name": t.name, "replicaInfo": list(t.replicas)} for t in topics]
    if not statement.extended:
        return entity("kafka_topics", statement.source_text, topics=rows)
    consumers = scope.services.admin.consumers()
    for row in rows:
        found = consumers.get(row["name"])
        row["consumerCount"] = found.consumers if found else 0
        row["consumerGroupCount"] = found.groups if found else 0
    return entity("kafka_topics_extended", statement.source_text, topics=rows)


def _queries(statement: Show, scope: Scope) -> Entity:
    queries = scope.services.queries.all()
    if statement.extended:
        described = [query_description(q, scope.services) for q in queries]
        return entity("query_descriptions", statement.source_text, queryDescriptions=described)
    return entity("queries", statement.source_text, queries=[query_row(q) for q in queries])


def _properties(statement: Show, scope: Scope) -> Entity:
    config = scope.config
    rows = []
    for name in config:
        entry = find(name)
        rows.append(
            {
                "name": name,
                "scope": "KSQL",
                "value": config.text(name),
                "editable": entry.editable,
                "level": "QUERY" if entry.scope == "query" else "SERVER",
            }
        )
    return entity(
        "properties",
        statement.source_text,
        properties=rows,
        overwrittenProperties=sorted(scope.properties),
        defaultProperties=[name for name in config if not config.is_set(name)],
    )


def _functions(statement: Show, scope: Scope) -> Entity:
    specs = [s for s in registry.all_specs() if s.kind is not Kind.OPERATOR]
    rows = [{"name": s.name, "type": s.kind.value, "category": s.category} for s in specs]
    return entity("function_names", statement.source_text, functions=rows)


def _types(statement: Show, scope: Scope) -> Entity:
    types = {name: type_json(t) for name, t in sorted(scope.services.metastore.types().items())}
    return entity("type_list", statement.source_text, types=types)


def _variables(statement: Show, scope: Scope) -> Entity:
    rows = [{"name": name, "value": value} for name, value in sorted(scope.variables.items())]
    return entity("variables", statement.source_text, variables=rows)


#: what is shown -> how
SHOWN: Mapping[str, Callable[[Show, Scope], Entity]] = {
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


def show(statement: Show, scope: Scope) -> Action:
    """Any SHOW; what is listed is read when it is carried out, properties and variables are those of here."""
    shown = SHOWN[statement.what]
    here = scope.snapshot()
    return Immediate(lambda: shown(statement, here), waits=statement.what.startswith("CONNECTOR"))
