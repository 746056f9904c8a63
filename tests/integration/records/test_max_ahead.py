"""MAX_AHEAD: a record with a time that has not come is left out, and is replayed once it has."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.integration.records.logged_engine import logged_engine
from tests.waiting import until

pytestmark = pytest.mark.kafka


def test_a_record_comes_back_when_its_time_has_come(
    broker: EmbeddedBroker,
    spark_process: SparkProcess,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
    tmp_path: Path,
) -> None:
    topic = topic_names("s")
    with logged_engine(broker, spark_process, kafka_admin, tmp_path) as server:
        server.run(
            f"CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON',"
            " PARTITIONS=1, MAX_AHEAD='1 SECOND'); CREATE STREAM passed AS SELECT k, v FROM s;"
        )
        producer = RecordProducer(broker.bootstrap_servers)
        now_ms = int(time.time() * 1000)
        for v, ahead_ms in enumerate((0, 20_000, 0)):
            producer.send(topic, b"a", json.dumps({"v": v}).encode(), now_ms + ahead_ms)

        def passed() -> list[Any]:
            return server.rows("SELECT v FROM passed;")

        until(lambda: len(passed()) == 2, passed)
        until(lambda: server.rows("SELECT offset FROM ERRORS OF CSAS_PASSED_2;") == [(1,)])
        until(lambda: server.run("REPLAY ERRORS OF CSAS_PASSED_2;")[0].replayed)
        until(lambda: sorted(passed()) == [(0,), (1,), (2,)], passed)
