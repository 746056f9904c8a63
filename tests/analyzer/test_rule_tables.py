"""The tables of rules are whole, and configuration changes what they say."""

from __future__ import annotations

from itertools import product

import pytest

from ksql_spark.analyzer.expressions.aggregates import NESTED_STATE
from ksql_spark.analyzer.relations.joins import RULES
from ksql_spark.errors import CONDITIONS, KsqlError
from ksql_spark.formats import CAPABILITIES
from ksql_spark.functions import registry
from ksql_spark.grammar.with_properties import PROPERTIES
from ksql_spark.metastore.sources import STREAM, TABLE
from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind, run

SCENE = """
CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE t AS SELECT id, COUNT(*) AS n FROM s GROUP BY id;
CREATE TABLE texts AS SELECT CAST(v AS STRING) AS k, COUNT(*) AS n FROM s GROUP BY CAST(v AS STRING);
"""


def scene() -> MetaStore:
    store = MetaStore()
    run(SCENE, store)
    return store


def test_every_pair_and_kind_of_join_has_a_rule() -> None:
    kinds = ("INNER", "LEFT", "RIGHT", "FULL")
    assert set(RULES) == set(product((STREAM, TABLE), (STREAM, TABLE), kinds))
    assert all((rule.type is None) == (rule.error is not None) for rule in RULES.values())


def test_tables_are_sorted() -> None:
    tables = {"PROPERTIES": PROPERTIES, "CAPABILITIES": CAPABILITIES, "CONDITIONS": CONDITIONS}
    for name, table in tables.items():
        assert list(table) == sorted(table), f"sort the rows of {name}"


@pytest.mark.parametrize(
    ("statement", "config", "message"),
    [
        (
            "CREATE STREAM x (v INT) WITH (KAFKA_TOPIC='x');",
            {"ksql.persistence.default.format.value": "json"},
            None,
        ),
        (
            "CREATE STREAM x (a INT KEY, b INT KEY, v INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON');",
            {"ksql.persistence.default.format.key": "JSON"},
            None,
        ),
        (
            "CREATE STREAM x (b BYTES HEADER('h'), v INT) WITH (KAFKA_TOPIC='x', VALUE_FORMAT='JSON');",
            {"ksql.headers.columns.enabled": "false"},
            "ksql.headers.columns.enabled is false",
        ),
        (
            "INSERT INTO s VALUES (1, 2);",
            {"ksql.insert.into.values.enabled": False},
            "disabled INSERT INTO ... VALUES",
        ),
        ("INSERT INTO s VALUES (1, 2);", {"ksql.readonly.topics": "a,s"}, "read-only topic: s"),
        (
            "SELECT * FROM s;",
            {"ksql.query.pull.stream.enabled": "false"},
            "Pull queries on streams are disabled",
        ),
        ("SELECT * FROM t LIMIT 1;", {"ksql.query.pull.limit.clause.enabled": "false"}, "currently disabled"),
        ("SELECT * FROM t;", {"ksql.query.pull.table.scan.enabled": "false"}, "requires table scan"),
        (
            "SELECT * FROM t WHERE n = 1;",
            {"ksql.query.pull.table.scan.enabled": "false"},
            "missing key column",
        ),
        (
            "SELECT * FROM t WHERE id > 1;",
            {"ksql.query.pull.table.scan.enabled": "false"},
            "requires table scan",
        ),
        ("SELECT * FROM t WHERE id = 1 AND n > 3;", {"ksql.query.pull.table.scan.enabled": "false"}, None),
        ("SELECT * FROM texts WHERE k > 'a';", {"ksql.query.pull.table.scan.enabled": "false"}, None),
        (
            "SELECT * FROM texts WHERE k > 'a';",
            {"ksql.query.pull.table.scan.enabled": "false", "ksql.query.pull.range.scan.enabled": "false"},
            "requires table scan",
        ),
        *(
            (text, {"ksql.lambdas.enabled": "false"}, "Lambdas are not enabled at this time")
            for text in (
                "SELECT TRANSFORM(ARRAY[v], x => x + 1) FROM s EMIT CHANGES;",
                "SELECT * FROM s WHERE ARRAY_LENGTH(FILTER(ARRAY[v], x => x > 1)) = 1;",
                "CREATE STREAM o AS SELECT id, REDUCE(ARRAY[v], 0, (a, b) => a + b) AS w FROM s;",
                "INSERT INTO s (v) VALUES (REDUCE(ARRAY[1], 0, (a, b) => a + b));",
            )
        ),
        ("CREATE STREAM o AS SELECT id, v + 1 AS w FROM s;", {"ksql.lambdas.enabled": "false"}, None),
    ],
)
def test_configuration(statement: str, config: dict[str, object], message: str | None) -> None:
    if message is None:
        bind(statement, scene(), **config)
        return
    with pytest.raises(KsqlError) as raised:
        bind(statement, scene(), **config)
    assert message in raised.value.message


def test_the_topic_of_a_sink_gets_the_configured_prefix() -> None:
    bound = bind("CREATE STREAM o AS SELECT * FROM s;", scene(), **{"ksql.output.topic.name.prefix": "pre-"})
    assert bound.sink.topic == "pre-O"


def test_the_state_of_every_aggregate_is_plain_or_not() -> None:
    plain = {"COUNT", "MAX", "MIN", "SUM", "SUM_LIST"}
    # ksqlDB has a rule for its own aggregates only
    specs = (registry.aggregate(name) for name in registry.names())
    there = {spec.name for spec in specs if spec is not None and not spec.is_ours}
    assert plain | NESTED_STATE == there and not plain & NESTED_STATE


@pytest.mark.parametrize("sink", ["", "WITH (VALUE_FORMAT='JSON')"])
def test_aggregates_whose_state_delimited_values_cannot_carry(sink: str) -> None:
    store = scene()
    run("CREATE STREAM d (id INT KEY, v INT) WITH (KAFKA_TOPIC='d', VALUE_FORMAT='DELIMITED');", store)
    bind(f"CREATE TABLE o {sink} AS SELECT id, SUM(v), COUNT(*), MAX(v) FROM d GROUP BY id;", store)
    for call in ("AVG(v)", "STDDEV_SAMP(v)", "TOPK(v, 2)", "LATEST_BY_OFFSET(v)", "COUNT_DISTINCT(v)"):
        with pytest.raises(KsqlError, match="intermediate type that the value format can not handle"):
            bind(f"CREATE TABLE o {sink} AS SELECT id, {call} AS x FROM d GROUP BY id;", store)
