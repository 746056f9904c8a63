"""Queries of the catalog, each answered by a process that is ended when a query takes too much.

SQLite can be limited only as a whole process: in the server's own, its memory is that of the views, and one
call of a function cannot be interrupted. So a query of a client runs in a process with a limit of memory and
a clock, and whatever it does costs no other client more than the wait for one of these processes.

Requests and answers are pickled, each after its length; both sides are ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import pickle
import re
import resource
import signal
import struct
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

from sqlglot import exp

from ksql_spark.entities.catalog import FunctionDescriptionList
from ksql_spark.entities.sources import SourceDescription
from ksql_spark.server.postgres.catalog.catalog import Answer, Catalog, Session
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import CANCELLED, CatalogError
from ksql_spark.server.postgres.values.values import PgType

LOG = logging.getLogger(__name__)

#: how many queries run at once, and how many run or wait
PROCESSES, MAX_QUERIES = 2, 64
#: how long a query may take, seconds
MAX_S = 5.0
#: private memory of a process, bytes
_MAX_MEMORY = 512 << 20
#: how many catalogs, of clients with different rights, a process keeps
_MAX_KEPT = 2
#: rows that are pickled together
_PIECE_ROWS = 500
#: variables of the environment that a process needs; what else there is may be secret
_ENVIRONMENT = ("PATH", "PYTHONHOME", "LD_LIBRARY_PATH", "TMPDIR", "LANG")
_TIMEOUT = re.compile(r"(\d{1,9})\s*(ms|s|min)?")
_UNITS = {None: 0.001, "ms": 0.001, "s": 1.0, "min": 60.0}


def timeout_s(setting: str) -> float:
    """Return how long a query may take for ``statement_timeout``, seconds.

    >>> timeout_s("1500"), timeout_s("2 s"), timeout_s("0"), timeout_s("")
    (1.5, 2.0, 5.0, 5.0)
    """
    match = _TIMEOUT.fullmatch(setting)
    requested_s = int(match[1]) * _UNITS[match[2]] if match is not None else 0.0
    return min(requested_s, MAX_S) if requested_s else MAX_S


class Described:
    """The streams and tables that a client may see.

    Args:
        sources: the streams and tables.
        functions: those of KSQL, if the client asks about functions.
    """

    def __init__(
        self, sources: Sequence[SourceDescription], functions: Sequence[FunctionDescriptionList] = ()
    ) -> None:
        self.sources = tuple(sources)
        self.functions = tuple(functions)

    @cached_property
    def data(self) -> bytes:
        """The pickled sources and functions, in the form that a process reads."""
        return pickle.dumps((self.sources, self.functions))

    @cached_property
    def key(self) -> bytes:
        """A hash that distinguishes these sources from others."""
        return hashlib.sha256(self.data).digest()


@dataclass(frozen=True)
class Rows:
    """An answer whose rows take little memory until they are read.

    Args:
        names: of the columns.
        types: of the columns.
        pieces: some pickled rows each.
    """

    names: tuple[str, ...]
    types: tuple[PgType, ...]
    pieces: tuple[bytes, ...]

    def __iter__(self) -> Iterator[Sequence[Sequence[Any]]]:
        return map(pickle.loads, self.pieces)


class CatalogProcesses:
    """Answers queries of the catalog. Its threads only wait for its processes."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(PROCESSES, thread_name_prefix="catalog")
        self._idle: list[_Process] = []
        self._lock = threading.Lock()
        self._queries = 0

    async def ask(
        self, query: Callable[[], exp.Expr], described: Described, session: Session, timeout_s: float
    ) -> Rows:
        """The answer to a query; a task that is cancelled ends the query.

        Raises:
            CatalogError: it takes too much, or cannot be read.
        """
        if self._queries >= MAX_QUERIES:
            raise CatalogError("53300", f"{MAX_QUERIES} queries of the catalog run or wait. Try again soon.")
        asking = _Asking()

        def answer() -> Rows:
            try:
                request = pickle.dumps((described.key, query(), session, timeout_s))
            except RecursionError:
                raise CatalogError("54001", "The query has too many levels.") from None
            return self._answer(asking, request, described.data)

        self._queries += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, answer)
        finally:
            self._queries -= 1
            asking.end()

    def close(self) -> None:
        """End the processes."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for process in self._idle:
                process.end()
            self._idle.clear()

    def _answer(self, asking: _Asking, request: bytes, described: bytes) -> Rows:
        with self._lock:
            process = self._idle.pop() if self._idle else None
        process = process or _Process()
        if asking.begin(process):
            answer = process.answer(request, described)
            if not asking.finish():
                raise CatalogError("57014", CANCELLED)
        else:
            answer = CatalogError("57014", CANCELLED)
        with self._lock:
            if process.is_running:
                self._idle.append(process)
        if isinstance(answer, CatalogError):
            raise answer
        return answer


class _Asking:
    """A query from when it is asked until it is answered or ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._is_over = False

    def begin(self, process: _Process) -> bool:
        """The process will be asked, unless the query was ended."""
        with self._lock:
            self._process = None if self._is_over else process
            return not self._is_over

    def finish(self) -> bool:
        """The process has answered; False: it was ended before."""
        with self._lock:
            was_over, self._is_over = self._is_over, True
            return not was_over

    def end(self) -> None:
        """End the query, and the process if it is at it."""
        with self._lock:
            if not self._is_over and self._process is not None:
                self._process.end()
            self._is_over = True


class _Process:
    """A process, as the server sees it."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
            | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )

    @property
    def is_running(self) -> bool:
        """Whether the process still runs."""
        return self._child.poll() is None

    def answer(self, request: bytes, described: bytes) -> Rows | CatalogError:
        """Return the process's response to a request; a process that cannot respond has ended."""
        assert self._child.stdin is not None and self._child.stdout is not None
        with contextlib.suppress(OSError, EOFError):
            _write(self._child.stdin, request)
            if (answer := _read(self._child.stdout)) is None:  # which catalog is that?
                _write(self._child.stdin, described)
                answer = _read(self._child.stdout)
            if isinstance(answer, CatalogError):
                return answer
            names, oids, pieces = answer
            return Rows(names, tuple(_TYPES[oid] for oid in oids), pieces)
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        if self._child.wait() == -signal.SIGALRM:
            message = (
                "canceling statement due to statement timeout, which is at most"
                f" {MAX_S:g} s for a query of the catalog"
            )
            return CatalogError("57014", message)
        return CatalogError("53200", "The query of the catalog takes more memory than there is for it.")

    def end(self) -> None:
        """Kill the process."""
        self._child.kill()


_TYPES = {type_.oid: type_ for type_ in values.TYPES}


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(struct.pack("!I", len(data)) + data)
    stream.flush()


def _read(stream: IO[bytes]) -> Any:
    """Read one message. Raises EOFError."""
    size = stream.read(4)
    data = stream.read(struct.unpack("!I", size)[0]) if len(size) == 4 else b""
    if not data:
        raise EOFError
    return pickle.loads(data)


# ---- in the process ------------------------------------------------------------------------------------


def main() -> None:
    """Answer requests until there are no more."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    for limit, most in ((resource.RLIMIT_DATA, _MAX_MEMORY), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(OSError, ValueError):  # macOS has no such limit of memory
            resource.setrlimit(limit, (most, most))
    catalogs: OrderedDict[bytes, Catalog] = OrderedDict()
    with contextlib.suppress(EOFError):
        while True:
            key, query, session, timeout_s = _read(requests)
            signal.setitimer(signal.ITIMER_REAL, timeout_s)  # ends the process, whatever it does
            if key not in catalogs:
                while len(catalogs) >= _MAX_KEPT:
                    catalogs.popitem(last=False)
                _write(answers, pickle.dumps(None))
                catalogs[key] = Catalog(*_read(requests))
            catalogs.move_to_end(key)
            answer: Any
            try:
                answer = _packed(catalogs[key].ask(query, session))
            except CatalogError as error:
                answer = error
            except RecursionError:
                answer = CatalogError("54001", "The query has too many levels.")
            except Exception:
                LOG.exception("a query of the catalog has failed")
                answer = CatalogError("XX000", "The catalog cannot answer this query.")
            signal.setitimer(signal.ITIMER_REAL, 0)
            _write(answers, pickle.dumps(answer))


def _packed(answer: Answer) -> tuple[Any, ...]:
    rows = answer.rows
    pieces = (pickle.dumps(rows[at : at + _PIECE_ROWS]) for at in range(0, len(rows), _PIECE_ROWS))
    return answer.names, tuple(type_.oid for type_ in answer.types), tuple(pieces)


if __name__ == "__main__":
    main()
