"""SQLAlchemy's dialect ``ksqlspark``: ``create_engine("ksqlspark://localhost:8088")``.

    ksqlspark://[USER:PASSWORD@]HOST[:PORT][?tls=true][&PROPERTY=VALUE …]

Streams are views, tables are tables with their primary key. Names in upper case are in lower case for
SQLAlchemy, as with other databases that fold names to upper case. There are no transactions: each statement
takes effect at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from sqlalchemy import exc, types
from sqlalchemy.engine import default, reflection
from sqlalchemy.engine.url import URL
from sqlalchemy.sql import compiler

from ksql_spark import client
from ksql_spark.client import protocol, values
from ksql_spark.client.errors import UnreachableError

SCHEMA = "ksql"
DEFAULT_PORT = 8088


class Nested(types.UserDefinedType[Any]):
    """An ARRAY, MAP or STRUCT: a list or a dict in Python. ``text`` is the type in SQL."""

    cache_ok = True

    def __init__(self, text: str) -> None:
        self.text = text

    def get_col_spec(self, **_: Any) -> str:
        """The type in SQL."""
        return self.text


class KsqlTypes(compiler.GenericTypeCompiler):
    """SQL's names of SQLAlchemy's types."""

    def visit_string(self, type_: Any, **_: Any) -> str:
        """Return STRING, for texts of any length."""
        return "STRING"

    visit_text = visit_unicode = visit_unicode_text = visit_VARCHAR = visit_CHAR = visit_TEXT = visit_string

    def visit_large_binary(self, type_: Any, **_: Any) -> str:
        """Return BYTES."""
        return "BYTES"

    def visit_float(self, type_: Any, **_: Any) -> str:
        """All floating point numbers."""
        return "DOUBLE"

    visit_double = visit_FLOAT = visit_DOUBLE = visit_REAL = visit_float

    def visit_numeric(self, type_: Any, **_: Any) -> str:
        """Return a DECIMAL type; without a precision it has at most 18 digits, as in most databases."""
        return f"DECIMAL({type_.precision or 18}, {type_.scale or 0})"

    visit_NUMERIC = visit_DECIMAL = visit_numeric

    def visit_datetime(self, type_: Any, **_: Any) -> str:
        """Return TIMESTAMP."""
        return "TIMESTAMP"

    visit_TIMESTAMP = visit_datetime


class KsqlCompiler(compiler.SQLCompiler):
    """Compiles SQLAlchemy's queries to KSQL."""

    def visit_table(self, table: Any, *arguments: Any, **options: Any) -> str:
        """A table. Its name is never ambiguous: there is one schema."""
        options["ambiguous_table_name_map"] = None
        return str(super().visit_table(table, *arguments, **options))  # type: ignore[no-untyped-call]

    def visit_column(self, column: Any, *arguments: Any, **options: Any) -> str:
        """Render a column as SQLAlchemy does, but without names for ambiguous tables."""
        return super().visit_column(column, *arguments, **options | {"ambiguous_table_name_map": None})

    def limit_clause(self, select: Any, **options: Any) -> str:
        """LIMIT and OFFSET take numbers, not parameters."""
        text = ""
        for word, clause in (("LIMIT", select._limit_clause), ("OFFSET", select._offset_clause)):
            if clause is not None:
                text += f"\n {word} {self.process(clause.render_literal_execute(), **options)}"
        return text


class KsqlNames(compiler.IdentifierPreparer):
    """Names: always in backticks, so that no word is reserved, and never with a schema."""

    reserved_words: Any = frozenset()
    schema_for_object: Any = staticmethod(lambda _: None)

    def __init__(self, dialect: default.DefaultDialect) -> None:
        super().__init__(dialect, initial_quote="`", omit_schema=True)

    def quote(self, ident: str, force: Any = None) -> str:
        """A name in SQL; one in lower case stands for one in upper case."""
        return self.quote_identifier(str(self.dialect.denormalize_name(ident)))


class KsqlDialect(default.DefaultDialect):
    """The dialect ``ksql`` of SQLAlchemy."""

    name = "ksqlspark"
    driver = "rest"
    default_paramstyle = "qmark"
    preparer: Any = KsqlNames
    statement_compiler = KsqlCompiler
    type_compiler_cls = KsqlTypes
    requires_name_normalize = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_statement_cache = True
    supports_sane_rowcount = supports_sane_multi_rowcount = False
    supports_alter = False
    supports_default_values = supports_empty_insert = False
    postfetch_lastrowid = False

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Return this client's DB-API module."""
        return client

    def create_connect_args(self, url: URL) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments of ksql_spark.client.connect()."""
        query = {name: value for name, value in url.query.items() if isinstance(value, str)}
        scheme = "https" if query.pop("tls", "false").lower() in ("1", "true") else "http"
        host = url.host or "localhost"
        address = f"{scheme}://{f'[{host}]' if ':' in host else host}:{url.port or DEFAULT_PORT}"
        arguments: dict[str, Any] = {"properties": query}
        if url.username:
            arguments["auth"] = (url.username, str(url.password or ""))
        return (address,), arguments

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Run a statement."""
        cursor.execute(protocol.ended(statement), parameters)

    def do_executemany(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Run a statement once for each of ``parameters``."""
        cursor.executemany(protocol.ended(statement), parameters)

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing: there are no transactions."""

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Whether the server responds."""
        dbapi_connection.info()
        return True

    def is_disconnect(self, e: Exception, connection: Any, cursor: Any) -> bool:
        """Whether no server responds."""
        return isinstance(e, UnreachableError)

    def _get_server_version_info(self, connection: Any) -> tuple[int, ...]:
        version = connection.connection.dbapi_connection.info()["version"].partition("-")[0]
        return tuple(int(part) for part in version.split(".") if part.isdigit())

    def _get_default_schema_name(self, connection: Any) -> str:
        return SCHEMA

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """Return AUTOCOMMIT, the only isolation level."""
        return "AUTOCOMMIT"

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        """Return AUTOCOMMIT, the only isolation level."""
        return "AUTOCOMMIT"

    def _shown(self, name: str) -> str:
        return str(self.normalize_name(name))  # type: ignore[no-untyped-call]

    def _meant(self, name: str) -> str:
        return str(self.denormalize_name(name))  # type: ignore[no-untyped-call]

    # ---- reflection -----------------------------------------------------------------------------------

    @staticmethod
    def _run(connection: Any, text: str) -> dict[str, Any]:
        entities: list[dict[str, Any]] = connection.connection.dbapi_connection.run(text)
        return entities[0]

    @reflection.cache
    def _described(self, connection: Any, name: str, **_: Any) -> dict[str, Any]:
        """Return the answer to DESCRIBE. Raises NoSuchTableError."""
        names = [*self._names(connection, "STREAM"), *self._names(connection, "TABLE")]
        if (meant := self._meant(name)) not in names:
            raise exc.NoSuchTableError(name)
        quoted = meant.replace("`", "``")
        described: dict[str, Any] = self._run(connection, f"DESCRIBE `{quoted}`;")["sourceDescription"]
        return described

    def _names(self, connection: Any, kind: str) -> list[str]:
        shown = self._run(connection, f"SHOW {kind}S;")
        return [source["name"] for source in shown[f"{kind.lower()}s"]]

    def get_schema_names(self, connection: Any, **_: Any) -> list[str]:
        """Return the one schema that there is."""
        return [SCHEMA]

    def get_table_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        """Return the names of the tables."""
        return [self._shown(name) for name in self._names(connection, "TABLE")]

    def get_view_names(self, connection: Any, schema: str | None = None, **_: Any) -> list[str]:
        """Return the names of the streams, which take the place of views."""
        return [self._shown(name) for name in self._names(connection, "STREAM")]

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> bool:
        """Whether a stream or table has this name."""
        return self._meant(table_name) in [
            *self._names(connection, "TABLE"),
            *self._names(connection, "STREAM"),
        ]

    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Return the columns of a stream or table."""
        described = self._described(connection, table_name, info_cache=options.get("info_cache"))
        keys = _keys(described)
        return [
            {
                "name": self._shown(field["name"]),
                "type": _type(field["schema"]),
                "nullable": field["name"] not in keys,
                "default": None,
            }
            for field in described["fields"]
        ]

    def get_pk_constraint(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> Any:
        """A table's key; a stream has none."""
        described = self._described(connection, table_name, info_cache=options.get("info_cache"))
        keys = [self._shown(name) for name in _keys(described)]
        return {"constrained_columns": keys, "name": None}

    def get_foreign_keys(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Return none: there are no foreign keys."""
        return []

    get_indexes = get_unique_constraints = get_check_constraints = get_foreign_keys

    def get_view_definition(
        self, connection: Any, view_name: str, schema: str | None = None, **options: Any
    ) -> str:
        """The statement that created a stream."""
        described = self._described(connection, view_name, info_cache=options.get("info_cache"))
        return str(described["statement"])


def _keys(described: Mapping[str, Any]) -> list[str]:
    is_table = described["type"] == "TABLE"
    return [field["name"] for field in described["fields"] if is_table and field.get("type") == "KEY"]


def _type(schema: Mapping[str, Any]) -> Any:
    """Return the type of a column, from the answer to DESCRIBE."""
    name = str(schema["type"])
    if name == "DECIMAL":
        parameters = schema["parameters"]
        return types.Numeric(parameters["precision"], parameters["scale"])
    simple = _TYPES.get(name)
    return simple() if simple is not None else Nested(values.type_text(schema))


_TYPES: dict[str, Any] = {
    "STRING": types.String,
    "INTEGER": types.Integer,
    "BIGINT": types.BigInteger,
    "DOUBLE": types.Double,
    "BOOLEAN": types.Boolean,
    "BYTES": types.LargeBinary,
    "DATE": types.Date,
    "TIME": types.Time,
    "TIMESTAMP": lambda: types.TIMESTAMP(timezone=True),
}
