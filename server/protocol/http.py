"""HTTP/1.1 and HTTP/2 on one port (ADR 18).

HTTP/2 is used with prior knowledge in clear text, or with ALPN over TLS; the first bytes of a connection
decide. It needs zttp, which has no wheels for some platforms: without it, the server only speaks HTTP/1.1.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import ipaddress
import socket
import ssl
import sys
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import urlsplit

from starlette.types import Message, Receive, Scope, Send

from ksql_spark.config import Config
from ksql_spark.errors import KsqlError
from ksql_spark.server.protocol.connections import (
    DEFAULT_LIMITS,
    Allowance,
    Http2Position,
    IdleProtocol,
    JoiningTransport,
    LimitedProtocol,
    Limits,
)

if TYPE_CHECKING:
    import zttp

#: how many bytes of one response may wait for a client that does not read
MAX_WAITING_BYTES = 256 * 1024
PROXIES = "ksql.server.trusted.proxies"
IPV4 = 4
#: this many empty lines before a connection's first request are ignored (RFC 9112 §2.2)
MAX_EMPTY_LINES = 4
#: how many frames that carry nothing a connection of HTTP/2 may send within a second, and one of a WebSocket,
#: whose client only has to answer pings
MAX_EMPTY_FRAMES, MAX_WEBSOCKET_FRAMES = 2_000, 500
#: how many frames of HTTP/2 to process before other connections have their turn
TURN_FRAMES = 100
#: how many bytes of a WebSocket to process before its frames are counted
TURN_BYTES = 2048
#: the maximum size of a message of a WebSocket, also once it is decompressed
MAX_MESSAGE_BYTES = 65_536
#: the codes for closing a WebSocket that was idle for too long, or sent too much
GOING_AWAY, POLICY_VIOLATION = 1001, 1008
_BAD_UPGRADE_TEXT = b"A WebSocket is opened by a GET without a body (RFC 6455, section 4.1)."
_BAD_UPGRADE = (
    b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_BAD_UPGRADE_TEXT), _BAD_UPGRADE_TEXT)
)


def close_unread(listener: socket.socket, timeout_ms: int) -> None:
    """Let the system close connections whose clients stop reading.

    So the bytes that wait for such a client do not wait forever, and its query ends as with any client that
    disconnects.

    Args:
        listener: accepts the connections.
        timeout_ms: the time limit; only Linux supports it.
    """
    if sys.platform == "linux":
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, timeout_ms)


class HttpSettings(TypedDict, total=False):
    """Arguments of uvicorn.Config."""

    http: Any
    ws: Any
    ws_max_size: int
    #: replaces uvicorn's own handling, which trusts any program on this machine; see trusted_proxies()
    proxy_headers: bool


class TlsSettings(TypedDict, total=False):
    """The arguments of uvicorn.Config for TLS; none for clear text."""

    ssl_certfile: str
    ssl_keyfile: str | None
    ssl_keyfile_password: str | None
    ssl_ca_certs: str | None
    ssl_cert_reqs: int


def tls_settings(config: Config) -> TlsSettings:
    """The TLS settings in ``config``.

    Raises:
        ValueError: listeners both with and without TLS, or unusable files.
    """
    schemes = {urlsplit(text.strip()).scheme for text in str(config["listeners"]).split(",")}
    if "https" not in schemes:
        return {}
    if schemes != {"https"}:
        raise ValueError("Listeners must be all http or all https.")
    certificate = config["ksql.server.tls.certificate"]
    if not certificate:
        raise ValueError("An https listener needs ksql.server.tls.certificate and ksql.server.tls.key.")
    authorities = config["ksql.server.tls.client.authorities"]
    settings = TlsSettings(
        ssl_certfile=certificate,
        ssl_keyfile=config["ksql.server.tls.key"],
        ssl_keyfile_password=config["ksql.server.tls.key.password"],
        ssl_ca_certs=authorities,
        ssl_cert_reqs=ssl.CERT_REQUIRED if authorities else ssl.CERT_NONE,
    )
    _check(settings)
    return settings


def trusted_proxies(config: Config) -> list[str]:
    """The proxies of ksql.server.trusted.proxies, in the form of uvicorn's middleware.

    Raises:
        KsqlError: PROPERTY_INVALID, an entry is not an address or network.
    """
    proxies = []
    for text in config[PROXIES]:
        try:
            network = ipaddress.ip_network(text)
        except ValueError as error:
            reason = f"expected an address or a network, such as 10.0.0.7 or 10.0.0.0/8 ({error})"
            raise KsqlError("PROPERTY_INVALID", name=PROXIES, value=text, reason=reason) from None
        proxies.append(str(network))
        if network.version == IPV4:  # a listener at [::] shows such clients in this form
            proxies.append(f"::ffff:{network.network_address}/{network.prefixlen + 96}")
    return proxies


def _check(settings: TlsSettings) -> None:
    """Check that the files are usable, before anything starts. Raises ValueError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    password = settings["ssl_keyfile_password"]
    try:
        # without a password it must not prompt for one on the terminal
        context.load_cert_chain(settings["ssl_certfile"], settings["ssl_keyfile"], lambda: password or "")
        if settings["ssl_ca_certs"]:
            context.load_verify_locations(settings["ssl_ca_certs"])
    except (OSError, ValueError) as error:  # includes ssl.SSLError
        raise ValueError(f"The files of ksql.server.tls.* cannot be used: {error}.") from None


def has_http2() -> bool:
    """Whether zttp is installed."""
    return importlib.util.find_spec("zttp") is not None


def http_settings(limits: Limits = DEFAULT_LIMITS) -> HttpSettings:
    """Return settings for both versions of HTTP if zttp is installed, else HTTP/1.1, with ``limits``."""
    if has_http2():
        http = _both(limits)
    else:
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        http = _http1(AutoHTTPProtocol, limits)
    return {
        "http": http,
        "ws": _websockets(limits),
        "ws_max_size": MAX_MESSAGE_BYTES,
        "proxy_headers": False,
    }


def _both(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's protocol for both versions, with limits."""
    from uvicorn.protocols.http.auto_zttp_impl import AutoZttpProtocol
    from uvicorn.protocols.http.zttp_impl import ZttpProtocol

    versions = (_http1(ZttpProtocol, limits), _http2(limits))

    class BothProtocols(LimitedProtocol, AutoZttpProtocol):
        """Uses the version that a connection's first bytes, or ALPN, choose."""

        def _switch(self, http2: bool, initial_data: bytes = b"") -> None:
            protocol = versions[http2](
                config=self.config,
                server_state=self.server_state,
                app_state=self.app_state,
                _loop=self.loop,
            )
            protocol.header_end = self.header_end
            self.transport.set_protocol(protocol)
            protocol.connection_made(self.transport)
            if initial_data:
                protocol.data_received(initial_data)

    BothProtocols.limits = limits
    return BothProtocols


def _http1(base: Any, limits: Limits) -> Any:
    """HTTP/1.1 with limits; ``base`` is one of uvicorn's protocols."""

    class Http1Protocol(LimitedProtocol, IdleProtocol, base):  # type: ignore[misc]
        """HTTP/1.1 with time limits for headers and for idle connections."""

        transport: Any
        _empty_lines_left = MAX_EMPTY_LINES
        #: part of an empty line that has not arrived completely
        _held = b""

        def connection_made(self, transport: Any) -> None:
            """Start."""
            super().connection_made(transport)
            if self.transport is transport:  # unless it was refused
                self.transport = JoiningTransport(transport)

        def data_received(self, data: bytes) -> None:
            """Receive a piece of a request.

            Empty lines are removed only if no request has started: later, only the parser knows whether it is
            between two requests, and a wrong guess would enable request smuggling.
            """
            if self._empty_lines_left:
                data = self._held + data
                while self._empty_lines_left and data.startswith(b"\r\n"):
                    data = data[2:]
                    self._empty_lines_left -= 1
                self._held = data if data == b"\r" else b""
                if data in (b"", b"\r"):
                    return
                self._empty_lines_left = 0
            super().data_received(data)

        def _served(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            """Answer one request (ASGI)."""
            transport: JoiningTransport = self.transport

            def joined(message: Message) -> Awaitable[None]:
                if message["type"] == "http.response.start":
                    transport.holds_next = _is_there(scope, message)
                return send(message)

            return super()._served(scope, receive, joined)

        def awaits_header(self) -> bool:
            """Whether no request is in progress and the connection has not become a WebSocket."""
            return super().awaits_header() and (self.cycle is None or self.cycle.response_complete)

        def handle_websocket_upgrade(self, *event: Any) -> None:
            """Hand the connection over to the WebSocket protocol."""
            self.stop_watching()
            self.transport = self.transport.inner
            super().handle_websocket_upgrade(*event)

        def is_at_work(self) -> bool:
            """Whether a request is waiting for its response."""
            return self.cycle is not None and not self.cycle.response_started

    Http1Protocol.limits = limits
    return Http1Protocol


def _is_there(scope: Scope, start: Message) -> bool:
    """Whether a response is complete with its body; others start long before they end."""
    length = next((value for name, value in start.get("headers", ()) if name == b"content-length"), b"0")
    return length != b"0" and scope["method"] != "HEAD" and start["status"] not in (204, 304)


def _websockets(limits: Limits) -> Any:
    """WebSockets with limits."""
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

    class WebSocketProtocol(IdleProtocol, WebSocketsSansIOProtocol):
        """A WebSocket with limits for idleness and for what its client sends, which has no meaning.

        uvicorn's own protocol keeps all parts of a message, however many there are, and processes any number
        of frames before other connections have their turn.
        """

        _has_answered = False
        #: when the client must have confirmed the end, or None before the end is sent
        header_end: float | None = None

        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            self._frames = 0
            self._allowance = Allowance(MAX_WEBSOCKET_FRAMES)

        def data_received(self, data: bytes) -> None:
            """Receive frames, or the request before them, which uvicorn passes on as one piece."""
            if not self.handshake_initiated:
                super().data_received(data)
                if not self.handshake_initiated:  # the library takes no body, and only short lines
                    self.transport.write(b"".join(self.conn.data_to_send()) or _BAD_UPGRADE)
                    self.transport.close()
                return
            active_at = self.active_at
            for at in range(0, len(data), TURN_BYTES):
                if self.transport.is_closing():
                    return
                super().data_received(data[at : at + TURN_BYTES])
                frames, self._frames = self._frames, 0
                if self._allowance.is_exceeded(frames, self.loop.time()):
                    self._end(POLICY_VIOLATION, "too many messages")
                    return
            self.active_at = active_at

        def handle_text(self, event: Any) -> None:
            """Discard a message, or a part of one."""
            self._frames += 1

        handle_bytes = handle_cont = handle_text

        def handle_ping(self) -> None:
            """Answer."""
            self._frames += 1
            super().handle_ping()

        def handle_pong(self, event: Any) -> None:
            """Note that the client is there."""
            self._frames += 1
            super().handle_pong(event)

        async def send(self, message: Any) -> None:
            """Send a message."""
            self._has_answered = self._has_answered or message["type"] != "websocket.accept"
            await super().send(message)
            if message["type"] == "websocket.close" and self.close_sent:
                self.header_end = self.loop.time() + self.close_timeout
            elif message["type"] == "websocket.http.response.body" and not message.get("more_body"):
                self.handshake_complete = True  # refused, which is no error

        def close_late(self) -> None:
            """Close the connection: its client does not confirm its end."""
            self.transport.abort()  # without waiting for the client

        def connection_lost(self, exc: Exception | None) -> None:
            """Clean up."""
            self.connections.add(self)  # the base removes it, although it may have given way to another
            super().connection_lost(exc)

        def is_at_work(self) -> bool:
            """Whether the query has not started."""
            return not self._has_answered

        def close_idle(self) -> None:
            """Send the reason, and close."""
            self._end(GOING_AWAY, "idle for too long")

        def _end(self, code: int, reason: str) -> None:
            """Send a reason, and close without waiting for the client."""
            if not self.close_sent:
                self.conn.send_close(code, reason)
                self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.abort()

    WebSocketProtocol.limits = limits
    return WebSocketProtocol


def _http2(limits: Limits) -> Any:
    """HTTP/2 with limits."""
    from uvicorn.protocols.http.zttp_h2_impl import ZttpH2Protocol

    class Http2Protocol(LimitedProtocol, IdleProtocol, ZttpH2Protocol):
        """HTTP/2 with time limits for headers and idle connections, whose responses wait for slow clients.

        uvicorn's own protocol waits only for the connection. zttp buffers what does not fit into the client's
        window, so a client that does not read one of several streams would fill the server's memory.
        """

        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            self._position = Http2Position()
            self._allowance = Allowance(MAX_EMPTY_FRAMES)
            #: input that waits for its turn
            self._held = b""
            self._moved = asyncio.Event()

        def awaits_header(self) -> bool:
            """Whether no request is in progress and part of a frame or header has arrived."""
            return super().awaits_header() and not self.cycles and not self._position.is_between

        def is_at_work(self) -> bool:
            """Whether a request has no answer yet."""
            return any(not cycle.response_started for cycle in self.cycles.values())

        def close_late(self) -> None:
            """Send GOAWAY, and close."""
            self._send_goaway()
            super().close_late()

        def close_idle(self) -> None:
            """Send GOAWAY, and close."""
            self._send_goaway()
            super().close_idle()

        def _send_goaway(self) -> None:
            self.conn.close()
            self.flush()

        def handle_request(self, event: zttp.Request) -> None:
            """Start a request."""
            stream = self.conn.stream(event.stream_id)
            self.app = functools.partial(self._serve, stream)
            super().handle_request(event)
            if event.end_stream and (cycle := self.cycles.get(event.stream_id)) is not None:
                cycle.more_body = False  # no event says so, and receive() would wait for ever
                cycle.message_event.set()

        def data_received(self, data: bytes) -> None:
            """Take frames, a few in each turn of the loop: thousands are in one piece."""
            if self._held:
                self._held += data
                self.transport.pause_reading()
            else:
                self._take(data)

        def _take(self, data: bytes) -> None:
            """Take frames, which may give room to responses."""
            empty = self._position.empty
            end = self._position.move_over(data, TURN_FRAMES)  # zttp has no event for a part of a frame
            if self._allowance.is_exceeded(self._position.empty - empty, self.loop.time()):
                self.close_late()
                return
            active_at, had_requests = self.active_at, bool(self.cycles)
            super().data_received(data[:end])
            if not had_requests and not self.cycles:
                self.active_at = active_at  # a client that only sends PINGs is idle
            self._notify()
            self._held = data[end:]
            if self._held and not self.transport.is_closing():
                self.transport.pause_reading()
                self.loop.call_soon(self._go_on)

        def _go_on(self) -> None:
            data, self._held = self._held, b""
            if data and not self.transport.is_closing():
                self._take(data)
                if not self._held and not self.transport.is_closing():
                    self.transport.resume_reading()

        def connection_lost(self, exc: Exception | None) -> None:
            """End all requests."""
            self._held = b""
            super().connection_lost(exc)
            self._notify()

        def _notify(self) -> None:
            self._moved.set()
            self._moved = asyncio.Event()

        async def _serve(self, stream: zttp.Stream, scope: Scope, receive: Receive, send: Send) -> None:
            async def send_and_wait(message: Message) -> None:
                await send(message)
                try:
                    async with asyncio.timeout(limits.send_s):
                        while (
                            message.get("more_body")
                            and (stream.pending_bytes or 0) > MAX_WAITING_BYTES
                            and stream.stream_id in self.cycles
                            and not self.transport.is_closing()
                        ):
                            await self._moved.wait()
                except TimeoutError:
                    self.close_slow()

            await self._served(scope, receive, send_and_wait)

    Http2Protocol.limits = limits
    return Http2Protocol
