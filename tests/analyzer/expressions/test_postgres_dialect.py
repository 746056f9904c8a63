"""Types and refusals with ``ksql.sql.dialect`` = postgres (values: tests/spark/test_postgres_meaning.py)."""

from __future__ import annotations

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import Sort
from ksql_spark.plan.queries import Job
from tests.analyzer.binding import bind, run

POSTGRES = {"ksql.sql.dialect": "postgres"}


@pytest.fixture(scope="module")
def store() -> MetaStore:
    made = MetaStore()
    run(
        "CREATE SOURCE TABLE t (k INT PRIMARY KEY, n BIGINT, d DOUBLE, m DECIMAL(9, 2), s STRING, dt DATE)"
        " WITH (KAFKA_TOPIC = 't', VALUE_FORMAT = 'JSON');"
        "CREATE STREAM r (n BIGINT, d DOUBLE) WITH (KAFKA_TOPIC = 'r', VALUE_FORMAT = 'JSON');",
        made,
    )
    return made


@pytest.mark.parametrize(
    ("expression", "type_", "ksql"),
    [
        ("1 / 3.0", "DECIMAL(38, 20)", "DECIMAL(17, 6)"),
        ("7 / 2", "INTEGER", "INTEGER"),
        ("m * m", "DECIMAL(18, 4)", "DECIMAL(19, 4)"),
        ("m + 1", "DECIMAL(13, 2)", "DECIMAL(13, 2)"),
        ("ROUND(d)", "DOUBLE", "BIGINT"),
        ("CEIL(k)", "DOUBLE", "INTEGER"),
        ("EXTRACT(EPOCH FROM NOW()) / 60", "DECIMAL(38, 20)", "BIGINT"),
        ("DATE_PART('isodow', dt)", "DOUBLE", "BIGINT"),
        ("d / k", "DOUBLE", "DOUBLE"),
        ("s || 'x'", "STRING", "STRING"),
        ("dt + INTERVAL '1 day'", "TIMESTAMP", "DATE"),
        ("1 / 3.0 + 0", "DECIMAL(38, 20)", "DECIMAL(18, 6)"),
    ],
)
def test_types_of_expressions(store: MetaStore, expression: str, type_: str, ksql: str) -> None:
    for config, expected in ((POSTGRES, type_), ({}, ksql)):
        (item,) = bind(f"SELECT {expression} FROM t;", store, **config).items
        assert str(item.expression.type) == expected


@pytest.mark.parametrize(
    ("expression", "type_", "ksql"),
    [
        ("SUM(k)", "BIGINT", "INTEGER"),
        ("SUM(n)", "DECIMAL(38, 0)", "BIGINT"),
        ("SUM(m)", "DECIMAL(38, 2)", "DECIMAL(9, 2)"),
        ("AVG(n)", "DECIMAL(38, 20)", "DOUBLE"),
        ("AVG(d)", "DOUBLE", "DOUBLE"),
        ("SUM(n) / COUNT(*)", "DECIMAL(38, 20)", "BIGINT"),
        ("SUM(n) FILTER (WHERE d > 1)", "DECIMAL(38, 0)", "BIGINT"),
        ("SUM(n) OVER (ORDER BY k)", "DECIMAL(38, 0)", "BIGINT"),
        ("ARRAY_AGG(DISTINCT s)", "ARRAY<STRING>", "ARRAY<STRING>"),
    ],
)
def test_types_of_aggregates(store: MetaStore, expression: str, type_: str, ksql: str) -> None:
    for config, expected in ((POSTGRES, type_), ({}, ksql)):
        job = bind(f"SELECT {expression} AS x FROM t;", store, **config)
        assert [str(column.type) for column in job.root.schema.columns] == [expected]


@pytest.mark.parametrize(
    ("expression", "state", "message"),
    [
        ("EXTRACT(EON FROM NOW())", "22023", 'unit "eon" not recognized for type timestamp without'),
        ("EXTRACT(HOUR FROM dt)", "0A000", 'unit "hour" not supported for type date'),
        ("DATE_TRUNC('eon', NOW())", "22023", 'unit "eon" not recognized'),
        ("DATE_TRUNC(s, NOW())", "0A000", "has to be a literal"),
        ("CAST('2024-02-30' AS DATE)", "22008", 'for type date: "2024-02-30"'),
        ("CAST('soon' AS TIMESTAMP)", "22007", "invalid input syntax"),
        ("REGEXP_REPLACE(s, 'a', 'b')", "0A000", "SET ksql.sql.dialect = 'ksqldb' gives KSQL's"),
        ("LOG(2, d)", "0A000", r"LN\(x\) / LN\(base\)"),
        ("TO_CHAR(dt, 'YYYY-MMxDD')", "0A000", 'element that is not known: "xDD", at character 8'),
        ("TO_TIMESTAMP(s, 'YYYY WW')", "0A000", 'element "WW" of a pattern is only written'),
        ("TO_DATE(s, s)", "0A000", "The pattern has to be a literal"),
        ("TO_CHAR(n, '999')", "0A000", "TO_CHAR takes a timestamp or a date here, not BIGINT"),
        ("NOW() AT TIME ZONE 'UTC+2'", "0A000", "write its name, such as America/New_York"),
        ("NOW() AT TIME ZONE 'Europe/Berlim'", "22023", 'time zone "Europe/Berlim" not recognized'),
        ("EXTRACT(DOW FROM AGE(dt))", "0A000", 'unit "dow" not supported for type interval'),
        ("EXTRACT(HOUR FROM INTERVAL '36 hours')", "0A000", "Only the difference of two times"),
        ("MAKE_INTERVAL(months => 1, days => 1)", "0A000", "MAKE_INTERVAL takes years and months here, or"),
        ("s SIMILAR TO '(a'", "2201B", "invalid regular expression"),
        ("s SIMILAR TO s", "0A000", "pattern of SIMILAR TO has to be a literal"),
        ("SUBSTRING(s FROM s)", "0A000", "regular expression of SUBSTRING has to be a literal"),
    ],
)
def test_what_is_refused(store: MetaStore, expression: str, state: str, message: str) -> None:
    with pytest.raises(KsqlError, match=message) as caught:
        bind(f"SELECT {expression} FROM t;", store, **POSTGRES)
    assert (caught.value.condition, caught.value.parameters["state"]) == ("VALUE_REFUSED", state)
    assert caught.value.position is not None


@pytest.mark.parametrize(
    ("order", "is_first"),
    [("", False), (" DESC", True), (" NULLS FIRST", True), (" DESC NULLS LAST", False)],
)
def test_nulls_are_the_largest(store: MetaStore, order: str, is_first: bool) -> None:
    for query in (
        f"SELECT n FROM t ORDER BY n{order};",
        f"VALUES (1) UNION ALL VALUES (2) ORDER BY 1{order};",
    ):
        job = bind(query, store, **POSTGRES)
        assert isinstance(job, Job) and isinstance(job.root, Sort)
        assert job.root.by[0].nulls_first is is_first


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("dt - dt", "INTEGER"),
        ("dt - 7", "DATE"),
        ("MOD(n, 2)", "BIGINT"),
        ("TO_CHAR(dt, 'YYYY')", "STRING"),
        ("AGE(dt, dt)", "STRUCT<`PG_MONTHS` INTEGER, `PG_DAYS` INTEGER, `PG_MILLISECONDS` BIGINT>"),
        ("EXTRACT(EPOCH FROM NOW() - LOCALTIMESTAMP)", "DECIMAL(25, 6)"),
        ("DATE_TRUNC('day', dt)", "TIMESTAMP"),
        ("CAST('tomorrow' AS DATE) - CAST(' Yesterday' AS DATE)", "INTEGER"),
        ("n AS rowtime", "BIGINT"),
    ],
)
def test_types_of_what_ksql_has_not(store: MetaStore, expression: str, type_: str) -> None:
    (item,) = bind(f"SELECT {expression} FROM t;", store, **POSTGRES).items
    assert str(item.expression.type) == type_
    with pytest.raises(KsqlError):
        bind(f"SELECT {expression} FROM t;", store)


@pytest.mark.parametrize(
    ("written", "constant"),
    [
        ("TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')", "2026-01-01T00:00:00.000"),
        ("TO_TIMESTAMP('1 Feb 26 1:30 PM', 'DD Mon YY HH12:MI AM')", "2026-02-01T13:30:00.000"),
        ("TIMESTAMP '2026-01-01' AT TIME ZONE 'UTC'", "2026-01-01T00:00:00.000"),
        ("CAST('Epoch ' AS TIMESTAMP)", "1970-01-01T00:00:00.000"),
    ],
)
@pytest.mark.parametrize("column", ["ts", "ROWTIME"])
def test_a_range_of_times_is_one_of_constants(column: str, written: str, constant: str) -> None:
    store = MetaStore()
    run(
        "CREATE SOURCE TABLE t (ts TIMESTAMP PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t', FORMAT='JSON');"
        "CREATE STREAM s (ts TIMESTAMP, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');",
        store,
    )
    for source, operator in (("t", "="), ("s", ">="), ("s", "<")):
        query = f"SELECT n FROM {source} WHERE {column} {operator} "
        plain = bind(f"{query} CAST('{constant}' AS TIMESTAMP);", store, **POSTGRES)
        assert bind(f"{query} {written};", store, **POSTGRES) == plain


def test_a_key_is_still_looked_up(store: MetaStore) -> None:
    for value in ("5", "CAST(5 AS INT)", "-5"):
        assert bind(f"SELECT * FROM t WHERE k = {value};", store, **POSTGRES).lookups is not None


def test_queries_that_keep_running_have_ksqls_meaning(store: MetaStore) -> None:
    push = bind("SELECT n / 2.0 AS x FROM r EMIT CHANGES;", store, **POSTGRES)
    assert str(push.root.schema.columns[-1].type) == str(
        bind("SELECT n / 2.0 AS x FROM r EMIT CHANGES;", store).root.schema.columns[-1].type
    )
    made = bind("CREATE STREAM x AS SELECT ROUND(d) AS x FROM r;", store, **POSTGRES)
    assert str(made.sink.schema.columns[-1].type) == "BIGINT"


def test_numbers_are_assigned_to_columns(store: MetaStore) -> None:
    text = "INSERT INTO r (n, d) VALUES (EXTRACT(DAY FROM NOW()) / 2, SQRT(4));"
    (row,) = bind(text, store, **POSTGRES).rows
    assert [str(value.type) for _, value in row.values] == ["BIGINT", "DOUBLE"]


def test_forms_that_stand_for_unknown_functions_are_refused_in_their_place(store: MetaStore) -> None:
    for expression, place, hint in (
        ("dt AT TIME ZONE 'UTC'", (11, 12), "Write CONVERT_TZ"),
        ("s SIMILAR TO 'a'", (10, 10), "Write REGEXP_EXTRACT"),
        ("(k, n)", (8, 6), "only for comparisons"),
    ):
        with pytest.raises(KsqlError, match=hint) as caught:
            bind(f"SELECT {expression} FROM t;", store)
        position = caught.value.position
        assert position is not None and (position.column, position.length) == place


@pytest.mark.parametrize("bound", ["'2026-01-01'", "TO_TIMESTAMP('2026-01-01', 'YYYY-MM-DD')", "NOW()"])
def test_a_column_may_have_the_name_of_a_pseudo_column(store: MetaStore, bound: str) -> None:
    days = "SELECT DATE_TRUNC('day', dt) AS windowstart, SUM(n) AS n FROM t GROUP BY DATE_TRUNC('day', dt)"
    query = f"SELECT windowstart FROM ({days}) AS s WHERE windowstart >= {bound} ORDER BY windowstart;"
    job = bind(query, store, **POSTGRES)
    assert [(column.name, str(column.type)) for column in job.root.schema.columns] == [
        ("WINDOWSTART", "TIMESTAMP")
    ]
