"""Locks on data folders: only the process that holds the lock may write there."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ksql_spark.errors import KsqlError
from ksql_spark.services.cache import Report
from ksql_spark.services.child import is_alive


def make_data_dir(path: Path) -> None:
    """Create the folder ``path`` if it is missing, accessible only to its owner, because it contains all
    records and statements.

    Raises:
        OSError: it cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextlib.contextmanager
def locked_data_dir(path: Path) -> Iterator[None]:
    """Create the folder ``path`` if it is missing, and hold its lock for the block.

    The lock is released when the process exits, in any case. The file ``lock`` stays, with the id of the
    process that last held it.

    Raises:
        KsqlError: DATA_DIR_IN_USE, DATA_DIR_UNUSABLE, DISK_FULL; nothing in the folder has changed.
    """
    try:
        make_data_dir(path)
        file = (path / "lock").open("a+")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise KsqlError("DISK_FULL", path=str(path)) from None
        reason = error.strerror or str(error)
        raise KsqlError("DATA_DIR_UNUSABLE", path=str(path), reason=reason) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            raise KsqlError("DATA_DIR_IN_USE", path=str(path), pid=owner) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def lock_for_child(file: Path, what: str, timeout_s: float, report: Report) -> IO[str]:
    """Lock the folder of ``file`` for a child process.

    The child must inherit the lock (ChildProcess's pass_fds), so it is free only when both processes have
    exited. A child of a killed process needs a moment for that.

    Args:
        file: the lock file, which contains the id of the process that last held it.
        what: what the child is, for the report.
        timeout_s: how long to wait for such a child.
        report: called once if it has to wait.

    Raises:
        KsqlError: DATA_DIR_IN_USE.
    """
    lock = file.open("a+")
    try:
        deadline = time.monotonic() + timeout_s
        reported = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                lock.seek(0)
                owner = int(lock.read().strip() or 0)
                # a killed owner leaves a child that is stopping
                if not owner or is_alive(owner) or time.monotonic() > deadline:
                    raise KsqlError("DATA_DIR_IN_USE", path=str(file.parent), pid=owner) from None
                if not reported:
                    report(f"waiting: the {what} of an earlier run is stopping")
                    reported = True
                time.sleep(0.05)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
    except BaseException:
        lock.close()
        raise
    return lock


def release(lock: IO[str]) -> None:
    """Release a lock of ``lock_for_child``, whose child has ended."""
    # the child's watcher has inherited it, so closing alone would not release it at once
    fcntl.flock(lock, fcntl.LOCK_UN)
    lock.close()


def folder_id(path: Path) -> str:
    """An id of the data folder ``path``, which this process has locked; a copy has another id."""
    file = path / "server.id"
    if not file.exists():
        written = file.with_suffix(".tmp")
        written.write_text(uuid.uuid4().hex, encoding="ascii")
        written.replace(file)
    return f"{file.read_text(encoding='ascii').strip()}-{file.stat().st_ino}"
