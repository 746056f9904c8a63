"""The statements of a text by its tokens alone, in linear time: where each ends, and what it is.

A statement is classified without being parsed, so the answer is the same for one with an error in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.grammar.lexer import opened, tokens

#: first words of queries, which may also begin with a parenthesis
_QUERIES = frozenset({"SELECT", "VALUES", "WITH"})
#: verbs whose object is a query, if it is not named
_OF_QUERIES = frozenset({"TERMINATE", "PAUSE", "RESUME"})
#: words of CREATE, DROP and ALTER before the kind of object
_BEFORE_OBJECT = frozenset({"OR", "REPLACE", "SOURCE"})
#: phrases between the kind of object and its name
_BEFORE_NAME = (("IF", "NOT", "EXISTS"), ("IF", "EXISTS"))


@dataclass(frozen=True)
class StatementText:
    """One statement of a text, as written: without the ``;``, without comments around it.

    Attributes:
        text: from its first to its last token.
        line: line in the whole text where it starts, from 1.
        column: column where it starts, from 1.
        complete: False for a last piece that lacks its ``;`` or is inside a quote or comment.
        open: what is not closed ("string", "quoted name", "comment", "code"), or None.
        end: the offset in the whole text behind its ``;``, or behind its last token if it has none.
    """

    text: str
    line: int
    column: int
    complete: bool = True
    open: str | None = None
    end: int = field(default=0, compare=False)
    tokens: tuple[Token, ...] = field(default=(), repr=False, compare=False)
    whole: str = field(default="", repr=False, compare=False)

    @property
    def start(self) -> int:
        """The offset in the whole text at which the statement begins."""
        return self.tokens[0].start if self.tokens else 0

    @property
    def verb(self) -> str:
        """The first word in upper case; "" if the statement begins with something else."""
        return self._word(0)

    @property
    def object(self) -> str:
        """The kind of object that CREATE, DROP, ALTER, SHOW or any other verb names, in upper case.

        >>> [piece.object for piece in split("create or replace table t; create sink connector c; pause q")]
        ['TABLE', 'CONNECTOR', 'QUERY']
        """
        at = self._object_at()
        return self._word(at) if at else "QUERY"

    @property
    def name(self) -> str:
        """The name of that object: a bare one in upper case; "" if there is none.

        >>> [piece.name for piece in split("create stream if not exists s (x int); drop table `t`")]
        ['S', 't']
        """
        at = self._object_at() + 1
        for phrase in _BEFORE_NAME:
            if tuple(self._word(at + index) for index in range(len(phrase))) == phrase:
                at += len(phrase)
        if at < len(self.tokens) and self.tokens[at].token_type in (TokenType.VAR, TokenType.IDENTIFIER):
            return self.tokens[at].text
        return ""

    @property
    def is_query(self) -> bool:
        """Whether it is a SELECT, also with WITH before it or in parentheses."""
        if self.tokens and self.tokens[0].token_type == TokenType.L_PAREN:
            return True
        return self.verb in _QUERIES

    @property
    def is_push(self) -> bool:
        """Whether it contains EMIT CHANGES or EMIT FINAL.

        >>> [piece.is_push for piece in split("select 'emit changes' from s; select * from s emit changes")]
        [False, True]
        """
        return any(
            _is_word(one, "EMIT") and _is_word(other, "CHANGES", "FINAL")
            for one, other in pairwise(self.tokens)
        )

    @property
    def setting(self) -> tuple[str, str | None] | None:
        """The property that it sets, and the value; no value for UNSET. None if it is neither.

        >>> [piece.setting for piece in split("set 'a' = 'b'; unset 'a'; set a = 'b'")]
        [('a', 'b'), ('a', None), None]
        """
        kinds = tuple(token.token_type for token in self.tokens[1:])
        if self.verb == "SET" and kinds == (TokenType.STRING, TokenType.EQ, TokenType.STRING):
            return self.tokens[1].text, self.tokens[3].text
        if self.verb == "UNSET" and kinds == (TokenType.STRING,):
            return self.tokens[1].text, None
        return None

    def has(self, word: str) -> bool:
        """Whether ``word``, in upper case, is one of its bare words."""
        return any(_is_word(token, word) for token in self.tokens)

    def source_of(self, tokens: Iterable[Token]) -> str:
        """The text from the first to the last of some of its tokens; "" if there are none."""
        listed = list(tokens)
        return self.whole[listed[0].start : listed[-1].end + 1] if listed else ""

    def _object_at(self) -> int:
        """The index of the word that is the kind of object; 0 if it is left out."""
        if self.verb in _OF_QUERIES and (len(self.tokens) < 3 or self._word(1) not in ("QUERY", "SINK")):
            return 0
        at = 1
        while self._word(at) in _BEFORE_OBJECT:
            at += 1
        return at + 1 if self._word(at) == "SINK" and self._word(at + 1) == "CONNECTOR" else at

    def _word(self, at: int) -> str:
        """The bare word at an index among the tokens, in upper case; "" if there is none."""
        if at < len(self.tokens) and self.tokens[at].token_type == TokenType.VAR:
            return self.tokens[at].text
        return ""


def _is_word(token: Token, *words: str) -> bool:
    return token.token_type == TokenType.VAR and token.text in words


def split(text: str) -> list[StatementText]:
    """The statements of ``text``, without empty ones. Never fails.

    >>> [s.text for s in split("SHOW STREAMS; -- all; of them\\nSHOW TABLES")]
    ['SHOW STREAMS', 'SHOW TABLES']
    """
    return list(pieces(text, tokens(text)))


def pieces(text: str, scanned: Iterable[Token]) -> Iterator[StatementText]:
    """The statements of ``text`` as `split` has them, one after another.

    Args:
        scanned: the tokens of ``text``.
    """
    current: list[Token] = []
    for token in scanned:
        if token.token_type == TokenType.SEMICOLON:
            if current:
                yield _piece(text, current, token.end + 1, complete=True)
            current = []
        else:
            current.append(token)
    if current:
        yield _piece(text, current, current[-1].end + 1, complete=False)


def _piece(text: str, tokens: list[Token], end: int, *, complete: bool) -> StatementText:
    first, last = tokens[0], tokens[-1]
    return StatementText(
        text=text[first.start : last.end + 1],
        line=first.line,
        column=first.col,
        complete=complete,
        open=None if complete else opened(last),
        end=end,
        tokens=tuple(tokens),
        whole=text,
    )
