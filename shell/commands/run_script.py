"""run script: run the statements of a file."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, CommandProblem, Context, Script, file_name


def _run(context: Context, arguments: Sequence[str]) -> Script:
    path = file_name(arguments)
    if not path:
        raise CommandProblem("run script takes a file name.")
    return Script(path=path)


COMMAND = Command(
    "run script",
    "run script FILE",
    "run a file's statements in order until the first error",
    _run,
    least_arguments=1,
    most_arguments=99,
)
