"""Ends transactions that vanished producers have left open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException, Producer

from ksql_spark.kafka.client import REQUEST_TIMEOUT_S, Connection


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
