"""Archives in an object store, on Kafka and Spark: retention removes records, and queries see them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.integration.s3_server import S3Server
from tests.integration.server_process import TIMEOUT_S, ServerProcess
from tests.integration.test_archives import STREAM, SUMS, Records, remove

pytestmark = [pytest.mark.kafka, pytest.mark.long]


def test_history_from_s3_then_live(tmp_path: Path) -> None:
    with S3Server() as s3, ServerProcess(tmp_path / "data", environment=s3.environment) as server:
        path = s3.folder("trips")
        server.ready()
        server.execute(
            f"CREATE STREAM raw {STREAM.format(topic='trips', more=', PARTITIONS=2')};"
            f"CREATE SINK kept FROM raw WITH (TYPE='parquet', PATH='{path}', ARCHIVE=true,"
            " COMMIT_INTERVAL='10 milliseconds');"
        )
        records = Records(server.bootstrap_servers(), "trips", seed=8)
        deadline = time.monotonic() + TIMEOUT_S

        def kept(count: int) -> dict[int, int]:
            while True:
                (told,) = server.execute("DESCRIBE SINK kept;")
                found = {p["partition"]: p["offset"] for p in told["positions"]}
                if sum(found.values()) == count:
                    return found
                assert time.monotonic() < deadline, told

        records.send(300)
        kept(300)
        records.send(200)
        remove(server.bootstrap_servers(), "trips", kept(500))
        records.send(50)
        archive = f", ARCHIVE='{path.replace('s3a', 's3')}'"
        server.execute(
            "SET 'auto.offset.reset' = 'earliest';"
            f"CREATE STREAM trips {STREAM.format(topic='trips', more=archive)};"
            f"CREATE TABLE sums AS {SUMS};"
        )
        wanted = sorted(map(list, records.sums()))
        while sorted(server.rows("SELECT k, c, s FROM sums;")) != wanted:
            assert time.monotonic() < deadline, (server.rows("SELECT k, c, s FROM sums;"), wanted)
            time.sleep(0.2)
        assert sorted(server.rows("SELECT k, COUNT(*), SUM(n) FROM trips GROUP BY k;")) == wanted
        assert not [key for key in s3.keys("trips/") if key.endswith(".tmp")]
