"""Key lookups: which keys the rows of a pull query can have, and errors for queries that need a scan.

Lookups only narrow what is read: the whole WHERE is still evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Any

from sqlglot import exp

from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.expressions import (
    Call,
    Cast,
    ColumnRef,
    Expression,
    Literal,
    Members,
    OuterRef,
    SubQuery,
    columns_in,
    is_null,
    walk,
)
from ksql_spark.grammar import nodes
from ksql_spark.grammar.statements.rows import RowChange
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import Aggregate, BatchJoin, BatchOver, Filter, Limit, Node, Project, Source
from ksql_spark.plan.queries import KeyLookup
from ksql_spark.plan.trees import children, sub_queries
from ksql_spark.types import BYTES, STRING, is_numeric

#: with more keys than this, a scan is used: a key is found in some microseconds
MAX_LOOKUPS = 100_000
#: alternatives are not combined with others (AND) into more than this
_MOST_COMBINED = 1000
SCAN_HINT = "ksql.query.pull.table.scan.enabled=true allows it."


def find_lookups(predicate: Expression, source: DataSource) -> tuple[KeyLookup, ...] | None:
    """The keys that rows satisfying ``predicate`` can have; None if they cannot be listed.

    Args:
        predicate: the bound WHERE.
        source: the table.
    """
    keys = [c.name for c in source.schema.key]
    return _lookups(alternatives(predicate, _one_of(keys)), keys)


def lists_keys(predicate: Expression, source: DataSource) -> bool:
    """Whether each alternative (OR) compares each key column once, by = or IN, and nothing else.

    Then all rows with the keys of find_lookups() satisfy the predicate.
    """
    keys = sorted(column.name for column in source.schema.key)

    def compared(condition: Expression) -> str:
        if not isinstance(condition, Call) or condition.function not in ("=", "IN"):
            return ""
        return _compared_key(condition, frozenset(keys)) or ""

    return all(sorted(map(compared, disjunct)) == keys for disjunct in _disjuncts(predicate))


def _lookups(choices: list[_Alternative], keys: list[str]) -> tuple[KeyLookup, ...] | None:
    lookups: dict[KeyLookup, None] = {}
    for alternative in choices:
        if any(k not in alternative for k in keys):
            return None
        for values in product(*(alternative[k] for k in keys)):
            if any(map(is_null, values)):
                continue  # nothing equals NULL
            lookups[KeyLookup(tuple(values))] = None
            if len(lookups) > MAX_LOOKUPS:
                return None
    return tuple(lookups) if keys else None


#: column -> the values it may have
_Alternative = dict[str, tuple[Expression, ...]]
#: the name of an expression that may be looked up, or None if it may not
_NameOf = Callable[[Expression], str | None]


def _one_of(names: Iterable[str]) -> _NameOf:
    known = frozenset(names)
    return lambda side: side.name if isinstance(side, ColumnRef) and side.name in known else None


def alternatives(node: Expression, name_of: _NameOf) -> list[_Alternative]:
    """Return ``node`` as alternatives (ORs), each with the values that it allows for columns with a name.

    With the columns A and B, ``(A = 1 OR A = 2) AND B = 3 AND C = 4`` gives ``{A: (1,), B: (3,)}`` and
    ``{A: (2,), B: (3,)}``.
    """
    match node:
        case Call("OR", (left, right), _):
            return [*alternatives(left, name_of), *alternatives(right, name_of)]
        case Call("AND", (left, right), _):
            return _both(alternatives(left, name_of), alternatives(right, name_of))
        case Call("=", (left, right), _):
            for side, other in ((left, right), (right, left)):
                if (name := name_of(side)) is not None and is_constant(other):
                    return [{name: (other,)}]
        case Call("IN", (tested, *members), _) if (name := name_of(tested)) is not None:
            match members:
                case [Members() as all_]:
                    return [{name: all_.literals}]
            if all(map(is_constant, members)):
                return [{name: tuple(members)}]
    return [{}]


def is_constant(value: Expression) -> bool:
    """Whether it reads no row, and no sub-query."""
    return not any(isinstance(part, (ColumnRef, OuterRef, SubQuery)) for part in walk(value))


def _both(first: list[_Alternative], second: list[_Alternative]) -> list[_Alternative]:
    if _are_too_many(first, second):
        return [{}]
    return [{**b, **a} for a, b in product(first, second)]


def _are_too_many(first: Sequence[object], second: Sequence[object]) -> bool:
    """Whether AND makes too many alternatives of those of its operands."""
    return len(first) * len(second) > max(_MOST_COMBINED, len(first), len(second))


# ---- batch queries ------------------------------------------------------------------------------------


def narrow(root: Node) -> tuple[tuple[KeyLookup, ...] | None, ...]:
    """Return for each source below ``root``, left to right, the keys that rows of the result can come from.

    ``column = constant`` is never true for NULL, so a condition on a column can be pushed below outer joins:
    any row that the narrower input adds is dropped again by the WHERE, which stays.
    """
    return tuple(_narrow(root, [{}]))


def _narrow(node: Node, choices: list[_Alternative]) -> Iterable[tuple[KeyLookup, ...] | None]:
    """Lookups of the sources below ``node``; ``choices`` are conditions on its columns."""
    match node:
        case Source(source):
            keys = [node.column_name(c.name) for c in source.schema.key]
            yield _lookups(choices, keys) if source.is_table else None
            return
        case Filter(_, predicate):
            conditions = alternatives(predicate, _one_of(c.name for c in node.schema.columns))
            choices = _both(choices, conditions)
        case BatchJoin():
            choices = _with_equals(choices, _equal_columns(node))
        case Project(_, keys_, values):
            choices = _renamed(choices, (*keys_, *values))
        case Aggregate(_, group_by):
            choices = _renamed(choices, group_by)
        case Limit() | BatchOver():  # their results depend on other rows, too
            choices = [{}]
    for child in children(node):
        yield from _narrow(child, choices)
    for sub_query in sub_queries(node):
        yield from _narrow(sub_query.root, [{}])


def _renamed(choices: list[_Alternative], items: Iterable[NamedExpression]) -> list[_Alternative]:
    """Conditions on a projection's columns, as conditions on the child's columns that they rename."""
    below = {i.name: i.expression.name for i in items if isinstance(i.expression, ColumnRef)}
    return [{below[n]: v for n, v in alternative.items() if n in below} for alternative in choices]


def _equal_columns(node: Node) -> list[tuple[str, str]]:
    """The pairs of columns that the joins of one FROM clause make equal."""
    if not isinstance(node, BatchJoin):
        return []
    pairs = [*_equal_columns(node.left), *_equal_columns(node.right)]
    of_left = {column.name for column in node.left.schema.columns}
    for part in conjuncts(node.condition):
        match part:
            # two columns of one side are equal only in rows with a partner, which an outer join does not need
            case Call("=", (ColumnRef(left), ColumnRef(right))) if (left in of_left) != (right in of_left):
                pairs.append((left, right))
    return pairs


def _with_equals(choices: list[_Alternative], equal: list[tuple[str, str]]) -> list[_Alternative]:
    """``choices`` with each condition copied to the columns that a join equates with its column."""
    result = []
    for alternative in choices:
        more = dict(alternative)
        for _ in equal:  # often enough to follow chains of equalities
            for left, right in equal:
                for name, other in ((left, right), (right, left)):
                    if name in more:
                        more.setdefault(other, more[name])
        result.append(more)
    return result


# ---- rules --------------------------------------------------------------------------------------------


def check_key_values(
    predicate: Expression, source: DataSource, node: exp.Expr, config: Mapping[str, Any]
) -> None:
    """Refuse impossible keys: a text in an IN list for a number, and, unless it makes a comparison NULL, NULL
    for a table's key (reference §2.5).

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    keys = {c.name: c for c in source.schema.key}
    for part in walk(predicate):
        match part:
            case Call("IN" | "=" as function, (ColumnRef(name, _), *values), _) if name in keys:
                pass
            case Call("=" as function, (*values, ColumnRef(name, _)), _) if name in keys:
                pass
            case _:
                continue
        for value in values:
            match value:
                case Cast(Literal(text, text_type), key_type) if (
                    function == "IN" and text_type == STRING and is_numeric(key_type)
                ):
                    raise invalid(
                        f"'{text}' can not be converted to the type of the key column: "
                        f"{name} {keys[name].type} KEY",
                        node,
                    )
                case _ if is_null(value) and source.is_table and not settings.is_ansi(config):
                    # a list may be long
                    shown = str(part) if function == "=" else f"({name} IN (…, NULL, …))"
                    raise invalid(f"Primary key columns can not be NULL: {shown}.", node)


#: conditions that must all hold
_Conditions = tuple[Expression, ...]
_RANGES = frozenset({"<", "<=", ">", ">=", "BETWEEN"})


def check_scan(
    predicate: Expression | None,
    source: DataSource,
    query: nodes.Select | RowChange,
    config: Mapping[str, Any],
) -> None:
    """Refuse a WHERE that needs a scan if the configuration disables scans (reference §2.5).

    Each disjunct of the WHERE must be a lookup; or there is only one, and it is a range scan, which windowed
    tables do not support.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if settings.flag(config, "ksql.query.pull.table.scan.enabled"):
        return
    if predicate is None:
        raise invalid(_SCAN_NEEDED, query, hint=SCAN_HINT)
    disjuncts = _disjuncts(predicate)
    has_ranges = (
        len(disjuncts) == 1
        and source.window is None
        and [c.type in (STRING, BYTES) for c in source.schema.key] == [True]
        and settings.flag(config, "ksql.query.pull.range.scan.enabled")
    )
    reasons = [r for d in disjuncts if (r := _needs_scan(d, source, has_ranges)) is not None]
    if reasons:
        # the problem of one disjunct says more
        reason = next((r for r in reasons if r != _SCAN_NEEDED), _SCAN_NEEDED)
        raise invalid(reason, query.where, hint=SCAN_HINT)


_SCAN_NEEDED = "Query requires table scan to be enabled."


def _needs_scan(conditions: _Conditions, source: DataSource, has_ranges: bool) -> str | None:
    """Return why only a scan finds the rows that satisfy all ``conditions``; None if a lookup finds them."""
    keys = frozenset(c.name for c in source.schema.key)
    comparisons = [c for c in conditions if isinstance(c, Call)]
    compared = [(name, c.function) for c in comparisons if (name := _compared_key(c, keys)) is not None]
    names = [name for name, _ in compared]
    if len(set(names)) < len(names):
        return (
            "A comparison condition on the key column cannot be combined with other comparisons such as an "
            "IN predicate."
        )
    if keys == set(names):
        is_range = any(function in _RANGES for _, function in compared)
        return _SCAN_NEEDED if is_range and not has_ranges else None
    touched = {k for c in conditions for k in columns_in(c) & keys}
    if not touched:
        return f"WHERE clause missing key column for disjunct: {_text(conditions)}"
    if len(keys) > 1:
        return (
            "Multi-column sources must specify every key in the WHERE clause. "
            f"Specified: {sorted(touched)} Expected: {sorted(keys)}."
        )
    if any(isinstance(a, ColumnRef) and a.name in keys for c in comparisons for a in c.arguments):
        return "A comparison must be between a key column and a resolvable expression."
    return "A comparison must directly reference a key column."


def _compared_key(node: Call, keys: frozenset[str]) -> str | None:
    """The key column that ``node`` compares with values without columns, or None."""
    if node.function not in {"=", "IN", *_RANGES}:
        return None
    sides = node.arguments[:1] if node.function in ("IN", "BETWEEN") else node.arguments
    for side in sides:
        others = (a for a in node.arguments if a is not side)
        if isinstance(side, ColumnRef) and side.name in keys and not any(columns_in(o) for o in others):
            return side.name
    return None


def _disjuncts(node: Expression) -> list[_Conditions]:
    """``node`` as an OR of ANDs; parts that would give too many disjuncts are not expanded."""
    match node:
        case Call("OR", (left, right), _):
            return [*_disjuncts(left), *_disjuncts(right)]
        case Call("AND", (left, right), _):
            first, second = _disjuncts(left), _disjuncts(right)
            if not _are_too_many(first, second):
                return [(*a, *b) for a, b in product(first, second)]
    return [(node,)]


def _text(conditions: _Conditions) -> str:
    """``conditions``, joined by AND, for messages."""
    return reduce("({} AND {})".format, map(str, conditions))


def conjuncts(node: Expression) -> list[Expression]:
    """The conditions that AND joins in ``node``."""
    if isinstance(node, Call) and node.function == "AND":
        return [c for a in node.arguments for c in conjuncts(a)]
    return [node]
