"""The materialized views of a server, for pull queries: created when a table is first queried, then kept."""

from __future__ import annotations

import hashlib
import logging
import shutil
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from ksql_spark.errors import KsqlError
from ksql_spark.kafka.admin import KafkaAdmin
from ksql_spark.kafka.consumer import EndOffsets
from ksql_spark.metastore.indexes import Index
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.reading.freshness import Ends, Freshness, OnReached, SharedRequests, by_topic
from ksql_spark.runtime.reading.view import View, remove
from ksql_spark.runtime.reading.view_indexes import ViewIndexes
from ksql_spark.schema_registry import SchemaRegistry

log = logging.getLogger(__name__)

#: how long a view that has grown waits for others that end, seconds
_PATIENCE_S = 1.0


class Views:
    """All views of this server, created on demand. Thread-safe.

    Args:
        admin: of the cluster.
        folder: where their files are.
        most_bytes: returns the maximum size of all files together (ksql.pull.views.max.bytes).
        is_eager: returns whether tables get their views when they are created (ksql.pull.views).
        written: returns what this server has written to a topic: partition -> the offset after it.
        registry: has the schemas of envelopes.
        indexes: returns the indexes of a table.
    """

    def __init__(
        self,
        admin: KafkaAdmin,
        folder: Path,
        most_bytes: Callable[[], int] = lambda: 2**63,
        is_eager: Callable[[], bool] = lambda: False,
        written: Callable[[str], Ends] = lambda topic: {},
        registry: SchemaRegistry | None = None,
        indexes: Callable[[str], Iterable[Index]] = lambda table: (),
    ) -> None:
        self._admin = admin
        self._end_offsets = EndOffsets(admin.servers, admin.settings)
        self._ends = SharedRequests(self._end_offsets.of)
        self._freshness = Freshness(self._ends.ask, written)
        self.folder = folder
        self._registry = registry
        self._indexes = indexes
        self._most_bytes = most_bytes
        self._is_eager = is_eager
        #: whether the command log has been replayed: until then, files may belong to tables that are yet to
        #: come
        self._is_resumed = False
        self._views: dict[str, View] = {}
        self._lock = threading.Lock()
        #: held while a view is made or ends: the next view of a table has the same file
        self._changes = threading.RLock()

    def current(self, source: DataSource, timeout_s: float) -> View:
        """The view of ``source``, with all records that were in its topic at the time of the call.

        Raises:
            KsqlError: VIEW_BEHIND, VIEW_TOO_LARGE, TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        return self.reaching(source, self.ends([source.topic])[source.topic], timeout_s)

    def ends(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        """The end offsets of all ``topics`` at one moment: topic -> partition -> offset after the last
        record.

        Raises:
            KsqlError: TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        names = list(topics)
        return by_topic(self._ends.ask(names), names) if names else {}

    def following(self, source: DataSource) -> View | None:
        """The view of ``source`` if one follows its topic."""
        view = self._views.get(source.name)
        return view if view is not None and _is_of(view, source) else None

    def when_current(
        self, view: View, timeout_s: float, on_reached: OnReached, staleness_s: float = 0.0
    ) -> None:
        """Call ``on_reached`` once ``view`` is current enough, see Freshness."""
        self._freshness.when_current(view, timeout_s, on_reached, staleness_s)

    def is_current(self, view: View, staleness_s: float) -> bool:
        """Whether ``view`` is known to be current enough, without asking the broker, see Freshness."""
        return self._freshness.is_current(view, staleness_s)

    def positions(self) -> dict[str, tuple[dict[int, int], str]]:
        """Return for each view, by table name, its position (partition -> next offset) and its topic."""
        with self._lock:
            return {name: (view.positions, view.source.topic) for name, view in self._views.items()}

    def sizes(self) -> dict[str, int]:
        """The bytes of each view's file, by the table's name."""
        with self._lock:
            return {name: view.size for name, view in self._views.items()}

    def reaching(self, source: DataSource, ends: Ends, timeout_s: float) -> View:
        """The view of ``source``, with all records of its topic before ``ends`` (partition -> offset).

        Raises:
            KsqlError: VIEW_BEHIND, VIEW_TOO_LARGE, TOPIC_UNKNOWN, BROKER_UNREACHABLE.
        """
        view = self.following(source) or self.follow(source)
        view.wait_for(ends, timeout_s)
        return view

    def follow(self, source: DataSource) -> View:
        """The view of ``source``, created if necessary; it need not have read anything yet.

        Raises:
            OSError: its file cannot be made.
        """
        with self._changes, self._lock:
            existing = self._views.get(source.name)
            if existing is not None and (_is_of(existing, source) or existing.is_too_large):
                return existing
            if existing is not None:
                # after a broker error its rows are still right: the file has its position
                existing.close(keeps_file=True)
            view = View(
                self._admin,
                source,
                self._path(source.name),
                self._check_size,
                self._registry,
                self._indexes_of(source),
            )
            self._views[source.name] = view
            return view

    def _check_size(self, grown: View) -> None:
        """Remove the least recently used views while all views together are too large.

        Raises:
            KsqlError: VIEW_TOO_LARGE if ``grown`` alone is too large.
        """
        most = self._most_bytes()
        size = grown.size
        if size > most:
            raise KsqlError("VIEW_TOO_LARGE", name=grown.source.name, bytes=size, most=most)
        if not self._changes.acquire(timeout=_PATIENCE_S):
            return  # a view ends, perhaps this one: when it has grown again
        try:
            self._evict(grown, size, most)
        finally:
            self._changes.release()

    def _evict(self, grown: View, size: int, most: int) -> None:
        with self._lock:
            others = sorted((v for v in self._views.values() if v is not grown), key=lambda v: v.used_at)
            size += sum(view.size for view in others)
            evicted: list[View] = []
            for view in others:
                if size <= most:
                    break
                size -= view.size
                evicted.append(self._views.pop(view.source.name))
        for view in evicted:
            log.info("removed the view of %s: views may have at most %s bytes", view.source.name, most)
            view.close(why=KsqlError("VIEW_BEHIND", name=view.source.name, seconds=0))

    def resume(self, sources: Iterable[DataSource]) -> None:
        """Follow the topics of tables whose views an earlier run has left; remove all other files.

        Args:
            sources: all streams and tables.
        """
        self._is_resumed = True
        by_path = {self._path(source.name): source for source in sources if _has_view(source)}
        for path in self.folder.glob("*") if self.folder.is_dir() else ():
            base = path.with_name(path.name.removesuffix("-wal").removesuffix("-shm"))
            if base not in by_path:
                remove(base)
                shutil.rmtree(base, ignore_errors=True)  # left by a killed batch query
        for path, source in by_path.items():
            if path.exists() or self._is_eager():
                try:
                    self.follow(source)
                except Exception:  # the first look-up tries it again, and says why
                    log.exception("the view of %s was not opened", source.name)

    def has_index(self, index: Index) -> bool:
        """Whether the view of a table has an index."""
        view = self._views.get(index.table)
        return view is not None and view.index(index) is not None

    def reindex(self, source: DataSource) -> None:
        """The indexes of a table have changed: change those of its view, if there is one."""
        view = self._views.get(source.name)
        if view is not None:
            view.reindex(self._indexes_of(source))

    def _indexes_of(self, source: DataSource) -> ViewIndexes:
        return ViewIndexes(source, self._indexes(source.name), self._registry)

    def renew(self, source: DataSource) -> None:
        """A table was created or replaced: discard its view, and perhaps create it again at once."""
        with self._changes:
            self.drop(source.name)
            if self._is_resumed and self._is_eager() and _has_view(source):
                self.follow(source)

    def drop(self, name: str) -> None:
        """Remove the view of a source that was dropped or changed."""
        with self._changes:
            with self._lock:
                view = self._views.pop(name, None)
            if view is not None:
                view.close()
            elif self._is_resumed:
                remove(self._path(name))

    def close(self) -> None:
        """Stop following; files stay for the next start."""
        with self._lock:
            views, self._views = list(self._views.values()), {}
        for view in views:
            view.close(keeps_file=True, why=KsqlError("STOPPED"))
        self._freshness.close()
        self._end_offsets.close()

    def _path(self, name: str) -> Path:
        """A table's file: table names may have characters that file names cannot."""
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.db"


def _has_view(source: DataSource) -> bool:
    """Whether pull queries read ``source`` from a view (reference §2.5)."""
    return source.is_table and (source.is_sink or source.read_only)


def _is_of(view: View, source: DataSource) -> bool:
    """Whether ``view`` follows the topic of ``source`` in the way that its rows need."""
    return not view.has_failed and (view.source.topic, view.source.window) == (source.topic, source.window)
