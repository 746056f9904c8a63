"""What a server answers before Spark runs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.queries import Queries
from ksql_spark.runtime.driver.startup import SparkStart
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

SCENE = """
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE t AS SELECT k, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;
CREATE STREAM unwanted AS SELECT * FROM s EMIT CHANGES;
INSERT INTO s VALUES ('a', 1);
"""
LOOK_UP = "SELECT total FROM t WHERE k = 'a';"


def rows(engine: Engine, text: str) -> list[list[Any]]:
    stream, found = engine.query(Request(text)), []
    while (page := stream.read(1.0)) is not None:
        found += [row.values for row in page]
    stream.close()
    return found


@pytest.mark.long
def test_look_ups_do_not_wait_for_spark(
    spark_process: SparkProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedBroker(tmp_path / "kafka", port=0) as broker:
        config = Config({"ksql.spark.data.dir": str(tmp_path), "bootstrap.servers": broker.bootstrap_servers})
        first = Engine(config, spark_process)
        try:
            first.start()
            first.execute(Request(SCENE))
            until(lambda: rows(first, LOOK_UP) == [[1]])
        finally:
            first.stop()
        _while_spark_starts(Engine(config, spark_process), monkeypatch)


def _while_spark_starts(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    starts, serves = threading.Event(), threading.Event()
    monkeypatch.setattr(SparkStart, "join", lambda self: starts.wait(TIMEOUT_S))
    try:
        with ThreadPoolExecutor() as pool:
            started = pool.submit(engine.start, lambda text: None, serves.set)
            until(lambda: serves.is_set() or started.done())
            assert engine.info().server_status == "RUNNING" and not started.done()
            # without Spark
            assert rows(engine, LOOK_UP) == [[1]] and rows(engine, "SELECT * FROM t;") == [["a", 1]]
            (shown,) = engine.execute(Request("SHOW QUERIES;"))
            assert isinstance(shown, Queries) and {query.state for query in shown.queries} == {"REGISTERED"}
            engine.execute(Request("DESCRIBE t EXTENDED;"))
            engine.execute(Request("INSERT INTO s VALUES ('a', 2);"))
            health = engine.health()
            assert not health.is_healthy
            assert health.details.queries.starting == tuple(q.id for q in shown.queries)
            # with Spark
            created = pool.submit(engine.execute, Request("CREATE STREAM u AS SELECT * FROM s EMIT CHANGES;"))
            dropped = pool.submit(engine.execute, Request("DROP STREAM unwanted;"))
            computed = pool.submit(rows, engine, "SELECT UCASE(k) AS k FROM t WHERE k = 'a';")
            grouped = pool.submit(rows, engine, "SELECT total, COUNT(*) AS n FROM t GROUP BY total;")
            assert not any(one.done() for one in (created, dropped, grouped))
            starts.set()
            started.result(TIMEOUT_S)
            created.result(TIMEOUT_S)
            dropped.result(TIMEOUT_S)
            assert computed.result(TIMEOUT_S) == [["A"]]
            grouped.result(TIMEOUT_S)
        until(lambda: rows(engine, LOOK_UP) == [[3]])
        until(lambda: engine.health().is_healthy)
        assert "UNWANTED" not in str(engine.execute(Request("SHOW QUERIES;")))
    finally:
        starts.set()
        engine.stop()
