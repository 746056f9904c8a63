"""EVOLVE: which changes of a stream or table its topic and its readers take (beyond ksqlDB, ADR 54)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ksql_spark.analyzer.base.failures import Placed, invalid, within_statement
from ksql_spark.analyzer.definitions.persistent import bind_persistent
from ksql_spark.analyzer.definitions.properties import BACKFILL, Evolve, Properties
from ksql_spark.analyzer.definitions.sources import with_past
from ksql_spark.formats.capabilities import CAPABILITIES, NUMBER, PLACE
from ksql_spark.grammar.statements.sources import CreateAsSelect
from ksql_spark.grammar.with_properties import CREATE_AS
from ksql_spark.metastore.sources import STREAM, TABLE, DataSource, Windowing
from ksql_spark.metastore.store import MetaStore
from ksql_spark.plan.queries import PersistentQuery
from ksql_spark.schema_registry import SchemaRegistry

#: kind -> why HISTORY is missing, or too much
_HISTORY = {
    STREAM: "A backfill of a stream needs HISTORY = 'keep': rows that the old version has written stay.",
    TABLE: "HISTORY = 'keep' is for streams: a table's topic gets what differs.",
}


def evolve_of(statement: CreateAsSelect) -> Evolve | None:
    """Return the EVOLVE settings of the statement; None if it does not ask to change a running query.

    Raises:
        KsqlError: PROPERTY_IN_WITH, INVALID_STATEMENT.
    """
    with within_statement(statement):  # which may be that of an EXPLAIN
        return Properties(statement.properties, CREATE_AS).evolve()


def bind_evolution(
    statement: CreateAsSelect,
    metastore: MetaStore,
    config: Mapping[str, Any],
    registry: SchemaRegistry | None = None,
) -> PersistentQuery:
    """The new version of a stream or table; its sink has the topic of the old one.

    Raises:
        KsqlError: SOURCE_UNKNOWN if there is none; what is wrong with the new version by itself.
            ``check_evolution`` decides what it may change.
    """
    name = statement.name
    old = metastore.require(name)
    if not statement.or_replace:
        raise invalid(f"A {old.kind.lower()} {name} exists.", statement, hint="EVOLVE needs OR REPLACE.")
    if not old.is_sink:
        raise invalid("EVOLVE is for streams and tables that a query writes.", statement)
    if old.kind != statement.kind:
        raise invalid(f"{name} is a {old.kind.lower()}.", statement)
    evolve = evolve_of(statement)
    if evolve is not None and evolve.way == BACKFILL and evolve.keeps_history != (old.kind == STREAM):
        raise invalid(_HISTORY[old.kind], statement)
    without = metastore.copy()
    without.drop(name)
    new = bind_persistent(statement, without, config, registry)
    is_given = any(p.name.upper() == "KAFKA_TOPIC" for p in statement.properties)
    sink = new.sink if is_given else replace(new.sink, topic=old.topic)
    return replace(new, sink=with_past(sink, old))


def check_evolution(
    old: DataSource,
    new: DataSource,
    readers: Sequence[str],
    node: Placed | None = None,
    *,
    is_beside: bool = True,
    may_move: bool = False,
) -> None:
    """Refuse a new version whose rows would not fit into the topic, or that readers do not take.

    Args:
        old: the stream or table.
        new: what the new version makes of it.
        readers: ids of the queries that read it.
        node: the statement, for the error's position.
        is_beside: whether the new version first writes a topic of its own.
        may_move: whether it may go on in another topic.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """

    def refuse(reason: str, hint: str | None = None) -> Exception:
        return invalid(f"{old.name} cannot evolve: {reason}", node, hint=hint)

    if _bounds(old.window) != _bounds(new.window) or (not is_beside and old.window != new.window):
        raise refuse("its windows, which are part of its keys, cannot change.")
    if old.window != new.window and readers:
        raise refuse(f"its windows cannot change while queries read it: {', '.join(sorted(readers))}.")
    for side, before, after in (
        ("key", old.key_format, new.key_format),
        ("value", old.value_format, new.value_format),
    ):
        if before != after:
            hint = f"Its {side} format is {before.name}: WITH ({side.upper()}_FORMAT = '{before.name}')."
            raise refuse(f"the {side} format cannot change.", hint)
    if old.topic != new.topic:
        if not may_move:
            raise refuse(f"its topic, {old.topic}, cannot change.")
        if readers:
            reason = f"its topic cannot change while queries read it: {', '.join(sorted(readers))}."
            raise refuse(reason, "DROP what these queries write first.")
    if old.timestamp != new.timestamp:
        raise refuse("its timestamp column cannot change.")
    if new.partitions is not None and old.partitions is not None and new.partitions != old.partitions:
        raise refuse(f"its topic has {old.partitions} partitions, which cannot change.")
    if old.schema.key != new.schema.key:
        raise refuse(f"key columns must stay the same: {', '.join(map(str, old.schema.key))}.")
    same_columns = new.schema.value[: len(old.schema.value)]
    if same_columns != old.schema.value and readers:
        raise refuse(
            "columns can only be appended while queries read it: "
            f"{', '.join(sorted(readers))} would find other columns than before."
        )


def check_written_rows(
    old: DataSource, new: DataSource, node: Placed | None = None, *, is_past: bool = False
) -> None:
    """Refuse columns that rows which are already in the topic, and stay there, could not be read with.

    Args:
        old: the stream or table as it is.
        new: as it shall be.
        node: the statement, for its place.
        is_past: whether all rows are written again, and the old ones stay for AS OF and CHANGES.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    before, after, name = old.schema.value, new.schema.value, old.value_format.name
    format_ = CAPABILITIES[name]
    types = {column.name: column.type for column in (*old.dropped, *before)}
    changed = [c for c in after if c.name in types and not format_.reads(types[c.name], c.type)]
    first, last = ([column.name for column in columns] for columns in (before, after))
    are_records = all(
        format_.wraps(len(columns), False, old.value_format.wrapped) for columns in (first, last)
    )
    columns_by = format_.columns_by if are_records else PLACE
    if changed:
        column = changed[0]
        reason = f"{column.name} as {types[column.name]}, which cannot be read as {column.type}."
        hint = f"Give the column another name, or CAST it to {types[column.name]}."
    elif columns_by == NUMBER and last[: len(first)] != first:
        reason = f"columns by number ({name}), so these can only be appended."
        hint = "Keep the columns that there are, in their order."
    elif columns_by == PLACE and last != first:
        reason = f"columns by position ({name}), so these cannot change."
        hint = "Keep the columns and their order."
    else:
        return
    if old.kind == TABLE and not is_past:
        hint += " Or use EVOLVE = 'backfill', which writes all rows again."
    else:
        hint += f" Or CREATE a {old.kind.lower()} beside {old.name}, with a topic of its own."
    rows = "rows of its past (HISTORY)" if is_past else "rows that stay in its topic"
    raise invalid(f"{old.name} cannot evolve so: {rows} have {reason}", node, hint=hint)


def _bounds(window: Windowing | None) -> str:
    """Return which bounds of the window a row's key has: "none", "start" or "both"."""
    if window is None:
        return "none"
    return "both" if window.has_end else "start"


__all__ = ["bind_evolution", "check_evolution", "check_written_rows", "evolve_of"]
