"""Roles for what a pattern names (ADR 37), and how one could get around them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ksql_spark import grammar
from ksql_spark.authorization import (
    _NEEDS,
    ALL_RIGHTS,
    Grant,
    Kind,
    Rights,
    Role,
    check_statement,
    role_for_statement,
)
from ksql_spark.engine.query_service import QueryService
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements import RULES
from tests.statements.world import World

#: she reads what begins with ORDERS, and does what she likes with what begins with ALICE_
ALICE = Rights.of(["reader:orders*", "developer:alice_*", "developer:'raw.*'"])
SCENE = """
CREATE STREAM orders (k STRING KEY, v INT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE orders_t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='ot', FORMAT='JSON', PARTITIONS=1);
CREATE STREAM alice_s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='ALICE_S', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM alice_o (k STRING KEY, v INT) WITH (KAFKA_TOPIC='salaries', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM salary (k STRING KEY, v INT) WITH (KAFKA_TOPIC='salaries', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE salary_t (k STRING PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='st', FORMAT='JSON', PARTITIONS=1);
CREATE STREAM `orders` (k STRING KEY, v INT) WITH (KAFKA_TOPIC='low', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM top (k STRING KEY, v INT) WITH (KAFKA_TOPIC='top', VALUE_FORMAT='JSON', PARTITIONS=1);
INSERT INTO top WITH (QUERY_ID='paid') SELECT * FROM salary;
CREATE STREAM alice_copy (k STRING KEY, v INT) WITH (KAFKA_TOPIC='raw.c', VALUE_FORMAT='JSON', PARTITIONS=1);
INSERT INTO alice_copy WITH (QUERY_ID='own') SELECT * FROM orders;
"""


@pytest.fixture
def scene(make_world: Callable[..., World]) -> World:
    world = make_world(**{"ksql.create.or.replace.enabled": True})
    world.admin.create_topic("raw.a")
    world.admin.create_topic("_confluent-ksql-default__command_topic")
    world.run(SCENE)
    return world


def refused(world: World, text: str, rights: Rights = ALICE, **more: Any) -> KsqlError:
    """The error of a request, which must have changed nothing."""
    before, sent = list(world.log.records), list(world.sent)
    with pytest.raises(KsqlError) as caught:
        world.statements.execute(Request(text, rights=rights, **more))
    assert (world.log.records, world.sent) == (before, sent)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        # reading what she may not, in every place that a relation can have
        "CREATE STREAM alice_x AS SELECT * FROM salary;",
        "CREATE STREAM alice_x AS SELECT * FROM SaLaRy;",
        "CREATE STREAM alice_x AS SELECT * FROM `SALARY`;",
        "CREATE STREAM alice_x AS SELECT * FROM salary AS orders;",
        "CREATE STREAM alice_x AS SELECT * FROM `orders`;",
        "CREATE STREAM alice_x AS SELECT o.k, s.v FROM orders o JOIN salary s WITHIN 1 HOUR ON o.k = s.k;",
        "CREATE STREAM alice_x AS SELECT o.k, t.v FROM orders o LEFT JOIN salary_t t ON o.k = t.k;",
        "CREATE STREAM alice_x AS SELECT a.k AS k, c.v FROM orders a JOIN orders_t b ON a.k = b.k"
        " JOIN salary_t c ON a.k = c.k;",
        "CREATE STREAM alice_x AS SELECT * FROM (SELECT * FROM salary) x;",
        "CREATE STREAM alice_x AS SELECT * FROM (SELECT * FROM (SELECT k, v FROM salary) y) orders;",
        "CREATE STREAM alice_x AS SELECT * FROM orders UNION ALL SELECT * FROM salary;",
        "CREATE STREAM alice_x AS WITH orders AS (SELECT * FROM salary) SELECT * FROM orders;",
        "CREATE STREAM alice_x AS WITH salary AS (SELECT * FROM salary) SELECT * FROM salary;",
        "CREATE TABLE alice_x AS SELECT k, COUNT(*) AS n FROM salary GROUP BY k;",
        "INSERT INTO alice_s SELECT * FROM salary;",
        # writing what she may not
        "INSERT INTO orders SELECT * FROM alice_s;",
        "INSERT INTO orders (k, v) VALUES ('a', 1);",
        "INSERT INTO salary (k, v) VALUES ('a', 1);",
        "FORGET FROM salary_t WHERE k = 'a';",
        "INSERT INTO `SALARY` (k, v) VALUES ('a', 1);",
        "INSERT INTO alice_s (k, v) VALUES ('a', 1); INSERT INTO orders (k, v) VALUES ('a', 1);",
        "CREATE STREAM bob_x AS SELECT * FROM orders;",
        "CREATE OR REPLACE STREAM orders AS SELECT * FROM alice_s;",
        "CREATE STREAM `alice_x` AS SELECT * FROM orders;",
        "ALTER STREAM orders ADD COLUMN w INT;",
        "DROP STREAM orders;",
        "DROP STREAM IF EXISTS salary;",
        "DROP STREAM IF EXISTS nothing_of_hers;",
        # topics of others, by new names
        "CREATE STREAM alice_x (v INT) WITH (KAFKA_TOPIC='salaries', VALUE_FORMAT='JSON');",
        "CREATE STREAM alice_x (v INT) WITH (kafka_topic='salaries', VALUE_FORMAT='JSON');",
        "CREATE STREAM alice_x (v INT) WITH (TOPIC_PATTERN='ALICE_.*', VALUE_FORMAT='JSON');",
        "CREATE SOURCE STREAM alice_x (v INT) WITH (TOPIC_PATTERN='.*|ALICE_', VALUE_FORMAT='JSON');",
        "CREATE SOURCE STREAM alice_x (v INT) WITH (KAFKA_TOPIC='salaries', VALUE_FORMAT='JSON');",
        "CREATE OR REPLACE STREAM alice_s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');",
        "CREATE STREAM IF NOT EXISTS alice_x (v INT) WITH (KAFKA_TOPIC='o', VALUE_FORMAT='JSON');",
        "CREATE STREAM alice_x (v INT) WITH (KAFKA_TOPIC='alice_lower', VALUE_FORMAT='JSON', PARTITIONS=1);",
        "CREATE STREAM alice_x WITH (KAFKA_TOPIC='salaries') AS SELECT * FROM orders;",
        "CREATE STREAM alice_x (v STRING) WITH (KAFKA_TOPIC='_confluent-ksql-default__command_topic',"
        " VALUE_FORMAT='KAFKA');",
        "SET 'ksql.output.topic.name.prefix' = 'x_'; CREATE STREAM alice_x AS SELECT * FROM orders;",
        "DEFINE t = 'salaries';"
        " CREATE STREAM alice_x (v INT) WITH (KAFKA_TOPIC='${t}', VALUE_FORMAT='JSON');",
        "DEFINE s = 'salary'; CREATE STREAM alice_x AS SELECT * FROM ${s};",
        "DROP STREAM alice_o DELETE TOPIC;",
        "ASSERT TOPIC 'salaries'; SHOW STREAMS;",
        # queries of others
        "TERMINATE paid;",
        "PAUSE Paid;",
        "RESUME `paid`;",
        "TERMINATE ALL;",
        "PAUSE ALL;",
        "TERMINATE no_such_query;",
        # what is seen of others
        "DESCRIBE salary;",
        "DESCRIBE `orders` EXTENDED;",
        "DESCRIBE no_such_stream;",
        "EXPLAIN paid;",
        "EXPLAIN SELECT * FROM salary EMIT CHANGES;",
        "EXPLAIN SELECT * FROM salary_t WHERE k = 'a';",
        "EXPLAIN CREATE STREAM alice_x AS SELECT * FROM salary;",
        "EXPLAIN INSERT INTO salary SELECT * FROM orders;",
        "SHOW CONNECTORS;",
        # what belongs to all
        "CREATE TYPE alice_t AS INT;",
        "DROP TYPE IF EXISTS alice_t;",
        "ASSERT SCHEMA SUBJECT 'alice_s-value';",
        "ALTER SYSTEM 'ksql.query.error.max.queue.size' = '5';",
        "CREATE FUNCTION alice_f (x INT) RETURNS INT LANGUAGE PYTHON AS $$return x$$;",
        "CREATE SOURCE CONNECTOR alice_c WITH ('connector.class' = 'x');",
        # allowed ones before it do not help
        "SHOW STREAMS; CREATE STREAM alice_x AS SELECT * FROM orders; DROP STREAM salary;",
        "ASSERT TOPIC 'raw.a'; DROP STREAM salary;",
    ],
)
def test_ways_around_patterns_that_are_closed(scene: World, text: str) -> None:
    error = refused(scene, text)
    assert (error.code, error.condition) == (40300, "FORBIDDEN"), error.message


def test_variables_of_the_session_are_no_way_around(scene: World) -> None:
    text = "CREATE STREAM alice_x AS SELECT * FROM ${s};"
    assert refused(scene, text, variables={"s": "salary"}).condition == "FORBIDDEN"
    assert refused(scene, text, variables={"s": "orders, salary"}).condition == "SYNTAX"


def test_a_statement_after_one_that_waits_is_checked_with_the_same_rights(scene: World) -> None:
    """Those after it are checked again, in a sandbox of their own."""
    text = "ASSERT TOPIC 'raw.a'; CREATE STREAM alice_x AS SELECT * FROM orders; SHOW STREAMS;"
    *_, shown = scene.answers(Request(text, rights=ALICE))
    assert {row["name"] for row in shown["streams"]} == {
        "ALICE_COPY",
        "ALICE_O",
        "ALICE_S",
        "ALICE_X",
        "ORDERS",
    }


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM alice_x AS SELECT * FROM orders; INSERT INTO alice_x (k, v) VALUES ('a', 1);"
        " DROP STREAM alice_x DELETE TOPIC;",
        "CREATE STREAM alice_x AS SELECT o.k, t.v FROM orders o JOIN orders_t t ON o.k = t.k;",
        "CREATE STREAM alice_x AS WITH few AS (SELECT * FROM orders) SELECT * FROM few;",
        "CREATE STREAM alice_x (v INT) WITH (KAFKA_TOPIC='raw.a', VALUE_FORMAT='JSON');",
        "CREATE STREAM alice_x (v INT) WITH (KAFKA_TOPIC='raw.new', VALUE_FORMAT='JSON', PARTITIONS=1);",
        "PAUSE own; RESUME OWN; TERMINATE own;",
        "DROP STREAM alice_o;",
        "ALTER STREAM alice_s ADD COLUMN w INT;",
        "EXPLAIN own; EXPLAIN SELECT * FROM orders EMIT CHANGES;"
        " EXPLAIN CREATE STREAM x AS SELECT * FROM orders;",
        "DESCRIBE orders EXTENDED; DESCRIBE alice_s; SHOW FUNCTIONS; SHOW PROPERTIES; SHOW TYPES;"
        " SHOW VARIABLES;",
        "SET 'auto.offset.reset' = 'earliest'; DEFINE a = 'b'; UNDEFINE a; UNSET 'auto.offset.reset';",
    ],
)
def test_what_patterns_allow(scene: World, text: str) -> None:
    scene.statements.execute(Request(text, rights=ALICE))


def test_lists_have_what_may_be_seen(scene: World) -> None:
    def one(text: str, rights: Rights = ALICE) -> dict[str, Any]:
        (entity,) = scene.answers(Request(text, rights=rights))
        return entity

    assert [s["name"] for s in one("SHOW STREAMS;")["streams"]] == [
        "ALICE_COPY",
        "ALICE_O",
        "ALICE_S",
        "ORDERS",
    ]
    assert [s["name"] for s in one("LIST TABLES;")["tables"]] == ["ORDERS_T"]
    topics = [t["name"] for t in one("SHOW ALL TOPICS;")["topics"]]
    assert topics == ["ALICE_S", "o", "ot", "raw.a", "raw.c", "salaries"]  # salaries: of her ALICE_O
    assert [q["id"] for q in one("SHOW QUERIES;")["queries"]] == ["OWN"]
    assert [q["id"] for q in one("SHOW QUERIES EXTENDED;")["queryDescriptions"]] == ["OWN"]
    for text in ("DESCRIBE STREAMS;", "SHOW STREAMS EXTENDED;", "DESCRIBE STREAMS EXTENDED;"):
        shown = json.dumps(one(text))
        assert "ALICE_COPY" in shown and '"SALARY' not in shown and '"TOP"' not in shown, shown
        assert "PAID" not in shown and "FROM salary" not in shown
    nobody = Rights.of(["reader:nothing"])
    assert one("SHOW STREAMS;", nobody)["streams"] == []
    assert one("SHOW ALL TOPICS;", nobody)["topics"] == []
    # of a source that others read, too
    scene.run("CREATE STREAM board AS SELECT * FROM orders;")
    assert "BOARD" not in json.dumps(one("DESCRIBE orders EXTENDED;"))
    assert "BOARD" in json.dumps(one("DESCRIBE orders EXTENDED;", ALL_RIGHTS))


def test_errors_name_nothing_that_may_not_be_seen(scene: World) -> None:
    everything = Rights.of(["developer:sal*"])
    scene.run("CREATE STREAM sister (v INT) WITH (KAFKA_TOPIC='si', VALUE_FORMAT='JSON', PARTITIONS=1);")
    known = refused(scene, "DESCRIBE salari;", everything)
    assert "SALARY" in known.message
    other = refused(scene, "DESCRIBE alice_salary_t;")
    assert "SALARY_T" not in other.message.replace("ALICE_SALARY_T", "")
    missing = refused(
        scene,
        "CREATE STREAM salaries (v INT) WITH (KAFKA_TOPIC='SALARIES', VALUE_FORMAT='JSON');",
        everything,
    )
    assert missing.condition == "TOPIC_MISSING" and "salaries" not in missing.message.splitlines()[0]


QUERIES = [
    "SELECT * FROM salary EMIT CHANGES;",
    "SELECT * FROM salary;",
    "SELECT * FROM salary_t WHERE k = 'a';",
    "SELECT * FROM `SALARY_T`;",
    "SELECT v FROM (SELECT * FROM salary_t);",
    "SELECT v FROM (SELECT * FROM salary_t) orders_t;",
    "WITH orders_t AS (SELECT * FROM salary_t) SELECT * FROM orders_t;",
    "SELECT * FROM orders_t UNION ALL SELECT * FROM salary_t;",
    "SELECT o.v FROM orders_t o JOIN salary_t s ON o.k = s.k;",
    "SELECT COUNT(*) FROM salary_t;",
    "SELECT * FROM ERRORS OF CTAS_SALARY_COUNTS_9;",
    "SELECT * FROM LATE ROWS OF CTAS_SALARY_COUNTS_9;",
    "SELECT o.v FROM orders_t o JOIN (SELECT * FROM ERRORS OF salary) s ON o.k = s.step;",
    "PRINT 'salaries';",
    "PRINT 'o';",
    "PRINT salaries FROM BEGINNING LIMIT 1;",
    "PRINT '_confluent-ksql-default__command_topic' FROM BEGINNING;",
]


@pytest.mark.parametrize("text", QUERIES)
def test_queries_of_what_may_not_be_read(scene: World, text: str) -> None:
    with pytest.raises(KsqlError) as caught:
        QueryService(scene.services).query(Request(text, rights=ALICE))
    assert caught.value.condition == "FORBIDDEN", caught.value.message


COMMANDS = "_confluent-ksql-default__command_topic"


@pytest.mark.parametrize("given", ["developer", "developer:*", "developer:'_confluent*'"])
def test_only_an_admin_reads_commands(scene: World, given: str) -> None:
    """They hold the passwords of everybody's properties as they were sent."""
    rights = Rights.of([given])
    with pytest.raises(KsqlError) as caught:
        QueryService(scene.services).query(Request(f"PRINT '{COMMANDS}';", rights=rights))
    assert caught.value.condition == "FORBIDDEN" and "admin" in caught.value.message
    create = f"CREATE STREAM commands (v STRING) WITH (KAFKA_TOPIC='{COMMANDS}', VALUE_FORMAT='KAFKA');"
    for text in (create, create.replace("STREAM", "SOURCE STREAM", 1)):
        assert refused(scene, text, rights).condition == "FORBIDDEN"
    scene.statements.execute(Request(create))


def test_parameters_are_no_way_around(scene: World) -> None:
    service = QueryService(scene.services)
    for parameters in (["a"], {"x": "a"}):
        text = f"SELECT * FROM salary_t WHERE k = {'?' if isinstance(parameters, list) else ':x'};"
        with pytest.raises(KsqlError) as caught:
            service.query(Request(text, parameters=parameters, rights=ALICE))
        assert caught.value.condition == "FORBIDDEN"


def test_rows_are_inserted_by_who_may_write(scene: World) -> None:
    service = QueryService(scene.services)
    for target in ("orders", "SALARY", "salary", "`SALARY`", "`orders`", "nothing"):
        with pytest.raises(KsqlError) as caught:
            service.inserter(target, {}, lambda: None, ALICE)
        assert caught.value.condition == "FORBIDDEN"
    service.inserter("alice_s", {}, lambda: None, ALICE).close()


def test_every_statement_that_has_no_rule_for_patterns_needs_a_role_for_everything(scene: World) -> None:
    assert _NEEDS.keys() <= {rule.node for rule in RULES}
    without = {rule.node.__name__ for rule in RULES if rule.node not in _NEEDS}
    assert {"AlterSystem", "CreateType", "CreateFunction", "CreateConnector", "AssertSchema"} < without
    # what needs a developer, needs one for a name: no rule forgets it
    for text in (
        "INSERT INTO x (k) VALUES (1);", "INSERT INTO x SELECT * FROM y;", "ALTER TABLE x ADD COLUMN v INT;",
        "CREATE STREAM x AS SELECT * FROM y;", "CREATE STREAM x (v INT) WITH (KAFKA_TOPIC='x');",
        "DROP TABLE x;", "PRINT x;", "ASSERT TOPIC x;", "TERMINATE paid;", "PAUSE paid;", "RESUME paid;",
        "FORGET FROM x WHERE k = 1;",
    ):  # fmt: skip
        (statement,) = grammar.parse(text)
        assert role_for_statement(type(statement)) is Role.DEVELOPER
        with pytest.raises(KsqlError, match="needs the role developer"):
            context: Any = scene_context(scene)
            check_statement(Rights.of(["reader:*"]), statement, context)


def test_what_reads_files_and_databases_of_the_server_needs_an_admin(scene: World) -> None:
    context: Any = scene_context(scene)
    for text in (
        "CREATE TABLE x (k INT PRIMARY KEY) WITH (LAKE='/etc', FORMAT='csv');",
        "CREATE STREAM x (k INT) WITH (KAFKA_TOPIC='x', FORMAT='JSON', ARCHIVE='/etc');",
        "CREATE SINK x FROM y WITH (TYPE='jdbc', URL='sqlite:x');",
    ):
        (statement,) = grammar.parse(text)
        for rights in (["developer"], ["developer:*"]):
            with pytest.raises(KsqlError, match="needs the role admin"):
                check_statement(Rights.of(rights), statement, context)
        check_statement(Rights.of(["admin"]), statement, context)


def scene_context(world: World) -> Any:
    from ksql_spark.engine.request import context_of

    return context_of(Request(""), world.services)


@pytest.mark.parametrize(
    "text", ["", "reader:", "king", "king:x", "admin:x_*", "reader:a b", "reader:'x", "reader:``", ":x"]
)
def test_what_is_no_role(text: str) -> None:
    with pytest.raises(ValueError):
        Rights.of([text])
    with pytest.raises(ValueError):
        Rights.of([])


@pytest.mark.parametrize(
    ("pattern", "source", "is_covered"),
    [
        ("orders", "ORDERS", True),
        ("orders", "ORDERS_2", False),
        ("orders*", "ORDERS_2", True),
        ("orders*", "X_ORDERS", False),
        ("*orders", "X_ORDERS", True),
        ("a*c", "AC", True),
        ("a.c", "ABC", False),
        ("a?", "AB", False),
        ("a*", "A\nB", True),
        ("`orders`", "orders", True),
        ("`orders`", "ORDERS", False),
        ("'orders'", "orders", False),
        ("*", "anything", True),
    ],
)
def test_patterns(pattern: str, source: str, is_covered: bool) -> None:
    assert Grant.of(f"reader:{pattern}").covers(Kind.SOURCE, source) is is_covered


def test_only_a_role_for_everything_covers_the_topics_of_a_pattern() -> None:
    for pattern, is_covered in (("*", True), ("'*'", True), ("'/a.*/'", False), ("'*a*'", False)):
        assert Grant.of(f"reader:{pattern}").covers(Kind.TOPIC, "/a.*/") is is_covered


def test_the_highest_role_counts() -> None:
    rights = Rights.of(["reader", "developer:x*", "reader:x_1"])
    assert rights.of_name(Kind.SOURCE, "X_1") is Role.DEVELOPER
    assert rights.of_name(Kind.SOURCE, "Y") is Role.READER
    assert rights.highest is Role.DEVELOPER and str(rights) == "reader, developer for X*, reader for X_1"
