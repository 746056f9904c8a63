"""The Python client against a served engine on a cluster without Java."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ksql_spark import client
from ksql_spark.client import connect, connect_async, protocol
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.query_service import QueryService
from ksql_spark.runtime.views import Views
from tests.kafka.mock_cluster import PARTITIONS, MockAdmin, MockCluster
from tests.server.live_server import LiveServer
from tests.statements.world import World

TABLES = """
CREATE TABLE base (id INT PRIMARY KEY, v STRING, d DECIMAL(20, 2), x DOUBLE)
    WITH (kafka_topic='items', key_format='KAFKA', value_format='JSON');
CREATE SOURCE TABLE items (id INT PRIMARY KEY, v STRING, d DECIMAL(20, 2), x DOUBLE)
    WITH (kafka_topic='items', key_format='KAFKA', value_format='JSON');
CREATE STREAM events (id INT KEY, v STRING)
    WITH (kafka_topic='events', key_format='KAFKA', value_format='JSON');
"""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    cluster = MockCluster()
    cluster.create("items", "events")
    admin, world = MockAdmin(cluster), World(tmp_path)
    world.admin.servers, world.admin.settings = cluster.servers, admin.settings  # type: ignore[misc]
    for topic in ("items", "events"):
        world.admin.create_topic(topic, PARTITIONS)
    world.run(TABLES)
    services = world.services
    services.views, services.producer = Views(admin, tmp_path / "views"), RecordProducer(cluster.servers)
    world.spark.running_session = None  # type: ignore[attr-defined]
    queries = QueryService(services)
    engine = SimpleNamespace(
        state="RUNNING",
        execute=world.statements.execute,
        query=queries.query,
        look_up=queries.look_up,
        inserter=queries.inserter,
        close_query=queries.close_query,
        figures=list,
    )
    with LiveServer(engine) as server:
        yield server.url
    queries.close_all()
    services.views.close()
    services.producer.close()
    admin.close()
    world.close()


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
