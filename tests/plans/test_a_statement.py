"""What docs/internals/a-statement.md shows of a statement is what each step makes of it."""

from __future__ import annotations

import json
import re
import textwrap
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from ksql_spark.functions import lowering
from ksql_spark.grammar import parse
from ksql_spark.plan import codec, nodes
from ksql_spark.plan.explain import explain_logical, explain_plan, explain_topology
from ksql_spark.plan.stages import LoggedQuery
from ksql_spark.runtime.command_log import Command, encode
from ksql_spark.spark import sinks
from ksql_spark.spark.build import build
from ksql_spark.spark.frames import Context
from tests.plans.plan_files import RECORD, PlannedQuery, planned

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "a-statement.md"


@cache
def shown(heading: str) -> tuple[str, ...]:
    """The indented blocks of a section."""
    (section,) = re.findall(
        rf"^## \d\. {heading}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.S | re.M
    )
    without_sql = re.sub(r"^```sql$.*?^```$", "", section, flags=re.S | re.M)
    blocks = re.findall(r"(?:^    [^\n]*\n)+", without_sql, re.M)
    return tuple(block.removesuffix("\n").replace("\n    ", "\n").removeprefix("    ") for block in blocks)


@pytest.fixture
def queries(tmp_path: Path) -> list[PlannedQuery]:
    """The page's queries."""
    blocks = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    file = tmp_path / "page.sql"
    file.write_text("".join(blocks), encoding="utf-8")
    return list(planned(file))


def _predicate(query: PlannedQuery) -> nodes.Filter:
    return next(node for node in nodes.walk(query.bound.root) if isinstance(node, nodes.Filter))


def test_statement(queries: list[PlannedQuery]) -> None:
    (statement,) = parse(f"{queries[0].text};")
    assert shown("Parse") == (repr(statement),)


def test_bound_tree(queries: list[PlannedQuery]) -> None:
    tree = textwrap.dedent(explain_logical(queries[0].bound.root))
    assert shown("Bind") == (tree, repr(_predicate(queries[0]).predicate))


def test_plan_and_stages(queries: list[PlannedQuery]) -> None:
    sales, kinds = queries
    assert shown("Lower") == (
        explain_plan(sales.plan), explain_topology(sales.plan), explain_topology(kinds.plan),
    )  # fmt: skip


def test_logged_command(queries: list[PlannedQuery]) -> None:
    sales = queries[0]
    plan = codec.encode(LoggedQuery.of(sales.bound, sales.plan))
    starts = {"orders": {"0": 0, "1": 0}}
    command = Command("table/`SALES`/create", f"{sales.text};", {}, starts, "CTAS_SALES_1", plan)
    record = json.loads(encode(command))
    values = [json.dumps(value) for value in record.pop("plan")["values"]]
    record, filter_ = {n: v for n, v in record.items() if n not in ("token", "follows")}, values[12:18]
    del filter_[3]  # BOOLEAN
    assert shown("Log") == (json.dumps(record), "\n".join(filter_))


def test_text_of_an_expression(queries: list[PlannedQuery]) -> None:
    assert shown("Build")[0] == lowering.lower(_predicate(queries[0]).predicate)


@pytest.mark.spark
def test_frame(queries: list[PlannedQuery], local_spark: SparkSession) -> None:
    (stage,) = queries[0].plan.stages
    records = local_spark.readStream.format("rate").load().selectExpr(*RECORD)
    frame = build(Context(local_spark, stage, records)).frame
    _, columns, plan = shown("Build")
    assert columns == ", ".join(frame.columns)
    _check(plan, frame)
    _check(*shown("Start"), sinks.encode(frame, stage.sink, records=stage.records))


def _check(shown_plan: str, frame: DataFrame) -> None:
    """The lines of the page are in the analyzed plan, in their order; … stands for anything."""
    analyzed = frame._jdf.queryExecution().analyzed().toString()
    lines = iter(re.sub(r"#\d+L?|@[0-9a-f]+|~", "", analyzed).splitlines())
    for line in shown_plan.splitlines():
        pattern = ".*".join(map(re.escape, line.split("…")))
        assert any(re.search(rf"{pattern}$", one) for one in lines), line
