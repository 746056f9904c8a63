r"""\x: show rows vertically."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, CommandProblem, Context
from ksql_spark.shell.output.console import Form


def _run(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    is_on = console.form is Form.VERTICAL
    value = arguments[0].lower() if arguments else ("auto" if is_on else "on")
    match value:
        case "on":
            console.form = Form.VERTICAL
        case "off" | "auto":
            console.form = Form.TABULAR
            console.auto_vertical = value == "auto"
        case _:
            raise CommandProblem(r"\x takes on, off or auto (vertical if the terminal is too narrow).")
    console.note(f"Vertical rows: {value}")


COMMAND = Command(
    r"\x",
    r"\x [on|off|auto]",
    "vertical rows: always, never, or if the terminal is too narrow; without a word, on or auto",
    _run,
    most_arguments=1,
)
