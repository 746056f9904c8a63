"""How the heap of Spark's JVM is used."""

from __future__ import annotations

from typing import NamedTuple


class HeapUse(NamedTuple):
    """The heap at one moment."""

    #: how often new objects were collected since the JVM started
    collections: int
    #: bytes that the JVM has taken from the operating system
    taken: int
    #: bytes that the last of these collections left; 0 before the first one
    needed: int


__all__ = ["HeapUse"]
