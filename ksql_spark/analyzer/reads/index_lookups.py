"""Index look-ups: which index finds the rows of a pull query, and where in it they are.

As with keys, an index only narrows what is read: the whole WHERE is still evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, product

from ksql_spark.analyzer.reads.lookups import MAX_LOOKUPS, alternatives, conjuncts, is_constant
from ksql_spark.expressions import Call, Cast, Expression
from ksql_spark.metastore.indexes import Index
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import Filter, Node, Source
from ksql_spark.plan.queries import IndexLookup, IndexRange
from ksql_spark.plan.trees import children, sub_queries
from ksql_spark.types import keeps_numbers

_INCLUSIVE = {"<": "<=", "<=": "<=", ">": ">=", ">=": ">="}
_TURNED = {"<": ">=", "<=": ">=", ">": "<=", ">=": "<="}
#: the number of a column of an index, by the column as an expression
_Columns = Mapping[Expression, int]


def find_index(predicate: Expression | None, source: DataSource, metastore: MetaStore) -> IndexLookup | None:
    """The index look-up that reads the fewest rows, as far as its columns tell; None if no index helps."""
    if predicate is None:
        return None
    found = [_look_up(predicate, index, source) for index in metastore.indexes_of(source.name)]
    return max((each for each in found if each is not None), key=_narrowness, default=None)


def find_indexes(node: Node, metastore: MetaStore) -> tuple[IndexLookup | None, ...]:
    """For each of ``relations(node)`` the index look-up of the condition directly above it."""
    found: list[tuple[IndexLookup | None, ...]]
    match node:
        case Source():
            return (None,)
        case Filter(Source(source) as relation, predicate) if not relation.prefixed:
            found = [(find_index(predicate, source, metastore),)]
        case _:
            found = [find_indexes(child, metastore) for child in children(node)]
    found += [find_indexes(sub_query.root, metastore) for sub_query in sub_queries(node)]
    return tuple(chain.from_iterable(found))


def _narrowness(look_up: IndexLookup) -> tuple[int, bool, bool]:
    """More equal columns first, then bounds; an index without other columns before one with them."""
    first = look_up.ranges[0] if look_up.ranges else IndexRange(())
    return len(first.equal), bool(first.bounds), len(first.equal) == len(look_up.index.columns)


def _look_up(predicate: Expression, index: Index, source: DataSource) -> IndexLookup | None:
    expressions = index.expressions(source)
    if expressions is None:
        return None
    columns: _Columns = {expression: number for number, expression in enumerate(expressions)}

    def name_of(side: Expression) -> str | None:
        number = columns.get(_uncast(side))
        return None if number is None else str(number)

    choices = alternatives(predicate, name_of)
    equal = 0
    while equal < len(expressions) and all(str(equal) in choice for choice in choices):
        equal += 1
    bounds = tuple(_bounds(predicate, expressions[equal])) if equal < len(expressions) else ()
    if not equal and not bounds:
        return None
    ranges: dict[IndexRange, None] = {}
    for choice in choices:
        for values in product(*(choice[str(number)] for number in range(equal))):
            ranges[IndexRange(values, bounds)] = None
            if len(ranges) > MAX_LOOKUPS:
                return None
    return IndexLookup(index, tuple(ranges))


def _uncast(side: Expression) -> Expression:
    """A column without the casts that change no value."""
    while isinstance(side, Cast) and keeps_numbers(side.operand.type, side.type):
        side = side.operand
    return side


def _bounds(predicate: Expression, column: Expression) -> Iterator[tuple[str, Expression]]:
    """The bounds that the ANDed conditions of ``predicate`` set for ``column``."""
    for condition in conjuncts(predicate):
        match condition:
            case Call("BETWEEN", (tested, low, high)) if _uncast(tested) == column:
                yield from _constant([(">=", low), ("<=", high)])
            case Call("LIKE", (tested, pattern)) if tested == column:
                yield from _constant([("LIKE", pattern)])
            case Call(name, (left, right)) if name in _INCLUSIVE and _uncast(left) == column:
                yield from _constant([(_INCLUSIVE[name], right)])
            case Call(name, (left, right)) if name in _INCLUSIVE and _uncast(right) == column:
                yield from _constant([(_TURNED[name], left)])


def _constant(bounds: Iterable[tuple[str, Expression]]) -> Iterator[tuple[str, Expression]]:
    return ((name, value) for name, value in bounds if is_constant(value))
