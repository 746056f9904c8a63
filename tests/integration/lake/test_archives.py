"""Archives on Kafka and Spark: queries see records that retention has removed, each once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from ksql_spark.engine import Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.shell.main import main
from tests.integration.lake.archives import (
    EARLIEST,
    HOURS,
    START_MS,
    STREAM,
    SUMS,
    Records,
    archived,
    archiving,
    configure,
    kept,
    positions,
    remove,
)
from tests.integration.own_server import Server
from tests.integration.server_process import ServerProcess
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]


def test_history_then_live(
    server: Server, topic_names: Callable[[str], str], broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Everything that starts at the earliest record starts in the archive, also after a restart."""
    topic, path = topic_names("trips"), tmp_path / "archive"
    server.run(f"CREATE STREAM raw {STREAM.format(topic=topic, more=', PARTITIONS=3')};")
    records = Records(broker.bootstrap_servers, topic, seed=1)
    records.send(400)
    server.run(kept(path))
    server.caught_up("kept", 400)
    records.send(400)
    server.caught_up("kept", 800)
    ends = {p: end for (_, p), end in server.engine.services.admin.end_offsets(topic).items()}
    records.send(50)
    server.caught_up("kept", 850)
    remove(broker.bootstrap_servers, topic, {0: ends[0], 1: ends[1] // 2})
    server.run(
        f"SET 'processing.guarantee' = 'exactly_once_v2'; SET 'ksql.checkpoint.interval.ms' = '5000';"
        f"{EARLIEST} {archived(topic, path)}"
        f"CREATE TABLE sums WITH (KAFKA_TOPIC='{topic_names('sums')}') AS {SUMS};"
        f"CREATE TABLE hourly WITH (KAFKA_TOPIC='{topic_names('hours')}') AS {HOURS} EMIT CHANGES;"
    )
    server.has("SELECT k, c, s FROM sums;", records.sums())
    server.has("SELECT k, WINDOWSTART, c FROM hourly;", records.windows())
    server.engine.stop()
    records.send(100)
    server.start()
    server.has("SELECT k, c, s FROM sums;", records.sums())
    server.has("SELECT k, WINDOWSTART, c FROM hourly;", records.windows())
    server.has("SELECT k, COUNT(*), SUM(n) FROM trips GROUP BY k;", records.sums())
    server.has("SELECT n FROM trips WHERE n < 3;", [(0,), (1,), (2,)])
    for first, last in ((0, 950), (100, 300), (300, 949), (0, 0), (949, 949)):
        times = f"ROWTIME >= {records.sent[first][2]} AND ROWTIME <= {records.sent[min(last, 949)][2]}"
        wanted = [(n,) for _, n, _ in records.sent[first : last + 1]]
        server.has(f"SELECT n FROM trips WHERE {times};", wanted)
        server.has(f"SELECT COUNT(*) FROM trips WHERE {times};", [(len(wanted),)])
    (told,) = server.run("EXPLAIN SELECT n FROM trips WHERE ROWTIME < '2025-12-31';")
    assert f"Archive of topic {topic}: 0 of " in told.query_description.execution_plan
    # the archive is all that a query of its own needs, too
    files = f"read_parquet('{path}/*/*/*.parquet', hive_partitioning=true)"
    server.caught_up("kept", 950)
    found = duckdb.sql(f'SELECT COUNT(*), COUNT(DISTINCT (partition, "offset")) FROM {files}').fetchall()
    assert found == [(950, 950)]

    server.run(
        f"{EARLIEST} CREATE OR REPLACE TABLE sums WITH (EVOLVE='backfill') AS"
        " SELECT k, COUNT(*) AS c, SUM(n) * 2 AS s FROM trips GROUP BY k EMIT CHANGES;"
        f"CREATE TABLE replayed WITH (KAFKA_TOPIC='{topic_names('replayed')}', ORDER='event-time') AS {SUMS};"
    )
    server.has("SELECT k, c, s FROM sums;", [(k, c, 2 * s) for k, c, s in records.sums()])
    server.has("SELECT k, c, s FROM replayed;", records.sums())
    for more in ("", " WHERE n + 1 > 0"):
        pushed = server.first(f"SELECT k, n FROM trips{more} EMIT CHANGES LIMIT 950;")
        assert sorted(pushed) == sorted((k, n) for k, n, _ in records.sent)


def test_joins_sessions_and_a_start_in_the_past(
    server: Server, topic_names: Callable[[str], str], broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """Two archived streams that meet by time; what DuckDB says over all records is true."""
    sides, stream = {}, ""
    for seed, side in enumerate(("l", "r")):
        topic, path = topic_names(side), tmp_path / side
        server.run(archiving(topic, path, of=f"_{side}"))
        sides[side] = Records(broker.bootstrap_servers, topic, seed)
        sides[side].send(300)
        stream += archived(topic, path, side)
    admin = server.engine.services.admin
    for side, records in sides.items():
        server.caught_up(f"kept_{side}", 300)
        ends = {p: end for (_, p), end in admin.end_offsets(records.topic).items()}
        remove(broker.bootstrap_servers, records.topic, {p: end * (p + 1) // 3 for p, end in ends.items()})
    since = START_MS + 150 * 40_000
    server.run(
        f"{EARLIEST} {stream}"
        f"CREATE STREAM j WITH (KAFKA_TOPIC='{topic_names('j')}') AS SELECT l.k AS k, l.n AS a, r.n AS b"
        " FROM l JOIN r WITHIN 2 MINUTES GRACE PERIOD 2 HOURS ON l.k = r.k EMIT CHANGES;"
        f"CREATE TABLE se WITH (KAFKA_TOPIC='{topic_names('se')}') AS SELECT k, COUNT(*) AS c FROM l"
        " WINDOW SESSION (5 MINUTES, GRACE PERIOD 2 HOURS) GROUP BY k EMIT CHANGES;"
        f"CREATE STREAM late WITH (KAFKA_TOPIC='{topic_names('late')}', START={since}) AS SELECT k, n FROM l;"
    )
    for records in sides.values():
        records.send(50)
    for side, records in sides.items():
        values = ", ".join(f"('{k}', {n}, {time_ms})" for k, n, time_ms in records.sent)
        duckdb.sql(f"CREATE OR REPLACE TABLE {side} AS SELECT * FROM (VALUES {values}) AS v(k, n, t)")
    pairs = duckdb.sql(
        "SELECT l.k, l.n, r.n FROM l JOIN r ON l.k = r.k AND abs(l.t - r.t) <= 120000"
    ).fetchall()
    server.has("SELECT k, a, b FROM j;", pairs)
    sessions = duckdb.sql(
        "SELECT k, min(t), max(t), count(*) FROM (SELECT *, sum(new) OVER (PARTITION BY k ORDER BY t) AS s"
        " FROM (SELECT *, CASE WHEN t - lag(t) OVER (PARTITION BY k ORDER BY t) <= 300000 THEN 0 ELSE 1 END"
        " AS new FROM l)) GROUP BY k, s"
    ).fetchall()
    server.has("SELECT k, WINDOWSTART, WINDOWEND, c FROM se;", sessions)
    later = duckdb.sql(f"SELECT k, n FROM l WHERE t >= {since}").fetchall()
    until(lambda: set(later) <= set(server.rows("SELECT k, n FROM late;")))
    found = server.rows("SELECT k, n FROM late;")
    assert len(found) == len(set(found)) < 350  # the first ones are too early


def test_what_compaction_removes_is_read_from_the_archive(
    server: Server,
    topic_names: Callable[[str], str],
    broker: EmbeddedBroker,
    kafka_admin: KafkaAdmin,
    tmp_path: Path,
) -> None:
    topic, path = topic_names("trips"), tmp_path / "archive"
    often = {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "max.compaction.lag.ms": "1"}
    kafka_admin.create_topic(topic, 2, config={"cleanup.policy": "compact", **often})
    server.run(f"CREATE STREAM raw {STREAM.format(topic=topic, more='')}; {kept(path)}")
    records = Records(broker.bootstrap_servers, topic, seed=9)
    records.send(300)
    server.caught_up("kept", 300)
    server.run(f"CREATE STREAM plain {STREAM.format(topic=topic, more='')};")

    def is_compacted() -> bool:
        records.send(1)  # a segment that is written to is not compacted
        return int(server.rows("SELECT COUNT(*) FROM plain;")[0][0]) <= 100

    until(is_compacted)
    configure(broker.bootstrap_servers, topic, {"segment.ms": "3600000", "max.compaction.lag.ms": "3600000"})
    server.run(
        f"{EARLIEST} {archived(topic, path)}"
        f"CREATE TABLE sums WITH (KAFKA_TOPIC='{topic_names('sums')}') AS {SUMS};"
    )
    server.has("SELECT k, c, s FROM sums;", records.sums())
    server.has("SELECT k, COUNT(*), SUM(n) FROM trips GROUP BY k;", records.sums())
    records.send(50)
    server.has("SELECT k, c, s FROM sums;", records.sums())
    server.engine.stop()
    records.send(50)
    server.start()
    server.has("SELECT k, c, s FROM sums;", records.sums())
    server.has("SELECT k, COUNT(*), SUM(n) FROM trips GROUP BY k;", records.sums())


def test_retention_that_overtakes_a_query_and_what_is_lost(
    server: Server, topic_names: Callable[[str], str], broker: EmbeddedBroker, tmp_path: Path
) -> None:
    topic, path = topic_names("trips"), tmp_path / "archive"
    server.run(archiving(topic, path, 1))
    records = Records(broker.bootstrap_servers, topic, seed=3)
    records.send(100)
    server.caught_up("kept", 100)
    server.run(
        f"{EARLIEST} {archived(topic, path)}"
        f"CREATE TABLE sums WITH (KAFKA_TOPIC='{topic_names('sums')}') AS {SUMS};"
    )
    server.has("SELECT k, c, s FROM sums;", records.sums())
    server.run("PAUSE ALL;")
    records.send(200)
    server.caught_up("kept", 300)
    remove(broker.bootstrap_servers, topic, {0: 250})
    server.run("RESUME ALL;")
    server.has("SELECT k, c, s FROM sums;", records.sums())

    # 300 to 310 are nowhere any more, except those of a commit that was under way
    server.run("PAUSE SINK kept; PAUSE ALL;")
    records.send(30)
    remove(broker.bootstrap_servers, topic, {0: 310})
    server.run("RESUME ALL;")

    def is_all_but_the_lost() -> bool:
        kept = duckdb.sql(f"SELECT \"offset\" FROM read_parquet('{path}/*/*/*.parquet')").fetchall()
        lost = set(range(300, 310)) - {offset for (offset,) in kept}
        return server.rows("SELECT k, c, s FROM sums;") == sorted(records.sums(lost), key=str)

    until(is_all_but_the_lost)


def test_a_folder_that_is_not_there(
    server: Server, topic_names: Callable[[str], str], broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """As one that is not mounted, or an empty one in its place: nobody takes it for an archive of nothing."""
    topic, path, away = topic_names("trips"), tmp_path / "archive", tmp_path / "away"
    server.run(archiving(topic, path))
    records = Records(broker.bootstrap_servers, topic, seed=5)
    records.send(300)
    server.caught_up("kept", 300)
    server.run("PAUSE SINK kept;")
    remove(broker.bootstrap_servers, topic, {0: 50, 1: 60})
    server.run(archived(topic, path))
    path.rename(away)
    for is_mounted in (False, True):
        if is_mounted:
            path.mkdir()
        for sql in ("SELECT COUNT(*) FROM trips;", "SELECT k FROM trips EMIT CHANGES LIMIT 1;"):
            with pytest.raises(KsqlError, match="there is no archive"):
                server.engine.query(Request(sql, {"auto.offset.reset": "earliest"}))
        with pytest.raises(KsqlError, match="there is no archive"):
            server.run(f"CREATE TABLE sums WITH (START='earliest') AS {SUMS};")
    server.run("RESUME SINK kept;")
    records.send(20)
    server.failed("kept", "there is no archive")
    assert not list(path.iterdir())
    path.rmdir()
    away.rename(path)
    server.run(f"CREATE TABLE sums WITH (START='earliest') AS {SUMS};")
    server.has("SELECT * FROM sums;", records.sums())
    until(lambda: not server.described("kept").sink.lag)
    counted = "SELECT COUNT(*), COUNT(DISTINCT value) FROM read_parquet"
    assert duckdb.sql(f"{counted}('{path}/*/*/*.parquet')").fetchall() == [(320, 320)]


def test_files_of_others_then_live(
    server: Server, topic_names: Callable[[str], str], broker: EmbeddedBroker, tmp_path: Path
) -> None:
    """The recipe of docs/how-to/lake.md for Parquet files without offsets."""
    topic, old = topic_names("trips"), tmp_path / "old"
    old.mkdir()
    duckdb.sql(
        f"COPY (SELECT 'k' || (n % 3) AS k, n, make_timestamp(1000 * ({START_MS} + n * 1000)) AS began"
        f" FROM range(-500, 20) t(n)) TO '{old}/a.parquet'"  # it overlaps with the topic
    )
    server.run(
        f"CREATE STREAM live {STREAM.format(topic=topic, more=', PARTITIONS=1')};"
        "CREATE STREAM old (k STRING KEY, n INT, began TIMESTAMP) WITH (PARTITIONS=1,"
        f" KAFKA_TOPIC='{topic_names('old')}', LAKE='{old}', FORMAT='parquet', TIMESTAMP='began');"
    )
    producer = RecordProducer(broker.bootstrap_servers)

    def send(numbers: range) -> None:
        for n in numbers:
            value = f'{{"N": {n}}}'.encode()
            producer.send_async(topic, f"k{n % 3}".encode(), value, START_MS + n * 1_000)
        producer.flush()

    send(range(-10, 100))
    server.has("SELECT COUNT(*) FROM old;", [(520,)])
    server.run(
        f"CREATE STREAM whole WITH (KAFKA_TOPIC='{topic_names('whole')}', START='earliest') AS"
        " SELECT k, n FROM old WHERE ROWTIME < '2026-01-01';"
    )
    server.has("SELECT COUNT(*) FROM whole;", [(500,)])
    server.run(
        "INSERT INTO whole WITH (START='2026-01-01') SELECT k, n FROM live WHERE ROWTIME >= '2026-01-01';"
    )
    send(range(100, 150))
    server.has("SELECT COUNT(*) FROM whole;", [(650,)])
    found = server.first("SELECT n FROM whole EMIT CHANGES LIMIT 650;")
    assert found == [(n,) for n in range(-500, 150)]


def test_a_topic_that_is_made_again(
    server: Server, topic_names: Callable[[str], str], broker: EmbeddedBroker, tmp_path: Path
) -> None:
    topic, path = topic_names("trips"), tmp_path / "archive"
    server.run(archiving(topic, path, 1))
    Records(broker.bootstrap_servers, topic, seed=4).send(10)
    server.caught_up("kept", 10)
    server.run("DROP SINK kept; DROP STREAM raw DELETE TOPIC;")
    server.run(f"CREATE STREAM raw {STREAM.format(topic=topic, more=', PARTITIONS=1')};")
    with pytest.raises(KsqlError, match="has the records of topic"):
        server.run(kept(path))
    server.run(kept(f"{path}2"))
    server.engine.services.admin.delete_topics([topic])
    server.engine.services.admin.create_topic(topic)
    server.failed("kept", "has the records of topic")


def test_a_batch_over_an_archive_and_a_lake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ksql-spark run --batch: what is there, and nothing runs afterwards."""
    archive, lake, out = tmp_path / "archive", tmp_path / "lake", tmp_path / "out"
    lake.mkdir()
    (lake / "zones.csv").write_text("k,zone\n" + "".join(f"k{n},z{n % 2}\n" for n in range(5)))
    file = tmp_path / "pipeline.sql"
    with ServerProcess(tmp_path / "data") as server:
        server.ready()
        server.execute(archiving("trips", archive))
        records = Records(server.bootstrap_servers(), "trips", seed=6)
        records.send(1_000)
        until(lambda: sum(positions(server).values()) == 1_000)
        remove(server.bootstrap_servers(), "trips", {p: end // 2 for p, end in positions(server).items()})
        file.write_text(
            f"{archived('trips', archive)}"
            f"CREATE STREAM zones (k STRING KEY, zone STRING) WITH (LAKE='{lake}', FORMAT='csv');"
            f"CREATE TABLE sums AS {SUMS};"
            "CREATE TABLE zoned AS SELECT zone, COUNT(*) AS c FROM zones GROUP BY zone EMIT CHANGES;"
            "CREATE STREAM large AS SELECT * FROM trips WHERE n >= 500 EMIT CHANGES;"
            f"CREATE SINK large_files FROM large WITH (TYPE='parquet', PATH='{out}');"
        )
        assert main(["run", str(file), "--server", server.url, "--batch"]) == 0, capsys.readouterr().err
        (queries,), (sinks,) = server.execute("SHOW QUERIES;"), server.execute("SHOW SINKS;")
        assert not [q for q in queries["queries"] if q["queryType"] == "PERSISTENT"]
        assert [sink["name"] for sink in sinks["sinks"]] == ["KEPT"]
        sums = sorted(map(list, records.sums()))
        until(lambda: sorted(server.rows("SELECT k, c, s FROM sums;")) == sums)
        assert sorted(server.rows("SELECT zone, c FROM zoned;")) == [["z0", 3], ["z1", 2]]
        assert duckdb.sql(f"SELECT COUNT(*), MIN(N) FROM '{out}/*.parquet'").fetchall() == [(500, 500)]

        file.write_text(f"CREATE TABLE sums_then AS {SUMS};")
        as_of = ["--batch", "--as-of", str(records.sent[599][2])]
        assert main(["run", str(file), "--server", server.url, *as_of]) == 0, capsys.readouterr().err
        records.sent[600:] = []
        then = sorted(map(list, records.sums()))
        until(lambda: sorted(server.rows("SELECT k, c, s FROM sums_then;")) == then)
