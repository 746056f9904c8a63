"""CREATE INDEX and DROP INDEX: columns by which pull queries find rows (beyond ksqlDB)."""

from __future__ import annotations

from ksql_spark import analyzer
from ksql_spark.errors import KsqlError, name_hint
from ksql_spark.grammar.nodes import position
from ksql_spark.grammar.statements.indexes import CreateIndex, DropIndex
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
def create_index(statement: CreateIndex, context: StatementContext) -> Action:
    """CREATE INDEX [IF NOT EXISTS] [name] ON table (column, …)."""
    name, metastore = statement.name, context.metastore
    existing = metastore.indexes().get(name)
    if existing is not None:
        message = f"Cannot add index '{name}': {existing.table} has an index with the same name already."
        if statement.if_not_exists:
            return only_warns(statement, message)
        raise KsqlError(
            "INVALID_STATEMENT",
            reason=message,
            position=position(statement.this) or position(statement.table),
            hint="Choose another name, or write CREATE INDEX IF NOT EXISTS.",
        )
    index = analyzer.bind_create_index(statement, metastore, context.config)
    metastore.add_index(index)
    services = context.services

    def apply(_: Starts) -> Outcome:
        services.metastore.add_index(index)
        services.views.reindex(services.metastore.require(index.table))
        return Outcome(f"Index {name} created.")

    return Logged(f"index/{name}/create", apply)


@handles
def drop_index(statement: DropIndex, context: StatementContext) -> Action:
    """DROP INDEX [IF EXISTS] name."""
    name = statement.name
    indexes = context.metastore.indexes()
    if name not in indexes:
        message = f"Index {name} does not exist."
        if statement.if_exists:
            return only_warns(statement, message)
        seen = filter(lambda n: context.rights.may_read(indexes[n].table), indexes)
        hint = name_hint(name, seen, "SHOW INDEXES lists all of them.")
        raise KsqlError("INVALID_STATEMENT", reason=message, hint=hint, name=name)
    table = indexes[name].table
    context.metastore.drop_index(name)
    services = context.services

    def apply(_: Starts) -> Outcome:
        services.metastore.drop_index(name)
        services.views.reindex(services.metastore.require(table))
        return Outcome(f"Index {name} was dropped.")

    return Logged(f"index/{name}/drop", apply)
