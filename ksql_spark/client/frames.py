"""The parts of a query's response, read by a thread, so that a caller can wait for a limited time."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import httpx

from ksql_spark.client import protocol
from ksql_spark.client.lines import iter_lines

#: how many frames may wait for the caller before reading from the network pauses
QUEUE_FRAMES = 10_000


def shut_down(answer: httpx.Response) -> None:
    """Shut down the socket: that alone wakes a reader that blocks in recv(), and tells the server."""
    stream = answer.extensions.get("network_stream")
    sock = stream.get_extra_info("socket") if stream is not None else None
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


class FrameStream:
    """The frames of a response (docs/reference/rest-protocol.md, 7.5), with fractional numbers as Decimals.

    An interrupted connection becomes a frame ``errorMessage``, like an error of the server.
    """

    def __init__(self, answer: httpx.Response, close_query: Callable[[str], None] | None = None) -> None:
        self._answer = answer
        self._close_query = close_query
        self._query_id: str | None = None
        self._closed = False
        self._ended = False
        #: whether the connection was interrupted
        self.is_broken = False
        self._frames: queue.Queue[dict[str, Any] | None] = queue.Queue(QUEUE_FRAMES)
        self._reader = threading.Thread(target=self._read_all, name="frames", daemon=True)
        self._reader.start()

    def read(self, timeout_s: float) -> list[dict[str, Any]] | None:
        """The frames that have arrived; [] if none arrive within ``timeout_s`` seconds; None at the end."""
        if self._ended:
            return None
        frames: list[dict[str, Any]] = []
        try:
            frame = self._frames.get(timeout=timeout_s)
            while True:
                if frame is None:
                    self._ended = True
                    return frames or None
                frames.append(frame)
                frame = self._frames.get_nowait()
        except queue.Empty:
            return frames

    def close(self) -> None:
        """End the query on the server, and close the connection; may be called more than once."""
        if self._closed:
            return
        self._closed = True
        if not self._ended and self._query_id and self._close_query:
            self._close_query(self._query_id)
        if not self._ended:
            shut_down(self._answer)
        while self._reader.is_alive():
            with contextlib.suppress(queue.Empty):
                self._frames.get(timeout=0.05)
        self._answer.close()

    def _read_all(self) -> None:
        try:
            for frame in self._parsed(iter_lines(self._answer)):
                if "header" in frame:
                    self._query_id = frame["header"].get("queryId")
                self._frames.put(frame)
        except Exception as error:
            if not self._closed:
                self.is_broken = True
                reason = f"The connection to the server broke ({protocol.reason(error)})."
                self._frames.put({"errorMessage": {"error_code": 50000, "message": reason}})
        finally:
            self._frames.put(None)

    def _parsed(self, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
        """The frames in a response's lines; raises if it ends before the array of frames does."""
        is_whole = False
        for line in lines:
            is_whole = line.rstrip().endswith("]")
            frame = _frame(line)
            if frame is not None:
                yield frame
        if not is_whole:
            raise httpx.RemoteProtocolError("it ended within the results")


class LineStream(FrameStream):
    """The lines of a PRINT, as ``{"line": text}``."""

    def _parsed(self, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
        return ({"line": line} for line in lines if line)


def _frame(line: str) -> dict[str, Any] | None:
    """One line of the frame format: an object between ``[`` and ``,`` or ``]``."""
    text = line.strip().removeprefix("[").rstrip(",").strip()
    if text.endswith("]"):
        text = text[:-1]
    if not text:
        return None
    frame: dict[str, Any] = json.loads(text, parse_float=Decimal)
    return frame
