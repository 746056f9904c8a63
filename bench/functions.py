"""The cost of our functions: rows per CPU second, compared with the nearest equivalent in plain Spark.

    python bench/functions.py [FAMILY...] [--rows N] [--below SHARE]

Each call runs as a batch job from a cached frame to Spark's noop sink. The two calls of a line take turns in
one JVM, and the best of several rounds counts. Measured is the CPU time of the tasks, from Linux's /proc.
"share" is our speed relative to Spark's: above 1.00, ours is faster. Spark's results may differ: the
benchmark shows what our semantics cost.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksql_spark import grammar
from ksql_spark.analyzer import Scope, bind_expression
from ksql_spark.analyzer.base.scope import BoundRelation
from ksql_spark.formats import SerdeSpec, bind
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower
from ksql_spark.schema import Column, Schema
from ksql_spark.services import artifacts
from ksql_spark.spark.session import SparkProcess
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
)

ROUNDS = 6

#: the frame's columns: SQL type, Spark SQL text over a row number
COLUMNS: dict[str, tuple[SqlType, str]] = {
    "G": (BIGINT, "id % 1000"),
    "I": (INTEGER, "cast(hash(id) as int)"),
    "L": (BIGINT, "id * 1234567"),
    "D": (DOUBLE, "cast(hash(id) as double) / 7"),
    "E": (Decimal(10, 2), "cast(cast(hash(id) as double) / 100 as decimal(10, 2))"),
    "S": (STRING, "concat('Name ', id % 97, ' ', hex(id))"),
    "S2": (STRING, "concat('Name ', id % 89, ' ', hex(id))"),
    "NUM": (STRING, "cast(id * 37 as string)"),
    "B": (BYTES, "cast(hex(id * 1234567) as binary)"),
    "DAY": (DATE, "date_from_unix_date(cast(id % 20000 as int))"),
    "T": (TIMESTAMP, "timestamp_millis(1600000000000 + id * 1234)"),
    "TEXT": (STRING, "date_format(timestamp_millis(1600000000000 + id * 1234), 'yyyy-MM-dd HH:mm:ss')"),
    "ISO": (STRING, "date_format(timestamp_millis(1600000000000 + id * 1234), \"yyyy-MM-dd'T'HH:mm:ss\")"),
    "JSON": (
        STRING,
        """concat('{"a": {"b": [', id, ', 2]}, "name": "x', id % 97, '", "n": ', id / 8, '}')""",
    ),
    "ITEMS": (STRING, "concat('[', id, ', 2, \"three\", null]')"),
    "A": (Array(INTEGER), "sequence(cast(id % 7 as int), cast(id % 7 + 9 as int))"),
    "W": (Array(STRING), "split(concat('some words ', id, ' in any order'), ' ')"),
    "M": (Map(STRING, INTEGER), "map('one', cast(id as int), 'two', 2, 'three', 3)"),
    "PAIRS": (STRING, "concat('a=', id, ';b=2;c=three')"),
    "URL": (STRING, "concat('https://example.com:80/a/b?c=', id, '&d=e#f')"),
    "WORDS": (STRING, "concat('the quick brown fox ', id)"),
    "CSV": (BYTES, "cast(concat(id, ',\"name ', id % 97, '\",', id / 8, ',true') as binary)"),
    "OBJECT": (
        BYTES,
        """cast(concat('{"I":', id, ',"S":"name ', id % 97, '","D":', id / 8, ',"F":true}') as binary)""",
    ),
}
_RECORD = "I bigint, S string, D double, F boolean"


@dataclass(frozen=True)
class Line:
    """A call in KSQL, and its nearest equivalent in plain Spark; aggregates take columns and literals.

    ``text`` returns the Spark SQL text of something that is not a KSQL expression.
    """

    family: str
    call: str
    plain: str
    text: Callable[[], str] | None = None
    is_aggregate: bool = False

    def ours(self) -> str:
        """The Spark SQL text of our lowering."""
        if self.text is not None:
            return self.text()
        if self.is_aggregate:
            return self._aggregate()
        return lower(bind_expression(grammar.parse_expression(self.call), _scope()))

    def _aggregate(self) -> str:
        name, _, rest = self.call.removesuffix(")").partition("(")
        scope = _scope()
        bound = [bind_expression(grammar.parse_expression(a.strip()), scope) for a in rest.split(",")]
        literals = [getattr(e, "value", None) for e in bound]
        found = registry.resolve(name, [e.type for e in bound], literals)
        assert found.spec.spark is not None
        return found.spec.spark([lower(a) for a in bound], found.parameter_types)


def _scope() -> Scope:
    columns = tuple(Column(name, type_) for name, (type_, _) in COLUMNS.items())
    return Scope((BoundRelation("F", Schema(columns), "STREAM"),))


def _fields() -> list[Column]:
    return [Column("I", BIGINT), Column("S", STRING), Column("D", DOUBLE), Column("F", BOOLEAN)]


def _decoded(format_: str, column: str) -> Callable[[], str]:
    return lambda: bind(SerdeSpec(format_, tuple(_fields()))).decode_sql(f"`{column}`")


def _encoded(format_: str) -> Callable[[], str]:
    return lambda: bind(SerdeSpec(format_, tuple(_fields()))).encode_sql(["`L`", "`S`", "`D`", "(`I` > 0)"])


_MEMBERS = "named_struct('I', L, 'S', S, 'D', D, 'F', I > 0)"

LINES: tuple[Line, ...] = (
    Line("operators", "I + 1", "I + 1"),
    Line("operators", "L / 7", "L div 7"),
    Line("operators", "E * E", "E * E"),
    Line("operators", "S LIKE 'Name 1%'", "S like 'Name 1%'"),
    Line("operators", "S LIKE '%1_A%'", "S like '%1_A%'"),
    Line("operators", "S < S2", "S < S2"),
    Line("operators", "S BETWEEN 'Name 2' AND 'Name 5'", "S between 'Name 2' and 'Name 5'"),
    Line("operators", "I IN (1, 2, 3)", "I in (1, 2, 3)"),
    Line("operators", "A[2]", "try_element_at(A, 2)"),
    Line("operators", "M['two']", "try_element_at(M, 'two')"),
    Line("operators", "NOT (I > 0 AND D < 1000.0 OR L = 5)", "not (I > 0 and D < 1000D or L = 5)"),
    Line("numeric", "ROUND(D, 2)", "round(D, 2)"),
    Line("numeric", "ABS(I)", "abs(I)"),
    Line("numeric", "FLOOR(D)", "floor(D)"),
    Line("numeric", "TRUNC(D, 1)", "bround(D, 1)"),
    Line("numeric", "LOG(2.0e0, D)", "log(2D, D)"),
    Line("numeric", "GREATEST(I, 5, 7)", "greatest(I, 5, 7)"),
    Line("numeric", "GREATEST(S, S2)", "greatest(S, S2)"),
    Line("numeric", "GENERATE_SERIES(1, 9)", "sequence(1, 9)"),
    Line("strings", "UCASE(S)", "upper(S)"),
    Line("strings", "LEN(S)", "length(S)"),
    Line("strings", "TRIM(S)", "trim(S)"),
    Line("strings", "CONCAT(S, '-', NUM)", "concat(S, '-', NUM)"),
    Line("strings", "SUBSTRING(S, 3, 4)", "substring(S, 3, 4)"),
    Line("strings", "INSTR(S, '1')", "instr(S, '1')"),
    Line("strings", "LPAD(S, 20, '*')", "lpad(S, 20, '*')"),
    Line("strings", "INITCAP(WORDS)", "initcap(WORDS)"),
    Line("strings", "REPLACE(S, 'Name', 'x')", "replace(S, 'Name', 'x')"),
    Line("strings", "SPLIT(S, ' ')", "split(S, ' ')"),
    Line("strings", "SPLIT_TO_MAP(PAIRS, ';', '=')", "str_to_map(PAIRS, ';', '=')"),
    Line("strings", "MASK(S)", "mask(S)"),
    Line("strings", "MASK_KEEP_RIGHT(S, 3)", "mask(S)"),
    Line("strings", "CHR(65)", "chr(65)"),
    Line("strings", "MD5(S)", "md5(S)"),
    Line("bytes", "ENCODE(S, 'utf8', 'hex')", "lower(hex(S))"),
    Line("bytes", "TO_BYTES(S, 'utf8')", "cast(S as binary)"),
    Line("bytes", "FROM_BYTES(B, 'base64')", "base64(B)"),
    Line("bytes", "SUBSTRING(B, 2, 3)", "substring(B, 2, 3)"),
    Line("regexp", "REGEXP_EXTRACT('[0-9]+', S)", "regexp_extract(S, '[0-9]+', 0)"),
    Line("regexp", "REGEXP_EXTRACT_ALL('[0-9]', S)", "regexp_extract_all(S, '[0-9]', 0)"),
    Line("regexp", "REGEXP_REPLACE(S, '[0-9]', 'n')", "regexp_replace(S, '[0-9]', 'n')"),
    Line("regexp", "REGEXP_SPLIT_TO_ARRAY(S, ' +')", "split(S, ' +')"),
    Line("json", "EXTRACTJSONFIELD(JSON, '$.a.b[1]')", "get_json_object(JSON, '$.a.b[1]')"),
    Line("json", "JSON_KEYS(JSON)", "json_object_keys(JSON)"),
    Line("json", "JSON_ARRAY_LENGTH(ITEMS)", "json_array_length(ITEMS)"),
    Line("json", "JSON_ITEMS(ITEMS)", "from_json(ITEMS, 'array<string>')"),
    Line("json", "JSON_RECORDS(JSON)", "from_json(JSON, 'map<string, string>')"),
    Line("json", "TO_JSON_STRING(A)", "to_json(A)"),
    Line("json", "TO_JSON_STRING(M)", "to_json(M)"),
    Line("json", "TO_JSON_STRING(STRUCT(B := I, A := S))", "to_json(named_struct('A', S, 'B', I))"),
    Line("collections", "ARRAY_CONTAINS(A, 5)", "array_contains(A, 5)"),
    Line("collections", "ARRAY_DISTINCT(A)", "array_distinct(A)"),
    Line("collections", "ARRAY_SORT(W)", "array_sort(W)"),
    Line("collections", "ARRAY_MAX(A)", "array_max(A)"),
    Line("collections", "ARRAY_MAX(W)", "array_max(W)"),
    Line("collections", "ARRAY_REMOVE(A, 5)", "array_remove(A, 5)"),
    Line("collections", "ARRAY_JOIN(A, '-')", "array_join(cast(A as array<string>), '-', 'null')"),
    Line("collections", "ARRAY_UNION(A, ARRAY[1, 20])", "array_union(A, array(1, 20))"),
    Line("collections", "SLICE(A, 2, 4)", "slice(A, 2, 3)"),
    Line("collections", "AS_MAP(W, W)", "map_from_arrays(array_distinct(W), array_distinct(W))"),
    Line("collections", "MAP_KEYS(M)", "map_keys(M)"),
    Line("collections", "MAP_UNION(M, M)", "map_concat(M, M)"),
    Line("collections", "ENTRIES(M, true)", "array_sort(map_entries(M))"),
    Line("lambdas", "TRANSFORM(A, x => x + 1)", "transform(A, x -> x + 1)"),
    Line("lambdas", "FILTER(A, x => x > 5)", "filter(A, x -> x > 5)"),
    Line("lambdas", "REDUCE(A, 0, (sum, x) => sum + x)", "aggregate(A, 0, (s, x) -> s + x)"),
    Line(
        "lambdas",
        "TRANSFORM(M, (k, v) => UCASE(k), (k, v) => v + 1)",
        "transform_values(transform_keys(M, (k, v) -> upper(k)), (k, v) -> v + 1)",
    ),
    Line("lambdas", "FILTER(M, (k, v) => v > 2)", "map_filter(M, (k, v) -> v > 2)"),
    Line(
        "lambdas",
        "REDUCE(M, 0, (sum, k, v) => sum + v)",
        "aggregate(map_entries(M), 0, (s, e) -> s + e.value)",
    ),
    Line("conditional", "COALESCE(S, 'x')", "coalesce(S, 'x')"),
    Line("conditional", "NULLIF(I, 5)", "nullif(I, 5)"),
    Line("conditional", "CASE WHEN I > 0 THEN S ELSE 'x' END", "case when I > 0 then S else 'x' end"),
    Line("casts", "CAST(NUM AS INTEGER)", "cast(NUM as int)"),
    Line("casts", "CAST(NUM AS DOUBLE)", "cast(NUM as double)"),
    Line("casts", "CAST(NUM AS DECIMAL(20, 2))", "cast(NUM as decimal(20, 2))"),
    Line("casts", "CAST(D AS STRING)", "cast(D as string)"),
    Line("casts", "CAST(E AS STRING)", "cast(E as string)"),
    Line("casts", "CAST(ISO AS TIMESTAMP)", "cast(ISO as timestamp)"),
    Line("casts", "CAST(T AS STRING)", "date_format(T, \"yyyy-MM-dd'T'HH:mm:ss.SSS\")"),
    Line("casts", "CAST(A AS STRING)", "cast(A as string)"),
    Line("casts", "CAST(A AS ARRAY<BIGINT>)", "cast(A as array<bigint>)"),
    Line("casts", "CAST(S AS BOOLEAN)", "cast(S as boolean)"),
    Line("dates", "FORMAT_TIMESTAMP(T, 'yyyy-MM-dd HH:mm')", "date_format(T, 'yyyy-MM-dd HH:mm')"),
    Line("dates", "FORMAT_DATE(DAY, 'dd.MM.yyyy')", "date_format(DAY, 'dd.MM.yyyy')"),
    Line(
        "dates",
        "PARSE_TIMESTAMP(TEXT, 'yyyy-MM-dd HH:mm:ss')",
        "try_to_timestamp(TEXT, 'yyyy-MM-dd HH:mm:ss')",
    ),
    Line(
        "dates",
        "FORMAT_TIMESTAMP(T, 'HH:mm', 'Europe/Berlin')",
        "date_format(from_utc_timestamp(T, 'Europe/Berlin'), 'HH:mm')",
    ),
    Line("dates", "TIMESTAMPADD(HOURS, 5, T)", "T + interval 5 hours"),
    Line("dates", "DATEADD(DAYS, 5, DAY)", "date_add(DAY, 5)"),
    Line("dates", "UNIX_TIMESTAMP(T)", "unix_millis(T)"),
    Line(
        "dates",
        "CONVERT_TZ(T, 'UTC', 'Europe/Berlin')",
        "from_utc_timestamp(T, 'Europe/Berlin')",
    ),
    Line("urls", "URL_EXTRACT_HOST(URL)", "try_parse_url(URL, 'HOST')"),
    Line("urls", "URL_EXTRACT_PATH(URL)", "try_parse_url(URL, 'PATH')"),
    Line("urls", "URL_EXTRACT_PORT(URL)", "try_parse_url(URL, 'AUTHORITY')"),
    Line("urls", "URL_EXTRACT_PARAMETER(URL, 'd')", "try_parse_url(URL, 'QUERY', 'd')"),
    Line("urls", "URL_ENCODE_PARAM(S)", "url_encode(S)"),
    Line(
        "formats",
        "read DELIMITED",
        f"from_csv(cast(CSV as string), '{_RECORD}')",
        _decoded("DELIMITED", "CSV"),
    ),
    Line("formats", "write DELIMITED", f"cast(to_csv({_MEMBERS}) as binary)", _encoded("DELIMITED")),
    Line(
        "formats", "read JSON", f"from_json(cast(OBJECT as string), '{_RECORD}')", _decoded("JSON", "OBJECT")
    ),
    Line("formats", "write JSON", f"cast(to_json({_MEMBERS}) as binary)", _encoded("JSON")),
    *(
        Line("aggregates", call, plain, is_aggregate=True)
        for call, plain in (
            ("COUNT(I)", "count(I)"),
            ("SUM(I)", "sum(I)"),
            ("AVG(I)", "avg(I)"),
            ("MAX(I)", "max(I)"),
            ("MAX(S)", "max(S)"),
            ("STDDEV_SAMPLE(D)", "stddev_samp(D)"),
            ("LATEST_BY_OFFSET(I)", "last(I, true)"),
            ("LATEST_BY_OFFSET(I, 3)", "slice(reverse(collect_list(I)), 1, 3)"),
            ("COLLECT_LIST(I)", "collect_list(I)"),
            ("COLLECT_SET(I)", "collect_set(I)"),
            ("HISTOGRAM(S)", "collect_list(S)"),
            ("TOPK(I, 5)", "max_by(I, I, 5)"),
            ("TOPKDISTINCT(I, 5)", "slice(sort_array(collect_set(I), false), 1, 5)"),
            ("COUNT_DISTINCT(I)", "approx_count_distinct(I, 0.0082)"),
        )
    ),
)


#: the JVM's threads that are measured: tasks and garbage collection, not planning and compilation
_THREADS = ("Executor task", "GC Thread", "G1 ")


def task_cpu_s(pid: int) -> float:
    """CPU time of the JVM's tasks; unlike wall-clock time, it does not depend on other processes."""
    spent = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has ended
            if (thread / "comm").read_text().startswith(_THREADS):
                spent += int((thread / "schedstat").read_text().split()[0])
    return spent / 1e9


def _seconds(pid: int, frame: Any, text: str, is_aggregate: bool) -> float:
    job = frame.groupBy("G").agg(_expr(text)) if is_aggregate else frame.selectExpr(f"{text} as x")
    started = task_cpu_s(pid)
    job.write.format("noop").mode("overwrite").save()
    return task_cpu_s(pid) - started


def _expr(text: str) -> Any:
    from pyspark.sql.functions import expr  # PySpark is slow to import, and --help does not need it

    return expr(f"{text} as x")


def measure(session: Any, pid: int, lines: Sequence[Line], rows: int, below: float) -> None:
    """Print a line for each of ``lines`` with a share below ``below``; then each family's least and mean."""
    columns = [f"{text} as {name}" for name, (_, text) in COLUMNS.items()]
    frame = session.range(0, rows, 1, 1).selectExpr(*columns).cache()
    frame.count()
    print(f"{'family':12}{'call':52}{'ours rows/s':>14}{'plain rows/s':>14}{'share':>7}")
    shares: dict[str, list[float]] = {}
    for line in lines:
        best = {"ours": float("inf"), "plain": float("inf")}
        for _ in range(ROUNDS):
            for which, text in (("ours", line.ours()), ("plain", line.plain)):
                best[which] = min(best[which], _seconds(pid, frame, text, line.is_aggregate))
        speed = {which: rows / seconds for which, seconds in best.items()}
        share = speed["ours"] / speed["plain"]
        shares.setdefault(line.family, []).append(share)
        if share < below:
            print(
                f"{line.family:12}{line.call:52}{speed['ours']:14,.0f}{speed['plain']:14,.0f}{share:7.2f}",
                flush=True,
            )
    print("least and mean share of each family:")
    for family, found in shares.items():
        print(f"{family:12}{min(found):7.2f}{sum(found) / len(found):7.2f}")


def main() -> None:
    families = sorted({line.family for line in LINES})
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"one of {', '.join(families)}")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument(
        "--below", type=float, default=float("inf"), help="show only lines with a lower share"
    )
    options = parser.parse_args()
    unknown = set(options.families) - set(families)
    if unknown:
        parser.error(f"unknown family {', '.join(sorted(unknown))}; the families are {', '.join(families)}")
    artifacts.ensure(report=print)
    with tempfile.TemporaryDirectory(prefix="ksql-spark-bench-") as folder:
        process = SparkProcess(Path(folder), memory="3g")
        try:
            session = process.start()
            assert process._process is not None
            chosen = [line for line in LINES if not options.families or line.family in options.families]
            measure(session, process._process.pid, chosen, options.rows, options.below)
        finally:
            process.stop()


if __name__ == "__main__":
    main()
