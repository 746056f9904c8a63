r"""\timing: how many rows a query returned, and how long it took."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, Context, is_on


def _run(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    console.timing = is_on(r"\timing", arguments, not console.timing)
    console.note(f"Timing: {'on' if console.timing else 'off'}")


COMMAND = Command(
    r"\timing",
    r"\timing [on|off]",
    "tell how many rows a query returned and how long it took (on in a terminal)",
    _run,
    most_arguments=1,
)
