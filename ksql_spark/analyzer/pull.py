"""Pull queries: SELECT without EMIT on a materialised table or on a stream (reference §2.5).

The predicate always holds the whole WHERE; the lookups only say which keys can be in it at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from sqlglot import exp

import ksql_spark
from grammar import nodes
from ksql_spark.analyzer import settings
from ksql_spark.analyzer.expressions import bind_expression, bind_predicate, dereference
from ksql_spark.analyzer.failures import failure, invalid, place, within_statement
from ksql_spark.analyzer.naming import Names, check_unique, reserved_alias
from ksql_spark.analyzer.scope import Leaf, Scope
from ksql_spark.expressions import Call, Cast, ColumnRef, Expression, Literal, columns_in, walk
from ksql_spark.logical.nodes import KeyLookup, Named, PullQuery
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import PSEUDO_COLUMNS, RESERVED_COLUMNS, ROWTIME, WINDOW_BOUNDS, Column
from ksql_spark.types import BYTES, STRING, Null, Struct, is_numeric

PUSH_HINT = "Add EMIT CHANGES if you intended to issue a push query."
#: more keys than this are read by a scan
MAX_LOOKUPS = 1000


def bind_pull(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> PullQuery:
    """The pull query of a SELECT without EMIT.

    Raises:
        KsqlError: a clause that pull queries lack, a table that is not materialised, or as bind_expression.
    """
    with within_statement(query):
        return _bind(query, metastore, config)


def _bind(query: nodes.QueryNode, metastore: MetaStore, config: Mapping[str, Any]) -> PullQuery:
    if not isinstance(query, nodes.Select) or query.ctes:
        raise _later("UNION ALL" if isinstance(query, nodes.Union) else "WITH", query)
    if not settings.flag(config, "ksql.pull.queries.enable"):
        raise invalid("Pull queries are disabled.", query, hint=PUSH_HINT)
    relation = _check_clauses(query)
    source = metastore.require(relation.source_name, place(relation))
    _check_queryable(source, relation, config)
    _check_limit(query, config)
    hidden = {ROWTIME: PSEUDO_COLUMNS[ROWTIME]} | (WINDOW_BOUNDS if source.window else {})
    leaf = Leaf(relation.alias_name, source.schema, source.kind, source.window, hidden=hidden, source=source)
    scope = Scope((leaf,), types=metastore.types())
    names = Names(c.name for c in source.schema.columns)
    items, key_names = _items(query, scope, source, names)
    predicate = lookups = None
    if query.where is not None:
        predicate = bind_predicate(query.where, _no_disk_columns(scope, "WHERE"))
        _check_key_literals(predicate, source, query.where)
        if source.is_table:
            lookups = find_lookups(predicate, source)
    if source.is_table and lookups is None:
        _check_scan(predicate, source, query, config)
    order_by = tuple(
        (bind_expression(o.this, scope.at("ORDER BY")), bool(o.descending)) for o in query.order_by
    )
    return PullQuery(
        source, lookups, predicate, tuple(items), frozenset(key_names), query.limit, query.offset, order_by,
        bool(query.distinct),
    )  # fmt: skip


def _later(clause: str, node: exp.Expr) -> Exception:
    return failure(
        "NOT_DONE_YET", node, what=f"{clause} in a pull query", version=ksql_spark.__version__, hint=PUSH_HINT
    )


def _check_clauses(query: nodes.Select) -> nodes.AliasedSource:
    if isinstance(query.relation, nodes.Join):
        raise _later("JOIN", query.relation)
    if not isinstance(query.relation, nodes.AliasedSource):
        raise _later("A sub-query", query.relation)
    if query.group_by:
        raise _later("GROUP BY", query.group_by[0])
    for given, clause in (
        (query.window, "WINDOW"), (query.partition_by, "PARTITION BY"), (query.having, "HAVING"),
    ):  # fmt: skip
        if given:
            raise invalid(f"Pull queries don't support {clause} clauses.", query, hint=PUSH_HINT)
    return query.relation


def _check_queryable(source: DataSource, node: exp.Expr, config: Mapping[str, Any]) -> None:
    if not source.is_table:
        if not settings.flag(config, "ksql.query.pull.stream.enabled"):
            raise invalid("Pull queries on streams are disabled.", node, hint=PUSH_HINT)
        return
    is_materialised = source.is_sink or (
        source.read_only and settings.flag(config, "ksql.source.table.materialization.enabled")
    )
    if not is_materialised:
        raise invalid(
            f"The `{source.name}` table isn't queryable. To derive a queryable table, you can do "
            f"'CREATE TABLE QUERYABLE_{source.name} AS SELECT * FROM {source.name}'.",
            node,
            hint=PUSH_HINT,
        )


def _check_limit(query: nodes.Select, config: Mapping[str, Any]) -> None:
    if query.limit is None:
        return
    if not settings.flag(config, "ksql.query.pull.limit.clause.enabled"):
        raise invalid(
            "LIMIT clause in pull queries is currently disabled. You can enable them by setting "
            "ksql.query.pull.limit.clause.enabled=true.",
            query,
            hint=PUSH_HINT,
        )
    if query.limit < 0:
        raise invalid(
            f"Pull queries don't support negative integers in the LIMIT clause: {query.limit}.", query
        )


# ---- SELECT -------------------------------------------------------------------------------------------


def _no_disk_columns(scope: Scope, clause: str) -> Scope:
    """``scope`` where the columns that only records in topics have are refused by name."""
    message = {
        name: f"Pull queries don't support the following columns in {clause} clauses: `{name}`."
        for name in PSEUDO_COLUMNS
        if name != ROWTIME
    }
    return replace(scope.at(clause), forbidden=message)


def _no_aggregates(node: nodes.FunctionCall, _: Scope) -> Expression:
    raise _later(f"The aggregate function {node.name}", node)


def _items(
    query: nodes.Select, scope: Scope, source: DataSource, names: Names
) -> tuple[list[Named], list[str]]:
    select = replace(_no_disk_columns(scope, "SELECT"), aggregate=_no_aggregates)
    keys = {c.name for c in source.schema.key} | (set(WINDOW_BOUNDS) if source.window else set())
    items: list[Named] = []
    places: list[exp.Expr] = []
    for node in query.items:
        match node:
            case nodes.AllColumns():
                if node.source_name is not None:
                    scope.leaf(node.source_name, node)
                items += (Named(c.name, ColumnRef(c.name, c.type)) for c in _star(source))
            case nodes.AllFields():
                operand = bind_expression(node.this, select)
                if not isinstance(operand.type, Struct):
                    raise invalid(f"->* needs a STRUCT, got {operand} ({operand.type}).", node)
                fields = [dereference(operand, f.name, node) for f in operand.type.fields]
                items += (Named(names.field(f.field), f) for f in fields)
            case nodes.SelectItem():
                bound = bind_expression(node.this, select)
                if isinstance(bound.type, Null):
                    raise invalid("Can't infer a type of null.", node, hint="Use CAST(NULL AS ...).")
                items.append(Named(_item_name(node, bound, names), bound))
        places += [node] * (len(items) - len(places))
    check_unique([i.name for i in items], places)
    flagged = (i for i in items if isinstance(i.expression, ColumnRef) and i.expression.name in keys)
    return items, [i.name for i in flagged] if source.is_table else []


def _star(source: DataSource) -> list[Column]:
    columns = list(source.schema.columns)
    if source.window is not None:
        at = len(source.schema.key)
        columns[at:at] = [Column(name, type_) for name, type_ in WINDOW_BOUNDS.items()]
    return columns


def _item_name(node: nodes.SelectItem, bound: Expression, names: Names) -> str:
    alias = node.alias_name
    if alias is not None:
        if alias in RESERVED_COLUMNS and not (isinstance(bound, ColumnRef) and bound.name == alias):
            raise reserved_alias(alias, node)
        return alias
    if isinstance(bound, ColumnRef):
        return bound.name
    if isinstance(node.this, nodes.Dereference):
        return names.field(node.this.field_name)
    return names.generated()


# ---- WHERE --------------------------------------------------------------------------------------------


def find_lookups(predicate: Expression, source: DataSource) -> tuple[KeyLookup, ...] | None:
    """The keys that rows fulfilling ``predicate`` can have; None where they cannot be listed.

    Args:
        predicate: the bound WHERE.
        source: the table.
    """
    keys = [c.name for c in source.schema.key]
    found: list[KeyLookup] = []
    for alternative in _alternatives(predicate, frozenset(keys)):
        if any(k not in alternative for k in keys):
            return None
        for values in product(*(alternative[k] for k in keys)):
            lookup = KeyLookup(tuple(values))
            if lookup not in found:
                found.append(lookup)
            if len(found) > MAX_LOOKUPS:
                return None
    return tuple(found) if keys else None


#: key column -> the values it may have
_Alternative = dict[str, tuple[Expression, ...]]


def _alternatives(node: Expression, keys: frozenset[str]) -> list[_Alternative]:
    """``node`` as alternatives (ORs), each with what it says about the key columns."""
    match node:
        case Call("OR", (left, right), _):
            return [*_alternatives(left, keys), *_alternatives(right, keys)]
        case Call("AND", (left, right), _):
            pairs = product(_alternatives(left, keys), _alternatives(right, keys))
            merged = [{**b, **a} for a, b in pairs]
            return merged if len(merged) <= MAX_LOOKUPS else [{}]
        case Call("=", (left, right), _):
            for side, other in ((left, right), (right, left)):
                if isinstance(side, ColumnRef) and side.name in keys and not columns_in(other):
                    return [{side.name: (other,)}]
        case Call("IN", (ColumnRef(name, _), *members), _) if name in keys:
            if not any(columns_in(m) for m in members):
                return [{name: tuple(members)}]
    return [{}]


def _check_key_literals(predicate: Expression, source: DataSource, node: exp.Expr) -> None:
    """A text in an IN list is no number key (reference §2.5: strict coercion)."""
    keys = {c.name: c for c in source.schema.key}
    for part in walk(predicate):
        match part:
            case Call("IN", (ColumnRef(name, _), *members), _) if name in keys:
                for member in members:
                    match member:
                        case Cast(Literal(value, given), wanted) if given == STRING and is_numeric(wanted):
                            raise invalid(
                                f"'{value}' can not be converted to the type of the key column: "
                                f"{name} {keys[name].type} KEY",
                                node,
                            )


_RANGES = frozenset({"<", "<=", ">", ">=", "BETWEEN"})


def _check_scan(
    predicate: Expression | None, source: DataSource, query: nodes.Select, config: Mapping[str, Any]
) -> None:
    """Scans may be turned off by configuration (reference §2.5)."""
    if settings.flag(config, "ksql.query.pull.table.scan.enabled"):
        return
    hint = "ksql.query.pull.table.scan.enabled=true allows it."
    if predicate is None:
        raise invalid("Query requires table scan to be enabled.", query, hint=hint)
    keys = frozenset(c.name for c in source.schema.key)
    for alternative in _disjuncts(predicate):
        conditions = list(_conjuncts(alternative))
        said = {k for c in conditions for a in _alternatives(c, keys) for k in a}
        if keys <= said:
            continue
        touched = {k for c in conditions for k in columns_in(c) & keys}
        if not touched:
            raise invalid(
                f"WHERE clause missing key column for disjunct: {alternative}", query.where, hint=hint
            )
        ranged = [
            c for c in conditions if isinstance(c, Call) and c.function in _RANGES and columns_in(c) & keys
        ]
        if len(keys) > 1:
            if touched == keys:
                raise invalid("Query requires table scan to be enabled.", query.where, hint=hint)
            raise invalid(
                "Multi-column sources must specify every key in the WHERE clause. "
                f"Specified: {sorted(touched)} Expected: {sorted(keys)}.", query.where, hint=hint,
            )  # fmt: skip
        key = source.schema.key[0]
        if len(ranged) > 1 or (ranged and len(ranged) < len(conditions) and said):
            raise invalid(
                "A comparison condition on the key column cannot be combined with other comparisons such as "
                "an IN predicate.", query.where, hint=hint,
            )  # fmt: skip
        if (
            ranged
            and key.type in (STRING, BYTES)
            and settings.flag(config, "ksql.query.pull.range.scan.enabled")
        ):
            continue
        if not ranged and not any(_is_direct(c, keys) for c in conditions):
            raise invalid("A comparison must directly reference a key column.", query.where, hint=hint)
        if not ranged:
            raise invalid(
                "A comparison must be between a key column and a resolvable expression.",
                query.where,
                hint=hint,
            )
        raise invalid("Query requires table scan to be enabled.", query.where, hint=hint)


def _is_direct(node: Expression, keys: frozenset[str]) -> bool:
    return isinstance(node, Call) and any(isinstance(a, ColumnRef) and a.name in keys for a in node.arguments)


def _disjuncts(node: Expression) -> list[Expression]:
    if isinstance(node, Call) and node.function == "OR":
        return [d for a in node.arguments for d in _disjuncts(a)]
    return [node]


def _conjuncts(node: Expression) -> list[Expression]:
    if isinstance(node, Call) and node.function == "AND":
        return [c for a in node.arguments for c in _conjuncts(a)]
    return [node]
