"""``ksql-spark fmt FILE…``: formats files of statements."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ksql_spark.shell.options import FAILED, STDIN, WRONG_OPTIONS, sql_files
from ksql_spark.tools.format.layout import Unclosed, formatted


def main(argv: Sequence[str]) -> int:
    """Format files in place, or list those that are not formatted.

    Returns:
        The exit code: 0 on success, 1 if --check or --diff found something, 2 for wrong options, for a file
        that cannot be read and for one that ends in a quote or comment.
    """
    options = _parser().parse_args(argv)
    only_look = options.check or options.diff
    changed = wrong = False
    for name in sql_files(options.files):
        try:
            text = _read(name)
            result = formatted(text, is_command)
        except Unclosed as problem:
            print(f"{name}:{problem.line}:{problem.column}: {problem}", file=sys.stderr)
            wrong = True
            continue
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            print(f"ksql-spark fmt: Cannot read {name}: {reason}.", file=sys.stderr)
            wrong = True
            continue
        changed |= result != text
        if options.diff:
            sys.stdout.writelines(_diff(name, text, result))
        if options.check and result != text:
            print(f"{name} is not formatted", file=sys.stderr)
        if name == STDIN and not only_look:
            sys.stdout.write(result)
        elif result != text and not only_look:
            Path(name).write_bytes(result.encode())
            print(f"formatted {name}", file=sys.stderr)
    if wrong:
        return WRONG_OPTIONS
    return FAILED if changed and only_look else 0


def _read(name: str) -> str:
    """The text of a file with its line ends. Raises OSError, UnicodeDecodeError."""
    return sys.stdin.read() if name == STDIN else Path(name).read_bytes().decode()


def is_command(line: str) -> bool:
    """Whether a script takes the line as a command of the shell, which needs no ``;``."""
    word = line.split(None, 1)[0].rstrip(";").lower()
    if word not in _first_words():
        return False
    from ksql_spark.shell import commands

    call = commands.find(line)
    return call is not None and len(call[1]) >= call[0].least_arguments


def _first_words() -> set[str]:
    if not _WORDS:
        from ksql_spark.shell import commands

        for command in commands.COMMANDS:
            _WORDS.update(name.split()[0] for name in (command.name, *command.aliases))
    return _WORDS


_WORDS: set[str] = set()


def _diff(name: str, before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), name, f"{name} (formatted)"
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ksql-spark fmt",
        description="Format files of statements in place: keywords in upper case, clauses in lines of their "
        "own, at most 100 columns. Comments, directives, variables and commands of the shell stay; so do "
        "empty lines between statements, of several one.",
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="files, directories of .sql files, or - for standard input"
    )
    parser.add_argument(
        "--check", action="store_true", help="only name the files that would change; exit code 1"
    )
    parser.add_argument("--diff", action="store_true", help="only show what would change; exit code 1")
    return parser
