"""Writes records with one shared, idempotent producer."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import NEW_TOPIC_WAIT_S
from ksql_spark.kafka.client import REQUEST_TIMEOUT_S, Connection

log = logging.getLogger(__name__)

Headers = Sequence[tuple[str, "bytes | None"]]
"""A record's headers in order; keys may repeat."""

#: how many records may be queued before writers have to wait; half of librdkafka's limit
MAX_QUEUED = 50_000
#: exceptions that calls which serve callbacks raise, once, after a fatal error
_FATAL = (KafkaException, SystemError)
_FAILED_CALLBACK = "a delivery callback failed"


class RecordProducer:
    """Writes records to any topic; may be used from any thread.

    A record goes to the partition that Kafka's Java clients would choose for its key (murmur2); a record
    without a key goes to any.

    Args:
        servers: ``host:port`` pairs, separated by commas.
        settings: more settings, under librdkafka's names.
        linger_ms: how long a record may wait for others to form a batch; 0 for the lowest latency.
    """

    def __init__(self, servers: str, settings: Mapping[str, Any] | None = None, linger_ms: float = 0) -> None:
        self._connection = Connection(servers, settings)
        self._linger_ms = linger_ms
        #: whether librdkafka has met a fatal error, after which its producer accepts nothing
        self._is_broken = threading.Event()
        self._producer = self._make()
        #: the written records: topic -> partition -> the offset after the last one
        self.written: dict[str, dict[int, int]] = {}
        self._closing = threading.Event()
        self._attention = Attention()
        self._served = threading.Thread(target=self._serve, name="kafka-deliveries", daemon=True)
        self._served.start()

    def _make(self) -> Producer:
        return Producer(
            self._connection.config(
                enable_idempotence=True,
                # with more, librdkafka may report a record as written that is not: see ADR 68
                max_in_flight_requests_per_connection=1,
                linger_ms=self._linger_ms,
                partitioner="murmur2_random",
                message_timeout_ms=int(REQUEST_TIMEOUT_S * 1000),
                topic_metadata_propagation_max_ms=2000,
            )
        )

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> tuple[int, int]:
        """Write one record and wait until the cluster has acknowledged it.

        Args:
            topic: an existing topic.
            key: the key's bytes, or None.
            value: the value's bytes; None is a tombstone.
            timestamp_ms: the record's timestamp, epoch milliseconds; None: now.
            headers: the record's headers.
            partition: the partition; None: by the key.

        Returns:
            the record's partition and offset.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED.
        """
        delivered = threading.Event()
        outcome: list[tuple[KafkaError | None, Message]] = []

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            outcome.append((error, message))
            delivered.set()

        self._produce(topic, key, value, timestamp_ms, headers, partition, on_delivery)
        delivered.wait()
        error, message = outcome[0]
        if error:
            raise self._failure(error, topic)
        written_to, offset = message.partition(), message.offset()
        assert written_to is not None and offset is not None  # known once delivered
        note_written(self.written, topic, written_to, offset)
        return written_to, offset

    def send_async(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
        partition: int | None = None,
        on_delivery: Callable[[KsqlError | None], None] | None = None,
    ) -> None:
        """Queue one record for writing; flush() waits for it.

        Args:
            on_delivery: called in another thread, with None once the record is written, or with the error.
                The other arguments are those of send().
        """
        report = on_delivery
        if report is None:
            self._produce(topic, key, value, timestamp_ms, headers, partition, None)
            return

        def deliver(error: KafkaError | None, message: Message) -> None:
            report(self._failure(error, topic) if error else None)

        self._produce(topic, key, value, timestamp_ms, headers, partition, deliver)

    def send_all(self, topic: str, records: Collection[tuple[bytes | None, bytes | None, int]]) -> None:
        """Write records, each a key, a value and a time in epoch milliseconds, and wait until the cluster has
        acknowledged all of them.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED; others may have been written.
        """
        delivered: list[KsqlError | None] = []
        writer = self.writer(topic, lambda _, error: delivered.append(error))
        with writer.attention:
            for number, record in enumerate(records):
                writer.write(number, *record)
            while len(delivered) < len(records):
                writer.poll(0.1)
        for error in filter(None, delivered):
            raise error

    def writer(self, topic: str, on_delivered: Callable[[int, KsqlError | None], None]) -> Writer:
        """A writer of many numbered records.

        Args:
            topic: an existing topic.
            on_delivered: called with a record's number, and None once it is written, or the error, by the
                producer's thread or that of any writer.
        """

        def failure(error: BaseException | KafkaError) -> KsqlError:
            return self._failure(error, topic)

        return Writer(self._producer, self._attention, topic, on_delivered, failure, self.written)

    def _produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int | None,
        headers: Headers,
        partition: int | None,
        on_delivery: Callable[[KafkaError | None, Message], None] | None,
    ) -> None:
        optional: dict[str, Any] = {}
        if timestamp_ms is not None:
            optional["timestamp"] = timestamp_ms
        if partition is not None:
            optional["partition"] = partition
        if headers:
            optional["headers"] = list(headers)
        if on_delivery is not None:
            optional["on_delivery"] = on_delivery
        queue(self._producer, topic, key, value, partial(self._failure, topic=topic), **optional)

    def _failure(self, error: BaseException | KafkaError, topic: str) -> KsqlError:
        cause = error.args[0] if isinstance(error, KafkaException) and error.args else error
        if isinstance(cause, KafkaError) and (cause.fatal() or cause.code() == KafkaError._FATAL):
            self._is_broken.set()
        return self._connection.failure(error, f"write to topic '{topic}'", topic)

    def flush(self, timeout_s: float = REQUEST_TIMEOUT_S) -> int:
        """Wait up to ``timeout_s`` seconds until all queued records are written; returns how many are not."""
        deadline = time.monotonic() + timeout_s
        while True:
            remaining_s = max(0.0, deadline - time.monotonic())
            try:
                return int(self._producer.flush(remaining_s))
            except _FATAL:
                self._is_broken.set()
            except Exception:
                log.exception(_FAILED_CALLBACK)
            if not remaining_s:
                return len(self._producer)

    def close(self) -> None:
        """Flush, stop, and free the connections; may be called more than once."""
        if not self._closing.is_set():
            if self.flush():
                self._producer.purge()  # nobody needs it any more
                self._producer.flush(1)
            self._closing.set()
            self._served.join()
            self._producer.close()

    def _serve(self) -> None:
        """Call delivery callbacks as soon as records are delivered, unless writers do so."""
        while not self._closing.is_set():
            if not poll(self._producer, 0.2 if self._attention.is_free(0.2) else 0):
                self._is_broken.set()
            if self._is_broken.is_set():
                broken, self._producer = self._producer, self._make()
                # its pending records fail, and so do writers that still use it
                broken.purge()
                while len(broken):
                    poll(broken, 0.2)
                self._is_broken.clear()  # the recent failure says nothing about the new producer


class Attention:
    """Coordinates who calls delivery callbacks: the producer's own thread, or threads that write many
    records.

    Two threads that alternate for each record, one writing and one in callbacks, spend most of their time
    waiting for the interpreter lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._writers = 0
        self._free = threading.Event()
        self._free.set()

    def __enter__(self) -> None:
        with self._lock:
            self._writers += 1
            self._free.clear()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._writers -= 1
            if not self._writers:
                self._free.set()

    def is_free(self, timeout_s: float) -> bool:
        """Whether no writer calls callbacks, now or within ``timeout_s`` seconds."""
        return self._free.wait(timeout_s)


class Writer:
    """Queues numbered records for one topic with little work per record; see RecordProducer.

    Args:
        producer: the client library's producer.
        attention: the producer's; the writer's thread enters it while it writes, and then calls ``poll``.
        topic: an existing topic.
        on_delivered: as for RecordProducer.writer.
        failure: converts an error of the library.
        written: receives the offsets of written records.
    """

    def __init__(
        self,
        producer: Producer,
        attention: Attention,
        topic: str,
        on_delivered: Callable[[int, KsqlError | None], None],
        failure: Callable[[BaseException | KafkaError], KsqlError],
        written: dict[str, dict[int, int]],
    ) -> None:
        self._written = written
        self.attention = attention
        self._producer = producer
        self._topic = topic
        self._on_delivered = on_delivered
        self._failure = failure

    def write(self, number: int, key: bytes | None, value: bytes | None, timestamp_ms: int) -> None:
        """Queue one record.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED.
        """
        deliver = partial(self._delivered, number)
        queue(
            self._producer,
            self._topic,
            key,
            value,
            self._failure,
            timestamp=timestamp_ms,
            on_delivery=deliver,
        )

    def poll(self, timeout_s: float = 0) -> None:
        """Call the callbacks of delivered records, of all writers; wait up to ``timeout_s`` for some."""
        poll(self._producer, timeout_s)

    def _delivered(self, number: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._on_delivered(number, self._failure(error))
            return
        partition, offset = message.partition(), message.offset()
        if partition is not None and offset is not None:
            note_written(self._written, self._topic, partition, offset)
        self._on_delivered(number, None)


def poll(producer: Producer, timeout_s: float) -> bool:
    """Call the callbacks of delivered records; False if the client has met a fatal error.

    A callback that fails is logged: the polling thread is not involved, and other callbacks follow.
    """
    try:
        producer.poll(timeout_s)
    except _FATAL:
        return False
    except Exception:
        log.exception(_FAILED_CALLBACK)
    return True


def queue(
    producer: Producer,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    failure: Callable[[BaseException | KafkaError], KsqlError],
    **optional: Any,
) -> None:
    """Queue one record; waits while the queue is full, and for a topic that was just created.

    Args:
        producer: the client library's producer; ``optional`` are more arguments of its ``produce``.
        topic: an existing topic.
        key: the key's bytes, or None.
        value: the value's bytes, or None.
        failure: converts an error of the library.

    Raises:
        KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED, STOPPED.
    """
    deadline: float | None = None
    while True:
        try:
            producer.produce(topic, value, key, **optional)
            return
        except BufferError:
            # the queue is full: wait until part of it has been delivered
            poll(producer, 0.01)
        except (KafkaException, ValueError, TypeError) as error:
            failed = failure(error)
            deadline = deadline or time.monotonic() + NEW_TOPIC_WAIT_S
            if failed.condition != "TOPIC_UNKNOWN" or not appears(producer, topic, deadline):
                raise failed from None
        except RuntimeError:  # it is closed
            raise KsqlError("STOPPED") from None


def appears(producer: Producer, topic: str, deadline: float) -> bool:
    """Whether a topic exists that librdkafka considers missing; afterwards, librdkafka knows it.

    A deleted topic may be recreated. librdkafka rejects records for it until its next metadata request for
    the topic, which may be minutes later.

    Args:
        producer: of the client library.
        topic: the topic.
        deadline: until when to retry, on the monotonic clock.
    """
    while time.monotonic() < deadline:
        try:
            metadata = producer.list_topics(topic, REQUEST_TIMEOUT_S).topics.get(topic)
        except KafkaException:
            return False
        time.sleep(0.02)  # librdkafka's own thread also handles the response
        if metadata is not None and metadata.error is None:
            return True
    return False


def note_written(written: dict[str, dict[int, int]], topic: str, partition: int, offset: int) -> None:
    """Record that a record was written, before callbacks run."""
    ends = written.get(topic)
    if ends is None:
        ends = written.setdefault(topic, {})
    if offset >= ends.get(partition, 0):
        ends[partition] = offset + 1
