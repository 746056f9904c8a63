"""Type conversion: implicit coercion, CAST, and the more lenient rules of lists (reference §3.4).

The functions map bound expressions to bound expressions; conversions become Cast nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as PythonDecimal
from typing import Any

from ksql_spark.analyzer.base.failures import Placed, failure, invalid
from ksql_spark.expressions import Call, Cast, Expression, Lambda, Literal, MakeStruct, Members
from ksql_spark.functions.signatures import boolean_of, common_type, implicit_cost, unquoted_number, with_text
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    EXACT,
    NULL,
    STRING,
    Array,
    Decimal,
    Field,
    Function,
    Map,
    Null,
    Primitive,
    SqlType,
    Struct,
    is_numeric,
)


def coerce(node: Expression, target: SqlType) -> Expression:
    """``node`` as ``target``, by a Cast unless it has that type; the caller has checked that it may."""
    if node.type == target or isinstance(target, Null):
        return node
    if isinstance(node, Lambda) and isinstance(target, Function):
        return Lambda(node.parameters, coerce(node.body, target.result), target)
    return Cast(node, target)


def is_implicit(source: SqlType, target: SqlType) -> bool:
    """Whether a value of ``source`` is coerced to ``target`` implicitly (reference §3.4, strict rules)."""
    return implicit_cost(source, target) is not None


# ---- lists: ARRAY, MAP, IN, CASE ----------------------------------------------------------------------


def unify(
    members: Sequence[Expression], nodes: Sequence[Placed | None], problem: str = ""
) -> tuple[SqlType, list[Expression]]:
    """The common type of a list's members, and the members coerced to it.

    Args:
        members: the bound members.
        nodes: the members' syntax nodes, for positions of errors.
        problem: the beginning of error messages.

    The first member that is not NULL decides; numbers widen; literals are converted more leniently (reference
    §3.4). If all members are NULL, so is the type.

    Raises:
        KsqlError: LIST_TYPES or LITERAL_SYNTAX at the member that does not fit.
    """
    common: SqlType = NULL
    for member, node in zip(members, nodes, strict=True):
        try:
            common = _merge(common, member)
        except _Mismatch as mismatch:
            if mismatch.literal is not None:
                raise failure(
                    "LITERAL_SYNTAX", node, problem=problem, type=mismatch.target, value=mismatch.literal
                ) from None
            type_ = member.type
            raise failure(
                "LIST_TYPES", node, problem=problem, wanted=common, given=type_, member=member
            ) from None
    return common, [_fit(m, common) for m in members]


def constants(members: Sequence[Expression], target: SqlType) -> Members | None:
    """The members of a list as one set of constants of ``target``; None where one is NULL or no constant.

    INTEGERs that a list of BIGINTs widens are BIGINTs at once.
    """
    values: list[Any] = []
    for member in members:
        match member:
            case Literal(value, type_) if type_ == target and value is not None:
                values.append(value)
            case Cast(Literal(int(value), _), type_) if type_ == target == BIGINT:
                values.append(value)
            case _:
                return None
    # equal floats may differ (0.0 and -0.0)
    is_exact = not any(isinstance(value, float) for value in values)
    return Members(tuple(dict.fromkeys(values)) if is_exact else tuple(values), target)


class _Mismatch(Exception):
    """A part of a list member that does not fit; ``literal``: a text that cannot be read as ``target``."""

    def __init__(self, target: SqlType, literal: str | None = None) -> None:
        super().__init__()
        self.target = target
        self.literal = literal


def _merge(common: SqlType, member: Expression) -> SqlType:
    """``common``, widened so that ``member`` fits too."""
    type_ = member.type
    if not isinstance(common, Null) and isinstance(member, Cast) and member.operand == Literal(None, NULL):
        # a NULL has any type, even if an inner list has given it one
        return common_type(common, type_) or common
    if isinstance(common, Null) or isinstance(type_, Null):
        return type_ if isinstance(common, Null) else common
    match common, member:
        case Array(element), Call("ARRAY", members, _):
            for inner in members:
                element = _merge(element, inner)
            return Array(element)
        case Map(key, value), Call("MAP", members, _):
            for inner in members[::2]:
                key = _merge(key, inner)
            for inner in members[1::2]:
                value = _merge(value, inner)
            return Map(key, value)
        case Struct(fields), MakeStruct(struct_members, _):
            return _merge_struct(fields, dict(struct_members))
        case Struct(fields), _ if isinstance(type_, Struct) and common != type_:
            return _merge_columns(fields, type_)
    if common == STRING and is_scalar_literal(member):
        return STRING
    if type_ == STRING and isinstance(member, Literal) and common != STRING:
        widened = with_text(common, str(member.value))
        if widened is None:
            raise _Mismatch(common, str(member.value))
        return widened
    merged = common_type(common, type_)
    if merged is None or (STRING in (common, type_) and merged != STRING):
        raise _Mismatch(common)
    return merged


def _merge_struct(fields: tuple[Field, ...], members: dict[str, Expression]) -> Struct:
    merged = [Field(f.name, _merge(f.type, members[f.name]) if f.name in members else f.type) for f in fields]
    names = {f.name for f in fields}
    merged += [Field(name, e.type) for name, e in members.items() if name not in names]
    return Struct(tuple(merged))


def _merge_columns(fields: tuple[Field, ...], other_struct: Struct) -> Struct:
    """All fields of both; fields in both have their common type."""
    merged = []
    for field in fields:
        other = other_struct.field(field.name)
        type_ = common_type(field.type, other.type) if other else field.type
        if type_ is None:
            raise _Mismatch(field.type)
        merged.append(Field(field.name, type_))
    names = {f.name for f in fields}
    return Struct((*merged, *(f for f in other_struct.fields if f.name not in names)))


def is_scalar_literal(node: Expression) -> bool:
    """Whether ``node`` is a literal of a scalar type, except NULL."""
    return (
        isinstance(node, Literal) and node.value is not None and isinstance(node.type, (Primitive, Decimal))
    )


def _fit(member: Expression, target: SqlType) -> Expression:
    """``member`` as ``target``; constructors are rebuilt from converted parts."""
    if member.type == target:
        return member
    match target, member:
        case Array(element), Call("ARRAY", members, _):
            return Call("ARRAY", tuple(_fit(m, element) for m in members), target)
        case Map(key, value), Call("MAP", members, _):
            parts = (_fit(m, value if i % 2 else key) for i, m in enumerate(members))
            return Call("MAP", tuple(parts), target)
        case Struct(fields), MakeStruct(struct_members, _):
            by_name = dict(struct_members)
            parts_by_name = ((f.name, _fit(by_name.get(f.name, Literal(None, NULL)), f.type)) for f in fields)
            return MakeStruct(tuple(parts_by_name), target)
    if target == BOOLEAN and isinstance(member, Literal) and isinstance(member.value, str):
        return Literal(boolean_of(member.value), BOOLEAN)
    if isinstance(member, Literal) and member.type == STRING and is_numeric(target):
        number = PythonDecimal(member.value.strip())
        # CAST to a whole number does not accept exponents, which only what is a DOUBLE may have: the digits
        # of 1e999999999 do not fit in memory
        text = str(number) if target == DOUBLE else f"{number:f}"
        return Cast(Literal(text, STRING), target)
    return coerce(member, target)


# ---- INSERT VALUES ------------------------------------------------------------------------------------


def insert_coerce(node: Expression, target: SqlType, column: str, place: Placed | None) -> Expression:
    """A value of INSERT VALUES, coerced to its column's type by the strict rules (reference §2.4, §3.4).

    Raises:
        KsqlError: INVALID_STATEMENT if ``node`` does not fit.
    """
    if node.type == target:
        return node
    match target, node:
        case Decimal(), Cast(Literal() as literal, wider) if is_implicit(literal.type, wider):
            # ARRAY[1, 2.5] has widened it: what counts is the number itself
            return insert_coerce(literal, target, column, place)
        case Array(element), Call("ARRAY", members, _):
            return Call("ARRAY", tuple(insert_coerce(m, element, column, place) for m in members), target)
        case Map(key, value), Call("MAP", members, _):
            parts = (insert_coerce(m, value if i % 2 else key, column, place) for i, m in enumerate(members))
            return Call("MAP", tuple(parts), target)
        case Struct(), MakeStruct(members_of_struct, _):
            # by name, as in ksqlDB: missing fields are NULL, unknown ones are dropped
            by_name = {name: e for name, e in members_of_struct}
            fields = (
                (f.name, insert_coerce(by_name.get(f.name, Literal(None, NULL)), f.type, column, place))
                for f in target.fields
            )
            return MakeStruct(tuple(fields), target)
    if not is_implicit(node.type, target) and not _fits_exactly(node, target):
        reason = f"Expected type {target} for field `{column}` but got {node.type}({node})."
        raise invalid(reason, place, hint=_requoted(node, target))
    return coerce(node, target)


def _requoted(node: Expression, target: SqlType) -> str | None:
    """Advice where a literal has quotes that it should not have, or lacks them."""
    if not isinstance(node, Literal):
        return None
    if node.type == STRING and is_numeric(target) and (number := unquoted_number(node.value)):
        return f"Write the number without quotes: {number}."
    if is_numeric(node.type) and target == STRING:
        return f"Write the text in quotes: '{node.value}'."
    return None


def _fits_exactly(node: Expression, target: SqlType) -> bool:
    """Whether a literal number fits DECIMAL(p, s): 3 fits DECIMAL(4, 2), although INTEGER does not."""
    if not isinstance(node, Literal) or isinstance(node.value, bool) or not isinstance(target, Decimal):
        return False
    if not isinstance(node.value, (int, PythonDecimal)):
        return False
    number = PythonDecimal(node.value).normalize(EXACT)
    scale = max(0, -int(number.as_tuple().exponent))
    return scale <= target.scale and (not number or number.adjusted() < target.precision - target.scale)
