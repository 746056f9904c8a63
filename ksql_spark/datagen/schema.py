"""What a schema of generated events is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple


class Event(NamedTuple):
    """One record to write; the time is in epoch milliseconds."""

    key: bytes | None
    value: bytes
    timestamp_ms: int


Clock = Callable[[int], int]
"""Gives the time of the n-th event (from 0), in epoch milliseconds."""


@dataclass(frozen=True)
class Schema:
    """A kind of events.

    Args:
        name: what users call it, and the default topic.
        description: one line for the help.
        statement: how to declare the topic in KSQL; ``{topic}`` stands for its name, ``{partitions}`` for
            how many it has.
        events: generates them, from a source of chance and a clock; ends where there are only so many.
        rate: events per second unless the user says otherwise; None for as fast as it goes.
        topic_config: configuration of the topic where it has to be made.
    """

    name: str
    description: str
    statement: str
    events: Callable[[Random, Clock], Iterator[Event]]
    rate: float | None = 10.0
    topic_config: Mapping[str, str] = field(default_factory=dict)


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """The JSON text of a record."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def int_key(value: int) -> bytes:
    """An INT key in the format KAFKA (reference §5.2): four bytes, most significant first."""
    return value.to_bytes(4, "big", signed=True)
