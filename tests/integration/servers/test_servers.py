"""Several servers with one service id: they know the same, and each query runs on one of them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.engine.query_service import transient_topic_prefix
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.runtime.cluster.state_owner import OWNER_FILE
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.spark.session import SparkProcess
from tests.integration import fake_spark
from tests.waiting import TIMEOUT_S, until

pytestmark = pytest.mark.kafka

PREFIX = "servers_"
STREAM = (
    f"CREATE STREAM s (k STRING KEY, v INT) WITH (KAFKA_TOPIC='{PREFIX}s', VALUE_FORMAT='JSON',"
    " PARTITIONS=1);"
)


@pytest.fixture
def config(kafka_admin: KafkaAdmin, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Of servers whose topics are removed after the test."""
    yield {
        "bootstrap.servers": kafka_admin.servers,
        "ksql.service.id": PREFIX,
        "ksql.output.topic.name.prefix": PREFIX,
        "ksql.cluster.enabled": "true",
        "ksql.state.dir": str(tmp_path / "state"),
    }
    mine = (PREFIX, f"_confluent-ksql-{PREFIX}")
    kafka_admin.delete_topics(name for name in kafka_admin.topics() if name.startswith(mine))


@pytest.fixture
def start(config: dict[str, Any], tmp_path: Path) -> Iterator[Callable[[str], Engine]]:
    """Starts a server that runs no Spark queries, by its name."""
    running: list[Engine] = []

    def started(name: str) -> Engine:
        own = {"ksql.spark.data.dir": str(tmp_path / name), "ksql.advertised.listener": f"http://{name}:8088"}
        running.append(fake_spark.start(config | own))
        return running[-1]

    yield started
    for engine in running:
        engine.stop()


@pytest.fixture
def start_with_spark(
    config: dict[str, Any], tmp_path: Path, spark_process: SparkProcess
) -> Iterator[Callable[[str], Engine]]:
    """Starts a server whose queries run, all in the shared JVM, by its name."""
    running: list[Engine] = []

    def started(name: str) -> Engine:
        own = {"ksql.spark.data.dir": str(tmp_path / name), "ksql.advertised.listener": f"http://{name}:8088"}
        engine = Engine(Config(config | own | {"ksql.spark.warm.up.enabled": "false"}), spark_process)
        engine.start()
        running.append(engine)
        return engine

    yield started
    for engine in running:
        engine.stop()
    # queries of other tests write without being a member's
    session: Any = spark_process.session
    session._jvm.org.ksqlspark.ownership.Ownership.release()


Start = Callable[[str], Engine]


def run(engine: Engine, text: str) -> list[Any]:
    return engine.execute(Request(text))


def here(engine: Engine) -> dict[str, ManagedQuery]:
    """The queries that run on a server."""
    return {query.id: query for query in engine.services.queries.all() if query.spark}


def rows(engine: Engine, text: str) -> list[list[Any]]:
    """All rows of a pull query."""
    stream = engine.query(Request(text))
    found: list[list[Any]] = []
    while (read := stream.read(5.0)) is not None:
        found += [list(row.values) for row in read]
    stream.close()
    return found


def pushed(engine: Engine, text: str, count: int) -> list[list[Any]]:
    """The first rows of a push query that reads everything, sorted."""
    stream = engine.query(Request(text, properties={"auto.offset.reset": "earliest"}))
    rows: list[list[Any]] = []
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while len(rows) < count:
            assert time.monotonic() < deadline, (text, rows)
            rows += [list(row.values) for row in stream.read(0.2) or ()]
    finally:
        stream.close()
    return sorted(rows)


def shown(engine: Engine) -> dict[str, tuple[str, str]]:
    """State and host of each query, as SHOW QUERIES has them."""
    (answer,) = run(engine, "SHOW QUERIES;")
    return {row.id: (row.state, row.host) for row in answer.queries}


def test_servers_share_statements_and_queries(start: Start, tmp_path: Path) -> None:
    first = start("first")
    run(first, STREAM)
    second = start("second")
    names = [f"q{n}" for n in range(6)]
    for n, name in enumerate(names):
        run((first, second)[n % 2], f"CREATE STREAM {name} AS SELECT * FROM s EMIT CHANGES;")
    until(lambda: len(here(first)) + len(here(second)) == len(names))
    assert here(first) and here(second) and not here(first).keys() & here(second).keys()
    for engine in (first, second):
        (answer,) = run(engine, "SHOW STREAMS;")
        assert {name.upper() for name in names} <= {stream.name for stream in answer.streams}
    # the same on both, with the host of each
    hosts = dict.fromkeys(here(first), "first:8088") | dict.fromkeys(here(second), "second:8088")
    expected = {query: ("RUNNING", host) for query, host in hosts.items()}
    until(lambda: shown(first) == shown(second) == expected)
    status = second.cluster.status()
    assert status.keys() == {"first:8088", "second:8088"}
    assert all(host.host_alive for host in status.values())
    # whatever it does, any server can be asked
    mine = next(iter(here(second)))
    run(first, f"PAUSE {mine};")
    until(lambda: mine not in here(second))
    until(lambda: shown(first)[mine][0] == shown(second)[mine][0] == "PAUSED")
    run(first, f"RESUME {mine};")
    until(lambda: mine in here(second))
    folder = tmp_path / "state" / mine
    assert folder.exists()
    run(first, f"TERMINATE {mine};")
    until(lambda: not folder.exists())
    assert mine not in shown(second) and mine not in here(second)
    with pytest.raises(KsqlError) as refused:
        first.rebuild_state(next(iter(here(second))))
    assert refused.value.condition == "QUERY_ELSEWHERE" and "second:8088" in refused.value.message
    # a server that stops hands its queries over, one that starts gets some
    queries = set(here(first)) | set(here(second))
    second.stop()
    until(lambda: set(here(first)) == queries)
    third = start("third")
    until(lambda: here(third) and set(here(first)) | set(here(third)) == queries)
    assert not here(first).keys() & here(third).keys()
    assert third.services.metastore.find("Q0") == first.services.metastore.find("Q0")


@pytest.mark.long
def test_a_drained_server_runs_nothing_and_answers_all(start: Start) -> None:
    first, second = start("first"), start("second")
    run(first, STREAM)
    for n in range(4):
        run(first, f"CREATE STREAM q{n} AS SELECT * FROM s EMIT CHANGES;")
    until(lambda: here(first) and len(here(first)) + len(here(second)) == 4)
    answer = first.cluster.drain()
    assert answer.drained and "second:8088" in answer.message
    assert not here(first)
    until(lambda: len(here(second)) == 4)
    run(first, "CREATE STREAM q4 AS SELECT * FROM s EMIT CHANGES;")
    until(lambda: len(here(second)) == 5)
    for engine in (first, second):
        hosts = [entry.host_info.host for entry in engine.cluster.all_metadata()]
        assert hosts == ["first", "second"]
        until(lambda: set(shown(engine).values()) == {("RUNNING", "second:8088")})  # noqa: B023
        status = engine.cluster.status()
        assert status["first:8088"].drained and not status["second:8088"].drained
    first.cluster.serve()
    until(lambda: here(first) and len(here(first)) + len(here(second)) == 5)
    assert not second.cluster.status()["first:8088"].drained


@pytest.mark.long
def test_push_queries_on_a_server_that_does_not_run_the_query(start_with_spark: Start) -> None:
    servers = {f"{name}:8088": start_with_spark(name) for name in ("first", "second")}
    first = servers["first:8088"]
    run(first, STREAM)
    run(
        first,
        "CREATE STREAM c AS SELECT k, v + 1 AS v FROM s EMIT CHANGES;"
        " CREATE TABLE t AS SELECT k, SUM(v) AS n FROM s GROUP BY k EMIT CHANGES;",
    )
    until(lambda: sorted(shown(first).values()) == [("RUNNING", host) for host in servers])
    owners = {query.split("_")[1]: host for query, (_, host) in shown(first).items()}
    (beside_c,), (beside_t,) = (
        [engine for host, engine in servers.items() if host != owners[sink]] for sink in ("C", "T")
    )
    assert beside_c is not beside_t
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        run(first, f"INSERT INTO s VALUES ('{key}', {value});")
    # read from the topic, rows made by a query of Spark, a table's rows; all of it and one key
    for engine, text, expected in (
        (beside_c, "SELECT k, v FROM c EMIT CHANGES;", [["a", 2], ["a", 4], ["b", 3]]),
        (beside_c, "SELECT k, v FROM c WHERE k = 'a' EMIT CHANGES;", [["a", 2], ["a", 4]]),
        (beside_c, "SELECT k, ABS(v) FROM c WHERE k = 'b' EMIT CHANGES;", [["b", 3]]),
        (beside_t, "SELECT k, n FROM t EMIT CHANGES;", [["a", 1], ["a", 4], ["b", 2]]),
        (beside_t, "SELECT k, n FROM t WHERE k = 'a' EMIT CHANGES;", [["a", 1], ["a", 4]]),
    ):
        assert pushed(engine, text, len(expected)) == expected, text
    # what comes while the query is asked
    later: list[list[Any]] = []
    stream = beside_c.query(Request("SELECT k, v FROM c WHERE k = 'z' EMIT CHANGES;"))
    try:
        run(first, "INSERT INTO s VALUES ('y', 8); INSERT INTO s VALUES ('z', 9);")
        until(lambda: later.extend(list(row.values) for row in stream.read(0.2) or ()) or later)
    finally:
        stream.close()
    assert later == [["z", 10]]


@pytest.mark.long
@pytest.mark.parametrize(
    ("way", "kept", "ends"),
    [
        pytest.param("in-place", 3, False, id="in place, and its owner goes on"),
        pytest.param("from-now", 0, True, id="from now, and its owner ends"),
    ],
)
def test_another_server_changes_a_query(start_with_spark: Start, way: str, kept: int, ends: bool) -> None:
    """Whichever server is asked, the one that runs the query goes on, and so does the next one."""
    engines = [start_with_spark(name) for name in ("first", "second")]
    run(engines[0], STREAM)
    run(engines[0], "CREATE TABLE t AS SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k;")
    (query,) = shown(engines[0])
    until(lambda: query in here(engines[0]) or query in here(engines[1]))
    owner, beside = engines if query in here(engines[0]) else reversed(engines)

    def has(wanted: list[list[Any]], *asked: Engine) -> None:
        for engine in asked:
            until(lambda: rows(engine, "SELECT * FROM t WHERE k = 'a';") == wanted)  # noqa: B023

    run(beside, "INSERT INTO s VALUES ('a', 1); INSERT INTO s VALUES ('a', 2);")
    has([["a", 2, 3]], owner, beside)
    replace = "CREATE OR REPLACE TABLE t WITH (EVOLVE = '{}') AS SELECT k, SUM(v) AS sum FROM s GROUP BY k;"
    run(beside, replace.format(way))
    if not ends:
        # until then, the old version counts what is written
        until(lambda: (new := here(owner).get(query)) and new.plan.sink.schema.find("SUM"))
        run(beside, "INSERT INTO s VALUES ('a', 4);")
        has([["a", kept + 4]], owner, beside)
        assert query in here(owner) and query not in here(beside)
        kept += 4
    owner.stop()
    until(lambda: query in here(beside))
    run(beside, "INSERT INTO s VALUES ('a', 8);")
    has([["a", kept + 8]], beside)


def evolution(engine: Engine) -> Any:
    """What DESCRIBE EVOLUTION tells."""
    (described,) = run(engine, "DESCRIBE EVOLUTION t;")
    return described


@pytest.mark.long
@pytest.mark.parametrize("way", ["manual", "auto"])
def test_another_server_asks_for_a_backfill(start_with_spark: Start, way: str) -> None:
    """Both versions run on one server; any server is asked; the next one goes on with the new version."""
    engines = [start_with_spark(name) for name in ("first", "second")]
    run(engines[0], STREAM)
    run(engines[0], "CREATE TABLE t AS SELECT k, COUNT(*) AS n FROM s GROUP BY k;")
    (old,) = shown(engines[0])
    until(lambda: old in here(engines[0]) or old in here(engines[1]))
    owner, beside = engines if old in here(engines[0]) else reversed(engines)

    def has(wanted: int, *asked: Engine) -> None:
        for engine in asked:
            until(lambda: rows(engine, "SELECT * FROM t WHERE k = 'a';") == [["a", wanted]])  # noqa: B023

    run(beside, "INSERT INTO s VALUES ('a', 10); INSERT INTO s VALUES ('a', 20);")
    has(2, owner, beside)
    run(
        beside,
        f"CREATE OR REPLACE TABLE t WITH (EVOLVE = 'backfill', SWAP = '{way}') AS"
        " SELECT k, SUM(v) AS n FROM s GROUP BY k;",
    )
    (new,) = {q.id for q in beside.services.queries.all()} - {old}
    if way == "manual":
        until(lambda: here(owner).keys() == {old, new})
        for engine in engines:
            until(lambda: evolution(engine).state == "caught up")  # noqa: B023
            assert evolution(engine).keys_changed == 1
        has(2, owner, beside)
        run(beside, "SWAP t;")
    for engine in engines:
        until(lambda: evolution(engine).state == "swapped")  # noqa: B023
        assert evolution(engine).query_id == new
    has(30, owner, beside)
    until(lambda: here(owner).keys() == {new})
    assert not here(beside)
    run(beside, "INSERT INTO s VALUES ('a', 3);")
    has(33, owner, beside)
    wanted = 37
    if way == "auto":
        run(beside, "ROLLBACK t;")
        has(3, owner, beside)
        (new,) = {q.id for q in beside.services.queries.all()}
        until(lambda: here(owner).keys() == {new})
        wanted = 4
    owner.stop()
    until(lambda: new in here(beside))
    run(beside, "INSERT INTO s VALUES ('a', 4);")
    has(wanted, beside)
    until(lambda: evolution(beside).state == "swapped")


@pytest.mark.long
def test_another_server_goes_back_to_a_version(start_with_spark: Start) -> None:
    """ROLLBACK in place, and UNDROP, whichever server is asked."""
    engines = [start_with_spark(name) for name in ("first", "second")]
    run(engines[0], STREAM)
    run(engines[0], "CREATE STREAM c AS SELECT k, v FROM s WHERE v > 0 EMIT CHANGES;")
    (query,) = shown(engines[0])
    until(lambda: query in here(engines[0]) or query in here(engines[1]))
    owner, beside = engines if query in here(engines[0]) else reversed(engines)
    run(owner, "INSERT INTO s VALUES ('a', 1);")
    assert pushed(beside, "SELECT v FROM c EMIT CHANGES;", 1) == [[1]]
    run(owner, "CREATE OR REPLACE STREAM c AS SELECT k, v FROM s WHERE v > 5 EMIT CHANGES;")
    until(lambda: query in here(owner))
    run(owner, "INSERT INTO s VALUES ('a', 2); INSERT INTO s VALUES ('a', 6);")
    assert pushed(beside, "SELECT v FROM c EMIT CHANGES;", 2) == [[1], [6]]
    run(beside, "ROLLBACK c;")
    until(lambda: query in here(owner) and "> 5" not in here(owner)[query].statement)
    run(beside, "INSERT INTO s VALUES ('a', 3);")
    assert pushed(beside, "SELECT v FROM c EMIT CHANGES;", 3) == [[1], [3], [6]]
    (told,) = run(owner, "SHOW VERSIONS OF c;")
    assert [version.is_rollback for version in told.versions] == [False, False, True]
    # where a stream's query has stopped only its owner knows when it takes the DROP
    run(owner, "DROP STREAM c;")
    run(owner, "INSERT INTO s VALUES ('a', 4);")
    run(beside, "UNDROP STREAM c;")
    run(beside, "INSERT INTO s VALUES ('a', 5);")
    assert pushed(beside, "SELECT v FROM c EMIT CHANGES;", 5) == [[1], [3], [4], [5], [6]]
    (again,) = shown(owner)
    until(lambda: again in here(owner) or again in here(beside))
    owner, beside = engines if again in here(engines[0]) else reversed(engines)
    run(beside, "DROP STREAM c;")
    with pytest.raises(KsqlError, match="ran on another server"):
        run(owner, "UNDROP STREAM c;")
    # a table's query reads all again from where it first began
    run(beside, "CREATE TABLE t AS SELECT k, SUM(v) AS n FROM s GROUP BY k;")
    run(beside, "INSERT INTO s VALUES ('a', 21);")
    until(lambda: owner.services.metastore.find("T") is not None)
    until(lambda: rows(owner, "SELECT * FROM t;") == [["a", 21]])
    run(owner, "DROP TABLE t;")
    run(beside, "UNDROP TABLE t;")
    run(owner, "INSERT INTO s VALUES ('a', 7);")
    until(lambda: owner.services.metastore.find("T") is not None)
    until(lambda: rows(owner, "SELECT * FROM t;") == [["a", 28]])


class Killed:
    """A server in a process of its own, without Spark; a context that kills it.

    Args:
        config: of the servers.
        folder: of their data.
        name: of the server.
    """

    def __init__(self, config: dict[str, Any], folder: Path, name: str) -> None:
        own = {"ksql.spark.data.dir": str(folder / name), "ksql.advertised.listener": f"http://{name}:8088"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.integration.fake_spark", json.dumps({"config": config | own})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Killed:
        assert self._told() == "started"
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()
        assert self._told() == "OK"

    def _told(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip()


def launches(engine: Engine) -> list[str]:
    """The statements of the queries that a server without Spark starts from now on."""
    found: list[str] = []
    launcher = engine.services.queries._runs._launcher
    launch = launcher.launch

    def noted(query: ManagedQuery, number: int, until: Any = None) -> Any:
        found.append(query.statement)
        return launch(query, number, until)

    launcher.launch = noted  # type: ignore[method-assign]
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE OR REPLACE STREAM {} AS SELECT * FROM s WHERE v > 1 EMIT CHANGES;",
        "CREATE OR REPLACE STREAM {} WITH (EVOLVE = 'from-now') AS SELECT * FROM s WHERE v > 1 EMIT CHANGES;",
        "DROP STREAM {};",
    ],
    ids=["replaced", "from now", "dropped"],
)
def test_the_next_server_is_behind_when_the_owner_is_killed(
    statement: str, start: Start, config: dict[str, Any], tmp_path: Path
) -> None:
    """It starts nothing of what a command that the owner has executed has replaced or ended."""
    first = start("first")
    placement = first.services.placement
    assert placement is not None
    with Killed(config, tmp_path, "second") as second:
        run(first, STREAM)
        for n in range(4):
            run(first, f"CREATE STREAM q{n} AS SELECT * FROM s EMIT CHANGES;")
        until(lambda: set(shown(first).values()) == {("RUNNING", f"{n}:8088") for n in ("first", "second")})
        theirs = sorted(shown(first).keys() - here(first).keys())
        name = theirs[0].split("_")[1]
        started = launches(first)
        with first.services.lock:  # as long as a statement is validated, it executes no command
            second.run(statement.format(name))
            second.kill()
            until(lambda: len(placement._membership.slots) == 32)
            until(lambda: all(map(placement._where.knows, range(32))))
            placement.take_soon()
            placement._pool.submit(lambda: None).result(TIMEOUT_S)  # after it
            assert started == []
    ends = "DROP" in statement
    until(lambda: here(first).keys() == shown(first).keys() and len(here(first)) == 4 - ends)
    wanted = [] if ends else [statement.format(name)]
    assert [text for text in started if f" {name} " in text.upper()] == wanted
    until(lambda: (tmp_path / "state" / theirs[0]).exists() is not ends)


@pytest.mark.long
def test_a_server_that_is_back_at_once_finds_its_queries(
    start: Start, config: dict[str, Any], tmp_path: Path
) -> None:
    first = start("first")
    with Killed(config, tmp_path, "second"):
        run(first, STREAM)
        for n in range(4):
            run(first, f"CREATE STREAM q{n} AS SELECT * FROM s EMIT CHANGES;")
        running = {("RUNNING", "first:8088"), ("RUNNING", "second:8088")}
        until(lambda: set(shown(first).values()) == running)
        at_first, before = dict(here(first)), shown(first)
    second = start("second")
    until(lambda: set(here(second)) == before.keys() - at_first.keys())
    until(lambda: shown(first) == before)
    assert here(first) == at_first


@pytest.mark.long
def test_a_start_removes_what_the_same_server_has_left(start: Start, kafka_admin: KafkaAdmin) -> None:
    first, second = start("first"), start("second")
    left = [f"{transient_topic_prefix(engine.services)}left" for engine in (first, second)]
    for topic in left:
        kafka_admin.create_topic(topic, 1, 1)
    first.stop()
    start("first")
    there = kafka_admin.topics().keys()
    assert left[0] not in there and left[1] in there


@pytest.mark.long
def test_the_end_of_all_servers(start: Start, kafka_admin: KafkaAdmin, tmp_path: Path) -> None:
    first, second = start("first"), start("second")
    run(first, STREAM)
    for n in range(4):
        run(first, f"CREATE STREAM q{n} AS SELECT * FROM s EMIT CHANGES;")
    until(lambda: here(second) and len(here(first)) + len(here(second)) == 4)
    stopped = threading.Event()

    def stop_second() -> None:  # as the server around the engine does
        threading.Thread(target=lambda: (second.stop(), stopped.set())).start()

    second.request_stop = stop_second
    (answer,) = first.terminate_cluster([f"{PREFIX}Q[01]"])
    assert answer.command_status.status == "SUCCESS"
    assert stopped.wait(TIMEOUT_S) and not here(first)
    there = kafka_admin.topics()
    assert f"{PREFIX}Q0" not in there and {f"{PREFIX}Q2", f"{PREFIX}s"} <= there.keys()
    assert {path.name for path in (tmp_path / "state").iterdir()} == {OWNER_FILE}
    assert first.services.log.topic not in there


@pytest.mark.long
def test_a_server_that_shares_meets_no_other_kind(
    start: Start, config: dict[str, Any], tmp_path: Path
) -> None:
    start("first")
    alone = {"ksql.cluster.enabled": "false", "ksql.spark.data.dir": str(tmp_path / "alone")}
    with pytest.raises(KsqlError) as refused:
        fake_spark.start(config | alone)
    assert refused.value.condition == "SERVICE_ID_IN_USE" and "ksql.cluster.enabled" in refused.value.message


@pytest.mark.long
def test_services_do_not_share_a_folder_of_state(
    start: Start, config: dict[str, Any], tmp_path: Path
) -> None:
    start("first")
    other = {"ksql.service.id": "another_", "ksql.spark.data.dir": str(tmp_path / "other")}
    with pytest.raises(KsqlError) as refused:
        fake_spark.start(config | other)
    assert refused.value.condition == "STATE_DIR_IN_USE"
    assert str(config["ksql.service.id"]) in refused.value.message


@pytest.mark.parametrize("missing", ["bootstrap.servers", "ksql.state.dir"])
def test_what_servers_need_to_share(missing: str, config: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(KsqlError) as refused:
        fake_spark.start(config | {"ksql.spark.data.dir": str(tmp_path / "data"), missing: ""})
    assert refused.value.condition == "CLUSTER_SETTINGS" and missing in refused.value.message
