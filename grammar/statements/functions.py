"""CREATE FUNCTION and DROP FUNCTION: user functions whose code is in the statement. Beyond ksqlDB."""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from ksql_spark.grammar.generator import KsqlGenerator, quoted_name, type_text
from ksql_spark.grammar.nodes import Arg, NamedStatement, TypeField, TypeNode
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementRule


class CreateFunction(NamedStatement):
    """CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] name [(parameters) RETURNS type] LANGUAGE PYTHON AS …"""

    or_replace = Arg[bool](default=False)
    if_not_exists = Arg[bool](default=False)
    parameters = Arg[list[TypeField]](default=list)
    returns = Arg[TypeNode | None]()
    code = Arg[str](required=True)


class DropFunction(NamedStatement):
    """DROP FUNCTION [IF EXISTS] name."""

    if_exists = Arg[bool](default=False)


def _create(parser: KsqlParser) -> CreateFunction:
    start = parser.at
    parser.expect_word("CREATE")
    or_replace = parser.word("OR", "REPLACE")
    parser.expect_word("FUNCTION")
    if_not_exists = parser.if_not_exists()
    name = parser.name()
    parameters: list[TypeField] = []
    returns = None
    if parser.symbol(TokenType.L_PAREN, "("):
        if not parser.symbol(TokenType.R_PAREN, ")"):
            parameters = parser.listed(parser.type_field)
            parser.expect_symbol(TokenType.R_PAREN, ")")
        parser.expect_word("RETURNS")
        returns = parser.type_()
    parser.expect_word("LANGUAGE", "PYTHON", "AS")
    return parser.build(
        CreateFunction,
        start,
        or_replace=or_replace,
        if_not_exists=if_not_exists,
        this=name,
        parameters=parameters,
        returns=returns,
        code=parser.code(),
    )


def _drop(parser: KsqlParser) -> DropFunction:
    start = parser.at
    parser.expect_word("DROP", "FUNCTION")
    if_exists = parser.if_exists()
    return parser.build(DropFunction, start, if_exists=if_exists, this=parser.name())


def _render_create(self: KsqlGenerator, node: CreateFunction) -> str:
    replace = "OR REPLACE " if node.or_replace else ""
    if_not_exists = "IF NOT EXISTS " if node.if_not_exists else ""
    signature = ""
    if node.returns is not None:
        fields = (
            f"{quoted_name(f.name) if f.quoted else f.name} {type_text(f.type)}" for f in node.parameters
        )
        signature = f" ({', '.join(fields)}) RETURNS {type_text(node.returns)}"
    code = node.code.replace("'", "''")
    code = f"'{code}'" if "$$" in node.code else f"$${node.code}$$"
    name = self.sql(node.this)
    return f"CREATE {replace}FUNCTION {if_not_exists}{name}{signature} LANGUAGE PYTHON AS {code}"


def _render_drop(self: KsqlGenerator, node: DropFunction) -> str:
    return f"DROP FUNCTION {'IF EXISTS ' if node.if_exists else ''}{self.sql(node.this)}"


RULES = (
    StatementRule(CreateFunction, ("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"), _create, _render_create),
    StatementRule(DropFunction, ("DROP FUNCTION",), _drop, _render_drop),
)
