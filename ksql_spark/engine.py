"""The engine: all that server/ needs. See docs/architecture.md, "The engine's interface"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Request:
    """What a client sends: statements, property overrides, session variables."""

    text: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    command_sequence_number: int | None = None


@dataclass(frozen=True)
class ResultColumn:
    """One column of a query's result; ``type`` in text form, for example ``ARRAY<STRING>``."""

    name: str
    type: str
    is_key: bool = False


@dataclass(frozen=True)
class Row:
    """One result row; values are JSON-ready. ``tombstone``: a deleted row of a table."""

    values: list[Any]
    tombstone: bool = False


class QueryStream(Protocol):
    """The rows of one running SELECT or PRINT."""

    query_id: str
    kind: str
    columns: list[ResultColumn]
    final_message: str | None

    def read(self, timeout_s: float) -> list[Row] | None:
        """The rows that arrived; [] when none came within the time; None at the end."""
        ...

    def close(self) -> None:
        """Stop the query and free what it holds; may be called more than once."""
        ...
