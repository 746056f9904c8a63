"""What PostgreSQL's users write without thinking: times, types and the names of columns and functions."""

from __future__ import annotations

import datetime
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from ksql_spark.engine import ResultColumn, Row
from ksql_spark.entities.catalog import ArgumentInfo
from ksql_spark.entities.sources import IndexInfo
from ksql_spark.functions import registry
from ksql_spark.instants import INTERVAL_FIELDS
from ksql_spark.server.postgres.catalog.catalog import Answer, Catalog, Session, is_function
from ksql_spark.server.postgres.session import statements
from ksql_spark.server.postgres.session.statements import Kind, statement_of
from ksql_spark.server.postgres.text import labels
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import CatalogError
from ksql_spark.server.postgres.values.values import BOOL, INT4, INT8, TEXT, PgType
from ksql_spark.types import BIGINT, INTEGER, STRING, Field, Struct
from tests.server.fake_engine import UCASE, FakeStream, described
from tests.server.postgres.port import SOON_S, Port

SESSION = Session("ada", {}, 1)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog([])


def ask(catalog: Catalog, text: str) -> Answer:
    tree = statement_of(text).tree
    assert tree is not None
    return catalog.ask(tree, SESSION)


def test_the_catalogs_functions_are_told_from_those_of_ksql(catalog: Catalog) -> None:
    """Or the engine is asked for them, which does not have them."""
    callable_ = {name for name in catalog._functions() if not name.startswith("_")} - {"regexp"}  # x ~ y
    for name in callable_:
        assert is_function(name) == (registry.find(name.upper()) is None), name


def test_times_without_a_table(port: Port) -> None:
    before = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) - datetime.timedelta(seconds=1)
    with port.connect() as connection:
        (now, hour, ago) = (
            connection.execute(
                "SELECT now(), date_trunc('hour', now()), now() - interval '1 hour'"
            ).fetchone()
            or (None,) * 3
        )
    assert before <= now <= before + datetime.timedelta(minutes=1)
    assert hour == now.replace(minute=0, second=0, microsecond=0)
    assert ago == now - datetime.timedelta(hours=1)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("date_trunc('week', timestamp '2026-03-05 10:20:30')", "2026-03-02T00:00:00.000"),
        ("date_trunc('quarter', '2026-06-05'::timestamp)", "2026-04-01T00:00:00.000"),
        ("date_trunc('month', date '2026-03-05')", "2026-03-01T00:00:00.000"),
        ("timestamp '2026-03-31' - interval '1 month'", "2026-02-28T00:00:00.000"),
        ("timestamp '2026-03-31' + interval '1 day 02:30:00'", "2026-04-01T02:30:00.000"),
        ("interval '90 min' + timestamp '2026-03-31'", "2026-03-31T01:30:00.000"),
        ("'2026-03-31 12:00+02'::timestamptz - '-1 hour'::interval", "2026-03-31T11:00:00.000"),
        ("date '2026-03-31' + 1", "2026-04-01"),
        ("timestamp '2026-03-31 12:00'::date", "2026-03-31"),
        ("NULL::timestamp + interval '1 hour'", None),
    ],
)
def test_arithmetic_of_times(catalog: Catalog, expression: str, value: Any) -> None:
    assert ask(catalog, f"SELECT {expression}").rows == ((value,),)


@pytest.mark.parametrize(
    ("query", "state", "message"),
    [
        ("SELECT x", "42703", 'column "x" does not exist'),
        ("SELECT version(), no_such(1)", "42883", "no function no_such here"),
        ("SELECT interval '1 hour'", "0A000", "An INTERVAL can only be added to a time"),
        ("SELECT version(), now() - now()", "22007", "is no interval such as '1 hour'"),
        ("SELECT date_trunc('eon', now())", "22023", "no unit of time"),
        (f"SELECT now() + interval '{'9' * 400} months'", "22008", "outside the years 1 to 9999"),
        ("SELECT 'soon'::timestamp", "22007", "'soon' is no timestamp"),
        ("SELECT version(), now() AT TIME ZONE 'UTC'", "0A000", "cannot compute"),
        ("SELECT pg_backend_pid() / 0", "22012", "division by zero"),
    ],
)
def test_a_select_without_a_table_fails_aloud(catalog: Catalog, query: str, state: str, message: str) -> None:
    with pytest.raises(CatalogError, match=message) as caught:
        ask(catalog, query)
    assert caught.value.state == state


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("SELECT 1, 'x'::text, NULL, -1, version(), 'int4'::regtype", Kind.CATALOG),
        ("SELECT now() - interval '1 hour', date_trunc('day', now())", Kind.CATALOG),
        ("SELECT 'a' ~ 'b', current_schemas(true), upper(current_user)", Kind.CATALOG),
        ("SELECT n / 2 FROM generate_series(1, 3) n", Kind.CATALOG),
        ("SELECT 1 / 3.0", Kind.QUERY),
        ("VALUES (2.5)", Kind.QUERY),
        ("SELECT date '2026-03-31' - date '2026-03-01', now() - now()", Kind.QUERY),
        ("SELECT generate_series(1, 3), unnest(ARRAY['a', 'b'])", Kind.QUERY),
        ("SELECT unnest(current_schemas(true))", Kind.CATALOG),
        ("SELECT extract(epoch FROM now()) / 60", Kind.QUERY),
        ("SELECT round('2.5'::float8), 1::bool, upper('a')", Kind.QUERY),
    ],
)
def test_the_engine_computes_what_sqlite_does_not_compute_as_postgresql(query: str, kind: Kind) -> None:
    assert statement_of(query).kind == kind


def test_what_tools_ask_without_a_table_has_a_row(catalog: Catalog) -> None:
    query = "SELECT pg_no_such(1), has_no_such('x'), concat('a', NULL, 1), greatest(1, 2), left('abc', 2)"
    assert ask(catalog, query).rows == ((None, None, "a1", 2, "ab"),)


NAMES = {
    "COUNT(*)": "count",
    "sum(a) FILTER (WHERE b > 1)": "sum",
    "MAX(a)::int": "max",
    "date_trunc('hour', t)": "date_trunc",
    "a + 1": "?column?",
    "a + b::int": "?column?",
    "1": "?column?",
    "'x'::text": "text",
    "1::int": "int4",
    "CAST(a AS BIGINT)": "a",
    "CAST(1 AS DOUBLE PRECISION)": "double",
    "(a)": "a",
    "((count(*)))": "count",
    "CASE WHEN a THEN f(b, c) END": "case",
    "a[1]": "a",
    "f(a) + g(b)": "?column?",
    '"Odd"(1)': "Odd",
    "-1": "?column?",
    "COUNT(*) AS ksql_col_0": "",
}


def test_names_of_expressions() -> None:
    tokens = next(statements.split(f"SELECT {', '.join(NAMES)} FROM t")).tokens
    expected = ["float8" if name == "double" else name for name in NAMES.values()]
    assert labels.labels(tokens) == expected


@pytest.mark.parametrize(
    ("query", "columns", "names"),
    [
        ("SELECT zone, COUNT(*), SUM(n) + 1 FROM r", ["ZONE", "KSQL_COL_0", "KSQL_COL_1"],
         ["zone", "count", "?column?"]),
        ("WITH a AS (SELECT MAX(x) FROM r) SELECT *, COUNT(*) FROM a", ["X", "Y", "KSQL_COL_0"],
         ["x", "y", "count"]),
        ("SELECT a.id, b.name AS other, b.name FROM a JOIN b ON a.id = b.id", ["A_ID", "OTHER", "B_NAME"],
         ["id", "other", "name"]),
        ("SELECT a_id, x AS b_x FROM r", ["A_ID", "B_X"], ["a_id", "b_x"]),
        ("SELECT KSQL_COL_0, MIN(x) AS m FROM r", ["KSQL_COL_0", "M"], ["ksql_col_0", "m"]),
        ("SELECT DISTINCT UCASE(zone) FROM r EMIT CHANGES", ["KSQL_COL_0"], ["ucase"]),
    ],
)  # fmt: skip
def test_columns_without_an_alias(port: Port, query: str, columns: list[str], names: list[str]) -> None:
    made = [ResultColumn.of(name, STRING) for name in columns]
    port.engine.stream = lambda: FakeStream("PULL", made, [Row(["x"] * len(made))])
    with port.connect() as connection:
        cursor = connection.execute(query)
        assert [column.name for column in cursor.description or ()] == names


def test_columns_of_a_select_without_a_table(catalog: Catalog) -> None:
    answer = ask(catalog, "SELECT now(), date_trunc('hour', now()), 1, 1::int, version(), now() AS n")
    assert answer.names == ("now", "date_trunc", "?column?", "int4", "version", "n")


# ---- statements that PostgreSQL has and KSQL does not ------------------------------------------------------


def test_prepare_and_execute(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("PREPARE one (int, text) AS SELECT * FROM rides WHERE i = $1 AND s = $2")
        connection.execute("EXECUTE one(-7, 'it''s')", prepare=False)
        assert port.engine.requests[-1].parameters == {"p1": -7, "p2": "it's"}
        cursor = connection.execute("EXECUTE one(NULL, 'x'::text)", prepare=True)
        assert port.engine.requests[-1].parameters == {"p1": None, "p2": "x"}
        assert len(cursor.fetchall()) == 2 and cursor.description is not None
        with pytest.raises(psycopg.errors.DuplicatePreparedStatement):
            connection.execute("PREPARE one AS SELECT 1")
        with pytest.raises(psycopg.errors.SyntaxError, match="takes 2 parameters"):
            connection.execute("EXECUTE one(1)")
        with pytest.raises(psycopg.errors.SyntaxError, match="takes 2 parameters"):
            connection.execute("EXECUTE one()")
        with pytest.raises(psycopg.errors.InvalidTextRepresentation, match=r"\$1 is wrong"):
            connection.execute("EXECUTE one('x', 'y')")
        with pytest.raises(psycopg.errors.SyntaxError, match=r"Unexpected '\+'"):
            connection.execute("EXECUTE one(1 + 1, 'y')")
        connection.execute("DEALLOCATE PREPARE one")
        for gone in ("EXECUTE one", "DEALLOCATE one"):
            with pytest.raises(psycopg.errors.InvalidSqlStatementName):
                connection.execute(gone)
        connection.execute("PREPARE two AS INSERT INTO rides (i) VALUES ($1)")
        assert connection.execute("EXECUTE two(1)").statusmessage == "INSERT 0 1"
        connection.execute("DISCARD ALL")
        with pytest.raises(psycopg.errors.InvalidSqlStatementName):
            connection.execute("EXECUTE two(1)")


def test_savepoints_are_accepted(port: Port) -> None:
    with port.connect(autocommit=False) as connection:
        connection.execute("INSERT INTO rides (i) VALUES (1)")
        connection.execute("SAVEPOINT a")
        connection.execute("DECLARE c CURSOR FOR SELECT * FROM rides")
        assert connection.execute("ROLLBACK TO SAVEPOINT a").statusmessage == "ROLLBACK"
        connection.execute("RELEASE a")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        assert len(connection.execute("FETCH FORWARD ALL FROM c").fetchall()) == 2
        with connection.transaction():
            connection.execute("INSERT INTO rides (i) VALUES (1)")
    with port.connect() as connection, pytest.raises(psycopg.errors.NoActiveSqlTransaction):
        connection.execute("SAVEPOINT a")


def test_a_cursor_with_hold_outlives_commit(port: Port) -> None:
    columns = [ResultColumn.of("S", STRING)]
    port.engine.stream = lambda: FakeStream("PULL", columns, [Row([str(n)]) for n in range(9)])
    with port.connect(autocommit=False) as connection:
        for name, words in (("plain", ""), ("other", "WITHOUT HOLD"), ("held", "WITH HOLD")):
            connection.execute(f"DECLARE {name} CURSOR {words} FOR SELECT * FROM rides")
        assert connection.execute("FETCH 2 FROM held").fetchall() == [("0",), ("1",)]
        connection.commit()
        for name in ("plain", "other"):
            with pytest.raises(psycopg.errors.InvalidCursorName):
                connection.execute(f"FETCH 1 FROM {name}")
            connection.rollback()  # of another transaction than the one that has declared it
        assert connection.execute("FETCH 1 FROM held").fetchall() == [("2",)]
        connection.execute("DECLARE later CURSOR WITH HOLD FOR SELECT * FROM rides")
        connection.rollback()
        with pytest.raises(psycopg.errors.InvalidCursorName):
            connection.execute("FETCH 1 FROM later")
        assert len(connection.execute("FETCH ALL FROM held").fetchall()) == 6
        connection.execute("CLOSE held")
    with port.connect() as connection:
        with psycopg.ServerCursor(connection, "mine", withhold=True) as cursor:
            assert cursor.execute("SELECT * FROM rides").fetchone() == ("0",)
            connection.execute("BEGIN")
            connection.execute("ROLLBACK")
            assert cursor.fetchone() == ("1",)
        connection.execute("DECLARE gone CURSOR WITH HOLD FOR SELECT * FROM rides")
        connection.execute("DISCARD ALL")
        with pytest.raises(psycopg.errors.InvalidCursorName):
            connection.execute("FETCH 1 FROM gone")


def test_discard_all_is_refused_in_a_transaction(port: Port) -> None:
    with port.connect() as connection, pytest.raises(psycopg.errors.ActiveSqlTransaction):
        connection.execute("BEGIN")
        connection.execute("DISCARD ALL")


def test_ksqls_own_rollback_and_abort_reach_the_engine(port: Port) -> None:
    with port.connect() as connection:
        for text in ("ROLLBACK zones TO VERSION 1", "ABORT EVOLUTION zones"):
            connection.execute(text)
            assert port.engine.requests[-1].text == f"{text};"


def test_words_of_cursors(port: Port) -> None:
    columns = [ResultColumn.of("S", STRING)]
    port.engine.stream = lambda: FakeStream("PULL", columns, [Row([str(n)]) for n in range(9)])
    with port.connect() as connection, connection.transaction():
        connection.execute("DECLARE c NO SCROLL CURSOR FOR SELECT * FROM rides")
        assert connection.execute("MOVE 2 IN c").statusmessage == "MOVE 2"
        assert connection.execute("FETCH NEXT FROM c").fetchall() == [("2",)]
        assert connection.execute("MOVE FORWARD 1 FROM c", prepare=True).statusmessage == "MOVE 1"
        assert connection.execute("FETCH FORWARD 2 FROM c").fetchall() == [("4",), ("5",)]
        assert connection.execute("MOVE ALL FROM c").statusmessage == "MOVE 3"
        assert connection.execute("FETCH c").fetchall() == []
        connection.execute("CLOSE ALL")
        with pytest.raises(psycopg.errors.InvalidCursorName):
            connection.execute("FETCH c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LISTEN news", "LISTEN is not supported: nothing notifies. SELECT … EMIT CHANGES"),
        ("NOTIFY news, 'x'", "NOTIFY is not supported. INSERT a row"),
        ("DECLARE c SCROLL CURSOR FOR SELECT 1", "SCROLL is not supported: a cursor goes forward only"),
        ("FETCH BACKWARD 1 FROM c", r"goes forward only: FETCH \[n | ALL\] FROM name"),
        ("MOVE -1 FROM c", "goes forward only: MOVE"),
        ("EXPLAIN ANALYZE SELECT * FROM rides", "EXPLAIN runs nothing: leave ANALYZE out"),
        ("EXPLAIN (COSTS OFF, FORMAT json) SELECT * FROM rides", "EXPLAIN has the format TEXT only"),
        ("INSERT INTO rides SELECT s FROM r RETURNING *", "INSERT … SELECT returns no rows here"),
        ("INSERT INTO rides (a) VALUES (1) ON CONFLICT (a) DO NOTHING", "Leave ON CONFLICT out"),
        ("SELECT * FROM rides FOR UPDATE", "No row can be locked"),
        ("SELECT * FROM rides FOR NO KEY UPDATE", "No row can be locked"),
        ("SELECT * FROM rides WHERE s ~ 'x'", "~ is not supported: use REGEXP_EXTRACT"),
        ("SELECT * FROM rides WHERE s !~* 'x'", r"!~\* is not supported"),
        ("SELECT pg_notify('news', 'x')", "NOTIFY is not supported"),
        ("CREATE TEMP TABLE t (a INT)", "TEMP is not supported: a table is a topic"),
        ("CREATE EXTENSION IF NOT EXISTS hstore", "There are no extensions"),
        ("GRANT SELECT ON rides TO ada", r"Roles are not set by statements.*ksql\.server\.auth\.users\.file"),
        ("REVOKE ALL ON rides FROM ada", "Roles are not set by statements"),
        ("DO $$ BEGIN END $$", "DO is not supported"),
        ("CALL f()", "CALL is not supported"),
        ("SET ROLE reader", "Connect as another user"),
        ("SET SESSION AUTHORIZATION reader", "Connect as another user"),
        ("PREPARE TRANSACTION 'x'", "two phases"),
        ("ROLLBACK PREPARED 'x'", "two phases"),
    ],
)
def test_what_is_refused_with_words(port: Port, text: str, message: str) -> None:
    with port.connect() as connection, pytest.raises(psycopg.errors.FeatureNotSupported, match=message):
        connection.execute(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM shop.rides",
        "SELECT * FROM rides JOIN ksql.shop.zones ON true",
        "SET search_path TO shop",
        "SET search_path = 'shop'",
    ],
)
def test_there_is_one_schema(port: Port, text: str) -> None:
    with port.connect() as connection:
        with pytest.raises(psycopg.errors.InvalidSchemaName, match=r'There is no schema "shop".*shop_orders'):
            connection.execute(text)
        for path in ("public", '"$user", public', "shop, public", "''", "pg_catalog"):
            connection.execute(f"SET search_path TO {path}")


def test_the_place_of_an_error_in_explain(port: Port) -> None:
    with port.connect() as connection, pytest.raises(psycopg.errors.UndefinedTable) as caught:
        connection.execute("EXPLAIN SELECT *\n  FROM NOWHERE")
    assert caught.value.diag.statement_position == "25"


def test_settings(port: Port) -> None:
    with port.connect() as connection:

        def one(query: str) -> Any:
            return (connection.execute(query).fetchone() or [None])[0]

        connection.execute("SET TIME ZONE 'Europe/Zurich'")
        assert one("SELECT current_setting('TimeZone')") == "Europe/Zurich"
        assert connection.info.parameter_status("TimeZone") == "Europe/Zurich"
        connection.execute("SET LOCAL TIME ZONE DEFAULT")
        assert one("SHOW TIME ZONE") == "UTC" == connection.info.parameter_status("TimeZone")
        assert one("SELECT set_config('application_name', 'me', false)") == "me"
        assert one("SHOW application_name") == "me"
        connection.execute("SET 'auto.offset.reset' = 'earliest'")
        assert one("SELECT current_setting('auto.offset.reset')") == "earliest"
        with pytest.raises(psycopg.errors.UndefinedObject, match=r'parameter "no\.such"'):
            connection.execute("SELECT current_setting('no.such')")
        assert one("SHOW ksql.sql.dialect") == "postgres"
        connection.execute("SET ksql.sql.dialect = 'ksqldb'")
        assert one("SHOW ksql.sql.dialect") == "ksqldb"
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="dialect"):
            connection.execute("SET ksql.sql.dialect = 'postgress'")
        with pytest.raises(psycopg.errors.UndefinedObject, match=r"Did you mean 'ksql\.sql\.dialect'"):
            connection.execute("SET ksql.sql.dialct = 'postgres'")
        connection.execute("RESET ksql.sql.dialect")
        assert one("SHOW ksql.sql.dialect") == "postgres"
        assert one("SELECT current_setting('no.such', true)") is None
        connection.execute("RESET ALL")
        assert one("SELECT current_setting('application_name', true)") is None


def test_sleep_is_cancelled_and_holds_nothing_up(port: Port) -> None:
    with port.connect() as connection, port.connect() as other:
        assert connection.execute("SELECT pg_sleep(0.01), 1 AS n").fetchall() == [("", 1)]
        sleeping = [port.connect() for _ in range(4)]
        with ThreadPoolExecutor(len(sleeping)) as threads:
            asleep = [threads.submit(one.execute, "SELECT pg_sleep(600)") for one in sleeping]
            assert other.execute("SELECT 2").fetchone() == (2,)
            for one, sleep in zip(sleeping, asleep, strict=True):
                while not sleep.done():  # it may not have begun
                    one.cancel_safe(timeout=SOON_S)
                    wait((sleep,), 0.1)
                assert isinstance(sleep.exception(), psycopg.errors.QueryCanceled)
                one.close()
        connection.execute("SET statement_timeout = 10")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute("SELECT pg_sleep(600)")


def test_nulls_are_those_of_sql_unless_the_client_says_otherwise(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("SELECT * FROM rides WHERE i = %s", (None,))
        assert port.engine.requests[-1].properties["ksql.sql.nulls"] == "ansi"
        connection.execute("CREATE STREAM copy AS SELECT * FROM rides")
        assert port.engine.requests[-1].properties == {}
    with port.connect(options="-c ksql.sql.nulls=ksqldb") as connection:
        connection.execute("SELECT * FROM rides WHERE i = 1")
        assert port.engine.requests[-1].properties["ksql.sql.nulls"] == "ksqldb"


def test_options_of_explain_that_change_nothing(port: Port) -> None:
    with port.connect() as connection:
        for options in ("VERBOSE", "(COSTS OFF, FORMAT text)", ""):
            connection.execute(f"EXPLAIN {options} SELECT * FROM rides")
            assert port.engine.requests[-1].text.split() == ["EXPLAIN", "SELECT", "*", "FROM", "rides;"]


@pytest.mark.parametrize(
    ("written", "ksql"),
    [
        ("s ~~ 'a%' AND s !~~ 'b'", "s LIKE 'a%' AND s NOT LIKE 'b'"),
        ("s ~~* 'A%' OR (s !~~* 'b')", "LCASE(s) LIKE LCASE('A%') OR (LCASE(s) NOT LIKE LCASE('b'))"),
        ("s = 'a' COLLATE \"C\" AND d > '1'", "s = 'a' AND d > '1'"),
        ("s COLLATE pg_catalog.\"default\" = 'a'", "s = 'a'"),
        (r"s = E'a\\b\tc' AND raw = E'\\x6869'", "s = 'a\\b\tc' AND raw = '\\x6869'"),
        (r"raw = '\x6869'::bytea", "raw = CAST('aGk=' AS BYTES)"),
        ("day = DATE '2024-02-29'", "day = CAST('2024-02-29' AS DATE)"),
        ("ts < TIMESTAMP WITH TIME ZONE '2024-02-29 12:00+02'",
         "ts < CAST('2024-02-29T10:00:00.000' AS TIMESTAMPTZ)"),
        ("ts = '2024-02-29 12:00'::timestamp", "ts = CAST('2024-02-29T12:00:00.000' AS TIMESTAMP)"),
        ("tod = TIME '12:00'", "tod = CAST('12:00' AS TIME)"),
        ("i = ANY ('{1,2}'::integer[])", "i IN (CAST(ARRAY[1, 2] AS ARRAY<INTEGER>))"),
        ("i = ANY ('{1,2}') OR i = 3", "i IN ('1', '2') OR i = 3"),
        ("a = '{\"x y\",NULL}'::text[]", "a = CAST(ARRAY['x y', NULL] AS ARRAY<VARCHAR>)"),
        ("i = '1'::int4 AND d = '1.5'::numeric", "i = 1 AND d = 1.5"),
        ("date = 'x' AND e = 'y'", "date = 'x' AND e = 'y'"),
    ],
)  # fmt: skip
def test_literals_and_operators_of_postgresql(written: str, ksql: str) -> None:
    assert statement_of(f"SELECT * FROM rides WHERE {written}").text == f"SELECT * FROM rides WHERE {ksql};"


def test_a_limit_with_a_type() -> None:
    assert statement_of("SELECT a FROM r LIMIT 1::bigint OFFSET 2::bigint").text == (
        "SELECT a FROM r LIMIT 1 OFFSET 2;"
    )


def test_a_table_as_a_query(port: Port) -> None:
    assert statement_of("TABLE public.rides").text == "SELECT * FROM        rides;"
    with port.connect() as connection:
        assert len(connection.execute("TABLE rides").fetchall()) == 2


def test_a_moment_of_a_table_is_no_literal() -> None:
    text = "SELECT * FROM sales AS OF TIMESTAMP '2026-01-31T12:00'"
    assert statement_of(text).text == f"{text};"


def test_texts_without_a_type_where_rows_are_read_and_changed(port: Port) -> None:
    with port.connect() as connection:
        for text, value in (
            ("SELECT * FROM rides WHERE i = '1'", "untyped"),
            ("INSERT INTO rides (a) VALUES ('1')", "untyped"),
            ("UPDATE zones SET a = '1'", "untyped"),
            ("EXPLAIN VERBOSE SELECT NULL FROM rides", "untyped"),
            ("EXPLAIN CREATE STREAM copy AS SELECT * FROM rides", None),
            ("INSERT INTO rides SELECT s FROM r EMIT CHANGES", None),
            ("CREATE STREAM copy AS SELECT * FROM rides", None),
        ):
            connection.execute(text)
            assert port.engine.requests[-1].properties.get("ksql.sql.literals") == value, text


def test_comments_reach_the_engine(port: Port) -> None:
    with port.connect() as connection:
        done = connection.execute("COMMENT ON COLUMN public.zones.zone IS 'where it is'")
        assert done.statusmessage == "COMMENT"
        assert port.engine.requests[-1].text.split() == (
            ["COMMENT", "ON", "COLUMN", "zones.zone", "IS", "'where", "it", "is';"]
        )


def test_show_all_lists_settings(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("SET 'auto.offset.reset' = 'earliest'")
        listed = dict(connection.execute("SHOW ALL").fetchall())
    assert listed["timezone"] == "UTC"
    assert listed["auto.offset.reset"] == "earliest"


def test_truncate_as_postgres_fdw_writes_it(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("TRUNCATE public.zones CONTINUE IDENTITY RESTRICT")
        assert port.engine.requests[-1].text.split() == ["TRUNCATE", "zones;"]


def test_types_as_drivers_look_them_up(catalog: Catalog) -> None:
    answer = ask(
        catalog,
        """SELECT oid, typname, typreceive, typbasetype, typarray FROM pg_catalog.pg_type
           WHERE (typreceive != 0 OR typsend != 0) AND typtype != 'r' AND typreceive::TEXT != 'array_recv'""",
    )
    types = {row[1]: (row[0], *row[2:]) for row in answer.rows}
    assert types["int4"] == (23, "int4recv", 0, 1007)
    assert types["date"] == (1082, "date_recv", 0, 1182)
    assert "_int4" not in types


def test_a_name_as_a_parameter_becomes_an_oid(catalog: Catalog) -> None:
    assert ask(catalog, "SELECT 'int4'::text::regtype::oid").rows == ((23,),)
    assert ask(catalog, """SELECT '"pg_catalog" . "int4"'::regtype::oid""").rows == ((23,),)
    assert ask(catalog, "SELECT ''::text::regtype::oid").types == (INT4,)


def test_schemas_in_the_path(catalog: Catalog) -> None:
    assert ask(catalog, "SELECT current_schemas(false), current_schemas(true)").rows == (
        (["public"], ["pg_catalog", "public"]),
    )
    query = "SELECT 'public' = ANY(current_schemas(true)), array_to_string(current_schemas(true), '|')"
    assert ask(catalog, query).rows == ((1, "pg_catalog|public"),)


@pytest.mark.parametrize(
    ("query", "types", "row"),
    [
        ("SELECT typinput, typoutput, typreceive, typsend FROM pg_type WHERE typname = 'numeric'",
         [TEXT] * 4, ("numeric_in", "numeric_out", "numeric_recv", "numeric_send")),
        ("SELECT has_table_privilege('pg_class', 'select'), pg_is_in_recovery()", [BOOL] * 2, (1, 0)),
        ("SELECT 'pg_class'::regclass::text, 'int4'::regtype::text, 25::regtype::text, 1259::regclass::text",
         [TEXT] * 4, ("pg_class", "integer", "text", "pg_class")),
        ("SELECT quote_ident('a b'), quote_ident('ab'), quote_ident('select'), quote_ident(NULL)", [TEXT] * 4,
         ('"a b"', "ab", '"select"', None)),
        ("SELECT format('%2$s|%1$-3s|%1$3s|%I|%L|%%', 'a', 'B', NULL), pg_size_pretty(123456789::bigint)",
         [TEXT] * 2, ('B|a  |  a|"B"|NULL|%', "118 MB")),
        ("SELECT t.typname, x.m, k FROM pg_type t LEFT JOIN LATERAL (SELECT proname, 1 FROM pg_proc p"
         " WHERE p.oid = t.typreceive LIMIT 1) x (m, k) ON true WHERE typname = 'bool'", [TEXT, TEXT, INT4],
         ("bool", "boolrecv", 1)),
        ("SELECT n.oid, x.n FROM pg_namespace n, LATERAL (SELECT count(*) AS n FROM pg_attribute a"
         " WHERE a.attrelid = n.oid) x WHERE nspname = 'public'", [INT4, INT4], (2200, 0)),
        ("SELECT relname, oid, relhasindex, count(*), 1, relkind = 'r', relname::text, oid::bigint"
         " FROM pg_class GROUP BY 1, 2, 3", [TEXT, INT4, BOOL, INT8, INT4, BOOL, TEXT, INT8], None),
        ("SELECT nullif(typname, 'int4') FROM pg_type WHERE typname IN ('int4', 'int8') ORDER BY 1 DESC"
         " LIMIT 1", [TEXT], (None,)),
    ],
)  # fmt: skip
def test_what_else_tools_ask_of_the_catalog(
    catalog: Catalog, query: str, types: list[PgType], row: tuple[Any, ...] | None
) -> None:
    answer = ask(catalog, query)
    assert (list(answer.types), answer.rows) == (types, () if row is None else (row,))


def test_functions_of_the_catalog() -> None:
    more = ArgumentInfo(name="more", type="INTEGER", description="", is_variadic=True)
    signature = replace(UCASE.functions[0], arguments=(*UCASE.functions[0].arguments, more))
    listed = [
        replace(UCASE, name=name, type=type_, functions=(signature,))
        for name, type_ in (("F", "SCALAR"), ("G", "TABLE"), ("H", "AGGREGATE"))
    ]
    query = """SELECT p.proname, pg_catalog.pg_get_function_result(p.oid),
          pg_catalog.pg_get_function_arguments(p.oid), p.prokind, obj_description(p.oid, 'pg_proc')
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
        WHERE pg_catalog.pg_function_is_visible(p.oid) AND n.nspname <> 'pg_catalog' ORDER BY 1"""
    arguments = "str string, VARIADIC more integer"
    assert ask(Catalog([], listed), query).rows == (
        ("f", "string", arguments, "f", "Upper case."),
        ("g", "SETOF string", arguments, "f", "Upper case."),
        ("h", "string", arguments, "a", "Upper case."),
    )


def test_indexes_of_a_table() -> None:
    indexes = (
        IndexInfo("ZONES_ZONE_IDX", "ZONES", ("ZONE", "FARE_AMOUNT"), ready=True),
        IndexInfo("by city", "ZONES", ("A->CITY",), ready=False),
    )
    of_zones = Catalog([replace(described("ZONES", "TABLE"), indexes=indexes), described("RIDES", "STREAM")])
    rows = ask(of_zones, "SELECT tablename, indexname, indexdef FROM pg_indexes ORDER BY indexname").rows
    assert rows == (
        ("zones", "BY CITY", 'CREATE INDEX "BY CITY" ON public.zones USING btree (a->city)'),
        ("zones", "zones_pkey", "CREATE UNIQUE INDEX zones_pkey ON public.zones USING btree (vendorid)"),
        (
            "zones",
            "zones_zone_idx",
            "CREATE INDEX zones_zone_idx ON public.zones USING btree (zone, fare_amount)",
        ),
    )
    keys = (
        "SELECT c.relname, i.indkey, i.indisunique, pg_get_indexdef(i.indexrelid, 1, TRUE) FROM pg_index i "
    )
    keys += "JOIN pg_class c ON c.oid = i.indexrelid ORDER BY 1"
    assert [tuple(row) for row in ask(of_zones, keys).rows] == [
        ("BY CITY", "0", False, "a->city"),
        ("zones_pkey", "1", True, "vendorid"),
        ("zones_zone_idx", "3 2", False, "zone"),
    ]


def test_comments() -> None:
    zones = described("ZONES", "TABLE")
    fields = (replace(zones.fields[0], comment="who drives"), *zones.fields[1:])
    of_zones = Catalog(
        [described("RIDES", "STREAM"), replace(zones, fields=fields, comment="where they drive")]
    )
    query = "SELECT obj_description(c.oid, 'pg_class'), col_description(c.oid, 1), col_description(c.oid, 2) "
    assert ask(of_zones, f"{query} FROM pg_class c WHERE relname = 'zones'").rows == (
        ("where they drive", "who drives", None),
    )
    query = "SELECT description FROM pg_description WHERE classoid = 'pg_catalog.pg_class'::regclass"
    assert ask(of_zones, f"{query} AND objsubid = 0").rows == (("where they drive",),)


@pytest.mark.parametrize("binary", [False, True])
def test_an_interval_is_one(port: Port, binary: bool) -> None:
    kind = Struct((Field("PG_MONTHS", INTEGER), Field("PG_DAYS", INTEGER), Field("PG_MILLISECONDS", BIGINT)))
    value = dict(zip(INTERVAL_FIELDS, (0, -1, 3_661_500), strict=True))
    columns = [ResultColumn.of("AGE", kind)]
    port.engine.stream = lambda: FakeStream("PULL", columns, [Row([value]), Row([None])])
    with port.connect() as connection, connection.cursor(binary=binary) as cursor:
        rows = cursor.execute("SELECT age(ts) FROM rides").fetchall()
        assert cursor.description is not None and cursor.description[0].type_code == 1186
    assert rows == [(datetime.timedelta(days=-1, seconds=3661, milliseconds=500),), (None,)]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((0, 0, 0), "00:00:00"),
        ((1, 1, 0), "1 mon 1 day"),
        ((-14, -2, -3_723_004), "-1 years -2 mons -2 days -01:02:03.004"),
        ((0, -1, 60_000), "-1 days +00:01:00"),
        ((0, 0, 100 * 3_600_000), "100:00:00"),
    ],
)
def test_the_text_of_an_interval(parts: tuple[int, ...], text: str) -> None:
    assert values.INTERVAL.text(dict(zip(INTERVAL_FIELDS, parts, strict=True))).decode() == text
