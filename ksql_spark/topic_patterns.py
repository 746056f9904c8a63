"""Patterns of topics: streams over all topics whose names match a regular expression (ADR 65).

The topic of such a stream is the expression between slashes, as in ``/orders\\..*/``: no topic has a slash in
its name. Java finds the topics of running queries and Python those of statements, so an expression may have
only what both read in the same way. Names that begin with an underscore never match: Kafka and this server
use them for topics of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: what Java and Python read differently, or only one of them reads
_DIFFERENT = re.compile(
    r"""
      \\(?:[^\w]|[dDwWsS])       # an escaped sign, or a class of characters: both read it
    | (?P<different>
        \\.?
      | \(\?(?!:|=|!|<=|<!|i\)).
      | \[\^?\] | && | \|\| | -- | ~~ | \[[^\]\\]*\[
      | \{(?!\d+(?:,\d*)?\})
      )
    """,
    re.VERBOSE,
)


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
    matches = re.compile(pattern, re.ASCII).fullmatch
    return sorted(name for name in there if not name.startswith("_") and matches(name))


def expanded(topics: Iterable[str], there: Iterable[str]) -> list[str]:
    """``topics``, each once, with the names that are found among ``there`` in place of a pattern.

    >>> expanded(["b", "/a.*/"], ["a1", "a2"])
    ['b', 'a1', 'a2']
    """
    known = list(there)
    found = ([topic] if pattern_of(topic) is None else names(topic, known) for topic in topics)
    return list(dict.fromkeys(name for some in found for name in some))


def java_pattern(pattern: str) -> str:
    """The expression for Java's Matcher.find() that finds the same names."""
    return f"^(?!_)(?:{pattern})$"


def problem(pattern: str) -> str | None:
    """Why ``pattern`` cannot be one; None if it can.

    >>> problem("a(b|c)+"), problem("(?:a|b).[0-9]{2,}"), problem(r"orders\\..*")
    (None, None, None)
    >>> problem("a(")
    'missing ), unterminated subpattern at position 1'
    >>> problem("(?P<n>a)")
    '"(?P" at position 0 does not mean the same everywhere'
    """
    for found in _DIFFERENT.finditer(pattern):
        if found["different"] is not None:
            return f'"{found[0]}" at position {found.start()} does not mean the same everywhere'
    try:
        re.compile(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError) as error:
        return str(error)
    return None
