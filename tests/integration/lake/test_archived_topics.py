"""Archives of topics whose schema grows, or that transactions write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.lake.archives import EARLIEST, START_MS, STREAM, SUMS, archived, kept, remove
from tests.integration.own_server import Server

pytestmark = [pytest.mark.kafka, pytest.mark.long]


@pytest.mark.parametrize("value_format", ["JSON", "AVRO"])
def test_columns_that_are_added_half_way(
    server: Server,
    topic_names: Callable[[str], str],
    broker: EmbeddedBroker,
    tmp_path: Path,
    value_format: str,
) -> None:
    """Records from before have NULL; those of AVRO name the version of their schema."""
    topic, path = topic_names("trips"), tmp_path / "archive"
    of_topic = f"KAFKA_TOPIC='{topic}', KEY_FORMAT='KAFKA', VALUE_FORMAT='{value_format}'"
    server.run(
        f"CREATE STREAM raw (k STRING KEY, n INT) WITH ({of_topic}, PARTITIONS=1);"
        f"{kept(path)} INSERT INTO raw VALUES ('a', 1); INSERT INTO raw VALUES ('b', 2);"
    )
    server.caught_up("kept", 2)
    archived = f"{of_topic}, ARCHIVE='{path}'"
    columns = "k STRING KEY" if value_format == "AVRO" else "k STRING KEY, n INT"
    server.run(
        f"{EARLIEST} CREATE STREAM trips ({columns}) WITH ({archived});"
        f"CREATE STREAM before WITH (KAFKA_TOPIC='{topic_names('before')}') AS SELECT * FROM trips;"
        "ALTER STREAM raw ADD COLUMN more STRING;"
        "INSERT INTO raw VALUES ('a', 3, 'x'); INSERT INTO raw VALUES ('b', 4, 'y');"
    )
    server.caught_up("kept", 4)
    remove(broker.bootstrap_servers, topic, {0: 3})  # one of the new ones is in the archive only
    columns = "k STRING KEY" if value_format == "AVRO" else "k STRING KEY, n INT, more STRING"
    server.run(
        f"{EARLIEST} ALTER STREAM trips ADD COLUMN more STRING;"
        f"CREATE STREAM anew ({columns}) WITH ({archived});"
        f"CREATE STREAM altered WITH (KAFKA_TOPIC='{topic_names('altered')}') AS SELECT * FROM trips;"
        f"CREATE STREAM copied WITH (KAFKA_TOPIC='{topic_names('copied')}') AS SELECT * FROM anew;"
        f"CREATE TABLE counts WITH (KAFKA_TOPIC='{topic_names('counts')}') AS"
        " SELECT k, COUNT(*) AS c, COUNT(more) AS m, SUM(n) AS s FROM trips GROUP BY k;"
        "INSERT INTO raw VALUES ('a', 5, NULL); INSERT INTO raw VALUES ('b', 6, 'z');"
    )
    rows = [("a", 1, None), ("b", 2, None), ("a", 3, "x"), ("b", 4, "y"), ("a", 5, None), ("b", 6, "z")]
    for stream in ("trips", "anew", "altered", "copied"):
        server.has(f"SELECT k, n, more FROM {stream};", rows)
    server.has("SELECT k, n FROM before;", [row[:2] for row in rows])
    server.has("SELECT k, c, m, s FROM counts;", [("a", 3, 1, 9), ("b", 3, 2, 12)])


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_records_of_transactions(
    server: Server,
    topic_names: Callable[[str], str],
    broker: EmbeddedBroker,
    tmp_path: Path,
    guarantee: str,
) -> None:
    """What was aborted is not in the archive; the ends of transactions are gaps, also before the seam."""
    topic, path, servers = topic_names("trips"), tmp_path / "archive", broker.bootstrap_servers
    server.run(f"CREATE STREAM raw {STREAM.format(topic=topic, more=', PARTITIONS=1')};")
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions()
    committed: list[tuple[Any, ...]] = []

    def send(first: int, is_committed: bool) -> None:
        producer.begin_transaction()
        for n in range(first, first + 10):
            producer.produce(topic, f'{{"N": {n}}}'.encode(), f"k{n % 3}".encode(), timestamp=START_MS + n)
        producer.flush()
        if is_committed:
            producer.commit_transaction()
            committed.extend((f"k{n % 3}", n) for n in range(first, first + 10))
        else:
            producer.abort_transaction()

    for number, is_committed in enumerate((True, False, True, False, False, True, False)):
        send(number * 10, is_committed)
    server.run(kept(path))
    server.caught_up("kept", 77)  # ten records and a marker each
    remove(servers, topic, {0: 77})
    server.run(
        f"{EARLIEST} SET 'processing.guarantee' = '{guarantee}'; {archived(topic, path)}"
        f"CREATE STREAM copied WITH (KAFKA_TOPIC='{topic_names('copied')}') AS SELECT k, n FROM trips;"
        f"CREATE TABLE sums WITH (KAFKA_TOPIC='{topic_names('sums')}') AS {SUMS};"
    )
    server.has("SELECT k, n FROM copied;", committed)
    send(100, True)
    send(110, True)
    server.caught_up("kept", 99)
    server.has("SELECT k, n FROM copied;", committed)
    sums = [(k, [n for key, n in committed if key == k]) for k in ("k0", "k1", "k2")]
    server.has("SELECT k, c, s FROM sums;", [(k, len(ns), sum(ns)) for k, ns in sums])
    server.has("SELECT k, n FROM trips;", committed)
