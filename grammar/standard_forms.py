"""Forms of the SQL standard that stand for others: rows in comparisons, and ``> ALL (query)``.

The parser writes them out, so that nothing behind it has to know them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from sqlglot import exp

from ksql_spark.grammar import nodes

#: < of rows is < of their first values that differ
_STRICT: dict[type[exp.Expression], type[exp.Expression]] = {
    exp.LT: exp.LT, exp.LTE: exp.LT, exp.GT: exp.GT, exp.GTE: exp.GT,
}  # fmt: skip
_VALUE, _ROWS = "KSQL_VALUE", "KSQL_ROWS"
#: rows in IN: the left side is written out for each
MAX_ROWS = 1_000
#: nodes of a row that is written out so often
_MOST_NODES = 100


def is_written_out(*nodes_: exp.Expr) -> bool:
    """Whether one of these forms is in a node, or a row is long: each form writes operands several times."""
    for node in nodes_:
        for count, part in enumerate(node.walk()):
            if "is_written_out" in part.meta or (isinstance(node, exp.Tuple) and count > _MOST_NODES):
                return True
    return False


def compared_rows(operator: type[exp.Expression], left: exp.Expr, right: exp.Expr) -> exp.Expr | None:
    """``(a, b) = (c, d)`` as comparisons of values.

    Args:
        operator: = <> < <= > >=.
        left, right: rows with the same number of values.

    Returns:
        None if these are no such rows.

    >>> a, b, c, d = (exp.column(name) for name in "abcd")
    >>> compared_rows(exp.LTE, exp.Tuple(expressions=[a, b]), exp.Tuple(expressions=[c, d])).sql()
    '(a < c OR (a = c AND b <= d))'
    """
    if not (isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple)):
        return None
    pairs = list(zip(left.expressions, right.expressions, strict=False))
    if len(left.expressions) != len(right.expressions):
        return None
    if operator in (exp.EQ, exp.NEQ):
        equal = _all(_compared(exp.EQ, *pair) for pair in pairs)
        return _placed(equal if operator is exp.EQ else exp.Not(this=equal), left)
    whole = _compared(operator, *pairs[-1])
    for pair in reversed(pairs[:-1]):
        goes_on = _all((_compared(exp.EQ, *pair), whole))
        whole = _bracketed(exp.Or(this=_compared(_STRICT[operator], *pair), expression=goes_on))
    return _placed(whole, left)


def row_in(row: exp.Tuple, members: Sequence[exp.Expr]) -> exp.Expr | None:
    """``(a, b) IN ((c, d), …)`` as comparisons; None if a member is no row with as many values."""
    tests = [compared_rows(exp.EQ, row, member) for member in members]
    if not all(tests):
        return None
    either: exp.Expr = reduce(lambda one, other: exp.Or(this=one, expression=other), filter(None, tests))
    return _placed(_bracketed(either), row)


def quantified(
    operator: type[exp.Expression], value: exp.Expr, query: nodes.QueryNode, is_all: bool
) -> exp.Expr | None:
    """``value > ALL (query)``, or ANY, by the least and the greatest value of the query.

    As in the standard, it is NULL if the values that are there do not decide, and others are NULL.

    Returns:
        None if there is such a form in ``value`` or ``query``, which would be written out again and again.
    """
    if (operator, is_all) in ((exp.EQ, False), (exp.NEQ, True)):
        found = nodes.InQuery(this=value, query=query)
        found.meta["position"] = value.meta.get("position")
        return exp.Not(this=found) if is_all else found
    if is_written_out(value, query):
        return None

    def holds() -> exp.Expr:
        tests = [
            _compared(operator, value, _of(query, aggregate)) for aggregate in _deciding(operator, is_all)
        ]
        return _all(tests) if is_all else _bracketed(_any(tests))

    is_empty = exp.EQ(this=_of(query, "COUNT", is_star=True), expression=_number(0))
    has_null = exp.LT(this=_of(query, "COUNT"), expression=_of(query, "COUNT", is_star=True))
    decided = exp.Not(this=holds()) if is_all else holds()
    whens: list[tuple[exp.Expr, exp.Expr]] = [
        (is_empty, exp.Boolean(this=is_all)),
        (decided, exp.Boolean(this=not is_all)),
        (has_null, exp.Cast(this=exp.Null(), to=nodes.TypeNode("BOOLEAN"))),
    ]
    branches = [exp.If(this=condition, true=result) for condition, result in whens]
    return _placed(exp.Case(ifs=branches, default=holds()), value)


def _deciding(operator: type[exp.Expression], is_all: bool) -> tuple[str, ...]:
    """The aggregates of the values that decide."""
    if operator in (exp.EQ, exp.NEQ):
        return ("MIN", "MAX")
    return ("MIN",) if (operator in (exp.LT, exp.LTE)) == is_all else ("MAX",)


def _of(query: nodes.QueryNode, aggregate: str, is_star: bool = False) -> exp.Expr:
    """``(SELECT aggregate(value) FROM (query) AS rows (value))``."""
    argument = exp.Star() if is_star else exp.Column(this=exp.to_identifier(_VALUE))
    called = nodes.FunctionCall(this=exp.to_identifier(aggregate), arguments=[argument])
    rows = nodes.SubQuery(
        query=query.copy(),
        alias_identifier=exp.to_identifier(_ROWS),
        columns=[exp.to_identifier(_VALUE)],
    )
    selected = nodes.Select(items=[nodes.SelectItem(this=called)], relation=rows)
    return nodes.ScalarQuery(query=selected)


def _number(value: int) -> exp.Expr:
    return nodes.IntegerLiteral(this=str(value), is_string=False)


def _compared(operator: type[exp.Expression], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return _placed(operator(this=left.copy(), expression=right.copy()), left)


def _joined(operator: type[exp.Expression]) -> Callable[..., exp.Expr]:
    return lambda parts: reduce(lambda one, other: operator(this=one, expression=other), parts)


def _all(parts: object) -> exp.Expr:
    return _bracketed(_joined(exp.And)(parts))


_any = _joined(exp.Or)


def _bracketed(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node)


def _placed(node: exp.Expr, place: exp.Expr) -> exp.Expr:
    """``node`` with the place of another one, for errors."""
    node.meta["is_written_out"] = True
    for part in node.walk(prune=lambda each: "position" in each.meta):
        if "position" in place.meta:
            part.meta.setdefault("position", place.meta["position"])
    return node
