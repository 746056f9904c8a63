"""Regular expressions of users: RE2 matches them in time that grows with the text, and never backtracks.

Python's own engine can take years for a pattern of 20 characters, and nothing else runs meanwhile. So what a
client writes, however it gets here, is matched by this module only. RE2 has no back references and no
look-around: no engine knows how to match these in linear time.
"""

from __future__ import annotations

import re2

#: maximum size of a compiled pattern, bytes; the steps for a character of the text grow with it
_MAX_MEMORY = 1 << 20
_MAX_SHOWN = 100


class InvalidRegex(ValueError):
    """A pattern that is none, or needs an engine that backtracks."""


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    return options


def group_count(pattern: str) -> int:
    """The number of groups of a pattern that is one.

    >>> group_count("a(b)(?:c)")
    1
    """
    return int(re2.compile(pattern, _options()).groups)


def groups_of(pattern: str, text: str) -> tuple[str | None, ...] | None:
    """What the groups of a pattern match at the beginning of a text; None if the pattern does not match.

    >>> groups_of("(a)(b)?", "ac"), groups_of("b", "ab")
    (('a', None), None)
    """
    found = re2.compile(pattern, _options()).match(text.encode(errors="replace"))
    if found is None:
        return None
    return tuple(None if group is None else group.decode() for group in found.groups())


class Regex:
    """A pattern in RE2's syntax.

    >>> Regex("a(b|c)+").matches("abcb"), Regex("a(b|c)+").matches("abcbd")
    (True, False)
    >>> Regex("B", ignores_case=True).is_in("abc")
    True
    >>> Regex("(?!a)b")
    Traceback (most recent call last):
        ...
    ksql_spark.regexes.InvalidRegex: invalid perl operator: (?!

    Args:
        pattern: what the user wrote.
        ignores_case: whether upper and lower case are the same.

    Raises:
        InvalidRegex.
    """

    def __init__(self, pattern: str, *, ignores_case: bool = False) -> None:
        options = _options()
        options.never_capture = True  # groups would take a slower way
        options.case_sensitive = not ignores_case
        try:
            self._compiled = re2.compile(pattern, options)
        except (re2.error, UnicodeEncodeError) as error:
            raise InvalidRegex(_reason(error)) from None

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        return self._compiled.fullmatch(text.encode(errors="replace")) is not None

    def is_in(self, text: str) -> bool:
        """Whether a part of the text matches."""
        return self._compiled.search(text.encode(errors="replace")) is not None


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "it has half of a character"
    reason = error.args[0]
    shown = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"
