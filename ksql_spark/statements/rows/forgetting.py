"""FORGET: removes keys from a table and from its query's state, and says where else they may be (ADR 85)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ksql_spark import analyzer
from ksql_spark.analyzer import Forgetting
from ksql_spark.analyzer.base.failures import invalid
from ksql_spark.analyzer.relations.query_log import STREAM_NAME
from ksql_spark.authorization import Role as UserRole
from ksql_spark.authorization import check_source
from ksql_spark.entities import Entity
from ksql_spark.entities.commands import ForgottenPlace, RowsForgotten
from ksql_spark.errors import KsqlError
from ksql_spark.expressions import Expression, Literal
from ksql_spark.functions.lowering import lower
from ksql_spark.grammar.statements.lifecycle import Forget
from ksql_spark.kafka.consumer import Record
from ksql_spark.metastore.sources import DataSource
from ksql_spark.plan.explain import title
from ksql_spark.plan.nodes import Node
from ksql_spark.plan.stages import MICROBATCH
from ksql_spark.plan.text import span_text
from ksql_spark.runtime.queries.changes.catching_up import CatchingUp
from ksql_spark.runtime.queries.changes.forgetting import StateErasure, TopicErasure
from ksql_spark.runtime.queries.differences import Place
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.manager import QueryManager
from ksql_spark.runtime.reading import pull
from ksql_spark.runtime.reading.stored_row import split_key
from ksql_spark.statements.base.context import Action, Immediate, StatementContext, evolves, uses_of
from ksql_spark.statements.base.handlers import handles
from ksql_spark.statements.base.topics import retention_ms
from ksql_spark.statements.rows.failed_records import find_entries, writer_id
from ksql_spark.types import BIGINT, INTEGER, STRING

#: how long to wait for all rows of the table, and for other statements that change them, seconds
_TIMEOUT_S = 30.0
#: the types of keys that are looked for among late rows, whose keys are JSON
_SEARCHED = (STRING, INTEGER, BIGINT)


@handles
def forget(statement: Forget, context: StatementContext) -> Action:
    """Remove keys from a table."""
    queries = context.services.queries
    writers = [q for q in queries.all() if not q.is_transient and q.plan.sink.name == statement.name]
    query = writers[0] if writers else None
    bound = analyzer.bind_forgetting(
        statement, query.logical if query is not None else None, context.metastore, context.config
    )
    check_source(context.rights, UserRole.READER, bound.source.name)
    if context.services.server.is_replaced():
        raise KsqlError("SERVICE_ID_TAKEN", id=context.config["ksql.service.id"])
    _check_version(statement, queries)
    if query is not None and not queries.is_here(query):
        raise KsqlError("QUERY_ELSEWHERE", id=query.id, host=queries.state_of(query)[1])
    task = _Task(statement, bound, query, context)
    return Immediate(task.run, waits=True, first=task.wait)


def _check_version(statement: Forget, queries: QueryManager) -> None:
    name = statement.name
    if any(evolves(each) == name for each in queries.all()):
        raise invalid(
            f"A new version of {name} computes its rows again, and would bring the keys back.",
            statement,
            hint=f"SWAP {name} or ABORT EVOLUTION {name} first.",
        )


class _Task:
    """One FORGET.

    Args:
        statement: its text.
        bound: what it removes.
        query: what maintains the table; None: nothing does.
        context: of the statement.
    """

    def __init__(
        self, statement: Forget, bound: Forgetting, query: ManagedQuery | None, context: StatementContext
    ) -> None:
        self._statement, self._bound, self._query, self._context = statement, bound, query, context
        self._services, self._source = context.services, bound.source
        window = self._source.window
        self._topic = TopicErasure(
            self._services.admin, self._source.topic, lambda key: split_key(key, window)[0]
        )
        self._done: CatchingUp | None = None
        if query is not None and not statement.preview:
            rights = context.rights
            self._done = CatchingUp(
                self._services.queries, query, lambda other: uses_of(other).is_visible(rights)
            )

    def wait(self) -> None:
        """Wait until the query has committed what is there now: what comes later may bring the keys back."""
        self._services.spark.await_start()
        if self._done is not None:
            self._done.wait()

    def run(self) -> Entity:
        """Carry it out."""
        services, query = self._services, self._query
        rows, late = self._rows(), self._late()  # the slow part, while the query runs
        if self._statement.preview:
            return self._answer(len(rows), late, is_done=True)
        if query is None or self._done is None:
            service = self._context.config["ksql.service.id"]
            with self._alone():
                rows = self._rows()
                self._topic.delete(rows, f"_confluent-ksql-{service}forget_{self._source.name}")
            return self._answer(len(rows), late, is_done=True)
        state = StateErasure(services.queries, query, self._packed())
        with self._alone(), services.queries.stopped(query):
            state.settle(self._done)
            rows = self._rows()  # before anything is changed: the broker may be away
            state.note()
            self._topic.delete(rows, writer_id(query, self._context))
        return self._answer(len(rows), late, state.is_done())

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """A block in which no other statement changes rows of the table, or computes some that it will write.

        Raises:
            KsqlError: ROWS_BUSY; INVALID_STATEMENT if a new version of the table has begun meanwhile.
        """
        lock = self._services.row_changes[self._source.topic]
        if not lock.acquire(timeout=_TIMEOUT_S):
            raise KsqlError("ROWS_BUSY", name=self._source.name)
        try:
            _check_version(self._statement, self._services.queries)
            yield
        finally:
            lock.release()

    def _rows(self) -> Mapping[Place, Record]:
        services = self._services
        view = services.views.current(self._source, _TIMEOUT_S)
        found = pull.evaluated(self._bound.rows, [], view, services.spark.session, services.registry)
        return self._topic.rows({key for key, _ in found})

    def _packed(self) -> list[bytes]:
        """The keys as the query's state has them."""
        assert self._bound.groups is not None
        columns = []
        for values in self._bound.groups:
            members = ", ".join(f"'c{i}', {lower(value)}" for i, value in enumerate(values))
            columns.append(f"ksql.pack_key(named_struct({members}))")
        (row,) = self._services.spark.session().sql(f"SELECT {', '.join(columns)}").collect()
        return [bytes(key) for key in row]

    def _answer(self, count: int, late: int | None, is_done: bool) -> Entity:
        name, is_preview = self._source.name, self._statement.preview
        rows = f"{count:,} row{'' if count == 1 else 's'} of {name}"
        removed = "reachable" if is_preview else "deleted"
        places = tuple(_Places(self._source, self._query, self._context).all(count, late, removed, is_done))
        left = sum(place.outcome == "left" for place in places)
        parts = [f"{rows} {'would be' if is_preview else ('were' if count != 1 else 'was')} removed."]
        if not is_done:
            parts.append("The query's state still has the keys.")
        if left:
            parts.append(f"{left} place{'' if left == 1 else 's'} may still have records of the keys.")
        return RowsForgotten(
            statement_text=self._statement.source_text,
            name=name,
            query_id=None if self._query is None else self._query.id,
            is_preview=is_preview,
            count=count,
            places=places,
            message=" ".join(parts),
        )

    def _late(self) -> int | None:
        """How many late rows of the keys the processing log has, or None if they were not counted."""
        query, bound, context = self._query, self._bound, self._context
        stream = context.metastore.find(str(context.config[STREAM_NAME]))
        if query is None or stream is None or bound.groups is None:
            return None
        is_plain = all(name.isidentifier() for name in bound.names)  # in a path of JSON
        if not is_plain or any(v.type not in _SEARCHED for values in bound.groups for v in values):
            return None
        conditions = " OR ".join(f"({self._is_key(values)})" for values in bound.groups)
        text = f"SELECT COUNT(*) AS N FROM LATE ROWS OF `{query.id}` WHERE `OMITTED` = 0 AND ({conditions});"
        return sum(int(row[0]) for row in find_entries(text, context))

    def _is_key(self, values: Sequence[Expression]) -> str:
        evaluated = self._services.spark.evaluate(values)
        return " AND ".join(
            f"EXTRACTJSONFIELD(`KEY`, {Literal(f'$.{name}', STRING)}) = {Literal(str(value), STRING)}"
            for name, value in zip(self._bound.names, evaluated, strict=True)
        )


class _Places:
    """The places that may know of keys of a table: those that its rows come from, and those that they go to.

    Args:
        table: the table.
        query: what maintains it; None: nothing does.
        context: of the statement; what its user may not read is left out.
    """

    def __init__(self, table: DataSource, query: ManagedQuery | None, context: StatementContext) -> None:
        self._table, self._query, self._context = table, query, context
        self._metastore, self._admin = context.metastore, context.services.admin
        self._queries = [q for q in context.services.queries.all() if not q.is_transient]
        self._seen = {table.topic}

    def all(self, count: int, late: int | None, removed: str, is_done: bool) -> Iterator[ForgottenPlace]:
        """All places.

        Args:
            count: how many rows of the table were found.
            late: how many late rows of its query, or None if they were not counted.
            removed: the outcome where FORGET removes the keys.
            is_done: whether the state has lost the keys.
        """
        yield ForgottenPlace("topic", self._table.topic, count, removed, self._compaction())
        if self._query is not None:
            yield from self._of_query(self._query, removed if is_done else "pending")
        yield from self._sinks(self._table, follows=True)
        yield from self._readers(self._table.topic, follows=True)
        if self._query is not None:
            yield from self._upstream(self._query)
            yield from self._log(late)

    def _compaction(self) -> str:
        config = self._admin.config(self._table.topic)
        if "compact" in config.get("cleanup.policy", ""):
            after = span_text(int(config.get("segment.ms", 0)))
            return f"Kafka drops former values when it compacts the topic, at the earliest after {after}."
        return f"It is not compacted: it keeps former values {self._retention(self._table.topic)}."

    def _retention(self, topic: str) -> str:
        kept_ms = retention_ms(self._admin.config(topic))
        return "for ever" if kept_ms < 0 else f"for {span_text(kept_ms)}"

    def _of_query(self, query: ManagedQuery, outcome: str) -> Iterator[ForgottenPlace]:
        note = "The checkpoints before have the keys until five more are written."
        if outcome == "pending":
            note = "The query removes the keys when it runs again."
            if query.plan.last.mode == MICROBATCH and query.spark:
                note = "The query removes the keys before the next record that it reads."
        yield ForgottenPlace("state", query.id, None, outcome, note)
        yield from self._steps(query, query.plan.last.stateful[1:])
        for stage in query.plan.inner:
            yield from self._steps(query, stage.stateful)
            note = f"An internal topic keeps records {self._retention(stage.sink.topic)}."
            yield ForgottenPlace("topic", stage.sink.topic, None, "left", note)

    def _steps(self, query: ManagedQuery, operations: Iterable[Node]) -> Iterator[ForgottenPlace]:
        for node in operations:
            note = "Its state has other keys, and loses rows as the step says (WITHIN, TTL)."
            yield ForgottenPlace("state", f"{query.id}: {title(node)}", None, "left", note)

    def _sinks(self, source: DataSource, *, follows: bool) -> Iterator[ForgottenPlace]:
        for sink in self._metastore.sinks_of(source.name):
            if sink.is_archive:
                note = "An archive has the topic's records as they are."
                yield ForgottenPlace("archive", sink.name, None, "left", note)
            elif follows:
                note = "The row is deleted there. Earlier versions of a lake table have it until they expire."
                yield ForgottenPlace("sink", sink.name, None, "follows", note)
            else:
                note = "Rows were appended. Delete them there."
                yield ForgottenPlace("sink", sink.name, None, "left", note)

    def _readers(self, topic: str, *, follows: bool) -> Iterator[ForgottenPlace]:
        """What reads a topic, and what reads that.

        Args:
            topic: its name.
            follows: whether it loses the keys, and tables that are made of it do, too.
        """
        for query in self._queries:
            sink = query.plan.sink
            if sink.topic in self._seen or all(source.topic != topic for source in query.plan.sources):
                continue
            self._seen.add(sink.topic)
            if self._context.rights.may_read(sink.name):
                yield self._of_source(sink, follows=follows)
                yield from self._sinks(sink, follows=follows and sink.is_table)
            yield from self._readers(sink.topic, follows=follows and sink.is_table)

    def _upstream(self, query: ManagedQuery) -> Iterator[ForgottenPlace]:
        """What a query reads, what that is made of, and what else is made of it."""
        for source in sorted(query.plan.sources, key=lambda source: source.name):
            if source.topic in self._seen:
                continue
            self._seen.add(source.topic)
            if self._context.rights.may_read(source.name):
                yield self._of_source(source, follows=False)
                yield from self._sinks(source, follows=False)
            for writer in self._queries:
                if writer.plan.sink.topic == source.topic:
                    if uses_of(writer).is_visible(self._context.rights):
                        for stage in writer.plan.stages:
                            yield from self._steps(writer, stage.stateful)
                    yield from self._upstream(writer)
            yield from self._readers(source.topic, follows=False)

    def _of_source(self, source: DataSource, *, follows: bool) -> ForgottenPlace:
        if not source.is_table:
            return self._of_stream(source)
        if follows:
            note = "The query that maintains it reads the deletion."
            return ForgottenPlace("table", source.name, None, "follows", note)
        note = f"It may have rows of the same keys: FORGET FROM {source.name}."
        return ForgottenPlace("table", source.name, None, "left", note)

    def _of_stream(self, stream: DataSource) -> ForgottenPlace:
        note = f"Its topic keeps records {self._retention(stream.topic)}."
        return ForgottenPlace("stream", stream.name, None, "left", note)

    def _log(self, late: int | None) -> Iterator[ForgottenPlace]:
        topic = self._context.services.queries.figures.log_topic
        if topic:
            note = f"The processing log keeps late rows and errors {self._retention(topic)}."
            yield ForgottenPlace("log", topic, late, "left", note)


__all__ = ["forget"]
