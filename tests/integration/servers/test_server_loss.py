"""Servers as processes, with Spark: one is killed, or has too much to do, and queries go on at the other."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.cluster_servers import (
    PREFIX,
    SOURCE,
    TABLES,
    Feed,
    are_right,
    check_copy,
    hosts,
    produce,
    server,
)
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka


@pytest.mark.long
def test_queries_of_a_killed_server_go_on_elsewhere(clean_kafka: str, tmp_path: Path) -> None:
    broker = clean_kafka
    with (
        # one after the other: Kafka gives two that come at once every other slot, and one of them all queries
        server(tmp_path, "first", broker).ready() as first,
        server(tmp_path, "second", broker).ready() as second,
    ):
        first.execute(SOURCE)
        for n, table in enumerate(TABLES):
            asked = (first, second)[n % 2]
            asked.execute(f"CREATE TABLE {table} AS SELECT k, COUNT(*) AS c FROM e GROUP BY k EMIT CHANGES;")
        second.execute("CREATE STREAM copies AS SELECT k, n FROM e EMIT CHANGES;")
        until(lambda: set(hosts(first).values()) == {"first:8088", "second:8088"})
        produce(broker, range(1000))
        # whichever server is asked, it answers, for its own queries and for those of others
        until(lambda: are_right(first, 1000))
        until(lambda: are_right(second, 1000))
        second.crash()
        produce(broker, range(1000, 2000))
        first.execute("CREATE TYPE meanwhile AS INT;")
        until(lambda: set(hosts(first).values()) == {"first:8088"})
        until(lambda: are_right(first, 2000))
        missing = set(range(2000))
        with TopicReader(broker, f"{PREFIX}COPIES") as reader:
            deadline = time.monotonic() + TIMEOUT_S
            while missing:
                assert time.monotonic() < deadline, missing
                missing -= {json.loads(r.value or b"{}")["N"] for r in reader.poll_batch(0.5)}
        # it comes back, and gets its share
        with server(tmp_path, "second", broker).ready() as again:
            until(lambda: set(hosts(again).values()) == {"first:8088", "second:8088"})
            (shown,) = again.execute("SHOW TYPES;")
            assert "MEANWHILE" in shown["types"]
            produce(broker, range(2000, 2500))
            until(lambda: are_right(again, 2500) and are_right(first, 2500))
            # a server that is frozen writes nothing when it is thawed: others run its queries
            first.signal_all(signal.SIGSTOP)
            produce(broker, range(2500, 3000))
            until(lambda: set(hosts(again).values()) == {"second:8088"})
            until(lambda: are_right(again, 3000))
            first.signal_all(signal.SIGCONT)
            until(lambda: set(hosts(first).values()) == {"first:8088", "second:8088"})
            produce(broker, range(3000, 3500))
            until(lambda: are_right(again, 3500) and are_right(first, 3500))
            again.stop()
        first.stop()


@pytest.mark.long
@pytest.mark.parametrize("way", ["in-place", "backfill"])
def test_the_owner_is_killed_right_after_a_statement(way: str, clean_kafka: str, tmp_path: Path) -> None:
    """The other server goes on with the new version, whose statement it took, and with nothing of the old."""
    broker = clean_kafka
    with (
        server(tmp_path, "first", broker).ready() as first,
        server(tmp_path, "second", broker).ready() as second,
    ):
        first.execute(SOURCE)
        old = "CREATE TABLE t AS SELECT k, COUNT(*) AS c, SUM(n) AS total FROM e GROUP BY k EMIT CHANGES;"
        first.execute(old)
        until(lambda: None not in hosts(first).values())
        (host,) = hosts(first).values()
        owner, other = (first, second) if host == "first:8088" else (second, first)
        produce(broker, range(1000))
        until(lambda: are_right(other, 1000, ["t"]))
        new = old.replace("TABLE", "OR REPLACE TABLE").replace(", SUM(n) AS total", "")
        other.execute(new.replace(" AS SELECT", f" WITH (EVOLVE = '{way}') AS SELECT"))
        owner.crash()
        produce(broker, range(1000, 2000))

        def is_new() -> bool:
            (told,) = other.execute("DESCRIBE t;")
            names = [field["name"] for field in told["sourceDescription"]["fields"]]
            return names == ["K", "C"] and None not in hosts(other).values() and len(hosts(other)) == 1

        until(is_new)
        if way == "backfill":
            until(lambda: other.execute("DESCRIBE EVOLUTION t;")[0]["state"] == "swapped")
        until(lambda: are_right(other, 2000, ["t"]))
        other.stop()


#: how many records each key has, and how many keys there are
EACH, KEYS = 150, 400


def last_counts(broker: str) -> tuple[dict[str, int], int]:
    """What the last record of each key says in the topic of the counts, and how many records it has."""
    counts: dict[str, int] = {}
    number = 0
    with TopicReader(broker, f"{PREFIX}COUNTS") as reader:
        for records in reader.read_to_end():
            number += len(records)
            for record in records:
                assert record.key is not None and record.value is not None
                counts[record.key.decode()] = json.loads(record.value)["C"]
    return counts, number


@pytest.mark.long
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_a_server_that_was_frozen_writes_no_older_rows(
    guarantee: str, clean_kafka: str, tmp_path: Path
) -> None:
    """It is frozen while rows wait to be sent, and thawed when another server has written newer ones."""
    broker = clean_kafka
    more = {"ksql.streams.processing.guarantee": guarantee, "ksql.checkpoint.interval.ms": "60000"}
    with (
        server(tmp_path, "first", broker, **more).ready() as first,
        server(tmp_path, "second", broker, **more).ready() as second,
    ):
        first.execute(SOURCE)
        first.execute("CREATE TABLE counts AS SELECT k, COUNT(*) AS c FROM e GROUP BY k EMIT CHANGES;")
        until(lambda: None not in hosts(first).values())
        (host,) = hosts(first).values()
        owner, other = (first, second) if host == "first:8088" else (second, first)
        with contextlib.closing(RecordProducer(broker, linger_ms=5)) as producer:
            for n in range(EACH * KEYS):
                producer.send_async(f"{PREFIX}e", b"k%d" % (n % KEYS), b'{"n": 1}')
            producer.flush()
        if guarantee == "at_least_once":
            until(lambda: last_counts(broker)[1] > KEYS)
        owner.signal_all(signal.SIGSTOP)
        try:
            right = {f"k{n}": EACH for n in range(KEYS)}
            until(lambda: last_counts(broker)[0] == right)
        finally:
            owner.signal_all(signal.SIGCONT)
        # it is a server again, which knows that the other one has its query
        until(lambda: host not in hosts(owner).values())
        producer = RecordProducer(broker)
        with contextlib.closing(producer):
            producer.send(f"{PREFIX}e", b"last", b'{"n": 1}')
        until(lambda: "last" in last_counts(broker)[0])
        counts = last_counts(broker)[0]
        assert {key: count for key, count in counts.items() if count != EACH} == {"last": 1}
        other.stop()
        owner.stop()


@pytest.mark.long
def test_a_busy_server_lets_the_other_one_have_a_query(clean_kafka: str, tmp_path: Path) -> None:
    broker = clean_kafka
    often = {"ksql.cluster.balance.interval.ms": "5000"}
    numbers = range(6)
    with (
        server(tmp_path, "first", broker, **often).ready() as first,  # one after the other, as above
        server(tmp_path, "second", broker, **often).ready() as second,
    ):
        for n in numbers:
            first.execute(SOURCE.replace("STREAM e ", f"STREAM e{n} ").replace(f"{PREFIX}e", f"{PREFIX}e{n}"))
            if n < 3:
                text = f"CREATE TABLE x{n} AS SELECT k, COUNT(*) AS c FROM e{n} GROUP BY k EMIT CHANGES;"
            else:
                text = f"CREATE STREAM x{n} AS SELECT k, n FROM e{n} EMIT CHANGES;"
            first.execute(text)

        def placed() -> dict[int, str | None]:
            """Of which query runs where, by the numbers in their names."""
            return {int(query.split("_")[1].removeprefix("X")): host for query, host in hosts(first).items()}

        until(lambda: sorted(map(str, placed().values())) == ["first:8088"] * 3 + ["second:8088"] * 3)
        before = placed()
        # only what one server runs has something to do
        fed = [n for n, host in before.items() if host == "first:8088"]
        idle = sorted(before.keys() - fed)
        with Feed(broker, [f"e{n}" for n in fed]) as feed:
            until(lambda: any(placed()[n] == "second:8088" for n in fed))
            then = feed.count
            until(lambda: feed.count > then + 1000)

        def check(count: int, topics: Iterable[int]) -> None:
            for n in topics:
                if n < 3:
                    until(lambda: all(are_right(one, count, [f"x{n}"]) for one in alive))  # noqa: B023
                else:
                    check_copy(broker, f"x{n}", count)

        alive = [first, second]
        check(feed.count, fed)
        # a server that stops hands over what it was handed over itself
        second.stop()
        alive = [first]
        until(lambda: set(placed().values()) == {"first:8088"})
        for n in fed:
            produce(broker, range(feed.count, feed.count + 500), f"e{n}")
        for n in idle:
            produce(broker, range(500), f"e{n}")
        check(feed.count + 500, fed)
        check(500, idle)
        # and one that comes learns from the notes of slots where queries are
        with server(tmp_path, "second", broker, **often).ready() as again:
            alive = [first, again]
            until(lambda: set(placed().values()) == {"first:8088", "second:8088"})
            for n in numbers:
                count = feed.count + 500 if n in fed else 500
                produce(broker, range(count, count + 100), f"e{n}")
            check(feed.count + 600, fed)
            check(600, idle)
            again.stop()
        first.stop()
