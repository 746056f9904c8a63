"""The tables of expressions and results on the pages of docs/reference, on Spark."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer import Scope
from ksql_spark.functions.lowering import lower
from ksql_spark.schema import Schema

pytestmark = pytest.mark.spark

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
_TABLE = re.compile(r"^\| expression \| result( with ansi)? \|\n\|---\|---\|\n((?:\|.*\|\n)+)", flags=re.M)
_ROW = re.compile(r"^\| `(.*)` \| `(.*)` \|$", flags=re.M)


def _documented() -> list[tuple[str, bool, str, str]]:
    """(page, whether NULLs are ansi, expression, result as JSON) of every row; a cell escapes ``|``."""
    return [
        (page.name, bool(ansi), *(cell.replace("\\|", "|") for cell in row))
        for page in sorted(REFERENCE.glob("*.md"))
        for ansi, table in _TABLE.findall(page.read_text(encoding="utf-8"))
        for row in _ROW.findall(table)
    ]


def _lowered(expression: str, ansi: bool) -> str:
    scope = replace(Scope.of(Schema(()), "S"), ansi=ansi)
    return lower(analyzer.bind_expression(grammar.parse_expression(f"TO_JSON_STRING({expression})"), scope))


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=lambda digits: (Decimal(digits), digits))


def test_documented_expressions(local_spark: Any) -> None:
    rows = _documented()
    assert len(rows) > 40
    columns = [f"{_lowered(expression, ansi)} AS c{i}" for i, (_, ansi, expression, _) in enumerate(rows)]
    results = local_spark.range(1).selectExpr(*columns).collect()[0]
    wrong = [
        f"{page}: {expression} gives {got}, not {wanted}"
        for (page, _, expression, wanted), got in zip(rows, results, strict=True)
        if _parsed(got) != _parsed(wanted)
    ]
    assert not wrong, "\n".join(wrong)
