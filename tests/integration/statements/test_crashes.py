"""A server that is killed in the middle of a statement has carried it out as a whole, or not at all."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.queries.managed import internal_topics
from tests.integration import fake_spark
from tests.integration.server_process import ROOT

pytestmark = pytest.mark.kafka

PREFIX = "crashes_"
BEFORE = f"""
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = '{PREFIX}s', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM a AS SELECT * FROM s EMIT CHANGES;
CREATE TABLE b AS
  SELECT n, COUNT(*) AS m FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) GROUP BY n EMIT CHANGES;
"""
THERE = {"S", "A", "B"}
#: statement, and what there is once it was carried out
MAKE_TOPIC = f"CREATE STREAM c (k INT) WITH (KAFKA_TOPIC='{PREFIX}c', VALUE_FORMAT='JSON', PARTITIONS=1);"
MAKE_STREAM = "CREATE STREAM c AS SELECT * FROM s EMIT CHANGES;"
MAKE_TABLE = "CREATE TABLE c" + BEFORE.partition("CREATE TABLE b")[2]
DROP_STREAM, DROP_TABLE = "DROP STREAM a DELETE TOPIC;", "DROP TABLE b DELETE TOPIC;"
TERMINATE = "TERMINATE ALL;"
TOPIC_MADE = "ksql_spark.kafka.admin:KafkaAdmin.create_topic:after"
STARTED = "ksql_spark.runtime.queries.manager:QueryManager.start_new:after"
STOPPED = "ksql_spark.runtime.queries.manager:QueryManager._kill:after"
NOT_LOGGED = "ksql_spark.runtime.command_log:CommandLog.append:before"
LOGGED = "ksql_spark.runtime.command_log:CommandLog.append:after"
STATE_GONE = "ksql_spark.runtime.queries.checkpoint_folders:QueryCheckpoints.remove:after"


@pytest.fixture
def config(kafka_admin: KafkaAdmin, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Of an engine whose topics are removed after the test."""
    yield {
        "bootstrap.servers": kafka_admin.servers,
        "ksql.spark.data.dir": str(tmp_path),
        "ksql.service.id": PREFIX,
        "ksql.output.topic.name.prefix": PREFIX,
    }
    kafka_admin.delete_topics(topics(kafka_admin))


def topics(admin: KafkaAdmin) -> list[str]:
    return [t for t in admin.topics() if t.startswith((PREFIX, f"_confluent-ksql-{PREFIX}"))]


def check_whole(engine: Engine, admin: KafkaAdmin, folder: Path) -> set[str]:
    """Everything that is there belongs to something, and the other way round; the names of the sources."""
    services = engine.services
    queries, sources = services.queries.all(), services.metastore.sources()
    owned = {services.log.topic, *(source.topic for source in sources)}
    owned |= {topic for query in queries for topic in internal_topics(query.plan)}
    assert {t for t in topics(admin) if "processing_log" not in t} == owned
    assert {p.name for p in (folder / "checkpoints").iterdir()} == {query.id for query in queries}
    assert {query.plan.sink.name for query in queries} <= {source.name for source in sources}
    assert not (folder / "pending.json").exists()
    return {source.name for source in sources if "PROCESSING_LOG" not in source.name}


#: make test-long tries these moments
LONG = pytest.mark.long


@pytest.mark.parametrize(
    "text, point, after",
    [
        pytest.param(MAKE_TOPIC, TOPIC_MADE, THERE, id="CREATE STREAM, its topic is made", marks=LONG),
        pytest.param(MAKE_STREAM, TOPIC_MADE, THERE, id="CREATE AS, the sink is made", marks=LONG),
        pytest.param(MAKE_TABLE, STARTED, THERE | {"C"}, id="CREATE AS, the query runs", marks=LONG),
        pytest.param(MAKE_TABLE, NOT_LOGGED, THERE, id="CREATE AS, before it is logged", marks=LONG),
        pytest.param(MAKE_TABLE, LOGGED, THERE | {"C"}, id="CREATE AS, after it is logged"),
        pytest.param(DROP_TABLE, STOPPED, THERE - {"B"}, id="DROP, the query is stopped", marks=LONG),
        pytest.param(DROP_TABLE, NOT_LOGGED, THERE, id="DROP, before it is logged", marks=LONG),
        pytest.param(DROP_TABLE, LOGGED, THERE - {"B"}, id="DROP, after it is logged", marks=LONG),
        pytest.param(DROP_STREAM, STATE_GONE, THERE - {"A"}, id="DROP, the state is removed", marks=LONG),
        pytest.param(TERMINATE, NOT_LOGGED, THERE, id="TERMINATE, before it is logged", marks=LONG),
        pytest.param(TERMINATE, LOGGED, THERE, id="TERMINATE, after it is logged", marks=LONG),
    ],
)
def test_a_statement_is_carried_out_or_not(
    text: str, point: str, after: set[str], config: dict[str, Any], kafka_admin: KafkaAdmin, tmp_path: Path
) -> None:
    engine = fake_spark.start(config)
    engine.execute(Request(BEFORE))
    assert check_whole(engine, kafka_admin, tmp_path) == THERE
    marks = {p: p.stat().st_ino for p in (tmp_path / "checkpoints").iterdir()}
    engine.stop()
    given = json.dumps({"config": config, "text": text, "point": point})
    command = [sys.executable, "-m", "tests.integration.fake_spark", given]
    died = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    engine = fake_spark.start(config)
    try:
        assert check_whole(engine, kafka_admin, tmp_path) == after
        # what goes on has the state that it had
        assert all(p.stat().st_ino == marks[p] for p in (tmp_path / "checkpoints").iterdir() if p in marks)
        if after == THERE and text != TERMINATE:
            engine.execute(Request(text))
            check_whole(engine, kafka_admin, tmp_path)
    finally:
        engine.stop()
