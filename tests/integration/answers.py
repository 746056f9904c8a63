"""What an engine answers to statements; their queries read topics from the beginning."""

from __future__ import annotations

from typing import Any

from ksql_spark.engine import Engine, Request
from ksql_spark.entities.wire import to_json


def one(engine: Engine, text: str) -> Any:
    """The only entity."""
    (entity,) = engine.execute(Request(text, {"auto.offset.reset": "earliest"}))
    return entity


def run(engine: Engine, text: str) -> dict[str, Any]:
    """The last entity, as JSON."""
    return to_json(engine.execute(Request(text, {"auto.offset.reset": "earliest"}))[-1])
