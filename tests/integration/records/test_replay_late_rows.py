"""REPLAY LATE ROWS makes sessions and joins complete, once, whatever is killed meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import httpx
import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.server_process import ServerProcess
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

START_MS = 1_772_355_600_000
#: how long after it the last records are, which close all sessions before
LATER_MS = 3_600_000
END_MS = START_MS + LATER_MS - 30_000
KEYS, GAP_MS, WITHIN_MS = 8, 800, 500
SEEDS = [int(seed) for seed in os.environ.get("REPLAY_SEEDS", "1 2").split()]


def statements(prefix: str, partitions: int) -> str:
    return f"""
CREATE STREAM l (k STRING KEY, g INT, a INT)
  WITH (KAFKA_TOPIC = '{prefix}l', VALUE_FORMAT = 'JSON', PARTITIONS = {partitions});
CREATE STREAM r (k STRING KEY, g INT, b INT)
  WITH (KAFKA_TOPIC = '{prefix}r', VALUE_FORMAT = 'JSON', PARTITIONS = {partitions});
CREATE TABLE visits AS SELECT g, COUNT(*) AS n, SUM(a) AS total FROM l
  WINDOW SESSION ({GAP_MS} MILLISECONDS, GRACE PERIOD 0 SECONDS) GROUP BY g EMIT CHANGES;
CREATE STREAM pairs AS SELECT l.k AS k, a, b FROM l
  JOIN r WITHIN {WITHIN_MS} MILLISECONDS GRACE PERIOD 0 SECONDS ON l.k = r.k EMIT CHANGES;
"""


class Run:
    """A server, and the records that it reads: topic -> (key, time, number)."""

    def __init__(self, seed: int, admin: KafkaAdmin, folder: Path, prefix: str) -> None:
        self.random, self.prefix, self.front_ms = random.Random(seed), prefix, START_MS
        self.is_exact = seed % 2 == 1
        self.records: dict[str, list[tuple[int, int, int]]] = {"l": [], "r": []}
        self._folder, self._properties = folder, folder / "server.properties"
        guarantee = ("at_least_once", "exactly_once_v2")[self.is_exact]
        self._properties.write_text(
            f"bootstrap.servers={admin.servers}\nksql.service.id={prefix}\nksql.output.topic.name.prefix={prefix}\n"
            f"ksql.streams.processing.guarantee={guarantee}\nksql.streams.auto.offset.reset=earliest\n"
            f"ksql.logging.processing.topic.name={prefix}log\nksql.logging.processing.topic.auto.create=true\n"
            "ksql.logging.processing.stream.auto.create=true\nksql.late.rows.max.per.second=100000\n"
            "ksql.spark.memory=1200m\nksql.spark.warm.up.enabled=false\n",
            encoding="utf-8",
        )
        self._producer = RecordProducer(admin.servers, linger_ms=5)

    def server(self) -> ServerProcess:
        return ServerProcess(self._folder / "data", "--properties", str(self._properties)).ready()

    def send(self, count: int) -> None:
        """Records whose times go on; a third of them is up to 20 seconds late."""
        for _ in range(count):
            self.front_ms += self.random.randrange(200)
            late_ms = self.random.randrange(20_000) if self.random.random() < 0.3 else 0
            topic = self.random.choice("lr")
            self.put(topic, self.random.randrange(KEYS), max(START_MS, self.front_ms - late_ms))
        self._producer.flush()

    def put(self, topic: str, key: int, time_ms: int) -> None:
        number = self.random.randrange(1_000)
        self.records[topic].append((key, time_ms, number))
        value = b'{"g": %d, "a": %d, "b": %d}' % (key % 3, number, number)
        self._producer.send_async(f"{self.prefix}{topic}", b"k%d" % key, value, time_ms)

    def end(self, later_ms: int) -> None:
        for key in range(KEYS):
            for topic in "lr":
                self.put(topic, key, START_MS + later_ms)
        self._producer.flush()

    def pairs(self) -> Counter[tuple[str, int, int]]:
        right = defaultdict(list)
        for key, time_ms, number in self.records["r"]:
            right[key].append((time_ms, number))
        return Counter(
            (f"k{key}", a, b)
            for key, time_ms, a in self.records["l"]
            for other_ms, b in right[key]
            if abs(time_ms - other_ms) <= WITHIN_MS and time_ms < END_MS
        )

    def explain(self, missing: Counter[tuple[str, int, int]], server: ServerProcess, query: str) -> str:
        """Pairs, with the places of their records in what was sent, their times, and if they were late."""
        select = f"SELECT `TOPIC`, UNIX_TIMESTAMP(EVENT_TIME) FROM LATE ROWS OF {query} WHERE OMITTED = 0;"
        late = {(topic, time_ms) for topic, time_ms in server.rows(select)}

        def places(topic: str, key: str, number: int) -> list[tuple[str, int, int, bool]]:
            return [
                (topic, at, time_ms - START_MS, (self.prefix + topic, time_ms) in late)
                for at, (k, time_ms, n) in enumerate(self.records[topic])
                if (f"k{k}", n) == (key, number)
            ]

        pairs = [f"{key}: {places('l', key, a)}, {places('r', key, b)}" for key, a, b in missing]
        return "\n".join([f"{len(pairs)} pairs are missing, {len(late)} rows are late", *pairs[:20]])

    def sessions(self) -> dict[tuple[int, int, int], list[int]]:
        """The sessions: group, start and end -> count and sum."""
        found: list[list[int]] = []
        for group, time_ms, number in sorted((key % 3, t, n) for key, t, n in self.records["l"]):
            if found and found[-1][0] == group and time_ms - found[-1][2] <= GAP_MS:
                last = found[-1]
                last[2], last[3], last[4] = time_ms, last[3] + 1, last[4] + number
            else:
                found.append([group, time_ms, time_ms, 1, number])
        return {(g, start, end): [n, total] for g, start, end, n, total in found if start < END_MS}


def kill_in(server: ServerProcess, delay_s: float, statement: str) -> None:
    """Kill the server some time after it has got a statement."""
    timer = threading.Timer(delay_s, server.crash)
    timer.start()
    with contextlib.suppress(httpx.HTTPError):
        httpx.post(f"{server.url}/ksql", json={"ksql": statement}, timeout=60)
    timer.join()
    server.process.communicate()


def replay_until_nothing(server: ServerProcess, statement: str) -> list[Any]:
    answers: list[Any] = []

    def is_done() -> bool:
        answers.insert(0, server.execute(statement)[0])
        return (answers[0]["changed"], answers[0]["removed"], answers[0]["openWindows"]) == (0, 0, 0)

    until(is_done, lambda: answers)
    return answers


@pytest.mark.parametrize("seed", SEEDS)
def test_late_rows_are_put_back_once(seed: int, kafka_admin: KafkaAdmin, tmp_path: Path) -> None:
    prefix = f"late{seed}_"
    run = Run(seed, kafka_admin, tmp_path, prefix)
    try:
        with run.server() as server:
            server.execute(statements(prefix, (1, 4)[seed % 4 // 2]))
            ids = {each["sinks"][0]: each["id"] for each in server.execute("SHOW QUERIES;")[0]["queries"]}
            of_visits, of_pairs = (f"REPLAY LATE ROWS OF {ids[name]};" for name in ("VISITS", "PAIRS"))
            run.send(1_500)
            server.execute(of_visits)
            server.execute(of_pairs)
            run.send(500)
            run.end(LATER_MS)
            late = f"SELECT COUNT(*) AS n FROM LATE ROWS OF {ids['PAIRS']};"
            until(lambda: server.rows(f"SELECT * FROM pairs WHERE ROWTIME >= {START_MS + LATER_MS};"))
            until(lambda: server.rows(late) == server.rows(late) != [[0]])
            kill_in(server, run.random.random() * 8, of_pairs)
        with run.server() as server:
            kill_in(server, run.random.random() * 8, of_visits)
        with run.server() as server:
            replay_until_nothing(server, of_visits)
            # a record that is not late may miss a session that the state has just forgotten
            replay_until_nothing(server, f"REPROCESS visits TO {END_MS};")
            replay_until_nothing(server, of_pairs)
            server.crash()
            server.process.communicate()
        sessions, pairs = run.sessions(), run.pairs()
        with run.server() as server:
            run.end(2 * LATER_MS)  # what the query repeats after the crash undoes nothing
            until(lambda: server.rows(f"SELECT * FROM pairs WHERE ROWTIME >= {START_MS + 2 * LATER_MS};"))
            rows = server.rows(f"SELECT * FROM visits WHERE windowstart < {END_MS};")
            assert {(g, start, end): rest for g, start, end, *rest in rows} == sessions
            there = Counter(map(tuple, server.rows(f"SELECT k, a, b FROM pairs WHERE ROWTIME < {END_MS};")))
            assert not (missing := pairs - there), run.explain(missing, server, ids["PAIRS"])
            assert not run.is_exact or there == pairs
    finally:
        kafka_admin.delete_topics([name for name in kafka_admin.topics() if prefix in name])
