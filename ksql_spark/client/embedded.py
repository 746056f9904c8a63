"""An engine of one's own: a server in a child process.

The child stops when its standard input closes, so it ends with its parent, however that happens. It has its
own process group, so Ctrl-C does not reach it.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

from ksql_spark.client.errors import OperationalError

DEFAULT_URL = "http://127.0.0.1:8088"
#: the child is killed if it reports no progress for so long while it stops
STOP_S = 60.0
#: -c instead of -m, because -m would look for "ksql_spark" in the current directory first
_SERVER = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from ksql_spark.shell.main import main; sys.exit(main(['server', *sys.argv[1:]]))"
)
_STARTING = re.compile(r"starting: \S+, data in (.+), log in (.+)$")
#: a server with a port for PostgreSQL's clients prints its address behind that of REST
_READY = re.compile(r"ready: (http://\S+)((?: and \S+)*) in ([\d.]+) s")


class StartFailed(OperationalError):
    """The child ended before it was ready; the message is its last output."""


class EmbeddedServer:
    """A server child process.

    Args:
        data_dir: its data folder, or None for the default.
        listen: its port, 0 for any free one, or HOST:PORT; None: as the environment says.
        command: the command to run; by default the server.
        properties: a file of properties for it.
        settings: more properties, by name.
    """

    def __init__(
        self,
        data_dir: Path | None,
        listen: int | str | None = 8088,
        command: list[str] | None = None,
        properties: Path | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        arguments = ["--exit-with-stdin"]
        if listen is not None:
            arguments += ["--listen", f"127.0.0.1:{listen}" if isinstance(listen, int) else listen]
        if properties is not None:
            arguments += ["--properties", str(properties)]
        if data_dir is not None:
            arguments += ["--data-dir", str(data_dir)]
        self._process = subprocess.Popen(
            [*(command or [sys.executable, "-c", _SERVER]), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            env=os.environ | {variable(name): str(value) for name, value in (settings or {}).items()},
        )
        self.began = time.monotonic()
        #: the engine's last progress line
        self.progress = "starting the engine"
        #: the engine's address, once it is ready
        self.url: str | None = None
        #: its addresses for PostgreSQL's clients
        self.postgres_urls: list[str] = []
        #: the engine's data folder and log file, once it has reported them
        self.data_dir: str | None = None
        self.log: str | None = None
        self.ready_after_s = 0.0
        self._complaints: list[str] = []
        self._change = threading.Condition()
        self._readers = [
            threading.Thread(target=self._follow_output, daemon=True),
            threading.Thread(target=self._follow_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def failed(self) -> bool:
        """Whether it has ended without stop()."""
        return self._process.poll() is not None

    @property
    def elapsed_s(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.began

    def wait_ready(self, tick: Callable[[str], None]) -> str:
        """Block until it serves; return its address.

        Args:
            tick: called with the progress ten times a second.

        Raises:
            StartFailed: it has ended.
        """
        while self.url is None:
            if self.failed:
                raise StartFailed(self.last_words())
            tick(f"{self.progress} ({self.elapsed_s:.1f} s)")
            with self._change:
                self._change.wait(0.1)
        return self.url

    def last_words(self) -> str:
        """The child's last output before it exited."""
        for reader in self._readers:
            reader.join(timeout=2)
        output = "\n".join(self._complaints).strip().removeprefix("ksql-spark server: ")
        log = f"; its log is {self.log}" if self.log is not None else ""
        return output or f"it gave no reason (exit code {self._process.returncode}){log}."

    def stop(self, tick: Callable[[str], None] = lambda _: None) -> None:
        """Stop it and wait until it has ended; ``tick`` is called while waiting."""
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        self.progress = "stopping the engine"
        try:
            last, deadline = "", 0.0
            while self._process.poll() is None:
                if self.progress != last:
                    last, deadline = self.progress, time.monotonic() + STOP_S
                elif time.monotonic() > deadline:
                    break
                tick(last)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=0.1)
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            for reader in self._readers:
                reader.join(timeout=2)
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe:
                    pipe.close()

    def kill(self) -> None:
        """End it at once, as a power cut would; stop() then cleans up."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _follow_output(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._change:
                if match := _STARTING.match(line):
                    self.data_dir, self.log = match[1], match[2]
                if match := _READY.match(line):
                    self.ready_after_s = float(match[3])
                    self.postgres_urls = match[2].split(" and ")[1:]
                    self.url = match[1]
                self.progress = line.strip() or self.progress
                self._change.notify_all()

    def _follow_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._complaints.append(line.rstrip())
            del self._complaints[:-20]


def variable(name: str) -> str:
    """The environment variable that sets a property of a server.

    >>> variable("ksql.create.function.enabled")
    'KSQL_KSQL_CREATE_FUNCTION_ENABLED'
    """
    return "KSQL_" + name.replace("_", "__").replace("-", "___").replace(".", "_").upper()


class Lease:
    """A share in an engine that this process has started; the last release() stops it."""

    _lock = threading.Lock()
    #: engines by data folder, with the number of their leases
    _engines: ClassVar[dict[Path | None, tuple[EmbeddedServer, int]]] = {}

    def __init__(
        self, data_dir: Path | None, settings: Mapping[str, Any], tick: Callable[[str], None]
    ) -> None:
        self._data_dir = data_dir
        with self._lock:
            server, leases = self._engines.get(data_dir, (None, 0))
            if server is None or server.failed:
                server, leases = start(data_dir, settings), 0
            try:
                self.url = server.wait_ready(tick)
            except BaseException:
                server.stop()
                self._engines.pop(data_dir, None)
                raise
            self._engines[data_dir] = server, leases + 1

    def release(self) -> None:
        """Stop the engine, unless others use it; must be called once."""
        with self._lock:
            server, leases = self._engines.pop(self._data_dir)
            if leases > 1:
                self._engines[self._data_dir] = server, leases - 1
            else:
                server.stop()

    @classmethod
    def exists(cls, data_dir: Path | None) -> bool:
        """Whether this process has an engine with that folder."""
        return data_dir in cls._engines


def start(data_dir: Path | None, settings: Mapping[str, Any]) -> EmbeddedServer:
    """Start an engine on port 8088, or on a free port if that is taken."""
    return EmbeddedServer(data_dir, None, settings=settings)
