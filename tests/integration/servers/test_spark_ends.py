"""Spark's JVM ends, or is frozen, under a running server."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.server_process import ServerProcess, command_line
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

SCENE = """
CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE TABLE t AS SELECT k, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;
INSERT INTO s VALUES ('a', 1);
"""
LOOK_UP = "SELECT total FROM t WHERE k = 'a';"


def jvms_of(server: ServerProcess) -> list[int]:
    """The process ids of Spark's JVMs."""
    return [pid for pid in server.pids() if b"SparkSubmit" in command_line(pid)]


def jvm_of(server: ServerProcess) -> int:
    """The process id of Spark's JVM."""
    (pid,) = jvms_of(server)
    return pid


def parts(server: ServerProcess) -> dict[str, Any]:
    body = httpx.get(f"{server.url}/healthcheck", timeout=TIMEOUT_S).json()
    assert body["isHealthy"] == all(part["isHealthy"] for part in body["details"].values())
    return {name: part["isHealthy"] for name, part in body["details"].items()}


def stale(server: ServerProcess) -> str:
    """What an answer says of queries that do not run."""
    answer = httpx.post(f"{server.url}/query-stream", json={"sql": LOOK_UP}, timeout=TIMEOUT_S)
    return str(answer.headers.get("ksql-stale", ""))


def test_the_jvm_is_killed_and_frozen(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        server.ready()
        server.execute(SCENE, **{"auto.offset.reset": "earliest"})
        until(lambda: server.rows(LOOK_UP) == [[1]])
        for total in (2, 3):
            first = jvm_of(server)
            os.kill(first, signal.SIGKILL)
            until(lambda: not parts(server)["spark"])
            # what needs no Spark goes on
            server.execute("INSERT INTO s VALUES ('a', 1); SHOW QUERIES;")
            assert server.rows(LOOK_UP) == [[total - 1]]
            until(lambda total=total: server.rows(LOOK_UP) == [[total]])  # type: ignore[misc]
            assert jvm_of(server) != first
            until(lambda: all(parts(server).values()))
        said = (tmp_path / "logs" / "server.log").read_text(encoding="utf-8")
        assert said.count("was ended by signal SIGKILL; restarting it") == 2
        assert "Traceback" not in said, said
        assert stale(server) == ""
        server.execute("PAUSE ALL;")
        assert stale(server).startswith("CTAS_T_")
        server.execute("RESUME ALL;")
        frozen = jvm_of(server)
        os.kill(frozen, signal.SIGSTOP)
        try:
            assert not parts(server)["spark"]
            assert parts(server)["kafka"]
        finally:
            os.kill(frozen, signal.SIGCONT)
        until(lambda: all(parts(server).values()))
        server.execute("CREATE STREAM u AS SELECT * FROM s EMIT CHANGES;")
        code, out, err = server.stop()
        assert (code, err) == (0, ""), out
        server.wait_until_alone()


def test_the_jvm_ends_or_hangs_while_it_starts(tmp_path: Path) -> None:
    """The first start is as any other: look-ups go on, and another attempt follows."""
    with ServerProcess(tmp_path) as server:
        server.ready()
        server.execute(SCENE, **{"auto.offset.reset": "earliest"})
        until(lambda: server.rows(LOOK_UP) == [[1]])
        server.stop()
    limit = {"KSQL_KSQL_SPARK_START_TIMEOUT_MS": "60000"}
    ways = {signal.SIGKILL: "its JVM ended with code -9", signal.SIGSTOP: "it was not ready within 60 s"}
    for number, said in ways.items():
        with ServerProcess(tmp_path, environment=limit) as server:
            until(lambda server=server: bool(jvms_of(server)))  # type: ignore[misc]
            first = jvm_of(server)
            os.kill(first, number)
            server.serving()
            assert server.rows(LOOK_UP) == [[1]]
            if number is signal.SIGSTOP:
                assert not parts(server)["spark"]
            server.until("complete: ")
            assert any(f"Spark did not start: {said}" in line for line in server.lines), server.lines
            until(lambda server=server: all(parts(server).values()))  # type: ignore[misc]
            assert jvm_of(server) != first
            code, _, err = server.stop()
            assert (code, err) == (0, "")
            server.wait_until_alone()
