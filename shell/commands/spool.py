"""spool: copy input and output to a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ksql_spark.shell.commands.command import Command, CommandProblem, Context


def _run(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    path = " ".join(arguments).strip("'\"")
    if not path:
        raise CommandProblem("spool takes a file name or OFF.")
    try:
        if path.upper() == "OFF":
            console.note("Session is no longer spooled")
            console.spool(None)
        else:
            console.spool(Path(path).expanduser())
            console.note(f"Session will be spooled to {Path(path).expanduser().absolute()}")
    except OSError as error:
        raise CommandProblem(f"Cannot write to {path}: {error.strerror}.") from None


COMMAND = Command("spool", "spool FILE|OFF", "copy input and output to a file", _run, most_arguments=99)
