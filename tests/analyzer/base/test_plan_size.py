"""Statements that double with each of their parts are refused before they have grown."""

from __future__ import annotations

import pytest

from ksql_spark.analyzer.base import plan_size
from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from ksql_spark.types import INTEGER, STRING, Array, Field, Map, Struct, size
from tests.analyzer.binding import bind, run

#: each doubles what the one before reads
LINKS = 25
SOURCES = (
    "CREATE STREAM s (k INT KEY, a INT, b ARRAY<INT>) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    "CREATE SOURCE TABLE t (k INT PRIMARY KEY, a INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
)
PUSH, PULL = "SELECT * FROM c{n} EMIT CHANGES;", "SELECT * FROM c{n};"


@pytest.fixture
def store() -> MetaStore:
    made = MetaStore()
    run(SOURCES, made)
    return made


def chain(link: str, end: str, first: str = "SELECT * FROM s", links: int = LINKS) -> str:
    """A query with common table expressions, each of which reads the one before, {c}."""
    tables = [f"c0 AS ({first})", *(f"c{n} AS ({link.format(c=f'c{n - 1}')})" for n in range(1, links + 1))]
    return f"WITH {', '.join(tables)} {end.format(n=links)}"


BRANCHING = {
    "union": chain("SELECT * FROM {c} UNION ALL SELECT * FROM {c}", PUSH),
    "persistent": "CREATE STREAM o AS "
    + chain("SELECT * FROM {c} UNION ALL SELECT * FROM {c}", "SELECT * FROM c{n};"),
    "pull": chain("SELECT * FROM {c} UNION ALL SELECT * FROM {c}", PULL),
    "self-join": chain("SELECT x.k AS k, x.a AS a FROM {c} x JOIN {c} y WITHIN 1 HOUR ON x.k = y.k", PUSH),
    "pull self-join": chain("SELECT x.k AS k FROM {c} x JOIN {c} y ON x.k = y.k", PULL, "SELECT k FROM t"),
    "sub-query": chain("SELECT * FROM (SELECT * FROM {c} UNION ALL SELECT * FROM {c}) x", PUSH),
    "exists": chain(
        "SELECT * FROM {c} x WHERE EXISTS (SELECT 1 FROM {c} y WHERE y.k = x.k)", PULL, "SELECT k FROM t"
    ),
    "intersect": chain("SELECT * FROM {c} INTERSECT SELECT * FROM {c}", PULL, "SELECT * FROM t"),
}


@pytest.mark.parametrize("kind", BRANCHING)
def test_relations_are_counted_while_they_double(
    store: MetaStore, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_size, "MAX_RELATIONS", 50)
    with pytest.raises(KsqlError) as refused:
        bind(BRANCHING[kind], store)
    assert refused.value.condition == "QUERY_TOO_LARGE"
    assert refused.value.position is not None and "50 relations" in refused.value.message


def test_each_column_of_each_relation_counts(store: MetaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_size, "MAX_COLUMNS", 100)
    wide = chain("SELECT * FROM {c} UNION ALL SELECT * FROM {c}", PUSH, links=6)
    with pytest.raises(KsqlError, match="more than 100 columns and fields") as refused:
        bind(wide, store)
    assert refused.value.position is not None


def test_what_people_write_is_not_refused(store: MetaStore) -> None:
    assert plan_size.MAX_RELATIONS == 500
    bind(" UNION ALL ".join(["SELECT * FROM s"] * 50) + " EMIT CHANGES;", store)
    bind(chain("SELECT * FROM {c} WHERE a > 0", PUSH, links=20), store)


@pytest.mark.parametrize(
    "link",
    [
        "SELECT k, STRUCT(x := a, y := a) AS a FROM {c}",
        "SELECT k, ARRAY[STRUCT(x := a, y := a)] AS a FROM {c}",
        "SELECT k, MAP('x' := STRUCT(x := a, y := a)) AS a FROM {c}",
    ],
)
def test_types_are_measured_while_they_double(store: MetaStore, link: str) -> None:
    with pytest.raises(KsqlError) as refused:
        bind(chain(link, PUSH), store)
    assert refused.value.condition == "TYPE_TOO_LARGE" and refused.value.position is not None


def test_lambdas_double_types_too(store: MetaStore) -> None:
    value = "b"
    for _ in range(25):
        value = f"TRANSFORM({value}, x => STRUCT(x := x, y := x))"
    with pytest.raises(KsqlError) as refused:
        bind(f"SELECT {value} FROM s EMIT CHANGES;", store)
    assert refused.value.condition == "TYPE_TOO_LARGE"


def test_custom_types_double_too(store: MetaStore) -> None:
    with pytest.raises(KsqlError) as refused:
        run(
            "CREATE TYPE t0 AS STRUCT<x INT, y INT>;"
            + "".join(
                f"CREATE TYPE t{n} AS STRUCT<x t{n - 1}, y MAP<STRING, t{n - 1}>>;" for n in range(1, 60)
            ),
            store,
        )
    assert refused.value.condition == "TYPE_TOO_LARGE" and refused.value.position is not None


def test_size_of_types() -> None:
    assert size(INTEGER) == 1
    assert size(Array(Map(STRING, Struct((Field("a", INTEGER), Field("b", STRING)))))) == 6
