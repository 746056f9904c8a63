"""Records that stop a query, where a property says that they shall (reference §5.7, §5.8)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.engine import Engine
from ksql_spark.formats import BadRecord
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.reading.row_decoding import READERS
from tests.waiting import until

pytestmark = pytest.mark.kafka


def first_error(engine: Engine, query_id: str) -> str:
    """The message of a query's first failure, once it has stopped it."""
    query = engine.services.queries.find(query_id)
    assert query is not None
    until(lambda: query.state == "ERROR", lambda: query.state)
    assert query.errors[0].type == "USER"
    return query.errors[0].message


@pytest.mark.parametrize(
    ("setting", "record", "said"),
    [
        (
            "ksql.fail.on.deserialization.error",
            b'{"V": "many", "MOMENT": "2026-01-31"}',
            'The value of a record of topic {topic} cannot be read: $.V: There is "many", which is not a ',
        ),
        (
            "ksql.timestamp.throw.on.invalid",
            b'{"V": 1, "MOMENT": "yesterday"}',
            "A record of topic {topic} has no event time. The column that TIMESTAMP names",
        ),
    ],
)
def test_a_record_stops_its_query(
    execute: Callable[[str], Any],
    engine: Engine,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
    setting: str,
    record: bytes,
    said: str,
) -> None:
    source, sink, other = topic_names("in"), topic_names("out"), topic_names("other")
    answer = execute(f"""
        CREATE STREAM wild (k STRING KEY, v INT, moment STRING)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1,
                TIMESTAMP = 'moment', TIMESTAMP_FORMAT = 'yyyy-MM-dd');
        CREATE STREAM lenient WITH (KAFKA_TOPIC = '{other}') AS SELECT k, v FROM wild EMIT CHANGES;
        SET '{setting}' = 'true';
        CREATE STREAM strict WITH (KAFKA_TOPIC = '{sink}') AS SELECT k, v FROM wild EMIT CHANGES;
    """)
    strict = answer[-1]["commandStatus"]["queryId"]
    producer = RecordProducer(kafka_admin.servers)
    producer.send(source, b"a", record)
    producer.send(source, b"b", b'{"V": 2, "MOMENT": "2026-01-31"}')
    assert said.format(topic=source) in first_error(engine, strict)
    until(lambda: sum(kafka_admin.end_offsets(other).values()) >= 1)
    assert not any(kafka_admin.end_offsets(sink).values())


def test_a_record_without_a_timestamp_is_left_out(
    execute: Callable[[str], Any],
    engine: Engine,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
) -> None:
    source, sink, strict = topic_names("in"), topic_names("out"), topic_names("strict")
    answer = execute(f"""
        CREATE STREAM timeless (k STRING KEY, v INT)
          WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
        CREATE STREAM kept WITH (KAFKA_TOPIC = '{sink}') AS SELECT k, v FROM timeless EMIT CHANGES;
        SET 'ksql.timestamp.throw.on.invalid' = 'true';
        CREATE STREAM strict WITH (KAFKA_TOPIC = '{strict}') AS SELECT k, v FROM timeless EMIT CHANGES;
    """)
    producer = RecordProducer(kafka_admin.servers)
    producer.send(source, b"a", b'{"V": 1}', timestamp_ms=-1)
    producer.send(source, b"b", b'{"V": 2}', timestamp_ms=1)
    with contextlib.closing(TopicReader(kafka_admin.servers, source)) as reader:
        records = [r for batch in reader.read_to_end() for r in batch]
    assert [r.timestamp_ms for r in records] == [-1, 1]
    error = first_error(engine, answer[-1]["commandStatus"]["queryId"])
    assert error.startswith(f"A record of topic {source} has no event time. The record has no timestamp")
    until(lambda: any(kafka_admin.end_offsets(sink).values()))
    with contextlib.closing(TopicReader(kafka_admin.servers, sink)) as reader:
        assert [r.key for batch in reader.read_to_end() for r in batch] == [b"b"]
    row_reader = READERS.of(engine.services.metastore.require("TIMELESS"), None)
    with pytest.raises(BadRecord, match="timestamp is missing"):
        row_reader.stream_row(records[0])
    assert row_reader.stream_row(records[1]) == [1, 0, 1, "b", 2]
