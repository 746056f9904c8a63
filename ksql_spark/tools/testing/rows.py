"""Reads the rows of sources from their topics, one by one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksql_spark.client import FrameStream
from ksql_spark.shell.client import Client, ServerError, Settings
from ksql_spark.shell.statements import quoted_name

_LOOK_S = 0.1
#: columns of every source, and those of windowed sources
ROWTIME, WINDOW = "ROWTIME", ("WINDOWSTART", "WINDOWEND")


@dataclass(frozen=True)
class Row:
    """A record: its values by column, as JSON has them; ``is_tombstone``: it deletes its key."""

    values: Mapping[str, Any]
    is_tombstone: bool


class Rows:
    """Reads what is written to a source, from the beginning.

    Args:
        client: of the server.
        source: its name, quoted where necessary.
        columns: the columns to read.
    """

    def __init__(self, client: Client, source: str, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self._waiting: list[Row] = []
        self._count = 0
        selected = ", ".join(name if name in (ROWTIME, *WINDOW) else quoted_name(name) for name in columns)
        settings = Settings({"auto.offset.reset": "earliest"})
        self._stream: FrameStream = client.query(f"SELECT {selected} FROM {source} EMIT CHANGES;", settings)

    @property
    def count(self) -> int:
        """The number of rows that have been read."""
        return self._count

    def next(self, timeout_s: float) -> Row | None:
        """The next row; None if none arrives within ``timeout_s`` seconds.

        Raises:
            ServerError: the query has ended.
        """
        deadline = time.monotonic() + timeout_s
        while not self._waiting:
            frames = self._stream.read(_LOOK_S)
            if frames is None or (not frames and time.monotonic() > deadline):
                return None
            for frame in frames:
                if "errorMessage" in frame:
                    raise ServerError(frame["errorMessage"])
                if "row" in frame:
                    self._waiting.append(self._row(frame["row"]))
        self._count += 1
        return self._waiting.pop(0)

    def _row(self, row: Mapping[str, Any]) -> Row:
        values = dict(zip(self.columns, row["columns"], strict=True))
        return Row(values, bool(row.get("tombstone")))

    def close(self) -> None:
        """End the query."""
        self._stream.close()
