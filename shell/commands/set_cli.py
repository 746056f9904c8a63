"""set cli: how tables of rows are drawn, and how the prompt behaves."""

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
        case ["EDITING", "VI" | "EMACS" as value]:
            context.set_editing(value.lower())
        case ["TOOLBAR", "ON" | "OFF" as value]:
            console.toolbar = value == "ON"
        case _:
            raise CommandProblem(
                "set cli takes WRAP ON|OFF, COLUMN-WIDTH and a number (0: fit the terminal), "
                "EDITING VI|EMACS or TOOLBAR ON|OFF."
            )


COMMAND = Command(
    "set cli",
    "set cli WRAP ON|OFF, COLUMN-WIDTH N, EDITING VI|EMACS, TOOLBAR ON|OFF",
    "wrap or truncate long cells; width of columns (0: fit the terminal); keys of the prompt; line below it",
    _run,
    most_arguments=2,
)
