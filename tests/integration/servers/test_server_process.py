"""The real server as a process: how it starts, how it ends, and what it says when it cannot."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.services.data_dir import locked_data_dir
from ksql_spark.spark.session import SparkProcess
from tests.integration.server_process import ServerProcess
from tests.server.live_server import LiveServer
from tests.waiting import TIMEOUT_S

pytestmark = pytest.mark.kafka


def test_sigterm_while_queries_run(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        assert "data in" in server.until("starting: ")
        server.ready()
        server.execute("""
            CREATE STREAM s (a INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
            CREATE STREAM t AS SELECT a + 1 AS b FROM s EMIT CHANGES;
        """)
        assert httpx.get(f"{server.url}/healthcheck", timeout=TIMEOUT_S).json()["isHealthy"] is True
        with httpx.stream(
            "POST",
            f"{server.url}/query-stream",
            json={"sql": "SELECT * FROM s EMIT CHANGES;"},
            timeout=TIMEOUT_S,
        ) as stream:
            assert "queryId" in next(stream.iter_lines())
            assert server.stop() == (0, "stopping\nstopped\n", "")
        server.wait_until_alone()


@pytest.mark.parametrize("line", ["starting: ", "starting Kafka", "starting Spark"])
@pytest.mark.long
def test_sigint_in_the_middle_of_starting(tmp_path: Path, line: str) -> None:
    with ServerProcess(tmp_path) as server:
        server.until(line)
        code, out, err = server.stop(signal.SIGINT)
        assert (code, err) == (0, "")
        assert "stopping\n" in out and out.endswith("stopped\n")
        server.wait_until_alone()


@pytest.mark.long
def test_the_servers_own_death_ends_what_it_started(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        server.until("Kafka runs at ")
        server.process.kill()
        server.wait_until_alone()


def test_a_taken_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with ServerProcess(tmp_path, "--listen", f"127.0.0.1:{port}") as server:
            code, out, err = server.end()
    assert (code, out) == (1, "")
    assert err.startswith(f"ksql-spark server: Port {port} on 127.0.0.1 is already in use. ")
    assert err.count("\n") == 1


@pytest.mark.long
def test_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, but nobody listens
        servers = f"127.0.0.1:{closed.getsockname()[1]}"
        with ServerProcess(tmp_path, "--bootstrap-servers", servers) as server:
            code, _, err = server.end()
            server.wait_until_alone()
    assert code == 1
    assert err.startswith(f"ksql-spark server: Kafka at {servers} does not answer: ")
    assert err.endswith("an embedded broker restarts automatically.\n") and err.count("\n") == 1


@pytest.mark.long
def test_a_data_folder_whose_broker_still_runs(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "kafka", port=0), ServerProcess(tmp_path) as server:
        code, _, err = server.end()
        server.wait_until_alone()
    assert code == 1
    assert "is in use by another ksql-spark" in err and err.count("\n") == 1


def test_a_data_folder_in_use(tmp_path: Path) -> None:
    """Refused before anything starts: what starts removes scratch files of the server that has the folder."""
    scratch = tmp_path / "spark" / "scratch"
    scratch.mkdir(parents=True)
    with locked_data_dir(tmp_path), ServerProcess(tmp_path, "--bootstrap-servers", "127.0.0.1:1") as server:
        code, out, err = server.end()
        server.wait_until_alone()
    assert code == 1 and "starting Spark" not in out
    assert "is in use by another ksql-spark" in err and err.count("\n") == 1
    assert scratch.exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.long
def test_a_full_disk(small_disk: Path) -> None:
    with ServerProcess(small_disk) as server:
        code, _, err = server.end()
        server.wait_until_alone()
    assert code == 1
    assert err.startswith("ksql-spark server: No space is left on the disk of ")
    assert err.count("\n") == 1


@pytest.mark.long
def test_a_broker_that_goes_away(spark_process: SparkProcess, tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "kafka", port=0) as broker:
        settings = {
            "bootstrap.servers": broker.bootstrap_servers, "ksql.spark.data.dir": str(tmp_path / "data")
        }  # fmt: skip
        engine = Engine(Config(settings), spark_process)
        engine.start()
        try:
            with LiveServer(engine) as server:
                post = _poster(server.url)
                assert post("SHOW TOPICS;").status_code == 200
                broker.stop()
                create = "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
                for text in ("SHOW TOPICS;", create):
                    answer = post(text)
                    assert answer.status_code == 500
                    body = answer.json()
                    assert body["error_code"] == 50000
                    assert f"Kafka at {broker.bootstrap_servers} does not answer" in body["message"]
                    assert "\n" not in body["message"]
                assert httpx.get(f"{server.url}/healthcheck", timeout=TIMEOUT_S).json()["isHealthy"] is False
                assert post("SHOW STREAMS;").json()[0]["streams"] == []
        finally:
            engine.stop()


def _poster(url: str) -> Callable[[str], httpx.Response]:
    return lambda text: httpx.post(f"{url}/ksql", json={"ksql": text}, timeout=TIMEOUT_S)
