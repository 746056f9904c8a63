"""EMIT CHANGES EVERY over a backlog: few rows, and the last one of each key is right."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections import Counter, defaultdict

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.results.comparing import BEGAN_MS, PROPERTIES
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka

RECORDS = 6000
KEYS = 20
#: long enough that most records of a backlog are read in one interval
INTERVAL_S = 5
QUERIES = {
    "by_key": "SELECT k, SUM(n) AS total FROM {topic} GROUP BY k",
    "by_value": "SELECT g, SUM(n) AS total FROM {topic} GROUP BY g",
    "hops": "SELECT k, SUM(n) AS total FROM {topic}"
    " WINDOW HOPPING (SIZE 10 HOURS, ADVANCE BY 5 HOURS) GROUP BY k",
}


@pytest.mark.parametrize(
    "partitions", [pytest.param(1, marks=pytest.mark.long), 4, pytest.param(12, marks=pytest.mark.long)]
)
def test_a_backlog_gives_few_rows_and_all_last_ones(engine: Engine, partitions: int) -> None:
    topic, rng, admin = f"every_{partitions}", random.Random(partitions), engine.services.admin
    admin.create_topic(topic, partitions, config={"retention.ms": "-1"})
    producer = RecordProducer(admin.servers, linger_ms=5)
    expected: dict[str, Counter[str]] = defaultdict(Counter)
    for n in range(RECORDS):
        key, group = (str(rng.randrange(KEYS)) for _ in range(2))
        producer.send_async(topic, key.encode(), json.dumps({"g": group, "n": n}).encode(), BEGAN_MS + n)
        expected["by_key"][key] += n
        expected["by_value"][group] += n
    producer.close()
    start = BEGAN_MS // (5 * 3_600_000) * 5 * 3_600_000
    expected["hops"] = Counter(
        {
            f"{key}@{start - hop * 5 * 3_600_000}": total
            for key, total in expected["by_key"].items()
            for hop in (0, 1)
        }
    )
    source = f"CREATE STREAM {topic} (k STRING KEY, g STRING, n BIGINT) WITH (KAFKA_TOPIC = '{topic}',"
    engine.execute(Request(f"{source} VALUE_FORMAT = 'JSON');"))
    began = time.monotonic()
    for name, select in QUERIES.items():
        sink = f"{name}_{topic}"
        statement = (
            f"CREATE TABLE {sink} WITH (KAFKA_TOPIC = '{sink}') AS {select.format(topic=topic)}"
            f" EMIT CHANGES EVERY {INTERVAL_S} SECONDS;"
        )
        engine.execute(Request(statement, PROPERTIES))
    for name in QUERIES:
        rows: Counter[str] = Counter()
        last: dict[str, int] = {}
        with TopicReader(admin.servers, f"{name}_{topic}") as reader:
            while last != expected[name]:
                assert time.monotonic() < began + TIMEOUT_S, (name, last)
                for record in reader.poll_batch(0.5):
                    assert record.key is not None and record.value is not None
                    key = record.key.decode(errors="replace")
                    if name == "hops":
                        key = f"{record.key[:-8].decode()}@{int.from_bytes(record.key[-8:], 'big')}"
                    rows[key] += 1
                    last[key] = json.loads(record.value)["TOTAL"]
        most = (time.monotonic() - began) / INTERVAL_S + 2
        assert max(rows.values()) <= most < RECORDS / KEYS
    push = f"{QUERIES['by_key'].format(topic=topic)} EMIT CHANGES EVERY 1 SECOND;"
    pushed: dict[str, int] = {}
    with contextlib.closing(engine.query(Request(push, PROPERTIES))) as stream:
        while pushed != expected["by_key"]:
            assert time.monotonic() < began + 2 * TIMEOUT_S, pushed
            pushed.update(tuple(row.values) for row in stream.read(0.5) or ())
    engine.execute(Request("".join(f"DROP TABLE {name}_{topic};" for name in QUERIES)))
