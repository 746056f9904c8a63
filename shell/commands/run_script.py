"""run script: run the statements of a file."""

from __future__ import annotations

from collections.abc import Sequence

from shell.commands.command import Command, CommandProblem, Context


def _run(context: Context, arguments: Sequence[str]) -> None:
    path = " ".join(arguments).strip("'\"")
    if not path:
        raise CommandProblem("run script takes the name of a file.")
    context.session.run_script(path)


COMMAND = Command(
    "run script",
    "run script FILE",
    "run the statements of a file (no SELECT or PRINT in it)",
    _run,
    most_arguments=99,
)
