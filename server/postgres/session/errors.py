"""The engine's errors as fields of an ErrorResponse."""

from __future__ import annotations

from ksql_spark.errors import KsqlError, Position
from ksql_spark.server.postgres.session.statements import PgStatement
from ksql_spark.server.postgres.values.failures import CANCELLED

_STATES = {
    "SYNTAX": "42601", "SOURCE_UNKNOWN": "42P01", "COLUMN_UNKNOWN": "42703", "FUNCTION_UNKNOWN": "42883",
    "FORBIDDEN": "42501", "NOT_READY": "57P03", "STOPPED": "57P01", "STATEMENT_TIMEOUT": "57014",
    "STATEMENT_CANCELLED": "57014", "SOURCE_EXISTS": "42P07", "STATEMENT_TOO_LONG": "54000",
    "PUSH_LIMIT": "53400", "PUSH_SHARE": "53400", "PULL_LIMIT": "53400", "DISK_FULL": "53100",
    "INTERNAL": "XX000", "FUNCTION_ARGUMENTS": "42883", "FUNCTION_AMBIGUOUS": "42725",
    "ARITHMETIC_TYPES": "42883", "COMPARISON_TYPES": "42883", "CAST_UNSUPPORTED": "42846",
    "NOT_GROUPED": "42803", "LITERAL_SYNTAX": "22P02", "TIMESTAMP_TEXT": "22007",
}  # fmt: skip


def _sqlstate(error: KsqlError) -> str:
    """The SQLSTATE of an error: 57P03 if the server is not ready, 58000 if a system that it uses fails."""
    if error.condition == "VALUE_REFUSED":
        return str(error.parameters["state"])
    if error.condition in _STATES:
        return _STATES[error.condition]
    if error.code // 10_000 == 4:
        return "42000"
    return "57P03" if error.code // 100 == 503 else "58000"


def error_fields(error: KsqlError, statement: PgStatement | None) -> dict[str, str]:
    """An error as the fields of an ErrorResponse, with its place in the client's text."""
    state = _sqlstate(error)
    message = CANCELLED if error.condition == "STATEMENT_CANCELLED" else error.without_context().message
    fields = {"S": "ERROR", "V": "ERROR", "C": state, "M": message}
    at = error.position
    if error.condition == "SYNTAX":
        at, fields["M"] = _place(fields["M"])
    if at is not None and statement is not None and not statement.is_moved:
        # of the statement in EXPLAIN, the place is in that one
        before = max(0, statement.text.find(error.statement or ""))
        for _ in range(at.line - 1):
            before = statement.text.find("\n", before) + 1
        fields["P"] = str(statement.piece.start + before + at.column)
    return fields


def _place(message: str) -> tuple[Position | None, str]:
    """The place of a syntax error, and what is wrong, without the line and its caret."""
    head, _, reason = message.partition("\n")
    numbers = head.removeprefix("line ").split(":")[:2]
    if not head.startswith("line ") or not all(number.isdecimal() for number in numbers):
        return None, message
    return Position(int(numbers[0]), int(numbers[1]), 1), reason.partition("\n")[0]
