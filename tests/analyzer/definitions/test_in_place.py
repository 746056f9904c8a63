"""EVOLVE = 'in-place': the plan with which a new version goes on with the state of the old one.

tests/statements/definitions/test_explain_evolution.py has what may change.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ksql_spark.analyzer import appended, fitted
from ksql_spark.errors import KsqlError
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.nodes import Aggregate, Node, Project
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.plan.trees import children
from tests.analyzer.binding import bind, run

SCENE = """
CREATE STREAM s (id INT KEY, v INT, w STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM s2 (id INT KEY, x INT) WITH (KAFKA_TOPIC='s2', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, a INT, b STRING) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
"""
COUNTS = "v, COUNT(*) AS n, SUM(id) AS total FROM s GROUP BY v"
JOINED = "s.id, s.v, t.a FROM s JOIN t ON s.id = t.id"
BOTH = "s.id, s.v, s2.x FROM s JOIN s2 WITHIN 1 HOUR ON s.id = s2.id"


def versions(kind: str, old: str, new: str, between: str = "") -> tuple[PersistentQuery, PersistentQuery]:
    store = MetaStore()
    run(SCENE, store)
    before = bind(f"CREATE {kind} o AS SELECT {old};", store)
    if between:
        run(between, store)
    return before, bind(f"CREATE {kind} o AS SELECT {new};", store)


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


HOPS = "FROM s WINDOW HOPPING (SIZE 9 SECONDS, ADVANCE BY 6 SECONDS) GROUP BY v EMIT FINAL"


def aggregate_of(query: PersistentQuery) -> Aggregate:
    (found,) = (part for part in parts(query.root) if isinstance(part, Aggregate))
    return found


@pytest.mark.parametrize(
    ("select", "tail", "expected"),
    [
        ("COUNT(*) AS n, SUM(id) FILTER (WHERE w = 'x') AS m, AVG(id) AS a", HOPS, True),
        ("COUNT(*) AS n, COLLECT_LIST(id) AS l", HOPS, False),
        ("COUNT(DISTINCT id) AS n", HOPS, False),
        ("COUNT(*) AS n", HOPS.replace("FINAL", "CHANGES"), False),
        ("COUNT(*) AS n", HOPS.replace("ADVANCE BY 6", "ADVANCE BY 9"), False),
        ("COUNT(*) AS n", HOPS.replace("HOPPING (SIZE 9 SECONDS, ADVANCE BY", "TUMBLING (SIZE"), False),
    ],
)
def test_windows_that_overlap_and_are_emitted_once_are_in_slices(
    select: str, tail: str, expected: bool
) -> None:
    query, _ = versions("TABLE", f"v, {select} {tail}", COUNTS)
    assert aggregate_of(query).in_slices is expected


def test_state_stays_in_windows_or_in_slices() -> None:
    text = f"v, COUNT(*) AS n {HOPS}"
    now, new = versions("TABLE", text, f"v, COUNT(*) AS n, SUM(id) AS total {HOPS}")
    project = now.root
    assert isinstance(project, Project)
    # as an earlier release planned it
    before = replace(now, root=replace(project, child=replace(aggregate_of(now), in_slices=False)))
    assert aggregate_of(fitted(now, new)).in_slices
    assert not aggregate_of(fitted(before, new)).in_slices
    _, latest = versions("TABLE", text, f"v, COUNT(*) AS n, LATEST_BY_OFFSET(id) AS last {HOPS}")
    assert not aggregate_of(fitted(before, latest)).in_slices
    with pytest.raises(KsqlError, match="LATEST_BY_OFFSET"):
        fitted(now, latest)


def test_rows_behind_a_distinct_have_no_columns_that_came_later() -> None:
    text = "v, COUNT(*) AS n FROM (SELECT DISTINCT ON (w) id, v, w FROM s) GROUP BY v"
    before, after = versions("TABLE", text, text, "ALTER STREAM s ADD COLUMN y INT;")
    assert fitted(before, after).root == before.root
