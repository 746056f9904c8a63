"""Tasks in JVMs of their own: a Spark cluster of two executors, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import httpx
import pytest

from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.counted_events import STATEMENTS, check_copies, produce, wait_for_counts
from tests.integration.functions import java_jars
from tests.integration.queries.exactly_once import World
from tests.integration.queries.exactly_once_checks import FEW
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

MASTER = "local-cluster[2,8,1024]"
QUICK = "ksql.query.retry.backoff.initial.ms=200"


def cluster(folder: Path, master: str = MASTER, *lines: str) -> ServerProcess:
    """A server whose tasks run in executors; ``lines``: more of its properties."""
    properties = folder / "server.properties"
    properties.write_text("\n".join(["ksql.spark.warm.up.enabled=false", QUICK, *lines, ""]))
    arguments = ("--spark-master", master, "--properties", str(properties))
    return ServerProcess(folder / "data", *arguments)


def unreadable(server: ServerProcess, query: str) -> int:
    """How many records of a query could not be read, as DESCRIBE … EXTENDED says."""
    text = httpx.get(f"{server.url}/metrics", timeout=TIMEOUT_S).text
    lines = [line for line in text.splitlines() if "unreadable" in line and query in line]
    return sum(int(float(line.split()[-1])) for line in lines)


@pytest.mark.long  # make test-cluster runs it, too
def test_queries_run_in_executors_and_survive_one(tmp_path: Path) -> None:
    with cluster(tmp_path) as server:
        server.ready()
        assert len(server.executors()) == 2
        server.execute(STATEMENTS, **{"auto.offset.reset": "earliest"})
        produce(server, range(1000))
        wait_for_counts(server, 1000)
        # a planned stop reaches the executors' readers: what was read is not read again
        server.execute("PAUSE ALL; RESUME ALL;")
        produce(server, range(1000, 2000))
        wait_for_counts(server, 2000)
        os.kill(server.executors()[0], signal.SIGKILL)
        produce(server, range(2000, 3000))
        wait_for_counts(server, 3000)
        check_copies(server, 3000)
        server.stop()
        server.wait_until_alone()
    assert not (tmp_path / "data" / "spark" / "home").exists()


@pytest.mark.long  # make test-cluster runs it, too
def test_errors_of_records_are_counted_in_executors(tmp_path: Path) -> None:
    with cluster(tmp_path, "local-cluster[1,2,1024]") as server:
        server.ready()
        server.execute(
            "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
            "CREATE STREAM r AS SELECT v FROM s EMIT CHANGES;"
        )
        producer = RecordProducer(server.bootstrap_servers(), linger_ms=5)
        for value in (b'{"V": 1}', b"garbage", b'{"V": 2}'):
            producer.send_async("s", None, value)
        producer.flush()
        producer.close()
        until(
            lambda: unreadable(server, "CSAS_R") == 1,
            lambda: httpx.get(f"{server.url}/metrics", timeout=TIMEOUT_S).text,
        )
        # one of the executor's two slots is taken
        answer = httpx.post(
            f"{server.url}/ksql",
            json={
                "ksql": "CREATE TABLE t AS SELECT v, COUNT(*) AS n FROM r GROUP BY v EMIT CHANGES;"
                "CREATE TABLE u AS SELECT v, COUNT(*) AS n FROM r GROUP BY v EMIT CHANGES;"
            },
            timeout=TIMEOUT_S,
        )
        assert "task slots at once" in json.dumps(answer.json()), answer.text


@pytest.mark.long  # make test-cluster runs it, too
def test_python_functions_come_to_executors(tmp_path: Path) -> None:
    functions = tmp_path / "functions"
    functions.mkdir()
    (functions / "_helper.py").write_text("factor = 3\n")
    (functions / "scaling.py").write_text(
        "from _helper import factor\n"
        "from ksql_spark.udf import scalar_function\n\n"
        "@scalar_function\n"
        "def scaled(value: int) -> int:\n"
        "    return value * factor\n"
    )
    lines = (f"ksql.extension.dir={functions}", "ksql.create.function.enabled=true")
    with cluster(tmp_path, "local-cluster[1,4,1024]", *lines) as server:
        server.ready()
        functions.rename(tmp_path / "out of reach")  # executors on other machines would not see it either
        server.execute(
            "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
            "CREATE FUNCTION more (v BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $$ return v + 1 $$;"
            "CREATE STREAM r AS SELECT more(scaled(v)) AS w FROM s EMIT CHANGES;"
        )
        server.execute("INSERT INTO s VALUES (2);")
        wait_for_values(server, {7})
        (executor,) = server.executors()
        os.kill(executor, signal.SIGKILL)
        server.execute("INSERT INTO s VALUES (5);")
        wait_for_values(server, {7, 16})


@pytest.mark.long  # make test-cluster runs it, too
def test_jars_of_functions_come_to_executors(tmp_path: Path) -> None:
    jars = tmp_path / "functions"
    java_jars.compiled(jars)
    with cluster(tmp_path, "local-cluster[1,4,1024]", f"ksql.extension.dir={jars}") as server:
        server.ready()
        server.execute(
            "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
            "CREATE STREAM r AS SELECT picky(v) + 1 AS w FROM s EMIT CHANGES;"
        )
        server.execute("INSERT INTO s VALUES (2);")
        wait_for_values(server, {2})


def wait_for_values(server: ServerProcess, wanted: set[int]) -> None:
    """Wait until the stream r has these values."""
    until(
        lambda: {w for (w,) in server.rows("SELECT w FROM r;")} == wanted,
        lambda: server.rows("SELECT w FROM r;"),
    )


@pytest.mark.long  # make test-cluster runs it, too
def test_nothing_is_lost_or_repeated_where_executors_are_killed(tmp_path: Path) -> None:
    """A short run of ``make exactly-once ARGS="--master …"``."""
    with (
        EmbeddedBroker(tmp_path / "kafka", port=0) as own,
        World(
            tmp_path,
            own.bootstrap_servers,
            FEW,
            seed=16,
            report=print,
            properties={"ksql.spark.master": "local-cluster[2,8,1024]"},
        ) as world,
    ):
        world.start(rate=200)
        world.kill_executor()
        world.kill_executor()
        world.kill()
        assert world.wrong() == []


@pytest.mark.long  # make test-cluster runs it, too
def test_results_that_are_too_large_for_the_server_are_an_error(tmp_path: Path) -> None:
    lines = ("spark.driver.maxResultSize=1m", "ksql.runtime.feature.shared.enabled=true")
    with cluster(tmp_path, "local-cluster[1,4,1024]", *lines) as server:
        server.ready()
        server.execute(
            "CREATE STREAM s (v STRING) WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
        )
        produce_wide(server, 0, 30)
        server.execute(
            "CREATE STREAM r AS SELECT v FROM s EMIT CHANGES;",
            **{"processing.guarantee": "exactly_once_v2", "auto.offset.reset": "earliest"},
        )
        until(
            lambda: "ksql.transaction.max.records" in failure(server, "CSAS_R"),
            lambda: failure(server, "CSAS_R"),
        )
        assert server.rows("SELECT v FROM r;") == []
        # nothing has been committed, so it is tried again with fewer records at a time
        server.execute("ALTER SYSTEM 'ksql.transaction.max.records'='5';")
        until(lambda: len(server.rows("SELECT LEN(v) FROM r;")) >= 30)
        assert len(server.rows("SELECT LEN(v) FROM r;")) == 30


def produce_wide(server: ServerProcess, start: int, end: int) -> None:
    """Records of 100,000 bytes."""
    producer = RecordProducer(server.bootstrap_servers(), linger_ms=5)
    for n in range(start, end):
        producer.send_async("s", None, json.dumps({"V": f"{n:0100000d}"}).encode())
    producer.flush()
    producer.close()


def failure(server: ServerProcess, prefix: str) -> str:
    """What is wrong with the query whose id begins so."""
    (shown,) = server.execute("SHOW QUERIES;")
    (query,) = [one["id"] for one in shown["queries"] if one["id"].startswith(prefix)]
    (explained,) = server.execute(f"EXPLAIN {query};")
    return json.dumps(explained["queryDescription"].get("queryErrors", []))
