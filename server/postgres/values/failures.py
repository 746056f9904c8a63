"""Errors as PostgreSQL's clients know them: fields of an ErrorResponse."""

from __future__ import annotations

from ksql_spark.grammar.advice import NO_GRANTS

#: the text of a cancelled statement, which clients of PostgreSQL know
CANCELLED = "canceling statement due to user request"

#: statements of PostgreSQL that are not there, and what to do
REFUSED = {
    "LISTEN": "LISTEN is not supported: nothing notifies. SELECT … EMIT CHANGES sends rows as they arrive.",
    "NOTIFY": "NOTIFY is not supported. INSERT a row into a stream; SELECT … EMIT CHANGES sends it on.",
    "GRANT": NO_GRANTS,
    "REVOKE": NO_GRANTS,
    "DO": "DO is not supported: there is no language of procedures.",
    "CALL": "CALL is not supported: there are no procedures.",
}


def no_schema(name: str) -> Failure:
    """The error for a schema that is not there."""
    reason = (
        f'There is no schema "{name}": all streams and tables are in "public". Put the prefix in the name'
    )
    return Failure("3F000", f"{reason}, such as {name}_orders; roles take patterns of names.")


class Failure(Exception):
    """An error for the client, with PostgreSQL's code for it."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.fields = {"S": "ERROR", "V": "ERROR", "C": state, "M": message}


class CatalogError(Exception):
    """Raised with the reason why a query is not answered.

    Args:
        state: PostgreSQL's code for it.
        message: for the client.
    """

    def __init__(self, state: str, message: str) -> None:
        super().__init__(state, message)
        self.state = state
        self.message = message
