"""set cli: how tables of rows are drawn."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, CommandProblem, Context


def _run(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    match [argument.upper().strip("'\"") for argument in arguments]:
        case ["WRAP", "ON" | "OFF" as value]:
            console.wrap = value == "ON"
        case ["COLUMN-WIDTH", value] if value.isdigit():
            console.column_width = int(value)
        case _:
            raise CommandProblem(
                "set cli takes WRAP ON|OFF, or COLUMN-WIDTH and a number (0: fit the terminal)."
            )


COMMAND = Command(
    "set cli",
    "set cli WRAP ON|OFF, COLUMN-WIDTH N",
    "wrap or truncate long cells; set the width of columns (0: fit the terminal)",
    _run,
    most_arguments=2,
)
