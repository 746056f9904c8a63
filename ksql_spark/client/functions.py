"""CREATE FUNCTION for functions and classes of a Python program (docs/how-to/python-functions.md)."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ksql_spark.client.errors import InterfaceError

#: the quotes around a source text, which therefore must not contain them
_QUOTE = "$$"


def create_statement(function: Callable[..., Any], name: str | None = None) -> str:
    """The statement that creates ``function`` on a server, from its source.

    A class is an aggregate function, a generator a table function, anything else a scalar function. Modules,
    functions and classes that it names are imported there; what else it uses has to be in it.

    Raises:
        InterfaceError: there is no source, or it uses a name that the server cannot import.
    """
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise InterfaceError(f"The source of {function!r} is not to be had.") from None
    tree = ast.parse(source).body[0]
    if not isinstance(tree, (ast.FunctionDef, ast.ClassDef)):
        raise InterfaceError("A function is made of def or class.")
    kind = "scalar_function"
    if isinstance(tree, ast.ClassDef):
        kind = "aggregate_function"
    elif inspect.isgeneratorfunction(function):
        kind = "table_function"
    lines = source.splitlines()[tree.lineno - 1 :]
    tree.decorator_list = []  # they run here, not on the server
    called = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name or tree.name)
    decorator = f'@ksql_spark.udf.{kind}(name="{called}")'
    text = "\n".join(["import ksql_spark.udf", *_imports(function, tree), decorator, *lines])
    if _QUOTE in text:
        raise InterfaceError(f"The source of a function must not contain {_QUOTE}.")
    return f"CREATE OR REPLACE FUNCTION {called} LANGUAGE PYTHON AS {_QUOTE}\n{text}\n{_QUOTE};"


def _imports(function: Callable[..., Any], tree: ast.AST) -> list[str]:
    """Lines that import what the source names of its module's globals."""
    if inspect.isclass(function):
        names = vars(inspect.getmodule(function) or ModuleType("none"))
    else:
        names = inspect.unwrap(function).__globals__
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    lines = []
    for name in sorted(used & names.keys()):
        value = names[name]
        if value is function:
            continue
        if isinstance(value, ModuleType):
            lines.append(f"import {value.__name__} as {name}")
            continue
        module, own = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if module in (None, "__main__") or not own or "." in own:
            raise InterfaceError(f"The server does not know {name}: define or import it within the function.")
        lines.append(f"from {module} import {own} as {name}")
    return lines
