"""Chooses among several servers."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from ksql_spark.client.errors import InterfaceError


def addresses(url: str) -> list[str]:
    """The addresses in ``url``, each with its scheme and without a final slash.

    >>> addresses("localhost:8088/, https://b")
    ['http://localhost:8088', 'https://b']
    """
    parts = [one.strip() for one in url.split(",")]
    return [(one if "://" in one else f"http://{one}").rstrip("/") for one in parts if one]


class Servers:
    """The addresses of servers that share queries; the current one is tried first. Thread-safe.

    Raises:
        InterfaceError: no addresses are given.
    """

    def __init__(self, urls: Iterable[str]) -> None:
        #: the current one first; replaced as a whole, so that it can be read without the lock
        self._urls = tuple(dict.fromkeys(urls))
        self._lock = threading.Lock()
        if not self._urls:
            raise InterfaceError("A server address is missing.")

    @property
    def present(self) -> str:
        """The address at which the next request starts."""
        return self._urls[0]

    def attempts(self) -> Iterator[str]:
        """The addresses for one request, each once; taking the next one means that the last was unreachable.

        The next one is that with which other requests start by then: they may have found the same.
        """
        tried: set[str] = set()
        while untried := [url for url in self._urls if url not in tried]:
            yield untried[0]
            tried.add(untried[0])
            self._pass_over(untried[0])

    def _pass_over(self, url: str) -> None:
        """Start with the address after ``url``, unless another request has already done so."""
        with self._lock:
            if self._urls[0] == url:
                self._urls = (*self._urls[1:], url)
