"""Answers an editor's questions about statements; positions are offsets, or lines and columns from 1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ksql_spark import grammar
from ksql_spark.client.values import type_text
from ksql_spark.entities.wire import to_json
from ksql_spark.functions import registry
from ksql_spark.functions.spec import NAMELESS, Spec
from ksql_spark.grammar.statements.sources import CreateAsSelect, CreateSource
from ksql_spark.grammar.statements.types import CreateType
from ksql_spark.metastore.sources import DataSource
from ksql_spark.runtime.reading.results import schema_info
from ksql_spark.shell.commands import pages
from ksql_spark.shell.prompt.completion import Candidate, complete
from ksql_spark.shell.prompt.metadata import Metadata
from ksql_spark.shell.statements import quoted_name
from ksql_spark.tools.format.layout import Unclosed, formatted
from ksql_spark.tools.format.main import is_command
from ksql_spark.tools.lint.linter import Finding, Linter

_WORD = re.compile(r"`(?:[^`]|``)+`|[A-Za-z_0-9@]+")


@dataclass(frozen=True)
class Place:
    """A part of a text: its line and column, from 1, and its length."""

    line: int
    column: int
    length: int


def findings(text: str, of_server: Metadata | None = None) -> list[Finding]:
    """The errors of a text, and what the rules of lint find.

    Args:
        text: the text.
        of_server: what a server has.
    """
    linter = Linter({})
    linter.run(_of_server(text, of_server or Metadata()))
    return linter.run(text)


def completions(text: str, offset: int, of_server: Metadata) -> list[Candidate]:
    """Return what may follow at ``offset``: the shell's completion, with what the text declares.

    Args:
        text: the text.
        offset: where the cursor is.
        of_server: what a server has.
    """
    return complete(text[:offset], metadata(text, of_server), after=text[offset:])


def metadata(text: str, of_server: Metadata) -> Metadata:
    """Return ``of_server`` with what a text declares."""
    sources = list(_declared(text, of_server))
    columns = {source.name: tuple(column.name for column in source.schema.columns) for source in sources}
    tables = {source.name for source in sources if source.is_table}
    return replace(
        of_server,
        streams={**of_server.streams, **{name: c for name, c in columns.items() if name not in tables}},
        tables={**of_server.tables, **{name: c for name, c in columns.items() if name in tables}},
        functions=of_server.functions or tuple(_functions()),
        signatures=of_server.signatures or {name: signature(spec) for name, spec in _functions().items()},
        schemas={
            **of_server.schemas,
            **{s.name: {c.name: to_json(schema_info(c.type)) for c in s.schema.columns} for s in sources},
        },
        keys={**of_server.keys, **{s.name: tuple(c.name for c in s.schema.key) for s in sources}},
        topics=tuple(dict.fromkeys((*of_server.topics, *(source.topic for source in sources)))),
    )


def hover(text: str, offset: int, of_server: Metadata) -> tuple[str, Place] | None:
    """Describe the word at ``offset`` in Markdown; return None if nothing is known about it."""
    word_and_place = word_at(text, offset)
    if word_and_place is None:
        return None
    word, place = word_and_place
    name = name_of(word)
    here = metadata(text, of_server)
    if name in here.schemas:
        kind = "TABLE" if name in here.tables else "STREAM"
        columns = ",\n".join(
            f"  {column} {type_text(schema)}" for column, schema in here.schemas[name].items()
        )
        return f"```sql\n{kind} {name} (\n{columns}\n)\n```", place
    spec = _functions().get(name)
    follows = text[_end(text, place) :].lstrip()
    if spec is not None and follows.startswith("("):
        return f"```sql\n{name}{signature(spec)}\n```\n{spec.description}", place
    if here.column_types.get(name):
        return f"```sql\n{name} {here.column_types[name]}\n```", place
    nodes = pages.statements_named([name])
    if len(nodes) == 1 and not word.startswith("`"):
        return f"{pages.PAGES[nodes[0]].what}\n```sql\n{pages.syntax(nodes[0])}\n```", place
    return None


def definition(text: str, name: str) -> Place | None:
    """Return where the stream, table or type ``name`` is declared; the last declaration counts."""
    last: Place | None = None
    for piece in grammar.split(text):
        try:
            tree = grammar.parse_statement(piece)
        except grammar.ParseFailed:
            continue
        if isinstance(tree, (CreateSource, CreateAsSelect, CreateType)) and tree.name == name:
            at = next(
                (token for token in piece.tokens if name_of(text[token.start : token.end + 1]) == name),
                piece.tokens[0],
            )
            line = text.count("\n", 0, at.start) + 1
            last = Place(line, _column(text, at.start), at.end - at.start + 1)
    return last


def word_at(text: str, offset: int) -> tuple[str, Place] | None:
    """The word at ``offset``, and where it is."""
    for match in _WORD.finditer(text, text.rfind("\n", 0, offset) + 1):
        if match.start() > offset:
            return None
        if offset <= match.end():
            line = text.count("\n", 0, match.start()) + 1
            return match[0], Place(line, _column(text, match.start()), len(match[0]))
    return None


def laid_out(text: str) -> str:
    """The text as ``ksql-spark fmt`` writes it; as it is where a string or comment is never closed."""
    try:
        return formatted(text, is_command)
    except Unclosed:
        return text


def signature(spec: Spec) -> str:
    """Describe how a function is called, as the shell's menu shows it.

    >>> signature(registry.require("UCASE"))
    '(text STRING) → STRING'
    """
    first = spec.signatures[0]
    arguments = (
        f"{p.name} {p.pattern}{'…' if i == first.variadic_at else ''}" for i, p in enumerate(first.parameters)
    )
    more = f" (+{len(spec.signatures) - 1})" if len(spec.signatures) > 1 else ""
    return f"({', '.join(arguments)}) → {first.result_text}{more}"


def name_of(word: str) -> str:
    """The name that a word in a statement stands for."""
    return word[1:-1].replace("``", "`") if word.startswith("`") else word.upper()


def _column(text: str, start: int) -> int:
    return start - text.rfind("\n", 0, start)


def _end(text: str, place: Place) -> int:
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1 + place.length


def _declared(text: str, of_server: Metadata) -> Iterator[DataSource]:
    linter = Linter({})
    linter.run(_of_server(text, of_server))
    theirs = {source.name for source in linter.sources()}
    linter.run(text)
    yield from (source for source in linter.sources() if source.name not in theirs)


def _of_server(text: str, of_server: Metadata) -> str:
    """Statements that declare what ``text`` names and a server has, without what the text declares itself."""
    named = {name_of(match[0]) for match in _WORD.finditer(text)} & set(of_server.schemas)
    statements = []
    for name in sorted(name for name in named if of_server.schemas[name] and definition(text, name) is None):
        is_table, keys = name in of_server.tables, of_server.keys.get(name, ())
        columns = ", ".join(
            f"{quoted_name(column)} {type_text(schema)}"
            + (f"{' PRIMARY' * is_table} KEY" if column in keys else "")
            for column, schema in of_server.schemas[name].items()
        )
        # the formats do not matter here
        statements.append(
            f"CREATE {'TABLE' if is_table else 'STREAM'} {quoted_name(name)} ({columns}) "
            "WITH (KAFKA_TOPIC = 'there', KEY_FORMAT = 'JSON', VALUE_FORMAT = 'JSON');\n"
        )
    return "".join(statements)


def _functions() -> Mapping[str, Spec]:
    named = {spec.name: spec for spec in registry.all_specs() if spec.kind not in NAMELESS}
    return named | registry.aliases()
