"""Long IN lists: however many members there are, they are one node, and every pass is linear."""

from __future__ import annotations

import json

import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.config import Config
from ksql_spark.expressions import Call, Expression, Members, walk
from ksql_spark.functions import lowering
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan import codec
from ksql_spark.plan.queries import Lookup
from ksql_spark.types import BIGINT, DOUBLE, INTEGER, STRING, Array, Decimal
from tests.analyzer.binding import expression

MANY = 10_000


def _metastore() -> MetaStore:
    metastore = MetaStore()
    columns = "k STRING PRIMARY KEY, i INT, b BIGINT, d DOUBLE, c DECIMAL(9, 2), s STRING"
    text = f"CREATE SOURCE TABLE t ({columns}) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');"
    (statement,) = grammar.parse(text)
    metastore.add(analyzer.bind_create_source(statement, metastore, Config()), frozenset())
    return metastore


def _pull(where: str) -> Lookup:
    (statement,) = grammar.parse(f"SELECT * FROM t WHERE {where};")
    bound = analyzer.bind_read(statement.query, _metastore(), Config())
    assert isinstance(bound, Lookup)
    return bound


def _predicate(where: str) -> Expression:
    predicate = _pull(where).predicate
    assert predicate is not None
    return predicate


@pytest.mark.parametrize(
    ("list_", "values", "type_"),
    [
        ("i IN (1, 2, 1)", (1, 2), INTEGER),
        ("b IN (1, 3000000000)", (1, 3_000_000_000), BIGINT),
        ("s IN ('a', 'b', 'a')", ("a", "b"), STRING),
        ("d IN (1E0, 2E0)", (1.0, 2.0), DOUBLE),
    ],
)
def test_constants_are_a_set(list_: str, values: tuple[object, ...], type_: object) -> None:
    match _predicate(list_):
        case Call("IN", (_, Members(found, of))):
            assert (found, of) == (values, type_)
        case other:
            pytest.fail(f"no set: {other!r}")


@pytest.mark.parametrize("list_", ["i IN (1, NULL)", "i IN (1, i)", "i IN (1, CAST('2' AS INT))"])
def test_other_members_stay_expressions(list_: str) -> None:
    assert not any(isinstance(node, Members) for node in walk(_predicate(list_)))


def test_it_is_shown_and_lowered_as_it_was_written() -> None:
    predicate = _predicate("NOT s IN ('a', 'it''s')")
    assert str(predicate) == "(NOT (S IN ('a', 'it''s')))"
    assert r"`S` in ('a', 'it\'s')" in lowering.lower(predicate)
    assert codec.decode(json.loads(json.dumps(codec.encode(predicate)))) == predicate


def test_a_long_list_is_one_node() -> None:
    predicate = _predicate(f"b IN ({', '.join(map(str, range(MANY)))})")
    assert len(list(walk(predicate))) == 3
    assert len(codec.encode(predicate)["values"]) < 10
    assert lowering.lower(predicate).count(",") >= MANY - 1


@pytest.mark.parametrize(
    "where",
    [
        "k IN ('a', 'b')",
        "k IN (ARRAY['a', 'b'])",
        "ARRAY_CONTAINS(ARRAY['a', 'b'], k)",
        "ARRAY_CONTAINS(ARRAY['a', 'b'], k) AND s <> 'x'",
        "k = 'a' OR k = 'b'",
    ],
)
def test_keys_of_a_list_are_looked_up(where: str) -> None:
    lookups = _pull(where).lookups
    assert lookups is not None
    assert [[str(value) for value in lookup.values] for lookup in lookups] == [["'a'"], ["'b'"]]


def test_a_key_for_each_of_many_members() -> None:
    keys = ", ".join(f"'{n}'" for n in range(MANY))
    lookups = _pull(f"k IN ({keys})").lookups
    assert lookups is not None and len(lookups) == MANY


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        ("i IN (ARRAY[1, 2])", "(I IN (1, 2))"),
        ("b IN (ARRAY[1, 2])", "(B IN (1, 2))"),
        ("i NOT IN (ARRAY[1, 2])", "(NOT (I IN (1, 2)))"),
        ("i IN (CAST(ARRAY[1] AS ARRAY<INT>))", "(I IN (1))"),
        ("i IN (ARRAY[])", "FALSE"),
        ("i NOT IN (CAST(ARRAY[] AS ARRAY<INT>))", "(NOT FALSE)"),
        ("i IN (ARRAY[1, NULL])", "(I IN (1, CAST(NULL AS INTEGER)))"),
        ("i IN (a)", "((I IS NOT NULL) AND ARRAY_CONTAINS(A, I))"),
        ("ARRAY[i] IN (ARRAY[1], ARRAY[2])", "(ARRAY[I] IN (ARRAY[1], ARRAY[2]))"),
        ("ARRAY_CONTAINS(ARRAY[1, NULL], i)", "((I IN (1)) OR (I IS NULL))"),
        ("ARRAY_CONTAINS(ARRAY[1E0], d)", "ARRAY_CONTAINS(ARRAY[1.0E0], D)"),
        ("ARRAY_CONTAINS(ARRAY[NULL, i], 1)", "ARRAY_CONTAINS(ARRAY[CAST(NULL AS INTEGER), I], 1)"),
    ],
)
def test_arrays_of_constants_are_lists(given: str, bound: str) -> None:
    columns = {"I": INTEGER, "B": BIGINT, "S": STRING, "D": DOUBLE, "A": Array(INTEGER)}
    assert str(expression(given, **columns)) == bound


def test_decimals_stay_exact() -> None:
    predicate = _predicate("c IN (1.50, 2.25)")
    assert "1.50" in lowering.lower(predicate)
    assert any(isinstance(node.type, Decimal) for node in walk(predicate))


@pytest.mark.parametrize("number", ["1e999999999", "-1e-999999999", "1e999999999999999999"])
def test_a_number_whose_digits_do_not_fit_in_memory(number: str) -> None:
    for where in (f"i IN (1, '{number}')", f"d = ARRAY[1, '{number}'][1]"):
        assert len(str(_predicate(where))) < 200


@pytest.mark.parametrize("list_", ["b IN (1, NULL, 2)", "b NOT IN (NULL, 1, 2)"])
def test_null_leaves_a_set_of_the_others(list_: str) -> None:
    (statement,) = grammar.parse(f"SELECT * FROM t WHERE {list_};")
    bound = analyzer.bind_read(statement.query, _metastore(), Config({"ksql.sql.nulls": "ansi"}))
    assert isinstance(bound, Lookup) and bound.predicate is not None
    sets = [node.values for node in walk(bound.predicate) if isinstance(node, Members)]
    assert sets == [(1, 2)]
