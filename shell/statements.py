"""What the client must know about a statement: who handles it, and the parts of those that it handles itself.

Everything else about the language is up to the server (reference §8.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ksql_spark import grammar

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


_KINDS = {
    "PRINT": Kind.PRINT, "COPY": Kind.COPY, "SET": Kind.SET, "UNSET": Kind.UNSET, "DEFINE": Kind.DEFINE,
    "UNDEFINE": Kind.UNDEFINE,
}  # fmt: skip


class StatementProblem(Exception):
    """A syntax error in a statement that the client handles itself."""


def kind_of(part: grammar.StatementText) -> Kind:
    """Return who handles the statement."""
    if part.is_query:
        return Kind.QUERY
    if part.verb in ("SHOW", "LIST") and part.object == "VARIABLES":
        return Kind.SHOW_VARIABLES
    return _KINDS.get(part.verb, Kind.PLAIN)


def parsed(text: str) -> list[grammar.Statement]:
    """The statements in ``text``, whose last ``;`` may be missing; none if they are not KSQL."""
    from ksql_spark import grammar

    try:
        return grammar.parse(text if text.rstrip().endswith(";") else f"{text};", substitution=False)
    except grammar.ParseFailed:
        return []


def is_blank(text: str) -> bool:
    """Whether ``text`` has nothing but white space and comments."""
    if not text.strip():
        return True
    from ksql_spark import grammar

    return not grammar.split(text)


def is_complete(text: str) -> bool:
    """Whether ``text`` is complete: every statement in it has its ``;`` (or there is no statement)."""
    if not text.strip():
        return True
    from ksql_spark import grammar

    return all(statement.complete for statement in grammar.split(text))


def opens_comment(text: str) -> bool:
    """Whether ``text`` ends inside a block comment."""
    if "/*" not in text:
        return False
    from ksql_spark import grammar

    return any(statement.open == "comment" for statement in grammar.split(text))


def set_parts(part: grammar.StatementText) -> tuple[str, str]:
    """Name and value of a SET.

    Raises:
        StatementProblem: its syntax is wrong.
    """
    if part.setting is None or part.setting[1] is None:
        raise StatementProblem("Syntax: SET 'property' = 'value';")
    return part.setting[0], part.setting[1]


def unset_name(part: grammar.StatementText) -> str:
    """Name in an UNSET; raises StatementProblem."""
    if part.setting is None:
        raise StatementProblem("Syntax: UNSET 'property';")
    return part.setting[0]


def define_parts(part: grammar.StatementText) -> tuple[str, str]:
    """Name and value of a DEFINE; raises StatementProblem."""
    name, value = _parts(part, "DEFINE name = 'value';", " (always quote the value)")
    return name, value


def undefine_name(part: grammar.StatementText) -> str:
    """Name in an UNDEFINE; raises StatementProblem."""
    return _parts(part, "UNDEFINE name;")[0]


def _parts(part: grammar.StatementText, form: str, advice: str = "") -> list[str]:
    """The names, as typed, and the contents of the texts in a statement of the form ``form``.

    Raises:
        StatementProblem: it has another form; the message ends with ``advice``.
    """
    from ksql_spark import grammar

    (example,) = grammar.split(form)
    kinds, expected = ([token.token_type for token in one.tokens] for one in (part, example))
    typed = [(part.source_of([token]), token.text) for token in part.tokens[1::2]]
    if kinds != expected or typed[0][0][0].isdigit():
        raise StatementProblem(f"Syntax: {form}{advice}")
    return [content if source[0] == "'" else source for source, content in typed]


def quoted_name(name: str) -> str:
    """A name in SQL, its case kept."""
    return "`" + name.replace("`", "``") + "`"


def quoted_text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"


def check(part: grammar.StatementText) -> None:
    """Check the syntax of statements that the client handles. Raises StatementProblem."""
    parse: dict[Kind, Callable[[grammar.StatementText], object]] = {
        Kind.SET: set_parts,
        Kind.UNSET: unset_name,
        Kind.DEFINE: define_parts,
        Kind.UNDEFINE: undefine_name,
    }
    if (parser := parse.get(kind_of(part))) is not None:
        parser(part)


def shown(part: grammar.StatementText) -> str:
    """A printable statement: without the properties of a connector, which may be secrets.

    >>> from ksql_spark import grammar
    >>> shown(*grammar.split("CREATE SOURCE CONNECTOR c WITH ('password' = 'x')"))
    'CREATE SOURCE CONNECTOR c WITH (…)'
    """
    if (part.verb, part.object) != ("CREATE", "CONNECTOR") or not part.has("WITH"):
        return part.text
    words = [token.text for token in part.tokens]
    return f"{part.source_of(part.tokens[: words.index('WITH') + 1])} (…)"


def substitute(text: str, variables: Mapping[str, str]) -> str:
    """``text`` with each defined ``${name}`` replaced; names are case-insensitive (§1.3)."""
    folded = {name.upper(): value for name, value in variables.items()}
    return _VARIABLE.sub(lambda match: folded.get(match[1].strip().upper(), match[0]), text)
