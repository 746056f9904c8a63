"""The wrappers of the Kafka clients, on the shared broker."""

from __future__ import annotations

import gc
import json
import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Node, Producer
from confluent_kafka.cimpl import Uuid

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import Consumers, KafkaAdmin, Topic
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer


@pytest.mark.parametrize(
    "code",
    [
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    ],
)
def test_offsets_of_a_partition_whose_leader_is_not_known_yet(code, monkeypatch):
    """A broker refuses them for a moment after a topic was made, or after its own restart."""

    refused, answered = Future(), Future()
    refused.set_exception(KafkaException(KafkaError(code)))
    answered.set_result(SimpleNamespace(offset=7))
    outcomes = [refused, answered]

    class Client:
        def list_offsets(self, specs, isolation_level, request_timeout):
            (partition,) = specs
            return {partition: outcomes.pop(0)}

    admin = KafkaAdmin("localhost:1")
    monkeypatch.setattr(admin, "_handle", Client())
    monkeypatch.setattr(admin, "require_topic", lambda name: Topic(name, (1,)))
    assert admin.end_offsets("fresh") == {("fresh", 0): 7}


@pytest.mark.parametrize(
    "unready",
    [
        KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE)),
        KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)),
        SimpleNamespace(partitions=[]),
        SimpleNamespace(partitions=[SimpleNamespace(leader=None)]),
    ],
)
def test_a_new_topic_is_there_once_its_partitions_have_leaders(unready, monkeypatch):
    outcomes = [unready, SimpleNamespace(partitions=[SimpleNamespace(leader=Node(1, "localhost", 1))])]

    class Client:
        def create_topics(self, topics, request_timeout):
            return {topics[0].topic: answered(None)}

        def describe_topics(self, topics, request_timeout):
            return {"fresh": answered(outcomes.pop(0))}

    def answered(outcome):
        future = Future()
        (future.set_exception if isinstance(outcome, Exception) else future.set_result)(outcome)
        return future

    admin = KafkaAdmin("localhost:1")
    monkeypatch.setattr(admin, "_handle", Client())
    admin.create_topic("fresh")
    assert not outcomes


@pytest.mark.kafka
class TestAdmin:
    def test_descriptions_of_topics_do_not_fill_the_memory(self, kafka_admin, topic_names):
        def ids():
            return sum(type(each) is Uuid for each in gc.get_objects())

        name = topic_names()
        kafka_admin.create_topic(name)
        before = ids()
        for _ in range(10):
            kafka_admin.topic(name)
            kafka_admin.topic_id(name)
            kafka_admin.identities([name])
        assert ids() == before

    def test_no_topic_is_kept_after_its_end(self, broker, topic_names):
        statistics = []
        settings = {"statistics.interval.ms": 100, "stats_cb": statistics.append}
        admin = KafkaAdmin(broker.bootstrap_servers, settings)
        name = topic_names()
        admin.create_topic(name)
        admin.delete_topics([name])
        statistics.clear()
        while not statistics:
            admin._client.poll(0.1)
        assert json.loads(statistics[0])["topics"] == {}
        admin.close()

    def test_a_topic_from_creation_to_deletion(self, kafka_admin, topic_names):
        name = topic_names("orders")
        assert kafka_admin.topic(name) is None
        kafka_admin.create_topic(name, 3, config={"cleanup.policy": "compact"})
        assert kafka_admin.topic(name) == kafka_admin.topics()[name] == Topic(name, (1, 1, 1))
        assert kafka_admin.topic(name).partitions == 3
        assert kafka_admin.config(name)["cleanup.policy"] == "compact"
        assert kafka_admin.config(name)["retention.ms"] == "-1"
        with pytest.raises(KsqlError, match=f"A Kafka topic with the name '{name}' already exists"):
            kafka_admin.create_topic(name)
        kafka_admin.delete_topics([name])
        assert kafka_admin.topic(name) is None
        kafka_admin.delete_topics([name])
        with pytest.raises(KsqlError, match=f"Could not find topic '{name}'"):
            kafka_admin.require_topic(name)
        with pytest.raises(KsqlError, match=f"Could not find topic '{name}'"):
            kafka_admin.end_offsets(name)

    def test_offsets(self, broker, kafka_admin, topic_names):
        name, empty = topic_names(), topic_names()
        kafka_admin.create_topic(name, 2)
        kafka_admin.create_topic(empty)
        producer = RecordProducer(broker.bootstrap_servers)
        for time_ms in (100, 200, 300):
            producer.send(name, None, b"v", time_ms, partition=1)
        producer.close()
        assert kafka_admin.beginning_offsets(name, empty) == {(name, 0): 0, (name, 1): 0, (empty, 0): 0}
        both = [kafka_admin.require_topic(one) for one in (name, empty)]
        assert kafka_admin.record_counts(both) == {name: 3, empty: 0}
        assert kafka_admin.configs_of([name, empty]).keys() == {name, empty}
        assert kafka_admin.end_offsets(name, empty) == {(name, 0): 0, (name, 1): 3, (empty, 0): 0}
        assert kafka_admin.offsets([name], 150) == {(name, 0): 0, (name, 1): 1}
        assert kafka_admin.offsets([name], 301) == {(name, 0): 0, (name, 1): 3}

    def test_what_kafka_does_not_like(self, kafka_admin):
        with pytest.raises(KsqlError, match="refused to create topic 'a/b': Topic name is invalid"):
            kafka_admin.create_topic("a/b")

    def test_when_a_topic_begins(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name, 2)
        assert kafka_admin.first_time(name) is None
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for ms in (1_700_000_005_000, 1_700_000_001_000):
            producer.produce(name, b"v", partition=1, timestamp=ms)
        producer.flush()
        assert kafka_admin.first_time(name) == 1_700_000_005_000

    def test_who_reads(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name)
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": name})
        try:
            consumer.subscribe([name])
            while not consumer.assignment():
                consumer.poll(0.1)
            assert kafka_admin.consumers()[name] == Consumers(1, (name,))
        finally:
            consumer.close()
        assert name not in kafka_admin.consumers()


@pytest.mark.kafka
class TestRecords:
    def test_a_record_comes_back_as_it_was_written(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name)
        producer = RecordProducer(broker.bootstrap_servers)
        headers = [("h", b"1"), ("h", None)]
        assert producer.send(name, b"k", b"v", 123, headers) == (0, 0)
        assert producer.send(name, None, None, 2**42) == (0, 1)
        producer.close()
        producer.close()
        with TopicReader(broker.bootstrap_servers, name) as reader:
            assert [record for batch in reader.read_to_end() for record in batch] == [
                Record(name, 0, 0, 123, b"k", b"v", tuple(headers)),
                Record(name, 0, 1, 2**42, None, None),
            ]
            assert reader.positions == {0: 2}
            assert list(reader.read_to_end()) == []

    def test_keys_go_where_java_sends_them(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name, 4)
        producer = RecordProducer(broker.bootstrap_servers)
        # the partitions that org.apache.kafka.common.utils.Utils.murmur2 gives for these keys
        assert [producer.send(name, key, b"")[0] for key in (b"21", b"foobar", b"a", b"")] == [
            (0x7FFFFFFF & murmur) % 4 for murmur in (-973932308, -790332482, murmur2(b"a"), murmur2(b""))
        ]
        producer.close()

    def test_latest_is_as_of_now(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name)
        producer = RecordProducer(broker.bootstrap_servers)
        producer.send(name, None, b"old")
        with TopicReader(broker.bootstrap_servers, name, "latest") as reader:
            producer.send(name, None, b"new")
            assert [record.value for record in reader.poll_batch(10)] == [b"new"]
            assert reader.poll_batch(0) == []
        producer.close()

    def test_reading_goes_on_from_given_offsets(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name, 2)
        producer = RecordProducer(broker.bootstrap_servers)
        for partition in (0, 1):
            for value in (b"a", b"b", b"c"):
                producer.send(name, None, value, partition=partition)
        producer.close()
        with TopicReader(broker.bootstrap_servers, name, {1: 2}) as reader:
            records = [record for batch in reader.read_to_end() for record in batch]
        assert sorted((r.partition, r.value) for r in records) == [(0, b"a"), (0, b"b"), (0, b"c"), (1, b"c")]

    def test_reading_to_the_end_again_gives_what_came_since(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name)
        producer = RecordProducer(broker.bootstrap_servers)
        with TopicReader(broker.bootstrap_servers, name) as reader:
            for value in (b"1", b"2", b"3"):
                producer.send(name, None, value)
                assert [record.value for batch in reader.read_to_end() for record in batch] == [value]
                while not reader.at_end:
                    assert reader.poll_batch(0.1) == []
        producer.close()

    def test_batches_are_limited(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name)
        producer = RecordProducer(broker.bootstrap_servers, linger_ms=5)
        for number in range(100):
            producer.send_async(name, None, b"%d" % number)
        assert producer.flush() == 0
        producer.close()
        with TopicReader(broker.bootstrap_servers, name) as reader:
            values: list[int] = []
            while len(values) < 100:
                batch = reader.poll_batch(10, limit=7)
                assert len(batch) <= 7
                values += [int(record.value) for record in batch]
        assert values == list(range(100))

    def test_only_committed_transactions_are_read(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name)
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": name, "log_level": 0}
        )
        producer.init_transactions(10)
        for value, end in ((b"yes", producer.commit_transaction), (b"no", producer.abort_transaction)):
            producer.begin_transaction()
            producer.produce(name, value)
            producer.flush()
            end()
        with TopicReader(broker.bootstrap_servers, name) as reader:
            assert [record.value for batch in reader.read_to_end() for record in batch] == [b"yes"]
        with TopicReader(broker.bootstrap_servers, name, read_committed=False) as reader:
            assert [record.value for batch in reader.read_to_end() for record in batch] == [b"yes", b"no"]
        # one that is open, before one that is committed
        producer.begin_transaction()
        producer.produce(name, b"open")
        producer.flush()
        with TopicReader(broker.bootstrap_servers, name) as reader:
            assert [record.value for batch in reader.read_to_end() for record in batch] == [b"yes"]
            assert list(reader.read_to_end()) == []
            producer.commit_transaction()
            assert [record.value for batch in reader.read_to_end() for record in batch] == [b"open"]

    def test_many_threads_may_send(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name)
        producer = RecordProducer(broker.bootstrap_servers)
        offsets: list[int] = []
        threads = [
            threading.Thread(target=lambda: offsets.append(producer.send(name, None, b"")[1]))
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.close()
        assert sorted(offsets) == list(range(20))

    def test_no_such_topic(self, broker):
        producer = RecordProducer(broker.bootstrap_servers)
        with pytest.raises(KsqlError, match="Could not find topic 'nosuch'"):
            producer.send("nosuch", None, b"")
        producer.close()
        with pytest.raises(KsqlError, match="Could not find topic 'nosuch'"):
            TopicReader(broker.bootstrap_servers, "nosuch")

    @pytest.mark.parametrize("is_writer", [False, True], ids=["send", "writer"])
    def test_a_topic_that_was_made_again(self, broker, kafka_admin, topic_names, is_writer):
        name = topic_names("again")
        producer = RecordProducer(broker.bootstrap_servers)
        kafka_admin.create_topic(name)
        producer.send(name, None, b"before")
        kafka_admin.delete_topics([name])
        condition = ""
        while condition != "TOPIC_UNKNOWN":  # until librdkafka has noticed it
            try:
                producer.send(name, None, b"nowhere")
            except KsqlError as error:
                condition = error.condition
        kafka_admin.create_topic(name)
        if is_writer:
            delivered = Future()
            writer = producer.writer(name, lambda number, error: delivered.set_result((number, error)))
            writer.write(1, None, b"after", 0)
            assert delivered.result(10) == (1, None)
        else:
            assert producer.send(name, None, b"after") == (0, 0)
        producer.close()

    def test_too_large_a_record(self, broker, kafka_admin, topic_names):
        name = topic_names()
        kafka_admin.create_topic(name)
        producer = RecordProducer(broker.bootstrap_servers)
        with pytest.raises(KsqlError, match=r"refused to write .*too large"):
            producer.send(name, None, b"x" * 2_000_000)
        producer.close()

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({"cleanup.policy": "compact"}, "a compacted topic rejects records without a key"),
            ({"message.timestamp.after.max.ms": "1000"}, "limit times"),
        ],
    )
    def test_a_record_that_its_topic_does_not_take(self, broker, kafka_admin, topic_names, config, message):
        name = topic_names()
        kafka_admin.create_topic(name, config=config)
        producer = RecordProducer(broker.bootstrap_servers)
        with pytest.raises(KsqlError, match=message) as caught:
            producer.send(name, None, b"x", timestamp_ms=4_000_000_000_000)
        assert caught.value.condition == "KAFKA_REFUSED_REQUEST"  # the statement's fault, not the server's
        producer.close()


@pytest.mark.parametrize("servers", ["127.0.0.1:1", "nosuch.invalid:9092"])
def test_no_broker_is_one_clear_line(servers, capfd):
    started = time.monotonic()
    with pytest.raises(KsqlError) as caught:
        KafkaAdmin(servers, timeout_s=0.5).topics()
    assert caught.value.condition == "BROKER_UNREACHABLE"
    assert caught.value.message.startswith(f"Kafka at {servers} does not answer: ")
    assert "\n" not in caught.value.message
    assert capfd.readouterr() == ("", "")
    assert started


def murmur2(data: bytes) -> int:
    """Kafka's hash of keys, as org.apache.kafka.common.utils.Utils has it."""
    mask, multiplier = 0xFFFFFFFF, 0x5BD1E995
    hashed = (0x9747B28C ^ len(data)) & mask
    whole = len(data) - len(data) % 4
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * multiplier & mask
        k = (k ^ k >> 24) * multiplier & mask
        hashed = (hashed * multiplier & mask) ^ k
    if rest := data[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * multiplier & mask
    hashed = (hashed ^ hashed >> 13) * multiplier & mask
    return hashed ^ hashed >> 15
