"""REPLAY ERRORS: failed records go through their query once more, exactly once."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader, read_at
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.kafka.transactions import TransactionalWriter, Written
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.integration.records.logged_engine import LoggedEngine, logged_engine
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

WRITE = TransactionalWriter.write


@pytest.fixture
def server(
    broker: EmbeddedBroker, spark_process: SparkProcess, kafka_admin: KafkaAdmin, tmp_path: Path
) -> Iterator[LoggedEngine]:
    with logged_engine(broker, spark_process, kafka_admin, tmp_path) as made:
        yield made


def results(server: LoggedEngine, broker: EmbeddedBroker, count: int) -> list[Record]:
    """The committed records of the stream COPY, once there are so many."""
    topic = server.engine.services.metastore.require("COPY").topic
    found: list[Record] = []
    with TopicReader(broker.bootstrap_servers, topic) as reader:
        while len(found) < count:
            batch = reader.poll_batch(TIMEOUT_S)
            assert batch, f"nothing comes after {len(found)} records"
            found += batch
        found += reader.poll_batch(0.5)
    return found


def numbers(records: list[Record]) -> list[tuple[Any, Any]]:
    return sorted((json.loads(r.value or b"")["A"], json.loads(r.value or b"")["N"]) for r in records)


def test_records_are_replayed_by_the_current_version(
    server: LoggedEngine,
    broker: EmbeddedBroker,
    topic_names: Callable[[str], str],
    kafka_admin: KafkaAdmin,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each once, also after a replay that ended in the middle; those that are gone are named."""
    topic, query = topic_names("replayed"), "CSAS_COPY_2"
    server.run(
        f"CREATE STREAM s (k STRING KEY, a INT, t STRING) WITH (KAFKA_TOPIC = '{topic}', FORMAT = 'JSON',"
        " PARTITIONS = 4);"
        "CREATE STREAM copy AS SELECT k, a, LEN(t) AS n FROM s WHERE CAST(t AS INT) > 0 EMIT CHANGES;"
    )
    producer = RecordProducer(broker.bootstrap_servers)
    rows: list[dict[str, Any]] = [
        {"A": 1, "T": "one"}, {"A": 2, "T": "2"}, {"A": 3, "T": "three"}, {"A": "x"}, {"A": 5, "T": "five"}
    ]  # fmt: skip
    places = [
        producer.send(
            topic, json.dumps(f"k{a % 3}").encode(), json.dumps(row).encode(), 1_000 + a, [("h", b"x")]
        )
        for a, row in enumerate(rows)
    ]
    producer.close()
    assert server.errors(query, 4) == [[p, o, 0, False] for p, o in sorted(places[:1] + places[2:])]
    assert numbers(results(server, broker, 1)) == [(2, 1)]
    # with the same version all of them fail again: nothing is written, and there are new errors
    assert server.replay(f"REPLAY ERRORS OF {query} WHERE stage = 'PROCESSING';") == (0, 3, 0)
    assert len(results(server, broker, 1)) == 1
    again = [places[0], places[2], places[4]]
    found = server.errors(query, 7)
    assert [e for e in found if e[2]] == [[*place, 1, False] for place in sorted(again)]
    assert sum(e[3] for e in found) == 3
    # the next version can compute them, but what a writer that was killed has not committed is not to be seen
    server.run(
        "CREATE OR REPLACE STREAM copy AS SELECT k, a, LEN(t) AS n FROM s WHERE LEN(t) > 0 EMIT CHANGES;"
    )
    killed, sink = killed_writer(server, broker, query, places[0])
    written = itertools.count(1)

    def write(writer: TransactionalWriter, records: list[Written]) -> None:
        if next(written) == 2:
            raise KsqlError("BROKER_UNREACHABLE", servers="nowhere", reason="it is gone")
        WRITE(writer, records)

    with monkeypatch.context() as broken:
        broken.setattr("ksql_spark.runtime.queries.changes.replay._RECORDS", 1)
        broken.setattr(TransactionalWriter, "write", write)
        with pytest.raises(KsqlError, match="it is gone"):
            server.replay(f"REPLAY ERRORS OF {query} WHERE attempt = 1;")
    assert server.replay(f"REPLAY ERRORS OF {query} WHERE attempt = 1;") == (2, 0, 0)
    replayed = results(server, broker, 4)
    assert numbers(replayed) == [(1, 3), (2, 1), (3, 5), (5, 4)]
    (first,) = (r for r in replayed if numbers([r]) == [(1, 3)])
    assert (first.partition, first.key) == (places[0][0], b'"k0"')
    assert (first.timestamp_ms, first.headers) == (1000, (("h", b"x"),))
    with pytest.raises(KsqlError):
        killed.write([Written(sink, None, b"{}")])
    killed.close()
    # none is sent a second time, whatever is asked for; a restart changes nothing
    assert server.replay(f"REPLAY ERRORS OF {query} WHERE stage = 'PROCESSING';") == (0, 0, 0)
    server.restart()
    server.run(f"PAUSE {query};")
    assert server.replay(f"REPLAY ERRORS OF {query};") == (0, 1, 0)
    assert len(results(server, broker, 4)) == 4
    kafka_admin.delete_topics([topic])
    (answer,) = server.run(f"REPLAY ERRORS OF {query};")
    partition, offset = places[3]
    assert (answer.replayed, answer.gone, answer.gone_records) == (0, 1, (f"{topic}-{partition}: {offset}",))


def killed_writer(
    server: LoggedEngine, broker: EmbeddedBroker, query: str, place: tuple[int, int]
) -> tuple[TransactionalWriter, str]:
    """The writer of a replay that is killed before it commits a row and its mark; and the sink."""
    services = server.engine.services
    writer_id = f"_confluent-ksql-{services.config['ksql.service.id']}query_{query}-replay"
    writer = TransactionalWriter(broker.bootstrap_servers, writer_id)
    mark = {
        "level": "INFO", "logger": f"processing.{query}.Replay", "time": 0, "message": None,
        "input": {"topic": services.metastore.require("S").topic, "partition": place[0], "offset": place[1]},
        "replay": 1,
    }  # fmt: skip
    sink, log = services.metastore.require("COPY").topic, services.queries.figures.log_topic
    assert log is not None
    writer._producer.begin_transaction()
    writer._producer.produce(sink, b'{"A":1,"N":3}')
    writer._producer.produce(log, json.dumps(mark).encode())
    writer._producer.flush()
    return writer, sink


def test_records_at_offsets(
    broker: EmbeddedBroker, topic_names: Callable[[str], str], kafka_admin: KafkaAdmin
) -> None:
    topic = topic_names("places")
    kafka_admin.create_topic(topic, 2)
    producer = RecordProducer(broker.bootstrap_servers)
    for partition in (0, 1):
        for i in range(2500):
            producer.send_async(topic, None, str(i).encode(), partition=partition)
    producer.close()
    offsets = {1: [2499, 0, 7, 2500, 7], 0: [1500]}
    found = [(r.partition, r.offset, r.value) for r in read_at(broker.bootstrap_servers, topic, offsets)]
    assert found == [(0, 1500, b"1500"), (1, 0, b"0"), (1, 7, b"7"), (1, 2499, b"2499")]
    with pytest.raises(KsqlError, match="nothing_there"):
        list(read_at(broker.bootstrap_servers, "nothing_there", {0: [1]}))


@pytest.mark.long
def test_a_server_that_is_killed_during_a_replay(
    broker: EmbeddedBroker, topic_names: Callable[[str], str], kafka_admin: KafkaAdmin, tmp_path: Path
) -> None:
    name, topic, query = f"replay_{uuid.uuid4().hex[:8]}", topic_names("kill"), "CSAS_COPY_2"
    properties = tmp_path / "server.properties"
    properties.write_text(
        f"bootstrap.servers={broker.bootstrap_servers}\nksql.service.id={name}\n"
        f"ksql.output.topic.name.prefix={name}\nksql.spark.warm.up.enabled=false\n"
        "ksql.logging.processing.topic.auto.create=true\nksql.logging.processing.stream.auto.create=true\n"
    )
    arguments = tmp_path / "data", "--properties", str(properties)
    counted = f"SELECT COUNT(*) FROM ERRORS OF {query} WHERE {{}};"
    producer = RecordProducer(broker.bootstrap_servers)
    try:
        with ServerProcess(*arguments) as server:
            server.ready().execute(
                f"CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='{topic}', VALUE_FORMAT='JSON', PARTITIONS=1);"
                "CREATE STREAM copy AS SELECT a, 1 AS n FROM s WHERE 10 / (a - a) > 0 EMIT CHANGES;",
            )
            for start in range(0, 2400, 600):  # a logger writes 1,000 entries a second
                for i in range(start, start + 600):
                    producer.send_async(topic, None, b'{"A": %d}' % i)
                producer.flush()
                logged = [[start + 600]]
                until(lambda logged=logged: server.rows(counted.format("attempt = 0")) == logged)  # type: ignore[misc]
                second = int(time.time())
                until(lambda second=second: time.time() >= second + 1)  # type: ignore[misc]
            server.execute(
                "CREATE OR REPLACE STREAM copy AS SELECT a, 1 AS n FROM s WHERE 10 + a > 0 EMIT CHANGES;"
            )

            def replay() -> None:
                with contextlib.suppress(httpx.HTTPError):
                    server.execute(f"REPLAY ERRORS OF {query};")

            thread = threading.Thread(target=replay)
            sink = f"{name}COPY"
            thread.start()
            with TopicReader(broker.bootstrap_servers, sink) as reader:
                assert reader.poll_batch(TIMEOUT_S)
                server.crash()
            thread.join()
        with ServerProcess(*arguments) as server:
            server.ready()
            (left,) = server.rows(counted.format("NOT replayed"))
            (answer,) = server.execute(f"REPLAY ERRORS OF {query};")
            assert [answer["replayed"]] == left
            (answer,) = server.execute(f"REPLAY ERRORS OF {query};")
            assert answer["replayed"] == 0
        with TopicReader(broker.bootstrap_servers, sink) as reader:
            found = [json.loads(r.value or b"")["A"] for batch in reader.read_to_end() for r in batch]
        assert sorted(found) == list(range(2400))
    finally:
        producer.close()
        kafka_admin.delete_topics(t for t in kafka_admin.topics() if name in t)
