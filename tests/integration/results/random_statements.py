"""Random queries of streams and tables, in KSQL and as DuckDB has them over complete inputs; by seed.

The relations are two streams, ``rel_s`` and ``rel_r``, and three tables: ``rel_t`` and ``rel_v`` with a key
of text, ``rel_u`` with an INT. In DuckDB each is a table with the time of each row, ``rt``; times differ, and
those of tables come first. A run puts other names in place of ``rel_``.

Where KSQL differs from SQL on purpose, the two texts differ:

* integers wrap, and a division by zero is NULL;
* comparisons with NaN are false, with NULL too, unless ``ksql.sql.nulls`` is ansi;
* SUM and AVG of no values are 0; a row with NULL in GROUP BY belongs to no group;
* lengths of texts count UTF-16 units: so what takes a place in a text gets texts without ``FAR``.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ksql_spark.analyzer.expressions.aggregates import NESTED_STATE
from tests.spark.random_selects import Both, joined

INT, BIGINT, DOUBLE, STRING, BOOLEAN = "INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN"
MONEY, WIDE = "DECIMAL(9, 2)", "DECIMAL(38, 10)"
DATE, TIMESTAMP, TIME, INTS, BYTES = "DATE", "TIMESTAMP", "TIME", "ARRAY<INT>", "BYTES"
#: a text without characters beyond U+FFFF; a DOUBLE of which sums are exact enough in every order, also with
#: NaN and infinities
NEAR, MILD, WILD = "near", "mild", "wild"
FAR = "😀"
#: the columns of every relation besides its key; those of COMPLEX only where its format can carry them
PLAIN = {
    "i": INT, "n": BIGINT, "d": DOUBLE, "e": DOUBLE, "m": MONEY, "w": WIDE, "x": STRING, "y": STRING,
    "f": BOOLEAN, "dt": DATE, "ts": TIMESTAMP, "tm": TIME, "bb": BYTES,
}  # fmt: skip
RECORD, MAP = "STRUCT<p INT, q STRING>", "MAP<STRING, INT>"
COMPLEX = {"a": INTS, "o": RECORD, "h": MAP}
KEYS = {"s": ("k", STRING), "r": ("k", STRING), "t": ("k", STRING), "v": ("k", STRING), "u": ("id", INT)}
#: keys of the last rows of streams, which are later than all others and reach every partition
LAST, LAST_INT, LAST_COUNT = "last-", 1000, 16

MACROS = """
CREATE MACRO wrap32(x) AS
  (((x::HUGEINT + 2147483648) % 4294967296 + 4294967296) % 4294967296 - 2147483648)::INT;
CREATE MACRO wrap64(x) AS (((x::HUGEINT + 9223372036854775808::HUGEINT) % 18446744073709551616::HUGEINT
  + 18446744073709551616::HUGEINT) % 18446744073709551616::HUGEINT - 9223372036854775808::HUGEINT)::BIGINT;
CREATE MACRO units(x) AS length(x) + length(regexp_replace(x, '[^\\x{10000}-\\x{10FFFF}]', '', 'g'));
CREATE MACRO numbers(a, b, result) AS
  CASE WHEN a IS NULL OR b IS NULL THEN NULL WHEN isnan(a) OR isnan(b) THEN FALSE ELSE result END;
CREATE MACRO different(x) AS CASE WHEN len(list_filter(x, lambda z: z IS NULL)) > 0
  THEN list_concat(list_distinct(x), [NULL]) ELSE list_distinct(x) END;
CREATE MACRO moment(x) AS strftime(x, '%Y-%m-%dT%H:%M:%S.%g');
"""

LITERALS: dict[str, Sequence[str]] = {
    INT: ("-1", "0", "1", "2", "3", "2147483647"),
    BIGINT: ("CAST(1 AS BIGINT)", "CAST(3 AS BIGINT)", "9223372036854775807"),
    DOUBLE: ("0.5E0", "1E0", "-2E0", "0E0"),
    MONEY: ("CAST(1.25 AS DECIMAL(9, 2))", "CAST(-0.50 AS DECIMAL(9, 2))"),
    WIDE: ("CAST(1.25 AS DECIMAL(38, 10))", "CAST(0.0000000001 AS DECIMAL(38, 10))"),
    STRING: ("'a'", "'b'", "''", "'ab'", f"'{FAR}'", "'12'"),
    BOOLEAN: ("TRUE", "FALSE"),
    DATE: ("CAST('2024-02-29' AS DATE)", "CAST('0001-01-01' AS DATE)"),
    TIMESTAMP: ("CAST('2024-01-02T03:04:05' AS TIMESTAMP)", "CAST('9999-12-31T23:59:59.999' AS TIMESTAMP)"),
    TIME: ("CAST('03:04:05' AS TIME)",),
}
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
#: types in GROUP BY, ORDER BY, DISTINCT
SCALARS = tuple(LITERALS)
ORDERED = tuple(t for t in SCALARS if t != BOOLEAN)

#: result, types of the arguments, KSQL, DuckDB ("" where it is the same)
FUNCTIONS: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    *((INT, (INT, INT), f"({{0}} {o} {{1}})", f"wrap32({{0}}::HUGEINT {o} {{1}})") for o in "+-*%"),
    (INT, (INT, INT), "({0} / {1})", "wrap32({0}::HUGEINT // {1})"),
    (INT, (INT,), "(- {0})", "wrap32(- ({0}::HUGEINT))"),
    (INT, (STRING,), "LEN({0})", "units({0})"),
    (INT, (BYTES,), "LEN({0})", "octet_length({0})::INT"),
    (BYTES, (STRING,), "TO_BYTES({0}, 'utf8')", "encode({0})"),
    (BYTES, (BYTES, BYTES), "CONCAT({0}, {1})", "(COALESCE({0}, ''::BLOB) || COALESCE({1}, ''::BLOB))"),
    (STRING, (BYTES,), "FROM_BYTES({0}, 'hex')", "hex({0})"),
    (STRING, (BYTES,), "FROM_BYTES({0}, 'base64')", "to_base64({0})"),
    (STRING, (DATE,), "CAST({0} AS STRING)", "strftime({0}, '%Y-%m-%d')"),
    (STRING, (TIMESTAMP,), "CAST({0} AS STRING)", "moment({0})"),
    (STRING, (DATE,), "FORMAT_DATE({0}, 'yyyy/MM/dd')", "strftime({0}, '%Y/%m/%d')"),
    (STRING, (TIMESTAMP,), "FORMAT_TIMESTAMP({0}, 'yyyy-MM-dd HH:mm:ss.SSS')",
     "strftime({0}, '%Y-%m-%d %H:%M:%S.%g')"),
    (STRING, (NEAR,), "REGEXP_EXTRACT('b+', {0})", "NULLIF(regexp_extract({0}, 'b+'), '')"),
    (STRING, (STRING,), "REGEXP_REPLACE({0}, '[ab]', '<')", "regexp_replace({0}, '[ab]', '<', 'g')"),
    (STRING, (STRING,), "SPLIT({0}, 'b')[1]", "string_split({0}, 'b')[1]"),
    (INTS, (INTS,), "ARRAY_REMOVE({0}, 1)", "list_filter({0}, lambda z: z IS DISTINCT FROM 1)"),
    (INTS, (INTS,), "ARRAY_SORT(ARRAY_DISTINCT({0}))",
     "list_sort(different({0}), 'ASC', 'NULLS LAST')"),
    (INTS, (INT,), "GENERATE_SERIES(1, ABS({0} % 4))",
     "CASE WHEN {0} % 4 = 0 THEN [1, 0] WHEN {0} <> 0 THEN generate_series(1, abs({0} % 4))::INT[] END"),
    (INT, (INT,), "CASE {0} WHEN 1 THEN 10 WHEN 2 THEN 20 ELSE -1 END", ""),
    (BIGINT, (DATE,), "EXTRACT(DAY FROM {0})", "day({0})"),
    (BIGINT, (TIMESTAMP,), "EXTRACT(YEAR FROM {0})", "year({0})"),
    (BIGINT, (TIMESTAMP,), "EXTRACT(MINUTE FROM {0})", "minute({0})"),
    (BIGINT, (BIGINT,), "ABS({0} / 2)", "abs(wrap64({0}::HUGEINT // 2))"),
    (BIGINT, (BIGINT,), "SIGN({0}) * CAST(1 AS BIGINT)", "sign({0})::BIGINT"),
    (DATE, (DATE,), "({0} + INTERVAL 1 WEEK)", "({0} + 7)"),
    (TIMESTAMP, (TIMESTAMP,), "DATE_TRUNC('WEEK', {0})", "date_trunc('week', {0})::TIMESTAMP"),
    (TIMESTAMP, (TIMESTAMP,), "DATE_TRUNC('YEAR', {0})", "date_trunc('year', {0})::TIMESTAMP"),
    (TIMESTAMP, (DATE,), "({0} + INTERVAL 90 MINUTES)", "({0}::TIMESTAMP + INTERVAL 90 MINUTE)"),
    (MONEY, (MONEY, MONEY), "CAST(IFNULL({0}, {1}) AS DECIMAL(9, 2))", "COALESCE({0}, {1})"),
    (WIDE, (INT, WIDE), "COALESCE({1}, CAST({0} AS DECIMAL(38, 10)))", "COALESCE({1}, {0}::DECIMAL(38, 10))"),
    (DOUBLE, (DOUBLE, DOUBLE), "GREATEST({0}, {1})", ""),
    (DOUBLE, (DOUBLE, DOUBLE), "LEAST({0}, {1})", ""),
    (INT, (NEAR, NEAR), "INSTR({0}, {1})", "COALESCE(instr({0}, {1}), 0)"),
    (INT, (BIGINT,), "CAST({0} AS INT)", "wrap32({0})"),
    (INT, (STRING,), "CAST({0} AS INT)", "TRY_CAST(CASE WHEN trim({0}) <> '' THEN {0} END AS INT)"),
    (INT, (STRING,), "TRY_CAST({0} AS INT)", "TRY_CAST(CASE WHEN trim({0}) <> '' THEN {0} END AS INT)"),
    (INT, (MONEY,), "CAST({0} AS INT)", "trunc({0})::INT"),
    (INT, (INT, INT), "GREATEST({0}, {1})", ""),
    (INT, (INT, INT, INT), "LEAST({0}, {1}, {2})", ""),
    (INT, (DOUBLE,), "SIGN({0})", "CASE WHEN isnan({0}) THEN 0 ELSE sign({0}) END::INT"),
    (INT, (INT,), "SIGN({0})", "sign({0})::INT"),
    (BIGINT, (DATE,), "EXTRACT(YEAR FROM {0})", "year({0})"),
    (BIGINT, (TIMESTAMP,), "EXTRACT(MONTH FROM {0})", "month({0})"),
    (BIGINT, (TIMESTAMP,), "EXTRACT(HOUR FROM {0})", "hour({0})"),
    (INT, (DATE,), "UNIX_DATE({0})", "date_diff('day', DATE '1970-01-01', {0})::INT"),
    (INT, (INTS,), "ARRAY_LENGTH({0})", "len({0})::INT"),
    (INT, (INTS,), "{0}[1]", ""),
    (INT, (INTS,), "{0}[-1]", ""),
    (INT, (INTS,), "ARRAY_MAX({0})", "list_max({0})"),
    (INT, (INTS,), "ARRAY_MIN({0})", "list_min({0})"),
    (INT, (INTS,), "REDUCE({0}, 0, (s, z) => s + COALESCE(z, 1))",
     "wrap32(COALESCE(list_reduce({0}, lambda s, z: s + COALESCE(z, 1)::HUGEINT, 0::HUGEINT), 0))"),
    (INT, (STRING, STRING), "FIELD({0}, 'a', {1})",
     "CASE WHEN {0} = 'a' THEN 1 WHEN {0} = {1} THEN 2 ELSE 0 END"),
    *((BIGINT, (BIGINT, BIGINT), f"({{0}} {o} {{1}})", f"wrap64({{0}}::HUGEINT {o} {{1}})") for o in "+-*%"),
    (BIGINT, (BIGINT, INT), "({0} / {1})", "wrap64({0}::HUGEINT // {1})"),
    (BIGINT, (INT,), "CAST({0} AS BIGINT)", ""),
    (BIGINT, (TIMESTAMP,), "UNIX_TIMESTAMP({0})", "epoch_ms({0})"),
    (BIGINT, (BIGINT, BIGINT), "LEAST({0}, {1})", ""),
    (BIGINT, (MILD,), "ROUND({0})", "floor({0} + 0.5)::BIGINT"),
    (BIGINT, (MILD,), "TRUNC({0})", "trunc({0})::BIGINT"),
    (BIGINT, (TIMESTAMP, TIMESTAMP), "CAST({0} - {1} AS BIGINT)", "(epoch_ms({0}) - epoch_ms({1}))"),
    (BIGINT, (DATE, DATE), "CAST({0} - {1} AS BIGINT)", "(date_diff('day', {1}, {0}) * 86400000)"),
    *((DOUBLE, (DOUBLE, DOUBLE), f"({{0}} {o} {{1}})", "") for o in "+-*/"),
    (DOUBLE, (DOUBLE,), "(- {0})", ""),
    (DOUBLE, (DOUBLE,), "ABS({0})", "abs({0})"),
    (DOUBLE, (DOUBLE,), "SQRT({0})", "CASE WHEN {0} < 0 THEN 'NaN'::DOUBLE ELSE sqrt({0}) END"),
    (DOUBLE, (DOUBLE,), "LN({0})",
     "CASE WHEN {0} < 0 THEN 'NaN'::DOUBLE WHEN {0} = 0 THEN '-Infinity'::DOUBLE ELSE ln({0}) END"),
    (DOUBLE, (DOUBLE,), "CEIL({0})", ""),
    (DOUBLE, (DOUBLE,), "FLOOR({0})", ""),
    (DOUBLE, (MILD,), "CBRT({0})", ""),
    (DOUBLE, (MILD,), "POWER({0}, 2)", ""),
    (DOUBLE, (INT,), "CAST({0} AS DOUBLE)", ""),
    (DOUBLE, (BIGINT,), "CAST({0} AS DOUBLE)", ""),
    (DOUBLE, (MONEY,), "CAST({0} AS DOUBLE)", ""),
    (DOUBLE, (WIDE,), "CAST({0} AS DOUBLE)", ""),
    (MONEY, (MONEY,), "ABS({0})", ""),
    (MONEY, (MONEY,), "(- {0})", ""),
    *((MONEY, (MONEY, MONEY), f"CAST({{0}} {o} {{1}} AS DECIMAL(9, 2))",
       f"TRY_CAST({{0}}::DECIMAL(18, 2) {o} {{1}} AS DECIMAL(9, 2))") for o in "+-"),
    (MONEY, (MONEY, MONEY), "CAST({0} * {1} AS DECIMAL(9, 2))", "TRY_CAST({0} * {1} AS DECIMAL(9, 2))"),
    (MONEY, (INT,), "CAST({0} AS DECIMAL(9, 2))", "TRY_CAST({0} AS DECIMAL(9, 2))"),
    (MONEY, (WIDE,), "CAST({0} AS DECIMAL(9, 2))", "TRY_CAST({0} AS DECIMAL(9, 2))"),
    (MONEY, (MONEY,), "ROUND({0}, 1)",
     "TRY_CAST(CASE WHEN {0} < 0 THEN -round(-{0} - 0.01, 1) ELSE round({0}, 1) END AS DECIMAL(9, 2))"),
    (MONEY, (MONEY,), "TRUNC({0}, 1)", "(trunc({0} * 10) / 10)::DECIMAL(9, 2)"),
    (WIDE, (MONEY,), "CAST({0} AS DECIMAL(38, 10))", ""),
    (WIDE, (WIDE,), "ABS({0})", ""),
    (WIDE, (WIDE,), "(- {0})", ""),
    (WIDE, (WIDE, WIDE), "GREATEST({0}, {1})", ""),
    (STRING, (STRING, STRING), "({0} || {1})", "concat({0}, {1})"),
    (STRING, (STRING, STRING), "CONCAT({0}, 'é', {1})", "concat({0}, 'é', {1})"),
    (STRING, (STRING, STRING), "({0} + {1})", "({0} || {1})"),
    (STRING, (STRING, STRING), "CONCAT_WS('-', {0}, {1})", "concat_ws('-', {0}, {1})"),
    (STRING, (STRING,), "UCASE({0})", "upper({0})"),
    (STRING, (STRING,), "LCASE({0})", "lower({0})"),
    (STRING, (STRING, STRING), "REPLACE({0}, 'a', {1})", "replace({0}, 'a', {1})"),
    (STRING, (NEAR,), "SUBSTRING({0}, 2)", "substring({0}, 2)"),
    (STRING, (NEAR,), "LEFT({0}, 1)", "left({0}, 1)"),
    (STRING, (NEAR,), "RIGHT({0}, 2)", "right({0}, 2)"),
    (STRING, (NEAR,), "LPAD({0}, 4, 'xy')", "lpad({0}, 4, 'xy')"),
    (STRING, (NEAR,), "RPAD({0}, 3, '-')", "rpad({0}, 3, '-')"),
    (STRING, (STRING,), "TRIM({0})", "trim({0}, ' \t\r\n')"),
    (STRING, (STRING,), "MD5({0})", ""),
    (STRING, (INT,), "CAST({0} AS STRING)", ""),
    (STRING, (BIGINT,), "CAST({0} AS STRING)", ""),
    (STRING, (BOOLEAN,), "CAST({0} AS STRING)", ""),
    (STRING, (MONEY,), "CAST({0} AS STRING)", ""),
    (STRING, (WIDE,), "CAST({0} AS STRING)", ""),
    (STRING, (INTS,), "ARRAY_JOIN({0}, '/')",
     "array_to_string(list_transform({0}, lambda z: COALESCE(z::TEXT, 'null')), '/')"),
    (STRING, (INT,), "ELT({0}, 'x', 'y', 'z')",
     "CASE {0} WHEN 1 THEN 'x' WHEN 2 THEN 'y' WHEN 3 THEN 'z' END"),
    (STRING, (STRING, STRING), "GREATEST({0}, {1})", ""),
    (DATE, (TIMESTAMP,), "CAST({0} AS DATE)", ""),
    (DATE, (DATE,), "({0} + INTERVAL 1 MONTH)", "({0} + INTERVAL 1 MONTH)::DATE"),
    (DATE, (DATE,), "({0} - INTERVAL 2 YEARS)", "({0} - INTERVAL 2 YEAR)::DATE"),
    (DATE, (DATE,), "DATEADD(DAYS, 3, {0})", "({0} + 3)"),
    (DATE, (STRING,), "TRY_CAST({0} AS DATE)", "NULL::DATE"),
    (TIMESTAMP, (DATE,), "CAST({0} AS TIMESTAMP)", ""),
    (TIMESTAMP, (TIMESTAMP,), "({0} + INTERVAL 36 HOURS)", "({0} + INTERVAL 36 HOUR)"),
    (TIMESTAMP, (TIMESTAMP,), "({0} - INTERVAL 1 MONTH)", ""),
    (TIMESTAMP, (TIMESTAMP,), "TIMESTAMPADD(SECONDS, -5, {0})", "({0} - INTERVAL 5 SECOND)"),
    (TIMESTAMP, (TIMESTAMP,), "DATE_TRUNC('HOUR', {0})", "date_trunc('hour', {0})"),
    (TIMESTAMP, (TIMESTAMP,), "DATE_TRUNC('MONTH', {0})", "date_trunc('month', {0})::TIMESTAMP"),
    (TIMESTAMP, (INT,), "FROM_UNIXTIME(CAST({0} AS BIGINT))", "make_timestamp({0}::BIGINT * 1000)"),
    (TIME, (TIMESTAMP,), "CAST({0} AS TIME)", ""),
    (TIME, (TIME,), "({0} + INTERVAL 30 MINUTES)", "({0} + INTERVAL 30 MINUTE)"),
    (INTS, (INT, INT), "ARRAY[{0}, {1}, 1]", "[{0}, {1}, 1]"),
    (INTS, (INTS,), "ARRAY_SORT({0})", "list_sort({0}, 'ASC', 'NULLS LAST')"),
    (INTS, (INTS,), "ARRAY_SORT({0}, 'DESC')", "list_sort({0}, 'DESC', 'NULLS LAST')"),
    (INTS, (INTS, INTS), "ARRAY_CONCAT({0}, {1})",
     "CASE WHEN {0} IS NOT NULL OR {1} IS NOT NULL THEN list_concat({0}, {1}) END"),
    (INTS, (INTS,), "FILTER({0}, z => z > 1)", "list_filter({0}, lambda z: z > 1)"),
    # what fails for an element fails for all
    (INTS, (INTS,), "TRANSFORM({0}, z => COALESCE(z, 0) * 2)",
     "list_transform({0}, lambda z: wrap32(COALESCE(z, 0)::HUGEINT * 2))"),
    (BOOLEAN, (INTS, INT), "ARRAY_CONTAINS({0}, {1})",
     "COALESCE(len(list_filter({0}, lambda z: z IS NOT DISTINCT FROM {1})) > 0, FALSE)"),
)  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """An aggregate; ``{f}`` is the place of FILTER, ``{rt}`` DuckDB's time of a row."""

    result: str
    arguments: tuple[str, ...]
    ksql: str
    duckdb: str
    #: works over tables
    undo: bool = False
    #: its result depends on the order of rows
    ordered: bool = False


def _aggregates() -> list[Aggregate]:
    made = [
        Aggregate(BIGINT, (), "COUNT(*){f}", "COUNT(*){f}", True),
        *(Aggregate(BIGINT, (t,), "COUNT({0}){f}", "COUNT({0}){f}", True) for t in (*SCALARS, INTS)),
        *(
            Aggregate(BIGINT, (t,), "COUNT(DISTINCT {0}){f}", "COUNT(DISTINCT {0}){f}")
            for t in (*SCALARS, INTS, RECORD)
        ),
        *(
            Aggregate(BIGINT, (t,), "COUNT_DISTINCT({0}){f}", "COUNT(DISTINCT {0}){f}")
            for t in (INT, STRING, MONEY, TIMESTAMP)
        ),
        Aggregate(INT, (INT,), "SUM({0}){f}", "wrap32(COALESCE(SUM({0}){f}, 0))", True),
        Aggregate(INT, (INT,), "SUM(DISTINCT {0}){f}", "wrap32(COALESCE(SUM(DISTINCT {0}){f}, 0))"),
        Aggregate(BIGINT, (BIGINT,), "SUM({0}){f}", "wrap64(COALESCE(SUM({0}){f}, 0))", True),
        Aggregate(DOUBLE, (MILD,), "SUM({0}){f}", "COALESCE(SUM({0}){f}, 0)", True),
        Aggregate(DOUBLE, (WILD,), "SUM({0}){f}", "COALESCE(SUM({0}){f}, 0)", True),
        Aggregate(DOUBLE, (WILD,), "AVG({0}){f}", "COALESCE(AVG({0}){f}, 0)", True),
        *(
            # the sum wraps
            Aggregate(
                DOUBLE, (t,), "AVG({0}){f}",
                f"COALESCE({wrap}(SUM({{0}}){{f}})::DOUBLE / NULLIF(COUNT({{0}}){{f}}, 0), 0)", True,
            )
            for t, wrap in ((INT, "wrap32"), (BIGINT, "wrap64"))
        ),
        # NULL while its type cannot hold it
        Aggregate(
            MONEY, (MONEY,), "SUM({0}){f}", "TRY_CAST(COALESCE(SUM({0}){f}, 0) AS DECIMAL(9, 2))", True
        ),
        Aggregate(DOUBLE, (MILD,), "AVG({0}){f}", "COALESCE(AVG({0}){f}, 0)", True),
        Aggregate(DOUBLE, (MILD,), "STDDEV_SAMP({0}){f}", "COALESCE(VAR_SAMP({0}){f}, 0)", True),
        Aggregate(DOUBLE, (MILD,), "STDDEV_SAMPLE({0}){f}", "COALESCE(STDDEV_SAMP({0}){f}, 0)", True),
        *(Aggregate(t, (t,), "MIN({0}){f}", "MIN({0}){f}") for t in ORDERED),
        *(Aggregate(t, (t,), "MAX({0}){f}", "MAX({0}){f}") for t in ORDERED),
        Aggregate(BOOLEAN, (BOOLEAN,), "BOOL_AND({0}){f}", "BOOL_AND({0}){f}", True),
        Aggregate(BOOLEAN, (BOOLEAN,), "BOOL_OR({0}){f}", "BOOL_OR({0}){f}", True),
        Aggregate(DOUBLE, (MILD,), "MEDIAN({0}){f}", "MEDIAN({0}){f}"),
        Aggregate(
            DOUBLE, (INT,), "PERCENTILE_CONT({0}, 0.25E0){f}", "QUANTILE_CONT({0}::DOUBLE, 0.25){f}"
        ),
        Aggregate(INT, (INT,), "PERCENTILE_DISC({0}, 0.75E0){f}", "QUANTILE_DISC({0}, 0.75){f}"),
        Aggregate(
            STRING, (STRING,), "STRING_AGG({0}, '+'){f}", "STRING_AGG({0}, '+' ORDER BY {rt}){f}",
            ordered=True,
        ),
        *(
            Aggregate(
                f"ARRAY<{t}>", (t,), "COLLECT_LIST({0}){f}", "COALESCE(LIST({0} ORDER BY {rt}){f}, [])",
                ordered=True,
            )
            for t in (INT, STRING)
        ),
        Aggregate(
            INTS, (INT,), "ARRAY_SORT(COLLECT_LIST({0}){f})",
            "COALESCE(LIST({0} ORDER BY {0} NULLS LAST){f}, [])", True,
        ),
        Aggregate(
            INTS, (INT,), "ARRAY_SORT(COLLECT_SET({0}){f})",
            "COALESCE(LIST(DISTINCT {0} ORDER BY {0} NULLS LAST){f}, [])",
        ),
        *(
            Aggregate(t, (t,), f"{name}({{0}}){{f}}", f"{theirs}({{0}}, {{rt}}){{f}}", ordered=True)
            for t in (*SCALARS, INTS, RECORD, BYTES)
            for name, theirs in (("LATEST_BY_OFFSET", "ARG_MAX"), ("EARLIEST_BY_OFFSET", "ARG_MIN"))
        ),
        *(
            Aggregate(
                t, (t,), "LATEST_BY_OFFSET({0}, FALSE){f}", "ARG_MAX_NULL({0}, {rt}){f}", ordered=True
            )
            for t in (INT, WIDE, TIMESTAMP, RECORD)
        ),
        *(
            Aggregate(
                STRING, (STRING, t), "MAX_BY({0}, {1}){f}", "LAST({0} ORDER BY {1}, {rt}){g}", ordered=True
            )
            for t in ORDERED
        ),
        *(
            Aggregate(
                INT, (INT, t), "MIN_BY({0}, {1}){f}", "LAST({0} ORDER BY {1} DESC, {rt}){g}", ordered=True
            )
            for t in ORDERED
        ),
        *(
            Aggregate(
                f"ARRAY<{t}>", (t,), "TOPK({0}, 2){f}", "COALESCE((LIST({0} ORDER BY {0} DESC){g})[:2], [])"
            )
            for t in (INT, BIGINT, STRING)
        ),
        *(
            Aggregate(
                f"ARRAY<{t}>", (t,), "TOPKDISTINCT({0}, 2){f}",
                "COALESCE((LIST(DISTINCT {0} ORDER BY {0} DESC){g})[:2], [])",
            )
            for t in (INT, WIDE, STRING, DATE, TIMESTAMP)
        ),
        Aggregate(
            INT, (INT,), "ATTR({0}){f}",
            "CASE WHEN COUNT(DISTINCT {0}){f} = 1 AND COUNT({0}){f} = COUNT(*){f} THEN ANY_VALUE({0}){f} END",
            True,
        ),
        Aggregate(
            "MAP<STRING, BIGINT>", (STRING,), "HISTOGRAM({0}){f}", "COALESCE(HISTOGRAM({0}){f}, MAP {{}})",
            True,
        ),
        Aggregate(INT, (INTS,), "SUM_LIST({0}){f}", "wrap32(COALESCE(SUM(list_sum({0})){f}, 0))", True),
    ]  # fmt: skip
    return made


AGGREGATES = _aggregates()
#: those that OVER has
OVER_ROWS = r"(COUNT|SUM|MIN|MAX|AVG)\((?!DISTINCT)"


@dataclass(frozen=True)
class Item:
    """A column of a result."""

    name: str
    type: str
    text: Both


@dataclass(frozen=True)
class Statement:
    """A statement: ``CREATE {sink} … WITH ({properties}) AS {text}``, and DuckDB's query of its columns.

    Args:
        kind: of statement.
        sink: STREAM or TABLE.
        keys: the columns of its key.
        values: its other columns.
        clauses: those that it could do without.
        template: makes the texts of the list of columns and of the clauses (empty where one is left out).
        is_ansi: ``ksql.sql.nulls`` is ansi.
        waits: rows come out when the last rows of streams have come, which are not compared.
        formats: of key and value.
    """

    kind: str
    sink: str
    keys: tuple[Item, ...]
    values: tuple[Item, ...]
    clauses: tuple[tuple[str, Both], ...]
    template: Callable[[Both, Mapping[str, Both]], Both]
    is_ansi: bool
    waits: bool = False
    formats: tuple[str, str] = ("JSON", "JSON")

    @property
    def items(self) -> tuple[Item, ...]:
        """All columns."""
        return self.keys + self.values

    @property
    def text(self) -> Both:
        """The query."""
        listed = joined([Both.made(f"{{}} AS {i.name}".format, i.text) for i in self.items])
        return self.template(listed, _Clauses(self.clauses))

    def smaller(self) -> list[Statement]:
        """Statements with one part less."""
        clauses, values = self.clauses, self.values
        found = [replace(self, clauses=tuple(c for c in clauses if c is not each)) for each in clauses]
        # a single column of DELIMITED that is NULL is no row
        if len(values) > (2 if self.formats[1] == "DELIMITED" else 1):
            found += [replace(self, values=tuple(v for v in values if v is not each)) for each in values]
        return found


class _Clauses(dict[str, Both]):
    def __missing__(self, key: str) -> Both:
        return Both.of("")


@dataclass
class Relation:
    """Something in FROM.

    Args:
        text: it.
        columns: text of a column -> its type.
        key: the text of its key, and the key's type.
        time: the text of a row's time in DuckDB; None where the order of its rows is not certain.
    """

    text: Both
    columns: list[tuple[Both, str]] = field(default_factory=list)
    key: tuple[Both, str] = (Both.of("k"), STRING)
    time: str | None = None
    alias: str = ""
    #: whether its (leftmost) format is not DELIMITED, over which ksqlDB refuses some aggregates
    has_nested: bool = True


@dataclass(frozen=True)
class Shape:
    """What a generator knows of the relations.

    Args:
        partitions: of each topic.
        is_ordered: whether rows of streams come in the order of their times.
        formats: of the values of each relation; DELIMITED has no columns of COMPLEX.
    """

    partitions: int
    is_ordered: bool
    formats: Mapping[str, str]


class Generator:
    """Makes a statement; equal arguments make equal ones."""

    def __init__(self, seed: int, shape: Shape) -> None:
        self.random = random.Random(seed)
        self.shape = shape
        self.names = self.depth = 0
        self.is_ansi = self.chance(0.6)
        self.kind = self.random.choice([*KINDS])
        if not shape.is_ordered and self.kind in IN_ORDER:
            self.kind = self.random.choice(("windows", "stream_join"))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def name(self) -> str:
        self.names += 1
        return f"q{self.names}"

    def statement(self) -> Statement:
        made = KINDS[self.kind](self)
        types = [i.type for i in made.keys]
        is_plain = len(types) == 1 and types[0] in (INT, BIGINT, DOUBLE, STRING)
        keys = ["JSON", "AVRO", "JSON_SR", *["DELIMITED"] * all(t in SCALARS for t in types)]
        key = "KAFKA" if is_plain and self.chance(0.6) else self.random.choice(keys)
        # a bare NULL is no row
        flat = all(v.type in (*SCALARS, BYTES) for v in made.values) and len(made.values) > 1
        value = self.random.choice(["JSON", "JSON", "AVRO", "JSON_SR", *["DELIMITED"] * flat])
        if not made.values:
            value = "JSON"
        return replace(made, is_ansi=self.is_ansi, formats=(key, value))

    # ---- expressions ----------------------------------------------------------------------------------

    def value(self, type_: str, relation: Relation, depth: int = 2) -> Both:
        if type_ == NEAR:
            return Both.made(f"REPLACE({{}}, '{FAR}', '?')".format, self.value(STRING, relation, depth))
        if type_ == MILD:
            # sums of these are exact in any order
            own = [c for c, t in relation.columns if t == DOUBLE and c.ksql.endswith(".d")]
            return self.random.choice(own or [Both.of("0.5E0")])
        if type_ == WILD:
            own = [c for c, t in relation.columns if t == DOUBLE and c.ksql.endswith(".e")]
            text = self.random.choice(own or [Both.of("0.5E0")])
            return Both.made("NULLIF(NULLIF({}, 1E308), -1E308)".format, text)
        own = [c for c, t in relation.columns if t == type_]
        choice = self.random.random()
        if own and (choice < 0.55 or depth <= 0):
            return self.random.choice(own)
        if depth <= 0 or choice < 0.62:
            if type_ in LITERALS:
                return Both.of(self.random.choice(LITERALS[type_]))
            if type_ == INTS:
                return Both("ARRAY[1, CAST(NULL AS INT), 2]", "[1, NULL, 2]")
            if type_ == BYTES:
                return Both("CAST('AP8=' AS BYTES)", "'\\x00\\xFF'::BLOB")
            if type_ == RECORD:
                return Both("STRUCT(p := 1, q := 'a')", "{'p': 1, 'q': 'a'}")
        if choice < 0.7:
            parts = [self.value(type_, relation, depth - 1) for _ in range(2)]
            return Both.made("COALESCE({}, {})".format, *parts)
        if choice < 0.76:
            parts = [self.value(type_, relation, depth - 1) for _ in range(2)]
            condition = self.condition(relation, depth - 1)
            return Both.made("CASE WHEN {} THEN {} ELSE {} END".format, condition, *parts)
        if choice < 0.8 and type_ not in (DOUBLE, INTS):
            parts = [self.value(type_, relation, depth - 1) for _ in range(2)]
            return Both.made("NULLIF({}, {})".format, *parts)
        if type_ == RECORD:
            parts = [self.value(t, relation, depth - 1) for t in (INT, STRING)]
            return Both(
                f"STRUCT(p := {parts[0].ksql}, q := {parts[1].ksql})",
                f"{{'p': {parts[0].duckdb}, 'q': {parts[1].duckdb}}}",
            )
        if type_ == BOOLEAN and choice < 0.95:
            return self.condition(relation, depth - 1)
        made = [f for f in FUNCTIONS if f[0] == type_]
        _, types, ours, theirs = self.random.choice(made)
        parts = [self.value(each, relation, depth - 1) for each in types]
        return Both(
            ours.format(*(p.ksql for p in parts)), (theirs or ours).format(*(p.duckdb for p in parts))
        )

    def two_valued(self, condition: Both) -> Both:
        """A condition that is never NULL with the NULLs of KSQL."""
        return condition if self.is_ansi else Both(condition.ksql, f"COALESCE({condition.duckdb}, FALSE)")

    def condition(self, relation: Relation, depth: int = 2) -> Both:
        choice = self.random.random()
        type_ = self.random.choice([t for _, t in relation.columns if t in SCALARS])
        # an error within a condition is no match, whatever NOT stands before it: without ansi, arithmetic
        # with NULL is one
        inner = depth - 1 if self.is_ansi else 0
        if depth > 0 and choice < 0.3:
            parts = [self.condition(relation, depth - 1) for _ in range(2)]
            return Both.made(f"({{}} {self.random.choice(('AND', 'OR'))} {{}})".format, *parts)
        if depth > 0 and choice < 0.4:
            return Both.made("(NOT {})".format, self.condition(relation, depth - 1))
        if choice < 0.5:
            negation = "NOT " * self.chance(0.5)
            return Both.made(f"({{}} IS {negation}NULL)".format, self.value(type_, relation, inner))
        if choice < 0.6 and type_ not in (BOOLEAN, DOUBLE):
            members = [Both.of(self.random.choice(LITERALS[type_])) for _ in range(self.random.randint(1, 3))]
            negation = "NOT " * self.chance(0.3)
            left = self.value(type_, relation, inner)
            if negation:
                text = Both.made("({} NOT IN ({}))".format, left, joined(members))
                # without ansi, NULL NOT IN (…) is the negation of NULL IN (…), which is false
                return text if self.is_ansi else Both(text.ksql, f"COALESCE({text.duckdb}, TRUE)")
            return self.two_valued(Both.made("({} IN ({}))".format, left, joined(members)))
        if choice < 0.67 and type_ not in (BOOLEAN, DOUBLE):
            parts = [self.value(type_, relation, inner) for _ in range(3)]
            return self.two_valued(Both.made("({} BETWEEN {} AND {})".format, *parts))
        if choice < 0.72 and self.is_ansi:
            pattern = self.random.choice(("'a%'", "'%b'", "'_'", "'%\U0001f600%'"))
            return Both.made(f"({{}} LIKE {pattern})".format, self.value(STRING, relation, inner))
        if choice < 0.76 and self.is_ansi:
            return self.value(BOOLEAN, relation, 0)
        distinct = ("IS DISTINCT FROM", "IS NOT DISTINCT FROM")
        if choice < 0.84:
            return self.mixed(relation, inner)
        operators = ("=", "<>") if type_ == BOOLEAN else COMPARISONS
        operator = self.random.choice((*operators, *distinct))
        parts = [self.value(type_, relation, inner) for _ in range(2)]
        text = Both.made(f"({{}} {operator} {{}})".format, *parts)
        if operator in distinct:
            return text
        if type_ == DOUBLE:
            text = Both(text.ksql, f"numbers({parts[0].duckdb}, {parts[1].duckdb}, {text.duckdb})")
        return self.two_valued(text)

    def mixed(self, relation: Relation, depth: int) -> Both:
        """A comparison of two types."""
        operator = self.random.choice(COMPARISONS)
        numbers = (INT, BIGINT, DOUBLE, MONEY, WIDE)
        types = self.random.choice((self.random.sample(numbers, 2), (DATE, TIMESTAMP), (TIMESTAMP, DATE)))
        left, right = (self.value(t, relation, depth) for t in types)
        if self.chance(0.2):
            types = (DATE, DATE)
            left, right = self.value(DATE, relation, depth), Both.of("'2024-02-29'")
        text = Both.made(f"({{}} {operator} {{}})".format, left, right)
        if DOUBLE in types:
            numbers_ = ", ".join(f"{side.duckdb}::DOUBLE" for side in (left, right))
            text = Both(text.ksql, f"numbers({numbers_}, {text.duckdb})")
        return self.two_valued(text)

    def where(self, relation: Relation, share: float = 0.6) -> list[tuple[str, Both]]:
        if not self.chance(share):
            return []
        return [("where", self.condition(relation, 2))]

    def items(self, relation: Relation, least: int = 1, most: int = 6) -> tuple[Item, ...]:
        found = []
        for place in range(self.random.randint(least, most)):
            if self.chance(0.15):
                text, type_ = self.random.choice(relation.columns)
            else:
                type_ = self.random.choice((*SCALARS, INTS, RECORD, BYTES))
                text = self.value(type_, relation)
            found.append(Item(f"v{place}", type_, copied(text, relation)))
        return tuple(found)

    # ---- FROM -----------------------------------------------------------------------------------------

    def source(self, names: str, alias: str | None = None) -> Relation:
        name = self.random.choice(names)
        alias = alias or self.name()
        key, type_ = KEYS[name]
        columns = [(Both.of(f"{alias}.{key}"), type_)]
        columns += [(Both.of(f"{alias}.{c}"), t) for c, t in PLAIN.items()]
        if self.shape.formats[name] != "DELIMITED":
            columns += [
                (Both.of(f"{alias}.a"), INTS),
                (Both(f"{alias}.o->p", f"{alias}.o.p"), INT),
                (Both(f"{alias}.o->q", f"{alias}.o.q"), STRING),
                (Both.of(f"{alias}.h['a']"), INT),
                (Both.of(f"{alias}.o"), RECORD),
                (Both.of(f"{alias}.h"), MAP),
            ]
        relation = Relation(Both.of(f"rel_{name} {alias}"), columns, columns[0], f"{alias}.rt", alias)
        if name in "sr" and not self.shape.is_ordered:
            relation.time = None
        relation.has_nested = self.shape.formats[name] != "DELIMITED"
        if name in "sr":
            columns.append((Both(f"{alias}.ROWTIME", f"{alias}.rt"), BIGINT))
        return relation

    def nested(self, sink: str) -> Relation:
        """A sub-query that is a statement of its own, with one key column."""
        self.depth += 1
        while True:
            # neither Top-N nor a window can be a sub-query
            unusable = {"best", "windows", *(IN_ORDER if not self.shape.is_ordered else ())}
            statement = KINDS[self.random.choice([k for k in KINDS if k not in unusable])](self)
            if statement.sink == sink and len(statement.keys) == 1 and not statement.waits:
                break
        self.depth -= 1
        alias = self.name()
        columns = [(Both.of(f"{alias}.{i.name}"), i.type) for i in statement.items]
        text = Both.made(f"({{}}) {alias}".format, statement.text)
        has_nested = "DELIMITED" not in self.shape.formats.values()
        return Relation(text, columns, columns[0], None, alias, has_nested)

    def stream(self, in_order: bool = False) -> Relation:
        """A stream, or a sub-query that makes one; ``in_order``: the order of its rows is certain."""
        if self.chance(0.7):
            return self.source("sr")
        if not in_order and self.depth < 2 and self.chance(0.7):
            return self.nested("STREAM")
        inner = self.source("sr")
        alias = self.name()
        types = [self.random.choice((*SCALARS, INTS)) for _ in range(self.random.randint(2, 5))]
        values = [copied(self.value(t, inner), inner) for t in types]
        columns = joined([Both.made(f"{{}} AS c{i}".format, v) for i, v in enumerate(values)])
        own = [(Both.of(f"{alias}.{KEYS['s'][0]}"), STRING)]
        own += [(Both.of(f"{alias}.c{i}"), t) for i, t in enumerate(types)]
        where = Both.made(" WHERE {}".format, self.condition(inner)) if self.chance(0.6) else Both.of("")
        text = Both(
            f"(SELECT {inner.key[0].ksql} AS k, {columns.ksql} FROM {inner.text.ksql}{where.ksql}) {alias}",
            f"(SELECT {inner.key[0].duckdb} AS k, {columns.duckdb}, {inner.alias}.rt AS rt"
            f" FROM {inner.text.duckdb}{where.duckdb}) {alias}",
        )
        return Relation(text, own, own[0], inner.time and f"{alias}.rt", alias, inner.has_nested)

    def aggregated(self) -> Relation:
        """A table that a sub-query makes of a stream or table."""
        is_stream = self.chance(0.6)
        inner = self.source("sr" if is_stream else "tv")
        inner.time = inner.time if is_stream else None
        type_ = self.random.choice((STRING, INT, BIGINT, DATE))
        text = self.value(type_, inner, 0)
        if text not in [c for c, _ in inner.columns]:
            text, type_ = self.random.choice([(c, t) for c, t in inner.columns if t in (STRING, INT)])
        alias = self.name()
        made = [self.aggregate(inner, undo=not is_stream) for _ in range(self.random.randint(2, 4))]
        listed = joined([Both.made(f"{{}} AS c{i}".format, x) for i, (_, x) in enumerate(made)])
        having = Both.of(" HAVING COUNT(*) > 1") if self.chance(0.4) or not is_stream else Both.of("")
        only = self.condition(inner, 1) if self.chance(0.3) else None
        text_ = Both(
            f"(SELECT {text.ksql} AS k, {listed.ksql} FROM {inner.text.ksql}"
            + (f" WHERE {only.ksql}" if only else "")
            + f" GROUP BY {text.ksql}{having.ksql}) {alias}",
            f"(SELECT {text.duckdb} AS k, {listed.duckdb} FROM {inner.text.duckdb}"
            + f" WHERE {text.duckdb} IS NOT NULL"
            + (f" AND {only.duckdb}" if only else "")
            + f" GROUP BY {text.duckdb}{having.duckdb}) {alias}",
        )
        columns = [(Both.of(f"{alias}.k"), type_)]
        columns += [(Both.of(f"{alias}.c{i}"), t) for i, (t, _) in enumerate(made)]
        return Relation(text_, columns, columns[0], None, alias, inner.has_nested)

    def some_table(self, names: str) -> Relation:
        """A table, or a sub-query that makes one."""
        if self.depth < 2 and self.chance(0.25):
            return self.nested("TABLE")
        relation = self.source(names) if self.chance(0.7) else self.aggregated()
        relation.time = None
        return relation

    # ---- kinds ----------------------------------------------------------------------------------------

    def projection(self) -> Statement:
        relation = self.stream()
        key = Item("k0", relation.key[1], relation.key[0])
        clauses = self.where(relation)
        partition = ""
        values = self.items(relation)
        if self.chance(0.3):
            type_ = self.random.choice(SCALARS)
            text = self.value(type_, relation, 1)
            is_known = any(text == c for c, _ in relation.columns) or "(" in text.ksql
            if is_known and text not in [v.text for v in values]:
                key, partition = Item("k0", type_, text), f" PARTITION BY {text.ksql}"
        if self.chance(0.2):
            array = self.value(INTS, relation, 1)
            values += (Item("v9", INT, Both.made("{}({})".format, Both("EXPLODE", "unnest"), array)),)
        return self.made("projection", "STREAM", (key,), values, clauses, relation, partition)

    def made(
        self, kind: str, sink: str, keys: Sequence[Item], values: Sequence[Item],
        clauses: Sequence[tuple[str, Both]], relation: Relation, ksql_tail: str = "", duckdb_tail: str = "",
        extra: Both | None = None, waits: bool = False, head: str = "SELECT",
    ) -> Statement:  # fmt: skip
        """A SELECT; ``extra`` is a condition of DuckDB or both that cannot be left out."""

        def template(listed: Both, parts: Mapping[str, Both]) -> Both:
            where = parts["where"]
            ksql = [t for t in (where.ksql, extra.ksql if extra else "") if t]
            duckdb = [t for t in (where.duckdb, extra.duckdb if extra else "") if t]
            having = parts["having"]
            return Both(
                f"{head} {listed.ksql} FROM {relation.text.ksql}"
                + (f" WHERE {' AND '.join(ksql)}" if ksql else "")
                + ksql_tail
                + (f" HAVING {having.ksql}" if having.ksql else ""),
                f"SELECT {listed.duckdb} FROM {relation.text.duckdb}"
                + (f" WHERE {' AND '.join(duckdb)}" if duckdb else "")
                + duckdb_tail
                + (f" HAVING {having.duckdb}" if having.duckdb else ""),
            )

        return Statement(kind, sink, tuple(keys), tuple(values), tuple(clauses), template, True, waits)

    # -- groups

    def aggregate(self, relation: Relation, undo: bool = False) -> tuple[str, Both]:
        found = [
            a
            for a in AGGREGATES
            if (a.undo or not undo)
            and (relation.time is not None or not a.ordered)
            and (relation.has_nested or not NESTED_STATE & set(re.findall(r"\w+", a.ksql)))
        ]
        # each name is as likely as others, of however many types it is
        name = self.random.choice(sorted({a.ksql for a in found}))
        chosen = self.random.choice([a for a in found if a.ksql == name])
        arguments = [self.value(t, relation, 1) for t in chosen.arguments]
        only = Both.of("")
        if self.chance(0.25):
            only = Both.made(" FILTER (WHERE {})".format, self.condition(relation, 1))
        there = f"{arguments[-1].duckdb} IS NOT NULL" if arguments else ""
        both = f"{only.duckdb[:-1]} AND {there})" if only.duckdb else f" FILTER (WHERE {there})"
        return chosen.result, Both(
            chosen.ksql.format(*(a.ksql for a in arguments), f=only.ksql),
            chosen.duckdb.format(*(a.duckdb for a in arguments), f=only.duckdb, g=both, rt=relation.time),
        )

    def aggregates(self, relation: Relation, undo: bool = False) -> tuple[Item, ...]:
        return tuple(Item(f"v{i}", *self.aggregate(relation, undo)) for i in range(self.random.randint(2, 6)))

    def group_keys(self, relation: Relation, most: int = 2) -> tuple[Item, ...]:
        found: list[Item] = []
        for place in range(self.random.randint(1, most)):
            type_ = self.random.choice((*SCALARS, *SCALARS, INTS, RECORD, BYTES))
            text = relation.key[0] if self.chance(0.2) else self.value(type_, relation, 1)
            type_ = relation.key[1] if text == relation.key[0] else type_
            columns = [c.ksql for c, _ in relation.columns]
            if type_ == DOUBLE and text.ksql not in columns:  # what is rounded may be two groups of one
                continue
            uses_column = any(c in text.ksql for c in columns)
            if uses_column and text.ksql not in [f.text.ksql for f in found]:
                found.append(Item(f"k{place}", type_, text))
        return tuple(found) or (Item("k0", relation.key[1], relation.key[0]),)

    def having(self, relation: Relation, undo: bool = False) -> list[tuple[str, Both]]:
        if not self.chance(0.3):
            return []
        if self.chance(0.5):
            return [("having", Both.of("COUNT(*) > 1"))]
        argument = self.value(INT, relation, 0)
        return [("having", Both.made("COUNT({}) < 3".format, argument))]

    def groups(self) -> Statement:
        relation = self.stream()
        keys = self.group_keys(relation)
        grouped = joined([k.text for k in keys])
        not_null = Both("", " AND ".join(f"({k.text.duckdb}) IS NOT NULL" for k in keys))
        return self.made(
            "groups", "TABLE", keys, self.aggregates(relation),
            [*self.where(relation, 0.4), *self.having(relation)], relation,
            f" GROUP BY {grouped.ksql}", f" GROUP BY {grouped.duckdb}", not_null,
        )  # fmt: skip

    def table_groups(self) -> Statement:
        relation = self.some_table("tvu")
        keys = self.group_keys(relation)
        grouped = joined([k.text for k in keys])
        not_null = Both("", " AND ".join(f"({k.text.duckdb}) IS NOT NULL" for k in keys))
        # an empty group stays
        tail = Both.made(" GROUP BY {} HAVING COUNT(*) > 0".format, grouped)
        return self.made(
            "table_groups", "TABLE", keys, self.aggregates(relation, undo=True),
            self.where(relation, 0.4), relation, tail.ksql, tail.duckdb, not_null,
        )  # fmt: skip

    def windows(self) -> Statement:
        relation = self.source("sr")
        keys = self.group_keys(relation)
        is_final = self.chance(0.3)
        if is_final:
            text, type_ = self.random.choice((relation.key, (Both.of(f"{relation.alias}.i"), INT)))
            keys = (Item("k0", type_, text),)
        where = self.where(relation, 0.3) if not is_final else []
        grouped = joined([k.text for k in keys])
        not_null = " AND ".join(f"({k.text.duckdb}) IS NOT NULL" for k in keys)
        only = f" WHERE {not_null}" + (f" AND {where[0][1].duckdb}" if where else "")
        size, advance = self.random.choice(((4000, 4000), (3000, 1000), (1000, 1000), (5000, 2000)))
        alias = relation.alias
        kind = self.random.choice(("TUMBLING", "HOPPING", "SESSION", "SLIDING"))
        values = self.aggregates(relation)
        emit = " EMIT FINAL" if is_final else ""
        if kind == "SESSION":
            window = "SESSION (1 SECOND, GRACE PERIOD 1 HOUR)"
            over = f"OVER (PARTITION BY {grouped.duckdb} ORDER BY {alias}.rt)"
            theirs = (
                f"(SELECT *, SUM(begins) {over} AS session FROM (SELECT *,"
                f" CASE WHEN {alias}.rt - LAG({alias}.rt) {over} <= 1000 THEN 0 ELSE 1 END AS begins"
                f" FROM {relation.text.duckdb}{only}) {alias}) {alias}"
            )
            bounds = (f"MIN({alias}.rt)", f"MAX({alias}.rt)")
            tail = f" GROUP BY {grouped.duckdb}, session"
        elif kind == "SLIDING":
            window = f"SLIDING (SIZE {size} MILLISECONDS, GRACE PERIOD 1 HOUR)"
            names = [f"g{i}" for i, _ in enumerate(keys)]
            named = ", ".join(f"{k.text.duckdb} AS {n}" for k, n in zip(keys, names, strict=True))
            rows = f"(SELECT *, {named} FROM {relation.text.duckdb}{only})"
            begins = f"unnest([greatest(rt - {size}, 0), rt + 1]) AS starts"
            equal = " AND ".join(f"{alias}.{n} = w.{n}" for n in names)
            theirs = (
                f"{rows} {alias} JOIN (SELECT DISTINCT {', '.join(names)}, {begins} FROM {rows}) w"
                f" ON {equal} AND {alias}.rt BETWEEN w.starts AND w.starts + {size}"
            )
            bounds = ("w.starts", f"w.starts + {size}")
            tail = f" GROUP BY {grouped.duckdb}, w.starts"
        else:
            if kind == "TUMBLING":
                advance = size
                step = ""
            else:
                step = f" ADVANCE BY {advance} MILLISECONDS,"
            window = f"{kind} (SIZE {size} MILLISECONDS,{step} GRACE PERIOD 1 HOUR)"
            first = f"greatest(0, {alias}.rt - {size} + {advance}) // {advance} * {advance}"
            starts = f"range({first}, {alias}.rt + 1, {advance})"
            theirs = f"(SELECT *, unnest({starts}) AS starts FROM {relation.text.duckdb}{only}) {alias}"
            bounds = (f"{alias}.starts", f"{alias}.starts + {size}")
            tail = f" GROUP BY {grouped.duckdb}, {alias}.starts"
        values += (Item("v8", BIGINT, Both("WINDOWSTART", bounds[0])),)
        values += (Item("v9", BIGINT, Both("WINDOWEND", bounds[1])),)
        having = self.having(relation)

        def template(listed: Both, parts: Mapping[str, Both]) -> Both:
            limit = parts["having"]
            return Both(
                f"SELECT {listed.ksql} FROM {relation.text.ksql} WINDOW {window}"
                + (f" WHERE {where[0][1].ksql}" if where else "")
                + f" GROUP BY {grouped.ksql}"
                + (f" HAVING {limit.ksql}" if limit.ksql else "")
                + emit,
                f"SELECT {listed.duckdb} FROM {theirs}{tail}"
                + (f" HAVING {limit.duckdb}" if limit.duckdb else ""),
            )

        return Statement("windows", "TABLE", keys, values, tuple(having), template, True, is_final)

    def grouping_sets(self) -> Statement:
        relation = self.stream()
        columns = [(c, t) for c, t in relation.columns if t in SCALARS and t != DOUBLE and "->" not in c.ksql]
        chosen = self.random.sample(columns, k=min(2, len(columns)))
        keys = [Item(f"k{i}", t, c) for i, (c, t) in enumerate(chosen)]
        names = ", ".join(k.text.ksql for k in keys)
        kind = self.random.choice(("ROLLUP", "CUBE"))
        full = range(len(keys))
        sets: list[tuple[int, ...]] = [tuple(full), (0,), ()] if len(keys) == 2 else [(0,), ()]
        if kind == "CUBE" and len(keys) == 2:
            sets.append((1,))
        values = self.aggregates(relation)
        where = self.where(relation, 0.3)

        def template(listed: Both, parts: Mapping[str, Both]) -> Both:
            only = parts["where"]
            ksql = (
                f"SELECT {listed.ksql} FROM {relation.text.ksql}"
                + (f" WHERE {only.ksql}" if only.ksql else "")
                + f" GROUP BY {kind} ({names})"
            )
            several = []
            own = listed.duckdb
            for members in sets:
                text = own
                for place, key in enumerate(keys):
                    if place not in members:
                        text = text.replace(
                            f"{key.text.duckdb} AS {key.name}", f"CAST(NULL AS {key.type}) AS {key.name}", 1
                        )
                level = sum(1 << (len(keys) - 1 - p) for p in full if p not in members)
                text = text.replace("@level", str(level))
                conditions = [f"{keys[m].text.duckdb} IS NOT NULL" for m in members]
                conditions += [only.duckdb] if only.duckdb else []
                several.append(
                    f"SELECT {text} FROM {relation.text.duckdb}"
                    + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
                    + (f" GROUP BY {', '.join(keys[m].text.duckdb for m in members)}" if members else "")
                    + " HAVING COUNT(*) > 0"
                )
            return Both(ksql, " UNION ALL ".join(several))

        all_keys = (*keys, Item("k9", INT, Both(f"GROUPING({names})", "@level")))
        return Statement("grouping_sets", "TABLE", all_keys, values, tuple(where), template, True)

    # -- joins

    def join(
        self, left: Relation, right: Relation, kind: str, ksql_more: str, on: Both, time: str | None
    ) -> Relation:
        return Relation(
            Both(
                f"{left.text.ksql} {kind} JOIN {right.text.ksql}{ksql_more} ON {on.ksql}",
                f"{left.text.duckdb} {kind} JOIN {right.text.duckdb} ON {on.duckdb}",
            ),
            [(c, t) for c, t in (*left.columns, *right.columns) if not c.ksql.endswith("ROWTIME")],
            left.key, time, "", left.has_nested,
        )  # fmt: skip

    def stream_join(self) -> Statement:
        left, right = self.source("s"), self.source("r")
        kind = self.random.choice(("INNER", "LEFT", "FULL", "RIGHT"))
        column, type_ = self.random.choice((("k", STRING), ("i", INT)))
        ours, theirs = f"{left.alias}.{column}", f"{right.alias}.{column}"
        if kind == "INNER" and self.chance(0.4):
            column = self.random.choice(("x", "n", "m", "dt", "w", "d"))
            type_ = PLAIN[column]
            ours, theirs = f"{left.alias}.{column}", f"{right.alias}.{column}"
        before, after = self.random.choice(((2000, 2000), (0, 3000), (1000, 0)))
        base, other = (right, left) if kind == "RIGHT" else (left, right)
        time = f"{other.alias}.rt BETWEEN {base.alias}.rt - {before} AND {base.alias}.rt + {after}"
        residual = Both.of("")
        if self.chance(0.4):
            both = Relation(left.text, [*left.columns, *right.columns])
            residual = Both.made(" AND {}".format, self.two_sided(both))
        within = f" WITHIN ({before} MILLISECONDS, {after} MILLISECONDS) GRACE PERIOD 1 HOUR"
        on = Both(f"{ours} = {theirs}{residual.ksql}", f"{ours} = {theirs} AND {time}{residual.duckdb}")
        relation = self.join(left, right, kind, within, on, None)
        key = Item("k0", type_, Both.of(theirs if kind == "RIGHT" else ours))
        if kind == "FULL":
            key = Item("k0", type_, Both("ROWKEY", f"COALESCE({ours}, {theirs})"))
        waits = kind != "INNER"
        if waits or self.chance(0.7):
            values = self.items(relation)
            clauses = [] if waits else self.where(relation, 0.3)
            return self.made("stream_join", "STREAM", (key,), values, clauses, relation, waits=waits)
        keys = self.group_keys(relation)
        grouped = joined([k.text for k in keys])
        not_null = Both("", " AND ".join(f"({k.text.duckdb}) IS NOT NULL" for k in keys))
        return self.made(
            "stream_join", "TABLE", keys, self.aggregates(relation), self.where(relation, 0.3), relation,
            f" GROUP BY {grouped.ksql}", f" GROUP BY {grouped.duckdb}", not_null,
        )  # fmt: skip

    def two_sided(self, both: Relation) -> Both:
        """A condition for ON that is no second equality of both sides."""
        aliases = {c.ksql.partition(".")[0] for c, _ in both.columns}
        condition = self.condition(both, 1)
        is_equality = " = " in condition.ksql and all(a in condition.ksql for a in aliases)
        return Both.of("1 = 1") if is_equality or "NOT DISTINCT" in condition.ksql else condition

    def table_lookup(self) -> Statement:
        left, right = self.source("sr"), self.source("tu")
        key_type = right.key[1]
        ours = self.random.choice([c for c, t in left.columns if t == key_type])
        if self.chance(0.3):
            ours = self.value(key_type, left, 1)
            if not any(c.ksql in ours.ksql for c, _ in left.columns):
                ours = self.random.choice([c for c, t in left.columns if t == key_type])
        kind = self.random.choice(("INNER", "LEFT"))
        on = Both.made("{} = {}".format, ours, right.key[0])
        if self.chance(0.3):
            both = Relation(left.text, [*left.columns, *right.columns])
            on = Both.made("{} AND {}".format, on, self.two_sided(both))
        relation = self.join(left, right, kind, "", on, left.time)
        is_column = is_name(ours) and ours in [c for c, _ in left.columns]
        key = Item("k0", key_type, ours if is_column else Both(right.key[0].ksql, ours.duckdb))
        if key_type == STRING and self.chance(0.3):
            third = self.source("u")
            number = self.random.choice([c for c, t in left.columns if t == INT and is_name(c)])
            more = Both.made("{} = {}".format, number, third.key[0])
            relation = self.join(relation, third, self.random.choice(("INNER", "LEFT")), "", more, left.time)
            key = Item("k0", INT, number)
        values, clauses = self.items(relation), self.where(relation, 0.4)
        return self.made("table_lookup", "STREAM", (key,), values, clauses, relation)

    def table_join(self) -> Statement:
        left, right = self.source("t"), self.source("v")
        kind = self.random.choice(("INNER", "LEFT", "RIGHT", "FULL"))
        on = Both.made("{} = {}".format, left.key[0], right.key[0])
        relation = self.join(left, right, kind, "", on, None)
        key = left.key[0] if kind != "RIGHT" else right.key[0]
        if kind == "FULL":
            key = Both("ROWKEY", f"COALESCE({left.key[0].duckdb}, {right.key[0].duckdb})")
        values, clauses = self.items(relation), self.where(relation, 0.4)
        return self.made("table_join", "TABLE", (Item("k0", STRING, key),), values, clauses, relation)

    def foreign_key_join(self) -> Statement:
        left, right = self.some_table("tv"), self.source("u")
        for _ in range(9):
            ours = self.value(INT, left, 1)
            if any(c.ksql in ours.ksql for c, _ in left.columns) and ours != left.key[0]:
                break
        else:
            left = self.source("tv")
            ours = Both.of(f"{left.alias}.i")
        kind = self.random.choice(("INNER", "LEFT"))
        relation = self.join(left, right, kind, "", Both.made("{} = {}".format, ours, right.key[0]), None)
        key = Item("k0", *reversed(left.key))
        return self.made(
            "foreign_key_join", "TABLE", (key,), self.items(relation), self.where(relation, 0.4), relation
        )

    def semi_join(self) -> Statement:
        outer = self.source("srt")
        is_table = outer.text.ksql.startswith("rel_t")
        inner = self.source("v" if is_table else "tu")
        type_ = inner.key[1]
        ours = self.random.choice([c for c, t in outer.columns if t == type_])
        negation = "NOT " * self.chance(0.4)
        only = self.condition(inner, 1) if self.chance(0.5) else None
        if self.chance(0.5):
            where = Both.made(" WHERE {}".format, only) if only else Both.of("")
            test = Both.made(
                f"{{}} {negation}IN (SELECT {{}} FROM {{}}{{}})".format, ours, inner.key[0], inner.text, where
            )
            # a row with NULL passes neither, even if there is nothing to be in
            test = Both(test.ksql, f"({test.duckdb} AND {ours.duckdb} IS NOT NULL)")
        else:
            more = Both.made(" AND {}".format, only) if only else Both.of("")
            test = Both.made(
                f"{negation}EXISTS (SELECT 1 FROM {{}} WHERE {{}} = {{}}{{}})".format,
                inner.text, inner.key[0], ours, more,
            )  # fmt: skip
        key = Item("k0", *reversed(outer.key))
        return self.made(
            "semi_join", "TABLE" if is_table else "STREAM", (key,), self.items(outer),
            self.where(outer, 0.4), outer, extra=test,
        )  # fmt: skip

    # -- tables

    def table(self) -> Statement:
        relation = self.some_table("tvu")
        key = Item("k0", *reversed(relation.key))
        return self.made("table", "TABLE", (key,), self.items(relation), self.where(relation, 0.8), relation)

    def table_set(self) -> Statement:
        left, right = self.source("t"), self.source("v")
        comparable = [t for t in SCALARS if t != DOUBLE]
        types = [self.random.choice(comparable) for _ in range(self.random.randint(0, 2))]
        word = self.random.choice(("UNION", "EXCEPT", "INTERSECT"))
        first, second = (
            [side.key[0], *(copied(self.value(t, side, 1), side) for t in types)] for side in (left, right)
        )
        names = [f"k{i}" for i in range(len(first))]
        keys = tuple(Item(n, t, x) for n, t, x in zip(names, [STRING, *types], first, strict=True))
        wheres = [self.where(side, 0.4) for side in (left, right)]

        def template(listed: Both, parts: Mapping[str, Both]) -> Both:
            texts = []
            named = joined([Both.made(f"{{}} AS {n}".format, x) for n, x in zip(names, second, strict=True)])
            for items, side, where in ((listed, left, wheres[0]), (named, right, wheres[1])):
                only = Both.made(" WHERE {}".format, where[0][1]) if where else Both.of("")
                texts.append(Both.made("SELECT {} FROM {}{}".format, items, side.text, only))
            return Both.made(f"{{}} {word} {{}}".format, *texts)

        return Statement("table_set", "TABLE", keys, (), (), template, True)

    # -- rows in order

    def distinct_on(self) -> Statement:
        relation = self.stream(in_order=True)
        by = joined([k.text for k in self.group_keys(relation)])
        where = self.where(relation, 0.3)
        within = " WITHIN 1 DAY" * self.chance(0.5)
        values = self.items(relation)
        key = Item("k0", *reversed(relation.key))

        def template(listed: Both, parts: Mapping[str, Both]) -> Both:
            only = Both.made(" WHERE {}".format, parts["where"]) if parts["where"].ksql else Both.of("")
            return Both(
                f"SELECT DISTINCT ON ({by.ksql}) {listed.ksql} FROM {relation.text.ksql}{within}{only.ksql}",
                f"SELECT {listed.duckdb} FROM {relation.text.duckdb}{only.duckdb}"
                f" QUALIFY ROW_NUMBER() OVER (PARTITION BY {by.duckdb} ORDER BY {relation.time}) = 1",
            )

        return Statement("distinct_on", "STREAM", (key,), values, tuple(where), template, True)

    def best(self) -> Statement:
        is_table = self.chance(0.4)
        relation = self.source("t") if is_table else self.stream(in_order=True)
        group = self.group_keys(relation, 1)[0]
        # by ROWTIME it would be DISTINCT ON
        columns = [(c, t) for c, t in relation.columns if not c.ksql.endswith("ROWTIME")]
        type_ = self.random.choice([t for _, t in columns if t in ORDERED])
        by = self.random.choice([c for c, t in columns if t == type_])
        direction = self.random.choice(("", " DESC"))
        nulls = self.random.choice(("", " NULLS FIRST"))
        # of equal rows of a table, the one that arrived first is ahead: here none are equal
        last = f", {relation.key[0].ksql}" if is_table else ""
        most = self.random.choice((1, 2, 3))
        ours = f"OVER (PARTITION BY {group.text.ksql} ORDER BY {by.ksql}{direction}{nulls}{last})"
        function = self.random.choice(("ROW_NUMBER", "ROW_NUMBER", "RANK", "DENSE_RANK"))
        rest = f", {relation.key[0].duckdb}" if is_table else f", {relation.time}"
        order = f"{by.duckdb}{direction}{nulls or ' NULLS LAST'}"
        theirs = f"OVER (PARTITION BY {group.text.duckdb} ORDER BY {order}{rest})"
        # of rows that are equal in ORDER BY, each has the same rank, and a place of its own
        last_key = f", {relation.key[0].duckdb}" if is_table else ""
        ranked = theirs if function == "ROW_NUMBER" else (
            f"OVER (PARTITION BY {group.text.duckdb} ORDER BY {order}{last_key})"
        )  # fmt: skip
        keys: tuple[Item, ...] = (replace(group, name="k0"),)
        if most > 1 or function != "ROW_NUMBER":
            keys += (Item("k1", INT, Both.made("ROW_NUMBER() {}".format, Both(ours, theirs))),)
        values = self.items(relation)
        where = self.where(relation, 0.3)

        def template(listed: Both, parts: Mapping[str, Both]) -> Both:
            only = parts["where"]
            not_null = f"({group.text.duckdb}) IS NOT NULL" + (f" AND {only.duckdb}" if only.duckdb else "")
            return Both(
                f"SELECT {listed.ksql} FROM {relation.text.ksql}"
                + (f" WHERE {only.ksql}" if only.ksql else "")
                + f" QUALIFY {function}() {ours} <= {most}",
                f"SELECT {listed.duckdb} FROM {relation.text.duckdb} WHERE {not_null}"
                f" QUALIFY {function}() {ranked} <= {most}",
            )

        return Statement("best", "TABLE", keys, values, tuple(where), template, True)

    def over(self) -> Statement:
        relation = self.stream(in_order=True)
        by = joined([k.text for k in self.group_keys(relation, 1)])
        values: list[Item] = []
        most_lead = 0
        time = relation.time
        for place in range(self.random.randint(1, 3)):
            ours = f"PARTITION BY {by.ksql} ORDER BY ROWTIME"
            theirs = f"PARTITION BY {by.duckdb} ORDER BY {time}"
            type_ = self.random.choice((INT, BIGINT, STRING, WIDE, MONEY, TIMESTAMP, BOOLEAN))
            value = self.value(type_, relation, 1)
            choice = self.random.random()
            if choice < 0.35:
                n = self.random.choice((1, 2))
                name = self.random.choice(("LAG", "LAG", "LEAD"))
                most_lead = max(most_lead, n * (name == "LEAD"))
                more = f", {n}" + self.random.choice(("", f", {self.random.choice(LITERALS[type_])}"))
                call, frame = Both.made(f"{name}({{}}{more})".format, value), Both.of("")
            else:
                frame = self.random.choice((
                    Both("", " ROWS UNBOUNDED PRECEDING"),
                    Both.of(" ROWS 2 PRECEDING"),
                    Both.of(" ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING"),
                    Both(
                        " RANGE INTERVAL 2 SECONDS PRECEDING",
                        " RANGE BETWEEN 2000 PRECEDING AND CURRENT ROW",
                    ),
                ))  # fmt: skip
                if choice < 0.55:
                    name = self.random.choice(("FIRST_VALUE({})", "LAST_VALUE({})", "NTH_VALUE({}, 2)"))
                    call = Both.made(name.format, value)
                else:
                    chosen = self.random.choice([a for a in AGGREGATES if re.match(OVER_ROWS, a.ksql)])
                    type_ = chosen.result
                    parts = [self.value(t, relation, 1) for t in chosen.arguments]
                    window = Both(f" OVER ({ours}{frame.ksql})", f" OVER ({theirs}{frame.duckdb})")
                    text = Both(
                        chosen.ksql.format(*(p.ksql for p in parts), f=window.ksql),
                        chosen.duckdb.format(*(p.duckdb for p in parts), f=window.duckdb),
                    )
                    values.append(Item(f"v{place}", type_, text))
                    continue
            text = Both(
                f"{call.ksql} OVER ({ours}{frame.ksql})", f"{call.duckdb} OVER ({theirs}{frame.duckdb})"
            )
            values.append(Item(f"v{place}", type_, text))
        key = Item("k0", *reversed(relation.key))
        where = self.where(relation, 0.3)
        # a row of LEAD waits for the rows that it needs
        tail = (
            f" QUALIFY LEAD(1, {most_lead}) OVER (PARTITION BY {by.duckdb} ORDER BY {time}) IS NOT NULL"
            if most_lead else ""
        )  # fmt: skip
        made = self.made("over", "STREAM", (key,), values, where, relation, "", tail)
        return made

    def union(self) -> Statement:
        left, right = self.stream(), self.source("sr")
        left = left if left.key[1] == right.key[1] else self.source("sr")
        types = [self.random.choice((*SCALARS, INTS)) for _ in range(self.random.randint(1, 3))]
        first, second = ([self.value(t, side) for t in types] for side in (left, right))
        first, second = ([copied(x, side) for x in own] for own, side in ((first, left), (second, right)))
        values = tuple(Item(f"v{i}", t, x) for i, (t, x) in enumerate(zip(types, first, strict=True)))
        wheres = [self.where(side, 0.4) for side in (left, right)]

        def template(listed: Both, parts: Mapping[str, Both]) -> Both:
            named = [Both.made("{} AS k0".format, right.key[0])]
            for i, x in enumerate(second):
                if f" AS v{i}" in listed.ksql:
                    named.append(Both.made(f"{{}} AS v{i}".format, x))
            texts = []
            for items, side, where in ((listed, left, wheres[0]), (joined(named), right, wheres[1])):
                only = Both.made(" WHERE {}".format, where[0][1]) if where else Both.of("")
                texts.append(Both.made("SELECT {} FROM {}{}".format, items, side.text, only))
            return Both.made("{} UNION ALL {}".format, *texts)

        return Statement("union", "STREAM", (Item("k0", *reversed(left.key)),), values, (), template, True)

    def unnested(self) -> Statement:
        inner = self.source("s")
        alias = self.name()
        array = self.value(INTS, inner, 1)
        has_number = self.chance(0.5)
        ours = f"{inner.text.ksql} CROSS JOIN UNNEST({array.ksql})"
        ours += f" WITH ORDINALITY AS {alias} (el, nr)" if has_number else f" AS {alias} (el)"
        theirs = (
            f"{inner.text.duckdb} CROSS JOIN LATERAL (SELECT unnest({array.duckdb}) AS el,"
            f" generate_subscripts({array.duckdb}, 1) AS nr) {alias}"
        )
        columns = [*inner.columns, (Both.of(f"{alias}.el"), INT)]
        if has_number:
            columns.append((Both(f"{alias}.nr", f"{alias}.nr::INT"), INT))
        relation = Relation(Both(ours, theirs), columns, inner.key, None, "", inner.has_nested)
        if self.chance(0.5):
            key = Item("k0", *reversed(inner.key))
            values, clauses = self.items(relation), self.where(relation, 0.4)
            return self.made("unnested", "STREAM", (key,), values, clauses, relation)
        keys = self.group_keys(relation)
        grouped = joined([k.text for k in keys])
        not_null = Both("", " AND ".join(f"({k.text.duckdb}) IS NOT NULL" for k in keys))
        return self.made(
            "unnested", "TABLE", keys, self.aggregates(relation), self.where(relation, 0.3), relation,
            f" GROUP BY {grouped.ksql}", f" GROUP BY {grouped.duckdb}", not_null,
        )  # fmt: skip


def is_name(text: Both) -> bool:
    """Whether it is a plain column."""
    return re.fullmatch(r"\w+\.\w+", text.ksql) is not None


def copied(text: Both, relation: Relation) -> Both:
    """A value for a column besides the key: a column of its own, whatever is the key."""
    columns = [c for c, _ in relation.columns]
    return Both.made("{}({})".format, Both("AS_VALUE", ""), text) if text in columns else text


#: kinds whose results show in which order rows come
IN_ORDER = ("distinct_on", "best", "over")
KINDS: Mapping[str, Callable[[Generator], Statement]] = {
    "projection": Generator.projection,
    "groups": Generator.groups,
    "windows": Generator.windows,
    "grouping_sets": Generator.grouping_sets,
    "stream_join": Generator.stream_join,
    "table_lookup": Generator.table_lookup,
    "semi_join": Generator.semi_join,
    "distinct_on": Generator.distinct_on,
    "best": Generator.best,
    "over": Generator.over,
    "union": Generator.union,
    "unnested": Generator.unnested,
    "table": Generator.table,
    "table_groups": Generator.table_groups,
    "table_join": Generator.table_join,
    "foreign_key_join": Generator.foreign_key_join,
    "table_set": Generator.table_set,
}
