"""Completion: a pure function of the text around the cursor and the server's metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, repeat
from types import MappingProxyType
from typing import Any

from ksql_spark.grammar import KEYWORDS, scan, split
from ksql_spark.grammar.statements import show
from ksql_spark.grammar.with_properties import CREATE, CREATE_AS, INSERT, PROPERTIES
from ksql_spark.shell.prompt.metadata import Metadata
from ksql_spark.shell.skeletons import SKELETONS
from ksql_spark.shell.statements import quoted_name


@dataclass(frozen=True)
class Candidate:
    """One thing to insert: ``text`` in place of the last ``length`` characters.

    ``meta`` says more than its kind: the type of a column, the signature of a function.
    """

    text: str
    length: int
    kind: str
    meta: str = ""


#: first words of statements
STARTS = (
    "SELECT", "CREATE STREAM", "CREATE TABLE", "CREATE OR REPLACE", "CREATE SOURCE", "CREATE TYPE",
    "INSERT INTO", "UPDATE", "DELETE FROM", "TRUNCATE TABLE", "SHOW", "LIST", "DESCRIBE", "EXPLAIN",
    "DROP STREAM", "DROP TABLE", "DROP TYPE",
    "CREATE INDEX", "DROP INDEX",
    "CREATE FUNCTION", "DROP FUNCTION", "CREATE SINK", "DROP SINK", "COMPACT SINK", "SWAP",
    "ABORT EVOLUTION", "ROLLBACK", "COMMENT ON",
    "UNDROP STREAM", "UNDROP TABLE", "TERMINATE", "PAUSE", "RESUME",
    "REPLAY ERRORS OF", "REPLAY LATE ROWS OF", "REPROCESS", "FORGET FROM",
    "PRINT", "SET", "UNSET", "DEFINE", "UNDEFINE", "ALTER STREAM", "ALTER TABLE",
    "ASSERT", "RUN SCRIPT", "COPY",
)  # fmt: skip
_CREATED = ("STREAM", "TABLE", "OR REPLACE", "SOURCE", "SINK", "TYPE", "INDEX", "FUNCTION")
_DESCRIBED = ("FUNCTION", "STREAMS", "TABLES", "VIEWS", "CONNECTOR", "EVOLUTION", "SINK")
_EXPLAINED = (
    "SELECT", "CREATE STREAM", "CREATE TABLE", "INSERT INTO", "EVOLUTION", "ROW FROM", "MISSING ROW FROM",
)  # fmt: skip
_DROPPED = ("STREAM", "TABLE", "TYPE", "CONNECTOR", "FUNCTION", "SINK", "INDEX")
SHOWN = (*show.LISTED, "VERSIONS OF")
DATA_TYPES = (
    "BOOLEAN", "INTEGER", "INT", "BIGINT", "DOUBLE", "DECIMAL", "STRING", "VARCHAR", "BYTES", "DATE", "TIME",
    "TIMESTAMP", "VARIANT", "ARRAY<", "MAP<", "STRUCT<",
)  # fmt: skip
#: the usual ones first
WITH_PROPERTIES = tuple(
    dict.fromkeys(("KAFKA_TOPIC", "VALUE_FORMAT", "KEY_FORMAT", "FORMAT", "PARTITIONS", *PROPERTIES))
)
#: clauses of queries
CLAUSES = (
    "FROM", "WHERE", "GROUP BY", "PARTITION BY", "HAVING", "WINDOW TUMBLING (SIZE", "WINDOW HOPPING (SIZE",
    "WINDOW SESSION (", "JOIN", "LEFT JOIN", "INNER JOIN", "FULL OUTER JOIN", "ON", "WITHIN", "GRACE PERIOD",
    "EMIT CHANGES", "EMIT FINAL", "LIMIT", "AS", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS NULL",
    "IS NOT NULL", "CASE", "WHEN", "THEN", "ELSE", "END",
)  # fmt: skip

#: the usual ones first
FORMATS = ("JSON", "AVRO", "PROTOBUF", "DELIMITED", "KAFKA", "JSON_SR", "PROTOBUF_NOSR", "NONE")
#: the beginning of names for sub-queries
_DERIVED = "__QUERY_"
#: stands for the cursor among tokens
_CURSOR = ""
#: where a statement has no ``;``, these begin the next one, unless they follow a parenthesis
_NEXT = ("SELECT", "CREATE", "INSERT", "UPDATE", "DELETE")
_WORD = re.compile(r"[A-Za-z_0-9@]*\Z")


def complete(
    text: str,
    metadata: Metadata,
    commands: Iterable[str] = (),
    used: Mapping[str, int] = MappingProxyType({}),
    after: str = "",
) -> list[Candidate]:
    """Completions of the end of ``text``, best first.

    Args:
        text: everything before the cursor.
        metadata: the server's metadata.
        commands: the shell's own commands, offered at the beginning of a statement.
        used: how often words were used, in upper case: what was used more comes first among its kind.
        after: everything after the cursor; its statement may name there what it reads.
    """
    last = next(reversed(scan(text)), None)
    if "--" in text[last.end + 1 if last is not None else 0 :].rpartition("\n")[2]:
        return []
    part = next((piece for piece in split(text) if not piece.complete), None)
    statement = text[part.start :] if part is not None else ""
    tokens = _tokens(statement)
    if part is not None and part.open == "comment":
        return []
    if part is not None and part.open == "string":
        return _in_quotes(tokens, metadata)
    if statement.startswith("\\"):
        word = statement
        return [
            Candidate(name, len(word), "command")
            for name in commands
            if name.startswith(word.lower()) and name != word.lower()
        ]
    match = _WORD.search(statement)
    word = match[0] if match else ""
    before, query, metadata = _scope(tokens[:-1] if word else tokens, _rest(after), metadata)
    by_name: dict[str, Candidate] = {}
    for name, kind in _offers(before, word, dict(_aliases(query)), metadata, commands):
        if word.upper() != name.upper() and name.upper().startswith(word.upper()):
            meta = _meta(name, kind, metadata)
            by_name.setdefault(
                name, Candidate(_in_case(name, word or statement, kind), len(word), kind, meta)
            )
    ranked: list[Candidate] = []
    for _, of_a_kind in groupby(by_name.values(), lambda candidate: candidate.kind):
        ranked += sorted(of_a_kind, key=lambda candidate: -used.get(candidate.text.upper().strip("`'("), 0))
    return ranked


def _tokens(text: str) -> list[str]:
    """The tokens of ``text``, as they are written."""
    return [text[token.start : token.end + 1] for token in scan(text)]


def _rest(after: str) -> list[str]:
    """The tokens of the statement around the cursor that come after it, without the rest of its word."""
    tokens = _tokens(re.sub(r"\A[A-Za-z_0-9@]+", "", after))
    for index, (previous, token) in enumerate(pairwise([_CURSOR, *tokens])):
        if token == ";" or (token.upper() in _NEXT and previous != "("):
            return tokens[:index]
    return tokens


def _scope(before: list[str], after: list[str], metadata: Metadata) -> tuple[list[str], list[str], Metadata]:
    """The innermost query around the cursor: its tokens before the cursor, all of them, and what it can read.

    Another sub-query is one token there, a name for its columns; so is the name of WITH.
    """
    stack: list[list[str]] = []
    here: list[str] = []
    derived: dict[str, dict[str, Any]] = {}
    tokens = [*before, _CURSOR, *after]
    # what is still open ends here
    for token in [*tokens, *repeat(")", tokens.count("("))]:
        if token == "(":
            stack.append(here)
            here = []
        elif token == ")" and stack:
            inner, here = here, stack.pop()
            if [one.upper() for one in inner[:1]] != ["SELECT"]:
                here += ["(", *inner, ")"]
            elif _CURSOR in inner:
                here = inner
                break
            else:
                name = f"{_DERIVED}{len(derived)}"
                derived[name] = _selected(inner, _with_derived(metadata, derived))
                if len(here) > 2 and here[-1].upper() == "AS" and here[-3].upper() in ("WITH", ","):
                    derived[_source_name(here[-2])] = derived[name]
                here.append(name)
        else:
            here.append(token)
    cursor = here.index(_CURSOR)
    return here[:cursor], here, _with_derived(metadata, derived)


def _with_derived(metadata: Metadata, derived: Mapping[str, dict[str, Any]]) -> Metadata:
    if not derived:
        return metadata
    extended = replace(
        metadata,
        streams={**metadata.streams, **{name: tuple(columns) for name, columns in derived.items()}},
        schemas={**metadata.schemas, **derived},
    )
    # the names and types of all columns take long to gather
    extended.__dict__.update({name: getattr(metadata, name) for name in ("columns", "column_types")})
    return extended


def _selected(tokens: list[str], metadata: Metadata) -> dict[str, Any]:
    """The columns of a query, with their schemas where these are known."""
    upper = [token.upper() for token in tokens]
    aliases = dict(_aliases(tokens))
    sources = list(dict.fromkeys(aliases.values()))
    items: list[list[str]] = [[]]
    depth = 0
    for token in tokens[2 if upper[1:2] == ["DISTINCT"] else 1 :]:
        depth += (token in "([") - (token in ")]")
        if depth == 0 and token.upper() == "FROM":
            break
        if depth == 0 and token == ",":
            items.append([])
        else:
            items[-1].append(token)
    columns: dict[str, Any] = {}
    for item in filter(None, items):
        read = [aliases.get(item[0].upper(), "")] if item[1:2] == ["."] else sources
        if item[-1] == "*":
            for source in read:
                schemas = metadata.schemas.get(source, {})
                columns |= {name: schemas.get(name, {}) for name in metadata.sources.get(source, ())}
        elif item[-1].startswith("`") or item[-1].isidentifier():
            name = _source_name(item[-1])
            original = _source_name(item[-3]) if [one.upper() for one in item[-2:-1]] == ["AS"] else name
            is_plain = [one.upper() for one in item[1::2]] in ([], ["."], ["AS"], [".", "AS"])
            schemas_of_column = (
                (metadata.schemas.get(source, {}).get(original) for source in read) if is_plain else ()
            )
            columns[name] = next(filter(None, schemas_of_column), {})
    return columns


def _offers(
    before: list[str], word: str, aliases: Mapping[str, str], metadata: Metadata, commands: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """(text, kind) of everything that may follow the tokens ``before``, whatever the word begins with."""
    upper = [token.upper() for token in before]
    if not upper:
        yield from ((name, "keyword") for name in STARTS)
        yield from ((name, "command") for name in commands)
        if word.lower() in SKELETONS:
            return
        return
    last = upper[-1]
    first = upper[0]
    sources = metadata.sources
    match upper:
        case ["SHOW" | "LIST"]:
            yield from ((name, "keyword") for name in SHOWN)
        case ["SHOW" | "LIST", "VERSIONS", "OF"]:
            yield from ((name, "source") for name in sources)
        case ["SHOW" | "LIST", "INDEXES"]:
            yield ("ON", "keyword")
        case ["SHOW" | "LIST", "INDEXES", "ON"] | ["CREATE", "INDEX", *_, "ON"]:
            yield from ((name, "source") for name in metadata.tables)
        case ["CREATE", "INDEX", *rest] if "(" in rest and last in ("(", ","):
            table = _source_name(before[upper.index("(") - 1])
            yield from ((column, "column") for column in metadata.tables.get(table, ()))
        case ["SHOW" | "LIST", _]:
            yield ("EXTENDED", "keyword")
        case ["CREATE"]:
            yield from ((name, "keyword") for name in _CREATED)
        case ["CREATE", "SINK", _, "FROM"]:
            yield from ((name, "source") for name in sources)
        case ["CREATE", "SINK", _]:
            yield ("FROM", "keyword")
        case ["CREATE", "STREAM" | "TABLE"]:
            yield ("IF NOT EXISTS", "keyword")
        case ["DESCRIBE"]:
            yield from ((name, "source") for name in sources)
            yield from ((name, "keyword") for name in _DESCRIBED)
        case ["DESCRIBE" | "DROP", "CONNECTOR", *rest] if rest in ([], ["IF", "EXISTS"]):
            yield from ((_connector(name), "connector") for name in metadata.connectors)
        case ["DESCRIBE", "FUNCTION"]:
            yield from ((name, "function") for name in metadata.functions)
        case ["SWAP"] | ["ABORT" | "DESCRIBE", "EVOLUTION"]:
            yield from ((name, "source") for name in metadata.tables)
        case ["ROLLBACK"]:
            yield from ((name, "source") for name in sources)
        case ["ROLLBACK", _]:
            yield ("TO VERSION", "keyword")
        case ["COMMENT"]:
            yield ("ON", "keyword")
        case ["COMMENT", "ON"]:
            yield from ((name, "keyword") for name in ("STREAM", "TABLE", "VIEW", "COLUMN"))
        case ["COMMENT", "ON", kind]:
            yield from ((name, "source") for name in (metadata.tables if kind == "TABLE" else sources))
        case ["COMMENT", "ON", _, _]:
            yield ("IS", "keyword")
        case ["ABORT"]:
            yield ("EVOLUTION", "keyword")
        case ["DESCRIBE", _]:
            yield ("EXTENDED", "keyword")
        case ["DROP"]:
            yield from ((name, "keyword") for name in _DROPPED)
        case ["DROP" | "ALTER", "STREAM", *rest] if rest in ([], ["IF", "EXISTS"]):
            yield from ((name, "source") for name in metadata.streams)
            yield ("IF EXISTS", "keyword")
        case ["DROP" | "ALTER", "TABLE", *rest] if rest in ([], ["IF", "EXISTS"]):
            yield from ((name, "source") for name in metadata.tables)
            yield ("IF EXISTS", "keyword")
        case ["DROP", "STREAM" | "TABLE", *_]:
            yield from ((name, "keyword") for name in ("DELETE TOPIC", "CASCADE"))
        case ["DROP", "FUNCTION"]:
            yield from ((name, "function") for name in metadata.functions)
        case ["DROP", "TYPE"]:
            yield from ((name, "type") for name in metadata.types)
        case ["TERMINATE" | "PAUSE" | "RESUME"]:
            yield from ((name, "query") for name in metadata.queries)
            yield ("ALL", "keyword")
        case ["REPLAY", "ERRORS", "OF"]:
            yield from ((name, "query") for name in metadata.queries)
        case ["REPLAY", "ERRORS", "OF", _]:
            yield ("WHERE", "keyword")
        case ["EXPLAIN", "ROW", "FROM", _] | ["EXPLAIN", "MISSING", "ROW", "FROM", _]:
            yield ("WHERE", "keyword")
        case ["EXPLAIN"]:
            yield from ((name, "query") for name in metadata.queries)
            yield from ((name, "keyword") for name in _EXPLAINED)
        case ["PRINT"]:
            yield from ((_topic(name), "topic") for name in metadata.topics)
        case ["PRINT", *_]:
            yield from ((name, "keyword") for name in ("FROM BEGINNING", "INTERVAL", "LIMIT"))
        case ["SET" | "UNSET"]:
            yield from ((f"'{name}'", "property") for name in metadata.properties)
        case ["INSERT"]:
            yield ("INTO", "keyword")
        case ["DELETE"]:
            yield ("FROM", "keyword")
        case ["UPDATE"] | ["DELETE", "FROM"] | ["TRUNCATE", "TABLE"]:
            yield from ((name, "source") for name in metadata.tables)
        case ["UPDATE", _]:
            yield ("SET", "keyword")
        case ["DELETE", "FROM", _]:
            yield ("WHERE", "keyword")
        case [*_, "->"]:
            yield from ((name, "field") for name in _fields(upper, before, aliases, metadata))
        case [*_, property, "="] if (values := _values(property, metadata)) is not None:
            yield from ((f"'{value}'", kind) for value, kind in values)
        case [*_, property, "="] if property in PROPERTIES and PROPERTIES[property].type == "boolean":
            yield from ((name, "value") for name in ("TRUE", "FALSE"))
        case [*_, "SYSTEM_TIME"]:
            yield ("AS OF", "keyword")
        case [*_, "SYSTEM_TIME", "AS", "OF"]:
            yield ("CURRENT_TIMESTAMP", "keyword")
            yield from _in_query(upper, aliases, metadata)
        case _ if last == "ON":
            yield from ((condition, "join") for condition in _conditions(before, metadata))
            yield from _in_query(upper, aliases, metadata)
        case _ if last in ("FROM", "JOIN", "INTO"):
            yield from ((name, "source") for name in sources if not name.startswith(_DERIVED))
        case ["INSERT", "INTO", _]:
            yield from ((text, "keyword") for text in ("VALUES (", "SELECT", "("))
        case ["INSERT", "INTO", _, "(", *rest] if ")" not in rest:
            yield from ((column, "column") for column in sources.get(_source_name(before[2]), ()))
        case _ if first != "WITH" and (last == "WITH" or (upper[-2:-1] == ["WITH"]) or _inside_with(upper)):
            yield from ((name, "property") for name in _allowed_in(upper))
        case _ if last == "EMIT":
            yield from ((name, "keyword") for name in ("CHANGES", "FINAL"))
        case _ if last in ("GROUP", "PARTITION"):
            yield ("BY", "keyword")
        case _ if last == "WINDOW":
            yield from (
                (f"{name} (", "keyword")
                for name in ("TUMBLING", "HOPPING", "SESSION", "CUMULATIVE", "SLIDING")
            )
        case _ if first == "CREATE" and "AS" not in upper and "(" in upper:
            yield from ((name, "type") for name in (*DATA_TYPES, *metadata.types))
            yield from ((name, "keyword") for name in ("KEY", "PRIMARY KEY", "HEADERS"))
        case _ if first == "CREATE" and "SELECT" not in upper:
            yield from ((name, "keyword") for name in ("AS SELECT", "WITH (", "AS", "SELECT"))
        case _:
            yield from _in_query(upper, aliases, metadata)


def _in_query(upper: list[str], aliases: Mapping[str, str], metadata: Metadata) -> Iterator[tuple[str, str]]:
    """Inside a SELECT: columns of its sources, functions, clauses."""
    columns = {name.upper(): names for name, names in metadata.sources.items()}
    if upper[-1] == "." and len(upper) > 1:
        source = aliases.get(upper[-2], upper[-2])
        yield from ((name, "column") for name in columns.get(source, ()))
        return
    # until FROM is typed, offer the columns of all sources
    named = [columns.get(source, ()) for source in dict.fromkeys(aliases.values())]
    for names in named or [metadata.columns]:
        yield from ((name, "column") for name in names)
    yield from ((name, "keyword") for name in CLAUSES)
    yield from ((f"{name}(", "function") for name in metadata.functions)
    yield from ((name, "keyword") for name in sorted(KEYWORDS))


def _aliases(tokens: list[str]) -> Iterator[tuple[str, str]]:
    """(alias, source) for every source named after FROM or JOIN; a source is its own alias too."""
    for name, source in _relations(tokens):
        yield source.upper(), source.upper()
        yield name.upper(), source.upper()


def _relations(tokens: list[str]) -> Iterator[tuple[str, str]]:
    """(alias as it was typed, or the source's name; source) for every source after FROM, JOIN or UPDATE."""
    upper = [token.upper() for token in tokens]
    for index, token in enumerate(upper[:-1]):
        if token not in ("FROM", "JOIN") and not (token == "UPDATE" and not index):
            continue
        alias = index + 3 if upper[index + 2 : index + 3] == ["AS"] else index + 2
        named = alias < len(upper) and upper[alias].isidentifier() and upper[alias] not in KEYWORDS
        yield tokens[alias if named else index + 1], _source_name(tokens[index + 1])


def _fields(upper: list[str], before: list[str], aliases: Mapping[str, str], metadata: Metadata) -> list[str]:
    """The fields of the struct before ``->``, such as ``o.address->``, ``a->b->`` and ``lines[1]->``."""
    path: list[tuple[str, int]] = []  # from the right: name, number of subscripts
    end = len(upper)
    while upper[end - 1 : end] == ["->"]:
        end, subscripts = end - 1, 0
        while end and upper[end - 1] == "]":
            end = max((i for i in range(end) if upper[i] == "["), default=0)
            subscripts += 1
        if not end:
            return []
        end -= 1
        path.append((_source_name(before[end]), subscripts))
    if upper[end - 1 : end] == ["."] and end > 1:
        sources = [aliases.get(upper[end - 2], upper[end - 2])]
    else:
        sources = list(dict.fromkeys(aliases.values())) or list(metadata.schemas)
    (column, subscripts), *rest = reversed(path)
    for source in sources:
        schema = metadata.schemas.get(source, {}).get(column)
        for name, more in [("", subscripts), *rest]:
            fields = {one["name"]: one["schema"] for one in (schema or {}).get("fields") or []}
            schema = fields.get(name) if name else schema
            for _ in range(more):
                schema = (schema or {}).get("memberSchema")
        if schema and schema.get("fields"):
            return [_plain(one["name"]) for one in schema["fields"]]
    return []


def _conditions(before: list[str], metadata: Metadata) -> list[str]:
    """Conditions for a join, the likeliest first: equal names, then keys of the same type."""
    *others, (right, right_source) = list(_relations(before)) or [("", "")]
    columns = metadata.schemas.get(right_source, {})
    keys = metadata.keys.get(right_source, ())
    same_name: list[str] = []
    same_type: list[str] = []
    for left, left_source in others:
        for name, schema in metadata.schemas.get(left_source, {}).items():
            for key in keys:
                condition = f"{left}.{_plain(name)} = {right}.{_plain(key)}"
                if schema != columns[key]:
                    continue
                if name == key:
                    same_name.insert(0, condition)
                elif key in name or name in key or name in metadata.keys.get(left_source, ()):
                    same_type.append(condition)
            if name in columns and name not in keys:
                same_name.append(f"{left}.{_plain(name)} = {right}.{_plain(name)}")
    return [*same_name, *same_type]


def _values(property: str, metadata: Metadata) -> list[tuple[str, str]] | None:
    """(value, kind) of a property in WITH whose values are texts; None if they are unknown."""
    match property:
        case "KAFKA_TOPIC":
            return [(topic, "topic") for topic in metadata.topics]
        case "VALUE_FORMAT" | "KEY_FORMAT" | "FORMAT":
            return [(name, "format") for name in FORMATS]
    rule = PROPERTIES.get(property)
    return [(value, "value") for value in rule.choices] if rule is not None and rule.choices else None


def _allowed_in(upper: list[str]) -> list[str]:
    """The properties that the statement may have in its WITH."""
    if upper[0] == INSERT:
        kinds = {INSERT}
    elif "AS" in upper:
        kinds = {CREATE_AS}
    elif "(" in upper[: max(i for i, token in enumerate(upper) if token == "WITH")]:
        kinds = {CREATE}
    else:  # AS may follow
        kinds = {CREATE, CREATE_AS}
    return [name for name in WITH_PROPERTIES if kinds & PROPERTIES[name].where]


def _meta(name: str, kind: str, metadata: Metadata) -> str:
    """Return the remark about a candidate beside its text in the menu."""
    match kind:
        case "function":
            return metadata.signatures.get(name.rstrip("("), "")
        case "column":
            return metadata.column_types.get(name, "")
        case "source":
            return "stream" if name in metadata.streams else "table"
    return ""


def _plain(name: str) -> str:
    """A name as it is written in SQL."""
    return name if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) else quoted_name(name)


def _inside_with(upper: list[str]) -> bool:
    """Whether the last open parenthesis is that of a WITH, and a property name comes next."""
    depth = 0
    for index in range(len(upper) - 1, 0, -1):
        if upper[index] == ")":
            depth += 1
        elif upper[index] == "(":
            if depth == 0:
                return upper[index - 1] == "WITH" and upper[-1] in ("(", ",")
            depth -= 1
    return False


def _in_quotes(tokens: list[str], metadata: Metadata) -> list[Candidate]:
    """Inside an open string: topics and properties."""
    typed = tokens[-1][1:]
    before = [token.upper() for token in tokens[:-1]]
    match before:
        case ["PRINT"]:
            names, kind = metadata.topics, "topic"
        case ["SET" | "UNSET"]:
            names, kind = metadata.properties, "property"
        case [*_, property, "="] if (values := _values(property, metadata)) is not None:
            names, kind = tuple(value for value, _ in values), next((kind for _, kind in values), "value")
        case _:
            return []
    return [
        Candidate(f"{name}'", len(typed), kind) for name in names if name.upper().startswith(typed.upper())
    ]


def _source_name(token: str) -> str:
    if token.startswith("`"):
        return token.strip("`")
    return token.upper()


def _topic(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f"'{name}'"


def _connector(name: str) -> str:
    return name if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) else quoted_name(name)


def _in_case(name: str, typed: str, kind: str) -> str:
    """``name`` in the case of what was typed, where its case means nothing; a quoted name keeps its own."""
    has_no_case = kind in ("keyword", "function", "type") or (
        kind in ("column", "source", "field", "join") and "`" not in name and name == name.upper()
    )
    return name.lower() if has_no_case and typed.islower() else name
