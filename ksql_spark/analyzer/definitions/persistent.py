"""CREATE … AS SELECT and INSERT INTO … SELECT: the query and its sink (reference §2.2, §5.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.clauses import BEST_ROWS, RANKING, Refusal, check_clauses
from ksql_spark.analyzer.base.failures import failure, invalid, place, within_statement
from ksql_spark.analyzer.base.serialization import check_columns, check_wrapping
from ksql_spark.analyzer.definitions.inference import with_schema_ids
from ksql_spark.analyzer.definitions.properties import (
    Properties,
    check_topic_name,
    with_naming,
)
from ksql_spark.analyzer.definitions.sources import (
    check_free,
    check_replacement,
    check_source_name,
    effective_wrapping,
    with_past,
)
from ksql_spark.analyzer.definitions.write_rules import check_no_envelope, check_one_topic
from ksql_spark.analyzer.relations.binding import relations_of
from ksql_spark.analyzer.select.queries import Planned, bind_any, fitted, make_context
from ksql_spark.errors import KsqlError
from ksql_spark.functions.signatures import is_assignable
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.inserts import InsertSelect
from ksql_spark.grammar.statements.sinks import CreateSinkAs
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.grammar.with_properties import CREATE_AS, INSERT
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource, FormatSpec
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import (
    Aggregate,
    Expire,
    Filter,
    FlatMap,
    Node,
    Project,
    SelectKey,
    Source,
    UnionAll,
)
from ksql_spark.plan.queries import PersistentQuery, Start
from ksql_spark.plan.trees import children
from ksql_spark.schema import Schema
from ksql_spark.schema_registry import SchemaRegistry

_TTL_HINTS = {
    STREAM: "The rows of a stream stay for RETENTION_MS.",
    TABLE: "RETENTION in WINDOW says how long windows are kept.",
}

#: prefixes that a QUERY_ID must not have (reference §2.1)
RESERVED_QUERY_IDS = ("CSAS_", "CTAS_", "CST_", "INSERTQUERY_", "TRANSIENT_")


def bind_persistent(
    statement: CreateAsSelect | InsertSelect,
    metastore: MetaStore,
    config: Mapping[str, Any],
    registry: SchemaRegistry | None = None,
) -> PersistentQuery:
    """The persistent query of ``statement``, with its sink; ``registry`` is asked for *_SCHEMA_ID.

    The caller handles IF NOT EXISTS. Properties that the sink inherits from a topic (partitions, replicas)
    are None.

    Raises:
        KsqlError: the first rule that is broken, with its position.
    """
    with within_statement(statement):
        _check_clauses(statement)
        settings.check_lambdas(statement, config)
        if isinstance(statement, InsertSelect):
            return _bind_insert(statement, metastore, config)
        return _bind_create(statement, metastore, config, registry)


def _check_clauses(statement: CreateAsSelect | InsertSelect) -> None:
    query = statement.query
    what = (
        f"CREATE {statement.kind} AS SELECT"
        if isinstance(statement, CreateAsSelect)
        else "INSERT INTO ... SELECT"
    )
    refused = {"LIMIT": Refusal(f"{what} statements don't support LIMIT clause.", "The query runs forever.")}
    for clause in ("ORDER BY", "OFFSET"):
        reason = f"{what} statements don't support {clause}, because a stream never ends."
        refused[clause] = Refusal(reason, f"Use {clause} in a pull query on the result.")
    check_clauses(query, refused)


# ---- CREATE … AS SELECT -------------------------------------------------------------------------------


def _bind_create(
    statement: CreateAsSelect,
    metastore: MetaStore,
    config: Mapping[str, Any],
    registry: SchemaRegistry | None,
) -> PersistentQuery:
    check_source_name(statement, metastore)
    existing = metastore.find(statement.name)
    if existing is not None and existing.read_only and statement.or_replace:
        word = existing.kind.lower()
        raise invalid(
            f"Cannot add {word} '{statement.name}': CREATE OR REPLACE is not supported on source {word}s.",
            statement.this,
        )
    if not statement.or_replace:
        check_free(statement, existing)
    properties = Properties(statement.properties, CREATE_AS)
    _check_over(statement)
    try:
        planned = bind_any(statement.query, make_context(metastore, config), statement.name)
    except KsqlError as error:
        if error.condition == "GROUP_BY_MISSING":
            raise invalid(
                f"CREATE {statement.kind} AS SELECT statement does not support aggregate function "
                f"[{error.parameters['aggregates']}] without a GROUP BY clause.",
                statement.query,
            ) from None
        raise
    _check_kind(planned.root.kind, statement)
    _check_windowed_tables(planned, statement)
    root = _expiring(planned.root, properties)
    properties.evolve()
    sink = with_schema_ids(_sink(statement, properties, planned, config), properties, registry)
    if existing is not None:
        check_replacement(existing, sink, statement)
        sink = with_past(sink, existing)
    return PersistentQuery(
        root, sink, True, by_event_time=properties.by_event_time(), start=_start(root, properties)
    )


def is_stateless(root: Node) -> bool:
    """Whether each row comes from one record of a stream, so that a new version needs no history."""
    stateless = (Filter, FlatMap, Project, SelectKey, UnionAll)
    below = children(root)
    if isinstance(root, Source):
        return root.source.kind == STREAM
    return isinstance(root, stateless) and all(map(is_stateless, below))


def _start(root: Node, properties: Properties) -> Start:
    """Return the position at which START lets a query begin.

    Raises:
        KsqlError: as Properties.start; INVALID_STATEMENT for offsets of a query that keeps state.
    """
    start = properties.start()
    if isinstance(start, tuple) and not is_stateless(root):
        reason = "START at offsets is for queries that keep no state: this one's would lack what was before."
        hint = "START = 'earliest', or a time that is early enough, reads it first."
        raise invalid(reason, properties.node("START"), hint=hint)
    return start


def _expiring(root: Node, properties: Properties) -> Node:
    """``root`` with the rows' TTL: a part of its aggregation, where it has one over a stream."""
    ttl_ms = properties.ttl_ms()
    if ttl_ms is None:
        return root
    if root.kind != TABLE or root.window is not None:
        raise invalid(
            "TTL is for tables without a window.", properties.node("TTL"), hint=_TTL_HINTS[root.kind]
        )
    if isinstance(root, Project) and (below := _expiring_groups(root.child, ttl_ms)) is not None:
        return replace(root, child=below)
    return Expire(root, ttl_ms)


def _expiring_groups(node: Node, ttl_ms: int) -> Node | None:
    match node:
        case Aggregate() if node.child.kind == STREAM:
            return replace(node, ttl_ms=ttl_ms)
        case Filter(Aggregate() as child):  # HAVING
            below = _expiring_groups(child, ttl_ms)
            return None if below is None else replace(node, child=below)
    return None


def kind_of_result(statement: CreateSinkAs, metastore: MetaStore, config: Mapping[str, Any]) -> str:
    """STREAM or TABLE: what the query of ``statement`` makes.

    Raises:
        KsqlError: as bind_persistent.
    """
    with within_statement(statement):
        return bind_any(statement.query, make_context(metastore, config), statement.name).root.kind


def _check_kind(kind: str, statement: CreateAsSelect) -> None:
    if kind != statement.kind:
        raise invalid(
            f"Invalid result type. Your SELECT query produces a {kind}. "
            f"Please use CREATE {kind} AS SELECT statement instead.",
            statement,
        )


def _check_over(statement: CreateAsSelect) -> None:
    """Refuse a TABLE of rows with OVER, before the rules of OVER: they would not help."""
    query = statement.query
    if statement.kind != TABLE or not isinstance(query, nodes.Select) or query.qualify is not None:
        return
    for item in query.items:
        if isinstance(item, exp.Expr) and (over := item.find(nodes.WindowFunction)) is not None:
            hint = (
                BEST_ROWS
                if over.this.name in RANKING
                else f"Write CREATE STREAM {statement.name} AS SELECT …; "
                "or GROUP BY, for a TABLE with a row for each group."
            )
            raise invalid("OVER gives a row for each row, so the result is a STREAM.", over, hint=hint)


def _check_windowed_tables(planned: Planned, statement: nodes.Statement) -> None:
    selected = planned.select
    if selected.ranking is not None or (selected.grouping is not None and not selected.source.is_join):
        return  # the rows of all windows are rows of the result
    for relation in planned.select.source.relations:
        if relation.window is not None and relation.kind == TABLE:
            raise invalid(
                "KSQL does not support persistent queries on windowed tables.", relation.place,
                hint="GROUP BY or QUALIFY may, and push and pull queries; or declare the topic as a stream.",
            )  # fmt: skip


def _sink(
    statement: CreateAsSelect, properties: Properties, planned: Planned, config: Mapping[str, Any]
) -> DataSource:
    schema = properties.with_headers(planned.root.schema, statement.kind)
    window = planned.root.window
    origin = _origin(planned)
    prefix = settings.text(config, "ksql.output.topic.name.prefix") or ""
    topic = properties.get("KAFKA_TOPIC")
    if topic is not None and not topic.strip():
        raise invalid("KAFKA_TOPIC must not be empty.", properties.node("KAFKA_TOPIC"))
    if topic is None:
        topic = f"{prefix}{statement.name}"
        check_topic_name(topic, None)
    if settings.is_read_only_topic(config, topic):
        raise invalid(f"Cannot write to read-only topic: {topic}", properties.node("KAFKA_TOPIC"))
    key_format = _key_format(statement, properties, planned, schema, origin, config)
    key_format = with_naming(key_format, "KEY", config)
    value_format = with_naming(_value_format(statement, properties, schema, origin, config), "VALUE", config)
    retention = properties.get("RETENTION_MS")
    if retention is not None and statement.kind == TABLE and window is None:
        raise invalid(
            "Cannot define RETENTION_MS on an unwindowed table: its topic is compacted.",
            properties.node("RETENTION_MS"),
        )
    if retention is None and origin is not None and statement.kind == STREAM:
        retention = origin.retention_ms
    grouping = planned.select.grouping
    if grouping is not None and grouping.window is not None:
        # an inherited retention is the topic's, which only the broker knows: see statements.base.topics
        retention = None if retention is None else max(retention, grouping.window.retention_ms)
    return DataSource(
        statement.name, statement.kind, schema, topic, key_format, value_format,
        partitions=properties.get("PARTITIONS"),
        replicas=origin.replicas if origin and "REPLICAS" not in properties else properties.get("REPLICAS"),
        retention_ms=retention, timestamp=properties.timestamp(schema), window=window, is_sink=True,
        statement=statement.source_text, is_replicated=properties.replicated(statement.kind, window),
        lateness_ms=properties.lateness_ms(statement.kind),
        max_ahead_ms=properties.max_ahead_ms(statement.kind),
        history_ms=properties.history_ms(statement.kind),
    )  # fmt: skip


def _origin(planned: Planned) -> DataSource | None:
    """The leftmost source, including those in sub-queries."""
    relation = planned.left_most
    if relation.source is not None:
        return relation.source
    return left_most_source(relation.node) if relation.node is not None else None


def left_most_source(node: Node) -> DataSource | None:
    """The leftmost source of a plan, or None."""
    while not isinstance(node, Source):
        if isinstance(node, UnionAll):
            node = node.children[0]
        else:
            node = getattr(node, "left", None) or getattr(node, "child")  # noqa: B009
    return node.source


def _key_format(
    statement: CreateAsSelect, properties: Properties, planned: Planned, schema: Schema,
    origin: DataSource | None, config: Mapping[str, Any],
) -> FormatSpec:  # fmt: skip
    name, node = properties.format_name("KEY")
    inherited = replace(origin.key_format, envelope=None) if origin is not None else FormatSpec("KAFKA")
    select = planned.select
    if not schema.key:
        if (
            select.partition_by == ()
            and name not in (None, "NONE")
            and properties.node("KEY_FORMAT") is not None
        ):
            raise invalid("Key format specified for stream without key columns.", node)
        if select.partition_by == ():
            return FormatSpec("NONE")
        # keys that a later query derives will have this format
        return inherited if name is None else properties.format_spec("KEY", name, inherited)
    if name is not None:
        check_columns(name, schema.key, is_key=True, node=node)
        return properties.format_spec("KEY", name, inherited)
    name = inherited.name
    if name == "NONE":
        name = (settings.text(config, "ksql.persistence.default.format.key") or "KAFKA").upper()
    hint = "Add WITH (KEY_FORMAT = 'JSON')." if name == "KAFKA" else None
    check_columns(name, schema.key, is_key=True, node=statement, hint=hint)
    spec = properties.format_spec("KEY", name, inherited)
    return replace(spec, wrapped=inherited.wrapped if inherited.name == name else None)


def _value_format(
    statement: CreateAsSelect, properties: Properties, schema: Schema, origin: DataSource | None,
    config: Mapping[str, Any],
) -> FormatSpec:  # fmt: skip
    name, node = properties.format_name("VALUE")
    inherited = origin.value_format if origin is not None else FormatSpec("JSON")
    name = name or inherited.name
    if name == "NONE":
        raise invalid("The 'NONE' format can only be used for keys.", node)
    if not schema.value and name != "JSON":
        raise invalid(
            f"All columns are the key, and the {name} format has no value without columns.",
            node or statement,
            hint="Add WITH (VALUE_FORMAT = 'JSON').",
        )
    check_columns(name, schema.value, is_key=False, node=node or statement)
    spec = properties.format_spec("VALUE", name, inherited)
    check_wrapping(name, len(schema.value), spec.wrapped, properties.node("WRAP_SINGLE_VALUE"))
    return replace(spec, wrapped=effective_wrapping(spec, len(schema.value), config))


# ---- INSERT INTO … SELECT -----------------------------------------------------------------------------


def _bind_insert(statement: InsertSelect, metastore: MetaStore, config: Mapping[str, Any]) -> PersistentQuery:
    sink = metastore.require(statement.name, place(statement.this))
    if sink.kind != STREAM:
        raise invalid(
            f"INSERT INTO can only be used to insert into a stream. {sink.name} is a table.", statement.this
        )
    if sink.read_only:
        raise invalid(f"Cannot insert into read-only stream: {sink.name}", statement.this)
    check_no_envelope(sink, statement.this)
    if settings.is_read_only_topic(config, sink.topic):
        raise invalid(f"Cannot insert into read-only topic: {sink.topic}", statement.this)
    check_one_topic(sink, "insert into", statement.this)
    if sink.schema.headers:
        raise invalid(f"Cannot insert into {sink.name} because it has header columns", statement.this)
    properties = Properties(statement.properties, INSERT)
    query_id = _query_id(properties)
    planned = bind_any(statement.query, make_context(metastore, config), sink.name)
    _check_windowed_tables(planned, statement)
    if planned.root.kind != STREAM:
        raise invalid(
            "INSERT INTO needs a query whose result is a stream; this one's is a table.", statement.query
        )
    columns, target = planned.root.schema, sink.schema
    fits = (
        len(columns.key) == len(target.key)
        and len(columns.value) == len(target.value)
        and all(is_assignable(c.type, w.type) for c, w in zip(columns.columns, target.columns, strict=True))
    )
    if not fits:
        raise invalid(
            "Incompatible schema between results and sink.\n"
            f"Result schema is {columns}\nSink schema is {target}",
            statement.query,
        )
    names, types = [c.name for c in target.columns], [c.type for c in target.columns]
    if isinstance(planned.root, UnionAll):
        root: Node = UnionAll(tuple(fitted(c, names, types) for c in planned.root.children))
    else:
        root = fitted(planned.root, names, types)
    return PersistentQuery(root, sink, False, query_id, _start(root, properties), properties.by_event_time())


def _query_id(properties: Properties) -> str | None:
    value = properties.get("QUERY_ID")
    if value is None:
        return None
    if not re.fullmatch(r"[A-Za-z0-9_]+", value):
        raise failure(
            "PROPERTY_IN_WITH", properties.node("QUERY_ID"), name="QUERY_ID",
            reason="a query id consists of letters, digits and _",
        )  # fmt: skip
    upper = str(value).upper()
    if upper.startswith(RESERVED_QUERY_IDS):
        raise invalid(
            "Query IDs must not start with a reserved query ID prefix "
            f"({', '.join(RESERVED_QUERY_IDS)}). Got '{upper}'.",
            properties.node("QUERY_ID"),
        )
    return upper


__all__ = ["bind_persistent", "relations_of"]
