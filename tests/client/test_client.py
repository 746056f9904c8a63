"""The Python client against a served engine on a cluster without Java."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx
import pytest

from ksql_spark import client
from ksql_spark.client import connect, connect_async, protocol
from ksql_spark.client.connection import LastingStream
from ksql_spark.client.frames import shut_down
from ksql_spark.client.servers import Servers
from ksql_spark.consistency import Position, encode


def test_it_is_a_db_api(url: str) -> None:
    assert (client.apilevel, client.threadsafety, client.paramstyle) == ("2.0", 2, "qmark")
    with connect(url) as connection:
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO base (id, v) VALUES (?, ?);", [(1, "it's"), (2, "two"), (3, None)])
        cursor.execute("SELECT id, v FROM items WHERE id = ?;", [1])
        assert [column[:2] for column in cursor.description or ()] == [("ID", "INTEGER"), ("V", "STRING")]
        assert cursor.fetchone() == (1, "it's") and cursor.fetchone() is None
        cursor.execute("SELECT id FROM items;")
        assert sorted(cursor.fetchmany(2) + cursor.fetchall()) == [(1,), (2,), (3,)]
        cursor.execute("SELECT v FROM items WHERE id = :id;", {"id": 2})
        assert list(cursor) == [("two",)]
        cursor.execute("SHOW TABLES;")
        assert cursor.entities[0]["@type"] == "tables" and cursor.description is None
        with pytest.raises(client.InterfaceError):
            cursor.fetchone()
        connection.commit()
        with pytest.raises(client.NotSupportedError):
            connection.rollback()


def test_values_come_back_as_they_went(url: str) -> None:
    with connect(url) as connection:
        rows: list[dict[str, Any]] = [
            {"id": 1, "v": "😀\n'", "d": Decimal("123456789012345678.25"), "x": 1e-9},
            {"id": 2},
        ]
        assert connection.insert("base", rows) == 2
        found = connection.execute("SELECT * FROM items WHERE id = 1;").fetchall()
        assert found == [(1, "😀\n'", Decimal("123456789012345678.25"), 1e-9)]
        assert connection.execute("SELECT * FROM items WHERE id = 2;").fetchall() == [(2, None, None, None)]


def test_values_with_what_else_may_end_a_line(url: str) -> None:
    text = "a\u2028b\u2029c\x85d\v\f\r\x1c\x1d\x1ee"

    async def fetched() -> Any:
        async with connect_async(url) as connection:
            assert await connection.insert("base", [{"id": 2, "v": text}]) == 1
            return await connection.fetch("SELECT v FROM items WHERE id = 2;")

    with connect(url) as connection:
        assert connection.insert("base", [{"id": 1, "v": text}]) == 1
        assert connection.execute("SELECT v FROM items WHERE id = 1;").fetchall() == [(text,)]
        frames = connection.frames("SELECT v FROM items WHERE id = 1;")
        found: list[Any] = []
        while (arrived := frames.read(60)) is not None:
            found += arrived
        assert [frame["row"]["columns"] for frame in found if "row" in frame] == [[text]]
        frames.close()
    assert asyncio.run(fetched()) == [(text,)]


def test_errors_are_those_of_the_db_api(url: str) -> None:
    with connect(url) as connection:
        with pytest.raises(client.ProgrammingError) as caught:
            connection.execute("SELECT * FROM nowhere;")
        assert caught.value.code == 40001 and "NOWHERE" in str(caught.value)
        with pytest.raises(client.ProgrammingError, match="SELEC"):
            connection.execute("SELEC 1;")
        with pytest.raises(client.ProgrammingError, match="parameters"):
            connection.execute("SELECT * FROM items WHERE id = ?;", [])
        with pytest.raises(client.InterfaceError):
            connection.execute("SELECT * FROM items WHERE v = ?;", "text")
        with pytest.raises(client.ProgrammingError, match="row 1"):
            connection.insert("base", [{"id": 1}, {"v": "no key"}])
    with pytest.raises(client.InterfaceError):
        connection.execute("SHOW TABLES;")
    with pytest.raises(client.OperationalError):
        connect("http://127.0.0.1:1").execute("SHOW TABLES;")


def test_rows_of_a_push_query_come_as_they_arrive(url: str) -> None:
    with connect(url) as connection:
        arrived = threading.Event()

        def write() -> None:
            number = 0
            while not arrived.is_set():
                connection.insert("events", [{"id": 1, "v": f"x{number}"}])
                number += 1

        writer = threading.Thread(target=write)
        with connection.stream("SELECT v FROM events WHERE id = ? EMIT CHANGES;", [1]) as rows:
            writer.start()
            found = [int(next(rows)[0].removeprefix("x")) for _ in range(4)]
            assert found == list(range(found[0], found[0] + 4))
            arrived.set()
        assert list(rows) == []
        writer.join()


def lines(url: str, body: dict[str, Any], is_enough: Callable[[list[Any]], bool]) -> list[Any]:
    """The first lines of an answer, without its metadata; or an error alone."""
    found: list[Any] = []
    with httpx.stream("POST", f"{url}/query-stream", json=body, timeout=60) as answer:
        for line in answer.iter_lines():
            found.append(json.loads(line))
            if answer.status_code != 200 or is_enough(found[1:]):
                break
    return found if "error_code" in found[0] else found[1:]


def rows_in(found: list[Any]) -> list[list[Any]]:
    return [line for line in found if isinstance(line, list)]


def test_a_push_query_goes_on_where_its_client_stopped(url: str) -> None:
    sql = "SELECT id, v FROM events EMIT CHANGES;"
    wanted = {"ksql.query.push.v2.continuation.tokens.enabled": True, "auto.offset.reset": "earliest"}
    with connect(url) as connection:
        connection.insert("events", [{"id": n, "v": str(n)} for n in range(100)])
        seen = lines(
            url,
            {"sql": sql, "properties": wanted},
            lambda found: len(rows_in(found)) == 100 and isinstance(found[-1], dict),
        )
        connection.insert("events", [{"id": n, "v": str(n)} for n in range(100, 103)])

        def after(place: int, count: int) -> list[int]:
            own = {"request.ksql.query.push.continuation.token": seen[place]["continuationToken"]}
            body = {"sql": sql, "properties": {"auto.offset.reset": "latest"}, "requestProperties": own}
            return sorted(row[0] for row in lines(url, body, lambda found: len(found) == count))

        assert after(-1, 3) == [100, 101, 102]
        first = next(place for place, line in enumerate(seen) if isinstance(line, dict))
        missing = sorted({*range(103)} - {row[0] for row in seen[:first]})
        assert after(first, len(missing)) == missing


def test_a_stream_that_was_left_goes_on(url: str) -> None:
    with connect(url, properties={"auto.offset.reset": "earliest"}) as connection:
        connection.insert("events", [{"id": 1, "v": str(n)} for n in range(3)])
        text = "SELECT v FROM events EMIT CHANGES;"
        with connection.stream(text, resumable=True) as rows:
            assert [next(rows) for _ in range(3)] == [("0",), ("1",), ("2",)]
            connection.insert("events", [{"id": 1, "v": "3"}])
            assert next(rows) == ("3",)  # so the token of those before has been read
            assert rows.position is not None
            position = rows.position
        with connection.stream(text, resumable=True, after=position) as rows:
            assert rows.position == position and next(rows) == ("3",)


def test_a_stream_that_reconnects(url: str) -> None:
    with connect(url) as connection:
        rows = connection.stream("SELECT v FROM events EMIT CHANGES;", reconnect_s=0.2)
        for number in range(5):
            if number % 2 == 0:  # also before the first row
                shut_down(rows._answer)
            connection.insert("events", [{"id": n, "v": f"{number} {n}"} for n in range(9)])
            assert sorted(next(rows) for _ in range(9)) == [(f"{number} {n}",) for n in range(9)]
        rows.interrupt()
        assert list(rows) == [] and rows.position is not None


def test_reconnecting_ends(url: str) -> None:
    text = "SELECT v FROM events EMIT CHANGES;"
    with connect(url) as connection:
        old = connection.stream(text, reconnect_s=60)
        assert isinstance(old, LastingStream)
        old._read()  # the position at the beginning
        old._reached = token_of("events", {0: 1_000_000})
        shut_down(old._answer)
        with pytest.raises(client.ProgrammingError, match="too old"):
            next(old)
        alone = connection.stream(text, reconnect_s=0.3)
        connection._session.servers = Servers(["http://127.0.0.1:1"])
        shut_down(alone._answer)
        with pytest.raises(client.OperationalError, match="No server answers"):
            next(alone)


def test_a_stream_that_reconnects_ends_with_its_query(url: str) -> None:
    with connect(url, properties={"auto.offset.reset": "earliest"}) as connection:
        connection.insert("events", [{"id": 1, "v": str(n)} for n in range(3)])
        rows = connection.stream("SELECT v FROM events EMIT CHANGES LIMIT 2;", reconnect_s=60)
        assert list(rows) == [("0",), ("1",)]


def token_of(topic: str, offsets: dict[int, int]) -> str:
    return Position(topic, None, offsets, 0).token


@pytest.mark.parametrize(
    ("sql", "token", "why"),
    [
        ("SELECT v FROM events EMIT CHANGES;", "x", "not from this service"),
        ("SELECT v FROM events EMIT CHANGES;", encode({"events": {0: 0}}), "not from this service"),
        ("SELECT v FROM events EMIT CHANGES;", token_of("items", {0: 0}), "to another query"),
        ("SELECT v FROM events EMIT CHANGES;", token_of("events", {99: 0}), "to another query"),
        ("SELECT v FROM events EMIT CHANGES;", token_of("events", {0: 1_000_000}), "created again"),
        ("SELECT v, COUNT(*) FROM events GROUP BY v EMIT CHANGES;", token_of("events", {0: 0}), "one record"),
    ],
)
def test_tokens_that_do_not_fit(url: str, sql: str, token: str, why: str) -> None:
    own = {"request.ksql.query.push.continuation.token": token}
    (error,) = lines(url, {"sql": sql, "requestProperties": own}, bool)
    assert why in error["message"]


def test_the_same_for_asyncio(url: str) -> None:
    async def run() -> None:
        async with connect_async(url) as connection:
            assert await connection.insert("base", [{"id": n, "v": str(n)} for n in range(5)]) == 5
            found = await connection.fetch("SELECT v FROM items WHERE id = ?;", [3])
            assert found == [("3",)]
            await connection.run("INSERT INTO base (id, v) VALUES (?, ?);", [3, "new"])
            assert await connection.fetch("SELECT v FROM items WHERE id = 3;") == [("new",)]
            with pytest.raises(client.ProgrammingError):
                await connection.run("DROP nothing;")

            async def first() -> Any:
                async for row in connection.stream("SELECT v FROM events EMIT CHANGES;"):
                    return row

            waiting = asyncio.create_task(first())
            while not waiting.done():
                await connection.insert("events", [{"id": 1, "v": "pushed"}])
                await asyncio.sleep(0)
            assert await waiting == ("pushed",)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "expected"),
    [("select 1", True), ("/* x */ (SELECT 1)", True), ("WITH a AS (SELECT 1 FROM b) SELECT 1", True),
     ("WITHOUT", False), ("INSERT INTO a SELECT 1", False), ("-- SELECT", False), ("", False)],
)  # fmt: skip
def test_what_is_a_query(text: str, expected: bool) -> None:
    assert protocol.is_query(text) is expected


def test_it_needs_neither_spark_nor_the_server() -> None:
    heavy = "pyspark, confluent_kafka, sqlglot, fastapi, uvicorn".replace(", ", "|").split("|")
    code = f"import sys, ksql_spark.client; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_results_as_tables(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    with connect(url) as connection:
        connection.insert("base", [{"id": n, "v": str(n)} for n in range(3)])
        table = connection.execute("SELECT id, v FROM items;").arrow()
        assert sorted(table.to_pydict()["ID"]) == [0, 1, 2] and table.column_names == ["ID", "V"]


def test_what_spark_refuses_is_an_error() -> None:
    done = {"@type": "currentStatus", "statementText": "A;", "commandStatus": {"status": "SUCCESS"}}
    failed = {"statementText": "B;", "commandStatus": {"status": "ERROR", "message": "Spark says no"}}
    protocol.check_carried_out([done, {"@type": "streams"}])
    with pytest.raises(client.OperationalError, match="Spark says no") as raised:
        protocol.check_carried_out([done, failed])
    assert raised.value.statement == "B;"


def test_a_server_that_is_gone_is_passed_over(url: str) -> None:
    gone = "127.0.0.1:1"
    with connect(f"{gone},{url}, {gone}") as connection:
        connection.execute("INSERT INTO base (id, v) VALUES (7, 'seven');")
        assert connection.execute("SELECT v FROM items WHERE id = 7;").fetchone() == ("seven",)
    with connect(f"{gone},{gone}") as connection, pytest.raises(client.OperationalError):
        connection.run("SHOW STREAMS;")

    async def ask() -> Any:
        async with connect_async(f"{gone},{url}") as connection:
            return await connection.run("SHOW STREAMS;")

    assert asyncio.run(ask())[0]["@type"] == "streams"
