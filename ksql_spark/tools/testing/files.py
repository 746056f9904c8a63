"""Test files: SQL with directives in comments, read into tests and written back with what came out.

A test begins with ``--@test: name`` and extends to the next one; what stands before the first one is the
beginning of each test. docs/how-to/tests.md describes the directives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from ksql_spark import grammar
from ksql_spark.shell.options import OptionProblem
from ksql_spark.shell.scripts import read_script
from ksql_spark.tools.testing.tables import Cells, split_row

_DIRECTIVE = re.compile(r"\s*--@\s*([A-Za-z.]+)(?:\s*:\s*|\s+|$)(.*?)\s*")
_DIRECTIVES = (
    "test", "server", "output", "rows", "error", "restart", "expected.error", "expected.message",
    "equivalent",
)  # fmt: skip
_COMMENT = re.compile(r"\s*--(?!@) ?(.*)")
_PLACE = re.compile(r"(.+):([1-9]\d*)")
#: the variable whose value is different in each run of a test, for names of topics
CASE = "case"


@dataclass(frozen=True)
class Check:
    """A directive that says what the statement before it must give, or what a stream or table must hold.

    Attributes:
        kind: what is compared.
        line: the directive's line in the file, from 1.
        subject: the stream or table of an output; the condition of an error.
        mode: ``folded``, the last value of each key; otherwise the records since the last output.
        comments: the lines after the directive: a table, or an error's message.
        repeats: whether the statement before it runs again until it holds.
    """

    kind: Literal["output", "rows", "error"]
    line: int
    subject: str = ""
    mode: str = "ordered"
    comments: tuple[str, ...] = ()
    repeats: bool = False

    @property
    def header(self) -> Cells:
        """The names of the columns; [] where the table is missing."""
        return split_row(self.comments[0]) if self.comments else []

    @property
    def rows(self) -> list[Cells]:
        """The expected rows, sorted unless their order counts."""
        rows = [split_row(comment) for comment in self.comments[1:]]
        return rows if self.mode == "ordered" else sorted(rows)


@dataclass(frozen=True)
class Restart:
    """The engine stops here, and starts again with the same data; ``is_kill``: without notice."""

    line: int = 0
    is_kill: bool = False

    @property
    def text(self) -> str:
        """What is shown in its place among statements."""
        return "-- crash of the engine" if self.is_kill else "-- restart of the engine"


@dataclass(frozen=True)
class SqlTest:
    """A test: the statements and checks after one ``--@test`` of a file.

    Attributes:
        path: its file.
        name: the name in ``--@test``.
        line: the line of ``--@test``, from 1.
        end: its last line.
        steps: in their order, those before the first test of the file included; lines are those of the file.
        server: properties of the engine.
        expected_error: ksqlDB's class name of the expected error, or None if it must pass.
        expected_message: what the error's text must contain; empty: anything.
        equivalents: changes of its queries that make no difference, as ``--mutate`` shows them.
    """

    path: Path
    name: str
    line: int
    end: int = 0
    steps: tuple[grammar.StatementText | Check | Restart, ...] = ()
    server: Mapping[str, str] = field(default_factory=dict, compare=False)
    expected_error: str | None = None
    expected_message: str = ""
    equivalents: tuple[str, ...] = ()

    @property
    def expects_error(self) -> bool:
        """Whether the test expects its statements to fail."""
        return self.expected_error is not None or bool(self.expected_message)

    @property
    def statements(self) -> list[grammar.StatementText]:
        """Its statements, without those that are to be refused."""
        return [
            step
            for step, after in zip_longest(self.steps, self.steps[1:])
            if isinstance(step, grammar.StatementText) and not is_refusal(after)
        ]


def is_refusal(step: object) -> bool:
    """Whether a step says that the statement before it is refused."""
    return isinstance(step, Check) and step.kind == "error"


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


def select(places: Iterable[str]) -> list[SqlTest]:
    """The tests of files and directories; of ``file:line``, the test at that line.

    Raises:
        OptionProblem: as ``find`` and ``read``; no test is at a line.
    """
    tests: list[SqlTest] = []
    for place in places:
        match = None if Path(place).exists() else _PLACE.fullmatch(place)
        found = [test for path in find([Path(match[1] if match else place)]) for test in read(path)]
        if match:
            found = [test for test in found if test.line <= int(match[2]) <= test.end]
            if not found:
                raise OptionProblem(f"{place}: there is no test at this line.")
        tests += [test for test in found if test not in tests]
    return tests


def read(path: Path) -> list[SqlTest]:
    """The tests of a file.

    Raises:
        OptionProblem: it cannot be read, has no test, or has an unknown or misplaced directive.
    """
    lines = read_script(str(path)).split("\n")
    begins = [number for number, line in enumerate(lines) if _directive(line)[0] == "test"]
    if not begins:
        for number, line in enumerate(lines, 1):
            if _directive(line)[0]:
                raise OptionProblem(f"{path}:{number}: no --@test precedes this line.")
        raise OptionProblem(f"{path}: no tests found. A test begins with a line --@test: NAME")
    first = _section(path, lines, 0, begins[0])
    sections = (
        _section(path, lines, *lines_) for lines_ in zip(begins, [*begins[1:], len(lines)], strict=True)
    )
    return [
        replace(one, steps=(*first.steps, *one.steps), server={**first.server, **one.server})
        for one in sections
    ]


def _directive(line: str) -> tuple[str, str]:
    """Name and value of a line's directive; empty texts where it has none."""
    match = _DIRECTIVE.fullmatch(line)
    return (match[1].lower(), match[2]) if match else ("", "")


#: what a directive must have
_FORMS = {
    "server": "NAME = VALUE",
    "restart": "nothing behind it",
    "output": "a stream or table, and ordered, rowsort, folded or folded repeating",
    "rows": "ordered, rowsort or nothing",
    "error": "a condition, such as SOURCE_UNKNOWN (docs/reference/error-codes.md)",
}


def _section(path: Path, lines: Sequence[str], begin: int, end: int) -> SqlTest:
    """What is in the lines [begin, end): a test, or what stands before the first one."""
    test = SqlTest(path, "", begin + 1, end)
    server: dict[str, str] = {}
    steps: list[grammar.StatementText | Check | Restart] = []
    # as many empty lines as there are lines before, so that positions are those of the file
    body = [""] * begin + list(lines[begin:end])
    for number in range(begin, end):
        directive, value = _directive(lines[number])
        if not directive:
            continue
        place = f"{path}:{number + 1}"
        body[number] = ""
        if directive not in _DIRECTIVES:
            known = ", ".join(f"--@{name}" for name in _DIRECTIVES)
            raise OptionProblem(f"{place}: unknown directive --@{directive}. Known directives: {known}.")
        if directive != "server" and _directive(lines[begin])[0] != "test":
            raise OptionProblem(f"{place}: no --@test precedes this line.")
        match directive, value.split():
            case "test", _:
                test = replace(test, name=value)
            case "server", [name, "=", *words]:
                server[name] = " ".join(words)
            case "restart", []:
                steps.append(Restart(number + 1))
            case "output", [sink, "folded" | "ordered" | "rowsort" as mode]:
                steps.append(Check("output", number + 1, sink, mode, _comments(lines, number + 1, end)))
            case "output", [sink, "folded", "repeating"]:
                comments = _comments(lines, number + 1, end)
                steps.append(Check("output", number + 1, sink, "folded", comments, repeats=True))
            case "rows", [] | ["ordered" | "rowsort"] as words:
                order = "".join(words) or "ordered"
                steps.append(Check("rows", number + 1, "", order, _comments(lines, number + 1, end)))
            case "error", [condition]:
                steps.append(
                    Check("error", number + 1, condition, comments=_comments(lines, number + 1, end))
                )
            case "expected.error", _:
                test = replace(test, expected_error=value)
            case "expected.message", _:
                test = replace(test, expected_message=value)
            case "equivalent", _:
                test = replace(test, equivalents=(*test.equivalents, value))
            case _:
                raise OptionProblem(f"{place}: --@{directive} needs {_FORMS[directive]}; it has '{value}'.")
    steps += grammar.split("\n".join(body))
    return replace(test, steps=tuple(sorted(steps, key=lambda step: step.line)), server=server)


def _comments(lines: Sequence[str], begin: int, end: int) -> tuple[str, ...]:
    """The texts of the comments from line ``begin`` on."""
    found: list[str] = []
    while begin < end and (match := _COMMENT.fullmatch(lines[begin])):
        found.append(match[1])
        begin += 1
    return tuple(found)


def write(path: Path, completed: Iterable[tuple[Check, Sequence[str]]]) -> None:
    """Put what came out into a file: for each check its new comments, without ``--``. Raises OSError."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for check, comments in sorted(completed, key=lambda pair: pair[0].line, reverse=True):
        last = check.line + len(check.comments)
        lines[check.line : last] = [f"-- {comment}".rstrip() for comment in comments]
    path.write_text("\n".join(lines), encoding="utf-8")
