"""Idle heartbeats: records in a topic show that time passes, for queries with an idle timeout."""

from __future__ import annotations

import contextlib
import logging
import threading

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer

log = logging.getLogger(__name__)

#: time between two heartbeats, which is the precision of idle timeouts
PERIOD_S = 0.25


class IdleHeartbeat:
    """Writes the heartbeats once topic() has been called.

    Args:
        admin: of the cluster that queries read.
        service_id: of this server; servers of one service share the topic.
    """

    def __init__(self, admin: KafkaAdmin, service_id: str) -> None:
        self._admin = admin
        self._topic = f"_confluent-ksql-{service_id}_heartbeats"
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def topic(self) -> str:
        """The topic's name. It exists, with one partition, and receives heartbeats from now on."""
        with self._lock:
            if self._thread is None:
                if self._admin.topic(self._topic) is None:
                    with contextlib.suppress(KsqlError):  # another server has created it
                        config = {"retention.ms": "600000", "segment.ms": "600000"}
                        self._admin.create_topic(self._topic, 1, config=config)
                self._thread = threading.Thread(target=self._write, name="idle-heartbeat", daemon=True)
                self._thread.start()
        return self._topic

    def close(self) -> None:
        """Stop writing."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(5)

    def _write(self) -> None:
        producer = RecordProducer(self._admin.servers, self._admin.settings)
        try:
            while not self._closing.wait(PERIOD_S):
                try:
                    producer.send(self._topic, None, b"", partition=0)
                except KsqlError as error:
                    log.warning("could not write a heartbeat, so idle timeouts wait: %s", error.message)
        finally:
            producer.close()
