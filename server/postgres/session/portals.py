"""What a client has prepared and opened: statements, their values, and what is left of their results."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pygwire import messages

from ksql_spark.server.postgres.session.statements import Kind, PgStatement
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import Failure
from ksql_spark.server.postgres.values.names import shown_name
from ksql_spark.server.postgres.wire.columns import Column
from ksql_spark.server.postgres.wire.copying import CopyOptions

#: names of KSQL for columns without an alias
_GENERATED = re.compile(r"KSQL_COL_\d+")


class Placed(list[Sequence[Any]]):
    """Rows of a push query, and the token of the position after them."""

    def __init__(self, rows: Iterable[Sequence[Any]], token: str | None) -> None:
        super().__init__(rows)
        self.token = token


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
    #: how COPY writes the rows, or None if it is no COPY
    copying: CopyOptions | None = None
    #: of a result that the server keeps whole, bytes
    held: int = 0
    #: of a cursor: whether it outlives COMMIT, and whether it has outlived one, so that ROLLBACK spares it
    outlives_commit: bool = False
    is_committed: bool = False
    is_open: bool = False
    is_done: bool = False
    #: of the next batch; a FETCH with a timeout leaves it to the next FETCH
    reading: asyncio.Task[Sequence[Sequence[Any]] | None] | None = None
    #: tokens of the positions before and after the batch whose rows were fetched last
    tokens: tuple[str | None, str | None] = (None, None)

    @property
    def position(self) -> str | None:
        """A token: all rows before it were fetched, and perhaps some later ones; None at the beginning."""
        return self.tokens[0 if self.waiting else 1]

    @property
    def has_tokens(self) -> bool:
        """Whether its query gives tokens."""
        return self.tokens[1] is not None

    def format(self, at: int) -> int:
        """0 for text, 1 for binary."""
        if not self.formats:
            return 0
        return self.formats[at] if len(self.formats) > 1 else self.formats[0]

    def check_formats(self) -> None:
        """Raise if there is another number of formats than of columns."""
        formats, columns = len(self.formats), len(self.columns or ())
        if formats > 1 and formats != columns and self.columns is not None:
            message = f"bind message has {formats} result formats but query has {columns} columns"
            raise Failure("08P01", message)

    def inner(self) -> Portal:
        """A portal for the query inside its statement, with the same values."""
        statement = self.prepared.statement
        if statement.inner is None or statement.inner.kind not in (Kind.QUERY, Kind.CATALOG):
            raise Failure("42601", f"{statement.tag} takes a query.")
        return Portal(Prepared(statement.inner, self.prepared.types), self.values, self.size)

    def row_description(self) -> messages.RowDescription:
        """Describe its columns to the client."""
        return messages.RowDescription(
            fields=[
                messages.FieldDescription(
                    name=column.name,
                    type_oid=column.type.oid,
                    type_size=column.type.size,
                    type_modifier=-1,
                    format_code=self.format(at),
                )
                for at, column in enumerate(self.columns or ())
            ]
        )

    async def rows(self) -> AsyncIterator[Sequence[Any]]:
        """The rows that are left, one after another; marks it as done once there are none."""
        while await self.has_more():
            yield self.waiting.pop()

    async def has_more(self, until: float | None = None) -> bool:
        """Whether rows wait, or come before a time of the loop; marks it as done once there are none."""
        assert self.batches is not None
        while not self.waiting and not self.is_done:
            if self.reading is None:
                self.reading = asyncio.create_task(_next(self.batches))
            remaining_s = None if until is None else max(0.0, until - asyncio.get_running_loop().time())
            # not cancelled: that would end the query
            await asyncio.wait((self.reading,), timeout=remaining_s)
            if not self.reading.done():
                return False
            reading, self.reading = self.reading, None
            batch = reading.result()
            self.is_done = batch is None
            self.waiting = list(reversed(batch or ()))
            if isinstance(batch, Placed):
                self.tokens = self.tokens[1], batch.token
        return bool(self.waiting)

    async def close(self) -> None:
        """End what is left of the result."""
        if self.reading is not None:
            self.reading.cancel()
            await asyncio.gather(self.reading, return_exceptions=True)
        if self.batches is not None:
            with contextlib.suppress(RuntimeError):
                await self.batches.aclose()


async def _next(batches: Batches) -> Sequence[Sequence[Any]] | None:
    return await anext(batches, None)


async def once(rows: Sequence[Sequence[Any]]) -> Batches:
    """All rows of a result, at once."""
    yield rows


def columns_of(columns: Iterable[Any], labels: Sequence[str]) -> tuple[Column, ...]:
    """Columns of ours as the client sees them: PostgreSQL names those that have no alias.

    Args:
        columns: each has ``name`` and ``schema``.
        labels: of the query's items, as `labels.labels` returns them.
    """
    listed = list(columns)
    names = [shown_name(column.name) for column in listed]
    generated = [at for at, column in enumerate(listed) if _GENERATED.fullmatch(column.name)]
    if labels.count("*") == 1:  # stands for as many columns as the others leave
        star = labels.index("*")
        stands_for = len(listed) - len(labels) + 1
        labels = [*labels[:star], *[""] * stands_for, *labels[star + 1 :]]
    if len(labels) == len(listed):
        for at in generated:
            names[at] = labels[at] or names[at]
        for at, column in enumerate(listed):  # a column of a join, a.id, which is A_ID here
            if labels[at] and column.name.endswith(f"_{shown_name(labels[at])}"):
                names[at] = labels[at]
    return tuple(
        Column(name, values.type_of(column.schema)) for name, column in zip(names, listed, strict=True)
    )
