"""What properties forbid pull queries (reference §2.5, §9), those that Spark runs among them."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind, run

SCAN = {"ksql.query.pull.table.scan.enabled": False}
JOIN = "SELECT a.k FROM t a LEFT JOIN t b ON a.k = b.k"


@pytest.fixture(scope="module")
def store() -> MetaStore:
    made = MetaStore()
    run(
        """
        CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
        CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
        """,
        made,
    )
    return made


@pytest.mark.parametrize(
    ("sql", "config", "message"),
    [
        (f"{JOIN};", SCAN, "Query requires table scan of T to be enabled."),
        (f"{JOIN} WHERE a.n = 3;", SCAN, "Query requires table scan of T to be enabled."),
        ("SELECT k FROM (SELECT k FROM t WHERE k = 'a' LIMIT 1) UNION ALL SELECT k FROM t;", SCAN, "of T"),
        ("SELECT k FROM (SELECT k FROM t ORDER BY n LIMIT 1) WHERE k = 'a';", SCAN, "of T"),
        ("SELECT v FROM s ORDER BY v;", {"ksql.query.pull.stream.enabled": False}, "Pull queries on streams"),
        ("SELECT n FROM t ORDER BY n;", {"ksql.pull.queries.enable": False}, "Pull queries are disabled."),
        (
            "SELECT n FROM t ORDER BY n LIMIT 1;",
            {"ksql.query.pull.limit.clause.enabled": False},
            "LIMIT clause in pull queries is currently disabled.",
        ),
        (
            "SELECT k FROM (SELECT k FROM t LIMIT 1);",
            {"ksql.query.pull.limit.clause.enabled": False},
            "LIMIT clause in pull queries is currently disabled.",
        ),
    ],
)
def test_refused(store: MetaStore, sql: str, config: dict[str, Any], message: str) -> None:
    bind(sql, store)
    with pytest.raises(KsqlError) as caught:
        bind(sql, store, **config)
    assert message in caught.value.message and caught.value.position is not None


@pytest.mark.parametrize(
    "sql",
    [
        f"{JOIN} WHERE a.k = 'a' ORDER BY a.k;",
        "SELECT k, COUNT(*) FROM t WHERE k IN ('a', 'b') GROUP BY k;",
        "SELECT x.k FROM (SELECT k, MAX(n) AS n FROM t GROUP BY k) x WHERE x.k = 'a';",
        "SELECT k FROM s JOIN (SELECT k AS l FROM t) x ON s.k = x.l WHERE s.k = 'a';",
        "SELECT v FROM s ORDER BY v;",
    ],
)
def test_no_scan_is_needed(store: MetaStore, sql: str) -> None:
    assert bind(sql, store, **SCAN).root
