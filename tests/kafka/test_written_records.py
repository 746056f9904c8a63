"""What is written while a broker refuses records: the order, and what comes after it (ADR 68)."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import KafkaError

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.waiting import TIMEOUT_S

#: Kafka's number of the request that writes records
_PRODUCE = 0
_CLIENT = 0


class RefusingBroker:
    """librdkafka's mock of a broker, told what to answer, which Python's client has no way to do."""

    def __init__(self) -> None:
        (file,) = (Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs").glob("librdkafka-*")
        self._library = ctypes.CDLL(str(file))
        for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
            getattr(self._library, name).restype = ctypes.c_void_p
        self._library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        settings = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        reason = ctypes.create_string_buffer(512)
        self._client = ctypes.c_void_p(self._library.rd_kafka_new(_CLIENT, settings, reason, len(reason)))
        self._cluster = ctypes.c_void_p(self._library.rd_kafka_mock_cluster_new(self._client, 1))
        self.servers = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def answer_late(self, delay_ms: int) -> None:
        """Answer requests after so long."""
        self._library.rd_kafka_mock_broker_set_rtt(self._cluster, 1, delay_ms)

    def refuse(self, *codes: int) -> None:
        """Answer the next requests to write records with these errors; 0: write them."""
        errors = [ctypes.c_int(code) for code in codes]
        self._library.rd_kafka_mock_push_request_errors(
            self._cluster, ctypes.c_int16(_PRODUCE), ctypes.c_size_t(len(codes)), *errors
        )

    def close(self) -> None:
        """End it."""
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)


@pytest.fixture
def broker() -> Iterator[RefusingBroker]:
    made = RefusingBroker()
    yield made
    made.close()


def written(broker: RefusingBroker, last: bytes) -> list[bytes | None]:
    """What the topic has, read until ``last`` comes, and what comes right after it."""
    found: list[bytes | None] = []
    with TopicReader(broker.servers, "t") as reader:
        while last not in found:
            records = reader.poll_batch(TIMEOUT_S)
            assert records, found
            found += [record.value for record in records]
        return [*found, *(record.value for record in reader.poll_batch(1))]


def test_a_batch_that_is_refused_is_not_overtaken(broker: RefusingBroker) -> None:
    producer = RecordProducer(broker.servers, {"batch.num.messages": 1})
    try:
        producer.send("t", b"k", b"first", partition=0)
        broker.answer_late(200)
        # it does not lead the partition yet, and a moment later it does; librdkafka would take the third for
        # written, and the second for written before
        broker.refuse(KafkaError.NOT_LEADER_FOR_PARTITION, 0)
        producer.send_async("t", b"k", b"second", partition=0)
        producer.send_async("t", b"k", b"third", partition=0)
        assert producer.flush() == 0
    finally:
        producer.close()
    broker.answer_late(0)
    assert written(broker, b"third") == [b"first", b"second", b"third"]


def test_a_producer_that_is_refused_for_good_is_replaced(broker: RefusingBroker) -> None:
    producer = RecordProducer(broker.servers)
    try:
        producer.send("t", b"k", b"first", partition=0)
        # as a broker says that has lost records
        broker.refuse(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
        with pytest.raises(KsqlError):
            producer.send("t", b"k", b"refused", partition=0)
        deadline = time.monotonic() + 30
        while True:
            try:
                producer.send("t", b"k", b"second", partition=0)
                break
            except KsqlError:  # until its own thread has seen it
                assert time.monotonic() < deadline
    finally:
        producer.close()
    assert written(broker, b"second") == [b"first", b"second"]
