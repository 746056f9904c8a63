"""Push queries that share a reader get each record once, in order, however they come to it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from ksql_spark.errors import KsqlError
from ksql_spark.runtime.reading import topic_feeds as module
from ksql_spark.runtime.reading.topic_feeds import Batch, Feeds, Subscription
from tests.kafka.mock_cluster import PARTITIONS, MockAdmin, MockCluster

SOON_S = 20.0
BUDGET = 256 * 1024 * 1024


@pytest.fixture(scope="module")
def cluster() -> MockCluster:
    return MockCluster()


@pytest.fixture
def feeds(cluster: MockCluster) -> Iterator[Feeds]:
    admin = MockAdmin(cluster)
    feeds = Feeds(admin, BUDGET)
    yield feeds
    feeds.close()
    admin.close()


def ends(cluster: MockCluster, topic: str) -> dict[int, int]:
    admin = MockAdmin(cluster)
    try:
        return {partition: end for (_, partition), end in admin.end_offsets(topic).items()}
    finally:
        admin.close()


def subscribe(feeds: Feeds, topic: str, starts: dict[int, int], *, from_now: bool = False) -> Subscription:
    return feeds.subscribe(topic, starts, read_committed=True, from_now=from_now)


def write(cluster: MockCluster, topic: str, first: int, end: int) -> None:
    cluster.write(topic, *((None, b"%d" % number) for number in range(first, end)))


def values(subscription: Subscription, count: int) -> list[int]:
    """The next ``count`` records."""
    found: list[int] = []
    deadline = time.monotonic() + SOON_S
    while len(found) < count:
        assert time.monotonic() < deadline, found
        found += [int(r.value or b"") for batch in subscription.read(0.1) for r in batch.records]
    return found


EARLIEST = dict.fromkeys(range(PARTITIONS), 0)


def test_all_that_read_from_now_share_batches(feeds: Feeds, cluster: MockCluster) -> None:
    write(cluster, "shared", 0, 5)
    starts = ends(cluster, "shared")
    some = [subscribe(feeds, "shared", starts, from_now=True) for _ in range(5)]
    assert all(s.is_live for s in some) and feeds.topics == ["shared"]
    write(cluster, "shared", 5, 8)
    assert [values(s, 3) for s in some] == [[5, 6, 7]] * 5
    made: list[Batch] = []
    write(cluster, "shared", 8, 9)
    for s in some:
        while not (found := s.read(0.1)):
            pass
        made += found
    assert len({id(batch) for batch in made}) == 1
    calls: list[int] = []
    for batch in made:
        batch.result("same", lambda records: calls.append(1))
    assert calls == [1]
    for s in some:
        s.close()
    assert feeds.topics == []


def test_who_comes_later_misses_and_repeats_nothing(feeds: Feeds, cluster: MockCluster) -> None:
    write(cluster, "later", 0, 3)
    first = subscribe(feeds, "later", ends(cluster, "later"), from_now=True)
    write(cluster, "later", 3, 10)
    assert values(first, 7) == list(range(3, 10))
    # the feed is further than it, but remembers
    second = subscribe(feeds, "later", {**ends(cluster, "later"), 0: 6}, from_now=True)
    assert second.is_live
    # the feed is not as far as it
    third = subscribe(feeds, "later", {**ends(cluster, "later"), 0: 12}, from_now=True)
    write(cluster, "later", 10, 14)
    assert values(second, 8) == list(range(6, 14))
    assert values(third, 2) == [12, 13]


def test_who_starts_in_the_past_reads_by_itself_and_then_joins(feeds: Feeds, cluster: MockCluster) -> None:
    write(cluster, "past", 0, 3000)
    first = subscribe(feeds, "past", ends(cluster, "past"), from_now=True)
    past = subscribe(feeds, "past", EARLIEST)
    assert first.is_live and not past.is_live
    found = values(past, 3000)
    deadline = time.monotonic() + SOON_S
    while not past.is_live:
        assert time.monotonic() < deadline
        found += [int(r.value or b"") for batch in past.read(0.05) for r in batch.records]
    write(cluster, "past", 3000, 3010)
    found += values(past, 3010 - len(found))
    assert found == list(range(3010))
    assert len(feeds.readers) == 0


def test_who_is_alone_in_the_past_makes_the_feed_once_it_has_caught_up(
    feeds: Feeds, cluster: MockCluster
) -> None:
    write(cluster, "alone", 0, 10)
    alone = subscribe(feeds, "alone", EARLIEST)
    assert feeds.topics == []
    assert values(alone, 10) == list(range(10))
    deadline = time.monotonic() + SOON_S
    while not alone.is_live:
        assert time.monotonic() < deadline
        assert alone.read(0.05) == []
    assert feeds.topics == ["alone"]


def test_who_does_not_read_holds_up_nobody_and_loses_nothing(
    feeds: Feeds, cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 50)
    monkeypatch.setattr(module, "_REMEMBERED", 20)
    cluster.create("slow")
    starts = ends(cluster, "slow")
    slow, fast = (subscribe(feeds, "slow", starts, from_now=True) for _ in range(2))
    for first in range(0, 200, 10):
        write(cluster, "slow", first, first + 10)
        assert values(fast, 10) == list(range(first, first + 10))
    assert not slow.is_live and feeds.memory.waiting == 0  # it reads them again
    assert values(slow, 200) == list(range(200))
    write(cluster, "slow", 200, 205)
    assert values(slow, 5) == list(range(200, 205))


def test_batches_that_wait_are_counted_once_and_bounded(cluster: MockCluster) -> None:
    """Clients that do not read give up what waits when memory is full, and miss nothing later."""
    admin = MockAdmin(cluster)
    feeds = Feeds(admin, 2 * 40_000)  # one half is for what waits
    try:
        cluster.create("full")
        starts = ends(cluster, "full")
        slow = [subscribe(feeds, "full", starts, from_now=True) for _ in range(3)]
        fast = subscribe(feeds, "full", starts, from_now=True)
        large = b"%d" % 7 + b" " * 3_000
        cluster.write("full", *((None, large) for _ in range(3)))
        assert values(fast, 3) == [7] * 3
        assert 36_000 < feeds.memory.waiting < 40_000  # once, although three have them
        for _ in range(3):
            cluster.write("full", (None, large), (None, large))
            assert values(fast, 2) == [7] * 2
        assert feeds.memory.waiting == 0 and not any(s.is_live for s in slow)
        assert [values(s, 9) for s in slow] == [[7] * 9] * 3
    finally:
        feeds.close()
        admin.close()


def test_few_readers_serve_many_that_catch_up(cluster: MockCluster) -> None:
    """Who does not read gives its reader to others, and has one again when it reads on."""
    admin = MockAdmin(cluster)
    feeds = Feeds(admin, 1)
    assert feeds.memory.max_readers == 1
    try:
        write(cluster, "many", 0, 2_000)
        write(cluster, "many", 2_000, 2_001)
        some = [subscribe(feeds, "many", EARLIEST) for _ in range(3)]
        found: list[list[int]] = [[] for _ in some]
        deadline = time.monotonic() + SOON_S
        while any(len(numbers) < 2_001 for numbers in found):
            assert time.monotonic() < deadline
            for s, numbers in zip(some, found, strict=True):
                numbers += [int(r.value or b"") for batch in s.read(0.05) for r in batch.records]
                assert len(feeds.readers) <= 1
        assert found == [list(range(2_001))] * 3
        for s in some:
            s.close()
            s.free()
        assert len(feeds.readers) == 0
    finally:
        feeds.close()
        admin.close()


def test_pieces_are_small_while_a_client_catches_up(feeds: Feeds, cluster: MockCluster) -> None:
    cluster.write("large", *((None, b"1" + b" " * 50_000) for _ in range(100)))
    past = subscribe(feeds, "large", EARLIEST)
    sizes = []
    deadline = time.monotonic() + SOON_S
    while sum(sizes) < 100 * 50_000:
        assert time.monotonic() < deadline
        sizes += [batch.size for batch in past.read(0.1)]
    assert max(sizes) < 4 * 1024 * 1024
    past.close()
    past.free()


def test_it_is_told_when_something_arrives_and_at_the_end(feeds: Feeds, cluster: MockCluster) -> None:
    cluster.create("told_push")
    subscription = subscribe(feeds, "told_push", ends(cluster, "told_push"), from_now=True)

    def told_by(act: Callable[[], None]) -> bool:
        told = threading.Event()
        subscription.when_arrived(told.set)
        assert not told.is_set()
        act()
        return told.wait(SOON_S)

    assert told_by(lambda: write(cluster, "told_push", 0, 1))
    assert subscription.read(0) and not subscription.read(0)
    assert told_by(subscription.close)


def test_a_feed_that_fails_ends_the_queries(feeds: Feeds, cluster: MockCluster) -> None:
    cluster.create("failing")
    subscription = subscribe(feeds, "failing", ends(cluster, "failing"), from_now=True)
    (feed,) = feeds._feeds.values()
    feed._fail(KsqlError("TOPIC_UNKNOWN", topic="failing"))
    assert not subscription.is_live
    write(cluster, "failing", 0, 2)
    assert values(subscription, 2) == [0, 1]  # by itself: only if that fails, too, the query does


def test_a_topic_that_is_made_again_ends_who_reads_it(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ksql_spark.kafka.consumer.PARTITIONS_EVERY_S", 0.01)
    admin = MockAdmin(cluster)
    feeds = Feeds(admin, BUDGET)
    with contextlib.closing(admin), contextlib.closing(feeds):
        write(cluster, "made_again", 0, 3)
        some = subscribe(feeds, "made_again", EARLIEST)
        assert values(some, 3) == [0, 1, 2]
        while not some.is_live:
            some.read(0.1)
        admin.ids["made_again"] = "another"
        with pytest.raises(KsqlError, match="deleted and recreated"):
            while True:
                some.read(0.1)
