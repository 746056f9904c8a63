"""``ksql-spark migrations COMMAND``: its commands, options and output."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ksql_spark.shell.client import Client, ClientError, until_ready
from ksql_spark.shell.options import FAILED, READY_S, WRONG_OPTIONS, OptionProblem, definition
from ksql_spark.shell.output.console import Console
from ksql_spark.shell.output.table import Table, draw
from ksql_spark.tools.migrations.applying import Applying, Wanted, check_applied, choose, parts_of
from ksql_spark.tools.migrations.history import (
    NO_REASON,
    NO_VERSION,
    PENDING,
    Event,
    History,
    NotInitialized,
    Standing,
    standing,
)
from ksql_spark.tools.migrations.project import CONFIG, MAX_VERSION, Migration, Project

_HEADERS = (
    "Version",
    "Name",
    "State",
    "Previous Version",
    "Started On",
    "Completed On",
    "Error Reason",
)


def main(argv: Sequence[str]) -> int:
    """Run a command on a project.

    Returns:
        The exit code: 0 on success, 1 if a migration or the server fails, 2 for wrong options or files.
    """
    options = _parser().parse_args(argv)
    console = Console()
    try:
        run: Callable[[argparse.Namespace, Console], None] = options.run
        run(options, console)
    except OptionProblem as problem:
        console.error(f"ksql-spark migrations: {problem}")
        return WRONG_OPTIONS
    except ClientError as error:
        console.clear_status()
        console.error(str(error))
        return FAILED
    return 0


# ---- commands without a server -------------------------------------------------------------------------


def _new_project(options: argparse.Namespace, console: Console) -> None:
    project = Project.create(options.path, options.url)
    console.line(f"Created {project.config} and {project.folder}.")
    console.line(f"Next: cd {options.path} && ksql-spark migrations initialize-metadata")


def _create(options: argparse.Namespace, console: Console) -> None:
    migration = Project.open(options.config_file).add(" ".join(options.description), options.version)
    console.line(f"Made {migration.path}.")


# ---- commands on a server ------------------------------------------------------------------------------


class _Server:
    """A project's server, once it responds, and its migration history."""

    def __init__(self, options: argparse.Namespace, console: Console) -> None:
        self.project = Project.open(options.config_file)
        self.client: Client = self.project.client()
        self.history = History(self.client, self.project)
        self._console = console

    def __enter__(self) -> _Server:
        try:
            for _ in until_ready(self.client, READY_S):
                self._console.status(f"{self.client.url} is starting")
        finally:
            self._console.clear_status()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()


def _initialize(options: argparse.Namespace, console: Console) -> None:
    with _Server(options, console) as server:
        if server.history.is_initialized():
            console.line(f"{server.project.stream} and {server.project.table} already exist.")
            return
        with console.busy():
            server.history.initialize()
        console.line(f"Created the stream {server.project.stream} and the table {server.project.table}.")


def _destroy(options: argparse.Namespace, console: Console) -> None:
    with _Server(options, console) as server, console.busy():
        dropped = server.history.destroy()
    what = f"Dropped {' and '.join(dropped)} with their topics." if dropped else "Nothing to drop."
    console.line(f"{what} What the migrations created stays.")


def _apply(options: argparse.Namespace, console: Console) -> None:
    selection = Wanted(options.next, options.until, options.version)
    with _Server(options, console) as server, _stopped_by_sigterm():
        migrations = server.project.migrations()
        current = standing(server.history.read())
        check_applied(migrations, current)
        chosen = choose(migrations, current, selection, takes_over=options.take_over)
        for migration in chosen:  # an error in the last file is found before the first one runs
            parts_of(migration)
        if not chosen:
            console.line(f"Nothing to apply. {_at(current)}")
            return
        if options.dry_run:
            for migration in chosen:
                _show(migration, console)
            return
        applying = Applying(server.client, server.history, console, dict(options.define))
        for migration in chosen:
            current = applying.apply(migration, current)
        count = f"{len(chosen)} migration{'s' if len(chosen) > 1 else ''}"
        console.line(f"Applied {count}. {_at(current)}")


@contextlib.contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Treat SIGTERM, which ends a cancelled job, like Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set a handler
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(migration: Migration, console: Console) -> None:
    console.line(console.bold(f"{migration.path.name} would be applied:"))
    console.line(migration.text().rstrip())
    console.line()


def _at(state: Standing) -> str:
    version = state.migrated
    return "No version is applied." if version == NO_VERSION else f"The current version is {version}."


def _validate(options: argparse.Namespace, console: Console) -> None:
    with _Server(options, console) as server:
        count = check_applied(server.project.migrations(), standing(server.history.read()))
    console.line(f"The files of the {count} applied versions are unchanged.")


def _info(options: argparse.Namespace, console: Console) -> None:
    with _Server(options, console) as server:
        migrations = server.project.migrations()
        try:
            state = standing(server.history.read())
        except NotInitialized as error:
            state = Standing()
            console.warning(str(error))
    console.line(_at(state))
    console.line(draw(Table(_HEADERS, _rows(migrations, state.versions)), console))


def _rows(migrations: Sequence[Migration], last: Mapping[str, Event]) -> list[list[str]]:
    """A row for each file, and for each applied version without a file."""
    names = {migration.version: migration.name for migration in migrations}
    names |= {int(key): event.name for key, event in last.items() if int(key) not in names}
    rows = []
    for version, name in sorted(names.items()):
        event = last.get(str(version))
        if event is None:
            rows.append([str(version), name, PENDING, "", "", "", ""])
            continue
        reason = "" if event.error_reason == NO_REASON else event.error_reason
        times = _time(event.started_on), _time(event.completed_on)
        rows.append([str(version), name, event.state, event.previous, *times, reason])
    return rows


def _time(millis: str) -> str:
    """A time in the local zone; empty if there is none."""
    if not millis.isdigit():
        return ""
    return datetime.datetime.fromtimestamp(int(millis) / 1000).astimezone().isoformat(" ", "milliseconds")


# ---- options -------------------------------------------------------------------------------------------


def _url(text: str) -> str:
    if not re.fullmatch(r"(https?://)?[^\s/:]+(:\d+)?(/.*)?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not an address of a server")
    return text


def _version(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= MAX_VERSION:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to {MAX_VERSION}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark migrations",
        description="Apply versioned files of statements to a server in order, each once, as ksqlDB's "
        "ksql-migrations does. A project is a directory with ksql-migrations.properties and migrations/, "
        "which contains files such as V000001__create_orders.sql. The server records applied versions in a "
        "stream and a table. See docs/how-to/migrations.md.",
    )
    parser.add_argument(
        "-c",
        "--config-file",
        metavar="FILE",
        type=Path,
        default=Path(CONFIG),
        help="the project's properties (default: %(default)s in the current directory)",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(
        name: str, text: str, run: Callable[[argparse.Namespace, Console], None]
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        added.set_defaults(run=run)
        return added

    new = command("new-project", "create a project directory", _new_project)
    new.add_argument("path", metavar="PATH", type=Path, help="the folder")
    new.add_argument("url", metavar="URL", type=_url, help="the server, for example http://localhost:8088")
    command("initialize-metadata", "create the stream and table that record applied versions", _initialize)
    create = command("create", "create an empty file for the next version", _create)
    create.add_argument("description", metavar="DESCRIPTION", nargs="+", help="what it does")
    create.add_argument(
        "-v", "--version", metavar="N", type=_version, help="its version (default: the next one)"
    )
    apply = command("apply", "apply pending files", _apply)
    which = apply.add_mutually_exclusive_group(required=True)
    which.add_argument("-a", "--all", action="store_true", help="all of them")
    which.add_argument("-n", "--next", action="store_true", help="the next one")
    which.add_argument("-u", "--until", metavar="N", type=_version, help="all up to version N")
    which.add_argument("-v", "--version", metavar="N", type=_version, help="version N alone")
    apply.add_argument(
        "-d",
        "--define",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=definition,
        help="a variable, used as ${NAME}; may be repeated",
    )
    apply.add_argument("--dry-run", action="store_true", help="only show what would be applied")
    apply.add_argument(
        "--take-over",
        action="store_true",
        help="reapply a version that is marked as running because its process is gone",
    )
    command("info", "list versions and their states", _info)
    command("validate", "check that the files of applied versions are unchanged", _validate)
    command("destroy-metadata", "drop the stream and table that record applied versions", _destroy)
    return parser
