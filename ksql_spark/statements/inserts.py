"""INSERT INTO … VALUES: one record, written straight to Kafka (reference §2.4)."""

from __future__ import annotations

import time
from typing import Any

from grammar.statements.inserts import InsertValues
from ksql_spark import analyzer
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Cast, Expression, Literal
from ksql_spark.metastore.serdes import writing_serdes
from ksql_spark.schema import ROWTIME
from ksql_spark.statements.context import Action, Immediate, StatementContext
from ksql_spark.types import BIGINT, DOUBLE, INTEGER, STRING


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
        try:
            key = [values.get(c.name) for c in source.schema.key]
            if source.is_table and any(v is None for v in key):
                raise ValueError("Value for primary key column(s) is required for tables")
            key_serde, value_serde = writing_serdes(source, services.registry)
            key_bytes = None if not key or all(v is None for v in key) else key_serde.encode(key)
            value = [values.get(c.name) for c in source.schema.value]
            value_bytes = value_serde.encode(value)
        except ValueError as error:
            reason = f"Failed to insert values into '{source.name}'. {error}"
            raise KsqlError("INVALID_STATEMENT", reason=reason) from None
        at = int(time.time() * 1000) if rowtime is None else int(rowtime)
        if at:
            partition, offset = services.producer.send(source.topic, key_bytes, value_bytes, at)
            context.known.note(source.topic, {partition: offset + 1})
        else:  # librdkafka takes a timestamp of 0 for none, and sets the current time
            services.write(source.topic, key_bytes, value_bytes, at)

    return Immediate(run)


def _values(expressions: list[Expression], context: StatementContext) -> list[Any]:
    plain = [_plain(e) for e in expressions]
    if all(found for found, _ in plain):
        return [value for _, value in plain]
    return context.services.evaluate(expressions)


def _plain(expression: Expression) -> tuple[bool, Any]:
    """(True, value) for a literal or a widened number, which needs no Spark; else (False, None)."""
    match expression:
        case Literal(value, type_) if value is None or type_ in (STRING, INTEGER, BIGINT, DOUBLE):
            return True, value
        case Literal(bool(value), _):
            return True, value
        case Cast(Literal(None, _), _):
            return True, None
        case Cast(Literal(int(value), _), type_) if type_ == BIGINT:
            return True, value
        case Cast(Literal(value, _), type_) if type_ == DOUBLE and not isinstance(value, str):
            return True, float(value)
    return False, None
