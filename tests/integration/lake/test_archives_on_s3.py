"""Archives in an object store, on Kafka and Spark: retention removes records, and queries see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.lake.archives import EARLIEST, SUMS, Records, archived, archiving, positions, remove
from tests.integration.s3_server import Gate, S3Server
from tests.integration.server_process import ServerProcess
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]


def test_history_from_s3_then_live(tmp_path: Path) -> None:
    with S3Server() as s3, ServerProcess(tmp_path / "data", environment=s3.environment) as server:
        path = s3.folder("trips")
        server.ready()
        server.execute(archiving("trips", path))
        records = Records(server.bootstrap_servers(), "trips", seed=8)
        for count in (300, 500):
            records.send(count - len(records.sent))
            until(lambda count=count: sum(positions(server).values()) == count)  # type: ignore[misc]
        remove(server.bootstrap_servers(), "trips", positions(server))
        files = len(s3.keys("trips/timestamp_DAY"))
        server.execute("COMPACT SINK kept;")
        until(lambda: server.execute("DESCRIBE SINK kept;")[0]["lastCompactionMs"] is not None)
        assert len(s3.keys("trips/timestamp_DAY")) < files
        records.send(50)
        trips = archived("trips", path.replace("s3a", "s3"))
        server.execute(f"{EARLIEST} {trips} CREATE TABLE sums AS {SUMS};")
        wanted = sorted(map(list, records.sums()))
        until(lambda: sorted(server.rows("SELECT k, c, s FROM sums;")) == wanted)
        assert sorted(server.rows("SELECT k, COUNT(*), SUM(n) FROM trips GROUP BY k;")) == wanted
        assert not [key for key in s3.keys("trips/") if key.endswith(".tmp")]


def test_a_store_that_is_away_for_a_while(tmp_path: Path) -> None:
    """The sink and a query that needs the archive fail, and go on when it is back."""
    with S3Server() as s3, Gate(s3) as gate:
        environment = {**s3.environment, "AWS_ENDPOINT_URL": gate.url}
        with ServerProcess(tmp_path / "data", environment=environment) as server:
            path = s3.folder("trips")
            server.ready()
            server.execute(
                f"{EARLIEST} {archiving('trips', path)} {archived('trips', path)}"
                f"CREATE TABLE sums AS {SUMS}; PAUSE ALL;"
            )
            records = Records(server.bootstrap_servers(), "trips", seed=9)

            def sink_is(state: str) -> bool:
                return bool(server.execute("DESCRIBE SINK kept;")[0]["sink"]["state"] == state)

            records.send(300)
            until(lambda: sum(positions(server).values()) == 300)
            remove(server.bootstrap_servers(), "trips", positions(server))
            gate.close()
            server.execute("RESUME ALL;")
            records.send(50)
            until(lambda: sink_is("ERROR"))
            # after Hadoop's own attempts, two minutes
            until(lambda: "ERROR" in str(server.execute("SHOW QUERIES;")))
            gate.open()
            wanted = sorted(map(list, records.sums()))
            until(lambda: sorted(server.rows("SELECT k, c, s FROM sums;")) == wanted)
            until(lambda: sink_is("RUNNING"))
