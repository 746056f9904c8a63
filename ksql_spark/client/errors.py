"""The exceptions of DB-API 2.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class Warning(Exception):
    """Something important that is not an error."""


class Error(Exception):
    """Any error.

    ``code`` is the server's error code (reference/errors.md), None if there is none; ``statement`` the text
    of the statement that failed, as far as it is known; ``entities`` what those before it have answered;
    ``status`` the HTTP status of the answer, None if there was none.
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
    """This client was used in a way that it cannot be."""


class DatabaseError(Error):
    """An error of the server."""


class DataError(DatabaseError):
    """A value that does not fit."""


class OperationalError(DatabaseError):
    """The server cannot be reached, or cannot do it now."""


class UnreachableError(OperationalError):
    """No server answers, or what answers is none of ours."""


class NotConnectedError(UnreachableError):
    """There is no connection to a server, so nothing was sent, and another server may be asked."""


class IntegrityError(DatabaseError):
    """Never raised: there are no constraints."""


class InternalError(DatabaseError):
    """The server failed."""


class ProgrammingError(DatabaseError):
    """The statement is wrong, or not allowed."""


class NotSupportedError(DatabaseError):
    """There is no such thing here."""


def of_answer(status: int, body: Any) -> DatabaseError:
    """The error that an answer of the server means."""
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
