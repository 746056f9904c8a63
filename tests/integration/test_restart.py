"""A server that is stopped, or killed with all it has started, goes on where it was."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.server_process import TIMEOUT_S, ServerProcess

pytestmark = pytest.mark.kafka

STATEMENTS = """
CREATE TYPE money AS DOUBLE;
CREATE STREAM events (who STRING KEY, n INT, price money)
  WITH (KAFKA_TOPIC = 'events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM copies AS SELECT who, n, price FROM events WHERE n >= 0 EMIT CHANGES;
CREATE TABLE counts AS SELECT who, COUNT(*) AS c, SUM(n) AS total FROM events GROUP BY who EMIT CHANGES;
CREATE TABLE per_minute AS
  SELECT who, COUNT(*) AS c FROM events WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY who EMIT CHANGES;
CREATE STREAM gone AS SELECT * FROM events EMIT CHANGES;
"""
PEOPLE = 10
#: between two looks at a table, so that looking does not take the time of what it waits for
POLL_S = 0.2


def produce(server: ServerProcess, numbers: Iterable[int]) -> None:
    """Write one event for each number; its time is that many seconds."""
    producer = RecordProducer(server.bootstrap_servers(), linger_ms=5)
    for n in numbers:
        value = json.dumps({"n": n, "price": n / 2}).encode()
        producer.send_async("events", b"p%d" % (n % PEOPLE), value, timestamp_ms=n * 1000 + 1)
    producer.flush()
    producer.close()


def expected(count: int) -> dict[str, tuple[int, int]]:
    """COUNTS after the events 0 … count - 1."""
    return {
        f"p{p}": (len(range(p, count, PEOPLE)), sum(range(p, count, PEOPLE)))
        for p in range(min(PEOPLE, count))
    }


def wait_for_counts(server: ServerProcess, count: int) -> None:
    """Wait until the tables are what ``count`` events make of them; more than that is an error at once."""
    deadline = time.monotonic() + TIMEOUT_S
    wanted = expected(count)
    while True:
        rows = server.rows("SELECT who, c, total FROM counts;")
        found = {who: (c, total) for who, c, total in rows}
        if found == wanted:
            break
        over = {who: got for who, got in found.items() if got[0] > wanted[who][0]}
        assert not over and time.monotonic() < deadline, (found, wanted)
        time.sleep(POLL_S)
    per_minute = Counter((f"p{n % PEOPLE}", n // 60 * 60_000) for n in range(count))
    while True:
        windows = server.rows("SELECT who, WINDOWSTART, c FROM per_minute;")
        counts = {(who, start): c for who, start, c in windows}
        if counts == per_minute:
            return
        assert time.monotonic() < deadline, (counts, per_minute)
        time.sleep(POLL_S)


def check_copies(server: ServerProcess, count: int) -> None:
    """Every event is in COPIES, though one may be there twice."""
    deadline = time.monotonic() + TIMEOUT_S
    missing = set(range(count))
    with TopicReader(server.bootstrap_servers(), "COPIES") as reader:
        while missing:
            assert time.monotonic() < deadline, f"missing: {sorted(missing)}"
            for record in reader.poll_batch(0.5):
                assert record.value is not None
                value = json.loads(record.value)
                assert record.timestamp_ms == value["N"] * 1000 + 1
                assert value["PRICE"] == value["N"] / 2
                missing.discard(value["N"])


def names(server: ServerProcess) -> dict[str, list[str]]:
    """What there is, by kind."""
    entities = server.execute("SHOW STREAMS; SHOW TABLES; SHOW QUERIES; SHOW TYPES;")
    streams, tables, queries, types = entities
    return {
        "streams": sorted(s["name"] for s in streams["streams"]),
        "tables": sorted(t["name"] for t in tables["tables"]),
        "queries": sorted(q["id"] for q in queries["queries"]),
        "types": sorted(types["types"]),
    }


@pytest.mark.long
@pytest.mark.parametrize(
    "cached", [pytest.param(33_554_432, id="large cache"), pytest.param(1000, id="tiny cache")]
)
def test_nothing_is_lost(tmp_path: Path, cached: int) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(f"ksql.state.cache.max.bytes={cached}\n", encoding="utf-8")
    data, options = tmp_path / "data", ("--properties", str(properties))
    with ServerProcess(data, *options) as server:
        server.ready()
        server.execute(STATEMENTS)
        server.execute("DROP STREAM gone;")
        there = names(server)
        assert [*there["streams"], *there["tables"]] == ["COPIES", "EVENTS", "COUNTS", "PER_MINUTE"]
        assert len(there["queries"]) == 3
        produce(server, range(400))
        wait_for_counts(server, 400)
        # these are killed on their way
        produce(server, range(400, 700))
        server.crash()
    with ServerProcess(data, *options) as server:
        server.ready()
        assert names(server) == there
        produce(server, range(700, 1000))
        wait_for_counts(server, 1000)
        assert server.stop() == (0, "stopping\nstopped\n", "")
        assert server.pids() == []
    with ServerProcess(data, *options) as server:
        server.ready()
        assert names(server) == there
        produce(server, range(1000, 1300))
        wait_for_counts(server, 1300)
        check_copies(server, 1300)
        # the command log is read to its end: new statements follow the old ones
        server.execute("DROP STREAM copies;")
        assert server.stop()[0] == 0
        server.wait_until_alone()
