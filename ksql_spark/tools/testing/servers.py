"""The engine of one run of a test, and the topics that it writes, record by record."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ksql_spark.engine import Engine, QueryStream, Request
from ksql_spark.entities import Entity
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.formats import Serde
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.metastore.serdes import serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.reading.results import api_value
from ksql_spark.runtime.reading.stored_row import split_key
from ksql_spark.schema import ROWTIME, WINDOWEND, WINDOWSTART, Column
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.shell.client import ClientError
from ksql_spark.tools.testing.files import CASE
from ksql_spark.tools.testing.tables import DELETED, Cells, cell

#: ``(properties) -> Engine`` that is not started, on a Kafka broker and a Spark that others use too
MakeEngine = Callable[[Mapping[str, str]], Engine]


class Refused(ClientError):
    """An error of the engine; ``condition`` names it."""

    def __init__(self, error: KsqlError) -> None:
        self.condition = error.condition
        super().__init__(error.message)


class Topic:
    """The topic of a stream or table, read from its beginning.

    Attributes:
        source: the stream or table as it is now.
        records: those that have been read.
        checked: how many of them earlier checks have accounted for.
    """

    def __init__(self, servers: str, source: DataSource, registry: SchemaRegistry | None) -> None:
        self.source = source
        self.records: list[Record] = []
        self.checked = 0
        self._registry = registry
        self._reader = TopicReader(servers, source.topic)
        self._bound: tuple[DataSource, tuple[Serde, Serde]] | None = None

    def poll(self, timeout_s: float) -> bool:
        """Take in what comes within the time; False where nothing did."""
        records = self._reader.poll_batch(timeout_s)
        self.records += records
        return bool(records)

    def read_to_end(self) -> None:
        """Take in all that is there now."""
        for batch in self._reader.read_to_end():
            self.records += batch

    def close(self) -> None:
        """Stop reading."""
        self._reader.close()

    @property
    def bounds(self) -> Cells:
        """The columns of the bounds of windows."""
        return [WINDOWSTART, WINDOWEND] if self.source.window else []

    @property
    def columns(self) -> Cells:
        """Keys, the bounds of windows, values."""
        return [*_names(self.source.schema.key), *self.bounds, *_names(self.source.schema.value)]

    def last_records(self) -> list[Record]:
        """The last record of each key that was not deleted."""
        last = {record.key: record for record in self.records}
        return [record for record in last.values() if record.value is not None]

    def rows(self, columns: Sequence[str], mode: str) -> list[Cells]:
        """The records as rows of a table, as a check's mode wants them."""
        if mode == "folded":
            return sorted(self.shown(self.last_records(), columns))
        rows = self.shown(self.records[self.checked :], columns)
        return sorted(rows) if mode == "rowsort" else rows

    def shown(self, records: Sequence[Record], columns: Sequence[str]) -> list[Cells]:
        """Records as rows of a table.

        Raises:
            ClientError: there is no such column.
        """
        known = {name.upper() for name in (ROWTIME, *self.columns)}
        if unknown := [name for name in columns if name.upper() not in known]:
            raise ClientError(f"{self.source.name} has no column {', '.join(unknown)}.")
        rows: list[Cells] = []
        for record in records:
            values = {name.upper(): value for name, value in self.values(record).items()}
            is_deleted = {name.upper() for name in _names(self.source.schema.value) if record.value is None}
            names = [name.upper() for name in columns]
            rows.append([DELETED if name in is_deleted else cell(values.get(name)) for name in names])
        return rows

    def values(self, record: Record) -> dict[str, Any]:
        """The values of a record by column, as the REST API has them; of a tombstone, its keys only."""
        source = self.source
        if self._bound is None or self._bound[0] is not source:
            self._bound = source, serdes(source, registry=self._registry)
        of_key, of_value = self._bound[1]
        values: dict[str, Any] = {ROWTIME: record.timestamp_ms}
        if record.key is not None:
            key, start, end = split_key(record.key, source.window)
            if source.schema.key:
                values |= _named(source.schema.key, of_key.decode(key))
            values |= {WINDOWSTART: start, WINDOWEND: end} if source.window else {}
        if record.value is not None:
            values |= _named(source.schema.value, of_value.decode(record.value))
        return values


def _names(columns: Sequence[Column]) -> Cells:
    return [column.name for column in columns]


def _named(columns: Sequence[Column], values: Sequence[Any] | None) -> dict[str, Any]:
    if values is None:
        return dict.fromkeys(_names(columns))
    return {c.name: api_value(v, c.type) for c, v in zip(columns, values, strict=True)}


class Server:
    """An engine with data, a service id and topics of its own.

    Args:
        make_engine: makes it.
        admin: of the engine's broker.
        folder: for data folders.
        properties: of the engine; in them, ``${case}`` stands for ``name``.
        prefixes_topics: whether the topics that no statement names begin with ``name``, too.
    """

    def __init__(
        self,
        make_engine: MakeEngine,
        admin: KafkaAdmin,
        folder: Path,
        properties: Mapping[str, str],
        prefixes_topics: bool,
    ) -> None:
        self.name = f"case_{uuid.uuid4().hex[:8]}"
        self._folder = folder / self.name
        own = {"ksql.service.id": self.name, "ksql.spark.data.dir": str(self._folder)}
        if prefixes_topics:
            own["ksql.output.topic.name.prefix"] = f"{self.name}_"
        own |= {name: value.replace(f"${{{CASE}}}", self.name) for name, value in properties.items()}
        self._make_engine, self._properties = make_engine, own
        self._engine: Engine | None = None
        self._admin = admin
        self._topics: dict[str, Topic] = {}
        #: overrides and variables of requests, as SET and DEFINE leave them
        self.properties: dict[str, Any] = {"auto.offset.reset": "earliest"}
        self.variables: dict[str, str] = {CASE.upper(): self.name}

    @property
    def engine(self) -> Engine:
        """The engine, started when it is first needed."""
        if self._engine is None:
            engine = self._make_engine(self._properties)
            engine.start()
            self._engine = engine
        return self._engine

    def execute(self, text: str) -> list[Entity]:
        """Run statements with the overrides and variables; returns their answers. Raises Refused."""
        try:
            return self.engine.execute(Request(text, dict(self.properties), self.variables))
        except KsqlError as error:
            raise Refused(error) from None

    def run(self, text: str) -> list[dict[str, Any]]:
        """Run statements; returns their answers as JSON. Raises Refused."""
        return [to_json(entity) for entity in self.execute(text)]

    def query(self, text: str) -> QueryStream:
        """Start a SELECT or PRINT. Raises Refused."""
        try:
            return self.engine.query(Request(text, dict(self.properties), self.variables))
        except KsqlError as error:
            raise Refused(error) from None

    def topic(self, name: str) -> Topic:
        """The topic of a stream or table. Raises Refused."""
        services = self.engine.services
        try:
            source = services.metastore.require(name)
            if name not in self._topics:
                self._topics[name] = Topic(self._admin.servers, source, services.registry)
        except KsqlError as error:
            raise Refused(error) from None
        self._topics[name].source = source
        return self._topics[name]

    def errors(self) -> list[str]:
        """What queries have failed with."""
        queries = self._engine.services.queries.all() if self._engine is not None else ()
        return [f"query {query.id} failed: {error.message}" for query in queries for error in query.errors]

    def restart(self, is_kill: bool) -> None:
        """Stop the engine; it starts again when it is next needed.

        Args:
            is_kill: what queries have done since their last checkpoint is lost.
        """
        if is_kill:
            queries = self.engine.services.queries
            for query in queries.all():
                queries.kill(query.id)
        self.stop()
        self._engine = None

    def stop(self) -> None:
        """Let the queries stop, and everything else; what they have written stays."""
        if self._engine is not None:
            self._engine.stop()

    def close(self) -> None:
        """Stop everything, and delete the topics that have the name of this engine, and its data."""
        self.stop()
        for topic in self._topics.values():
            topic.close()
        mine = (f"{self.name}_", f"_confluent-ksql-{self.name}")
        self._admin.delete_topics(name for name in self._admin.topics() if name.startswith(mine))
        shutil.rmtree(self._folder, ignore_errors=True)
