"""Results of statements that change something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.entities.base import Body, Entity
from ksql_spark.entities.schemas import FieldInfo
from ksql_spark.entities.versions import EvolutionSample


@dataclass(frozen=True)
class CommandStatus(Body):
    """The status of a command, for instance SUCCESS; ``query_id``: of the query that it has started."""

    status: str
    message: str
    query_id: str | None


@dataclass(frozen=True)
class CommandStatuses(Body):
    """The status of each command, by its id."""

    command_statuses: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class CommandStatusEntity(Entity, type="currentStatus"):
    """The answer to a logged statement; a sequence number of -1 means that the command log is gone."""

    command_id: str
    command_status: CommandStatus
    command_sequence_number: int


@dataclass(frozen=True, kw_only=True)
class WarningEntity(Entity, type="warning_entity"):
    """The answer to a statement that had nothing to do."""

    message: str


@dataclass(frozen=True, kw_only=True)
class TerminateQueryEntity(Entity, type="terminate_query"):
    """The answer to TERMINATE for a push query."""

    query_id: str
    was_terminated: bool


@dataclass(frozen=True, kw_only=True)
class ErrorsReplayed(Entity, type="errors_replayed"):
    """The answer to REPLAY ERRORS: numbers of records by their outcome.

    Args:
        replayed: were processed, and their results written.
        failed_again: have new errors, and no results.
        gone: are no longer in their topic; ``gone_records`` names the first of them, as in "topic-0: 5, 7-9".
        unknown: errors that do not name their record, which cannot be replayed.
    """

    query_id: str
    replayed: int
    failed_again: int
    gone: int
    gone_records: tuple[str, ...]
    unknown: int
    message: str


@dataclass(frozen=True, kw_only=True)
class RowsReprocessed(Entity, type="rows_reprocessed"):
    """The answer to REPROCESS, REPLAY LATE ROWS, and REPLAY ERRORS of windows and joins.

    Args:
        name: the table, or the stream of a join.
        query_id: of the query that maintains it.
        is_preview: whether nothing was written.
        windows: how many windows were computed again.
        open_windows: were left alone, because the query still adds to them.
        gone_windows: were left alone, because records of them are gone.
        changed: rows that have other values, or are new; of a stream: that were added.
        removed: rows that are no longer there.
        samples: the first rows that differ.
    """

    name: str
    query_id: str
    is_preview: bool
    windows: int
    open_windows: int
    gone_windows: int
    changed: int
    removed: int
    samples: tuple[EvolutionSample, ...]
    message: str


@dataclass(frozen=True)
class ForgottenPlace(Body):
    """A place that has, or may have, something about the keys of FORGET.

    Args:
        place: what it is: ``topic``, ``state``, ``table``, ``stream``, ``sink``, ``archive`` or ``log``.
        name: its name.
        found: how many rows or records of the keys were found, or None if they were not counted.
        outcome: ``deleted``; ``reachable``: FORGET would delete it; ``follows``, by itself; ``pending``;
            ``left``: FORGET cannot reach it.
        note: what that means there, and what to do.
    """

    place: str
    name: str
    found: int | None
    outcome: str
    note: str


@dataclass(frozen=True, kw_only=True)
class RowsForgotten(Entity, type="rows_forgotten"):
    """The answer to FORGET.

    Args:
        name: the table.
        query_id: of the query that maintains it; None: no query does.
        is_preview: whether nothing was removed.
        count: how many rows of the table were removed.
        places: where the keys were looked for, the table's own first.
    """

    name: str
    query_id: str | None
    is_preview: bool
    count: int
    places: tuple[ForgottenPlace, ...]
    message: str


@dataclass(frozen=True, kw_only=True)
class RowsChanged(Entity, type="rows_changed"):
    """The answer to UPDATE, DELETE and TRUNCATE: which of these, and the number of rows."""

    operation: str
    count: int
    message: str


@dataclass(frozen=True, kw_only=True)
class RowsInserted(Entity, type="rows_inserted"):
    """The answer to INSERT INTO … VALUES with RETURNING: what the columns became.

    Args:
        count: of the rows.
        columns: the names and types.
        rows: the values, in the order of the columns.
    """

    count: int
    columns: tuple[FieldInfo, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class RowsCopied(Body):
    """The response to POST /copy/{target}; ``rows`` is the number of rows written."""

    target: str
    rows: int


@dataclass(frozen=True)
class StateRebuilt(Body):
    """The response to POST /state/rebuild."""

    query_id: str
    message: str


@dataclass(frozen=True, kw_only=True)
class AssertTopicEntity(Entity, type="assert_topic"):
    """The answer to ASSERT TOPIC; ``exists`` says whether existence or absence was asserted."""

    topic_name: str
    exists: bool


@dataclass(frozen=True, kw_only=True)
class AssertSchemaEntity(Entity, type="assert_schema"):
    """The answer to ASSERT SCHEMA, by subject or id or both."""

    subject: str | None
    id: int | None
    exists: bool
