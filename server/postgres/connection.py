"""One connection of a PostgreSQL client: its login, its statements, portals and cursors."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import math
import os
import re
import ssl
import struct
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pygwire import BackendConnection, ProtocolError, StateMachineError, TransactionStatus, messages
from sqlglot import exp

from ksql_spark import deadline
from ksql_spark.config import canonical
from ksql_spark.deadline import Deadline
from ksql_spark.entities import Entity
from ksql_spark.entities.catalog import PropertiesList
from ksql_spark.entities.commands import RowsChanged
from ksql_spark.entities.queries import QueryDescriptionEntity
from ksql_spark.entities.sources import SourceDescription, SourceDescriptionEntity
from ksql_spark.entities.wire import to_json
from ksql_spark.errors import KsqlError
from ksql_spark.grammar import StatementText
from ksql_spark.security.authorization import Rights
from ksql_spark.server.callbacks import until_current
from ksql_spark.server.errors import RequestError
from ksql_spark.server.host import LOOK_UP_BYTES, Host
from ksql_spark.server.postgres import statements, values
from ksql_spark.server.postgres.catalog import VERSION, CatalogError, Session
from ksql_spark.server.postgres.catalog_process import CatalogProcesses, Described, Rows, timeout_s
from ksql_spark.server.postgres.respelling import word
from ksql_spark.server.postgres.statements import CopyOptions, Failure, Kind, PgStatement
from ksql_spark.server.postgres.values import PgType
from ksql_spark.server.protocol.connections import Limits
from ksql_spark.server.security.access import Buckets, Logins, note_query, note_statements
from ksql_spark.server.security.authentication import ANYBODY, Refused
from ksql_spark.server.threads import CLIENT

if TYPE_CHECKING:
    from ksql_spark.engine import Engine, QueryStream, Request

LOG = logging.getLogger(__name__)

#: size of the message that asks for encryption
_SSL_REQUEST_BYTES = 8
#: how long one read of a query waits, seconds
_READ_S = 1.0
#: bytes that are sent at once
_MAX_SEND_BYTES = 64 * 1024
#: how many chunks of the client's bytes wait while a statement runs
_MAX_WAITING = 16
_CHUNK_BYTES = 64 * 1024
#: what a client may send before it has logged in, and of that before its password, bytes: as in PostgreSQL
_MAX_LOGIN_BYTES, _MAX_STARTUP_BYTES = 64 * 1024, 10_000
#: how many statements, portals and cursors a connection may have of each, and how many settings
_MAX_NAMED = 1_000
#: values of parameters that are read at once, bytes: a thread would take longer
_MAX_QUICK_BYTES = 1_000
#: rows that FETCH hands over together
_ROWS_AT_ONCE = 500
#: bytes of results of the catalog that the portals and cursors of a connection hold
_MAX_HELD_BYTES = 64 << 20
#: after how many messages others have a turn
_MESSAGES_AT_ONCE = 32

_SETTINGS = {
    "server_version": VERSION, "server_version_num": "160000", "server_encoding": "UTF8",
    "client_encoding": "UTF8", "datestyle": "ISO, MDY", "timezone": "UTC", "integer_datetimes": "on",
    "intervalstyle": "postgres", "standard_conforming_strings": "on",
    "transaction_isolation": "read committed",
    "transaction_read_only": "off", "default_transaction_read_only": "off", "search_path": "public",
    "is_superuser": "off", "max_identifier_length": "63", "extra_float_digits": "1", "lc_collate": "C.UTF-8",
}  # fmt: skip
#: those that a client is told of when it connects, as PostgreSQL spells them
_TOLD = (
    "server_version", "server_encoding", "client_encoding", "DateStyle", "TimeZone", "integer_datetimes",
    "IntervalStyle", "standard_conforming_strings", "is_superuser",
)  # fmt: skip
#: statements that answer with rows and change nothing
_READING = frozenset(("SHOW", "LIST", "DESCRIBE", "EXPLAIN"))

T = TypeVar("T")


def _changed() -> Failure:
    """The error on which drivers prepare a statement again."""
    failure = Failure("0A000", "cached plan must not change result type")
    failure.fields["R"] = "RevalidateCachedQuery"
    return failure


class Column(NamedTuple):
    """A column of a result."""

    name: str
    type: PgType


#: rows as they come, some at a time
Batches = AsyncGenerator[Sequence[Sequence[Any]], None]


@dataclass
class Prepared:
    """A prepared statement.

    Args:
        types: of its parameters, by number from 1.
        columns: what the client was told of its result.
    """

    statement: PgStatement
    types: list[int]
    columns: tuple[Column, ...] | None = None


@dataclass
class Portal:
    """A statement with its parameters' values, and as much of its result as was not fetched yet."""

    prepared: Prepared
    values: Sequence[Any] = ()
    #: of the values, bytes
    size: int = 0
    formats: Sequence[int] = ()
    columns: tuple[Column, ...] | None = None
    batches: Batches | None = None
    waiting: list[Sequence[Any]] = field(default_factory=list)
    count: int = 0
    #: what it is called once it is done, if its statement's tag does not say all
    tag: str | None = None
    #: how COPY writes the rows; None: it is no COPY
    copying: CopyOptions | None = None
    #: of a result that the server keeps whole, bytes
    held: int = 0
    is_open: bool = False
    is_done: bool = False
    #: of the next batch; a FETCH with a timeout leaves it to the next FETCH
    reading: asyncio.Task[Sequence[Sequence[Any]] | None] | None = None

    def format(self, at: int) -> int:
        """0 for text, 1 for binary."""
        if not self.formats:
            return 0
        return self.formats[at] if len(self.formats) > 1 else self.formats[0]

    def check_formats(self) -> None:
        """Raise if there is another number of formats than of columns."""
        found, wanted = len(self.formats), len(self.columns or ())
        if found > 1 and found != wanted and self.columns is not None:
            message = f"bind message has {found} result formats but query has {wanted} columns"
            raise Failure("08P01", message)


class Connection:
    """Serves one client.

    Args:
        host: has the engine.
        logins: checks who the client is.
        reader, writer: of the connection.
        tls: for clients that ask for encryption; None: there is none.
        requests: limits each client's statements; None: no limit.
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
        self._catalogs = catalogs
        self._logins = logins
        self._reader = reader
        self._writer = writer
        self._tls = tls
        self._requests = requests
        self._limits = limits
        self._enters = enters
        address = writer.get_extra_info("peername")
        #: where the client is
        self.address = str(address[0]) if address else ""
        self.is_in = False
        #: whether the client's login waits for us, not for the client
        self.is_checked = False
        self._cancel_other = cancel
        self._protocol = BackendConnection()
        self._input: asyncio.Queue[bytes] = asyncio.Queue(_MAX_WAITING)
        self._gone = asyncio.Event()
        self._cancelled = asyncio.Event()
        #: set when what runs in a thread for this client is to end
        self._interrupts: set[threading.Event] = set()
        self._principal = ANYBODY
        self._user = ""
        self._settings = dict(_SETTINGS)
        self._properties: dict[str, str] = {}
        self._prepared: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}
        self._cursors: dict[str, Portal] = {}
        self._closing: set[asyncio.Future[None]] = set()
        self._is_in_transaction = False
        self._is_skipping = False
        self._described: Described | None = None
        self.process_id = process_id
        self.secret = os.urandom(4)

    def cancel(self) -> None:
        """Cancel what runs."""
        self._cancelled.set()
        self._interrupt()

    def abort(self) -> None:
        """End the connection at once, to make room for another."""
        self._writer.transport.abort()

    @property
    def client(self) -> str:
        """Whom limits count: the user, or the address if users need not log in."""
        return self.address if self._principal is ANYBODY else f"user {self._principal.name}"

    def _interrupt(self) -> None:
        for event in self._interrupts:
            event.set()

    async def serve(self) -> None:
        """Serve until the client leaves, or the task is cancelled."""
        try:
            async with asyncio.timeout(self._limits.header_s):
                is_in = await self._log_in()
            if is_in:
                await self._work()
        except (ConnectionError, TimeoutError) as error:
            LOG.debug("a PostgreSQL client's connection ended: %s", error)
        except (ProtocolError, StateMachineError, ValueError, IndexError, struct.error) as error:
            LOG.debug("a PostgreSQL client sent what is no message: %s", error)
            with contextlib.suppress(ConnectionError):
                await self._refuse("08P01", f"This is no message of PostgreSQL's protocol: {error}")
        finally:
            self._interrupt()
            for portal in [*self._portals.values(), *self._cursors.values()]:
                await _close(portal)
            self._writer.close()

    # ---- login -----------------------------------------------------------------------------------------

    async def _log_in(self) -> bool:
        """Everything up to the first ReadyForQuery; False if that is all."""
        came = 0
        while data := await self._reader.read(_CHUNK_BYTES):
            came += len(data)
            if came > (_MAX_LOGIN_BYTES if self._user else _MAX_STARTUP_BYTES):
                return False
            for message in self._protocol.receive(data):
                match message:
                    case messages.SSLRequest():
                        # what came in clear text must not pass for encrypted; asked before the answer, to
                        # which a quick client replies at once
                        if self._tls is not None and (
                            len(data) > _SSL_REQUEST_BYTES or await self._has_more()
                        ):
                            return False
                        self._send(messages.SSLResponse(accepted=self._tls is not None))
                        if self._tls is not None:
                            await self._writer.start_tls(self._tls)
                    case messages.GSSEncRequest():
                        self._send(messages.GSSResponse(accepted=False))
                    case messages.CancelRequest():
                        self._cancel_other(message.process_id, message.secret_key)
                        return False
                    case messages.StartupMessage():
                        self._user = message.params.get("user", "")
                        self._take(message.params)
                        if not self._may_enter():
                            said = "This server takes only clients with a certificate: use sslmode=require."
                            return await self._refuse("28000", said)
                        if self._logins.is_on:
                            self._send(messages.AuthenticationCleartextPassword())
                        else:
                            return await self._welcome()
                    case messages.PasswordMessage():
                        return await self._check(str(message.password))
            await self._writer.drain()
        return False

    def _may_enter(self) -> bool:
        """Whether the client has shown a certificate, if one is required."""
        is_required = self._tls is not None and self._tls.verify_mode == ssl.CERT_REQUIRED
        return not is_required or self._writer.get_extra_info("ssl_object") is not None

    async def _has_more(self) -> bool:
        """Whether something of the client has arrived that was not read."""
        try:
            async with asyncio.timeout(0):
                return bool(await self._reader.read(1))
        except TimeoutError:
            return False

    def _take(self, params: Mapping[str, str]) -> None:
        """Keep the settings that a client connects with, also those of ``options=-c name=value``."""
        for option in re.findall(r"-c\s*([\w.]+)=((?:\\.|\S)*)", params.get("options", "")):
            self._set(option[0], option[1].replace("\\", ""))
        for name, value in params.items():
            if name not in ("user", "database", "options", "replication"):
                self._set(name, value)

    async def _check(self, password: str) -> bool:
        try:
            header = _header(self._user, password)
            self.is_checked = True
            self._principal = await self._logins.principal(self.address, header)
        except Refused as refused:
            LOG.warning("refused a PostgreSQL client, user %s: %s", self._user, refused)
            return await self._refuse("28P01", refused.message)
        except RequestError as error:
            return await self._refuse("53300", error.message)
        finally:
            self.is_checked = False
        return await self._welcome()

    async def refuse(self, message: str) -> None:
        """Refuse the connection because there are too many."""
        with contextlib.suppress(ConnectionError):
            await self._refuse("53300", message)
        self._writer.close()

    async def _refuse(self, state: str, message: str) -> bool:
        fields = Failure(state, message).fields | {"S": "FATAL", "V": "FATAL"}
        self._writer.write(messages.ErrorResponse(fields=fields).to_wire())
        await self._writer.drain()
        return False

    async def _welcome(self) -> bool:
        if self._host.state != "RUNNING":
            return await self._refuse("57P03", f"The server is {self._host.state.lower()}. Try again soon.")
        if not self._enters(self.client):
            said = "You have as many connections as one client may have (ksql.client.max.share)."
            return await self._refuse("53300", said)
        self.is_in = True
        CLIENT.set(self.client)
        self._send(messages.AuthenticationOk())
        for name in _TOLD:
            self._send(messages.ParameterStatus(name=name, value=self._settings[name.lower()]))
        self._send(messages.BackendKeyData(process_id=self.process_id, secret_key=self.secret))
        self._ready()
        await self._writer.drain()
        return True

    # ---- messages --------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Handle messages until the client leaves."""
        pump = asyncio.create_task(self._pump())
        try:
            came = handled = 0
            while data := await self._next_input(is_begun=came > 0):
                came += len(data)
                if came > self._host.most_request_bytes:
                    said = f"A message may have {self._host.most_request_bytes:,} bytes."
                    await self._refuse("54000", said)
                    return
                is_long = came > _CHUNK_BYTES
                found = self._protocol.receive(data)
                while (message := await self._message(found, is_long)) is not None:
                    came = 0
                    if isinstance(message, messages.Terminate):
                        return
                    await self._handle(message)
                    handled += 1
                    if handled % _MESSAGES_AT_ONCE == 0:
                        await asyncio.sleep(0)
                await self._drain()
        finally:
            pump.cancel()

    async def _message(self, found: Iterator[messages.PGMessage], is_long: bool) -> messages.PGMessage | None:
        """The next message; a long one is read in a thread."""
        if is_long:
            return await self._work_on(next, found, None)
        return next(found, None)

    async def _next_input(self, is_begun: bool) -> bytes:
        """Return the client's next input; waits as long as for a request, or for a connection without one."""
        async with asyncio.timeout(self._host.request_timeout_s if is_begun else self._limits.idle_s or None):
            return await self._input.get()

    async def _drain(self) -> None:
        """Wait until the client has taken most of what was sent to it."""
        try:
            async with asyncio.timeout(self._limits.send_s):
                await self._writer.drain()
        except TimeoutError:
            self.abort()
            raise ConnectionResetError("the client did not take what it was sent") from None

    async def _pump(self) -> None:
        """Read what the client sends, also while a statement runs, to see that it is still there."""
        try:
            while data := await self._reader.read(_CHUNK_BYTES):
                await self._input.put(data)
        except ConnectionError:
            pass
        self._gone.set()
        self._interrupt()
        await self._input.put(b"")

    async def _work_on(self, task: Callable[..., T], *arguments: Any) -> T:
        """Work on what the client has sent: in a thread, for as long as a statement may be planned, and until
        the client cancels it or has gone.
        """
        with self._interruptible() as interrupt:

            def interruption() -> str | None:
                return "STATEMENT_CANCELLED" if interrupt.is_set() else None

            def work() -> T:
                with deadline.limited(Deadline(self._host.statement_timeout_s, interruption)):
                    return task(*arguments)

            return await self._host.work(work)

    @contextlib.contextmanager
    def _interruptible(self, interrupt: threading.Event | None = None) -> Iterator[threading.Event]:
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

    async def _handle(self, message: messages.PGMessage) -> None:
        if self._is_skipping and not isinstance(message, messages.Sync):
            return
        statement: PgStatement | None = None
        self._cancelled.clear()
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
                    portal = self._portal(message.portal)
                    statement = portal.prepared.statement
                    await self._execute(portal, message.max_rows)
                case messages.Close():
                    found = self._portals.pop(message.name, None) if message.kind == "P" else None
                    if message.kind == "S":
                        self._prepared.pop(message.name, None)
                    if found is not None:
                        await _close(found)
                    self._send(messages.CloseComplete())
                case messages.Sync():
                    self._is_skipping = False
                    if not self._is_in_transaction:
                        await self._close_portals()
                    self._ready()
                case messages.Flush():
                    pass
                case _:
                    raise Failure("0A000", f"{type(message).__name__} is not supported.")
        except ConnectionError:
            raise
        except Exception as error:
            self._send(messages.ErrorResponse(fields=_fields(error, statement)))
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
        found = statements.split(text)
        is_empty = True
        while (statement := await self._work_on(_next_statement, found)) is not None:
            is_empty = False
            portal = Portal(Prepared(statement, []))
            try:
                await self._open(portal)
                if portal.columns is not None and statement.kind != Kind.COPY:
                    self._send(_row_description(portal))
                await self._send_rows(portal, 0)
            except (KsqlError, RequestError, Failure) as error:
                raise _Placed(_fields(error, statement)) from error
            finally:
                await _close(portal)
        if is_empty:
            self._send(messages.EmptyQueryResponse())
        self._ready()

    async def _parse(self, message: messages.Parse) -> None:
        size = len(message.query) + 4 * len(message.param_types)
        if message.statement:
            if message.statement in self._prepared:
                raise Failure("42P05", f"There is a prepared statement {message.statement[:63]!r} already.")
            held = (len(one.statement.piece.text) + 4 * len(one.types) for one in self._prepared.values())
            self._check_room("prepared statements", len(self._prepared), sum(held) + size)
        self._prepared.pop(message.statement, None)
        statement, columns, casts = await self._work_on(_parsed, message.query)
        types = list(message.param_types)
        types += [0] * (max(statement.parameters, default=0) - len(types))
        if 0 in types:
            known = await self._types_of(statement) if columns else {}
            known[statements.LIMIT] = values.INT8.oid
            types = [
                given or values.oid_of(casts.get(number, "")) or _parameter_type(columns.get(number), known)
                for number, given in enumerate(types, 1)
            ]
        types = [one or values.TEXT.oid for one in types]
        self._prepared[message.statement] = Prepared(statement.kept(), types)
        self._send(messages.ParseComplete())

    def _check_room(self, what: str, count: int, size: int) -> None:
        """Raise if the connection has as many of something as it may have, or if they are too large."""
        most = self._host.most_request_bytes
        if count >= _MAX_NAMED:
            raise Failure("53400", f"A connection may have {_MAX_NAMED:,} {what}. Close some.")
        if size > most:
            raise Failure("53400", f"The {what} of a connection may have {most:,} bytes. Close some.")

    async def _types_of(self, statement: PgStatement) -> dict[Any, int]:
        """The types of the columns of the sources that a statement names: by name, and by place from 0."""
        piece = (statement.inner or statement).piece
        names = {one.name for one in await self._work_on(statements.relations, piece)}
        types: dict[Any, int] = {}
        for source in await self._sources():
            if source.name in names:
                types |= {field.name: values.type_of(field.schema).oid for field in source.fields}
                types |= {at: values.type_of(field.schema).oid for at, field in enumerate(source.fields)}
        return types

    async def _bind(self, message: messages.Bind) -> PgStatement:
        prepared = self._prepared.get(message.statement)
        if prepared is None:
            raise Failure("26000", f"There is no prepared statement {message.statement!r}.")
        count, formats = len(message.param_values), message.param_formats
        if len(formats) > 1 and len(formats) != count:
            said = f"bind message has {len(formats)} parameter formats but {count} parameters"
            raise Failure("08P01", said)
        if count != len(prepared.types):
            raise Failure("08P01", f"The statement takes {len(prepared.types)} parameters.")
        if odd := {*formats, *message.result_formats} - {0, 1}:
            raise Failure("22023", f"unsupported format code: {odd.pop()}")
        size = sum(len(raw) for raw in message.param_values if raw is not None)
        if message.portal:
            held = sum(one.size for one in self._portals.values())
            self._check_room("portals", len(self._portals), held + size)
        is_quick = size + count <= _MAX_QUICK_BYTES
        given = _given(prepared, message) if is_quick else await self._work_on(_given, prepared, message)
        before = self._portals.pop(message.portal, None)
        if before is not None:
            await _close(before)
        self._portals[message.portal] = Portal(prepared, given, size, message.result_formats)
        self._send(messages.BindComplete())
        return prepared.statement

    async def _describe(self, message: messages.Describe) -> PgStatement:
        if message.kind == "P":
            portal = self._portal(message.name)
            if _is_read_early(portal.prepared.statement):
                await self._open(portal)
            self._send(_row_description(portal) if portal.columns is not None else messages.NoData())
            return portal.prepared.statement
        prepared = self._prepared.get(message.name)
        if prepared is None:
            raise Failure("26000", f"There is no prepared statement {message.name!r}.")
        self._send(messages.ParameterDescription(type_oids=prepared.types))
        columns = prepared.columns = await self._columns(prepared)
        portal = Portal(prepared, columns=columns)
        self._send(_row_description(portal) if columns is not None else messages.NoData())
        return prepared.statement

    def _portal(self, name: str) -> Portal:
        portal = self._portals.get(name) or self._cursors.get(name)  # a cursor is a portal, too
        if portal is None:
            raise Failure("34000", f"There is no portal {name!r}.")
        return portal

    async def _columns(self, prepared: Prepared) -> tuple[Column, ...] | None:
        """The columns of a statement that has no values yet."""
        statement = prepared.statement
        stand_ins = [_stand_in(oid) for oid in prepared.types]
        if statement.kind == Kind.QUERY and word(statement.piece.tokens[0]) != "PRINT":
            request = await self._request(statement, stand_ins)
            (entity,) = await self._executed(replace(request, text=f"EXPLAIN {request.text}"))
            assert isinstance(entity, QueryDescriptionEntity), "of EXPLAIN"
            return tuple(_column(one.name, one.schema) for one in entity.query_description.fields)
        if statement.kind == Kind.FETCH:  # which would take rows
            return self._cursor(statement).columns
        if not _is_read_early(statement):
            return None
        portal = Portal(prepared, stand_ins)
        try:
            await self._open(portal)
        finally:
            await _close(portal)
        return portal.columns

    async def _execute(self, portal: Portal, max_rows: int) -> None:
        if not portal.is_open:
            await self._open(portal)
            described, kind = portal.prepared.columns, portal.prepared.statement.kind
            if (
                kind == Kind.CATALOG
                and described is not None
                and _is_text_of(described, portal.columns or ())
            ):
                portal.columns = described
            if kind in (Kind.QUERY, Kind.CATALOG) and described not in (None, portal.columns):
                await _close(portal)
                raise _changed()
        await self._send_rows(portal, max_rows)

    # ---- results ---------------------------------------------------------------------------------------

    async def _open(self, portal: Portal) -> None:
        """Run the portal's statement as far as its first rows."""
        if portal.is_open:
            return
        portal.is_open = True
        statement = portal.prepared.statement
        match statement.kind:
            case Kind.QUERY:
                await self._open_query(portal, await self._request(statement, portal.values))
            case Kind.STATEMENT:
                await self._open_statement(portal, await self._request(statement, portal.values))
            case Kind.CATALOG:
                await self._open_catalog(portal)
            case Kind.SHOW:
                name = statement.details["name"]
                portal.columns = (Column(name, values.TEXT),)
                value = (
                    self._settings.get(name, "") if canonical(name) is None else await self._property(name)
                )
                portal.batches = _once([(value,)])
            case Kind.LOCAL:
                await self._local(statement, portal)
            case Kind.DECLARE:
                name = statement.details["name"]
                if name in self._cursors:
                    raise Failure("42P03", f"There is a cursor {name!r} already.")
                inner = _inner(portal)
                held = sum(one.size for one in self._cursors.values())
                self._check_room("cursors", len(self._cursors), held + inner.size)
                await self._open(inner)
                inner.prepared = Prepared(inner.prepared.statement.kept(), inner.prepared.types)
                self._cursors[name] = inner
            case Kind.FETCH:
                await self._open_fetch(portal)
            case Kind.CLOSE:
                if (cursor := self._cursors.pop(statement.details["name"], None)) is not None:
                    await _close(cursor)
            case Kind.COPY:
                await self._open_copy(portal)
        portal.check_formats()

    async def _request(self, statement: PgStatement, given: Sequence[Any]) -> Request:
        # at run time, because it loads Spark
        from ksql_spark.engine import Request

        for one in statement.parameters:
            if one > len(given):
                raise Failure("42P02", f"There is no parameter ${one}.")
        named = {statements.parameter_name(one): given[one - 1] for one in statement.parameters}
        text = await self._work_on(statement.for_values, given) if statement.has_casts else statement.text
        return Request(
            text,
            dict(self._properties),
            parameters=named or None,
            rights=self._principal.rights,
            user=self._principal.user,
            client=self.client,
        )

    async def _executed(self, request: Request) -> Sequence[Entity]:
        """Execute statements in the engine; it stops planning them once the client does not wait."""
        principal = self._principal

        def execute(engine: Engine) -> Sequence[Entity]:
            note_statements(principal, request.text)
            return engine.execute(request)

        with self._interruptible(request.cancelled):
            return await self._host.call(execute)

    async def _open_query(self, portal: Portal, request: Request) -> None:
        engine = self._host.engine
        assert engine is not None, "clients are only welcomed while RUNNING"
        look_up = None
        if portal.size <= LOOK_UP_BYTES:
            look_up = engine.look_up(
                request.text, request.properties, request.parameters, None, self._principal.rights
            )
        if look_up is not None:  # which blocks nothing: a thread would take longer
            if look_up.when_current is not None:
                await self._unless_cancelled(asyncio.ensure_future(until_current(look_up.when_current)))
            portal.columns = tuple(_column(column.name, column.schema) for column in look_up.columns)
            portal.batches = _once(look_up.rows())
            return
        start = asyncio.ensure_future(self._host.query(request))
        try:
            stream = await self._unless_cancelled(start)
        except BaseException:
            request.cancelled.set()
            start.add_done_callback(self._abandon)
            raise
        await self._work_on(note_query, self._principal, stream, request)
        portal.columns = tuple(_column(column.name, column.schema) for column in stream.columns)
        portal.batches = self._rows(stream)
        await anext(portal.batches)  # only what has begun closes the stream at its end

    def _abandon(self, started: asyncio.Future[QueryStream]) -> None:
        """Close a query that has started after it was cancelled."""
        if not started.cancelled() and started.exception() is None:
            closing = asyncio.ensure_future(self._host.close(started.result()))
            self._closing.add(closing)  # which keeps it alive
            closing.add_done_callback(self._closing.discard)

    async def _rows(self, stream: QueryStream) -> Batches:
        self._host.opened(stream)
        try:
            yield ()
            while True:
                read = asyncio.ensure_future(self._host.read_rows(stream, stream.read, _READ_S))
                rows = await self._unless_cancelled(read)
                if rows is None:
                    return
                yield [row.values for row in rows]
        finally:
            await self._host.close(stream)
            self._host.cut_off.discard(stream)

    async def _unless_cancelled(self, task: asyncio.Future[Any]) -> Any:
        """The task's result; raises when the client cancels, or has gone."""
        cancelled = asyncio.ensure_future(self._cancelled.wait())
        gone = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait((task, cancelled, gone), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if gone.done():
                raise ConnectionResetError("the client has gone")
            raise Failure("57014", statements.CANCELLED)
        finally:
            cancelled.cancel()
            gone.cancel()

    async def _open_statement(self, portal: Portal, request: Request) -> None:
        statement = portal.prepared.statement
        with self._host.handling_statements():
            entities = await self._executed(request)
        if (name := statement.details.get("property")) is not None:
            value = statement.details["value"]
            if value is None:
                self._properties.pop(name, None)
            else:
                self._properties[name] = value
        for entity in entities:
            for warning in entity.warnings:
                self._notice("WARNING", warning.message)
        if statement.tag in _READING:
            portal.columns, rows = table_of(entities)
            portal.batches = _once(rows)
            return
        for entity in entities:
            if isinstance(entity, RowsChanged):
                is_all = entity.operation == "TRUNCATE"
                portal.tag = "TRUNCATE TABLE" if is_all else f"{entity.operation} {entity.count}"
                continue
            members = to_json(entity)
            said = (members.get("commandStatus") or {}).get("message") or members.get("message")
            if said:
                self._notice("NOTICE", said)

    async def _open_catalog(self, portal: Portal) -> None:
        statement = portal.prepared.statement
        tree = await self._work_on(statements.tree_of, statement)
        if tree is None:
            raise Failure("42601", "The query of the catalog cannot be read.")
        session = Session(self._user or "anonymous", self._settings, self.process_id)
        described = await self._catalog_of()
        most_s = timeout_s(self._settings.get("statement_timeout", ""))
        given = portal.values
        asking = asyncio.ensure_future(
            self._catalogs.ask(
                lambda: tree.transform(lambda node: _literal(node, given)), described, session, most_s
            )
        )
        try:
            answer = await self._unless_cancelled(asking)
        except CatalogError as error:
            raise Failure(error.state, error.message) from None
        finally:
            asking.cancel()
        portal.held = sum(map(len, answer.pieces))
        others = [*self._portals.values(), *self._cursors.values()]
        if portal.held + sum(one.held for one in others if one is not portal) > _MAX_HELD_BYTES:
            said = f"The open results of a connection may have {_MAX_HELD_BYTES >> 20} MiB. Close some."
            raise Failure("53400", said)
        portal.columns = tuple(Column(*both) for both in zip(answer.names, answer.types, strict=True))
        portal.batches = _pieces(answer)

    async def _catalog_of(self) -> Described:
        sources = await self._sources()
        if self._described is None or self._described.sources != sources:
            self._described = Described(sources)
        return self._described

    async def _sources(self) -> tuple[SourceDescription, ...]:
        rights = self._principal.rights
        return await self._host.call(lambda engine: described(engine, rights))

    async def _close_portals(self, but: Portal | None = None) -> None:
        """Close portals: they live as long as their transaction."""
        for name, portal in list(self._portals.items()):
            if portal is not but:
                del self._portals[name]
                await _close(portal)

    async def _local(self, statement: PgStatement, portal: Portal) -> None:
        match statement.tag:
            case "BEGIN":
                self._is_in_transaction = True
            case "COMMIT" | "ROLLBACK":
                self._is_in_transaction = False
                for cursor in self._cursors.values():
                    await _close(cursor)
                self._cursors.clear()
                await self._close_portals(but=portal)
            case "SET":
                self._set(statement.details["name"], statement.details["value"])
            case "RESET" | "DISCARD":
                name = statement.details["name"].lower()
                if name == "all":
                    self._settings = dict(_SETTINGS)
                    self._properties.clear()
                else:
                    self._properties.pop(name, None)
                    self._set(name, _SETTINGS.get(name, ""))
            case "DEALLOCATE":
                name = statement.details["name"]
                if name.upper() == "ALL":
                    self._prepared.clear()
                self._prepared.pop(name, None)

    async def _property(self, name: str) -> str:
        """The value of a property of ours: the connection's own, or the server's."""
        wanted = canonical(name)
        for own, value in self._properties.items():
            if canonical(own) == wanted:
                return value
        request = await self._request(statements.statement_of("SHOW PROPERTIES"), ())
        (entity,) = await self._executed(replace(request, properties={}))
        assert isinstance(entity, PropertiesList), "of SHOW PROPERTIES"
        found = (one.value for one in entity.properties if canonical(one.name) == wanted)
        return str(next(found, None) or "")

    def _set(self, name: str, value: str) -> None:
        held = sum(len(one) + len(is_) for one, is_ in [*self._settings.items(), *self._properties.items()])
        if len(name) + len(value) + held > _MAX_LOGIN_BYTES:
            raise Failure("53400", f"The settings of a connection may have {_MAX_LOGIN_BYTES:,} characters.")
        if canonical(name) is not None:  # a property of ours
            self._properties[name] = value
        else:
            self._settings[name.lower()] = value

    async def _open_fetch(self, portal: Portal) -> None:
        cursor = self._cursor(portal.prepared.statement)
        portal.columns = cursor.columns
        portal.batches = self._fetched(cursor, **portal.prepared.statement.details)

    async def _fetched(
        self, cursor: Portal, name: str, count: int | None, timeout_s: float | None
    ) -> Batches:
        """The rows of a cursor as they come: up to ``count`` (None: all), within the time if there is one."""
        until = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        left = math.inf if count is None else count
        try:
            while left and cursor.batches is not None and await _has_more(cursor, until):
                some = cursor.waiting[: -int(min(left, _ROWS_AT_ONCE)) - 1 : -1]
                del cursor.waiting[-len(some) :]
                left -= len(some)
                yield some
        except BaseException:
            if left:  # rows have been read that did not come: the client must not go on as if they had
                self._cursors.pop(name, None)
                await _close(cursor)
            raise

    def _cursor(self, statement: PgStatement) -> Portal:
        name = statement.details["name"]
        if (cursor := self._cursors.get(name)) is None:
            raise Failure("34000", f"There is no cursor {name!r}.")
        return cursor

    async def _open_copy(self, portal: Portal) -> None:
        portal.copying = portal.prepared.statement.details["options"]
        inner = _inner(portal)
        await self._open(inner)
        if inner.columns is None:
            raise Failure("42601", "COPY takes a query.")
        portal.columns = inner.columns
        portal.batches = inner.batches

    # ---- what is sent ----------------------------------------------------------------------------------

    async def _send_rows(self, portal: Portal, max_rows: int) -> None:
        """Send a portal's rows, at most ``max_rows`` (0: all), and what ends them."""
        statement = portal.prepared.statement
        if statement.kind == Kind.EMPTY:
            self._send(messages.EmptyQueryResponse())
            return
        if portal.columns is None or portal.batches is None:
            self._send(messages.CommandComplete(tag=portal.tag or statement.tag))
            return
        copying = portal.copying
        if copying is not None:
            self._send(messages.CopyOutResponse(overall_format=0, col_formats=[0] * len(portal.columns)))
            if copying.has_header:
                names = [column.name.encode() for column in portal.columns]
                self._writer.write(_copied(names, copying).to_wire())
        encoders = [
            column.type.binary if portal.format(at) else column.type.text
            for at, column in enumerate(portal.columns)
        ]
        sent = 0
        pieces: list[bytes] = []
        size = 0
        async for row in _each(portal):
            cells = [
                None if value is None else encode(value) for value, encode in zip(row, encoders, strict=False)
            ]
            cells += [None] * (len(encoders) - len(cells))
            wire = (_copied(cells, copying) if copying else messages.DataRow(columns=cells)).to_wire()
            pieces.append(wire)
            size += len(wire)
            sent += 1
            portal.count += 1
            if size >= _MAX_SEND_BYTES or not portal.waiting:
                self._writer.write(b"".join(pieces))
                await self._drain()
                pieces, size = [], 0
            if sent == max_rows:
                break
        self._writer.write(b"".join(pieces))
        if max_rows and sent == max_rows and not portal.is_done:
            self._send(messages.PortalSuspended())
            return
        if copying is not None:
            self._send(messages.CopyDone())
        tag = statement.tag if statement.tag in ("SHOW", "EXPLAIN") else f"SELECT {portal.count}"
        if statement.kind in (Kind.FETCH, Kind.COPY):
            tag = f"{statement.tag} {portal.count}"
        self._send(messages.CommandComplete(tag=tag))

    def _send(self, message: messages.PGMessage) -> None:
        self._writer.write(self._protocol.send(message))

    def _notice(self, severity: str, message: str) -> None:
        code = "01000" if severity == "WARNING" else "00000"
        self._send(messages.NoticeResponse(fields={"S": severity, "V": severity, "C": code, "M": message}))

    def _ready(self) -> None:
        status = TransactionStatus.IN_TRANSACTION if self._is_in_transaction else TransactionStatus.IDLE
        self._send(messages.ReadyForQuery(status=status))


class _Placed(Exception):
    """An error whose fields have been made."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(fields["M"])
        self.fields = fields


def _fields(error: Exception, statement: PgStatement | None) -> dict[str, str]:
    match error:
        case KsqlError():
            return statements.error_fields(error, statement)
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


def _is_read_early(statement: PgStatement) -> bool:
    """Whether a statement changes nothing, so that it may run to see what columns it has."""
    if statement.kind == Kind.STATEMENT:
        return statement.tag in _READING
    return statement.kind in (Kind.QUERY, Kind.CATALOG, Kind.SHOW, Kind.FETCH)


def _parameter_type(place: str | int | statements.Elements | None, known: Mapping[Any, int]) -> int:
    """The oid of a parameter's type, by what it is compared with or inserted into; else that of TEXT."""
    if isinstance(place, statements.Elements):
        return values.array_oid(known.get(place.column, values.TEXT.oid))
    return known.get(place, values.TEXT.oid)


def _is_text_of(described: Sequence[Column], actual: Sequence[Column]) -> bool:
    """Whether values of ``actual`` can be sent as ``described``: a column without values is text."""
    return len(described) == len(actual) and all(
        old.type in (values.TEXT, new.type) for old, new in zip(described, actual, strict=True)
    )


def _inner(portal: Portal) -> Portal:
    """A portal for the query inside the portal's statement, with the same values."""
    prepared = portal.prepared
    if prepared.statement.inner is None or prepared.statement.inner.kind not in (Kind.QUERY, Kind.CATALOG):
        raise Failure("42601", f"{prepared.statement.tag} takes a query.")
    return Portal(Prepared(prepared.statement.inner, prepared.types), portal.values, portal.size)


def _next_statement(found: Iterator[StatementText]) -> PgStatement | None:
    piece = next(found, None)
    return None if piece is None else statements.statement(piece)


def _parsed(
    text: str,
) -> tuple[PgStatement, Mapping[int, str | int | statements.Elements], Mapping[int, str]]:
    """The one statement of a text, what its parameters are compared with, and to what they are cast."""
    found = statements.split(text)
    statement = _next_statement(found) or PgStatement(Kind.EMPTY, "")
    if next(found, None) is not None:
        raise Failure("42601", "A prepared statement is one statement.")
    return statement, statements.parameter_columns(statement), statements.parameter_casts(statement)


def _given(prepared: Prepared, message: messages.Bind) -> list[Any]:
    """The values of parameters."""
    formats = message.param_formats
    given = []
    for at, (raw, oid) in enumerate(zip(message.param_values, prepared.types, strict=True)):
        deadline.check()
        is_binary = bool(formats) and (formats[at] if len(formats) > 1 else formats[0]) == 1
        try:
            given.append(values.parameter(raw, oid, is_binary))
        except ValueError as error:
            raise Failure("22P02", f"The value of ${at + 1} is wrong: {str(error)[:200]}") from error
    return given


async def _close(portal: Portal) -> None:
    if portal.reading is not None:
        portal.reading.cancel()
        await asyncio.gather(portal.reading, return_exceptions=True)
    if portal.batches is not None:
        with contextlib.suppress(RuntimeError):
            await portal.batches.aclose()


async def _pieces(rows: Rows) -> Batches:
    for some in rows:
        yield some


async def _once(rows: Sequence[Sequence[Any]]) -> Batches:
    yield rows


async def _each(portal: Portal) -> AsyncIterator[Sequence[Any]]:
    """The rows that are left, one after another; marks the portal once there are none."""
    while await _has_more(portal):
        yield portal.waiting.pop()


async def _has_more(portal: Portal, until: float | None = None) -> bool:
    """Whether rows wait, or have come before a time of the loop; marks the portal once there are none."""
    assert portal.batches is not None
    while not portal.waiting and not portal.is_done:
        if portal.reading is None:
            portal.reading = asyncio.create_task(_next(portal.batches))
        left_s = None if until is None else max(0.0, until - asyncio.get_running_loop().time())
        await asyncio.wait((portal.reading,), timeout=left_s)  # which goes on: a cancel would end the query
        if not portal.reading.done():
            return False
        reading, portal.reading = portal.reading, None
        batch = reading.result()
        portal.is_done = batch is None
        portal.waiting = list(reversed(batch or ()))
    return bool(portal.waiting)


async def _next(batches: Batches) -> Sequence[Sequence[Any]] | None:
    return await anext(batches, None)


def _row_description(portal: Portal) -> messages.RowDescription:
    return messages.RowDescription(
        fields=[
            messages.FieldDescription(
                name=column.name,
                type_oid=column.type.oid,
                type_size=column.type.size,
                type_modifier=-1,
                format_code=portal.format(at),
            )
            for at, column in enumerate(portal.columns or ())
        ]
    )


def _copied(cells: Sequence[bytes | None], how: CopyOptions) -> messages.CopyData:
    """A row of COPY: CSV, or columns with backslashes for what is special."""
    written = _csv if how.is_csv else _escaped
    line = how.delimiter.join(how.null if cell is None else written(cell, how) for cell in cells)
    return messages.CopyData(data=line + b"\n")


def _csv(cell: bytes, how: CopyOptions) -> bytes:
    if cell == how.null or any(mark in cell for mark in (how.delimiter, b'"', b"\n", b"\r")):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell


def _escaped(cell: bytes, how: CopyOptions) -> bytes:
    for mark, written in ((b"\\", b"\\\\"), (b"\t", b"\\t"), (b"\n", b"\\n"), (b"\r", b"\\r")):
        cell = cell.replace(mark, written)
    return cell if how.delimiter == b"\t" else cell.replace(how.delimiter, b"\\" + how.delimiter)


def _column(name: str, schema: Any) -> Column:
    return Column(statements.shown_name(name), values.type_of(schema))


def _stand_in(oid: int) -> Any:
    """A value of a type, to plan a statement whose values are not known yet."""
    if oid == values.BOOL.oid:
        return False
    if oid in (values.INT4.oid, values.INT8.oid, 21, 26):
        return 0
    if oid in (values.FLOAT8.oid, 700, values.NUMERIC.oid):
        return 0.5
    return {
        values.DATE.oid: "2000-01-01",
        values.TIMESTAMP.oid: "2000-01-01T00:00:00",
        values.TIME.oid: "00:00:00",
        values.OIDS: "{" + ",".join(str(one.oid) for one in values.TYPES) + "}",
    }.get(oid, "")


def _literal(node: exp.Expr, given: Sequence[Any]) -> exp.Expr:
    number = statements.parameter_number(node)
    return exp.convert(given[number - 1]) if number is not None and number <= len(given) else node


def described(engine: Engine, rights: Rights) -> tuple[SourceDescription, ...]:
    """All streams and tables that a client may see."""
    from ksql_spark.engine import Request

    entities = engine.execute(Request("DESCRIBE STREAMS; DESCRIBE TABLES;", rights=rights))
    return tuple(one for entity in entities for one in getattr(entity, "source_descriptions", ()))


def table_of(entities: Sequence[Entity]) -> tuple[tuple[Column, ...], list[tuple[Any, ...]]]:
    """Answers of SHOW, DESCRIBE and EXPLAIN as rows: the members of what they list, or lines of text."""
    for entity in entities:
        if isinstance(entity, QueryDescriptionEntity):
            lines = entity.query_description.execution_plan.splitlines()
            return (Column("QUERY PLAN", values.TEXT),), [(line,) for line in lines]
        if isinstance(entity, SourceDescriptionEntity):
            rows = [
                (field.name, str(to_json(field)["schema"]["type"]), field.type)
                for field in entity.source_description.fields
            ]
            return tuple(Column(name, values.TEXT) for name in ("column", "type", "part")), rows
        members = to_json(entity)
        listed = next(
            (
                value
                for name, value in members.items()
                if isinstance(value, (list, tuple)) and name != "warnings"
            ),
            None,
        )
        if listed is None:
            listed = [{k: v for k, v in members.items() if k not in ("@type", "statementText", "warnings")}]
        dicts = [one if isinstance(one, dict) else {"name": one} for one in listed]
        names = list(dict.fromkeys(name for one in dicts for name in one))
        return (
            tuple(Column(_snake(name), values.TEXT) for name in names),
            [
                tuple(None if one.get(name) is None else values.json_text(one[name]) for name in names)
                for one in dicts
            ],
        )
    return (Column("result", values.TEXT),), []


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
