"""User functions: loads those of the configured folder and modules; CREATE FUNCTION, DROP FUNCTION."""

from __future__ import annotations

import ast
import dataclasses
import keyword
import logging
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ksql_spark import grammar, types
from ksql_spark.analyzer.expressions.type_nodes import bind_type, resolve_type
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError, name_hint
from ksql_spark.expressions import Call
from ksql_spark.functions import registry
from ksql_spark.functions.jars import spec_of as spec_of_jar
from ksql_spark.functions.spec import Spec
from ksql_spark.functions.user import CodeSource, spec_of
from ksql_spark.grammar.statements.functions import CreateFunction, DropFunction
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.clauses import AggregateCall
from ksql_spark.services.java_functions import JavaFunctions
from ksql_spark.services.python_functions import PythonFunctions, Source
from ksql_spark.statements.base.context import (
    Action,
    Logged,
    Outcome,
    Starts,
    StatementContext,
    only_warns,
)
from ksql_spark.statements.base.handlers import handles

log = logging.getLogger(__name__)

ALLOWED = "ksql.create.function.enabled"
Report = Callable[[str], None]


# ---- at the start -------------------------------------------------------------------------------------


def load(folders: PythonFunctions, metastore: MetaStore, config: Config, report: Report) -> None:
    """Add the functions of the configured folder and modules; report those that cannot be loaded.

    Of functions with one name the first counts: Python files before jars, each by name.
    """
    folders.remove_archives()
    sources = folders.sources()
    if sources:
        report("loading user functions")
    count = 0
    for source, description in zip(sources, folders.describe(sources), strict=True):
        try:
            for spec in _specs(source, description):
                _check_free(spec.name, metastore)
                metastore.add_function(spec)
                count += 1
        except (KsqlError, grammar.ParseFailed) as error:
            log.error("%s", error)
            report(str(error))
    java = JavaFunctions(folders.extensions)
    for jar in java.jars():
        report(f"loading user functions of {jar.name}")
        count += _load_jar(java, jar, metastore, config, report)
    if count:
        report(f"loaded {count} user function{'s' if count > 1 else ''}")


def _load_jar(java: JavaFunctions, jar: Path, metastore: MetaStore, config: Config, report: Report) -> int:
    """Add the functions of a jar, and report those that are left out; returns how many there are."""
    description = java.describe(jar)
    problems = description.get("problems", [])
    if "error" in description:
        problems = [description["error"]]
    elif not description["functions"] and not problems:
        problems = ["it has no class with @UdfDescription, @UdafDescription or @UdtfDescription"]

    def refuse(error: Exception) -> None:
        log.error("%s", error)
        report(str(error))

    for problem in problems:
        refuse(KsqlError("FUNCTION_CODE", where=jar, reason=problem))
    count = 0
    for described in description.get("functions", []):
        name = described["name"]
        properties = {
            full: value
            for prefix in (name.lower(), "_global_")
            for full, value in config.with_prefix(f"ksql.functions.{prefix}.").items()
        }
        try:
            spec = spec_of_jar(described, str(jar), properties, _resolve, partial(java.result_of, jar))
            _check_free(spec.name, metastore)
        except (KsqlError, grammar.ParseFailed) as error:
            refuse(KsqlError("FUNCTION_CODE", where=jar, reason=f"{name}: {str(error).rstrip('.')}"))
            continue
        metastore.add_function(spec)
        count += 1
    return count


def _specs(source: Source, description: dict[str, Any]) -> list[Spec]:
    where = CodeSource(source["folder"], source.get("file"), source.get("module"), source.get("archive"))
    if "error" in description:
        raise KsqlError("FUNCTION_CODE", where=where.shown, reason=description["error"])
    return [spec_of(described, where, _resolve) for described in description["functions"]]


def _resolve(text: str) -> types.SqlType:
    return resolve_type(grammar.parse_type(text), {})


def _check_free(name: str, metastore: MetaStore) -> None:
    if registry.is_built_in(name):
        raise KsqlError(
            "FUNCTION_EXISTS", name=name, where="it comes with the server", hint="Choose another name."
        )
    existing = metastore.functions().get(name)
    if existing is not None and existing.origin is not None:
        raise KsqlError("FUNCTION_EXISTS", name=name, where=f"it is defined in {existing.origin.path}")


# ---- statements ---------------------------------------------------------------------------------------


@handles
def create_function(statement: CreateFunction, context: StatementContext) -> Action:
    """CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] name [(parameters) RETURNS type] LANGUAGE PYTHON AS …"""
    _check_allowed(context)  # also on replay: whoever can write to the log's topic must not run code here
    name = statement.name.upper()
    existing = context.metastore.functions().get(name)
    if existing is not None and statement.if_not_exists:
        message = f"Cannot add function {name}: A function with the same name already exists."
        return only_warns(statement, message)
    if existing is not None and statement.or_replace:
        _check_own(existing, context)
        _check_unused(name, "replaced", context)
    else:
        _check_free(name, context.metastore)
    code = _wrapped(statement, context) if statement.returns is not None else statement.code
    folders = context.services.functions
    source = folders.write(name, code)
    (description,) = folders.describe([source])
    if "error" in description:
        raise KsqlError("FUNCTION_CODE", where=f"the code of {name}", reason=description["error"])
    specs = {spec.name: spec for spec in _specs(source, description)}
    if name not in specs:
        there = ", ".join(specs) or "nothing decorated"
        raise KsqlError(
            "FUNCTION_CODE", where=f"the code of {name}", reason=f"it defines {there}, no function {name}",
            hint="Decorate one of that name with @scalar_function, @aggregate_function or @table_function, or"
            " write (parameters) RETURNS type before LANGUAGE for code that is only a function's body.",
        )  # fmt: skip
    spec = specs[name]
    context.metastore.add_function(spec)
    services = context.services

    def apply(_: Starts) -> Outcome:
        services.metastore.add_function(spec)
        return Outcome(f"Function {name} {'replaced' if existing is not None else 'created'}")

    return Logged(f"function/{name}/create", apply)


@handles
def drop_function(statement: DropFunction, context: StatementContext) -> Action:
    """DROP FUNCTION [IF EXISTS] name."""
    _check_allowed(context)
    name = statement.name.upper()
    spec = context.metastore.functions().get(name)
    if spec is None:
        if registry.is_built_in(name):
            raise KsqlError("FUNCTION_FIXED", name=name, reason="it comes with the server")
        if statement.if_exists:
            message = f"Function {name} does not exist."
            return only_warns(statement, message)
        hint = name_hint(name, context.metastore.functions(), "SHOW FUNCTIONS lists all functions.")
        raise KsqlError("FUNCTION_UNKNOWN", name=name, hint=hint)
    _check_own(spec, context)
    _check_unused(name, "dropped", context)
    context.metastore.drop_function(name)
    services = context.services

    def apply(_: Starts) -> Outcome:
        services.metastore.drop_function(name)
        return Outcome(f"Function {name} dropped")

    return Logged(f"function/{name}/drop", apply)


def _check_allowed(context: StatementContext) -> None:
    if not context.services.config[ALLOWED]:
        raise KsqlError(
            "FUNCTION_STATEMENTS_OFF",
            hint=f"The server's operator can set {ALLOWED}=true or put a file into the directory of "
            f"ksql.extension.dir.",
        )


def _check_own(spec: Spec, context: StatementContext) -> None:
    """Only functions from CREATE FUNCTION may be replaced or dropped."""
    path = spec.origin.path if spec.origin is not None else ""
    if not path.startswith(str(context.services.functions.created)):
        raise KsqlError(
            "FUNCTION_FIXED", name=spec.name, reason=f"it is defined in {path}",
            hint="Change it there and restart the server.",
        )  # fmt: skip


def _check_unused(name: str, what: str, context: StatementContext) -> None:
    queries = [q.id or q.sink for q in context.queries if name in _called(q.logical)]
    running = (q for q in context.services.queries.all() if q.is_transient)
    queries += [q.id for q in running if name in _called(q.plan)]
    if queries:
        raise KsqlError("FUNCTION_IN_USE", name=name, what=what, queries=", ".join(sorted(queries)))


def _called(value: Any) -> Iterator[str]:
    """Names of all functions and operators that a plan calls, in nodes of any class."""
    if dataclasses.is_dataclass(value):
        if isinstance(value, Call | AggregateCall):
            yield value.function
        for field in dataclasses.fields(value):
            yield from _called(getattr(value, field.name))
    elif isinstance(value, (tuple, list, frozenset)):
        for item in value:
            yield from _called(item)


# ---- a body as a module -------------------------------------------------------------------------------


def _wrapped(statement: CreateFunction, context: StatementContext) -> str:
    """A module for a function body: parameters have lower-case names and may be None.

    Raises:
        KsqlError: FUNCTION_CODE if a parameter is a Python keyword, or the body never returns a value.
    """
    parameters = []
    for parameter in statement.parameters:
        name = parameter.name.lower()
        if keyword.iskeyword(name):
            raise KsqlError(
                "FUNCTION_CODE", where=f"the code of {statement.name}",
                reason=f"{name} is a Python keyword and cannot be a parameter",
            )  # fmt: skip
        parameters.append(f"{name}: {_hint(bind_type(parameter.type, context.metastore))} | None")
    assert statement.returns is not None  # the caller has checked it
    result = bind_type(statement.returns, context.metastore)
    body = _indented(statement.code)
    if not _can_return("\n".join(["def _():", *body])):
        raise KsqlError(
            "FUNCTION_CODE", where=f"the code of {statement.name}",
            reason="it never returns a value, so every call would be NULL",
            hint="The body is the function's own code, without its def line: end it with return …",
        )  # fmt: skip
    return "\n".join(
        [
            "from typing import Annotated, Any",
            "from ksql_spark.types import Array, Decimal, Field, Map, Primitive, Struct",
            "from ksql_spark.udf import scalar_function",
            "",
            f"@scalar_function(name={statement.name.upper()!r})",
            f"def {_python_name(statement.name)}({', '.join(parameters)}) -> {_hint(result)} | None:",
            *body,
            "",
        ]
    )


def _can_return(definition: str) -> bool:
    """Whether the defined function has a ``return`` or ``raise`` of its own.

    True for code that Python cannot parse, because loading it gives a clearer error.
    """
    try:
        (function,) = ast.parse(definition).body
    except SyntaxError:
        return True
    return any(isinstance(node, ast.Return | ast.Raise) for node in _own_nodes(function))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's code, without the code of functions and classes that it defines."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _own_nodes(child)


def _hint(type_: types.SqlType) -> str:
    return f"Annotated[Any, {type_!r}]"


def _python_name(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name.lower()) + "_"


def _indented(code: str) -> Sequence[str]:
    body = textwrap.dedent(code.lstrip("\n")).strip()
    return [f"    {line}" if line.strip() else "" for line in body.splitlines()] or ["    return None"]
