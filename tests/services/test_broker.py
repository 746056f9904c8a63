"""The embedded broker: start, stop, restart, refusals, and that nothing stays behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections import namedtuple
from pathlib import Path

import pytest

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services import broker as module
from ksql_spark.services import ports
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.services.child import ChildProcess, is_alive

#: ends when its stdin does not, ignores nothing
HOLD = """
import sys, pathlib
from ksql_spark.services.child import ChildProcess
child = ChildProcess([sys.executable, "-c", "import time; time.sleep(600)"], pathlib.Path(sys.argv[1]))
print(child.pid, flush=True)
sys.stdin.read()
"""


def wait_until_gone(pid: int) -> None:
    # the process is not ours to wait for; this polls its existence, the test's own limit ends it
    while is_alive(pid):
        threading.Event().wait(0.02)


def test_a_child_is_stopped(tmp_path):
    child = ChildProcess(["sleep", "600"], tmp_path / "out")
    assert child.is_running()
    child.stop(10)
    assert not child.is_running()
    child.stop(10)


def test_a_child_that_does_not_listen_is_killed(tmp_path):
    child = ChildProcess(
        ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], tmp_path / "out"
    )
    while (tmp_path / "out").read_text() != "ready\n":
        threading.Event().wait(0.01)
    child.stop(0.1)
    assert not child.is_running()


def test_a_child_dies_with_us_however_we_end(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
    wait_until_gone(pid)


def test_a_child_keeps_the_descriptors_it_is_given(tmp_path):
    descriptors = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
    listed = " ".join(f"/proc/self/fd/{number}" for number in descriptors)
    child = ChildProcess(["sh", "-c", f"ls {listed}"], tmp_path / "out", pass_fds=descriptors)
    while child.is_running():
        threading.Event().wait(0.01)
    child.stop(1)
    for number in descriptors:
        os.close(number)
    assert sorted((tmp_path / "out").read_text().split()) == sorted(listed.split())


@pytest.fixture
def no_artifacts(monkeypatch):
    monkeypatch.setattr(module.artifacts, "ensure", lambda confs, report: None)


@pytest.mark.usefixtures("no_artifacts")
class TestRefusals:
    def test_a_folder_in_use(self, tmp_path):
        first, second = EmbeddedBroker(tmp_path), EmbeddedBroker(tmp_path)
        first._prepare_folder()
        try:
            with pytest.raises(KsqlError, match=rf"in use by another ksql-spark \(process {os.getpid()}\)"):
                second.start()
        finally:
            first.stop()
        second._prepare_folder()
        second.stop()

    def test_no_room(self, monkeypatch, tmp_path):
        usage = namedtuple("usage", "total used free")
        monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage(10, 9, 1))
        with pytest.raises(KsqlError) as caught:
            EmbeddedBroker(tmp_path).start()
        assert caught.value.condition == "DISK_FULL"

    def test_a_path_that_is_no_folder(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(KsqlError) as caught:
            EmbeddedBroker(tmp_path / "file").start()
        assert caught.value.condition == "DATA_DIR_UNUSABLE"

    def test_reasons_from_the_log(self, tmp_path):
        embedded = EmbeddedBroker(tmp_path)
        assert embedded._failure(["x: No space left on device"], 1).condition == "DISK_FULL"
        told = embedded._failure(
            ["2026 INFO x", "Caused by: a.b.SomeException: the cause.", "\tat a.b.c"], 1
        ).message
        assert "did not start: a.b.SomeException: the cause. Its log is " in told

    def test_no_answer_says_how_long_it_was_waited_for(self, tmp_path):
        told = EmbeddedBroker(tmp_path)._failure([], None).message
        assert "did not start: it did not respond within 60 s. Its log is " in told


def test_a_taken_port_is_not_free():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not ports.is_free(taken.getsockname()[1])


def test_a_free_port_is_not_one_of_those_that_clients_get():
    assert all(20_000 <= ports.free_port() < 32_768 for _ in range(20))


@pytest.mark.kafka
class TestRealBroker:
    @pytest.mark.long
    def test_data_and_port_outlive_a_restart(self, tmp_path: Path):
        said: list[str] = []
        with EmbeddedBroker(tmp_path, port=0, report=said.append) as first:
            admin = KafkaAdmin(first.bootstrap_servers)
            cluster, port = admin.cluster_id(), first.port
            admin.create_topic("kept", 2)
            producer = RecordProducer(first.bootstrap_servers)
            producer.send("kept", b"k", b"v", timestamp_ms=1)
            producer.close()
            pid = first.pid
        assert pid is not None and not is_alive(pid)
        assert not first.is_running()
        assert said[0] == "preparing Kafka's data folder"
        assert said[-1] == f"Kafka is ready at 127.0.0.1:{port}"
        with EmbeddedBroker(tmp_path, port=0) as second:
            assert second.port == port
            assert KafkaAdmin(second.bootstrap_servers).cluster_id() == cluster
            with TopicReader(second.bootstrap_servers, "kept") as reader:
                assert [record.value for batch in reader.read_to_end() for record in batch] == [b"v"]

    def test_it_takes_another_port_where_its_own_is_taken(self, tmp_path):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with EmbeddedBroker(tmp_path, port=port) as embedded:
                assert embedded.port != port
                assert KafkaAdmin(embedded.bootstrap_servers).cluster_id()

    @pytest.mark.long
    def test_a_port_that_another_broker_takes_meanwhile(
        self, tmp_path, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
    ):
        free = [True]
        monkeypatch.setattr(ports, "is_free", lambda port: free.pop() if free else False)
        with EmbeddedBroker(tmp_path / "kafka", port=broker.port, report=lambda text: None) as other:
            assert other.port != broker.port
            ids = [KafkaAdmin(b.bootstrap_servers).cluster_id() for b in (other, broker)]
            assert ids[0] != ids[1]

    def test_an_interrupted_start_leaves_nothing(self, tmp_path):
        def interrupt(text: str) -> None:
            if text == "starting Kafka":
                signal.raise_signal(signal.SIGINT)

        embedded = EmbeddedBroker(tmp_path, port=0, report=interrupt)
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
        try:
            with pytest.raises(KeyboardInterrupt):
                embedded.start()
        finally:
            signal.signal(signal.SIGINT, handler)
        assert not embedded.is_running()
        EmbeddedBroker(tmp_path, port=0)._prepare_folder()

    def test_another_thread_may_stop_a_start(self, tmp_path):
        stopped = threading.Event()

        def stop(text: str) -> None:
            if text == "starting Kafka":
                threading.Thread(target=lambda: (embedded.stop(), stopped.set())).start()

        embedded = EmbeddedBroker(tmp_path, port=0, report=stop)
        with pytest.raises(KsqlError, match="it was stopped during startup"):
            embedded.start()
        assert stopped.wait(30)
        assert not embedded.is_running()
        with EmbeddedBroker(tmp_path, port=0) as again:
            assert again.is_running()

    def test_a_broker_that_cannot_start_says_why(self, monkeypatch, tmp_path):
        monkeypatch.setitem(module._PROPERTIES, "num.io.threads", "many")
        with pytest.raises(KsqlError, match=r"did not start: .*num\.io\.threads"):
            EmbeddedBroker(tmp_path, port=0).start()


@pytest.mark.parametrize("address", ["9092", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:many", "0.0.0.0:9092"])
def test_an_address_for_kafka_that_makes_no_sense(address: str, tmp_path: Path) -> None:
    with pytest.raises(KsqlError) as caught:
        EmbeddedBroker.of(Config({"ksql.kafka.listener": address}), tmp_path)
    assert caught.value.condition == "PROPERTY_INVALID" and "ksql.kafka.listener" in caught.value.message


def test_a_taken_address_for_kafka(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksql_spark.services.artifacts.ensure", lambda *_: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        broker = EmbeddedBroker.of(Config({"ksql.kafka.listener": address}), tmp_path / "kafka")
        assert broker.bootstrap_servers == address
        with pytest.raises(KsqlError, match=f"{address} is taken.*--kafka-listen"):
            broker.start()


def test_kafkas_usual_port_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("ksql_spark.services.artifacts.ensure", lambda *_: None)
    monkeypatch.setattr(EmbeddedBroker, "_prepare", lambda self: None)
    monkeypatch.setattr(EmbeddedBroker, "_launch", lambda self: True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        usual = taken.getsockname()[1]
        broker = EmbeddedBroker(tmp_path, usual, said.append)
        broker.start()
        broker.stop()
    assert f"port {usual} is taken: Kafka uses port {broker.port}" in said
