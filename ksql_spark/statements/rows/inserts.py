"""INSERT INTO … VALUES: one record, written straight to Kafka (reference §2.4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ksql_spark import analyzer
from ksql_spark.analyzer import BoundRow
from ksql_spark.analyzer.rows.inserts import violation
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Cast, ColumnRef, Expression, Literal, columns_in, transform
from ksql_spark.functions.failures import cause
from ksql_spark.functions.nullness import Nullness, nullness
from ksql_spark.grammar.statements.inserts import InsertValues
from ksql_spark.metastore.serdes import writing_serdes
from ksql_spark.metastore.sources import Constraint
from ksql_spark.runtime.inserts import plain_constraints
from ksql_spark.schema import LATEST_TIME_MS, ROWTIME
from ksql_spark.statements.base.context import Action, Immediate, StatementContext
from ksql_spark.types import BIGINT, DOUBLE, INTEGER, STRING, VARIANT


def insert_values(statement: InsertValues, context: StatementContext) -> Action:
    """Write one record; literals need no Spark."""
    if not context.config["ksql.insert.into.values.enabled"]:
        raise KsqlError(
            "INVALID_STATEMENT",
            reason="The server has disabled INSERT INTO ... VALUES functionality "
            "(ksql.insert.into.values.enabled=false).",
        )
    row = analyzer.bind_insert_values(statement, context.metastore, context.config)
    services = context.services

    def run() -> None:
        source = row.source
        try:
            values = dict(zip((name for name, _ in row.values), _values(row, context), strict=True))
            rowtime = values.get(ROWTIME)
            at = int(time.time() * 1000) if rowtime is None else int(rowtime)
            if not 0 <= at <= LATEST_TIME_MS:
                raise ValueError(f"{ROWTIME} must be between 0 and {LATEST_TIME_MS}.")
            key = [values.get(c.name) for c in source.schema.key]
            if source.is_table and any(v is None for v in key):
                raise ValueError("Value for primary key column(s) is required for tables")
            key_serde, value_serde = writing_serdes(source, services.registry)
            key_bytes = None if not key or all(v is None for v in key) else key_serde.encode_key(key)
            value_bytes = value_serde.encode([values.get(c.name) for c in source.schema.value])
        except ValueError as error:
            reason = f"Failed to insert values into '{source.name}'. {error}"
            raise KsqlError("INVALID_STATEMENT", reason=reason) from None
        if value_bytes is not None or not source.schema.value:
            _check_constraints(row, values, context)
        if at:
            partition, offset = services.producer.send(source.topic, key_bytes, value_bytes, at)
            context.positions.note(source.topic, {partition: offset + 1})
        else:  # librdkafka takes a timestamp of 0 for none, and sets the current time
            services.spark.write(source.topic, key_bytes, value_bytes, at)

    return Immediate(run)


def _check_constraints(row: BoundRow, values: Mapping[str, Any], context: StatementContext) -> None:
    """Refuse a row that every query would leave out.

    Raises:
        KsqlError: INVALID_STATEMENT; as SparkAccess.session().
    """
    source = row.source
    others: list[Constraint] = []
    for constraint, is_met in plain_constraints(source):
        if is_met is None:
            others.append(constraint)
        elif not is_met(values):
            raise violation(row, constraint)
    if not others:
        return
    written = dict(row.values)

    def constant(node: Expression) -> Expression | None:
        if not isinstance(node, ColumnRef):
            return None
        return written.get(node.name) or Literal(None, node.type)

    results = context.services.spark.evaluate([transform(c.predicate, constant) for c in others])
    for constraint, is_true in zip(others, results, strict=True):
        if is_true is not True:
            raise violation(row, constraint)


def _values(row: BoundRow, context: StatementContext) -> list[Any]:
    """The values of ``row``.

    Raises:
        ValueError: a value, or a member of one, cannot be computed; in a query it would be NULL.
    """
    constants = [_plain(e) for _, e in row.values]
    if None not in constants:
        return [None if value is None else widen(value) for value, widen in filter(None, constants)]
    return checked_values(row, context.services.spark.evaluate(to_evaluate(row)))


def to_evaluate(row: BoundRow) -> list[Expression]:
    """The values of ``row``, its conversions, and what they convert."""
    return [
        *(e for _, e in row.values),
        *(c.result for c in row.conversions),
        *(c.operand for c in row.conversions),
    ]


def checked_values(row: BoundRow, evaluated: Sequence[Any], nulls: Collection[str] = ()) -> list[Any]:
    """The values of ``row``.

    Args:
        row: what is written.
        evaluated: the values of to_evaluate.
        nulls: columns that are NULL, so that what is computed from them is NULL, too.

    Raises:
        ValueError: a value, or a member of one, cannot be computed.
    """
    conversions = row.conversions
    count, middle = len(row.values), len(row.values) + len(conversions)
    for one, after, before in zip(conversions, evaluated[count:middle], evaluated[middle:], strict=True):
        is_json_null = one.type == VARIANT and isinstance(before, str) and before.strip() == "null"
        if after is None and before is not None and not is_json_null:
            raise ValueError(f"{one.operand} is not a valid {one.type}.")
    values = list(evaluated[:count])
    for (name, expression), value in zip(row.values, values, strict=True):
        computed = expression
        while isinstance(computed, Cast):  # whose own errors were found above
            computed = computed.operand
        if value is None and nullness(computed) is Nullness.ERROR and columns_in(computed).isdisjoint(nulls):
            raise ValueError(f"{name}: {cause(computed)}")
    return values


def _plain(expression: Expression) -> tuple[Any, Callable[[Any], Any]] | None:
    """The value of a literal, and its widening to its column's type; None if Spark must evaluate it."""
    match expression:
        case Literal(None, _) | Cast(Literal(None, _), _):
            return None, _same
        case Literal(bool(value), _):
            return value, _same
        case Literal(value, type_) if type_ in (STRING, INTEGER, BIGINT, DOUBLE):
            return value, _same
        case Cast(Literal(int(value), _), type_) if type_ == BIGINT:
            return value, _same
        case Cast(Literal(value, _), type_) if type_ == DOUBLE and not isinstance(value, str):
            return value, float
    return None


def _same(value: Any) -> Any:
    return value
