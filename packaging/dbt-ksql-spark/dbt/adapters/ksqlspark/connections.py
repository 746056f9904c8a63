"""Connections to a server, by the client of ksql-spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState, Credentials
from dbt.adapters.sql import SQLConnectionManager
from dbt_common.exceptions import DbtDatabaseError

from ksql_spark import client

#: there is one database with one schema
DATABASE = SCHEMA = "ksql"


@dataclass
class KsqlCredentials(Credentials):
    """A target in profiles.yml.

    Args:
        url: address of the server, or of several that share queries, separated by commas.
        user, password: for basic authentication.
        token: a bearer token.
        ca: a file of certificate authorities.
        properties: properties for all statements; ``auto.offset.reset`` is ``earliest`` unless given.
    """

    database: str = DATABASE
    schema: str = SCHEMA
    url: str = "http://localhost:8088"
    user: str | None = None
    password: str | None = None
    token: str | None = None
    ca: str | None = None
    properties: dict[str, Any] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """The adapter's name."""
        return "ksqlspark"

    @property
    def unique_field(self) -> str:
        """What tells one server from another."""
        return self.url

    def _connection_keys(self) -> tuple[str, ...]:
        # what is listed here is also what models find as `target`
        url = () if "@" in self.url else ("url",)  # else it has a password
        return (*url, "user", "ca", "properties", "database", "schema")


class _Cursor:
    """A cursor whose statements need not end in ``;``."""

    def __init__(self, cursor: client.Cursor) -> None:
        self._cursor = cursor
        self.entities: list[dict[str, Any]] = []

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        # on a line of its own: the last one may be a comment
        self._cursor.execute(sql.strip().rstrip(";") + "\n;", bindings)
        self.entities = self._cursor.entities

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


class _Handle:
    """A connection for dbt: transactions are nothing."""

    def __init__(self, connection: client.Connection) -> None:
        self.connection = connection

    def cursor(self) -> _Cursor:
        return _Cursor(self.connection.cursor())

    def close(self) -> None:
        self.connection.close()

    def rollback(self) -> None:
        """Do nothing: statements have taken effect."""


class KsqlConnectionManager(SQLConnectionManager):
    """Opens connections; there are no transactions."""

    TYPE = "ksqlspark"

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Connect."""
        if connection.state == ConnectionState.OPEN:
            return connection
        given: KsqlCredentials = connection.credentials
        connection.handle = _Handle(
            client.connect(
                given.url,
                auth=None if given.user is None else (given.user, given.password or ""),
                token=given.token,
                verify=True if given.ca is None else given.ca,
                properties={"auto.offset.reset": "earliest", **given.properties},
            )
        )
        connection.state = ConnectionState.OPEN
        return connection

    def cancel(self, connection: Connection) -> None:
        """End what a connection runs, by closing it."""
        connection.handle.close()

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        """What the server said."""
        status = (cursor.entities[-1].get("commandStatus") or {}) if cursor.entities else {}
        return AdapterResponse(_message=status.get("message", "OK"), query_id=status.get("queryId"))

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Turn the client's errors into dbt's, which tell the model."""
        try:
            yield
        except client.Error as error:
            raise DbtDatabaseError(str(error)) from error

    def begin(self) -> Connection:
        """Begin nothing: there are no transactions."""
        return self.get_thread_connection()

    def commit(self) -> Connection:
        """Commit nothing."""
        return self.get_thread_connection()

    def add_begin_query(self) -> None:
        """Nothing."""

    def add_commit_query(self) -> None:
        """Nothing."""

    def _add_query_comment(self, sql: str) -> str:
        # a statement is kept as it was written: a comment with the time of the run would make it another
        return sql
