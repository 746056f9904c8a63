"""Binding of expressions: names to columns, calls to overloads, every node typed (reference §2.8, §3).

``_RULES`` has one rule per node class. functions.registry types all operators and functions; coercions become
Cast nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal as PythonDecimal
from typing import Any, NoReturn

from sqlglot import exp

from ksql_spark import deadline
from ksql_spark.analyzer.base import timestamp_text
from ksql_spark.analyzer.base.clauses import BEST_ROWS, RANKING
from ksql_spark.analyzer.base.failures import failure, invalid, placed_at
from ksql_spark.analyzer.base.plan_size import checked_type
from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.expressions.calls import (
    call,
    compare,
    dereference,
    no_time,
    typed_null,
    with_interval,
    with_times,
)
from ksql_spark.analyzer.expressions.coercion import coerce, constants, is_implicit, unify
from ksql_spark.analyzer.expressions.type_nodes import resolve_type
from ksql_spark.analyzer.expressions.untyped import typed_text
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import (
    Call,
    Case,
    Cast,
    Expression,
    Lambda,
    Literal,
    MakeStruct,
    TryCast,
    is_null,
)
from ksql_spark.functions import registry
from ksql_spark.functions.casts import can_cast
from ksql_spark.functions.nullness import as_condition, with_ansi
from ksql_spark.functions.postgres import functions as postgres
from ksql_spark.functions.postgres import times as postgres_times
from ksql_spark.functions.scalars.arithmetic import MOST_YEARS
from ksql_spark.functions.spec import NAMELESS, Kind, decimal_type
from ksql_spark.grammar import nodes
from ksql_spark.grammar.words import UNIT_MS
from ksql_spark.instants import read_timestamp
from ksql_spark.schema import ROWTIME, WINDOWEND, WINDOWSTART
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIME,
    TIMESTAMP,
    VARIANT,
    Array,
    Field,
    Function,
    Map,
    Null,
    SqlType,
    Struct,
    contains_interval,
    is_numeric,
)

#: binds one class of nodes
Rule = Callable[[Any, Scope], Expression]

#: bare words that are interval units as arguments (reference §2.8)
INTERVAL_UNITS = frozenset(
    f"{unit}{plural}" for unit in ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY") for plural in ("", "S")
)

#: calls in MATCH_RECOGNIZE that look at rows of the match, or at the match
NAVIGATION = frozenset(
    ("FIRST", "LAST", "PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER", "MATCH_ROWTIME", "MATCH_PROCTIME")
)

_MOST_DAYS = 10**9
#: names that SQL calls without parentheses -> the types of their values
_WITHOUT_PARENTHESES = {
    "CURRENT_TIMESTAMP": TIMESTAMP, "LOCALTIMESTAMP": TIMESTAMP, "CURRENT_DATE": DATE, "CURRENT_TIME": TIME,
}  # fmt: skip
_ARITHMETIC: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%",
}  # fmt: skip
#: operators in a chain that is grouped from the left: each makes what is planned, stored and run deeper
_MOST_TERMS = 200
#: how many operands of a longer chain are grouped from the left, and then how many groups
_GROUP = 16
_MOMENTS = frozenset((ROWTIME, WINDOWSTART, WINDOWEND))
#: the third value of conditions in SQL
_UNKNOWN = Cast(Literal(None, NULL), BOOLEAN)


def bind_expression(node: exp.Expr, scope: Scope) -> Expression:
    """The bound expression of ``node``, a tree of the grammar's expression nodes.

    Raises:
        KsqlError: with its position in the statement: an unknown or ambiguous name, types that do not fit, a
            function that is unknown or not allowed here.
    """
    deadline.check()
    rule = _RULES.get(type(node))
    if rule is None:
        raise invalid(f"{type(node).__name__} is not supported here.", node)
    bound = rule(node, scope)
    if scope.postgres and not isinstance(node, exp.Paren):
        bound = _of_postgres(bound, node)
    if isinstance(bound, (Call, MakeStruct)):
        checked_type(bound.type, node)
    # a function means the same everywhere, although it may be bound to an operator
    return bound if isinstance(node, nodes.FunctionCall) else _meant(bound, scope)


def _of_postgres(bound: Expression, node: exp.Expr) -> Expression:
    """``bound``, which a node is in KSQL, with PostgreSQL's meaning."""
    written = node.name if isinstance(node, nodes.FunctionCall) else ""
    with placed_at(node):
        return postgres.meant(bound, written, lambda name, arguments: call(name, arguments, node))


def bind_predicate(node: exp.Expr, scope: Scope) -> Expression:
    """``node`` as the condition of WHERE, HAVING or WHEN: its type must be BOOLEAN.

    Raises:
        KsqlError: as bind_expression; PREDICATE_TYPE.
    """
    bound = bind_expression(node, scope)
    if scope.ansi:
        bound = as_condition(typed_null(bound, BOOLEAN))
    if bound.type != BOOLEAN:
        raise failure(
            "PREDICATE_TYPE", node, clause=scope.clause, expression=scope.show(bound), type=bound.type
        )
    return bound


def bind_check(node: exp.Expr, scope: Scope) -> Expression:
    """``node`` as the condition of a CHECK, which in the SQL standard a row violates only if it is FALSE.

    Raises:
        KsqlError: as bind_predicate.
    """
    bound = bind_predicate(node, scope)
    if not scope.ansi:
        return bound
    whole = typed_null(bind_expression(node, scope), BOOLEAN)
    return call("COALESCE", (whole, Literal(True, BOOLEAN)), node)


# ---- literals and columns ---------------------------------------------------------------------------------


def _integer(node: nodes.IntegerLiteral, scope: Scope) -> Expression:
    return _whole(node.value, node)


def _whole(value: int, node: exp.Expr) -> Literal:
    if -(2**31) <= value < 2**31:
        return Literal(value, INTEGER)
    if -(2**63) <= value < 2**63:
        return Literal(value, BIGINT)
    raise invalid(f"The number {value} does not fit BIGINT.", node, hint="Write it as a DECIMAL or DOUBLE.")


def _decimal(node: nodes.DecimalLiteral, scope: Scope) -> Expression:
    return Literal(node.value, decimal_type(node.value))


def _string(node: exp.Literal, scope: Scope) -> Expression:
    return Literal(str(node.this), STRING)


def _column(node: exp.Column, scope: Scope) -> Expression:
    if not node.table and node.name in _WITHOUT_PARENTHESES and not scope.is_column(node.name):
        now = call("NOW", (), node)
        type_ = _WITHOUT_PARENTHESES[node.name]
        return now if type_ == now.type else Cast(now, type_)
    return scope.resolve(node.table, node.name, node)


# ---- operators ----------------------------------------------------------------------------------------


def _interval(node: nodes.Interval, scope: Scope) -> Expression:
    by_calendar = {"MONTHS": 1, "YEARS": 12}
    if not by_calendar.keys() & set(node.units):
        length = sum(a * UNIT_MS[u] for a, u in zip(node.amounts, node.units, strict=True))
        if abs(length) > _MOST_DAYS * UNIT_MS["DAYS"]:
            raise invalid(f"An INTERVAL cannot be longer than {_MOST_DAYS} days.", node)
        return Literal(length, INTERVAL)
    if not set(node.units) <= by_calendar.keys():
        raise invalid("An INTERVAL has months and years, or weeks, days and shorter units; not both.", node)
    months = sum(a * by_calendar[u] for a, u in zip(node.amounts, node.units, strict=True))
    if abs(months) > 12 * MOST_YEARS:
        raise invalid(f"An INTERVAL of months cannot be longer than {MOST_YEARS} years.", node)
    return Literal(months, CALENDAR_INTERVAL)


def _arithmetic(node: exp.Expr, scope: Scope) -> Expression:
    """A chain of + - * / %, from the left: Python's stack does not grow with its length."""
    chain: list[exp.Expr] = []
    left = node
    while type(left) in _ARITHMETIC:
        chain.append(left)
        left = left.this
    if len(chain) > _MOST_TERMS:
        reason = f"The chain of operators is too long: it has more than {_MOST_TERMS} of + - * / %."
        raise invalid(reason, chain[-1], hint="Put parts of it into columns of a sub-query in FROM.")
    bound = bind_expression(left, scope)
    for part in reversed(chain):
        bound = _calculated(
            _ARITHMETIC[type(part)], bound, bind_expression(part.expression, scope), part, scope
        )
        bound = _meant(_of_postgres(bound, part) if scope.postgres else bound, scope)
    return bound


def _calculated(symbol: str, left: Expression, right: Expression, node: exp.Expr, scope: Scope) -> Expression:
    if scope.postgres:
        symbol, left, right = postgres.operands(symbol, left, right)
    left, right = with_interval(symbol, left, right)
    if scope.ansi and is_numeric(widest := right.type if isinstance(left.type, Null) else left.type):
        left, right = typed_null(left, widest), typed_null(right, widest)
    if isinstance(left.type, Null) or isinstance(right.type, Null):
        raise failure(
            "ARITHMETIC_NULL", node, clause=scope.clause, left=_shown_type(left.type),
            right=_shown_type(right.type),
            expression=f"({scope.show(left)} {symbol} {scope.show(right)})",
            hint="Give the NULL a type: CAST(NULL AS ...).",
        )  # fmt: skip
    try:
        return call(symbol, (left, right), node)
    except KsqlError as error:
        if error.condition != "FUNCTION_ARGUMENTS":
            raise
        raise failure(
            "ARITHMETIC_TYPES", node, clause=scope.clause, left=_shown_type(left.type),
            right=_shown_type(right.type),
            expression=f"({scope.show(left)} {symbol} {scope.show(right)})", hint=error.hint,
        ) from None  # fmt: skip


def _meant(node: Expression, scope: Scope) -> Expression:
    """``node`` with the meaning of NULL that ``scope`` has."""
    return with_ansi(node) if scope.ansi else node


def _associative(word: str, bind: Rule) -> Rule:
    """A rule for chains of an operator whose operands may be grouped in any way."""

    def rule(node: exp.Expr, scope: Scope) -> Expression:
        operator, left = type(node), node
        parts: list[tuple[exp.Expr, exp.Expr]] = []
        while type(left) is operator:
            parts.append((left.expression, left))
            left = left.this
        placed = [(bind(part, scope), place) for part, place in [(left, node), *reversed(parts)]]
        return _joined(word, placed, scope)

    return rule


def _joined(word: str, operands: list[tuple[Expression, exp.Expr]], scope: Scope) -> Expression:
    """Operands, each with its place, joined by an associative operator.

    The tree is only as deep as the logarithm of a long chain; a short one is grouped from the left.
    """
    while len(operands) > 1:
        groups = [operands[at : at + _GROUP] for at in range(0, len(operands), _GROUP)]
        operands = []
        for (whole, place), *others in groups:
            for other, place in others:
                joined = call(word, (whole, other), place)
                whole = _meant(_of_postgres(joined, place) if scope.postgres else joined, scope)
            operands.append((whole, place))
    return operands[0][0]


def _shown_type(type_: SqlType) -> str:
    return "null" if isinstance(type_, Null) else str(type_)


def _comparison(symbol: str) -> Rule:
    def rule(node: exp.Binary, scope: Scope) -> Expression:
        return compare(symbol, *_sides(node.this, node.expression, scope), node, scope)

    return rule


def _sides(left: exp.Expr, right: exp.Expr, scope: Scope) -> tuple[Expression, Expression]:
    """The bound operands of a comparison."""
    return _timestamp(left, right, scope), _timestamp(right, left, scope)


def _timestamp(node: exp.Expr, other: exp.Expr, scope: Scope) -> Expression:
    """``node`` bound, beside ``other`` in a comparison."""
    return bind_moment(node, scope) if _is_moment(other, scope) else bind_expression(node, scope)


def bind_moment(node: exp.Expr, scope: Scope) -> Expression:
    """``node`` bound, beside ROWTIME, WINDOWSTART or WINDOWEND: a date-time text becomes epoch ms (§3.3)."""
    bound = bind_expression(node, scope)
    match bound:
        case Literal(str(given)) | Cast(Literal(str(given))) if bound.type in (STRING, DATE, TIMESTAMP):
            text = (read_timestamp(given) if scope.untyped else None) or given
            instant = timestamp_text.epoch_ms(text)
            if instant is not None:
                return Literal(instant, BIGINT)
            if scope.untyped and text.isdecimal():
                return typed_text(bound, BIGINT, node)
            if isinstance(bound, TryCast):
                return Cast(Literal(None, NULL), BIGINT)
            raise no_time(given, "TIMESTAMP", node)
    return bound


def _is_moment(node: exp.Expr, scope: Scope) -> bool:
    while isinstance(node, exp.Paren):
        node = node.this
    is_named = isinstance(node, exp.Column) and node.name in _MOMENTS
    # PostgreSQL's clients may give the name to anything
    return is_named and (not scope.postgres or bind_expression(node, scope).type == BIGINT)


def _between(node: exp.Between, scope: Scope) -> Expression:
    low, high = node.args["low"], node.args["high"]
    value = bind_expression(node.this, scope)
    bounds = [_timestamp(low, node.this, scope), _timestamp(high, node.this, scope)]
    if scope.untyped:
        bounds = [typed_text(e, value.type, part) for e, part in zip(bounds, (low, high), strict=True)]
    if scope.ansi:
        type_ = next((e.type for e in (value, *bounds) if not isinstance(e.type, Null)), NULL)
        value, *bounds = [typed_null(e, type_) for e in (value, *bounds)]
    for bound, part in zip(bounds, (low, high), strict=True):
        # for the errors, because those of <= and >= are clearer
        compare("<=", value, bound, part, scope)
    return call("BETWEEN", (value, *bounds), node)


def _in(node: exp.In, scope: Scope) -> Expression:
    members = [node.this, *node.expressions]
    if len(members) == 2 and _is_empty(members[1]):
        bind_expression(node.this, scope)
        return Literal(False, BOOLEAN)
    bound = [_timestamp(m, node.this, scope) for m in members]
    if len(bound) == 2 and isinstance(bound[1].type, Array) and not isinstance(bound[0].type, Array):
        elements = _elements(bound[1])
        if elements is None:
            return _in_array(bound[0], bound[1], node, scope)
        bound[1:], members[1:] = elements, members[1:] * len(elements)
    if isinstance(bound[0].type, Null) and not scope.ansi:
        raise invalid("NULL cannot be looked up with IN.", node, hint="Use IS NULL.")
    if scope.untyped:
        bound[1:] = [typed_text(e, bound[0].type, m) for e, m in zip(bound[1:], members[1:], strict=True)]
    type_, fitted = unify(bound, members, scope.problem)
    if scope.ansi:
        fitted = [typed_null(e, type_) for e in fitted]
    if isinstance(type_, Map):
        # maps can only be compared with =
        tests = [_meant(call("=", (fitted[0], m), node), scope) for m in fitted[1:]]
        return _joined("OR", [(test, node) for test in tests], scope)
    values = [e for e in fitted[1:] if not is_null(e)] if scope.ansi else fitted[1:]
    if 0 < len(values) < len(fitted) - 1:
        # SQL's x IN (y, NULL) is x IN (y) OR NULL; without NULL, the list is one set of constants
        listed = _meant(_listed([fitted[0], *values], type_, node), scope)
        return _meant(call("OR", (listed, _UNKNOWN), node), scope)
    return _listed(fitted, type_, node)


def _listed(fitted: Sequence[Expression], type_: SqlType, node: exp.In) -> Expression:
    bound_call = with_times(call("IN", fitted, node), node)
    members_ = constants(bound_call.arguments[1:], type_)
    return bound_call if members_ is None else Call("IN", (bound_call.arguments[0], members_), BOOLEAN)


def _is_empty(node: exp.Expr) -> bool:
    """Whether it is ``ARRAY[]``, perhaps with a type, which only IN takes."""
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    return isinstance(node, nodes.ArrayConstructor) and not node.elements


def _elements(array: Expression) -> list[Expression] | None:
    """The elements of an array that is written as ARRAY[…], perhaps with a cast, or None if it is another."""
    match array:
        case Call("ARRAY", elements):
            return list(elements)
        case Cast(Call("ARRAY", elements), Array(type_)) if not isinstance(array, TryCast):
            return [coerce(element, type_) for element in elements]
    return None


def _in_array(value: Expression, array: Expression, node: exp.In, scope: Scope) -> Expression:
    """Whether ``value`` equals an element of ``array``; NULL where IN of these elements is NULL."""
    if not scope.ansi:
        found = call("ARRAY_CONTAINS", (array, value), node)
        there: Expression = call("IS NOT NULL", (value,), node)
        return call("AND", (there, found), node)
    found = call("ARRAY_CONTAINS", (array, value), node)
    has_null = call("ARRAY_CONTAINS", (array, Cast(Literal(None, NULL), found.arguments[1].type)), node)
    unknown = call("OR", [call("IS NULL", (each,), node) for each in (value, array)], node)
    whens = ((unknown, _UNKNOWN), (found, Literal(True, BOOLEAN)), (has_null, _UNKNOWN))
    return Case(whens, Literal(False, BOOLEAN), BOOLEAN)


def _as_list(contains: Call) -> Expression:
    """ARRAY_CONTAINS of constants as IN, which finds keys and does not look at each constant for each row.

    NULL equals NULL in ARRAY_CONTAINS.
    """
    array, value = contains.arguments
    elements = _elements(array)
    if elements is None or value.type in (DOUBLE, NULL):  # whose IN is that of Spark: 0.0 and -0.0
        return contains
    known = [element for element in elements if not is_null(element)]
    members = constants(known, value.type) if known else None
    if members is None:
        return contains
    listed = Call("IN", (value, members), BOOLEAN)
    if len(known) == len(elements):
        return listed
    return Call("OR", (listed, Call("IS NULL", (value,), BOOLEAN)), BOOLEAN)


def _sub_query(node: nodes.ScalarQuery | nodes.Exists | nodes.InQuery, scope: Scope) -> Expression:
    if scope.sub_query is not None:
        return scope.sub_query(node, scope)
    if isinstance(node, nodes.ScalarQuery):
        raise invalid(
            "A sub-query as a value is for the WHERE, SELECT, HAVING and ORDER BY of pull queries.", node,
            hint="Join its source instead.",
        )  # fmt: skip
    what = "EXISTS" if isinstance(node, nodes.Exists) else "IN (SELECT …)"
    raise invalid(
        f"{what} is a condition of a query's WHERE, alone or joined by AND; not part of an expression.",
        node,
        hint="Put OR into two queries, with UNION ALL.",
    )


def _like(node: nodes.Like, scope: Scope) -> Expression:
    parts = [node.this, node.expression, *([node.escape] if node.escape is not None else [])]
    bound = [bind_expression(p, scope) for p in parts]
    if scope.ansi:
        bound = [typed_null(b, STRING) for b in bound]
    if any(b.type != STRING for b in bound[:2]):
        raise invalid(
            f"Error in {scope.clause} expression: Like condition must be between strings, "
            f"got {bound[0].type} and {bound[1].type}.",
            node,
        )
    if len(bound) == 3 and len(str(node.escape.this if node.escape is not None else "")) != 1:
        raise invalid(f"ESCAPE needs exactly one character, got {bound[2]}.", node)
    return call("LIKE", bound, node)


def _operand(node: exp.Expr, scope: Scope) -> Expression:
    bound = bind_expression(node, scope)
    if bound.type not in (BOOLEAN, NULL):
        raise failure(
            "PREDICATE_TYPE", node, clause=scope.clause, expression=scope.show(bound), type=bound.type
        )
    return bound


def _not(node: exp.Not, scope: Scope) -> Expression:
    inner: exp.Expr = node.this
    if isinstance(inner, exp.Is):
        return call("IS NOT NULL", (bind_expression(inner.this, scope),), node)
    if isinstance(inner, nodes.InQuery) and scope.sub_query is not None and not scope.ansi:
        is_there = call("IS NOT NULL", (bind_expression(inner.this, scope),), node)
        return call("AND", (is_there, call("NOT", (bind_expression(inner, scope),), node)), node)
    return call("NOT", (_operand(inner, scope),), node)


def _is_null(node: exp.Is, scope: Scope) -> Expression:
    return call("IS NULL", (bind_expression(node.this, scope),), node)


def _negate(node: exp.Neg, scope: Scope) -> Expression:
    if isinstance(node.this, nodes.IntegerLiteral):
        return _whole(-node.this.value, node)
    bound = bind_expression(node.this, scope)
    if isinstance(bound, Literal) and (is_numeric(bound.type) or contains_interval(bound.type)):
        value = bound.value
        # "-" would round a DECIMAL to 28 digits
        return Literal(value.copy_negate() if isinstance(value, PythonDecimal) else -value, bound.type)
    return call("NEG", (bound,), node)


def _plus(node: nodes.Pos, scope: Scope) -> Expression:
    bound = bind_expression(node.this, scope)
    if not is_numeric(bound.type):
        raise invalid(f"Unary plus needs a number, got {bound} ({bound.type}).", node)
    return bound


def _subscript(node: nodes.Subscript, scope: Scope) -> Expression:
    collection = bind_expression(node.this, scope)
    index = bind_expression(node.index_expression, scope)
    if not isinstance(collection.type, (Array, Map)):
        raise invalid(f"[] needs an ARRAY or a MAP, got {collection} ({collection.type}).", node)
    return call("[]", (collection, index), node)


def _json_path(node: nodes.JsonPath, scope: Scope) -> Expression:
    operand = bind_expression(node.this, scope)
    if operand.type not in (STRING, VARIANT):
        hint = "Write -> for the field of a STRUCT." if isinstance(operand.type, Struct) else None
        raise invalid(
            f": needs a VARIANT, or a STRING with JSON, got {operand} ({operand.type}).", node, hint=hint
        )
    path = "$" + "".join(f"[{_quoted_step(step)}]" for step in node.steps)
    return call(":", (operand, Literal(path, STRING)), node)


def _quoted_step(step: str | int) -> str:
    if isinstance(step, int):
        return str(step)
    return f'"{step}"' if "'" in step else f"'{step}'"


def struct_fields(node: nodes.AllFields, scope: Scope) -> list[tuple[str, Expression]]:
    """The fields of ``s->*``: (name, expression) for each field of a STRUCT.

    Raises:
        KsqlError: INVALID_STATEMENT if the operand is not a STRUCT; those of bind_expression.
    """
    operand = bind_expression(node.this, scope)
    if not isinstance(operand.type, Struct):
        raise invalid(f"->* needs a STRUCT, got {operand} ({operand.type}).", node)
    return [(field.name, dereference(operand, field.name, node)) for field in operand.type.fields]


# ---- constructors, CASE, CAST -------------------------------------------------------------------------


def _array(node: nodes.ArrayConstructor, scope: Scope) -> Expression:
    if not node.elements:
        raise invalid("Array constructor cannot be empty. Please supply at least one element.", node)
    element, members = unify([bind_expression(e, scope) for e in node.elements], node.elements, scope.problem)
    if isinstance(element, Null):
        raise invalid(
            "Cannot construct an array with all NULL elements.", node,
            hint="Give one of them a type: CAST(NULL AS ...).",
        )  # fmt: skip
    return Call("ARRAY", tuple(members), Array(element))


def _map(node: nodes.MapConstructor, scope: Scope) -> Expression:
    if not node.entries:
        raise invalid("Map constructor cannot be empty. Please supply at least one key value pair.", node)
    key_nodes, value_nodes = [e.map_key for e in node.entries], [e.value for e in node.entries]
    key, keys = unify([bind_expression(k, scope) for k in key_nodes], key_nodes, scope.problem)
    value, values = unify([bind_expression(v, scope) for v in value_nodes], value_nodes, scope.problem)
    for type_, what in ((key, "keys"), (value, "values")):
        if isinstance(type_, Null):
            hint = "Give one of them a type: CAST(NULL AS ...)."
            raise invalid(f"Cannot construct a map with all NULL {what}.", node, hint=hint)
    flat = tuple(part for pair in zip(keys, values, strict=True) for part in pair)
    return Call("MAP", flat, Map(key, value))


def _struct(node: nodes.StructConstructor, scope: Scope) -> Expression:
    fields: dict[str, Expression] = {}
    for item in node.fields:
        name = str(item.this.this)
        if name in fields:
            raise invalid(f"Duplicate field name in STRUCT: '{name}'.", item)
        value = bind_expression(item.value, scope)
        if isinstance(value.type, Null):
            raise invalid(f"The STRUCT field {name} has no type.", item, hint="Use CAST(NULL AS ...).")
        fields[name] = value
    return MakeStruct(tuple(fields.items()), Struct(tuple(Field(n, e.type) for n, e in fields.items())))


def _case(node: exp.Case, scope: Scope) -> Expression:
    branches: list[exp.If] = node.args["ifs"]
    conditions = []
    for branch in branches:
        if node.this is not None:
            condition = compare("=", *_sides(node.this, branch.this, scope), branch.this, scope)
            conditions.append(as_condition(with_ansi(condition)) if scope.ansi else condition)
            continue
        condition = bind_expression(branch.this, scope)
        if scope.ansi:
            condition = as_condition(typed_null(condition, BOOLEAN))
        if condition.type != BOOLEAN:
            raise invalid(
                f"WHEN operand type should be boolean. Type for '{condition}' is {condition.type}.", branch
            )
        conditions.append(condition)
    results: list[exp.Expr] = [b.args["true"] for b in branches]
    default: exp.Expr | None = node.args.get("default")
    parts = [*results, *([default] if default is not None else [])]
    type_, bound = unify([bind_expression(p, scope) for p in parts], parts, scope.problem)
    if isinstance(type_, Null):
        raise invalid(
            "Invalid Case expression. All case branches have NULL type.", node,
            hint="Give one of them a type: CAST(NULL AS ...).",
        )  # fmt: skip
    whens = tuple(zip(conditions, bound, strict=False))
    return Case(whens, bound[-1] if default is not None else None, type_)


def _cast(node: exp.Cast, scope: Scope) -> Expression:
    target = resolve_type(node.args["to"], scope.types)
    operand = bind_expression(node.this, scope)
    is_known = can_cast(operand.type, target) or (scope.postgres and postgres.can_cast(operand.type, target))
    if not is_known:
        raise failure("CAST_UNSUPPORTED", node, problem=scope.problem, source=operand.type, target=target)
    if scope.postgres and node.args["to"].name == "TIMESTAMPTZ":
        return postgres_times.zoned(operand if operand.type == target else Cast(operand, target))
    if operand.type == target:
        return operand
    return (TryCast if isinstance(node, exp.TryCast) else Cast)(operand, target)


def assigned(value: Expression, target: SqlType, node: exp.Expr) -> Expression:
    """A number for a column of another numeric type, as PostgreSQL assigns it: rounded, or an error."""
    is_number = is_numeric(value.type) and is_numeric(target) and not isinstance(value, Literal)
    if not is_number or is_implicit(value.type, target):
        return value
    return postgres.meant(Cast(value, target), "", lambda name, arguments: call(name, arguments, node))


# ---- calls --------------------------------------------------------------------------------------------


def refuse_nested(node: nodes.FunctionCall, _: Scope) -> NoReturn:
    """Refuse a table function within another call; a ``table_function`` rule of scopes."""
    raise invalid(f"Table functions can't be nested: {node.name}.", node)


def _call(node: nodes.FunctionCall, scope: Scope) -> Expression:
    if node.name == "GROUPING" and scope.grouping is not None:
        return scope.grouping(node, scope)
    if scope.navigation is not None and node.name in NAVIGATION:
        return scope.navigation(node, scope)
    if scope.postgres and (made := _of_postgres_alone(node, scope)) is not None:
        return made
    with placed_at(node.this):
        spec = registry.require(node.name)
    if spec.kind is Kind.AGGREGATE:
        if scope.aggregate is None:
            raise failure("AGGREGATE_NOT_ALLOWED", node, name=node.name, clause=scope.clause)
        return scope.aggregate(node, scope)
    if node.condition is not None:
        raise invalid(f"FILTER is only for aggregate functions; {node.name} is not one.", node.condition)
    if spec.kind is Kind.TABLE:
        if scope.table_function is None:
            raise failure("TABLE_FUNCTION_NOT_ALLOWED", node, name=node.name, clause=scope.clause)
        return scope.table_function(node, scope)
    if spec.kind in NAMELESS:
        raise failure(
            "FUNCTION_UNKNOWN", node.this, name=node.name, hint="SHOW FUNCTIONS lists all functions."
        )
    if node.distinct:
        raise invalid(f"DISTINCT is only for aggregate functions; {node.name} is not one.", node)
    arguments = bind_arguments(node, scope)
    if scope.ansi and node.name == "FILTER":
        arguments = [_criterion(a, node) for a in arguments]
    bound = call(node.name, arguments, node)
    return _as_list(bound) if bound.function == "ARRAY_CONTAINS" else bound


def _of_postgres_alone(node: nodes.FunctionCall, scope: Scope) -> Expression | None:
    """A call of a function that PostgreSQL has, and KSQL has not; None: KSQL has it, too."""
    if node.name == "GENERATE_SERIES" and not node.meta.get("is_array"):
        return _rows_of_series(node, scope)
    makes = postgres_times.CALLED.get(node.name) or postgres.called(node.name)
    if makes is None or node.order_by or node.condition is not None or node.distinct:
        return None
    with placed_at(node):
        return makes(bind_arguments(node, scope), lambda name, arguments: call(name, arguments, node))


def _rows_of_series(node: nodes.FunctionCall, scope: Scope) -> Expression:
    """GENERATE_SERIES in a SELECT: a row for each element of the array that it is here."""
    if scope.table_function is None:
        raise failure("TABLE_FUNCTION_NOT_ALLOWED", node, name=node.name, clause=scope.clause)
    array = node.copy()
    array.meta["is_array"] = True
    rows = nodes.FunctionCall(this=exp.to_identifier("EXPLODE"), arguments=[array])
    rows.meta.update(node.meta)
    rows.parent = node.parent
    return scope.table_function(rows, scope)


def _criterion(node: Expression, place: exp.Expr) -> Expression:
    """The lambda of FILTER, if ``node`` is one, where NULL takes no element."""
    if not isinstance(node, Lambda) or node.body.type != BOOLEAN:
        return node
    condition = as_condition(node.body)
    if condition == node.body:
        condition = call("COALESCE", (condition, Literal(False, BOOLEAN)), place)
    return Lambda(node.parameters, condition, node.type)


def bind_arguments(node: nodes.FunctionCall, scope: Scope) -> list[Expression]:
    """The bound arguments of a call: without ``*``, interval units as texts, lambdas bound in two phases."""
    arguments = [a for a in node.arguments if not isinstance(a, exp.Star)]
    if not any(isinstance(a, nodes.Lambda) for a in arguments):
        return [_argument(a, scope) for a in arguments]
    plain = {i: _argument(a, scope) for i, a in enumerate(arguments) if not isinstance(a, nodes.Lambda)}
    types: list[SqlType] = []
    literals: list[Any] = []
    for i, argument in enumerate(arguments):
        if isinstance(argument, nodes.Lambda):
            types.append(registry.unbound_lambda(len(argument.parameters)))
            literals.append(None)
        else:
            types.append(plain[i].type)
            bound = plain[i]
            literals.append(bound.value if isinstance(bound, Literal) else None)
    with placed_at(node):
        parameters = registry.lambda_parameters(node.name, types, literals)
    return [
        _lambda(a, parameters[i] or (), scope) if isinstance(a, nodes.Lambda) else plain[i]
        for i, a in enumerate(arguments)
    ]


def _argument(node: exp.Expr, scope: Scope) -> Expression:
    is_unit = isinstance(node, exp.Column) and not node.table and node.name in INTERVAL_UNITS
    if is_unit and not scope.is_column(node.name):
        return Literal(node.name, STRING)
    return bind_expression(node, scope)


def _lambda(node: nodes.Lambda, types: Sequence[SqlType], scope: Scope) -> Lambda:
    names = [str(p.this) for p in node.parameters]
    for name, parameter in zip(names, node.parameters, strict=True):
        if name in scope.lambdas or names.count(name) > 1:
            raise invalid(f"Reusing lambda arguments in nested lambda is not allowed: {name}.", parameter)
        if scope.is_column(name):
            raise invalid(
                f"Lambda function argument can't be a column name: {name}.", parameter, hint="Rename it."
            )
    body = bind_expression(node.body, scope.with_lambda(dict(zip(names, types, strict=True))))
    return Lambda(tuple(names), body, Function(tuple(types), body.type))


def _lambda_alone(node: nodes.Lambda, scope: Scope) -> Expression:
    raise invalid("A lambda can only be an argument of a function such as TRANSFORM, FILTER or REDUCE.", node)


def _row(node: exp.Tuple, scope: Scope) -> Expression:
    raise invalid("A row, as (a, b), is only for comparisons with rows, and for IN.", node)


def _window_function(node: nodes.WindowFunction, scope: Scope) -> Expression:
    if scope.window_function is None:
        hint = "It is for SELECT, ORDER BY and QUALIFY. Put it into a sub-query in FROM, and its name here."
        if node.this.name in RANKING:
            hint = BEST_ROWS
        raise invalid(f"{node.this.name}() OVER (…) is not allowed here.", node, hint=hint)
    return scope.window_function(node, scope)


def _match_value(node: nodes.MatchValue, scope: Scope) -> Expression:
    if scope.match_value is None:
        raise invalid("FINAL and RUNNING are for MEASURES of MATCH_RECOGNIZE.", node)
    return scope.match_value(node, scope)


_RULES: dict[type[exp.Expr], Rule] = {
    nodes.IntegerLiteral: _integer,
    nodes.DecimalLiteral: _decimal,
    nodes.FloatLiteral: lambda node, scope: Literal(node.value, DOUBLE),
    exp.Literal: _string,
    exp.Boolean: lambda node, scope: Literal(bool(node.this), BOOLEAN),
    exp.Null: lambda node, scope: Literal(None, NULL),
    exp.Column: _column,
    exp.Paren: lambda node, scope: bind_expression(node.this, scope),
    exp.Neg: _negate,
    nodes.Pos: _plus,
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
    exp.DPipe: _associative("||", bind_expression),
    exp.EQ: _comparison("="),
    exp.NEQ: _comparison("<>"),
    exp.LT: _comparison("<"),
    exp.LTE: _comparison("<="),
    exp.GT: _comparison(">"),
    exp.GTE: _comparison(">="),
    exp.NullSafeNEQ: _comparison("IS DISTINCT FROM"),
    exp.NullSafeEQ: _comparison("IS NOT DISTINCT FROM"),
    exp.Is: _is_null,
    exp.In: _in,
    nodes.Exists: _sub_query,
    nodes.InQuery: _sub_query,
    nodes.ScalarQuery: _sub_query,
    exp.Between: _between,
    nodes.Like: _like,
    exp.Not: _not,
    exp.And: _associative("AND", _operand),
    exp.Or: _associative("OR", _operand),
    exp.Case: _case,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    nodes.FunctionCall: _call,
    nodes.Dereference: lambda node, scope: dereference(
        bind_expression(node.this, scope), node.field_name, node
    ),
    nodes.Subscript: _subscript,
    nodes.JsonPath: _json_path,
    nodes.Interval: _interval,
    nodes.ArrayConstructor: _array,
    nodes.MapConstructor: _map,
    nodes.StructConstructor: _struct,
    nodes.Lambda: _lambda_alone,
    exp.Tuple: _row,
    nodes.MatchValue: _match_value,
    nodes.WindowFunction: _window_function,
}
