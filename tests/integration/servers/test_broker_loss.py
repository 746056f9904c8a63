"""The broker ends: the embedded one is started again, and a server without one stops in time."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.server_process import ServerProcess, command_line
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

#: within so many seconds a server has to stop, whatever the machine does beside it
STOP_S = 60.0
SCENE = """
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM copies AS SELECT k, v + 1 AS w FROM s EMIT CHANGES;
CREATE TABLE counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
CREATE TABLE by_value AS SELECT v, COUNT(*) AS n FROM s GROUP BY v EMIT CHANGES;
CREATE STREAM exact WITH (KAFKA_TOPIC = 'exact') AS SELECT k, v FROM s EMIT CHANGES;
"""


def brokers_of(server: ServerProcess) -> list[int]:
    """The process ids of its embedded brokers: one, or none while it is started again."""
    commands = {pid: command_line(pid).split(b"\0") for pid in server.pids()}
    return [pid for pid, words in commands.items() if b"kafka.Kafka" in words and words[0].endswith(b"java")]


def health(server: ServerProcess) -> Any:
    return httpx.get(f"{server.url}/healthcheck", timeout=TIMEOUT_S).json()


@pytest.mark.long
def test_the_embedded_broker_is_started_again(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        server.ready()
        servers = server.bootstrap_servers()
        server.execute(SCENE, **{"auto.offset.reset": "earliest"})

        def counted(text: str) -> list[list[Any]]:
            answer = httpx.post(f"{server.url}/query-stream", json={"sql": text}, timeout=TIMEOUT_S)
            rows = answer.text.splitlines()[1:] if answer.status_code == 200 else []
            return [[int(n) for n in row.strip("[]").split(",")] for row in rows]

        for times in (1, 2, 3):
            server.execute("INSERT INTO s VALUES ('a', 1);" * 10)
            until(lambda n=10 * times: counted("SELECT n FROM counts WHERE k = 'a';") == [[n]])
            (killed,) = brokers_of(server)
            os.kill(killed, signal.SIGKILL)
            until(lambda pid=killed: not Path(f"/proc/{pid}").exists())  # it is not left defunct
            until(lambda: brokers_of(server))  # the server may not have noticed yet, and call itself healthy
            until(lambda: health(server)["isHealthy"])
        server.execute("INSERT INTO s VALUES ('a', 1);" * 10)
        until(lambda: counted("SELECT n FROM counts WHERE k = 'a';") == [[40]])
        until(lambda: counted("SELECT n FROM by_value WHERE v = 1;") == [[40]])
        assert server.bootstrap_servers() == servers
        code, out, err = server.stop()
        assert (code, err) == (0, ""), out
        server.wait_until_alone()
    assert "restarting it" in (tmp_path / "logs" / "server.log").read_text()


@pytest.mark.long
@pytest.mark.parametrize("queries", [4, 20])
def test_a_server_stops_while_kafka_is_away(tmp_path: Path, queries: int) -> None:
    with EmbeddedBroker(tmp_path / "kafka", 0) as broker:
        arguments = ("--bootstrap-servers", broker.bootstrap_servers)
        with ServerProcess(tmp_path / "data", *arguments) as server:
            server.ready()
            server.execute(SCENE)
            for number in range(queries - 4):
                server.execute(f"CREATE STREAM c{number} AS SELECT k, v FROM s EMIT CHANGES;")
            server.execute("INSERT INTO s VALUES ('a', 1);" * 10)
            broker.stop()
            until(lambda: not health(server)["isHealthy"])
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(STOP_S) == 0
            server.wait_until_alone()
