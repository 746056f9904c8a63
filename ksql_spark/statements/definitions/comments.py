"""COMMENT ON: what people say about streams, tables, views and their columns (beyond ksqlDB)."""

from __future__ import annotations

from ksql_spark.errors import KsqlError
from ksql_spark.expressions import name_text
from ksql_spark.grammar.nodes import position
from ksql_spark.grammar.statements.comments import Comment
from ksql_spark.statements.base.context import Action, Logged, Outcome, Starts, StatementContext
from ksql_spark.statements.base.handlers import handles


@handles
def comment(statement: Comment, context: StatementContext) -> Action:
    """COMMENT ON STREAM|TABLE|VIEW name, or COLUMN name.column, IS 'text' | NULL."""
    name, services = statement.name, context.services
    column = None if statement.column is None else str(statement.column.this)
    _check(statement, column, context)
    text = None if statement.literal is None else str(statement.literal.this) or None
    context.metastore.comment(name, column, text)

    def apply(_: Starts) -> Outcome:
        services.metastore.comment(name, column, text)
        return Outcome(f"Comment {'removed' if text is None else 'set'}.")

    return Logged(f"comment/{name if column is None else f'{name}.{column}'}/set", apply)


def _check(statement: Comment, column: str | None, context: StatementContext) -> None:
    """Refuse what does not exist, or is of another kind.

    Raises:
        KsqlError: SOURCE_UNKNOWN, INVALID_STATEMENT.
    """
    name, metastore = statement.name, context.metastore
    source = None if name in metastore.views() else metastore.require(name, position(statement.this))
    kind = "VIEW" if source is None else source.kind
    if statement.kind not in (kind, "COLUMN") or (source is None and column is not None):
        raise KsqlError(
            "INVALID_STATEMENT",
            reason=f"{name_text(name)} is a {kind.lower()}.",
            position=position(statement.this),
            hint=f"Write COMMENT ON {kind} {name_text(name)} IS '…';",
        )
    if source is None or column is None or source.schema.find(column) is not None:
        return
    reason, hint = source.lacks(column)
    raise KsqlError(
        "INVALID_STATEMENT",
        reason=reason,
        position=position(statement.column) if statement.column is not None else None,
        hint=hint,
    )
