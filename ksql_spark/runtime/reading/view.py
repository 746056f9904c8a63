"""A materialized view: the current rows of one table, read from its topic, in a sqlite file.

The file has rows as bytes, which are decoded only when they are read, and the offsets up to which the topic
has been read. One transaction changes both, so a view resumes where it left off after a restart.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ksql_spark.errors import KsqlError
from ksql_spark.formats import CAPABILITIES, BadRecord, EnvelopeSerde, json_serde
from ksql_spark.formats.envelopes import UNAVAILABLE
from ksql_spark.formats.framed import with_schema_id
from ksql_spark.formats.spec import KEY, VALUE
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import Record, TopicReader
from ksql_spark.metastore.indexes import Index
from ksql_spark.metastore.serdes import leaves_out_columns, serdes, stored_serdes
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.reading.freshness import Ends, OnReached
from ksql_spark.runtime.reading.stored_row import KeyRange, Place, StoredRow, split_key
from ksql_spark.runtime.reading.view_indexes import NO_INDEXES, StoredRange, ViewIndex, ViewIndexes
from ksql_spark.schema import LATEST_TIME_MS, Role
from ksql_spark.schema_registry import SchemaRegistry
from ksql_spark.types import STRING

log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS entry (
    key BLOB NOT NULL, window_start INTEGER NOT NULL, window_end INTEGER NOT NULL,
    value BLOB NOT NULL, time INTEGER NOT NULL,
    written BLOB, -- the key as its producer wrote it; NULL: as key
    PRIMARY KEY (key, window_start, window_end)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS position (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS follows (what TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS followed (one INTEGER PRIMARY KEY, at REAL NOT NULL);
-- its indexes; one that is not complete has no row
CREATE TABLE IF NOT EXISTS indexed (name TEXT PRIMARY KEY, what TEXT NOT NULL);
"""
_COLUMNS = "SELECT coalesce(written, key), value, time, window_start, window_end, key FROM entry"
#: the rows at places: for the SQL text that selects these, or their values
_AT = (
    "SELECT coalesce(e.written, e.key), e.value, e.time, e.window_start, e.window_end, e.key FROM ({}) AS p "
    "CROSS JOIN entry AS e ON (e.key, e.window_start, e.window_end) = (p.key, p.window_start, p.window_end)"
)
_PLACES = "SELECT column1 AS key, column2 AS window_start, column3 AS window_end FROM (VALUES {})"
_OF_KEY = f"{_COLUMNS} WHERE key = ? ORDER BY window_start, window_end"
_VALUE = "SELECT value FROM entry WHERE key = ? AND window_start = 0 AND window_end = 0"
_UPSERT = "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM entry WHERE key = ? AND window_start = ? AND window_end = ?"
#: after how many changed rows, those of indexes included, another thread copies the log into the file: the
#: writer, for which look-ups wait, then has little to sync at its own checkpoint
_COPY_ROWS = 2_000
#: the version of the file's layout; a file with another version is rebuilt from the topic
_LAYOUT = 2
#: pages of 4 KiB in the write-ahead log before a checkpoint
_CHECKPOINT_PAGES = 8_000
#: the cache of each connection, and how many idle connections to keep
_CACHE_KIB, _IDLE_CONNECTIONS = 2_048, 8
#: rows per page
PAGE_ROWS = 2_000
#: what an index finds is read by its places up to this number of rows; beyond, a scan is no slower
_MAX_PLACES = 100_000
#: after how many records to check its size
_CHECK_ROWS = 50_000
#: how often to note that it has everything in its topic, seconds
_NOTE_EVERY_S = 60.0
#: how long following waits for records, and so how late a timed-out wait ends
_POLL_S = 0.2


#: a row as _COLUMNS selects it
_Entry = tuple[bytes, bytes, int, int, int, bytes]


class _Wait(NamedTuple):
    ends: Ends
    deadline: float
    on_reached: OnReached


class View:
    """The rows of one table in the sqlite file ``path``, kept current from its topic. Thread-safe.

    One connection writes; each read uses another, and sees what was committed before it.

    Args:
        admin: of the cluster.
        source: the table.
        path: the file; an existing one is reused if it belongs to the same topic.
        check_size: called in its thread when it has grown; raises KsqlError to stop it.
        registry: has the schemas of envelopes.
        indexes: those that it shall have.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        source: DataSource,
        path: Path,
        check_size: Callable[[View], None] = lambda view: None,
        registry: SchemaRegistry | None = None,
        indexes: ViewIndexes = NO_INDEXES,
    ) -> None:
        self.source = source
        #: the name of the topic that it follows
        self.topic = source.topic
        #: when it was last asked for something, on the monotonic clock
        self.used_at = time.monotonic()
        self._admin = admin
        self._path = path
        self._moved = threading.Condition()
        self._positions: dict[int, int] = {}
        self._reported_ends: dict[int, int] = {}
        self._waits: list[_Wait] = []
        self._failure: KsqlError | None = None
        self._closing = threading.Event()
        self._copier: threading.Thread | None = None
        self._check_size = check_size
        formats = (source.key_format.name, source.value_format.name)
        self._has_schemas = any(CAPABILITIES[name].registry for name in formats)
        self._recognize = None if source.is_sink else ForeignRecords(source, registry)
        self._wanted = indexes
        #: what the file has indexes of; its own thread writes it
        self._indexes = ViewIndexes(None, ())
        self._ready: Mapping[Index, ViewIndex] = {}
        self._unfinished: list[ViewIndex] = []
        #: up to where the first of the unfinished indexes has all rows; None: it has not begun
        self._filled_to: Place | None = None
        #: each with its own connection
        self._idle: list[sqlite3.Cursor] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        self._follower = threading.Thread(target=self._follow, name=f"view-{source.name}", daemon=True)
        self._follower.start()

    # ---- following the topic -------------------------------------------------------------------------

    def _follow(self) -> None:
        try:
            admin = self._admin
            is_recreated = admin.recreation_check(self.topic)
            with contextlib.closing(self._opened()) as db:
                positions = dict(db.execute("SELECT partition, next FROM position"))
                with TopicReader(
                    admin.servers,
                    self.topic,
                    positions,
                    settings=admin.settings,
                    is_recreated=is_recreated,
                ) as reader:
                    self._moved_to(reader.positions)
                    applied, copied, noted_at = _CHECK_ROWS, db.total_changes, -math.inf
                    while not self._closing.is_set():
                        if applied >= _CHECK_ROWS:
                            applied = 0
                            self._check_size(self)
                        builds = self._build_indexes(db, at_end=reader.at_end)
                        records = reader.poll_batch(0.0 if builds else _POLL_S)
                        if records:
                            self._apply(db, records, reader.positions)
                            applied += len(records)
                        if db.total_changes >= copied + _COPY_ROWS and self._copies_log():
                            copied = db.total_changes
                        if reader.at_end and noted_at < reader.heard_at and _is_due(noted_at):
                            noted_at = time.monotonic()
                            db.execute("INSERT OR REPLACE INTO followed VALUES (0, ?)", (time.time(),))
                        self._reported_ends = reader.known_ends
                        self._moved_to(reader.positions)
        except KsqlError as error:
            self._fail(error)
        except Exception as error:
            log.exception("the view of %s stopped", self.source.name)
            self._fail(self._disk_full(error) or KsqlError("INTERNAL", reason=str(error)))

    def _opened(self) -> sqlite3.Connection:
        """The file, emptied if it does not match the topic.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        topic_id = self._admin.topic_id(self.topic)
        window = self.source.window
        what = [_LAYOUT, self.topic, topic_id, window.kind if window else None]
        if window is not None and window.calendar is not None:  # the ends of windows are not in the topic
            what.append(str(window.calendar))
        if self._recognize is not None:  # what a key is, and which records count, depends on the columns
            what += [self.source.envelope, str(self.source.schema), str(self.source.timestamp)]
        if leaves_out_columns(self.source):
            what.append("complete rows")
        follows = json.dumps(what)
        with contextlib.suppress(sqlite3.DatabaseError):  # not one of ours, or damaged
            db = self._written()
            if topic_id is not None and self._fits(db, follows) and not self._misses_deletions(db):
                return db
            db.close()
        remove(self._path)
        db = self._written()
        with db:
            db.execute("INSERT INTO follows VALUES (?)", (follows,))
        return db

    def _written(self) -> sqlite3.Connection:
        db = _connected(self._path)
        db.execute("PRAGMA journal_mode = WAL")
        # sync only when the log is checkpointed: a power failure cannot corrupt the file
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        db.executescript(_TABLES)
        return db

    def _fits(self, db: sqlite3.Connection, follows: str) -> bool:
        """Whether the file can follow the topic: no record in between is lost, none was withdrawn."""
        if db.execute("SELECT what FROM follows").fetchall() != [(follows,)]:
            return False
        first, last = self._admin.beginning_offsets(self.topic), self._admin.end_offsets(self.topic)
        positions = dict(db.execute("SELECT partition, next FROM position"))
        return all(
            first.get((self.topic, p), -1) <= position <= last.get((self.topic, p), -1)
            for p, position in positions.items()
        )

    def _misses_deletions(self, db: sqlite3.Connection) -> bool:
        """Whether Kafka may have removed tombstones since the file had everything in the topic."""
        followed = db.execute("SELECT at FROM followed").fetchone()
        away_s = math.inf if followed is None else time.time() - followed[0]
        if away_s < 2 * _NOTE_EVERY_S:
            return False
        try:
            config = self._admin.config(self.topic)
        except KsqlError as error:  # not every user may ask for it
            log.info("rebuilding the view of %s: %s", self.source.name, error.message)
            return True
        kept_ms = deletions_kept_ms(config)
        return kept_ms is not None and away_s * 1000 > kept_ms

    def _apply(self, db: sqlite3.Connection, records: Iterable[Record], positions: Ends) -> None:
        """Write the changes of ``records``, and that the topic has been read up to ``positions``."""
        if self._has_schemas:
            records = map(partial(framed, self.source), records)
        if self.source.timestamp is None:  # records without an event time do not count (§5.7)
            records = (r for r in records if 0 <= r.timestamp_ms <= LATEST_TIME_MS)
        changed = self._changed(db, records)
        deleted = [place for place, (record, _) in changed.items() if record.value is None]
        values = self._indexes.decoded(
            (place, self._row((written, record.value, record.timestamp_ms, *place[1:], place.key)))
            for place, (record, written) in changed.items()
            if record.value is not None
        )
        db.execute("BEGIN")
        db.executemany(
            _UPSERT,
            [
                (*place, record.value, record.timestamp_ms, None if written == place.key else written)
                for place, (record, written) in changed.items()
                if record.value is not None
            ],
        )
        db.executemany(_DELETE, deleted)
        for index in self._maintained:
            index.write(db, values)
            index.delete(db, deleted)
        db.executemany("INSERT OR REPLACE INTO position VALUES (?, ?)", list(positions.items()))
        db.execute("COMMIT")

    @property
    def _maintained(self) -> list[ViewIndex]:
        """The indexes that have all rows, and the one that is to have them."""
        return [*self._ready.values(), *(self._unfinished[:1] if self._filled_to is not None else ())]

    def _build_indexes(self, db: sqlite3.Connection, *, at_end: bool) -> bool:
        """Remove indexes that are no longer wanted, and build the others, by one page of rows each time.

        Return whether there is more to do at once. An index begins when all records have been read: built at
        once, it costs a fraction of what all of its changes do.
        """
        if self._indexes is not self._wanted:
            wanted = self._wanted
            self._ready = wanted.kept(db)
            self._indexes, self._filled_to = wanted, None
            self._unfinished = [each for each in wanted.all if each.index not in self._ready]
        if not self._unfinished or (self._filled_to is None and not at_end):
            return False
        index = self._unfinished[0]
        if self._filled_to is None:
            index.begin(db)
            self._filled_to = Place(b"", -1, -1)
        after = f"{_COLUMNS} WHERE (key, window_start, window_end) > (?, ?, ?)"
        order = f"ORDER BY key, window_start, window_end LIMIT {PAGE_ROWS}"
        rows = db.execute(f"{after} {order}", self._filled_to).fetchall()
        found = [(Place(row[5], row[3], row[4]), self._row(row)) for row in rows]
        db.execute("BEGIN")
        index.write(db, self._indexes.decoded(found))
        db.execute("COMMIT")
        if len(rows) == PAGE_ROWS:
            self._filled_to = found[-1][0]
            return True
        index.complete(db)
        self._ready = {**self._ready, index.index: index}
        self._unfinished, self._filled_to = self._unfinished[1:], None
        return bool(self._unfinished)

    def _copies_log(self) -> bool:
        """Let another thread copy the write-ahead log into the file; return False while one still does."""
        if self._copier is not None and self._copier.is_alive():
            return False
        self._copier = threading.Thread(target=self._copy_log, name="view-log", daemon=True)
        self._copier.start()
        return True

    def _copy_log(self) -> None:
        with contextlib.suppress(sqlite3.Error), contextlib.closing(_connected(self._path)) as db:
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _changed(
        self, db: sqlite3.Connection, records: Iterable[Record]
    ) -> dict[Place, tuple[Record, bytes]]:
        """The last record of each row, and its key's bytes without the window."""
        changed: dict[Place, tuple[Record, bytes]] = {}

        def former(key: bytes) -> bytes | None:
            latest = changed.get(Place(key, 0, 0))
            if latest is not None:
                return latest[0].value
            stored = db.execute(_VALUE, (key,)).fetchone()
            return None if stored is None else bytes(stored[0])

        for record in records:
            if record.key is None:
                continue
            try:
                place = Place(*split_key(record.key, self.source.window))
                latest = (
                    (place.key, record)
                    if self._recognize is None
                    else self._recognize(place.key, record, former)
                )
            except (struct.error, BadRecord):  # not a record of this table (reference §5.8)
                continue
            changed[place._replace(key=latest[0])] = (latest[1], place.key)
        return changed

    def _moved_to(self, positions: dict[int, int]) -> None:
        now = time.monotonic()
        with self._moved:
            self._positions = positions
            self._moved.notify_all()
            if not self._waits:
                return
            done = [w for w in self._waits if w.deadline <= now or self._has(w.ends)]
            self._waits = [w for w in self._waits if w.deadline > now and not self._has(w.ends)]
            reached = [(w, None if self._has(w.ends) else self._behind(now - w.deadline)) for w in done]
        for wait, error in reached:
            wait.on_reached(error)

    def _has(self, ends: Ends) -> bool:
        positions = self._positions
        for partition, end in ends.items():  # noqa: SIM110  (each look-up asks: all() costs twice as much)
            if positions.get(partition, 0) < end:
                return False
        return True

    def _behind(self, seconds: float) -> KsqlError:
        return KsqlError("VIEW_BEHIND", name=self.source.name, seconds=int(seconds))

    def _fail(self, error: KsqlError) -> None:
        with self._moved:
            self._failure = failure = self._failure or error
            waits, self._waits = self._waits, []
            self._moved.notify_all()
        for wait in waits:
            wait.on_reached(failure.without_context())

    def has_reached(self, ends: Ends) -> bool:
        """Whether every record before ``ends`` is in the view, and the view follows its topic."""
        return bool(self._positions) and self._failure is None and self._has(ends)

    # ---- waiting -------------------------------------------------------------------------------------

    def wait_for(self, ends: Ends, timeout_s: float) -> None:
        """Return once every record before ``ends`` (partition -> offset) is in the view.

        Raises:
            KsqlError: VIEW_BEHIND if that takes longer than ``timeout_s`` seconds; SOURCE_UNKNOWN if the
            view was closed.
        """
        self.used_at = time.monotonic()
        deadline = self.used_at + timeout_s
        with self._moved:
            while not self._positions or not self._has(ends):
                if self._failure is not None:
                    raise self._failure.without_context()
                remaining_s = deadline - time.monotonic()
                if remaining_s <= 0:
                    raise self._behind(timeout_s)
                self._moved.wait(remaining_s)

    def when_reached(self, ends: Ends, deadline: float, on_reached: OnReached) -> None:
        """Call ``on_reached`` once every record before ``ends`` is in the view, now or in another thread.

        With an error after ``deadline`` (monotonic), or if the view is closed before.
        """
        self.used_at = time.monotonic()
        with self._moved:
            failure = self._failure
            is_there = bool(self._positions) and self._has(ends)
            if not is_there and failure is None:
                self._waits.append(_Wait(ends, deadline, on_reached))
                return
        on_reached(None if is_there or failure is None else failure.without_context())

    def ends_within(self, lag: int) -> Ends:
        """The offsets that it must have read to lag at most ``lag`` behind, as of its last fetches."""
        return {partition: max(0, end - lag) for partition, end in self._reported_ends.items()}

    # ---- reading -------------------------------------------------------------------------------------

    def _read(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Return the stored rows that one SQL query selects; for their columns see _COLUMNS.

        Raises:
            KsqlError: DISK_FULL; why the view has been closed.
        """
        if self._failure is not None and self._closing.is_set():
            raise self._failure.without_context()
        try:
            cursor = self._idle.pop()
        except IndexError:
            cursor = _connected(self._path).cursor()
        try:
            rows = cursor.execute(query, values).fetchall()
        except sqlite3.Error as error:
            cursor.connection.close()
            if self._failure is not None and self._closing.is_set():
                raise self._failure.without_context() from None
            raise (self._disk_full(error) or error) from None  # a reader needs an index of the log
        if self._closing.is_set() or len(self._idle) >= _IDLE_CONNECTIONS:
            cursor.connection.close()
        else:
            self._idle.append(cursor)
        return rows

    def _disk_full(self, error: Exception) -> KsqlError | None:
        """DISK_FULL, if that is why sqlite failed."""
        is_full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        return KsqlError("DISK_FULL", path=str(self._path)) if is_full else None

    def _rows(self, rows: Iterable[_Entry]) -> list[StoredRow]:
        if self.source.window is None:
            return [StoredRow(key, value, time_ms, None, None) for key, value, time_ms, _, _, _ in rows]
        return [StoredRow(*columns[:-1]) for columns in rows]

    def _row(self, entry: _Entry) -> StoredRow:
        return self._rows([entry])[0]

    def get(self, keys: Sequence[bytes]) -> list[StoredRow]:
        """The rows of ``keys``, key by key, each in the order of its windows."""
        if len(keys) == 1:
            return self._rows(self._read(_OF_KEY, keys))
        return [row for key in keys for row in self._rows(self._read(_OF_KEY, (key,)))]

    def pages(self, ranges: Sequence[KeyRange] | None = None) -> Iterator[list[StoredRow]]:
        """All rows whose keys are in one of ``ranges`` (None: all), in pages, ordered by key.

        A page shows what was committed when it was read. Slow readers hold nothing between pages.
        """
        for low, high in ranges if ranges is not None else (KeyRange(b"", None),):
            condition, bound = ("", ()) if high is None else (" AND key < ?", (high,))
            order = f" ORDER BY key, window_start, window_end LIMIT {PAGE_ROWS}"
            after = f"{_COLUMNS} WHERE (key, window_start, window_end) > (?, ?, ?)"
            read, values = f"{_COLUMNS} WHERE key >= ?{condition}{order}", (low, *bound)
            while True:
                page = self._read(read, values)
                if page:
                    yield self._rows(page)
                if len(page) < PAGE_ROWS:
                    break
                *_, start, end, key = page[-1]
                read, values = f"{after}{condition}{order}", (key, start, end, *bound)

    def index(self, index: Index) -> ViewIndex | None:
        """An index, if it has all rows."""
        return self._ready.get(index)

    def reindex(self, indexes: ViewIndexes) -> None:
        """Change which indexes it has; its thread builds and removes them."""
        self._wanted = indexes

    def few(self, index: ViewIndex, ranges: Sequence[StoredRange], most: int) -> list[StoredRow] | None:
        """The rows in ranges of an index, ordered by key; None if they are more than ``most``.

        Raises:
            sqlite3.OperationalError: the index has been dropped.
        """
        found: dict[Place, _Entry] = {}
        for range_ in ranges:
            places, values = index.places(range_)
            entries = self._read(f"{_AT.format(places)} LIMIT ?", (*values, most + 1))
            found |= {Place(entry[5], entry[3], entry[4]): entry for entry in entries}
            if len(found) > most:
                return None
        return self._rows(found[place] for place in sorted(found))

    def found(self, index: ViewIndex, ranges: Sequence[StoredRange]) -> Iterator[list[StoredRow]] | None:
        """The rows in ranges of an index, in pages, ordered by key; None: all rows must be read.

        If they are more than a page, a page shows what was committed when it was read.
        """
        places: set[Place] = set()
        try:
            rows = self.few(index, ranges, PAGE_ROWS)
            if rows is not None:
                return iter([rows])
            for range_ in ranges:
                query, values = index.places(range_)
                places.update(self._read(f"{query} LIMIT ?", (*values, _MAX_PLACES + 1)))
                if len(places) > _MAX_PLACES:
                    return None
        except sqlite3.OperationalError:  # the index has been dropped meanwhile
            return None
        return self._at(sorted(places))

    def _at(self, places: Sequence[Place]) -> Iterator[list[StoredRow]]:
        for first in range(0, len(places), PAGE_ROWS):
            page = places[first : first + PAGE_ROWS]
            query = _AT.format(_PLACES.format(", ".join(["(?, ?, ?)"] * len(page))))
            yield self._rows(self._read(query, [part for place in page for part in place]))

    def scan(self, most: int = -1) -> list[StoredRow]:
        """The first ``most`` rows; -1 means all."""
        return self._rows(self._read(f"{_COLUMNS} LIMIT ?", (most,)))

    def export(self, path: Path, keys: Sequence[bytes] | None = None) -> None:
        """Write the rows of ``keys`` (None: all) to a CSV file, with bytes in hexadecimal.

        Raises:
            KsqlError: INTERNAL.
        """
        program = Path(__file__).with_name("view_export.py")
        command = [sys.executable, "-I", str(program), str(self._path), str(path)]
        done = subprocess.run(
            [*command, "all" if keys is None else "keys"],
            input="".join(f"{key.hex()}\n" for key in keys or ()),
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
        if done.returncode:
            if self._failure is not None and self._closing.is_set():
                raise self._failure.without_context()
            why = (done.stderr.splitlines() or [f"exit code {done.returncode}"])[-1]
            raise KsqlError("INTERNAL", reason=f"the rows of {self.source.name} could not be read: {why}")

    # ---- what it is ----------------------------------------------------------------------------------

    @property
    def positions(self) -> dict[int, int]:
        """The offset of the next record of each partition."""
        with self._moved:
            return dict(self._positions)

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(path.stat().st_size for path in _files(self._path) if path.exists())

    @property
    def has_failed(self) -> bool:
        """Whether it has stopped following its topic because of an error."""
        return self._failure is not None

    @property
    def is_too_large(self) -> bool:
        """Whether it has stopped because views have used up their space."""
        return self._failure is not None and self._failure.condition == "VIEW_TOO_LARGE"

    def close(self, *, keeps_file: bool = False, why: KsqlError | None = None) -> None:
        """Stop following; remove the file unless ``keeps_file``, for the next start.

        Args:
            keeps_file: whether the next view of this table may reuse the file.
            why: the error for waiting callers; by default that the table is gone.
        """
        self._closing.set()
        self._fail(why or KsqlError("SOURCE_UNKNOWN", kind="Table", name=self.source.name))
        self._follower.join(5)
        if self._copier is not None:
            self._copier.join(5)
        while self._idle:
            self._idle.pop().connection.close()
        if not keeps_file:
            remove(self._path)


def _is_due(noted_at: float) -> bool:
    return time.monotonic() - noted_at > _NOTE_EVERY_S


def remove(path: Path) -> None:
    """Remove the files of a view."""
    for file in _files(path):
        with contextlib.suppress(OSError):
            file.unlink()


def _files(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]


def _connected(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=30)
    db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    return db


def deletions_kept_ms(config: Mapping[str, str]) -> int | None:
    """How long a topic with this configuration keeps tombstones for readers that lag; None: for ever."""
    is_compacted = "compact" in config.get("cleanup.policy", "")
    return int(config.get("delete.retention.ms", 0)) if is_compacted else None


def stored_rows(source: DataSource, records: Iterable[Record]) -> list[StoredRow]:
    """Records of a table's topic as stored rows; the value of tombstones is empty.

    Those that are none of the table are left out, as in its view (reference §5.7, §5.8).
    """
    rows = []
    for record in map(partial(framed, source), records):
        is_timed = source.timestamp is not None or 0 <= record.timestamp_ms <= LATEST_TIME_MS
        if record.key is None or not is_timed:
            continue
        with contextlib.suppress(struct.error):
            key, start, end = split_key(record.key, source.window)
            bounds = (None, None) if source.window is None else (start, end)
            rows.append(StoredRow(key, record.value or b"", record.timestamp_ms, *bounds))
    return rows


class ForeignRecords:
    """Recognizes which row of a table each record of other producers changes, and how.

    Equal keys may be written in several ways: with blanks, as 1 or "1", with several schemas. A record may
    have its event time in a column, or tell by its value that a row is deleted, or that columns keep their
    values.

    Args:
        source: the table.
        registry: has the schemas of formats that need them; None: these sides stay as they are.
    """

    def __init__(self, source: DataSource, registry: SchemaRegistry | None) -> None:
        self._key, self._value = serdes(source, registry=registry)
        # with schemas, a key has as many forms as schemas
        self._encode = (json_serde(self._key.columns) if self._key.asks_registry else self._key).encode_key
        self._is_wrapped = source.envelope is not None
        self._leaves_out = leaves_out_columns(source)
        self._stored = stored_serdes(source, registry)[1]
        has_registry = registry is not None
        self._reads_key = bool(self._key.columns) and (has_registry or not self._key.asks_registry)
        self._time: int | None = None
        self._is_time_in_key = False
        column = source.time_column
        if column is not None and column.type != STRING:  # the JVM reads times of a pattern
            self._is_time_in_key = column.role is Role.KEY
            self._time = (self._key if self._is_time_in_key else self._value).columns.index(column)
        is_needed = self._is_wrapped or (self._time is not None and not self._is_time_in_key)
        self._reads_value = is_needed and (has_registry or not self._value.asks_registry)

    def __call__(
        self, key: bytes, record: Record, former: Callable[[bytes], bytes | None]
    ) -> tuple[bytes, Record]:
        """Return the one form of ``key``, and ``record`` with its event time, without a value if it deletes.

        If it may leave out columns, its value becomes the whole row, as a view stores it.

        Args:
            key: the key's bytes, without a window.
            record: the record.
            former: the stored value that the row with a key (in its one form) had before.

        Raises:
            BadRecord: it is not a record of the table.
            KsqlError: the registry does not respond.
        """
        keys = values = None
        if self._reads_key:
            keys = self._key.decode(key)
            if keys is None:
                raise BadRecord("Its key is NULL.")
            key = self._encode(keys) or b""
        if self._reads_value and record.value is not None:
            try:
                values = self._changed_row(key, record.value, former)
            except BadRecord:
                if self._is_wrapped:
                    raise
                return key, record  # readers leave it out, and TRUNCATE finds it
            if values is None or self._leaves_out:
                record = record._replace(value=None if values is None else self._stored.encode(values))
        timed = keys if self._is_time_in_key else values
        if self._time is not None and timed is not None:
            time_ms = timed[self._time]
            if time_ms is None or not 0 <= time_ms <= LATEST_TIME_MS:
                raise BadRecord("Its event time is missing, negative or too large.")
            record = record._replace(timestamp_ms=time_ms)
        return key, record

    def _changed_row(
        self, key: bytes, value: bytes, former: Callable[[bytes], bytes | None]
    ) -> list[Any] | None:
        """The values of a row after a change; None: it is deleted."""
        if not (self._leaves_out and isinstance(self._value, EnvelopeSerde)):
            return self._value.decode(value)
        values = self._value.change(value)
        if values is None or UNAVAILABLE not in values:
            return values
        before = former(key)
        former_values = None if before is None else self._stored.decode(before)
        return [
            new if new is not UNAVAILABLE else old
            for new, old in zip(values, former_values or [None] * len(values), strict=True)
        ]


def framed(source: DataSource, record: Record) -> Record:
    """The record with its schema ids, which newer serializers write into headers."""
    if not record.headers:
        return record
    key, value = record.key, record.value
    if CAPABILITIES[source.key_format.name].registry:
        key = with_schema_id(key, record.headers, KEY)
    if CAPABILITIES[source.value_format.name].registry:
        value = with_schema_id(value, record.headers, VALUE)
    return record._replace(key=key, value=value)
