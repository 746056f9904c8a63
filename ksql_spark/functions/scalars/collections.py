"""Functions on arrays and maps (reference §4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as PythonDecimal

from ksql_spark.functions.casts import to_text
from ksql_spark.functions.scalars.comparisons import distinct
from ksql_spark.functions.scalars.constructors import from_entries, key_text
from ksql_spark.functions.signatures import Signature, signature
from ksql_spark.functions.spark_text import (
    has_own_order,
    is_literal,
    let,
    spark_type,
    variable,
    with_maps,
    without_maps,
)
from ksql_spark.functions.spec import (
    ALL_DIGITS,
    ALL_LIMITS,
    BY_ARGUMENTS,
    MAX_BYTES,
    Category,
    Example,
    Lowering,
    Spec,
    Typed,
    scalar,
)
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    PRIMITIVES,
    STRING,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
    contains_map,
)

Types = Sequence[SqlType]

_INTEGERS = Array(INTEGER)
_NO_ARRAY = Typed(None, _INTEGERS)
_ARRAY = {"array": "any array"}
_TWO = (signature("left ARRAY<T>, right ARRAY<T> -> ARRAY<T>"),)
_TWO_NAMES = {"left": "an array", "right": "another array"}


def _contains(args: Sequence[str], types: Types) -> str:
    if is_literal(args[1]):
        return f"coalesce(array_contains({args[0]}, {args[1]}), false)"
    x = variable(*args)
    return f"coalesce(exists({args[0]}, {x} -> not {distinct(x, args[1], types[1])}), false)"


def _remove(args: Sequence[str], types: Types) -> str:
    if is_literal(args[1]):
        return f"array_remove({args[0]}, {args[1]})"
    x = variable(*args)
    return f"filter({args[0]}, {x} -> {distinct(x, args[1], types[1])})"


def _of_sets(function: str) -> Lowering:
    """A Spark function that returns the distinct elements of one or two arrays."""

    def lower(args: Sequence[str], types: Types) -> str:
        plain = (without_maps(text, type_) for text, type_ in zip(args, types, strict=True))
        return with_maps(f"{function}({', '.join(plain)})", types[0])

    return lower


def _join(args: Sequence[str], types: Types) -> str:
    assert isinstance(types[0], Array)
    element = types[0].element
    x = variable(args[0])
    delimiter = f"coalesce({args[1]}, '')" if len(args) == 2 else "','"
    if not isinstance(element, Decimal) and element not in _JOINED:
        nulls = f"transform({args[0]}, {x} -> cast(NULL as string))"
        return f"if(exists({args[0]}, {x} -> {x} is not null), NULL, ksql.join_nulls({delimiter}, {nulls}))"
    text = to_text(x, element)
    if text in (x, f"cast({x} as string)"):
        return f"ksql.join_nulls({delimiter}, cast({args[0]} as array<string>))"
    return f"ksql.join_nulls({delimiter}, transform({args[0]}, {x} -> {text}))"


def _sort(args: Sequence[str], types: Types) -> str:
    array = args[0]
    if contains_map(types[0]):  # which have no order
        return f"cast(NULL as {spark_type(types[0])})"
    up, down = f"array_sort({array})", f"sort_array({array}, false)"
    if _has_own_order(types):
        up, down = f"ksql.sort({array}, false)", f"ksql.sort({array}, true)"
    if len(args) == 1:
        return up
    direction = f"upper({args[1]})"
    return (
        f"(case when {direction} in ('ASC', 'ASCENDING') then {up} "
        f"when {direction} in ('DESC', 'DESCENDING') then {down} end)"
    )


def _has_own_order(types: Types) -> bool:
    assert isinstance(types[0], Array)
    return has_own_order(types[0].element)


def _extreme(function: str) -> Lowering:
    """ARRAY_MAX or ARRAY_MIN: Spark's, or ours for types that KSQL orders differently."""

    def lower(args: Sequence[str], types: Types) -> str:
        assert isinstance(types[0], Array)
        if contains_map(types[0]):  # which have no order
            return f"cast(NULL as {spark_type(types[0].element)})"
        if not _has_own_order(types):
            return f"{function}({args[0]})"
        return f"ksql.array_extreme({args[0]}, {'true' if function == 'array_max' else 'false'})"

    return lower


def _slice(args: Sequence[str], _: Types) -> str:
    def cut(a: str) -> str:
        first, last = f"coalesce({args[1]}, 1)", f"coalesce({args[2]}, array_size({a}))"
        fits = f"{first} >= 1 and {last} <= array_size({a}) and {first} <= {last} + 1"
        return f"if({fits}, slice({a}, {first}, {last} - {first} + 1), NULL)"

    return let(args[0], cut)


def _as_map(args: Sequence[str], _: Types) -> str:
    k, i = variable(*args), variable(*args, "i")
    pair = f"struct({key_text(k)} as key, try_element_at({args[1]}, {i} + 1) as value)"
    return f"if({args[1]} is null, NULL, {from_entries(f'transform({args[0]}, ({k}, {i}) -> {pair})')})"


def _entries(args: Sequence[str], types: Types) -> str:
    assert isinstance(types[0], Map)
    in_order = f"ksql.map_by_key({args[0]})"
    if args[1] in ("true", "false"):
        entries = in_order if args[1] == "true" else args[0]
    else:
        entries = f"if({args[1]}, {in_order}, {args[0]})"
    return f"cast(map_entries({entries}) as array<struct<K:string,V:{spark_type(types[0].value)}>>)"


#: the types that ARRAY_JOIN can render, besides DECIMALs
_JOINED = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING)


def _entry_signature(type_: str) -> Signature:
    row = Array(Struct((Field("K", STRING), Field("V", PRIMITIVES[type_]))))
    return signature(f"map MAP<STRING, {type_}>, sorted BOOLEAN", lambda _: row, str(row))


SPECS: tuple[Spec, ...] = (
    scalar(
        "ARRAY_CONCAT",
        Category.ARRAY,
        "Concatenates two arrays; a NULL array counts as empty.",
        _TWO,
        lambda args, _: f"coalesce(concat({args[0]}, {args[1]}), {args[0]}, {args[1]})",
        Example(([1, None], [2]), [1, None, 2]),
        Example((_NO_ARRAY, [2]), [2]),
        Example((_NO_ARRAY, _NO_ARRAY), None),
        parameters=_TWO_NAMES,
        limits=ALL_LIMITS,
        grows=True,
        failed=lambda args, _: f"({' or '.join(f'{a} is not null' for a in args)})",
    ),
    scalar(
        "ARRAY_CONTAINS",
        Category.ARRAY,
        "Whether an array contains the value; NULL equals NULL.",
        (signature("array ARRAY<T>, value T -> BOOLEAN"),),
        _contains,
        Example(([1, 2], 2), True),
        Example(([1, None], Typed(None, INTEGER)), True),
        Example(([1], 2), False),
        Example(([{"a": 1, "b": 2}], {"b": 2, "a": 1}), True),
        Example((_NO_ARRAY, 2), False),
        parameters=_ARRAY | {"value": "what to look for"},
    ),
    scalar(
        "ARRAY_DISTINCT",
        Category.ARRAY,
        "The distinct elements in the order of their first appearance.",
        (signature("array ARRAY<T> -> ARRAY<T>"),),
        _of_sets("array_distinct"),
        Example(([2, 1, None, 2, None],), [2, 1, None]),
        Example(([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}],), [{"a": 1, "b": 2}, {"a": 1}]),
        parameters=_ARRAY,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "ARRAY_EXCEPT",
        Category.ARRAY,
        "The distinct elements of the first array that are not in the second.",
        _TWO,
        _of_sets("array_except"),
        Example(([3, 1, 2, 3, None], [1]), [3, 2, None]),
        Example((_NO_ARRAY, [1]), None),
        Example(([{"a": 1}, {"a": 2}], [{"a": 2}]), [{"a": 1}]),
        parameters=_TWO_NAMES,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "ARRAY_INTERSECT",
        Category.ARRAY,
        "The distinct elements that are in both arrays.",
        _TWO,
        _of_sets("array_intersect"),
        Example(([3, 1, None, 3], [None, 3]), [3, None]),
        Example(([{"a": 1}, {"a": 2}], [{"a": 2}]), [{"a": 2}]),
        parameters=_TWO_NAMES,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "ARRAY_UNION",
        Category.ARRAY,
        "The distinct elements of both arrays.",
        _TWO,
        _of_sets("array_union"),
        Example(([2, 1], [None, 1, 3]), [2, 1, None, 3]),
        Example(([{"a": 1}, {"a": 2}], [{"a": 2}]), [{"a": 1}, {"a": 2}]),
        parameters=_TWO_NAMES,
        limits=ALL_LIMITS,
        grows=True,
    ),
    scalar(
        "ARRAY_JOIN",
        Category.ARRAY,
        "Joins the elements (BOOLEAN, numbers, STRING) as text with a delimiter; NULL becomes null.",
        (
            signature("array ARRAY<T> -> STRING"),
            signature("array ARRAY<T>, delimiter STRING -> STRING"),
        ),
        _join,
        Example(([1, None, 3],), "1,null,3"),
        Example((["a", "b"], "-"), "a-b"),
        Example(([1.5, 2.0], Typed(None, STRING)), "1.52.0"),
        Example(([True, False], ""), "truefalse"),
        Example(([PythonDecimal("1.50"), None], "-"), "1.50-null"),
        Example(
            ([ALL_DIGITS.copy_negate(), PythonDecimal("0.0000000010")],),
            "-9999999999999999999999999999.9999999999,0.0000000010",
        ),
        Example(([Typed("2020-02-29", DATE)],), None),
        Example((Typed([None], Array(DATE)),), "null"),
        Example(([[1], [2]],), None),
        parameters=_ARRAY | {"delimiter": "the delimiter; a comma by default"},
        limits=(MAX_BYTES,),
        failed=lambda args, _: f"{args[0]} is not null",
    ),
    scalar(
        "ARRAY_LENGTH",
        Category.ARRAY,
        "The number of elements.",
        (signature("array ARRAY<T> -> INTEGER"),),
        lambda args, _: f"array_size({args[0]})",
        Example(([1, None],), 2),
        Example((_NO_ARRAY,), None),
        parameters=_ARRAY,
        aliases=("CARDINALITY", "ARRAY_SIZE"),
    ),
    scalar(
        "ARRAY_MAX",
        Category.ARRAY,
        "The greatest element; NULLs are ignored.",
        (signature("array ARRAY<T> -> T"),),
        _extreme("array_max"),
        Example(([1, None, 3],), 3),
        Example((Typed([None], _INTEGERS),), None),
        Example(([{"a": 1}],), None),
        parameters=_ARRAY,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "ARRAY_MIN",
        Category.ARRAY,
        "The smallest element; NULLs are ignored.",
        (signature("array ARRAY<T> -> T"),),
        _extreme("array_min"),
        Example((["b", None, "a"],), "a"),
        Example((["\uff5e", "😀"],), "😀"),
        parameters=_ARRAY,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "ARRAY_REMOVE",
        Category.ARRAY,
        "The array without the elements that equal the value.",
        (signature("array ARRAY<T>, value T -> ARRAY<T>"),),
        _remove,
        Example(([1, 2, 1], 1), [2]),
        Example(([1, None], Typed(None, INTEGER)), [1]),
        Example(([{"a": 1, "b": 2}, {"a": 1}], {"b": 2, "a": 1}), [{"a": 1}]),
        parameters=_ARRAY | {"value": "what to remove"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "ARRAY_SORT",
        Category.ARRAY,
        "The sorted elements, NULLs last.",
        (
            signature("array ARRAY<T> -> ARRAY<T>"),
            signature("array ARRAY<T>, direction STRING -> ARRAY<T>"),
        ),
        _sort,
        Example(([2, None, 1],), [1, 2, None]),
        Example(([2, None, 1, 3], "desc"), [3, 2, 1, None]),
        Example(([2, 1], "up"), None),
        Example(([{"b": 1}, {"a": 1}],), None),
        Example((["\uff5e", None, "😀", "a"],), ["a", "😀", "\uff5e", None]),
        Example((["\uff5e", "😀", "a"], "DESC"), ["\uff5e", "😀", "a"]),
        parameters=_ARRAY | {"direction": "ASC (default) or DESC"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "SLICE",
        Category.ARRAY,
        "The elements from one position to another, both inclusive.",
        (signature("array ARRAY<T>, first INTEGER, last INTEGER -> ARRAY<T>"),),
        _slice,
        Example(([1, 2, 3], 2, 3), [2, 3]),
        Example(([1, 2, 3], Typed(None, INTEGER), 2), [1, 2]),
        Example(([1, 2, 3], 2, Typed(None, INTEGER)), [2, 3]),
        Example(([1, 2, 3], 2, 4), None),
        Example(([1, 2, 3], 0, 2), None),
        Example((_NO_ARRAY, 1, 2), None),
        parameters=_ARRAY | {"first": "from 1; NULL means the first", "last": "NULL: the last"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "AS_MAP",
        Category.MAP,
        "A map from an array of keys and an array of values.",
        (signature("keys ARRAY<STRING>, values ARRAY<T> -> MAP<STRING, T>"),),
        _as_map,
        Example((["a", "b"], [1, 2]), {"a": 1, "b": 2}),
        Example((["a", "b", "a"], [1]), {"a": None, "b": None}),
        Example((["a"], [1, 2]), {"a": 1}),
        parameters={"keys": "the keys", "values": "the values; missing ones are NULL"},
        limits=ALL_LIMITS,
        grows=True,
    ),
    scalar(
        "ENTRIES",
        Category.MAP,
        "The entries of a map as an array of structs with fields K and V.",
        tuple(_entry_signature(t) for t in ("INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "STRING")),
        _entries,
        Example(({"b": 1, "a": 2}, True), [{"K": "a", "V": 2}, {"K": "b", "V": 1}]),
        Example(({"a": "x"}, False), [{"K": "a", "V": "x"}]),
        parameters={"map": "a map with STRING keys", "sorted": "whether to sort by key"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "MAP_KEYS",
        Category.MAP,
        "The keys of a map, in no particular order.",
        (signature("map MAP<K, V> -> ARRAY<K>"),),
        lambda args, _: f"map_keys({args[0]})",
        Example(({"a": 1},), ["a"]),
        parameters={"map": "any map"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "MAP_VALUES",
        Category.MAP,
        "The values of a map, in no particular order.",
        (signature("map MAP<K, V> -> ARRAY<V>"),),
        lambda args, _: f"map_values({args[0]})",
        Example(({"a": 1},), [1]),
        parameters={"map": "any map"},
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "MAP_UNION",
        Category.MAP,
        "Merges two maps; for keys in both, the second map's value wins.",
        (signature("left MAP<K, V>, right MAP<K, V> -> MAP<K, V>"),),
        lambda args, _: f"coalesce(map_concat({args[0]}, {args[1]}), {args[0]}, {args[1]})",
        Example(({"a": 1, "b": 1}, {"b": 2}), {"a": 1, "b": 2}),
        parameters={"left": "a map", "right": "the map whose values win"},
        limits=ALL_LIMITS,
        grows=True,
        failed=lambda args, _: f"({' or '.join(f'{a} is not null' for a in args)})",
    ),
)
