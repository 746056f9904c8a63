"""Runs statements: validates each, writes it to the command log, and waits until it has been executed from
there.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ksql_spark import deadline
from ksql_spark.authorization import check_statement
from ksql_spark.engine.command_runner import CommandRunner, Done, Overtaken
from ksql_spark.engine.request import (
    Request,
    check_length,
    context_of,
    filled_in,
    located,
    parsed,
    planning,
    wait_for_command,
)
from ksql_spark.entities import Entity
from ksql_spark.entities.commands import CommandStatusEntity, StateRebuilt
from ksql_spark.errors import KsqlError, query_hint
from ksql_spark.functions import registry
from ksql_spark.grammar.nodes import Statement
from ksql_spark.grammar.statements.inserts import InsertValues
from ksql_spark.grammar.statements.print_topic import PrintTopic
from ksql_spark.grammar.statements.queries import Query
from ksql_spark.metastore.serdes import subjects_of, try_to_delete_subjects
from ksql_spark.metastore.store import MetaStore
from ksql_spark.regexes import InvalidRegex, Regex
from ksql_spark.runtime.command_log import Command, encode
from ksql_spark.runtime.errors import jobs_reported
from ksql_spark.runtime.queries.managed import ManagedQuery
from ksql_spark.runtime.queries.states import State
from ksql_spark.statements import Action, Immediate, Logged, Services, StatementContext, handle
from ksql_spark.statements.administration import cluster_end
from ksql_spark.statements.base.context import ExplainFreshness, not_ready
from ksql_spark.statements.base.listing import command_status

log = logging.getLogger(__name__)

#: how long other servers' queries may take to stop when all servers are terminated, seconds
OTHERS_END_S = 60.0
#: how often statements are validated without the lock before other requests have to wait for them
FREE_ATTEMPTS = 3
#: how often a statement is validated again because another server was faster
OVERTAKEN_TIMES = 50


class StatementExecutor:
    """Runs all statements except queries and PRINT. Thread-safe.

    Args:
        services: the engine's parts.
        runner: executes logged commands.
        freshness: see StatementContext.
    """

    def __init__(
        self, services: Services, runner: CommandRunner, freshness: ExplainFreshness = not_ready
    ) -> None:
        self._services = services
        self._freshness = freshness
        self._runner = runner
        #: held by the request whose statements are executed; taken before the lock of ``services``
        self._writing = threading.Lock()

    def execute(self, request: Request) -> list[Entity]:
        """Run statements (not queries) in order; if one of them is invalid, none runs.

        Returns:
            one entity for each statement that returns one (reference §7.3).

        Raises:
            KsqlError: with ``statement``, and ``entities`` of the statements that ran before it.
        """
        with registry.with_functions(self._services.catalog.functions):
            return self._execute(filled_in(request))

    def validate(self, request: Request) -> int:
        """Validate statements as execute() does, without an effect; returns their number.

        Raises:
            KsqlError: for the first that is invalid, with ``statement``.
        """
        services = self._services
        request = filled_in(request)
        with registry.with_functions(services.catalog.functions):
            wait_for_command(request, services)
            self._catch_up()
            with services.lock:
                context = self._context(request)
            with planning(request, services):
                return len(self._checked(parsed(request, context), context, []))

    def terminate_cluster(self, topics: Sequence[str]) -> list[CommandStatusEntity]:
        """End all queries, and delete the command log and the matching sink topics; see Engine.

        Raises:
            KsqlError: BAD_REQUEST; KAFKA_REFUSED, BROKER_UNREACHABLE.
        """
        services = self._services
        services.spark.await_start()
        try:
            patterns = [Regex(pattern) for pattern in topics]
        except InvalidRegex as error:
            reason = f"Invalid pattern in deleteTopicList: {error}"
            raise KsqlError("BAD_REQUEST", reason=reason) from None
        with self._writing:
            with services.lock:
                _check_writable(services)
                sinks = {q.plan.sink.topic: q.plan.sink for q in services.queries.all() if not q.is_transient}
            done = self._terminate()
            self._runner.close()
            there = services.admin.topics()
            matching = sorted(t for t in sinks.keys() & there if any(p.matches(t) for p in patterns))
            subjects = [subject for topic in matching for subject in subjects_of(sinks[topic])]
            try_to_delete_subjects(subjects, services.registry)
            # last: until it is gone, a server that is killed starts again as it was
            services.admin.delete_topics([*matching, services.log.topic])
        return [command_status(cluster_end.STATEMENT, cluster_end.COMMAND_ID, done.outcome, -1)]

    def _terminate(self) -> Done:
        """End all queries on all servers; the other servers stop afterwards.

        Raises:
            KsqlError: KAFKA_REFUSED, BROKER_UNREACHABLE.
        """
        services = self._services
        while True:
            action = cluster_end.terminate(services)
            follows = services.commands.token
            command = Command(cluster_end.COMMAND_ID, cluster_end.STATEMENT, follows=follows)
            try:
                done = self._runner.write(action, command)
                break
            except Overtaken:
                continue
        deadline = time.monotonic() + OTHERS_END_S
        while services.placement is not None and services.placement.has_others():
            if time.monotonic() > deadline or services.server.is_stopping():
                log.warning("not all servers have ended their queries; deleting the topics anyway")
                break
            time.sleep(0.1)
        return done

    def rebuild_state(self, query_id: str) -> StateRebuilt:
        """Recompute a query's state, see Engine.

        Raises:
            KsqlError: QUERY_UNKNOWN; SERVICE_ID_TAKEN; KAFKA_REFUSED, BROKER_UNREACHABLE.
        """
        services = self._services
        services.spark.await_start()
        with services.lock:
            _check_writable(services)
            queries = [q for q in services.queries.all() if not q.is_transient]
            query = next((q for q in queries if q.id.upper() == query_id.upper()), None)
            if query is None:
                raise KsqlError(
                    "QUERY_UNKNOWN", id=query_id, hint=query_hint(query_id, [q.id for q in queries])
                )
            if not services.queries.is_here(query):
                host = _host_of(query, services)
                raise KsqlError("QUERY_ELSEWHERE", id=query.id, host=host)
            services.queries.rebuild(query)
        message = f"Removed the state of {query.id}. It rereads its topics from where it first started."
        if query.state is State.PAUSED:
            message += " It is paused; RESUME starts it."
        return StateRebuilt(query.id, message)

    def _execute(self, request: Request) -> list[Entity]:
        services = self._services
        wait_for_command(request, services)
        entities: list[Entity] = []
        context = self._context(request, services.published)
        with planning(request, services):
            statements = parsed(request, context)
        for statement in statements:  # before any of them is bound, and once more when it runs
            with located(statement):
                check_statement(request.rights, statement, context)
        if all(isinstance(statement, InsertValues) for statement in statements):
            # they change nothing that statements depend on, so they wait for none
            with planning(request, services):
                checked = self._checked(statements, context, entities)
            self._inserted(checked, entities)
            return entities
        self._catch_up()
        rest = self._run(request, statements, lambda: self._context(request), entities)
        overtaken = 0
        while rest:
            waiting, *remaining = rest
            if isinstance(waiting.action, Logged):  # another server was faster
                overtaken += 1
                if overtaken > OVERTAKEN_TIMES:
                    with located(waiting.statement, entities):
                        raise KsqlError("STATEMENT_OVERTAKEN")
                remaining = rest
            else:
                with located(waiting.statement, entities):
                    # without the lock: an action that waits must not block other requests
                    with planning(request, services):
                        waiting.action.first()
                    with jobs_reported():
                        entity = waiting.action.run()
                if entity is not None:
                    entities.append(entity)

            def after(waited: _Checked = waiting) -> StatementContext:
                # validate the remaining statements again: other requests may have changed something
                fresh = self._context(request)
                return replace(fresh, properties=dict(waited.properties), variables=dict(waited.variables))

            rest = self._run(request, [checked.statement for checked in remaining], after, entities)
        return entities

    def _context(self, request: Request, metastore: MetaStore | None = None) -> StatementContext:
        """As context_of()."""
        return context_of(request, self._services, metastore, self._freshness)

    def _catch_up(self) -> None:
        """Execute what other servers have written so far, if there may be others.

        Raises:
            KsqlError: COMMAND_NOT_REACHED, STOPPED; BROKER_UNREACHABLE.
        """
        services = self._services
        if services.placement is not None:
            timeout_s = services.config["ksql.statement.timeout.ms"] / 1000 or math.inf
            services.commands.wait_for(services.log.end() - 1, timeout_s, services.server.is_stopping)

    def _inserted(self, checked: list[_Checked], entities: list[Entity]) -> None:
        """Execute INSERT VALUES."""
        for statement, action, *_ in checked:
            assert isinstance(action, Immediate)
            with located(statement, entities):
                entity = action.run()
            if entity is not None:
                entities.append(entity)

    def _run(
        self,
        request: Request,
        statements: Sequence[Statement],
        sandbox: Callable[[], StatementContext],
        entities: list[Entity],
    ) -> list[_Checked]:
        """Validate statements, then execute them up to the first that waits or must be validated again.

        Returns that one and the rest.

        Validation takes no lock, so a slow one keeps nobody waiting. It is repeated if another request has
        changed something meanwhile, the last time with the lock.
        """
        services = self._services
        for _ in range(FREE_ATTEMPTS):
            with services.lock:
                context = sandbox()
            follows = context.follows
            with planning(request, services):
                checked = self._checked(statements, context, entities)
                if any(isinstance(one.action, Logged) for one in checked):
                    services.spark.await_start()  # what they change runs on Spark
            with self._writing:
                if services.commands.token == follows:
                    return self._run_until_waiting(checked, follows, entities)
        with self._writing:
            with services.lock:
                context = sandbox()
            follows = context.follows
            with planning(request, services):
                checked = self._checked(statements, context, entities)
            return self._run_until_waiting(checked, follows, entities)

    def _checked(
        self, statements: Iterable[Statement], context: StatementContext, entities: list[Entity]
    ) -> list[_Checked]:
        """The actions of statements, validated one after another in the sandbox of ``context``."""
        checked = []
        for statement in statements:
            if isinstance(statement, (Query, PrintTopic)):
                raise KsqlError("QUERY_IN_KSQL", statement=statement.source_text)
            with located(statement, entities), registry.with_functions(context.metastore.functions):
                deadline.check()
                check_statement(context.rights, statement, context)
                action = handle(statement, context)
            if isinstance(action, Logged):
                with located(statement, entities):
                    _check_length(statement, action, context)
                    _check_writable(context.services)
                context.commands += 1
            session = dict(context.properties), dict(context.variables)
            checked.append(_Checked(statement, action, *session, context.user))
        return checked

    def _run_until_waiting(
        self, checked: list[_Checked], follows: str | None, entities: list[Entity]
    ) -> list[_Checked]:
        """Execute actions up to the first that waits or is overtaken; return that one and those after it.

        ``follows``: the last command that their validation saw.
        """
        for i, (statement, action, properties, _, user) in enumerate(checked):
            if isinstance(action, Immediate) and action.waits:
                return checked[i:]
            with located(statement, entities):
                if isinstance(action, Immediate):
                    with self._services.lock:
                        entity = action.run()
                else:
                    try:
                        done, entity = self._carry_out(statement, action, properties, user, follows)
                    except Overtaken:
                        return checked[i:]
                    follows = done.token
            if entity is not None:
                entities.append(entity)
        return []

    def _carry_out(
        self,
        statement: Statement,
        action: Logged,
        properties: Mapping[str, Any],
        user: str | None,
        follows: str | None,
    ) -> tuple[Done, Entity]:
        """Log a statement and wait until it has been executed; returns its result."""
        text = action.statement or statement.source_text
        if action.properties is not None:
            properties = action.properties
        command = Command(action.command_id, text, properties, follows=follows, user=user)
        done = self._runner.write(action, command)
        return done, command_status(statement.source_text, action.command_id, done.outcome, done.sequence)


class _Checked(NamedTuple):
    """A validated statement, its action, and the the properties and variables after it, its user."""

    statement: Statement
    action: Action
    properties: dict[str, Any]
    variables: dict[str, str]
    user: str | None


def _host_of(query: ManagedQuery, services: Services) -> str:
    """The address of the server that runs a query."""
    placement = services.placement
    host = placement.state_of(query.id, placement.notes())[1] if placement is not None else None
    return host or "currently none"


def _check_length(statement: Statement, action: Logged, context: StatementContext) -> None:
    """Check that the command log accepts the command, before anything is done.

    Raises:
        KsqlError: STATEMENT_TOO_LONG.
    """
    text = action.statement or statement.source_text
    command = Command(action.command_id, text, context.properties, {}, None, action.plan)
    check_length("its command, with the plan of its query,", len(encode(command)), statement.source_text)


def _check_writable(services: Services) -> None:
    """Raise if nothing may be added to the command log.

    Raises:
        KsqlError: COMMAND_LOG_NEWER, SERVICE_ID_TAKEN.
    """
    services.commands.check_writable()
    if services.server.is_replaced():
        raise KsqlError("SERVICE_ID_TAKEN", id=services.config["ksql.service.id"])
