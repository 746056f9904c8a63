"""Positions of streams in their lake tables: a compacted topic, written in the transactions of the rows.

So a row is in the stream's topic if and only if the position is behind it (ADR 60).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any, NamedTuple

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import TopicReader
from ksql_spark.kafka.transactions import TransactionalWriter, Written

_CONFIG = {"cleanup.policy": "compact", "retention.ms": "-1", "min.cleanable.dirty.ratio": "0.1"}
#: the key of the position; files have their names
_POSITION = b""


#: names a batch of a lake table, see lake.growth
Mark = Mapping[str, Any]


@dataclass(frozen=True)
class ReadFile:
    """A file of a folder that was read: in which batch, and how large it was."""

    batch: int
    size: int


class Encoded(NamedTuple):
    """A record of the stream: key, value, epoch milliseconds."""

    key: bytes | None
    value: bytes | None
    time_ms: int


@dataclass(frozen=True)
class Position:
    """The position of a stream in its lake table.

    Args:
        mark: of the batch that it read last, or None if it has read nothing.
        rows: how many rows of that batch it has.
        is_done: whether these are all of them.
        total: how many rows of all batches it has.
    """

    mark: Mark | None = None
    rows: int = 0
    is_done: bool = True
    total: int = 0


@dataclass
class Positions:
    """The position of one stream. Making one fences whoever has written it before. Not thread-safe.

    Args:
        admin: of the cluster.
        topic: of the positions; made if it is not there.
        lake: which lake table and stream they belong to; positions of others are none.

    Raises:
        KsqlError: BROKER_UNREACHABLE, KAFKA_REFUSED.
    """

    admin: KafkaAdmin
    topic: str
    lake: str
    position: Position = Position()
    files: dict[str, ReadFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.admin.topic(self.topic) is None:
            self.admin.create_topic(self.topic, config=_CONFIG)
        self._writer = TransactionalWriter(self.admin.servers, self.topic, self.admin.settings)
        try:
            with TopicReader(self.admin.servers, self.topic, settings=self.admin.settings) as reader:
                records = chain.from_iterable(reader.read_to_end())
                last = {r.key: r.value for r in records if r.key is not None and r.value is not None}
        except BaseException:
            self._writer.close()
            raise
        for key, value in last.items():
            fields = json.loads(value)
            if fields.pop("lake") == self.lake:
                if key == _POSITION:
                    self.position = Position(**fields)
                else:
                    self.files[key.decode()] = ReadFile(**fields)

    def write(
        self, topic: str, records: Iterable[Encoded], position: Position, files: Mapping[str, ReadFile]
    ) -> None:
        """Write records to ``topic`` and move the position, in one transaction.

        Raises:
            KsqlError: nothing was written, or after BROKER_UNREACHABLE perhaps all: make another one.
        """
        moved: list[tuple[bytes, Position | ReadFile]] = [(_POSITION, position)]
        moved += ((name.encode(), file) for name, file in files.items())
        self._writer.write(
            chain(
                (Written(topic, key, value, time_ms) for key, value, time_ms in records),
                (Written(self.topic, key, self._json(what)) for key, what in moved),
            )
        )
        self.position = position
        self.files |= files

    def _json(self, what: Position | ReadFile) -> bytes:
        return json.dumps({"lake": self.lake, **asdict(what)}).encode()

    def close(self) -> None:
        """Free the connections."""
        self._writer.close()


def positions_topic(service_id: str, topic: str) -> str:
    """The topic with the positions of the stream of ``topic``, and the transactional id of its writer."""
    return f"_confluent-ksql-{service_id}lake_{topic}"
