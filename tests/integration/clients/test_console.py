"""The console in a real browser, driven from console/tests/browser: ``make test-console``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.server.security import passwords
from tests.integration import cluster_servers as cluster
from tests.integration.clients.browser import ROOT, run
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.long


FAKE_SERVER = ROOT / "tests" / "server" / "fake_server.py"
#: the users of the server without an engine, and their roles; as guards.test.mjs knows them
USERS = {"ada": "admin", "rita": "reader"}


def test_from_an_empty_server_to_live_results(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        run("story", server.ready().url)
        server.stop()


def test_the_taxi_story(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        run("taxi", server.ready().url)
        server.stop()


def test_what_a_newcomer_asks(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(
        "ksql.create.function.enabled=true\nksql.logging.processing.topic.auto.create=true\n"
        "ksql.logging.processing.stream.auto.create=true\nksql.logging.processing.rows.include=true\n",
        encoding="utf-8",
    )
    with ServerProcess(tmp_path / "data", "--properties", str(properties)) as server:
        run("newcomer", server.ready().url)
        server.stop()


def test_rows_and_records_are_explained(tmp_path: Path) -> None:
    properties = tmp_path / "server.properties"
    properties.write_text(
        "ksql.logging.processing.topic.auto.create=true\nksql.logging.processing.stream.auto.create=true\n",
        encoding="utf-8",
    )
    with ServerProcess(tmp_path / "data", "--properties", str(properties)) as server:
        run("explained", server.ready().url)
        server.stop()


def test_hostile_names_values_and_addresses(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        run("hostile", server.ready().url)
        server.stop()


def test_log_in_lost_servers_errors_and_many_nodes(tmp_path: Path) -> None:
    lines = [f"{n}:{passwords.hash_password(f'password of {n}')}:{role}" for n, role in USERS.items()]
    (tmp_path / "users").write_text("\n".join(lines), encoding="utf-8")
    properties = tmp_path / "server.properties"
    properties.write_text(f"ksql.server.auth.users.file={tmp_path / 'users'}\n", encoding="utf-8")
    options = [
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
        str(tmp_path / "data"),
        "--properties",
        str(properties),
    ]
    server = subprocess.Popen(
        [sys.executable, str(FAKE_SERVER), "--engine", "LiveEngine", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    try:
        assert server.stdout is not None
        url = next(line.split()[1] for line in server.stdout if line.startswith("ready: "))
        run("guards", url, SERVER_PID=str(server.pid))
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=TIMEOUT_S)


@pytest.mark.kafka
def test_two_servers_are_one_console(clean_kafka: str, tmp_path: Path) -> None:
    both = {"first:8088", "second:8088"}
    with (
        cluster.server(tmp_path, "first", clean_kafka).ready() as first,
        cluster.server(tmp_path, "second", clean_kafka).ready() as second,
    ):
        first.execute(cluster.SOURCE)
        first.execute("CREATE TABLE counts AS SELECT k, COUNT(*) AS c FROM e GROUP BY k EMIT CHANGES;")
        second.execute("CREATE STREAM copies AS SELECT k, n FROM e EMIT CHANGES;")
        until(lambda: set(cluster.hosts(first).values()) == both)
        hosts = cluster.hosts(first)
        with cluster.Feed(clean_kafka, ["e"]):
            for server in (first, second):
                until(lambda: read_per_s(server).keys() == hosts.keys())  # noqa: B023
                assert {node["name"]: node["host"] for node in queries(server)} == hosts
            for server in (first, second):
                run("servers", server.url)
        second.stop()
        first.stop()


def queries(server: ServerProcess) -> list[dict[str, Any]]:
    """The nodes of queries in a server's graph."""
    nodes = httpx.get(f"{server.url}/graph", timeout=TIMEOUT_S).json()["nodes"]
    return [node for node in nodes if node["kind"] == "QUERY"]


def read_per_s(server: ServerProcess) -> dict[str, float]:
    """Query -> how many records it reads a second, in a server's graph; only of those that read some."""
    rates = {node["name"]: node.get("figures", {}).get("readPerS") for node in queries(server)}
    return {query: rate for query, rate in rates.items() if rate}


def test_connectors(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("one\ntwo\n", encoding="utf-8")
    with ServerProcess(tmp_path / "data") as server:
        run("connectors", server.ready().url, LINES=str(lines))
        server.stop()
