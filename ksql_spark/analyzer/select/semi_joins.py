"""EXISTS and IN (SELECT …) in WHERE: semi joins and anti joins (reference §2.7; beyond ksqlDB).

They become joins that the engine has. A streaming query joins a table by its primary key, so a row has at
most one partner: a semi join is an INNER join, an anti join a LEFT join whose rows must lack a partner.
Of a stream, the partners within a time count: a semi join gives a row when the first of them comes, an anti
join when none can come any more. Neither adds a column to the result.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from ksql_spark.analyzer.base.clauses import Refusal, check_clauses
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.base.naming import Names
from ksql_spark.analyzer.base.scope import BoundRelation, Scope
from ksql_spark.analyzer.expressions.binding import bind_expression, bind_predicate
from ksql_spark.analyzer.expressions.calls import call, compare
from ksql_spark.analyzer.relations.binding import Condition, Context, From, copy_hint, source_relation
from ksql_spark.analyzer.relations.joins import check_partitions, conjuncts, show
from ksql_spark.analyzer.select.select_items import bind_items
from ksql_spark.expressions import Call, ColumnRef, Expression, Literal, columns_in, transform
from ksql_spark.grammar import nodes
from ksql_spark.metastore.sources import TABLE
from ksql_spark.plan.clauses import NamedExpression, WithinSpec
from ksql_spark.plan.nodes import (
    FOREIGN_KEY,
    REPLICATED,
    SEMI,
    STREAM_STREAM,
    STREAM_TABLE,
    TABLE_TABLE,
    Filter,
    Join,
    Node,
    Project,
    SelectKey,
    Source,
)
from ksql_spark.schema import ROWTIME
from ksql_spark.types import BIGINT, BOOLEAN

_FORM = "EXISTS and IN take SELECT … FROM one table WHERE …"
_REFUSED = {
    clause: Refusal(f"{_FORM}, without {clause}.")
    for clause in (
        "WITH", "DISTINCT ON", "WINDOW", "GROUP BY", "PARTITION BY", "HAVING", "QUALIFY", "ORDER BY", "EMIT",
        "LIMIT", "OFFSET",
    )
}  # fmt: skip


@dataclass(frozen=True)
class Inner(BoundRelation):
    """The relation of a sub-query, whose columns get names of their own."""

    prefix: str = ""

    def internal(self, name: str) -> str:
        """The unique name of the column ``name``."""
        return f"{self.prefix}{name}"

    @property
    def names(self) -> set[str]:
        """The unique names of its columns."""
        return {self.internal(name) for name in (*(c.name for c in self.schema.columns), *self.hidden)}

    def values(self, used: Set[str]) -> list[NamedExpression]:
        """Its columns beside the key whose unique names are ``used``."""
        columns = {c.name: c.type for c in self.schema.value} | dict(self.hidden)
        return [
            NamedExpression(self.internal(name), ColumnRef(name, type_))
            for name, type_ in columns.items()
            if self.internal(name) in used
        ]


@dataclass(frozen=True)
class SemiJoin:
    """A semi join or anti join with a table by its primary key, or with a stream.

    Args:
        left_key: the expression over the rows of FROM that is compared with the right key.
        right: the table or stream: its key and the columns that the condition needs.
        right_key: the table's key, or a column of the stream.
        is_replicated: every task has the table.
        is_anti: rows without a partner pass, instead of those with one.
        predicate: a condition on the joined row, or None if there is no other.
        within: the time of a stream's partners.
        residual: the other conditions on these, or None.
    """

    left_key: Expression
    right: Node
    right_key: ColumnRef
    is_replicated: bool
    is_anti: bool
    predicate: Expression | None
    within: WithinSpec | None = None
    residual: Expression | None = None

    def build(self, child: Node) -> Node:
        """The plan over ``child``, with its key."""
        predicate, residual = self.predicate, self.residual
        if any(ROWTIME in columns_in(part) for part in (predicate, residual) if part is not None):
            # the joined row may have another time
            time = NamedExpression(f"KSQL_ROWTIME_{self.right_key.name}", ColumnRef(ROWTIME, BIGINT))
            keys, values = (
                [NamedExpression(c.name, ColumnRef(c.name, c.type)) for c in columns]
                for columns in (child.schema.key, child.schema.value)
            )
            child = Project(child, tuple(keys), (*values, time))
            predicate, residual = (_with_time(part, time.name) for part in (predicate, residual))
        key = child.schema.key
        is_key = len(key) == 1 and self.left_key == ColumnRef(key[0].name, key[0].type)
        kind = "LEFT" if self.is_anti else "INNER"
        if child.kind == TABLE:
            type_ = TABLE_TABLE if is_key else FOREIGN_KEY
        elif self.within is not None:
            type_, kind = STREAM_STREAM, "LEFT" if self.is_anti else SEMI
        else:
            type_ = REPLICATED if self.is_replicated else STREAM_TABLE
        name = "" if type_ in (FOREIGN_KEY, REPLICATED) else key[0].name if is_key else self.right_key.name
        node: Node = Join(
            child, self.right, type_, kind, self.left_key, self.right_key, name, self.within,
            residual=residual,
        )  # fmt: skip
        if predicate is not None:
            node = Filter(node, predicate)
        if type_ in (STREAM_TABLE, STREAM_STREAM) and not is_key:
            node = SelectKey(node, tuple(NamedExpression(c.name, ColumnRef(c.name, c.type)) for c in key))
        return node


def _with_time(part: Expression | None, name: str) -> Expression | None:
    """``part`` with the column ``name`` instead of ROWTIME."""
    if part is None:
        return None
    return transform(part, lambda e: ColumnRef(name, BIGINT) if e == ColumnRef(ROWTIME, BIGINT) else None)


def split(where: exp.Expr | None) -> tuple[list[exp.Expr], list[Condition]]:
    """The conditions that AND joins in ``where``: the plain ones, and those with sub-queries."""
    plain: list[exp.Expr] = []
    conditions: list[Condition] = []
    for part in conjuncts(where):
        inner, is_negated = part, False
        while isinstance(inner, exp.Paren | exp.Not):
            is_negated ^= isinstance(inner, exp.Not)
            inner = inner.this
        if isinstance(inner, nodes.Exists | nodes.InQuery):
            conditions.append(Condition(inner, is_negated, part))
        else:
            plain.append(part)
    return plain, conditions


def bind_where(parts: Sequence[exp.Expr], scope: Scope) -> Expression | None:
    """The plain conditions of a WHERE as one; None without any.

    Raises:
        KsqlError: as bind_predicate.
    """
    bound = [bind_predicate(part, scope) for part in parts]
    return reduce(lambda a, b: call("AND", (a, b), None), bound) if bound else None


def without_places(source: From) -> From:
    """``source`` for a query with semi joins: of a single relation's pseudo columns only ROWTIME."""
    tree = source.tree
    if not isinstance(tree, BoundRelation):
        return source
    hidden = {name: type_ for name, type_ in tree.hidden.items() if name == ROWTIME}
    tree = replace(tree, hidden=hidden)
    return replace(source, tree=tree, scope=replace(source.scope, relations=(tree, *source.relations[1:])))


def bind_semi_join(condition: Condition, number: int, source: From, context: Context) -> SemiJoin:
    """The semi join of a streaming query.

    Args:
        condition: EXISTS or IN.
        number: of the condition in its query, for names.
        source: the bound FROM.
        context: the metastore and the common tables.

    Raises:
        KsqlError: the sub-query is not a table with a condition on its primary key; those of bind_expression.
    """
    select = sub_select(condition)
    at = select.relation
    named = {**context.common_tables, **context.metastore.views()}
    if type(at) is not nodes.AliasedSource or at.source_name in named:
        raise invalid(
            f"{_FORM} in a streaming query.", at, hint="CREATE TABLE … AS SELECT the sub-query first."
        )
    table = source_relation(at, context.metastore, prefixed=False)
    assert table.source is not None
    within = _within(condition, select, table, source)
    if table.window is not None or any(relation.window for relation in source.relations):
        raise invalid("EXISTS and IN are not supported for windowed sources.", condition.place)
    if any(r.source is not None and r.source.name == table.source.name for r in source.relations):
        raise invalid(
            f"EXISTS and IN cannot look {table.source.name} up in itself.", at, hint=copy_hint(table.source)
        )
    if within is not None:
        return _of_stream(condition, select, table, number, source, within)
    key = table.schema.key
    inner, parts = bind_sub_query(condition, select, table, number, source.scope)
    both = replace(source.scope, relations=(inner, *source.relations))
    name = inner.internal(key[0].name)
    own = inner.names
    left_key = next((k for part in parts if (k := _compared(part, name, own)) is not None), None)
    if len(key) != 1 or left_key is None:
        keys = ", ".join(column.name for column in key)
        got = " AND ".join(show(part, both) for part in parts)
        raise invalid(
            f"EXISTS and IN of a streaming query need a comparison of the table's primary key ({keys}) with ="
            f" and an expression of the same type over the rows of FROM. Got {got or 'no condition'}.",
            condition.place,
        )
    is_replicated = table.source.is_replicated
    if not is_replicated and not _is_foreign_key(left_key[1], source):
        check_partitions(condition.place, source.relations[0], table)
    rest = [part for part in parts if part is not left_key[0]]
    predicate = reduce(lambda a, b: call("AND", (a, b), None), rest) if rest else None
    used = frozenset().union(*map(columns_in, rest)) - {name}
    values = inner.values(used)
    if condition.is_negated:
        is_match = NamedExpression(f"{inner.prefix}_FOUND", Literal(True, BOOLEAN))
        values.append(is_match)
        reference = ColumnRef(is_match.name, BOOLEAN)
        missing = call("IS NULL", (reference,), None)
        if predicate is not None:
            holds = call("COALESCE", (predicate, Literal(False, BOOLEAN)), None)
            missing = call("OR", (missing, call("NOT", (holds,), None)), None)
        predicate = missing
        if isinstance(condition.node, nodes.InQuery):
            predicate = call("AND", (call("IS NOT NULL", (left_key[1],), None), predicate), None)
    right_key = ColumnRef(name, key[0].type)
    right = Project(
        Source(table.source, table.alias),
        (NamedExpression(name, ColumnRef(key[0].name, key[0].type)),),
        tuple(values),
    )
    return SemiJoin(left_key[1], right, right_key, is_replicated, condition.is_negated, predicate)


def _within(
    condition: Condition, select: nodes.Select, relation: BoundRelation, source: From
) -> WithinSpec | None:
    """The time of a stream's partners; None for a table."""
    assert relation.source is not None
    within = select.join_within or select.within
    if relation.kind == TABLE:
        if within is not None:
            raise invalid("WITHIN of EXISTS and IN is for streams; this is a table.", within)
        return None
    if source.tree.kind == TABLE:
        raise invalid(
            f"EXISTS and IN look rows of a table up in another table: {relation.source.name} is a stream.",
            select.relation,
            hint="Make a table of it: CREATE TABLE … AS SELECT … GROUP BY.",
        )
    if within is None:
        raise invalid(
            f"EXISTS and IN of a stream need a WITHIN: {relation.source.name} is a stream.",
            select.relation,
            hint=f"For instance: FROM {relation.source.name} WITHIN 1 HOUR GRACE PERIOD 1 MINUTE WHERE …",
        )
    if condition.is_negated and (select.join_within is None or select.join_within.grace is None):
        raise invalid(
            "NOT EXISTS and NOT IN of a stream need a GRACE PERIOD: how long a row waits for late partners.",
            within,
            hint="For instance: WITHIN 1 HOUR GRACE PERIOD 1 MINUTE.",
        )
    if isinstance(within, nodes.TimeSpan):
        return WithinSpec(within.milliseconds, within.milliseconds, None)
    grace_ms = None if within.grace is None else within.grace.milliseconds
    return WithinSpec(within.before.milliseconds, within.after.milliseconds, grace_ms)


def _of_stream(
    condition: Condition,
    select: nodes.Select,
    relation: BoundRelation,
    number: int,
    source: From,
    within: WithinSpec,
) -> SemiJoin:
    assert relation.source is not None
    inner, parts = bind_sub_query(condition, select, relation, number, source.scope)
    own = inner.names
    equalities = [(part, sides) for part in parts if (sides := _sides(part, own)) is not None]
    if not equalities:
        both = replace(source.scope, relations=(inner, *source.relations))
        got = " AND ".join(show(part, both) for part in parts)
        raise invalid(
            "EXISTS and IN of a stream need a comparison with = of one of its columns with an expression of "
            f"the same type over the rows of FROM. Got {got or 'no condition'}.",
            condition.place,
        )
    equality, (left_key, right_key) = equalities[0]
    check_partitions(condition.place, source.relations[0], relation)
    rest = [part for part in parts if part is not equality]
    used = columns_in(right_key).union(*map(columns_in, rest))
    keys = [NamedExpression(inner.internal(c.name), ColumnRef(c.name, c.type)) for c in relation.schema.key]
    values = inner.values(used)
    predicate = None
    if condition.is_negated:
        is_there = NamedExpression(f"{inner.prefix}_FOUND", Literal(True, BOOLEAN))
        values.append(is_there)
        predicate = call("IS NULL", (ColumnRef(is_there.name, BOOLEAN),), None)
        if isinstance(condition.node, nodes.InQuery):
            predicate = call("AND", (call("IS NOT NULL", (left_key,), None), predicate), None)
    right = Project(Source(relation.source, relation.alias), tuple(keys), tuple(values))
    return SemiJoin(
        left_key, right, right_key, False,
        condition.is_negated, predicate, within,
        reduce(lambda a, b: call("AND", (a, b), None), rest) if rest else None,
    )  # fmt: skip


def _sides(part: Expression, own: set[str]) -> tuple[Expression, ColumnRef] | None:
    """Return the sides of an equation: the outer query's expression, and one of the columns ``own``.

    In ``SELECT … FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.k = o.x + 1)``, where ``own`` are the columns
    of i, these are ``o.x + 1`` and ``i.k``.
    """
    if not isinstance(part, Call) or part.function != "=":
        return None
    first, second = part.arguments
    for outer, inner in ((first, second), (second, first)):
        used = columns_in(outer)
        if used and not used & own and isinstance(inner, ColumnRef) and inner.name in own:
            return outer, inner
    return None


def sub_select(condition: Condition) -> nodes.Select:
    """The SELECT of the sub-query.

    Raises:
        KsqlError: INVALID_STATEMENT: it is a UNION, or has clauses that make other rows.
    """
    query = condition.node.query
    if not isinstance(query, nodes.Select):
        raise invalid(f"{_FORM}, not a UNION.", query)
    check_clauses(query, _REFUSED)
    return query


def bind_sub_query(
    condition: Condition, select: nodes.Select, relation: BoundRelation, number: int, scope: Scope
) -> tuple[Inner, list[Expression]]:
    """The relation of the sub-query under its own names, and the conditions that AND joins in it.

    A name is a column of the sub-query's relation if that has it, else of the query around it.

    Args:
        condition: EXISTS or IN; for IN, ``=`` is the first of the conditions.
        select: the sub-query.
        relation: its FROM.
        number: of the condition in its query.
        scope: the names around it.

    Raises:
        KsqlError: as bind_expression; IN of several columns.
    """
    hidden = {name: type_ for name, type_ in relation.hidden.items() if name == ROWTIME}
    inner = Inner(
        relation.alias, relation.schema, relation.kind, relation.window, False, hidden, relation.source,
        relation.node, relation.place, prefix=f"KSQL_{number}_",
    )  # fmt: skip
    both = replace(scope, relations=(inner, *scope.relations))
    outer = replace(scope.at("WHERE"), show=lambda expression: show(expression, both))
    inside = replace(outer, relations=(inner,), extra={}, outer=outer)
    parts: list[Expression] = []
    bind_items(select, inside, Names(()))  # what EXISTS selects does not matter, but must be there
    if isinstance(condition.node, nodes.InQuery):
        item = select.items[0]
        if len(select.items) > 1 or not isinstance(item, nodes.SelectItem):
            raise invalid("The sub-query of IN has one column.", select)
        left, right = bind_expression(condition.node.this, outer), bind_expression(item.this, inside)
        parts.append(compare("=", left, right, condition.node, outer))
    plain, others = split(select.where)
    if others:
        raise invalid("EXISTS and IN (SELECT …) cannot be nested.", others[0].place)
    parts += [bind_predicate(part, inside) for part in plain]
    return inner, parts


def _compared(
    part: Expression, key: str, own: frozenset[str] | set[str]
) -> tuple[Expression, Expression] | None:
    """``part``, and what it compares the column ``key`` with; None if it compares it with nothing outside."""
    if not isinstance(part, Call) or part.function != "=":
        return None
    first, second = part.arguments
    for side, other in ((first, second), (second, first)):
        used = columns_in(other)
        if isinstance(side, ColumnRef) and side.name == key and used and not used & own:
            return part, other
    return None


def _is_foreign_key(key: Expression, source: From) -> bool:
    """Whether a table is joined by another expression than its key."""
    tree = source.tree
    if tree.kind != TABLE or not isinstance(tree, BoundRelation):
        return tree.kind == TABLE
    own = tree.schema.key
    return len(own) != 1 or key != ColumnRef(tree.internal(own[0].name), own[0].type)
