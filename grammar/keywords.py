"""Which words of a statement are keywords and which are names, as the parser reads it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.grammar.dialect import Ksql
from ksql_spark.grammar.errors import ParseFailed
from ksql_spark.grammar.parser import KsqlParser
from ksql_spark.grammar.rules import StatementSet
from ksql_spark.grammar.statements import statement
from ksql_spark.grammar.words import RESERVED

#: tokens that make one name with a variable that they touch
_JOINED = {TokenType.VAR, TokenType.PARAMETER}
#: what a variable may stand for, in the order in which it is tried
_STAND_INS = ((TokenType.VAR, "A_NAME"), (TokenType.NUMBER, "1"), (TokenType.STRING, "a text"))


def keywords(tokens: Sequence[Token], text: str) -> set[int]:
    """The indices of the tokens of one statement that are keywords.

    The first word always is. Where a statement is not KSQL, and after that, only reserved words are.

    Args:
        tokens: the statement's tokens, without its ``;``.
        text: the text that they are from.
    """
    read: list[Token] = []
    #: the index in ``read`` of each token: a variable and the words that touch it make one name
    places: list[int] = []
    #: index in ``read`` of each variable -> what else it may stand for
    variables: dict[int, list[tuple[TokenType, str]]] = {}
    for token in tokens:
        is_variable = token.token_type == TokenType.PARAMETER
        both = (read[-1].token_type, token.token_type) if read and read[-1].end + 1 == token.start else ()
        if TokenType.PARAMETER in both and set(both) <= _JOINED:
            read[-1] = _from_to(read[-1], token)
        else:
            read.append(token)
        places.append(len(read) - 1)
        if is_variable:
            variables[places[-1]] = list(_STAND_INS)
    for index, others in variables.items():
        read[index] = _stand_in(read[index], *others.pop(0))
    parser = KsqlParser(dialect=Ksql())
    reached = None
    while reached is None:
        try:
            parser.run(read, text, lambda one: statement(one, StatementSet.TEST))
            reached = len(read)
        except ParseFailed:
            if unread := variables.get(parser.at):
                read[parser.at] = _stand_in(read[parser.at], *unread.pop(0))
            else:
                reached = parser.at
    return {
        index
        for index, (token, place) in enumerate(zip(tokens, places, strict=True))
        if token.token_type == TokenType.VAR
        and read[place] is token
        and (place not in parser.names if 0 < place < reached else not place or token.text in RESERVED)
    }


def _from_to(first: Token, last: Token) -> Token:
    return Token(TokenType.PARAMETER, first.text, first.line, first.col, first.start, last.end)


def _stand_in(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)
