"""server: show the server's address, or switch to another server."""

from __future__ import annotations

from collections.abc import Sequence

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.commands.command import Command, CommandProblem, Context


def _run(context: Context, arguments: Sequence[str]) -> None:
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


COMMAND = Command(
    "server", "server [URL]", "show the server's address, or switch to another", _run, most_arguments=1
)
