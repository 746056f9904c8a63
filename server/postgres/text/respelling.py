"""Translates PostgreSQL's spellings in a statement to KSQL: one pass over its tokens, in linear time.

KSQL's parser reads ``x::type`` and ``CAST(x AS type)`` itself; only the names of types differ.
ILIKE and ``now()`` become calls, ``= ANY (array)`` becomes IN. Everything else stays as it was, in its place.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias, Union

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark import deadline
from ksql_spark.grammar import StatementText
from ksql_spark.grammar.words import RESERVED
from ksql_spark.server.postgres.text.literals import (
    NUMERIC,
    cast_text,
    is_escaped,
    list_of,
    quoted,
    unescaped,
    with_code_points,
)
from ksql_spark.server.postgres.values.failures import Failure
from ksql_spark.server.postgres.values.names import DATABASE, SCHEMA, is_name, name_of, written_name

#: types that KSQL spells in another way
_TYPES = {
    "TEXT": "VARCHAR", "VARCHAR": "VARCHAR", "CHARACTER VARYING": "VARCHAR", "CHARACTER": "VARCHAR",
    "CHAR": "VARCHAR", "BPCHAR": "VARCHAR", "NAME": "VARCHAR", "SMALLINT": "INT", "INT2": "INT",
    "INT4": "INT", "INT8": "BIGINT", "REAL": "DOUBLE", "FLOAT": "DOUBLE", "FLOAT4": "DOUBLE",
    "FLOAT8": "DOUBLE", "DOUBLE PRECISION": "DOUBLE", "NUMERIC": "DECIMAL", "BOOL": "BOOLEAN",
    "BYTEA": "BYTES", "JSON": "VARIANT", "JSONB": "VARIANT",
}  # fmt: skip
#: what is no word, so a type with a quoted name, and types that have others inside
_NOT_RESPELT = ("", "ARRAY", "MAP", "STRUCT")
#: the types of values that need no cast
_OF_TYPE: dict[str, type] = {
    "INT": int, "INTEGER": int, "BIGINT": int, "DOUBLE": float, "VARCHAR": str, "BOOLEAN": bool,
    NUMERIC: Decimal,
}  # fmt: skip
#: types whose literals PostgreSQL writes behind their name
_TIMES = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ")
#: operators of PostgreSQL -> what they are short for
_LIKES = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"}
#: comparisons with the elements of an array -> KSQL's
_QUANTIFIED = {
    ("=", "ANY"): "IN", ("=", "SOME"): "IN", ("<>", "ALL"): "NOT IN", ("!=", "ALL"): "NOT IN",
}  # fmt: skip
_NOW = "FROM_UNIXTIME(UNIX_TIMESTAMP())"
_CLOSED_BY = {"(": ")", "[": "]", "CASE": "END"}
#: tokens after which an operand of ILIKE begins, and at which it ends
_AROUND_OPERAND = frozenset((
    "ALL", "AND", "ANY", "BETWEEN", "BY", "CASE", "DISTINCT", "ELSE", "FROM", "HAVING", "ILIKE", "IN", "IS",
    "LIKE", "LIMIT", "NOT", "ON", "OR", "QUALIFY", "SELECT", "THEN", "VALUES", "WHEN", "WHERE",
    "AS", "EMIT", "END", "ESCAPE", "GROUP", "INTO", "ORDER", "PARTITION", "WINDOW", "WITHIN", ",", "(",
    ")", "[", "]", "=", "<>", "!=", "<", ">", "<=", ">=", "=>", ":=",
))  # fmt: skip
_PLAIN = frozenset((
    TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEREDOC_STRING, TokenType.UNKNOWN, TokenType.NUMBER,
))  # fmt: skip


class Cast(NamedTuple):
    """A cast of a parameter.

    Args:
        start, end: where it is in KSQL's text.
        number: of the parameter.
        type: as KSQL spells it.
    """

    start: int
    end: int
    number: int
    type: str


@dataclass(frozen=True)
class Respelt:
    """A statement in KSQL.

    Args:
        casts: of parameters, in their order.
    """

    text: str
    casts: tuple[Cast, ...] = ()

    def for_values(self, arguments: Sequence[Any]) -> str:
        """The text without casts of values that have the type already: an index finds only constants."""
        parts, at = [], 0
        for cast in self.casts:
            value = arguments[cast.number - 1] if cast.number <= len(arguments) else None
            python_type = list if cast.type.startswith("ARRAY") else _OF_TYPE.get(cast.type)
            if type(value) is python_type:
                parts.append(self.text[at : cast.start])
                at = cast.end
        return "".join([*parts, self.text[at:]])


class _Casting(NamedTuple):
    text: str
    number: int
    type: str


#: parts of a text, which may have parts
_Part: TypeAlias = Union[str, _Casting, "list[_Part]"]


@dataclass
class _Frame:
    """A pair of brackets, or CASE and END, that is being translated.

    Args:
        closes: the word that ends it.
        written: so far.
        start: where in ``written`` the operand begins that goes on, or None.
        calls: how many calls around that operand are not closed.
        is_cast: whether it is ``CAST(…)``.
    """

    closes: str = ""
    written: list[_Part] = field(default_factory=list)
    start: int | None = None
    calls: int = 0
    is_cast: bool = False


def word(token: Token) -> str:
    """A word in upper case, or a symbol; nothing for what is quoted."""
    return "" if token.token_type in _PLAIN else token.text


def word_at(tokens: Sequence[Token], at: int) -> str:
    """The word of a token by its index, as `word` has it; nothing if there is no such token."""
    return word(tokens[at]) if 0 <= at < len(tokens) else ""


def respelt(piece: StatementText) -> Respelt:
    """A statement as KSQL spells it."""
    return _Respelling(piece).run()


class _Respelling:
    def __init__(self, piece: StatementText) -> None:
        self._tokens = piece.tokens
        self._text = piece.whole
        self._frames = [_Frame()]
        #: whether the blanks before the next token are left out
        self._is_joined = True

    def run(self) -> Respelt:
        at = 0
        while at < len(self._tokens):
            deadline.check()
            at = self._write(at) + 1
        while len(self._frames) > 1:  # what is not closed
            self._pop()
        self._close_calls(self._frames[0])
        return _joined(self._frames[0].written)

    def _word(self, at: int) -> str:
        return word(self._tokens[at]) if at < len(self._tokens) else ""

    def _between(self, first: int, last: int) -> str:
        return self._text[self._tokens[first].start : self._tokens[last].end + 1]

    def _write(self, at: int) -> int:
        """Write a token, and those behind it that belong to it; returns the last of them."""
        frame, token, this = self._frames[-1], self._tokens[at], self._word(at)
        following = self._word(at + 1)
        if at == 0 and this == "TABLE":  # TABLE name, which stands for a query
            self._is_joined = False
            frame.written.append("SELECT * FROM")
            return at
        is_member = at > 0 and self._word(at - 1) in (".", ":", "->")
        if this and this == frame.closes and not (this == "END" and is_member):
            self._close_calls(frame)
            self._write_blanks(at)
            frame.written.append(self._text[token.start : token.end + 1])
            self._pop()
            return at
        if (operator := self._like_at(at)) is not None and frame.start is not None:
            return self._write_like(frame, at, *operator)
        if (quantified := self._quantified_at(at)) is not None and frame.start is not None:
            comparison, last = quantified
            self._close_calls(frame)
            self._write_blanks(at)
            frame.written.append(comparison)
            frame.start = None
            return last
        if this == "COLLATE" and frame.start is not None:  # texts are compared by code points
            return self._end_of_name(at + 1)
        if this == "::" and 0 < at < len(self._tokens) - 1:
            return self._write_cast(frame, at)
        if this == "AS" and frame.is_cast and word_at(self._tokens, at + 1) not in _NOT_RESPELT:
            self._close_calls(frame)
            self._write_blanks(at)
            last, type_ = self.type_at(at + 1)
            frame.written.append(f"{self._between(at, at)} {type_}")
            frame.start = None
            return last
        if this == "AS" and self._is_label(at + 1):  # any word is a name behind AS
            self._close_calls(frame)
            self._write_blanks(at)
            frame.written += [self._between(at, at), " ", written_name(self._tokens[at + 1].text)]
            frame.start = None
            return at + 1
        if this in _AROUND_OPERAND and this not in _CLOSED_BY:
            self._close_calls(frame)
            self._write_blanks(at)
            frame.written.append(self._text[token.start : token.end + 1])
            frame.start = None
            return at
        self._write_blanks(at)
        if frame.start is None:
            frame.start = len(frame.written)
        if (literal := self._literal_at(at)) is not None:
            last, text = literal
            frame.written.append(text)
            return last
        if this in _CLOSED_BY and not (this == "CASE" and is_member):
            self._frames.append(_Frame(_CLOSED_BY[this], [self._text[token.start : token.end + 1]]))
            self._frames[-1].is_cast = this == "(" and self._word(at - 1) in ("CAST", "TRY_CAST")
            return at
        is_called = following == "(" and self._word(at + 2) == ")"
        if this == "CURRENT_TIMESTAMP" or (this == "NOW" and is_called):
            frame.written.append(_NOW)
            return at + 2 if is_called else at
        if (name := self._after_schema(at)) > at:
            frame.written.append(" " * (self._tokens[name].start - token.start))
            self._is_joined = True
            return name - 1
        frame.written.append(self._one(at))
        return at

    def _is_label(self, at: int) -> bool:
        """Whether a reserved word is the name of a column of a SELECT: what follows AS ends there."""
        return self._word(at) in RESERVED and (
            at + 1 == len(self._tokens) or self._word(at + 1) in (",", ")", "FROM")
        )

    def _like_at(self, at: int) -> tuple[str, int] | None:
        """Return LIKE, ILIKE, or one of these behind NOT, that begins at a token, and its last token.

        ``~~`` and such are how postgres_fdw writes them.

        Raises:
            Failure: it is an operator of regular expressions.
        """
        this, following = self._word(at), self._word(at + 1)
        if this == "ILIKE" or (this == "NOT" and following == "ILIKE"):
            return ("ILIKE", at) if this == "ILIKE" else ("NOT ILIKE", at + 1)
        end = at + (self._tokens[at].text == "!")
        if self._text_at(end) != "~":
            return None
        while self._text_at(end + 1) in ("~", "*") and self._is_joined_to(end + 1):
            end += 1
        symbol = self._between(at, end)
        if (name := _LIKES.get(symbol)) is None:
            reason = "is not supported: use REGEXP_EXTRACT('pattern', text) IS NOT NULL, or LIKE."
            raise Failure("0A000", f"{symbol} {reason}")
        return name, end

    def _write_like(self, frame: _Frame, at: int, operator: str, last: int) -> int:
        assert frame.start is not None, "it follows an operand"
        self._close_calls(frame)
        if "ILIKE" in operator:
            frame.written[frame.start :] = [["LCASE(", *frame.written[frame.start :], ")"]]
        self._write_blanks(at)
        frame.written.append(operator.replace("ILIKE", "LIKE LCASE("))
        frame.start = None
        if "ILIKE" in operator:
            frame.calls, self._is_joined = 1, True
        return last

    def _quantified_at(self, at: int) -> tuple[str, int] | None:
        """IN for ``= ANY``, NOT IN for ``<> ALL``, and its last token, or None if it is neither.

        With the elements of ``'{1,2}'``, which have the left operand's type.
        """
        operator = _QUANTIFIED.get((self._word(at), self._word(at + 1)))
        if operator is None or self._word(at + 2) != "(":
            return None
        if at + 3 < len(self._tokens) and self._word(at + 4) == ")":
            token = self._tokens[at + 3]
            members = list_of(token.text) if token.token_type == TokenType.STRING else None
            if members is not None:
                return f"{operator} ({members})", at + 4
        return operator, at + 1

    def _is_joined_to(self, at: int) -> bool:
        """Whether nothing is between a token and the one before it."""
        return bool(self._tokens[at].start == self._tokens[at - 1].end + 1)

    def _text_at(self, at: int) -> str:
        return self._tokens[at].text if at < len(self._tokens) else ""

    def _literal_at(self, at: int) -> tuple[int, str] | None:
        """The last token of a literal that only PostgreSQL has, ``E'…'`` or ``DATE '…'``, and its KSQL."""
        if at + 1 >= len(self._tokens):
            return None
        if is_escaped(self._tokens[at], self._tokens[at + 1]):
            return at + 1, quoted(unescaped(self._tokens[at + 1].text))
        if self._word(at) == "U" and self._text_at(at + 1) == "&" and at + 2 < len(self._tokens):
            return self._code_points_at(at)
        if self._word(at) in _TIMES and self._word(at - 1) not in ("OF", ".", "AS"):
            last, type_ = self.type_at(at)
            if last + 1 < len(self._tokens) and self._tokens[last + 1].token_type == TokenType.STRING:
                text = self._tokens[last + 1].text
                return last + 1, cast_text(text, type_) or f"CAST({quoted(text)} AS {type_})"
        return None

    def _code_points_at(self, at: int) -> tuple[int, str] | None:
        """As `_literal_at`, of ``U&'…'``, also with UESCAPE behind it. Raises Failure."""
        text, last, escape = self._tokens[at + 2], at + 2, "\\"
        if not (self._is_joined_to(at + 1) and self._is_joined_to(at + 2)):
            return None
        if text.token_type != TokenType.STRING:
            raise Failure("0A000", 'U&"…" is not supported: write the name itself.')
        if self._word(at + 3) == "UESCAPE":
            last, escape = at + 4, self._text_at(at + 4)
        if len(escape) != 1 or escape in "+'\"" or escape.isspace() or escape in string.hexdigits:
            raise Failure("42601", "invalid Unicode escape character")
        if (whole := with_code_points(text.text, escape)) is None:
            raise Failure("42601", "invalid Unicode escape")
        return last, quoted(whole)

    def _end_of_name(self, at: int) -> int:
        """The last token of a name with its schemas."""
        while self._word(at + 1) == "." and at + 2 < len(self._tokens):
            at += 2
        return at

    def _one(self, at: int) -> str:
        """A token in KSQL; as long as it was, if it can be."""
        token = self._tokens[at]
        if token.token_type == TokenType.PLACEHOLDER:
            return f":p{int(token.text)}"
        text = self._text[token.start : token.end + 1]
        if text[0] == '"' and token.token_type == TokenType.IDENTIFIER:
            return written_name(name_of(token, self._text)).ljust(len(text))
        return text

    def _after_schema(self, at: int) -> int:
        """Skip qualifiers: if a token names the database or its schema, return where the name after it is."""
        if self._word(at - 1) != "." or at == 0:
            while self._tokens[at].text.lower() in (SCHEMA, DATABASE) and self._is_qualifier(at):
                at += 2
        return at

    def _is_qualifier(self, at: int) -> bool:
        return is_name(self._tokens[at]) and self._word(at + 1) == "." and at + 2 < len(self._tokens)

    def _write_cast(self, frame: _Frame, at: int) -> int:
        before = self._tokens[at - 1]
        last, type_ = self.type_at(at + 1)
        if before.token_type == TokenType.NUMBER and self._word(at - 2) in ("LIMIT", "OFFSET"):
            return last
        if before.token_type == TokenType.STRING and type_ != "VARIANT":
            is_escape = at > 1 and is_escaped(self._tokens[at - 2], before)
            text = unescaped(before.text) if is_escape else before.text
            if (literal := cast_text(text, type_)) is not None:
                frame.written[-1] = literal
                return last
        if type_ == "VARIANT" and before.token_type in (TokenType.STRING, TokenType.PLACEHOLDER):
            # the JSON that a text has, not a JSON text
            frame.written.append(["PARSE_JSON(", frame.written.pop(), ")"])
        elif before.token_type == TokenType.PLACEHOLDER:
            frame.written.append(_Casting(f"::{type_}", int(before.text), type_))
        else:
            frame.written.append(f"::{type_}")
        return last

    def type_at(self, at: int) -> tuple[int, str]:
        """The last token of a type, and the type as KSQL spells it."""
        if self._word(at + 1) == "." and at + 2 < len(self._tokens):  # its schema
            at += 2
        name, last = self._tokens[at].text.upper(), at
        if self._word(at + 1) in ("PRECISION", "VARYING"):
            name, last = f"{name} {self._word(at + 1)}", at + 1
        if name in ("ARRAY", "MAP", "STRUCT") and self._word(at + 1) == "<":
            depth = 0
            for last in range(at + 1, len(self._tokens)):
                depth += (self._word(last) == "<") - (self._word(last) == ">")
                if depth <= 0:
                    break
            name = self._between(at, last)
        type_ = _TYPES.get(name, name)
        if self._word(last + 1) == "(":
            first, last = last + 1, self._end(last + 1)
            if type_ == "DECIMAL":
                precision = self._between(first + 1, last - 1) if last > first + 1 else ""
                type_ = f"DECIMAL({precision})" if "," in precision else f"DECIMAL({precision}, 0)"
        elif type_ == "DECIMAL":
            type_ = NUMERIC
        if self._word(last + 1) in ("WITH", "WITHOUT") and self._word(last + 2) == "TIME":
            is_zoned = type_ == "TIMESTAMP" and self._word(last + 1) == "WITH"
            type_ = "TIMESTAMPTZ" if is_zoned else type_
            last += 3 if self._word(last + 3) == "ZONE" else 0
        while self._word(last + 1) == "[":
            last = self._end(last + 1)
            type_ = f"ARRAY<{type_}>"
            if len(type_) > 1000:  # which is refused: it is too deep
                break
        return last, type_

    def _end(self, at: int) -> int:
        """Return where the bracket ends that begins at a token."""
        opens, depth = self._word(at), 0
        for end in range(at, len(self._tokens)):
            depth += (self._word(end) == opens) - (self._word(end) == _CLOSED_BY[opens])
            if depth == 0:
                return end
        return len(self._tokens) - 1

    def _write_blanks(self, at: int) -> None:
        """Write what is before a token; a comment as blanks, since KSQL's end elsewhere."""
        if self._is_joined:
            self._is_joined = False
            return
        blanks = self._text[self._tokens[at - 1].end + 1 : self._tokens[at].start]
        if blanks and not blanks.isspace():
            blanks = "\n".join(" " * len(line) for line in blanks.split("\n"))
        if blanks:
            self._frames[-1].written.append(blanks)

    def _close_calls(self, frame: _Frame) -> None:
        if frame.calls:
            frame.written.append(")" * frame.calls)
            frame.calls = 0

    def _pop(self) -> None:
        frame = self._frames.pop()
        self._close_calls(frame)
        self._frames[-1].written.append(frame.written)


def _joined(parts: list[_Part]) -> Respelt:
    """Parts as one text, however deep they are in each other."""
    texts: list[str] = []
    casts: list[Cast] = []
    length = 0
    open_ = [iter(parts)]
    while open_:
        part = next(open_[-1], None)
        if part is None:
            open_.pop()
        elif isinstance(part, list):
            open_.append(iter(part))
        else:
            text = part if isinstance(part, str) else part.text
            if isinstance(part, _Casting):
                casts.append(Cast(length, length + len(text), part.number, part.type))
            texts.append(text)
            length += len(text)
    return Respelt("".join(texts), tuple(casts))
