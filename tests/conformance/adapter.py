"""The engine as the conformance runner sees it: one engine and one broker in this process.

Statements and queries go through ``Engine.execute`` and ``Engine.query`` as the server's do; nothing is
short-cut. Used as ``run.py --adapter tests.conformance.adapter:EngineAdapter``; the runner's folder must be
importable (the runner sees to it).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import kafkawire  # of the runner: unlike librdkafka it can write a timestamp of 0
from adapters import Adapter, Rejected
from confluent_kafka.admin import AdminClient, NewPartitions

from ksql_spark import grammar
from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.engine.bootstrap import registry_settings, schema_registry
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.grammar.statements.sources import CreateAsSelect, CreateSource, DropSource
from ksql_spark.grammar.statements.types import CreateType
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.spark.session import SparkProcess, set_registry
from tests.waiting import until

#: topics that are deleted in one go
_DELETED_TOGETHER = 40
#: how long a query may take to have all its tasks running, seconds
_START_S = 30.0
#: how long a case may work on its records, seconds
_LONGEST_S = 60.0
#: what share of a core a process may use that has nothing to do
_IDLE_SHARE = 0.2
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Processes:
    """Tells whether processes have anything to do: by the time they use and the threads that want to run.

    That is how queries are known to be done whose output nobody can foretell: Spark tells of a real-time
    query's progress only at its checkpoints.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._folders = [Path(f"/proc/{pid}") for pid in pids]
        self._at, self._used = time.monotonic(), self._seconds()

    def are_idle(self) -> bool:
        """Whether they did next to nothing since the last call and want nothing now."""
        now, used = time.monotonic(), self._seconds()
        share = (used - self._used) / max(now - self._at, 1e-3)
        self._at, self._used = now, used
        return share <= _IDLE_SHARE and not any(map(self._is_at_work, self._folders))

    def _seconds(self) -> float:
        ticks = 0
        for folder in self._folders:
            fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks * _TICK_S

    @staticmethod
    def _is_at_work(folder: Path) -> bool:
        """Whether a thread runs, waits for a core or for the disk."""
        for thread in os.scandir(folder / "task"):
            try:
                with open(f"{thread.path}/stat") as stat:
                    if stat.read().rsplit(")", 1)[1].startswith((" R", " D")):
                        return True
            except OSError:  # it ended
                continue
        return False


class EngineAdapter(Adapter):  # type: ignore[misc]  # the runner is not typed
    """An engine with a broker of its own, both in a temporary folder.

    Args:
        quiet: seconds without output and without work after which no more output is expected.
        settle: the same once all records that the case expects are there.
        broker: a running broker to use, which is left running; None: start one.
        spark: a running Spark to use, which is left running; None: start one.
    """

    unique_topics = True
    #: records of one topic are in order anyway; what matters is the order between topics
    pace = "topic"

    def __init__(
        self,
        quiet: str = "0.5",
        settle: str = "0.15",
        broker: EmbeddedBroker | None = None,
        spark: SparkProcess | None = None,
    ) -> None:
        self._quiet, self._settle = float(quiet), float(settle)
        self._folder = Path(tempfile.mkdtemp(prefix="ksql-conformance-"))
        self._log = logging.FileHandler(self._folder / "engine.log")
        self._logger = logging.getLogger("ksql_spark")
        self._propagated = self._logger.propagate
        self._logger.addHandler(self._log)
        self._logger.propagate = False
        self._owns_broker = broker is None
        self._broker = broker or EmbeddedBroker(self._folder / "broker", port=0)
        self._engine: Engine | None = None
        self._sources: list[tuple[str, str]] = []
        self._topics: list[str] = []
        self._doomed: list[str] = []
        self._deleter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="topic-deleter")
        try:
            if self._owns_broker:
                self._broker.start()
            servers = self._broker.bootstrap_servers
            self._admin = KafkaAdmin(servers)
            self.producer = kafkawire.Producer(servers)
            self._engine = Engine(
                Config(
                    {
                        "bootstrap.servers": servers,
                        "ksql.spark.data.dir": str(self._folder / "engine"),
                        # a case that fails fails once
                        "ksql.query.retry.backoff.initial.ms": 3_600_000,
                        "ksql.query.retry.backoff.max.ms": 3_600_000,
                        "ksql.suppress.lossy.jumps": True,
                    }
                ),
                spark,
            )
            self._engine.start()
            assert self._broker.pid is not None
            self._processes = Processes((self._engine.services.spark.process.pid, self._broker.pid))
        except BaseException:
            self.close()
            raise

    @property
    def registry_url(self) -> str | None:
        """Where the runner's schema registry is; it says so before the first case."""
        return self._registry_url

    @registry_url.setter
    def registry_url(self, url: str | None) -> None:
        self._registry_url = url
        config = Config({"ksql.schema.registry.url": url or ""})
        self._services.registry = schema_registry(config)
        set_registry(self._services.spark.process.running_session, registry_settings(config))

    # ---- statements ----------------------------------------------------------------------------------

    def execute(self, sql: str, props: dict[str, Any]) -> list[dict[str, Any]]:
        """See Adapter."""
        assert self._engine is not None
        self._grow_topics(sql)
        try:
            entities = [to_json(entity) for entity in self._engine.execute(Request(sql, props))]
        except KsqlError as error:
            raise Rejected(error.message, error.code, error.code // 100) from None
        self._note(sql)
        decoded: list[dict[str, Any]] = json.loads(json.dumps(entities, default=_number), parse_float=Decimal)
        return decoded

    def _grow_topics(self, sql: str) -> None:
        """Give topics the partitions that CREATE says they have.

        The cases say that all source topics exist, with one partition where nothing else is said; some
        statements were written for a topic that they create themselves.
        """
        with contextlib.suppress(Exception):  # what cannot be parsed is refused by the engine
            for statement in grammar.parse(sql):
                if not isinstance(statement, CreateSource):
                    continue
                properties = {p.name.upper(): p.value for p in statement.properties}
                topic, partitions = properties.get("KAFKA_TOPIC"), properties.get("PARTITIONS")
                there = self._admin.topic(str(topic)) if topic in self._topics else None
                if there is not None and isinstance(partitions, int) and there.partitions < partitions:
                    client = AdminClient({"bootstrap.servers": self._broker.bootstrap_servers})
                    for done in client.create_partitions([NewPartitions(str(topic), partitions)]).values():
                        done.result()
                    # not every answer of the broker knows of them at once
                    until(
                        lambda t=topic, old=there, n=partitions: (
                            (self._admin.topic(str(t)) or old).partitions >= n
                        )
                    )

    def _note(self, sql: str) -> None:
        """Remember what has to be dropped after the case, and its topics."""
        assert self._engine is not None
        for statement in grammar.parse(sql):
            match statement:
                case CreateSource() | CreateAsSelect():
                    self._sources.append((statement.kind, statement.name))
                    source = self._metastore.find(statement.name)
                    if source is not None and source.topic not in self._topics:
                        self._topics.append(source.topic)
                case CreateType():
                    self._sources.append(("TYPE", statement.name))
                case DropSource():
                    self._sources = [s for s in self._sources if s[1] != statement.name]

    @property
    def _services(self) -> Any:
        """The engine's parts: only watched here, to know when it is idle."""
        assert self._engine is not None
        return self._engine.services

    @property
    def _metastore(self) -> Any:
        return self._services.metastore

    def query(
        self,
        sql: str,
        props: dict[str, Any],
        started: Callable[[], None] | None = None,
        timeout: float = 20.0,
    ) -> dict[str, Any]:
        """See Adapter."""
        assert self._engine is not None
        deadline = time.monotonic() + timeout
        rows: list[Any] = []
        try:
            stream = self._engine.query(Request(sql, props))
            try:
                if started is not None:
                    started()
                while (batch := stream.read(0.1)) is not None:
                    rows += [row.values for row in batch]
                    if time.monotonic() > deadline:
                        raise Rejected(f"the query did not end within {timeout} s; {len(rows)} rows so far")
                final = stream.final_message
            finally:
                stream.close()
                self._engine.close_query(stream.query_id)
        except KsqlError as error:
            raise Rejected(error.message, error.code, error.code // 100) from None
        shown = json.loads(json.dumps(rows, default=_number), parse_float=Decimal)
        return {"schema": [(c.name, c.type) for c in stream.columns], "rows": shown, "final": final}

    def query_errors(self) -> list[str]:
        """See Adapter: what EXPLAIN tells of queries that failed."""
        failed = []
        for entity in self.execute("SHOW QUERIES;", {}):
            for query in entity.get("queries") or []:
                if query.get("state") == "ERROR":
                    (explanation,) = self.execute(f"EXPLAIN {query['id']};", {})
                    errors = explanation["queryDescription"]["queryErrors"]
                    failed.append("; ".join(e["errorMessage"] for e in errors) or str(query["id"]))
        return failed

    # ---- Kafka ---------------------------------------------------------------------------------------

    def create_topics(self, topics: Sequence[tuple[str, int]]) -> None:
        """See Adapter."""
        for name, partitions in dict(topics).items():
            if self._admin.topic(name) is None:
                self._admin.create_topic(name, partitions, config={"retention.ms": "-1"})
            self._topics.append(name)

    def partitions(self, topic: str) -> int | None:
        """See Adapter."""
        topic_ = self._admin.topic(topic)
        return None if topic_ is None else topic_.partitions

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        ts: int,
        headers: list[tuple[str, bytes | None]],
    ) -> None:
        """See Adapter; run_to_idle hands the records over."""
        self.producer.produce(topic, key, value, ts, headers)

    def read(self, topic: str) -> list[tuple[Any, ...]]:
        """See Adapter."""
        if self._admin.topic(topic) is None:
            return []
        records = []
        with TopicReader(self._broker.bootstrap_servers, topic) as reader:
            for batch in reader.read_to_end():
                records += [(r.key, r.value, r.timestamp_ms, list(r.headers)) for r in batch]
        return records

    # ---- waiting -------------------------------------------------------------------------------------

    def run_to_idle(self, expected: dict[str, int] | None = None, last: bool = True) -> None:
        """Return when what was produced is processed.

        That is when the tasks of all queries run, and nothing came out of them and the processes had
        nothing to do for a moment: a shorter one when all records that the case expects are there.

        Raises:
            Rejected: a query failed.
        """
        self.producer.flush()
        self._wait_until_running()
        sinks = {q.plan.sink.topic for q in self._persistent()}
        least = {t: n for t, n in (expected or {}).items() if n} if last else {}
        watched = sorted({*sinks, *least})
        if not watched:
            return
        start = since = time.monotonic()
        seen: dict[str, int] = {}
        self._processes.are_idle()
        while time.monotonic() - start < _LONGEST_S:
            time.sleep(0.05)
            self._raise_failure()
            now = self._counts(watched)
            if now != seen:
                seen, since = now, time.monotonic()
            complete = bool(least) and all(now.get(t, 0) >= n for t, n in least.items())
            if not complete and not self._processes.are_idle():
                since = time.monotonic()
            if time.monotonic() - since >= (self._settle if complete else self._quiet):
                return

    def _persistent(self) -> list[Any]:
        return [q for q in self._services.queries.all() if not q.is_transient and q.state == "RUNNING"]

    def _raise_failure(self) -> None:
        for query in self._services.queries.all():
            ended = query.state == "RUNNING" and not query.loading and self._has_ended(query)
            if query.errors or ended:
                self._until(lambda q=query: bool(q.errors), 5.0)
                if query.errors:
                    raise Rejected("; ".join(e.message for e in query.errors))

    @staticmethod
    def _has_ended(query: Any) -> bool:
        return not all(spark.is_active for spark in list(query.spark))

    def _wait_until_running(self) -> None:
        """Wait until the tasks of all queries run."""
        for query in self._persistent():
            self._until(lambda q=query: bool(q.errors) or self._runs(q), _START_S)

    def _runs(self, query: Any) -> bool:
        """Whether the tasks of all stages of ``query`` run."""
        if query.loading or not query.spark:
            return False
        stages = zip(query.plan.stages, list(query.spark), strict=False)
        return all(stage.mode != "REALTIME" or self._tasks_run(spark) for stage, spark in stages)

    def _tasks_run(self, spark: Any) -> bool:
        if not spark.is_active:
            return True
        for job in self._tracker.getJobIdsForGroup(spark.job_group):
            info = self._tracker.getJobInfo(job)
            stages = [self._tracker.getStageInfo(s) for s in (info.stageIds if info else ())]
            if stages and all(s is not None and s.numActiveTasks == s.numTasks for s in stages):
                return True
        return False

    @property
    def _tracker(self) -> Any:
        assert self._engine is not None
        return self._engine.services.spark.process.running_session.sparkContext.statusTracker()

    def _counts(self, topics: Sequence[str]) -> dict[str, int]:
        there = [t for t in topics if t in self._known(topics)]
        counts: dict[str, int] = {}
        for (topic, _), end in self._admin.end_offsets(*there).items():
            counts[topic] = counts.get(topic, 0) + end
        return counts

    def _known(self, topics: Sequence[str]) -> set[str]:
        unknown = [t for t in topics if t not in self._topics]
        self._topics += [t for t in unknown if self._admin.topic(t) is not None]
        return set(self._topics)

    @staticmethod
    def _until(condition: Callable[[], bool], timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    # ---- between cases -------------------------------------------------------------------------------

    def reset(self) -> None:
        """See Adapter: everything is dropped; topics are deleted later, many at a time."""
        try:
            self._drop_all()
        finally:
            for topic in self._topics:
                self.producer.forget(topic)
            self._doomed += self._topics
            self._topics, self._sources = [], []
        if len(self._doomed) >= _DELETED_TOGETHER:
            doomed, self._doomed = self._doomed, []
            self._deleter.submit(self._admin.delete_topics, doomed)

    def delete_now(self, names: Sequence[str]) -> None:
        """Delete these topics: the next case may use the same names."""
        self._doomed = [t for t in self._doomed if t not in names]
        self._admin.delete_topics(names)

    def _drop_all(self) -> None:
        if self._persistent() or any(not q.is_transient for q in self._services.queries.all()):
            self.execute("TERMINATE ALL;", {})
        for kind, name in reversed(self._sources):
            quoted = "`" + name.replace("`", "``") + "`"
            self.execute(f"DROP {kind} IF EXISTS {quoted};", {})
        remaining = self._metastore.sources()
        while remaining:
            before = len(remaining)
            for source in remaining:
                try:
                    self.execute(f"DROP {source.kind} `{source.name}`;", {})
                except Rejected:
                    continue
            remaining = self._metastore.sources()
            if len(remaining) == before:
                raise RuntimeError(f"cannot drop {[s.name for s in remaining]}")

    def close(self) -> None:
        """Stop everything and remove the folder."""
        if not self._owns_broker:
            self._deleter.submit(self._admin.delete_topics, self._doomed + self._topics)
        self._deleter.shutdown(wait=True)
        if self._engine is not None:
            self._engine.stop()
        if self._owns_broker:
            self._broker.stop()
        self._logger.removeHandler(self._log)
        self._logger.propagate = self._propagated
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _number(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(type(value).__name__)
