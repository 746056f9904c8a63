"""Events, queries that copy and count them, and whether a server has the right results."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable

from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

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
    right = expected(count)
    per_minute = Counter((f"p{n % PEOPLE}", n // 60 * 60_000) for n in range(count))

    def counts() -> dict[str, tuple[int, int]]:
        found = {who: (c, total) for who, c, total in server.rows("SELECT who, c, total FROM counts;")}
        assert all(c <= right[who][0] for who, (c, _) in found.items()), (found, right)
        return found

    def windows() -> dict[tuple[str, int], int]:
        rows = server.rows("SELECT who, WINDOWSTART, c FROM per_minute;")
        return {(who, start): c for who, start, c in rows}

    until(lambda: counts() == right, lambda: (counts(), right))
    until(lambda: windows() == per_minute, lambda: (windows(), per_minute))


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
