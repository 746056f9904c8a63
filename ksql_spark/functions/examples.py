"""Examples of functions as text: calls in SQL, and their results."""

from __future__ import annotations

import math
import string
from decimal import Decimal
from typing import Any

from ksql_spark.expressions import (
    Call,
    Case,
    Cast,
    Expression,
    FieldRef,
    Lambda,
    Literal,
    MakeStruct,
    json_path,
)
from ksql_spark.functions import registry
from ksql_spark.functions.spec import Example, Kind, Spec, expression
from ksql_spark.types import quote_identifier


def ksql(node: Expression) -> str:
    """``node`` as a user would write it.

    >>> ksql(expression([1, None]))
    'ARRAY[1, NULL]'
    """
    match node:
        case Call(name, arguments):
            return _call(name, [ksql(a) for a in arguments])
        case Cast(Literal(None), type_):
            return f"CAST(NULL AS {type_})"
        case Cast(operand, type_):
            return f"CAST({ksql(operand)} AS {type_})"
        case MakeStruct(fields):
            return f"STRUCT({', '.join(f'{quote_identifier(n)} := {ksql(e)}' for n, e in fields)})"
        case FieldRef(operand, field):
            return f"{ksql(operand)}->{quote_identifier(field)}"
        case Lambda(parameters, body):
            names = ", ".join(parameters)
            return f"{names if len(parameters) == 1 else f'({names})'} => {ksql(body)}"
        case Case(whens, default):
            parts = [f"WHEN {ksql(c)} THEN {ksql(r)}" for c, r in whens]
            return " ".join(["CASE", *parts, *([f"ELSE {ksql(default)}"] if default else []), "END"])
    return str(node)


def _call(name: str, texts: list[str]) -> str:
    match name, texts:
        case "ARRAY", _:
            return f"ARRAY[{', '.join(texts)}]"
        case "MAP", _:
            return f"MAP({', '.join(f'{k} := {v}' for k, v in zip(texts[::2], texts[1::2], strict=True))})"
        case ":", _:
            return json_path(texts)
        case "[]", [operand, index]:
            return f"{operand}[{index}]"
        case "NEG", [operand]:
            return f"-({operand})" if operand.startswith("-") else f"-{operand}"
        case "NOT", [operand]:
            return f"NOT {operand}"
        case (("IS NULL" | "IS NOT NULL"), [operand]):
            return f"{operand} {name}"
        case "BETWEEN", [operand, low, high]:
            return f"{operand} BETWEEN {low} AND {high}"
        case "IN", [operand, *members]:
            return f"{operand} IN ({', '.join(members)})"
        case "LIKE", [operand, pattern, escape]:
            return f"{operand} LIKE {pattern} ESCAPE {escape}"
        case _, [left, right] if registry.require(name).kind is Kind.OPERATOR:
            return f"{left} {name} {right}"
    return f"{name}({', '.join(texts)})"


def value(result: Any) -> str:
    """A result in the canonical form of examples, as text."""
    match result:
        case None:
            return "NULL"
        case bool():
            return str(result).upper()
        case str():
            return "'" + result.replace("'", "''").replace("\n", "\\n") + "'"
        case bytes():
            return f"0x{result.hex()}"
        case list():
            return f"[{', '.join(map(value, result))}]"
        case dict():
            return "{" + ", ".join(f"{k}: {value(v)}" for k, v in result.items()) + "}"
        case Decimal():
            return f"{result:f}"
        case float() if not math.isfinite(result):
            return "NaN" if math.isnan(result) else "Infinity" if result > 0 else "-Infinity"
    return str(result)


def call(spec: Spec, one: Example) -> str | None:
    """The call of an example; None for an aggregate, which needs rows."""
    if spec.kind is Kind.AGGREGATE:
        return None
    return _call(spec.name, [ksql(expression(argument)) for argument in one.args])


def example(spec: Spec, one: Example) -> str:
    """One line: the call and what it gives; an aggregate's columns are given as lists."""
    called = call(spec, one)
    if called is not None:
        gives = value(one.result)
        if spec.kind is Kind.TABLE:
            gives = "rows " + ", ".join(map(value, one.result)) if one.result else "no row"
        return f"{called} → {gives}"
    texts, columns = [], []
    for argument, letter in zip(one.args, string.ascii_lowercase, strict=False):
        if isinstance(argument, list):
            texts.append(letter)
            columns.append(f"{letter} = {', '.join(ksql(expression(v)) for v in argument)}")
        else:
            texts.append(ksql(expression(argument)))
    return f"{spec.name}({', '.join(texts)}) over {'; '.join(columns) or 'rows'} → {value(one.result)}"
