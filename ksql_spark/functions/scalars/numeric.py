"""Numeric functions (reference §4.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal as PythonDecimal
from functools import reduce
from typing import Any

from ksql_spark.functions.signatures import ResultRule, Signature, common_type, signature
from ksql_spark.functions.spark_text import has_own_order, let, signed, spark_type, unless_null
from ksql_spark.functions.spec import (
    ALL_DIGITS,
    BY_ARGUMENTS,
    MAX_ELEMENTS,
    Ambiguous,
    Category,
    Example,
    Lowering,
    Resolved,
    Spec,
    Typed,
    scalar,
)
from ksql_spark.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    STRING,
    Decimal,
    Null,
    Primitive,
    SqlType,
    is_numeric,
    to_decimal,
)

Types = Sequence[SqlType]


def _same(types: Types) -> SqlType:
    return types[0]


def _without_scale(types: Types) -> SqlType:
    decimal = to_decimal(types[0])
    return Decimal(max(1, decimal.precision - decimal.scale), 0)


def _numbers(result: ResultRule = _same) -> tuple[Signature, ...]:
    """One signature for each numeric type, with ``result`` for DECIMAL."""
    return (
        *(signature(f"value {t} -> {t}") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        signature("value DECIMAL", result, "DECIMAL"),
    )


_TO_WHOLE = (
    *(signature(f"value {t} -> BIGINT") for t in ("INTEGER", "BIGINT", "DOUBLE")),
    signature("value DECIMAL", _without_scale, "DECIMAL"),
    signature("value DOUBLE, decimals INTEGER -> DOUBLE"),
    signature("value DECIMAL, decimals INTEGER", _same, "DECIMAL"),
)

# ---- rounding ------------------------------------------------------------------------------------------

#: doubles from here on have no fraction
_WHOLE_FROM = "4503599627370496D"


def _step(function: str) -> Lowering:
    """CEIL or FLOOR."""

    def lower(args: Sequence[str], types: Types) -> str:
        if types[0] in (INTEGER, BIGINT):
            return args[0]
        if types[0] == DOUBLE:
            # Spark's returns a BIGINT, whose range is smaller than that of doubles
            return let(
                args[0], lambda x: f"if(abs({x}) < {_WHOLE_FROM}, cast({function}({x}) as double), {x})"
            )
        return f"cast({function}({args[0]}) as {spark_type(types[0])})"

    return lower


def _round(args: Sequence[str], types: Types) -> str:
    """Round to the nearest, ties toward positive infinity."""
    kind = types[0]
    if len(args) == 2:
        return _round_to(args, types)
    if kind in (INTEGER, BIGINT):
        return f"cast({args[0]} as bigint)"
    if kind == DOUBLE:
        # not floor(x + 0.5): for the number just below 0.5 that sum is 1
        nearest = "floor({x}) + if({x} - floor({x}) >= 0.5D, 1L, 0L)"
        return let(
            args[0],
            lambda x: f"if(abs({x}) < {_WHOLE_FROM}, {nearest.format(x=x)}, cast({x} as bigint))",
        )
    return f"cast(floor({args[0]} + 0.5BD) as {spark_type(_without_scale(types))})"


def _round_to(args: Sequence[str], _: Types) -> str:
    # Spark's rounds ties away from zero, and only to a constant number of decimals
    return _by_digits("round", args)


def _truncate(args: Sequence[str], types: Types) -> str:
    """Truncate toward zero."""
    kind = types[0]
    if len(args) == 1:
        if kind in (INTEGER, BIGINT, DOUBLE):
            return f"cast({args[0]} as bigint)"
        sql_type = spark_type(_without_scale(types))
        return let(args[0], lambda x: f"cast(if({x} < 0, ceil({x}), floor({x})) as {sql_type})")
    return _by_digits("truncate", args)


def _by_digits(function: str, args: Sequence[str]) -> str:
    return let(args[0], lambda x: unless_null((x, args[1]), f"ksql.{function}({x}, {args[1]})"))


# ---- the rest ------------------------------------------------------------------------------------------


def _logarithm(text: str) -> str:
    """The natural logarithm as in Java: Spark's returns NULL for 0 and below."""
    below = "if({x} = 0D, double('-Infinity'), double('NaN'))"
    return let(text, lambda x: f"if({x} <= 0D, {below.format(x=x)}, ln({x}))")


def _log(args: Sequence[str], _: Types) -> str:
    if len(args) == 1:
        return _logarithm(args[0])
    base, value = args
    quotient = f"{_logarithm(value)} / ln({base})"
    return f"if({base} <= 0D or {base} = 1D, {value} * double('NaN'), {quotient})"


_COMPARED = ("INTEGER", "BIGINT", "DECIMAL", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")


def _common(types: Types, _: Sequence[Any]) -> Resolved | None:
    if not types:
        return None
    # ksqlDB accepts mixed numbers only if a single type remains for them: with a DOUBLE among them
    numbers = {type(t) if isinstance(t, Decimal) else t for t in types if is_numeric(t)}
    if all(isinstance(t, Null) for t in types) or (len(numbers) > 1 and DOUBLE not in numbers):
        raise Ambiguous
    merged: SqlType | None = types[0]
    for type_ in types[1:]:
        merged = merged and common_type(merged, type_)
    if not isinstance(merged, (Primitive, Decimal)) or merged == Primitive("BOOLEAN"):
        return None
    return Resolved((merged,) * len(types), merged)


def _extreme(function: str) -> Lowering:
    def lower(args: Sequence[str], types: Types) -> str:
        if len(args) == 1:
            return args[0]
        if has_own_order(types[0]):
            of_two = {"greatest": "greater", "least": "lesser"}[function]
            return reduce(lambda a, b: f"ksql.{of_two}({a}, {b})", args)
        return f"{function}({', '.join(args)})"

    return lower


def _series(args: Sequence[str], _: Types) -> str:
    return unless_null(args, f"ksql.series({', '.join(args)})")


def _distance(args: Sequence[str], _: Types) -> str:
    lat1, lon1, lat2, lon2 = args[:4]
    radius = "6371D"
    if len(args) == 5:
        unit = f"upper(coalesce({args[4]}, ''))"
        radius = (
            f"(case when {unit} in ('', 'KM', 'KILOMETER', 'KILOMETERS', 'KILOMETRE', 'KILOMETRES') "
            f"then 6371D when {unit} in ('MI', 'MILE', 'MILES') then 3959D end)"
        )

    def haversine(a: str, b: str) -> str:
        return f"pow(sin(radians({b} - {a}) / 2D), 2D)"

    angle = f"{haversine(lat1, lat2)} + {haversine(lon1, lon2)} * cos(radians({lat1})) * cos(radians({lat2}))"
    outside = f"greatest(abs({lat1}), abs({lat2})) > 90D or greatest(abs({lon1}), abs({lon2})) > 180D"
    return f"if({outside}, NULL, 2D * asin(sqrt({angle})) * {radius})"


def _of_double(
    name: str, description: str, *examples: Example, spark: Callable[[str], str] | None = None
) -> Spec:
    """A function of one DOUBLE (other numbers widen to it)."""
    function = spark or (lambda x: f"{name.lower()}({x})")
    return scalar(
        name,
        Category.MATHEMATICAL,
        description,
        (signature("value DOUBLE -> DOUBLE"),),
        lambda args, _: function(args[0]),
        *examples,
        parameters={"value": "a number"},
    )


_D = PythonDecimal
_VALUE = {"value": "a number"}
_NAN, _INFINITY = float("nan"), float("inf")

SPECS: tuple[Spec, ...] = (
    scalar(
        "ABS",
        Category.MATHEMATICAL,
        "The absolute value.",
        _numbers(),
        lambda args, types: signed(args[0], types[0], "abs({})", "absolute"),
        Example((-5,), 5),
        Example((-1.5,), 1.5),
        Example((_D("-1.50"),), _D("1.50")),
        Example((ALL_DIGITS.copy_negate(),), ALL_DIGITS),
        parameters=_VALUE,
    ),
    scalar(
        "CEIL",
        Category.MATHEMATICAL,
        "The smallest integer greater than or equal to the value.",
        _numbers(),
        _step("ceil"),
        Example((1.1,), 2.0),
        Example((-1.5,), -1.0),
        Example((_D("1.1"),), _D("2.0")),
        Example((1e300,), 1e300),
        Example((3,), 3),
        can_fail=True,  # a DECIMAL may need one digit more
        parameters=_VALUE,
        aliases=("CEILING",),
    ),
    scalar(
        "FLOOR",
        Category.MATHEMATICAL,
        "The greatest integer less than or equal to the value.",
        _numbers(),
        _step("floor"),
        Example((1.7,), 1.0),
        Example((-1.5,), -2.0),
        Example((_D("-1.1"),), _D("-2.0")),
        can_fail=True,  # a DECIMAL may need one digit more
        parameters=_VALUE,
    ),
    scalar(
        "ROUND",
        Category.MATHEMATICAL,
        "The value rounded to an integer or to a number of decimals; ties round up.",
        _TO_WHOLE,
        _round,
        Example((2.5,), 3),
        Example((-2.5,), -2),
        Example((7,), 7),
        Example((0.49999999999999994,), 0),
        Example((-0.50000000000000011,), -1),
        Example((_NAN,), 0),
        Example((_D("-2.5"),), _D("-2")),
        Example((1.005, 2), 1.01),
        Example((-1.25, 1), -1.2),
        Example((-1.26, 1), -1.3),
        Example((_D("-1.25"), 1), _D("-1.20")),
        Example((_D("12345678987654321.2345678987654321"), -1), _D("12345678987654320.0000000000000000")),
        Example((115.0, -1), 120.0),
        can_fail=True,  # a DECIMAL may need one digit more
        parameters=_VALUE
        | {"decimals": "how many decimals to keep; negative numbers round digits before the decimal point"},
    ),
    scalar(
        "TRUNC",
        Category.MATHEMATICAL,
        "The value truncated toward zero to an integer or to a number of decimals.",
        _TO_WHOLE,
        _truncate,
        Example((-1.7,), -1),
        Example((1.239, 2), 1.23),
        Example((-1.239, 2), -1.23),
        Example((111.0, -1), 110.0),
        Example((_D("-1.29"), 1), _D("-1.20")),
        Example((_D("-1.9"),), _D("-1")),
        parameters=_VALUE
        | {"decimals": "how many decimals to keep; negative numbers cut digits before the decimal point"},
        aliases=("TRUNCATE",),
    ),
    scalar(
        "SIGN",
        Category.MATHEMATICAL,
        "The sign of the value: -1, 0 or 1.",
        tuple(signature(f"value {t} -> INTEGER") for t in ("INTEGER", "BIGINT", "DOUBLE")),
        lambda args, _: f"cast(sign({args[0]}) as int)",
        Example((-3,), -1),
        Example((0.0,), 0),
        parameters=_VALUE,
    ),
    _of_double("SQRT", "The square root; NaN for negative values.", Example((4,), 2.0), Example((-1,), _NAN)),
    _of_double("EXP", "e to the power of the value.", Example((0,), 1.0)),
    _of_double(
        "LN",
        "The natural logarithm.",
        Example((1,), 0.0),
        Example((0,), -_INFINITY),
        Example((-1,), _NAN),
        spark=_logarithm,
    ),
    _of_double("CBRT", "The cube root.", Example((-8,), -2.0)),
    _of_double("SIN", "The sine of an angle in radians.", Example((0.0,), 0.0)),
    _of_double("COS", "The cosine of an angle in radians.", Example((0.0,), 1.0)),
    _of_double("TAN", "The tangent of an angle in radians.", Example((0.0,), 0.0)),
    _of_double("COT", "The cotangent of an angle in radians.", Example((0.0,), _INFINITY)),
    _of_double("ASIN", "The angle whose sine is the value.", Example((2,), _NAN)),
    _of_double("ACOS", "The angle whose cosine is the value.", Example((1,), 0.0), Example((-2,), _NAN)),
    _of_double("ATAN", "The angle whose tangent is the value.", Example((0,), 0.0)),
    _of_double("SINH", "The hyperbolic sine.", Example((0,), 0.0)),
    _of_double("COSH", "The hyperbolic cosine.", Example((0,), 1.0)),
    _of_double("TANH", "The hyperbolic tangent.", Example((0,), 0.0)),
    _of_double("DEGREES", "Radians as degrees.", Example((0,), 0.0), Example((3.0,), 171.88733853924697)),
    _of_double("RADIANS", "Degrees as radians.", Example((180,), 3.141592653589793)),
    scalar(
        "ATAN2",
        Category.MATHEMATICAL,
        "The angle of the point (x, y) as seen from the origin.",
        (signature("y DOUBLE, x DOUBLE -> DOUBLE"),),
        lambda args, _: f"atan2({args[0]}, {args[1]})",
        Example((0, 1), 0.0),
        parameters={"y": "the ordinate", "x": "the abscissa"},
    ),
    scalar(
        "POWER",
        Category.MATHEMATICAL,
        "The base raised to the power of the exponent.",
        (signature("base DOUBLE, exponent DOUBLE -> DOUBLE"),),
        lambda args, _: f"pow({args[0]}, {args[1]})",
        Example((2, 10), 1024.0),
        Example((-1, 0.5), _NAN),
        parameters={"base": "the base", "exponent": "the exponent"},
        aliases=("POW",),
    ),
    scalar(
        "LOG",
        Category.MATHEMATICAL,
        "The natural logarithm, or the logarithm to a base.",
        (signature("value DOUBLE -> DOUBLE"), signature("base DOUBLE, value DOUBLE -> DOUBLE")),
        _log,
        Example((1,), 0.0),
        Example((2, 8), 3.0),
        Example((1, 8), _NAN),
        Example((2, 0), -_INFINITY),
        parameters={"base": "the base", "value": "a number"},
    ),
    scalar(
        "PI",
        Category.MATHEMATICAL,
        "The number pi.",
        (signature("-> DOUBLE"),),
        lambda args, _: "pi()",
        Example((), 3.141592653589793),
    ),
    scalar(
        "RANDOM",
        Category.MATHEMATICAL,
        "A random number in [0, 1), different for each row.",
        (signature("-> DOUBLE"),),
        lambda args, _: "rand()",
        is_deterministic=False,
        aliases=("RAND",),
    ),
    scalar(
        "GREATEST",
        Category.MATHEMATICAL,
        "The greatest argument; NULLs are ignored.",
        tuple(signature(f"value {t}... -> {t}") for t in _COMPARED),
        _extreme("greatest"),
        Example((1, Typed(None, INTEGER), 3), 3),
        Example((1, 2.5), 2.5),
        Example(("a", "b"), "b"),
        Example(("😀", Typed(None, STRING), "\uff5e"), "\uff5e"),
        typing=_common,
        parameters={"value": "the candidates"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "LEAST",
        Category.MATHEMATICAL,
        "The smallest argument; NULLs are ignored.",
        tuple(signature(f"value {t}... -> {t}") for t in _COMPARED),
        _extreme("least"),
        Example((1, Typed(None, INTEGER), 3), 1),
        Example((_D("1.5"), _D("22.25")), _D("1.50")),
        Example((Typed(None, STRING), Typed(None, STRING)), None),
        typing=_common,
        parameters={"value": "the candidates"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "GENERATE_SERIES",
        Category.ARRAY,
        "The numbers from the first to the last, both inclusive.",
        (
            signature("first INTEGER, last INTEGER -> ARRAY<INTEGER>"),
            signature("first INTEGER, last INTEGER, step INTEGER -> ARRAY<INTEGER>"),
            signature("first BIGINT, last BIGINT -> ARRAY<BIGINT>"),
            signature("first BIGINT, last BIGINT, step INTEGER -> ARRAY<BIGINT>"),
        ),
        _series,
        Example((1, 3), [1, 2, 3]),
        Example((3, 1), [3, 2, 1]),
        Example((1, 6, 2), [1, 3, 5]),
        Example((1, 6, -2), None),
        Example((1, 6, 0), None),
        Example((Typed(5, BIGINT), Typed(5, BIGINT)), [5]),
        parameters={
            "first": "where to start",
            "last": "where to end",
            "step": "the increment; 1 or -1 by default",
        },
        can_fail=True,
        limits=(MAX_ELEMENTS,),
    ),
    scalar(
        "GEO_DISTANCE",
        Category.MATHEMATICAL,
        "The great-circle distance between two points in degrees, in kilometres or miles.",
        (
            signature("lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE -> DOUBLE"),
            signature("lat1 DOUBLE, lon1 DOUBLE, lat2 DOUBLE, lon2 DOUBLE, unit STRING -> DOUBLE"),
        ),
        _distance,
        Example((37.4439, -122.1663, 51.5257, -0.1122), 8634.659796579544),
        Example((37.4439, -122.1663, 51.5257, -0.1122, "mi"), 5365.659729188262),
        Example((37.4439, -122.1663, 51.5257, -0.1122, "yard"), None),
        Example((97.4439, -122.1663, 51.5257, -0.1122), None),
        parameters={
            "lat1": "latitude of the first point, -90 to 90",
            "lon1": "longitude of the first point, -180 to 180",
            "lat2": "latitude of the second point",
            "lon2": "longitude of the second point",
            "unit": "KM (default) or MI",
        },
        can_fail=True,
    ),
)
