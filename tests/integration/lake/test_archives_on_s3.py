"""Archives in an object store, on Kafka and Spark: retention removes records, and queries see them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lake.archives import STREAM, SUMS, Records, remove
from tests.integration.s3_server import Gate, S3Server
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S

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
        files = len(s3.keys("trips/timestamp_DAY"))
        server.execute("COMPACT SINK kept;")
        while server.execute("DESCRIBE SINK kept;")[0]["lastCompactionMs"] is None:
            assert time.monotonic() < deadline
        assert len(s3.keys("trips/timestamp_DAY")) < files
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


def test_a_store_that_is_away_for_a_while(tmp_path: Path) -> None:
    """The sink and a query that needs the archive fail, and go on when it is back."""
    with S3Server() as s3, Gate(s3) as gate:
        environment = {**s3.environment, "AWS_ENDPOINT_URL": gate.url}
        with ServerProcess(tmp_path / "data", environment=environment) as server:
            path = s3.folder("trips")
            server.ready()
            archive = f", ARCHIVE='{path}'"
            server.execute(
                "SET 'auto.offset.reset' = 'earliest';"
                f"CREATE STREAM raw {STREAM.format(topic='trips', more=', PARTITIONS=2')};"
                f"CREATE SINK kept FROM raw WITH (TYPE='parquet', PATH='{path}', ARCHIVE=true,"
                " COMMIT_INTERVAL='10 milliseconds');"
                f"CREATE STREAM trips {STREAM.format(topic='trips', more=archive)};"
                f"CREATE TABLE sums AS {SUMS}; PAUSE ALL;"
            )
            records = Records(server.bootstrap_servers(), "trips", seed=9)
            deadline = time.monotonic() + 3 * TIMEOUT_S

            def wait(statement: str, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
                while not done(told := server.execute(statement)[0]):
                    assert time.monotonic() < deadline, told
                    time.sleep(0.1)
                return dict(told)

            records.send(300)
            told = wait("DESCRIBE SINK kept;", lambda t: sum(p["offset"] for p in t["positions"]) == 300)
            ends = {p["partition"]: p["offset"] for p in told["positions"]}
            remove(server.bootstrap_servers(), "trips", ends)
            gate.close()
            server.execute("RESUME ALL;")
            records.send(50)
            wait("DESCRIBE SINK kept;", lambda t: t["sink"]["state"] == "ERROR")
            wait("SHOW QUERIES;", lambda t: "ERROR" in str(t))  # after Hadoop's own attempts, two minutes
            gate.open()
            wanted = sorted(map(list, records.sums()))
            while sorted(server.rows("SELECT k, c, s FROM sums;")) != wanted:
                assert time.monotonic() < deadline, (server.rows("SELECT k, c, s FROM sums;"), wanted)
                time.sleep(0.2)
            wait("DESCRIBE SINK kept;", lambda t: t["sink"]["state"] == "RUNNING")
