"""Limits of connections: how many there are, and how long each may take to send a request's header.

A client that sends a header byte by byte, or nothing, costs no more than its connection; so these run out.
Once there is a request, other limits apply (server.guards).
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

#: how long a connection that is refused may take to send something, after which it is told why
REFUSAL_S = 1.0
_TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)


class Limits(NamedTuple):
    """What connections may do: ksql.server.header.timeout.ms and ksql.server.max.connections."""

    header_s: float = 10.0
    most: int = 1_000


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
        assert isinstance(transport, asyncio.Transport)
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


class Refusal(asyncio.Protocol):
    """Tells the client of a connection that it is one too many, and closes it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for its request: what comes after the end would make its system forget the answer."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._timer = asyncio.get_running_loop().call_later(REFUSAL_S, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Answer."""
        self._transport.write(_TOO_MANY)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._timer.cancel()
