"""INSERT INTO … VALUES: records, written straight to Kafka (reference §2.4)."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from ksql_spark import analyzer
from ksql_spark.analyzer import BoundInsert, BoundRow
from ksql_spark.analyzer.base import timestamp_text
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.rows.inserts import Conversion, violation
from ksql_spark.entities.commands import RowsInserted
from ksql_spark.entities.schemas import FieldInfo
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Cast, ColumnRef, Expression, Literal, columns_in, transform
from ksql_spark.formats import Serde
from ksql_spark.functions.failures import Failures
from ksql_spark.functions.nullness import Nullness, nullness
from ksql_spark.grammar.statements.inserts import InsertValues
from ksql_spark.kafka.record_limits import Record, RecordLimits
from ksql_spark.kafka.transactions import TransactionalWriter, Written
from ksql_spark.metastore.serdes import subjects_of, writing_serdes
from ksql_spark.metastore.sources import Constraint, DataSource
from ksql_spark.plan.planner import GUARANTEE
from ksql_spark.plan.stages import EXACTLY_ONCE
from ksql_spark.runtime.inserts import plain_constraints
from ksql_spark.runtime.reading.results import api_value, schema_info
from ksql_spark.schema import LATEST_TIME_MS, ROWTIME
from ksql_spark.statements.base.context import Action, Immediate, StatementContext
from ksql_spark.statements.base.handlers import handles
from ksql_spark.types import BIGINT, DATE, DOUBLE, INTEGER, STRING, TIME, TIMESTAMP, VARIANT


@handles
def insert_values(statement: InsertValues, context: StatementContext) -> Action:
    """Write records, all of which are checked before the first is sent; literals need no Spark."""
    if not context.config["ksql.insert.into.values.enabled"]:
        raise KsqlError(
            "INVALID_STATEMENT",
            reason="The server has disabled INSERT INTO ... VALUES functionality "
            "(ksql.insert.into.values.enabled=false).",
        )
    bound = analyzer.bind_insert_values(statement, context.metastore, context.config)

    def run() -> RowsInserted | None:
        rows = _values(bound, context)
        now_ms = int(time.time() * 1000)
        topic, admin, records = bound.source.topic, context.services.admin, []
        # the brokers write one record or refuse it
        limits = RecordLimits.of(topic, admin) if len(rows) > 1 else RecordLimits(topic, {})
        if subjects_of(bound.source):
            admin.require_topic(topic)  # or a topic that is gone would have a subject again
        serdes = writing_serdes(bound.source, context.services.registry)
        for at, values in enumerate(rows):
            with failing_at(bound.rows[at], _failure(bound, at)):
                records.append(_record(bound.source, values, now_ms, serdes))
                if len(rows) > 1:
                    limits.check(records[-1], now_ms)
        has_values = bool(bound.source.schema.value)
        # a tombstone deletes a row, which no rule is about
        kept = {
            at: rows[at] for at, (_, value, _) in enumerate(records) if value is not None or not has_values
        }
        _check_constraints(bound, kept, context)
        write_together(limits, records, context)
        if not bound.returning:
            return None
        return RowsInserted(
            statement_text=statement.source_text,
            count=len(rows),
            columns=tuple(FieldInfo(name, schema_info(column.type)) for name, column in bound.returning),
            rows=tuple(
                tuple(api_value(values.get(column.name), column.type) for _, column in bound.returning)
                for values in rows
            ),
        )

    return Immediate(run)


@contextlib.contextmanager
def failing_at(row: BoundRow | None, what: str) -> Iterator[None]:
    """A block about a row: its ValueErrors become errors of the statement, which begin with ``what``.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    try:
        yield
    except ValueError as error:
        node = row.nodes[error.at] if row and row.nodes and isinstance(error, ValueRefused) else None
        raise invalid(f"{what} {error}", node) from None


class ValueRefused(ValueError):
    """A value that cannot be computed.

    Args:
        reason: a sentence.
        at: which value of its row, from 0.
    """

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.at = at


def _failure(bound: BoundInsert, at: int) -> str:
    """What begins an error of a row, by its place from 0."""
    return f"Failed to insert values into '{bound.source.name}'. {bound.label(at)}".rstrip()


def _record(
    source: DataSource, values: dict[str, Any], now_ms: int, serdes: tuple[Serde, Serde]
) -> tuple[bytes | None, bytes | None, int]:
    """The key, value and time of a row's record; the time becomes one of the values.

    Raises:
        ValueError: the row has no record.
    """
    rowtime = values.get(ROWTIME)
    at = values[ROWTIME] = now_ms if rowtime is None else int(rowtime)
    if not 0 <= at <= LATEST_TIME_MS:
        raise ValueError(f"{ROWTIME} must be between 0 and {LATEST_TIME_MS}.")
    key = [values.get(c.name) for c in source.schema.key]
    if source.is_table and any(v is None for v in key):
        raise ValueError("Value for primary key column(s) is required for tables")
    key_serde, value_serde = serdes
    key_bytes = None if not key or all(v is None for v in key) else key_serde.encode_key(key)
    return key_bytes, value_serde.encode([values.get(c.name) for c in source.schema.value]), at


def write_together(limits: RecordLimits, records: Collection[Record], context: StatementContext) -> None:
    """Write records: several in one transaction where results are to be exactly once.

    Args:
        limits: of the topic; several records were checked by them.
        records: what to write.
        context: the statement's.

    Raises:
        KsqlError: INVALID_STATEMENT, TOPIC_UNKNOWN, BROKER_UNREACHABLE, KAFKA_REFUSED.
    """
    services, topic = context.services, limits.topic
    # librdkafka takes a timestamp of 0 for none, and sets the current time
    is_first_ms = any(not at for _, _, at in records)
    if len(records) > 1 and context.config[GUARANTEE] == EXACTLY_ONCE:
        if is_first_ms:
            reason = f"Rows with {ROWTIME} 0 cannot be written in a transaction. INSERT each of them alone."
            raise KsqlError("INVALID_STATEMENT", reason=reason)
        admin = services.admin
        with services.insert_transactions:
            writer = TransactionalWriter(admin.servers, _writer_id(context), admin.settings)
            try:
                writer.write(Written(topic, key, value, at) for key, value, at in records)
            finally:
                writer.close()
        ends = admin.committed_ends(topic)
        context.positions.note(topic, {partition: end for (_, partition), end in ends.items()})
    elif is_first_ms:
        for record in records:
            services.spark.write(topic, *record)
    elif len(records) == 1:
        (record,) = records
        partition, offset = services.producer.send(topic, *record)
        context.positions.note(topic, {partition: offset + 1})
    else:
        for part in limits.parts(records):
            services.producer.send_all(topic, part)
        context.positions.note(topic, services.producer.written.get(topic, {}))


def _writer_id(context: StatementContext) -> str:
    services = context.services
    return f"_confluent-ksql-{services.config['ksql.service.id']}insert-{services.server.host}"


def _check_constraints(
    bound: BoundInsert, rows: Mapping[int, Mapping[str, Any]], context: StatementContext
) -> None:
    """Refuse rows, by their places from 0, that every query would leave out.

    Raises:
        KsqlError: INVALID_STATEMENT; as SparkAccess.session().
    """
    others: list[tuple[int, Constraint]] = []
    constraints = plain_constraints(bound.source)
    for at, values in rows.items():
        for constraint, is_met in constraints:
            if is_met is None:
                others.append((at, constraint))
            elif not is_met(values):
                raise violation(bound.rows[at], constraint, label=bound.label(at))
    if not others:
        return

    def predicate(at: int, constraint: Constraint) -> Expression:
        written = dict(bound.rows[at].values)

        def constant(node: Expression) -> Expression | None:
            if not isinstance(node, ColumnRef):
                return None
            return written.get(node.name) or Literal(None, node.type)

        return transform(constraint.predicate, constant)

    results = context.services.spark.evaluate([predicate(*one) for one in others])
    for (at, constraint), is_true in zip(others, results, strict=True):
        if is_true is not True:
            raise violation(bound.rows[at], constraint, label=bound.label(at))


def _values(bound: BoundInsert, context: StatementContext) -> list[dict[str, Any]]:
    """The values of each row, by column; one call of Spark computes what are no literals.

    Raises:
        KsqlError: INVALID_STATEMENT if a value, or a member of one, cannot be computed; in a query it would
            be NULL.
    """
    constants = [[_plain(e) for _, e in row.values] for row in bound.rows]
    computed = [row for row, plain in zip(bound.rows, constants, strict=True) if None in plain]
    expressions = [to_evaluate(row) for row in computed]
    evaluated: Iterator[Any] = iter(
        context.services.spark.evaluate([one for row in expressions for one in row]) if computed else ()
    )
    counts = iter([len(row) for row in expressions])
    rows = []
    for at, (row, plain) in enumerate(zip(bound.rows, constants, strict=True)):
        with failing_at(bound.rows[at], _failure(bound, at)):
            if None in plain:
                values = checked_values(row, list(itertools.islice(evaluated, next(counts))))
            else:
                values = [None if value is None else widen(value) for value, widen in filter(None, plain)]
        rows.append(dict(zip((name for name, _ in row.values), values, strict=True)))
    return rows


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
        ValueRefused: a value, or a member of one, cannot be computed.
    """
    conversions = row.conversions
    count, middle = len(row.values), len(row.values) + len(conversions)
    for one, after, before in zip(conversions, evaluated[count:middle], evaluated[middle:], strict=True):
        is_json_null = one.type == VARIANT and isinstance(before, str) and before.strip() == "null"
        if after is None and before is not None and not is_json_null:
            raise ValueRefused(_not_valid(one), one.at)
    values = list(evaluated[:count])
    for at, ((name, expression), value) in enumerate(zip(row.values, values, strict=True)):
        computed = expression
        while isinstance(computed, Cast):  # whose own errors were found above
            computed = computed.operand
        if value is None and nullness(computed) is Nullness.ERROR and columns_in(computed).isdisjoint(nulls):
            raise ValueRefused(f"{name}: {Failures().cause(computed)}", at)
    return values


def _not_valid(conversion: Conversion) -> str:
    reason = f"{conversion.operand} is not a valid {conversion.type}."
    match conversion.operand:
        case Literal(str(text)) if conversion.type in (DATE, TIME, TIMESTAMP):
            return f"{reason} {timestamp_text.advice(text, str(conversion.type))}"
    return reason


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
