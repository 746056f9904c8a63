"""Consistency tokens: they name the records that a client knows of, which a result of any server must
include.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
from collections.abc import Mapping

from ksql_spark.errors import KsqlError

#: topic -> partition -> the offset after the last known record
Offsets = Mapping[str, Mapping[int, int]]
_VERSION = 1
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
    text = json.dumps([_VERSION, body], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode(token: str) -> Offsets:
    """The offsets of a token.

    Raises:
        KsqlError: BAD_REQUEST, it is not one of ours.
    """
    try:
        if len(token) > _MAX_CHARACTERS:
            raise ValueError
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        version, body = json.loads(text)
        if version != _VERSION:
            raise ValueError
        return {str(t): {int(p): _offset(end) for p, end in ends.items()} for t, ends in body.items()}
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise KsqlError("BAD_REQUEST", reason="The consistency token is not from this service.") from None


def _offset(end: object) -> int:
    """An offset, a 64-bit integer in Kafka. Raises ValueError for anything else."""
    if type(end) is not int or not -(2**63) <= end < 2**63:
        raise ValueError
    return end
