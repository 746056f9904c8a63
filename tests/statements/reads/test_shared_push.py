"""Push queries that ask the same share one query of Spark, and no client notices."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ksql_spark import analyzer, consistency, grammar
from ksql_spark.authorization import Rights, Role
from ksql_spark.consistency import Position
from ksql_spark.engine import Request
from ksql_spark.engine.query_service import QueryService
from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record
from ksql_spark.plan.trees import keeps_places
from ksql_spark.runtime.errors import QueryError
from ksql_spark.runtime.queries.states import Event
from ksql_spark.runtime.queries.watching import removals
from ksql_spark.runtime.reading.push import PushResult
from ksql_spark.runtime.reading.push_limit import PushLimit
from ksql_spark.runtime.reading.topic_feeds import Batch, Feeds, PushMemory, Readers, Subscription
from tests.statements.world import World

STATELESS = "SELECT UCASE(w) AS w FROM s EMIT CHANGES;"
COUNT = "SELECT k, COUNT(*) AS n FROM s GROUP BY k EMIT CHANGES;"
EARLIEST = {"auto.offset.reset": "earliest"}
TOKENS = {"ksql.query.push.v2.continuation.tokens.enabled": "true"}


class FakeFeeds:
    """Topics of rows in memory: what is written goes to all who read the topic from there or before."""

    def __init__(self) -> None:
        self.given: dict[Subscription, bool] = {}
        self.memory = PushMemory(1_000_000)
        self.readers = Readers(cast(KafkaAdmin, None), 1)
        self._offsets: dict[str, Iterator[int]] = {}

    def subscribe(self, topic: str, starts: Mapping[int, int], **_: Any) -> Subscription:
        subscription = Subscription(cast(Feeds, self), topic, starts, read_committed=True)
        subscription.attached(None)
        self.given[subscription] = True
        return subscription

    def write(self, topic: str, *rows: tuple[Any, ...]) -> None:
        """Rows of a query of Spark: a result, and perhaps the partition and offset of its record."""
        offsets = self._offsets.setdefault(topic, itertools.count())
        records = []
        for value, *place in rows:
            members = {
                "TOMBSTONE": False,
                "C0": value,
                **dict(zip(("PARTITION", "OFFSET"), place, strict=False)),
            }
            records.append(Record(topic, 0, next(offsets), 0, None, json.dumps(members).encode()))
        batch = Batch(records)
        for subscription in self.given:
            if subscription.topic == topic:
                subscription.take(batch)

    def leave(self, subscription: Subscription) -> None:
        self.given.pop(subscription, None)

    def close(self) -> None:
        pass


class Serving:
    """An engine on fakes that serves push queries."""

    def __init__(self, world: World) -> None:
        self.world, self.feeds = world, FakeFeeds()
        self.service = QueryService(world.services)
        self.service._feeds = cast(Feeds, self.feeds)

    def query(self, text: str, token: str | None = None, **properties: Any) -> PushResult:
        stream = self.service.query(Request(text, properties, continuation_token=token))
        assert isinstance(stream, PushResult)
        return stream

    def spark(self) -> list[str]:
        """The ids of the queries that run on Spark."""
        return [query.id for query in self.world.queries.managed() if query.spark]

    def topics(self) -> list[str]:
        """The topics of results."""
        return [name for name in self.world.admin.topics() if "transient" in name]

    def arrive(self, count: int) -> None:
        """Records in all partitions of the stream."""
        for partition in range(3):
            self.world.admin.ends["s", partition] = self.world.admin.ends.get(("s", partition), 0) + count


@pytest.fixture
def serving(world: World) -> Serving:
    return Serving(world)


def test_only_its_user_or_an_admin_may_close_a_query(serving: Serving) -> None:
    reader, developer, admin = (Rights(role) for role in Role)
    stream = serving.service.query(Request(STATELESS, rights=reader, user="rita"))
    for rights, user in ((reader, "ron"), (developer, "dora"), (reader, None)):
        with pytest.raises(KsqlError, match="another user") as refused:
            serving.service.close_query(stream.query_id, rights, user)
        assert refused.value.condition == "FORBIDDEN"
    assert serving.world.ids() == [stream.query_id]
    assert serving.service.close_query(stream.query_id, reader, "rita")
    assert not serving.service.close_query(stream.query_id, reader, "ron"), "it is no longer there"
    other = serving.service.query(Request(STATELESS, rights=reader, user="rita"))
    assert serving.service.close_query(other.query_id, admin, "ada")
    unnamed = serving.service.query(Request(STATELESS))
    assert serving.service.close_query(unnamed.query_id), "without authentication everybody is an admin"


def values(stream: PushResult) -> list[Any]:
    return [row.values[0] for row in stream.read(0.0) or []]


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        (STATELESS, {}),
        (STATELESS, EARLIEST),
        (COUNT, {}),
        (COUNT, EARLIEST),
        ("SELECT v + 1 AS v FROM t EMIT CHANGES;", {}),
    ],
)
def test_who_begins_at_the_same_place_shares(serving: Serving, text: str, properties: dict[str, Any]) -> None:
    streams = [serving.query(text, **properties) for _ in range(3)]
    assert serving.spark() == [streams[0].query_id] and len(serving.topics()) == 1
    assert serving.world.ids() == sorted(stream.query_id for stream in streams)


def test_spelling_and_limits_do_not_matter(serving: Serving) -> None:
    first = serving.query(STATELESS)
    serving.query("select  ucase(W) as W from S emit changes limit 3;", **TOKENS)
    assert serving.spark() == [first.query_id]


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("SELECT UCASE(w) AS x FROM s EMIT CHANGES;", {}),
        ("SELECT LCASE(w) AS w FROM s EMIT CHANGES;", {}),
        ("SELECT UCASE(w) AS w FROM s WHERE v > 1 EMIT CHANGES;", {}),
        (STATELESS, {"ksql.fail.on.deserialization.error": "true"}),
        (STATELESS, {"ksql.streams.consumer.isolation.level": "read_uncommitted"}),
    ],
)
def test_what_gives_other_rows_is_not_shared(serving: Serving, text: str, properties: dict[str, Any]) -> None:
    serving.query(STATELESS)
    serving.query(text, **properties)
    assert len(serving.spark()) == 2


def test_a_stream_over_a_topic_made_again_is_another(serving: Serving) -> None:
    serving.query(STATELESS)
    serving.world.admin.create_topic("s", 3)
    serving.query(STATELESS)
    assert len(serving.spark()) == 2


def test_counts_are_shared_only_from_their_beginning(serving: Serving) -> None:
    serving.query(COUNT)
    serving.arrive(1)
    serving.query(COUNT)
    assert len(serving.spark()) == 2, "the count of each client begins with the client"
    serving.query(COUNT)
    serving.query(COUNT, **EARLIEST)  # the first one began before there was anything
    assert len(serving.spark()) == 2


def test_who_comes_later_gets_rows_of_later_records_only(serving: Serving) -> None:
    first = serving.query(STATELESS)
    (topic,) = serving.topics()
    serving.arrive(2)
    serving.feeds.write(topic, ("A", 0, 0))
    serving.world.admin.ends[topic, 0] = 1
    second = serving.query(STATELESS)
    assert len(serving.spark()) == 1
    # Spark is behind: three of these rows are of records from before
    serving.feeds.write(topic, ("B", 0, 1), ("C", 1, 0), ("D", 1, 1), ("E", 0, 2))
    serving.feeds.write(topic, ("F", 1, 2))
    assert values(first) == ["A", "B", "C", "D", "E", "F"]
    assert values(second) == ["E", "F"]


def test_rows_are_the_same_objects_for_all(serving: Serving) -> None:
    streams = [serving.query(STATELESS) for _ in range(2)]
    serving.feeds.write(serving.topics()[0], ("A", 0, 0))
    rows = [stream.read(0.0) for stream in streams]
    assert rows[0] is rows[1] is not None


def test_results_that_are_not_whole_any_more_are_not_shared(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving.query(COUNT, **EARLIEST)
    monkeypatch.setattr(
        serving.world.admin, "beginning_offsets", lambda *topics: {(topic, 0): 5 for topic in topics}
    )
    serving.query(COUNT, **EARLIEST)
    assert len(serving.spark()) == 2


def test_each_client_has_its_own_limit(serving: Serving) -> None:
    limited, other = (
        serving.query("SELECT UCASE(w) AS w FROM s EMIT CHANGES LIMIT 2;"),
        serving.query(STATELESS),
    )
    serving.feeds.write(serving.topics()[0], *((letter, 0, n) for n, letter in enumerate("ABC")))
    assert values(limited) == ["A", "B"] and limited.read(0.0) is None
    assert limited.final_message == "Limit Reached"
    limited.close()
    assert values(other) == ["A", "B", "C"]
    assert serving.spark() == [limited.query_id] and serving.world.ids() == [other.query_id]


def test_it_ends_with_the_last_client(serving: Serving) -> None:
    first, second, third = (serving.query(STATELESS) for _ in range(3))
    world = serving.world
    world.run(f"TERMINATE `{first.query_id}`;")
    assert first.read(0.0) is None and first.final_message == "Query Completed"
    first.close()
    assert world.ids() == sorted([second.query_id, third.query_id])
    assert serving.spark() == [first.query_id], "it runs for the others"
    assert world.refused(f"TERMINATE `{first.query_id}`;").condition == "QUERY_UNKNOWN"
    (described,) = world.run(f"EXPLAIN `{second.query_id}`;")
    assert described["queryDescription"]["state"] == "RUNNING"
    fourth = serving.query(STATELESS)
    assert serving.spark() == [first.query_id]
    for stream in (second, third):
        assert serving.service.close_query(stream.query_id)
    assert serving.spark() == [first.query_id] and serving.topics()
    world.run(f"TERMINATE `{fourth.query_id}`;")
    assert not serving.spark() and not world.ids()
    assert serving.topics(), "until it was read"
    fourth.close()
    assert not serving.topics() and not serving.feeds.given
    assert not world.checkpoint(first.query_id).exists()


def test_rows_that_keep_coming_do_not_hold_up_terminate(serving: Serving) -> None:
    streams = [serving.query(STATELESS) for _ in range(2)]
    (topic,) = serving.topics()
    serving.feeds.write(topic, ("A", 0, 0))
    serving.world.run(f"TERMINATE `{streams[0].query_id}`;")
    assert values(streams[0]) == ["A"]
    serving.feeds.write(topic, ("B", 0, 1))
    assert streams[0].read(0.0) is None
    assert values(streams[1]) == ["A", "B"]


def test_all_clients_learn_of_a_failure_and_the_next_one_begins_anew(serving: Serving) -> None:
    streams = [serving.query(STATELESS) for _ in range(2)]
    runner = serving.world.queries.find(streams[0].query_id)
    assert runner is not None
    runner.lifecycle.apply(Event.FAIL)
    runner.errors.append(QueryError(0, "Spark says no", "SYSTEM"))
    shown = serving.world.one("SHOW QUERIES;")["queries"]
    assert [row["error"] for row in shown] == ["Spark says no"] * 2
    serving.query(STATELESS)
    assert len(serving.spark()) == 2
    for stream in streams:
        with pytest.raises(KsqlError, match="Spark says no"):
            stream.read(0.0)
        stream.close()
    assert len(serving.spark()) == 1 and len(serving.topics()) == 1


def test_clients_are_told_to_ask_again_when_spark_has_ended(serving: Serving) -> None:
    stream = serving.query(STATELESS)
    serving.world.queries.spark_loss.begin("Spark's process was ended by signal SIGKILL")
    with pytest.raises(KsqlError) as refused:
        stream.read(0.0)
    stream.close()
    assert refused.value.message == (
        f"Query {stream.query_id} failed: Spark's process was ended by signal SIGKILL and is restarting. "
        f"Send the query again. The server's log has the details."
    )


def test_the_limit_of_push_queries_counts_clients(make_world: Callable[..., World]) -> None:
    serving = Serving(make_world(**{"ksql.max.push.queries": 2}))
    streams = [serving.query(STATELESS) for _ in range(2)]
    with pytest.raises(KsqlError, match="2 push queries are running"):
        serving.query(STATELESS)
    streams[0].close()
    serving.query(STATELESS)
    assert len(serving.spark()) == 1


def test_a_client_has_a_share_of_the_push_queries() -> None:
    running: list[str] = []
    limit = PushLimit(lambda: running)

    def start(client: str | None) -> None:
        name = f"q{len(running)}"
        with limit.starting(name, 5, client, 0.8):
            running.append(name)

    for _ in range(4):
        start("greedy")
    with pytest.raises(KsqlError, match="4 push queries, which is the limit for one client"):
        start("greedy")
    start("other")
    running.remove("q0")
    start("greedy")


@pytest.mark.parametrize("text", [STATELESS, "SELECT * FROM s EMIT CHANGES;"])
def test_clients_that_come_together_do_not_pass_the_limit(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    serving = Serving(make_world(**{"ksql.max.push.queries": 1}))
    seen = []
    look = serving.world.admin.require_topic

    def while_it_looks(topic: str) -> Any:
        seen.append(topic)
        if len(seen) == 1:
            with pytest.raises(KsqlError, match="1 push queries are running"):
                serving.query("SELECT w, v FROM s EMIT CHANGES;")
        return look(topic)

    monkeypatch.setattr(serving.world.admin, "require_topic", while_it_looks)
    stream = serving.query(text)
    assert seen and serving.world.ids() == [stream.query_id]
    stream.close()
    serving.query(text)


def test_a_start_that_fails_leaves_its_place_to_others(make_world: Callable[..., World]) -> None:
    serving = Serving(make_world(**{"ksql.max.push.queries": 1}))
    serving.world.queries.refused = "UCASE"
    with pytest.raises(KsqlError, match="Spark says no"):
        serving.query(STATELESS)
    serving.query("SELECT * FROM s EMIT CHANGES;")


def test_a_start_that_fails_leaves_nothing(serving: Serving) -> None:
    serving.world.queries.refused = "UCASE"
    with pytest.raises(KsqlError, match="Spark says no"):
        serving.query(STATELESS)
    assert not serving.topics() and not serving.world.ids() and not serving.service._shared._starting


def test_tokens_say_which_records_were_read(serving: Serving) -> None:
    stream = serving.query(STATELESS, **TOKENS)
    (topic,) = serving.topics()
    serving.arrive(5)
    serving.feeds.write(topic, ("A", 0, 0), ("B", 1, 0), ("C", 0, 1))
    assert values(stream) == ["A", "B", "C"]
    token = stream.continuation
    assert token is not None
    again = serving.query(STATELESS, token)
    assert len(serving.spark()) == 1
    serving.feeds.write(topic, ("C", 0, 1), ("D", 1, 1))
    assert values(again) == ["D"]
    with pytest.raises(KsqlError, match="rows each come from one record"):
        serving.query(COUNT, token)
    for text in ("not a token", consistency.encode({"s": {0: 1}})):
        with pytest.raises(KsqlError, match="not from this service"):
            serving.query(STATELESS, text)


PLAIN, FILTERED = "SELECT * FROM t EMIT CHANGES;", "SELECT k, v FROM t WHERE v > 5 EMIT CHANGES;"


@pytest.mark.parametrize("text", [PLAIN, FILTERED])
def test_tables_have_tokens(serving: Serving, text: str) -> None:
    token = serving.query(text, **TOKENS).continuation
    assert token is not None
    assert Position.of(token).next == {0: 0, 1: 0, 2: 0}
    assert serving.query(text, token).continuation is None
    with pytest.raises(KsqlError, match="belongs to another query"):
        serving.query(STATELESS, token)


def test_who_goes_on_is_told_of_rows_that_no_longer_match(serving: Serving) -> None:
    """A query from the beginning does not know of rows that compaction removed, so they share none."""
    token = serving.query(FILTERED, **TOKENS).continuation
    again = serving.query(FILTERED, token)
    assert again.query_id in serving.spark() and len(serving.spark()) == 2
    runner = serving.world.queries.find(again.query_id)
    assert runner is not None and runner.is_continued


def test_deletions_by_a_filter_do_not_move_the_token(serving: Serving) -> None:
    stream = serving.query(FILTERED, **TOKENS)
    (topic,) = serving.topics()
    serving.feeds.write(topic, ("A", 0, 3), ("B", 0, None))
    assert values(stream) == ["A", "B"]
    token = stream.continuation
    assert token is not None
    assert Position.of(token).next == {0: 4, 1: 0, 2: 0}


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("recreated", "deleted and created again"),
        ("short", "deleted and created again"),
        ("retention", "no longer has the records that follow"),
        ("compaction", "keeps deletions for 1,000 ms"),
    ],
)
def test_a_token_may_be_too_old(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, what: str, why: str
) -> None:
    admin = serving.world.admin
    admin.ends["t", 0] = 9
    id_ = "another" if what == "recreated" else admin.topic_id("t")
    token = Position("t", id_, {0: 50 if what == "short" else 5, 1: 0, 2: 0}, 1000).token
    if what == "retention":
        first = {("t", 0): 6, ("t", 1): 0, ("t", 2): 0}
        monkeypatch.setattr(admin, "beginning_offsets", lambda *topics: first)
    if what == "compaction":
        admin.configs["t"] = {"cleanup.policy": "compact,delete", "delete.retention.ms": "1000"}
    with pytest.raises(KsqlError, match=why) as refused:
        serving.query(PLAIN, token)
    assert refused.value.condition == "TOKEN_TOO_OLD"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (STATELESS, True),
        ("SELECT k, EXPLODE(SPLIT(w, ',')) AS x FROM s WHERE v + 1 > 2 PARTITION BY w EMIT CHANGES;", True),
        ("SELECT EXPLODE(SPLIT(w, ',')) AS x, ROWOFFSET FROM s WHERE v + 1 > 2 EMIT CHANGES;", True),
        ("SELECT ROWPARTITION, ROWOFFSET + 1 AS x FROM s EMIT CHANGES;", True),
        (COUNT, False),
        ("SELECT * FROM t WHERE v > 5 EMIT CHANGES;", True),
        ("SELECT s.w FROM s JOIN t ON s.k = t.k EMIT CHANGES;", False),
        ("SELECT w FROM s UNION ALL SELECT w FROM s EMIT CHANGES;", False),
    ],
)
def test_rows_of_single_records_of_one_source_have_places(world: World, text: str, kept: bool) -> None:
    statement = cast(SimpleNamespace, grammar.parse_one(text))
    bound = analyzer.bind_read(statement.query, world.services.published, world.services.config)
    assert keeps_places(bound.root) == kept


def test_topics_go_even_if_the_broker_was_away(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removals, "REMOVE_AFTER_S", 0.0)
    stream = serving.query(
        "SELECT s.w, COUNT(*) FROM s JOIN t ON s.k = t.k"
        "  WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY s.w EMIT FINAL;"
    )
    assert len(serving.topics()) > 1

    def away(names: object) -> None:
        raise KsqlError("BROKER_UNREACHABLE", servers="x", reason="y")

    with monkeypatch.context() as patched:
        patched.setattr(serving.world.admin, "delete_topics", away)
        with pytest.raises(KsqlError):
            stream.close()
    serving.world.queries.removals.remove_due(lambda name: False, lambda: False)
    assert serving.topics() == []
