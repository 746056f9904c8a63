"""The JVM's side: starts ``java/Reads.java``, and asks it from an event loop."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from ksql_spark.services import artifacts
from ksql_spark.services.class_archive import ClassArchive
from ksql_spark.services.java import java_binary
from ksql_spark.spark.session import JAVA_OPTIONS

SOURCES = Path(__file__).parent / "java"


class ReadsProcess:
    """A JVM that serves look-ups of a table, or feeds rows of a stream.

    Args:
        place: the folder for its socket and its input.
        heap: the most heap, as Java's -Xmx.
        members: of the input, see Reads.java.
    """

    def __init__(self, place: Path, heap: str = "2g", **members: Any) -> None:
        self.socket = place / f"reads-{time.monotonic_ns()}.sock"
        file = self.socket.with_suffix(".json")
        file.write_text(json.dumps({"socket": str(self.socket), **members}), encoding="utf-8")
        needed = [artifacts.own_classes(), *artifacts.jars("spark")]
        needed += sorted(artifacts.pyspark_jars().glob("*.jar"))
        jars = [artifacts.compile_java(SOURCES, needed, print), *needed]
        self._archive = ClassArchive("reads", jars)
        options = self._archive.options() or self._archive.recording()
        java = [str(java_binary()), f"-Xmx{heap}", "-XX:+UseG1GC", *JAVA_OPTIONS, *options]
        command = [*java, "-cp", os.pathsep.join(map(str, jars)), "Reads", str(file)]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ready(self) -> float:
        """Wait until it has read its topic; seconds since its start."""
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the JVM has ended")
        return time.perf_counter() - self.began

    def __enter__(self) -> ReadsProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.wait(60)
        self._archive.keep()


class LookUps(asyncio.Protocol):
    """One connection for all look-ups; requests of one turn of the event loop leave together."""

    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._number = 0
        self._requests: list[bytes] = []
        self._received = b""

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Pass answers to those who wait."""
        data = self._received + data if self._received else data
        at, size = 0, len(data)
        while size - at >= 8 and at + 4 + (length := int.from_bytes(data[at : at + 4])) <= size:
            number = int.from_bytes(data[at + 4 : at + 8])
            at, begin = at + 4 + length, at + 8
            if not (waiting := self._waiting.pop(number)).done():
                waiting.set_result(data[begin:at])
        self._received = data[at:]

    async def answer(self, key: bytes) -> bytes:
        """The lines of an answer behind the query's id."""
        self._number = (self._number + 1) & 0x7FFFFFFF
        waiting = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        if not self._requests:
            asyncio.get_running_loop().call_soon(self._send)
        self._requests.append((len(key) + 4).to_bytes(4) + self._number.to_bytes(4) + key)
        return await waiting

    def _send(self) -> None:
        self._transport.write(b"".join(self._requests))
        self._requests.clear()


def connector(path: str) -> Callable[[], Any]:
    """A coroutine function that returns the only connection to the socket."""
    connection: asyncio.Future[Any] | None = None

    async def connected() -> LookUps:
        nonlocal connection
        if connection is None:
            loop = asyncio.get_running_loop()
            connection = asyncio.ensure_future(loop.create_unix_connection(LookUps, path))
        _, protocol = await connection
        return protocol  # type: ignore[no-any-return]

    return connected


async def feed(path: str) -> AsyncIterator[bytes]:
    """The rows of a feed, as text."""
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        while True:
            head = await reader.readexactly(8)
            yield await reader.readexactly(int.from_bytes(head[:4]) - 4)
    finally:
        writer.close()
