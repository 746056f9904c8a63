"""Sinks on Kafka and Spark: the lake table is what the stream or table is, whatever stops in between."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.lake.all_types import FULL, TYPES
from tests.integration.own_server import Server
from tests.integration.server_process import ServerProcess
from tests.postgres import USER, Postgres
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]


def by_duckdb(path: Path, columns: str = "*") -> list[tuple[Any, ...]]:
    """What DuckDB finds in the files of a Delta table, which may not be there yet."""
    files = DeltaTable(str(path)).file_uris() if DeltaTable.is_deltatable(str(path)) else []
    return sorted(duckdb.sql(f"SELECT {columns} FROM read_parquet({files!r})").fetchall()) if files else []


def test_a_stream_with_all_types(server: Server, topic_names: Callable[[str], str], tmp_path: Path) -> None:
    topic, path = topic_names("sink"), tmp_path / "lake"
    server.run(
        f"CREATE STREAM s ({TYPES}) WITH (KAFKA_TOPIC='{topic}', FORMAT='JSON', PARTITIONS=4);"
        f"INSERT INTO s VALUES {FULL}; INSERT INTO s (k) VALUES ('b');"
        f"CREATE SINK lake FROM s WITH (TYPE='delta', PATH='{path}', PARTITION_BY='day(ts)',"
        " COMMIT_INTERVAL='200 milliseconds');"
    )
    told = server.caught_up("lake", 2)
    assert (told.sink.lag, told.rows, len(told.positions)) == (0, 2, 4)
    first, second = sorted(DeltaTable(str(path)).to_pyarrow_table().to_pylist(), key=lambda r: str(r["K"]))
    assert {name: str(value) for name, value in first.items()} == {
        "K": "a", "I": "1", "B": "2", "D": "1.5", "OK": "True", "P": "12.30",
        "TS": "2026-03-01 10:00:00.123000+00:00", "DAY": "2026-03-01", "T": "12:34:56.789",
        "RAW": "b'\\x00\\xff'", "L": "[1, None]", "M": "[('n', '00:00:01.000')]",
        "S": str({"X": 1, "Y": first["S"]["Y"]}), "TS_DAY": "2026-03-01",
    }  # fmt: skip
    assert str(first["S"]["Y"][0]) == "2026-01-01 00:00:00+00:00"
    assert {name for name, value in second.items() if value is not None} == {"K"}
    assert by_duckdb(path, "K, I") == [("a", 1), ("b", None)]

    server.restart()
    server.run("INSERT INTO s (k, i) VALUES ('c', 3);")
    server.caught_up("lake", 3)
    server.run("PAUSE SINK lake; ALTER STREAM s ADD COLUMN more INT;")
    server.run("INSERT INTO s (k, more) VALUES ('d', 4); RESUME SINK lake;")
    server.caught_up("lake", 4)
    rows = DeltaTable(str(path)).to_pyarrow_table().select(["K", "MORE"]).to_pylist()
    assert sorted((r["K"], r["MORE"]) for r in rows) == [("a", None), ("b", None), ("c", None), ("d", 4)]


def test_a_table_is_followed_by_key(
    server: Server, topic_names: Callable[[str], str], broker: EmbeddedBroker, tmp_path: Path
) -> None:
    topic, path = topic_names("sink"), tmp_path / "lake"
    server.run(
        f"CREATE TABLE t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='{topic}', KEY_FORMAT='KAFKA',"
        " VALUE_FORMAT='JSON', PARTITIONS=4);"
        f"CREATE SINK lake FROM t WITH (TYPE='delta', PATH='{path}', COMMIT_INTERVAL='100 milliseconds');"
    )
    producer = RecordProducer(broker.bootstrap_servers)
    expected: dict[str, int] = {}
    for i in range(300):
        key = f"k{i * 7 % 20}"
        if i % 5 == 0:
            producer.send(topic, key.encode(), None)
            expected.pop(key, None)
        else:
            producer.send(topic, key.encode(), f'{{"V": {i}}}'.encode())
            expected[key] = i
        if i % 100 == 50:
            server.caught_up("lake", i)
    server.caught_up("lake", 300)
    assert dict(by_duckdb(path, "K, V")) == expected
    with pytest.raises(KsqlError, match=r"the sinks \[LAKE\] read it"):
        server.run("DROP TABLE t;")
    server.run("DROP SINK lake; DROP TABLE t;")


def test_a_windowed_table(server: Server, topic_names: Callable[[str], str], tmp_path: Path) -> None:
    path = tmp_path / "lake"
    server.run(
        f"SET 'auto.offset.reset'='earliest';"
        f"CREATE STREAM s (k STRING KEY, ts BIGINT) WITH (KAFKA_TOPIC='{topic_names('sink')}', FORMAT='JSON',"
        " PARTITIONS=1, TIMESTAMP='ts');"
        "INSERT INTO s VALUES ('a', 1000); INSERT INTO s VALUES ('a', 1500);"
        "INSERT INTO s VALUES ('a', 2000);"
        f"CREATE TABLE w WITH (KAFKA_TOPIC='{topic_names('windows')}') AS SELECT k, COUNT(*) AS n FROM s"
        " WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY k EMIT CHANGES;"
        f"CREATE SINK lake FROM w WITH (TYPE='delta', PATH='{path}', COMMIT_INTERVAL='100 milliseconds');"
    )
    wanted = [("a", 1000, 2000, 2), ("a", 2000, 3000, 1)]
    until(lambda: by_duckdb(path, "K, WINDOWSTART, WINDOWEND, N") == wanted, lambda: server.described("lake"))


def test_what_stops_a_sink_is_told(
    server: Server, topic_names: Callable[[str], str], broker: EmbeddedBroker, tmp_path: Path
) -> None:
    topic, path = topic_names("sink"), tmp_path / "lake"
    server.run(f"CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='{topic}', FORMAT='JSON', PARTITIONS=1);")
    with_lake = f"WITH (TYPE='delta', PATH='{path}', COMMIT_INTERVAL='100 milliseconds')"
    server.run(f"CREATE SINK lake FROM s {with_lake};")
    producer = RecordProducer(broker.bootstrap_servers)
    producer.send(topic, None, b'{"V": 1}')
    producer.send(topic, None, b"no json")
    told = server.caught_up("lake", 2)
    assert (told.rows, told.records_unreadable) == (1, 1)
    server.run("DROP SINK lake; DROP STREAM s;")
    server.run(f"CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC='{topic}', FORMAT='JSON');")
    server.run(f"CREATE SINK lake FROM s {with_lake};")
    assert server.failed("lake") == (
        f"The column V of the table {path} is integer and would have to be string. Nothing more is written."
        " Give the sink another path, or the column its type again."
    )


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres() as database:
        yield database


def test_a_database(
    server: Server, topic_names: Callable[[str], str], broker: EmbeddedBroker, postgres: Postgres
) -> None:
    """A stream and a table in PostgreSQL, which refuses a row and then is away."""
    topics, producer = [topic_names("sink"), topic_names("sink")], RecordProducer(broker.bootstrap_servers)
    postgres.sql("CREATE TABLE one (v INTEGER CHECK (v <> 2), s TEXT)")
    to = f"URL = 'jdbc:postgresql://127.0.0.1:{postgres.port}/postgres?user={USER}&password=secret'"
    server.run(
        f"CREATE STREAM s (v INT, s STRING) WITH (KAFKA_TOPIC='{topics[0]}', FORMAT='JSON', PARTITIONS=2);"
        f"CREATE TABLE t (k STRING PRIMARY KEY, l ARRAY<INT>) WITH (KAFKA_TOPIC='{topics[1]}',"
        " KEY_FORMAT='KAFKA', VALUE_FORMAT='JSON', PARTITIONS=2);"
        f"CREATE SINK one FROM s WITH (TYPE='jdbc', {to}, TABLE='one', COMMIT_INTERVAL='100 milliseconds');"
        f"CREATE SINK two FROM t WITH (TYPE='jdbc', {to}, COMMIT_INTERVAL='100 milliseconds');"
    )
    for v in (1, 2, 3):
        producer.send(topics[0], None, f'{{"V": {v}}}'.encode())
    for key, value in (
        (b"a", b'{"L": [1, null]}'),
        (b"b", b'{"L": []}'),
        (b"a", b'{"L": [2]}'),
        (b"b", None),
    ):
        producer.send(topics[1], key, value)
    told = server.caught_up("one", 3)
    assert (told.rows, told.records_refused, told.sink.table) == (2, 1, "one")
    assert (
        told.sink.path
        == f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres?user={USER}&password=[hidden]"
    )
    server.caught_up("two", 4)
    assert postgres.sql("SELECT v FROM one ORDER BY v") == "1\n3"
    assert postgres.sql("SELECT k, l FROM t") == "a|[2]"

    postgres.stop()
    producer.send(topics[0], None, b'{"V": 4}')
    assert "cannot be read or written: " in server.failed("one")
    assert "secret" not in str(server.described("one"))
    postgres.start()
    until(lambda: postgres.sql("SELECT v FROM one ORDER BY v") == "1\n3\n4", lambda: server.described("one"))


def test_a_server_that_is_killed_anywhere_writes_each_row_once(tmp_path: Path, postgres: Postgres) -> None:
    """A stream in a lake and in a database, and a table with deletions, killed while their sinks commit."""
    sent, choose, expected, path = 0, random.Random(46), dict[int, int](), tmp_path / "lake"
    to = f"TYPE = 'jdbc', URL = 'postgresql://{USER}@127.0.0.1:{postgres.port}/postgres'"

    def position() -> int:
        if postgres.sql("SELECT to_regclass('ksql_sink_positions') IS NOT NULL") != "t":
            return 0
        moved = "SELECT coalesce(sum(position), 0) FROM ksql_sink_positions WHERE target = 'many'"
        return int(postgres.sql(moved))

    def version() -> int:
        return DeltaTable(str(path)).version() if DeltaTable.is_deltatable(str(path)) else -1

    for life in range(4):
        with ServerProcess(tmp_path / "data") as server:
            server.ready()
            if life == 0:
                server.execute(
                    "CREATE STREAM many (n INT) WITH (KAFKA_TOPIC = 'many', FORMAT = 'JSON', PARTITIONS = 2);"
                    "CREATE TABLE last (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = 'last',"
                    " KEY_FORMAT = 'KAFKA', VALUE_FORMAT = 'JSON', PARTITIONS = 2);"
                    f"CREATE SINK a FROM many WITH ({to}, COMMIT_INTERVAL = '1 milliseconds');"
                    f"CREATE SINK b FROM last WITH ({to}, COMMIT_INTERVAL = '1 milliseconds');"
                    f"CREATE SINK c FROM many WITH (TYPE = 'delta', PATH = '{path}',"
                    " COMMIT_INTERVAL = '1 milliseconds');"
                )
            producer = RecordProducer(server.bootstrap_servers())
            ends = position() + choose.randrange(2_000, 6_000), version() + choose.randrange(3, 9)

            def is_enough() -> bool:
                """Whether it can be killed, or everything is there; sends more."""
                nonlocal sent
                if position() >= ends[0] and version() >= ends[1]:  # noqa: B023
                    return True
                rows = [(n % 97, n, n % 5 == 0) for n in range(sent, sent + 200)]
                expected.update({key: n for key, n, _ in rows})
                for key, n, is_gone in rows:
                    if is_gone and expected[key] == n:
                        del expected[key]
                values = [(key, f'{{"N": {n}}}'.encode(), f'{{"V": {n}}}'.encode(), d) for key, n, d in rows]
                producer.send_all("many", [(None, value, 1) for _, value, _, _ in values])  # noqa: B023
                last = [(key.to_bytes(4, "big"), None if d else v, 1) for key, _, v, d in values]
                producer.send_all("last", last)  # noqa: B023
                sent += 200
                return False

            until(is_enough, lambda: server.execute("SHOW SINKS;"))
            if life == 3:  # the others are killed here

                def is_all() -> bool:
                    (shown,) = server.execute("SHOW SINKS;")
                    return position() == sent and not any(sink["lag"] for sink in shown["sinks"])

                until(is_all)
    assert postgres.sql("SELECT count(*), count(DISTINCT n), max(n) FROM many") == f"{sent}|{sent}|{sent - 1}"
    last_rows = postgres.sql("SELECT k, v FROM last").splitlines()
    assert dict(tuple(map(int, row.split("|"))) for row in last_rows) == expected
    assert sorted(DeltaTable(str(path)).to_pyarrow_table()["N"].to_pylist()) == list(range(sent))
