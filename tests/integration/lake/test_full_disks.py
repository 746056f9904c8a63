"""A full disk under sinks: they say so where a user looks, and go on when there is space, each row once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from deltalake import DeltaTable

from tests.faults.places import SmallDisk
from tests.integration.lake.archives import STREAM, Records
from tests.integration.server_process import ServerProcess
from tests.waiting import until

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.long,
    pytest.mark.skipif(not SmallDisk.is_possible(), reason="only root may make file systems"),
]

KINDS = {
    "kept": "parquet', ARCHIVE = true, PATH = '",
    "files": "parquet', PATH = '",
    "rows": "delta', PATH = '",
}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    made = SmallDisk(tmp_path / "disk")
    yield made
    made.close()


def test_sinks_tell_of_a_full_disk(disk: SmallDisk, tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        server.ready()
        server.execute(f"CREATE STREAM trips {STREAM.format(topic='trips', more=', PARTITIONS=2')};")
        for name, kind in KINDS.items():
            server.execute(
                f"CREATE SINK {name} FROM trips"
                f" WITH (TYPE = '{kind}{disk.folder / name}', COMMIT_INTERVAL = '100 milliseconds');"
            )
        archive = f", ARCHIVE = '{disk.folder / 'kept'}'"
        server.execute(
            f"CREATE STREAM whole {STREAM.format(topic='trips', more=archive)};"
            "CREATE TABLE sums AS SELECT k, COUNT(*) AS c, SUM(n) AS s FROM whole GROUP BY k EMIT CHANGES;",
            **{"auto.offset.reset": "earliest"},
        )
        records = Records(server.bootstrap_servers(), "trips", seed=1)

        def sinks() -> dict[str, tuple[str, str, int]]:
            (shown,) = server.execute("SHOW SINKS;")
            return {
                each["name"]: (each["state"], each["reason"] or "", each["lag"]) for each in shown["sinks"]
            }

        def are_even() -> bool:
            return all(each == ("RUNNING", "", 0) for each in sinks().values())

        records.send(500)
        until(lambda: server.rows("SELECT k, c, s FROM sums;") and are_even(), sinks)
        with disk.full():
            records.send(500)
            until(
                lambda: all(s == "ERROR" and "No space left" in why for s, why, _ in sinks().values()), sinks
            )
            (told,) = server.execute("DESCRIBE SINK kept;")
            assert "No space left" in told["sink"]["reason"]
            until(
                lambda: (
                    sorted(map(tuple, server.rows("SELECT k, c, s FROM sums;"))) == sorted(records.sums())
                ),
                lambda: (server.rows("SELECT k, c, s FROM sums;"), records.sums()),
            )
        until(are_even, sinks)
        files = f"read_parquet('{disk.folder}/kept/*/*/*.parquet', hive_partitioning=true)"
        counts = duckdb.sql(f'SELECT COUNT(*), COUNT(DISTINCT (partition, "offset")) FROM {files}').fetchall()
        assert counts == [(1000, 1000)]
        wanted = list(range(1000))
        files = f"read_parquet('{disk.folder}/files/*.parquet')"
        assert [row[0] for row in duckdb.sql(f"SELECT N FROM {files} ORDER BY N").fetchall()] == wanted
        rows = DeltaTable(str(disk.folder / "rows")).to_pyarrow_table()
        assert sorted(rows["N"].to_pylist()) == wanted
        assert list((disk.folder / "kept" / "_ksql").glob("*.tmp")) == []
