"""Functions of times that PostgreSQL has and KSQL has not: patterns, time zones, ages and intervals.

An interval of PostgreSQL has months, days and a time of day. It is a STRUCT here, ``PG_INTERVAL``. The
difference of two times stays KSQL's INTERVAL, of milliseconds, until it becomes a column or EXTRACT reads it.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from decimal import Decimal as PythonDecimal
from typing import Any
from zoneinfo import available_timezones

from ksql_spark.expressions import Call, Case, Cast, ColumnRef, Expression, Literal
from ksql_spark.functions.postgres.functions import (
    dialect_spec,
    extracted_type,
    fixed,
    lets,
    named_field,
    refused,
    refusing,
)
from ksql_spark.functions.postgres.patterns import Reader, written
from ksql_spark.functions.spark_text import let, spark_type, string, timestamp_of, variable
from ksql_spark.functions.spec import Example, Lowering, Resolved, Spec, Typed
from ksql_spark.instants import INTERVAL_FIELDS
from ksql_spark.types import (
    BIGINT,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    SqlType,
    Struct,
    with_zone,
)

Types = Sequence[SqlType]
Resolve = Callable[[str, Sequence[Expression]], Expression]

#: PostgreSQL's interval
PG_INTERVAL = Struct(tuple(map(Field, INTERVAL_FIELDS, (INTEGER, INTEGER, BIGINT))))
_DAY_MS = 86_400_000
#: names of zones that PostgreSQL and Java understand alike: +02 and UTC+2 are west of Greenwich there
_ZONE = re.compile(r"[A-Za-z_]+(/[A-Za-z0-9_+-]+)*")


# ---- texts of times --------------------------------------------------------------------------------------


def _constant(literals: Sequence[Any], at: int, what: str) -> str:
    if not isinstance(literals[at], str):
        raise refused("0A000", f"The {what} has to be a literal.")
    return str(literals[at])


def _char_types(types: Types, literals: Sequence[Any]) -> Resolved | None:
    if len(types) != 2 or types[1] != STRING:
        return None
    if types[0] not in (TIMESTAMP, DATE):
        raise refused(
            "0A000", f"TO_CHAR takes a timestamp or a date here, not {types[0]}: use CAST or ROUND."
        )
    written("now", _constant(literals, 1, "pattern of TO_CHAR"))
    return Resolved((TIMESTAMP, STRING), STRING)


def _read_types(result: SqlType) -> Callable[[Types, Sequence[Any]], Resolved | None]:
    def typing(types: Types, literals: Sequence[Any]) -> Resolved | None:
        if len(types) != 2 or tuple(types) != (STRING, STRING):
            return None
        Reader(_constant(literals, 1, "pattern"))
        return Resolved((STRING, STRING), result)

    return typing


def _reading(result: SqlType) -> Lowering:
    return lambda args, _: f"cast({Reader(_plain(args[1])).text(args[0], result)} as {spark_type(result)})"


def _plain(text: str) -> str:
    """The text of a literal of Spark SQL, as `string` writes it."""
    return re.sub(r"\\(.)", r"\1", text[1:-1].replace("''", "'"))


# ---- zones -----------------------------------------------------------------------------------------------


def _converted(moment: str, source: str, target: str) -> str:
    return f"ksql.convert_zone({moment}, {source}, {target})"


def _from_zone(args: Sequence[str], _: Types) -> str:
    """The moment of a clock: of two, where clocks are put back, the later one; as PostgreSQL determines it.

    The clock has the zone's offset of the day before, or of the day after.
    """

    def of(m: str, zone: str) -> str:
        def clock(moment: str) -> str:
            return _converted(moment, string("UTC"), zone)

        def by(day: str) -> str:
            return f"({m} - ({clock(day)} - {day}))"

        days = [f"({m} {sign} make_dt_interval(1))" for sign in "-+"]
        return lets([by(day) for day in days], lambda a, b: f"if({clock(b)} = {m}, {b}, {a})")

    return lets(args, lambda m, zone: f"if({m} is null, NULL, {of(m, zone)})")


def _to_zone(args: Sequence[str], _: Types) -> str:
    return lets(args, lambda m, zone: f"if({m} is null, NULL, {_converted(m, string('UTC'), zone)})")


def zoned(node: Expression, has_zone: bool = True) -> Expression:
    """A TIMESTAMP as one with a zone, or without: the value is the same."""
    if isinstance(node, (Call, Case, Cast, ColumnRef)) and node.type == TIMESTAMP:
        return dataclasses.replace(node, type=with_zone(has_zone))
    return node


def _in_zone(arguments: list[Expression], resolve: Resolve) -> Expression:
    zone, moment = arguments
    if moment.type == DATE:
        moment = Cast(moment, TIMESTAMP)
    if not isinstance(zone, Literal) or not isinstance(zone.value, str):
        raise refused("0A000", "The time zone of AT TIME ZONE has to be a literal.")
    if moment.type != TIMESTAMP:
        raise refused("42883", f"AT TIME ZONE takes a timestamp or a date, not {moment.type}.")
    name, has_zone = zone.value, getattr(moment.type, "has_zone", False)
    if not _ZONE.fullmatch(name):
        reason = f'"{name[:80]}" is not a time zone here: write its name, such as America/New_York.'
        raise refused("0A000", reason)
    if name.upper() in ("UTC", "GMT", "Z", "ETC/UTC"):
        return zoned(moment, not has_zone)
    if not is_zone(name):
        raise refused("22023", f'time zone "{name[:80]}" not recognized')
    made = resolve("PG_TO_ZONE" if has_zone else "PG_FROM_ZONE", [moment, zone])
    return zoned(made, not has_zone)


def is_zone(name: str) -> bool:
    """Whether there is a time zone of this name, with a place: EST is another one in Java."""
    return "/" in name and name in _zones()


@functools.cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())


# ---- intervals -------------------------------------------------------------------------------------------


def _interval(months: str, days: str, milliseconds: str) -> str:
    kinds = ("int", "int", "bigint")
    parts = (
        f"'{name}', cast({value} as {kind})"
        for name, value, kind in zip(INTERVAL_FIELDS, (months, days, milliseconds), kinds, strict=True)
    )
    return f"named_struct({', '.join(parts)})"


def _age(args: Sequence[str], types: Types) -> str:
    """Years, months and days by the calendar, as in PostgreSQL's timestamp_age."""

    def of(a: str, b: str) -> str:
        sign, is_missing = f"if({a} < {b}, -1, 1)", f"{a} is null or {b} is null"
        ages = lets([f"least({a}, {b})", f"greatest({a}, {b})"], lambda e, late: _between(e, late, sign))
        return f"if({is_missing}, NULL, {ages})"

    return lets(args, of)


def _between(e: str, late: str, sign: str) -> str:
    clocks = [f"pmod(unix_millis({one}), {_DAY_MS}L)" for one in (late, e)]
    time = f"({clocks[0]} - {clocks[1]})"
    is_borrowed = f"if({time} < 0, 1, 0)"
    days = f"(day({late}) - day({e}) - {is_borrowed})"
    less = f"if({days} < 0, 1, 0)"
    months = f"((year({late}) - year({e})) * 12 + month({late}) - month({e}) - {less})"
    whole_days = f"({days} + {less} * day(last_day({e})))"
    whole_time = f"({time} + {is_borrowed} * {_DAY_MS}L)"
    return _interval(*(f"{sign} * {part}" for part in (months, whole_days, whole_time)))


def _of_difference(args: Sequence[str], types: Types) -> str:
    if types[0] == CALENDAR_INTERVAL:
        return let(args[0], lambda n: f"if({n} is null, NULL, {_interval(n, '0', '0')})")
    return let(
        args[0],
        lambda n: f"if({n} is null, NULL, {_interval('0', f'{n} div {_DAY_MS}L', f'{n} % {_DAY_MS}L')})",
    )


#: fields of EXTRACT of an interval -> Spark SQL text over its months, days and milliseconds
_PARTS = {
    "epoch": "cast(({m} div 12) * 31557600000L + ({m} % 12) * 2592000000L + {d} * 86400000L + {t}"
    " as decimal(20, 0)) / 1000",
    "millennium": "{m} div 12000",
    "century": "{m} div 1200",
    "decade": "{m} div 120",
    "year": "{m} div 12",
    "quarter": "({m} % 12) div 3 + 1",
    "month": "{m} % 12",
    "day": "{d}",
    "hour": "{t} div 3600000L",
    "minute": "({t} div 60000L) % 60",
    "second": "cast({t} % 60000L as decimal(8, 0)) / 1000",
    "milliseconds": "{t} % 60000L",
    "microseconds": "({t} % 60000L) * 1000L",
}


def _part_types(types: Types, literals: Sequence[Any]) -> Resolved | None:
    name = named_field(literals[0], PG_INTERVAL)
    if name not in _PARTS:
        raise refused("0A000", f'unit "{name}" not supported for type interval')
    return Resolved((STRING, PG_INTERVAL), extracted_type(name, TIMESTAMP))


def _part(args: Sequence[str], types: Types) -> str:
    name = named_field(_plain(args[0]), PG_INTERVAL)
    m, d, t = INTERVAL_FIELDS
    kind = spark_type(extracted_type(name, TIMESTAMP))

    def of(v: str) -> str:
        return f"cast({_PARTS[name].format(m=f'{v}.{m}', d=f'{v}.{d}', t=f'{v}.{t}')} as {kind})"

    return let(args[1], of)


def as_interval(node: Expression, resolve: Resolve) -> Expression:
    """A difference of times as PostgreSQL's interval, with days and hours.

    Raises:
        KsqlError: VALUE_REFUSED: days and hours of other INTERVALs are not known here.
    """
    if node.type == CALENDAR_INTERVAL or _is_difference(node):
        return resolve("PG_OF_DIFFERENCE", [node])
    raise refused(
        "0A000",
        "Only the difference of two times, or an AGE, is an interval as a value here. "
        "EXTRACT(EPOCH FROM interval) gives the seconds of any.",
    )


def _is_difference(node: Expression) -> bool:
    match node:
        case Call("-", (first, second)):
            return first.type == TIMESTAMP and second.type == TIMESTAMP
        case Call("NEG", (inner,)):
            return _is_difference(inner)
    return False


def _extracted(arguments: list[Expression], resolve: Resolve) -> Expression | None:
    field, value = arguments
    if value.type in (INTERVAL, CALENDAR_INTERVAL):
        is_epoch = isinstance(field, Literal) and str(field.value).lower() == "epoch"
        value = resolve("PG_OF_DIFFERENCE", [value]) if is_epoch else as_interval(value, resolve)
    return resolve("PG_INTERVAL_PART", [field, value]) if value.type == PG_INTERVAL else None


#: the arguments of MAKE_INTERVAL -> the length of one in months, or in milliseconds
_LENGTHS = (
    (CALENDAR_INTERVAL, 12), (CALENDAR_INTERVAL, 1), (INTERVAL, 7 * _DAY_MS), (INTERVAL, _DAY_MS),
    (INTERVAL, 3_600_000), (INTERVAL, 60_000), (INTERVAL, 1000),
)  # fmt: skip


def _made_interval(arguments: list[Expression], resolve: Resolve) -> Expression:
    given = [
        (argument, *length)
        for argument, length in zip(arguments, _LENGTHS, strict=True)
        if argument != Literal(0, INTEGER)
    ]
    kinds = {kind for _, kind, _ in given}
    if len(kinds) > 1:
        raise refused("0A000", "MAKE_INTERVAL takes years and months here, or shorter units; not both.")
    (kind,) = kinds or {INTERVAL}
    values = [argument.value for argument, _, _ in given if isinstance(argument, Literal)]
    if len(values) == len(given):
        total = sum(PythonDecimal(str(v)) * length for v, (_, _, length) in zip(values, given, strict=True))
        return Literal(int(total), kind)
    parts = [
        resolve("*", [Literal(length, kind), Cast(argument, BIGINT)])
        if argument.type in (INTEGER, BIGINT)
        else resolve("PG_TIMES", [Literal(length, kind), argument])
        for argument, _, length in given
    ]
    whole, *others = parts
    for part in others:
        whole = resolve("+", [whole, part])
    return whole


# ---- calls -----------------------------------------------------------------------------------------------


def _times_types(types: Types, _: Sequence[Any]) -> Resolved | None:
    if len(types) != 2 or types[0] != INTERVAL or not (types[1] == DOUBLE or isinstance(types[1], Decimal)):
        return None
    return Resolved(tuple(types), INTERVAL)


def _times(args: Sequence[str], types: Types) -> str:
    length = f"cast({args[0]} as {'double' if types[1] == DOUBLE else 'decimal(20, 0)'})"
    return f"try_cast(round({length} * {args[1]}) as bigint)"


def _made(function: str, result: SqlType) -> Callable[[Sequence[str], Types], str]:
    kind = "date" if result == DATE else "time"

    def lower(args: Sequence[str], types: Types) -> str:
        shown = ", '-', ".join(f"string({one})" for one in args)
        wrong = refusing("22008", f"concat('{kind} field value out of range: ', {shown})", result)
        missing = " or ".join(f"{one} is null" for one in args)
        return f"if({missing}, NULL, coalesce({function}({', '.join(args)}), {wrong}))"

    return lower


def _binned(args: Sequence[str], _: Types) -> str:
    def of(stride: str, moment: str, origin: str) -> str:
        wrong = refusing("22008", string("stride must be greater than zero"), TIMESTAMP)
        since = f"(unix_millis({moment}) - unix_millis({origin}))"
        start = f"(unix_millis({origin}) + {since} - pmod({since}, {stride}))"
        return f"if({stride} <= 0, {wrong}, {timestamp_of(start)})"

    return lets(args, of)


def _read(result: SqlType) -> Callable[[list[Expression], Resolve], Expression | None]:
    def call(arguments: list[Expression], resolve: Resolve) -> Expression | None:
        if len(arguments) != 2 or arguments[0].type != STRING:
            return None
        name = "PG_READ_DATE" if result == DATE else "PG_READ_TIMESTAMP"
        made = resolve(name, arguments)
        match arguments:
            case [Literal(str(text)), Literal(str(pattern))] if text:
                constant = Reader(pattern).constant(text)
                if constant is not None:  # which look-ups need
                    made = Cast(Literal(constant[:10] if result == DATE else constant, STRING), result)
        return zoned(made)

    return call


def _aged(arguments: list[Expression], resolve: Resolve) -> Expression:
    if len(arguments) == 1:
        arguments = [Cast(Cast(resolve("NOW", []), DATE), TIMESTAMP), *arguments]
    if len(arguments) != 2 or not all(a.type in (TIMESTAMP, DATE) for a in arguments):
        raise refused("42883", "AGE takes one or two timestamps or dates.")
    return resolve("PG_AGE", [a if a.type == TIMESTAMP else Cast(a, TIMESTAMP) for a in arguments])


def _series(arguments: list[Expression], resolve: Resolve) -> Expression:
    """An array of what GENERATE_SERIES gives as rows; of dates, it gives times."""
    times = [zoned(Cast(a, TIMESTAMP)) if a.type == DATE else a for a in arguments]
    step = [] if len(times) != 2 else [Literal(1, INTEGER)]
    return resolve("PG_SERIES", [*times, *step])


def _series_types(types: Types, _: Sequence[Any]) -> Resolved | None:
    if len(types) != 3:
        return None
    first, last, step = types
    if first == last == TIMESTAMP and step in (INTERVAL, CALENDAR_INTERVAL):
        return Resolved(tuple(types), Array(first))
    if not {first, last, step} <= {INTEGER, BIGINT}:
        return None
    kind = BIGINT if BIGINT in types else INTEGER
    return Resolved((kind,) * 3, Array(kind))


def _numbered(args: Sequence[str], types: Types) -> str:
    zero = refusing("22023", string("step size cannot equal zero"), Array(types[0]))
    too_many = refusing("54000", string("the series is too long"), Array(types[0]))

    def of(first: str, last: str, step: str) -> str:
        if types[2] == CALENDAR_INTERVAL:
            count, series = (
                f"months_between({last}, {first}) / {step}",
                f"sequence({first}, {last}, make_ym_interval(0, {step}))",
            )
        elif types[2] == INTERVAL:
            numbers = [f"unix_millis({one})" for one in (first, last)]
            n = variable(first, last, step)
            count = f"({numbers[1]} - {numbers[0]}) / {step}"
            series = f"transform(sequence({numbers[0]}, {numbers[1]}, {step}), {n} -> timestamp_millis({n}))"
        else:
            count, series = (
                f"(cast({last} as double) - {first}) / {step}",
                f"sequence({first}, {last}, {step})",
            )
        empty = f"cast(array() as {spark_type(Array(types[0]))})"
        missing = " or ".join(f"{one} is null" for one in (first, last, step))
        return (
            f"if({missing}, {empty}, if({step} = 0, {zero}, if({count} < 0, {empty}, "
            f"if(not ksql.elements_fit(cast({count} as bigint)), {too_many}, {series}))))"
        )

    return lets(args, of)


def _truncated(arguments: list[Expression], resolve: Resolve) -> Expression | None:
    """DATE_TRUNC of a DATE, which PostgreSQL takes as a time with a zone, and by the clock of a zone."""
    if len(arguments) == 3:
        unit, moment, zone = arguments
        local = _in_zone([zone, zoned(Cast(moment, TIMESTAMP) if moment.type == DATE else moment)], resolve)
        return _in_zone([zone, resolve("PG_DATE_TRUNC", [unit, local])], resolve)
    if [a.type for a in arguments] != [STRING, DATE]:
        return None
    return zoned(resolve("PG_DATE_TRUNC", [arguments[0], Cast(arguments[1], TIMESTAMP)]))


def _named(name: str) -> Callable[[list[Expression], Resolve], Expression]:
    return lambda arguments, resolve: resolve(name, arguments)


#: functions that PostgreSQL has -> makes a bound call of what they are here; None: KSQL's has these arguments
CALLED: dict[str, Callable[[list[Expression], Resolve], Expression | None]] = {
    "AGE": _aged,
    "DATE_BIN": _named("PG_DATE_BIN"),
    "DATE_PART": lambda arguments, resolve: (
        None if (part := _extracted(arguments, resolve)) is None else Cast(part, DOUBLE)
    ),
    "DATE_TRUNC": _truncated,
    "EXTRACT": _extracted,
    "GENERATE_SERIES": _series,
    "MAKE_DATE": _named("PG_MAKE_DATE"),
    "MAKE_INTERVAL": _made_interval,
    "MAKE_TIMESTAMP": _named("PG_MAKE_TIMESTAMP"),
    "TIMEZONE": _in_zone,
    "TO_CHAR": lambda arguments, resolve: resolve(
        "PG_TO_CHAR", [Cast(a, TIMESTAMP) if a.type == DATE else a for a in arguments]
    ),
    "TO_DATE": _read(DATE),
    "TO_TIMESTAMP": _read(TIMESTAMP),
}

_MOMENT = Typed("2026-03-08T14:05:06.250", TIMESTAMP)

_A_DAY_AND_MORE = Literal(90_061_500, INTERVAL)

SPECS: tuple[Spec, ...] = (
    dialect_spec(
        "PG_TO_CHAR",
        "PostgreSQL's TO_CHAR of a time.",
        _char_types,
        lambda args, _: let(args[0], lambda m: f"if({m} is null, NULL, {written(m, _plain(args[1]))})"),
        Example((_MOMENT, "FMDay DDth HH12:MI:SS.MS am"), "Sunday 08th 02:05:06.250 pm"),
        Example((_MOMENT, 'Month YYYY "Q"Q'), "March     2026 Q1"),
    ),
    *(
        dialect_spec(
            name,
            f"PostgreSQL's {shown} of a text with a pattern.",
            _read_types(result),
            _reading(result),
            Example((text, pattern), expected),
        )
        for name, shown, result, text, pattern, expected in (
            (
                "PG_READ_TIMESTAMP",
                "TO_TIMESTAMP",
                TIMESTAMP,
                "8 mar 26 2:05 PM",
                "DD MON YY HH:MI AM",
                "2026-03-08T14:05:00.000",
            ),
            ("PG_READ_DATE", "TO_DATE", DATE, "20260308", "YYYYMMDD", "2026-03-08"),
        )
    ),
    dialect_spec(
        "PG_FROM_ZONE",
        "PostgreSQL's AT TIME ZONE of a time without a zone.",
        fixed(TIMESTAMP, STRING, result=TIMESTAMP),
        _from_zone,
        Example((Typed("2026-03-08T02:30:00", TIMESTAMP), "America/New_York"), "2026-03-08T07:30:00.000"),
        Example((Typed("2026-11-01T01:30:00", TIMESTAMP), "America/New_York"), "2026-11-01T06:30:00.000"),
    ),
    dialect_spec(
        "PG_TO_ZONE",
        "PostgreSQL's AT TIME ZONE of a time with a zone.",
        fixed(TIMESTAMP, STRING, result=TIMESTAMP),
        _to_zone,
        Example((_MOMENT, "America/New_York"), "2026-03-08T10:05:06.250"),
    ),
    dialect_spec(
        "PG_AGE",
        "PostgreSQL's AGE: years, months and days by the calendar.",
        fixed(TIMESTAMP, TIMESTAMP, result=PG_INTERVAL),
        _age,
        Example(
            (_MOMENT, Typed("2025-01-31T15:00:00", TIMESTAMP)),
            dict(zip(INTERVAL_FIELDS, (13, 7, 83_106_250), strict=True)),
        ),
    ),
    dialect_spec(
        "PG_OF_DIFFERENCE",
        "A difference of times as PostgreSQL's interval.",
        lambda types, _: Resolved(tuple(types), PG_INTERVAL),
        _of_difference,
        Example((_A_DAY_AND_MORE,), dict(zip(INTERVAL_FIELDS, (0, 1, 3_661_500), strict=True))),
    ),
    dialect_spec(
        "PG_INTERVAL_PART",
        "PostgreSQL's EXTRACT of an interval.",
        _part_types,
        _part,
        Example(
            ("second", Call("PG_OF_DIFFERENCE", (_A_DAY_AND_MORE,), PG_INTERVAL)), PythonDecimal("1.500000")
        ),
    ),
    dialect_spec(
        "PG_SERIES",
        "The array of what PostgreSQL's GENERATE_SERIES gives as rows.",
        _series_types,
        _numbered,
        Example((1, 5, 2), [1, 3, 5]),
        Example((3, 1, 1), []),
    ),
    dialect_spec(
        "PG_TIMES",
        "An INTERVAL, so many times.",
        _times_types,
        _times,
        Example((_A_DAY_AND_MORE, 0.0), 0),
    ),
    dialect_spec(
        "PG_DATE_BIN",
        "PostgreSQL's DATE_BIN: the start of the interval that a time is in.",
        fixed(INTERVAL, TIMESTAMP, TIMESTAMP, result=TIMESTAMP),
        _binned,
        Example(
            (Literal(900_000, INTERVAL), _MOMENT, Typed("2026-01-01T00:00:00", TIMESTAMP)),
            "2026-03-08T14:00:00.000",
        ),
    ),
    dialect_spec(
        "PG_MAKE_DATE",
        "PostgreSQL's MAKE_DATE.",
        fixed(INTEGER, INTEGER, INTEGER, result=DATE),
        _made("make_date", DATE),
        Example((2026, 2, 28), "2026-02-28"),
    ),
    dialect_spec(
        "PG_MAKE_TIMESTAMP",
        "PostgreSQL's MAKE_TIMESTAMP.",
        fixed(INTEGER, INTEGER, INTEGER, INTEGER, INTEGER, DOUBLE, result=TIMESTAMP),
        lambda args, types: _made("make_timestamp", TIMESTAMP)(
            [*args[:5], f"cast({args[5]} as decimal(8, 6))"], types
        ),
        Example((2026, 3, 8, 14, 5, 6.25), "2026-03-08T14:05:06.250"),
    ),
)
