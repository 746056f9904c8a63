"""Limits of connections: their number, and the time for a header, for reading, and for being idle.

A client that sends a header byte by byte, or nothing, costs only its connection, so these could run out. Once
there is a request, other limits apply (server.security.middleware).
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Awaitable
from typing import Any, NamedTuple, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger(__name__)

#: how long a refused connection may take to send something, after which it gets the reason
REFUSAL_S = 1.0
#: longer pieces are sent without copying
MAX_JOINED = 65_536
_TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)


class Limits(NamedTuple):
    """The limits on connections.

    Args:
        header_s: how long a header may take (ksql.server.header.timeout.ms).
        most: how many there may be (ksql.server.max.connections).
        idle_s: how long one may be idle (ksql.idle.connection.timeout.seconds); 0: forever.
        send_s: how long output may wait for a client that reads too little (ksql.server.send.timeout.ms).
    """

    header_s: float = 10.0
    most: int = 1_000
    idle_s: float = 86_400.0
    send_s: float = 60.0


DEFAULT_LIMITS = Limits()


class LimitedProtocol(asyncio.Protocol):
    """Closes a connection that takes too long to send a header, and refuses connections above the limit.

    A mixin for uvicorn's protocols.
    """

    limits: Limits
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    connections: set[Any]
    #: when the header must be complete; None if none is being sent
    header_end: float | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start, unless there are too many connections."""
        # by duck typing: uvloop's transports do not derive from asyncio's classes
        transport = cast(asyncio.Transport, transport)
        if len(self.connections) >= self.limits.most and not self._make_room():
            refusal = Refusal()
            transport.set_protocol(refusal)
            refusal.connection_made(transport)
            return
        super().connection_made(transport)
        self._watch(self.awaits_header())

    def data_received(self, data: bytes) -> None:
        """Receive a piece of a request."""
        super().data_received(data)
        self._watch(self.awaits_header())

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up."""
        self._watch(False)
        super().connection_lost(exc)

    def _make_room(self) -> bool:
        """Close a connection whose client has yet to send a header, or to confirm the end of a WebSocket: the
        oldest of the address that has the most of them, so that nobody keeps others out by silence. False:
        there is none.
        """
        silent = [one for one in self.connections if getattr(one, "header_end", None) is not None]
        if not silent:
            return False
        addresses = {one: _address(one.transport) for one in silent}
        of_address = Counter(addresses.values())
        gone = max(silent, key=lambda one: (of_address[addresses[one]], -one.header_end))
        self.connections.discard(gone)  # it counts no more, although its end takes a turn of the loop
        gone.close_late()
        return True

    def awaits_header(self) -> bool:
        """Whether the client must send a header, or the rest of one."""
        return self.transport.get_protocol() is self and not self.transport.is_closing()

    def close_late(self) -> None:
        """Close the connection: its header took too long."""
        self.transport.abort()  # without waiting for the client

    def _watch(self, awaits_header: bool) -> None:
        if not awaits_header and self._timer is not None:
            self._timer.cancel()
            self._timer = self.header_end = None
        elif awaits_header and self._timer is None:
            self.header_end = self.header_end or self.loop.time() + self.limits.header_s
            self._timer = self.loop.call_at(self.header_end, self.close_late)


def _address(transport: asyncio.Transport) -> str:
    peer = transport.get_extra_info("peername")
    return str(peer[0]) if peer else ""


class IdleProtocol(asyncio.Protocol):
    """Closes a connection that is idle for too long, or whose client reads too slowly.

    A mixin for uvicorn's protocols. It waits for a response that has not started. A client is too slow if
    output above the transport's limit waits for it for ``limits.send_s``.
    """

    limits: Limits
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    app: ASGIApp
    #: the time of the last traffic
    active_at: float
    _idle_timer: asyncio.TimerHandle | None = None
    _send_timer: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._app_within = self.app
        self.app = self._served

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer that closes idle connections."""
        super().connection_made(transport)
        self.active_at = self.loop.time()
        if self.limits.idle_s:
            self._idle_timer = self.loop.call_later(self.limits.idle_s, self._check_idle)

    def data_received(self, data: bytes) -> None:
        """Receive a piece of a request."""
        self.active_at = self.loop.time()
        super().data_received(data)

    def pause_writing(self) -> None:
        """Output is waiting for the client."""
        super().pause_writing()
        self._send_timer = self.loop.call_later(self.limits.send_s, self.close_slow)

    def resume_writing(self) -> None:
        """The client has read the waiting output."""
        self._stop_send_timer()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up."""
        self.stop_watching()
        self._stop_send_timer()
        super().connection_lost(exc)

    def _stop_send_timer(self) -> None:
        if self._send_timer is not None:
            self._send_timer.cancel()
            self._send_timer = None

    def close_slow(self) -> None:
        """Close the connection: its client reads too slowly."""
        LOG.warning(
            "a client that did not read its response within %g s (ksql.server.send.timeout.ms) was "
            "disconnected",
            self.limits.send_s,
        )
        self.transport.abort()  # without waiting for the client

    def stop_watching(self) -> None:
        """Hand the connection over to another protocol, or to none."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def is_at_work(self) -> bool:
        """Whether the client is waiting for a response to start."""
        raise NotImplementedError

    def close_idle(self) -> None:
        """Close the connection: it was idle for too long."""
        self.transport.abort()  # without waiting for the client

    def _served(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer one request (ASGI)."""

        def noted(message: Message) -> Awaitable[None]:
            self.active_at = self.loop.time()
            return send(message)

        return self._app_within(scope, receive, noted)

    def _check_idle(self) -> None:
        now = self.loop.time()
        if self.is_at_work():
            self.active_at = now
        remaining_s = self.active_at + self.limits.idle_s - now
        if remaining_s > 0:
            self._idle_timer = self.loop.call_later(remaining_s, self._check_idle)
        else:
            self.close_idle()


class JoiningTransport:
    """A transport that sends a response's header together with its body, which uvicorn writes separately.

    Each piece costs a system call and a packet, and another system call for the client.

    Args:
        transport: sends.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        #: the underlying transport
        self.inner = transport
        self._write = transport.write
        #: whether the next piece waits for the one after it
        self.holds_next = False
        self._held = b""
        # called by each request, without a wrapper in between
        self.is_closing = transport.is_closing
        self.get_protocol = transport.get_protocol

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, data: bytes) -> None:
        """Send ``data``, or hold it until the next call."""
        if self.holds_next:
            self.holds_next, self._held = False, data
            return
        if held := self._held:
            self._held = b""
            if len(data) > MAX_JOINED:
                self._write(held)
            else:
                data = held + data
        if data:
            self._write(data)

    def close(self) -> None:
        """Send held data, and close."""
        self.holds_next = False
        self.write(b"")
        self.inner.close()


class Http2Position:
    """A connection's position in HTTP/2's preface, frames and headers (RFC 9113, 3.4, 4.1 and 6.10)."""

    _FRAME_HEADER_BYTES = 9
    _DATA, _HEADERS, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 8, 9
    _END_STREAM, _END_HEADERS = 1, 4

    def __init__(self) -> None:
        #: how many frames have begun that cost the server work, and carry nothing of a request or a response:
        #: PRIORITY, RST_STREAM, SETTINGS, PING, unknown ones, and DATA without data
        self.empty = 0
        #: how many bytes remain until the next frame
        self._to_skip = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        #: the start of a frame
        self._begun = b""
        self._is_within_header = False

    @property
    def is_between(self) -> bool:
        """Whether all started frames and headers are complete."""
        return not (self._to_skip or self._begun or self._is_within_header)

    def move_over(self, data: bytes, most: int = sys.maxsize) -> int:
        """Process the next piece of the client's input, until ``most`` frames have begun; returns the end."""
        at = 0
        while at < len(data) and most:
            if self._to_skip:
                skipped = min(self._to_skip, len(data) - at)
                self._to_skip -= skipped
                at += skipped
                continue
            part = data[at : at + self._FRAME_HEADER_BYTES - len(self._begun)]
            self._begun += part
            at += len(part)
            if len(self._begun) == self._FRAME_HEADER_BYTES:
                self._to_skip = int.from_bytes(self._begun[:3])
                kind, flags = self._begun[3:5]
                if kind in (self._HEADERS, self._CONTINUATION):
                    self._is_within_header = not flags & self._END_HEADERS
                elif kind == self._DATA:
                    self.empty += not self._to_skip and not flags & self._END_STREAM
                else:
                    self.empty += kind != self._WINDOW_UPDATE
                self._begun = b""
                most -= 1
        return at


class Allowance:
    """How much of something a client may send within a second.

    Args:
        most: the limit.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._second = self._used = 0

    def is_exceeded(self, count: int, now: float) -> bool:
        """Use some of it, at a time in seconds; returns whether that is too much."""
        if int(now) != self._second:
            self._second, self._used = int(now), 0
        self._used += count
        return self._used > self._most


class Refusal(asyncio.Protocol):
    """Explains to the client of a connection above the limit why it is refused, and closes the connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for its request: data after the close would make the client's system discard the response."""
        self._transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(REFUSAL_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        """Answer the first bytes with the refusal."""
        self._transport.write(_TOO_MANY)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up."""
        self._timer.cancel()
