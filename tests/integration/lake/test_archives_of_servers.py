"""An archive that several servers write, compact and read at once: each record counts once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from ksql_spark.lake import manifests
from ksql_spark.lake.stores import Store
from tests.integration.cluster_servers import server as process
from tests.integration.lake.archives import EARLIEST, SUMS, Records, archived, archiving, positions, remove
from tests.integration.own_server import Server
from tests.integration.server_process import ServerProcess
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]


def counts(folder: Path) -> dict[int, int]:
    """How many records of each partition the archive's files have, which must have each of them once."""
    files = list(folder.glob("*/*/part-*.parquet"))
    if not files:
        return {}
    rows = duckdb.sql(
        'SELECT partition, COUNT(*), COUNT(DISTINCT "offset") FROM'
        f" read_parquet('{folder}/*/*/part-*.parquet', hive_partitioning=true) GROUP BY partition"
    ).fetchall()
    assert all(count == distinct for _, count, distinct in rows), rows
    return {partition: count for partition, count, _ in rows}


@contextlib.contextmanager
def both(folder: Path, servers: str) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    """Two servers that share queries."""
    with process(folder, "first", servers) as first, process(folder, "second", servers) as second:
        first.ready()
        second.ready()
        yield first, second


def await_records(folder: Path, count: int) -> None:
    """Wait until the archive has so many records."""

    def found() -> int:
        places = manifests.newest(Store(str(folder))).positions.values()
        return sum(offset for one in places for offset in one.values())

    until(lambda: found() >= count, found)


def has_sink(server: ServerProcess) -> bool:
    """Whether the sink runs on this server: only there DESCRIBE knows positions."""
    return bool(positions(server))


def test_a_server_is_lost_and_others_read(
    server: Server, clean_kafka: str, topic_names: Callable[[str], str], tmp_path: Path
) -> None:
    """Of two servers that share queries, the one with the sink is killed; an unrelated one reads, too."""
    topic, path, servers = topic_names("trips"), tmp_path / "archive", clean_kafka
    trips = f"{EARLIEST} {archived(topic, path)}"
    sums = f"CREATE TABLE {{name}} WITH (KAFKA_TOPIC='{{topic}}') AS {SUMS}"
    names = ("sums", "again")  # one for each server
    with both(tmp_path, servers) as (first, second):
        first.execute(archiving(topic, path))
        records = Records(servers, topic, seed=11)
        records.send(300)
        await_records(path, 300)
        if has_sink(second):
            first, second = second, first
        ends = {p: e for (_, p), e in server.engine.services.admin.end_offsets(topic).items()}
        remove(servers, topic, ends)
        first.execute(
            trips + "".join(sums.format(name=n, topic=topic_names(n)) + ";" for n in names),
            **{"processing.guarantee": "exactly_once_v2"},
        )
        server.run(trips + sums.format(name="beside", topic=topic_names("beside")) + ";")
        for _ in range(3):
            records.send(100)
            first.execute("COMPACT SINK kept;")
        first.crash()
        records.send(100)
        wanted = records.sums()
        for name in names:
            look_up = f"SELECT k, c, s FROM {name};"
            until(lambda look_up=look_up: sorted(map(tuple, second.rows(look_up))) == sorted(wanted))
        await_records(path, 700)
        second.execute("COMPACT SINK kept;")
        server.has("SELECT k, c, s FROM beside;", wanted)
        server.has("SELECT k, COUNT(*), SUM(n) FROM trips GROUP BY k;", wanted)
        ends = {p: e for (_, p), e in server.engine.services.admin.end_offsets(topic).items()}
        until(lambda: counts(path) == ends, lambda: (counts(path), ends))
