"""Statements: one handler per statement class, in one table.

A handler validates a statement in a sandbox and returns an action; see statements.base.context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ksql_spark.errors import KsqlError
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.asserts import AssertSchema, AssertTopic
from ksql_spark.grammar.statements.comments import Comment
from ksql_spark.grammar.statements.connectors import CreateConnector, DropConnector
from ksql_spark.grammar.statements.describe import (
    DescribeConnector,
    DescribeFunction,
    DescribeSource,
    DescribeSources,
    Explain,
    ExplainFreshness,
    ExplainRecord,
    ExplainRow,
)
from ksql_spark.grammar.statements.functions import CreateFunction, DropFunction
from ksql_spark.grammar.statements.indexes import CreateIndex, DropIndex
from ksql_spark.grammar.statements.inserts import InsertSelect, InsertValues
from ksql_spark.grammar.statements.lifecycle import (
    Forget,
    Pause,
    ReplayErrors,
    ReplayLateRows,
    Reprocess,
    Resume,
    Terminate,
)
from ksql_spark.grammar.statements.rows import DeleteRows, TruncateTable, UpdateRows
from ksql_spark.grammar.statements.session import (
    AlterSystem,
    DefineVariable,
    SetProperty,
    UndefineVariable,
    UnsetProperty,
)
from ksql_spark.grammar.statements.show import Show
from ksql_spark.grammar.statements.sinks import (
    CompactSink,
    CreateSink,
    CreateSinkAs,
    DescribeSink,
    DropSink,
    PauseSink,
    ResumeSink,
)
from ksql_spark.grammar.statements.sources import (
    AlterSource,
    CreateAsSelect,
    CreateSource,
    DropSource,
    RefreshSchema,
)
from ksql_spark.grammar.statements.types import CreateType, DropType
from ksql_spark.grammar.statements.versions import (
    AbortEvolution,
    DescribeEvolution,
    Rollback,
    ShowVersions,
    Swap,
    Undrop,
)
from ksql_spark.grammar.statements.views import CreateView, DropView
from ksql_spark.statements.administration import session, unexecuted
from ksql_spark.statements.answers import asserts, explain, show
from ksql_spark.statements.base import describe
from ksql_spark.statements.base.context import (
    Action,
    Immediate,
    Logged,
    Outcome,
    Prepared,
    Services,
    Starts,
    StatementContext,
    StoredQuery,
    ThisServer,
)
from ksql_spark.statements.definitions import (
    comments,
    connectors,
    describe_evolution,
    functions,
    indexes,
    sinks,
    sources,
    swaps,
    types,
    versions,
    views,
)
from ksql_spark.statements.queries import lifecycle
from ksql_spark.statements.rows import (
    effects,
    failed_records,
    forgetting,
    inserts,
    reprocessing,
    row_changes,
    tracing,
)

#: statement class -> handler; Engine.query runs SELECT and PRINT
HANDLERS: Mapping[type[Statement], Callable[[Any, StatementContext], Action]] = {
    AbortEvolution: swaps.abort_evolution,
    AlterSource: sources.alter_source,
    RefreshSchema: sources.refresh_schema,
    AlterSystem: session.alter_system,
    AssertSchema: asserts.assert_schema,
    AssertTopic: asserts.assert_topic,
    Comment: comments.comment,
    CreateAsSelect: sources.create_as_select,
    CreateConnector: connectors.create_connector,
    CreateFunction: functions.create_function,
    CreateIndex: indexes.create_index,
    CompactSink: sinks.compact_sink,
    CreateSink: sinks.create_sink,
    CreateSinkAs: sinks.create_sink_as,
    CreateSource: sources.create_source,
    CreateType: types.create_type,
    CreateView: views.create_view,
    DefineVariable: session.define,
    DeleteRows: row_changes.change_rows,
    TruncateTable: row_changes.change_rows,
    DescribeConnector: connectors.describe_connector,
    DescribeEvolution: describe_evolution.describe_evolution,
    DescribeFunction: describe.describe_function,
    DescribeSink: sinks.describe_sink,
    DescribeSource: describe.describe_source,
    DescribeSources: describe.describe_sources,
    DropConnector: connectors.drop_connector,
    DropFunction: functions.drop_function,
    DropIndex: indexes.drop_index,
    DropSink: sinks.drop_sink,
    DropSource: sources.drop_source,
    DropType: types.drop_type,
    DropView: views.drop_view,
    Explain: explain.explain,
    ExplainFreshness: explain.explain_freshness,
    ExplainRecord: effects.explain_record,
    ExplainRow: tracing.explain_row,
    InsertSelect: sources.insert_select,
    InsertValues: inserts.insert_values,
    Pause: lifecycle.pause,
    PauseSink: sinks.pause_sink,
    ReplayErrors: reprocessing.replay_errors,
    ReplayLateRows: reprocessing.replay_late_rows,
    Reprocess: reprocessing.reprocess,
    Forget: forgetting.forget,
    Resume: lifecycle.resume,
    ResumeSink: sinks.resume_sink,
    Rollback: versions.rollback,
    SetProperty: session.set_property,
    Show: show.show,
    ShowVersions: versions.show_versions,
    Swap: swaps.swap,
    Terminate: lifecycle.terminate,
    UndefineVariable: session.undefine,
    Undrop: versions.undrop,
    UnsetProperty: session.unset_property,
    UpdateRows: row_changes.change_rows,
}


def handle(statement: Statement, context: StatementContext) -> Action:
    """The action of ``statement``; changes the sandbox as the action will change the engine.

    Raises:
        KsqlError: the statement is invalid.
    """
    if isinstance(statement, (CreateAsSelect, Explain, InsertSelect)) and not context.is_replay:
        failed_records.check_known_queries(statement, context)
    missing = context.services.commands.missing
    if not missing:
        return HANDLERS[type(statement)](statement, context)
    if not context.is_replay:
        unexecuted.check_free(statement, context)
        unexecuted.check_unused(statement, context)
    try:
        return unexecuted.give_up(statement, context) or HANDLERS[type(statement)](statement, context)
    except KsqlError as error:
        unexecuted.explain(error, missing)
        raise


__all__ = [
    "HANDLERS",
    "Action",
    "Immediate",
    "Logged",
    "Outcome",
    "Prepared",
    "Services",
    "Starts",
    "StatementContext",
    "StoredQuery",
    "ThisServer",
    "failed_records",
    "functions",
    "handle",
    "unexecuted",
]
