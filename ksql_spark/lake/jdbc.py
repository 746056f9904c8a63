"""Tables of databases, by SQLAlchemy.

Positions are rows of a table beside the one that is written. They are moved first in the transaction that
writes the rows, so of two writers one waits for the other and then finds that it was overtaken.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from ksql_spark.errors import KsqlError
from ksql_spark.lake import arrow, jdbc_types
from ksql_spark.lake.databases import engine_of, failures, in_schema
from ksql_spark.lake.tables import DELETED, Refusal, Report, TableSpec, ignore
from ksql_spark.metastore.sinks import folded
from ksql_spark.schema import Column

POSITIONS = "ksql_sink_positions"
#: rows of one statement
_BATCH = 5_000
#: so many refused rows of one commit are no longer accidents
MOST_REFUSED = 1_000
#: classes of SQLSTATE that are about rows, beside those of DataError and IntegrityError: a limit of the
#: database, an exception of a trigger
_ABOUT_ROWS = ("54", "P0")
_INSERTS: Mapping[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
#: a writer that is frozen holds up another one for no longer than this
_SETTINGS = {
    "postgresql": (
        "SET LOCAL timezone = 'UTC'",
        "SET LOCAL lock_timeout = '30s'",
        "SET LOCAL idle_in_transaction_session_timeout = '60s'",
    )
}
#: SQL that takes a lock, by dialect: one client at a time creates the tables that are missing
_ONE_BY_ONE = {
    "postgresql": f"SELECT pg_advisory_xact_lock(hashtext('{POSITIONS}'))",
    "sqlite": "BEGIN IMMEDIATE",
}


class _JdbcTable:
    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        with self._failures():
            self._engine = engine_of(spec.path)
        self._dialect = self._engine.dialect.name
        name, schema = in_schema(spec.table)
        meta = sa.MetaData(schema=schema)
        self._table = sa.Table(name, meta, *self._columns())
        self._moves = sa.Table(
            POSITIONS,
            meta,
            sa.Column("target", sa.Text, primary_key=True),
            sa.Column("topic", sa.Text, primary_key=True),
            sa.Column("partition", sa.Integer, primary_key=True),
            sa.Column("position", sa.BigInteger, nullable=False),
        )
        self._mine = sa.and_(self._moves.c.target == name, self._moves.c.topic == spec.topic)
        with self._transaction() as connection:
            connection.exec_driver_sql(_ONE_BY_ONE[self._dialect])
            self._make(connection)
            rows = connection.execute(
                sa.select(self._moves.c.partition, self._moves.c.position).where(self._mine)
            )
            self._positions = {partition: position for partition, position in rows}

    def _columns(self) -> Iterator[sa.Column[Any]]:
        by_name: dict[str, str] = {}
        for i, column in enumerate(self._spec.columns):
            name = folded(column.name)
            if name in by_name:
                reason = f"that of {by_name[name]} and {column.name}"
                raise self._incompatible(name, "one column", reason)
            by_name[name] = column.name
            yield sa.Column(
                name,
                jdbc_types.column_type(column.type),
                key=f"c{i}",  # parameters are called so, whatever is in a name
                primary_key=column.name in self._spec.keys,
                autoincrement=False,
            )

    def _make(self, connection: sa.Connection) -> None:
        inspector = sa.inspect(connection)
        name, schema = self._table.name, self._table.schema
        if not inspector.has_table(POSITIONS, schema):
            self._moves.create(connection)
        if not inspector.has_table(name, schema):
            # those of a table that was dropped
            connection.execute(self._moves.delete().where(self._moves.c.target == name))
            self._table.create(connection)
            return
        there = {column["name"]: column["type"] for column in inspector.get_columns(name, schema)}
        for column, table_column in zip(self._spec.columns, self._table.columns, strict=True):
            if table_column.name not in there:
                text = sa.schema.CreateColumn(table_column).compile(dialect=self._engine.dialect)
                shown = self._engine.dialect.identifier_preparer.format_table(self._table)
                connection.exec_driver_sql(f"ALTER TABLE {shown} ADD COLUMN {text}")
            elif not jdbc_types.takes(there[table_column.name], column.type, self._dialect):
                shown = there[table_column.name].compile(dialect=self._engine.dialect)
                raise self._incompatible(
                    table_column.name, shown, table_column.type.compile(dialect=self._engine.dialect)
                )
        keys = {column.name for column in self._table.primary_key}
        if keys and keys not in _unique(inspector, name, schema):
            shown = ", ".join(sorted(keys))
            raise self._incompatible(shown, "not unique", "the primary key or another unique key")

    def _incompatible(self, column: str, there: str, expected: str) -> KsqlError:
        path = f"{self._spec.table} of {self._spec.path}"
        return KsqlError("LAKE_INCOMPATIBLE", path=path, column=column, there=there, wanted=expected)

    def _failures(self) -> contextlib.AbstractContextManager[None]:
        return failures(self._spec.table, self._spec.path)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with self._failures(), self._engine.begin() as connection:
            for setting in _SETTINGS.get(self._dialect, ()):
                connection.exec_driver_sql(setting)
            yield connection

    def positions(self) -> dict[int, int]:
        return dict(self._positions)

    def write(self, rows: pa.Table, ends: Mapping[int, int], report: Report = ignore) -> None:
        data = rows.select([c.name for c in self._spec.columns]).cast(arrow.schema_of(self._spec.columns))
        refused: list[Refusal] = []
        with self._transaction() as connection:
            self._move(connection, ends)
            if self._spec.keys:
                keys = [c for c in self._spec.columns if c.name in self._spec.keys]
                gone = data.filter(rows[DELETED]).select([c.name for c in keys])
                self._execute(connection, self._removal(), gone, keys, refused)
                data = data.filter(pa.compute.invert(rows[DELETED]))
            self._execute(connection, self._insertion(), data, self._spec.columns, refused)
            if refused:
                report(refused)
        self._positions |= ends

    def _move(self, connection: sa.Connection, ends: Mapping[int, int]) -> None:
        moves = self._moves
        for partition, end in ends.items():
            position = self._positions.get(partition)
            if position == end:
                continue
            if position is None:
                insert = _INSERTS[self._dialect](moves).values(
                    target=self._table.name, topic=self._spec.topic, partition=partition, position=end
                )
                moved = connection.execute(
                    insert.on_conflict_do_nothing(), execution_options={"preserve_rowcount": True}
                )
            else:
                moved = connection.execute(
                    moves.update()
                    .where(self._mine, moves.c.partition == partition, moves.c.position == position)
                    .values(position=end)
                )
            if moved.rowcount != 1:
                reason = f"Its position in partition {partition} is no longer {position or 0}."
                raise KsqlError("LAKE_CONFLICT", path=self._spec.table, reason=reason)

    def _removal(self) -> sa.Delete:
        same = (column == sa.bindparam(column.key) for column in self._table.primary_key)
        return self._table.delete().where(*same)

    def _insertion(self) -> sa.Insert:
        insert: Any = _INSERTS[self._dialect](self._table)
        if not self._spec.keys:
            return insert  # type: ignore[no-any-return]
        keys = list(self._table.primary_key)
        new = {c.key: insert.excluded[c.key] for c in self._table.columns if not c.primary_key}
        if not new:
            return insert.on_conflict_do_nothing(index_elements=keys)  # type: ignore[no-any-return]
        return insert.on_conflict_do_update(index_elements=keys, set_=new)  # type: ignore[no-any-return]

    def _execute(
        self,
        connection: sa.Connection,
        statement: sa.Executable,
        rows: pa.Table,
        columns: Sequence[Column],
        refused: list[Refusal],
    ) -> None:
        """Execute ``statement`` for each row; those that cannot be written are added to ``refused``."""
        keys = [f"c{self._spec.columns.index(column)}" for column in columns]
        for batch in rows.to_batches(max_chunksize=_BATCH):
            parameters = []
            for row in jdbc_types.values(batch, columns):
                bad = [value for value in row if isinstance(value, jdbc_types.Refused)]
                if bad:
                    self._refuse(dict(zip(keys, row, strict=True)), bad[0].reason, refused)
                else:
                    parameters.append(dict(zip(keys, row, strict=True)))
            self._try(connection, statement, parameters, refused)

    def _try(
        self,
        connection: sa.Connection,
        statement: sa.Executable,
        rows: list[dict[str, Any]],
        refused: list[Refusal],
    ) -> None:
        if not rows:
            return
        try:
            with connection.begin_nested():
                connection.execute(statement, rows)
        except sa.exc.DBAPIError as error:
            if not _is_about_rows(error):
                raise
            if len(rows) == 1:
                self._refuse(rows[0], " ".join(str(error.orig).split()), refused)
                return
            half = len(rows) // 2
            self._try(connection, statement, rows[:half], refused)
            self._try(connection, statement, rows[half:], refused)

    def _refuse(self, row: Mapping[str, Any], reason: str, refused: list[Refusal]) -> None:
        if len(refused) == MOST_REFUSED:
            path = f"{self._spec.table} of {self._spec.path}"
            many = f"it refuses more than {MOST_REFUSED} rows of one commit, the last because: {reason}"
            raise KsqlError("LAKE_FAILED", path=path, reason=many)
        names = {f"c{i}": column.name for i, column in enumerate(self._spec.columns)}
        refused.append(Refusal({names[key]: value for key, value in row.items()}, reason))


def _is_about_rows(error: sa.exc.DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None) or ""
    return isinstance(error, (sa.exc.DataError, sa.exc.IntegrityError)) or state.startswith(_ABOUT_ROWS)


def _unique(inspector: sa.Inspector, name: str, schema: str | None) -> list[set[str]]:
    """The sets of columns that identify a row."""
    keys = [inspector.get_pk_constraint(name, schema)["constrained_columns"]]
    keys += [unique["column_names"] for unique in inspector.get_unique_constraints(name, schema)]
    keys += [
        [column for column in index["column_names"] if column is not None]
        for index in inspector.get_indexes(name, schema, include_auto_indexes=True)
        if index["unique"] and not index.get("dialect_options", {}).get("postgresql_where")
    ]
    return [set(columns) for columns in keys]


def open_table(spec: TableSpec) -> _JdbcTable:
    """Open or create a table; see tables.open_table."""
    return _JdbcTable(spec)
