"""The faults, one function each, which leaves the run with a server that should recover."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import psutil
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.producer import RecordProducer
from tests.faults.activities import ACTIVITIES, Activity, PostgresClients
from tests.faults.places import Clock, MemoryGroup, ProxiedBroker, Proxy, SmallDisk
from tests.faults.scene import (
    BRIEF,
    FUNCTIONS,
    FURTHER,
    GROUPS,
    KEPT,
    KEYS,
    LINES,
    SCHEMAS,
    TIMES,
    Scene,
    statements,
)
from tests.integration.server_process import ServerProcess
from tests.registry_server import RegistryServer
from tests.waiting import TIMEOUT_S, until

#: how long a process is frozen, seconds
FROZEN_S = 20.0
#: how many clients read nothing, and how much memory the server may need for them, bytes
SLOW_CLIENTS, MAX_SLOW_BYTES = 50, 300_000_000
#: how long it may take until a fault is noticed, seconds
NOTICE_S = 30.0


#: lines of the server's log that tell what became of the queries
_CHANGES = re.compile(r"audit: .*(?:CREATE|DROP|SWAP|ABORT|ROLLBACK)|->|swap|evol|backfill", re.IGNORECASE)


class Run:
    """A server, its broker and the scene on it.

    Args:
        folder: for all data.
        numbers: what everything that is random comes from.
        faults: the names of those that will be tried.
        properties: of the server.
        partitions: of the topics of each set of queries.
        environment: of the server.
    """

    def __init__(
        self,
        folder: Path,
        numbers: random.Random,
        faults: Collection[str],
        properties: str,
        partitions: Sequence[int],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.numbers = numbers
        self.exactly_once = "exactly_once_v2" in properties
        self._environment = environment
        #: queries whose state was rebuilt: their streams repeat everything
        self.has_rebuilt = False
        #: whether there is a schema that is compatible with no other
        self.has_other_schema = False
        #: the file that was damaged, and what there is to say
        self.damaged, self.said = "", ""
        #: seconds until /healthcheck said that something is wrong, where a fault waits for that
        self.noticed_s: float | None = None
        #: why activities did not come to their end, and what clients were told that is wrong
        self.stuck: list[str] = []
        self.misled: list[str] = []
        self.data_dir = folder / "data"
        self._properties = folder / "server.properties"
        with contextlib.ExitStack() as ends:
            self._start(folder, faults, properties, ends)
            parts = sorted({part for fault, part in FURTHER_OF.items() if fault in faults})
            self.scene = Scene(self.servers, parts, partitions, folder)
            ends.callback(self.scene.close)
            #: by the fault that is aimed at each
            self.activities: dict[str, Activity] = {}
            if not ACTIVITIES.keys().isdisjoint(faults):
                self.activities = {name: kind(self) for name, kind in ACTIVITIES.items()}
                self.scene.also = [each.compare for each in self.activities.values()]
            self._ends = ends.pop_all()

    def _start(
        self, folder: Path, faults: Collection[str], properties: str, ends: contextlib.ExitStack
    ) -> None:
        """Start everything; what ends it goes to ``ends``."""
        self.memory: MemoryGroup | None = None
        if memory_exceeded.__name__ in faults:
            self.memory = MemoryGroup()
            ends.callback(self.memory.close)
        self.disk: SmallDisk | None = None
        has_activities = not ACTIVITIES.keys().isdisjoint(faults)
        if disk_full.__name__ in faults or (has_activities and SmallDisk.is_possible()):
            self.disk = SmallDisk(self.data_dir)
            ends.callback(self.disk.close)
        is_timed = clock_jumped.__name__ in faults or (has_activities and Clock.is_possible())
        self.clock = Clock(folder) if is_timed else None
        self.registry: Proxy | None = None
        if registry_away.__name__ in faults:
            registry = ends.enter_context(RegistryServer())
            self.registry = Proxy(int(registry.url.rpartition(":")[2]))
            self.registry.start()
            ends.callback(self.registry.close)
            properties += f"\nksql.schema.registry.url=http://{self.registry.address}\n"
        self._properties.write_text(
            # a registry may be started while a statement is planned, and the machine may be slow
            "ksql.query.retry.backoff.initial.ms=1000\nksql.create.function.enabled=true\n"
            f"ksql.statement.timeout.ms=600000\n{properties}",
            encoding="utf-8",
        )
        #: None: the server has its own
        self._broker: ProxiedBroker | None = None
        if own_broker_killed.__name__ not in faults:
            self._broker = ProxiedBroker(folder / "kafka")
            ends.callback(self._broker.close)
            self._broker.start()
        self.server = self._begun_server()
        ends.callback(self._end_server)
        self.server.ready()

    @property
    def broker(self) -> ProxiedBroker:
        """The broker beside the server."""
        assert self._broker is not None
        return self._broker

    @property
    def servers(self) -> str:
        """Kafka's address for those who are not the server."""
        return self.server.bootstrap_servers() if self._broker is None else self._broker.bootstrap_servers

    def begin_server(self) -> None:
        """Start the server again, and wait for nothing."""
        self._forget_server()
        self.server = self._begun_server()

    def _begun_server(self) -> ServerProcess:
        options = ["--properties", str(self._properties), "--pg-listen", "127.0.0.1:0"]
        if self._broker is not None:
            options += ["--bootstrap-servers", self._broker.proxy.address]
        environment = {**self._environment, **(self.clock.environment if self.clock is not None else {})}
        server = ServerProcess(self.data_dir, *options, environment=environment)
        if self.memory is not None:
            self.memory.add(server.process.pid)
        return server

    def start_server(self) -> None:
        """Start the server again."""
        self.begin_server()
        self.server.ready()

    def _forget_server(self) -> None:
        """Read the output of a server that has ended."""
        with contextlib.suppress(ValueError):  # it was read to the end
            self.server.process.communicate()

    def jvm(self) -> int:
        """The process id of Spark's JVM."""
        return self.processes("SparkSubmit")[0]

    def processes(self, word: str) -> list[int]:
        """The ids of the server's processes whose command line has a word.

        Raises:
            LookupError: there is none.
        """
        pids = []
        for pid in self.server.pids():
            with contextlib.suppress(OSError):
                if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    pids.append(pid)
        if not pids:
            raise LookupError(f"no process has {word}")
        return pids

    def make(self) -> None:
        """Create the queries, and what the activities need."""

        def execute(text: str) -> None:
            self.server.execute(text, **{"auto.offset.reset": "earliest"})

        self.scene.make(execute)
        for each in self.activities.values():
            each.make(execute)

    def stopped(self) -> list[str]:
        """The queries and sinks that do not run."""
        (queries,) = self.server.execute("SHOW QUERIES;")
        (sinks,) = self.server.execute("SHOW SINKS;")
        shown = [(query["id"], query["state"]) for query in queries["queries"]]
        shown += [(sink["name"], sink["state"]) for sink in sinks["sinks"]]
        return [f"{name} {state}" for name, state in shown if state != "RUNNING"]

    def rebuild(self) -> None:
        """Rebuild the queries that say that their state cannot be read."""
        reasons = self.health().get("details", {}).get("queries", {}).get("reasons", {})
        for query_id, why in reasons.items():
            if "state rebuild" in why:
                self.said, self.has_rebuilt = str(reasons), True
                body = {"queryId": query_id}
                answer = httpx.post(f"{self.server.url}/state/rebuild", json=body, timeout=TIMEOUT_S)
                assert answer.status_code == 200, answer.text

    def leaves(self) -> list[str]:
        """What is left once all queries were ended, and the server: topics, checkpoints and processes."""
        self.server.execute("TERMINATE ALL;")
        leftovers = [name for name in _topics(self) if "query_" in name or "transient_" in name]
        leftovers += [str(path) for path in (self.data_dir / "checkpoints").glob("*")]
        _stop(self)
        return leftovers + [f"process {pid}" for pid in self.server.pids()]

    def health(self) -> dict[str, Any]:
        """The body of GET /healthcheck; unhealthy where it does not answer."""
        try:
            answer = httpx.get(f"{self.server.url}/healthcheck", timeout=10)
            body: dict[str, Any] = answer.json()
        except (httpx.HTTPError, ValueError):
            return {"isHealthy": False, "details": {}}
        return body if "isHealthy" in body else {"isHealthy": False, "details": {}}

    def await_notice(self) -> None:
        """Wait until /healthcheck says that something is wrong; note how long that took.

        Raises:
            AssertionError: it never does.
        """
        began = time.monotonic()
        while self.health()["isHealthy"]:
            assert time.monotonic() < began + NOTICE_S, "nobody noticed"
        self.noticed_s = round(time.monotonic() - began, 2)

    def diagnosis(self) -> str:
        """What may say why a server does not recover."""
        texts = [str(self.health())]
        if (code := self.server.process.poll()) is not None:
            texts.append(f"the server has ended with {code}: {self.server.process.communicate()}")
        with contextlib.suppress(AssertionError, httpx.HTTPError):
            (shown,) = self.server.execute("SHOW QUERIES;")
            texts += [
                f"{query['id']} {query['state']} {query.get('error', '')}" for query in shown["queries"]
            ]
        for name in ("logs/server.log", "spark/spark.log", "spark/spark.out"):
            file = self.data_dir / name
            if file.exists():
                lines = file.read_text().splitlines(keepends=True)
                changes = [line for line in lines[:-60] if _CHANGES.search(line)]
                texts.append(f"---- {name}\n{''.join(changes)}----\n{''.join(lines[-60:])}")
        with contextlib.suppress(OSError, LookupError):
            command = ["jstack", str(self.jvm())]
            texts.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        return "\n".join(texts)

    def close(self) -> None:
        """End everything, the others too if one cannot be ended."""
        self._ends.close()

    def _end_server(self) -> None:
        self.server.crash()
        self._forget_server()


def _freeze(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(FROZEN_S)
    os.kill(pid, signal.SIGCONT)


def jvm_killed(run: Run) -> None:
    """kill -9 of Spark's JVM."""
    os.kill(run.jvm(), signal.SIGKILL)
    run.await_notice()


def jvm_frozen(run: Run) -> None:
    """SIGSTOP of Spark's JVM for 20 s."""
    _freeze(run.jvm())


def server_killed(run: Run) -> None:
    """kill -9 of the server and all its processes, then a restart."""
    run.server.crash()
    run.start_server()


def server_alone_killed(run: Run) -> None:
    """kill -9 of only the server's Python process, then a restart."""
    run.server.process.kill()
    run.server.process.wait()
    run.start_server()


def server_stopped(run: Run) -> None:
    """A planned stop of the server, then a restart."""
    _stop(run)
    run.start_server()


def server_frozen(run: Run) -> None:
    """SIGSTOP of the server's Python for 20 s."""
    _freeze(run.server.process.pid)


def broker_killed(run: Run) -> None:
    """kill -9 of the broker; it restarts after 2 s."""
    pid = run.broker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    time.sleep(2)
    run.broker.stop()
    run.broker.start()


def broker_restarted(run: Run) -> None:
    """A planned restart of the broker."""
    run.broker.stop()
    run.broker.start()


def broker_frozen(run: Run) -> None:
    """SIGSTOP of the broker for 20 s."""
    pid = run.broker.pid
    assert pid is not None
    _freeze(pid)


def queries_paused(run: Run) -> None:
    """PAUSE and RESUME of all queries."""
    run.server.execute("PAUSE ALL;")
    run.server.execute("RESUME ALL;")


def worker_killed(run: Run) -> None:
    """kill -9 of the processes that run Python functions."""
    with contextlib.suppress(LookupError):  # there is none where no record came yet
        for pid in run.processes("udf_worker"):
            os.kill(pid, signal.SIGKILL)


def registry_killed(run: Run) -> None:
    """kill -9 of the embedded schema registry, then of Spark's JVM, which caches the schemas."""
    for pid in run.processes("quarkus-run.jar"):
        os.kill(pid, signal.SIGKILL)
    jvm_killed(run)


def network_cut(run: Run) -> None:
    """No network traffic between the server and the broker for 20 s."""
    with run.broker.proxy.cut():
        time.sleep(FROZEN_S)


def disk_full(run: Run) -> None:
    """The disk with the data folder is full for 20 s."""
    assert run.disk is not None
    with run.disk.full():
        run.scene.send(50)
        time.sleep(FROZEN_S)


def clock_jumped(run: Run) -> None:
    """The server's wall clock jumps an hour ahead, or back, and again after 5 s."""
    assert run.clock is not None
    run.clock.set(run.numbers.choice((-3600, 3600)))
    run.scene.send(50)
    time.sleep(5)
    run.clock.set(0)


def garbage(run: Run) -> None:
    """Unreadable input records: not JSON, truncated, wrong types, deeply nested, binary."""
    for value in (
        b"garbage{", b"", b"\xff\xfe\x00", b'{"ID": 1, "V"', b'{"ID": "x", "V": 1}', b"[" * 5000,
        b'{"ID": 1, "V": 1e999999999}', b'{"ID": 99999999999999999999, "V": 1}',
        run.numbers.randbytes(1000),
    ):  # fmt: skip
        run.scene.spoil(value)


def tombstones(run: Run) -> None:
    """A million tombstones on tables that are joined."""
    run.scene.bury(1_000_000 // len(run.scene.partitions))


def big_statement(run: Run) -> None:
    """A statement of 50 MB, which is rejected."""
    body = b'{"ksql": "SELECT ' + b"1, " * 17_000_000 + b'1;"}'
    try:
        answer = httpx.post(f"{run.server.url}/ksql", content=body, timeout=TIMEOUT_S)
    except httpx.HTTPError:
        return  # it may close the connection while we send
    assert 400 <= answer.status_code < 500, answer.status_code


def _address(run: Run) -> tuple[str, int]:
    host, port = run.server.url.removeprefix("http://").split(":")
    return host, int(port)


def connections(run: Run) -> None:
    """10,000 silent connections for 3 s."""
    opened = []
    try:
        for _ in range(10_000):
            try:
                opened.append(socket.create_connection(_address(run), timeout=2))
            except OSError:
                break
        time.sleep(3)
    finally:
        for each in opened:
            each.close()


def slow_loris(run: Run) -> None:
    """200 requests that send a header byte every 0.5 s, and one with an endless body, for 5 s."""
    slow = [socket.create_connection(_address(run), timeout=5) for _ in range(200)]
    endless = socket.create_connection(_address(run), timeout=5)
    try:
        endless.sendall(b"POST /ksql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n")
        end = time.monotonic() + 5
        while time.monotonic() < end:
            for each in (*slow, endless):
                try:
                    each.sendall(b"G")
                except OSError:
                    continue
            time.sleep(0.5)
    finally:
        for each in (*slow, endless):
            each.close()


def command_log_garbage(run: Run) -> None:
    """Invalid records in the command topic, then a restart of the server."""
    producer = RecordProducer(run.servers)
    (topic,) = (t for t in _topics(run) if t.endswith("_command_topic"))
    for value in (b"garbage{", None, b'{"version": 1}', run.numbers.randbytes(200)):
        producer.send(topic, None, value)
    producer.close()
    server_stopped(run)


def _topics(run: Run) -> list[str]:
    return list(KafkaAdmin(run.servers).topics())


def _damaged(run: Run, damage: Callable[[Run, Path], None], pattern: str) -> None:
    """Stop the server, damage a file of a checkpoint, start it; what says that it is damaged is rebuilt."""
    _stop(run)
    files = [
        path
        for path in sorted((run.data_dir / "checkpoints").glob(pattern))
        if path.is_file() and path.stat().st_size > 0
    ]
    # Spark reads the latest: one of the five youngest of a query
    query = run.numbers.choice(
        sorted({path.relative_to(run.data_dir / "checkpoints").parts[0] for path in files})
    )
    own = sorted((p for p in files if query in p.parts), key=lambda path: path.stat().st_mtime)[-5:]
    chosen = run.numbers.choice(own)
    damage(run, chosen)
    run.damaged = str(chosen.relative_to(run.data_dir))
    run.start_server()


def _stop(run: Run) -> None:
    code, out, err = run.server.stop()
    if (code, err) != (0, ""):
        raise AssertionError(f"the server ended with {code}: {err or out}")


def _flip(run: Run, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(8):
        data[run.numbers.randrange(len(data))] ^= 1 << run.numbers.randrange(8)
    path.write_bytes(data)


def _truncate(run: Run, path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def state_flipped(run: Run) -> None:
    """Eight flipped bits in a file of a query's state."""
    _damaged(run, _flip, "*/*/state/**/*")


def state_truncated(run: Run) -> None:
    """A file of a query's state cut in half."""
    _damaged(run, _truncate, "*/*/state/**/*")


def offsets_truncated(run: Run) -> None:
    """A file of the offsets of a query cut in half."""
    _damaged(run, _truncate, "*/*/offsets/*")


def offsets_flipped(run: Run) -> None:
    """Eight flipped bits in a file of the offsets of a query."""
    _damaged(run, _flip, "*/*/offsets/*")


def views_damaged(run: Run) -> None:
    """kill -9 of the server, its views overwritten, then a restart."""
    run.server.crash()
    folder = run.data_dir / "views"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "0.db").write_bytes(run.numbers.randbytes(10_000))
    run.start_server()


def partitions_added(run: Run) -> None:
    """Partitions are added to all input topics; queries that stop are rebuilt."""
    run.scene.flush()
    admin = AdminClient({"bootstrap.servers": run.servers, "log_level": 0})
    there = admin.list_topics(timeout=TIMEOUT_S).topics
    new_partitions = [
        NewPartitions(name, len(there[name].partitions) + run.numbers.randint(1, 3))
        for name in run.scene.inputs_of_all
    ]
    for done in admin.create_partitions(new_partitions).values():
        done.result(TIMEOUT_S)
    run.scene.reconnect()  # so that keys move at once
    run.damaged = "partitions"


def slow_clients(run: Run) -> None:
    """50 push clients that start from the beginning and read nothing, for 5 s."""
    process = psutil.Process(run.server.process.pid)
    before = process.memory_info().rss
    with contextlib.ExitStack() as clients:
        for number in range(SLOW_CLIENTS):
            text = f"SELECT * FROM s{run.scene.partitions[number % len(run.scene.partitions)]} EMIT CHANGES;"
            sock = clients.enter_context(socket.create_connection(_address(run)))
            sock.sendall(_push_request(text, "earliest"))
        run.scene.send(100)
        time.sleep(5)
        assert process.memory_info().rss - before < MAX_SLOW_BYTES


def own_broker_killed(run: Run) -> None:
    """kill -9 of the embedded broker, which the server restarts."""
    (pid,) = (pid for pid in run.processes("kafka.Kafka") if not _is_shell(pid))
    os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    until(lambda: not Path(f"/proc/{pid}").exists())
    admin = KafkaAdmin(run.servers, timeout_s=2)
    until(lambda: _answers(admin))
    run.said = f"Kafka answered after {time.monotonic() - began:.1f} s"


def _is_shell(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"/bin/sh")


def _answers(admin: KafkaAdmin) -> bool:
    try:
        admin.cluster_id()
    except KsqlError:
        return False
    return True


def memory_exceeded(run: Run) -> None:
    """The server reaches the limit of its cgroup's memory, and the kernel kills the largest process."""
    assert run.memory is not None
    before = set(run.server.pids())
    with run.memory.exceeded():
        run.said = f"{len(before - set(run.server.pids()))} killed"
    if run.server.process.poll() is not None:
        run.server.crash()
        run.start_server()


def negative_times(run: Run) -> None:
    """Records with negative event times among the others; then kill -9 of Spark's JVM, or nothing."""
    for number in (-1, -run.numbers.randrange(1, 1 << 62), -(1 << 63)):
        for key in KEYS:
            run.scene.spoil(b'{"ID": %d, "V": 1}' % number, key.encode(), "timed")
        run.scene.send(20)
    if run.numbers.random() < 0.5:
        jvm_killed(run)


def compacted(run: Run) -> None:
    """Tables' topics are compacted while queries read them or are paused, or while the server is down."""
    admin = AdminClient({"bootstrap.servers": run.servers, "log_level": 0})
    topics = [f"{name}{n}" for n in run.scene.partitions for name in ("names", "SUMS", "DIGITS")]
    at_once = {
        "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "100",
        "segment.bytes": "1048576", "max.compaction.lag.ms": "100", "delete.retention.ms": "0",
    }  # fmt: skip
    settings = [(ResourceType.TOPIC, name, at_once) for name in topics]
    settings.append((ResourceType.BROKER, "1", {"log.cleaner.backoff.ms": "200"}))
    for kind, name, values in settings:
        resource = ConfigResource(kind, name)
        for key, value in values.items():
            resource.add_incremental_config(
                ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
            )
        for done in admin.incremental_alter_configs([resource]).values():
            done.result(TIMEOUT_S)
    how = run.numbers.choice(("running", "paused", "away"))
    readers = [q for name in ("ODD", "NAMED", "LINKED", "JOINED") for q in _queries(run, name)]
    if how == "paused":
        run.server.execute("".join(f"PAUSE {query};" for query in readers))
    elif how == "away":
        run.server.crash()
    begun = {name: run.scene.count(name) for name in topics}

    def is_compacted() -> bool:
        # Kafka ends a segment by its size, or by the times of its records, and names are all as old
        run.scene.name_again(padding=50_000)
        run.scene.send(20)
        run.scene.flush()
        changing = [name for name in topics if how != "away" or name.startswith("names")]
        return all(run.scene.gaps(name) > begun[name] / 2 for name in changing)

    until(is_compacted)
    if how == "paused":
        run.server.execute("".join(f"RESUME {query};" for query in readers))
    elif how == "away":
        run.start_server()
    else:
        jvm_killed(run)
    run.said = f"{how}; {sum(run.scene.gaps(name) for name in topics)} records removed"


def _queries(run: Run, sink: str) -> list[str]:
    """The queries that write the streams or tables of this name."""
    (shown,) = run.server.execute("SHOW QUERIES;")
    sinks = {f"{sink}{n}" for n in run.scene.partitions}
    return [query["id"] for query in shown["queries"] if sinks & set(query["sinks"])]


#: what has nothing in common with our schemas
_OTHER = {
    "type": "record",
    "name": "Other",
    "fields": [{"name": "ID", "type": {"type": "array", "items": "string"}}],
}


def schemas_changed(run: Run) -> None:
    """An incompatible schema, and records with it, on the subject that a query writes; a restart, or none."""
    port = (run.data_dir / "registry" / "registry.port").read_text().strip()
    url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    body = {"schema": json.dumps(_OTHER)}
    producer = RecordProducer(run.servers)
    for n in run.scene.partitions:
        subject = f"AVRO{n}-value"
        refused = httpx.post(f"{url}/subjects/{subject}/versions", json=body, timeout=TIMEOUT_S)
        assert run.has_other_schema or refused.status_code == 409, refused.text
        _put(f"{url}/config/{subject}", "NONE")
        response = httpx.post(f"{url}/subjects/{subject}/versions", json=body, timeout=TIMEOUT_S)
        assert response.status_code == 200, response.text
        schema_id = response.json()["id"].to_bytes(4)
        for _ in range(3):  # an array of one text
            producer.send(f"AVRO{n}", b"k0", b"\0" + schema_id + b"\x02\x02x\x00")
    run.has_other_schema = True
    run.scene.send(50)
    how = run.numbers.choice(("running", "Spark", "server"))
    if how == "Spark":
        jvm_killed(run)
    elif how == "server":
        server_killed(run)
    for n in run.scene.partitions:
        _put(f"{url}/config/AVRO{n}-value", "BACKWARD")
    producer.close()
    run.said = how


def _put(url: str, compatibility: str) -> None:
    answer = httpx.put(url, json={"compatibility": compatibility}, timeout=TIMEOUT_S)
    assert answer.status_code == 200, answer.text


def registry_away(run: Run) -> None:
    """The registry refuses connections or does not respond while the server starts and for 20 s more."""
    assert run.registry is not None
    how = run.numbers.choice(("refuses", "is silent"))
    run.server.crash()
    with run.registry.refusing() if how == "refuses" else run.registry.cut():
        run.begin_server()
        run.server.serving()
        run.scene.send(50)
        time.sleep(FROZEN_S)
    run.server.until("complete: ")
    run.said = how


def terminated(run: Run) -> None:
    """TERMINATE of queries, directly followed by a crash, a stop or nothing, then the same queries again."""
    names = ("BRIEF", "AGAIN")
    ended = [query for name in names for query in _queries(run, name)]
    run.server.execute("".join(f"TERMINATE {query};" for query in ended))
    how = run.numbers.choice((server_killed, server_alone_killed, server_stopped, None))
    if how is not None:
        how(run)
    remaining = [query for name in names for query in _queries(run, name)]
    assert not remaining, remaining
    kinds = dict(zip(names, ("STREAM", "TABLE"), strict=True))
    sources = [(kind, f"{name}{n}") for n in run.scene.partitions for name, kind in kinds.items()]
    text = "".join(f"DROP {kind} {name} DELETE TOPIC;\n" for kind, name in sources)
    text += "".join(FURTHER[BRIEF].format(n=n) for n in run.scene.partitions)
    for statement in statements(text):
        run.server.execute(statement, **{"auto.offset.reset": "earliest"})
    for _, name in sources:
        run.scene.forget(name)
    run.said = how.__name__ if how is not None else "no restart"


def connect_killed(run: Run) -> None:
    """kill -9 of the Connect worker, which reads a file for a query and writes the results into another."""
    for pid in run.processes("org.apache.kafka.connect.cli"):
        os.kill(pid, signal.SIGKILL)
    run.scene.send(50)


def clients_come_and_go(run: Run) -> None:
    """20 push clients at a time that read a little or nothing and disconnect, for 15 s."""
    process = psutil.Process(run.server.process.pid)
    before = process.memory_info().rss
    end = time.monotonic() + 15
    seeds = [run.numbers.random() for _ in range(20)]
    with ThreadPoolExecutor(len(seeds)) as threads:
        clients = [threads.submit(_come_and_go, run, random.Random(seed), end) for seed in seeds]
        while time.monotonic() < end:
            run.scene.send(20)
    came = sum(client.result() for client in clients)
    until(lambda: not any(query["queryType"] == "PUSH" for query in _shown(run)))
    grown = process.memory_info().rss - before
    assert grown < MAX_SLOW_BYTES, grown
    run.said = f"{came} clients, {grown / 1e6:+.0f} MB"


def _shown(run: Run) -> list[dict[str, Any]]:
    (shown,) = run.server.execute("SHOW QUERIES;")
    return list(shown["queries"])


def _come_and_go(run: Run, numbers: random.Random, end: float) -> int:
    """Be one client after the other; how many."""
    came = 0
    while time.monotonic() < end:
        n = numbers.choice(run.scene.partitions)
        text = numbers.choice(
            (
                f"SELECT * FROM s{n} EMIT CHANGES;",
                f"SELECT k, v + {numbers.randrange(3)} AS w FROM s{n} EMIT CHANGES;",
                f"SELECT * FROM sums{n} EMIT CHANGES;",
                f"SELECT k, COUNT(*) AS n FROM s{n} GROUP BY k EMIT CHANGES;",
            )
        )
        head = _push_request(text, numbers.choice(("earliest", "latest")))
        came += 1
        with contextlib.suppress(OSError), socket.create_connection(_address(run), timeout=5) as sock:
            if numbers.random() < 0.3:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            sock.sendall(head[: numbers.choice((10, len(head), len(head), len(head)))])
            sock.settimeout(numbers.uniform(0.01, 3))
            for _ in range(numbers.randrange(4)):
                sock.recv(numbers.choice((1, 1000)))
    return came


def _push_request(text: str, reset: str) -> bytes:
    body = json.dumps({"sql": text, "properties": {"auto.offset.reset": reset}}).encode()
    return f"POST /query-stream HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def _kill_aimed(run: Run) -> None:
    """kill -9 of the server and all its processes, Python first, then a restart."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(run.server.process.pid, signal.SIGKILL)
    server_killed(run)


def _kill_jvm(run: Run) -> None:
    """kill -9 of Spark's JVM, where there is one."""
    with contextlib.suppress(LookupError):
        os.kill(run.jvm(), signal.SIGKILL)


def _strikes(run: Run) -> list[Callable[[Run], None]]:
    """What strikes activities; kills most often."""
    strikes: list[Callable[[Run], None]] = [
        _kill_aimed,
        _kill_aimed,
        _kill_aimed,
        _kill_jvm,
        server_alone_killed,
        broker_killed,
        server_stopped,
    ]
    if run.clock is not None:
        strikes.append(clock_jumped)
    if run.disk is not None:
        strikes.append(disk_full)
    return strikes


def _struck(run: Run, name: str) -> None:
    """Let activities do what they do, and cause another fault in a moment of the one that is named."""
    aimed = run.activities[name]
    others = [each for each in run.activities.values() if each is not aimed and not each.IS_STEADY]
    going = [each for each in run.activities.values() if each.IS_STEADY and each is not aimed]
    going += [aimed, run.numbers.choice(others)]
    strike = run.numbers.choice(_strikes(run))
    for each in going:
        each.prepare()
    try:
        with ThreadPoolExecutor(len(going)) as threads:
            rounds = [threads.submit(each.round) for each in going]
            deadline, next_s = time.monotonic() + TIMEOUT_S, 0.0
            while not aimed.is_now() and time.monotonic() < deadline:
                if time.monotonic() > next_s:
                    run.scene.send(5)
                    next_s = time.monotonic() + 0.3
                time.sleep(0.001)
            missed = "" if aimed.is_now() else " (too late)"
            time.sleep(aimed.delay_s())
            strike(run)
            while not all(each.done() for each in rounds):
                run.scene.send(5)
                time.sleep(0.3)
            run.stuck = [repr(why) for each in rounds if (why := each.exception()) is not None]
    finally:
        for each in going:
            if isinstance(each, PostgresClients):
                run.misled = each.end()
    beside = type(going[-1]).__name__
    run.said = f"{strike.__name__.strip('_')}{missed}, beside {beside}"


def table_evolves(run: Run) -> None:
    """A table gets a new version by a backfill and SWAP, also one that joins"""
    _struck(run, "table_evolves")


def rolled_back(run: Run) -> None:
    """ROLLBACK of a table, by a backfill"""
    _struck(run, "rolled_back")


def changed_in_place(run: Run) -> None:
    """A table's query changes in place"""
    _struck(run, "changed_in_place")


def stream_evolves(run: Run) -> None:
    """A stream gets a new version with HISTORY = 'keep', also one with state"""
    _struck(run, "stream_evolves")


def dropped(run: Run) -> None:
    """DROP and UNDROP of a stream and of a table"""
    _struck(run, "dropped")


def branched(run: Run) -> None:
    """A branch is created, changed, promoted and dropped"""
    _struck(run, "branched")


def sinks_commit(run: Run) -> None:
    """Within a commit of a sink to Parquet or Delta"""
    _struck(run, "sinks_commit")


def sinks_compacted(run: Run) -> None:
    """Within COMPACT of a sink, or of an archive"""
    _struck(run, "sinks_compacted")


def archived(run: Run) -> None:
    """A query starts in an archive, of which retention removes the topic's part, or the archive commits"""
    _struck(run, "archived")


def postgres_clients(run: Run) -> None:
    """Clients of PostgreSQL look up, push, cancel, disconnect and send nonsense"""
    _struck(run, "postgres_clients")


FAULTS: dict[str, Callable[[Run], None]] = {
    function.__name__: function
    for function in (
        jvm_killed, jvm_frozen, server_killed, server_alone_killed, server_stopped, server_frozen,
        broker_killed, broker_restarted, broker_frozen, network_cut, disk_full, clock_jumped,
        worker_killed, registry_killed, queries_paused, garbage, tombstones,
        big_statement, connections, slow_loris, command_log_garbage, state_flipped, state_truncated,
        offsets_truncated, offsets_flipped, views_damaged, partitions_added, slow_clients,
        own_broker_killed, memory_exceeded, negative_times, compacted, schemas_changed, registry_away,
        terminated, connect_killed, clients_come_and_go,
        table_evolves, rolled_back, changed_in_place, stream_evolves, dropped, branched,
        sinks_commit, sinks_compacted, archived, postgres_clients,
    )
}  # fmt: skip
#: faults that this user may not cause
IMPOSSIBLE = tuple(
    fault.__name__
    for fault, place in ((disk_full, SmallDisk), (clock_jumped, Clock), (memory_exceeded, MemoryGroup))
    if not place.is_possible()
)
#: what is in the scene only for some faults
FURTHER_OF = {
    server_killed.__name__: GROUPS,
    worker_killed.__name__: FUNCTIONS,
    registry_killed.__name__: SCHEMAS,
    registry_away.__name__: SCHEMAS,
    schemas_changed.__name__: SCHEMAS,
    negative_times.__name__: TIMES,
    terminated.__name__: BRIEF,
    connect_killed.__name__: LINES,
    **dict.fromkeys(ACTIVITIES, KEPT),
}
#: faults that need a server of their own: one with its own broker, one with a registry elsewhere
APART = ("own_broker_killed", "registry_away")
#: faults that test_faults.py tries in CI
SHORT = ("jvm_killed", "server_killed")
__all__ = ["APART", "FAULTS", "IMPOSSIBLE", "SHORT", "Run"]
