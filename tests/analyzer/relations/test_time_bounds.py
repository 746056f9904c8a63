"""Which ROWTIMEs a pull query needs of its streams."""

from __future__ import annotations

import pytest

from ksql_spark.analyzer.relations.time_bounds import TimeBounds, bounds_of
from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind, run

DAY = 1_767_225_600_000  # 2026-01-01
ALL = (None, None)


@pytest.fixture(scope="module")
def store() -> MetaStore:
    made = MetaStore()
    run(
        "CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
        "CREATE STREAM r (k STRING KEY, w INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS=1);",
        made,
    )
    return made


@pytest.mark.parametrize(
    ("sql", "bounds"),
    [
        ("SELECT v FROM s;", [ALL]),
        ("SELECT v FROM s WHERE ROWTIME >= 10 AND ROWTIME < 20;", [(10, 19)]),
        ("SELECT v FROM s WHERE ROWTIME > 10 AND 20 >= ROWTIME AND v = 1;", [(11, 20)]),
        ("SELECT v FROM s WHERE ROWTIME >= '2026-01-01';", [(DAY, None)]),
        ("SELECT v FROM s WHERE ROWTIME BETWEEN 5 AND 7 AND ROWTIME >= 6;", [(6, 7)]),
        ("SELECT v FROM s WHERE ROWTIME = 5;", [(5, 5)]),
        ("SELECT v FROM s WHERE ROWTIME + 10 < 20;", [(None, 9)]),
        ("SELECT v FROM s WHERE ROWTIME > 10 OR v = 1;", [ALL]),
        ("SELECT v FROM s WHERE NOT ROWTIME > 10;", [ALL]),
        ("SELECT v FROM s WHERE v > 10;", [ALL]),
        ("SELECT v, COUNT(*) AS n FROM s WHERE ROWTIME > 10 GROUP BY v HAVING COUNT(*) > 3;", [(11, None)]),
        ("SELECT v FROM (SELECT v, ROWTIME AS t FROM s WHERE ROWTIME > 10) WHERE t < 20;", [(11, None)]),
        ("SELECT a.v FROM s a JOIN r b ON a.k = b.k WHERE a.ROWTIME > 1 AND b.ROWTIME > 2;",
         [(2, None), (3, None)]),
        ("SELECT a.v FROM s a LEFT JOIN r b ON a.k = b.k WHERE a.ROWTIME > 1 AND b.ROWTIME > 2;",
         [(2, None), ALL]),
        ("SELECT a.v FROM s a FULL JOIN r b ON a.k = b.k WHERE a.ROWTIME > 1;", [ALL, ALL]),
    ],
)  # fmt: skip
def test_bounds(store: MetaStore, sql: str, bounds: list[tuple[int | None, int | None]]) -> None:
    assert bounds_of(bind(sql, store).root) == bounds


def test_what_one_of_both_has() -> None:
    assert TimeBounds(0, 5).union(TimeBounds(3, None)) == (0, None)
    assert TimeBounds(None, 5).union(TimeBounds(3, 0)) == (None, 5)
