"""Archive and live topic under kills: each record counts once, as DuckDB says over all records.

``RUNS=52 pytest -m long tests/integration/lake/test_archive_kills.py`` makes 52 runs, four of which share a
server and its kills. A run has its own seed, topics, archives and queries: an aggregate, windows, sessions, a
join.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.integration.lake.archives import HOURS, STREAM, SUMS, Records, remove
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S

pytestmark = [pytest.mark.kafka, pytest.mark.long]

RUNS = int(os.environ.get("RUNS", "4"))
#: how many runs share a server
TOGETHER = 4
KILLS = 2
SIDES = ("l", "r")
#: what runs, by the name of its result
QUERIES = {
    "sums": f"CREATE TABLE {{name}} AS {SUMS}",
    "hours": f"CREATE TABLE {{name}} AS {HOURS} EMIT CHANGES",
    "visits": "CREATE TABLE {name} AS SELECT k, COUNT(*) AS c FROM trips"
    " WINDOW SESSION (2 MINUTES, GRACE PERIOD 2 HOURS) GROUP BY k EMIT CHANGES",
    "pairs": "CREATE STREAM {name} AS SELECT l.k AS k, l.n AS a, r.n AS b FROM trips l JOIN other r"
    " WITHIN 2 MINUTES GRACE PERIOD 12 HOURS ON l.k = r.k EMIT CHANGES",
}
LOOK_UPS = {
    "sums": "SELECT k, c, s FROM {name};",
    "hours": "SELECT k, WINDOWSTART, c FROM {name};",
    "visits": "SELECT k, WINDOWSTART, WINDOWEND, c FROM {name};",
    "pairs": "SELECT k, a, b FROM {name};",
}
TRUTHS = {
    "sums": "SELECT k, COUNT(*), SUM(n)::BIGINT FROM l GROUP BY k",
    "hours": "SELECT k, t // 3600000 * 3600000, COUNT(*) FROM l GROUP BY ALL",
    "visits": "SELECT k, MIN(t), MAX(t), COUNT(*)"
    " FROM (SELECT *, SUM(new) OVER (PARTITION BY k ORDER BY t) AS s"
    " FROM (SELECT *, CASE WHEN t - LAG(t) OVER (PARTITION BY k ORDER BY t) <= 120000 THEN 0 ELSE 1 END"
    " AS new FROM l)) GROUP BY k, s",
    "pairs": "SELECT l.k, l.n, r.n FROM l JOIN r ON l.k = r.k AND ABS(l.t - r.t) <= 120000",
}


class Run:
    """One seed: two topics with archives, and four queries."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._folder = folder
        self._choose = random.Random(seed)
        self._name = f"run{seed}"
        self._partitions = self._choose.choice((1, 2, 4))
        self._sides: dict[str, Records] = {}

    def _named(self, sql: str) -> str:
        """The statement with this run's names."""
        return sql.replace("FROM trips", f"FROM {self._name}_l").replace("JOIN other", f"JOIN {self._name}_r")

    def begin(self, server: ServerProcess) -> None:
        """Keep archives of two topics."""
        for number, side in enumerate(SIDES):
            topic = f"{self._name}_{side}_topic"
            more = f", PARTITIONS={self._partitions}"
            server.execute(
                f"CREATE STREAM {self._name}_{side}_raw {STREAM.format(topic=topic, more=more)};"
                f"CREATE SINK {self._name}_{side}_kept FROM {self._name}_{side}_raw WITH (TYPE='parquet',"
                f" PATH='{self._folder / side}', ARCHIVE=true, COMMIT_INTERVAL='20 milliseconds');"
            )
            self._sides[side] = Records(
                server.bootstrap_servers(), topic, self._choose.randrange(10**6) + number
            )

    def send(self, server: ServerProcess) -> None:
        """Send records, and let retention remove some of those that the archives have."""
        count = self._choose.randrange(50, 500)
        for records in self._sides.values():
            records.moved(server.bootstrap_servers()).send(count)
        for side, records in self._sides.items():
            wanted = self._choose.randrange(len(records.sent) + 1)
            deadline = time.monotonic() + TIMEOUT_S
            while sum((kept := self._kept(server, side)).values()) < wanted:
                assert time.monotonic() < deadline, kept
            ends = {p: self._choose.randrange(end + 1) for p, end in kept.items() if end}
            remove(server.bootstrap_servers(), records.topic, ends)

    def _kept(self, server: ServerProcess, side: str) -> dict[int, int]:
        (told,) = server.execute(f"DESCRIBE SINK {self._name}_{side}_kept;")
        return {place["partition"]: place["offset"] for place in told["positions"]}

    def query(self, server: ServerProcess) -> None:
        """Start the queries, in the archives."""
        sql = "SET 'processing.guarantee' = 'exactly_once_v2'; SET 'auto.offset.reset' = 'earliest';"
        for side, records in self._sides.items():
            more = f", ARCHIVE='{self._folder / side}'"
            sql += f"CREATE STREAM {self._name}_{side} {STREAM.format(topic=records.topic, more=more)};"
        for result, query in QUERIES.items():
            sql += self._named(query.format(name=f"{self._name}_{result}")) + ";"
        server.execute(sql)

    def check(self, server: ServerProcess) -> None:
        """Wait until each result is the truth."""
        database = duckdb.connect()
        for side, records in self._sides.items():
            values = ", ".join(f"('{k}', {n}, {time_ms})" for k, n, time_ms in records.sent)
            database.sql(f"CREATE TABLE {side} AS SELECT * FROM (VALUES {values}) AS v(k, n, t)")
        deadline = time.monotonic() + TIMEOUT_S
        for result, truth in TRUTHS.items():
            wanted = ordered(database.sql(truth).fetchall())
            look_up = LOOK_UPS[result].format(name=f"{self._name}_{result}")
            while (found := ordered(server.rows(look_up))) != wanted:
                told = f"{self._name}_{result}: {len(found)} of {len(wanted)} rows"
                assert time.monotonic() < deadline, (told, [row for row in found if row not in wanted][:9])
                time.sleep(0.5)


def ordered(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in rows)


@pytest.mark.parametrize("first", range(0, RUNS, TOGETHER))
def test_each_record_counts_once(tmp_path: Path, first: int) -> None:
    choose = random.Random(first)
    runs = [Run(seed, tmp_path / f"archive{seed}") for seed in range(first, first + TOGETHER)]
    for life in range(KILLS + 1):
        with ServerProcess(tmp_path / "data") as server:
            server.ready()
            if life == 0:
                for run in runs:
                    run.begin(server)
            for run in runs:
                run.send(server)
            if life == 0:
                for run in runs:
                    run.query(server)
            if life == KILLS:
                for run in runs:
                    run.check(server)
            else:
                time.sleep(choose.uniform(0, 12))
            # it is killed here
