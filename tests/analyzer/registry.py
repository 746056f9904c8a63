"""A schema registry in memory, for tests."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

from ksql_spark.schema_registry import AVRO, RegisteredSchema


class FakeRegistry:
    """See ksql_spark.schema_registry.SchemaRegistry; ``asked`` has what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str | int] = []
        self._latest: dict[str, RegisteredSchema] = {}
        self._by_id: dict[int, RegisteredSchema] = {}

    def add(self, subject: str, schema: Any, kind: str = AVRO) -> int:
        """Make ``schema`` (JSON, or a text) the latest of ``subject``; gives its id."""
        text = schema if isinstance(schema, str) and kind != AVRO else json.dumps(schema)
        return self.register(subject, RegisteredSchema(0, kind, text))

    def guid(self, schema_id: int) -> UUID:
        """The GUID of a schema."""
        return UUID(int=2**64 + schema_id)

    def cached(self, schema_id: int | UUID) -> RegisteredSchema | None:
        return self.by_id(schema_id if isinstance(schema_id, int) else schema_id.int - 2**64)

    def incompatibility(self, subject: str, schema: RegisteredSchema) -> str | None:
        return None

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        same = (s for s in self._by_id.values() if replace(s, id=0) == replace(schema, id=0))
        registered = next(same, None) or replace(schema, id=len(self._by_id) + 1)
        self._latest[subject] = self._by_id[registered.id] = registered
        return registered.id

    def delete(self, subject: str) -> None:
        self._latest.pop(subject, None)

    @property
    def address(self) -> str | None:
        return None

    def require(self) -> None:
        """It is always there."""

    def has_schemas(self) -> bool:
        """It has some."""
        return True

    def latest(self, subject: str) -> RegisteredSchema | None:
        self.asked.append(subject)
        return self._latest.get(subject)

    def versions(self, subject: str, most: int) -> list[tuple[int, RegisteredSchema]]:
        return [(1, latest)] if (latest := self._latest.get(subject)) is not None else []

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        self.asked.append(schema_id)
        return self._by_id.get(schema_id)

    def by_ids(self) -> dict[int, RegisteredSchema]:
        return self._by_id

    def subjects(self, schema_id: int) -> list[str]:
        return [subject for subject, schema in self._latest.items() if schema.id == schema_id]
