"""UPDATE, DELETE and TRUNCATE of a table's rows (beyond ksqlDB, reference §2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.failures import invalid, within_statement
from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.definitions.write_rules import check_writable, writer_of
from ksql_spark.analyzer.expressions.binding import assigned, bind_expression, bind_predicate
from ksql_spark.analyzer.expressions.coercion import insert_coerce
from ksql_spark.analyzer.expressions.untyped import typed_text
from ksql_spark.analyzer.reads.index_lookups import find_index
from ksql_spark.analyzer.reads.lookups import check_key_values, check_scan, find_lookups
from ksql_spark.analyzer.reads.pull_rules import DISK_COLUMNS
from ksql_spark.analyzer.relations.binding import source_relation
from ksql_spark.analyzer.rows.inserts import BoundRow
from ksql_spark.errors import nearest
from ksql_spark.expressions import Cast, Expression, Literal
from ksql_spark.grammar.statements.rows import RowChange, UpdateRows
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import Lookup
from ksql_spark.types import Decimal, SqlType, is_numeric


@dataclass(frozen=True)
class BoundChange:
    """Rows of a table to write again, or to delete.

    Args:
        query: finds the rows; it has no items.
        row: what SET says; None where rows are deleted.
    """

    query: Lookup
    row: BoundRow | None

    @property
    def source(self) -> DataSource:
        """The table."""
        return self.query.source


def bind_row_change(
    statement: RowChange,
    metastore: MetaStore,
    config: Mapping[str, Any],
    queries: Mapping[str, str] | None = None,
) -> BoundChange:
    """Bind UPDATE, DELETE or TRUNCATE: which rows change, and how.

    Args:
        queries: the ids of the queries that write streams and tables, by the name of what they write.

    Raises:
        KsqlError: the rows cannot be changed, the WHERE needs what pull queries refuse, or a value does not
            fit its column.
    """
    with within_statement(statement):
        settings.check_lambdas(statement, config)
        relation = source_relation(statement.this, metastore, prefixed=False)
        source = relation.source
        assert source is not None
        _check_changeable(source, statement, metastore, config, queries or {})
        scope = Scope(
            (relation,),
            types=metastore.types(),
            ansi=settings.is_ansi(config),
            untyped=settings.is_untyped(config),
            postgres=settings.is_postgres(config),
            forbidden=DISK_COLUMNS,
        ).at("WHERE")
        if statement.where is None:
            return BoundChange(Lookup(source, None, None, (), frozenset()), None)
        predicate = bind_predicate(statement.where, scope)
        check_key_values(predicate, source, statement.where, config)
        lookups = find_lookups(predicate, source)
        index = find_index(predicate, source, metastore) if lookups is None else None
        if index is None:
            check_scan(predicate, source, statement, config)
        row = None
        if isinstance(statement, UpdateRows):
            values = tuple(_values(statement, source, scope.at("SET")).items())
            row = BoundRow(source, values, tuple(one.value for one in statement.assignments))
        query = Lookup(source, lookups, predicate, (), frozenset(), index=index)
        return BoundChange(query, row)


def _check_changeable(
    source: DataSource,
    statement: RowChange,
    metastore: MetaStore,
    config: Mapping[str, Any],
    queries: Mapping[str, str],
) -> None:
    node, name = statement.this, source.name
    if not settings.flag(config, "ksql.insert.into.values.enabled"):
        raise invalid("The server has disabled INSERT INTO ... VALUES functionality.", statement)
    if not source.is_table:
        raise invalid(
            f"{name} is a stream: only rows of tables can be changed.",
            node,
            hint="INSERT INTO adds a record to a stream.",
        )
    filled = writer_of(source, metastore)
    if filled is not None:
        query = f"the query {queries[filled.name]}" if filled.name in queries else "a query"
        whose = name if filled is source else f"'{source.topic}', the topic of {name},"
        raise invalid(
            f"{whose} is the result of {query}, which alone changes its rows.",
            node,
            hint="Change the rows of what the query reads.",
        )
    check_writable(source, "change rows of", config, node)
    if source.schema.headers:
        raise invalid(f"Cannot change rows of a table with header columns: {name}", node)


def _is_rounded(value: Expression, target: SqlType) -> bool:
    """Whether SET rounds a computed number to the digits of its DECIMAL column, such as price * 1.1."""
    is_decimal = isinstance(target, Decimal) and value.type != target
    return is_decimal and is_numeric(value.type) and not isinstance(value, Literal)


def _values(statement: UpdateRows, source: DataSource, scope: Scope) -> dict[str, Expression]:
    """Return the values that SET assigns to value columns, coerced to their types."""
    values: dict[str, Expression] = {}
    for assignment in statement.assignments:
        node, name = assignment.this, str(assignment.this.this)
        column = source.schema.find(name)
        if column is None:
            near = nearest(name, (c.name for c in source.schema.value))
            hint = f"Did you mean {near}?" if near else None
            raise invalid(f"Column name `{name}` does not exist.", node, hint=hint)
        if column in source.schema.key:
            raise invalid(
                f"{name} is a key column, and a row's key cannot change.",
                node,
                hint="INSERT a row with the new key, and DELETE this one.",
            )
        if name in values:
            raise invalid(f"Column name {name} is listed twice.", node)
        value = bind_expression(assignment.value, scope)
        if scope.untyped:
            value = typed_text(value, column.type, assignment.value)
        if scope.postgres:
            value = assigned(value, column.type, assignment.value)
        if _is_rounded(value, column.type):
            value = Cast(value, column.type)
        value = insert_coerce(value, column.type, name, assignment.value)
        match value:
            case Cast(Literal(None)):  # which needs no Spark
                value = Literal(None, column.type)
        values[name] = value
    return values
