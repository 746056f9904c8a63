"""What happens to bad records, counted and written: nothing is left out untold."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka


@pytest.fixture
def server(
    broker: EmbeddedBroker, spark_process: SparkProcess, kafka_admin: KafkaAdmin, tmp_path: Path
) -> Iterator[Engine]:
    """An engine with a processing log."""
    name = f"log_{uuid.uuid4().hex[:8]}"
    config = {
        "bootstrap.servers": broker.bootstrap_servers,
        "ksql.spark.data.dir": str(tmp_path),
        "ksql.service.id": name,
        "ksql.output.topic.name.prefix": name,
        "ksql.logging.processing.topic.auto.create": "true",
    }
    engine = Engine(Config(config), spark_process)
    engine.start()
    yield engine
    engine.stop()
    kafka_admin.delete_topics(t for t in kafka_admin.topics() if name in t)


def run(engine: Engine, text: str) -> list[Any]:
    """Run statements over all that their topics hold."""
    return engine.execute(Request(text, {"auto.offset.reset": "earliest"}))


def log_topic(engine: Engine) -> str:
    """The topic of the processing log."""
    return f"{engine.info().ksql_service_id}ksql_processing_log"


def read_until(
    reader: TopicReader, is_enough: Callable[[list[dict[str, Any]]], bool]
) -> list[dict[str, Any]]:
    """The entries of the log, once there are enough."""
    entries: list[dict[str, Any]] = []
    while not is_enough(entries):
        batch = reader.poll_batch(TIMEOUT_S)
        assert batch, f"nothing comes after {len(entries)} entries"
        entries += [json.loads(record.value or b"") for record in batch]
    return entries


def test_a_null_operand_has_an_entry_and_counts_no_error(
    server: Engine, broker: EmbeddedBroker, topic_names: Callable[[str], str]
) -> None:
    topic = topic_names("nulls")
    run(
        server,
        "CREATE STREAM s (a INT, b INT)"
        f" WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        "CREATE STREAM copy AS SELECT a / b AS q FROM s;"
        "INSERT INTO s (a) VALUES (1); INSERT INTO s (a, b) VALUES (1, 0);",
    )
    reader = TopicReader(broker.bootstrap_servers, log_topic(server))
    entries = read_until(reader, lambda found: len(found) == 2)
    reader.close()
    assert {entry["message"]["type"] for entry in entries} == {1}
    assert server.services.queries.figures.counts("CSAS_COPY_1").failed == 1


def test_a_flood_is_cut_short_and_the_rest_is_counted(
    server: Engine, broker: EmbeddedBroker, topic_names: Callable[[str], str], kafka_admin: KafkaAdmin
) -> None:
    bad, topic = 5000, topic_names("flood")
    kafka_admin.create_topic(topic)
    producer = RecordProducer(broker.bootstrap_servers)
    for _ in range(bad):
        producer.send_async(topic, None, b"{")
    producer.flush()
    producer.close()
    run(
        server,
        f"CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON');"
        "CREATE STREAM copy AS SELECT * FROM s;",
    )
    reader = TopicReader(broker.bootstrap_servers, log_topic(server))

    def left_out(entry: dict[str, Any]) -> int:
        told = entry["message"]["recordProcessingError"]["errorMessage"]
        return int(told.split()[0])

    def accounted(entries: list[dict[str, Any]]) -> int:
        return sum(left_out(e) if e["level"] == "WARN" else 1 for e in entries)

    entries = read_until(reader, lambda found: accounted(found) >= bad)
    reader.close()
    assert accounted(entries) == bad
    assert {e["logger"] for e in entries} == {"processing.CSAS_COPY_1.KsqlTopic.Source.deserializer"}
    assert entries[0]["message"]["type"] == 0
    assert entries[0]["message"]["productionError"] is None
    (answer,) = run(server, "DESCRIBE s EXTENDED;")
    assert f"consumer-failed-messages: {bad}" in answer.source_description.error_stats


def test_late_records_are_counted(
    server: Engine, broker: EmbeddedBroker, topic_names: Callable[[str], str]
) -> None:
    topic = topic_names("late")
    run(
        server,
        f"CREATE STREAM s (a INT, ts BIGINT) WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON',"
        " PARTITIONS = 1, TIMESTAMP = 'ts');"
        "CREATE TABLE counted WITH (KEY_FORMAT = 'JSON') AS SELECT a, COUNT(1 / a) AS n FROM s"
        " WINDOW TUMBLING (SIZE 1 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY a;",
    )
    for a, ts in ((1, 0), (1, 10_000), (1, 5), (1, 500), (0, 20_000)):
        run(server, f"INSERT INTO s (a, ts) VALUES ({a}, {ts});")
    reader = TopicReader(broker.bootstrap_servers, log_topic(server))
    *late, entry = read_until(reader, lambda found: found[-1:] != [] and found[-1]["level"] == "ERROR")
    reader.close()
    assert entry["logger"] == "processing.CTAS_COUNTED_1.Aggregate.Prepare"
    assert [(e["level"], e["logger"], e["input"]["offset"], e["late"]["grace"]) for e in late] == [
        ("INFO", "processing.CTAS_COUNTED_1.Late.Aggregate", 2, 9001),
        ("INFO", "processing.CTAS_COUNTED_1.Late.Aggregate", 3, 9001),
    ]
    sink = TopicReader(broker.bootstrap_servers, server.services.metastore.require("COUNTED").topic)
    count = 0
    while count < 3:  # one for each window that was open
        rows = sink.poll_batch(TIMEOUT_S)
        assert rows, f"nothing comes after {count} rows"
        count += len(rows)
    sink.close()
    (answer,) = run(server, "DESCRIBE counted EXTENDED;")
    assert answer.source_description.error_stats.startswith("processing-errors: 1  late-records-dropped: 2")
    advice = "Late records of CTAS_COUNTED_1: 2; GRACE PERIOD 10 SECONDS would have kept 99 % of them, "
    assert advice in answer.source_description.statistics


def test_records_whose_timestamps_are_no_dates_are_left_out(
    server: Engine, broker: EmbeddedBroker, topic_names: Callable[[str], str], kafka_admin: KafkaAdmin
) -> None:
    topic = topic_names("far")
    kafka_admin.create_topic(topic)
    run(
        server,
        f"CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON');"
        "CREATE STREAM copy AS SELECT * FROM s;",
    )
    far = [-(2**63), 2**63 - 1]
    producer = RecordProducer(broker.bootstrap_servers)
    for time_ms in (1000, *far, 2000):
        producer.send(topic, None, b'{"A": 1}', time_ms)
    producer.close()
    sink = TopicReader(broker.bootstrap_servers, server.services.metastore.require("COPY").topic)
    times: list[int] = []
    while len(times) < 2:
        batch = sink.poll_batch(TIMEOUT_S)
        assert batch, f"nothing comes after {times}"
        times += [record.timestamp_ms for record in batch]
    sink.close()
    assert times == [1000, 2000]
    reader = TopicReader(broker.bootstrap_servers, log_topic(server))
    entries = read_until(reader, lambda found: len(found) == 2)
    reader.close()
    errors = [entry["message"]["deserializationError"] for entry in entries]
    assert [e["cause"] for e in errors] == [[f"{ms} ms is too far from 1970."] for ms in far]
    assert [(e["target"], e["topic"], e["offset"]) for e in errors] == [
        ("timestamp", topic, 1),
        ("timestamp", topic, 2),
    ]
    (answer,) = run(server, "DESCRIBE s EXTENDED;")
    assert "consumer-failed-messages: 2" in answer.source_description.error_stats
    lines = server.query(Request(f"PRINT '{topic}' FROM BEGINNING LIMIT 4;"))
    shown: list[str] = []
    while (rows := lines.read(TIMEOUT_S)) is not None:
        shown += [str(row.values[0]) for row in rows]
    assert [line.split(", ")[0] for line in shown if line.startswith("rowtime")] == [
        "rowtime: 1970/01/01 00:00:01.000 Z",
        *(f"rowtime: {ms} ms" for ms in far),
        "rowtime: 1970/01/01 00:00:02.000 Z",
    ]
    with pytest.raises(KsqlError, match=f"Record at topic {topic} partition 0 offset 1 has timestamp value"):
        rows_of = server.query(Request("SELECT * FROM s;"))
        while rows_of.read(TIMEOUT_S) is not None:
            pass
