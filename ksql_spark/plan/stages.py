"""A query's plan: its tree, and how it runs; and the plan's stages, each of which is one Spark query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ksql_spark.formats.spec import RecordSpec
from ksql_spark.metastore.sources import DataSource, FormatSpec
from ksql_spark.plan import operations, trees
from ksql_spark.plan.nodes import MESSAGE, Exchange, Node, Source, UnionAll
from ksql_spark.plan.queries import PersistentQuery, Start
from ksql_spark.schema import Column, Schema

REALTIME, MICROBATCH = "realtime", "microbatch"
#: the effect of a failure on results: values of processing.guarantee
AT_LEAST_ONCE, EXACTLY_ONCE = "at_least_once", "exactly_once_v2"


def transactional_id(service_id: str, query_id: str, number: int) -> str:
    """The name of the producers of a query's stage, by which Kafka fences the earlier ones.

    It begins like the names of the query's topics, because ACLs may use prefixes.
    """
    return f"{transactional_ids_of(service_id)}query_{query_id}-{number}"


def transactional_ids_of(service_id: str) -> str:
    """Return the prefix of all transactional ids of a service."""
    return f"_confluent-ksql-{service_id}"


@dataclass(frozen=True)
class Plan:
    """The plan of a query: the tree ``root``, with exchanges, whose rows are written to ``sink``'s topic.

    Args:
        root: what was bound, with what the planner has put in.
        sink: the stream or table that is written.
        mode: REALTIME or MICROBATCH; a stage may need another one.
        reason: why it has this mode, in KSQL's terms.
        records: serdes of the sink's records.
        source_records: serdes of the records of each of ``sources``.
        idle_ms: how long results wait for stream time without new rows; 0: without limit.
        is_lossy: windows that a jump in time leaves behind are lost (ksql.suppress.lossy.jumps).
        by_event_time: ORDER = 'event-time': rows of a batch are processed in order of event time.
        transactional_ids: of the producers of stages that are exactly once, by number: all stages, those that
            write internal topics, or none.
        output: of a push query: the columns of its result, hidden ones too, in the order of the SELECT. The
            sink has a flag, whether the row is a deletion; then these columns as C0, C1 …, because a result
            column may have the name of a hidden one; then, perhaps, the place of the row's record.
    """

    root: Node
    sink: DataSource
    mode: str
    reason: str
    records: RecordSpec
    source_records: tuple[RecordSpec, ...]
    idle_ms: int = 0
    is_lossy: bool = False
    by_event_time: bool = False
    transactional_ids: tuple[str, ...] = ()
    output: tuple[str, ...] | None = None

    @cached_property
    def sources(self) -> tuple[DataSource, ...]:
        """The streams and tables that it reads, left to right; no internal topics."""
        return tuple(relation.source for relation in trees.relations(self.root))

    @property
    def serdes(self) -> Mapping[DataSource, RecordSpec]:
        """The serdes of each source's records."""
        return dict(zip(self.sources, self.source_records, strict=True))

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """All stages, upstream first."""
        exchanges = [node for node in trees.walk(self.root) if isinstance(node, Exchange)]
        exchanges.sort(key=lambda exchange: exchange.number)
        inner = (Stage(self, exchange.number, exchange) for exchange in exchanges)
        return (*inner, Stage(self, len(exchanges)))

    @property
    def inner(self) -> tuple[Stage, ...]:
        """The stages that write internal topics."""
        return self.stages[:-1]

    @property
    def last(self) -> Stage:
        """The stage that writes the sink."""
        return self.stages[-1]

    @property
    def guarantee(self) -> str:
        """AT_LEAST_ONCE or EXACTLY_ONCE, which is that of the results."""
        return self.last.guarantee

    @property
    def is_transient(self) -> bool:
        """Whether it is a push query's: its sink is a topic that one client reads."""
        return self.output is not None

    @property
    def shown_schema(self) -> Schema:
        """The columns of its results, as users name them."""
        if self.output is None:
            return self.root.schema
        columns = zip(self.output, self.sink.schema.columns[1 : len(self.output) + 1], strict=True)
        return Schema(tuple(Column(name, column.type) for name, column in columns))


@dataclass(frozen=True)
class Stage:
    """The part of a plan that is one Spark query: from exchanges and sources to an exchange or the sink.

    Args:
        plan: the whole plan.
        number: its place among the stages, upstream first.
        exchange: what it writes; None: the sink.
    """

    plan: Plan
    number: int
    exchange: Exchange | None = None

    @property
    def root(self) -> Node:
        """The last node of the stage."""
        return self.plan.root if self.exchange is None else self.exchange.child

    @property
    def is_last(self) -> bool:
        """Whether it writes the plan's sink."""
        return self.exchange is None

    @property
    def sink(self) -> DataSource:
        """The stream or table that it writes."""
        return self.plan.sink if self.exchange is None else internal_source(self.exchange)

    @property
    def records(self) -> RecordSpec | None:
        """The serdes of the sink's records; None means those in the sink's definition."""
        return self.plan.records if self.exchange is None else None

    @cached_property
    def operations(self) -> tuple[Node, ...]:
        """The operations of the stage, parents first, and its inputs."""
        return tuple(operations.walk(self.root))

    @cached_property
    def stateful(self) -> tuple[Node, ...]:
        """The operations that keep state, in a line: each but the last gets its rows from the next one."""
        return tuple(operations.stateful(self.root))

    @property
    def state_kinds(self) -> tuple[str, ...]:
        """The names of the operations that keep state."""
        return tuple(map(operations.name, self.stateful))

    @cached_property
    def topics(self) -> tuple[str, ...]:
        """The topics that it reads, internal ones too."""
        read = (node for node in self.operations if isinstance(node, Source | Exchange))
        return tuple(node.topic if isinstance(node, Exchange) else node.source.topic for node in read)

    @property
    def mode(self) -> str:
        """REALTIME or MICROBATCH."""
        return MICROBATCH if self._twice or self.transactional_id is not None else self.plan.mode

    @property
    def reason(self) -> str:
        """The reason for the stage's mode, in KSQL's terms."""
        if self.plan.mode == REALTIME and self._twice:
            return f"it reads topic {', '.join(self._twice)} more than once, which real-time mode does not"
        if self.plan.mode == REALTIME and self.transactional_id is not None:
            return "its rows are counted further on, so a transaction commits them with its state and offsets"
        return self.plan.reason

    @cached_property
    def _twice(self) -> list[str]:
        """The topics that several branches of a UNION ALL read; joins merge their inputs in one reader."""
        if not any(isinstance(node, UnionAll) for node in self.operations):
            return []
        return sorted({topic for topic in self.topics if self.topics.count(topic) > 1})

    @property
    def by_event_time(self) -> bool:
        """Whether rows of a batch are processed in order of event time."""
        return self.plan.by_event_time

    @property
    def transactional_id(self) -> str | None:
        """The Kafka producer's id if it is exactly once; None: at least once."""
        ids = self.plan.transactional_ids
        return ids[self.number] if self.number < len(ids) else None

    @property
    def guarantee(self) -> str:
        """AT_LEAST_ONCE or EXACTLY_ONCE."""
        return AT_LEAST_ONCE if self.transactional_id is None else EXACTLY_ONCE

    @property
    def has_idle_timeout(self) -> bool:
        """Whether results wait for a time without rows."""
        return self.plan.idle_ms > 0 and any(map(operations.waits, self.operations))

    @property
    def needs_heartbeats(self) -> bool:
        """Whether it must know that time passes: for an idle timeout, or intervals."""
        return self.has_idle_timeout or any(map(operations.emits_at_intervals, self.operations))

    @property
    def record_topic(self) -> str | None:
        """The topic of the records that results come from, see operations.record_topic."""
        return operations.record_topic(self.root) if self.is_last and not self.plan.is_transient else None


@dataclass(frozen=True)
class LoggedQuery:
    """A persistent query in the command log: ``plan`` is how it runs, the others are what was bound."""

    plan: Plan
    sink: DataSource
    creates_sink: bool
    query_id: str | None = None
    start: Start = None

    @classmethod
    def of(cls, bound: PersistentQuery, plan: Plan) -> LoggedQuery:
        """``bound``, which runs as ``plan``."""
        return cls(plan, bound.sink, bound.creates_sink, bound.query_id, bound.start)

    @property
    def bound(self) -> PersistentQuery:
        """The query as it was bound."""
        root = trees.unplanned(self.plan.root)
        return PersistentQuery(
            root, self.sink, self.creates_sink, self.query_id, self.start, self.plan.by_event_time
        )


def internal_source(exchange: Exchange) -> DataSource:
    """The stream or table of an exchange's topic."""
    bytes_ = FormatSpec("KAFKA")
    return DataSource(exchange.topic, exchange.kind, MESSAGE, exchange.topic, bytes_, bytes_)


def tables_in_state(plan: Plan) -> set[str]:
    """The topics of tables that a query without state must read from the beginning: all that it reads, if it
    keeps state, because a table is what all its records make of it.
    """
    if not any(stage.stateful for stage in plan.stages):
        return set()
    streams = {source.topic for source in plan.sources if not source.is_table}
    return {source.topic for source in plan.sources if source.is_table} - streams
