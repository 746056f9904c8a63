"""SQL types (reference §3.1): immutable values, their text form, and the widening order.

Nothing here knows Spark, Kafka or any format. Used by every layer above.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Context
from typing import Union


@dataclass(frozen=True)
class Primitive:
    """A type without parameters; ``name`` is the base name that the REST API shows.

    ``has_zone``: of a TIMESTAMP, whether it is one WITH TIME ZONE in PostgreSQL, for which AT TIME ZONE has
    another meaning. It is the same type: a moment in UTC.
    """

    name: str
    has_zone: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


#: arithmetic with more digits than any DECIMAL has; Python's default has 28
EXACT = Context(prec=1000)
#: characters that the text of a DECIMAL may have, as in DecimalField.java: the time to read it grows with
#: their square, and no DECIMAL has more
MAX_DECIMAL_TEXT = 1000


@dataclass(frozen=True)
class Decimal:
    """DECIMAL(precision, scale): 1 <= precision, 0 <= scale <= precision."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class Array:
    """ARRAY<element>; elements may be NULL."""

    element: SqlType

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class Map:
    """MAP<key, value>."""

    key: SqlType
    value: SqlType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class Field:
    """One named field of a STRUCT."""

    name: str
    type: SqlType


@dataclass(frozen=True)
class Struct:
    """STRUCT<name type, ...> with ordered fields."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        inner = ", ".join(f"{quote_identifier(f.name)} {f.type}" for f in self.fields)
        return f"STRUCT<{inner}>" if inner else "STRUCT< >"

    def field(self, name: str) -> Field | None:
        """The field called exactly ``name``, or None."""
        return next((f for f in self.fields if f.name == name), None)


@dataclass(frozen=True)
class Function:
    """The type of a lambda argument: what it takes and what it returns."""

    parameters: tuple[SqlType, ...]
    result: SqlType

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.parameters))
        return f"LAMBDA ({inner}) => {self.result}"


@dataclass(frozen=True)
class Null:
    """The type of the literal NULL, before its context gives it another."""

    def __str__(self) -> str:
        return "NULL"


SqlType = Union[Primitive, Decimal, Array, Map, Struct, Function, Null]

BOOLEAN = Primitive("BOOLEAN")
INTEGER = Primitive("INTEGER")
BIGINT = Primitive("BIGINT")
DOUBLE = Primitive("DOUBLE")
STRING = Primitive("STRING")
BYTES = Primitive("BYTES")
DATE = Primitive("DATE")
TIME = Primitive("TIME")
TIMESTAMP = Primitive("TIMESTAMP")
#: one JSON value of any kind, except null, which is NULL (ADR 67)
VARIANT = Primitive("VARIANT")
#: milliseconds; a value within expressions, which no column stores (§3.5)
INTERVAL = Primitive("INTERVAL")
#: months and years, whose lengths differ
CALENDAR_INTERVAL = Primitive("INTERVAL YEAR TO MONTH")
NULL = Null()

PRIMITIVES: dict[str, Primitive] = {
    t.name: t for t in (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, VARIANT)
}
ALIASES: dict[str, Primitive] = PRIMITIVES | {"INT": INTEGER, "VARCHAR": STRING, "TIMESTAMPTZ": TIMESTAMP}

#: the type of the pseudo column behind HEADERS columns (reference §2.1)
HEADERS = Array(Struct((Field("KEY", STRING), Field("VALUE", BYTES))))


def is_numeric(type_: SqlType) -> bool:
    """True for INTEGER, BIGINT, DECIMAL and DOUBLE."""
    return isinstance(type_, Decimal) or type_ in (INTEGER, BIGINT, DOUBLE)


def is_temporal(type_: SqlType) -> bool:
    """True for DATE, TIME and TIMESTAMP."""
    return type_ in (DATE, TIME, TIMESTAMP)


def contains_variant(type_: SqlType) -> bool:
    """True if ``type_`` is or contains a VARIANT."""
    match type_:
        case Array(element):
            return contains_variant(element)
        case Map(key, value):
            return contains_variant(key) or contains_variant(value)
        case Struct(fields):
            return any(contains_variant(f.type) for f in fields)
    return type_ == VARIANT


def without_equality(type_: SqlType) -> str | None:
    """Return which part of ``type_`` Spark cannot compare, MAPs or VARIANTs, or None if it can be a key.

    >>> without_equality(Array(Map(STRING, STRING)))
    'MAPs'
    """
    return "MAPs" if contains_map(type_) else VARIANTS if contains_variant(type_) else None


VARIANTS = "VARIANTs"
#: advice in messages, since scalars in a VARIANT have no type of their own
CAST_VARIANT = "Cast it: payload:user.id::STRING."


def contains_map(type_: SqlType) -> bool:
    """True if ``type_`` is or contains a MAP; such types cannot be keys (§2.1)."""
    match type_:
        case Map():
            return True
        case Array(element):
            return contains_map(element)
        case Struct(fields):
            return any(contains_map(f.type) for f in fields)
    return False


def size(type_: SqlType) -> int:
    """Count the types that ``type_`` consists of, at all levels, including itself."""
    match type_:
        case Array(element):
            return 1 + size(element)
        case Map(key, value):
            return 1 + size(key) + size(value)
        case Struct(fields):
            return 1 + sum(size(field.type) for field in fields)
    return 1


def contains_interval(type_: SqlType) -> bool:
    """True if ``type_`` is or contains an INTERVAL, which no column stores (§3.5)."""
    match type_:
        case Array(element):
            return contains_interval(element)
        case Map(key, value):
            return contains_interval(key) or contains_interval(value)
        case Struct(fields):
            return any(contains_interval(f.type) for f in fields)
    return type_ in (INTERVAL, CALENDAR_INTERVAL)


def to_decimal(type_: SqlType) -> Decimal:
    """The DECIMAL type of an exact number: INTEGER is (10,0), BIGINT is (19,0) (§3.5).

    Raises:
        ValueError: for any other type.
    """
    match type_:
        case Decimal():
            return type_
        case Primitive("INTEGER"):
            return Decimal(10, 0)
        case Primitive("BIGINT"):
            return Decimal(19, 0)
    raise ValueError(f"{type_} is not an exact number")


def widen_numeric(left: SqlType, right: SqlType) -> SqlType:
    """The narrowest numeric type that holds both: INT -> BIGINT -> DECIMAL -> DOUBLE (§3.4)."""
    if left == right:
        return left
    if DOUBLE in (left, right):
        return DOUBLE
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        a, b = to_decimal(left), to_decimal(right)
        scale = max(a.scale, b.scale)
        return Decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    return BIGINT


def keeps_numbers(source: SqlType, target: SqlType) -> bool:
    """Whether a cast between these types keeps all numbers as they are."""
    if source == INTEGER and target in (BIGINT, DOUBLE):
        return True
    if not isinstance(target, Decimal) or not (source in (INTEGER, BIGINT) or isinstance(source, Decimal)):
        return False
    needed = to_decimal(source)
    whole = target.precision - target.scale
    return (
        target.precision <= 38 and target.scale >= needed.scale and whole >= needed.precision - needed.scale
    )


def quote_identifier(name: str) -> str:
    """``name`` in backquotes, with backquotes in it doubled."""
    return "`" + name.replace("`", "``") + "`"


def with_zone(has_zone: bool) -> Primitive:
    """TIMESTAMP as a type with a zone in PostgreSQL, or without."""
    return Primitive("TIMESTAMP", has_zone)
