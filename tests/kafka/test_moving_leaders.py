"""Topics whose partitions have no leader for a moment, as when they are new or their broker was restarted."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from ksql_spark.errors import KsqlError
from ksql_spark.kafka import consumer
from ksql_spark.kafka.consumer import TopicReader
from tests.kafka.mock_cluster import PARTITIONS, MockCluster


@pytest.mark.parametrize(
    ("code", "is_read"), [(KafkaError.NOT_LEADER_FOR_PARTITION, True), (KafkaError.TOPIC_EXCEPTION, False)]
)
def test_a_reader_asks_again(monkeypatch: pytest.MonkeyPatch, code: int, is_read: bool) -> None:
    left = [1, 1]

    class Moving(Consumer):
        def get_watermark_offsets(self, *args: Any, **kwargs: Any) -> Any:
            if left:
                left.pop()
                raise KafkaException(KafkaError(code))
            return super().get_watermark_offsets(*args, **kwargs)

    monkeypatch.setattr(consumer, "Consumer", Moving)
    cluster = MockCluster()
    cluster.write("t", (b"k", b"v"))
    if is_read:
        with TopicReader(cluster.servers, "t") as reader:
            assert reader.positions == dict.fromkeys(range(PARTITIONS), 0)
    else:
        with pytest.raises(KsqlError, match="read topic 't'"):
            TopicReader(cluster.servers, "t")
