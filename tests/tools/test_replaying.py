"""Which cases are replayed, and as what."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.case_file import Case, Check, Sql, read
from tests.cases.replaying import Replayed, with_replay

STREAM = "CREATE STREAM s (k INT KEY, v INT, ts BIGINT) WITH (KAFKA_TOPIC = '${case}_s', PARTITIONS = 1"
TABLE = "CREATE TABLE t (k INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC = '${case}_t', PARTITIONS = 1);"
JOIN = "CREATE STREAM j AS SELECT s.k AS k, t.v AS v FROM s JOIN t ON s.k = t.k;"
COUNT = "CREATE TABLE c WITH (KAFKA_TOPIC = '${case}_c') AS SELECT v, COUNT(*) AS n FROM s GROUP BY v;"
AT_1 = "INSERT INTO s (ROWTIME, k) VALUES (1, 1);"
AT_2 = "INSERT INTO t (ROWTIME, k) VALUES (2, 1);"


def case(*statements: str) -> Case:
    return Case(Path("x.sql"), "x", 1, steps=[Sql(s, i + 1) for i, s in enumerate(statements)])


def test_all_queries_run_again_before_the_first_is_compared() -> None:
    made = with_replay(case(STREAM + ");", COUNT, "CREATE STREAM p AS SELECT * FROM s;", AT_1))
    assert made is not None
    again = made.steps[4:]
    assert [s.text for s in again if isinstance(s, Sql)] == [
        COUNT.replace("c WITH (KAFKA_TOPIC = '${case}_c')", "C_AGAIN WITH (KAFKA_TOPIC = '${case}_c_AGAIN')")
        .replace("v", "V")
        .replace(" n ", " N ")
        .replace("FROM s", "FROM S"),
        "CREATE STREAM P_AGAIN AS SELECT * FROM S;",
    ]
    assert again[2:] == [Replayed("C", "C_AGAIN", True, 2), Replayed("P", "P_AGAIN", False, 3)]


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
def test_which_cases_are_replayed(stream: str, statements: list[str], is_replayed: bool) -> None:
    assert (with_replay(case(stream, TABLE, *statements)) is not None) == is_replayed


def test_sinks_of_repeated_statements_are_folded() -> None:
    path = Path(__file__).parent / "joins" / "stream_table.sql"
    made = [with_replay(c) for c in read(path)]
    for found in (m for m in made if m is not None):
        is_repeated = any(isinstance(s, Check) and s.repeats for s in found.steps)
        assert all(s.is_folded == is_repeated for s in found.steps if isinstance(s, Replayed))
    assert any(found is not None for found in made)
