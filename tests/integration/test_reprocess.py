"""REPROCESS makes tables right that late rows have made wrong, whatever is killed meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections import defaultdict
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
#: how long after it the last records are, which close all windows before
LATER_MS = 3_600_000
KEYS = 8
SEEDS = [int(seed) for seed in os.environ.get("REPROCESS_SEEDS", "1 2").split()]
#: table -> its windows: size and advance, seconds
TABLES = {"tumbled": (10, 10), "hopped": (20, 5), "final": (10, 10)}


def statements(prefix: str, partitions: int) -> str:
    return f"""
CREATE STREAM s (k STRING KEY, g INT, a INT)
  WITH (KAFKA_TOPIC = '{prefix}s', VALUE_FORMAT = 'JSON', PARTITIONS = {partitions});
CREATE TABLE tumbled AS SELECT k, COUNT(*) AS n, SUM(a) AS total FROM s
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 1 SECONDS) GROUP BY k EMIT CHANGES;
CREATE TABLE hopped AS SELECT g, COUNT(*) AS n, SUM(a) AS total FROM s
  WINDOW HOPPING (SIZE 20 SECONDS, ADVANCE BY 5 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY g EMIT CHANGES;
CREATE TABLE final AS SELECT g, COUNT(*) AS n, SUM(a) AS total FROM s
  WINDOW TUMBLING (SIZE 10 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY g EMIT FINAL;
"""


def truth(records: list[tuple[int, int, int]]) -> dict[str, dict[tuple[Any, int], list[int]]]:
    """The rows of each table from all records (key, time, amount): (key, window start) -> count and sum."""
    rows: dict[str, dict[tuple[Any, int], list[int]]] = {name: defaultdict(lambda: [0, 0]) for name in TABLES}
    for key, time_ms, amount in records:
        for name, (size_s, advance_s) in TABLES.items():
            start = time_ms // (advance_s * 1000) * advance_s * 1000
            while start > time_ms - size_s * 1000:
                row = rows[name][f"k{key}" if name == "tumbled" else key % 3, start]
                row[0] += 1
                row[1] += amount
                start -= advance_s * 1000
    return rows


class Run:
    """A server, and the records that it reads."""

    def __init__(self, seed: int, admin: KafkaAdmin, folder: Path, prefix: str) -> None:
        self.random = random.Random(seed)
        self.prefix = prefix
        self.records: list[tuple[int, int, int]] = []
        self._folder, self._front_ms = folder, START_MS
        self._properties = folder / "server.properties"
        guarantee = ("at_least_once", "exactly_once_v2")[seed % 2]
        self._properties.write_text(
            f"bootstrap.servers={admin.servers}\nksql.service.id={prefix}\nksql.output.topic.name.prefix={prefix}\n"
            f"ksql.streams.processing.guarantee={guarantee}\nksql.streams.auto.offset.reset=earliest\n"
            "ksql.spark.memory=1200m\nksql.spark.warm.up.enabled=false\n",
            encoding="utf-8",
        )
        self._producer = RecordProducer(admin.servers, linger_ms=5)

    def server(self) -> ServerProcess:
        return ServerProcess(self._folder / "data", "--properties", str(self._properties)).ready()

    def send(self, count: int) -> None:
        """Records whose times go on; a third of them is up to 40 seconds late, some are bad."""
        for _ in range(count):
            self._front_ms += self.random.randrange(400)
            late_ms = self.random.randrange(40_000) if self.random.random() < 0.3 else 0
            self.put(self.random.randrange(KEYS), max(START_MS, self._front_ms - late_ms))
            if self.random.random() < 0.02:
                self._producer.send_async(f"{self.prefix}s", b"k1", b"{bad", self._front_ms)
        self._producer.flush()

    def put(self, key: int, time_ms: int) -> None:
        amount = self.random.randrange(100)
        self.records.append((key, time_ms, amount))
        value = b'{"g": %d, "a": %d}' % (key % 3, amount)
        self._producer.send_async(f"{self.prefix}s", b"k%d" % key, value, time_ms)

    def end(self) -> None:
        """Records far in the future, which close the windows of all keys before."""
        for key in range(KEYS):
            self.put(key, START_MS + LATER_MS)
        self._producer.flush()


def rows(server: ServerProcess, table: str) -> dict[tuple[Any, int], list[int]]:
    """The rows of closed windows."""
    found = server.rows(f"SELECT * FROM {table} WHERE windowstart < {START_MS + LATER_MS - 30_000};")
    return {(key, start): [n, total] for key, start, _, n, total in found}


def reprocess_until_right(server: ServerProcess) -> None:
    for table in TABLES:
        answers: list[Any] = []

        def is_right(table: str = table, answers: list[Any] = answers) -> bool:
            answers[:] = server.execute(f"REPROCESS {table} TO {START_MS + LATER_MS - 30_000};")
            return (answers[0]["changed"], answers[0]["removed"], answers[0]["openWindows"]) == (0, 0, 0)

        until(is_right, lambda answers=answers: answers)  # type: ignore[misc]


def kill_in(server: ServerProcess, delay_s: float, statement: str) -> None:
    """Kill the server some time after it has got a statement."""
    timer = threading.Timer(delay_s, server.crash)
    timer.start()
    with contextlib.suppress(httpx.HTTPError):
        httpx.post(f"{server.url}/ksql", json={"ksql": statement}, timeout=60)
    timer.join()
    server.process.communicate()


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_are_right_whatever_is_killed(seed: int, kafka_admin: KafkaAdmin, tmp_path: Path) -> None:
    prefix = f"again{seed}_"
    run = Run(seed, kafka_admin, tmp_path, prefix)
    try:
        with run.server() as server:
            server.execute(statements(prefix, (1, 4)[seed % 4 // 2]))
            run.send(1_500)
            for table in TABLES:
                server.execute(f"REPROCESS {table};")
            run.send(500)
            kill_in(server, run.random.random() * 3, "REPROCESS hopped;")
        with run.server() as server:
            run.send(500)
            run.end()
            kill_in(server, run.random.random() * 6, "REPROCESS tumbled;")
        with run.server() as server:
            reprocess_until_right(server)
            server.crash()
            server.process.communicate()
        expected = truth(run.records)
        with run.server() as server:  # what it repeats undoes nothing
            run.put(0, START_MS + LATER_MS + 1_000)
            run.end()
            until(lambda: server.rows("SELECT * FROM tumbled WHERE k = 'k0' AND n > 1;"))
            for table in TABLES:
                wanted = {k: v for k, v in expected[table].items() if k[1] < START_MS + LATER_MS - 30_000}
                assert rows(server, table) == wanted, table
    finally:
        kafka_admin.delete_topics([name for name in kafka_admin.topics() if prefix in name])
