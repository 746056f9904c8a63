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


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param([JOIN, AT_1, AT_2], id="a join of rows in the order of their times"),
        pytest.param([JOIN, AT_1, "INSERT INTO t (k) VALUES (1);"], id="the clock's time is the latest"),
        pytest.param(
            [COUNT, "INSERT INTO s (ROWTIME, k) VALUES (9, 1);", AT_1], id="one topic has one order"
        ),
    ],
)
def test_replayed(statements: list[str]) -> None:
    assert with_replay(case(STREAM + ");", TABLE, *statements)) is not None


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param([AT_1], id="no query"),
        pytest.param([JOIN, AT_2, AT_1], id="a join of rows in another order"),
        pytest.param([COUNT, "TERMINATE ALL;"], id="it ended before"),
        pytest.param([COUNT, "DROP TABLE c;"], id="it is gone"),
        pytest.param(
            [
                COUNT,
                "SET 'ksql.insert.into.query.results.enabled' = 'true';",
                "INSERT INTO c (v, n) VALUES (1, 1);",
            ],
            id="not all is the query's",
        ),
        pytest.param([COUNT, "SET 'ksql.execution.mode' = 'microbatch';"], id="with other properties"),
        pytest.param(["SET 'auto.offset.reset' = 'latest';", COUNT], id="not from the beginning"),
        pytest.param(["CREATE STREAM n AS SELECT k, UNIX_TIMESTAMP() AS at FROM s;"], id="the clock"),
    ],
)
def test_not_replayed(statements: list[str]) -> None:
    assert with_replay(case(STREAM + ");", TABLE, *statements)) is None


def test_times_of_a_column_and_several_partitions_count() -> None:
    by_column = STREAM + ", TIMESTAMP = 'ts');"
    rows = ["INSERT INTO s (k, ts) VALUES (1, 1);", "INSERT INTO s (k, ts) VALUES (1, 0);"]
    assert with_replay(case(by_column, TABLE, JOIN, *rows)) is None
    assert with_replay(case(by_column, TABLE, JOIN, *reversed(rows))) is not None
    several = STREAM.replace("PARTITIONS = 1", "PARTITIONS = 2") + ");"
    assert with_replay(case(several, COUNT)) is not None
    for query in (
        COUNT.replace("GROUP BY", "WINDOW TUMBLING (SIZE 1 SECOND) GROUP BY"),
        COUNT.replace("COUNT(*)", "COLLECT_LIST(k)"),
    ):
        assert with_replay(case(STREAM + ");", query)) is not None
        assert with_replay(case(several, query)) is None


def test_sinks_of_repeated_statements_are_folded() -> None:
    path = Path(__file__).parent / "joins" / "stream_table.sql"
    made = [with_replay(c) for c in read(path)]
    for found in (m for m in made if m is not None):
        is_repeated = any(isinstance(s, Check) and s.repeats for s in found.steps)
        assert all(s.is_folded == is_repeated for s in found.steps if isinstance(s, Replayed))
    assert any(found is not None for found in made)
