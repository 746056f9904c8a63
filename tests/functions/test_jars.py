"""Specs of functions in jars, from descriptions as JarDescription.java writes them, and their SQL text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ksql_spark import grammar
from ksql_spark.analyzer.expressions.type_nodes import resolve_type
from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.functions.jars import JarLowering, spec_of
from ksql_spark.functions.spec import OnNull, Spec
from ksql_spark.types import (
    BIGINT,
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    TIME,
    VARIANT,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)

POINT = Struct((Field("X", DOUBLE),))


def resolve(text: str) -> SqlType:
    return resolve_type(grammar.parse_type(text), {})


def no_provider(call: Mapping[str, Any]) -> Mapping[str, str]:
    raise AssertionError(call)


def variant(method: str, types: Sequence[Any], returns: Any = None, **more: Any) -> dict[str, Any]:
    parameters = [{"name": f"p{i}", "description": "", "type": t} for i, t in enumerate(types)]
    given = {} if returns is None else {"returns": returns}
    return {"method": method, "description": "", "parameters": parameters, **given, **more}


def spec(*variants: dict[str, Any], kind: str = "SCALAR", provide: Any = no_provider, **more: Any) -> Spec:
    description = {
        "class": "com.example.F", "kind": kind, "name": "f", "description": "", "variants": variants, **more
    }  # fmt: skip
    return spec_of(description, "/ext/a.jar", {"ksql.functions.f.x": "1"}, resolve, provide)


def called(function: Spec, *types: SqlType, arguments: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """The JSON text of a call's function, and the arguments that it gets."""
    assert function.spark is not None
    text = function.spark(arguments or [f"a{i}" for i in range(len(types))], types)
    found = re.fullmatch(r"ksql\.`jar:(.*)`\((.*)\)", text)
    assert found is not None, text
    code: dict[str, Any] = json.loads(found[1].replace("``", "`"))
    return code, found[2]


def result(function: Spec, *types: SqlType) -> SqlType:
    with registry.with_functions(lambda: {"F": function}):
        return registry.resolve("f", types).result_type


def test_the_text_of_a_call_has_all_that_java_needs() -> None:
    code, arguments = called(spec(variant("f(long)", ["BIGINT"], "DOUBLE")), BIGINT)
    assert code == {
        "name": "F", "kind": "SCALAR", "jar": "/ext/a.jar", "class": "com.example.F", "method": "f(long)",
        "properties": {"ksql.functions.f.x": "1"}, "types": ["BIGINT"], "returns": "DOUBLE",
        "spark": "double", "deterministic": True,
    }  # fmt: skip
    assert arguments == "a0"


def test_the_variant_for_the_types_is_called() -> None:
    function = spec(
        variant("f(int)", ["INTEGER"], "INTEGER"),
        variant("f(Long)", ["BIGINT"], "BIGINT"),
        variant("f(List)", [{"array": {"variable": "T"}}], {"variable": "T"}),
        variant("f(Long,Long[])", ["BIGINT", "BIGINT"], "STRING", variadic=1),
    )
    methods = {
        (INTEGER,): "f(int)",
        (BIGINT,): "f(Long)",
        (Array(STRING),): "f(List)",
        (BIGINT, BIGINT, BIGINT): "f(Long,Long[])",
    }
    assert {types: called(function, *types)[0]["method"] for types in methods} == methods
    assert result(function, Array(POINT)) == POINT
    assert result(function, INTEGER, BIGINT) == STRING


def test_repeated_arguments_may_be_left_out() -> None:
    function = spec(variant("f(String[])", ["STRING"], "STRING", variadic=0))
    assert called(function)[0]["types"] == []
    assert called(function)[0]["deterministic"] is False
    assert called(function, STRING, STRING)[0]["types"] == ["STRING", "STRING"]


@pytest.mark.parametrize(
    ("type_", "tree"),
    [
        (Decimal(5, 2), {"decimal": [5, 2]}),
        (Map(STRING, Array(TIME)), {"map": ["STRING", {"array": "TIME"}]}),
        (POINT, {"struct": [["X", "DOUBLE"]]}),
        (VARIANT, "STRING"),
        (NULL, None),
    ],
)
def test_types_in_json(type_: SqlType, tree: Any) -> None:
    function = spec(variant("f(Object)", [{"variable": "OBJECT0"}], "STRING"))
    assert called(function, type_)[0]["types"] == [tree]


def test_schemas_are_sql_types() -> None:
    function = spec(variant("f(Struct)", [{"schema": "STRUCT<X DOUBLE>"}], {"schema": "DECIMAL(7, 3)"}))
    assert result(function, POINT) == Decimal(7, 3)
    assert function.signatures[0].shown() == "(STRUCT<`X` DOUBLE> p0)"
    with pytest.raises(KsqlError, match="accept"):
        result(function, STRING)


def test_a_function_says_its_result_for_the_types_of_a_call() -> None:
    asked: list[Mapping[str, Any]] = []

    def provide(call: Mapping[str, Any]) -> Mapping[str, str]:
        asked.append(call)
        return {"error": "IllegalStateException: no"} if len(asked) > 2 else {"returns": "DECIMAL(9, 4)"}

    function = spec(variant("f(BigDecimal)", ["DECIMAL"], provider="digits"), provide=provide)
    assert result(function, Decimal(5, 2)) == Decimal(9, 4)
    assert called(function, Decimal(5, 2))[0]["returns"] == {"decimal": [9, 4]}
    assert asked[0] == asked[1] == {
        "class": "com.example.F", "method": "f(BigDecimal)", "properties": {"ksql.functions.f.x": "1"},
        "provider": "digits", "types": [{"decimal": [5, 2]}], "initial": [],
    }  # fmt: skip
    with pytest.raises(KsqlError, match=r"a\.jar: F: IllegalStateException: no"):
        result(function, Decimal(5, 2))


def test_only_a_primitive_result_is_null_by_failure_alone() -> None:
    assert spec(variant("f()", [], "BIGINT", primitive=True)).on_null is OnNull.ERROR
    assert spec(variant("f()", [], "BIGINT", primitive=False)).on_null is OnNull.VALUE


def test_a_table_function_returns_an_array_of_its_rows() -> None:
    function = spec(variant("f(int)", ["INTEGER"], "STRING"), kind="TABLE")
    assert result(function, INTEGER) == STRING
    assert called(function, INTEGER)[0]["returns"] == {"array": "STRING"}


def test_an_aggregate_and_its_constants() -> None:
    function = spec(
        variant(
            "f(int,String)",
            ["BIGINT", "INTEGER", "STRING"],
            "BIGINT",
            initial=2,
            aggregate={"array": "BIGINT"},
        ),
        kind="AGGREGATE",
    )
    code, arguments = called(function, BIGINT, INTEGER, STRING, arguments=["c", "(-3)", r"'it\'s'"])
    assert (code["initial"], code["types"], arguments) == ([-3, "it's"], ["BIGINT"], "c")
    assert (code["aggregate"], code["stored"]) == ({"array": "BIGINT"}, "array<bigint>")
    with pytest.raises(KsqlError, match="must be a literal"):
        result(function, BIGINT, INTEGER, STRING)


def test_state_is_known_without_its_jar() -> None:
    """So a jar of another name, with other properties, goes on with it."""
    function = spec(variant("f()", ["BIGINT"], "BIGINT", aggregate="BIGINT"), kind="AGGREGATE")
    assert isinstance(function.spark, JarLowering)
    text = function.spark.of_state(["c"], [BIGINT])
    assert "/ext/a.jar" not in text and "com.example" not in text and "ksql.functions" not in text
    assert '"stored": "bigint"' in text


def test_over_tables_the_sign_comes_last() -> None:
    function = spec(
        variant("f()", ["BIGINT"], "BIGINT", aggregate="BIGINT", undo=True),
        variant("g()", ["STRING"], "BIGINT", aggregate="BIGINT", undo=False),
        kind="AGGREGATE",
    )
    assert function.spark_table is not None
    assert function.spark_table(["c", "sign"], [BIGINT]).endswith("(c, sign)")
    assert [s.can_undo for s in function.signatures] == [True, False]
