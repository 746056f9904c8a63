"""AS OF, CHANGES, and VERIFY by a SELECT on a real engine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.errors import KsqlError, Position
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.services.broker import EmbeddedBroker
from tests.integration.answers import run
from tests.waiting import until

pytestmark = pytest.mark.kafka

PREFIX = "past_"
TOPIC = f"{PREFIX}events"
STATEMENTS = f"""
CREATE STREAM past (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '{TOPIC}', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE few WITH (KAFKA_TOPIC = 'past_few', HISTORY = '1 DAY') AS
  SELECT who, COUNT(*) AS c FROM past GROUP BY who HAVING COUNT(*) < 4;
CREATE TABLE compacted WITH (KAFKA_TOPIC = 'past_compacted') AS
  SELECT who, COUNT(*) AS c FROM past GROUP BY who;
"""
EVOLVED = """
CREATE OR REPLACE TABLE few
  WITH (KAFKA_TOPIC = 'past_few', EVOLVE = 'backfill', SWAP = 'manual', VERIFY = '{verify}') AS
  SELECT who, COUNT(*) AS c FROM past WHERE n <> 1 GROUP BY who HAVING COUNT(*) < 4;
"""


def rows(engine: Engine, text: str) -> list[list[Any]]:
    stream = engine.query(Request(text, {}))
    found: list[list[Any]] = []
    while (read := stream.read(30.0)) is not None:
        found += [row.values for row in read]
    stream.close()
    return sorted(found, key=str)


@pytest.mark.long
def test_the_past(make_engine: Callable[..., Engine], broker: EmbeddedBroker) -> None:
    engine = make_engine()
    admin = engine.services.admin
    run(engine, STATEMENTS)
    assert admin.config("past_few")["min.compaction.lag.ms"] == "86400000"
    producer = RecordProducer(broker.bootstrap_servers, linger_ms=5)
    t0 = int(time.time() * 1000) - 100_000
    sent = [(who, n) for n in range(3) for who in ("a", "b", "c")] + [("a", 3), ("d", 0)]
    for i, (who, n) in enumerate(sent):
        producer.send_async(TOPIC, who.encode(), b'{"N": %d}' % n, timestamp_ms=t0 + n * 1000)
        if i == 8:
            producer.flush()  # a's last record comes after all others of its time
    producer.flush()
    wanted = [["b", 3], ["c", 3], ["d", 1]]
    until(
        lambda: rows(engine, "SELECT who, c FROM few;") == wanted,
        lambda: rows(engine, "SELECT who, c FROM few;"),
    )

    as_of = "SELECT who, c FROM few AS OF TIMESTAMP {};"
    assert rows(engine, as_of.format(t0 + 1500)) == [["a", 2], ["b", 2], ["c", 2], ["d", 1]]
    assert rows(engine, as_of.format(t0 + 2500)) == [["a", 3], ["b", 3], ["c", 3], ["d", 1]]
    assert rows(engine, as_of.format(t0 + 3500)) == wanted
    assert rows(engine, as_of.format(t0 - 1)) == []
    ends = {partition: end for (_, partition), end in admin.end_offsets("past_few").items()}
    at = "SELECT who, c FROM few AS OF POSITION '{},{}';"
    assert rows(engine, at.format(*(f"{p}:{end}" for p, end in ends.items()))) == wanted
    assert rows(engine, at.format("0:0", "1:0")) == []
    assert len(rows(engine, at.format(f"0:{ends[0]}", "1:0"))) < len(wanted)
    with pytest.raises(KsqlError, match=r"has no partition 2") as refused:
        rows(engine, at.format("0:0,1:0", "2:0"))
    assert refused.value.position == Position(1, 39, 13) and "AS OF" in str(refused.value.statement)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t0 // 1000 + 2))
    assert len(rows(engine, as_of.format(f"'{moment}'"))) == 4
    joined = (
        f"SELECT b.who, b.c, few.c FROM few AS OF TIMESTAMP {t0 + 500} b LEFT JOIN few ON b.who = few.who;"
    )
    assert rows(engine, joined) == [["a", 1, None], ["b", 1, 3], ["c", 1, 3], ["d", 1, 1]]
    changes = (
        f"SELECT who, c, ROWTIME FROM CHANGES(few) BETWEEN {t0 + 2000} AND {t0 + 3000} WHERE who <> 'b';"
    )
    assert rows(engine, changes) == [["a", 3, t0 + 2000], ["a", None, t0 + 3000], ["c", 3, t0 + 2000]]
    with pytest.raises(KsqlError, match=r"keeps all changes for 0 ms only"):
        rows(engine, f"SELECT * FROM compacted AS OF TIMESTAMP {t0};")

    # the new version lacks a record of each of a, b and c
    run(
        engine,
        EVOLVED.format(verify="SELECT * FROM OLD(few) o JOIN NEW(few) n ON o.who = n.who WHERE n.c < o.c"),
    )
    until(
        lambda: run(engine, "DESCRIBE EVOLUTION few;")["state"] == "caught up",
        lambda: run(engine, "DESCRIBE EVOLUTION few;"),
    )
    with pytest.raises(KsqlError, match=r"rows of its SELECT: .*\"b\""):
        run(engine, "SWAP few;")
    run(engine, "ABORT EVOLUTION few;")
    run(
        engine,
        EVOLVED.format(
            verify="rows 0.5; SELECT * FROM OLD(few) o JOIN NEW(few) n ON o.who = n.who WHERE n.c > o.c"
        ),
    )
    until(
        lambda: run(engine, "DESCRIBE EVOLUTION few;")["state"] == "verified",
        lambda: run(engine, "DESCRIBE EVOLUTION few;"),
    )
    assert "writes FEW" in run(engine, "SWAP few;")["commandStatus"]["message"]
    until(
        lambda: rows(engine, "SELECT who, c FROM few;") == [["a", 3], ["b", 2], ["c", 2], ["d", 1]],
        lambda: rows(engine, "SELECT who, c FROM few;"),
    )
