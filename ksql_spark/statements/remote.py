"""JSON over HTTP to a server beside us, Kafka Connect: one call, clear errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from ksql_spark.errors import KsqlError

#: how long a server may take to answer, seconds
TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Remote:
    """A server that we ask.

    Args:
        name: what users know it as.
        url: where it is.
        setting: the property that says so, for errors.
    """

    name: str
    url: str
    setting: str

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | list[str]] | None = None,
        body: Any = None,
        absent: tuple[int, ...] = (),
    ) -> Any:
        """The JSON that the server answers.

        Args:
            method: GET, POST …
            path: below the URL, its parts quoted by ``quoted``.
            query: parameters of the URL.
            body: JSON to send.
            absent: HTTP statuses for which None is returned: what was asked for is not there.

        Raises:
            KsqlError: REMOTE_UNREACHABLE, naming the property; REMOTE_REFUSED with the server's own words;
                REMOTE_CONFLICT for status 409.
        """
        try:
            answer = httpx.request(
                method,
                f"{self.url.rstrip('/')}/{path}",
                params=query,
                json=body,
                timeout=TIMEOUT_S,
                follow_redirects=True,
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            raise KsqlError(
                "REMOTE_UNREACHABLE", name=self.name, url=self.url, reason=reason, setting=self.setting
            ) from None
        if answer.status_code in absent:
            return None
        if answer.is_success:
            return _json(answer, self)
        condition = "REMOTE_CONFLICT" if answer.status_code == 409 else "REMOTE_REFUSED"
        raise KsqlError(condition, name=self.name, reason=_reason(answer))


def quoted(part: str) -> str:
    """``part`` as one segment of a path."""
    return quote(part, safe="")


def _json(answer: httpx.Response, remote: Remote) -> Any:
    if not answer.content:
        return None
    try:
        return answer.json()
    except ValueError:
        raise KsqlError(
            "REMOTE_REFUSED",
            name=remote.name,
            reason=f"what answers at {remote.url} speaks no JSON; is {remote.setting} right?",
        ) from None


def _reason(answer: httpx.Response) -> str:
    """The server's message, else its status."""
    try:
        message = answer.json().get("message")
    except (ValueError, AttributeError):
        message = None
    return f"{message or answer.reason_phrase} (HTTP {answer.status_code})"
