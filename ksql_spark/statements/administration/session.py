"""SET, UNSET, DEFINE, UNDEFINE for the rest of a request; ALTER SYSTEM for good (reference §1.3, §2.13)."""

from __future__ import annotations

from ksql_spark.config import canonical, find, warning
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.session import (
    AlterSystem,
    DefineVariable,
    SetProperty,
    UndefineVariable,
    UnsetProperty,
)
from ksql_spark.statements.base.context import (
    Action,
    Immediate,
    Logged,
    Outcome,
    Starts,
    StatementContext,
    only_warns,
)
from ksql_spark.statements.base.handlers import handles


def _nothing() -> None:
    return None


@handles
def set_property(statement: SetProperty, context: StatementContext) -> Action:
    """SET 'name' = 'value'; returns a warning if the property has no effect."""
    name = statement.property_name
    context.services.config.validate_override(name, statement.value)
    context.properties[canonical(name) or name] = statement.value
    message = warning(name, statement.value)
    if message is None:
        return Immediate(_nothing)
    return only_warns(statement, message)


@handles
def unset_property(statement: UnsetProperty, context: StatementContext) -> Action:
    """UNSET 'name'."""
    name = find(statement.property_name).name
    context.properties.pop(name, None)
    return Immediate(_nothing)


@handles
def define(statement: DefineVariable, context: StatementContext) -> Action:
    """DEFINE name = 'value'."""
    context.variables[statement.name] = statement.value
    return Immediate(_nothing)


@handles
def undefine(statement: UndefineVariable, context: StatementContext) -> Action:
    """UNDEFINE name; returns a warning if it is not defined."""
    if context.variables.pop(statement.name, None) is not None:
        return Immediate(_nothing)
    message = f"Cannot undefine variable '{statement.name}' which was never defined"
    return only_warns(statement, message)


@handles
def alter_system(statement: AlterSystem, context: StatementContext) -> Action:
    """ALTER SYSTEM 'name' = 'value': for the whole server, from now on; running queries restart.

    It needs ksql.runtime.feature.shared.enabled, and a property that SET may change (reference §2.13).
    """
    services = context.services
    feature = "ksql.runtime.feature.shared.enabled"
    if not services.config[feature]:
        raise KsqlError(
            "INVALID_STATEMENT",
            reason=f"ALTER SYSTEM needs {feature}=true in the server's configuration.",
            hint=f"SET '{statement.property_name}' changes it for a session.",
        )
    value = services.config.validate_override(statement.property_name, statement.value)
    name = find(statement.property_name).name

    def apply(_: Starts) -> Outcome:
        services.current_config.config = services.config.with_values({name: value})
        if not services.queries.is_replaying:
            for query in services.queries.all():
                if not query.is_transient:
                    services.queries.restart(query.id)
        return Outcome(f"System property {name} was set to {services.config.text(name)}.")

    return Logged(f"cluster/{name}/alter", apply)
