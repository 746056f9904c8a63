"""MATCH_RECOGNIZE gives what a plain matcher gives, which tries all ways in the order of preference.

Each of 200 generated inputs is a key of one topic, with NULLs and equal times. The last records are far
later, so that nothing waits any more.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ksql_spark.engine import Engine, Request
from ksql_spark.kafka.producer import RecordProducer
from tests.integration.results.comparing import BEGAN_MS, PROPERTIES, Sink, same_rows, wait_until_all_is_read
from tests.integration.results.partitions import PARTITIONS
from tests.plain_matcher import Choice, Conditions, Pattern, Repeat, Row, Rows, Sequence_, Symbol, matches

pytestmark = pytest.mark.kafka

INPUTS = 200
# ---- patterns -------------------------------------------------------------------------------------------


def less(a: Any, b: Any) -> bool:
    """``a < b`` of KSQL."""
    return a is not None and b is not None and a < b


A, B, C, D = map(Symbol, "ABCD")


@dataclass(frozen=True)
class Case:
    """A pattern in SQL and for the matcher.

    ``results``: the rows of a match. ``resume``: see ``matches``.
    """

    sql: str
    pattern: Pattern
    conditions: Conditions
    within_ms: int
    results: Callable[[Rows], list[tuple[Any, ...]]]
    resume: Callable[[tuple[str, ...]], int] = len


CASES = {
    "v_shape": Case(
        "MEASURES A.v AS a, LAST(B.v) AS b, C.v AS c, COUNT(B.v) AS n AFTER MATCH SKIP TO LAST C"
        " PATTERN (A B+ C) WITHIN 30 SECONDS"
        " DEFINE B AS LAST(B.v, 1) IS NULL AND B.v < A.v OR B.v < LAST(B.v, 1), C AS C.v > LAST(B.v)",
        Sequence_((A, Repeat(B, 1), C)),
        {
            "B": lambda m: (
                (m.last("B", 1) is None and less(m.last("B"), m.last("A")))
                or less(m.last("B"), m.last("B", 1))
            ),
            "C": lambda m: less(m.last("B"), m.last("C")),
        },
        30_000,
        lambda m: [(m.last("A"), m.last("B"), m.last("C"), m.count("B"))],
        lambda path: len(path) - 1,
    ),
    "sums": Case(
        "MEASURES SUM(A.v) AS total, FIRST(v) AS f, LAST(v) AS l, COUNT(*) AS n AFTER MATCH SKIP TO NEXT ROW"
        " PATTERN (A+ C) WITHIN 1 HOUR DEFINE A AS SUM(A.v) < 20",
        Sequence_((Repeat(A, 1), C)),
        {"A": lambda m: m.sum("A") < 20},
        3_600_000,
        lambda m: [(m.sum("A"), m.first(), m.last(), len(m.path))],
        lambda path: 1,
    ),
    "reluctant": Case(
        "MEASURES A.v AS a, B.v AS b, C.v AS c, MAX(v) - MIN(v) AS spread PATTERN (A B*? C)"
        " WITHIN 10 SECONDS DEFINE A AS v > 3, B AS v < 6, C AS C.v > 5",
        Sequence_((A, Repeat(B, reluctant=True), C)),
        {
            "A": lambda m: less(3, m.last()),
            "B": lambda m: less(m.last(), 6),
            "C": lambda m: less(5, m.last()),
        },
        10_000,
        lambda m: [
            (
                m.last("A"),
                m.last("B"),
                m.last("C"),
                max(v for v in m.of() if v is not None) - min(v for v in m.of() if v is not None),
            )
        ],
    ),
    "choices": Case(
        "MEASURES COUNT(A.v) AS a, COUNT(B.v) AS b, LAST(A.v, 1) AS before, FIRST(B.v, 1) AS second, C.v AS c"
        " AFTER MATCH SKIP TO FIRST C PATTERN ((A | B){2,3} C+) WITHIN 20 SECONDS"
        " DEFINE A AS v < 5, B AS v > 2 AND COUNT(B.v) < 3, C AS v > 4",
        Sequence_((Repeat(Choice((A, B)), 2, 3), Repeat(C, 1))),
        {
            "A": lambda m: less(m.last(), 5),
            "B": lambda m: less(2, m.last()) and m.count("B") < 3,
            "C": lambda m: less(4, m.last()),
        },
        20_000,
        lambda m: [(m.count("A"), m.count("B"), m.last("A", 1), m.first("B", 1), m.last("C"))],
        lambda path: path.index("C"),
    ),
    "waiting": Case(
        "MEASURES COUNT(*) AS n, LAST(C.v) AS c, SUM(v) AS total PATTERN (A (B C?)+) WITHIN 15 SECONDS"
        " DEFINE B AS v > PREV(v), C AS v <= PREV(v) AND v >= PREV(v, 2)",
        Sequence_((A, Repeat(Sequence_((B, Repeat(C, 0, 1))), 1))),
        {
            "B": lambda m: less(m.prev(), m.last()),
            "C": lambda m: (
                m.prev() is not None
                and m.last() is not None
                and not less(m.prev(), m.last())
                and m.prev(2) is not None
                and not less(m.last(), m.prev(2))
            ),
        },
        15_000,
        lambda m: [(len(m.path), m.last("C"), m.sum())],
    ),
    "counts": Case(
        "MEASURES COUNT(*) AS n, SUM(A.v) AS a, SUM(C.v) AS c PATTERN (A{2,} B{,2} C{2}) WITHIN 1 HOUR"
        " DEFINE A AS v > 2, B AS v IS NULL OR v < 4, C AS v < LAST(A.v)",
        Sequence_((Repeat(A, 2), Repeat(B, 0, 2), Repeat(C, 2, 2))),
        {
            "A": lambda m: less(2, m.last()),
            "B": lambda m: m.last() is None or less(m.last(), 4),
            "C": lambda m: less(m.last(), m.last("A")),
        },
        3_600_000,
        lambda m: [(len(m.path), m.sum("A"), m.sum("C"))],
    ),
    "all_rows": Case(
        "MEASURES CLASSIFIER() AS what, COUNT(*) AS n, FINAL SUM(v) AS total, FIRST(B.v) AS b"
        " ALL ROWS PER MATCH"
        " AFTER MATCH SKIP TO NEXT ROW PATTERN (A (B | C)* D) WITHIN 20 SECONDS"
        " DEFINE A AS v > 5, B AS v > 2, D AS v IS NULL OR v = 0",
        Sequence_((A, Repeat(Choice((B, C))), D)),
        {
            "A": lambda m: less(5, m.last()),
            "B": lambda m: less(2, m.last()),
            "D": lambda m: m.last() in (None, 0),
        },
        20_000,
        lambda m: [
            (m.path[i], i + 1, m.sum(), Rows(m.all, m.start, m.path[: i + 1], 0).first("B"), m.of()[i])
            for i in range(len(m.path))
        ],
        lambda path: 1,
    ),
    "lazy": Case(
        "MEASURES COUNT(*) AS n, A.v AS a, B.v AS b PATTERN (A+? B?? (C | D D)+?) WITHIN 25 SECONDS"
        " DEFINE A AS v < 7, B AS v = 3, C AS v > A.v, D AS v <= FIRST(A.v)",
        Sequence_(
            (
                Repeat(A, 1, reluctant=True),
                Repeat(B, 0, 1, reluctant=True),
                Repeat(Choice((C, Sequence_((D, D)))), 1, reluctant=True),
            )
        ),
        {
            "A": lambda m: less(m.last(), 7),
            "B": lambda m: m.last() == 3,
            "C": lambda m: less(m.last("A"), m.last()),
            "D": lambda m: (
                m.last() is not None and m.first("A") is not None and not less(m.first("A"), m.last())
            ),
        },
        25_000,
        lambda m: [(len(m.path), m.last("A"), m.last("B"))],
    ),
}


def generated() -> list[tuple[int, Row]]:
    """The rows of all inputs, each with the number of its input."""
    rng = random.Random(45)
    inputs = [seed for seed in range(INPUTS) for _ in range(rng.randrange(1, 24))]
    rng.shuffle(inputs)
    rows, ts = [], BEGAN_MS
    for seed in inputs:
        ts += rng.choice((0, 0, 5, 10, 20, 30, 60))
        rows.append((seed, Row(ts, rng.choice((None, *range(9))))))
    return rows


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_matches_are_those_of_a_plain_matcher(engine: Engine, partitions: int) -> None:
    topic, rows = f"patterns_{partitions}", generated()
    admin = engine.services.admin
    admin.create_topic(topic, partitions, config={"retention.ms": "-1"})
    producer = RecordProducer(admin.servers, linger_ms=5)
    for seed, row in rows:
        producer.send_async(topic, str(seed).encode(), json.dumps({"v": row.v}).encode(), row.ts)
    end = rows[-1][1].ts + 86_400_000
    for n in range(200):  # some in each partition
        producer.send_async(topic, f"end {n}".encode(), b'{"v": -1}', end)
    producer.close()
    engine.execute(
        Request(
            f"CREATE STREAM {topic} (k STRING KEY, v INT)"
            f" WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON');"
        )
    )
    sinks = {name: f"{topic}_{name}" for name in CASES}
    try:
        for name, case in CASES.items():
            start = (
                f"CREATE STREAM {sinks[name]} WITH (KAFKA_TOPIC = '{sinks[name]}') AS SELECT *"
                f" FROM (SELECT * FROM {topic} WHERE k IS NOT NULL) MATCH_RECOGNIZE"
                f" (PARTITION BY k ORDER BY ROWTIME {case.sql}) WHERE NOT k LIKE 'end%';"
            )
            engine.execute(Request(start, PROPERTIES))
        for name, case in CASES.items():
            wait_until_all_is_read(engine, sinks[name])
            engine.execute(Request(f"DROP STREAM {sinks[name]};"))
            sink = Sink(admin.servers, sinks[name])
            sink.close()
            found = Counter(
                ((record.key or b"").decode(), *json.loads(record.value or b"{}").values())
                for record in sink.records
            )
            inputs = {str(s): [row for seed, row in rows if seed == s] for s in range(INPUTS)}
            expected = Counter(
                (key, *result)
                for key, own in inputs.items()
                for match in matches(case.pattern, case.conditions, case.within_ms, case.resume, own)
                for result in case.results(match)
            )
            assert len(expected) > 50, name
            same_rows(found, expected)
    finally:
        drops = "".join(f"DROP STREAM IF EXISTS {sink};" for sink in sinks.values())
        engine.execute(Request(f"{drops} DROP STREAM {topic};"))
        admin.delete_topics([topic, *sinks.values()])


def test_a_push_query_finds_matches(engine: Engine) -> None:
    engine.execute(
        Request(
            "CREATE STREAM pushed (k STRING KEY, v INT)"
            " WITH (KAFKA_TOPIC = 'pushed', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
            "INSERT INTO pushed (k, v) VALUES ('a', 3); INSERT INTO pushed (k, v) VALUES ('b', 1);"
            "INSERT INTO pushed (k, v) VALUES ('a', 2); INSERT INTO pushed (k, v) VALUES ('a', 4);"
        )
    )
    select = (
        "SELECT k, low, high FROM pushed MATCH_RECOGNIZE (PARTITION BY k ORDER BY ROWTIME"
        " MEASURES B.v AS low, C.v AS high PATTERN (A B C) WITHIN 1 HOUR"
        " DEFINE B AS v < A.v, C AS v > A.v) EMIT CHANGES LIMIT 1;"
    )
    try:
        with contextlib.closing(engine.query(Request(select, PROPERTIES))) as stream:
            found: list[Any] = []
            while (more := stream.read(60)) is not None:
                found += [row.values for row in more]
        assert found == [["a", 2, 4]]
    finally:
        engine.execute(Request("DROP STREAM pushed DELETE TOPIC;"))
