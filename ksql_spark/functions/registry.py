"""The registry: every function and operator by name, and overload resolution (reference §2.8, §4).

The analyzer asks ``resolve`` for types, ``lowering.lower`` asks for Spark SQL text, statements list the
specs. A new family is one line in the table ``FAMILIES``.

User functions belong to a server, and a process may have several servers: ``with_functions`` selects one.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ksql_spark import errors
from ksql_spark.errors import KsqlError
from ksql_spark.functions import table_functions
from ksql_spark.functions.aggregates import by_offset, collected, statistics, totals
from ksql_spark.functions.postgres import functions as postgres
from ksql_spark.functions.postgres import times as postgres_times
from ksql_spark.functions.scalars import (
    arithmetic,
    collections,
    comparisons,
    conditional,
    constructors,
    datetime,
    encodings,
    json_text,
    lambdas,
    masks,
    numeric,
    strings,
    url,
)
from ksql_spark.functions.signatures import Match, Signature, common_type, match_signature, unquoted_number
from ksql_spark.functions.spec import NAMELESS, Ambiguous, Kind, Spec
from ksql_spark.functions.sql_words import INSTEAD
from ksql_spark.types import (
    BIGINT,
    DOUBLE,
    NULL,
    STRING,
    TIMESTAMP,
    Function,
    Null,
    SqlType,
    contains_variant,
    is_numeric,
)

#: every family's specs, in the order of the reference
FAMILIES: tuple[tuple[Spec, ...], ...] = (
    arithmetic.SPECS,
    comparisons.SPECS,
    constructors.SPECS,
    numeric.SPECS,
    strings.SPECS,
    encodings.SPECS,
    masks.SPECS,
    json_text.SPECS,
    collections.SPECS,
    lambdas.SPECS,
    conditional.SPECS,
    datetime.SPECS,
    url.SPECS,
    totals.SPECS,
    statistics.SPECS,
    collected.SPECS,
    by_offset.SPECS,
    table_functions.SPECS,
    postgres.SPECS,
    postgres_times.SPECS,
)


#: functions and operators that compare arguments, from the index on; VARIANTs cannot be (ADR 67)
COMPARING = {"JSON_ARRAY_CONTAINS": 1} | dict.fromkeys(
    (
        "=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN", "IS DISTINCT FROM", "IS NOT DISTINCT FROM",
        "NULLIF", "GREATEST", "LEAST", "MIN", "MAX", "COLLECT_SET", "COUNT_DISTINCT", "ATTR", "TOPK",
        "TOPKDISTINCT", "ARRAY_CONTAINS", "ARRAY_DISTINCT", "ARRAY_EXCEPT", "ARRAY_INTERSECT", "ARRAY_UNION",
        "ARRAY_REMOVE", "ARRAY_SORT", "ARRAY_MIN", "ARRAY_MAX",
    ),
    0,
)  # fmt: skip
NOT_COMPARED = "VARIANTs are not compared: cast them, as in payload:user.id::STRING."


@dataclass(frozen=True)
class Resolution:
    """A call's overload: the types to which arguments must be coerced, and the type of the result."""

    spec: Spec
    signature: Signature | None
    parameter_types: tuple[SqlType, ...]
    result_type: SqlType


def _index(families: Iterable[Iterable[Spec]]) -> dict[str, Spec]:
    specs: dict[str, Spec] = {}
    for family in families:
        for item in family:
            if item.name in specs:
                raise ValueError(f"function {item.name} is defined twice")
            specs[item.name] = item
    return specs


def _index_aliases(specs: Mapping[str, Spec]) -> dict[str, Spec]:
    by_alias: dict[str, Spec] = {}
    for item in specs.values():
        for alias in item.aliases:
            if alias in specs or alias in by_alias:
                raise ValueError(f"{alias}, an alias of {item.name}, is defined twice")
            by_alias[alias] = item
    return by_alias


_SPECS = _index(FAMILIES)
_ALIASES = _index_aliases(_SPECS)

#: returns the user functions of the current context, by name
_USER: ContextVar[Callable[[], Mapping[str, Spec]]] = ContextVar("user_functions", default=dict)


@contextlib.contextmanager
def with_functions(functions: Callable[[], Mapping[str, Spec]]) -> Iterator[None]:
    """Within the block, in this thread only, ``functions()`` are known too, by their names in upper case.

    The engine's threads enter it when they start to work for a server. Built-in functions take precedence.
    """
    token = _USER.set(functions)
    try:
        yield
    finally:
        _USER.reset(token)


def is_built_in(name: str) -> bool:
    """Whether ``name``, in any case, is a function or operator that comes with the engine."""
    return name.upper() in _SPECS


def find(name: str) -> Spec | None:
    """The spec of any kind called ``name``, in any case, or None.

    A user function takes precedence over an alias.
    """
    folded = name.upper()
    return _SPECS.get(folded) or _USER.get()().get(folded) or _ALIASES.get(folded)


def _specs_by_name() -> dict[str, Spec]:
    return {**_USER.get()(), **_SPECS}


def _of_kind(name: str, *kinds: Kind) -> Spec | None:
    spec = find(name)
    return spec if spec is not None and spec.kind in kinds else None


def scalar(name: str) -> Spec | None:
    """The scalar function or operator called ``name``, or None."""
    return _of_kind(name, Kind.SCALAR, *NAMELESS)


def aggregate(name: str) -> Spec | None:
    """The aggregate function called ``name``, or None."""
    return _of_kind(name, Kind.AGGREGATE)


def table_function(name: str) -> Spec | None:
    """The table function called ``name``, or None."""
    return _of_kind(name, Kind.TABLE)


def all_specs() -> tuple[Spec, ...]:
    """Every spec, operators included, by name."""
    by_name = _specs_by_name()
    return tuple(by_name[name] for name in sorted(by_name))


def names() -> tuple[str, ...]:
    """The names of all functions, without operators, sorted."""
    return tuple(sorted(s.name for s in _specs_by_name().values() if s.kind not in NAMELESS))


def aliases() -> dict[str, Spec]:
    """The specs that have another name, beyond ksqlDB, by that name, sorted."""
    user = _USER.get()()
    return {name: spec for name, spec in sorted(_ALIASES.items()) if name not in user}


def nearest(name: str) -> str | None:
    """The function name most similar to ``name``, other names included, or None."""
    return errors.nearest(name, (*names(), *aliases()))


def require(name: str) -> Spec:
    """The spec called ``name``.

    Raises:
        KsqlError: FUNCTION_UNKNOWN, with KSQL's alternative or the nearest name, and a hint at SHOW
        FUNCTIONS.
    """
    spec = find(name)
    if spec is not None:
        return spec
    instead, near = INSTEAD.get(name.upper()), nearest(name)
    did_you_mean = f"Write {instead}. " if instead else f"Did you mean {near}? " if near else ""
    raise KsqlError(
        "FUNCTION_UNKNOWN",
        name=name,
        hint=f"{did_you_mean}SHOW FUNCTIONS lists all functions.",
    )


def unbound_lambda(parameters: int) -> Function:
    """The argument type for ``lambda_parameters`` of a lambda whose body is not bound yet."""
    return Function((NULL,) * parameters, NULL)


def lambda_parameters(
    name: str, argument_types: Sequence[SqlType], literals: Sequence[Any] = ()
) -> tuple[tuple[SqlType, ...] | None, ...]:
    """First phase of a call with lambdas: the types of each lambda's parameters.

    Args:
        name: the function.
        argument_types: types of all arguments; a lambda stands as ``unbound_lambda(n)``.
        literals: values of literal arguments, None elsewhere.

    Returns:
        For each argument: the parameter types for its lambda's body, None where it is not a lambda. Bind the
        bodies with them, then call ``resolve`` with the real ``types.Function``.

    Raises:
        KsqlError: FUNCTION_UNKNOWN, FUNCTION_ARGUMENTS or FUNCTION_AMBIGUOUS.
    """
    types = _choose(name, argument_types, literals).parameter_types
    return tuple(t.parameters if isinstance(t, Function) else None for t in types)


def resolve(name: str, argument_types: Sequence[SqlType], literals: Sequence[Any] = ()) -> Resolution:
    """Choose the overload of ``name`` for these arguments (reference §4, §3.4).

    Exact types first, then implicit widening; among equals the non-variadic and the less generic one.

    Args:
        name: a function or operator, any letter case.
        argument_types: the arguments' types; the literal NULL has type ``types.NULL``.
        literals: for each argument the value where it is a literal, else None; may be shorter.

    Raises:
        KsqlError: FUNCTION_UNKNOWN, FUNCTION_ARGUMENTS (lists the accepted signatures) or
            FUNCTION_AMBIGUOUS. The function is named as the caller wrote it.
    """
    return _choose(name, argument_types, literals)


def _choose(name: str, arguments: Sequence[SqlType], literals: Sequence[Any]) -> Resolution:
    spec = require(name)
    compared = arguments[COMPARING.get(spec.name, len(arguments)) :]
    if any(map(contains_variant, compared)):
        raise _refused(name, spec, arguments, NOT_COMPARED)
    padded = [*literals, *[None] * (len(arguments) - len(literals))]
    if spec.typing is not None:
        try:
            typed = spec.typing(arguments, padded)
        except Ambiguous:
            raise _ambiguous(name, arguments, None) from None
        if typed is None:
            raise _refused(name, spec, arguments, _conversions(spec, arguments, padded))
        return Resolution(spec, None, typed.parameter_types, typed.result_type)
    fits: list[tuple[tuple[int, bool, int], Signature, Match]] = []
    for candidate in spec.signatures:
        match = match_signature(candidate, arguments)
        if match is not None:
            fits.append(((match.cost, candidate.is_variadic, match.generics), candidate, match))
    if not fits:
        raise _refused(name, spec, arguments, _conversions(spec, arguments, padded))
    fits.sort(key=lambda fit: fit[0])
    best_rank, best, match = fits[0]
    if match.untyped and len(fits) > 1 and fits[1][0] == best_rank:
        raise _ambiguous(
            name, arguments, "A bare NULL matches several of them; give it a type: CAST(NULL AS ...)."
        )
    for i, parameter in enumerate(match.parameters):
        if parameter.is_constant and padded[i] is None and not isinstance(arguments[i], Null):
            raise _refused(name, spec, arguments, f"{parameter.name} must be a literal.")
    coerced = tuple(
        match.type_of(p.pattern, type_) for p, type_ in zip(match.parameters, arguments, strict=True)
    )
    result = best.result(coerced) if callable(best.result) else match.type_of(best.result)
    return Resolution(spec, best, coerced, result)


def _conversions(spec: Spec, arguments: Sequence[SqlType], literals: Sequence[Any]) -> str | None:
    """Which conversion of one argument ``spec`` would take; None if none."""
    number = next((type_ for type_ in arguments if is_numeric(type_)), DOUBLE)
    hints: list[str] = []
    is_comparison = not spec.name[0].isalpha()
    for at, (type_, literal) in enumerate(zip(arguments, literals, strict=True)):

        def takes(target: SqlType, at: int = at) -> bool:
            changed = [*arguments[:at], target, *arguments[at + 1 :]]
            return _takes(spec, changed, [None if i == at else one for i, one in enumerate(literals)])

        unquoted = unquoted_number(literal)
        if type_ == STRING and (literal is None or unquoted) and takes(number):
            hints.append(
                f"Write the number without quotes: {unquoted}."
                if unquoted
                else f"CAST(… AS {number}) makes a number of a text."
            )
        if type_ == BIGINT and takes(TIMESTAMP) and not (is_comparison and _has_other_text(literals)):
            hints.append("FROM_UNIXTIME(…) makes a TIMESTAMP of milliseconds.")
        if is_numeric(type_) and literal is None and not is_comparison and takes(STRING):
            hints.append("CAST(… AS STRING) makes a text of a number.")
    return " ".join(dict.fromkeys(hints)) or None


def _has_other_text(literals: Sequence[Any]) -> bool:
    """Whether one of ``literals`` is a text that does not begin as a date does."""
    return any(isinstance(one, str) and not re.match(r"\s*\d{4}-\d", one) for one in literals)


def _takes(spec: Spec, arguments: Sequence[SqlType], literals: Sequence[Any]) -> bool:
    """Whether ``spec`` has an overload for arguments of these types."""
    if spec.typing is None:
        return any(match_signature(candidate, arguments) is not None for candidate in spec.signatures)
    try:
        return spec.typing(arguments, literals) is not None
    except Ambiguous:
        return False


def _shown(types: Sequence[SqlType]) -> str:
    return ", ".join("null" if isinstance(t, Null) else str(t) for t in types)


def _refused(name: str, spec: Spec, arguments: Sequence[SqlType], hint: str | None) -> KsqlError:
    accepted = "\n".join(f"{name}{s.shown()}" for s in spec.signatures)
    return KsqlError("FUNCTION_ARGUMENTS", name=name, given=_shown(arguments), accepted=accepted, hint=hint)


def _ambiguous(name: str, arguments: Sequence[SqlType], hint: str | None) -> KsqlError:
    return KsqlError("FUNCTION_AMBIGUOUS", name=name, given=_shown(arguments), hint=hint)


__all__ = [
    "FAMILIES",
    "Resolution",
    "aggregate",
    "aliases",
    "all_specs",
    "common_type",
    "find",
    "is_built_in",
    "lambda_parameters",
    "names",
    "nearest",
    "require",
    "resolve",
    "scalar",
    "table_function",
    "unbound_lambda",
    "with_functions",
]
