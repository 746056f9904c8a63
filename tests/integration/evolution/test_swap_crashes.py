"""A server that is killed while a new version takes over a table completes that with its next start."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries import differences
from tests.integration import fake_spark
from tests.integration.server_process import ROOT
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PREFIX = "swaps_"
BEFORE = f"""
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '{PREFIX}s', VALUE_FORMAT = 'JSON', PARTITIONS = 3);
CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
CREATE OR REPLACE TABLE x WITH (EVOLVE = 'backfill', SWAP = 'manual') AS
  SELECT k, SUM(v) AS n FROM s GROUP BY k EMIT CHANGES;
"""
KEYS = 20_000
#: of each four keys one is the same in both versions, one differs, and either version has one alone
OLD = {b"k%d" % n: b'{"N":%d}' % n for n in range(KEYS) if n % 4 < 3}
NEW = {b"k%d" % n: b'{"N":%d}' % (n if n % 4 == 0 else -n) for n in range(KEYS) if n % 4 != 2}

COMPARED = "ksql_spark.runtime.queries.differences:TopicRows.read:after"
LOGGED = "ksql_spark.runtime.command_log:CommandLog.append:after"
OLD_ENDED = "ksql_spark.runtime.queries.manager:QueryManager.stop:after"
WRITING = "ksql_spark.kafka.transactions:TransactionalWriter.write:after"
WRITTEN = "ksql_spark.runtime.queries.topics:QueryTopics.forget:before"

Rows = dict[bytes | None, bytes | None]


@pytest.fixture
def config(kafka_admin: KafkaAdmin, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Of an engine whose topics are removed after the test."""
    yield {
        "bootstrap.servers": kafka_admin.servers,
        "ksql.spark.data.dir": str(tmp_path),
        "ksql.service.id": PREFIX,
        "ksql.output.topic.name.prefix": PREFIX,
    }
    mine = (PREFIX, f"_confluent-ksql-{PREFIX}")
    kafka_admin.delete_topics(topic for topic in kafka_admin.topics() if topic.startswith(mine))


def rows(admin: KafkaAdmin, topic: str) -> Rows:
    return {key: record.value for (_, key), record in differences.rows(admin, topic).items()}


def write(admin: KafkaAdmin, topic: str, made: dict[bytes, bytes]) -> None:
    producer = RecordProducer(admin.servers, linger_ms=5)
    for n, (key, value) in enumerate(made.items()):
        producer.send_async(topic, key, value, 1000 + n, partition=int(key[1:]) % 3)
    assert producer.flush() == 0
    producer.close()


def begin(engine: Engine) -> None:
    """Let a new version run beside the old one, each with rows of its own."""
    engine.execute(Request(BEFORE))
    admin = engine.services.admin
    (beside,) = evolution_topics(admin)
    write(admin, f"{PREFIX}X", OLD)
    write(admin, beside, NEW)


def evolution_topics(admin: KafkaAdmin) -> list[str]:
    return [topic for topic in admin.topics() if topic.endswith("-evolution")]


def state(engine: Engine) -> str:
    (entity,) = engine.execute(Request("DESCRIBE EVOLUTION x;"))
    return str(entity.state)  # type: ignore[attr-defined]


def until_completed(engine: Engine) -> None:
    until(lambda: state(engine) == "swapped", lambda: state(engine))
    admin = engine.services.admin
    assert rows(admin, f"{PREFIX}X") == NEW and evolution_topics(admin) == []
    assert len(engine.services.queries.all()) == 1


def dying(config: dict[str, Any], point: str, **more: str) -> subprocess.Popen[str]:
    """Another process with an engine, which kills itself at a point if there is one."""
    given = json.dumps({"config": config, **more} | ({"point": point} if point else {}))
    command = [sys.executable, "-m", "tests.integration.fake_spark", given]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "point", [pytest.param(LOGGED, id="it is logged"), pytest.param(WRITING, id="it is writing")]
)
def test_a_swap_that_is_killed_is_completed(point: str, config: dict[str, Any]) -> None:
    """By the same server, which finds the command in the log when it starts again."""
    engine = fake_spark.start(config)
    begin(engine)
    engine.stop()
    assert dying(config, point, text="SWAP x;").wait(TIMEOUT_S) == -signal.SIGKILL
    engine = fake_spark.start(config)
    try:
        until_completed(engine)
    finally:
        engine.stop()


@pytest.mark.parametrize(
    ("point", "asked", "is_swapped"),
    [
        pytest.param("", "", False, id="it is backfilling"),
        pytest.param(COMPARED, "second", False, id="it is verifying"),
        pytest.param(LOGGED, "second", True, id="it is logged"),
        pytest.param(OLD_ENDED, "first", True, id="the old version has ended"),
        pytest.param(WRITING, "first", True, id="it is writing"),
        pytest.param(WRITTEN, "first", True, id="it has written"),
    ],
)
def test_another_server_completes_the_swap_of_one_that_is_killed(
    point: str, asked: str, is_swapped: bool, config: dict[str, Any], kafka_admin: KafkaAdmin, tmp_path: Path
) -> None:
    shared = config | {"ksql.cluster.enabled": "true", "ksql.state.dir": str(tmp_path / "state")}

    def own(name: str) -> dict[str, Any]:
        folder, listener = str(tmp_path / name), f"http://{name}:8088"
        return shared | {"ksql.spark.data.dir": folder, "ksql.advertised.listener": listener}

    def places() -> set[tuple[str, str]]:
        (shown,) = engine.execute(Request("SHOW QUERIES;"))
        return {(query.state, query.host) for query in shown.queries}  # type: ignore[attr-defined]

    engine = fake_spark.start(own("first"))
    second = dying(own("second"), point)
    try:
        begin(engine)
        assert second.stdin is not None and second.stdout is not None
        assert second.stdout.readline() == "started\n"
        engine.cluster.drain()
        until(lambda: places() == {("RUNNING", "second:8088")})
        assert state(engine) == "caught up"
        if asked == "first":
            engine.execute(Request("SWAP x;"))
        elif asked == "second":
            second.stdin.write("SWAP x;\n")
            second.stdin.flush()
        else:
            second.kill()
        assert second.wait(TIMEOUT_S) == -signal.SIGKILL
        # what is sent last may not have come to the broker
        assert point == WRITING or rows(kafka_admin, f"{PREFIX}X") in (OLD, NEW)
        engine.cluster.serve()
        until(lambda: places() == {("RUNNING", "first:8088")})
        if not is_swapped:
            assert state(engine) == "caught up" and rows(kafka_admin, f"{PREFIX}X") == OLD
            engine.execute(Request("SWAP x;"))
        until_completed(engine)
    finally:
        second.kill()
        second.communicate()
        engine.stop()


def test_a_server_that_was_taken_for_dead_writes_no_differences(
    kafka_admin: KafkaAdmin, topic_names: Callable[..., str]
) -> None:
    topic = topic_names()
    kafka_admin.create_topic(topic, 1)

    def record(value: bytes) -> list[Record]:
        return [Record(topic, 0, 0, 1000, b"k", value)]

    with contextlib.closing(differences.writer(kafka_admin, f"{topic}-evolution")) as late:
        differences.write(late, topic, record(b"1"))
        with contextlib.closing(differences.writer(kafka_admin, f"{topic}-evolution")) as following:
            with pytest.raises(KsqlError):
                differences.write(late, topic, record(b"2"))
            assert rows(kafka_admin, topic) == {b"k": b"1"}
            differences.write(following, topic, record(b"3"))
    assert rows(kafka_admin, topic) == {b"k": b"3"}


def test_rows_are_read_on(kafka_admin: KafkaAdmin, topic_names: Callable[..., str]) -> None:
    """A second reading finds what has come since, and begins anew if the topic was recreated."""
    topic = topic_names()
    kafka_admin.create_topic(topic, 3)
    both = differences.TopicRows(topic)
    assert both.read(kafka_admin) == {}
    write(kafka_admin, topic, {b"k0": b"1", b"k1": b"2"})
    assert {key: record.value for (_, key), record in both.read(kafka_admin).items()} == rows(
        kafka_admin, topic
    )
    write(kafka_admin, topic, {b"k0": b"3", b"k2": b"4"})
    found = {key: record.value for (_, key), record in both.read(kafka_admin).items()}
    assert found == {b"k0": b"3", b"k1": b"2", b"k2": b"4"}
    kafka_admin.delete_topics([topic])
    kafka_admin.create_topic(topic, 3)
    assert both.read(kafka_admin) == {}
