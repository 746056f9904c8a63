"""Protobuf schemas as SQL types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from antlr4.error.ErrorListener import ErrorListener
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

from ksql_spark.formats.registered import NotConvertible, ReadSchema, decimal, map_of, struct_of
from ksql_spark.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    SqlType,
)

_SCALARS: dict[str, SqlType] = {
    "double": DOUBLE,
    "float": DOUBLE,
    "int32": INTEGER,
    "sint32": INTEGER,
    "sfixed32": INTEGER,
    # unsigned types need one more bit
    "uint32": BIGINT,
    "fixed32": BIGINT,
    "int64": BIGINT,
    "sint64": BIGINT,
    "sfixed64": BIGINT,
    "uint64": BIGINT,
    "fixed64": BIGINT,
    "bool": BOOLEAN,
    "string": STRING,
    "bytes": BYTES,
}
#: messages that wrap a value
_MESSAGES: dict[str, SqlType] = {
    "google.type.Date": DATE,
    "google.type.TimeOfDay": TIME,
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.DoubleValue": DOUBLE,
    "google.protobuf.FloatValue": DOUBLE,
    "google.protobuf.Int64Value": BIGINT,
    "google.protobuf.UInt64Value": BIGINT,
    "google.protobuf.Int32Value": INTEGER,
    "google.protobuf.UInt32Value": BIGINT,
    "google.protobuf.BoolValue": BOOLEAN,
    "google.protobuf.StringValue": STRING,
    "google.protobuf.BytesValue": BYTES,
}
_DECIMAL = "confluent.type.Decimal"
#: other messages that every schema may import without a reference
_WELL_KNOWN = """
    syntax = "proto3"; package google.protobuf;
    message Any { string type_url = 1; bytes value = 2; }
    message Duration { int64 seconds = 1; int32 nanos = 2; }
    message Empty { }
    message FieldMask { repeated string paths = 1; }
"""
#: prefix of the full names that Connect generates, which do not select a message
_DEFAULT_NAME = "ConnectDefault"


@dataclass(frozen=True)
class _Definition:
    """A message or an enum; ``name`` is its full name."""

    name: str
    node: ast.Message | ast.Enum


def read(text: str, references: Mapping[str, str], full_name: str | None = None) -> ReadSchema:
    """The SQL types of one message of the Protobuf schema ``text``: the first, or ``full_name``.

    Args:
        text: a .proto file.
        references: the files that it imports, by their paths.
        full_name: the message's name with its package and enclosing messages.

    Raises:
        NotConvertible: it is not a Protobuf schema, lacks the message, or SQL has no type for it.
    """
    others = (_WELL_KNOWN, *references.values())
    known = {d.name: d for other in others for d in _definitions(_file(other))}
    file = _file(text)
    known |= {d.name: d for d in _definitions(file)}
    own = [d for d in _definitions(file) if isinstance(d.node, ast.Message)]
    if not own:
        raise NotConvertible("it has no message")
    package = _package(file)
    depth = len(package.split(".")) if package else 0
    outer = [d for d in own if d.name.count(".") == depth]
    wanted = outer[0]
    if full_name is not None and not full_name.startswith(_DEFAULT_NAME):
        named = [d for d in own if d.name in (full_name, f"{package}.{full_name}")]
        if not named:
            there = ", ".join(d.name for d in outer)
            raise NotConvertible(f"it has no message called {full_name}; there are: {there}")
        wanted = named[0]
    return ReadSchema(_Reader(known).message(wanted), wanted.name, tuple(d.name for d in outer))


class _Refuse(ErrorListener):  # type: ignore[misc]
    """Raises at the first syntax error; by default the parser prints it and continues."""

    def syntaxError(self, *where: Any) -> None:
        _, _, line, column, message, _ = where
        raise NotConvertible(f"it is no Protobuf schema: line {line}:{column + 1} {message}")


def _refusing(recognizer: Any) -> None:
    recognizer.removeErrorListeners()
    recognizer.addErrorListener(_Refuse())


def _file(text: str) -> ast.File:
    try:
        return Parser(setup_lexer=_refusing, setup_parser=_refusing).parse(text)
    except NotConvertible:
        raise
    except Exception as error:  # the parser lets through whatever its parser generator raises
        reason = " ".join(str(error).split()) or type(error).__name__
        raise NotConvertible(f"it is no Protobuf schema: {reason}") from None


def _package(file: ast.File) -> str:
    return next((e.name for e in file.file_elements if isinstance(e, ast.Package)), "")


def _definitions(file: ast.File) -> list[_Definition]:
    """All messages and enums of a file in order, including nested ones."""

    def inside(elements: list[Any], scope: str) -> Iterator[_Definition]:
        for element in elements:
            if isinstance(element, (ast.Message, ast.Enum)):
                name = f"{scope}.{element.name}" if scope else element.name
                yield _Definition(name, element)
                if isinstance(element, ast.Message):
                    yield from inside(element.elements, name)

    return list(inside(file.file_elements, _package(file)))


class _Reader:
    def __init__(self, definitions: Mapping[str, _Definition]) -> None:
        self._definitions = definitions
        #: names of the enclosing messages
        self._open: list[str] = []

    def message(self, definition: _Definition) -> SqlType:
        if definition.name in self._open:
            raise NotConvertible(f"the message {definition.name} is part of itself")
        assert isinstance(definition.node, ast.Message)
        elements, scope = definition.node.elements, definition.name
        self._open.append(scope)
        one_ofs = [e for e in elements if isinstance(e, ast.OneOf)]
        fields = [e for e in elements if isinstance(e, (ast.Field, ast.MapField, ast.Group))]
        found = struct_of(
            [
                *((f"{o.name}_{i}", partial(self._one_of, o, scope)) for i, o in enumerate(one_ofs)),
                *((f.name, partial(self._field, f, scope)) for f in fields),
            ]
        )
        self._open.pop()
        return found

    def _one_of(self, one_of: ast.OneOf, scope: str) -> SqlType:
        fields = (e for e in one_of.elements if isinstance(e, ast.Field))
        return struct_of((f.name, partial(self._field, f, scope)) for f in fields)

    def _field(self, field: ast.Field | ast.MapField | ast.Group, scope: str) -> SqlType:
        if isinstance(field, ast.Group):
            raise NotConvertible(f"{field.name} is a group")
        if isinstance(field, ast.MapField):
            return map_of(self._named(field.key_type, scope, []), self._named(field.value_type, scope, []))
        type_ = self._named(field.type, scope, field.options)
        return Array(type_) if field.cardinality is ast.FieldCardinality.REPEATED else type_

    def _named(self, name: str, scope: str, options: list[ast.Option]) -> SqlType:
        if name in _SCALARS:
            return _SCALARS[name]
        # look in the innermost message first, then in those around it, then in the package
        places = [] if name.startswith(".") else _outwards(scope)
        for full in (*(f"{place}.{name}" for place in places), name.removeprefix(".")):
            if full in _MESSAGES:
                return _MESSAGES[full]
            if full == _DECIMAL:
                given = _meta(options)
                return decimal(given.get("precision"), given.get("scale"))
            found = self._definitions.get(full)
            if found is not None:
                return self.message(found) if isinstance(found.node, ast.Message) else STRING
        raise NotConvertible(f"it refers to {name}, which is not there")


def _outwards(scope: str) -> Iterator[str]:
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]


def _meta(options: list[ast.Option]) -> dict[str, str]:
    """The params of the option (confluent.field_meta)."""
    found: dict[str, str] = {}
    for option in options:
        if option.name == "(confluent.field_meta).params" and isinstance(option.value, ast.MessageLiteral):
            _add_params([option.value], found)
        elif option.name == "(confluent.field_meta)" and isinstance(option.value, ast.MessageLiteral):
            for element in option.value.elements:
                if isinstance(element, ast.MessageLiteralField) and element.name == "params":
                    value = element.value
                    _add_params(value if isinstance(value, list) else [value], found)
    return found


def _add_params(entries: list[Any], found: dict[str, str]) -> None:
    for entry in entries:
        if isinstance(entry, ast.MessageLiteral):
            pair = {e.name: e.value for e in entry.elements if isinstance(e, ast.MessageLiteralField)}
            found[str(pair.get("key"))] = str(pair.get("value"))
