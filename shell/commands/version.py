"""version: show the version of the shell."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, Context
from ksql_spark.shell.version import version


def _run(context: Context, arguments: Sequence[str]) -> None:
    context.session.console.line(f"Version: {version()}")


COMMAND = Command("version", "version", "show the version of the shell", _run)
