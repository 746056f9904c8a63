"""What dbt asks of a server, and what materializations do there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import agate
from dbt.adapters.base import BaseRelation, Column, available
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.ksqlspark.connections import DATABASE, SCHEMA, KsqlConnectionManager
from dbt.adapters.ksqlspark.relation import KsqlRelation, in_sql, stored
from dbt.adapters.sql import SQLAdapter
from dbt_common.clients.agate_helper import table_from_data_flat
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from ksql_spark import client, grammar
from ksql_spark.client.tables import identifier
from ksql_spark.client.values import type_text

#: dbt's types of relations, and what they are on the server
_TYPES = {"STREAM": RelationType.View, "TABLE": RelationType.Table}
_KINDS = {type_: kind for kind, type_ in _TYPES.items()}
#: how often a run asks how far a backfill is, seconds
_PAUSE_S = 1.0
#: after a seed's name: the table into which its rows are inserted
ROWS = "_rows"


class KsqlSparkAdapter(SQLAdapter):
    """Streams are views to dbt, tables are tables; the one schema is ``ksql``."""

    ConnectionManager = KsqlConnectionManager
    Relation = KsqlRelation

    # --- what is there

    def list_schemas(self, database: str) -> list[str]:
        """The one schema."""
        return [SCHEMA]

    def check_schema_exists(self, database: str, schema: str) -> bool:
        """Whether ``schema`` is the one schema."""
        return schema == SCHEMA

    def create_schema(self, relation: BaseRelation) -> None:
        """Nothing: the one schema is there."""

    def drop_schema(self, relation: BaseRelation) -> None:
        """Nothing: the one schema stays."""

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """All streams and tables."""
        return [self._relation(name, kind) for name, kind in self._listed()]

    def get_columns_in_relation(self, relation: BaseRelation) -> list[Column]:
        """The columns of a stream or table; none if there is no such."""
        described = self._described(relation.identifier)
        return [] if described is None else [Column(name, type_) for name, type_ in _columns(described)]

    def _get_one_catalog(
        self, information_schema: Any, schemas: set[str], used_schemas: frozenset[tuple[str, str]]
    ) -> agate.Table:
        rows = [
            {
                "table_database": DATABASE,
                "table_schema": SCHEMA,
                "table_name": name.lower(),
                "table_type": kind,
                "table_comment": None,
                "table_owner": None,
                "column_name": column.lower(),
                "column_index": index,
                "column_type": type_,
                "column_comment": None,
            }
            for name, kind in self._listed()
            for index, (column, type_) in enumerate(_columns(self._describe(name)))
        ]
        names = list(rows[0]) if rows else ["table_database", "table_schema", "table_name"]
        return table_from_data_flat(rows, names)

    # --- what changes

    @available
    def create(
        self,
        relation: BaseRelation,
        kind: str,
        statement: str,
        replacing: str | None,
        drops: bool = False,
    ) -> str:
        """Create or replace a stream or table, unless it is already what a statement makes it.

        Args:
            relation: the stream or table.
            kind: STREAM or TABLE.
            statement: creates it.
            replacing: replaces what is there; None: that is not possible.
            drops: what is there is dropped first, unless the server refuses the statement after that.

        Returns:
            what happened.

        Raises:
            DbtRuntimeError: what is there cannot be replaced, or there are several statements.
            DbtDatabaseError: the server refuses the statement.
        """
        if len(grammar.split(statement)) != 1:
            raise DbtRuntimeError(
                f"{relation} has a ';' within its text: a model is one statement. Others may be in its "
                "pre_hook or post_hook."
            )
        described = self._described(relation.identifier)
        if described is None:
            chosen = statement
        elif drops:
            # in one request: the server checks both before it carries out the first
            chosen = f"{self._drop_statement(relation, described)}\n{statement}"
        elif _tokens(described["statement"]) in (_tokens(statement), _tokens(replacing or "")):
            return "unchanged"
        elif described["type"] != kind or replacing is None:
            raise DbtRuntimeError(
                f"{relation} is there already, made by another statement:\n{described['statement']}\n"
                "It cannot be replaced: --full-refresh drops it first."
            )
        else:
            chosen = replacing
        try:
            status = self._run(chosen)[-1].get("commandStatus") or {}
        except DbtDatabaseError:
            # another run at the same time may have created the same
            if described is None and self._is_made_by(relation, statement):
                return "unchanged"
            raise
        self._await_evolution(relation)
        self.cache_added(self._relation(relation.identifier, kind))
        return str(status.get("message", "OK"))

    @available
    def create_sink(self, name: str, source: str, statement: str) -> str:
        """Create a sink, unless it is there.

        Raises:
            DbtRuntimeError: a sink of this name reads something else.
        """
        sinks = self._run("SHOW SINKS;")[-1]["sinks"]
        found = next((sink for sink in sinks if sink["name"] == stored(name)), None)
        if found is None:
            self._run(statement)
            return "Sink created"
        if _tokens(in_sql(found["source"])) != _tokens(source):
            raise DbtRuntimeError(
                f"Sink {name} reads {found['source']}, not {source}. Drop it first (DROP SINK "
                f"{in_sql(name)};) if the rows that it has written may stay where they are."
            )
        return "unchanged"

    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop a stream or table and what a query has written for it; its name is free then.

        The topic of a source stays: it is not dbt's.
        """
        described = self._described(relation.identifier)
        if described is not None:
            self._run(self._drop_statement(relation, described))
        self.cache_dropped(relation)

    @available
    def seed(
        self, relation: BaseRelation, key: str, rows: agate.Table, types: Mapping[str, str], drops: bool
    ) -> int:
        """Make a table's rows those of a file.

        The table is one that can be looked up, over a topic of its name; ``…_rows`` over the same topic takes
        inserts. Rows that are right already are not written again, and rows that the file lacks are deleted.

        Args:
            relation: the table.
            key: the column that is its key.
            rows: of the file.
            types: column -> SQL type.
            drops: the two tables and their topic are dropped first.

        Returns:
            how many rows were written or deleted.

        Raises:
            DbtRuntimeError: a row has no key or that of another one, or what is there is another table.
        """
        wanted = _by_key(str(relation), key, types, rows)
        if drops:
            self.drop_seed(relation)
        writable = relation.incorporate(path={"identifier": f"{relation.identifier}{ROWS}"})
        columns = [
            f"{identifier(column)} {types[column]}{' PRIMARY KEY' if column == key else ''}"
            for column in rows.column_names
        ]
        listed = ", ".join(columns)
        topic = str(relation.identifier).replace("'", "''")
        given = f"({listed}) WITH (KAFKA_TOPIC = '{topic}', VALUE_FORMAT = 'JSON', PARTITIONS = 1);"
        self.create(writable, "TABLE", f"CREATE TABLE {writable} {given}", None)
        self.create(relation, "TABLE", f"CREATE SOURCE TABLE {relation} {given}", None)
        return self._write(str(writable), str(relation), key, list(rows.column_names), wanted)

    @available
    def drop_seed(self, relation: BaseRelation) -> None:
        """Drop a seed's two tables and their topic."""
        for name, clause in ((relation.identifier, ""), (f"{relation.identifier}{ROWS}", " DELETE TOPIC")):
            if self._described(name) is not None:
                self._run(f"DROP TABLE {in_sql(name)}{clause};")
        self.cache_dropped(relation)

    def _write(
        self, target: str, name: str, key: str, names: list[str], wanted: Mapping[Any, dict[str, Any]]
    ) -> int:
        with self.connections.exception_handler(name):
            found = self._connection.execute(
                f"SELECT {', '.join(map(identifier, names))} FROM {name};"
            ).fetchall()
            present = [dict(zip(names, row, strict=True)) for row in found]
            same = {row[key] for row in present if wanted.get(row[key]) == row}
            gone = [row[key] for row in present if row[key] not in wanted]
            changed = [row for value, row in wanted.items() if value not in same]
            if changed:
                self._connection.insert(
                    target, [{identifier(c): v for c, v in row.items()} for row in changed]
                )
            for value in gone:
                self._connection.run(f"DELETE FROM {target} WHERE {identifier(key)} = ?;", [value])
        return len(changed) + len(gone)

    # --- what dbt may ask and a streaming engine does not do

    def truncate_relation(self, relation: BaseRelation) -> None:
        """Not supported."""
        raise DbtRuntimeError(f"{relation} cannot be truncated: run the model with --full-refresh.")

    def rename_relation(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """Not supported."""
        raise DbtRuntimeError(f"{from_relation} cannot be renamed: a query writes to it by its name.")

    def expand_column_types(self, goal: BaseRelation, current: BaseRelation) -> None:
        """Nothing: STRING and DECIMAL have no length that could grow."""

    @classmethod
    def quote(cls, identifier: str) -> str:
        """A name as it is written, with backticks."""
        return "`" + identifier.replace("`", "``") + "`"

    @classmethod
    def is_cancelable(cls) -> bool:
        """Ctrl-C ends queries."""
        return True

    @classmethod
    def date_function(cls) -> str:
        """The time now."""
        return "FROM_UNIXTIME(UNIX_TIMESTAMP())"

    @classmethod
    def convert_text_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """Texts."""
        return "STRING"

    @classmethod
    def convert_number_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """Numbers with decimals are DOUBLE, others BIGINT."""
        decimals = agate_table.aggregate(agate.MaxPrecision(col_idx))
        return "DOUBLE" if decimals else "BIGINT"

    @classmethod
    def convert_integer_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """Whole numbers."""
        return "BIGINT"

    @classmethod
    def convert_boolean_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """Booleans."""
        return "BOOLEAN"

    @classmethod
    def convert_datetime_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """Timestamps."""
        return "TIMESTAMP"

    @classmethod
    def convert_date_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """Dates."""
        return "DATE"

    @classmethod
    def convert_time_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """Times of day."""
        return "TIME"

    def debug_query(self) -> None:
        """What ``dbt debug`` asks."""
        self._run("SHOW STREAMS;")

    # --- parts

    @property
    def _connection(self) -> client.Connection:
        connection: client.Connection = self.connections.get_thread_connection().handle.connection
        return connection

    def _run(self, statement: str) -> list[dict[str, Any]]:
        with self.connections.exception_handler(statement):
            return self._connection.run(statement)

    def _listed(self) -> Iterable[tuple[str, str]]:
        """Name and kind of all streams and tables."""
        for kind in _TYPES:
            entity = self._run(f"SHOW {kind}S;")[-1]
            yield from ((source["name"], kind) for source in entity[f"{kind.lower()}s"])

    def _relation(self, name: str, kind: str) -> BaseRelation:
        return self.Relation.create(
            database=DATABASE, schema=SCHEMA, identifier=name.lower(), type=_TYPES[kind]
        )

    def _described(self, name: str | None) -> dict[str, Any] | None:
        """DESCRIBE's answer about a stream or table; None if there is none."""
        if name is None or stored(name) not in {found for found, _ in self._listed()}:
            return None
        return self._describe(stored(name))

    def _describe(self, name: str) -> dict[str, Any]:
        """DESCRIBE's answer about a stream or table that is there, by its name as it is stored."""
        described: dict[str, Any] = self._run(f"DESCRIBE {self.quote(name)};")[-1]["sourceDescription"]
        return described

    def _is_made_by(self, relation: BaseRelation, statement: str) -> bool:
        described = self._described(relation.identifier)
        return described is not None and _tokens(described["statement"]) == _tokens(statement)

    def _drop_statement(self, relation: BaseRelation, described: Mapping[str, Any]) -> str:
        return f"DROP {described['type']} {relation}{' DELETE TOPIC' if described['writeQueries'] else ''};"

    def _await_evolution(self, name: BaseRelation) -> None:
        """Wait until a new version that runs beside the old one has taken over, or waits for SWAP."""
        while True:
            try:
                found = self._run(f"DESCRIBE EVOLUTION {name};")[-1]
            except DbtDatabaseError as error:
                if isinstance(error.__cause__, client.OperationalError):
                    raise  # the server is lost: nobody knows
                return  # there is none
            if found["state"] == "failed":
                raise DbtRuntimeError(f"The new version of {name} failed: {found['reason']}")
            if found["state"] == "aborted":
                raise DbtRuntimeError(f"The new version of {name} was aborted.")
            if found["state"] == "swapped" or (
                found["isManual"] and found["state"] in {"verified", "caught up"}
            ):
                return
            time.sleep(_PAUSE_S)


def _columns(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(field["name"], type_text(field["schema"])) for field in described["fields"]]


def _tokens(statement: str) -> list[tuple[Any, str]]:
    """A statement without white space and comments, to compare it."""
    return [(token.token_type, token.text) for one in grammar.split(statement) for token in one.tokens]


def _by_key(name: str, key: str, types: Mapping[str, str], rows: agate.Table) -> dict[Any, dict[str, Any]]:
    """The rows of a seed by their keys. Raises DbtRuntimeError: a key or a value is wrong."""
    found: dict[Any, dict[str, Any]] = {}
    if key not in rows.column_names:
        raise DbtRuntimeError(f"{name}: there is no column {key}, which should be its key.")
    for row in rows.rows:
        values = {}
        for column, value in zip(rows.column_names, row, strict=True):
            try:
                values[column] = _value(value, types[column])
            except (ValueError, OverflowError):
                raise DbtRuntimeError(f"{name}: {column} is {types[column]}, but has {value!r}.") from None
        if values[key] is None:
            raise DbtRuntimeError(f"{name}: {key} is its key and must not be empty in any row.")
        if values[key] in found:
            raise DbtRuntimeError(
                f"{name}: {key} is its key, and several rows have {values[key]!r} there. Choose another "
                "column with the setting key, or remove the rows."
            )
        found[values[key]] = values
    return found


def _value(value: Any, type_: str) -> Any:
    """A value of a file as one of an SQL type."""
    if value is None:
        return None
    convert = {"INT": int, "INTEGER": int, "BIGINT": int, "DOUBLE": float, "STRING": str}.get(type_.upper())
    return value if convert is None else convert(value)
