"""User functions in jars as specs, made from the descriptions of JarDescription.java (ADR 13).

Their Spark SQL text is a call of ``ksql.`jar:{…}```, which JarFunctions.java binds; the JSON text in its name
has the jar, the method and the SQL types. This module does not load user code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, Expression
from ksql_spark.functions import registry
from ksql_spark.functions.signatures import (
    AnyDecimal,
    ArrayOf,
    MapOf,
    Match,
    Parameter,
    Pattern,
    Signature,
    Variable,
    match_signature,
)
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.functions.spec import Category, Kind, Lowering, Noted, OnNull, Origin, Spec
from ksql_spark.functions.user import Resolve
from ksql_spark.types import (
    PRIMITIVES,
    STRING,
    VARIANT,
    Array,
    Decimal,
    Map,
    Null,
    Primitive,
    SqlType,
    Struct,
    quote_identifier,
)

#: a call with the types of its arguments -> the SQL types that the function itself says, as text
Provide = Callable[[Mapping[str, Any]], Mapping[str, str]]


@dataclass(frozen=True)
class Variant:
    """One method of a function.

    Args:
        signature: how it is called.
        method: the method, as JarMethod.java writes it.
        provider: the method that says the result's type; empty: the aggregate function itself does; None: the
            signature does.
        initial: how many of the last parameters are those of an aggregate's factory.
        state: the type of an aggregate's state; None: the function says it.
    """

    signature: Signature
    method: str
    provider: str | None = None
    initial: int = 0
    state: SqlType | None = None


@dataclass(frozen=True)
class JarFunction:
    """A function in a jar: what calls of it need.

    Args:
        name: its name.
        kind: its kind.
        jar: the jar's path.
        owner: its class.
        properties: those of the server for it, by full name.
        resolve: converts a type's text to the type.
        provide: asks the function for types.
    """

    name: str
    kind: Kind
    jar: str
    owner: str
    properties: Mapping[str, Any]
    resolve: Resolve
    provide: Provide

    def provided(
        self, variant: Variant, types: Sequence[SqlType], initial: Sequence[Any] = ()
    ) -> tuple[SqlType, SqlType | None]:
        """The types of result and state that the function itself says.

        Raises:
            KsqlError: FUNCTION_CODE.
        """
        call = {
            **self.place(variant),
            "provider": variant.provider,
            "types": [tree_of(t) for t in types],
            "initial": list(initial),
        }
        answer = self.provide(call)
        if "error" in answer:
            raise KsqlError("FUNCTION_CODE", where=self.jar, reason=f"{self.name}: {answer['error']}")
        state = answer.get("aggregate")
        return self.resolve(answer["returns"]), None if state is None else self.resolve(state)

    def place(self, variant: Variant) -> dict[str, Any]:
        """Where a method is, and the properties for it."""
        return {"class": self.owner, "method": variant.method, "properties": dict(self.properties)}


@dataclass(frozen=True)
class JarLowering:
    """The lowering of a function in a jar; over a table, a last argument says whether a row is undone."""

    function: JarFunction
    variants: tuple[Variant, ...]

    def __call__(self, arguments: Sequence[str], types: Sequence[SqlType]) -> str:
        """The Spark SQL text of a call."""
        return self._text("jar", arguments, types)

    def outcome(self, arguments: Sequence[str], types: Sequence[SqlType]) -> str:
        """The text of a call that returns (value, error)."""
        return self._text("jar_outcome", arguments, types)

    def of_state(self, arguments: Sequence[str], types: Sequence[SqlType]) -> str:
        """The text by which a state is known: it goes on with another jar that has the function."""
        return self._text("jar", arguments, types, is_placed=False)

    def _text(
        self, prefix: str, arguments: Sequence[str], types: Sequence[SqlType], *, is_placed: bool = True
    ) -> str:
        variant, match = self._chosen(types)
        count = len(types) - variant.initial
        initial = [_constant(t) for t in arguments[count : len(types)]]
        result, state = _types(self.function, variant, match, types, initial)
        code: dict[str, Any] = {
            "name": self.function.name,
            "kind": self.function.kind.value,
            "types": [tree_of(t) for t in types[:count]],
            "returns": tree_of(result),
            "spark": spark_type(result),
        }
        if self.function.kind is Kind.AGGREGATE:
            assert state is not None
            code |= {"aggregate": tree_of(state), "stored": spark_type(state), "initial": initial}
        if is_placed:
            code |= {"jar": self.function.jar, **self.function.place(variant)}
            code["deterministic"] = len(types) > 0
        text = json.dumps(code, sort_keys=True)
        passed = [*arguments[:count], *arguments[len(types) :]]
        return f"ksql.{quote_identifier(f'{prefix}:{text}')}({', '.join(passed)})"

    def _chosen(self, types: Sequence[SqlType]) -> tuple[Variant, Match]:
        """The variant for arguments that have been converted to the types of one."""
        fits = [
            ((match.cost, v.signature.is_variadic, match.generics), v, match)
            for v in self.variants
            if (match := match_signature(v.signature, types)) is not None
        ]
        _, variant, match = min(fits, key=lambda fit: fit[0])
        return variant, match


def _types(
    function: JarFunction, variant: Variant, match: Match, types: Sequence[SqlType], initial: Sequence[Any]
) -> tuple[SqlType, SqlType | None]:
    """The types of a call's result, for a table function an array of rows, and of its state."""
    if variant.provider is None:
        result, state = match.type_of(cast(Pattern, variant.signature.result)), variant.state
    else:
        result, state = function.provided(variant, types[: len(types) - variant.initial], initial)
    return Array(result) if function.kind is Kind.TABLE else result, state


def spec_of(
    description: Mapping[str, Any],
    jar: str,
    properties: Mapping[str, Any],
    resolve: Resolve,
    provide: Provide,
) -> Spec:
    """The spec of a function.

    Args:
        description: one of the ``functions`` that JavaFunctions.describe returns.
        jar: the jar's path.
        properties: the server's properties for it.
        resolve: converts a type's text to the type.
        provide: asks the function for types.
    """
    kind = Kind(description["kind"])
    function = JarFunction(
        description["name"].upper(), kind, jar, description["class"], properties, resolve, provide
    )
    variants = tuple(v for one in description["variants"] for v in _variants(function, one))
    explained = [p for v in description["variants"] for p in v["parameters"] if p["description"]]
    is_primitive = all(v.get("primitive") for v in description["variants"])
    lowering = JarLowering(function, variants)
    can_undo = any(v.signature.can_undo for v in variants)
    return Spec(
        function.name,
        kind,
        description.get("category") or Category.OTHER,
        description["description"],
        tuple(v.signature for v in variants),
        lowering,
        parameters={p["name"]: p["description"] for p in explained},
        # a primitive result is NULL only if the call failed
        on_null=OnNull.ERROR if kind is Kind.SCALAR and is_primitive else OnNull.VALUE,
        spark_table=lowering if kind is Kind.AGGREGATE and can_undo else None,
        merge=True,
        origin=Origin(jar, description.get("author", ""), description.get("version", "")),
    )


def _variants(function: JarFunction, description: Mapping[str, Any]) -> list[Variant]:
    """A method as one variant; as two if its last parameter may be left out or repeated."""
    initial = int(description.get("initial", 0))
    first_initial = len(description["parameters"]) - initial
    parameters = [
        Parameter(p["name"], _pattern(p["type"], function.resolve), i >= first_initial)
        for i, p in enumerate(description["parameters"])
    ]
    variadic = description.get("variadic")
    provider = description.get("provider")
    state = description.get("aggregate")

    def variant(chosen: Sequence[Parameter], variadic_at: int | None) -> Variant:
        made = Variant(
            Signature(tuple(chosen), STRING, "", variadic_at),
            description["method"],
            provider,
            initial,
            None if state is None else Match(()).type_of(_pattern(state, function.resolve)),
        )
        if provider is None:
            result: Any = _pattern(description["returns"], function.resolve)
            shown = str(result)
        else:

            def result(types: Sequence[SqlType]) -> SqlType:
                return function.provided(made, types[: len(types) - initial], [None] * initial)[0]

            shown = "depends on the arguments"
        explained, can_undo = description["description"], bool(description.get("undo"))
        signature = Signature(tuple(chosen), result, shown, variadic_at, explained, can_undo)
        return replace(made, signature=signature)

    variants = [variant(parameters, variadic)]
    if variadic is not None and function.kind is not Kind.AGGREGATE:
        variants.append(variant(parameters[:-1], None))
    return variants


def _pattern(tree: Any, resolve: Resolve) -> Pattern:
    """The pattern of a type that ParameterTypes.java writes."""
    match tree:
        case "DECIMAL":
            return AnyDecimal()
        case str():
            return PRIMITIVES[tree]
        case {"schema": text}:
            return cast(Pattern, resolve(text))
        case {"variable": name}:
            return Variable(name)
        case {"array": element}:
            return ArrayOf(_pattern(element, resolve))
        case {"map": [key, value]}:
            return MapOf(_pattern(key, resolve), _pattern(value, resolve))
    raise ValueError(f"no type: {tree}")


def tree_of(type_: SqlType) -> Any:
    """A type in JSON, for TypeTree.java."""
    match type_:
        case Null():
            return None
        case Primitive(name):
            return name if type_ != VARIANT else STRING.name
        case Decimal(precision, scale):
            return {"decimal": [precision, scale]}
        case Array(element):
            return {"array": tree_of(element)}
        case Map(key, value):
            return {"map": [tree_of(key), tree_of(value)]}
        case Struct(fields):
            return {"struct": [[f.name, tree_of(f.type)] for f in fields]}
    raise ValueError(f"functions in jars take no {type_}")


def _constant(text: str) -> Any:
    """The value of a constant's Spark SQL text: a number, a text or a BOOLEAN."""
    bare = text.strip("()")
    if bare.startswith("'"):
        return bare[1:-1].replace("\\'", "'").replace("\\\\", "\\")
    if bare in ("true", "false"):
        return bare == "true"
    if bare.endswith("D"):
        return float(bare[:-1])
    return int(bare.rstrip("L")) if bare.rstrip("L").lstrip("-").isdigit() else None


def state_text(lowering: Lowering, arguments: Sequence[str], types: Sequence[SqlType]) -> str:
    """The text by which the state of an aggregate is known."""
    noted = lowering.of_state if isinstance(lowering, (JarLowering, Noted)) else lowering
    return noted(arguments, types)


def lowering_of(node: Expression) -> JarLowering | None:
    """The lowering of a call of a function in a jar; None if ``node`` is none."""
    lowering = registry.require(node.function).spark if isinstance(node, Call) else None
    return lowering if isinstance(lowering, JarLowering) else None
