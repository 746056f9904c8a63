"""``ksql-spark``: the shell and its subcommands.

The shell itself is light; a subcommand's module is imported only when it is called.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shell.version import version

if TYPE_CHECKING:
    from shell.options import Connection

#: name -> module with ``main(argv) -> int``, and what it does
SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "server": ("server.main", "run the server: the REST API, the engine and, if need be, a Kafka broker"),
    "run": ("shell.run", "run files of statements; ends with an error code at the first error"),
    "datagen": (
        "ksql_spark.datagen",
        "write made-up events to a topic: rides, zones, pageviews, users, orders",
    ),
    "demo": ("shell.demo", "the taxi story, live"),
}
#: as ksqlDB's command line gives (-1)
FAILED = 255
OLDEST_PYTHON = (3, 11)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the shell or a subcommand; the exit code."""
    if sys.version_info < OLDEST_PYTHON:
        needed, found = (".".join(map(str, v)) for v in (OLDEST_PYTHON, sys.version_info[:3]))
        print(f"ksql-spark needs Python {needed} or newer; this is Python {found}.", file=sys.stderr)
        return FAILED
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in SUBCOMMANDS:
        try:
            module: Any = importlib.import_module(SUBCOMMANDS[arguments[0]][0])
            return int(module.main(arguments[1:]))
        except KeyboardInterrupt:
            return 130
    from shell.options import OptionProblem

    parser = _parser()
    options = parser.parse_args(arguments)
    meant = difflib.get_close_matches(options.url or "", SUBCOMMANDS, n=1)
    if meant:
        parser.error(f"'{options.url}' is neither a command nor a URL. Did you mean 'ksql-spark {meant[0]}'?")
    try:
        return _shell(options)
    except OptionProblem as problem:
        print(f"ksql-spark: {problem}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has had enough. What is still in the buffer has to go somewhere at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    from shell.options import add_connection_options, add_output_options

    width = max(map(len, SUBCOMMANDS))
    listed = "\n".join(f"  {name.ljust(width)}  {text}" for name, (_, text) in SUBCOMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="ksql-spark",
        usage="ksql-spark [options] [URL]\n       ksql-spark COMMAND …",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="The ksql-spark shell: SQL over streams of events, on Spark and Kafka.\n\n"
        "Without a URL it uses the server at http://127.0.0.1:8088, or starts one for itself.\n\n"
        f"commands (ksql-spark COMMAND --help says more):\n{listed}",
        epilog="Statements can also be piped in: echo 'SHOW STREAMS;' | ksql-spark",
    )
    parser.add_argument("url", metavar="URL", nargs="?", help="the server, for example http://localhost:8088")
    parser.add_argument("--version", action="version", version=f"ksql-spark {version()}")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-e", "--execute", metavar="STATEMENTS", help="run these statements and exit")
    what.add_argument("-f", "--file", metavar="FILE", help="run a file's statements and exit")
    add_output_options(parser)
    add_connection_options(parser)
    return parser


def _shell(options: argparse.Namespace) -> int:
    from shell.client import ClientError
    from shell.options import OptionProblem, connect
    from shell.output.console import Console
    from shell.session import read_script

    console = Console()
    text: str | None = options.execute
    if options.file is not None:
        try:
            text = read_script(options.file)
        except ClientError as error:
            raise OptionProblem(str(error)) from None
    with connect(options.url, options, console) as connection:
        if text is not None:
            return _run_text(text, connection, options.file is not None)
        if not sys.stdin.isatty():
            return _run_pipe(connection)
        return _interactive(connection)


def _run_text(text: str, connection: Connection, is_file: bool) -> int:
    """-e and -f: what the server says is printed; what goes wrong here is an error code as well."""
    from shell.client import ServerError
    from shell.session import Failure

    session = connection.session
    try:
        session.run(text)
    except Failure as failure:
        # In a file, places are those of the file; -e is one line, where the statement's own are clearer.
        message = failure.message if is_file else str(failure.error)
        print(session.console.red(message), file=sys.stderr)
        return 0 if isinstance(failure.error, ServerError) else FAILED
    return 0


def _run_pipe(connection: Connection) -> int:
    from shell.client import ClientError
    from shell.commands.command import Context
    from shell.repl import read_pipe, run_lines

    try:
        connection.wait_until_ready()
    except ClientError as error:
        print(error, file=sys.stderr)
        return FAILED
    run_lines(read_pipe(sys.stdin), Context(connection.session))
    return 0


def _interactive(connection: Connection) -> int:
    from shell.welcome import Interactive

    return Interactive(connection).run()
