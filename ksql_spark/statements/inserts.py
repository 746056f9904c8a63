"""INSERT INTO … VALUES: one record, written straight to Kafka (reference §2.4)."""

from __future__ import annotations

import time
from typing import Any

from grammar.statements.inserts import InsertValues
from ksql_spark import analyzer
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Cast, Expression, Literal
from ksql_spark.functions.casts import cast_can_fail
from ksql_spark.functions.failures import cause
from ksql_spark.functions.nullness import Nullness, nullness
from ksql_spark.metastore.serdes import writing_serdes
from ksql_spark.runtime.known_inserts import plain
from ksql_spark.schema import LATEST_TIME_MS, ROWTIME
from ksql_spark.statements.context import Action, Immediate, StatementContext


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
        names = [name for name, _ in row.values]
        expressions = [e for _, e in row.values]
        values = dict(zip(names, _values(expressions, context), strict=True))
        source = row.source
        rowtime = values.get(ROWTIME)
        at = int(time.time() * 1000) if rowtime is None else int(rowtime)
        try:
            for (name, expression), value in zip(row.values, values.values(), strict=True):
                if value is None and _has_failed(expression):
                    raise ValueError(f"{name}: {cause(expression)}")
            if not 0 <= at <= LATEST_TIME_MS:
                raise ValueError(f"{ROWTIME} must be between 0 and {LATEST_TIME_MS}.")
            key = [values.get(c.name) for c in source.schema.key]
            if source.is_table and any(v is None for v in key):
                raise ValueError("Value for primary key column(s) is required for tables")
            key_serde, value_serde = writing_serdes(source, services.registry)
            key_bytes = None if not key or all(v is None for v in key) else key_serde.encode(key)
            value_bytes = value_serde.encode([values.get(c.name) for c in source.schema.value])
        except ValueError as error:
            reason = f"Failed to insert values into '{source.name}'. {error}"
            raise KsqlError("INVALID_STATEMENT", reason=reason) from None
        if at:
            partition, offset = services.producer.send(source.topic, key_bytes, value_bytes, at)
            context.known.note(source.topic, {partition: offset + 1})
        else:  # librdkafka takes a timestamp of 0 for none, and sets the current time
            services.write(source.topic, key_bytes, value_bytes, at)

    return Immediate(run)


def _values(expressions: list[Expression], context: StatementContext) -> list[Any]:
    found = [plain(e) for e in expressions]
    if None in found:
        return context.services.evaluate(expressions)
    return [None if value is None else widen(value) for value, widen in filter(None, found)]


def _has_failed(expression: Expression) -> bool:
    """Whether a NULL of it is a failure: a stream would go on with NULL, but here someone can be told."""
    if isinstance(expression, Cast):
        given = expression.operand
        is_there = isinstance(given, Literal) and given.value is not None
        return is_there and cast_can_fail(given.type, expression.type)
    return nullness(expression) is Nullness.ERROR
