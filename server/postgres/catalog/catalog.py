"""Answers tools' queries about tables: pg_catalog and information_schema, with SQLite in memory.

The tables have what PostgreSQL's have of our streams and tables. A relation, column or function that is not
there is empty or gives NULL: a tool that looks for what we do not have finds nothing, and goes on.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import ErrorLevel, exp

from ksql_spark.entities.catalog import FunctionDescriptionList
from ksql_spark.entities.schemas import FieldInfo, SchemaInfo
from ksql_spark.entities.sources import IndexInfo, SourceDescription
from ksql_spark.grammar.words import RESERVED
from ksql_spark.regexes import InvalidRegex, Regex
from ksql_spark.server.postgres.catalog import times as catalog_times
from ksql_spark.server.postgres.catalog.queries import sqlite_query
from ksql_spark.server.postgres.text.labels import UNNAMED
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import REFUSED, CatalogError
from ksql_spark.server.postgres.values.names import CATALOG_SCHEMAS, DATABASE, SCHEMA, shown_name
from ksql_spark.server.postgres.values.values import PgType

LOG = logging.getLogger(__name__)

VERSION = "16.0"
_OWNER, _PUBLIC, _PG_CATALOG, _INFORMATION = 10, 2200, 11, 13000
_BTREE, _TABLESPACE, _PG_CLASS = 403, 1663, 1259
#: the first oid of our own objects, as in PostgreSQL
_FIRST_OID = 16384
_FIRST_FUNCTION = 1 << 24
#: begins arrays among the values that SQLite returns
_ARRAY = "\x01array:"
#: how often a query is tried again with what it has missed
_MAX_TRIES = 60
#: the length of a series
_MAX_NUMBERS = 10_000
#: bytes of a value, and of SQLite's memory
_MAX_BYTES, _MAX_HEAP = 200_000, 192 << 20
#: what a query gives: rows, and bytes of all of them
_MAX_ROWS, _MAX_ANSWER = 100_000, 16 << 20
#: what a query may be, in SQLite's terms
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: _MAX_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 2_000,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 250_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_VIEW = re.compile(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?VIEW\s+(?:`(?:[^`]|``)*`|\w+)\s+AS\s+", re.IGNORECASE)
#: kinds of types; any other is of texts
_CATEGORIES = {
    values.BOOL: "B", values.INT4: "N", values.INT8: "N", values.FLOAT8: "N", values.NUMERIC: "N",
    values.DATE: "D", values.TIME: "D", values.TIMESTAMP: "D", values.BYTEA: "U", values.JSON: "U",
    values.JSONB: "U",
}  # fmt: skip
#: types whose functions have an underscore in their names
_SPACED = frozenset(("date", "time", "timestamp", "numeric", "json", "jsonb"))
#: functions that say whether something is so
_IS_QUESTION = re.compile(
    r"has_\w+_privilege|pg_has_role|pg_is_\w+|pg_\w+_is_(visible|updatable|publishable)"
)
#: casts whose results have one type, also without a value; those to other types are what their values are
_CASTS = {
    "text": values.TEXT, "varchar": values.TEXT, "int": values.INT4, "int4": values.INT4, "oid": values.INT4,
    "smallint": values.INT4, "bigint": values.INT8, "boolean": values.BOOL, "regclass": values.INT4,
}  # fmt: skip
#: how names of functions begin that tools call at their start: one that is not there gives NULL
_CATALOG_FUNCTIONS = ("pg_", "has_", "obj_", "col_", "shobj_", "txid_", "inet_", "_pg_")
#: the catalog's other functions, which KSQL does not have
_FUNCTIONS = frozenset((
    "version", "current_database", "current_catalog", "current_schema", "current_schemas", "current_user",
    "session_user", "user", "current_setting", "set_config", "format_type", "quote_ident", "quote_literal",
    "quote_nullable", "parse_ident", "format", "to_regclass", "array_lower", "array_upper", "array_to_string",
    "string_to_array", "generate_subscripts", "clock_timestamp", "statement_timestamp",
    "transaction_timestamp",
))  # fmt: skip
#: what a query does; any other action, such as ATTACH, PRAGMA or a write, is refused
_READING = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)

#: what a column of these relations is, by the mark behind its name; without one, a text
_MARKS = {"?": values.BOOL, "#": values.INT4}
_TABLES = """
pg_namespace: oid# nspname nspowner# nspacl
pg_class: oid# relname relnamespace# reltype# reloftype# relowner# relam# relfilenode# reltablespace#
  relpages# reltuples# reltoastrelid# relhasindex? relisshared? relpersistence relkind relnatts# relchecks#
  relhasrules? relhastriggers? relhassubclass? relrowsecurity? relforcerowsecurity? relispopulated?
  relreplident relispartition? relacl reloptions relpartbound
pg_attribute: attrelid# attname atttypid# attlen# attnum# attndims# atttypmod# attnotnull? atthasdef?
  atthasmissing? attidentity attgenerated attisdropped? attislocal? attinhcount# attcollation#
  attstattarget# attstorage attcompression attacl attoptions attfdwoptions
pg_type: oid# typname typnamespace# typowner# typlen# typbyval? typtype typcategory typispreferred?
  typisdefined? typdelim typrelid# typelem# typarray# typnotnull? typbasetype# typtypmod# typndims#
  typcollation# typdefault typinput typoutput typreceive typsend
pg_index: indexrelid# indrelid# indnatts# indnkeyatts# indisunique? indisprimary? indisexclusion?
  indimmediate? indisclustered? indisvalid? indisready? indislive? indisreplident? indkey indoption indexprs
  indpred indclass indcollation
pg_constraint: oid# conname connamespace# contype condeferrable? condeferred? convalidated? conrelid#
  contypid# conindid# conparentid# confrelid# confupdtype confdeltype confmatchtype conkey confkey
  conislocal? connoinherit?
pg_database: oid# datname datdba# encoding# datcollate datctype datistemplate? datallowconn? datconnlimit#
  dattablespace# datacl
pg_roles: oid# rolname rolsuper? rolinherit? rolcreaterole? rolcreatedb? rolcanlogin? rolreplication?
  rolconnlimit# rolvaliduntil rolbypassrls? rolconfig
pg_am: oid# amname amtype
pg_tablespace: oid# spcname spcowner# spcacl spcoptions
pg_proc: oid# proname pronamespace# proowner# prokind proretset? prorettype# proargtypes proargnames
  proisagg? pronargs# proisstrict? prosecdef? proleakproof? provolatile proparallel prosrc provariadic#
  proallargtypes proargmodes proacl
pg_attrdef: oid# adrelid# adnum# adbin
pg_description: objoid# classoid# objsubid# description
pg_settings: name setting unit category short_desc
pg_tables: schemaname tablename tableowner tablespace hasindexes? hasrules? hastriggers? rowsecurity?
pg_indexes: schemaname tablename indexname tablespace indexdef
pg_views: schemaname viewname viewowner definition
pg_matviews: schemaname matviewname matviewowner definition
information_schema.schemata: catalog_name schema_name schema_owner
information_schema.tables: table_catalog table_schema table_name table_type is_insertable_into
information_schema.views: table_catalog table_schema table_name view_definition
information_schema.columns: table_catalog table_schema table_name column_name ordinal_position#
  column_default is_nullable data_type character_maximum_length# numeric_precision# numeric_scale#
  datetime_precision# udt_catalog udt_schema udt_name is_identity is_generated is_updatable
information_schema.routines: specific_catalog specific_schema specific_name routine_catalog routine_schema
  routine_name routine_type data_type
information_schema.table_constraints: constraint_catalog constraint_schema constraint_name table_catalog
  table_schema table_name constraint_type
information_schema.key_column_usage: constraint_catalog constraint_schema constraint_name table_catalog
  table_schema table_name column_name ordinal_position#
"""


@dataclass(frozen=True)
class Answer:
    """Rows of the catalog; each value is as the REST API would give one of its column's type."""

    names: tuple[str, ...]
    types: tuple[PgType, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Session:
    """The session of a client that queries the catalog.

    Args:
        user: the client's name.
        settings: of the connection, in lower case.
        process_id: of the connection.
    """

    user: str
    settings: Mapping[str, str]
    process_id: int


def is_function(name: str) -> bool:
    """Whether a function, by its name in lower case, is one of the catalog."""
    return name in _FUNCTIONS or name.startswith(_CATALOG_FUNCTIONS)


class Catalog:
    """The catalog of some streams and tables. It is for a process that runs nothing else: what bounds
    SQLite's memory bounds that of the process (process.py), and ends it if a query takes too long.

    Args:
        sources: what the client may see.
        functions: those of KSQL, if the client asks about functions.
    """

    def __init__(
        self, sources: Iterable[SourceDescription], functions: Iterable[FunctionDescriptionList] = ()
    ) -> None:
        self._session = Session("", {}, 0)
        #: the time of the query that runs
        self._now = ""
        self._has_relations = False
        #: why a function has failed in the query that runs
        self._refused: CatalogError | None = None
        self._db = sqlite3.connect(":memory:", isolation_level=None)
        self._db.execute(f"PRAGMA hard_heap_limit = {_MAX_HEAP}")
        self._db.execute("PRAGMA temp_store = MEMORY")  # counts, unlike files
        #: columns of relations -> their types, if these are not texts
        self._types_of_columns: dict[str, PgType] = {}
        self._oids: dict[str, int] = {"pg_class": _PG_CLASS}
        self._statements: dict[int, str] = {}
        #: of indexes: the statements that would create them, and their columns
        self._definitions: dict[int, str] = {}
        self._columns: dict[int, list[str]] = {}
        for schema in (*CATALOG_SCHEMAS, SCHEMA):
            self._db.execute(f"ATTACH ':memory:' AS {schema}")
        for line in re.sub(r"\n +", " ", _TABLES).strip().splitlines():
            name, _, columns = line.partition(":")
            listed = columns.split()
            for column in listed:
                if (type_ := _MARKS.get(column[-1])) is not None:
                    self._types_of_columns[column[:-1]] = type_
            schema, _, table = name.rpartition(".")
            self._create(schema or "pg_catalog", table, [one.rstrip("".join(_MARKS)) for one in listed])
        for limit, most in _LIMITS.items():
            self._db.setlimit(limit, most)
        #: oid of a function -> its arguments and result
        self._signatures: dict[int, tuple[str, str]] = {}
        self._fill(list(sources))
        self._fill_functions(functions)
        for function, call in self._functions().items():
            self._db.create_function(function, -1, self._explained(call))
        aggregate: Any = _ArrayAgg
        self._db.create_aggregate("_array_agg", -1, aggregate)

    def ask(self, query: exp.Expr, session: Session) -> Answer:
        """The answer to a query, which sqlglot has read as PostgreSQL's.

        What it cannot find in relations is empty.

        Raises:
            CatalogError: it takes too much, has an expression that is none, or names no relation and has an
                expression that the catalog cannot compute.
        """
        adapted = sqlite_query(query.copy())
        text = adapted.sql("sqlite", unsupported_level=ErrorLevel.IGNORE)
        self._session, self._now = session, catalog_times.now()
        self._has_relations = has_relations = query.find(exp.Table) is not None
        self._db.execute("BEGIN")  # what is added for this query goes with it
        try:
            for _ in range(_MAX_TRIES):
                try:
                    names, rows = self._run(text)
                    return self._answer(query, names, rows)
                except (sqlite3.Error, OverflowError, MemoryError) as error:
                    self._check(error)
                    if not has_relations:
                        _check_expression(str(error))
                    if not self._completed(str(error), adapted):
                        LOG.debug("the catalog cannot answer %s: %s", text, error)
                        break
        finally:
            self._db.execute("ROLLBACK")
        return self._answer(query, None, [])

    def _run(self, text: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        self._refused = None
        self._db.set_authorizer(_allowed)
        try:
            cursor = self._db.execute(text)
            rows: list[tuple[Any, ...]] = []
            size = 0
            for row in cursor:
                rows.append(row)
                size += sum(8 + (len(one) if isinstance(one, (str, bytes)) else 0) for one in row)
                if len(rows) > _MAX_ROWS or size > _MAX_ANSWER:
                    raise CatalogError(
                        "54000",
                        f"The answer has more than {_MAX_ROWS:,} rows or {_MAX_ANSWER >> 20} MiB. "
                        "Ask for fewer with WHERE or LIMIT.",
                    )
            return [column[0] for column in cursor.description or ()], rows
        finally:
            self._db.set_authorizer(None)

    def _check(self, error: Exception) -> None:
        """Raise what the client has to know of an error of SQLite's."""
        if self._refused is not None:
            raise self._refused from None
        code = getattr(error, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_TOOBIG:
            raise CatalogError("54000", f"A value has more than {_MAX_BYTES:,} bytes.") from None
        if isinstance(error, MemoryError) or code == sqlite3.SQLITE_NOMEM:
            raise CatalogError("53200", f"The query takes more than {_MAX_HEAP >> 20} MiB.") from None

    def _explained(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function for SQLite to keep its error: SQLite itself only reports that one has failed."""

        def explained(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except CatalogError as error:
                self._refused = error
                raise

        return explained

    # ---- what there is ---------------------------------------------------------------------------------

    def _create(self, schema: str, table: str, columns: Sequence[str]) -> None:
        # without types: SQLite then keeps values as they are
        listed = ", ".join(map(_quoted, columns))
        self._db.execute(f"CREATE TABLE {_quoted(schema)}.{_quoted(table)} ({listed})")

    def _add(self, table: str, **row: Any) -> None:
        marks = ", ".join("?" * len(row))
        self._db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))

    def _fill(self, sources: Sequence[SourceDescription]) -> None:
        self._db.execute("BEGIN")
        for oid, name in (
            (_PG_CATALOG, "pg_catalog"),
            (_PUBLIC, SCHEMA),
            (_INFORMATION, "information_schema"),
        ):
            self._add("pg_catalog.pg_namespace", oid=oid, nspname=name, nspowner=_OWNER)
            self._add(
                "information_schema.schemata", catalog_name=DATABASE, schema_name=name, schema_owner=DATABASE
            )
        for type_ in values.TYPES:
            self._add(
                "pg_catalog.pg_type", oid=type_.oid, typname=type_.name, typnamespace=_PG_CATALOG,
                typowner=_OWNER, typlen=type_.size, typbyval=int(0 < type_.size <= 8), typtype="b",
                typisdefined=1, typdelim=",",
                typcategory="A" if type_.element else _CATEGORIES.get(type_, "S"),
                typelem=type_.element.oid if type_.element else 0, typrelid=0,
                typarray=0 if type_.element else values.array_oid_of(type_) or 0,
                typbasetype=0, typtypmod=-1, typnotnull=0, typndims=0, typcollation=0,
                typispreferred=0, typinput=_procedure(type_, "in"), typoutput=_procedure(type_, "out"),
                typreceive=type_.oid, typsend=_procedure(type_, "send"),
            )  # fmt: skip
            self._add(  # by this function, drivers tell arrays from other types
                "pg_catalog.pg_proc", oid=type_.oid, pronamespace=_PG_CATALOG, proowner=_OWNER, prokind="f",
                proname=_procedure(type_, "recv"), prorettype=type_.oid,
                proretset=0, proargtypes="",
            )  # fmt: skip
        self._add(  # by which drivers know how long names may be
            "pg_catalog.pg_type", oid=19, typname="name", typnamespace=_PG_CATALOG, typowner=_OWNER,
            typlen=64, typbyval=0, typtype="b", typisdefined=1, typdelim=",", typcategory="S", typelem=0,
            typrelid=0, typarray=0, typbasetype=0, typtypmod=-1, typnotnull=0, typndims=0, typcollation=0,
            typispreferred=0, typinput="namein", typoutput="nameout", typreceive=0, typsend="namesend",
        )  # fmt: skip
        self._add(
            "pg_catalog.pg_database", oid=1, datname=DATABASE, datdba=_OWNER, encoding=6,
            datcollate="C.UTF-8", datctype="C.UTF-8", datistemplate=0, datallowconn=1, datconnlimit=-1,
            dattablespace=_TABLESPACE,
        )  # fmt: skip
        self._add(
            "pg_catalog.pg_roles", oid=_OWNER, rolname=DATABASE, rolsuper=1, rolinherit=1, rolcreaterole=0,
            rolcreatedb=0, rolcanlogin=1, rolreplication=0, rolconnlimit=-1, rolbypassrls=0,
        )  # fmt: skip
        self._add("pg_catalog.pg_am", oid=2, amname="heap", amtype="t")
        self._add("pg_catalog.pg_am", oid=_BTREE, amname="btree", amtype="i")
        self._add("pg_catalog.pg_tablespace", oid=_TABLESPACE, spcname="pg_default", spcowner=_OWNER)
        self._add("pg_catalog.pg_settings", name="server_version", setting=VERSION)
        self._add("pg_catalog.pg_settings", name="max_index_keys", setting="32")
        self._add("pg_catalog.pg_settings", name="default_transaction_isolation", setting="read committed")
        for number, source in enumerate(sources):
            self._add_source(_FIRST_OID + 2 * number, source)
        of_tables = [(_FIRST_OID + 2 * n, source) for n, source in enumerate(sources) if source.indexes]
        indexes = ((oid, source, index) for oid, source in of_tables for index in source.indexes or ())
        for index_oid, (oid, source, index) in enumerate(indexes, _FIRST_OID + 2 * len(sources)):
            self._add_own_index(index_oid, oid, source, index)
        self._db.execute("COMMIT")

    def _fill_functions(self, functions: Iterable[FunctionDescriptionList]) -> None:
        self._db.execute("BEGIN")
        signatures = [(function, one) for function in functions for one in function.functions]
        shown: set[tuple[str, ...]] = set()
        for oid, (function, signature) in enumerate(signatures, _FIRST_FUNCTION):
            name, is_table = shown_name(function.name), function.type.upper() == "TABLE"
            arguments = [
                f"{'VARIADIC ' if one.is_variadic else ''}{one.name.lower()} {one.type.lower()}".strip()
                for one in signature.arguments
            ]
            result = f"{'SETOF ' if is_table else ''}{signature.return_type.lower()}"
            if (name, *arguments) in shown:  # they differ in what a type name does not say
                continue
            shown.add((name, *arguments))
            self._signatures[oid] = ", ".join(arguments), result
            is_aggregate = function.type.upper() == "AGGREGATE"
            self._add(
                "pg_catalog.pg_proc", oid=oid, pronamespace=_PUBLIC, proowner=_OWNER, proname=name,
                prokind="a" if is_aggregate else "f", proisagg=int(is_aggregate), proretset=int(is_table),
                prorettype=values.TEXT.oid, proargtypes="", pronargs=len(arguments), proisstrict=0,
                prosecdef=0, proleakproof=0, provolatile="s", proparallel="u", prosrc=function.name,
                provariadic=0,
            )  # fmt: skip
            self._add(
                "pg_catalog.pg_description", objoid=oid, classoid=0, objsubid=0,
                description=signature.description or function.description,
            )  # fmt: skip
            self._add(
                "information_schema.routines", specific_catalog=DATABASE, specific_schema=SCHEMA,
                specific_name=f"{name}_{oid}", routine_catalog=DATABASE, routine_schema=SCHEMA,
                routine_name=name, routine_type="FUNCTION", data_type=result,
            )  # fmt: skip
        self._db.execute("COMMIT")

    def _add_source(self, oid: int, source: SourceDescription) -> None:
        name, is_table = shown_name(source.name), source.type == "TABLE"
        if source.window_type is not None:
            source = replace(source, fields=_with_bounds(source.fields))
        self._oids[name] = oid
        statement = source.statement.encode()[: _MAX_BYTES // 2].decode(errors="ignore")
        statement = _VIEW.sub("", statement)  # as PostgreSQL, only the query
        self._statements[oid] = statement
        keys = [at for at, field in enumerate(source.fields, 1) if field.type == "KEY"] if is_table else []
        has_index = bool(keys or source.indexes)
        comments = [source.comment, *(field.comment for field in source.fields)]
        for at, comment in enumerate(comments):
            if comment is not None:
                row = {"objoid": oid, "classoid": _PG_CLASS, "objsubid": at, "description": comment}
                self._add("pg_catalog.pg_description", **row)
        of = {"table_catalog": DATABASE, "table_schema": SCHEMA, "table_name": name}
        self._add(
            "pg_catalog.pg_class", oid=oid, relname=name, relnamespace=_PUBLIC, reltype=0, reloftype=0,
            relowner=_OWNER, relam=2 if is_table else 0, relfilenode=oid, reltablespace=0, relpages=0,
            reltuples=-1, reltoastrelid=0, relhasindex=int(has_index), relisshared=0, relpersistence="p",
            relkind="r" if is_table else "v", relnatts=len(source.fields), relchecks=0, relhasrules=0,
            relhastriggers=0, relhassubclass=0, relrowsecurity=0, relforcerowsecurity=0, relispopulated=1,
            relreplident="d", relispartition=0,
        )  # fmt: skip
        table_type = "BASE TABLE" if is_table else "VIEW"
        self._add("information_schema.tables", **of, table_type=table_type, is_insertable_into="YES")
        if is_table:
            self._add(
                "pg_catalog.pg_tables", schemaname=SCHEMA, tablename=name, tableowner=DATABASE,
                hasindexes=int(has_index), hasrules=0, hastriggers=0, rowsecurity=0,
            )  # fmt: skip
        else:
            self._add("information_schema.views", **of, view_definition=statement)
            self._add(
                "pg_catalog.pg_views", schemaname=SCHEMA, viewname=name, viewowner=DATABASE,
                definition=statement,
            )  # fmt: skip
        for at, field in enumerate(source.fields, 1):
            type_ = values.type_of(field.schema)
            scale = field.schema.parameters
            self._add(
                "pg_catalog.pg_attribute", attrelid=oid, attname=shown_name(field.name), atttypid=type_.oid,
                attlen=type_.size, attnum=at, attndims=int(type_.element is not None),
                atttypmod=-1 if scale is None else (scale.precision << 16) + scale.scale + 4,
                attnotnull=int(at in keys), atthasdef=0, atthasmissing=0, attidentity="", attgenerated="",
                attisdropped=0, attislocal=1, attinhcount=0, attcollation=0, attstattarget=-1, attstorage="p",
                attcompression="",
            )  # fmt: skip
            self._add(
                "information_schema.columns", **of, column_name=shown_name(field.name), ordinal_position=at,
                is_nullable="NO" if at in keys else "YES",
                data_type="ARRAY" if type_.element else type_.shown,
                numeric_precision=None if scale is None else scale.precision,
                numeric_scale=None if scale is None else scale.scale, udt_catalog=DATABASE,
                udt_schema="pg_catalog", udt_name=type_.name, is_identity="NO", is_generated="NEVER",
                is_updatable="YES",
            )  # fmt: skip
        if keys:
            self._add_key(oid, name, keys, [shown_name(source.fields[at - 1].name) for at in keys], of)

    def _add_key(self, oid: int, table: str, at: list[int], names: list[str], of: Mapping[str, str]) -> None:
        """The primary key: a constraint, and the index that PostgreSQL would have for it."""
        name, index = f"{table}_pkey", oid + 1
        self._statements[index] = f"PRIMARY KEY ({', '.join(names)})"
        self._add_index(index, name, (oid, table), at, names, is_key=True)
        self._add(
            "pg_catalog.pg_constraint", oid=index, conname=name, connamespace=_PUBLIC, contype="p",
            condeferrable=0, condeferred=0, convalidated=1, conrelid=oid, contypid=0, conindid=index,
            conparentid=0, confrelid=0, confupdtype=" ", confdeltype=" ", confmatchtype=" ",
            conkey=_listed(at), conislocal=1, connoinherit=1,
        )  # fmt: skip
        constraint = {
            "constraint_catalog": DATABASE, "constraint_schema": SCHEMA, "constraint_name": name, **of,
        }  # fmt: skip
        self._add("information_schema.table_constraints", **constraint, constraint_type="PRIMARY KEY")
        for number, column in enumerate(names, 1):
            self._add(
                "information_schema.key_column_usage",
                **constraint,
                column_name=column,
                ordinal_position=number,
            )

    def _add_own_index(self, oid: int, table: int, source: SourceDescription, index: IndexInfo) -> None:
        """An index that CREATE INDEX has made; of a field, PostgreSQL would say that it is an expression."""
        places = {field.name: at for at, field in enumerate(source.fields, 1)}
        columns = [column.replace("`", "") for column in index.columns]
        of_table, at = (table, shown_name(source.name)), [places.get(column, 0) for column in columns]
        self._add_index(
            oid, shown_name(index.name), of_table, at, list(map(shown_name, columns)), is_key=False
        )

    def _add_index(
        self,
        index: int,
        name: str,
        of_table: tuple[int, str],
        at: list[int],
        names: list[str],
        *,
        is_key: bool,
    ) -> None:
        """An index of ``of_table``, by oid and name; ``at``: the numbers of its columns, 0 for a field."""
        oid, table = of_table
        self._oids[name], self._columns[index] = index, names
        unique = "UNIQUE " if is_key else ""
        self._definitions[index] = (
            f"CREATE {unique}INDEX {_shown(name)} ON {SCHEMA}.{_shown(table)} "
            f"USING btree ({', '.join(names)})"
        )
        self._add(
            "pg_catalog.pg_class", oid=index, relname=name, relnamespace=_PUBLIC, reltype=0, reloftype=0,
            relowner=_OWNER, relam=_BTREE, relfilenode=index, reltablespace=0, relpages=0, reltuples=-1,
            reltoastrelid=0, relhasindex=0, relisshared=0, relpersistence="p", relkind="i", relnatts=len(at),
            relchecks=0, relhasrules=0, relhastriggers=0, relhassubclass=0, relrowsecurity=0,
            relforcerowsecurity=0, relispopulated=1, relreplident="n", relispartition=0,
        )  # fmt: skip
        self._add(
            "pg_catalog.pg_index", indexrelid=index, indrelid=oid, indnatts=len(at), indnkeyatts=len(at),
            indisunique=int(is_key), indisprimary=int(is_key), indisexclusion=0, indimmediate=1,
            indisclustered=0, indisvalid=1, indisready=1, indislive=1, indisreplident=0,
            indkey=" ".join(map(str, at)), indoption=" ".join("0" for _ in at),
        )  # fmt: skip
        self._add(
            "pg_catalog.pg_indexes", schemaname=SCHEMA, tablename=table, indexname=name,
            indexdef=self._definitions[index],
        )  # fmt: skip

    def _functions(self) -> dict[str, Callable[..., Any]]:
        types = {type_.oid: type_ for type_ in values.TYPES}

        def format_type(oid: Any = None, modifier: Any = None) -> str | None:
            type_ = types.get(oid)
            if type_ is values.NUMERIC and modifier is not None and modifier >= 4:
                return f"numeric({(modifier - 4) >> 16},{(modifier - 4) & 0xFFFF})"
            return type_.shown if type_ else None

        def oid_of(name: Any, *_: Any) -> int | None:
            bare = str(name).rpartition(".")[2].strip().strip('"')
            row = self._db.execute("SELECT oid FROM pg_catalog.pg_type WHERE typname = ?", (bare,)).fetchone()
            return self._oids.get(bare) or (row[0] if row else None)

        names = {oid: name for name, oid in self._oids.items()} | {t.oid: t.name for t in values.TYPES}
        return {
            "_now": lambda *_: self._now,
            "_timestamp": catalog_times.timestamp,
            "_date": catalog_times.date,
            "_shifted": catalog_times.shifted,
            "_truncated": catalog_times.truncated,
            "_part": catalog_times.part,
            "_interval": _interval,
            "_divided": _divided,
            "concat": lambda *items: "".join(str(one) for one in items if one is not None),
            "greatest": lambda *items: max((one for one in items if one is not None), default=None),
            "least": lambda *items: min((one for one in items if one is not None), default=None),
            "version": lambda *_: f"PostgreSQL {VERSION} (ksql-spark)",
            "current_database": lambda *_: DATABASE,
            "current_catalog": lambda *_: DATABASE,
            "current_schema": lambda *_: SCHEMA,
            "current_schemas": lambda implicit=0, *_: (
                _ARRAY + json.dumps(["pg_catalog", SCHEMA] if implicit else [SCHEMA])
            ),
            "current_user": lambda *_: self._session.user,
            "session_user": lambda *_: self._session.user,
            "user": lambda *_: self._session.user,
            "current_setting": self._setting,
            "set_config": lambda name, value, *_: value,
            "pg_sleep": lambda *_: "",
            "pg_notify": _notify,
            "_proc_name": {type_.oid: _procedure(type_, "recv") for type_ in values.TYPES}.get,
            "pg_get_function_arguments": lambda oid: self._signatures.get(oid, ("", ""))[0],
            "pg_get_function_identity_arguments": lambda oid: self._signatures.get(oid, ("", ""))[0],
            "pg_get_function_result": lambda oid: self._signatures.get(oid, ("", ""))[1],
            "obj_description": lambda oid, *_: self._description(oid, 0),
            "col_description": self._description,
            "pg_backend_pid": lambda *_: self._session.process_id,
            "pg_get_userbyid": lambda *_: DATABASE,
            "pg_encoding_to_char": lambda *_: "UTF8",
            "pg_table_is_visible": lambda *_: 1,
            "pg_type_is_visible": lambda *_: 1,
            "pg_function_is_visible": lambda *_: 1,
            "pg_is_in_recovery": lambda *_: 0,
            "pg_is_other_temp_schema": lambda *_: 0,
            "has_table_privilege": lambda *_: 1,
            "has_schema_privilege": lambda *_: 1,
            "has_database_privilege": lambda *_: 1,
            "has_column_privilege": lambda *_: 1,
            "has_any_column_privilege": lambda *_: 1,
            "format_type": format_type,
            "quote_ident": _identifier,
            "format": _formatted,
            "pg_size_pretty": _size,
            "quote_literal": _literal,
            "quote_nullable": lambda value: "NULL" if value is None else _literal(value),
            "parse_ident": lambda name, *_: _listed(part.strip('"') for part in str(name).split(".")),
            "string_to_array": lambda text, mark, *_: _listed(str(text or "").split(mark)),
            "array_length": lambda items, *_: len(_items(items)) or None,
            "array_lower": lambda items, *_: 1 if _items(items) else None,
            "array_upper": lambda items, *_: len(_items(items)) or None,
            "_numbers": _numbers,
            "array_to_string": lambda items, mark, *_: str(mark).join(_items(items)),
            "pg_get_viewdef": lambda oid, *_: self._statements.get(oid),
            "pg_get_constraintdef": lambda oid, *_: self._statements.get(oid),
            "pg_get_indexdef": lambda oid, at=0, *_: self._index(oid, at),
            "array": lambda *items: _listed(items),
            "to_regclass": oid_of,
            "_oid_of": oid_of,
            "_type_of": oid_of,
            "_name_of": lambda oid: names.get(oid, oid),
            "_json": _json_array,
            "_texts": lambda items: json.dumps(_items(items)),
            "_at": _element,
            "_any": lambda value, items: int(str(value) in _items(items)),
            "regexp": _matches,
            "_regexp_i": lambda pattern, text: _matches(pattern, text, ignores_case=True),
        }  # fmt: skip

    def _setting(self, name: Any, is_optional: Any = 0) -> str | None:
        found = self._session.settings.get(str(name).lower())
        is_unknown = found is None and name not in (None, "")
        if is_unknown and not is_optional and not self._has_relations:
            raise CatalogError("42704", f'unrecognized configuration parameter "{str(name)[:100]}"')
        return found

    def _description(self, oid: Any, at: Any) -> str | None:
        """The comment on a relation or function, or on a column of it, by its number."""
        row = self._db.execute(
            "SELECT description FROM pg_catalog.pg_description WHERE objoid = ? AND objsubid = ?", (oid, at)
        ).fetchone()
        return row[0] if row else None

    def _index(self, oid: Any, at: int) -> str | None:
        """The statement that would create an index, or its column at a place from 1."""
        return self._columns[oid][at - 1] if at and oid in self._columns else self._definitions.get(oid)

    # ---- what there is not -----------------------------------------------------------------------------

    def _completed(self, problem: str, query: exp.Expr) -> bool:
        """Add what a query has missed, so that it finds nothing there; False if that does not help."""
        kind, _, name = problem.partition(": ")
        if kind == "no such table":
            tables = list(query.find_all(exp.Table))
            missing = [one for one in tables if name.lower() in (one.name.lower(), _full_name(one))]
            aliases = {table.alias_or_name.lower() for table in missing}
            columns_of_query = {c for c in query.find_all(exp.Column) if c.name}
            # without its table, a column may be any other's
            own = {c.name.lower() for c in columns_of_query if c.table.lower() in aliases or len(tables) == 1}
            schema = next((one.db.lower() for one in missing if one.db), "pg_catalog")
            if not missing or schema not in (*CATALOG_SCHEMAS, SCHEMA):
                return False
            self._create(schema, missing[0].name, sorted(own) or ["oid"])
            return True
        if kind == "no such function":
            self._db.create_function(name, -1, lambda *_: None)
            return True
        if kind == "no such column":
            return self._add_column(name, query)
        return False

    def _add_column(self, name: str, query: exp.Expr) -> bool:
        column = next(
            (
                one
                for one in query.find_all(exp.Column)
                if name.lower() in (one.name.lower(), _full_name(one))
            ),
            None,
        )
        alias = column.table.lower() if column is not None else ""
        for table in query.find_all(exp.Table):
            if column is not None and table.name and (not alias or table.alias_or_name.lower() == alias):
                schema = table.db or ("pg_catalog" if table.name.startswith("pg_") else "")
                if schema in CATALOG_SCHEMAS:
                    into, added = f"{_quoted(schema)}.{_quoted(table.name)}", _quoted(column.name)
                    try:
                        self._db.execute(f"ALTER TABLE {into} ADD COLUMN {added}")
                    except sqlite3.Error:
                        continue
                    return True
        return False

    def _answer(self, query: exp.Expr, result_names: Sequence[str] | None, rows: Sequence[Any]) -> Answer:
        # of a UNION, the first query has the names
        selected = query if isinstance(query, exp.Select) else query.find(exp.Select)
        listed = selected.expressions if selected is not None else []
        names = [_name_of(one) for one in listed]
        has_star = any(one.is_star for one in listed)
        if result_names is not None and (has_star or len(result_names) != len(names)):
            names = list(result_names)
        if result_names is None and has_star:
            names = [name for name, one in zip(names, listed, strict=True) if not one.is_star]
        expressions = listed if len(listed) == len(names) and not has_star else [None] * len(names)
        types = tuple(
            self._type(expression, name, [row[at] for row in rows])
            for at, (expression, name) in enumerate(zip(expressions, names, strict=True))
        )
        return Answer(tuple(names), types, tuple(tuple(map(_unmarked, row)) for row in rows))

    def _type(self, expression: exp.Expr | None, name: str, column: Sequence[Any]) -> PgType:
        declared = self._declared(expression.unalias() if expression is not None else exp.column(name))
        there = [value for value in column if value is not None]
        if not there:
            return declared or values.TEXT
        if declared in (values.TEXT, values.INT8):
            return declared
        if declared == values.BOOL and all(value in (0, 1) for value in there):
            return values.BOOL
        if all(isinstance(value, str) and value.startswith(_ARRAY) for value in there):
            return values.array_of(values.TEXT)
        if all(map(catalog_times.is_timestamp, there)):
            return values.TIMESTAMP
        is_literal = isinstance(expression.unalias() if expression is not None else None, exp.Literal)
        if not is_literal and all(map(catalog_times.is_date, there)):
            return values.DATE
        if all(isinstance(value, int) for value in there):
            return values.INT8 if any(not -(2**31) <= value < 2**31 for value in there) else values.INT4
        return values.FLOAT8 if all(isinstance(value, float) for value in there) else values.TEXT

    def _declared(self, expression: exp.Expr) -> PgType | None:
        """The type that an expression has whatever its value is; None: only its values tell."""
        match expression:
            case exp.Paren() | exp.Max() | exp.Min():
                return self._declared(expression.this)
            case exp.Column():
                return self._types_of_columns.get(expression.name.lower())
            case exp.Cast():
                return _CASTS.get(expression.to.sql("postgres").lower().rpartition(".")[2])
            case exp.Predicate() | exp.Not() | exp.Boolean() | exp.And() | exp.Or():
                return values.BOOL
            case exp.Count():
                return values.INT8
            case exp.Literal() if not expression.is_string:
                return values.INT4 if expression.name.isdecimal() else None
            case exp.Coalesce():
                return self._declared(expression.this)
            case exp.Case():
                branches = [one.args["true"] for one in expression.args["ifs"]]
                types = {self._declared(one) for one in branches}
                return types.pop() if len(types) == 1 else None
            case exp.Dot():
                return self._declared(expression.expression)
            case exp.Anonymous() if _IS_QUESTION.fullmatch(expression.name.lower()):
                return values.BOOL
        return None


def _check_expression(problem: str) -> None:
    """Raise why SQLite cannot compute a query without relations, except for a function of the catalog."""
    kind, _, name = problem.partition(": ")
    if kind == "no such function":
        name = name.lower()
        if not name.startswith(_CATALOG_FUNCTIONS):
            raise CatalogError(
                "42883",
                f"There is no function {name} here. A SELECT without FROM knows few functions; "
                "KSQL's functions take the rows of a stream or table.",
            )
    elif kind == "no such column":
        raise CatalogError("42703", f'column "{name}" does not exist')
    else:
        raise CatalogError("0A000", f"A SELECT without FROM cannot compute this expression: {problem}.")


def _procedure(type_: PgType, task: str) -> str:
    """The name of the function that reads or writes values of a type; by it, drivers tell types apart.

    Args:
        task: in or out, of text; recv or send, in binary.
    """
    if type_.element:
        return f"array_{task}"
    return f"{type_.name}{'_' if type_.name in _SPACED else ''}{task}"


def _notify(*_: Any) -> None:
    raise CatalogError("0A000", REFUSED["NOTIFY"])


def _divided(number: Any, by: Any) -> Any:
    if number is None or by is None:
        return None
    if by == 0:
        raise CatalogError("22012", "division by zero")
    if isinstance(number, int) and isinstance(by, int):
        return abs(number) // abs(by) * (1 if (number < 0) == (by < 0) else -1)
    return number / by


def _interval(text: Any) -> None:
    raise CatalogError("0A000", f"An INTERVAL can only be added to a time or subtracted from one: {text}")


def _literal(value: Any) -> str | None:
    """A value as a literal of a text; None for NULL.

    >>> _literal("it's"), _literal(1)
    ("'it''s'", "'1'")
    """
    doubled = str(value).replace("'", "''")
    return None if value is None else f"'{doubled}'"


def _identifier(name: Any) -> str | None:
    """QUOTE_IDENT: a name in quotes if it needs them."""
    if name is None:
        return None
    return _quoted(str(name)) if str(name).upper() in RESERVED else _shown(str(name))


_FORMATS = re.compile(r"%(?:%|(?:(\d+)\$)?(-?)(\d*)([sIL]))")


def _formatted(pattern: Any, *arguments: Any) -> str | None:
    """FORMAT: a text with arguments in the places of %s, %I (a name) and %L (a literal).

    >>> _formatted("%2$s-%1$I, %L%%", "a b", 1)
    '1-"a b", \'1\'%'
    """
    if pattern is None:
        return None
    next_ = 0

    def one(found: re.Match[str]) -> str:
        nonlocal next_
        if found[0] == "%%":
            return "%"
        at = int(found[1]) if found[1] else next_ + 1
        if not 0 < at <= len(arguments):
            raise CatalogError("22023", "too few arguments for format()")
        next_ = at
        value = arguments[at - 1]
        if found[4] == "I" and value is None:
            raise CatalogError("22004", "null values cannot be formatted as an SQL identifier")
        shown = {
            "s": "" if value is None else str(value),
            "I": _identifier(value) or "",
            "L": _literal(value) or "NULL",
        }[found[4]]
        width = min(int(found[3] or 0), _MAX_BYTES)
        return shown.ljust(width) if found[2] else shown.rjust(width)

    if "%" in _FORMATS.sub("", str(pattern)):
        raise CatalogError("22023", "format() knows %s, %I, %L and %%")
    return _FORMATS.sub(one, str(pattern))


def _size(number: Any) -> str | None:
    """PG_SIZE_PRETTY: a number of bytes as people read it.

    >>> [_size(n) for n in (10239, 10240, -20_480_000, 10**16)]
    ['10239 bytes', '10 kB', '-20 MB', '9095 TB']
    """
    if number is None:
        return None
    size, units = abs(int(number)), ["bytes", "kB", "MB", "GB", "TB", "PB"]
    halves = size * 2
    while halves >= 2 * (10 * 1024) - (units[0] != "bytes") and len(units) > 1:
        halves //= 1024
        del units[0]
    rounded = halves // 2 if units[0] == "bytes" else (halves + 1) // 2
    return f"{'-' if number < 0 else ''}{rounded} {units[0]}"


def _with_bounds(fields: Sequence[FieldInfo]) -> tuple[FieldInfo, ...]:
    """The columns of a windowed source as SELECT * has them: a window's bounds are part of the key."""
    keys = [field for field in fields if field.type == "KEY"]
    bounds = [FieldInfo(name, SchemaInfo("BIGINT"), "KEY") for name in ("WINDOWSTART", "WINDOWEND")]
    return (*keys, *bounds, *(field for field in fields if field.type != "KEY"))


def _unmarked(value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith(_ARRAY):
        return value
    return [None if one is None else str(one) for one in json.loads(value[len(_ARRAY) :])]


def _numbers(start: Any, end: Any, *_: Any) -> str:
    """A series of numbers as JSON."""
    numbers = range(start or 1, (end or 0) + 1)
    if len(numbers) > _MAX_NUMBERS:
        raise CatalogError("54000", f"generate_series gives at most {_MAX_NUMBERS:,} numbers.")
    return json.dumps(list(numbers))


def _allowed(action: int, what: str | None, *_: Any) -> int:
    # SQLite looks up table functions such as json_each by an update of its own, which queries cannot write
    is_own = action == sqlite3.SQLITE_UPDATE and what == "sqlite_master"
    return sqlite3.SQLITE_OK if action in _READING or is_own else sqlite3.SQLITE_DENY


def _shown(name: str) -> str:
    """A name as PostgreSQL writes it: in quotes only if it needs them."""
    return name if re.fullmatch("[a-z_][a-z0-9_]*", name) else _quoted(name)


def _quoted(name: str) -> str:
    """A name in SQLite's SQL.

    >>> _quoted('a"); DROP TABLE b; --')
    '"a""); DROP TABLE b; --"'
    """
    doubled = name.replace("\0", "").replace('"', '""')
    return f'"{doubled}"'


def _full_name(node: exp.Table | exp.Column) -> str:
    """A name as SQLite's messages have it."""
    return ".".join(part.name for part in node.parts).lower()


def _matches(pattern: Any, text: Any, ignores_case: bool = False) -> int:
    """Whether a text has a match.

    Raises:
        CatalogError: the pattern is none that RE2 knows.
    """
    try:
        return int(Regex(str(pattern), ignores_case=ignores_case).is_in(str(text or "")))
    except InvalidRegex as error:
        raise CatalogError("2201B", f"invalid regular expression: {error}") from None


class _ArrayAgg:
    """ARRAY_AGG for SQLite: the elements as JSON behind a mark."""

    def __init__(self) -> None:
        self._items: list[tuple[Any, ...]] = []
        self._size = 0

    def step(self, *item: Any) -> None:
        """Take an element, and what orders it."""
        self._size += 2 + sum(len(one) if isinstance(one, (str, bytes)) else 1 for one in item)
        if self._size <= _MAX_BYTES:  # a longer one is no value
            self._items.append(item)

    def finalize(self) -> str | int:
        """The array; a value that is too long, where it is."""
        if self._size > _MAX_BYTES:
            return _ARRAY + " " * _MAX_BYTES
        ordered = sorted(self._items, key=lambda item: [(one is None, one) for one in item[1:]])
        return _ARRAY + json.dumps([item[0] for item in ordered])


def _json_array(text: Any) -> str:
    """An array or a vector of the catalog, ``{1,2}`` or ``1 2``, as JSON."""
    return json.dumps([int(one) for one in re.findall(r"-?\d+", str(text or ""))])


def _items(text: Any) -> list[str]:
    """The elements of an array, as ``_unmarked`` knows it or ``{a,b}``, or of a vector ``1 2``."""
    if isinstance(text, str) and text.startswith(_ARRAY):
        return [str(one) for one in json.loads(text[len(_ARRAY) :])]
    inner = str(text or "").strip("{}")
    return re.split("[, ]", inner) if inner else []


def _element(text: Any, at: Any) -> str | None:
    """An element, at a place from 0."""
    items = _items(text)
    return items[at] if isinstance(at, int) and 0 <= at < len(items) else None


def _listed(items: Iterable[Any]) -> str:
    """An array as PostgreSQL writes it."""
    return "{" + ",".join(map(str, items)) + "}"


def _name_of(expression: exp.Expr) -> str:
    """Return the name that PostgreSQL gives to a column of a result."""
    if expression.alias:
        return str(expression.alias)
    return str(expression.meta.get("label") or expression.name or UNNAMED)
