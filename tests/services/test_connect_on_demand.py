"""The Connect worker that is started when a statement needs it, and again when it has ended."""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.kafka_connect import ConnectClient
from ksql_spark.services.connect_on_demand import ConnectOnDemand
from tests.connect_server import ConnectServer
from tests.waiting import until

WAIT_S = 20.0


class FakeWorker:
    """A worker that only counts its starts; ``client`` reaches a fake cluster."""

    def __init__(self, folder: Path, url: str) -> None:
        self.data_dir = folder / "connect"
        self.log_file = self.data_dir / "connect.log"
        self.client = ConnectClient(url)
        self.starts = 0
        self.running = False
        self.fails = False
        self.may_start = threading.Event()
        self.may_start.set()

    def is_running(self) -> bool:
        return self.running

    def start(self) -> None:
        self.may_start.wait(WAIT_S)
        self.starts += 1
        if self.fails:
            raise self._error("did not start")
        self.running = True

    def stop(self) -> None:
        self.running = False

    def ended(self) -> KsqlError:
        return self._error("has ended")

    def _error(self, what: str) -> KsqlError:
        return KsqlError("CONNECT_FAILED", what=what, reason="it was ended by signal 9", log="there.log")


@pytest.fixture
def server() -> Iterator[ConnectServer]:
    with ConnectServer() as running:
        yield running


@pytest.fixture
def worker(tmp_path: Path, server: ConnectServer) -> FakeWorker:
    return FakeWorker(tmp_path, server.url)


@pytest.fixture
def make(worker: FakeWorker) -> Iterator[Callable[..., ConnectOnDemand]]:
    made: list[ConnectOnDemand] = []

    def cluster(**more: Any) -> ConnectOnDemand:
        made.append(ConnectOnDemand(worker, pause_s=0.0, **more))
        return made[-1]

    yield cluster
    for one in made:
        one.close()
    assert not worker.running


def test_it_starts_when_it_is_needed(worker: FakeWorker, make: Callable[..., ConnectOnDemand]) -> None:
    cluster = make()
    assert not cluster.is_in_use() and cluster.problem() is None and worker.starts == 0
    assert cluster.client() is worker.client and cluster.client() is worker.client
    assert worker.starts == 1 and cluster.is_in_use()
    cluster.close()
    with pytest.raises(KsqlError) as caught:
        cluster.client()
    assert caught.value.condition == "STOPPED" and worker.starts == 1


def test_a_start_that_fails_fails_its_statement_and_no_other(
    worker: FakeWorker, make: Callable[..., ConnectOnDemand]
) -> None:
    cluster = make()
    worker.fails = True
    for _ in range(2):
        with pytest.raises(KsqlError, match="did not start: it was ended by signal 9"):
            cluster.client()
    worker.fails = False
    assert cluster.client() is worker.client and worker.starts == 3


def test_it_is_started_again_and_says_why_meanwhile(
    worker: FakeWorker, server: ConnectServer, make: Callable[..., ConnectOnDemand]
) -> None:
    said: list[str] = []
    server.connectors["c"] = {"connector.class": "FileStreamSink", "password": "pw-4711"}
    cluster = make(report=said.append)
    cluster.client()
    until(cluster.last_seen)
    worker.may_start.clear()
    worker.running = False
    assert "has ended: it was ended by signal 9" in str(cluster.problem())  # at once, whoever notices first
    with pytest.raises(KsqlError) as caught:
        cluster.client()
    assert (
        "has ended: it was ended by signal 9" in caught.value.message and "there.log" in caught.value.message
    )
    assert "It is restarting." in str(cluster.problem())
    assert cluster.last_seen()["c"]["status"]["tasks"] == [{"id": 0, "state": "UNASSIGNED"}]
    worker.fails = True
    worker.may_start.set()
    until(lambda: worker.starts > 2)
    assert "did not start" in str(cluster.problem()) and cluster.is_in_use()
    worker.fails = False
    until(lambda: cluster.problem() is None)
    assert cluster.client().names() == ["c"] and said[0].startswith("The embedded Connect worker has ended")


def test_the_next_server_starts_it_if_it_has_connectors(
    worker: FakeWorker, server: ConnectServer, make: Callable[..., ConnectOnDemand]
) -> None:
    cluster = make()
    assert not cluster.has_connectors()
    cluster.completed("SINK", {"name": "c", "connector.class": "FileStreamSink", "password": "pw-4711"})
    assert "pw-4711" not in (worker.data_dir / "connectors.json").read_text()
    again = make()
    assert again.has_connectors() and again.is_in_use() and worker.starts == 0
    worker.may_start.clear()
    again.start_in_background()
    answers: list[list[str]] = []
    asking = threading.Thread(target=lambda: answers.append(again.client().names()))
    asking.start()
    assert answers == []
    worker.may_start.set()
    asking.join()
    assert answers == [[]] and worker.starts == 1
    until(lambda: not again.has_connectors())
    again.close()
    assert not make().has_connectors()
    (worker.data_dir / "connectors.json").write_text("{nonsense")
    assert not make().is_in_use()


def test_closing_ends_a_start(worker: FakeWorker, make: Callable[..., ConnectOnDemand]) -> None:
    cluster = make()
    worker.may_start.clear()
    cluster.start_in_background()
    closing = threading.Thread(target=cluster.close)
    closing.start()
    worker.may_start.set()
    closing.join(WAIT_S)
    assert not closing.is_alive() and not worker.running


def test_sources_create_their_topics(make: Callable[..., ConnectOnDemand]) -> None:
    cluster = make()
    config = {"name": "c", "connector.class": "X", "topics": "t"}
    assert cluster.completed("SINK", config) == config
    made = cluster.completed("SOURCE", config)
    assert made["topic.creation.default.partitions"] == "1"
    assert made["topic.creation.default.replication.factor"] == "-1"
    own = {**config, "topic.creation.default.partitions": "3"}
    assert cluster.completed("SOURCE", own) == {**made, **own}


def test_a_converter_of_avro_is_the_one_that_there_is(make: Callable[..., ConnectOnDemand]) -> None:
    asked: list[str] = []

    def url() -> str:
        asked.append("url")
        return "http://127.0.0.1:8081/apis/ccompat/v7"

    cluster = make(registry_url=url)
    config = {"name": "c", "connector.class": "X", "key.converter": "a.StringConverter"}
    assert cluster.completed("SINK", config) == config and not asked
    avro = {**config, "value.converter": "io.confluent.connect.avro.AvroConverter"}
    made = cluster.completed("SINK", {**avro, "value.converter.apicurio.registry.use-id": "globalId"})
    assert made["value.converter"] == "io.apicurio.registry.utils.converter.AvroConverter"
    assert made["value.converter.apicurio.registry.url"] == "http://127.0.0.1:8081/apis/registry/v2"
    assert made["value.converter.apicurio.registry.use-id"] == "globalId"
    assert made["key.converter"] == "a.StringConverter" and asked == ["url"]
    named = cluster.completed("SINK", {**avro, "value.converter.schema.registry.url": "http://there:1"})
    assert named["value.converter.apicurio.registry.url"] == "http://there:1" and asked == ["url"]


def test_what_its_log_says_of_connectors(worker: FakeWorker, make: Callable[..., ConnectOnDemand]) -> None:
    cluster = make()
    assert cluster.complaints() == {}
    worker.data_dir.mkdir()
    now = f"{datetime.datetime.now():%Y-%m-%d %H:%M:%S},001"
    worker.log_file.write_text(f"""2001-01-01 00:00:00,123 ERROR [old|task-0] Task: of long ago
{now} WARN [a|task-0] Task: will retry
org.x.RetriableException: it is away
\tat org.x.Y(Y.java:1)
Caused by: java.net.ConnectException: refused
{now} WARN [b|task-0] Task: only a warning
{now} ERROR [b|c|worker] Task: is wrong: very
{now} ERROR [d] e|task-0|offsets] Offsets: cannot commit
{now} ERROR NetworkClient: of nobody
""")
    trace = "org.x.RetriableException: it is away\n\tat org.x.Y(Y.java:1)\n"
    assert cluster.complaints() == {
        "a": f"{trace}Caused by: java.net.ConnectException: refused",
        "b|c": "is wrong: very",
        "d] e": "cannot commit",
    }


def test_what_its_log_says_of_a_connector_that_had_the_name_before(
    worker: FakeWorker, make: Callable[..., ConnectOnDemand]
) -> None:
    cluster = make()
    before = datetime.datetime.now() - datetime.timedelta(seconds=5)
    worker.data_dir.mkdir()
    worker.log_file.write_text(
        f"{before:%Y-%m-%d %H:%M:%S},001 ERROR [a|task-0] Task: is wrong: the first\n"
        f"{before:%Y-%m-%d %H:%M:%S},001 ERROR [b|task-0] Task: is wrong: another\n"
    )
    assert cluster.complaints() == {"a": "is wrong: the first", "b": "is wrong: another"}
    cluster.completed("SOURCE", {"name": "a"})
    assert cluster.complaints() == {"b": "is wrong: another"}


def test_the_worker_s_own_properties(make: Callable[..., ConnectOnDemand]) -> None:
    assert make(own={"group.id": "g"}).worker_properties() == {"group.id": "g"}


def test_what_is_kept_is_what_show_needs(
    worker: FakeWorker, server: ConnectServer, make: Callable[..., ConnectOnDemand]
) -> None:
    server.connectors["c"] = {"connector.class": "FileStreamSink", "password": "pw-4711"}
    make().client()
    until(lambda: (worker.data_dir / "connectors.json").exists())
    kept = json.loads((worker.data_dir / "connectors.json").read_text())
    expected = {"type": "sink", "config": {"connector.class": "FileStreamSink"}, "tasks": [0]}
    assert cast(dict[str, Any], kept) == {"c": expected}
