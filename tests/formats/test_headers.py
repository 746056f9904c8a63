"""Schema ids in headers, which newer serializers write, go before the bytes of a record."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.formats.framed import with_schema_id
from ksql_spark.types import INTEGER
from tests.formats.records.record import framed


def test_the_last_header_with_a_schema_counts() -> None:
    """As in Confluent's deserializers: a copied record may have that of its source, too."""
    headers = [("__value_schema_id", b"old"), ("x", b"y"), ("__value_schema_id", b"new")]
    assert with_schema_id(b"-", headers, "VALUE") == b"new-"
    assert with_schema_id(b"-", [*headers, ("__value_schema_id", None)], "VALUE") == b"-"


@pytest.mark.spark
def test_the_last_header_with_a_schema_counts_on_the_jvm(local_spark: Any) -> None:
    serde, _ = framed({"type": "record", "name": "R", "fields": []}, "AVRO", {"A": INTEGER}, b"")
    old, new = (f"struct('__value_schema_id' AS key, {v} AS value)" for v in ("X'01'", "X'02'"))
    none = "struct('__value_schema_id' AS key, cast(NULL AS binary) AS value)"
    texts = (f"hex({serde.framed_sql('data', f'array({h})')})" for h in (f"{old}, {new}", f"{old}, {none}"))
    row = local_spark.sql("SELECT X'2D' AS data").selectExpr(*texts).collect()[0]
    assert list(row) == ["022D", "2D"]
