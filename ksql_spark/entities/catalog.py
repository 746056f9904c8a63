"""Functions, types, properties and variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ksql_spark.entities.base import Body, Entity, Omitted
from ksql_spark.entities.schemas import SchemaInfo


@dataclass(frozen=True)
class SimpleFunctionInfo(Body):
    """A row of SHOW FUNCTIONS; ``type`` is SCALAR, AGGREGATE or TABLE."""

    name: str
    type: str
    category: str


@dataclass(frozen=True, kw_only=True)
class FunctionNameList(Entity, type="function_names"):
    """The answer to SHOW FUNCTIONS."""

    functions: tuple[SimpleFunctionInfo, ...]


@dataclass(frozen=True, kw_only=True)
class ArgumentInfo(Body):
    """A parameter of a function."""

    name: str
    type: str
    description: str
    is_variadic: bool


@dataclass(frozen=True, kw_only=True)
class FunctionInfo(Body):
    """One way to call a function."""

    arguments: tuple[ArgumentInfo, ...]
    argument_types: tuple[str, ...]
    return_type: str
    description: str


@dataclass(frozen=True)
class FunctionExample(Body):
    """An example in one line, as in the reference; ``call``: what can be selected, except of aggregates."""

    text: str
    call: Omitted[str] = None


@dataclass(frozen=True, kw_only=True)
class FunctionDescriptionList(Entity, type="describe_function"):
    """The answer to DESCRIBE FUNCTION; ``path`` is the file that defines the function, or "internal"."""

    name: str
    description: str
    author: str
    version: str
    path: str
    type: str
    functions: tuple[FunctionInfo, ...]
    examples: tuple[FunctionExample, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TypeList(Entity, type="type_list"):
    """The answer to SHOW TYPES."""

    types: Mapping[str, SchemaInfo]


@dataclass(frozen=True)
class View(Body):
    """A row of SHOW VIEWS."""

    name: str
    query: str


@dataclass(frozen=True, kw_only=True)
class ViewsList(Entity, type="views"):
    """The answer to SHOW VIEWS."""

    views: tuple[View, ...]


@dataclass(frozen=True, kw_only=True)
class Property(Body):
    """A row of SHOW PROPERTIES; ``editable``: SET may change it."""

    name: str
    scope: Literal["KSQL", "EMBEDDED CONNECT WORKER"]
    value: str | None
    editable: bool
    level: Literal["QUERY", "SERVER"]


@dataclass(frozen=True, kw_only=True)
class PropertiesList(Entity, type="properties"):
    """The answer to SHOW PROPERTIES; it also names the properties that the request sets, and those that
    nobody sets.
    """

    properties: tuple[Property, ...]
    overwritten_properties: tuple[str, ...]
    default_properties: tuple[str, ...]


@dataclass(frozen=True)
class Variable(Body):
    """A row of SHOW VARIABLES."""

    name: str
    value: str


@dataclass(frozen=True, kw_only=True)
class VariablesList(Entity, type="variables"):
    """The answer to SHOW VARIABLES."""

    variables: tuple[Variable, ...]
