"""Spark reads what Python writes, and the other way round, for every format and type."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from ksql_spark.formats import CAPABILITIES, FORMATS
from ksql_spark.functions.spark_text import constant, spark_type
from ksql_spark.spark.session import set_registry
from ksql_spark.types import (
    INTEGER,
    STRING,
)
from tests.formats.json_schemas import CONNECT, FURTHER, bound, with_json_schema
from tests.formats.samples import NESTED, REGISTRY, SAMPLES, carried, column, read_back, serde
from tests.statements.json_server import JsonServer

pytestmark = pytest.mark.spark

NAMES = sorted(set(FORMATS) - {"NONE"})
#: whether a single column may be a record, and a bare value
WRAPPED = {
    name: [w for w in (True, False) if (CAPABILITIES[name].wrapped if w else CAPABILITIES[name].unwrapped)]
    for name in NAMES
}
CASES = {
    name: [
        (name, type_, value, wrapped)
        for type_, values in carried(name).items()
        for wrapped in WRAPPED[name]
        for value in values
    ]
    for name in NAMES
}


@pytest.fixture(scope="module", autouse=True)
def registry(local_spark: Any) -> Iterator[JsonServer]:
    """The registry of the samples, for the JVM."""
    for format_, type_, _, wrapped in itertools.chain(*CASES.values()):
        serde(format_, [column(type_)], wrapped)
    schemas = {
        f"GET /schemas/ids/{i}": (200, {"schema": s.text, "schemaType": s.kind})
        for i, s in REGISTRY.by_ids().items()
    }
    with JsonServer(schemas) as server:
        set_registry(local_spark, {"url": server.url})
        yield server
        set_registry(local_spark, {})


@pytest.mark.parametrize("name", NAMES)
def test_spark_reads_what_python_writes(local_spark: Any, name: str) -> None:
    cases, columns = [], []
    for format_, type_, value, wrapped in CASES[name]:
        bound = serde(format_, [column(type_)], wrapped)
        data = bound.encode([value])
        if data is None:
            continue
        decoded = bound.decode_sql(f"X'{data.hex()}'")
        wanted = constant(read_back(format_, type_, value), type_)
        columns.append(f"struct({decoded}.A as got, {wanted} as wanted) as c{len(columns)}")
        cases.append((format_, type_, value, wrapped, decoded))
    row = local_spark.range(1).selectExpr(*columns).collect()[0]
    wrong = [(c, r) for c, r in zip(cases, row, strict=True) if r.got != r.wanted]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("name", NAMES)
def test_python_reads_what_spark_writes(local_spark: Any, name: str) -> None:
    columns = []
    for i, (format_, type_, value, wrapped) in enumerate(CASES[name]):
        bound = serde(format_, [column(type_)], wrapped)
        columns.append(f"{bound.encode_sql([constant(value, type_)])} as c{i}")
    row = local_spark.range(1).selectExpr(*columns).collect()[0]
    wrong = []
    for (format_, type_, value, wrapped), data in zip(CASES[name], row, strict=True):
        got = None if data is None else serde(format_, [column(type_)], wrapped).decode(bytes(data))
        if (got or [None])[0] != (None if got is None else read_back(format_, type_, value)):
            wrong.append((format_, type_, value, wrapped, data))
    assert not wrong, "\n".join(map(str, wrong))


def test_spark_and_python_write_the_same_lines(local_spark: Any) -> None:
    types = [t for t in SAMPLES if CAPABILITIES["DELIMITED"].carries(t)]
    columns = [column(t, f"C{i}") for i, t in enumerate(types)]
    records = [[values[min(i, len(values) - 1)] for values in SAMPLES.values()] for i in range(9)]
    texts = [
        serde("DELIMITED", columns).encode_sql([constant(v, t) for v, t in zip(r, types, strict=True)])
        for r in records
    ]
    firsts = ["", "é", "#", ",", "a", "-5", None]
    pair = [column(STRING), column(STRING, "B")]
    texts += [serde("DELIMITED", pair).encode_sql([constant(f, STRING), "''"]) for f in firsts]
    numbers = [column(INTEGER), column(INTEGER, "B")]
    texts.append(serde("DELIMITED", numbers).encode_sql(["-5", "-5"]))
    row = local_spark.range(1).selectExpr(*(f"{t} as c{i}" for i, t in enumerate(texts))).collect()[0]
    wanted = [serde("DELIMITED", columns).encode(r) for r in records]
    wanted += [serde("DELIMITED", pair).encode([f, ""]) for f in firsts]
    wanted.append(b'"-5",-5')
    assert [bytes(r) for r in row] == wanted


def test_spark_writes_members_of_a_json_schema_that_are_no_columns(local_spark: Any) -> None:
    texts = [with_json_schema(properties).encode_sql(["1"]) for properties, _ in FURTHER]
    row = local_spark.range(1).selectExpr(*(f"{t} as c{i}" for i, t in enumerate(texts))).collect()[0]
    assert [bytes(r)[5:].decode() for r in row] == [f'{{"A":1{members}}}' for _, members in FURTHER]


def test_spark_writes_json_as_connect_does(local_spark: Any) -> None:
    texts, wanted = [], []
    for schema, text, value, written in CONNECT:
        serde, type_ = bound(schema)
        texts.append(serde.encode_sql([constant(value, type_)]))
        wanted.append(b'\0\0\0\0\1{"V":%s}' % (written or text).encode())
    row = local_spark.range(1).selectExpr(*(f"{t} as c{i}" for i, t in enumerate(texts))).collect()[0]
    wrong = [(t, g, w) for t, g, w in zip(texts, row, wanted, strict=True) if bytes(g) != w]
    assert not wrong, "\n".join(map(str, wrong))


def test_null_is_null(local_spark: Any) -> None:
    columns = []
    for name in NAMES:
        null = serde(name, [column(STRING)], CAPABILITIES[name].wrapped).decode_sql("cast(NULL as binary)")
        columns.append(f"{null} is null as n{name}")
    assert all(local_spark.range(1).selectExpr(*columns).collect()[0])


def test_types_match(local_spark: Any) -> None:
    every = {**SAMPLES, **NESTED}
    columns = [f"typeof({constant(None, t)}) as c{i}" for i, t in enumerate(every)]
    row = local_spark.range(1).selectExpr(*columns).collect()[0]
    assert list(row) == [spark_type(t).replace("`", "") for t in every]
