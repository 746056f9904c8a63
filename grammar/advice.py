"""Advice for what other SQL dialects, editors and haste leave in a statement."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

SET_OPERATIONS = ("UNION", "EXCEPT", "INTERSECT")
#: the order of a query's clauses
CLAUSES = (
    "FROM", "WINDOW", "WHERE", "GROUP", "PARTITION", "HAVING", "QUALIFY", *SET_OPERATIONS, "ORDER", "EMIT",
    "LIMIT", "OFFSET",
)  # fmt: skip
_ORDER = ", ".join(
    f"{clause} BY" if clause in ("GROUP", "PARTITION", "ORDER") else clause
    for clause in CLAUSES
    if clause not in SET_OPERATIONS
)
_CHARACTERS = {
    "&": "AND joins conditions",
    "!": "NOT negates a condition",
    "|": "OR joins conditions, || concatenates texts",
    "#": "A comment begins with --",
    "//": "A comment begins with --",
    "==": "Equality is written with one =",
    "{": "A map is written MAP('key' := value)",
    "'": "Text needs straight single quotes: 'text'",
    "-": "Write a minus sign as -",
}
_WORDS = {
    "ILIKE": "LCASE(text) LIKE 'pattern' ignores case",
    "RLIKE": "REGEXP_EXTRACT('pattern', text) IS NOT NULL matches a regular expression",
    "REGEXP": "REGEXP_EXTRACT('pattern', text) IS NOT NULL matches a regular expression",
}
_VIEWS = (
    "CREATE TABLE name AS SELECT … keeps a row for each key up to date, CREATE STREAM name AS SELECT … "
    "writes a stream of events"
)
_VIEWS_TOO = "SHOW STREAMS and SHOW TABLES also list what CREATE … AS SELECT created"
_DROP = "DROP STREAM or DROP TABLE removes what CREATE … AS SELECT created"
NO_DATABASES = "There are no databases, schemas or catalogs: each server has one set of streams and tables"
NO_GRANTS = (
    "Roles are not set by statements: a user's are in the file ksql.server.auth.users.file, such as "
    "reader:orders_* and developer:sales_*, or in the claim of a token"
)
_NO_PATTERN = "SHOW takes no pattern or condition: it lists all"
#: beginnings of statements of other dialects, without OR REPLACE -> the alternative
_BEGINNINGS = {
    "CREATE MATERIALIZED": _VIEWS,
    "DROP MATERIALIZED": _DROP,
    "SHOW MATERIALIZED": _VIEWS_TOO,
    "CREATE UNIQUE": "CREATE INDEX ON table (column) finds rows faster; only a table's key is unique",
    "CREATE TEMPORARY": "WITH name AS (SELECT …) SELECT … names a query within a statement",
    **{
        f"{verb} {what}": NO_DATABASES
        for verb in ("CREATE", "DROP")
        for what in ("DATABASE", "SCHEMA", "CATALOG")
    },
    **{
        f"SHOW {what}": f"{NO_DATABASES}. SHOW STREAMS and SHOW TABLES list them"
        for what in ("DATABASES", "SCHEMAS", "CATALOGS")
    },
    **{f"{verb} {what}": NO_GRANTS for verb in ("CREATE", "DROP", "ALTER") for what in ("ROLE", "USER")},
    **{f"SHOW {what}": NO_GRANTS for what in ("GRANTS", "ROLES", "USERS")},
    "CREATE SECRET": "Passwords are in files or variables of the server, which statements name",
    "SHOW CREATE": "DESCRIBE name EXTENDED shows the statement that created a stream or table",
    "SHOW COLUMNS": "DESCRIBE name lists the columns of a stream or table",
    "SHOW JOBS": "SHOW QUERIES lists the queries that run",
}
#: clauses of Flink's CREATE: their words up to the token that is not allowed, or before it -> the alternative
_FLINK = {
    (
        "WATERMARK",
        "FOR",
    ): "WITH (TIMESTAMP = 'column') makes a column the time of a row, and GRACE PERIOD of "
    "a WINDOW says how long it waits for late rows",
    ("METADATA",): "Each row has ROWTIME, ROWPARTITION and ROWOFFSET without a definition",
    ("PARTITIONED",): "KEY after the type of a column makes it the record's key, which decides the partition",
    ("DISTRIBUTED",): "KEY after the type of a column makes it the record's key, which decides the partition",
}
#: table functions of Flink
_WINDOW_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
#: a part of WINDOW ( … ) -> its words before the duration
_WINDOW_PARTS = {
    "GRACE": "GRACE PERIOD",
    "RETENTION": "RETENTION",
    "ADVANCE": "ADVANCE BY",
    "STEP": "STEP",
    "OFFSET": "OFFSET",
}
#: statements that take a name without its kind
_NAME_ALONE = ("DESCRIBE", "DESC", "TERMINATE", "PAUSE", "RESUME")
_KINDS = ("STREAM", "TABLE", "QUERY")

#: takes and returns the same as advice()
_Rule = Callable[[Sequence[Token], int, Sequence[str]], tuple[str, int] | None]


def advice(tokens: Sequence[Token], index: int, expected: Sequence[str]) -> tuple[str, int] | None:
    """Return advice on what to write instead of the token ``index``, which is not allowed there.

    Args:
        tokens: of the statement.
        expected: what is allowed there; words in upper case, symbols in quotes.

    Returns:
        A sentence without its period, and the index of the token to show; None if there is no advice.
    """
    return next((answer for rule in _RULES if (answer := rule(tokens, index, expected))), None)


def stray_character(token: Token) -> str | None:
    """Describe what is wrong with a character that belongs to no token, without a period; None if unknown."""
    character = token.text[:1]
    if token.token_type != TokenType.UNKNOWN:
        return None
    category = unicodedata.category(character)
    if category in ("Cf", "Cc", "Co", "Cn"):
        name = unicodedata.name(character, "control character").lower()
        return f"There is an invisible character here, U+{ord(character):04X} ({name}). Delete it"
    if category == "Pd":
        character = "-"
    elif category in ("Pi", "Pf") or character in "‚„′″´":
        character = "'"
    hint = _CHARACTERS.get(character)
    return f"Unexpected '{token.text}'. {hint}" if hint else None


def _character(tokens: Sequence[Token], index: int, _: Sequence[str]) -> tuple[str, int] | None:
    for first in (index - 1, index):
        pair = "".join(t.text for t in tokens[max(0, first) : first + 2])
        if first >= 0 and len(pair) == 2 and pair in _CHARACTERS and _touch(tokens, first + 1):
            return f"Unexpected '{pair}'. {_CHARACTERS[pair]}", first
    text = stray_character(tokens[index])
    return (text, index) if text else None


def _beginning(tokens: Sequence[Token], index: int, _: Sequence[str]) -> tuple[str, int] | None:
    words = [token.text for token in tokens[: index + 1]]
    if words[0] == "LIST":
        words[0] = "SHOW"
    if words[1:3] == ["OR", "REPLACE"]:
        del words[1:3]
    if words[0] == "SHOW" and index in (2, 3) and words[-1] in ("LIKE", "ILIKE", "WHERE"):
        return f"Unexpected '{words[-1]}'. {_NO_PATTERN}", index
    hint = _BEGINNINGS.get(" ".join(words))
    return (f"Unexpected '{words[-1]}'. {hint}", index) if hint else None


def _table_function(tokens: Sequence[Token], index: int, _: Sequence[str]) -> tuple[str, int] | None:
    """``FROM TABLE(TUMBLE(TABLE t, …))``, which is Flink's, or ``FROM TUMBLE(t, …)``."""
    texts = [token.text for token in tokens[max(0, index - 2) : index + 3]]
    is_table = texts[-3:-1] == ["TABLE", "("] and texts[-1] in _WINDOW_FUNCTIONS
    is_bare = index > 1 and texts[0] == "FROM" and texts[1] in _WINDOW_FUNCTIONS and texts[2] == "("
    if not is_table and not is_bare:
        return None
    return (
        "Windows are a clause after the source: FROM name WINDOW TUMBLING (SIZE 1 HOUR) … GROUP BY …; "
        "HOPPING, CUMULATIVE and SESSION are others",
        index if is_table else index - 1,
    )


def _flink(tokens: Sequence[Token], index: int, expected: Sequence[str]) -> tuple[str, int] | None:
    """Clauses of Flink's CREATE TABLE, and its computed columns: ``day AS DATE(ts)``."""
    if not _is_word(tokens[0], "CREATE"):
        return None
    for words, hint in _FLINK.items():
        first = index - len(words) + (len(words) == 1)
        if tuple(token.text for token in tokens[first : first + len(words)]) == words:
            return f"Unexpected '{words[0]}'. {hint}", first
    if _is_word(tokens[index], "AS") and "a type" in expected:
        name = tokens[index - 1].text
        return (
            "Columns are computed by a query: CREATE STREAM … AS SELECT *, expression AS "
            f"{name} FROM name; NOW() is Flink's PROCTIME()",
            index,
        )
    return None


def _comma(tokens: Sequence[Token], index: int, _: Sequence[str]) -> tuple[str, int] | None:
    token = tokens[index]
    is_end = token.token_type in (TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET)
    if index and tokens[index - 1].token_type == TokenType.COMMA and (is_end or _is_word(token, *CLAUSES)):
        return f"Nothing comes between ',' and {_quoted(token)}", index - 1
    return None


def _clause(tokens: Sequence[Token], index: int, expected: Sequence[str]) -> tuple[str, int] | None:
    token = tokens[index]
    if _is_word(token, *CLAUSES[1:]) and set(expected) & set(CLAUSES):
        return f"{token.text} is not allowed here: each clause comes once, in the order {_ORDER}", index
    return None


def _join(tokens: Sequence[Token], index: int, expected: Sequence[str]) -> tuple[str, int] | None:
    if "ON" in expected:
        return "A join needs a condition with ON, as in a JOIN b ON a.id = b.id", index
    if "JOIN" in expected and tokens[index].token_type == TokenType.COMMA:
        return "Unexpected ','. Join sources with JOIN … ON, as in a JOIN b ON a.id = b.id", index
    return None


def _window(tokens: Sequence[Token], index: int, expected: Sequence[str]) -> tuple[str, int] | None:
    """The parts of WINDOW ( … ) and GRACE PERIOD, without a comma or a word."""
    token, before = tokens[index], tokens[index - 1] if index else tokens[index]
    part, duration = (token, index + 1) if token.text in _WINDOW_PARTS else (before, index)
    words = _WINDOW_PARTS.get(part.text)
    if words is None or part.token_type != TokenType.VAR:
        if "SIZE" in expected and _is_word(tokens[index - 2], "TUMBLING", "HOPPING", "CUMULATIVE", "SLIDING"):
            return (
                f"A window begins with SIZE: {tokens[index - 2].text} (SIZE {_duration(tokens, index)} …)",
                index,
            )
        return None
    if part is token and not {"','", "')'"}.isdisjoint(expected):
        text = f"{words} {_duration(tokens, duration)}"
        return f"A comma comes before {words}: write , {text}", index
    if part is before and words.split()[-1] in expected:
        return f"Write {words} {_duration(tokens, duration)}", index - 1
    return None


def _duration(tokens: Sequence[Token], index: int) -> str:
    """The number and unit at ``index``, or after one word such as PERIOD, as they are written."""
    first = index + (index < len(tokens) and _is_word(tokens[index], "PERIOD", "BY"))
    return " ".join(token.text for token in tokens[first : first + 2])


def _offset(tokens: Sequence[Token], index: int, _: Sequence[str]) -> tuple[str, int] | None:
    if not _is_word(tokens[index], "EMIT"):
        return None
    for at in range(index - 1, max(index - 4, 0), -1):
        if _is_word(tokens[at], "OFFSET"):
            return "OFFSET is for pull queries: rows of a stream have no numbers. Remove OFFSET or EMIT", at
    return None


def _name(tokens: Sequence[Token], index: int, expected: Sequence[str]) -> tuple[str, int] | None:
    """``us-east.orders`` without quotes, or ``s.col.field``."""
    if index == 0 or tokens[index].token_type not in (TokenType.DASH, TokenType.DOT):
        return None
    if not _is_name(tokens[index - 1]) or not _touch(tokens, index):
        return None
    if "AND" in expected:
        is_qualified = index > 2 and tokens[index - 2].token_type == TokenType.DOT
        if tokens[index].token_type == TokenType.DOT and is_qualified and index + 1 < len(tokens):
            column, field = tokens[index - 1].text, tokens[index + 1].text
            return f"Unexpected '.'. -> reads a STRUCT's field, as in {column}->{field}", index
        return None
    text = "".join(_run(tokens, index - 1))
    if "." in text:
        shown = tokens[index].text
        return f"Unexpected '{shown}'. Names of streams and tables have no dots; topics may have them", index
    return f"Unexpected '-'. A name with - needs backticks, which keep its case: `{text}`", index


def _run(tokens: Sequence[Token], start: int) -> Iterator[str]:
    """The texts of adjacent tokens from ``start`` on that form a name."""
    for index in range(start, len(tokens)):
        token = tokens[index]
        is_part = _is_name(token) or token.token_type in (TokenType.DASH, TokenType.DOT, TokenType.NUMBER)
        if not is_part or (index > start and not _touch(tokens, index)):
            return
        yield token.text


def _word(tokens: Sequence[Token], index: int, expected: Sequence[str]) -> tuple[str, int] | None:
    token, before = tokens[index], tokens[index - 1] if index else tokens[index]
    if "AND" in expected and _is_word(token, *_WORDS):
        return f"Unexpected '{token.text}'. {_WORDS[token.text]}", index
    if _is_word(before, "IS") and "DISTINCT" in expected:
        return "IS compares with NULL or DISTINCT FROM; use = for other values", index
    if _is_word(token, "INSERT", "CREATE") and "SELECT" in expected and _is_word(tokens[0], "WITH"):
        return f"WITH comes before its SELECT: {token.text} … WITH name AS (…) SELECT …", index
    if _is_word(before, *_NAME_ALONE) and _is_word(token, *_KINDS) and index + 1 < len(tokens):
        return f"{before.text} takes only the name: {before.text} {tokens[index + 1].text}", index
    if _is_word(before, "CREATE", "DROP") and _is_word(token, "IF"):
        exists = "IF NOT EXISTS" if before.text == "CREATE" else "IF EXISTS"
        return f"{exists} comes before the name: {before.text} STREAM {exists} name", index
    return None


_RULES: tuple[_Rule, ...] = (
    _character, _beginning, _table_function, _flink, _comma, _word, _window, _offset, _clause, _join, _name,
)  # fmt: skip


def _is_word(token: Token, *words: str) -> bool:
    return token.token_type == TokenType.VAR and token.text in words


def _is_name(token: Token) -> bool:
    return token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)


def _touch(tokens: Sequence[Token], index: int) -> bool:
    """Whether nothing separates the token ``index`` from the one before."""
    return tokens[index - 1].end + 1 == tokens[index].start


def _quoted(token: Token) -> str:
    return token.text if token.token_type == TokenType.VAR else f"'{token.text}'"
