"""Runs a client's statements: its settings, portals and cursors, and what it may see."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ksql_spark.authorization import Rights
from ksql_spark.config import canonical
from ksql_spark.entities import Entity
from ksql_spark.entities.catalog import PropertiesList
from ksql_spark.entities.commands import RowsChanged
from ksql_spark.entities.queries import QueryDescriptionEntity
from ksql_spark.entities.sources import SourceDescription
from ksql_spark.entities.wire import to_json
from ksql_spark.server.callbacks import until_current
from ksql_spark.server.host import LOOK_UP_BYTES, Host
from ksql_spark.server.postgres import parameters, values
from ksql_spark.server.postgres.catalog import Session
from ksql_spark.server.postgres.catalog_process import CatalogProcesses, Described, Rows, timeout_s
from ksql_spark.server.postgres.channel import Channel
from ksql_spark.server.postgres.failures import CatalogError, Failure
from ksql_spark.server.postgres.portals import Batches, Column, Portal, Prepared, columns_of, once
from ksql_spark.server.postgres.relations import relations
from ksql_spark.server.postgres.settings import Settings
from ksql_spark.server.postgres.statements import Kind, PgStatement, catalog_tree, statement_of
from ksql_spark.server.postgres.tables import table_of
from ksql_spark.server.security.access import note_query, note_statements
from ksql_spark.server.security.authentication import ANYBODY

if TYPE_CHECKING:
    from ksql_spark.engine import Engine, QueryStream, Request

#: how long one read of a query waits, seconds
_READ_S = 1.0
#: how many statements, portals and cursors a connection may have of each
_MAX_NAMED = 1_000
#: rows that FETCH hands over together
_ROWS_AT_ONCE = 500
#: bytes of results of the catalog that the portals and cursors of a connection hold
_MAX_HELD_BYTES = 64 << 20
#: statements that answer with rows and change nothing
_READING = frozenset(("SHOW", "LIST", "DESCRIBE", "EXPLAIN"))


class Execution:
    """Runs the statements of one client, in its session.

    Args:
        host: has the engine.
        channel: to the client.
        catalogs: answers what tools ask about tables.
        process_id: names the connection.

    Attributes:
        principal: who the client is.
        user: the name with which it has connected.
        prepared: its prepared statements, by name.
        portals: its portals.
        is_in_transaction: whether it has begun a transaction.
    """

    def __init__(self, host: Host, channel: Channel, catalogs: CatalogProcesses, process_id: int) -> None:
        self._host = host
        self._channel = channel
        self._catalogs = catalogs
        self._process_id = process_id
        self._cursors: dict[str, Portal] = {}
        self._closing: set[asyncio.Future[None]] = set()
        self._described: Described | None = None
        self.principal = ANYBODY
        self.user = ""
        self.settings = Settings()
        self.prepared: dict[str, Prepared] = {}
        self.portals: dict[str, Portal] = {}
        self.is_in_transaction = False

    @property
    def client(self) -> str:
        """Whom limits count: the user, or the address if users need not log in."""
        return self._channel.address if self.principal is ANYBODY else f"user {self.principal.name}"

    async def close(self) -> None:
        """Close all portals and cursors."""
        for portal in [*self.portals.values(), *self._cursors.values()]:
            await portal.close()

    def portal(self, name: str) -> Portal:
        """A portal or a cursor, which is one, too. Raises Failure."""
        portal = self.portals.get(name) or self._cursors.get(name)
        if portal is None:
            raise Failure("34000", f"There is no portal {name!r}.")
        return portal

    def check_room(self, what: str, count: int, size: int) -> None:
        """Raise if the connection has as many of something as it may have, or if they are too large."""
        most = self._host.most_request_bytes
        if count >= _MAX_NAMED:
            raise Failure("53400", f"A connection may have {_MAX_NAMED:,} {what}. Close some.")
        if size > most:
            raise Failure("53400", f"The {what} of a connection may have {most:,} bytes. Close some.")

    async def types_of(self, statement: PgStatement) -> dict[Any, int]:
        """The types of the columns of the sources that a statement names: by name, and by place from 0."""
        piece = (statement.inner or statement).piece
        names = {one.name for one in await self._channel.work_on(relations, piece)}
        types: dict[Any, int] = {}
        for source in await self._sources():
            if source.name in names:
                types |= {field.name: values.type_of(field.schema).oid for field in source.fields}
                types |= {at: values.type_of(field.schema).oid for at, field in enumerate(source.fields)}
        return types

    async def columns(self, prepared: Prepared) -> tuple[Column, ...] | None:
        """The columns of a statement that has no values yet."""
        statement = prepared.statement
        stand_ins = [parameters.stand_in(oid) for oid in prepared.types]
        if statement.kind == Kind.QUERY and statement.piece.verb != "PRINT":
            request = await self.request(statement, stand_ins)
            (entity,) = await self._executed(replace(request, text=f"EXPLAIN {request.text}"))
            assert isinstance(entity, QueryDescriptionEntity), "of EXPLAIN"
            return columns_of(entity.query_description.fields, statement.labels)
        if statement.kind == Kind.FETCH:  # which would take rows
            return self._cursor(statement).columns
        if not is_read_early(statement):
            return None
        portal = Portal(prepared, stand_ins)
        try:
            await self.open(portal)
        finally:
            await portal.close()
        return portal.columns

    # ---- results ---------------------------------------------------------------------------------------

    async def open(self, portal: Portal) -> None:
        """Run the portal's statement as far as its first rows."""
        if portal.is_open:
            return
        portal.is_open = True
        statement = portal.prepared.statement
        match statement.kind:
            case Kind.QUERY:
                await self._open_query(portal, await self.request(statement, portal.values))
            case Kind.STATEMENT:
                await self._open_statement(portal, await self.request(statement, portal.values))
            case Kind.CATALOG:
                await self._open_catalog(portal)
            case Kind.SHOW:
                name = statement.details["name"]
                portal.columns = (Column(name, values.TEXT),)
                value = (
                    self.settings.values.get(name, "")
                    if canonical(name) is None
                    else await self._property(name)
                )
                portal.batches = once([(value,)])
            case Kind.LOCAL:
                await self._local(statement, portal)
            case Kind.DECLARE:
                name = statement.details["name"]
                if name in self._cursors:
                    raise Failure("42P03", f"There is a cursor {name!r} already.")
                inner = portal.inner()
                held = sum(one.size for one in self._cursors.values())
                self.check_room("cursors", len(self._cursors), held + inner.size)
                await self.open(inner)
                inner.prepared = Prepared(inner.prepared.statement.without_tree(), inner.prepared.types)
                self._cursors[name] = inner
            case Kind.FETCH:
                await self._open_fetch(portal)
            case Kind.CLOSE:
                if (cursor := self._cursors.pop(statement.details["name"], None)) is not None:
                    await cursor.close()
            case Kind.COPY:
                await self._open_copy(portal)
        portal.check_formats()

    async def request(self, statement: PgStatement, arguments: Sequence[Any]) -> Request:
        """A request to the engine with a statement and values of its parameters. Raises Failure."""
        # at run time, because it loads Spark
        from ksql_spark.engine import Request

        for one in statement.parameters:
            if one > len(arguments):
                raise Failure("42P02", f"There is no parameter ${one}.")
        named = {parameters.name_of(one): arguments[one - 1] for one in statement.parameters}
        text = (
            await self._channel.work_on(statement.for_values, arguments)
            if statement.has_casts
            else statement.text
        )
        return Request(
            text,
            dict(self.settings.properties),
            parameters=named or None,
            rights=self.principal.rights,
            user=self.principal.user,
            client=self.client,
        )

    async def _executed(self, request: Request) -> Sequence[Entity]:
        """Execute statements in the engine; it stops planning them once the client does not wait."""
        principal = self.principal

        def execute(engine: Engine) -> Sequence[Entity]:
            note_statements(principal, request.text)
            return engine.execute(request)

        with self._channel.interruptible(request.cancelled):
            return await self._host.call(execute)

    async def _open_query(self, portal: Portal, request: Request) -> None:
        engine = self._host.engine
        assert engine is not None, "clients are only welcomed while RUNNING"
        look_up = None
        if portal.size <= LOOK_UP_BYTES:
            look_up = engine.look_up(
                request.text, request.properties, request.parameters, None, self.principal.rights
            )
        if look_up is not None:  # which blocks nothing: a thread would take longer
            if look_up.when_current is not None:
                await self._channel.unless_cancelled(
                    asyncio.ensure_future(until_current(look_up.when_current))
                )
            portal.columns = columns_of(look_up.columns, portal.prepared.statement.labels)
            portal.batches = once(look_up.rows())
            return
        start = asyncio.ensure_future(self._host.query(request))
        try:
            stream = await self._channel.unless_cancelled(start)
        except BaseException:
            request.cancelled.set()
            start.add_done_callback(self._abandon)
            raise
        await self._channel.work_on(note_query, self.principal, stream, request)
        portal.columns = columns_of(stream.columns, portal.prepared.statement.labels)
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
                rows = await self._channel.unless_cancelled(read)
                if rows is None:
                    return
                yield [row.values for row in rows]
        finally:
            await self._host.close(stream)
            self._host.cut_off.discard(stream)

    async def _open_statement(self, portal: Portal, request: Request) -> None:
        statement = portal.prepared.statement
        with self._host.handling_statements():
            entities = await self._executed(request)
        if (name := statement.details.get("property")) is not None:
            value = statement.details["value"]
            if value is None:
                self.settings.properties.pop(name, None)
            else:
                self.settings.properties[name] = value
        for entity in entities:
            for warning in entity.warnings:
                self._channel.notice("WARNING", warning.message)
        if statement.tag in _READING:
            portal.columns, rows = table_of(entities)
            portal.batches = once(rows)
            return
        for entity in entities:
            if isinstance(entity, RowsChanged):
                is_all = entity.operation == "TRUNCATE"
                portal.tag = "TRUNCATE TABLE" if is_all else f"{entity.operation} {entity.count}"
                continue
            members = to_json(entity)
            notice = (members.get("commandStatus") or {}).get("message") or members.get("message")
            if notice:
                self._channel.notice("NOTICE", notice)

    async def _open_catalog(self, portal: Portal) -> None:
        statement = portal.prepared.statement
        tree = await self._channel.work_on(catalog_tree, statement)
        if tree is None:
            raise Failure("42601", "The query of the catalog cannot be read.")
        session = Session(self.user or "anonymous", self.settings.values, self._process_id)
        described = await self._catalog_of()
        most_s = timeout_s(self.settings.values.get("statement_timeout", ""))
        arguments = portal.values
        asking = asyncio.ensure_future(
            self._catalogs.ask(
                lambda: tree.transform(lambda node: parameters.literal(node, arguments)),
                described,
                session,
                most_s,
            )
        )
        try:
            answer = await self._channel.unless_cancelled(asking)
        except CatalogError as error:
            raise Failure(error.state, error.message) from None
        finally:
            asking.cancel()
        portal.held = sum(map(len, answer.pieces))
        others = [*self.portals.values(), *self._cursors.values()]
        if portal.held + sum(one.held for one in others if one is not portal) > _MAX_HELD_BYTES:
            reason = f"The open results of a connection may have {_MAX_HELD_BYTES >> 20} MiB. Close some."
            raise Failure("53400", reason)
        portal.columns = tuple(Column(*both) for both in zip(answer.names, answer.types, strict=True))
        portal.batches = _pieces(answer)

    async def _catalog_of(self) -> Described:
        sources = await self._sources()
        if self._described is None or self._described.sources != sources:
            self._described = Described(sources)
        return self._described

    async def _sources(self) -> tuple[SourceDescription, ...]:
        rights = self.principal.rights
        return await self._host.call(lambda engine: described(engine, rights))

    async def close_portals(self, but: Portal | None = None) -> None:
        """Close portals: they live as long as their transaction."""
        for name, portal in list(self.portals.items()):
            if portal is not but:
                del self.portals[name]
                await portal.close()

    async def _local(self, statement: PgStatement, portal: Portal) -> None:
        match statement.tag:
            case "BEGIN":
                self.is_in_transaction = True
            case "COMMIT" | "ROLLBACK":
                self.is_in_transaction = False
                for cursor in self._cursors.values():
                    await cursor.close()
                self._cursors.clear()
                await self.close_portals(but=portal)
            case "SET":
                self.settings.set(statement.details["name"], statement.details["value"])
            case "RESET" | "DISCARD":
                self.settings.reset(statement.details["name"].lower())
            case "DEALLOCATE":
                name = statement.details["name"]
                if name.upper() == "ALL":
                    self.prepared.clear()
                self.prepared.pop(name, None)

    async def _property(self, name: str) -> str:
        """The value of a property of ours: the connection's own, or the server's."""
        property_name = canonical(name)
        for own, value in self.settings.properties.items():
            if canonical(own) == property_name:
                return value
        request = await self.request(statement_of("SHOW PROPERTIES"), ())
        (entity,) = await self._executed(replace(request, properties={}))
        assert isinstance(entity, PropertiesList), "of SHOW PROPERTIES"
        matches = (one.value for one in entity.properties if canonical(one.name) == property_name)
        return str(next(matches, None) or "")

    async def _open_fetch(self, portal: Portal) -> None:
        cursor = self._cursor(portal.prepared.statement)
        portal.columns = cursor.columns
        portal.batches = self._fetched(cursor, **portal.prepared.statement.details)

    async def _fetched(
        self, cursor: Portal, name: str, count: int | None, timeout_s: float | None
    ) -> Batches:
        """The rows of a cursor as they come: up to ``count`` (None: all), within the time if there is one."""
        until = None if timeout_s is None else asyncio.get_running_loop().time() + timeout_s
        remaining = math.inf if count is None else count
        try:
            while remaining and cursor.batches is not None and await cursor.has_more(until):
                some = cursor.waiting[: -int(min(remaining, _ROWS_AT_ONCE)) - 1 : -1]
                del cursor.waiting[-len(some) :]
                remaining -= len(some)
                yield some
        except BaseException:
            if remaining:  # rows have been read that did not come: the client must not go on as if they had
                self._cursors.pop(name, None)
                await cursor.close()
            raise

    def _cursor(self, statement: PgStatement) -> Portal:
        name = statement.details["name"]
        if (cursor := self._cursors.get(name)) is None:
            raise Failure("34000", f"There is no cursor {name!r}.")
        return cursor

    async def _open_copy(self, portal: Portal) -> None:
        portal.copying = portal.prepared.statement.details["options"]
        inner = portal.inner()
        await self.open(inner)
        if inner.columns is None:
            raise Failure("42601", "COPY takes a query.")
        portal.columns = inner.columns
        portal.batches = inner.batches


async def _pieces(rows: Rows) -> Batches:
    for some in rows:
        yield some


def is_read_early(statement: PgStatement) -> bool:
    """Whether a statement changes nothing, so that it may run to see what columns it has."""
    if statement.kind == Kind.STATEMENT:
        return statement.tag in _READING
    return statement.kind in (Kind.QUERY, Kind.CATALOG, Kind.SHOW, Kind.FETCH)


def described(engine: Engine, rights: Rights) -> tuple[SourceDescription, ...]:
    """All streams and tables that a client may see."""
    from ksql_spark.engine import Request

    entities = engine.execute(Request("DESCRIBE STREAMS; DESCRIBE TABLES;", rights=rights))
    return tuple(one for entity in entities for one in getattr(entity, "source_descriptions", ()))
