"""The user cache: artifacts, compiled classes and class archives, shared by all runs.

Everything in it can be fetched or generated again; it never contains user data.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

Report = Callable[[str], None]
"""A function that takes progress messages, each one short line."""


def cache_dir() -> Path:
    """The folder of the cache: $KSQL_SPARK_CACHE, $XDG_CACHE_HOME/ksql-spark or ~/.cache/ksql-spark."""
    if own := os.environ.get("KSQL_SPARK_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(shared).expanduser().absolute() / "ksql-spark"


def digest(*parts: bytes | str) -> str:
    """A digest (16 hex digits) of ``parts``, which depends on their order."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path, report: Report, waiting_for: str) -> Iterator[None]:
    """Hold an exclusive lock on the file ``path`` between processes.

    Args:
        path: the lock file; created if missing.
        report: called once if another process holds the lock.
        waiting_for: what the other process is doing, for the report.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"waiting: another ksql-spark is {waiting_for}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
