"""Answers of SHOW, DESCRIBE and EXPLAIN as rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ksql_spark.entities import Entity
from ksql_spark.entities.queries import QueryDescriptionEntity
from ksql_spark.entities.sources import SourceDescriptionEntity
from ksql_spark.entities.wire import to_json
from ksql_spark.server.postgres.values import values
from ksql_spark.server.postgres.wire.columns import Column


def table_of(entities: Sequence[Entity]) -> tuple[tuple[Column, ...], list[tuple[Any, ...]]]:
    """Answers of SHOW, DESCRIBE and EXPLAIN as rows: the members of what they list, or lines of text."""
    for entity in entities:
        if isinstance(entity, QueryDescriptionEntity):
            lines = entity.query_description.execution_plan.splitlines()
            return (Column("QUERY PLAN", values.TEXT),), [(line,) for line in lines]
        if isinstance(entity, SourceDescriptionEntity):
            rows = [
                (field.name, str(to_json(field)["schema"]["type"]), field.type)
                for field in entity.source_description.fields
            ]
            return tuple(Column(name, values.TEXT) for name in ("column", "type", "part")), rows
        members = to_json(entity)
        listed = next(
            (
                value
                for name, value in members.items()
                if isinstance(value, (list, tuple)) and name != "warnings"
            ),
            None,
        )
        if listed is None:
            listed = [{k: v for k, v in members.items() if k not in ("@type", "statementText", "warnings")}]
        dicts = [one if isinstance(one, dict) else {"name": one} for one in listed]
        names = list(dict.fromkeys(name for one in dicts for name in one))
        return (
            tuple(Column(_snake(name), values.TEXT) for name in names),
            [
                tuple(None if one.get(name) is None else values.json_text(one[name]) for name in names)
                for one in dicts
            ],
        )
    return (Column("result", values.TEXT),), []


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
