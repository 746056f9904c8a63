"""UPDATE, DELETE and TRUNCATE of a table's rows (beyond ksqlDB, reference §2.4): they read as a pull query
does, and write as INSERT VALUES does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from ksql_spark import analyzer
from ksql_spark.analyzer import BoundChange, BoundRow
from ksql_spark.analyzer.rows.inserts import violation
from ksql_spark.entities.commands import RowsChanged
from ksql_spark.expressions import ColumnRef, Expression, transform
from ksql_spark.grammar.statements.rows import DeleteRows, TruncateTable, UpdateRows
from ksql_spark.kafka.record_limits import Record, RecordLimits
from ksql_spark.metastore.serdes import writing_serdes
from ksql_spark.runtime.reading import pull
from ksql_spark.runtime.reading.view import View
from ksql_spark.statements.base.context import Action, Immediate, Services, StatementContext
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.rows.inserts import checked_values, failing_at, to_evaluate

#: how long to wait for all rows of the table, seconds
TIMEOUT_S = 30.0
_WORDS = {UpdateRows: "UPDATE", DeleteRows: "DELETE", TruncateTable: "TRUNCATE"}


@handles
def change_rows(statement: DeleteRows | TruncateTable | UpdateRows, context: StatementContext) -> Action:
    """Write the rows again with other values, or a tombstone for each."""
    queries = {query.sink: query.id for query in context.queries}
    change = analyzer.bind_row_change(statement, context.metastore, context.config, queries)
    services, topic = context.services, change.source.topic
    word = _WORDS[type(statement)]

    def run() -> RowsChanged:
        # one change of a table at a time: each sees what the one before it has written
        with services.row_changes[topic]:
            view = services.views.current(change.source, TIMEOUT_S)
            count, limits = 0, RecordLimits.of(topic, services.admin)
            for records in _pages(change, view, services, limits):
                for part in limits.parts(records):
                    services.producer.send_all(topic, part)
                count += len(records)
        context.positions.note(topic, services.producer.written.get(topic, {}))
        done = "updated" if change.row is not None else "deleted"
        message = f"{count:,} row{'' if count == 1 else 's'} of {change.source.name} {done}"
        return RowsChanged(statement_text=statement.source_text, operation=word, count=count, message=message)

    return Immediate(run, waits=True)


def _pages(
    change: BoundChange, view: View, services: Services, limits: RecordLimits
) -> Iterator[Sequence[Record]]:
    """The records to write: a page at a time where all rows go, else all, computed and checked before the
    first is written.
    """
    now_ms = int(time.time() * 1000)
    if change.query.predicate is None:
        for page in view.pages():
            yield [(row.key, None, now_ms) for row in page]
        return
    records = []
    for key, value in _changed(change, view, services):
        records.append((key, value, now_ms))
        with failing_at(change.row, f"Failed to update '{change.source.name}'."):
            limits.check(records[-1], now_ms)
    yield records


def _changed(change: BoundChange, view: View, services: Services) -> Iterator[tuple[bytes, bytes | None]]:
    """The key and new value of each row."""
    source, row = change.source, change.row
    columns = [] if row is None else [ColumnRef(c.name, c.type) for c in source.schema.value]
    rules = [] if row is None else [_afterwards(rule.predicate, row) for rule in source.constraints]
    expressions = [*columns, *rules, *(to_evaluate(row) if row is not None else ())]
    _, serde = writing_serdes(source, services.registry)
    for key, results in pull.evaluated(
        change.query, expressions, view, services.spark.session, services.registry
    ):
        if row is None:
            yield key, None
            continue
        values = {column.name: value for column, value in zip(columns, results, strict=False)}
        nulls = {name for name, value in values.items() if value is None}
        held = results[len(columns) : len(columns) + len(rules)]
        for rule, holds in zip(source.constraints, held, strict=True):
            if holds is not True:
                raise violation(row, rule, "update")
        with failing_at(change.row, f"Failed to update '{change.source.name}'."):
            new = checked_values(row, results[len(columns) + len(rules) :], nulls)
            values |= {name: value for (name, _), value in zip(row.values, new, strict=True)}
            encoded = serde.encode(list(values.values()))
        yield key, encoded


def _afterwards(predicate: Expression, row: BoundRow) -> Expression:
    """Return the condition as it will be once the row has been changed."""
    written = dict(row.values)
    return transform(predicate, lambda node: written.get(node.name) if isinstance(node, ColumnRef) else None)
