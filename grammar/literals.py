"""Statements without their literals: the key by which a plan is found again."""

from __future__ import annotations

import re
from typing import NamedTuple

_INT, _BIGINT = 2**31, 2**63

#: what has to be told apart from literals: quoted names, comments, words and other numbers
_TOKEN = re.compile(
    r"""'(?P<text>(?:[^']|'')*)' | (?P<whole>(?<![\w.])[0-9]+(?![\w.])) | "(?:[^"]|"")*" | `(?:[^`]|``)*`
    | --[^\n]* | /\*.*?\*/ | [\w.]+""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile("''")


class Template(NamedTuple):
    """A statement's text with marks in the place of literals, and the values of these."""

    text: str
    values: tuple[str | int, ...]


def take_out(text: str) -> Template:
    r"""``text`` without its strings and whole numbers; other literals stay.

    The marks tell strings, numbers that fit INTEGER, and those that fit BIGINT apart: types depend on that.

    >>> take_out("SELECT * FROM t1 WHERE id = 5 AND n = 'it''s';")
    Template(text='SELECT * FROM t1 WHERE id = \x00i AND n = \x00s;', values=(5, "it's"))
    """
    values: list[str | int] = []

    def mark(found: re.Match[str]) -> str:
        string, whole = found.group("text", "whole")
        if string is not None:
            values.append(_QUOTED.sub("'", string))
            return "\0s"
        if whole is not None:
            number = int(whole) if len(whole) < 20 else _BIGINT
            if number < _BIGINT:
                values.append(number)
                return "\0i" if number < _INT else "\0l"
        return found[0]

    return Template(_TOKEN.sub(mark, text), tuple(values))


def put_in(template: Template) -> str:
    """The statement's text with its values, the reverse of take_out.

    >>> put_in(take_out("SELECT 'it''s', 5;"))
    "SELECT 'it''s', 5;"
    """
    values = iter(template.values)

    def literal(_: re.Match[str]) -> str:
        value = next(values)
        return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"

    return re.sub("\0[sil]", literal, template.text)
