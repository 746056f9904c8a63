"""The spec of a function or operator: everything that is known about it, in one value.

The registry, the analyzer, DESCRIBE FUNCTION, the reference page, the tests and the Spark lowering all use
the same spec. Family modules (numeric.py, strings.py, ...) contain the specs; this module knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal as PythonDecimal
from enum import Enum
from typing import Any

from ksql_spark import expressions
from ksql_spark.expressions import Call, Cast, Expression, Lambda, LambdaRef, Literal, MakeStruct
from ksql_spark.functions.signatures import Signature, common_type
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    VARIANT,
    Array,
    Decimal,
    Field,
    Map,
    Primitive,
    SqlType,
    Struct,
)


class Kind(Enum):
    """The kind of thing that a spec defines."""

    OPERATOR = "OPERATOR"
    SCALAR = "SCALAR"
    AGGREGATE = "AGGREGATE"
    TABLE = "TABLE"
    #: what a call means in PostgreSQL's dialect, in whose place it is put: nobody writes it
    DIALECT = "DIALECT"


#: kinds that nobody calls by a name
NAMELESS = (Kind.OPERATOR, Kind.DIALECT)


class OnNull(Enum):
    """The effect of a NULL argument, and so the meaning of a NULL result (reference §3.2)."""

    #: the function decides; its NULL is a value
    VALUE = "VALUE"
    #: evaluating it is an error, and NULL stands for that error (arithmetic, LIKE)
    ERROR = "ERROR"
    #: the result is FALSE (comparisons)
    FALSE = "FALSE"
    #: the result is never NULL (IS NULL, IS DISTINCT FROM)
    NEVER = "NEVER"


class Category:
    """Categories that SHOW FUNCTIONS prints (reference §4.10)."""

    AGGREGATE = "AGGREGATE"
    ARRAY = "ARRAY"
    CONDITIONAL = "CONDITIONAL"
    CONVERSIONS = "CONVERSIONS"
    DATE_TIME = "DATE / TIME"
    JSON = "JSON"
    LAMBDA = "LAMBDA"
    MAP = "MAP"
    MATHEMATICAL = "MATHEMATICAL"
    OPERATOR = "OPERATOR"
    OTHER = "OTHER"
    #: what other operators mean with ksql.sql.dialect = postgres, which has no name of its own
    POSTGRESQL = "POSTGRESQL"
    REGULAR_EXPRESSION = "REGULAR EXPRESSION"
    STRING = "STRING"
    TABLE = "TABLE"
    URL = "URL"


#: properties that limit the size of a function's result; the catalog passes them to functions
MAX_ELEMENTS, MAX_BYTES = "ksql.functions.max.elements", "ksql.functions.max.bytes"
#: the result is no larger than the largest argument, but for a constant, or a factor that nested calls do not
#: multiply, as of UCASE; so no limit is needed
BY_ARGUMENTS: tuple[str, ...] = ()
#: limits of results that ``grow``
ALL_LIMITS = (MAX_ELEMENTS, MAX_BYTES)

#: a DECIMAL(38, 10) for examples; Spark would lose some of its digits
ALL_DIGITS = PythonDecimal("9" * 28 + "." + "9" * 10)

#: texts of the arguments (atomic or in parentheses) and their types -> Spark SQL text
Lowering = Callable[[Sequence[str], Sequence[SqlType]], str]


@dataclass(frozen=True)
class Example:
    """A call and its result; each is a test and a line of the reference page.

    Args:
        args: Python values (see ``expression``) or bound expressions.
        result: the value in the canonical form of tests: numbers, text, bool, bytes, Decimal, list, dict,
            None; DATE, TIME and TIMESTAMP in the text form of reference §3.1.
    """

    args: tuple[Any, ...]
    result: Any


@dataclass(frozen=True)
class Noted:
    """A lowering of an aggregate whose state is noted by another text, which a release has noted (ADR 16)."""

    lower: Lowering
    of_state: Lowering

    def __call__(self, arguments: Sequence[str], types: Sequence[SqlType]) -> str:
        """The Spark SQL text of a call."""
        return self.lower(arguments, types)


@dataclass(frozen=True)
class Resolved:
    """The result of a typing rule: the types to which arguments must be coerced, and the result's type."""

    parameter_types: tuple[SqlType, ...]
    result_type: SqlType


class Ambiguous(Exception):
    """Raised by a typing rule: the arguments fit several overloads equally well."""


#: typing rule of an operator whose signatures cannot say it: argument types, literal values -> types or None
TypingRule = Callable[[Sequence[SqlType], Sequence[Any]], "Resolved | None"]


@dataclass(frozen=True)
class Origin:
    """The origin of a user function: its file or module, its author and version."""

    path: str
    author: str = ""
    version: str = ""


@dataclass(frozen=True)
class Spec:
    """One function or operator.

    ``spark`` is None if Spark's built-ins cannot do it; ``gap`` then says what is missing.

    The rest is for aggregates (reference §4.8). Two more lowerings of theirs:

    - ``spark_table``: over a table, whose changes retract a row and add another. Its last argument is the
      text of an INT column: 1 adds the row, -1 retracts it. None: not over tables.
    - ``spark_distinct``: of distinct values only, which it keeps (DISTINCT in batches, sessions and sliding
      windows; elsewhere the operator keeps them). None: DISTINCT is refused.
    - ``spark_merged``: for merging partial results whose rows arrived interleaved (session windows). None:
      ``spark`` does that too. ``merge`` says whether session windows are possible at all.

    ``by_arrival``: the result depends on the order in which the rows of a group come, so rows of several
    partitions are taken in one order (reference §6.12).

    ``settings`` are properties whose values all lowerings take as literals, after the arguments of the call;
    if they are not passed, the properties' defaults apply.

    ``can_fail``: it has a result for all valid arguments, so a NULL result for arguments that are not NULL is
    a failure, which is reported. An aggregate with it has a DECIMAL result for all rows that its type can
    hold, and NULL for others.

    ``limits``: the properties that limit how large its result may become, because it may be far larger than
    its arguments; beyond them it fails. ``BY_ARGUMENTS``: the arguments limit it. None is for results of a
    fixed size, such as numbers.

    ``grows``: the result may be larger than the arguments by a small factor only, which nested calls
    multiply. So it may be looked at when it is there, and ``lowering`` does that. Other limited functions
    look at their results while they make them.

    ``failed``: for a function that may be NULL for other reasons, or fail with NULL arguments: the text of a
    BOOLEAN, never NULL, that is true if a call that returned NULL failed. None: it failed unless an argument
    is NULL.

    ``aliases`` are other names that SQL has for it, beyond ksqlDB. ``is_ours``: the function itself is beyond
    ksqlDB.

    ``origin`` is None for what comes with the engine.
    """

    name: str
    kind: Kind
    category: str
    description: str
    signatures: tuple[Signature, ...]
    spark: Lowering | None
    examples: tuple[Example, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    on_null: OnNull = OnNull.VALUE
    typing: TypingRule | None = None
    can_fail: bool = False
    limits: tuple[str, ...] | None = None
    grows: bool = False
    failed: Lowering | None = None
    aliases: tuple[str, ...] = ()
    is_ours: bool = False
    is_deterministic: bool = True
    spark_table: Lowering | None = None
    spark_merged: Lowering | None = None
    spark_distinct: Lowering | None = None
    settings: tuple[str, ...] = ()
    merge: bool = False
    by_arrival: bool = False
    gap: str | None = None
    origin: Origin | None = None

    @property
    def beyond(self) -> str:
        """A sentence on what ksqlDB lacks of it; empty if nothing."""
        also = f"also written {' or '.join(self.aliases)}" if self.aliases else ""
        if self.is_ours:
            return f"Beyond ksqlDB; {also}." if also else "Beyond ksqlDB."
        return f"Beyond ksqlDB: {also}." if also else ""

    @property
    def undo(self) -> bool:
        """Whether the aggregate can retract rows, so that it may be used over tables (reference §4.8)."""
        return self.spark_table is not None


def scalar(
    name: str,
    category: str,
    description: str,
    signatures: Sequence[Signature],
    spark: Lowering | None,
    *examples: Example,
    **more: Any,
) -> Spec:
    """A scalar function's spec; ``more`` are further fields of ``Spec``."""
    return Spec(name, Kind.SCALAR, category, description, tuple(signatures), spark, examples, **more)


def operator(
    name: str,
    description: str,
    signatures: Sequence[Signature],
    spark: Lowering | None,
    *examples: Example,
    **more: Any,
) -> Spec:
    """An operator's spec; ``more`` are further fields of ``Spec``."""
    return Spec(
        name, Kind.OPERATOR, Category.OPERATOR, description, tuple(signatures), spark, examples, **more
    )


def aggregate(
    name: str,
    description: str,
    signatures: Sequence[Signature],
    spark: Lowering | None,
    *examples: Example,
    **more: Any,
) -> Spec:
    """An aggregate function's spec; ``more`` are further fields of ``Spec``."""
    return Spec(
        name, Kind.AGGREGATE, Category.AGGREGATE, description, tuple(signatures), spark, examples, **more
    )


def table_function(
    name: str,
    description: str,
    signatures: Sequence[Signature],
    spark: Lowering | None,
    *examples: Example,
    **more: Any,
) -> Spec:
    """A table function's spec: ``spark`` returns an ARRAY with one element per row."""
    return Spec(name, Kind.TABLE, Category.TABLE, description, tuple(signatures), spark, examples, **more)


def is_limited(node: Call, spec: Spec) -> bool:
    """Whether the result of ``node``, a call of ``spec``, is NULL where it would exceed limits."""
    if not spec.limits or has_fixed_size(node.type):
        return False
    return not spec.grows or any(
        not isinstance(a, Literal) and not has_fixed_size(a.type) for a in node.arguments
    )


def has_fixed_size(type_: SqlType) -> bool:
    """Whether all values of ``type_`` take about the same memory: numbers, dates, BOOLEAN."""
    return isinstance(type_, (Primitive, Decimal)) and type_ not in (STRING, BYTES, VARIANT)


# ---- Python values as expressions, for examples -------------------------------------------------------


@dataclass(frozen=True)
class Typed:
    """A Python value with its SQL type named; temporal values in the text form of reference §3.1."""

    value: Any
    type: SqlType


def expression(value: Any) -> Expression:
    """The bound expression for an example's argument.

    int -> INTEGER or BIGINT, float -> DOUBLE, Decimal -> DECIMAL by its digits, list -> ARRAY, dict -> MAP
    (STRUCT where wrapped by ``struct``), None -> NULL, ``Typed`` -> a literal cast to its type.
    """
    match value:
        case (
            Call()
            | Cast()
            | Literal()
            | Lambda()
            | LambdaRef()
            | MakeStruct()
            | expressions.ColumnRef()
            | expressions.Case()
            | expressions.FieldRef()
        ):
            return value
        case Typed(inner, type_):
            bound = expression(inner)
            return bound if bound.type == type_ else Cast(bound, type_)
        case None:
            return Literal(None, NULL)
        case bool():
            return Literal(value, BOOLEAN)
        case int():
            return Literal(value, INTEGER if -(2**31) <= value < 2**31 else BIGINT)
        case float():
            return Literal(value, DOUBLE)
        case str():
            return Literal(value, STRING)
        case bytes():
            import base64

            return Cast(Literal(base64.b64encode(value).decode(), STRING), BYTES)
        case PythonDecimal():
            return Literal(value, decimal_type(value))
        case list():
            items = [expression(v) for v in value]
            element = _common(items)
            return Call("ARRAY", tuple(_as(i, element) for i in items), Array(element))
        case dict():
            keys = [expression(k) for k in value]
            values = [expression(v) for v in value.values()]
            key_type, value_type = _common(keys), _common(values)
            flat = [
                _as(e, t)
                for k, v in zip(keys, values, strict=True)
                for e, t in ((k, key_type), (v, value_type))
            ]
            return Call("MAP", tuple(flat), Map(key_type, value_type))
    raise TypeError(f"no expression for {value!r}")


def parsed(text: str) -> Call:
    """A VARIANT for examples."""
    return Call("PARSE_JSON", (Literal(text, STRING),), VARIANT)


def struct(**fields: Any) -> MakeStruct:
    """A STRUCT constructor for examples."""
    items = tuple((name, expression(value)) for name, value in fields.items())
    return MakeStruct(items, Struct(tuple(Field(name, e.type) for name, e in items)))


def decimal_type(value: PythonDecimal) -> Decimal:
    """The DECIMAL type of a literal, by its digits: 0.05 is DECIMAL(3, 2) (reference §3.5)."""
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    whole = max(1, len(digits) + int(exponent))
    return Decimal(whole + scale, scale)


def _common(items: Sequence[Expression]) -> SqlType:
    merged: SqlType = NULL
    for item in items:
        wider = common_type(merged, item.type)
        if wider is None:
            raise TypeError(f"mixed types in {items}")
        merged = wider
    return merged


def _as(item: Expression, type_: SqlType) -> Expression:
    return item if item.type == type_ else Cast(item, type_)
