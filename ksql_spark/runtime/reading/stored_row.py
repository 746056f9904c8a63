"""The rows of a view as it stores them, and their places in it."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ksql_spark.metastore.sources import Windowing


class StoredRow(NamedTuple):
    """A stored row: bytes of key and value; ROWTIME and the window's bounds, epoch ms (None: no window).

    The key is as its producer wrote it.
    """

    key: bytes
    value: bytes
    time_ms: int
    window_start: int | None
    window_end: int | None


class Place(NamedTuple):
    """The identity of a row: the one form of its key, and the window's bounds, epoch ms (0: no window)."""

    key: bytes
    window_start: int
    window_end: int


class KeyRange(NamedTuple):
    """Keys whose bytes are at least ``low``, and less than ``high`` (None: no bound)."""

    low: bytes
    high: bytes | None


def split_key(key: bytes, window: Windowing | None) -> tuple[bytes, int, int]:
    """Split a record's key into (bytes without the window, window start, window end), 0 without a window
    (§6.9).

    Raises:
        struct.error: the key is too short for its window.
    """
    if window is None:
        return key, 0, 0
    if window.has_end:
        end, start = struct.unpack(">qq", key[-16:])
        return key[:-16], start, end
    (start,) = struct.unpack(">q", key[-8:])
    if window.calendar is not None:
        return key[:-8], start, window.calendar.end_ms(start)
    return key[:-8], start, start + (window.size_ms or 0)
