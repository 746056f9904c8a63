"""Planning takes as long as a statement's text is: each construct is there few, more and many times.

Python's calls are counted, which are the same each time, in each step from the text to what Spark gets.
"""

from __future__ import annotations

import cProfile
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from ksql_spark import grammar
from ksql_spark.config import Config
from ksql_spark.functions.lowering import lower_condition, lower_reporting
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan import codec
from ksql_spark.plan.explain import explain, explain_job, explain_lookup
from ksql_spark.plan.planner import lower, lower_transient
from ksql_spark.plan.queries import Feed, Job, Lookup, PersistentQuery
from ksql_spark.runtime.plain_expressions import function_of, is_plain
from tests.analyzer.binding import bind_statement, run
from tests.analyzer.plan_checks import expressions_of

TIMES = (8, 32, 96)
#: what one more costs from the second to the third of TIMES, by what it costs from the first to the second: 1
#: for linear costs, 3.2 for quadratic ones
MOST = 1.2
#: those by which what one more costs grows for a while, and no more from a hundred on
STEEPER = {" || ": 1.5}
COLUMNS = "i INT, b BIGINT, d DOUBLE, t STRING, x BOOLEAN, j VARIANT"
SOURCES = (
    f"CREATE STREAM s (k STRING KEY, {COLUMNS}) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    f"CREATE SOURCE TABLE p (k STRING PRIMARY KEY, {COLUMNS}) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='JSON');"
)
#: what CREATE has behind its columns
WITH = "WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON')"
CONFIG = Config()

#: what is repeated, what joins it, and the condition around it
CONDITIONS = {
    "IN": ("{n}", ", ", "i IN ({})"),
    "NOT IN": ("'{n}'", ", ", "t NOT IN ({})"),
    "IN of keys": ("'{n}'", ", ", "k IN ({})"),
    "IN of decimals": ("{n}.5", ", ", "d IN ({})"),
    "IN of no constants": ("i + {n}", ", ", "i IN ({})"),
    "IN with NULL": ("{n}", ", ", "i IN (NULL, {})"),
    "IN of casts": ("CAST('{n}' AS INT)", ", ", "i IN ({})"),
    "IN of an array": ("{n}", ", ", "b IN (ARRAY[{}])"),
    "IN of structs": ("STRUCT(a := {n})", ", ", "STRUCT(a := i) IN ({})"),
    "IN of maps": ("MAP('a' := {n})", ", ", "MAP('a' := i) IN ({})"),
    "ARRAY_CONTAINS": ("'{n}'", ", ", "ARRAY_CONTAINS(ARRAY[{}], k)"),
    "ARRAY_CONTAINS of columns": ("i + {n}", ", ", "ARRAY_CONTAINS(ARRAY[{}], i)"),
    "CASE": ("WHEN i = {n} THEN t", " ", "CASE {} ELSE '' END = 'a'"),
    "CASE without ELSE": ("WHEN i + 1 = {n} THEN 'v{n}'", " ", "CASE {} END = 'a'"),
    "CASE of a value": ("WHEN {n} THEN 'v{n}'", " ", "CASE i {} END = 'a'"),
    "OR": ("i = {n}", " OR ", "{}"),
    "OR of keys": ("k = '{n}'", " OR ", "{}"),
    "AND": ("i <> {n}", " AND ", "{}"),
    "AND that may be NULL": ("CASE WHEN i = {n} THEN x END", " AND ", "{}"),
    "OR of ANDs": ("(i = {n} AND t = 'a')", " OR ", "{}"),
    "AND of ORs": ("(i = {n} OR t = 'a')", " AND ", "{}"),
    "NOTs": ("NOT i = {n}", " AND ", "{}"),
    "BETWEEN": ("i BETWEEN {n} AND b", " OR ", "{}"),
    "LIKE": ("t LIKE '%{n}'", " OR ", "{}"),
    "||": ("t || '{n}'", " || ", "{} = 'a'"),
    "+": ("i", " + ", "{} = 1"),
    "*": ("d", " * ", "{} = 1"),
    "CONCAT": ("t", ", ", "CONCAT({}) = 'a'"),
    "GREATEST": ("i + {n}", ", ", "GREATEST({}) = 1"),
    "COALESCE": ("i / {n}1", ", ", "COALESCE({}) = 1"),
    "JSON paths": ("j:a[{n}].b IS NOT NULL", " AND ", "{}"),
    "casts": ("CAST(t AS INT) = {n}", " OR ", "{}"),
    "MAP": ("'{n}' := i", ", ", "MAP({})['1'] = 1"),
    "STRUCT": ("f{n} := i", ", ", "STRUCT({})->f1 = 1"),
    "lambdas": ("ARRAY_LENGTH(FILTER(ARRAY[i], e => e = {n})) = 1", " AND ", "{}"),
}
#: what is repeated, what joins it, and the statement around it
STATEMENTS = {
    "columns of a push query": ("i + {n} AS c{n}", ", ", "SELECT {} FROM s EMIT CHANGES"),
    "columns of a pull query": ("i + {n} AS c{n}", ", ", "SELECT {} FROM p"),
    "columns of a stream": ("i + {n} AS c{n}", ", ", "CREATE STREAM o AS SELECT k, {} FROM s"),
    "aggregates": ("SUM(i + {n}) AS c{n}", ", ", "CREATE TABLE o AS SELECT k, {} FROM s GROUP BY k"),
    "the same aggregate": ("SUM(i) + {n} AS c{n}", ", ", "SELECT {} FROM s GROUP BY k"),
    "GROUP BY": ("i + {n}", ", ", "SELECT COUNT(*) AS c FROM p GROUP BY {}"),
    "HAVING": ("SUM(i) > {n}", " AND ", "SELECT COUNT(*) AS c FROM p GROUP BY t HAVING {}"),
    "ORDER BY": ("i + {n}", ", ", "SELECT * FROM p ORDER BY {}"),
    "VALUES": ("({n}, 'a')", ", ", "SELECT * FROM (VALUES {}) AS v(a, b)"),
    "rows of INSERT": ("('{n}', {n})", ", ", "INSERT INTO s (k, i) VALUES {}"),
    "columns of CREATE": ("c{n} INT", ", ", f"CREATE STREAM o ({{}}) {WITH}"),
    "fields of CREATE": ("c{n} INT", ", ", f"CREATE STREAM o (v STRUCT<{{}}>) {WITH}"),
    "WITH": ("c{n} AS (SELECT k FROM p WHERE i = {n})", ", ", "WITH {} SELECT * FROM c0"),
}  # fmt: skip
PLACES = {
    "pull": "SELECT * FROM p WHERE {}",
    "batch": "SELECT * FROM s WHERE {}",
    "WHERE": "CREATE STREAM o AS SELECT * FROM s WHERE {}",
    "SELECT": "CREATE STREAM o AS SELECT k, {} AS c FROM s",
}


@cache
def _store() -> MetaStore:
    store = MetaStore()
    run(
        SOURCES + "CREATE TABLE w (k STRING PRIMARY KEY, i INT) WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON');",
        store,
    )
    return store


def _written(n: int, what: str, joint: str, around: str) -> str:
    return around.replace("{}", joint.join(what.replace("{n}", str(i)) for i in range(n)))


def _steps(text: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each step of planning ``text``, to be called one after the other."""
    made: dict[str, Any] = {}

    def keep(name: str, make: Callable[[], Any]) -> tuple[str, Callable[[], Any]]:
        return name, lambda: made.setdefault(name, make())

    yield keep("parse", lambda: grammar.parse_one(text))
    yield keep("render", lambda: grammar.render(made["parse"]))
    yield keep("bind", lambda: bind_statement(made["parse"], _store().copy(), CONFIG))
    bound = made["bind"]
    match bound:
        case PersistentQuery():
            yield keep("plan", lambda: lower(bound.root, bound.sink, CONFIG, "q"))
        case Feed():
            yield keep("plan", lambda: lower_transient(bound.root, bound.output, "o", CONFIG, "q"))
        case Lookup():
            yield "explain", lambda: explain_lookup(bound)
        case Job():
            yield "explain", lambda: explain_job(bound)
    if "plan" in made:
        yield "explain", lambda: explain(made["plan"])
        yield keep("encode", lambda: json.dumps(codec.encode(made["plan"])))
        yield "decode", lambda: codec.decode(json.loads(made["encode"]))
    expressions = list(expressions_of(bound))
    yield "lower", lambda: [lower_reporting(e, lambda *parts: f"report({parts[1:]})") for e in expressions]
    yield "lower conditions", lambda: [lower_condition(e) for e in expressions]
    places = {column.name: at for at, column in enumerate(_store().require("P").schema.columns)}
    plain = [e for e in expressions if is_plain(e)] if isinstance(bound, Lookup) else []
    yield "compile", lambda: [function_of(e, places) for e in plain]


def _calls(step: Callable[[], Any]) -> int:
    """How many functions ``step`` calls, those of C included."""
    profile = cProfile.Profile()
    profile.runcall(step)
    return sum(entry.callcount for entry in profile.getstats())


def _costs(text: str) -> dict[str, int]:
    return {name: _calls(step) for name, step in _steps(text)}


def _check(what: str, joint: str, around: str) -> None:
    _costs(_written(2, what, joint, around))  # fills caches
    few, more, most = (_costs(_written(n, what, joint, around)) for n in TIMES)
    for step in most:
        before = (more[step] - few[step]) / (TIMES[1] - TIMES[0])
        growth = (most[step] - more[step]) / (TIMES[2] - TIMES[1]) / max(before, 1)
        assert growth < STEEPER.get(joint, MOST), f"{step}: {few[step]}, {more[step]}, {most[step]} calls"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("construct", CONDITIONS)
def test_a_condition(construct: str, place: str) -> None:
    what, joint, around = CONDITIONS[construct]
    _check(what, joint, PLACES[place].replace("{}", around))


@pytest.mark.parametrize("construct", STATEMENTS)
def test_a_statement(construct: str) -> None:
    _check(*STATEMENTS[construct])
