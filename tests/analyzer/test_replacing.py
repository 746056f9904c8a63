"""CREATE OR REPLACE … AS SELECT (reference §2.3)."""

from __future__ import annotations

import pytest

from ksql_spark.analyzer import check_query_replacement
from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind, run

SCENE = """
CREATE STREAM s (id INT KEY, v INT, w STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM s2 (id INT KEY, v INT, w STRING) WITH (KAFKA_TOPIC='s2', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
"""


@pytest.mark.parametrize(
    ("kind", "old", "new", "refusal"),
    [
        ("STREAM", "id, v FROM s", "id, v FROM s WHERE v > 1", None),
        ("STREAM", "id, v FROM s WHERE v > 1", "id, v FROM s", None),
        ("STREAM", "id, v FROM s", "id, v, w FROM s WHERE v > 1", None),
        (
            "TABLE",
            "v, COUNT(*) AS n FROM s GROUP BY v",
            "v, COUNT(*) AS n FROM s WHERE id > 1 GROUP BY v",
            None,
        ),
        ("STREAM", "id, v FROM s", "id, v FROM s2", "FROM cannot change"),
        ("STREAM", "id, v FROM s", "id, v + 1 AS v FROM s", "columns of SELECT cannot be changed"),
        ("STREAM", "id, v FROM s", "id, v FROM s PARTITION BY id + 0", "PARTITION BY"),
        ("STREAM", "DISTINCT ON (v) id, v FROM s", "DISTINCT ON (v) id, v, w FROM s", None),
        (
            "STREAM",
            "DISTINCT ON (v) id, v FROM s WITHIN 1 HOUR",
            "DISTINCT ON (v) id, v FROM s WITHIN 2 HOURS",
            "DISTINCT ON or QUALIFY cannot change",
        ),
        (
            "STREAM",
            "DISTINCT ON (id) id, v FROM s WHERE id IS NOT NULL",
            "DISTINCT ON (id) id, v FROM s",
            "the WHERE cannot change",
        ),
        (
            "STREAM",
            "id, LAG(v) OVER (PARTITION BY v ORDER BY ROWTIME) AS l FROM s",
            "id, LAG(v, 2) OVER (PARTITION BY v ORDER BY ROWTIME) AS l FROM s",
            "OVER cannot change",
        ),
        (
            "TABLE",
            "v, COUNT(*) AS n FROM s GROUP BY v",
            "v, COUNT(*) AS n, SUM(id) AS m FROM s GROUP BY v",
            "the aggregate functions cannot change",
        ),
        (
            "TABLE",
            "v, COUNT(*) AS n FROM s GROUP BY v",
            "v, COUNT(*) AS n, COUNT(*) * 2 AS m FROM s WHERE id > 1 GROUP BY v",
            None,
        ),
        (
            "TABLE",
            "v, COUNT(*) AS n FROM s GROUP BY v HAVING COUNT(*) > 1",
            "v, COUNT(*) AS n FROM s GROUP BY v",
            "HAVING cannot change",
        ),
        (
            "TABLE",
            "v, COUNT(*) AS n FROM s GROUP BY v EMIT CHANGES EVERY 1 SECOND",
            "v, COUNT(*) AS n FROM s GROUP BY v EMIT CHANGES EVERY 10 SECONDS",
            None,
        ),
        (
            "TABLE",
            "v, COUNT(*) AS n FROM s GROUP BY v",
            "v, COUNT(*) AS n FROM s GROUP BY v EMIT CHANGES EVERY 10 SECONDS",
            "whether it has EVERY cannot change",
        ),
        (
            "STREAM",
            "id, v FROM (SELECT * FROM s WHERE v > 1)",
            "id, v FROM (SELECT * FROM s WHERE v > 2)",
            None,
        ),
        (
            "STREAM",
            "id, v FROM (SELECT * FROM s)",
            "id, v FROM (SELECT id, v FROM s)",
            "the sub-query cannot change",
        ),
        (
            "TABLE",
            "v, COUNT(*) AS n FROM s GROUP BY v",
            "v, SUM(id) AS n FROM s GROUP BY v",
            "changed, missing",
        ),
        (
            "STREAM",
            "s.id, s.v FROM s JOIN t ON s.id = t.id",
            "s.id, s.v FROM s JOIN t ON s.id = t.id",
            "joins",
        ),
        (
            "TABLE",
            "v, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY) GROUP BY v",
            "v, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 DAY) GROUP BY v",
            "windowed aggregations",
        ),
        (
            "TABLE",
            "v, COUNT(*) AS n FROM t GROUP BY v",
            "v, COUNT(*) AS n FROM t GROUP BY v",
            "aggregations of tables",
        ),
        ("STREAM", "id, v FROM s UNION ALL SELECT id, v FROM s2", "id, v FROM s", "UNION ALL"),
    ],
)
def test_replacement(kind: str, old: str, new: str, refusal: str | None) -> None:
    store = MetaStore()
    run(SCENE, store)
    before = bind(f"CREATE {kind} o AS SELECT {old};", store)
    store.add(before.sink)

    def replaced() -> None:
        check_query_replacement(before, bind(f"CREATE OR REPLACE {kind} o AS SELECT {new};", store))

    if refusal is None:
        replaced()
        return
    with pytest.raises(KsqlError) as raised:
        replaced()
    assert refusal in raised.value.message
    way = "WITH (EVOLVE = 'backfill')" if kind == "TABLE" else "WITH (EVOLVE = 'backfill', HISTORY = 'keep')"
    if raised.value.message.startswith("Cannot upgrade"):
        assert f"{way} changes more: EXPLAIN EVOLUTION tells how." in str(raised.value.hint)


@pytest.mark.parametrize("new", ["id, w FROM s", "id, v AS w FROM s", "id, CAST(v AS BIGINT) AS v FROM s"])
def test_columns_of_the_sink_must_stay(new: str) -> None:
    store = MetaStore()
    run(SCENE, store)
    run("CREATE STREAM o AS SELECT id, v FROM s;", store)
    with pytest.raises(KsqlError, match="Cannot upgrade data source") as raised:
        bind(f"CREATE OR REPLACE STREAM o AS SELECT {new};", store)
    assert "WITH (EVOLVE = 'backfill', HISTORY = 'keep') changes more" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("kind", "query", "refusal"),
    [
        ("STREAM", "id, LAG(v) OVER (PARTITION BY v ORDER BY ROWTIME) AS l{} FROM s", None),
        ("STREAM", "id, LEAD(v) OVER (PARTITION BY v ORDER BY ROWTIME) AS l{} FROM s", "that LEAD keeps"),
        (
            "TABLE",
            "id, v{} FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY v) = 1",
            "that QUALIFY keeps",
        ),
    ],
)
def test_rows_in_the_state_have_no_new_columns(kind: str, query: str, refusal: str | None) -> None:
    store = MetaStore()
    run(SCENE, store)
    before = bind(f"CREATE {kind} o AS SELECT {query.format('')};", store)
    store.add(before.sink)
    run("ALTER STREAM s ADD COLUMN x INT;", store)
    after = bind(f"CREATE OR REPLACE {kind} o AS SELECT {query.format(', x')};", store)
    if refusal is None:
        check_query_replacement(before, after)
        return
    with pytest.raises(KsqlError, match=refusal):
        check_query_replacement(before, after)
