"""What properties forbid pull queries (reference §2.5, §9), those that Spark runs among them."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import Lookup
from tests.analyzer.binding import bind, run

SCAN = {"ksql.query.pull.table.scan.enabled": False}
RANGE = {**SCAN, "ksql.query.pull.range.scan.enabled": False}
NEEDED = "Query requires table scan to be enabled."
COMBINED = "A comparison condition on the key column cannot be combined with other comparisons"
JOIN = "SELECT a.k FROM t a LEFT JOIN t b ON a.k = b.k"


@pytest.fixture(scope="module")
def store() -> MetaStore:
    made = MetaStore()
    run(
        """
        CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
        CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;
        CREATE TABLE numbered AS SELECT v, COUNT(*) AS n FROM s GROUP BY v;
        CREATE TABLE windowed AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY k;
        CREATE TABLE pairs WITH (KEY_FORMAT='JSON') AS SELECT k, v, COUNT(*) AS n FROM s GROUP BY k, v;
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
        ("SELECT n FROM t;", SCAN, NEEDED),
        ("SELECT n FROM t WHERE k = 'a' OR n = 1;", SCAN, "missing key column for disjunct: (N = "),
        ("SELECT n FROM t WHERE (k = 'a' OR n = 1) AND n > 2;", SCAN, "missing key column for disjunct: ((N"),
        ("SELECT n FROM t WHERE k = 'a' OR k LIKE 'b%';", SCAN, "must be between a key column and"),
        ("SELECT n FROM t WHERE k > 'a' OR UCASE(k) = 'B';", SCAN, "must directly reference a key column."),
        ("SELECT n FROM t WHERE k > 'a';", RANGE, NEEDED),
        ("SELECT n FROM t WHERE k = 'a' OR k BETWEEN 'b' AND 'c';", RANGE, NEEDED),
        ("SELECT n FROM t WHERE k < 'b' OR k > 'c';", SCAN, NEEDED),
        ("SELECT n FROM t WHERE k BETWEEN 'a' AND 'b' OR k = 'd';", SCAN, NEEDED),
        ("SELECT n FROM windowed WHERE k > 'a';", SCAN, NEEDED),
        ("SELECT n FROM windowed WHERE k > 'a' AND WINDOWSTART > 1000;", SCAN, NEEDED),
        ("SELECT n FROM t WHERE k > 'a' AND k < 'c';", SCAN, COMBINED),
        ("SELECT n FROM t WHERE k = 'a' AND k IN ('a', 'b');", SCAN, COMBINED),
        ("SELECT n FROM numbered WHERE v > 1;", SCAN, NEEDED),
        ("SELECT n FROM numbered WHERE v = 0 OR v BETWEEN 1 AND 2;", SCAN, NEEDED),
        ("SELECT n FROM pairs WHERE k = 'a' OR v = 1;", SCAN, "must specify every key in the WHERE clause."),
        ("SELECT n FROM pairs WHERE k = 'a' AND v > 1;", SCAN, NEEDED),
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


def test_very_many_alternatives_need_a_scan(store: MetaStore) -> None:
    where = " AND ".join(["(k = 'a' OR n = 1)"] * 40)
    with pytest.raises(KsqlError, match=r"table\.scan\.enabled"):
        bind(f"SELECT * FROM t WHERE {where};", store, **SCAN)


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


@pytest.mark.parametrize(
    ("sql", "looked_up"),
    [
        ("SELECT n FROM t WHERE k = 'a' OR k IN ('b', 'c');", 3),
        ("SELECT n FROM t WHERE k = 'a' AND n = 1 OR k = 'b';", 2),
        ("SELECT n FROM t WHERE (k = 'a' OR k = 'b') AND n > 1;", 2),
        ("SELECT n FROM pairs WHERE k = 'a' AND v IN (1, 2);", 2),
        ("SELECT n FROM t WHERE k > 'a' AND n > 1;", None),
        ("SELECT n FROM t WHERE k BETWEEN 'a' AND 'b';", None),
        ("SELECT n FROM windowed WHERE k = 'a' AND WINDOWSTART > 1000;", 1),
        ("SELECT n FROM numbered WHERE v = CAST('1' AS INT);", 1),
        ("SELECT v FROM s WHERE v > 1;", None),
    ],
)
def test_lookups_and_ranges_are_allowed(store: MetaStore, sql: str, looked_up: int | None) -> None:
    read = bind(sql, store, **SCAN)
    lookups = read.lookups if isinstance(read, Lookup) else None
    assert (None if lookups is None else len(lookups)) == looked_up


def test_with_sqls_nulls_no_key_equals_null(store: MetaStore) -> None:
    ansi = {"ksql.sql.nulls": "ansi"}
    for where, count in (("k = NULL", 0), ("k IN ('a', NULL)", 1), ("k = CAST(NULL AS STRING)", 0)):
        read = bind(f"SELECT n FROM t WHERE {where};", store, **ansi)
        assert len(read.lookups) == count, where


@pytest.mark.parametrize(
    "where",
    ["k IN ('a', NULL)", "n = 1 OR k IN (NULL)", "k = CAST(NULL AS STRING)", "CAST(NULL AS STRING) = k"],
)
def test_no_key_is_null(store: MetaStore, where: str) -> None:
    with pytest.raises(KsqlError, match="Primary key columns can not be NULL"):
        bind(f"SELECT n FROM t WHERE {where};", store)
