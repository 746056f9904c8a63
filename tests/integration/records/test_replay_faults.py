"""REPLAY ERRORS of windows and joins that ends in the middle: sent again, it does the rest, and only that."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.records.logged_engine import FUNCTION
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PARTITIONS, KEYS, FAILING, PARTNERS, OTHERS = 12, 12, 450, 80, 20
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
#: each failing record is in 100 windows, and has 80 partners
STATEMENTS = f"""
CREATE STREAM l (k STRING KEY, t STRING) WITH (KAFKA_TOPIC='l', VALUE_FORMAT='JSON', PARTITIONS={PARTITIONS});
CREATE STREAM r (k STRING KEY, b INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS={PARTITIONS});
CREATE TABLE hops AS SELECT k, COUNT(*) AS n FROM l
  WINDOW HOPPING (SIZE 200 SECONDS, ADVANCE BY 2 SECONDS, GRACE PERIOD 0 SECONDS)
  WHERE euros(t) > 0 GROUP BY k EMIT CHANGES;
CREATE STREAM pairs AS SELECT l.k AS k, n, b FROM (SELECT k, euros(t) AS n FROM l WHERE euros(t) > 0) l
  JOIN r WITHIN 1 DAY GRACE PERIOD 0 SECONDS ON l.k = r.k EMIT CHANGES;
"""
HOPS, PAIRS = "CTAS_HOPS_3", "CSAS_PAIRS_4"
ROWS = {"HOPS": FAILING * 100, "PAIRS": FAILING * PARTNERS}


def left(server: ServerProcess, query: str) -> int:
    """How many records have errors that were not replayed."""
    select = f"SELECT `TOPIC`, partition, offset FROM ERRORS OF {query}"
    return len(set(map(tuple, server.rows(f"{select} WHERE NOT replayed AND `TOPIC` IS NOT NULL;"))))


def written(broker: EmbeddedBroker, topic: str) -> Counter[tuple[Any, ...]]:
    """How often each row of the failed records is in a topic, if it is."""
    found: Counter[tuple[Any, ...]] = Counter()
    with TopicReader(broker.bootstrap_servers, topic) as reader:
        for records in reader.read_to_end():
            found.update((r.key, r.value, r.timestamp_ms) for r in records if r.timestamp_ms < 10 * DAY_MS)
    return found


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
@pytest.mark.parametrize("fault", ["kill", "broker"])
def test_a_replay_that_ends_in_the_middle(tmp_path: Path, fault: str, guarantee: str) -> None:
    with EmbeddedBroker(tmp_path / "kafka", 0) as broker:
        properties = tmp_path / "server.properties"
        properties.write_text(
            f"bootstrap.servers={broker.bootstrap_servers}\nprocessing.guarantee={guarantee}\n"
            "ksql.spark.warm.up.enabled=false\n"
            "ksql.logging.processing.topic.auto.create=true\nksql.logging.processing.stream.auto.create=true\n"
        )
        arguments = tmp_path / "data", "--properties", str(properties)
        function = tmp_path / "data" / "ext" / "amounts.py"
        function.parent.mkdir(parents=True)
        function.write_text(FUNCTION.format("text"))
        producer = RecordProducer(broker.bootstrap_servers)

        def send(topic: str, number: int, value: dict[str, Any], time_ms: int) -> None:
            producer.send_async(topic, f"k{number % KEYS}".encode(), json.dumps(value).encode(), time_ms)

        with ServerProcess(*arguments) as server:
            server.ready().execute(STATEMENTS, **{"auto.offset.reset": "earliest"})
            for number in range(OTHERS):
                server.execute(f"CREATE STREAM other_{number} AS SELECT k, t FROM l EMIT CHANGES;")
            for number in range(KEYS * PARTNERS):
                send("r", number, {"B": number}, HOUR_MS)
            producer.flush()
            for number in range(FAILING):
                send("l", number, {"T": "1 EUR"}, HOUR_MS + 300_000 * number // KEYS)
            producer.flush()
            for query in (HOPS, PAIRS):
                until(
                    lambda query=query: left(server, query) == FAILING,
                    lambda query=query: left(server, query),
                )
            for number in range(KEYS):
                send("r", number, {"B": number}, 20 * DAY_MS)
                send("l", number, {"T": "1"}, 20 * DAY_MS)
            producer.flush()
            assert server.stop()[0] == 0
        function.write_text(FUNCTION.format("text.split(' ')[0]"))

        def interrupt(
            server: ServerProcess, query: str, sink: str, end: Callable[[], object], *, at_once: bool = False
        ) -> None:
            """Replay, and end something once the first of the missing rows is there."""
            answers: list[str] = []

            def replay() -> None:
                try:
                    body = {"ksql": f"REPLAY ERRORS OF {query};"}
                    answers.append(httpx.post(f"{server.url}/ksql", json=body, timeout=TIMEOUT_S).text)
                except httpx.HTTPError as error:
                    answers.append(repr(error))

            thread = threading.Thread(target=replay)
            with TopicReader(broker.bootstrap_servers, sink, "latest") as reader:
                thread.start()
                while not at_once and not any(r.timestamp_ms < 10 * DAY_MS for r in reader.poll_batch(1.0)):
                    assert thread.is_alive(), answers
                end()
            thread.join()

        if fault == "kill":
            for query, sink in ((HOPS, "HOPS"), (PAIRS, "PAIRS")):
                with ServerProcess(*arguments) as server:
                    server.ready()
                    interrupt(server, query, sink, server.crash)
        with ServerProcess(*arguments) as server:
            server.ready()
            for query, sink in ((HOPS, "HOPS"), (PAIRS, "PAIRS")):
                if fault == "broker":
                    interrupt(server, query, sink, broker.stop, at_once=query == PAIRS)
                    broker.start()

                def replayed(query: str = query) -> bool:
                    body = {"ksql": f"REPLAY ERRORS OF {query};"}
                    answer = httpx.post(f"{server.url}/ksql", json=body, timeout=TIMEOUT_S)
                    return answer.status_code == 200 and left(server, query) == 0

                until(replayed)
                found = written(broker, sink)
                assert (len(found), set(found.values())) == (ROWS[sink], {1}), query
                (answer,) = server.execute(f"REPLAY ERRORS OF {query};")
                assert answer["changed"] == 0, answer
        producer.close()
