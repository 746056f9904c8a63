"""``ksql-spark``: the shell and its subcommands.

The shell itself loads fast; a subcommand's module is imported only when it is called.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ksql_spark.shell.version import version

if TYPE_CHECKING:
    from ksql_spark.shell.commands.command import Context
    from ksql_spark.shell.options import Connection

#: name -> module with ``main(argv) -> int``, and a description
SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "server": (
        "ksql_spark.server.main",
        "run the server: REST API, engine and, if needed, a Kafka broker",
    ),
    "run": ("ksql_spark.shell.run", "run files of statements"),
    "datagen": (
        "ksql_spark.datagen",
        "write generated events to a topic",
    ),
    "import": (
        "ksql_spark.tools.importer.main",
        "import the streams, tables and queries of a ksqlDB server",
    ),
    "branch": ("ksql_spark.tools.branches", "try changes on copies of queries, and take them over"),
    "migrations": (
        "ksql_spark.tools.migrations.main",
        "apply versioned files of statements in order, each once",
    ),
    "registry": ("ksql_spark.tools.registry", "run only the embedded schema registry"),
    "connect": ("ksql_spark.tools.connect", "run only Kafka Connect, or install connectors"),
    "password": (
        "ksql_spark.server.security.passwords",
        "print a user's line for the server's users file",
    ),
    "state": ("ksql_spark.tools.state", "rebuild a query's state that can no longer be read"),
    "fmt": ("ksql_spark.tools.format.main", "format files of statements"),
    "lint": ("ksql_spark.tools.lint.command", "check files of statements without a server"),
    "lsp": (
        "ksql_spark.tools.lsp.main",
        "serve an editor: completion, errors, hover, formatting",
    ),
    "test": (
        "ksql_spark.tools.testing.main",
        "run test files: statements with their expected results",
    ),
    "mcp": ("ksql_spark.tools.assistants", "let an assistant read a server: the Model Context Protocol"),
    "doctor": ("ksql_spark.tools.doctor", "check whether a server can run on this machine"),
    "demo": ("ksql_spark.tools.demo.main", "run one of the example stories live"),
}
#: subcommands whose packages have an extra of that name
_EXTRAS = ("lsp", "mcp")
OLDEST_PYTHON = (3, 11)
#: the rules for scripts, for the help
SCRIPTS = """\
-e, -f, run, a pipe and RUN SCRIPT run statements and commands one by one, in order. They stop at the first
error and do not undo earlier statements. The error goes to standard error as FILE:LINE:COLUMN: message. The
exit code is 0 on success, 1 after an error, 2 for wrong options or an unreadable file. Ctrl-C stops them,
even during a query, with exit code 130; a RUN SCRIPT typed at the prompt continues after it. If standard
output is not a terminal, it gets only results."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the shell or a subcommand; return the exit code."""
    if sys.version_info < OLDEST_PYTHON:
        needed, running = (".".join(map(str, v)) for v in (OLDEST_PYTHON, sys.version_info[:3]))
        print(f"ksql-spark needs Python {needed} or newer; this is Python {running}.", file=sys.stderr)
        return 1
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments and arguments[0] in SUBCOMMANDS:
            return _subcommand(arguments[0], arguments[1:])
        return _shell(arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # the reader of our output has closed the pipe; send what is still in the buffer to /dev/null
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _subcommand(name: str, arguments: Sequence[str]) -> int:
    try:
        module: Any = importlib.import_module(SUBCOMMANDS[name][0])
        return int(module.main(arguments))
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] == "ksql_spark":
            raise
        from ksql_spark.client.packages import install

        extra = name if name in _EXTRAS else "server"
        remote = "" if name in _EXTRAS else " To use a remote server: ksql-spark URL"
        fix = f"{problem.name} is not installed. {install(f'ksql-spark[{extra}]')}{remote}"
        print(f"ksql-spark {name}: {fix}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    from ksql_spark.shell.options import (
        add_connection_options,
        add_output_options,
        add_script_options,
    )

    width = max(map(len, SUBCOMMANDS))
    listed = "\n".join(f"  {name.ljust(width)}  {text}" for name, (_, text) in SUBCOMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="ksql-spark",
        usage="ksql-spark [options] [URL]\n       ksql-spark COMMAND …",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="The ksql-spark shell: SQL over event streams, on Spark and Kafka.\n\n"
        "Without a URL, it uses the server at http://127.0.0.1:8088 or starts its own.\n\n"
        f"commands (ksql-spark COMMAND --help says more):\n{listed}",
        epilog=f"{SCRIPTS}\nStatements can also be piped in: echo 'SHOW STREAMS;' | ksql-spark",
    )
    parser.add_argument("url", metavar="URL", nargs="?", help="the server, for example http://localhost:8088")
    parser.add_argument("--version", action="version", version=f"ksql-spark {version()}")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-e", "--execute", metavar="STATEMENTS", help="run these statements and exit")
    what.add_argument("-f", "--file", metavar="FILE", help="run a file's statements and exit")
    add_script_options(parser)
    add_output_options(parser)
    prompt = parser.add_argument_group("prompt")
    prompt.add_argument(
        "--plain", action="store_true", help="for screen readers: text line by line, nothing that is redrawn"
    )
    prompt.add_argument("--theme", choices=("light", "dark"), help="colors for the terminal's background")
    add_connection_options(parser)
    return parser


def _shell(arguments: Sequence[str]) -> int:
    from ksql_spark.shell.client import ClientError
    from ksql_spark.shell.dry_run import dry_run
    from ksql_spark.shell.options import WRONG_OPTIONS, OptionProblem, connect
    from ksql_spark.shell.output.console import Console
    from ksql_spark.shell.scripts import read_script, run_file, run_script

    parser = _parser()
    options = parser.parse_args(arguments)
    if options.url is not None and not _is_address(options.url):
        import difflib

        meant = difflib.get_close_matches(options.url, SUBCOMMANDS, n=1)
        advice = f"Did you mean 'ksql-spark {meant[0]}'? " if meant else ""
        parser.error(
            f"'{options.url}' is neither a command nor a URL. {advice}The commands are "
            f"{', '.join(SUBCOMMANDS)}; a URL is written like http://localhost:8088."
        )
    try:
        text = read_script(options.file) if options.file is not None else options.execute
        is_script = text is not None or not sys.stdin.isatty()
        if (options.dry_run or options.wait) and not is_script:
            raise OptionProblem("--dry-run and --wait are for scripts: -e, -f or a pipe.")
        name = options.file or ("-e" if text is not None else "<stdin>")

        def script(context: Context) -> None:
            if options.dry_run:
                dry_run([(name, sys.stdin.read() if text is None else text)], context)
            elif options.file is not None:
                run_file(name, text, context)
            elif text is not None:
                run_script(io.StringIO(text), name, context)
            else:
                # readline, because iteration reads ahead: a statement must run as soon as it arrives
                run_script(iter(sys.stdin.readline, ""), name, context)

        with connect(options.url, options, Console()) as connection:
            if is_script:
                return connection.run(script, wait=options.wait)
            console = connection.session.console
            console.pages = console.tty
            if options.theme:
                console.is_light = options.theme == "light"
            if options.plain:
                console.set_plain(True)
            return _interactive(connection)
    except (OptionProblem, ClientError) as problem:
        print(f"ksql-spark: {problem}", file=sys.stderr)
        return WRONG_OPTIONS


def _is_address(text: str) -> bool:
    """Whether ``text`` may be a server's address: a host with a dot or a port, a URL, localhost."""
    return text.lower() == "localhost" or any(mark in text for mark in ".:/")


def _interactive(connection: Connection) -> int:
    from ksql_spark.shell.prompt.interactive import Interactive

    return Interactive(connection).run()
