"""Where a query stands: in each state of a query, each way to change it goes on there, and nowhere else.

A version that has committed nothing stands where it began, as its command says: not at the beginning, and not
at the ends. tests/integration/evolution/test_evolution.py has the same table on Kafka and Spark.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.queries import checkpoints
from ksql_spark.runtime.queries.managed import ManagedQuery
from tests.statements.topic_rows import TopicRows
from tests.statements.world import World
from tests.waiting import until

OLD = "CREATE STREAM x AS SELECT k, v FROM s EMIT CHANGES;"
COUNTS = "CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
KEEP = "CREATE OR REPLACE STREAM x WITH (EVOLVE = 'backfill', HISTORY = 'keep') AS "
STATEFUL = "SELECT DISTINCT ON (k) k, v FROM s EMIT CHANGES;"
TABLE = "CREATE OR REPLACE TABLE x WITH ({}) AS SELECT k, {} FROM s GROUP BY k;"
OTHER = (
    "CREATE STREAM other (k STRING KEY, z BIGINT) "
    "WITH (KAFKA_TOPIC = 'o', PARTITIONS = 3, VALUE_FORMAT = 'JSON');"
)
#: topic s when the query is created, and what is committed in some states; at the end much more waits
BEGAN, DONE, END = 5, 70, 2000


def at(offset: int, topic: str = "s") -> dict[str, dict[str, int]]:
    """A position: partition 0 of a topic is there, the others are empty."""
    return {topic: {"0": offset, "1": 0, "2": 0}}


def never_started(world: World, first: str) -> None:
    world.queries.refused = " x "
    world.run(first)
    world.queries.refused = None
    assert world.states() == {world.ids()[0]: "ERROR"}


def running(world: World, first: str) -> None:
    world.run(first)


def paused(world: World, first: str) -> None:
    world.run(first + "PAUSE ALL;")


def paused_at_the_beginning(world: World, first: str) -> None:
    world.run(first, **{"auto.offset.reset": "earliest"})
    world.run("PAUSE ALL;")


def killed(world: World, first: str) -> None:
    """The first batch is planned, and the server killed before it is committed."""
    world.run(first)
    world.commit(world.ids()[0], 0, **at(900))
    (world.checkpoint(world.ids()[0]) / "0" / "commits" / "0").unlink()
    world.restart()


def committed(world: World, first: str = OLD) -> None:
    world.run(first)
    world.commit(world.ids()[0], 0, **at(DONE))


def committed_and_paused(world: World, first: str = OLD) -> None:
    committed(world, first)
    world.run("PAUSE ALL;")


STATES: dict[Callable[[World, str], None], int] = {
    never_started: BEGAN,
    running: BEGAN,
    paused: BEGAN,
    paused_at_the_beginning: 0,
    killed: BEGAN,
    committed: DONE,
    committed_and_paused: DONE,
}
FROM_NOW = "CREATE OR REPLACE STREAM x WITH (EVOLVE = 'from-now') AS SELECT k, v + 1 AS v FROM s;"
#: the first version and the statements of each way; |: a restart of the server; WAIT: until the new version
#: has taken over
WAYS = {
    "nothing": (OLD, ""),
    "restart": (OLD, "|"),
    "in place": (OLD, "CREATE OR REPLACE STREAM x AS SELECT k, v FROM s WHERE v > 3;"),
    "by name": (OLD, "CREATE OR REPLACE STREAM x WITH (EVOLVE = 'in-place') AS SELECT k, v + 1 AS v FROM s;"),
    "by name, of a table": (COUNTS, TABLE.format("EVOLVE = 'in-place'", "COUNT(*) AS n, MAX(v) AS m")),
    "to another topic": (COUNTS, TABLE.format("EVOLVE = 'in-place', KAFKA_TOPIC = 'other'", "COUNT(*) AS n")),
    "keep": (OLD, f"{KEEP} SELECT k, v + 1 AS v FROM s;"),
    "keep, then a restart": (OLD, f"{KEEP} SELECT k, v + 1 AS v FROM s;|"),
    "keep with state": (OLD, f"{KEEP} {STATEFUL}"),
    "keep with state, then a restart": (OLD, f"{KEEP} {STATEFUL}|"),
    "from now": (OLD, FROM_NOW),
    "from now, twice": (OLD, f"{FROM_NOW}RESUME ALL;{FROM_NOW.replace('+ 1', '+ 2')}"),
    "from now with state": (OLD, f"CREATE OR REPLACE STREAM x WITH (EVOLVE = 'from-now') AS {STATEFUL}"),
    "from now, of a table": (COUNTS, TABLE.format("EVOLVE = 'from-now'", "CAST(SUM(v) AS BIGINT) AS n")),
    "rollback": (OLD, "CREATE OR REPLACE STREAM x AS SELECT k, v FROM s WHERE v > 3;ROLLBACK x;"),
    "rollback of a new version": (OLD, f"{KEEP} SELECT k, v FROM s WHERE v > 5;ROLLBACK x;"),
    "rollback of one with state": (OLD, f"{KEEP} {STATEFUL}RESUME ALL;WAIT;ROLLBACK x;"),
    "undrop": (OLD, "DROP STREAM x;UNDROP STREAM x;"),
    "undrop after a restart": (OLD, "DROP STREAM x;|UNDROP STREAM x;"),
    "undrop of a new version": (OLD, f"{KEEP} {STATEFUL}DROP STREAM x;UNDROP STREAM x;"),
    "undrop of one that has begun": (OLD, f"{KEEP} {STATEFUL}RESUME ALL;DROP STREAM x;UNDROP STREAM x;"),
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


def position(world: World) -> object:
    return world.queries.takeovers.position(only(world))


def until_taken_over(world: World) -> ManagedQuery:
    """Let what is warmed up read what it has to, and wait for it."""
    query, takeovers = only(world), world.queries.takeovers
    end = takeovers.until(query)
    if end is not None:
        world.commit(query.id, 0, **{topic: dict(offsets) for topic, offsets in end.items()})
    until(lambda: takeovers.until(query) is None and not query.loading)
    return query


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_each_way_goes_on_where_the_old_version_stands(
    world: World, topics: TopicRows, state: Callable[[World, str], None], way: str
) -> None:
    first, statements = WAYS[way]
    world.admin.ends |= {("s", 0): BEGAN, ("s", 1): 0, ("s", 2): 0}
    expected = at(STATES[state])
    state(world, first)
    world.admin.ends[("s", 0)] = END
    carry_out(world, statements)
    assert position(world) == expected
    world.run("RESUME ALL;")
    query = until_taken_over(world)
    assert position(world) == world.queries.checkpoints.position(query, 0) == expected
    # what it commits then is where it stands, also after a restart
    world.commit(query.id, 7, **at(END))
    world.restart()
    assert position(world) == at(END) and only(world).state == "RUNNING"


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
        carry_out(world, WAYS[way][1])
    assert refusal in refused.value.message


JOIN = "s.k AS k, s.v AS v, z FROM s JOIN other WITHIN 1 DAY ON s.k = other.k;"
AT = {"0": 7, "1": 8, "2": 9}


@pytest.mark.parametrize(
    ("statement", "begins", "ends"),
    [
        pytest.param(
            f"{KEEP} SELECT {JOIN}",
            {"s": {"0": 0, "1": 0, "2": 0}, "o": {"0": 0, "1": 0, "2": 0}},
            {"s": AT, "o": {"0": 6, "1": 0, "2": 0}},
            id="a warm-up reads all there is until the statement",
        ),
        pytest.param(
            f"{KEEP} SELECT {JOIN}".replace("'keep'", "'keep', START = 'latest'"),
            {"s": {"0": 5, "1": 8, "2": 0}, "o": {"0": 6, "1": 0, "2": 0}},
            {"s": AT, "o": {"0": 6, "1": 0, "2": 0}},
            id="START says from where, but no later than the old version",
        ),
        pytest.param(
            f"{KEEP} SELECT s.k AS k, s.v AS v, t.v AS z FROM s LEFT JOIN t ON s.k = t.k;",
            {"s": {"0": 0, "1": 0, "2": 0}, "t": {"0": 0, "1": 0, "2": 0}},
            {"s": AT, "t": {"0": 4, "1": 0, "2": 0}},
            id="a table is read whole",
        ),
        pytest.param(
            f"{KEEP} SELECT {JOIN}".replace("'backfill', HISTORY = 'keep'", "'from-now'"),
            {"s": AT, "o": {"0": 6, "1": 0, "2": 0}},
            None,
            id="from now, another stream begins as for a new query",
        ),
    ],
)
def test_where_topics_begin_that_only_the_new_version_reads(
    world: World, statement: str, begins: dict[str, dict[str, int]], ends: dict[str, dict[str, int]] | None
) -> None:
    """A warm-up writes nothing of what it reads, so what comes after the statement is not a part of it."""
    world.run(OTHER + OLD)
    world.commit(only(world).id, 0, s=AT)
    world.run("PAUSE ALL;")
    world.admin.ends |= {("s", 0): 5, ("s", 1): 20, ("o", 0): 6, ("t", 0): 4}
    world.run(statement)
    world.admin.ends |= {("s", 0): 30, ("o", 0): 60, ("t", 0): 40}
    if ends is not None:
        assert position(world) == ends
    world.restart()
    world.run("RESUME ALL;")
    assert world.queries.checkpoints.position(only(world), 0) == begins
    assert world.queries.takeovers.until(only(world)) == ends
    (*_, version) = world.one("SHOW VERSIONS OF x;")["versions"]
    assert set(version["starts"]) == set(begins)


def test_nothing_has_been_read_of_a_partition_that_is_new(world: World) -> None:
    """So a warm-up leaves it alone, wherever START lets that begin."""
    world.admin.ends |= {("s", 0): BEGAN}
    paused(world, OLD)
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
    joined = "SELECT s.k AS k, s.v AS v FROM s JOIN other WITHIN 1 DAY ON s.k = other.k;"
    world.run(f"{OTHER}CREATE STREAM x AS {joined}")
    world.commit(only(world).id, 0, **at(7), **at(8, "o"))
    world.admin.ends |= {("s", 0): 20, ("o", 0): 30}
    world.run(f"{KEEP} SELECT k, v FROM s;")
    world.run(f"{KEEP} {joined}")
    assert position(world) == at(7) | at(30, "o")


def test_a_topic_that_is_recreated_during_a_warm_up_is_not_a_part_of_it(world: World) -> None:
    committed(world)
    world.run(f"{KEEP} {STATEFUL}")
    world.close()
    world.admin.delete_topics(["s"])
    world.admin.create_topic("s", 3)
    world.admin.ends |= {("s", 0): 30}
    for _ in range(2):
        world._start()
        assert position(world) == at(0)
        world.close()
    world._start()


@pytest.mark.parametrize("state", [committed, committed_and_paused], ids=lambda state: state.__name__)
def test_a_rebuild_reads_from_where_the_version_began(world: World, state: Callable[[World], None]) -> None:
    """Before a new version begins, that is where the version before it did."""
    state(world)
    world.run(f"PAUSE ALL;{FROM_NOW}RESUME ALL;")
    world.commit(only(world).id, 0, **at(700))
    world.queries.rebuild(only(world))
    assert position(world) == at(DONE) and only(world).state == "RUNNING"
    world.commit(only(world).id, 0, **at(700))
    world.run(f"PAUSE ALL;{KEEP} {STATEFUL}")
    world.queries.rebuild(only(world))
    assert position(world) == at(DONE)
    world.run("RESUME ALL;")
    until_taken_over(world)
    assert position(world) == at(DONE)


def test_a_kill_before_the_new_version_begins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old version's position is found, and kept, by whichever start is the first to succeed."""
    committed(world)
    remove, is_killed = checkpoints.Checkpoint.begin_anew, True

    def killed(self: checkpoints.Checkpoint, offsets: checkpoints.Offsets, anew: int) -> None:
        if is_killed:
            self.folder.forget("metadata")
            self.folder.remove()
            raise OSError("the network is gone")
        remove(self, offsets, anew)

    monkeypatch.setattr(checkpoints.Checkpoint, "begin_anew", killed)
    assert "the network is gone" in world.message(FROM_NOW)
    assert only(world).state == "ERROR" and world.one("DESCRIBE EVOLUTION x;")["state"] == "failed"
    is_killed = False
    world.restart()
    assert only(world).state == "RUNNING" and position(world) == at(DONE)


def test_a_damaged_note_is_no_position(world: World) -> None:
    committed(world)
    world.run(FROM_NOW)
    (world.checkpoint(only(world).id) / "anew.json").write_text('"x', encoding="utf-8")
    with pytest.raises(KsqlError) as refused:
        position(world)
    assert refused.value.condition == "CHECKPOINT_DAMAGED"
