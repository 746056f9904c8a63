"""The versions of streams and tables, derived from the commands of the log (beyond ksqlDB).

Nothing is stored: each start replays the log, and with it this history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ksql_spark.runtime.command_log import Command, first_offsets

#: the ways to a new version: the statement that creates a stream or table; its query goes on, or the source
#: has other columns; another query takes over; UNDROP
CREATED, IN_PLACE, BACKFILL, UNDROPPED = "created", "in-place", "backfill", "undropped"
#: how the commands of ROLLBACK and UNDROP end their ids
ROLLBACK, UNDROP = "/rollback", "/undrop"
#: how many dropped streams and tables are remembered
MOST_DROPPED = 1_000


@dataclass(frozen=True)
class Change:
    """The effect of a command on the version of a stream or table, or of several when it drops them.

    Args:
        names: of the streams and tables.
        way: one of the ways above; None: see the flags.
        begins: a new version begins to run beside the current one.
        aborts: it ends, without having become the current one.
        is_alter: the statement adds to that of the current version.
        drops: they are dropped.
        deletes_topics: and their topics.
        statement: that which makes the version, if it is not the command's, without its ``;``.
    """

    names: tuple[str, ...]
    way: str | None = None
    begins: bool = False
    aborts: bool = False
    is_alter: bool = False
    drops: bool = False
    deletes_topics: bool = False
    statement: str | None = None


@dataclass(frozen=True)
class Version:
    """One version of a stream or table.

    Args:
        number: from 1.
        way: how it became the current version.
        is_rollback: whether ROLLBACK made it.
        statement: with its ``;``, several after ALTER.
        properties: those with which the statement was executed.
        sequence: the number of the command that made it the current version.
        written_ms: when that was written, epoch milliseconds.
        user: who sent it, or None if unknown or the server itself.
        query_id: of its query.
        starts: where its query began to read: topic -> {partition: offset}.
    """

    number: int
    way: str
    is_rollback: bool
    statement: str
    properties: Mapping[str, Any]
    sequence: int
    written_ms: int | None
    user: str | None
    query_id: str | None
    starts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Dropped:
    """The recorded history of a stream or table that was dropped.

    Args:
        versions: all its versions, the last one last.
        command: the one that dropped it.
        has_topic: whether its topic was kept.
    """

    versions: tuple[Version, ...]
    command: Command
    has_topic: bool


class Versions:
    """The versions of all streams and tables. Readers on other threads see each change whole."""

    def __init__(self) -> None:
        self._versions: dict[str, tuple[Version, ...]] = {}
        #: new versions that run beside the current ones
        self._begun: dict[str, Version] = {}
        #: the last version that was aborted since the current one began
        self._aborted: dict[str, Version] = {}
        self._dropped: dict[str, Dropped] = {}

    def of(self, name: str) -> tuple[Version, ...]:
        """The versions of a stream or table, the first one first; empty if it does not exist."""
        return self._versions.get(name, ())

    def aborted(self, name: str) -> Version | None:
        """The new version that was aborted, if that was the last change: when, and by whom."""
        return self._aborted.get(name)

    def dropped(self, name: str) -> Dropped | None:
        """The stream or table of that name that was dropped last, if it has not been created since."""
        return self._dropped.get(name)

    def note(self, change: Change, sequence: int, command: Command) -> None:
        """Note what a command has done.

        Args:
            change: what it did.
            sequence: its number in the log.
            command: the command.
        """
        for name in change.names:
            versions = self.of(name)
            if change.aborts:
                begun = self._begun.pop(name, None)
                if begun is not None:
                    by = replace(begun, sequence=sequence, written_ms=command.written_ms, user=command.user)
                    self._aborted[name] = by
                continue
            if not change.is_alter:
                self._aborted.pop(name, None)
            if change.drops:
                self._drop(name, change, command)
            elif change.begins:
                self._begun[name] = _version(versions, BACKFILL, sequence, command)
            elif change.way == BACKFILL:
                begun = self._begun.pop(name, None)
                if begun is not None:
                    new = replace(begun, sequence=sequence, written_ms=command.written_ms, user=command.user)
                    self._versions[name] = (*versions, replace(new, number=len(versions) + 1))
            elif change.way is not None:
                way, before = change.way, self._dropped.pop(name, None)
                if command.id.endswith(UNDROP) and before is not None:
                    way, versions = UNDROPPED, before.versions
                new = _version(versions, way, sequence, command)
                if change.statement is not None:
                    new = replace(new, statement=f"{change.statement};")
                if change.is_alter and versions:
                    both = f"{versions[-1].statement}\n{new.statement}"
                    new = replace(new, statement=both, properties=versions[-1].properties)
                self._versions[name] = (*versions, new)

    def _drop(self, name: str, change: Change, command: Command) -> None:
        self._begun.pop(name, None)
        versions = self._versions.pop(name, ())
        self._dropped.pop(name, None)
        self._dropped[name] = Dropped(versions, command, not change.deletes_topics)
        while len(self._dropped) > MOST_DROPPED:
            del self._dropped[next(iter(self._dropped))]


def _version(earlier: tuple[Version, ...], way: str, sequence: int, command: Command) -> Version:
    return Version(
        number=len(earlier) + 1,
        way=way,
        is_rollback=command.id.endswith(ROLLBACK),
        statement=f"{command.statement};",
        properties=command.properties,
        sequence=sequence,
        written_ms=command.written_ms,
        user=command.user,
        query_id=command.query_id,
        starts=first_offsets(command.starts),
    )
