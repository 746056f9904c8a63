"""Administration of a Kafka cluster: topics, offsets, configuration, consumer groups."""

from __future__ import annotations

import io
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ListOffsetsResultInfo,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.client import REQUEST_TIMEOUT_S, Connection, is_moving
from ksql_spark.topic_patterns import expanded, pattern_of
from ksql_spark.topic_patterns import names as matching

#: time within which brokers learn of a topic that another client has created
NEW_TOPIC_WAIT_S = 1.0

#: Kafka has no coordinator for a group yet
NO_COORDINATOR = frozenset(
    {
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
    }
)

#: lets a topic accept records of any time: event times may be years old, or in the future
ANY_TIME = {f"message.timestamp.{side}.max.ms": str(2**63 - 1) for side in ("before", "after")}

Partition = tuple[str, int]
"""A topic's name and a partition number."""


@dataclass(frozen=True)
class Topic:
    """A topic; ``replicas`` has the number of replicas of each partition."""

    name: str
    replicas: tuple[int, ...]

    @property
    def partitions(self) -> int:
        """The number of partitions."""
        return len(self.replicas)


@dataclass(frozen=True)
class TopicIdentity:
    """The properties that distinguish a topic from others of the same name.

    Args:
        id: Kafka's id; a recreated topic has a new one.
        partitions: the current number of partitions.
    """

    id: str
    partitions: int


@dataclass(frozen=True)
class Consumers:
    """Readers of a topic.

    Args:
        consumers: how many have a partition of it.
        groups: the ids of the groups with these or with committed offsets, sorted.
    """

    consumers: int = 0
    groups: tuple[str, ...] = ()


class KafkaAdmin:
    """The administrator of one Kafka cluster; may be used from any thread.

    Args:
        servers: ``host:port`` pairs, separated by commas.
        settings: more settings, under librdkafka's names (security, SASL).

    A pattern of topics (topic_patterns.py) stands for all topics that it matches at the moment.

    All methods raise KsqlError BROKER_UNREACHABLE if the cluster does not answer within ``timeout_s``
    seconds, KAFKA_REFUSED if it refuses the request, and STOPPED after close().
    """

    def __init__(
        self, servers: str, settings: Mapping[str, Any] | None = None, timeout_s: float = REQUEST_TIMEOUT_S
    ) -> None:
        self._connection = Connection(servers, settings)
        self._timeout_s = timeout_s
        self._handle: AdminClient | None = AdminClient(self._connection.config())

    def close(self) -> None:
        """Free the connections, as soon as no call uses them; may be called more than once."""
        self._handle = None

    @property
    def _client(self) -> AdminClient:
        handle = self._handle
        if handle is None:
            raise KsqlError("STOPPED")
        return handle

    @property
    def servers(self) -> str:
        """The bootstrap servers."""
        return self._connection.servers

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings from the constructor, for other clients of the cluster."""
        return self._connection.settings

    def cluster_id(self) -> str:
        """The id of the cluster."""
        described = self._wait(self._client.describe_cluster(request_timeout=self._timeout_s), "be described")
        return str(described.cluster_id)

    def topics(self) -> dict[str, Topic]:
        """All topics by name, internal ones too, sorted by name."""
        try:
            metadata = self._client.list_topics(timeout=self._timeout_s).topics
        except KafkaException as error:
            raise self._failure(error, "list topics") from None
        return {name: _topic(name, metadata[name]) for name in sorted(metadata)}

    def topic(self, name: str) -> Topic | None:
        """The topic called exactly ``name``, or None.

        For a pattern, the widest of its topics; without any, one partition with -1 replicas.
        """
        if pattern_of(name) is not None:
            there = self.topics()
            replicas = [there[each].replicas for each in matching(name, there)]
            return Topic(name, max(replicas, key=len, default=(-1,)))
        try:
            return _topic(name, self._described(name))
        except KsqlError as error:
            if error.condition == "TOPIC_UNKNOWN":
                return None
            raise

    def topic_id(self, name: str) -> str | None:
        """The id that the cluster gave the topic when it was created; None if brokers do not support ids.

        Raises:
            KsqlError: TOPIC_UNKNOWN.
        """
        id_ = self._described(name).topic_id
        return str(id_) if id_ is not None else None

    def recreation_check(self, name: str) -> Callable[[], bool]:
        """A function that returns whether a topic has been deleted and recreated since this call.

        Both raise KsqlErrors: TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        first = self.topic_id(name)
        return lambda: self.topic_id(name) != first

    def identities(self, names: Iterable[str]) -> dict[str, TopicIdentity]:
        """The identities of existing topics, by name."""
        topics = self.expanded(names)
        if not topics:
            return {}
        futures = self._client.describe_topics(TopicCollection(topics), request_timeout=self._timeout_s)
        identities = {}
        for name, future in futures.items():
            try:
                topic = self._wait(future, f"describe topic '{name}'", name)
                identities[name] = TopicIdentity(str(topic.topic_id), len(topic.partitions))
            except KsqlError as error:
                if error.condition != "TOPIC_UNKNOWN":
                    raise
        return identities

    def expanded(self, names: Iterable[str]) -> list[str]:
        """``names``, each once, with the topics that are found now in place of a pattern."""
        requested = list(names)
        there = self.topics() if any(pattern_of(name) is not None for name in requested) else {}
        return expanded(requested, there)

    def require_topic(self, name: str) -> Topic:
        """The topic called exactly ``name``; retries for up to a second, because it may have just been
        created.

        Raises:
            KsqlError: TOPIC_UNKNOWN.
        """
        deadline = time.monotonic() + NEW_TOPIC_WAIT_S
        while (topic := self.topic(name)) is None:
            if time.monotonic() >= deadline:
                raise KsqlError("TOPIC_UNKNOWN", topic=name)
            time.sleep(0.05)
        return topic

    def create_topic(
        self, name: str, partitions: int = 1, replicas: int = -1, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic and return once it can be written to.

        Args:
            name: the topic's name.
            partitions: number of partitions.
            replicas: number of replicas of each partition; -1: the broker's default.
            config: the topic's configuration, for example ``{"cleanup.policy": "compact"}``.

        Raises:
            KsqlError: TOPIC_EXISTS.
        """
        texts = {k: str(v) for k, v in (config or {}).items()}
        try:
            self._create(NewTopic(name, partitions, replicas, config={**ANY_TIME, **texts}))
        except KafkaException as error:
            if error.args[0].code() != KafkaError.INVALID_CONFIG:
                raise self._failure(error, f"create topic '{name}'", name) from None
            try:
                self._create(NewTopic(name, partitions, replicas, config=texts))  # Kafka before 3.6
            except KafkaException as refused:
                raise self._failure(refused, f"create topic '{name}'", name) from None
        self._until(lambda: self._is_led(name, partitions), f"create topic '{name}'")

    def _create(self, topic: NewTopic) -> None:
        future = self._client.create_topics([topic], request_timeout=self._timeout_s)[topic.topic]
        try:
            future.result(timeout=self._timeout_s + 1)
        except FutureTimeout as error:
            raise self._failure(error, f"create topic '{topic.topic}'", topic.topic) from None

    def delete_topics(self, names: Iterable[str]) -> None:
        """Delete the topics and return once they are gone; names that do not exist are ignored."""
        topics = list(names)
        if not topics:
            return
        futures = self._client.delete_topics(topics, request_timeout=self._timeout_s)
        for name, future in futures.items():
            try:
                self._wait(future, f"delete topic '{name}'", name)
            except KsqlError as error:
                if error.condition != "TOPIC_UNKNOWN":
                    raise
        self._until(lambda: not any(self.topic(name) for name in topics), "delete topics")

    def config(self, topic: str) -> dict[str, str]:
        """A topic's configuration with its defaults, for example ``{"retention.ms": "604800000", …}``."""
        return self.configs_of([topic])[topic]

    def configs_of(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """The configurations of topics, asked for with one request."""
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        if not resources:
            return {}
        futures = self._client.describe_configs(resources, request_timeout=self._timeout_s)
        found = {
            each.name: self._wait(futures[each], f"describe topic '{each.name}'", each.name)
            for each in resources
        }
        return {
            topic: {name: entry.value for name, entry in sorted(of.items())} for topic, of in found.items()
        }

    def record_counts(self, topics: Iterable[Topic]) -> dict[str, int]:
        """The offsets from the first record of each topic to its end, over all partitions."""
        counts = dict.fromkeys((topic.name for topic in topics), 0)
        places = [(topic.name, number) for topic in topics for number in range(topic.partitions)]
        for sign, spec in ((1, OffsetSpec.latest()), (-1, OffsetSpec.earliest())):
            for (name, _), offset in self._list_offsets(dict.fromkeys(places, spec)).items():
                counts[name] += sign * offset
        return counts

    def is_compacted(self, topic: str) -> bool:
        """Whether a topic keeps only the latest record of each key."""
        return "compact" in self.config(topic).get("cleanup.policy", "")

    def commit_notes(self, group: str, topic: str) -> dict[int, str]:
        """The metadata that a consumer group has committed with offsets of a topic: by partition."""
        committed = self._committed(group, self._partitions(topic))
        return {place.partition: place.metadata for place in committed if place.metadata}

    def beginning_offsets(self, *topics: str) -> dict[Partition, int]:
        """The first offset of each partition of the topics."""
        return self.offsets(topics, "earliest")

    def end_offsets(self, *topics: str) -> dict[Partition, int]:
        """The offset after the last record of each partition of the topics."""
        return self.offsets(topics, "latest")

    def committed_ends(self, *topics: str) -> dict[Partition, int]:
        """Return the ends of topics as end_offsets() does, but before the first open transaction."""
        latest = {key: OffsetSpec.latest() for name in topics for key in self._partitions(name)}
        return self._list_offsets(latest, IsolationLevel.READ_COMMITTED)

    def first_time(self, topic: str) -> int | None:
        """The lowest timestamp of the first records of all partitions, epoch ms, or None."""
        first = {place: OffsetSpec.for_timestamp(0) for place in self._partitions(topic)}
        times = [result.timestamp for result in self._looked_up(first).values() if result.offset >= 0]
        return min((int(ms) for ms in times if ms >= 0), default=None)

    def offsets(self, topics: Iterable[str], at: Literal["earliest", "latest"] | int) -> dict[Partition, int]:
        """Offsets of all partitions of the topics.

        Args:
            topics: names of topics.
            at: "earliest", "latest", or a time (epoch milliseconds): the offset of the first record with
                that timestamp or a later one, or the end if there is none.

        Raises:
            KsqlError: TOPIC_UNKNOWN.
        """
        match at:
            case "earliest":
                spec = OffsetSpec.earliest()
            case "latest":
                spec = OffsetSpec.latest()
            case _:
                spec = OffsetSpec.for_timestamp(at)
        offsets = self._list_offsets({key: spec for name in topics for key in self._partitions(name)})
        if missing := [key for key, offset in offsets.items() if offset < 0]:
            offsets |= self._list_offsets({key: OffsetSpec.latest() for key in missing})
        return offsets

    def consumers(self) -> dict[str, Consumers]:
        """Readers by topic name; topics without readers are absent."""
        described = [group for group in self._groups() if group.protocol_type == "consumer"]
        consumers: defaultdict[str, int] = defaultdict(int)
        groups: defaultdict[str, set[str]] = defaultdict(set)
        partitions = [(name, p) for name, topic in self.topics().items() for p in range(topic.partitions)]
        for group in described:
            for member in group.members:
                for topic in {topic for topic, _ in _assigned(member.assignment)}:
                    consumers[topic] += 1
                    groups[topic].add(group.id)
            for place in self._committed(group.id, partitions):
                if place.offset >= 0:
                    groups[place.topic].add(group.id)
        return {topic: Consumers(consumers[topic], tuple(sorted(groups[topic]))) for topic in sorted(groups)}

    def members(self, group: str) -> list[str]:
        """The client ids of a consumer group's members; empty if the group does not exist."""
        return [client_id for client_id, _ in self.assignments(group)]

    def assignments(self, group: str) -> list[tuple[str, list[Partition]]]:
        """The client ids of a consumer group's members, with the partitions of each."""
        return [
            (str(member.client_id), _assigned(member.assignment))
            for description in self._groups(group)
            for member in description.members
        ]

    # librdkafka's newer group calls, which ask a group's coordinator, end the process if that broker goes
    # away meanwhile (librdkafka #4605), so these use the older calls.

    def _groups(self, group: str | None = None) -> list[Any]:
        """The client's GroupMetadata of all groups, or of ``group``, with their members."""
        name = () if group is None else (group,)
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                groups: list[Any] = self._client.list_groups(*name, timeout=self._timeout_s)
                errors = [each.error for each in groups if each.error is not None]
            except KafkaException as error:
                groups, errors = [], [error.args[0]]
            # a broker that has just started has no coordinator for a moment
            if not any(error.code() in NO_COORDINATOR for error in errors) or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        if errors:
            what = "list consumer groups" if group is None else f"describe consumer group '{group}'"
            raise self._failure(errors[0], what)
        return groups

    def _committed(self, group: str, partitions: Iterable[Partition]) -> list[TopicPartition]:
        """Return a group's committed offsets; partitions without one have no offset."""
        consumer = Consumer(self._connection.config(group_id=group, enable_auto_commit=False))
        places = [TopicPartition(*partition) for partition in partitions]
        try:
            committed: list[TopicPartition] = consumer.committed(places, timeout=self._timeout_s)
        except KafkaException as error:
            raise self._failure(error, f"list offsets of consumer group '{group}'") from None
        finally:
            consumer.close()
        return committed

    def _partitions(self, name: str) -> list[Partition]:
        if pattern_of(name) is not None:
            there = self.topics()
            return [(each, p) for each in matching(name, there) for p in range(there[each].partitions)]
        return [(name, number) for number in range(self.require_topic(name).partitions)]

    def _list_offsets(
        self,
        specs: Mapping[Partition, OffsetSpec],
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[Partition, int]:
        return {place: int(result.offset) for place, result in self._looked_up(specs, isolation).items()}

    def _looked_up(
        self,
        specs: Mapping[Partition, OffsetSpec],
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> dict[Partition, ListOffsetsResultInfo]:
        results: dict[Partition, ListOffsetsResultInfo] = {}
        began = time.monotonic()
        deadline = began + self._timeout_s
        while missing := {TopicPartition(*key): spec for key, spec in specs.items() if key not in results}:
            futures = self._client.list_offsets(
                missing, isolation_level=isolation, request_timeout=self._timeout_s
            )
            for partition, future in futures.items():
                action = f"list offsets of '{partition.topic}'"
                try:
                    result = future.result(timeout=self._timeout_s + 1)
                except (KafkaException, FutureTimeout) as error:
                    now = time.monotonic()
                    if is_moving(error) and now < deadline:
                        continue
                    if _is_unknown(error) and now < began + NEW_TOPIC_WAIT_S:
                        continue
                    raise self._failure(error, action, partition.topic) from None
                results[partition.topic, partition.partition] = result
            if len(results) < len(specs):
                time.sleep(0.05)
        return results

    def _is_led(self, name: str, partitions: int) -> bool:
        """Whether each partition of the topic has a leader."""
        # list_topics(name) would make the client keep the topic, even after its end: 6 KB for each
        try:
            described = self._describe(name).result(timeout=self._timeout_s + 1)
        except (KafkaException, FutureTimeout) as error:
            if is_moving(error) or _is_unknown(error):
                return False
            raise self._failure(error, f"describe topic '{name}'", name) from None
        leaders = [partition.leader for partition in described.partitions]
        return len(leaders) == partitions and None not in leaders

    def _described(self, name: str) -> Any:
        """The client's description of a topic."""
        return self._wait(self._describe(name), f"describe topic '{name}'", name)

    def _describe(self, name: str) -> Future[Any]:
        return self._client.describe_topics(TopicCollection([name]), request_timeout=self._timeout_s)[name]

    def _wait(self, future: Future[Any], action: str, topic: str = "") -> Any:
        try:
            return future.result(timeout=self._timeout_s + 1)
        except (KafkaException, FutureTimeout) as error:
            raise self._failure(error, action, topic) from None

    def _failure(self, error: BaseException | KafkaError, action: str, topic: str = "") -> KsqlError:
        self._client.poll(0)  # lets the client report why connections failed
        return self._connection.failure(error, action, topic)

    def _until(self, condition: Callable[[], bool], action: str) -> None:
        """Wait until ``condition()`` holds; brokers learn of the controller's changes a moment later."""
        deadline = time.monotonic() + self._timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise KsqlError("KAFKA_REFUSED", action=action, reason="it takes too long")
            time.sleep(0.01)


def _assigned(assignment: bytes) -> list[Partition]:
    """The partitions in an assignment of Kafka's consumer protocol; empty for a member without any."""
    data = io.BytesIO(assignment)

    def number(size: int) -> int:
        return int.from_bytes(data.read(size), "big", signed=True)

    number(2)  # the version: the data after the partitions differs
    assigned = []
    for _ in range(number(4)):
        topic = data.read(number(2)).decode()
        assigned += [(topic, number(4)) for _ in range(number(4))]
    return assigned


def _is_unknown(error: BaseException) -> bool:
    """Whether a broker does not have a partition; a new one is in its metadata before the broker has it."""
    return isinstance(error, KafkaException) and error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def _topic(name: str, described: Any) -> Topic:
    """A Topic from either of the client's two descriptions of one."""
    partitions = described.partitions
    listed = partitions.values() if isinstance(partitions, dict) else partitions
    return Topic(name, tuple(len(partition.replicas) for partition in listed))
