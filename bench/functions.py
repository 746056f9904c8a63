"""What our lowerings cost: rows a second of functions, beside the nearest thing that plain Spark has.

    python bench/functions.py [FAMILY...] [--rows N]

Each call runs as a batch job over a cached frame into a sink that takes nothing; the two of a line run by
turns in one JVM, the best of some rounds counts. "share" is ours relative to Spark's: above 1.00 ours is the
faster.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksql_spark.expressions import Cast, ColumnRef, Expression
from ksql_spark.functions import registry
from ksql_spark.functions.lowering import lower
from ksql_spark.functions.spec import expression
from ksql_spark.services import artifacts
from ksql_spark.spark.session import SparkProcess
from ksql_spark.types import BIGINT, DOUBLE, INTEGER, STRING, TIMESTAMP, Array, SqlType

ROUNDS = 4

#: columns of the frame: SQL type, Spark SQL text over a row number
COLUMNS: dict[str, tuple[SqlType, str]] = {
    "G": (BIGINT, "id % 1000"),
    "I": (INTEGER, "cast(hash(id) as int)"),
    "D": (DOUBLE, "cast(hash(id) as double) / 7"),
    "S": (STRING, "concat('Name ', id % 97, ' ', hex(id))"),
    "T": (TIMESTAMP, "timestamp_millis(1600000000000 + id * 1234)"),
    "TEXT": (STRING, "date_format(timestamp_millis(1600000000000 + id * 1234), 'yyyy-MM-dd HH:mm:ss')"),
    "JSON": (
        STRING,
        """concat('{"a": {"b": [', id, ', 2]}, "name": "x', id % 97, '", "n": ', id / 8, '}')""",
    ),
    "ITEMS": (STRING, "concat('[', id, ', 2, \"three\", null]')"),
    "A": (Array(INTEGER), "sequence(cast(id % 7 as int), cast(id % 7 + 9 as int))"),
    "URL": (STRING, "concat('https://example.com:80/a/b?c=', id, '&d=e#f')"),
}


@dataclass(frozen=True)
class Line:
    """A call, and what plain Spark has nearest to it; str arguments that name columns are columns."""

    family: str
    function: str
    arguments: tuple[Any, ...]
    plain: str

    @property
    def is_aggregate(self) -> bool:
        """Whether it is to run over groups."""
        return registry.aggregate(self.function) is not None

    def ours(self) -> str:
        """The Spark SQL text of our lowering."""
        bound: list[Expression] = [
            ColumnRef(a, COLUMNS[a][0]) if isinstance(a, str) and a in COLUMNS else expression(a)
            for a in self.arguments
        ]
        literals = [getattr(e, "value", None) for e in bound]
        found = registry.resolve(self.function, [e.type for e in bound], literals)
        arguments = [
            e if e.type == t else Cast(e, t) for e, t in zip(bound, found.parameter_types, strict=True)
        ]
        assert found.spec.spark is not None
        return found.spec.spark([lower(a) for a in arguments], [a.type for a in arguments])


LINES: tuple[Line, ...] = (
    Line("operators", "+", ("I", 1), "I + 1"),
    Line("operators", "LIKE", ("S", "Name 1%"), "S like 'Name 1%'"),
    Line("numeric", "ROUND", ("D", 2), "round(D, 2)"),
    Line("numeric", "ABS", ("I",), "abs(I)"),
    Line("strings", "UCASE", ("S",), "upper(S)"),
    Line("strings", "SUBSTRING", ("S", 3, 4), "substring(S, 3, 4)"),
    Line("strings", "LPAD", ("S", 20, "*"), "lpad(S, 20, '*')"),
    Line("strings", "REGEXP_EXTRACT", ("[0-9]+", "S"), "regexp_extract(S, '[0-9]+', 0)"),
    Line("strings", "SPLIT", ("S", " "), "split(S, ' ')"),
    Line("strings", "MASK", ("S",), "mask(S)"),
    Line("json", "EXTRACTJSONFIELD", ("JSON", "$.a.b[1]"), "get_json_object(JSON, '$.a.b[1]')"),
    Line("json", "JSON_KEYS", ("JSON",), "json_object_keys(JSON)"),
    Line("json", "JSON_ARRAY_LENGTH", ("ITEMS",), "json_array_length(ITEMS)"),
    Line("json", "JSON_ITEMS", ("ITEMS",), "from_json(ITEMS, 'array<string>')"),
    Line("json", "TO_JSON_STRING", ("A",), "to_json(A)"),
    Line("collections", "ARRAY_CONTAINS", ("A", 5), "array_contains(A, 5)"),
    Line("collections", "ARRAY_DISTINCT", ("A",), "array_distinct(A)"),
    Line("dates", "FORMAT_TIMESTAMP", ("T", "yyyy-MM-dd HH:mm"), "date_format(T, 'yyyy-MM-dd HH:mm')"),
    Line(
        "dates",
        "PARSE_TIMESTAMP",
        ("TEXT", "yyyy-MM-dd HH:mm:ss"),
        "try_to_timestamp(TEXT, 'yyyy-MM-dd HH:mm:ss')",
    ),
    Line(
        "dates",
        "FORMAT_TIMESTAMP",
        ("T", "HH:mm", "Europe/Berlin"),
        "date_format(from_utc_timestamp(T, 'Europe/Berlin'), 'HH:mm')",
    ),
    Line("urls", "URL_EXTRACT_HOST", ("URL",), "try_parse_url(URL, 'HOST')"),
    Line("aggregates", "COUNT", ("I",), "count(I)"),
    Line("aggregates", "SUM", ("I",), "sum(I)"),
    Line("aggregates", "AVG", ("I",), "avg(I)"),
    Line("aggregates", "STDDEV_SAMPLE", ("D",), "stddev_samp(D)"),
    Line("aggregates", "LATEST_BY_OFFSET", ("I",), "last(I, true)"),
    Line("aggregates", "LATEST_BY_OFFSET", ("I", 3), "slice(reverse(collect_list(I)), 1, 3)"),
    Line("aggregates", "COLLECT_LIST", ("I",), "collect_list(I)"),
    Line("aggregates", "COLLECT_SET", ("I",), "collect_set(I)"),
    Line("aggregates", "HISTOGRAM", ("S",), "collect_list(S)"),
    Line("aggregates", "TOPK", ("I", 5), "max_by(I, I, 5)"),
    Line("aggregates", "TOPKDISTINCT", ("I", 5), "slice(sort_array(collect_set(I), false), 1, 5)"),
    Line("aggregates", "COUNT_DISTINCT", ("I",), "approx_count_distinct(I, 0.0082)"),
)


def _seconds(frame: Any, text: str, is_aggregate: bool) -> float:
    job = frame.groupBy("G").agg(_expr(text)) if is_aggregate else frame.selectExpr(f"{text} as x")
    started = time.perf_counter()
    job.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def _expr(text: str) -> Any:
    from pyspark.sql.functions import expr  # PySpark loads slowly, and --help needs none of it

    return expr(f"{text} as x")


def measure(session: Any, lines: Sequence[Line], rows: int) -> None:
    """Print a line for each of ``lines``."""
    columns = [f"{text} as {name}" for name, (_, text) in COLUMNS.items()]
    frame = session.range(0, rows, 1, 1).selectExpr(*columns).cache()
    frame.count()
    print(f"{'family':12}{'call':44}{'ours rows/s':>14}{'plain rows/s':>14}{'share':>8}")
    for line in lines:
        best = {"ours": float("inf"), "plain": float("inf")}
        for _ in range(ROUNDS):
            for which, text in (("ours", line.ours()), ("plain", line.plain)):
                best[which] = min(best[which], _seconds(frame, text, line.is_aggregate))
        call = f"{line.function}({', '.join(map(str, line.arguments))})"
        speed = {which: rows / seconds for which, seconds in best.items()}
        share = speed["ours"] / speed["plain"]
        print(
            f"{line.family:12}{call:44}{speed['ours']:14,.0f}{speed['plain']:14,.0f}{share:8.2f}", flush=True
        )


def main() -> None:
    families = sorted({line.family for line in LINES})
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of {', '.join(families)}")
    parser.add_argument("--rows", type=int, default=300_000)
    options = parser.parse_args()
    unknown = set(options.families) - set(families)
    if unknown:
        parser.error(f"no family {', '.join(sorted(unknown))}: there are {', '.join(families)}")
    artifacts.ensure(report=print)
    with tempfile.TemporaryDirectory(prefix="ksql-spark-bench-") as folder:
        process = SparkProcess(Path(folder), memory="2g")
        try:
            session = process.start()
            chosen = [line for line in LINES if not options.families or line.family in options.families]
            measure(session, chosen, options.rows)
        finally:
            process.stop()


if __name__ == "__main__":
    main()
