"""DESCRIBE EXTENDED on a real broker: how far a query has read, by its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.producer import RecordProducer
from tests.waiting import until

pytestmark = pytest.mark.kafka


def test_offsets_follow_the_checkpoints(
    execute: Callable[[str], Any], engine: Engine, topic_names: Callable[[str], str]
) -> None:
    source, sink = topic_names("in"), topic_names("out")
    execute(f"""
        CREATE STREAM seen (k STRING KEY, v INT)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        SET 'ksql.checkpoint.interval.ms' = '5000';
        CREATE TABLE seen_often WITH (KAFKA_TOPIC = '{sink}') AS
          SELECT k, COUNT(*) AS n FROM seen GROUP BY k EMIT CHANGES;
    """)
    producer = RecordProducer(engine.services.admin.servers)
    for _ in range(3):
        producer.send(source, b"a", b'{"V": 1}')
    producer.close()

    def has_read_all() -> bool:
        answer: Any
        (answer,) = engine.execute(Request("DESCRIBE seen EXTENDED;"))
        (summary,) = answer.source_description.query_offset_summaries
        assert summary.group_id.startswith("CTAS_SEEN_OFTEN_")
        ((offsets,),) = (topic.offsets for topic in summary.topic_summaries)
        assert offsets.log_end_offset == 3 and offsets.consumer_offset in range(4)
        return bool(offsets.consumer_offset == 3)

    until(has_read_all)
