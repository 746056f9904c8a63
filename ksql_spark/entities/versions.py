"""Versions of streams and tables, and new versions of tables that run beside the old ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ksql_spark.entities.base import Body, Entity, Omitted


@dataclass(frozen=True, kw_only=True)
class EvolutionSample(Body):
    """A row that differs: its key, and the columns that do; null: a version lacks the row."""

    key: Mapping[str, Any] | None
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class EvolutionDescription(Entity, type="evolution_description"):
    """The answer to DESCRIBE EVOLUTION.

    Args:
        name: the table.
        state: backfilling, caught up, verified, swapping, warming up, swapped, failed or aborted.
        reason: why it has failed, or cannot be swapped now.
        query_id: of the new version.
        topic: where the new version writes until the swap.
        is_manual: whether it waits for SWAP.
        records_left: how many records the new version has not read, as of its last checkpoint.
        keys_changed: keys whose rows differ from the old version's, or that the old version lacks; null while
            it is unknown.
        keys_removed: keys that the new version lacks.
        rows: how many rows the old version has, and the new one; null while it is unknown.
        columns_changed: column -> for how many keys its values differ.
        samples: the first rows that differ.
        timestamp: when it was aborted, epoch milliseconds.
        user: who aborted it; left out if nobody logs in.
    """

    name: str
    state: str
    reason: str | None
    query_id: str
    topic: str
    is_manual: bool
    records_left: int | None
    keys_changed: int | None
    keys_removed: int | None
    rows: tuple[int, int] | None = None
    columns_changed: Mapping[str, int] = field(default_factory=dict)
    samples: tuple[EvolutionSample, ...] = ()
    timestamp: Omitted[int] = None
    user: Omitted[str] = None


@dataclass(frozen=True, kw_only=True)
class VersionInfo(Body):
    """A row of SHOW VERSIONS.

    Args:
        number: from 1.
        way: created, in-place, backfill or undropped: how it became the current version.
        is_rollback: whether ROLLBACK made it.
        statement: with its ``;``, several after ALTER; secrets in it are hidden.
        timestamp: when it became the current version, epoch milliseconds.
        user: who sent the statement; null: unknown, or the server itself.
        query_id: of its query.
        command_sequence_number: of the command that made it the current version.
        starts: where its query began to read: topic -> {partition: offset}.
    """

    number: int
    way: str
    is_rollback: bool
    statement: str
    timestamp: int | None
    user: str | None
    query_id: str | None
    command_sequence_number: int
    starts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, kw_only=True)
class VersionsList(Entity, type="versions"):
    """The answer to SHOW VERSIONS; the last version is the current one."""

    name: str
    versions: tuple[VersionInfo, ...]
