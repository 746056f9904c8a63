"""The lease of a service id, on the client's own mock of a cluster; test_command_log.py has a real one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.lease import ServiceLease
from ksql_spark.services.broker import EmbeddedBroker
from tests.waiting import until

TIMEOUT_S = 60.0


class MockAdmin:
    """Of a mock cluster, whose groups cannot be described."""

    def __init__(self, servers: str) -> None:
        self.servers, self.settings = servers, dict[str, Any]()
        self.others: list[str] = []

    def members(self, group: str) -> list[str]:
        return self.others


@pytest.fixture
def admin() -> Iterator[MockAdmin]:
    cluster = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
    (broker,) = cluster.list_topics(timeout=TIMEOUT_S).brokers.values()
    cluster.produce("commands", b"", partition=0)
    cluster.flush(TIMEOUT_S)
    yield MockAdmin(f"{broker.host}:{broker.port}")


def test_a_lease_is_confirmed_until_another_server_has_it(admin: MockAdmin) -> None:
    lease = ServiceLease(cast(Any, admin), "x_", "commands", "folder")
    told = threading.Event()
    lease.acquire(lambda text: None, lambda: False)
    try:
        lease.when_lost(told.set)
        lease.confirm()
        lease.confirm()
        # Kafka takes it for dead, but there is nobody else
        lease._is_expired = True
        until(lambda: not lease._is_expired)
        lease.confirm()
        assert not lease.is_lost and not told.is_set()
        admin.others = ["ksql-spark another host 7"]
        lease._is_expired = True
        assert told.wait(TIMEOUT_S) and lease.is_lost
        with pytest.raises(KsqlError) as refused:
            lease.confirm()
        assert refused.value.condition == "SERVICE_ID_TAKEN"
    finally:
        lease.close()


def test_a_statement_that_waits_for_the_lease_ends_with_the_server(admin: MockAdmin) -> None:
    lease = ServiceLease(cast(Any, admin), "x_", "commands", "folder")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lease.confirm)  # nobody answers: it was never asked for
        lease.close()
        assert cast(KsqlError, waiting.exception(TIMEOUT_S)).condition == "STOPPED"


def test_a_server_that_lives_is_not_replaced(admin: MockAdmin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ksql_spark.kafka.lease.ALIVE_AFTER_S", 0.1)
    admin.others = ["ksql-spark another host 7"]
    said: list[str] = []
    with pytest.raises(KsqlError) as refused:
        ServiceLease(cast(Any, admin), "x_", "commands", "folder").acquire(said.append, lambda: False)
    assert refused.value.condition == "SERVICE_ID_IN_USE"
    assert "process 7 on host" in refused.value.message and "process 7 on host" in said[0]


def test_kafka_is_asked_only_after_the_server_may_have_been_frozen(
    admin: MockAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    answer = ServiceLease._answer

    def asking(self: ServiceLease, consumer: Any) -> None:
        asked.extend([None] * self._questions.qsize())
        answer(self, consumer)

    monkeypatch.setattr(ServiceLease, "_answer", asking)
    lease = ServiceLease(cast(Any, admin), "x_", "commands", "folder")
    lease.acquire(lambda text: None, lambda: False)
    try:
        lease.confirm()
        assert not asked
        monkeypatch.setattr("ksql_spark.kafka.lease.AWAKE_S", 0.0)
        lease.confirm()
        assert asked
    finally:
        lease.close()


def test_a_broker_that_was_just_started_is_asked_to_join_once_it_has_a_coordinator(
    admin: MockAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    class Starting(Consumer):
        def committed(self, *args: Any, **options: Any) -> Any:
            calls.append("asked")
            if len(calls) < 3:
                raise KafkaException(KafkaError(KafkaError.NOT_COORDINATOR))
            return super().committed(*args, **options)

        def subscribe(self, *args: Any, **options: Any) -> None:
            calls.append("joins")
            super().subscribe(*args, **options)

    monkeypatch.setattr("ksql_spark.kafka.membership.Consumer", Starting)
    lease = ServiceLease(cast(Any, admin), "x_", "commands", "folder")
    try:
        lease.acquire(lambda text: None, lambda: False)
        assert calls == ["asked", "asked", "asked", "joins"]
    finally:
        lease.close()


@pytest.mark.kafka
def test_a_cluster_that_does_not_let_us_in_says_why(broker: EmbeddedBroker, kafka_admin: KafkaAdmin) -> None:
    # shorter than group.min.session.timeout.ms of the broker
    short = {"session.timeout.ms": "1000", "heartbeat.interval.ms": "300"}
    lease = ServiceLease(KafkaAdmin(broker.bootstrap_servers, short), "short_", "lease_short", "folder")
    kafka_admin.create_topic("lease_short")
    try:
        with pytest.raises(KsqlError) as refused:
            lease.acquire(lambda text: None, lambda: False)
        assert refused.value.condition == "KAFKA_REFUSED"
        assert "session timeout" in refused.value.message
    finally:
        lease.close()
        kafka_admin.delete_topics(["lease_short"])
