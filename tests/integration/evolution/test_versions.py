"""SHOW VERSIONS, ROLLBACK, UNDROP and EXPLAIN ROW on a real engine."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ksql_spark.engine import Engine
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.answers import run
from tests.waiting import until

pytestmark = pytest.mark.kafka

PREFIX = "versions_"
TOPIC = f"{PREFIX}events"
STATEMENTS = f"""
CREATE STREAM events (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '{TOPIC}', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM kept WITH (KAFKA_TOPIC = '{PREFIX}kept') AS SELECT who, n FROM events WHERE n >= 10;
CREATE TABLE counted WITH (KAFKA_TOPIC = '{PREFIX}counted') AS
  SELECT who, COUNT(*) AS c FROM events WHERE n >= 10 GROUP BY who;
"""


def numbers(engine: Engine) -> list[int]:
    """What the stream's topic has."""
    with TopicReader(engine.services.admin.servers, f"{PREFIX}kept") as reader:
        found = [record for records in reader.read_to_end() for record in records]
    return sorted(json.loads(record.value)["N"] for record in found if record.value is not None)


@pytest.mark.long
def test_versions_and_rows(make_engine: Callable[..., Engine], broker: EmbeddedBroker) -> None:
    engine = make_engine()
    run(engine, STATEMENTS)
    producer = RecordProducer(broker.bootstrap_servers, linger_ms=5)

    def send(*values: int) -> None:
        for n in values:
            producer.send_async(TOPIC, b"p%d" % (n % 5), b'{"N": %d}' % n)
        producer.flush()

    send(*range(300))
    until(lambda: numbers(engine) == list(range(10, 300)), lambda: numbers(engine))

    told = run(engine, "EXPLAIN ROW FROM counted WHERE who = 'p1';")
    assert (told["used"], told["dropped"]) == (58, [{"reason": "WHERE (N >= 10) is not true", "count": 2}])
    assert sorted(r["columns"]["N"] for r in told["records"]) == [n for n in range(10, 300) if n % 5 == 1]
    assert {r["columns"]["WHO"] for r in told["records"]} == {"p1"} and len(told["records"]) == 58
    (one,) = run(engine, "EXPLAIN ROW FROM kept WHERE n = 42;")["records"]
    assert one["columns"] == {"WHO": "p2", "N": 42} and one["topic"] == TOPIC
    (one,) = run(engine, "EXPLAIN MISSING ROW FROM kept WHERE n = 7;")["records"]
    assert one["reason"] == "WHERE (N >= 10) is not true"

    run(engine, f"CREATE OR REPLACE STREAM kept WITH (KAFKA_TOPIC = '{PREFIX}kept') AS"
                " SELECT who, n FROM events WHERE n >= 1000;")  # fmt: skip
    send(300, 1000)
    wanted = [*range(10, 300), 1000]
    until(lambda: numbers(engine) == wanted, lambda: numbers(engine))
    engine.stop()
    engine = make_engine()
    assert [v["way"] for v in run(engine, "SHOW VERSIONS OF kept;")["versions"]] == ["created", "in-place"]
    run(engine, "ROLLBACK kept;")
    send(301)
    wanted = [*range(10, 300), 301, 1000]
    until(lambda: numbers(engine) == wanted, lambda: numbers(engine))

    run(engine, "DROP STREAM kept;")
    send(302)
    engine.stop()
    engine = make_engine()
    message = run(engine, "UNDROP STREAM kept;")["commandStatus"]["message"]
    assert message.endswith("Its query continues where it stopped.")
    send(303)
    wanted = [*range(10, 300), 301, 302, 303, 1000]
    until(lambda: numbers(engine) == wanted, lambda: numbers(engine))
    versions = run(engine, "SHOW VERSIONS OF kept;")["versions"]
    assert [v["way"] for v in versions] == ["created", "in-place", "in-place", "undropped"]
    assert versions[2]["isRollback"] and all(v["timestamp"] for v in versions)

    run(engine, "DROP STREAM kept;")
    engine.services.admin.delete_topics([TOPIC])
    engine.services.admin.create_topic(TOPIC, 2)
    send(*range(1000))
    with pytest.raises(KsqlError, match="was deleted and recreated since the DROP"):
        run(engine, "UNDROP STREAM kept;")
