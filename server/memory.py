"""The memory of the server process."""

from __future__ import annotations

import ctypes
import gc
import os
import sys

#: M_ARENA_MAX and M_MMAP_THRESHOLD of malloc.h
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
#: the number of heap arenas
ARENAS = 2
#: blocks of at least this size go back to the system as soon as they are freed
LARGE_BYTES = 256 * 1024
#: settings of the allocator that delta-rs brings along (jemalloc), and the variable that it reads them from
_DELTA_VARIABLE, _DELTA_SETTINGS = "_RJEM_MALLOC_CONF", f"narenas:{ARENAS},tcache:false"


def limit_heap() -> None:
    """Make the heap return freed memory; call it before threads start, and before deltalake is imported.

    All threads share a few of malloc's arenas.

    By default there are eight per core, and each keeps some freed memory. Many threads in turn read the pages
    of a scan, so each arena would keep memory for one: 100 MB for nothing.

    The same applies to delta-rs, which has its own allocator. It reads the files of a table's log in a
    hundred threads, each of which would also cache freed blocks.
    """
    os.environ.setdefault(_DELTA_VARIABLE, _DELTA_SETTINGS)
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:  # not all C libraries have arenas
            mallopt(_ARENA_MAX, ARENAS)
            # by default malloc raises the threshold as large blocks are freed, and keeps later blocks
            mallopt(_MMAP_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Return free memory to the system, including gaps between used memory."""
    if sys.platform == "linux":
        malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if malloc_trim is not None:
            malloc_trim(0)


def settle() -> None:
    """Exempt all current objects, which stay as long as the server runs, from garbage collection.

    Modules and grammars are more than 100,000 objects. A full collection visits all of them, which takes 70
    ms and stops all threads: responses and rows would be delayed now and then.
    """
    gc.collect()
    gc.freeze()
