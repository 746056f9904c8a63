"""Help by statement: syntax and examples. The syntax is the grammar's, unless a page has its own."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements import (
    RULES,
    asserts,
    comments,
    connectors,
    describe,
    functions,
    indexes,
    inserts,
    lifecycle,
    print_topic,
    queries,
    rows,
    scripts,
    session,
    show,
    sinks,
    sources,
    types,
    versions,
    views,
)


@dataclass(frozen=True)
class Page:
    """A page of help about one statement.

    Attributes:
        what: what the statement does, in a line.
        examples: whole statements.
        titles: the words by which it is found; by default those with which it begins.
        syntax: by default that of the grammar.
    """

    what: str
    examples: tuple[str, ...]
    titles: tuple[str, ...] = ()
    syntax: str = ""


_SELECT = """\
SELECT [DISTINCT | DISTINCT ON (expression, …)] * | expression [[AS] name], …
  FROM source | (SELECT …) | [ERRORS | LATE ROWS] OF query [[AS] alias]
  [[INNER | LEFT | RIGHT | FULL] JOIN source [alias] [WITHIN n unit [GRACE PERIOD n unit]] ON condition]
  [WITHIN n unit]
  [WINDOW TUMBLING (SIZE n unit) | HOPPING (SIZE n unit, ADVANCE BY n unit) |
          CUMULATIVE (SIZE n unit, STEP n unit) | SLIDING (SIZE n unit) | SESSION (n unit)]
  [WHERE condition] [GROUP BY expression | ROLLUP (…) | CUBE (…) | GROUPING SETS (…), …]
  [PARTITION BY expression] [HAVING condition]
  [QUALIFY ROW_NUMBER() OVER (PARTITION BY expression, … ORDER BY ROWTIME) = 1]
  [ORDER BY expression [ASC | DESC], …] [EMIT CHANGES [EVERY n unit] | EMIT FINAL] [LIMIT n];
With EMIT, the query runs on and returns every change; without it, it returns the current rows and ends."""
_SHOW = f"""\
SHOW | LIST  {" | ".join(show.EXTENDED)} [EXTENDED];
SHOW | LIST  [ALL] TOPICS [EXTENDED];
SHOW | LIST  {" | ".join(show.PLAIN)};
SHOW | LIST  [SOURCE | SINK] CONNECTORS | CONNECTOR PLUGINS;"""

#: every statement that the shell takes
PAGES: Mapping[type[Statement], Page] = {
    queries.Query: Page(
        "query streams and tables",
        (
            "SELECT * FROM orders WHERE price > 100 EMIT CHANGES LIMIT 10;",
            "SELECT * FROM sales WHERE item = 'tea';",
            "SELECT o.id, c.city FROM orders o JOIN customers c ON o.customer = c.name EMIT CHANGES;",
            "SELECT item, COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY item\n"
            "  EMIT CHANGES;",
        ),
        ("SELECT", "WITH", "FROM", "WHERE", "JOIN", "WINDOW", "GROUP BY", "HAVING", "PARTITION BY", "EMIT"),
        _SELECT,
    ),
    sources.CreateSource: Page(
        "declare a stream or table over a topic",
        (
            "CREATE STREAM orders (id INT KEY, item STRING, price DOUBLE)\n"
            "  WITH (KAFKA_TOPIC = 'orders', VALUE_FORMAT = 'JSON', PARTITIONS = 1);",
            "CREATE TABLE items (item STRING PRIMARY KEY, stock INT)\n"
            "  WITH (KAFKA_TOPIC = 'items', FORMAT = 'JSON', PARTITIONS = 1);",
        ),
        ("CREATE STREAM", "CREATE TABLE", "CREATE SOURCE", "CREATE OR REPLACE"),
    ),
    sources.CreateAsSelect: Page(
        "start a query that fills a new stream or table, until it is terminated",
        (
            "CREATE STREAM dear AS SELECT id, item FROM orders WHERE price > 100;",
            "CREATE TABLE sales AS SELECT item, SUM(price) AS revenue FROM orders GROUP BY item;",
        ),
        ("CREATE STREAM AS", "CREATE TABLE AS", "CREATE AS"),
    ),
    sources.AlterSource: Page("add columns", ("ALTER STREAM orders ADD COLUMN note STRING;",)),
    sources.RefreshSchema: Page(
        "add the columns that the newest registered schema has",
        ("ALTER STREAM orders REFRESH SCHEMA;",),
        ("ALTER STREAM REFRESH SCHEMA", "ALTER TABLE REFRESH SCHEMA", "REFRESH SCHEMA"),
    ),
    sources.DropSource: Page(
        "remove a stream or table, and the query that fills it", ("DROP STREAM IF EXISTS dear DELETE TOPIC;",)
    ),
    inserts.InsertValues: Page(
        "write rows",
        (
            "INSERT INTO orders (id, item, price) VALUES (1, 'tea', 2.5);",
            "INSERT INTO orders (id, item, price) VALUES (2, 'jam', 3.5), (3, 'tea', 2.5) RETURNING id;",
        ),
        ("INSERT INTO", "VALUES"),
    ),
    inserts.InsertSelect: Page(
        "start a query that writes into a stream",
        ("INSERT INTO moves SELECT * FROM returns;",),
        ("INSERT INTO SELECT", "INSERT SELECT"),
    ),
    rows.UpdateRows: Page(
        "change rows of a table", ("UPDATE items SET stock = stock - 1 WHERE item = 'tea';",)
    ),
    rows.DeleteRows: Page(
        "remove rows of a table",
        ("DELETE FROM items WHERE item IN ('tea', 'coffee');",),
        ("DELETE", "DELETE FROM"),
    ),
    rows.TruncateTable: Page("remove all rows of a table", ("TRUNCATE TABLE items;",)),
    types.CreateType: Page("name a type", ("CREATE TYPE point AS STRUCT<x DOUBLE, y DOUBLE>;",)),
    types.DropType: Page("remove the name of a type", ("DROP TYPE IF EXISTS point;",)),
    views.CreateView: Page(
        "name a SELECT, which takes the place of the name in FROM",
        ("CREATE VIEW dear AS SELECT * FROM items WHERE price > 100;",),
        ("CREATE VIEW",),
    ),
    views.DropView: Page("remove the name of a SELECT", ("DROP VIEW IF EXISTS dear;",)),
    indexes.CreateIndex: Page(
        "let pull queries find rows of a table by other columns than its key",
        ("CREATE INDEX ON items (price);", "CREATE INDEX by_city ON customers (address->city, name);"),
    ),
    indexes.DropIndex: Page("remove an index", ("DROP INDEX IF EXISTS by_city;",)),
    comments.Comment: Page(
        "say what a stream, table, view or column is",
        ("COMMENT ON TABLE items IS 'what we sell';", "COMMENT ON COLUMN items.price IS 'in euro';"),
        ("COMMENT", "COMMENT ON"),
    ),
    functions.CreateFunction: Page(
        "make a function in Python",
        (
            "CREATE FUNCTION twice(n BIGINT) RETURNS BIGINT LANGUAGE PYTHON AS $$\n"
            "def twice(n):\n    return 2 * n\n$$;",
        ),
        ("CREATE FUNCTION",),
    ),
    functions.DropFunction: Page("remove a function in Python", ("DROP FUNCTION IF EXISTS twice;",)),
    lifecycle.Terminate: Page("end a query for good", ("TERMINATE CTAS_SALES_1;",)),
    lifecycle.Pause: Page("stop a query until RESUME", ("PAUSE CTAS_SALES_1;",)),
    lifecycle.Resume: Page("go on with a paused query", ("RESUME CTAS_SALES_1;",)),
    show.Show: Page("list what there is", ("SHOW STREAMS EXTENDED;", "LIST TOPICS;"), syntax=_SHOW),
    describe.DescribeSource: Page(
        "columns of a stream or table; EXTENDED: also its queries, topic and offsets",
        ("DESCRIBE orders EXTENDED;",),
    ),
    describe.DescribeSources: Page(
        "describe all",
        ("DESCRIBE TABLES EXTENDED;",),
        ("DESCRIBE STREAMS", "DESCRIBE TABLES", "DESCRIBE VIEWS"),
    ),
    describe.DescribeFunction: Page(
        "signatures of a function", ("DESCRIBE FUNCTION UCASE;",), ("DESCRIBE FUNCTION",)
    ),
    describe.DescribeConnector: Page(
        "state and tasks of a connector", ("DESCRIBE CONNECTOR files;",), ("DESCRIBE CONNECTOR",)
    ),
    describe.Explain: Page(
        "how a query runs or would run; EVOLUTION: what replacing one would change",
        ("EXPLAIN CTAS_SALES_1;", "EXPLAIN SELECT * FROM orders EMIT CHANGES;"),
        syntax="EXPLAIN queryId;\nEXPLAIN statement;\nEXPLAIN EVOLUTION CREATE OR REPLACE … AS SELECT …;",
    ),
    describe.ExplainRow: Page(
        "which records made a row of a query's result, or where they were dropped",
        ("EXPLAIN ROW FROM sales WHERE item = 'tea';", "EXPLAIN MISSING ROW FROM sales WHERE item = 'tea';"),
        ("EXPLAIN ROW", "EXPLAIN MISSING ROW"),
    ),
    describe.ExplainRecord: Page(
        "what a record has changed, query by query, and where it was late or failed",
        ("EXPLAIN RECORD 'orders' PARTITION 0 OFFSET 17;",),
        ("EXPLAIN RECORD",),
    ),
    describe.ExplainFreshness: Page(
        "where the delay of a stream or table comes from",
        ("EXPLAIN FRESHNESS sales;",),
        ("EXPLAIN FRESHNESS",),
    ),
    versions.DescribeEvolution: Page(
        "how far the new version of a table is, which EVOLVE = 'backfill' has begun",
        ("DESCRIBE EVOLUTION sales;",),
        ("DESCRIBE EVOLUTION",),
    ),
    versions.ShowVersions: Page(
        "what a stream or table has been: each version's statement, when and by whom it was made",
        ("SHOW VERSIONS OF sales;",),
        ("SHOW VERSIONS OF",),
    ),
    versions.Rollback: Page(
        "make a stream or table again what it was in an earlier version, in place or by a backfill",
        ("ROLLBACK sales;", "ROLLBACK sales TO VERSION 1;"),
    ),
    versions.Undrop: Page(
        "bring back what DROP has removed, with its query; its topic too, unless DELETE TOPIC has deleted it",
        ("UNDROP TABLE sales;",),
    ),
    versions.Swap: Page("let the new version of a table take over", ("SWAP sales;",)),
    versions.AbortEvolution: Page("end the new version of a table", ("ABORT EVOLUTION sales;",)),
    lifecycle.ReplayErrors: Page(
        "send the records that failed in a query through it once more",
        ("REPLAY ERRORS OF CSAS_PAID_1 WHERE stage = 'PROCESSING';",),
    ),
    lifecycle.ReplayLateRows: Page(
        "compute the windows again that records came too late for",
        ("REPLAY LATE ROWS OF CTAS_SALES_1;", "REPLAY LATE ROWS OF CTAS_SALES_1 WITH (PREVIEW = true);"),
    ),
    lifecycle.Reprocess: Page(
        "compute rows of closed windows again, and write those that differ",
        (
            "REPROCESS sales WHERE shop = 'north' FROM '2026-03-01' TO '2026-03-02' WITH (PREVIEW = true);",
            "REPROCESS sales FROM '2026-03-01T09:00' TO '2026-03-01T17:00';",
        ),
    ),
    lifecycle.Forget: Page(
        "remove keys from a table and from its query's state, and list where else they may be",
        (
            "FORGET FROM visits_by_customer WHERE customer = 'c-17' WITH (PREVIEW = true);",
            "FORGET FROM customers WHERE id IN (17, 18);",
        ),
    ),
    sinks.CreateSink: Page(
        "keep a lake table, or one of a database, in step with a stream or table",
        (
            "CREATE SINK orders_lake FROM orders WITH (TYPE = 'delta', PATH = '/lake/orders');",
            "CREATE SINK orders_db FROM orders WITH (TYPE = 'jdbc', URL = 'postgresql://db/shop');",
        ),
        syntax="CREATE SINK [IF NOT EXISTS] name FROM source WITH (\n"
        "  TYPE = 'delta', PATH = '…' [, PARTITION_BY = 'day(ts), region']\n"
        "  [, COMMIT_INTERVAL = '10 seconds']);\n"
        "CREATE SINK [IF NOT EXISTS] name FROM source WITH (\n"
        "  TYPE = 'jdbc', URL = '…' [, TABLE = '…'] [, COMMIT_INTERVAL = '10 seconds']);",
    ),
    sinks.CreateSinkAs: Page(
        "make a stream or table of a query, and keep a lake table in step with it",
        ("CREATE SINK eu WITH (TYPE = 'delta', PATH = '/eu') AS SELECT * FROM orders WHERE n > 1;",),
        ("CREATE SINK",),
        "CREATE SINK [IF NOT EXISTS] name WITH (TYPE = '…', …) AS SELECT …;",
    ),
    sinks.DropSink: Page("end a sink; its lake table stays", ("DROP SINK orders_lake;",)),
    sinks.DescribeSink: Page(
        "how far a sink is, and what stops it", ("DESCRIBE SINK orders_lake;",), ("DESCRIBE SINK",)
    ),
    sinks.CompactSink: Page(
        "merge the small files of a lake table, and remove what is not needed any more",
        ("COMPACT SINK orders_lake;",),
    ),
    sinks.PauseSink: Page("stop a sink until RESUME SINK", ("PAUSE SINK orders_lake;",), ("PAUSE SINK",)),
    sinks.ResumeSink: Page("go on with a paused sink", ("RESUME SINK orders_lake;",), ("RESUME SINK",)),
    print_topic.PrintTopic: Page(
        "records of a topic, until Ctrl-C", ("PRINT orders FROM BEGINNING LIMIT 3;",)
    ),
    session.SetProperty: Page("set a property for this session", ("SET 'auto.offset.reset' = 'earliest';",)),
    session.UnsetProperty: Page("use the server's value again", ("UNSET 'auto.offset.reset';",)),
    session.AlterSystem: Page(
        "set a property of the server", ("ALTER SYSTEM 'auto.offset.reset' = 'earliest';",)
    ),
    session.DefineVariable: Page(
        "name a text, which statements use as ${name}", ("DEFINE limit_price = '100';",)
    ),
    session.UndefineVariable: Page("forget a variable", ("UNDEFINE limit_price;",)),
    connectors.CreateConnector: Page(
        "start a connector of Kafka Connect",
        (
            "CREATE SOURCE CONNECTOR files WITH (\n"
            "  'connector.class' = 'FileStreamSource', 'file' = '/tmp/in', 'topic' = 'lines');",
        ),
        ("CREATE SOURCE CONNECTOR", "CREATE SINK CONNECTOR", "CREATE CONNECTOR"),
    ),
    connectors.DropConnector: Page("end a connector", ("DROP CONNECTOR IF EXISTS files;",)),
    asserts.AssertTopic: Page(
        "fail unless there is a topic",
        ("ASSERT TOPIC orders WITH (PARTITIONS = 1) TIMEOUT 10 SECONDS;",),
        ("ASSERT", "ASSERT TOPIC"),
    ),
    asserts.AssertSchema: Page(
        "fail unless the registry has a schema",
        ("ASSERT SCHEMA SUBJECT 'orders-value' TIMEOUT 10 SECONDS;",),
        ("ASSERT SCHEMA",),
    ),
    scripts.RunScript: Page("run the statements of a file", ("RUN SCRIPT 'statements.sql';",)),
}


def syntax(node: type[Statement]) -> str:
    """Return the syntax of a statement: its page's, or the first line of the grammar's docstring.

    >>> syntax(types.DropType)
    'DROP TYPE [IF EXISTS] name;'
    """
    summary = " ".join((inspect.getdoc(node) or "").split("\n\n")[0].split())
    return PAGES[node].syntax or summary.split(";")[0].removesuffix(".") + ";"


def titles(node: type[Statement]) -> tuple[str, ...]:
    """The words by which a statement is found."""
    return PAGES[node].titles or next(rule.starts for rule in RULES if rule.node is node)


def statements_named(words: Sequence[str]) -> list[type[Statement]]:
    """The statements that begin with ``words``, or those whose title ``words`` begin with.

    >>> [node.__name__ for node in found(["drop"])]
    ['DropSource', 'DropType', 'DropFunction', 'DropConnector']
    >>> [node.__name__ for node in found("create stream s".split())]
    ['CreateSource']
    """
    beginning = " ".join(words).upper().removesuffix(";") + " "
    exact = [node for node in PAGES if any(beginning == f"{title} " for title in titles(node))]
    if exact:
        return exact
    begun = [node for node in PAGES if any(f"{title} ".startswith(beginning) for title in titles(node))]
    if begun:
        return begun
    longer = {title: node for node in PAGES for title in titles(node) if beginning.startswith(f"{title} ")}
    return [longer[max(longer, key=len)]] if longer else []
