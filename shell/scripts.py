"""Scripts: input from a file, from ``-e``, from a pipe and from RUN SCRIPT.

All run in the same way: statements and commands one by one, each as its own request. The first failure ends
the script; earlier statements are not undone.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ksql_spark.shell import commands, statements
from ksql_spark.shell.client import ClientError
from ksql_spark.shell.commands.command import Command, CommandProblem, Context
from ksql_spark.shell.output import entities
from ksql_spark.shell.output.text import safe
from ksql_spark.shell.session import Failure

if TYPE_CHECKING:
    from ksql_spark import grammar


class ScriptFailure(ClientError):
    """The error that ended a script; the text is ``file:line:column: message``."""

    def __init__(self, name: str, failure: Failure) -> None:
        super().__init__(failure.located(name) + skipped(failure.skipped))


def skipped(count: int | None) -> str:
    """Describe how many statements an error has skipped, for the end of its message."""
    return f"\n{count} statement{'s were' if count > 1 else ' was'} skipped." if count else ""


def run_script(lines: Iterable[str], name: str, context: Context) -> None:
    """Run the inputs of a script as they arrive; the last one may lack its ``;``.

    Args:
        lines: the script's text, line by line; the next line is requested once the previous ones have run.
        name: the script's name in errors.

    Raises:
        ScriptFailure: the first statement or command that failed.
        Leave: the script says ``exit``.
        KeyboardInterrupt: Ctrl-C, unless it ends only a query in this session.
    """
    script_inputs = inputs(lines)
    console = context.session.console
    count = len(list(inputs(io.StringIO(lines.getvalue())))) if isinstance(lines, io.StringIO) else 0
    before = console.step
    for number, (text, line) in enumerate(script_inputs, start=1):
        console.spool_input(text.strip())
        try:
            console.step = f"statement {number} of {count}" if count > 1 else before
            run_text(text, context)
        except Failure as failure:
            from ksql_spark import grammar

            # do not wait for whoever is still writing into a pipe
            rest = script_inputs if isinstance(lines, io.StringIO) else ()
            skipped_count = (failure.skipped or 0) + sum(len(grammar.split(text)) for text, _ in rest)
            raise ScriptFailure(name, replace(failure.moved(line - 1), skipped=skipped_count)) from None
        finally:
            console.step = before
    context.session.report_inserted()


def run_file(path: str, text: str, context: Context) -> None:
    """Run the text of a file.

    Raises:
        ClientError: the file is already running, because it runs itself.
        ScriptFailure, Leave: as run_script.
    """
    file = Path(path).expanduser().resolve()
    if file in context.running_scripts:
        raise ClientError(f"The script {path} runs itself.")
    console = context.session.console
    context.running_scripts.append(file)
    pages, console.pages = console.pages, False
    is_brief, console.is_brief = console.is_brief, True
    try:
        run_script(io.StringIO(text), path, context)
    finally:
        console.pages, console.is_brief = pages, is_brief
        context.running_scripts.pop()


def run_text(text: str, context: Context) -> None:
    """Run the commands and statements of one whole input, in order.

    Raises:
        Failure: the first failure; nothing after it was run.
        ScriptFailure: the failure was in a script that the input runs.
        Leave: the shell should end.
    """
    from ksql_spark import grammar

    try:
        text.encode()
    except UnicodeEncodeError as error:  # bytes that were no UTF-8 are surrogates
        line, column = text.count("\n", 0, error.start) + 1, error.start - text.rfind("\n", 0, error.start)
        raise Failure(ClientError("This is not UTF-8 text."), line, column) from None
    if _command(text) is not None:
        parts = [grammar.StatementText(text.strip(), 1, 1, True)]
    else:
        parts = grammar.split(text)
    for number, part in enumerate(parts, start=1):
        try:
            _run_part(part, len(parts) > 1 or bool(context.running_scripts), context)
        except Failure as failure:
            context.session.report_inserted()
            raise replace(failure, skipped=len(parts) - number) if len(parts) > 1 else failure from None
    if not context.running_scripts:
        context.session.report_inserted()


def _run_part(part: grammar.StatementText, is_one_of_many: bool, context: Context) -> None:
    """Run one command or statement. Raises as run_text."""
    console, session = context.session.console, context.session
    if part.open == "comment":
        start = part.tokens[-1]
        raise Failure(ClientError("This comment is never closed."), start.line, start.col)
    target = session.inserts_into(part)
    if target is None:
        session.report_inserted()
        if is_one_of_many and console.form.is_for_people:
            console.note()
            console.note(console.cyan(safe(entities.one_line(statements.shown(part))) + ";"))
    command_line = _command(part.text)
    if command_line is None:
        problem = commands.problem(part.text)
        if problem is not None:
            raise Failure(CommandProblem(problem), part.line, part.column)
        session.run(part)
        if target is not None:
            session.count_inserted(*target)
        return
    command, arguments = command_line
    try:
        script = command.run(context, arguments)
        if script is None:
            return
        if script.path is None:
            run_text(script.text, context)
        else:
            run_file(script.path, read_script(script.path), context)
    except ScriptFailure:
        raise
    except ClientError as error:
        raise Failure(error, part.line, part.column) from None


def inputs(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Complete inputs made of ``lines``, each with the number of its first line.

    A byte order mark before the first line is skipped.
    """
    gathered, first = "", 1
    for number, line in enumerate(lines, start=1):
        gathered += line.removeprefix("\ufeff") if number == 1 else line
        if is_whole(gathered):
            if not statements.is_blank(gathered):
                yield gathered, first
            gathered, first = "", number + 1
    if not statements.is_blank(gathered):
        yield gathered, first


def is_whole(text: str) -> bool:
    """Whether an input is complete: empty, a command with its arguments, or statements with their ``;``.

    So is a misspelled command: what is typed after it would not be part of it.
    """
    command_line = _command(text)
    if command_line is None:
        return statements.is_complete(text) or commands.problem(text) is not None
    command, arguments = command_line
    return len(arguments) >= command.least_arguments or text.rstrip().endswith(";")


def _command(text: str) -> tuple[Command, list[str]] | None:
    """The command in ``text`` and its arguments; None for statements and within a comment."""
    return None if statements.opens_comment(text) else commands.find(text)


def read_script(path: str) -> str:
    """The text of a file of statements. Raises ClientError if it cannot be read."""
    try:
        return Path(path).expanduser().read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ClientError(f"Cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ClientError(f"Cannot read {path}: it is not UTF-8 text.") from None
