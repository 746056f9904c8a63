"""Partitions that are added to topics under running queries: a wrong row is never written."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

WITH = "WITH (KAFKA_TOPIC = '{name}', VALUE_FORMAT = 'JSON', PARTITIONS = {partitions});"


def sources(partitions: int) -> str:
    """Two streams and two tables on topics with so many partitions."""
    streams = [f"CREATE STREAM {name} (k STRING KEY, v INT) " for name in "rs"]
    tables = [f"CREATE TABLE {name} (k STRING PRIMARY KEY, v INT) " for name in "tu"]
    texts = zip("rstu", [*streams, *tables], strict=True)
    return "".join(text + WITH.format(name=name, partitions=partitions) for name, text in texts)


#: queries that find the state of a key by the partition of its records
PLACED = {
    "COUNTS": "CREATE TABLE counts AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;",
    "WINDOWS": "CREATE TABLE windows AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 10 DAYS) "
    "GROUP BY k EMIT CHANGES;",
    "PAIRS": "CREATE STREAM pairs AS SELECT s.k AS k, s.v AS v, r.v AS w FROM s JOIN r WITHIN 1 HOUR "
    "ON s.k = r.k EMIT CHANGES;",
    "ENRICHED": "CREATE STREAM enriched AS SELECT s.k AS k, s.v AS v, t.v AS w FROM s JOIN t ON s.k = t.k "
    "EMIT CHANGES;",
    "BOTH": "CREATE TABLE both AS SELECT t.k AS k, t.v AS v, u.v AS w FROM t JOIN u ON t.k = u.k "
    "EMIT CHANGES;",
}
#: queries that do not
FREE = {
    "COPIES": "CREATE STREAM copies AS SELECT k, v + 1 AS w FROM s EMIT CHANGES;",
    "BY_VALUE": "CREATE TABLE by_value AS SELECT v, COUNT(*) AS n FROM s GROUP BY v EMIT CHANGES;",
}
KEYS = [f"k{i}" for i in range(7)]
EARLIEST = {"auto.offset.reset": "earliest"}


class Scene:
    """A server, what is sent to its topics, and what its queries have written."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.admin = KafkaAdmin(server.bootstrap_servers())
        self._producer = RecordProducer(server.bootstrap_servers())

    def send(self, first: int, count: int = 10) -> None:
        """Each key ``count`` times to the streams, with the values from ``first`` on, once to the tables."""
        for topic in ("t", "u"):
            for key in KEYS:
                self._producer.send(topic, key.encode(), b'{"V": %d}' % first)
        for value in range(first, first + count):
            for topic in ("r", "s"):
                for key in KEYS:
                    self._producer.send(topic, key.encode(), b'{"V": %d}' % value)

    def add(self, partitions: int, *topics: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.server.bootstrap_servers(), "log_level": 0})
        for done in admin.create_partitions([NewPartitions(topic, partitions) for topic in topics]).values():
            done.result(TIMEOUT_S)
        until(lambda: all(self.admin.require_topic(topic).partitions == partitions for topic in topics))
        self._producer.close()
        self._producer = RecordProducer(self.server.bootstrap_servers())  # knows of the new ones

    def health(self) -> dict[str, Any]:
        body = httpx.get(f"{self.server.url}/healthcheck", timeout=TIMEOUT_S).json()
        return {"isHealthy": body["isHealthy"], **body["details"]["queries"]}

    def rows(self, topic: str) -> list[tuple[str, dict[str, Any]]]:
        """The rows in a sink's topic, those of a key in their order."""
        with TopicReader(self.server.bootstrap_servers(), topic, "earliest") as reader:
            records = [record for batch in reader.read_to_end() for record in batch]
        # the key of a window has the window's bounds after its bytes
        return [((r.key or b"")[:2].decode(), json.loads(r.value)) for r in records if r.value is not None]

    def last(self, topic: str, column: str = "N") -> dict[str, Any]:
        return {key: row[column] for key, row in self.rows(topic)}


def pairs(values: int) -> Counter[tuple[str, int, int]]:
    return Counter((key, v, w) for key in KEYS for v in range(values) for w in range(values))


def is_right(scene: Scene, values: int) -> bool:
    """Whether each sink has what ``values`` records of each key make."""
    last_row = {key: values - 10 for key in KEYS}
    joined = Counter((key, row["V"], row["W"]) for key, row in scene.rows("PAIRS"))
    enriched = Counter((key, row["V"]) for key, row in scene.rows("ENRICHED"))
    return (
        scene.last("COUNTS") == scene.last("WINDOWS") == dict.fromkeys(KEYS, values)
        and joined.keys() == pairs(values).keys()
        and enriched.keys() == {(key, v) for key in KEYS for v in range(values)}
        and scene.last("BOTH", "V") == scene.last("BOTH", "W") == last_row
    )


def is_stopped(scene: Scene) -> bool:
    """Whether the queries that rely on partitions say why they have stopped, and the others run."""
    health = scene.health()
    expected = "partitions; it had"
    return (
        len(health["inError"]) == len(PLACED)
        and not health["isHealthy"]
        and all(expected in why and "state rebuild" in why for why in health["reasons"].values())
    )


def rebuild(scene: Scene) -> None:
    for query in scene.health()["inError"]:
        answer = httpx.post(f"{scene.server.url}/state/rebuild", json={"queryId": query}, timeout=TIMEOUT_S)
        assert answer.status_code == 200, answer.text


@pytest.mark.long
def test_partitions_are_added_while_queries_run(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        scene = Scene(server.ready())
        server.execute(sources(1) + "".join([*PLACED.values(), *FREE.values()]), **EARLIEST)
        scene.send(0)
        until(lambda: is_right(scene, 10))

        scene.add(3, "r", "s", "t", "u")
        scene.send(10)
        until(lambda: is_stopped(scene))
        until(lambda: len(scene.rows("COPIES")) == 2 * 10 * len(KEYS))
        # nothing that was written is wrong: a key that has moved was not counted from 1 again
        for topic in ("COUNTS", "WINDOWS"):
            counted = defaultdict(list)
            for key, row in scene.rows(topic):
                counted[key].append(row["N"])
            assert all(counts == list(range(1, len(counts) + 1)) for counts in counted.values())
            assert min(scene.last(topic).values()) == 10
        (shown,) = server.execute("SHOW QUERIES;")
        assert sorted(q["state"] for q in shown["queries"]) == ["ERROR"] * 5 + ["RUNNING"] * 2

        rebuild(scene)
        until(lambda: is_right(scene, 20))
        assert scene.health()["isHealthy"]

        # where a query has repartitioned, it goes on, also after a restart
        server.stop()
    with ServerProcess(tmp_path) as server:
        scene.server = server.ready()
        scene.add(5, "r", "s", "t", "u")
        scene.send(20)
        until(lambda: is_right(scene, 30))
        assert scene.health()["isHealthy"]


@pytest.mark.long
def test_partitions_are_added_while_queries_are_paused(tmp_path: Path) -> None:
    """When they are resumed the queries stop, or rebuild their state where they may."""
    with ServerProcess(tmp_path) as server:
        scene = Scene(server.ready())
        server.execute(sources(2) + PLACED["COUNTS"] + PLACED["PAIRS"], **EARLIEST)
        allowed = {**EARLIEST, "ksql.on.partitions.change": "rebuild"}
        server.execute(PLACED["WINDOWS"] + PLACED["ENRICHED"] + PLACED["BOTH"], **allowed)
        scene.send(0)
        until(lambda: is_right(scene, 10))
        server.execute("PAUSE ALL;")
        scene.add(3, "r", "s", "t", "u")
        scene.send(10)
        server.execute("RESUME ALL;")
        until(lambda: len(scene.health()["inError"]) == 2)
        until(lambda: scene.last("WINDOWS") == dict.fromkeys(KEYS, 20))
        assert min(scene.last("COUNTS").values()) == 10
        rebuild(scene)
        until(lambda: is_right(scene, 20))


@pytest.mark.long
def test_partitions_are_added_to_a_sink_and_an_internal_topic(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        scene = Scene(server.ready())
        server.execute(
            sources(1) + PLACED["COUNTS"] + "CREATE TABLE chain AS SELECT s.k AS k, COUNT(*) AS n "
            "FROM s JOIN t ON s.k = t.k GROUP BY s.k EMIT CHANGES;",
            **EARLIEST,
        )
        scene.send(0)
        until(lambda: scene.last("COUNTS") == scene.last("CHAIN") == dict.fromkeys(KEYS, 10))
        (internal,) = [name for name in scene.admin.topics() if "CHAIN" in name and name != "CHAIN"]
        scene.add(2, "COUNTS", internal)
        until(lambda: len(scene.health()["inError"]) == 2)
        scene.send(10)
        why = scene.health()["reasons"]
        assert any("The sink topic COUNTS has 2 partitions; it had 1." in text for text in why.values())
        assert any(f"Topic {internal} has 2 partitions; it had 1" in text for text in why.values())
        scene.admin.delete_topics(["COUNTS"])
        rebuild(scene)
        until(lambda: scene.health()["isHealthy"])
        until(lambda: scene.last("COUNTS") == scene.last("CHAIN") == dict.fromkeys(KEYS, 20))


@pytest.mark.long
def test_a_rebuild_leaves_no_session_that_is_not_found_again(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        scene = Scene(server.ready())
        sessions = (
            "CREATE TABLE sessions AS SELECT k, COUNT(*) AS n FROM s WINDOW SESSION (1 HOUR) GROUP BY k;"
        )
        server.execute(sources(2) + sessions, **EARLIEST)
        scene.send(0)

        def live() -> dict[bytes, int]:
            found: dict[bytes, int] = {}
            with TopicReader(server.bootstrap_servers(), "SESSIONS", "earliest") as reader:
                for record in (record for batch in reader.read_to_end() for record in batch):
                    assert record.key is not None
                    if record.value is None:
                        found.pop(record.key, None)
                    else:
                        found[record.key] = json.loads(record.value)["N"]
            return found

        until(lambda: sorted(live().values()) == [10] * len(KEYS))
        right = live()
        # as if a task without the session's state had begun another one
        other = next(iter(right))[:-1] + b"\0"
        RecordProducer(server.bootstrap_servers()).send("SESSIONS", other, b'{"N": 1}')
        (shown,) = server.execute("SHOW QUERIES;")
        body = {"queryId": shown["queries"][0]["id"]}
        assert httpx.post(f"{server.url}/state/rebuild", json=body, timeout=TIMEOUT_S).status_code == 200
        until(lambda: live() == right)


@pytest.mark.long
def test_the_newest_record_of_a_key_is_in_its_new_partition(tmp_path: Path) -> None:
    """A rebuild reads more of the old partition than fits into a task's turn."""
    with ServerProcess(tmp_path) as server:
        scene = Scene(server.ready())
        latest = "CREATE TABLE latest AS SELECT k, LATEST_BY_OFFSET(v) AS n FROM s GROUP BY k;"
        copied = "CREATE TABLE copied AS SELECT k, v AS n FROM t;"
        server.execute(sources(1) + latest + copied, **EARLIEST)
        scene.send(0, 500)
        until(lambda: scene.last("LATEST") == dict.fromkeys(KEYS, 499))
        scene.add(3, "s", "t")
        scene.send(500)
        until(lambda: len(scene.health()["inError"]) == 1)
        rebuild(scene)
        until(lambda: len(scene.rows("LATEST")) >= 2 * 500 * len(KEYS))
        until(lambda: scene.last("LATEST") == dict.fromkeys(KEYS, 509))
        until(lambda: scene.last("COPIED") == dict.fromkeys(KEYS, 500))
