"""Bound plans and rows as text, one line per node, for comparison in tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ksql_spark.analyzer import BoundInsert
from ksql_spark.metastore.sources import DataSource, FormatSpec, Windowing
from ksql_spark.plan.clauses import WindowSpec
from ksql_spark.plan.nodes import (
    Aggregate,
    BatchJoin,
    BatchOver,
    Deduplicate,
    Distinct,
    Expire,
    Filter,
    FirstWithin,
    FlatMap,
    Join,
    Limit,
    MatchRecognize,
    Node,
    Over,
    Project,
    SelectKey,
    SetOperation,
    Sort,
    Source,
    TopN,
    UnionAll,
    Values,
)
from ksql_spark.plan.queries import Feed, Job, Lookup, PersistentQuery
from ksql_spark.plan.trees import children, relations, sub_queries


def text(bound: Any) -> str:
    """The text of what one of the analyzer's functions returned."""
    match bound:
        case DataSource():
            return "\n".join(_source(bound))
        case PersistentQuery():
            query_id = [f"query id {bound.query_id}"] if bound.query_id else []
            sink = _source(bound.sink) if bound.creates_sink else [f"INTO {bound.sink.name}"]
            start = [f"start {bound.start}"] if bound.start is not None else []
            return "\n".join([*sink, *query_id, *start, *_node(bound.root, 0)])
        case Feed():
            limit = f" LIMIT {bound.limit}" if bound.limit is not None else ""
            return "\n".join([f"OUTPUT {_list(bound.output)}{limit}", *_node(bound.root, 0)])
        case Lookup():
            return "\n".join(_pull(bound))
        case Job():
            return "\n".join(_batch(bound))
        case BoundInsert():
            rows = [[f"{name} = {value}" for name, value in row.values] for row in bound.rows]
            returning = [f"RETURNING {_list(name for name, _ in bound.returning)}"] if bound.returning else []
            return "\n".join("\n".join(lines) for lines in (*rows, returning) if lines)
    raise TypeError(f"no text for {bound!r}")


def _list(items: Any) -> str:
    return ", ".join(map(str, items))


def _format(spec: FormatSpec) -> str:
    settings = {k: v for k, v in vars(spec).items() if k != "name" and v is not None}
    return spec.name + (f" {settings}" if settings else "")


def _without_defaults(window: WindowSpec | Windowing) -> str:
    return re.sub(r", (calendar|step)=None", "", str(window))


def _source(source: DataSource) -> Iterator[str]:
    words = [w for w, on in (("READ ONLY", source.read_only), ("SINK", source.is_sink)) if on]
    yield " ".join([source.kind, source.name, *words])
    yield f"  columns {source.schema}"
    yield f"  topic {source.topic}, key {_format(source.key_format)}, value {_format(source.value_format)}"
    others = ("partitions", "replicas", "retention_ms", "timestamp", "window", "lateness_ms")
    values = {name: getattr(source, name) for name in others}
    if source.window is not None:
        values["window"] = _without_defaults(source.window)
    properties = [f"{name} {value}" for name, value in values.items() if value is not None]
    if properties:
        yield f"  {', '.join(properties)}"
    for constraint in source.constraints:
        yield f"  constraint {constraint.text}: {constraint.predicate}"


def _pull(query: Lookup) -> Iterator[str]:
    keys = " KEYS " + ", ".join(sorted(query.key_names)) if query.key_names else ""
    yield f"PULL {_list(query.items)} FROM {query.source.name}{keys}"
    if query.lookups is None:
        yield "  scan"
    for lookup in query.lookups or ():
        yield f"  lookup {_list(lookup.values)}"
    if query.predicate is not None:
        yield f"  where {query.predicate}"
    for name in ("limit", "offset"):
        if getattr(query, name) is not None:
            yield f"  {name} {getattr(query, name)}"


def _batch(query: Job) -> Iterator[str]:
    keys = " KEYS " + ", ".join(sorted(query.key_names)) if query.key_names else ""
    yield f"BATCH {_list(query.root.schema.columns)}{keys}"
    for relation, lookups in zip(relations(query.root), query.lookups, strict=True):
        for lookup in lookups or ():
            yield f"  lookup {relation.alias} {_list(lookup.values)}"
    yield from _node(query.root, 0)


def _node(node: Node, depth: int) -> Iterator[str]:
    yield "  " * depth + _line(node)
    for child in children(node):
        yield from _node(child, depth + 1)
    for sub_query in sub_queries(node):
        yield f"{'  ' * (depth + 1)}{sub_query}"
        yield from _node(sub_query.root, depth + 2)


def _line(node: Node) -> str:
    match node:
        case Source(source, alias, prefixed, exposed):
            name = source.name if alias == source.name else f"{source.name} {alias}"
            hidden = f" with {_list(exposed)}" if exposed else ""
            return f"Source {name}{' prefixed' if prefixed else ''}{hidden}"
        case Filter(_, predicate):
            return f"Filter {predicate}"
        case Deduplicate(_, keys, within_ms):
            return f"Deduplicate {_list(keys)}{'' if within_ms is None else f' within {within_ms} ms'}"
        case Over(_, keys, calls, within_ms):
            within = "" if within_ms is None else f" within {within_ms} ms"
            return f"Over {_list(keys)}: {_list(calls)}{within}"
        case MatchRecognize(_, keys, pattern):
            skip = f"{pattern.skip} {pattern.skip_to or ''}".strip()
            how = (
                f"{'all rows' if pattern.all_rows else 'one row'}, skip {skip}, within {pattern.within_ms} ms"
            )
            parts = [f"row {_list(pattern.row)}", f"values {_list(v.text for v in pattern.values)}"]
            parts += [f"aggregates {_list(a.text for a in pattern.aggregates)}"] if pattern.aggregates else []
            parts += [f"previous {_list(p.text for p in pattern.previous)}"] if pattern.previous else []
            parts += [f"define {_list(pattern.definitions)}"] if pattern.definitions else []
            return f"MatchRecognize ({pattern.text}) by {_list(keys)} {how}: {'; '.join(parts)}"
        case TopN(_, by, order, count, rank, limit):
            limit = "" if limit == "ROW_NUMBER" else f" {limit}"
            return f"TopN {count}{limit} by {_list(by)} order {_list(order)}{' rank ' * bool(rank)}{rank}"
        case SelectKey(_, keys):
            return f"SelectKey {_list(keys) or 'none'}"
        case Join():
            within = f" {node.within}" if node.within else ""
            on = f"{node.left_key} = {node.right_key}"
            key = f" as {node.key_name}" if node.key_name else ""
            grace = "" if node.grace_ms is None else f" grace {node.grace_ms} ms"
            rest = "" if node.residual is None else f" and {node.residual}"
            first = " table first" * node.is_loaded_first
            return f"Join {node.join} {node.type} on {on}{rest}{key}{within}{grace}{first}"
        case FlatMap(_, functions):
            return f"FlatMap {_list(functions)}"
        case Aggregate():
            window = f" {_without_defaults(node.window_spec)}" if node.window_spec else ""
            final = " FINAL" if node.emit_final else ""
            ttl = f" ttl {node.ttl_ms} ms" if node.ttl_ms is not None else ""
            every = f" every {node.every_ms} ms" if node.every_ms is not None else ""
            return (
                f"Aggregate by [{_list(node.group_by)}] {_list(node.aggregates)}{window}{final}{ttl}{every}"
            )
        case Expire(_, ttl_ms):
            return f"Expire ttl {ttl_ms} ms"
        case Project(_, keys, values):
            return f"Project key [{_list(keys)}] value [{_list(values)}]"
        case SetOperation(_, _, operator):
            return f"SetOperation {operator}"
        case UnionAll() | Distinct():
            return type(node).__name__
        case BatchJoin(_, _, join, condition):
            given = ", ".join(f"{parameter} := {value}" for parameter, value in node.parameters)
            return f"BatchJoin {join} on {condition}{f' with {given}' if given else ''}"
        case FirstWithin(_, keys, within_ms=within_ms):
            return f"FirstWithin {_list(keys)} {within_ms} ms"
        case BatchOver(_, keys, order, calls):
            return f"BatchOver {_list(calls)} by {_list(keys)} in order of {_list(order)}"
        case Sort(_, by):
            return f"Sort {_list(by)}"
        case Values(columns, rows):
            return f"Values {len(rows)} rows of [{_list(columns)}]"
        case Limit(_, limit, offset):
            return f"Limit {limit} from {offset}"
    raise TypeError(f"no line for {node!r}")
