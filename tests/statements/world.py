"""An engine without Kafka and Spark: topics and the command log are lists, a query is a flag."""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ksql_spark import topic_patterns
from ksql_spark.config import Config, CurrentConfig
from ksql_spark.engine.bootstrap import connect_cluster, schema_registry
from ksql_spark.engine.command_runner import CommandRunner
from ksql_spark.engine.execution import StatementExecutor
from ksql_spark.engine.request import Request
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Expression
from ksql_spark.kafka.admin import Consumers, KafkaAdmin, Topic, TopicIdentity
from ksql_spark.kafka.producer import RecordProducer
from ksql_spark.kafka_connect import NoConnect
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.runtime.command_log import Command, CommandLog, Unreadable, decode, encode
from ksql_spark.runtime.driver.access import SparkAccess
from ksql_spark.runtime.queries.checkpoint_folders import QueryCheckpoints
from ksql_spark.runtime.queries.environment import Environment
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.runtime.reading.views import Views
from ksql_spark.spark.session import SparkProcess
from ksql_spark.statements import Services
from ksql_spark.storage import LocalFolder
from ksql_spark.types import STRING


class FakeAdmin:
    """Topics in a dict; what the handlers and the query manager ask of KafkaAdmin."""

    servers = "nowhere:9092"
    settings: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self._topics: dict[str, Topic] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.ids: dict[str, str] = {}
        self._next_id = itertools.count()
        self.ends: dict[tuple[str, int], int] = {}
        #: topics that appear when they are asked for the n-th time
        self.late: dict[str, int] = {}

    def topics(self) -> dict[str, Topic]:
        return dict(sorted(self._topics.items()))

    def topic(self, name: str) -> Topic | None:
        if name in self.late:
            self.late[name] -= 1
            if self.late[name] <= 0:
                del self.late[name]
                self.create_topic(name)
        return self._topics.get(name)

    def topic_id(self, name: str) -> str | None:
        return self.ids.get(name)

    def identities(self, names: Iterable[str]) -> dict[str, TopicIdentity]:
        there = [name for name in self.expanded(names) if name in self._topics]
        return {name: TopicIdentity(self.ids[name], self._topics[name].partitions) for name in there}

    def expanded(self, names: Iterable[str]) -> list[str]:
        return topic_patterns.expanded(names, self._topics)

    def require_topic(self, name: str) -> Topic:
        topic = self.topic(name)
        while topic is None and name in self.late:
            topic = self.topic(name)
        if topic is None:
            raise KsqlError("TOPIC_UNKNOWN", topic=name)
        return topic

    def create_topic(
        self, name: str, partitions: int = 1, replicas: int = -1, config: Mapping[str, str] | None = None
    ) -> None:
        self._topics[name] = Topic(name, (max(replicas, 1),) * partitions)
        self.configs[name] = dict(config or {})
        self.ids[name] = str(next(self._next_id))

    def set_partitions(self, name: str, partitions: int) -> None:
        self._topics[name] = Topic(name, (1,) * partitions)

    def delete_topics(self, names: Iterable[str]) -> None:
        for name in names:
            self._topics.pop(name, None)

    def config(self, topic: str) -> dict[str, str]:
        self.require_topic(topic)
        return {"delete.retention.ms": "86400000"} | self.configs.get(topic, {})

    def configs_of(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        return {topic: self.config(topic) for topic in topics}

    def record_counts(self, topics: Iterable[Topic]) -> dict[str, int]:
        return {topic.name: sum(self.end_offsets(topic.name).values()) for topic in topics}

    def offsets(self, topics: Iterable[str], at: Any) -> dict[tuple[str, int], int]:
        """As if each record had its offset for a timestamp."""
        keys = [(name, n) for name in topics for n in range(self.require_topic(name).partitions)]
        first = 0 if at == "earliest" else at if isinstance(at, int) else sys.maxsize
        return {key: min(first, self.ends.get(key, 0)) for key in keys}

    def end_offsets(self, *topics: str) -> dict[tuple[str, int], int]:
        return self.offsets(topics, "latest")

    def committed_ends(self, *topics: str) -> dict[tuple[str, int], int]:
        return self.end_offsets(*topics)

    def beginning_offsets(self, *topics: str) -> dict[tuple[str, int], int]:
        return self.offsets(topics, "earliest")

    def first_time(self, topic: str) -> int | None:
        return 1_700_000_000_000 if any(self.end_offsets(topic).values()) else None

    def consumers(self) -> dict[str, Consumers]:
        return {}

    def cluster_id(self) -> str:
        return "fake"


class FakeSpark:
    """Spark's process."""

    is_alive = True
    running_session: Any = None

    def answers(self) -> bool:
        return self.is_alive


class FakeSparkAccess(SparkAccess):
    """What statements ask of Spark."""

    def __init__(self, world: World) -> None:
        super().__init__(cast(SparkProcess, world.spark), lambda: None, CurrentConfig(Config({})))
        self._world = world

    def evaluate(self, expressions: Sequence[Expression]) -> list[Any]:
        return ["" if e.type == STRING else 0 for e in expressions]

    def write(self, topic: str, key: bytes | None, value: bytes | None, time_ms: int) -> None:
        self._world.send(topic, key, value, time_ms)


class FakeSparkQuery:
    """What Spark has of a query: whether it runs."""

    progress = None
    recent: Sequence[Any] = ()

    def __init__(self) -> None:
        self.is_active = True

    def drain(self) -> None:
        pass

    def stop(self, timeout_s: float = 0.0) -> bool:
        self.is_active = False
        return True

    def exception(self) -> None:
        return None


class FakeQueries(QueryManager):
    """The query manager itself; only Spark is not asked."""

    refused: str | None = None

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._runs._launcher.launch = self._launched  # type: ignore[method-assign]

    def _launched(self, query: ManagedQuery, number: int, until: Any = None) -> Any:
        if self.refused is not None and self.refused in query.statement:
            raise KsqlError("QUERY_FAILED", id=query.id, reason="Spark says no")
        self.checkpoints.of(query, number).fit(query.plan.stages[number])
        self.checkpoints.folder(query.id).write("started", query.statement)
        return FakeSparkQuery()


class FakeLog:
    """The command log in a list of what would be written."""

    topic = "command_topic"

    def __init__(self) -> None:
        self.records: list[str] = []
        self.is_broken = False
        self._changed = threading.Condition()

    def confirm(self) -> None:
        pass

    def append(self, command: Command) -> int:
        if self.is_broken:
            raise KsqlError("BROKER_UNREACHABLE", servers="nowhere", reason="it is gone")
        with self._changed:
            self.records.append(encode(command).decode())
            self._changed.notify_all()
            return len(self.records) - 1

    def end(self) -> int:
        return len(self.records)

    def reader(self, start: int = 0) -> FakeReader:
        return FakeReader(self, start)

    def wait_for(self, sequence: int, timeout_s: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self.records) > sequence, timeout_s)


class FakeReader:
    """A reader of that list."""

    def __init__(self, log: FakeLog, start: int) -> None:
        self._log, self._next = log, start

    def read_to_end(self) -> Iterator[tuple[int, Command | Unreadable]]:
        yield from self.read(0.0)

    def read(self, timeout_s: float) -> list[tuple[int, Command | Unreadable]]:
        self._log.wait_for(self._next, min(timeout_s, 0.02))  # so that close() need not wait
        first, records = self._next, self._log.records[self._next :]
        self._next += len(records)
        return [(first + i, decode(record.encode())) for i, record in enumerate(records)]

    def close(self) -> None:
        pass


class World:
    """An engine on fakes, which ``restart`` builds again from the command log.

    Args:
        folder: for checkpoints.
        beside: another server on the same topics and log.
        config: the server's properties.
    """

    def __init__(self, folder: Path, beside: World | None = None, **config: Any) -> None:
        self.admin, self.log = (beside.admin, beside.log) if beside is not None else (FakeAdmin(), FakeLog())
        self.spark = FakeSpark()
        self._folder = folder
        self._config = Config({"ksql.spark.data.dir": str(folder), **config})
        self.sent: list[tuple[str, bytes | None, bytes | None]] = []
        #: how many records each call of send_all had
        self.batches: list[int] = []
        #: as that of RecordProducer
        self.written: dict[str, dict[int, int]] = {}
        self._start()

    def _start(self) -> None:
        admin = cast(KafkaAdmin, self.admin)
        config = CurrentConfig(self._config)
        folder = LocalFolder(self._folder / "checkpoints")
        nothing = cast(Any, None)
        self.queries = FakeQueries(
            Environment(nothing, admin, QueryCheckpoints(folder, folder), nothing, config)
        )
        self.services = services = Services(
            catalog=Catalog(),
            admin=admin,
            producer=cast(RecordProducer, self),
            queries=self.queries,
            views=Views(admin, self._folder / "views"),
            log=cast(CommandLog, self.log),
            current_config=config,
            spark=FakeSparkAccess(self),
            registry=schema_registry(self._config),
            connect=connect_cluster(self._config) or NoConnect(),
        )
        self.reports: list[str] = []
        self.runner = CommandRunner(services, self._folder)
        self.statements = StatementExecutor(services, self.runner)
        self.runner.replay(self.reports.append)
        self.queries.start_registered(self.reports.append)
        self.runner.start()

    def restart(self) -> None:
        """Stop the engine and start a new one on the same topics, log and checkpoints."""
        self.close()
        self._start()

    def close(self) -> None:
        self.runner.close()
        self.queries.shut_down()

    def send(self, topic: str, key: bytes | None, value: bytes | None, time_ms: int) -> tuple[int, int]:
        """As RecordProducer.send: what INSERT VALUES writes."""
        self.sent.append((topic, key, value))
        return 0, len(self.sent) - 1

    def send_all(self, topic: str, records: Sequence[tuple[bytes | None, bytes | None, int]]) -> None:
        """As RecordProducer.send_all: what INSERT VALUES writes."""
        self.batches.append(len(records))
        self.sent += [(topic, key, value) for key, value, _ in records]

    def writer(self, topic: str, on_delivered: Any) -> Any:
        """As RecordProducer.writer; nothing is written."""
        return None

    def run(self, text: str, /, **properties: Any) -> list[dict[str, Any]]:
        """The entities of statements, as JSON."""
        return self.answers(Request(text, properties))

    def answers(self, request: Request) -> list[dict[str, Any]]:
        """The entities of a request, as JSON."""
        return [to_json(entity) for entity in self.statements.execute(request)]

    def one(self, text: str, /, **properties: Any) -> dict[str, Any]:
        """The one entity of a request, as JSON."""
        (entity,) = self.run(text, **properties)
        return entity

    def message(self, text: str) -> str:
        """The message of the one entity of a request: of its command status, or of a warning."""
        entity = self.one(text)
        return str(entity["message"] if "message" in entity else entity["commandStatus"]["message"])

    def refused(self, text: str, /, **properties: Any) -> KsqlError:
        """The error of a request that must fail."""
        try:
            entities = self.run(text, **properties)
        except KsqlError as error:
            return error
        raise AssertionError(f"not refused: {text} gave {entities}")

    def ids(self) -> Sequence[str]:
        """Ids of the queries."""
        return [query.id for query in self.queries.all()]

    def states(self) -> dict[str, str]:
        """State of each query."""
        return {query.id: query.state for query in self.queries.all()}

    def commit(self, query_id: str, batch: int, **offsets: dict[str, int]) -> None:
        """Write down, as Spark does, that the query's batch has read its topics up to these offsets."""
        stage = self.checkpoint(query_id) / "0"
        for name, lines in (("offsets", ("v1", "{}", json.dumps(offsets))), ("commits", ("v1", "{}"))):
            (stage / name).mkdir(parents=True, exist_ok=True)
            (stage / name / str(batch)).write_text("\n".join(lines), encoding="utf-8")

    def checkpoint(self, query_id: str) -> Path:
        """The folder of a query's checkpoints."""
        return self._folder / "checkpoints" / query_id
