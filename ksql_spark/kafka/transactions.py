"""Transactions: ends those that vanished producers have left open, and writes records in new ones."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.client import REQUEST_TIMEOUT_S, Connection
from ksql_spark.kafka.producer import Headers, queue

#: how long a transaction may be open before the broker aborts it, seconds
_OPEN_S = 60


def fence(servers: str, transactional_id: str, settings: Mapping[str, Any] | None = None) -> None:
    """Abort open transactions of producers with this transactional id, which can no longer commit anything.

    Otherwise the broker aborts them after ``transaction.timeout.ms``, and readers of committed records wait
    that long. A commit that has started is completed instead.

    Args:
        servers: ``host:port`` pairs, separated by commas.
        transactional_id: the producers' id; nothing happens if Kafka does not know it.
        settings: more settings, under librdkafka's names.

    Raises:
        KsqlError: BROKER_UNREACHABLE, KAFKA_REFUSED.
    """
    connection = Connection(servers, settings)
    producer = Producer(connection.config(transactional_id=transactional_id))
    try:
        producer.init_transactions(REQUEST_TIMEOUT_S)
    except KafkaException as error:
        raise connection.failure(error, f"end the transactions of '{transactional_id}'") from None


class Written(NamedTuple):
    """A record to write: see RecordProducer.send()."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None = None
    headers: Headers = ()
    partition: int | None = None


class TransactionalWriter:
    """Writes records in transactions: readers of committed records see all records of one, or none.

    Making one aborts what an earlier writer with the same id has left open, and that writer can commit
    nothing any more. Not thread-safe.

    Args:
        servers: ``host:port`` pairs, separated by commas.
        transactional_id: names the writer.
        settings: more settings, under librdkafka's names.

    Raises:
        KsqlError: BROKER_UNREACHABLE, KAFKA_REFUSED.
    """

    def __init__(
        self, servers: str, transactional_id: str, settings: Mapping[str, Any] | None = None
    ) -> None:
        self._connection = Connection(servers, settings)
        self._producer = Producer(
            self._connection.config(
                transactional_id=transactional_id,
                transaction_timeout_ms=_OPEN_S * 1000,
                max_in_flight_requests_per_connection=1,
                # as RecordProducer
                partitioner="murmur2_random",
            )
        )
        try:
            self._producer.init_transactions(REQUEST_TIMEOUT_S)
        except KafkaException as error:
            self._producer.close()
            raise self._failure(error) from None

    def write(self, records: Iterable[Written]) -> None:
        """Write records in one transaction.

        Raises:
            KsqlError: none of them was written; but after BROKER_UNREACHABLE all of them may be. The writer
                cannot be used any more.
        """
        try:
            self._producer.begin_transaction()
            for topic, key, value, timestamp_ms, headers, partition in records:
                optional: dict[str, Any] = {"headers": list(headers)} if headers else {}
                if timestamp_ms is not None:
                    optional["timestamp"] = timestamp_ms
                if partition is not None:
                    optional["partition"] = partition
                queue(self._producer, topic, key, value, partial(self._failure, topic=topic), **optional)
            self._commit()
        except KafkaException as error:
            raise self._failure(error) from None

    def _commit(self) -> None:
        deadline = time.monotonic() + _OPEN_S
        while True:
            try:
                self._producer.commit_transaction(REQUEST_TIMEOUT_S)
                return
            except KafkaException as error:
                # what is under way can only be waited for
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def close(self) -> None:
        """Abort a transaction that is still open; may be called more than once."""
        with contextlib.suppress(KafkaException):
            self._producer.abort_transaction(REQUEST_TIMEOUT_S)
        with contextlib.suppress(KafkaException):  # another writer with its id has taken over
            self._producer.close()

    def _failure(self, error: BaseException | KafkaError, topic: str = "") -> KsqlError:
        return self._connection.failure(error, "write records in a transaction", topic)
