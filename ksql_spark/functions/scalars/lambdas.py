"""Functions that take lambdas (reference §4.5); a lambda's text is a LambdaText."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.expressions import Call, Lambda, LambdaRef, Literal
from ksql_spark.functions.signatures import signature
from ksql_spark.functions.spark_text import LambdaText, let, variable
from ksql_spark.functions.spec import (
    BY_ARGUMENTS,
    MAX_BYTES,
    MAX_ELEMENTS,
    Category,
    Example,
    Spec,
    Typed,
    has_fixed_size,
    scalar,
)
from ksql_spark.types import BOOLEAN, INTEGER, STRING, Array, Function, Map, SqlType

Types = Sequence[SqlType]


def _transform(args: Sequence[str], types: Types) -> str:
    if isinstance(types[0], Array):
        return f"transform({args[0]}, {args[1]})"
    sides = f"map_keys({args[0]}), map_values({args[0]})"
    return f"ksql.map_of(zip_with({sides}, {args[1]}), zip_with({sides}, {args[2]}))"


def _filter(args: Sequence[str], types: Types) -> str:
    if isinstance(types[0], Array):
        return f"filter({args[0]}, {args[1]})"
    # an entry with a NULL value cannot be kept
    return f"ksql.complete(map_filter({args[0]}, {args[1]}))"


def _reduce(args: Sequence[str], types: Types) -> str:
    folded = _folded(args, types)
    if has_fixed_size(types[1]):
        return folded
    return let(folded, lambda s: f"if(ksql.fits({s}), {s}, NULL)")


def _grew_too_large(args: Sequence[str], types: Types) -> str:
    return f"not ksql.fits({_folded(args, types)})"


def _folded(args: Sequence[str], types: Types) -> str:
    collection, initial, step = args
    assert isinstance(step, LambdaText)
    if not has_fixed_size(types[1]):
        # a state that is too large stays as it is to the end, where ``_reduce`` detects it
        s = step.parameters[0]
        step = LambdaText(step.parameters, f"if(ksql.fits({s}), {step.body}, {s})")
    if isinstance(types[0], Map):
        state, key, value = step.parameters
        e = variable(*args)
        # zip_with over one entry names its key and value as the lambda needs them
        entry = f"array({e}.key), array({e}.value)"
        step = f"({state}, {e}) -> zip_with({entry}, ({key}, {value}) -> {step.body})[0]"
        # in ksqlDB's iteration order of maps
        folded = f"aggregate(map_entries(ksql.map_in_order({collection})), {initial}, {step})"
    else:
        folded = f"aggregate({collection}, {initial}, {step})"
    return f"if({initial} is null or {collection} is null, {initial}, {folded})"


def _ref(name: str, type_: SqlType = INTEGER) -> LambdaRef:
    return LambdaRef(name, type_)


def _plus(*operands: LambdaRef | Literal | Call) -> Call:
    left, right = operands
    return Call("+", (left, right), INTEGER)


_ONE = Literal(1, INTEGER)
_ADD_ONE = Lambda(("x",), _plus(_ref("x"), _ONE), Function((INTEGER,), INTEGER))
_ABOVE_ONE = Lambda(("x",), Call(">", (_ref("x"), _ONE), BOOLEAN), Function((INTEGER,), BOOLEAN))
_ITSELF = Lambda(("x",), _ref("x", BOOLEAN), Function((BOOLEAN,), BOOLEAN))
_VALUE_ITSELF = Lambda(("k", "v"), _ref("v", BOOLEAN), Function((STRING, BOOLEAN), BOOLEAN))
_NEXT_ABOVE_ONE = Lambda(
    ("x",), Call(">", (_plus(_ref("x"), _ONE), _ONE), BOOLEAN), Function((INTEGER,), BOOLEAN)
)
_SUM = Lambda(("s", "x"), _plus(_ref("s"), _ref("x")), Function((INTEGER, INTEGER), INTEGER))
_SUM_ENTRIES = Lambda(
    ("s", "k", "v"), _plus(_ref("s"), _ref("v")), Function((INTEGER, STRING, INTEGER), INTEGER)
)
_UPPER_KEY = Lambda(
    ("k", "v"), Call("UCASE", (_ref("k", STRING),), STRING), Function((STRING, INTEGER), STRING)
)
_VALUE_PLUS_ONE = Lambda(("k", "v"), _plus(_ref("v"), _ONE), Function((STRING, INTEGER), INTEGER))
_VALUE_ABOVE_ONE = Lambda(
    ("k", "v"), Call(">", (_ref("v"), _ONE), BOOLEAN), Function((STRING, INTEGER), BOOLEAN)
)

SPECS: tuple[Spec, ...] = (
    scalar(
        "TRANSFORM",
        Category.LAMBDA,
        "Applies a lambda to each element of an array, or to each key and value of a map.",
        (
            signature("array ARRAY<T>, change LAMBDA(T) => R -> ARRAY<R>"),
            signature("map MAP<K, V>, key LAMBDA(K, V) => R, value LAMBDA(K, V) => S -> MAP<R, S>"),
        ),
        _transform,
        Example(([1, 2, 3], _ADD_ONE), [2, 3, 4]),
        Example(([1, None, 3], _ADD_ONE), None),
        Example(({"a": 1, "b": 2}, _UPPER_KEY, _VALUE_PLUS_ONE), {"A": 2, "B": 3}),
        Example(({"a": 1, "A": 2}, _UPPER_KEY, _VALUE_PLUS_ONE), None),
        parameters={
            "array": "any array",
            "change": "computes the new element",
            "map": "any map",
            "key": "computes the new key",
            "value": "computes the new value",
        },
        can_fail=True,
        limits=(MAX_ELEMENTS, MAX_BYTES),
    ),
    scalar(
        "FILTER",
        Category.LAMBDA,
        "The elements of an array, or entries of a map, for which a lambda returns true.",
        (
            signature("array ARRAY<T>, keep LAMBDA(T) => BOOLEAN -> ARRAY<T>"),
            signature("map MAP<K, V>, keep LAMBDA(K, V) => BOOLEAN -> MAP<K, V>"),
        ),
        _filter,
        Example(([1, 2, None, 3], _ABOVE_ONE), [2, 3]),
        Example(([1, 2, None], _NEXT_ABOVE_ONE), None),
        Example(([True, False], _ITSELF), [True]),
        Example(([True, None], _ITSELF), None),
        Example(({"a": True, "b": None}, _VALUE_ITSELF), None),
        Example(({"a": 1, "b": 2}, _VALUE_ABOVE_ONE), {"b": 2}),
        parameters={"array": "any array", "map": "any map", "keep": "returns true for what to keep"},
        can_fail=True,
        limits=BY_ARGUMENTS,
    ),
    scalar(
        "REDUCE",
        Category.LAMBDA,
        "Reduces an array or map to one value: a lambda updates the state with each element.",
        (
            signature("array ARRAY<T>, state S, step LAMBDA(S, T) => S -> S"),
            signature("map MAP<K, V>, state S, step LAMBDA(S, K, V) => S -> S"),
        ),
        _reduce,
        Example(([1, 2, 3], 10, _SUM), 16),
        Example(([1, 2, 3], Typed(None, INTEGER), _SUM), None),
        Example((Typed(None, Array(INTEGER)), 10, _SUM), 10),
        Example(({"a": 1, "b": 2}, 10, _SUM_ENTRIES), 13),
        parameters={
            "array": "any array",
            "map": "any map",
            "state": "the initial state",
            "step": "the next state",
        },
        limits=(MAX_ELEMENTS, MAX_BYTES),
        failed=_grew_too_large,
    ),
)
