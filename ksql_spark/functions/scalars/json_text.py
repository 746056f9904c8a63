"""Functions on JSON text (reference §4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.casts import to_json
from ksql_spark.functions.scalars.constructors import too_large
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spec import (
    ALL_LIMITS,
    BY_ARGUMENTS,
    MAX_BYTES,
    Category,
    Example,
    Lowering,
    Spec,
    Typed,
    parsed,
    scalar,
    struct,
)
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    SqlType,
)

Types = Sequence[SqlType]


def _array_contains(args: Sequence[str], types: Types) -> str:
    json, value = args
    kind = types[1]
    if kind == INTEGER:
        value = f"cast({value} as bigint)"
    elif kind not in (BIGINT, DOUBLE, STRING, BOOLEAN):
        # only NULL can be found
        contains = f"({value} is null and ksql.json_array_contains({json}, cast(NULL as string)))"
        return f"if({json} is null, NULL, {contains})"
    null = f"ksql.json_array_contains({json}, cast(NULL as string))"
    return f"if({json} is null, NULL, if({value} is null, {null}, ksql.json_array_contains({json}, {value})))"


def _ours(function: str) -> Lowering:
    """A function of our own (JsonFunctions.java)."""
    return lambda args, _: f"ksql.{function}({', '.join(args)})"


_JSON = {"json": "JSON"}

SPECS: tuple[Spec, ...] = (
    scalar(
        "EXTRACTJSONFIELD",
        Category.JSON,
        "The value at a path in JSON: text unquoted, anything else as JSON; NULL if the path does not exist.",
        (signature("json JSON, path STRING -> STRING"),),
        _ours("json_extract"),
        Example(('{"a": {"b": [1, {"c": "x"}]}}', "$.a.b[1].c"), "x"),
        Example(('{"array": [1.5]}', "$.array[0]"), "1.5"),
        Example(('{"a": [1, 2]}', "$.a"), "[1,2]"),
        Example(('{"a": null}', "$.a"), "null"),
        Example(('{"a": 1}', "$.b"), None),
        Example(('{"a": [1]}', "$.a[-1]"), None),
        Example(('{"@type": "UDF"}', "$.@type"), "UDF"),
        Example(('{"a": 1.50, "b": [2.0]}', "$.a"), "1.50"),
        Example(('{"a": 1.50, "b": [2.0]}', "$"), '{"a":1.50,"b":[2.0]}'),
        Example(('{"a b": {"c.d": 1}}', "$['a b'][\"c.d\"]"), "1"),
        Example(('{"a": 1}}', "$.a"), "1"),
        Example(('{"a": 1, "b"', "$.a"), None),
        Example(('{"a": 1}', "a"), None),
        Example(("{", "$.b"), None),
        parameters=_JSON | {"path": "such as $.a.b[0].c"},
        aliases=("JSON_VALUE", "GET_JSON_OBJECT"),
        limits=(MAX_BYTES,),
        failed=too_large,
    ),
    scalar(
        "IS_JSON_STRING",
        Category.JSON,
        "Whether a text is valid JSON.",
        (signature("json JSON -> BOOLEAN"),),
        _ours("is_json"),
        Example(("[1, 2]",), True),
        Example(("1",), True),
        Example(("null",), True),
        Example(("{",), False),
        Example(("",), False),
        Example((Typed(None, STRING),), False),
        parameters={"json": "any text"},
    ),
    scalar(
        "JSON_ARRAY_CONTAINS",
        Category.JSON,
        "Whether a JSON array contains an element of the value's type that equals it.",
        (signature("json JSON, value T -> BOOLEAN"),),
        _array_contains,
        Example(("[1, 2]", 2), True),
        Example(("[1.0, 2]", 1), False),
        Example(("[1.5]", 1.5), True),
        Example(('["a"]', "a"), True),
        Example(("[true]", True), True),
        Example(("[null]", Typed(None, STRING)), True),
        Example(("[1, null]", None), True),
        Example(("[1]", None), False),
        Example(("{}", 1), False),
        Example(("[", 1), False),
        Example((Typed(None, STRING), 1), None),
        parameters=_JSON | {"value": "what to look for"},
    ),
    scalar(
        "JSON_ARRAY_LENGTH",
        Category.JSON,
        "The number of elements in a JSON array; NULL if the text is not a JSON array.",
        (signature("json JSON -> INTEGER"),),
        _ours("json_array_length"),
        Example(("[1, [2, 3]]",), 2),
        Example(("{}",), None),
        Example(("[",), None),
        parameters=_JSON,
    ),
    scalar(
        "JSON_CONCAT",
        Category.JSON,
        "Merges JSON objects; concatenates other values as arrays.",
        (signature("json JSON... -> STRING"),),
        lambda args, _: f"ksql.json_concat(array({', '.join(args)}))",
        Example(('{"a": 1}', '{"b": 2}'), '{"a":1,"b":2}'),
        Example(('{"a": {"5": 6}}', '{"a": {"3": 4}}'), '{"a":{"3":4}}'),
        Example(('{"b": 1.10, "a": 1}', '{"b": 2.20}'), '{"b":2.20,"a":1}'),
        Example(("[1, 2]", '{"a": 1}', "4"), '[1,2,{"a":1},4]'),
        Example(("null", "null"), "[null,null]"),
        Example(("{}", "{}"), "{}"),
        Example(("1", ""), None),
        parameters=_JSON,
        can_fail=True,
        limits=(MAX_BYTES,),
    ),
    scalar(
        "JSON_KEYS",
        Category.JSON,
        "The keys of a JSON object; NULL if the text is not a JSON object.",
        (signature("json JSON -> ARRAY<STRING>"),),
        _ours("json_keys"),
        Example(('{"b": 1, "a": {"c": 2}}',), ["b", "a"]),
        Example(("[]",), None),
        parameters=_JSON,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "JSON_RECORDS",
        Category.JSON,
        "The members of a JSON object as a map: text unquoted, anything else as JSON.",
        (signature("json JSON -> MAP<STRING, STRING>"),),
        _ours("json_records"),
        Example(('{"a": "x", "b": null, "c": [1, 2]}',), {"a": "x", "b": "null", "c": "[1,2]"}),
        Example(("[1]",), None),
        parameters=_JSON,
        limits=(MAX_BYTES,),
        failed=too_large,
    ),
    scalar(
        "JSON_ITEMS",
        Category.JSON,
        "The elements of a JSON array, each as JSON.",
        (signature("json JSON -> ARRAY<STRING>"),),
        _ours("json_items"),
        Example(('[{"type": "A", "at": 1.0}, "x", null, 2]',), ['{"type":"A","at":1.0}', '"x"', "null", "2"]),
        Example(("[]",), []),
        Example(("{}",), None),
        parameters=_JSON,
        can_fail=True,
        limits=ALL_LIMITS,
    ),
    scalar(
        "TO_JSON_STRING",
        Category.JSON,
        "Any value as JSON.",
        (signature("value T -> STRING"),),
        lambda args, types: to_json(args[0], types[0]),
        Example(("abc",), '"abc"'),
        Example((Typed(None, STRING),), "null"),
        Example((None,), "null"),
        Example((123.456,), "123.456"),
        Example((b"!",), '"IQ=="'),
        Example((Typed("16:43:40", TIME),), '"16:43:40"'),
        Example((Typed("2020-02-29", DATE),), '"2020-02-29"'),
        Example(([1, None],), "[1,null]"),
        Example(({"b": 1, "a": 2},), '{"a":2,"b":1}'),
        Example((struct(NAME="Alice", ID=1),), '{"ID":1,"NAME":"Alice"}'),
        Example((struct(T=Typed("16:43:40", TIME), N=Typed(None, STRING)),), '{"N":null,"T":"16:43:40"}'),
        Example(({2: [True], 1: Typed(None, Array(BOOLEAN))},), '{"1":null,"2":[true]}'),
        Example(({b"!": 1},), '{"IQ==":1}'),
        Example(({1.5: 1},), '{"1.5":1}'),
        Example(({True: 1},), '{"true":1}'),
        Example(({Typed("16:43:40", TIME): 1},), '{"16:43:40":1}'),
        Example((Typed("2020-02-29T12:00:00.500", TIMESTAMP),), '"2020-02-29T12:00:00.500"'),
        parameters={"value": "anything"},
        aliases=("TO_JSON",),
        limits=ALL_LIMITS,
        grows=True,
        failed=lambda args, _: "true",
    ),
    scalar(
        "PARSE_JSON",
        Category.JSON,
        "The VARIANT that a text with one JSON value holds; NULL for null.",
        (signature("text STRING -> VARIANT"),),
        _ours("parse_json"),
        Example(('{"b": 1.10, "a": [null, "x"], "b": 1E+2}',), '{"b":1.10,"a":[null,"x"],"b":1E+2}'),
        Example((' "x" ',), '"x"'),
        Example(("null",), None),
        Example(("[1, 2",), None),
        Example(("1 2",), None),
        parameters={"text": "JSON"},
        is_ours=True,
        can_fail=True,
        failed=lambda args, _: f"({args[0]} is not null and not ksql.is_json_value({args[0]}))",
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "VARIANT_TYPE",
        Category.JSON,
        "What a VARIANT is: object, array, string, number or boolean.",
        (signature("value VARIANT -> STRING"),),
        _ours("variant_kind"),
        Example((parsed("{}"),), "object"),
        Example((parsed("[null]"),), "array"),
        Example((parsed('"x"'),), "string"),
        Example((parsed("-1.5"),), "number"),
        Example((parsed("true"),), "boolean"),
        Example((parsed("null"),), None),
        parameters={"value": "a VARIANT"},
        is_ours=True,
        limits=BY_ARGUMENTS,
    ),
)
