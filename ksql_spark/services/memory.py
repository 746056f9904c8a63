"""How much memory there is for a server: that of the machine, or of the container that it runs in."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ksql_spark.config import Config

MEGABYTE, GIGABYTE = 2**20, 2**30
#: memory beside the heap of Spark's JVM, bytes: Python, the embedded broker, the JVM outside of its heap
BESIDE_THE_HEAP = GIGABYTE
#: the smallest heap with which Spark starts and runs a few queries
LEAST_HEAP = 512 * MEGABYTE
#: the smallest bound of the caches of state: of the entries in Spark's heap, and of RocksDB's blocks, bytes
LEAST_ENTRIES, LEAST_BLOCKS = 32 * MEGABYTE, 512 * MEGABYTE
#: of Linux; other systems have neither
MEMINFO = Path("/proc/meminfo")
CGROUPS = Path("/sys/fs/cgroup")
#: below CGROUPS, of version 2 and version 1: the files with the limit and with what is used
_BOUNDS = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)
_UNITS = {"": 1, "k": 2**10, "m": MEGABYTE, "g": GIGABYTE, "t": 2**40}


def total() -> int | None:
    """The bytes of memory that this machine has, or that this container may use; None if unknown."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):  # not a POSIX system, or one without these names
        return None
    bound = _bound()
    return machine if bound is None else min(machine, bound[0])


def available() -> int | None:
    """The bytes that this machine, or this container, has left; None if it does not say."""
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", MEMINFO.read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        match = None
    machine = int(match[1]) * 1024 if match else None
    bound = _bound()
    if bound is None:
        return machine
    left = bound[0] - bound[1]
    return left if machine is None else min(machine, left)


def _bound() -> tuple[int, int] | None:
    """The limit of this container and what it uses, in bytes; None without a limit."""
    for limit, used in _BOUNDS:
        try:
            bound, use = int((CGROUPS / limit).read_text()), int((CGROUPS / used).read_text())
        except (OSError, ValueError):  # no container, or no limit: "max"
            continue
        if bound < 2**60:  # version 1 writes a number near the largest one for no limit
            return bound, use
    return None


def size(text: str) -> int:
    """Bytes of a size in Java's form; 0 if it is none.

    >>> size("2g"), size("512m")
    (2147483648, 536870912)
    """
    match = re.fullmatch(r"(\d+)([kmgt]?)", text.strip().lower())
    return int(match[1]) * _UNITS[match[2]] if match else 0


def heap(config: Config) -> str:
    """The heap of Spark's JVM, as an argument of Java's -Xmx: what is configured.

    If it is not configured, a small machine or container gets less than the default: what it has without
    BESIDE_THE_HEAP.
    """
    default = str(config["ksql.spark.memory"])
    there = total()
    if config.is_set("ksql.spark.memory") or there is None or there - BESIDE_THE_HEAP >= size(default):
        return default
    return f"{max(there - BESIDE_THE_HEAP, LEAST_HEAP) // MEGABYTE}m"


def cached_entries(config: Config) -> int:
    """The most bytes of state in Spark's heap: what is configured, or a sixteenth of the heap."""
    if (configured := config["ksql.state.cache.max.bytes"]) is not None:
        return int(configured)
    return max(LEAST_ENTRIES, size(heap(config)) // 16)


def cached_blocks(config: Config) -> int:
    """The most megabytes that RocksDB may hold outside of the heap: an eighth of what is left beside it.

    With twenty million keys, its indexes and filters do not fit the smallest bound.
    """
    there = total()
    left = 0 if there is None else there - size(heap(config)) - BESIDE_THE_HEAP
    return max(LEAST_BLOCKS, left // 8) // MEGABYTE
