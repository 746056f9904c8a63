"""Warnings of CREATE … AS SELECT."""

from __future__ import annotations

from typing import Any

import pytest

from tests.statements.world import World

OVER = "SELECT *, LAG(v) OVER (PARTITION BY k ORDER BY ROWTIME) AS p FROM"
STREAMS = """
CREATE STREAM one (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC='one', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM r (k STRING KEY, v INT, w STRING) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON', PARTITIONS=3);
"""


def warnings(world: World, query: str) -> list[str]:
    world.run(STREAMS)
    answer = world.one(f"CREATE STREAM o AS {query} EMIT CHANGES;")
    return [warning["message"] for warning in answer["warnings"]]


@pytest.mark.parametrize(
    "sub_query",
    [
        "(SELECT DISTINCT ON (v) k, v FROM s WITHIN 1 HOUR) x",
        "(SELECT a.w AS w, a.k AS k, b.v AS v FROM s a JOIN r b WITHIN 1 HOUR ON a.w = b.w) x",
    ],
)
def test_an_order_that_a_sub_query_loses(world: World, sub_query: str) -> None:
    found = [w for w in warnings(world, f"{OVER} {sub_query}") if "order" in w]
    assert len(found) == 1
    assert found[0].startswith(
        "The order of rows in OVER (PARTITION BY K ORDER BY ROWTIME) is not certain: the sub-query "
    )


@pytest.mark.parametrize(
    "sub_query",
    [
        "s",
        "(SELECT k, v FROM s WHERE v > 1) x",
        "(SELECT DISTINCT ON (k, v) k, v FROM s WITHIN 1 HOUR WHERE k IS NOT NULL) x",
        "(SELECT DISTINCT ON (v) k, v FROM one WITHIN 1 HOUR) x",
        "(SELECT a.w AS k, b.v AS v FROM s a JOIN r b WITHIN 1 HOUR ON a.w = b.w) x",
    ],
)
def test_an_order_that_is_kept(world: World, sub_query: str) -> None:
    assert [w for w in warnings(world, f"{OVER} {sub_query}") if "order" in w] == []


@pytest.mark.parametrize(
    ("join", "is_warned_of"),
    [
        ("RIGHT JOIN r b WITHIN (1 SECOND, 1 MINUTE) ON a.k = b.k", True),
        ("RIGHT JOIN r b WITHIN 1 MINUTE ON a.k = b.k", False),
        ("RIGHT JOIN r b ON a.k = b.k AND b.ROWTIME BETWEEN a.ROWTIME AND a.ROWTIME + 9", False),
        ("LEFT JOIN r b WITHIN (1 SECOND, 1 MINUTE) ON a.k = b.k", False),
    ],
)
def test_a_within_that_counts_from_the_right_side(world: World, join: str, is_warned_of: bool) -> None:
    found = [w for w in warnings(world, f"SELECT b.k AS k, a.v AS v FROM s a {join}") if "WITHIN" in w]
    assert len(found) == is_warned_of


@pytest.mark.parametrize("topic", ["existing", "new"])
def test_a_topic_that_has_the_brokers_times(world: World, topic: str) -> None:
    """As an existing one may, and a new one where that is the brokers' default."""
    create = world.admin.create_topic

    def appending(name: str, *rest: Any, **more: Any) -> None:
        create(name, *rest, **more)
        world.admin.configs[name]["message.timestamp.type"] = "LogAppendTime"

    world.admin.create_topic = appending  # type: ignore[method-assign]
    if topic == "existing":
        appending(topic)
    made = world.one(f"CREATE STREAM o WITH (kafka_topic='{topic}') AS SELECT * FROM s;")
    (warning,) = (w["message"] for w in made["warnings"])
    assert warning.startswith(
        f"Topic {topic} has message.timestamp.type = LogAppendTime: ROWTIME of a row of O"
    )
    (line,) = world.one("DESCRIBE o EXTENDED;")["sourceDescription"]["statistics"].splitlines()
    assert line.startswith(f"Times: topic {topic} has message.timestamp.type = LogAppendTime")
    assert "LogAppendTime" not in str(world.one("DESCRIBE s EXTENDED;"))
