"""Plans queries: puts exchanges into the bound tree, chooses the mode, and refuses what cannot run yet.

Only this module decides where a tree is cut. It is pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Call, ColumnRef, Expression, columns_in, walk
from ksql_spark.functions import registry
from ksql_spark.metastore.serdes import check_registry, leaves_out_columns, record_spec
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource, FormatSpec
from ksql_spark.plan import distribution, nodes, operations, trees
from ksql_spark.plan.nodes import Exchange, Node
from ksql_spark.plan.stages import EXACTLY_ONCE, MICROBATCH, REALTIME, Plan, transactional_id
from ksql_spark.schema import PSEUDO_COLUMNS, WINDOW_BOUNDS, Column, Schema
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import BIGINT, BOOLEAN, INTEGER, Array, Map, SqlType, Struct

EXECUTION_MODE = "ksql.execution.mode"
GUARANTEE = "ksql.streams.processing.guarantee"
IDLE_TIMEOUT = "ksql.idle.window.timeout"
LOSSY_JUMPS = "ksql.suppress.lossy.jumps"


def lower(
    root: nodes.Node,
    sink: DataSource,
    config: Mapping[str, Any],
    query_id: str = "query",
    *,
    by_event_time: bool = False,
    running: Plan | None = None,
) -> Plan:
    """The plan that writes ``root`` to ``sink``.

    Operations with state follow each other in one Spark query where the upper one has one input. Elsewhere
    the plan is cut at internal topics, as Kafka Streams cuts it at repartition topics.

    Args:
        root: what was bound.
        sink: the target, with its formats and topic.
        config: effective properties; ``ksql.execution.mode`` forces a mode, so does exactly_once_v2 as
            ``processing.guarantee``.
        query_id: for the names of internal topics (reference §6.8).
        by_event_time: process rows in order of event time, in micro-batches (ORDER = 'event-time').
        running: the plan whose state it goes on with; it may be one of release 0.1.0.

    Raises:
        KsqlError: NOT_DONE_YET for what the engine cannot run yet; INVALID_STATEMENT for ``by_event_time`` in
            a query without state.
    """
    is_exactly_once = config.get(GUARANTEE) == EXACTLY_ONCE
    plan = _lower(root, sink, config, query_id, by_event_time, is_exactly_once)
    if running is None or _state(plan) == _state(running):
        return plan
    cut = _lower(root, sink, config, query_id, by_event_time, is_exactly_once, is_cut=True)
    return cut if _state(cut) == _state(running) else plan


def _state(plan: Plan) -> list[tuple[str, ...]]:
    return [stage.state_kinds for stage in plan.stages]


def _lower(
    root: nodes.Node,
    sink: DataSource,
    config: Mapping[str, Any],
    query_id: str,
    by_event_time: bool,
    is_exactly_once: bool,
    *,
    is_cut: bool = False,
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
    service_id = str(config.get("ksql.service.id"))
    planned = _Planner(f"_confluent-ksql-{service_id}query_{query_id}", by_event_time, is_cut).plan(root)
    plan = Plan(
        planned,
        sink,
        mode,
        reason,
        record_spec(sink),
        tuple(record_spec(relation.source) for relation in trees.relations(root)),
        idle_ms=int(config.get(IDLE_TIMEOUT) or 0),
        is_lossy=bool(config.get(LOSSY_JUMPS)),
        by_event_time=by_event_time,
    )
    if by_event_time and not any(stage.stateful for stage in plan.stages):
        raise KsqlError(
            "INVALID_STATEMENT",
            reason="ORDER = 'event-time' is for queries that join, aggregate, de-duplicate or filter a "
            "table; here no row depends on another.",
        )
    exact = plan.stages if is_exactly_once else plan.inner if _counts_repeated_rows(plan) else ()
    ids = (transactional_id(service_id, query_id, stage.number) for stage in exact)
    return replace(plan, transactional_ids=tuple(ids))


def _counts_repeated_rows(plan: Plan) -> bool:
    """Whether a row that an internal topic has twice would make other results, not only the same ones again.

    Of a table's row, the latest version counts, however often it comes.
    """
    exchanges = (stage.exchange for stage in plan.inner if stage.exchange is not None)
    repeated = [e for e in exchanges if e.carries_changes or not (e.kind == TABLE or e.carries_messages)]
    return any(
        operations.counts_repeated(node) and any(exchange in trees.walk(node) for exchange in repeated)
        for node in trees.walk(plan.root)
    )


def check_runnable(plan: Plan, registry: SchemaRegistry | None) -> None:
    """Check that records of all sources and of the sink can be read and written; EXPLAIN needs no check.

    ``registry``: the schema registry, or None.

    Raises:
        KsqlError: SCHEMA_REGISTRY_MISSING; those of SchemaRegistry.require().
    """
    for source in (*plan.sources, plan.sink):
        check_registry(record_spec(source), registry)


def lower_transient(
    root: nodes.Node,
    output: Sequence[Column],
    sink: str,
    config: Mapping[str, Any],
    query_id: str = "query",
    *,
    has_places: bool = False,
) -> Plan:
    """The plan of a push query: ``output`` columns of ``root`` as JSON records in topic ``sink``.

    The sink's value columns are a deletion flag and then C0, C1 … in the order of ``output``. Its topic ends
    with its client, so it needs no transactions, whatever ``processing.guarantee`` says. With ``has_places``
    each record says which record it was made of (plan.trees.keeps_places is true for ``root``).
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
    return replace(plan, output=tuple(c.name for c in output), transactional_ids=())


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


def _says_changes(table: Node) -> bool:
    """Whether the operation that makes the rows of ``table``, planned, can say how they change.

    It computes the row before once more, so what is computed of that row on the way must come out the same.
    """
    if operations.is_table_filter(table):
        assert isinstance(table, nodes.Filter)
        if not _is_repeatable(table.predicate):
            return False
        table = table.child
    while isinstance(table, nodes.Project):
        if not all(_is_repeatable(item.expression) for item in (*table.keys, *table.values)):
            return False
        table = table.child
    aggregate, _ = operations.grouped(table)
    if aggregate is not None:
        window = aggregate.window_spec
        has_rows = window is None or window.kind not in ("SESSION", "SLIDING")
        is_ours = all(registry.require(call.function).origin is None for call in aggregate.aggregates)
        # rows of a topic may end a batch between a row to retract and the one that replaces it
        is_split = isinstance(aggregate.child, Exchange) and aggregate.child.carries_changes
        return has_rows and is_ours and not aggregate.every_ms and not is_split
    if isinstance(table, nodes.Join):
        return table.type == nodes.TABLE_TABLE
    return isinstance(table, nodes.SetOperation | nodes.TopN)


def _is_repeatable(expression: Expression) -> bool:
    """Whether it has the same value for the same columns of a row, whenever it is computed.

    A user's function may be replaced by another one meanwhile.
    """
    if columns_in(expression) & PSEUDO_COLUMNS.keys():
        return False
    specs = (registry.require(part.function) for part in walk(expression) if isinstance(part, Call))
    return all(spec.is_deterministic and spec.origin is None for spec in specs)


def _has_constraints(node: nodes.KeepUnchanged) -> bool:
    """Whether rows must meet conditions once they are complete."""
    return any(relation.source.constraints for relation in trees.relations(node))


class _Planner:
    """Plans the tree of one query.

    Args:
        prefix: of the names of its internal topics.
        by_event_time: ORDER = 'event-time'.
        is_cut: each operation with state is in a Spark query of its own, as in release 0.1.0.
    """

    def __init__(self, prefix: str, by_event_time: bool, is_cut: bool) -> None:
        self._prefix = prefix
        self._by_event_time = by_event_time
        self._is_cut = is_cut
        self._exchanges = 0

    def plan(self, node: Node) -> Node:
        """``node`` with exchanges where rows come from state and cannot go on in the same Spark query."""
        match node:
            case nodes.Source(source):
                return nodes.KeepUnchanged(node) if leaves_out_columns(source) else node
            case nodes.Filter(nodes.Aggregate() as child):
                return replace(node, child=self._aggregate(child))
            case nodes.Filter(child) if node.kind == TABLE:
                # not in the Spark query of what it filters: CREATE OR REPLACE may add and remove it
                return replace(node, child=self._stateless(child))
            case nodes.Expire(child):
                return replace(node, child=self._stateless(child))
            case nodes.Deduplicate(child, keys) | nodes.Over(child, keys) | nodes.MatchRecognize(child, keys):
                return replace(node, child=self._stateless(child, keys, follows=self._follows(node)))
            case nodes.TopN(child, keys):
                key = tuple(k.expression for k in keys)
                if child.kind != TABLE:
                    return replace(node, child=self._stateless(child, key, follows=self._follows(node)))
                return self._of_changes(node, key, has_bounds=child.window is not None)
            case nodes.UnionAll(inner):
                return nodes.UnionAll(tuple(map(self._stateless, inner)))
            case nodes.SetOperation():
                inputs = [self._stateless(operand, ()) for operand in trees.operands(node)]
                return trees.with_operands(node, iter(inputs))
            case nodes.Join(type=nodes.FOREIGN_KEY):
                return self._foreign_key_join(node)
            case nodes.Join():
                return self._join(node)
            case nodes.Aggregate():
                return self._aggregate(node)
            case nodes.Filter() | nodes.SelectKey() | nodes.FlatMap() | nodes.Project():
                return replace(node, child=self.plan(node.child))
        raise TypeError(f"no plan for {type(node).__name__}")

    def _stateless(
        self,
        node: Node,
        key: tuple[Expression, ...] | None = None,
        *,
        completes: bool = False,
        follows: bool = False,
    ) -> Node:
        """``node``, planned; what comes from state goes through an exchange with the key ``key``.

        Args:
            node: what the operation above reads.
            key: what it groups rows by; None: the node's own key.
            completes: it keeps the values that changes of a table leave out.
            follows: it can follow an operation with state in the same Spark query.
        """
        return self._apart(self.plan(node), key, completes=completes, follows=follows)

    def _apart(
        self, planned: Node, key: tuple[Expression, ...] | None, *, completes: bool, follows: bool
    ) -> Node:
        """As ``_stateless``, for a planned node."""
        if completes and isinstance(planned, nodes.KeepUnchanged) and not _has_constraints(planned):
            return planned
        # the operation above a table's filter deletes what the filter drops: so the filter needs no state
        filtered = planned if operations.is_table_filter(planned) and key is not None else None
        inner = planned if filtered is None else operations.inputs(filtered)[0]
        if not any(map(operations.keeps_state, operations.walk(inner))):
            return planned
        if follows and not isinstance(planned, nodes.KeepUnchanged):
            return planned
        if planned.kind == TABLE or key is None:
            key = tuple(ColumnRef(c.name, c.type) for c in inner.schema.key)
        exchange = self._exchange(inner, key, "repartition")
        return exchange if filtered is None else trees.with_children(filtered, (exchange,))

    def _exchange(self, child: Node, key: tuple[Expression, ...], purpose: str) -> Exchange:
        number = self._exchanges
        self._exchanges += 1
        return Exchange(child, key, number, f"{self._prefix}-{number}-{purpose}")

    def _join(self, node: nodes.Join) -> Node:
        """The join, with its inputs planned.

        Raises:
            KsqlError: INVALID_STATEMENT: the table's rows come first, with ORDER = 'event-time'.
        """
        left_key = None if node.type == nodes.REPLICATED else (node.left_key,)
        left = self._stateless(node.left, left_key, completes=True)
        right = self._stateless(node.right, (node.right_key,), completes=True)
        if node.is_loaded_first and self._by_event_time:
            raise KsqlError(
                "INVALID_STATEMENT",
                reason="ORDER = 'event-time' takes rows by their time, "
                "FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP the table's rows first. Use one of both.",
            )
        return replace(node, left=left, right=right)

    def _foreign_key_join(self, node: nodes.Join) -> Node:
        left, right = self._stateless(node.left, ()), self._stateless(node.right, ())
        subscribe = nodes.ForeignKeySubscribe(left, node.left_key, node.join)
        requests = self._exchange(subscribe, (), "subscription")
        answer = nodes.ForeignKeyAnswer(requests, right, node.right_key, node.join)
        answered = self._exchange(answer, (), "response")
        return nodes.ForeignKeyJoin(answered, node.join, node.left_key, node.right_key, node.key_name)

    def _of_changes(
        self, node: nodes.Aggregate | nodes.TopN, group: tuple[Expression, ...], *, has_bounds: bool
    ) -> Node:
        """``node`` over the changes of its table's rows."""
        table = node.child
        if operations.is_table_filter(table):  # the changes are only those of rows that pass it
            planned: Node = trees.with_children(table, [self.plan(child) for child in trees.children(table)])
        else:
            planned = self.plan(table)
        is_direct = not self._is_cut and _says_changes(planned) and all(map(_is_repeatable, group))
        changes = nodes.Changes(planned, group, has_bounds, is_direct)
        if not changes.is_direct:
            kept = self._apart(planned, (), completes=True, follows=self._follows(changes))
            changes = replace(changes, child=kept)
        done = replace(node, child=changes)
        if self._follows(done) and next(operations.stateful(changes), None) is not None:
            return done
        return replace(node, child=self._exchange(changes, group, "groupby"))

    def _follows(self, node: Node) -> bool:
        """Whether ``node``, planned, can follow an operation with state in the same Spark query.

        So it can where rows stay in their task, or it does not matter in which order rows of several tasks
        arrive; and where results do not wait for time to pass, which readers tell only the operation that
        they feed.
        """
        is_timed = operations.waits(node) or operations.emits_at_intervals(node)
        is_ordered = operations.depends_on_order(node) and not distribution.stays(node)
        return not (self._is_cut or self._by_event_time or is_timed or is_ordered)

    def _aggregate(self, node: nodes.Aggregate) -> Node:
        is_table = node.child.kind == TABLE
        for call in node.aggregates:
            spec = registry.require(call.function)
            if (spec.spark_table if is_table else spec.spark) is None:
                raise _not_yet(
                    f"The aggregate function {call.function}" + (" over a table" if is_table else "")
                )
            if call.distinct and is_table and not _has_equality(call.arguments[0].type):
                raise _not_yet(f"{call.function}(DISTINCT …) of a {call.arguments[0].type} over a table")
        key = tuple(g.expression for g in node.group_by)
        if not is_table:
            return replace(node, child=self._stateless(node.child, key, follows=self._follows(node)))
        return self._of_changes(node, key, has_bounds=node.child.window is not None and _names_bounds(node))
