"""One reader per topic for all push queries on it, with a bounded queue for each query.

A feed reads new records and passes each batch to all its subscriptions, which share it. A subscription that
starts in the past, or whose client reads too slowly, reads the topic itself until it has caught up: Kafka
keeps the records, so no client waits for another.

Memory is bounded for the whole server (PushMemory). One half is for batches that wait for clients: when it is
full, subscriptions with unread batches drop them and read them again later. The other half is for the readers
of subscriptions that catch up: their number is limited, and a reader whose client does not read is closed.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader

log = logging.getLogger(__name__)

_MIB = 1024 * 1024
#: how many records may wait for one client before it must read by itself
MAX_WAITING = 10_000
#: how many records a feed keeps, so that new subscriptions need no reader of their own
_REMEMBERED = 5_000
_REMEMBERED_BYTES = _MIB
#: how much a feed prefetches, and how large its batches are
_FEED_PREFETCH_BYTES, _FEED_BATCH_BYTES = 4 * _MIB, _MIB
#: the same for a subscription that catches up, and what its reader needs in total, including its threads
_PREFETCH_BYTES, _PIECE_BYTES, _READER_BYTES = 256 * 1024, 64 * 1024, 8 * _MIB
#: about how many waiting bytes one read takes
_READ_BYTES = _MIB
#: how long a subscription keeps its reader before another one may take its place
_READER_KEPT_S = 0.5
#: how long batches wait for more records: per subscription, and at most
_PAUSE_EACH_S, _MAX_PAUSE_S = 0.00005, 0.025
_POLL_S = 0.2


class PushMemory:
    """The memory for records that wait for push clients. Thread-safe.

    Args:
        max_bytes: the limit for all of them.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_waiting = max_bytes // 2
        #: how many subscriptions may have their own reader at once
        self.max_readers = max(1, max_bytes // 2 // _READER_BYTES)
        self._lock = threading.Lock()
        self._holders: dict[Batch, int] = {}
        #: bytes of the waiting batches, each counted once
        self.waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether no more batches should wait."""
        return self.waiting >= self._max_waiting

    def hold(self, batch: Batch) -> None:
        """Count one more client that waits to read a batch."""
        with self._lock:
            holders = self._holders.get(batch, 0)
            self._holders[batch] = holders + 1
            if not holders:
                self.waiting += batch.size

    def let_go(self, batch: Batch) -> None:
        """Count one client fewer that waits to read a batch."""
        with self._lock:
            holders = self._holders[batch] - 1
            if holders:
                self._holders[batch] = holders
            else:
                del self._holders[batch]
                self.waiting -= batch.size


class Batch:
    """Records that arrived together, at least one, and the results that queries have made of them."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        #: the batch's maximum size in bytes: records, rows made of them, the text of each row and of all rows
        self.size = 4 * sum(map(_size, records))
        #: partition -> the offsets of its first record and after its last record
        self.first: dict[int, int] = {}
        self.next: dict[int, int] = {}
        for record in records:
            self.first.setdefault(record.partition, record.offset)
            self.next[record.partition] = record.offset + 1
        self._results: dict[Hashable, Any] = {}

    def result(self, key: Hashable, make: Callable[[Iterable[Record]], Any]) -> Any:
        """The result of ``make(records)``, shared by all queries with the same ``key``."""
        if key not in self._results:
            self._results[key] = make(self.records)
        return self._results[key]


class Feed:
    """Reads new records of one topic. Thread-safe.

    Args:
        admin: of the cluster.
        topic: an existing topic.
        starts: partition -> the first offset to read.
        read_committed: skip records of transactions that are open or aborted.
    """

    def __init__(
        self, admin: KafkaAdmin, topic: str, starts: Mapping[int, int], *, read_committed: bool
    ) -> None:
        self.topic = topic
        self.error: KsqlError | None = None
        self._lock = threading.Lock()
        self._subscriptions: set[Subscription] = set()
        self._recent: deque[Record] = deque()
        self._recent_bytes = 0
        #: partition -> the offset from which all records are among the recent ones, or still to come
        self._has_from: dict[int, int] = {}
        self._closing = threading.Event()
        self._reader = TopicReader(
            admin.servers,
            topic,
            starts,
            read_committed=read_committed,
            settings=admin.settings,
            prefetch_bytes=_FEED_PREFETCH_BYTES,
            is_recreated=admin.recreation_check(topic),
        )
        self._has_from = self._reader.starts
        self._thread = threading.Thread(target=self._run, name=f"feed-{topic}", daemon=True)
        self._thread.start()

    def attach(self, subscription: Subscription) -> bool:
        """Give a subscription the records that it lacks, and all new ones; False if it lacks too many."""
        with self._lock:
            if self.error is not None or self._closing.is_set():
                return False
            places = subscription.next
            if any(places.get(p, 0) < first for p, first in self._has_from.items()):
                return False
            missed = [r for r in self._recent if r.offset >= places.get(r.partition, 0)]
            subscription.attached(Batch(missed) if missed else None)
            self._subscriptions.add(subscription)
            return True

    def detach(self, subscription: Subscription) -> bool:
        """Remove a subscription; returns whether it was the last one."""
        with self._lock:
            self._subscriptions.discard(subscription)
            return not self._subscriptions

    def close(self) -> None:
        """Stop reading."""
        self._closing.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(5)

    def _run(self) -> None:
        try:
            with contextlib.closing(self._reader):
                while not self._closing.is_set():
                    records = self._reader.poll_batch(_POLL_S, max_bytes=_FEED_BATCH_BYTES)
                    if len(self._reader.starts) > len(self._has_from):
                        self._note_partitions()
                    if records:
                        self._give(records)
                        # with many clients, wake them less often, with more rows each
                        time.sleep(min(_MAX_PAUSE_S, len(self._subscriptions) * _PAUSE_EACH_S))
        except KsqlError as error:
            self._fail(error)
        except Exception as error:
            log.exception("reading %s for push queries stopped", self.topic)
            self._fail(KsqlError("INTERNAL", reason=str(error)))

    def _note_partitions(self) -> None:
        with self._lock:
            self._has_from = {**self._reader.starts, **self._has_from}

    def _give(self, records: list[Record]) -> None:
        batch = Batch(records)
        with self._lock:
            for record in records:
                self._recent.append(record)
                self._recent_bytes += _size(record)
            while len(self._recent) > _REMEMBERED or self._recent_bytes > _REMEMBERED_BYTES:
                old = self._recent.popleft()
                self._recent_bytes -= _size(old)
                self._has_from[old.partition] = old.offset + 1
            slow = [s for s in self._subscriptions if not s.take(batch)]
            self._subscriptions.difference_update(slow)

    def _fail(self, error: KsqlError) -> None:
        with self._lock:
            self.error = error
            subscriptions, self._subscriptions = self._subscriptions, set()
        for subscription in subscriptions:
            # offsets now refer to other records: continuing at the old ones would skip some
            subscription.detached(error if error.condition == "TOPIC_MADE_AGAIN" else None)


def _size(record: Record) -> int:
    return 100 + len(record.key or b"") + len(record.value or b"")


class Subscription:
    """One push query's view of a topic. Only one thread at a time may call ``read`` and ``close``.

    Args:
        feeds: has the feed of the topic.
        topic: an existing topic.
        starts: partition -> the first offset to read.
        read_committed: as for Feed.
    """

    def __init__(self, feeds: Feeds, topic: str, starts: Mapping[int, int], *, read_committed: bool) -> None:
        self.topic = topic
        self.read_committed = read_committed
        #: partition -> the offset of the next record
        self.next = dict(starts)
        #: whether reading does not block, because records come from a feed
        self.is_live = False
        self._feeds = feeds
        #: guards the batches: a feed adds them, the query's thread takes them
        self._lock = threading.Lock()
        self._batches: deque[Batch] = deque()
        #: how many records the batches contain
        self._waiting = 0
        #: signals a thread in read(); most queries have none, because the event loop waits for all of
        #: them
        self._arrived: threading.Event | None = None
        self._on_arrival: Callable[[], None] | None = None
        self._closed = False
        #: the error that ends the query once it has read what has arrived
        self._error: KsqlError | None = None

    # ---- called by the feed, with its lock ------------------------------------------------------------

    def attached(self, missed: Batch | None) -> None:
        """Begin to deliver all new records to the subscription, and ``missed`` before them."""
        self.is_live = True
        if missed is not None:
            self.take(missed)

    def take(self, batch: Batch) -> bool:
        """Accept a batch; False if too much is waiting already, after which no more batches come."""
        memory = self._feeds.memory
        with self._lock:
            waiting = self._waiting
            if waiting and (memory.is_full or waiting + len(batch.records) > MAX_WAITING):
                self._drop()
                self.is_live = False
            elif not self._closed:
                self._waiting += len(batch.records)
                self._batches.append(batch)
                memory.hold(batch)
        self._arrive()
        return self.is_live

    def detached(self, error: KsqlError | None = None) -> None:
        """End the delivery: batches that have arrived can still be read, then ``error`` is raised, if any."""
        self._error = error
        self.is_live = False
        self._arrive()

    def _drop(self) -> None:
        """Drop the waiting batches, to be read again from ``next``. The caller holds the lock."""
        for batch in self._batches:
            self._feeds.memory.let_go(batch)
        self._batches.clear()
        self._waiting = 0

    def _arrive(self) -> None:
        if (arrived := self._arrived) is not None:
            arrived.set()
        on_arrival, self._on_arrival = self._on_arrival, None
        if on_arrival is not None:
            on_arrival()

    # ---- called by the query --------------------------------------------------------------------------

    def when_arrived(self, on_arrival: Callable[[], None]) -> None:
        """Call ``on_arrival`` once, in any thread, when ``read`` has something to do."""
        self._on_arrival = on_arrival
        if self._batches or not self.is_live or self._closed:
            self._arrive()

    def read(self, timeout_s: float) -> list[Batch]:
        """The batches that have arrived; [] if none arrives within ``timeout_s``. With 0 it never blocks.

        Raises:
            KsqlError: as TopicReader.poll_batch.
        """
        if not self._batches and timeout_s > 0 and not self._closed:
            if self._error is not None:
                raise self._error.without_context()
            if not self.is_live:
                return self._catch_up(timeout_s)
            self._wait(timeout_s)
        return [batch for batch in map(self._unread, self._next_batches()) if batch is not None]

    def _next_batches(self) -> list[Batch]:
        """The next waiting batches: no more than a client should hold while its output waits."""
        batches: list[Batch] = []
        size = 0
        with self._lock:
            while self._batches and size < _READ_BYTES:
                batch = self._batches.popleft()
                self._waiting -= len(batch.records)
                self._feeds.memory.let_go(batch)
                size += batch.size
                batches.append(batch)
        return batches

    def _wait(self, timeout_s: float) -> None:
        arrived = self._arrived = threading.Event()
        if not self._batches and self.is_live and not self._closed:  # nothing came before the event existed
            arrived.wait(timeout_s)
        self._arrived = None

    def _unread(self, batch: Batch) -> Batch | None:
        """``batch`` without records that have already been read."""
        places = self.next
        for partition, first in batch.first.items():
            if first < places.get(partition, 0):
                break
        else:
            places.update(batch.next)
            return batch
        unread = [r for r in batch.records if r.offset >= places.get(r.partition, 0)]
        if not unread:
            return None
        batch = Batch(unread)
        places.update(batch.next)
        return batch

    def _catch_up(self, timeout_s: float) -> list[Batch]:
        """Read the topic itself until a feed has all missing records; [] while all readers are in use."""
        if self._feeds.attach(self, makes_one=False):
            self._feeds.readers.give_back(self)
            return []
        with self._feeds.readers.lent(self, timeout_s) as reader:
            if reader is None:
                return []
            records = reader.poll_batch(timeout_s, max_bytes=_PIECE_BYTES)
            self.next = reader.positions
            is_near = reader.at_end or not records
        if is_near and self._feeds.attach(self, makes_one=True):
            self._feeds.readers.give_back(self)
        return [Batch(records)] if records else []

    def close(self) -> None:
        """Stop reading; any thread may call this."""
        self._closed = True
        self._feeds.leave(self)
        with self._lock:
            self._drop()
        self._arrive()

    def free(self) -> None:
        """Close its own reader, if it has one; called by the thread that reads."""
        self._feeds.readers.give_back(self)


class Readers:
    """The readers of subscriptions that catch up, limited in number. Thread-safe.

    Args:
        admin: of the cluster.
        max_readers: how many there may be at once.
    """

    def __init__(self, admin: KafkaAdmin, max_readers: int) -> None:
        self._admin = admin
        self._max = max_readers
        self._lock = threading.Lock()
        #: by subscription, in order of last use; None while a reader is being opened
        self._readers: dict[Subscription, TopicReader | None] = {}
        #: when each was last used; None while it is in use
        self._used_at: dict[Subscription, float | None] = {}

    def __len__(self) -> int:
        return len(self._readers)

    @contextlib.contextmanager
    def lent(self, subscription: Subscription, timeout_s: float) -> Iterator[TopicReader | None]:
        """A block with a subscription's reader at its position; None if none is available yet.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        if not self._take_place(subscription):
            time.sleep(min(timeout_s, _READER_KEPT_S))
            yield None
            return
        try:
            reader = self._readers[subscription]
            if reader is None:
                reader = self._readers[subscription] = self._open(subscription)
            yield reader
        except BaseException:
            self.give_back(subscription)
            raise
        with self._lock:
            self._readers[subscription] = self._readers.pop(subscription)  # to the end
            self._used_at[subscription] = time.monotonic()

    def _take_place(self, subscription: Subscription) -> bool:
        """Whether a subscription may read now, perhaps in the place of one whose client does not read."""
        unused: TopicReader | None = None
        with self._lock:
            if subscription not in self._readers:
                if len(self._readers) >= self._max:
                    idle = next((s for s in self._readers if self._is_idle(s)), None)
                    if idle is None:
                        return False
                    unused = self._remove(idle)
                self._readers[subscription] = None
            self._used_at[subscription] = None
        if unused is not None:
            unused.close()
        return True

    def _is_idle(self, subscription: Subscription) -> bool:
        used_at = self._used_at[subscription]
        return used_at is not None and time.monotonic() - used_at > _READER_KEPT_S

    def _open(self, subscription: Subscription) -> TopicReader:
        return TopicReader(
            self._admin.servers,
            subscription.topic,
            subscription.next,
            read_committed=subscription.read_committed,
            settings=self._admin.settings,
            prefetch_bytes=_PREFETCH_BYTES,
            is_recreated=self._admin.recreation_check(subscription.topic),
        )

    def _remove(self, subscription: Subscription) -> TopicReader | None:
        self._used_at.pop(subscription, None)
        return self._readers.pop(subscription, None)

    def give_back(self, subscription: Subscription) -> None:
        """Close a subscription's reader, if it has one."""
        with self._lock:
            reader = self._remove(subscription)
        if reader is not None:
            reader.close()


class Feeds:
    """The feeds of a server, each of which exists as long as it has a subscription. Thread-safe.

    Args:
        admin: of the cluster.
        max_bytes: the limit on records that wait for push clients.
    """

    def __init__(self, admin: KafkaAdmin, max_bytes: int) -> None:
        self._admin = admin
        self.memory = PushMemory(max_bytes)
        self.readers = Readers(admin, self.memory.max_readers)
        self._lock = threading.Lock()
        self._feeds: dict[tuple[str, bool], Feed] = {}

    def subscribe(
        self, topic: str, starts: Mapping[int, int], *, read_committed: bool, from_now: bool
    ) -> Subscription:
        """Subscribe to ``topic`` from ``starts`` (partition -> offset).

        Args:
            topic: an existing topic.
            starts: of all its partitions.
            read_committed: skip records of transactions that are open or aborted.
            from_now: whether ``starts`` are, or recently were, the topic's ends.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        subscription = Subscription(self, topic, starts, read_committed=read_committed)
        self.attach(subscription, makes_one=from_now)
        return subscription

    def attach(self, subscription: Subscription, *, makes_one: bool) -> bool:
        """Attach to the topic's feed if it has the missing records; ``makes_one``: create the feed if
        necessary.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        name = subscription.topic, subscription.read_committed
        with self._lock:
            feed = self._feeds.get(name)
            if feed is not None and feed.error is not None:
                del self._feeds[name]
                feed = None
            if feed is None:
                if not makes_one:
                    return False
                feed = Feed(
                    self._admin,
                    subscription.topic,
                    subscription.next,
                    read_committed=subscription.read_committed,
                )
                self._feeds[name] = feed
            return feed.attach(subscription)

    def leave(self, subscription: Subscription) -> None:
        """Remove a subscription, and the feed if it was the last one."""
        name = subscription.topic, subscription.read_committed
        with self._lock:
            feed = self._feeds.get(name)
            is_last = feed is not None and feed.detach(subscription)
            if is_last:
                del self._feeds[name]
        if feed is not None and is_last:
            feed.close()

    @property
    def topics(self) -> list[str]:
        """The topics with feeds."""
        with self._lock:
            return sorted(topic for topic, _ in self._feeds)

    def close(self) -> None:
        """Stop reading."""
        with self._lock:
            feeds, self._feeds = list(self._feeds.values()), {}
        for feed in feeds:
            feed.close()
