"""Where a server runs: a network that can be cut, a full disk, a clock that jumps, and limited memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from ksql_spark.services.broker import EmbeddedBroker
from ksql_spark.services.ports import HOST, free_port

#: the size of a small disk, MiB
DISK_MB = 1024


class Proxy:
    """Passes on what comes to a port of its own, in a thread, until it is cut.

    Args:
        target: the port that it passes connections on to.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self.port = 0
        self._is_listening = threading.Event()
        self._is_refusing = False
        #: what passes something on
        self._passing: set[asyncio.Future[None]] = set()

    @property
    def address(self) -> str:
        """``host:port`` for clients."""
        return f"{HOST}:{self.port}"

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        self._is_listening.wait()

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Close connections as soon as they are opened meanwhile, and those that there are."""
        self._is_refusing = True
        self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in self._passing])
        try:
            yield
        finally:
            self._is_refusing = False

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        """Pass nothing on meanwhile; connections stay, as they do if a cable is pulled."""
        self._loop.call_soon_threadsafe(self._is_open.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._is_open.set)

    def close(self) -> None:
        """Close all connections."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        self._loop.run_until_complete(self._listen())
        self._is_listening.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, HOST, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _end(self) -> None:
        assert self._server is not None
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer):
            await self._is_open.wait()
            if self._is_refusing:
                return
            try:
                back, forth = await asyncio.open_connection(HOST, self._target)
            except OSError:
                return
            with contextlib.closing(forth):
                ways = [asyncio.ensure_future(self._pass(*way)) for way in ((reader, forth), (back, writer))]
                self._passing.update(ways)
                try:
                    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                except asyncio.CancelledError:
                    return  # the stream's own callback would report it
                finally:
                    self._passing.difference_update(ways)
                    for way in ways:
                        way.cancel()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._is_open.wait()
                writer.write(data)
                await writer.drain()


class ProxiedBroker(EmbeddedBroker):
    """A broker with a second listener, behind a proxy."""

    start_timeout_s = 600.0  # it is not what is tried

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir, port=0)
        self._behind = free_port()
        self.proxy = Proxy(self._behind)
        self.proxy.start()

    def _write_properties(self, controller_port: int) -> None:
        super()._write_properties(controller_port)
        more = {
            "listener.security.protocol.map": "PROXIED:PLAINTEXT",
            "listeners": f"PROXIED://{HOST}:{self._behind}",
            "advertised.listeners": f"PROXIED://{self.proxy.address}",
        }
        lines = []
        for line in self._properties_file.read_text().splitlines():
            name = line.partition("=")[0]
            lines.append(f"{line},{more[name]}" if name in more else line)
        self._properties_file.write_text("\n".join(lines) + "\n")

    def close(self) -> None:
        """Stop both."""
        self.stop()
        self.proxy.close()


class SmallDisk:
    """A file system of its own in a folder; only root may make one.

    Args:
        folder: where; it is made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        options = ["-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=0700", "tmpfs"]
        subprocess.run(["mount", *options, str(folder)], check=True)

    @staticmethod
    def is_possible() -> bool:
        """Whether this user may."""
        return os.geteuid() == 0

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Leave no space on it meanwhile."""
        filler = self.folder / "filler"
        try:
            with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(1 << 16))
            yield
        finally:
            filler.unlink()

    def close(self) -> None:
        """Unmount it."""
        subprocess.run(["umount", "-l", str(self.folder)], check=True)


class Clock:
    """A wall clock for processes that are started with its environment.

    Args:
        folder: for its files.
    """

    def __init__(self, folder: Path) -> None:
        self._offset, library = folder / "clock.offset", folder / "clock.so"
        source = Path(__file__).with_name("clock.c")
        command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        subprocess.run(command, check=True)
        self._offset.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self._offset)}

    @staticmethod
    def is_possible() -> bool:
        """Whether it can be made."""
        return sys.platform == "linux" and shutil.which("cc") is not None

    def set(self, seconds: int) -> None:
        """Let the clock be so many seconds ahead from now on."""
        with self._offset.open("r+b") as file:  # which others have mapped
            file.write(struct.pack("=q", seconds))


class MemoryGroup:
    """A memory cgroup of its own (version 1), below that of this process; only root may make one."""

    _CONTROLLER = Path("/sys/fs/cgroup/memory")

    def __init__(self) -> None:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = next(line.rpartition(":")[2] for line in lines if line.split(":")[1] == "memory")
        self._folder = self._CONTROLLER / own.lstrip("/") / f"ksql-spark-faults-{os.getpid()}"
        self._folder.mkdir()

    @classmethod
    def is_possible(cls) -> bool:
        """Whether this machine and user may."""
        return os.geteuid() == 0 and (cls._CONTROLLER / "memory.oom_control").exists()

    def add(self, pid: int) -> None:
        """Put a process into it; those that it starts from now on are in it, too."""
        (self._folder / "cgroup.procs").write_text(str(pid))
        # rather than what exceeds the limit
        Path(f"/proc/{pid}/oom_score_adj").write_text("500")

    @contextlib.contextmanager
    def exceeded(self) -> Iterator[None]:
        """Take memory up to a limit just above what is used, until the kernel has killed something."""
        used = int((self._folder / "memory.usage_in_bytes").read_text())
        limit = self._folder / "memory.limit_in_bytes"
        limit.write_text(str(used + (32 << 20)))
        before = self._killed()
        command = [sys.executable, "-c", _HOG, str(self._folder), str(before)]
        hog = subprocess.Popen(command)
        try:
            hog.wait(60)
            assert self._killed() > before, "the kernel killed nothing"
            yield
        finally:
            hog.kill()
            hog.wait()
            limit.write_text("-1")

    def _killed(self) -> int:
        """How many processes the kernel has killed for this limit."""
        return int((self._folder / "memory.oom_control").read_text().rpartition("oom_kill ")[2])

    def close(self) -> None:
        """Remove it; nothing must run in it."""
        deadline = time.monotonic() + 60
        while self._folder.exists():
            try:
                self._folder.rmdir()
            except OSError:  # processes of it have not ended altogether
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)


#: takes memory in a group until the kernel has killed another process of it
_HOG = """
import pathlib, sys
folder, before = pathlib.Path(sys.argv[1]), int(sys.argv[2])
(folder / "cgroup.procs").write_text("0")
taken = []
while int((folder / "memory.oom_control").read_text().rpartition("oom_kill ")[2]) == before:
    taken.append(b"x" * (1 << 20))
"""


__all__ = ["Clock", "MemoryGroup", "ProxiedBroker", "Proxy", "SmallDisk"]
