"""What the screen shows: the format of results, pages, times."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, CommandProblem, Context, is_on
from ksql_spark.shell.output import pager
from ksql_spark.shell.output.console import Form


def _output(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    if not arguments:
        console.line(f"Current output format: {console.form.value}")
        return
    try:
        console.form = Form(arguments[0].upper())
    except ValueError:
        *others, last = [form.value for form in Form]
        raise CommandProblem(
            f"Unknown output format '{arguments[0]}'; choose {', '.join(others)} or {last}."
        ) from None
    console.note(f"Output format set to {console.form.value}")


OUTPUT = Command(
    "output",
    f"output [{'|'.join(form.value for form in Form)}]",
    "show or set the format of results",
    _output,
    most_arguments=1,
)


def _expanded(context: Context, arguments: Sequence[str]) -> None:
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


EXPANDED = Command(
    r"\x",
    r"\x [on|off|auto]",
    "vertical rows: always, never, or if the terminal is too narrow; without a word, on or auto",
    _expanded,
    most_arguments=1,
)


def _timing(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    console.timing = is_on(r"\timing", arguments, not console.timing)
    console.note(f"Timing: {'on' if console.timing else 'off'}")


TIMING = Command(
    r"\timing",
    r"\timing [on|off]",
    "tell how many rows a query returned and how long it took (on in a terminal)",
    _timing,
    most_arguments=1,
)


def _pager(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    console.pages = is_on(r"\pager", arguments, not console.pages)
    if console.pages and pager.command() is None:
        console.pages = False
        raise CommandProblem("There is no pager: set the environment variable PAGER, or install less.")
    console.note(f"Pager: {'on' if console.pages else 'off'}")


PAGER = Command(
    r"\pager",
    r"\pager [on|off]",
    "show results that are longer than the screen in $PAGER, or less (on at the prompt)",
    _pager,
    most_arguments=1,
)


def _clear(context: Context, arguments: Sequence[str]) -> None:
    if context.session.console.tty:
        context.session.console.write("\x1b[2J\x1b[H")


CLEAR = Command("clear", "clear", "empty the screen", _clear)
