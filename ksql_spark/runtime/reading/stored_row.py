"""The rows of a view as it stores them, and their places in it."""

from __future__ import annotations

from typing import NamedTuple


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
