"""Tokens: those of consistency name the records that a client knows of, which a result of any server must
include; those of continuation say how far a client has read a push query.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksql_spark.errors import KsqlError

#: topic -> partition -> the offset after the last known record
Offsets = Mapping[str, Mapping[int, int]]
_VERSION, _POSITION_VERSION = 1, 2
#: longer tokens are not ours
_MAX_CHARACTERS = 100_000


class KnownPositions:
    """The positions that a client learns from a response, collected while its request runs. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._offsets: dict[str, dict[int, int]] = {}
        #: stopped queries that write what was read: the result may be stale
        self.stopped: tuple[str, ...] = ()

    def note(self, topic: str, ends: Mapping[int, int]) -> None:
        """All records of ``topic`` before ``ends`` are known."""
        with self._lock:
            ends_of_topic = self._offsets.setdefault(topic, {})
            for partition, end in ends.items():
                ends_of_topic[partition] = max(end, ends_of_topic.get(partition, 0))

    @property
    def token(self) -> str | None:
        """The token for the client; None if there is nothing to report."""
        with self._lock:
            return encode(self._offsets) if self._offsets else None


def encode(offsets: Offsets) -> str:
    """The token of ``offsets``, a text that never needs quoting."""
    body = {topic: {str(p): end for p, end in ends.items()} for topic, ends in offsets.items()}
    return _written([_VERSION, body])


def decode(token: str) -> Offsets:
    """The offsets of a token.

    Raises:
        KsqlError: BAD_REQUEST, it is not one of ours.
    """
    try:
        version, body = _read(token)
        if version != _VERSION:
            raise ValueError
        return {str(t): _offsets(ends) for t, ends in body.items()}
    except _NOT_OURS:
        raise KsqlError("BAD_REQUEST", reason="The consistency token is not from this service.") from None


@dataclass(frozen=True)
class Position:
    """How far a client has read the topic of a push query.

    Args:
        topic: the topic's name.
        topic_id: its id; a topic that is deleted and created again gets another one.
        next: partition -> the offset of the next record.
        at_ms: when the client had read everything before.
    """

    topic: str
    topic_id: str | None
    next: Mapping[int, int]
    at_ms: int

    @property
    def token(self) -> str:
        """The continuation token, a text that never needs quoting."""
        offsets = {str(p): offset for p, offset in self.next.items()}
        return _written([_POSITION_VERSION, self.topic, self.topic_id, offsets, self.at_ms])

    @classmethod
    def of(cls, token: str) -> Position:
        """The position in a token.

        Raises:
            KsqlError: BAD_REQUEST, it is not one of ours.
        """
        try:
            version, topic, topic_id, offsets, at_ms = _read(token)
            if version != _POSITION_VERSION:
                raise ValueError
            return cls(str(topic), topic_id, _offsets(offsets), _offset(at_ms))
        except _NOT_OURS:
            raise KsqlError(
                "BAD_REQUEST", reason="The continuation token is not from this service."
            ) from None


_NOT_OURS = (ValueError, TypeError, AttributeError, RecursionError, binascii.Error)


def _written(content: list[Any]) -> str:
    text = json.dumps(content, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(token: str) -> Any:
    """What ``_written`` has written; raises one of _NOT_OURS for texts of others."""
    if len(token) > _MAX_CHARACTERS:
        raise ValueError
    return json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))


def _offsets(ends: Any) -> dict[int, int]:
    return {int(p): _offset(end) for p, end in ends.items()}


def _offset(end: object) -> int:
    """An offset, a 64-bit integer in Kafka. Raises ValueError for anything else."""
    if type(end) is not int or not -(2**63) <= end < 2**63:
        raise ValueError
    return end
