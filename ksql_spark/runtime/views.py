"""Materialized views: the current rows of a table, read from its topic, for pull queries.

A view is created when a table is first queried, and follows its topic from then on. It stores records as
bytes: rows are decoded only when they are read.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import EndOffsets, Record, TopicReader
from ksql_spark.metastore.sources import DataSource, Windowing

log = logging.getLogger(__name__)

_TABLE = """
CREATE TABLE entry (
    key BLOB NOT NULL, window_start INTEGER NOT NULL, window_end INTEGER NOT NULL,
    value BLOB NOT NULL, time INTEGER NOT NULL,
    PRIMARY KEY (key, window_start, window_end)
) WITHOUT ROWID
"""


class StoredRow(NamedTuple):
    """A stored row: bytes of key and value; ROWTIME and the window's bounds, epoch ms (None: no window)."""

    key: bytes
    value: bytes
    time_ms: int
    window_start: int | None
    window_end: int | None


class View:
    """The rows of one table in the sqlite file ``path``, kept current from its topic. Thread-safe."""

    def __init__(self, admin: KafkaAdmin, source: DataSource, path: Path) -> None:
        self.source = source
        self._path = path
        self._lock = threading.Lock()
        self._moved = threading.Condition()
        self._positions: dict[int, int] = {}
        self._failure: KsqlError | None = None
        self._closing = threading.Event()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        # everything here can be read again from the topic: no journal, no waiting for the disk
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute(_TABLE)
        self._reader = TopicReader(admin.servers, source.topic, settings=admin.settings)
        self._follower = threading.Thread(target=self._follow, name=f"view-{source.name}", daemon=True)
        self._follower.start()

    def _follow(self) -> None:
        try:
            with self._reader as reader:
                while not self._closing.is_set():
                    records = reader.poll_batch(0.2)
                    if records:
                        self._apply(records)
                    with self._moved:
                        self._positions = reader.positions
                        self._moved.notify_all()
        except KsqlError as error:
            self._fail(error)
        except Exception as error:
            log.exception("the view of %s stopped", self.source.name)
            self._fail(KsqlError("INTERNAL", reason=str(error)))

    def _fail(self, error: KsqlError) -> None:
        with self._moved:
            self._failure = self._failure or error
            self._moved.notify_all()

    @contextlib.contextmanager
    def _rows(self) -> Iterator[sqlite3.Connection]:
        """The database, locked against changes; raises if the view has been closed."""
        with self._lock:
            if self._closing.is_set() and self._failure is not None:
                raise self._failure
            yield self._db

    def _apply(self, records: Iterable[Record]) -> None:
        window = self.source.window
        with self._lock:
            self._db.execute("BEGIN")
            for record in records:
                if record.key is None:
                    continue
                try:
                    key, start, end = split_key(record.key, window)
                except struct.error:
                    continue  # no key of this table (reference §5.8)
                if record.value is None:
                    self._db.execute(
                        "DELETE FROM entry WHERE key = ? AND window_start = ? AND window_end = ?",
                        (key, start, end),
                    )
                else:
                    self._db.execute(
                        "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)",
                        (key, start, end, record.value, record.timestamp_ms),
                    )
            self._db.execute("COMMIT")

    def wait_for(self, ends: dict[int, int], timeout_s: float) -> None:
        """Return once every record before ``ends`` (partition -> offset) is in the view.

        Raises:
            KsqlError: VIEW_BEHIND if that takes longer than ``timeout_s`` seconds; SOURCE_UNKNOWN if the
            view was closed.
        """
        deadline = time.monotonic() + timeout_s
        with self._moved:
            while any(self._positions.get(p, 0) < end for p, end in ends.items()):
                if self._failure is not None:
                    raise self._failure
                left = deadline - time.monotonic()
                if left <= 0:
                    raise KsqlError("VIEW_BEHIND", name=self.source.name, seconds=int(timeout_s))
                self._moved.wait(left)

    def get(self, keys: Sequence[bytes]) -> list[StoredRow]:
        """The rows of ``keys``, key by key, each in the order of its windows."""
        rows: list[StoredRow] = []
        with self._rows() as db:
            for key in keys:
                rows += map(
                    self._row,
                    db.execute(
                        "SELECT key, value, time, window_start, window_end FROM entry WHERE key = ?"
                        " ORDER BY window_start, window_end",
                        (key,),
                    ),
                )
        return rows

    def scan(self, most: int = -1) -> list[StoredRow]:
        """The first ``most`` rows; -1: all."""
        with self._rows() as db:
            found = db.execute(
                "SELECT key, value, time, window_start, window_end FROM entry LIMIT ?", (most,)
            )
            return [self._row(r) for r in found]

    def export(self, path: Path, keys: Sequence[bytes] | None = None) -> None:
        """Write the rows of ``keys`` (None: all) to a CSV file, with bytes in hexadecimal digits."""
        sql = "SELECT hex(key), hex(value), time, window_start, window_end FROM entry"
        with self._rows() as db, path.open("w", encoding="ascii") as file:
            reads = [(sql, ())] if keys is None else [(f"{sql} WHERE key = ?", (key,)) for key in keys]
            for read in reads:
                found = db.execute(*read)
                while rows := found.fetchmany(10_000):
                    file.writelines(f"{k},{v},{t},{start},{end}\n" for k, v, t, start, end in rows)

    @property
    def positions(self) -> dict[int, int]:
        """The offset of the next record of each partition."""
        with self._moved:
            return dict(self._positions)

    @property
    def size(self) -> int:
        """The bytes of its file."""
        with contextlib.suppress(OSError):
            return self._path.stat().st_size
        return 0

    @property
    def has_failed(self) -> bool:
        """Whether it has stopped following its topic because of an error."""
        return self._failure is not None

    def _row(self, found: tuple[bytes, bytes, int, int, int]) -> StoredRow:
        key, value, time_ms, start, end = found
        if self.source.window is None:
            return StoredRow(key, value, time_ms, None, None)
        return StoredRow(key, value, time_ms, start, end)

    def close(self) -> None:
        """Stop following and remove the file."""
        self._closing.set()
        self._fail(KsqlError("SOURCE_UNKNOWN", kind="Table", name=self.source.name))
        self._follower.join(5)
        with self._lock:
            self._db.close()
        with contextlib.suppress(OSError):
            self._path.unlink()


def split_key(key: bytes, window: Windowing | None) -> tuple[bytes, int, int]:
    """A record's key as (bytes without the window, window start, window end), 0 without one (§6.9).

    Raises:
        struct.error: the key is too short for its window.
    """
    if window is None:
        return key, 0, 0
    if window.kind == "SESSION":
        end, start = struct.unpack(">qq", key[-16:])
        return key[:-16], start, end
    (start,) = struct.unpack(">q", key[-8:])
    return key[:-8], start, start + (window.size_ms or 0)


class SharedRequests:
    """Requests to a broker, one at a time, each for all who wait for it. Thread-safe.

    An answer is to a request that was sent after it was asked for: who comes while one is under way waits for
    the next. One of those who wait sends it.

    Args:
        send: asks for offsets of topics: (topic, partition) -> offset.
    """

    def __init__(self, send: Callable[[Sequence[str]], Mapping[tuple[str, int], int]]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._next = _Shared()

    def ask(self, topics: Iterable[str]) -> Mapping[tuple[str, int], int]:
        """The offsets of ``topics``, and perhaps of others that were asked for with them.

        Raises:
            KsqlError: as ``send``; for all who waited for the same request, one by one if there are several.
        """
        mine = list(topics)
        with self._lock:
            shared = self._next
            is_first = not shared.topics
            shared.topics.update(dict.fromkeys(mine))
        if is_first:
            self._send_for(shared)
        else:
            shared.is_done.wait()
        if shared.answer is not None:
            return shared.answer
        with self._sending:
            return self._send(mine)

    def _send_for(self, shared: _Shared) -> None:
        with self._sending:
            with self._lock:
                self._next = _Shared()
            try:
                shared.answer = self._send(list(shared.topics))
            except KsqlError:
                pass  # perhaps the fault of one topic: each asks for itself
            finally:
                shared.is_done.set()


class _Shared:
    """One request of SharedRequests."""

    def __init__(self) -> None:
        self.topics: dict[str, None] = {}
        self.answer: Mapping[tuple[str, int], int] | None = None
        self.is_done = threading.Event()


class Views:
    """All views of this server, created on demand. Thread-safe."""

    def __init__(self, admin: KafkaAdmin, folder: Path) -> None:
        self._admin = admin
        self._end_offsets = EndOffsets(admin.servers, admin.settings)
        self._ends = SharedRequests(self._end_offsets.of)
        #: emptied at every start
        self.folder = folder
        self._views: dict[str, View] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def current(self, source: DataSource, timeout_s: float) -> View:
        """The view of ``source``, with all records that were in its topic at the time of the call.

        Raises:
            KsqlError: VIEW_BEHIND, TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        return self.reaching(source, self.ends([source.topic])[source.topic], timeout_s)

    def ends(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        """The end offsets of all ``topics`` at one time: topic -> partition -> offset after the last record.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        wanted = list(topics)
        found: dict[str, dict[int, int]] = {topic: {} for topic in wanted}
        if not wanted:
            return found
        for (topic, partition), end in self._ends.ask(wanted).items():
            if topic in found:
                found[topic][partition] = end
        return found

    def positions(self) -> dict[str, tuple[dict[int, int], str]]:
        """How far each view has read (partition -> next offset), and its topic, by the table's name."""
        with self._lock:
            return {name: (view.positions, view.source.topic) for name, view in self._views.items()}

    def sizes(self) -> dict[str, int]:
        """The bytes of each view's file, by the table's name."""
        with self._lock:
            return {name: view.size for name, view in self._views.items()}

    def reaching(self, source: DataSource, ends: dict[int, int], timeout_s: float) -> View:
        """The view of ``source``, with all records of its topic before ``ends`` (partition -> offset).

        Raises:
            KsqlError: VIEW_BEHIND, TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        with self._lock:
            view = lost = self._views.get(source.name)
            of = (source.topic, source.window)
            if view is None or view.has_failed or (view.source.topic, view.source.window) != of:
                view = View(self._admin, source, self.folder / f"{next(self._numbers)}.db")
                self._views[source.name] = view
        if lost is not None and lost is not view:
            lost.close()
        view.wait_for(ends, timeout_s)
        return view

    def drop(self, name: str) -> None:
        """Remove the view of a source that was dropped or changed."""
        with self._lock:
            view = self._views.pop(name, None)
        if view is not None:
            view.close()

    def close(self) -> None:
        """Remove all views."""
        for name in list(self._views):
            self.drop(name)
        self._end_offsets.close()
