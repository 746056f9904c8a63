"""Tables in a catalog that others have: a REST catalog, the server that Iceberg itself is tested with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

from ksql_spark.errors import KsqlError
from ksql_spark.lake import growth, reading
from ksql_spark.lake.tables import TableSpec, open_table
from ksql_spark.metastore.origins import Origin
from ksql_spark.schema import Column, Role
from ksql_spark.types import BIGINT, INTEGER
from tests.lake.table_rows import COLUMNS, EMPTY, FULL, rows

pytestmark = pytest.mark.kafka  # it needs Java

PATH = "catalog:shop/sales.orders"
ORIGIN = Origin(PATH, "iceberg")


@pytest.fixture
def catalog(catalog_url: str) -> Iterator[Catalog]:
    there = load_catalog("shop", uri=catalog_url)
    yield there
    there.drop_table("sales.orders")
    there.drop_namespace("sales")


def test_a_table_is_read(catalog: Catalog) -> None:
    open_table("iceberg", TableSpec(PATH, "t:1", COLUMNS)).write(rows(FULL, EMPTY), {0: 2})
    assert set(reading.read(ORIGIN, [Column("ID", INTEGER)])["ID"].to_pylist()) == {EMPTY["ID"], FULL["ID"]}
    first = growth.next_batch(ORIGIN, None, {})
    assert first is not None and growth.next_batch(ORIGIN, first.mark, {}) is None


def test_of_two_writers_one_fails_where_somebody_else_has_made_the_table(catalog: Catalog) -> None:
    catalog.create_namespace("sales")
    catalog.create_table("sales.orders", Schema(NestedField(1, "OTHER", StringType())))
    columns = (Column("ID", BIGINT, Role.VALUE),)
    wanted = TableSpec(PATH, "t:1", columns)
    one, other = open_table("iceberg", wanted), open_table("iceberg", wanted)
    one.write(rows(FULL).select(["ID"]).cast(reading.pa.schema([("ID", "int64")])), {0: 1})
    with pytest.raises(KsqlError) as refused:
        other.write(rows(FULL).select(["ID"]).cast(reading.pa.schema([("ID", "int64")])), {0: 1})
    assert refused.value.condition == "LAKE_CONFLICT"
    found = catalog.load_table("sales.orders").scan().to_arrow()
    assert found.to_pylist() == [{"OTHER": None, "ID": FULL["ID"]}]


def test_an_unknown_catalog_is_told() -> None:
    with pytest.raises(KsqlError, match=r"catalog:nowhere/a\.b cannot be read or written: .*NOWHERE__URI"):
        reading.read(Origin("catalog:nowhere/a.b", "iceberg"), [Column("ID", INTEGER)])
