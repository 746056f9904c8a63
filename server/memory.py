"""The memory of the server's process."""

from __future__ import annotations

import ctypes
import gc
import sys

#: M_ARENA_MAX of malloc.h
_ARENA_MAX = -8
#: how many parts of the heap there are
ARENAS = 2


def share_arenas() -> None:
    """Let all threads share a few parts of the heap (malloc's arenas); to be called before they start.

    By default there are eight for each core, and each keeps some of what was freed in it. The pages of a scan
    are read by many threads in turn, so that it would need each of them once: 100 MB for nothing.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:  # not all C libraries have arenas
            mallopt(_ARENA_MAX, ARENAS)


def settle() -> None:
    """Let no garbage collection look at what there is now, which stays as long as the server runs.

    Modules and grammars are more than 100,000 objects. A full collection looks at all of them, for 70 ms, and
    no thread computes meanwhile: answers and rows would wait for that now and then.
    """
    gc.collect()
    gc.freeze()
