"""Where queries stand that have committed something, or nothing, when something else comes in their place.

A table of states and of ways to change: in each state of a query, with records waiting, each way must leave
each record to one version. The model is the numbers that were sent since the queries were created.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries.differences import latest
from ksql_spark.runtime.queries.states import State
from ksql_spark.spark.session import SparkProcess
from tests.integration.lake.archives import remove
from tests.integration.server_process import ServerProcess
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.long]

PREFIX = "positions_"
#: as many keys, and as many records before the queries are created
PEOPLE, BEFORE = 12, 240
DECLARED = f"""
CREATE STREAM events (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM past (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '{PREFIX}past', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE people (who STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}people', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
"""
#: topic past is archived, and then all is deleted that the archive has
ARCHIVED = f"""
CREATE SINK archive FROM past
  WITH (TYPE = 'parquet', PATH = '{{path}}/archive', ARCHIVE = true, COMMIT_INTERVAL = '50 milliseconds');
CREATE STREAM archived (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '{PREFIX}past', VALUE_FORMAT = 'JSON', ARCHIVE = '{{path}}/archive');
"""
#: sinks of streams whose queries have committed nothing; the second has committed nothing itself
SINKS = """
CREATE SINK lake FROM kept WITH (TYPE = 'parquet', PATH = '{path}/lake', COMMIT_INTERVAL = '1 second');
CREATE SINK idle FROM kept_join WITH (TYPE = 'parquet', PATH = '{path}/idle', COMMIT_INTERVAL = '1 second');
PAUSE SINK idle;
"""
OLD = "SELECT who, n AS c FROM events EMIT CHANGES;"
JOINED = "FROM events LEFT JOIN people ON events.who = people.who EMIT CHANGES;"
NEW = "SELECT who, -n AS c FROM events EMIT CHANGES;"
LAG = "LAG(n) OVER (PARTITION BY who ORDER BY ROWTIME) AS before"
STATEFUL = f"SELECT who, -n AS c, {LAG} FROM events EMIT CHANGES;"
KEEP = "EVOLVE = 'backfill', HISTORY = 'keep'"
#: way -> the first version of the stream of that name, and the statements that change it
WAYS = {
    "in_place": (OLD, "CREATE OR REPLACE STREAM in_place AS SELECT who, n AS c FROM events WHERE n >= 0;"),
    "in_place_by_name": (
        OLD,
        "CREATE OR REPLACE STREAM in_place_by_name WITH (EVOLVE = 'in-place') AS SELECT who, n AS c, n AS d "
        "FROM events WHERE n >= 0;",
    ),
    "kept": (OLD, f"CREATE OR REPLACE STREAM kept WITH ({KEEP}) AS {NEW}"),
    "kept_with_state": (OLD, f"CREATE OR REPLACE STREAM kept_with_state WITH ({KEEP}) AS {STATEFUL}"),
    "kept_join": (
        f"SELECT events.who AS who, n AS c {JOINED}",
        f"CREATE OR REPLACE STREAM kept_join WITH ({KEEP}) AS "
        f"SELECT events.who AS who, -n AS c, name {JOINED}",
    ),
    "from_now": (OLD, f"CREATE OR REPLACE STREAM from_now WITH (EVOLVE = 'from-now') AS {NEW}"),
    "from_now_with_state": (
        STATEFUL,
        f"CREATE OR REPLACE STREAM from_now_with_state WITH (EVOLVE = 'from-now') AS {STATEFUL}",
    ),
    "rolled_back": (
        OLD,
        "CREATE OR REPLACE STREAM rolled_back AS SELECT who, n AS c FROM events WHERE n >= 0;"
        "|ROLLBACK rolled_back;",
    ),
    "undropped": (OLD, "DROP STREAM undropped;|UNDROP STREAM undropped;"),
    "dropped_meanwhile": (
        OLD,
        f"CREATE OR REPLACE STREAM dropped_meanwhile WITH ({KEEP}) AS {STATEFUL}"
        "|DROP STREAM dropped_meanwhile;|UNDROP STREAM dropped_meanwhile;",
    ),
    "unchanged": (OLD, ""),
    "kept_of_archive": (
        OLD.replace("events", "archived"),
        f"CREATE OR REPLACE STREAM kept_of_archive WITH ({KEEP}) AS {STATEFUL.replace('events', 'archived')}",
    ),
}
TABLE = "CREATE TABLE totals AS SELECT who, COUNT(*) AS c FROM events GROUP BY who EMIT CHANGES;"
SWAPPED = (
    "CREATE OR REPLACE TABLE totals WITH (EVOLVE = 'backfill') AS "
    "SELECT who, SUM(n) AS c FROM events GROUP BY who EMIT CHANGES;"
)
STATES = ("never started", "paused", "killed", "committed")


class Server:
    """A server on a broker and a JVM that others share; a second one takes over what it had."""

    def __init__(self, config: dict[str, Any], spark: SparkProcess, folder: Path) -> None:
        self._config, self._spark, self._folder = config, spark, folder
        self.engine = self._start("one")
        self.producer = RecordProducer(config["bootstrap.servers"], linger_ms=5)
        self.count = 0

    def _start(self, name: str) -> Engine:
        own = {
            "ksql.spark.data.dir": str(self._folder / name),
            "ksql.advertised.listener": f"http://{name}:8088",
        }
        engine = Engine(Config(self._config | own), self._spark)
        engine.start()
        return engine

    def move(self) -> None:
        """Stop the server; another one goes on."""
        self.engine.stop()
        self.engine = self._start("two")

    def close(self) -> None:
        self.engine.stop()
        self.producer.close()
        session: Any = self._spark.session
        session._jvm.org.ksqlspark.ownership.Ownership.release()

    def run(self, text: str, **properties: str) -> dict[str, Any]:
        told = to_json(self.engine.execute(Request(text, properties))[-1])
        assert told.get("commandStatus", {}).get("status") != "ERROR", told
        return dict(told)

    def send(self, count: int) -> None:
        for n in range(self.count, self.count + count):
            for topic in ("events", "past"):
                self.producer.send_async(f"{PREFIX}{topic}", b"p%d" % (n % PEOPLE), b'{"N": %d}' % n)
        assert self.producer.flush() == 0
        self.count += count

    def end_of(self, topic: str) -> int:
        return sum(self.engine.services.admin.end_offsets(f"{PREFIX}{topic}").values())

    def read_by(self, sink: str) -> int:
        return sum(position["offset"] for position in self.run(f"DESCRIBE SINK {sink};")["positions"])

    def queries(self) -> list[Any]:
        return self.engine.services.queries.all()

    def committed(self) -> dict[str, bool]:
        """Whether each query has committed a batch."""
        checkpoints = self.engine.services.queries.checkpoints
        return {query.id: checkpoints.of(query, 0).committed() is not None for query in self.queries()}

    def records(self, topic: str) -> list[Record]:
        with TopicReader(self.engine.services.admin.servers, f"{PREFIX}{topic.upper()}") as reader:
            return [record for records in reader.read_to_end() for record in records]

    def rows(self, topic: str) -> list[dict[str, Any]]:
        return [json.loads(record.value) for record in self.records(topic) if record.value is not None]

    def table(self) -> dict[str, int]:
        found = latest(self.records("totals"))
        return {
            record.key.decode(): json.loads(record.value)["C"]
            for record in found.values()
            if record.key is not None and record.value is not None
        }


@pytest.fixture
def make_server(
    kafka_admin: KafkaAdmin, tmp_path: Path, spark_process: SparkProcess
) -> Iterator[Callable[..., Server]]:
    made: list[Server] = []

    def make(**config: Any) -> Server:
        shared = {
            "bootstrap.servers": kafka_admin.servers,
            "ksql.service.id": PREFIX,
            "ksql.output.topic.name.prefix": PREFIX,
            "ksql.spark.warm.up.enabled": "false",
        }
        made.append(Server(shared | config, spark_process, tmp_path))
        return made[-1]

    yield make
    for server in made:
        server.close()
    mine = (PREFIX, f"_confluent-ksql-{PREFIX}")
    kafka_admin.delete_topics(name for name in kafka_admin.topics() if name.startswith(mine))


def create(server: Server, folder: Path, **properties: str) -> None:
    """The first versions: the streams begin at the latest record."""
    server.run(ARCHIVED.format(path=folder))
    for name, (select, _) in WAYS.items():
        server.engine.execute(
            Request(f"CREATE STREAM {name} AS {select}", {"auto.offset.reset": "latest"} | properties)
        )
    server.engine.execute(Request(TABLE, {"auto.offset.reset": "earliest"} | properties))
    server.run(SINKS.format(path=folder))


def bring_into(state: str, server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create the queries, and bring them into a state; 600 records wait then."""
    launcher = server.engine.services.queries._runs._launcher
    match state:
        case "never started":
            with monkeypatch.context() as patched:
                patched.setattr(launcher, "launch", _refuse)
                create(server, folder)
                server.send(600)
                server.run("PAUSE ALL;")
        case "paused":
            with monkeypatch.context() as patched:
                # a query that has begun may commit before it is paused
                patched.setattr(launcher, "launch", _idle(launcher.launch))
                create(server, folder)
                server.run("PAUSE ALL;")
            server.send(600)
        case "killed":
            # in real time, none commits before; micro-batches do (but see the test with SIGKILL)
            create(server, folder, **{"ksql.checkpoint.interval.ms": "900000"})
            server.send(600)
            until(lambda: all(_is_begun(server, query) for query in server.queries()))
            server.engine.services.queries.fence("It is killed.")
        case "committed":
            create(server, folder)
            server.send(300)
            until(lambda: all(_has_read_all(server, query) for query in server.queries()))
            server.run("PAUSE ALL;")
            server.send(600)


def _refuse(query: Any, number: int, *_: Any) -> Any:
    raise KsqlError("QUERY_FAILED", id=query.id, reason="it may not start yet")


class _Idle:
    """A Spark query that has begun and done nothing."""

    progress = None
    recent = ()
    slots = 0
    is_active = True

    def drain(self) -> None:
        """There is nothing to finish."""

    def stop(self, timeout_s: float = 0.0) -> bool:
        return True

    def exception(self) -> None:
        return None


def _idle(launch: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *_: _Idle()


def _is_begun(server: Server, query: Any) -> bool:
    """Whether it has planned a batch, or written a row of the first one."""
    folder = server.engine.services.queries.checkpoints.of(query, 0).folder
    is_planned = any(name.isdecimal() for name in folder.sub("offsets").names())
    return is_planned or bool(server.records(query.plan.sink.name))


def _has_read_all(server: Server, query: Any) -> bool:
    queries, admin = server.engine.services.queries, server.engine.services.admin
    return queries.checkpoints.has_reached(query, 0, admin.committed_ends(*query.plan.stages[0].topics))


@pytest.mark.parametrize("is_moved", [False, True], ids=["here", "moved"])
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
@pytest.mark.parametrize("state", STATES)
def test_each_record_is_answered(
    make_server: Callable[..., Server],
    kafka_admin: KafkaAdmin,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    state: str,
    guarantee: str,
    is_moved: bool,
) -> None:
    shared = {"ksql.cluster.enabled": "true", "ksql.state.dir": str(tmp_path / "state")} if is_moved else {}
    config = {"processing.guarantee": guarantee, "ksql.checkpoint.interval.ms": "30000", **shared}
    server = make_server(**config)
    server.run(DECLARED)
    server.send(BEFORE)
    for n in range(PEOPLE):
        server.producer.send_async(f"{PREFIX}people", b"p%d" % n, b'{"NAME": "n%d"}' % n)
    server.producer.flush()
    bring_into(state, server, tmp_path, monkeypatch)
    until(lambda: server.read_by("archive") == server.end_of("past"))
    ends = server.engine.services.admin.end_offsets(f"{PREFIX}past")
    remove(kafka_admin.servers, f"{PREFIX}past", {partition: end for (_, partition), end in ends.items()})
    print(state, guarantee, server.committed())
    if state in ("never started", "paused"):
        assert not any(server.committed().values())
    if state == "committed":
        assert all(server.committed().values())
    if is_moved:
        server.move()
    for _, statements in WAYS.values():
        for statement in filter(None, statements.split("|")):
            server.run(statement)
    server.run(SWAPPED)
    server.run("RESUME ALL; RESUME SINK idle;")
    server.send(300)
    is_exact = state != "killed" or guarantee == "exactly_once_v2"
    wanted = range(BEFORE, server.count)

    def missing() -> dict[str, list[int]]:
        found = {name: {abs(row["C"]) for row in server.rows(name)} for name in WAYS}
        return {name: gone for name, there in found.items() if (gone := sorted(set(wanted) - there))}

    until(
        lambda: not missing(), lambda: ({k: (len(v), v[:3]) for k, v in missing().items()}, problems(server))
    )
    outcome: dict[str, Any] = {}
    for name in WAYS:
        rows = server.rows(name)
        counts = Counter(abs(row["C"]) for row in rows)
        outcome[name] = {
            "old": sum(row["C"] > 0 for row in rows),
            "new": sum(row["C"] < 0 for row in rows),
            "repeated": sum(counts.values()) - len(counts),
            "too early": sum(n < BEFORE for n in counts),
        }
    print("OUTCOME", json.dumps({"state": state, "guarantee": guarantee, "moved": is_moved, **outcome}))
    for name, found in outcome.items():
        assert found["too early"] == 0 and (not is_exact or found["repeated"] == 0), (name, found)
    for row in server.rows("kept_with_state") + server.rows("kept_of_archive"):
        assert row["C"] > 0 or row["BEFORE"] == -row["C"] - PEOPLE, row
    for row in server.rows("kept_join"):
        assert row["C"] > 0 or row["NAME"] == f"n{-row['C'] % PEOPLE}", row
    for sink, stream in (("lake", "KEPT"), ("idle", "KEPT_JOIN")):
        until(lambda sink=sink, stream=stream: server.read_by(sink) == server.end_of(stream))
        written = duckdb.sql(f"SELECT c FROM '{tmp_path}/{sink}/**/*.parquet'").fetchall()
        assert Counter(c for (c,) in written) == Counter(row["C"] for row in server.rows(stream))
    sums: Counter[str] = Counter()
    for n in range(server.count):
        sums[f"p{n % PEOPLE}"] += n
    until(lambda: server.table() == dict(sums), lambda: (server.table(), problems(server)))


def problems(server: Server) -> list[Any]:
    return [
        (q.id, str(q.state), q.why_failed[:200]) for q in server.queries() if q.state is not State.RUNNING
    ]


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_a_server_that_is_killed_before_the_first_commit(tmp_path: Path, guarantee: str) -> None:
    """SIGKILL of the server, the JVM and the broker; the new version is sent to the next server."""
    count = 5000
    properties = {
        "KSQL_PROCESSING_GUARANTEE": guarantee,
        "KSQL_KSQL_CHECKPOINT_INTERVAL_MS": "60000",
        "KSQL_KSQL_SPARK_WARM_UP_ENABLED": "false",
    }

    def rows(server: ServerProcess) -> list[int]:
        with TopicReader(server.bootstrap_servers(), "O") as reader:
            records = [record for records in reader.read_to_end() for record in records]
        return [json.loads(record.value)["C"] for record in records if record.value is not None]

    def planned() -> list[Path]:
        return [path for path in tmp_path.glob("checkpoints/*/0/offsets/*") if path.name.isdecimal()]

    with ServerProcess(tmp_path, environment=properties) as server:
        server.ready()
        server.execute(DECLARED)
        producer = RecordProducer(server.bootstrap_servers(), linger_ms=5)
        for n in range(count):
            producer.send_async(f"{PREFIX}events", b"p%d" % (n % PEOPLE), b'{"N": %d}' % n)
        assert producer.flush() == 0
        producer.close()
        select = f"SELECT events.who AS who, n AS c {JOINED}"
        server.execute(f"CREATE STREAM o AS {select}", **{"auto.offset.reset": "earliest"})
        until(lambda: planned() or rows(server))
        server.crash()
    committed = [path for path in tmp_path.glob("checkpoints/*/0/commits/*") if path.name.isdecimal()]
    print("OUTCOME", json.dumps({"state": "SIGKILL", "guarantee": guarantee, "commits": len(committed)}))
    with ServerProcess(tmp_path, environment=properties) as server:
        server.serving()
        new = select.replace("n AS c", "-n - 1 AS c, name")
        server.execute(f"CREATE OR REPLACE STREAM o WITH ({KEEP}) AS {new}")
        until(lambda: len({c if c >= 0 else -c - 1 for c in rows(server)}) == count)
        answered = Counter(c if c >= 0 else -c - 1 for c in rows(server))
        print("OUTCOME", json.dumps({"repeated": sum(answered.values()) - count}))
        assert guarantee == "at_least_once" or set(answered.values()) == {1}
