"""Counts the records in the topics of streams and tables."""

from __future__ import annotations

import logging
import time

from ksql_spark.engine.samples import TopicSpan
from ksql_spark.errors import KsqlError
from ksql_spark.statements import Services

log = logging.getLogger(__name__)

#: how often the first offsets are asked for, seconds: retention moves them seldom
BEGIN_EVERY_S = 60.0


class TopicSpans:
    """Asks Kafka for the first and the last offsets.

    Args:
        services: the parts of this server.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._asked_at = 0.0
        #: topic -> the sum of its first offsets
        self._begins: dict[str, int] = {}

    def now(self) -> dict[str, TopicSpan] | None:
        """The spans of the topics that exist; None if Kafka does not answer."""
        admin = self._services.admin
        try:
            there = admin.topics()
            topics = [t for t in {s.topic for s in self._services.metastore.sources()} if t in there]
            ends = self._services.views.ends(topics)
            if time.monotonic() >= self._asked_at + BEGIN_EVERY_S or not ends.keys() <= self._begins.keys():
                self._begins = dict.fromkeys(topics, 0)
                for (topic, _), offset in admin.beginning_offsets(*topics).items():
                    self._begins[topic] += offset
                self._asked_at = time.monotonic()
        except KsqlError as error:
            log.warning("the graph lacks topics: %s", error)
            return None
        return {
            topic: TopicSpan(self._begins[topic], sum(of_topic.values())) for topic, of_topic in ends.items()
        }
