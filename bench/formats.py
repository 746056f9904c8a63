"""The cost of formats: records per CPU second that are read and written, compared with our JSON.

    PYTHONPATH=. python bench/formats.py [FORMAT...] [--rows N]

The records have eight columns: numbers, texts, a time, a decimal, a list and a nested STRUCT. Each call runs
as a batch job from a cached frame to Spark's noop sink; the formats take turns in one JVM, and the best of
several rounds counts. Measured is the CPU time of the tasks, from Linux's /proc. "of JSON" is the speed
relative to JSON's: above 1.00, the format is faster. "both" is a record read and written.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from functions import _seconds

from ksql_spark.formats import CAPABILITIES, FramedSerde, Serde, SerdeSpec, bind
from ksql_spark.schema import Column
from ksql_spark.services import artifacts
from ksql_spark.spark.session import SparkProcess, set_registry
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    SqlType,
    Struct,
)
from tests.registry_server import RegistryServer

ROUNDS = 6
FORMATS = ("JSON", "JSON_SR", "AVRO", "PROTOBUF", "PROTOBUF_NOSR")

#: SQL type and Spark SQL text over a row number
COLUMNS: dict[str, tuple[SqlType, str]] = {
    "ID": (BIGINT, "id * 1234567"),
    "NAME": (STRING, "concat('Name ', id % 97, ' ', hex(id))"),
    "PRICE": (DOUBLE, "cast(hash(id) as double) / 7"),
    "IS_NEW": (BOOLEAN, "id % 3 = 0"),
    "AT": (TIMESTAMP, "timestamp_millis(1600000000000 + id * 1234)"),
    "AMOUNT": (Decimal(10, 2), "cast(cast(hash(id) as double) / 100 as decimal(10, 2))"),
    "TAGS": (Array(STRING), "array(hex(id), 'x', hex(id * 7))"),
    "PLACE": (
        Struct((Field("CITY", STRING), Field("ZIP", INTEGER))),
        "named_struct('CITY', concat('City ', id % 89), 'ZIP', cast(id % 99999 as int))",
    ),
}


def _serde(format_: str, registry: RegistryServer) -> Serde:
    """The serde of COLUMNS, with its schema registered."""
    spec = SerdeSpec(format_, tuple(Column(name, type_) for name, (type_, _) in COLUMNS.items()))
    serde = bind(spec)
    if isinstance(serde, FramedSerde):
        kind = CAPABILITIES[format_].registry or ""
        schema_id = registry.add(format_, serde.new_schema, kind)
        serde = bind(replace(spec, schema=serde.new_schema, schema_id=schema_id))
    return serde


def measure(session: Any, pid: int, formats: list[str], rows: int) -> None:
    """Print a line for each format."""
    with RegistryServer() as registry:
        set_registry(session, {"url": registry.url})
        serdes = {name: _serde(name, registry) for name in formats}
        frame = session.range(0, rows, 1, 1).selectExpr(*(f"{t} as {n}" for n, (_, t) in COLUMNS.items()))
        texts = [f"`{name}`" for name in COLUMNS]
        frame = frame.selectExpr(
            "*", *(f"{s.encode_sql(texts)} as {n}_DATA" for n, s in serdes.items())
        ).cache()
        frame.count()
        best: dict[tuple[str, str], float] = {}
        for _ in range(ROUNDS):
            for name, serde in serdes.items():
                calls = {"read": serde.decode_sql(f"{name}_DATA"), "written": serde.encode_sql(texts)}
                for what, text in calls.items():
                    spent = _seconds(pid, frame, text, False)
                    best[name, what] = min(spent, best.get((name, what), spent))
        print(f"{'format':15}{'bytes':>7}{'read/s':>12}{'written/s':>12}{'both/s':>12}{'of JSON':>9}")
        sizes = frame.selectExpr(*(f"avg(octet_length({n}_DATA))" for n in serdes)).collect()[0]
        base = 0.0
        for (name, _), size in zip(serdes.items(), sizes, strict=True):
            read, written = best[name, "read"], best[name, "written"]
            base = base or read + written
            print(
                f"{name:15}{size:7.0f}{rows / read:12,.0f}{rows / written:12,.0f}"
                f"{rows / (read + written):12,.0f}{base / (read + written):9.2f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(FORMATS)}")
    parser.add_argument("--rows", type=int, default=300_000)
    options = parser.parse_args()
    unknown = set(options.formats) - set(FORMATS)
    if unknown:
        parser.error(f"unknown format {', '.join(sorted(unknown))}; the formats are {', '.join(FORMATS)}")
    # JSON is what the others are compared with
    chosen = ["JSON", *(f for f in FORMATS if f != "JSON" and (not options.formats or f in options.formats))]
    artifacts.ensure(report=print)
    with tempfile.TemporaryDirectory(prefix="ksql-spark-bench-") as folder:
        process = SparkProcess(Path(folder), memory="3g")
        try:
            session = process.start()
            assert process._process is not None
            measure(session, process._process.pid, chosen, options.rows)
        finally:
            process.stop()


if __name__ == "__main__":
    main()
