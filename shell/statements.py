"""Parses what the client must know about a statement: where it ends, and who handles it (reference §8.2).

Everything else about the language is up to the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ksql_spark import grammar

#: white space and comments before a statement's first word; a comment that is never closed is not blank
_BLANK = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.S)
_QUOTED = r"'((?:[^']|'')*)'"
_SET = re.compile(rf"SET\s+{_QUOTED}\s*=\s*{_QUOTED}\s*;?\s*", re.I | re.S)
_UNSET = re.compile(rf"UNSET\s+{_QUOTED}\s*;?\s*", re.I | re.S)
_DEFINE = re.compile(rf"DEFINE\s+([A-Za-z_][A-Za-z0-9_@]*)\s*=\s*{_QUOTED}\s*;?\s*", re.I | re.S)
_UNDEFINE = re.compile(r"UNDEFINE\s+([A-Za-z_][A-Za-z0-9_@]*)\s*;?\s*", re.I | re.S)
_CONNECTOR = re.compile(r"\A(\s*CREATE\s+(?:SOURCE|SINK)\s+CONNECTOR.*?WITH).*", re.I | re.S)
_VARIABLE = re.compile(r"\$\{([^}]*)\}")


class Kind(Enum):
    """The part of the client or server that handles a statement, and how."""

    PLAIN = "plain"
    QUERY = "query"
    PRINT = "print"
    SET = "set"
    UNSET = "unset"
    DEFINE = "define"
    UNDEFINE = "undefine"
    SHOW_VARIABLES = "show variables"
    COPY = "copy"


_KINDS = (
    (re.compile(r"(?:SHOW|LIST)\s+VARIABLES\b", re.I), Kind.SHOW_VARIABLES),
    (re.compile(r"(?:SELECT|WITH)\b", re.I), Kind.QUERY),
    (re.compile(r"PRINT\b", re.I), Kind.PRINT),
    (re.compile(r"COPY\b", re.I), Kind.COPY),
    (re.compile(r"SET\b", re.I), Kind.SET),
    (re.compile(r"UNSET\b", re.I), Kind.UNSET),
    (re.compile(r"DEFINE\b", re.I), Kind.DEFINE),
    (re.compile(r"UNDEFINE\b", re.I), Kind.UNDEFINE),
)


class StatementProblem(Exception):
    """A syntax error in a statement that the client handles itself."""


def body(text: str) -> str:
    """``text`` from its first word on."""
    match = _BLANK.match(text)
    return text[match.end() :].rstrip() if match else text.rstrip()


def kind_of(text: str) -> Kind:
    """Return who handles the statement.

    >>> kind_of("-- all of it\\nselect * from s;")
    <Kind.QUERY: 'query'>
    """
    words = body(text)
    return next((kind for pattern, kind in _KINDS if pattern.match(words)), Kind.PLAIN)


def is_push(text: str) -> bool:
    """Whether a query has EMIT, outside its texts, names and comments.

    >>> is_push("SELECT * FROM s WHERE note = 'EMIT';"), is_push("SELECT * FROM s EMIT CHANGES;")
    (False, True)
    """
    if "EMIT" not in text.upper():
        return False
    from sqlglot.tokenizer_core import TokenType

    from ksql_spark.grammar.lexer import scan

    return any(token.token_type is TokenType.VAR and token.text == "EMIT" for token in scan(text))


def parsed(text: str) -> list[grammar.Statement]:
    """The statements in ``text``, whose last ``;`` may be missing; none if they are not KSQL."""
    from ksql_spark import grammar

    try:
        return grammar.parse(text if text.rstrip().endswith(";") else f"{text};", substitution=False)
    except grammar.ParseFailed:
        return []


def is_complete(text: str) -> bool:
    """Whether ``text`` is complete: every statement in it has its ``;`` (or there is no statement)."""
    if not body(text):
        return True
    from ksql_spark import grammar

    return all(statement.complete for statement in grammar.split(text))


def opens_comment(text: str) -> bool:
    """Whether ``text`` ends inside a block comment."""
    if "/*" not in text:
        return False
    from ksql_spark import grammar

    tokens = grammar.scan(text)
    return bool(tokens) and grammar.opened(tokens[-1]) == "comment"


def set_parts(text: str) -> tuple[str, str]:
    """Name and value of a SET.

    Raises:
        StatementProblem: its syntax is wrong.
    """
    match = _SET.fullmatch(body(text))
    if match is None:
        raise StatementProblem("Syntax: SET 'property' = 'value';")
    return unquote(match[1]), unquote(match[2])


def unset_name(text: str) -> str:
    """Name in an UNSET; raises StatementProblem."""
    match = _UNSET.fullmatch(body(text))
    if match is None:
        raise StatementProblem("Syntax: UNSET 'property';")
    return unquote(match[1])


def define_parts(text: str) -> tuple[str, str]:
    """Name and value of a DEFINE; raises StatementProblem."""
    match = _DEFINE.fullmatch(body(text))
    if match is None:
        raise StatementProblem("Syntax: DEFINE name = 'value'; (always quote the value)")
    return match[1], unquote(match[2])


def undefine_name(text: str) -> str:
    """Name in an UNDEFINE; raises StatementProblem."""
    match = _UNDEFINE.fullmatch(body(text))
    if match is None:
        raise StatementProblem("Syntax: UNDEFINE name;")
    return match[1]


def quoted_name(name: str) -> str:
    """A name in SQL, its case kept."""
    return "`" + name.replace("`", "``") + "`"


def quoted_text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"


def unquote(text: str) -> str:
    """The content of a string literal, with doubled quotes replaced by single ones."""
    return text.replace("''", "'")


def check(text: str) -> None:
    """Check the syntax of statements that the client handles. Raises StatementProblem."""
    parse: dict[Kind, Callable[[str], object]] = {
        Kind.SET: set_parts,
        Kind.UNSET: unset_name,
        Kind.DEFINE: define_parts,
        Kind.UNDEFINE: undefine_name,
    }
    kind = kind_of(text)
    if kind in parse:
        parse[kind](text)


def shown(text: str) -> str:
    """A printable statement: without the properties of a connector, which may be secrets.

    >>> shown("CREATE SOURCE CONNECTOR c WITH ('password' = 'x')")
    'CREATE SOURCE CONNECTOR c WITH (…)'
    """
    return _CONNECTOR.sub(r" (…)", text)


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """``text`` with each defined ``${name}`` replaced; names are case-insensitive (§1.3)."""
    folded = {name.upper(): value for name, value in variables.items()}
    return _VARIABLE.sub(lambda match: folded.get(match[1].strip().upper(), match[0]), text)
