"""A long IN list is a set for Spark, which looks a value up at once: its generated code does not grow."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.expressions import Call, ColumnRef, Members
from ksql_spark.functions.lowering import lower_condition
from ksql_spark.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, Decimal, SqlType

pytestmark = pytest.mark.spark

MANY = 10_000


@pytest.mark.parametrize(
    ("type_", "column", "values"),
    [
        (INTEGER, "cast(id as int)", [*range(0, 2 * MANY, 2)]),
        (BIGINT, "id", [*range(0, 2 * MANY, 2)]),
        (DOUBLE, "cast(id as double)", [float(n) for n in range(0, 2 * MANY, 2)]),
        (STRING, "cast(id as string)", [str(n) for n in range(0, 2 * MANY, 2)]),
        (Decimal(9, 2), "cast(id as decimal(9, 2))", [f"{n}.00" for n in range(0, 2 * MANY, 2)]),
    ],
    ids=["INTEGER", "BIGINT", "DOUBLE", "STRING", "DECIMAL"],
)
def test_a_long_list_is_a_set(local_spark: Any, type_: SqlType, column: str, values: list[Any]) -> None:
    members = Members(tuple(values), type_)
    where = lower_condition(Call("IN", (ColumnRef("A", type_), members), BOOLEAN))
    found = local_spark.range(2 * MANY + 10).selectExpr(f"{column} as A").where(where)
    assert "INSET" in found._jdf.queryExecution().optimizedPlan().toString()
    generated = local_spark._jvm.org.apache.spark.sql.execution.debug.package.codegenStringSeq(
        found._jdf.queryExecution().executedPlan()
    )
    largest = max(generated.apply(i)._3().maxMethodCodeSize() for i in range(generated.size()))
    assert 0 < largest < 8000  # above, the JVM does not compile a method
    assert found.count() == MANY
