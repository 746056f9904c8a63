"""exit: leave the shell."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, Context, Leave


def _run(context: Context, arguments: Sequence[str]) -> None:
    raise Leave


COMMAND = Command("exit", r"exit, quit, \q", "leave the shell", _run, aliases=("quit", r"\q"))
