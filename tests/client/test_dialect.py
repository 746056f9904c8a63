"""SQLAlchemy's dialect: URLs, reflection, queries, inserts, pandas."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.engine import make_url

from ksql_spark import client
from ksql_spark.client.dialect import KsqlDialect, Nested

registry.register("ksqlspark", "ksql_spark.client.dialect", "KsqlDialect")


@pytest.fixture
def engine(url: str) -> Iterator[sa.Engine]:
    with client.connect(url) as connection:
        connection.run(
            "CREATE STREAM nested (id INT KEY, a ARRAY<STRUCT<f DECIMAL(4, 2)>>, m MAP<STRING, BIGINT>, "
            "`ORDER` STRING, `AT` TIMESTAMP) WITH (kafka_topic='events', value_format='JSON');"
        )
        rows = [{"id": n, "v": f"v{n}", "d": Decimal(n) / 4, "x": n / 2} for n in range(1, 4)]
        connection.insert("base", rows)
    made = sa.create_engine(url.replace("http://", "ksqlspark://") + "?auto.offset.reset=earliest")
    yield made
    made.dispose()


@pytest.mark.parametrize(
    ("url", "address", "given"),
    [
        ("ksqlspark://", "http://localhost:8088", {"properties": {}}),
        ("ksqlspark://h:1/?tls=true", "https://h:1", {"properties": {}}),
        ("ksqlspark://a:b%40@[::1]", "http://[::1]:8088", {"properties": {}, "auth": ("a", "b@")}),
        ("ksqlspark://h?ksql.a=b", "http://h:8088", {"properties": {"ksql.a": "b"}}),
    ],
)
def test_urls(url: str, address: str, given: dict[str, object]) -> None:
    assert KsqlDialect().create_connect_args(make_url(url)) == ((address,), given)


def test_reflection(engine: sa.Engine) -> None:
    found = sa.inspect(engine)
    assert sorted(found.get_table_names()) == ["base", "items"]
    assert sorted(found.get_view_names()) == ["events", "nested"] and found.get_schema_names() == ["ksql"]
    assert found.has_table("items") and not found.has_table("nothing")
    assert found.get_pk_constraint("items")["constrained_columns"] == ["id"]
    assert found.get_pk_constraint("events")["constrained_columns"] == []
    assert [str(column["type"]) for column in found.get_columns("items")] == [
        "INTEGER",
        "VARCHAR",
        "NUMERIC(20, 2)",
        "DOUBLE",
    ]
    columns = {column["name"]: column["type"] for column in found.get_columns("nested")}
    assert isinstance(columns["a"], Nested) and columns["a"].text == "ARRAY<STRUCT<`F` DECIMAL(4, 2)>>"
    assert columns["m"].text == "MAP<STRING, BIGINT>" and columns["at"].timezone
    assert "order" in columns
    assert not found.get_indexes("items") and not found.get_foreign_keys("items")
    assert "STREAM" in found.get_view_definition("nested").upper()
    with pytest.raises(sa.exc.NoSuchTableError):
        found.get_columns("nothing")


def test_queries(engine: sa.Engine) -> None:
    items = sa.Table("items", sa.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        row = connection.execute(sa.select(items).where(items.c.id == 2)).one()
        assert (row.id, row.v, row.d, row.x) == (2, "v2", Decimal("0.50"), 1.0)
        some = sa.select(items.c.v).where(items.c.id.in_([1, 3]))
        assert sorted(connection.scalars(some)) == ["v1", "v3"]
        assert len(connection.execute(sa.select(items.c.id).limit(2)).all()) == 2
        with pytest.raises(sa.exc.ProgrammingError, match="NOTHING"):
            connection.execute(sa.text("SELECT nothing FROM items;"))


def test_texts_of_queries() -> None:
    table = sa.table("t", sa.column("a"), sa.column("Odd"), schema="ksql")
    statement = sa.select(table.c.a, table.c.Odd).limit(3).offset(1)
    text = statement.compile(dialect=KsqlDialect(), compile_kwargs={"literal_binds": True})
    assert str(text).split() == [
        *("SELECT", "`T`.`A`,", "`T`.`Odd`", "FROM", "`T`", "LIMIT", "3", "OFFSET", "1")
    ]


def test_inserts_and_push_queries(engine: sa.Engine) -> None:
    events = sa.Table("events", sa.MetaData(), autoload_with=engine)
    with engine.begin() as connection:
        connection.execute(sa.insert(events), [{"id": 1, "v": "a"}, {"id": 1, "v": "b"}])
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT v FROM events EMIT CHANGES;"))
        assert [rows.fetchone(), rows.fetchone()] == [("a",), ("b",)]
        rows.close()
        connection.rollback()


def test_pandas(engine: sa.Engine) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_sql("SELECT id, v FROM items WHERE id = 1;", engine)
    assert frame.to_dict("records") == [{"id": 1, "v": "v1"}]
    whole = pandas.read_sql_table("items", engine, index_col="id")
    assert sorted(whole.index) == [1, 2, 3]


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(sa.exc.OperationalError, match="No server answers"):
        sa.create_engine("ksqlspark://127.0.0.1:1").connect()


def test_what_db_api_asks_of_the_module() -> None:
    assert client.NUMBER == "DECIMAL(4, 2)" and client.STRING == "STRING" and client.DATETIME != "BYTES"
    assert client.BINARY == "BYTES" and client.ROWID != "STRING" and client.Binary(b"x") == b"x"
    assert client.Date(2026, 1, 2).isoformat() == "2026-01-02"
    assert client.TimestampFromTicks(0).isoformat() == "1970-01-01T00:00:00+00:00"
    assert client.DateFromTicks(86400 * 2).year == 1970 and client.TimeFromTicks(0).second == 0
