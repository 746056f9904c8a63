"""The compose files of docker/, run by podman-compose; `make test-containers`.

With podman before 4.6, podman-compose does not wait for health checks; these tests wait for the servers.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator

import pytest

from tests import waiting
from tests.docker.containers import (
    LOOKUP,
    MARKS,
    SESSION,
    Compose,
    answers,
    await_answer,
    is_healthy,
    logs,
    state,
)

pytestmark = MARKS


class TestOneServer:
    compose = Compose("compose.yaml")
    broker, server = "ksql-spark_broker_1", "ksql-spark_server_1"

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def project(cls) -> Iterator[None]:
        try:
            cls.up()
            yield
        finally:
            cls.compose("down", "--volumes")

    @classmethod
    def up(cls) -> None:
        cls.compose.up()
        cls.wait()

    @classmethod
    def wait(cls) -> None:
        await_answer("http://127.0.0.1:8088/info", cls.server)
        waiting.until(lambda: is_healthy(cls.server), lambda: logs(cls.server))

    def shell(self, text: str) -> str:
        # docker compose takes the profile of a service that it runs
        return self.compose("--profile", "shell", "run", "--rm", "-T", "shell", text=text)

    def test_readmes_session(self) -> None:
        assert "7.0" in self.shell(SESSION)

    def test_health(self) -> None:
        assert is_healthy(self.broker) and is_healthy(self.server)

    @pytest.mark.parametrize("service", ["server", "broker"])
    def test_a_restart(self, service: str) -> None:
        self.compose("restart", service)
        self.wait()
        assert "7.0" in self.shell(LOOKUP)

    def test_events_from_inside(self) -> None:
        command = ("ksql-spark", "datagen", "zones", "--bootstrap-servers", "broker:29092")
        self.compose("exec", "-T", "server", *command)
        assert "zones" in self.shell("SHOW TOPICS;")

    def test_down_and_up(self) -> None:
        self.compose("down")
        self.up()
        assert "7.0" in self.shell(LOOKUP)

    def test_a_stop_by_signal(self) -> None:
        self.compose("stop", "server")
        assert state(self.server)["ExitCode"] == 0


#: the ports of compose.cluster.yaml
PORTS = {"server1": 8088, "server2": 8089, "server3": 8090}


class TestCluster:
    compose = Compose("compose.cluster.yaml")

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def project(cls) -> Iterator[None]:
        try:
            cls.compose.up()
            cls.wait(*PORTS)
            yield
        finally:
            cls.compose("down", "--volumes")

    @staticmethod
    def container(service: str) -> str:
        return f"ksql-spark-cluster_{service}_1"

    @classmethod
    def wait(cls, *servers: str) -> None:
        for server in servers:
            await_answer(f"http://127.0.0.1:{PORTS[server]}/info", cls.container(server))

    def shell(self, server: str, text: str) -> str:
        return self.compose("exec", "-T", server, "ksql-spark", "-e", text)

    def alive(self, server: str) -> set[str]:
        """The servers that one of them knows of and sees alive."""
        with urllib.request.urlopen(f"http://127.0.0.1:{PORTS[server]}/clusterStatus", timeout=30) as answer:
            known = json.load(answer)["clusterStatus"]
        return {host.split(":")[0] for host, status in known.items() if status["hostAlive"]}

    def await_row(self, server: str, row: str) -> None:
        waiting.until(lambda: row in self.shell(server, LOOKUP), lambda: logs(self.container(server)))

    def test_readmes_session_and_lookups_everywhere(self) -> None:
        assert "7.0" in self.shell("server1", SESSION)
        for server in PORTS:
            self.await_row(server, "7.0")
            waiting.until(lambda of=server: self.alive(of) == set(PORTS))

    def test_the_registry_and_connect(self) -> None:
        create = "CREATE STREAM typed WITH (VALUE_FORMAT = 'AVRO', PARTITIONS = 1) AS SELECT * FROM orders;"
        assert "Error" not in self.shell("server1", create)
        waiting.until(
            lambda: b"TYPED-value" in urllib.request.urlopen("http://127.0.0.1:8081/subjects").read()
        )
        waiting.until(lambda: answers("http://127.0.0.1:8083/connectors"))
        assert "Error" not in self.shell("server2", "SHOW CONNECTORS;")

    def test_a_server_that_is_killed(self) -> None:
        self.compose("kill", "server2")
        waiting.until(lambda: self.alive("server1") == {"server1", "server3"})
        self.shell("server3", "INSERT INTO orders VALUES (4, 'tea', 3.0);")
        for server in ("server1", "server3"):
            self.await_row(server, "10.0")
        self.compose("up", "--detach", "server2")
        self.wait("server2")
        waiting.until(lambda: self.alive("server1") == set(PORTS))
        self.await_row("server2", "10.0")

    def test_a_server_that_is_stopped_hands_over(self) -> None:
        self.compose("stop", "server1")
        assert state(self.container("server1"))["ExitCode"] == 0
        self.shell("server3", "INSERT INTO orders VALUES (5, 'tea', 5.0);")
        self.await_row("server3", "15.0")
