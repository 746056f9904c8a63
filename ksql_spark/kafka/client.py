"""Common to all our Kafka clients: their settings, and the errors for their failures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException

from ksql_spark.errors import KsqlError

#: how long a request may take before the broker counts as unreachable, in seconds
REQUEST_TIMEOUT_S = 10.0

# confluent-kafka 2.16 never frees the id of a topic that it has described: 96 bytes for each description. It
# makes ids by this name, so that now each id is made once.
confluent_kafka.Uuid = cache(confluent_kafka.Uuid)  # type: ignore[assignment,misc]

_UNREACHABLE = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
    }
)
_UNKNOWN_TOPIC = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
)
#: failures that the user may fix by changing the request
_WRONG_REQUEST = frozenset(
    {
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.INVALID_CONFIG,
        KafkaError.INVALID_REQUEST,
        KafkaError.POLICY_VIOLATION,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.RECORD_LIST_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.INVALID_TIMESTAMP,
    }
)
#: details that brokers omit when they reject a record
_USUAL_REASONS = {
    KafkaError.INVALID_RECORD: "; a compacted topic rejects records without a key",
    KafkaError.INVALID_TIMESTAMP: "; its message.timestamp.before.max.ms and .after.max.ms limit times",
}


class Connection:
    """Settings of one client, and why its last connection failed.

    Args:
        servers: ``host:port`` pairs, separated by commas.
        settings: more settings, under librdkafka's names (security, SASL).
    """

    def __init__(self, servers: str, settings: Mapping[str, Any] | None = None) -> None:
        self.servers = servers
        self.settings = dict(settings or {})
        self.last_failure = "no connection"

    def config(self, **own: Any) -> dict[str, Any]:
        """The complete configuration of a client; ``own`` settings have ``_`` instead of dots."""
        return {
            "bootstrap.servers": self.servers,
            # librdkafka would log to the screen; relevant problems are reported as errors
            "log_level": 0,
            "error_cb": self._on_error,
            "socket.connection.setup.timeout.ms": 5000,
            "reconnect.backoff.max.ms": 1000,
            **{name.replace("_", "."): value for name, value in own.items()},
            **self.settings,
        }

    def _on_error(self, error: KafkaError) -> None:
        # "all brokers down" is less informative than the failures before it
        if error.code() != KafkaError._ALL_BROKERS_DOWN:
            self.last_failure = _plain(error)

    def failure(self, error: BaseException | KafkaError, action: str, topic: str = "") -> KsqlError:
        """The error to raise for what a client raised or reported.

        Args:
            error: a KafkaException, or the KafkaError itself.
            action: what was tried; follows "Kafka refused to".
            topic: the topic concerned, if any.
        """
        cause = error.args[0] if isinstance(error, KafkaException) and error.args else error
        if not isinstance(cause, KafkaError):
            return KsqlError("KAFKA_REFUSED", action=action, reason=str(cause).rstrip("."))
        if cause.code() in _UNREACHABLE:
            return KsqlError("BROKER_UNREACHABLE", servers=self.servers, reason=self.last_failure)
        if cause.code() in _UNKNOWN_TOPIC:
            return KsqlError("TOPIC_UNKNOWN", topic=topic)
        if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return KsqlError("TOPIC_EXISTS", topic=topic)
        condition = "KAFKA_REFUSED_REQUEST" if cause.code() in _WRONG_REQUEST else "KAFKA_REFUSED"
        reason = _plain(cause) + _USUAL_REASONS.get(cause.code(), "")
        return KsqlError(condition, action=action, reason=reason)


def is_moving(error: BaseException) -> bool:
    """Whether a partition currently has no known leader: its topic is new, or its broker was restarted."""
    return isinstance(error, KafkaException) and error.args[0].code() in (
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
    )


def _plain(error: KafkaError) -> str:
    """The error's text without librdkafka's thread name, the elapsed time and the period.

    >>> _plain(KafkaError(KafkaError._TRANSPORT, "h:9/bootstrap: Connect to h:9 failed: no (after 1 s)"))
    'Connect to h:9 failed: no'
    """
    text: str = error.str()
    return text.split("/bootstrap: ", 1)[-1].split(" (after ", 1)[0].rstrip(".")
