"""The decoders of the JVM and those of Python read the same table of records alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ksql_spark.formats import CAPABILITIES, BadRecord, json_serde
from ksql_spark.formats.utf8 import replaced
from ksql_spark.spark.session import set_registry
from tests.formats.records import RECORDS, REGISTRY, REPLACED, Bad, Record
from tests.registry_server import RegistryServer, own_host


def difference(record: Record, row: str | None, reason: str) -> tuple[str, str, str | Bad] | None:
    """The record, what was read (or why not) and what should be; None if they are the same.

    Args:
        record: of the table.
        row: the JSON of its columns; None: it is bad.
        reason: why it is bad.
    """
    if isinstance(record.row, Bad):
        is_same = row is None and record.row.reason in reason and "Nothing is wrong" not in reason
    else:
        is_same = row is not None and json.loads(row) == json.loads(record.row)
    return None if is_same else (record.name, reason if row is None else row, record.row)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name[:80])
def test_python(record: Record) -> None:
    try:
        values = record.serde.decode(record.data)
    except BadRecord as error:
        assert difference(record, None, str(error)) is None
    else:
        assert values is not None
        row = json_serde(record.serde.columns).encode(values) or b""
        assert difference(record, row.decode(), "") is None


@pytest.mark.spark
def test_the_jvm(local_spark: Any) -> None:
    decoded, read = [], []
    for i, record in enumerate(RECORDS):
        data = f"X'{record.data.hex()}'"
        decoded += [f"{record.serde.decode_sql(data)} AS r{i}", f"{record.serde.explain_sql(data)} AS e{i}"]
        row = json_serde(record.serde.columns).encode_sql([f"r{i}.`{c.name}`" for c in record.serde.columns])
        read.append(f"struct(if(r{i} IS NULL, NULL, decode({row}, 'UTF-8')) AS row, e{i} AS reason) AS c{i}")
    with RegistryServer(host=own_host()) as server:
        for schema_id, schema in sorted(REGISTRY.by_ids().items()):
            assert server.add(str(schema_id), schema.text, schema.kind) == schema_id
        set_registry(local_spark, {"url": server.url})
        try:
            found = local_spark.range(1).selectExpr(*decoded).selectExpr(*read).collect()[0]
        finally:
            set_registry(local_spark, {})
    differences = [difference(r, f.row, f.reason) for r, f in zip(RECORDS, found, strict=True)]
    assert [d for d in differences if d] == []


def test_each_format_has_records() -> None:
    missing = set(CAPABILITIES) - {"NONE"} - {record.serde.name for record in RECORDS}
    assert not missing, f"add to RECORDS of tests/formats/records/__init__.py records of {missing}"


@pytest.mark.parametrize(("data", "text"), REPLACED)
def test_what_is_not_utf8_is_replaced_as_in_java(data: bytes, text: str) -> None:
    assert replaced(data) == text
    assert replaced(b"a" + data + "é".encode()) == f"a{text}é"
