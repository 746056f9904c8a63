"""Text literals that take the type of what they are compared with (reference §3.3)."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind, run

UNTYPED = {"ksql.sql.literals": "untyped"}


@pytest.fixture(scope="module")
def store() -> MetaStore:
    made = MetaStore()
    run(
        """
        CREATE STREAM s (i INT KEY, l BIGINT, d DOUBLE, p DECIMAL(10, 2), b BOOLEAN, r BYTES, day DATE,
            tod TIME, ts TIMESTAMP, t STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
        CREATE TABLE latest AS SELECT i, LATEST_BY_OFFSET(p) AS p FROM s GROUP BY i;
        CREATE TABLE plain (i INT PRIMARY KEY, p DECIMAL(10, 2), ts TIMESTAMP)
            WITH (KAFKA_TOPIC='plain', VALUE_FORMAT='JSON', PARTITIONS=1);
        """,
        made,
    )
    return made


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("i = '1'", "i = 1"),
        ("' -1' < l", "-1 < l"),
        ("l = '3000000000'", "l = 3000000000"),
        ("d > '1e3'", "d > 1E3"),
        ("p > '1.00'", "p > 1.00"),
        ("p = '2'", "p = 2"),
        ("b = 't'", "b = TRUE"),
        ("b = 'off'", "b = FALSE"),
        ("day = '2024-02-29 23:00'", "day = '2024-02-29'"),
        ("tod = '12:34:56+02'", "tod = '12:34:56'"),
        ("ts > '2024-02-29 12:00+02'", "ts > '2024-02-29T10:00:00.000'"),
        ("rowtime > '1970-01-01 00:00:01'", "rowtime > '1970-01-01T00:00:01'"),
        ("rowtime > '1704067200000'", "rowtime > 1704067200000"),
        ("i BETWEEN '1' AND '2'", "i BETWEEN 1 AND 2"),
        ("i IN ('1', '2')", "i IN (1, 2)"),
        ("i + 1 = '2'", "i + 1 = 2"),
        ("i IS DISTINCT FROM '2'", "i IS DISTINCT FROM 2"),
        ("t = '1'", "t = '1'"),
    ],
)
def test_a_text_takes_the_type_of_the_other_side(store: MetaStore, written: str, typed: str) -> None:
    untyped = bind(f"SELECT * FROM s WHERE {written} EMIT CHANGES;", store, **UNTYPED)
    assert repr(untyped) == repr(bind(f"SELECT * FROM s WHERE {typed} EMIT CHANGES;", store))


def test_bytes_are_hexadecimal_or_base_64(store: MetaStore) -> None:
    both = [bind(f"SELECT * FROM s WHERE r = '{text}' EMIT CHANGES;", store, **UNTYPED) for text in
            ("\\x6869", "aGk=")]  # fmt: skip
    assert repr(both[0]) == repr(both[1])
    assert "aGk=" in repr(both[0])


@pytest.mark.parametrize("written", ["i = 'one'", "i = '1.5'", "b = 'maybe'", "p = ''", "d = 'x'"])
def test_a_text_that_is_no_value_of_the_type(store: MetaStore, written: str) -> None:
    with pytest.raises(KsqlError, match="invalid input syntax for type"):
        bind(f"SELECT * FROM s WHERE {written} EMIT CHANGES;", store, **UNTYPED)


def test_a_key_in_quotes_is_looked_up(store: MetaStore) -> None:
    assert repr(bind("SELECT * FROM latest WHERE i = '1';", store, **UNTYPED)) == repr(
        bind("SELECT * FROM latest WHERE i = 1;", store)
    )


@pytest.mark.parametrize("config", [{}, {"ksql.sql.literals": "ksqldb"}])
def test_by_default_a_text_stays_one(store: MetaStore, config: dict[str, Any]) -> None:
    with pytest.raises(KsqlError, match="Cannot compare I"):
        bind("SELECT * FROM s WHERE i = '1' EMIT CHANGES;", store, **config)


def test_rows_of_texts(store: MetaStore) -> None:
    texts = bind(
        "INSERT INTO s VALUES ('1', '2', '1.5', '2.50', 'yes', '\\x6869', '2024-02-29', '01:02:03', "
        "'2024-02-29 01:02:03', 'x');",
        store,
        **UNTYPED,
    )
    values = bind(
        "INSERT INTO s VALUES (1, 2, 1.5E0, 2.50, TRUE, 'aGk=', '2024-02-29', '01:02:03', "
        "'2024-02-29T01:02:03.000', 'x');",
        store,
    )
    assert [row.values for row in texts.rows] == [row.values for row in values.rows]
    changed = bind("UPDATE plain SET p = '1.5', ts = '2024-01-01 00:00' WHERE i = '1';", store, **UNTYPED)
    assert "1.5" in repr(changed)


def test_a_null_without_a_type_is_a_text(store: MetaStore) -> None:
    query = bind("SELECT NULL AS nothing, i FROM latest;", store, **UNTYPED)
    assert "STRING" in repr(query)
