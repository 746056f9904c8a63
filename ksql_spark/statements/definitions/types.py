"""CREATE TYPE and DROP TYPE (reference §2.9): names for types; sources store the expanded type."""

from __future__ import annotations

from ksql_spark import analyzer
from ksql_spark.errors import KsqlError, name_hint
from ksql_spark.grammar.statements.types import CreateType, DropType
from ksql_spark.statements.base.context import (
    Action,
    Logged,
    Outcome,
    Starts,
    StatementContext,
    only_warns,
)
from ksql_spark.statements.base.handlers import handles


@handles
def create_type(statement: CreateType, context: StatementContext) -> Action:
    """CREATE TYPE [IF NOT EXISTS] name AS type."""
    name = statement.name
    if name in context.metastore.types():
        message = f"Cannot register custom type '{name}' since it is already registered with type: "
        message += str(context.metastore.types()[name])
        if not statement.if_not_exists:
            raise KsqlError("INVALID_STATEMENT", reason=message, name=name)
        return only_warns(statement, message)
    type_ = analyzer.bind_type(statement.data_type, context.metastore)
    context.metastore.add_type(name, type_)
    services = context.services

    def apply(_: Starts) -> Outcome:
        services.metastore.add_type(name, type_)
        return Outcome(f"Registered custom type with name '{name}' and SQL type {type_}")

    return Logged(f"type/{name}/create", apply)


@handles
def drop_type(statement: DropType, context: StatementContext) -> Action:
    """DROP TYPE [IF EXISTS] name."""
    name = statement.name
    if name not in context.metastore.types():
        message = f"Type {name} does not exist."
        if not statement.if_exists:
            hint = name_hint(name, context.metastore.types(), "SHOW TYPES lists all of them.")
            raise KsqlError("INVALID_STATEMENT", reason=message, hint=hint, name=name)
        return only_warns(statement, message)
    context.metastore.drop_type(name)
    services = context.services

    def apply(_: Starts) -> Outcome:
        services.metastore.drop_type(name)
        return Outcome(f"Dropped type '{name}'")

    return Logged(f"type/{name}/drop", apply)
