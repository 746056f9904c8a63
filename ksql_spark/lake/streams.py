"""Adds what lake tables gain to the topics of streams, each row once (ADR 60)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.lake.following import Run
from ksql_spark.lake.origins import ERROR, RUNNING, OriginStatus
from ksql_spark.lake.positions import Encoded, Position, Positions
from ksql_spark.metastore.origins import Origin
from ksql_spark.metastore.sources import DataSource
from ksql_spark.schema import Column

if TYPE_CHECKING:
    import pyarrow as pa

    from ksql_spark.lake.growth import Batch, Part

#: the most rows of one transaction, which are in the server's memory
MOST_ROWS = 100_000


class Encoder(Protocol):
    """Turns rows into what a stream's topic has."""

    def times(self, source: DataSource, rows: pa.Table) -> pa.ChunkedArray:
        """The event time of each row, epoch ms; NULL where it has none. ``rows`` has the TIMESTAMP column."""

    def records(self, source: DataSource, rows: pa.Table) -> Iterable[Encoded]:
        """The records of rows, in their order.

        Raises:
            KsqlError: a row does not fit the schema of the topic.
        """


class StreamRun(Run[tuple[DataSource, Origin], OriginStatus]):
    """A run that fills one stream from a lake table, until close().

    Args:
        definition: the stream, and its origin.
        admin: of the cluster.
        encoder: makes records.
        open_positions: opens the positions of the lake table that the text names.
        status: of the stream so far.
    """

    def __init__(
        self,
        definition: tuple[DataSource, Origin],
        admin: KafkaAdmin,
        encoder: Encoder,
        open_positions: Callable[[str], Positions],
        status: OriginStatus,
    ) -> None:
        super().__init__(f"stream {definition[0].name}", definition, status)
        self._admin = admin
        self._encoder = encoder
        self._open = open_positions
        #: the state of the origin when all of it was read
        self._read: object | None = None

    def work(self) -> float:
        """Read what the lake table has gained."""
        self.refresh()
        return self.definition[1].refresh_ms / 1000

    def failed(self, why: str) -> None:
        """Record the failure in the status."""
        self.status = replace(self.status, state=ERROR, reason=why)

    def refresh(self) -> None:
        """Add the rows that the stream lacks.

        Raises:
            KsqlError: those of growth.next_batch and Encoder; of Kafka.
        """
        # at run time, because its packages are extras
        from ksql_spark.lake import growth

        source, origin = self.definition
        topic_id = self._admin.topic_id(source.topic) or ""
        state = (topic_id, growth.state_of(origin))
        if state != self._read:
            positions = self._open(f"{origin.format}:{origin.path} {topic_id}")
            try:
                self._add_all(positions)
            finally:
                positions.close()
            changed = growth.changed_files(origin, positions.files)
            if changed:
                reason = (
                    f"the file {changed[0]} was changed after it was read, and a stream reads each file "
                    "once; all others are read"
                )
                raise growth.unreadable(origin, reason)
            if self._closing.is_set():
                return
            self._read = state
        self.status = replace(
            self.status, state=RUNNING, reason=None, last_refresh_ms=int(time.time() * 1000)
        )

    def _add_all(self, positions: Positions) -> None:
        from ksql_spark.lake import growth

        _, origin = self.definition
        position = positions.position
        self.status = replace(self.status, rows=position.total)
        batch: Batch | None
        if position.mark is not None and not position.is_done:
            batch = growth.same_batch(origin, position.mark, positions.files)
            self._add(batch, positions, position.rows)
        while not self._closing.is_set():
            batch = growth.next_batch(origin, positions.position.mark, positions.files)
            if batch is None:
                return
            self._add(batch, positions, 0)

    def _add(self, batch: Batch, positions: Positions, done: int) -> None:
        """Add the rows of ``batch`` without the first ``done``."""
        source, _ = self.definition
        files = batch.files
        for rows, is_last in _with_last(self._slices(batch, done)):
            if self._closing.is_set():
                return
            count = 0 if rows is None else rows.num_rows
            done += count
            position = Position(batch.mark, done, is_last, positions.position.total + count)
            # all of them before the transaction begins, which may not take long
            records = list(self._encoder.records(source, rows)) if rows is not None and count else []
            positions.write(source.topic, records, position, files)
            files = {}
            written = self.status.written + count
            self.status = replace(self.status, state=RUNNING, rows=position.total, written=written)

    def _slices(self, batch: Batch, skip: int) -> Iterator[pa.Table]:
        source, _ = self.definition
        if source.timestamp is None:
            return in_order(batch.parts, source.schema.columns, skip, MOST_ROWS)
        column = source.schema.find(source.timestamp.column)
        assert column is not None  # the analyzer checked it
        times = partial(self._encoder.times, source)
        return by_time(batch.parts, source.schema.columns, column, times, skip, MOST_ROWS)


def _with_last(slices: Iterable[pa.Table]) -> Iterator[tuple[pa.Table | None, bool]]:
    """Yield each slice, and whether it is the last one; yield only (None, True) if there are none."""
    before: pa.Table | None = None
    for one in slices:
        if before is not None:
            yield before, False
        before = one
    yield before, True


def in_order(parts: Sequence[Part], columns: Sequence[Column], skip: int, most: int) -> Iterator[pa.Table]:
    """The rows of files, one file after another, without the first ``skip``; at most ``most`` at a time."""
    for part in parts:
        rows = part(columns)
        for start in range(min(skip, rows.num_rows), rows.num_rows, most):
            yield rows.slice(start, most)
        skip = max(skip - rows.num_rows, 0)


def by_time(
    parts: Sequence[Part],
    columns: Sequence[Column],
    time_column: Column,
    times: Callable[[pa.Table], pa.ChunkedArray],
    skip: int,
    most: int,
) -> Iterator[pa.Table]:
    """The rows of files in the order of their times, without the first ``skip``; at most ``most`` at a time.

    In memory are the times of all rows, and the rows of one file. Files whose times overlap are read several
    times. Rows of equal times stay in their order; those without a time come last.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    times_of_parts = [times(part([time_column])) for part in parts]
    starts = [0]
    for each in times_of_parts:
        starts.append(starts[-1] + len(each))
    all_times = pa.chunked_array([chunk for each in times_of_parts for chunk in each.chunks], pa.int64())
    order = pc.sort_indices(all_times)
    del times_of_parts, all_times
    current: tuple[int, pa.Table] | None = None
    for start in range(skip, len(order), most):
        page = order.slice(start, most)
        ascending = pc.sort_indices(page)  # places in ``page``
        rows = page.take(ascending)
        pieces = []
        for number, part in enumerate(parts):
            is_here = pc.and_(pc.greater_equal(rows, starts[number]), pc.less(rows, starts[number + 1]))
            here = pc.subtract(rows.filter(is_here), pa.scalar(starts[number], pa.uint64()))
            if len(here):
                if current is None or current[0] != number:
                    current = (number, part(columns))
                pieces.append(current[1].take(here))
        yield pa.concat_tables(pieces).take(pc.sort_indices(ascending))
