"""Masks secrets in properties, URLs and statements, recognized by names and forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

#: stands in place of a secret
HIDDEN = "[hidden]"

_WORDS = (
    r"password|passwd|passphrase|pwd|secret|credential|token|jaas\.config|user\.info|api[._-]?key"
    r"|a(?:ccess|ccount)[._-]?key|private[._-]?key"
)
_NAME = re.compile(rf"{_WORDS}|\.key$", re.IGNORECASE)

# Users choose the texts to be masked, which may be long. So each pattern takes linear time: it starts where
# the characters of a name start, looks once for a secret word among them, and consumes them without
# backtracking (``*+``). An unclosed quote extends to the end of the text, which may be the beginning of a
# longer one
_IN_SINGLE = r"'(?:[^']|'')*+(?:'|\Z)"
_IN_DOUBLE = r'"(?:[^"\\]|\\.?)*+(?:"|\Z)'

#: (pattern, replacement), applied in turn
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    # the user and password of a URL: they end at the last @ before its path
    (re.compile(r"://[^\s/?#'\"]*@"), f"://{HIDDEN}@"),
    # its parameters
    (
        re.compile(rf"([?&;](?=[\w.-]*?(?:{_WORDS}))[\w.-]++=)[^&;\s'\"]+", re.IGNORECASE),
        rf"\1{HIDDEN}",
    ),
    # 'name' = 'value' of SET and WITH, "name": "value" of JSON
    (
        re.compile(
            rf"((['\"`])(?=[\w.-]*?(?:{_WORDS})|[\w.-]*\.key\2)[\w.-]++\2\s*+[=:]\s*+)"
            rf"(?:{_IN_SINGLE}|{_IN_DOUBLE})",
            re.IGNORECASE | re.DOTALL,
        ),
        rf"\1'{HIDDEN}'",
    ),
    # password="value" of a login module, -Dname.password=value of a JVM, a header of HTTP
    (re.compile(rf"(password=){_IN_DOUBLE}", re.IGNORECASE | re.DOTALL), rf'\1"{HIDDEN}"'),
    (re.compile(rf"(-D(?=[\w.]*?(?:{_WORDS}))[\w.]++=)\S+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"(authorization:\s*+)[^'\",;]+", re.IGNORECASE), rf"\1{HIDDEN}"),
)
#: words of statements in which names of properties and variables need no quotes
_BARE_NAMES = re.compile(r"\b(?:CONNECTOR|DEFINE)\b", re.IGNORECASE)
_UNQUOTED = re.compile(rf"(?<![\w.])((?=[\w.]*?(?:{_WORDS}))[\w.]++\s*+=\s*+){_IN_SINGLE}", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether the values of a property with that name are secrets.

    >>> is_secret("ssl.key.password"), is_secret("connection.url")
    (True, False)
    """
    return _NAME.search(name) is not None


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without secrets.

    Args:
        text: a message, a statement, a value of a property.
        secrets: known secrets, hidden wherever they are.

    >>> masked("http://me:pass@there:8081 refused, SET 'sasl.jaas.config' = 'x'")
    "http://[hidden]@there:8081 refused, SET 'sasl.jaas.config' = '[hidden]'"
    """
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    for form, shown in _FORMS:
        text = form.sub(shown, text)
    if _BARE_NAMES.search(text):
        text = _UNQUOTED.sub(rf"\1'{HIDDEN}'", text)
    return text


def masked_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Properties without secrets: hidden because of their names, or masked in their texts."""
    return {
        name: HIDDEN if is_secret(name) else masked(value) if isinstance(value, str) else value
        for name, value in values.items()
    }


def secrets(values: Mapping[str, Any]) -> frozenset[str]:
    """The secrets among the values of properties, to be hidden wherever they appear.

    Short ones are omitted: they would match in any text.
    """
    texts: set[str] = set()
    for name, value in values.items():
        text = str(value)
        if is_secret(name):
            texts |= {text, *re.findall(r"[pP]assword\s*=\s*\"((?:[^\"\\]|\\.)*)\"", text)}
            texts |= {text.partition(":")[2]} if name.endswith("user.info") else set()
        for user, _, password in re.findall(r"://([^\s/?#:]*)(:([^\s/?#]*))?@", text):
            texts |= {password or user}
    return frozenset(text for text in texts if len(text) >= 4)


__all__ = ["HIDDEN", "is_secret", "masked", "masked_values", "secrets"]
