"""JSON requests over HTTP to another server (Kafka Connect), with clear errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from ksql_spark.errors import KsqlError

#: how long a request may take
TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Remote:
    """Another server.

    Args:
        name: its name for users.
        url: its address.
        setting: the property with the address, for errors.
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
        """Send a request; return the JSON of the answer, None if it is empty.

        Args:
            method: GET, POST …
            path: below the URL, its parts quoted by ``quoted``.
            query: parameters of the URL.
            body: JSON to send.
            absent: HTTP statuses for which None is returned, because the resource does not exist.

        Raises:
            KsqlError: REMOTE_UNREACHABLE; REMOTE_REFUSED with the server's message; REMOTE_CONFLICT for
                status 409.
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
    """``part``, quoted as one segment of a path."""
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
            reason=f"the answer of {remote.url} is not JSON; is {remote.setting} right?",
        ) from None


def _reason(answer: httpx.Response) -> str:
    """The server's message, else its status phrase, with the status code."""
    try:
        message = answer.json().get("message")
    except (ValueError, AttributeError):
        message = None
    return f"{message or answer.reason_phrase} (HTTP {answer.status_code})"
