"""CREATE … WITH (LAKE = …): what is refused, and what the metastore has afterwards."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.lake import tables
from ksql_spark.lake.positions import positions_topic
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sources import FormatSpec
from tests.statements.world import World

COLUMNS = "(id INT PRIMARY KEY, name STRING)"
X = f"CREATE TABLE x {COLUMNS} WITH"


def test_a_table_and_its_ways(world: World) -> None:
    world.run(f"CREATE TABLE zones {COLUMNS} WITH (LAKE='/x/zones', FORMAT='Parquet');")
    source = world.services.metastore.require("ZONES")
    assert (source.topic, source.partitions, source.read_only) == ("ZONES", 1, True)
    assert (source.key_format, source.value_format) == (FormatSpec("KAFKA"), FormatSpec("JSON"))
    assert world.services.metastore.origins() == {"ZONES": Origin("/x/zones", "parquet")}
    world.run(
        f"CREATE TABLE people {COLUMNS} WITH (LAKE='postgresql://u:secret@h/db', FORMAT='jdbc', TABLE='a.b',"
        " KAFKA_TOPIC='who', KEY_FORMAT='JSON', VALUE_FORMAT='DELIMITED', PARTITIONS=4, REFRESH='2 hours');"
        f"CREATE TABLE IF NOT EXISTS people {COLUMNS} WITH (LAKE='/y', FORMAT='csv');"
    )
    source = world.services.metastore.require("PEOPLE")
    assert (source.topic, source.partitions, source.value_format.name) == ("who", 4, "DELIMITED")
    origin = world.services.metastore.origins()["PEOPLE"]
    assert origin == Origin("postgresql://u:secret@h/db", "jdbc", "a.b", 7_200_000)
    with pytest.raises(KsqlError, match="read-only"):
        world.run("INSERT INTO zones VALUES (1, 'x');")
    world.run("DROP TABLE zones DELETE TOPIC; DROP TABLE people;")
    assert not world.services.metastore.origins()
    world.run(
        f"CREATE TABLE people {COLUMNS} WITH (KAFKA_TOPIC='who', KEY_FORMAT='JSON', VALUE_FORMAT='JSON');"
    )
    assert not world.services.metastore.origins()


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("SOURCE='/x/products.csv'", Origin("/x/products.csv", "csv")),
        ("SOURCE='products.JSON'", Origin("products.JSON", "json")),
        ("SOURCE='s3://b/p.ndjson'", Origin("s3://b/p.ndjson", "json")),
        ("LAKE='/x/p.parquet'", Origin("/x/p.parquet", "parquet")),
        ("SOURCE='postgresql://u@h/db', TABLE='p'", Origin("postgresql://u@h/db", "jdbc", "p")),
        ("SOURCE='/x/p.csv', FORMAT='json'", Origin("/x/p.csv", "json")),
    ],
)
def test_the_name_of_a_file_tells_its_format(world: World, given: str, origin: Origin) -> None:
    world.run(f"{X} ({given});")
    assert world.services.metastore.origins() == {"X": origin}


def test_a_package_is_found_once_it_is_installed(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server need not start again."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(tables, "TYPES", {"delta": tables.TableType("m", "installed_later")})
    statement = f"{X} (LAKE='/x', FORMAT='delta');"
    with pytest.raises(KsqlError, match=r"installed_later[.] Install it, and run the statement again: "):
        world.run(statement)
    (tmp_path / "installed_later.py").touch()
    world.run(statement)


def test_files_of_text_need_one_package(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(KsqlError, match=r"-m pip install pyarrow$"):
        world.run(f"{X} (SOURCE='/x.csv');")


def test_a_topic_keeps_the_name_that_it_had_at_first(tmp_path: Path) -> None:
    before = World(tmp_path / "a", **{"ksql.output.topic.name.prefix": "one_"})
    try:
        before.run(f"CREATE TABLE zones {COLUMNS} WITH (LAKE='/x', FORMAT='csv');")
        after = World(tmp_path / "b", before, **{"ksql.output.topic.name.prefix": "two_"})
        try:
            assert after.services.metastore.require("ZONES").topic == "one_ZONES"
        finally:
            after.close()
    finally:
        before.close()


def test_a_stream_keeps_all_rows_and_goes_with_its_positions(world: World) -> None:
    world.run(
        "CREATE STREAM grows (id INT KEY, ts BIGINT NOT NULL) WITH (LAKE='/x', FORMAT='delta',"
        " TIMESTAMP='ts', REFRESH='5 seconds', PARTITIONS=3);"
        "CREATE STREAM short (id INT) WITH (LAKE='/x', FORMAT='csv', RETENTION_MS=1000);"
    )
    source = world.services.metastore.require("GROWS")
    assert (source.topic, source.partitions, source.read_only) == ("GROWS", 3, True)
    assert world.services.metastore.origins()["GROWS"] == Origin("/x", "delta", refresh_ms=5_000)
    assert world.admin.configs["GROWS"]["retention.ms"] == "-1"
    assert world.admin.configs["SHORT"]["retention.ms"] == "1000"
    with pytest.raises(KsqlError, match="read-only"):
        world.run("INSERT INTO grows VALUES (1, 2);")
    positions = positions_topic(str(world.services.config["ksql.service.id"]), "GROWS")
    world.admin.create_topic(positions)
    world.run("DROP STREAM short; DROP STREAM grows DELETE TOPIC;")
    assert world.admin.topic(positions) is None and world.admin.topic("GROWS") is None


def test_the_name_of_the_table_of_a_database_is_that_of_the_table(world: World) -> None:
    world.run(f"CREATE TABLE zones {COLUMNS} WITH (LAKE='sqlite:/x.db', FORMAT='jdbc');")
    assert world.services.metastore.origins()["ZONES"].table == "zones"


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (f"{X} (LAKE='/x');", "LAKE needs the property FORMAT"),
        (f"{X} (LAKE='/x', FORMAT='parket');", "Did you mean 'parquet'?"),
        (f"{X} (LAKE='/x', FORMAT='avro');", "VALUE_FORMAT is the format"),
        (f"{X} (LAKE=' ', FORMAT='csv');", "LAKE must not be empty"),
        (f"{X} (LAKE='/x', FORMAT='jdbc');", "no URL of PostgreSQL or SQLite"),
        (f"{X} (LAKE='/x', FORMAT='csv', TABLE='y');", "only 'jdbc' has it"),
        (f"{X} (LAKE='/x', FORMAT='csv', REFRESH='soon');", "Invalid duration"),
        (f"{X} (LAKE='/x', FORMAT='csv', ENVELOPE='debezium');", "'ENVELOPE' is not for"),
        (f"{X} (KAFKA_TOPIC='x', FORMAT='JSON', REFRESH='1 day');", "needs the property SOURCE or LAKE"),
        (f"{X} (SOURCE='/x');", "SOURCE needs the property FORMAT"),
        (f"{X} (SOURCE=' ');", "SOURCE must not be empty"),
        (f"{X} (SOURCE='/x.csv', LAKE='/x.csv');", "SOURCE and LAKE are the same property"),
        (f"{X} (SOURCE='/x.csv', ENVELOPE='debezium');", "'ENVELOPE' is not for tables with SOURCE"),
        ("CREATE STREAM x (id INT) WITH (LAKE='sqlite:/x', FORMAT='jdbc');", "which rows are new"),
        ("CREATE STREAM x (h BYTES HEADER('a'), id INT) WITH (LAKE='/x', FORMAT='csv');", "has no headers"),
        ("CREATE SOURCE STREAM x (id INT) WITH (LAKE='/x', FORMAT='csv');", "SOURCE is not for streams"),
        ("CREATE STREAM x (id INT) WITH (LAKE='/x', FORMAT='csv', TIMESTAMP='ts');", "does not exist"),
        ("CREATE STREAM x (id INT) WITH (LAKE='/x', FORMAT='csv', ENVELOPE='debezium');", "not for streams"),
        (f"{X} (LAKE='/x', FORMAT='csv', TIMESTAMP='name', TIMESTAMP_FORMAT='yyyy');", "is not for tables"),
        ("CREATE TABLE x (id INT) WITH (LAKE='/x', FORMAT='csv');", "Tables require a PRIMARY KEY"),
        (f"CREATE SOURCE TABLE x {COLUMNS} WITH (LAKE='/x', FORMAT='csv');", "SOURCE is not for"),
        (f"CREATE OR REPLACE TABLE x {COLUMNS} WITH (LAKE='/x', FORMAT='csv');", "OR REPLACE is not for"),
        ("CREATE TABLE x (i INT PRIMARY KEY, n INT NOT NULL) WITH (LAKE='/x', FORMAT='csv');", "constraints"),
        ("CREATE TABLE x (i INT PRIMARY KEY, l ARRAY<INT>) WITH (LAKE='x', FORMAT='csv');", "csv cannot"),
        (
            "CREATE TABLE x (i INT PRIMARY KEY, s ARRAY<MAP<STRING, INT>>) WITH (LAKE='/x', FORMAT='json');",
            "json cannot have the column S",
        ),
        (f"{X} (LAKE='/x', FORMAT='csv', KAFKA_TOPIC='taken');", "taken is that of TAKEN"),
        ("CREATE STREAM x WITH (LAKE='/x') AS SELECT * FROM taken;", "only allowed in CREATE"),
    ],
)  # fmt: skip
def test_what_is_refused(world: World, statement: str, says: str) -> None:
    world.run("CREATE STREAM taken (id INT) WITH (KAFKA_TOPIC='taken', FORMAT='JSON', PARTITIONS=1);")
    with pytest.raises(KsqlError) as refused:
        world.run(statement)
    assert says in refused.value.message


def test_a_missing_package_is_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(KsqlError, match=r"'delta' needs the Python package deltalake"):
        world.run(f"{X} (LAKE='/x', FORMAT='delta');")
