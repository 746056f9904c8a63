"""Functions on dates, times and timestamps (reference §4.6).

Patterns are those of Java's DateTimeFormatter. Our own functions (TemporalFunctions.java) parse and format
with them, because Spark's know fewer letters and stop the query for a bad pattern or zone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import let, timestamp_of
from ksql_spark.functions.spec import (
    ALL_LIMITS,
    Category,
    Example,
    Lowering,
    Spec,
    Typed,
    scalar,
)
from ksql_spark.types import BIGINT, DATE, DOUBLE, TIME, TIMESTAMP, SqlType

Types = Sequence[SqlType]

_DAY_MS = 86_400_000

#: the units of DATEADD and its relatives; bare words of the language arrive as string literals
UNITS_MS = {
    "MILLISECOND": 1,
    "SECOND": 1_000,
    "MINUTE": 60_000,
    "HOUR": 3_600_000,
    "DAY": _DAY_MS,
}


def _unit_ms(unit: str) -> str:
    """The milliseconds of a unit: a number for a literal, which the unit normally is."""
    plain = unit.strip("'").upper().removesuffix("S")
    if plain in UNITS_MS:
        return f"{UNITS_MS[plain]}L"
    cases = " ".join(f"when '{name}' then {ms}L when '{name}S' then {ms}L" for name, ms in UNITS_MS.items())
    return f"(case upper({unit}) {cases} end)"


def _shifted(args: Sequence[str], sign: str) -> str:
    """The milliseconds to add."""
    return f"{sign}{args[1]} * {_unit_ms(args[0])}"


def _date_shift(sign: str) -> Lowering:
    return lambda args, _: (
        f"date_from_unix_date(cast((unix_date({args[2]}) * {_DAY_MS}L + {_shifted(args, sign)}) "
        f"div {_DAY_MS}L as int))"
    )


def _time_shift(sign: str) -> Lowering:
    return lambda args, _: f"cast(pmod({args[2]} + {_shifted(args, sign)}, {_DAY_MS}L) as int)"


def _timestamp_shift(sign: str) -> Lowering:
    return lambda args, _: timestamp_of(f"(unix_millis({args[2]}) + {_shifted(args, sign)})")


# ---- text --------------------------------------------------------------------------------------------------


_GMT = "'GMT'"


def _format(function: str, value: str, *constants: str) -> str:
    """One of our formatting functions (TemporalFunctions.java), which must not be NULL."""
    return let(value, lambda v: f"if({v} is null, NULL, ksql.{function}({', '.join((v, *constants))}))")


def _format_timestamp(moment: str, args: Sequence[str]) -> str:
    return _format("format_timestamp", moment, args[1], args[2] if len(args) == 3 else _GMT)


def _parse_timestamp(args: Sequence[str]) -> str:
    return f"ksql.parse_timestamp({args[0]}, {args[1]}, {args[2] if len(args) == 3 else _GMT})"


#: current_timestamp() is one value for a whole batch, which in real-time mode lasts for minutes
_NOW_MS = "cast(reflect('java.lang.System', 'currentTimeMillis') as bigint)"

#: the units of DATE_TRUNC that Spark also supports
_TRUNCATED_TO = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")


def _date_trunc(args: Sequence[str], _: Sequence[SqlType]) -> str:
    unit, moment = args
    units = ", ".join(f"'{name}'" for name in _TRUNCATED_TO)
    return f"if(upper({unit}) in ({units}), date_trunc({unit}, {moment}), NULL)"


#: parts of a time -> text
_PARTS = {
    **{word: f"extract({word} FROM {{0}})" for word in ("year", "quarter", "month", "week", "day", "doy")},
    "dow": "extract(dow FROM {0}) - 1",
    "hour": "hour({0})",
    "minute": "minute({0})",
    "second": "second({0})",
    "millisecond": "unix_millis({0}) - 60000L * floor(unix_millis({0}) / 60000L)",
    "epoch": "unix_seconds({0})",
}


def _extract(args: Sequence[str], _: Sequence[SqlType]) -> str:
    part, value = args
    moment = f"cast({value} as timestamp)"
    whens = " ".join(
        f"when '{name}' then cast({text.format(moment)} as bigint)" for name, text in _PARTS.items()
    )
    return f"(case lower({part}) {whens} end)"


def _to_timestamp(args: Sequence[str], types: Sequence[SqlType]) -> str:
    if types[0] == DOUBLE:
        return timestamp_of(f"cast(round({args[0]} * 1000D) as bigint)")
    return timestamp_of(f"try_multiply({args[0]}, 1000L)")


# ---- specs -----------------------------------------------------------------------------------------------

_UNIT = {"unit": "MILLISECONDS, SECONDS, MINUTES, HOURS or DAYS", "count": "how many"}
_PATTERN = {"pattern": "a pattern such as yyyy-MM-dd"}
_TIME_PATTERN = {"pattern": "a pattern such as HH:mm:ss"}
_ZONE = {"zone": "a time zone such as Europe/Berlin or +0200"}


def _shift(name: str, type_: str, verb: str, lower: Lowering, *examples: Example) -> Spec:
    return scalar(
        name,
        Category.DATE_TIME,
        f"The {type_} with a number of time units {verb}.",
        (signature(f"unit STRING!, count INTEGER, value {type_} -> {type_}"),),
        lower,
        *examples,
        parameters=_UNIT | {"value": f"a {type_}"},
    )


def _one(name: str, description: str, text: str, lower: Callable[[str], str], *examples: Example) -> Spec:
    return scalar(
        name,
        Category.DATE_TIME,
        description,
        (signature(text),),
        lambda args, _: lower(args[0]),
        *examples,
        parameters={"value": "what to convert"},
    )


_LEAP_DAY = Typed("2020-02-29", DATE)
_MOMENT = Typed("2018-05-11T21:58:33.123", TIMESTAMP)

SPECS: tuple[Spec, ...] = (
    scalar(
        "CONVERT_TZ",
        Category.DATE_TIME,
        "Converts a local time from one time zone to another.",
        (signature("value TIMESTAMP, source STRING, target STRING -> TIMESTAMP"),),
        lambda args, _: _format("convert_zone", *args),
        Example((Typed("1970-01-01T00:00:00.100", TIMESTAMP), "+0200", "+0500"), "1970-01-01T03:00:00.100"),
        Example((_MOMENT, "America/Los_Angeles", "America/New_York"), "2018-05-12T00:58:33.123"),
        Example((_MOMENT, "America/Los_Angeles", "Mars/Olympus"), None),
        parameters={
            "value": "a TIMESTAMP",
            "source": "the time zone to convert from",
            "target": "the time zone to convert to",
        },
        can_fail=True,
    ),
    _shift(
        "DATEADD",
        "DATE",
        "added",
        _date_shift(""),
        Example(("DAYS", 1, _LEAP_DAY), "2020-03-01"),
        Example(("HOUR", 30, _LEAP_DAY), "2020-03-01"),
    ),
    _shift("DATESUB", "DATE", "taken away", _date_shift("-"), Example(("DAYS", 10, _LEAP_DAY), "2020-02-19")),
    _shift(
        "TIMEADD",
        "TIME",
        "added",
        _time_shift(""),
        Example(("HOURS", 2, Typed("23:00", TIME)), "01:00:00.000"),
    ),
    _shift(
        "TIMESUB",
        "TIME",
        "taken away",
        _time_shift("-"),
        Example(("MILLISECONDS", 1, Typed("00:00", TIME)), "23:59:59.999"),
    ),
    _shift(
        "TIMESTAMPADD",
        "TIMESTAMP",
        "added",
        _timestamp_shift(""),
        Example(("MINUTES", 2, _MOMENT), "2018-05-11T22:00:33.123"),
    ),
    _shift(
        "TIMESTAMPSUB",
        "TIMESTAMP",
        "taken away",
        _timestamp_shift("-"),
        Example(("DAYS", 11, _MOMENT), "2018-04-30T21:58:33.123"),
    ),
    scalar(
        "FORMAT_DATE",
        Category.DATE_TIME,
        "A DATE as text.",
        (signature("value DATE, pattern STRING -> STRING"),),
        lambda args, _: _format("format_date", *args),
        Example((_LEAP_DAY, "dd-MMM-yyyy'x'"), "29-Feb-2020x"),
        Example((_LEAP_DAY, "yyyy-'"), None),
        Example((_LEAP_DAY, "MMMMMMMM"), None),
        Example((_LEAP_DAY, "HH"), None),
        Example((_LEAP_DAY, "e 'of' w, D"), "7 of 9, 60"),
        Example((Typed(None, DATE), "yyyy"), None),
        parameters={"value": "a DATE"} | _PATTERN,
        can_fail=True,
        limits=ALL_LIMITS,
        grows=True,
    ),
    scalar(
        "FORMAT_TIME",
        Category.DATE_TIME,
        "A TIME as text.",
        (signature("value TIME, pattern STRING -> STRING"),),
        lambda args, _: _format("format_time", *args),
        Example((Typed("00:01:05", TIME), "HH_mm_ss_SSS"), "00_01_05_000"),
        parameters={"value": "a TIME"} | _TIME_PATTERN,
        can_fail=True,
        limits=ALL_LIMITS,
        grows=True,
    ),
    scalar(
        "FORMAT_TIMESTAMP",
        Category.DATE_TIME,
        "A TIMESTAMP as text, in UTC or another zone.",
        (
            signature("value TIMESTAMP, pattern STRING -> STRING"),
            signature("value TIMESTAMP, pattern STRING, zone STRING -> STRING"),
        ),
        lambda args, _: _format_timestamp(args[0], args),
        Example((_MOMENT, "yyyy-MM-dd HH:mm:ss.SSS"), "2018-05-11 21:58:33.123"),
        Example((_MOMENT, "yyyy-MM-dd HH:mm", "America/Los_Angeles"), "2018-05-11 14:58"),
        Example((_MOMENT, "yyyy-MM-dd HH:mm", "Mars/Olympus"), None),
        Example((_MOMENT, "HH:mm", "GMT+2"), "23:58"),
        Example((_MOMENT, "HH:mm", "+0200"), "23:58"),
        Example((_MOMENT, "HH:mm", "+200"), None),
        Example((_MOMENT, "HH:mm z, A", "Europe/Berlin"), "23:58 CEST, 86313123"),
        parameters={"value": "a TIMESTAMP"} | _PATTERN | _ZONE,
        can_fail=True,
        limits=ALL_LIMITS,
        grows=True,
    ),
    scalar(
        "PARSE_DATE",
        Category.DATE_TIME,
        "Parses a text as a DATE.",
        (signature("text STRING, pattern STRING -> DATE"),),
        lambda args, _: f"ksql.parse_date({args[0]}, {args[1]})",
        Example(("01-Jan-2022", "dd-MMM-yyyy"), "2022-01-01"),
        Example(("01-Jan-2022 05", "dd-MMM-yyyy HH"), None),
        Example(("x", "dd-MMM-yyyy"), None),
        parameters={"text": "a date"} | _PATTERN,
        can_fail=True,
    ),
    scalar(
        "PARSE_TIME",
        Category.DATE_TIME,
        "Parses a text as a TIME.",
        (signature("text STRING, pattern STRING -> TIME"),),
        lambda args, _: f"ksql.parse_time({args[0]}, {args[1]})",
        Example(("01:00:00 Pm", "hh:mm:ss a"), "13:00:00.000"),
        Example(("00:01:05Lit", "HH:mm:ss'Lit'"), "00:01:05.000"),
        Example(("2020 01", "yyyy HH"), None),
        parameters={"text": "a time of day"} | _TIME_PATTERN,
        can_fail=True,
    ),
    scalar(
        "PARSE_TIMESTAMP",
        Category.DATE_TIME,
        "Parses a text as a TIMESTAMP; UTC unless the text or an argument names a zone.",
        (
            signature("text STRING, pattern STRING -> TIMESTAMP"),
            signature("text STRING, pattern STRING, zone STRING -> TIMESTAMP"),
        ),
        lambda args, _: _parse_timestamp(args),
        Example(("2018-05-11T21:58:33", "yyyy-MM-dd'T'HH:mm:ss"), "2018-05-11T21:58:33.000"),
        Example(("2018-05-11 21:58", "yyyy-MM-dd HH:mm", "America/Los_Angeles"), "2018-05-12T04:58:00.000"),
        Example(("2018-05-11 21:58+02", "yyyy-MM-dd HH:mmX", "Asia/Tokyo"), "2018-05-11T19:58:00.000"),
        Example(("2018", "yyyy"), "2018-01-01T00:00:00.000"),
        Example(("58", "mm"), "1970-01-01T00:58:00.000"),
        Example(("11 pm on 366/2020", "hh a 'on' D/yyyy"), "2020-12-31T23:00:00.000"),
        Example(("366", "D"), None),
        Example(("2018", "yyyyMMMMMMMM"), None),
        Example(("2018", "yyyy", "Mars/Olympus"), None),
        parameters={"text": "a point in time"} | _PATTERN | _ZONE,
        can_fail=True,
    ),
    _one(
        "FROM_DAYS",
        "Converts days since 1970-01-01 to a DATE.",
        "value INTEGER -> DATE",
        lambda x: f"date_from_unix_date({x})",
        Example((-1,), "1969-12-31"),
    ),
    _one(
        "FROM_UNIXTIME",
        "Converts milliseconds since 1970-01-01 to a TIMESTAMP.",
        "value BIGINT -> TIMESTAMP",
        timestamp_of,
        Example((Typed(100, BIGINT),), "1970-01-01T00:00:00.100"),
        Example((2**63 - 1,), None),
    ),
    scalar(
        "UNIX_DATE",
        Category.DATE_TIME,
        "The days from 1970-01-01 to a DATE, or to today.",
        (signature("-> INTEGER"), signature("value DATE -> INTEGER")),
        lambda args, _: f"unix_date({args[0]})" if args else f"cast({_NOW_MS} div {_DAY_MS}L as int)",
        Example((Typed("1970-01-11", DATE),), 10),
        parameters={"value": "a DATE"},
        is_deterministic=False,
    ),
    scalar(
        "UNIX_TIMESTAMP",
        Category.DATE_TIME,
        "The milliseconds from 1970-01-01 to a TIMESTAMP, or to now.",
        (signature("-> BIGINT"), signature("value TIMESTAMP -> BIGINT")),
        lambda args, _: f"unix_millis({args[0]})" if args else _NOW_MS,
        Example((_MOMENT,), 1526075913123),
        parameters={"value": "a TIMESTAMP"},
        is_deterministic=False,
    ),
    scalar(
        "NOW",
        Category.DATE_TIME,
        "The current TIMESTAMP.",
        (signature("-> TIMESTAMP"),),
        lambda _args, _types: f"timestamp_millis({_NOW_MS})",
        is_deterministic=False,
        aliases=("CURRENT_TIMESTAMP",),
        is_ours=True,
    ),
    scalar(
        "TO_TIMESTAMP",
        Category.DATE_TIME,
        "Converts seconds since 1970-01-01 to a TIMESTAMP, of a millisecond.",
        (signature("seconds BIGINT -> TIMESTAMP"), signature("seconds DOUBLE -> TIMESTAMP")),
        _to_timestamp,
        Example((Typed(100, BIGINT),), "1970-01-01T00:01:40.000"),
        Example((1.5,), "1970-01-01T00:00:01.500"),
        Example((Typed(2**63 - 1, BIGINT),), None),
        parameters={"seconds": "a number"},
        can_fail=True,
        is_ours=True,
    ),
    scalar(
        "EXTRACT",
        Category.DATE_TIME,
        "A part of a time, in UTC. Also written EXTRACT(part FROM value).",
        (
            signature("part STRING, value TIMESTAMP -> BIGINT"),
            signature("part STRING, value DATE -> BIGINT"),
        ),
        _extract,
        Example(("hour", _MOMENT), 21),
        Example(("YEAR", Typed("2024-02-29", DATE)), 2024),
        Example(("dow", _MOMENT), 5),
        Example(("epoch", _MOMENT), 1526075913),
        Example(("fortnight", _MOMENT), None),
        parameters={
            "part": "YEAR, QUARTER, MONTH, WEEK, DAY, DOW (Sunday is 0), DOY, HOUR, MINUTE, SECOND, "
            "MILLISECOND (of the minute) or EPOCH (seconds since 1970)",
            "value": "a TIMESTAMP or DATE",
        },
        can_fail=True,
        is_ours=True,
        aliases=("DATE_PART",),
    ),
    scalar(
        "DATE_TRUNC",
        Category.DATE_TIME,
        "Truncates a TIMESTAMP to a unit, in UTC; a WEEK begins on Monday.",
        (signature("unit STRING, value TIMESTAMP -> TIMESTAMP"),),
        _date_trunc,
        Example(("hour", _MOMENT), "2018-05-11T21:00:00.000"),
        Example(("WEEK", _MOMENT), "2018-05-07T00:00:00.000"),
        Example(("month", _MOMENT), "2018-05-01T00:00:00.000"),
        Example(("minute", Typed("1969-12-31T23:59:59.999", TIMESTAMP)), "1969-12-31T23:59:00.000"),
        Example(("fortnight", _MOMENT), None),
        parameters={
            "unit": "YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND or MILLISECOND",
            "value": "a TIMESTAMP",
        },
        can_fail=True,
        is_ours=True,
    ),
    scalar(
        "DATETOSTRING",
        Category.DATE_TIME,
        "Formats days since 1970-01-01 as text. Deprecated: use FORMAT_DATE.",
        (signature("days INTEGER, pattern STRING -> STRING"),),
        lambda args, _: _format("format_date", f"date_from_unix_date({args[0]})", args[1]),
        Example((18993, "dd-MMM-yyyy"), "01-Jan-2022"),
        parameters={"days": "days since 1970-01-01"} | _PATTERN,
        can_fail=True,
        limits=ALL_LIMITS,
        grows=True,
    ),
    scalar(
        "STRINGTODATE",
        Category.DATE_TIME,
        "Parses a date as days since 1970-01-01. Deprecated: use PARSE_DATE.",
        (signature("text STRING, pattern STRING -> INTEGER"),),
        lambda args, _: f"ksql.parse_days({args[0]}, {args[1]})",
        Example(("2018-05-11Lit", "yyyy-MM-dd'Lit'"), 17662),
        parameters={"text": "a date"} | _PATTERN,
        can_fail=True,
    ),
    scalar(
        "TIMESTAMPTOSTRING",
        Category.DATE_TIME,
        "Formats milliseconds since 1970-01-01 as text. Deprecated: use FORMAT_TIMESTAMP.",
        (
            signature("millis BIGINT, pattern STRING -> STRING"),
            signature("millis BIGINT, pattern STRING, zone STRING -> STRING"),
        ),
        lambda args, _: _format_timestamp(timestamp_of(args[0]), args),
        Example((1526075913123, "yyyy-MM-dd HH:mm:ss"), "2018-05-11 21:58:33"),
        parameters={"millis": "milliseconds since 1970-01-01"} | _PATTERN | _ZONE,
        can_fail=True,
        limits=ALL_LIMITS,
        grows=True,
    ),
    scalar(
        "STRINGTOTIMESTAMP",
        Category.DATE_TIME,
        "Parses a time as milliseconds since 1970-01-01. Deprecated: use PARSE_TIMESTAMP.",
        (
            signature("text STRING, pattern STRING -> BIGINT"),
            signature("text STRING, pattern STRING, zone STRING -> BIGINT"),
        ),
        lambda args, _: f"unix_millis({_parse_timestamp(args)})",
        Example(("2020-05-11T21:58:33z", "yyyy-MM-dd'T'HH:mm:ssX"), 1589234313000),
        Example(("2019-08-27T13:31:09.2+0000", "yyyy-MM-dd'T'HH:mm:ss.SX"), 1566912669200),
        Example(("not a time", "yyyy"), None),
        parameters={"text": "a point in time"} | _PATTERN | _ZONE,
        can_fail=True,
    ),
)
