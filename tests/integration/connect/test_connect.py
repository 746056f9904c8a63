"""The embedded Connect worker: from a file to a file by way of a query, also after crashes and restarts."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.services.child import is_alive
from ksql_spark.services.connect_on_demand import ConnectOnDemand
from ksql_spark.services.connect_worker import EmbeddedConnect
from tests.integration.answers import one
from tests.waiting import until

pytestmark = pytest.mark.kafka

PREFIX = f"connect_{uuid.uuid4().hex[:8]}_"
STRINGS = "\"value.converter\" = 'org.apache.kafka.connect.storage.StringConverter'"


def states(engine: Engine) -> dict[str, str]:
    rows = one(engine, "SHOW CONNECTORS;").connectors
    return {row.name: row.state for row in rows}


def worker_of(engine: Engine) -> EmbeddedConnect:
    return cast(EmbeddedConnect, cast(ConnectOnDemand, engine.services.connect).worker)


@pytest.mark.long
def test_from_a_file_to_a_file(make_engine: Callable[[], Engine], tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    there.write_text('{"id": 1}\n{"id": 2}\n')

    def arrived(*ids: int) -> None:
        until(lambda: here.exists() and here.read_text() == "".join(f'{{"ID":{n}}}\n' for n in ids))

    engine = make_engine()
    assert states(engine) == {} and not worker_of(engine).is_running()
    one(
        engine,
        f"""CREATE SOURCE CONNECTOR lines WITH ("connector.class" = 'FileStreamSource',
        "file" = '{there}', "topic" = '{PREFIX}lines', {STRINGS});""",
    )
    described = one(engine, "DESCRIBE CONNECTOR lines;")
    assert described.status["connector"]["state"] == "RUNNING"
    until(lambda: one(engine, "DESCRIBE CONNECTOR lines;").topics == (f"{PREFIX}lines",))
    one(engine, f"CREATE STREAM s (id INT) WITH (KAFKA_TOPIC = '{PREFIX}lines', VALUE_FORMAT = 'JSON');")
    one(engine, f"CREATE STREAM o WITH (KAFKA_TOPIC = '{PREFIX}o') AS SELECT id * 10 AS id FROM s;")
    one(
        engine,
        f"""CREATE SINK CONNECTOR out WITH ("connector.class" = 'FileStreamSink',
        "file" = '{here}', "topics" = '{PREFIX}o', {STRINGS});""",
    )
    arrived(10, 20)

    topics = {t.name: t for t in one(engine, "SHOW TOPICS EXTENDED;").topics}
    assert topics[f"{PREFIX}lines"].connectors == ("LINES",)
    assert topics[f"{PREFIX}o"].connectors == ()
    assert not [name for name in topics if "connect-" in name]  # the worker's own are hidden

    one(
        engine,
        f"""CREATE SINK CONNECTOR astray WITH ("connector.class" = 'FileStreamSink',
        "file" = '/nowhere/file', "topics" = '{PREFIX}o');""",
    )
    until(lambda: states(engine)["ASTRAY"].startswith("FAILED"))
    (warning,) = one(engine, "SHOW CONNECTORS;").warnings
    assert "Connector ASTRAY, task 0 is FAILED" in warning.message and "/nowhere/file" in warning.message
    one(engine, "DROP CONNECTOR astray;")
    assert set(states(engine)) == {"LINES", "OUT"}

    pid = worker_of(engine).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: one(engine, "SHOW CONNECTORS;").warnings)
    answer = one(engine, "SHOW CONNECTORS;")
    assert "The embedded Connect worker has ended: it was ended by signal 9" in answer.warnings[0].message
    assert {row.state.split()[0] for row in answer.connectors} == {"UNASSIGNED"}
    health = engine.health()
    assert health.is_healthy and health.details.connect is not None and not health.details.connect.is_healthy
    with there.open("a") as file:
        file.write('{"id": 3}\n')
    until(lambda: here.read_text().endswith('{"ID":30}\n'))
    until(lambda: set(states(engine).values()) == {"RUNNING (1/1 tasks RUNNING)"})

    pid = worker_of(engine).pid
    engine.stop()
    assert pid is not None and not is_alive(pid)
    with there.open("a") as file:
        file.write('{"id": 4}\n')
    make_engine()  # nobody asks for a connector
    until(lambda: here.read_text().endswith('{"ID":40}\n'))


@pytest.mark.skipif(os.environ.get("STORIES") != "all", reason="make test-stories runs it")
def test_a_stream_takes_its_columns_from_the_registry(
    make_engine: Callable[[], Engine], tmp_path: Path
) -> None:
    there = tmp_path / "there"
    there.write_text("one\ntwo\n")
    engine = make_engine()
    one(
        engine,
        f"""CREATE SOURCE CONNECTOR lines WITH ("connector.class" = 'FileStreamSource',
        "file" = '{there}', "topic" = '{PREFIX}avro', "value.converter" = 'AvroConverter',
        "transforms" = 'hoist', "transforms.hoist.field" = 'line',
        "transforms.hoist.type" = 'org.apache.kafka.connect.transforms.HoistField$Value');""",
    )
    until(lambda: f"{PREFIX}avro" in {t.name for t in one(engine, "SHOW TOPICS;").topics})
    topics = {t.name: t for t in one(engine, "SHOW TOPICS;").topics}
    assert topics[f"{PREFIX}avro"].connectors == ("LINES",)
    one(engine, f"CREATE STREAM s WITH (KAFKA_TOPIC = '{PREFIX}avro', VALUE_FORMAT = 'AVRO');")
    description = one(engine, "DESCRIBE s;").source_description
    assert [(f.name, f.schema.type) for f in description.fields] == [("LINE", "STRING")]
    stream = engine.query(
        Request("SELECT line FROM s EMIT CHANGES LIMIT 2;", {"auto.offset.reset": "earliest"})
    )
    found: list[Any] = []
    while (batch := stream.read(10.0)) is not None:
        found += [row.values[0] for row in batch]
    stream.close()
    assert found == ["one", "two"]
