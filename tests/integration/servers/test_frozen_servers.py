"""Of two servers that share queries, one is frozen for longer than its lease in the midst of something.

The other goes on with it. When the first is thawed, it must not do the rest of what it had begun.
``RUNS=5 pytest -m long tests/integration/servers/test_frozen_servers.py`` freezes five times in each phase.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest
from deltalake import DeltaTable

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.queries import differences
from tests.integration.cluster_servers import PREFIX, SOURCE, Feed, hosts, server
from tests.integration.server_process import ServerProcess
from tests.waiting import TIMEOUT_S, until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

SEEDS = range(int(os.environ.get("RUNS", "1")))
OLD = "CREATE TABLE t AS SELECT k, COUNT(*) AS c FROM e GROUP BY k EMIT CHANGES;"
NEW = (
    "CREATE OR REPLACE TABLE t WITH (EVOLVE = 'backfill', SWAP = 'manual') AS"
    " SELECT k, COUNT(*) * 2 AS c FROM e GROUP BY k EMIT CHANGES;"
)


def wait_for(condition: Callable[[], Any]) -> None:
    """Wait until something holds; a server that is frozen, or starts, does not answer."""

    def holds() -> Any:
        with contextlib.suppress(httpx.HTTPError, AssertionError):
            return condition()

    until(holds)


class Pair:
    """Two servers, the records that come meanwhile, and the server that is frozen."""

    def __init__(self, first: ServerProcess, second: ServerProcess, feed: Feed, seed: int) -> None:
        self._servers = (first, second)
        self.feed = feed
        self.choose = random.Random(seed)
        self.frozen, self.other = first, second

    def owned_by(self, is_owner: Callable[[ServerProcess], object]) -> None:
        """Freeze the one of which this holds, when freeze() is called."""

        def is_found() -> bool:
            for one in self._servers:
                if is_owner(one):
                    self.frozen = one
            return bool(is_owner(self.frozen))

        wait_for(is_found)
        self.other = next(one for one in self._servers if one is not self.frozen)

    def freeze(self) -> None:
        """SIGSTOP."""
        self.frozen.signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT, a moment after the other server has gone on."""
        time.sleep(self.choose.uniform(0, 3))
        self.frozen.signal_all(signal.SIGCONT)


@pytest.fixture
def pair(clean_kafka: str, tmp_path: Path, seed: int) -> Iterator[Pair]:
    with (
        server(tmp_path, "first", clean_kafka).ready() as first,
        server(tmp_path, "second", clean_kafka).ready() as second,
    ):
        first.execute(SOURCE)
        with Feed(clean_kafka, ["e"]) as feed:
            yield Pair(first, second, feed, seed)


def table(admin: KafkaAdmin) -> dict[str, int]:
    found = differences.rows(admin, f"{PREFIX}T")
    return {
        key.decode(): json.loads(record.value)["C"]
        for (_, key), record in found.items()
        if key is not None and record.value is not None
    }


def answers_for(owner: str) -> Callable[[ServerProcess], bool]:
    """Whether this server runs all queries."""
    return lambda asked: set(hosts(asked).values()) == {owner}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("phase", ["backfilling", "caught up", "swapping"])
def test_in_an_evolution(pair: Pair, kafka_admin: KafkaAdmin, phase: str) -> None:
    names = {"first:8088": pair.frozen, "second:8088": pair.other}
    pair.other.execute(OLD)
    pair.owned_by(lambda one: names.get(str(next(iter(hosts(one).values()), None))) is one)
    other = pair.other

    def state() -> str:
        return str(other.execute("DESCRIBE EVOLUTION t;")[0]["state"])

    other.execute(NEW)
    sending: list[threading.Thread] = []

    def swap() -> None:
        with contextlib.suppress(httpx.HTTPError, AssertionError):
            other.execute("SWAP t;")

    if phase != "backfilling":
        wait_for(lambda: state() == "caught up")
    if phase == "swapping":
        sending.append(threading.Thread(target=swap))
        sending[0].start()
    time.sleep(pair.choose.uniform(0, 1))
    pair.freeze()
    (host,) = (name for name, one in names.items() if one is other)
    wait_for(lambda: set(hosts(other).values()) == {host})
    if phase != "swapping":
        wait_for(lambda: state() == "caught up")
        swap()
    wait_for(lambda: state() == "swapped" or (swap(), False)[1])
    for each in sending:
        each.join()
    pair.thaw()
    # it is back, and may have its share
    wait_for(lambda: pair.frozen.execute("SHOW QUERIES;"))
    pair.feed.stop()

    def is_right() -> bool:
        wanted = Counter({f"k{n % 10}": 0 for n in range(10)})
        for n in range(pair.feed.count):
            wanted[f"k{n % 10}"] += 2
        return table(kafka_admin) == dict(wanted)

    wait_for(is_right)
    assert len(hosts(other)) == 1


SINKS = """
CREATE SINK files FROM e WITH (TYPE = 'parquet', PATH = '{lake}/files', COMMIT_INTERVAL = '20 milliseconds');
CREATE SINK rows FROM e WITH (TYPE = 'delta', PATH = '{lake}/rows', COMMIT_INTERVAL = '20 milliseconds');
"""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("phase", ["a commit of files", "a commit of Delta", "COMPACT"])
def test_in_a_sink(pair: Pair, tmp_path: Path, phase: str) -> None:
    lake = tmp_path / "lake"
    pair.other.execute(SINKS.format(lake=lake))

    def positions(one: ServerProcess) -> int:
        told = one.execute("DESCRIBE SINK files;")[0]
        return sum(each["offset"] for each in told["positions"])

    pair.owned_by(positions)
    wait_for(lambda: positions(pair.frozen) > 300 and DeltaTable.is_deltatable(str(lake / "rows")))
    pattern = "rows/*.parquet" if phase == "a commit of Delta" else "files/_ksql/*.tmp"
    if phase == "COMPACT":
        pair.other.execute("COMPACT SINK files; COMPACT SINK rows;")
    before = set(lake.glob(pattern))
    deadline = time.monotonic() + TIMEOUT_S
    while set(lake.glob(pattern)) <= before:  # without a pause, since such a file is there for a moment only
        assert time.monotonic() < deadline
    time.sleep(pair.choose.choice((0.0, pair.choose.uniform(0, 0.05))))
    pair.freeze()
    wait_for(lambda: positions(pair.other) > 600)
    pair.thaw()
    wait_for(lambda: pair.frozen.execute("SHOW SINKS;"))
    count = pair.feed.count
    wait_for(lambda: pair.feed.count > count + 300)
    pair.feed.stop()

    def ids() -> Iterator[list[int]]:
        files = [str(file) for file in (lake / "files").glob("*.parquet")]
        yield sorted(row[0] for row in duckdb.read_parquet(files).select("N").fetchall())
        yield sorted(DeltaTable(str(lake / "rows")).to_pyarrow_table()["N"].to_pylist())

    wait_for(lambda: all(len(each) >= pair.feed.count for each in ids()))
    assert [*ids()] == [[*range(pair.feed.count)]] * 2
