"""Common to all embedded services: each is a JVM of ours, with its data in one folder."""

from __future__ import annotations

import abc
import errno
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, ClassVar, Self

from ksql_spark.errors import KsqlError
from ksql_spark.services import artifacts
from ksql_spark.services.cache import Report
from ksql_spark.services.child import ChildProcess
from ksql_spark.services.class_archive import ClassArchive
from ksql_spark.services.data_dir import lock_for_child, make_data_dir, release
from ksql_spark.services.ports import other_port, reserved_port

#: how many ports to try if other processes take them first
_ATTEMPTS = 3
_LOOK_S = 0.02
#: number of last lines that are searched for the reason of an exit
_LAST_LINES = 60


class EmbeddedService(abc.ABC):
    """A service on the loopback address only, so other machines cannot connect.

    start() returns once it responds; after stop() it may be started again. Subclasses define the details.

    Args:
        data_dir: folder for its data, its log and its port; created if missing.
        port: the port for the first start; 0 or a port in use: a free one. Later starts use the same port
            again.
        report: called with progress lines.
    """

    #: the service's name in progress lines, and of its process
    title: ClassVar[str]
    process: ClassVar[str]
    #: the prefix of its lock and port files
    name: ClassVar[str]
    #: artifacts that must be fetched before the service can start
    needs: ClassVar[tuple[str, ...]]
    start_timeout_s: ClassVar[float]
    stop_timeout_s: ClassVar[float]
    #: the service's message when another process has its port
    port_taken: ClassVar[str] = "Address already in use"

    def __init__(self, data_dir: Path, port: int, report: Report = lambda text: None) -> None:
        self.data_dir = data_dir.absolute()
        self.port = port
        self._report = report
        self._lock: IO[str] | None = None
        self._child: ChildProcess | None = None
        #: makes the next start faster, if there is one
        self._archive: ClassArchive | None = None
        self._log_start = 0
        self._fetching = False
        self._stopped = False
        self._is_over = False
        #: whether its process, which was told to exit, still writes an archive of its classes: that takes a
        #: limited time, and makes later starts faster
        self.is_archiving = False
        #: whether it must not move to another port
        self._keeps_port = False
        self._mutex = threading.Lock()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    @abc.abstractmethod
    def log_file(self) -> Path:
        """The file of the service's log."""

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        return self._child.pid if self._child else None

    def is_running(self) -> bool:
        """Whether it is running: from start() until it stops or exits."""
        return self._child is not None and self._child.is_running()

    @property
    def why_ended(self) -> str:
        """Describe why the process exited, as a clause without a period."""
        child = self._child
        return reason_of(self._output(), child.exit_code if child is not None else None, self.start_timeout_s)

    def restart(self) -> None:
        """Restart it after its process has exited unexpectedly, at the port that its clients know.

        Raises:
            KsqlError: as start(), also if another process has taken the port.
        """
        self._keeps_port = True
        try:
            self.start()
        finally:
            self._keeps_port = False

    def start(self) -> None:
        """Start it and return once it responds; if that fails, stop it.

        Raises:
            KsqlError: DATA_DIR_IN_USE, DATA_DIR_UNUSABLE, DISK_FULL, JAVA_MISSING; those of
                artifacts.ensure(); that of a service that did not start.
        """
        if self.is_running():
            return
        self.stop()  # left over from a process that exited unexpectedly
        self._stopped = False
        try:
            self._fetching = True
            artifacts.ensure(self.needs, self._report)
            self._fetching = False
            self._prepare_folder()
            self._report(f"starting {self.title}")
            if self._may_move and not self._keeps_port:
                usual, is_first = self.port, not self._port_file.exists()
                self.port = reserved_port(self._port_file, usual)
                if is_first and usual and self.port != usual:
                    self._report(f"port {usual} is taken: {self.title} uses port {self.port}")
            self._launch_somewhere()
        except BaseException as error:
            self._fetching = False
            self.stop()
            if isinstance(error, OSError):
                raise self._folder_error(error) from None
            raise
        self._report(self._ready_line())

    def stop(self) -> None:
        """Stop it and wait until it has exited; may be called at any time, more than once.

        A start() that is running in another thread then fails.
        """
        with self._mutex:
            self._stopped = True
            child = self._child
        if self._fetching:
            artifacts.interrupt()
        if child:
            self._end(child)
        with self._mutex:
            self._child = None
            if self._lock:
                release(self._lock)
                self._lock = None

    def _end(self, child: ChildProcess) -> None:
        """Stop its process, and keep the archive of classes that it has written."""
        archive = self._archive
        if archive is None or not archive.is_recording:
            child.stop(self.stop_timeout_s)
            return
        self.is_archiving = True
        child.terminate()
        archive.await_written(self.title, child.ends_within, self._report)
        self.is_archiving = False
        child.stop(0)
        if not archive.keep():
            self._report(f"{self.title} could not archive its classes; its next start tries again")

    def kill(self) -> None:
        """Kill its process, however it is, and start no other one. Callable from any thread."""
        with self._mutex:
            self._is_over = True
            child = self._child
        if child is not None:
            child.kill()

    # ---- what is particular -------------------------------------------------------------------------------

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Prepare the folder, which is locked and has room for logs and temporary files."""

    @abc.abstractmethod
    def _command(self) -> list[str]:
        """The command line, with the current port."""

    @abc.abstractmethod
    def _answers(self) -> bool:
        """Whether it responds, and not another process at its port."""

    @abc.abstractmethod
    def _ready_line(self) -> str:
        """The progress line after its start."""

    @abc.abstractmethod
    def _error(self, reason: str) -> KsqlError:
        """The error for a start that failed for ``reason``."""

    @property
    def _may_move(self) -> bool:
        """Whether it may move to another port."""
        return True

    # ---- the folder ---------------------------------------------------------------------------------------

    @property
    def _scratch(self) -> Path:
        """The folder for temporary files: JVMs unpack libraries there, not into /tmp."""
        return self.data_dir / "tmp"

    @property
    def _port_file(self) -> Path:
        return self.data_dir / f"{self.name}.port"

    @property
    def _printed(self) -> Path:
        """The output of its process in this run."""
        return self.log_file.with_name(f"{self.name}.out")

    def _prepare_folder(self) -> None:
        """Create the folders and take the lock."""
        make_data_dir(self.data_dir)
        self.log_file.parent.mkdir(exist_ok=True)
        lock = self.data_dir / f"{self.name}.lock"
        self._lock = lock_for_child(lock, self.process, self.stop_timeout_s, self._report)
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        self._prepare()

    def _folder_error(self, error: OSError) -> KsqlError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return KsqlError("DISK_FULL", path=str(self.data_dir))
        return KsqlError("DATA_DIR_UNUSABLE", path=str(self.data_dir), reason=error.strerror or str(error))

    # ---- the process --------------------------------------------------------------------------------------

    def _launch_somewhere(self) -> None:
        """Start the process, at another port if its own is taken meanwhile."""
        for _ in range(_ATTEMPTS):
            if self._launch():
                return
            self.port = other_port(self._port_file)
        raise self._error("other processes took the free ports")

    def _launch(self) -> bool:
        """Start the process and wait until it responds; False if another process has taken its port."""
        self._printed.write_bytes(b"")
        has_log = self.log_file != self._printed and self.log_file.exists()
        self._log_start = self.log_file.stat().st_size if has_log else 0
        command = self._command()
        with self._mutex:
            if self._stopped or self._is_over or self._lock is None:
                raise self._interrupted()
            child = self._child = ChildProcess(command, self._printed, pass_fds=(self._lock.fileno(),))
        deadline = time.monotonic() + self.start_timeout_s
        while child.is_running() and time.monotonic() < deadline:
            if self._answers() and child.is_running():
                return True
            time.sleep(_LOOK_S)
        code = child.exit_code
        child.stop(self.stop_timeout_s)
        if self._stopped:
            raise self._interrupted()
        lines = self._output()
        if self._may_move and not self._keeps_port and any(self.port_taken in line for line in lines):
            return False
        raise self._failure(lines, code)

    def _has_printed(self, what: str) -> bool:
        """Whether a line of this run contains ``what``."""
        return any(what in line for line in self._output())

    def _output(self) -> list[str]:
        """The log and output of this run."""
        lines: list[str] = []
        for file, start in {self.log_file: self._log_start, self._printed: 0}.items():
            try:
                with file.open("rb") as log:
                    log.seek(start if file.stat().st_size >= start else 0)
                    lines += log.read().decode(errors="replace").splitlines()
            except OSError:
                continue
        return lines

    def _interrupted(self) -> KsqlError:
        return self._error("it was stopped during startup")

    def _failure(self, lines: Sequence[str], code: int | None) -> KsqlError:
        """The error for a process that did not start, from its output.

        Args:
            lines: its output.
            code: its exit code; None if it did not respond in time.
        """
        if any("No space left on device" in line for line in lines):
            return KsqlError("DISK_FULL", path=str(self.data_dir))
        return self._error(reason_of(lines, code, self.start_timeout_s))


def reason_of(lines: Sequence[str], code: int | None, waited_s: float) -> str:
    """Describe why a process exited or did not respond.

    Args:
        lines: its output; the last lines count.
        code: its exit code; None if it has not exited.
        waited_s: the time limit, seconds.
    """
    lines = lines[-_LAST_LINES:]
    if code is not None and code < 0:
        return f"it was ended by signal {-code}"
    errors = [line for line in lines if "Exception: " in line or "Error: " in line or " ERROR " in line]
    if errors:
        return errors[-1].strip().removeprefix("Caused by: ").rstrip(".")
    return f"it did not respond within {waited_s:g} s" if code is None else f"exit code {code}"
