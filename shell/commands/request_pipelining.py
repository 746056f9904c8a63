"""request-pipelining: whether statements wait until the server has applied the previous ones."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.commands.command import Command, CommandProblem, Context


def _run(context: Context, arguments: Sequence[str]) -> None:
    session = context.session
    if arguments:
        if arguments[0].upper() not in ("ON", "OFF"):
            raise CommandProblem("request-pipelining is ON or OFF.")
        session.pipelining = arguments[0].upper() == "ON"
        session.console.note(f"Request pipelining is now {arguments[0].upper()}")
    else:
        session.console.line(f"Current request pipelining setting: {'ON' if session.pipelining else 'OFF'}")


COMMAND = Command(
    "request-pipelining",
    "request-pipelining [ON|OFF]",
    "send statements without waiting until the previous ones are applied",
    _run,
    most_arguments=1,
)
