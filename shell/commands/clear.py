"""clear: empty the screen."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, Context


def _run(context: Context, arguments: Sequence[str]) -> None:
    if context.session.console.tty:
        context.session.console.write("\x1b[2J\x1b[H")


COMMAND = Command("clear", "clear", "empty the screen", _run)
