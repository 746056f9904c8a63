"""Statements that are too deep, or chains that are too long, are refused with one of our errors."""

from __future__ import annotations

import re

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.functions.lowering import lower_reporting
from tests.analyzer.plan_checks import expressions_of
from tests.statements.world import World

#: what is repeated around {} -> how many times
DEEP = {
    "a sum": ("SELECT k, {} AS x FROM s", "v", "{} + v"),
    "a product": ("SELECT k, {} AS x FROM s", "v", "{} * v"),
    "a sum on the right": ("SELECT k, {} AS x FROM s", "v", "v + ({})"),
    "parentheses": ("SELECT k, {} AS x FROM s", "v", "({})"),
    "functions": ("SELECT k, {} AS x FROM s", "w", "TRIM({})"),
    "NOTs": ("SELECT * FROM s WHERE {}", "v = 1", "NOT {}"),
    "CASEs": ("SELECT k, {} AS x FROM s", "v", "CASE WHEN v = 1 THEN {} END"),
    "arrays": ("SELECT k, {} AS x FROM s", "v", "ARRAY[{}]"),
    "structs": ("SELECT k, {} AS x FROM s", "v", "STRUCT(a := {})"),
    "casts": ("SELECT k, {} AS x FROM s", "v", "CAST({} AS INT)"),
    "casts behind it": ("SELECT k, {} AS x FROM s", "v", "{}::INT"),
    "ORs in parentheses": ("SELECT * FROM s WHERE {}", "v = 1", "({} OR v = 2)"),
    "sub-queries": ("SELECT * FROM {}", "s", "(SELECT * FROM {})"),
    "UNION ALL": ("SELECT * FROM s {}", "", "UNION ALL SELECT * FROM s {}"),
}
#: statement -> how many times are too many of each kind, for the analyzer or, the second, for the parser too
FORMS = {"EXPLAIN {} EMIT CHANGES;": 2_000, "CREATE STREAM o AS {};": 6_000}
TOO = "too deeply|too long|Too many"


def _repeated(around: str, inner: str, step: str, times: int) -> str:
    head, tail = step.split("{}")
    return around.replace("{}", head * times + inner + tail * times)


def _run(text: str, world: World) -> None:
    """Run a statement; what it starts can be made a text for Spark."""
    world.run(text)
    for query in world.queries.all():
        for expression in expressions_of(query.plan):
            lower_reporting(expression, lambda *parts: f"report({parts[1:]})")
    if text.startswith("CREATE"):
        world.run("DROP STREAM o;")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", DEEP)
def test_it_is_refused_or_runs(kind: str, form: str, world: World) -> None:
    around, inner, step = DEEP[kind]
    for times in (50, 150, 190, 230, 300):
        text = form.replace("{}", _repeated(around, inner, step, times))
        try:
            _run(text, world)
        except KsqlError as error:
            assert re.search(TOO, error.message), f"{times}: {error.message[:300]}"
    with pytest.raises(KsqlError, match=TOO):
        world.run(form.replace("{}", _repeated(around, inner, step, FORMS[form])))


@pytest.mark.parametrize("form", FORMS)
def test_common_tables_one_above_the_other(form: str, world: World) -> None:
    for links in (50, 100, 150, 200, 400):
        tables = ["c0 AS (SELECT * FROM s)", *(f"c{n} AS (SELECT * FROM c{n - 1})" for n in range(1, links))]
        text = form.replace("{}", f"WITH {', '.join(tables)} SELECT * FROM c{links - 1}")
        try:
            _run(text, world)
        except KsqlError as error:
            assert re.search(TOO, error.message), f"{links}: {error.message[:300]}"
