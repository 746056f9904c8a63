"""One connection of a PostgreSQL client: its login, and the messages that it sends."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import math
import os
import ssl
import struct
import time
from collections.abc import Callable, Iterator, Sequence

from pygwire import ProtocolError, StateMachineError, TransactionStatus, messages

from ksql_spark.errors import KsqlError
from ksql_spark.server.errors import RequestError
from ksql_spark.server.host import Host
from ksql_spark.server.postgres.catalog.process import CatalogProcesses
from ksql_spark.server.postgres.session import parameters, statements
from ksql_spark.server.postgres.session.errors import error_fields
from ksql_spark.server.postgres.session.execution import Execution, is_read_early
from ksql_spark.server.postgres.session.portals import Portal, Prepared
from ksql_spark.server.postgres.session.statements import Kind, PgStatement
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import CANCELLED, Failure
from ksql_spark.server.postgres.wire.channel import CHUNK_BYTES, Channel
from ksql_spark.server.postgres.wire.columns import Column
from ksql_spark.server.postgres.wire.copying import BINARY_END, BINARY_HEAD, copied
from ksql_spark.server.protocol.connections import Limits
from ksql_spark.server.security.access import Buckets, Logins
from ksql_spark.server.security.authentication import Refused
from ksql_spark.server.threads import CLIENT

LOG = logging.getLogger(__name__)

#: size of the message that asks for encryption
_SSL_REQUEST_BYTES = 8
#: bytes that are sent at once
_MAX_SEND_BYTES = 64 * 1024
#: what a client may send before it has logged in, and of that before its password, bytes: as in PostgreSQL
_MAX_LOGIN_BYTES, _MAX_STARTUP_BYTES = 64 * 1024, 10_000
#: values of parameters that are read at once, bytes: a thread would take longer
_MAX_QUICK_BYTES = 1_000
#: after how many messages others have a turn
_MESSAGES_AT_ONCE = 32


class Connection:
    """Serves one client.

    Args:
        host: has the engine.
        logins: checks who the client is.
        reader, writer: of the connection.
        tls: for clients that ask for encryption, or None.
        requests: limits each client's statements, or None for no limit.
        limits: of connections.
        enters: asks whether a client, by its user or address, may have one connection more.
        process_id: names the connection in requests to cancel.
        cancel: cancels what another connection runs: of its id and its secret.
        catalogs: answers what tools ask about tables.
    """

    def __init__(
        self,
        host: Host,
        logins: Logins,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        tls: ssl.SSLContext | None,
        requests: Buckets | None,
        limits: Limits,
        enters: Callable[[str], bool],
        process_id: int,
        cancel: Callable[[int, bytes], None],
        catalogs: CatalogProcesses,
    ) -> None:
        self._host = host
        self._logins = logins
        self._tls = tls
        self._requests = requests
        self._limits = limits
        self._enters = enters
        self._cancel_other = cancel
        self._channel = Channel(host, reader, writer, limits)
        self._execution = Execution(host, self._channel, catalogs, process_id)
        #: where the client is
        self.address = self._channel.address
        self.is_in = False
        #: whether the client's login waits for us, not for the client
        self.is_checked = False
        self._is_skipping = False
        #: the messages that have come and were not handled, and the bytes of one that is not complete
        self._received: Iterator[messages.PGMessage] = iter(())
        self._came = self._handled = 0
        self.process_id = process_id
        self.secret = os.urandom(4)

    @property
    def client(self) -> str:
        """Whom limits count: the user, or the address if users need not log in."""
        return self._execution.client

    def cancel(self) -> None:
        """Cancel what runs."""
        self._channel.cancel()

    def abort(self) -> None:
        """End the connection at once, to make room for another."""
        self._channel.abort()

    async def serve(self) -> None:
        """Serve until the client leaves, or the task is cancelled."""
        try:
            async with asyncio.timeout(self._limits.header_s):
                is_in = await self._log_in()
            if is_in:
                await self._work_until_expiry()
        except (ConnectionError, TimeoutError) as error:
            LOG.debug("a PostgreSQL client's connection ended: %s", error)
        except (ProtocolError, StateMachineError, ValueError, IndexError, struct.error) as error:
            LOG.debug("a PostgreSQL client sent what is no message: %s", error)
            with contextlib.suppress(ConnectionError):
                await self._channel.refuse("08P01", f"This is no message of PostgreSQL's protocol: {error}")
        finally:
            self._channel.interrupt()
            await self._execution.close()
            self._channel.close()

    # ---- login -----------------------------------------------------------------------------------------

    async def _log_in(self) -> bool:
        """Everything up to the first ReadyForQuery; False if that is all."""
        came = 0
        while data := await self._channel.read():
            came += len(data)
            if came > (_MAX_LOGIN_BYTES if self._execution.user else _MAX_STARTUP_BYTES):
                return False
            for message in self._channel.received(data):
                match message:
                    case messages.SSLRequest():
                        # what came in clear text must not pass for encrypted; asked before the answer, to
                        # which a quick client replies at once
                        if self._tls is not None and (
                            len(data) > _SSL_REQUEST_BYTES or await self._channel.has_more()
                        ):
                            return False
                        self._channel.send(messages.SSLResponse(accepted=self._tls is not None))
                        if self._tls is not None:
                            await self._channel.encrypt(self._tls)
                    case messages.GSSEncRequest():
                        self._channel.send(messages.GSSResponse(accepted=False))
                    case messages.CancelRequest():
                        self._cancel_other(message.process_id, message.secret_key)
                        return False
                    case messages.StartupMessage():
                        self._execution.user = message.params.get("user", "")
                        self._execution.settings.take(message.params)
                        if not self._may_enter():
                            problem = (
                                "This server takes only clients with a certificate: use sslmode=require."
                            )
                            return await self._channel.refuse("28000", problem)
                        if self._logins.is_on:
                            self._channel.send(messages.AuthenticationCleartextPassword())
                        else:
                            return await self._welcome()
                    case messages.PasswordMessage():
                        return await self._check(str(message.password))
            await self._channel.flush()
        return False

    def _may_enter(self) -> bool:
        """Whether the client has shown a certificate, if one is required."""
        is_required = self._tls is not None and self._tls.verify_mode == ssl.CERT_REQUIRED
        return not is_required or self._channel.is_encrypted

    async def _check(self, password: str) -> bool:
        try:
            header = _header(self._execution.user, password)
            self.is_checked = True
            self._execution.principal = await self._logins.principal(self._channel.address, header)
        except Refused as refused:
            LOG.warning("refused a PostgreSQL client, user %s: %s", self._execution.user, refused)
            return await self._channel.refuse("28P01", refused.message)
        except RequestError as error:
            return await self._channel.refuse("53300", error.message)
        finally:
            self.is_checked = False
        return await self._welcome()

    async def refuse(self, message: str) -> None:
        """Refuse the connection because there are too many."""
        with contextlib.suppress(ConnectionError):
            await self._channel.refuse("53300", message)
        self._channel.close()

    async def _welcome(self) -> bool:
        if self._host.state != "RUNNING":
            problem = f"The server is {self._host.state.lower()}. Try again soon."
            return await self._channel.refuse("57P03", problem)
        if not self._enters(self.client):
            problem = "You have as many connections as one client may have (ksql.client.max.share)."
            return await self._channel.refuse("53300", problem)
        self.is_in = True
        CLIENT.set(self.client)
        self._channel.send(messages.AuthenticationOk())
        for name, value in self._execution.settings.parameter_statuses():
            self._channel.send(messages.ParameterStatus(name=name, value=value))
        self._channel.send(messages.BackendKeyData(process_id=self.process_id, secret_key=self.secret))
        self._ready()
        await self._channel.flush()
        return True

    # ---- messages --------------------------------------------------------------------------------------

    async def _work_until_expiry(self) -> None:
        """Handle messages until the client leaves, or its token has expired."""
        expires = self._execution.principal.expires
        try:
            async with asyncio.timeout(None if expires is None else max(0.0, expires - time.time())) as limit:
                await self._work()
        except TimeoutError:
            if not limit.expired():
                raise
            LOG.info("the connection of %s ends: its token has expired", self.client)
            await self._channel.refuse("28000", "The token has expired. Connect again with a new one.")

    async def _work(self) -> None:
        """Handle messages until the client leaves."""
        pump = asyncio.create_task(self._channel.pump())
        try:
            while (message := await self._next_message()) is not None:
                if isinstance(message, messages.Terminate):
                    return
                await self._handle(message)
        finally:
            pump.cancel()

    async def _next_message(self) -> messages.PGMessage | None:
        """The next message, a long one read in a thread, or None if there is none, or one is too long."""
        while True:
            is_long = self._came > CHUNK_BYTES
            message = (
                await self._channel.work_on(next, self._received, None)
                if is_long
                else next(self._received, None)
            )
            if message is not None:
                self._came = 0
                self._handled += 1
                if self._handled % _MESSAGES_AT_ONCE == 0:
                    await asyncio.sleep(0)
                return message
            await self._channel.flush()
            data = await self._channel.next_input(is_begun=self._came > 0)
            self._came += len(data)
            if self._came > self._host.most_request_bytes:
                problem = f"A message may have {self._host.most_request_bytes:,} bytes."
                await self._channel.refuse("54000", problem)
                return None
            if not data:
                return None
            self._received = self._channel.received(data)

    async def _handle(self, message: messages.PGMessage) -> None:
        if self._is_skipping and not isinstance(message, messages.Sync):
            return
        statement: PgStatement | None = None
        self._channel.begin()
        try:
            if isinstance(message, (messages.Query, messages.Execute)):
                self._check_rate()
            match message:
                case messages.Query():
                    await self._simple(message.query_string)
                case messages.Parse():
                    await self._parse(message)
                case messages.Bind():
                    statement = await self._bind(message)
                case messages.Describe():
                    statement = await self._describe(message)
                case messages.Execute():
                    portal = self._execution.portal(message.portal)
                    statement = portal.prepared.statement
                    await self._execute(portal, message.max_rows)
                case messages.Close():
                    closed = self._execution.portals.pop(message.name, None) if message.kind == "P" else None
                    if message.kind == "S":
                        self._execution.prepared.pop(message.name, None)
                    if closed is not None:
                        await closed.close()
                    self._channel.send(messages.CloseComplete())
                case messages.Sync():
                    self._is_skipping = False
                    if not self._execution.is_in_transaction:
                        await self._execution.close_portals()
                    self._ready()
                case messages.Flush():
                    pass
                case _:
                    raise Failure("0A000", f"{type(message).__name__} is not supported.")
        except ConnectionError:
            raise
        except Exception as error:
            self._channel.send(messages.ErrorResponse(fields=_fields(error, statement)))
            if isinstance(message, messages.Query):
                self._ready()
            else:
                self._is_skipping = True

    def _check_rate(self) -> None:
        """Raise if the client has sent too many statements."""
        if self._requests is None:
            return
        if (wait_s := self._requests.wait_s(self.client)) > 0:
            limit = "ksql.server.max.requests.per.second"
            raise Failure("53400", f"Too many statements ({limit}). Try again in {math.ceil(wait_s)} s.")

    async def _simple(self, text: str) -> None:
        pieces = statements.split(text)
        is_empty = True
        while (statement := await self._channel.work_on(statements.next_statement, pieces)) is not None:
            is_empty = False
            portal: Portal | None = None
            try:
                portal = self._execution.portal_of(Prepared(statement, []))
                await self._execution.open(portal)
                if portal.columns is not None and statement.kind != Kind.COPY:
                    self._channel.send(portal.row_description())
                await self._send_rows(portal, 0)
            except (KsqlError, RequestError, Failure) as error:
                raise _Placed(_fields(error, statement)) from error
            finally:
                if portal is not None:
                    await portal.close()
        if is_empty:
            self._channel.send(messages.EmptyQueryResponse())
        self._ready()

    async def _parse(self, message: messages.Parse) -> None:
        await self._execution.prepare(message.statement, message.query, message.param_types)
        self._channel.send(messages.ParseComplete())

    async def _bind(self, message: messages.Bind) -> PgStatement:
        prepared = self._execution.prepared_as(message.statement)
        count, formats = len(message.param_values), message.param_formats
        if len(formats) > 1 and len(formats) != count:
            problem = f"bind message has {len(formats)} parameter formats but {count} parameters"
            raise Failure("08P01", problem)
        if count != len(prepared.types):
            raise Failure("08P01", f"The statement takes {len(prepared.types)} parameters.")
        if odd := {*formats, *message.result_formats} - {0, 1}:
            raise Failure("22023", f"unsupported format code: {odd.pop()}")
        size = sum(len(raw) for raw in message.param_values if raw is not None)
        portals = self._execution.portals
        if message.portal:
            held = sum(one.size for one in portals.values())
            self._execution.check_room("portals", len(portals), held + size)
        if size + count <= _MAX_QUICK_BYTES:
            arguments = parameters.decoded_arguments(prepared.types, message)
        else:
            arguments = await self._channel.work_on(parameters.decoded_arguments, prepared.types, message)
        before = portals.pop(message.portal, None)
        if before is not None:
            await before.close()
        portals[message.portal] = self._execution.portal_of(
            prepared, arguments, size=size, formats=message.result_formats
        )
        self._channel.send(messages.BindComplete())
        return prepared.statement

    async def _describe(self, message: messages.Describe) -> PgStatement:
        if message.kind == "P":
            portal = self._execution.portal(message.name)
            if is_read_early(portal.prepared.statement):
                await self._execution.open(portal)
            elif not portal.is_open:
                portal.columns = await self._execution.columns(portal.prepared)
            self._channel.send(portal.row_description() if portal.columns is not None else messages.NoData())
            return portal.prepared.statement
        prepared = self._execution.prepared_as(message.name)
        self._channel.send(messages.ParameterDescription(type_oids=prepared.types))
        columns = prepared.columns = await self._execution.columns(prepared)
        portal = Portal(prepared, columns=columns)
        self._channel.send(portal.row_description() if columns is not None else messages.NoData())
        return prepared.statement

    async def _execute(self, portal: Portal, max_rows: int) -> None:
        if not portal.is_open:
            await self._execution.open(portal)
            described, kind = portal.prepared.columns, portal.prepared.statement.kind
            if (
                kind == Kind.CATALOG
                and described is not None
                and _is_text_of(described, portal.columns or ())
            ):
                portal.columns = described
            if kind in (Kind.QUERY, Kind.CATALOG) and described not in (None, portal.columns):
                await portal.close()
                raise _changed()
        await self._send_rows(portal, max_rows)

    # ---- what is sent ----------------------------------------------------------------------------------

    async def _send_rows(self, portal: Portal, max_rows: int) -> None:
        """Send a portal's rows, at most ``max_rows`` (0: all), and what ends them."""
        statement = portal.prepared.statement
        if statement.kind == Kind.EMPTY:
            self._channel.send(messages.EmptyQueryResponse())
            return
        if statement.kind == Kind.COPY_IN:
            await self._copy_in(portal)
        if portal.columns is None or portal.batches is None:
            self._channel.send(messages.CommandComplete(tag=portal.tag or statement.tag))
            return
        copying, head = portal.copying, b""
        if copying is not None:
            form = int(copying.is_binary)
            formats = [form] * len(portal.columns)
            # by bytes, since the phases would allow no statement of the extended protocol behind COPY
            begin = messages.CopyOutResponse(overall_format=form, col_formats=formats)
            self._channel.write([begin.to_wire()])
            if copying.is_binary:
                head = BINARY_HEAD  # before the first row, in its message
            elif copying.has_header:
                names = [column.name.encode() for column in portal.columns]
                self._channel.write([messages.CopyData(data=copied(names, copying)).to_wire()])
        encoders = [
            column.type.binary
            if (portal.format(at) if copying is None else copying.is_binary)
            else column.type.text
            for at, column in enumerate(portal.columns)
        ]
        sent = 0
        pieces: list[bytes] = []
        size = 0
        async for row in portal.rows():
            cells = [
                None if value is None else encode(value) for value, encode in zip(row, encoders, strict=False)
            ]
            cells += [None] * (len(encoders) - len(cells))
            if copying is None:
                wire = messages.DataRow(columns=cells).to_wire()
            else:
                wire, head = messages.CopyData(data=head + copied(cells, copying)).to_wire(), b""
            pieces.append(wire)
            size += len(wire)
            sent += 1
            portal.count += 1
            if size >= _MAX_SEND_BYTES or not portal.waiting:
                self._channel.write(pieces)
                await self._channel.flush()
                pieces, size = [], 0
            if sent == max_rows:
                break
        self._channel.write(pieces)
        if max_rows and sent == max_rows and not portal.is_done:
            self._channel.send(messages.PortalSuspended())
            return
        if copying is not None:
            end = [messages.CopyData(data=head + BINARY_END)] if copying.is_binary else []
            self._channel.write([one.to_wire() for one in (*end, messages.CopyDone())])
        tag = statement.tag if statement.tag in ("SHOW", "EXPLAIN") else f"SELECT {portal.count}"
        if statement.kind in (Kind.FETCH, Kind.COPY):
            tag = f"{statement.tag} {portal.count}"
        self._channel.send(messages.CommandComplete(tag=portal.tag or tag))

    async def _copy_in(self, portal: Portal) -> None:
        """Take the rows of COPY … FROM STDIN.

        An error waits until the client has sent all: it may not look before.
        """
        target, copying = await self._execution.copy_in(portal.prepared.statement)
        try:
            form = int(portal.prepared.statement.details["options"].is_binary)
            formats = [form] * len(target.columns)
            self._channel.ask_for_rows(messages.CopyInResponse(overall_format=form, col_formats=formats))
            await self._channel.flush()
            pieces: list[bytes] = []
            size, failed = 0, None
            while not isinstance(message := await self._next_message(), messages.CopyDone):
                match message:
                    case messages.CopyData():
                        pieces.append(message.data)
                        size += len(message.data)
                    case messages.CopyFail():
                        raise Failure("57014", f"COPY from stdin failed: {message.error_message[:200]}")
                    case None | messages.Terminate():
                        raise ConnectionResetError("the client has gone")
                if self._channel.is_cancelled:
                    failed = Failure("57014", CANCELLED)
                if size > CHUNK_BYTES or failed is not None or copying.is_over:
                    data, pieces, size = b"".join(pieces), [], 0
                    if failed is None and not copying.is_over:
                        await self._host.read(lambda data=data: copying.feed(data))  # type: ignore[misc]
            if failed is not None:
                raise failed
            await self._host.read(lambda: copying.feed(b"".join(pieces)))
            portal.tag = f"COPY {await self._host.read(copying.finish)}"
        finally:
            target.inserter.close()

    def _ready(self) -> None:
        is_begun = self._execution.is_in_transaction
        status = TransactionStatus.IN_TRANSACTION if is_begun else TransactionStatus.IDLE
        self._channel.send(messages.ReadyForQuery(status=status))


def _changed() -> Failure:
    """The error on which drivers prepare a statement again."""
    failure = Failure("0A000", "cached plan must not change result type")
    failure.fields["R"] = "RevalidateCachedQuery"
    return failure


class _Placed(Exception):
    """An error whose fields have been made."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(fields["M"])
        self.fields = fields


def _fields(error: Exception, statement: PgStatement | None) -> dict[str, str]:
    match error:
        case KsqlError():
            return error_fields(error, statement)
        case Failure() | _Placed():
            return error.fields
        case TimeoutError():
            return Failure("57014", str(error)).fields
        case RecursionError():
            return Failure("54001", "The statement is nested too deeply.").fields
        case RequestError():
            return Failure("53300" if error.code // 100 == 429 else "42000", error.message).fields
    LOG.error("unexpected error of a PostgreSQL client's request", exc_info=error)
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return Failure("XX000", KsqlError("INTERNAL", reason=reason).message).fields


def _header(user: str, password: str) -> str:
    """Credentials as the header Authorization has them; the user ``bearer`` has a token for a password."""
    if user == "bearer":
        return f"Bearer {password}"
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _is_text_of(described: Sequence[Column], actual: Sequence[Column]) -> bool:
    """Whether values of ``actual`` can be sent as ``described``: a column without values is text."""
    return len(described) == len(actual) and all(
        old.type in (values.TEXT, new.type) for old, new in zip(described, actual, strict=True)
    )
