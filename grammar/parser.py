"""Tokens to trees: the rules shared by all statements.

Queries, expressions and types are here; each statement's own rule is in `grammar.statements`. sqlglot's
Parser gives the cursor and the shape; its rules are lenient in ways KSQL is not (anything may be an
alias, unknown statements become commands), so none of them is used: what has no rule here is an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

from grammar import nodes
from grammar.errors import ParseFailed
from grammar.lexer import opened
from grammar.nodes import Position
from grammar.words import NON_RESERVED, RESERVED, UNITS, nearest

T = TypeVar("T")
N = TypeVar("N", bound=exp.Expression)
S = TypeVar("S", bound=nodes.Statement)

#: how deep expressions, types, queries and EXPLAINs may nest, and how long a chain of joins, UNIONs,
#: `->` and `[…]` may be; keeps every recursive reader of a tree clear of Python's own limit
MAX_DEPTH = 60

_COMPARISONS: dict[TokenType, type[exp.Expression]] = {
    TokenType.EQ: exp.EQ,
    TokenType.NEQ: exp.NEQ,
    TokenType.LT: exp.LT,
    TokenType.LTE: exp.LTE,
    TokenType.GT: exp.GT,
    TokenType.GTE: exp.GTE,
}

#: binary operators on values: token -> (how tight, node); reference §1.1
_ARITHMETIC: dict[TokenType, tuple[int, type[exp.Expression]]] = {
    TokenType.DPIPE: (1, exp.DPipe),
    TokenType.PLUS: (2, exp.Add),
    TokenType.DASH: (2, exp.Sub),
    TokenType.STAR: (3, exp.Mul),
    TokenType.SLASH: (3, exp.Div),
    TokenType.MOD: (3, exp.Mod),
}

_CLOSERS = {
    TokenType.R_PAREN: TokenType.L_PAREN,
    TokenType.R_BRACKET: TokenType.L_BRACKET,
}


class KsqlParser(Parser):
    """One statement's tokens in, its tree out. Rules are methods named after what they read.

    `word`, `symbol` and the like take a token if it is there; `expect_…` take it or fail.
    What was looked for at the farthest place becomes the "expected" part of an error.
    """

    _depth = 0
    _scanned: Sequence[Token] = ()
    _farthest = -1
    _signed_at = -1  # the token right after a minus sign, where 2**63 is in range
    _sought: list[str]
    _base: Token  # the token that the current statement's positions are relative to
    _origin: Position  # where the scanned text stands in the whole text
    _whole: str  # the text that tokens' own places refer to

    # ------------------------------------------------------------------------------ running

    def run(
        self,
        tokens: Sequence[Token],
        text: str,
        rule: Callable[[KsqlParser], T],
        origin: Position | None = None,
    ) -> T:
        """The result of ``rule`` over all of ``tokens`` (which came from ``text``).

        Args:
            origin: where ``text`` starts in the text that errors should refer to.

        Raises:
            ParseFailed: the rule does not match, or does not match everything.
        """
        self.reset()
        self.sql = self._whole = text
        self._tokens = list(tokens)
        self._tokens_size = len(self._tokens)
        self._origin = origin or Position(1, 1, 0)
        self._depth, self._farthest, self._signed_at, self._sought = 0, -1, -1, []
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

    def _parse_statement(self) -> exp.Expr | None:
        """What sqlglot's own entry points call (`sqlglot.parse_one(text, dialect=Ksql)`)."""
        from grammar.statements import statement

        self._base = self._tokens[0]
        self._whole, self._origin, self._sought = self.sql, Position(1, 1, 0), []
        return statement(self)

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """sqlglot's way to fail, turned into ours."""
        raise self._failure(message.rstrip("."), self._index, ())

    def in_own_text(self, start: int, rule: Callable[[], S]) -> S:
        """The statement ``rule`` reads, with its text, its origin, and places relative to itself."""
        outer, self._base = self._base, self._tokens[start]
        result = rule()
        first = self._tokens[start]
        result.meta["text"] = self._whole[first.start : self._prev.end + 1]
        result.meta["origin"] = nodes.shifted(Position(first.line, first.col, 0), self._origin)
        self._base = outer
        return result

    # ------------------------------------------------------------------------------- errors

    def unknown_statement(self, suggestion: str | None) -> NoReturn:
        """Fail because no statement begins here."""
        shown = self._shown(self._curr) if self._curr else "''"
        failure = self._failure(f"Unknown statement {shown}", self._index, ())
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
        if token is None:  # the end: the caret stands behind the last token
            last = self._tokens[-1] if self._tokens else self._base
            line, column, length = self._end_of(last)
        else:
            line, column, length = token.line, token.col, token.end - token.start + 1
        lines = self._whole.split("\n")
        place = nodes.shifted(Position(line, column, length), self._origin)
        source_line = lines[line - 1] if line <= len(lines) else ""
        if place.column != column:  # the text is a piece of a longer one: show it where it stands
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
        """Why the parser is stuck at ``index``.

        Returns:
            The message, the token to show, the word that was meant, and whether the message is all there
            is to say (what was expected would only confuse).
        """
        bracket = self._unbalanced()
        if bracket is not None and bracket <= index:
            token = self._tokens[bracket]
            fate = "closes nothing" if token.token_type in _CLOSERS else "is never closed"
            return f"Unbalanced bracket: this '{token.text}' {fate}", bracket, None, True
        if index >= self._tokens_size:
            return "The statement ends too early", index, None, False
        token = self._tokens[index]
        if token.token_type == TokenType.PARAMETER:
            return f"Variable ${{{token.text}}} is not defined", index, None, True
        if (what := opened(token)) is not None:
            return f"This {what} is never closed", index, None, True
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
            # `SELECT a FORM s`: FORM was taken for an alias, and the error shows one word late
            suggestion = nearest(previous.text, words, cutoff=0.7)
            if suggestion and suggestion != previous.text:
                return f"Unexpected {self._shown(previous)}", index - 1, suggestion, False
        return f"Unexpected {self._shown(token)}", index, None, False

    def _unbalanced(self) -> int | None:
        """The index of the first bracket without a partner, or None."""
        stack: list[int] = []
        for i, token in enumerate(self._tokens):
            if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
                stack.append(i)
            elif token.token_type in _CLOSERS:
                if not stack or self._tokens[stack[-1]].token_type != _CLOSERS[token.token_type]:
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
        """Remember that ``what`` was looked for here."""
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
        """True where the token ``ahead`` of the current one is one of the keywords ``words``."""
        index = self._index + ahead
        if index >= self._tokens_size:
            return False
        token = self._tokens[index]
        return token.token_type == TokenType.VAR and token.text in words

    def is_symbol(self, kind: TokenType, ahead: int = 0) -> bool:
        """True where the token ``ahead`` of the current one is of this kind."""
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
        """True where no token is left (``ahead`` of the current one)."""
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
        """``rule`` one or more times, with commas between."""
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
        """A node that stands from the token ``start`` to the last one taken."""
        node = cls(**args)
        node.meta["position"] = self.span(start)
        return node

    def span(self, start: int) -> Position:
        """The place from the token ``start`` to the last one taken, in the statement's own text."""
        first, base = self._tokens[start], self._base
        column = first.col - base.col + 1 if first.line == base.line else first.col
        return Position(first.line - base.line + 1, column, self._prev.end - first.start + 1)

    def nested(self, rule: Callable[[], T]) -> T:
        """``rule``, one level deeper; fails where that is too deep."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.fail("The statement is nested too deeply")
        result = rule()
        self._depth -= 1
        return result

    # ------------------------------------------------------------------- names and literals

    def is_name(self, ahead: int = 0) -> bool:
        """True where a name can be read."""
        index = self._index + ahead
        if index >= self._tokens_size:
            return False
        token = self._tokens[index]
        if token.token_type == TokenType.VAR:
            return token.text not in RESERVED
        return token.token_type == TokenType.IDENTIFIER

    def name(self) -> exp.Identifier:
        """An identifier: quoted, or a word that is not reserved (folded to upper case)."""
        if not self.is_name():
            self._seek("a name")
            self.fail()
        start = self._index
        quoted = self._curr.token_type == TokenType.IDENTIFIER
        if quoted and not self._curr.text:
            self.fail("A name may not be empty")
        self._advance()
        return self.build(exp.Identifier, start, this=self._prev.text, quoted=quoted)

    def string(self) -> exp.Literal:
        """A string literal."""
        if self._curr.token_type != TokenType.STRING:
            self._seek("a string in single quotes")
            self.fail()
        self._advance()
        return self.build(exp.Literal, self._index - 1, this=self._prev.text, is_string=True)

    def resource(self) -> exp.Literal:
        """A name outside of KSQL (a topic, a subject), as a string or identifier; its case is kept."""
        if self._curr.token_type == TokenType.STRING:
            return self.string()
        if not self.is_name():
            self._seek("a name")
            self._seek("a string in single quotes")
            self.fail()
        token = self._curr
        self._advance()
        bare = token.token_type == TokenType.VAR
        text = self._whole[token.start : token.end + 1] if bare else token.text
        return self.build(exp.Literal, self._index - 1, this=text, is_string=True)

    def whole_number(self) -> int:
        """An integer without sign, that fits 64 bits."""
        if self._curr.token_type != TokenType.NUMBER or not self._curr.text.isdigit():
            self._seek("a whole number")
            self.fail()
        self._advance()
        digits = _digits(self._prev.text)
        if len(digits) > 19 or int(digits) >= 2**63:
            self.fail(f"The number {digits[:40]} does not fit 64 bits", self._index - 1)
        return int(digits)

    def number(self) -> exp.Literal:
        """A number without sign; its kind comes from its spelling (reference §1.1)."""
        start, text = self._index, self._curr.text
        self._advance()
        if text.isdigit():
            limit = 2**63 if start == self._signed_at else 2**63 - 1
            digits = _digits(text)
            if len(digits) > 19 or int(digits) > limit:
                self.fail(f"The number {digits[:40]} does not fit BIGINT", start)
            return self.build(nodes.IntegerLiteral, start, this=digits, is_string=False)
        if "e" in text or "E" in text:
            if math.isinf(float(text)):
                self.fail(f"Number overflows DOUBLE: {text[:40]}", start)
            return self.build(nodes.FloatLiteral, start, this=text, is_string=False)
        return self.build(nodes.DecimalLiteral, start, this=text, is_string=False)

    def literal(self) -> exp.Expr:
        """A string, number (with or without sign), TRUE, FALSE or NULL."""
        start = self._index
        kind = self._curr.token_type
        if kind == TokenType.STRING:
            return self.string()
        if kind == TokenType.NUMBER:
            return self.number()
        if kind == TokenType.DASH and self.is_symbol(TokenType.NUMBER, 1):
            self._advance()
            self._signed_at = self._index
            return self.build(exp.Neg, start, this=self.number())
        if kind == TokenType.VAR and self._curr.text in ("TRUE", "FALSE", "NULL"):
            return self._constant()
        self._seek("a literal")
        self.fail()

    def _constant(self) -> exp.Expr:
        start, text = self._index, self._curr.text
        self._advance()
        if text == "NULL":
            return self.build(exp.Null, start)
        return self.build(exp.Boolean, start, this=text == "TRUE")

    def time_span(self) -> nodes.TimeSpan:
        """``10 SECONDS``."""
        start = self._index
        amount = self.whole_number()
        unit = self.one_of(*UNITS)
        if unit is None:
            self.fail()
        return nodes.TimeSpan(amount, UNITS[unit], self.span(start))

    # -------------------------------------------------------------------------------- types

    def type_(self) -> nodes.TypeNode:
        """A type (reference §3.1), ``T ARRAY`` included."""
        return self.nested(self._type)

    def _type(self) -> nodes.TypeNode:
        start = self._index
        if self.is_symbol(TokenType.LT, 1) and self.is_word("ARRAY", "MAP", "STRUCT"):
            type_ = self._structured_type()
        elif self.is_word("STRUCT") and self.is_symbol(TokenType.NEQ, 1) and self._next.text == "<>":
            self._advance(2)
            type_ = nodes.TypeNode("STRUCT", position=self.span(start))
        elif self.word("DECIMAL"):
            parameters = self.bracketed(lambda: self.listed(self.whole_number))
            if len(parameters) != 2:
                self.fail("DECIMAL takes a precision and a scale, as in DECIMAL(10, 2)", start)
            type_ = nodes.TypeNode("DECIMAL", tuple(parameters), position=self.span(start))
        else:
            if not self.is_name():
                self._seek("a type")
                self.fail()
            base = self.name()
            in_brackets: list[int | str] = []
            if self.symbol(TokenType.L_PAREN, "("):
                in_brackets = self.listed(self._type_parameter)
                self.expect_symbol(TokenType.R_PAREN, ")")
            type_ = nodes.TypeNode(
                str(base.this), tuple(in_brackets), quoted=base.quoted, position=self.span(start)
            )
        while self.word("ARRAY"):
            type_ = nodes.TypeNode("ARRAY", arguments=(type_,), position=self.span(start))
            if self._index - start > 4 * MAX_DEPTH:
                self.fail("The type is nested too deeply", start)
        return type_

    def _structured_type(self) -> nodes.TypeNode:
        start, kind = self._index, self._curr.text
        self._advance(2)
        arguments: tuple[nodes.TypeNode, ...] = ()
        fields: list[nodes.TypeField] = []
        if kind == "ARRAY":
            arguments = (self.type_(),)
        elif kind == "MAP":
            key = self.type_()
            self.expect_symbol(TokenType.COMMA, ",")
            arguments = (key, self.type_())
        elif not self.is_symbol(TokenType.GT):
            fields = self.listed(self._type_field)
        self.expect_symbol(TokenType.GT, ">")
        return nodes.TypeNode(kind, (), arguments, tuple(fields), position=self.span(start))

    def _type_field(self) -> nodes.TypeField:
        start = self._index
        name = self.name()
        return nodes.TypeField(str(name.this), self.type_(), name.quoted, self.span(start))

    def _type_parameter(self) -> int | str:
        if self.word("STRING"):
            return "STRING"
        return self.whole_number()

    # -------------------------------------------------------------------------- expressions

    def any_expression(self) -> exp.Expr:
        """Any expression (reference §2.8)."""
        return self.nested(self._disjunction)

    def _disjunction(self) -> exp.Expr:
        start = self._index
        left = self._conjunction()
        while self.word("OR"):
            left = self.build(exp.Or, start, expression=self._conjunction(), this=left)
        return left

    def _conjunction(self) -> exp.Expr:
        start = self._index
        left = self._negation()
        while self.word("AND"):
            left = self.build(exp.And, start, expression=self._negation(), this=left)
        return left

    def _negation(self) -> exp.Expr:
        start = self._index
        if self.is_word("NOT"):
            self._advance()
            return self.build(exp.Not, start, this=self.nested(self._negation))
        left = self._value(1)
        comparison = _COMPARISONS.get(self._curr.token_type)
        if comparison is not None:
            self._advance()
            return self.build(comparison, start, this=left, expression=self._value(1))
        if self._curr.token_type == TokenType.VAR and self._curr.text in (
            "IS",
            "NOT",
            "IN",
            "BETWEEN",
            "LIKE",
        ):
            return self._predicate(left, start)
        return left

    def _predicate(self, left: exp.Expr, start: int) -> exp.Expr:
        """What follows ``left`` and starts with a word: IS, IN, BETWEEN, LIKE and their NOT forms."""
        node: exp.Expr
        if self.word("IS"):
            negated = self.word("NOT")
            if self.word("NULL"):
                null = self.build(exp.Null, self._index - 1)
                node = self.build(exp.Is, start, this=left, expression=null)
            else:
                self.expect_word("DISTINCT", "FROM")
                kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
                return self.build(kind, start, this=left, expression=self._value(1))
        else:
            negated = self.word("NOT")
            if self.word("IN"):
                members = self.bracketed(lambda: self.listed(self.any_expression))
                node = self.build(exp.In, start, this=left, expressions=members)
            elif self.word("BETWEEN"):
                low = self._value(1)
                self.expect_word("AND")
                node = self.build(exp.Between, start, this=left, low=low, high=self._value(1))
            elif self.word("LIKE"):
                pattern = self._value(1)
                escape = self.string() if self.word("ESCAPE") else None
                node = self.build(nodes.Like, start, this=left, expression=pattern, escape=escape)
            else:
                self.fail()
        return self.build(exp.Not, start, this=node) if negated else node

    def value(self) -> exp.Expr:
        """An expression without comparisons and AND, OR, NOT at its top."""
        return self.nested(lambda: self._value(1))

    def _value(self, tightness: int) -> exp.Expr:
        start = self._index
        left = self._signed()
        while True:
            operator = _ARITHMETIC.get(self._curr.token_type)
            if operator is None or operator[0] < tightness:
                return left
            self._advance()
            right = self._value(operator[0] + 1)
            left = self.build(operator[1], start, this=left, expression=right)

    def _signed(self) -> exp.Expr:
        start = self._index
        kind = self._curr.token_type
        if kind == TokenType.DASH or kind == TokenType.PLUS:
            self._advance()
            sign = exp.Neg if kind == TokenType.DASH else nodes.Pos
            if kind == TokenType.DASH:
                self._signed_at = self._index
            return self.build(sign, start, this=self.nested(self._signed))
        node = self._primary()
        while True:
            if self._curr.token_type == TokenType.L_BRACKET:
                self._advance()
                index = self.value()
                self.expect_symbol(TokenType.R_BRACKET, "]")
                node = self.build(nodes.Subscript, start, this=node, index_expression=index)
            elif self._curr.token_type == TokenType.ARROW and self._next.token_type != TokenType.STAR:
                self._advance()
                node = self.build(nodes.Dereference, start, this=node, field=self.name())
            else:
                return node
            self._depth_of_chain(node)

    def _depth_of_chain(self, node: exp.Expr) -> None:
        depth = 0
        while isinstance(node, nodes.Dereference | nodes.Subscript):
            node, depth = node.this, depth + 1
        if depth > MAX_DEPTH:
            self.fail("The expression is nested too deeply")

    def _primary(self) -> exp.Expr:
        kind = self._curr.token_type
        if kind == TokenType.VAR:
            rule = _PRIMARIES.get(self._curr.text)
            if rule is not None:
                node = rule(self)
                if node is not None:
                    return node
            elif self._curr.text in RESERVED:
                self._seek("an expression")
                self._seek("a name")
                self.fail()
            return self._call_or_column()
        if kind == TokenType.IDENTIFIER:
            return self._call_or_column()
        if kind == TokenType.STRING:
            return self.string()
        if kind == TokenType.NUMBER:
            return self.number()
        if kind == TokenType.L_PAREN:
            start = self._index
            return self.build(exp.Paren, start, this=self.bracketed(self.any_expression))
        self._seek("an expression")
        self.fail()

    def _call_or_column(self) -> exp.Expr:
        start = self._index
        name = self.name()
        if self._curr.token_type == TokenType.DOT:
            self._advance()
            return self.build(exp.Column, start, this=self.name(), table=name)
        if self._curr.token_type == TokenType.L_PAREN:
            return self._call(name, start)
        return self.build(exp.Column, start, this=name)

    def _call(self, name: exp.Identifier, start: int) -> exp.Expr:
        self._advance()
        arguments: list[exp.Expr] = []
        distinct = False
        if self._curr.token_type == TokenType.STAR and self._next.token_type == TokenType.R_PAREN:
            self._advance()
            arguments = [self.build(exp.Star, self._index - 1)]
        elif self._curr.token_type != TokenType.R_PAREN:
            distinct = self.word("DISTINCT")
            arguments = self.listed(self._argument)
        self.expect_symbol(TokenType.R_PAREN, ")")
        return self.build(nodes.FunctionCall, start, this=name, arguments=arguments, distinct=distinct)

    def _argument(self) -> exp.Expr:
        if self._is_lambda():
            return self.nested(self._lambda)
        if (
            self._curr.token_type == TokenType.VAR
            and self._curr.text in UNITS
            and self._curr.text in RESERVED
        ):
            start = self._index
            self._advance()
            unit = self.build(exp.Identifier, start, this=self._prev.text, quoted=False)
            return self.build(exp.Column, start, this=unit)
        return self.any_expression()

    def _is_lambda(self) -> bool:
        if self._next.token_type == TokenType.FARROW:
            return True
        if self._curr.token_type != TokenType.L_PAREN:
            return False
        ahead = 1
        while self.is_name(ahead):
            if self.is_symbol(TokenType.R_PAREN, ahead + 1):
                return self.is_symbol(TokenType.FARROW, ahead + 2)
            if not self.is_symbol(TokenType.COMMA, ahead + 1):
                return False
            ahead += 2
        return False

    def _lambda(self) -> exp.Expr:
        start = self._index
        if self.symbol(TokenType.L_PAREN, "("):
            parameters = self.listed(self.name)
            self.expect_symbol(TokenType.R_PAREN, ")")
        else:
            parameters = [self.name()]
        self.expect_symbol(TokenType.FARROW, "=>")
        return self.build(nodes.Lambda, start, parameters=parameters, body=self.any_expression())

    def _case(self) -> exp.Expr:
        start = self._index
        self._advance()
        operand = None if self.is_word("WHEN") else self.value()
        branches: list[exp.If] = []
        self.expect_word("WHEN")
        while True:
            branch = self._index - 1
            condition = self.any_expression()
            self.expect_word("THEN")
            branches.append(self.build(exp.If, branch, this=condition, true=self.any_expression()))
            if not self.word("WHEN"):
                break
        default = self.any_expression() if self.word("ELSE") else None
        self.expect_word("END")
        return self.build(exp.Case, start, this=operand, ifs=branches, default=default)

    def _cast(self) -> exp.Expr:
        start = self._index
        self._advance()
        self.expect_symbol(TokenType.L_PAREN, "(")
        operand = self.any_expression()
        self.expect_word("AS")
        target = self.type_()
        self.expect_symbol(TokenType.R_PAREN, ")")
        return self.build(exp.Cast, start, this=operand, to=target)

    def _decimal(self) -> exp.Expr:
        start = self._index
        self._advance()
        if self._curr.token_type != TokenType.STRING:
            self._seek("a string in single quotes")
            self.fail()
        text = self._curr.text.strip()
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.replace(".", "", 1).isdecimal() and digits.isascii()):
            self.fail(f"'{text[:40]}' is not a decimal number")
        self._advance()
        return self.build(nodes.DecimalLiteral, start, this=text, is_string=False, typed=True)

    def _array(self) -> exp.Expr | None:
        if self._next.token_type != TokenType.L_BRACKET:
            return None
        start = self._index
        self._advance(2)
        elements = [] if self.is_symbol(TokenType.R_BRACKET) else self.listed(self.any_expression)
        self.expect_symbol(TokenType.R_BRACKET, "]")
        return self.build(nodes.ArrayConstructor, start, elements=elements)

    def _map(self) -> exp.Expr | None:
        if self._next.token_type != TokenType.L_PAREN:
            return None
        start = self._index
        self._advance(2)
        entries = [] if self.is_symbol(TokenType.R_PAREN) else self.listed(self._map_entry)
        self.expect_symbol(TokenType.R_PAREN, ")")
        return self.build(nodes.MapConstructor, start, entries=entries)

    def _map_entry(self) -> nodes.MapEntry:
        start = self._index
        key = self.any_expression()
        self.expect_symbol(TokenType.COLON_EQ, ":=")
        return self.build(nodes.MapEntry, start, map_key=key, value=self.any_expression())

    def _struct(self) -> exp.Expr | None:
        if self._next.token_type != TokenType.L_PAREN:
            return None
        start = self._index
        self._advance(2)
        fields = [] if self.is_symbol(TokenType.R_PAREN) else self.listed(self._struct_field)
        self.expect_symbol(TokenType.R_PAREN, ")")
        return self.build(nodes.StructConstructor, start, fields=fields)

    def _struct_field(self) -> nodes.StructField:
        start = self._index
        name = self.name()
        self.expect_symbol(TokenType.COLON_EQ, ":=")
        return self.build(nodes.StructField, start, this=name, value=self.any_expression())

    # ------------------------------------------------------------------------------ queries

    def query(self) -> nodes.QueryNode:
        """[WITH …] SELECT … [UNION ALL SELECT …] with what follows it (reference §2.5)."""
        return self.nested(self._query)

    def _query(self) -> nodes.QueryNode:
        start = self._index
        ctes = self.listed(self._common_table) if self.word("WITH") else []
        bare = not self.is_symbol(TokenType.L_PAREN)
        node = self._branch()
        branches = 1
        while self.is_word("UNION"):
            self.expect_word("UNION", "ALL")
            branches += 1
            if branches > MAX_DEPTH:
                self.fail("Too many UNIONs in one query")
            right = self._branch()
            node, bare = self.build(nodes.Union, start, left=node, right=right), True
        if bare:  # what follows a single query in brackets belongs to nothing
            self._tail(node)
            if self.is_word("UNION"):
                self.fail("EMIT, ORDER BY, LIMIT and OFFSET come after the last SELECT of a UNION")
        if ctes:
            if node.ctes:
                self.fail("A query has one WITH clause", start)
            node.set("ctes", ctes)
        node.meta["position"] = self.span(start)
        return node

    def _branch(self) -> nodes.QueryNode:
        if self.is_symbol(TokenType.L_PAREN):
            return self.bracketed(self.query)
        return self._select()

    def _common_table(self) -> nodes.CommonTable:
        start = self._index
        name = self.name()
        self.expect_word("AS")
        return self.build(nodes.CommonTable, start, this=name, query=self.bracketed(self.query))

    def _select(self) -> nodes.Select:
        start = self._index
        self.expect_word("SELECT")
        args: dict[str, Any] = {}
        if self.word("DISTINCT"):
            args["distinct"] = True
        args["items"] = self.listed(self._select_item)
        self.expect_word("FROM")
        args["relation"] = self._relation()
        if self.word("WINDOW"):
            args["window"] = self._window()
        if self.word("WHERE"):
            args["where"] = self.any_expression()
        if self.word("GROUP"):
            self.expect_word("BY")
            args["group_by"] = self._values_by()
        if self.word("PARTITION"):
            self.expect_word("BY")
            args["partition_by"] = self._values_by()
        if self.word("HAVING"):
            args["having"] = self.any_expression()
        return self.build(nodes.Select, start, **args)

    def _tail(self, node: nodes.QueryNode) -> None:
        if self.word("ORDER"):
            self.expect_word("BY")
            node.set("order_by", self.listed(self._order_item))
        if self.word("EMIT"):
            node.set("emit", self.expect_one_of("CHANGES", "FINAL"))
        if self.word("LIMIT"):
            node.set("limit", self.whole_number())
        if self.word("OFFSET"):
            node.set("offset", self.whole_number())

    def _order_item(self) -> nodes.OrderItem:
        start = self._index
        value = self.any_expression()
        descending = self.one_of("ASC", "DESC") == "DESC"
        nulls = self.expect_one_of("FIRST", "LAST") if self.word("NULLS") else None
        return self.build(nodes.OrderItem, start, this=value, descending=descending, nulls=nulls)

    def _select_item(self) -> nodes.SelectItem | nodes.AllColumns | nodes.AllFields:
        start = self._index
        if self.is_symbol(TokenType.STAR):
            self._advance()
            return self.build(nodes.AllColumns, start)
        if self.is_name() and self.is_symbol(TokenType.DOT, 1) and self.is_symbol(TokenType.STAR, 2):
            source = self.name()
            self._advance(2)
            return self.build(nodes.AllColumns, start, source=source)
        value = self.any_expression()
        if self.is_symbol(TokenType.ARROW) and self.is_symbol(TokenType.STAR, 1):
            if not isinstance(value, _POSTFIX_OPERANDS):
                self.fail()
            self._advance(2)
            return self.build(nodes.AllFields, start, this=value)
        alias = self.name() if self.word("AS") or self.is_name() else None
        return self.build(nodes.SelectItem, start, this=value, alias_identifier=alias)

    def _values_by(self) -> list[exp.Expr]:
        """What GROUP BY and PARTITION BY list, with or without one pair of brackets around it all."""
        if self.is_symbol(TokenType.L_PAREN) and self._brackets_hold_list():
            return self.bracketed(lambda: self.listed(self.value))
        return self.listed(self.value)

    def _brackets_hold_list(self) -> bool:
        """True where the bracket opened here has a comma right inside: ``(a, b)``, not ``(a) + 1``."""
        depth = 0
        for token in self._tokens[self._index :]:
            if token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET):
                depth += 1
            elif token.token_type in _CLOSERS:
                depth -= 1
                if depth <= 0:
                    return False
            elif token.token_type == TokenType.COMMA and depth == 1:
                return True
        return False

    def _relation(self) -> nodes.Relation:
        start = self._index
        left = self._aliased()
        joins = 0
        while True:
            kind = self.one_of("INNER", "LEFT", "RIGHT", "FULL")
            if kind in ("LEFT", "RIGHT", "FULL"):
                self.word("OUTER")
            if kind is None:
                if not self.word("JOIN"):
                    return left
            else:
                self.expect_word("JOIN")
            joins += 1
            if joins > MAX_DEPTH:
                self.fail("Too many joins in one query")
            right = self._aliased()
            within = self._within() if self.word("WITHIN") else None
            self.expect_word("ON")
            on = self.any_expression()
            args = {"left": left, "right": right, "kind": kind or "INNER", "within": within, "on": on}
            left = self.build(nodes.Join, start, **args)

    def _aliased(self) -> nodes.Relation:
        start = self._index
        if self.symbol(TokenType.L_PAREN, "("):
            query = self.query()
            self.expect_symbol(TokenType.R_PAREN, ")")
            return self.build(nodes.SubQuery, start, query=query, alias_identifier=self._alias())
        name = self.name()
        return self.build(nodes.AliasedSource, start, this=name, alias_identifier=self._alias())

    def _alias(self) -> exp.Identifier | None:
        if self.word("AS"):
            return self.name()
        if not self.is_name() or self._starts_clause():
            return None
        return self.name()

    def _starts_clause(self) -> bool:
        """True where a word that may be a name begins a clause instead, told by the word after it."""
        return (
            # with a slip of the pen behind it (EMIT CHANGE) it is still the clause that was meant
            (self.is_word("EMIT") and (self.at_end(1) or self.is_name(1)))
            or (self.is_word("PARTITION", "ORDER") and (self.is_word("BY", ahead=1) or self.is_name(1)))
            or (self.is_word("UNION") and self.is_word("ALL", "SELECT", "DISTINCT", ahead=1))
            or (self.is_word("UNION") and self.is_symbol(TokenType.L_PAREN, 1))
            or (self.is_word("OFFSET") and self.is_symbol(TokenType.NUMBER, 1))
        )

    def _within(self) -> nodes.Within:
        start = self._index - 1
        if self.symbol(TokenType.L_PAREN, "("):
            before = self.time_span()
            self.expect_symbol(TokenType.COMMA, ",")
            after = self.time_span()
            self.expect_symbol(TokenType.R_PAREN, ")")
        else:
            before = after = self.time_span()
        grace = self.time_span() if self.word("GRACE", "PERIOD") else None
        return nodes.Within(before, after, grace, self.span(start))

    def _window(self) -> nodes.Window:
        start = self._index - 1
        kinds = ("TUMBLING", "HOPPING", "SESSION")
        if self.is_name() and self.is_word(*kinds, ahead=1):
            self._advance()  # ksqlDB reads a name for the window here, and nothing ever uses it
        kind = self.expect_one_of(*kinds)
        self.expect_symbol(TokenType.L_PAREN, "(")
        if kind != "SESSION":
            self.expect_word("SIZE")
        size = self.time_span()
        advance = retention = grace = None
        if kind == "HOPPING":
            self.expect_symbol(TokenType.COMMA, ",")
            self.expect_word("ADVANCE", "BY")
            advance = self.time_span()
        if self.is_symbol(TokenType.COMMA) and self.is_word("RETENTION", ahead=1):
            self._advance(2)
            retention = self.time_span()
        if self.symbol(TokenType.COMMA, ","):
            if retention is None:
                self._seek("RETENTION")
            self.expect_word("GRACE", "PERIOD")
            grace = self.time_span()
        self.expect_symbol(TokenType.R_PAREN, ")")
        return nodes.Window(kind, size, advance, retention, grace, self.span(start))

    # --------------------------------------------------------- parts that statements share

    def column_definition(self) -> nodes.ColumnDefinition:
        """``name type [KEY | PRIMARY KEY | HEADERS | HEADER('k')]``."""
        start = self._index
        name = self.name()
        data_type = self.type_()
        constraint, header = None, None
        if self.word("PRIMARY"):
            self.expect_word("KEY")
            constraint = "PRIMARY KEY"
        elif self.word("HEADER"):
            constraint, header = "HEADER", self.bracketed(self.string)
        else:
            constraint = self.one_of("KEY", "HEADERS")
        args = {"data_type": data_type, "constraint": constraint, "header": header}
        return self.build(nodes.ColumnDefinition, start, this=name, **args)

    def column_definitions(self) -> list[nodes.ColumnDefinition]:
        """``(column, …)`` if it is there, else []."""
        if not self.is_symbol(TokenType.L_PAREN):
            self._seek("'('")
            return []
        return self.bracketed(lambda: self.listed(self.column_definition))

    def properties(self, *, keep_case: bool = False) -> list[nodes.Property]:
        """``WITH (name = literal, …)`` if it is there, else []; no name twice.

        Args:
            keep_case: names that differ only in case are different (connectors).
        """
        if not self.word("WITH"):
            return []
        given: set[str] = set()

        def one() -> nodes.Property:
            start = self._index
            name = self.string() if self.is_symbol(TokenType.STRING) else self.name()
            key = str(name.this) if keep_case else str(name.this).upper()
            if key in given:
                self.fail(f"Property {name.this} is given twice", start)
            given.add(key)
            self.expect_symbol(TokenType.EQ, "=")
            return self.build(nodes.Property, start, this=name, literal=self.literal())

        return self.bracketed(lambda: self.listed(one))

    def column_names(self) -> list[exp.Identifier]:
        """``(name, …)`` if it is there, else []."""
        if not self.is_symbol(TokenType.L_PAREN) or self.is_word("SELECT", "WITH", ahead=1):
            self._seek("'('")
            return []
        return self.bracketed(lambda: self.listed(self.name))

    def values(self) -> list[exp.Expr]:
        """``(value, …)``, possibly empty."""
        if self.is_symbol(TokenType.L_PAREN) and self.is_symbol(TokenType.R_PAREN, 1):
            self._advance(2)
            return []
        return self.bracketed(lambda: self.listed(self.value))

    def plain_name(self) -> exp.Identifier:
        """A variable's name: a bare word that is no keyword at all (reference §1.3)."""
        token = self._curr
        if token.token_type != TokenType.VAR or token.text[0].isdigit():
            self._seek("a variable name")
            self.fail()
        if token.text in RESERVED or token.text in NON_RESERVED:
            self.fail(f"{token.text} is a keyword, which a variable cannot be named after")
        return self.name()

    def equals(self) -> None:
        """Takes ``=`` or fails."""
        self.expect_symbol(TokenType.EQ, "=")

    def comma(self) -> bool:
        """Takes a comma if it is there."""
        return self.symbol(TokenType.COMMA, ",")

    def at_item_end(self, ahead: int = 0) -> bool:
        """True where a list's item ends: a comma, or nothing, ``ahead`` of the current token."""
        return self.at_end(ahead) or self.is_symbol(TokenType.COMMA, ahead)

    def if_exists(self) -> bool:
        """Takes IF EXISTS if it is there."""
        return self.word("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        """Takes IF NOT EXISTS if it is there."""
        return self.word("IF", "NOT", "EXISTS")


def _digits(text: str) -> str:
    """An integer's digits without leading zeros (Python limits how many it converts)."""
    return text.lstrip("0") or "0"


#: expressions that start with a word; None from a rule means: it is a name after all
_PRIMARIES: dict[str, Callable[[KsqlParser], exp.Expr | None]] = {
    "ARRAY": KsqlParser._array,
    "CASE": KsqlParser._case,
    "CAST": KsqlParser._cast,
    "DECIMAL": KsqlParser._decimal,
    "FALSE": KsqlParser._constant,
    "MAP": KsqlParser._map,
    "NULL": KsqlParser._constant,
    "STRUCT": KsqlParser._struct,
    "TRUE": KsqlParser._constant,
}

#: what `->*` may follow
_POSTFIX_OPERANDS = (
    exp.Column,
    exp.Paren,
    exp.Case,
    exp.Cast,
    nodes.Dereference,
    nodes.Subscript,
    nodes.FunctionCall,
    nodes.StructConstructor,
)
