"""What a text of a PostgreSQL client is, and the KSQL that it stands for.

Names: PostgreSQL's clients write names without quotes in any case, and with quotes as the catalog shows them.
Ours are in upper case unless they were quoted. So the catalog shows RIDES as rides (and rides as RIDES), and
a quoted name in lower case is ours in upper case; a name in both cases stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ksql_spark.errors import KsqlError, Position
from ksql_spark.grammar.words import RESERVED

#: the one database, and its schema with all streams and tables
DATABASE, SCHEMA = "ksql", "public"
#: schemas whose relations only the catalog has
_CATALOG = re.compile(r"\b(pg_catalog|information_schema|pg_[a-z_]+)\b", re.IGNORECASE)
_PUSH = re.compile(r"\bEMIT\s+(CHANGES|FINAL)\b(\s+LIMIT\s+\d+)?\s*$", re.IGNORECASE)
_PROPERTY = re.compile(r"^(SET|UNSET)\s+'", re.IGNORECASE)
_LOCAL = re.compile(
    r"^(BEGIN|START\s+TRANSACTION|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|SET|RESET|DISCARD|DEALLOCATE|LISTEN|"
    r"UNLISTEN|LOCK|CHECKPOINT|VACUUM|ANALYZE)\b",
    re.IGNORECASE,
)
_SHOW = re.compile(
    r"^SHOW\s+(?P<name>[a-z_][a-z_.]*|transaction\s+isolation\s+level|time\s+zone)$", re.IGNORECASE
)
_DECLARE = re.compile(
    r"^DECLARE\s+(?P<name>\"[^\"]+\"|\w+)\s+(?:BINARY\s+|ASENSITIVE\s+|INSENSITIVE\s+|NO\s+SCROLL\s+|SCROLL\s+)*CURSOR\s+"
    r"(?:WITH(?:OUT)?\s+HOLD\s+)?FOR\s+(?P<query>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_FETCH = re.compile(
    r"^(?:FETCH|MOVE)\s+(?:FORWARD\s+|NEXT\s*)?(?P<count>\d+|ALL)?\s*(?:FROM\s+|IN\s+)?(?P<name>\"[^\"]+\"|\w+)"
    r"(?:\s+WITH\s*\(\s*timeout\s*=?\s*'(?P<timeout>[\d.]+)\s*(?P<unit>m?)s(?:econds?)?'\s*\))?$",
    re.IGNORECASE,
)
_CLOSE = re.compile(r"^CLOSE\s+(?P<name>\"[^\"]+\"|\w+)$", re.IGNORECASE)
_COPY = re.compile(
    r"^COPY\s+(?:\((?P<query>.*)\)|(?P<table>[\w.\"]+)\s*(?:\((?P<columns>[^)]*)\))?)\s+(?P<direction>FROM|TO)\s+"
    r"(?P<place>STDIN|STDOUT|(?:PROGRAM\s+)?'[^']*')(?P<options>.*)$",
    re.IGNORECASE | re.DOTALL,
)
#: a parameter that is a number of rows
LIMIT = -1
#: what is quoted or a comment: parameters do not stand there
_SKIPPED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/"""
#: parameters as clients write them, and as KSQL has them, behind what is skipped
_LEXEME = re.compile(rf"{_SKIPPED}|\$(\d{{1,5}})\b", re.DOTALL)
_PLACES = re.compile(rf"{_SKIPPED}|:p(\d{{1,5}})\b", re.DOTALL)
_NAMED = re.compile(r":p(\d{1,5})\b")
#: how deep casts and ILIKE may stand in each other
_MAX_NESTED = 50
#: a parameter that is cast
_CAST_PARAMETER = re.compile(r"CAST\((:p(\d{1,5})) AS (\w+|ARRAY<\w+>)\)")
#: the types of values that need no cast
_OF_TYPE: dict[str, type] = {
    "INT": int, "INTEGER": int, "BIGINT": int, "DOUBLE": float, "VARCHAR": str, "BOOLEAN": bool,
}  # fmt: skip
#: SHOW of KSQL; any other word is one of PostgreSQL's settings
_LISTS = frozenset(
    (
        "streams",
        "tables",
        "topics",
        "queries",
        "functions",
        "properties",
        "types",
        "variables",
        "connectors",
        "all",
    )
)


class Kind(Enum):
    """What becomes of a statement."""

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
        parameters: the numbers of the client's parameters in the text, ``$1``, which it has as ``:p1``.
        is_moved: whether places in the text are no longer those of the client's text.
        details: named parts of it.
        tree: of a query for the catalog.
    """

    kind: Kind
    text: str
    tag: str = ""
    parameters: tuple[int, ...] = ()
    is_moved: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    tree: exp.Expr | None = None


def shown_name(name: str) -> str:
    """A name of ours as PostgreSQL's clients see it; the same function leads back.

    >>> [shown_name(name) for name in ("RIDES", "rides", "Rides")]
    ['rides', 'RIDES', 'Rides']
    """
    if name == name.upper():
        return name.lower()
    return name.upper() if name == name.lower() else name


def split(text: str) -> list[str]:
    """The statements of a text, without the ``;`` between them and what is empty.

    >>> split("SELECT ';' ; -- nothing; \\n SHOW x;")
    ["SELECT ';'", 'SHOW x']
    """
    found = _tokens(text)
    if found is None:
        return [text.strip().rstrip(";").strip()] if text.strip().strip(";") else []
    pieces, first = [], None
    for token in found:
        if token.token_type == TokenType.SEMICOLON:
            if first is not None:
                pieces.append(text[first : token.start].rstrip())
            first = None
        elif first is None:
            first = token.start
    if first is not None:
        pieces.append(text[first : found[-1].end + 1])
    return pieces


def statement_of(text: str) -> PgStatement:
    """What a statement is.

    Args:
        text: one statement.
    """
    text = _named(text.strip().rstrip(";").strip())
    word = text.split(None, 1)[0].upper() if text else ""
    if not word:
        return PgStatement(Kind.EMPTY, "")
    for kind, pattern in (
        (Kind.DECLARE, _DECLARE),
        (Kind.FETCH, _FETCH),
        (Kind.CLOSE, _CLOSE),
        (Kind.COPY, _COPY),
    ):
        if (found := pattern.match(text)) is not None:
            details = found.groupdict()
            details["name"] = _cursor(details.get("name") or "")
            return PgStatement(kind, text, kind.name, details=details)
    if _LOCAL.match(text) and not _PROPERTY.match(text):
        return PgStatement(Kind.LOCAL, text, _local_tag(word))
    if (found := _SHOW.match(text)) is not None and found["name"].lower() not in _LISTS:
        return PgStatement(Kind.SHOW, text, "SHOW", details={"name": _setting(found["name"])})
    if word in ("SELECT", "WITH", "VALUES", "TABLE", "("):
        tree = None if _PUSH.search(text) else _parsed(text)
        if _is_catalogs(text, tree):
            return PgStatement(Kind.CATALOG, text, "SELECT", tree=tree)
        return _ksql(Kind.QUERY, text, "SELECT")
    if word == "PRINT":
        return _ksql(Kind.QUERY, text, "SELECT")
    return _ksql(Kind.STATEMENT, text, _tag(text))


def _is_catalogs(text: str, tree: exp.Expr | None) -> bool:
    """Whether a query is about what there is, or about nothing: the catalog answers it."""
    if tree is None:
        return _CATALOG.search(text) is not None and _PUSH.search(text) is None
    own = {cte.alias_or_name.lower() for cte in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if table.name and table.name.lower() not in own]
    if not tables:
        return True
    return any(
        table.db.lower() in ("pg_catalog", "information_schema")
        or (not table.db and table.name.startswith("pg_"))
        for table in tables
    )


def _ours(identifier: exp.Expr) -> str:
    """The name of ours that an identifier of PostgreSQL's stands for."""
    name = str(identifier.name)
    return shown_name(name) if identifier.args.get("quoted") else name.upper()


def _ksql(kind: Kind, text: str, tag: str) -> PgStatement:
    spelt = _spelt(text)
    parameters = tuple(sorted({int(found[1]) for found in _PLACES.finditer(spelt) if found[1]}))
    is_moved = spelt != text or bool(parameters)
    return PgStatement(kind, _renamed(spelt) + ";", tag, parameters, is_moved)


#: types that KSQL spells in another way
_TYPES = {
    "TEXT": "VARCHAR", "VARCHAR": "VARCHAR", "CHARACTER VARYING": "VARCHAR", "CHARACTER": "VARCHAR",
    "CHAR": "VARCHAR", "BPCHAR": "VARCHAR", "NAME": "VARCHAR", "SMALLINT": "INT", "INT2": "INT",
    "INT4": "INT", "INT8": "BIGINT", "REAL": "DOUBLE", "FLOAT": "DOUBLE", "FLOAT4": "DOUBLE",
    "FLOAT8": "DOUBLE", "DOUBLE PRECISION": "DOUBLE", "NUMERIC": "DECIMAL", "BOOL": "BOOLEAN",
    "BYTEA": "BYTES", "TIMESTAMPTZ": "TIMESTAMP", "JSON": "VARIANT", "JSONB": "VARIANT",
}  # fmt: skip
_NOW = "FROM_UNIXTIME(UNIX_TIMESTAMP())"
_CLOSED_BY = {"(": ")", "[": "]", "CASE": "END"}
_OPENED_BY = {last: first for first, last in _CLOSED_BY.items()}
#: words before a parenthesis that is no call's
_BEFORE_OPERAND = {
    "ALL", "AND", "ANY", "BETWEEN", "BY", "CASE", "DISTINCT", "ELSE", "FROM", "HAVING", "ILIKE", "IN", "IS",
    "LIKE", "LIMIT", "NOT", "ON", "OR", "QUALIFY", "SELECT", "THEN", "VALUES", "WHEN", "WHERE",
}  # fmt: skip
#: what an operand of ILIKE ends at
_AROUND_ILIKE = _BEFORE_OPERAND | {
    "AS", "EMIT", "END", "ESCAPE", "GROUP", "INTO", "ORDER", "PARTITION", "WINDOW", "WITHIN", ",", ";", "(",
    ")", "[", "]", "=", "<>", "!=", "<", ">", "<=", ">=", "=>", ":=",
}  # fmt: skip


def _spelt(text: str) -> str:
    """A text with PostgreSQL's casts, ILIKE and now() as KSQL spells them; all else is as it was."""
    for _ in range(_MAX_NESTED):
        found = _tokens(text)
        written = [] if found is None else _outermost(text, found)
        if not written:
            break
        parts, at = [], 0
        for start, end, new in written:
            parts += [text[at:start], new]
            at = end
        text = "".join([*parts, text[at:]])
    return text


def _outermost(text: str, found: list[Token]) -> list[tuple[int, int, str]]:
    """What is respelt in places that do not overlap: where each begins and ends, and KSQL for it."""
    written: list[tuple[int, int, str]] = []
    end = 0
    for at, token in enumerate(found):
        one = _respelt(text, found, at, token)
        if one is not None and found[one[0]].start >= end:
            end = found[one[1]].end + 1
            written.append((found[one[0]].start, end, one[2]))
    return written


def _respelt(text: str, found: list[Token], at: int, token: Token) -> tuple[int, int, str] | None:
    """The first and the last of the tokens that a token's operator is over, and KSQL for them."""

    def between(first: int, last: int) -> str:
        return text[found[first].start : found[last].end + 1]

    last = len(found) - 1
    if token.token_type == TokenType.DCOLON and 0 < at < last:
        first = _operand_start(found, at - 1)
        last, type_ = _type_at(found, at + 1, between)
        is_given = found[first].token_type == TokenType.COLON or found[at - 1].token_type == TokenType.STRING
        if type_ == "VARIANT" and is_given:  # the JSON that a text has, not a JSON text
            return first, last, f"PARSE_JSON({between(first, at - 1)})"
        return first, last, f"CAST({between(first, at - 1)} AS {type_})"
    words = [_word(one) for one in found[at : at + 3]]
    if words == ["=", "ANY", "("] and at > 0 and _word(found[min(at + 3, last)]) != "SELECT":
        first, end = _operand_start(found, at - 1), _end(found, at + 2)
        return first, end, f"ARRAY_CONTAINS({between(at + 3, end - 1)}, {between(first, at - 1)})"
    if token.token_type == TokenType.ILIKE and 0 < at < last:
        is_negated = _word(found[at - 1]) == "NOT"
        first = end = at - (2 if is_negated else 1)
        while first > 0 and _word(found[start := _start(found, first) - 1]) not in _AROUND_ILIKE:
            first = start
        first = _start(found, first)
        last = _end(found, at + 1)
        while last < len(found) - 1 and _word(found[last + 1]) not in _AROUND_ILIKE - {"(", "["}:
            last = _end(found, last + 1)
        word = "NOT LIKE" if is_negated else "LIKE"
        return first, last, f"LCASE({between(first, end)}) {word} LCASE({between(at + 1, last)})"
    is_called = [_word(one) for one in found[at + 1 : at + 3]] == ["(", ")"]
    if token.token_type == TokenType.CURRENT_TIMESTAMP or (_word(token) == "NOW" and is_called):
        return at, at + 2 if is_called else at, _NOW
    return None


def _word(token: Token) -> str:
    """A token in upper case; nothing for what is quoted."""
    quoted = (TokenType.IDENTIFIER, TokenType.STRING)
    return "" if token.token_type in quoted else token.text.upper().split(None, 1)[0]


def _start(found: list[Token], at: int) -> int:
    """Where a parenthesis, a bracket or a CASE begins that ends at a token; else the token."""
    if (opened := _OPENED_BY.get(last := _word(found[at]))) is None:
        return at
    depth = 0
    for start in range(at, -1, -1):
        depth += (_word(found[start]) == last) - (_word(found[start]) == opened)
        if depth == 0:
            return start
    return 0


def _end(found: list[Token], at: int) -> int:
    """Where a parenthesis, a bracket or a CASE ends that begins at a token; else the token."""
    if (closed := _CLOSED_BY.get(first := _word(found[at]))) is None:
        return at
    depth = 0
    for end in range(at, len(found)):
        depth += (_word(found[end]) == first) - (_word(found[end]) == closed)
        if depth == 0:
            return end
    return len(found) - 1


def _operand_start(found: list[Token], at: int) -> int:
    """Where the operand begins that ends at a token: a name, a literal, a call, members of these."""
    while True:
        is_index, is_call = _word(found[at]) == "]", _word(found[at]) == ")"
        at = _start(found, at)
        if at == 0:
            return 0
        before = found[at - 1]
        is_name = _is_name(before)
        if (is_index and (is_name or _word(before) in (")", "]"))) or (is_call and is_name):
            at -= 1
            if _word(found[at]) in (")", "]"):
                continue
        if at > 0 and found[at - 1].token_type in (TokenType.DOT, TokenType.ARROW):
            at -= 2
            continue
        if at == 0 or found[at - 1].token_type != TokenType.COLON:
            return at
        if not _is_path(found, at - 1):
            return at - 1  # a parameter
        at -= 2


def _is_path(found: list[Token], colon: int) -> bool:
    """Whether a colon is behind a value: it begins a path into JSON, and no parameter."""
    before = found[colon - 1]
    if colon == 0 or before.end + 1 != found[colon].start:
        return False
    return before.token_type == TokenType.STRING or _is_name(before) or _word(before) in (")", "]")


def _is_name(token: Token) -> bool:
    """Whether a token is a name, quoted or not, or looks like one: a function's, or a type's."""
    if token.token_type == TokenType.IDENTIFIER:
        return True
    return re.fullmatch(r"\w+", token.text) is not None and _word(token) not in ("", *_BEFORE_OPERAND)


def _type_at(found: list[Token], at: int, between: Callable[[int, int], str]) -> tuple[int, str]:
    """The last token of a type, and the type as KSQL spells it."""
    words = [_word(one) for one in found] + [""] * 5
    if words[at + 1] == ".":  # its schema
        at += 2
    name = " ".join(found[at].text.upper().split())
    last = at
    if words[at + 1] in ("PRECISION", "VARYING"):
        name, last = f"{name} {words[at + 1]}", at + 1
    if words[at] in ("ARRAY", "MAP", "STRUCT") and words[at + 1] == "<":
        depth = 0
        for last in range(at + 1, len(found)):
            depth += (words[last] == "<") - words[last].count(">")
            if depth <= 0:
                break
        name = between(at, last)
    type_ = _TYPES.get(name, name)
    if words[last + 1] == "(":
        first, last = last + 1, _end(found, last + 1)
        type_ += between(first, last) if type_ == "DECIMAL" else ""
    if words[last + 1] in ("WITH", "WITHOUT") and words[last + 2 : last + 4] == ["TIME", "ZONE"]:
        last += 3
    while words[last + 1] == "[":
        last = _end(found, last + 1)
        type_ = f"ARRAY<{type_}>"
    return last, type_


def _renamed(text: str) -> str:
    """A text with names as KSQL writes them. If no name grows, places in it stay the same."""
    found = _tokens(text)
    if found is None:
        return text
    parts: list[str] = []
    at = 0
    before = None
    for token, following in zip(found, [*found[1:], None], strict=True):
        start, end = token.start, token.end + 1
        if start < at:  # it belongs to what has been written
            continue
        is_quoted = token.token_type == TokenType.IDENTIFIER and text[start] == '"'
        is_schema = token.text.lower() in (SCHEMA, DATABASE) and before != TokenType.DOT
        before = token.token_type
        written = None
        if following is not None and following.token_type == TokenType.DOT and is_schema:
            end = following.end + 1
            written = ""
            before = None
        elif is_quoted:
            written = _written(token.text)
        if written is not None:
            parts += [text[at:start], written.ljust(end - start)]
            at = end
    return "".join([*parts, text[at:]])


def _written(name: str) -> str:
    """A quoted name as KSQL writes it."""
    ours = shown_name(name)
    if re.fullmatch(r"[A-Z_][A-Z0-9_]*", ours) and ours not in RESERVED:
        return ours
    return "`" + ours.replace("`", "``") + "`"


class _Dialect(Postgres):  # type: ignore[misc]
    class Tokenizer(Postgres.Tokenizer):  # type: ignore[misc]
        #: KSQL quotes names in backquotes, too
        IDENTIFIERS: ClassVar = ['"', "`"]


def _tokens(text: str) -> list[Token] | None:
    try:
        return list(_Dialect().tokenize(text))
    except SqlglotError:
        return None


#: what PostgreSQL reads and sqlglot does not, and what it can read instead
_UNREADABLE = (
    # any word behind AS is an alias
    (re.compile(r"\bAS\s+(SELECT|INSERT|UPDATE|DELETE|TABLE)(?=\s*(?:,|\)|FROM\b))", re.I), r'AS "\1"'),
    # arrays of types of the catalog
    (re.compile(r"::\s*(?:pg_catalog\.)?(?:reg[a-z]+|oid|name)\[\]", re.I), "::text[]"),
)


def _parsed(text: str) -> exp.Expr | None:
    import sqlglot

    readable = text
    for pattern, instead in _UNREADABLE:
        readable = pattern.sub(instead, readable)
    for tried in (text, readable):
        try:
            found = sqlglot.parse_one(tried, read="postgres")
        except (SqlglotError, RecursionError):
            continue
        return found if isinstance(found, exp.Expr) else None
    return None


def _cursor(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.lower()


def _setting(name: str) -> str:
    short = " ".join(name.lower().split())
    return {"transaction isolation level": "transaction_isolation", "time zone": "timezone"}.get(short, short)


def _local_tag(word: str) -> str:
    return {"START": "BEGIN", "END": "COMMIT", "ABORT": "ROLLBACK"}.get(word, word)


def _tag(text: str) -> str:
    words = text.upper().split()
    if words[0] == "INSERT":
        return "INSERT 0 1"
    if words[0] in ("CREATE", "DROP", "ALTER"):
        return " ".join(
            [words[0], *[word for word in words[1:6] if word in ("STREAM", "TABLE", "CONNECTOR", "TYPE")][:1]]
        )
    return words[0]


# ---- COPY -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CopyOptions:
    """How COPY writes rows; each of the texts is one that no value has without quotes or a backslash."""

    is_csv: bool = False
    has_header: bool = False
    delimiter: bytes = b"\t"
    null: bytes = b"\\N"


_OPTION = re.compile(
    r"(?P<name>[a-z_]+)(?:\s+(?:AS\s+)?(?P<value>'(?:[^']|'')*'|true|false|on|off|csv|text|xml|binary))?",
    re.I,
)


def copy_options(text: str) -> CopyOptions:
    """What stands behind TO STDOUT: ``(FORMAT csv, HEADER)``, or ``WITH CSV HEADER``.

    Raises:
        ValueError: an option that is not supported.

    >>> copy_options("(FORMAT csv, DELIMITER ';')")
    CopyOptions(is_csv=True, has_header=False, delimiter=b';', null=b'')
    """
    rest = re.sub(r"^\s*WITH\b", "", text, flags=re.IGNORECASE).strip()
    if rest.startswith("(") and rest.endswith(")"):
        rest = rest[1:-1]
    given: dict[str, str] = {}
    for found in _OPTION.finditer(rest):
        value = found["value"] or "true"
        given[found["name"].lower()] = value[1:-1].replace("''", "'") if value[0] == "'" else value.lower()
    form = "csv" if given.pop("csv", None) else given.pop("format", "text")
    header, delimiter, null = (given.pop(name, None) for name in ("header", "delimiter", "null"))
    left = re.sub(r"[\s,]", "", _OPTION.sub("", rest))
    if given or left:
        name = (next(iter(given), None) or left).upper()
        raise ValueError(f"COPY has no option {name} here: FORMAT, HEADER, DELIMITER and NULL are supported.")
    if form not in ("csv", "text"):
        raise ValueError("COPY writes FORMAT csv or text.")
    is_csv = form == "csv"
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\\'):
        raise ValueError("DELIMITER is one character.")
    return CopyOptions(
        is_csv,
        header not in (None, "false", "off"),
        (delimiter or ("," if is_csv else "\t")).encode(),
        ("" if is_csv else "\\N").encode() if null is None else null.encode(),
    )


# ---- parameters ------------------------------------------------------------------------------------------


_CAST = re.compile(r"\$(\d+)\s*::\s*(?:pg_catalog\.)?(\w+)(\s*\[\])?")


def parameter_count(text: str) -> int:
    """The highest number of a parameter in a text."""
    return max((int(number) for number in _LEXEME.findall(text) if number), default=0)


def parameter_casts(text: str) -> dict[int, str]:
    """The types to which parameters are cast by ``::``, by number."""
    return {int(found[1]): found[2] + (found[3] or "") for found in _CAST.finditer(text)}


def _named(text: str) -> str:
    """A text with ``:p1`` for ``$1``, which sqlglot takes for the beginning of a quoted text."""
    return _LEXEME.sub(lambda found: f":p{found[1]}" if found[1] else found[0], text)


def without_needless_casts(text: str, given: Sequence[Any]) -> str:
    """A text of KSQL without the casts of parameters whose values have that type already.

    A constant that is not computed is found in an index.
    """

    def replaced(found: re.Match[str]) -> str:
        number = int(found[2])
        value = given[number - 1] if number <= len(given) else None
        wanted = list if found[3].startswith("ARRAY") else _OF_TYPE.get(found[3])
        return found[1] if type(value) is wanted else found[0]

    return _CAST_PARAMETER.sub(replaced, text)


def parameter_name(number: int) -> str:
    """What a parameter is called in KSQL's text."""
    return f"p{number}"


def parameter_number(node: exp.Expr) -> int | None:
    """The number of a parameter in a tree; None: it is something else."""
    if isinstance(node, exp.Placeholder) and (found := _NAMED.fullmatch(f":{node.name}")):
        return int(found[1])
    return None


@dataclass(frozen=True)
class Elements:
    """What is compared with elements of a parameter: a column's name, or nothing."""

    column: str


def parameter_columns(text: str) -> dict[int, str | int | Elements]:
    """What parameters are compared with or inserted into: number -> the column, by name or by place from 0;
    Elements for ``= ANY ($1)``; or LIMIT.
    """
    tree = _query(text)
    found: dict[int, str | int | Elements] = {}
    for parameter in tree.find_all(exp.Placeholder) if tree is not None else ():
        number = parameter_number(parameter)
        inner: exp.Expr = parameter
        parent = parameter.parent
        while isinstance(parent, (exp.Cast, exp.Paren)):
            inner, parent = parent, parent.parent
        if number is None:
            continue
        if isinstance(parent, (exp.Limit, exp.Offset)):
            found[number] = LIMIT
        elif isinstance(parent, exp.Tuple) and isinstance(tree, exp.Insert):
            place = parent.expressions.index(inner)
            listed = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
            found[number] = _ours(listed[place]) if place < len(listed) else place
        elif isinstance(parent, exp.Any) and isinstance(parent.parent, exp.EQ):
            column = parent.parent.this
            found[number] = Elements(_ours(column.this)) if isinstance(column, exp.Column) else Elements("")
        elif isinstance(parent, (exp.Binary, exp.Between, exp.In)):
            sides = [parent.this, *parent.args.values()]
            column = next((side for side in sides if isinstance(side, exp.Column)), None)
            if column is not None:
                found[number] = _ours(column.this)
    return found


def sources_of(text: str) -> Collection[str]:
    """The sources that a statement names, by names of ours."""
    tree = _query(text)
    return [] if tree is None else [_ours(table.this) for table in tree.find_all(exp.Table) if table.name]


def _query(text: str) -> exp.Expr | None:
    """A SELECT, INSERT, UPDATE or DELETE as a tree; None for others."""
    if (declared := _DECLARE.match(text)) is not None:
        text = declared["query"]
    if not re.match(r"\s*(SELECT|WITH|INSERT|UPDATE|DELETE)\b", text, re.IGNORECASE):
        return None
    text = _named(text)
    push = _PUSH.search(text)
    return _parsed(text[: push.start()] if push else text)


# ---- errors ----------------------------------------------------------------------------------------------

_STATES = {
    "SYNTAX": "42601", "SOURCE_UNKNOWN": "42P01", "COLUMN_UNKNOWN": "42703", "FUNCTION_UNKNOWN": "42883",
    "FORBIDDEN": "42501", "NOT_READY": "57P03", "STOPPED": "57P01", "STATEMENT_TIMEOUT": "57014",
    "STATEMENT_CANCELLED": "57014", "SOURCE_EXISTS": "42P07",
}  # fmt: skip


#: a syntax error: its place, what is wrong, and the line with the caret
_SYNTAX = re.compile(r"^line (\d+):(\d+): (.*?)(?:\n  [^\n]*\n *\^+)?$", re.DOTALL)


def error_fields(error: KsqlError, statement: PgStatement | None) -> dict[str, str]:
    """An error as the fields of an ErrorResponse, with its place in the client's text."""
    state = _STATES.get(error.condition, "42000" if error.code // 100 in (400, 404) else "XX000")
    fields = {"S": "ERROR", "V": "ERROR", "C": state, "M": error.again().message}
    at = error.position
    if error.condition == "SYNTAX" and (found := _SYNTAX.match(fields["M"])) is not None:
        at = Position(int(found[1]), int(found[2]), 1)
        fields["M"] = found[3]
    if at is not None and statement is not None and not statement.is_moved:
        lines = statement.text.split("\n")
        before = sum(len(line) + 1 for line in lines[: at.line - 1])
        fields["P"] = str(before + at.column)
    return fields
