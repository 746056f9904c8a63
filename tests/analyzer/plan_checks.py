"""What holds for every logical plan: names are unique, references name what is below, with its type."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args

from ksql_spark.expressions import Call, Expression, Lambda, Literal, walk
from ksql_spark.expressions import ColumnRef as Reference
from ksql_spark.functions import registry
from ksql_spark.plan.nodes import (
    FOREIGN_KEY,
    REPLICATED,
    Aggregate,
    BatchJoin,
    Deduplicate,
    Filter,
    FlatMap,
    Join,
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
from ksql_spark.plan.trees import relations
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME, WINDOW_BOUNDS
from ksql_spark.types import BOOLEAN, Null, SqlType


def problems(bound: object) -> list[str]:
    """What is wrong with the plan of a bound query; empty for other things."""
    match bound:
        case PersistentQuery():
            return [*_node(bound.root), *_sink(bound)]
        case Feed():
            names = available(bound.root)
            lost = [c for c in bound.output if names.get(c.name) != c.type]
            return [*_node(bound.root), *(f"output {c} is not there" for c in lost)]
        case Lookup():
            names = {c.name: c.type for c in bound.source.schema.columns} | {ROWTIME: PSEUDO_COLUMNS[ROWTIME]}
            names |= WINDOW_BOUNDS if bound.source.window else {}
            expressions = [i.expression for i in bound.items]
            if bound.predicate is not None:
                expressions.append(bound.predicate)
            return [p for e in expressions for p in _expression(e, names)]
        case Job(root, lookups, indexes):
            fits = len(lookups) == len(indexes) == len(relations(root))
            return [*_node(root), *([] if fits else ["look-ups and sources differ in number"])]
    return []


def _sink(query: PersistentQuery) -> Iterator[str]:
    columns, target = query.root.schema, query.sink.schema
    if [c.type for c in columns.columns] != [c.type for c in target.columns]:
        yield f"{columns} does not fit the sink's {target}"
    if query.creates_sink and (query.root.kind, query.root.window) != (query.sink.kind, query.sink.window):
        yield "kind or window differ from the sink's"


def available(node: Node) -> dict[str, SqlType]:
    """The columns of a relation, its hidden ones too."""
    names: dict[str, SqlType] = {ROWTIME: PSEUDO_COLUMNS[ROWTIME]}
    if _is_of_one_source(node):
        names |= PSEUDO_COLUMNS
    if node.window is not None:
        names |= WINDOW_BOUNDS
    return names | {c.name: c.type for c in node.schema.columns}


def _is_of_one_source(node: Node) -> bool:
    match node:
        case Source():
            return True
        case Filter() | Deduplicate() | Over() | TopN() | SelectKey() | FlatMap() | Project():
            return _is_of_one_source(node.child)
    return False


def _node(node: Node) -> Iterator[str]:
    names = [c.name for c in node.schema.columns]
    for name in set(names):
        if names.count(name) > 1:
            yield f"{type(node).__name__} has two columns {name}"
    match node:
        case Source() | Values():
            return
        case Join():
            yield from _node(node.left)
            yield from _node(node.right)
            yield from _expression(node.left_key, available(node.left))
            yield from _expression(node.right_key, available(node.right))
            both = {c.name for side in (node.left, node.right) for c in side.schema.columns}
            if (
                node.type not in (FOREIGN_KEY, REPLICATED)
                and not node.key_name.startswith("ROWKEY")
                and node.key_name not in both
            ):
                yield f"the join's key {node.key_name} is not a column"
            if node.left_key.type != node.right_key.type:
                yield "the join's keys differ in type"
            return
        case BatchJoin():
            yield from _node(node.left)
            yield from _node(node.right)
            yield from _expression(node.condition, available(node.left) | available(node.right))
            return
        case SetOperation(left, right):
            yield from _node(left)
            yield from _node(right)
            pairs = zip(left.schema.columns, right.schema.columns, strict=True)
            if any((a.name, a.type) != (b.name, b.type) for a, b in pairs):
                yield f"{left.schema} is not {right.schema}"
            return
        case UnionAll():
            for child in node.children:
                yield from _node(child)
                if child.schema != node.schema:
                    yield f"{child.schema} is not {node.schema}"
            return
    yield from _node(node.child)
    below = available(node.child)
    match node:
        case Filter():
            yield from _expression(node.predicate, below)
            if node.predicate.type != BOOLEAN:
                yield f"{node.predicate} is not a condition"
        case Deduplicate():
            for part in node.keys:
                yield from _expression(part, below)
        case Over():
            arguments = (argument for framed in node.calls for argument in framed.call.inputs)
            for part in (*node.keys, *arguments):
                yield from _expression(part, below)
        case MatchRecognize():
            pattern = node.pattern
            calls = (argument for a in pattern.aggregates for argument in a.call.inputs)
            for part in (*node.keys, *(r.expression for r in pattern.row), *calls):
                yield from _expression(part, below)
            rows = {r.name: r.expression.type for r in pattern.row}
            rows |= {p.name: p.type for p in pattern.previous}
            for value in pattern.values:
                if value.argument is not None:
                    yield from _expression(value.argument, rows)
            for definition in pattern.definitions:
                yield from _expression(
                    definition.expression, rows | {c.name: c.type for c in pattern.columns}
                )
        case TopN():
            for part in (*(k.expression for k in node.keys), *(o.expression for o in node.order)):
                yield from _expression(part, below)
        case SelectKey():
            for key in node.keys:
                yield from _expression(key.expression, below)
        case FlatMap():
            for function in node.functions:
                yield from _expression(function.expression, below)
        case Sort():
            for sorted_by in node.by:
                yield from _expression(sorted_by.expression, below)
        case Project():
            for item in (*node.keys, *node.values):
                yield from _expression(item.expression, below)
        case Aggregate():
            for group in node.group_by:
                yield from _expression(group.expression, below)
            for call in node.aggregates:
                for argument in call.arguments:
                    yield from _expression(argument, below)


def _expression(node: Expression, names: dict[str, SqlType]) -> Iterator[str]:
    for part in walk(node):
        match part:
            case Reference(name, type_):
                if names.get(name) != type_:
                    yield f"{name} {type_} is not in {sorted(names)}"
            case Call(function, arguments, type_):
                literals = [a.value if isinstance(a, Literal) else None for a in arguments]
                types = [a.type for a in arguments]
                if any(isinstance(t, Null) for t in types) or any(isinstance(a, Lambda) for a in arguments):
                    continue
                overload = registry.resolve(function, types, literals)
                if (overload.parameter_types, overload.result_type) != (tuple(types), type_):
                    yield f"{part} is {type_}, its arguments give {overload.result_type}"


def expressions_of(part: Any) -> Iterator[Expression]:
    """The expressions of a plan that are not inside another one."""
    if isinstance(part, get_args(Expression)):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from expressions_of(item)
    elif dataclasses.is_dataclass(part) and type(part).__module__.startswith("ksql_spark.plan"):
        for field in dataclasses.fields(part):
            yield from expressions_of(getattr(part, field.name))
