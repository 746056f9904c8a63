"""New versions on Kafka and Spark: each way to change a query, in each state, whatever becomes of the server.

In the end each record is answered once by a stream, by the old version or by the new one, and a table is what
its last version makes of the records. tests/statements/queries/test_positions.py has the table of states and
ways without Kafka and Spark.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.runtime.queries import differences
from ksql_spark.runtime.queries.states import State
from ksql_spark.spark.session import SparkProcess
from tests.integration.lake.archives import remove
from tests.integration.server_process import ServerProcess
from tests.waiting import until

pytestmark = pytest.mark.kafka

PREFIX = "evolve_"
#: as many keys, and as many records before the queries are created
PEOPLE, BEFORE = 12, 240
DECLARED = f"""
CREATE STREAM events (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '{PREFIX}events', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM past (who STRING KEY, n BIGINT)
  WITH (KAFKA_TOPIC = '{PREFIX}past', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE TABLE people (who STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = '{PREFIX}people', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM lone (n BIGINT) WITH (KAFKA_TOPIC = '{PREFIX}lone', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
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
FILTERED = "SELECT who, n AS c FROM events WHERE n >= 0;"


def replaced(kind: str, way: str, select: str) -> str:
    return f"CREATE OR REPLACE {kind} {{x}} {way and f'WITH ({way})'} AS {select}"


KEEP = "EVOLVE = 'backfill', HISTORY = 'keep'"
#: a stream's name -> its first version, and the steps that change it; {x} is the stream. The new version of
#: those that have one without state is told from the old one by the sign.
STREAMS = {
    "in_place": (OLD, replaced("STREAM", "", FILTERED)),
    "in_place_by_name": (
        OLD,
        replaced("STREAM", "EVOLVE = 'in-place'", FILTERED.replace("n AS c", "n AS c, n AS d")),
    ),
    "kept": (OLD, replaced("STREAM", KEEP, NEW)),
    "kept_with_state": (OLD, replaced("STREAM", KEEP, STATEFUL)),
    "kept_join": (
        f"SELECT events.who AS who, n AS c {JOINED}",
        replaced("STREAM", KEEP, f"SELECT events.who AS who, -n AS c, name {JOINED}"),
    ),
    "from_now": (OLD, replaced("STREAM", "EVOLVE = 'from-now'", NEW)),
    "from_now_with_state": (STATEFUL, replaced("STREAM", "EVOLVE = 'from-now'", STATEFUL)),
    "rolled_back": (OLD, f"{replaced('STREAM', '', FILTERED)}|ROLLBACK {{x}};"),
    "undropped": (OLD, "DROP STREAM {x};|UNDROP STREAM {x};"),
    "dropped_meanwhile": (
        OLD,
        f"{replaced('STREAM', KEEP, STATEFUL)}|DROP STREAM {{x}};|UNDROP STREAM {{x}};",
    ),
    "unchanged": (OLD, ""),
    "kept_of_archive": (
        OLD.replace("events", "archived"),
        replaced("STREAM", KEEP, STATEFUL.replace("events", "archived")),
    ),
}


class Table(NamedTuple):
    """A table that counts the records of each key, and then evolves.

    Args:
        steps: the statements that change it, or what DESCRIBE EVOLUTION shall tell before the next one.
        whole: a column -> what the last version makes of all numbers of a key.
        since: a column -> what it makes of those since the statement.
        key: SQL of the key.
        place: the key of a number.
    """

    steps: str
    whole: Mapping[str, Callable[[list[int]], int]]
    since: Mapping[str, Callable[[list[int]], int]] = {}
    key: str = "who"
    place: Callable[[int], str | None] = lambda n: f"p{n % PEOPLE}"


def person(n: int) -> str | None:
    """The key of a number in a version that leaves out each third: it never has some of the keys."""
    return f"p{n % PEOPLE}" if n % 3 else None


SUMS = "SELECT who, SUM(n) AS c FROM events WHERE n % 3 > 0 GROUP BY who;"
BESIDE = replaced("TABLE", "EVOLVE = 'backfill'", SUMS)
MANUAL = replaced("TABLE", "EVOLVE = 'backfill', SWAP = 'manual'", SUMS)
COUNTS = "SELECT who, COUNT(*) AS c FROM events GROUP BY who;"
TEAM = "'t' + CAST(n % 5 AS STRING)"
APPENDED = f"SELECT {TEAM} AS team, COUNT(*) AS c, SUM(n) AS s FROM events GROUP BY {TEAM};"
TABLES = {
    "swapped": Table(BESIDE, {"C": sum}, place=person),
    "asked": Table(f"{MANUAL}|caught up|SWAP {{x}};", {"C": sum}, place=person),
    "aborted": Table(
        f"{MANUAL}|ABORT EVOLUTION {{x}};|{MANUAL}|caught up|ABORT EVOLUTION {{x}};", {"C": len}
    ),
    "table_rolled_back": Table(f"{BESIDE}|swapped|ROLLBACK {{x}};", {"C": len}),
    "table_undropped": Table("DROP TABLE {x};|UNDROP TABLE {x};", {"C": len}),
    "appended": Table(
        replaced("TABLE", "EVOLVE = 'in-place'", APPENDED),
        {"C": len},
        {"S": sum},
        TEAM,
        lambda n: f"t{n % 5}",
    ),
    "table_from_now": Table(
        replaced("TABLE", "EVOLVE = 'from-now'", COUNTS.replace("COUNT(*)", "COUNT(n)")), {}, {"C": len}
    ),
}
#: a table that is made of one that evolves
LARGE = "CREATE TABLE large AS SELECT who, c FROM swapped WHERE c > 9 EMIT CHANGES;"


class Server:
    """A server on a broker and a JVM that others share; a second one takes over what it had."""

    def __init__(self, config: dict[str, Any], spark: SparkProcess, folder: Path) -> None:
        self._config, self._spark, self.folder = config, spark, folder
        self.engine = self.start("one")
        self.producer = RecordProducer(config["bootstrap.servers"], linger_ms=5)
        self.count = 0

    def start(self, name: str) -> Engine:
        """Start another server after this one, on a folder of its own; ``one`` is the first."""
        own = {
            "ksql.spark.data.dir": str(self.folder / name),
            "ksql.advertised.listener": f"http://{name}:8088",
        }
        self.engine = Engine(Config(self._config | own), self._spark)
        self.engine.start()
        return self.engine

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

    @contextmanager
    def arriving(self, is_so: bool) -> Iterator[None]:
        """A block in which records keep coming, if ``is_so``."""
        is_over = threading.Event()

        def send() -> None:
            while not is_over.wait(0.2):
                self.send(20)

        thread = threading.Thread(target=send)
        if is_so:
            thread.start()
        try:
            yield
        finally:
            is_over.set()
            if is_so:
                thread.join()

    def end_of(self, topic: str) -> int:
        return sum(self.engine.services.admin.end_offsets(f"{PREFIX}{topic}").values())

    def read_by(self, sink: str) -> int:
        return sum(position["offset"] for position in self.run(f"DESCRIBE SINK {sink};")["positions"])

    def queries(self) -> list[Any]:
        return self.engine.services.queries.all()

    def problems(self) -> list[Any]:
        return [
            (q.id, str(q.state), q.why_failed[:200]) for q in self.queries() if q.state is not State.RUNNING
        ]

    def committed(self) -> list[bool]:
        """Whether each query has committed a batch."""
        checkpoints = self.engine.services.queries.checkpoints
        return [checkpoints.of(query, 0).committed() is not None for query in self.queries()]

    def records(self, topic: str) -> list[Record]:
        with TopicReader(self.engine.services.admin.servers, f"{PREFIX}{topic.upper()}") as reader:
            return [record for records in reader.read_to_end() for record in records]

    def rows(self, topic: str) -> list[dict[str, Any]]:
        return [json.loads(record.value) for record in self.records(topic) if record.value is not None]

    def table(self, name: str) -> dict[str, dict[str, int]]:
        """The rows of a table by key, none of which is in two partitions."""
        found = differences.latest(self.records(name))
        rows = {(r.key or b"").decode(): json.loads(r.value) for r in found.values() if r.value is not None}
        assert len(rows) == len(found)
        return rows


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


def create(server: Server, names: list[str], **properties: str) -> None:
    """The first versions: streams begin at the latest record, tables at the earliest."""
    for name in names:
        reset = {"auto.offset.reset": "latest" if name in STREAMS else "earliest"}
        if name != "table_rolled_back":  # ROLLBACK takes the properties, too, and its backfill needs commits
            reset |= properties
        if name in STREAMS:
            server.run(f"CREATE STREAM {name} AS {STREAMS[name][0]}", **reset)
        else:
            key = TABLES[name].key
            select = f"SELECT {key} AS {'team' if key == TEAM else 'who'}, COUNT(*) AS c FROM events"
            server.run(f"CREATE TABLE {name} AS {select} GROUP BY {key};", **reset)
    server.run(LARGE, **{"auto.offset.reset": "earliest"} | properties)


def bring_into(state: str, server: Server, names: list[str], monkeypatch: pytest.MonkeyPatch) -> int | None:
    """Create the queries, bring them into a state, and let records wait.

    Returns:
        How many records tables have counted, as far as anybody knows.
    """
    launcher = server.engine.services.queries._runs._launcher

    def has_read_all(query: Any) -> bool:
        queries, admin = server.engine.services.queries, server.engine.services.admin
        return queries.checkpoints.has_reached(query, 0, admin.committed_ends(*query.plan.stages[0].topics))

    def has_begun(query: Any) -> bool:
        """Whether it has planned a batch, or written a row of the first one."""
        folder = server.engine.services.queries.checkpoints.of(query, 0).folder
        is_planned = any(name.isdecimal() for name in folder.sub("offsets").names())
        return is_planned or bool(server.records(query.plan.sink.name))

    match state:
        case "never started" | "paused":
            with monkeypatch.context() as patched:
                # a query that has begun may commit before it is paused
                patched.setattr(launcher, "launch", _refuse if state == "never started" else _idle)
                create(server, names)
                server.run("PAUSE ALL;")
            server.send(600)
            assert not any(server.committed())
            return 0
        case "killed":
            # in real time, none commits before; micro-batches do (but see the test with SIGKILL)
            create(server, names, **{"ksql.checkpoint.interval.ms": "900000"})
            server.send(600)
            until(lambda: all(map(has_begun, server.queries())))
            server.engine.services.queries.fence("It is killed.")
            return None
        case "committed":
            create(server, names)
            server.send(300)
            until(lambda: all(map(has_read_all, server.queries())))
            count = server.count
            server.run("PAUSE ALL;")
            server.send(600)
            return count
    create(server, names)
    server.send(300)
    until(lambda: len(server.rows("unchanged")) == 300, server.problems)
    return None


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


def _idle(*_: Any) -> Any:
    return _Idle()


FEW = ["unchanged", "kept", "kept_with_state", "swapped", "asked", "appended"]
ALL = [*STREAMS, *TABLES]


@pytest.mark.parametrize(
    ("state", "guarantee", "then", "names"),
    [
        pytest.param("running", "at_least_once", "restarted", FEW, id="a few, while records arrive"),
        *(
            pytest.param(*row, marks=pytest.mark.long, id=", ".join(row[:3]))
            for row in (
                ("running", "exactly_once_v2", "restarted", FEW),
                ("never started", "at_least_once", "moved", ALL),
                ("paused", "exactly_once_v2", "here", ALL),
                ("killed", "at_least_once", "here", ALL),
                ("killed", "exactly_once_v2", "moved", ALL),
                ("committed", "at_least_once", "killed", ALL),
                ("committed", "exactly_once_v2", "restarted", ALL),
            )
        ),
    ],
)
def test_each_record_is_answered(
    make_server: Callable[..., Server],
    kafka_admin: KafkaAdmin,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    state: str,
    guarantee: str,
    then: str,
    names: list[str],
) -> None:
    is_moved, has_archive = then == "moved", "kept_of_archive" in names
    shared = {"ksql.cluster.enabled": "true", "ksql.state.dir": str(tmp_path / "state")} if is_moved else {}
    config = {"processing.guarantee": guarantee, "ksql.checkpoint.interval.ms": "5000", **shared}
    server = make_server(**config)
    server.run(DECLARED + (ARCHIVED.format(path=tmp_path) if has_archive else ""))
    server.send(BEFORE)
    for n in range(PEOPLE):
        server.producer.send_async(f"{PREFIX}people", b"p%d" % n, b'{"NAME": "n%d"}' % n)
    server.producer.flush()
    since = bring_into(state, server, names, monkeypatch)
    if has_archive:
        server.run(SINKS.format(path=tmp_path))
        until(lambda: server.read_by("archive") == server.end_of("past"))
        ends = kafka_admin.end_offsets(f"{PREFIX}past")
        remove(kafka_admin.servers, f"{PREFIX}past", {partition: end for (_, partition), end in ends.items()})
    if is_moved:
        server.engine.stop()
        server.start("two")

    steps = {name: (STREAMS[name][1] if name in STREAMS else TABLES[name].steps).split("|") for name in names}
    with server.arriving(state == "running"):
        for number, step in enumerate(zip_longest(*steps.values(), fillvalue="")):
            for name, statement in zip(steps, step, strict=True):
                take(server, name, statement)
            if number == 0 and then in ("restarted", "killed"):
                if then == "killed":
                    server.engine.services.queries.fence("It is killed.")
                server.engine.stop()
                server.start("one")
    server.run("RESUME ALL;")
    if has_archive:
        server.run("RESUME SINK idle;")
    server.send(300)
    check(server, names, since, is_exact=guarantee == "exactly_once_v2" or "killed" not in (state, then))
    server.run("DROP STREAM lone;")
    kafka_admin.delete_topics([f"{PREFIX}lone"])
    kafka_admin.create_topic(f"{PREFIX}lone")
    with pytest.raises(KsqlError, match="was deleted and recreated since the DROP"):
        server.run("UNDROP STREAM lone;")
    if since:
        # a rebuild computes what was appended from all that the topic has
        (query,) = (query for query in server.queries() if query.plan.sink.name == "APPENDED")
        server.engine.services.queries.rebuild(query)
        until_table(server, "appended", 0)


def take(server: Server, name: str, step: str) -> None:
    """Execute a statement of a way, or wait until its new version is so far."""
    if step.endswith(";"):
        server.run(step.format(x=name))
    elif step:
        until(
            lambda: server.run(f"DESCRIBE EVOLUTION {name};")["state"] == step,
            lambda: (server.run(f"DESCRIBE EVOLUTION {name};"), server.problems()),
        )


def check(server: Server, names: list[str], since: int | None, *, is_exact: bool) -> None:
    """Wait until all records are answered, and compare the answers.

    Args:
        server: that which has the queries.
        names: the streams and tables.
        since: the number of the first record that came after the statements; None: nobody knows.
        is_exact: whether no record may be answered twice.
    """
    wanted = set(range(BEFORE, server.count))

    def answers(name: str) -> Counter[int]:
        return Counter(abs(row["C"]) for row in server.rows(name))

    for name in STREAMS.keys() & set(names):
        until(
            lambda name=name: server.end_of(name.upper()) >= len(wanted) and answers(name).keys() >= wanted,  # type: ignore[misc]
            lambda name=name: (name, sorted(wanted - answers(name).keys())[:5], server.problems()),  # type: ignore[misc]
        )
        found = answers(name)
        assert found.keys() == wanted, (name, min(found))
        assert not is_exact or set(found.values()) == {1}, (name, found.most_common(3))
        if name.startswith("kept"):  # others may begin without the state of the records before
            new = [row for row in server.rows(name) if row["C"] < 0]
            assert new and all(row.get("BEFORE", -row["C"] - PEOPLE) == -row["C"] - PEOPLE for row in new), (
                name
            )
            assert all(row.get("NAME", f"n{-row['C'] % PEOPLE}") == f"n{-row['C'] % PEOPLE}" for row in new)
    for name in TABLES.keys() & set(names):
        until_table(server, name, since)
    large = {key: row for key, row in truth(TABLES["swapped"], server.count, since).items() if row["C"] > 9}
    until(lambda: server.table("large") == large, lambda: (server.table("large"), large, server.problems()))
    for sink, stream in (("lake", "KEPT"), ("idle", "KEPT_JOIN")) if "kept_of_archive" in names else ():
        until(lambda sink=sink, stream=stream: server.read_by(sink) == server.end_of(stream))  # type: ignore[misc]
        written = duckdb.sql(f"SELECT c FROM '{server.folder}/{sink}/**/*.parquet'").fetchall()
        assert Counter(c for (c,) in written) == Counter(row["C"] for row in server.rows(stream))


def truth(table: Table, count: int, since: int | None) -> dict[str, dict[str, int]]:
    """The rows of a table after so many records, as far as they are known."""
    numbers: dict[str, list[int]] = {}
    for n in range(count):
        key = table.place(n)
        if key is not None:
            numbers.setdefault(key, []).append(n)
    rows = {key: {name: call(ns) for name, call in table.whole.items()} for key, ns in numbers.items()}
    if since is not None:
        for key, row in rows.items():
            later = [n for n in numbers[key] if n >= since]
            row |= {name: call(later) for name, call in table.since.items()}
    return rows


def until_table(server: Server, name: str, since: int | None) -> None:
    """Wait until a table is as it must be, in the columns of which that is known."""
    wanted = truth(TABLES[name], server.count, since)

    def found() -> dict[str, dict[str, int]]:
        known = {column for row in wanted.values() for column in row}
        return {
            key: {column: row[column] for column in known & row.keys()}
            for key, row in server.table(name).items()
        }

    until(lambda: found() == wanted, lambda: (name, found(), wanted, server.problems()))


@pytest.mark.long
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_servers_that_are_killed_before_the_first_commit(tmp_path: Path, guarantee: str) -> None:
    """SIGKILL of the server, the JVM and the broker; the second of three begins new versions."""
    count = 5000
    properties = {
        "KSQL_PROCESSING_GUARANTEE": guarantee,
        "KSQL_KSQL_CHECKPOINT_INTERVAL_MS": "60000",
        "KSQL_KSQL_SPARK_WARM_UP_ENABLED": "false",
    }

    def records(server: ServerProcess, topic: str) -> list[Record]:
        with TopicReader(server.bootstrap_servers(), topic) as reader:
            return [record for records in reader.read_to_end() for record in records]

    def answered(server: ServerProcess) -> Counter[int]:
        found = [json.loads(record.value)["C"] for record in records(server, "O") if record.value is not None]
        return Counter(c if c >= 0 else -c - 1 for c in found)

    def counted(server: ServerProcess) -> int:
        rows = differences.latest(records(server, "T")).values()
        return sum(json.loads(row.value)["C"] for row in rows if row.value is not None)

    def planned() -> list[Path]:
        return [path for path in tmp_path.glob("checkpoints/*/0/offsets/*") if path.name.isdecimal()]

    earliest = {"auto.offset.reset": "earliest"}
    select = f"SELECT events.who AS who, n AS c {JOINED}"
    with ServerProcess(tmp_path, environment=properties) as server:
        server.ready()
        server.execute(DECLARED)
        producer = RecordProducer(server.bootstrap_servers(), linger_ms=5)
        for n in range(count):
            producer.send_async(f"{PREFIX}events", b"p%d" % (n % PEOPLE), b'{"N": %d}' % n)
        assert producer.flush() == 0
        producer.close()
        server.execute(f"CREATE STREAM o AS {select}", **earliest)
        server.execute(f"CREATE TABLE t AS {APPENDED.replace(', SUM(n) AS s', '')}", **earliest)
        until(lambda: planned() or records(server, "O"))
        server.crash()
    with ServerProcess(tmp_path, environment=properties) as server:
        server.serving()
        new = select.replace("n AS c", "-n - 1 AS c, name")
        server.execute(f"CREATE OR REPLACE STREAM o WITH ({KEEP}) AS {new}")
        server.execute(f"CREATE OR REPLACE TABLE t WITH (EVOLVE = 'in-place') AS {APPENDED}")
        server.crash()
    with ServerProcess(tmp_path, environment=properties) as server:
        server.serving()
        until(lambda: len(answered(server)) == count and counted(server) == count)
        assert guarantee == "at_least_once" or set(answered(server).values()) == {1}
