"""Executes the commands of the command log in order; nothing else changes the metastore.

A statement is validated (execution.py), written to the log, and executed here when it is read back, like the
commands of other servers and earlier runs. So all servers and all replays go through the same states.
"""

from __future__ import annotations

import contextvars
import logging
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ksql_spark import config, deadline, grammar
from ksql_spark.deadline import Deadline
from ksql_spark.entities.commands import CommandStatus
from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.grammar.statements.lifecycle import Terminate
from ksql_spark.grammar.statements.sources import DropSource
from ksql_spark.kafka.client import REQUEST_TIMEOUT_S
from ksql_spark.masking import masked
from ksql_spark.metastore.serdes import subjects_of, try_to_delete_subjects
from ksql_spark.plan import codec
from ksql_spark.runtime.cleanup import PendingStatement
from ksql_spark.runtime.command_log import (
    QUERY,
    SOURCE,
    Command,
    CommandReader,
    Order,
    SkippedRecord,
    Unreadable,
)
from ksql_spark.statements import Action, Logged, Outcome, Services, StatementContext, StoredQuery, handle
from ksql_spark.statements.administration import cluster_end, unexecuted
from ksql_spark.storage import LocalFolder

log = logging.getLogger(__name__)

#: how long a reader waits for commands at a time, seconds
POLL_S = 0.5
#: pause after a failed read of the log, seconds
PAUSE_S = 0.5
#: how long a replay waits for a broker that is away, seconds
BROKER_AWAY_S = 60.0
#: how long the check of a command may take that was checked before it was logged, seconds, and how often to
#: say so
CHECK_S, SAY_EVERY_S = 300.0, 10.0
#: conditions in which a command is still to be executed, rather than wrong
_PASSING = frozenset({"BROKER_UNREACHABLE", "STOPPED"})


class Overtaken(Exception):
    """A command was void because another command came first. Its statement must be validated again."""


@dataclass(frozen=True)
class Done:
    """An executed command: its number in the log, its token there, and its outcome."""

    sequence: int
    token: str | None
    outcome: Outcome


class CommandRunner:
    """Follows the command log. Thread-safe, except replay().

    Args:
        services: the engine's parts.
        data_dir: folder for the cleanup record of the statement that is being written.
    """

    def __init__(self, services: Services, data_dir: Path) -> None:
        self._services = services
        self._pending = PendingStatement(LocalFolder(data_dir))
        self._order = Order()
        self._reader: CommandReader | None = None
        #: the number of the next command
        self._next = 0
        #: token -> a command that this server is writing, with its action, until it has been executed
        self._own: dict[str, tuple[Logged, Future[Done]]] = {}
        self._own_lock = threading.Lock()
        #: the number of the latest command that is not void, which may have to be executed again
        self._accepted = -1
        #: command id -> its status
        self.statuses: dict[str, CommandStatus] = {}
        #: how many commands have been executed since startup
        self.carried_out = 0
        #: the reason why the log currently cannot be read
        self._failure: KsqlError | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    # ---- the start -----------------------------------------------------------------------------------

    def replay(self, report: Callable[[str], None]) -> None:
        """Rebuild metastore and queries from the command log; remove checkpoints of queries that have ended.

        Records that cannot be executed are skipped, reported, logged, and kept in ``services.commands``.

        Raises:
            KsqlError: STOPPED; BROKER_UNREACHABLE.
        """
        services = self._services
        self._reader = services.log.reader()
        count = 0
        with registry.with_functions(services.catalog.functions):
            for sequence, command in self._reader.read_to_end():
                if services.server.is_stopping():
                    raise KsqlError("STOPPED")
                count += isinstance(command, Command)
                self._replayed(sequence, command, report)
        services.catalog.publish()
        # keep folders of ids that are not in this log: they may belong to another service
        there = {query.id for query in services.queries.all()}
        # a statement that failed may start its query with a later release or configuration
        waiting = {name for kind, name in services.commands.missing if kind == QUERY}
        ended = (query for query in services.commands.query_ids - there if query.upper() not in waiting)
        services.queries.checkpoints.remove(*sorted(ended))
        if count:
            report(f"replayed {count} statements")

    def _replayed(self, sequence: int, command: Command | Unreadable, report: Callable[[str], None]) -> None:
        """Execute a command of the log; wait for a while if that needs a broker that is away.

        Raises:
            KsqlError: STOPPED; BROKER_UNREACHABLE.
        """
        until = time.monotonic() + BROKER_AWAY_S
        while True:
            try:
                self._handle(sequence, command, report)
                return
            except KsqlError as error:
                if self._services.server.is_stopping():
                    raise KsqlError("STOPPED") from None
                if time.monotonic() > until:
                    raise
                report(f"command {sequence} of the log waits: {error.message}")
                self._closing.wait(PAUSE_S)

    def finish_pending(self) -> None:
        """Remove the orphans of a statement that was running when the server was killed."""
        services = self._services
        orphans = self._pending.orphans(self._order.has)
        used = {source.topic for source in services.metastore.sources()}
        topics = [
            name for name in orphans.topics if name not in used and services.admin.topic(name) is not None
        ]
        there = {query.id for query in services.queries.all()}
        services.queries.end_transactions(*orphans.transactions)
        services.queries.checkpoints.remove(*(query for query in orphans.queries if query not in there))
        services.admin.delete_topics(topics)
        current = {subject for source in services.metastore.sources() for subject in subjects_of(source)}
        try_to_delete_subjects(sorted({*orphans.subjects} - current), services.registry)
        self._pending.done()

    def start(self) -> None:
        """Follow the log from now on."""
        self._thread = threading.Thread(target=self._run, name="command-runner", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop executing commands; may be called more than once."""
        self._closing.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    # ---- this server's statements --------------------------------------------------------------------

    def write(self, action: Logged, command: Command) -> Done:
        """Write a command to the log and wait until it has been executed. Only one thread may call it at a
        time.

        Args:
            action: the statement's action.
            command: without what ``action`` prepares; ``follows`` is the last command that validation saw.

        Raises:
            Overtaken: nothing has changed.
            KsqlError: preparing or writing it failed; STOPPED.
        """
        token = uuid.uuid4().hex
        future: Future[Done] = Future()
        with self._own_lock:
            self._own[token] = action, future
        try:
            self._pending.begin(token, action.cleanup())
            try:
                prepared = action.prepare()
            except BaseException:
                self._undo(action)
                raise
            done = replace(
                command,
                starts=prepared.starts,
                query_id=prepared.query_id,
                plan=prepared.plan,
                token=token,
                topics=prepared.topics,
            )
            try:
                self._services.log.append(done)
            except KsqlError as error:
                if error.condition == "SERVICE_ID_TAKEN":  # before it was sent
                    self._undo(action)
                else:
                    self._settle(action, future)
                raise
            try:
                return self._wait(future)
            finally:
                if future.done():
                    self._pending.done()
        finally:
            with self._own_lock:
                self._own.pop(token, None)

    def _undo(self, action: Logged) -> None:
        action.undo()
        self._pending.done()

    def _settle(self, action: Logged, future: Future[Done]) -> None:
        """Undo the preparation of a command that could not be written.

        The command may still be in the log. If that cannot be determined now, the next start cleans up.
        """
        try:
            end = self._services.log.end()
            self._services.commands.wait_for(end - 1, REQUEST_TIMEOUT_S, self._services.server.is_stopping)
        except KsqlError:
            return
        if future.done():
            self._pending.done()
        else:
            self._undo(action)

    def _wait(self, future: Future[Done]) -> Done:
        """The result of a command in the log."""
        failing_since: float | None = None
        while True:
            try:
                return future.result(0.2)
            except TimeoutError:
                if self._services.server.is_stopping() or self._closing.is_set():
                    raise KsqlError("STOPPED") from None
            failure = self._failure
            if failure is not None and failure.condition == "SERVICE_ID_TAKEN":
                raise failure.without_context()
            if failure is None:
                failing_since = None
            elif failing_since is None:
                failing_since = time.monotonic()
            elif time.monotonic() - failing_since > REQUEST_TIMEOUT_S:
                raise failure.without_context()

    # ---- following -----------------------------------------------------------------------------------

    def _run(self) -> None:
        services = self._services
        with registry.with_functions(services.catalog.functions):
            while not self._closing.is_set():
                try:
                    if self._reader is None:
                        self._reader = services.log.reader(self._next)
                    for sequence, command in self._reader.read(POLL_S):
                        services.log.confirm()
                        self._handle(sequence, command, log.info)
                        if self._closing.is_set():
                            return
                    self._failure = None
                except KsqlError as error:
                    if self._failure is None:
                        log.error("could not follow the command log: %s", error.message)
                    self._failure = error
                    if self._reader is not None:
                        self._reader.close()
                        self._reader = None
                    if error.condition == "SERVICE_ID_TAKEN":
                        return  # from here on, the other server executes commands
                    self._closing.wait(PAUSE_S)

    def _handle(self, sequence: int, command: Command | Unreadable, report: Callable[[str], None]) -> None:
        """Execute the log's next record, unless it is void or not a command.

        Raises:
            KsqlError: BROKER_UNREACHABLE: another server's command, or one of an earlier run, is still to be
                executed.
        """
        services = self._services
        with self._own_lock:
            own = self._own.pop(command.token, None) if command.token is not None else None
        failure: BaseException | None = None
        done: Done | None = None
        with services.lock:
            if sequence != self._accepted and not self._order.accepts(command):
                log.info("command %d of the log is void: another command came first", sequence)
                failure = Overtaken()
            elif isinstance(command, Unreadable):
                self._skip(self._record(sequence, command.reason), report, is_newer=command.is_newer)
            else:
                self._accepted = sequence
                try:
                    outcome = self._carry_out(sequence, command, own[0] if own is not None else None, report)
                    done = Done(sequence, command.token, outcome)
                except Exception as error:  # whatever the log contains, the server continues
                    if own is None and isinstance(error, KsqlError) and error.condition in _PASSING:
                        raise
                    self._not_carried_out(sequence, command, error, report)
                    failure = error
            services.commands.token = self._order.last
            services.commands.note(sequence)
        self._next = sequence + 1
        if own is None:
            if (
                isinstance(command, Command)
                and done
                and command.id == cluster_end.COMMAND_ID
                and not services.queries.is_replaying
            ):
                services.server.end()
            return
        action, future = own
        if done is not None:
            try:
                action.after()
            except Exception as error:
                failure = error
        if failure is not None:
            future.set_exception(failure)
        elif done is not None:
            future.set_result(done)

    def _carry_out(
        self, sequence: int, command: Command, own: Logged | None, report: Callable[[str], None]
    ) -> Outcome:
        """Execute a command with the action from its validation, or with an action made from its text.

        If that fails, nothing has changed.
        """
        services = self._services
        is_live = not services.queries.is_replaying
        before = services.metastore.copy()
        self.carried_out += is_live
        query = services.queries.find(command.query_id) if command.query_id is not None else None
        if command.query_id is not None:
            services.commands.query_ids.add(command.query_id)
        try:
            action = own or self._checked(sequence, command, report)
            outcome = action.apply(command.starts) if isinstance(action, Logged) else None
            if isinstance(action, Logged) and action.change is not None:
                services.versions.note(action.change, sequence, command)
        except BaseException:
            services.catalog.metastore = before
            if query is None and command.query_id is not None:
                services.queries.kill(command.query_id)
            raise
        self._give_up(command, action)
        if is_live:
            services.catalog.publish()
        if outcome is None:  # it changes nothing on this server
            return Outcome("")
        status = "ERROR" if outcome.is_failed else "SUCCESS"
        self.note(command.id, outcome.message, outcome.query_id, status)
        return outcome

    def _give_up(self, command: Command, action: Action) -> None:
        """Forget statements that were not executed, if ``command`` has removed what they would have made."""
        commands = self._services.commands
        if not commands.missing or command.id == cluster_end.COMMAND_ID:
            return
        statement = grammar.parse_one(command.statement + ";")
        removed = {unexecuted.removed_by(statement)}
        if isinstance(statement, Terminate) and statement.query_id is None:
            removed |= {name for name in commands.missing if name[0] == QUERY}
        if isinstance(action, Logged) and action.change is not None and action.change.drops:
            removed |= {(SOURCE, name) for name in action.change.names}
        cascades = isinstance(statement, DropSource) and statement.cascade
        commands.give_up([name for name in removed if name is not None], cascades=cascades)

    def _checked(self, sequence: int, command: Command, report: Callable[[str], None]) -> Action:
        """The action of a command, whose check is given up after CHECK_S.

        A check changes nothing, so what goes on of it does not matter.

        Raises:
            KsqlError: STATEMENT_TIMEOUT, STOPPED; the statement is invalid.
        """
        future: Future[Action] = Future()
        limit = Deadline(CHECK_S)

        def check() -> None:
            try:
                with deadline.limited(limit):
                    future.set_result(self._action(sequence, command))
            except Exception as error:
                future.set_exception(error)
            except BaseException as error:  # such as SystemExit, which would end the server
                future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))

        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(check,), name="command-check", daemon=True).start()
        began = time.monotonic()
        while True:
            try:
                return future.result(min(SAY_EVERY_S, CHECK_S))
            except FutureTimeout:
                if future.done():  # a TimeoutError may be its own
                    return future.result()
            if self._services.server.is_stopping():
                raise KsqlError("STOPPED")
            seconds = time.monotonic() - began
            if seconds > CHECK_S:
                raise KsqlError("STATEMENT_TIMEOUT", limit=f"{CHECK_S:g}")
            report(f"command {sequence} of the log has taken {seconds:.0f} s so far: {_shown(command)}")

    def _action(self, sequence: int, command: Command) -> Action:
        services = self._services
        if command.id == cluster_end.COMMAND_ID:
            return cluster_end.terminate(services)
        context = StatementContext(
            services,
            services.metastore.copy(),
            _settable_properties(command, sequence),
            {},
            is_replay=True,
            first_sequence=sequence,
            stored=_stored(command),
        )
        return handle(grammar.parse_one(command.statement + ";"), context)

    def _not_carried_out(
        self, sequence: int, command: Command, error: Exception, report: Callable[[str], None]
    ) -> None:
        is_known = isinstance(error, (KsqlError, grammar.ParseFailed))
        if not is_known:
            log.exception("command %d of the log: unexpected error", sequence)
        # anyone may ask for the status and the health
        reason = masked(str(error) if is_known else f"{type(error).__name__}: {error}")
        self.note(command.id, reason, command.query_id, "ERROR")
        shown = _shown(command)
        why = (reason.splitlines() or [type(error).__name__])[0]
        record = replace(self._record(sequence, f"{why} ({shown})"), statement=shown)
        try:
            statement = grammar.parse_one(command.statement + ";")
            names = unexecuted.names_of(statement, command.query_id)
            mentions = unexecuted.mentioned_by(statement)
            remedy = unexecuted.remedy_of(statement, names)
            record = replace(record, names=names, mentions=mentions, remedy=remedy)
        except Exception:  # a text that is no statement of this release
            if command.query_id is not None:
                record = replace(record, names=frozenset({(QUERY, command.query_id.upper())}))
        self._skip(record, report)

    def _record(self, sequence: int, reason: str) -> SkippedRecord:
        return SkippedRecord(self._services.log.topic, 0, sequence, reason)

    def _skip(self, record: SkippedRecord, report: Callable[[str], None], *, is_newer: bool = False) -> None:
        services = self._services
        services.commands.skip(record, is_newer=is_newer)
        log.error("not executed: %s %s", record, record.remedy)
        report(f"skipped a record of the command log {record} {record.remedy}".rstrip())
        if is_newer:
            report("the server only reads the command log: see GET /healthcheck")

    def note(self, command_id: str, message: str, query_id: str | None, status: str = "SUCCESS") -> None:
        """Record the status of a command for clients that ask for it."""
        self.statuses[command_id] = CommandStatus(status, message, query_id)


def _shown(command: Command) -> str:
    """The beginning of a command's statement, without secrets."""
    return masked(" ".join(command.statement[:60].split()))


def _settable_properties(command: Command, sequence: int) -> dict[str, Any]:
    """The properties of a logged command, except those that clients may not set (any more)."""
    properties = {}
    for name, value in command.properties.items():
        if config.is_valid_property(name) and config.find(name).editable:
            properties[name] = value
        else:
            log.warning("command %d of the log: ignoring '%s', which only the server may set", sequence, name)
    return properties


def _stored(command: Command) -> StoredQuery | None:
    """The query that a logged command started; None if the command has no plan."""
    if command.plan is None or command.query_id is None:
        return None
    logged = codec.decode(command.plan)
    return StoredQuery(command.query_id, logged.bound, logged.plan)


__all__ = ["CommandRunner", "Done", "Overtaken"]
