"""Each statement that names something shows where an unknown name is, and which known one is near."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from ksql_spark import grammar
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.asserts import AssertSchema, AssertTopic
from ksql_spark.grammar.statements.connectors import CreateConnector
from ksql_spark.grammar.statements.describe import DescribeSources
from ksql_spark.grammar.statements.functions import CreateFunction
from ksql_spark.grammar.statements.session import AlterSystem, DefineVariable, UndefineVariable
from ksql_spark.statements import HANDLERS
from tests.statements.world import World

SCENE = """
CREATE TABLE counts AS SELECT w, COUNT(*) AS n FROM s GROUP BY w EMIT CHANGES;
CREATE SOURCE TABLE stored (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE VIEW watched AS SELECT * FROM s;
CREATE TYPE address AS STRUCT<a INT>;
CREATE INDEX by_value ON stored (v);
"""
#: a statement with an unknown name -> that name in it, and what the error suggests
UNKNOWN = {
    "DROP STREAM conts;": ("conts", "COUNTS"),
    "DROP TABLE conts DELETE TOPIC;": ("conts", "COUNTS"),
    "DROP VIEW wached;": ("wached", "WATCHED"),
    "DROP TYPE addres;": ("addres", "ADDRESS"),
    "DROP INDEX by_valu;": ("by_valu", "BY_VALUE"),
    "DROP SINK lost;": ("lost", "SHOW SINKS lists"),
    "DROP CONNECTOR lost;": ("lost", "SHOW CONNECTORS lists"),
    "DROP FUNCTION lost;": ("lost", "SHOW FUNCTIONS lists"),
    "DESCRIBE conts;": ("conts", "COUNTS"),
    "DESCRIBE conts EXTENDED;": ("conts", "COUNTS"),
    "DESCRIBE FUNCTION subsrting;": ("subsrting", "SUBSTRING"),
    "DESCRIBE CONNECTOR lost;": ("lost", "SHOW CONNECTORS lists"),
    "DESCRIBE SINK lost;": ("lost", "SHOW SINKS lists"),
    "DESCRIBE EVOLUTION conts;": ("conts", "COUNTS"),
    "TERMINATE ctas_conts_1;": ("ctas_conts_1", "CTAS_COUNTS_"),
    "PAUSE ctas_conts_1;": ("ctas_conts_1", "CTAS_COUNTS_"),
    "RESUME ctas_conts_1;": ("ctas_conts_1", "CTAS_COUNTS_"),
    "EXPLAIN ctas_conts_1;": ("ctas_conts_1", "CTAS_COUNTS_"),
    "EXPLAIN FRESHNESS conts;": ("conts", "COUNTS"),
    "EXPLAIN ROW FROM conts WHERE w = 'a';": ("conts", "COUNTS"),
    "EXPLAIN RECORD 'tt' PARTITION 0 OFFSET 1;": ("'tt'", "SHOW TOPICS"),
    "REPLAY ERRORS OF ctas_conts_1;": ("ERRORS OF ctas_conts_1", "CTAS_COUNTS_"),
    "REPLAY LATE ROWS OF ctas_conts_1;": ("LATE ROWS OF ctas_conts_1", "CTAS_COUNTS_"),
    "REPROCESS conts;": ("conts", "COUNTS"),
    "FORGET FROM conts WHERE w = 'a';": ("conts", "COUNTS"),
    "PAUSE SINK lost;": ("lost", "SHOW SINKS lists"),
    "RESUME SINK lost;": ("lost", "SHOW SINKS lists"),
    "COMPACT SINK lost;": ("lost", "SHOW SINKS lists"),
    "ALTER TABLE conts ADD COLUMN x INT;": ("conts", "COUNTS"),
    "ALTER STREAM conts REFRESH SCHEMA;": ("conts", "COUNTS"),
    "COMMENT ON TABLE conts IS 'x';": ("conts", "COUNTS"),
    "SWAP conts;": ("conts", "COUNTS"),
    "ABORT EVOLUTION conts;": ("conts", "COUNTS"),
    "ROLLBACK conts;": ("conts", "COUNTS"),
    "UNDROP TABLE conts;": ("conts", "No stream or table CONTS has been dropped"),
    "SHOW VERSIONS OF conts;": ("conts", "COUNTS"),
    "SHOW INDEXES ON conts;": ("conts", "COUNTS"),
    "CREATE INDEX i ON conts (n);": ("conts", "COUNTS"),
    "CREATE SINK lake FROM conts WITH ('type' = 'delta', 'path' = '/x');": ("conts", "COUNTS"),
    "CREATE SINK lake WITH ('type' = 'delta') AS SELECT * FROM conts;": ("conts", "COUNTS"),
    "CREATE VIEW v AS SELECT * FROM conts;": ("conts", "COUNTS"),
    "CREATE STREAM x AS SELECT * FROM conts;": ("conts", "COUNTS"),
    "CREATE STREAM x (a INT) WITH (KAFKA_TOPIC='tt', VALUE_FORMAT='JSON');": ("'tt'", "'t'"),
    "CREATE TYPE home AS addres;": ("addres", "ADDRESS"),
    "INSERT INTO conts SELECT * FROM s;": ("conts", "COUNTS"),
    "INSERT INTO conts VALUES ('a', 1);": ("conts", "COUNTS"),
    "UPDATE conts SET n = 1 WHERE w = 'a';": ("conts", "COUNTS"),
    "DELETE FROM conts WHERE w = 'a';": ("conts", "COUNTS"),
    "TRUNCATE conts;": ("conts", "COUNTS"),
    "SET 'auto.offset.rest' = 'latest';": ("'auto.offset.rest'", "'auto.offset.reset'"),
    "UNSET 'auto.offset.rest';": ("'auto.offset.rest'", "'auto.offset.reset'"),
    "EXPLAIN DROP STREAM conts;": ("conts", "COUNTS"),
    "EXPLAIN EVOLUTION ROLLBACK conts;": ("conts", "COUNTS"),
}
#: statements that name nothing that must be there
FREE = {
    AlterSystem, AssertSchema, AssertTopic, CreateConnector, CreateFunction, DefineVariable,
    DescribeSources, UndefineVariable,
}  # fmt: skip


@pytest.fixture
def there(make_world: Callable[..., World]) -> World:
    world = make_world(**{"ksql.create.function.enabled": True})
    world.run(SCENE)
    return world


@pytest.mark.parametrize("statement", UNKNOWN)
def test_an_unknown_name_has_a_caret_and_the_nearest_name(statement: str, there: World) -> None:
    name, advice = UNKNOWN[statement]
    refused = there.refused(f"SHOW TABLES;\n  {statement}")
    assert _marked(refused) == name, refused.message
    assert advice in refused.message


def test_all_statements_that_name_something_are_in_the_table() -> None:
    tried = {type(parsed) for text in UNKNOWN for parsed in grammar.parse(text)}
    assert HANDLERS.keys() - tried == FREE


def _marked(error: KsqlError) -> str:
    """The part of the statement under the carets of an error's message."""
    place, line, carets = error.message.splitlines()[-3:]
    assert re.fullmatch(r"line \d+:\d+", place), error.message
    return line[carets.index("^") :][: carets.count("^")]
