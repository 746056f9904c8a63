"""Which records a topic's brokers refuse, so that none of several is written if they refuse one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin

Record = tuple[bytes | None, bytes | None, int]
"""A key, a value, and a time in epoch milliseconds."""

#: the producer's message.max.bytes
_PRODUCER_BYTES = 1_000_000
#: what the producer counts for a record besides its key and value, at most
_RECORD_BYTES = 36
#: of the header of a batch
_BATCH_BYTES = 61
_ENDLESS = str(2**63 - 1)


@dataclass(frozen=True)
class RecordLimits:
    """What a topic's configuration says about its records.

    Args:
        topic: the topic's name.
        config: its configuration; what it lacks sets no limit.
    """

    topic: str
    config: Mapping[str, str]

    @classmethod
    def of(cls, topic: str, admin: KafkaAdmin) -> RecordLimits:
        """Those of a topic; none are known if the server may not see its configuration, or a broker does not
        know the topic yet, for which the producer waits.

        Raises:
            KsqlError: BROKER_UNREACHABLE.
        """
        try:
            return cls(topic, admin.config(topic))
        except KsqlError as error:
            if error.condition not in ("KAFKA_REFUSED", "TOPIC_UNKNOWN"):
                raise
            return cls(topic, {})

    def check(self, record: Record, now_ms: int) -> None:
        """Refuse a record that the brokers would refuse.

        Raises:
            ValueError: with the reason.
        """
        key, value, time_ms = record
        if key is None and "compact" in self.config.get("cleanup.policy", ""):
            raise ValueError(f"Topic {self.topic} is compacted, so that each record needs a key.")
        own = len(key or b"") + len(value or b"")
        if own + _RECORD_BYTES > _PRODUCER_BYTES or _batch_bytes(key, value) > self._most_bytes:
            name = "message.max.bytes" if self._most_bytes > _PRODUCER_BYTES else "max.message.bytes"
            most = min(_PRODUCER_BYTES, self._most_bytes)
            reason = (
                f"The record has {own:,} bytes, too many for topic {self.topic}, whose {name} is {most:,}."
            )
            raise ValueError(reason)
        if self.config.get("message.timestamp.type") == "LogAppendTime":
            return
        for side, distance_ms in (("before", now_ms - time_ms), ("after", time_ms - now_ms)):
            name = f"message.timestamp.{side}.max.ms"
            if distance_ms > int(self.config.get(name, _ENDLESS)):
                reason = f"Its time, {time_ms}, is too far from now: {name} of topic {self.topic} is"
                raise ValueError(f"{reason} {self.config[name]}.")

    def parts(self, records: Collection[Record]) -> Iterator[Collection[Record]]:
        """``records`` in parts that fit into a batch each, or as they are if every batch is small enough."""
        if self._most_bytes >= _PRODUCER_BYTES:
            yield records
            return
        part: list[Record] = []
        size = _BATCH_BYTES
        for record in records:
            more = _RECORD_BYTES + sum(len(data or b"") for data in record[:2])
            if part and size + more > self._most_bytes:
                yield part
                part, size = [], _BATCH_BYTES
            part.append(record)
            size += more
        yield part

    @cached_property
    def _most_bytes(self) -> int:
        return int(self.config.get("max.message.bytes", _ENDLESS))


def _batch_bytes(key: bytes | None, value: bytes | None) -> int:
    """The size of a batch with one record without headers.

    >>> _batch_bytes(b"k", b"x" * 4929)
    5000
    """
    # attributes, differences of time and offset, number of headers
    size = 4 + sum(_varint_bytes(len(data)) + len(data) if data is not None else 1 for data in (key, value))
    return _BATCH_BYTES + _varint_bytes(size) + size


def _varint_bytes(number: int) -> int:
    """How many bytes a length takes: 7 bits in each, with one bit for the sign."""
    return max(1, -(-(number.bit_length() + 1) // 7))
