"""PostgreSQL's protocol, as psycopg, asyncpg, SQLAlchemy and psql (where it is) use it."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import datetime
import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asyncpg
import psutil
import psycopg
import psycopg.types.numeric
import psycopg.types.string
import pytest
import sqlalchemy
import sqlglot

from ksql_spark.authorization import ALL_RIGHTS, Rights
from ksql_spark.config import Config
from ksql_spark.engine import ResultColumn, Row
from ksql_spark.entities.schemas import FieldInfo
from ksql_spark.errors import KsqlError
from ksql_spark.runtime.reading.results import Rows
from ksql_spark.server.postgres.catalog import catalog
from ksql_spark.server.postgres.catalog import process as catalog_process
from ksql_spark.server.postgres.catalog.catalog import Catalog, Session
from ksql_spark.server.postgres.session import statements
from ksql_spark.server.postgres.session.errors import error_fields
from ksql_spark.server.postgres.session.statements import Kind, statement_of
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import CatalogError
from ksql_spark.server.security.passwords import hash_password
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
)
from ksql_spark.types import (
    Decimal as DecimalType,
)
from tests.certificates import make
from tests.server import fake_engine
from tests.server.fake_engine import FakeStream
from tests.server.postgres.port import CATALOGS, COLUMNS, SOON_S, VALUES, PgEngine, Port

EXPECTED = (
    True, -7, 2**62, -1.5, "it's \t\\ \n", datetime.date(1969, 12, 31), datetime.time(23, 59, 59, 999_000),
    datetime.datetime(1999, 12, 31, 23, 59, 59, 999_000), Decimal("-12345.0600"), b"Hi", ["a", 'b"c\\', None],
    [1, -2], {"NAME": "Ann"}, "x",
)  # fmt: skip
#: what requests of the port say about NULL
MEANING = {
    "ksql.sql.dialect": "postgres",
    "ksql.sql.literals": "untyped",
    "ksql.sql.nulls": "ansi",
}


atexit.register(catalog_process.CatalogProcesses.close, CATALOGS)


@pytest.mark.parametrize("binary", [False, True])
def test_every_type_and_null(port: Port, binary: bool) -> None:
    with port.connect() as connection, connection.cursor(binary=binary) as cursor:
        cursor.execute("SELECT * FROM rides")
        assert [column.name for column in cursor.description or ()][-2:] == ["who", "Mixed"]
        assert cursor.fetchall() == [EXPECTED, (None,) * len(COLUMNS)]
        assert cursor.statusmessage == "SELECT 2"
    assert port.engine.requests[-1].rights == ALL_RIGHTS


#: a DATE and a TIMESTAMP of a row, PostgreSQL's text, and the numbers of the binary form
FAR = [
    ("+10000-01-01", "+10000-01-01T00:00:00.001", b"10000-01-01", b"10000-01-01 00:00:00.001",
     2_921_940, 252_455_616_000_001_000),
    ("0000-02-29", "0000-02-29T23:59:59.999", b"0001-02-29 BC", b"0001-02-29 23:59:59.999 BC",
     -730_426, -63_108_720_000_001_000),
    ("-0043-03-15", "-0043-03-15T10:00:00.000", b"0044-03-15 BC", b"0044-03-15 10:00:00 BC",
     -746_117, -64_464_472_800_000_000),
    ("-4713-11-24", "-4713-11-24T00:00:00.000", b"4714-11-24 BC", b"4714-11-24 00:00:00 BC",
     -2_451_545, -211_813_488_000_000_000),
    ("-4713-11-23", "-4713-11-23T23:59:59.999", b"-infinity", b"-infinity", -(2**31), -(2**63)),
    ("-5877641-06-23", "-292275055-05-16T16:47:04.192", b"-infinity", b"-infinity", -(2**31), -(2**63)),
    ("+5874897-12-31", "+294276-12-31T23:59:59.999", b"5874897-12-31", b"294276-12-31 23:59:59.999",
     2_145_031_948, 9_223_371_331_199_999_000),
    ("+5881580-07-11", "+294277-01-01T00:00:00.000", b"infinity", b"infinity", 2**31 - 1, 2**63 - 1),
]  # fmt: skip


@pytest.mark.parametrize(("date", "time", "date_text", "time_text", "days", "microseconds"), FAR)
def test_days_and_times_of_all_years(
    date: str, time: str, date_text: bytes, time_text: bytes, days: int, microseconds: int
) -> None:
    assert (values.DATE.text(date), values.TIMESTAMP.text(time)) == (date_text, time_text)
    binary = struct.pack("!i", days), struct.pack("!q", microseconds)
    assert (values.DATE.binary(date), values.TIMESTAMP.binary(time)) == binary
    array = values.array_of(values.TIMESTAMP)
    assert array.text([time, None]) == b"{%b,NULL}" % (
        b'"%b"' % time_text if b" " in time_text else time_text
    )
    assert array.binary([time]).endswith(binary[1])
    for type_, raw, shown in ((values.DATE, binary[0], date), (values.TIMESTAMP, binary[1], time)):
        text = type_.text(shown)
        if b"infinity" in text:
            for given, is_binary in ((raw, True), (text, False)):
                with pytest.raises(ValueError, match="infinity"):
                    values.parameter(given, type_.oid, is_binary)
        else:
            assert values.parameter(text, type_.oid, False) == shown
            assert values.parameter(raw, type_.oid, True) == shown


@pytest.mark.parametrize(
    ("text", "oid"),
    [
        ("0044-02-30 BC", 1082),
        ("0000-01-01 BC", 1082),
        ("0044-03-15 25:00:00 BC", 1114),
        ("12345678901-01-01", 1082),
        ("x BC", 1114),
    ],
)
def test_what_is_no_day_is_left_to_ksql(text: str, oid: int) -> None:
    assert values.parameter(text.encode(), oid, False) == text


def test_a_far_day_does_not_fail_the_other_rows(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [
        ResultColumn.of("D", DATE),
        ResultColumn.of("TS", TIMESTAMP),
        ResultColumn.of("A", Array(DATE)),
    ]
    monkeypatch.setattr(fake_engine, "FIELDS", tuple(FieldInfo(c.name, c.schema) for c in columns))
    rows = [Row([date, time, [date]]) for date, time, *_ in FAR] + [Row(["2026-03-01", None, None])]
    port.engine.stream = lambda: FakeStream("PULL", columns, list(rows))
    texts = [(d.decode(), t.decode()) for _, _, d, t, _, _ in FAR] + [("2026-03-01", None)]
    with port.connect() as connection, connection.cursor() as cursor:
        with cursor.copy("COPY (SELECT * FROM rides) TO STDOUT") as copied:
            lines = b"".join(map(bytes, copied)).decode().splitlines()
        assert [tuple(line.split("\t")[:2]) for line in lines] == [(d, t or "\\N") for d, t in texts]
        for name in ("date", "timestamp"):  # psycopg's own loaders know the years 1 to 9999
            cursor.adapters.register_loader(name, psycopg.types.string.TextLoader)
        cursor.execute("SELECT * FROM rides")
        with pytest.raises(psycopg.DataError):
            connection.execute("SELECT * FROM rides").fetchall()
        assert [row[:2] for row in cursor.execute("SELECT d, ts FROM rides").fetchall()] == texts
        assert cursor.execute("SELECT '0044-03-15 BC'::date AS d").fetchone() == ("0044-03-15 BC",)
        for given, kept in (("0044-03-15 BC", "-0043-03-15"), ("10000-01-01", "+10000-01-01")):
            cursor.execute("SELECT * FROM rides WHERE d = %s::date", (given,))
            assert port.engine.requests[-1].parameters == {"p1": kept}
        with pytest.raises(psycopg.DataError, match=r"\$1 is wrong: KSQL has no infinity"):
            cursor.execute("SELECT * FROM rides WHERE d = %s::date", ("infinity",))

    async def read() -> list[Any]:
        connection = await asyncpg.connect(host="127.0.0.1", port=port.port, user="ada", database="ksql")
        try:
            for name in ("date", "timestamp"):
                await connection.set_type_codec(
                    name, schema="pg_catalog", format="text", encoder=str, decoder=str
                )
            return [tuple(row)[:2] for row in await connection.fetch("SELECT * FROM rides")]
        finally:
            await connection.close()

    assert asyncio.run(read()) == texts


def test_asyncpg_reads_in_binary(port: Port) -> None:
    async def read() -> list[Any]:
        connection = await asyncpg.connect(host="127.0.0.1", port=port.port, user="ada", database="ksql")
        try:
            assert await connection.fetchval("SELECT 1") == 1
            tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1"
            return [row[0] for row in await connection.fetch(tables, "public")]
        finally:
            await connection.close()

    assert asyncio.run(read()) == ["rides", "zones"]


@pytest.mark.parametrize("is_current", [True, False])
def test_a_lookup_needs_no_query(port: Port, monkeypatch: pytest.MonkeyPatch, is_current: bool) -> None:
    answer = SimpleNamespace(
        columns=COLUMNS,
        rows=lambda: [VALUES],
        when_current=None if is_current else lambda reached: reached(None),
    )
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(port.engine, "look_up", lambda *request: asked.append(request) or answer)
    with port.connect() as connection:
        assert connection.execute("SELECT * FROM rides WHERE i = %s", (7,)).fetchall() == [EXPECTED]
    assert asked == [("SELECT * FROM rides WHERE i = :p1;", MEANING, {"p1": 7}, None, ALL_RIGHTS)]
    assert port.engine.requests == []


def test_asyncpg_reads_arrays(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    types = [BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, DATE, TIME, TIMESTAMP, DecimalType(12, 4), BYTES]
    columns = [ResultColumn.of(f"C{at}", Array(type_)) for at, type_ in enumerate(types)]
    fields = tuple(FieldInfo(column.name, column.schema) for column in columns)
    monkeypatch.setattr(fake_engine, "FIELDS", fields)
    row = Row([[value, None] for value in VALUES[: len(types)]])
    port.engine.stream = lambda: FakeStream("PULL", columns, [row])

    async def read() -> list[Any]:
        connection = await asyncpg.connect(host="127.0.0.1", port=port.port, user="ada", database="ksql")
        try:
            return list(await connection.fetchrow("SELECT * FROM rides"))
        finally:
            await connection.close()

    assert asyncio.run(read()) == [[value, None] for value in EXPECTED[:10]]


@pytest.mark.parametrize("is_binary", [False, True])
def test_arrays_are_parameters(port: Port, is_binary: bool) -> None:
    place = "%b" if is_binary else "%t"
    texts = ["a", 'b "c"\\', "NULL", "", None, "d,{}"]
    with port.connect() as connection:
        connection.execute(f"SELECT * FROM rides WHERE zone = ANY({place})", (texts,))
        assert port.engine.requests[-1].parameters == {"p1": texts}
        connection.execute("INSERT INTO rides (a) VALUES (%s::text[])", (texts,))
        assert port.engine.requests[-1].parameters == {"p1": texts}
        for numbers in ([1, -2], [2**40], [0.5, 1e300], [True, None]):
            connection.execute(f"SELECT * FROM rides WHERE r.x = ANY({place}) AND y", (numbers,))
            request = port.engine.requests[-1]
            assert request.text == "SELECT * FROM rides WHERE r.x IN(:p1) AND y;"
            assert request.parameters == {"p1": numbers}


def test_arrays_are_described_before_they_have_values(port: Port) -> None:
    async def prepared() -> None:
        connection = await asyncpg.connect(host="127.0.0.1", port=port.port, user="ada", database="ksql")
        try:
            await connection.prepare("SELECT * FROM rides WHERE zone = ANY ($1) AND vendorid <> ALL ($2)")
        finally:
            await connection.close()

    asyncio.run(prepared())
    (explained,) = [one for one in port.engine.requests if one.text.startswith("EXPLAIN ")]
    assert explained.parameters == {"p1": [""], "p2": [0]}


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("2020-02-02 +00", values.DATE, "2020-02-02"),
        ("0044-03-15 BC +01:30", values.DATE, "-0043-03-15"),
        ("2020-02-02", values.DATE, "2020-02-02"),
        ("01:02:03+00", values.TIME, "01:02:03"),
        ("01:02:03.5-0130", values.TIME, "01:02:03.5"),
    ],
)
def test_dates_and_times_of_day_have_no_zone(text: str, type_: values.PgType, value: str) -> None:
    assert values.parameter(text.encode(), type_.oid, False) == value


def test_a_time_of_day_with_a_zone_is_read_in_binary(port: Port) -> None:
    with port.connect() as connection:
        time = datetime.time(1, 2, 3, tzinfo=datetime.UTC)
        for place in ("%b", "%t"):
            connection.execute(f"SELECT * FROM rides WHERE t = {place}", (time,))
            assert port.engine.requests[-1].parameters == {"p1": "01:02:03"}


def test_properties_are_shown(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("SET 'auto.offset.reset' = 'earliest'")
        assert connection.execute("SHOW auto.offset.reset").fetchone() == ("earliest",)


def test_windowed_tables_have_the_bounds_of_windows(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    made = fake_engine.described
    monkeypatch.setattr(fake_engine, "described", lambda *of: replace(made(*of), window_type="TUMBLING"))
    url = f"postgresql+psycopg://ada@127.0.0.1:{port.port}/ksql"
    inspector = sqlalchemy.inspect(sqlalchemy.create_engine(url))
    key = inspector.get_pk_constraint("zones")["constrained_columns"]
    assert key == ["vendorid", "windowstart", "windowend"]
    assert [column["name"] for column in inspector.get_columns("zones")] == [*key, "fare_amount", "zone"]


def test_parameters_have_the_types_of_their_casts(port: Port) -> None:
    async def read() -> list[Any]:
        connection = await asyncpg.connect(host="127.0.0.1", port=port.port, user="ada", database="ksql")
        try:
            prepared = await connection.prepare("SELECT typname FROM pg_type WHERE oid = ANY($1::oid[])")
            return sorted(row[0] for row in await prepared.fetch([16, 1007]))
        finally:
            await connection.close()

    assert asyncio.run(read()) == ["_int4", "bool"]


def test_parameters_have_the_types_of_their_columns(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("SELECT * FROM rides WHERE vendorid = %s AND zone IN (%s, %s)", (7, "a", "it's"))
        request = port.engine.requests[-1]
        assert request.text == "SELECT * FROM rides WHERE vendorid = :p1 AND zone IN (:p2, :p3);"
        assert request.parameters == {"p1": 7, "p2": "a", "p3": "it's"}
        # its type is not said by the client
        connection.execute("SELECT * FROM rides WHERE vendorid = %s", ("7",))
        assert port.engine.requests[-1].parameters == {"p1": 7}
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            connection.execute("SELECT * FROM rides WHERE vendorid = %s", ("seven",))


def test_statements_and_what_they_say(port: Port) -> None:
    said: list[str | None] = []
    with port.connect() as connection:
        connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
        assert (
            connection.execute("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 's')").statusmessage
            == "CREATE STREAM"
        )
        assert said == ["Stream created"]
        rows = connection.execute("SHOW STREAMS")
        assert [column.name for column in rows.description or ()][:2] == ["type", "name"]
        assert rows.fetchone()[:2] == ("STREAM", "RIDES")  # type: ignore[index]
        assert connection.execute("EXPLAIN SELECT * FROM rides").fetchall() == [("a plan",)]


def test_changed_rows_are_counted(port: Port) -> None:
    said: list[str | None] = []
    with port.connect() as connection:
        connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
        cursor = connection.execute("UPDATE rides SET zone = %s WHERE vendorid = %s", ("a", "7"))
        assert (cursor.statusmessage, cursor.rowcount) == ("UPDATE 2", 2)
        assert port.engine.requests[-1].parameters == {"p1": "a", "p2": 7}
        assert connection.execute("DELETE FROM rides WHERE vendorid = 7").statusmessage == "DELETE 2"
        assert connection.execute("TRUNCATE rides").statusmessage == "TRUNCATE TABLE"
        assert said == []


def test_properties_of_the_connection(port: Port) -> None:
    with port.connect(options="-c auto.offset.reset=earliest") as connection:
        connection.execute("SELECT * FROM rides EMIT CHANGES LIMIT 1")
        assert port.engine.requests[-1].properties == MEANING | {"auto.offset.reset": "earliest"}
        connection.execute("SET application_name = 'me'")
        assert connection.execute("SHOW application_name").fetchone() == ("me",)
        connection.execute("UNSET 'auto.offset.reset'")
        connection.execute("SELECT * FROM rides")
        assert port.engine.requests[-1].properties == MEANING


def test_a_property_that_is_refused_is_not_kept(port: Port) -> None:
    with port.connect() as connection:
        with pytest.raises(psycopg.Error, match=r"no\.such\.thing"):
            connection.execute("SET 'no.such.thing' = '1'")
        connection.execute("SELECT * FROM rides")
        assert port.engine.requests[-1].properties == MEANING


def test_an_error_has_its_place_and_the_connection_goes_on(port: Port) -> None:
    with port.connect() as connection:
        with pytest.raises(psycopg.errors.UndefinedTable) as caught:
            connection.execute("SELECT *\n  FROM NOWHERE")
        assert caught.value.diag.statement_position == "17"
        assert caught.value.diag.message_primary == "Source does not exist: NOWHERE."
        with pytest.raises(psycopg.errors.InternalError_, match="server's log"):
            connection.execute("CREATE STREAM BOOM")
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_push_query_streams_and_is_cancelled(port: Port) -> None:
    engine = port.engine
    columns = [ResultColumn.of("A", BIGINT)]
    engine.stream = lambda: FakeStream("PUSH", columns, [Row([1]), Row([2])], ends=False)
    with port.connect() as connection:
        rows = connection.cursor().stream("SELECT a FROM rides EMIT CHANGES")
        assert [next(rows), next(rows)] == [(1,), (2,)]
        connection.cancel_safe()
        with pytest.raises(psycopg.errors.QueryCanceled):
            next(rows)
        assert engine.streams[-1].closed.wait(SOON_S)
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_leaves_ends_its_query(port: Port) -> None:
    engine = port.engine
    engine.stream = lambda: FakeStream("PUSH", [ResultColumn.of("A", BIGINT)], [Row([1])], ends=False)
    connection = port.connect()
    rows = connection.cursor().stream("SELECT a FROM rides EMIT CHANGES")
    assert next(rows) == (1,)
    os.close(connection.fileno())
    assert engine.streams[-1].closed.wait(SOON_S)


class Positioned(FakeStream):
    """A push query whose token is the number of rows that it has given."""

    given = 0

    def read(self, timeout_s: float) -> Rows | None:
        rows = super().read(timeout_s)
        self.given += len(rows or ())
        return rows

    @property
    def continuation(self) -> str | None:
        return f"after-{self.given}"


def test_a_cursor_goes_on_where_another_one_was(port: Port) -> None:
    engine = port.engine
    columns, rows = [ResultColumn.of("A", BIGINT)], [Row([n]) for n in (1, 2, 3)]
    engine.stream = lambda: Positioned("PUSH", columns, rows, ends=False)

    def position(connection: psycopg.Connection[Any]) -> Any:
        shown = connection.execute("SHOW ksql.position").fetchone()
        assert connection.execute("SELECT current_setting('ksql.position', true)").fetchone() == shown
        return (shown or [None])[0]

    declare = "DECLARE c CURSOR FOR SELECT a FROM rides EMIT CHANGES"
    with port.connect() as connection, connection.transaction():
        connection.execute(declare)
        assert connection.execute("FETCH 2 FROM c").fetchall() == [(1,), (2,)]
        assert position(connection) == "", "of three rows that came together, one was not fetched"
        assert connection.execute("FETCH 1 FROM c").fetchall() == [(3,)]
        assert position(connection) == "after-3"
    assert engine.requests[-1].continuation_token is None
    with port.connect() as connection:
        connection.execute("SET ksql.position = 'after-3'")
        with connection.transaction():
            connection.execute(declare)
            assert engine.requests[-1].continuation_token == "after-3"
            connection.execute("FETCH 1 FROM c")
            assert position(connection) == "after-3", "where it began"
            connection.execute("DECLARE other CURSOR FOR SELECT a FROM rides EMIT CHANGES")
            assert engine.requests[-1].continuation_token is None, "one query takes it"


def test_a_cursor_over_a_push_query(port: Port) -> None:
    engine = port.engine
    columns = [ResultColumn.of("A", BIGINT)]
    engine.stream = lambda: FakeStream("PUSH", columns, [Row([n]) for n in range(5)], ends=False)
    with port.connect() as connection, connection.transaction():
        with psycopg.ServerCursor(connection, "mine") as cursor:
            cursor.execute("SELECT a FROM rides EMIT CHANGES")
            assert cursor.fetchmany(2) == [(0,), (1,)]
            assert cursor.fetchone() == (2,)
        connection.execute("DECLARE c CURSOR FOR SELECT a FROM rides EMIT CHANGES")
        found = connection.execute("FETCH 100 FROM c WITH (timeout = '0.5s')").fetchall()
        assert found == [(n,) for n in range(5)]
    assert engine.streams[-1].closed.wait(SOON_S)


def test_a_cursor_goes_on_after_the_timeout_of_a_fetch(port: Port) -> None:
    port.engine.stream = lambda: FakeStream(
        "PUSH", [ResultColumn.of("A", BIGINT)], [Row([n]) for n in range(3)], ends=False
    )
    with port.connect() as connection, connection.transaction():
        connection.execute("DECLARE c CURSOR FOR SELECT a FROM rides EMIT CHANGES")
        fetch = "FETCH 9 FROM c WITH (timeout = '0.3s')"
        assert connection.execute(fetch).fetchall() == [(0,), (1,), (2,)]
        assert connection.execute(fetch).fetchall() == []
        assert not port.engine.streams[-1].closed.is_set()
        assert connection.execute("FETCH 0 FROM c").fetchall() == []
        with pytest.raises(psycopg.errors.DuplicateCursor):
            connection.execute("DECLARE c CURSOR FOR SELECT a FROM rides EMIT CHANGES")
    assert port.engine.streams[-1].closed.wait(SOON_S)


def test_a_cursor_ends_with_a_fetch_that_is_cancelled(port: Port) -> None:
    stream = FakeStream("PUSH", [ResultColumn.of("A", BIGINT)], [Row([1])], ends=False)
    port.engine.stream = lambda: stream
    with port.connect() as connection, connection.transaction():
        connection.execute("DECLARE c CURSOR FOR SELECT a FROM rides EMIT CHANGES")
        cancelling = threading.Timer(0.3, connection.cancel_safe)
        cancelling.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("FETCH 2 FROM c")
        cancelling.join()
        with pytest.raises(psycopg.errors.InvalidCursorName):
            connection.execute("FETCH 1 FROM c WITH (timeout = '100ms')")
    assert stream.closed.wait(SOON_S)


def test_to_describe_a_fetch_takes_no_rows(port: Port) -> None:
    port.engine.stream = lambda: FakeStream(
        "PUSH", [ResultColumn.of("A", BIGINT)], [Row([n]) for n in range(3)], ends=False
    )

    async def read() -> list[int]:
        connection = await asyncpg.connect(host="127.0.0.1", port=port.port, user="ada", database="ksql")
        try:
            async with connection.transaction():
                await connection.execute("DECLARE c CURSOR FOR SELECT a FROM rides EMIT CHANGES")
                return [row[0] for row in await connection.fetch("FETCH 2 FROM c")]
        finally:
            await connection.close()

    assert asyncio.run(read()) == [0, 1]


@pytest.mark.parametrize(
    "text", ["0", "0.00", "-0.0001", "12000", "1" * 28 + "." + "2" * 10, "1" * 38, "NaN"]
)
def test_numbers_keep_their_digits_in_binary(text: str) -> None:
    made = psycopg.types.numeric.DecimalBinaryDumper(Decimal).dump(Decimal(text))
    assert made is not None
    assert str(values.parameter(bytes(made), values.NUMERIC.oid, True)) == text


@pytest.mark.parametrize(
    ("text", "value"), [("t", True), ("ON", True), ("y", True), ("f", False), ("of", False), ("0", False)]
)
def test_booleans_in_text(text: str, value: bool) -> None:
    assert values.parameter(text.encode(), values.BOOL.oid, False) is value


@pytest.mark.parametrize("text", ["", "o", "maybe", "2"])
def test_what_is_no_boolean(text: str) -> None:
    with pytest.raises(ValueError, match="is not a boolean"):
        values.parameter(text.encode(), values.BOOL.oid, False)


def test_a_cursor_that_is_never_read_ends_its_query(port: Port) -> None:
    port.engine.stream = lambda: FakeStream("PUSH", [ResultColumn.of("A", BIGINT)], [], ends=False)
    with port.connect() as connection:
        connection.execute("BEGIN")
        connection.execute("DECLARE c CURSOR FOR SELECT a FROM rides EMIT CHANGES")
        connection.execute("COMMIT")
        assert port.engine.streams[-1].closed.wait(SOON_S)


def test_a_prepared_statement_whose_columns_have_changed(port: Port) -> None:
    port.engine.stream = lambda: FakeStream("PULL", [ResultColumn.of("A", DOUBLE)], [Row([1.5])])

    async def read() -> None:
        connection = await asyncpg.connect(host="127.0.0.1", port=port.port, user="ada", database="ksql")
        try:
            statement = await connection.prepare("SELECT a FROM rides")
            with pytest.raises(asyncpg.InvalidCachedStatementError):
                await statement.fetch()
        finally:
            await connection.close()

    asyncio.run(read())
    assert port.engine.streams[-1].closed.wait(SOON_S)


def test_rows_in_parts(port: Port) -> None:
    """Execute with a maximum, as JDBC's fetch size does."""
    port.engine.stream = lambda: FakeStream(
        "PULL", [ResultColumn.of("A", BIGINT)], [Row([n]) for n in range(5)]
    )

    async def read() -> list[int]:
        connection = await asyncpg.connect(host="127.0.0.1", port=port.port, user="ada", database="ksql")
        try:
            async with connection.transaction():
                statement = await connection.prepare(
                    "SELECT a FROM pg_database UNION ALL SELECT 2 UNION ALL SELECT 3"
                )
                cursor = await statement.cursor()
                return [len(await cursor.fetch(2)), len(await cursor.fetch(2)), len(await cursor.fetch(2))]
        finally:
            await connection.close()

    assert asyncio.run(read()) == [2, 1, 0]


def test_copy(port: Port) -> None:
    columns = [ResultColumn.of("A", STRING), ResultColumn.of("B", BIGINT)]
    port.engine.stream = lambda: FakeStream(
        "PULL", columns, [Row(["x\ty", 1]), Row([None, 2]), Row(['"', None])]
    )
    with port.connect() as connection, connection.cursor() as cursor:
        with cursor.copy("COPY (SELECT * FROM rides) TO STDOUT") as copied:
            assert b"".join(map(bytes, copied)) == b'x\\ty\t1\n\\N\t2\n"\t\\N\n'
        with cursor.copy("COPY rides TO STDOUT (FORMAT CSV, HEADER)") as copied:
            assert b"".join(map(bytes, copied)) == b'a,b\nx\ty,1\n,2\n"""",\n'
        with cursor.copy("COPY rides (a, b) TO STDOUT WITH CSV DELIMITER '1' NULL AS 'x'") as copied:
            assert b"".join(map(bytes, copied)) == b'x\ty1"1"\nx12\n""""1x\n'
        assert port.engine.requests[-1].text == "SELECT a, b FROM rides;"
        with cursor.copy("COPY rides TO STDOUT (DELIMITER 'x', HEADER false)") as copied:
            assert b"".join(map(bytes, copied)) == b'\\x\\tyx1\n\\Nx2\n"x\\N\n'


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("COPY rides TO STDOUT (FORMAT xml)", "COPY has FORMAT csv, text or binary."),
        ("COPY rides TO STDOUT (FORMAT csv, FORCE_QUOTE *)", "COPY has no option FORCE_QUOTE here"),
        ("COPY rides TO STDOUT (DELIMITER '--')", "DELIMITER is one character of ASCII."),
        ("COPY rides FROM '/tmp/x'", "COPY reads from STDIN only. In psql, \\copy reads a file."),
        ("COPY rides TO '/tmp/x'", "COPY writes to STDOUT only."),
    ],
)
def test_what_copy_refuses(port: Port, statement: str, message: str) -> None:
    with port.connect() as connection, pytest.raises(psycopg.Error, match=re.escape(message)):
        connection.execute(statement)


def test_reflection(port: Port) -> None:
    made = sqlalchemy.create_engine(f"postgresql+psycopg://ada@127.0.0.1:{port.port}/ksql")
    inspector = sqlalchemy.inspect(made)
    assert inspector.get_table_names() == ["zones"] and inspector.get_view_names() == ["rides"]
    assert inspector.get_pk_constraint("zones")["constrained_columns"] == ["vendorid"]
    assert [str(column["type"]) for column in inspector.get_columns("zones")] == [
        "INTEGER",
        "NUMERIC(8, 2)",
        "TEXT",
    ]
    table = sqlalchemy.Table("zones", sqlalchemy.MetaData(), autoload_with=made)
    query = sqlalchemy.select(table.c.zone).where(table.c.vendorid == 3).limit(2)
    with made.connect() as connection:
        connection.execute(query)
    text = port.engine.requests[-1].text
    assert "WHERE zones.vendorid = :p1" in text and "LIMIT :p2" in text and "CAST" not in text
    assert port.engine.requests[-1].parameters == {"p1": 3, "p2": 2}
    made.dispose()


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql(port: Port) -> None:
    commands = ["\\d", "\\d zones", "\\dt", "\\dn", "\\df", "\\du", "\\l", "SELECT zone FROM NOWHERE"]
    options = [part for command in commands for part in ("-c", command)]
    url = f"postgresql://ada@127.0.0.1:{port.port}/ksql"
    done = subprocess.run(["psql", "-X", url, *options], capture_output=True, text=True, timeout=60)
    assert "public | rides | view" in done.stdout and "fare_amount | numeric(8,2)" in done.stdout
    assert '"zones_pkey" PRIMARY KEY, btree (vendorid)' in done.stdout
    assert done.stderr.splitlines()[:2] == [
        "ERROR:  Source does not exist: NOWHERE.",
        "LINE 1: SELECT zone FROM NOWHERE",
    ]


def test_what_the_catalog_does_not_know_is_empty(port: Port) -> None:
    with port.connect() as connection:
        assert connection.execute("SELECT * FROM pg_catalog.pg_nothing_like_it").fetchall() == []
        odd = "SELECT a.odd, pg_odd(a.oid) AS b FROM pg_class a JOIN pg_odder o ON o.x = a.oid"
        cursor = connection.execute(odd)
        assert [column.name for column in cursor.description or ()] == [
            "odd",
            "b",
        ] and cursor.fetchall() == []
        broken = "SELECT relname FROM pg_class WHERE relname = ANY(ARRAY[1,2]::bogus[3:4])"
        assert connection.execute(broken).fetchall() == []


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"


def test_a_query_of_the_catalog_without_an_end(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("SET statement_timeout = '100ms'")
        with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
            connection.execute(ENDLESS)
        connection.execute("SET statement_timeout = 0")
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_query_of_the_catalog_is_cancelled(port: Port) -> None:
    with port.connect() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        errors: list[psycopg.Error] = []

        def run() -> None:
            try:
                connection.execute(ENDLESS)
            except psycopg.Error as error:
                errors.append(error)

        running = threading.Thread(target=run)
        running.start()
        while running.is_alive():
            connection.cancel_safe()
            running.join(0.01)
        assert isinstance(errors[0], psycopg.errors.QueryCanceled) and "user request" in str(errors[0])
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_statement_that_is_cancelled_while_it_is_planned_says_so_as_postgresql_does() -> None:
    fields = error_fields(KsqlError("STATEMENT_CANCELLED"), None)
    assert (fields["C"], fields["M"]) == ("57014", "canceling statement due to user request")


@pytest.mark.parametrize(
    ("condition", "parameters", "state"),
    [
        ("VIEW_BEHIND", {"name": "T", "seconds": 10}, "58000"),
        ("SPARK_RESTARTING", {}, "57P03"),
        ("BAD_REQUEST", {"reason": "no"}, "42000"),
        ("INTERNAL", {"reason": "a bug"}, "XX000"),
    ],
)
def test_what_passes_by_itself_is_no_internal_error(
    condition: str, parameters: dict[str, Any], state: str
) -> None:
    assert error_fields(KsqlError(condition, **parameters), None)["C"] == state


#: what an adversary asks, and the code of the answer
TOO_MUCH = {
    "SELECT hex(zeroblob(4000000)) FROM generate_series(1,150) g": "54000",
    "SELECT replace(hex(zeroblob(50000)), '0', hex(zeroblob(50000))) AS x": "54000",
    "SELECT randomblob(100000) FROM generate_series(1,1000) g": "54000",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 200000) SELECT * FROM r": (
        "54000"
    ),
    "WITH RECURSIVE r(s) AS (SELECT 'a' UNION ALL SELECT s || s FROM r) SELECT s FROM r": "54000",
    "SELECT a.oid FROM pg_type a, pg_type b, pg_type c, pg_type d": "54000",
    "SELECT array_agg(hex(zeroblob(50))) FROM pg_type a, pg_type b, pg_type c": "54000",
    "SELECT count(*) FROM generate_series(1, 200000000) AS g": "54000",
    "WITH RECURSIVE r(n, s) AS (SELECT 1, randomblob(100000) UNION ALL"
    " SELECT n + 1, randomblob(100000) FROM r WHERE n < 10000)"
    " SELECT count(*) FROM (SELECT DISTINCT s FROM r) AS d": "53200",
    "SELECT 1 AS x WHERE 'a' ~ '(?=a)'": "2201B",
    "SELECT 1 AS x WHERE 'aa' ~ '(a)\\1'": "2201B",
}


@pytest.mark.parametrize("query", TOO_MUCH)
def test_too_much_of_the_catalog_is_refused(catalog_db: Catalog, query: str) -> None:
    with pytest.raises(CatalogError) as refused:
        asked(catalog_db, query)
    assert refused.value.state == TOO_MUCH[query]


#: what requests of the port have for NULL
MEANING = {
    "ksql.sql.dialect": "postgres",
    "ksql.sql.literals": "untyped",
    "ksql.sql.nulls": "ansi",
}


@pytest.fixture(scope="session")
def catalog_db() -> Catalog:
    return Catalog([])


def asked(catalog: Catalog, query: str) -> list[Any]:
    tree = sqlglot.parse_one(query, read="postgres")
    return list(catalog.ask(tree, Session("ada", {}, 1)).rows)


@pytest.mark.parametrize(
    "name", ['a"b', "x); drop table pg_class; --", "a.b", "日本", "'", "a b", "[x]", "`"]
)
def test_any_name_may_be_missing_in_the_catalog(catalog_db: Catalog, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    for query in (
        f"SELECT * FROM {quoted}",
        f"SELECT {quoted}.{quoted} FROM pg_catalog.{quoted}",
        f"SELECT c.{quoted} FROM pg_class c WHERE c.{quoted} = 1",
        f"SELECT {quoted} FROM pg_class",
        f"SELECT x.{quoted} AS {quoted} FROM pg_catalog.{quoted} AS x",
        f"SELECT {quoted}(1) FROM pg_class",
        f"SELECT * FROM nowhere.{quoted}",
    ):
        assert asked(catalog_db, query) == []
    assert asked(catalog_db, "SELECT count(*) FROM pg_am") == [(2,)]
    assert asked(catalog_db, "SELECT count(*) FROM pg_catalog.sqlite_master") == [(len(PG_TABLES),)]


PG_TABLES = re.findall(r"^pg_\w+(?=:)", catalog._TABLES, re.MULTILINE)


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM pg_catalog.pg_am",
        "WITH a AS (SELECT 1) DELETE FROM pg_catalog.pg_am",
        "UPDATE pg_catalog.pg_am SET amname = 'x'",
        "DROP TABLE pg_catalog.pg_am",
        "ATTACH 'file.db' AS f",
        "PRAGMA hard_heap_limit = 0",
        "SELECT load_extension('x.so')",
        "VACUUM INTO 'file.db'",
    ],
)
def test_nothing_is_written_through_the_catalog(catalog_db: Catalog, query: str) -> None:
    with contextlib.suppress(sqlglot.errors.ParseError, CatalogError):
        assert asked(catalog_db, query) in ([], [(None,)])
    assert asked(catalog_db, "SELECT amname FROM pg_am") == [("heap",), ("btree",)]


def test_matching_in_the_catalog_takes_time_that_grows_with_the_text(catalog_db: Catalog) -> None:
    """In an engine that backtracks, each further letter doubles the time."""

    def took_s(letters: int) -> float:
        started = time.process_time()
        query = f"SELECT 1 AS x WHERE '{'a' * letters}' ~ '^{'a?' * letters}{'a' * letters}b'"
        assert asked(catalog_db, query) == []
        return time.process_time() - started

    assert took_s(240) < 1000 * (took_s(24) + 0.01)


def test_a_query_takes_no_memory_of_the_server(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("SELECT 1")
        before = psutil.Process().memory_info().rss
        for _ in range(3):
            with pytest.raises(psycopg.Error):
                connection.execute("SELECT hex(zeroblob(100000)) FROM generate_series(1, 9000) g")
        rows = connection.execute("SELECT a.oid, b.typname FROM pg_type a, pg_type b, pg_type c").fetchall()
        assert len(rows) > 1000
        assert psutil.Process().memory_info().rss - before < 200 << 20


def test_slow_queries_of_the_catalog_delay_no_checks(port: Port) -> None:
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(port.connect()) for _ in range(12)]
        for one in connections:
            one.pgconn.send_query(ENDLESS.encode())
        assert asyncio.run_coroutine_threadsafe(port.host.health(), port._loop).result(SOON_S).is_healthy
        for one in connections:
            one.pgconn.finish()


def test_more_queries_of_the_catalog_than_may_wait(port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_process, "MAX_QUERIES", 0)
    with port.connect() as connection, pytest.raises(psycopg.errors.TooManyConnections, match="run or wait"):
        connection.execute("SELECT 1")


@pytest.fixture
def secured(tmp_path: Path) -> Config:
    users = tmp_path / "users"
    users.write_text(f"rita:{hash_password('secret')}:reader:orders_*\n", encoding="utf-8")
    return Config({"ksql.server.auth.users.file": str(users)})


def test_users_and_their_rights(pg_engine: PgEngine, secured: Config) -> None:
    with Port(pg_engine, secured) as port:
        with port.connect(user="rita", password="secret") as connection:
            connection.execute("SELECT * FROM rides")
        assert pg_engine.requests[-1].rights == Rights.of(["reader:orders_*"])
        for password in ("wrong", None):
            with pytest.raises(psycopg.OperationalError, match=r"wrong|password"):
                port.connect(user="rita", password=password)


def test_tls(pg_engine: PgEngine, tmp_path: Path) -> None:
    make(tmp_path, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    with Port(pg_engine, tls=context) as port, port.connect(sslmode="require") as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_clear_text_does_not_pass_for_encrypted(pg_engine: PgEngine, tmp_path: Path) -> None:
    make(tmp_path, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    request = struct.pack("!ii", 8, 80877103)
    startup = b"\0\3\0\0user\0mallory\0\0"
    with (
        Port(pg_engine, tls=context) as port,
        socket.create_connection(("127.0.0.1", port.port), timeout=SOON_S) as sock,
    ):
        sock.sendall(request + struct.pack("!i", len(startup) + 4) + startup)
        assert sock.recv(100) in (b"S", b"")
        assert sock.recv(100) == b""


def test_a_message_has_a_limit(port: Port) -> None:
    port.host.most_request_bytes = 100_000
    with port.connect() as connection, pytest.raises(psycopg.OperationalError, match="100,000 bytes"):
        connection.execute(f"SELECT '{'x' * 300_000}'")


def test_a_login_has_a_limit(port: Port) -> None:
    address = ("127.0.0.1", port.port)
    with socket.create_connection(address, timeout=SOON_S) as sock, contextlib.suppress(ConnectionError):
        sock.sendall(struct.pack("!ii", 900_000_000, 196608) + b"x" * 200_000)
        assert sock.recv(100) == b""


def test_not_ready_yet(pg_engine: PgEngine) -> None:
    with Port(pg_engine) as port:
        port.host.engine = None
        with pytest.raises(psycopg.OperationalError, match="starting"):
            port.connect()


@pytest.mark.parametrize(
    "data", [b"\x00" * 64, b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, b"\x00\x00\x00\x08\x00\x03\x00\x00"]
)
def test_nonsense_ends_the_connection(port: Port, data: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port.port), timeout=SOON_S) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1000):
            pass
    with port.connect() as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("text", "kind", "ksql"),
    [
        ('SELECT "zone", "Odd" FROM "public"."rides"', Kind.QUERY, "SELECT ZONE, `Odd` FROM RIDES;"),
        ("SELECT a FROM public.rides LIMIT 3;", Kind.QUERY, "SELECT a FROM rides LIMIT 3;"),
        ("SELECT n::text FROM rides", Kind.QUERY, "SELECT n::VARCHAR FROM rides;"),
        (
            "SELECT a FROM r WHERE b ILIKE 'x%'",
            Kind.QUERY,
            "SELECT a FROM r WHERE LCASE(b) LIKE LCASE('x%');",
        ),
        ("SELECT a->b FROM r EMIT CHANGES", Kind.QUERY, "SELECT a->b FROM r EMIT CHANGES;"),
        ("PRINT 'topic' FROM BEGINNING LIMIT 1", Kind.QUERY, "PRINT 'topic' FROM BEGINNING LIMIT 1;"),
        (
            'UPDATE r SET a = $1::int WHERE "Mixed" = $2',
            Kind.STATEMENT,
            "UPDATE r SET a = :p1::INT WHERE `Mixed` = :p2;",
        ),
        ("INSERT INTO r VALUES ($1, '$2')", Kind.STATEMENT, "INSERT INTO r VALUES (:p1, '$2');"),
        ("SET 'auto.offset.reset' = 'earliest'", Kind.STATEMENT, "SET 'auto.offset.reset' = 'earliest';"),
        ("SHOW QUERIES", Kind.STATEMENT, "SHOW QUERIES;"),
        ("SELECT now(), 1", Kind.CATALOG, None),
        ("SELECT * FROM pg_class", Kind.CATALOG, None),
        ("SHOW server_version", Kind.SHOW, None),
        ("BEGIN READ ONLY", Kind.LOCAL, None),
        ("", Kind.EMPTY, None),
    ],
)
def test_what_a_text_is(text: str, kind: Kind, ksql: str | None) -> None:
    found = statement_of(text)
    assert found.kind == kind
    if ksql is not None:
        assert " ".join(found.text.split()).replace(" ,", ",").replace(" ;", ";") == ksql


@pytest.mark.parametrize(
    ("text", "ksql"),
    [
        ("n::text, a[1], a[-1]", "n::VARCHAR, a[1], a[-1]"),
        ("a[1][2]::int", "a[1][2]::INT"),
        ("a->b[1]->c::int", "a->b[1]->c::INT"),
        ("REDUCE(a, 0, (s, x) => s + x)::int", "REDUCE(a, 0, (s, x) => s + x)::INT"),
        ("CONCAT(a, b), LEN(c)::bigint", "CONCAT(a, b), LEN(c)::BIGINT"),
        ("a::int::text, -1::int", "a::INT::VARCHAR, -1::INT"),
        ("x IN (1, 2), (a + b)::int", "x IN (1, 2), (a + b)::INT"),
        ("CASE WHEN a THEN b END::int", "CASE WHEN a THEN b END::INT"),
        ("$1::int + n, ARRAY[$2::text]", ":p1::INT + n, ARRAY[:p2::VARCHAR]"),
        ("a::decimal(10, 2), b::varchar(3)", "a::DECIMAL(10, 2), b::VARCHAR"),
        (
            "a::numeric, b::numeric(5), c::pg_catalog.numeric(5,1)",
            "a::DECIMAL(38, 18), b::DECIMAL(5, 0), c::DECIMAL(5,1)",
        ),
        ("$1::numeric, a::numeric[]", ":p1::DECIMAL(38, 18), a::ARRAY<DECIMAL(38, 18)>"),
        (
            "CAST(a AS numeric), CAST(f(b::int4) AS varchar(3))",
            "CAST(a AS DECIMAL(38, 18)), CAST(f(b::INT) AS VARCHAR)",
        ),
        ("TRY_CAST(a AS timestamptz), (SELECT b AS int4)", "TRY_CAST(a AS TIMESTAMPTZ), (SELECT b AS int4)"),
        ("a::double precision, b::int[]", "a::DOUBLE, b::ARRAY<INT>"),
        ("a::timestamp with time zone, 'x::y'", "a::TIMESTAMPTZ, 'x::y'"),
        ("a::pg_catalog.int4, b::array<int>", "a::INT, b::array<int>"),
        ('"Odd"::int, `a;b`::int', "`Odd`::INT, `a;b`::INT"),
        ("v:a::INT, v:user.name::text", "v:a::INT, v:user.name::VARCHAR"),
        ("'{\"a\": 1}':a::INT, f(v):a::INT", "'{\"a\": 1}':a::INT, f(v):a::INT"),
        ("v:['a']::INT, m['x']:b[0].c::int", "v:['a']::INT, m['x']:b[0].c::INT"),
        ('$1::int < "V":a::int', ":p1::INT < `v`:a::INT"),
        ("'{}'::jsonb, $1::json, v::jsonb", "PARSE_JSON('{}'), PARSE_JSON(:p1), v::VARIANT"),
        ("a::int < 3, now(), now", "a::INT < 3, FROM_UNIXTIME(UNIX_TIMESTAMP()), now"),
        ("a NOT ILIKE 'x%'", "LCASE(a) NOT LIKE LCASE('x%')"),
        ("NOT a || b ILIKE c || 'x' AND d", "NOT LCASE(a || b) LIKE LCASE(c || 'x') AND d"),
        ("(f(a, 1) ILIKE 'x' OR b)", "(LCASE(f(a, 1)) LIKE LCASE('x') OR b)"),
        ("b[1] ILIKE f('y') ESCAPE '!'", "LCASE(b[1]) LIKE LCASE(f('y')) ESCAPE '!'"),
        ("CASE a WHEN b THEN c END ILIKE 'x'", "LCASE(CASE a WHEN b THEN c END) LIKE LCASE('x')"),
        ("(a ILIKE b) = ANY (c), d", "(LCASE(a) LIKE LCASE(b)) IN (c), d"),
        ("a || b = ANY ($1::text[]) AND c", "a || b IN (:p1::ARRAY<VARCHAR>) AND c"),
        (
            "a = ANY ($1) OR a <> ALL (b) AND a != ALL ('{1,2}')",
            "a IN (:p1) OR a NOT IN (b) AND a NOT IN ('1', '2')",
        ),
        ("NOT a = SOME (SELECT b FROM s)", "NOT a IN (SELECT b FROM s)"),
        ("a /* ; /* ' */ */ + 1 --\n - 2", "a + 1 - 2"),
    ],
)
@pytest.mark.parametrize(
    "around", ["SELECT {} FROM r", "CREATE STREAM c AS SELECT {} FROM r WITHIN 1 HOUR EMIT CHANGES"]
)
def test_only_what_is_postgresqls_is_written_anew(around: str, text: str, ksql: str) -> None:
    found = statement_of(around.format(text))
    assert " ".join(found.text.split()) == around.format(ksql) + ";"


def test_statements_are_split_as_postgresql_does() -> None:
    def texts(text: str) -> list[str]:
        return [piece.text for piece in statements.split(text)]

    assert texts("SELECT `a;b` FROM r; SELECT 1") == ["SELECT `a;b` FROM r", "SELECT 1"]
    assert texts("SELECT ';'; -- no; \n SHOW x;;") == ["SELECT ';'", "SHOW x"]
    assert texts("SELECT $a$;$$;$a$; /* ; /* ; */ ; */ SHOW x; SELECT 'open; SHOW x") == [
        "SELECT $a$;$$;$a$",
        "SHOW x",
        "SELECT 'open; SHOW x",
    ]
    assert texts(" ; ") == []


# ---- what an adversary tried ---------------------------------------------------------------------------


def test_casts_take_one_pass() -> None:
    columns = ", ".join(f"i::int AS c{n}" for n in range(2000))
    statement = statement_of(f"SELECT {columns} FROM rides WHERE i = 7")
    assert statement.text.count("i::INT") == 2000
    nested = statement_of("SELECT " + "(" * 200 + "i" + "::int4)" * 200 + " FROM rides")
    assert nested.text.count("::INT)") == 200


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT 1 AS x WHERE '{'a' * 40}!' ~ '^(a+)+$'",
        f"SELECT 1 AS x WHERE '{'a' * 400}!' ~ 'a*a*a*a*b'",
    ],
)
def test_nothing_holds_the_catalog_up(port: Port, query: str) -> None:
    with port.connect() as connection:
        assert connection.execute(query).fetchall() == []
        assert connection.execute("SELECT 'per_zone' ~ '^(per_.*)$' AS x").fetchone() == (True,)


def test_casts_of_parameters(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("SELECT i / %s::float8 FROM rides WHERE s = %s::text AND i = %s::int", (2, "a", 7))
        request = port.engine.requests[-1]
        assert request.text == "SELECT i / :p1::DOUBLE FROM rides WHERE s = :p2 AND i = :p3;"
        assert request.parameters == {"p1": 2, "p2": "a", "p3": 7}


def test_parameters_in_texts_are_texts(port: Port) -> None:
    with port.connect() as connection:
        connection.execute("INSERT INTO rides (s, i) VALUES ('it''s :p2', %s)", (1,))
        request = port.engine.requests[-1]
        assert request.text == "INSERT INTO rides (s, i) VALUES ('it''s :p2', :p1);"
        assert request.parameters == {"p1": 1}
        with pytest.raises(psycopg.errors.UndefinedParameter):
            connection.execute("SELECT $1 AS x FROM rides", prepare=False)


def test_timestamps_as_texts(port: Port) -> None:
    berlin = datetime.timezone(datetime.timedelta(hours=1))
    with port.connect() as connection:
        for value in (
            datetime.datetime(2000, 1, 1, 9, 5),
            datetime.datetime(2000, 1, 1, 10, 5, tzinfo=berlin),
        ):
            connection.execute("SELECT * FROM rides WHERE ts = %t", (value,))
            assert port.engine.requests[-1].parameters == {"p1": "2000-01-01T09:05:00.000"}


@pytest.mark.parametrize("binary", [False, True])
def test_wide_numbers_of_the_catalog(port: Port, binary: bool) -> None:
    with port.connect() as connection:
        assert connection.execute("SELECT 3000000000 AS x", binary=binary).fetchone() == (3_000_000_000,)


@pytest.mark.parametrize(
    "text", ["COPY (DROP TABLE zones) TO STDOUT", "DECLARE d CURSOR FOR DROP TABLE zones"]
)
def test_what_takes_a_query_runs_nothing_else(port: Port, text: str) -> None:
    with port.connect() as connection, pytest.raises(psycopg.errors.SyntaxError, match="takes a query"):
        connection.execute(text)
    assert not [request for request in port.engine.requests if "DROP" in request.text]


def test_statements_of_a_client_are_limited(pg_engine: PgEngine) -> None:
    limit = pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match=r"max\.requests\.per\.second")
    with Port(pg_engine, per_second=3) as port, port.connect() as connection, limit:
        for _ in range(10):
            connection.execute("SELECT 1")


def test_those_who_never_log_in_leave_room(pg_engine: PgEngine) -> None:
    with Port(pg_engine, most=16) as port:
        strangers = [socket.create_connection(("127.0.0.1", port.port), timeout=SOON_S) for _ in range(60)]
        with port.connect() as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        # the oldest have given way
        assert sum(_is_closed(one) for one in strangers) >= 60 - 16 // 4
        for one in strangers:
            one.close()


def _is_closed(client: socket.socket) -> bool:
    client.settimeout(0.05)
    try:
        return not client.recv(1000)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_silent_clients_give_way_to_other_addresses(pg_engine: PgEngine) -> None:
    with Port(pg_engine, most=16) as port:
        first = socket.create_connection(("127.0.0.1", port.port), timeout=SOON_S)
        others = [
            socket.create_connection(("127.0.0.1", port.port), SOON_S, source_address=("127.0.0.2", 0))
            for _ in range(40)
        ]
        with port.connect() as connection:  # by then, all others have been accepted
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert not _is_closed(first)
        for one in (first, *others):
            one.close()


def test_a_client_has_a_share_of_the_connections(pg_engine: PgEngine) -> None:
    with Port(pg_engine, most=5, share=0.8) as port, contextlib.ExitStack() as held:
        for _ in range(4):
            held.enter_context(port.connect())
        with pytest.raises(psycopg.OperationalError, match=r"ksql\.client\.max\.share"):
            port.connect()


def test_a_certificate_is_required_of_all(pg_engine: PgEngine, tmp_path: Path) -> None:
    make(tmp_path, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    context.load_verify_locations(tmp_path / "server.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    refused = pytest.raises(psycopg.OperationalError, match="only clients with a certificate")
    with Port(pg_engine, tls=context) as port, refused:
        port.connect(sslmode="disable")
