"""A Spark cluster of its own, whose executors reach the state of queries in S3."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.counted_events import STATEMENTS, check_copies, produce, wait_for_counts
from tests.integration.s3_server import S3Server
from tests.integration.server_process import ServerProcess
from tests.spark_cluster import SparkCluster
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

#: of one worker; each of the four queries over two partitions takes up to four
SLOTS = 10


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with SparkCluster(folder, workers=2, cores=SLOTS) as running:
        yield running


@pytest.fixture
def server(tmp_path: Path, cluster: SparkCluster) -> Iterator[ServerProcess]:
    with S3Server() as s3:
        properties = {
            **s3.properties,
            **cluster.settings,
            "ksql.state.dir": s3.folder("state"),
            "ksql.spark.master": cluster.url,
            "spark.executor.memory": "1g",
            "ksql.spark.warm.up.enabled": "false",
            "ksql.checkpoint.interval.ms": "5000",
            "ksql.query.retry.backoff.initial.ms": "200",
            "ksql.streams.auto.offset.reset": "earliest",
        }
        file = tmp_path / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="utf-8")
        with ServerProcess(tmp_path / "data", "--properties", str(file)) as running:
            yield running.ready()


def is_refused(server: ServerProcess, text: str) -> bool:
    """Whether the cluster has no slots for a statement's query; any other refusal is an error."""
    answer = httpx.post(f"{server.url}/ksql", json={"ksql": text}, timeout=TIMEOUT_S)
    assert answer.status_code == 200 or "task slots at once" in answer.text, answer.text
    return answer.status_code != 200 or "task slots at once" in json.dumps(answer.json())


@pytest.mark.long  # make test-cluster runs it, too
def test_an_executor_is_lost_and_a_worker_comes(
    cluster: SparkCluster, server: ServerProcess, tmp_path: Path
) -> None:
    until(lambda: len(cluster.executors()) == 2)
    server.execute(STATEMENTS)
    produce(server, range(1000))
    wait_for_counts(server, 1000)
    os.kill(cluster.executors()[0], signal.SIGKILL)
    produce(server, range(1000, 2000))
    wait_for_counts(server, 2000)
    check_copies(server, 2000)
    # until all slots are taken
    until(lambda: len(cluster.executors()) == 2)
    number = 0
    while not is_refused(server, f"CREATE STREAM more{number} AS SELECT who, n FROM copies;"):
        number += 1
        assert number < 2 * SLOTS
    cluster.add_worker()
    until(lambda: len(cluster.executors()) == 3)
    # the query that was refused is there, and is tried again
    until(lambda: f"MORE{number}" in running_sinks(server))
    assert not list((tmp_path / "data" / "checkpoints").glob("*"))


def running_sinks(server: ServerProcess) -> set[str]:
    (answer,) = server.execute("SHOW QUERIES;")
    return {sink for row in answer["queries"] if row["state"] == "RUNNING" for sink in row["sinks"]}
