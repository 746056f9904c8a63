"""The user cache: artifacts, compiled classes and class archives, shared by all runs.

Everything in it can be fetched or generated again; it never contains user data. A file is written in a
scratch folder and moved to its place once it is whole, so a process that is killed leaves no part there.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

Report = Callable[[str], None]
"""A function that takes progress messages, each one short line."""

_SCRATCH = "scratch-"
#: what killed processes of release 0.1.0 left, and the age after which no process still writes it, seconds
_LEFT_BY_0_1 = ("retrieve-*", "compile-*", "plugin-*", "classes/*.aot.*", "classes/*.jsa.*")
_LEFT_AFTER_S = 86_400


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


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder in the cache, for files that are being written; it is removed at the end."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        with _alone():
            folder = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=cache_dir()))
            held.callback(shutil.rmtree, folder, ignore_errors=True)
            lock = held.enter_context((folder / "lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def put(file: Path, content: bytes, mode: int = 0o644) -> None:
    """Write a file of the cache.

    Args:
        file: its path; folders are created.
        content: what it contains.
        mode: its permissions.
    """
    with scratch() as folder:
        fresh = folder / file.name
        fresh.write_bytes(content)
        fresh.chmod(mode)
        move(fresh, file)


def move(fresh: Path, file: Path) -> None:
    """Move a file that is whole from a scratch folder to its place."""
    with fresh.open("rb") as written:
        os.fsync(written.fileno())
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh.replace(file)


def remove_leftovers() -> None:
    """Remove the scratch folders of processes that were killed."""
    cache = cache_dir()
    if any(cache.glob(f"{_SCRATCH}*")):
        with contextlib.suppress(OSError), _alone():
            for folder in cache.glob(f"{_SCRATCH}*"):
                # held by a process that is still writing: BlockingIOError
                with contextlib.suppress(OSError), (folder / "lock").open("a") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder)
    for left in (path for pattern in _LEFT_BY_0_1 for path in cache.glob(pattern)):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < time.time() - _LEFT_AFTER_S:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Keep other processes from creating and removing scratch folders for a moment."""
    with (cache_dir() / "scratch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
