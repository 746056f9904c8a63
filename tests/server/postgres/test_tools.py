"""What tools ask a PostgreSQL server about its tables, at their start and in their schema browsers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.server.postgres.port import PgEngine, Port

#: Grafana's test whether a schema is in the search path
_IN_PATH = """quote_ident(table_schema) IN (
  SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
  FROM generate_series(
         array_lower(string_to_array(current_setting('search_path'), ','), 1),
         array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i,
       string_to_array(current_setting('search_path'), ',') s)"""


def _grafana_columns(table: str) -> str:
    return f"""SELECT quote_ident(column_name) AS "column", data_type AS "type"
        FROM information_schema.columns
        WHERE CASE WHEN array_length(parse_ident('{table}'), 1) = 2
          THEN quote_ident(table_schema) = (parse_ident('{table}'))[1]
            AND quote_ident(table_name) = (parse_ident('{table}'))[2]
          ELSE quote_ident(table_name) = '{table}' AND {_IN_PATH} END"""


_COLUMNS = [("vendorid", "integer"), ("fare_amount", "numeric"), ("zone", "text")]

QUERIES: dict[str, tuple[str, list[Any]]] = {
    "Grafana: version": ("SELECT current_setting('server_version_num')::int/100 AS version", [(1600,)]),
    "Grafana: extensions": ("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'", []),
    "Grafana: schemas": (
        """SELECT schema_name AS "name" FROM information_schema.schemata
           WHERE schema_name NOT IN ('information_schema', 'pg_catalog', 'pg_toast') ORDER BY schema_name""",
        [("public",)],
    ),
    "Grafana: tables": (
        f"""SELECT CASE WHEN {_IN_PATH} THEN quote_ident(table_name)
              ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
            FROM information_schema.tables
            WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog')
            ORDER BY CASE WHEN {_IN_PATH} THEN 0 ELSE 1 END, 1""",
        [("rides",), ("zones",)],
    ),
    "Grafana: columns": (_grafana_columns("zones"), _COLUMNS),
    "Grafana: columns of a name with its schema": (_grafana_columns("public.zones"), _COLUMNS),
    "Metabase: tables": (
        """SELECT "n"."nspname" AS "schema", "c"."relname" AS "name",
             CASE "c"."relkind" WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' ELSE NULL END AS "type",
             "d"."description" AS "description", "stat"."n_live_tup" AS "estimated_row_count"
           FROM "pg_catalog"."pg_class" AS "c"
           INNER JOIN "pg_catalog"."pg_namespace" AS "n" ON "c"."relnamespace" = "n"."oid"
           LEFT JOIN "pg_catalog"."pg_description" AS "d"
             ON "c"."oid" = "d"."objoid" AND "d"."objsubid" = 0 AND "d"."classoid" = 'pg_class'::regclass
           LEFT JOIN "pg_stat_user_tables" AS "stat"
             ON "n"."nspname" = "stat"."schemaname" AND "c"."relname" = "stat"."relname"
           WHERE "n"."nspname" !~ '^pg_' AND "n"."nspname" <> 'information_schema'
             AND c.relkind in ('r', 'p', 'v', 'f', 'm') AND "n"."nspname" IN ('public')
           ORDER BY "type" ASC, "schema" ASC, "name" ASC""",
        [("public", "zones", "TABLE", None, None), ("public", "rides", "VIEW", None, None)],
    ),
    "Metabase: columns and keys": (
        """SELECT "c"."column_name" AS "name",
             CASE WHEN "c"."udt_schema" IN ('public', 'pg_catalog') THEN FORMAT('%s', "c"."udt_name")
               ELSE FORMAT('"%s"."%s"', "c"."udt_schema", "c"."udt_name") END AS "database-type",
             "c"."ordinal_position" - 1 AS "database-position", "pk"."column_name" IS NOT NULL AS "pk?",
             COL_DESCRIPTION(CAST(CAST(FORMAT('%I.%I', CAST("c"."table_schema" AS TEXT),
               CAST("c"."table_name" AS TEXT)) AS REGCLASS) AS OID), "c"."ordinal_position") AS "comment"
           FROM "information_schema"."columns" AS "c"
           LEFT JOIN (
             SELECT "tc"."table_schema", "tc"."table_name", "kc"."column_name"
             FROM "information_schema"."table_constraints" AS "tc"
             INNER JOIN "information_schema"."key_column_usage" AS "kc"
               ON "tc"."constraint_name" = "kc"."constraint_name" AND "tc"."table_name" = "kc"."table_name"
             WHERE "tc"."constraint_type" = 'PRIMARY KEY') AS "pk"
             ON "c"."table_name" = "pk"."table_name" AND "c"."column_name" = "pk"."column_name"
           WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND "c"."table_name" IN ('zones')
           ORDER BY "database-position" ASC""",
        [
            ("vendorid", "int4", 0, True, None),
            ("fare_amount", "numeric", 1, False, None),
            ("zone", "text", 2, False, None),
        ],
    ),
    "Metabase: foreign keys": (
        """SELECT "fk_table"."relname" AS "fk", "pk_table"."relname" AS "pk" FROM "pg_constraint" AS "c"
           INNER JOIN "pg_class" AS "fk_table" ON "c"."conrelid" = "fk_table"."oid"
           INNER JOIN "pg_attribute" AS "fk_column" ON "c"."conrelid" = "fk_column"."attrelid"
           INNER JOIN "pg_class" AS "pk_table" ON "c"."confrelid" = "pk_table"."oid"
           WHERE "c"."contype" = 'f'::char AND "fk_column"."attnum" = ANY(c.conkey)""",
        [],
    ),
    "Metabase: indexes": (
        """SELECT "tmp"."table-name",
             TRIM(BOTH '"' FROM "pg_catalog".pg_get_indexdef("tmp"."ci_oid", "tmp"."pos", FALSE)) AS "field"
           FROM (
             SELECT "ct"."relname" AS "table-name", "ci"."oid" AS "ci_oid",
               (information_schema._pg_expandarray("i"."indkey")).n AS "pos"
             FROM "pg_catalog"."pg_class" AS "ct"
             INNER JOIN "pg_catalog"."pg_index" AS "i" ON "ct"."oid" = "i"."indrelid"
             INNER JOIN "pg_catalog"."pg_class" AS "ci" ON "ci"."oid" = "i"."indexrelid"
             WHERE "pg_catalog".pg_get_expr("i"."indpred", "i"."indrelid") IS NULL) AS "tmp"
           WHERE "tmp"."pos" = 1""",
        [("zones", "vendorid")],
    ),
    "Metabase: privileges": (
        """WITH p AS (
             SELECT NULL AS role, t.schemaname AS schema, t.objectname AS table,
               pg_catalog.has_any_column_privilege(current_user, t.objectname, 'select') AS select
             FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables
                   UNION SELECT schemaname, viewname AS objectname FROM pg_catalog.pg_views) t
             WHERE t.schemaname !~ '^pg_'
               AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage'))
           SELECT p.* FROM p""",
        [(None, "public", "rides", 1), (None, "public", "zones", 1)],
    ),
    "DBeaver: databases": (
        """SELECT db.oid, db.datname FROM pg_catalog.pg_database db
           WHERE datallowconn AND NOT datistemplate OR db.datname = 'ksql' ORDER BY db.datname""",
        [(1, "ksql")],
    ),
    "DBeaver: schemas": (
        """SELECT n.nspname, d.description FROM pg_catalog.pg_namespace n
           LEFT OUTER JOIN pg_catalog.pg_description d
             ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass
           ORDER BY nspname""",
        [("information_schema", None), ("pg_catalog", None), ("public", None)],
    ),
    "DBeaver: tables": (
        """SELECT c.relname, c.relkind, d.description, pg_catalog.pg_get_partkeydef(c.oid) AS partition_key,
             (SELECT array_agg(i.inhparent) FROM pg_catalog.pg_inherits i WHERE i.inhrelid = c.oid) parents
           FROM pg_catalog.pg_class c
           LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0
           WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')""",
        [("rides", "v", None, None, None), ("zones", "r", None, None, None)],
    ),
    "DBeaver: columns": (
        """SELECT a.attname, a.attnotnull, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value,
             dep.objid
           FROM pg_catalog.pg_attribute a
           INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
           LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
           LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i'
           WHERE NOT a.attisdropped AND c.relname = 'zones' ORDER BY a.attnum""",
        [
            ("vendorid", True, None, None),
            ("fare_amount", False, None, None),
            ("zone", False, None, None),
        ],
    ),
    "DBeaver: keys": (
        """SELECT c.conname, c.contype, t.relname AS tabrelname, rt.relnamespace AS refnamespace,
             CASE WHEN c.contype = 'c' THEN "substring"(pg_get_constraintdef(c.oid), 7) END consrc_copy
           FROM pg_catalog.pg_constraint c
           INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
           LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
           WHERE t.relnamespace = 2200 ORDER BY c.oid""",
        [("zones_pkey", "p", "zones", None, None)],
    ),
    "DBeaver: sizes": (
        """SELECT c.relname, pg_catalog.pg_total_relation_size(c.oid) AS total_rel_size
           FROM pg_class c WHERE c.relnamespace = 2200 AND c.relkind = 'r'""",
        [("zones", None)],
    ),
    "pgcli: databases": (
        """SELECT d.datname AS name, d.datcollate AS collate,
             pg_catalog.array_to_string(d.datacl, E'\\n') AS access_privileges
           FROM pg_catalog.pg_database d ORDER BY 1""",
        [("ksql", "C.UTF-8", "")],
    ),
    "JDBC: schemas": (
        """SELECT nspname AS TABLE_SCHEM, current_catalog AS TABLE_CATALOG FROM pg_catalog.pg_namespace
           WHERE nspname <> 'pg_toast'
             AND (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1])
           ORDER BY TABLE_SCHEM""",
        [("information_schema", "ksql"), ("pg_catalog", "ksql"), ("public", "ksql")],
    ),
    "JDBC: the length of names": (
        """SELECT t.typlen FROM pg_catalog.pg_type t, pg_catalog.pg_namespace n
           WHERE t.typnamespace = n.oid AND t.typname = 'name' AND n.nspname = 'pg_catalog'""",
        [(64,)],
    ),
    "JDBC: keywords": (
        """SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords()
           WHERE word <> ALL ('{a,abs}'::text[]) AND word IN ('emit', 'select', 'abs')""",
        [("emit,select",)],
    ),
    "JDBC: tables by a pattern": (
        r"""SELECT relname FROM pg_class WHERE relname LIKE 'zones\_p%' OR relname LIKE E'ri\\_es'
            OR relname NOT ILIKE '%e%'""",
        [("zones_pkey",)],
    ),
    "JDBC: isolation": (
        "SELECT setting FROM pg_catalog.pg_settings WHERE name='default_transaction_isolation'",
        [("read committed",)],
    ),
    "JDBC: indexes": (
        """SELECT tmp.index_name, trim(both '"' from pg_catalog.pg_get_indexdef(tmp.ci_oid,
             tmp.ordinal_position, false)) AS column_name,
             CASE tmp.am_name WHEN 'btree' THEN CASE tmp.i_indoption[tmp.ordinal_position - 1] & 1::smallint
               WHEN 1 THEN 'D' ELSE 'A' END ELSE NULL END AS asc_or_desc
           FROM (SELECT ci.relname AS index_name, ci.oid AS ci_oid, i.indoption AS i_indoption,
                   (information_schema._pg_expandarray(i.indkey)).n AS ordinal_position, am.amname AS am_name
                 FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_index i ON (ct.oid = i.indrelid)
                 JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid)
                 JOIN pg_catalog.pg_am am ON (ci.relam = am.oid) WHERE ct.relname = 'zones') AS tmp
           ORDER BY ordinal_position""",
        [("zones_pkey", "vendorid", "A")],
    ),
    "psql: gdesc": (
        """SELECT name AS "Column", pg_catalog.format_type(tp, tpm) AS "Type"
           FROM (VALUES ('k','25'::pg_catalog.oid,-1),('n','1700'::pg_catalog.oid,655366))
             s(name, tp, tpm)""",
        [("k", "text"), ("n", "numeric(10,2)")],
    ),
    "psql: databases with their tablespace": (
        """SELECT d.datname, t.spcname FROM pg_catalog.pg_database d
           JOIN pg_catalog.pg_tablespace t ON d.dattablespace = t.oid""",
        [("ksql", "pg_default")],
    ),
    "asyncpg: literals": (
        "SELECT quote_literal('it''s'::text), quote_nullable(NULL), quote_literal(NULL)",
        [("'it''s'", "NULL", None)],
    ),
    "pgcli: search path": (
        "SELECT * FROM unnest(current_schemas(true))",
        [("pg_catalog",), ("public",)],
    ),
    "pgcli: functions": (
        """SELECT p.proname func_name, COALESCE(proallargtypes::regtype[], proargtypes::regtype[])::text[],
             prorettype::regtype::text, d.deptype = 'e' is_extension
           FROM pg_catalog.pg_proc p LEFT JOIN pg_depend d ON d.objid = p.oid AND d.deptype = 'e'
           WHERE p.prorettype::regtype != 'trigger'::regtype""",
        [],
    ),
    "Superset: schemas": (
        "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname",
        [("information_schema",), ("public",)],
    ),
    "Power BI: tables": (
        """SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM INFORMATION_SCHEMA.tables
           WHERE TABLE_SCHEMA NOT IN ('information_schema', 'pg_catalog') ORDER BY TABLE_NAME""",
        [("public", "rides", "VIEW"), ("public", "zones", "BASE TABLE")],
    ),
    "Npgsql: types": (
        """SELECT a.typname, CASE WHEN pg_proc.proname = 'array_recv' THEN 'a' ELSE a.typtype END AS type,
             CASE WHEN pg_proc.proname = 'array_recv' THEN a.typelem ELSE 0 END AS elemoid
           FROM pg_type AS a
           JOIN pg_namespace AS ns ON (ns.oid = a.typnamespace)
           JOIN pg_proc ON pg_proc.oid = a.typreceive
           LEFT OUTER JOIN pg_range ON (pg_range.rngtypid = a.oid)
           WHERE a.typname IN ('int4', '_int4')""",
        [("int4", "b", 0), ("_int4", "a", 23)],
    ),
}


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection[Any]]:
    with Port(PgEngine()) as port, port.connect() as connected:
        yield connected


@pytest.mark.parametrize("name", QUERIES)
def test_what_a_tool_asks(name: str, connection: psycopg.Connection[Any]) -> None:
    query, expected = QUERIES[name]
    assert connection.execute(query).fetchall() == expected
