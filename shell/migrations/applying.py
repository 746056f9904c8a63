"""Applies migrations: which ones, whether old files are as they were, one file after the other."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import grammar
from shell import statements
from shell.client import Client, ClientError
from shell.migrations.history import (
    CURRENT,
    ERROR,
    MIGRATED,
    NO_REASON,
    NO_VERSION,
    RUNNING,
    Event,
    History,
    last_events,
)
from shell.migrations.project import Migration
from shell.output.console import Console
from shell.output.entities import one_line
from shell.session import Failure, Session

#: first words of the statements that a migration may have
_ALLOWED = frozenset(
    (
        "ALTER", "ASSERT", "CREATE", "DEFINE", "DROP", "INSERT", "PAUSE", "RESUME", "SET", "TERMINATE",
        "UNDEFINE", "UNSET",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """Which versions to apply; at most one of them is given, none of them: all.

    Attributes:
        next: the next one.
        until: those up to this one.
        version: this one alone.
    """

    next: bool = False
    until: int | None = None
    version: int | None = None


def check_applied(migrations: Sequence[Migration], events: Sequence[tuple[str, Event]]) -> int:
    """Check that the files of what was applied are as they were; how many that are.

    Raises:
        ClientError: one is gone or was changed, or an event is missing.
    """
    files = {migration.version: migration for migration in migrations}
    last = last_events(events)
    count = 0
    version = last_migrated(last)
    while version != NO_VERSION:
        event = last.get(version)
        if event is None or event.state != MIGRATED:
            raise ClientError(f"The server does not know how version {version} was applied.")
        file = files.get(int(version))
        if file is None:
            raise ClientError(f"The file of version {version} ({event.name}), which was applied, is gone.")
        if file.checksum() != event.checksum:
            raise ClientError(
                f"{file.path.name} was changed after it was applied: its MD5 was {event.checksum} and is "
                f"{file.checksum()}. Put it back as it was, and write the change as a new migration."
            )
        count += 1
        version = event.previous
    return count


def last_migrated(last: Mapping[str, Event]) -> str:
    """The newest version that was applied, or NO_VERSION; from the last event of each key."""
    current = last.get(CURRENT)
    if current is None:
        return NO_VERSION
    return current.version if current.state == MIGRATED else current.previous


def choose(
    migrations: Sequence[Migration], current: Event | None, wanted: Wanted, *, takes_over: bool = False
) -> list[Migration]:
    """The migrations to apply, in order.

    Args:
        migrations: all, by version.
        current: the event of the newest version; None: nothing was applied.
        wanted: which.
        takes_over: whether one that is marked as running is applied again.

    Raises:
        ClientError: one runs, or what is wanted is not there, or was applied before.
    """
    if current is not None and current.state == RUNNING and not takes_over:
        raise ClientError(
            f"Version {current.version} ({current.name}) is being applied by somebody else. If whoever did "
            "is gone: look at what its statements have made, and apply it again with --take-over."
        )
    newest = 0 if current is None else int(current.version)
    begin = newest + 1 if current is None or current.state == MIGRATED else newest
    ahead = [migration for migration in migrations if migration.version >= begin]
    for version in (wanted.version, wanted.until):
        if version is None:
            continue
        if version < begin:
            raise ClientError(f"Version {version} is not newer than the last one that was applied, {newest}.")
        if version not in {migration.version for migration in ahead}:
            raise ClientError(f"There is no migration with version {version}.")
    if wanted.version is not None:
        return [migration for migration in ahead if migration.version == wanted.version]
    if wanted.until is not None:
        return [migration for migration in ahead if migration.version <= wanted.until]
    return ahead[:1] if wanted.next else ahead


def parts_of(migration: Migration) -> list[grammar.StatementText]:
    """The statements of a file.

    Raises:
        ClientError: it has other statements than a migration may have, or the last one has no end.
    """
    parts = grammar.split(migration.text())
    for part in parts:
        word = statements.body(part.text).split(maxsplit=1)[0].upper()
        place = f"{migration.path.name}:{part.line}:{part.column}"
        if part.open is not None:
            raise ClientError(f"{place}: This {part.open} is never closed.")
        if word not in _ALLOWED:
            raise ClientError(
                f"{place}: A migration cannot have {word}. It may have {', '.join(sorted(_ALLOWED))}."
            )
        if not part.complete:
            raise ClientError(f"{place}: This statement does not end in ';'.")
    return parts


class Applying:
    """Applies migrations to a server.

    Args:
        client: of the server.
        history: where to write what was done.
        console: for the statements and their answers.
        variables: of all files.
    """

    def __init__(
        self, client: Client, history: History, console: Console, variables: Mapping[str, str]
    ) -> None:
        self._client = client
        self._history = history
        self._console = console
        self._variables = variables

    def apply(self, migration: Migration, events: Sequence[tuple[str, Event]]) -> None:
        """Run a file's statements, one after the other. What ran before an error is not undone.

        Args:
            migration: the file.
            events: all that there are.

        Raises:
            ClientError: a statement failed; the event says so. Or somebody else has begun to apply it.
            KeyboardInterrupt: so does the event.
        """
        parts = parts_of(migration)
        self._console.line(self._console.bold(f"Applying {migration.path.name}"))
        begun = Event(
            version=str(migration.version),
            name=migration.name,
            state=RUNNING,
            checksum=migration.checksum(),
            started_on=_now(),
            completed_on="",
            previous=last_migrated(last_events(events)),
            error_reason=NO_REASON,
        )
        self._history.write(begun)
        self._check_alone(begun, len(events))
        try:
            self._run(parts)
        except Failure as failure:
            message = failure.located(migration.path.name)
            self._end(begun, ERROR, message.partition("\n")[0])
            raise ClientError(message) from None
        except KeyboardInterrupt:
            self._end(begun, ERROR, "Ctrl-C; the server may still have carried out the statement.")
            raise
        self._end(begun, MIGRATED, NO_REASON)

    def _check_alone(self, begun: Event, known: int) -> None:
        """Check that nobody else began between our reading of the events and our writing of one."""
        newer = [event for key, event in self._history.read()[known:] if key == CURRENT]
        first = next(event for event in newer if event.state == RUNNING)
        if first != begun:
            # our event must not be the last one: whoever was first goes on
            self._history.write([event for event in newer if event != begun][-1])
            raise ClientError(f"Version {first.version} is being applied by somebody else.")

    def _run(self, parts: Sequence[grammar.StatementText]) -> None:
        session = Session(self._client, self._console, variables=self._variables)
        session.interrupt_ends_query_only = False
        for part in parts:
            self._console.line(self._console.cyan(one_line(part.text) + ";"))
            session.run(part)

    def _end(self, begun: Event, state: str, reason: str) -> None:
        self._history.write(dataclasses.replace(begun, state=state, completed_on=_now(), error_reason=reason))


def _now() -> str:
    return str(int(time.time() * 1000))
