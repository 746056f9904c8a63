"""Schemas of generated events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple


class Event(NamedTuple):
    """One record to write; its timestamp is epoch milliseconds."""

    key: bytes | None
    value: bytes
    timestamp_ms: int


Clock = Callable[[int], int]
"""Returns the time of the n-th event (from 0), in epoch milliseconds."""


@dataclass(frozen=True)
class Schema:
    """A kind of events.

    Args:
        name: its name for users, and the default topic.
        description: one line for the help.
        statement: declares the topic in KSQL; ``{topic}`` stands for its name, ``{partitions}`` for the
            number of its partitions.
        events: generates events from random numbers and a clock; some schemas have a limited number.
        rate: default number of events per second; None: as fast as possible.
        topic_config: configuration of the topic if it is created.
    """

    name: str
    description: str
    statement: str
    events: Callable[[Random, Clock], Iterator[Event]]
    rate: float | None = 10.0
    topic_config: Mapping[str, str] = field(default_factory=dict)


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """``value`` as JSON in UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def int_key(value: int) -> bytes:
    """An INT key in the format KAFKA (reference §5.2): four bytes, big-endian."""
    return value.to_bytes(4, "big", signed=True)
