"""Classifies a text of a PostgreSQL client, by rules over the tokens of the grammar's scanner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark import deadline
from ksql_spark.errors import KsqlError
from ksql_spark.grammar import ParseFailed, Rules, StatementText, pieces, tokens
from ksql_spark.grammar.cursor import Cursor
from ksql_spark.server.postgres.catalog.catalog import is_function
from ksql_spark.server.postgres.catalog.queries import is_for_engine
from ksql_spark.server.postgres.text.inserts import read_insert
from ksql_spark.server.postgres.text.labels import labels
from ksql_spark.server.postgres.text.relations import relations
from ksql_spark.server.postgres.text.respelling import Respelt, respelt, word, word_at
from ksql_spark.server.postgres.text.trees import tree_of
from ksql_spark.server.postgres.values.failures import REFUSED, Failure
from ksql_spark.server.postgres.values.names import is_name, name_of
from ksql_spark.server.postgres.wire.copying import copy_options

#: the maximum bytes of a statement, which the command log would not take either
MAX_BYTES = 1_000_000
#: the highest number of a parameter: the protocol counts them in two bytes
_MAX_PARAMETERS = 65_535
_LOCAL = frozenset((
    "BEGIN", "START", "COMMIT", "END", "SAVEPOINT", "RELEASE", "UNLISTEN", "LOCK", "CHECKPOINT", "VACUUM",
    "ANALYZE", "REINDEX", "CLUSTER",
))  # fmt: skip
#: objects that are in the tags of CREATE, DROP and ALTER
_TAGGED = frozenset(("STREAM", "TABLE", "CONNECTOR", "TYPE"))
#: what follows FOR in a query that locks rows
_LOCKS = frozenset(("UPDATE", "SHARE", "NO", "KEY"))
#: the tag of an INSERT … SELECT that starts a query
_STARTS = "INSERT 0 0"
_LOCAL_TAGS = {"START": "BEGIN", "END": "COMMIT"}
#: SHOW of KSQL; any other word is one of PostgreSQL's settings
_LISTS = frozenset((
    "streams", "tables", "topics", "queries", "functions", "properties", "types", "variables", "connectors",
))  # fmt: skip


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
    #: rows of the client for a stream or table
    COPY_IN = auto()
    #: an INSERT of what a query returns now
    INSERT = auto()
    PREPARE = auto()
    EXECUTE = auto()


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
        labels: the names of a query's columns that have no alias, as `labels` returns them.
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
    labels: tuple[str, ...] = ()

    @property
    def is_read(self) -> bool:
        """Whether it is a query, or explains one."""
        words = self.text.split(None, 2) if self.tag == "EXPLAIN" else []
        is_explained = len(words) > 1 and words[1].upper() in ("SELECT", "WITH", "VALUES", "TABLE")
        return self.kind == Kind.QUERY or is_explained

    @property
    def changes_rows(self) -> bool:
        """Whether it changes rows now, and starts no query."""
        return self.tag in ("UPDATE", "DELETE") or (self.tag.startswith("INSERT") and self.tag != _STARTS)

    @property
    def has_casts(self) -> bool:
        """Whether parameters are cast in the text for the engine."""
        return self.respelt is not None and bool(self.respelt.casts)

    def for_values(self, arguments: Sequence[Any]) -> str:
        """The text for the engine, with these values of parameters."""
        return self.text if self.respelt is None else self.respelt.for_values(arguments)

    def without_tree(self) -> PgStatement:
        """The statement without its tokens and tree, which take some hundred times the memory of its text."""
        piece = replace(self.piece, tokens=self.piece.tokens[:1], whole="")
        return replace(self, piece=piece, tree=None, inner=self.inner.without_tree() if self.inner else None)


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


def next_statement(pieces: Iterator[StatementText]) -> PgStatement | None:
    """Classify the next of some statements, or None. Raises as `statement`."""
    piece = next(pieces, None)
    return None if piece is None else statement(piece)


def statement_of(text: str) -> PgStatement:
    """Classify the first statement of a text."""
    piece = next(split(text), None)
    return PgStatement(Kind.EMPTY, "") if piece is None else statement(piece)


def catalog_tree(compact: PgStatement) -> exp.Expr | None:
    """The tree of a query for the catalog; None if it cannot be read."""
    return compact.tree or statement_of(compact.text).tree


def statement(piece: StatementText) -> PgStatement:
    """Classify a statement.

    Raises:
        KsqlError: SYNTAX.
        Failure: a parameter has no possible number.
    """
    parameters = _parameters(piece.tokens)
    classified = _kind_of(piece)
    return replace(
        classified, parameters=parameters, piece=piece, is_moved=classified.is_moved or bool(parameters)
    )


def _parameters(tokens: Sequence[Token]) -> tuple[int, ...]:
    numbers = set()
    for token in tokens:
        if token.token_type == TokenType.PLACEHOLDER:
            digits = token.text.lstrip("0")
            if not 0 < len(digits) < 6 or int(digits) > _MAX_PARAMETERS:
                raise Failure("42P02", f"There is no parameter ${token.text[:20]}.")
            numbers.add(int(digits))
    return tuple(sorted(numbers))


def _kind_of(piece: StatementText) -> PgStatement:
    first = word(piece.tokens[0])
    second = piece.tokens[1] if len(piece.tokens) > 1 else None
    is_property = second is not None and second.token_type == TokenType.STRING
    if (reason := _refusal(piece)) is not None:
        raise Failure("0A000", reason)
    if (rule := _RULES.get(first)) is not None and not (first == "SET" and is_property):
        return _read(piece, rule)
    if first in _LOCAL and not (first == "SET" and is_property):
        return PgStatement(Kind.LOCAL, piece.text, _LOCAL_TAGS.get(first, first))
    if piece.is_query or first in ("VALUES", "TABLE"):
        return _query(piece)
    if first == "PRINT":
        return _ksql(Kind.QUERY, piece, "SELECT")
    classified = _ksql(Kind.STATEMENT, piece, _tag(piece))
    if piece.setting is not None:
        name, value = piece.setting
        return replace(classified, details={"property": name, "value": value})
    return classified


def _refusal(piece: StatementText) -> str | None:
    """Why a statement that PostgreSQL has is not there, or None if it may be."""
    words = [word(token) for token in piece.tokens[:3]] + ["", "", ""]
    match words[:3]:
        case ["CREATE", "TEMP" | "TEMPORARY" | "UNLOGGED", _]:
            return f"{words[1]} is not supported: a table is a topic, which stays. Leave the word out."
        case ["CREATE" | "DROP", "EXTENSION", _]:
            return "There are no extensions."
        case ["PREPARE", "TRANSACTION", _] | ["COMMIT" | "ROLLBACK", "PREPARED", _]:
            return "Transactions of two phases are not supported."
        case ["SET", "ROLE", role] | ["SET", "SESSION", "AUTHORIZATION" as role] if role not in (
            "NONE", "DEFAULT",
        ):  # fmt: skip
            return "A connection keeps its user's rights. Connect as another user instead."
    if piece.is_query or words[0] == "INSERT":
        for at, token in enumerate(piece.tokens):
            if token.text == "FOR" and piece.is_query and word_at(piece.tokens, at + 1) in _LOCKS:
                return "No row can be locked: leave FOR UPDATE, or FOR SHARE, out."
            if token.text == "CONFLICT" and words[0] == "INSERT" and word_at(piece.tokens, at - 1) == "ON":
                return "Leave ON CONFLICT out: in a table, a row replaces the one that has its key."
    return REFUSED.get(words[0])


def _query(piece: StatementText) -> PgStatement:
    if before_emit(piece.tokens) is None:
        named = [one for one in relations(piece) if not one.is_own]
        is_catalogs = any(one.is_catalogs for one in named)
        if not named or is_catalogs:
            tree = tree_of(piece, piece.tokens)
            is_own = tree is None or is_catalogs or not is_for_engine(tree, is_function)
            if is_own and (tree is not None or is_catalogs):
                return PgStatement(Kind.CATALOG, piece.text, "SELECT", tree=tree)
    return replace(_ksql(Kind.QUERY, piece, "SELECT"), labels=tuple(labels(piece.tokens)))


def before_emit(tokens: Sequence[Token]) -> Sequence[Token] | None:
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
    if piece.verb in ("CREATE", "DROP", "ALTER") and piece.object in _TAGGED:
        return f"{piece.verb} {piece.object}"
    return word(piece.tokens[0])


# ---- what is not for the engine --------------------------------------------------------------------------


class _Reader(Cursor):
    """Reads the statements that are answered here."""

    piece: StatementText

    def declare(self) -> PgStatement:
        """DECLARE name … CURSOR … FOR query."""
        self.expect_word("DECLARE")
        name = self._name()
        while self.one_of("BINARY", "ASENSITIVE", "INSENSITIVE") or self.word("NO", "SCROLL"):
            pass
        if self.is_word("SCROLL"):
            raise Failure("0A000", "SCROLL is not supported: a cursor goes forward only. Leave the word out.")
        self.expect_word("CURSOR")
        is_held = self.word("WITH", "HOLD")
        if not is_held:
            self.word("WITHOUT", "HOLD")
        self.expect_word("FOR")
        inner = self._inner(self.at, len(self._tokens))
        self.skip(len(self._tokens) - self.at)
        return self._statement(Kind.DECLARE, inner, name=name, is_held=is_held)

    def fetch(self) -> PgStatement:
        """FETCH or MOVE [FORWARD | NEXT] [count | ALL] [FROM | IN] name [WITH (timeout = '1s')]."""
        verb = self.expect_one_of("FETCH", "MOVE")
        if self.is_word(*_BACKWARD) or self.is_symbol(TokenType.DASH):
            raise Failure("0A000", f"A cursor goes forward only: {verb} [n | ALL] FROM name.")
        self.one_of("FORWARD", "NEXT")
        count: int | None = 1
        if self.is_symbol(TokenType.NUMBER):
            count = self.whole_number(2**63 - 1)
        elif self.word("ALL"):
            count = None
        self.one_of("FROM", "IN")
        name = self._name()
        timeout_s = self.bracketed(self._timeout) if self.word("WITH") else None
        fetch = self._statement(Kind.FETCH, name=name, count=count, timeout_s=timeout_s)
        return replace(fetch, tag=verb)

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
        """CLOSE name | ALL."""
        self.expect_word("CLOSE")
        return self._statement(Kind.CLOSE, name=None if self.word("ALL") else self._name())

    def copy_(self) -> PgStatement:
        """COPY (query) | name [(columns)] TO STDOUT | FROM STDIN options."""
        self.expect_word("COPY")
        inner: PgStatement | None = None
        if self.is_symbol(TokenType.L_PAREN):
            inner = self._inner(self.at + 1, self._skip_brackets() - 1)
        else:
            first = self.at
            while not self.is_word("FROM", "TO") and not self.at_end():
                self._skip_brackets()
            if self.is_word("FROM"):
                return self._copied_in(first)
            inner = self._selected(first)
        self.expect_word("TO")
        if not self.word("STDOUT"):
            raise Failure("0A000", "COPY writes to STDOUT only.")
        options = self._tokens[self.at :]
        self.skip(len(options))
        return self._statement(Kind.COPY, inner, options=copy_options(options))

    def _copied_in(self, first: int) -> PgStatement:
        """FROM STDIN options, behind ``name [(columns)]``."""
        opened, last = self._split_target(first)
        columns = tuple(
            name_of(one, self._whole) for one in self._tokens[opened + 1 : self.at - 1] if is_name(one)
        )
        self.expect_word("FROM")
        if not self.word("STDIN"):
            raise Failure("0A000", "COPY reads from STDIN only. In psql, \\copy reads a file.")
        options = self._tokens[self.at :]
        self.skip(len(options))
        copy = self._statement(
            Kind.COPY_IN,
            target=name_of(self._tokens[last], self._whole),
            columns=columns,
            options=copy_options(options),
        )
        return replace(copy, tag="COPY")

    def _split_target(self, first: int) -> tuple[int, int]:
        """Where the columns of ``name (columns)`` open, and the last token of the name."""
        opened = next(
            (at for at in range(first, self.at) if self._tokens[at].token_type == TokenType.L_PAREN), self.at
        )
        if first == opened:
            self.fail("COPY takes a table, or a query in parentheses")
        return opened, opened - 1

    def _selected(self, first: int) -> PgStatement:
        """``SELECT columns FROM table`` for what is from a token on: ``table (columns)``."""
        opened, _ = self._split_target(first)
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
        return self._statement(Kind.SHOW, name=spaced or name)

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
        return self._statement(Kind.LOCAL, name=name, value=value)

    def insert(self) -> PgStatement:
        """INSERT: of rows, or of what a query returns; a query that goes on is the engine's."""
        is_continuous = before_emit(self._tokens) is not None
        read = read_insert(self.piece, is_continuous)
        if read is None:
            return self.other(Kind.STATEMENT, _STARTS)
        if read.query is None:
            made = self.other(Kind.STATEMENT, f"INSERT 0 {read.rows}")
            return replace(made, details={"insert": read} if read.returned else {})
        inner = self._inner(*read.query)
        self.skip(len(self._tokens) - self.at)
        return self._statement(Kind.INSERT, inner, target=read.target, columns=read.columns)

    def explain(self) -> PgStatement:
        """EXPLAIN, with PostgreSQL's options that change nothing here."""
        at = self.at + 1
        if word_at(self._tokens, at) == "(" and word_at(self._tokens, at + 1) in _EXPLAIN_OPTIONS:
            self.skip(1)
            end = self._skip_brackets()
        else:
            end = at
            while word_at(self._tokens, end) in ("VERBOSE", "ANALYZE", "ANALYSE"):
                end += 1
        options = [word(one) for one in self._tokens[at:end]]
        if "ANALYZE" in options or "ANALYSE" in options:
            raise Failure("0A000", "EXPLAIN runs nothing: leave ANALYZE out.")
        if {"JSON", "XML", "YAML"} & set(options):
            raise Failure("0A000", "EXPLAIN has the format TEXT only.")
        if end > at:
            piece = replace(self.piece, tokens=(*self._tokens[:1], *self._tokens[end:]))
            self.skip(len(self._tokens) - self.at)
            return replace(_ksql(Kind.STATEMENT, piece, "EXPLAIN"), is_moved=True)
        return self.other(Kind.STATEMENT, "EXPLAIN")

    def prepare(self) -> PgStatement:
        """PREPARE name [(types)] AS statement."""
        self.expect_word("PREPARE")
        name = self._name()
        types: tuple[str, ...] = ()
        if self.is_symbol(TokenType.L_PAREN):
            first = self.at
            self._skip_brackets()
            types = tuple(one.strip() for one in self._text_of(first + 1, self.at - 1).split(","))
        self.expect_word("AS")
        text = self._text_of(self.at, len(self._tokens))
        self.skip(len(self._tokens) - self.at)
        return self._statement(Kind.PREPARE, name=name, types=types, text=text)

    def execute(self) -> PgStatement:
        """EXECUTE name [(literals)]."""
        self.expect_word("EXECUTE")
        name = self._name()
        if [word_at(self._tokens, self.at + place) for place in (0, 1)] == ["(", ")"]:
            self.skip(2)
        arguments = tuple(self.bracketed(lambda: self.listed(self._literal))) if not self.at_end() else ()
        return self._statement(Kind.EXECUTE, name=name, arguments=arguments)

    def _literal(self) -> str | None:
        """A literal as text, with or without a cast, or None for NULL."""
        sign = "-" if self.symbol(TokenType.DASH, "-") else ""
        token = self._curr
        if not (self.is_symbol(TokenType.STRING) or self.is_symbol(TokenType.NUMBER)) and not (
            self.is_word("NULL", "TRUE", "FALSE")
        ):
            self.fail("EXECUTE takes literals: numbers, texts in quotes, TRUE, FALSE and NULL")
        value = None if self.is_word("NULL") else sign + token.text
        self.skip(1)
        if self.symbol(TokenType.DCOLON, "::"):
            self.skip(1)
            while not (self.at_end() or self.is_symbol(TokenType.COMMA) or self.is_symbol(TokenType.R_PAREN)):
                self._skip_brackets()
        return value

    def truncate(self) -> PgStatement:
        """TRUNCATE name, with PostgreSQL's words behind it that change nothing here."""
        tokens = list(self._tokens)
        while len(tokens) > 2 and word(tokens[-1]) in ("RESTRICT", "IDENTITY", "CONTINUE", "RESTART"):
            tokens.pop()
        self.skip(len(self._tokens) - self.at)
        end = tokens[-1].end + 1 - self.piece.tokens[0].start
        piece = replace(self.piece, tokens=tuple(tokens), text=self.piece.text[:end])
        return _ksql(Kind.STATEMENT, piece, "TRUNCATE")

    def rollback(self) -> PgStatement:
        """ROLLBACK of a transaction; any other one, and ABORT EVOLUTION, is KSQL's."""
        following = word_at(self._tokens, 1)
        place = 2 if following in ("WORK", "TRANSACTION") else 1
        ends = len(self._tokens) == place or word_at(self._tokens, place) == "AND"
        if ends or word_at(self._tokens, place) == "TO":
            self.skip(len(self._tokens) - self.at)
            return self._statement(Kind.LOCAL, tag="ROLLBACK", is_partial=not ends)
        return self.other(Kind.STATEMENT, word(self._tokens[0]))

    def last(self) -> PgStatement:
        """RESET name, DISCARD ALL, DEALLOCATE name."""
        self.skip(1)
        if len(self._tokens) - self.at > 1:
            self.word("PREPARE")
        name = self._text_of(self.at, len(self._tokens)).strip('"')
        self.skip(len(self._tokens) - self.at)
        return self._statement(Kind.LOCAL, name=name)

    def _joins(self) -> bool:
        """Whether a name goes on here."""
        return self.is_symbol(TokenType.DOT) or self.is_symbol(TokenType.DOT, -1)

    def _statement(self, kind: Kind, inner: PgStatement | None = None, **details: Any) -> PgStatement:
        tag = details.pop("tag", word(self.piece.tokens[0]) if kind == Kind.LOCAL else kind.name)
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


_BACKWARD = ("BACKWARD", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE")
_EXPLAIN_OPTIONS = frozenset((
    "ANALYZE", "VERBOSE", "COSTS", "SETTINGS", "GENERIC_PLAN", "BUFFERS", "WAL", "TIMING", "SUMMARY",
    "FORMAT",
))  # fmt: skip
_RULES = {
    "DECLARE": _Reader.declare, "FETCH": _Reader.fetch, "MOVE": _Reader.fetch, "CLOSE": _Reader.close,
    "COPY": _Reader.copy_, "SHOW": _Reader.show, "SET": _Reader.set_, "RESET": _Reader.last,
    "DISCARD": _Reader.last, "DEALLOCATE": _Reader.last, "PREPARE": _Reader.prepare,
    "EXECUTE": _Reader.execute, "ROLLBACK": _Reader.rollback, "ABORT": _Reader.rollback,
    "INSERT": _Reader.insert, "EXPLAIN": _Reader.explain, "TRUNCATE": _Reader.truncate,
}  # fmt: skip


def _read(piece: StatementText, rule: Any) -> PgStatement:
    reader = _Reader()
    reader.piece = piece
    try:
        read: PgStatement = reader.run(piece.tokens, piece.whole, rule)
    except ParseFailed as failed:
        raise KsqlError("SYNTAX", reason=str(failed), statement=failed.text) from None
    return read
