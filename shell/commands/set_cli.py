"""set cli: how values and tables of rows are shown, and how the prompt behaves."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ksql_spark.shell.commands.command import Command, CommandProblem, Context
from ksql_spark.shell.output.console import Console


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
        case ["MULTILINE", "ON" | "OFF" as value]:
            console.multiline = value == "ON"
        case ["TIMEZONE", _]:
            _set_zone(console, arguments[1].strip("'\""))
        case ["THOUSANDS", "ON" | "OFF" as value]:
            console.thousands = value == "ON"
        case ["THEME", "LIGHT" | "DARK" as value]:
            console.is_light = value == "LIGHT"
        case ["PLAIN", "ON" | "OFF" as value]:
            console.set_plain(value == "ON")
        case _:
            raise CommandProblem(
                "set cli takes WRAP ON|OFF, COLUMN-WIDTH and a number (0: fit the terminal), "
                "EDITING VI|EMACS, MULTILINE ON|OFF, TOOLBAR ON|OFF, TIMEZONE and a name, LOCAL or OFF, "
                "THOUSANDS ON|OFF, THEME LIGHT|DARK or PLAIN ON|OFF."
            )


def _set_zone(console: Console, name: str) -> None:
    """Show times in the zone ``name``. Raises CommandProblem."""
    match name.upper():
        case "OFF":
            console.in_zone = None
        case "LOCAL":
            console.in_zone = lambda moment: moment.astimezone()
        case _:
            try:
                zone = ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise CommandProblem(
                    f"There is no time zone '{name}': name one such as Europe/Berlin or UTC, LOCAL or OFF."
                ) from None
            console.in_zone = lambda moment: moment.astimezone(zone)


COMMAND = Command(
    "set cli",
    "set cli WRAP ON|OFF, COLUMN-WIDTH N, EDITING VI|EMACS, MULTILINE ON|OFF, TOOLBAR ON|OFF, "
    "TIMEZONE NAME|LOCAL|OFF, THOUSANDS ON|OFF, THEME LIGHT|DARK, PLAIN ON|OFF",
    "wrap or truncate long cells; width of columns (0: fit the terminal); keys of the prompt; "
    "whether Enter waits for `;`; line below the prompt; zone of times; separate thousands; "
    "colors for the background; for screen readers",
    _run,
    most_arguments=2,
)
