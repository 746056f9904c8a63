"""Which tests are replayed, and as what."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksql_spark import grammar
from ksql_spark.tools.testing.files import SqlTest
from ksql_spark.tools.testing.variations import read

STREAM = "CREATE STREAM s (k INT KEY, v INT, ts BIGINT) WITH (KAFKA_TOPIC = '${case}_s', PARTITIONS = 1"
TABLE = "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_t', PARTITIONS = 1);"
JOIN = "CREATE STREAM j AS SELECT s.k AS k, t.v AS v FROM s JOIN t ON s.k = t.k;"
COUNT = "CREATE TABLE c WITH (KAFKA_TOPIC = '${case}_c') AS SELECT v, COUNT(*) AS n FROM s GROUP BY v;"
AT_1 = "INSERT INTO s (ROWTIME, k) VALUES (1, 1);"
AT_2 = "INSERT INTO t (ROWTIME, k) VALUES (2, 1);"


def made(*statements: str) -> list[str] | None:
    """The statements with the queries after all others; None where that may change results."""
    parts = tuple(part for text in statements for part in grammar.split(text))
    test = read(SqlTest(Path("x.sql"), "x", 1, steps=parts))
    return None if test.replayed == test.steps else [f"{step.part.text};" for step in test.replayed]


def test_queries_begin_after_all_rows() -> None:
    create, copy = STREAM + ");", "CREATE STREAM p AS SELECT * FROM s;"
    assert made(create, COUNT, copy, AT_1) == [create, AT_1, COUNT, copy]


BY_COLUMN, SEVERAL = (
    STREAM + ", TIMESTAMP = 'ts');",
    STREAM.replace("PARTITIONS = 1", "PARTITIONS = 2") + ");",
)
TS_1, TS_0 = "INSERT INTO s (k, ts) VALUES (1, 1);", "INSERT INTO s (k, ts) VALUES (1, 0);"
WINDOWED = COUNT.replace("GROUP BY", "WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY")
LISTED = COUNT.replace("COUNT(*)", "COLLECT_LIST(k)")


@pytest.mark.parametrize(
    ("stream", "statements", "is_replayed"),
    [
        pytest.param(STREAM + ");", statements, is_replayed, id=name)
        for name, is_replayed, statements in (
            ("a join of rows in the order of their times", True, [JOIN, AT_1, AT_2]),
            ("the clock's time is the latest", True, [JOIN, AT_1, "INSERT INTO t (k) VALUES (1);"]),
            ("one topic has one order", True, [COUNT, "INSERT INTO s (ROWTIME, k) VALUES (9, 1);", AT_1]),
            ("windows over one partition", True, [WINDOWED]),
            ("a list over one partition", True, [LISTED]),
            ("no query", False, [AT_1]),
            ("a join of rows in another order", False, [JOIN, AT_2, AT_1]),
            ("it ended before", False, [COUNT, "TERMINATE ALL;"]),
            ("it is gone", False, [COUNT, "DROP TABLE c;"]),
            ("not all is the query's", False, [COUNT, "INSERT INTO c (v, n) VALUES (1, 1);"]),
            ("with other properties", False, [COUNT, "SET 'ksql.execution.mode' = 'microbatch';"]),
            ("not from the beginning", False, ["SET 'auto.offset.reset' = 'latest';", COUNT]),
            ("the clock", False, ["CREATE STREAM n AS SELECT k, UNIX_TIMESTAMP() AS at FROM s;"]),
        )
    ]
    + [
        pytest.param(stream, statements, is_replayed, id=name)
        for name, is_replayed, stream, statements in (
            ("a join in the order of a column's times", True, BY_COLUMN, [JOIN, TS_0, TS_1]),
            ("a join in another order of a column's times", False, BY_COLUMN, [JOIN, TS_1, TS_0]),
            ("counts over several partitions", True, SEVERAL, [COUNT]),
            ("windows over several partitions", False, SEVERAL, [WINDOWED]),
            ("a list over several partitions", False, SEVERAL, [LISTED]),
        )
    ],
)
def test_which_tests_are_replayed(stream: str, statements: list[str], is_replayed: bool) -> None:
    assert (made(stream, TABLE, *statements, "INSERT INTO t (k) VALUES (2);") is not None) == is_replayed
