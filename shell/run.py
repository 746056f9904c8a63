"""``ksql-spark run FILE.sql…``: runs scripts until the first error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from ksql_spark.shell.client import ClientError
from ksql_spark.shell.commands.command import Context
from ksql_spark.shell.dry_run import dry_run
from ksql_spark.shell.options import (
    WRONG_OPTIONS,
    OptionProblem,
    add_connection_options,
    add_output_options,
    add_script_options,
    connect,
)
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.scripts import read_script, run_file
from ksql_spark.shell.waiting import Running, finish_batch


def main(argv: Sequence[str]) -> int:
    """Run files of statements against a server.

    Returns:
        The exit code: 0 on success, 1 after the first error, 2 for wrong options.
    """
    options = _parser().parse_args(argv)
    try:
        if options.as_of is not None and not options.batch:
            raise OptionProblem("--as-of is for --batch.")
        url, files = _server(options)
        # read all files before anything runs, so that a misspelled second name leaves nothing half done
        scripts = [(name, read_script(name)) for name in files]

        def run_all(context: Context) -> None:
            if options.dry_run:
                dry_run(scripts, context)
                return
            client, console = context.session.client, context.session.console
            before = Running.of(client) if options.batch else None
            if options.batch:
                context.session.properties.setdefault("auto.offset.reset", "earliest")
                # the queries end before the interval does
                context.session.properties["ksql.emit.every.enabled"] = "false"
            if options.as_of is not None:
                context.session.properties["ksql.query.as.of.ms"] = options.as_of
            for name, text in scripts:
                run_file(name, text, context)
            if before is not None:
                finish_batch(client, console, before)

        with connect(url, options, Console()) as connection:
            return connection.run(run_all, wait=options.wait)
    except (OptionProblem, ClientError) as problem:
        print(f"ksql-spark run: {problem}", file=sys.stderr)
        return WRONG_OPTIONS


def _server(options: argparse.Namespace) -> tuple[str | None, list[str]]:
    """The server's address and the files: as in ``ksql-spark URL``, the address may stand before the files.

    Raises:
        OptionProblem: two addresses, or no file.
    """
    first, *others = options.files
    if "://" not in first:
        return options.server, options.files
    if options.server is not None:
        raise OptionProblem(f"There are two servers: {first} and --server {options.server}. Leave one out.")
    if not others:
        raise OptionProblem(f"Name a file after the server: ksql-spark run {first} FILE.sql")
    return first, others


def _milliseconds(text: str) -> int:
    """Milliseconds since 1970 of an argument. Raises ValueError."""
    if text.isdecimal() and len(text) > 4:  # else it is a year
        return int(text)
    time = datetime.fromisoformat(text)
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


# how argparse calls the type
_milliseconds.__name__ = "time"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark run",
        usage="ksql-spark run [options] [URL] FILE.sql …",
        description="Run files of statements in order. The run stops at the first error and does not undo "
        "earlier statements. The error goes to standard error as FILE:LINE:COLUMN: message, and the "
        "exit code is 1. A SELECT … EMIT CHANGES without LIMIT runs until Ctrl-C, which stops the run with "
        "code 130.",
    )
    parser.add_argument(
        "files",
        metavar="FILE.sql",
        nargs="+",
        help="files of statements, in UTF-8; a server's URL may stand first",
    )
    parser.add_argument(
        "--server",
        metavar="URL",
        help="the server, as a URL before the files (default: http://127.0.0.1:8088, or one started for this "
        "run)",
    )
    add_script_options(parser).add_argument(
        "--batch",
        action="store_true",
        help="run the queries of the files from the earliest record to the end of what is there, then "
        "terminate them; their results stay",
    )
    parser.add_argument(
        "--as-of",
        metavar="TIME",
        type=_milliseconds,
        help="with --batch, leave out records with later timestamps: an ISO 8601 time, in UTC unless it "
        "has a zone, or milliseconds since 1970",
    )
    add_output_options(parser)
    add_connection_options(parser)
    return parser
