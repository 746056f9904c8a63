"""Look-ups with a head that came before, answered without parsing it again (ADR 50).

A head is the line and the headers of a request. A client that looks rows up sends the same head each time, so
the parser and the guards would find the same in it. What may have changed since is asked again: whether the
server runs, and who the client is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from starlette.types import Scope

from server.authentication import ANYBODY, Authenticator, Principal
from server.errors import RequestError
from server.guards import BODY, header_of
from server.host import Host
from server.logs import HEADER
from server.lookups import PATHS, LookUps, Started, media_type_of
from server.metrics import Metrics

#: where the scope of a request has its Piece
PIECE = "ksql_spark.piece"
#: how many heads are kept
MOST_KNOWN = 1_000
#: longer heads are parsed each time
MOST_BYTES = 8_192
#: headers that mean the same each time. A request with any other is parsed
_LASTING = frozenset(
    b"accept accept-encoding accept-language authorization connection content-length content-type host "
    b"user-agent".split()
)
#: what ends a head
HEAD_END = b"\r\n\r\n"


class Piece:
    """What has come over a connection since it was clear: no request was under way, and no byte left.

    Args:
        head: the line and headers of the first request, without the empty line after them.
        rest: how many bytes have come after that.
    """

    __slots__ = ("head", "rest", "scope", "started")

    def __init__(self, head: bytes, rest: int) -> None:
        self.head = head
        self.rest = rest
        #: of the first request, once it is parsed
        self.scope: Scope | None = None
        #: the look-up that the first request asks for, if that has to wait
        self.started: Started | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is one request, with all of its body and nothing after it."""
        if self.scope is None or header_of(self.scope, b"transfer-encoding") is not None:
            return False
        length = header_of(self.scope, b"content-length") or b"0"
        return length.isdigit() and int(length) == self.rest


def piece_of(data: bytes) -> Piece | None:
    """The piece that begins with a request; None if its head is not complete, or unusual.

    Some parsers take a line feed alone for the end of a line. Where there is one, they may see another end of
    the head.
    """
    end = data.find(HEAD_END, 0, MOST_BYTES)
    if end <= 0 or not data[:1].isalpha():
        return None
    head = data[:end]
    if head.count(b"\n") != head.count(b"\r\n"):
        return None
    return Piece(head, len(data) - end - len(HEAD_END))


class KnownHead(NamedTuple):
    """What was found in a head.

    Args:
        length: of the body, bytes.
        path: where it was sent to.
        media_type: of the answer.
        tail: the last headers of each answer, up to the id of the request.
        credentials: the digest of its header Authorization, see Authenticator.
        principal: who that was.
    """

    length: int
    path: str
    media_type: str
    tail: bytes
    credentials: bytes
    principal: Principal


class KnownHeads:
    """The heads of look-ups that were answered at once. For one thread.

    Args:
        host: has the engine.
        look_ups: answers look-ups.
        authenticator: says who sends them.
        new_id: returns an id for a request.
        metrics: counts requests; None: nobody does.
    """

    def __init__(
        self,
        host: Host,
        look_ups: LookUps,
        authenticator: Authenticator,
        new_id: Callable[[], bytes],
        metrics: Metrics | None,
    ) -> None:
        self._host = host
        self._look_ups = look_ups
        self._authenticator = authenticator
        self._new_id = new_id
        self._metrics = metrics
        #: by the head, or by its digest where there are passwords in heads
        self._known: dict[bytes, KnownHead] = {}
        #: headers of each answer, and the beginning of an answer with them
        self._headers: list[tuple[bytes, bytes]] | None = None
        self._start = b""

    @property
    def may_answer(self) -> bool:
        """Whether statements can be run now."""
        return self._host.takes_statements

    def find(self, head: bytes) -> KnownHead | None:
        """What was found in ``head``; None if it did not come before."""
        return self._known.get(self._key(head))

    def _key(self, head: bytes) -> bytes:
        return self._authenticator.digest(head) if self._authenticator.is_on else head

    def note(self, scope: Scope) -> None:
        """A request was answered at once, after it has passed all guards."""
        piece: Piece | None = scope.get(PIECE)
        if (
            piece is None
            or scope["path"] not in PATHS
            or scope["http_version"] != "1.1"
            or not piece.is_whole
            or piece.rest != len(scope[BODY])
            or len(names := {name for name, _ in scope["headers"]}) < len(scope["headers"])
            or not names <= _LASTING
            or (header_of(scope, b"connection") or b"keep-alive").lower() != b"keep-alive"
        ):
            return
        try:
            media_type = media_type_of(scope)
        except RequestError:
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[self._key(piece.head)] = KnownHead(
            piece.rest,
            scope["path"],
            media_type,
            b"\r\ncontent-type: %b\r\n%b: " % (media_type.encode(), HEADER),
            self._authenticator.digest(header_of(scope, b"authorization") or b""),
            scope["ksql_spark.principal"],
        )

    def answer(
        self, known: KnownHead, body: bytes, headers: list[tuple[bytes, bytes]]
    ) -> bytes | Started | None:
        """The answer to a request with a known head.

        Args:
            known: its head.
            body: its body.
            headers: of each answer, the same list as before if it has not changed.

        Returns:
            the whole answer; or else the request has to be parsed, with the look-up if that has begun.
        """
        began = time.perf_counter()
        if not self._host.takes_statements or not self._is_still(known):
            return None
        try:
            started = self._look_ups.start(known.path, body, known.principal.rights)
        except Exception:
            return None  # it happens again, and gets an answer then
        if started is None or started.look_up.when_current is not None:
            return started
        try:
            text, more = self._look_ups.reply(started, known.media_type)
        except Exception:
            return started  # as before
        if headers is not self._headers:
            self._headers, self._start = headers, b"HTTP/1.1 200 OK\r\n%bcontent-length: " % _lines(headers)
        if self._metrics is not None:
            self._metrics.note(known.path, 200, time.perf_counter() - began)
        length = b"%d" % len(text)
        if more:
            length += b"\r\n" + _lines(more)[:-2]
        return b"".join((self._start, length, known.tail, self._new_id(), HEAD_END, text))

    def _is_still(self, known: KnownHead) -> bool:
        """Whether the client of a known head is who it was then."""
        if not self._authenticator.is_on:
            return known.principal is ANYBODY
        return self._authenticator.known_by(known.credentials) is known.principal


def _lines(headers: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])
