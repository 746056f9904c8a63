"""ksql-spark connect: options, and a worker alone that curl can use."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.services import artifacts
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.services.connect_worker import EmbeddedConnect, WorkerSettings
from ksql_spark.services.ports import free_port
from ksql_spark.tools import connect
from tests.connect_server import ConnectServer
from tests.waiting import until

WAIT_S = 120.0
_MAIN = "import sys; from ksql_spark.shell.main import main; sys.exit(main())"


@pytest.mark.parametrize(
    "words", [[], ["other"], ["standalone"], ["install"], ["install", "a:b:1", "--there"]]
)
def test_wrong_options(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert connect.main(words) == 2
    assert "usage: ksql-spark connect" in capsys.readouterr().err


def test_files_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worker = tmp_path / "worker.properties"
    worker.touch()
    assert connect.main(["standalone", str(worker), str(tmp_path / "none")]) == 1
    assert f"connect: Cannot read the file {tmp_path / 'none'}." in capsys.readouterr().err


def test_where_connectors_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, Path]] = []
    monkeypatch.setattr(artifacts, "install", lambda what, into, report: asked.append((what, into)) or into)
    assert connect.main(["install", "a:b:1", "a:c:2", "--into", str(tmp_path)]) == 0
    assert connect.main(["install", "a:b:1", "--data-dir", str(tmp_path)]) == 0
    assert asked == [("a:b:1", tmp_path), ("a:c:2", tmp_path), ("a:b:1", tmp_path / "connect" / "plugins")]
    monkeypatch.undo()
    assert connect.main(["install", "nonsense"]) == 1
    assert "is not GROUP:ARTIFACT:VERSION" in capsys.readouterr().err


def test_the_worker_s_properties(tmp_path: Path) -> None:
    settings = WorkerSettings("b:1", "id_", {"sasl.mechanism": "PLAIN"}, -1, [Path("/more")])
    worker = EmbeddedConnect(tmp_path, settings)
    properties, url = worker._properties()
    assert url == properties["listeners"] == "http://127.0.0.1:8083"
    assert properties["group.id"] == "_confluent-ksql-id_connect"
    assert properties["status.storage.topic"] == "_confluent-ksql-id_connect-status"
    assert properties["offset.storage.topic"] == "_confluent-ksql-id_connect-offsets"
    assert properties["producer.sasl.mechanism"] == properties["sasl.mechanism"] == "PLAIN"
    assert properties["plugin.path"].split(",")[1:] == [str(tmp_path / "plugins"), "/more"]
    own = {"listeners": "https://0.0.0.0:8443,http://x:1", "plugin.path": "/own", "group.id": "g"}
    worker = EmbeddedConnect(tmp_path, WorkerSettings("b:1", own=own))
    properties, url = worker._properties()
    assert url == "https://127.0.0.1:8443" and properties["listeners"] == own["listeners"]
    assert properties["group.id"] == "g" and "/own" in properties["plugin.path"].split(",")


@pytest.mark.long
@pytest.mark.kafka
def test_a_worker_alone(
    broker: EmbeddedBroker, kafka_admin: KafkaAdmin, topic_names: Callable[[str], str], tmp_path: Path
) -> None:
    lines, more = topic_names("lines"), topic_names("more")
    (tmp_path / "in").write_text("one\n")
    port = free_port()
    creates = "topic.creation.default.partitions=1\ntopic.creation.default.replication.factor=1\n"
    source = f"connector.class=FileStreamSource\nfile={tmp_path / 'in'}\n{creates}"
    (tmp_path / "worker.properties").write_text(
        f"bootstrap.servers={broker.bootstrap_servers}\nlisteners=http://127.0.0.1:{port}\n"
        f"offset.storage.file.filename={tmp_path / 'offsets'}\n"
        "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
        "value.converter=org.apache.kafka.connect.storage.StringConverter\n"
    )
    (tmp_path / "source.properties").write_text(f"name=source\ntopic={lines}\n{source}")
    started = subprocess.Popen(
        [sys.executable, "-c", _MAIN, "connect", "standalone", "worker.properties", "source.properties"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        config = dict(line.split("=", 1) for line in source.splitlines()) | {"topic": more}
        body = {"name": "posted", "config": config}
        address = f"http://127.0.0.1:{port}/connectors"
        deadline = time.monotonic() + WAIT_S
        while True:
            assert started.poll() is None and time.monotonic() < deadline
            try:
                if httpx.post(address, json=body, timeout=WAIT_S).status_code == 201:
                    break
            except httpx.ConnectError:
                continue
        assert sorted(httpx.get(address, timeout=WAIT_S).json()) == ["posted", "source"]
        for topic in (lines, more):
            until(lambda t=topic: kafka_admin.topic(t) is not None)
            with TopicReader(broker.bootstrap_servers, topic) as reader:
                values: list[bytes | None] = []
                while not values and time.monotonic() < deadline:
                    values = [record.value for batch in reader.read_to_end() for record in batch]
            assert values == [b"one"]
    finally:
        started.terminate()
        said, _ = started.communicate(timeout=WAIT_S)
    assert "Kafka Connect stopped" in said and "Created connector source" in said


@pytest.mark.kafka
@pytest.mark.long
def test_a_worker_of_another_server_is_not_taken_for_its_own(
    broker: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ConnectServer() as other:
        port = urlsplit(other.url).port
        # it was free when it was looked for
        monkeypatch.setattr("ksql_spark.services.embedded.reserved_port", lambda *_: port)
        settings = WorkerSettings(broker.bootstrap_servers, f"{tmp_path.name}_")
        with EmbeddedConnect(tmp_path, settings) as worker:
            assert worker.client.url != other.url
            assert (tmp_path / "connect.port").read_text() == str(urlsplit(worker.client.url).port)
