"""User functions in Python as specs, made from the descriptions of ksql_spark.udf_worker.

Their Spark SQL text is a call of ``ksql.`python:{…}```, which PythonFunctions.java binds; the JSON text in
its name has everything that a worker needs to find and run the function. This module does not load user code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ksql_spark.expressions import Call, Expression
from ksql_spark.functions import registry
from ksql_spark.functions.signatures import AnyDecimal, Parameter, Pattern, Signature
from ksql_spark.functions.spark_text import spark_type
from ksql_spark.functions.spec import Category, Kind, OnNull, Origin, Spec
from ksql_spark.types import Array, SqlType, quote_identifier

#: converts a type's text to the type
Resolve = Callable[[str], SqlType]

#: the folder that holds our packages: workers import ksql_spark.udf from there
_ROOT = str(Path(__file__).parent.parent.parent)


@dataclass(frozen=True)
class CodeSource:
    """The source of user code.

    Args:
        folder: the server's folder of functions; it is on the workers' path, and workers are pooled by it.
        file: path of the file with the functions, or None.
        module: name of an installed module with them, or None.
        archive: path of the archive that executors get, or None.
    """

    folder: str
    file: str | None = None
    module: str | None = None
    archive: str | None = None

    def as_json(self) -> dict[str, str]:
        """The argument of the worker's ``load``."""
        members = {"folder": self.folder, "file": self.file, "module": self.module, "archive": self.archive}
        return {name: value for name, value in members.items() if value is not None}

    @property
    def shown(self) -> str:
        """The name of the source in messages and DESCRIBE FUNCTION."""
        return self.file or self.module or ""


def spec_of(description: Mapping[str, Any], source: CodeSource, resolve: Resolve) -> Spec:
    """The spec of a function.

    Args:
        description: one of the ``functions`` that ``udf_worker --describe`` writes.
        source: its source.
        resolve: converts a type's text to the type.
    """
    kind = Kind(description["kind"])
    returns = resolve(description["returns"])
    shown = returns.element if kind is Kind.TABLE and isinstance(returns, Array) else returns
    parameters = [
        Parameter(p["name"], cast(Pattern, AnyDecimal() if p["type"] is None else resolve(p["type"])))
        for p in description["parameters"]
    ]
    required = sum(not p["default"] for p in description["parameters"])
    is_variadic = any(p["variadic"] for p in description["parameters"])
    signatures = [
        Signature(
            tuple(parameters[:count]),
            cast(Pattern, shown),
            str(shown),
            count - 1 if is_variadic and count == len(parameters) else None,
        )
        for count in range(required - is_variadic, len(parameters) + 1)
    ]
    json_text = json.dumps(
        {
            **source.as_json(),
            "name": description["name"],
            "kind": kind.value,
            "parameters": len(parameters),
            "returns": spark_type(returns),
            "deterministic": description["deterministic"],
            "python": sys.executable,
            "path": _ROOT,
        },
        sort_keys=True,
    )
    lowering = UserLowering(json_text, spark_type(returns))
    can_undo = bool(description.get("undo"))
    return Spec(
        description["name"],
        kind,
        {Kind.AGGREGATE: Category.AGGREGATE, Kind.TABLE: Category.TABLE}.get(kind, Category.OTHER),
        description["description"],
        tuple(signatures),
        lowering,
        parameters={p["name"]: p["description"] for p in description["parameters"] if p["description"]},
        # a result that cannot be None is NULL only if the call failed, or was skipped because of a NULL
        on_null=OnNull.ERROR if kind is Kind.SCALAR and not description["returns_optional"] else OnNull.VALUE,
        is_deterministic=description["deterministic"],
        spark_table=lowering if can_undo else None,
        merge=bool(description.get("merge")),
        origin=Origin(source.shown, description.get("author", ""), description.get("version", "")),
    )


@dataclass(frozen=True)
class UserLowering:
    """The lowering of a user function: a call by its ``code``, a JSON text (PythonFunctions.java)."""

    code: str
    returns: str

    def __call__(self, arguments: Sequence[str], _: Sequence[SqlType]) -> str:
        """The Spark SQL text of a call."""
        return f"ksql.{quote_identifier(f'python:{self.code}')}({', '.join(arguments)})"


def _user_lowering(function: str) -> UserLowering:
    lowering = registry.require(function).spark
    assert isinstance(lowering, UserLowering)
    return lowering


def code_of(function: str) -> str:
    """The JSON text with the source of a user function."""
    return _user_lowering(function).code


def spark_result(function: str) -> str:
    """The Spark type of a user function's result, as text."""
    return _user_lowering(function).returns


def is_user_call(node: Expression) -> bool:
    """Whether ``node`` is a call of a user function."""
    return isinstance(node, Call) and registry.require(node.function).origin is not None
