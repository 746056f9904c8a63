"""The memory of the server's process."""

from __future__ import annotations

import ctypes
import gc
import sys

#: M_ARENA_MAX and M_MMAP_THRESHOLD of malloc.h
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
#: how many parts of the heap there are
ARENAS = 2
#: what is at least so large goes back to the system as soon as it is freed
LARGE_BYTES = 256 * 1024


def limit_heap() -> None:
    """Let the heap give back what is freed; to be called before threads start.

    All threads share a few parts of it (malloc's arenas).

    By default there are eight for each core, and each keeps some of what was freed in it. The pages of a scan
    are read by many threads in turn, so that it would need each of them once: 100 MB for nothing.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:  # not all C libraries have arenas
            mallopt(_ARENA_MAX, ARENAS)
            # by default malloc raises the limit as large blocks are freed, and keeps those after them
            mallopt(_MMAP_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Give memory that is free to the system, also what lies between memory that is in use."""
    if sys.platform == "linux":
        malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if malloc_trim is not None:
            malloc_trim(0)


def settle() -> None:
    """Let no garbage collection look at what there is now, which stays as long as the server runs.

    Modules and grammars are more than 100,000 objects. A full collection looks at all of them, for 70 ms, and
    no thread computes meanwhile: answers and rows would wait for that now and then.
    """
    gc.collect()
    gc.freeze()
