"""Records that a topic refuses are left out and reported; those around them are written, once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.engine import Engine
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

#: as brokers with Kafka 4 have it by default
HOUR = {"message.timestamp.after.max.ms": "3600000"}
GUARANTEES = ["at_least_once", "exactly_once_v2"]
#: microseconds that are taken for milliseconds
FAR = 1_700_000_000_000_000


def keys_in(admin: KafkaAdmin, topic: str, wanted: int) -> list[bytes | None]:
    """The keys in a topic, in any order, once it has so many records."""
    keys: list[bytes | None] = []
    deadline = time.monotonic() + TIMEOUT_S
    with TopicReader(admin.servers, topic) as reader:
        while len(keys) < wanted:
            assert time.monotonic() < deadline, keys
            keys += [record.key for record in reader.poll_batch(0.1)]
        for batch in reader.read_to_end():
            keys += [record.key for record in batch]
    return sorted(keys, key=str)


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("partitions", [1, 4])
def test_times_that_the_sink_does_not_take(
    execute: Callable[[str], Any],
    post: Callable[..., Any],
    engine: Engine,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
    guarantee: str,
    partitions: int,
) -> None:
    source, sink, made = (topic_names(name) for name in ("in", "out", "made"))
    kafka_admin.create_topic(sink, partitions, config=HOUR)
    execute(
        f"CREATE STREAM timed (k STRING KEY, t BIGINT) WITH (KAFKA_TOPIC = '{source}', "
        f"VALUE_FORMAT = 'JSON', PARTITIONS = {partitions}, TIMESTAMP = 't');"
    )
    with_ = f"WITH (KAFKA_TOPIC = '{{}}', PARTITIONS = {partitions}) AS SELECT * FROM timed EMIT CHANGES;"
    text = f"CREATE STREAM limited {with_.format(sink)} CREATE STREAM free {with_.format(made)}"
    assert post(text, **{"processing.guarantee": guarantee}).status_code == 200
    now = int(time.time() * 1000)
    producer = RecordProducer(kafka_admin.servers)
    for key, at in (("a", now), ("far", FAR), ("b", now), ("c", now)):
        producer.send(source, key.encode(), b'{"T": %d}' % at, now, partition=0)
    producer.close()
    assert keys_in(kafka_admin, sink, 3) == [b"a", b"b", b"c"]
    assert keys_in(kafka_admin, made, 4) == [b"a", b"b", b"c", b"far"]  # topics of ours take any time
    queries = {query.plan.sink.topic: query for query in engine.services.queries.all()}
    assert queries[sink].state == "RUNNING" and not queries[sink].errors
    assert sum(engine.services.queries.figures.counts(queries[sink].id)[:4]) == 1
    for name, topic in (("limited", sink), ("free", made)):
        (warning,) = execute(f"DESCRIBE {name};")[0]["warnings"]
        hint = "times are in the year 55840; is the column T in microseconds?"
        assert warning["message"] == f"{queries[topic].id}: {hint}"


#: by what a sink refuses of them: its configuration, and records with the keys a and b around one in between
REFUSED: dict[str, tuple[dict[str, str], bytes | None, bytes]] = {
    "needs a key": ({"cleanup.policy": "compact"}, None, b'{"V": "x"}'),
    "is too large": ({"max.message.bytes": "2000"}, b"c", b'{"V": "%s"}' % (b"x" * 3000)),
}


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("what", REFUSED)
def test_records_that_the_sink_does_not_take(
    post: Callable[..., Any],
    execute: Callable[[str], Any],
    engine: Engine,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
    guarantee: str,
    what: str,
) -> None:
    source, sink, strict = (topic_names(name) for name in ("in", "out", "strict"))
    config, key, value = REFUSED[what]
    for topic in (sink, strict):
        kafka_admin.create_topic(topic, 1, config=config)
    execute(
        "CREATE STREAM refused (k STRING KEY, v STRING) "
        f"WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
    )
    text = "CREATE STREAM {} WITH (KAFKA_TOPIC = '{}') AS SELECT * FROM refused EMIT CHANGES;"
    given = {"processing.guarantee": guarantee}
    assert post(text.format("lenient", sink), **given).status_code == 200
    given["ksql.fail.on.production.error"] = "true"
    assert post(text.format("strict", strict), **given).status_code == 200
    producer = RecordProducer(kafka_admin.servers)
    for k, v in ((b"a", b'{"V": "y"}'), (key, value), (b"b", b'{"V": "z"}')):
        producer.send(source, k, v, partition=0)
    producer.close()
    assert keys_in(kafka_admin, sink, 2) == [b"a", b"b"]
    queries = {query.plan.sink.topic: query for query in engine.services.queries.all()}
    assert queries[sink].state == "RUNNING" and not queries[sink].errors
    assert engine.services.queries.figures.counts(queries[sink].id).failed == 1
    until(lambda: queries[strict].errors)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_record_that_is_small_enough_once_it_is_compressed(
    post: Callable[..., Any],
    execute: Callable[[str], Any],
    engine: Engine,
    kafka_admin: KafkaAdmin,
    topic_names: Callable[[str], str],
    guarantee: str,
) -> None:
    source, sink = topic_names("in"), topic_names("out")
    kafka_admin.create_topic(sink, 1, config={"max.message.bytes": "2000"})
    execute(
        "CREATE STREAM compressible (k STRING KEY, v STRING) "
        f"WITH (KAFKA_TOPIC = '{source}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
    )
    given = {"processing.guarantee": guarantee, "ksql.streams.producer.compression.type": "zstd"}
    text = (
        f"CREATE STREAM compressed WITH (KAFKA_TOPIC = '{sink}') AS SELECT * FROM compressible EMIT CHANGES;"
    )
    assert post(text, **given).status_code == 200
    producer = RecordProducer(kafka_admin.servers)
    producer.send(source, b"a", b'{"V": "%s"}' % (b"x" * 3000), partition=0)
    producer.close()
    assert keys_in(kafka_admin, sink, 1) == [b"a"]
    (query,) = [query for query in engine.services.queries.all() if query.plan.sink.topic == sink]
    assert not query.errors
