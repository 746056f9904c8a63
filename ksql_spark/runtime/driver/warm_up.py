"""Warms up a server without queries with two small ones, so that a user's first query starts faster.

The first query of a JVM loads and compiles most of Spark, which takes seconds on two cores. These queries do
that while the user is still typing: they send records through Kafka, a keyed operator and Kafka again. Then
the last one makes checkpoints: records wait during each, and a JVM's first checkpoints take several times as
long as later ones. At the end, a pull query that groups prepares the first one of a user.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession

from ksql_spark import analyzer
from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.grammar import parse
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource, FormatSpec
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.planner import lower_transient
from ksql_spark.plan.queries import Feed, Job, Lookup
from ksql_spark.plan.trees import relations
from ksql_spark.runtime.queries.checkpoint_folders import QueryCheckpoints
from ksql_spark.runtime.queries.definition import QueryDefinition
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.idle_heartbeat import IdleHeartbeat
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.schema import Column, Role, Schema
from ksql_spark.spark import batch
from ksql_spark.spark.sources import WHOLE_TOPICS
from ksql_spark.storage import Folder
from ksql_spark.types import BIGINT, STRING

log = logging.getLogger(__name__)

#: the second one also loads a table, in micro-batches
QUERIES = (
    "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s WHERE v > 0 GROUP BY k EMIT CHANGES;",
    "SELECT s.k, s.v + t.v AS total FROM s JOIN t ON s.k = t.k EMIT CHANGES;",
)
#: a batch of Spark
PULL = "SELECT k, COUNT(*) AS n, SUM(v) AS total FROM s GROUP BY k ORDER BY n;"
#: a server that gets statements earlier needs no warm-up: its first query has the same effect
DELAY_S = 0.5
#: the number of checkpoints of the last query, their interval, and the time limit
CHECKPOINTS, CHECKPOINT_MS, CHECKPOINTS_S = 20, 25, 10.0
LOOK_S = 0.05
#: the warm-up is abandoned after this
TIMEOUT_S = 60.0


class WarmUp:
    """Runs QUERIES in its own thread, each until its first row and the last one through CHECKPOINTS, and then
    PULL, while the server is idle; removes their topics and folders.

    Args:
        session: any session of the JVM.
        admin: of the cluster.
        producer: to the same cluster.
        config: the server's properties.
        topics: prefix of its topics' names, by which the next start finds those of a killed server.
        checkpoints: a folder that nothing else uses.
        is_needed: whether the server is idle; asked before it starts, and between two checkpoints.
    """

    def __init__(
        self,
        session: SparkSession,
        admin: KafkaAdmin,
        producer: RecordProducer,
        config: Config,
        *,
        topics: str,
        checkpoints: Folder,
        is_needed: Callable[[], bool],
    ) -> None:
        self._session = session
        self._admin = admin
        self._producer = producer
        self._config = config
        self._prefix = topics
        self._checkpoints = checkpoints
        self._is_needed = is_needed
        self._topics: list[str] = []
        self._queries: QueryManager | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warm-up", daemon=True)

    def start(self) -> None:
        """Start after DELAY_S, if it is still needed then."""
        self._thread.start()

    def wait(self) -> None:
        """Wait until it has finished."""
        self._thread.join()

    def stop(self) -> None:
        """End it and remove its topics. A job that Spark is running for it ends with Spark."""
        self._stopping.set()
        if self._queries is not None:
            self._queries.shut_down()
        with self._lock:
            topics, self._topics = self._topics, []
            self._admin.delete_topics(topics)

    def _run(self) -> None:
        if self._stopping.wait(DELAY_S) or not self._is_needed():
            return
        began = time.monotonic()
        hurried = _Hurried(self._config)
        heartbeat = IdleHeartbeat(self._admin, str(self._config["ksql.service.id"]))
        checkpoints = QueryCheckpoints(self._checkpoints, self._checkpoints)
        queries = QueryManager(
            Environment(lambda: self._session, self._admin, checkpoints, heartbeat, lambda: hurried)
        )
        self._queries = queries
        try:
            sources = [self._source("S", STREAM), self._source("T", TABLE)]
            for source in sources:
                self._create_topic(source.topic)
                # the table's row is older, so the stream's row finds it
                at_ms = int(time.time() * 1000) - (1000 if source.is_table else 0)
                self._producer.send(source.topic, b"a", b'{"V": 1}', at_ms)
            for number, text in enumerate(QUERIES):
                query = self._query(text, sources, f"{self._prefix}{number}")
                self._create_topic(query.plan.sink.topic)
                queries.start_new(query)
                self._wait_for_row(query.plan.sink.topic, began + TIMEOUT_S)
                if text == QUERIES[-1]:  # a statement that arrives now benefits
                    self._wait_for_checkpoints(query)
                queries.drop(query)
            self._pull(sources)
            log.info("warmed up in %.1f s", time.monotonic() - began)
        except Exception as error:  # nobody waits for it
            log.log(logging.DEBUG if self._stopping.is_set() else logging.WARNING, "no warm-up: %s", error)
        finally:
            with contextlib.suppress(Exception):  # Spark or the broker may be gone already
                self.stop()
            self._checkpoints.remove()

    def _create_topic(self, name: str) -> None:
        with self._lock:
            if self._stopping.is_set():
                raise KsqlError("STOPPED")
            self._topics.append(name)
            self._admin.create_topic(name, 1)

    def _source(self, name: str, kind: str) -> DataSource:
        return DataSource(
            name=name,
            kind=kind,
            schema=Schema((Column("K", STRING, Role.KEY), Column("V", BIGINT))),
            topic=f"{self._prefix}{name.lower()}",
            key_format=FormatSpec("KAFKA"),
            value_format=FormatSpec("JSON"),
            partitions=1,
        )

    def _pull(self, sources: Sequence[DataSource]) -> None:
        """Run PULL over the rows that are there."""
        job = self._read(PULL, sources)
        assert isinstance(job, Job)
        session = batch.session_for(self._session, job.root, 1)
        consumer = self._config.client_settings("consumer")
        frames = (
            batch.stream(session, consumer, source, None, WHOLE_TOPICS) for source in relations(job.root)
        )
        frame = batch.build(session, job.root, frames, self._config.__getitem__)
        for _ in batch.results(frame, job.root.schema.columns):
            pass

    def _read(self, text: str, sources: Sequence[DataSource]) -> Feed | Job | Lookup:
        metastore = MetaStore()
        for source in sources:
            metastore.add(source)
        (statement,) = parse(text)
        assert isinstance(statement, Query)
        return analyzer.bind_read(statement.query, metastore, self._config)

    def _query(self, text: str, sources: Sequence[DataSource], sink: str) -> ManagedQuery:
        bound = self._read(text, sources)
        assert isinstance(bound, Feed)
        definition = QueryDefinition(
            id=sink.rpartition("-")[-1],
            statement=text,
            plan=lower_transient(bound.root, bound.output, sink, self._config),
            starts={source.topic: {"0": 0} for source in sources},
            properties={},
            sink_partitions=1,
            is_transient=True,
        )
        return ManagedQuery(definition)

    def _wait_for_row(self, topic: str, deadline: float) -> None:
        reader = TopicReader(self._admin.servers, topic, settings=self._admin.settings)
        try:
            while not reader.poll_batch(0.1):
                if self._stopping.is_set():
                    raise KsqlError("STOPPED")
                if time.monotonic() > deadline:
                    raise TimeoutError(f"no result after {TIMEOUT_S:.0f} s")
        finally:
            reader.close()

    def _wait_for_checkpoints(self, query: ManagedQuery) -> None:
        """Wait until the query has made CHECKPOINTS, or the server is no longer idle."""
        deadline = time.monotonic() + CHECKPOINTS_S
        while self._is_needed() and not self._stopping.wait(LOOK_S) and time.monotonic() < deadline:
            ended = [run.progress for run in list(query.spark)]
            if all(last is not None and last["batchId"] + 1 >= CHECKPOINTS for last in ended):
                return


class _Hurried(Config):
    """A configuration whose queries make checkpoints more often than users may request."""

    def __init__(self, config: Config) -> None:
        super().__init__(config.with_prefix(""))

    def __getitem__(self, name: str) -> Any:
        return CHECKPOINT_MS if name == "ksql.checkpoint.interval.ms" else super().__getitem__(name)


__all__ = ["WarmUp"]
