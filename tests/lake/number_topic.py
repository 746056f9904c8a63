"""A topic of numbers without Kafka, and the stream over it."""

from __future__ import annotations

import pyarrow as pa

from ksql_spark.lake.sinks import Range
from ksql_spark.metastore.sinks import Sink
from ksql_spark.metastore.sources import STREAM, DataSource, FormatSpec
from ksql_spark.schema import Column, Schema
from ksql_spark.types import INTEGER


class Topic:
    """A topic of numbers: admin and reader in one."""

    def __init__(self, *sizes: int) -> None:
        self.begins = dict.fromkeys(range(len(sizes)), 0)
        self.ends = dict(enumerate(sizes))
        self.id: str | None = "one"
        self.reads: list[Range] = []

    def topic_id(self, name: str) -> str | None:
        return self.id

    def beginning_offsets(self, name: str) -> dict[tuple[str, int], int]:
        return {(name, p): offset for p, offset in self.begins.items()}

    def committed_ends(self, name: str) -> dict[tuple[str, int], int]:
        return {(name, p): offset for p, offset in self.ends.items()}

    def read(self, sink: Sink, source: DataSource, columns: object, part: Range) -> pa.Table:
        self.reads.append(part)
        numbers = [
            partition * 1_000 + offset
            for partition, end in part.ends.items()
            for offset in range(part.starts[partition], end)
        ]
        return pa.table({"N": pa.array(numbers, pa.int32())})


SOURCE = DataSource("S", STREAM, Schema((Column("N", INTEGER),)), "s", FormatSpec("NONE"), FormatSpec("JSON"))
