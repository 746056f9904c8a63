"""The command log on a real broker: what others have written into its topic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.engine import Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from tests.integration import fake_spark

pytestmark = pytest.mark.kafka

PREFIX = "command_log_"
STREAM = f"(v INT) WITH (KAFKA_TOPIC = '{PREFIX}s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"


@pytest.fixture
def config(kafka_admin: KafkaAdmin, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Of an engine whose topics are removed after the test."""
    yield {
        "bootstrap.servers": kafka_admin.servers,
        "ksql.spark.data.dir": str(tmp_path),
        "ksql.service.id": PREFIX,
    }
    mine = (PREFIX, f"_confluent-ksql-{PREFIX}")
    kafka_admin.delete_topics(name for name in kafka_admin.topics() if name.startswith(mine))


def test_records_that_are_no_commands_are_skipped(config: dict[str, Any], tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = f"CREATE FUNCTION f () RETURNS INT LANGUAGE PYTHON AS $$open({str(said)!r}, 'w'); return 1$$"
    engine = fake_spark.start(config)
    try:
        engine.execute(Request(f"CREATE STREAM a {STREAM}"))
        log, servers = engine.services.log.topic, engine.services.admin.servers
    finally:
        engine.stop()
    forged = {"version": 1, "id": "function/F/create", "statement": code, "properties": {}, "starts": {}}
    producer = RecordProducer(servers)
    first = producer.send(log, None, b"garbage{")[1]
    for value in (b"garbage{", None, json.dumps(forged).encode()):
        producer.send(log, None, value)
    producer.close()
    engine = fake_spark.start(config)
    try:
        health = engine.health()["details"]["commandRunner"]
        assert health["isHealthy"]
        assert [record["offset"] for record in health["skipped"]] == [first, first + 1, first + 2, first + 3]
        assert {record["topic"] for record in health["skipped"]} == {log}
        (shown,) = engine.execute(Request("SHOW STREAMS;"))
        assert "A" in {stream["name"] for stream in shown["streams"]}
        assert f"{log}, partition 0, offset {first}" in shown["warnings"][0]["message"]
        engine.execute(Request(f"CREATE STREAM b {STREAM}"))
        assert engine.health()["details"]["commandRunner"]["isHealthy"]
    finally:
        engine.stop()
    assert not said.exists()
