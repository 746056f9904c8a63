"""Sinks as values: the tables outside Kafka that CREATE SINK writes (beyond ksqlDB)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

DELTA, ICEBERG, PARQUET, JDBC = "delta", "iceberg", "parquet", "jdbc"
#: the databases of the type jdbc
DATABASE_URL = re.compile(r"(?:jdbc:)?(?:postgres(?:ql)?(?:\+psycopg)?://|sqlite:)", re.IGNORECASE)

#: a table in a catalog of Iceberg, instead of a path
CATALOG_TABLE = re.compile(r"catalog:(?P<catalog>[^/]+)/(?P<table>[^/.]+(?:\.[^/.]+)+)")


def folded(name: str) -> str:
    """A name as databases have it: one that KSQL has folded to upper case is there in lower case.

    >>> folded("PRICE"), folded("unitPrice")
    ('price', 'unitPrice')
    """
    return name.lower() if name == name.upper() else name


def archive_name(topic: str, topic_id: str | None) -> str:
    """The name by which an archive knows a topic: offsets of one that was made again are others."""
    return f"archive:{topic}:{topic_id or ''}"


def place_of(path: str) -> str:
    """Return a normal form of a path, equal for all ways to write it.

    >>> place_of("/lake//trips/"), place_of("s3a://lake/trips/")
    ('/lake/trips', 's3://lake/trips')
    """
    if "://" not in path:
        return path.rstrip("/") if ":" in path else os.path.normpath(path)
    return path.replace("s3a://", "s3://", 1).rstrip("/")


@dataclass(frozen=True)
class PartitionColumn:
    """One part of PARTITION_BY: a column, or ``transform`` (year, month, day, hour) of a column."""

    column: str
    transform: str | None = None

    @property
    def name(self) -> str:
        """The name of the column in the lake table by which its files are grouped."""
        return self.column if self.transform is None else f"{self.column}_{self.transform.upper()}"

    def __str__(self) -> str:
        return self.column if self.transform is None else f"{self.transform}({self.column})"


@dataclass(frozen=True)
class Sink:
    """A sink: a stream or table, and the table outside Kafka that gets its rows.

    Args:
        name: its name.
        source: the stream or table that it reads.
        type: what it writes: delta, parquet …
        path: where: a folder, or the URL of a database, which may have a password.
        table: the database's table.
        partition_by: how the files are grouped.
        interval_ms: the pause between two commits.
        statement: the statement's text.
        is_paused: whether it waits for RESUME SINK.
        is_archive: whether it writes the records of the topic as they are.
        compactions: how many times COMPACT SINK was run.
        begins: partition -> where the topic began when the sink was created, or None if unknown.
    """

    name: str
    source: str
    type: str
    path: str
    table: str | None = None
    partition_by: tuple[PartitionColumn, ...] = ()
    interval_ms: int = 10_000
    statement: str = ""
    is_paused: bool = False
    is_archive: bool = False
    compactions: int = 0
    begins: Mapping[int, int] | None = None

    @property
    def place(self) -> tuple[str, str | None]:
        """The identity of the written table, equal for sinks that write the same one."""
        return place_of(self.path), self.table

    @property
    def id(self) -> str:
        """The name under which the processing log has its unreadable records."""
        return f"SINK_{self.name}"
