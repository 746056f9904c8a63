"""CASE without a branch that is true is NULL for the functions around it, whatever the row before gave."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer import Scope
from ksql_spark.functions.lowering import lower
from ksql_spark.schema import Column, Schema
from ksql_spark.types import STRING

pytestmark = pytest.mark.spark

CASES = (
    "CASE WHEN S = 'ab' THEN S WHEN S = 'x' THEN S END",
    "CASE WHEN S = 'ab' THEN S WHEN S = 'x' THEN S ELSE NULL END",
    "CASE WHEN S = 'ab' THEN S WHEN S = 'x' THEN S ELSE CAST(NULL AS STRING) END",
    "CASE WHEN S = 'ab' THEN S END",
    "CASE S WHEN 'ab' THEN S WHEN 'x' THEN 'y' WHEN 'z' THEN S END",
)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("call", ["{} LIKE 'a%'", "{} + 'c'", "UCASE({})"])
def test_a_case_keeps_no_value_of_the_row_before(local_spark: Any, case: str, call: str) -> None:
    scope = Scope.of(Schema((Column("S", STRING),)), "R")
    text = lower(analyzer.bind_expression(grammar.parse_expression(call.format(f"({case})")), scope))
    frame = local_spark.createDataFrame(
        [(1, "ab"), (2, "c"), (3, None), (4, "ab"), (5, "d")], "id INT, S STRING"
    )
    got = frame.repartition(1).sortWithinPartitions("id").selectExpr(f"{text} AS c").collect()
    first = {"{} LIKE 'a%'": True, "{} + 'c'": "abc", "UCASE({})": "AB"}[call]
    assert [row[0] for row in got] == [first, None, None, first, None]
