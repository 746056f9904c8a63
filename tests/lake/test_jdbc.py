"""Tables of databases: positions and rows are one transaction; types, keys, new columns, refused rows."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa

from ksql_spark.errors import KsqlError
from ksql_spark.lake import jdbc
from ksql_spark.lake.databases import url_of
from ksql_spark.lake.tables import DELETED, Refusal, TableSpec, open_table
from ksql_spark.schema import Column
from ksql_spark.types import BIGINT, DOUBLE, INTEGER, STRING, TIMESTAMP, Decimal
from tests.lake.table_rows import COLUMNS, rows
from tests.postgres import USER, Postgres

UTC = datetime.UTC
JSON = {
    "times": ["00:00:00.000", None],
    "by_name": {"a": [1, None], "b": None},
    "place": {"x": 1.5, "since": None},
}


class Database:
    """A database and what a test does with it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = sa.create_engine(url_of(url))
        self.is_sqlite = url.startswith("sqlite")

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        with self._engine.begin() as connection:
            found = connection.exec_driver_sql(text)
            return [tuple(row) for row in found] if found.returns_rows else []

    def spec(self, columns: Sequence[Column] = COLUMNS, **changes: Any) -> TableSpec:
        given = {"path": self.url, "topic": "t:1", "columns": tuple(columns), "table": "orders"}
        return TableSpec(**(given | changes))

    def close(self) -> None:
        self._engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        made = Database(f"sqlite:///{tmp_path}/some.db")
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        made = Database(f"postgresql://{USER}@127.0.0.1:{postgres.port}/postgres")
    yield made
    made.close()


def written(database: Database, given: pa.Table, end: int, **changes: Any) -> list[Refusal]:
    refused: list[Refusal] = []
    open_table("jdbc", database.spec(**changes)).write(given, {0: end}, refused.extend)
    return refused


def numbers(*found: int | None, columns: Sequence[Column] = (Column("N", INTEGER),)) -> pa.Table:
    return rows(*({columns[0].name: n} for n in found), columns=tuple(columns))


NUMBERS = (Column("N", INTEGER),)


def test_urls() -> None:
    def shown(text: str) -> str:
        return url_of(text).set(query={}).render_as_string(hide_password=False)

    assert shown("postgres://a:b@h/db") == "postgresql+psycopg://a:b@h/db"
    assert shown("jdbc:postgresql://h:1/db?user=a&password=b") == "postgresql+psycopg://h:1/db"
    assert url_of("jdbc:postgresql://h/db?user=a").query["user"] == "a"
    assert shown("jdbc:sqlite:/x/y.db") == shown("sqlite:////x/y.db") == "sqlite:////x/y.db"


def test_json_has_no_value_that_its_readers_do_not_know() -> None:
    from ksql_spark.lake.jdbc_types import values
    from ksql_spark.types import BOOLEAN, BYTES, Array, Field, Map, Struct

    at = datetime.datetime(2026, 3, 1, tzinfo=UTC)
    type_ = Struct((
        Field("d", Array(DOUBLE)), Field("p", Array(Decimal(4, 2))), Field("b", BYTES), Field("t", TIMESTAMP),
        Field("m", Map(BOOLEAN, STRING)),
    ))  # fmt: skip
    value = {
        "d": [math.nan, math.inf, -math.inf],
        "p": [D("1.20")],
        "b": b"\xff",
        "t": at,
        "m": [(True, "x")],
    }
    column = Column("S", type_)
    (batch,) = rows({"S": value}, {"S": None}, columns=(column,)).to_batches()
    assert [one for (one,) in values(batch, [column])] == [
        {"d": ["NaN", "Infinity", "-Infinity"], "p": ["1.20"], "b": "/w==", "t": "2026-03-01T00:00:00.000Z",
         "m": {"true": "x"}},
        None,
    ]  # fmt: skip


def at_once(work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))


def test_tables_are_made_at_the_same_time(database: Database) -> None:
    more = (*NUMBERS, Column("MORE", INTEGER))
    for columns in (NUMBERS, more):
        at_once(lambda i: open_table("jdbc", database.spec(columns, table=f"t{i % 2}")).positions() or None)  # noqa: B023
    assert database.sql("SELECT n, more FROM t0") == database.sql("SELECT n, more FROM t1") == []


def test_writers_at_the_same_time(database: Database) -> None:
    open_table("jdbc", database.spec(NUMBERS)).write(numbers(0), {0: 1})
    tables = [open_table("jdbc", database.spec(NUMBERS)) for _ in range(4)]
    failed: list[str] = []

    def write(i: int) -> None:
        try:
            tables[i].write(numbers(i), {0: 2})
        except KsqlError as error:
            failed.append(error.condition)

    at_once(write)
    assert len(failed) == 3 and database.sql("SELECT count(*) FROM orders") == [(2,)]


def test_a_table_of_keys_alone(database: Database) -> None:
    for end, deleted in ((1, False), (2, False), (3, True)):
        given = numbers(1).append_column(DELETED, pa.array([deleted]))
        written(database, given, end, columns=NUMBERS, keys=("N",))
        assert database.sql("SELECT count(*) FROM orders") == [(0 if deleted else 1,)]


def test_a_table_that_users_have_made(database: Database) -> None:
    """With columns of other widths and a key of their own; what KSQL does not have is left alone."""
    database.sql("CREATE TABLE orders (code VARCHAR(4) UNIQUE, total NUMERIC(20, 4), note TEXT DEFAULT 'x')")
    columns = (Column("CODE", STRING), Column("TOTAL", BIGINT), Column("more %s", DOUBLE))

    def row(code: str, total: int) -> dict[str, Any]:
        return {"CODE": code, "TOTAL": total, "more %s": 0.5}

    for end, total in enumerate((3, 5)):
        one = rows(row("a", total), columns=columns).append_column(DELETED, pa.array([False]))
        written(database, one, end, columns=columns, keys=("CODE",))
    assert database.sql("SELECT * FROM orders") == [("a", 5, "x", 0.5)]


@pytest.mark.parametrize(
    ("made", "columns", "says"),
    [
        ("n TEXT", NUMBERS, "is TEXT and would have to be INTEGER"),
        ("n SMALLINT", NUMBERS, "is SMALLINT and would have to be INTEGER"),
        ("n NUMERIC(4, 1)", (Column("N", Decimal(4, 2)),), "is NUMERIC(4, 1) and would have to be"),
        ("n DATE", (Column("N", TIMESTAMP),), "is DATE and would have to be"),
        ("n INTEGER", (*NUMBERS, Column("n", INTEGER)), "that of N and n"),
    ],
)
def test_what_is_incompatible(database: Database, made: str, columns: tuple[Column, ...], says: str) -> None:
    database.sql(f"CREATE TABLE orders ({made})")
    with pytest.raises(KsqlError) as refused:
        open_table("jdbc", database.spec(columns))
    assert refused.value.condition == "LAKE_INCOMPATIBLE" and says in refused.value.message
    assert "n of the table orders" in refused.value.message


def test_a_key_must_be_unique(database: Database) -> None:
    database.sql("CREATE TABLE orders (n INTEGER)")
    with pytest.raises(KsqlError, match="not unique and would have to be the primary key"):
        open_table("jdbc", database.spec(NUMBERS, keys=("N",)))


def test_new_columns_are_added(database: Database) -> None:
    written(database, numbers(1), 1, columns=NUMBERS)
    more = (*NUMBERS, Column("AT", TIMESTAMP), Column("select", STRING))
    at = datetime.datetime(2026, 1, 1, tzinfo=UTC)
    written(database, rows({"N": 2, "AT": at, "select": "y"}, columns=more), 2, columns=more)
    written(database, numbers(3), 3, columns=NUMBERS)  # and lost again
    found = database.sql('SELECT n, "select" FROM orders ORDER BY n')
    assert found == [(1, None), (2, "y"), (3, None)]


def test_a_table_that_was_dropped_begins_again(database: Database) -> None:
    written(database, numbers(1), 1, columns=NUMBERS)
    database.sql("DROP TABLE orders")
    assert open_table("jdbc", database.spec(NUMBERS)).positions() == {}


def test_a_row_that_the_database_refuses_does_not_hold_up_others(database: Database) -> None:
    database.sql("CREATE TABLE orders (n INTEGER CHECK (n <> 7), at TIMESTAMP)")
    columns = (*NUMBERS, Column("AT", TIMESTAMP))
    far = pa.array([0, 0, 10**18, 0], pa.timestamp("us", "UTC"))
    given = pa.table({"N": pa.array([1, 7, 2, 3], pa.int32()), "AT": far})
    refused = written(database, given, 4, columns=columns)
    assert [row.row["N"] for row in refused] == [2, 7]
    assert "out of range" in refused[0].reason and "check" in refused[1].reason.lower()
    assert database.sql("SELECT n FROM orders ORDER BY n") == [(1,), (3,)]
    assert open_table("jdbc", database.spec(columns)).positions() == {0: 4}


def test_what_postgresql_alone_refuses(postgres: Postgres) -> None:
    postgres.sql("CREATE SCHEMA shop")
    postgres.sql(
        "CREATE TABLE shop.orders (c VARCHAR(3));"
        "CREATE FUNCTION no() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'never %', NEW.c; END $$"
        " LANGUAGE plpgsql;"
        "CREATE TRIGGER t BEFORE INSERT ON shop.orders FOR EACH ROW WHEN (NEW.c = 'no')"
        " EXECUTE FUNCTION no()"
    )
    database = Database(f"postgresql://{USER}@127.0.0.1:{postgres.port}/postgres")
    columns = (Column("C", STRING),)
    given = rows(*({"C": c} for c in ("abc", "long", "no", "\0", "x")), columns=columns)
    refused = written(database, given, 5, columns=columns, table="shop.orders")
    assert sorted(row.row["C"] for row in refused) == ["\0", "long", "no"]
    assert database.sql("SELECT c FROM shop.orders ORDER BY c") == [("abc",), ("x",)]
    assert database.sql("SELECT target, topic, position FROM shop.ksql_sink_positions") == [
        ("orders", "t:1", 5)
    ]
    database.close()


def test_a_table_that_refuses_all_is_told_and_keeps_its_position(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jdbc, "MOST_REFUSED", 5)
    database.sql("CREATE TABLE orders (n INTEGER, must INTEGER NOT NULL)")
    with pytest.raises(KsqlError, match=r"refuses more than 5 rows of one commit, the last because: .*must"):
        written(database, numbers(*range(100)), 100, columns=NUMBERS)
    assert open_table("jdbc", database.spec(NUMBERS)).positions() == {}


@pytest.mark.parametrize("seed", range(3))
def test_what_fails_in_a_transaction_leaves_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    written(database, numbers(1), 1, columns=NUMBERS)
    table: Any = open_table("jdbc", database.spec(NUMBERS))
    execute: Callable[..., None] = table._execute

    def fails(*given: Any) -> None:
        if seed:
            execute(*given)
        raise OSError("away") if seed < 2 else sa.exc.OperationalError("x", {}, OSError("away"))

    monkeypatch.setattr(table, "_execute", fails)
    with pytest.raises((OSError, KsqlError), match="away"):
        table.write(numbers(2), {0: 2})
    again = open_table("jdbc", database.spec(NUMBERS))
    assert again.positions() == {0: 1} and database.sql("SELECT n FROM orders") == [(1,)]


def test_a_database_that_is_away_is_told_without_its_password() -> None:
    url = "jdbc:postgresql://127.0.0.1:1/db?user=ann&password=s3cret"
    with pytest.raises(KsqlError) as refused:
        open_table("jdbc", TableSpec(url, "t:1", NUMBERS, table="orders"))
    assert refused.value.condition == "LAKE_FAILED"
    assert "127.0.0.1" in refused.value.message and "s3cret" not in refused.value.message
    with pytest.raises(KsqlError) as refused:
        open_table("jdbc", TableSpec("postgresql://ann:s3cret@h:x/db", "t:1", NUMBERS, table="orders"))
    assert refused.value.condition == "LAKE_FAILED" and "s3cret" not in refused.value.message


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(KsqlError, match=r"package psycopg\. .* -m pip install .ksql-spark\[jdbc\]"):
        open_table("jdbc", TableSpec("postgresql://h/db", "t:1", NUMBERS, table="orders"))
