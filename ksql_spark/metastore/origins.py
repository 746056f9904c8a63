"""Origins as values: the tables outside Kafka that CREATE … WITH (LAKE = …) follows (beyond ksqlDB)."""

from __future__ import annotations

from dataclasses import dataclass

CSV, JSON = "csv", "json"


@dataclass(frozen=True)
class Origin:
    """The table outside Kafka that a stream or table follows.

    Args:
        path: a folder, a file, or the URL of a database, which may have a password.
        format: parquet, csv, json, delta, iceberg or jdbc.
        table: the database's table.
        refresh_ms: the pause between two looks.
    """

    path: str
    format: str
    table: str | None = None
    refresh_ms: int = 60_000
