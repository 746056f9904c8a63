"""Lowers a logical plan to physical steps; chooses the mode, and refuses what cannot run yet.

Only this module knows which logical node becomes which step. It is pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import ColumnRef, Expression, columns_in
from ksql_spark.functions import registry
from ksql_spark.logical import nodes
from ksql_spark.metastore.serdes import check_registry, record_spec
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource, FormatSpec
from ksql_spark.physical import steps
from ksql_spark.physical.steps import EXACTLY_ONCE, MICROBATCH, REALTIME, Plan, Stage, Step
from ksql_spark.schema import WINDOW_BOUNDS, Column, Role, Schema
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import BIGINT, BOOLEAN, BYTES, INTEGER, Array, Map, SqlType, Struct

EXECUTION_MODE = "ksql.execution.mode"
GUARANTEE = "ksql.streams.processing.guarantee"
IDLE_TIMEOUT = "ksql.idle.window.timeout"
LOSSY_JUMPS = "ksql.suppress.lossy.jumps"
#: columns of internal topics: key and row as bytes
_BYTES = Schema((Column("K", BYTES, Role.KEY), Column("V", BYTES)))
#: column of a table's changes: -1 or -2 for a row to retract, 1 for a row to add
SIGN = "__SIGN"
_BOUNDS = tuple(Column(name, type_) for name, type_ in WINDOW_BOUNDS.items())


def lower(
    root: nodes.Node,
    sink: DataSource,
    config: Mapping[str, Any],
    query_id: str = "query",
    *,
    by_event_time: bool = False,
) -> Plan:
    """The physical plan that writes ``root`` to ``sink``.

    Spark allows only one stateful step in a query that emits updates, so the plan is cut at internal topics,
    as Kafka Streams cuts it at repartition topics.

    Args:
        root: the last node of the logical plan.
        sink: the target, with its formats and topic.
        config: effective properties; ``ksql.execution.mode`` forces a mode, so does exactly_once_v2 as
            ``processing.guarantee``.
        query_id: for the names of internal topics (reference §6.8).
        by_event_time: process rows in order of event time, in micro-batches (ORDER = 'event-time').

    Raises:
        KsqlError: NOT_DONE_YET for what the engine cannot run yet; INVALID_STATEMENT for ``by_event_time`` in
            a query without state.
    """
    is_exactly_once = config.get(GUARANTEE) == EXACTLY_ONCE
    return _lower(root, sink, config, query_id, by_event_time, is_exactly_once)


def _lower(
    root: nodes.Node,
    sink: DataSource,
    config: Mapping[str, Any],
    query_id: str,
    by_event_time: bool,
    is_exactly_once: bool,
) -> Plan:
    is_forced = str(config.get(EXECUTION_MODE) or "").lower() == MICROBATCH
    mode = MICROBATCH if is_forced or is_exactly_once else REALTIME
    reason = f"{EXECUTION_MODE} asks for it" if is_forced else "every step can run in real time"
    if is_exactly_once:
        reason = f"{EXACTLY_ONCE} commits a batch's results together with its state and offsets"
    if by_event_time:
        mode = MICROBATCH
        reason = (
            "ORDER = 'event-time' takes a batch's rows by their time; what is there at the start is one batch"
        )
    idle_ms = int(config.get(IDLE_TIMEOUT) or 0)
    prefix = f"_confluent-ksql-{config.get('ksql.service.id')}query_{query_id}"
    is_lossy = bool(config.get(LOSSY_JUMPS))
    lowering = _Lowering(prefix, mode, reason, idle_ms, is_lossy, by_event_time)
    step = lowering.lower(root)
    keeps_state = bool(lowering.inner) or any(isinstance(s, steps.StatefulStep) for s in steps.walk(step))
    if by_event_time and not keeps_state:
        raise KsqlError(
            "INVALID_STATEMENT",
            reason="ORDER = 'event-time' is for queries that join, aggregate, de-duplicate or filter a "
            "table; here no row depends on another.",
        )
    sources = tuple(relation.source for relation in nodes.relations(root))
    mode, reason = _mode(step, mode, reason)
    plan = Plan(step, sink, mode, reason, sources, record_spec(sink), tuple(lowering.inner), by_event_time)
    return _transactional(plan, str(config.get("ksql.service.id")), query_id) if is_exactly_once else plan


def _transactional(plan: Plan, service_id: str, query_id: str) -> Plan:
    """``plan`` with transactional ids."""
    *inner, last = (
        replace(stage, transactional_id=steps.transactional_id(service_id, query_id, stage.number))
        for stage in plan.stages
    )
    return replace(plan, inner=tuple(inner), transactional_id=last.transactional_id)


def check_runnable(plan: Plan, registry: SchemaRegistry | None) -> None:
    """Check that records of all sources and of the sink can be read and written; EXPLAIN needs no check.

    ``registry``: the schema registry, or None.

    Raises:
        KsqlError: SCHEMA_REGISTRY_MISSING; those of SchemaRegistry.require().
    """
    for source in (*plan.sources, plan.sink):
        check_registry(record_spec(source), registry)


def _mode(root: Step, mode: str, reason: str) -> tuple[str, str]:
    """The mode of a stage, and why: micro-batches if real-time mode refuses it."""
    topics = Counter(s.source.topic for s in steps.walk(root) if isinstance(s, steps.SourceStep))
    twice = sorted(topic for topic, times in topics.items() if times > 1)
    if mode == REALTIME and twice:
        return MICROBATCH, f"it reads topic {', '.join(twice)} more than once, which real-time mode does not"
    return mode, reason


def lower_transient(
    root: nodes.Node,
    output: Sequence[Column],
    sink: str,
    config: Mapping[str, Any],
    query_id: str = "query",
    *,
    has_places: bool = False,
) -> Plan:
    """The physical plan of a push query: ``output`` columns of ``root`` as JSON records in topic ``sink``.

    The sink's value columns are a deletion flag and then C0, C1 … in the order of ``output``. Its topic ends
    with its client, so it needs no transactions, whatever ``processing.guarantee`` says. With ``has_places``
    each record says which record it was made of (logical.nodes.keeps_places is true for ``root``).
    For ``config``, ``query_id`` and errors see ``lower``.
    """
    columns = [Column("TOMBSTONE", BOOLEAN), *(Column(f"C{i}", c.type) for i, c in enumerate(output))]
    if has_places:
        columns += [Column("PARTITION", INTEGER), Column("OFFSET", BIGINT)]
    source = DataSource(
        name=sink,
        kind=STREAM,
        schema=Schema(tuple(columns)),
        topic=sink,
        key_format=FormatSpec("NONE"),
        value_format=FormatSpec("JSON"),
    )
    plan = _lower(root, source, config, query_id, by_event_time=False, is_exactly_once=False)
    names = tuple(c.name for c in output)
    keys = frozenset(c.name for c in root.schema.key) | frozenset(WINDOW_BOUNDS)
    select = steps.TransientSelect(
        plan.root, names, keys, root.kind == TABLE, source.schema, has_places=has_places
    )
    return replace(plan, root=select)


def _not_yet(what: str, hint: str | None = None) -> KsqlError:
    return KsqlError("NOT_DONE_YET", what=what, version=__version__, hint=hint)


def _has_equality(type_: SqlType) -> bool:
    """Whether Spark can compare values of the type: not if it contains a MAP."""
    match type_:
        case Map():
            return False
        case Array(element):
            return _has_equality(element)
        case Struct(fields):
            return all(_has_equality(f.type) for f in fields)
    return True


def _names_bounds(node: nodes.Aggregate) -> bool:
    used = [g.expression for g in node.group_by] + [a for call in node.aggregates for a in call.inputs]
    return any(columns_in(e) & WINDOW_BOUNDS.keys() for e in used)


def _postfix(node: nodes.Node, numbers: Iterator[int]) -> tuple[str, ...]:
    """A set operation in postfix notation, with the numbers of its operands."""
    if isinstance(node, nodes.SetOperation):
        return (*_postfix(node.left, numbers), *_postfix(node.right, numbers), node.operator)
    return (str(next(numbers)),)


class _Lowering:
    """Lowers one query, and collects its inner sub-topologies."""

    def __init__(
        self, prefix: str, mode: str, reason: str, idle_ms: int, is_lossy: bool, by_event_time: bool
    ) -> None:
        self.inner: list[Stage] = []
        self._idle_ms = idle_ms
        self._is_lossy = is_lossy
        self._by_event_time = by_event_time
        self._prefix = prefix
        self._mode = mode
        self._reason = reason

    def lower(self, node: nodes.Node) -> Step:
        """The step of ``node``, on the steps of all nodes below it."""
        match node:
            case nodes.Source(source):
                step = steps.TableSource if source.is_table else steps.StreamSource
                prefix = f"{node.alias}_" if node.prefixed else ""
                return step(source, node.schema, prefix, node.exposed, node.window, record_spec(source))
            case nodes.Filter(nodes.Aggregate() as child, predicate):
                return self._aggregate(child, predicate)
            case nodes.Filter(child, predicate) if node.kind == TABLE:
                return steps.TableFilter(self._stateless(child), predicate, node.schema, node.window)
            case nodes.Filter(child, predicate):
                return steps.StreamFilter(self.lower(child), predicate, node.schema, node.window)
            case nodes.Expire(child, ttl_ms):
                return steps.TableExpire(self._stateless(child), ttl_ms, node.schema, node.window)
            case nodes.Deduplicate(child, keys, within_ms):
                below = self._stateless(child, keys)
                return steps.StreamDeduplicate(below, keys, within_ms, node.schema, node.window)
            case nodes.Over(child, keys, calls, within_ms):
                below = self._stateless(child, keys)
                return steps.StreamOver(below, keys, calls, node.schema, node.window, within_ms)
            case nodes.MatchRecognize(child, keys, pattern):
                below = self._stateless(child, keys)
                idle_ms = self._idle_ms if pattern.automaton.waits else 0
                return steps.StreamMatchRecognize(below, keys, pattern, node.schema, idle_ms)
            case nodes.TopN():
                return self._top_n(node)
            case nodes.SelectKey(child, keys):
                return steps.StreamSelectKey(self.lower(child), keys, node.schema)
            case nodes.FlatMap(child, functions):
                return steps.StreamFlatMap(self.lower(child), functions, node.schema, node.window)
            case nodes.Project(child, keys, values):
                projection = steps.TableSelect if node.kind == TABLE else steps.StreamSelect
                return projection(self.lower(child), keys, values, node.schema, node.window)
            case nodes.UnionAll(inner):
                return steps.StreamUnion(tuple(self._stateless(c) for c in inner), node.schema, node.window)
            case nodes.SetOperation():
                branches = tuple(self._stateless(operand, ()) for operand in nodes.operands(node))
                return steps.TableSetOperation(branches, _postfix(node, count()), node.schema)
            case nodes.Join():
                return self._join(node)
            case nodes.Aggregate():
                return self._aggregate(node, None)
        raise TypeError(f"no step for {type(node).__name__}")

    def _stateless(self, node: nodes.Node, key: tuple[Expression, ...] | None = None) -> Step:
        """The step of ``node``; a stateful one is cut off by an internal topic with the key ``key``."""
        step = self.lower(node)
        # the stateful step above a table's filter deletes what the filter drops: so the filter needs no state
        filtered = step if isinstance(step, steps.TableFilter) and key is not None else None
        inner = filtered.child if filtered is not None else step
        if not any(isinstance(s, steps.StatefulStep) for s in steps.walk(inner)):
            return step
        is_table = node.kind == TABLE
        if is_table or key is None:
            key = tuple(ColumnRef(c.name, c.type) for c in inner.schema.key)
        cut = self._cut(steps.Packed(inner, key, _BYTES, inner.window), "repartition", is_table)
        unpacked = steps.Unpacked(cut, is_table, inner.schema, inner.window)
        return replace(filtered, child=unpacked) if filtered is not None else unpacked

    def _cut(self, root: Step, purpose: str, is_table: bool = False) -> Step:
        """Write ``root`` (columns K and V) to an internal topic, and return the step that reads it."""
        topic = f"{self._prefix}-{len(self.inner)}-{purpose}"
        internal = DataSource(
            name=topic,
            kind=TABLE if is_table else STREAM,
            schema=_BYTES,
            topic=topic,
            key_format=FormatSpec("KAFKA"),
            value_format=FormatSpec("KAFKA"),
        )
        mode, reason = _mode(root, self._mode, self._reason)
        records = record_spec(internal)
        how = (mode, reason, False, self._by_event_time, records)
        self.inner.append(Stage(len(self.inner), root, internal, *how))
        return (steps.TableSource if is_table else steps.StreamSource)(internal, _BYTES, records=records)

    def _join(self, node: nodes.Join) -> Step:
        if node.type == nodes.FOREIGN_KEY:
            return self._foreign_key_join(node)
        is_replicated = node.type == nodes.REPLICATED
        left = self._stateless(node.left, None if is_replicated else (node.left_key,))
        right = self._stateless(node.right, (node.right_key,))
        if node.is_loaded_first:
            right = self._first(right, node)
        on = (node.left_key, node.right_key, node.key_name)
        if node.grace_ms is not None:
            return steps.StreamVersionedTableJoin(
                left, right, node.join, *on, node.schema, node.window, is_replicated, node.residual,
                node.grace_ms, self._idle_ms if node.grace_ms else 0,
            )  # fmt: skip
        if node.type in (nodes.STREAM_TABLE, nodes.REPLICATED):
            return steps.StreamTableJoin(
                left, right, node.join, *on, node.schema, node.window, is_replicated, node.residual
            )
        if node.type == nodes.TABLE_TABLE:
            return steps.TableTableJoin(left, right, node.join, *on, node.schema, node.window)
        assert node.within is not None  # the analyzer has required WITHIN
        waits = node.join not in ("INNER", nodes.SEMI) and node.within.grace_ms is not None
        idle_ms = self._idle_ms if waits else 0
        return steps.StreamStreamJoin(
            left, right, node.join, *on, node.within, node.schema, node.window, idle_ms, node.residual
        )

    def _first(self, table: Step, node: nodes.Join) -> Step:
        """The source of ``table``, read before the stream of its join.

        Raises:
            KsqlError: INVALID_STATEMENT, with ORDER = 'event-time'.
        """
        if self._by_event_time:
            raise KsqlError(
                "INVALID_STATEMENT",
                reason="ORDER = 'event-time' takes rows by their time, "
                "FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP the table's rows first. Use one of both.",
            )
        assert isinstance(table, steps.TableSource)  # FOR SYSTEM_TIME follows the name of a table
        return replace(table, is_first=True)

    def _foreign_key_join(self, node: nodes.Join) -> Step:
        left, right = self._stateless(node.left, ()), self._stateless(node.right, ())
        subscribe = steps.ForeignKeySubscribe(left, node.left_key, node.join, _BYTES)
        asked = self._cut(subscribe, "subscription")
        answer = steps.ForeignKeyAnswer(asked, right, node.right_key, node.join, _BYTES)
        answered = self._cut(answer, "response")
        return steps.ForeignKeyLatest(answered, left.schema, right.schema, node.schema)

    def _changes(
        self, table: nodes.Node, group: tuple[Expression, ...], bounds: tuple[Column, ...] = ()
    ) -> Step:
        """The changes of ``table``'s rows, in the tasks of their groups, with the ``bounds`` of windows."""
        child = self._stateless(table, ())
        schema = Schema((*child.schema.columns, *bounds, Column(SIGN, INTEGER)))
        changes = steps.TableChanges(child, schema, key=group)
        cut = self._cut(steps.Packed(changes, group, _BYTES), "groupby")
        return steps.Unpacked(cut, False, schema)

    def _top_n(self, node: nodes.TopN) -> Step:
        key = tuple(k.expression for k in node.keys)
        asked = (node.keys, node.order, node.count, node.rank)
        if node.child.kind != TABLE:
            child = self._stateless(node.child, key)
            return steps.StreamTopN(child, *asked, node.schema, None, node.limit, node.ranks)
        bounds = () if node.child.window is None else _BOUNDS
        identity = tuple(column.name for column in (*node.child.schema.key, *bounds))
        changes = self._changes(node.child, key, bounds)
        return steps.TableTopN(changes, *asked, node.limit, node.ranks, SIGN, identity, node.schema)

    def _aggregate(self, node: nodes.Aggregate, having: Expression | None) -> Step:
        is_table = node.child.kind == TABLE
        if is_table and node.child.window is not None and _names_bounds(node):
            raise _not_yet("Window bounds in an aggregation of a windowed table")
        for call in node.aggregates:
            spec = registry.require(call.function)
            if (spec.spark_table if is_table else spec.spark) is None:
                raise _not_yet(
                    f"The aggregate function {call.function}" + (" over a table" if is_table else "")
                )
            if call.distinct and is_table and not _has_equality(call.arguments[0].type):
                raise _not_yet(f"{call.function}(DISTINCT …) of a {call.arguments[0].type} over a table")
        key = tuple(g.expression for g in node.group_by)
        window = node.window_spec
        if is_table:
            changes = self._changes(node.child, key)
            groups = (node.group_by, node.aggregates, having)
            return steps.TableAggregate(changes, *groups, SIGN, node.schema, every_ms=node.every_ms or 0)
        child = self._stateless(node.child, key)
        if window is None:
            groups = (node.group_by, node.aggregates, having)
            every_ms = node.every_ms or 0
            return steps.StreamAggregate(child, *groups, node.schema, ttl_ms=node.ttl_ms, every_ms=every_ms)
        return steps.StreamWindowedAggregate(
            child,
            node.group_by,
            node.aggregates,
            having,
            window,
            node.emit_final,
            node.schema,
            node.window,
            self._idle_ms if node.emit_final else 0,
            self._is_lossy and node.emit_final,
            node.every_ms or 0,
        )
