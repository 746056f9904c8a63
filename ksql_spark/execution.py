"""Runs statements: each is checked, applied, and then written to the command log."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grammar
from grammar.nodes import Statement
from grammar.statements.inserts import InsertValues
from grammar.statements.print_topic import PrintTopic
from grammar.statements.queries import Query
from ksql_spark import config, deadline
from ksql_spark.authorization import check_statement
from ksql_spark.errors import KsqlError, nearest
from ksql_spark.functions import registry
from ksql_spark.physical import codec
from ksql_spark.request import (
    Request,
    check_length,
    context_of,
    filled_in,
    located,
    parsed,
    planning,
    wait_for_command,
)
from ksql_spark.runtime.command_log import Command, SkippedRecord, Unreadable, encode
from ksql_spark.runtime.pending import PendingStatement
from ksql_spark.runtime.queries import PAUSED
from ksql_spark.statements import Action, Immediate, Logged, Services, StatementContext, StoredQuery, handle
from ksql_spark.statements.entities import command_status

log = logging.getLogger(__name__)

#: how often statements are checked without the lock before others have to wait for them
FREE_ATTEMPTS = 3


class StatementExecutor:
    """Runs all statements except queries and PRINT. Thread-safe.

    Args:
        services: the engine's parts.
        data_dir: folder for the cleanup record of the running statement.
    """

    def __init__(self, services: Services, data_dir: Path) -> None:
        self._services = services
        self._pending = PendingStatement(data_dir / "pending.json")
        #: command id -> its status
        self.statuses: dict[str, dict[str, Any]] = {}
        #: how many logged statements have run since the start
        self.carried_out = 0

    def replay(self, report: Callable[[str], None]) -> None:
        """Rebuild metastore and queries from the command log; remove checkpoints of queries that have ended.

        Records that cannot be carried out are skipped: reported, logged, and noted in ``services.commands``.

        Raises:
            KsqlError: STOPPED.
        """
        with registry.with_functions(self._services.user_functions):
            self._replay(report)
        self._services.publish()

    def _replay(self, report: Callable[[str], None]) -> None:
        services = self._services
        count = 0
        #: ids of queries that commands have started, and of those whose command could not be carried out
        logged: set[str] = set()
        skipped: set[str] = set()
        for sequence, command in services.log.replay():
            if services.is_stopping():
                raise KsqlError("STOPPED")
            services.commands.note(sequence)
            if isinstance(command, Unreadable):
                self._skip(sequence, command.reason, report, is_newer=command.is_newer)
                continue
            if command.query_id is not None:
                logged.add(command.query_id)
            try:
                context = StatementContext(
                    services,
                    services.metastore.copy(),
                    _kept_properties(command, sequence),
                    {},
                    is_replay=True,
                    first_sequence=sequence,
                    stored=_stored(command),
                )
                statement = grammar.parse_one(command.statement + ";")
                action = handle(statement, context)
                if isinstance(action, Logged):
                    outcome = action.apply(command.starts)
                    self._note(command.id, outcome.message, outcome.query_id)
            except Exception as error:  # whatever is in the log, the server starts
                if command.query_id is not None:
                    skipped.add(command.query_id)  # it may start with a later release or configuration
                is_known = isinstance(error, (KsqlError, grammar.ParseFailed))
                if not is_known:
                    log.exception("command %d of the log: unexpected error", sequence)
                reason = str(error) if is_known else f"{type(error).__name__}: {error}"
                shown = " ".join(command.statement[:60].split())
                self._skip(sequence, f"{reason.splitlines()[0]} ({shown})", report)
            count += 1
        # keep folders of ids that are not in this log: they may belong to another service
        there = {query.id for query in services.queries.all()}
        services.queries.remove_checkpoints(*sorted(logged - there - skipped))
        if count:
            report(f"replayed {count} statements")

    def _skip(
        self, sequence: int, reason: str, report: Callable[[str], None], *, is_newer: bool = False
    ) -> None:
        services = self._services
        record = SkippedRecord(services.log.topic, 0, sequence, reason)
        services.commands.skip(record, is_newer=is_newer)
        log.error("not carried out: %s", record)
        report(f"skipped a record of the command log {record}")
        if is_newer:
            report("the server only reads the command log: see GET /healthcheck")

    def finish_pending(self) -> None:
        """Remove the orphans of a statement during which the server was killed."""
        services = self._services
        left = self._pending.orphans(services.log.end())
        services.queries.end_transactions(*left.transactions)
        services.queries.remove_checkpoints(*left.queries)
        services.admin.delete_topics(name for name in left.topics if services.admin.topic(name) is not None)
        self._pending.done()

    def execute(self, request: Request) -> list[dict[str, Any]]:
        """Run statements (not queries) in order; if one of them is wrong, none runs.

        Returns:
            one entity for each statement that answers with one (reference §7.3).

        Raises:
            KsqlError: with ``statement``, and ``entities`` of the statements that ran before it.
        """
        with registry.with_functions(self._services.user_functions):
            return self._execute(filled_in(request))

    def terminate_cluster(self, topics: Sequence[str]) -> list[dict[str, Any]]:
        """End all queries, and delete the command log and the sinks' topics that match; see Engine.

        Raises:
            KsqlError: BAD_REQUEST; KAFKA_REFUSED, BROKER_UNREACHABLE.
        """
        services = self._services
        try:
            patterns = [re.compile(pattern) for pattern in topics]
        except re.error as error:
            reason = f"Invalid pattern in deleteTopicList: {error}"
            raise KsqlError("BAD_REQUEST", reason=reason) from None
        with services.lock:
            services.commands.check_writable()
            queries = services.queries.all()
            sinks = {q.plan.sink.topic for q in queries if not q.is_transient}
            for query in queries:
                services.queries.drop(query)
            there = services.admin.topics()
            matching = sorted(t for t in sinks & there.keys() if any(p.fullmatch(t) for p in patterns))
            # last: until it has gone, a server that is killed starts again as it was
            services.admin.delete_topics([*matching, services.log.topic])
        command_id = "cluster/TerminateCluster/terminate"
        self._note(command_id, "Cluster terminated.", None)
        return [command_status("TERMINATE CLUSTER;", command_id, "Cluster terminated.", None, -1)]

    def rebuild_state(self, query_id: str) -> dict[str, Any]:
        """Let a query compute its state anew, see Engine.

        Raises:
            KsqlError: QUERY_UNKNOWN; SERVICE_ID_TAKEN; KAFKA_REFUSED, BROKER_UNREACHABLE.
        """
        services = self._services
        with services.lock:
            _check_writable(services)
            queries = [q for q in services.queries.all() if not q.is_transient]
            found = next((q for q in queries if q.id.upper() == query_id.upper()), None)
            if found is None:
                near = nearest(query_id.upper(), [q.id for q in queries])
                hint = f"Did you mean {near}?" if near else "SHOW QUERIES lists what runs."
                raise KsqlError("QUERY_UNKNOWN", id=query_id, hint=hint)
            services.queries.rebuild(found)
        message = f"The state of {found.id} was removed. It reads its topics again from where it once began."
        if found.state == PAUSED:
            message += " It is paused: RESUME starts it."
        return {"queryId": found.id, "message": message}

    def _execute(self, request: Request) -> list[dict[str, Any]]:
        services = self._services
        wait_for_command(request, services)
        entities: list[dict[str, Any]] = []
        published = services.published
        context = context_of(request, services, published)
        statements = parsed(request, context)
        for statement in statements:
            with located(statement):
                check_statement(request.role, statement)
        if all(isinstance(statement, InsertValues) for statement in statements):
            # they change nothing that statements know, so they wait for none
            with planning(request, services):
                checked = self._checked(statements, context, entities)
            return self._inserted(checked, entities)
        rest = self._run(request, statements, lambda: context_of(request, services), entities)
        while rest:
            waiting, *left = rest
            assert isinstance(waiting.action, Immediate)
            with located(waiting.statement, entities):
                # without the lock: an action that waits must not block other requests
                entity = waiting.action.run()
            if entity is not None:
                entities.append(entity)

            def after(waited: _Checked = waiting) -> StatementContext:
                # check the statements after it again: other requests may have changed something
                return StatementContext(
                    services, services.metastore.copy(), dict(waited.properties), dict(waited.variables)
                )

            rest = self._run(request, [checked.statement for checked in left], after, entities)
        return entities

    def _inserted(self, checked: list[_Checked], entities: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Carry out INSERT VALUES."""
        for statement, action, _, _ in checked:
            assert isinstance(action, Immediate)
            with located(statement, entities):
                action.run()
        return entities

    def _run(
        self,
        request: Request,
        statements: Sequence[Statement],
        sandbox: Callable[[], StatementContext],
        entities: list[dict[str, Any]],
    ) -> list[_Checked]:
        """Check statements, then carry them out up to the first that waits; that and the rest are returned.

        They are checked without the engine's lock, so that one that takes long keeps nobody waiting, and
        once more where another request has changed something meanwhile: the last time with the lock.
        """
        services = self._services
        for _ in range(FREE_ATTEMPTS):
            with services.lock:
                before, context = self.carried_out, sandbox()
            with planning(request, services):
                checked = self._checked(statements, context, entities)
            with services.lock:
                if self.carried_out == before:
                    return self._run_until_waiting(checked, services, entities)
        with services.lock:
            with planning(request, services):
                checked = self._checked(statements, sandbox(), entities)
            return self._run_until_waiting(checked, services, entities)

    def _checked(
        self, statements: Iterable[Statement], context: StatementContext, entities: list[dict[str, Any]]
    ) -> list[_Checked]:
        """The actions of statements, checked one after the other in the sandbox of ``context``."""
        checked = []
        for statement in statements:
            if isinstance(statement, (Query, PrintTopic)):
                raise KsqlError("QUERY_IN_KSQL", statement=statement.source_text)
            with located(statement, entities), registry.with_functions(context.metastore.functions):
                deadline.check()
                action = handle(statement, context)
            if isinstance(action, Logged):
                with located(statement, entities):
                    _check_length(statement, action, context)
                    _check_writable(context.services)
                context.commands += 1
            checked.append(_Checked(statement, action, dict(context.properties), dict(context.variables)))
        return checked

    def _run_until_waiting(
        self, checked: list[_Checked], services: Services, entities: list[dict[str, Any]]
    ) -> list[_Checked]:
        """Carry out actions up to the first that waits; return that one and those after it."""
        for i, (statement, action, properties, _) in enumerate(checked):
            if isinstance(action, Immediate) and action.waits:
                return checked[i:]
            with located(statement, entities):
                if isinstance(action, Immediate):
                    entity = action.run()
                else:
                    entity = self._carry_out(statement, action, properties, services)
            if entity is not None:
                entities.append(entity)
        return []

    def _carry_out(
        self, statement: Statement, action: Logged, properties: Mapping[str, Any], services: Services
    ) -> dict[str, Any]:
        """Apply first, then log: a statement that fails never enters the log."""
        self.carried_out += 1
        before = services.metastore.copy()
        try:
            sequence = services.log.end()
            self._pending.begin(sequence, action.cleanup())
            starts = action.prepare()
            outcome = action.apply(starts)
            text = action.statement or statement.source_text
            services.log.append(
                Command(action.command_id, text, properties, starts, outcome.query_id, outcome.plan)
            )
        except BaseException:
            services.metastore = before
            action.undo()
            self._pending.done()
            raise
        services.publish()
        action.after()
        self._pending.done()
        services.commands.note(sequence)
        self._note(action.command_id, outcome.message, outcome.query_id)
        text = statement.source_text + ";"
        answer = command_status(text, action.command_id, outcome.message, outcome.query_id, sequence)
        answer["warnings"] += [{"message": message} for message in outcome.warnings]
        return answer

    def _note(self, command_id: str, message: str, query_id: str | None) -> None:
        self.statuses[command_id] = {"status": "SUCCESS", "message": message, "queryId": query_id}


class _Checked(NamedTuple):
    """A statement that passed its check, its action, and the properties and variables in force after it."""

    statement: Statement
    action: Action
    properties: dict[str, Any]
    variables: dict[str, str]


def _check_length(statement: Statement, action: Logged, context: StatementContext) -> None:
    """Whether the command log takes the command, asked before anything is done.

    Raises:
        KsqlError: STATEMENT_TOO_LONG.
    """
    text = action.statement or statement.source_text
    command = Command(action.command_id, text, context.properties, {}, None, action.plan)
    check_length("its command, with the plan of its query,", len(encode(command)), statement.source_text)


def _kept_properties(command: Command, sequence: int) -> dict[str, Any]:
    """The properties of a command of the log, without those that no client may set (any more)."""
    kept = {}
    for name, value in command.properties.items():
        if config.is_valid_property(name) and config.find(name).editable:
            kept[name] = value
        else:
            log.warning("command %d of the log goes on without '%s': only the server sets it", sequence, name)
    return kept


def _check_writable(services: Services) -> None:
    """Raise if nothing may be added to the command log.

    Raises:
        KsqlError: COMMAND_LOG_NEWER, SERVICE_ID_TAKEN.
    """
    services.commands.check_writable()
    if services.is_replaced():
        raise KsqlError("SERVICE_ID_TAKEN", id=services.config["ksql.service.id"])


def _stored(command: Command) -> StoredQuery | None:
    """The query that a command of the log started; None if the command has no plan."""
    if command.plan is None or command.query_id is None:
        return None
    logical, plan = codec.decode(command.plan)
    return StoredQuery(command.query_id, logical, plan)
