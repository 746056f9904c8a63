"""A table of PostgreSQL becomes a table here, by Debezium: changes, deletions, a dead database."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from tests.integration.answers import one
from tests.postgres import Postgres
from tests.waiting import until

pytestmark = pytest.mark.kafka

PREFIX = f"database_{uuid.uuid4().hex[:8]}_"
PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "connect.md"
DEBEZIUM = "io.debezium:debezium-connector-postgres:3.7.0.Final"


@pytest.fixture
def database() -> Iterator[Postgres]:
    with Postgres() as running:
        yield running


def rows(engine: Engine, query: str) -> list[list[Any]]:
    """The rows of a query that ends."""
    stream = engine.query(Request(query, {"auto.offset.reset": "earliest"}))
    found: list[list[Any]] = []
    while (batch := stream.read(10.0)) is not None:
        found += [list(row.values) for row in batch]
    stream.close()
    return found


@pytest.mark.long
def test_changes_of_a_table(database: Postgres, make_engine: Callable[[], Engine], tmp_path: Path) -> None:
    _install(tmp_path)
    database.sql("CREATE TABLE customers (id INT PRIMARY KEY, name TEXT, city TEXT)")
    database.sql("INSERT INTO customers VALUES (1, 'Ann', 'Oslo'), (2, 'Bo', 'Rome')")
    engine = make_engine()
    for text in _statements(database.port):
        one(engine, text)
    one(engine, "CREATE TABLE copy AS SELECT * FROM customers;")
    until(lambda: rows(engine, "SELECT name FROM copy;") in ([["Ann"], ["Bo"]], [["Bo"], ["Ann"]]))
    # the join reads the table's topic by itself: ask until it has
    until(lambda: _call(engine, 1) == ["Ann", "Oslo"])

    database.sql("UPDATE customers SET city = 'Paris' WHERE id = 1; DELETE FROM customers WHERE id = 2")
    until(lambda: rows(engine, "SELECT name, city FROM copy;") == [["Ann", "Paris"]])
    until(lambda: _call(engine, 1) == ["Ann", "Paris"])
    until(lambda: _call(engine, 2) == [None, None])

    database.stop()
    until(lambda: one(engine, "SHOW CONNECTORS;").warnings)
    answer = one(engine, "SHOW CONNECTORS;")
    assert "Connector SHOP" in answer.warnings[0].message and engine.health().is_healthy
    again = _statements(database.port)[0].replace("CONNECTOR shop", "CONNECTOR again")
    with pytest.raises(KsqlError, match=f"Connection to 127.0.0.1:{database.port} refused"):
        one(engine, again)
    one(engine, "DROP CONNECTOR shop;")
    assert one(engine, "SHOW CONNECTORS;").connectors == ()


@pytest.mark.long
def test_a_large_value_that_an_update_leaves_as_it_was(
    database: Postgres, make_engine: Callable[[], Engine], tmp_path: Path
) -> None:
    _install(tmp_path)
    database.sql("CREATE TABLE customers (id INT PRIMARY KEY, name TEXT, city TEXT)")
    database.sql("ALTER TABLE customers ALTER name SET STORAGE EXTERNAL")  # not in the row
    database.sql("INSERT INTO customers VALUES (1, repeat('x', 10000), 'Oslo')")
    engine = make_engine()
    connector, ready, *_ = (
        re.sub(r',?\s*"transforms[^=]*= \'[^\']*\'', "", text).replace(f"{PREFIX}shop", f"{PREFIX}large")
        for text in _statements(database.port)
    )
    one(engine, connector.replace(");", ", \"key.converter\" = 'JsonConverter');"))
    one(engine, ready)
    topic = f"{PREFIX}large.public.customers"
    of_envelopes = f"WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON', ENVELOPE = 'debezium')"
    columns = "name STRING, city STRING"
    one(engine, f"CREATE STREAM changed (id INT KEY, {columns}) {of_envelopes};")
    one(engine, f"CREATE SOURCE TABLE viewed (id INT PRIMARY KEY, {columns}) {of_envelopes};")
    one(engine, "CREATE TABLE kept AS SELECT * FROM viewed;")
    database.sql("UPDATE customers SET city = 'Rome' WHERE id = 1")
    sizes = "SELECT LEN(name), city FROM {};"
    until(lambda: [None, "Rome"] in rows(engine, sizes.format("changed")))
    until(lambda: rows(engine, sizes.format("kept")) == [[10_000, "Rome"]])
    assert rows(engine, sizes.format("viewed")) == [[10_000, "Rome"]]
    one(engine, "DROP CONNECTOR shop;")


def _install(folder: Path) -> None:
    try:
        artifacts.install(DEBEZIUM, folder / "connect" / "plugins")
    except KsqlError as error:
        pytest.skip(f"there is no Debezium: {error.message}")


def _call(engine: Engine, customer: int) -> list[Any]:
    """Let a customer call; the name and city that the join finds."""
    calls = "SELECT name, city FROM named_calls;"
    before = len(rows(engine, calls))
    engine.execute(Request(f"INSERT INTO calls VALUES ({customer}, 10);"))
    until(lambda: len(rows(engine, calls)) > before)
    return rows(engine, calls)[-1]


def _statements(port: int) -> list[str]:
    """The statements of the how-to page about a database, for this database and for topics of this test."""
    text = PAGE.read_text(encoding="utf-8").split("## A table of a database")[1].split("\n## ")[0]
    blocks = "".join(part.split("```")[0] for part in text.split("```sql\n")[1:])
    for there, here in (
        ("'localhost'", "'127.0.0.1'"),
        ("'5432'", f"'{port}'"),
        ("'${file:/etc/shop.properties:password}'", "'not asked for'"),
        ("\"database.user\" = 'shop'", "\"database.user\" = 'postgres'"),
        ("\"database.dbname\" = 'shop'", "\"database.dbname\" = 'postgres'"),
        ("\"topic.prefix\" = 'shop'", f"\"topic.prefix\" = '{PREFIX}shop', \"slot.name\" = '{PREFIX}shop'"),
        ("shop.public.customers", f"{PREFIX}shop.public.customers"),
        ("KAFKA_TOPIC = 'calls'", f"KAFKA_TOPIC = '{PREFIX}calls'"),
        ("named_calls AS", f"named_calls WITH (KAFKA_TOPIC = '{PREFIX}named_calls') AS"),
    ):
        assert there in blocks
        blocks = blocks.replace(there, here)
    return [f"{part.strip()};" for part in blocks.split(";") if part.strip()]
