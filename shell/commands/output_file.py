r"""\o: write results to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ksql_spark.shell.commands.command import Command, CommandProblem, Context, file_name


def _run(context: Context, arguments: Sequence[str]) -> None:
    session = context.session
    path = file_name(arguments)
    try:
        session.send_results(Path(path).expanduser() if path else None)
    except OSError as error:
        raise CommandProblem(f"Cannot write to {path}: {error.strerror}.") from None
    where = str(Path(path).expanduser().absolute()) if path else "the screen"
    session.console.note(f"Results go to {where}")


COMMAND = Command(
    r"\o",
    r"\o [FILE]",
    "write results to a file, in the format that output sets; without a file, to the screen again",
    _run,
    most_arguments=99,
)
