"""Classifies a text of a PostgreSQL client, by rules over the tokens of the grammar's scanner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any, NamedTuple, NoReturn

from sqlglot import exp
from sqlglot.dialects import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark import deadline
from ksql_spark.errors import KsqlError, Position
from ksql_spark.grammar import ParseFailed, Rules, StatementText, pieces, tokens
from ksql_spark.grammar.cursor import MAX_DEPTH, Cursor
from ksql_spark.server.postgres.names import DATABASE as DATABASE
from ksql_spark.server.postgres.names import SCHEMA as SCHEMA
from ksql_spark.server.postgres.names import is_name, name_of
from ksql_spark.server.postgres.names import shown_name as shown_name
from ksql_spark.server.postgres.respelling import Respelt, respelt, word

#: the maximum bytes of a statement, which the command log would not take either
MAX_BYTES = 1_000_000
#: the highest number of a parameter: the protocol counts them in two bytes
MAX_PARAMETERS = 65_535
#: a parameter that is a number of rows
LIMIT = -1
#: schemas whose relations only the catalog has
_CATALOG = ("pg_catalog", "information_schema")
_LOCAL = frozenset((
    "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE", "SET", "RESET", "DISCARD",
    "DEALLOCATE", "LISTEN", "UNLISTEN", "LOCK", "CHECKPOINT", "VACUUM", "ANALYZE",
))  # fmt: skip
_LOCAL_TAGS = {"START": "BEGIN", "END": "COMMIT", "ABORT": "ROLLBACK"}
#: SHOW of KSQL; any other word is one of PostgreSQL's settings
_LISTS = frozenset((
    "streams", "tables", "topics", "queries", "functions", "properties", "types", "variables", "connectors",
    "all",
))  # fmt: skip


class Failure(Exception):
    """An error for the client, with PostgreSQL's code for it."""

    def __init__(self, state: str, message: str) -> None:
        super().__init__(message)
        self.fields = {"S": "ERROR", "V": "ERROR", "C": state, "M": message}


class Kind(Enum):
    """The treatment of a statement."""

    EMPTY = auto()
    #: a SELECT or PRINT for the engine
    QUERY = auto()
    #: any other statement for the engine
    STATEMENT = auto()
    #: a query for the catalog, or one without relations
    CATALOG = auto()
    #: transactions and settings, of this connection
    LOCAL = auto()
    SHOW = auto()
    DECLARE = auto()
    FETCH = auto()
    CLOSE = auto()
    COPY = auto()


@dataclass(frozen=True)
class PgStatement:
    """A statement of a client.

    Args:
        text: in KSQL for the engine, else as it came.
        tag: the words that say what it was, once it is done.
        parameters: the numbers of the client's parameters, ``$1``, which KSQL's text has as ``:p1``.
        is_moved: whether places in the text are no longer those of the client's text.
        details: named parts of it.
        tree: of a query for the catalog.
        inner: the query in it.
        piece: what came.
        respelt: its KSQL.
    """

    kind: Kind
    text: str
    tag: str = ""
    parameters: tuple[int, ...] = ()
    is_moved: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    tree: exp.Expr | None = None
    inner: PgStatement | None = None
    piece: StatementText = field(default_factory=lambda: StatementText("", 1, 1))
    respelt: Respelt | None = None

    @property
    def has_casts(self) -> bool:
        """Whether parameters are cast in the text for the engine."""
        return self.respelt is not None and bool(self.respelt.casts)

    def for_values(self, given: Sequence[Any]) -> str:
        """The text for the engine, with these values of parameters."""
        return self.text if self.respelt is None else self.respelt.for_values(given)

    def kept(self) -> PgStatement:
        """The statement without its tokens and tree, which take some hundred times the memory of its text."""
        piece = replace(self.piece, tokens=self.piece.tokens[:1], whole="")
        return replace(self, piece=piece, tree=None, inner=self.inner.kept() if self.inner else None)


# ---- statements ------------------------------------------------------------------------------------------


def split(text: str) -> Iterator[StatementText]:
    """The statements of a text, one after another, without the ``;`` between them and what is empty.

    Raises:
        KsqlError: STATEMENT_TOO_LONG.

    >>> [piece.text for piece in split("SELECT ';' ; -- nothing; \\n SHOW x;")]
    ["SELECT ';'", 'SHOW x']
    """
    return pieces(text, _scanned(text))


def _scanned(text: str) -> Iterator[Token]:
    begin = 0
    for token in tokens(text, Rules.POSTGRES):
        deadline.check()
        if token.end - begin >= MAX_BYTES:
            shown = f"{text[begin : begin + 199]}…"
            size = token.end + 1 - begin
            raise KsqlError(
                "STATEMENT_TOO_LONG", what="its text", bytes=size, most=MAX_BYTES, statement=shown
            )
        if token.token_type == TokenType.SEMICOLON:
            begin = token.end + 1
        yield token


def statement_of(text: str) -> PgStatement:
    """Classify the first statement of a text."""
    piece = next(split(text), None)
    return PgStatement(Kind.EMPTY, "") if piece is None else statement(piece)


def tree_of(kept: PgStatement) -> exp.Expr | None:
    """The tree of a query for the catalog; None if it cannot be read."""
    return kept.tree or statement_of(kept.text).tree


def statement(piece: StatementText) -> PgStatement:
    """Classify a statement.

    Raises:
        KsqlError: SYNTAX.
        Failure: a parameter has no possible number.
    """
    parameters = _parameters(piece.tokens)
    found = _kind_of(piece)
    return replace(found, parameters=parameters, piece=piece, is_moved=found.is_moved or bool(parameters))


def _parameters(found: Sequence[Token]) -> tuple[int, ...]:
    numbers = set()
    for token in found:
        if token.token_type == TokenType.PLACEHOLDER:
            digits = token.text.lstrip("0")
            if not 0 < len(digits) < 6 or int(digits) > MAX_PARAMETERS:
                raise Failure("42P02", f"There is no parameter ${token.text[:20]}.")
            numbers.add(int(digits))
    return tuple(sorted(numbers))


def _kind_of(piece: StatementText) -> PgStatement:
    first = word(piece.tokens[0])
    second = piece.tokens[1] if len(piece.tokens) > 1 else None
    is_property = second is not None and second.token_type == TokenType.STRING
    if (rule := _RULES.get(first)) is not None and not (first == "SET" and is_property):
        return _read(piece, rule)
    if first in _LOCAL and not (first == "SET" and is_property):
        return PgStatement(Kind.LOCAL, piece.text, _LOCAL_TAGS.get(first, first))
    if first in ("SELECT", "WITH", "VALUES", "TABLE", "("):
        return _query(piece)
    if first == "PRINT":
        return _ksql(Kind.QUERY, piece, "SELECT")
    found = _ksql(Kind.STATEMENT, piece, _tag(piece))
    if first in ("SET", "UNSET") and second is not None and is_property:
        last = piece.tokens[-1]
        value = last.text if first == "SET" and last.token_type == TokenType.STRING else None
        return replace(found, details={"property": second.text, "value": value})
    return found


def _query(piece: StatementText) -> PgStatement:
    if _before_emit(piece.tokens) is None:
        named = [one for one in relations(piece) if not one.is_own]
        is_catalogs = any(one.is_catalogs for one in named)
        if not named or is_catalogs:
            tree = _tree(piece, piece.tokens)
            if tree is not None or is_catalogs:
                return PgStatement(Kind.CATALOG, piece.text, "SELECT", tree=tree)
    return _ksql(Kind.QUERY, piece, "SELECT")


def _before_emit(tokens: Sequence[Token]) -> Sequence[Token] | None:
    """Return the tokens before ``EMIT CHANGES [LIMIT n]``; None if a query does not end so."""
    end = len(tokens)
    if end > 1 and word(tokens[end - 2]) == "LIMIT":
        end -= 2
    if end > 1 and word(tokens[end - 2]) == "EMIT" and word(tokens[end - 1]) in ("CHANGES", "FINAL"):
        return tokens[: end - 2]
    return None


def _ksql(kind: Kind, piece: StatementText, tag: str) -> PgStatement:
    spelt = respelt(piece)
    ours = replace(spelt, text=f"{spelt.text};")
    # names of the same length are where they were
    is_moved = len(spelt.text) != len(piece.text) or bool(spelt.casts)
    return PgStatement(kind, ours.text, tag, is_moved=is_moved, respelt=ours)


def _tag(piece: StatementText) -> str:
    words = [word(token) for token in piece.tokens[:6]]
    if words[0] == "INSERT":
        return "INSERT 0 1"
    if words[0] in ("CREATE", "DROP", "ALTER"):
        kinds = [one for one in words[1:] if one in ("STREAM", "TABLE", "CONNECTOR", "TYPE")]
        return " ".join([words[0], *kinds[:1]])
    return words[0]


# ---- what is not for the engine --------------------------------------------------------------------------


class _Reader(Cursor):
    """Reads the statements that are answered here."""

    piece: StatementText

    def declare(self) -> PgStatement:
        """DECLARE name … CURSOR … FOR query."""
        self.expect_word("DECLARE")
        name = self._name()
        while self.one_of("BINARY", "ASENSITIVE", "INSENSITIVE", "SCROLL") or self.word("NO", "SCROLL"):
            pass
        self.expect_word("CURSOR")
        if self.one_of("WITH", "WITHOUT"):
            self.expect_word("HOLD")
        self.expect_word("FOR")
        inner = self._inner(self.at, len(self._tokens))
        self.skip(len(self._tokens) - self.at)
        return self._found(Kind.DECLARE, inner, name=name)

    def fetch(self) -> PgStatement:
        """FETCH [FORWARD | NEXT] [count | ALL] [FROM | IN] name [WITH (timeout = '1s')]."""
        self.expect_one_of("FETCH", "MOVE")
        if self.is_word("BACKWARD", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE"):
            raise Failure("0A000", "A cursor goes forward only: FETCH [n | ALL] FROM name.")
        self.one_of("FORWARD", "NEXT")
        count: int | None = 1
        if self.is_symbol(TokenType.NUMBER):
            count = self.whole_number(2**63 - 1)
        elif self.word("ALL"):
            count = None
        self.one_of("FROM", "IN")
        name = self._name()
        timeout_s = self.bracketed(self._timeout) if self.word("WITH") else None
        return self._found(Kind.FETCH, name=name, count=count, timeout_s=timeout_s)

    def whole_number(self, most: int) -> int:
        """An integer."""
        text = self._curr.text
        if not text.isdigit() or len(text) > 19 or int(text) > most:
            self.fail("This is no number of rows")
        self.skip(1)
        return int(text)

    def _timeout(self) -> float:
        self.expect_word("TIMEOUT")
        self.symbol(TokenType.EQ, "=")
        if not self.is_symbol(TokenType.STRING):
            self.fail("A timeout is a text such as '1s' or '100ms'")
        number, per_second = self._curr.text.strip(), 1
        for unit, of_second in (
            ("ms", 1000),
            ("milliseconds", 1000),
            ("s", 1),
            ("seconds", 1),
            ("second", 1),
        ):
            if number.endswith(unit):
                number, per_second = number.removesuffix(unit).strip(), of_second
                break
        if not number.replace(".", "", 1).isdecimal() or not number.isascii() or len(number) > 18:
            self.fail("A timeout is a text such as '1s' or '100ms'")
        self.skip(1)
        return float(number) / per_second

    def close(self) -> PgStatement:
        """CLOSE name."""
        self.expect_word("CLOSE")
        return self._found(Kind.CLOSE, name=self._name())

    def copy_(self) -> PgStatement:
        """COPY (query) | name [(columns)] TO STDOUT options."""
        self.expect_word("COPY")
        inner: PgStatement | None = None
        if self.is_symbol(TokenType.L_PAREN):
            inner = self._inner(self.at + 1, self._skip_brackets() - 1)
        else:
            first = self.at
            while not self.is_word("FROM", "TO") and not self.at_end():
                self._skip_brackets()
            inner = self._selected(first)
        direction = self.expect_one_of("FROM", "TO")
        if direction == "FROM":
            raise Failure("0A000", "COPY … FROM is not supported. Rows come by INSERT.")
        if not self.word("STDOUT"):
            raise Failure("0A000", "COPY writes to STDOUT only.")
        options = self._tokens[self.at :]
        self.skip(len(options))
        return self._found(Kind.COPY, inner, options=copy_options(options))

    def _selected(self, first: int) -> PgStatement:
        """``SELECT columns FROM table`` for what is from a token on: ``table (columns)``."""
        opened = next(
            (at for at in range(first, self.at) if self._tokens[at].token_type == TokenType.L_PAREN), self.at
        )
        if first == opened:
            self.fail("COPY takes a table, or a query in parentheses")
        columns = self._text_of(opened + 1, self.at - 1)
        return statement_of(f"SELECT {columns or '*'} FROM {self._text_of(first, opened)}")

    def show(self) -> PgStatement:
        """SHOW of a setting; else one of KSQL."""
        self.expect_word("SHOW")
        name = self._text_of(self.at, len(self._tokens)).lower()
        is_setting = all(is_name(one) or one.token_type == TokenType.DOT for one in self._tokens[self.at :])
        spaced = {
            "transaction isolation level": "transaction_isolation", "time zone": "timezone",
        }.get(" ".join(name.split()))  # fmt: skip
        if spaced is None and (not is_setting or not name or " " in name or name in _LISTS):
            return self.other(Kind.STATEMENT, "SHOW")
        self.skip(len(self._tokens) - self.at)
        return self._found(Kind.SHOW, name=spaced or name)

    def other(self, kind: Kind, tag: str) -> PgStatement:
        """A statement of KSQL."""
        self.skip(len(self._tokens) - self.at)
        return _ksql(kind, self.piece, tag)

    def set_(self) -> PgStatement:
        """SET [SESSION | LOCAL] name = | TO value."""
        self.expect_word("SET")
        self.one_of("SESSION", "LOCAL")
        first = self.at
        if self.word("TIME", "ZONE"):
            name = "timezone"
        else:
            while not self.at_end() and (self.at == first or self._joins()):
                self.skip(1)
            name = self._text_of(first, self.at).strip('"')
        if not self.symbol(TokenType.EQ, "="):
            self.word("TO")
        is_text = len(self._tokens) - self.at == 1 and self.is_symbol(TokenType.STRING)
        value = self._curr.text if is_text else self._text_of(self.at, len(self._tokens)).strip("'")
        self.skip(len(self._tokens) - self.at)
        return self._found(Kind.LOCAL, name=name, value=value)

    def last(self) -> PgStatement:
        """RESET name, DISCARD ALL, DEALLOCATE name."""
        self.skip(1)
        self.word("PREPARE")
        name = self._text_of(self.at, len(self._tokens)).strip('"')
        self.skip(len(self._tokens) - self.at)
        return self._found(Kind.LOCAL, name=name)

    def _joins(self) -> bool:
        """Whether a name goes on here."""
        return self.is_symbol(TokenType.DOT) or self.is_symbol(TokenType.DOT, -1)

    def _found(self, kind: Kind, inner: PgStatement | None = None, **details: Any) -> PgStatement:
        tag = word(self.piece.tokens[0]) if kind == Kind.LOCAL else kind.name
        return PgStatement(kind, self.piece.text, tag, details=details, inner=inner)

    def _inner(self, first: int, end: int) -> PgStatement:
        """The query from one token to another."""
        within = tuple(self._tokens[first:end])
        if not within:
            self.fail("A query was expected")
        if word(within[0]) not in ("SELECT", "WITH", "VALUES", "TABLE", "(", "PRINT"):
            raise Failure("42601", f"{word(self.piece.tokens[0])} takes a query.")
        text = self._text_of(first, end)
        return statement(
            replace(self.piece, text=text, tokens=within, line=within[0].line, column=within[0].col)
        )

    def _name(self) -> str:
        """A cursor's name."""
        if self.at_end() or not is_name(self._curr):
            self._seek("a name")
            self.fail()
        token = self._curr
        self.skip(1)
        return token.text if token.token_type == TokenType.IDENTIFIER else token.text.lower()

    def _skip_brackets(self) -> int:
        """Take a token, with all up to the bracket that closes it; returns the token behind."""
        depth = 0
        while not self.at_end():
            depth += self.is_symbol(TokenType.L_PAREN) - self.is_symbol(TokenType.R_PAREN)
            self.skip(1)
            if depth <= 0:
                return self.at
        self.fail()

    def _text_of(self, first: int, end: int) -> str:
        if first >= end:
            return ""
        return self._whole[self._tokens[first].start : self._tokens[end - 1].end + 1]


_RULES = {
    "DECLARE": _Reader.declare, "FETCH": _Reader.fetch, "MOVE": _Reader.fetch, "CLOSE": _Reader.close,
    "COPY": _Reader.copy_, "SHOW": _Reader.show, "SET": _Reader.set_, "RESET": _Reader.last,
    "DISCARD": _Reader.last, "DEALLOCATE": _Reader.last,
}  # fmt: skip


def _read(piece: StatementText, rule: Any) -> PgStatement:
    reader = _Reader()
    reader.piece = piece
    try:
        found: PgStatement = reader.run(piece.tokens, piece.whole, rule)
    except ParseFailed as failed:
        raise KsqlError("SYNTAX", reason=str(failed), statement=failed.text) from None
    return found


# ---- relations and parameters ----------------------------------------------------------------------------


class Relation(NamedTuple):
    """A relation that a statement names.

    Args:
        name: the name of ours that stands for it.
        is_catalogs: whether it is one of the catalog.
        is_own: whether the statement itself defines it, by WITH.
    """

    name: str
    is_catalogs: bool
    is_own: bool = False


@dataclass
class _Scope:
    """The tokens in parentheses: where they open, whether there is a SELECT, whether commas are FROM's."""

    opened: int = -1
    is_query: bool = False
    is_from: bool = False


def relations(piece: StatementText) -> list[Relation]:
    """The relations behind FROM, JOIN, INTO and UPDATE."""
    found: list[Relation] = []
    own: set[str] = set()
    scopes = [_Scope(is_query=word(piece.tokens[0]) == "DELETE")]
    is_expected = word(piece.tokens[0]) in ("TABLE", "UPDATE")
    at, last = int(is_expected), len(piece.tokens) - 1
    while at <= last:
        deadline.check()
        token, scope = piece.tokens[at], scopes[-1]
        this, before = word(token), word(piece.tokens[at - 1]) if at else ""
        if this == "(":
            scopes.append(_Scope(at))
        elif this == ")":
            opened = scopes.pop().opened if len(scopes) > 1 else 0
            if _word(piece, at + 1) == "AS" and _word(piece, at + 2) == "(" and opened:
                own.add(_folded(piece, opened - 1))  # of WITH name (columns) AS (
            is_expected = False
        elif is_expected and this not in ("SELECT", "WITH", "VALUES") and is_name(token):
            if this in ("LATERAL", "ONLY"):
                at += 1
                continue
            is_into, first = before == "INTO", at
            while _word(piece, at + 1) == "." and at + 2 <= last:
                at += 2
            if is_into or _word(piece, at + 1) != "(":  # else a function
                schema = _folded(piece, at - 2) if at > first else ""
                name = name_of(piece.tokens[at], piece.whole)
                is_catalogs = schema in _CATALOG or (not schema and _folded(piece, at).startswith("pg_"))
                found.append(Relation(name, is_catalogs))
            is_expected = False
        else:
            is_expected = (
                (this == "FROM" and before != "DISTINCT" and scope.is_query)
                or this in ("JOIN", "INTO")
                or (this == "," and scope.is_from)
            )
            if this == "FROM" and is_expected:
                scope.is_from = True
            elif this in ("SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "WINDOW"):
                scope.is_from = False
            scope.is_query |= this == "SELECT"
            if is_name(token) and _word(piece, at + 1) == "AS" and _word(piece, at + 2) == "(":
                own.add(_folded(piece, at))  # of WITH name AS (
        at += 1
    return [one._replace(is_own=not one.is_catalogs and shown_name(one.name).lower() in own) for one in found]


def _word(piece: StatementText, at: int) -> str:
    return word(piece.tokens[at]) if 0 <= at < len(piece.tokens) else ""


def _folded(piece: StatementText, at: int) -> str:
    return piece.tokens[at].text.lower() if at >= 0 else ""


def parameter_casts(found: PgStatement) -> dict[int, str]:
    """The types to which parameters are cast by ``::``, by number."""
    piece, casts = found.piece, {}
    for at, token in enumerate(piece.tokens):
        if token.token_type == TokenType.PLACEHOLDER and _word(piece, at + 1) == "::":
            at += 4 if _word(piece, at + 3) == "." else 2
            is_array = _word(piece, at + 1) == "[" and _word(piece, at + 2) == "]"
            if at < len(piece.tokens):
                casts[int(token.text)] = piece.tokens[at].text + ("[]" if is_array else "")
    return casts


def parameter_number(node: exp.Expr) -> int | None:
    """The number of a parameter in a tree; None: it is something else."""
    if isinstance(node, exp.Placeholder) and node.name[:1] == "p" and node.name[1:].isdecimal():
        return int(node.name[1:])
    return None


def parameter_name(number: int) -> str:
    """Return the name of a parameter in KSQL's text."""
    return f"p{number}"


@dataclass(frozen=True)
class Elements:
    """The comparison of a column with the elements of a parameter; the name may be empty."""

    column: str


def parameter_columns(parsed: PgStatement) -> dict[int, str | int | Elements]:
    """Return for each parameter what it is compared with or inserted into.

    The result is number -> the column, by name or by place from 0; Elements for ``= ANY ($1)``; or LIMIT.
    """
    parsed = parsed.inner or parsed
    piece = parsed.piece
    if not parsed.parameters or _word(piece, 0) not in ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE"):
        return {}
    tree = parsed.tree or _tree(piece, _before_emit(piece.tokens) or piece.tokens)
    columns: dict[int, str | int | Elements] = {}
    for parameter in tree.find_all(exp.Placeholder) if tree is not None else ():
        deadline.check()
        number = parameter_number(parameter)
        inner: exp.Expr = parameter
        parent = parameter.parent
        while isinstance(parent, (exp.Cast, exp.Paren)):
            inner, parent = parent, parent.parent
        if number is None:
            continue
        if isinstance(parent, (exp.Limit, exp.Offset)):
            columns[number] = LIMIT
        elif isinstance(parent, exp.Tuple) and isinstance(tree, exp.Insert):
            place = inner.index or 0
            listed = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
            columns[number] = _ours(listed[place]) if place < len(listed) else place
        elif isinstance(parent, exp.Any) and isinstance(parent.parent, exp.EQ):
            column = parent.parent.this
            columns[number] = Elements(_ours(column.this)) if isinstance(column, exp.Column) else Elements("")
        elif isinstance(parent, (exp.Binary, exp.Between, exp.In)):
            sides = [parent.this, *parent.args.values()]
            column = next((side for side in sides if isinstance(side, exp.Column)), None)
            if column is not None:
                columns[number] = _ours(column.this)
    return columns


def _ours(identifier: exp.Expr) -> str:
    """The name of ours that an identifier of PostgreSQL's stands for."""
    name = str(identifier.name)
    return shown_name(name) if identifier.args.get("quoted") else name.upper()


# ---- trees, of queries for the catalog -------------------------------------------------------------------


class _Dialect(Postgres):  # type: ignore[misc]
    class Parser(PostgresParser):
        """Ends where the statement's time ends."""

        def _advance(self, times: int = 1) -> None:
            deadline.check()
            super()._advance(times)


def _tree(piece: StatementText, found: Sequence[Token]) -> exp.Expr | None:
    """A query as PostgreSQL reads it; None if it cannot be read.

    Raises:
        Failure: it is nested too deeply.
    """
    depth = 0
    for token in found:
        depth += (word(token) in ("(", "[", "CASE")) - (word(token) in (")", "]", "END"))
        if depth > MAX_DEPTH:
            raise Failure("54001", "The statement is nested too deeply.")
    for is_plain in (True, False):
        try:
            tree = _Dialect().parse(_readable(piece, found, is_plain))
        except SqlglotError:
            continue
        except RecursionError:
            raise Failure("54001", "The statement is nested too deeply.") from None
        return tree[0] if len(tree) == 1 else None
    return None


def _readable(piece: StatementText, tokens: Sequence[Token], is_plain: bool) -> str:
    """A text for sqlglot: parameters by name, since it takes ``$1`` for the beginning of a quoted text.

    Args:
        is_plain: whether what it cannot read stays: aliases such as SELECT, arrays of types of the catalog.
    """
    parts, end = [], tokens[0].start
    skipped = -1
    for at, token in enumerate(tokens):
        if at <= skipped:
            end = token.end + 1
            continue
        text = piece.whole[token.start : token.end + 1]
        if token.token_type == TokenType.PLACEHOLDER:
            text = f":p{int(token.text)}"
        elif not is_plain and word(token) in ("SELECT", "INSERT", "UPDATE", "DELETE", "TABLE"):
            following = word(tokens[at + 1]) if at + 1 < len(tokens) else ")"
            if at and word(tokens[at - 1]) == "AS" and following in (",", ")", "FROM"):
                text = f'"{text}"'
        elif not is_plain and at and word(tokens[at - 1]) == "::":
            name = at + 2 if _is(tokens, at + 1, ".") else at
            is_array = _is(tokens, name + 1, "[") and _is(tokens, name + 2, "]")
            type_ = tokens[name].text.lower() if name < len(tokens) else ""
            if is_array and (type_.startswith("reg") or type_ in ("oid", "name")):
                text, skipped = "text[]", name + 2
        parts += [piece.whole[end : token.start], text]
        end = token.end + 1
    return "".join(parts)


def _is(found: Sequence[Token], at: int, this: str) -> bool:
    return at < len(found) and word(found[at]) == this


# ---- COPY -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CopyOptions:
    """The format in which COPY writes rows; only quoted or escaped values contain one of the texts."""

    is_csv: bool = False
    has_header: bool = False
    delimiter: bytes = b"\t"
    null: bytes = b"\\N"


_OPTION_WORDS = frozenset(("TRUE", "FALSE", "ON", "OFF", "CSV", "TEXT", "XML", "BINARY"))


def copy_options(tokens: Sequence[Token]) -> CopyOptions:
    """Parse what follows TO STDOUT: ``(FORMAT csv, HEADER)``, or ``WITH CSV HEADER``.

    Raises:
        Failure: an option that is not supported.
    """
    options, unknown = {}, ""
    at = 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if word(token) in ("WITH", "(", ")", ","):
            continue
        if token.token_type != TokenType.VAR:
            unknown = unknown or token.text
            continue
        at += _is(tokens, at, "AS")
        value = tokens[at] if at < len(tokens) else None
        name = token.text.lower()
        if value is not None and value.token_type == TokenType.STRING:
            options[name], at = value.text, at + 1
        elif value is not None and word(value) in _OPTION_WORDS:
            options[name], at = value.text.lower(), at + 1
        else:
            options[name] = "true"
    form = "csv" if options.pop("csv", None) else options.pop("format", "text").lower()
    header, delimiter, null = (options.pop(name, None) for name in ("header", "delimiter", "null"))
    if options or unknown:
        name = (next(iter(options), None) or unknown).upper()[:40]
        _refuse(f"COPY has no option {name} here: FORMAT, HEADER, DELIMITER and NULL are supported.")
    if form not in ("csv", "text"):
        _refuse("COPY writes FORMAT csv or text.")
    is_csv = form == "csv"
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\\'):
        _refuse("DELIMITER is one character.")
    return CopyOptions(
        is_csv,
        header not in (None, "false", "off"),
        (delimiter or ("," if is_csv else "\t")).encode(),
        ("" if is_csv else "\\N").encode() if null is None else null.encode(),
    )


def _refuse(message: str) -> NoReturn:
    raise Failure("42601", message)


# ---- errors ----------------------------------------------------------------------------------------------

#: the text of a cancelled statement, which clients of PostgreSQL know
CANCELLED = "canceling statement due to user request"

_STATES = {
    "SYNTAX": "42601", "SOURCE_UNKNOWN": "42P01", "COLUMN_UNKNOWN": "42703", "FUNCTION_UNKNOWN": "42883",
    "FORBIDDEN": "42501", "NOT_READY": "57P03", "STOPPED": "57P01", "STATEMENT_TIMEOUT": "57014",
    "STATEMENT_CANCELLED": "57014", "SOURCE_EXISTS": "42P07", "STATEMENT_TOO_LONG": "54000",
    "PUSH_LIMIT": "53400", "PUSH_SHARE": "53400", "PULL_LIMIT": "53400", "DISK_FULL": "53100",
    "INTERNAL": "XX000",
}  # fmt: skip


def _sqlstate(error: KsqlError) -> str:
    """The SQLSTATE of an error: 57P03 if the server is not ready, 58000 if a system that it uses fails."""
    if error.condition in _STATES:
        return _STATES[error.condition]
    if error.code // 10_000 == 4:
        return "42000"
    return "57P03" if error.code // 100 == 503 else "58000"


def error_fields(error: KsqlError, statement: PgStatement | None) -> dict[str, str]:
    """An error as the fields of an ErrorResponse, with its place in the client's text."""
    state = _sqlstate(error)
    message = CANCELLED if error.condition == "STATEMENT_CANCELLED" else error.again().message
    fields = {"S": "ERROR", "V": "ERROR", "C": state, "M": message}
    at = error.position
    if error.condition == "SYNTAX":
        at, fields["M"] = _place(fields["M"])
    if at is not None and statement is not None and not statement.is_moved:
        before = 0
        for _ in range(at.line - 1):
            before = statement.text.find("\n", before) + 1
        fields["P"] = str(statement.piece.start + before + at.column)
    return fields


def _place(message: str) -> tuple[Position | None, str]:
    """The place of a syntax error, and what is wrong, without the line and its caret."""
    head, _, reason = message.partition("\n")
    numbers = head.removeprefix("line ").split(":")[:2]
    if not head.startswith("line ") or not all(number.isdecimal() for number in numbers):
        return None, message
    return Position(int(numbers[0]), int(numbers[1]), 1), reason.partition("\n")[0]
