"""A server of a test's own: an engine in this process that can be started again on its folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ksql_spark.config import Config
from ksql_spark.engine import Engine, Request
from ksql_spark.entities.sinks import SinkDescription
from ksql_spark.entities.sources import OriginInfo
from ksql_spark.errors import KsqlError
from ksql_spark.spark.session import SparkProcess
from tests.waiting import TIMEOUT_S, until


class Server:
    """An engine that can be started again on its folder; what its sinks, sources and queries say."""

    def __init__(self, config: dict[str, Any], spark: SparkProcess) -> None:
        self._config, self._spark = config, spark
        self.start()

    def start(self) -> None:
        self.engine = Engine(Config(self._config), self._spark)
        self.engine.start()

    def restart(self) -> None:
        self.engine.stop()
        self.start()

    def run(self, text: str) -> list[Any]:
        return self.engine.execute(Request(text))

    def described(self, sink: str) -> SinkDescription:
        (answer,) = self.run(f"DESCRIBE SINK {sink};")
        assert isinstance(answer, SinkDescription)
        return answer

    def caught_up(self, sink: str, ends: int) -> SinkDescription:
        """The sink once its table has everything up to ``ends`` records."""

        def is_there() -> bool:
            described = self.described(sink)
            assert described.sink.state != "ERROR", described
            return sum(p.offset for p in described.positions) >= ends

        until(is_there, lambda: self.described(sink))
        return self.described(sink)

    def failed(self, sink: str, says: str = "") -> str:
        """The reason of a sink once it is in ERROR, for a reason that says so."""
        told = [self.described(sink).sink]

        def has_failed() -> bool:
            told[0] = self.described(sink).sink
            return told[0].state == "ERROR" and says in str(told[0].reason)

        until(has_failed, lambda: told)
        return str(told[0].reason)

    def first(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a push query with LIMIT that reads from the beginning, in their order."""
        stream = self.engine.query(Request(sql, {"auto.offset.reset": "earliest"}))
        rows: list[tuple[Any, ...]] = []
        while (batch := stream.read(TIMEOUT_S)) is not None:
            assert batch, f"nothing comes after {len(rows)} rows"
            rows += (tuple(row.values) for row in batch)
        stream.close()
        return rows

    def origin(self, source: str) -> OriginInfo:
        """The files that a source follows."""
        (answer,) = self.run(f"DESCRIBE {source};")
        info: OriginInfo = answer.source_description.origin
        return info

    def origin_once(self, source: str, met: Callable[[OriginInfo], bool]) -> OriginInfo:
        """The files that a source follows, once they are so."""
        until(lambda: met(self.origin(source)), lambda: self.origin(source))
        return self.origin(source)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query that ends, in the order of their texts."""
        stream = self.engine.query(Request(sql))
        rows: list[Any] = []
        while (batch := stream.read(1.0)) is not None:
            rows += batch
        stream.close()
        return sorted((tuple(row.values) for row in rows), key=str)

    def has(self, sql: str, expected: list[tuple[Any, ...]]) -> None:
        """Wait until a query gives these rows, in any order."""
        wanted = sorted(expected, key=str)
        until(lambda: self._rows_or_none(sql) == wanted, lambda: (self._rows_or_none(sql), wanted[:20]))

    def _rows_or_none(self, sql: str) -> list[tuple[Any, ...]] | None:
        """None if a compaction has replaced a file under the query, which then says so."""
        try:
            return self.rows(sql)
        except KsqlError as error:
            if "A compaction may just have replaced it: ask again" not in error.message:
                raise
            return None
