"""Streams and tables that follow lakes, on Kafka and Spark: queries see what the lake has."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake.positions import positions_topic
from tests.integration.lake.all_types import FULL, TYPES
from tests.integration.own_server import Server
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]


def test_reference_data(server: Server, topic_names: Callable[[str], str], tmp_path: Path) -> None:
    """Rows that come, change and go; a failure; a restart; a join."""
    path, rides = tmp_path / "zones.csv", topic_names("rides")
    path.write_text("id,name\n1,North\n2,South\n,Nowhere\n")
    server.run(
        "CREATE TABLE zones (id INT PRIMARY KEY, name STRING)"
        f" WITH (LAKE='{path}', FORMAT='csv', REFRESH='100 milliseconds', PARTITIONS=2);"
        f"CREATE STREAM rides (zone INT KEY, n INT) WITH (KAFKA_TOPIC='{rides}', KEY_FORMAT='KAFKA',"
        " VALUE_FORMAT='JSON', PARTITIONS=2);"
    )
    found = server.origin_once("zones", lambda origin: origin.written == 2)
    assert (found.state, found.rows, found.without_key, found.removed) == ("RUNNING", 2, 1, 0)
    server.has("SELECT * FROM zones;", [(1, "North"), (2, "South")])
    server.has("SELECT name FROM zones WHERE id = 2;", [("South",)])
    server.run(
        "CREATE STREAM named AS SELECT r.zone AS zone, r.n AS n, z.name AS name FROM rides r"
        " LEFT JOIN zones z ON r.zone = z.id EMIT CHANGES; INSERT INTO rides VALUES (1, 10);"
    )
    server.has("SELECT zone, n, name FROM named;", [(1, 10, "North")])

    path.write_text("id,name\n1,Arctic\n3,East\n")
    server.origin_once("zones", lambda origin: origin.written == 4 and origin.removed == 1)
    server.has("SELECT * FROM zones;", [(1, "Arctic"), (3, "East")])
    server.run("INSERT INTO rides VALUES (1, 11); INSERT INTO rides VALUES (2, 12);")
    server.has("SELECT zone, n, name FROM named;", [(1, 10, "North"), (1, 11, "Arctic"), (2, 12, None)])

    path.write_text("id,name\n1,a\n1,b\n")
    found = server.origin_once("zones", lambda origin: origin.state == "ERROR")
    assert 'several rows have the key {"ID":1}' in str(found.reason)
    path.unlink()
    server.origin_once("zones", lambda origin: "there is no file" in str(origin.reason))
    (tables,) = server.run("SHOW TABLES;")
    assert tables.warnings[0].message.startswith("ZONES is not refreshed: ")
    server.has("SELECT * FROM zones;", [(1, "Arctic"), (3, "East")])

    server.engine.stop()
    path.write_text("id,name\n3,East\n4,West\n")
    server.start()
    found = server.origin_once("zones", lambda origin: origin.state == "RUNNING")
    assert (found.written, found.removed) == (1, 1)
    server.has("SELECT * FROM zones;", [(3, "East"), (4, "West")])
    topic = server.engine.services.metastore.require("ZONES").topic
    server.run("DROP STREAM named DELETE TOPIC; DROP TABLE zones DELETE TOPIC;")
    assert server.engine.services.admin.topic(topic) is None


@pytest.mark.parametrize("value_format", ["JSON", "AVRO", "JSON_SR"])
def test_all_types(
    server: Server, topic_names: Callable[[str], str], tmp_path: Path, value_format: str
) -> None:
    """What a sink writes comes back, and is written once."""
    columns = TYPES.replace("MAP<STRING, TIME>", "MAP<STRING, INT>").replace("k STRING KEY", "k STRING {}KEY")
    full = FULL.replace("PARSE_TIME('00:00:01', 'HH:mm:ss')", "1")
    path = tmp_path / "lake"
    server.run(
        f"CREATE STREAM s ({columns.format('')}) WITH (KAFKA_TOPIC='{topic_names('s')}', FORMAT='JSON',"
        f" PARTITIONS=1); INSERT INTO s VALUES {full}; INSERT INTO s (k) VALUES ('b');"
        f"CREATE SINK lake FROM s WITH (TYPE='parquet', PATH='{path}', COMMIT_INTERVAL='100 milliseconds');"
    )
    server.caught_up("lake", 2)
    server.run(
        f"CREATE TABLE t ({columns.format('PRIMARY ')}) WITH (LAKE='{path}', FORMAT='parquet',"
        f" REFRESH='100 milliseconds', VALUE_FORMAT='{value_format}');"
    )
    server.origin_once("t", lambda origin: origin.written == 2)
    names = ", ".join(
        part.split()[0] for part in ("k", "i", "b", "d", "ok", "p", "ts", "day", "t", "raw", "l", "m", "s")
    )
    server.has(f"SELECT {names} FROM t;", server.rows(f"SELECT {names} FROM s;"))
    last = server.origin("t").last_refresh_ms
    found = server.origin_once("t", lambda origin: (origin.last_refresh_ms or 0) > (last or 0) + 200)
    assert (found.written, found.removed, found.state) == (2, 0, "RUNNING")


def test_protobuf_writes_rows_with_null_in_lists_once(server: Server, tmp_path: Path) -> None:
    """It has no NULL there, but rows are compared as they are encoded."""
    path = tmp_path / "rows.parquet"
    rows = {"k": ["a", "b"], "l": [[1, None], None], "m": [[("x", None), ("y", 1)], []]}
    types = {"k": pa.string(), "l": pa.list_(pa.int32()), "m": pa.map_(pa.string(), pa.int32())}
    pq.write_table(pa.table(rows, schema=pa.schema(types)), path)
    server.run(
        f"CREATE TABLE p (k STRING PRIMARY KEY, l ARRAY<INT>, m MAP<STRING, INT>) WITH (LAKE='{path}',"
        " FORMAT='parquet', REFRESH='100 milliseconds', VALUE_FORMAT='PROTOBUF');"
    )
    server.origin_once("p", lambda origin: origin.written == 2)
    for _ in range(3):  # refreshes that read the file again
        last = server.origin("p").last_refresh_ms
        path.touch()
        server.origin_once("p", lambda origin, last=last: origin.last_refresh_ms != last)  # type: ignore[misc]
    found = server.origin("p")
    assert (found.written, found.removed, found.state) == (2, 0, "RUNNING")


def test_delta_and_a_database(server: Server, tmp_path: Path) -> None:
    lake, file = str(tmp_path / "lake"), tmp_path / "shop.db"
    write_deltalake(lake, pa.table({"id": ["a"], "n": [1]}))
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE items (id TEXT, n INTEGER)")
        database.execute("INSERT INTO items VALUES ('x', 1)")
    refresh = "REFRESH='100 milliseconds'"
    server.run(
        f"CREATE TABLE d (id STRING PRIMARY KEY, n INT) WITH (LAKE='{lake}', FORMAT='delta', {refresh});"
        f"CREATE TABLE items (id STRING PRIMARY KEY, n INT) WITH (LAKE='sqlite:///{file}', FORMAT='jdbc',"
        f" {refresh});"
    )
    server.has("SELECT * FROM d;", [("a", 1)])
    server.has("SELECT * FROM items;", [("x", 1)])
    write_deltalake(lake, pa.table({"id": ["b"], "n": [2]}), mode="append")
    with sqlite3.connect(file) as database:
        database.execute("UPDATE items SET n = 5")
    database.close()
    server.has("SELECT * FROM d;", [("a", 1), ("b", 2)])
    server.has("SELECT * FROM items;", [("x", 5)])


def test_two_servers_at_once_do_no_harm(server: Server, tmp_path: Path) -> None:
    """Both refresh the same topic, as when one was taken for dead."""
    path = tmp_path / "n.csv"
    path.write_text("id,v\n" + "".join(f"{n},0\n" for n in range(200)))
    server.run(
        f"CREATE TABLE n (id INT PRIMARY KEY, v INT) WITH (LAKE='{path}', FORMAT='csv',"
        " REFRESH='50 milliseconds', PARTITIONS=2);"
    )
    server.origin_once("n", lambda origin: origin.state == "RUNNING")
    services = server.engine.services
    (run,) = services.origin_status.__self__._runs.values()
    other = type(run)(run.definition, services.admin, run._write, type(run.status)())
    other.start()
    for step in range(1, 6):
        text = "id,v\n" + "".join(f"{n},{step}\n" for n in range(step * 10, 200 + step * 10))
        fresh = path.with_suffix(".new")
        fresh.write_text(text)
        fresh.rename(path)
        time.sleep(0.2)  # some of the files are there for long enough that both find them, some are not
    other.close()
    other.join(TIMEOUT_S)
    server.has("SELECT id, v FROM n;", [(n, 5) for n in range(50, 250)])


def test_a_server_that_is_killed_brings_the_table_into_step(tmp_path: Path) -> None:
    path, fresh = tmp_path / "n.csv", tmp_path / "fresh"

    def put(step: int) -> None:
        fresh.write_text("id,v\n" + "".join(f"{n},{step}\n" for n in range(step * 500, 5_000 + step * 500)))
        fresh.rename(path)

    put(0)
    for life in range(3):
        with ServerProcess(tmp_path / "data") as server:
            server.ready()
            if life == 0:
                server.execute(
                    f"CREATE TABLE n (id INT PRIMARY KEY, v INT) WITH (LAKE='{path}', FORMAT='csv',"
                    " REFRESH='10 milliseconds', PARTITIONS=2);"
                )
            deadline = time.monotonic() + TIMEOUT_S
            written = 0
            while not written:
                (answer,) = server.execute("DESCRIBE n;")
                written = answer["sourceDescription"]["origin"]["written"]
                assert time.monotonic() < deadline, answer["sourceDescription"]["origin"]
                put(life + 1)
            if life < 2:
                continue  # it is killed here
            wanted = [[n, 3] for n in range(1_500, 6_500)]
            until(
                lambda wanted=wanted: sorted(server.rows("SELECT id, v FROM n;")) == wanted,
                lambda: server.execute("DESCRIBE n;"),
            )


def test_a_stream(server: Server, topic_names: Callable[[str], str], tmp_path: Path) -> None:
    """Rows in the order of their times, windows, a row without a time, a restart, DROP."""
    path = tmp_path / "rides"
    path.mkdir()

    def put(name: str, *rows: tuple[str, str, int]) -> None:
        fresh = tmp_path / "fresh"
        fresh.write_text("zone,began,n\n" + "".join(f"{zone},{began},{n}\n" for zone, began, n in rows))
        fresh.rename(path / name)

    put("b.csv", ("a", "2020-01-01 00:00:05", 1), ("b", "2020-01-01 00:00:15", 2))
    put("a.csv", ("a", "2020-01-01 00:00:25", 4), ("b", "never", 8))
    server.run(
        f"CREATE STREAM rides (zone STRING KEY, began STRING, n INT) WITH (LAKE='{path}', FORMAT='csv',"
        " TIMESTAMP='began', TIMESTAMP_FORMAT='yyyy-MM-dd HH:mm:ss', REFRESH='100 milliseconds',"
        " PARTITIONS=2);"
        "SET 'auto.offset.reset' = 'earliest';"
        f"CREATE TABLE w WITH (KAFKA_TOPIC='{topic_names('w')}') AS SELECT zone, SUM(n) AS n FROM rides"
        " WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY zone EMIT CHANGES;"
    )
    server.origin_once("rides", lambda origin: origin.written == 4)
    base = 1577836800000
    windows = "SELECT zone, WINDOWSTART, n FROM w;"
    server.has(windows, [("a", base, 1), ("a", base + 20_000, 4), ("b", base + 10_000, 2)])
    server.engine.stop()
    put("c.csv", ("a", "2020-01-01 00:00:26", 16))
    server.start()
    found = server.origin_once("rides", lambda origin: origin.written == 1)
    assert (found.state, found.rows) == ("RUNNING", 5)
    server.has(windows, [("a", base, 1), ("a", base + 20_000, 20), ("b", base + 10_000, 2)])
    server.has("SELECT zone, n FROM rides;", [("a", 1), ("a", 4), ("a", 16), ("b", 2)])
    (shown,) = server.run("SHOW STREAMS;")
    assert not shown.warnings
    services = server.engine.services
    positions = positions_topic(
        str(services.config["ksql.service.id"]), services.metastore.require("RIDES").topic
    )
    assert services.admin.topic(positions) is not None
    server.run("DROP TABLE w DELETE TOPIC; DROP STREAM rides DELETE TOPIC;")
    assert services.admin.topic(positions) is None


@pytest.mark.parametrize("value_format", ["JSON", "AVRO", "PROTOBUF"])
def test_a_stream_of_all_types(
    server: Server, topic_names: Callable[[str], str], tmp_path: Path, value_format: str
) -> None:
    path = tmp_path / "lake"
    columns = TYPES.replace("MAP<STRING, TIME>", "MAP<STRING, INT>")
    full = FULL.replace("PARSE_TIME('00:00:01', 'HH:mm:ss')", "1").replace("ARRAY[1, NULL]", "ARRAY[1, 2]")
    server.run(
        f"CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC='{topic_names('s')}', FORMAT='JSON',"
        f" PARTITIONS=1); INSERT INTO s VALUES {full};"
        f"CREATE SINK lake FROM s WITH (TYPE='delta', PATH='{path}', COMMIT_INTERVAL='100 milliseconds');"
    )
    server.caught_up("lake", 1)
    server.run(
        f"CREATE STREAM t ({columns}) WITH (LAKE='{path}', FORMAT='delta', TIMESTAMP='ts',"
        f" REFRESH='100 milliseconds', VALUE_FORMAT='{value_format}');"
    )
    server.origin_once("t", lambda origin: origin.written == 1)
    server.has("SELECT * FROM t;", server.rows("SELECT * FROM s;"))


def test_a_stream_of_a_server_that_is_killed_has_each_row_once(tmp_path: Path) -> None:
    """The server is killed while it reads; DuckDB says what is true."""
    lake, choose, sent = str(tmp_path / "lake"), random.Random(46), 0

    def grow() -> None:
        nonlocal sent
        numbers = list(range(sent, sent + 20_000))
        times = [choose.randrange(1_000_000) for _ in numbers]
        write_deltalake(lake, pa.table({"n": numbers, "ts": times}), mode="append")
        sent += len(numbers)

    for life in range(4):
        with ServerProcess(tmp_path / "data") as server:
            server.ready()
            if life == 0:
                grow()
                server.execute(
                    f"CREATE STREAM s (n BIGINT, ts BIGINT) WITH (LAKE='{lake}', FORMAT='delta',"
                    " TIMESTAMP='ts', REFRESH='10 milliseconds', PARTITIONS=2);"
                )
            grow()
            grow()
            deadline = time.monotonic() + TIMEOUT_S
            admin = KafkaAdmin(server.bootstrap_servers())
            before = sum(admin.end_offsets("S").values())
            while sum(admin.end_offsets("S").values()) < before + choose.randrange(1, 30_000):
                assert time.monotonic() < deadline, server.execute("DESCRIBE s;")
            if life < 3:
                continue  # it is killed here, in a transaction or between two
            sums = "SELECT COUNT(*), SUM(n), SUM(n * n), SUM(ts) FROM"
            (truth,) = duckdb.sql(f"{sums} read_parquet('{lake}/*.parquet')").fetchall()
            until(
                lambda text=f"{sums} s;", wanted=[[*truth]]: server.rows(text) == wanted,
                lambda: server.execute("DESCRIBE s;"),
            )
