"""Statements about failed records: checks of FROM ERRORS OF and LATE ROWS OF, and REPLAY ERRORS."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ksql_spark import analyzer, grammar
from ksql_spark.analyzer.base.failures import failure, invalid
from ksql_spark.analyzer.relations.query_log import STREAM_NAME, has_replays
from ksql_spark.entities import Entity
from ksql_spark.entities.commands import ErrorsReplayed
from ksql_spark.errors import query_hint
from ksql_spark.grammar.nodes import LogOf, Select, Statement, SubQuery
from ksql_spark.grammar.statements import lifecycle
from ksql_spark.grammar.statements.lifecycle import ReplayErrors
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.explain import title
from ksql_spark.plan.nodes import UnionAll
from ksql_spark.plan.operations import state_text
from ksql_spark.plan.queries import Job
from ksql_spark.plan.stages import Plan
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.replay import Failed, Replay, Replayed
from ksql_spark.runtime.reading import batch
from ksql_spark.spark import master
from ksql_spark.statements.base.context import Action, Immediate, StatementContext, uses_of

#: how long REPLAY waits for the processing log's records, seconds
_TIMEOUT_S = 30.0
#: how many partitions and ranges of offsets of records that are gone the answer names
_NAMED = 20
_FAILED = """
SELECT `TOPIC`, `PARTITION`, `OFFSET`, MAX(`ATTEMPT`) AS `ATTEMPT`, COUNT(*) AS `ERRORS`
FROM (SELECT * FROM ERRORS OF `X`) WHERE NOT `REPLAYED` GROUP BY `TOPIC`, `PARTITION`, `OFFSET`;
"""


def check_known_queries(statement: Statement, context: StatementContext) -> None:
    """Refuse ERRORS OF and LATE ROWS OF an id that no query has, and none had: its log would just be empty.

    A persistent query that has ended keeps its id in the command log, and its entries can be read for as long
    as the processing log keeps them.

    Raises:
        KsqlError: QUERY_UNKNOWN.
    """
    for relation in statement.find_all(LogOf):
        query_id = relation.query_id
        queries = context.services.queries.all()
        ids = {*(q.id for q in queries), *(q.id for q in context.queries)}
        if query_id in ids or query_id in context.services.commands.query_ids:
            continue
        shown = [q.id for q in queries if uses_of(q).is_visible(context.rights)]
        raise failure("QUERY_UNKNOWN", relation, id=query_id, hint=query_hint(query_id, shown))


def replay_errors(statement: ReplayErrors, context: StatementContext) -> Action:
    """Send the records of a query's errors through its current version once more."""
    check_known_queries(statement, context)
    query = _replayable(statement, context)
    services = context.services
    bound = bind_entries(statement, _FAILED, context)
    (topic,) = query.plan.last.topics
    unknown = 0

    def find() -> list[Failed]:
        nonlocal unknown
        failed = []
        for of_topic, partition, offset, attempt, count in read_entries(bound, context):
            if of_topic == topic and partition is not None:
                failed.append(Failed(partition, offset, attempt))
            else:
                unknown += count
        return failed

    def run() -> Entity:
        services.spark.await_start()
        if not master.is_local(str(services.spark.session().sparkContext.master)):
            raise invalid("REPLAY ERRORS needs Spark in the server's own JVM (ksql.spark.master = 'local').")
        done = Replay(query, services.queries.environment, writer_id(query, context)).run(find)
        return _answer(statement, query, topic, done, unknown)

    return Immediate(run, waits=True)


def _replayable(statement: ReplayErrors, context: StatementContext) -> ManagedQuery:
    """The query of the statement.

    Raises:
        KsqlError: INVALID_STATEMENT if it has ended, or its plan does not allow a replay.
    """
    query_id = statement.query_id
    query = context.services.queries.find(query_id)
    if query is None:
        raise invalid(f"Query {query_id} has ended, so nothing can take its records.", statement.this)
    if query.is_transient:
        raise invalid(f"{query_id} is a push query, and its client has its rows already.", statement.this)
    problem = _problem(query.plan)
    if problem is not None:
        raise invalid(
            f"The errors of {query_id} cannot be replayed: {problem}",
            statement.this,
            hint=_other_way(query.plan.sink),
        )
    name = str(context.config[STREAM_NAME])
    stream = context.metastore.find(name)
    if stream is not None and (
        stream.topic != context.services.queries.figures.log_topic or not has_replays(stream.schema)
    ):
        raise invalid(
            f"The stream {name} does not show which records were replayed.",
            statement.this,
            hint="DROP it, and start the server with ksql.logging.processing.stream.auto.create=true.",
        )
    return query


def _problem(plan: Plan) -> str | None:
    """Return why records may not go through a plan once more; None if they may."""
    for stage in plan.stages:
        for node in stage.stateful:
            return f"{title(node)} keeps state, {state_text(node)}, which has moved on since they occurred."
    if any(source.is_table for source in plan.sources):
        return "it reads a table, whose rows may have newer values by now."
    if any(isinstance(node, UnionAll) for node in plan.last.operations):
        return "after UNION ALL it is not known which record a row comes from."
    if plan.inner or plan.last.record_topic is None:
        return "its key has the name of a pseudo column, which is needed to find records."
    return None


def _other_way(sink: DataSource) -> str | None:
    """How rows of a table get right whose errors cannot be replayed; None: it is a stream."""
    if not sink.is_table:
        return None
    again = f"CREATE OR REPLACE TABLE {sink.name} WITH (EVOLVE = 'backfill') AS the same SELECT computes"
    return f"{again} all rows again, and writes those that differ."


def bind_entries(statement: lifecycle.Replay, selection: str, context: StatementContext) -> Job:
    """The job that finds what REPLAY asks for in the processing log.

    Args:
        statement: names the query, and which entries; errors show it.
        selection: a SELECT with one sub-query, whose FROM and WHERE are replaced by those of the statement.
        context: of the statement.

    Raises:
        KsqlError: as bind_read.
    """
    query = grammar.parse_one(selection)
    assert isinstance(query, Query) and isinstance(query.query, Select)
    inner = query.query.relation
    assert isinstance(inner, SubQuery) and isinstance(inner.query, Select)
    inner.query.set("relation", statement.this.copy())
    if statement.where is not None:
        inner.query.set("where", statement.where.copy())
    query.query.parent = statement
    bound = analyzer.bind_read(query.query, context.metastore, context.config)
    assert isinstance(bound, Job)
    return bound


def read_entries(bound: Job, context: StatementContext) -> Iterator[list[Any]]:
    """The rows of what bind_entries returns, up to the end of the processing log.

    Raises:
        KsqlError: as batch.run.
    """
    services = context.services
    consumer = {
        **services.client_settings("consumer", context.properties),
        "isolation.level": "read_committed",  # what a replay that was aborted has said is not true
    }
    session, setting = services.spark.session(), context.config.__getitem__
    rows = batch.run(bound, services.views, session, consumer, _TIMEOUT_S, setting)
    try:
        while (some := rows.read(_TIMEOUT_S)) is not None:
            for row in some:
                yield row.values
    finally:
        rows.close()


def find_entries(text: str, context: StatementContext) -> Iterator[list[Any]]:
    """The rows of a SELECT from ERRORS OF and LATE ROWS OF, up to the end of the processing log.

    Raises:
        KsqlError: as bind_read, read_entries.
    """
    query = grammar.parse_one(text)
    assert isinstance(query, Query)
    bound = analyzer.bind_read(query.query, context.metastore, context.config)
    assert isinstance(bound, Job)
    return read_entries(bound, context)


def writer_id(query: ManagedQuery, context: StatementContext) -> str:
    """The transactional id of what writes results of a query beside it: one at a time."""
    return f"_confluent-ksql-{context.config['ksql.service.id']}query_{query.id}-replay"


def _answer(statement: ReplayErrors, query: ManagedQuery, topic: str, done: Replayed, unknown: int) -> Entity:
    gone = _named(topic, done.gone)
    records = f"{done.done:,} record{'' if done.done == 1 else 's'}"
    parts = [f"Replayed {records}; {done.failed:,} failed again; {len(done.gone):,} are gone"]
    if gone:
        parts.append(f" ({'; '.join(gone)})")
    parts.append(".")
    if unknown:
        parts.append(f" {unknown:,} errors do not name their record, and were left alone.")
    return ErrorsReplayed(
        statement_text=statement.source_text,
        query_id=query.id,
        replayed=done.done,
        failed_again=done.failed,
        gone=len(done.gone),
        gone_records=tuple(gone),
        unknown=unknown,
        message="".join(parts),
    )


def _named(topic: str, places: Sequence[tuple[int, int]]) -> list[str]:
    """Texts such as "topic-0: 5, 7-9" for places, which are sorted."""
    ranges: list[tuple[int, int, int]] = []
    for partition, offset in places:
        if ranges and (ranges[-1][0], ranges[-1][2]) == (partition, offset - 1):
            ranges[-1] = (partition, ranges[-1][1], offset)
        else:
            ranges.append((partition, offset, offset))
    shown: dict[int, list[str]] = {}
    for partition, first, last in ranges[:_NAMED]:
        shown.setdefault(partition, []).append(str(first) if first == last else f"{first}-{last}")
    texts = [f"{topic}-{partition}: {', '.join(offsets)}" for partition, offsets in shown.items()]
    return [*texts, "…"] if len(ranges) > _NAMED else texts
