"""Patterns of topics: streams over all topics whose names match a regular expression (ADR 65).

The topic of such a stream is the expression between slashes, as in ``/orders\\..*/``: no topic has a slash in
its name. RE2 finds the topics of statements, and its Java port those of running queries, so an expression may
have only what both read in the same way. ``(?!…)`` at the beginning, which RE2 lacks, is a second pattern:
what the name must not begin with. Names that begin with an underscore never match: Kafka and this server use
them for topics of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from ksql_spark.regexes import InvalidRegex, Regex

#: syntax that the two engines read differently, or only one of them reads
_DIFFERENT = re.compile(
    r"""
      \\(?:[^\w]|[dDwWsS])       # an escaped sign, or a class of characters: both read it
    | (?P<different>
        \\.?
      | \(\?(?!:|i\))(?:<?[=!]|.)
      | \[\^?\] | && | \|\| | -- | ~~ | \[[^\]\\]*\[
      | \{(?!\d+(?:,\d*)?\})
      )
    """,
    re.VERBOSE,
)
#: a prefix that names must not have: (?!…), without parentheses inside
_NOT = re.compile(r"\(\?!((?:[^\\()]|\\.)*)\)")


class Expressions(NamedTuple):
    """A pattern in terms of RE2.

    Args:
        whole: what the whole name has to match.
        never: what the whole name must not match.
    """

    whole: str
    never: str


def topic_of(pattern: str) -> str:
    """The topic of a stream over all topics that ``pattern`` matches.

    >>> topic_of("a.*")
    '/a.*/'
    """
    return f"/{pattern}/"


def pattern_of(topic: str) -> str | None:
    """The pattern of ``topic``, if it is that of a stream over many; else None.

    >>> pattern_of("/a.*/"), pattern_of("a")
    ('a.*', None)
    """
    return topic[1:-1] if len(topic) > 1 and topic[0] == topic[-1] == "/" else None


def names(topic: str, there: Iterable[str]) -> list[str]:
    """The names among ``there`` that ``topic`` stands for: its own, or all that its pattern matches, sorted.

    >>> names("/a.*/", ["ab", "_a", "b", "a"]), names("c", ["a", "b"])
    (['a', 'ab'], [])
    """
    pattern = pattern_of(topic)
    if pattern is None:
        return [name for name in there if name == topic]
    whole, never = _compiled(pattern)
    return sorted(name for name in there if whole.matches(name) and not never.matches(name))


def expanded(topics: Iterable[str], there: Iterable[str]) -> list[str]:
    """``topics``, each once, with the names that are found among ``there`` in place of a pattern.

    >>> expanded(["b", "/a.*/"], ["a1", "a2"])
    ['b', 'a1', 'a2']
    """
    existing = list(there)
    lists = ([topic] if pattern_of(topic) is None else names(topic, existing) for topic in topics)
    return list(dict.fromkeys(name for some in lists for name in some))


def expressions(pattern: str) -> Expressions:
    """Split ``pattern`` into an expression that names must match, and one that they must not match.

    >>> expressions("a.*")
    Expressions(whole='a.*', never='(?:_).*')
    >>> expressions("(?!x|y)(?!z)a.*")
    Expressions(whole='a.*', never='(?:_|x|y|z).*')
    """
    starts = ["_"]
    at = 0
    while (match := _NOT.match(pattern, at)) is not None:
        starts.append(match[1])
        at = match.end()
    return Expressions(pattern[at:], f"(?:{'|'.join(starts)}).*")


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> tuple[Regex, Regex]:
    """Compile an expression. Raises InvalidRegex."""
    whole, never = expressions(pattern)
    return Regex(whole), Regex(never)


def problem(pattern: str) -> str | None:
    """Return why ``pattern`` cannot be a pattern of topics; None if it can.

    >>> problem("a(b|c)+"), problem("(?:a|b).[0-9]{2,}"), problem(r"orders\\..*"), problem("(?!a).*")
    (None, None, None, None)
    >>> problem("a(")
    'missing ): a('
    >>> problem("a(?=b)b")
    '"(?=" at position 1: look-around is only for what names do not begin with, as in (?!test|old).*'
    >>> problem("(?P<n>a)")
    '"(?P" at position 0 does not mean the same everywhere'
    """
    whole = expressions(pattern).whole
    at = len(pattern) - len(whole)
    for match in _DIFFERENT.finditer(pattern):
        part = match["different"]
        if part is None or (part == "(?!" and match.start() < at):
            continue
        place = f'"{part}" at position {match.start()}'
        if part in ("(?=", "(?!", "(?<=", "(?<!"):
            return f"{place}: look-around is only for what names do not begin with, as in (?!test|old).*"
        if part[1:].isdecimal():
            return f"{place}: a pattern cannot refer back to what a group has found"
        return f"{place} does not mean the same everywhere"
    if at and _has_choice(whole):
        return f'"|" after "{pattern[:at]}" needs parentheses, as in (?!test)(?:a|b)'
    try:
        _compiled(pattern)
    except InvalidRegex as error:
        return str(error)
    return None


def _has_choice(whole: str) -> bool:
    """Whether a pattern has ``|`` outside of parentheses.

    >>> _has_choice("a|b"), _has_choice("(a|b)[|]"), _has_choice(r"a\\|b")
    (True, False, False)
    """
    depth = 0
    for sign in re.sub(r"\\.|\[(?:\\.|[^\]])*\]", "", whole):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth == 0:
            return True
    return False
