"""lower: a logical plan to the steps that run it, the choice of mode, and what cannot run yet.

The only place that knows which logical node becomes which step. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ksql_spark import __version__
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Expression
from ksql_spark.functions import registry
from ksql_spark.logical import nodes
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource, FormatSpec
from ksql_spark.physical import steps
from ksql_spark.physical.steps import MICROBATCH, REALTIME, PhysicalPlan, Step
from ksql_spark.schema import WINDOW_BOUNDS, Column, Schema
from ksql_spark.types import BOOLEAN

EXECUTION_MODE = "ksql.execution.mode"


def lower(root: nodes.Node, sink: DataSource, config: Mapping[str, Any]) -> PhysicalPlan:
    """The physical plan that writes ``root`` to ``sink``.

    Args:
        root: what is to run.
        sink: the target, formats and topic filled in.
        config: effective properties; ``ksql.execution.mode`` forces a mode.

    Raises:
        KsqlError: NOT_DONE_YET for what the engine cannot run yet.
    """
    step = _lower(root)
    every = steps.walk(step)
    stateful = [s for s in every if isinstance(s, steps.STATEFUL)]
    if len(stateful) > 1:
        names = " and ".join(type(s).__name__ for s in stateful)
        raise _not_yet(
            f"A query with more than one step that keeps state ({names})",
            "Split it: CREATE the inner part AS SELECT, then select from that.",
        )
    topics = [s.source.topic for s in every if isinstance(s, (steps.StreamSource, steps.TableSource))]
    if len(topics) != len(set(topics)):
        raise _not_yet(
            "A query that reads the same topic twice",
            "Copy it first: CREATE STREAM copy AS SELECT * FROM the stream.",
        )
    forced = str(config.get(EXECUTION_MODE) or "").lower()
    if forced == MICROBATCH:
        mode, reason = MICROBATCH, f"{EXECUTION_MODE} asks for it"
    else:
        kept = type(stateful[0]).__name__ if stateful else "no step"
        mode, reason = REALTIME, f"every step can run in real time ({kept} keeps state)"
    sources = tuple(s.source for s in every if isinstance(s, (steps.StreamSource, steps.TableSource)))
    return PhysicalPlan(step, sink, mode, reason, sources)


def lower_transient(
    root: nodes.Node, output: Sequence[Column], sink: str, config: Mapping[str, Any]
) -> PhysicalPlan:
    """The physical plan of a push query: ``output`` columns of ``root`` as JSON records in topic ``sink``.

    The sink's value columns are a deletion flag and then C0, C1 … in the order of ``output``.
    """
    columns = (Column("TOMBSTONE", BOOLEAN), *(Column(f"C{i}", c.type) for i, c in enumerate(output)))
    source = DataSource(
        name=sink,
        kind=STREAM,
        schema=Schema(columns),
        topic=sink,
        key_format=FormatSpec("NONE"),
        value_format=FormatSpec("JSON"),
    )
    plan = lower(root, source, config)
    names = tuple(c.name for c in output)
    keys = frozenset(c.name for c in root.schema.key) | frozenset(WINDOW_BOUNDS)
    select = steps.TransientSelect(plan.root, names, keys, root.kind == TABLE, source.schema)
    return replace(plan, root=select)


def _not_yet(what: str, hint: str | None = None) -> KsqlError:
    return KsqlError("NOT_DONE_YET", what=what, version=__version__, hint=hint)


def _lower(node: nodes.Node) -> Step:
    match node:
        case nodes.Source():
            return _source(node)
        case nodes.Filter(child, predicate):
            if isinstance(child, nodes.Aggregate):
                return _aggregate(child, predicate)
            step = steps.TableFilter if node.kind == TABLE else steps.StreamFilter
            return step(_lower(child), predicate, node.schema, node.window)
        case nodes.SelectKey(child, keys):
            return steps.StreamSelectKey(_lower(child), keys, node.schema)
        case nodes.FlatMap(child, functions):
            return steps.StreamFlatMap(_lower(child), functions, node.schema, node.window)
        case nodes.Project(child, keys, values):
            projection = steps.TableSelect if node.kind == TABLE else steps.StreamSelect
            return projection(_lower(child), keys, values, node.schema, node.window)
        case nodes.UnionAll(inner):
            return steps.StreamUnion(tuple(_lower(c) for c in inner), node.schema, node.window)
        case nodes.Join():
            return _join(node)
        case nodes.Aggregate():
            return _aggregate(node, None)
    raise TypeError(f"no step for {type(node).__name__}")


def _source(node: nodes.Source) -> Step:
    step = steps.TableSource if node.source.is_table else steps.StreamSource
    prefix = f"{node.alias}_" if node.prefixed else ""
    return step(node.source, node.schema, prefix, node.exposed, node.window)


def _join(node: nodes.Join) -> Step:
    left, right = _lower(node.left), _lower(node.right)
    if node.window is not None:
        raise _not_yet("A join of windowed sources")
    on = (node.left_key, node.right_key, node.key_name)
    match node.type:
        case nodes.STREAM_TABLE:
            return steps.StreamTableJoin(left, right, node.join, *on, node.schema)
        case nodes.STREAM_STREAM:
            assert node.within is not None
            return steps.StreamStreamJoin(left, right, node.join, *on, node.within, node.schema)
        case nodes.TABLE_TABLE:
            return steps.TableTableJoin(left, right, node.join, *on, node.schema)
    raise _not_yet("A join on a foreign key")


def _aggregate(node: nodes.Aggregate, having: Expression | None) -> Step:
    if node.child.kind == TABLE:
        raise _not_yet("Aggregation of a table")
    if node.child.window is not None:
        raise _not_yet("Aggregation of a windowed stream")
    for call in node.aggregates:
        if registry.require(call.function).spark is None:
            raise _not_yet(f"The aggregate function {call.function}")
        if call.distinct:
            raise _not_yet(f"{call.function}(DISTINCT …)")
    child, window = _lower(node.child), node.window_spec
    if window is None:
        return steps.StreamAggregate(child, node.group_by, node.aggregates, having, node.schema)
    return steps.StreamWindowedAggregate(
        child, node.group_by, node.aggregates, having, window, node.emit_final, node.schema, node.window
    )
