"""The command log on a real broker: what others have written into its topic."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.engine import Request
from ksql_spark.entities import Entity
from ksql_spark.entities.sources import StreamsList
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from tests.integration import fake_spark
from tests.integration.server_process import ROOT

pytestmark = pytest.mark.kafka

PREFIX = "command_log_"
LOGGED = "ksql_spark.runtime.command_log:CommandLog.append:after"
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


def names_in(answer: Entity) -> set[str]:
    """The streams in an answer to SHOW STREAMS."""
    assert isinstance(answer, StreamsList)
    return {stream.name for stream in answer.streams}


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
        health = engine.health().details.command_runner
        assert health.is_healthy
        assert [record.offset for record in health.skipped] == [first, first + 1, first + 2, first + 3]
        assert {record.topic for record in health.skipped} == {log}
        (shown,) = engine.execute(Request("SHOW STREAMS;"))
        assert "A" in names_in(shown)
        assert f"{log}, partition 0, offset {first}" in shown.warnings[0].message
        engine.execute(Request(f"CREATE STREAM b {STREAM}"))
        assert engine.health().details.command_runner.is_healthy
    finally:
        engine.stop()
    assert not said.exists()


@pytest.mark.long
def test_one_server_per_service_id(config: dict[str, Any], tmp_path: Path) -> None:
    another = config | {"ksql.spark.data.dir": str(tmp_path / "another")}
    first = fake_spark.start(config)
    try:
        first.execute(Request(f"CREATE STREAM a {STREAM}"))
        with pytest.raises(KsqlError) as refused:
            fake_spark.start(another)
        assert refused.value.condition == "SERVICE_ID_IN_USE"
        assert f"process {os.getpid()} on " in refused.value.message and PREFIX in refused.value.message
        first.execute(Request(f"CREATE STREAM b {STREAM}"))
        assert first.health().details.command_runner.is_healthy
        third = {"ksql.spark.data.dir": str(tmp_path / "third"), "ksql.service.id": f"{PREFIX}other_"}
        fake_spark.start(config | third).stop()
    finally:
        first.stop()
    second = fake_spark.start(another)
    try:
        (shown,) = second.execute(Request("SHOW STREAMS;"))
        assert {"A", "B"} <= names_in(shown)
    finally:
        second.stop()


@pytest.mark.long
def test_a_server_that_was_killed_has_no_lease(config: dict[str, Any], tmp_path: Path) -> None:
    given = {"config": config, "text": f"CREATE STREAM a {STREAM}", "point": LOGGED}
    command = [sys.executable, "-m", "tests.integration.fake_spark", json.dumps(given)]
    died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    reports: list[str] = []
    same_folder = fake_spark.start(config, reports.append)
    try:
        assert not any(line.startswith("waiting") for line in reports)
        (shown,) = same_folder.execute(Request("SHOW STREAMS;"))
        assert "A" in names_in(shown)
        same_folder.execute(Request(f"CREATE STREAM b {STREAM}"))
    finally:
        same_folder.stop()
    died = subprocess.run(
        [*command[:-1], json.dumps(given | {"text": f"CREATE STREAM c {STREAM}"})],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert died.returncode == -signal.SIGKILL, died.stderr
    # Kafka has yet to notice that
    another = fake_spark.start(config | {"ksql.spark.data.dir": str(tmp_path / "another")})
    try:
        (shown,) = another.execute(Request("SHOW STREAMS;"))
        assert {"A", "B", "C"} <= names_in(shown)
    finally:
        another.stop()


@pytest.mark.long
def test_a_frozen_server_whose_place_was_taken_changes_nothing(
    config: dict[str, Any], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tests.integration.fake_spark", json.dumps({"config": config})]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdin is not None and first.stdout is not None
        try:
            assert first.stdout.readline() == "started\n"
            first.stdin.write(f"CREATE STREAM a {STREAM}\n")
            first.stdin.flush()
            assert first.stdout.readline() == "OK\n"
            first.send_signal(signal.SIGSTOP)
            another = fake_spark.start(config | {"ksql.spark.data.dir": str(tmp_path / "another")})
            try:
                end = another.services.log.end()
                first.send_signal(signal.SIGCONT)
                first.stdin.write(f"CREATE STREAM b {STREAM}\n")
                first.stdin.flush()
                assert first.stdout.readline() == "SERVICE_ID_TAKEN\n"
                assert another.services.log.end() == end
                another.execute(Request(f"CREATE STREAM b {STREAM}"))
            finally:
                another.stop()
        finally:
            first.kill()
