"""Rules for names, literals, types and expressions (reference §1.1, §2.8, §3.1)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar import nodes
from ksql_spark.grammar.cursor import MAX_DEPTH, Cursor
from ksql_spark.grammar.standard_forms import MAX_ROWS, compared_rows, is_written_out, quantified, row_in
from ksql_spark.grammar.words import CALENDAR_UNITS, RESERVED, TYPES, UNITS

#: a longer chain cannot be planned, and garbage of its tree is collected in one long pause of the process
MAX_OPERATORS = 5_000

_COMPARISONS: dict[TokenType, type[exp.Expression]] = {
    TokenType.EQ: exp.EQ,
    TokenType.NEQ: exp.NEQ,
    TokenType.LT: exp.LT,
    TokenType.LTE: exp.LTE,
    TokenType.GT: exp.GT,
    TokenType.GTE: exp.GTE,
}

#: milliseconds of a billion days: window ends, with their grace period, must fit into 64 bits
_LONGEST_MS = 10**9 * 86_400_000

#: an amount in an INTERVAL's text, and its unit if it names one
_AMOUNT = re.compile(r"([+-]?[0-9]{1,18})\s*+([A-Za-z]*)")
_AMOUNTS = re.compile(r"(?:[+-]?[0-9]{1,18}+\s*+[A-Za-z]*+\s*+)++")

#: binary operators on values: token -> (precedence, node); reference §1.1
_ARITHMETIC: dict[TokenType, tuple[int, type[exp.Expression]]] = {
    TokenType.DPIPE: (1, exp.DPipe),
    TokenType.PLUS: (2, exp.Add),
    TokenType.DASH: (2, exp.Sub),
    TokenType.STAR: (3, exp.Mul),
    TokenType.SLASH: (3, exp.Div),
    TokenType.MOD: (3, exp.Mod),
}


#: a function, and its arguments
_Spelt = tuple[str, list[exp.Expr]]


class ExpressionParser(Cursor):
    """Each rule is a method named after what it parses; it takes its tokens or fails."""

    #: whether there has been an ``OVER name``
    has_named_windows = False

    # ------------------------------------------------------------------- names and literals

    def is_name(self, ahead: int = 0) -> bool:
        """Whether the next token can be a name."""
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
        self.names.add(start)
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
        """A name outside KSQL (a topic, a subject), as a string or identifier; its case is kept."""
        if self._curr.token_type == TokenType.STRING:
            return self.string()
        if not self.is_name():
            self._seek("a name")
            self._seek("a string in single quotes")
            self.fail()
        token = self._curr
        self.names.add(self._index)
        self._advance()
        bare = token.token_type == TokenType.VAR
        text = self._whole[token.start : token.end + 1] if bare else token.text
        if bare and self._curr.token_type in (TokenType.DASH, TokenType.DOT):
            self.fail(
                "A name with characters other than letters, digits and _ needs quotes, as in 'my-topic'"
            )
        return self.build(exp.Literal, self._index - 1, this=text, is_string=True)

    def whole_number(self, most: int = 2**63 - 1) -> int:
        """An integer without sign, up to ``most``: by default all that fit into 64 bits."""
        if self._curr.token_type != TokenType.NUMBER or not self._curr.text.isdigit():
            self._seek("a whole number")
            self.fail()
        self._advance()
        digits = _digits(self._prev.text)
        if len(digits) > 19 or int(digits) > most:
            self.fail(f"The number {digits[:40]} is too large; the maximum is {most}", self._index - 1)
        return int(digits)

    def number(self) -> exp.Literal:
        """A number without sign; its kind depends on its form (reference §1.1)."""
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
        is_name = kind in (TokenType.VAR, TokenType.IDENTIFIER)
        self._seek("a literal (a string is in single quotes)" if is_name else "a literal")
        self.fail()

    def _constant(self) -> exp.Expr:
        start, text = self._index, self._curr.text
        self._advance()
        if text == "NULL":
            return self.build(exp.Null, start)
        return self.build(exp.Boolean, start, this=text == "TRUE")

    def time_span(self, *, by_calendar: bool = False) -> nodes.TimeSpan:
        """``10 SECONDS``; with ``by_calendar`` also ``1 MONTH``."""
        start = self._index
        amount = self.whole_number()
        units = {**UNITS, **CALENDAR_UNITS} if by_calendar else UNITS
        unit = self.one_of(*units)
        if unit is None:
            self.fail()
        span = nodes.TimeSpan(amount, units[unit], self.span(start))
        if span.milliseconds > _LONGEST_MS:
            self.fail("A duration cannot be longer than 1000000000 DAYS", start)
        return span

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
            if not base.quoted and base.this in TYPES:
                self.names.discard(start)
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
            fields = self.listed(self.type_field)
        self.expect_symbol(TokenType.GT, ">")
        return nodes.TypeNode(kind, (), arguments, tuple(fields), position=self.span(start))

    def type_field(self) -> nodes.TypeField:
        """``name type``."""
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
        operators = 0
        while self.word("OR"):
            operators = self._counted(operators)
            left = self.build(exp.Or, start, expression=self._conjunction(), this=left)
        return left

    def _conjunction(self) -> exp.Expr:
        start = self._index
        left = self._negation()
        operators = 0
        while self.word("AND"):
            operators = self._counted(operators)
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
            return self._comparison(comparison, left, start)
        if self._curr.token_type == TokenType.VAR and self._curr.text in (
            "IS",
            "NOT",
            "IN",
            "BETWEEN",
            "LIKE",
            "SIMILAR",
        ):
            return self._predicate(left, start)
        return left

    def _comparison(self, operator: type[exp.Expression], left: exp.Expr, start: int) -> exp.Expr:
        """An operator behind ``left``, and what that is compared with: a value, a row, ALL or ANY (query)."""
        self._advance()
        if self.is_word("ALL", "ANY", "SOME") and self._opens_query(1):
            is_all = self.expect_one_of("ALL", "ANY", "SOME") == "ALL"
            written_out = quantified(operator, left, self.bracketed(self.query), is_all)
            if written_out is None:
                self.fail("ALL and ANY (SELECT …) cannot be nested: put one of them into WITH", start)
            return written_out
        right = self._value(1)
        if isinstance(left, exp.Tuple) or isinstance(right, exp.Tuple):
            if is_written_out(left, right):
                self.fail("Comparisons of rows cannot be nested", start)
            rows = compared_rows(operator, left, right)
            return rows if rows is not None else self.fail(_ROWS, start)
        return self.build(operator, start, this=left, expression=right)

    def _predicate(self, left: exp.Expr, start: int) -> exp.Expr:
        """A predicate after ``left`` that starts with a word: IS, IN, BETWEEN, LIKE and their NOT forms."""
        node: exp.Expr
        if self.word("IS"):
            negated = self.word("NOT")
            if self.is_word("UNKNOWN") or self.word("NULL"):
                if self.is_word("UNKNOWN"):
                    self.skip(1)
                null = self.build(exp.Null, self._index - 1)
                node = self.build(exp.Is, start, this=left, expression=null)
            elif self.is_word("TRUE", "FALSE"):
                kind = exp.NullSafeNEQ if negated else exp.NullSafeEQ
                return self.build(kind, start, this=left, expression=self._constant())
            else:
                self.expect_word("DISTINCT", "FROM")
                kind = exp.NullSafeEQ if negated else exp.NullSafeNEQ
                return self.build(kind, start, this=left, expression=self._value(1))
        else:
            negated = self.word("NOT")
            if self.word("IN") and self._opens_query():
                node = self.build(nodes.InQuery, start, this=left, query=self.bracketed(self.query))
            elif self._prev.text == "IN":
                members = self.bracketed(lambda: self.listed(self.any_expression))
                node = self.build(exp.In, start, this=left, expressions=members)
                if isinstance(left, exp.Tuple):
                    if len(members) > MAX_ROWS or is_written_out(left, *members):
                        self.fail(f"A list of rows has at most {MAX_ROWS} simple rows", start)
                    node = row_in(left, members) or self.fail(_ROWS, start)
            elif self.word("BETWEEN"):
                low = self._value(1)
                self.expect_word("AND")
                node = self.build(exp.Between, start, this=left, low=low, high=self._value(1))
            elif self.word("LIKE"):
                pattern = self._value(1)
                escape = self.string() if self.word("ESCAPE") else None
                node = self.build(nodes.Like, start, this=left, expression=pattern, escape=escape)
            elif self.is_word("SIMILAR") and self.is_word("TO", ahead=1):
                self.skip(2)
                name = self.build(exp.Identifier, self._index - 2, this="SIMILAR_TO", quoted=False)
                arguments = [left, self._value(1), *([self.string()] if self.word("ESCAPE") else [])]
                node = self.build(nodes.FunctionCall, start, this=name, arguments=arguments)
            else:
                self.fail()
        return self.build(exp.Not, start, this=node) if negated else node

    def query(self) -> nodes.QueryNode:
        """A query, for EXISTS and IN; the parser of queries has the rule."""
        raise NotImplementedError

    def _opens_query(self, first: int = 0) -> bool:
        """Whether a query in parentheses begins ``first`` tokens ahead."""
        ahead = first
        while self.is_symbol(TokenType.L_PAREN, ahead):
            ahead += 1
        return ahead > first and self.is_word("SELECT", "WITH", "VALUES", ahead=ahead)

    def _exists(self) -> exp.Expr | None:
        start = self._index
        self._advance()
        return self.build(nodes.Exists, start, query=self.bracketed(self.query))

    def value(self) -> exp.Expr:
        """An expression without comparisons, AND, OR and NOT at its top level."""
        return self.nested(lambda: self._value(1))

    def _value(self, tightness: int) -> exp.Expr:
        start = self._index
        left = self._signed()
        while self.is_word("AT") and self.is_word("TIME", ahead=1):
            self.skip(1)
            self.expect_word("TIME", "ZONE")
            name = self.build(exp.Identifier, self._index - 3, this="TIMEZONE", quoted=False)
            left = self.build(nodes.FunctionCall, start, this=name, arguments=[self._signed(), left])
        operators = 0
        while True:
            operator = _ARITHMETIC.get(self._curr.token_type)
            if operator is None or operator[0] < tightness:
                return left
            operators = self._counted(operators)
            self._advance()
            right = self._value(operator[0] + 1)
            left = self.build(operator[1], start, this=left, expression=right)

    def _counted(self, operators: int) -> int:
        """Count an operator of a chain; fails if there are too many."""
        if operators == MAX_OPERATORS:
            self.fail("The chain of operators is too long: use IN for many values, or several statements")
        return operators + 1

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
            elif self._curr.token_type == TokenType.DCOLON:
                self._advance()
                node = self.build(exp.Cast, start, this=node, to=self.type_())
            elif self._curr.token_type == TokenType.COLON:
                self._advance()
                node = self.build(nodes.JsonPath, start, this=node, steps=self._json_path())
            else:
                return node
            self._depth_of_chain(node)

    def _json_path(self) -> list[str | int]:
        """``name.name[0]['name']``; a name keeps its case, and may be any word."""
        steps: list[str | int] = []
        if self._curr.token_type != TokenType.L_BRACKET:
            steps.append(self._json_name())
        while len(steps) <= MAX_DEPTH:
            if self._curr.token_type == TokenType.DOT:
                self._advance()
                steps.append(self._json_name())
            elif self._curr.token_type == TokenType.L_BRACKET:
                self._advance()
                is_index = self.is_symbol(TokenType.NUMBER)
                steps.append(self.whole_number(2**31 - 1) if is_index else self._json_key())
                self.expect_symbol(TokenType.R_BRACKET, "]")
            else:
                return steps
        self.fail("The path is too long")

    def _json_key(self) -> str:
        """A name in quotes, in brackets."""
        if self._curr.token_type != TokenType.STRING:
            self.fail("A path has [n], from 0, for an element of an array, and ['name'] for any name")
        text = str(self.string().this)
        if "'" in text and '"' in text:
            self.fail("A name in a path cannot have both kinds of quotes", self._index - 1)
        return text

    def _json_name(self) -> str:
        token = self._curr
        if token.token_type != TokenType.VAR:
            self._seek("the name of a JSON member")
            self.fail()
        text = self._whole[token.start : token.end + 1]
        if not text[0].isalpha() and text[0] != "_":
            self.fail(f"Write ['{text}']: a name in a path begins with a letter")
        self.names.add(self._index)
        self._advance()
        return text

    def _depth_of_chain(self, node: exp.Expr) -> None:
        depth = 0
        while isinstance(node, nodes.Dereference | nodes.Subscript | nodes.JsonPath | exp.Cast):
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
            elif self._curr.text == "SELECT":
                self.fail("A sub-query needs parentheses: (SELECT …)")
            elif self._curr.text in ("LEFT", "RIGHT") and self._next.token_type == TokenType.L_PAREN:
                start = self._index
                self._advance()
                name = self.build(exp.Identifier, start, this=self._prev.text, quoted=True)
                return self._call(name, start)
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
            if self.is_word("SELECT", "WITH", "VALUES", ahead=1):
                return self.build(nodes.ScalarQuery, start, query=self.bracketed(self.query))
            inside = self.bracketed(lambda: self.listed(self.any_expression))
            if len(inside) > 1:
                return self.build(exp.Tuple, start, expressions=inside)
            return self.build(exp.Paren, start, this=inside[0])
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
            by_words = _BY_WORDS.get(str(name.this))
            if by_words is not None and (spelt := by_words(self)) is not None:
                function, arguments = spelt
                name = self.build(exp.Identifier, start, this=function, quoted=False)
            else:
                arguments = self.listed(self._argument)
        args: dict[str, Any] = {"arguments": arguments, "distinct": distinct}
        if arguments and self.word("ORDER", "BY"):
            args["order_by"] = self.listed(self.order_item)
        self.expect_symbol(TokenType.R_PAREN, ")")
        if "order_by" not in args and self.is_word("WITHIN") and self.is_word("GROUP", ahead=1):
            self.skip(2)
            args["order_by"] = self.bracketed(self._order_of_group)
            args["within_group"] = True
        if self.is_word("FILTER") and self.is_symbol(TokenType.L_PAREN, 1):
            self._advance()
            args["condition"] = self.bracketed(self._filter)
        call = self.build(nodes.FunctionCall, start, this=name, **args)
        if self.is_word("OVER") and (self.is_symbol(TokenType.L_PAREN, 1) or self.is_name(1)):
            return self.nested(lambda: self._over(call, start))
        return call

    def _part_of_time(self) -> _Spelt | None:
        """``part FROM value`` of EXTRACT, as its two arguments."""
        if not self.is_word("FROM", ahead=1):
            return None
        start = self._index
        self._advance()
        part = self.build(exp.Literal, start, this=self._prev.text.lower(), is_string=True)
        self.expect_word("FROM")
        return "EXTRACT", [part, self.any_expression()]

    def _part_of_text(self) -> _Spelt:
        """``text FROM first FOR count`` of SUBSTRING, each part of which may be missing, or arguments."""
        start = self._index
        arguments = [self.any_expression()]
        if self.word("FROM"):
            arguments.append(self.value())
        elif self.is_word("FOR"):
            arguments.append(self.build(nodes.IntegerLiteral, start, this="1", is_string=False))
        if len(arguments) > 1 and self.word("FOR"):
            arguments.append(self.value())
        while self.symbol(TokenType.COMMA, ","):
            arguments.append(self.any_expression())
        return "SUBSTRING", arguments

    def _position(self) -> _Spelt:
        """``part IN text`` of POSITION."""
        part = self.value()
        self.expect_word("IN")
        return "STRPOS", [self.value(), part]

    def _trimmed(self) -> _Spelt | None:
        """``[BOTH | LEADING | TRAILING] [characters] FROM text`` of TRIM; None for arguments."""
        side = self.one_of(*_TRIMMED)
        characters = [] if self.is_word("FROM") else [self.any_expression()]
        if side is None and not self.is_word("FROM"):
            while self.symbol(TokenType.COMMA, ","):
                characters.append(self.any_expression())
            return "TRIM", characters
        arguments = [self.any_expression()] if self.word("FROM") else []
        return _TRIMMED[side or "BOTH"] if characters or side else "TRIM", [*arguments, *characters]

    def _overlaid(self) -> _Spelt:
        """``text PLACING other FROM first FOR count`` of OVERLAY, or arguments."""
        arguments = [self.any_expression()]
        for word in ("PLACING", "FROM", "FOR"):
            if self.word(word) or (len(arguments) > 1 and self.symbol(TokenType.COMMA, ",")):
                arguments.append(self.value())
        return "OVERLAY", arguments

    def _interval_parts(self) -> _Spelt:
        """``days => 1, …`` of MAKE_INTERVAL, or its arguments in their order; what is missing is 0."""
        start = self._index
        given: dict[str, exp.Expr] = {}
        for name in INTERVAL_PARTS:
            if self._next.token_type == TokenType.FARROW:
                name = self.expect_one_of(*INTERVAL_PARTS)
                self.expect_symbol(TokenType.FARROW, "=>")
            given[name] = self.value()
            if not self.symbol(TokenType.COMMA, ","):
                break
        zero = self.build(nodes.IntegerLiteral, start, this="0", is_string=False)
        return "MAKE_INTERVAL", [given.get(name) or zero.copy() for name in INTERVAL_PARTS]

    def _order_of_group(self) -> list[nodes.OrderItem]:
        """``ORDER BY expression, …`` in WITHIN GROUP."""
        self.expect_word("ORDER", "BY")
        return self.listed(self.order_item)

    def _filter(self) -> exp.Expr:
        """``WHERE condition`` in FILTER."""
        self.expect_word("WHERE")
        return self.any_expression()

    def _over(self, call: nodes.FunctionCall, start: int) -> nodes.WindowFunction:
        """``OVER (…)``, ``OVER name`` or ``OVER (name …)`` after a call; a name is replaced behind WINDOW."""
        self._advance()
        if not self.is_symbol(TokenType.L_PAREN):
            place, name = self._index, self.name()
            node = self.build(nodes.WindowFunction, start, this=call)
            node.meta["window"] = (str(name.this), place)
            self.has_named_windows = True
            return node
        self.skip(1)
        place, base = self._index, None
        if self.is_name() and not self.is_word("PARTITION", "ORDER", "ROWS", "RANGE"):
            base = (str(self.name().this), place)
        parts = self.window_parts()
        self.expect_symbol(TokenType.R_PAREN, ")")
        node = self.build(nodes.WindowFunction, start, this=call, **parts)
        if base is not None:
            node.meta["window"] = base
            self.has_named_windows = True
        return node

    def window_parts(self) -> dict[str, Any]:
        """``[PARTITION BY e, …] [ORDER BY e, …] [ROWS …]``."""
        args: dict[str, Any] = {}
        if self.word("PARTITION", "BY"):
            args["partition_by"] = self.listed(self.value)
        if self.word("ORDER", "BY"):
            args["order_by"] = self.listed(self.order_item)
        if self.word("ROWS"):
            args["frame"] = self._frame()
        elif self.word("RANGE"):
            args["frame"] = self._range()
        return args

    def _frame(self, *, is_range: bool = False) -> nodes.Frame:
        """Parse what follows ROWS, or RANGE without a time."""
        start = self._index - 1
        if not self.word("BETWEEN"):
            place = self._index
            first = self._frame_bound("PRECEDING")
            if first is not None and first < 0:
                self.fail("A frame without BETWEEN begins before the current row, or with it", place)
            return nodes.Frame(first, 0, self.span(start), None, is_range)
        first = self._frame_bound("PRECEDING")
        self.expect_word("AND")
        last = self._frame_bound("FOLLOWING")
        return nodes.Frame(first, last, self.span(start), None, is_range)

    def _range(self) -> nodes.Frame:
        """Parse what follows RANGE: ``[BETWEEN] INTERVAL time PRECEDING [AND CURRENT ROW]``, or as ROWS."""
        is_between = self.is_word("BETWEEN")
        if not self.is_word("INTERVAL", ahead=int(is_between)):
            return self._frame(is_range=True)
        start = self._index - 1
        self.skip(1 + is_between)
        time = self.time_span()
        self.expect_word("PRECEDING")
        if is_between:
            self.expect_word("AND", "CURRENT", "ROW")
        return nodes.Frame(None, 0, self.span(start), time)

    def _frame_bound(self, side: str) -> int | None:
        """``n PRECEDING``, ``CURRENT ROW``, ``n FOLLOWING``, or UNBOUNDED at the ``side`` of this bound."""
        if self.word("CURRENT"):
            self.expect_word("ROW")
            return 0
        if self.word("UNBOUNDED"):
            self.expect_word(side)
            return None
        rows = self.whole_number(2**31 - 1)
        return rows if self.expect_one_of("PRECEDING", "FOLLOWING") == "PRECEDING" else -rows

    def order_item(self) -> nodes.OrderItem:
        """``expression [ASC | DESC] [NULLS FIRST | LAST]``."""
        start = self._index
        value = self.any_expression()
        descending = self.one_of("ASC", "DESC") == "DESC"
        nulls = self.expect_one_of("FIRST", "LAST") if self.word("NULLS") else None
        return self.build(nodes.OrderItem, start, this=value, descending=descending, nulls=nulls)

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

    def _try_cast(self) -> exp.Expr | None:
        return self._cast(exp.TryCast) if self.is_symbol(TokenType.L_PAREN, 1) else None

    def _match_value(self) -> exp.Expr | None:
        """``FINAL call`` or ``RUNNING call``; None if the word is a name."""
        if not self.is_name(1) or not self.is_symbol(TokenType.L_PAREN, 2):
            return None
        start = self._index
        is_final = self.expect_one_of("FINAL", "RUNNING") == "FINAL"
        return self.build(nodes.MatchValue, start, this=self._call_or_column(), is_final=is_final)

    def _cast(self, kind: type[exp.Cast] = exp.Cast) -> exp.Expr:
        start = self._index
        self._advance()
        self.expect_symbol(TokenType.L_PAREN, "(")
        operand = self.any_expression()
        self.expect_word("AS")
        target = self.type_()
        self.expect_symbol(TokenType.R_PAREN, ")")
        return self.build(kind, start, this=operand, to=target)

    def _interval_value(self) -> exp.Expr | None:
        """``INTERVAL 1 DAY``, ``INTERVAL '1 day 2 hours'`` …; None if the word is a name."""
        if self._next.token_type not in (TokenType.NUMBER, TokenType.STRING):
            return None
        start, units = self._index, {**UNITS, **CALENDAR_UNITS}
        self._advance()
        if self._curr.token_type == TokenType.NUMBER:
            parts = [(str(self.whole_number()), "")]
        else:
            text = str(self.string().this).strip()
            parts = _AMOUNT.findall(text)
            are_units = all(not word or word.upper() in units for _, word in parts)
            if (
                not _AMOUNTS.fullmatch(text)
                or not are_units
                or (len(parts) > 1 and not all(w for _, w in parts))
            ):
                shown = text if len(text) <= 40 else text[:37] + "..."
                hint = "as in INTERVAL '1' HOUR or INTERVAL '1 day 2 hours'"
                self.fail(f"INTERVAL takes whole numbers and units, {hint}; not '{shown}'", self._index - 1)
        named = [units[word.upper()] for _, word in parts if word]
        if not named:
            unit = self.one_of(*units)
            if unit is None:
                self.fail()
            named = [units[unit]]
        amounts = [int(amount) for amount, _ in parts]
        return self.build(nodes.Interval, start, amounts=amounts, units=named)

    def _time_value(self) -> exp.Expr | None:
        """``DATE '2026-01-31'``, ``TIMESTAMP '2026-01-31 12:00'`` … as CASTs; None if the word is a name."""
        if self._next.token_type != TokenType.STRING:
            return None
        start = self._index
        target = self.type_()
        text = self.string()
        text.set("this", str(text.this).strip().replace(" ", "T", 1))
        return self.build(exp.Cast, start, this=text, to=target)

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


_ROWS = "Rows in a comparison have the same number of values, as in (a, b) = (c, d)"
#: the sides of TRIM -> the functions that they are
_TRIMMED = {"BOTH": "BTRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}
#: the arguments of MAKE_INTERVAL
INTERVAL_PARTS = ("YEARS", "MONTHS", "WEEKS", "DAYS", "HOURS", "MINS", "SECS")
#: functions whose arguments may be separated by words
_BY_WORDS: dict[str, Callable[[ExpressionParser], _Spelt | None]] = {
    "EXTRACT": ExpressionParser._part_of_time,
    "MAKE_INTERVAL": ExpressionParser._interval_parts,
    "OVERLAY": ExpressionParser._overlaid,
    "POSITION": ExpressionParser._position,
    "SUBSTRING": ExpressionParser._part_of_text,
    "TRIM": ExpressionParser._trimmed,
}


def _digits(text: str) -> str:
    """An integer's digits without leading zeros (Python limits how many it converts)."""
    return text.lstrip("0") or "0"


#: expressions that start with a word; a rule returns None if the word is a name
_PRIMARIES: dict[str, Callable[[ExpressionParser], exp.Expr | None]] = {
    "ARRAY": ExpressionParser._array,
    "CASE": ExpressionParser._case,
    "CAST": ExpressionParser._cast,
    "DATE": ExpressionParser._time_value,
    "DECIMAL": ExpressionParser._decimal,
    "EXISTS": ExpressionParser._exists,
    "FALSE": ExpressionParser._constant,
    "FINAL": ExpressionParser._match_value,
    "INTERVAL": ExpressionParser._interval_value,
    "MAP": ExpressionParser._map,
    "NULL": ExpressionParser._constant,
    "RUNNING": ExpressionParser._match_value,
    "STRUCT": ExpressionParser._struct,
    "TIME": ExpressionParser._time_value,
    "TIMESTAMP": ExpressionParser._time_value,
    "TRUE": ExpressionParser._constant,
    "TRY_CAST": ExpressionParser._try_cast,
}
