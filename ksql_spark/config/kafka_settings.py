"""Settings of Kafka's clients and of Kafka Streams: names, clients, who may set them."""

from __future__ import annotations

from typing import Literal

from ksql_spark.config.property import Property, Type

#: a kind of Kafka client
Client = Literal["consumer", "producer"]

STREAMS_PREFIX = "ksql.streams."

_KAFKA_SETTINGS = """
    acceptable.recovery.lag acks allow.auto.create.topics application.id application.server
    auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset batch.size bootstrap.servers
    buffer.memory buffered.records.per.partition built.in.metrics.version cache.max.bytes.buffering check.crcs
    client.dns.lookup client.id client.rack commit.interval.ms compression.type connections.max.idle.ms
    default.api.timeout.ms default.client.supplier default.deserialization.exception.handler default.dsl.store
    default.key.serde default.list.key.serde.inner default.list.value.serde.inner
    default.production.exception.handler default.timestamp.extractor default.value.serde
    delivery.timeout.ms enable.auto.commit enable.idempotence enable.metrics.push exclude.internal.topics
    fetch.max.bytes fetch.max.wait.ms fetch.min.bytes group.id group.instance.id group.protocol
    heartbeat.interval.ms interceptor.classes isolation.level key.deserializer key.serializer linger.ms
    max.block.ms max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms
    max.poll.records max.request.size max.task.idle.ms max.warmup.replicas metadata.max.age.ms
    metadata.max.idle.ms metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms num.standby.replicas num.stream.threads partition.assignment.strategy
    partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
    partitioner.ignore.keys poll.ms probing.rebalance.interval.ms processing.guarantee
    receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms repartition.purge.interval.ms
    replication.factor request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms
    rocksdb.config.setter security.protocol security.providers send.buffer.bytes session.timeout.ms
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms state.cleanup.delay.ms
    state.dir statestore.cache.max.bytes task.timeout.ms topology.optimization transaction.timeout.ms
    transactional.id upgrade.from value.deserializer value.serializer window.size.ms
    windowed.inner.class.serde windowstore.changelog.additional.retention.ms
    cleanup.policy compression.type delete.retention.ms max.message.bytes message.timestamp.type
    min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas retention.bytes retention.ms
    segment.bytes segment.ms
"""

#: settings of Kafka's clients and of Kafka Streams: accepted with or without a prefix
KAFKA_SETTINGS = frozenset(_KAFKA_SETTINGS.split())

CLIENT_PREFIXES = (
    "consumer.",
    "main.consumer.",
    "restore.consumer.",
    "global.consumer.",
    "producer.",
    "admin.",
    "topic.",
)

PREFIXES_OF: dict[Client, tuple[str, ...]] = {
    "consumer": ("consumer.", "main.consumer."),
    "producer": ("producer.",),
}

_BOTH = """
    client.dns.lookup connections.max.idle.ms enable.metrics.push metadata.max.age.ms metric.reporters
    receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms
    retry.backoff.max.ms retry.backoff.ms send.buffer.bytes
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
"""

_CONSUMER = """
    check.crcs client.rack default.api.timeout.ms fetch.max.bytes fetch.max.wait.ms fetch.min.bytes
    isolation.level max.partition.fetch.bytes max.poll.records
"""

_PRODUCER = """
    acks batch.size buffer.memory compression.type delivery.timeout.ms enable.idempotence linger.ms
    max.block.ms max.in.flight.requests.per.connection max.request.size metadata.max.idle.ms retries
    transaction.timeout.ms
"""

#: By default Kafka's clients report each metric twice, for JMX and for a plug-in of the broker. A query has
#: several clients with some 150 metrics each; GET /metrics has the query's own metrics.
NO_REPORTS = {"metric.reporters": "", "enable.metrics.push": "false"}

#: settings, other than security, that are passed to the clients that read and write records
PASSED_ON: dict[Client, frozenset[str]] = {
    "consumer": frozenset((_BOTH + _CONSUMER).split()),
    "producer": frozenset((_BOTH + _PRODUCER).split()),
}

#: prefixes of security settings: every such name is passed to Kafka's clients
SECURITY = ("ssl.", "sasl.")

#: settings of Kafka's clients that requests may override, besides editable rows of the table: sizes, times
#: and counts. Only the server may set what names a class, a host, a file, an identity or a secret.
CLIENTS_MAY_SET = frozenset(
    [
        "acceptable.recovery.lag",
        "acks",
        "auto.offset.reset",
        "batch.size",
        "buffer.memory",
        "buffered.records.per.partition",
        "cache.max.bytes.buffering",
        "check.crcs",
        "client.rack",
        "commit.interval.ms",
        "compression.type",
        "connections.max.idle.ms",
        "default.api.timeout.ms",
        "delivery.timeout.ms",
        "enable.auto.commit",
        "enable.idempotence",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "heartbeat.interval.ms",
        "isolation.level",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "max.poll.records",
        "max.request.size",
        "max.task.idle.ms",
        "max.warmup.replicas",
        "metadata.max.age.ms",
        "metadata.max.idle.ms",
        "num.standby.replicas",
        "num.stream.threads",
        "poll.ms",
        "probing.rebalance.interval.ms",
        "processing.guarantee",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "replication.factor",
        "request.timeout.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
        "state.cleanup.delay.ms",
        "statestore.cache.max.bytes",
        "task.timeout.ms",
        "topology.optimization",
        "transaction.timeout.ms",
        "cleanup.policy",
        "delete.retention.ms",
        "max.message.bytes",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "min.insync.replicas",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.ms",
    ]
)

#: settings of CLIENTS_MAY_SET with an upper limit for requests: each query allocates this much memory
MAX_FOR_CLIENTS = {
    "batch.size": 16 * 2**20,
    "buffer.memory": 128 * 2**20,
    "fetch.max.bytes": 128 * 2**20,
    "max.partition.fetch.bytes": 128 * 2**20,
    "max.request.size": 128 * 2**20,
    "receive.buffer.bytes": 16 * 2**20,
    "send.buffer.bytes": 16 * 2**20,
}

#: the whole numbers of PASSED_ON, with their types and least values as Kafka's clients define them
_NUMBERS: dict[str, tuple[Type, int | None]] = {
    "batch.size": ("int", 0),
    "buffer.memory": ("long", 0),
    "connections.max.idle.ms": ("long", None),
    "default.api.timeout.ms": ("int", 0),
    "delivery.timeout.ms": ("int", 0),
    "fetch.max.bytes": ("int", 0),
    "fetch.max.wait.ms": ("int", 0),
    "fetch.min.bytes": ("int", 0),
    "linger.ms": ("long", 0),
    "max.block.ms": ("long", 0),
    "max.in.flight.requests.per.connection": ("int", 1),
    "max.partition.fetch.bytes": ("int", 0),
    "max.poll.records": ("int", 1),
    "max.request.size": ("int", 0),
    "metadata.max.age.ms": ("long", 0),
    "metadata.max.idle.ms": ("long", 5000),
    "receive.buffer.bytes": ("int", -1),
    "reconnect.backoff.max.ms": ("long", 0),
    "reconnect.backoff.ms": ("long", 0),
    "request.timeout.ms": ("int", 0),
    "retries": ("int", 0),
    "retry.backoff.max.ms": ("long", 0),
    "retry.backoff.ms": ("long", 0),
    "send.buffer.bytes": ("int", -1),
    "socket.connection.setup.timeout.max.ms": ("long", None),
    "socket.connection.setup.timeout.ms": ("long", None),
    "transaction.timeout.ms": ("int", None),
}

_YES_OR_NO = ("true", "false")

#: settings that are texts, with their allowed values; empty if their reader validates them
_TEXTS_OF_CLIENTS: dict[str, tuple[str, ...]] = {
    "acks": ("all", "-1", "0", "1"),
    "auto.offset.reset": (),
    "check.crcs": _YES_OR_NO,
    "cleanup.policy": (),
    "client.rack": (),
    "client.dns.lookup": ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    "compression.type": ("none", "gzip", "snappy", "lz4", "zstd"),
    "enable.auto.commit": _YES_OR_NO,
    "enable.idempotence": _YES_OR_NO,
    "enable.metrics.push": _YES_OR_NO,
    "isolation.level": ("read_committed", "read_uncommitted"),
    "message.timestamp.type": (),
    "metric.reporters": (),
    "min.cleanable.dirty.ratio": (),
    "processing.guarantee": (),
    "topology.optimization": (),
}


def setting_name(name: str) -> str:
    """A Kafka client setting without its prefix, such as ``ksql.streams.consumer.`` or ``producer.``."""
    bare = name.removeprefix(STREAMS_PREFIX)
    return next((bare.removeprefix(p) for p in CLIENT_PREFIXES if bare.startswith(p)), bare)


def is_security(setting: str) -> bool:
    """Whether a setting is passed to every client because it is about security."""
    return setting == "security.protocol" or setting.startswith(SECURITY)


def check_of_client(entry: Property, value: str) -> None:
    """Check a value of PASSED_ON or CLIENTS_MAY_SET: no query starts with one that Kafka's client rejects.

    Raises:
        KsqlError: PROPERTY_INVALID.
    """
    setting = setting_name(entry.name)
    choices = _TEXTS_OF_CLIENTS.get(setting)
    if choices is None:
        type_, least = _NUMBERS.get(setting, ("long", None))
        Property(entry.name, type_, None, "", minimum=least).parse(value)
    elif choices:
        Property(entry.name, "string", None, "", choices=choices).parse(value)
