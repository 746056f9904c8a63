"""Rows of a client on their way to a stream or table, with their places in what the client has sent."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ksql_spark.errors import KsqlError
from ksql_spark.server.streaming.responses import encode

if TYPE_CHECKING:
    from ksql_spark.engine import RowInserter

#: rows that are written together
ROWS = 500


class RowCopy:
    """Writes rows; the first that is refused is the last one.

    Args:
        inserter: writes to the stream or table.
        news: which the inserter sets when it has news.
    """

    def __init__(self, inserter: RowInserter, news: threading.Event) -> None:
        self._inserter = inserter
        self._news = news
        self._rows: list[bytes] = []
        self._places: dict[int, str] = {}
        self._count = 0
        self._refused: str | None = None
        self._written = 0

    def add(self, place: str, row: Mapping[str, Any]) -> bool:
        """Take a row, its values as JSON has them; False if one was refused."""
        self._places[self._count] = place
        self._count += 1
        self._rows.append(encode(row))
        return len(self._rows) < ROWS or self._write()

    def finish(self, misfit: str | None = None) -> int:
        """Write the rows that wait, and wait until all are written; returns their number.

        Args:
            misfit: why no more rows were taken, if that is an error.

        Raises:
            KsqlError: BAD_REQUEST with the place of the first row that is refused, and how many were written;
                as `RowInserter.finish`.
        """
        self._write()
        while True:
            self._news.clear()
            self._acknowledge()
            if self._refused is not None or self._inserter.is_idle:
                break
            self._news.wait(1.0)
        if (what := self._refused or misfit) is not None:
            written = f"{self._written} row{' was' if self._written == 1 else 's were'} written before it."
            if self._inserter.is_whole:
                written = "No row was written."
            raise KsqlError("BAD_REQUEST", reason=f"{what.rstrip('.')}. {written}")
        self._inserter.finish()
        return self._written

    def _write(self) -> bool:
        rows, self._rows = self._rows, []
        is_taken = self._inserter.insert(rows)
        self._acknowledge()
        return is_taken and self._refused is None

    def _acknowledge(self) -> None:
        """Note what is written; what was refused, and why."""
        acknowledged = self._inserter.acknowledged()
        for done in range(acknowledged.first, acknowledged.end):
            self._places.pop(done, None)
        self._written = acknowledged.end
        if acknowledged.error is not None:
            self._refused = f"{self._places[acknowledged.end]}: {acknowledged.error.message}"
