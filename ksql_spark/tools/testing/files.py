"""Test files: each test begins with ``--@test: name`` and extends to the next one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ksql_spark import grammar
from ksql_spark.shell.options import OptionProblem
from ksql_spark.shell.scripts import read_script

_DIRECTIVE = re.compile(r"\s*--@\s*([A-Za-z.]+)\s*:\s*(.*?)\s*")
#: directives of a test besides its name
_ERROR, _MESSAGE, _EQUIVALENT = "expected.error", "expected.message", "equivalent"


@dataclass(frozen=True)
class SqlTest:
    """A test: the statements after one ``--@test`` of a file.

    Attributes:
        path: its file.
        name: the name in ``--@test``.
        line: the line of ``--@test``, from 1.
        text: its statements; their lines are those of the file.
        expected_error: ksqlDB's class name of the expected error; None: it must pass.
        expected_message: what the error's text must contain; empty: anything.
        equivalents: changes of its queries that make no difference, as ``--mutate`` shows them.
    """

    path: Path
    name: str
    line: int
    text: str = ""
    expected_error: str | None = None
    expected_message: str = ""
    equivalents: tuple[str, ...] = ()

    @property
    def expects_error(self) -> bool:
        """Whether the test expects its statements to fail."""
        return self.expected_error is not None or bool(self.expected_message)


def find(places: Iterable[Path]) -> list[Path]:
    """Test files: the named ones, and all ``.sql`` files below directories, in order.

    Raises:
        OptionProblem: there are none.
    """
    files: dict[Path, None] = {}
    for place in places:
        if not place.exists():
            raise OptionProblem(f"{place} does not exist.")
        inside = sorted(place.rglob("*.sql")) if place.is_dir() else [place]
        if not inside:
            raise OptionProblem(f"{place} contains no *.sql file.")
        files.update(dict.fromkeys(inside))
    return list(files)


def read(path: Path) -> list[SqlTest]:
    """The tests of a file.

    Raises:
        OptionProblem: it cannot be read, has no test, or has an unknown or misplaced directive.
    """
    text = read_script(str(path))
    tests = list(_tests(path, text.split("\n")))
    if not tests:
        raise OptionProblem(f"{path}: no tests found. A test begins with a line --@test: NAME")
    return tests


def _tests(path: Path, lines: list[str]) -> Iterator[SqlTest]:
    test: SqlTest | None = None
    body: list[str] = []
    for number, line in enumerate(lines, start=1):
        match = _DIRECTIVE.fullmatch(line)
        if match is None:
            body.append(line)
            continue
        directive, value = match[1].lower(), match[2]
        if directive == "test":
            yield from _whole(test, path, body)
            # as many empty lines as there are lines before, so that positions are those of the file
            test, body = SqlTest(path, value, number), [""] * number
        elif directive not in (_ERROR, _MESSAGE, _EQUIVALENT):
            directives = ", ".join(f"--@{name}" for name in ("test", _ERROR, _MESSAGE, _EQUIVALENT))
            raise OptionProblem(
                f"{path}:{number}: unknown directive --@{directive}. Known directives: {directives}."
            )
        elif test is None:
            raise OptionProblem(f"{path}:{number}: no --@test precedes this line.")
        else:
            body.append("")
            if directive == _ERROR:
                test = replace(test, expected_error=value)
            elif directive == _EQUIVALENT:
                test = replace(test, equivalents=(*test.equivalents, value))
            else:
                test = replace(test, expected_message=value)
    yield from _whole(test, path, body)


def _whole(test: SqlTest | None, path: Path, body: list[str]) -> Iterator[SqlTest]:
    text = "\n".join(body)
    if test is not None:
        yield replace(test, text=text)
    elif parts := grammar.split(text):
        raise OptionProblem(f"{path}:{parts[0].line}: no --@test precedes this statement.")
