"""The records of a topic."""

from __future__ import annotations

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from tests.waiting import until


def records(admin: KafkaAdmin, topic: str, count: int) -> list[Record]:
    """The records of ``topic``, once there are ``count``."""
    until(lambda: sum(admin.end_offsets(topic).values()) >= count)
    with TopicReader(admin.servers, topic) as reader:
        return [record for batch in reader.read_to_end() for record in batch]
