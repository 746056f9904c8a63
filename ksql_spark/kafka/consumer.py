"""Reads records: a reader of one topic with its own offsets and without a consumer group."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.client import REQUEST_TIMEOUT_S, Connection, is_moving

#: the time that means the end of a topic in Kafka's ListOffsets
_LATEST = -1
#: how much a reader prefetches by default
PREFETCH_BYTES = 32 * 1024 * 1024
#: the minimum of librdkafka's limit for a broker's response
_MIN_FETCH_BYTES = 1_000_000
#: the maximum that a broker returns of one partition at once, as by default
_MAX_PARTITION_FETCH_BYTES = 1024 * 1024
#: how often a reader looks for new partitions of its topic, and how long it waits for the response, seconds
PARTITIONS_EVERY_S, _PARTITIONS_TIMEOUT_S = 5.0, 1.0


class Record(NamedTuple):
    """One record: key and value as bytes or None, timestamp in epoch milliseconds, headers in order."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class TopicReader:
    """Reads all partitions of one topic from given offsets. Not thread-safe.

    Partitions that the topic gains later are read from their beginning.

    Args:
        servers: ``host:port`` pairs, separated by commas.
        topic: an existing topic.
        offsets: where to start: ``earliest``, ``latest`` (as of now), or the next offset of each partition,
            where other partitions start at the earliest.
        read_committed: skip records of transactions that are open or aborted.
        settings: more settings, under librdkafka's names.
        prefetch_bytes: how much may be prefetched; a record may be larger.
        is_recreated: returns whether the topic has been recreated, so that offsets refer to other records;
            called now and then. May raise KsqlErrors.

    Raises:
        KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE.
    """

    def __init__(
        self,
        servers: str,
        topic: str,
        offsets: Mapping[int, int] | Literal["earliest", "latest"] = "earliest",
        read_committed: bool = True,
        settings: Mapping[str, Any] | None = None,
        prefetch_bytes: int = PREFETCH_BYTES,
        is_recreated: Callable[[], bool] = lambda: False,
    ) -> None:
        self.topic = topic
        self._is_recreated, self._was_recreated = is_recreated, False
        self._connection = Connection(servers, settings)
        self._admin = partial(KafkaAdmin, servers, settings)
        self._read_committed = read_committed
        self._consumer = Consumer(
            self._connection.config(
                # the client requires a name, but without subscribe() and commits it never joins a group
                group_id="ksql-spark-reader",
                enable_auto_commit=False,
                enable_auto_offset_store=False,
                auto_offset_reset="earliest",
                allow_auto_create_topics=False,
                enable_partition_eof=True,
                isolation_level="read_committed" if read_committed else "read_uncommitted",
                # by default the client pauses for a second whenever its queue is full
                fetch_queue_backoff_ms=2,
                queued_min_messages=1_000_000,
                queued_max_messages_kbytes=prefetch_bytes // 1024,
                fetch_max_bytes=max(prefetch_bytes, _MIN_FETCH_BYTES),
                max_partition_fetch_bytes=min(prefetch_bytes, _MAX_PARTITION_FETCH_BYTES),
                # the broker answers a waiting fetch as soon as a record arrives, so this adds no delay
                fetch_wait_max_ms=500,
            )
        )
        #: when Kafka last listed the partitions, on the monotonic clock
        self.heard_at = self._looked_at = time.monotonic()
        self._asking: threading.Thread | None = None
        self._there: set[int] = set()
        try:
            self._positions = self._start(offsets)
            self._starts = dict(self._positions)
            self._consumer.assign([TopicPartition(topic, *pair) for pair in self._positions.items()])
        except BaseException as error:
            self._consumer.close()
            if isinstance(error, KafkaException):
                raise self._connection.failure(error, f"read topic '{topic}'", topic) from None
            raise
        self._at_end: set[int] = set()

    def __enter__(self) -> TopicReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def positions(self) -> dict[int, int]:
        """The offset of the next record of each partition."""
        return dict(self._positions)

    @property
    def starts(self) -> dict[int, int]:
        """The offset at which it started to read each partition."""
        return dict(self._starts)

    @property
    def known_ends(self) -> dict[int, int]:
        """The ends of partitions as of the last fetches, except partitions that were never fetched."""
        ends: dict[int, int] = {}
        for partition in self._positions:
            place = TopicPartition(self.topic, partition)
            _, end = self._consumer.get_watermark_offsets(place, cached=True)
            if end >= 0:
                ends[partition] = end
        return ends

    @property
    def at_end(self) -> bool:
        """Whether all records that existed at the last fetch have been read."""
        return len(self._at_end) == len(self._positions)

    def poll_batch(self, timeout_s: float, limit: int = 10_000, max_bytes: int | None = None) -> list[Record]:
        """The next records, at most ``limit``; [] if none arrives within ``timeout_s`` seconds.

        Args:
            timeout_s: how long to wait for the first one.
            limit: how many records.
            max_bytes: stop after this many bytes of keys and values.

        Raises:
            KsqlError: TOPIC_UNKNOWN if the topic was deleted, TOPIC_MADE_AGAIN, BROKER_UNREACHABLE,
                KAFKA_REFUSED.
        """
        self._find_partitions()
        deadline = time.monotonic() + timeout_s
        while True:
            first = self._consumer.poll(max(0.0, deadline - time.monotonic()))
            if first is None:
                return []
            messages = [first]
            if max_bytes is None:
                messages += self._consumer.consume(limit - 1, 0) if limit > 1 else []
            else:
                size = _bytes_of(messages)
                while size < max_bytes and len(messages) < limit:
                    fitting = (max_bytes - size) * len(messages) // max(size, 1)
                    more = self._consumer.consume(max(1, min(fitting, limit - len(messages))), 0)
                    if not more:
                        break
                    messages += more
                    size += _bytes_of(more)
            if records := self._records(messages):
                return records

    def read_to_end(self) -> Iterator[list[Record]]:
        """All records that are currently in the topic and were not read before, in batches.

        Raises:
            KsqlError: as poll_batch(); BROKER_UNREACHABLE if nothing arrives for REQUEST_TIMEOUT_S.
        """
        # on another connection: on the reader's own, the response would wait for the open fetch
        admin = self._admin()
        by_place = (admin.committed_ends if self._read_committed else admin.end_offsets)(self.topic)
        ends = {partition: end for (_, partition), end in by_place.items()}
        progress = time.monotonic()
        while any(self._positions.get(p, end) < end for p, end in ends.items()):
            if batch := self.poll_batch(0.1):
                progress = time.monotonic()
                yield batch
            elif time.monotonic() - progress > REQUEST_TIMEOUT_S:
                raise KsqlError(
                    "BROKER_UNREACHABLE",
                    servers=self._connection.servers,
                    reason=self._connection.last_failure,
                )

    def close(self) -> None:
        """Free the connections; may be called more than once."""
        if self._asking is not None:
            self._asking.join()
        self._consumer.close()

    def _start(self, offsets: Mapping[int, int] | str) -> dict[int, int]:
        """The first offset to read of each partition."""
        metadata = self._consumer.list_topics(self.topic, timeout=REQUEST_TIMEOUT_S).topics[self.topic]
        if metadata.error:
            raise KafkaException(metadata.error)
        partitions = sorted(metadata.partitions)
        if isinstance(offsets, Mapping):
            starts = offsets
            return {p: starts[p] if p in starts else self._watermarks(p)[0] for p in partitions}
        side = 0 if offsets == "earliest" else 1
        return {p: self._watermarks(p)[side] for p in partitions}

    def _find_partitions(self) -> None:
        """Begin to read partitions that the topic has gained; asks only now and then, without waiting."""
        now = time.monotonic()
        if now - self._looked_at >= PARTITIONS_EVERY_S and self._asking is None:
            self._looked_at = now
            self._asking = threading.Thread(target=self._ask_for_partitions, name="partitions", daemon=True)
            self._asking.start()
        elif self._asking is not None and not self._asking.is_alive():
            self._asking = None
            if self._was_recreated:
                raise KsqlError("TOPIC_MADE_AGAIN", topic=self.topic)
            if new := dict.fromkeys(self._there - self._positions.keys(), 0):
                self._consumer.incremental_assign([TopicPartition(self.topic, *pair) for pair in new.items()])
                self._starts |= new
                self._positions |= new

    def _ask_for_partitions(self) -> None:
        """Request the topic's partitions; the response may have to wait for another reader's open fetch."""
        try:
            metadata = self._consumer.list_topics(self.topic, timeout=_PARTITIONS_TIMEOUT_S).topics[
                self.topic
            ]
            self._was_recreated = self._is_recreated()
        except (KafkaException, KsqlError):
            return  # reading reports the problem
        if not metadata.error:
            self._there = set(metadata.partitions)
            self.heard_at = time.monotonic()

    def _watermarks(self, partition: int) -> tuple[int, int]:
        """The first offset of a partition, and the offset after its last record."""
        place = TopicPartition(self.topic, partition)
        deadline = time.monotonic() + REQUEST_TIMEOUT_S
        while True:
            try:
                low, high = self._consumer.get_watermark_offsets(place, timeout=REQUEST_TIMEOUT_S)
            except KafkaException as error:
                if is_moving(error) and time.monotonic() < deadline:
                    time.sleep(0.05)
                    continue
                raise self._connection.failure(error, f"read topic '{self.topic}'", self.topic) from None
            return low, high

    def _records(self, messages: list[Any]) -> list[Record]:
        """Messages as records; updates the positions and the partitions at their end."""
        records = []
        topic, positions, at_end = self.topic, self._positions, self._at_end
        for message in messages:
            error = message.error()
            partition = message.partition()
            if error is None:
                offset = message.offset()
                positions[partition] = offset + 1
                if at_end:
                    at_end.discard(partition)
                headers = message.headers()
                records.append(
                    Record(
                        topic,
                        partition,
                        offset,
                        message.timestamp()[1],
                        message.key(),
                        message.value(),
                        tuple(headers) if headers else (),
                    )
                )
            elif error.code() == KafkaError._PARTITION_EOF:
                # transaction markers have offsets too, so the end may be after the last record
                self._positions[partition] = max(self._positions[partition], message.offset())
                self._at_end.add(partition)
            elif error.code() not in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
                raise self._connection.failure(error, f"read topic '{self.topic}'", self.topic)
        return records


#: how many unwanted records to read over before looking for the next wanted one by its offset
_GAP = 1000


def read_at(
    servers: str,
    topic: str,
    offsets: Mapping[int, Iterable[int]],
    settings: Mapping[str, Any] | None = None,
) -> Iterator[Record]:
    """The records of ``topic`` at some offsets (partition -> offsets), in their order; without those that are
    no longer there.

    Raises:
        KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED.
    """
    connection = Connection(servers, settings)
    with contextlib.closing(
        Consumer(
            connection.config(
                group_id="ksql-spark-reader",  # required, although it never joins a group
                enable_auto_commit=False,
                enable_auto_offset_store=False,
                auto_offset_reset="error",
                allow_auto_create_topics=False,
                enable_partition_eof=True,
                isolation_level="read_uncommitted",
            )
        )
    ) as consumer:
        try:
            for partition in sorted(offsets):
                low, high = consumer.get_watermark_offsets(
                    TopicPartition(topic, partition), timeout=REQUEST_TIMEOUT_S
                )
                readable = sorted({offset for offset in offsets[partition] if low <= offset < high})
                yield from _read_partition(consumer, connection, topic, partition, readable)
        except KafkaException as error:
            raise connection.failure(error, f"read topic '{topic}'", topic) from None


def _read_partition(
    consumer: Consumer, connection: Connection, topic: str, partition: int, offsets: list[int]
) -> Iterator[Record]:
    """The records of one partition at the offsets ``offsets``, which are sorted."""
    next_ = -1
    progress = time.monotonic()
    while offsets:
        if next_ < 0 or offsets[0] - next_ >= _GAP:
            next_ = offsets[0]
            consumer.assign([TopicPartition(topic, partition, next_)])
        message: Any = consumer.poll(1.0)
        if message is None:
            if time.monotonic() - progress > REQUEST_TIMEOUT_S:
                raise KsqlError(
                    "BROKER_UNREACHABLE", servers=connection.servers, reason=connection.last_failure
                )
            continue
        progress = time.monotonic()
        error = message.error()
        if error is None:
            next_ = message.offset() + 1
            while offsets and offsets[0] < message.offset():  # compacted away
                offsets.pop(0)
            if offsets and offsets[0] == message.offset():
                offsets.pop(0)
                yield Record(
                    topic, partition, message.offset(), message.timestamp()[1],
                    message.key(), message.value(), tuple(message.headers() or ()),
                )  # fmt: skip
        elif error.code() in (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET):
            return  # the rest is gone: it was removed meanwhile
        elif error.code() not in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):
            raise connection.failure(error, f"read topic '{topic}'", topic)


def _bytes_of(messages: Iterable[Any]) -> int:
    return sum(len(message) + len(message.key() or b"") for message in messages)


class EndOffsets:
    """Fetches the ends of topics with one request per broker, answered in well under a millisecond.

    An end is where a reader of committed records stops, so it excludes records of open transactions. Only one
    thread at a time may use it.

    Args:
        servers: ``host:port`` pairs, separated by commas.
        settings: more settings, under librdkafka's names.
    """

    #: how long to cache the partitions of a topic, seconds
    KNOWN_S = 5.0

    def __init__(self, servers: str, settings: Mapping[str, Any] | None = None) -> None:
        self._connection = Connection(servers, settings)
        self._consumer: Consumer | None = None
        #: topic -> its partitions, and when they were fetched
        self._partitions_of: dict[str, tuple[list[int], float]] = {}

    def of(self, topics: Iterable[str]) -> dict[tuple[str, int], int]:
        """The offset after the last record of each partition of ``topics``.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED.
        """
        names = list(topics)
        requests = [TopicPartition(t, p, _LATEST) for t in names for p in self._partitions(t)]
        try:
            results = self._client.offsets_for_times(requests, timeout=REQUEST_TIMEOUT_S)
            for place in results:
                if place.error is not None:
                    raise KafkaException(place.error)
        except KafkaException as error:
            self._partitions_of.clear()
            raise self._connection.failure(error, f"read {', '.join(names)}", names[0]) from None
        return {(place.topic, place.partition): place.offset for place in results}

    def close(self) -> None:
        """Free the connections."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    @property
    def _client(self) -> Consumer:
        if self._consumer is None:
            self._consumer = Consumer(
                self._connection.config(
                    # required, although it never joins a group
                    group_id="ksql-spark-offsets",
                    enable_auto_commit=False,
                    allow_auto_create_topics=False,
                    isolation_level="read_committed",
                )
            )
        return self._consumer

    def _partitions(self, topic: str) -> list[int]:
        cached = self._partitions_of.get(topic)
        now = time.monotonic()
        if cached is not None and now - cached[1] < self.KNOWN_S:
            return cached[0]
        try:
            metadata = self._client.list_topics(topic, timeout=REQUEST_TIMEOUT_S).topics[topic]
            if metadata.error:
                raise KafkaException(metadata.error)
        except KafkaException as error:
            raise self._connection.failure(error, f"read topic '{topic}'", topic) from None
        self._partitions_of[topic] = (sorted(metadata.partitions), now)
        return self._partitions_of[topic][0]
