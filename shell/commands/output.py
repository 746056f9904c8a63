"""output: show or set the format of results."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, CommandProblem, Context
from ksql_spark.shell.output.console import Form


def _run(context: Context, arguments: Sequence[str]) -> None:
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


COMMAND = Command(
    "output",
    f"output [{'|'.join(form.value for form in Form)}]",
    "show or set the format of results",
    _run,
    most_arguments=1,
)
