"""Jobs: SELECTs without EMIT that Spark runs as one batch query (plan.queries.Job).

We first ask for the end offsets of all topics, then wait until each view has reached them; streams are read
up to them, unless there is only one. So the rows of all sources are from one moment, or newer if a view has
advanced meanwhile.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import queue
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ksql_spark.errors import KsqlError
from ksql_spark.plan.nodes import Limit, Node, Project, Source
from ksql_spark.plan.queries import IndexLookup, Job, KeyLookup
from ksql_spark.plan.trees import relations
from ksql_spark.runtime.errors import job_failure
from ksql_spark.runtime.reading.past import PastRows
from ksql_spark.runtime.reading.pull import encoded_keys, found_rows
from ksql_spark.runtime.reading.results import (
    SMALL,
    Computed,
    PullResult,
    Row,
    Rows,
    Shareable,
    api_value,
    result_columns,
    row_form,
)
from ksql_spark.runtime.reading.stored_row import StoredRow
from ksql_spark.runtime.reading.views import Views
from ksql_spark.schema import Column
from ksql_spark.spark import batch, jvm
from ksql_spark.spark.sources import WHOLE_TOPICS, BatchRanges

log = logging.getLogger(__name__)

#: up to this many rows and bytes go to Spark in the query's text; more go through a file
_FEW_ROWS, _FEW_BYTES = 1_000, 1_000_000
#: rows per piece, and pieces that may wait for the reader
_PIECE_ROWS, _PIECES = 1_000, 8


class BatchResult(Computed):
    """A QueryStream over the rows of a Spark batch query, which runs in its own thread until closed.

    Args:
        session: the query's session.
        frame: the query's rows.
        columns: the query's columns.
        key_names: names of the columns that are flagged KEY.
        kind: PULL or STREAM_PULL.
        limit: the query's LIMIT; None: no limit.
        clean_up: called at the end.
    """

    def __init__(
        self,
        session: SparkSession,
        frame: DataFrame,
        columns: tuple[Column, ...],
        key_names: frozenset[str],
        kind: str,
        limit: int | None,
        clean_up: Callable[[], None],
    ) -> None:
        self.query_id = f"query_{uuid.uuid4().hex}"
        self.kind = kind
        self.columns = result_columns(columns, key_names)
        self.final_message: str | None = None
        self._session = session
        self._frame = frame
        self._schema = columns
        self._limit = limit
        self._clean_up = clean_up
        self._closed = threading.Event()
        self._lock = threading.Lock()
        #: what others get, in a list once it is known; called then; and whether there are any
        self._known: list[Shareable] = []
        self._on_known: Callable[[Shareable], None] = lambda result: None
        self._others_wait: Callable[[], bool] = lambda: False
        #: rows, then None or the error that ended them
        self._pieces: queue.Queue[list[Row] | Exception | None] = queue.Queue(_PIECES)
        self._worker = threading.Thread(target=self._work, name=self.query_id, daemon=True)
        self._worker.start()

    def read(self, timeout_s: float) -> Rows | None:
        """The rows that have arrived; [] if none came within ``timeout_s`` seconds; None at the end.

        Raises:
            KsqlError: Spark could not run the query.
        """
        if self._closed.is_set():
            return None
        try:
            piece = self._pieces.get(timeout=timeout_s)
        except queue.Empty:
            return Rows()
        if not isinstance(piece, list):
            self._closed.set()
        if isinstance(piece, Exception):
            raise piece
        return None if piece is None else Rows(piece)

    def share(self, on_known: Callable[[Shareable], None], others_wait: Callable[[], bool]) -> None:
        """See Computed."""
        with self._lock:
            self._on_known, self._others_wait = on_known, others_wait
            known = list(self._known)
        for result in known:
            on_known(result)

    def _note_known(self, result: Shareable) -> None:
        with self._lock:
            if self._known:
                return
            self._known.append(result)
            on_known = self._on_known
        on_known(result)

    def close(self) -> None:
        """Cancel the query if it still runs, and nobody waits for it; may be called more than once."""
        self._closed.set()
        if self._worker.is_alive() and not self._others_wait():
            self._note_known(None)  # not the failure that follows
            with contextlib.suppress(Exception):  # the JVM may be gone
                jvm.cancel_jobs(self._session, self.query_id)
        with contextlib.suppress(queue.Empty):
            while True:
                self._pieces.get_nowait()

    def _work(self) -> None:
        try:
            self._session.sparkContext.setJobGroup(self.query_id, "pull query", interruptOnCancel=True)
            count, piece, first = 0, list[Row](), Rows()
            form = row_form(column.type for column in self._schema)
            for values in batch.results(self._frame, self._schema):
                piece.append(Row(form(values)))
                count += 1
                if count <= SMALL:
                    first.append(piece[-1])
                elif count == SMALL + 1:
                    self._note_known(None)
                if len(piece) == _PIECE_ROWS:
                    if not self._put(piece):
                        return
                    piece = []
            if piece:
                self._put(piece)
            if self.kind == "STREAM_PULL":
                self.final_message = "Limit Reached" if count == self._limit else "Query Completed"
            self._note_known(PullResult(self.columns, first, self.final_message, self.kind))
            self._put(None)
        except Exception as error:
            if not self._closed.is_set() or self._others_wait():
                log.exception("pull query %s failed", self.query_id, extra={"query": self.query_id})
                failure = error if isinstance(error, KsqlError) else job_failure(error)
                self._note_known(failure)
                self._put(failure)
        finally:
            self._note_known(None)
            self._clean_up()

    def _put(self, piece: list[Row] | Exception | None) -> bool:
        """Queue ``piece`` for the reader; False if the result has been closed, and nobody else waits."""
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._pieces.put(piece, timeout=0.5)
                return True
        return self._others_wait()


def run(
    query: Job,
    views: Views,
    session: SparkSession,
    consumer: Mapping[str, str],
    timeout_s: float,
    setting: Callable[[str], Any],
    past: Mapping[str, PastRows] | None = None,
    ranges: BatchRanges = WHOLE_TOPICS,
) -> BatchResult:
    """Start ``query``.

    Args:
        query: the query.
        views: the views of tables.
        session: any session.
        consumer: settings of Kafka's consumers.
        timeout_s: how long to wait for the views, seconds.
        setting: effective value of a property, by name.
        past: the rows of sources that are the past of tables, by their names in the query.
        ranges: what is read of streams.

    Raises:
        KsqlError: VIEW_BEHIND, TOPIC_UNKNOWN, BROKER_UNREACHABLE, NOT_DONE_YET; INTERNAL where Spark refuses.
    """
    sources = relations(query.root)
    # of a pattern's topics Spark finds the ends
    topics = (relation.source.topic for relation in sources if relation.source.topic_pattern is None)
    ends = views.ends(dict.fromkeys(topics))
    # the moment of a single stream is any: Spark finds its end, of partitions that were just added, too
    until = ends if len(sources) > 1 else {}
    views.folder.mkdir(parents=True, exist_ok=True)
    folder = tempfile.TemporaryDirectory(dir=views.folder, prefix="pull-")
    try:
        reading = _Reading(views, session, ends, timeout_s, Path(folder.name))
        past_rows = past or {}
        stored = [
            reading.rows(relation, keys, index)
            if relation.source.is_table and relation.source.name not in past_rows
            else None
            for relation, keys, index in zip(sources, query.lookups, query.indexes, strict=True)
        ]
        own = batch.session_for(session, query.root, reading.count)
        frames = (
            _past_frame(own, relation, past_rows[relation.source.name], Path(folder.name) / f"past-{number}")
            if relation.source.name in past_rows
            else batch.stream(own, consumer, relation, until.get(relation.source.topic), ranges)
            if rows is None
            else batch.table(own, relation, rows)
            for number, (relation, rows) in enumerate(zip(sources, stored, strict=True))
        )
        frame = batch.build(own, query.root, frames, setting)
        kind = "PULL" if all(relation.source.is_table for relation in sources) else "STREAM_PULL"
        columns = query.root.schema.columns
        return BatchResult(own, frame, columns, query.key_names, kind, _limit(query.root), folder.cleanup)
    except (PySparkException, jvm.JvmError) as error:
        folder.cleanup()
        log.exception("Spark rejected a pull query")
        raise job_failure(error) from None
    except BaseException:
        folder.cleanup()
        raise


def first_rows(
    query: Job,
    tables: Mapping[str, Sequence[StoredRow]],
    session: SparkSession,
    folder: Path,
    setting: Callable[[str], Any],
    most: int,
) -> list[dict[str, Any]]:
    """The first rows of a query over rows that are at hand, as the REST API shows them.

    Args:
        query: the query; it reads tables only.
        tables: the rows of each, by name.
        session: any session.
        folder: for files that are needed meanwhile.
        setting: effective value of a property, by name.
        most: how many rows.

    Raises:
        KsqlError: NOT_DONE_YET; INTERNAL where Spark refuses or fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    columns = query.root.schema.columns
    with tempfile.TemporaryDirectory(dir=folder, prefix="pull-") as files:
        try:
            own = batch.session_for(session, query.root, sum(map(len, tables.values())))
            frames = []
            for number, relation in enumerate(relations(query.root)):
                rows = _for_spark(tables[relation.source.name], Path(files) / f"{number}.csv")
                frames.append(batch.table(own, relation, rows))
            frame = batch.build(own, query.root, frames, setting).limit(most)
            return [
                {c.name: api_value(v, c.type) for v, c in zip(values, columns, strict=True)}
                for values in batch.results(frame, columns)
            ]
        except (PySparkException, jvm.JvmError) as error:
            log.exception("Spark rejected or failed a query over rows that are at hand")
            raise job_failure(error) from None


def _past_frame(session: SparkSession, relation: Source, past: PastRows, file: Path) -> DataFrame:
    frame = batch.table(session, relation, _for_spark(past.rows, file.with_suffix(".csv")))
    if not past.deletions:
        return frame
    gone = _for_spark(past.deletions, file.with_suffix(".deleted.csv"))
    return frame.unionAll(batch.table(session, relation, gone, are_deletions=True))


def _is_few(rows: Sequence[StoredRow]) -> bool:
    """Whether the rows fit into a query's text."""
    return len(rows) <= _FEW_ROWS and sum(len(row.key) + len(row.value) for row in rows) <= _FEW_BYTES


def _for_spark(rows: Sequence[StoredRow], file: Path) -> Sequence[StoredRow] | Path:
    """The rows, or a file of them if they are too many for a query's text."""
    if _is_few(rows):
        return rows
    with file.open("w", encoding="ascii") as out:
        for key, value, time_ms, start, end in rows:
            bounds = ("" if bound is None else bound for bound in (start, end))
            out.write(",".join(map(str, (key.hex(), value.hex(), time_ms, *bounds))) + "\n")
    return file


def _limit(root: Node) -> int | None:
    """The LIMIT of the whole query."""
    if isinstance(root, Project) and isinstance(root.child, Limit):
        root = root.child
    return root.limit if isinstance(root, Limit) else None


class _Reading:
    """Reads the stored rows of tables; scans a table once even if the query names it twice."""

    def __init__(
        self,
        views: Views,
        session: SparkSession,
        ends: dict[str, dict[int, int]],
        timeout_s: float,
        folder: Path,
    ) -> None:
        self.count = sum(end for topic in ends.values() for end in topic.values())
        self._views = views
        self._session = session
        self._ends = ends
        self._timeout_s = timeout_s
        self._folder = folder
        self._scans: dict[str, list[StoredRow] | Path] = {}
        self._numbers = itertools.count()

    def rows(
        self, relation: Source, lookups: tuple[KeyLookup, ...] | None, index: IndexLookup | None
    ) -> Sequence[StoredRow] | Path:
        source = relation.source
        view = self._views.reaching(source, self._ends[source.topic], self._timeout_s)
        if source.name in self._scans:
            return self._scans[source.name]
        keys = None if lookups is None else encoded_keys(source, lookups, lambda: self._session)
        if keys is None and index is not None:
            found = found_rows(index, view, lambda: self._session)
            if found is not None:
                return _for_spark([*itertools.chain.from_iterable(found)], self._file())
        few = view.scan(_FEW_ROWS + 1) if keys is None else view.get(keys)
        rows: list[StoredRow] | Path = few
        if not _is_few(few):
            rows = self._file()
            view.export(rows, keys)
        if keys is None:
            self._scans[source.name] = rows
        return rows

    def _file(self) -> Path:
        return self._folder / f"{next(self._numbers)}.csv"
