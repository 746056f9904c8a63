"""Protobuf schemas as SQL types, and the schemas of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from antlr4.error.ErrorListener import ErrorListener
from proto_schema_parser import ast
from proto_schema_parser.parser import Parser

from ksql_spark.errors import KsqlError
from ksql_spark.formats.protobuf.descriptor import proto_text
from ksql_spark.formats.registered import NotConvertible, ReadSchema, decimal, map_of, struct_of
from ksql_spark.schema import Column
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
    Decimal,
    Map,
    SqlType,
    Struct,
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
#: the Protobuf types of columns
_WRITTEN: dict[SqlType, str] = {
    INTEGER: "int32",
    BIGINT: "int64",
    DOUBLE: "double",
    BOOLEAN: "bool",
    STRING: "string",
    BYTES: "bytes",
}
#: messages of dates and times, and the files that define them
_TIMES: dict[SqlType, tuple[str, str]] = {
    DATE: ("google.type.Date", "google/type/date.proto"),
    TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
#: other messages that every schema may import without a reference
WELL_KNOWN = """
    syntax = "proto3"; package google.protobuf;
    message Any { string type_url = 1; bytes value = 2; }
    message Duration { int64 seconds = 1; int32 nanos = 2; }
    message Empty { }
    message FieldMask { repeated string paths = 1; }
    message Struct { map<string, Value> fields = 1; }
    message ListValue { repeated Value values = 1; }
    enum NullValue { NULL_VALUE = 0; }
    message Value {
      oneof kind {
        NullValue null_value = 1; double number_value = 2; string string_value = 3; bool bool_value = 4;
        Struct struct_value = 5; ListValue list_value = 6;
      }
    }
"""
#: prefix of the full names that Connect generates, which do not select a message
_DEFAULT_NAME = "ConnectDefault"


@dataclass(frozen=True)
class Definition:
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
    others = (WELL_KNOWN, *references.values())
    all_definitions = {d.name: d for other in others for d in definitions(parse(other))}
    file = parse(text)
    all_definitions |= {d.name: d for d in definitions(file)}
    own = [d for d in definitions(file) if isinstance(d.node, ast.Message)]
    if not own:
        raise NotConvertible("it has no message")
    own_package = package(file)
    depth = len(own_package.split(".")) if own_package else 0
    outer = [d for d in own if d.name.count(".") == depth]
    target = outer[0]
    if full_name is not None and not full_name.startswith(_DEFAULT_NAME):
        named = [d for d in own if d.name in (full_name, f"{own_package}.{full_name}")]
        if not named:
            there = ", ".join(d.name for d in outer)
            raise NotConvertible(f"it has no message called {full_name}; there are: {there}")
        target = named[0]
    return ReadSchema(_Reader(all_definitions).message(target), target.name, tuple(d.name for d in outer))


class _Refuse(ErrorListener):  # type: ignore[misc]
    """Raises at the first syntax error; by default the parser prints it and continues."""

    def syntaxError(self, *where: Any) -> None:
        _, _, line, column, message, _ = where
        raise NotConvertible(f"it is not a valid Protobuf schema: line {line}:{column + 1} {message}")


def _refusing(recognizer: Any) -> None:
    recognizer.removeErrorListeners()
    recognizer.addErrorListener(_Refuse())


def parse(text: str) -> ast.File:
    """The syntax tree of a .proto file, or of a descriptor (see descriptor.py).

    Raises:
        NotConvertible: it is not a Protobuf schema.
    """
    try:
        return Parser(setup_lexer=_refusing, setup_parser=_refusing).parse(proto_text(text))
    except NotConvertible:
        raise
    except Exception as error:  # the parser passes on whatever its parser generator raises
        reason = " ".join(str(error).split()) or type(error).__name__
        raise NotConvertible(f"it is not a valid Protobuf schema: {reason}") from None


def package(file: ast.File) -> str:
    """The package of a file; empty if it has none."""
    return next((e.name for e in file.file_elements if isinstance(e, ast.Package)), "")


def definitions(file: ast.File) -> list[Definition]:
    """All messages and enums of a file in order, including nested ones."""

    def inside(elements: list[Any], scope: str) -> Iterator[Definition]:
        for element in elements:
            if isinstance(element, (ast.Message, ast.Enum)):
                name = f"{scope}.{element.name}" if scope else element.name
                yield Definition(name, element)
                if isinstance(element, ast.Message):
                    yield from inside(element.elements, name)

    return list(inside(file.file_elements, package(file)))


def write(columns: Sequence[Column], full_name: str | None, nullable: str | None) -> str:
    """The schema of a message of ``columns``, as Kafka Connect writes it.

    Args:
        columns: the fields, numbered from 1.
        full_name: the message's name, with its package, or None for Connect's.
        nullable: OPTIONAL or WRAPPER: how to distinguish NULL from defaults, or None.

    Raises:
        KsqlError: INVALID_STATEMENT for types that Protobuf does not support.
    """
    return _Writer(nullable).file(columns, full_name)


class _Writer:
    def __init__(self, nullable: str | None) -> None:
        self._nullable = nullable
        self._imports: set[str] = set()
        self._messages = 0

    def file(self, columns: Sequence[Column], full_name: str | None) -> str:
        package, _, name = (full_name or "").rpartition(".")
        body = self._message(name or None, [(c.name, c.type) for c in columns], "")
        head = ['syntax = "proto3";', *([f"package {package};"] if package else [])]
        imports = "".join(f'import "{path}";\n' for path in sorted(self._imports))
        return "\n".join(head) + "\n\n" + (imports + "\n" if imports else "") + body

    def _message(self, name: str | None, fields: Sequence[tuple[str, SqlType]], indent: str) -> str:
        self._messages += 1
        name = name or f"{_DEFAULT_NAME}{self._messages}"
        nested: list[str] = []
        lines = [
            f"{indent}  {self._field(f, type_, number, indent, nested)};\n"
            for number, (f, type_) in enumerate(fields, 1)
        ]
        inside = "".join("\n" + text for text in nested)
        return f"{indent}message {name} {{\n{''.join(lines)}{inside}{indent}}}\n"

    def _field(self, name: str, type_: SqlType, number: int, indent: str, nested: list[str]) -> str:
        match type_:
            case Array(element):
                self._no_collection(name, element)
                return f"repeated {self._type(element, indent, nested)} {name} = {number}{_options(element)}"
            case Map(_, value):
                self._no_collection(name, value)
                text = self._type(value, indent, nested)
                return f"map<string, {text}> {name} = {number}{_options(value)}"
        text = self._type(type_, indent, nested)
        if type_ in _WRITTEN and self._nullable == "OPTIONAL":
            text = f"optional {text}"
        elif type_ in _WRITTEN and self._nullable == "WRAPPER":
            self._imports.add("google/protobuf/wrappers.proto")
            text = f"google.protobuf.{text.capitalize()}Value"
        return f"{text} {name} = {number}{_options(type_)}"

    def _no_collection(self, name: str, inner: SqlType) -> None:
        if isinstance(inner, (Array, Map)):
            raise KsqlError(
                "INVALID_STATEMENT",
                reason=f"Protobuf has no lists or maps directly inside lists or maps: {name}.",
                hint="Put the inner one into a STRUCT.",
            )

    def _type(self, type_: SqlType, indent: str, nested: list[str]) -> str:
        if isinstance(type_, Struct):
            name = f"{_DEFAULT_NAME}{self._messages + 1}"
            nested.append(self._message(None, [(f.name, f.type) for f in type_.fields], indent + "  "))
            return name
        if type_ in _WRITTEN:
            return _WRITTEN[type_]
        name, path = (
            (_DECIMAL, "confluent/type/decimal.proto") if isinstance(type_, Decimal) else _TIMES[type_]
        )
        self._imports.add(path)
        if isinstance(type_, Decimal):
            self._imports.add("confluent/meta.proto")
        return name


def _options(type_: SqlType) -> str:
    """The option that keeps a DECIMAL's precision and scale."""
    if not isinstance(type_, Decimal):
        return ""
    params = ", ".join(
        f'{{ key: "{key}", value: "{value}" }}'
        for key, value in (("precision", type_.precision), ("scale", type_.scale))
    )
    return f" [(confluent.field_meta) = {{ params: [{params}] }}]"


class _Reader:
    def __init__(self, definitions: Mapping[str, Definition]) -> None:
        self._definitions = definitions
        #: names of the enclosing messages
        self._open: list[str] = []

    def message(self, definition: Definition) -> SqlType:
        if definition.name in self._open:
            raise NotConvertible(f"the message {definition.name} is part of itself")
        assert isinstance(definition.node, ast.Message)
        elements, scope = definition.node.elements, definition.name
        self._open.append(scope)
        one_ofs = [e for e in elements if isinstance(e, ast.OneOf)]
        fields = [e for e in elements if isinstance(e, (ast.Field, ast.MapField, ast.Group))]
        struct = struct_of(
            [
                *((f"{o.name}_{i}", partial(self._one_of, o, scope)) for i, o in enumerate(one_ofs)),
                *((f.name, partial(self._field, f, scope)) for f in fields),
            ]
        )
        self._open.pop()
        return struct

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
        places = [] if name.startswith(".") else outwards(scope)
        for full in (*(f"{place}.{name}" for place in places), name.removeprefix(".")):
            if full in _MESSAGES:
                return _MESSAGES[full]
            if full == _DECIMAL:
                parameters = _meta(options)
                return decimal(parameters.get("precision"), parameters.get("scale"))
            definition = self._definitions.get(full)
            if definition is not None:
                return self.message(definition) if isinstance(definition.node, ast.Message) else STRING
        raise NotConvertible(f"it refers to {name}, which is not there")


def outwards(scope: str) -> Iterator[str]:
    """A scope and those around it, the innermost first."""
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]


def _meta(options: list[ast.Option]) -> dict[str, str]:
    """The params of the option (confluent.field_meta)."""
    parameters: dict[str, str] = {}
    for option in options:
        if option.name == "(confluent.field_meta).params" and isinstance(option.value, ast.MessageLiteral):
            _add_params([option.value], parameters)
        elif option.name == "(confluent.field_meta)" and isinstance(option.value, ast.MessageLiteral):
            for element in option.value.elements:
                if isinstance(element, ast.MessageLiteralField) and element.name == "params":
                    value = element.value
                    _add_params(value if isinstance(value, list) else [value], parameters)
    return parameters


def _add_params(entries: list[Any], params: dict[str, str]) -> None:
    for entry in entries:
        if isinstance(entry, ast.MessageLiteral):
            pair = {e.name: e.value for e in entry.elements if isinstance(e, ast.MessageLiteralField)}
            params[str(pair.get("key"))] = str(pair.get("value"))
