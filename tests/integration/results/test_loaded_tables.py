"""FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP meets the whole backlog of a table, however large."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.results.comparing import BEGAN_MS, HOUR_MS, PROPERTIES, Sink, wait_until_all_is_read

pytestmark = pytest.mark.kafka

#: more than a fetch brings
KEYS = 50_000
EACH = 20


@pytest.mark.parametrize(
    ("partitions", "mode"),
    [
        (12, "realtime"),
        *(pytest.param(*case, marks=pytest.mark.long) for case in ((1, "realtime"), (12, "microbatch"))),
    ],
)
def test_a_backlog_of_the_table_comes_first(engine: Engine, partitions: int, mode: str) -> None:
    x, admin = f"_loaded_{partitions}_{mode}", engine.services.admin
    for topic in (f"t{x}", f"l{x}"):
        admin.create_topic(topic, partitions, config={"retention.ms": "-1"})
    producer = RecordProducer(admin.servers, linger_ms=5)
    for value in ("old", "new"):
        for i in range(KEYS):
            body = json.dumps({"name": f"{value} {i}"}).encode()
            producer.send_async(f"t{x}", str(i).encode(), body, BEGAN_MS + HOUR_MS)
    for n in range(0, KEYS, EACH):
        producer.send_async(f"l{x}", str(n).encode(), json.dumps({"n": n}).encode(), BEGAN_MS)
    while producer.flush():
        pass
    producer.close()
    sinks = {
        f"by_key{x}": "SELECT l.k AS k, l.n AS n, t.name AS name FROM l{x} l"
        " LEFT JOIN t{x} t FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON l.k = t.k",
        f"re_keyed{x}": "SELECT l.n AS n, t.name AS name FROM l{x} l"
        " LEFT JOIN t{x} t FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON CAST(l.n AS STRING) = t.k"
        " PARTITION BY l.n",
    }
    engine.execute(
        Request(
            f"CREATE STREAM l{x} (k STRING KEY, n INT) WITH (KAFKA_TOPIC = 'l{x}', VALUE_FORMAT = 'JSON');"
            f"CREATE TABLE t{x} (k STRING PRIMARY KEY, name STRING)"
            f" WITH (KAFKA_TOPIC = 't{x}', VALUE_FORMAT = 'JSON');"
        )
    )
    properties = PROPERTIES | {"ksql.execution.mode": mode}
    for sink, query in sinks.items():
        statement = f"CREATE STREAM {sink} WITH (KAFKA_TOPIC = '{sink}') AS {query.format(x=x)};"
        engine.execute(Request(statement, properties))
    for name in sinks:
        wait_until_all_is_read(engine, name)
        engine.execute(Request(f"DROP STREAM {name};"))
        sink = Sink(admin.servers, name)
        sink.close()
        found = [json.loads(record.value or b"")["NAME"] for record in sink.records]
        assert Counter(found) == Counter(f"new {n}" for n in range(0, KEYS, EACH))
    engine.execute(Request(f"DROP STREAM l{x}; DROP TABLE t{x};"))
    admin.delete_topics([f"l{x}", f"t{x}", *sinks])
