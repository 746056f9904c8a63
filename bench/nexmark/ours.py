"""The queries of the folder queries on our engine."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import psutil

from bench.nexmark.oracle import SIDE_ROWS, Oracle, Row
from bench.nexmark.outside import records
from ksql_spark.engine import Engine, Request
from ksql_spark.formats import bind
from ksql_spark.metastore.serdes import record_spec
from ksql_spark.runtime.reading.stored_row import split_key

FOLDER = Path(__file__).parent
QUERIES = FOLDER / "queries"
NAMES = [f"q{number}" for number in range(23)]
TIMEOUT_S = 120.0


class Ours:
    """Runs queries on a started engine.

    Args:
        engine: with the topics of the events.
        oracle: has the file of the side input, and reads files.
        format_: the format of the events.
        properties: of all statements.
        every_s: queries write their changes after so many seconds; 0: at once.
    """

    name = "ours"

    def __init__(
        self,
        engine: Engine,
        oracle: Oracle,
        format_: str,
        properties: Mapping[str, Any] | None = None,
        every_s: int = 0,
    ) -> None:
        self._engine, self._oracle = engine, oracle
        self._every = f" EMIT CHANGES EVERY {every_s} SECONDS;" if every_s else ";"
        self._files = oracle.side_input.parent / "files"
        self._variables = {
            "format": format_,
            "side_input": str(oracle.side_input),
            "files": str(self._files),
        }
        self._properties = {"auto.offset.reset": "earliest", **(properties or {})}
        self._run((FOLDER / "sources.sql").read_text())
        self._sources = {source.name for source in self._services.metastore.sources()}
        deadline = time.monotonic() + TIMEOUT_S
        while sum(self._services.admin.end_offsets("SIDE_INPUT").values()) < SIDE_ROWS:
            if time.monotonic() > deadline:
                raise SystemExit("The side input is not read.")
            time.sleep(0.2)

    @property
    def _services(self) -> Any:
        return self._engine.services

    def _run(self, text: str) -> None:
        self._engine.execute(Request(text, self._properties, self._variables))

    @staticmethod
    def has(query: str) -> bool:
        """Whether there is a query for us: each."""
        return query in NAMES

    def start(self, query: str) -> None:
        """Start a query."""
        self._run((QUERIES / f"{query}.sql").read_text().rstrip().removesuffix(";") + self._every)

    def topic(self, query: str) -> str:
        """The topic of the query's result."""
        return query.upper()

    def written(self, query: str) -> int:
        """How many records the query has written."""
        if query == "q10":
            return int(self._services.sink_status("Q10").rows)
        return sum(self._services.admin.end_offsets(self.topic(query)).values())

    def rows(self, query: str, every_change: bool = False) -> list[Row]:
        """The contents of the query's result, by column names in lower case; of tables also earlier ones."""
        if query == "q10":
            return self._oracle.files(self._files)
        source = self._services.metastore.find(query.upper())
        serde = bind(record_spec(source).key)
        names = [column.name.lower() for column in source.schema.key]
        found = records(self._services.admin.servers, source.topic)
        if source.kind == "TABLE" and not every_change:
            found = iter({record.key: record for record in found}.values())
        rows: list[Row] = []
        for record in found:
            if record.value is not None:
                keys = (
                    serde.decode(split_key(record.key, source.window)[0]) if record.key is not None else None
                )
                fields = {name.lower(): field for name, field in orjson.loads(record.value).items()}
                fields |= zip(names, keys or (), strict=bool(keys))
                rows.append(fields | {"written_ms": record.timestamp_ms})
        return rows

    def cpu_s(self) -> float:
        """The CPU time of Spark's JVM and of the processes of user functions so far."""
        spark = psutil.Process(self._services.spark.process.pid)
        total = 0.0
        for process in (spark, *spark.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended just now
                total += sum(process.cpu_times()[:2])
        return total

    def kill(self, query: str = "") -> None:
        """Kill the JVM that runs the queries; the engine starts another one."""
        os.kill(self._services.spark.process.pid, signal.SIGKILL)

    def stop(self, query: str) -> None:
        """Drop all that the query has made."""
        if query == "q10":
            self._run("DROP SINK IF EXISTS q10;")
            shutil.rmtree(self._files, ignore_errors=True)
        metastore = self._services.metastore
        while created := [s for s in metastore.sources() if s.name not in self._sources]:
            source = next(s for s in created if not metastore.dependents(s.name))
            self._run(f"DROP {source.kind} `{source.name}` DELETE TOPIC;")
            metastore = self._services.metastore
        if query == "q14":
            self._run("DROP FUNCTION IF EXISTS count_char;")
