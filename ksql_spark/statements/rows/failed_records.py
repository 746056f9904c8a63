"""Statements about failed records: checks of FROM ERRORS OF and LATE ROWS OF, and REPLAY ERRORS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
from ksql_spark.plan.explain import title
from ksql_spark.plan.nodes import UnionAll
from ksql_spark.plan.operations import state_text
from ksql_spark.plan.queries import Job
from ksql_spark.plan.stages import Plan
from ksql_spark.runtime.queries.changes.replay import Replay, Replayed
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.reading import batch
from ksql_spark.spark import master
from ksql_spark.spark.tracing import Position
from ksql_spark.statements.base.context import Action, Immediate, StatementContext, uses_of

#: how long REPLAY waits for the processing log's records, seconds
_TIMEOUT_S = 30.0
#: how many partitions and ranges of offsets of records that are gone the answer names
_NAMED = 20
#: an error does not tell its record's time
FAILED = """
SELECT `TOPIC`, `PARTITION`, `OFFSET`, MAX(`ATTEMPT`) AS `ATTEMPT`, CAST(0 AS BIGINT) AS T, COUNT(*) AS N
FROM (SELECT * FROM ERRORS OF `X`) WHERE NOT `REPLAYED` GROUP BY `TOPIC`, `PARTITION`, `OFFSET`;
"""


class Records(NamedTuple):
    """Records that entries of the processing log name.

    Args:
        places: topic -> where they are, each with the number of the replay in which it failed last.
        span: the time of the first one, and the end of that of the last one, epoch ms.
        unknown: how many entries do not name one.
    """

    places: Mapping[str, Mapping[Position, int]]
    span: tuple[int, int]
    unknown: int

    def left_alone(self) -> str:
        """What an answer says of entries that do not name a record."""
        return f"{counted(self.unknown, 'entry', 'entries')} left alone: they do not name their record."


def named_records(entries: Job, topics: Iterable[str], context: StatementContext) -> Records:
    """The records of ``topics`` that entries name, as those that FAILED selects.

    Raises:
        KsqlError: as read_entries.
    """
    places: dict[str, dict[Position, int]] = {topic: {} for topic in topics}
    times, unknown = set(), 0
    for topic, partition, offset, attempt, time_ms, count in read_entries(entries, context):
        if topic in places and partition is not None and time_ms is not None:
            places[topic][partition, offset] = attempt
            times.add(time_ms)
        else:
            unknown += count
    return Records(places, (min(times), max(times) + 1) if times else (0, 0), unknown)


def counted(count: int, what: str, several: str | None = None) -> str:
    """A number and a noun."""
    return f"{count:,} {what if count == 1 else several or f'{what}s'}"


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
    bound = bind_entries(statement, FAILED, context)
    (topic,) = query.plan.last.topics
    unknown = 0

    def find() -> Mapping[Position, int]:
        nonlocal unknown
        records = named_records(bound, [topic], context)
        unknown = records.unknown
        return records.places[topic]

    def run() -> Entity:
        services.spark.await_start()
        check_local(context)
        done = Replay(query, services.queries.environment, writer_id(query, context)).run(find)
        return _answer(statement, query, topic, done, unknown)

    return Immediate(run, waits=True)


def check_local(context: StatementContext) -> None:
    """Refuse REPLAY ERRORS where Spark is in other processes, whose reports cannot be gathered.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
    if not master.is_local(str(context.services.spark.session().sparkContext.master)):
        raise invalid("REPLAY ERRORS needs Spark in the server's own JVM (ksql.spark.master = 'local').")


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
            hint=analyzer.other_way(query.plan.sink),
        )
    check_marks(statement, context)
    return query


def check_marks(statement: ReplayErrors, context: StatementContext) -> None:
    """Refuse REPLAY ERRORS if the stream over the processing log does not show what was replayed.

    Raises:
        KsqlError: INVALID_STATEMENT.
    """
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


def _problem(plan: Plan) -> str | None:
    """Return why records may not go through a plan once more; None if they may."""
    for stage in plan.stages:
        for node in reversed(stage.stateful):
            return f"{title(node)} keeps state, {state_text(node)}, which has moved on since they occurred."
    if any(source.is_table for source in plan.sources):
        return "it reads a table, whose rows may have newer values by now."
    if any(isinstance(node, UnionAll) for node in plan.last.operations):
        return "after UNION ALL it is not known which record a row comes from."
    if plan.inner or plan.last.record_topic is None:
        return "its key has the name of a pseudo column, which is needed to find records."
    return None


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
        KsqlError: BROKER_UNREACHABLE; as batch.run.
    """
    services = context.services
    services.admin.topics()  # Spark would wait longer for a broker that is away, and say less
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
    parts = [
        f"Replayed {counted(done.done, 'record')}; {done.failed:,} failed again; {len(done.gone):,} are gone"
    ]
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
