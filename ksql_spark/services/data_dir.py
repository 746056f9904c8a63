"""The lock on a server's data folder: only the process that has it may write there."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ksql_spark.errors import KsqlError


def make_data_dir(path: Path) -> None:
    """Make the folder ``path`` where it is missing, for its owner alone: it holds all records and statements.

    Raises:
        OSError: it cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextlib.contextmanager
def locked_data_dir(path: Path) -> Iterator[None]:
    """Create the folder ``path`` if it is missing, and hold its lock for the block.

    The lock is released when the process ends, however that happens. The file ``lock`` stays, with the id of
    the process that took the lock last.

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
