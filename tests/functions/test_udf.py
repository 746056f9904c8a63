"""The public module for user functions: what hints mean, what is refused, what docstrings give."""

from __future__ import annotations

import dataclasses
import datetime
import sys
import types as python_types
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any, TypedDict

import pytest

from ksql_spark import types, udf
from ksql_spark.udf import (
    MARK,
    Function,
    Integer,
    InvalidFunction,
    Precision,
    Vector,
    aggregate_function,
    scalar_function,
    table_function,
)


@dataclasses.dataclass
class Point:
    x: float
    label: str | None


class Stop(TypedDict):
    at: datetime.time
    points: list[Point]


def described(target: Any) -> Function:
    found = getattr(target, MARK)
    assert isinstance(found, Function)
    return found


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (bool, "BOOLEAN"),
        (int, "BIGINT"),
        (Integer, "INTEGER"),
        (udf.BigInt, "BIGINT"),
        (float, "DOUBLE"),
        (str, "STRING"),
        (bytes, "BYTES"),
        (datetime.date, "DATE"),
        (datetime.time, "TIME"),
        (datetime.datetime, "TIMESTAMP"),
        (Annotated[Decimal, Precision(10, 2)], "DECIMAL(10, 2)"),
        (list[int | None], "ARRAY<BIGINT>"),
        (dict[str, list[Integer]], "MAP<STRING, ARRAY<INTEGER>>"),
        (Point, "STRUCT<`X` DOUBLE, `LABEL` STRING>"),
        (Stop, "STRUCT<`AT` TIME, `POINTS` ARRAY<STRUCT<`X` DOUBLE, `LABEL` STRING>>>"),
        (Annotated[Any, types.Array(types.DATE)], "ARRAY<DATE>"),
    ],
)
def test_hints_are_types(hint: Any, text: str) -> None:
    def function(value):  # type: ignore[no-untyped-def]
        return value

    function.__annotations__ = {"value": hint | None if isinstance(hint, type) else hint, "return": hint}
    found = described(scalar_function(function))
    assert str(found.result.type) == str(found.parameters[0].hint.type) == text
    assert found.parameters[0].hint.optional == isinstance(hint, type)
    assert not found.result.optional


def test_docstrings_describe() -> None:
    @scalar_function(name="speak", author="ann", version="1", deterministic=False)
    def say(word: str, *rest: Integer) -> str:
        """Says a word,
        as often as it must.

        Args:
            word: anything
                that can be said
            *rest: numbers

        Returns:
            what was said
        """
        return word

    found = described(say)
    assert found.name == "SPEAK"
    assert found.description == "Says a word, as often as it must."
    assert [p.description for p in found.parameters] == ["anything that can be said", "numbers"]
    assert [p.is_variadic for p in found.parameters] == [False, True]
    assert not found.is_deterministic
    assert found.options == {"author": "ann", "version": "1"}


def test_kinds() -> None:
    @table_function
    def letters(text: str) -> Iterator[str]:
        yield from text

    @scalar_function
    def double(numbers: Vector[float]) -> Vector[float]:
        return numbers

    @aggregate_function
    class LastOfAll:
        def initialize(self) -> list[int]:
            return []

        def aggregate(self, state: list[int], number: int) -> list[int]:
            return [number]

        def undo(self, state: list[int], number: int) -> list[int]:
            return []

        def result(self, state: list[int]) -> int | None:
            return state[0] if state else None

    module = python_types.ModuleType("made")
    module.__dict__.update(letters=letters, double=double, again=double, last=LastOfAll, other=3)
    assert [(f.name, f.kind, f.is_vectorized) for f in udf.functions_in(module)] == [
        ("DOUBLE", "SCALAR", True),
        ("LAST_OF_ALL", "AGGREGATE", False),
        ("LETTERS", "TABLE", False),
    ]
    assert described(LastOfAll).options["undo"] and not described(LastOfAll).options["merge"]
    assert str(described(letters).result.type) == "ARRAY<STRING>"


def no_hint(x) -> int:  # type: ignore[no-untyped-def]
    return 1


def no_result(x: int):  # type: ignore[no-untyped-def]
    return 1


def two_types(x: int | str) -> int:
    return 1


def no_sql_type(x: complex) -> int:
    return 1


def by_name(*, x: int) -> int:
    return 1


def bare_decimal(x: Decimal) -> Decimal:
    return x


def mixed(x: Vector[int], y: int) -> Vector[int]:
    return x


def default_and_rest(x: int = 1, *y: int) -> int:
    return 1


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (no_hint, "parameter x: a type hint is missing"),
        (no_result, "the result of no_result: a type hint is missing"),
        (two_types, "only X | None"),
        (no_sql_type, "no SQL type for the hint complex"),
        (by_name, "by position only"),
        (bare_decimal, "needs its digits"),
        (mixed, "all must be"),
        (default_and_rest, "not both"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_refused(function: Any, reason: str) -> None:
    with pytest.raises(InvalidFunction, match=reason.replace("|", r"\|")):
        scalar_function(function)


def test_incomplete_classes_are_refused() -> None:
    with pytest.raises(InvalidFunction, match="needs the method aggregate"):

        @aggregate_function
        class Nothing:
            def initialize(self) -> int:
                return 0

    with pytest.raises(InvalidFunction, match=r"list\[X\] or Iterator\[X\]"):

        @table_function
        def one(x: int) -> int:
            return x


def test_values_go_in_and_out() -> None:
    hint = udf._hint(Stop, "here")
    read, write = udf.reader(hint), udf.writer(hint)
    assert read is not None and write is not None
    arrow = {"AT": 3_723_004, "POINTS": [{"X": 1.0, "LABEL": None}, None]}
    value = read(arrow)
    assert value == {"at": datetime.time(1, 2, 3, 4000), "points": [Point(1.0, None), None]}
    assert write(value) == arrow


def test_the_module_needs_no_heavy_imports() -> None:
    import subprocess

    code = "import ksql_spark.udf, sys; print({'pyspark', 'pyarrow', 'sqlglot'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
