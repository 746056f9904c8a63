"""SET, UNSET, DEFINE and UNDEFINE (reference §1.3, §2.13): they hold for the rest of the request."""

from __future__ import annotations

from grammar.statements.session import (
    AlterSystem,
    DefineVariable,
    SetProperty,
    UndefineVariable,
    UnsetProperty,
)
from ksql_spark import __version__
from ksql_spark.config import canonical, find
from ksql_spark.errors import KsqlError
from ksql_spark.statements.entities import entity
from ksql_spark.statements.scope import Action, Immediate, Scope


def _nothing() -> None:
    return None


def set_property(statement: SetProperty, scope: Scope) -> Action:
    """SET 'name' = 'value'."""
    name = statement.property_name
    scope.services.config.validate_override(name, statement.value)
    scope.properties[canonical(name) or name] = statement.value
    return Immediate(_nothing)


def unset_property(statement: UnsetProperty, scope: Scope) -> Action:
    """UNSET 'name'."""
    name = find(statement.property_name).name
    scope.properties.pop(name, None)
    return Immediate(_nothing)


def define(statement: DefineVariable, scope: Scope) -> Action:
    """DEFINE name = 'value'."""
    scope.variables[statement.name] = statement.value
    return Immediate(_nothing)


def undefine(statement: UndefineVariable, scope: Scope) -> Action:
    """UNDEFINE name: a warning where it is not defined."""
    if scope.variables.pop(statement.name, None) is not None:
        return Immediate(_nothing)
    message = f"Cannot undefine variable '{statement.name}' which was never defined"
    return Immediate(lambda: entity("warning_entity", statement.source_text, message=message))


def alter_system(statement: AlterSystem, scope: Scope) -> Action:
    """ALTER SYSTEM 'name' = 'value'."""
    raise KsqlError("NOT_DONE_YET", what="ALTER SYSTEM", version=__version__)
