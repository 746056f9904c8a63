"""An engine with functions of users, for the modules that test them."""

from __future__ import annotations

import time
from typing import Any

from ksql_spark.engine import Engine, Request
from tests.waiting import TIMEOUT_S, until


class Server:
    """An engine and what to do with it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def run(self, text: str, **properties: Any) -> list[Any]:
        return self.engine.execute(Request(text, {"auto.offset.reset": "earliest"} | properties))

    def rows(self, query: str, count: int = 1_000_000) -> list[list[Any]]:
        """The rows of a query; of a push query, the first ``count``."""
        stream = self.engine.query(Request(query, {"auto.offset.reset": "earliest"}))
        found: list[list[Any]] = []
        deadline = time.monotonic() + TIMEOUT_S
        try:
            while len(found) < count and time.monotonic() < deadline:
                rows = stream.read(0.5)
                if rows is None:
                    break
                found += [row.values for row in rows if row.values is not None]
            return found
        finally:
            stream.close()

    def until(self, query: str, wanted: list[list[Any]]) -> None:
        """Wait until a pull query gives ``wanted``, in any order."""
        right = sorted(wanted, key=repr)
        until(lambda: sorted(self.rows(query), key=repr) == right, lambda: self.rows(query))
