"""history: list previous input."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, Context


def _run(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    with console.paging():
        for number, line in enumerate(context.history(), start=1):
            console.line(f"{number:4d}: {' '.join(line.splitlines())}")


COMMAND = Command("history", "history", "list previous input", _run)
