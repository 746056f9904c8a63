"""Databases: their URLs, engines of SQLAlchemy, and the rows of a table."""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from ksql_spark.errors import KsqlError

SQLITE = "sqlite"


def url_of(text: str) -> sa.URL:
    """The URL of a database, written as for SQLAlchemy, libpq or JDBC.

    >>> url_of("jdbc:postgresql://db/shop?user=ann").drivername, url_of("sqlite:/tmp/x.db").database
    ('postgresql+psycopg', '/tmp/x.db')
    """
    plain = re.sub(r"^jdbc:", "", text, flags=re.IGNORECASE)
    plain = re.sub(r"^sqlite:(?!//)", "sqlite:///", plain, flags=re.IGNORECASE)
    url = sa.make_url(plain)
    if url.drivername.lower() in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
        if "connect_timeout" not in url.query:
            url = url.update_query_dict({"connect_timeout": "10"})
    return url


def engine_of(text: str) -> sa.Engine:
    """An engine for the database at a URL, which keeps no connections; see url_of()."""
    url = url_of(text)
    if url.get_backend_name() == SQLITE and url.database:
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    return sa.create_engine(
        url,
        poolclass=NullPool,
        hide_parameters=True,
        json_serializer=functools.partial(json.dumps, ensure_ascii=False, allow_nan=False),
    )


@contextlib.contextmanager
def failures(table: str, url: str) -> Iterator[None]:
    """Raise a database's errors as KsqlError, in one line and without secrets.

    Raises:
        KsqlError: LAKE_FAILED.
    """
    try:
        yield
    except (sa.exc.SQLAlchemyError, ValueError, OSError) as error:
        reason = str(getattr(error, "orig", None) or error)
        shown = " ".join(reason.split()).rstrip(".")
        raise KsqlError("LAKE_FAILED", path=f"{table} of {url}", reason=shown) from None


def in_schema(table: str) -> tuple[str, str | None]:
    """The name of a table, and that of its schema if it is not the usual one."""
    schema, _, name = table.rpartition(".")
    return name, schema or None


def select(
    url: str, table: str, names: Callable[[Iterable[str]], Mapping[str, str]]
) -> Mapping[str, Sequence[Any]]:
    """Values of all rows of a table or view.

    Args:
        url: of the database.
        table: its name, perhaps after that of its schema.
        names: tells from the columns that are there, which are wanted, by the names that they get.

    Raises:
        KsqlError: LAKE_FAILED; those of ``names``.
    """
    with failures(table, url), engine_of(url).connect() as connection:
        name, schema = in_schema(table)
        there = sa.Table(name, sa.MetaData(schema=schema), autoload_with=connection)
        by_name = names(column.name for column in there.columns)
        rows = connection.execute(sa.select(*(there.columns[one] for one in by_name.values()))).all()
        return {one: [row[i] for row in rows] for i, one in enumerate(by_name)}
