"""``ksql-spark run FILE.sql…``: run saved scripts; the first error ends it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from shell.client import ClientError
from shell.options import Connection, OptionProblem, add_connection_options, add_output_options, connect
from shell.output.console import Console
from shell.session import Failure, read_script

FAILED = 1
WRONG_OPTIONS = 2


def main(argv: Sequence[str]) -> int:
    """Run files of statements against a server.

    Returns:
        The exit code: 0 when all went well, 1 at the first error, 2 for wrong options.
    """
    options = _parser().parse_args(argv)
    try:
        # All files are read before anything runs: a misspelt second name is no half-done work.
        scripts = [(name, read_script(name)) for name in options.files]
        console = Console()
        with connect(options.server, options, console) as connection:
            return _run(scripts, connection)
    except (OptionProblem, ClientError) as problem:
        print(f"ksql-spark run: {problem}", file=sys.stderr)
        return WRONG_OPTIONS
    except KeyboardInterrupt:
        return 130


def _run(scripts: Sequence[tuple[str, str]], connection: Connection) -> int:
    session = connection.session
    try:
        connection.wait_until_ready()
    except ClientError as error:
        print(f"ksql-spark run: {error}", file=sys.stderr)
        return FAILED
    for name, text in scripts:
        try:
            session.run_each(text)
        except Failure as failure:
            line, column = failure.place
            sys.stdout.flush()
            print(f"{name}:{line}:{column}: {failure.message}", file=sys.stderr)
            return FAILED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark run",
        description="Run files of statements, one after the other. The first error ends the run: it is shown "
        "with its file, line and column, and the exit code is 1. A SELECT … EMIT CHANGES without LIMIT "
        "runs until Ctrl-C, then the next statement follows.",
    )
    parser.add_argument("files", metavar="FILE.sql", nargs="+", help="files of statements, in UTF-8")
    parser.add_argument(
        "--server",
        metavar="URL",
        help="the server (default: the one at http://127.0.0.1:8088, or one started for this run)",
    )
    add_output_options(parser)
    add_connection_options(parser)
    return parser
