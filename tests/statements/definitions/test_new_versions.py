"""EVOLVE = 'backfill': a table's new version runs beside the old one, and then takes its place."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ksql_spark.engine.automatic_swaps import AutomaticSwaps
from ksql_spark.engine.request import Request
from ksql_spark.plan.trees import relations
from ksql_spark.runtime.cluster.placement import Slots
from ksql_spark.runtime.queries.states import Event
from ksql_spark.runtime.reading import batch
from tests.registry_server import RegistryServer
from tests.statements.topic_rows import TopicRows
from tests.statements.world import World
from tests.waiting import until

OLD = "CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
NEW = (
    "CREATE OR REPLACE TABLE x WITH (EVOLVE = 'backfill', SWAP = 'manual') AS "
    "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s WHERE v > 3 GROUP BY k EMIT CHANGES;"
)
AUTOMATIC = NEW.replace(", SWAP = 'manual'", "")
READER = "CREATE TABLE y AS SELECT k, n FROM x EMIT CHANGES;"


@pytest.fixture
def evolving(world: World, topics: TopicRows) -> World:
    """A world in which the new version has begun; its topic is not empty, and has other rows than x's."""
    world.run(OLD)
    world.admin.ends[("s", 0)] = 20_000
    world.run(NEW)
    topics.rows["X"] = {b"a": b"1", b"b": b"2", b"c": b"3"}
    topics.rows[topic(world)] = {b"a": b"1", b"b": b"9", b"d": b"4"}
    return world


def topic(world: World) -> str:
    return next(name for name in world.admin.topics() if name.endswith("-evolution"))


def caught_up(world: World) -> None:
    world.commit(world.ids()[-1], 0, s={"0": 20_000, "1": 0, "2": 0})


def described(world: World) -> dict[str, object]:
    entity = world.one("DESCRIBE EVOLUTION x;")
    return {name: entity[name] for name in ("state", "recordsLeft", "keysChanged", "keysRemoved", "reason")}


def test_the_new_version_runs_beside_the_old_one(evolving: World) -> None:
    old, new = evolving.ids()
    assert evolving.states() == {old: "RUNNING", new: "RUNNING"}
    assert topic(evolving) == f"_confluent-ksql-default_query_{new}-evolution"
    assert evolving.admin.topics()[topic(evolving)].partitions == 3
    assert evolving.admin.configs[topic(evolving)] == {"cleanup.policy": "compact"}
    query = evolving.queries.find(new)
    assert query is not None and query.starts == {"s": {"0": 0, "1": 0, "2": 0}}
    # the catalog shows x as before
    (field,) = [f for f in evolving.one("DESCRIBE x;")["sourceDescription"]["fields"] if f["name"] != "K"]
    assert field["name"] == "N"
    shown = evolving.one("SHOW QUERIES;")["queries"]
    assert [q["sinks"] for q in shown] == [["X"], ["X (new version)"]]
    assert described(evolving)["state"] == "backfilling" and described(evolving)["recordsLeft"] == 20_000


def test_a_table_and_its_new_version_in_one_request(world: World, topics: TopicRows) -> None:
    world.run(OLD + NEW)
    assert len(world.queries.all()) == 2


def test_explain_plans_the_version_that_the_statement_asks_for(world: World) -> None:
    world.run(OLD)
    smaller = NEW.replace("COUNT(*) AS n, ", "")
    assert "SUM" in world.one(f"EXPLAIN {smaller}")["queryDescription"]["executionPlan"]
    refused = world.refused(
        "EXPLAIN " + smaller.replace("EVOLVE = 'backfill', SWAP = 'manual'", "PARTITIONS = 1")
    )
    assert refused.condition == "INVALID_STATEMENT"


def test_a_swap(evolving: World, topics: TopicRows) -> None:
    old, new = evolving.ids()
    former = topic(evolving)
    caught_up(evolving)
    assert described(evolving) == {
        "state": "caught up", "recordsLeft": 0, "keysChanged": 2, "keysRemoved": 1, "reason": None,
    }  # fmt: skip
    assert evolving.message("SWAP x;") == f"{new} writes X from now on: 2 keys changed, 1 removed."
    assert topics.written == [("X", b"b", b"9"), ("X", b"d", b"4"), ("X", b"c", None)]
    assert evolving.states() == {new: "RUNNING"}
    query = evolving.queries.find(new)
    assert query is not None and (query.plan.sink.name, query.plan.sink.topic) == ("X", "X")
    assert query.creates_sink and query.plan.records is not None and query.plan.records.value.topic == "X"
    assert [f["name"] for f in evolving.one("DESCRIBE x;")["sourceDescription"]["fields"]] == [
        "K",
        "N",
        "TOTAL",
    ]
    assert former not in evolving.admin.topics()
    assert not evolving.checkpoint(old).exists()
    assert described(evolving) == {
        "state": "swapped", "recordsLeft": None, "keysChanged": 2, "keysRemoved": 1, "reason": None,
    }  # fmt: skip
    # afterwards it is a table like any other
    evolving.run("DROP TABLE x;")
    assert evolving.ids() == []


Phase = Callable[[World, TopicRows], None]


def backfilling(world: World, topics: TopicRows) -> None:
    """As the fixture leaves it."""


def waiting(world: World, topics: TopicRows) -> None:
    caught_up(world)


def logged(world: World, topics: TopicRows) -> None:
    """The server is killed once SWAP is in the log, before anything of it is done."""
    caught_up(world)
    last = json.loads(world.log.records[-1])
    body = {**last, "id": "table/`X`/swap", "statement": "SWAP x", "token": "t", "follows": last["token"],
            "starts": {}, "queryId": None, "plan": None}  # fmt: skip
    world.close()
    world.log.records.append(json.dumps(body))
    world._start()


def failed(world: World, topics: TopicRows) -> None:
    caught_up(world)
    new = world.ids()[1]
    topics.fails = True
    assert "the network is gone" in world.message("SWAP x;")
    assert world.states() == {new: "ERROR"} and described(world)["state"] == "failed"
    assert "the network is gone" in str(described(world)["reason"])
    topics.fails = False


def swapped(world: World, topics: TopicRows) -> None:
    caught_up(world)
    world.run("SWAP x;")


def aborted(world: World, topics: TopicRows) -> None:
    new = world.ids()[1]
    told = f"X stays as it is: its new version, {new}, has ended."
    assert world.message("ABORT EVOLUTION x;") == told
    assert not world.checkpoint(new).exists()


def alone(world: World, topics: TopicRows) -> None:
    """Nobody writes the table any more."""
    world.run(f"TERMINATE {world.ids()[0]};")
    caught_up(world)


IN_PLACE = NEW.replace("WITH (EVOLVE = 'backfill', SWAP = 'manual') ", "").replace("v > 3", "v > 4")
AT_ONCE = (
    "CREATE OR REPLACE TABLE x WITH (EVOLVE = 'from-now') AS "
    "SELECT k, COUNT(*) AS n, MAX(v) AS total FROM s GROUP BY k;"
)
NEVER = "X has not evolved."


@pytest.mark.parametrize(
    ("phase", "statements", "state", "left"),
    [
        (backfilling, "", "backfilling", 2),
        (backfilling, "TERMINATE {new};", NEVER, 1),
        (backfilling, "TERMINATE ALL;", NEVER, 0),
        (backfilling, "DROP TABLE x;", "Stream or table does not exist: X.", 0),
        (waiting, "", "caught up", 2),
        (waiting, "SWAP x;", "swapped", 1),
        (waiting, "ABORT EVOLUTION x;", "aborted", 1),
        (alone, "", "caught up", 1),
        (alone, "SWAP x;", "swapped", 1),
        (logged, "", "swapped", 1),
        (failed, "|", "swapped", 1),
        (failed, IN_PLACE, "swapped", 1),
        (swapped, "", "swapped", 1),
        (swapped, NEW + "ABORT EVOLUTION x;", "aborted", 1),
        (swapped, NEW + "ABORT EVOLUTION x;" + AT_ONCE, "swapped", 1),
        (swapped, "DROP TABLE x;" + OLD, NEVER, 1),
        (aborted, "", "aborted", 1),
        (aborted, NEW, "backfilling", 2),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_what_comes_of_a_new_version(
    evolving: World, topics: TopicRows, phase: Phase, statements: str, state: str, left: int
) -> None:
    """In each phase, after each statement or restart; further restarts leave it so."""
    new = evolving.ids()[1]
    phase(evolving, topics)
    if statements == "|":
        evolving.restart()
    elif statements:
        evolving.run(statements.format(new=new))
    has_swapped = phase is swapped or state == "swapped"
    written = [("X", b"b", b"9"), ("X", b"d", b"4"), ("X", b"c", None)] if has_swapped else []
    for _ in range(2):
        assert list(evolving.states().values()) == ["RUNNING"] * left and topics.written == written
        is_beside = state in ("backfilling", "caught up")
        assert any(name.endswith("-evolution") for name in evolving.admin.topics()) == is_beside
        if state.endswith("."):
            assert evolving.refused("DESCRIBE EVOLUTION x;").message.startswith(state)
        else:
            assert described(evolving)["state"] == state
            columns = [f["name"] for f in evolving.one("DESCRIBE x;")["sourceDescription"]["fields"]]
            assert columns == (["K", "N", "TOTAL"] if has_swapped else ["K", "N"])
        evolving.restart()


@pytest.mark.parametrize(
    ("phase", "statement", "condition", "reason"),
    [
        (
            backfilling,
            "SWAP x;",
            "EVOLUTION_UNFINISHED",
            "The new version, CTAS_X_3, has 20,000 records left to read (has no checkpoint yet). "
            "DESCRIBE EVOLUTION X; shows how far it is.",
        ),
        (
            failed,
            NEW,
            "INVALID_STATEMENT",
            "CTAS_X_3 is still taking over X. DESCRIBE EVOLUTION X; shows how far it is.",
        ),
        (
            swapped,
            "SWAP x;",
            "INVALID_STATEMENT",
            "No new version of X runs beside it. "
            "CREATE OR REPLACE ... X WITH (EVOLVE = 'backfill') AS SELECT ... starts one.",
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_what_a_phase_does_not_allow(
    evolving: World, topics: TopicRows, phase: Phase, statement: str, condition: str, reason: str
) -> None:
    phase(evolving, topics)
    refused = evolving.refused(statement)
    assert (refused.condition, refused.message.split("\nline 1:")[0]) == (condition, reason)


def test_who_aborted_it(evolving: World) -> None:
    new = evolving.ids()[1]
    evolving.answers(Request("ABORT EVOLUTION x;", {}, user="ann"))
    for _ in range(2):
        told = evolving.one("DESCRIBE EVOLUTION x;")
        assert (told["queryId"], told["topic"], told["user"]) == (new, "X", "ann")
        assert told["recordsLeft"] is None
        evolving.restart()


def test_what_was_written_by_a_killed_swap_is_not_written_again(evolving: World, topics: TopicRows) -> None:
    caught_up(evolving)
    topics.rows["X"] = dict(topics.rows[topic(evolving)])
    assert evolving.message("SWAP x;").endswith("0 keys changed, 0 removed.")


def test_exactly_once_ends_the_transactions_of_both_versions(
    make_world: Callable[..., World], topics: TopicRows
) -> None:
    world = make_world(**{"processing.guarantee": "exactly_once_v2"})
    world.queries.end_transactions = lambda *ids: None  # type: ignore[method-assign]
    world.run(OLD)
    world.run(NEW)
    old, new = world.ids()
    world.run("SWAP x;")
    prefix = "_confluent-ksql-default_query_"
    assert topics.fenced == [f"{prefix}{old}-0", f"{prefix}{new}-0"]  # the first by taking its name
    assert world.states() == {new: "RUNNING"}


@pytest.mark.parametrize("way", ["auto", "manual"])
def test_an_automatic_swap(world: World, topics: TopicRows, way: str) -> None:
    world.run(OLD)
    world.admin.ends[("s", 0)] = 20_000
    world.run(NEW.replace("manual", way))
    swaps = AutomaticSwaps(world.services, world.statements)
    swaps.check()
    assert described(world)["state"] == "backfilling"
    caught_up(world)
    swaps.check()
    assert described(world)["state"] == ("swapped" if way == "auto" else "caught up")


@pytest.mark.parametrize("left", [10, 0])
def test_a_short_history_is_read_before_the_swap(world: World, topics: TopicRows, left: int) -> None:
    """Fewer records than ksql.evolution.max.lag: a swap before the first checkpoint would delete all rows."""
    world.run(OLD)
    world.admin.ends[("s", 0)] = 100
    world.run(AUTOMATIC)
    topics.rows["X"] = {b"a": b"1"}
    swaps = AutomaticSwaps(world.services, world.statements)
    swaps.check()
    assert described(world)["state"] == "backfilling" and described(world)["recordsLeft"] == 100
    assert "has no checkpoint yet" in world.refused("SWAP x;").message
    assert topics.written == []
    world.commit(world.ids()[-1], 0, s={"0": 100 - left, "1": 0, "2": 0})
    swaps.check()
    assert described(world)["state"] == "swapped"


def test_appended_columns_do_not_disturb_readers(world: World, topics: TopicRows) -> None:
    world.run(OLD + READER + AUTOMATIC)
    AutomaticSwaps(world.services, world.statements).check()
    assert described(world)["state"] == "swapped" and len(world.ids()) == 2


def test_an_automatic_swap_that_a_new_reader_prevents(world: World, topics: TopicRows) -> None:
    world.run(OLD)
    world.run(AUTOMATIC.replace("COUNT(*) AS n, ", ""))
    world.run(READER)
    # before the server has tried, and on servers that do not
    assert described(world)["state"] == "caught up" and "CTAS_Y_" in str(described(world)["reason"])
    swaps = AutomaticSwaps(world.services, world.statements)
    swaps.check()
    assert described(world)["state"] == "caught up" and "CTAS_Y_" in str(described(world)["reason"])
    world.run("DROP TABLE y;")
    swaps.check()
    assert described(world)["state"] == "swapped"


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("STREAM", "EVOLVE = 'from-now'"),
        ("TABLE", "EVOLVE = 'in-place'"),
        ("TABLE", "EVOLVE = 'backfill', HISTORY = '1 DAY'"),
        ("TABLE", "EVOLVE = 'backfill'"),
    ],
)
@pytest.mark.parametrize("between", ["v AS m", "v AS m, AS_VALUE(k) AS l"])
def test_a_column_that_comes_back(world: World, topics: TopicRows, kind: str, way: str, between: str) -> None:
    """Rows from before it was dropped are read as its new type, after a restart, too."""
    before = "WITH (HISTORY = '1 DAY') " if "HISTORY" in way else ""
    select = "AS SELECT k, {} FROM s;" if kind == "STREAM" else "AS SELECT k, {} FROM t;"

    def evolve(columns: str, how: str = f"WITH ({way})") -> str:
        return f"CREATE OR REPLACE {kind} x {how} {select.format(columns)}"

    world.run(f"CREATE {kind} x {before}{select.format('CAST(v AS STRING) AS n, v AS m')}")
    for statement in (evolve("v AS m"), evolve(between)):
        world.run(statement)
        if "backfill" in way:
            world.run("SWAP x;")
        world.restart()
    again = evolve(f"{between}, v AS n", how="") if "backfill" not in way else evolve(f"{between}, v AS n")
    for statement in (again, evolve(f"{between}, v AS n")):
        if way == "EVOLVE = 'backfill'":  # all rows are written again
            world.run(statement)
            return
        assert "N as STRING" in world.refused(statement).message
    world.run(evolve(f"{between}, CAST(v AS STRING) AS n"))


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_server_that_does_not_run_the_new_version(
    is_paused: bool, evolving: World, topics: TopicRows
) -> None:
    """It knows from notes, checkpoints and topics what its owner knows, and leaves the swap to it."""
    old, new = evolving.ids()
    caught_up(evolving)
    told = {new: "ERROR"}
    placement = SimpleNamespace(
        owns=lambda query_id: False,
        notes=dict,
        state_of=lambda query_id, notes: (told[query_id], "second:8088"),
        remove=lambda query_id: None,
        take_soon=lambda: None,
        slots=Slots(),
    )
    for query_id in (old, new):
        query = evolving.queries.find(query_id)
        assert query is not None
        query.lifecycle.apply(Event.LEAVE)
    evolving.queries._placement = placement  # type: ignore[assignment]
    told_of = described(evolving)
    assert (told_of["state"], told_of["reason"]) == (
        "failed",
        f"{new} has failed on second:8088, which knows why.",
    )
    assert "is in state ERROR" in evolving.refused("SWAP x;").message
    told[new] = "RUNNING"
    if is_paused:
        evolving.run(f"PAUSE {new};")
        assert "is in state PAUSED" in evolving.refused("SWAP x;").message
        return
    assert (described(evolving)["state"], described(evolving)["keysChanged"]) == ("caught up", 2)
    assert evolving.message("SWAP x;") == f"{new} writes X from now on."
    assert topics.written == [] and evolving.ids() == [new]
    query = evolving.queries.find(new)
    assert query is not None and query.rows is None and not query.spark
    assert described(evolving)["state"] == "swapping"
    evolving.queries._placement = None
    evolving.queries.start(query)  # as its owner does
    assert topics.written == [("X", b"b", b"9"), ("X", b"d", b"4"), ("X", b"c", None)]
    assert described(evolving)["state"] == "swapped"


def test_without_a_table_it_creates_one(world: World) -> None:
    """So the statement of a table that has evolved creates it elsewhere."""
    for _ in range(2):
        world.run(NEW)
    first, second = world.ids()
    query = world.queries.find(first)
    assert query is not None and query.evolution is None and query.plan.sink.topic == "X"
    world.restart()
    assert world.ids() == [first, second]


# ---- windows, formats with a schema registry, VERIFY ------------------------------------------------------

MINUTE = "WINDOW TUMBLING (SIZE 1 MINUTE)"


def test_a_windowed_table(world: World, topics: TopicRows) -> None:
    world.run(OLD.replace("FROM s", f"FROM s {MINUTE}"))
    world.run(AUTOMATIC.replace("FROM s", f"FROM s {MINUTE.replace('1', '2')}"))
    key = b"a" + (60_000).to_bytes(8)
    topics.rows["X"] = {key: b"1", b"a" + (120_000).to_bytes(8): b"2"}
    topics.rows[topic(world)] = {key: b"3"}
    assert world.admin.configs[topic(world)] == world.admin.configs["X"]
    AutomaticSwaps(world.services, world.statements).check()
    assert described(world)["state"] == "swapped"
    assert [value for _, _, value in topics.written] == [b"3", None]
    source = world.services.metastore.require("X")
    assert source.window is not None and source.window.size_ms == 120_000
    session = AUTOMATIC.replace("FROM s", "FROM s WINDOW SESSION (1 MINUTE)")
    assert "its windows, which are part" in world.refused(session).message


@pytest.mark.parametrize("format_", ["AVRO", "JSON_SR", "PROTOBUF"])
def test_a_format_with_a_schema_registry(
    make_world: Callable[..., World], topics: TopicRows, format_: str
) -> None:
    """Rows are written with a schema of the table's subject from the beginning, so they can be copied."""
    with RegistryServer() as registry:
        world = make_world(**{"ksql.schema.registry.url": registry.url})
        world.run(OLD.replace("x AS", f"x WITH (VALUE_FORMAT = '{format_}') AS"))
        world.run(AUTOMATIC.replace("EVOLVE", f"VALUE_FORMAT = '{format_}', EVOLVE"))
        assert world.services.registry is not None
        assert world.services.registry.latest("X-value") is not None
        assert world.services.registry.latest(f"{topic(world)}-value") is None
        before = world.queries.find(world.ids()[-1])
        AutomaticSwaps(world.services, world.statements).check()
        assert described(world)["state"] == "swapped"
        after = world.queries.find(world.ids()[-1])
        assert before is not None and after is not None and before.plan.records == after.plan.records
        assert after.plan.records is not None and after.plan.records.value.schema_id is not None
        world.restart()
        assert len(world.ids()) == 1


@pytest.mark.parametrize(
    ("verify", "failures"),
    [
        ("rows, keys, values", ["keys: 1 only before, 1 only in the new version", "values: N of 2 keys"]),
        ("Rows", []),
        ("keys 0.5, values 0.11", ["values: N of 1 key"]),
        ("values .5", []),
    ],
)
def test_a_verified_swap(world: World, topics: TopicRows, verify: str, failures: list[str]) -> None:
    world.run(OLD)
    world.run(AUTOMATIC.replace("EVOLVE", f"VERIFY = '{verify}', EVOLVE"))
    world.admin.ends[("s", 0)] = 20_000
    caught_up(world)
    topics.rows["X"] = {b"a": b'{"N": 10}', b"b": b'{"N": 3}', b"c": b'{"N": 4}', b"e": b'{"N": 1}'}
    topics.rows[topic(world)] = {
        b"a": b'{"N": 9, "TOTAL": 1}', b"b": b'{"N": 2, "TOTAL": 1}', b"e": b'{"N": 1, "TOTAL": 1}',
        b"d": b'{"N": 4, "TOTAL": 1}',
    }  # fmt: skip
    shown = world.one("DESCRIBE EVOLUTION x;")
    assert shown["state"] == ("caught up" if failures else "verified")
    assert shown["reason"] == ("; ".join(failures) or None)
    assert shown["rows"] == [4, 4] and (shown["keysChanged"], shown["keysRemoved"]) == (4, 1)
    swaps = AutomaticSwaps(world.services, world.statements)
    swaps.check()
    assert described(world)["state"] == ("caught up" if failures else "swapped")
    if failures:
        assert all(failure in world.refused("SWAP x;").message for failure in failures)
        assert {"key": {"K": "b"}, "old": {"N": 3}, "new": {"N": 2}} in shown["samples"]
        assert {"key": {"K": "c"}, "old": {"N": 4}, "new": None} in shown["samples"]
        topics.rows["X"] = dict(topics.rows[topic(world)])
        world.run("SWAP x;")
        assert described(world)["state"] == "swapped"


SELECT = """
SELECT n.k, o.n AS old, n.n AS new FROM OLD(x) o JOIN NEW(x) n ON o.k = n.k
WHERE n.total >= 1 AND n.n < o.n"""


@pytest.mark.parametrize(
    "verify", [SELECT, f"rows; {SELECT};", f"rows 0.5;WITH a AS ({SELECT}) SELECT * FROM a"]
)
def test_a_swap_verified_by_a_query(
    world: World, topics: TopicRows, monkeypatch: pytest.MonkeyPatch, verify: str
) -> None:
    asked: list[Any] = []
    rows: list[dict[str, Any]] = [{"K": "b", "OLD": 3, "NEW": 2}]

    def first_rows(query: Any, tables: Any, *_: Any) -> list[dict[str, Any]]:
        asked.append((query, tables))
        return rows

    monkeypatch.setattr(batch, "first_rows", first_rows)
    world.run(OLD)
    world.run(AUTOMATIC.replace("EVOLVE", f"VERIFY = '{verify}', EVOLVE"))
    world.admin.ends[("s", 0)] = 20_000
    caught_up(world)
    topics.rows["X"] = {b"b": b'{"N": 3}'}
    topics.rows[topic(world)] = {b"b": b'{"N": 2, "TOTAL": 1}'}
    shown = world.one("DESCRIBE EVOLUTION x;")
    assert (shown["state"], shown["reason"]) == (
        "caught up",
        'rows of its SELECT: {"K": "b", "OLD": 3, "NEW": 2}',
    )
    assert '"NEW": 2' in world.refused("SWAP x;").message
    query, tables = asked[0]
    assert {r.source.name: r.source.topic for r in relations(query.root)} == {
        "OLD()": "X",
        "NEW()": topic(world),
    }
    assert [(name, row.key, row.value) for name, (row,) in tables.items()] == [
        ("OLD()", b"b", b'{"N": 3}'),
        ("NEW()", b"b", b'{"N": 2, "TOTAL": 1}'),
    ]
    rows.clear()
    assert described(world)["state"] == "verified"
    world.restart()
    world.run("SWAP x;")
    assert described(world)["state"] == "swapped"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM OLD(s)", r"Expected OLD\(X\) and NEW\(X\) in FROM"),
        ("SELECT * FROM s", r"It may only read OLD\(X\) and NEW\(X\)"),
        ("SELECT * FROM (SELECT * FROM x) y", r"It may only read OLD\(X\) and NEW\(X\)"),
        ("SELECT total FROM OLD(x)", "VERIFY: .*TOTAL"),
        ("SELECT * FROM NEW(x) EMIT CHANGES", "without EMIT"),
        ("SELECT FROM", "VERIFY: "),
        ("SELECT * FROM ERRORS OF q", "It may only read"),
    ],
)
def test_queries_that_verify_nothing(world: World, query: str, message: str) -> None:
    world.run(OLD)
    error = world.refused(AUTOMATIC.replace("EVOLVE", f"VERIFY = '{query}', EVOLVE"))
    assert re.search(message, error.message), error.message


def test_old_and_new_are_for_verify(world: World) -> None:
    world.run(OLD)
    message = world.refused("CREATE TABLE y AS SELECT * FROM OLD(x);").message
    assert "OLD of X is for VERIFY only." in message


@pytest.mark.parametrize("verify", ["", "columns", "rows, rows", "values 2", "values -1", "rows 0.1 keys"])
def test_conditions_that_do_not_exist(world: World, verify: str) -> None:
    world.run(OLD)
    error = world.refused(AUTOMATIC.replace("EVOLVE", f"VERIFY = '{verify}', EVOLVE"))
    assert "'rows, values 0.01'" in error.message


# ---- in place of the old version: tests/statements/queries/test_positions.py has where it goes on ------

FROM_NOW = (
    "CREATE OR REPLACE TABLE x WITH (EVOLVE = 'from-now') AS "
    "SELECT k, CAST(SUM(v) AS BIGINT) AS n FROM s GROUP BY k EMIT CHANGES;"
)
AT = {"0": 7, "1": 8, "2": 9}


def test_a_new_version_with_state_reads_the_history_again(world: World) -> None:
    world.run("CREATE STREAM x AS SELECT k, v FROM s EMIT CHANGES;")
    (old,) = world.ids()
    state = world.checkpoint(old) / "0"

    def warms_up(left: int) -> None:
        assert not state.exists() and world.states() == {old: "RUNNING"}
        assert (described(world)["state"], described(world)["recordsLeft"]) == ("warming up", left)

    def ends() -> None:
        """Let it read the rest, and wait for the query that runs after the warm-up."""
        world.commit(old, 0, s=AT)
        query = world.queries.find(old)
        until(lambda: described(world)["state"] == "swapped" and not query.loading)

    world.commit(old, 0, s=AT)
    way = "(EVOLVE = 'backfill', HISTORY = 'keep')"
    world.run(f"CREATE OR REPLACE STREAM x WITH {way} AS SELECT DISTINCT ON (k) k, v FROM s;")
    warms_up(24)
    world.commit(old, 0, s={"0": 7, "1": 3, "2": 9})
    assert described(world)["recordsLeft"] == 5
    refused = world.refused("ABORT EVOLUTION x;").message
    assert refused.startswith("The old version of X has ended; the new one reads its history, then goes on.")
    world.restart()  # it reads everything again
    warms_up(24)
    ends()
    world.restart()
    query = world.queries.find(old)
    assert query is not None and query.spark and described(world)["state"] == "swapped"
    # its state is rebuilt in the same way
    world.commit(old, 1, s={"0": 70, "1": 80, "2": 90})
    world.queries.rebuild(query)
    warms_up(24)
    ends()


MOVE = (
    "CREATE OR REPLACE TABLE x WITH (KAFKA_TOPIC = 'original', EVOLVE = 'in-place') AS "
    "SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
)


@pytest.fixture
def moving(world: World, topics: TopicRows) -> World:
    """A world in which x has a topic of its own, and topic original other rows."""
    world.run(OLD)
    world.commit(world.ids()[0], 0, s=AT)
    world.admin.create_topic("original", 3)
    topics.rows["X"] = {b"a": b"1", b"b": b"9", b"d": b"4"}
    topics.rows["original"] = {b"a": b"1", b"b": b"2", b"c": b"3"}
    return world


def test_a_table_moves_to_another_topic(moving: World, topics: TopicRows) -> None:
    (old,) = moving.ids()
    moving.run(MOVE)
    written = [("original", b"b", b"9"), ("original", b"d", b"4"), ("original", b"c", None)]
    topics.rows["X"][b"late"] = b"7"  # it is no longer what the table is
    for _ in range(2):
        query = moving.queries.find(old)
        assert query is not None and query.plan.sink.topic == "original" and topics.written == written
        assert moving.services.metastore.require("X").topic == "original" and "X" in moving.admin.topics()
        assert described(moving) == {
            "state": "swapped", "recordsLeft": None, "keysChanged": 2, "keysRemoved": 1, "reason": None,
        }  # fmt: skip
        moving.restart()
    since_ms = moving.services.metastore.require("X").past_from_ms
    assert since_ms is not None and abs(since_ms / 1000 - time.time()) < 3600
    # what comes later leaves it there, also what computes the state again
    moving.run(MOVE.replace("COUNT(*) AS n", "COUNT(*) AS n, COUNT(*) + 1 AS m"))
    query = moving.queries.find(old)
    assert query is not None and query.plan.sink.past_from_ms == since_ms
    moving.queries.stop(old)
    moving.queries._runs.reset(query)
    moving.restart()
    assert topics.written == written
    # and back again
    moving.run(MOVE.replace("'original'", "'X'").replace("COUNT(*) AS n", "COUNT(*) AS n, COUNT(*) + 1 AS m"))
    assert topics.written[3:] == [("X", b"late", None)]
    moving.run("DROP TABLE x;")
    assert {"X", "original"} <= set(moving.admin.topics())


def test_a_kill_while_a_table_moves(moving: World, topics: TopicRows) -> None:
    topics.fails = True
    assert "the network is gone" in moving.message(MOVE)
    assert described(moving)["state"] == "failed"
    assert "still taking over" in moving.refused(MOVE.replace("'original'", "'X'")).message
    topics.fails = False
    moving.restart()
    assert described(moving)["state"] == "swapped" and topics.rows["original"] == topics.rows["X"]


def test_a_table_that_began_from_now_moves(moving: World, topics: TopicRows) -> None:
    moving.run(FROM_NOW)
    moving.run(MOVE.replace("COUNT(*)", "CAST(SUM(v) AS BIGINT)"))
    assert topics.rows["original"] == topics.rows["X"]
    later = {"0": 70, "1": 80, "2": 90}
    moving.commit(moving.ids()[0], 0, s=later)
    moving.run(FROM_NOW.replace("'from-now'", "'from-now', KAFKA_TOPIC = 'original'"))
    (query,) = moving.queries.all()
    assert moving.queries.checkpoints.position(query, 0) == {"s": later}
