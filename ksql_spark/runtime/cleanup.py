"""The cleanup record of the running statement: what it would leave behind if the server were killed now.

A statement creates and removes topics and folders before and after it enters the command log. So it first
writes, into one file, what the next start must clean up. The file is removed when the statement is done.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ksql_spark.storage import Folder

log = logging.getLogger(__name__)

_FILE = "pending.json"


@dataclass(frozen=True)
class Orphans:
    """Things that no longer belong to any query: topics, ids of queries with state, transactional ids; and
    subjects of these topics in the schema registry.
    """

    topics: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    transactions: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True)
class CleanupRecord:
    """The topics and checkpoints to remove if a crash interrupts a statement.

    Args:
        unlogged: what the statement may have created, if it is not in the command log.
        logged: what it may not have removed yet, if it is.
    """

    unlogged: Orphans = Orphans()
    logged: Orphans = Orphans()


class PendingStatement:
    """The file with the cleanup record of the running statement; at most one runs at a time.

    Args:
        folder: where the file is.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def begin(self, token: str, cleanup: CleanupRecord) -> None:
        """Write the cleanup record of the command that will have this token in the command log."""
        if cleanup == CleanupRecord():
            return
        self._folder.write(_FILE, json.dumps({"token": token, **asdict(cleanup)}))

    def done(self) -> None:
        """Remove the record: the statement was executed or undone."""
        self._folder.forget(_FILE)

    def orphans(self, is_logged: Callable[[str], bool]) -> Orphans:
        """Return what the interrupted statement has left behind and must be removed; ``is_logged`` recognizes
        tokens of commands in the log.

        If the file is damaged, that is logged, and nothing is cleaned up.
        """
        try:
            body: Mapping[str, Any] = json.loads(self._folder.read(_FILE))
            token = str(body["token"])
            left_behind = body["logged" if is_logged(token) else "unlogged"]
            orphans = Orphans(
                tuple(left_behind["topics"]),
                tuple(left_behind["queries"]),
                *(tuple(left_behind.get(name, ())) for name in ("transactions", "subjects")),
            )
        except FileNotFoundError:
            return Orphans()
        except (OSError, ValueError, TypeError, KeyError):
            log.exception("%s/%s is damaged: not cleaning up after the last statement", self._folder, _FILE)
            return Orphans()
        log.warning("the server was killed during a statement; cleaning up %s", left_behind)
        return orphans
