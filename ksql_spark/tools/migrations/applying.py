"""Applies migrations: chooses versions, checks that applied files are unchanged, runs files in order."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ksql_spark import grammar
from ksql_spark.shell import statements
from ksql_spark.shell.client import Client, ClientError
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.session import Failure, Session
from ksql_spark.tools.migrations.history import (
    CLAIMED,
    ERROR,
    MIGRATED,
    NO_REASON,
    NO_VERSION,
    RELEASED,
    RUNNING,
    Event,
    History,
    Standing,
    standing,
    token,
)
from ksql_spark.tools.migrations.project import Migration

#: first words of the statements that a migration may contain
_ALLOWED = frozenset(
    (
        "ABORT", "ALTER", "ASSERT", "CREATE", "DEFINE", "DELETE", "DROP", "INSERT", "PAUSE", "REPLAY",
        "RESUME", "ROLLBACK", "SET", "SWAP", "TERMINATE", "UNDEFINE", "UNDROP", "UNSET", "UPDATE",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """The choice of versions to apply; at most one attribute is set, and none means all.

    Attributes:
        next: only the next one.
        until: all up to this version.
        version: only this version.
    """

    next: bool = False
    until: int | None = None
    version: int | None = None


def check_applied(migrations: Sequence[Migration], standing: Standing) -> int:
    """Check that the files of applied versions are unchanged; returns their number.

    Raises:
        ClientError: a file is missing or was changed, or an event is missing.
    """
    files = {migration.version: migration for migration in migrations}
    count = 0
    version = standing.migrated
    while version != NO_VERSION:
        event = standing.versions.get(version)
        if event is None or event.state != MIGRATED:
            raise ClientError(f"The server has no record of how version {version} was applied.")
        file = files.get(int(version))
        if file is None:
            raise ClientError(f"The file of the applied version {version} ({event.name}) is missing.")
        if file.checksum() != event.checksum:
            raise ClientError(
                f"{file.path.name} was changed after it was applied: its MD5 was {event.checksum} and is "
                f"now {file.checksum()}. Restore it, and write the change as a new migration."
            )
        count += 1
        version = event.previous
    return count


def choose(
    migrations: Sequence[Migration], standing: Standing, selection: Wanted, *, takes_over: bool = False
) -> list[Migration]:
    """The migrations to apply, in order.

    Args:
        migrations: all, by version.
        standing: the state on the server.
        selection: the requested versions.
        takes_over: whether to continue although another process is applying a version.

    Raises:
        ClientError: a version is running, or the requested one does not exist or was already applied.
    """
    if standing.holder is not None and not takes_over:
        raise _busy(standing.holder)
    current = standing.current
    newest = 0 if current is None else int(current.version)
    begin = newest + 1 if current is None or current.state == MIGRATED else newest
    ahead = [migration for migration in migrations if migration.version >= begin]
    for version in (selection.version, selection.until):
        if version is None:
            continue
        if version < begin:
            raise ClientError(f"Version {version} is not newer than the last applied version, {newest}.")
        if version not in {migration.version for migration in ahead}:
            raise ClientError(f"No migration has version {version}.")
    if selection.version is not None:
        return [migration for migration in ahead if migration.version == selection.version]
    if selection.until is not None:
        return [migration for migration in ahead if migration.version <= selection.until]
    return ahead[:1] if selection.next else ahead


def _busy(holder: Event) -> ClientError:
    return ClientError(
        f"Another process is applying version {holder.version}. If that process is gone, check what its "
        f"statements created, then apply the version again with --take-over."
    )


def parts_of(migration: Migration) -> list[grammar.StatementText]:
    """The statements of a file.

    Raises:
        ClientError: it contains statements that a migration may not contain, or the last one is incomplete.
    """
    parts = grammar.split(migration.text())
    for part in parts:
        word = part.verb or part.text.split(maxsplit=1)[0]
        place = f"{migration.path.name}:{part.line}:{part.column}"
        if part.open is not None:
            raise ClientError(f"{place}: This {part.open} is never closed.")
        if word not in _ALLOWED:
            raise ClientError(
                f"{place}: A migration cannot contain {word}. Allowed: {', '.join(sorted(_ALLOWED))}."
            )
        if not part.complete:
            raise ClientError(f"{place}: This statement does not end in ';'.")
        try:
            statements.check(part)
        except statements.StatementProblem as problem:
            raise ClientError(f"{place}: {problem}") from None
    return parts


class Applying:
    """Applies migrations to a server.

    Args:
        client: of the server.
        history: the event history.
        console: for the statements and their results.
        variables: variables for all files.
    """

    def __init__(
        self, client: Client, history: History, console: Console, variables: Mapping[str, str]
    ) -> None:
        self._client = client
        self._history = history
        self._console = console
        self._variables = variables

    def apply(self, migration: Migration, before: Standing) -> Standing:
        """Run a file's statements one by one. Statements before an error are not undone.

        Args:
            migration: the file.
            before: the state on the server; a version that another process is applying is taken over.

        Returns:
            The state after it.

        Raises:
            ClientError: a statement failed, which the event records; or another process was faster.
            KeyboardInterrupt: the event records it.
        """
        parts = parts_of(migration)
        begun = Event(
            version=str(migration.version),
            name=migration.name,
            state=RUNNING,
            checksum=migration.checksum(),
            started_on=_now(),
            completed_on="",
            previous=before.migrated,
            error_reason=NO_REASON,
        )
        self._claim(begun, before)
        self._console.line(self._console.bold(f"Applying {migration.path.name}"))
        self._history.write(begun)
        try:
            self._run(parts)
        except Failure as failure:
            message = failure.located(migration.path.name)
            raise self._failed(begun, message) from None
        except KeyboardInterrupt:
            cause = "stopped by Ctrl-C or SIGTERM; the server may still run the last statement."
            reason = f"{migration.path.name}: {cause}"
            self._console.error(str(self._failed(begun, reason)))
            raise
        ended = self._end(begun, MIGRATED, NO_REASON)
        versions = {**before.versions, ended.version: ended}
        return Standing(versions, current=ended)

    def _claim(self, begun: Event, before: Standing) -> None:
        """Make sure that nobody else applies a version until this one has finished.

        Raises:
            ClientError: another process is doing so, or has done so since ``before`` was read.
        """
        claim = replace(begun, state=CLAIMED, name=uuid.uuid4().hex, checksum="", error_reason="")
        if before.holder is not None:
            claim = replace(claim, error_reason=token(before.holder))
        self._history.claim(claim)
        now = standing(self._history.read())
        if now.holder is None or token(now.holder) != token(claim):
            raise _busy(now.holder or claim)
        if now.current != before.current:
            self._history.claim(replace(claim, state=RELEASED))
            raise ClientError("Another process has applied migrations meanwhile. Check info, then try again.")

    def _failed(self, begun: Event, message: str) -> ClientError:
        """The error to show, after recording it in an event."""
        try:
            self._end(begun, ERROR, message.partition("\n")[0])
        except ClientError as error:
            stays = (
                f"Version {begun.version} stays marked as running, because the change could not be written. "
                f"{error}"
            )
            return ClientError(f"{message}\n{stays}")
        return ClientError(message)

    def _run(self, parts: Sequence[grammar.StatementText]) -> None:
        session = Session(self._client, self._console, variables=self._variables)
        session.interrupt_ends_query_only = False
        for part in parts:
            self._console.line(self._console.cyan(f"{statements.shown(part)};"))
            session.run(part)

    def _end(self, begun: Event, state: str, reason: str) -> Event:
        ended = replace(begun, state=state, completed_on=_now(), error_reason=reason)
        self._history.write(ended)
        return ended


def _now() -> str:
    return str(int(time.time() * 1000))
