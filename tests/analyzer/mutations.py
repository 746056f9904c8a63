"""Statements with tokens left out, repeated, swapped and exchanged: mostly wrong, and that must be said."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence

from ksql_spark import grammar
from ksql_spark.errors import KsqlError
from ksql_spark.functions import registry
from ksql_spark.metastore.store import MetaStore
from tests.analyzer.binding import bind_statement
from tests.analyzer.plan_checks import problems

_TOKEN = re.compile(r"'(?:[^']|'')*'|`[^`]*`|[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)?|->|=>|:=|<>|<=|>=|\|\||\S")


def tokens(text: str) -> list[str]:
    """The words and symbols of ``text``."""
    return _TOKEN.findall(text)


_CLASSES = {
    "name": re.compile(r"[a-z][a-z0-9_]*"),
    "function": re.compile(r"[A-Z][A-Z0-9_]*"),
    "literal": re.compile(r"'.*|\d.*|NULL|TRUE|FALSE"),
    "operator": re.compile(r"[-+*/%=<>|]+"),
}
_MORE = {
    "name": ["rowtime", "windowstart", "rowkey"],
    "literal": ["NULL", "TRUE", "1.5", "99999999999", "'2024-01-01'", "'x'", "-1", "1E3"],
    "operator": ["+", "-", "*", "/", "%", "=", "<>", "<", ">=", "||", "->"],
}


def _class(part: str, following: str) -> str | None:
    for name, pattern in _CLASSES.items():
        if pattern.fullmatch(part) and (name != "function" or following == "("):
            return name
    return None


def _classified(parts: Sequence[str]) -> list[tuple[int, str]]:
    """(place, class) of the tokens that can be exchanged; literals are looked for before names."""
    pairs = zip(parts, [*parts[1:], ""], strict=True)
    return [(i, name) for i, (part, after) in enumerate(pairs) if (name := _class(part, after))]


def vocabulary(statements: Iterable[str]) -> dict[str, list[str]]:
    """The tokens of ``statements`` by class, and some that they lack."""
    words_of_class: dict[str, set[str]] = {name: set(_MORE.get(name, ())) for name in _CLASSES}
    words_of_class["function"].update(registry.names())
    for statement in statements:
        parts = tokens(statement)
        for i, name in _classified(parts):
            if name != "function":
                words_of_class[name].add(parts[i])
    return {name: sorted(words) for name, words in words_of_class.items()}


def mutate(statement: str, words: Mapping[str, Sequence[str]], chance: random.Random) -> str:
    """``statement`` with one to four tokens exchanged for others of their class, or one moved or left out."""
    parts = tokens(statement.rstrip(";"))
    for _ in range(chance.randint(1, 4)):
        places = _classified(parts)
        if places and chance.random() < 0.9:
            at, name = chance.choice(places)
            parts[at] = chance.choice(words[name])
        elif len(parts) > 1:
            at, other = chance.randrange(len(parts)), chance.randrange(len(parts))
            if chance.random() < 0.5:
                del parts[at]
            else:
                parts[at], parts[other] = parts[other], parts[at]
    return " ".join(parts) + ";"


def outcome(text: str, store: MetaStore) -> str:
    """What becomes of ``text``: parse error, the condition's name, or bound. Anything else is raised."""
    try:
        statement = grammar.parse_one(text)
    except grammar.ParseFailed:
        return "parse error"
    try:
        bound = bind_statement(statement, store.copy(), {})
    except KsqlError as error:
        assert error.message
        return error.condition
    assert problems(bound) == [], text
    return "bound"
