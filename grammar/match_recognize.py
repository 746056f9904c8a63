"""Rules for MATCH_RECOGNIZE, as in the SQL standard, with Flink's WITHIN (reference §6.17; beyond ksqlDB)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar import nodes
from ksql_spark.grammar.expressions import ExpressionParser
from ksql_spark.grammar.words import UNITS

#: the most repetitions that a quantifier may ask for
MAX_REPEATS = 1000
_SIGNS = {TokenType.STAR: (0, None), TokenType.PLUS: (1, None)}


class MatchRecognizeParser(ExpressionParser):
    """The rules; ``alias`` is that of relations."""

    @abstractmethod
    def alias(self) -> exp.Identifier | None:
        """``[AS] name`` if it is there."""

    def at_match_recognize(self) -> bool:
        """Whether MATCH_RECOGNIZE follows a relation; else the word is a name."""
        return self.is_word("MATCH_RECOGNIZE") and self.is_symbol(TokenType.L_PAREN, 1)

    def match_recognize(self, relation: nodes.Relation, start: int) -> nodes.MatchRecognize:
        """``MATCH_RECOGNIZE (…) [[AS] alias]`` after ``relation``, which began at the token ``start``."""
        self.skip(1)
        args = self.bracketed(self._clauses)
        return self.build(
            nodes.MatchRecognize, start, relation=relation, **args, alias_identifier=self.alias()
        )

    def _clauses(self) -> dict[str, Any]:
        args: dict[str, Any] = {}
        if self.word("PARTITION", "BY"):
            args["partition_by"] = self.listed(self.value)
        if self.word("ORDER", "BY"):
            args["order_by"] = self.listed(self.order_item)
        if self.word("MEASURES"):
            args["measures"] = self.listed(self._measure)
        args["all_rows"] = self._takes_all_rows()
        args["skip"], args["skip_to"] = self._skip()
        if self.is_word("SUBSET"):
            self.fail("SUBSET is not supported: write the condition for each symbol")
        self.expect_word("PATTERN")
        args["pattern"] = self.bracketed(self._choice)
        if self.word("WITHIN"):
            args["within"] = self._interval()
        if self.word("DEFINE"):
            args["definitions"] = self.listed(self._definition)
            if self.is_word("WITHIN"):
                self.fail("WITHIN comes between PATTERN and DEFINE")
        return args

    def _measure(self) -> nodes.SelectItem:
        start = self._index
        value = self.any_expression()
        self.expect_word("AS")
        return self.build(nodes.SelectItem, start, this=value, alias_identifier=self.name())

    def _takes_all_rows(self) -> bool:
        if self.word("ONE"):
            self.expect_word("ROW", "PER", "MATCH")
            return False
        if not self.word("ALL"):
            return False
        self.expect_word("ROWS", "PER", "MATCH")
        if self.is_word("SHOW", "OMIT", "WITH"):
            self.fail("ALL ROWS PER MATCH has the rows of matches only; leave this out")
        return True

    def _skip(self) -> tuple[str, exp.Identifier | None]:
        if not self.word("AFTER"):
            return "PAST LAST ROW", None
        self.expect_word("MATCH", "SKIP")
        if self.word("PAST"):
            self.expect_word("LAST", "ROW")
            return "PAST LAST ROW", None
        self.expect_word("TO")
        if self.word("NEXT"):
            self.expect_word("ROW")
            return "TO NEXT ROW", None
        # of a symbol alone the standard means its last row
        which = self.one_of("FIRST", "LAST") or "LAST"
        return f"TO {which}", self.name()

    def _definition(self) -> nodes.Definition:
        start = self._index
        symbol = self.name()
        self.expect_word("AS")
        return self.build(nodes.Definition, start, this=symbol, condition=self.any_expression())

    def _interval(self) -> nodes.TimeSpan:
        """``1 HOUR`` or ``INTERVAL '1' HOUR``."""
        start = self._index
        if not self.word("INTERVAL") or not self.is_symbol(TokenType.STRING):
            return self.time_span()
        amount = self._curr.text.strip()
        if not (amount.isascii() and amount.isdecimal()) or len(amount) > 15:
            self.fail(
                f"INTERVAL takes a whole number in quotes, as in INTERVAL '1' HOUR; not '{amount[:40]}'"
            )
        self._advance()
        unit = self.one_of(*UNITS) or self.fail()
        return nodes.TimeSpan(int(amount), UNITS[unit], self.span(start))

    # ------------------------------------------------------------------------------- patterns

    def _choice(self) -> nodes.Pattern:
        start = self._index
        parts = [self.nested(self._sequence)]
        while self._sign("|"):
            parts.append(self.nested(self._sequence))
        return parts[0] if len(parts) == 1 else self.build(nodes.PatternChoice, start, parts=parts)

    def _sequence(self) -> nodes.Pattern:
        start = self._index
        parts = [self._repeat()]
        while self.is_name() or self.is_symbol(TokenType.L_PAREN):
            parts.append(self._repeat())
        return parts[0] if len(parts) == 1 else self.build(nodes.PatternSequence, start, parts=parts)

    def _repeat(self) -> nodes.Pattern:
        start = self._index
        self._refuse_signs()
        if self.is_word("PERMUTE") and self.is_symbol(TokenType.L_PAREN, 1):
            self.fail("PERMUTE is not supported: write the orders as choices, (A B | B A)")
        node: nodes.Pattern
        if self.is_symbol(TokenType.L_PAREN):
            node = self.bracketed(self._choice)
        else:
            node = self.build(nodes.PatternSymbol, start, this=self.name())
        quantifier = self._quantifier()
        if quantifier is not None:
            least, most = quantifier
            args = {"least": least, "most": most, "reluctant": self._sign("?")}
            node = self.build(nodes.PatternRepeat, start, this=node, **args)
            if self._curr.token_type in _SIGNS or self._is_sign("?") or self._is_sign("{"):
                self.fail("A part of a pattern has one quantifier; put brackets around the part with its own")
        self._refuse_signs()
        return node

    def _quantifier(self) -> tuple[int, int | None] | None:
        if self._curr.token_type in _SIGNS:
            self._advance()
            return _SIGNS[self._prev.token_type]
        if self._sign("?"):
            return 0, 1
        start = self._index
        if not self._sign("{"):
            return None
        if self.is_symbol(TokenType.DASH):
            self.fail("Exclusion, {- … -}, is not supported: name the rows that you want in MEASURES", start)
        least = 0 if self.is_symbol(TokenType.COMMA) else self.whole_number(MAX_REPEATS)
        most: int | None = least
        if self.symbol(TokenType.COMMA, ","):
            most = None if self._is_sign("}") else self.whole_number(MAX_REPEATS)
        if not self._sign("}"):
            self._seek("'}'")
            self.fail()
        if most is not None and (most == 0 or most < least):
            self.fail("A quantifier {n,m} needs 0 <= n <= m and m > 0", start)
        return least, most

    def _refuse_signs(self) -> None:
        if self._is_sign("^") or self._is_sign("$"):
            self.fail("^ and $ are not supported: a stream has no end, and its beginning is never in order")

    def _is_sign(self, text: str) -> bool:
        """Whether here is a character that no other rule of KSQL has."""
        return self._curr.token_type == TokenType.UNKNOWN and self._curr.text == text

    def _sign(self, text: str) -> bool:
        if not self._is_sign(text):
            return False
        self._advance()
        return True
