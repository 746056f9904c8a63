"""Files: results and sessions are written to them, scripts read from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ksql_spark.shell.commands.command import Command, CommandProblem, Context, Script, file_name


def _output_file(context: Context, arguments: Sequence[str]) -> None:
    session = context.session
    path = file_name(arguments)
    try:
        session.send_results(Path(path).expanduser() if path else None)
    except OSError as error:
        raise CommandProblem(f"Cannot write to {path}: {error.strerror}.") from None
    where = str(Path(path).expanduser().absolute()) if path else "the screen"
    session.console.note(f"Results go to {where}")


OUTPUT_FILE = Command(
    r"\o",
    r"\o [FILE]",
    "write results to a file, in the format that output sets; without a file, to the screen again",
    _output_file,
    most_arguments=99,
)


def _spool(context: Context, arguments: Sequence[str]) -> None:
    console = context.session.console
    path = " ".join(arguments).strip("'\"")
    if not path:
        raise CommandProblem("spool takes a file name or OFF.")
    try:
        if path.upper() == "OFF":
            console.note("Session is no longer spooled")
            console.spool(None)
        else:
            console.spool(Path(path).expanduser())
            console.note(f"Session will be spooled to {Path(path).expanduser().absolute()}")
    except OSError as error:
        raise CommandProblem(f"Cannot write to {path}: {error.strerror}.") from None


SPOOL = Command("spool", "spool FILE|OFF", "copy input and output to a file", _spool, most_arguments=99)


def _run_script(context: Context, arguments: Sequence[str]) -> Script:
    path = file_name(arguments)
    if not path:
        raise CommandProblem("run script takes a file name.")
    return Script(path=path)


RUN_SCRIPT = Command(
    "run script",
    "run script FILE",
    "run a file's statements in order until the first error",
    _run_script,
    least_arguments=1,
    most_arguments=99,
)
