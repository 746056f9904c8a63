"""EXPLAIN ROW and EXPLAIN MISSING ROW, without Spark: what is planned, told and refused."""

from __future__ import annotations

from typing import Any

import pytest

from ksql_spark.analyzer.rows.traced_plans import BEFORE_START
from ksql_spark.authorization import Rights
from ksql_spark.engine.request import Request
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Expression, columns_in
from ksql_spark.plan import nodes, trees
from ksql_spark.plan.explain import explain_logical
from ksql_spark.spark import tracing
from ksql_spark.spark.tracing import Place, TracedRecords, _dropped_by
from ksql_spark.statements.rows.tracing import Decoded
from tests.statements.world import World

A = "CREATE STREAM a AS SELECT k, v + 1 AS more, w FROM s WHERE v > 3 EMIT CHANGES;"
X = """
CREATE TABLE x AS SELECT w, COUNT(*) AS n FROM s WHERE v > 3 GROUP BY w HAVING COUNT(*) > 1 EMIT CHANGES;
"""


class Finding:
    """In place of Spark: keeps what it is asked, and answers."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.first, self.last = Place(1000, 0, 0, 7, None), Place(2000, 0, 1, 8, None)
        self.traced = TracedRecords({None: 2, 1: 3, 0: 4}, [self.first], [self.last])

    def find(
        self, session: Any, consumer: Any, trace: Any, starts: Any, ends: Any, setting: Any, **more: Any
    ) -> TracedRecords:
        self.asked.append({"trace": trace, "starts": starts, "ends": ends, **more})
        return self.traced


@pytest.fixture
def finding(monkeypatch: pytest.MonkeyPatch) -> Finding:
    made = Finding()
    monkeypatch.setattr(tracing, "find", made.find)
    monkeypatch.setattr(
        "ksql_spark.statements.rows.tracing._columns", lambda *_: {made.first: Decoded({"K": "a"})}
    )
    return made


def test_the_rows_of_an_aggregate(world: World, finding: Finding) -> None:
    world.admin.ends[("s", 0)] = 9
    world.run(X)
    told = world.one("EXPLAIN ROW FROM x WHERE w = 'tea' AND ROWTIME > 5;")
    (asked,) = finding.asked
    trace = asked["trace"]
    assert trace.steps == (BEFORE_START, "WHERE (V > 3) is not true")
    assert (trace.is_aggregate, trace.is_windowed, trace.joins_versions) == (True, False, False)
    assert asked["starts"] == asked["ends"] == [{0: 9, 1: 0, 2: 0}]
    assert asked["used"] and asked["most"] == 100
    plan = explain_logical(trace.root)
    assert "((W = 'tea') AND (ROWTIME > 5))" in plan and "COUNT" not in plan
    assert [c.name for c in trace.root.schema.columns] == [
        *("__ROWTIME_0", "__ROWPARTITION_0", "__ROWOFFSET_0"),
        *("__PASSES_0", "__PASSES_1"),
    ]
    assert (told["queryId"], told["topic"], told["used"], told["isMissing"]) == ("CTAS_X_2", "s", 2, False)
    assert told["dropped"] == [
        {"reason": "it was there before the query began to read", "count": 4},
        {"reason": "WHERE (V > 3) is not true", "count": 3},
    ]
    assert told["records"] == [
        {"topic": "s", "partition": 0, "offset": 7, "timestamp": 1000, "reason": None, "columns": {"K": "a"}},
        {"topic": "s", "partition": 1, "offset": 8, "timestamp": 2000, "reason": None, "columns": None},
    ]
    assert told["notes"] == []


def test_an_aggregate_that_was_appended_lacks_older_records(world: World, finding: Finding) -> None:
    world.run("CREATE TABLE y AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;")
    world.run(
        "CREATE OR REPLACE TABLE y WITH (EVOLVE = 'in-place') AS "
        "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k;"
    )
    finding.traced = TracedRecords({None: 1}, [Place(1000, 0, 0, 7, None)], [Place(1000, 0, 0, 7, None)])
    assert world.one("EXPLAIN ROW FROM y WHERE k = 'a';")["notes"] == [
        "SUM(V) began empty when it was appended in place: older records are not in it."
    ]


def test_a_missing_row(world: World, finding: Finding) -> None:
    world.run(X)
    finding.traced = TracedRecords({1: 1, None: 1}, [Place(1000, 0, 0, 7, 1)], [Place(1000, 0, 0, 7, 1)])
    told = world.one("EXPLAIN MISSING ROW FROM x WHERE w = 'tea';")
    assert not finding.asked[0]["used"]
    (record,) = told["records"]
    assert record["reason"] == "WHERE (V > 3) is not true"
    assert told["notes"] == ["1 record belongs to it: HAVING (COUNT(*) > 1) is not true of the result."]
    finding.traced = TracedRecords({}, [], [])
    assert world.one("EXPLAIN MISSING ROW FROM x WHERE w = 'tea';")["notes"] == [
        "No record of topic s belongs to the row."
    ]


def test_columns_are_those_that_they_are_made_of(world: World, finding: Finding) -> None:
    world.run(A + "CREATE STREAM b AS SELECT w, k, more FROM a PARTITION BY w EMIT CHANGES;")
    finding.traced = TracedRecords({}, [], [])
    world.run("EXPLAIN ROW FROM a WHERE more = 5; EXPLAIN ROW FROM b WHERE w = 'x' AND k = 'y';")
    plans = [explain_logical(asked["trace"].root) for asked in finding.asked]
    assert "((V + 1) = 5)" in plans[0] and "((W = 'x') AND (K = 'y'))" in plans[1]
    assert _dropped_by(finding.asked[0]["trace"]) == (
        "CASE WHEN NOT `__PASSES_0` THEN 0 WHEN NOT `__PASSES_1` THEN 1 END"
    )


def test_the_first_and_the_best_rows(world: World, finding: Finding) -> None:
    world.run("""
        CREATE STREAM d AS SELECT DISTINCT ON (k) k, v FROM s WHERE v > 3 EMIT CHANGES;
        CREATE TABLE b WITH (KEY_FORMAT = 'JSON') AS
          SELECT w, ROW_NUMBER() OVER (PARTITION BY w ORDER BY v DESC) AS place, v FROM s QUALIFY place <= 2
          EMIT CHANGES;
        CREATE TABLE one AS
          SELECT w, v FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY w ORDER BY v) = 1 EMIT CHANGES;
    """)
    finding.traced = TracedRecords({}, [], [])
    told = world.run("""
        EXPLAIN ROW FROM d WHERE k = 'a' AND ROWOFFSET < 9;
        EXPLAIN ROW FROM b WHERE w = 'a' AND place = 2;
        EXPLAIN ROW FROM one WHERE w = 'a';
    """)
    assert [asked["trace"].steps[1:] for asked in finding.asked] == [
        ("WHERE (V > 3) is not true", "an earlier record had the same K"),
        (
            "it belongs to no group: PARTITION BY W is NULL",
            "ROW_NUMBER() OVER (PARTITION BY W ORDER BY V DESC) is greater than 2",
        ),
        (
            "it belongs to no group: PARTITION BY W is NULL",
            "ROW_NUMBER() OVER (PARTITION BY W ORDER BY V) is greater than 1",
        ),
    ]
    assert all("Records of several partitions are taken in" in each["notes"][0] for each in told)


def test_semi_joins_and_set_operations(world: World, finding: Finding) -> None:
    world.run("""
        CREATE TABLE t2 AS SELECT k, v FROM t EMIT CHANGES;
        CREATE STREAM s2 AS SELECT k, v FROM s EMIT CHANGES;
        CREATE STREAM e AS SELECT k, v FROM s WHERE k IN (SELECT s2.k FROM s2 WITHIN 1 HOUR);
        CREATE STREAM n AS SELECT k, v FROM s WHERE NOT EXISTS
          (SELECT * FROM s2 WITHIN 1 HOUR GRACE PERIOD 1 MINUTE WHERE s2.k = s.k);
        CREATE STREAM i AS SELECT k, v FROM s WHERE EXISTS (SELECT * FROM t WHERE t.k = s.k AND t.v > 3);
        CREATE TABLE ex AS SELECT k FROM t WHERE v > 1 EXCEPT SELECT k FROM t2;
        CREATE TABLE both AS SELECT k FROM t INTERSECT SELECT k FROM t2;
        CREATE TABLE u WITH (KEY_FORMAT = 'JSON') AS SELECT k, v FROM t UNION SELECT k, v FROM t2;
    """)
    finding.traced = TracedRecords({}, [], [])
    names = ("e", "n", "i", "ex", "both", "u")
    world.run("".join(f"EXPLAIN ROW FROM {name} WHERE k = 'a';" for name in names))
    steps = [asked["trace"].steps for asked in finding.asked]
    assert steps[0][2:] == (
        "nothing meets it in the join ON K = K",
        "the row was there already, for an earlier record",
    )
    assert steps[1][3:] == ("NOT EXISTS: a record meets it",)
    assert steps[2][1:] == ("nothing meets it in the join ON K = K", "WHERE (V > 3) is not true")
    table = ("a later record of its key has replaced it", "it has deleted the row")
    assert steps[3] == (
        *table,
        "WHERE (V > 1) is not true",
        *table,
        "EXCEPT: its row is on the right side, and removes equal ones",
        "EXCEPT: the right side has an equal row",
    )
    assert steps[4:] == [(*table, *table, "INTERSECT: the other side has no equal row"), (*table, *table)]


def test_ttl(world: World, finding: Finding) -> None:
    world.run("""
        CREATE TABLE carts WITH (TTL = '7 DAYS') AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;
        CREATE TABLE kept WITH (TTL = '7 DAYS') AS SELECT k, v FROM t EMIT CHANGES;
    """)
    finding.traced = TracedRecords({None: 1}, [], [])
    for name in ("carts", "kept"):
        assert world.one(f"EXPLAIN MISSING ROW FROM {name} WHERE k = 'a';")["notes"] == [
            "TTL deletes the row 7 DAYS after its last change, by the times of later records: "
            "what came before such a deletion is told, too.",
            "1 record belongs to it: the query has written it, or will once it has read all, "
            "unless its TTL has ended.",
        ]


def test_sliding_windows(world: World, finding: Finding) -> None:
    world.run("""
        CREATE TABLE w AS SELECT k, COUNT(*) AS n FROM s
          WINDOW SLIDING (SIZE 10 SECONDS, GRACE PERIOD 1 SECOND) GROUP BY k EMIT CHANGES;
    """)
    finding.traced = TracedRecords({None: 2}, [], [])
    assert world.one("EXPLAIN ROW FROM w WHERE k = 'a' AND ROWTIME < 9;")["used"] == 2
    assert finding.asked[0]["trace"].is_windowed


def test_a_query_that_undrop_brought_back_began_before_the_drop(world: World, finding: Finding) -> None:
    world.admin.ends[("s", 0)] = 9
    world.run(A, **{"auto.offset.reset": "earliest"})
    world.commit("CSAS_A_2", 0, s={"0": 7, "1": 0, "2": 0})
    world.run("DROP STREAM a;")
    world.run("UNDROP STREAM a;")
    finding.traced = TracedRecords({}, [], [])
    (note,) = world.one("EXPLAIN ROW FROM a WHERE k = 'x';")["notes"]
    assert note.startswith("UNDROP has brought the query back: what it had read before the DROP counts as")
    assert world.queries.all()[0].starts["s"]["0"] == 7
    assert finding.asked[0]["starts"] == [{0: 0, 1: 0, 2: 0}]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("EXPLAIN ROW FROM nobody WHERE k = 1;", "does not exist: NOBODY"),
        ("EXPLAIN ROW FROM s WHERE k = 'a';", "No query writes S: its rows are the records of its topic"),
        ("EXPLAIN ROW FROM x WHERE n = 1;", "WHERE may name the key (W) and ROWTIME"),
        ("EXPLAIN ROW FROM x WHERE w = 1;", "="),
        ("EXPLAIN ROW FROM j WHERE ROWOFFSET = 1;", "come of several records, so they have no ROWOFFSET"),
        ("EXPLAIN ROW FROM o WHERE p = 1;", "conditions on results of OVER yet. CREATE STREAM … AS"),
        (
            "EXPLAIN ROW FROM mr WHERE k = 'a';",
            "MATCH_RECOGNIZE yet. ALL ROWS PER MATCH shows the rows of each",
        ),
        (
            "EXPLAIN ROW FROM twice WHERE n = 'a';",
            "aggregations of aggregations yet. CREATE TABLE … AS the inner",
        ),
        ("EXPLAIN ROW FROM o2 WHERE k = 'a';", "conditions on results of OVER yet. CREATE STREAM … AS"),
        ("EXPLAIN ROW FROM m WHERE s_k = 'a';", "depends on when it was read"),
        ("EXPLAIN ROW FROM a WHERE k = 'a';", "several queries yet: CSAS_A_3, INSERTQUERY_5 write A"),
    ],
)
def test_what_is_refused(world: World, statement: str, reason: str) -> None:
    world.run(X + A + "CREATE STREAM j AS SELECT s.k, t.v FROM s JOIN t ON s.k = t.k EMIT CHANGES;")
    world.run(
        "INSERT INTO a SELECT k, v AS more, w FROM s;"
        "CREATE STREAM m AS SELECT s.k, t.v FROM s JOIN t FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP"
        " ON s.k = t.k;"
        "CREATE STREAM o AS SELECT k, LAG(v) OVER (PARTITION BY k ORDER BY ROWTIME) AS p FROM s;"
        "CREATE STREAM mr AS SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ROWTIME"
        " MEASURES LAST(a.v) AS m ONE ROW PER MATCH PATTERN (a a) WITHIN INTERVAL '1' HOUR) AS x;"
        "CREATE TABLE twice AS SELECT n, COUNT(*) AS c FROM"
        " (SELECT k, LATEST_BY_OFFSET(w) AS n FROM s GROUP BY k) x GROUP BY n;"
        "CREATE STREAM o2 AS SELECT k, p FROM"
        " (SELECT k, LAG(v) OVER (PARTITION BY k ORDER BY ROWTIME) + 1 AS p FROM s) o WHERE p > 1;"
    )
    assert reason in world.refused(statement).message


def test_all_sources_must_be_readable(world: World, finding: Finding) -> None:
    world.run(A)
    with pytest.raises(KsqlError, match="S"):
        world.answers(Request("EXPLAIN ROW FROM a WHERE k = 'x';", rights=Rights.of(["reader:a"])))
    world.answers(Request("EXPLAIN ROW FROM a WHERE k = 'x';", rights=Rights.of(["reader:a", "reader:s"])))


def _check_columns(node: nodes.Node) -> None:
    """Every column that a node uses is one of its child's, or added to a frame of an input."""
    below = {column.name for child in trees.children(node) for column in child.schema.columns}
    names = [column.name for column in node.schema.columns]
    used: list[Expression] = []
    match node:
        case nodes.Filter(_, predicate):
            used = [predicate]
        case nodes.Project(_, keys, values):
            used = [item.expression for item in (*keys, *values)]
        case nodes.BatchJoin():
            used = [node.condition]
        case nodes.BatchOver(_, by, order, calls):
            used = [*by, *(key.expression for key in order)]
            used += (argument for framed in calls for argument in framed.call.arguments)
        case nodes.FirstWithin():
            used = [*node.keys, node.number, node.time, node.stream_time]
        case nodes.UnionAll(sides):
            assert all([c.name for c in side.schema.columns] == names for side in sides)
    lost = set().union(*map(columns_in, used)) - below
    assert not {name for name in lost if not name.startswith(("__IS_READ", "__UNTIL", "__DELETES"))}
    assert len(names) == len(set(names))
    for child in trees.children(node):
        _check_columns(child)


@pytest.mark.parametrize(
    ("kind", "select"),
    [
        ("STREAM", "AS SELECT DISTINCT ON (w, v) k, v FROM s WITHIN 1 HOUR WHERE v > 1"),
        (
            "TABLE",
            "AS SELECT w, COUNT(*) AS n FROM (SELECT DISTINCT ON (w, v) * FROM s WITHIN 1 HOUR) o GROUP BY w",
        ),
        (
            "STREAM",
            "AS SELECT s.k, LAG(s.v) OVER (PARTITION BY s.w ORDER BY ROWTIME) AS p FROM s JOIN s2 "
            "WITHIN 1 HOUR ON s.k = s2.k",
        ),
        ("STREAM", "AS SELECT DISTINCT ON (s.w) s.k, s2.v FROM s JOIN s2 WITHIN 1 HOUR ON s.k = s2.k"),
        ("STREAM", "AS SELECT DISTINCT ON (s.w) s.k, t.v FROM s JOIN t ON s.k = t.k"),
        (
            "STREAM",
            "AS SELECT k, LAG(p) OVER (PARTITION BY k ORDER BY ROWTIME) AS x FROM (SELECT k, "
            "LEAD(v) OVER (PARTITION BY w ORDER BY ROWTIME) AS y, v AS p FROM s WITHIN 1 HOUR) o",
        ),
        (
            "TABLE",
            "WITH (KEY_FORMAT='JSON') AS SELECT w, ROW_NUMBER() OVER (PARTITION BY w ORDER BY v "
            "DESC) AS place, k FROM s QUALIFY place <= 3",
        ),
        (
            "TABLE",
            "WITH (KEY_FORMAT='JSON', TTL='1 DAY') AS SELECT v, RANK() OVER (PARTITION BY v ORDER "
            "BY k DESC) AS r, ROW_NUMBER() OVER (PARTITION BY v ORDER BY k DESC) AS place, k FROM "
            "t QUALIFY r <= 3",
        ),
        (
            "TABLE",
            "AS SELECT s.w, t.v FROM s JOIN t ON s.k = t.k QUALIFY ROW_NUMBER() OVER (PARTITION "
            "BY s.w ORDER BY s.v) = 1",
        ),
        ("TABLE", "AS SELECT k FROM t EXCEPT (SELECT k FROM t2 INTERSECT SELECT k FROM t3)"),
        ("TABLE", "AS SELECT k FROM t WHERE k IN (SELECT t2.k FROM t2) UNION SELECT k FROM t2"),
        (
            "TABLE",
            "AS SELECT k, AS_VALUE(k) AS kk FROM (SELECT k FROM t UNION SELECT k FROM t2) o WHERE k <> 'a'",
        ),
        ("STREAM", "AS SELECT k, v FROM s WHERE w IN (SELECT s2.k FROM s2 WITHIN 1 HOUR) AND v > 1"),
        ("STREAM", "AS SELECT k, v FROM s WHERE w NOT IN (SELECT t.k FROM t)"),
        ("TABLE", "AS SELECT k, v FROM t WHERE NOT EXISTS (SELECT * FROM t2 WHERE t2.k = t.k)"),
        (
            "TABLE",
            "AS SELECT k, COUNT(*) AS n FROM (SELECT k FROM s UNION ALL SELECT k FROM s2) o GROUP BY k",
        ),
        (
            "TABLE",
            "AS SELECT k, COUNT(*) AS n FROM s WINDOW SLIDING (SIZE 1 HOUR, GRACE PERIOD 1 HOUR) "
            "WHERE EXISTS (SELECT * FROM t WHERE t.k = s.k AND t.v > 3) GROUP BY k",
        ),
        (
            "STREAM",
            "AS SELECT k, LAG(v) OVER (PARTITION BY w ORDER BY ROWTIME) AS p FROM s UNION ALL "
            "SELECT k, v AS p FROM s2",
        ),
        (
            "TABLE",
            "AS SELECT w, COUNT(*) AS n FROM (SELECT k, w, LAG(v) OVER (PARTITION BY w ORDER BY "
            "ROWTIME) AS p FROM s) o GROUP BY w",
        ),
    ],
)
def test_every_column_of_a_trace_is_there(world: World, finding: Finding, kind: str, select: str) -> None:
    world.run("CREATE STREAM s2 AS SELECT * FROM s;")
    world.run("CREATE TABLE t2 AS SELECT * FROM t; CREATE TABLE t3 AS SELECT * FROM t;")
    world.run(f"CREATE {kind} q {select};")
    finding.traced = TracedRecords({}, [], [])
    first = world.one("DESCRIBE q;")["sourceDescription"]["fields"][0]
    value = "1" if first["schema"]["type"] == "INTEGER" else "'a'"
    world.run(f"EXPLAIN ROW FROM q WHERE {first['name']} = {value};")
    for asked in finding.asked:
        _check_columns(asked["trace"].root)
