"""The sqlglot dialect: tokenizer, parser and generator together."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token
from sqlglot.tokens import SQLGLOTC_INSTALLED
from sqlglot.tokens import Tokenizer as SqlglotTokenizer

from ksql_spark.grammar import lexer
from ksql_spark.grammar.generator import EXPRESSIONS, QUERIES, KsqlGenerator
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.statements import RULES, statement

if SQLGLOTC_INSTALLED:
    raise ImportError(
        "sqlglot is installed with its compiled parts (sqlglot[c]), whose classes cannot be extended. "
        "Remove them: pip uninstall sqlglotc"
    )


class Ksql(Dialect):
    """KSQL as a dialect of sqlglot: ``sqlglot.parse_one(text, dialect=Ksql)`` works as well."""

    class Tokenizer(SqlglotTokenizer):
        """`grammar.lexer` behind sqlglot's interface."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`", '"']

        def tokenize(self, sql: str) -> list[Token]:
            """The tokens of ``sql``."""
            return lexer.scan(sql)

    class Parser(KsqlParser):
        """`KsqlParser` behind sqlglot's interface."""

        def _parse_statement(self) -> exp.Expr:
            """One statement; sqlglot's entry points call this."""
            self.begin()
            return statement(self)

    class Generator(KsqlGenerator):
        """All render rules in one table."""

        TRANSFORMS: ClassVar[dict[type[exp.Expr], Any]] = {
            **EXPRESSIONS,
            **QUERIES,
            **{rule.node: rule.render for rule in RULES},
        }
