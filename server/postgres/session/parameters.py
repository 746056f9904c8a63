"""A statement's parameters, ``$1``: their types, and their values as a client sends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from pygwire import messages
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from ksql_spark import deadline
from ksql_spark.server.postgres.session.statements import Kind, PgStatement, before_emit
from ksql_spark.server.postgres.text.respelling import word_at
from ksql_spark.server.postgres.text.trees import tree_of
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.values.failures import Failure
from ksql_spark.server.postgres.values.names import shown_name

#: a parameter that is a number of rows
LIMIT = -1

#: columns of the catalog whose values are oids, as `columns_of` returns them -> the type
OIDS = dict.fromkeys(
    ("OID", "ATTRELID", "ATTTYPID", "INDRELID", "INDEXRELID", "CONRELID", "CONNAMESPACE", "RELNAMESPACE",
     "TYPNAMESPACE", "TYPELEM", "TYPRELID", "PRONAMESPACE", "PRORETTYPE", "OBJOID", "CLASSOID", "ADRELID"),
    26,
)  # fmt: skip


def casts_of(parsed: PgStatement) -> dict[int, str]:
    """The types to which parameters are cast by ``::``, by number."""
    piece, casts = parsed.piece, {}
    for at, token in enumerate(piece.tokens):
        if token.token_type == TokenType.PLACEHOLDER and word_at(piece.tokens, at + 1) == "::":
            at += 4 if word_at(piece.tokens, at + 3) == "." else 2
            is_array = word_at(piece.tokens, at + 1) == "[" and word_at(piece.tokens, at + 2) == "]"
            if at < len(piece.tokens):
                casts[int(token.text)] = piece.tokens[at].text + ("[]" if is_array else "")
    return casts


def number_of(node: exp.Expr) -> int | None:
    """The number of a parameter in a tree, or None if it is something else."""
    if isinstance(node, exp.Placeholder) and node.name[:1] == "p" and node.name[1:].isdecimal():
        return int(node.name[1:])
    return None


def name_of(number: int) -> str:
    """Return the name of a parameter in KSQL's text."""
    return f"p{number}"


@dataclass(frozen=True)
class Elements:
    """The comparison of a column with the elements of a parameter; the name may be empty."""

    column: str


def columns_of(parsed: PgStatement) -> dict[int, str | int | Elements]:
    """Return for each parameter what it is compared with or inserted into.

    The result is number -> the column, by name or by place from 0; Elements for ``= ANY ($1)``; or LIMIT.
    """
    parsed = parsed.inner or parsed
    piece = parsed.piece
    if not parsed.parameters or piece.verb not in ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE"):
        return {}
    tree = parsed.tree or tree_of(piece, before_emit(piece.tokens) or piece.tokens)
    columns: dict[int, str | int | Elements] = {}
    for parameter in tree.find_all(exp.Placeholder) if tree is not None else ():
        deadline.check()
        number = number_of(parameter)
        inner: exp.Expr = parameter
        parent = parameter.parent
        while isinstance(parent, (exp.Cast, exp.Paren)):
            inner, parent = parent, parent.parent
        if number is None or (isinstance(inner, exp.Cast) and parsed.kind == Kind.CATALOG):
            continue  # such as $1::regclass, which is a name
        if isinstance(parent, (exp.Limit, exp.Offset)):
            columns[number] = LIMIT
        elif isinstance(parent, exp.Tuple) and isinstance(tree, exp.Insert):
            place = inner.index or 0
            listed = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
            columns[number] = _ours(listed[place]) if place < len(listed) else place
        elif _is_quantified(parent) and isinstance(parent.parent, (exp.EQ, exp.NEQ)):
            column = parent.parent.this
            columns[number] = Elements(_ours(column.this)) if isinstance(column, exp.Column) else Elements("")
        elif isinstance(parent, (exp.Binary, exp.Between, exp.In)):
            sides = [parent.this, *parent.args.values()]
            column = next((side for side in sides if isinstance(side, exp.Column)), None)
            if column is not None:
                columns[number] = _ours(column.this)
    return columns


def _is_quantified(node: exp.Expr | None) -> TypeGuard[exp.Expr]:
    """Whether it is ANY, SOME or ALL around the right side of a comparison."""
    return isinstance(node, exp.Any) or (
        isinstance(node, exp.Anonymous) and node.name.upper() in ("SOME", "ALL")
    )


def _ours(identifier: exp.Expr) -> str:
    """The name of ours that an identifier of PostgreSQL's stands for."""
    name = str(identifier.name)
    return shown_name(name) if identifier.args.get("quoted") else name.upper()


def type_of(place: str | int | Elements | None, types: Mapping[Any, int]) -> int:
    """The oid of a parameter's type, by what it is compared with or inserted into; else that of TEXT."""
    if isinstance(place, Elements):
        return values.array_oid(types.get(place.column, values.TEXT.oid))
    return types.get(place, values.TEXT.oid)


def decoded_arguments(types: Sequence[int], message: messages.Bind) -> list[Any]:
    """The values of parameters, whose types have these oids. Raises Failure."""
    return decoded(types, message.param_values, message.param_formats)


def decoded(types: Sequence[int], raw_values: Sequence[bytes | None], formats: Sequence[int]) -> list[Any]:
    """Values as clients send them: in the format 0, text, or 1, binary; of all, of each, or text for none.

    Raises:
        Failure: one is wrong.
    """
    arguments = []
    for at, (raw, oid) in enumerate(zip(raw_values, types, strict=True)):
        deadline.check()
        is_binary = bool(formats) and (formats[at] if len(formats) > 1 else formats[0]) == 1
        try:
            arguments.append(values.parameter(raw, oid, is_binary))
        except ValueError as error:
            raise Failure("22P02", f"The value of ${at + 1} is wrong: {str(error)[:200]}") from error
    return arguments


def stand_in(oid: int) -> Any:
    """A value of a type, to plan a statement whose values are not known yet."""
    if oid != values.OIDS and (element := values.ELEMENTS.get(oid)) is not None:
        return [stand_in(element)]
    if oid == values.BOOL.oid:
        return False
    if oid in (values.INT4.oid, values.INT8.oid, 21, 26):
        return 0
    if oid in (values.FLOAT8.oid, 700, values.NUMERIC.oid):
        return 0.5
    return {
        values.DATE.oid: "2000-01-01",
        values.TIMESTAMP.oid: "2000-01-01T00:00:00",
        values.TIME.oid: "00:00:00",
        values.OIDS: "{" + ",".join(str(one.oid) for one in values.TYPES) + "}",
    }.get(oid, "")


def literal(node: exp.Expr, arguments: Sequence[Any]) -> exp.Expr:
    """The value of a node that is a parameter; any other node itself."""
    number = number_of(node)
    return exp.convert(arguments[number - 1]) if number is not None and number <= len(arguments) else node
