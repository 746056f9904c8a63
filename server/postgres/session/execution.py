"""Runs a client's statements: its settings, portals and cursors, and what it may see."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pygwire import messages
from sqlglot import exp

from ksql_spark.authorization import Rights
from ksql_spark.config import canonical
from ksql_spark.engine import NotHereError
from ksql_spark.entities import Entity
from ksql_spark.entities.catalog import FunctionDescriptionList, FunctionNameList, PropertiesList
from ksql_spark.entities.commands import RowsChanged, RowsInserted
from ksql_spark.entities.queries import QueryDescriptionEntity
from ksql_spark.entities.schemas import FieldInfo
from ksql_spark.entities.sources import SourceDescription
from ksql_spark.entities.wire import to_json
from ksql_spark.server.callbacks import until_current
from ksql_spark.server.host import LOOK_UP_BYTES, Host
from ksql_spark.server.postgres.catalog.catalog import Session
from ksql_spark.server.postgres.catalog.process import CatalogProcesses, Described, Rows, timeout_s
from ksql_spark.server.postgres.session import parameters
from ksql_spark.server.postgres.session.portals import Batches, Placed, Portal, Prepared, columns_of, once
from ksql_spark.server.postgres.session.settings import POSITION, Settings
from ksql_spark.server.postgres.session.statements import (
    Kind,
    PgStatement,
    catalog_tree,
    next_statement,
    split,
    statement_of,
)
from ksql_spark.server.postgres.session.tables import table_of
from ksql_spark.server.postgres.text.inserts import InsertText
from ksql_spark.server.postgres.text.relations import relations
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import CatalogError, Failure
from ksql_spark.server.postgres.wire.channel import Channel
from ksql_spark.server.postgres.wire.columns import Column
from ksql_spark.server.postgres.wire.copy_in import CopyIn
from ksql_spark.server.security.access import AUDIT, note_query, note_statements
from ksql_spark.server.security.authentication import ANYBODY
from ksql_spark.server.streaming.row_copy import RowCopy

if TYPE_CHECKING:
    from ksql_spark.engine import Engine, QueryStream, Request, RowInserter

#: how long one read of a query waits, seconds
_READ_S = 1.0
#: how many statements, portals and cursors a connection may have of each
_MAX_NAMED = 1_000
#: rows that FETCH hands over together
_ROWS_AT_ONCE = 500
#: bytes of results of the catalog that the portals and cursors of a connection hold
_MAX_HELD_BYTES = 64 << 20
#: what NULL, texts, functions and operators mean on this port, unless the client sets it
MEANING = {"ksql.sql.nulls": "ansi", "ksql.sql.literals": "untyped", "ksql.sql.dialect": "postgres"}
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
        prepared = self.portal_of(prepared).prepared
        statement = prepared.statement
        stand_ins = [parameters.stand_in(oid) for oid in prepared.types]
        if statement.kind == Kind.QUERY and statement.piece.verb != "PRINT":
            request = await self.request(statement, stand_ins)
            (entity,) = await self._executed(replace(request, text=f"EXPLAIN {request.text}"))
            assert isinstance(entity, QueryDescriptionEntity), "of EXPLAIN"
            return columns_of(entity.query_description.fields, statement.labels)
        if statement.kind == Kind.FETCH:  # which would take rows
            return self._cursor(statement).columns if statement.tag == "FETCH" else None
        if (insert := statement.details.get("insert")) is not None:
            return await self._returned(insert)
        if not is_read_early(statement):
            return None
        portal = Portal(prepared, stand_ins)
        try:
            await self.open(portal)
        finally:
            await portal.close()
        return portal.columns

    async def _returned(self, insert: InsertText) -> tuple[Column, ...]:
        """The columns of RETURNING. The engine is asked about columns that are not there."""
        fields = {field.name: field for field in await self._fields(insert.target)}
        columns: list[Column] = []
        for one in insert.returned:
            if one.column is None:
                columns += columns_of(fields.values(), ())
            elif one.column in fields:
                columns.append(Column(one.label, values.type_of(fields[one.column].schema)))
            else:
                columns.append(Column(one.label, values.INT8))  # ROWTIME
        return tuple(columns)

    async def _fields(self, name: str) -> tuple[FieldInfo, ...]:
        """The columns of a stream or table of ours; none if the client may not see it."""
        sources = await self._sources()
        return next((source.fields for source in sources if source.name == name), ())

    async def prepare(self, name: str, text: str, types: Sequence[int]) -> None:
        """Keep a statement by its name; nothing: until the next one without a name.

        Args:
            types: oids of the types of the first parameters; 0: of any.
        """
        size = len(text) + 4 * len(types)
        if name:
            if name in self.prepared:
                raise Failure("42P05", f"There is a prepared statement {name[:63]!r} already.")
            held = (len(one.statement.piece.text) + 4 * len(one.types) for one in self.prepared.values())
            self.check_room("prepared statements", len(self.prepared), sum(held) + size)
        self.prepared.pop(name, None)
        statement, columns, casts = await self._channel.work_on(_parsed, text)
        listed = [*types, *[0] * (max(statement.parameters, default=0) - len(types))]
        if 0 in listed:
            types_by_place = await self.types_of(statement) if columns else {}
            types_by_place[parameters.LIMIT] = values.INT8.oid
            if statement.kind == Kind.CATALOG:
                types_by_place |= parameters.OIDS
            listed = [
                oid
                or values.oid_of(casts.get(number, ""))
                or parameters.type_of(columns.get(number), types_by_place)
                for number, oid in enumerate(listed, 1)
            ]
        self.prepared[name] = Prepared(statement.without_tree(), [one or values.TEXT.oid for one in listed])

    def portal_of(self, prepared: Prepared, arguments: Sequence[Any] = (), **options: Any) -> Portal:
        """A portal for a statement; EXECUTE stands for the statement that was prepared.

        Args:
            options: of `Portal`.

        Raises:
            Failure: there is no such statement, or a value does not fit.
        """
        if prepared.statement.kind != Kind.EXECUTE:
            return Portal(prepared, arguments, **options)
        executed = self.prepared_as(prepared.statement.details["name"])
        texts = prepared.statement.details["arguments"]
        if len(texts) != len(executed.types):
            raise Failure("42601", f"The statement takes {len(executed.types)} parameters.")
        raw = [None if text is None else text.encode() for text in texts]
        options["size"] = sum(len(one) for one in raw if one is not None)
        return Portal(executed, parameters.decoded(executed.types, raw, ()), **options)

    def prepared_as(self, name: str) -> Prepared:
        """A prepared statement. Raises Failure."""
        if (prepared := self.prepared.get(name)) is None:
            raise Failure("26000", f"There is no prepared statement {name!r}.")
        return prepared

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
                if name == "all":
                    listed = sorted({**self.settings.values, **self.settings.properties}.items())
                    portal.columns = (Column("name", values.TEXT), Column("setting", values.TEXT))
                    portal.batches = once(listed)
                    return
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
                inner.outlives_commit = statement.details["is_held"]
                inner.is_committed = inner.outlives_commit and not self.is_in_transaction
                self._cursors[name] = inner
            case Kind.FETCH:
                await self._open_fetch(portal)
            case Kind.CLOSE:
                name = statement.details["name"]
                await self._close_cursors([name] if name is not None else list(self._cursors))
            case Kind.COPY:
                await self._open_copy(portal)
            case Kind.INSERT:
                await self._open_insert(portal)
            case Kind.PREPARE:
                types = [values.oid_of(type_) or 0 for type_ in statement.details["types"]]
                await self.prepare(statement.details["name"], statement.details["text"], types)
        portal.check_formats()

    async def request(self, statement: PgStatement, arguments: Sequence[Any]) -> Request:
        """A request to the engine with a statement and values of its parameters. Raises Failure."""
        # at run time, because it loads Spark
        from ksql_spark.engine import Request

        for one in statement.parameters:
            if one > len(arguments):
                raise Failure("42P02", f"There is no parameter ${one}.")
        named = {parameters.name_of(one): arguments[one - 1] for one in statement.parameters}
        properties = dict(self.settings.properties)
        if statement.is_read or statement.changes_rows:
            properties = MEANING | properties
        text = (
            await self._channel.work_on(statement.for_values, arguments)
            if statement.has_casts
            else statement.text
        )
        return Request(
            text,
            properties,
            parameters=named or None,
            continuation_token=self.settings.resumed_at,
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
            with contextlib.suppress(NotHereError):
                portal.batches = once(look_up.rows())
                portal.columns = columns_of(look_up.columns, portal.prepared.statement.labels)
                return
        start = asyncio.ensure_future(self._host.query(request))
        try:
            stream = await self._channel.unless_cancelled(asyncio.shield(start))
        except BaseException:
            request.cancelled.set()
            start.add_done_callback(self._abandon)
            raise
        portal.batches = self._rows(stream)
        await anext(portal.batches)  # only what has begun closes the stream at its end
        if stream.kind == "PUSH":
            self.settings.resumed_at = None
        await self._channel.work_on(note_query, self.principal, stream, request)
        portal.columns = columns_of(stream.columns, portal.prepared.statement.labels)
        portal.tokens = None, request.continuation_token

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
                rows = await self._channel.unless_cancelled(asyncio.shield(read))
                if rows is None:
                    return
                yield Placed((row.values for row in rows), stream.continuation)
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
            if isinstance(entity, RowsInserted):
                names = [one.label for one in statement.details["insert"].returned]
                portal.columns = columns_of(entity.columns, ["" if name == "*" else name for name in names])
                portal.batches = once(entity.rows)
                portal.tag = statement.tag
                continue
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
        for name, value in settings_in(tree):
            self.set(name, value)
        settings = self.settings.values | {
            name.lower(): is_ for name, is_ in self.settings.properties.items()
        }
        session = Session(self.user or "anonymous", settings, self._process_id)
        described = await self._catalog_of(asks_about_functions(tree))
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
        portal.held = sum(map(len, answer.pieces))
        others = [*self.portals.values(), *self._cursors.values()]
        if portal.held + sum(one.held for one in others if one is not portal) > _MAX_HELD_BYTES:
            reason = f"The open results of a connection may have {_MAX_HELD_BYTES >> 20} MiB. Close some."
            raise Failure("53400", reason)
        portal.columns = tuple(Column(*both) for both in zip(answer.names, answer.types, strict=True))
        portal.batches = self._pieces(answer, sleep_s(tree, arguments), most_s)

    async def _pieces(self, rows: Rows, asleep_s: float, most_s: float) -> Batches:
        """The rows of the catalog, after a time for which the client wants to wait (``pg_sleep``)."""
        if asleep_s:
            limit_s = most_s if "statement_timeout" in self.settings.values else asleep_s
            await self._channel.unless_cancelled(asyncio.ensure_future(asyncio.sleep(min(asleep_s, limit_s))))
            if asleep_s > limit_s:
                raise Failure("57014", "canceling statement due to statement timeout")
        for some in rows:
            yield some

    async def _catalog_of(self, has_functions: bool) -> Described:
        sources = await self._sources()
        described = self._described
        if has_functions:
            return Described(sources, await self._host.call(described_functions))
        if described is None or described.sources != sources:
            described = self._described = Described(sources)
        return described

    async def _sources(self) -> tuple[SourceDescription, ...]:
        rights = self.principal.rights
        return await self._host.call(lambda engine: described(engine, rights))

    async def close_portals(self, but: Portal | None = None) -> None:
        """Close portals: they live as long as their transaction."""
        for name, portal in list(self.portals.items()):
            if portal is not but:
                del self.portals[name]
                await portal.close()

    async def _close_cursors(self, names: Sequence[str]) -> None:
        """Close those of these cursors that are there."""
        for name in names:
            if (cursor := self._cursors.pop(name, None)) is not None:
                await cursor.close()

    async def _local(self, statement: PgStatement, portal: Portal) -> None:
        match statement.tag:
            case "BEGIN":
                self.is_in_transaction = True
            case "SAVEPOINT" | "RELEASE" | "ROLLBACK" if statement.details.get("is_partial", True):
                # each statement has taken effect: there is nothing to go back to
                if not self.is_in_transaction:
                    raise Failure("25P01", f"{statement.tag} of a savepoint needs a transaction: BEGIN.")
            case "COMMIT" | "ROLLBACK":
                self.is_in_transaction = False
                for cursor in self._cursors.values():
                    cursor.is_committed |= cursor.outlives_commit and statement.tag == "COMMIT"
                await self._close_cursors([n for n, one in self._cursors.items() if not one.is_committed])
                await self.close_portals(but=portal)
            case "SET":
                self.set(statement.details["name"], statement.details["value"])
            case "RESET":
                self.set(statement.details["name"], None)
            case "DISCARD":
                if statement.details["name"].upper() == "ALL":
                    if self.is_in_transaction:
                        raise Failure("25001", "DISCARD ALL cannot run inside a transaction block")
                    self.set("all", None)
                    self.prepared.clear()
                    await self._close_cursors(list(self._cursors))
            case "DEALLOCATE":
                name = statement.details["name"]
                if name.upper() == "ALL":
                    self.prepared.clear()
                else:
                    self.prepared_as(name)
                    del self.prepared[name]

    def set(self, name: str, value: str | None) -> None:
        """Change a setting, or reset it if None. The client hears of settings that it was told of before."""
        before = dict(self.settings.parameter_statuses())
        if value is None:
            self.settings.reset(name.lower())
        else:
            self.settings.set(name, value)
        for told, now in self.settings.parameter_statuses():
            if now != before[told]:
                self._channel.send(messages.ParameterStatus(name=told, value=now))

    async def _property(self, name: str) -> str:
        """The value of a property of ours: the connection's own, the port's, or the server's."""
        property_name = canonical(name)
        for own, value in self.settings.properties.items():
            if canonical(own) == property_name:
                return value
        if property_name in MEANING:
            return MEANING[property_name]
        request = await self.request(statement_of("SHOW PROPERTIES"), ())
        (entity,) = await self._executed(replace(request, properties={}))
        assert isinstance(entity, PropertiesList), "of SHOW PROPERTIES"
        matches = (one.value for one in entity.properties if canonical(one.name) == property_name)
        return str(next(matches, None) or "")

    async def _open_fetch(self, portal: Portal) -> None:
        statement = portal.prepared.statement
        cursor = self._cursor(statement)
        fetched = self._fetched(cursor, **statement.details)
        if statement.tag == "MOVE":
            portal.tag = f"MOVE {sum([len(some) async for some in fetched])}"
            return
        portal.columns = cursor.columns
        portal.batches = fetched

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
                if cursor.has_tokens:
                    self.settings.values[POSITION] = cursor.position or ""
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

    # ---- rows of the client ----------------------------------------------------------------------------

    async def rows_into(self, target: str, names: Sequence[str]) -> RowTarget:
        """What writes rows into a stream or table of ours.

        Args:
            names: of the columns that the rows have; none: all.

        Raises:
            Failure: there is no such column.
            KsqlError: as `Engine.inserter`.
        """
        AUDIT.info("%s: copies into %s", self.principal.name, target)
        news, quoted = threading.Event(), "`" + target.replace("`", "``") + "`"
        properties, rights = dict(self.settings.properties), self.principal.rights
        inserter = await self._host.call(
            lambda engine: engine.inserter(quoted, properties, news.set, rights, is_whole=True)
        )
        fields = {one.name: one for one in await self._fields(target) if one.type in (None, "KEY")}
        if unknown := [name for name in names if name not in fields]:
            raise Failure("42703", f"{target} has no column {unknown[0]}. It has {', '.join(fields)}.")
        columns = tuple(Column(name, values.type_of(fields[name].schema)) for name in names or fields)
        return RowTarget(inserter, RowCopy(inserter, news), columns)

    async def copy_in(self, statement: PgStatement) -> tuple[RowTarget, CopyIn]:
        """What takes the rows of COPY … FROM STDIN. Raises as `rows_into`."""
        details = statement.details
        target = await self.rows_into(details["target"], details["columns"])
        return target, CopyIn(target.copy, target.columns, details["options"], self._host.most_request_bytes)

    async def _open_insert(self, portal: Portal) -> None:
        """Insert what a query returns."""
        statement = portal.prepared.statement
        inner = portal.inner()
        target = await self.rows_into(statement.details["target"], statement.details["columns"])
        try:
            await self.open(inner)
            assert inner.batches is not None, "of a query"
            if len(inner.columns or ()) != len(target.columns):
                raise Failure(
                    "42601",
                    f"The query has {len(inner.columns or ())} columns, "
                    f"and {statement.details['target']} takes {len(target.columns)}.",
                )
            names = [f"`{column.name.replace('`', '``')}`" for column in target.columns]
            count, is_taken = 0, True
            while is_taken and await inner.has_more():
                rows, inner.waiting = inner.waiting[::-1], []

                def write(rows: Sequence[Sequence[Any]] = rows, first: int = count + 1) -> bool:
                    return all(
                        target.copy.add(f"row {at}", dict(zip(names, row, strict=True)))
                        for at, row in enumerate(rows, first)
                    )

                is_taken = await self._host.read(write)
                count += len(rows)
            portal.tag = f"INSERT 0 {await self._host.read(target.copy.finish)}"
        finally:
            target.inserter.close()
            await inner.close()


class RowTarget(NamedTuple):
    """What writes rows into a stream or table.

    Args:
        inserter: of the engine; to be closed.
        copy: hands rows over to it.
        columns: by our names, with their types.
    """

    inserter: RowInserter
    copy: RowCopy
    columns: tuple[Column, ...]


def sleep_s(query: exp.Expr, arguments: Sequence[Any]) -> float:
    """How long a query wants to wait by ``pg_sleep``, seconds."""
    total = 0.0
    for call in query.find_all(exp.Anonymous):
        if call.name.lower() == "pg_sleep" and len(call.expressions) == 1:
            value = parameters.literal(call.expressions[0].unnest(), arguments)
            try:
                total += max(0.0, float(value.name))
            except ValueError:
                raise Failure("42883", "pg_sleep takes a number of seconds.") from None
    if not math.isfinite(total):
        raise Failure("22003", "pg_sleep takes a number of seconds.")
    return total


def settings_in(query: exp.Expr) -> list[tuple[str, str]]:
    """The settings that a query changes by ``set_config``, with their values."""
    calls = [call for call in query.find_all(exp.Anonymous) if call.name.lower() == "set_config"]
    literals = [call.expressions[:2] for call in calls]
    return [
        (both[0].name, both[1].name)
        for both in literals
        if len(both) == 2 and all(isinstance(one, exp.Literal) for one in both)
    ]


def asks_about_functions(query: exp.Expr) -> bool:
    """Whether a query is about functions; that for types, which drivers send, names some of PostgreSQL's."""
    names = {table.name.lower() for table in query.find_all(exp.Table)}
    is_of_types = any(column.name.lower() == "typreceive" for column in query.find_all(exp.Column))
    return bool(names & {"pg_proc", "routines"}) and not is_of_types


def described_functions(engine: Engine) -> tuple[FunctionDescriptionList, ...]:
    """All functions of KSQL with their signatures."""
    from ksql_spark.engine import Request

    (listed,) = engine.execute(Request("SHOW FUNCTIONS;"))
    assert isinstance(listed, FunctionNameList), "of SHOW FUNCTIONS"
    text = "".join(f"DESCRIBE FUNCTION `{one.name}`;" for one in listed.functions)
    entities = engine.execute(Request(text))
    return tuple(one for one in entities if isinstance(one, FunctionDescriptionList))


def _parsed(
    text: str,
) -> tuple[PgStatement, Mapping[int, str | int | parameters.Elements], Mapping[int, str]]:
    """The one statement of a text, what its parameters are compared with, and to what they are cast."""
    pieces = split(text)
    statement = next_statement(pieces) or PgStatement(Kind.EMPTY, "")
    if next(pieces, None) is not None:
        raise Failure("42601", "A prepared statement is one statement.")
    return statement, parameters.columns_of(statement), parameters.casts_of(statement)


def is_read_early(statement: PgStatement) -> bool:
    """Whether a statement changes nothing, so that it may run to see what columns it has."""
    if statement.kind == Kind.STATEMENT:
        return statement.tag in _READING
    return statement.kind in (Kind.QUERY, Kind.CATALOG, Kind.SHOW, Kind.FETCH)


def described(engine: Engine, rights: Rights) -> tuple[SourceDescription, ...]:
    """All streams, tables and views that a client may see."""
    from ksql_spark.engine import Request

    entities = engine.execute(Request("DESCRIBE STREAMS; DESCRIBE TABLES; DESCRIBE VIEWS;", rights=rights))
    return tuple(one for entity in entities for one in getattr(entity, "source_descriptions", ()))
