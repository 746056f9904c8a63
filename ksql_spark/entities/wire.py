"""Entities and bodies as JSON, and JSON schemas: the only place that makes them (reference §7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import pydantic

from ksql_spark.entities import (
    catalog,
    commands,
    connectors,
    graph,
    queries,
    servers,
    sinks,
    sources,
    tracing,
    versions,
)
from ksql_spark.entities.base import OMITTED, Body, Entity

#: the modules that have entities
_MODULES = (catalog, commands, connectors, graph, queries, servers, sinks, sources, tracing, versions)


def _entities() -> Iterator[type[Entity]]:
    for module in _MODULES:
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, Entity) and found is not Entity:
                yield found


#: @type -> the class of the entity, sorted
ENTITIES: Mapping[str, type[Entity]] = dict(sorted((cls.wire_type, cls) for cls in _entities()))
#: created on first use, because each takes milliseconds
_adapters: dict[type[Body], pydantic.TypeAdapter[Any]] = {}


def to_json(body: Body) -> dict[str, Any]:
    """``body`` as a JSON object, for ``json.dumps``.

    An entity begins with its ``@type`` and ends with its warnings, as ksqlDB writes it.
    """
    cls = type(body)
    members: dict[str, Any] = _adapter(cls).dump_python(body, mode="json", by_alias=True)
    if not isinstance(body, Entity):
        return members
    warnings = members.pop("warnings")
    return {"@type": body.wire_type, **members, "warnings": warnings}


def _adapter(cls: type[Body]) -> pydantic.TypeAdapter[Any]:
    adapter = _adapters.get(cls)
    if adapter is None:
        adapter = _adapters[cls] = pydantic.TypeAdapter(cls)
    return adapter


def schemas(reference: str) -> dict[str, dict[str, Any]]:
    """The JSON schemas of ``to_json``'s results, by class name; that of Entity is a union of all entities.

    Args:
        reference: the form of references, with ``{model}`` for the name.
    """
    inputs: list[tuple[str, Literal["serialization"], pydantic.TypeAdapter[Any]]] = [
        (cls.__name__, "serialization", _adapter(cls)) for cls in _derived(Body)
    ]
    _, collected = pydantic.TypeAdapter.json_schemas(inputs, by_alias=True, ref_template=reference)
    definitions: dict[str, dict[str, Any]] = collected["$defs"]
    for schema in definitions.values():
        schema["description"] = schema["description"].partition("\n")[0]
        members: dict[str, dict[str, Any]] = schema.get("properties", {})
        schema["required"] = [name for name, member in members.items() if not member.pop(OMITTED, False)]
        for name, member in members.items():
            member.pop("title", None)
            if member.pop("default", ...) is None and name not in schema["required"]:
                members[name], _ = member["anyOf"]  # never null
    for name, cls in ENTITIES.items():
        schema = definitions[cls.__name__]
        schema["properties"] = {"@type": {"const": name}, **schema["properties"]}
        schema["required"].insert(0, "@type")
    references = {name: reference.format(model=cls.__name__) for name, cls in ENTITIES.items()}
    definitions[Entity.__name__] = {
        "description": definitions[Entity.__name__]["description"],
        "oneOf": [{"$ref": text} for text in references.values()],
        "discriminator": {"propertyName": "@type", "mapping": references},
    }
    return definitions


def _derived(cls: type[Body]) -> Iterator[type[Body]]:
    for derived in cls.__subclasses__():
        yield derived
        yield from _derived(derived)
