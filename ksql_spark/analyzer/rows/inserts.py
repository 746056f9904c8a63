"""INSERT INTO … VALUES (reference §2.4)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot import exp

from ksql_spark import deadline
from ksql_spark.analyzer.base import settings
from ksql_spark.analyzer.base.failures import failure, invalid, place, within_statement
from ksql_spark.analyzer.base.scope import Scope
from ksql_spark.analyzer.definitions.write_rules import check_no_result, check_writable
from ksql_spark.analyzer.expressions.binding import assigned, bind_expression, bind_moment
from ksql_spark.analyzer.expressions.coercion import insert_coerce
from ksql_spark.analyzer.expressions.untyped import typed_text
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.expressions import (
    Call,
    Cast,
    Expression,
    Literal,
    MakeStruct,
    TryCast,
    columns_in,
    is_null,
)
from ksql_spark.grammar.nodes import AllColumns
from ksql_spark.grammar.statements.inserts import InsertValues
from ksql_spark.metastore.sources import Constraint, DataSource
from ksql_spark.metastore.store import MetaStore
from ksql_spark.schema import PSEUDO_COLUMNS, ROWTIME, Column
from ksql_spark.types import SqlType


class Conversion(NamedTuple):
    """An expression that makes a value of another: NULL where it cannot.

    Args:
        result: the expression.
        operand: what it converts.
        type: of the result.
        at: of which value of the row it is a part, from 0.
    """

    result: Expression
    operand: Expression
    type: SqlType
    at: int


@dataclass(frozen=True)
class BoundRow:
    """A row that INSERT writes, with values bound to columns.

    Args:
        source: the stream or table.
        values: (column, expression of the column's type) pairs in statement order, including ROWTIME if it
            is given; other columns are NULL. The expressions of INSERT contain no columns.
        nodes: the syntax node of each value.
    """

    source: DataSource
    values: tuple[tuple[str, Expression], ...]
    nodes: tuple[exp.Expr, ...] = field(default=(), compare=False)

    @property
    def conversions(self) -> tuple[Conversion, ...]:
        """The conversions of values or their members, to columns' types or by the statement's CASTs."""
        return tuple(one for at, (_, value) in enumerate(self.values) for one in _conversions(value, at))


@dataclass(frozen=True)
class BoundInsert:
    """The rows that INSERT writes.

    Args:
        returning: the columns of the answer, if there is one: name, and column of the source or ROWTIME.
    """

    source: DataSource
    rows: tuple[BoundRow, ...]
    returning: tuple[tuple[str, Column], ...] = ()

    def label(self, at: int) -> str:
        """What begins an error of a row, by its place from 0: which row it is, if there are several."""
        return f"Row {at + 1}: " if len(self.rows) > 1 else ""


def violation(
    row: BoundRow, constraint: Constraint, what: str = "insert values into", label: str = ""
) -> KsqlError:
    """The error of a row that violates a constraint of its source, at the first value that it is about.

    Args:
        what: for the message: Failed to ``what`` …
        label: which row it is, as `BoundInsert.label` returns it.
    """
    named = columns_in(constraint.predicate)
    places = zip((name for name, _ in row.values), row.nodes, strict=True)
    node = next((node for name, node in places if name in named), None)
    reason = f"Failed to {what} '{row.source.name}'. {label}The row violates {constraint.text}."
    error = invalid(reason, node)
    if row.nodes:
        with contextlib.suppress(KsqlError), within_statement(row.nodes[0]):
            raise error
    return error


def _conversions(value: Expression, at: int) -> Iterator[Conversion]:
    match value:
        case TryCast():
            return
        case Cast(operand, type_) if not (isinstance(operand, Literal) and operand.value is None):
            yield Conversion(value, operand, type_, at)
            yield from _conversions(operand, at)
        case Call("PARSE_JSON", (operand,), type_):
            yield Conversion(value, operand, type_, at)
        case Call("ARRAY" | "MAP", members, _):
            for member in members:
                yield from _conversions(member, at)
        case MakeStruct(fields, _):
            for _, member in fields:
                yield from _conversions(member, at)


def bind_insert_values(
    statement: InsertValues, metastore: MetaStore, config: Mapping[str, Any]
) -> BoundInsert:
    """The rows that ``statement`` writes, with each value coerced to its column's type.

    Raises:
        KsqlError: the source cannot be written to, or a value does not fit its column.
    """
    with within_statement(statement):
        settings.check_lambdas(statement, config)
        source = bind_insert_target(statement.name, metastore, config, statement)
        scope = Scope(
            types=metastore.types(),
            clause="VALUES",
            ansi=settings.is_ansi(config),
            untyped=settings.is_untyped(config),
            postgres=settings.is_postgres(config),
        )
        columns = _columns(statement, source)
        rows = tuple(_row(statement, row, source, columns, scope) for row in statement.rows)
        return BoundInsert(source, rows, tuple(_returned(statement, source)))


def _row(
    statement: InsertValues, row: exp.Tuple, source: DataSource, columns: Sequence[_Target], scope: Scope
) -> BoundRow:
    deadline.check()
    # of several rows, the place of an error names the row
    node = statement if len(statement.rows) == 1 else row
    _check_count(statement, source, columns, row, node)
    values = []
    for (name, type_, at), value in zip(columns, row.expressions, strict=True):
        bound = bind_moment(value, scope) if name == ROWTIME else bind_expression(value, scope)
        if scope.untyped:
            bound = typed_text(bound, type_, value)
        if scope.postgres:
            bound = assigned(bound, type_, value)
        values.append((name, insert_coerce(bound, type_, name, value or at)))
    _check_key(source, values, node)
    return BoundRow(source, tuple(values), tuple(row.expressions))


def _returned(statement: InsertValues, source: DataSource) -> Iterator[tuple[str, Column]]:
    """The columns of RETURNING."""
    columns = source.schema.columns
    for item in statement.returning:
        if isinstance(item, AllColumns):
            yield from ((column.name, column) for column in columns)
            continue
        assert isinstance(item.this, exp.Column), "the grammar takes no other expression"
        name, table = item.this.name, item.this.table
        if table and table != source.name:
            raise invalid(f"RETURNING names columns of {source.name}, not of {table}.", item.this)
        pseudo = Column(ROWTIME, PSEUDO_COLUMNS[ROWTIME]) if name == ROWTIME else None
        column = source.schema.find(name) or pseudo
        if column is None:
            near = nearest(name, (c.name for c in columns))
            hint = f"Did you mean {near}?" if near else None
            raise invalid(f"RETURNING names no column of {source.name}: {name}.", item.this, hint=hint)
        yield item.alias_name or name, column


def bind_insert_target(
    name: str, metastore: MetaStore, config: Mapping[str, Any], statement: InsertValues | None = None
) -> DataSource:
    """The stream or table called ``name``, which rows may be written to.

    Args:
        statement: what names it, for the position of errors.

    Raises:
        KsqlError: INSERT_UNKNOWN; INVALID_STATEMENT if rows may not be written to it.
    """
    node = None if statement is None else statement.this
    if not settings.flag(config, "ksql.insert.into.values.enabled"):
        raise invalid("The server has disabled INSERT INTO ... VALUES functionality.", statement)
    source = metastore.find(name)
    if source is None:
        metastore.check_no_view(name, place(node))
        raise failure("INSERT_UNKNOWN", node, name=name, similar=_similar(name, metastore))
    check_writable(source, "insert values into", config, node)
    check_no_result(source, metastore, config, node)
    return source


def _similar(name: str, metastore: MetaStore) -> str:
    """The end of the error message: a similar name."""
    names = [s.name for s in metastore.sources()]
    other_case = next((n for n in names if n.upper() == name.upper()), None)
    if other_case is not None:
        if other_case == other_case.upper():
            return f"\nDid you mean {other_case}? Hint: try removing double quotes from the source name."
        hint = "Hint: wrap the source name in double quotes to make it case-sensitive."
        return f'\nDid you mean "{other_case}"? {hint}'
    near = nearest(name, names)
    return f"\nDid you mean {near}?" if near else ""


#: a column that gets values: its name and type, and the syntax node that names it
_Target = tuple[str, SqlType, exp.Expr | None]


def _check_count(
    statement: InsertValues, source: DataSource, columns: Sequence[_Target], row: exp.Tuple, node: exp.Expr
) -> None:
    """Check that a row has as many values as there are columns."""
    count = len(row.expressions)
    if count == len(columns):
        return
    if statement.columns:
        raise invalid(f"Expected number columns and values to match: {len(columns)}, {count}", node)
    if source.schema.headers:
        names = ", ".join(c.name for c in source.schema.headers)
        raise invalid(f"Cannot insert into HEADER columns: {names}", node)
    expected = ", ".join(f"`{name}`" for name, _, _ in columns)
    raise invalid(
        f"Expected a value for each column. Expected Columns: [{expected}]. Got {count} value(s).", node
    )


def _columns(statement: InsertValues, source: DataSource) -> list[_Target]:
    """The columns that get values."""
    schema = source.schema
    if not statement.columns:
        return [(c.name, c.type, None) for c in schema.columns if c not in schema.headers]
    columns: list[_Target] = []
    headers = [str(i.this) for i in statement.columns if _is_header(source, str(i.this))]
    if headers:
        raise invalid(f"Cannot insert into HEADER columns: {', '.join(headers)}", statement.columns[0])
    for identifier in statement.columns:
        name = str(identifier.this)
        if any(name == listed for listed, _, _ in columns):
            raise invalid(f"Column name {name} is listed twice.", identifier)
        column = schema.find(name)
        if column is not None:
            columns.append((name, column.type, identifier))
        elif name == ROWTIME:
            columns.append((name, PSEUDO_COLUMNS[ROWTIME], identifier))
        elif name in PSEUDO_COLUMNS:
            raise invalid(f"Inserting into column `{name}` is not allowed.", identifier)
        else:
            near = nearest(name, (c.name for c in schema.columns))
            raise invalid(
                f"Column name `{name}` does not exist.",
                identifier,
                hint=f"Did you mean {near}?" if near else None,
            )
    return columns


def _is_header(source: DataSource, name: str) -> bool:
    return source.schema.find(name) in source.schema.headers


def _check_key(source: DataSource, values: list[tuple[str, Expression]], node: exp.Expr) -> None:
    """Check that every primary key column of a table has a value that is not the literal NULL."""
    if not source.is_table:
        return
    with_value = {name for name, value in values if not is_null(value)}
    missing = [c.name for c in source.schema.key if c.name not in with_value]
    if missing:
        raise invalid(
            f"Failed to insert values into '{source.name}'. Value for primary key column(s) "
            f"{', '.join(missing)} is required for tables.",
            node,
        )
