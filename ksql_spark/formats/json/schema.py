"""JSON Schemas as SQL types, and columns as JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote

from ksql_spark.formats.registered import (
    CONNECT,
    NotConvertible,
    ReadSchema,
    map_of,
    named,
    struct_of,
)
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
    VARIANT,
    Array,
    Decimal,
    Field,
    Map,
    SqlType,
    Struct,
)

_DRAFT = "http://json-schema.org/draft-07/schema#"
#: number types by Connect's connect.type
_NUMBERS: dict[str, SqlType] = {
    "int8": INTEGER,
    "int16": INTEGER,
    "int32": INTEGER,
    "int64": BIGINT,
    "float32": DOUBLE,
    "float64": DOUBLE,
    "bytes": BYTES,
}
#: before the number of a union's branch in Connect's name of its field
_BRANCH = "io.confluent.connect.json.OneOf.field."

#: keywords that only schemas of one type have
_KEYWORDS = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties"),
    "array": ("items", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"),
}

Schema = Mapping[str, Any]


def read(text: str, references: Mapping[str, str]) -> ReadSchema:
    """The SQL types of the JSON Schema ``text``.

    Args:
        text: JSON.
        references: other schemas, by their URI in ``$ref``.

    Raises:
        NotConvertible: it is not a JSON Schema, or SQL has no type for it.
    """
    documents = {name: _parsed(other) for name, other in references.items()}
    root = _parsed(text)
    return ReadSchema(_Reader(documents).type(root, root))


def further_members(text: str, references: Mapping[str, str], names: Collection[str]) -> str:
    """The members that an object of the schema ``text`` has besides those with ``names``.

    JSON text, each member after a comma, as Connect writes it: with its default, or null if the schema allows
    it. Otherwise the member is omitted. For ``references`` see ``read``.

    Raises:
        ValueError: a required member has neither.
    """
    root = _parsed(text)
    reader = _Reader({name: _parsed(other) for name, other in references.items()})
    parts = list(reader.parts(root, root))
    required = {name for part, _ in parts for name in part.get("required") or ()}
    written = {}
    for part, document in parts:
        for name, schema in _properties(part):
            if name in names or name.upper() in names:
                continue
            if isinstance(schema, dict) and "default" in schema:
                written[name] = schema["default"]
            elif reader.allows_null(schema, document):
                written[name] = None
            elif name in required:
                raise ValueError(f"{name}: the schema requires it, gives it no default, and allows no NULL.")
    return "".join(f",{json.dumps(n)}:{json.dumps(v, separators=(',', ':'))}" for n, v in written.items())


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise NotConvertible(f"it is not JSON: {error}") from None


class _Reader:
    """Reads schemas; ``root`` is always the document that contains the schema."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents
        #: the enclosing references
        self._open: list[str] = []

    def type(self, schema: Any, root: Any) -> SqlType:
        if not isinstance(schema, dict):
            raise NotConvertible(f"{json.dumps(schema)} says nothing about types")
        if "$ref" in schema:
            return self._referred(str(schema["$ref"]), root)
        if "allOf" in schema or (self._choices(schema) and self._has_own_type(schema)):
            return self._all_of(schema, root)
        choices = self._choices(schema)
        if choices:
            return self._one_of(choices, root)
        return named(self._plain(schema, root), schema.get("title"), schema.get("connect.parameters"))

    @staticmethod
    def _choices(schema: Schema) -> list[Any]:
        return list(schema.get("oneOf") or schema.get("anyOf") or ())

    @staticmethod
    def _has_own_type(schema: Schema) -> bool:
        return "type" in schema or any(word in schema for words in _KEYWORDS.values() for word in words)

    def _plain(self, schema: Schema, root: Any) -> SqlType:
        kind = schema.get("type") or next(
            (k for k, words in _KEYWORDS.items() if any(word in schema for word in words)), None
        )
        connect = schema.get("connect.type")
        match kind:
            case list():
                return self._one_of([{**schema, "type": k} for k in kind], root)
            case "boolean":
                return BOOLEAN
            case "integer" | "number":
                if connect is None:
                    return BIGINT if kind == "integer" else DOUBLE
                if connect not in _NUMBERS:
                    raise NotConvertible(f"connect.type {connect} is unknown for numbers")
                return _NUMBERS[connect]
            case "string":
                return BYTES if connect == "bytes" else STRING
            case "array":
                return self._array(schema, root)
            case "object" if connect == "map":
                return Map(STRING, self.type(schema.get("additionalProperties"), root))
            case "object":
                return struct_of((n, partial(self.type, s, root)) for n, s in _properties(schema))
            case None if "enum" in schema:
                return STRING
        raise NotConvertible(f"the type {json.dumps(kind)} stands alone" if kind else "it names no type")

    def _array(self, schema: Schema, root: Any) -> SqlType:
        items = schema.get("items")
        if not isinstance(items, dict):
            raise NotConvertible("Array schema did not specify the items type")
        if schema.get("connect.type") == "map" and {"key", "value"} <= set(items.get("properties", ())):
            entry = items["properties"]
            return map_of(self.type(entry["key"], root), self.type(entry["value"], root))
        return Array(self.type(items, root))

    def _one_of(self, choices: list[Any], root: Any) -> SqlType:
        """The type of a oneOf: a nullable type, or a STRUCT with a field for each choice."""
        others = [c for c in choices if not (isinstance(c, dict) and c.get("type") == "null")]
        if len(choices) == 2 and len(others) == 1:
            return self.type(others[0], root)
        return struct_of((f"{_BRANCH}{i}", partial(self.type, c, root)) for i, c in enumerate(others))

    def _all_of(self, schema: Schema, root: Any) -> SqlType:
        """A STRUCT of all properties of its parts; without properties, the type of the part that has one."""
        own = {k: v for k, v in schema.items() if k not in ("allOf", "oneOf", "anyOf")}
        parts = [own] if self._has_own_type(own) else []
        parts += schema.get("allOf", ())
        properties: dict[str, tuple[Any, Any]] = {}
        for part in parts:
            for one, document in self.parts(part, root):
                properties.update((name, (property_, document)) for name, property_ in _properties(one))
        if properties:
            return struct_of((n, partial(self.type, s, r)) for n, (s, r) in properties.items())
        choices = self._choices(schema)
        candidates = [{"oneOf": choices}] if choices else []
        candidates += [p for p in parts if isinstance(p, dict) and ("$ref" in p or self._has_own_type(p))]
        if not candidates:
            raise NotConvertible("allOf has no part with a type")
        return self.type(candidates[0], root)

    def parts(self, schema: Any, root: Any, seen: tuple[str, ...] = ()) -> Iterator[tuple[Schema, Any]]:
        """The schemas that a value must all fit, each with its document."""
        if not isinstance(schema, dict):
            return
        if "$ref" in schema:
            reference = str(schema["$ref"])
            if reference not in seen:
                yield from self.parts(*self._resolved(reference, root), (*seen, reference))
            return
        for part in schema.get("allOf", ()):
            yield from self.parts(part, root, seen)
        yield schema, root

    def allows_null(self, schema: Any, root: Any) -> bool:
        """Whether a schema says that a value may be null."""
        return all(self._allows_null(part, document) for part, document in self.parts(schema, root))

    def _allows_null(self, part: Schema, root: Any) -> bool:
        choices = self._choices(part)
        if choices and not any(self.allows_null(choice, root) for choice in choices):
            return False
        kind = part.get("type", "null")
        return "null" in (kind if isinstance(kind, list) else [kind]) and None in part.get("enum", [None])

    def _referred(self, reference: str, root: Any) -> SqlType:
        schema, document = self._resolved(reference, root)
        if reference in self._open:
            raise NotConvertible(f"{reference} is part of itself")
        self._open.append(reference)
        type_ = self.type(schema, document)
        self._open.pop()
        return type_

    def _resolved(self, reference: str, root: Any) -> tuple[Any, Any]:
        """The schema that a ``$ref`` refers to, and its document."""
        where, _, pointer = reference.partition("#")
        document = root
        if where and where != (root.get("$id") if isinstance(root, dict) else None):
            if where not in self._documents:
                raise NotConvertible(f"it refers to {where}, which is not there")
            document = self._documents[where]
        schema = document
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(schema, list) and key.isdecimal() and int(key) < len(schema):
                schema = schema[int(key)]
            elif isinstance(schema, dict) and key in schema:
                schema = schema[key]
            else:
                raise NotConvertible(f"it refers to {reference}, which is not there")
        return schema, document


def _properties(schema: Schema) -> list[tuple[str, Any]]:
    """Properties in order of their ``connect.index``; those without one keep their position."""
    properties = list((schema.get("properties") or {}).items())

    def at(indexed: tuple[int, tuple[str, Any]]) -> int:
        place, (_, property_) = indexed
        index = property_.get("connect.index") if isinstance(property_, dict) else None
        return index if isinstance(index, int) else place

    return [entry for _, entry in sorted(enumerate(properties), key=at)]


def is_union(type_: Struct) -> bool:
    """Whether a STRUCT has a field for each branch of a union, as ``read`` makes it: their names say so."""
    return bool(type_.fields) and all(f.name.upper().startswith(_BRANCH.upper()) for f in type_.fields)


# ---- from columns ---------------------------------------------------------------------------------------

_WRITTEN: dict[SqlType, dict[str, Any]] = {
    BOOLEAN: {"type": "boolean"},
    INTEGER: {"type": "integer", "connect.type": "int32"},
    BIGINT: {"type": "integer", "connect.type": "int64"},
    DOUBLE: {"type": "number", "connect.type": "float64"},
    STRING: {"type": "string"},
    BYTES: {"type": "string", "connect.type": "bytes"},
    DATE: {"type": "integer", "title": CONNECT + "Date", "connect.version": 1, "connect.type": "int32"},
    TIME: {"type": "integer", "title": CONNECT + "Time", "connect.version": 1, "connect.type": "int32"},
    TIMESTAMP: {
        "type": "integer", "title": CONNECT + "Timestamp", "connect.version": 1, "connect.type": "int64",
    },
}  # fmt: skip


def write(columns: Sequence[Column], wrapped: bool, full_name: str | None) -> str:
    """The schema of ``columns``, as Connect writes it: everything may be null.

    Args:
        columns: columns with types that JSON supports.
        wrapped: whether to write an object of the columns, or the type of the only one.
        full_name: the object's title, or None if it has none.
    """
    type_ = Struct(tuple(Field(c.name, c.type) for c in columns)) if wrapped else columns[0].type
    schema = _written(type_)
    if not wrapped:
        # Apicurio accepts nothing else as a JSON Schema, unless it has properties
        schema = {"$schema": _DRAFT, **schema}
    if full_name:
        schema["title"] = full_name
    return json.dumps(schema, separators=(",", ":"))


def _written(type_: SqlType) -> dict[str, Any]:
    match type_:
        case Struct(fields) if is_union(type_):
            return {"oneOf": [{"connect.index": i, **_written(f.type)} for i, f in enumerate(fields)]}
        case Struct(fields):
            properties = {f.name: {"connect.index": i, **_optional(f.type)} for i, f in enumerate(fields)}
            return {"type": "object", "properties": properties}
        case Array(element):
            return {"type": "array", "items": _optional(element)}
        case Map(_, value):
            return {
                "type": "object", "connect.type": "map", "additionalProperties": _optional(value),
            }  # fmt: skip
        case Decimal(precision, scale):
            parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
            return {
                "type": "number", "title": CONNECT + "Decimal", "connect.version": 1, "connect.type": "bytes",
                "connect.parameters": parameters,
            }  # fmt: skip
    return {} if type_ == VARIANT else dict(_WRITTEN[type_])


def _optional(type_: SqlType) -> dict[str, Any]:
    if type_ == VARIANT:
        return {}  # anything, also null
    written = _written(type_)
    choices = written.get("oneOf", ())
    # one branch and null would be that branch's type, not a union
    return {"oneOf": [{"type": "null"}, *(choices if len(choices) > 1 else [written])]}
