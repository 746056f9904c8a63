"""The statement that is being carried out: what it would leave behind if the server were killed now.

A statement makes and removes topics and folders before and after it is in the command log. What is to be
cleaned up by the next start is therefore written down first, in one file, which goes when the statement is
done.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Orphans:
    """Things that belong to nobody: names of topics, ids of queries with state."""

    topics: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


@dataclass(frozen=True)
class CleanupRecord:
    """What to clean up after a statement that was cut short.

    Args:
        unlogged: where it had not come into the command log: what it may have made.
        logged: where it had: what it may not have removed yet.
    """

    unlogged: Orphans = Orphans()
    logged: Orphans = Orphans()


class PendingStatement:
    """The file; at most one statement is carried out at a time.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def begin(self, sequence: int, cleanup: CleanupRecord) -> None:
        """Write down what the command with this number in the log may leave."""
        if cleanup == CleanupRecord():
            return
        body = {"sequence": sequence, **asdict(cleanup)}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        written = self._path.with_suffix(".tmp")
        with written.open("w", encoding="utf-8") as file:
            json.dump(body, file)
            file.flush()
            os.fsync(file.fileno())
        written.replace(self._path)

    def done(self) -> None:
        """The statement was carried out, or taken back."""
        self._path.unlink(missing_ok=True)

    def orphans(self, log_end: int) -> Orphans:
        """What a statement that was cut short has left; the end of the log tells how far it came.

        Of a damaged file nothing is known: that is logged, and what the statement left stays.
        """
        try:
            body: Mapping[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            sequence = int(body["sequence"])
            found = body["logged" if log_end > sequence else "unlogged"]
            left = Orphans(tuple(found["topics"]), tuple(found["queries"]))
        except FileNotFoundError:
            return Orphans()
        except (OSError, ValueError, TypeError, KeyError):
            log.exception("%s is damaged: what the last statement left is not cleaned up", self._path)
            return Orphans()
        log.warning("the server was killed during command %d; it leaves %s", sequence, found)
        return left
