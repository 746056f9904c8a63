"""Limits of connections: how many there are, and how long each may take for a header, to read, or be idle.

A client that sends a header byte by byte, or nothing, costs no more than its connection; so these run out.
Once there is a request, other limits apply (server.security.middleware).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, NamedTuple, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOG = logging.getLogger(__name__)

#: how long a connection that is refused may take to send something, after which it is told why
REFUSAL_S = 1.0
#: longer pieces are sent as they are, and not copied
MAX_JOINED = 65_536
_TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)


class Limits(NamedTuple):
    """What connections may do.

    Args:
        header_s: how long a header may take (ksql.server.header.timeout.ms).
        most: how many there may be (ksql.server.max.connections).
        idle_s: for how long nothing may go over one (ksql.idle.connection.timeout.seconds); 0: for ever.
        send_s: how long output may wait for a client that reads too little (ksql.server.send.timeout.ms).
    """

    header_s: float = 10.0
    most: int = 1_000
    idle_s: float = 86_400.0
    send_s: float = 60.0


DEFAULT_LIMITS = Limits()


class LimitedProtocol(asyncio.Protocol):
    """Closes a connection that takes too long to send a header, and refuses one too many.

    To be mixed into a protocol of uvicorn's.
    """

    limits: Limits
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    connections: set[Any]
    #: when the header has to be there; None: none is being sent
    header_end: float | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless there are too many."""
        # by its face, not its class: uvloop's transports have no class of asyncio's
        transport = cast(asyncio.Transport, transport)
        if len(self.connections) >= self.limits.most:
            refusal = Refusal()
            transport.set_protocol(refusal)
            refusal.connection_made(transport)
            return
        super().connection_made(transport)
        self._watch(self.awaits_header())

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        self._watch(self.awaits_header())

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._watch(False)
        super().connection_lost(exc)

    def awaits_header(self) -> bool:
        """Whether the client is to send a header, or the rest of one."""
        return self.transport.get_protocol() is self and not self.transport.is_closing()

    def close_late(self) -> None:
        """Close the connection: its header took too long."""
        self.transport.abort()  # which waits for nothing that the client does

    def _watch(self, awaits_header: bool) -> None:
        if not awaits_header and self._timer is not None:
            self._timer.cancel()
            self._timer = self.header_end = None
        elif awaits_header and self._timer is None:
            self.header_end = self.header_end or self.loop.time() + self.limits.header_s
            self._timer = self.loop.call_at(self.header_end, self.close_late)


class IdleProtocol(asyncio.Protocol):
    """Closes a connection over which nothing has gone for too long, or whose client reads too slowly.

    To be mixed into a protocol of uvicorn's. An answer that has not begun is waited for. A client is too slow
    if output waits for it (more than the transport's limit) for as long as ``limits.send_s``.
    """

    limits: Limits
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    app: ASGIApp
    #: when something went over it
    active_at: float
    _idle_timer: asyncio.TimerHandle | None = None
    _send_timer: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._app_within = self.app
        self.app = self._served

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        super().connection_made(transport)
        self.active_at = self.loop.time()
        if self.limits.idle_s:
            self._idle_timer = self.loop.call_later(self.limits.idle_s, self._check_idle)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        self.active_at = self.loop.time()
        super().data_received(data)

    def pause_writing(self) -> None:
        """Output waits for the client."""
        super().pause_writing()
        self._send_timer = self.loop.call_later(self.limits.send_s, self.close_slow)

    def resume_writing(self) -> None:
        """The client has read what waited."""
        self._stop_send_timer()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
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
        self.transport.abort()  # which waits for nothing that the client does

    def stop_watching(self) -> None:
        """Leave the connection to another protocol, or to nobody."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def is_at_work(self) -> bool:
        """Whether the client waits for the beginning of an answer."""
        raise NotImplementedError

    def close_idle(self) -> None:
        """Close the connection: it was idle for too long."""
        self.transport.abort()  # which waits for nothing that the client does

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
        left_s = self.active_at + self.limits.idle_s - now
        if left_s > 0:
            self._idle_timer = self.loop.call_later(left_s, self._check_idle)
        else:
            self.close_idle()


class JoiningTransport:
    """A transport that sends the header of an answer with its body: uvicorn writes them one after the other.

    Each piece costs a call of the system, a packet, and another one for the client.

    Args:
        transport: sends.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        #: the transport itself
        self.inner = transport
        self._write = transport.write
        #: whether the next piece waits for the one after it
        self.holds_next = False
        self._held = b""
        # what each request asks, without a call in between
        self.is_closing = transport.is_closing
        self.get_protocol = transport.get_protocol

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, data: bytes) -> None:
        """Send ``data``, or keep it for the next call."""
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
        """Send what is kept, and close."""
        self.holds_next = False
        self.write(b"")
        self.inner.close()


class Http2Position:
    """Where in HTTP/2's preface, frames and headers a connection is (RFC 9113, 3.4, 4.1 and 6.10)."""

    _FRAME_HEADER_BYTES = 9
    _HEADERS, _CONTINUATION, _END_HEADERS = 1, 9, 4

    def __init__(self) -> None:
        #: how many bytes come before the next frame
        self._left = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        #: the beginning of a frame
        self._begun = b""
        self._is_within_header = False

    @property
    def is_between(self) -> bool:
        """Whether all frames and headers that have begun are there."""
        return not (self._left or self._begun or self._is_within_header)

    def move_over(self, data: bytes) -> None:
        """Take the next piece of what the client sends."""
        at = 0
        while at < len(data):
            if self._left:
                skipped = min(self._left, len(data) - at)
                self._left -= skipped
                at += skipped
                continue
            part = data[at : at + self._FRAME_HEADER_BYTES - len(self._begun)]
            self._begun += part
            at += len(part)
            if len(self._begun) == self._FRAME_HEADER_BYTES:
                self._left = int.from_bytes(self._begun[:3])
                kind, flags = self._begun[3:5]
                if kind in (self._HEADERS, self._CONTINUATION):
                    self._is_within_header = not flags & self._END_HEADERS
                self._begun = b""


class Refusal(asyncio.Protocol):
    """Tells the client of a connection that it is one too many, and closes it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for its request: what comes after the end would make its system forget the answer."""
        self._transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(REFUSAL_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        """Answer."""
        self._transport.write(_TOO_MANY)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._timer.cancel()
