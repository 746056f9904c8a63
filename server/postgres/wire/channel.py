"""A client's connection as bytes: what comes, what is sent, and whether the client still waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from pygwire import BackendStateMachine, ConnectionPhase, FramingError, FrontendMessageDecoder, messages

from ksql_spark import deadline
from ksql_spark.deadline import Deadline
from ksql_spark.server.host import Host
from ksql_spark.server.postgres.values.failures import CANCELLED, Failure
from ksql_spark.server.protocol.connections import Limits

CHUNK_BYTES = 64 * 1024
#: how many chunks of the client's bytes wait while a statement runs
_MAX_WAITING = 16

T = TypeVar("T")


class Channel:
    """The connection of one client.

    Args:
        host: says how long requests may take.
        reader, writer: of the connection.
        limits: of connections.
    """

    def __init__(
        self, host: Host, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits
    ) -> None:
        self._host = host
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._decoder, self._phases = FrontendMessageDecoder(), BackendStateMachine()
        #: whether the client sends rows of COPY
        self._is_copying = False
        self._input: asyncio.Queue[bytes] = asyncio.Queue(_MAX_WAITING)
        self._gone = asyncio.Event()
        self._cancelled = asyncio.Event()
        #: set when what runs in a thread for this client is to end
        self._interrupts: set[threading.Event] = set()
        address = writer.get_extra_info("peername")
        #: where the client is
        self.address = str(address[0]) if address else ""

    # ---- what comes ------------------------------------------------------------------------------------

    async def read(self) -> bytes:
        """Read what the client sends before `pump` does; nothing: it has gone."""
        return await self._reader.read(CHUNK_BYTES)

    def received(self, data: bytes) -> Iterator[messages.PGMessage]:
        """The messages that are whole with ``data``. Raises what pygwire raises."""
        self._decoder.feed(data)
        while (message := self._decoded()) is not None:
            if self._is_copying:
                if isinstance(message, (messages.Sync, messages.Flush)):
                    continue  # which do not count among rows
                if isinstance(message, (messages.CopyDone, messages.CopyFail)):
                    self._is_copying = False
                    self._decoder.phase = self._phases.phase
                yield message
                continue
            if isinstance(message, messages.Query) and self._phases.phase == ConnectionPhase.EXTENDED_QUERY:
                # asyncpg sends a Query without a Sync before it, which PostgreSQL takes
                self._phases.receive(messages.Sync())
                self._phases.send(messages.ReadyForQuery())
            self._phases.receive(message)  # type: ignore[arg-type]  # the decoder knows what clients send
            self._decoder.phase = self._phases.phase
            yield message

    def _decoded(self) -> messages.PGMessage | None:
        """The next message that is whole."""
        if self._is_copying:
            self._decoder.phase = ConnectionPhase.COPY_IN
            with contextlib.suppress(FramingError):
                return next(self._decoder, None)
            # a Sync before the rows, as libpq sends it
            self._decoder.phase = ConnectionPhase.EXTENDED_QUERY
        return next(self._decoder, None)

    async def has_more(self) -> bool:
        """Whether something of the client has arrived that was not read."""
        try:
            async with asyncio.timeout(0):
                return bool(await self._reader.read(1))
        except TimeoutError:
            return False

    async def pump(self) -> None:
        """Read what the client sends, also while a statement runs, to see that it is still there."""
        try:
            while data := await self.read():
                await self._input.put(data)
        except ConnectionError:
            pass
        self._gone.set()
        self.interrupt()
        await self._input.put(b"")

    async def next_input(self, is_begun: bool) -> bytes:
        """Return the client's next input; waits as long as for a request, or for a connection without one."""
        async with asyncio.timeout(self._host.request_timeout_s if is_begun else self._limits.idle_s or None):
            return await self._input.get()

    # ---- what is sent ----------------------------------------------------------------------------------

    def send(self, message: messages.PGMessage) -> None:
        """Send a message."""
        self._phases.send(message)  # type: ignore[arg-type]  # it refuses what only clients send
        self._decoder.phase = self._phases.phase
        self._writer.write(message.to_wire())

    def ask_for_rows(self, response: messages.CopyInResponse) -> None:
        """Begin COPY … FROM STDIN: until its end, the client sends rows.

        The phases do not know of it: after COPY, they would allow no statement of the extended protocol.
        """
        self._is_copying = True
        self.write([response.to_wire()])

    def write(self, wires: Iterable[bytes]) -> None:
        """Send messages that are bytes already."""
        self._writer.write(b"".join(wires))

    def notice(self, severity: str, message: str) -> None:
        """Send a remark: a WARNING or a NOTICE."""
        code = "01000" if severity == "WARNING" else "00000"
        self.send(messages.NoticeResponse(fields={"S": severity, "V": severity, "C": code, "M": message}))

    async def flush(self) -> None:
        """Wait until the client has taken most of what was sent to it. Raises ConnectionResetError."""
        try:
            async with asyncio.timeout(self._limits.send_s):
                await self._writer.drain()
        except TimeoutError:
            self.abort()
            raise ConnectionResetError("the client did not take what it was sent") from None

    async def refuse(self, state: str, message: str) -> bool:
        """Send the reason why the connection ends; returns False. Raises as `flush`."""
        fields = Failure(state, message).fields | {"S": "FATAL", "V": "FATAL"}
        self._writer.write(messages.ErrorResponse(fields=fields).to_wire())
        await self.flush()
        return False

    async def encrypt(self, tls: ssl.SSLContext) -> None:
        """Go on with encryption."""
        await self._writer.start_tls(tls)

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection is encrypted."""
        return self._writer.get_extra_info("ssl_object") is not None

    def close(self) -> None:
        """End the connection after what was sent."""
        self._writer.close()

    def abort(self) -> None:
        """End the connection at once."""
        self._writer.transport.abort()

    # ---- whether the client waits ----------------------------------------------------------------------

    def begin(self) -> None:
        """Something new runs, which nobody has cancelled."""
        self._cancelled.clear()

    def cancel(self) -> None:
        """Cancel what runs."""
        self._cancelled.set()
        self.interrupt()

    @property
    def is_cancelled(self) -> bool:
        """Whether the client has cancelled what runs."""
        return self._cancelled.is_set()

    def interrupt(self) -> None:
        """End what runs in threads."""
        for event in self._interrupts:
            event.set()

    @contextlib.contextmanager
    def interruptible(self, interrupt: threading.Event | None = None) -> Iterator[threading.Event]:
        """A block with an event that is set when the client cancels, or has gone, or the server stops."""
        interrupt = interrupt or threading.Event()
        if self._cancelled.is_set() or self._gone.is_set():
            interrupt.set()
        self._interrupts.add(interrupt)
        try:
            yield interrupt
        except BaseException:
            interrupt.set()
            raise
        finally:
            self._interrupts.discard(interrupt)

    async def work_on(self, task: Callable[..., T], *arguments: Any) -> T:
        """Work on what the client has sent: in a thread, for as long as a statement may be planned, and until
        the client cancels it or has gone.
        """
        with self.interruptible() as interrupt:

            def interruption() -> str | None:
                return "STATEMENT_CANCELLED" if interrupt.is_set() else None

            def work() -> T:
                with deadline.limited(Deadline(self._host.statement_timeout_s, interruption)):
                    return task(*arguments)

            return await self._host.work(work)

    async def unless_cancelled(self, task: asyncio.Future[Any]) -> Any:
        """The task's result; raises, and cancels the task, when the client cancels or has gone."""
        cancelled = asyncio.ensure_future(self._cancelled.wait())
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait((task, cancelled, gone), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if gone.done():
                raise ConnectionResetError("the client has gone")
            raise Failure("57014", CANCELLED)
        finally:
            for one in (task, cancelled, gone):
                one.cancel()
