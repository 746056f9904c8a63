"""Streams over all topics of a pattern: topics that come and go, restarts, and what users see of them."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.engine import Engine
from ksql_spark.engine.request import Request
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.server_process import ServerProcess
from tests.waiting import until

pytestmark = pytest.mark.kafka

PREFIX = "patterns_"
PATIENCE_S = 120
Execute = Callable[[str], list[dict[str, Any]]]


class Orders:
    """Topics ``<prefix>.<region>`` and what was written to them."""

    def __init__(self, servers: str) -> None:
        self.prefix = f"orders{uuid.uuid4().hex[:8]}"
        self.sent: Counter[tuple[str, str, int]] = Counter()
        self.connect(servers)

    def connect(self, servers: str) -> None:
        self._servers = servers
        self.admin = KafkaAdmin(servers)
        self._producer = RecordProducer(servers)

    def create(self, region: str, partitions: int = 1) -> str:
        self.admin.create_topic(f"{self.prefix}.{region}", partitions)
        return f"{self.prefix}.{region}"

    def send(self, region: str, count: int = 40) -> None:
        topic = f"{self.prefix}.{region}"
        first = sum(self.sent.values())
        for n in range(first, first + count):
            self._producer.send(topic, f"k{n % 7}".encode(), b'{"N": %d}' % n)
            self.sent[topic, f"k{n % 7}", n] += 1

    def declare(self, name: str) -> str:
        return (
            f"CREATE STREAM {name} (k STRING KEY, src STRING TOPIC, n INT)"
            f" WITH (TOPIC_PATTERN = '{self.prefix}\\..*', VALUE_FORMAT = 'JSON');"
        )

    def rows(self, topic: str, *columns: str) -> Counter[tuple[Any, ...]]:
        """What is in a sink: its key and ``columns``."""
        with TopicReader(self._servers, topic, "earliest", read_committed=True) as reader:
            records = [record for batch in reader.read_to_end() for record in batch]
        found: Counter[tuple[Any, ...]] = Counter()
        for record in records:
            assert record.key is not None and record.value is not None
            value = json.loads(record.value)
            found[record.key.decode(), *(value[column] for column in columns)] += 1
        return found

    def copies(self, topic: str) -> Counter[tuple[str, str, int]]:
        return Counter({(src, k, n): c for (k, src, n), c in self.rows(topic, "SRC", "N").items()})

    def counts(self) -> Counter[tuple[Any, ...]]:
        """Each count of each key, which an aggregate writes once."""
        per_key = Counter(k for _, k, _ in self.sent.elements())
        return Counter((k, i) for k, count in per_key.items() for i in range(1, count + 1))


@pytest.fixture
def orders(broker: EmbeddedBroker) -> Iterator[Orders]:
    made = Orders(broker.bootstrap_servers)
    yield made
    made.admin.delete_topics(name for name in made.admin.topics() if made.prefix[6:] in name)


@pytest.mark.parametrize(
    "guarantee", ["at_least_once", pytest.param("exactly_once_v2", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("partitions", [1, 4])
def test_topics_are_found_while_queries_run(
    orders: Orders, execute: Execute, post: Any, partitions: int, guarantee: str
) -> None:
    orders.create("eu", partitions)
    orders.create("us", 2)
    orders.send("eu")
    orders.send("us")
    name = f"p{uuid.uuid4().hex[:8]}".upper()
    execute(orders.declare(name))
    answer = post(
        f"CREATE STREAM {name}_c AS SELECT * FROM {name} EMIT CHANGES;"
        f"CREATE TABLE {name}_t AS SELECT k, COUNT(*) AS c FROM {name} GROUP BY k EMIT CHANGES;",
        **{"processing.guarantee": guarantee},
    )
    assert answer.status_code == 200, answer.text
    until(lambda: orders.copies(f"{name}_C") == orders.sent)
    orders.create("asia", 3)
    orders.send("asia")
    orders.send("eu")
    until(lambda: orders.copies(f"{name}_C") == orders.sent)
    until(lambda: orders.rows(f"{name}_T", "C") == orders.counts())
    orders.send("asia")
    until(lambda: orders.copies(f"{name}_C") == orders.sent)
    until(lambda: orders.rows(f"{name}_T", "C") == orders.counts())


def query(url: str, sql: str) -> list[list[Any]]:
    """The rows of a query; lines are JSON, the first is the header."""
    body = {"sql": sql, "properties": {"auto.offset.reset": "earliest"}}
    answer = httpx.post(f"{url}/query-stream", json=body, timeout=PATIENCE_S)
    assert answer.status_code == 200, answer.text
    return [row for row in map(json.loads, answer.text.splitlines()[1:]) if isinstance(row, list)]


def test_users_see_which_topics_are_read(orders: Orders, execute: Execute, post: Any, url: str) -> None:
    name = f"p{uuid.uuid4().hex[:8]}".upper()
    execute(orders.declare(name))  # no topic matches yet
    assert query(url, f"SELECT * FROM {name};") == []
    (described,) = execute(f"DESCRIBE {name};")
    description = described["sourceDescription"]
    assert (description["topic"], description["topics"]) == (f"/{orders.prefix}\\..*/", [])
    assert [f["name"] for f in description["fields"] if f.get("type") == "TOPIC"] == ["SRC"]

    topics = [orders.create("eu", 2), orders.create("us")]
    orders.send("eu", 10)
    orders.send("us", 10)
    expected = orders.sent
    for sql in (f"SELECT src, k, n FROM {name};", f"SELECT src, k, n FROM {name} EMIT CHANGES LIMIT 20;"):
        assert Counter(map(tuple, query(url, sql))) == expected
    grouped = query(url, f"SELECT src, COUNT(*) AS c FROM {name} GROUP BY src ORDER BY src;")
    assert grouped == [[topic, 10] for topic in topics]

    assert execute(f"CREATE STREAM {name}_c AS SELECT * FROM {name} EMIT CHANGES;")
    until(lambda: orders.copies(f"{name}_C") == orders.sent)
    (described,) = execute(f"DESCRIBE {name} EXTENDED;")
    assert described["sourceDescription"]["topics"] == topics
    (offsets,) = described["sourceDescription"]["queryOffsetSummaries"]
    assert [each["kafkaTopic"] for each in offsets["topicSummaries"]] == topics
    (shown,) = execute("SHOW STREAMS;")
    assert f"/{orders.prefix}\\..*/" in [stream["topic"] for stream in shown["streams"]]
    (explained,) = execute(f"EXPLAIN SELECT k, COUNT(*) FROM {name} GROUP BY k EMIT CHANGES;")
    assert "may have any number of partitions" in explained["queryDescription"]["executionPlan"]

    for path in ("graph", "metadata", "status", "metrics", "healthcheck"):
        answer = httpx.get(f"{url}/{path}", timeout=PATIENCE_S)
        assert answer.status_code == 200, (path, answer.text)
    until(lambda: f'topic="{topics[0]}"' in httpx.get(f"{url}/metrics", timeout=PATIENCE_S).text)
    for statement in (
        f"EXPLAIN FRESHNESS {name}_c;",
        "SHOW QUERIES EXTENDED;",
        f"DESCRIBE {name}_c EXTENDED;",
    ):
        execute(statement)

    for statement, expected_text in (
        (f"INSERT INTO {name} (k, n) VALUES ('a', 1);", f"Cannot insert values into {name}"),
        (f"INSERT INTO {name} SELECT k, n FROM {name} EMIT CHANGES;", f"Cannot insert into {name}"),
        (f"DROP STREAM {name} DELETE TOPIC;", f"Cannot delete the topics of {name}"),
        (
            f"CREATE STREAM x WITH (KAFKA_TOPIC = '{orders.prefix}.x') AS SELECT * FROM {name};",
            f"{name} reads all topics that match",
        ),
        (
            f"CREATE STREAM x WITH (KAFKA_TOPIC = '{orders.prefix}.x') AS SELECT * FROM {name}_c;",
            f"which gets results made from {name}",
        ),
        (f"EXPLAIN ROW FROM {name}_c WHERE n = 1;", "EXPLAIN ROW needs records of one topic"),
        (f"CREATE SINK x FROM {name} WITH (TYPE = 'parquet', PATH = '/tmp/x');", "reads all topics of"),
    ):
        answer = post(statement)
        assert answer.status_code == 400, statement
        assert expected_text in answer.json()["message"], answer.text


@pytest.mark.long
def test_a_join_needs_no_equal_partitions(
    orders: Orders, execute: Execute, kafka_admin: KafkaAdmin, broker: EmbeddedBroker
) -> None:
    name = f"p{uuid.uuid4().hex[:8]}".upper()
    people = orders.prefix.replace("orders", "people")
    kafka_admin.create_topic(people, 3)
    producer = RecordProducer(broker.bootstrap_servers)
    for n in range(5):
        producer.send(people, f"k{n}".encode(), b'{"NAME": "n%d"}' % n, 1)
    orders.create("eu", 2)
    orders.send("eu")
    execute(orders.declare(name))
    execute(
        f"CREATE TABLE {name}_p (k STRING PRIMARY KEY, name STRING)"
        f" WITH (KAFKA_TOPIC = '{people}', VALUE_FORMAT = 'JSON');"
        f"CREATE STREAM {name}_j AS SELECT o.k AS k, o.src AS src, o.n AS n, p.name AS name"
        f" FROM {name} o JOIN {name}_p p ON o.k = p.k EMIT CHANGES;"
    )

    def joined() -> Counter[tuple[str, str, int, str]]:
        return Counter({(k, t, n, f"n{k[1:]}"): c for (t, k, n), c in orders.sent.items() if int(k[1:]) < 5})

    until(lambda: orders.rows(f"{name}_J", "SRC", "N", "NAME") == joined())
    orders.create("us", 5)
    orders.send("us")
    until(lambda: orders.rows(f"{name}_J", "SRC", "N", "NAME") == joined())


def test_topics_that_are_deleted_and_made_again(orders: Orders, execute: Execute, post: Any) -> None:
    orders.create("eu")
    gone = orders.create("us")
    orders.send("eu")
    orders.send("us")
    name = f"p{uuid.uuid4().hex[:8]}".upper()
    execute(orders.declare(name))
    # a reader that finds another topic of that name fails, and at least once would repeat rows
    text = f"CREATE STREAM {name}_c AS SELECT * FROM {name} EMIT CHANGES;"
    assert post(text, **{"processing.guarantee": "exactly_once_v2"}).status_code == 200
    until(lambda: orders.copies(f"{name}_C") == orders.sent)
    orders.admin.delete_topics([gone])
    orders.send("eu")
    until(lambda: orders.copies(f"{name}_C") == orders.sent)
    (described,) = execute(f"DESCRIBE {name};")
    assert described["sourceDescription"]["topics"] == [f"{orders.prefix}.eu"]
    orders.create("us")
    orders.send("us", 10)
    until(lambda: orders.copies(f"{name}_C") == orders.sent)


@pytest.mark.parametrize(
    "guarantee", ["at_least_once", pytest.param("exactly_once_v2", marks=pytest.mark.long)]
)
def test_restarts_repeat_and_lose_nothing(
    orders: Orders, make_engine: Callable[..., Engine], guarantee: str
) -> None:
    """Topics that come while the server is stopped are read from their beginning."""
    config = {"processing.guarantee": guarantee, "auto.offset.reset": "earliest"}
    engine = make_engine(**config)
    orders.create("eu", 2)
    orders.send("eu")
    engine.execute(
        Request(orders.declare("p") + "CREATE STREAM c AS SELECT * FROM p EMIT CHANGES;"
        "CREATE TABLE t AS SELECT k, COUNT(*) AS c FROM p GROUP BY k EMIT CHANGES;")
    )  # fmt: skip
    copies, counts = (f"{PREFIX}{name}" for name in "CT")
    until(lambda: orders.copies(copies) == orders.sent)
    for region in ("us", "asia"):
        engine.stop()
        orders.create(region, 3)
        orders.send(region)
        orders.send("eu")
        engine = make_engine(**config)
        until(lambda: orders.copies(copies) == orders.sent)
        until(lambda: orders.rows(counts, "C") == orders.counts())


@pytest.mark.long
def test_kills_repeat_and_lose_nothing(tmp_path: Path) -> None:
    """Exactly once, although everything is killed while topics come and are read."""
    with ServerProcess(tmp_path) as server:
        server.ready()
        orders = Orders(server.bootstrap_servers())
        orders.create("r0", 2)
        server.execute(
            orders.declare("p") + "CREATE STREAM c AS SELECT * FROM p EMIT CHANGES;"
            "CREATE TABLE t AS SELECT k, COUNT(*) AS c FROM p GROUP BY k EMIT CHANGES;",
            **{"auto.offset.reset": "earliest", "processing.guarantee": "exactly_once_v2"},
        )
        _send_more(orders, 1)
        server.crash()
    for kill in range(2, 5):
        with ServerProcess(tmp_path) as server:
            server.ready()
            orders.connect(server.bootstrap_servers())
            _send_more(orders, kill)
            if kill < 4:
                server.crash()
                continue
            until(lambda: orders.copies("C") == orders.sent)
            until(lambda: orders.rows("T", "C") == orders.counts())


def _send_more(orders: Orders, number: int) -> None:
    """Send to old topics and a new one; return once some of the new one's records have arrived."""
    new = orders.create(f"r{number}", number)
    orders.send(f"r{number}", 300)
    orders.send("r0", 300)
    until(lambda: any(topic == new for topic, _, _ in orders.copies("C")))
