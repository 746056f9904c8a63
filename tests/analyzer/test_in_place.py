"""EVOLVE = 'in-place': which new versions go on with the state of the old one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ksql_spark.analyzer import appended, fitted
from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import Aggregate, Node
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import children
from tests.analyzer.binding import bind, run

SCENE = """
CREATE STREAM s (id INT KEY, v INT, w STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM s2 (id INT KEY, x INT) WITH (KAFKA_TOPIC='s2', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, a INT, b STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE u (id INT PRIMARY KEY, c INT) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');
"""
COUNTS = "v, COUNT(*) AS n, SUM(id) AS total FROM s GROUP BY v"
JOINED = "s.id, s.v, t.a FROM s JOIN t ON s.id = t.id"
WINDOWED = "v, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR, {}) GROUP BY v"
FIRST = " FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON"
BOTH = "s.id, s.v, s2.x FROM s JOIN s2 WITHIN 1 HOUR ON s.id = s2.id"


def versions(
    kind: str, old: str, new: str, between: str = "", options: str = ""
) -> tuple[PersistentQuery, PersistentQuery]:
    store = MetaStore()
    run(SCENE, store)
    before = bind(f"CREATE {kind} o {options} AS SELECT {old};", store)
    if between:
        run(between, store)
    return before, bind(f"CREATE {kind} o {options} AS SELECT {new};", store)


def parts(node: Node) -> list[Node]:
    return [node, *(part for child in children(node) for part in parts(child))]


def test_the_same_statement_stays_as_it_is() -> None:
    for kind, text in (("TABLE", COUNTS), ("STREAM", JOINED), ("STREAM", BOTH)):
        old, new = versions(kind, text, text)
        assert fitted(old, new) == new == replace(old, sink=new.sink)


@pytest.mark.parametrize(
    "new",
    [
        "v, SUM(id) AS total FROM s GROUP BY v",
        "v, SUM(id) AS total, COUNT(*) AS many FROM s WHERE w = 'x' GROUP BY v",
        "v, SUM(id) + COUNT(*) AS both FROM s GROUP BY v HAVING COUNT(*) > 3",
    ],
)
def test_aggregates_are_those_of_the_state(new: str) -> None:
    old, after = versions("TABLE", COUNTS, new)
    made = fitted(old, after)
    (there,) = (part for part in parts(old.root) if isinstance(part, Aggregate))
    (kept,) = (part for part in parts(made.root) if isinstance(part, Aggregate))
    assert kept.aggregates == there.aggregates and made.root.schema == after.root.schema
    # SUM(id) is the second one of the state, whatever the new version calls it
    assert there.aggregates[1].name in str(made.root)
    assert fitted(made, old).root == old.root


def test_what_the_state_has_not_is_appended() -> None:
    old, new = versions(
        "TABLE", COUNTS, f"SUM(id) AS b, MIN(w) AS least, MAX(id) AS m, {COUNTS} HAVING AVG(id) > 3"
    )
    made = fitted(old, new)
    (there,) = (part for part in parts(old.root) if isinstance(part, Aggregate))
    (kept,) = (part for part in parts(made.root) if isinstance(part, Aggregate))
    assert kept.aggregates[:2] == there.aggregates and made.root.schema == new.root.schema
    assert [call.call for call in kept.aggregates[2:]] == ["MIN(W)", "MAX(ID)", "AVG(ID)"]
    assert all(call.is_appended for call in kept.aggregates[2:])
    assert len({call.name for call in kept.aggregates}) == 5
    assert appended(old, made) == list(kept.aggregates[2:])
    # what is dropped stays in the state, and so does the time when it came
    back = fitted(made, old)
    (still,) = (part for part in parts(back.root) if isinstance(part, Aggregate))
    assert still.aggregates == kept.aggregates and appended(made, back) == []
    assert appended(back, fitted(back, new)) == []


def test_rows_behind_a_distinct_have_no_columns_that_came_later() -> None:
    text = "v, COUNT(*) AS n FROM (SELECT DISTINCT ON (w) id, v, w FROM s) GROUP BY v"
    before, after = versions("TABLE", text, text, "ALTER STREAM s ADD COLUMN y INT;")
    assert fitted(before, after).root == before.root


@pytest.mark.parametrize(
    ("kind", "old", "new", "refusal"),
    [
        ("STREAM", JOINED, JOINED.replace("s.v, t.a", "t.b, s.v + t.a AS both"), None),
        ("STREAM", JOINED, JOINED + " WHERE t.a > 1", None),
        ("STREAM", BOTH, BOTH.replace("s.v, ", "") + " WHERE s.w = 'x'", None),
        ("STREAM", JOINED, JOINED.replace("JOIN", "LEFT JOIN"), "the join cannot change"),
        (
            "STREAM",
            JOINED,
            JOINED.replace(" ON", FIRST),
            "the join cannot change",
        ),
        ("STREAM", BOTH, BOTH.replace("1 HOUR", "2 HOURS"), "the join cannot change"),
        ("STREAM", JOINED, JOINED.replace("s.v", "s.v, t.ROWTIME AS seen"), "have no ROWTIME of T"),
        ("TABLE", COUNTS, COUNTS.replace("SUM(id)", "MAX(id)"), None),
        ("TABLE", COUNTS, COUNTS + " HAVING MAX(id) > 3", None),
        ("TABLE", COUNTS, COUNTS + " HAVING v > 3", "the key columns in HAVING cannot change"),
        ("TABLE", f"{COUNTS} HAVING v > 3", f"{COUNTS} HAVING v > 4 AND COUNT(*) > 1", None),
        ("TABLE", f"{COUNTS} HAVING v > 3", f"{COUNTS} HAVING v > MAX(id)", "while HAVING has a key column"),
        (
            "TABLE",
            f"{COUNTS} EMIT CHANGES EVERY 1 SECOND",
            f"MAX(id) AS m, {COUNTS} EMIT CHANGES EVERY 1 SECOND",
            "wait for EVERY",
        ),
        ("TABLE", "b, COUNT(*) AS n FROM t GROUP BY b", "b, SUM(a) AS m FROM t GROUP BY b", "over a table"),
        ("TABLE", COUNTS, COUNTS.replace("FROM s", "FROM s2").replace("v", "x"), "cannot change"),
        ("TABLE", COUNTS, "w, COUNT(*) AS n, SUM(id) AS total FROM s GROUP BY w", "GROUP BY cannot change"),
        ("TABLE", WINDOWED.format("GRACE PERIOD 1 HOUR"), WINDOWED.format("GRACE PERIOD 1 MINUTE"), None),
        (
            "TABLE",
            WINDOWED.format("RETENTION 1 DAY, GRACE PERIOD 1 HOUR"),
            WINDOWED.format("RETENTION 2 DAYS, GRACE PERIOD 1 HOUR"),
            None,
        ),
        (
            "TABLE",
            WINDOWED.format("GRACE PERIOD 1 HOUR"),
            WINDOWED.format("GRACE PERIOD 1 DAY"),
            "a longer GRACE PERIOD",
        ),
        (
            "TABLE",
            WINDOWED.format("GRACE PERIOD 1 HOUR"),
            WINDOWED.format("GRACE PERIOD 1 HOUR").replace("SIZE 1", "SIZE 2"),
            "WINDOW can only change",
        ),
        ("TABLE", "id, a FROM t", "id, b FROM t WHERE a > 1", None),
        ("TABLE", "b, COUNT(*) AS n FROM t GROUP BY b", "b, COUNT(*) AS m FROM t GROUP BY b", None),
        (
            "TABLE",
            "b, COUNT(*) AS n FROM t WHERE a > 1 GROUP BY b",
            "b, COUNT(*) AS n FROM t WHERE a > 2 GROUP BY b",
            "the WHERE cannot change here",
        ),
        ("STREAM", "DISTINCT ON (v) id, v FROM s", "DISTINCT ON (v) id, w FROM s", None),
        ("STREAM", "DISTINCT ON (v) id, v FROM s", "DISTINCT ON (w) id, v FROM s", "DISTINCT ON"),
        ("STREAM", "id, v FROM (SELECT id, v FROM s)", "id, v FROM (SELECT id, w AS v FROM s)", "sub-query"),
        ("STREAM", "id, v FROM s", "id, v FROM s UNION ALL SELECT id, x FROM s2", "cannot change"),
    ],
)
def test_what_fits(kind: str, old: str, new: str, refusal: str | None) -> None:
    before, after = versions(kind, old, new)
    if refusal is None:
        assert fitted(before, after).root.schema == after.root.schema
        return
    with pytest.raises(KsqlError) as raised:
        fitted(before, after)
    assert refusal in raised.value.message and "EVOLVE" in str(raised.value.hint)


def test_rows_in_the_state_have_no_columns_that_came_later() -> None:
    added = "ALTER STREAM s ADD COLUMN y INT;"
    before, after = versions("STREAM", BOTH, BOTH.replace("s.v", "s.v, s.y"), added)
    with pytest.raises(KsqlError, match="no column S_Y"):
        fitted(before, after)
    before, after = versions("STREAM", BOTH, BOTH.replace("s.v", "s.w"), added)
    fitted(before, after)


def test_rows_that_wait_in_a_topic_before_ttl_keep_their_columns() -> None:
    ttl = "WITH (TTL = '1 DAY')"
    before, after = versions("TABLE", "id, a FROM t", "id, b FROM t", options=ttl)
    assert fitted(before, after).root == after.root
    tables = " FROM t JOIN u ON t.id = u.id"
    before, after = versions("TABLE", f"t.id, t.a{tables}", f"t.id, t.b{tables}", options=ttl)
    with pytest.raises(KsqlError, match="pass an internal topic"):
        fitted(before, after)
    assert fitted(before, before).root == before.root
