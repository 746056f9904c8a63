"""Converts a statement's tokens to atoms: the text of each, the space before it and the comments around it.

Keywords become upper case, as the parser tells them from names, which stay as they were written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.grammar import keywords
from ksql_spark.grammar.lexer import COMMENT
from ksql_spark.grammar.words import RESERVED

_NESTED_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})
#: reserved words that are called like functions, and those that are values
_CALLED = frozenset({"CAST", "DECIMAL"})
_VALUES = frozenset({"END", "FALSE", "NULL", "TRUE"})
#: words before a name whose `(` is not that of a call
_DECLARES = frozenset({"EXISTS", "INTO", "STREAM", "TABLE", "VALUES"})
_WORDY = frozenset(
    {TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.PARAMETER, TokenType.STRING}
)
_NO_SPACE_BEFORE = frozenset({",", ")", "]", ";", ".", "->", "::"})
_NO_SPACE_AFTER = frozenset({"(", "[", ".", "->", "::"})


class Irregular(Exception):
    """Tokens that are no statement, for instance brackets that do not match."""


@dataclass(slots=True)
class Comment:
    """A comment: as written, without white space after it.

    Attributes:
        text: its text.
        own_line: nothing but comments precedes it on its line.
        after_blank: an empty line precedes it.
    """

    text: str
    own_line: bool
    after_blank: bool


@dataclass(slots=True)
class Atom:
    """A token to be printed.

    Attributes:
        text: its text, with a short comment that follows it within its line.
        word: folded text of a word; the text of a symbol; otherwise empty.
        space: whether a space precedes it in a line.
        before: comments on the lines before it.
        after: comments that end its line.
    """

    text: str
    word: str
    space: bool
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    opens: bool = False
    closes: bool = False


def comments(gap: str, starts_text: bool) -> tuple[list[Comment], bool]:
    """The comments in the text between two tokens, and whether an empty line precedes the second token."""
    between = []
    done, is_new_line = 0, starts_text
    for match in COMMENT.finditer(gap):
        lines = gap.count("\n", done, match.start()) + is_new_line
        text = match.group().rstrip()
        # `--` alone would take the next line into the comment (reference §1.1)
        between.append(Comment("-- " if text == "--" else text, lines > 0, lines > 1))
        done, is_new_line = match.end(), match.group().endswith("\n")
    return between, gap.count("\n", done) + is_new_line > 1


def atoms(tokens: Sequence[Token], text: str) -> list[Atom]:
    """The tokens of one statement, with the comments between them.

    Raises:
        Irregular: brackets do not match, or something is not closed.
    """
    written: list[Atom] = []
    brackets: list[str] = []
    #: comments before the next token
    pending: list[str] = []
    in_query = False
    before_last, last, last_end = "", "", tokens[0].start - 1
    last_type: TokenType | None = None
    is_signed = False  # whether the last atom is a sign
    keyword_places = keywords(tokens[:-1] if tokens[-1].token_type == TokenType.SEMICOLON else tokens, text)
    for index, token in enumerate(tokens):
        kind = token.token_type
        start, end = token.start, token.end
        source = text[start : end + 1]
        is_word = kind == TokenType.VAR
        if kind == TokenType.UNKNOWN:
            raise Irregular
        if start > last_end + 2:
            gap = text[last_end + 1 : start]
            if not gap.isspace():
                _attach(comments(gap, False)[0], written, pending)
        word = token.text if is_word else source if kind not in _WORDY else ""
        opens = closes = False
        inside = brackets[-1] if brackets else ""

        # the space
        if not written or word in _NO_SPACE_BEFORE or last in _NO_SPACE_AFTER:
            space = False
        elif is_signed:
            space = source[0] == last
        elif word == "(":
            if last_type == TokenType.VAR:
                is_call = last not in RESERVED or last in _CALLED
                space = (
                    not is_call
                    or (before_last in _DECLARES and not in_query)
                    or (last in ("CUMULATIVE", "SESSION", "SLIDING") and before_last == "WINDOW")
                    or (last == "KEY" and before_last == ")")
                )
            else:
                space = last_type != TokenType.IDENTIFIER or (before_last in _DECLARES and not in_query)
        elif word == "[":
            space = not (
                (last_type == TokenType.VAR and last not in RESERVED)
                or last_type in (TokenType.IDENTIFIER, TokenType.PARAMETER, TokenType.STRING)
                or last in (")", "]")
            )
        elif (
            kind in _WORDY
            and last_type in _WORDY
            and (kind == TokenType.PARAMETER or last_type == TokenType.PARAMETER)
        ):
            # a variable's value and what touches it make one name
            space = start > last_end + 1
        else:
            space = True

        # brackets
        if word == "(" or word == "[":
            opens = True
            brackets.append(word)
        elif word == ")" or word == "]":
            if not brackets or (brackets.pop() == "[") != (word == "]"):
                raise Irregular
            closes = True
        elif word == "<" and last in _NESTED_TYPES and last_type == TokenType.VAR:
            brackets.append("<")
            opens, space = True, False
        elif word == ">" and inside == "<":
            brackets.pop()
            closes, space = True, last == "<"
        elif (word == "<>" and last == "STRUCT") or (inside == "<" and last == "<"):
            space = False

        # the case
        if is_word:
            # a type after `::` stays as it was written, unless it has parameters
            is_cast = last == "::" and word not in RESERVED and word not in _NESTED_TYPES
            if index in keyword_places and not is_cast:
                source = word
            if word == "SELECT":
                in_query = True
        is_signed = (word == "-" or word == "+") and (
            not written
            or (last_type == TokenType.VAR and last in RESERVED and last not in _VALUES)
            or (last_type not in _WORDY and last not in (")", "]", ">"))
            or is_signed
        )
        if written and written[-1].text.endswith("*/") and written[-1].text != written[-1].word:
            space = True
        written.append(Atom(source, word, space, tuple(pending), (), opens, closes))
        pending.clear()
        before_last, last, last_type, last_end = last, word, kind, end
    if brackets:
        raise Irregular
    return written


def _attach(comments: list[Comment], atoms: list[Atom], pending: list[str]) -> None:
    """Give comments to the atom before them in their line, or keep them for the next atom."""
    for comment in comments:
        if comment.own_line or pending:
            pending.append(comment.text)
        elif comment.text.startswith("/*") and "\n" not in comment.text and not atoms[-1].after:
            atoms[-1].text += " " + comment.text
        else:
            atoms[-1].after = (*atoms[-1].after, comment.text)
