r"""\pager: whether long results go through a pager."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, CommandProblem, Context, is_on
from ksql_spark.shell.output import pager


def _run(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    console.pages = is_on(r"\pager", arguments, not console.pages)
    if console.pages and pager.command() is None:
        console.pages = False
        raise CommandProblem("There is no pager: set the environment variable PAGER, or install less.")
    console.note(f"Pager: {'on' if console.pages else 'off'}")


COMMAND = Command(
    r"\pager",
    r"\pager [on|off]",
    "show results that are longer than the screen in $PAGER, or less (on at the prompt)",
    _run,
    most_arguments=1,
)
