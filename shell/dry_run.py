"""``--dry-run``: lets the server check scripts as a whole, without an effect (POST /ksql/validate).

The statements of all scripts are one request, because each may need what those before it declare. A SELECT is
checked as EXPLAIN SELECT. PRINT, SHOW VARIABLES, COPY and the commands of the shell are not checked.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ksql_spark import grammar
from ksql_spark.shell import commands, statements
from ksql_spark.shell.client import ClientError, ServerError
from ksql_spark.shell.commands import files
from ksql_spark.shell.commands.command import CommandProblem, Context, file_name
from ksql_spark.shell.scripts import ScriptFailure, inputs, read_script
from ksql_spark.shell.session import Failure
from ksql_spark.shell.statements import Kind

_NOT_CHECKED = (Kind.PRINT, Kind.SHOW_VARIABLES, Kind.COPY)
#: the position in a syntax error, in the text of the whole request
_SYNTAX = re.compile(r"line (\d+):(?=\d+: Syntax Error)")


@dataclass(frozen=True)
class _Part:
    """A statement, and where it is."""

    script: str
    text: str
    line: int
    column: int
    is_query: bool


def dry_run(scripts: Iterable[tuple[str, str]], context: Context) -> None:
    """Check the statements of scripts, each a name and its text.

    Raises:
        ScriptFailure: the first statement that the server would refuse.
        ClientError: a script that another one runs cannot be read; the server cannot check.
    """
    parts = [part for name, text in scripts for part in _parts(name, text, ())]
    if not parts:
        return
    error = _error(parts, context)
    if error is not None:
        # the first statement with which the request fails is the wrong one
        passing, failing = 0, len(parts)
        while failing - passing > 1:
            middle = (passing + failing) // 2
            problem = _error(parts[:middle], context)
            if problem is None:
                passing = middle
            else:
                failing, error = middle, problem
        part = parts[failing - 1]
        above = _request(parts[: failing - 1]).count("\n") + _prefix(part).count("\n")
        message = _SYNTAX.sub(lambda match: f"line {int(match[1]) - above}:", str(error))
        raise ScriptFailure(part.script, Failure(ClientError(message), part.line, part.column))
    count = len(parts)
    context.session.console.note(f"{count} statement{'s are' if count > 1 else ' is'} valid")


def _error(parts: Sequence[_Part], context: Context) -> ServerError | None:
    """Return the server's error about the statements, or None if they are valid."""
    session = context.session
    try:
        with session.console.busy():
            session.client.validate(_request(parts), session.settings)
    except ServerError as error:
        return error
    return None


def _request(parts: Sequence[_Part]) -> str:
    return "".join(f"{_prefix(part)}{part.text}\n;\n" for part in parts)


def _prefix(part: _Part) -> str:
    return "EXPLAIN\n" if part.is_query else ""


def _parts(name: str, text: str, running: tuple[Path, ...]) -> Iterator[_Part]:
    """The statements of a script, with those of scripts that it runs."""
    file = Path(name).expanduser().resolve()
    if file in running:
        raise ClientError(f"The script {name} runs itself.")
    for whole, first in inputs(io.StringIO(text)):
        call = commands.find(whole)
        if call is not None:
            command, arguments = call
            if command is files.RUN_SCRIPT:
                path = file_name(arguments)
                yield from _parts(path, read_script(path), (*running, file))
            continue
        for piece in grammar.split(whole):
            line = piece.line + first - 1
            meant = commands.meant(piece.text)
            if meant is not None:
                problem: ClientError = CommandProblem(
                    f"Unknown command '{piece.text}'. Did you mean {meant}?"
                )
                raise ScriptFailure(name, Failure(problem, line, piece.column))
            if piece.open is not None:
                start = piece.tokens[-1]
                problem = ClientError(f"This {piece.open} is never closed.")
                raise ScriptFailure(name, Failure(problem, start.line + first - 1, start.col))
            if statements.kind_of(piece) not in _NOT_CHECKED:
                yield _Part(name, piece.text, line, piece.column, piece.is_query)
