"""Statements without their literals, as keys of cached plans; parameters replaced by literals."""

from __future__ import annotations

import functools
import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

_INT, _BIGINT = 2**31, 2**63
#: the value of a literal
Value = str | int

#: what must be distinguished from literals: quoted names, comments, words and other numbers. A run of words
#: is one match, because each match costs a call. An unclosed comment extends to the end of the text: if each
#: /* were examined again, the time would be quadratic
_TOKEN = re.compile(
    r"""'(?P<text>(?:[^']|'')*)' | (?P<whole>(?<![\w.])[0-9]+(?![\w.])) | "(?:[^"]|"")*" | `(?:[^`]|``)*`
    | --[^\n]* | /\*.*?(?:\*/|\Z)
    | [\w.]+(?:[^\w.'"`/-]++[^\W0-9][\w.]*)*""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile("''")


class Template(NamedTuple):
    """A statement's text with placeholders for its literals, and their values."""

    text: str
    values: tuple[Value, ...]


def take_out(text: str) -> Template:
    r"""``text`` without its strings and whole numbers; other literals stay.

    The placeholders distinguish strings, numbers that fit INTEGER, and numbers that fit BIGINT, because types
    depend on that.

    >>> take_out("SELECT * FROM t1 WHERE id = 5 AND n = 'it''s';")
    Template(text='SELECT * FROM t1 WHERE id = \x00i AND n = \x00s;', values=(5, "it's"))
    """
    values: list[Value] = []

    def mark(match: re.Match[str]) -> str:
        kind, literal = match.lastgroup, match[0]
        if kind == "text":
            values.append(_QUOTED.sub("'", literal[1:-1]))
            return "\0s"
        if kind == "whole":
            number = int(literal) if len(literal) < 20 else _BIGINT
            if number < _BIGINT:
                values.append(number)
                return "\0i" if number < _INT else "\0l"
        return literal

    return Template(_TOKEN.sub(mark, text), tuple(values))


def put_in(template: Template) -> str:
    """The statement's text with its values, the reverse of take_out.

    >>> put_in(take_out("SELECT 'it''s', 5;"))
    "SELECT 'it''s', 5;"
    """
    values = iter(template.values)

    def literal(_: re.Match[str]) -> str:
        value = next(values)
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return str(value)

    return re.sub("\0[sil]", literal, template.text)


# ---- parameters -------------------------------------------------------------------------------------------

#: a parameter, and the tokens that cannot contain one
_PARAMETER = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | --[^\n]*
    | (?i:\bPATTERN\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))  # its ? are quantifiers
    | /\*.*?(?:\*/|\Z) | (?P<any>\?) 
    | (?<![\w@:)\]"`']):(?P<name>[A-Za-z_]\w*)  # not x::INT, not payload:path
    """,
    re.VERBOSE | re.DOTALL,
)


#: the parts of longer texts are not cached: they may take many times the memory of the text
_MAX_KEPT = 2_000


class ParameterMismatch(ValueError):
    """Values that do not match the parameters of a statement; the text has the reason, for the client."""


def with_parameters(text: str, values: Sequence[Any] | Mapping[str, Any]) -> str:
    """``text`` with each parameter replaced by a literal: ``?`` in order, or ``:name``.

    A value becomes one literal, whatever characters it has: it never becomes any other part of the statement.

    Args:
        text: a statement.
        values: None, bool, int, float, Decimal, str, or lists of these; in a list for
            ``?``, by name for ``:name``.

    Raises:
        ParameterMismatch: a value is missing, left over, or of another type.

    >>> with_parameters("SELECT '?' FROM t WHERE a = ? AND b = ?;", ["it's", 5])
    "SELECT '?' FROM t WHERE a =  'it''s'  AND b =  5 ;"
    >>> with_parameters("SELECT * FROM t WHERE a = :x;", {"x": None})
    'SELECT * FROM t WHERE a =  NULL ;'
    """
    between, names = _known_parts(text) if len(text) <= _MAX_KEPT else _parts(text)
    named = isinstance(values, Mapping)
    if any((name is not None) != named for name in names):
        raise ParameterMismatch(
            "Parameter values must be a list for ? or an object for :name; a statement uses one or the other."
        )
    if isinstance(values, Mapping):
        missing = [name for name in names if name not in values]
        if missing:
            raise ParameterMismatch(f"The parameter :{missing[0]} has no value.")
        parameters = set(names)
        unknown = [name for name in values if name not in parameters]
        if unknown:
            raise ParameterMismatch(f"The statement has no parameter :{unknown[0]}.")
        ordered = [values[name] for name in names if name is not None]
    else:
        ordered = list(values)
        if len(ordered) != len(names):
            raise ParameterMismatch(
                f"The statement has {len(names)} parameters, but got {len(ordered)} values."
            )
    parts = [between[0]]
    for value, following in zip(ordered, between[1:], strict=True):
        # with spaces around it, so that it cannot merge with adjacent tokens
        parts += (" ", literal(value), " ", following)
    return "".join(parts)


@functools.lru_cache(1000)
def _known_parts(text: str) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    return _parts(text)


def _parts(text: str) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """The text between parameters, and the parameters: a name, or None for ``?``."""
    between: list[str] = []
    names: list[str | None] = []
    end = 0
    for match in _PARAMETER.finditer(text):
        if match["any"] is None and match["name"] is None:
            continue
        between.append(text[end : match.start()])
        names.append(match["name"])
        end = match.end()
    return (*between, text[end:]), tuple(names)


def literal(value: Any) -> str:
    """``value`` as a literal of SQL.

    Raises:
        ParameterMismatch: its type has no literals.
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() if -_BIGINT <= value < _BIGINT:
            return _number(str(value))
        case float() if math.isfinite(value):
            return _number(f"{Decimal(repr(value)):E}" if value else "0E0")
        case Decimal() if value.is_finite():
            is_wide = value == value.to_integral_value() and not -_BIGINT <= value < _BIGINT
            return _number(f"{value:f}.0" if is_wide and "." not in f"{value:f}" else f"{value:f}")
        case str():
            return "'" + value.replace("'", "''") + "'"
        case list():  # an empty one is for IN
            return f"ARRAY[{', '.join(map(literal, value))}]"
    shown = reprlib.repr(value)  # only the beginning of a long list
    raise ParameterMismatch(
        f"A parameter cannot be {shown}: it must be null, a boolean, a number, text or a list."
    )


def _number(text: str) -> str:
    return f"({text})" if text.startswith("-") else text  # two minus signs would begin a comment
