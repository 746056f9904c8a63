"""Where a query stands: in each state of a query, each way to change it goes on there, and nowhere else.

A version that has committed nothing stands where it began, as its command says: not at the beginning, and not
at the ends. tests/integration/evolution/test_positions.py has the same table on Kafka and Spark.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.queries.managed import ManagedQuery
from tests.statements.world import World

OLD = "CREATE STREAM x AS SELECT k, v FROM s EMIT CHANGES;"
KEEP = "CREATE OR REPLACE STREAM x WITH (EVOLVE = 'backfill', HISTORY = 'keep') AS "
STATEFUL = "SELECT DISTINCT ON (k) k, v FROM s EMIT CHANGES;"
#: topic s when the stream is created, and what is committed in some states; at the end much more waits
BEGAN, DONE, END = 5, 70, 2000


def planned(world: World, query_id: str) -> None:
    """The first batch is planned, and the server killed before it is committed."""
    world.commit(query_id, 0, s={"0": 900, "1": 0, "2": 0})
    (world.checkpoint(query_id) / "0" / "commits" / "0").unlink()


def never_started(world: World) -> None:
    world.queries.refused = "STREAM x"
    world.run(OLD)
    world.queries.refused = None
    assert world.states() == {world.ids()[0]: "ERROR"}


def running(world: World) -> None:
    world.run(OLD)


def paused(world: World) -> None:
    world.run(OLD + "PAUSE ALL;")


def killed(world: World) -> None:
    world.run(OLD)
    planned(world, world.ids()[0])
    world.restart()


def committed(world: World) -> None:
    world.run(OLD)
    world.commit(world.ids()[0], 0, s={"0": DONE, "1": 0, "2": 0})


def committed_and_paused(world: World) -> None:
    committed(world)
    world.run("PAUSE ALL;")


STATES: dict[Callable[[World], None], int] = {
    never_started: BEGAN,
    running: BEGAN,
    paused: BEGAN,
    killed: BEGAN,
    committed: DONE,
    committed_and_paused: DONE,
}
#: the statements of each way; |: a restart of the server; WAIT: until the new version has taken over
WAYS = {
    "nothing": "",
    "restart": "|",
    "in place": "CREATE OR REPLACE STREAM x AS SELECT k, v FROM s WHERE v > 3;",
    "by name": "CREATE OR REPLACE STREAM x WITH (EVOLVE = 'in-place') AS SELECT k, v + 1 AS v FROM s;",
    "keep": f"{KEEP} SELECT k, v + 1 AS v FROM s;",
    "keep, then a restart": f"{KEEP} SELECT k, v + 1 AS v FROM s;|",
    "keep with state": f"{KEEP} {STATEFUL}",
    "keep with state, then a restart": f"{KEEP} {STATEFUL}|",
    "from now": "CREATE OR REPLACE STREAM x WITH (EVOLVE = 'from-now') AS SELECT k, v + 1 AS v FROM s;",
    "from now with state": f"CREATE OR REPLACE STREAM x WITH (EVOLVE = 'from-now') AS {STATEFUL}",
    "rollback": "CREATE OR REPLACE STREAM x AS SELECT k, v FROM s WHERE v > 3;ROLLBACK x;",
    "rollback of a new version": f"{KEEP} SELECT k, v FROM s WHERE v > 5;ROLLBACK x;",
    "rollback of one with state": f"{KEEP} {STATEFUL}RESUME ALL;WAIT;ROLLBACK x;",
    "undrop": "DROP STREAM x;UNDROP STREAM x;",
    "undrop after a restart": "DROP STREAM x;|UNDROP STREAM x;",
    "undrop of a new version": f"{KEEP} {STATEFUL}DROP STREAM x;UNDROP STREAM x;",
    "undrop of a new version that has begun": f"{KEEP} {STATEFUL}RESUME ALL;DROP STREAM x;UNDROP STREAM x;",
}


def carry_out(world: World, statements: str) -> None:
    for number, part in enumerate(statements.split("|")):
        if number:
            world.restart()
        for statement in filter(None, part.split(";")):
            if statement == "WAIT":
                until_taken_over(world)
            else:
                world.run(f"{statement};")


def only(world: World) -> ManagedQuery:
    (query,) = world.queries.all()
    return query


def until_taken_over(world: World) -> ManagedQuery:
    """Let what is warmed up read what it has to, and wait for it."""
    query = only(world)
    until = world.queries.takeovers.until(query)
    if until is not None:
        world.commit(query.id, 0, **{topic: dict(offsets) for topic, offsets in until.items()})
    deadline = time.monotonic() + 10
    while world.queries.takeovers.until(query) is not None or query.loading:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return query


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_each_way_goes_on_where_the_old_version_stands(
    world: World, state: Callable[[World], None], way: str
) -> None:
    world.admin.ends[("s", 0)] = BEGAN
    world.admin.ends |= {("s", 1): 0, ("s", 2): 0}
    expected = {"s": {"0": STATES[state], "1": 0, "2": 0}}
    state(world)
    world.admin.ends[("s", 0)] = END
    carry_out(world, WAYS[way])
    assert world.queries.takeovers.position(only(world)) == expected
    world.run("RESUME ALL;")
    query = until_taken_over(world)
    assert world.queries.takeovers.position(query) == expected
    assert world.queries.checkpoints.position(query, 0) == expected
    world.restart()
    assert world.queries.takeovers.position(only(world)) == expected


@pytest.mark.parametrize(
    ("way", "refusal"),
    [
        ("by name", "no query writes it"),
        ("keep", "no query writes it"),
        ("keep with state", "no query writes it"),
        ("from now", "no query writes it"),
        ("undrop", "Nobody knows where the query of X stopped"),
    ],
)
def test_what_has_ended_stands_nowhere(world: World, way: str, refusal: str) -> None:
    """What CREATE OR REPLACE without EVOLVE then starts is a new query: START says where."""
    world.run(OLD + "TERMINATE ALL;")
    with pytest.raises(KsqlError) as refused:
        carry_out(world, WAYS[way])
    assert refusal in refused.value.message


@pytest.mark.parametrize(
    ("topic", "join"),
    [
        ("o", "s.k AS k, s.v AS v, z FROM s JOIN other WITHIN 1 DAY"),
        ("t", "s.k AS k, s.v AS v, other.v AS z FROM s LEFT JOIN t AS other"),
    ],
)
def test_what_only_the_new_version_reads_ends_at_the_statement(world: World, topic: str, join: str) -> None:
    """A warm-up writes nothing of what it reads, so what comes after the statement is not a part of it."""
    world.run(
        "CREATE STREAM other (k STRING KEY, z BIGINT) WITH (KAFKA_TOPIC = 'o', PARTITIONS = 3, "
        "VALUE_FORMAT = 'JSON');" + OLD + "PAUSE ALL;"
    )
    world.admin.ends |= {("s", 0): 20, (topic, 0): 6}
    world.run(f"{KEEP} SELECT {join} ON s.k = other.k;")
    world.admin.ends |= {("s", 0): 30, (topic, 0): 60}
    wanted = {"s": {"0": 0, "1": 0, "2": 0}, topic: {"0": 6, "1": 0, "2": 0}}
    assert world.queries.takeovers.position(only(world)) == wanted
    world.restart()
    world.run("RESUME ALL;")
    assert world.queries.takeovers.until(only(world)) == wanted
    (*_, version) = world.one("SHOW VERSIONS OF x;")["versions"]
    assert set(version["starts"]) == {"s", topic}


def test_nothing_has_been_read_of_a_partition_that_is_new(world: World) -> None:
    """So a warm-up leaves it alone, wherever START lets that begin."""
    world.admin.ends |= {("s", 0): BEGAN}
    paused(world)
    world.admin.set_partitions("s", 4)
    world.admin.ends |= {("s", 0): END, ("s", 3): END}
    world.run(f"{KEEP} {STATEFUL}".replace("'keep'", "'keep', START = 'latest'"))
    world.run("RESUME ALL;")
    begins = world.queries.checkpoints.position(only(world), 0)
    assert begins == {"s": {"0": BEGAN, "1": 0, "2": 0, "3": 0}}
    # the new partition is there once the version has begun; nothing has been read of an absent one
    assert {"s": {"3": 0, **world.queries.takeovers.position(only(world))["s"]}} == begins


def test_a_topic_that_only_an_earlier_version_has_read_is_a_new_one(world: World) -> None:
    """Where that version began says nothing of where the next one does."""
    world.run(
        "CREATE STREAM other (k STRING KEY, z BIGINT) WITH (KAFKA_TOPIC = 'o', PARTITIONS = 3, "
        "VALUE_FORMAT = 'JSON');"
    )
    joined = "SELECT s.k AS k, s.v AS v FROM s JOIN other WITHIN 1 DAY ON s.k = other.k;"
    world.run(f"CREATE STREAM x AS {joined}")
    world.commit(only(world).id, 0, s={"0": 7, "1": 0, "2": 0}, o={"0": 8, "1": 0, "2": 0})
    world.admin.ends |= {("s", 0): 20, ("o", 0): 30}
    world.run(f"{KEEP} SELECT k, v FROM s;")
    world.run(f"{KEEP} {joined}")
    rest = {"1": 0, "2": 0}
    assert world.queries.takeovers.position(only(world)) == {"s": {"0": 7, **rest}, "o": {"0": 30, **rest}}


def test_a_topic_that_is_recreated_during_a_warm_up_is_not_a_part_of_it(world: World) -> None:
    committed(world)
    world.run(f"{KEEP} {STATEFUL}")
    world.close()
    world.admin.delete_topics(["s"])
    world.admin.create_topic("s", 3)
    world.admin.ends |= {("s", 0): 30}
    for _ in range(2):
        world._start()
        assert world.queries.takeovers.position(only(world)) == {"s": {"0": 0, "1": 0, "2": 0}}
        world.close()
    world._start()


@pytest.mark.parametrize("state", [committed, committed_and_paused], ids=lambda state: state.__name__)
def test_a_rebuild_before_a_new_version_begins(world: World, state: Callable[[World], None]) -> None:
    """It reads again from where the version before it began."""
    world.admin.ends |= {("s", 0): BEGAN, ("s", 1): 0, ("s", 2): 0}
    state(world)
    world.run("PAUSE ALL;" + WAYS["from now"] + "RESUME ALL;")
    world.commit(only(world).id, 0, s={"0": 700, "1": 0, "2": 0})
    world.run(f"PAUSE ALL;{KEEP} {STATEFUL}")
    world.queries.rebuild(only(world))
    assert world.queries.takeovers.position(only(world)) == {"s": {"0": DONE, "1": 0, "2": 0}}
    world.run("RESUME ALL;")
    until_taken_over(world)
    assert world.queries.takeovers.position(only(world)) == {"s": {"0": DONE, "1": 0, "2": 0}}


def test_a_damaged_note_is_no_position(world: World) -> None:
    committed(world)
    world.run(WAYS["from now"])
    (world.checkpoint(only(world).id) / "anew.json").write_text(json.dumps("x")[:-1], encoding="utf-8")
    with pytest.raises(KsqlError) as refused:
        world.queries.takeovers.position(only(world))
    assert refused.value.condition == "CHECKPOINT_DAMAGED"
