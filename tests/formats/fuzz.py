"""Damaged records: ``python -m tests.formats.fuzz [FORMAT...] [--seed N] [--records N]``.

For each format, that many random records, that many mutated ones and, where a format is text, that many with
odd values are read on the JVM and in Python, by two programs. A record must be bad for both, or have the same
values for both; nothing may stop the query. A seed gives the same records again. It prints a line for each
format, and the first records on which they differ.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal as PythonDecimal
from pathlib import Path
from typing import Any

from ksql_spark.formats import CAPABILITIES, BadRecord, FramedSerde, Serde, SerdeSpec, bind, json_serde
from ksql_spark.formats.delimited import DelimitedSerde
from ksql_spark.schema import Column
from ksql_spark.services import artifacts
from ksql_spark.spark.session import SparkProcess, set_registry
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)
from tests.analyzer.registry import FakeRegistry
from tests.formats.samples import serde
from tests.registry_server import RegistryServer, own_host

PLAIN: dict[str, SqlType] = {
    "I": INTEGER, "L": BIGINT, "D": DOUBLE, "B": BOOLEAN, "S": STRING, "Y": BYTES, "DT": DATE, "TM": TIME,
    "TS": TIMESTAMP, "DE": Decimal(10, 2),
}  # fmt: skip
NESTED: dict[str, SqlType] = {
    "A": Array(INTEGER),
    "M": Map(STRING, DOUBLE),
    "R": Struct((Field("X", BIGINT), Field("INN", Struct((Field("Y", STRING), Field("Z", Array(DATE))))))),
    "AR": Array(Struct((Field("X", INTEGER), Field("M", Map(STRING, Decimal(4, 1)))))),
}
#: unions, as Connect's converter for JSON Schemas has them, and maps of such
_UNION = Struct(
    tuple(
        Field(f"IO.CONFLUENT.CONNECT.JSON.ONEOF.FIELD.{i}", type_)
        for i, type_ in enumerate((
            INTEGER, STRING, Decimal(10, 2), BIGINT, Array(INTEGER), Map(STRING, BYTES),
            Struct((Field("X", DOUBLE),)), Struct((Field("X", STRING), Field("Y", Array(Decimal(4, 1))))),
        ))
    )
)  # fmt: skip
_OBJECTS = Struct(tuple(f for f in _UNION.fields if isinstance(f.type, Struct)))
UNIONS: dict[str, SqlType] = {"U": _UNION, "O": _OBJECTS, "M": Map(STRING, _UNION), "D": Decimal(10, 2)}
#: types of bare values
_BARE = (INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING, TIME, TIMESTAMP, Decimal(10, 2), Array(TIME))
#: what is read, by the name of the format, and of bare values of the type too
COLUMNS: dict[str, dict[str, SqlType]] = {
    **{
        name: {column: type_ for column, type_ in (PLAIN | NESTED).items() if format_.carries(type_)}
        for name, format_ in CAPABILITIES.items()
        if format_.max_columns is None
    },
    "JSON_SR UNION": UNIONS,
    "DELIMITED TAB": PLAIN,
    "DELIMITED TIME": {"V": TIME},
    **{f"JSON {t}": {"V": t} for t in _BARE},
    "AVRO TIME": {"V": TIME},
    **{f"KAFKA {t}": {"V": t} for t in (INTEGER, BIGINT, DOUBLE, STRING, BYTES)},
}
TEXT = ("DELIMITED", "JSON", "JSON_SR")
#: bytes that formats give a meaning to
_TELLING = b'\x00\x01\x02\x7f\x80\xff"{}[],:\\0-.eE\n; \t'
#: what is not UTF-8: too long, half of a character, both halves, too large, its beginning only
_NO_UTF8 = (
    b"\xc0\x80",
    b"\xe0\x80\xaf",
    b"\xed\xa0\xbd",
    b"\xed\xa0\xbd\xed\xb8\x80",
    b"\xed\xa0",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
)
#: values that writers of JSON and lines have in common use, or by mistake
_ODD = (
    *(
        "0",
        "-0",
        "-0.0",
        "1.0",
        "1.9",
        "-1",
        "007",
        "+5",
        "1e3",
        "1E-2",
        "1e400",
        "-1e400",
        ".5",
        "5.",
        "0x1F",
        "1_0",
    ),
    *(
        "86400000",
        "86400001",
        "90000000",
        "2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "1" * 1001,
    ),
    *(
        "null",
        "NULL",
        "true",
        "TRUE",
        "false",
        "NaN",
        "Infinity",
        "1d",
        "0x1p3",
        "AQ==",
        "AQ",
        "x",
        "é",
        "\u00a0",
        "",
    ),
)
_ODD_JSON = (
    *_ODD,
    "[]",
    "{}",
    "[1",
    '{"X":"1"}',
    '"\\u0031"',
    '"\\ud83d"',
    "[" * 1001 + "]" * 1001,
    "[" * 300 + "]" * 300,
)
#: what may stand around a value, and after a record
_AROUND = ("", "", "", " ", "\t", "\n", "\r\n", "\x00", "\u00a0", "\ufeff", ",", '"', "{}", "]")
_JSON_VALUE = re.compile(r'(?<=[:\[,])("(?:[^"\\]|\\.)*"|[^"{}\[\],:]+)(?=[,}\]])')
#: records that are read at a time
_BATCH = 20_000


@dataclass
class Outcome:
    """How many records were read and how many were bad; those on which JVM and Python differ."""

    read: int = 0
    bad: int = 0
    differences: list[tuple[bytes, str, str]] = field(default_factory=list)


def bound(name: str, registry: FakeRegistry) -> Serde:
    """The serde of COLUMNS."""
    columns = [Column(n, t) for n, t in COLUMNS[name].items()]
    if name.endswith(" TAB"):
        return bind(SerdeSpec("DELIMITED", tuple(columns), delimiter="TAB"), registry)
    return serde(name.partition(" ")[0], columns, len(columns) > 1, registry)


def _value(type_: SqlType, dice: random.Random) -> Any:
    if dice.random() < 0.1 and type_ != STRING:
        return None
    number = dice.choice((0, 1, -1, 63, 64, -65, 2**31 - 1, -(2**31), dice.randrange(-(2**31), 2**31)))
    match type_:
        case Array(element):
            return [_value(element, dice) for _ in range(dice.randrange(4))]
        case Map(_, value):
            return {dice.choice("abcé"): _value(value, dice) for _ in range(dice.randrange(3))}
        case Struct(fields):
            return {f.name: _value(f.type, dice) for f in fields}
        case Decimal(precision, scale):
            return PythonDecimal(number % 10**precision - (10 ** (precision - 1))).scaleb(-scale)
    if type_ == BIGINT:
        return dice.choice((number, 2**63 - 1, -(2**63), number << 20))
    if type_ == DOUBLE:
        return dice.choice((0.0, -0.0, 1.5, 1e300, -1e-300, number / 8))
    if type_ == BOOLEAN:
        return dice.random() < 0.5
    if type_ == STRING:
        return "".join(dice.choice('ab,"\\\n é😀\x01') for _ in range(dice.randrange(6)))
    if type_ == BYTES:
        return dice.randbytes(dice.randrange(6))
    if type_ == DATE:
        return number % 40_000 - 10_000
    if type_ == TIME:
        return dice.choice((number, 86_400_000, *[number % 86_400_000] * 8))
    if type_ == TIMESTAMP:
        return number * 1000
    return number


def _mutated(data: bytes, start: int, dice: random.Random) -> bytes:
    """``data`` with one to three changes, mostly after ``start``."""
    mutated = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        at = dice.randrange(0 if dice.random() < 0.05 else min(start, len(mutated)), len(mutated) + 1)
        match dice.randrange(7):
            case 0:
                mutated[at : at + 1] = bytes([dice.choice(_TELLING)])
            case 1:
                mutated[at : at + 1] = dice.randbytes(1)
            case 2:
                mutated[at:at] = bytes([dice.choice(_TELLING)])
            case 3:
                del mutated[at : at + dice.randrange(1, 4)]
            case 4:
                mutated[at:at] = mutated[at : at + dice.randrange(1, 9)]
            case 5:
                del mutated[at:]
            case 6:
                bad = dice.choice(_NO_UTF8)
                mutated[at : at + dice.choice((0, len(bad)))] = bad
    return bytes(mutated)


def _with_odd_values(good: str, delimiter: str | None, dice: random.Random) -> str:
    """A record with some values replaced, and perhaps something around it; ``delimiter`` is None for JSON."""

    def around(text: str) -> str:
        return dice.choice(_AROUND[:9]) + text + dice.choice(_AROUND[:9])

    if delimiter is not None:
        fields = good.split(delimiter)
        for _ in range(dice.randrange(1, 3)):
            value = dice.choice(_ODD)
            value = dice.choice((value, f'"{value}"', f'"{around(value)}"', f'"{value}{delimiter}"'))
            fields[dice.randrange(len(fields))] = around(value)
        return delimiter.join(fields) + dice.choice(_AROUND)

    def odd() -> str:
        value = dice.choice(_ODD_JSON)
        is_plain = value[:1] not in ("[", "{", '"')
        return around(dice.choice((value, f'"{around(value)}"', f'"{value}"')) if is_plain else value)

    places = [m.span() for m in _JSON_VALUE.finditer(good)] if good[:1] == "{" else [(0, len(good))]
    start, end = dice.choice(places or [(0, 0)])
    altered = good[:start] + odd() + good[end:]
    return dice.choice(_AROUND) * (dice.random() < 0.2) + altered + dice.choice(_AROUND)


def records(bound_: Serde, count: int, seed: int) -> Iterator[bytes]:
    """``count`` random records, as many mutated ones, and as many with odd values."""
    dice = random.Random(f"{seed} {bound_.name} {bound_.columns}")
    types = [c.type for c in bound_.columns]
    frame = b""
    if isinstance(bound_, FramedSerde):
        frame = b"\0" + bound_.schema_id.to_bytes(4, "big") + (b"\0" if bound_.name == "PROTOBUF" else b"")
    for _ in range(count):
        body = dice.randbytes(dice.randrange(40))
        if dice.random() < 0.5:
            body = bytes(dice.choice(_TELLING) for _ in range(dice.randrange(40)))
        yield body if dice.random() < 0.1 else frame + body
    for _ in range(count):
        good = bound_.encode([_value(t, dice) for t in types])
        yield _mutated(good or b"", len(frame), dice)
    if bound_.name in TEXT:
        for _ in range(count):
            good = bound_.encode([_value(t, dice) for t in types]) or b"null"
            delimiter = bound_.delimiter if isinstance(bound_, DelimitedSerde) else None
            odd = _with_odd_values(good[len(frame) :].decode(), delimiter, dice)
            yield frame + odd.encode()


def compare(session: Any, bound_: Serde, count: int, seed: int) -> Outcome:
    """Read the records of ``seed`` on the JVM and in Python."""
    outcome = Outcome()
    rows = json_serde(bound_.columns)
    names = [f"r.`{c.name}`" for c in bound_.columns]
    batch: list[bytes] = []

    def run() -> None:
        frame = session.createDataFrame(
            [(i, bytearray(d)) for i, d in enumerate(batch)], "i INT, data BINARY"
        )
        frame = frame.selectExpr("i", f"{bound_.or_null_sql('data')} AS data")
        frame = frame.selectExpr(
            "i", f"{bound_.decode_sql('data')} AS r", f"{bound_.explain_sql('data')} AS e"
        )
        encoded = f"if(r IS NULL, NULL, {rows.encode_sql(names)})"
        by_number = {row[0]: row for row in frame.selectExpr("i", encoded, "e").collect()}
        for i, data in enumerate(batch):
            theirs = _text(by_number[i][1], by_number[i][2])
            try:
                values = bound_.decode(data)
                mine = _text(None if values is None else rows.encode(values), "It is null.")
            except BadRecord as error:
                mine = f"bad: {error}"
            is_bad = mine.startswith("bad: ")
            outcome.bad += is_bad
            outcome.read += not is_bad
            if not _is_same(mine, theirs) and not _is_undefined(bound_.name, data):
                outcome.differences.append((data, theirs, mine))

    for data in records(bound_, count, seed):
        batch.append(data)
        if len(batch) == _BATCH:
            run()
            batch.clear()
    if batch:
        run()
    return outcome


def _is_same(mine: str, theirs: str) -> bool:
    """Whether both are bad, or have the same values; a DOUBLE may be written in several ways."""
    if mine.startswith("bad: ") or theirs.startswith("bad: "):
        return mine.startswith("bad: ") == theirs.startswith("bad: ")
    return mine == theirs or repr(json.loads(mine)) == repr(json.loads(theirs))


def _is_undefined(name: str, data: bytes) -> bool:
    """Whether a record is JSON in UTF-16 or UTF-32, and damaged: Java replaces what is no text there."""
    if not name.startswith("JSON"):
        return False
    body = data[5:] if name.startswith("JSON_SR") else data
    encoding = json.detect_encoding(body)
    try:
        body.decode(encoding)
    except UnicodeDecodeError:
        return not encoding.startswith("utf-8")
    return False


def _text(data: bytes | None, reason: str | None) -> str:
    return f"bad: {reason}" if data is None else bytes(data).decode()


def fuzz(session: Any, names: Sequence[str], count: int, seed: int) -> dict[str, Outcome]:
    """``compare`` for each of ``names``, with a registry."""
    registry = FakeRegistry()
    serdes = {name: bound(name, registry) for name in names}
    with RegistryServer(host=own_host()) as server:
        for schema_id, schema in sorted(registry.by_ids().items()):
            assert server.add(str(schema_id), schema.text, schema.kind) == schema_id
        set_registry(session, {"url": server.url})
        try:
            return {name: compare(session, bound_, count, seed) for name, bound_ in serdes.items()}
        finally:
            set_registry(session, {})


def main() -> int:
    """Fuzz the chosen formats; 1 if there is any difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--records", type=int, default=100_000)
    options = parser.parse_args()
    names = {name.partition(" ")[0] for name in COLUMNS}
    unknown = {f.upper() for f in options.formats} - names
    if unknown:
        parser.error(
            f"unknown format {', '.join(sorted(unknown))}; the formats are {', '.join(sorted(names))}"
        )
    chosen = {f.upper() for f in options.formats} or names
    artifacts.ensure(report=print)
    differ = False
    with tempfile.TemporaryDirectory(prefix="ksql-spark-fuzz-") as folder:
        process = SparkProcess(Path(folder), memory="3g")
        try:
            session = process.start()
            size = f"{options.records:,}"
            print(f"seed {options.seed}; {size} random and {size} mutated records each")
            for name in COLUMNS:
                if name.partition(" ")[0] not in chosen:
                    continue
                start = time.monotonic()
                outcome = fuzz(session, [name], options.records, options.seed)[name]
                differ = differ or bool(outcome.differences)
                print(
                    f"{name:15}{outcome.read:9,} read{outcome.bad:9,} bad"
                    f"{len(outcome.differences):7,} different{time.monotonic() - start:7.0f} s",
                    flush=True,
                )
                for data, theirs, mine in outcome.differences[:12]:
                    print(f"    {data!r}\n      JVM:    {theirs}\n      Python: {mine}")
        finally:
            process.stop()
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
