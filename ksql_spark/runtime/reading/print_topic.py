"""PRINT: a topic's records as text, with formats guessed from the bytes (reference §2.12)."""

from __future__ import annotations

import datetime
import itertools
import threading
from typing import Literal

from ksql_spark.formats.detection import FormatDetector
from ksql_spark.formats.framed import with_schema_id
from ksql_spark.formats.self_described import SelfDescribed
from ksql_spark.formats.spec import KEY, VALUE
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.runtime.reading.results import QueryStream, ResultColumn, Row, Rows
from ksql_spark.schema_registry import SchemaRegistry

_numbers = itertools.count(1)
#: how much to prefetch for a client
_PREFETCH_BYTES = 1024 * 1024


class PrintResult(QueryStream):
    """A QueryStream of one column: lines of text.

    Args:
        admin: of the cluster.
        topic: an existing topic.
        from_beginning: start at the oldest record; else at new ones.
        every: print every n-th record.
        registry: has the schemas of AVRO, PROTOBUF and JSON_SR; or None.
        limit: end after this many records; None: never.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        topic: str,
        *,
        from_beginning: bool,
        every: int = 1,
        limit: int | None = None,
        registry: SchemaRegistry | None = None,
    ) -> None:
        self.query_id = f"print_{topic}_{next(_numbers)}"
        self.kind = "PRINT"
        self.columns = [ResultColumn("line", "STRING")]
        self.final_message: str | None = None
        start: Literal["earliest", "latest"] = "earliest" if from_beginning else "latest"
        self._reader = TopicReader(
            admin.servers, topic, start, settings=admin.settings, prefetch_bytes=_PREFETCH_BYTES
        )
        self._lock = threading.Lock()
        self._closed = False
        self._every = max(every, 1)
        self._remaining = limit
        self._count = 0
        shown = None if registry is None else SelfDescribed(registry)
        self._guesses = {
            "Key": FormatDetector(is_key=True, shown=shown),
            "Value": FormatDetector(is_key=False, shown=shown),
        }
        self._announced: dict[str, str] = {}

    def read(self, timeout_s: float) -> Rows | None:
        """The lines of the records that have arrived, see QueryStream."""
        if self._closed or (self._remaining is not None and self._remaining <= 0):
            self.close()
            return None
        with self._lock:
            records = [] if self._closed else self._reader.poll_batch(timeout_s, max_bytes=_PREFETCH_BYTES)
        rows = Rows()
        for record in records:
            if self._remaining is not None and self._remaining <= 0:
                break
            self._count += 1
            if (self._count - 1) % self._every == 0:
                rows += [Row([line]) for line in self._lines(record)]
                if self._remaining is not None:
                    self._remaining -= 1
        return rows

    def _lines(self, record: Record) -> list[str]:
        key = self._guesses["Key"].show(with_schema_id(record.key, record.headers, KEY))
        value = self._guesses["Value"].show(with_schema_id(record.value, record.headers, VALUE))
        lines = []
        for side, guess in self._guesses.items():
            if self._announced.get(side) != str(guess):
                self._announced[side] = str(guess)
                lines.append(f"{side} format: {guess}")
        time = _shown_time(record.timestamp_ms)
        lines.append(f"rowtime: {time}, key: {key}, value: {value}, partition: {record.partition}")
        return lines

    def close(self) -> None:
        """Stop reading."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._reader.close()


def _shown_time(ms: int) -> str:
    """A record's timestamp (epoch ms), even if it is not a date."""
    try:
        at = datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return f"{ms} ms"
    return f"{at:%Y/%m/%d %H:%M:%S}.{at.microsecond // 1000:03d} Z"
