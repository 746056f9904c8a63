"""Messages of .proto files with resolved field types, for reading their bytes.

``schema.py`` reads the same files as SQL types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from proto_schema_parser import ast

from ksql_spark.formats.protobuf import schema as protobuf_schema
from ksql_spark.formats.registered import NotConvertible
from ksql_spark.schema_registry import RegisteredSchema

DECIMAL, DATE = "confluent.type.Decimal", "google.type.Date"
TIME, TIMESTAMP = "google.type.TimeOfDay", "google.protobuf.Timestamp"
SCALARS = frozenset(
    (
        *("double", "float", "int32", "sint32", "sfixed32", "uint32", "fixed32", "int64"),
        *("sint64", "sfixed64", "uint64", "fixed64", "bool", "string", "bytes"),
    )
)
#: messages with one field, 1, that represent a nullable value
WRAPPERS = {
    f"google.protobuf.{name}Value": name.lower()
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}


@dataclass(frozen=True)
class FieldType:
    """A scalar, a wrapper or special message by its name; otherwise a message or an enum."""

    name: str
    message: Message | None = None
    symbols: Mapping[int, str] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it has a default, so that NULL needs other means."""
        return self.symbols is not None or self.name in SCALARS


@dataclass(frozen=True)
class ProtoField:
    """A field; ``key`` is the type of its keys if it is a map. Without ``presence`` it is never NULL.

    ``default`` is the literal of its explicit default, which only fields of proto2 and editions have.
    """

    name: str
    number: int
    type: FieldType
    repeated: bool = False
    presence: bool = False
    key: FieldType | None = None
    default: object = None


class Message:
    """A message; its fields are resolved on first use, so it may be recursive."""

    def __init__(self, file: ProtoFile, name: str, node: ast.Message, is_explicit: bool) -> None:
        self.name = name
        self._file = file
        self._node = node
        self._is_explicit = is_explicit

    @cached_property
    def fields(self) -> tuple[ProtoField, ...]:
        """The fields of the message, except those of oneofs."""
        return tuple(
            self._field(e, False) for e in self._node.elements if isinstance(e, (ast.Field, ast.MapField))
        )

    @cached_property
    def one_ofs(self) -> tuple[tuple[str, tuple[ProtoField, ...]], ...]:
        """Oneofs: the name of the group and its fields."""
        return tuple(
            (one.name, tuple(self._field(e, True) for e in one.elements if isinstance(e, ast.Field)))
            for one in self._node.elements
            if isinstance(one, ast.OneOf)
        )

    @property
    def is_entry(self) -> bool:
        """Whether it is a key and a value: maps are also written as lists of such entries."""
        return self.name.endswith("Entry") and [f.name.lower() for f in self.fields] == ["key", "value"]

    def _field(self, field: ast.Field | ast.MapField, is_alternative: bool) -> ProtoField:
        if isinstance(field, ast.MapField):
            key, value = (self._file.type(t, self.name) for t in (field.key_type, field.value_type))
            return ProtoField(field.name, field.number, value, repeated=True, key=key)
        cardinality = field.cardinality
        repeated = cardinality is ast.FieldCardinality.REPEATED
        presence = is_alternative or cardinality is ast.FieldCardinality.OPTIONAL
        presence = presence or (self._is_explicit and not repeated)
        default = next((o.value for o in field.options if o.name == "default"), None)
        type_ = self._file.type(field.type, self.name)
        return ProtoField(field.name, field.number, type_, repeated, presence, default=default)


class ProtoFile:
    """A .proto file.

    Args:
        text: its text.
        references: the texts of the files that it imports, also indirectly.

    Raises:
        NotConvertible: one of them is not a .proto file.
    """

    def __init__(self, text: str, references: Iterable[str] = ()) -> None:
        self._messages: dict[str, Message] = {}
        self._enums: dict[str, dict[int, str]] = {}
        for other in (protobuf_schema.WELL_KNOWN, *references):
            self._add(protobuf_schema.parse(other))
        self._file = protobuf_schema.parse(text)
        self._add(self._file)

    def _add(self, file: ast.File) -> None:
        # in proto2 and in editions, fields without an explicit default can be absent
        is_explicit = file.syntax in (None, "proto2") and not any(
            isinstance(e, ast.Option)
            and e.name == "features.field_presence"
            and e.value == ast.Identifier("IMPLICIT")
            for e in file.file_elements
        )
        for definition in protobuf_schema.definitions(file):
            if isinstance(definition.node, ast.Message):
                self._messages[definition.name] = Message(self, definition.name, definition.node, is_explicit)
            else:
                values = [e for e in definition.node.elements if isinstance(e, ast.EnumValue)]
                self._enums[definition.name] = {v.number: v.name for v in reversed(values)}

    def at(self, path: Sequence[int]) -> Message:
        """The message at a path: an index among the file's messages, then among nested messages.

        Raises:
            NotConvertible: the message does not exist.
        """
        elements: Sequence[object] = self._file.file_elements
        scope = protobuf_schema.package(self._file)
        for index in path:
            inside = [e for e in elements if isinstance(e, ast.Message)]
            if not 0 <= index < len(inside):
                raise NotConvertible(f"The schema has no message at {list(path)}.")
            elements = inside[index].elements
            scope = f"{scope}.{inside[index].name}" if scope else inside[index].name
        return self._messages[scope]

    def path(self, full_name: str | None) -> tuple[int, ...]:
        """The path of the message with this name, or of the first one if there is no such message."""
        scope = protobuf_schema.package(self._file)

        def inside(elements: Sequence[object], scope: str, path: tuple[int, ...]) -> tuple[int, ...] | None:
            for i, message in enumerate(e for e in elements if isinstance(e, ast.Message)):
                name = f"{scope}.{message.name}" if scope else message.name
                if name in (full_name, f"{protobuf_schema.package(self._file)}.{full_name}"):
                    return (*path, i)
                inner_path = inside(message.elements, name, (*path, i))
                if inner_path:
                    return inner_path
            return None

        return inside(self._file.file_elements, scope, ()) or (0,)

    def type(self, name: str, scope: str) -> FieldType:
        """The type that a field in the message ``scope`` calls ``name``; a missing one matches no column."""
        if name in SCALARS:
            return FieldType(name)
        places = [] if name.startswith(".") else protobuf_schema.outwards(scope)
        for full in (*(f"{place}.{name}" for place in places), name.removeprefix(".")):
            if full in WRAPPERS or full in (DECIMAL, DATE, TIME, TIMESTAMP):
                return FieldType(full)
            if full in self._messages:
                return FieldType(full, message=self._messages[full])
            if full in self._enums:
                return FieldType(full, symbols=self._enums[full])
        return FieldType(f"{name}, which is not in the schema")


@lru_cache(maxsize=1000)
def _read(text: str, references: tuple[str, ...]) -> ProtoFile:
    return ProtoFile(text, references)


def proto_file(schema: RegisteredSchema) -> ProtoFile:
    """The file of a registered schema, cached.

    Raises:
        NotConvertible: it is not a .proto file.
    """
    return _read(schema.text, tuple(schema.references.values()))
