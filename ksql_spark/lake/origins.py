"""Keeps streams and tables in step with their origins: the tables outside Kafka that LAKE names.

A refresh reads the origin and the topic, and writes what they differ by. So it needs no position: a refresh
that was interrupted anywhere, or that another server made at the same time, is made good by the next one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake.following import Follower, Run
from ksql_spark.metastore.catalog import Catalog
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sources import DataSource
from ksql_spark.metastore.store import MetaStore

if TYPE_CHECKING:
    import pyarrow as pa

WAITING, RUNNING, ERROR = "WAITING", "RUNNING", "ERROR"


class Changes(NamedTuple):
    """The result of a refresh: numbers of rows of the origin, written, removed, and without a key."""

    rows: int
    written: int
    removed: int
    without_key: int


class Writer(Protocol):
    """Writes what makes a table's topic equal to the origin."""

    def __call__(
        self, source: DataSource, origin: Origin, rows: pa.Table, ends: Mapping[int, int]
    ) -> Changes:
        """Compare ``rows`` with the topic up to ``ends``, and write the difference.

        Raises:
            KsqlError: LAKE_UNREADABLE: two rows have the same key.
        """


@dataclass(frozen=True)
class OriginStatus:
    """The status of a table that follows its origin on this server.

    Args:
        state: WAITING, RUNNING or ERROR.
        reason: why the latest refresh failed.
        rows: rows of the origin; of a stream, those that it has.
        without_key: rows that have no key, and were left out.
        written: rows that were written since the server's start.
        removed: rows that were removed since then.
        last_refresh_ms: the end of the latest refresh that succeeded, epoch milliseconds.
    """

    state: str = WAITING
    reason: str | None = None
    rows: int | None = None
    without_key: int = 0
    written: int = 0
    removed: int = 0
    last_refresh_ms: int | None = None


class OriginRun(Run[tuple[DataSource, Origin], OriginStatus]):
    """A run that keeps one table equal to its origin, until close().

    Args:
        definition: the table, and its origin.
        admin: of the cluster.
        write: writes differences.
        status: of the table so far.
    """

    def __init__(
        self, definition: tuple[DataSource, Origin], admin: KafkaAdmin, write: Writer, status: OriginStatus
    ) -> None:
        super().__init__(f"table {definition[0].name}", definition, status)
        self._admin = admin
        self._write = write
        #: the states of the origin and the topic when their rows were equal
        self._equal: tuple[object, Mapping[int, int]] | None = None

    def work(self) -> float:
        """Refresh the table."""
        self.refresh()
        return self.definition[1].refresh_ms / 1000

    def failed(self, why: str) -> None:
        """Record the failure in the status."""
        self.status = replace(self.status, state=ERROR, reason=why)

    def refresh(self) -> None:
        """Bring the topic into step with the origin.

        Raises:
            KsqlError: those of reading.read and Writer.
        """
        source, origin = self.definition
        ends = {p: offset for (_, p), offset in self._admin.committed_ends(source.topic).items()}
        # at run time, because its packages are extras
        from ksql_spark.lake import reading

        state = reading.state_of(origin)
        if state is None or (state, ends) != self._equal:
            rows = reading.read(origin, source.schema.columns)
            changes = self._write(source, origin, rows, ends)
            # else the next refresh looks whether all of it has arrived
            self._equal = None if changes.written or changes.removed else (state, ends)
            self.status = replace(
                self.status,
                rows=changes.rows,
                without_key=changes.without_key,
                written=self.status.written + changes.written,
                removed=self.status.removed + changes.removed,
            )
        self.status = replace(
            self.status, state=RUNNING, reason=None, last_refresh_ms=int(time.time() * 1000)
        )


class Runs(Protocol):
    """Makes the run of a stream or table that follows an origin."""

    def __call__(
        self, definition: tuple[DataSource, Origin], status: OriginStatus
    ) -> Run[tuple[DataSource, Origin], OriginStatus]:
        """Return a run that is not started yet."""


class Origins(Follower[tuple[DataSource, Origin], OriginStatus]):
    """The streams and tables of a server that follow origins. Thread-safe.

    Args:
        catalog: has them.
        runs: makes their runs.
        is_here: whether this server refreshes.
    """

    def __init__(self, catalog: Catalog, runs: Runs, is_here: Callable[[], bool] = lambda: True) -> None:
        super().__init__("origins", catalog, is_here)
        self._runs_of = runs

    def definitions(self, store: MetaStore) -> Mapping[str, tuple[DataSource, Origin] | None]:
        """Streams and tables with origins."""
        return {name: (store.require(name), origin) for name, origin in store.origins().items()}

    def run_of(
        self, definition: tuple[DataSource, Origin], status: OriginStatus
    ) -> Run[tuple[DataSource, Origin], OriginStatus]:
        """A run of a stream or table."""
        return self._runs_of(definition, status)

    def new_status(self) -> OriginStatus:
        """Return the status of a table whose refreshes have not run here."""
        return OriginStatus()
