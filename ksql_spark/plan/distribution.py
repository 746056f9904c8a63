"""Distributes the rows of a sub-topology: which tasks exist, and how rows get to them.

A task of Kafka Streams reads partition *p* of all its topics and has the state of the keys in them. Ours does
the same if the keys that an operator groups by determine the partition. Otherwise rows are repartitioned with
Spark's exchange. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ksql_spark.expressions import Call, ColumnRef, Expression
from ksql_spark.formats.capabilities import CAPABILITIES
from ksql_spark.metastore.sources import STREAM, DataSource
from ksql_spark.plan import operations
from ksql_spark.plan.clauses import NamedExpression
from ksql_spark.plan.nodes import (
    FOREIGN_KEY,
    REPLICATED,
    STREAM_STREAM,
    STREAM_TABLE,
    TABLE_TABLE,
    Aggregate,
    Changes,
    Deduplicate,
    Exchange,
    Expire,
    Filter,
    FlatMap,
    ForeignKeyAnswer,
    ForeignKeyJoin,
    ForeignKeySubscribe,
    Join,
    KeepUnchanged,
    MatchRecognize,
    Node,
    Over,
    Project,
    SetOperation,
    Source,
    TopN,
    UnionAll,
)
from ksql_spark.plan.operations import unfiltered
from ksql_spark.plan.stages import MICROBATCH, Plan, Stage
from ksql_spark.schema import ROWPARTITION
from ksql_spark.topic_patterns import pattern_of
from ksql_spark.types import DOUBLE, Array, SqlType, Struct


@dataclass(frozen=True)
class Distribution:
    """The properties of a stage's distribution that the plan determines, whatever the topics.

    Args:
        is_co_partitioned: matching rows are already in partitions with equal numbers, if their topics have
            equally many partitions.
        is_ordered: the result depends on the order in which rows of different partitions are processed.
        reason: why not co-partitioned, for users.
    """

    is_co_partitioned: bool
    is_ordered: bool
    reason: str = ""


@dataclass(frozen=True)
class Tasks:
    """The distribution of a sub-topology over tasks. The first three belong to its state and never change.

    Args:
        partitions: how many parts the keys have; each has a stream time of its own.
        count: tasks with state; part p belongs to task p % count.
        by_partition: a row's part is the number of the partition it was read from; else Kafka's partitioner
            derives it from the key.
        readers: tasks that read; partition p of each topic belongs to reader p % readers.
        is_exchanged: rows go through an exchange from the readers to the tasks with state.
        is_merged: rows of all inputs of the operator meet in the order of their times.
        is_one_order: this order spans all partitions of a reader; else only those of equal number.
        has_heartbeat: readers emit heartbeats that show the passing of time.
        keeps_partition: what is written to an internal topic stays in the partition that it came from.
        takes_left_first: rows of the left input come first at equal times; otherwise rows of the right one,
            which may be a table.
        feeds_task: the next operation handles each row in the task that makes it; ROWPARTITION tells it.
    """

    partitions: int
    count: int
    by_partition: bool
    readers: int
    is_exchanged: bool
    is_merged: bool = False
    is_one_order: bool = False
    has_heartbeat: bool = False
    keeps_partition: bool = False
    takes_left_first: bool = False
    feeds_task: bool = False

    @property
    def ignored_have_turns(self) -> bool:
        """Whether records that a join ignores still wait their turn.

        If so, records behind them in the partition come after them, as in Kafka Streams. If Kafka Streams
        repartitions a side, it drops records without a key beforehand.
        """
        return self.by_partition and self.is_merged


#: all in one task
ONE_TASK = Tasks(1, 1, False, 1, False)


@dataclass(frozen=True)
class _Partitioning:
    """The partitioning of rows: key expressions over their columns, and the encoding of keys as bytes."""

    keys: tuple[Expression, ...]
    encoding: object


#: encoding of the keys of internal topics
_PACKED = "packed"


def distribution(
    stage: Stage, partitions: Mapping[str, int] | None = None, scattered: Collection[str] = ()
) -> Distribution | None:
    """Return how the rows of a sub-topology get to its stateful operator; None if it has none.

    Args:
        stage: the sub-topology.
        partitions: topic -> number of its partitions, for all topics; None: equally many everywhere.
        scattered: topics that have records of one key in several partitions.
    """
    operator = _operator(stage)
    if operator is None:
        return None
    is_ordered = (
        _reads_several(operator) or operations.depends_on_order(operator) or _is_scattered(stage, scattered)
    )
    reason = _Rules(stage.plan, partitions, scattered).why_not(stage)
    return Distribution(reason is None, is_ordered, reason or "")


def assign(stage: Stage, partitions: Mapping[str, int], most: int, scattered: Collection[str] = ()) -> Tasks:
    """The tasks of a new sub-topology.

    Args:
        stage: the sub-topology.
        partitions: topic -> number of its partitions, for all topics.
        most: the maximum number of tasks: the user's thread limit, the available cores.
        scattered: topics that have records of one key in several partitions.
    """
    widest = max([1, *(partitions[topic] for topic in stage.topics)])
    count = max(1, min(widest, most))
    rules = _Rules(stage.plan, partitions, scattered)
    how = distribution(stage, partitions, scattered)
    operator = _operator(stage)
    if how is None or operator is None:
        is_one_order = _is_scattered(stage, scattered)
        return Tasks(widest, count, False, 1 if is_one_order else count, False, is_one_order=is_one_order)
    if stage.by_event_time:  # the operator puts a batch in order
        return Tasks(widest, count, False, count, True)
    is_batch = stage.mode == MICROBATCH
    beats = stage.needs_heartbeats and not is_batch
    is_merged = _reads_several(operator) or stage.needs_heartbeats
    left_first = (
        isinstance(operator, Join) and operator.type == STREAM_STREAM and rules.takes_left_first(operator)
    )

    def is_exchanged() -> bool:
        # each branch of a UNION ALL is read by tasks of its own
        return count > 1 or any(isinstance(node, UnionAll) for node in stage.operations)

    if how.is_co_partitioned:
        if is_batch and stage.needs_heartbeats:
            count = 1  # heartbeats come from a topic with one partition
        keeps = not stage.is_last and rules.keeps_partitions(stage)
        return Tasks(widest, count, True, count, False, is_merged, False, beats, keeps, left_first)
    if how.is_ordered:
        # rows of all partitions in one order: one task reads them; it also does the rest if the output order
        # matters
        feeds = any(waits_for(later) == stage.sink.topic for later in stage.plan.stages)
        count = 1 if is_batch or feeds else count
        has_column = any(source.timestamp is not None for source in _sources(stage))
        is_merged |= widest > 1 and has_column
        return Tasks(widest, count, False, 1, is_exchanged(), is_merged, True, beats, False, left_first)
    # one task also reads the topic of heartbeats
    is_merged = beats or (stage.needs_heartbeats and count == 1)
    return Tasks(widest, count, False, count, is_exchanged(), is_merged, False, beats)


def waits_for(stage: Stage) -> str | None:
    """The internal topic that a sub-topology must not overtake in its other topics; None if there is none."""
    operator = _operator(stage)
    if not isinstance(operator, Join) or operator.type == TABLE_TABLE:
        return None
    return next((read.topic for read in stage.operations if isinstance(read, Exchange)), None)


def stays(node: Node) -> bool:
    """Whether all rows of a group of ``node`` come from one task of the operation with state below it.

    Aggregates leave rows without a group out. To other operations NULL is a group like others, and a join of
    rows that match has none without a key.
    """
    aggregate, _ = operations.grouped(node)
    groups: tuple[Expression, ...]
    if aggregate is not None:
        child, groups = aggregate.child, tuple(group.expression for group in aggregate.group_by)
    elif isinstance(node, TopN):
        child, groups = node.child, tuple(key.expression for key in node.keys)
    elif isinstance(node, Changes):
        child, groups = node.child, tuple(ColumnRef(c.name, c.type) for c in node.child.schema.key)
    elif isinstance(node, Deduplicate | Over | MatchRecognize) and _joins_matches(node.child):
        child, groups = node.child, node.keys
    else:
        return False
    deciding = _deciding(child)
    if not deciding or not all(key in groups for key in deciding):
        return False
    return all(each.schema.find(ROWPARTITION) is None for each in operations.walk(child))


def _joins_matches(node: Node) -> bool:
    """Whether the rows of ``node`` come from a join that has none without a partner."""
    match node:
        case Join(join="INNER"):
            return True
        case Filter(child=child) | FlatMap(child=child) | Project(child=child):
            return _joins_matches(child)
    return False


def staying(stage: Stage) -> list[int]:
    """The numbers of a stage's operations with state whose rows stay in their task; the lowest is 0."""
    return [i for i, node in enumerate(reversed(stage.stateful)) if i and stays(node)]


def uncertain_orders(plan: Plan) -> tuple[str, ...]:
    """A sentence for each OVER whose rows come in no certain order (§6.14), if there are several partitions.

    So it is where a sub-topology before it repartitions by other columns: rows of a group come from several
    tasks.
    """
    sentences = []
    for stage in plan.stages:
        operator = _operator(stage)
        if not isinstance(operator, Over):
            continue
        for before in (read for read in stage.operations if isinstance(read, Exchange)):
            how = distribution(plan.stages[before.number])
            if how is None or how.is_co_partitioned:
                continue
            deciding = _deciding(before.child)
            if not deciding or not all(key in operator.keys for key in deciding):
                keys = ", ".join(map(str, operator.keys))
                sentences.append(
                    f"The order of rows in OVER (PARTITION BY {keys} ORDER BY ROWTIME) is not certain: the "
                    f"sub-query repartitions its rows, since {how.reason}, so rows of one group come from "
                    "several tasks. Read a stream that has the right key already, or one with 1 partition."
                )
    return tuple(sentences)


def _deciding(node: Node) -> tuple[Expression, ...] | None:
    """The columns of ``node`` that decide in which task its operator makes a row; None if unknown."""
    match node:
        case Deduplicate(keys=keys) | Over(keys=keys):
            return keys
        case Join() if node.type not in (REPLICATED, FOREIGN_KEY) and node.key_name:
            return (ColumnRef(node.key_name, node.left_key.type),)
        case Aggregate(group_by=groups) | TopN(keys=groups):
            return tuple(ColumnRef(group.name, group.expression.type) for group in groups)
        case Filter(child=child) | FlatMap(child=child) | Changes(child=child):
            return _deciding(child)
        case Project(child=child):
            names = {c.expression: ColumnRef(c.name, c.expression.type) for c in (*node.keys, *node.values)}
            below = _deciding(child)
            return tuple(names[key] for key in below) if below and all(k in names for k in below) else None
    return None


def tasks_text(stage: Stage) -> str | None:
    """Describe for EXPLAIN whether rows stay with the task that reads them; None without state."""
    how = distribution(stage)
    if how is None:
        return None
    if how.is_co_partitioned:
        return "one for each partition, without repartitioning: the key decides about the partition."
    text = f"rows are repartitioned, since {how.reason}"
    if how.is_ordered and not stage.by_event_time:
        text += "; one task reads them, in the order of their times"
    return f"{text}."


def _operator(stage: Stage) -> Node | None:
    """The operation of a stage that keeps state; of several, the one that gets the rows of its inputs."""
    return stage.stateful[-1] if stage.stateful else None


def _reads_several(operator: Node) -> bool:
    return len(operations.inputs(operator)) > 1


def _is_scattered(stage: Stage, scattered: Collection[str]) -> bool:
    """Whether records of one key are in several partitions of a topic: only their times order them."""
    return any(topic in scattered for topic in stage.topics)


def _sources(stage: Stage) -> list[DataSource]:
    return [node.source for node in stage.operations if isinstance(node, Source)]


class _Rules:
    """The partitioning of a plan's rows.

    Args:
        plan: the whole plan.
        partitions: topic -> number of its partitions; None: equally many everywhere.
        scattered: topics that have records of one key in several partitions.
    """

    def __init__(self, plan: Plan, partitions: Mapping[str, int] | None, scattered: Collection[str]) -> None:
        self._plan = plan
        self._partitions = partitions
        self._scattered = scattered

    def why_not(self, stage: Stage) -> str | None:
        """Return why the rows of ``stage`` must be repartitioned for its operator; None if not."""
        operator = _operator(stage)
        assert operator is not None
        if stage.by_event_time:
            return "ORDER = 'event-time' puts all rows of a batch in order"
        for source in (node for node in stage.operations if isinstance(node, Source)):
            if source.schema.find(ROWPARTITION) is not None:
                return f"a column is called {ROWPARTITION}"
            if any(_has_double(c.type) for c in source.schema.key):
                return "equal DOUBLEs in keys may be written in several ways, such as 0.0 and -0.0"
        for topic in stage.topics:
            if pattern_of(topic) is not None:
                return f"the topics of {topic} may have any number of partitions"
            if topic in self._scattered:
                return f"partitions were added to topic {topic}"
        counts = {topic: (self._partitions or {}).get(topic, 1) for topic in stage.topics}
        if len(set(counts.values())) > 1:
            return "the topics have different numbers of partitions"
        return self._operator_why_not(operator)

    def keeps_partitions(self, stage: Stage) -> bool:
        """Whether what ``stage`` writes to its internal topic stays in the partition that it came from."""
        exchange = stage.exchange
        if exchange is None or exchange.carries_messages or len(stage.stateful) > 1:
            return False
        if self.why_not(stage) is not None:
            return False
        partitioning = self._partitioning(exchange.child)
        return partitioning is not None and partitioning.keys == exchange.key

    def takes_left_first(self, join: Join) -> bool:
        """Whether the left side comes first at equal times; it does unless it alone must be re-keyed.

        Kafka Streams re-keys through a topic, so such a row comes after one that is already in place.
        """
        left, right = self._partitioning(join.left), self._partitioning(join.right)
        is_in_place = left is not None and left.keys == (join.left_key,)
        return is_in_place or right is None or right.keys != (join.right_key,)

    def _operator_why_not(self, operator: Node) -> str | None:
        aggregate, _ = operations.grouped(operator)
        if aggregate is not None:
            if self._has_group(aggregate.child, aggregate.group_by):
                return None
            by = bool(aggregate.group_by)
            return "GROUP BY names other columns than the key's" if by else "all rows are one group"
        match operator:
            case TopN(child, groups):
                if self._has_group(child, groups):
                    return None
                return "PARTITION BY names other columns than the key's"
            case Deduplicate(child, keys) | Over(child, keys) | MatchRecognize(child, keys):
                partitioning = self._partitioning(child)
                if (
                    partitioning is None
                    or not partitioning.keys
                    or not all(key in keys for key in partitioning.keys)
                ):
                    return "rows are compared by other columns than the key's"
                if self._scatters_nulls(child, partitioning.keys):
                    helps = f"WHERE {partitioning.keys[0]} IS NOT NULL"
                    if isinstance(operator, MatchRecognize):
                        helps += " in a sub-query in FROM"
                    return f"records without a key are in any partition ({helps} leaves them out)"
                return None
            case (
                Filter(child)
                | Expire(child)
                | KeepUnchanged(child)
                | Changes(child)
                | ForeignKeySubscribe(child)
            ):
                partitioning = self._partitioning(child)
                key = tuple(ColumnRef(c.name, c.type) for c in child.schema.key)
                return (
                    None
                    if partitioning is not None and partitioning.keys == key
                    else "its topic has another key"
                )
            case SetOperation():
                return self._set_operation_why_not(operations.inputs(operator))
            case ForeignKeyJoin():
                return None  # its messages are partitioned by the left table's packed key
            case ForeignKeyAnswer():
                return "the rows of the left table are partitioned by its own key"
            case Join() if operator.type == REPLICATED:
                return "the table is whole in every task"
            case Join():
                return self._join_why_not(operator)
        raise TypeError(f"no rule for {type(operator).__name__}")

    def _has_group(self, node: Node, groups: Sequence[NamedExpression]) -> bool:
        """Whether rows of a group are in one partition."""
        partitioning = self._partitioning(node)
        by = [group.expression for group in groups]
        return (
            partitioning is not None
            and bool(partitioning.keys)
            and all(key in by for key in partitioning.keys)
        )

    def _join_why_not(self, join: Join) -> str | None:
        left = self._partitioning(unfiltered(join, join.left))
        right = self._partitioning(unfiltered(join, join.right))
        sides = (("left", left, join.left_key), ("right", right, join.right_key))
        for side, partitioning, key in sides:
            if partitioning is None or partitioning.keys != (key,):
                return f"{key} is not the key of the {side} side"
        assert left is not None and right is not None
        if left.encoding != right.encoding:
            return "the keys of both sides are not written in the same way"
        return None

    def _set_operation_why_not(self, branches: Sequence[Node]) -> str | None:
        partitionings = [self._partitioning(branch) for branch in branches]
        for branch, how in zip(branches, partitionings, strict=True):
            if how is None or how.keys != tuple(ColumnRef(c.name, c.type) for c in branch.schema.key):
                return "the topic of a table has another key"
        if any(how != partitionings[0] for how in partitionings):
            return "the keys of the tables are not written in the same way"
        return None

    def _scatters_nulls(self, node: Node, keys: tuple[Expression, ...]) -> bool:
        """Whether rows whose ``keys`` are all NULL may be in several partitions, as Kafka spreads them."""
        match node:
            case Filter(child, predicate) if node.kind == STREAM:
                return not _excludes_null(predicate, keys) and self._scatters_nulls(child, keys)
            case Exchange():
                return self.keeps_partitions(self._plan.stages[node.number])
        return True

    def _partitioning(self, node: Node) -> _Partitioning | None:
        """Return how the rows of ``node`` are partitioned; None if unknown."""
        match node:
            case Source(source) if source.topic_pattern is None:
                keys = tuple(ColumnRef(c.name, c.type) for c in node.schema.key)
                return _Partitioning(keys, _encoding(source)) if keys else None
            case Exchange(child):
                encoding: object = _PACKED
                if self.keeps_partitions(self._plan.stages[node.number]):
                    below = self._partitioning(child)
                    encoding = below.encoding if below is not None else _PACKED
                return _Partitioning(node.key, encoding)
            case Filter(child) if not isinstance(child, Aggregate):
                return self._partitioning(child)
            case FlatMap(child) | Expire(child) | KeepUnchanged(child):
                return self._partitioning(child)
            case Deduplicate(child) | Over(child) | MatchRecognize(child):
                return self._partitioning(child) if self._operator_why_not(node) is None else None
            case Project(child, keys):
                return _renamed(self._partitioning(child), keys)
            case Join() if node.type in (STREAM_STREAM, STREAM_TABLE, TABLE_TABLE, REPLICATED):
                if not node.key_name or self._join_why_not(node) is not None:
                    return None
                left = self._partitioning(unfiltered(node, node.left))
                assert left is not None
                return _Partitioning((ColumnRef(node.key_name, node.left_key.type),), left.encoding)
        return None


def _has_double(type_: SqlType) -> bool:
    match type_:
        case Array(element):
            return _has_double(element)
        case Struct(fields):
            return any(_has_double(field.type) for field in fields)
    return type_ == DOUBLE


def _excludes_null(predicate: Expression, keys: tuple[Expression, ...]) -> bool:
    """Whether a row that passes has a value in one of ``keys``."""
    match predicate:
        case Call("AND", parts):
            return any(_excludes_null(part, keys) for part in parts)
        case Call("IS NOT NULL", (operand,)):
            return operand in keys
    return False


def _renamed(partitioning: _Partitioning | None, keys: Sequence[NamedExpression]) -> _Partitioning | None:
    """The partitioning after a projection with these ``keys``; None if the projection drops a column."""
    names = {key.expression: ColumnRef(key.name, key.expression.type) for key in keys}
    if partitioning is None or not all(key in names for key in partitioning.keys):
        return None
    return _Partitioning(tuple(names[key] for key in partitioning.keys), partitioning.encoding)


def _encoding(source: DataSource) -> object:
    """Return a value that is equal for two sources if their equal keys have equal bytes."""
    types = tuple(column.type for column in source.schema.key)
    capability = CAPABILITIES[source.key_format.name]
    # the bytes contain the schema's id, or whatever an envelope's writer put there, which may differ
    # between topics
    is_own = capability.registry or source.key_format.envelope
    topic = source.topic if is_own else None
    return (source.key_format, types, topic)
