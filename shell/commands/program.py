"""The shell itself: its end, its history, its version, its server."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.commands.command import Command, CommandProblem, Context, Leave
from ksql_spark.shell.version import version


def _exit(context: Context, arguments: Sequence[str]) -> None:
    raise Leave


EXIT = Command("exit", r"exit, quit, \q", "leave the shell", _exit, aliases=("quit", r"\q"))


def _history(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    with console.paging():
        for number, line in enumerate(context.history(), start=1):
            console.line(f"{number:4d}: {' '.join(line.splitlines())}")


HISTORY = Command("history", "history", "list previous input", _history)


def _version(context: Context, arguments: Sequence[str]) -> None:
    context.session.console.line(f"Version: {version()}")


VERSION = Command("version", "version", "show the version of the shell", _version)


def _server(context: Context, arguments: Sequence[str]) -> None:
    session = context.session
    if not arguments:
        session.console.line(session.client.url)
        return
    other = session.client.at(arguments[0])
    try:
        other.info()
    except ClientError as error:
        other.close()
        raise CommandProblem(f"{error} Still at {session.client.url}.") from None
    session.client.close()
    session.client = other
    session.before_request = None
    context.on_server_change()
    session.console.note(f"Server now: {other.url}")


SERVER = Command(
    "server", "server [URL]", "show the server's address, or switch to another", _server, most_arguments=1
)


def _request_pipelining(context: Context, arguments: Sequence[str]) -> None:
    session = context.session
    if arguments:
        if arguments[0].upper() not in ("ON", "OFF"):
            raise CommandProblem("request-pipelining is ON or OFF.")
        session.pipelining = arguments[0].upper() == "ON"
        session.console.note(f"Request pipelining is now {arguments[0].upper()}")
    else:
        session.console.line(f"Current request pipelining setting: {'ON' if session.pipelining else 'OFF'}")


PIPELINING = Command(
    "request-pipelining",
    "request-pipelining [ON|OFF]",
    "send statements without waiting until the previous ones are applied",
    _request_pipelining,
    most_arguments=1,
)
