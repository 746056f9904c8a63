"""A real server as a process of its own, with every process that it starts accounted for."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import httpx

from ksql_spark.services.child import is_alive
from tests.waiting import TIMEOUT_S, until

ROOT = Path(__file__).parents[2]

#: a statement waits for Spark, even where that takes minutes to start
PATIENCE = {"KSQL_KSQL_STATEMENT_TIMEOUT_MS": str(int(TIMEOUT_S * 1000))}


class ServerProcess:
    """``python -m ksql_spark.server`` with a data folder, on a free port; a context that cleans up.

    Args:
        data_dir: the server's.
        arguments: more options.
        environment: more variables.
        root: the folder with the server's code.
    """

    def __init__(
        self,
        data_dir: Path,
        *arguments: str,
        environment: Mapping[str, str] = MappingProxyType({}),
        root: Path = ROOT,
    ) -> None:
        #: everything that is started inherits it, so nothing can hide
        self._mark = f"TEST_MARK={uuid.uuid4().hex}"
        name, _, value = self._mark.partition("=")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KSQL_")}
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "ksql_spark.server",
                "--listen",
                "127.0.0.1:0",
                "--data-dir",
                str(data_dir),
                *arguments,
            ],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**inherited, **PATIENCE, **environment, name: value},
            start_new_session=True,
        )
        self.url = ""

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.crash()
        self.process.communicate()

    def until(self, start: str) -> str:
        """The next line of output that starts so; it must come before the server is ready."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith(start):
                return line.rstrip()
            if line.startswith(("ready: ", "complete: ")):
                break
        self.crash()
        assert self.process.stderr is not None
        raise AssertionError("\n".join([f"no line '{start}…':", *self.lines, self.process.stderr.read()]))

    def ready(self) -> ServerProcess:
        """Wait until everything runs."""
        self.serving().until("complete: ")
        return self

    def serving(self) -> ServerProcess:
        """Wait until requests are answered; those that need Spark wait for it."""
        self.url = self.until("ready: ").split()[1]
        return self

    def execute(self, text: str, **properties: Any) -> Any:
        """POST /ksql; the entities. Raises AssertionError for an error."""
        body = {"ksql": text, "streamsProperties": properties}
        answer = httpx.post(f"{self.url}/ksql", json=body, timeout=TIMEOUT_S)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def rows(self, text: str) -> list[list[Any]]:
        """POST /query-stream; the rows of a query that ends."""
        answer = httpx.post(f"{self.url}/query-stream", json={"sql": text}, timeout=TIMEOUT_S)
        assert answer.status_code == 200, answer.text
        return [row for row in map(json.loads, answer.text.splitlines()[1:]) if isinstance(row, list)]

    def bootstrap_servers(self) -> str:
        """Where the server's Kafka is."""
        line = next(line for line in self.lines if line.startswith("Kafka runs at "))
        return line.removeprefix("Kafka runs at ").split(",")[0]

    def pids(self) -> list[int]:
        """All living processes that come from this one."""
        living = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                pid = int(folder.name)
                if self._mark.encode() in (folder / "environ").read_bytes().split(b"\0") and is_alive(pid):
                    living.append(pid)
        return living

    def executors(self) -> list[int]:
        """The processes that run tasks, where Spark started them."""
        command = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
        return [pid for pid in self.pids() if command in command_line(pid)]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal to the server alone and wait; exit code, the rest of its output, its errors."""
        self.process.send_signal(number)
        return self.end()

    def end(self) -> tuple[int, str, str]:
        """Wait until it has ended by itself, see stop()."""
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err

    def crash(self) -> None:
        """Kill everything at once, as a power cut would."""
        while pids := self.pids():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to everything at once: SIGSTOP is a machine that is frozen."""
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def wait_until_alone(self) -> None:
        """Wait until no process is left; fails when one stays."""
        until(lambda: not self.pids(), lambda: [*map(command_line, self.pids())])


def command_line(pid: int) -> bytes:
    """That of a process; nothing where it has just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
