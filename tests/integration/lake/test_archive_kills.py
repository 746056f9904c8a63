"""Archive and live topic under kills: each record counts once, as DuckDB says over all records.

``RUNS=52 pytest -m long tests/integration/lake/test_archive_kills.py`` makes 52 runs, four of which share a
server and its kills. A run has its own seed, topics, archives and queries: an aggregate, windows, sessions, a
join.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ksql_spark.kafka.admin import KafkaAdmin
from tests.integration.lake.archives import (
    EARLIEST,
    HOURS,
    SUMS,
    Records,
    archived,
    archiving,
    positions,
    remove,
)
from tests.integration.server_process import ServerProcess
from tests.waiting import until

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
            name = f"_{self._name}_{side}"
            server.execute(archiving(topic, self._folder / side, self._partitions, of=name))
            self._sides[side] = Records(
                server.bootstrap_servers(), topic, self._choose.randrange(10**6) + number
            )

    def send(self, server: ServerProcess, most: int) -> None:
        """Send records, and let retention remove some of those that the archives have."""
        count = self._choose.randrange(most // 10, most)
        for records in self._sides.values():
            records.moved(server.bootstrap_servers()).send(count)
        for side, records in self._sides.items():
            wanted = self._choose.randrange(len(records.sent) + 1)
            sink = f"kept_{self._name}_{side}"
            until(
                lambda sink=sink, wanted=wanted: sum(positions(server, sink).values()) >= wanted  # type: ignore[misc]
            )
            kept = positions(server, sink)
            ends = {p: self._choose.randrange(end + 1) for p, end in kept.items() if end}
            remove(server.bootstrap_servers(), records.topic, ends)

    def query(self, server: ServerProcess) -> None:
        """Start the queries, in the archives."""
        sql = f"SET 'processing.guarantee' = 'exactly_once_v2'; {EARLIEST}"
        for side, records in self._sides.items():
            sql += archived(records.topic, self._folder / side, f"{self._name}_{side}")
        for result, query in QUERIES.items():
            sql += self._named(query.format(name=f"{self._name}_{result}")) + ";"
        server.execute(sql)

    def check(self, server: ServerProcess) -> None:
        """Wait until each result is the truth."""
        database = duckdb.connect()
        for side, records in self._sides.items():
            values = ", ".join(f"('{k}', {n}, {time_ms})" for k, n, time_ms in records.sent)
            database.sql(f"CREATE TABLE {side} AS SELECT * FROM (VALUES {values}) AS v(k, n, t)")
        for result, truth in TRUTHS.items():
            wanted = ordered(database.sql(truth).fetchall())
            look_up = LOOK_UPS[result].format(name=f"{self._name}_{result}")

            def told(look_up: str = look_up, wanted: list[Any] = wanted) -> object:
                found = ordered(server.rows(look_up))
                return len(found), len(wanted), [row for row in found if row not in wanted][:9]

            until(lambda look_up=look_up, wanted=wanted: ordered(server.rows(look_up)) == wanted, told)  # type: ignore[misc]

    def drawn(self) -> str:
        """The topic of one of the results."""
        return f"{self._name}_{self._choose.choice([*QUERIES])}".upper()


def ordered(rows: list[Any]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in rows)


@pytest.mark.parametrize("first", range(0, RUNS, TOGETHER))
def test_each_record_counts_once(tmp_path: Path, first: int) -> None:
    runs = [Run(seed, tmp_path / f"archive{seed}") for seed in range(first, first + TOGETHER)]
    choose = random.Random(first)
    for life in range(KILLS + 1):
        with ServerProcess(tmp_path / "data") as server:
            server.ready()
            admin, drawn = KafkaAdmin(server.bootstrap_servers()), choose.choice(runs).drawn()
            there = 0 if life == 0 else size(admin, drawn)
            if life == 0:
                for run in runs:
                    run.begin(server)
            for run in runs:
                run.send(server, 500 if life else 5_000)  # the first queries are killed in the archives
            if life == 0:
                for run in runs:
                    run.query(server)
            if life == KILLS:
                for run in runs:
                    run.check(server)
            else:
                until(lambda: size(admin, drawn) > there)  # noqa: B023
            # it is killed here


def size(admin: KafkaAdmin, topic: str) -> int:
    """How far the committed records of a topic are."""
    return sum(admin.committed_ends(topic).values())
