"""The user cache: where artifacts, compiled classes and class archives are kept for all runs.

Everything in it can be fetched or made again; nothing of a user's data is ever here.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

Report = Callable[[str], None]
"""A function that takes progress messages of one short line each."""


def cache_dir() -> Path:
    """The folder of the cache: $KSQL_SPARK_CACHE, $XDG_CACHE_HOME/ksql-spark or ~/.cache/ksql-spark."""
    if own := os.environ.get("KSQL_SPARK_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(shared).expanduser().absolute() / "ksql-spark"


def digest(*parts: bytes | str) -> str:
    """A short name (16 hex digits) for the given contents, in their order."""
    hashed = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path, report: Report, waiting_for: str) -> Iterator[None]:
    """Hold an exclusive lock on the file ``path`` between processes.

    Args:
        path: the lock file; made where missing.
        report: called once if another process has the lock.
        waiting_for: what the other one is doing, for the report.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"waiting: another ksql-spark is {waiting_for}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
