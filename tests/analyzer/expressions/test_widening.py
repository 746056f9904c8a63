"""Numbers of two types: one rule for all places where they meet (INTEGER -> BIGINT -> DECIMAL -> DOUBLE)."""

from __future__ import annotations

from itertools import combinations

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind, run

#: column -> its type; each type takes all before it
TYPES = {"i": "INTEGER", "b": "BIGINT", "d": "DECIMAL(25, 4)", "f": "DOUBLE"}
PAIRS = list(combinations(TYPES, 2))


@pytest.fixture
def store() -> MetaStore:
    made = MetaStore()
    columns = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items())
    run(
        f"CREATE STREAM n (k STRING KEY, {columns})"
        " WITH (KAFKA_TOPIC='n', VALUE_FORMAT='JSON', PARTITIONS=1);"
        + "".join(
            f"CREATE STREAM only_{name} (k STRING KEY, v {type_})"
            f" WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON', PARTITIONS=1);"
            for name, type_ in TYPES.items()
        ),
        made,
    )
    return made


def type_of(store: MetaStore, query: str) -> str:
    return str(bind(query, store).root.schema.columns[-1].type)


@pytest.mark.parametrize(("narrow", "wide"), PAIRS)
def test_the_wider_type_is_that_of_both(store: MetaStore, narrow: str, wide: str) -> None:
    for one, other in ((narrow, wide), (wide, narrow)):
        for expression, type_ in {
            f"CASE WHEN k = 'a' THEN {one} ELSE {other} END": "{}",
            f"COALESCE({one}, {other})": "{}",
            f"IFNULL({one}, {other})": "{}",
            f"ARRAY[{one}, {other}]": "ARRAY<{}>",
            f"MAP('x' := {one}, 'y' := {other})": "MAP<STRING, {}>",
            f"{one} IN ({other}, 1)": "BOOLEAN",
            f"{one} BETWEEN {other} AND 7": "BOOLEAN",
            f"{one} BETWEEN 7 AND {other}": "BOOLEAN",
            f"{one} < {other}": "BOOLEAN",
        }.items():
            got = type_of(store, f"SELECT {expression} AS x FROM n EMIT CHANGES;")
            assert got == type_.format(TYPES[wide]), expression
        for end in ("", " EMIT CHANGES"):
            union = f"SELECT {one} AS x FROM n UNION ALL SELECT {other} AS x FROM n{end};"
            assert type_of(store, union) == TYPES[wide]


@pytest.mark.parametrize(("narrow", "wide"), PAIRS)
def test_a_sink_takes_narrower_numbers_and_no_wider_ones(store: MetaStore, narrow: str, wide: str) -> None:
    run(f"INSERT INTO only_{wide} SELECT k, {narrow} AS v FROM n;", store)
    with pytest.raises(KsqlError, match="Incompatible schema"):
        run(f"INSERT INTO only_{narrow} SELECT k, {wide} AS v FROM n;", store)
