"""CREATE VIEW and DROP VIEW: names for SELECTs (beyond ksqlDB)."""

from __future__ import annotations

from ksql_spark import analyzer, grammar
from ksql_spark.errors import KsqlError, name_hint
from ksql_spark.grammar.statements.views import CreateView, DropView
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
def create_view(statement: CreateView, context: StatementContext) -> Action:
    """CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name AS SELECT …."""
    name, metastore = statement.name, context.metastore
    source = metastore.find(name)
    if source is not None or (name in metastore.views() and not statement.or_replace):
        word = "view" if source is None else source.kind.lower()
        message = f"Cannot add view '{name}': A {word} with the same name already exists."
        if not statement.if_not_exists:
            hint = "CREATE OR REPLACE VIEW changes its query." if source is None else "Choose another name."
            raise KsqlError("INVALID_STATEMENT", reason=message, hint=hint, name=name)
        return only_warns(statement, message)
    if not context.is_replay:  # by now a source of it may be gone
        others = metastore.copy()
        others.drop_view(name)  # it cannot read itself
        analyzer.check_view(statement, others, context.config)
    query = grammar.render(statement.query)
    metastore.add_view(name, query)
    services = context.services

    def apply(_: Starts) -> Outcome:
        services.metastore.add_view(name, query)
        return Outcome(f"View {name} created.")

    return Logged(f"view/{name}/create", apply)


@handles
def drop_view(statement: DropView, context: StatementContext) -> Action:
    """DROP VIEW [IF EXISTS] name. Queries that began with it go on."""
    name, metastore = statement.name, context.metastore
    if name not in metastore.views():
        message = f"View {name} does not exist."
        if not statement.if_exists:
            hint = name_hint(name, metastore.views(), "SHOW VIEWS lists all of them.")
            raise KsqlError("INVALID_STATEMENT", reason=message, hint=hint, name=name)
        return only_warns(statement, message)
    metastore.drop_view(name)
    services = context.services

    def apply(_: Starts) -> Outcome:
        services.metastore.drop_view(name)
        return Outcome(f"View {name} was dropped.")

    return Logged(f"view/{name}/drop", apply)
