"""What PostgreSQL's clients write: rows of VALUES, with RETURNING, rows of a query, COPY … FROM STDIN."""

from __future__ import annotations

import asyncio
import json
import struct
from decimal import Decimal
from typing import Any

import asyncpg
import psycopg
import pytest
import sqlalchemy

from ksql_spark.engine import ResultColumn, Row
from ksql_spark.server.postgres.session.statements import Kind, statement_of
from ksql_spark.server.postgres.values.values import DATE, FLOAT8, INT4, JSON, TEXT, array_of
from ksql_spark.server.postgres.wire.columns import Column
from ksql_spark.server.postgres.wire.copy_in import CopyIn
from ksql_spark.server.postgres.wire.copying import BINARY_END, BINARY_HEAD, CopyOptions
from ksql_spark.types import BIGINT, STRING, VARIANT
from tests.server.fake_engine import FakeStream
from tests.server.postgres.port import Port


def written(port: Port) -> list[Any]:
    """What the inserter of RIDES was given."""
    return [json.loads(row) for row in port.engine.inserter_made.rows]


def test_the_number_of_rows_is_told(port: Port) -> None:
    with port.connect() as connection:
        assert connection.execute("INSERT INTO rides (a) VALUES (1)").rowcount == 1
        assert (
            connection.execute("INSERT INTO rides VALUES (1, (2)), (%s, 3), (4, f(5, 6))", (1,)).rowcount == 3
        )
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO rides (a) VALUES (%s)", [(1,), (2,)])
        assert cursor.rowcount == 2


@pytest.mark.parametrize("is_prepared", [True, False])
def test_returning(port: Port, is_prepared: bool) -> None:
    with port.connect() as connection:
        statement = "INSERT INTO rides (zone) VALUES ('a'), ('b') RETURNING vendorid, zone, zone AS \"Where\""
        cursor = connection.execute(statement, prepare=is_prepared)
        assert [column.name for column in cursor.description or ()] == ["vendorid", "zone", "Where"]
        assert cursor.fetchall() == [(1, "a", "a"), (2, "b", "b")]
        assert cursor.statusmessage == "INSERT 0 2"


def test_sqlalchemy_inserts_and_returns(port: Port) -> None:
    made = sqlalchemy.create_engine(f"postgresql+psycopg://ada@127.0.0.1:{port.port}/ksql")
    table = sqlalchemy.Table("zones", sqlalchemy.MetaData(), autoload_with=made)
    with made.begin() as connection:
        rows = [{"vendorid": 1, "zone": "x"}, {"vendorid": 2, "zone": None}]
        connection.execute(sqlalchemy.insert(table), rows)
        connection.execute(sqlalchemy.insert(table).values(rows))
        nested = connection.begin_nested()
        connection.execute(sqlalchemy.insert(table).values(vendorid=3))
        nested.rollback()
    texts = [one.text for one in port.engine.requests if one.text.startswith("INSERT")]
    assert texts[-2].count("(") == 3 and port.engine.requests[-1].parameters == {"p1": 3}
    made.dispose()


# ---- INSERT … SELECT ---------------------------------------------------------------------------------------


def test_insert_of_a_query(port: Port) -> None:
    columns = [ResultColumn.of("X", STRING), ResultColumn.of("Y", BIGINT)]
    port.engine.stream = lambda: FakeStream("PULL", columns, [Row(["a", 1]), Row([None, 2])])
    with port.connect() as connection:
        done = connection.execute("INSERT INTO rides (zone, vendorid) SELECT x, y FROM s WHERE y > %s", (0,))
        assert done.statusmessage == "INSERT 0 2"
        assert written(port) == [{"`ZONE`": "a", "`VENDORID`": 1}, {"`ZONE`": None, "`VENDORID`": 2}]
        assert port.engine.requests[-1].text == "SELECT x, y FROM s WHERE y > :p1;"
        assert port.engine.inserter_made.closed
        with pytest.raises(psycopg.errors.SyntaxError, match="The query has 2 columns, and RIDES takes 1"):
            connection.execute("INSERT INTO rides (zone) SELECT x, y FROM s")
        with pytest.raises(
            psycopg.errors.UndefinedColumn, match=r"RIDES has no column NOTHING. It has VENDORID"
        ):
            connection.execute("INSERT INTO rides (nothing) SELECT x FROM s")
        port.engine.stream = lambda: FakeStream("PULL", columns[:1], [Row(["a"]), Row(["bad"]), Row(["c"])])
        with pytest.raises(psycopg.Error, match=r"row 2: a bad row. No row was written"):
            connection.execute("INSERT INTO rides (zone) SELECT x FROM s")
        assert port.engine.inserter_made.closed and not port.engine.inserter_made.is_finished
        connection.execute("INSERT INTO rides SELECT x, y FROM s EMIT CHANGES")
        assert port.engine.requests[-1].text == "INSERT INTO rides SELECT x, y FROM s EMIT CHANGES;"


# ---- COPY … FROM STDIN -------------------------------------------------------------------------------------


def test_copy_from_stdin(port: Port) -> None:
    rows = [
        {"`VENDORID`": 1, "`ZONE`": "a\tb"},
        {"`VENDORID`": 2, "`ZONE`": None},
        {"`VENDORID`": None, "`ZONE`": ""},
    ]
    with port.connect() as connection, connection.cursor() as cursor:
        with cursor.copy("COPY rides (vendorid, zone) FROM STDIN") as copy:
            for row in ((1, "a\tb"), (2, None), (None, "")):
                copy.write_row(row)
        assert cursor.statusmessage == "COPY 3" and written(port) == rows
        with cursor.copy("COPY rides (vendorid, zone) FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write('vendorid,zone\n1,"a\tb"\n2,\n,""')
        assert cursor.statusmessage == "COPY 3" and written(port) == rows
        with cursor.copy("COPY rides (vendorid, zone) FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["int4", "text"])
            for row in ((1, "a\tb"), (2, None), (None, "")):
                copy.write_row(row)
        assert cursor.statusmessage == "COPY 3" and written(port) == rows
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_many_rows_come_in_pieces(port: Port) -> None:
    with port.connect() as connection, connection.cursor() as cursor:
        with cursor.copy("COPY rides (zone) FROM STDIN") as copy:
            for number in range(30_000):
                copy.write_row((f"zone {number}",))
        assert cursor.statusmessage == "COPY 30000" and port.engine.inserter_made.is_finished
    assert written(port)[::29_999] == [{"`ZONE`": "zone 0"}, {"`ZONE`": "zone 29999"}]


@pytest.mark.parametrize(
    ("statement", "data", "message"),
    [
        (
            "COPY rides (vendorid) FROM STDIN",
            "1\nx\n3\n",
            "row 2: column VENDORID: .*'x'.* No row was written",
        ),
        ("COPY rides (vendorid) FROM STDIN", "1\t2\n", "row 1: 2 values for 1 columns. No row was written"),
        ("COPY rides (zone) FROM STDIN", "a\nb\nbad\nc\n", "row 3: a bad row. No row was written"),
        ("COPY rides (zone) FROM STDIN CSV", 'a\n"b\nc\n', "row 2: its quotes are wrong"),
        ("COPY rides (zone) FROM STDIN (FORMAT binary)", "no such format, though long", "row 1: this is not"),
        ("COPY rides (nothing) FROM STDIN", "", "RIDES has no column NOTHING"),
        ("COPY nowhere FROM STDIN", "", "unknown stream/table: `NOWHERE`"),
    ],
)
def test_a_wrong_row_is_named(port: Port, statement: str, data: str, message: str) -> None:
    with port.connect() as connection, connection.cursor() as cursor:
        with pytest.raises(psycopg.Error, match=message), cursor.copy(statement) as copy:
            copy.write(data.encode())
        assert not (made := port.engine.inserter_made) or not made.is_finished
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_client_gives_up(port: Port) -> None:
    with port.connect() as connection, connection.cursor() as cursor:
        with pytest.raises(KeyError), cursor.copy("COPY rides (zone) FROM STDIN") as copy:
            copy.write("a\n")
            raise KeyError("it was not found")
        assert port.engine.inserter_made.closed and not port.engine.inserter_made.is_finished
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_asyncpg_copies(port: Port) -> None:
    async def copy() -> Any:
        connection = await asyncpg.connect(host="127.0.0.1", port=port.port, user="ada", database="ksql")
        try:
            records = [(1, Decimal("1.50"), "a"), (2, None, None)]
            return await connection.copy_records_to_table("rides", records=records)
        finally:
            await connection.close()

    assert asyncio.run(copy()) == "COPY 2"
    names = ("`VENDORID`", "`FARE_AMOUNT`", "`ZONE`")
    assert [tuple(row[name] for name in names) for row in written(port)] == [(1, 1.5, "a"), (2, None, None)]


class Copied:
    """As RowCopy."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def add(self, place: str, row: Any) -> bool:
        self.rows.append(list(row.values()))
        return True

    def finish(self, misfit: str | None) -> int:
        assert misfit is None, misfit
        return len(self.rows)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("options", "data", "rows"),
    [
        (
            CopyOptions(),
            b"1\t\\\\N\n\\N\ta\\tb\\x41\\101\\\nc\n3\t\r\n\\.\nrest",
            [[1, "\\N"], [None, "a\tbAA\nc"], [3, ""]],
        ),
        (CopyOptions(delimiter=b"|", null=b"-"), b"1|a\\|b\n-|-\n", [[1, "a|b"], [None, None]]),
        (
            CopyOptions(is_csv=True, delimiter=b";", null=b""),
            b'1;"a"";\n"\n;\n2;""',
            [[1, 'a";\n'], [None, None], [2, ""]],
        ),
        (
            CopyOptions(is_binary=True),
            BINARY_HEAD
            + struct.pack("!hiii1s", 2, 4, 7, 1, b"x")
            + struct.pack("!hii", 2, -1, -1)
            + BINARY_END,
            [[7, "x"], [None, None]],
        ),
    ],
)  # fmt: skip
def test_formats_in_pieces_of_any_size(options: CopyOptions, data: bytes, rows: list[Any], size: int) -> None:
    copied: Any = Copied()
    copying = CopyIn(copied, [Column("A", INT4), Column("B", TEXT)], options, 1000)
    for at in range(0, len(data), size):
        copying.feed(data[at : at + size])
    assert copying.finish() == len(rows) and copied.rows == rows


def test_values_of_all_kinds() -> None:
    copied: Any = Copied()
    types = (FLOAT8, DATE, JSON, array_of(TEXT))
    copying = CopyIn(copied, [Column(type_.name, type_) for type_ in types], CopyOptions(), 1000)
    copying.feed(b'1.5\t2026-01-31\t{"a": 1.10}\t{a,NULL}\n')
    copying.finish()
    assert copied.rows == [[1.5, "2026-01-31", {"a": Decimal("1.10")}, ["a", None]]]
    assert ResultColumn.of("V", VARIANT).type == "VARIANT"


def test_a_row_that_is_too_long(port: Port) -> None:
    copied: Any = Copied()
    copying = CopyIn(copied, [Column("A", TEXT)], CopyOptions(), 10)
    copying.feed(b"x" * 20)
    assert copying.is_over


@pytest.mark.parametrize(
    ("text", "kind", "tag"),
    [
        ("INSERT INTO r VALUES (1), ((2))", Kind.STATEMENT, "INSERT 0 2"),
        ("INSERT INTO r (a) SELECT 1", Kind.INSERT, "INSERT"),
        ("INSERT INTO r (SELECT a FROM b)", Kind.INSERT, "INSERT"),
        ("INSERT INTO r WITH x AS (SELECT a FROM b) SELECT a FROM x", Kind.INSERT, "INSERT"),
        ("INSERT INTO r WITH (QUERY_ID = 'x') SELECT a FROM b", Kind.STATEMENT, "INSERT 0 0"),
        ("INSERT INTO r SELECT a FROM b EMIT CHANGES", Kind.STATEMENT, "INSERT 0 0"),
    ],
)
def test_kinds_of_insert(text: str, kind: Kind, tag: str) -> None:
    statement = statement_of(text)
    assert (statement.kind, statement.tag) == (kind, tag)


def test_binary_rows_without_an_end() -> None:
    copied: Any = Copied()
    copying = CopyIn(copied, [Column("A", INT4)], CopyOptions(is_binary=True), 1000)
    copying.feed(BINARY_HEAD + struct.pack("!hii", 1, 4, 7))  # pgx sends no more
    assert copying.finish() == 1 and copied.rows == [[7]]


def test_copy_in_the_extended_protocol(port: Port) -> None:
    """Statements go on behind COPY, as drivers in Rust send them; formats are those of COPY."""
    columns = [ResultColumn.of("X", BIGINT)]
    port.engine.stream = lambda: FakeStream("PULL", columns, [Row([7])])
    # a cursor of binary results uses the extended protocol
    with port.connect() as connection, connection.cursor(binary=True) as cursor:
        with cursor.copy("COPY rides (zone) FROM STDIN") as copy:
            copy.write("a\nb\n")
        assert cursor.statusmessage == "COPY 2"
        with cursor.copy("COPY (SELECT x FROM s) TO STDOUT") as out:
            assert b"".join(bytes(part) for part in out) == b"7\n"
        assert cursor.execute("SELECT 1").fetchone() == (1,)
    assert [row["`ZONE`"] for row in written(port)] == ["a", "b"]


def test_copy_to_stdout_in_binary(port: Port) -> None:
    columns = [ResultColumn.of("X", STRING), ResultColumn.of("Y", BIGINT)]
    for rows in ([Row(["a", 1]), Row([None, 2])], []):
        port.engine.stream = lambda rows=rows: FakeStream("PULL", columns, list(rows))
        with (
            port.connect() as connection,
            connection.cursor() as cursor,
            cursor.copy('COPY (SELECT x, y FROM s) TO STDOUT (FORMAT "binary")') as copy,
        ):
            copy.set_types(["text", "int8"])
            assert [list(row) for row in copy.rows()] == [row.values for row in rows]
