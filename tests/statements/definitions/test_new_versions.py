"""EVOLVE = 'backfill': a table's new version runs beside the old one, and then takes its place."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ksql_spark.engine.automatic_swaps import AutomaticSwaps
from ksql_spark.engine.request import Request
from ksql_spark.kafka.consumer import Record
from ksql_spark.plan.trees import relations
from ksql_spark.runtime.cluster.placement import Slots
from ksql_spark.runtime.queries import checkpoints, differences, takeovers
from ksql_spark.runtime.queries.states import Event
from ksql_spark.runtime.reading import batch
from tests.registry_server import RegistryServer
from tests.statements.world import World

OLD = "CREATE TABLE x AS SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
NEW = (
    "CREATE OR REPLACE TABLE x WITH (EVOLVE = 'backfill', SWAP = 'manual') AS "
    "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s WHERE v > 3 GROUP BY k EMIT CHANGES;"
)
AUTOMATIC = NEW.replace(", SWAP = 'manual'", "")
READER = "CREATE TABLE y AS SELECT k, n FROM x EMIT CHANGES;"


class Topics:
    """The topics that a swap compares, in place of Kafka."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[bytes, bytes]] = {}
        self.written: list[tuple[str, bytes | None, bytes | None]] = []
        self.fenced: list[str] = []
        self.fails = False

    def latest(self, admin: object, topic: str) -> dict[differences.Place, Record]:
        rows = self.rows.get(topic, {})
        return differences.latest(Record(topic, 0, i, 1000 + i, *row) for i, row in enumerate(rows.items()))

    def written_as(self, transactional_id: str) -> Topics:
        """Return itself as the writer, which fences whoever has written under this name."""
        self.fenced.append(transactional_id)
        return self

    def close(self) -> None:
        """As its writer."""

    def write(self, _: object, topic: str, records: list[Record]) -> None:
        if self.fails:
            raise OSError("the network is gone")
        for record in records:
            self.written.append((topic, record.key, record.value))
            rows = self.rows.setdefault(topic, {})
            assert record.key is not None
            rows.pop(record.key, None)
            if record.value is not None:
                rows[record.key] = record.value


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> Iterator[Topics]:
    found = Topics()
    monkeypatch.setattr(differences.TopicRows, "read", lambda self, admin: found.latest(admin, self.topic))
    monkeypatch.setattr(differences, "writer", lambda _admin, id_: found.written_as(id_))
    monkeypatch.setattr(differences, "write", found.write)
    monkeypatch.setattr(differences, "one_of_each_partition", lambda rows: [])  # see test_differences.py
    monkeypatch.setattr(takeovers, "fence", lambda _servers, id_, _settings: found.fenced.append(id_))
    yield found


@pytest.fixture
def evolving(world: World, topics: Topics) -> World:
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
    refused = evolving.refused("SWAP x;")
    assert "20,000 records left" in refused.message and refused.condition == "EVOLUTION_UNFINISHED"


def test_a_table_and_its_new_version_in_one_request(world: World, topics: Topics) -> None:
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


def test_a_swap(evolving: World, topics: Topics) -> None:
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
    assert "No new version of X" in evolving.refused("SWAP x;").message
    evolving.run("DROP TABLE x;")
    assert evolving.ids() == []


def test_a_restart_in_each_phase(evolving: World, topics: Topics) -> None:
    old, new = evolving.ids()
    evolving.restart()
    assert evolving.states() == {old: "RUNNING", new: "RUNNING"}
    assert described(evolving)["state"] == "backfilling"
    caught_up(evolving)
    evolving.run("SWAP x;")
    written = list(topics.written)
    evolving.restart()
    assert evolving.states() == {new: "RUNNING"}, evolving.queries.find(new).errors
    assert topics.written == written
    assert described(evolving)["state"] == "swapped"
    query = evolving.queries.find(new)
    assert query is not None and query.plan.sink.topic == "X"


def test_a_swap_that_fails_is_completed_later(evolving: World, topics: Topics) -> None:
    _, new = evolving.ids()
    caught_up(evolving)
    topics.fails = True
    assert "the network is gone" in evolving.message("SWAP x;")
    assert evolving.states() == {new: "ERROR"}
    assert described(evolving)["state"] == "failed"
    assert "the network is gone" in str(described(evolving)["reason"])
    assert "is still taking over X" in evolving.refused(NEW).message
    topics.fails = False
    evolving.restart()
    assert evolving.states() == {new: "RUNNING"} and described(evolving)["state"] == "swapped"
    assert topics.written == [("X", b"b", b"9"), ("X", b"d", b"4"), ("X", b"c", None)]


def test_a_kill_between_the_log_and_the_swap(evolving: World, topics: Topics) -> None:
    """The command is in the log, and nothing of it has been done."""
    old, new = evolving.ids()
    caught_up(evolving)
    last = json.loads(evolving.log.records[-1])
    body = {**last, "id": "table/`X`/swap", "statement": "SWAP x", "token": "t", "follows": last["token"],
            "starts": {}, "queryId": None, "plan": None}  # fmt: skip
    evolving.close()
    evolving.log.records.append(json.dumps(body))
    evolving._start()
    assert evolving.states() == {new: "RUNNING"} and len(topics.written) == 3
    assert not evolving.checkpoint(old).exists()


def test_what_was_written_by_a_killed_swap_is_not_written_again(evolving: World, topics: Topics) -> None:
    caught_up(evolving)
    topics.rows["X"] = dict(topics.rows[topic(evolving)])
    assert evolving.message("SWAP x;").endswith("0 keys changed, 0 removed.")


def test_exactly_once_ends_the_transactions_of_both_versions(
    make_world: Callable[..., World], topics: Topics
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


def test_an_abort_leaves_nothing(evolving: World, topics: Topics) -> None:
    old, new = evolving.ids()
    before = topic(evolving)
    assert evolving.message("ABORT EVOLUTION x;") == f"X stays as it is: its new version, {new}, has ended."
    assert evolving.states() == {old: "RUNNING"}
    assert before not in evolving.admin.topics() and not evolving.checkpoint(new).exists()
    for _ in range(2):
        told = evolving.one("DESCRIBE EVOLUTION x;")
        assert (told["state"], told["queryId"], told["topic"]) == ("aborted", new, "X")
        assert told["recordsLeft"] is None
        evolving.restart()
    evolving.run(NEW)
    assert evolving.one("DESCRIBE EVOLUTION x;")["state"] == "backfilling"
    evolving.restart()
    assert len(evolving.ids()) == 2 and topics.written == []


def test_the_latest_evolution_is_described(evolving: World, topics: Topics) -> None:
    """Be it a swap or an abortion."""
    caught_up(evolving)
    evolving.run("SWAP x;")
    evolving.run(NEW.replace("v > 3", "v > 4"))
    newer = evolving.ids()[-1]
    evolving.answers(Request("ABORT EVOLUTION x;", {}, user="ann"))
    for _ in range(2):
        told = evolving.one("DESCRIBE EVOLUTION x;")
        assert (told["state"], told["queryId"], told["user"]) == ("aborted", newer, "ann")
        evolving.restart()
    evolving.run(
        "CREATE OR REPLACE TABLE x WITH (EVOLVE = 'from-now') AS "
        "SELECT k, COUNT(*) AS n, MAX(v) AS total FROM s GROUP BY k EMIT CHANGES;"
    )
    assert evolving.one("DESCRIBE EVOLUTION x;")["state"] == "swapped"
    evolving.run("DROP TABLE x;")
    evolving.run(OLD)
    assert "has not evolved" in evolving.refused("DESCRIBE EVOLUTION x;").message


@pytest.mark.parametrize(
    ("statement", "left"), [("DROP TABLE x;", 0), ("TERMINATE ALL;", 0), ("TERMINATE {new};", 1)]
)
def test_what_ends_an_evolution_too(evolving: World, statement: str, left: int) -> None:
    before = topic(evolving)
    evolving.run(statement.format(new=evolving.ids()[1]))
    assert len(evolving.ids()) == left and before not in evolving.admin.topics()
    evolving.restart()
    assert len(evolving.ids()) == left


def test_the_old_version_may_be_terminated(evolving: World) -> None:
    old, new = evolving.ids()
    evolving.run(f"TERMINATE {old};")
    caught_up(evolving)
    evolving.run("SWAP x;")
    assert evolving.states() == {new: "RUNNING"}


def test_an_automatic_swap(world: World, topics: Topics) -> None:
    world.run(OLD)
    world.admin.ends[("s", 0)] = 20_000
    world.run(AUTOMATIC)
    swaps = AutomaticSwaps(world.services, world.statements)
    swaps.check()
    assert len(world.ids()) == 2
    caught_up(world)
    swaps.check()
    assert len(world.ids()) == 1 and described(world)["state"] == "swapped"


@pytest.mark.parametrize("left", [10, 0])
def test_a_short_history_is_read_before_the_swap(world: World, topics: Topics, left: int) -> None:
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


def test_an_automatic_swap_that_a_new_reader_prevents(world: World, topics: Topics) -> None:
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


def test_no_automatic_swap_if_it_is_manual(evolving: World) -> None:
    caught_up(evolving)
    AutomaticSwaps(evolving.services, evolving.statements).check()
    assert len(evolving.ids()) == 2


def test_a_replacement_in_place_after_a_failed_swap_still_completes_it(
    evolving: World, topics: Topics
) -> None:
    caught_up(evolving)
    topics.fails = True
    evolving.run("SWAP x;")
    topics.fails = False
    evolving.run(NEW.replace("WITH (EVOLVE = 'backfill', SWAP = 'manual') ", "").replace("v > 3", "v > 4"))
    assert len(topics.written) == 3 and described(evolving)["state"] == "swapped"


@pytest.mark.parametrize(
    ("before", "statement", "reason"),
    [
        ("", NEW.replace("k, COUNT", "w, COUNT").replace("BY k", "BY w"), "key columns must stay"),
        ("", NEW.replace("SWAP", "VALUE_FORMAT = 'DELIMITED', SWAP"), "the value format cannot change"),
        ("", NEW.replace("SWAP", "VALUE_FORMAT = 'AVRO', SWAP"), "the value format cannot change"),
        ("", NEW.replace("SWAP", "KAFKA_TOPIC = 'other', SWAP"), "its topic, X, cannot change"),
        ("", NEW.replace("SWAP", "PARTITIONS = 7, SWAP"), "its topic has 3 partitions"),
        ("", NEW.replace("FROM s", "FROM s WINDOW TUMBLING (SIZE 1 MINUTE)"), "its windows, which are part"),
        ("", NEW.replace("CREATE OR REPLACE", "CREATE"), "exists"),
        ("", NEW.replace("'backfill'", "'magic'"), "'magic' is none of backfill, from-now"),
        ("", NEW.replace("'manual'", "'never'"), "'never' is none of auto, manual"),
        ("", NEW.replace("EVOLVE = 'backfill', ", ""), "'SWAP' needs 'EVOLVE' too"),
        ("", NEW.replace("TABLE x", "TABLE t"), "EVOLVE is for streams and tables that a query writes"),
        (READER, NEW.replace("COUNT(*) AS n, ", ""), "appended while queries read it: CTAS_Y_"),
        (READER, NEW.replace("FROM s WHERE v > 3", "FROM y WHERE n > 3").replace("SUM(v)", "SUM(n)"),
         "Y is made of X"),
        (NEW, NEW, "already runs beside"),
        (NEW, NEW.replace("WITH (EVOLVE = 'backfill', SWAP = 'manual') ", ""), "or ABORT EVOLUTION X;"),
    ],
)  # fmt: skip
def test_what_is_refused(world: World, topics: Topics, before: str, statement: str, reason: str) -> None:
    world.run(OLD + before)
    ids = world.ids()
    error = world.refused(statement)
    assert reason in f"{error.message} {error.hint}"
    assert world.ids() == ids


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("COUNT(*) AS n, MAX(v) AS m", None),
        ("MAX(v) AS more, COUNT(*) AS n", None),
        ("MAX(v) AS n", "N as BIGINT, which cannot be read as INTEGER"),
        ("LATEST_BY_OFFSET(w) AS n", None),
    ],
)
def test_rows_of_the_past_stay_readable(
    world: World, topics: Topics, columns: str, reason: str | None
) -> None:
    world.run(OLD.replace("AS SELECT", "WITH (HISTORY = '1 DAY') AS SELECT"))
    statement = NEW.replace("COUNT(*) AS n, SUM(v) AS total", columns)
    if reason is None:
        world.run(statement)
    else:
        error = world.refused(statement)
        assert f"rows of its past (HISTORY) have {reason}" in error.message
        assert "CREATE a table beside X" in str(error.hint)


def test_a_past_whose_rows_have_no_names(world: World, topics: Topics) -> None:
    world.run(OLD.replace("AS SELECT", "WITH (HISTORY = '1 DAY', VALUE_FORMAT = 'DELIMITED') AS SELECT"))
    statement = NEW.replace("SWAP", "VALUE_FORMAT = 'DELIMITED', SWAP")
    assert "columns by position (DELIMITED)" in world.refused(statement).message


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
def test_a_column_that_comes_back(world: World, topics: Topics, kind: str, way: str, between: str) -> None:
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


def test_appended_columns_do_not_disturb_readers(world: World, topics: Topics) -> None:
    world.run(OLD + READER + AUTOMATIC)
    AutomaticSwaps(world.services, world.statements).check()
    assert described(world)["state"] == "swapped"
    assert len(world.ids()) == 2


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_server_that_does_not_run_the_new_version(is_paused: bool, evolving: World, topics: Topics) -> None:
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


def test_a_windowed_table(world: World, topics: Topics) -> None:
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
    make_world: Callable[..., World], topics: Topics, format_: str
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
def test_a_verified_swap(world: World, topics: Topics, verify: str, failures: list[str]) -> None:
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
    world: World, topics: Topics, monkeypatch: pytest.MonkeyPatch, verify: str
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


# ---- at once: EVOLVE = 'from-now', and streams whose new version keeps no state ---------------------

STREAM = "CREATE STREAM x AS SELECT k, v FROM s EMIT CHANGES;"
DELIMITED = STREAM.replace("x AS", "x WITH (VALUE_FORMAT = 'DELIMITED') AS").replace("v FROM", "v, w FROM")
KEEP = (
    "CREATE OR REPLACE STREAM x WITH (EVOLVE = 'backfill', HISTORY = 'keep') AS "
    "SELECT k, v + 1 AS v FROM s WHERE v > 3 EMIT CHANGES;"
)
PLACED = KEEP.replace("'keep'", "'keep', VALUE_FORMAT = 'DELIMITED'")
FROM_NOW = (
    "CREATE OR REPLACE TABLE x WITH (EVOLVE = 'from-now') AS "
    "SELECT k, CAST(SUM(v) AS BIGINT) AS n FROM s GROUP BY k EMIT CHANGES;"
)
AT = {"0": 7, "1": 8, "2": 9}


def starts(world: World, number: int = 0) -> dict[str, dict[str, int]]:
    """Where the only query starts reading."""
    query = world.queries.find(world.ids()[-1])
    assert query is not None
    found = world.queries.checkpoints.position(query, number)
    return {topic: dict(offsets) for topic, offsets in found.items()}


@pytest.mark.parametrize(("before", "statement"), [(STREAM, KEEP), (OLD, FROM_NOW)])
def test_a_new_version_begins_where_the_old_one_ended(world: World, before: str, statement: str) -> None:
    world.run(before)
    (old,) = world.ids()
    world.commit(old, 0, s=AT)
    assert "Created query" in world.message(statement)
    assert world.states() == {old: "RUNNING"} and starts(world) == {"s": AT}
    assert not (world.checkpoint(old) / "0").exists()
    assert described(world)["state"] == "swapped"
    for _ in range(2):
        world.restart()
        assert world.states() == {old: "RUNNING"} and starts(world) == {"s": AT}
    query = world.queries.find(old)
    assert query is not None and query.plan.sink.topic == "X"
    # once more: the first batch of the second version has been committed
    later = {"0": 70, "1": 80, "2": 90}
    world.commit(old, 0, s=later)
    world.run(statement.replace("v > 3", "v > 4").replace("SUM(v)", "MAX(v)"))
    assert starts(world) == {"s": later}
    world.run(f"DROP {query.plan.sink.kind} x;")
    assert world.ids() == []


def test_a_kill_before_the_new_version_begins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old version's position is found, and kept, by whichever start is the first to succeed."""
    world.run(OLD)
    (old,) = world.ids()
    world.commit(old, 0, s=AT)
    remove, is_killed = checkpoints.Checkpoint.begin_anew, True

    def killed(self: checkpoints.Checkpoint, offsets: checkpoints.Offsets, anew: int) -> None:
        if is_killed:
            self.folder.forget("metadata")
            self.folder.remove()
            raise OSError("the network is gone")
        remove(self, offsets, anew)

    monkeypatch.setattr(checkpoints.Checkpoint, "begin_anew", killed)
    assert "the network is gone" in world.message(FROM_NOW)
    assert world.states() == {old: "ERROR"} and described(world)["state"] == "failed"
    is_killed = False
    world.restart()
    assert world.states() == {old: "RUNNING"} and starts(world) == {"s": AT}


def test_a_rebuild_begins_where_the_version_began(world: World) -> None:
    world.run(OLD)
    (old,) = world.ids()
    world.commit(old, 0, s=AT)
    world.run(FROM_NOW)
    world.commit(old, 0, s={"0": 70, "1": 80, "2": 90})
    query = world.queries.find(old)
    assert query is not None
    world.queries.rebuild(query)
    assert world.states() == {old: "RUNNING"} and starts(world) == {"s": AT}


LAG = "LAG(v) OVER (PARTITION BY k ORDER BY ROWTIME)"
KEEP_WITH_STATE = (
    "CREATE OR REPLACE STREAM x WITH (EVOLVE = 'backfill', HISTORY = 'keep') AS "
    "SELECT DISTINCT ON (k) k, v FROM s EMIT CHANGES;"
)


def until_swapped(world: World) -> None:
    """Wait for the end of the warm-up, and for the query that runs after it."""
    query = world.queries.find(world.ids()[-1])
    assert query is not None
    deadline = time.monotonic() + 10
    while described(world)["state"] != "swapped" or query.loading:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_new_version_with_state_reads_the_history_again(world: World) -> None:
    world.run(STREAM)
    (old,) = world.ids()
    world.commit(old, 0, s=AT)
    assert "Created query" in world.message(KEEP_WITH_STATE)
    beginning = {"s": {"0": 0, "1": 0, "2": 0}}
    for _ in range(2):
        assert world.states() == {old: "RUNNING"} and starts(world) == beginning
        assert not (world.checkpoint(old) / "0").exists()
        assert (described(world)["state"], described(world)["recordsLeft"]) == ("warming up", 24)
        world.restart()
    # interrupted in the middle, it reads everything again
    world.commit(old, 0, s={"0": 7, "1": 3, "2": 9})
    assert described(world)["recordsLeft"] == 5
    assert "The old version of X has ended" in world.refused("ABORT EVOLUTION x;").message
    world.restart()
    assert not (world.checkpoint(old) / "0").exists()
    world.commit(old, 0, s=AT)
    until_swapped(world)
    for _ in range(2):
        query = world.queries.find(old)
        assert query is not None and query.spark and world.states() == {old: "RUNNING"}
        assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 7, 1: 8, 2: 9}}
        world.restart()
    # its state is rebuilt in the same way
    world.commit(old, 1, s={"0": 70, "1": 80, "2": 90})
    query = world.queries.find(old)
    assert query is not None
    world.queries.rebuild(query)
    assert described(world)["state"] == "warming up" and starts(world) == beginning
    world.commit(old, 0, s=AT)
    until_swapped(world)


@pytest.mark.parametrize("keeps", ["earliest", "latest"])
def test_a_version_that_has_committed_nothing_stands_where_it_began(world: World, keeps: str) -> None:
    """Not at the ends: the records that wait are the new version's."""
    world.admin.ends[("s", 0)] = 5
    world.run(STREAM, **{"auto.offset.reset": keeps})
    (old,) = world.ids()
    world.run("PAUSE ALL;")
    world.admin.ends[("s", 0)] = 2000
    world.run(KEEP_WITH_STATE)
    world.run("RESUME ALL;")
    begins = {"s": {"0": 5 if keeps == "latest" else 0, "1": 0, "2": 0}}
    query = world.queries.find(old)
    assert query is not None
    if keeps == "latest":
        assert world.queries.takeovers.until(query) == begins
        world.commit(old, 0, **begins)
    until_swapped(world)
    assert world.queries.takeovers.position(query) == begins


def test_a_stream_that_is_dropped_in_its_warm_up_repeats_nothing(world: World) -> None:
    world.run(STREAM)
    (old,) = world.ids()
    world.commit(old, 0, s=AT)
    world.run(KEEP_WITH_STATE)
    world.commit(old, 0, s={"0": 1, "1": 1, "2": 1})
    assert described(world)["state"] == "warming up"
    world.admin.ends |= {("s", 0): 7, ("s", 1): 8, ("s", 2): 9}
    world.run("DROP STREAM x;")
    assert "begins with none" in world.message("UNDROP STREAM x;")
    assert starts(world) == {"s": AT}


def test_how_much_history_is_read_again(world: World) -> None:
    """As much as START says, but nothing that the old version has not read; of other streams all there is."""
    world.run(
        "CREATE STREAM other (k STRING KEY, z BIGINT) WITH (KAFKA_TOPIC = 'o', PARTITIONS = 3, "
        "VALUE_FORMAT = 'JSON');"
    )
    world.run(STREAM)
    (old,) = world.ids()
    world.commit(old, 0, s=AT)
    world.admin.ends |= {("s", 0): 5, ("s", 1): 20, ("o", 0): 6}
    joined = KEEP_WITH_STATE.replace(
        "DISTINCT ON (k) k, v FROM s", "s.k AS k, v, z FROM s JOIN other WITHIN 1 DAY ON s.k = other.k"
    )
    world.run(joined.replace("'keep'", "'keep', START = 'latest'"))
    assert starts(world) == {"s": {"0": 5, "1": 8, "2": 0}, "o": {"0": 6, "1": 0, "2": 0}}
    assert described(world)["recordsLeft"] == 2 + 9


def test_other_topics_of_a_new_version(world: World) -> None:
    """A table is read whole; a stream that the old version did not read starts as for a new query."""
    world.run(STREAM)
    world.run(
        "CREATE STREAM other (k STRING KEY, z BIGINT) WITH (KAFKA_TOPIC = 'o', PARTITIONS = 3, "
        "VALUE_FORMAT = 'JSON');"
    )
    (old,) = world.ids()
    world.commit(old, 0, s=AT)
    world.admin.ends |= {("o", 0): 5, ("t", 0): 6}
    world.run(
        "CREATE OR REPLACE STREAM x WITH (EVOLVE = 'from-now') AS SELECT s.k AS k, v, z FROM s "
        "JOIN other WITHIN 1 DAY ON s.k = other.k EMIT CHANGES;"
    )
    assert starts(world) == {"s": AT, "o": {"0": 5, "1": 0, "2": 0}}


@pytest.mark.parametrize(
    ("before", "statement", "reason"),
    [
        (STREAM, KEEP.replace(", HISTORY = 'keep'", ""), "needs HISTORY = 'keep'"),
        (OLD, NEW.replace("SWAP = 'manual'", "HISTORY = 'keep'"), "HISTORY = 'keep' is for streams"),
        (STREAM, KEEP.replace("'keep'", "'new'"), "needs HISTORY = 'keep'"),
        (STREAM, KEEP.replace("EVOLVE = 'backfill', ", ""), "'HISTORY' needs 'EVOLVE' too"),
        (STREAM, KEEP.replace("'keep'", "'keep', SWAP = 'manual'"), "takes over at once, without SWAP"),
        (STREAM, KEEP.replace("'keep'", "'keep', START = 'latest'"), "takes over at once, without START"),
        (OLD, FROM_NOW.replace("'from-now'", "'from-now', SWAP = 'auto'"), "'SWAP' is not for EVOLVE"),
        (OLD, FROM_NOW.replace("'from-now'", "'from-now', START = 'earliest'"), "'START' is not for EVOLVE"),
        (OLD, KEEP, "X is a table"),
        (OLD, FROM_NOW.replace("FROM s", "FROM s WINDOW TUMBLING (SIZE 1 MINUTE)"), "windows"),
        (STREAM, KEEP.replace("k, v + 1", "v AS k, k"), "key columns must stay the same"),
        (STREAM + "TERMINATE {old};", KEEP, "no query writes it"),
        (
            STREAM,
            KEEP_WITH_STATE.replace("FROM s", f"FROM (SELECT k, {LAG} AS v FROM s) q"),
            "its new version has internal topics",
        ),
        (OLD, FROM_NOW.replace("CAST(SUM(v) AS BIGINT)", "SUM(v)"), "N as BIGINT, which cannot be read"),
        (OLD, FROM_NOW.replace("CAST(SUM(v) AS BIGINT)", "SUM(v)"), "EVOLVE = 'backfill'"),
        (STREAM, KEEP.replace("v + 1", "ARRAY[v]"), "Give the column another name, or CAST it to INTEGER"),
        (DELIMITED, PLACED.replace("v + 1 AS v", "v AS x, w"), "columns by position (DELIMITED)"),
        (DELIMITED, PLACED.replace("v + 1 AS v", "v, w, v * 2 AS w2"), "cannot change"),
        (DELIMITED, PLACED.replace("v + 1 AS v", "w, v"), "Or CREATE a stream beside X"),
    ],
)  # fmt: skip
def test_what_is_refused_at_once(world: World, before: str, statement: str, reason: str) -> None:
    first, *more = before.split(";")
    world.run(first + ";")
    (old,) = world.ids()
    world.run("".join(text + ";" for text in more if text).format(old=old))
    error = world.refused(statement)
    assert reason in f"{error.message} {error.hint}"


def test_the_hint_of_a_refused_replacement(world: World) -> None:
    world.run(OLD)
    error = world.refused("CREATE OR REPLACE TABLE x AS SELECT k, SUM(v) AS n FROM s GROUP BY k;")
    assert "EVOLVE = 'backfill'" in str(error.hint)


IN_PLACE = (
    "CREATE OR REPLACE TABLE x WITH (EVOLVE = 'in-place') AS "
    "SELECT k, COUNT(*) AS many FROM s GROUP BY k EMIT CHANGES;"
)


def test_a_new_version_goes_on_with_the_state(world: World) -> None:
    world.run("CREATE TABLE x AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k EMIT CHANGES;")
    (old,) = world.ids()
    world.commit(old, 0, s=AT)
    assert "Created query" in world.message(IN_PLACE)
    for _ in range(2):
        query = world.queries.find(old)
        assert query is not None and world.states() == {old: "RUNNING"}
        assert [c.name for c in query.plan.sink.schema.value] == ["MANY"]
        assert world.queries.checkpoints.committed_offsets(query) == {"s": {0: 7, 1: 8, 2: 9}}
        world.restart()
    error = world.refused(IN_PLACE.replace("CHANGES", "CHANGES EVERY 1 SECOND"))
    assert "whether it has EVERY cannot change" in error.message and "'backfill'" in str(error.hint)
    world.run(IN_PLACE.replace("COUNT(*) AS many", "MAX(v) AS most"))
    world.restart()
    query = world.queries.find(old)
    assert query is not None and [c.name for c in query.plan.sink.schema.value] == ["MOST"]


def test_what_cannot_change_in_place(world: World) -> None:
    world.run(OLD)
    error = world.refused(IN_PLACE.replace("'in-place'", "'in-place', START = 'earliest'"))
    assert "'START' is not for EVOLVE = 'in-place'" in error.message
    world.run("CREATE TABLE y AS SELECT * FROM x EMIT CHANGES;")
    assert "columns can only be appended" in world.refused(IN_PLACE).message


MOVE = (
    "CREATE OR REPLACE TABLE x WITH (KAFKA_TOPIC = 'original', EVOLVE = 'in-place') AS "
    "SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
)


@pytest.fixture
def moving(world: World, topics: Topics) -> World:
    """A world in which x has a topic of its own, and topic original other rows."""
    world.run(OLD)
    world.commit(world.ids()[0], 0, s=AT)
    world.admin.create_topic("original", 3)
    topics.rows["X"] = {b"a": b"1", b"b": b"9", b"d": b"4"}
    topics.rows["original"] = {b"a": b"1", b"b": b"2", b"c": b"3"}
    return world


def test_a_table_moves_to_another_topic(moving: World, topics: Topics) -> None:
    (old,) = moving.ids()
    assert "Created query" in moving.message(MOVE)
    written = [("original", b"b", b"9"), ("original", b"d", b"4"), ("original", b"c", None)]
    topics.rows["X"][b"late"] = b"7"  # it is no longer what the table is
    for _ in range(3):
        query = moving.queries.find(old)
        assert query is not None and moving.states() == {old: "RUNNING"}
        assert query.plan.sink.topic == moving.services.metastore.require("X").topic == "original"
        assert moving.queries.checkpoints.committed_offsets(query) == {"s": {0: 7, 1: 8, 2: 9}}
        assert topics.written == written
        assert "X" in moving.admin.topics()
        found = described(moving)
        assert [found[name] for name in ("state", "keysChanged", "keysRemoved")] == ["swapped", 2, 1]
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


def test_a_kill_while_a_table_moves(moving: World, topics: Topics) -> None:
    topics.fails = True
    assert "the network is gone" in moving.message(MOVE)
    assert described(moving)["state"] == "failed"
    assert "still taking over" in moving.refused(MOVE.replace("'original'", "'X'")).message
    topics.fails = False
    moving.restart()
    assert described(moving)["state"] == "swapped" and topics.rows["original"] == topics.rows["X"]


def test_a_table_that_began_from_now_moves(moving: World, topics: Topics) -> None:
    (old,) = moving.ids()
    moving.run(FROM_NOW)
    moving.run(MOVE.replace("COUNT(*)", "CAST(SUM(v) AS BIGINT)"))
    assert topics.rows["original"] == topics.rows["X"]
    later = {"0": 70, "1": 80, "2": 90}
    moving.commit(old, 0, s=later)
    moving.run(FROM_NOW.replace("'from-now'", "'from-now', KAFKA_TOPIC = 'original'"))
    assert starts(moving) == {"s": later}


@pytest.mark.parametrize(
    ("before", "statement", "reason"),
    [
        (READER, MOVE, "its topic cannot change while queries read it: CTAS_Y"),
        ("", MOVE.replace("original", "narrow"), "topic narrow has 1 partitions, and its topic has 3"),
        (
            "CREATE STREAM z AS SELECT * FROM s;",
            MOVE.replace("original", "Z"),
            "topic Z is written by CSAS_Z",
        ),
        ("", MOVE.replace("'original'", "'s'"), "its query reads topic s"),
        ("", MOVE.replace("in-place", "from-now"), "its topic, X, cannot change"),
        ("", MOVE.replace("in-place", "backfill"), "its topic, X, cannot change"),
        (
            "CREATE STREAM z AS SELECT * FROM s;",
            "CREATE OR REPLACE STREAM z WITH (KAFKA_TOPIC = 'original', EVOLVE = 'in-place') AS "
            "SELECT * FROM s;",
            "its topic, Z, cannot change",
        ),
    ],
)
def test_topics_that_a_table_does_not_move_to(
    moving: World, before: str, statement: str, reason: str
) -> None:
    moving.admin.create_topic("narrow", 1)
    if before:
        moving.run(before)
    assert reason in moving.refused(statement).message
