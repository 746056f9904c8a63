"""REPLAY ERRORS of windows and joins: once a function is mended, they are as if it had never failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess
from tests.integration.records.logged_engine import FUNCTION, LoggedEngine, logged_engine
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PARTITIONS = 4
#: table or stream -> the SELECT, and the columns that tell whether two are equal
QUERIES = {
    "hops": "SELECT k, COUNT(*) AS n, SUM(euros(t)) AS total FROM l WINDOW HOPPING (SIZE 10 SECONDS, "
    "ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS) WHERE euros(t) > 0 GROUP BY k EMIT CHANGES",
    "visits": "SELECT euros(t) AS e, COUNT(*) AS n FROM l "
    "WINDOW SESSION (5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY euros(t) EMIT CHANGES",
    "pairs": "SELECT l.k AS k, n, b FROM (SELECT k, euros(t) AS n FROM l WHERE euros(t) > 0) l "
    "JOIN r WITHIN 2 SECONDS GRACE PERIOD 0 SECONDS ON l.k = r.k EMIT CHANGES",
}
IDS = {"hops": "CTAS_HOPS_3", "visits": "CTAS_VISITS_4", "pairs": "CSAS_PAIRS_5"}


@pytest.fixture
def server(
    broker: EmbeddedBroker, spark_process: SparkProcess, kafka_admin: KafkaAdmin, tmp_path: Path
) -> Iterator[LoggedEngine]:
    (tmp_path / "ext").mkdir()
    (tmp_path / "ext" / "amounts.py").write_text(FUNCTION.format("text"))
    with logged_engine(broker, spark_process, kafka_admin, tmp_path) as made:
        yield made


def create(server: LoggedEngine, suffix: str = "") -> None:
    for name, select in QUERIES.items():
        kind = "STREAM" if name == "pairs" else "TABLE"
        server.run(f"CREATE {kind} {name}{suffix} AS {select};")


def rows(server: LoggedEngine, name: str) -> list[tuple[Any, ...]]:
    return server.rows(f"SELECT * FROM {name};")


def test_a_mended_function(
    server: LoggedEngine, broker: EmbeddedBroker, topic_names: Callable[[str], str], tmp_path: Path
) -> None:
    left, right = topic_names("left"), topic_names("right")
    server.run(
        f"CREATE STREAM l (k STRING KEY, t STRING) WITH (KAFKA_TOPIC='{left}', VALUE_FORMAT='JSON',"
        f" PARTITIONS={PARTITIONS});"
        f"CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC='{right}', VALUE_FORMAT='JSON',"
        f" PARTITIONS={PARTITIONS});"
    )
    create(server)
    producer = RecordProducer(broker.bootstrap_servers)

    def send(numbers: range, at_ms: int) -> None:
        for i in numbers:
            text = ("{}", "{} EUR", "-{} EUR", "n/a")[i // 5 % 4].format(1 + i % 3)
            key, time_ms = f"k{i % 5}".encode(), at_ms + 700 * (i // 5)
            producer.send(right, key, json.dumps({"b": i}).encode(), time_ms)
            producer.send(left, key, json.dumps({"t": text}).encode(), time_ms)

    def failed(query: str) -> dict[tuple[Any, ...], bool]:
        """The places of records that failed, and whether they were replayed."""
        select = f"SELECT `TOPIC`, partition, offset, replayed FROM ERRORS OF {query}"
        found = server.rows(f"{select} WHERE `TOPIC` IS NOT NULL;")  # a function's own entries name none
        return {tuple(place): bool(replayed) for *place, replayed in found}

    def unreplayed(query: str) -> int:
        return sum(not replayed for replayed in failed(query).values())

    def replay(name: str) -> Any:
        (answer,) = server.run(f"REPLAY ERRORS OF {IDS[name]};")
        return answer

    send(range(100), 1_000)
    for name, query in IDS.items():
        until(lambda query=query: len(failed(query)) == 75, lambda query=query: failed(query))
        assert "75 records failed again" in replay(name).message
        assert unreplayed(query) == 75
    # idle workers of the JVM, which goes on here, keep what they have read from a file
    (tmp_path / "ext" / "amounts.py").unlink()
    (tmp_path / "ext" / "mended.py").write_text(FUNCTION.format("text.split(' ')[0]"))
    server.restart()
    for name, query in IDS.items():  # the last windows are open
        answer = replay(name)
        assert "25 records failed again" in answer.message and "left for later" in answer.message, answer
        assert 25 < unreplayed(query) <= 75, answer
    send(range(100, 200), 1_000_000)
    create(server, "_again")
    for name, query in IDS.items():
        until(lambda query=query: len(failed(query)) == 100, lambda query=query: failed(query))
        until(lambda name=name: "left for later" not in replay(name).message, lambda name=name: replay(name))
        assert unreplayed(query) == 50
        answer = replay(name)
        assert answer.changed == 0 and "50 records failed again" in answer.message, answer
        until(
            lambda name=name: rows(server, name) == rows(server, f"{name}_again"),
            lambda name=name: (rows(server, name), rows(server, f"{name}_again")),
        )
    producer.close()
