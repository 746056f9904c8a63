"""The cost of formats: records per CPU second that are read and written, compared with our JSON.

    PYTHONPATH=. python bench/formats.py [FORMAT...] [--rows N]
    PYTHONPATH=. python bench/formats.py --streams [FORMAT...] [--rounds N]

The records have eight columns: numbers, texts, a time, a decimal, a list and a nested STRUCT. Each call runs
as a batch job from a cached frame to Spark's noop sink; the formats take turns in one JVM, and the best of
several rounds counts. Measured is the CPU time of the tasks, from Linux's /proc. "of JSON" is the speed
relative to JSON's: above 1.00, the format is faster. "both" is a record read and written.

With --streams, our decoders and encoders are called without Spark, in turn with serdes as one writes them for
Kafka Streams (serdes/Serdes.java); "times" is our speed for both, relative to theirs.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import subprocess
import tempfile
from dataclasses import replace
from decimal import Decimal as PythonDecimal
from pathlib import Path
from typing import Any

from functions import _seconds

from ksql_spark.formats import CAPABILITIES, FramedSerde, Serde, SerdeSpec, bind
from ksql_spark.schema import Column
from ksql_spark.services import artifacts
from ksql_spark.services.java import java_binary
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
SERDES = Path(__file__).parent / "serdes"
JVM_SOURCES = Path(__file__).parents[1] / "ksql_spark" / "jvm"
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


def compare_streams(formats: list[str], rounds: int) -> None:
    """Print a line for each format, with our speed and that of a serde for Kafka Streams."""
    dice = random.Random(1)
    rows = [
        [
            i * 1234567, f"Name {i % 97} {i:X}", dice.random() * 1e9, i % 3 == 0,
            1_600_000_000_000 + i * 1234,
            PythonDecimal(dice.randrange(-(10**9), 10**9)).scaleb(-2), [f"{i:X}", "x", f"{i * 7:X}"],
            {"CITY": f"City {i % 89}", "ZIP": i % 99999 + 1},
        ]
        for i in range(1, 10_001)
    ]  # fmt: skip
    needed = [*sorted(artifacts.pyspark_jars().glob("*.jar")), *artifacts.jars("spark")]
    needed.insert(0, artifacts.compile_java(JVM_SOURCES, report=print))
    own = artifacts.compile_java(SERDES, needed, print)
    with RegistryServer() as registry, tempfile.TemporaryDirectory(prefix="ksql-spark-bench-") as folder:
        described = []
        for name in formats:
            made = _serde(name, registry)
            spec = made.spec
            texts = [f"`{name}`" for name in COLUMNS]
            described.append(
                {
                    "name": name, "ddl": made.ddl, "id": spec.schema_id, "schema": spec.schema,
                    "decode": _argument(made.decode_sql("data")), "encode": _argument(made.encode_sql(texts)),
                    "records": [base64.b64encode(made.encode(row) or b"").decode() for row in rows],
                }
            )  # fmt: skip
        file = Path(folder) / "input.json"
        file.write_text(json.dumps({"registry": registry.url, "formats": described}), encoding="utf-8")
        classpath = os.pathsep.join(map(str, [own, *needed]))
        java = [str(java_binary()), "-Xmx3g", "-XX:+UseParallelGC", "-cp", classpath, "Serdes"]
        if subprocess.run([*java, str(file), str(rounds)]).returncode:
            raise SystemExit(1)


def _argument(call: str) -> str:
    """What follows the colon in the name of the function that ``call`` calls."""
    name = call.removeprefix("ksql.`").rpartition("`(")[0]
    return name.partition("`(")[0].replace("``", "`").partition(":")[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(FORMATS)}")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--streams", action="store_true", help="compare with serdes for Kafka Streams")
    parser.add_argument("--rounds", type=int, default=25, help="of --streams")
    options = parser.parse_args()
    unknown = set(options.formats) - set(FORMATS)
    if unknown:
        parser.error(f"unknown format {', '.join(sorted(unknown))}; the formats are {', '.join(FORMATS)}")
    # JSON is what the others are compared with
    chosen = ["JSON", *(f for f in FORMATS if f != "JSON" and (not options.formats or f in options.formats))]
    artifacts.ensure(report=print)
    if options.streams:
        compare_streams(chosen, options.rounds)
        return
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
