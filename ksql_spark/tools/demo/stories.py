"""The stories in ``examples``: a file of statements, with directives for the demo in its comments.

The first line of a story is a comment with its title. A directive is a line of its own:

    --@server NAME = VALUE         a property of the demo's server
    --@registry                    the demo's server uses a schema registry that is started first
    --@connector GROUP:ARTIFACT:VERSION  a connector that the demo's server needs
    --@package MODULE PACKAGE      the story needs a Python module, which pip installs with the package
    --@fill SCHEMA OPTIONS         write all events of ``ksql-spark datagen SCHEMA OPTIONS``, then go on
    --@generate SCHEMA OPTIONS     write generated events from now on
    --@run FILE.py OPTIONS         run a program that is in the story's folder, then go on
    --@start FILE.py OPTIONS       run it from now on
    --@before FILE.py OPTIONS      run it from before the engine starts, which it does not need
    --@show TITLE | key COLUMN, COLUMN; bar COLUMN | SELECT …;
                                   show a query: a push query goes on, a pull query is sent again each second;
                                   with a key the newest row of each key, else the newest rows;
                                   ``python FILE.py`` in place of a query shows what a program prints
    --@then TEXT                   show what there is so far for some seconds, then say TEXT and go on

Statements and directives are carried out from top to bottom. ``${folder}`` in statements and in arguments of
programs is a folder that is empty at first and removed at the end. It is pure: text in, steps out.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ksql_spark import grammar

FOLDER = Path(__file__).resolve().parents[2] / "examples"
_DIRECTIVE = re.compile(r"^--@(\w+) *(.*?)\s*$", re.M)


class StoryProblem(Exception):
    """The story cannot be read; the text is for the user."""


@dataclass(frozen=True)
class Generate:
    """Generated events: the arguments of ``ksql-spark datagen``."""

    arguments: tuple[str, ...]
    is_awaited: bool


@dataclass(frozen=True)
class Program:
    """A Python program in the story's folder, with its arguments."""

    file: Path
    arguments: tuple[str, ...]
    is_awaited: bool
    is_early: bool = False


@dataclass(frozen=True)
class Show:
    """A panel: a query or a program, and how its rows are shown."""

    title: str
    source: str | Program
    key: tuple[str, ...] = ()
    bar: str | None = None


@dataclass(frozen=True)
class Then:
    """A pause for people to look at the results, and an announcement of what comes next."""

    text: str


Step = grammar.StatementText | Generate | Program | Show | Then


@dataclass(frozen=True)
class Story:
    """A story of the demo: a file of statements, and what it needs.

    Attributes:
        name: the name of its folder.
        file: its statements.
        title: its subject, in one line.
        steps: its steps, in order.
        server: properties of the server.
        has_registry: whether Python programs need a schema registry before the first statement.
        connectors: the Maven coordinates of the required connectors.
        packages: module -> what pip installs to provide it.
    """

    name: str
    file: Path
    title: str
    steps: tuple[Step, ...]
    server: Mapping[str, str]
    has_registry: bool
    connectors: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)


def names(folder: Path = FOLDER) -> list[str]:
    """The names of all stories, sorted."""
    return sorted(path.parent.name for path in folder.glob("*/*.sql") if path.stem == path.parent.name)


def load(name: str, folder: Path = FOLDER) -> Story:
    """Load the story ``name``.

    Raises:
        StoryProblem: it does not exist, or a directive is wrong.
    """
    stories = names(folder)
    if name not in stories:
        raise StoryProblem(f"Unknown story '{name}'. Available stories: {', '.join(stories)}.")
    file = folder / name / f"{name}.sql"
    return read(file, file.read_text(encoding="utf-8"))


def read(file: Path, text: str) -> Story:
    """Parse the story in a file's text. Raises StoryProblem."""
    title = text.split("\n", 1)[0].removeprefix("--").strip()
    steps: list[tuple[int, Step]] = [(part.line, part) for part in grammar.split(text)]
    server: dict[str, str] = {}
    has_registry = False
    connectors: list[str] = []
    packages: dict[str, str] = {}
    for match in _DIRECTIVE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        word, rest = match[1], match[2]
        if word == "server":
            name, _, value = rest.partition("=")
            server[name.strip()] = value.strip()
        elif word == "registry":
            has_registry = True
        elif word == "connector":
            connectors.append(rest)
        elif word == "package" and len(parts := rest.split()) == 2:
            packages[parts[0]] = parts[1]
        else:
            step = _step(word, rest, file.parent)
            if step is None:
                raise StoryProblem(f"{file}:{line}: cannot parse this: {match[0]}")
            steps.append((line, step))
    ordered = tuple(step for _, step in sorted(steps, key=lambda placed: placed[0]))
    return Story(file.stem, file, title, ordered, server, has_registry, tuple(connectors), packages)


def _step(word: str, rest: str, folder: Path) -> Step | None:
    match word:
        case "fill" | "generate":
            return Generate(tuple(shlex.split(rest)), word == "fill")
        case "run" | "start" | "before":
            return replace(_program(rest, folder, word == "run"), is_early=word == "before")
        case "then":
            return Then(rest)
        case "show" if rest.count("|") >= 2:
            title, form, source = (part.strip() for part in rest.split("|", 2))
            forms = dict(_forms(form))
            key = tuple(column.strip() for column in forms.get("key", "").split(",") if column.strip())
            shown = _program(source.removeprefix("python "), folder, False)
            return Show(title, shown if source.startswith("python ") else source, key, forms.get("bar"))
    return None


def _forms(text: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        word, _, value = part.partition(" ")
        yield word, value.strip()


def _program(text: str, folder: Path, is_awaited: bool) -> Program:
    name, *arguments = shlex.split(text)
    return Program(folder / name, tuple(arguments), is_awaited)
