"""The exceptions of DB-API 2.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Warning(Exception):
    """Something important that is not an error."""


class Error(Exception):
    """Any error.

    ``code`` is the server's error code (reference/error-codes.md), or None; ``statement`` is the text of the
    failed statement, if known; ``entities`` are the results of earlier statements; ``status`` is the HTTP
    status of the response, or None.
    """

    def __init__(
        self,
        message: str,
        code: int | None = None,
        statement: str | None = None,
        entities: Sequence[Mapping[str, Any]] = (),
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.statement = statement
        self.entities = list(entities)
        self.status = status


class InterfaceError(Error):
    """Wrong use of this client."""


class DatabaseError(Error):
    """An error of the server."""


class DataError(DatabaseError):
    """A value that does not fit."""


class OperationalError(DatabaseError):
    """The server cannot be reached, or cannot serve the request now."""


class UnreachableError(OperationalError):
    """Raised if no ksql-spark server responds."""


class NotConnectedError(UnreachableError):
    """Raised if no connection was made: nothing was sent, so another server may be tried."""


class IntegrityError(DatabaseError):
    """Never raised: constraints are not supported."""


class InternalError(DatabaseError):
    """The server failed."""


class ProgrammingError(DatabaseError):
    """The statement is wrong or not allowed."""


class NotSupportedError(DatabaseError):
    """The operation is not supported."""


def of_answer(status: int, body: Any) -> DatabaseError:
    """The error for a server's response."""
    content: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    message = str(content.get("message", f"The server answered with status {status}."))
    code = content.get("error_code")
    statement = content.get("statementText") or None
    if status in (429, 503):
        kind: type[DatabaseError] = OperationalError
    elif status >= 500:
        kind = InternalError
    else:
        kind = ProgrammingError
    entities = content.get("entities") or []
    return kind(message, code if isinstance(code, int) else None, statement, entities, status)
