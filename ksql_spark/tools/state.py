"""``ksql-spark state rebuild QUERY``: rebuilds a query's state that can no longer be read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.options import (
    WRONG_OPTIONS,
    OptionProblem,
    add_connection_options,
    add_output_options,
    connect,
    report_server,
)
from ksql_spark.shell.output.console import Console


def main(argv: Sequence[str]) -> int:
    """Run a command on the state of a query.

    Returns:
        The exit code: 0 on success, 1 if the server rejects it, 2 for wrong options.
    """
    options = _parser().parse_args(argv)

    def rebuild(context: Context) -> None:
        report_server(context.session, options.server)
        print(context.session.client.rebuild_state(options.query)["message"])

    try:
        with connect(options.server, options, Console()) as connection:
            return connection.run(rebuild)
    except (OptionProblem, ClientError) as problem:
        print(f"ksql-spark state: {problem}", file=sys.stderr)
        return WRONG_OPTIONS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark state",
        description="Rebuild a query's state that can no longer be read. The query discards its state and "
        "position and rereads its topics from where it first started, or from the first record that they "
        "still have. It writes its results again: rows of a table replace the existing ones; rows of a "
        "stream are repeated.",
    )
    parser.add_argument("action", choices=["rebuild"])
    parser.add_argument("query", metavar="QUERY", help="the query's id; SHOW QUERIES lists ids")
    parser.add_argument(
        "--server",
        metavar="URL",
        help="the server (default: http://127.0.0.1:8088, or one started for this command)",
    )
    add_output_options(parser)
    add_connection_options(parser)
    return parser
