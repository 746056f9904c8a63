"""VARIANT: what can be done with it, and where it is refused (ADR 67)."""

from __future__ import annotations

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind, run

SOURCES = """
CREATE STREAM e (id INT KEY, v VARIANT, a ARRAY<VARIANT>, st STRUCT<v VARIANT>, n INT, s STRING)
  WITH (KAFKA_TOPIC='e', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM f (id INT KEY, v VARIANT, s STRING)
  WITH (KAFKA_TOPIC='f', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE t (id INT PRIMARY KEY, v VARIANT, s STRING)
  WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE t2 (id INT PRIMARY KEY, v VARIANT, s STRING)
  WITH (KAFKA_TOPIC='t2', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE q AS SELECT * FROM t;
"""
COMPARED = "VARIANTs are not compared"


@pytest.fixture(scope="module")
def store() -> MetaStore:
    made = MetaStore()
    run(SOURCES, made)
    return made


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE STREAM o AS SELECT id, v, v:user.name AS name, v:n::INT AS n FROM e WHERE v:n::INT > 3;",
        "CREATE TABLE o AS SELECT v:k::STRING AS k, SUM(v:n::INT) AS n, LATEST_BY_OFFSET(v) AS last FROM e "
        "GROUP BY v:k::STRING;",
        "CREATE TABLE o AS SELECT id, COLLECT_LIST(v) AS vs, COUNT(v) AS n FROM e GROUP BY id;",
        "CREATE STREAM o AS SELECT id, PARSE_JSON(s) AS v, n::VARIANT AS nv FROM e;",
        "CREATE STREAM o AS SELECT e.id AS id, e.v AS v, t.v AS w FROM e JOIN t ON e.id = t.id;",
        "CREATE STREAM o AS SELECT id, v FROM e PARTITION BY id UNION ALL SELECT id, v FROM f;",
        "CREATE STREAM o AS SELECT id, v:items::ARRAY<VARIANT>[1]:price::DECIMAL(10, 2) AS p FROM e;",
        "CREATE STREAM o AS SELECT id, CASE WHEN v IS NULL THEN PARSE_JSON('{}') ELSE v END AS v FROM e;",
        "CREATE STREAM o AS SELECT id, EXPLODE(a) AS v FROM e;",
        "CREATE STREAM o AS SELECT id, EXPLODE(v:items::ARRAY<VARIANT>):name AS name FROM e;",
        "CREATE STREAM o AS SELECT id, COALESCE(v, st->v) AS v FROM e;",
        "CREATE STREAM o (id INT KEY, v VARIANT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON_SR');",
        "INSERT INTO e (id, v) VALUES (1, PARSE_JSON('{\"a\": 1.10}'));",
        "INSERT INTO e (id, v) VALUES (1, NULL);",
        "SELECT * FROM e EMIT CHANGES;",
        "SELECT id, v:a FROM q WHERE id = 1;",
        "CREATE STREAM o AS SELECT id, v:tags::ARRAY<STRING> AS tags FROM e;",
    ],
)
def test_taken(statement: str, store: MetaStore) -> None:
    assert bind(statement, store) is not None


@pytest.mark.parametrize(
    ("statement", "says", "at"),
    [
        ("CREATE STREAM o (v VARIANT KEY) WITH (KAFKA_TOPIC='o', FORMAT='JSON');", "cannot be a key", ""),
        (
            "CREATE TABLE o (v VARIANT PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='o', FORMAT='JSON');",
            "cannot be a key", "",
        ),
        (
            "CREATE STREAM o (v MAP<VARIANT, INT>) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');",
            "with STRING keys", "",
        ),
        ("CREATE TABLE o AS SELECT v, COUNT(*) FROM e GROUP BY v;", "GROUP BY cannot compare VARIANTs", "v;"),
        ("CREATE TABLE o AS SELECT v:a, COUNT(*) FROM e GROUP BY v:a;", "GROUP BY cannot compare", "v:a;"),
        (
            "CREATE TABLE o AS SELECT n, v, COUNT(*) FROM e GROUP BY GROUPING SETS ((n), (v));",
            "GROUP BY cannot compare", "",
        ),
        ("SELECT v, COUNT(*) FROM e GROUP BY v EMIT CHANGES;", "GROUP BY cannot compare VARIANTs", "v EMIT"),
        ("SELECT v, COUNT(*) FROM q GROUP BY v;", "GROUP BY cannot compare VARIANTs", "v;"),
        ("SELECT DISTINCT v FROM q;", "SELECT DISTINCT cannot compare VARIANTs", "v FROM"),
        ("SELECT id FROM q ORDER BY v;", "VARIANTs have no sort order", "v;"),
        ("CREATE STREAM o AS SELECT * FROM e PARTITION BY v:a;", "PARTITION BY cannot compare", "v:a;"),
        ("CREATE STREAM o AS SELECT * FROM e PARTITION BY st;", "PARTITION BY cannot compare", "st;"),
        ("CREATE STREAM o AS SELECT e.id FROM e JOIN t ON e.v:id = t.id;", "VARIANT", ""),
        (
            "CREATE STREAM o AS SELECT e.id FROM e JOIN f WITHIN 1 HOUR ON e.v:id = f.v:id;",
            "JOIN cannot compare VARIANTs", "e.v",
        ),
        (
            "CREATE STREAM o AS SELECT e.id FROM e JOIN t ON e.id = t.id AND e.v:a = t.v:a;",
            COMPARED, "",
        ),
        ("CREATE STREAM o AS SELECT * FROM e WHERE v = 'x';", "VARIANT", "v = "),
        ("CREATE STREAM o AS SELECT * FROM e WHERE v:a = 5;", "VARIANT", "v:a"),
        ("CREATE STREAM o AS SELECT * FROM e WHERE v = v;", COMPARED, "v = "),
        ("CREATE STREAM o AS SELECT * FROM e WHERE v:a IN ('x', 'y');", "VARIANT", ""),
        ("CREATE STREAM o AS SELECT * FROM e WHERE v:a BETWEEN 1 AND 2;", "VARIANT", ""),
        ("CREATE STREAM o AS SELECT * FROM e WHERE v:a IS DISTINCT FROM v:b;", COMPARED, ""),
        ("CREATE STREAM o AS SELECT * FROM e WHERE v:a LIKE 'x%';", "VARIANT", ""),
        ("CREATE STREAM o AS SELECT CASE v:a WHEN 1 THEN 2 END FROM e;", "VARIANT", ""),
        ("CREATE STREAM o AS SELECT v:a + 1 FROM e;", "VARIANT", ""),
        ("CREATE TABLE o AS SELECT id, COLLECT_SET(v) FROM e GROUP BY id;", COMPARED, "COLLECT_SET"),
        ("CREATE TABLE o AS SELECT id, COUNT(DISTINCT v) FROM e GROUP BY id;", "DISTINCT cannot c", "COUNT"),
        ("CREATE TABLE o AS SELECT id, COUNT_DISTINCT(v) FROM e GROUP BY id;", COMPARED, "COUNT_DISTINCT"),
        ("CREATE TABLE o AS SELECT id, HISTOGRAM(v) FROM e GROUP BY id;", "VARIANT", "HISTOGRAM"),
        ("CREATE TABLE o AS SELECT id, MAX(v) FROM e GROUP BY id;", "VARIANT", "MAX"),
        ("CREATE TABLE o AS SELECT id, LATEST_BY(n, v) FROM e GROUP BY id;", "", "LATEST_BY"),
        ("CREATE TABLE o AS SELECT id, v FROM t UNION SELECT id, v FROM t2;", "cannot compare VARIANTs", ""),
        ("SELECT id, v FROM q EXCEPT SELECT id, v FROM q;", "cannot compare VARIANTs", ""),
        ("CREATE STREAM o AS SELECT id, MAP(v := 1) FROM e;", "VARIANT", ""),
        ("CREATE STREAM o AS SELECT ARRAY_DISTINCT(a) AS x FROM e;", COMPARED, "ARRAY_DISTINCT"),
        ("CREATE STREAM o AS SELECT UCASE(v:a) AS x FROM e;", "VARIANT", "UCASE"),
        ("CREATE STREAM o WITH (VALUE_FORMAT='AVRO') AS SELECT * FROM e;", "'AVRO' format does not sup", ""),
        ("CREATE STREAM o WITH (VALUE_FORMAT='PROTOBUF') AS SELECT * FROM e;", "type 'VARIANT'", ""),
        ("CREATE STREAM o (v VARIANT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='KAFKA');", "'VARIANT'", ""),
        ("CREATE STREAM o (v VARIANT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='DELIMITED');", "JSON_SR", ""),
        ("INSERT INTO e (id, v) VALUES (1, 'x');", "VARIANT", "'x'"),
        ("CREATE STREAM o AS SELECT * FROM e WHERE v;", "boolean", ""),
        ("CREATE STREAM o (v JSONB) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');", "VARIANT", "JSONB"),
    ],
)  # fmt: skip
def test_refused(statement: str, says: str, at: str, store: MetaStore) -> None:
    with pytest.raises(KsqlError) as caught:
        bind(statement, store)
    error = caught.value
    assert says in str(error)
    assert error.position is not None
    if at:
        assert statement[error.position.column - 1 :].startswith(at)


def test_the_hint_tells_what_to_do(store: MetaStore) -> None:
    with pytest.raises(KsqlError, match=r"payload:user\.id::STRING"):
        bind("CREATE TABLE o AS SELECT v, COUNT(*) FROM e GROUP BY v;", store)
    with pytest.raises(KsqlError, match="needs JSON or JSON_SR"):
        bind("CREATE STREAM o WITH (VALUE_FORMAT='AVRO') AS SELECT * FROM e;", store)
