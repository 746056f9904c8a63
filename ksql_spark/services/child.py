"""A child process that does not outlive us, and that does not receive the terminal's Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

#: of Linux; other systems have ps
PROCESSES = Path("/proc")

# The shell starts a watcher that reads from a pipe to us, then becomes the command (exec). We write a line
# before we close the pipe. If we are killed, the pipe ends without it, and the watcher ends the command. This
# needs no signal tied to a thread (like PR_SET_PDEATHSIG), and no code between fork and exec.
_WATCHED = """
exec {fd}<&0 </dev/null
(
  read -r line <&{fd} && exit
  kill -TERM $$
  for tenth in 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0; do
    sleep 0.3
    kill -0 $$ || exit
  done
  kill -KILL $$
) >/dev/null 2>&1 &
exec {fd}<&-
exec "$@"
"""


class ChildProcess:
    """A command running in its own session.

    Args:
        command: the program and its arguments.
        output: the file to which its output is appended.
        pass_fds: file descriptors that it inherits.
    """

    def __init__(self, command: Sequence[str], output: Path, pass_fds: Sequence[int] = ()) -> None:
        # a free descriptor that a POSIX shell can redirect
        lifeline = next(number for number in range(3, 10) if number not in pass_fds)
        with output.open("ab") as printed:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _WATCHED.format(fd=lifeline), "sh", *command],
                stdin=subprocess.PIPE,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        self._stopping = threading.Lock()
        assert self._process.stdin is not None
        self._lifeline: IO[bytes] = self._process.stdin

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def is_running(self) -> bool:
        """False once it has exited."""
        return self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """The exit code of the process, -n if signal n ended it; None while it runs."""
        return self._process.poll()

    def terminate(self) -> None:
        """Tell it to exit; call stop() later."""
        if self.is_running():
            self._process.terminate()

    def ends_within(self, timeout_s: float) -> bool:
        """Wait until it has exited, for ``timeout_s`` seconds at most; whether it has."""
        return ends_within(self._process, timeout_s)

    def stop(self, timeout_s: float) -> None:
        """Terminate it, and kill it after ``timeout_s`` seconds. Callable from any thread, more than once."""
        with self._stopping:
            if self.is_running():
                self._process.terminate()
                if not self.ends_within(timeout_s):
                    self.kill()
            if not self._lifeline.closed:
                with contextlib.suppress(BrokenPipeError):
                    self._lifeline.write(b"ended\n")
                    self._lifeline.flush()
                with contextlib.suppress(BrokenPipeError):
                    self._lifeline.close()

    def kill(self) -> None:
        """Kill it, and the processes that it has started, at once."""
        kill_session(self._process)


def ends_within(process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Wait until a process has exited, for ``timeout_s`` seconds at most; whether it has."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout_s)
    return process.poll() is not None


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was started in a session of its own, and all that it has started there.

    They may be frozen, and some may have outlived it.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()  # it may not have its session yet
    process.wait()


def is_alive(pid: int) -> bool:
    """Whether a process with this id is running; zombies do not count."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with contextlib.suppress(OSError, IndexError):
        return _state(pid)[0] != "Z"
    return True


def _state(pid: int) -> str:
    """The state of a process, as ps shows it."""
    if PROCESSES.is_dir():
        return (PROCESSES / str(pid) / "stat").read_text().rpartition(")")[2].strip()
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.strip()
