"""Clients that are closed: what is left of them, and what they say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from tests.kafka.mock_cluster import MockCluster
from tests.waiting import until


def threads() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_closed_clients_leave_no_threads(capfd: pytest.CaptureFixture[str]) -> None:
    cluster = MockCluster()
    cluster.create("t")
    before = threads()
    admin, producer = KafkaAdmin(cluster.servers), RecordProducer(cluster.servers)
    assert "t" in admin.topics()
    producer.send("t", None, b"x")
    assert threads() > before
    for client in (admin, producer, admin, producer):
        client.close()
    until(lambda: threads() <= before)
    for call in (admin.topics, lambda: producer.send("t", None, b"x")):
        with pytest.raises(KsqlError) as refused:
            call()
        assert refused.value.condition == "STOPPED"
    assert capfd.readouterr() == ("", "")


def test_a_producer_is_closed_although_nobody_takes_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecordProducer.flush, "__defaults__", (0.1,))
    cluster = MockCluster()
    cluster.create("t")
    producer = RecordProducer(cluster.servers, {"message.timeout.ms": "300000"})
    producer.send("t", None, b"x")
    del cluster
    told: list[KsqlError | None] = []
    producer.send_async("t", None, b"y", on_delivery=told.append)
    producer.close()
    assert [type(error) for error in told] == [KsqlError]
