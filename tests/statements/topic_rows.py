"""Rows of the topics that a new version compares and writes, in place of Kafka."""

from __future__ import annotations

from ksql_spark.kafka.consumer import Record
from ksql_spark.runtime.queries import differences


class TopicRows:
    """Topics by name, with their rows by key.

    Attributes:
        written: topic, key and value of each record that was written, in order.
        fenced: the transactional ids whose writers were fenced, in order.
        fails: whether nothing can be written now.
    """

    def __init__(self) -> None:
        self.rows: dict[str, dict[bytes, bytes]] = {}
        self.written: list[tuple[str, bytes | None, bytes | None]] = []
        self.fenced: list[str] = []
        self.fails = False

    def latest(self, topic: str) -> dict[differences.Place, Record]:
        rows = self.rows.get(topic, {})
        return differences.latest(Record(topic, 0, i, 1000 + i, *row) for i, row in enumerate(rows.items()))

    def written_as(self, transactional_id: str) -> TopicRows:
        """Return itself as the writer, which fences whoever has written under this name."""
        self.fenced.append(transactional_id)
        return self

    def close(self) -> None:
        """As its writer."""

    def write(self, _: object, topic: str, records: list[Record]) -> None:
        if self.fails:
            raise OSError("the network is gone")
        for record in records:
            self.written.append((topic, record.key, record.value))
            rows = self.rows.setdefault(topic, {})
            assert record.key is not None
            rows.pop(record.key, None)
            if record.value is not None:
                rows[record.key] = record.value
