"""A cursor over one statement's tokens: take, expect, look ahead, build nodes, and report errors.

This module has no rules of the language. It is sqlglot's Parser without its rules, which are more lenient
than KSQL (anything may be an alias, unknown statements become commands).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.grammar import nodes
from ksql_spark.grammar.advice import advice, stray_character
from ksql_spark.grammar.errors import ParseFailed
from ksql_spark.grammar.lexer import opened
from ksql_spark.grammar.nodes import Position
from ksql_spark.grammar.words import RESERVED, nearest

T = TypeVar("T")
N = TypeVar("N", bound=exp.Expression)
S = TypeVar("S", bound=nodes.Statement)
C = TypeVar("C", bound="Cursor")

#: how deep expressions, types, queries and EXPLAINs may nest, and how long a chain of joins, UNIONs,
#: `->` and `[…]` may be; keeps all recursive functions on trees below Python's limit
MAX_DEPTH = 60

CLOSERS = {
    TokenType.R_PAREN: TokenType.L_PAREN,
    TokenType.R_BRACKET: TokenType.L_BRACKET,
}


class Cursor(Parser):
    """One statement's tokens in, its tree out. Rules are methods named after what they read.

    `word`, `symbol` and similar methods take a token if it is there; `expect_…` methods take it or fail.
    Tokens that were tried at the farthest position become the "expected" part of an error.
    """

    _depth = 0
    _farthest = -1
    _signed_at = -1  # the token after a minus sign, where 2**63 is allowed
    _sought: list[str]
    _base: Token  # the token that the current statement's positions are relative to
    _origin: Position  # position of the scanned text in the whole text
    _whole: str  # the text to which tokens' own positions refer
    names: set[int]  # the indices of tokens that were read as names

    # ------------------------------------------------------------------------------ running

    def run(
        self: C,
        tokens: Sequence[Token],
        text: str,
        rule: Callable[[C], T],
        origin: Position | None = None,
    ) -> T:
        """The result of ``rule`` over all of ``tokens`` (which came from ``text``).

        Args:
            origin: the position of ``text`` in the text to which errors refer.

        Raises:
            ParseFailed: the rule does not match, or does not match everything.
        """
        self.reset()
        self.sql = self._whole = text
        self._tokens = list(tokens)
        self._tokens_size = len(self._tokens)
        self._origin = origin or Position(1, 1, 0)
        self._depth, self._farthest, self._signed_at, self._sought = 0, -1, -1, []
        self.names = set()
        self._base = self._tokens[0] if self._tokens else Token(TokenType.SENTINEL, "", 1, 1, 0, -1)
        self._index = -1
        self._advance()
        try:
            result = rule(self)
        except RecursionError:
            raise self._failure("The statement is nested too deeply", self._index, ()) from None
        if self._curr:
            self.fail()
        return result

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """Called by sqlglot for errors: raises ours."""
        raise self._failure(message.rstrip("."), self._index, ())

    def in_own_text(self, start: int, rule: Callable[[], S]) -> S:
        """The statement that ``rule`` parses, with its text and origin, and with positions in its text."""
        outer, self._base = self._base, self._tokens[start]
        result = rule()
        first = self._tokens[start]
        result.meta["text"] = self._whole[first.start : self._prev.end + 1]
        result.meta["origin"] = nodes.shifted(Position(first.line, first.col, 0), self._origin)
        self._base = outer
        return result

    # ------------------------------------------------------------------------------- errors

    def unknown_statement(self, suggestion: str | None, hint: str | None = None) -> NoReturn:
        """Fail because no statement begins here; ``hint``: what to do, a sentence without a period."""
        shown = self._shown(self._curr) if self._curr else "''"
        if self._curr and (stray := stray_character(self._curr)):
            raise self._failure(stray, self._index, ())
        message = f"Unknown statement {shown}" + (f". {hint}" if hint else "")
        failure = self._failure(message, self._index, ())
        failure.suggestion = suggestion
        raise failure

    def fail(self, message: str | None = None, index: int | None = None) -> NoReturn:
        """Raise a ParseFailed at the token ``index`` (default: where the parser got stuck)."""
        raise self._failure(message, self._index if index is None else index)

    def _failure(self, message: str | None, index: int, expected: Sequence[str] | None = None) -> ParseFailed:
        if message is None and self._farthest > index:
            index = self._farthest
        if expected is None:
            sought = self._sought if self._farthest == index and message is None else []
            expected = list(dict.fromkeys(sought))
        suggestion = None
        if message is None:
            message, index, suggestion, says_all = self._explained(index, expected)
            expected = () if says_all else expected
        token = self._tokens[index] if index < self._tokens_size else None
        if token is None:  # at the end, the caret is after the last token
            last = self._tokens[-1] if self._tokens else self._base
            line, column, length = self._end_of(last)
        else:
            line, column, length = token.line, token.col, token.end - token.start + 1
        lines = self._whole.split("\n")
        place = nodes.shifted(Position(line, column, length), self._origin)
        source_line = lines[line - 1] if line <= len(lines) else ""
        if place.column != column:  # the text is part of a longer one: indent it accordingly
            source_line = " " * (place.column - column) + source_line
        return ParseFailed(
            message,
            place.line,
            place.column,
            self._statement_text(),
            expected,
            suggestion,
            source_line=source_line.rstrip("\r"),
            length=length,
        )

    def _explained(self, index: int, expected: Sequence[str]) -> tuple[str, int, str | None, bool]:
        """Explain why the parser is stuck at ``index``.

        Returns:
            The message, the index of the token to show, the suggested word, and whether the message is
            complete (so that expected tokens would only confuse).
        """
        bracket = self._unbalanced()
        if bracket is not None and bracket <= index:
            token = self._tokens[bracket]
            fate = "closes nothing" if token.token_type in CLOSERS else "is never closed"
            return f"Unbalanced bracket: this '{token.text}' {fate}", bracket, None, True
        if index >= self._tokens_size:
            return "The statement ends too early", index, None, False
        token = self._tokens[index]
        if token.token_type == TokenType.PARAMETER:
            return f"Variable ${{{token.text}}} is not defined", index, None, True
        if (what := opened(token)) is not None:
            return f"This {what} is never closed", index, None, True
        if advised := advice(self._tokens, index, expected):
            return advised[0], advised[1], None, True
        words = [word for word in expected if word.isupper() and word.isalpha()]
        if token.token_type == TokenType.VAR:
            suggestion = nearest(token.text, words)
            if suggestion:
                return f"Unexpected {self._shown(token)}", index, suggestion, False
            if token.text in RESERVED and "a name" in expected:
                message = f"{token.text} is a reserved word; to use it as a name, quote it: `{token.text}`"
                return message, index, None, "an expression" not in expected
        previous = self._tokens[index - 1] if index else None
        if previous is not None and previous.token_type == TokenType.VAR and previous.text not in RESERVED:
            # `SELECT a FORM s`: FORM was read as an alias, so the error is one word too late
            suggestion = nearest(previous.text, words, cutoff=0.7)
            if suggestion and suggestion != previous.text:
                return f"Unexpected {self._shown(previous)}", index - 1, suggestion, False
        return f"Unexpected {self._shown(token)}", index, None, False

    def _unbalanced(self) -> int | None:
        """The index of the first unmatched bracket, or None."""
        stack: list[int] = []
        for i, token in enumerate(self._tokens):
            if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
                stack.append(i)
            elif token.token_type in CLOSERS:
                if not stack or self._tokens[stack[-1]].token_type != CLOSERS[token.token_type]:
                    return stack[-1] if stack else i
                stack.pop()
        return stack[-1] if stack else None

    def _shown(self, token: Token) -> str:
        text = self._whole[token.start : token.end + 1]
        return f"'{text if len(text) <= 40 else text[:37] + '...'}'"

    def _end_of(self, token: Token) -> tuple[int, int, int]:
        text = self._whole[token.start : token.end + 1]
        newlines = text.count("\n")
        if not newlines:
            return token.line, token.col + len(text), 1
        return token.line + newlines, len(text) - text.rindex("\n"), 1

    def _statement_text(self) -> str:
        if not self._tokens:
            return ""
        return self._whole[self._tokens[0].start : self._tokens[-1].end + 1]

    def _seek(self, what: str) -> None:
        """Record that ``what`` was expected here."""
        if self._index > self._farthest:
            self._farthest = self._index
            self._sought = [what]
        elif self._index == self._farthest:
            self._sought.append(what)

    # ------------------------------------------------------------------------------- tokens

    @property
    def at(self) -> int:
        """The index of the current token."""
        return self._index

    def word(self, *words: str) -> bool:
        """Take the keywords ``words`` in this order, all or none."""
        index = self._index
        for word in words:
            if self._curr.token_type == TokenType.VAR and self._curr.text == word:
                self._advance()
            else:
                self._seek(word)
                if self._index != index:
                    self._retreat(index)
                return False
        return True

    def one_of(self, *words: str) -> str | None:
        """Take one of the keywords ``words`` and return it."""
        if self._curr.token_type == TokenType.VAR and self._curr.text in words:
            self._advance()
            return self._prev.text
        for word in words:
            self._seek(word)
        return None

    def is_word(self, *words: str, ahead: int = 0) -> bool:
        """Whether the token ``ahead`` of the current one is one of the keywords ``words``."""
        index = self._index + ahead
        if index >= self._tokens_size:
            return False
        token = self._tokens[index]
        return token.token_type == TokenType.VAR and token.text in words

    def is_symbol(self, kind: TokenType, ahead: int = 0) -> bool:
        """Whether the token ``ahead`` of the current one is of this kind."""
        index = self._index + ahead
        return index < self._tokens_size and self._tokens[index].token_type == kind

    def word_ahead(self, ahead: int) -> str | None:
        """The bare word ``ahead`` of the current token, in upper case, or None."""
        index = self._index + ahead
        if index >= self._tokens_size or self._tokens[index].token_type != TokenType.VAR:
            return None
        return self._tokens[index].text

    def skip(self, count: int) -> None:
        """Take ``count`` tokens, whatever they are."""
        self._advance(count)

    def at_end(self, ahead: int = 0) -> bool:
        """Whether there are no more tokens (``ahead`` of the current one)."""
        return self._index + ahead >= self._tokens_size

    def expect_word(self, *words: str) -> None:
        """Take the keywords ``words`` in this order, or fail."""
        for word in words:
            if not self.word(word):
                self.fail()

    def expect_one_of(self, *words: str) -> str:
        """Take one of the keywords ``words`` and return it, or fail."""
        return self.one_of(*words) or self.fail()

    def symbol(self, kind: TokenType, text: str) -> bool:
        """Take a symbol; ``text`` is its spelling for messages."""
        if self._curr.token_type == kind:
            self._advance()
            return True
        self._seek(f"'{text}'")
        return False

    def expect_symbol(self, kind: TokenType, text: str) -> None:
        """Take a symbol, or fail."""
        if not self.symbol(kind, text):
            self.fail()

    def listed(self, rule: Callable[[], T]) -> list[T]:
        """``rule`` one or more times, separated by commas."""
        items = [rule()]
        while self.symbol(TokenType.COMMA, ","):
            items.append(rule())
        return items

    def bracketed(self, rule: Callable[[], T]) -> T:
        """``( rule )``."""
        self.expect_symbol(TokenType.L_PAREN, "(")
        result = rule()
        self.expect_symbol(TokenType.R_PAREN, ")")
        return result

    def build(self, cls: type[N], start: int, **args: Any) -> N:
        """A node with the position from the token ``start`` to the last token taken."""
        node = cls(**args)
        node.meta["position"] = self.span(start)
        return node

    def span(self, start: int) -> Position:
        """The position from the token ``start`` to the last token taken, in the statement's own text."""
        first, base = self._tokens[start], self._base
        column = first.col - base.col + 1 if first.line == base.line else first.col
        return Position(first.line - base.line + 1, column, self._prev.end - first.start + 1)

    def nested(self, rule: Callable[[], T]) -> T:
        """``rule``, one level deeper; fails if that is too deep."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.fail("The statement is nested too deeply")
        result = rule()
        self._depth -= 1
        return result
