"""Table functions: their lowering gives an ARRAY with one element for each row (reference §4.9)."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import let, variable, with_maps, without_maps
from ksql_spark.functions.spec import BY_ARGUMENTS, MAX_ELEMENTS, Example, Spec, Typed, table_function
from ksql_spark.types import INTEGER, Array, SqlType

Types = Sequence[SqlType]

_MAX_ELEMENTS = 20


def _cube(args: Sequence[str], types: Types) -> str:
    mask, x, i = variable(args[0], "m"), variable(args[0]), variable(args[0], "i")

    def subsets(a: str) -> str:
        size = f"array_size({a})"
        # the first element is the highest bit
        grouped = f"transform({a}, ({x}, {i}) -> if(getbit({mask}, {size} - 1 - {i}) = 1, {x}, NULL))"
        masks = f"sequence(0, cast(shiftleft(1, {size}) - 1 as int))"
        count = f"shiftleft(cast({size} as bigint), {size})"
        fits = f"{size} <= {_MAX_ELEMENTS} and ksql.elements_fit({count})"
        all_, type_ = f"transform({masks}, {mask} -> {grouped})", Array(types[0])
        different = with_maps(f"array_distinct({without_maps(all_, type_)})", type_)
        return f"if({fits}, {different}, NULL)"

    return let(args[0], subsets)


SPECS: tuple[Spec, ...] = (
    table_function(
        "EXPLODE",
        "One row for each element of an array.",
        (signature("array ARRAY<T> -> T"),),
        lambda args, _: args[0],
        Example(([1, None],), [1, None]),
        Example((Typed(None, Array(INTEGER)),), None),
        parameters={"array": "any array"},
        aliases=("UNNEST",),
        limits=BY_ARGUMENTS,
    ),
    table_function(
        "EXPLODE_POSITIONS",
        "One row for each element of an array, with its position, from 1.",
        (signature("array ARRAY<T> -> INTEGER"),),
        lambda args, _: (
            f"transform({args[0]}, ({variable(args[0])}, {variable(args[0], 'i')}) -> "
            f"{variable(args[0], 'i')} + 1)"
        ),
        Example((["a", None],), [1, 2]),
        Example((Typed(None, Array(INTEGER)),), None),
        parameters={"array": "any array"},
        is_ours=True,
    ),
    table_function(
        "CUBE_EXPLODE",
        "One row for each subset of an array's elements, with NULL for the omitted ones.",
        (signature("array ARRAY<T> -> ARRAY<T>"),),
        _cube,
        Example(([1, 2],), [[None, None], [None, 2], [1, None], [1, 2]]),
        Example(([1, None],), [[None, None], [1, None]]),
        Example(([{"a": 1}],), [[None], [{"a": 1}]]),
        Example((Typed(None, Array(INTEGER)),), None),
        parameters={
            "array": "at most 20 elements; by default 16, because the limit applies to all subsets together"
        },
        limits=(MAX_ELEMENTS,),
    ),
)
