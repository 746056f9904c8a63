"""Tables in a catalog that others have: a REST catalog, the server that Iceberg itself is tested with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from ksql_spark.errors import KsqlError
from ksql_spark.lake import growth, reading
from ksql_spark.lake.tables import TableSpec, open_table
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sinks import PartitionColumn
from ksql_spark.schema import Column, Role
from ksql_spark.types import BIGINT, INTEGER, STRING
from tests.lake.rest_catalog import rest_catalog
from tests.lake.table_rows import EMPTY, FULL, changed, keyed, rows, spec

pytestmark = pytest.mark.kafka  # it needs Java

PATH = "catalog:shop/sales.orders"
ORIGIN = Origin(PATH, "iceberg")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with rest_catalog(tmp_path_factory.mktemp("warehouse")) as found:
        yield found


@pytest.fixture
def catalog(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalog]:
    # what PYICEBERG_CATALOG__SHOP__URI would say to another process
    monkeypatch.setattr("ksql_spark.lake.iceberg.load_catalog", lambda name: load_catalog(name, uri=url))
    there = load_catalog("shop", uri=url)
    yield there
    for namespace in there.list_namespaces():
        for table in there.list_tables(namespace):
            there.drop_table(table)
        there.drop_namespace(namespace)


def place(tmp_path: Path, **given: object) -> TableSpec:
    made = keyed(tmp_path) if given.pop("keyed", False) else spec(tmp_path, **given)  # type: ignore[arg-type]
    return TableSpec(PATH, made.topic, made.columns, made.keys, made.partition_by)


def test_a_table_is_made_written_and_read(catalog: Catalog, tmp_path: Path) -> None:
    parts = (PartitionColumn("ID"),)
    table = open_table("iceberg", place(tmp_path, partition_by=parts))
    table.write(rows(FULL, EMPTY), {0: 2, 1: 7})
    assert open_table("iceberg", place(tmp_path)).positions() == {0: 2, 1: 7}
    assert catalog.load_table("sales.orders").scan().count() == 2
    assert set(reading.read(ORIGIN, [Column("ID", INTEGER)])["ID"].to_pylist()) == {EMPTY["ID"], FULL["ID"]}
    first = growth.next_batch(ORIGIN, None, {})
    assert first is not None and growth.next_batch(ORIGIN, first.mark, {}) is None


def test_rows_are_replaced_by_key(catalog: Catalog, tmp_path: Path) -> None:
    open_table("iceberg", place(tmp_path, keyed=True)).write(
        changed(FULL, EMPTY, deleted=(False, False)), {0: 2}
    )
    open_table("iceberg", place(tmp_path, keyed=True)).write(changed(FULL, deleted=(True,)), {0: 3})
    assert catalog.load_table("sales.orders").scan().to_arrow()["ID"].to_pylist() == [EMPTY["ID"]]


def test_of_two_writers_one_fails_where_somebody_else_has_made_the_table(
    catalog: Catalog, tmp_path: Path
) -> None:
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


def test_columns_of_other_types_are_refused(catalog: Catalog) -> None:
    catalog.create_namespace("sales")
    catalog.create_table("sales.orders", Schema(NestedField(1, "ID", LongType())))
    with pytest.raises(KsqlError) as refused:
        open_table("iceberg", TableSpec(PATH, "t:1", (Column("ID", STRING),)))
    assert refused.value.condition == "LAKE_INCOMPATIBLE"


def test_an_unknown_catalog_is_told() -> None:
    with pytest.raises(KsqlError, match=r"catalog:nowhere/a\.b cannot be read or written: .*NOWHERE__URI"):
        reading.read(Origin("catalog:nowhere/a.b", "iceberg"), [Column("ID", INTEGER)])
